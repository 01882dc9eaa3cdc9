"""Short vectors of constants in loops, which machine code writes itself: steps of a walk, weights, colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.program.routines import collected

STEP = np.array([0.5, -0.25, 1.5])


def walk(d: Any, n: int) -> Any:
    position = np.zeros((n, 2))
    for i in range(1, n):
        if d[i] == 0:
            position[i] = position[i - 1] + [1, 0]
        elif d[i] == 1:
            position[i] = position[i - 1] + (-1, 0.5)
        else:
            position[i] = position[i - 1] * [True, False]
    return position


def weighted(d: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        v = np.array([1.0, 2.0, 3.0]) * d[i]
        s = s * 0.5 + v.sum() + np.dot(STEP, v) + (STEP * i).max()
    return s


def changed(d: Any, n: int) -> Any:
    s = np.zeros(3)
    for i in range(n):
        v = np.array([1, 2, 3])
        v[i % 3] = d[i]
        s = s + v
    return s


def handed_on(d: Any, n: int) -> Any:
    out, last = [], d
    for i in range(n):
        last = STEP if i % 2 else STEP + d[i]
        out.append(last)
    return out, last


def long_one(d: Any, n: int) -> Any:
    s = np.zeros(9)
    for i in range(n):
        s = s * d[i] + [1, 2, 3, 4, 5, 6, 7, 8, 9]
    return s


FUNCTIONS = [walk, weighted, changed, handed_on, long_one]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [int, float, np.float32])
def test_constants_in_loops(function: Callable[..., Any], dtype: Any) -> None:
    for n in (12, 1, 0):
        require_equal(
            function,
            lambda n=n: ((np.arange(12) % 3).astype(dtype), n),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
        )


@pytest.mark.parametrize("function", [walk, weighted])
def test_they_are_machine_code(function: Callable[..., Any]) -> None:
    assert collected(function, np.arange(12) % 3, 12)


def pooled(x: Any, s: int) -> Any:
    out = np.zeros((x.shape[0] // s, x.shape[1] // s))
    for i in range(x.shape[0] // s):
        for j in range(x.shape[1] // s):
            out[i, j] = np.max(x[i * s : (i + 1) * s, j * s : (j + 1) * s])
    return out


def test_windows_as_wide_as_a_number_says() -> None:
    fast = dynamo_lite.compile(pooled, options={"cost_model": False})
    x = np.linspace(0.0, 1.0, 70).reshape(7, 10)
    for s in (2, 3, 1, 5, 11):
        assert fast(x, s).tobytes() == pooled(x, s).tobytes()
    assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}
    for s, error in ((0, ZeroDivisionError), (-2, ValueError)):
        with pytest.raises(error):
            fast(x, s)
