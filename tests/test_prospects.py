"""What has nothing to gain is known before the compiler is imported (dynamo_lite/prospects.py)."""

from __future__ import annotations

import bisect
import cmath
import math
import random
import time
import types
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest

from dynamo_lite import policy
from dynamo_lite.prospects import breaks_each_call, breaks_each_round
from dynamo_lite.pycode import decoded, loops
from dynamo_lite.watching import Watch


def transform(c: Any, n: int) -> None:
    for k in range(n):
        c[0] = c[0] + time.perf_counter() * k


def walk(n: int) -> float:
    x = 0.0
    while x < n:
        x += abs(random.gauss(0.0, 1.0))
    return x


def tossed(n: int) -> int:
    return sum_of(random.randint, n)


def sum_of(toss: Callable[[int, int], int], n: int) -> int:
    total = 0
    for _ in range(n):
        total += toss(0, 1)
    return total


def a_step(x: float) -> float:
    if x > 0.5:
        return x - random.uniform(0.0, 1.0)
    return x + random.uniform(0.0, 1.0)


def sometimes(x: float) -> float:
    if x > 0.5:
        return x - random.uniform(0.0, 1.0)
    return x + 0.1


def calls_a_step(n: int) -> float:
    x = 0.0
    for _ in range(n):
        x = drawn(x)
    return x


def drawn(x: float) -> float:
    return x + random.gauss(0.0, 1.0)


def reports(n: int) -> float:
    x = 0.0
    for i in range(n):
        x += sqrt(i) * math.sin(x)
        if i % 100 == 0:
            random.random()
    return x


def arrays(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sqrt(x) + np.random.random()
    return x


def turned(z: complex, n: int) -> Any:
    for _ in range(n):
        z = z * cmath.exp(1j * random.uniform(0.0, 1.0))
    return z, random.choice([1, 2])


def found(items: list[float], n: int) -> int:
    total = 0
    for i in range(n):
        total += bisect.bisect(items, i)
    return total


def skips(n: int) -> float:
    x = 0.0
    for i in range(n):
        if i % 2:
            continue
        x += random.gauss(0.0, 1.0)
    return x


@pytest.mark.parametrize(
    ("function", "breaks"),
    [
        *[(transform, True), (walk, True), (found, True), (calls_a_step, True)],
        *[(sum_of, False), (reports, False), (arrays, False), (skips, False), (turned, False)],
    ],
)
def test_rounds_that_are_certain_to_break(function: types.FunctionType, breaks: bool) -> None:
    code = decoded(function.__code__)
    assert [breaks_each_round(code, loop, function.__globals__) for loop in loops(code)] == [breaks]


@pytest.mark.parametrize(
    ("function", "breaks"),
    [(drawn, True), (sometimes, False), (sum_of, False), (transform, False), (arrays, False)],
)
def test_calls_that_are_certain_to_break(function: types.FunctionType, breaks: bool) -> None:
    assert breaks_each_call(decoded(function.__code__), function.__globals__) == breaks


def test_looking_runs_no_code_of_the_users() -> None:
    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            raise AssertionError

    class Strange:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError

    code = decoded(transform.__code__)
    for names in ({}, Names(), {"time": Strange()}, {"time": types.ModuleType("time")}):
        assert not any(breaks_each_round(code, loop, names) for loop in loops(code))


@pytest.mark.parametrize(("pays", "asks"), [(1e-3, False), (0.0, True)])
def test_a_loop_without_prospects_does_not_ask_for_the_compiler(pays: float, asks: bool) -> None:
    limits = policy.Thresholds(hot_function=0.001, hot_loop=0.001, look=1e-5, break_pays=pays, budget_share=0.0)
    watch = Watch(limits)
    ready: Any = types.FunctionType(watch.watched(walk.__code__), globals())
    again: Any = types.FunctionType(watch.watched(drawn.__code__), globals())
    began = time.process_time()
    try:
        while time.process_time() < began + 0.3 and not watch.put_off:
            ready(1000)
            again(1.0)
    finally:
        watch.end()
    assert (watch.put_off > 0) == asks
    assert watch.compilation is None
