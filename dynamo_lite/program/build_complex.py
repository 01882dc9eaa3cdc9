"""Makes the nodes of operators between complex NumPy scalars: operations on their parts.

NumPy computes them apart from its loops: products are never added at once, quotients are Smith's, whatever the
processor has. `is_known` tries out that the operations of this file give the same bits. INVARIANT: the flags are the
same, too: what NumPy treats by itself, a divisor of 0, and what its comparison reports, one of NaN, declines.

    %p: complex128 = scalar_multiply(%a, %b)  ->  v3 = real(v1); v4 = imag(v1); ...; v11 = complex_of(v9, v10)
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass
from dynamo_lite.ops import operators
from dynamo_lite.program.build_numbers import NumberBuilder
from dynamo_lite.program.element_ops import class_of, meaning_of, part_dtype
from dynamo_lite.program.ir import Decline, DType, Element, Value

Parts = tuple[Value, Value]
PARTS = tuple(operators.PARTS[name] for name in ("real", "imag"))


class ComplexBuilder(NumberBuilder):
    """put_together: the parts of complex values that were made of them."""

    def __init__(self) -> None:
        super().__init__()
        self.put_together: dict[Value, Parts] = {}

    def complex_parts(self, value: Value, dtype: DType) -> Parts:
        """The real and imaginary part of a number in complex arithmetic of that dtype."""
        part = part_dtype(dtype)
        if value.dtype.kind != "c":
            return self.cast(value, part), self.constant(part, 0.0)
        if value in self.put_together:
            re, im = self.put_together[value]
        elif value.number is not None:
            own = part_dtype(value.dtype)
            re, im = self.constant(own, value.number.real), self.constant(own, value.number.imag)
        else:
            re, im = self.op("real", value), self.op("imag", value)
        return self.cast(re, part), self.cast(im, part)

    def complex_of(self, re: Value, im: Value) -> Value:
        """The complex number that has these parts."""
        result = self.op("complex_of", re, im)
        self.put_together[result] = (re, im)
        return result

    def complex_operator(self, function: Callable[..., Any], dtype: DType, operands: Sequence[Value]) -> Value | None:
        """The result of an operator on complex scalars of dtype; None where it has no form that is known."""
        if function in PARTS:
            return self.complex_parts(operands[0], operands[0].dtype)[PARTS.index(function)]
        form = form_of(function)
        return self.formed(form, dtype, operands) if form is not None and is_known(function, dtype) else None

    def formed(self, form: Callable[..., Value | Parts], dtype: DType, operands: Sequence[Value]) -> Value:
        """What a form makes of operands in complex arithmetic of that dtype."""
        made = form(self, *(self.complex_parts(value, dtype) for value in operands))
        return made if isinstance(made, Value) else self.complex_of(*made)

    def each_part(self, name: str, *operands: Parts) -> Parts:
        """An operation on both parts."""
        re, im = (self.op(name, *of) for of in zip(*operands, strict=True))
        return re, im

    def complex_product(self, left: Parts, right: Parts) -> Parts:
        (a, b), (c, d) = left, right
        re = self.op("subtract", self.op("multiply", a, c), self.op("multiply", b, d))
        return re, self.op("add", self.op("multiply", a, d), self.op("multiply", b, c))

    def complex_power(self, number: Parts, exponent: int) -> Parts:
        """As NumPy's, which is 0 for all zeros: by products of squares, from 1 on where there are more than two."""
        zero, one = (self.constant(number[0].dtype, value) for value in (0.0, 1.0))
        is_zero = self.op("logical_and", *self.each_part("equal", number, (zero, zero)))
        square = self.complex_product(number, number)
        if exponent == 2:
            re, im = square
        elif exponent == 3:
            re, im = self.complex_product(number, square)
        else:
            re, im = self.complex_product((one, zero), number) if exponent & 1 else (one, zero)
            for place in range(1, exponent.bit_length()):
                if exponent >> place & 1:
                    re, im = self.complex_product((re, im), square)
                if exponent >> place > 1:
                    square = self.complex_product(square, square)
        return self.where(is_zero, zero, re), self.where(is_zero, zero, im)

    def complex_quotient(self, left: Parts, right: Parts) -> Parts:
        """By Smith's method, which begins with the quotient of the divisor's smaller part by its greater one."""
        (a, b), (c, d) = left, right
        by_real = self.op("greater_equal", self.op("absolute", c), self.op("absolute", d))
        great, small = self.where(by_real, c, d), self.where(by_real, d, c)
        zero = self.op("equal", great, self.constant(great.dtype, 0.0))
        self.decline_if(self.op("logical_or", zero, self.op("unordered", great, small)), abi.RETURNED_NAN)
        ratio = self.op("divide", small, great)
        whole = self.op("add", great, self.op("multiply", small, ratio))
        scale = self.op("divide", self.constant(great.dtype, 1.0), whole)
        one, other = self.where(by_real, a, b), self.where(by_real, b, a)
        total = self.op("add", one, self.op("multiply", other, ratio))
        less = self.op("multiply", one, ratio)
        difference = self.op("subtract", self.where(by_real, b, less), self.where(by_real, less, a))
        return self.op("multiply", total, scale), self.op("multiply", difference, scale)

    def equality(self, left: Parts, right: Parts) -> Value:
        return self.op("logical_and", *self.each_part("equal", left, right))

    def inequality(self, left: Parts, right: Parts) -> Value:
        return self.op("logical_or", *self.each_part("not_equal", left, right))


