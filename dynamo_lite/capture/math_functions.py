"""What a call of a function of the module math does: computed where its operands are known, else by the program."""

from __future__ import annotations

import math
from typing import Any

from dynamo_lite.capture import numpy_rules
from dynamo_lite.capture.call_rules import RULES, Args, Kwargs, Rule, only, positional, rule
from dynamo_lite.capture.folding import python_result
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers import (
    as_operand,
    as_scalar,
    function_of,
    not_too_long,
    number_binary,
    rounded_to_int,
    square_root,
)
from dynamo_lite.capture.value import ArrayValue, Break, ConstantValue, NumberValue, Value
from dynamo_lite.graph.scalar import FUNCTIONS, is_symbolic, kind_of


def _number(machine: Machine, value: Value) -> Value:
    """What a function of math finds in its operand: the number that a NumPy scalar holds, or `value`."""
    value = machine.realised(value)
    return (numpy_rules.read_number(machine, value, asked=True) or value) if isinstance(value, ArrayValue) else value


def _register_math() -> None:
    """math functions of known numbers are computed, of others the program does, if graph/scalar.py has them."""

    def make(function: Any) -> Rule:
        def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
            name = function.__name__
            if kwargs or (name in FUNCTIONS and len(args) != FUNCTIONS[name] and name != "log"):
                raise Break("c-function", f"math.{name}")
            numbers = [_number(machine, arg) for arg in args]
            scalars = [scalar for number in numbers if (scalar := as_scalar(number)) is not None]
            if len(scalars) < len(numbers):
                raise Break("c-function", f"math.{name}")
            if FUNCTIONS.get(name) == len(args) and any(map(is_symbolic, scalars)):
                found = function_of(machine.tracer, name, scalars)
                if found is not None:
                    return not_too_long(NumberValue(None, found))
            known = [ConstantValue(None, as_constant(machine, number)) for number in numbers]
            result = python_result(function, *(number.value for number in known))
            return as_operand(result, *zip(numbers, known, strict=True))

        return compute

    for name in (*FUNCTIONS, "floor", "ceil", "gcd", "isnan", "isinf", "pow"):
        function = getattr(math, name)
        rule(function)(make(function))


_register_math()


def _make_scaling(name: str, factor: float) -> Rule:
    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        value = _number(machine, only(args, kwargs))
        if as_scalar(value) is None:
            raise Break("c-function", f"math.{name}")
        return number_binary(machine.tracer, "*", value, ConstantValue(None, factor))

    return compute


rule(math.radians)(_make_scaling("radians", math.pi / 180.0))
rule(math.degrees)(_make_scaling("degrees", 180.0 / math.pi))


def _make_rounding(function: Any, known: Rule) -> Rule:
    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        scalar = as_scalar(args[0]) if len(args) == 1 and not kwargs else None
        if scalar is not None and kind_of(scalar) == "int":
            return args[0]
        how = "up" if function is math.ceil else "down"
        whole = None if scalar is None else rounded_to_int(machine.tracer, scalar, how)
        return known(machine, args, kwargs) if whole is None else not_too_long(machine.tracer.number(whole))

    return compute


for _function in (math.ceil, math.floor):
    RULES[_function] = _make_rounding(_function, RULES[_function])


@rule(math.sqrt)
def _square_root(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = _number(machine, *positional(args, kwargs, 1))
    scalar = as_scalar(value)
    if scalar is None:
        raise Break("c-function", "math.sqrt")
    root = square_root(machine.tracer, scalar) if is_symbolic(scalar) and kind_of(scalar) != "bool" else None
    return python_result(math.sqrt, as_constant(machine, value)) if root is None else NumberValue(None, root)
