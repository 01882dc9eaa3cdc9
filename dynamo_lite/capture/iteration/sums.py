"""sum(), functools.reduce(), and the steps of max() and min(): loops over arrays and other things known by number.

Enters a call's values; leaves that of its result. NB: CPython 3.12 sums floats with compensation, as long as all are
Python's own: there a loop does the same, and what mixes them with ints or NumPy's, or stands in a tuple, breaks the
graph; so do complex numbers from 3.14 on, which sums these so, too.
"""

from __future__ import annotations

import functools

from dynamo_lite.capture.branches.choices import is_none, split
from dynamo_lite.capture.branches.conditions import as_number_here
from dynamo_lite.capture.calls.call_rules import Args, Kwargs, is_number, rule
from dynamo_lite.capture.handlers import operators
from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.iteration.consuming import as_loop
from dynamo_lite.capture.iteration.iterators import drain, iterate
from dynamo_lite.capture.iteration.numbered import goes_over_arrays
from dynamo_lite.capture.lists.columns import open_long
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.complex_operators import is_complex
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    ConstantValue,
    EitherValue,
    NumberValue,
    ResultValue,
    SequenceValue,
    Value,
)
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import kind_of, negate

_COMPENSATES = sum((1e16, 1.0, 1.0, -1e16)) != 0.0
_COMPENSATES_COMPLEX = sum((1e16j, 1j, 1j, -1e16j)) != 0.0


@rule(sum)
def _sum(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    given = [*args, *(kwargs[name] for name in kwargs if name == "start")]
    if not args or len(given) > 2 or len(given) != len(args) + len(kwargs):
        raise Break("python-call", "a builtin function with other arguments than it takes")
    value, total = machine.realised(given[0]), machine.realised(given[1]) if given[1:] else ConstantValue(None, 0)
    begin = as_scalar(total)
    if not isinstance(total, ArrayValue) and (begin is None or kind_of(begin) not in ("int", "bool", "float")):
        raise Break("python-call", "sum")  # of lists or strings
    if isinstance(value, ArrayValue) and goes_over_arrays(value):
        value = iterate(machine, value)
    elif _is_floats_from_outside(machine, value):
        raise Break("python-call", "sum")  # Python itself is faster
    if _COMPENSATES:
        steps = consumers.add, consumers.compensates, consumers.settled
        summed = as_loop(machine, consumers.compensated_sum_of, value, total, *steps)
    else:
        summed = as_loop(machine, consumers.sum_of, value, total, consumers.add)
    if summed is not None:
        return summed
    for item in drain(machine, value):
        total = _add(machine, [total, item], {})
    return total


def _is_floats_from_outside(machine: Machine, value: Value) -> bool:
    if not isinstance(value, SequenceValue) or value.source is None:
        return False
    numbers = [as_scalar(machine.realised(item)) for item in value.items]
    return any(number is not None and kind_of(number) == "float" for number in numbers)


@rule(functools.reduce)
def _reduce(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if kwargs or not 2 <= len(args) <= 3:
        raise Break("c-function", "reduce")
    function, value = args[0], machine.realised(args[1])
    open_long(machine.tracer, value)
    if len(args) == 3:
        made = as_loop(machine, consumers.sum_of, value, args[2], function)
    else:
        made = as_loop(machine, consumers.reduced, value, function, consumers.number, consumers.found)
    if made is None:
        raise Break("c-function", "reduce")
    return made


@rule(consumers.add)
def _add(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    total, item = (_known(machine, machine.realised(one)) for one in args)
    if _COMPENSATES and _may_be_float(total):  # what was carried on is added, or goes on beside an int
        raise Break("python-call", "sum")
    if _COMPENSATES_COMPLEX and (_may_be_complex(total) or _may_be_complex(item)):
        raise Break("python-call", "sum")
    return operators.binary(machine, "+", total, item)


@rule(consumers.compensates)
def _compensates(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    total, item = map(machine.realised, args)
    if _kind(item) != "float":
        if _may_be_float(item):
            raise Break("python-call", "sum")
        return ConstantValue(None, False)
    if not isinstance(total, EitherValue):
        return ConstantValue(None, _kind(total) == "float")
    kinds = _kind(total.first), _kind(total.second)  # as behind a first item that a condition has left out
    if isinstance(total.condition, Node | Value) or "float" not in kinds or kinds[0] == kinds[1]:
        raise Break("python-call", "sum")
    return NumberValue(None, total.condition if kinds[0] == "float" else negate(total.condition))


@rule(consumers.settled)
def _settled(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    total, added = map(machine.realised, args)
    if isinstance(total, EitherValue) and _may_be_float(total):
        return split(machine, total, lambda one: _settled(machine, [one, added], {}))
    return operators.binary(machine, "+", total, added) if _kind(total) == "float" else total


def _known(machine: Machine, value: Value) -> Value:
    """What one thing or another is where that is known, in a branch by the same condition."""
    if not isinstance(value, EitherValue) or isinstance(value.condition, Node | Value):
        return value
    known = machine.tracer.graph.facts.decide(value.condition)
    return value if known is None else value.first if known else value.second


def _may_be_float(value: Value) -> bool:
    if isinstance(value, EitherValue):
        return _may_be_float(value.first) or _may_be_float(value.second)
    return _kind(value) == "float"


def _may_be_complex(value: Value) -> bool:
    if isinstance(value, EitherValue):
        return _may_be_complex(value.first) or _may_be_complex(value.second)
    return is_complex(value)


def _kind(value: Value) -> str:
    """The kind of one of Python's own numbers."""
    if isinstance(value, ResultValue) and value.kind in (int, float, bool):
        return str(value.kind.__name__)
    scalar = as_scalar(value)
    return "" if scalar is None else kind_of(scalar)


@rule(consumers.number)
def _number(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    item = machine.realised(args[0])
    if not is_number(item):
        raise Break("python-call", "max")
    return item


@rule(consumers.found)
def _found(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = machine.realised(args[0])
    if is_none(value):
        raise Break("python-exception", "ValueError: max() or min() of nothing")
    if not isinstance(value, EitherValue):
        return value
    is_other = is_none(value.first)
    if not is_other and not is_none(value.second):
        return value
    condition = value.condition
    number = as_number_here(machine, condition.node if isinstance(condition, ResultValue) else condition)
    machine.tracer.require(negate(number) if is_other else number)
    return value.second if is_other else value.first
