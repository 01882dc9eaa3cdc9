"""Lists that a loop appends to and reads by indices that grow with them: ``x.append(f(x[i]))``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.random_growing import Program, outcome


def oscillator(n: int, u: Any) -> Any:
    t, x, v = [0], [1.0], [0]
    for i in range(1, n + 1):
        v.append(v[i - 1] - 0.01 * x[i - 1])
        x.append(x[i - 1] + v[i - 1] * 0.01)
        t.append(t[i - 1] + 0.01)
    return t, x, v


def driven(n: int, u: Any) -> Any:
    x = [1.0]
    for i in range(n):
        x.append(x[i] * 0.5 + u[i])
    return (x,)


def of_arrays(n: int, u: Any) -> Any:
    x = [np.zeros(3)]
    for i in range(n):
        x.append(x[i] * 0.5 + u[i])
    return (x,)


def of_numpy_numbers(n: int, u: Any) -> Any:
    x = [np.float64(0.5)]
    for i in range(n):
        x.append(x[i] * 3.5 * (1 - x[i]))
    return (x,)


def two_back(n: int, u: Any) -> Any:
    x = [np.array([1.0, 0.0]), np.array([0.99, 0.1])]
    for i in range(1, n + 1):
        x.append(2 * x[i] - x[i - 1] - 0.01 * x[i])
    return (x,)


def two_back_from_the_end(n: int, u: Any) -> Any:
    x = [np.float64(1.0), np.float64(0.99)]
    for _ in range(n):
        x.append(2 * x[-1] - x[-2] - 0.01 * x[-1])
    return (x,)


def fibonacci(n: int, u: Any) -> Any:
    f = [0, 1]
    for i in range(2, n + 2):
        f.append((f[i - 1] + f[i - 2]) % 10007)
    return (f,)


NATIVE = [oscillator, driven, of_arrays, of_numpy_numbers, two_back, two_back_from_the_end, fibonacci]


@pytest.mark.parametrize("program", NATIVE)
def test_they_stay_loops(program: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(program)
    for n in (20, 0, 1, 2, 3, 50, 300):
        assert outcome(fast, n) == outcome(program, n)
    explanation = dynamo_lite.explain(program)(40, np.zeros(60))
    assert not explanation.breaks


def reads_backwards(n: int, u: Any) -> Any:
    x, s = [1.0, 2.0, 3.0], []
    for i in range(2, -1, -1):
        s.append(x[i] + n)
    return x, s


def appends_in_some(n: int, u: Any) -> Any:
    x = [1.0]
    for i in range(n):
        if u[i] < 0.6:
            x.append(x[i] * 0.5)
    return (x,)


def index_runs_ahead(n: int, u: Any) -> Any:
    x = [np.zeros(2)]
    for i in range(0, 2 * n, 2):
        x.append(x[i] + 1.0)
    return (x,)


def appends_twice(n: int, u: Any) -> Any:
    x = [np.zeros(2)]
    for i in range(n):
        x.append(x[i] + 1.0)
        x.append(x[i] + x[i + 1])
    return (x,)


def alias(n: int, u: Any) -> Any:
    x = [np.zeros(2)]
    y = x
    for i in range(n):
        y.append(x[i])
        x[i][0] += 1.0
    return x, y


def shortened(n: int, u: Any) -> Any:
    x = [np.zeros(2), np.ones(2)]
    for i in range(n):
        x.append(x[i] + x[i + 1])
        if i == 5:
            x.pop()
    return (x,)


@pytest.mark.parametrize(
    "program", [reads_backwards, appends_in_some, index_runs_ahead, appends_twice, alias, shortened]
)
def test_others_are_as_plainly(program: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(program)
    for n in (3, 20, 0, 1, 2, 40, 20):
        assert outcome(fast, n) == outcome(program, n)


@pytest.mark.parametrize("seed", range(budget("GROWING_PROGRAMS", 80)))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    plain = program.function()
    fast = dynamo_lite.compile(program.function())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in (12, 0, 1, 2, 5, 12, 30):
            assert outcome(fast, n) == outcome(plain, n), program.text
