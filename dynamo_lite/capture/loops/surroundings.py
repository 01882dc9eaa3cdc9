"""What an attempt at a loop finds around the body: the owners of places, how many iterations a `while` has at most, and
where the frame goes on behind the loop.

Enters a frame at the loop's header, or what an iteration has left; leaves what the attempt (loops.py) carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any, TypeAlias

from dynamo_lite.capture.branches.branches import Walk
from dynamo_lite.capture.branches.sameness import unchanged
from dynamo_lite.capture.handlers.attributes import get_attribute
from dynamo_lite.capture.lists.lists import is_whole
from dynamo_lite.capture.loops.code import exposed, stored_names, tests
from dynamo_lite.capture.loops.eithers import sources_in
from dynamo_lite.capture.loops.leaving import done_at
from dynamo_lite.capture.loops.number_objects import Path
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.loops.rests import Bounds, left_behind
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.places import (
    Place,
    Snapshot,
    changed,
    contents,
    find_owner,
    get,
    name_of,
    namespace,
    place_at,
    restore,
    snapshot,
    was_looked_at,
)
from dynamo_lite.capture.segments.restraints import Rounds, place_of
from dynamo_lite.capture.source import Source, constant
from dynamo_lite.capture.state import Frame, Retry, SideExits, Tracer
from dynamo_lite.capture.value import (
    CallValue,
    ConstantValue,
    GoneValue,
    IteratorValue,
    LazyValue,
    MethodValue,
    SequenceValue,
    UnreadValue,
    Value,
)
from dynamo_lite.capture.wrap import present, realise
from dynamo_lite.graph.scalar import kind_of, make
from dynamo_lite.pycode import Code

Name: TypeAlias = str | Place  # of a local, or a place
State: TypeAlias = list[tuple[Value, tuple[Any, ...]]]

MAX_PLACES = 64


class Unreached(Exception):
    """The owner of a place is not where an earlier attempt has found it: a break's reason and detail."""


def find_owners(
    machine: Machine, plan: LoopPlan, frame: Frame, loop: frozenset[int], header: int
) -> dict[Place, Value]:
    """The owners of the places that earlier attempts have seen to change, and of those that `loop`, its instructions,
    say it will; lists of which a local may hold an object are looked at, too."""
    tracer = machine.tracer
    _guess_variables(tracer, plan, frame, loop, header)
    for form in (one for forms in plan.eithers.values() for one in forms):
        for source in sources_in(form):
            _reach(machine, source)
    owners: dict[Place, Value] = {}
    for place in plan.places:
        owner = find_owner(tracer, place, lambda source: _reach(machine, source))
        if owner is None:
            raise Unreached("loop-state", "a list, dict, cell or iterator from before the loop")
        if is_whole(owner) or _is_no_place_now(owner, place.key):
            continue
        if owner.source is not None:
            tracer.stored.setdefault(owner, dict(contents(owner)))
        owners[place] = owner
    _look_together(tracer, plan, owners)
    return owners


def _is_no_place_now(owner: Value, key: Any) -> bool:
    """Whether an earlier attempt took an index for one that stays, or met a list that had more items by then."""
    if not isinstance(owner, SequenceValue):
        return False
    is_item = owner.cells is not None and key != "length"
    return is_item or (isinstance(key, int) and key >= len(owner.known))


def _look_together(tracer: Tracer, plan: LoopPlan, owners: Mapping[Place, Value]) -> None:
    """Look at all that this loop reads of what a loop around it sets before it is read, as far as is known there: what
    is not so costs that one an attempt, all together."""
    held = [get(tracer, owner, place.key) for place, owner in owners.items() if plan.places[place]]
    unread = [value for value in held if isinstance(value, UnreadValue)]
    for value in unread:
        with suppress(Retry):
            value.look()
    if unread:
        raise Retry


def _guess_variables(tracer: Tracer, plan: LoopPlan, frame: Frame, loop: frozenset[int], header: int) -> None:
    """Take the variables of the module that the loop stores to for ones that it changes, lest each loop of a script's
    nest cost an attempt. Whether an iteration reads what the one before has left is guessed by the code, and by what is
    there before."""
    stored = (frame.code.instrs[index] for index in loop if frame.code.instrs[index].op == "STORE_GLOBAL")
    names = frozenset(instr.arg for instr in stored)
    if not plan.guesses or not names:
        return
    module = namespace(tracer, frame.namespace)
    read = exposed(frame.code, loop, header, names, names, "GLOBAL")
    for name in sorted(names):
        place = Place(module.source, name)
        if place not in plan.places and len(plan.places) < MAX_PLACES:
            first = get(tracer, module, name)
            is_number = isinstance(first, LazyValue) and type(first.concrete) in (bool, int, float)
            if isinstance(first, LazyValue) and type(first.concrete) in (complex, str):
                continue  # which is known by its value, if the loop gets it
            is_made_anew = name not in read and type(frame.namespace.get(name)) in (list, tuple)
            plan.places[place] = is_number or (was_looked_at(first) and not is_made_anew)
            plan.guessed_places.add(place)


def _reach(machine: Machine, source: Source) -> Value:
    """What a source names, looked at step by step as the code does that."""
    base = source.base
    match source.kind:
        case "slot":
            return realise(machine.tracer, machine.slots[source.key[1]])
        case "global":
            namespace, name = source.key[0].value, source.key[1]
            return realise(machine.tracer, present(machine.tracer, source, namespace[name]))
        case "attr" | "item" | "key" if base is not None:
            owner = _reach(machine, base)
            held = get(machine.tracer, owner, source.key)
            if held is None and source.kind == "attr":  # of a module, say, a method
                held = get_attribute(machine, owner, source.key)
            if held is not None and held.source == source:
                return realise(machine.tracer, held)
        case "method_self" if base is not None:
            method = _reach(machine, base)
            if isinstance(method, MethodValue) and method.self is not None:
                return realise(machine.tracer, method.self)
    raise Unreached("side-effect-attribute", str(source))


