"""np.arange of floats that only the call knows, of NumPy integers, and of what is one or the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import BACKENDS
from tests.oracle import require_equal

OPTIONS = {"check": 1, "cost_model": False}
LENGTHS: list[tuple[Any, Any, Any]] = [
    *((0, 1.0, 0.1), (0, 1, 0.1), (-1, 2.5, 0.5), (2.0, 1, 0.1), (0.5, 0.5, 0.1), (1.0, -1, -0.3), (5, 0.0, -1)),
    *((0, 1.0, 0.25), (0, 1e3, 0.125), (1, 2, 1e9), (0.0, 1.0, float("inf")), (0.0, float("nan"), 0.1)),
    *((0.0, 1.0, 0.0), (0.0, 5e-324, 1e300), (0.0, 1e300, 1e-300), (-1e-3, 1e-3, 1e-4), (3.0, 9007199254740993, 1e15)),
    *((np.float64(0.0), 1.0, np.float64(0.1)), (0.0, 1e-310, 1.0), (0.0, -1e-310, 1.0), (1.7e308, 1.75e308, 1e308)),
]


def steps(x: Any, start: Any, stop: Any, step: Any) -> Any:
    times = np.arange(start, stop, step)
    return times, times * x[0], len(times)


def times_that_are_met(x: Any, start: Any, stop: Any, step: Any) -> Any:
    met = 0
    for i in range(40):
        if i in np.arange(start, stop, step):
            met += i
        x[i % 3] += met
    return met, x


@pytest.mark.parametrize("fn", [steps, times_that_are_met])
@pytest.mark.parametrize("backend", BACKENDS)
def test_floats(backend: str, fn: Any) -> None:
    def arguments(bounds: tuple[Any, Any, Any]) -> Any:
        return lambda: (np.array([1.5, 0.5, 3.0]), *bounds)

    with np.errstate(all="ignore"):
        require_equal(
            fn,
            arguments(LENGTHS[0]),
            variants=list(map(arguments, LENGTHS[1:])),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


def test_other_lengths_are_one_program() -> None:
    fast = dynamo_lite.compile(steps, options=OPTIONS)
    for count in range(2, 40):
        times, *_ = fast(np.ones(3), 0.0, 0.1 * count - 0.05, 0.1)
        assert len(times) == count
    if not _C.get_stress():
        assert fast.stats()["compiles"] == 1


def walking(x: Any, n: int) -> Any:
    at, seen = 5, np.zeros(20)
    for i in range(n):
        seen[at] += x[i % 3]
        at = np.random.choice(np.arange(at + 1, at + 4, 1))
        if at > 15:
            at = 5
    return at, seen


def walking_both_ways(x: Any, n: int) -> Any:
    at, seen, done = 10, np.zeros(30), False
    while not done:
        seen[at] += x[n % 3]
        if np.random.random() > 0.5:
            at = np.random.choice(np.arange(at + 1, at + n % 7 + 2, 1))
        else:
            at = np.random.choice(np.arange(at - 1, at - 4, -1))
        if at > 20:
            at, done = 21, True
        elif at < 4:
            at, done = 0, True
    return at, seen


def drawing(x: Any, n: int) -> Any:
    at, total = 3, 0.0
    for i in range(n):
        at = 3 if i % 5 == 0 else np.argmax(x)
        drawn = np.random.randint(at, at + 4)
        total += drawn * x[drawn % 3]
    return at, total


def beyond(x: Any, n: int) -> Any:
    """The second sum does not fit: NumPy's wraps around, and it says so."""
    at, total = np.int64(2**63 - 60), 0
    for i in range(n):
        total += np.arange(at + i, at + i + 10).sum() % 7
    return total


@pytest.mark.parametrize("fn", [walking, walking_both_ways, drawing, beyond])
@pytest.mark.parametrize("backend", BACKENDS)
def test_numpy_integers(backend: str, fn: Any) -> None:
    def seeded(x: Any, n: int) -> Any:
        np.random.seed(n)
        return fn(x, n), np.random.random()

    require_equal(
        seeded,
        lambda: (np.array([1.5, 0.5, 3.0]), 30),
        variants=[lambda n=n: (np.array([1.5, 0.5, 3.0]), n) for n in (31, 80, 3)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


@pytest.mark.skipif(bool(_C.get_stress()), reason="counts programs")
@pytest.mark.parametrize("fn", [walking, walking_both_ways, drawing])
def test_such_loops_are_native(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for _ in range(2):
        fast(np.array([1.5, 0.5, 3.0]), 30)
    assert {one.outcome for one in fast._compilation.loops.values()} == {"native"}  # type: ignore[attr-defined]
    assert fast.stats()["declines"] == 0
