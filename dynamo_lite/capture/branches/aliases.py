"""Tuples that are one object on some ways only, of which a loop cannot tell that behind it.

    if v > best:
        where = (i, j)
        last = where

Enters: what stands behind a choice for what each way has. Leaves: in the Tracer's ``aliases`` the pairs of tuples that
are one object where some way was gone, and a refusal of the loop after an iteration of which two locals hold such a
pair, or one has replaced, on some ways, what the other still has. A loop hands tuples out item by item
(loops/results.py), as another object each. Outside of loops no choice is made then (choices.StraightMerge).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from dynamo_lite.capture.objects.aggregates import has_items, is_object
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import EitherValue, RecordValue, SequenceValue, Value

if TYPE_CHECKING:
    from dynamo_lite.capture.loops.loops import Attempt
    from dynamo_lite.capture.loops.surroundings import Name


def tuples_in(value: Value | None) -> tuple[Value, ...]:
    """The tuples that the segment has made which a value is, or may be."""
    if isinstance(value, EitherValue):
        return tuples_in(value.first) + tuples_in(value.second)
    is_tuple = isinstance(value, SequenceValue | RecordValue) and has_items(value) and not is_object(value)
    return (value,) if is_tuple and value is not None and value.source is None else ()


def note_aliases(tracer: Tracer, merged: Mapping[tuple[Value, Value], Value]) -> None:
    """Note which of the values behind a choice may be one object. merged: by what they are on either way."""
    tuples = [(pair, value) for pair, value in merged.items() if tuples_in(value) == (value,)]
    for (pair, value), (other_pair, other) in combinations(tuples, 2):
        if value is not other and any(map(_may_be_one, [tracer] * 2, pair, other_pair)):
            tracer.aliases.add(frozenset((value, other)))


def _may_be_one(tracer: Tracer, one: Value, other: Value) -> bool:
    return (one is other and bool(tuples_in(one))) or frozenset((one, other)) in tracer.aliases


def require_told(attempt: Attempt, names: Iterable[Name]) -> None:
    """Refuse a loop after an iteration of which two of these names, read again, hold what may be one tuple: one that
    some iterations give both, or one from before the loop that it replaces under one name, if at all."""
    aliases = attempt.machine.tracer.aliases
    held = {name: found for name in names if (found := tuples_in(attempt._get(name)))}
    if len(held) < 2:
        return
    replaced: dict[Name, set[Value]] = {name: set() for name in held}
    for path, carried in attempt.tuples.items():
        if path[0] in held and path not in attempt.region.kept:
            replaced[path[0]].add(carried.before)
    for (one, first), (other, second) in combinations(held.items(), 2):
        is_old = not (replaced[one].isdisjoint(second) and replaced[other].isdisjoint(first))
        if is_old or any(frozenset((a, b)) in aliases for a in first for b in second):
            attempt.refuse("loop-state", f"the locals {one} and {other}, which are one tuple after some iterations")


__all__ = ["note_aliases", "require_told", "tuples_in"]
