"""Two locals that hold one tuple after some iterations of a loop: they are one object behind it, too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def under_a_condition(x: Any) -> Any:
    where, last, best = (0, 0), (1, 1), 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            where = (i, 2)
            last = where
    return where, last, best, where is last


def made_before_it(x: Any) -> Any:
    where, last, best = (0, 0), (1, 1), 0.0
    for i in range(len(x)):
        where = (i, 5)
        if x[i] > best:
            best = x[i]
            last = where
    return where, last, best, where is last


def on_one_way_of_three(x: Any) -> Any:
    where, last, best = (0, 0, 0), (0, 0), 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            where = (i, i)
            last = where
        elif x[i] == 0.0:
            where = (i, 0)
    return where, last, best, where is last


def of_a_loop_around(x: Any) -> Any:
    where, last, best = (0, 0), (0, 0), -1.0
    for i in range(len(x)):
        where = (i, 1.5)
        for j in range(len(x)):
            if x[j] * i > best:
                best = x[j] * i
                last = where
    return where, last, best, where is last


def back_again(x: Any) -> Any:
    where, last, best = (0, 0), (0, 0), 0.0
    for i in range(len(x)):
        where = (i, 0)
        if x[i] > best:
            last = where
            best = x[i]
            where = last
    return where, last, best, where is last


def kept_by_another(x: Any) -> Any:
    where = (len(x), 0)
    last, best = where, 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            where = (i, 0)
    return where, last, best, where is last


def after_a_print(x: Any) -> Any:
    where, last, best = (0, 0), (0, 0), 0.0
    for _ in range(2):
        for i in range(len(x)):
            if x[i] > best:
                where = (i, where[0])
                best = x[i]
                last = where
                print(i)
            elif x[i] == 0.0:
                where = (i, 0)
    return where, last, best, where is last


PROGRAMS = [
    *(under_a_condition, made_before_it, on_one_way_of_three),
    *(of_a_loop_around, back_again, kept_by_another, after_a_print),
]


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.0, -1.0, 0.0], [1.0, 0.0], [2.0], []])
def test_what_is_one_object_stays_one(values: list[float], function: Callable[..., Any], backend: str) -> None:
    require_equal(
        function,
        lambda: (np.array(values),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False, "check": 1}},
    )


def second_best(x: Any) -> Any:
    best, where, before = 0.0, (0, 0), (0, 0)
    for i in range(len(x)):
        if x[i] > best:
            before = where
            best, where = x[i], (i, 1)
    return best, where, before


def a_place_that_dies(x: Any) -> Any:
    best, where, total = 0.0, (0, 0), 0.0
    for i in range(len(x)):
        place = (i, i * 2)
        if x[i] > best:
            best, where = x[i], place
        total += place[1]
    return best, where, total


@pytest.mark.parametrize("function", [second_best, a_place_that_dies])
def test_tuples_that_are_never_one_stay_in_a_native_loop(function: Callable[..., Any]) -> None:
    report = require_equal(
        function,
        lambda: (np.random.default_rng(4).random(30),),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1}},
    )
    assert [loop.outcome for loop in report.compiled.explain().loops] == ["native"]


def in_a_nest_of_three(a: Any, n: int, start: Any) -> Any:
    best, total, where = 0.0, 0, start[:2]
    for i in range(n):
        for j in range(n - 1):
            where = (j, total)
            for m in range(1, n - 1):
                v = a[i, m] * a[0, m]
                if v >= best:
                    best = v
                    where = (v, m)
                elif v == 0:
                    where = (9, 9)
    return best, total, where


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_a_tuple_that_inner_loops_replace_or_not(n: int) -> None:
    require_equal(
        in_a_nest_of_three,
        lambda: (np.random.default_rng(69).integers(-3, 9, (6, 6)), n, (7, 8)),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1}},
    )


HOME = (1, 1)


def back_home(k: Any) -> Any:
    at, other, hits = HOME, HOME, 0
    for i in range(len(k)):
        at = (i, i) if k[i] > 0 else HOME
        if k[i] > 1:
            other = (i, hits)
        elif k[i] == 1:
            other = HOME
        if at == (1, 1):
            hits += 1
    return at is HOME, other is HOME, at, other, hits


def constants(k: Any) -> Any:
    move, x, y, found = (0, 0), 0, 0, []
    for i in range(len(k)):
        if k[i] == 0:
            move = (0, 1)
        elif k[i] == 1:
            move = (1, 0)
        elif k[i] == 2:
            move = HOME
        else:
            move = (0, -1)
        x += move[0]
        dx, dy = move
        y += dy - dx
        word = "near" if abs(x) < 3 else "far" if k[i] else None
        if word == "near" or word is None:
            found.append(i)
        found.append(word)
    return x, y, found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [back_home, constants])
def test_tuples_that_there_are_stay_the_objects_that_they_are(function: Any, backend: str) -> None:
    for seed in range(6):
        k = np.random.default_rng(seed).integers(0, 4, 24)
        k[-1] = seed % 4
        options = {"backend": backend, "options": OPTIONS}
        require_equal(function, copies_of(k), compile=dynamo_lite.compile, compile_options=options)
    fast = dynamo_lite.compile(constants, backend=backend, options=OPTIONS)
    fast(np.arange(20) % 4)
    assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}, fast.explain()


def beside_a_new_one(x: Any) -> Any:
    if x[0] > 0.5:
        at, side = (1, len(x)), x * 2.0
    else:
        at, side = HOME, x + 1.0
    other = (1, 1) if x[1] > 0.5 else HOME
    return at is HOME, other is HOME, at, other, side.tobytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tuple_from_outside_behind_a_branch_without_a_loop(backend: str) -> None:
    for options in ({}, {"cost_model": False}):
        fast = dynamo_lite.compile(beside_a_new_one, backend=backend, options=options)
        for x in (np.array([a, b]) for a in (0.0, 1.0, np.nan) for b in (0.0, 1.0)):
            assert fast(x) == beside_a_new_one(x)
