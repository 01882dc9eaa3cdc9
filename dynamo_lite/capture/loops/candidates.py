"""Which loops stay loops, and what earlier attempts at each have taught.

Enters a frame in front of a loop, or of a call of a comprehension's function; leaves whether to try, and a LoopPlan.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.iteration.numbered import goes_by_character, goes_over_arrays, under
from dynamo_lite.capture.lists.columns import holds_objects, open_columns
from dynamo_lite.capture.lists.object_lists import holds_arrays, take_items
from dynamo_lite.capture.loops.code import CONDITIONAL_JUMPS, OPERATIONS, start_of, ways_out, while_loops, whole_loop
from dynamo_lite.capture.loops.leaving import goes_on_at
from dynamo_lite.capture.loops.lessons import recall
from dynamo_lite.capture.loops.plan import LoopKey, LoopPlan
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import length_of
from dynamo_lite.capture.segments.plain_statements import known, plain_call_ahead
from dynamo_lite.capture.segments.restraints import FirstRounds, place_in, place_of
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import ALWAYS_UNROLLED, Frame, Region, Retry, Tracer
from dynamo_lite.capture.value import (
    Break,
    FunctionValue,
    InstanceValue,
    IteratorValue,
    RangeValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.rewrite import operations
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.policy import APART, LONG
from dynamo_lite.pycode import Code, begins_at, begins_rest, decoded
from dynamo_lite.pycode.flow import natural_loop, stack_depth

_BEGIN_COMPREHENSION = frozenset({"LOAD_FAST_AND_CLEAR", "SWAP", "BUILD_LIST", "BUILD_MAP", "COPY"})
_TAKES_ITERATOR = frozenset({"<listcomp>", "<dictcomp>", "<genexpr>"})  # the first two before 3.12


_CALLS_AHEAD = 3  # deep that the operations of an iteration are counted


_FEW_OBJECTS = 20  # in a list that is gone through item by item, which takes an operation for each attribute of each


def stays_loop(machine: Machine, frame: Frame, value: Value) -> bool:
    """Whether what GET_ITER has just taken off the stack is gone through by a `for` that could stay a loop."""
    tracer, header = machine.tracer, header_behind(frame.code, frame.index)
    is_loop = frame.code.instrs[header].op == "FOR_ITER"
    if not tracer.native_loops or not (is_loop or _is_comprehension(frame)):
        return False
    if isinstance(value, RangeValue):
        bounds = (value.start, value.stop, value.step)
        if is_short(value) and place_of(frame.code, header) not in tracer.restraints.rolled:
            return False
        if any(not is_symbolic(bound) and not -(2**63) <= bound < 2**63 for bound in bounds):  # type: ignore[operator]
            return False
    elif not is_loop or not (goes_over_arrays(value) or goes_by_character(tracer, value)):
        if is_loop:
            _open_long(tracer, value)
        return False
    return True


def is_short(value: Value) -> bool:
    """Whether it is a range of a few known numbers, over which a loop is unrolled."""
    bounds = (value.start, value.stop, value.step) if isinstance(value, RangeValue) else ()
    return bool(bounds) and not any(map(is_symbolic, bounds)) and length_of(bounds) <= ALWAYS_UNROLLED


def roll(tracer: Tracer, code: Code, index: int, stack: list[Value]) -> None:
    """A branch on data has been met that is one too many, or cannot be captured. Have the short loops around it in its
    frame that are being unrolled, over ranges and lists, stay loops in the next attempt, unless that was tried: raises
    Retry."""
    iterators = [one for one in stack if isinstance(one, IteratorValue)]
    lists = [part.of for one in iterators for part in under(one) if holds_arrays(tracer, part.of)]
    is_unrolled = any(one.kind == "iter" and is_short(one.of) for one in iterators) or bool(lists)
    if not tracer.native_loops or not is_unrolled or tracer.peeling:
        return
    rolled = tracer.restraints.rolled
    heads = [at for at, instr in enumerate(code.instrs[:index]) if instr.op == "FOR_ITER"]
    places = {place_of(code, at) for at in heads if index in natural_loop(code, at, False)}
    if not places <= rolled | tracer.restraints.unrolled:
        rolled |= places
        if lists:
            take_items(tracer)
        raise Retry


def unroll(tracer: Tracer, code: Code, loop: frozenset[int]) -> None:
    """A loop is refused. Have those in it that stay loops for branches on data unrolled again: raises Retry."""
    places = {place_of(code, at) for at in loop if code.instrs[at].op == "FOR_ITER"} & tracer.restraints.rolled
    if places:
        tracer.restraints.rolled -= places
        tracer.restraints.unrolled |= places
        raise Retry


def _open_long(tracer: Tracer, value: Value) -> None:
    """Have the long lists that a `for` goes over known by numbers, if they hold some, in the next attempt."""
    lists = [one.of for one in under(value)] if isinstance(value, IteratorValue) else [value]
    for one in lists:
        if isinstance(one, SequenceValue) and one.source is not None and len(one.known) > ALWAYS_UNROLLED:
            open_columns(tracer, one)
            if len(one.known) > _FEW_OBJECTS and holds_objects(tracer, one):
                raise Break("loop-over-unknown-iterator", "a list of objects")


def header_behind(code: Code, index: int) -> int:
    """Where the loop over what a GET_ITER before `index` has made is headed, if it is one: from 3.12 on a comprehension
    puts its variable aside and its list below the iterator first."""
    while code.instrs[index].op in _BEGIN_COMPREHENSION:
        index += 1
    return index


def _is_comprehension(frame: Frame) -> bool:
    """Whether the instruction at hand calls the function of a generator expression, or (before 3.12) of a list or dict
    comprehension."""
    instr, function = frame.code.instrs[frame.index], frame.stack[-1] if frame.stack else None
    is_call = instr.op == "CALL" and instr.arg == 0
    return is_call and isinstance(function, FunctionValue) and function.code.co_name in _TAKES_ITERATOR


def plan_of(tracer: Tracer, frame: Frame, header: int) -> LoopPlan:
    """What earlier attempts have taught about the loop at `header`, in the loops around it."""
    key = key_of(tracer, frame, header)
    plan = tracer.plans.get(key)
    if plan is None:
        place = next((one for one in reversed(tracer.frames) if one.namespace is not vars(consumers)), frame)
        if place is not frame:  # the loop of a builtin stands where that is called
            line = place.line or place.code.firstlineno
            plan = tracer.plans[key] = LoopPlan(place.code.filename, line, place.code.name)
            return plan
        lines = [frame.code.instrs[header].position[0]]
        if lines[0] is not None and frame.code.instrs[header].op != "FOR_ITER":  # the test stands above the body
            jumps = (instr.position[0] for instr in frame.code.instrs if instr.target == header)
            lines += [line for line in jumps if line is not None and line < lines[0]]
        line = lines[-1] or frame.line or frame.code.firstlineno
        plan = tracer.plans[key] = LoopPlan(frame.code.filename, line, frame.code.name)
        recall(tracer, plan, frame, header)
    return plan


def key_of(tracer: Tracer, frame: Frame, header: int) -> LoopKey:
    code = frame.code
    around = tuple(region.key for region in tracer.regions)
    return code.filename, code.qualname, code.firstlineno, header, around


def starts_segment(tracer: Tracer, frame: Frame, header: int, outermost: bool) -> bool:
    """Have a segment of its own begin in front of the `for` at `header`, which is none only for what this one computes:
    there that is known. (One over a range is gone on with wherever a segment ends.) outermost: it is known to be
    that, and may go over a range."""
    iterator, code = frame.stack[-1] if frame.stack else None, frame.code
    is_inside = (len(tracer.regions) > 1 and not outermost) or len(tracer.frames) > 1 or tracer.depth
    if is_inside or not isinstance(iterator, IteratorValue) or (iterator.kind == "range" and not outermost):
        return False
    place = start_of(code, header)
    if place is None or place in tracer.starts or begins_at(code, place) or not goes_on_at(code, place):
        return False
    tracer.starts.add(place)
    return True


def holds_instances(frame: Frame) -> bool:
    """Whether a variable holds a list that this segment makes, of objects of the user's that it makes. What a loop
    takes of it by a number is known by columns where it comes from outside."""
    lists = [value for value in frame.locals.values() if isinstance(value, SequenceValue) and value.kind is list]
    made = [value.known for value in lists if value.source is None]
    return any(items and all(isinstance(one, InstanceValue) for one in items) for items in made)


def begin_apart(machine: Machine) -> None:
    """Another attempt at a loop is to come: where much was captured in front of it, have a segment of its own begin
    there, lest all that be captured once more with each attempt."""
    tracer, frame = machine.tracer, machine.tracer.frames[0]
    owner, header = machine.entered[0] if machine.entered else (0, 0)
    if owner != id(frame) or machine.spent < APART or tracer.depth:
        return
    code = frame.code
    place = start_of(code, header) if code.instrs[header].op == "FOR_ITER" else header
    if place is not None and not begins_at(code, place) and goes_on_at(code, place):
        tracer.starts.add(place)


def may_share(code: Code, index: int) -> bool:
    """Whether instruction `index` heads a loop, and a segment may end there that does not begin there."""
    is_header = code.instrs[index].op == "FOR_ITER" or index in while_loops(code)
    return is_header and not begins_rest(code, index) and goes_on_at(code, index)


def is_long(region: Region) -> bool:
    """Whether what is traced of an iteration is so much that it is not compiled once for each way that leads to it."""
    return operations(region.graph) >= LONG


def share(machine: Machine) -> None:
    """Have later captures end at the header of the outermost loop, which is left for what plain Python has to do in
    some of its iterations: all who come back from there then go on with one segment. Not of a short one."""
    tracer, attempt = machine.tracer, machine.attempts[0]
    if is_long(tracer.regions[0]) and attempt.may_leave and attempt.frame is tracer.frames[0]:
        tracer.restraints.shared.add(place_in(attempt.frame.code, attempt.header))


def expect_side_exits(tracer: Tracer, plan: LoopPlan, frame: Frame, loop: frozenset[int], header: int) -> None:
    """Make side exits of the ways in the loop at `header`, which may be left for them, that cannot be captured: an
    earlier capture of the function has found that, or the code there shows it."""
    code = frame.code
    if not plan.guesses or place_of(code, header) in tracer.restraints.busy:
        return
    foreseen = {at for at in _foreseen(frame, loop, header) if goes_on_at(code, at, header)}
    if foreseen & loop:
        tracer.restraints.side_exits |= {place_in(code, at) for at in foreseen & loop}
        tracer.restraints.shared.add(place_in(code, header))
    recalled = {at for at in _recalled(tracer, code, loop, header) if goes_on_at(code, at, header)}
    found = (recalled | foreseen) - plan.side_exits
    plan.known |= found
    plan.side_exits |= found


def _recalled(tracer: Tracer, code: Code, loop: frozenset[int], header: int) -> set[int]:
    exits, depths = tracer.restraints.side_exits, stack_depth(code)
    aside = {at for at in _own(code, loop, header) if place_in(code, at) in exits} if exits else set()
    # NB: up to 3.11 all parts of an f-string have its place; a way begins in front of the first one.
    aside = {at for at in aside if depths[at] == depths[header]}
    return {at for at in aside if at - 1 not in aside or place_in(code, at - 1) != place_in(code, at)}  # from 3.13 on


def _foreseen(frame: Frame, loop: frozenset[int], header: int) -> set[int]:
    """Ways out that begin with a print, say; and such ways inside, where the iteration is so long that it is left at
    one rather than in front of it (branches.py)."""
    code = frame.code
    jumps = [(at, code.instrs[at].target) for at in loop if code.instrs[at].op in CONDITIONAL_JUMPS]
    arms = {arm for at, target in jumps for arm in (at + 1, target) if arm is not None}
    if not arms:
        return arms
    variables = {name: known(value) for name, value in frame.locals.items()}
    plain = {arm for arm in arms if plain_call_ahead(code, arm, frame.namespace, variables)}
    inside = plain & loop
    if inside:
        is_long_ahead = _operations_ahead(code, loop, frame.namespace, _CALLS_AHEAD, 2 * LONG) >= 2 * LONG
        inside &= _own(code, loop, header) if is_long_ahead else frozenset()
    head = code.instrs[header]
    whole, _ = whole_loop(code, loop, head.target if head.op == "FOR_ITER" else None, frozenset())
    return inside | (plain & ways_out(code, loop) & whole)


def _own(code: Code, loop: frozenset[int], header: int) -> frozenset[int]:
    """The instructions of a loop but those of loops inside."""
    # NB: where a way in a loop around this one began here, there is nothing of this one without it; those in a loop
    # inside, or on the way out of it, are that one's own, which this one goes through as a whole.
    fors = {at: natural_loop(code, at, False) for at in loop if code.instrs[at].op == "FOR_ITER"}
    inner = {at: body for at, body in (fors | while_loops(code)).items() if at in loop - {header}}
    ends = {at: code.instrs[at].target if at in fors else None for at in inner}
    whole = {at: whole_loop(code, body, ends[at], frozenset())[0] for at, body in inner.items()}
    return loop - {header} - {at for begin, body in whole.items() for at in body - {begin}}


def _operations_ahead(code: Code, loop: Iterable[int], namespace: dict[str, Any], depth: int, most: int) -> int:
    """About how many operations an iteration has, those of functions that it calls by their names included; `most`
    where there are more, of which no more are counted."""
    count = 0
    for at in loop:
        instr = code.instrs[at]
        count += instr.op in OPERATIONS
        if count >= most:
            return most
        if instr.op == "LOAD_GLOBAL" and depth:
            called = namespace.get(instr.arg)
            if type(called) is types.FunctionType:
                inner = decoded(called.__code__)
                count += _operations_ahead(inner, range(len(inner.instrs)), called.__globals__, depth - 1, most - count)
    return count


def begins_plainly(tracer: Tracer, frame: Frame) -> int | None:
    """The header of a `while` of the segment's own frame, the first iteration of which has just broken the graph, and
    could not be one with the others: that iteration is to run plainly, and the loop to be captured after it. None where
    there is no such loop, or where a loop in it makes its iterations long."""
    for header, met in frame.visits.items():
        key = (*key_of(tracer, frame, header)[:-1], ())
        plan = tracer.plans.get(key)
        if plan is None or plan.refused or not met <= plan.peel == len(plan.differing):
            continue
        if not plan.differing <= {*frame.code.varnames}:  # something else than a local, of which no guard would tell
            continue
        often = place_of(frame.code, header) in tracer.restraints.often or not tracer.restraints.begins_plainly
        loop = natural_loop(frame.code, header, True)
        natives = [other for other, one in tracer.plans.items() if one.stayed or one.outcome == "native"]
        holds_others = any(
            key in other[-1] or (other[:3] == key[:3] and other[3] in loop and other[3] != header) for other in natives
        )
        is_in = frame.index in loop
        if is_in and not often and not holds_others and goes_on_at(frame.code, header):
            return header
    return None


def count_first_rounds(tracer: Tracer, frame: Frame) -> FirstRounds:
    """State what is known of the locals for whose sake the first iteration of the loop at hand runs plainly, and that
    this has not been often; what counts it."""
    for name in tracer.plans[key_of(tracer, frame, frame.index)].differing & frame.locals.keys():
        realise(tracer, frame.locals[name])
    rounds = FirstRounds(tracer.restraints, place_of(frame.code, frame.index))
    source = constant(rounds)
    tracer.state_class("type_version", source, FirstRounds)
    tracer.facts.state("is", source.attr("few"), True)
    return rounds


def is_comprehended(frame: Frame) -> bool:
    """Whether the frame is that of a comprehension or generator expression, which is handed an iterator."""
    return frame.code.name in _TAKES_ITERATOR


__all__ = [
    "begin_apart",
    "begins_plainly",
    "count_first_rounds",
    *("expect_side_exits", "is_short", "roll", "unroll"),
    "header_behind",
    "holds_instances",
    "is_comprehended",
    "is_long",
    "key_of",
    "may_share",
    "plan_of",
    "share",
    "starts_segment",
    "stays_loop",
]
