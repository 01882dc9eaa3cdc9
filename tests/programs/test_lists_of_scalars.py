"""Loops that fill and read lists of NumPy scalars, among which numbers of Python's may be (lists/scalar_items.py)."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table
from tests.programs.random_object_lists import outcome
from tests.watch.test_module_loops import require_like

PROGRAMS, program = table()


def scalars(n: int, seed: int = 0) -> list[Any]:
    return list(np.random.default_rng(seed).random(n))


@program(lambda n: ([np.float64(0.5)], [np.float64(0.0)], [0.0], n))
def pendulum(theta, omega, t, n):
    for i in range(n):
        omega.append(omega[i] - 9.81 * np.sin(theta[i]) * 0.01)
        theta.append(theta[-1] + omega[i + 1] * 0.01)
        t.append(t[-1] + 0.01)
    return theta, omega, t


@program(lambda n: ([100.0], [0], np.float64(9.81), n))
def begins_with_numbers_of_pythons(y, v, a, n):
    for i in range(n):
        v.append(v[-1] + a * 0.01)
        y.append(y[i] - v[i + 1] * 0.01)
    return y, v


@program(lambda n: ([np.float64(1.0), *[0.0] * n], [0] * (n + 1), np.float64(4.0)))
def stores(x, v, k):
    for i in range(1, len(x)):
        v[i] = v[i - 1] * 0.5 - k * x[i - 1] * 0.01
        x[i] = x[i - 1] + v[i] * 0.01
    return x, v


@program(lambda n: (scalars(3), n))
def moves_what_it_reads(x, n):
    y = x[0]
    for _ in range(n):
        y = x[-2]
        x.append(y)
        x.append(x[-1] * 0.5)
        x[0] = x[-1]
    return y, x


@program(lambda n: (scalars(n + 1),))
def keeps_the_greatest(x):
    best = last = x[0]
    for i in range(len(x)):
        if x[i] > best:
            last, best = best, x[i]
        x[i] = best * 0.5
        x[0] = last
    return best, last, x


@program(lambda n: ([np.float64(10.0)], [0.0]))
def falls(y, t):
    while y[-1] > 0:
        y.append(y[-1] - 0.5 - 0.01 * np.sqrt(y[-1]))
        t.append(t[-1] + math.cos(y[-1]))
    return y, t


@program(lambda n: ([[np.float64(1.0), 0.0]], [[0.0, np.float64(1.0)]], n))
def orbit(pos, vel, n):
    for i in range(n):
        pull = (pos[-1][0] ** 2 + pos[-1][1] ** 2) ** 1.5
        vel.append([vel[-1][0] - pos[i][0] / pull * 0.01, vel[-1][1] - pos[i][1] / pull * 0.01])
        pos.append([pos[i][0] + vel[-1][0] * 0.01, pos[i][1] + vel[-1][1] * 0.01])
    return pos, vel


@program(lambda n: ([np.float64(0.5)], [0.1, 0.7, 0.4, 0.9] * n, n))
def chain(x, draws, n):
    accepted = 0
    for i in range(n):
        if draws[i] < np.exp(-x[-1] * 0.5):
            x.append(x[-1] + draws[i])
            accepted += 1
        else:
            x.append(x[-1])
    return x, accepted


@program(lambda n: ([np.float32(0.5)], [np.int64(1)], n))
def other_types(x, k, n):
    for i in range(n):
        x.append(x[i] * np.float32(0.5) + np.float32(1.0))
        k.append(k[-1] * 3 % 1000 + i)
    return x, k


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    """Values, types, objects and what exceptions leave are those of plain Python."""
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (18, 18, 3, 1, 20):
        assert _outcome(fn, arguments(n)) == _outcome(fast, arguments(n)), n
    graphs = [segment.capture.graph for segment in fast._compilation.segments]
    assert any(loops_in(graph) and "object_scalar" in str(graph) for graph in graphs)
    assert fast.stats()["native_calls"] >= 3 or name == "orbit"  # which meets a 0 of Python's first


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    held = [list(arg) for arg in args if type(arg) is list]
    return outcome(lambda *args: (fn(*args[:-1]), *args), (*args, held), rows=[])


SCRIPT = """
for i in range(n):
    v.append(v[-1] + a * dt)
    y.append(y[i] - v[i] * dt)
    last = y[-1]
    if y[-1] < -5.0:
        found = last
