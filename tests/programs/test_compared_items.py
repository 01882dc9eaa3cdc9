"""Tuples and lists of numbers that a loop changes, compared item by item and looked for among others; the truth of
arrays of one element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_loop_conditions_of_parts import is_native

STATES = np.array([[0, 1, 2], [2, 0, 1], [1, 1, 0]]) * 1.0


def neighbours(grid: Any, rows: Any, columns: Any) -> int:
    count = 0
    for n in range(len(rows)):
        x, y = rows[n], columns[n]
        for i in range(x - 1, x + 2):
            for j in range(y - 1, y + 2):
                if (i, j) != (x, y) and i >= 0 and j >= 0 and i < 3 and j < 3 and grid[i, j] > 0:
                    count += 1
                    grid[i, j] += 0.5
    return count


def moves(grid: Any, rows: Any, columns: Any) -> tuple[int, float]:
    hits, total = 0, 0.0
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            for i in range(len(rows)):
                if (di, dj) == (0, 0):
                    total += grid[i, 0]
                if (rows[i] - 1, dj) in [(0, 0), (1, di), (di, 1)]:
                    hits += 1
                if (i, 0) not in ((1, 0), (2, 0)):
                    hits += 10
                if [i, (di, i)] == [1, (0, 1)] or (i, dj) == (i, dj, 0):
                    hits += 100
                if rows[i] in (di, dj) or columns[i] not in [i, 2 * i]:
                    hits += 1000
    return hits, total


def mixed(grid: Any, rows: Any, columns: Any) -> tuple[int, float]:
    hits, big = 0, 2**53 - 2
    for i in range(len(rows)):
        if (grid[i, 1], i) == (1.0, 0) or (i, float(i)) == (1.0, 1):
            hits += 1
        if (i, False) != (0, 0):
            hits += 10
        if (big + i, 1) == (9007199254740992.0, 1):
            hits += 100
        if (i, "a") == (2, "a") or (i, None) == (0, None):
            hits += 1000
    return hits, grid.sum()


def compared_to_itself(grid: Any, rows: Any, columns: Any) -> int:
    hits = 0
    for i in range(len(rows)):
        x = grid[i, 0] * 0.0
        if (x, i) == (x, 1):
            hits += 1
        if x in (x, 3.0) or (i == 1, True) == (1, i):
            hits += 10
    return hits


def truths(grid: Any, rows: Any, columns: Any) -> tuple[int, float]:
    count, total = 0, 0.0
    for i in range(len(rows)):
        if grid[i, :1] > 0.5:
            count += 1
        if not grid[i : i + 1, i].reshape(1, 1):
            count += 10
        total += 1.0 if rows[i : i + 1] else 0.25
        while grid[i, :1] < 3 and grid[:1, 1] == grid[:1, 1]:
            grid[i, :1] += 1.0
    return count, total


ASKED: list[int] = []


class Asked:
    """Equal to its like, and notes that it was asked."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        ASKED.append(self.value)
        return isinstance(other, Asked) and self.value == other.value


ONE, TWO = Asked(1), Asked(2)


def asks_others(grid: Any, rows: Any, columns: Any) -> tuple[int, list[int]]:
    """An item behind one that differs is not asked."""
    ASKED.clear()
    hits = 0
    for i in range(len(rows)):
        if (rows[i], ONE) == (1, TWO) or [i, ONE] == [2, ONE]:
            hits += 1
        if (columns[i], TWO) != (2, Asked(2)):
            hits += 10
    return hits, ASKED[:]


def unusual_indices(grid: Any, rows: Any, columns: Any) -> float:
    total = 0.0
    for i in range(len(rows)):
        mask = (True, 1) if rows[i] > 1 else (False, 2)
        short = (0, 1) if columns[i] > 1 else (1,)
        ends = (0, -1) if columns[i] > 0 else (-2, 0)
        total += grid[mask].sum() + grid[short].sum() + grid[ends]
        grid[ends] += 1.0
    return total + grid[(1.0, 1) if len(rows) > 9 else (1, 1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [neighbours, moves, mixed, compared_to_itself, truths, asks_others, unusual_indices]
)
def test_items_of_loops(function: Any, backend: str) -> None:
    rng = np.random.default_rng(0)
    for special in (0.0, np.nan, np.inf, -0.0):
        for _ in range(6):
            grid = STATES.copy()
            grid[rng.integers(0, 3), rng.integers(0, 3)] = special
            grid[0, 0] = rng.choice([special, 0.75])
            arguments = copies_of(grid, rng.integers(0, 3, 3), rng.integers(0, 3, 3))
            options = {"backend": backend, "options": OPTIONS}
            require_equal(function, arguments, compile=dynamo_lite.compile, compile_options=options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [neighbours, moves, mixed, truths])
def test_their_loops_are_native(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    fast(STATES.copy(), np.array([0, 1, 2]), np.array([2, 0, 1]))
    assert is_native(fast), fast.explain()


def by_chance(g: Any, n: int) -> int:
    hits = 0
    for _ in range(n):
        if g.random(1) < 0.3:
            hits += 1
        elif g.choice(range(2), 1, p=[0.25, 0.75])[0] == 1:
            hits += 100
    return hits


@pytest.mark.parametrize("backend", BACKENDS)
def test_single_draws_in_arrays(backend: str) -> None:
    fast = dynamo_lite.compile(by_chance, backend=backend, options=OPTIONS)
    for seed in range(4):
        assert fast(np.random.default_rng(seed), 200) == by_chance(np.random.default_rng(seed), 200)
    assert is_native(fast)
