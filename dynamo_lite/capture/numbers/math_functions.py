"""What a call of complex(), or of a function of math or cmath, does: computed where its operands are known, else by the
program."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.call_rules import RULES, Args, Kwargs, Rule, only, positional, rule
from dynamo_lite.capture.calls.folding import python_result
from dynamo_lite.capture.kinds import python_type
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers import complex_operators
from dynamo_lite.capture.numbers.numbers import (
    as_operand,
    as_scalar,
    function_of,
    not_too_long,
    number_binary,
    rounded_to_int,
    square_root,
)
from dynamo_lite.capture.value import ArrayValue, Break, ComplexValue, ConstantValue, NumberValue, Value
from dynamo_lite.graph.scalar import (
    FUNCTIONS,
    FUNCTIONS_OF_MATH,
    MOST_DIGITS,
    Scalar,
    is_symbolic,
    kind_of,
    make,
)


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

    for name in (*FUNCTIONS_OF_MATH, "floor", "ceil", "gcd", "isnan", "isinf", "isfinite", "pow", "factorial", "isqrt"):
        function = getattr(math, name)
        rule(function)(make(function))


_register_math()


def _make_scaling(name: str, factor: float) -> Rule:
    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        value = _number(machine, only(args, kwargs))
        scalar = as_scalar(value)
        if scalar is None or kind_of(scalar) == "complex":
            raise Break("c-function", f"math.{name}")
        return number_binary(machine.tracer, "*", value, ConstantValue(None, factor))

    return compute


rule(math.radians)(_make_scaling("radians", math.pi / 180.0))
rule(math.degrees)(_make_scaling("degrees", 180.0 / math.pi))


def _as_float64(machine: Machine, args: Args, kwargs: Kwargs) -> ArrayValue | None:
    """A float of the run, Python's or a float64, as an operand of NumPy's functions; None for anything else."""
    if len(args) != 1 or kwargs:
        return None
    value = machine.realised(args[0])
    scalar = as_scalar(value)
    if scalar is not None and kind_of(scalar) == "float" and machine.tracer.varies(scalar):
        found = numpy_rules.call_numpy(machine, np.float64, [value], {})
        return found if isinstance(found, ArrayValue) else None
    if isinstance(value, ArrayValue) and value.node.array_type.scalar and value.number is None and value.real is None:
        return value if value.node.array_type.dtype == np.float64 else None
    return None


def _make_rounding(function: Any, known: Rule) -> Rule:
    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        operand = _as_float64(machine, args, kwargs)
        rounded = None if operand is None else numpy_rules.call_numpy(machine, _ROUNDINGS[function], [operand], {})
        if rounded is not None:  # int() of it raises where math's function does
            return RULES[int](machine, [rounded], {})
        scalar = as_scalar(args[0]) if len(args) == 1 and not kwargs else None
        if scalar is not None and kind_of(scalar) == "int":
            return args[0]
        whole = None if scalar is None else rounded_to_int(machine.tracer, scalar, _WAYS[function])
        return known(machine, args, kwargs) if whole is None else not_too_long(machine.tracer.number(whole))

    return compute


_ROUNDINGS = {math.ceil: np.ceil, math.floor: np.floor, round: np.rint}
_WAYS = {math.ceil: "up", math.floor: "down", round: "even"}


def _make_digits(known: Rule) -> Rule:
    """round(x, n) of a float that only the run knows, and what `known` does otherwise."""

    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        scalar, places = (as_scalar(machine.realised(arg)) for arg in args) if len(args) == 2 else (None, None)
        if kwargs or scalar is None or type(places) is not int or not 0 <= places <= MOST_DIGITS:
            return known(machine, args, kwargs)
        if kind_of(scalar) == "int":
            return args[0]
        is_open = is_symbolic(scalar) and kind_of(scalar) == "float"
        found = function_of(machine.tracer, "round", [scalar, places]) if is_open else None
        return known(machine, args, kwargs) if found is None else NumberValue(None, found)

    return compute


RULES[round] = _make_digits(RULES[round])

for _function in _ROUNDINGS:
    RULES[_function] = _make_rounding(_function, RULES[_function])


@rule(math.sqrt)
def _square_root(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = _number(machine, *positional(args, kwargs, 1))
    scalar = as_scalar(value)
    if scalar is None:
        raise Break("c-function", "math.sqrt")
    root = square_root(machine.tracer, scalar) if is_symbolic(scalar) and kind_of(scalar) != "bool" else None
    return python_result(math.sqrt, as_constant(machine, value)) if root is None else NumberValue(None, root)


def _make_test(test: np.ufunc, known: Rule) -> Rule:
    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        operand = _as_float64(machine, args, kwargs)
        found = None if operand is None else numpy_rules.call_numpy(machine, test, [operand], {})
        return known(machine, args, kwargs) if found is None else RULES[bool](machine, [found], {})

    return compute


for _function, _test in ((math.isnan, np.isnan), (math.isinf, np.isinf), (math.isfinite, np.isfinite)):
    RULES[_function] = _make_test(_test, RULES[_function])


def _make_power(known: Rule) -> Rule:
    """math.pow of floats of the run is their power, for which the program declines wherever either raises."""

    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        numbers = [] if kwargs or len(args) != 2 else [_number(machine, arg) for arg in args]
        scalars = [as_scalar(number) for number in numbers]
        kinds = [None if scalar is None else kind_of(scalar) for scalar in scalars]
        varies = any(scalar is not None and machine.tracer.varies(scalar) for scalar in scalars)
        if kinds == ["int", "int"] and varies:  # which it converts first
            numbers[0] = number_binary(machine.tracer, "+", numbers[0], ConstantValue(None, 0.0))
            kinds[0] = "float"
        if "float" in kinds and set(kinds) <= {"int", "float"} and any(map(is_symbolic, scalars)):
            return number_binary(machine.tracer, "**", *numbers)
        return known(machine, args, kwargs)

    return compute


RULES[math.pow] = _make_power(RULES[math.pow])


def _make_of_int(known: Rule, most: int, form: Callable[[Machine, Scalar], Value | None]) -> Rule:
    """A function of an int that only the run knows, by its form from 0 to `most`, outside of which the program
    declines; what `known` does of others."""

    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        number = as_scalar(_number(machine, args[0])) if len(args) == 1 and not kwargs else None
        found = None
        if number is not None and kind_of(number) == "int" and machine.tracer.varies(number):
            for condition in (make("ge", number, 0), make("le", number, most)):
                machine.tracer.require(condition)
            found = form(machine, number)
        return known(machine, args, kwargs) if found is None else found

    return compute


def _factorial(machine: Machine, number: Scalar) -> Value | None:
    table = ArrayValue(None, machine.tracer.root.add_constant(_FACTORIALS))  # NB: a loop takes no array of its own
    found = numpy_rules.get_item(machine, table, NumberValue(None, number))
    return numpy_rules.read_number(machine, found, asked=True)


def _whole_root(machine: Machine, number: Scalar) -> Value | None:
    """NB: of an int that a float holds the root is rounded down by rounding to zero: no root below a whole number is so
    close to it that it is rounded up."""
    return machine.tracer.number(make("trunc", make("sqrt", number)))


_FACTORIALS = np.array([math.factorial(number) for number in range(21)])  # those that 64 bits hold
RULES[math.factorial] = _make_of_int(RULES[math.factorial], len(_FACTORIALS) - 1, _factorial)
RULES[math.isqrt] = _make_of_int(RULES[math.isqrt], 2**50, _whole_root)


@rule(math.trunc)
def _truncated(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    value = machine.realised(only(args, kwargs))
    is_number = as_scalar(value) is not None or isinstance(value, ArrayValue)
    if not is_number or not hasattr(python_type(value), "__trunc__"):  # NB: of NumPy's scalars only float64 has it
        raise Break("c-function", "math.trunc")
    return RULES[int](machine, [value], {})


def _make_of_complex(function: Any, form: Callable[..., Value | None]) -> Rule:
    """A function of cmath: by its form where the run knows an operand, else computed now."""

    def compute(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        numbers = [machine.realised(arg) for arg in args]
        found = None if kwargs or len(args) != 1 + (function is cmath.rect) else form(machine, *numbers)
        if found is not None:
            return found
        if kwargs or any(as_scalar(number) is None for number in numbers):
            raise Break("c-function", f"cmath.{function.__name__}")
        return python_result(function, *(as_constant(machine, number) for number in numbers))

    return compute


rule(cmath.exp)(_make_of_complex(cmath.exp, complex_operators.exp))
rule(cmath.phase)(_make_of_complex(cmath.phase, complex_operators.phase))
rule(cmath.rect)(_make_of_complex(cmath.rect, complex_operators.rect))


@rule(complex)
def _complex(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """complex(real, imag) of numbers that the capture knows."""
    numbers = [machine.realised(arg) for arg in positional(args, kwargs, 1, 2)]
    made = complex_operators.construct(machine, numbers)
    if made is not None:
        return made
    if any(as_scalar(number) is None and not isinstance(number, ConstantValue) for number in numbers):
        raise Break("python-call", "complex")
    known = [ConstantValue(None, as_constant(machine, number)) for number in numbers]
    return as_operand(python_result(complex, *(one.value for one in known)), *zip(numbers, known, strict=True))


def _make_part(function: Any) -> Rule:
    """np.real and np.imag, of a complex number of Python's its attribute."""

    def read(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        value = machine.realised(args[0]) if len(args) == 1 and not kwargs else None
        if isinstance(value, ComplexValue):
            part = complex_operators.attribute(machine, value, function.__name__)
            assert part is not None
            return part
        found = numpy_rules.call_numpy(machine, function, list(args), dict(kwargs))
        assert found is not None
        return found

    return read


rule(np.real)(_make_part(np.real))
rule(np.imag)(_make_part(np.imag))
