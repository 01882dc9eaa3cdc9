"""Iterators whose item of each number is an expression of that number: ranges, arrays, what itertools and NumPy make of
them (item_rules.py), and enumerate, zip, map or a generator expression over such.

Enters an IteratorValue; leaves the range that its numbers go over, and the item of a number, which may be the index of
a loop. A range's numbers are its items; what goes over arrays is numbered from 0. INVARIANT: what an iterator has
taken, those under it have taken too, so that residual.py can make each again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from dynamo_lite.capture.branches.sameness import reachable
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.lists import cells, columns, object_lists
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import steps_of
from dynamo_lite.capture.state import ALWAYS_UNROLLED, Frame, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    GeneratorValue,
    IteratorValue,
    ListValue,
    NestedValue,
    NumberedValue,
    RangeValue,
    SequenceValue,
    TextValue,
    Value,
    is_repeated,
)
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import Scalar, make
from dynamo_lite.pycode import element

# Calls a function (call_rules.py, which uses this module).
CALL: list[Callable[[Machine, Value, list[Value]], Value]] = []

# By kind: the item of a number, and how many there are.
ItemOf: TypeAlias = Callable[[Machine, IteratorValue, Scalar], Value]
LengthOf: TypeAlias = Callable[[Tracer, IteratorValue], Scalar]
RULED: dict[str, tuple[ItemOf, LengthOf]] = {}  # item_rules.py, too, uses this module


def goes_over_arrays(value: Value) -> bool:
    """Whether `value` is an array, or a fresh iterator over arrays and ranges alone."""
    if isinstance(value, ArrayValue):
        return not value.node.array_type.scalar and value.node.array_type.ndim >= 1
    if columns.is_row(value) or isinstance(value, ListValue):
        return True
    if isinstance(value, SequenceValue):
        return is_repeated(value)
    if isinstance(value, GeneratorValue):
        source = source_of(value)
        return source is not None and not source.taken
    return isinstance(value, IteratorValue) and not value.taken and not has_ended(value) and is_numbered(value)


def goes_by_character(tracer: Tracer, value: Value) -> bool:
    """Whether `value` is a string from outside whose characters only the run knows, by their numbers."""
    is_long = isinstance(value, TextValue) and len(value.text) > ALWAYS_UNROLLED
    return is_long and tracer.native_loops and tracer.restraints.texts


def know_texts(tracer: Tracer, value: Value) -> None:
    """Begin again, with strings from outside guarded by their values and gone through as those, where more is wanted of
    one's characters, or of a loop over them, than native code does. value: what is gone through."""
    iterators = under(value) if isinstance(value, IteratorValue) else ()
    if isinstance(value, TextValue) or any(one.kind == "text" for one in iterators):
        tracer.restraints.texts = False
        raise Retry


def source_of(generator: GeneratorValue) -> IteratorValue | None:
    """The iterator that a generator expression takes its items of, if each gives one and nothing has been taken by
    other means than its number; None otherwise."""
    frame: Frame = generator.frame
    source = frame.locals.get(".0")
    begun = generator.ended or frame.index or element(frame.code) is None
    return source if not begun and isinstance(source, IteratorValue) and is_numbered(source) else None


def is_numbered(iterator: IteratorValue) -> bool:
    """Whether the iterators under this one are as far as it is, so that item_at knows the items."""
    iterators = list(under(iterator))
    if len(set(map(id, iterators))) < len(iterators):
        return False  # one iterator twice, which gives them items in turn
    states = {(each.taken, has_ended(each)) for each in iterators}
    return len(states) == 1 and all(
        each.parts or each.kind in ("range", "array", "span") or each.kind in RULED for each in iterators
    )


def under(iterator: IteratorValue) -> Iterator[IteratorValue]:
    """The iterator and those that it takes its items of."""
    yield iterator
    for part in iterator.parts:
        yield from under(part)


def numbering(tracer: Tracer, iterator: IteratorValue) -> tuple[Scalar, Scalar, Scalar] | None:
    """The range that the numbers of all items, taken or not, go over; None for a zip of unlike lengths that is strict,
    or of which somebody could see what has been taken of its parts."""
    if isinstance(iterator.of, RangeValue) and iterator.kind == "range":
        return iterator.of.start, iterator.of.stop, iterator.of.step
    if isinstance(iterator.of, RangeValue) and iterator.kind == "span":
        return iterator.offset, trip(tracer, iterator.of), 1
    if iterator.kind == "array" and isinstance(iterator.of, NumberedValue | NestedValue):
        return iterator.offset, columns.length(tracer, iterator.of), 1
    if iterator.kind == "array" and isinstance(iterator.of, ListValue):
        if iterator.epoch != tracer.lengths_changed:
            return None
        return iterator.offset, iterator.count, 1
    if iterator.kind == "array" and isinstance(iterator.of, SequenceValue):
        return None if iterator.of.times is None else (iterator.offset, iterator.of.times, 1)
    if iterator.kind == "array":
        assert isinstance(iterator.of, ArrayValue)
        return iterator.offset, iterator.of.node.array_type.shape[0], 1
    if iterator.kind in RULED:
        return iterator.offset, RULED[iterator.kind][1](tracer, iterator), 1
    first, *others = (numbering(tracer, part) for part in iterator.parts)
    for other in others:
        if first is None or other is None:
            return None
        if not _is_as_long(tracer, first[1], other[1]):
            if iterator.start or not are_private(tracer, iterator):  # or it is strict
                return None
            first = first[0], _shorter(tracer, first[1], other[1]), first[2]
    return first


