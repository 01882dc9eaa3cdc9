"""Branches on data in functions that are called: what they change of their arguments, whoever has these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dynamo_lite


class Solution:
    def __init__(self, ts: Any) -> None:
        steps = np.diff(ts)
        if not (ts[0] == ts[-1] or np.all(steps > 0) or np.all(steps < 0)):
            raise ValueError("neither rising nor falling")
        self.n = len(ts)
        if ts[-1] >= ts[0]:
            self.side, self.first = "left", ts[0]
        else:
            self.side, self.first = "right", ts[-1]


class Particle:
    def __init__(self, v: Any) -> None:
        if v > 0.5:
            self.kind, self.weight = 1, v * 2
        else:
            self.kind, self.weight = 2, v
        self.log: list[Any] = []
        if v > 0.8:
            self.log.append(v)


class Bounded(Particle):
    def __init__(self, v: Any) -> None:
        super().__init__(v)
        if self.weight > 1:
            self.weight = 1.0

    def raised(self, v: Any) -> Any:
        if v > 0.5:
            self.weight = self.weight + v
        return self


@dataclass
class Tagged:
    x: Any
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.x > 0.5:
            self.tags.append("big")
            self.y = 1
        else:
            self.y = 2


def described(one: Any) -> Any:
    return {name: described(value) for name, value in vars(one).items()} if hasattr(one, "__dict__") else one


def solution(a):
    return Solution(a)


def sorted_solution(a):
    return Solution(np.sort(a))


def particles(a):
    return Particle(a.sum()), Particle(a.max()), Particle(a.min())


def tagged(a):
    return Tagged(a.max()), Tagged(a.min())


def in_a_loop(a):
    total = 0.0
    for i in range(len(a)):
        one = Bounded(float(a[i]))
        total += one.weight * one.kind
    return total


def listed(a):
    return [Bounded(v) for v in (a.max(), a.min())]


def one_after_the_other(a):
    return Bounded(a.max()).raised(a.min()).raised(a.sum())


def adds(values, v):
    if v > 0.5:
        values.append(v)
    return len(values)


def to_a_list(a):
    return adds([1.0], a.sum()), adds([], a.min())


def puts(table, v):
    if v > 0.5:
        table["big"] = v
    else:
        table["small"] = v
    return table


def into_dicts(a):
    return puts({}, a.max()), puts(puts({}, a.min()), a.sum())


class Counter:
    def __init__(self, a: Any, v: Any) -> None:
        self.q = 0.0
        if a.sum() > 0.25:
            self.q = v

    def lowered(self, a: Any) -> Any:
        if a.sum() < self.q:
            self.q = 2.0
            if a.argmax() >= -1:
                self.q = abs(2.0)
        return self.q


def numbers_of_one_way(a):
    return Counter(a, len(a)).lowered(a)


class Items:
    def __init__(self, a: Any, v: Any) -> None:
        self.p, self.items = v * 2, []
        if float(a[1]) <= 1 and self.p >= 3:
            self.items.append(self.p)
        if v < 0.5:
            self.items.append(a.sum())

    def first(self, v: Any) -> Any:
        if self.p >= v:
            return self.p
        return None


def numbers_in_lists_of_one_way(a):
    one = Items(a, -1)
    for i in range(len(a)):
        one.first(a[i])
    return one, Items(a, 2.0).first(a[0])


FUNCTIONS = [
    *(numbers_of_one_way, numbers_in_lists_of_one_way),
    *(solution, sorted_solution, particles, tagged, in_a_loop, listed, one_after_the_other, to_a_list, into_dicts),
]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_what_is_changed_on_one_way_only(fn: Any, backend: str) -> None:
    def shown(a: Any) -> Any:
        result = fast(a)
        return [described(one) for one in result] if isinstance(result, tuple | list) else described(result)

    for options in ({}, {"check": 1}, {"cost_model": False}):
        arrays = [np.random.default_rng(seed).random(6) * (1 if seed % 3 else 0.4) for seed in range(8)]
        arrays += [np.sort(arrays[0]), np.sort(arrays[1])[::-1].copy(), np.sort(arrays[2])]
        for fast in (fn, dynamo_lite.compile(fn, backend=backend, options=options)):
            if fast is fn:
                expected = [_attempt(shown, a) for a in arrays]
            else:
                assert [_attempt(shown, a) for a in arrays] == expected
                assert fast.stats()["native_calls"] or options != {"cost_model": False}


def _attempt(fn: Any, a: Any) -> Any:
    try:
        return repr(fn(a))
    except ValueError as error:
        return str(error)


def test_the_object_is_made_natively() -> None:
    fast = dynamo_lite.compile(sorted_solution, options={"cost_model": False})
    assert vars(fast(np.arange(4.0))) == vars(sorted_solution(np.arange(4.0)))
    assert fast.stats()["native_calls"]
