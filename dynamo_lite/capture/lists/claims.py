"""Which numbers may go into a list as new objects, and the table of those that may not.

Enters a number that an iteration puts into a list or dict. Leaves a note of that, or has the next attempt tell which
object each number is (LoopPlan.objects, number_objects.py), where it may be one that something else holds, too.
INVARIANT: without tags each number that a list gets is an object that this iteration has made, and no list gets twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dynamo_lite import ops
from dynamo_lite._C import Objects
from dynamo_lite.capture.loops.plan import LoopKey
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.capture.value import Break, ComputedValue, ConstantValue, NumberValue, Value, is_single
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, ScalarOp, kind_of

Path: TypeAlias = tuple[Any, ...]


def table_of(tracer: Tracer) -> Node | None:
    """The table of numbers' objects of the loop at hand, if it has one."""
    region = tracer.regions[0] if tracer.regions else None
    if region is None or not region.index.name or not tracer.plans[region.key].objects:
        return None
    if region not in tracer.tables:
        tracer.tables[region] = ops.lists.new_container(tracer.root, Objects, tracer.location())
    return tracer.tables[region]


def hold(tracer: Tracer, value: Any) -> Node:
    """A constant as the object that it is."""
    known = tracer.held.get(id(value))
    if known is None:
        known = tracer.held[id(value)] = value, ops.lists.hold(tracer.root, value, tracer.location())
    return known[1]


def tell_objects(tracer: Tracer) -> None:
    """See that the loop at hand tells which objects the numbers are that lists get; raises Retry where it does not."""
    plan = tracer.plans[tracer.regions[0].key]
    if not plan.objects:
        plan.objects = True
        raise Retry


def made_anew(item: Value, number: Scalar) -> Scalar:
    """A number that capture has computed, as one that the run computes: a new object whenever that comes by."""
    if not isinstance(item, ComputedValue) or type(number) not in (int, float) or is_single(number):
        return number
    kind = kind_of(number)
    if kind == "int" and not -(2**63) < number < 2**63:  # type: ignore[operator]
        raise Break("loop-state", "a list, by an int of more than 64 bits")
    return ScalarOp("neg", kind, (-number,))  # type: ignore[operator]


def claim(tracer: Tracer, item: Value, number: Scalar, constants: bool = False) -> None:
    """See that what a list gets is an object that nobody else has, or have the loop tell which object it is. constants:
    also where that is the constant that a variable begins with."""
    if isinstance(item, NumberValue) and kind_of(number) != "bool":
        _claim_number(tracer, item, constants)
    elif not is_single(number) and tracer.regions and tracer.regions[0].index.name:
        tell_objects(tracer)  # a constant is one object in all iterations


def _claim_number(tracer: Tracer, item: NumberValue, constants: bool) -> None:
    """See that the number is an object that this iteration has made, and that no list gets twice, or have the loop tell
    which object it is."""
    loop = next((region for region in reversed(tracer.regions) if region.index.name), None)
    if loop is not None and tracer.plans[tracer.regions[0].key].objects:
        return
    way = tuple(region.key for region in tracer.regions)
    objects, known = tracer.objects(item.expr), tracer.may_be(item.expr)
    if loop is not None:
        known -= {symbol.name for symbol in loop.numbers.values()}
    taken = any(not _exclude(way, other) for one in objects for other in tracer.appended.get(one, ()))
    if loop is None:
        raise Break("loop-state", "a list, by a number that something else holds, too")
    moved = not objects.isdisjoint(tracer.cell_reads)
    before = loop.before | loop.constants if constants else loop.before
    if known or taken or moved or not objects.isdisjoint(before):
        tell_objects(tracer)
    for one in objects:
        tracer.appended.setdefault(one, []).append(way)


def _exclude(one: tuple[LoopKey, ...], other: tuple[LoopKey, ...]) -> bool:
    """Whether of two ways through an iteration only one runs: they are on different sides of a choice."""
    return any(a[:-1] == b[:-1] and {a[-1], b[-1]} == {True, False} for a, b in zip(one, other, strict=False))


def share_numbers(
    tracer: Tracer,
    entered: Mapping[Path, NumberValue],
    became: Mapping[Path, NumberValue],
    ends: Mapping[Path, Value],
    live: frozenset[Any],
) -> None:
    """Where a list has got a number that another one gets in a later iteration, or the code behind the loop: see that
    the loop tells which objects numbers are.

    entered and became: the numbers that the loop changes, before and after an iteration; ends: constants among the
    latter, too. live: what is read behind it.
    """
    if tracer.appended and _shares_numbers(tracer, entered, became, ends, live):
        tell_objects(tracer)


def _shares_numbers(
    tracer: Tracer,
    entered: Mapping[Path, NumberValue],
    became: Mapping[Path, NumberValue],
    ends: Mapping[Path, Value],
    live: frozenset[Any],
) -> bool:
    appended = set(tracer.appended)
    for path, value in entered.items():
        names: set[str] = set()
        after = became.get(path)
        if value.expr not in appended:
            continue
        if after is None:
            end = ends.get(path)
            if isinstance(end, ConstantValue) and not is_single(end.value):
                return True  # the constant, which all iterations but the first append
            continue
        moved = not tracer.objects(after.expr).isdisjoint(tracer.cell_reads)
        if tracer.may_be(after.expr, names) or names & tracer.indices or moved:
            return True  # the next iteration begins with an object that it, or another one, appends again
    shared: set[Path] = set()  # what may hold such a number from the next iteration on
    objects = {path: tracer.objects(value.expr) for path, value in became.items()}
    while found := {path for path in became if not appended.isdisjoint(objects[path])} - shared:
        shared |= found
        if any(path[0] in live or (path in entered and entered[path].expr in tracer.appended) for path in found):
            return True
        appended |= {entered[path].expr for path in found if path in entered}
    return False


__all__ = ["claim", "hold", "made_anew", "share_numbers", "table_of", "tell_objects"]
