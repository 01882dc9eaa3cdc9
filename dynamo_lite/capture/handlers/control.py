"""Branches, loops, returns, `with` and what is raised and caught.

A branch on a known value is followed. On what an array holds both arms are kept as a choice where branches/ can, or
each side becomes a segment of its own; a loop is left to loops/ where it may stay one, and is unrolled or breaks the
graph otherwise.
"""

from __future__ import annotations

import types

import numpy as np

from dynamo_lite.capture import scopes
from dynamo_lite.capture.branches.arms import BY_TRUTH, declining_way, raising_way
from dynamo_lite.capture.branches.choices import is_none
from dynamo_lite.capture.branches.conditions import as_number_here, data_condition
from dynamo_lite.capture.branches.few_objects import has_truth, is_true, number_of_none, truth_of_one
from dynamo_lite.capture.branches.forks import fork, may_fork
from dynamo_lite.capture.calls.numpy_rules import MAX_READ
from dynamo_lite.capture.iteration.consuming import gathered
from dynamo_lite.capture.iteration.iterators import go_on_with, iterate, next_item
from dynamo_lite.capture.iteration.numbered import are_private, goes_over_grown, is_numbered, know_texts
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.lists import object_lists
from dynamo_lite.capture.loops.candidates import header_behind, plan_of, roll, stays_loop
from dynamo_lite.capture.loops.entries import for_numbered
from dynamo_lite.capture.loops.first_tests import entering_way, truth_now
from dynamo_lite.capture.loops.rests import is_handed_over
from dynamo_lite.capture.machine import Machine, Returned, as_constant, handles
from dynamo_lite.capture.numbers.words import source_text
from dynamo_lite.capture.objects.places import grown_length
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import Frame, Raised, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CellValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    FunctionValue,
    GeneratorValue,
    InstanceValue,
    IteratorValue,
    ListedObject,
    ListValue,
    MethodValue,
    NullValue,
    NumberValue,
    ObjectValue,
    OneOf,
    RaisedValue,
    RangeValue,
    RestValue,
    SequenceValue,
    SliceValue,
    Value,
)
from dynamo_lite.capture.wrap import class_lookup
from dynamo_lite.graph.scalar import ScalarOp, is_symbolic, kind_of, make, negate, product, simplify
from dynamo_lite.pycode import Instr, begins_rest, handlers_at


def known_truth(machine: Machine, value: Value) -> bool:
    """bool(value), decided now (guarded where it depends on a number); breaks when only the run knows."""
    match value:
        case ConstantValue():
            if isinstance(value.value, bool | int | float | complex | str | bytes | type(None)):
                return bool(value.value)
            if isinstance(value.value, type) and any(
                name in vars(base) for base in type.mro(type(value.value)) for name in ("__bool__", "__len__")
            ):
                raise Break("unsupported-operation", f"the truth of class {value.value.__qualname__}")
            if callable(value.value) or isinstance(value.value, np.dtype | type(Ellipsis)):
                return True
        case NumberValue() if not is_symbolic(value.expr):  # one of several objects for one number
            return bool(value.expr)
        case NumberValue():
            if value.expr.kind == "bool":  # type: ignore[union-attr]
                return machine.tracer.relate(value.expr)
            return machine.tracer.relate(ScalarOp("ne", "bool", (value.expr, 0)))
        case ListValue():
            return known_truth(machine, object_lists.length(machine, value))
        case SequenceValue() if (length := grown_length(machine.tracer, value)) is not None:
            return known_truth(machine, length)
        case SequenceValue() | DictValue():
            return bool(value.items)
        case DictViewValue():
            return bool(value.of.items)
        case ArrayValue() if value.number is not None:
            return machine.tracer.relate(
                make("ne", value.number, 0) if kind_of(value.number) == "int" else value.number
            )
        case ArrayValue():
            if _has_no_truth(machine, value):
                raise Raised(ValueError, "the truth value of an array with more than one element is ambiguous")
            raise Break("data-dependent-branch", source_text(machine.tracer.frames[-1]))
        case FunctionValue() | SliceValue() | CellValue() | MethodValue():
            return True
        case ObjectValue() if is_true(machine.tracer, value):
            return True
        case InstanceValue() | ListedObject() if not has_truth(value.cls):
            return True
        case OneOf() if (truth := truth_of_one(machine.tracer, value)) is not None:
            return machine.tracer.relate(truth)
    raise Break("unsupported-operation", f"the truth of {a_kind(value)}")


def _has_no_truth(machine: Machine, value: ArrayValue) -> bool:
    """Whether bool() of an array raises in all calls; not asked where nobody handles that."""
    type_ = value.node.array_type
    if type_.scalar or not any(handlers_at(one.code, one.index - 1) for one in machine.tracer.frames):
        return False
    size = product(type_.shape)
    return not machine.tracer.varies(size) and machine.tracer.relate(make("gt", size, 1))


