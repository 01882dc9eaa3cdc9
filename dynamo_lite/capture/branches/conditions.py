"""Conditions that only the run knows: the truth of a value, whether it is None, and what else holds where one does.

Enters a value that a jump or an operator asks. Leaves a number or a bool NumPy scalar of the graph (GoesOn), or None
where capture decides; and what a local is known to be on the way that a condition leads to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dynamo_lite.capture.branches.choices import GoesOn, break_, choose, is_none, number_of_condition, split
from dynamo_lite.capture.branches.few_objects import is_the_one, narrowed_objects, number_of_none, truth_of_one
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.few_attributes import look_at
from dynamo_lite.capture.objects.places import grown_length
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    ConstantValue,
    EitherValue,
    FewValue,
    ListValue,
    NumberValue,
    OneOf,
    ResultValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import (
    Scalar,
    ScalarOp,
    is_scalar,
    is_symbolic,
    kind_of,
    make,
    negate,
    simplify,
    terms_of,
)

LENGTH: list[Callable[[Machine, ListValue], Value]] = []  # of object_lists.py, which this one is used by


def data_condition(machine: Machine, value: Value) -> GoesOn | None:
    """The truth of a value as a condition that only the run knows; None where capture decides it."""
    tracer = machine.tracer
    value = realise(tracer, value)
    condition: Scalar
    if isinstance(value, SequenceValue):
        value = grown_length(tracer, value) or value
    if isinstance(value, ListValue):
        value = LENGTH[0](machine, value)
    look_at(machine, value)
    if isinstance(value, OneOf) and (true := truth_of_one(tracer, value)) is not None:
        value = NumberValue(None, true) if is_symbolic(true) else ConstantValue(None, true)
    if isinstance(value, EitherValue):
        value = split(machine, value, lambda one: _truth(machine, one))
    if isinstance(value, ArrayValue) and not (type_ := value.node.array_type).scalar and {*type_.shape} <= {1}:
        value = numpy_rules.get_item(machine, value, ConstantValue(None, (0,) * type_.ndim))  # the only element
    if isinstance(value, NumberValue):
        kind = kind_of(value.expr)
        zero = 0.0 if kind == "float" else 0
        condition = value.expr if kind == "bool" else ScalarOp("ne", "bool", (value.expr, zero))
    elif isinstance(value, ArrayValue) and value.number is not None:
        condition = value.number if kind_of(value.number) == "bool" else make("ne", value.number, 0)
    elif isinstance(value, ArrayValue) and value.node.array_type.scalar:
        dtype = value.node.array_type.dtype
        if dtype.kind == "b":
            return value.node
        if dtype.kind not in "iufc":
            return None
        truth = numpy_rules.compare(machine, "!=", value, ConstantValue(None, 0))
        return truth.node if isinstance(truth, ArrayValue) and truth.number is None else None
    else:
        return None
    condition = simplify(condition)
    if not is_symbolic(condition) or not tracer.varies(condition) or tracer.graph.facts.decide(condition) is not None:
        return None
    if tracer.requires(condition) or (tracer.may_promise(condition) and not _asks_where(condition)):
        return None
    return condition


def _asks_where(value: object) -> bool:
    """Whether a condition on an index asks where that stands (`i // 100 > 0`, `i % 10 == 9`), as it does for iterations
    that differ: a promise that they do not would hold for this call alone."""
    return is_scalar(value) and any(term.op in ("floordiv", "mod") for term in terms_of(value))  # type: ignore[arg-type]


def as_number_here(machine: Machine, condition: GoesOn) -> Scalar:
    """A condition on data as a number of the graph at hand."""
    if not isinstance(condition, Node):
        return condition
    whole = numpy_rules.call_numpy(machine, np.int64, [ArrayValue(None, condition)], {})
    number = numpy_rules.read_number(machine, whole, asked=True) if whole is not None else None
    assert isinstance(number, NumberValue)
    return ScalarOp("ne", "bool", (number.expr, 0))


def none_condition(machine: Machine, value: Value) -> GoesOn | None:
    """Whether a value that is one or the other is None, as a condition; None for another value."""
    if isinstance(value, FewValue):
        return make("eq", value.code, value.among.index(None)) if None in value.among else None
    value = realise(machine.tracer, value)
    if isinstance(value, OneOf):
        look_at(machine, value)
        nothing = number_of_none(value)
        return None if nothing is None else is_the_one(value, nothing)
    if not isinstance(value, EitherValue):
        return None
    ways = is_none(value.first), is_none(value.second)
    either = isinstance(value.first, EitherValue) or isinstance(value.second, EitherValue)
    if not isinstance(value.condition, Value) and not either and ways[0] is not ways[1]:
        condition: GoesOn = value.condition
        return condition if ways[0] else simplify(negate(as_number_here(machine, condition)))
    found = split(machine, value, partial(_is_none, machine))
    return data_condition(machine, found) if not isinstance(found, ConstantValue) else bool(found.value)


def _is_none(machine: Machine, value: Value) -> Value:
    """Whether one of the values that something may be is None. NB: no function that holds itself, and the machine."""
    value = realise(machine.tracer, value)
    if isinstance(value, EitherValue):
        return split(machine, value, partial(_is_none, machine))
    return ConstantValue(None, is_none(value))


def is_first(machine: Machine, value: EitherValue) -> Scalar:
    """Whether it is the first of its two values, as a number of the graph at hand."""
    condition = value.condition.node if isinstance(value.condition, ResultValue) else value.condition
    return as_number_here(machine, condition)


def not_none(machine: Machine, value: Value) -> Value:
    """What it is if it is not None, for what raises a TypeError or AttributeError otherwise: the program declines then.
    Any other value as it is."""
    if not isinstance(value, EitherValue):
        return value
    ways = is_none(value.first), is_none(value.second)
    if ways[0] is ways[1]:
        return value
    number = is_first(machine, value)
    machine.tracer.require(simplify(negate(number)) if ways[0] else simplify(number))
    return not_none(machine, value.second if ways[0] else value.first)


def narrowed(value: Value | None, condition: GoesOn, truth: bool) -> Value | None:
    """What a value is where a condition holds, or does not; None if that tells nothing."""
    if isinstance(value, OneOf):
        return narrowed_objects(value, condition, truth)
    if not isinstance(value, EitherValue) or isinstance(value.condition, Value):
        return None
    if isinstance(condition, Node) or isinstance(value.condition, Node):
        holds: bool | None = truth if value.condition is condition else None
    elif value.condition == condition:
        holds = truth
    else:
        holds = not truth if value.condition == simplify(negate(condition)) else None
    return None if holds is None else value.first if holds else value.second


def _truth(machine: Machine, value: Value) -> Value:
    """bool(value) of one of two values, as a number of its branch."""
    condition = data_condition(machine, value)
    if condition is not None:
        return NumberValue(None, number_of_condition(machine.tracer, condition))
    number = as_scalar(value)
    if number is None or is_symbolic(number):
        break_("unsupported-operation", f"the truth of {a_kind(value)}")
    return ConstantValue(None, bool(number))


def _whole_of(tracer: Tracer, truth: Scalar) -> Scalar | None:
    """The int that was read out of a bool NumPy scalar for its truth; None for other truths."""
    if not isinstance(truth, ScalarOp) or truth.op not in ("ne", "eq") or truth.operands[1] != 0:
        return None
    for graph in (tracer.root, *(region.graph for region in tracer.regions)):
        for node in graph.nodes:
            of = node.args[0] if node.op == "scalar_number" and node.params["yields"][0] == truth.operands[0] else None
            if isinstance(of, Node) and of.op == "scalar_cast":
                (source,) = of.args
                is_truth = isinstance(source, Node) and source.array_type.dtype.kind == "b"
                one: Scalar = truth.operands[0]
                return None if not is_truth else one if truth.op == "ne" else make("sub", 1, one)
    return None


def as_whole(machine: Machine, value: Value) -> Value:
    """A truth that only the run knows as the int that it is equal to; any other value as it is."""
    number, in_array = as_scalar(value), isinstance(value, ArrayValue) and value.number is None
    if in_array and value.node.array_type.scalar and value.node.array_type.dtype.kind == "b":  # type: ignore[attr-defined]
        whole = numpy_rules.call_numpy(machine, np.int64, [value], {})
        assert whole is not None
        return whole
    if number is None or kind_of(number) != "bool" or not machine.tracer.varies(number):
        return value
    whole_number = _whole_of(machine.tracer, number)
    if whole_number is not None:
        return NumberValue(None, whole_number)
    if not machine.tracer.regions:
        return value
    return choose(machine, number, ConstantValue(None, 1), ConstantValue(None, 0))


__all__ = [
    *("LENGTH", "as_number_here", "as_whole", "data_condition", "is_first", "narrowed", "none_condition"),
    "not_none",
]
