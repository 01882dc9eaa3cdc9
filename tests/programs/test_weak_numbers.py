"""Numbers that are a float64 on one way and a float on another, beside arrays: one operation where that is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.types import ArrayType
from tests.conftest import BACKENDS
from tests.oracle import require_equal

Array = Any
OPTIONS = {"check": 1, "cost_model": False}


def adaptive_steps(x: Array, end: float) -> Any:
    t, dt = 0.0, 0.0
    while t < end:
        dt = 0.4 * np.min(1 / (1 + np.abs(x)))
        if t + dt > end:
            dt = end - t
        x = x - dt * 0.1 * x
        above, root, quotient, power = x > dt, np.sqrt(dt), dt / x, x**dt
        larger = np.maximum(x, dt)
        t += dt
    return x, t, above, root, quotient, power, larger, dt


def in_place(x: Array, end: float) -> Any:
    step: Any = 0
    for i in range(len(x)):
        step = x[i] if x[i] > step else 3
        y = x * step
        y -= step
    return y, step, np.minimum(step, y), y // step, np.add(step, 1), np.add(step, end)


def of_an_integer_at_first(x: Array, end: float) -> Any:
    best: Any = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
        y = best + x
        z = y <= best
    return best, y, z, np.multiply(best, 2), np.hypot(best, 2.5)


REALS = ["float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint64", "bool"]


@pytest.mark.parametrize("fn", [adaptive_steps, in_place, of_an_integer_at_first])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [*REALS, "complex128", "complex64"])
def test_beside_arrays(dtype: str, backend: str, fn: Any) -> None:
    for end in (0.7, 2.0):
        with np.errstate(all="ignore"):
            require_equal(
                fn,
                lambda end=end: (np.array([1.5, 0.5, 3.0, 2.0, 0.25]).astype(dtype), end),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": OPTIONS},
            )


def of_two_kinds(x: Array, end: float) -> Any:
    scale = 3 if x[0] < end else np.float64(0.5)
    return x[1] * scale, scale - x[2], np.maximum(x[1], scale), x[0] < scale, scale // x[0], x.sum() + scale


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", REALS)
def test_an_int_or_a_float64(dtype: str, backend: str) -> None:
    for end in (2.0, 0.0):
        require_equal(
            of_two_kinds,
            lambda end=end: (np.array([1, 3, 2]).astype(dtype), end),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


def shrinking(x: Array, end: float) -> Any:
    t = 0.0
    while t < end:
        dt = 0.4 * np.min(1 / (1 + np.abs(x)))
        if t + dt > end:
            dt = end - t
        x = np.maximum(x - dt * 0.1 * x, dt)
        t += dt
    return x, t


def nodes_of(graph: Any) -> list[Any]:
    return [*graph.nodes, *(inner for node in graph.nodes for part in node.regions for inner in nodes_of(part))]


def test_no_array_is_computed_in_a_branch() -> None:
    fast = dynamo_lite.compile(shrinking, options=OPTIONS)
    fast(np.array([1.5, 0.5, 3.0]), 2.0)
    found = [node for one in fast._compilation.segments for node in nodes_of(one.capture.graph)]  # type: ignore[attr-defined]
    made = [node for node in found if node.op == "cond"]
    inside = [one for node in made for part in node.regions for one in part.nodes if isinstance(one.type, ArrayType)]
    assert any(node.op == "loop" for node in found)
    assert made
    assert all(one.array_type.scalar for one in inside)
