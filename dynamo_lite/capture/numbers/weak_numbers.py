"""Numbers that are NumPy's on one way and Python's on another, beside operands that make no difference of them.

    dt = 0.4 * np.min(dx / speed)      # a float64
    if t + dt > end:
        dt = end - t                   # a float
    u = u - dt * flux

Enters: such a number, and the other operands. Leaves: one NumPy scalar in its place, so that the operation is traced
once and is fused with what stands around it, where the two would be traced in branches (choices.split).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from dynamo_lite.capture.branches.choices import either_way
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.value import ArrayValue, EitherValue, Value
from dynamo_lite.graph.scalar import kind_of

# Operands' dtypes beside which a number of Python's computes as NumPy's scalar of that value does.
_WIDE = frozenset({"float64", "complex128"})
_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_WEAK_AS_WIDE = {"float": _WIDE | _INTEGERS | {"bool"}, "int": _WIDE | {"int64"}}


def one_scalar(machine: Machine, value: EitherValue, others: Sequence[Value]) -> Value | None:
    """The NumPy scalar that computes the same with the other operands as this value, NumPy's or Python's, so that they
    are operated on once, and not in branches; None where its type matters. Beside a narrower dtype a number of Python's
    is weak, and a float64 is not (NEP 50)."""
    kinds = _kinds(value)
    if isinstance(value.condition, Value) or not kinds <= _WEAK_AS_WIDE.keys():
        return None
    if len(kinds) > 1 and not any(isinstance(other, ArrayValue) for other in others):
        return None
    allowed = _WEAK_AS_WIDE[next(iter(kinds))] if len(kinds) == 1 else _WIDE  # NB: int64 beside an int, not a float
    for other in others:
        if isinstance(other, ArrayValue) and other.node.array_type.dtype.name in allowed:
            continue
        if isinstance(other, ArrayValue) or (known := as_scalar(other)) is None or kind_of(known) == "complex":
            return None
    graph = machine.tracer.graph
    if value.scalar is None or value.scalar[0] is not graph:
        value.scalar = graph, _as_numpy(machine, value, np.float64 if "float" in kinds else np.int64)
    return value.scalar[1]


def _kinds(value: Value) -> set[str]:
    """Which kinds of numbers a value is, "" for what is none."""
    if isinstance(value, EitherValue):
        return _kinds(value.first) | _kinds(value.second)
    if isinstance(value, ArrayValue):
        type_ = value.node.array_type
        return {{"float64": "float", "int64": "int"}.get(type_.dtype.name, "") if type_.scalar else ""}
    number = as_scalar(value)
    return {"" if number is None else kind_of(number)}


def _as_numpy(machine: Machine, value: Value, scalar: type[np.generic]) -> Value:
    if isinstance(value, EitherValue):
        ways = (functools.partial(_as_numpy, machine, part, scalar) for part in (value.first, value.second))
        return either_way(machine, value.condition, *ways)
    if isinstance(value, ArrayValue) and value.node.array_type.dtype == scalar:
        return value
    found = numpy_rules.call_numpy(machine, scalar, [value], {})
    assert found is not None
    return found


__all__ = ["one_scalar"]
