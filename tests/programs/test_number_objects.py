"""Which object a number is behind a loop: the one from before it, the index, or another, as `is` can tell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng


class Thing:
    pass


def counts(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
    return u, k


def where_last(u: Any, n: int, k: int) -> Any:
    at, i = k, 0
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
    return u, at, i


def where_two(u: Any, n: int, k: int) -> Any:
    at = other = k
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
        if u[1] > 0.1:
            other = i
    return u, at, other


def least(u: Any, n: int, k: int) -> Any:
    best, at = 1e9, k
    for i in range(300, 300 + n):
        u = u * 0.5
        total = float(u.sum())
        if total < best:
            best, at = total, i
    return u, best, at


def counts_in_a_row_of_choices(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        for j in range(3):
            if u[j] > 0.1:
                k += 1
    return u, k


def counts_in_a_nest(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        for j in range(n):
            if u[j % 4] > 0.1:
                k += 1
    return u, k


def counts_while(u: Any, n: int, k: int) -> Any:
    while u[0] > 1e-3:
        u = u * 0.5
        if u[1] > 0.1:
            k += 1
    return u, k


def counts_in_places(u: Any, n: int, k: int) -> Any:
    thing: Any = Thing()
    thing.n = thing.m = k
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            thing.n += 1
        if u[1] > 5.0:
            thing.m += 1
    return u, thing.n, thing.m


def changes_places(u: Any, n: int, k: int) -> Any:
    p, q = k, n
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            p, q = q, p
    return u, p, q


def goes_back(u: Any, n: int, k: int) -> Any:
    before = k
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
        elif u[1] > 0.1:
            k = before
    return u, k, before


def where_in_a_nest(u: Any, n: int, k: int) -> Any:
    at = j = k
    for _ in range(n):
        for j in range(300, 300 + n):
            u = u * 0.5
            if u[0] > 0.1:
                at = j
    return u, at, j


def where_from_a_computed_number(u: Any, n: int, k: int) -> Any:
    at, i = k * 2, 0
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 10.0:
            at = i
    return u, at, i


def two_from_one_computed_number(u: Any, n: int, k: int) -> Any:
    x = y = k * 1.5
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            x = x + 1
        if u[1] > 0.1:
            y = y + 1
    return u, x, y


def where_if_equal(u: Any, n: int, k: int) -> Any:
    at = k
    for i in range(995, 995 + n):
        u = u * 0.5
        if u[0] > 0.1 and at == i:
            at = i
    return u, at


def in_steps_and_left_early(u: Any, n: int, k: int) -> Any:
    at, i = k, 0
    for i in range(300, 300 + 3 * n, 3):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
        if u[3] > 1.0:
            break
    return u, at, i


def used_behind(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
    return u * k, k, k + 1


NATIVE = [
    *(counts, where_last, where_two, least, counts_in_a_row_of_choices, counts_in_a_nest, counts_while),
    *(counts_in_places, two_from_one_computed_number, in_steps_and_left_early, used_behind),
    *(where_from_a_computed_number, where_if_equal),
]
OTHERS = [changes_places, goes_back, where_in_a_nest]


def told(args: tuple[Any, ...], results: tuple[Any, ...]) -> list[Any]:
    """All that can be told of what a call returned, `is` included."""
    found: list[Any] = []
    for one in results:
        small = isinstance(one, int) and -5 <= one <= 256
        known = [] if small else [place for place, arg in enumerate(args) if arg is one]
        found.append(one.tobytes() if isinstance(one, np.ndarray) else (type(one), repr(one), known))
    return [*found, [one is other for one, other in combinations(results, 2)]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [*NATIVE, *OTHERS], ids=lambda function: function.__name__)
def test_objects(function: Callable[..., Any], backend: str) -> None:
    fast: Any = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    random = rng(11)
    for _ in range(16):
        u = random.random(4) * random.choice([0.01, 1.0, 4.0, 100.0])
        args = u, int(random.integers(1, 12)), int(random.choice([5, 1000, 70000]))
        assert told(args, fast(*args)) == told(args, function(*args)), args
    if function in NATIVE and not _C.get_stress():
        assert [loop.outcome for loop in fast.explain().loops] == ["native"] * len(fast.explain().loops)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_that_leaves_what_does_not_fit_is_left(backend: str) -> None:
    class Figure:
        def __init__(self) -> None:
            self.n = 0

        def plot(self, u: Any) -> None:
            self.n += 1
            self.last = u.copy()  # an attribute that is not there before

    def plots(figure: Figure, u: Any, n: int) -> Any:
        for i in range(n):
            u = u + 0.1 * (1.0 - u)
            if i % 10 == 0:
                figure.plot(u)
        return u

    fast: Any = dynamo_lite.compile(plots, backend=backend, options=OPTIONS)
    for n in (35, 35, 101):
        figures = Figure(), Figure()
        results = fast(figures[0], np.linspace(0.0, 0.5, 9), n), plots(figures[1], np.linspace(0.0, 0.5, 9), n)
        assert results[0].tobytes() == results[1].tobytes()
        assert figures[0].n == figures[1].n and figures[0].last.tobytes() == figures[1].last.tobytes()


def plots_of_many(figure: Any, u: Any) -> Any:
    for i in range(130):
        u = u + 0.1 * (1.0 - u)
        if i % 10 == 0:
            figure.last = u.copy()
    return u


def test_loops_of_known_length_are_left_too() -> None:
    fast: Any = dynamo_lite.compile(plots_of_many, options=OPTIONS)
    for _ in range(3):
        things = Thing(), Thing()
        results = fast(things[0], np.linspace(0.0, 0.5, 9)), plots_of_many(things[1], np.linspace(0.0, 0.5, 9))
        assert results[0].tobytes() == results[1].tobytes()
        assert vars(things[0])["last"].tobytes() == vars(things[1])["last"].tobytes()
    if not _C.get_stress():
        assert "native" in {loop.outcome for loop in fast.explain().loops}


@pytest.mark.xfail(reason="what adds nothing is simplified to the number itself, which is another object in Python")
def test_a_number_to_which_nothing_is_added_is_another_object() -> None:
    def adds_nothing(u: Any, n: int, k: int) -> Any:
        for _ in range(n):
            u = u * 0.5
            if u[0] > 0.1:
                k = k + 0
        return u, k

    args = np.ones(4), 3, 1000
    fast = dynamo_lite.compile(adds_nothing, options=OPTIONS)
    assert told(args, fast(*args)) == told(args, adds_nothing(*args))