def goes_over_grown(iterator: IteratorValue) -> bool:
    """Whether it goes over a list that loops have filled, whose items only another segment can know."""
    return any(isinstance(one.of, SequenceValue) and one.of.is_grown for one in under(iterator))


def trip(tracer: Tracer, numbers: RangeValue) -> Scalar:
    """How many numbers a range has; whether it has any, and which way it goes, is guarded."""
    is_forward = tracer.relate(make("ge", numbers.step, 1))
    distance, count = steps_of((numbers.start, numbers.stop, numbers.step), is_forward)
    return count if tracer.relate(make("ge", distance, 0)) else 0


def _is_as_long(tracer: Tracer, one: Scalar, other: Scalar) -> bool:
    try:
        return tracer.relate(make("eq", one, other))
    except Undecided:
        return False


def _shorter(tracer: Tracer, one: Scalar, other: Scalar) -> Scalar:
    try:
        return one if tracer.relate(make("le", one, other)) else other
    except Undecided:
        return make("min", one, other)


def are_private(tracer: Tracer, iterator: IteratorValue) -> bool:
    """Whether nothing but the loop can tell how much has been taken of the iterator, which is on top of the stack or
    under what is there, and of those under it."""
    stack = tracer.frames[-1].stack
    top = stack[-1] if stack else None
    if not isinstance(top, IteratorValue) or all(one is not iterator for one in under(top)):
        return False
    if any(one.kind in ("map", "generator") for one in under(iterator)):
        return False
    stack.pop()
    held = set(reachable(tracer))
    stack.append(top)
    return held.isdisjoint(under(top))


def item_at(machine: Machine, iterator: IteratorValue, number: Scalar) -> Value:
    """The item of that number."""
    if iterator.kind in RULED:
        return RULED[iterator.kind][0](machine, iterator, number)
    index = machine.tracer.number(number)
    if iterator.kind == "range":
        return index
    if isinstance(iterator.of, RangeValue) and iterator.kind == "span":
        return machine.tracer.number(make("add", iterator.of.start, make("mul", number, iterator.of.step)))
    if isinstance(iterator.of, ArrayValue) and iterator.kind == "array":
        return numpy_rules.get_item(machine, iterator.of, index)
    if isinstance(iterator.of, NumberedValue | NestedValue) and iterator.kind == "array":
        found = columns.item(machine, iterator.of, index)
        assert found is not None
        return found
    if isinstance(iterator.of, ListValue) and iterator.kind == "array":
        return object_lists.next_of(machine, iterator.of, iterator.count, index)
    if isinstance(iterator.of, SequenceValue) and iterator.kind == "array":
        if iterator.of.cells is not None and not iterator.of.cells.grows:
            return cells.get(machine, iterator.of, index)
        if iterator.of.late or iterator.of.cells is not None:
            raise Break("loop-list", "a list")
        return iterator.of.known[0]
    items = [item_at(machine, part, number) for part in iterator.parts]
    if iterator.kind == "map":
        return CALL[0](machine, iterator.of, items)
    if isinstance(iterator.of, GeneratorValue) and iterator.kind == "generator":
        return machine.item_of(iterator.of, items[0])
    if iterator.kind == "enumerate":
        items.insert(0, machine.tracer.number(make("add", make("add", iterator.start, iterator.offset), number)))
    return SequenceValue(None, tuple, items)


def is_held(tracer: Tracer, frame: Frame, live: frozenset[str], iterator: IteratorValue) -> bool:
    """Whether something but the loop, on top of whose frame's stack it is, has the iterator or one under it, and could
    ask it how far it has got. live: the locals that are read behind the loop."""
    place, locals_ = frame.stack.pop(), frame.locals
    frame.locals = {name: value for name, value in locals_.items() if name in live}
    held = set(reachable(tracer))
    frame.stack.append(place)
    frame.locals = locals_
    return not held.isdisjoint(under(iterator))


def take_one(iterator: IteratorValue) -> None:
    """Note that the next item is taken."""
    iterator.taken += 1
    for part in iterator.parts:
        take_one(part)


def end(iterator: IteratorValue) -> None:
    """Note that there are no items left."""
    iterator.ended = not iterator.parts
    for part in iterator.parts:
        end(part)


def rounds_left(iterator: IteratorValue) -> int:
    """How many rounds a loop that is unrolled goes on with after this one; 1 where that is not known."""
    counts = [rounds_left(part) for part in iterator.parts]
    return min(counts) if counts else max(1, len(iterator.items) - iterator.taken + 1)


def is_rest(value: Value) -> bool:
    """Whether an iterator that is handed over as what is left of it has not ended."""
    if not isinstance(value, IteratorValue) or value.source is not None:
        return False
    return (value.kind == "range" and not value.ended) or (value.is_rest and not has_ended(value))


def has_ended(iterator: IteratorValue) -> bool:
    """Whether a loop has gone over all items."""
    return iterator.ended or (bool(iterator.parts) and all(map(has_ended, iterator.parts)))


__all__ = [
    *("CALL", "RULED", "are_private", "end", "goes_by_character", "goes_over_arrays", "goes_over_grown", "has_ended"),
    *("is_held", "is_numbered", "item_at", "know_texts", "numbering", "rounds_left", "source_of", "take_one", "trip"),
    "under",
]
