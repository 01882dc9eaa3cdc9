"""Loops that are left to other places than their end: return, else, raise, and what breaks a graph on the way out."""

# ruff: noqa: B007 (what a loop leaves in its variable, and how it is left, are what is tested)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import random_loops
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, rng
from tests.programs.random_lists import function
from tests.programs.random_ways import with_ways

Program = Any


def returns(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        y = x * 0.5 + 1.0
        if np.abs(y - x).max() < tol:
            return y, i
        x = y
    return x, -1


def returns_an_index(x: Any, n: int, tol: float) -> Any:
    for i in range(len(x)):
        if x[i] < tol:
            return i
    return -1


def returns_nothing(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        x *= 0.5
        if x.sum() < tol:
            return
    x += 1.0


def has_else(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        y = x * 0.5
        if y.sum() < tol:
            break
        x = y
    else:
        x = x * 0 - 1.0
        y = x
    return x, y


def while_has_else(x: Any, n: int, tol: float) -> Any:
    i = 0
    while i < n:
        x = x * 0.5
        if x.sum() < tol:
            break
        i += 1
    else:
        return x, "all of them"
    return x, i


def raises(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        x = x * 2.0
        if x.max() > 1.0 / tol:
            raise ValueError(f"diverged after {i + 1}")
    return x


def prints(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        y = x * 0.5 + 1.0
        if np.abs(y - x).max() < tol:
            print("converged", i)
            break
        x = y
    return x


def prints_and_goes_on_behind(x: Any, n: int, tol: float) -> Any:
    steps = 0
    while True:
        x = x * 0.5
        steps += 1
        if x.sum() < tol:
            print("small", steps)
            break
        if steps >= n:
            print("long", steps)
            x = x + 1.0
            break
    return x * 2, steps


def three_ways(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        x = x * 0.5
        if x.sum() < tol:
            return "small", x
        if x[0] > 4.0:
            return "large", i, x * 2
        if i == 7:
            z = x + i
            break
    else:
        return "end"
    return "seventh", z, i


def from_an_inner_loop(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        for j in range(x.shape[0]):
            x[j] = x[j] * 0.5
            if x[j] < tol:
                return i, j, x
    return x


def inner_else(x: Any, n: int, tol: float) -> Any:
    found = 0
    for i in range(n):
        for j in range(x.shape[0]):
            if x[j] * i > tol * 8:
                break
        else:
            found += 1
            x = x + 0.125
    return found, x


def primes(x: Any, n: int, tol: float) -> Any:
    count = 0
    for i in range(2, n * 4):
        for j in range(2, i):
            if i % j == 0:
                break
        else:
            count += 1
    return count, x + count


def search(x: Any, value: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > value:
            return i
    return -1


def calls(x: Any, n: int, tol: float) -> Any:
    total = 0
    for i in range(n):
        total += search(x, tol * i)
    return total, x


def calls_once(x: Any, n: int, tol: float) -> Any:
    y = x * 2
    at = search(y, tol)
    return y * at


def over_rows(x: Any, n: int, tol: float) -> Any:
    m = np.outer(x, x) * n
    for k, row in enumerate(m):
        if row.sum() < tol:
            return k, row
        last = row
    return m, last


def appends(x: Any, n: int, tol: float) -> Any:
    out = []
    for i in range(n):
        x = x * 0.5
        out.append(x)
        if x.sum() < tol:
            return out
    return out, x


def unbound_on_one_way(x: Any, n: int, tol: float) -> Any:
    for i in range(n):
        if x.sum() < tol:
            return late  # noqa: F821
        late = x
        x = x * 0.5
    return late


def with_a_handler(x: Any, n: int, tol: float) -> Any:
    i = 0
    while i < n:
        try:
            x = x * 0.5
        except IndexError as error:
            print(error)
        i += 1
        if x.sum() < tol:
            return i
    return x


def in_a_helper_with_state(x: Any, n: int, tol: float) -> Any:
    lo, hi = 0.0, 64.0
    for _ in range(n):
        mid = (lo + hi) / 2
        value = (x * mid).sum()
        if abs(value - tol * 32) < 1e-3:
            return mid, value
        if value < tol * 32:
            lo = mid
        else:
            hi = mid
    raise RuntimeError("no root")


PROGRAMS = [
    *(returns, returns_an_index, returns_nothing, has_else, while_has_else, raises, prints, prints_and_goes_on_behind),
    *(three_ways, from_an_inner_loop, inner_else, primes, calls, calls_once, over_rows, appends, unbound_on_one_way),
    *(with_a_handler, in_a_helper_with_state),
]


def case(n: int, tol: float, size: int = 6) -> Any:
    return lambda: [rng(size).random(size) + 0.25, n, tol]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", PROGRAMS)
def test_program(fn: Program, backend: str) -> None:
    """Left at once, early, at the last iteration, never; without an iteration."""
    variants = [case(n, tol, size) for size in (6, 9) for n in (40, 3, 1, 0) for tol in (0.3, 1e-3, 0.0, 3.0, 50.0)]
    report = require_equal(
        fn,
        case(12, 0.1),
        variants=variants,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=1,
    )
    segments = report.compiled._compilation.segments
    segmented = fn in (calls_once, unbound_on_one_way)  # the loop of one stands in another function
    assert segmented or any(loops_in(segment.capture.graph) for segment in segments), report.compiled.explain()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("WAYS_FUZZ", 20), 10))
def test_random_ways(start: int, backend: str) -> None:
    kept = 0
    for seed in range(start, start + 10):
        text = with_ways(random_loops.source(seed, True), seed)
        try:
            report = require_equal(
                function(text),
                lambda s=seed: random_loops.arguments(s, 3),  # type: ignore[misc]
                variants=[lambda n=n, s=seed: random_loops.arguments(s, n) for n in (0, 1, 2, 7)],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{text}")
            raise
        kept += any(loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments)
    assert kept


@pytest.mark.parametrize("backend", BACKENDS)
def test_few_segments_serve_all_calls(backend: str) -> None:
    fast = dynamo_lite.compile(three_ways, backend=backend, options=OPTIONS)
    for n in (12, 40, 5, 9, 100):
        for tol in (0.1, 0.5, 0.0, 1e-9):
            fast(*case(n, tol)())
    stats = fast.stats()
    assert stats["compiles"] <= 5 and not stats["declines"], fast.explain()


def test_the_report() -> None:
    fast = dynamo_lite.compile(returns, options=OPTIONS)
    fast(*case(40, 1e-9)())
    assert [record.outcome for record in fast.explain().loops] == ["native"]
    (record,) = fast.explain().breaks
    assert record.id == "loop-ways"


def test_a_way_that_begins_with_a_text_that_is_formatted() -> None:
    def names(x: np.ndarray, n: int) -> str:
        s = ""
        for i in range(n):
            if x[i] < 0.5:
                s = f"value {x[i]:.3f}"
        return s

    fast = dynamo_lite.compile(names)
    x = np.arange(40) % 7 * 0.125
    for n in (1, 0, 40, 7):
        assert fast(x, n) == names(x, n)


def number(value: Any) -> Any:
    return value if value is not None else 1


def sets_a_local_on_a_way_that_is_left(x: Any, n: int) -> Any:
    """The loop around is left in front of what its first round has of another type; the inner loop goes that way in
    later rounds, natively."""
    last, kept, grown = None, 0.5, 0
    for i in range(1, n):
        j = 0
        while j < n:
            j += 1
            if x[0] > 0.1:
                x = np.append(x, number(last))
                kept, grown = x[-1] * 0.5, i
            last = 3.25
    return last, x, kept, grown


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_local_that_only_a_way_sets_that_is_left(backend: str) -> None:
    for first in (0.5, 0.05):
        require_equal(
            sets_a_local_on_a_way_that_is_left,
            lambda first=first: (np.linspace(first, 1.0, 6), 1),  # type: ignore[misc]
            variants=[lambda n=n, first=first: (np.linspace(first, 1.0, 6), n) for n in (7, 2, 0, 3)],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": {**OPTIONS, "check": 1}},
        )


def a_bool_that_becomes_an_int(x: Any, n: int) -> Any:
    s, t, u = True, -0.0, False
    for _ in range(1, n):
        for _ in range(n):
            s = s * 1
            t = t * 1
            u = u + 1
        x[0] += 1
    return s, t, u, type(s), type(u)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_known_of_ints_says_nothing_of_a_bool(backend: str) -> None:
    """An earlier capture has found that a local grows by nothing, or by one: where it was an int."""
    require_equal(
        a_bool_that_becomes_an_int,
        lambda: (np.ones(3), 7),
        variants=[lambda n=n: (np.ones(3), n) for n in (2, 0, 1, 5, 0)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "check": 1}},
    )
