"""Symbolic Python numbers: sizes of arrays, and ints, floats and bools that enter a graph as arguments.

A ``ScalarExpr`` is a frozen expression tree over ``Symbol`` leaves; a constant is a plain Python int, float, bool or
complex. Capture computes with these in place of Python numbers, guards state relations between them, the native
program evaluates them (``csrc/scalar.c``). INVARIANT: integer operations are exact in 64 bits, or the call declines
to plain Python; a float operation is the IEEE double operation that Python's float performs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Number: TypeAlias = int | float | bool | complex


@dataclass(frozen=True, slots=True)
class Symbol:
    """A number known only at the call: ``axis`` of graph input ``input``, or (axis None) that input's own value."""

    name: str
    kind: str  # "int" or "float"
    input: int
    axis: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """``op`` applied to operands. Ops: add sub mul floordiv mod neg min max truediv lt le eq ne gt ge and or not."""

    op: str
    kind: str  # "int", "float" or "bool"
    operands: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.operands))})"


ScalarExpr: TypeAlias = Symbol | ScalarOp
Scalar: TypeAlias = Symbol | ScalarOp | Number
Dim: TypeAlias = Symbol | ScalarOp | int


def is_symbolic(value: object) -> bool:
    """True for a ScalarExpr, False for a plain number."""
    return isinstance(value, Symbol | ScalarOp)


def kind_of(value: Scalar) -> str:
    """The Python type a scalar has: "bool", "int", "float" or "complex"."""
    if isinstance(value, Symbol | ScalarOp):
        return value.kind
    return type(value).__name__


def evaluate(value: Scalar, env: Mapping[str, Number]) -> Number:
    """The number that `value` is when each symbol has the number `env` gives for its name."""
    if isinstance(value, Symbol):
        return env[value.name]
    if not isinstance(value, ScalarOp):
        return value
    args = [evaluate(operand, env) for operand in value.operands]
    return _EVALUATE[value.op](*args)  # type: ignore[no-any-return, operator]


_EVALUATE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "truediv": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
}
