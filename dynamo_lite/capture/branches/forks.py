"""fork: a branch on data outside of loops, both of whose arms become one COND node.

Enters a frame at a jump that only the run decides, where no loop is being traced. Leaves the frame where the arms meet,
or what the function returns where both end it; False, and nothing done, where the graph is to break there:

    if x.sum() > 0: y = x * 2      %cond: T = cond(c, %x): then returns mul(%x, 2), else returns add(%x, 1)
    else: y = x + 1

Both arms are traced as the ways of an iteration are (branches.py). Where one cannot be, or what they leave does not fit
together, capture begins again and breaks at that jump. In a loop that is unrolled the ways meet at the next round;
where one of them leaves the loop, the other one goes on with all rounds that are left. An arm costs its compile time
though it may never run, so long arms and arms with loops of their own are left to segments of their own; so are big
arrays, which a segment fuses with what follows.
"""

from __future__ import annotations

from math import prod
from typing import NoReturn

from dynamo_lite.capture.branches.arms import are_short, has_big_arrays, loops_around
from dynamo_lite.capture.branches.branches import FEW_FORKS, CalleeWalk
from dynamo_lite.capture.branches.choices import break_
from dynamo_lite.capture.branches.conditions import data_condition, none_condition
from dynamo_lite.capture.iteration.numbered import rounds_left
from dynamo_lite.capture.loops.candidates import roll
from dynamo_lite.capture.machine import Machine, Returned
from dynamo_lite.capture.segments.restraints import place_of
from dynamo_lite.capture.state import Frame, Retry, Tracer
from dynamo_lite.capture.value import Break, IteratorValue
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.policy import ARMS


def may_fork(machine: Machine, frame: Frame, place: int) -> bool:
    """Whether the arms of the jump at `place` may become one node, as far as code tells."""
    tracer = machine.tracer
    if tracer.regions or tracer.peeling or tracer.depth or tracer.forks is None or machine.break_everywhere:
        return False
    if len(tracer.forks) > ARMS.most_refused or tracer.forked >= ARMS.most or _place(frame, place) in tracer.forks:
        return False
    iterators = [one for one in frame.stack if isinstance(one, IteratorValue)]
    if prod(map(rounds_left, iterators)) > ARMS.most or len(iterators) < loops_around(frame.code, place):
        return False  # lest a loop be left in its middle, and go on with other code in each round from there
    return are_short(frame.code, place) and not has_big_arrays(tracer, tracer.root.inputs)


def fork(machine: Machine, frame: Frame) -> bool:
    """Trace both arms of the jump that has just been fetched, if it is on data; whether they were.

    Raises Returned where both end the function, and Retry where they cannot be traced."""
    tracer, place = machine.tracer, frame.index - 1
    if not may_fork(machine, frame, place):
        return False
    asks_none = frame.code.instrs[place].op.endswith("NONE")
    condition = (none_condition if asks_none else data_condition)(machine, frame.stack[-1])
    if condition is None:
        return False
    frame.index = place
    everything = frozenset(range(len(frame.code.instrs)))
    walk = CalleeWalk(machine, frame, everything, -1, break_, -1, None)
    stack = frame.stack[:]
    tracer.forked += 1
    if tracer.forked > FEW_FORKS:
        roll(tracer, frame.code, place, stack)
    tracer.forking = _place(frame, place)
    try:
        goes_on = walk.fork(condition)
    except (Break, Undecided):
        roll(tracer, frame.code, place, stack)
        refuse_fork(tracer)
    tracer.forking = None
    if goes_on is not None:
        raise Returned(frame.stack.pop())
    return True


def refuse_fork(tracer: Tracer) -> NoReturn:
    """Begin again, and break the graph at the branch whose arms are being traced."""
    assert tracer.forks is not None
    tracer.forks.add(tracer.forking)
    raise Retry


def _place(frame: Frame, place: int) -> tuple[object, ...]:
    return (*place_of(frame.code), place)


__all__ = ["fork", "may_fork", "refuse_fork"]