def own_names(frame: Frame, plan: LoopPlan, loop: frozenset[int]) -> frozenset[str]:
    """The locals that a loop sets, and closure variables of its own frame."""
    outside = {name for name, cell in frame.cells.items() if cell.concrete is not None}  # which are places
    return stored_names(frame.code, loop).union(plan.others) - outside


def learn_others(plan: LoopPlan, stored: Set[Name], before: Mapping[str, Value], now: Mapping[str, Value]) -> None:
    """Raise Retry where an iteration has set a local that the loop's own code does not: on a way of it that is none of
    the loop's, and which a loop inside goes all the same."""
    found = {name for name in before.keys() | now.keys() if before.get(name) is not now.get(name)} - stored
    if found:
        plan.others |= found
        raise Retry


def only_places(
    tracer: Tracer,
    plan: LoopPlan,
    state: State,
    before: Snapshot,
    is_known: Callable[[int, Any], bool],
    stored: Set[tuple[int, str]],
) -> bool:
    """Whether an iteration has changed nothing but the places of this attempt; raises Retry where the next one is to
    carry others, too. before: what places held when it began. is_known: whether one, of an owner by its id, is carried.
    stored: the locals, by frame, that it sets.
    """
    after = snapshot(tracer)
    learned = False
    for owner, key in changed(tracer, before, after):
        if is_known(id(owner), key):
            continue
        where = name_of(tracer, owner, stored)
        place = Place(where, key)
        if where is None or isinstance(owner, IteratorValue) or place in plan.places or len(plan.places) == MAX_PLACES:
            return False
        first = place_at(tracer, owner, key, before)
        is_read = was_looked_at(first) or _is_number_like(first, place_at(tracer, owner, key, after))
        plan.places[place] = is_read
        if isinstance(where, Source):  # it is there in front of the loops around this one, which change it with it
            for one in (tracer.plans[region.key] for region in tracer.regions if region.key in tracer.plans):
                if len(one.places) < MAX_PLACES:
                    one.places.setdefault(place, is_read)
        learned = True
    if learned:
        raise Retry
    restore(tracer, before)
    only = unchanged(tracer, state)
    restore(tracer, after)
    return only


def _is_number_like(first: Value | None, then: Value | None) -> bool:
    """Whether a number stands where one of its type did. It is carried in any case: that some iteration reads what an
    earlier one has put there would be seen place by place."""
    number = None if then is None else as_scalar(then)
    if number is None or first is None or kind_of(number) == "complex":
        return False
    if isinstance(first, LazyValue):
        return type(first.concrete).__name__ == kind_of(number)
    known = as_scalar(first)
    return known is not None and kind_of(known) == kind_of(number)


def bounds_of(
    tracer: Tracer, frame: Frame, header: int, plan: LoopPlan, before: Mapping[Name, Value], stored: frozenset[Name]
) -> Bounds | None:
    """Number the iterations of a `while i < n` in which i grows by the same int each time and n stays: as many as there
    are at most, so that i < n is known in all of them. Whether to go on is asked all the same."""
    for left, op, right in tests(frame.code, header):
        step = plan.steps.get((left,), 0)
        rises = op in ("<", "<=")
        if not step or (step > 0) != rises or right in stored or left not in before:
            continue
        begin = as_scalar(before[left])
        value = frame.locals.get(right) if isinstance(right, str) else ConstantValue(None, right)
        limit = None if value is None else as_scalar(realise(tracer, value))
        if begin is None or limit is None or kind_of(begin) != "int" or kind_of(limit) != "int":
            continue
        distance = make("sub", limit, begin) if rises else make("sub", begin, limit)
        distance = make("add", distance, 1) if op.endswith("=") else distance
        if tracer.graph.facts.decide(make("ge", distance, 1)):
            by = abs(step)
            count = distance if by == 1 else make("floordiv", make("add", distance, by - 1), by)
            return 0, count, 1
    return None


def side_exits_of(tracer: Tracer, code: Code, walk: Walk, number: Value, at: Value | None, bounds: Bounds) -> SideExits:
    """Where the frame may go on besides behind the loop. at: the index of the iteration that was left in its middle."""
    places: list[tuple[int, tuple[Value, ...]]] = []
    is_for = walk.iterator is not None
    for place in walk.side_exits:
        under: tuple[Value, ...] = tuple(GoneValue() for _ in range(is_for + walk.gone.get(place, 0)))
        if place in walk.inside and walk.iterator is not None:
            assert at is not None
            under = (left_behind(walk.iterator, bounds, at),)
        places.append((place, under))
    if not walk.inside or at is None:
        return SideExits(number, tuple(places))
    rounds = Rounds(tracer.restraints, place_of(code, walk.header))
    source = constant(rounds)
    tracer.state_class("type_version", source, Rounds)
    tracer.facts.state("is", source.attr("rare"), True)
    ends = [tracer.number(bound) for bound in (bounds[0], bounds[2])]
    done = CallValue(None, done_at, [*ends, at])
    return SideExits(number, tuple(places), inside=walk.inside, done=(rounds, done))


__all__ = ["Name", "Path", "State", "Unreached", "bounds_of", "find_owners", "only_places", "side_exits_of"]
