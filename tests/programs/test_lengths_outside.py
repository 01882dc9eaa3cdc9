"""The length of a list from outside, asked for in the loop that makes it longer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_loop_conditions_of_parts import is_native


def until(xs: Any, ys: Any, n: int) -> Any:
    t = 0.0
    while True:
        t += 0.25
        xs.append(t)
        if len(xs) >= n:
            break
    return t


def some(xs: Any, ys: Any, n: int) -> Any:
    longest = 0
    for i in range(n):
        if i % 3:
            xs.append(i * 0.5)
            longest = max(longest, len(xs) - i)
        else:
            xs.append(float(len(xs)) if i else 0.5)
    return longest


def two(xs: Any, ys: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        xs.append(i)
        if len(xs) % 2:
            ys.append(total)
            total += len(ys)
    return total, len(xs)


def declines(xs: Any, ys: Any, n: int) -> Any:
    k = 1
    for _ in range(n):
        xs.append(k)
        k = k * 5 + len(xs)
    return k


def raises(xs: Any, ys: Any, n: int) -> Any:
    for i in range(n):
        xs.append(i)
        if len(xs) > 30:
            raise ValueError(len(xs))
    return len(xs)


FUNCTIONS = [until, some, two, declines, raises]


def lists(length: int, alias: bool, n: int) -> Any:
    xs = [0.5] * length
    return xs, xs if alias else [], n


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_lengths_of_what_grows(function: Any, backend: str) -> None:
    for length, alias, n in [(0, False, 12), (3, False, 40), (3, True, 9), (1, False, 0), (29, True, 40)]:
        arguments = copies_of(*lists(length, alias, n))
        options = {"backend": backend, "options": OPTIONS}
        require_equal(function, arguments, compile=dynamo_lite.compile, compile_options=options)


@pytest.mark.parametrize("function", [until, some, two])
def test_their_loops_are_native(function: Any) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast([], [], 20)
    assert is_native(fast), fast.explain()


def first_of_another_type(n: int) -> Any:
    t, count, ts = 0.0, 10, [0.0]
    while len(ts) < n:
        t += -np.log(np.random.rand())
        count += 1 if np.random.rand() < 0.6 else -1
        ts.append(t)
    return ts, count


def test_behind_an_iteration_that_runs_by_itself() -> None:
    fast = dynamo_lite.compile(first_of_another_type)
    for n in (30, 1, 2, 50):
        found = []
        for one in (first_of_another_type, fast):
            np.random.seed(n)
            found.append(one(n))
        assert repr(found[0]) == repr(found[1])
        assert [*map(type, found[0][0])] == [*map(type, found[1][0])]
    assert "native" in {loop.outcome for loop in fast._compilation.loops.values()}
