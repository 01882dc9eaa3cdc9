"""Branches on data that do nothing but raise: the program goes the other way, and plain Python raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPTIONS = {"cost_model": False, "check": 1}
X = np.linspace(-1.0, 1.0, 20)


def checked(x: Any, low: float) -> Any:
    if np.any(x < low):
        raise ValueError(f"{x.min()} is below {low}")
    return np.sqrt(x - low)


def asserted(x: Any, low: float) -> Any:
    if not (x >= low).all():  # pytest writes its own `assert`
        raise AssertionError("too small")
    if np.isnan(x).any():
        raise AssertionError
    return x * 2.0 + low


def else_raises(x: Any, low: float) -> Any:
    if x.min() >= low:
        y = x * 2.0
    else:
        message = "too small: " + str(low)
        raise KeyError(message, low)
    return y + 1.0


def two_reasons(x: Any, low: float) -> Any:
    total = x.sum()
    if total == 1e9 or x[0] < low:
        raise OverflowError
    return x - total


def of_sizes(x: Any, low: float) -> Any:
    values = np.unique(x)
    if len(values) != len(x):
        raise ValueError("twice")
    if x[x < low].size:
        raise ValueError("too small")
    return values + low


def after_a_store(x: Any, low: float) -> Any:
    x *= 2.0
    if x[0] < 2.0 * low:
        raise ValueError("too small")
    x += 1.0
    return x


def helper(x: Any, low: float) -> Any:
    if not np.isfinite(x).all():
        raise ValueError("not finite")
    return x.clip(low, None)


def in_a_callee(x: Any, low: float) -> Any:
    y = helper(x, low)
    return checked(x, low) + helper(y, low)


def of_numpy(x: Any, low: float) -> Any:
    return np.average(x, weights=np.abs(x) * (x >= low))


def handled(x: Any, low: float) -> Any:
    y = x * 2.0
    try:
        if np.any(x < low):
            raise ValueError("too small")
        return y + 1.0
    except ValueError:
        return y


def in_a_loop(x: Any, low: float) -> Any:
    t = 0.0
    for i in range(len(x)):
        if x[i] < low:
            raise ValueError("too small")
        t += x[i]
    return t


STRAIGHT = [checked, asserted, else_raises, two_reasons, of_sizes, after_a_store, in_a_callee, of_numpy]


@pytest.mark.parametrize("low", [-2.0, 2.0])
@pytest.mark.parametrize("x", [X, X[::-2], np.array([0.5, np.nan]), np.array([0.5, 0.5])], ids=len)
@pytest.mark.parametrize("function", [*STRAIGHT, handled, in_a_loop])
def test_same_values_and_errors(function: Any, x: Any, low: float, backend: str) -> None:
    require_equal(
        function,
        lambda: [x.copy(), low],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


@pytest.mark.parametrize("function", STRAIGHT)
@pytest.mark.usefixtures("no_mode")
def test_one_graph(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for _ in range(3):
        fast(X.copy(), -2.0)
    assert not fast.explain().breaks and fast.stats()["native_calls"] == 3


@pytest.mark.usefixtures("no_mode")
def test_what_raises_at_each_call_is_left_plain(backend: str) -> None:
    fast = dynamo_lite.compile(checked, backend=backend, options=OPTIONS)
    for _ in range(40):
        with pytest.raises(ValueError, match="is below"):
            fast(X, 0.0)
    assert fast.stats()["declines"] < 40


@pytest.mark.parametrize("rows", [[], [X], [X, X[:3]]], ids=len)
def test_any_and_all_of_what_capture_knows(rows: list[Any], backend: str) -> None:
    def program(x: Any, rows: Any) -> Any:
        if not all(len(row) == len(x) for row in rows) or any(row.ndim > 1 for row in rows):
            return x * 2.0, any([]), all(())
        return x + sum(rows), any(n > 3 for n in x.shape), all([x.ndim, len(x)])

    require_equal(
        program,
        lambda: [X.copy(), list(rows)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
