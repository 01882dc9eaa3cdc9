"""Variables of comprehensions that inner functions share, or that are named like ones which they share: from CPython
3.12 on, both have one slot of the frame (PEP 709)."""
# ruff: noqa: B023, C416, E731, RUF015

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import config, stress
from tests.oracle import require_equal


def breaks() -> None:
    print("here")


def closes_over_its_own(xs: Any, x: int) -> Any:
    made = [(lambda: x) for x in (1, 2)]
    breaks()
    return np.sqrt(xs) + x, x, [one() for one in made]


def breaks_in_front(xs: Any, x: int) -> Any:
    made = [(lambda: x) for x in (1, breaks(), 2)]
    return np.sqrt(xs) + x, x, [one() for one in made]


def breaks_inside(xs: Any, x: int) -> Any:
    shared = lambda: x
    kept = [(print("here"), x)[1] for x in (1, 2)]
    z = np.sqrt(xs) + x
    x = 5
    return z, x, kept, shared()


def breaks_inside_of_closures(xs: Any, x: int) -> Any:
    made = [(print("here"), lambda: x)[1] for x in (1, 3, 2)]
    z = np.sqrt(xs) + x
    x = 5
    return z, x, [one() for one in made]


def has_both(xs: Any, x: int) -> Any:
    shared = lambda: x
    made = [(x, (lambda: x, x)) for x in (1, 2)]
    z = xs + x
    breaks()
    kept = [x * z for x in (breaks(), 2) if x]
    x += 1
    return z, [(a, b[0](), b[1]) for a, b in made], shared(), kept


def fails_inside(xs: Any, x: int) -> Any:
    shared = lambda: x
    try:
        kept = [(print("here"), 1 // x)[1] for x in (1, 3, 0)]
    except ZeroDivisionError:
        kept = []
    return np.sqrt(xs), kept, shared()


def hides_a_free_one(xs: Any, x: int) -> Any:
    def inner() -> Any:
        nonlocal x
        plain = [x for x in (1, 2)]
        breaks()
        x = x + 1
        made = [(lambda: x) for x in (3, 4)]
        breaks()
        x = x + 1
        return plain, [one() for one in made], x

    return xs * 2, inner(), x


def nests(xs: Any, x: int) -> Any:
    made = {x: (lambda: x) for x in (1, 2)}
    rows = [[(lambda: (x, y)) for y in (5, 6)] for x in (1, 2)]
    breaks()
    y = xs * 2 + x
    return y, {key: one() for key, one in made.items()}, [[one() for one in row] for row in rows]


def hides_an_unbound_one(xs: Any, x: int) -> Any:
    del x
    made = [(lambda: x) for x in (1, 2)]
    breaks()
    try:
        x  # noqa: B018
    except NameError as error:
        return str(error), made[0](), xs * 2


def in_a_loop(xs: Any, x: int) -> Any:
    total, kept = 0.0, []
    for i in range(3):
        total += sum(xs[k] * i for k in range(3))
        kept.append([i for i in range(4)])
        kept.append([(lambda: i) for i in (1, 2)][0]())
        xs = xs * 2 + i
        if i == 1:
            breaks()
    return xs, total, kept, i


def _inlined(x: int) -> Any:
    shared = lambda: x
    made = [(lambda: x) for x in (1, 2)]
    kept = [x * 2 for x in (1, 2)]
    x += 1
    return kept, [one() for one in made], shared(), x


def inlines(xs: Any, x: int) -> Any:
    return _inlined(x), xs * 2 + 1


FUNCTIONS = (
    *(closes_over_its_own, breaks_in_front, breaks_inside, breaks_inside_of_closures, has_both, fails_inside),
    *(hides_a_free_one, nests, hides_an_unbound_one, in_a_loop, inlines),
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
@pytest.mark.parametrize("stress", ["", "break"])
def test_as_plain_python(function: Callable[..., Any], stress: str) -> None:
    options = {"cost_model": False, "stress": stress}
    require_equal(
        function, lambda: (np.arange(3.0), 7), compile=dynamo_lite.compile, compile_options={"options": options}
    )


@pytest.mark.usefixtures("no_mode")
def test_under_the_hook() -> None:
    x = np.arange(3.0)
    plain = [repr(function(x, 7)) for function in FUNCTIONS]
    for mode in ("compile", "break", "rewrite"):
        with config.patch(stress=mode):
            stress.enable()
            try:
                found = [[repr(function(x, 7)) for function in FUNCTIONS] for _ in range(3)]
            finally:
                stress.disable()
        assert found == [plain] * 3, mode
