"""Operators between NumPy scalars in machine loops: their names in program/element_ops.py, and those that may decline.

Enters an operator; leaves its name there, or what writes it: of a writer, the dtype and the operands as LLVM names the
name of the result. INVARIANT: an operator is here only if its result is NumPy's for every operand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.machine_numbers import NotScalar, NumberWriter

from dynamo_lite.schedule.steps import DType

IntegerOperator = Callable[..., str]  # of a writer, the dtype, and the operands


def _division(remainder: bool) -> IntegerOperator:
    def write(writer: NumberWriter, dtype: DType, a: str, b: str) -> str:
        kind = scalar_type(dtype)
        return writer.floor_division(kind, dtype.kind == "i", a, b, remainder, _constant(b))

    return write


def _constant(name: str) -> int | None:
    return None if name.startswith("%") else int(name)


def _power(writer: NumberWriter, dtype: DType, a: str, b: str) -> str:
    """A power with a known exponent: products that wrap around, of which NumPy says nothing."""
    exponent = _constant(b)
    if exponent is None or not 1 <= exponent <= 16:
        raise NotScalar("a power of an integer scalar")
    result = a
    for _ in range(exponent - 1):
        result = writer.lines.do(f"mul {scalar_type(dtype)} {result}, {a}")
    return result


INTEGER_OPERATORS: dict[Callable[..., Any], IntegerOperator] = {
    operator.floordiv: _division(False),
    operator.mod: _division(True),
    operator.pow: _power,
}
OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.truediv: "divide",
    operator.neg: "negative",
    abs: "absolute",
    operator.lt: "less",
    operator.le: "less_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
    operator.eq: "equal",
    operator.ne: "not_equal",
    operator.and_: "bitwise_and",
    operator.or_: "bitwise_or",
    operator.xor: "bitwise_xor",
    operator.lshift: "left_shift",
    operator.rshift: "right_shift",
}
# Of floats, by NumPy's loop, which calls what its scalars call.
LOOPS: dict[Callable[..., Any], np.ufunc] = {operator.mod: np.remainder, operator.floordiv: np.floor_divide}
