"""Numbers that an inner loop leaves and a list from outside holds: behind all loops they are those objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import OPTIONS


def item(u: Any, xs: Any) -> Any:
    total = 0.0
    for n in range(30):
        for i in range(len(u)):
            u[i] = 0.5 * u[i] + n
        for x in xs:
            total += x * u[0]
    return total, x


def parts(u: Any, pairs: Any) -> Any:
    total = 0.0
    for _ in range(30):
        for i, x in pairs:
            u[i] += 0.25 * (x - u[i])
            total += abs(u[i])
    return total, i, x


def one_part(u: Any, triples: Any) -> Any:
    total = 0.0
    for _ in range(30):
        for triple in triples:
            x, y = triple[-1], triple[0]
            if x > 5.0:
                break
            u[y] = u[y] * 0.5 + x
        total += u[0]
    return total, x, y


def either(u: Any, pairs: Any, xs: Any) -> Any:
    best = -1.0
    for n in range(40):
        for place, (i, x) in enumerate(pairs):
            u[i] = 0.75 * u[i] + x
            if u[i] > 3.0:
                best = x
            if place > n:
                best = xs[place]
    return best, i


def none_taken(u: Any, pairs: Any) -> Any:
    i = x = None
    for _ in range(30):
        for i, x in pairs:
            u[i] += x
    return i, x


def _pairs(count: int) -> list[tuple[int, float]]:
    return [(k % 20, 0.001 + k) for k in range(400, 400 + count)]


def _triples(count: int) -> list[tuple[int, int, float]]:
    return [(k % 20, k + 1000, 0.01 * k) for k in range(count)]


def _floats(count: int) -> list[float]:
    return [0.5 * k for k in range(count)]


CASES: list[tuple[Callable[..., Any], list[Callable[[int], Any]], int]] = [
    (item, [_floats], 50),
    (item, [lambda count: list(range(1000, 1000 + count))], 50),
    (item, [lambda count: tuple(_floats(count))], 50),
    (parts, [_pairs], 60),
    (parts, [lambda count: tuple(_pairs(count))], 60),
    (one_part, [_triples], 600),
    (one_part, [_triples], 300),
    (either, [_pairs, _floats], 60),
    (none_taken, [_pairs], 60),
    (none_taken, [_pairs], 0),
]


def which(found: Any, lists: list[Any]) -> list[Any]:
    """Which objects of the lists these are."""
    places = {}
    for at, one in enumerate(lists):
        for place, row in enumerate(one):
            for part, number in enumerate(row if type(row) is tuple else (row,)):
                places[id(number)] = at, place, part
    return [(repr(number), places.get(id(number))) for number in found]


@pytest.mark.parametrize(("fn", "make", "count"), CASES, ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("check", [0, 1])
def test_as_plainly(fn: Callable[..., Any], make: list[Callable[[int], Any]], count: int, check: int) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS | {"check": check})
    for size in (count, count, count + 7):
        lists = [one(size) for one in make]
        u, v = np.linspace(0.0, 1.0, 20), np.linspace(0.0, 1.0, 20)
        assert which(fast(u, *lists), lists) == which(fn(v, *lists), lists)
        assert u.tobytes() == v.tobytes()


@pytest.mark.parametrize(("fn", "make"), [(item, _floats), (parts, _pairs)])
def test_native(fn: Callable[..., Any], make: Callable[[int], Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    fast(np.linspace(0.0, 1.0, 20), make(600))
    assert (fast.stats()["breaks"], fast.stats()["declines"], fast.stats()["native_calls"]) == (0, 0, 1)
