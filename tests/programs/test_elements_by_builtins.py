"""Builtins that go over an array: any, all, max, min, list and tuple, with the type and the value that Python's own
walk gives; and tolist()."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS

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


def lists_of_states(x: Array, n: int) -> Any:
    kept = []
    for i in range(n):
        x = x + i % 3
        kept.append(list(x))
        kept.append(list(x[::-1]))
    return kept


def tuples_of_states(x: Array, n: int) -> Any:
    kept, seen = [], 0
    for _ in range(n):
        x = x * 2
        seen += len(tuple(x))
        kept.append(tuple(x[:3]))
    return kept, seen


def numbers_of_states(x: Array, n: int) -> Any:
    kept, last = [], None
    for _ in range(n):
        x = x - 1
        kept.append(x.tolist())
        a, b, c = x[:3].tolist()
        last = [c, b, a]
    return kept, last


def unpacked_states(x: Array, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        x = x * 0.5
        a, b, c = list(x[-3:])
        total = total + a * b - c
    return total


def rows_of_states(x: Array, n: int) -> Any:
    kept = []
    for i in range(n):
        y = np.outer(x, x + i)
        kept.append(list(y[0]))
        kept.append(y[:, 1].tolist())
    return kept


STATES: dict[str, Any] = {
    **LINES,
    "three": np.array([1.5, -0.0, NAN]),
    "three integers": np.array([7, -3, 0]),
    "three small integers": np.array([7, -3, 0], np.int8),
    "three floats of 32 bits": np.array([0.1, -0.0, np.inf], np.float32),
    "three bools": np.array([True, False, True]),
    "eight": np.linspace(-1.0, 2.0, 8),
    "nine": np.linspace(-1.0, 2.0, 9),
    "complex": np.array([1j, -2.0, 0.5]),
    "strings": np.array(["a", "b", "c"]),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [lists_of_states, tuples_of_states, numbers_of_states, unpacked_states, rows_of_states])
def test_items_in_loops(fn: Any, backend: str) -> None:
    """list(x), tuple(x) and x.tolist() of what an iteration makes."""
    given = list(STATES.values())
    for first in ("three", "floats", "integers"):
        require_equal(
            fn,
            lambda first=first: (STATES[first].copy(), 6),
            variants=[lambda x=x, n=n: (x.copy(), n) for x in given for n in (0, 5)],
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": {"cost_model": False}},
            calls=2,
        )


@pytest.mark.parametrize("fn", [lists_of_states, tuples_of_states, numbers_of_states, unpacked_states])
def test_items_in_loops_are_native(fn: Any) -> None:
    if _C.get_stress():
        return
    compiled = dynamo_lite.compile(fn, options={"cost_model": False})
    x = np.array([2.5, -0.0, 1e300])
    assert repr(compiled(x, 20)) == repr(fn(x, 20))
    found = {loop.outcome for loop in compiled.explain().loops}  # the inner ones have three iterations
    assert "native" in found <= {"native", "unrolled"}, compiled.explain()
    assert compiled.stats()["declines"] == 0


def test_lengths_of_states_are_guarded() -> None:
    compiled = dynamo_lite.compile(tuples_of_states, options={"cost_model": False})
    for size in (3, 4, 3, 5, 12, 2):
        x = np.linspace(1.0, 2.0, size)
        assert repr(compiled(x, 7)) == repr(tuples_of_states(x, 7))
