"""Long loops that are left for what plain Python has to do in some iterations: their bodies are compiled once for each
kind of what comes in, not once for each place where they are left or come back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.policy import LONG

SEEN: list[Any] = []


@dynamo_lite.disable
def note(*given: Any) -> None:
    SEEN.append(given)


def step(a: Any, b: Any) -> Any:
    for _ in range(6):
        a = a + 0.01 * (np.roll(a, 1, 0) + np.roll(a, -1, 0) - 2 * a) - 0.001 * a * b * b
        b = b + 0.02 * (np.roll(b, 1, 1) + np.roll(b, -1, 1) - 2 * b) + 0.001 * a * b * b
    return a, b


def for_loop(a: Any, b: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        a, b = step(a, b)
        if i % 5 == 0:
            note(i, a.sum())
        mean = a.mean()
        if mean > 0.502:
            note("much", mean)
        if i % 7 == 3:
            note(i, b[0, 0])
            total += 1.0
        total += mean
    return a, b, total


def while_loop(a: Any, b: Any, n: int) -> Any:
    t, dt, shown = 0.0, 0.25, 0
    while t < n:
        a, b = step(a, b)
        dt = 0.5 / (1.0 + float(a.max()))
        shows = False
        if t + dt > shown:
            dt = shown - t + 0.125
            shows = True
        a, b = step(a, b)
        t += dt
        if shows:
            note(t, a[0])
            shown += 1
        if a.min() < 0.001:
            note("little", t)
    return a, b, t


def nested(a: Any, b: Any, n: int) -> Any:
    for k in range(3):
        for i in range(n):
            a, b = step(a, b)
            if i == k:
                note(k, i, a[1])
            if i + k == 9:
                note("nine", k)
        b = b - 0.01 * k
    return a, b


def bits(value: Any) -> Any:
    """Types and bits, as what can be compared."""
    if isinstance(value, tuple | list):
        return type(value), [bits(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, getattr(value, "strides", ()), value.tobytes()
    return type(value), repr(value)


@pytest.mark.parametrize("function", [for_loop, while_loop, nested])
def test_a_long_body_is_compiled_twice_at_most(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random((12, 9)), rng.random((12, 9))
    SEEN.clear()
    expected, plainly = bits(function(a, b, 30)), bits(SEEN)
    fast = dynamo_lite.compile(function)
    for _ in range(2):
        SEEN.clear()
        assert bits(fast(a, b, 30)) == expected and bits(SEEN) == plainly
    long = [graph for graph in fast.explain().graphs if graph.operations >= LONG]
    assert 1 <= len(long) <= 2
