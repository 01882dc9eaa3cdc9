"""Lists that a loop appends to: ``out.append(x)`` as an op of the loop's body (ops/lists.py).

Enters a list made in this segment and what is appended to it. Outside of loops the interpreter keeps its items; where
a loop knew the list before its first iteration, the program makes a list of its own, which gets what the loop appends,
and residual code adds it to the items from before:

    out = [x0]                                  %tail = new_list()
    for i in range(n): x = f(x); out.append(x)  loop ...: append(%tail, %x)
    return out                                  residual:  out = [x0]; out.extend(tail)

A list from outside is an input of the program, which takes back what it has appended if it declines; nothing else of
the segment has looked into that list.

The last item and the length of such a list are places (places.py) with the keys "last" and "length": where an iteration
looks at one and appends, the loop carries it, and `out.append(out[-1] * 0.5)` is `last = last * 0.5; out.append(last)`.
The last item is an array, a NumPy scalar, or a Python number. Such a number is not known after the loop: the one that
the list holds and the one that the loop carries are two objects.

INVARIANT: no iteration has read the list otherwise. What is appended is the object that it would be: an array is its
node's, a number is one that the iteration has computed and that nobody else gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dynamo_lite import ops
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers import as_scalar
from dynamo_lite.capture.places import Place, end_of, name_of
from dynamo_lite.capture.sameness import reachable
from dynamo_lite.capture.state import Grown, LoopKey, Region, Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, Break, LazyValue, NumberValue, SequenceValue, UnreadValue, Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.scalar import kind_of, make
from dynamo_lite.graph.types import LIST

Path: TypeAlias = tuple[Any, ...]


def append(machine: Machine, target: SequenceValue, item: Value) -> None:
    """``target.append(item)``; target: a list made in this segment."""
    tracer = machine.tracer
    loops = [place for place, region in enumerate(tracer.regions) if target in region.lists]
    if not loops and target.tail is None:
        target.items.append(item)
        return
    was_read = any(tracer.regions[place].lists[target][0] != target.reads for place in loops)
    looked_at = any(_looks(tracer.regions[place], target) for place in loops)
    alternates = bool(loops) and not tracer.regions[-1].index.name  # a choice refuses a list that becomes longer
    if target.tail is None and not target.ends and (was_read or (looked_at and not alternates)):
        target.known.append(item)  # which the loop refuses, unless the iteration has taken one off
        return
    if was_read and target.tail is None:
        raise Break("loop-list", "a list")
    for place in loops:
        _carry_ends(tracer, tracer.regions[place], target)
    item = realise(tracer, item)
    _append_ends(tracer, target, item)
    values, packed = _appended(tracer, item)
    if target.tail is None:
        around = tracer.regions[loops[0] - 1].graph if loops[0] else tracer.root
        target.tail = ops.lists.new_list(around, tracer.location())
    ops.lists.append(tracer.graph, target.tail, values, packed, tracer.location())


def has_ends(tracer: Tracer, target: SequenceValue) -> bool:
    """Whether `look` may be asked: for a list made in this segment, in a loop or after one that carries its ends."""
    return target.kind is list and target.source is None and bool(tracer.regions or target.ends)


def look(tracer: Tracer, target: SequenceValue, key: str) -> Value | None:
    """The "last" item or the "length" of a list made in this segment, without reading the list; None: not known."""
    found = end_of(target, key)
    if found is None and (target.tail is not None or target.ends):
        for region in tracer.regions:
            if target in region.lists:
                _carry_ends(tracer, region, target)
    return None if isinstance(found, UnreadValue) else found


def learn_ends(tracer: Tracer, region: Region) -> None:
    """Where an iteration has made lists longer, having looked at nothing but their ends: raise Retry to carry these."""
    for target, (reads, _, length) in region.lists.items():
        if target.tail is None and reads == target.reads and len(target.known) > length:
            _carry_ends(tracer, region, target)


def is_seen_after(owner: Value, key: object) -> bool:
    """Whether a place that a loop carries has its value after the loop, too."""
    last = owner.ends.get("last") if isinstance(owner, SequenceValue) and key == "last" else None
    return last is None or as_scalar(last) is None


def forget_ends(owners: Iterable[Value]) -> None:
    """Have lists that a loop has not appended to after all known by their items again."""
    for owner in owners:
        if isinstance(owner, SequenceValue) and owner.tail is None:
            owner.ends.clear()


def _looks(region: Region, target: SequenceValue) -> list[str]:
    """What the loop has looked at of a list that was there before."""
    return target.looks[region.lists[target][1] :]


def _carry_ends(tracer: Tracer, region: Region, target: SequenceValue) -> None:
    """Have the loop carry what it has looked at of a list to which it appends; raises Retry if it does not yet."""
    plan, where = tracer.plans[region.key], name_of(tracer, target)
    missing = [place for key in _looks(region, target) if (place := Place(where, key)) not in plan.places]
    if not missing:
        return
    if where is None:
        raise Break("loop-list", "a list")
    plan.places.update(dict.fromkeys(missing, True))
    raise Retry


def _append_ends(tracer: Tracer, target: SequenceValue, item: Value) -> None:
    """Bring the last item and the length of a list that are carried up to date."""
    if "last" in target.ends:
        if not isinstance(item, ArrayValue) and as_scalar(item) is None:
            raise Break("loop-list", "a list")
        target.ends["last"] = item
    length = as_scalar(target.ends["length"]) if "length" in target.ends else None
    if length is not None:
        target.ends["length"] = tracer.number(make("add", length, 1))


def append_outside(machine: Machine, target: LazyValue, item: Value) -> None:
    """``target.append(item)`` in a loop; target: a list from outside, of which nothing is known but its type."""
    tracer, concrete = machine.tracer, target.concrete
    assert target.source is not None
    in_loop = tracer.peeling or any(region.index.name for region in tracer.regions)
    known = tracer.grown.get(id(concrete))
    if not in_loop or id(concrete) in tracer.wrapped or (known is not None and known.source != target.source):
        raise Break("side-effect-container", "list.append")
    values, packed = _appended(tracer, realise(tracer, item))
    if known is None:
        known = Grown(concrete, target.source, tracer.root.add_input(LIST, "list"))
        tracer.grown[id(concrete)] = known
        tracer.inputs.append(target.source)
        tracer.example_inputs.append(concrete)
    ops.lists.append(tracer.graph, known.node, values, packed, tracer.location())


def state_others(tracer: Tracer) -> None:
    """Guard that each list which gets something is no other list that is looked at, or gets something."""
    grown = [one.source for one in tracer.grown.values()]
    for place, source in enumerate(grown):
        for other in (*grown[place + 1 :], *tracer.lists):
            tracer.facts.state_pair("distinct", source, other)


def _appended(tracer: Tracer, item: Value) -> tuple[tuple[Argument, ...], type | None]:
    """The operands of an append, and what they are packed into: a tuple or list that nobody else has."""
    is_fresh = isinstance(item, SequenceValue) and item.source is None and item.tail is None
    if isinstance(item, SequenceValue) and is_fresh and item not in reachable(tracer):
        return tuple(_operand(tracer, realise(tracer, one)) for one in item.known), item.kind
    return (_operand(tracer, item),), None


def _operand(tracer: Tracer, item: Value) -> Argument:
    """What is appended, or stands in it."""
    if isinstance(item, ArrayValue):
        return item.node
    if isinstance(item, SequenceValue) and item.tail is not None and not item.known and item.source is None:
        return item.tail
    number = as_scalar(item)
    if number is None or kind_of(number) == "complex" or _is_long(number):
        raise Break("loop-state", "a list, by other things than arrays and numbers")
    if isinstance(item, NumberValue) and kind_of(number) != "bool":
        _claim(tracer, item)
    return number


def _is_long(number: object) -> bool:
    return type(number) is int and not -(2**63) <= number < 2**63


def _claim(tracer: Tracer, item: NumberValue) -> None:
    """See that the number is an object that this iteration has made, and that no list gets twice."""
    loop = next((region for region in reversed(tracer.regions) if region.index.name), None)
    way = tuple(region.key for region in tracer.regions)
    objects, known = tracer.objects(item.expr), tracer.may_be(item.expr)
    if loop is not None:
        known -= {symbol.name for symbol in loop.numbers.values()}
    taken = any(not _exclude(way, other) for one in objects for other in tracer.appended.get(one, ()))
    if loop is None or known or taken or not objects.isdisjoint(loop.before):
        raise Break("loop-state", "a list, by a number that something else holds, too")
    for one in objects:
        tracer.appended.setdefault(one, []).append(way)


def _exclude(one: tuple[LoopKey, ...], other: tuple[LoopKey, ...]) -> bool:
    """Whether of two ways through an iteration only one runs: they are on different sides of a choice."""
    return any(a[:-1] == b[:-1] and {a[-1], b[-1]} == {True, False} for a, b in zip(one, other, strict=False))


def shares_numbers(
    tracer: Tracer, entered: Mapping[Path, NumberValue], became: Mapping[Path, NumberValue], live: frozenset[Any]
) -> bool:
    """Whether a list has got a number that another one gets in a later iteration, or the code behind the loop.

    entered and became: the numbers that the loop changes, before and after an iteration. live: what is read behind it.
    """
    appended = set(tracer.appended)
    for path, value in entered.items():
        names: set[str] = set()
        after = became.get(path)
        if value.expr not in appended or after is None:
            continue
        if tracer.may_be(after.expr, names) or names & tracer.indices:
            return True  # the next iteration begins with an object that it, or another one, appends again
    shared: set[Path] = set()  # what may hold such a number from the next iteration on
    objects = {path: tracer.objects(value.expr) for path, value in became.items()}
    while found := {path for path in became if not appended.isdisjoint(objects[path])} - shared:
        shared |= found
        if any(path[0] in live or (path in entered and entered[path].expr in tracer.appended) for path in found):
            return True
        appended |= {entered[path].expr for path in found if path in entered}
    return False


def watch(tracer: Tracer, region: Region, values: Iterable[Value]) -> None:
    """Note the lists and numbers that there are before the first iteration of the loop of `region`."""
    for value in values:
        if isinstance(value, SequenceValue) and value.kind is list:
            region.lists[value] = value.reads, len(value.looks), len(value.known)
        elif isinstance(value, NumberValue):
            region.before |= tracer.objects(value.expr)


__all__ = [
    *("append", "append_outside", "forget_ends", "has_ends", "is_seen_after", "learn_ends", "look", "shares_numbers"),
    *("state_others", "watch"),
]
