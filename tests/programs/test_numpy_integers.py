"""NumPy integers where Python ints may stand: in an index that makes a view, as the places of np.roll."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, registry, rng

CASES, case = registry()


def block(count: int, size: int) -> tuple[Any, ...]:
    numbers = rng(size).integers(-3, 4, (3, count + 1))
    numbers[0] = np.arange(count + 1) % 3
    return rng(size).random((size, size + 1, 3)), *numbers


@case(block, versions=2)
def streamed(x: Any, at: Any, along: Any, across: Any) -> Any:
    for i, a, b in zip(at, along, across):  # noqa: B905
        x[:, :, i] = np.roll(x[:, :, i], a, axis=1)
        x[:, :, i] = np.roll(x[:, :, i], -b, axis=0)
    return x


@case(block, versions=2)
def rolled_both(x: Any, at: Any, along: Any, across: Any) -> Any:
    for k in range(len(at)):
        x = np.roll(x, (along[k], int(across[k])), axis=(0, 1)) + np.roll(x, along[k])
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_loops(name: str, backend: str) -> None:
    check(CASES[name], backend)


def one_axis(x: Any, i: Any, j: Any) -> Any:
    return x[i] * 2.0, x[:, j], x[i, ...], x[None, j], x[i, j]


def puts(x: Any, i: Any, j: Any) -> Any:
    x[i] = x[:, j] + 1.0
    x[:, j] -= x[i]
    x[i, j] = 3.0
    return x


def rolls(x: Any, i: Any, j: Any) -> Any:
    return np.roll(x, i, axis=0) + np.roll(x, j, axis=1), np.roll(x, i), np.roll(x, (i, j), axis=(0, 1))


def out_of_an_array(x: Any, i: Any, j: Any) -> Any:
    places = np.array([0, 2]) + i
    return x[places[0]] + np.roll(x[places[1] - 2], places[1] - j)


def ranges(x: Any, i: Any, j: Any) -> Any:
    numbers = range(j)
    for k in range(np.abs(i) + 2):
        x[k % 4] += k * 0.5
    for k in range(i, j):
        x[:, k % 4] *= 0.5
    return x, numbers, len(numbers)


def pairs() -> dict[str, Callable[[], tuple[Any, ...]]]:
    def made(i: Any, j: Any, order: str = "C") -> Callable[[], tuple[Any, ...]]:
        return lambda: (np.array(rng(3).random((4, 4)), order=order), copy.copy(i), copy.copy(j))  # type: ignore[call-overload]

    big = np.iinfo(np.int64)
    return {
        "ints": made(np.int64(1), np.int64(2)),
        "negative": made(np.int64(-1), np.int64(-4)),
        "outside": made(np.int64(4), np.int64(0)),
        "far outside": made(np.int64(1), np.int64(-5)),
        "largest": made(np.int64(big.max), np.int64(big.min)),
        "small ints": made(np.int8(1), np.int16(3)),
        "unsigned": made(np.uint8(1), np.uint64(3)),
        "largest unsigned": made(np.uint64(2**64 - 1), np.uint64(1)),
        "python": made(1, 2),
        "one of each": made(np.int64(1), 2),
        "truths": made(np.True_, np.False_),
        "0-d": made(np.array(1), np.array(2)),
        "one element": made(np.array([1]), np.array([2])),
        "floats": made(np.float64(1.0), np.float64(2.0)),
        "Fortran": made(np.int64(3), np.int64(0), "F"),
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [one_axis, puts, rolls, out_of_an_array, ranges])
def test_every_kind_of_integer(fn: Any, backend: str) -> None:
    first, *rest = pairs().values()
    options = {"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}}
    require_equal(fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=2)


@pytest.mark.parametrize("fn", [one_axis, puts, rolls, out_of_an_array, ranges])
def test_one_graph_for_all_values(fn: Any) -> None:
    made = dynamo_lite.compile(fn, options=OPTIONS)
    for i in range(4):
        for j in range(4):
            x = rng(i).random((4, 4))
            assert repr(made(x.copy(), np.int64(i), np.int64(j))) == repr(fn(x.copy(), np.int64(i), np.int64(j)))
    stats = made.stats()
    assert stats["compiles"] == 1 and stats["native_calls"] == 16 and not stats["declines"] and not stats["breaks"]


def sizes(x: Any, i: Any, j: Any) -> Any:
    head = x[:j] * 2.0
    return head, x[i:] + 1.0, head.shape[0], np.zeros(j), slice(0, j), (j, [i] * 2), x[:, i:j].sum(), len(x[j:])


def sizes_in_loops(x: Any, i: Any, j: Any) -> Any:
    numbers = []
    for k in range(3):
        x[:j] += x[i:].sum() * k
        numbers.append(x[:j].shape[0])
    return x, numbers, j


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [sizes, sizes_in_loops])
def test_bounds_and_sizes_from_outside(fn: Any, backend: str) -> None:
    first, *rest = pairs().values()
    options = {"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}}
    require_equal(fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=2)


def test_a_bound_from_outside_is_a_number_of_the_call() -> None:
    made = dynamo_lite.compile(sizes, options=OPTIONS)
    for j in range(2, 30):
        x = rng(j).random((40, 4))
        assert repr(made(x, np.int64(1), np.int64(j))) == repr(sizes(x, np.int64(1), np.int64(j)))
    stats = made.stats()
    assert stats["compiles"] <= 3 and not stats["declines"] and not stats["breaks"]


def cut_at_the_largest(x: Any, tells: bool) -> Any:
    place = np.argmax(x)
    if tells:
        print(end="")
    return x[:place].sum(), x[place:] * 2.0, x[:place] - 1.0, place


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tells", [False, True])
def test_a_bound_that_this_graph_or_an_earlier_one_has_found(tells: bool, backend: str) -> None:
    options = {"backend": backend, "options": OPTIONS}
    lists = [[0.5], [], [1.0, 2.0, 3.0], [3.0, 2.0], [0.0, np.nan]]
    report = require_equal(
        cut_at_the_largest,
        lambda: (rng(5).random(40), tells),
        variants=[lambda values=values: (np.array(values), tells) for values in lists],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options=options,
    )
    assert len(report.compiled.explain().breaks) == tells


def test_a_bound_that_the_graph_has_found_need_not_fit() -> None:
    def near_the_largest(x: Any, weights: Any) -> Any:
        place = np.argmax(x)
        part = x[place - 2 : place + 3]
        return part * 2.0, part.sum(), part * weights

    rows = [rng(seed).random(9 + seed) for seed in range(12)]
    require_equal(
        near_the_largest,
        lambda: (np.arange(9.0) % 5, np.arange(5.0)),
        variants=[lambda row=row: (row.copy(), np.arange(5.0)) for row in rows],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
