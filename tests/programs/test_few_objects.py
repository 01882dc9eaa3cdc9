"""One of a few objects, or None, that data chooses (branches/few_objects.py, objects/few_attributes.py)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, table
from tests.programs.random_array_lists import described

PROGRAMS, program = table()


class Ball:
    """An object with an array and two numbers."""

    kind = "ball"

    def __init__(self, place: Any, size: float) -> None:
        self.place, self.size, self.hits = place, size, 0

    @property
    def twice(self) -> float:
        return self.size * 2.0

    def near(self, x: Any) -> Any:
        return x - self.place * 0.5


def balls(n: int = 4) -> tuple[Any, ...]:
    generator = np.random.default_rng(n)
    return [Ball(generator.normal(size=3), 0.5 + i) for i in range(n)], generator.normal(size=3)


def told(value: Any, others: list[Any]) -> Any:
    """A value, with each ball as which of them it is."""
    if isinstance(value, Ball):
        return "ball", next((place for place, one in enumerate(others) if one is value), None)
    if isinstance(value, tuple | list):
        return type(value), [told(one, others) for one in value]
    if isinstance(value, np.ndarray):
        return described(value, {}), [value is one.place for one in others]
    if isinstance(value, dict | set):
        return type(value), [told(one, others) for one in (value.items() if isinstance(value, dict) else value)]
    if hasattr(value, "__self__"):
        return value.__name__, told(value.__self__, others)
    return type(value), repr(value)


def outcome(fn: Any, args: tuple[Any, ...]) -> Any:
    others, x = args
    try:
        result = told(fn(others, x), others)
    except Exception as error:
        result = type(error), str(error)
    return result, x.tobytes(), [described([one.place, one.size, one.hits], {}) for one in others]


@program(balls)
def nearest(balls, x):
    best, least = None, np.inf
    for b in balls:
        d = np.linalg.norm(b.place - x)
        if best is None or d < least:
            best, least = b, d
    return best, least


@program(balls)
def reads_the_nearest(balls, x):
    best, least = None, 1e9
    for b in balls:
        d = np.linalg.norm(b.place - x)
        if d < least:
            best, least = b, d
    return best.place * 2.0, best.size, best.twice, best.near(x), best.kind


@program(balls)
def the_first_that_is_hit(balls, x):
    hit = None
    for b in balls:
        if np.linalg.norm(b.place - x) < b.size:
            hit = b
            break
    if hit is None:
        return None
    return hit.near(x) + x


@program(balls)
def stores_to_the_greatest(balls, x):
    best = balls[0]
    for b in balls[1:]:
        if b.place @ x > best.place @ x:
            best = b
    best.hits += 1
    best.size = x[0]
    best.place += 1.0
    return best.place + x


@program(balls)
def by_builtins(balls, x):
    nearest = min(balls, key=lambda b: np.linalg.norm(b.place - x))
    highest = max(balls, key=lambda b: b.place[2])
    right = next((b for b in balls if b.place[0] > x[0]), None)
    return nearest, highest, right, nearest is highest, right is None


@program(balls)
def which_it_is(balls, x):
    best = balls[0]
    for b in balls:
        if b.place[1] > 0.0:
            best = b
    return [b is best for b in balls], best is not None, not best


@program(balls)
def in_rounds(balls, x):
    for _ in range(30):
        best, least = None, 1e9
        for b in balls:
            d = np.linalg.norm(b.place - x)
            if best is None or d < least:
                best, least = b, d
        x = x + 0.1 * (best.place - x)
    return x, best


@program(balls)
def from_one_round_to_the_next(balls, x):
    best = balls[0]
    for _ in range(30):
        for b in balls:
            if np.linalg.norm(b.place - x) < np.linalg.norm(best.place - x):
                best = b
        x = x + 0.1 * (best.place - x)
        best.hits += 1
    return x, best


@program(balls)
def none_at_first(balls, x):
    last = None
    for t in range(30):
        for b in balls:
            if b.place @ x > t:
                last = b
        if last is not None:
            x = x - 0.1 * last.place
    return x, last


@program(balls)
def with_branches_behind_the_loop(balls, x):
    best = None
    for t in range(30):
        for b in balls:
            if b.place @ x > t * 0.1:
                best = b
        x = x * 0.99
    if x[0] > 0.0:
        x = x * 2.0
    return x, best


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_one_graph(name: str, backend: str) -> None:
    fn, make = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    for _ in range(3):
        assert outcome(fn, make()) == outcome(fast, make())
    found = dynamo_lite.explain(fn, backend=backend, options=OPTIONS)(*make())
    assert not found.breaks and len(found.graphs) == 1, found
    assert {loop.outcome for loop in found.loops} <= {"native"}, found


START = ("None", "balls[0]")
EXPRESSIONS = (
    *("best == None", "best == 1", "balls[0] != best", "best in balls", "isinstance(best, Ball)", "type(best) is Ball"),
    *(
        "[best, best]",
        "{'a': best}",
        "(best, best)[0] is best",
        "hash(best) == hash(balls[0])",
        "best is best",
        "{best}",
    ),
    *("bool(best)", "best and best.size", "best or 3", "f'{best}'[:3]", "best.place[0] if best else 0.0", "best + 1"),
    *(
        "best.missing",
        "getattr(best, 'size', None)",
        "hasattr(best, 'place')",
        "callable(best)",
        "best.near",
        "best[0]",
    ),
    *("balls.index(best)", "[b for b in balls if b is best]", "best.place is balls[1].place", "vars(best)['size']"),
    *(
        "best.__class__",
        "best.__dict__['size']",
        "copy.copy(best).size",
        "best.size is balls[0].size",
        "{best: 1}[best]",
    ),
    *("max(balls, key=lambda b: b.size) is best", "np.array([best.size, 1.0])", "min(best.size, 1.0)", "best.place"),
)


@pytest.mark.parametrize("start", START)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_asked_of_one(expression: str, start: str) -> None:
    lines = f"best = {start}", "for b in balls:", "    if b.place @ x > 0.1: best = b", f"return {expression}"
    space: dict[str, Any] = {"np": np, "Ball": Ball, "copy": copy}
    exec("def f(balls, x):\n" + "\n".join("    " + line for line in lines), space)
    fast = dynamo_lite.compile(space["f"], backend="reference", options=OPTIONS)
    for n in (2, 3):
        for factor in (1.0, -1.0, 0.0):
            made = [(lambda them: (them[0], them[1] * factor))(balls(n)) for _ in range(2)]
            assert outcome(space["f"], made[0]) == outcome(fast, made[1])


class Odd(Ball):
    """One whose truth and attributes are its own."""

    def __bool__(self) -> bool:
        return self.size > 1.0

    @property
    def place(self) -> Any:  # type: ignore[override]
        self.looks = getattr(self, "looks", 0) + 1
        return self.at

    @place.setter
    def place(self, place: Any) -> None:
        self.at = place


def asks(balls: Any, x: Any) -> Any:
    best = None
    for b in balls:
        if b.size * x[0] > 0.6:
            best = b
    seen = best.place * 2.0 if best else None
    return best, seen, [getattr(b, "looks", 0) for b in balls]


def _with(*others: Any) -> tuple[Any, ...]:
    them, x = balls(3)
    made = [Odd(them[0].place, 0.7), Odd(them[1].place, 1.2), Ball(them[2].place, 0.9)]
    return [made[other] if isinstance(other, int) else other for other in others], x


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_of_several_kinds_and_one_object_twice(backend: str) -> None:
    fast = dynamo_lite.compile(asks, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for others in ((0, 1, 2), (2, 2), (0, 1), (1, 0), (1, 1, 1), (2, 0, 2), (0, 1)):
        for factor in (1.0, -1.0, 3.0):
            made = [(lambda them: (them[0], np.abs(them[1]) * factor))(_with(*others)) for _ in range(2)]
            assert outcome(asks, made[0]) == outcome(fast, made[1])
