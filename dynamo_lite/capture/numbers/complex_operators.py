"""Arithmetic of Python's complex numbers that only the run knows, on their parts (complex_numbers.py).

Each form below is CPython's way: quotients are Smith's, powers by small ints are products. A real operand is converted
up to 3.13, and from 3.14 on computed with as it is (`MIXES`), without an imaginary part. `is_known` tries out that the
interpreter at hand gives their bits; where it does not, the graph breaks.
INVARIANT: where Python raises, or makes a NaN of its own, the program declines, and where two NaNs meet.
"""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import operator
import struct
import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from dynamo_lite.capture.branches.choices import either_way
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.complex_numbers import made_of, parted
from dynamo_lite.capture.numbers.numbers import as_scalar, holds, not_too_long, number_compare
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    ComplexValue,
    ConstantValue,
    EitherValue,
    NumberValue,
    ResultValue,
    Value,
)
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make

Parts: TypeAlias = tuple[Scalar, Scalar]
Operand: TypeAlias = tuple[Scalar, Scalar | None]  # None: it is real, and computed with so
MIXES = math.copysign(1.0, (2.0 + complex(1.0, -0.0)).imag) < 0.0  # whether real operands are
LARGEST = sys.float_info.max
LARGEST_EXPONENT = 708.0  # just below log(LARGEST / 4), from which on cmath.exp goes another way
MOST_FACTORS = 16  # of a power


class Way(Protocol):
    """How a form goes on by conditions."""

    def choose(self, condition: Scalar, then: Callable[[], Parts], orelse: Callable[[], Parts]) -> Parts:
        """What `then` makes where the condition holds, else what `orelse` makes."""

    def require(self, condition: Scalar) -> None:
        """Decline where it does not hold."""


# -- forms -----------------------------------------------------------------------------------------


def total(one: Operand, other: Operand, way: Way) -> Parts:
    (a, b), (c, d) = one, other
    return make("add", a, c), _joined("add", b, d)


def difference(one: Operand, other: Operand, way: Way) -> Parts:
    (a, b), (c, d) = one, other
    return make("sub", a, c), _joined("sub", b, d)


def _joined(op: str, b: Scalar | None, d: Scalar | None) -> Scalar:
    """The sum or difference of imaginary parts, of which one may be missing."""
    if b is None:
        assert d is not None
        return make("neg", d) if op == "sub" else d
    return b if d is None else make(op, b, d)


def product(one: Operand, other: Operand, way: Way) -> Parts:
    (a, b), (c, d) = one, other
    if b is None:
        (a, b), (c, d) = other, one
    assert b is not None
    if d is None:
        return make("mul", a, c), make("mul", b, c)
    re = make("sub", make("mul", a, c), make("mul", b, d))
    return _without_nans(way, re, make("add", make("mul", a, d), make("mul", b, c)))


def quotient(one: Operand, other: Operand, way: Way) -> Parts:
    """By Smith's method. A divisor of 0, or with a NaN, declines."""
    (a, b), (c, d) = one, other
    if d is None:
        assert b is not None
        way.require(make("ne", c, 0.0))
        return make("truediv", a, c), make("truediv", b, c)
    divisor = d
    way.require(make("or", make("ne", c, 0.0), make("ne", divisor, 0.0)))

    def by_real() -> Parts:
        ratio = make("truediv", divisor, c)
        whole = make("add", c, make("mul", divisor, ratio))
        if b is None:
            re, im = a, make("mul", make("neg", a), ratio)
        else:
            re, im = make("add", a, make("mul", b, ratio)), make("sub", b, make("mul", a, ratio))
        return _without_nans(way, make("truediv", re, whole), make("truediv", im, whole))

    def by_imag() -> Parts:
        ratio = make("truediv", c, divisor)
        whole = make("add", make("mul", c, ratio), divisor)
        if b is None:
            re, im = make("mul", a, ratio), make("neg", a)
        else:
            re, im = make("add", make("mul", a, ratio), b), make("sub", make("mul", b, ratio), a)
        return _without_nans(way, make("truediv", re, whole), make("truediv", im, whole))

    way.require(make("eq", c, c))
    if type(divisor) is float and divisor == 0.0:
        return by_real()
    way.require(make("eq", divisor, divisor))
    return way.choose(make("ge", make("fabs", c), make("fabs", divisor)), by_real, by_imag)


