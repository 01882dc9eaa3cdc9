"""Iteration while capturing: iterators over values known here, taken item by item as Python takes them.

Enters a value to go through; leaves its items, one by one (``next_item``) or all that are left (``drain``). INVARIANT:
nothing is taken before it is asked for: a generator expression stands still between two items, and a list changed
meanwhile is seen as it is. residual.py makes an iterator again that has taken as many.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from dynamo_lite.budget import spend
from dynamo_lite.capture.calls.folding import check_items
from dynamo_lite.capture.iteration.numbered import CALL, RULED, goes_by_character, item_at, know_texts, source_of
from dynamo_lite.capture.kinds import a_kind, kind_name
from dynamo_lite.capture.lists import lists, object_lists
from dynamo_lite.capture.lists.columns import foresee_columns, is_row, open_columns, parts
from dynamo_lite.capture.loops.rests import iterator_of
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar, length_of
from dynamo_lite.capture.state import ALWAYS_UNROLLED, Raised, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    GeneratorValue,
    IteratorValue,
    ListValue,
    NestedValue,
    NumberedValue,
    NumberValue,
    RangeValue,
    RecordValue,
    RestValue,
    SequenceValue,
    TextValue,
    Value,
    computed_number,
    is_repeated,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.scalar import Scalar, Symbol, is_symbolic

ARGUMENT_UNROLL_LIMIT = 8
_NO_ITEMS = (bool, int, float, complex, type(None))


def iterate(machine: Machine, value: Value) -> IteratorValue:
    """iter(value) for what has items known at capture; breaks otherwise, but for an array that a loop may go over."""
    match value:
        case IteratorValue():
            return value
        case NumberedValue() if machine.tracer.native_loops:
            return IteratorValue(None, value, kind="array")
        case ListValue() if machine.tracer.native_loops:
            count = as_scalar(object_lists.length(machine, value))
            assert count is not None
            return IteratorValue(None, value, kind="array", count=count, epoch=machine.tracer.lengths_changed)
        case NestedValue() if is_row(value):
            return IteratorValue(None, value, kind="array")
        case NestedValue():
            return IteratorValue(None, value, parts(machine, value))
        case SequenceValue() if (is_repeated(value) or value.is_grown) and machine.tracer.native_loops:
            return IteratorValue(None, value, kind="array")
        case SequenceValue():
            return IteratorValue(None, value, value.items)
        case RecordValue():
            return iterate(machine, SequenceValue(None, tuple, value.items))
        case GeneratorValue():
            source = source_of(value) if machine.tracer.native_loops else None
            if source is not None:
                return IteratorValue(None, value, kind="generator", parts=(source,))
            return IteratorValue(None, value)
        case TextValue() if goes_by_character(machine.tracer, value):
            return IteratorValue(None, CallValue(None, iter, [value]), [value], "text")
        case ConstantValue() if isinstance(value.value, tuple | str):
            spend(len(value.value))
            return IteratorValue(None, value, [ConstantValue(None, item) for item in value.value])
        case DictValue():
            return IteratorValue(None, value, [ConstantValue(None, key) for key in value.items])
        case DictViewValue():
            return IteratorValue(None, value, [ConstantValue(None, key) for key in value.of.items])
        case RangeValue():
            return IteratorValue(None, value, _range_items(machine.tracer, value))
        case ArrayValue() if not value.node.array_type.scalar and value.node.array_type.ndim >= 1:
            if machine.tracer.native_loops:
                return IteratorValue(None, value, kind="array")
            raise Break("loop-over-unknown-iterator", "an array")
    if isinstance(value, NumberValue) or (isinstance(value, ConstantValue) and type(value.value) in _NO_ITEMS):
        raise Raised(TypeError, f"{kind_name(value)} object is not iterable")
    raise Break("loop-over-unknown-iterator", a_kind(value))


def iterate_part(machine: Machine, value: Value) -> IteratorValue:
    """What an enumerate or zip takes its items of, or a Rest: the numbers of a long range, too, are known by number."""
    if isinstance(value, RangeValue) and machine.tracer.native_loops:
        bounds = value.start, value.stop, value.step
        if any(map(is_symbolic, bounds)) or length_of(bounds) > ALWAYS_UNROLLED:
            return IteratorValue(None, value, kind="span")
    return iterate(machine, value)


def go_on_with(machine: Machine, rest: RestValue) -> Value:
    """The iterator over what is left, in a resume function."""
    tracer = machine.tracer
    if not tracer.native_loops or not all(foresee_columns(tracer, part) for part in rest.parts.items):
        return CallValue(None, iter, [rest])
    items = [realise(tracer, part) for part in rest.parts.items]
    for item in items:
        if isinstance(item, SequenceValue):
            open_columns(tracer, item)
    taken = as_scalar(rest.taken)
    assert taken is not None
    return iterator_of(rest, items, partial(iterate_part, machine), taken)


def _range_items(tracer: Tracer, value: RangeValue) -> list[Value]:
    bounds = (value.start, value.stop, value.step)
    hints = tuple(map(tracer.hint, bounds))
    length = length_of(hints)
    limit = min(_unroll_limit(tracer, bound) for bound in bounds)
    if length > limit and limit < tracer.unroll_limit:
        raise Break("loop-of-open-length", f"{length} in this call")
    if length > limit:
        raise Break("loop-too-long", f"{length} are more than {limit}")
    for bound in bounds:
        tracer.specialise(NumberValue(None, bound))
    return [computed_number(number) for number in range(*hints)]  # type: ignore[arg-type]


def _unroll_limit(tracer: Tracer, bound: Scalar) -> int:
    """How many iterations of a loop with this bound may be unrolled: a loop over a size must serve every size."""
    if not is_symbolic(bound):
        return tracer.unroll_limit
    return ARGUMENT_UNROLL_LIMIT if isinstance(bound, Symbol) and bound.axis is None else 0


def next_item(machine: Machine, iterator: IteratorValue) -> Value | None:
    """The next item, or None at the end: final, but for enumerate and zip, which ask their parts again."""
    item = None if iterator.ended else _NEXT.get(iterator.kind, _next_of_ruled)(machine, iterator)
    if item is None:
        iterator.ended = not iterator.parts
    else:
        iterator.taken += 1
    return item


def drain(machine: Machine, value: Value) -> list[Value]:
    """All items that iter(value) still has."""
    iterator = iterate(machine, value)
    if iterator.kind == "array" and isinstance(iterator.of, ArrayValue) and not iterator.ended:
        known_length(machine.tracer, iterator.of)
    items: list[Value] = []
    while (item := next_item(machine, iterator)) is not None:
        items.append(item)
    return items


def extend(machine: Machine, target: SequenceValue, value: Value) -> None:
    """``target.extend(value)``, or ``target += value``; target: a list made in this segment.

    NB: the items of a list or tuple are taken all at once; those of others one by one, each seen before the next."""
    if isinstance(value, SequenceValue):
        check_items(len(target.known) + len(value.items))
        for item in list(value.items):
            lists.append(machine, target, item)
        return
    iterator = iterate(machine, value)
    while (one := next_item(machine, iterator)) is not None:
        check_items(len(target.known) + 1)
        lists.append(machine, target, one)


def _dict_of(iterator: IteratorValue) -> DictValue | None:
    """The dict that is iterated over, or of which a view is."""
    of = iterator.of.of if isinstance(iterator.of, DictViewValue) else iterator.of
    return of if isinstance(of, DictValue) else None


def dict_has_changed(iterator: IteratorValue) -> bool:
    """Whether the dict that is iterated over has other keys than when that began."""
    of = _dict_of(iterator)
    return of is not None and (of.filled is not None or list(of.known) != list(map(_key, iterator.items)))


def _key(item: Value) -> object:
    assert isinstance(item, ConstantValue)
    return item.value


def _next_of_iter(machine: Machine, iterator: IteratorValue) -> Value | None:
    if isinstance(iterator.of, GeneratorValue):
        return machine.resume(iterator.of)
    if dict_has_changed(iterator):
        raise Break("python-exception", "RuntimeError: dictionary changed size during iteration")
    items = _items(iterator)
    if iterator.taken >= len(items):
        return None
    item = items[iterator.taken]
    if isinstance(iterator.of, DictViewValue) and iterator.of.name != "keys":
        value = iterator.of.of.items[_key(item)]  # as it is now
        return value if iterator.of.name == "values" else SequenceValue(None, tuple, [item, value])
    return item


def _next_of_reversed(machine: Machine, iterator: IteratorValue) -> Value | None:
    place, items = iterator.start - 1 - iterator.taken, _items(iterator)
    return items[place] if 0 <= place < len(items) else None


def _items(iterator: IteratorValue) -> list[Value]:
    """What is iterated over, as it is now."""
    return iterator.of.items if isinstance(iterator.of, SequenceValue) else iterator.items


def take_one_by_one(machine: Machine, iterator: IteratorValue) -> bool:
    """Let an iterator over numbered items be taken from as Python takes; whether it can be."""
    know_texts(machine.tracer, iterator)
    if iterator.kind == "generator":
        iterator.kind, iterator.parts = "iter", ()
    elif iterator.kind in ("range", "array", "span") and not isinstance(iterator.of, ArrayValue | ListValue):
        if isinstance(iterator.of, NestedValue):
            iterator.of.root.give_up()
        is_list = isinstance(iterator.of, SequenceValue)
        iterator.items = _items(iterator) if is_list else iterate(machine, iterator.of).items
        iterator.kind = "iter"
    return iterator.kind == "iter"


def _next_of_array(machine: Machine, iterator: IteratorValue) -> Value | None:
    if take_one_by_one(machine, iterator):
        return _next_of_iter(machine, iterator)
    array = iterator.of
    length = machine.tracer.canonical(array.node.array_type.shape[0]) if isinstance(array, ArrayValue) else None
    if type(length) is not int or length > ALWAYS_UNROLLED:
        raise Break("loop-over-unknown-iterator", "an array")
    return item_at(machine, iterator, iterator.taken) if iterator.taken < length else None


def known_length(tracer: Tracer, array: ArrayValue) -> int | None:
    """How long the first axis is of an array that is wanted as a list or tuple: a short one, a state vector's say, is
    guarded to be as long as in this call; None where only the run knows, or it is long."""
    size = tracer.canonical(array.node.array_type.shape[0])
    if is_symbolic(size) and not tracer.varies(size) and int(tracer.hint(size)) <= ALWAYS_UNROLLED:  # type: ignore[arg-type]
        return as_scalar(tracer.specialise(NumberValue(None, size)))  # type: ignore[return-value]
    return size if type(size) is int else None


def _next_of_enumerate(machine: Machine, iterator: IteratorValue) -> Value | None:
    item = next_item(machine, iterator.parts[0])
    if item is None:
        return None
    return SequenceValue(None, tuple, [computed_number(iterator.start + iterator.taken), item])


def _next_of_zip(machine: Machine, iterator: IteratorValue) -> Value | None:
    items: list[Value] = []
    is_known = any(part.kind == "iter" for part in iterator.parts)
    for part in iterator.parts:
        if is_known and part.kind == "array" and isinstance(part.of, ArrayValue):
            known_length(machine.tracer, part.of)  # of a short one, since it is unrolled beside what has known items
        item = next_item(machine, part)
        if item is None and iterator.start and len(iterator.parts) > 1:
            others = iterator.parts[1:] if not items else ()
            if items or any(next_item(machine, other) is not None for other in others):
                raise Break("python-exception", "ValueError: zip() argument is shorter or longer than argument 1")
        if item is None:
            return None
        items.append(item)
    return SequenceValue(None, tuple, items) if items else None


def _next_of_map(machine: Machine, iterator: IteratorValue) -> Value | None:
    items: list[Value] = []
    for part in iterator.parts:
        item = next_item(machine, part)
        if item is None:
            return None
        items.append(item)
    return CALL[0](machine, iterator.of, items)


def _next_of_generator(machine: Machine, iterator: IteratorValue) -> Value | None:
    take_one_by_one(machine, iterator)
    return _next_of_iter(machine, iterator)


def _next_of_ruled(machine: Machine, iterator: IteratorValue) -> Value | None:
    length = RULED[iterator.kind][1](machine.tracer, iterator)
    if is_symbolic(length):
        raise Break("loop-over-unknown-iterator", f"what {iterator.kind} gives")
    return item_at(machine, iterator, iterator.taken) if iterator.taken < length else None  # type: ignore[operator]


_NEXT: dict[str, Callable[[Machine, IteratorValue], Value | None]] = {
    "iter": _next_of_iter,
    "reversed": _next_of_reversed,
    "array": _next_of_array,
    "enumerate": _next_of_enumerate,
    "zip": _next_of_zip,
    "map": _next_of_map,
    "generator": _next_of_generator,
    "span": _next_of_generator,
    "text": _next_of_generator,
}


def advanced(of: Any, taken: int | None) -> Any:
    """iter(of) with so many items taken; None: all, so that it has ended."""
    iterator = iter(of)
    for _ in iterator if taken is None else itertools.islice(iterator, taken):
        pass
    return iterator


def strictly(*parts: Any) -> Any:
    """zip(*parts, strict=True)."""
    return zip(*parts, strict=True)


def placed(sequence: Any, place: int) -> Any:
    """reversed(sequence) whose next item is that at `place`, whatever the length was when it was made."""
    iterator = reversed(sequence)
    iterator.__setstate__(place)
    return iterator