def _truth_of_jump(machine: Machine, frame: Frame, place: int) -> bool:
    """The truth of what the jump at `place` pops. Where only the run knows it, and one way does nothing but raise, or
    it is the test of a `while` before that is traced, the program goes one way, and declines where that is wrong."""
    value, tracer = machine.pop(frame), machine.tracer
    raising = declining_way(tracer, frame.code, place)
    entering = entering_way(frame.code, place) if raising is None and not machine.break_everywhere else None
    condition = None if raising is entering is None else data_condition(machine, value)
    truth = None if condition is None else truth_now(tracer, condition) if raising is None else not raising
    if condition is None or truth is None or (raising is None and truth is not entering and not tracer.peeling):
        if isinstance(value, ArrayValue) and value.number is None:
            roll(tracer, frame.code, place, frame.stack)
        return known_truth(machine, value)
    number = as_number_here(machine, condition)
    tracer.require(simplify(number) if truth else negate(number))
    return truth


def _forks(machine: Machine, frame: Frame) -> bool:
    """Trace both ways from the jump at hand, if data decides it and they may become one choice."""
    return raising_way(frame.code, frame.index - 1) is None and fork(machine, frame)


def truth_of(machine: Machine, value: Value, wanted: bool = True) -> Value:
    """bool(value), or `not value` where False is wanted; a number of the run where data decides it."""
    condition = data_condition(machine, value)
    if condition is None:
        return ConstantValue(None, known_truth(machine, value) is wanted)
    number = as_number_here(machine, condition)
    return NumberValue(None, simplify(number) if wanted else negate(number))


@handles("TO_BOOL")
def to_bool(machine: Machine, frame: Frame, instr: Instr) -> None:
    is_choice = machine.tracer.regions or machine.tracer.peeling or may_fork(machine, frame, frame.index)
    is_tested = frame.code.instrs[frame.index].op in BY_TRUTH and is_choice
    if is_tested and data_condition(machine, frame.stack[-1]) is not None:
        return  # the jump tests the truth of any object, and is where a loop's body goes two ways
    frame.push(ConstantValue(None, _truth_of_jump(machine, frame, frame.index)))