def _without_nans(way: Way, re: Scalar, im: Scalar) -> Parts:
    """Both parts; declines where both are NaN, of which CPython 3.14 makes infinities."""
    if MIXES:
        way.require(make("or", make("eq", re, re), make("eq", im, im)))
    return re, im


def power(base: Parts, exponent: int, way: Way) -> Parts:
    """By an int; what is not finite declines."""
    result: Parts = (1.0, 0.0)
    factor, mask = base, 1
    while mask <= abs(exponent):
        if abs(exponent) & mask:
            result = product(result, factor, way)
        mask <<= 1
        if mask <= abs(exponent):
            factor = product(factor, factor, way)
    if exponent <= 0:
        result = quotient((1.0, 0.0), result, way)
    _require_finite(way, *result)
    return result


def _require_finite(way: Way, *numbers: Scalar) -> None:
    for number in numbers:
        way.require(make("le", make("fabs", number), LARGEST))


def size(number: Parts, way: Way) -> Scalar:
    """abs(number); what is not finite declines."""
    found = make("cabs", *number)
    way.require(make("le", found, LARGEST))
    return found


def exponential(number: Parts, way: Way) -> Parts:
    """cmath.exp(number); a large real part declines, and what is not finite."""
    _require_finite(way, *number)
    way.require(make("le", number[0], LARGEST_EXPONENT))
    return turned(make("exp", number[0]), number[1], way)


def turned(size: Scalar, angle: Scalar, way: Way) -> Parts:
    """cmath.rect(size, angle); what is not finite declines."""
    _require_finite(way, size, angle)
    return make("mul", size, make("cos", angle)), make("mul", size, make("sin", angle))


FORMS: dict[str, Callable[[Operand, Operand, Way], Parts]] = {
    "+": total,
    "-": difference,
    "*": product,
    "/": quotient,
}

_AWKWARD = (0.0, 0.1, -1 / 3, 7.3e180, -0.0, -3e-200, 1.0, math.inf, -2.718281828, -1e308, 1e-310, math.nan, -1.5)
_NUMBERS = tuple(
    complex(one, other)
    for step in (1, 5)
    for one, other in zip(_AWKWARD, _AWKWARD[step:] + _AWKWARD[:step], strict=True)
)
_FUNCTIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class _Known:
    """The way where all is known."""

    def choose(self, condition: Scalar, then: Callable[[], Parts], orelse: Callable[[], Parts]) -> Parts:
        return then() if condition else orelse()

    def require(self, condition: Scalar) -> None:
        if not condition:
            raise ArithmeticError


_known = _Known()


@functools.cache
def is_known() -> bool:
    """Whether this interpreter's complex numbers have the bits of the forms."""
    pairs = [*itertools.product(_NUMBERS, _NUMBERS[::4]), *((one, real) for one in _NUMBERS for real in (1.25, -0.0))]
    return all(
        _agree(functools.partial(function, a, b), functools.partial(FORMS[op], _operand(a), _operand(b), _known))
        for op, function in _FUNCTIONS.items()
        for one, other in pairs
        for a, b in ((one, other), (other, one))
    )


@functools.cache
def knows_powers() -> bool:
    """Whether its powers do, too."""
    return is_known() and all(
        _agree(functools.partial(pow, one, exponent), functools.partial(power, _as_parts(one), exponent, _known))
        for one, exponent in itertools.product(_NUMBERS, (-2, 0, 1, 2, 3, 7))
    )


