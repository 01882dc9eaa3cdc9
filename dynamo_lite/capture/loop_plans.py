"""Which loops stay loops, and what earlier attempts at each have taught.

Enters a frame in front of a loop, or of a call of a comprehension's function; leaves whether to try, and a LoopPlan.
"""

from __future__ import annotations

from dynamo_lite.capture import consumers
from dynamo_lite.capture.columns import open_columns
from dynamo_lite.capture.leaving import goes_on_at
from dynamo_lite.capture.loop_code import start_of
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbered import goes_over_arrays, under
from dynamo_lite.capture.numbers import length_of
from dynamo_lite.capture.scopes import is_handled
from dynamo_lite.capture.state import ALWAYS_UNROLLED, Frame, LoopKey, LoopPlan, Tracer
from dynamo_lite.capture.value import FunctionValue, IteratorValue, RangeValue, SequenceValue, Value
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.pycode import Code, begins_at

_BEGIN_COMPREHENSION = frozenset({"LOAD_FAST_AND_CLEAR", "SWAP", "BUILD_LIST", "BUILD_MAP", "COPY"})
_TAKES_ITERATOR = frozenset({"<listcomp>", "<dictcomp>", "<genexpr>"})  # the first two before 3.12


def stays_loop(machine: Machine, frame: Frame, value: Value) -> bool:
    """Whether what GET_ITER has just taken off the stack is gone through by a `for` that could stay a loop."""
    tracer, header = machine.tracer, header_behind(frame.code, frame.index)
    is_loop = frame.code.instrs[header].op == "FOR_ITER"
    if not tracer.native_loops or not (is_loop or _is_comprehension(frame)):
        return False
    if isinstance(value, RangeValue):
        bounds = (value.start, value.stop, value.step)
        if not any(map(is_symbolic, bounds)) and length_of(bounds) <= ALWAYS_UNROLLED:
            return False
        if any(not is_symbolic(bound) and not -(2**63) <= bound < 2**63 for bound in bounds):  # type: ignore[operator]
            return False
    elif not is_loop or not goes_over_arrays(value):
        if is_loop:
            _open_long(tracer, value)
        return False
    if is_loop and is_handled(tracer, frame.code, header):
        plan_of(tracer, frame, header).refused = ("exception-handler-active", "the loop")
    return True


def _open_long(tracer: Tracer, value: Value) -> None:
    """Have the long lists that a `for` goes over known by numbers, if they hold some, in the next attempt."""
    lists = [one.of for one in under(value)] if isinstance(value, IteratorValue) else [value]
    for one in lists:
        if isinstance(one, SequenceValue) and one.source is not None and len(one.known) > ALWAYS_UNROLLED:
            open_columns(tracer, one)


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
    return plan


def key_of(tracer: Tracer, frame: Frame, header: int) -> LoopKey:
    code = frame.code
    around = tuple(region.key for region in tracer.regions)
    return code.filename, code.qualname, code.firstlineno, header, around


def starts_segment(tracer: Tracer, frame: Frame, header: int) -> bool:
    """Have a segment of its own begin in front of the `for` at `header`, which is none only for what this one computes:
    there that is known. (One over a range is gone on with wherever a segment ends.)"""
    iterator, code = frame.stack[-1] if frame.stack else None, frame.code
    is_inside = len(tracer.regions) > 1 or len(tracer.frames) > 1 or tracer.depth
    if is_inside or not isinstance(iterator, IteratorValue) or iterator.kind == "range":
        return False
    place = start_of(code, header)
    if place is None or place in tracer.starts or begins_at(code, place) or not goes_on_at(code, place):
        return False
    tracer.starts.add(place)
    return True


def is_comprehended(frame: Frame) -> bool:
    """Whether the frame is that of a comprehension or generator expression, which is handed an iterator."""
    return frame.code.name in _TAKES_ITERATOR


__all__ = ["header_behind", "is_comprehended", "key_of", "plan_of", "starts_segment", "stays_loop"]
