"""Loops that store to variables which inner functions share, comprehensions up to CPython 3.11 among these: what nobody
reads is not carried, and what a function that lives on has is."""
# ruff: noqa: B023, E731

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite

Program = Callable[[Any, int], Any]


def picks_one_of_the_best(q: Any, n: int) -> Any:
    """As agents do that learn by trial; the row is a view of what is stored to."""
    total = 0
    for t in range(n):
        row = q[t % 5, :]
        action = np.random.choice([i for i, value in enumerate(row) if value == np.max(row)])
        q[t % 5, action] -= 0.5
        total += action
    return total


def assigns_on_one_way_first(q: Any, n: int) -> Any:
    total = 0
    for t in range(n):
        if np.random.rand() < 0.3:
            action = t % 3
        else:
            row = q[t % 5, :]
            action = len([i for i, value in enumerate(row) if value == np.max(row)]) - 1
        row = q[action, :]
        total += len([value for value in row if value > row[0]])
        q[t % 5, action] -= 0.5
    return total


def functions_live_on_in_a_list(q: Any, n: int) -> Any:
    made = []
    for i in range(n):
        value = q[i % 5, 0] * 2.0
        made.append(lambda: value)
    return [one() for one in made]


def a_function_lives_on(q: Any, n: int) -> Any:
    total, last = 0.0, None
    for i in range(n):
        value = q[i % 5, 0] * 2.0
        total += sum(value * other for other in q[0])
        last = lambda: value
    return total, last and last()


def a_function_from_before(q: Any, n: int) -> Any:
    total, value = 0.0, 1.0
    read = lambda: value
    for i in range(n):
        value = q[i % 5, 0] * 2.0 + value * 0.1
        total += read()
    return total, value


def a_generator_lives_on(q: Any, n: int) -> Any:
    total, left = 0.0, iter([])
    for i in range(n):
        value = q[i % 5, 0]
        for one in left:
            total += one
        left = (value * other for other in q[0])
    return total


def a_zip_has_the_generator(q: Any, n: int) -> Any:
    total, left = 0.0, zip([], [], strict=True)
    for i in range(n):
        for one, other in left:
            total += one * other
        value = q[i % 5, 1]
        left = zip((value * one for one in q[0]), q[1], strict=True)
    return total


def reads_what_the_iteration_before_left(q: Any, n: int) -> Any:
    value, total = None, 0.0
    for i in range(n):
        if value is not None:
            total += max(value * other for other in q[0])
        value = q[i % 5, 1]
    return total, value


def is_read_behind_the_loop(q: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        value = q[i % 5, 1]
        total += any(value > other for other in q[0])
        if total > 30:
            break
    return total, [value * other for other in q[0]] if n else None


def an_exception_comes_between(q: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        try:
            value = q[i, 0]
            total += sum(value * other for other in q[0])
        except IndexError:
            return total + 100 * value
    return total


def a_function_counts(q: Any, n: int) -> Any:
    def count() -> int:
        nonlocal calls
        calls += 1
        return calls

    calls, total = 0, 0.0
    for _ in range(n):
        total += q[count() % 5, 0]
    return total, calls


def a_callee_has_cells(q: Any, n: int) -> Any:
    def best(row: Any, least: float) -> Any:
        limit = np.max(row) if row[0] > least else row[1]
        return sum([1 for value in row if value >= limit])

    total = 0
    for i in range(n):
        total += best(q[i % 5], 0.4)
        q[i % 5, total % 3] += 0.25
    return total


PROGRAMS: list[Program] = [
    picks_one_of_the_best,
    assigns_on_one_way_first,
    functions_live_on_in_a_list,
    a_function_lives_on,
    a_function_from_before,
    a_generator_lives_on,
    a_zip_has_the_generator,
    reads_what_the_iteration_before_left,
    is_read_behind_the_loop,
    an_exception_comes_between,
    a_function_counts,
    a_callee_has_cells,
]


def outcome(function: Program, n: int) -> str:
    """What a call gives, what it leaves in the array, and which number is drawn next."""
    np.random.seed(n)
    q = np.arange(15.0).reshape(5, 3) * 7 % 11 / 10
    return repr((function(q, n), q, np.random.rand()))


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_what_the_functions_find(function: Program, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options={"cost_model": False, "check": 1})
    for n in (40, 41, 7, 2, 1, 0, 40):
        assert outcome(function, n) == outcome(fast, n)


@pytest.mark.parametrize("function", [picks_one_of_the_best, assigns_on_one_way_first, a_callee_has_cells])
def test_the_loop_is_native(function: Program) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(2):
        before = fast.stats()
        outcome(fast, 400)
        now = fast.stats()
    assert now["native_calls"] - before["native_calls"] == 1
    assert now["declines"] == before["declines"] and now["breaks"] == before["breaks"]
