"""Lists in lists that a loop changes, and that the program knows by their items, too, under another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"check": 1, "cost_model": False}


def returned(known: Any, rows: Any, n: int, k: int) -> Any:
    item = known[4]
    for i in range(n):
        for j in range(1, 5):
            rows[i][j] = rows[i][j - 1] * 0.5
    return item, item * 2.0


def under_a_number(known: Any, rows: Any, n: int, k: int) -> Any:
    item = known[k]
    for i in range(n):
        rows[i][k] = rows[i][0]
    return item


def read_meanwhile(known: Any, rows: Any, n: int, k: int) -> Any:
    total = 0.0
    for i in range(n):
        rows[i][0] = total + 1.0
        total += known[0]
    return total, known[0]


def appended(known: Any, rows: Any, n: int, k: int) -> Any:
    total = known[0]
    for i in range(n):
        row = rows[i]
        row.append(total)
    return total, len(known), known[-1]


def unpacked(known: Any, rows: Any, n: int, k: int) -> Any:
    a, _, _, _, b, _ = known
    for i in range(n):
        rows[i][4] = rows[i][0]
    return a, b


def deeper(known: Any, rows: Any, n: int, k: int) -> Any:
    item = known[4]
    nested = [rows, rows]
    for i in range(n):
        nested[0][i][4] = nested[1][i][0]
    return item


def made(kind: str) -> tuple[Any, Any]:
    known = [0.5, 1.5, 2.5, 3.5, np.arange(4.0), np.arange(3.0)]
    rows = [[1.0 + i + j for j in range(6)] for i in range(5)]
    if kind == "inner":
        rows[1] = known
    elif kind == "inners":
        rows[1:] = [known, known, rows[3], known]
    return known, rows


@pytest.mark.parametrize("kinds", [("other", "inner"), ("inner", "other"), ("other", "inners"), ("inners", "inner")])
@pytest.mark.parametrize("function", [returned, under_a_number, read_meanwhile, appended, unpacked, deeper])
def test_inner_lists_are_none_of_the_others(function: Any, kinds: tuple[str, ...]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for kind in kinds:
        for _ in range(2):
            known, rows = made(kind)
            other, others = made(kind)
            want = function(known, rows, 3, 4)
            assert repr((fast(other, others, 3, 4), other, others)) == repr((want, known, rows))


@pytest.mark.parametrize("function", [returned, under_a_number, read_meanwhile, appended, unpacked])
def test_others_stay_one_graph(function: Any) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for n in (3, 4, 5):
        fast(*made("other"), n, 4)
    stats = fast.stats()
    assert (stats["native_calls"], stats["breaks"], stats["compiles"]) == (3, 0, 1), fast.explain()
