"""`&`, `|` and `^` of comparisons of Python numbers, in loops that change these: both sides are computed, and what
comes of it is a bool that chooses, is counted and is stored."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS


def decays(n: int, p: float) -> tuple[int, int]:
    left, gone = n, 0
    for _ in range(2 * n):
        if (random.random() < p) & (left > 0):
            left -= 1
            gone += 1
    return left, gone


def outside(xs: Any, low: float, high: float) -> tuple[float, int]:
    total, count = 0.0, 0
    for x in xs:
        if (x < low) | (x > high):
            total += x
        count += (x > low) ^ (x > high)
    return total, count


def fizz(n: int) -> tuple[Any, int, bool]:
    marks, odd, last = np.zeros(n, bool), 0, False
    for i in range(n):
        last = (i % 3 == 0) ^ (i % 5 == 0) | last & (i % 2 == 0)
        marks[i] = last
        odd += last
    return marks, odd, last


def together(xs: Any) -> int:
    found = 0
    for i in range(1, len(xs) - 1):
        here, before = float(xs[i]), float(xs[i - 1])
        inside = (here > 0.2) & (here < 0.8) & (i > 2)
        if inside & (before < here) or (before > 0.9) & (not inside):
            found += 1
    return found


XS = np.random.default_rng(3).random(60)
CASES: list[tuple[Callable[..., Any], Any]] = [
    *((decays, (n, p)) for n, p in ((50, 0.3), (7, 0.9), (0, 0.5))),
    *((outside, (xs.tolist(), 0.25, high)) for xs in (XS, XS[:1]) for high in (0.75, 0.1, float("nan"))),
    *((fizz, (n,)) for n in (1, 2, 47)),
    (together, (XS,)),
]


@pytest.mark.parametrize(("function", "arguments"), CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_with_bools(function: Callable[..., Any], arguments: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for seed in range(3):
        random.seed(seed)
        expected = function(*arguments)
        random.seed(seed)
        found = fast(*arguments)
        assert repr(found) == repr(expected)


@pytest.mark.parametrize("function", [decays, outside, fizz, together])
def test_they_stay_native(function: Callable[..., Any]) -> None:
    arguments = next(given for one, given in CASES if one is function)
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(3):
        fast(*arguments)
    assert fast.stats()["breaks"] == 0 and fast.stats()["native_calls"] > 0


def beside(n: int, x: float, xs: Any) -> tuple[Any, ...]:
    large, zero = x > 0.5, x != x
    return xs * x, n + large, large - n, n * large, large + x, x * zero, x - large, x / (n + True)


def test_known_bools_beside_numbers() -> None:
    """What is known to be True or False is 1 or 0 there, and the number stays one that changes from call to call."""
    fast = dynamo_lite.compile(beside, options=OPTIONS)
    for n in range(12):
        for x in (0.25, 0.75, -0.0):
            assert repr(fast(n, x, XS)) == repr(beside(n, x, XS))
    assert fast.stats()["compiles"] <= 4


def term(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.2:
        left, right = draw.choice(["x", "y", "i", "0.3", "n"]), draw.choice(["x", "y", "i % 4", "0.6", "2"])
        return f"({left} {draw.choice(['<', '<=', '>', '==', '!='])} {right})"
    sides = term(draw, depth - 1), draw.choice(["&", "|", "^"]), term(draw, depth - 1)
    return f"({' '.join(sides)})"


@pytest.mark.parametrize("seed", range(12))
def test_random_terms(seed: int) -> None:
    draw = random.Random(seed)
    lines = [
        "def function(xs, n):",
        "    y, count, kept = 0.5, 0, []",
        "    for i in range(len(xs)):",
        "        x = float(xs[i])",
        f"        flag = {term(draw, 3)}",
        f"        if {term(draw, 2)}:",
        "            y = x - y",
        f"        count += {term(draw, 2)}",
        f"        kept.append(flag ^ {term(draw, 1)})",
        "        if flag:",
        "            count += 10",
        "    return y, count, kept, flag",
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    fast = dynamo_lite.compile(names["function"], options=OPTIONS)
    for n, size in ((3, 25), (0, 25), (3, 7), (1, 1)):
        assert repr(fast(XS[:size], n)) == repr(names["function"](XS[:size], n)), "\n".join(lines)
