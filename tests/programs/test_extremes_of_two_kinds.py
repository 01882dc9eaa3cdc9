"""max() and min() of a NumPy scalar and a Python number outside of loops: which object they give, and one graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal

Array = Any
OPTIONS = {"check": 1, "cost_model": False}


def at_least(x: Array, f: float) -> Any:
    return max(np.sqrt((x * x).sum()), f)


def at_most(x: Array, f: float) -> Any:
    return min(f, np.exp(x.sum()))


def a_constant(x: Array, f: float) -> Any:
    return min(1, np.exp(-x.sum())), max(x.max(), 0)


def goes_on(x: Array, f: float) -> Any:
    low = max(x.min(), f)
    return x / low, low * 2, low


def of_a_kind(x: Array, f: float) -> Any:
    return max(x[0], x[1]), min(x[0], f) < 0.0


def counted(x: Array, f: float) -> Any:
    number = max((x > f).sum(), 1)
    return x / number, number, min(max(x[0], 0), 1.0)


def in_a_callee(x: Array, f: float) -> Any:
    return x * at_least(x, f) + at_most(x, f)


def changes_what_it_makes(x: Array, f: float) -> Any:
    y = x * x + max(x[0], f)
    same, part, first = y, y[1:], y[0]
    y += x.max()
    part *= 3
    y -= max(x[1], f)
    y[0] = 7
    return y, same, part, first


def changes_it_in_a_loop(x: Array, f: float) -> Any:
    made = []
    for i in range(3):
        y = x + max(x[i], f)
        made.append(y)
        y *= x[1]
    y /= 2
    return made, y


def needs_a_number_of_an_array(x: Array, f: float) -> Any:
    end = int(x[0].real)
    return np.clip(np.arange(5), max(x[1], 1), end), np.clip(x, min(x[0], f), end)


VALUES = [(0.5, -2.0, 1.0), (0.0, -0.0, 0.0), (-1e-9, 0.0, 1e-9), (math.nan, 1.0, 2.0), (3.0, 4.0, 0.0)]


@pytest.mark.parametrize("fn", [at_least, at_most, a_constant, goes_on, of_a_kind, in_a_callee])
@pytest.mark.parametrize("backend", BACKENDS)
def test_which_one(backend: str, fn: Any) -> None:
    for row in VALUES:
        for f in (5.0, 0.0, -0.0, 0.5, math.nan):
            with np.errstate(all="ignore"):
                require_equal(
                    fn,
                    lambda row=row, f=f: (np.array(row), f),  # type: ignore[misc]
                    compile=dynamo_lite.compile,
                    compile_options={"backend": backend, "options": OPTIONS},
                )


@pytest.mark.parametrize("fn", [changes_what_it_makes, changes_it_in_a_loop, needs_a_number_of_an_array])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex64"])
def test_what_is_made_of_one_dtype_or_another(dtype: str, backend: str, fn: Any) -> None:
    for f in (2.0, 0.5, 1, np.float64(3.0)):
        require_equal(
            fn,
            lambda f=f: (np.array([1.0, 2.0, 4.0]).astype(dtype), f),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


@pytest.mark.parametrize("fn", [at_least, at_most, a_constant, goes_on, of_a_kind, in_a_callee])
def test_one_graph(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for low in (0.5, 2.0):
        fast(np.array([low, 3.0, 1.0]), 1.5)
    assert fast.stats()["breaks"] == 0, fast.explain()
    assert fast.stats()["native_calls"] == 2, fast.stats()


def test_big_arrays_go_on_in_a_graph_of_their_own() -> None:
    """Both branches would compute them, and nothing be fused across these."""
    fast = dynamo_lite.compile(goes_on, options=OPTIONS)
    fast(np.arange(1.0, 5000.0, dtype=np.float32), 0.5)
    assert fast.stats()["breaks"] == 1, fast.explain()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [goes_on, at_least, a_constant, counted])
def test_big_arrays_of_doubles_are_computed_once(fn: Any, backend: str) -> None:
    report = require_equal(
        fn,
        lambda: (np.arange(1.0, 5000.0), 0.5),
        variants=[lambda: (np.arange(-1.0, 5000.0), 0.5), lambda: (np.zeros(3), 0.5)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    assert report.compiled.stats()["breaks"] == 0, report.compiled.explain()
