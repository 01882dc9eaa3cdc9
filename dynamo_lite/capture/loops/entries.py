"""Where loops begin: in front of the FOR_ITER of a `for`, or of the body of a `while`.

Enters a machine there; leaves it behind the loop, if that stays one (loops.py), or in an iteration that runs by itself.
"""

from __future__ import annotations

from dynamo_lite import budget
from dynamo_lite.capture.iteration.iterators import take_one_by_one
from dynamo_lite.capture.iteration.numbered import (
    end,
    goes_over_grown,
    has_ended,
    item_at,
    know_texts,
    numbering,
    take_one,
)
from dynamo_lite.capture.lists.columns import is_row
from dynamo_lite.capture.loops.candidates import is_comprehended, is_short, plan_of
from dynamo_lite.capture.loops.guesses import guess_kinds
from dynamo_lite.capture.loops.loops import Attempt
from dynamo_lite.capture.machine import LOOP_ENTRIES, Machine
from dynamo_lite.capture.numbers.numbers import length_of
from dynamo_lite.capture.state import ALWAYS_UNROLLED, ENDLESS, Frame, Retry, Tracer
from dynamo_lite.capture.value import Break, IteratorValue, SequenceValue
from dynamo_lite.graph.opdef import Undecided, demand
from dynamo_lite.graph.scalar import Scalar, is_symbolic, make, negate
from dynamo_lite.pycode import CO_GENERATOR_KINDS


def for_numbered(machine: Machine, frame: Frame, iterator: IteratorValue, exit_index: int) -> bool:
    """FOR_ITER over numbered items: an iteration of its own while the plan says so, then the loop as a whole. False for
    a range that is to be unrolled: its items are then known."""
    tracer, header = machine.tracer, frame.index - 1
    if has_ended(iterator):
        frame.stack.pop()
        frame.index = exit_index
        return True
    if goes_over_grown(iterator):
        raise Break("loop-list", "a list")
    plan = plan_of(tracer, frame, header)
    guess_kinds(tracer, plan, frame, header)
    stands_still = bool(frame.code.flags & CO_GENERATOR_KINDS)  # between two items
    settled = isinstance(iterator.of, SequenceValue) and not is_row(iterator.of) and iterator.of.times is None
    if iterator.is_rest and (plan.refused is not None or stands_still):
        plan.outcome = "segments"
        raise Break("loop-goes-on", "the rest of a loop")
    if iterator.kind != "range" and (settled or plan.refused is not None) and take_one_by_one(machine, iterator):
        plan.outcome = "unrolled"
        return False
    if iterator.kind == "range" and (plan.refused is not None or not tracer.native_loops or stands_still):
        if not is_comprehended(frame) and not is_short(iterator.of):
            plan.outcome = "segments"
            raise Break("loop-goes-on", "a range")  # which an exit of the loop brought
        take_one_by_one(machine, iterator)
        plan.outcome = "unrolled"
        return False
    if plan.refused is not None or stands_still:
        know_texts(tracer, iterator)
        raise Break("loop-over-unknown-iterator", "an array")
    if (bounds := numbering(tracer, iterator)) is None:
        plan.refused = ("loop-state", "iterators of different lengths")
        raise Retry
    start, stop, step = bounds
    known = not any(map(is_symbolic, bounds))
    short = iterator.kind != "range" and known and length_of(bounds) <= ALWAYS_UNROLLED
    start = make("add", start, make("mul", step, iterator.taken))
    if tracer.relate(make("eq", step, 0)):
        raise Break("python-exception", "ValueError: range() arg 3 must not be zero")
    forward = demand(tracer.relate, make("ge", step, 1))
    more = make("lt", start, stop) if forward else make("gt", start, stop)
    alone = iterator.taken in plan.alone
    if iterator.taken < plan.peel and not alone and not _is_told(tracer, more):
        plan.peel, plan.unpeeled = 0, True
        raise Retry
    if short or iterator.taken < plan.peel or alone:
        if tracer.relate(more):
            plan.outcome = "" if short else "paused" if alone or plan.avoided else "begun"
            tracer.peeling = not short
            tracer.ahead = start, stop, step
            item = item_at(machine, iterator, start)
            tracer.ahead = None
            take_one(iterator)
            frame.push(item)
            return True
    elif tracer.graph.facts.decide(more) is not False:
        _enter(machine, frame, header)
        Attempt(machine, frame, header, exit_index, plan, iterator.taken, (start, stop, step), more, forward).run()
        machine.entered.pop()
    plan.outcome = "unrolled" if short else "native"
    tracer.peeling = False
    frame.stack.pop()
    end(iterator)
    frame.index = exit_index
    return True


def while_loop(machine: Machine, frame: Frame) -> bool:
    """In front of the body of a `while`: keep the loop a loop, or let this iteration run by itself. The test at the top
    was true; the one at the bottom tells after an iteration whether to go on."""
    tracer, header = machine.tracer, frame.index
    if not tracer.native_loops or frame.code.flags & CO_GENERATOR_KINDS:
        return False
    plan = plan_of(tracer, frame, header)
    guess_kinds(tracer, plan, frame, header)
    if plan.refused is not None:
        plan.outcome = "segments"
        if tracer.regions:
            raise Break(*plan.refused)
        return False
    if machine.entered and machine.entered[-1] == (id(frame), header):
        return False
    met = frame.visits[header] = frame.visits.get(header, 0) + 1
    if met <= plan.peel or met in plan.alone:
        plan.outcome = "paused" if met in plan.alone or plan.avoided else plan.outcome or "tested"
        return False
    _enter(machine, frame, header)
    Attempt(machine, frame, header, None, plan, met, (0, ENDLESS, 1), True, True).run()
    machine.entered.pop()
    plan.outcome = "native"
    return True


LOOP_ENTRIES.append(while_loop)


def _is_told(tracer: Tracer, more: Scalar) -> bool:
    """Whether a segment can tell if there is an iteration: always, or for each iteration of a loop around."""
    try:
        tracer.relate(more)
    except Undecided as reason:
        condition = reason.condition
        if not tracer.is_owned(condition):
            return False
        region = tracer.regions[tracer.owner(condition)]
        return any(tracer.worst(region, wanted) is not None for wanted in (condition, negate(condition)))
    except Break as reason:
        if reason.reason != "data-dependent-number":
            raise
        return False
    return True


def _enter(machine: Machine, frame: Frame, header: int) -> None:
    """Note that the loop at `header` is being traced; raises Break where a way out of an inner one has led there, or in
    an arm of a branch outside of loops."""
    if machine.tracer.regions and not machine.tracer.in_loop:
        raise Break("loop-state", "a branch around it")
    if (id(frame), header) in machine.entered:
        raise Break("loop-exit", "break, to the next iteration of a loop around it")
    if not machine.entered:
        machine.spent = budget.spent()
    machine.entered.append((id(frame), header))


__all__ = ["for_numbered"]
