"""Items of lists and dicts that a loop stores under numbers which only the run knows, and texts made of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, loops_left, registry, rng, vector

CASES, case = registry()


def with_list(count: int, size: int) -> tuple[Any, ...]:
    x = rng(size).random(size)
    return x, count, [0.5, x, 7, 1.25, "text", None]


def with_dict(count: int, size: int) -> tuple[Any, ...]:
    x = rng(size).random(size)
    return x, count, {0: 0.5, 3: x, "name": "text"}


@case(vector)
def into_zeros(x, n):  # type: ignore[no-untyped-def]
    out = [0.0] * n
    for i in range(n):
        x = x * 0.5
        out[i] = float(x.sum())
    return out


@case(vector)
def from_the_end(x, n):  # type: ignore[no-untyped-def]
    out = [0] * (2 * n)
    for i in range(n):
        x = x * 0.5
        out[-i - 1] = x
        out[i] = i * 3
    return out, x


@case(vector)
def in_turn(x, n):  # type: ignore[no-untyped-def]
    out = [x, 0.5, x]
    for i in range(n):
        x = x * 0.5
        out[i % 3] = x
        if i == 5:
            out[1] = x * 3
    return out


@case(vector)
def swapped_with_others(x, n):  # type: ignore[no-untyped-def]
    out, other = [0.0] * 3, [1.0] * 4
    for i in range(n):
        x = x * 0.5
        out[i % 3] = x
        other[i % 4] = out
    return out, other


@case(vector)
def rows(x, n):  # type: ignore[no-untyped-def]
    every = []
    for i in range(n):
        row = [0] * n
        for j in range(n):
            x = x * 0.9
            row[j] = x.sum() + i
        every.append(row)
    return every


@case(vector)
def tuples(x, n):  # type: ignore[no-untyped-def]
    out = [None] * n if n > 100 else [0] * n
    for i in range(n):
        x = x * 0.5
        out[i] = (i, x, x.sum())
    return out


@case(vector)
def under_keys(x, n):  # type: ignore[no-untyped-def]
    out = {}
    for i in range(n):
        x = x * 0.5
        out[i] = x
    return out


@case(vector)
def counted(x, n):  # type: ignore[no-untyped-def]
    last = {7: 2.0, 1: x}
    for i in range(n):
        x = x * 0.5
        last[int(x[i % 4] * 10)] = i
    return last, list(last)


@case(vector)
def under_floats(x, n):  # type: ignore[no-untyped-def]
    at = {}
    for i in range(n):
        x = x * 0.5
        at[i * 0.5] = x.sum()
    return at


@case(vector)
def comprehended(x, n):  # type: ignore[no-untyped-def]
    return {i: x * i for i in range(n)}


@case(vector)
def over_repeated(x, n):  # type: ignore[no-untyped-def]
    for one in [x] * n:
        x = x + one * 0.5
    return x


@case(with_list)
def outside(x, n, held):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5
        held[i % 4] = x
    return x


@case(with_list)
def outside_and_appended(x, n, held):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5
        held.append(i)
        held[i] = x
    return x


@case(with_dict)
def outside_under_keys(x, n, held):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5
        held[i % 5] = x
    return x


@case(vector)
def texts(x, n):  # type: ignore[no-untyped-def]
    out = []
    for i in range(n):
        x = x * 0.5
        out.append(f"{i}: {x[0]:.3e} {float(x[1])!r:>24} {{{i % 2 == 0}}}")
    return out, x


@case(vector)
def texts_under_keys(x, n):  # type: ignore[no-untyped-def]
    out = {}
    for i in range(n):
        x = x * 0.5
        out[i % 7] = f"{i:>4}"
    return out, x


@case(vector, plain=True)
def read_again(x, n):  # type: ignore[no-untyped-def]
    out = [0.0] * (n + 1)
    for i in range(n):
        x = x * 0.5
        out[i + 1] = x.sum() + out[i]
    return out


@case(vector, plain=True)
def looked_up(x, n):  # type: ignore[no-untyped-def]
    seen = {}
    for i in range(n):
        x = x * 0.5
        if i % 3 not in seen:
            seen[i % 3] = x
    return seen


@pytest.mark.parametrize("every", [0, 2])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_outcome(name: str, backend: str, every: int) -> None:
    one = CASES[name]
    with loops_left(every):
        report = compared(one, backend, calls=2, recompile_limit=100)
    if not every and not _C.get_stress():
        found = {loop.outcome for loop in report.compiled.explain().loops}
        assert ("native" in found) != one.plain, report.compiled.explain()


class Noisy:
    """An object whose death is noticed."""

    def __init__(self, heard: list[str]) -> None:
        self.heard = heard

    def __del__(self) -> None:
        self.heard.append("died")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_decline_puts_everything_back(backend: str) -> None:
    def fill(x: Any, n: int, held: list[Any], table: dict[Any, Any]) -> Any:
        for i in range(n):
            held.append(x)
            held[i % 3] = x * i
            table[i] = x
            x = x / (x - 3.0)  # which is 0 in the fourth iteration of some calls
        return x

    def args() -> tuple[Any, ...]:
        return np.array([3.0 + 1e-9, 5.0]), 4, [0.0, 1.0, 2.0], {2: "x", 9: 1.0}

    def zero() -> tuple[Any, ...]:
        return np.array([3.0, 5.0]), 4, [0.0, 1.0, 2.0], {2: "x", 9: 1.0}

    options = {"backend": backend, "options": OPTIONS}
    report = require_equal(fill, args, variants=[zero, zero], compile=dynamo_lite.compile, compile_options=options)
    assert report.warned and (_C.get_stress() or report.stats["declines"])


def test_what_dies_is_noticed_in_its_place() -> None:
    heard: list[str] = []

    def fill(x: Any, n: int, held: list[Any]) -> Any:
        for i in range(n):
            x = x * 0.5
            held[i % 3] = x
        return x, list(heard)

    fast = dynamo_lite.compile(fill, options=OPTIONS)
    for _ in range(3):
        del heard[:]
        _, said = fast(np.ones(4), 5, [0.0, Noisy(heard), 2.0])
        assert said == ["died"]


def test_an_index_out_of_range_is_python_s_own() -> None:
    def fill(x: Any, n: int) -> Any:
        out = [0.0] * 5
        for i in range(n):
            x = x * 0.5
            out[i] = x
        return out

    require_equal(
        fill, lambda: (np.ones(4), 5), variants=[lambda: (np.ones(4), 7)], compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )  # fmt: skip


def test_one_list_by_two_names() -> None:
    def fill(x: Any, n: int, one: list[Any], other: list[Any]) -> Any:
        for i in range(n):
            x = x * 0.5
            one[i % 3] = x
            other[(i + 1) % 3] = x * 2
        return x

    def same() -> tuple[Any, ...]:
        held = [0.0, 1.0, 2.0]
        return np.ones(4), 5, held, held

    require_equal(
        fill, lambda: (np.ones(4), 5, [0.0] * 3, [1.0] * 3), variants=[same, same], compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )  # fmt: skip