@functools.cache
def knows_exponentials() -> bool:
    """Whether cmath's exp does, and its rect."""
    steps = np.linspace(-40.0, 40.0, 150).tolist()
    numbers = [*_NUMBERS, *(complex(one, other) for one, other in zip(steps, steps[::-1], strict=True))]
    return is_known() and all(
        _agree(functools.partial(cmath.exp, one), functools.partial(exponential, _as_parts(one), _known))
        for one in numbers
    )


def _as_parts(number: complex) -> Parts:
    return number.real, number.imag


def _operand(number: Any) -> Operand:
    if type(number) is complex:
        return _as_parts(number)
    return float(number), None if MIXES else 0.0


def _agree(function: Callable[[], complex], form: Callable[[], Parts]) -> bool:
    """Whether a form gives the bits that Python does, but for a NaN's, or declines."""
    try:
        found = form()
    except ArithmeticError:
        return True
    try:
        expected = function()
    except (ArithmeticError, ValueError):
        return any(is_symbolic(part) for part in found)  # it declines where it is evaluated
    return all(_same(one, other) for one, other in zip(found, (expected.real, expected.imag), strict=True))


def _same(found: Scalar, expected: float) -> bool:
    if is_symbolic(found):
        return True
    assert isinstance(found, float)
    return struct.pack("d", found) == struct.pack("d", expected) or (found != found and expected != expected)


# -- operands --------------------------------------------------------------------------------------


def is_complex(value: Value) -> bool:
    """Whether it is a complex number of Python's."""
    is_constant = isinstance(value, ConstantValue) and type(value.value) is complex
    return is_constant or isinstance(value, ComplexValue)


def _part(machine: Machine, value: Value) -> Scalar:
    """A part of a complex number as a number."""
    while isinstance(value, EitherValue):  # behind a loop: which object it is
        value = value.second
    if isinstance(value, ResultValue):
        value = numpy_rules.read_result(machine, value)
    number = as_scalar(value)
    if number is None:
        raise Break("data-dependent-number", "a complex number that a loop has computed")
    return number


def parts_of(machine: Machine, value: Value) -> Parts | None:
    """The parts of a number, of Python's or a float64, in complex arithmetic; None for anything else."""
    value = parted(machine.tracer, value)
    if isinstance(value, ComplexValue):
        re, im = (_part(machine, item) for item in value.items)
        return re, im
    if isinstance(value, ArrayValue) and value.node.array_type.dtype == np.float64 and value.node.array_type.scalar:
        value = numpy_rules.read_number(machine, value, asked=True) or value
    number = as_scalar(value)
    if number is None:
        return None
    if not is_symbolic(number):
        try:
            return float(number), 0.0  # type: ignore[arg-type]
        except OverflowError as error:
            raise Break("python-exception", f"OverflowError: {error}") from None
    if kind_of(number) == "bool":
        return None
    return number if kind_of(number) == "float" else make("mul", number, 1.0), 0.0


@dataclass(frozen=True, slots=True)
class _Traced:
    """The way where the run may be the first to know."""

    machine: Machine

    def choose(self, condition: Scalar, then: Callable[[], Parts], orelse: Callable[[], Parts]) -> Parts:
        tracer = self.machine.tracer
        if not is_symbolic(condition):
            return then() if condition else orelse()
        if not tracer.is_open(condition):
            try:
                return then() if tracer.relate(condition) else orelse()
            except Undecided:
                pass
        ways = (lambda: made_of(tracer, *then()), lambda: made_of(tracer, *orelse()))
        found = parts_of(self.machine, either_way(self.machine, condition, *ways))
        assert found is not None
        return found

    def require(self, condition: Scalar) -> None:
        if not (holds(self.machine.tracer, condition) if is_symbolic(condition) else condition):
            raise ArithmeticError("what raises, or is not finite")


