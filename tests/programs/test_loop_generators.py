"""Loops over generator expressions and map(), and builtins that go through one: each is the loop that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, matrix, registry, rng, vector

CASES, case = registry()


@case(matrix, versions=2)
def mapped(x, n):  # type: ignore[no-untyped-def]
    s = x[0]
    for row in map(np.sin, x):
        s = s + row
    return s, n


@case(matrix)
def mapped_with_others(x, n):  # type: ignore[no-untyped-def]
    s = x[0]
    for row, k in zip(map(lambda a, b: a * b, x, x), x[::-1]):  # noqa: B905
        s = s + row * k
    return s


@case(vector)
def summed(x, n):  # type: ignore[no-untyped-def]
    return sum((x * i).sum() for i in range(n))


@case(matrix)
def summed_rows(x, n):  # type: ignore[no-untyped-def]
    return sum(row * n for row in x)


@case(vector)
def summed_ints(x, n):  # type: ignore[no-untyped-def]
    return x * sum(i * i for i in range(n))


@case(matrix)
def any_row(x, n):  # type: ignore[no-untyped-def]
    return any(row.sum() > n for row in x), all(row.sum() > 0.1 for row in x)


@case(matrix)
def all_in_a_list(x, n):  # type: ignore[no-untyped-def]
    return list(row * n for row in x)  # noqa: C400


@case(vector)
def in_a_loop(x, n):  # type: ignore[no-untyped-def]
    out = []
    for k in range(n):
        out.append(sum((x * i).sum() for i in range(k)) + x)
    return out


@case(matrix)
def left_early(x, n):  # type: ignore[no-untyped-def]
    taken = x[0]
    for row in (one * 2 for one in x):
        taken = taken + row
        if taken.sum() > n:
            break
    return taken


@case(matrix, plain=True)
def left_early_and_asked_again(x, n):  # type: ignore[no-untyped-def]
    taken = x[0]
    rows = (one * 2 for one in x)
    for row in rows:
        taken = taken + row
        if taken.sum() > n:
            break
    return taken, list(rows)


@case(matrix)
def with_a_filter(x, n):  # type: ignore[no-untyped-def]
    return sum(row for row in x if row.sum() > n)


@case(matrix, plain=True)
def one_by_one(x, n):  # type: ignore[no-untyped-def]
    rows = (row * n for row in x)
    first = next(rows)
    return first, sum(rows)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_outcome(name: str, backend: str) -> None:
    one = CASES[name]
    report = compared(one, backend, calls=2)
    if not _C.get_stress():
        found = {loop.outcome for loop in report.compiled.explain().loops}
        assert ("native" in found) != one.plain, report.compiled.explain()


def test_the_loop_of_a_builtin_stands_where_it_is_called() -> None:
    fast = dynamo_lite.compile(CASES["summed"].fn, options=OPTIONS)
    fast(np.ones(3), 40)
    (loop,) = fast.explain().loops
    assert loop.filename == __file__ and loop.function == "summed"


def test_an_exception_in_an_item_is_python_s_own() -> None:
    def failing(x: Any, k: int) -> Any:
        return sum(row[k] for row in x)

    require_equal(
        failing, lambda: (rng(3).random((4, 3)), 5), compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )
