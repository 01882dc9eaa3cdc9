"""Loops, and calls in them, whose locals one branch of an if does not assign: where such a one is read and not bound,
the loop declines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS


def next_number(x: int) -> tuple[float, int]:
    x = (2416 * x + 374441) % 1771875
    return x / 1771875, x


def drawn(x: int) -> tuple[Any, int]:
    r, x = next_number(x)
    if r != 0:
        found = -np.log(r)
    return found, x


def exponentials(x: int, n: int) -> list[Any]:
    numbers = []
    for _ in range(n):
        number, x = drawn(x)
        numbers.append(number)
    return numbers


def root_of(x: float, least: float) -> float:
    if x < least:
        root = math.sqrt(x + 1.0)
    elif x > 2.0 * least:
        root = x * 0.5
    return root


def roots(x: Any, out: Any, least: float) -> float:
    total = 0.0
    for i in range(len(x)):
        out[i] = root_of(float(x[i]), least)
        total += out[i]
    return total


def maybe(x: float, reads: bool) -> float:
    if x > 0.5:
        y = x * 3.0
    if reads and x > 0.25:
        return y
    return x


def maybes(x: Any, out: Any, reads: bool) -> None:
    for i in range(len(x)):
        out[i] = maybe(float(x[i]), reads)


def ways(fn: Any) -> list[str]:
    return [loop.outcome for loop in fn.explain().loops]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_on_one_way_alone(backend: str) -> None:
    fast = dynamo_lite.compile(exponentials, backend=backend, options=OPTIONS)
    for x in (12379, 7, 1):
        assert fast(x, 300) == exponentials(x, 300)
    assert ways(fast) == ["native"]
    assert fast.stats()["declines"] == 0


def error_of(function: Any, *args: Any) -> tuple[str, ...]:
    try:
        return "", repr(function(*args))
    except UnboundLocalError as error:
        lines, at = [], error.__traceback__
        while at is not None:
            if at.tb_frame.f_code.co_filename == __file__:
                lines.append(f"{at.tb_frame.f_code.co_name}:{at.tb_lineno}")
            at = at.tb_next
        return (str(error), *lines[1:])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", [None, 0, 1, 17, 39])
def test_the_exception_is_pythons(backend: str, odd: int | None) -> None:
    fast = dynamo_lite.compile(roots, backend=backend, options=OPTIONS)
    x = np.random.default_rng(0).random(40) * 0.4
    x[::3] += 2.0
    for at in (None, odd):
        if at is not None:
            x[at] = 0.7  # neither below 0.5 nor above 1.0
        plain, compiled = np.zeros(40), np.zeros(40)
        assert error_of(fast, x, compiled, 0.5) == error_of(roots, x, plain, 0.5)
        assert compiled.tobytes() == plain.tobytes()
    assert ways(fast) == ["native"]


@pytest.mark.parametrize("reads", [True, False])
def test_a_local_that_may_not_be_read(reads: bool) -> None:
    fast = dynamo_lite.compile(maybes, options=OPTIONS)
    x = np.random.default_rng(1).random(40)
    for low in (0.0, 0.6):
        plain, compiled = np.zeros(40), np.zeros(40)
        given = x * (1.0 - low) + low
        assert error_of(fast, given, compiled, reads) == error_of(maybes, given, plain, reads)
        assert compiled.tobytes() == plain.tobytes()


def of_two(x: float, y: float) -> float:
    if x > 0.1 and (y > 0.2 or x < 0.5):
        z = x + y
    return z


def sums_of_two(x: Any, out: Any, low: float) -> None:
    for i in range(len(x) - 1):
        out[i] = of_two(float(x[i]) + low, float(x[i + 1]) + low)


@pytest.mark.parametrize("backend", BACKENDS)
def test_conditions_of_several_parts(backend: str) -> None:
    fast = dynamo_lite.compile(sums_of_two, backend=backend, options=OPTIONS)
    x = np.random.default_rng(2).random(40)
    for low in (0.3, 0.05, 0.0):
        plain, compiled = np.zeros(40), np.zeros(40)
        assert error_of(fast, x, compiled, low) == error_of(sums_of_two, x, plain, low)
        assert compiled.tobytes() == plain.tobytes()


def of_inner(x: Any, low: float) -> float:
    for i in range(len(x)):
        if x[i] > low:
            found = float(x[i])
            break
    return found


def of_inner_loops(x: Any, out: Any, low: float) -> None:
    for i in range(len(x)):
        out[i] = of_inner(x[i], low)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("low", [0.2, 0.93])
def test_what_an_inner_loop_finds(backend: str, low: float) -> None:
    fast = dynamo_lite.compile(of_inner_loops, backend=backend, options=OPTIONS)
    x = np.random.default_rng(3).random((20, 30))
    for _ in range(2):
        plain, compiled = np.zeros(20), np.zeros(20)
        assert error_of(fast, x, compiled, low) == error_of(of_inner_loops, x, plain, low)
        assert compiled.tobytes() == plain.tobytes()


def walk(x: float, low: float, high: float) -> tuple[float, Any]:
    walks = True
    while walks:
        x = x + ((x * 7.3 + 0.31) % 1.0) - 0.45
        if x > high:
            walks, result = False, 1
        elif x < low:
            walks, result = False, 2
    return x, result


def first_above(x: Any, low: float) -> int:
    for i in range(len(x)):
        if x[i] > low:
            found = i
            break
    return found + 1


def last_above(x: Any, low: float) -> Any:
    for i in range(len(x)):
        if x[i] > low:
            found = x[i], i
    return found


def latest_above(x: Any, low: float) -> tuple[float, Any]:
    total, width = 0.0, 8
    for i in range(len(x) // width):
        for j in range(width):
            if x[i * width + j] > low:
                found = x[i * width + j]
        total += found * i
    return total, found


def not_deleted(x: Any, low: float) -> Any:
    found = 0
    for i in range(len(x)):
        if x[i] > low:
            found = i
        elif x[i] < low - 0.9:
            del found
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [first_above, last_above, latest_above, not_deleted])
def test_a_local_that_some_iterations_assign(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    x = np.random.default_rng(4).random(400)
    for low in (0.3, 0.5, 0.8, 0.99, 1.5):
        assert error_of(fast, x, low) == error_of(function, x, low)
    assert set(ways(fast)) == {"native"}
    assert fast.stats()["native_calls"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_local_that_the_last_iteration_assigns(backend: str) -> None:
    fast = dynamo_lite.compile(walk, backend=backend, options=OPTIONS)
    for high in (2.0, 3.0, 20.0):
        assert repr(fast(0.1, -2.0, high)) == repr(walk(0.1, -2.0, high))
    assert ways(fast) == ["native"]


def walk_of_states(value: Any, n: Any) -> int:
    state, states, time, end = 10, [10], 0, float("inf")
    while True:
        time += 1
        if time < end:
            following = state + 2 * np.random.binomial(1, 0.5) - 1
            states.append(following)
            if following in (0, 20):
                end = time
        at = time - n
        if at >= 0:
            total = 0.0
            for t in range(at + 1, min(end, at + n) + 1):
                total += t
            value[states[at]] += total
        if at == end - 1:
            break
        state = following
    return len(states)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_local_that_is_read_where_a_loop_is_left_in_an_iteration(kind: Any, backend: str) -> None:
    fast = dynamo_lite.compile(walk_of_states, backend=backend, options=OPTIONS)
    for seed in range(6):
        found = []
        for function in (walk_of_states, fast):
            np.random.seed(seed)
            value = np.zeros(21)
            found.append((function(value, kind(2 + seed % 3)), value.tobytes()))
        assert found[0] == found[1]


def maybe_found(x: Any, low: float, reads: bool) -> Any:
    for i in range(len(x)):
        if x[i] > low:
            found = i
    if reads:
        return found
    return None


def test_a_local_that_may_not_be_read_after_a_loop_keeps_it_from_being_native() -> None:
    """The loop would run again, plainly, in a call that goes on without the local."""
    fast = dynamo_lite.compile(maybe_found, options=OPTIONS)
    x = np.random.default_rng(5).random(40)
    for low, reads in ((0.5, True), (1.5, False), (1.5, True), (0.5, False)):
        assert error_of(fast, x, low, reads) == error_of(maybe_found, x, low, reads)
    assert fast.stats()["declines"] == 0
    assert "native" not in ways(fast)
