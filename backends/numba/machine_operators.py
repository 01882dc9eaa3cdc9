"""Operators between NumPy scalars that kernels do not have: which exist in machine loops, and how they are written.

Enters a writer, the dtype and the operands as LLVM names; leaves the name of the result. On integers they wrap around
and note what NumPy warns of, or decline. INVARIANT: a row is here only if its result is NumPy's for every operand.
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


def _plain(instruction: str) -> IntegerOperator:
    return lambda writer, dtype, a, b: writer.lines.do(f"{instruction} {scalar_type(dtype)} {a}, {b}")


def _shift(left: bool) -> IntegerOperator:
    """A shift; one by as many bits as there are, or by a negative number, shifts everything out."""

    def write(writer: NumberWriter, dtype: DType, a: str, b: str) -> str:
        lines, kind, bits = writer.lines, scalar_type(dtype), 8 * dtype.itemsize
        inside = lines.do(f"icmp ult {kind} {b}, {bits}")
        if dtype.kind == "i" and not left:
            count = lines.do(f"select i1 {inside}, {kind} {b}, {kind} {bits - 1}")
            return lines.do(f"ashr {kind} {a}, {count}")
        count = lines.do(f"select i1 {inside}, {kind} {b}, {kind} 0")
        shifted = lines.do(f"{'shl' if left else 'lshr'} {kind} {a}, {count}")
        return lines.do(f"select i1 {inside}, {kind} {shifted}, {kind} 0")

    return write


def _negative(writer: NumberWriter, dtype: DType, a: str) -> str:
    if dtype.kind == "u":
        raise NotScalar("the negative of an unsigned scalar")
    return writer.overflowing("sub", dtype, "0", a)


def _absolute(writer: NumberWriter, dtype: DType, a: str) -> str:
    if dtype.kind == "u":
        return a
    lines, kind = writer.lines, scalar_type(dtype)
    negated = writer.overflowing("sub", dtype, "0", lines.do(f"call {kind} @llvm.smin.{kind}({kind} {a}, {kind} 0)"))
    lines.declarations.add(f"declare {kind} @llvm.smin.{kind}({kind}, {kind})")
    return lines.do(f"select i1 {lines.do(f'icmp slt {kind} {a}, 0')}, {kind} {negated}, {kind} {a}")


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
    operator.add: lambda writer, dtype, a, b: writer.overflowing("add", dtype, a, b),
    operator.sub: lambda writer, dtype, a, b: writer.overflowing("sub", dtype, a, b),
    operator.mul: lambda writer, dtype, a, b: writer.overflowing("mul", dtype, a, b),
    operator.floordiv: _division(False),
    operator.mod: _division(True),
    operator.lshift: _shift(True),
    operator.neg: _negative,
    abs: _absolute,
    operator.pow: _power,
    operator.and_: _plain("and"),
    operator.or_: _plain("or"),
    operator.xor: _plain("xor"),
    operator.rshift: _shift(False),
}
OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.truediv: "divide",
    operator.lt: "less",
    operator.le: "less_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
    operator.eq: "equal",
    operator.ne: "not_equal",
}
# Of floats, by NumPy's loop, which calls what its scalars call.
LOOPS: dict[Callable[..., Any], np.ufunc] = {operator.mod: np.remainder, operator.floordiv: np.floor_divide}