@dataclass(frozen=True, slots=True)
class Power:
    """A power that stands for products."""

    exponent: int

    def __call__(self, number: Any) -> Any:
        return number**self.exponent


def form_of(function: Callable[..., Any]) -> Callable[..., Value | Parts] | None:
    """What makes the operations of an operator; None where nothing does."""
    if isinstance(function, Power):
        return lambda builder, a: builder.complex_power(a, function.exponent)
    return FORMS.get(function)


FORMS: dict[Callable[..., Any], Callable[..., Value | Parts]] = {
    operator.add: lambda builder, a, b: builder.each_part("add", a, b),
    operator.sub: lambda builder, a, b: builder.each_part("subtract", a, b),
    operator.mul: lambda builder, a, b: builder.complex_product(a, b),
    operator.truediv: lambda builder, a, b: builder.complex_quotient(a, b),
    operator.neg: lambda builder, a: builder.each_part("negative", a),
    operator.pos: lambda builder, a: a,
    operator.eq: lambda builder, a, b: builder.equality(a, b),
    operator.ne: lambda builder, a, b: builder.inequality(a, b),
}
# Of elements as of NumPy scalars, products apart: what NumPy's loops add at once is not known here.
OF_ELEMENTS: dict[str, Callable[..., Value | Parts]] = {
    **{name: FORMS[getattr(operator, short)] for name, short in (("add", "add"), ("subtract", "sub"))},
    **{"negative": FORMS[operator.neg], "positive": FORMS[operator.pos]},
    **{"equal": FORMS[operator.eq], "not_equal": FORMS[operator.ne]},
    "conjugate": lambda builder, a: (a[0], builder.op("negative", a[1])),
    "cast": lambda builder, a: a,
}
MOST_POWER = 16  # that is products; NumPy goes on to 99
_AWKWARD = (0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, -2.718281828, 1e-310, -3e-200, 7.3e180, -1e308, np.inf, -np.inf, np.nan)


@functools.cache
def is_known(function: Callable[..., Any], dtype: DType) -> bool:
    """Whether NumPy's operator on complex scalars gives what the form's operations mean, bit for bit."""
    if class_of(dtype) != "c":
        return False
    with np.errstate(all="ignore"):
        left = np.array([complex(re, im) for re in _AWKWARD for im in _AWKWARD], dtype)
        is_of_one = isinstance(function, Power) or function in (operator.neg, operator.pos)
        given = (left,) if is_of_one else (left, np.roll(left[::-1], 7))
        expected = np.array([function(*one) for one in zip(*given, strict=True)])
        found, declined = _computed(function, dtype, given)
        one, other = (array.view(part_dtype(expected.dtype)) for array in (found, expected))
        same = (one == other) & (np.signbit(one) == np.signbit(other))
        same |= np.isnan(one) & np.isnan(other)  # which of two is kept is asked where they meet
        return found.dtype == expected.dtype and bool((same.reshape(len(left), -1).all(axis=1) | declined).all())


@functools.cache
def is_same_alone(ufunc: np.ufunc, dtype: DType) -> bool:
    """Whether a ufunc gives for complex scalars what it gives for packed arrays of them, to which its loops may be
    others than to reversed ones, say."""
    places = np.arange(1.0, 400.0)
    numbers = (np.sqrt(places) + 1j * np.log(places) * np.cos(places)).astype(dtype)
    return bool(np.array([ufunc(one) for one in numbers]).tobytes() == ufunc(numbers).tobytes())


def _computed(function: Callable[..., Any], dtype: DType, given: Sequence[Any]) -> tuple[Any, Any]:
    """What the operations of a form make of arrays, and where they decline."""
    builder, form = ComplexBuilder(), form_of(function)
    assert form is not None
    operands = [Value(f"a{place}", dtype) for place, _ in enumerate(given)]
    made = form(builder, *(builder.complex_parts(value, dtype) for value in operands))
    result = made if isinstance(made, Value) else builder.complex_of(*made)
    values: dict[Value, Any] = dict(zip(operands, given, strict=True))
    values |= {value: value.number for value in builder.known.values()}
    declined = np.zeros(len(given[0]), bool)
    for node in builder.nodes:
        match node:
            case Element(name, of, results):
                values[results[0]] = meaning_of(name, results[0].dtype)(*(values[value] for value in of))
            case Decline(condition):
                declined |= values[condition]
    return np.ascontiguousarray(values[result]), declined
