"""What may differ between two states of one frame: before and after an iteration, at the ends of two branches.

Enters values of the interpreter; leaves whether they are the same to the code that goes on, and whether anything that
changes in place has been changed. loops.py and branches.py ask: what is the same needs not be handed on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterator, Set
from typing import Any

from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import Frame, LoopExit, Tracer
from dynamo_lite.capture.value import (
    CellValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    FunctionValue,
    GeneratorValue,
    InstanceValue,
    IteratorValue,
    LazyValue,
    MethodValue,
    NamespaceValue,
    NumberValue,
    ObjectValue,
    OneOf,
    RecordValue,
    RestValue,
    SequenceValue,
    SliceValue,
    Value,
    is_single,
)
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.pycode import kept_whole, liveness

# -- values ----------------------------------------------------------------------------------------


def alike_but_for_extents(one: ArrayType, other: ArrayType) -> bool:
    """Whether two types are of one dtype and have as many axes."""
    same = one.dtype == other.dtype and one.dtype.num == other.dtype.num  # NB: "l" and "q" are equal
    return same and (one.scalar, one.ndim) == (other.scalar, other.ndim)


def types_agree(tracer: Tracer, before: ArrayType, after: ArrayType) -> bool:
    """Whether two types are one, at every call that passes the guards."""
    if not alike_but_for_extents(before, after):
        return False
    for old, new in zip(before.shape, after.shape, strict=True):
        same = make("eq", old, new)
        known = tracer.graph.facts.decide(same)
        if known is False or (known is None and (tracer.varies(same) or not tracer.hint(same))):
            return False
        tracer.relate(same)
    return True


def same(before: Value, after: Value) -> bool:
    """Whether a value that is no array of the loop's own is the same after an iteration."""
    if before is after:
        return True
    if isinstance(before, ConstantValue) and isinstance(after, ConstantValue):
        return _same_constant(before.value, after.value)
    if isinstance(before, NumberValue) and isinstance(after, NumberValue):
        return kind_of(before.expr) == "int" == kind_of(after.expr) and before.expr == after.expr
    if isinstance(before, RecordValue) and isinstance(after, RecordValue):
        is_alike = before.cls is after.cls and before.source == after.source
        return is_alike and all(map(same, before.items, after.items))
    if isinstance(before, SequenceValue) and isinstance(after, SequenceValue):
        return (
            before.kind is tuple is after.kind
            and before.source == after.source
            and len(before.items) == len(after.items)
            and all(same(one, other) for one, other in zip(before.items, after.items, strict=True))
        )
    return before.source is not None and before.source == after.source and type(before) is type(after)


def is_one_object(before: Value, after: Value) -> bool:
    """Whether two values that are the same are one object, too, or hold the same objects; what has one object only for
    each value, or is compared by its value, is."""
    if before is after:
        return True
    if isinstance(before, SequenceValue | RecordValue) and isinstance(after, SequenceValue | RecordValue):
        return all(map(is_one_object, before.items, after.items))
    numbers = [as_scalar(value) for value in (before, after)]
    if None in numbers or is_single(numbers[0]) or kind_of(numbers[0]) == "bool":  # type: ignore[arg-type]
        return True
    if type(before) is ConstantValue is type(after) and before.source is None is after.source:
        return before.value is after.value
    return before.source is not None and before.source == after.source


def _same_constant(before: Any, after: Any) -> bool:
    if before is after:
        return True
    if type(before) is not type(after):
        return False
    if type(before) is float:
        return struct.pack("d", before) == struct.pack("d", after)
    return type(before) in (int, bool, str, bytes) and bool(before == after)


# -- what tracing may not change -------------------------------------------------------------------


def reachable(tracer: Tracer, by_callers: bool = False, without: Set[str] = frozenset()) -> list[Value]:
    """Every value that some frame holds, or that a value holds, or an object from outside that is stored to.
    by_callers: also what was given to a function that is running, and only its caller may have. without: locals of the
    segment's own frame that do not count."""
    root, *inlined = tracer.frames
    work: list[Value | None] = [value for name, value in root.locals.items() if name not in without]
    work += [*root.stack, *root.cells.values(), *(value for frame in inlined for value in _held(frame))]
    work += [value for frame in tracer.frames for value in frame.given if by_callers]
    return _with_parts([*work, *tracer.stored, *tracer.namespaces.values()])


def is_read_later(tracer: Tracer, value: Value, whole: bool = False) -> bool:
    """Whether some frame may still read a value, or one that holds it: not, if only names have it that get another one
    first. Asked between two instructions of each frame. whole: to take items of what a name holds does not count."""
    work: list[Value | None] = []
    for frame in tracer.frames:
        live = (kept_whole if whole else liveness)(frame.code)[frame.index]
        work += [held for name, held in frame.locals.items() if name in live or name.startswith(".")]
        work += [*frame.cells.values(), *frame.stack]
    return value in _with_parts([*work, *tracer.stored, *tracer.namespaces.values()])


def _with_parts(work: list[Value | None]) -> list[Value]:
    found: dict[Value, None] = {}
    while work:
        value = work.pop()
        if value is not None and value not in found:
            found[value] = None
            work += parts(value)
    return list(found)