@handles("UNARY_NOT")
def unary_not(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(truth_of(machine, machine.pop(frame), wanted=False))


@handles("POP_JUMP_IF_TRUE")
def pop_jump_if_true(machine: Machine, frame: Frame, instr: Instr) -> None:
    if not _forks(machine, frame) and _truth_of_jump(machine, frame, frame.index - 1):
        jump(machine, frame, instr)


@handles("POP_JUMP_IF_FALSE")
def pop_jump_if_false(machine: Machine, frame: Frame, instr: Instr) -> None:
    if not _forks(machine, frame) and not _truth_of_jump(machine, frame, frame.index - 1):
        jump(machine, frame, instr)


def _is_none(machine: Machine, value: Value) -> bool:
    if type(value) is Value:
        return False  # its exact type is guarded, and is not NoneType
    is_open = isinstance(value, OneOf) and number_of_none(value) is not None
    if is_open or (isinstance(value, EitherValue) and (is_none(value.first) or is_none(value.second))):
        raise Break("data-dependent-branch", source_text(machine.tracer.frames[-1]))
    return is_none(value)


@handles("POP_JUMP_IF_NONE")
def pop_jump_if_none(machine: Machine, frame: Frame, instr: Instr) -> None:
    if not fork(machine, frame) and _is_none(machine, machine.pop(frame)):
        jump(machine, frame, instr)


@handles("POP_JUMP_IF_NOT_NONE")
def pop_jump_if_not_none(machine: Machine, frame: Frame, instr: Instr) -> None:
    if not fork(machine, frame) and not _is_none(machine, machine.pop(frame)):
        jump(machine, frame, instr)


@handles("JUMP", "JUMP_NO_INTERRUPT")
def jump(machine: Machine, frame: Frame, instr: Instr) -> None:
    assert instr.target is not None
    frame.index = instr.target


@handles("RETURN_VALUE")
def return_value(machine: Machine, frame: Frame, instr: Instr) -> None:
    raise Returned(frame.stack.pop())


@handles("RETURN_GENERATOR")
def return_generator(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(ConstantValue(None, None))


@handles("YIELD_VALUE")
def yield_value(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.yielded = frame.stack.pop()
    frame.push(ConstantValue(None, None))


@handles("RERAISE")
def reraise(machine: Machine, frame: Frame, instr: Instr) -> None:
    raised = frame.stack[-1]
    if isinstance(raised, RaisedValue):
        raise Raised(raised.cls, "raised again")
    raise Break("raise-statement")


@handles("RAISE_VARARGS", "LOAD_ASSERTION_ERROR")
def raise_varargs(machine: Machine, frame: Frame, instr: Instr) -> None:
    raise Break("raise-statement")


@handles("BEFORE_WITH", "BEFORE_WITH_SELF")
def before_with(machine: Machine, frame: Frame, instr: Instr) -> None:
    manager = machine.peek(frame)
    exit_ = scopes.enter(machine, manager) if scopes.is_new(machine.tracer, manager, frame) else None
    value: Value = ConstantValue(None, None)
    if exit_ is None:
        exit_, value = _entered(machine, manager)
    frame.stack[-1] = exit_
    if instr.op == "BEFORE_WITH_SELF":
        frame.push(NullValue())
    frame.push(value)


def _entered(machine: Machine, manager: Value) -> tuple[Value, Value]:
    """What leaves the block of an object whose class has Python methods for that, and what entering it gives."""
    if not isinstance(manager, ObjectValue | InstanceValue):
        raise Break("with-statement", a_kind(manager))
    leaving = class_lookup(manager.cls, "__exit__")
    if type(leaving) is not types.FunctionType:
        raise Break("with-statement", a_kind(manager))
    value = machine.call_special(manager, "__enter__", [])
    return MethodValue(None, ConstantValue(constant(leaving), leaving), manager, "__exit__"), value


@handles("GET_ITER")
def get_iter(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = machine.pop(frame)
    if isinstance(value, RestValue):
        frame.push(go_on_with(machine, value))
        return
    if isinstance(value, RangeValue) and begins_rest(frame.code, frame.index - 1):
        frame.push(IteratorValue(None, value, kind="range"))
        return
    if isinstance(value, SequenceValue) and value.filled is not None and machine.tracer.in_loop:
        value = gathered(machine, value) or value
    if not stays_loop(machine, frame, value):
        iterator = iterate(machine, value)
        frame.push(iterator)
        is_root = len(machine.tracer.frames) == 1
        is_left = is_root and goes_over_grown(iterator) and is_handed_over(iterator)
        iterator.is_rest = is_left and are_private(machine.tracer, iterator)
        return
    header = header_behind(frame.code, frame.index)
    plan = plan_of(machine.tracer, frame, header)
    if frame.code.instrs[header].op != "FOR_ITER" or plan.refused is None:
        is_range = isinstance(value, RangeValue)
        frame.push(IteratorValue(None, value, kind="range") if is_range else iterate(machine, value))
        return
    plan.outcome = "segments"
    if not isinstance(value, RangeValue):
        know_texts(machine.tracer, value)
        raise Break("loop-over-unknown-iterator", "an array")
    frame.push(iterate(machine, value))
    plan.outcome = "unrolled"


@handles("FOR_ITER")
def for_iter(machine: Machine, frame: Frame, instr: Instr) -> None:
    if isinstance(frame.stack[-1], GeneratorValue):  # is its own iterator; from 3.14 `all(... for ...)` has no GET_ITER
        frame.stack[-1] = iterate(machine, frame.stack[-1])
    iterator = frame.stack[-1]
    if not isinstance(iterator, IteratorValue):
        raise Break("loop-goes-on", a_kind(iterator))
    if is_numbered(iterator):
        assert instr.target is not None
        if for_numbered(machine, frame, iterator, instr.target):
            return
    item = next_item(machine, iterator)
    if item is not None:
        if machine.tracer.in_loop:
            _foresee_reads(machine.tracer, iterator)
        frame.push(item)
    else:
        frame.stack.pop()
        jump(machine, frame, instr)


def _foresee_reads(tracer: Tracer, iterator: IteratorValue) -> None:
    """Break once it shows that the iterations of an inner loop, which are written out, will read too many numbers: to
    find that out by writing them takes a hundred times as long as what the loop around it is made of."""
    read = len(tracer.carried)
    if iterator.taken == 2:
        iterator.read = read
    elif iterator.taken == 2 + _SEEN:
        to_come = (read - iterator.read) * (len(iterator.items) - iterator.taken + 1) // _SEEN
        if read + to_come > MAX_READ:
            raise Break("graph-too-large", f"more than {MAX_READ} numbers out of arrays")


_SEEN = 4  # iterations that tell what the others are like


# -- exceptions that capture itself has found (Machine._catch) -------------------------------------


@handles("PUSH_EXC_INFO")
def push_exc_info(machine: Machine, frame: Frame, instr: Instr) -> None:
    raised = frame.stack.pop()
    frame.push(ConstantValue(None, None))  # what was being handled before
    frame.push(raised)


@handles("CHECK_EXC_MATCH")
def check_exc_match(machine: Machine, frame: Frame, instr: Instr) -> None:
    raised, wanted = frame.stack[-2], machine.pop(frame)
    items = wanted.items if isinstance(wanted, SequenceValue) and wanted.kind is tuple else [wanted]
    classes = [as_constant(machine, item) for item in items]
    if not isinstance(raised, RaisedValue) or not all(
        isinstance(cls, type) and issubclass(cls, BaseException) for cls in classes
    ):
        raise Break("unsupported-operation", "an unusual except clause")
    frame.push(ConstantValue(None, issubclass(raised.cls, tuple(classes))))


@handles("POP_EXCEPT")
def pop_except(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.stack.pop()