def _result(machine: Machine, form: Callable[[Way], Parts]) -> Value:
    """The number that a form makes; what certainly raises breaks the graph."""
    try:
        parts = form(_Traced(machine))
    except ArithmeticError as error:
        raise Break("python-exception", f"{type(error).__name__}: {error}") from None
    if any(part != part for part in parts if isinstance(part, float)):
        raise Break("unsupported-operation", "a complex number with a known NaN")  # which of two it is may differ
    for part in parts:
        not_too_long(NumberValue(None, part))
    return made_of(machine.tracer, *parts)


def _require(known: bool, what: str) -> None:
    if not known:
        raise Break("unsupported-operation", f"{what} of complex numbers, which this Python computes in another way,")


# -- operations ------------------------------------------------------------------------------------


def binary(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value | None:
    """lhs op rhs where one is a complex number of Python's and the run knows one; None otherwise."""
    if not (is_complex(lhs) or is_complex(rhs)):
        return None
    both = (lhs, rhs)
    if any(isinstance(one, ArrayValue) for one in both):
        # NB: np.float64 is a float: behind a complex number it is converted like one.
        behind = is_complex(lhs) and isinstance(rhs, ArrayValue) and _is_float64(rhs)
        if not behind or not (isinstance(lhs, ComplexValue) or machine.tracer.regions):
            return _with_arrays(machine, op, lhs, rhs)
    elif not any(isinstance(one, ComplexValue) or _is_open(machine, as_scalar(one)) for one in both):
        return None
    found = _power(machine, lhs, rhs) if op == "**" else _formed(machine, op, lhs, rhs)
    if found is None and isinstance(lhs, ComplexValue):  # Python's own, and not NumPy's, also of a float64
        raise Break("unsupported-operation", f"{op} of {a_kind(lhs)} and {a_kind(rhs)}")
    return found


def _formed(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value | None:
    """What the form of an operator makes; None where there is none, or for an operand that is no number."""
    given = lhs, rhs
    found = [parts_of(machine, operand) for operand in given]
    if op not in FORMS or found[0] is None or found[1] is None:
        return None
    _require(is_known(), op)
    one, other = (
        (parts[0], None) if MIXES and not is_complex(operand) else parts
        for operand, parts in zip(given, found, strict=True)
        if parts is not None
    )
    return _result(machine, functools.partial(FORMS[op], one, other))


def _is_open(machine: Machine, number: Scalar | None) -> bool:
    """Whether only the run knows a number. Outside of loops an int is fixed: a step of np.mgrid may be made of it."""
    if number is None or not is_symbolic(number):
        return False
    return machine.tracer.in_loop or kind_of(number) == "float"


def _is_float64(value: ArrayValue) -> bool:
    type_ = value.node.array_type
    return type_.scalar and type_.dtype == np.float64


def _with_arrays(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value | None:
    """An operator of NumPy's, which computes in complex128 all the same."""
    if not (isinstance(lhs, ComplexValue) or isinstance(rhs, ComplexValue)):
        return None
    return numpy_rules.binary(machine, op, *as_numpy(machine, lhs, rhs))


def as_numpy(machine: Machine, *operands: Value) -> list[Value]:
    """Operands of NumPy: a complex number that only the run knows as a complex128, any other value as it is."""
    numpy_rules.require_double(*operands)
    return [
        ArrayValue(None, numpy_rules.complex_node(machine, one)) if isinstance(one, ComplexValue) else one
        for one in operands
    ]


def _power(machine: Machine, base: Value, exponent: Value) -> Value | None:
    number, parts = as_scalar(exponent), parts_of(machine, base)
    if parts is None or type(number) not in (int, float) or number != math.floor(number) or abs(number) > MOST_FACTORS:  # type: ignore
        return None
    _require(knows_powers(), "**")
    return _result(machine, functools.partial(power, parts, int(number)))  # type: ignore[arg-type]


def unary(machine: Machine, op: str, value: ComplexValue) -> Value:
    """-z, +z, abs(z)."""
    if op == "+":
        return value
    parts = parts_of(machine, value)
    assert parts is not None
    if op == "abs":
        try:
            return machine.tracer.number(size(parts, _Traced(machine)))
        except ArithmeticError as error:
            raise Break("python-exception", f"{type(error).__name__}: {error}") from None
    if op != "-":
        raise Break("python-exception", f"TypeError: {op} of a complex number")
    return _result(machine, lambda _: (make("neg", parts[0]), make("neg", parts[1])))


def compare(machine: Machine, op: str, lhs: Value, rhs: Value) -> Value | None:
    """lhs == rhs or lhs != rhs where one of them is a ComplexValue; None otherwise."""
    if op not in ("==", "!=") or not (isinstance(lhs, ComplexValue) or isinstance(rhs, ComplexValue)):
        return None
    if isinstance(lhs, ArrayValue) or (isinstance(rhs, ArrayValue) and not _is_float64(rhs)):
        return None
    operands = [_compared(machine, one) for one in (lhs, rhs)]
    if operands[0] is None or operands[1] is None:
        return None
    join, found = "and" if op == "==" else "or", list[Scalar]()
    for one, other in zip(*operands, strict=True):
        numbers = (NumberValue(None, part) if is_symbolic(part) else ConstantValue(None, part) for part in (one, other))
        truth = as_scalar(number_compare(machine.tracer, op, *numbers))
        assert truth is not None
        found.append(truth)
    return machine.tracer.number(make(join, *found))


def _compared(machine: Machine, value: Value) -> Parts | None:
    """The parts that are compared: an int is not rounded."""
    number = as_scalar(value)
    return (number, 0.0) if number is not None and kind_of(number) == "int" else parts_of(machine, value)


def attribute(machine: Machine, owner: ComplexValue, name: str) -> Value | None:
    """z.real and z.imag, which are new floats; None for another attribute."""
    if name not in ("real", "imag"):
        return None
    parts = parts_of(machine, owner)
    assert parts is not None
    return machine.tracer.number(parts[name == "imag"])


def conjugate(machine: Machine, value: Value) -> Value:
    """z.conjugate()."""
    parts = parts_of(machine, value)
    assert parts is not None
    return _result(machine, lambda _: (parts[0], make("neg", parts[1])))


def construct(machine: Machine, numbers: list[Value]) -> Value | None:
    """complex(re, im), or complex(number), where the run knows one of them; None for other operands."""
    if len(numbers) == 1 and isinstance(numbers[0], ComplexValue):
        return numbers[0]
    given = [as_scalar(one) for one in numbers]
    if not any(_is_open(machine, one) for one in given) and not any(isinstance(one, ArrayValue) for one in numbers):
        return None
    parts = [None if is_complex(one) else parts_of(machine, one) for one in numbers]
    if None in parts or not any(is_symbolic(one[0]) for one in parts if one is not None):
        return None
    re, im = (one[0] for one in (*parts, (0.0, 0.0))[:2])  # type: ignore[index]
    return _result(machine, lambda _: (re, im))


def exp(machine: Machine, value: Value) -> Value | None:
    """cmath.exp(value); None where the run knows no part of it."""
    parts = parts_of(machine, value)
    if parts is None or not any(map(is_symbolic, parts)):
        return None
    _require(knows_exponentials(), "exp")
    return _result(machine, functools.partial(exponential, parts))


def phase(machine: Machine, value: Value) -> Value | None:
    """cmath.phase(value); None where the run knows no part of it."""
    parts = parts_of(machine, value)
    if parts is None or not any(map(is_symbolic, parts)):
        return None
    return NumberValue(None, make("atan2", parts[1], parts[0]))


def rect(machine: Machine, size: Value, angle: Value) -> Value | None:
    """cmath.rect(size, angle)."""
    one, other = (None if is_complex(value) else parts_of(machine, value) for value in (size, angle))
    if one is None or other is None or not (is_symbolic(one[0]) or is_symbolic(other[0])):
        return None
    _require(knows_exponentials(), "rect")
    return _result(machine, functools.partial(turned, one[0], other[0]))