def reached_by_name(tracer: Tracer, without: Set[tuple[int, str]] = frozenset()) -> dict[Value, Hashable]:
    """Every value that some frame holds, or that a value holds, by a path to it that all attempts of a capture know.
    without: locals, by the number of their frame, that do not count."""
    found: dict[Value, Hashable] = {}
    work: list[tuple[Value | None, tuple[Hashable, ...]]] = []
    for depth, frame in enumerate(tracer.frames):
        work += [(value, (depth, name)) for name, value in sorted(frame.locals.items()) if (depth, name) not in without]
        work += [(cell, (depth, "cell", name)) for name, cell in sorted(frame.cells.items())]
        work += [(value, (depth, place)) for place, value in enumerate(frame.stack)]
    work += [(owner, ("stored", place)) for place, owner in enumerate(tracer.stored)]
    for value, name in work:  # grows
        if value is not None and value not in found:
            found[value] = name if value.source is None else value.source
            work += [(part, (*name, place)) for place, part in enumerate(parts(value))]
    return found


def held_cells(frame: Frame | LoopExit, own: dict[str, CellValue]) -> dict[str, CellValue]:
    """Those of a frame's `own` cells that somebody else has: one that came with the frame, or a function made here."""
    found: dict[Value, None] = {}
    work: list[Value | None] = [*frame.locals.values(), *frame.stack, *(cell.contents for cell in own.values())]
    while work:
        value = work.pop()
        if value is not None and value not in found:
            found[value] = None
            work += parts(value)
    return {name: cell for name, cell in own.items() if cell in found or cell.concrete is not None}


def cells_of_others(tracer: Tracer, frame: Frame, names: Set[str]) -> frozenset[str]:
    """Which of a frame's cells, of these names, are not its own alone: a function that lives on may read them."""
    own = {name: frame.cells[name] for name in names if name in frame.code.cellvars}
    if not own:
        return frozenset(names)
    work: list[Value | None] = []
    for one in tracer.frames:
        work += [*one.locals.values(), *one.stack, *one.given]
    work += [cell for one in tracer.frames if one is not frame for cell in one.cells.values()]
    work += [cell.contents if name in own else cell for name, cell in frame.cells.items()]
    found = set(_with_parts([*work, *tracer.stored, *tracer.namespaces.values()]))
    shared = {name for name, cell in own.items() if cell in found or cell.concrete is not None}
    return frozenset(shared.union(name for name in names if name not in own))


def mutable_state(tracer: Tracer, aside: set[int]) -> list[tuple[Value, tuple[Any, ...]]]:
    """Everything that changes in place and can be reached, with what it holds; but for what is handled as a local."""
    values = (value for value in reachable(tracer, by_callers=True) if type(value) in _STATE and id(value) not in aside)
    return [(value, tuple(_STATE[type(value)](value))) for value in values]


def unchanged(tracer: Tracer, state: list[tuple[Value, tuple[Any, ...]]]) -> bool:
    """Whether all of it holds what it held."""
    return find_changed(tracer, state) is None


def find_changed(tracer: Tracer, state: list[tuple[Value, tuple[Any, ...]]]) -> Value | None:
    """The first of it that holds something else now; the program may have begun to fill a list, of which nobody has to
    know in the graphs that are complete."""
    for value, before in state:
        after = tuple(_STATE[type(value)](value))
        if isinstance(value, CellValue) and before == (None,) and value.concrete is not None:
            continue  # only read
        if isinstance(value, SequenceValue | DictValue) and before[-1] is None and _is_open(tracer, value.filled):
            after = (*after[:-1], None)
        if len(before) != len(after) or any(one is not other for one, other in zip(before, after, strict=True)):
            return value
    return None


def _is_open(tracer: Tracer, filled: Node | None) -> bool:
    """Whether the graph of `filled` is still being built."""
    return any(filled in graph.nodes for graph in (tracer.root, *(region.graph for region in tracer.regions)))


def _held(frame: Frame) -> Iterator[Value]:
    yield from frame.locals.values()
    yield from frame.stack
    yield from frame.cells.values()


_STATE: dict[type[Value], Callable[[Any], Iterator[Any] | list[Any]]] = {
    SequenceValue: lambda value: [*value.known, *value.late.values(), value.filled],
    DictValue: lambda value: [*value.known, *value.known.values(), value.filled],
    CellValue: lambda value: [value.contents],
    ObjectValue: lambda value: [*value.stored, *value.stored.values()],
    InstanceValue: lambda value: [*value.stored, *value.stored.values()],
    NamespaceValue: lambda value: [*value.stored, *value.stored.values()],
    IteratorValue: lambda value: [*value.items, value.taken, value.ended],
    GeneratorValue: lambda value: [value.ended, value.frame.index, *_held(value.frame)],
}


def parts(value: Value) -> list[Value | None]:
    """The values that `value` refers to."""
    match value:
        case LazyValue():
            return [value.known]
        case SequenceValue() if value.became is not None:
            return [value.became]
        case SequenceValue() | DictValue():
            if isinstance(value, DictValue):
                return list(value.known.values())
            return [*value.known, *value.late.values(), *value.ends.values()]
        case ComplexValue() | RecordValue():
            return list(value.items)
        case ObjectValue() | InstanceValue() | NamespaceValue():
            return list(value.stored.values())
        case CellValue():
            return [value.contents]
        case IteratorValue():
            return [value.of, *value.items, *value.parts]
        case RestValue():
            return [value.parts]
        case DictViewValue():
            return [value.of]
        case GeneratorValue():
            return list(_held(value.frame))
        case MethodValue():
            return [value.function, value.self]
        case FunctionValue():
            return [*value.defaults, *value.kwdefaults.values(), *value.closure, *value.annotations]
        case SliceValue():
            return [value.start, value.stop, value.step]
        case OneOf():
            return list(value.objects.values())
    return []


__all__ = [
    "parts",
    *("cells_of_others", "find_changed"),
    *("held_cells", "is_one_object", "is_read_later", "mutable_state", "reachable", "reached_by_name", "same"),
    *("types_agree", "unchanged"),
]
