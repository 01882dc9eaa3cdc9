"""Lists that the program has as objects: compared by their items, given to NumPy, lengthened by `+=`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False}
START, GOAL, ACTIONS = [3, 0], [3, 6], [0, 1, 2, 3]


def move(state: Any, action: Any) -> Any:
    i, j = state
    if action == 0:
        return [max(i - 1, 0), j]
    if action == 1:
        return [i, max(j - 1, 0)]
    if action == 2:
        return [i, min(j + 1, 6)]
    return [min(i + 1, 3), j]


def walk(n: int) -> Any:
    """`state` is a list from outside first, and one made in each round."""
    rounds = falls = 0
    state = START
    while state != GOAL and rounds < n:
        state = move(state, np.random.choice(ACTIONS))
        falls += state == START
        rounds += 1
    return rounds, falls, state


def compares(states: Any, goal: Any) -> Any:
    found = []
    for place in range(len(states) - 1):
        states[place] = [states[place][0] + 1, states[place + 1][1]]
        found.append((states[place] == goal, goal != states[place + 1], states[place] == [2, 1]))
    return found


def greedy(values: Any) -> Any:
    most = np.max(values)
    return np.random.choice([place for place, value in enumerate(values) if value == most])


def learns(q: Any, n: int) -> Any:
    state, rounds = START, 0
    while state != GOAL and rounds < n:
        action = greedy(q[state[0], state[1]]) if np.random.rand() < 0.7 else np.random.choice(ACTIONS)
        after = move(state, action)
        q[state[0], state[1], action] += 0.1 * (np.max(q[after[0], after[1]]) - q[state[0], state[1], action] - 1.0)
        state = after
        rounds += 1
    return q.tobytes(), rounds


def fills(n: int, out: list[float], x: Any) -> Any:
    for i in range(n):
        best = 0.0
        while best < x[i % len(x)]:
            best += 0.5
        out += [best]
        out += (x[i % len(x)],)
    return out


def joined(n: int, out: Any, x: Any) -> Any:
    for i in range(n):
        out += x[i : i + 2]  # an array: the sum of the two
    return out


def in_tens(n: int, out: list[Any], x: Any) -> Any:
    for i in range(n):
        out += [x[i]] if i % 10 else [x[i], x[i]]
        out += [len(out)]
    return out


Q = np.random.RandomState(0).randint(0, 3, (4, 7, 4)) * 0.5
X = np.random.RandomState(2).rand(40) * 3


def result(function: Any, args: Any) -> Any:
    np.random.seed(4)
    args = copy.deepcopy(args)
    given = function(*args)
    return given, args[1:], np.random.rand(), type(given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "function, args, is_native",
    [
        (walk, (0,), False),
        (walk, (1,), True),
        (walk, (500,), True),
        (compares, ([[k % 3, k % 2] for k in range(40)], [2, 0]), True),
        (compares, ([[k % 3, k % 2] for k in range(40)], [2, 0, 1]), False),
        (learns, (Q, 300), True),
        (fills, (30, [], X), True),
        (fills, (30, [1.5], X), True),
        (joined, (3, [1.0, 2.0], X), False),
        (in_tens, (30, [], X), False),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_lists_in_loops(function: Any, args: Any, is_native: bool) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(3):
        (given, after, *rest), (expected, wanted, *others) = result(fast, args), result(function, args)
        assert rest == others
        assert repr(given) == repr(expected)
        assert repr(after) == repr(wanted)
    loops = {record.line: record.outcome for record in fast.explain().loops}
    if is_native:
        assert set(loops.values()) == {"native"}, loops


def test_a_walk_from_what_somebody_else_has_leaves_it_alone() -> None:
    fast = dynamo_lite.compile(walk, options=OPTIONS)
    for n in (0, 3, 0):
        np.random.seed(0)
        assert (fast(n)[2] is START) == (n == 0)
    assert START == [3, 0]
