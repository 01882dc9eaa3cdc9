"""What is left of what a `for` goes over, for a resume function to go on with.

Where a segment ends in a loop, or a running frame is entered in one, the iterator itself would tell capture nothing. A
range is handed over as the range that is left; the iterator of a list, tuple or array, and an enumerate or zip over
such, as a Rest: an object from which the resume function's GET_ITER makes an iterator in the same state, and capture an
IteratorValue whose items it knows by number (numbered.py). INVARIANT: nobody else has the iterator that a Rest stands
for, so that another one may take its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import rounds_of_rests
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import ALWAYS_UNROLLED
from dynamo_lite.capture.value import (
    ArrayValue,
    CallValue,
    ConstantValue,
    IteratorValue,
    ListValue,
    NestedValue,
    NumberedValue,
    RangeValue,
    RestValue,
    SequenceValue,
    Value,
    as_value,
)
from dynamo_lite.graph.scalar import Scalar, make

Bounds: TypeAlias = tuple[Scalar, Scalar, Scalar]  # the range that the numbers of a loop go over
# The shapes of what goes over a list, tuple, array or range, and over an array or range from its end; others are
# ("enumerate", shape), ("zip", shape, ...) and ("strict zip", shape, ...).
ITEMS, BACKWARDS = "items", "backwards"
_RANGE_ITERATOR = type(iter(range(1)))
_INDEXED = {type(iter([])): list, type(iter(())): tuple, type(iter(np.empty(1))): np.ndarray}


def rest_of(numbers: range, taken: int) -> range:
    """The range behind its first `taken` numbers; its bounds stay what they were, so that guards on them hold."""
    return range(numbers.start + taken * numbers.step, numbers.stop, numbers.step)


def rest_behind(numbers: range, at: int) -> range:
    """The range behind its number `at`."""
    return range(at + numbers.step, numbers.stop, numbers.step)


def counted_on(begin: int, taken: int) -> int:
    """So many behind `begin`."""
    return begin + taken


def goes_by_number(items: Any) -> bool:
    """Whether a loop over `items` may be one over their numbers."""
    if type(items) in (np.ndarray, range):
        return True
    return type(items) in (list, tuple) and len(items) > ALWAYS_UNROLLED and type(items[0]) in (int, float, list, tuple)


class Rest:
    """Iterating over it gives the items behind the first `taken`.

    shape: how the iterator is made. parts: in the order in which they stand there, what its leaves go over, and the
    first number of each enumerate.
    """

    __slots__ = ("parts", "shape", "taken")

    def __init__(self, shape: Any, parts: tuple[Any, ...], taken: int) -> None:
        self.shape, self.parts, self.taken = shape, parts, taken

    def __iter__(self) -> Iterator[Any]:
        made: Iterator[Any] = _made(self.shape, iter(self.parts), self.taken)
        return made

    def __length_hint__(self) -> int:
        left = min(len(part) for part in self.parts if type(part) is not int) - self.taken
        return left if left > 0 else 0


rounds_of_rests(Rest)


def _made(shape: Any, parts: Iterator[Any], taken: int) -> Any:
    if shape == ITEMS:
        of = next(parts)
        if type(of) is range:
            return iter(of[taken:])
        iterator: Any = iter(of)
        iterator.__setstate__(taken)
        return iterator
    if shape == BACKWARDS:
        of = next(parts)
        if type(of) is range:
            return iter(of[::-1][taken:])
        iterator = reversed(of)
        iterator.__setstate__(len(of) - 1 - taken)
        return iterator
    if shape[0] == "enumerate":
        start = next(parts)
        return enumerate(_made(shape[1], parts, taken), start + taken)
    return zip(*[_made(one, parts, taken) for one in shape[1:]], strict=shape[0] == "strict zip")


# -- of a running frame ----------------------------------------------------------------------------


def rest_of_iterator(iterator: Any) -> range | Rest | None:
    """What is left of an iterator that only the caller has; None where no Rest can stand for it."""
    if type(iterator) is _RANGE_ITERATOR:
        return _range_left(iterator)
    parts: list[Any] = []
    taken: set[int] = set()
    shape = _taken_apart(iterator, parts, taken)
    if shape is None or (shape == ITEMS and not taken) or len(taken) > 1:
        return None
    done = taken.pop() if taken else 0
    for place, part in enumerate(parts):
        if type(part) is range:
            parts[place] = range(part.start - done * part.step, part.stop, part.step)
        elif type(part) is int:
            parts[place] = part - done
    return Rest(shape, tuple(parts), done)


def _taken_apart(iterator: Any, parts: list[Any], taken: set[int]) -> Any:
    """The shape of an iterator; its parts, ranges as they are left and enumerates' next numbers; taken: by how many
    items its leaves have got on. None for one that nobody can take apart."""
    kind = type(iterator)
    if kind is _RANGE_ITERATOR:
        parts.append(_range_left(iterator))
        return ITEMS if parts[-1] else None
    if kind not in _INDEXED and kind not in (enumerate, zip, reversed):
        return None
    state = iterator.__reduce__()
    if kind is reversed:
        if len(state) < 3 or type(state[1][0]) is not np.ndarray:
            return None
        parts.append(state[1][0])
        taken.add(len(parts[-1]) - 1 - state[2])
        return BACKWARDS
    if kind in _INDEXED:
        if (
            len(state) < 3 or type(state[1][0]) is not _INDEXED[kind]
        ):  # it has ended, or goes over a class of the user's
            return None
        parts.append(state[1][0])
        taken.add(state[2])
        return ITEMS
    if kind is enumerate:
        inner, count = state[1]
        del state
        parts.append(count)
        inside = _taken_apart(inner, parts, taken) if sys.getrefcount(inner) == _COUNTS[0] else None
        return None if inside is None else ("enumerate", inside)
    inners, strict = state[1], len(state) > 2
    del state
    if not inners or any(count != _COUNTS[1] for count in map(sys.getrefcount, inners)):
        return None
    insides = tuple(_taken_apart(inner, parts, taken) for inner in inners)
    return None if None in insides else ("strict zip" if strict else "zip", *insides)


def _range_left(iterator: Any) -> range:
    state = iterator.__reduce__()
    numbers: range = state[1][0]
    return numbers[state[2] :] if len(state) > 2 and state[2] else numbers


def _counts() -> tuple[int, int]:
    """How many references there are to what only an enumerate has, and only a zip, as _taken_apart counts them."""
    numbered: Any = enumerate([])
    state = numbered.__reduce__()
    inner, _ = state[1]
    del state
    pairs: Any = zip([])
    state = pairs.__reduce__()
    inners = state[1]
    del state
    return sys.getrefcount(inner), next(map(sys.getrefcount, inners))


_COUNTS = _counts()


# -- while capturing -------------------------------------------------------------------------------


def _backwards(of: Value) -> IteratorValue:
    return IteratorValue(None, CallValue(None, reversed, [of]), [of], "backwards")


def shape_of(iterator: IteratorValue) -> Any:
    """The shape of an iterator made here; None where no Rest can stand for it."""
    match iterator.kind:
        case "array" | "span":
            known = isinstance(iterator.of, ArrayValue | ListValue | NumberedValue | NestedValue | RangeValue)
            return ITEMS if known or isinstance(iterator.of, SequenceValue) else None
        case "backwards":
            return BACKWARDS
        case "enumerate" | "zip":
            insides = tuple(map(shape_of, iterator.parts))
            kind = "strict zip" if iterator.kind == "zip" and iterator.start else iterator.kind
            return (kind, *insides) if insides and None not in insides else None
    return None


def _parts_of(iterator: IteratorValue) -> list[Value]:
    if not iterator.parts:
        return iterator.items if iterator.kind == "backwards" else [iterator.of]
    first = [as_value(make("add", iterator.start, iterator.offset))] if iterator.kind == "enumerate" else []
    return [*first, *(part for one in iterator.parts for part in _parts_of(one))]


def is_handed_over(iterator: IteratorValue) -> bool:
    """Whether a resume function is handed what is left of it, if nobody else has it."""
    return iterator.kind == "range" or shape_of(iterator) is not None


def left_of(iterator: IteratorValue, bounds: Bounds, taken: Value) -> IteratorValue:
    """The iterator when a loop has taken so many of its items that bounds number."""
    if iterator.kind == "range":
        return IteratorValue(None, CallValue(None, rest_of, [RangeValue(None, *bounds), taken]), kind="range")
    gone = CallValue(None, counted_on, [as_value(bounds[0]), taken])
    return IteratorValue(None, rest_value(iterator, gone), kind="rest", is_rest=True)


def left_behind(iterator: IteratorValue, bounds: Bounds, at: Value) -> IteratorValue:
    """The iterator when a loop has taken the item of the number `at`."""
    if iterator.kind == "range":
        return IteratorValue(None, CallValue(None, rest_behind, [RangeValue(None, *bounds), at]), kind="range")
    gone = CallValue(None, counted_on, [at, ConstantValue(None, 1)])
    return IteratorValue(None, rest_value(iterator, gone), kind="rest", is_rest=True)


def rest_value(iterator: IteratorValue, taken: Value | None = None) -> RestValue:
    """What stands for what is left of `iterator`. taken: how many items are gone then, if not as many as now."""
    if taken is None:
        leaf = iterator
        while leaf.parts:
            leaf = leaf.parts[0]
        taken = as_value(make("add", leaf.offset, iterator.taken))
    parts = SequenceValue(None, tuple, _parts_of(iterator))
    return RestValue(None, shape_of(iterator), parts, taken)


Iterate: TypeAlias = Callable[[Value], IteratorValue]


def iterator_of(rest: RestValue, items: list[Value], iterate: Iterate, taken: Scalar) -> Value:
    """The iterator that stands for a Rest from outside; as plain Python makes it, where its items are not known by
    number. items: what each part is. iterate: of what a leaf goes over."""
    found = _numbered(rest.shape, list(items), iterate, taken)
    if found is None:
        return CallValue(None, iter, [rest])
    found.is_rest = True
    return found


def _numbered(shape: Any, parts: list[Value], iterate: Iterate, taken: Scalar) -> IteratorValue | None:
    if shape in (ITEMS, BACKWARDS):
        of = parts.pop(0)
        iterator = iterate(of) if shape == ITEMS else _backwards(of)
        iterator.offset = taken
        return iterator if iterator.kind in ("array", "span", "backwards") else None
    is_enumerate = shape[0] == "enumerate"
    first = as_scalar(parts.pop(0)) if is_enumerate else 0
    insides = [_numbered(one, parts, iterate, taken) for one in shape[1:]]
    known = tuple(one for one in insides if one is not None)
    if first is None or len(known) < len(insides):
        return None
    kind, start = "enumerate" if is_enumerate else "zip", int(shape[0] == "strict zip")
    return IteratorValue(None, kind=kind, start=start, offset=first, parts=known)


__all__ = [
    *("BACKWARDS", "ITEMS", "Bounds", "Rest", "goes_by_number", "is_handed_over", "iterator_of", "left_behind"),
    *("left_of", "rest_of", "rest_of_iterator", "rest_value"),
]
