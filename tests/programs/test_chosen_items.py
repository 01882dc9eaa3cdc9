"""Items of short lists of arrays, lists and tuples under an index that a loop computes: they stay the objects that they
are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_loop_conditions_of_parts import is_native

MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def affine(k: Any, x: Any) -> Any:
    matrices = [np.array([[0.0, 0.5], [0.25, -1.0]]), np.array([[0.85, 0.04], [-0.04, 0.85]]), np.eye(2)]
    offsets = [[0, 0], [0, 1.6], [0.5, 0.44]]
    points = np.zeros((len(k), 2))
    for i in range(1, len(k)):
        points[i] = np.dot(matrices[k[i]], points[i - 1]) + offsets[k[i]] + x[0]
    return points


def moved(k: Any, x: Any) -> Any:
    place = [0, 0]
    total = 0.0
    for i in range(len(k)):
        move = MOVES[k[i]]
        place[0] += move[0]
        place[1] += move[1]
        dx, dy = MOVES[k[i] + 1]
        total += x[i] * dx - dy
    return place, total


def written(k: Any, x: Any) -> Any:
    rows = [x[:3] * 1.0, x[1:4] + 1.0, x[2:5] * 2.0]
    for i in range(len(k)):
        row = rows[k[i]]
        row[i % 3] += 1.0
        rows[k[i] - 1][0] *= 0.5
    return rows


def handed_out(k: Any, x: Any) -> Any:
    rows, pairs, found, last, pair = [x[:2] * 1.0, x[:2] + 1.0, x[:2]], [(1, 2), (3, 4), (5, 6)], [], x, (0, 0)
    for i in range(len(k)):
        last = rows[k[i]]
        pair = pairs[k[i]]
        if i % 4 == 0:
            found.append(rows[k[i]])
    return last, rows, found, pair, pairs


def compared(k: Any, x: Any) -> Any:
    rows = [x[:2] * 1.0, x[:2] + 1.0, x[:2] * 1.0]
    hits = 0
    for i in range(len(k)):
        if rows[k[i]] is rows[0]:
            hits += 1
        if MOVES[k[i]] == (1, 0) or MOVES[k[i]] is MOVES[2]:
            hits += 10
    return hits


def replaced(k: Any, x: Any) -> Any:
    rows = [x[:2] * 1.0, x[:2] + 1.0, x[:2] * 3.0]
    for i in range(len(k)):
        rows[0] = rows[k[i]] * 0.5 + rows[0]
    return rows


def several_types(k: Any, x: Any) -> Any:
    rows = [x[:2], x[:2].astype(np.float32), x[:3], 2.5]
    total = 0.0
    for i in range(len(k)):
        total = total + np.sum(rows[k[i]])
    return total


STEPS = {0: (0, 1), 1: (1, 0), 2: (0, -1), -1: (-1, 0)}
WORDS = ["up", "down", "left"]


def keyed(k: Any, x: Any) -> Any:
    weights, total, place = {0: 0.5, 1: 2.0, 2: -1.0, -2: 7.25}, 0.0, [0, 0]
    for i in range(len(k)):
        total += weights[k[i]] * x[i]
        dx, dy = STEPS[k[i]]
        place[0] += dx
        step = STEPS[k[i]]
        place[1] += step[1] - dy * 2
    return total, place


def counted(k: Any, x: Any) -> Any:
    counts, sums, seen = {0: 0, 1: 0, 2: 0}, {0: 0.0, 1: 0.5, 2: 1.5}, 0
    for i in range(len(k)):
        counts[k[i]] += 1
        sums[0] = sums[k[i]] * 0.5 + x[i]
        seen += counts[2]
    return counts, sums, seen


def changed(k: Any, x: Any) -> Any:
    rows, total = {0: x[:2] * 1.0, 1: x[:2] + 1.0, 2: x[:2]}, 0.0
    for i in range(len(k)):
        row = rows[k[i]]
        row[0] += 1.0
        rows[1] = rows[k[i]] * 0.5
        total += rows[0][0]
    return rows, total


def spoken(k: Any, x: Any) -> Any:
    across, said, last = 0, [], ""
    for i in range(len(k)):
        word = WORDS[k[i]]
        if word == "up":
            across += 1
        elif word != "down" and [True, False, True][k[i]]:
            across -= 10
        if i % 3 == 0:
            said.append(word)
        last = WORDS[k[i]]
    return across, said, last


HOME = (1, 1)


def walked(k: Any, x: Any) -> Any:
    seen, at, homes = np.zeros((6, 6)), HOME, []
    for i in range(len(k)):
        row, column = at
        if k[i] == 0:
            row = max(row - 1, 0)
        elif k[i] == 1:
            column = min(column + 1, 5)
        else:
            row, column = min(row + 1, 5), max(column - 1, 0)
        there = (row, column)
        seen[there] += x[i] + seen[at]
        at = there if (row, column) != (5, 0) else HOME
        if at == (1, 1):
            homes.append(i)
    return seen, at, at == HOME, homes


def begun(k: Any, x: Any) -> Any:
    at, total = (0, 0.5), 0.0
    for i in range(len(k)):
        if k[i] > 0:
            at = (k[i], x[i])
        elif k[i] < -1:
            at = (1, 2)
        first, second = at
        total += first * second
    return at, total


MATRICES = [np.array([[0.0, 0.5], [0.25, -1.0]]), np.array([[0.85, 0.04], [-0.04, 0.85]]), np.eye(2)]
SHORT = [0.5, 1.5, -2.0]
OFFSETS = [[0, 0], [0, 1.6], [0.5, True]]


def from_outside(k: Any, x: Any) -> Any:
    at, total = x[:2] * 1.0, 0.0
    for i in range(len(k)):
        at = MATRICES[k[i]] @ at + SHORT[k[i]] + OFFSETS[k[i]]
        total += SHORT[k[i] - 1]
        if MATRICES[k[i]] is MATRICES[1]:
            total += 100.0
    return at, total


FUNCTIONS = [from_outside, walked, begun, keyed, counted, changed, spoken]
FUNCTIONS += [affine, moved, written, handed_out, compared, replaced, several_types]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_items_that_a_loop_chooses(function: Any, backend: str) -> None:
    rng = np.random.default_rng(0)
    for low, high, size in ((0, 3, 20), (-3, 3, 20), (0, 3, 1), (0, 4, 30), (-4, 5, 30), (1, 2, 9)):
        arguments = copies_of(rng.integers(low, high, size), rng.random(size + 6))
        options = {"backend": backend, "options": OPTIONS}
        require_equal(function, arguments, compile=dynamo_lite.compile, compile_options=options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [affine, moved, written, keyed, walked])
def test_their_loops_are_native(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    fast(np.array([0, 1, 2, 1, 0, 2, 2, 1, 0, 1]), np.linspace(0.0, 1.0, 16))
    assert is_native(fast), fast.explain()


def stored_to(k: Any, x: Any, lists: Any) -> Any:
    total = 0.0
    for i in range(len(k)):
        lists[0][1] = x[i]
        total += np.sum(x[:2] + lists[k[i]])
    return total, lists


def stored_to_the_chosen(k: Any, x: Any, lists: Any) -> Any:
    total = 0.0
    for i in range(len(k)):
        one = lists[k[i]]
        one[0] = x[i] * 2.0
        total += lists[0][0] + lists[k[i]][1]
    return total, lists


def replaced_lists(k: Any, x: Any, lists: Any) -> Any:
    total = 0.0
    for i in range(len(k)):
        if k[i] == 1:
            lists[2] = [i, 0.25]
        total += np.sum(x[:2] * lists[k[i]])
    return total, lists


def appended_to(k: Any, x: Any, lists: Any) -> Any:
    total = 0.0
    for i in range(len(k)):
        total += np.sum(lists[k[i]])
        if k[i] == 0:
            lists[1].append(i)
    return total, lists


def handed_on(k: Any, x: Any, lists: Any) -> Any:
    found, last = [], None
    for i in range(len(k)):
        last = lists[k[i]]
        found.append(last[0] + lists[k[i]][1])
    return found, last, lists


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [stored_to, stored_to_the_chosen, replaced_lists, appended_to, handed_on])
def test_lists_from_outside_that_a_loop_changes(function: Any, backend: str) -> None:
    def lists(kind: int) -> Any:
        first = [0, 1.5]
        return [first, [1.0, 2], first] if kind == 1 else [first, [1.0, 2], [0.5, 3]]

    rng = np.random.default_rng(0)
    for kind in (0, 1):
        for high in (3, 4):
            arguments = copies_of(rng.integers(0, high, 20), rng.random(26), lists(kind))
            for cost_model in (True, False):
                options = {"backend": backend, "options": {**OPTIONS, "cost_model": cost_model}}
                require_equal(function, arguments, compile=dynamo_lite.compile, compile_options=options)
