"""Which locals stay bound where a segment ends.

Enters: what the frame's locals hold, which of them the code still reads, and what plain code gets to see there. Leaves
those that are handed on. What nobody reads any more may go early, if nobody notices: a value of the graph, which plain
code has never seen. Of an array that it sees it may take the address (``w.ctypes.data``) or a weak reference; neither
keeps the array alive, and the local that holds it does until the function ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from dynamo_lite.capture.branches.sameness import parts
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.value import (
    ArrayValue,
    CallValue,
    ComplexValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    ListValue,
    NumberValue,
    OneOf,
    RecordValue,
    SequenceValue,
    SliceValue,
    Value,
)
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.rewrite import origins


def kept_locals(locals_: dict[str, Value], live: frozenset[str], shown: Iterable[Value | None]) -> dict[str, Value]:
    """The locals that stay bound: those that the code still reads, and what may not die early.

    shown: what else residual code loads.
    """
    kept = {name: value for name, value in locals_.items() if name in live or not _droppable(value)}
    rest = {name: value for name, value in locals_.items() if name not in kept}
    if not rest:
        return kept
    objects = _objects([*shown, *kept.values()])
    seen = {name: value for name, value in rest.items() if not objects.isdisjoint(_objects([value]))}
    return {name: value for name, value in locals_.items() if name in kept or name in seen}


def _objects(values: Iterable[Value | None]) -> set[Value | Node]:
    """The containers among `values` and in what they hold, and the nodes whose memory the arrays there show."""
    found: set[Value | Node] = set()
    met: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value is None or value in met:
            continue
        met.add(value)
        work += parts(value)
        match value:
            case ArrayValue() if not value.node.array_type.scalar:
                found |= origins(value.node)
            case SequenceValue() | DictValue() | DictViewValue():
                found.add(value)  # NB: what a loop has put into it is no part of it
            case CallValue():
                work += value.args
            case EitherValue():
                work += [value.first, value.second]
            case RecordValue():
                work += value.items
    return found


def has_moved(value: Value, changed: Set[Source]) -> bool:
    """Whether something else may be where a value came from, since the program has changed the list there."""
    step = value.source
    if isinstance(value, ListValue):
        return step is not None and step.kind != "slot"
    while isinstance(value, ArrayValue) and step is not None:
        if step.base in changed:
            return True
        step = step.base
    return False


def _droppable(value: Value, outer: tuple[Value, ...] = ()) -> bool:
    """True for a value of the graph, or a container made here of such: plain code has never seen it. outer: the
    containers that it is in, none of which it may hold."""
    if value.source is not None or value in outer:
        return False
    match value:
        case OneOf():
            return False
        case SequenceValue() | DictValue():
            items = value.known if isinstance(value, SequenceValue) else value.known.values()
            return all(isinstance(item, ConstantValue) or _droppable(item, (*outer, value)) for item in items)
        case RecordValue() | ComplexValue():
            return all(map(_droppable, value.items))
        case DictViewValue():
            return _droppable(value.of)
        case _:
            return isinstance(value, ArrayValue | CallValue | NumberValue | SliceValue)
