"""Choices and conditions in loops over single elements: run as machine code, with the bits of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import compared, registry, rng, vector
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def square(count: int, size: int) -> tuple[Any, ...]:
    return (rng(count).random((count + 2, count + 2)),)


@case(square)
def shortest_paths(path):  # type: ignore[no-untyped-def]
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if path[i, k] + path[k, j] < path[i, j]:
                    path[i, j] = path[i, k] + path[k, j]


@case(lambda count, size: (rng(count).random(count + 2),))
def bubble_sort(x):  # type: ignore[no-untyped-def]
    for _ in range(x.shape[0]):
        for j in range(x.shape[0] - 1):
            if x[j] > x[j + 1]:
                t = x[j]
                x[j] = x[j + 1]
                x[j + 1] = t


@case(lambda count, size: (rng(count).random(count + 2) - 0.5, np.zeros(count + 2)))
def three_ways(x, y):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        if x[i] > 0:
            y[i] = x[i]
        elif x[i] < -0.25:
            y[i] = x[i] / 8
        else:
            y[i] = 1.0


@case(lambda count, size: (rng(count).random(count + 2) + 1, np.zeros(count + 2)))
def square_roots(x, y):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        g = x[i]
        while abs(g * g - x[i]) > 1e-10:
            g = 0.5 * (g + x[i] / g)
        y[i] = g


@case(lambda count, size: (np.zeros(count + 3, np.int64),))
def collatz(out):  # type: ignore[no-untyped-def]
    for i in range(1, out.shape[0]):
        n = i
        c = 0
        while n != 1:
            if n % 2 == 0:  # noqa: SIM108
                n = n // 2
            else:
                n = 3 * n + 1
            c += 1
        out[i] = c


@case(lambda count, size: (rng(count).random(count + 3), 1e-3))
def relaxed_until(x, least):  # type: ignore[no-untyped-def]
    error = 1.0
    steps = 0
    while error > least:
        error = 0.0
        for i in range(1, x.shape[0] - 1):
            new = 0.5 * (x[i - 1] + x[i + 1])
            error += abs(new - x[i])
            x[i] = new
        steps += 1
    return steps


@case(vector)
def largest(x, n):  # type: ignore[no-untyped-def]
    best = x[0]
    for i in range(n):
        if x[i % 4] > best:
            best = x[i % 4]
    return best, best is x[0]


@pytest.mark.parametrize("name", CASES)
def test_choices(name: str) -> None:
    one = CASES[name]
    report = compared(one)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert machines_of(report.compiled), report.compiled.explain()


def test_a_number_that_is_the_same_by_either_way_is_compared() -> None:
    # `t = 0.0` in a loop that began with 0.0: which object it is stays open, its value does not.
    def reset(a: Any, n: int) -> Any:
        s, t = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                x = a[i, j]
                if x > 0.25:
                    t = t + x * 2
                if x < 0.75:
                    t = t - 0.5 * x
                if x * t > 3.0:
                    t = t * 0.5
                if s > t:
                    s = s * 0.999
                if t < -5.0:
                    t = 0.0
        return s, t

    a = np.linspace(-3.0, 3.0, 36).reshape(6, 6)
    fast = dynamo_lite.compile(reset, options={"cost_model": False})
    for n in (6, 0, 5):
        assert repr(fast(a, n)) == repr(reset(a, n))