"""


def test_a_script_that_is_entered_in_the_middle() -> None:
    def names() -> dict[str, Any]:
        return {"y": [np.float64(3.0)], "v": [0.0], "a": np.float64(9.81), "dt": 0.01, "n": 400, "found": None}

    require_like(SCRIPT, {}, names)


def test_long_lists_are_not_looked_into_item_by_item() -> None:
    n = 50_000
    script = "for i in range(1, n):\n    x[i] = x[i - 1] * 0.5 + w[i]\n    s = s * 0.5 + w[i - 1]"

    def names() -> dict[str, Any]:
        return {"x": [np.float64(0.5)] + [0] * n, "w": [0.1] * n, "n": n, "s": 0.0}

    require_like(script, {}, names)
    assert _declines(stores, lambda: ([np.float64(1.0), *[0.0] * n], [0] * (n + 1), np.float64(4.0))) == 0


def _declines(fn: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> int:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for _ in range(2):
        assert _outcome(fn, make()) == _outcome(fast, make())
    assert fast.stats()["native_calls"]
    return int(fast.stats()["declines"])


def grows(x, n):
    for _ in range(n):
        x.append(x[-1] * 1e10)
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_overflow_warns_where_it_happens(backend: str) -> None:
    fast = dynamo_lite.compile(grows, backend=backend, options=OPTIONS)
    seen = []
    for fn in (grows, fast, grows, fast):
        x = [np.float64(1.0)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn(x, 50)
        seen.append(([repr(one) for one in x], [(one.lineno, str(one.message)) for one in caught]))
    assert seen[0] == seen[1] == seen[2] == seen[3] and len(seen[0][1]) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("odd", [0.25, 7, "x", None, 0.5 + 1j, np.float32(0.5), np.bool_(True), 2**70, math.nan])
def test_items_of_other_types(odd: Any, backend: str) -> None:
    fast = dynamo_lite.compile(stores, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for place in (None, 5, None, 0):
        made = []
        for fn in (stores, fast):
            x, v = scalars(12), scalars(12, 1)
            if place is not None:
                v[place] = x[place] = odd
            made.append(_outcome(fn, (x, v, np.float64(4.0))))
        assert made[0] == made[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_list_of_two_names(backend: str) -> None:
    fast = dynamo_lite.compile(pendulum, backend=backend, options=OPTIONS)
    made = []
    for fn in (pendulum, fast, fast):
        x = [np.float64(0.5)]
        made.append((fn(x, x, [0.0], 20)[0], len(x)))
    assert made[0] == made[1] == made[2]


class Noted(float):
    """A number whose death shows."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_item_whose_death_shows_dies_when_it_does_plainly(backend: str) -> None:
    fast = dynamo_lite.compile(stores, backend=backend, options=OPTIONS)
    for place in (100, 90):  # where nobody has looked
        x, v = scalars(200), scalars(200, 1)
        noted = Noted(0.5)
        seen = weakref.ref(noted)
        v[place] = noted
        del noted
        fast(x, v, np.float64(4.0))
        assert seen() is None and {type(one) for one in v} == {np.float64}


def latest(x, n):
    for _ in range(n):
        x.append(x[-1] * 0.5 + 1.0)
    return max(x), min(x), sum(x)


def test_what_takes_the_whole_list_behind_a_loop() -> None:
    assert _declines(latest, lambda: ([np.float64(0.5)], 50)) == 0
