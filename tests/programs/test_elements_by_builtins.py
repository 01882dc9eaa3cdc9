"""Builtins that go over an array: any, all, max and min, with the type and the value that Python's own walk gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite

Array = Any
NAN, ZEROS = float("nan"), (0.0, -0.0)
LINES: dict[str, Any] = {
    "floats": np.linspace(-1.0, 2.0, 50),
    "a NaN inside": np.array([1.0, NAN, 3.0, 2.0]),
    "a NaN first": np.array([NAN, 1.0, 3.0]),
    "only NaNs": np.array([NAN, NAN]),
    "zero, then minus zero": np.array([-1.0, *ZEROS]),
    "minus zero, then zero": np.array([1.0, *ZEROS[::-1]]),
    "infinities": np.array([-np.inf, 1.0, np.inf]),
    "floats of 32 bits": np.linspace(1.0, 2.0, 9, dtype=np.float32),
    "integers": np.arange(-5, 6),
    "unsigned": np.arange(3, dtype=np.uint8),
    "bools": np.array([False, True, False]),
    "no true one": np.zeros(40),
    "every second": np.arange(20.0)[::2],
    "one": np.array([4.0]),
}


def truths(x: Array) -> tuple[bool, bool]:
    return any(x), all(x)


def extremes(x: Array) -> tuple[Any, Any]:
    return max(x), min(x)


def branches(x: Array, limit: float) -> Array:
    y = x + 1.0
    if any(x > limit):
        y = y * 2.0
    return y


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("fn", (truths, extremes))
def test_builtins(fn: Any, name: str) -> None:
    compiled = dynamo_lite.compile(fn, options={"cost_model": False})
    for _ in range(3):
        got, wanted = compiled(LINES[name]), fn(LINES[name])
        assert [type(one) for one in got] == [type(one) for one in wanted]
        assert [np.asarray(one).tobytes() for one in got] == [np.asarray(one).tobytes() for one in wanted]
    assert not compiled.explain().breaks


def test_no_elements() -> None:
    compiled = dynamo_lite.compile(truths, options={"cost_model": False})
    for x in (np.ones(5), np.ones(0), np.zeros(0)):
        assert compiled(x) == truths(x)
    largest = dynamo_lite.compile(extremes, options={"cost_model": False})
    largest(np.ones(5))
    with pytest.raises(ValueError, match=r"empty|arg is an empty"):
        largest(np.ones(0))


def test_a_branch() -> None:
    compiled = dynamo_lite.compile(branches, options={"cost_model": False})
    x = np.linspace(0.0, 1.0, 100)
    for limit in (0.5, 2.0, 0.5):
        np.testing.assert_array_equal(compiled(x, limit), branches(x, limit))
