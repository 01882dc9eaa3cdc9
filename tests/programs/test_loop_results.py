"""What is computed from the numbers that a loop has ended with, and quotients of numbers that only the run knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import table

PROGRAMS, program = table()  # True: nothing breaks its graph, and no loop is refused for a quotient


def counted(x: Any) -> int:
    c = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            c += 1
    return c


@program(True)
def arithmetic(x):  # type: ignore[no-untyped-def]
    c = counted(x)
    return c / len(x), c == 3, c != 0, c < 4.5, c <= 20


@program(False)
def of_ints(x):  # type: ignore[no-untyped-def]
    c = counted(x)
    return c + 1, 2 - c, c * 3, c * 0.5, c // 3, c % 3, c**2


@program(True)
def arithmetic_with_numpy(x):  # type: ignore[no-untyped-def]
    c = counted(x)
    return c * x[0], x + c, c - x, x[0] == c, x[0] / c if len(x) > 1 else c, np.float32(1.5) + c


@program(False)
def a_quotient_by_it(x):  # type: ignore[no-untyped-def]
    c = counted(x)
    return len(x) / c, len(x) // c, len(x) % c, 1.5 / c


@program(False)
def the_object_itself(x):  # type: ignore[no-untyped-def]
    c = 1000
    for i in range(len(x)):
        if x[i] > 0.5:
            c += 1
    d = c + 0
    return c, d, d is c, c is c, (c, c + 1)


@program(True)
def floats(x):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(len(x)):
        s += float(x[i])
    return s * 2.0, s / len(x), s == s, s > 1, s + 1, (s - 1) ** 2


@program(False)
def sizes_and_slices(x):  # type: ignore[no-untyped-def]
    c = counted(x)
    return np.zeros(c + 1), x[: c - 1], x[c:].sum(), np.arange(c)


@program(True)
def quotients_of_counts(x):  # type: ignore[no-untyped-def]
    c = 1
    s = 0.0
    t = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            c += 1
        s += i / c + c / (i + 1)
        t += (10 * i) // c + i % c
    return s, t


@program(False)
def quotients_by_nothing(x):  # type: ignore[no-untyped-def]
    c = 5
    t = []
    for i in range(len(x)):
        if x[i] > 0.5:
            c -= 1
        x[i] += 1.0
        t.append(7 // c)
        t.append(i % c)
        t.append(3 / c)
    return t


@program(False)
def big_numbers(x):  # type: ignore[no-untyped-def]
    c = 1
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            c = c * 7
        s += c / 3
    return s, c / 3, c // 3, c % 1000


VALUES = {
    "ordinary": np.random.default_rng(1).random(40),
    "none": np.zeros(12),
    "all": np.ones(30),
    "short": np.array([0.9, 0.1]),
    "one": np.array([0.7]),
    "empty": np.zeros(0),
    "nan": np.array([np.nan, 0.9, np.inf, -np.inf]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_plain_python(name: str) -> None:
    first, *rest = [lambda x=values: (x.copy(),) for values in [*VALUES.values()] * 2]  # type: ignore[misc]
    require_equal(
        PROGRAMS[name][0],
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "recompile_limit": 100}},
    )


@pytest.mark.parametrize("name", [name for name, (_, is_one_graph) in PROGRAMS.items() if is_one_graph])
def test_is_one_graph(name: str) -> None:
    fast = dynamo_lite.compile(PROGRAMS[name][0], options={"cost_model": False})
    for _ in range(3):
        fast(VALUES["ordinary"].copy())
    assert not fast.stats()["breaks"]
