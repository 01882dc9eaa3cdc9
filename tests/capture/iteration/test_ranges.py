"""Ranges that come from outside: gone through, indexed, compared and handed on, whatever their bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

Array = Any

RANGES = (
    range(4),
    range(1, 5),
    range(0, 8, 2),
    range(5, 0, -1),
    range(0),
    range(30),
    range(0, 30, 7),
    range(3, 3 + 2**40, 2**38),
    range(True, 5),
    range(2**70, 2**70 + 5),
)


def length(x: Array, r: range) -> Any:
    return x * len(r), r


def items(x: Array, r: range) -> Any:
    return x + r[1], r[-1]


def total(x: Array, r: range) -> Any:
    return x + sum(r)


def as_index(x: Array, r: range) -> Any:
    return x[r]  # type: ignore[call-overload,index]


def truths(x: Array, r: range) -> Any:
    return x + (2 in r), r == range(4), bool(r)


def bounds(x: Array, r: range) -> Any:
    return x + r.start, r.stop, r.step, type(r), isinstance(r, range)


def comprehension(x: Array, r: range) -> Any:
    return [x * i for i in r], list(r), tuple(r)


def both_ways(x: Array, r: range) -> Any:
    for i in r:
        x = x + i
    for i in reversed(r):
        x = x * 0.5 + i
    return x, i


def slices(x: Array, r: range) -> Any:
    return x + 1, r is not None, hash(r), r[1:], r[::-1]


def zipped(x: Array, r: range) -> Any:
    s = r
    for i, j in zip(r, s):  # noqa: B905
        x = x + i * j
    return x, s is r


def as_array(x: Array, r: range) -> Any:
    return np.array(r) + x[0], np.sum(r), x * 2  # type: ignore[call-overload]


def extremes(x: Array, r: range) -> Any:
    return x + max(r), min(r), sorted(r), r.index(1), r.count(2)


def numbered(x: Array, r: range) -> Any:
    for k, i in enumerate(r):
        x = x + k * i
    return x


def text(x: Array, r: range) -> Any:
    return f"{r}", str(r), repr(r), x + 1


def shapes(x: Array, r: range) -> Any:
    return x.reshape(r[1], -1), x[r[0] : r[2]]


def iterator(x: Array, r: range) -> Any:
    it = iter(r)
    n = next(it)
    return x + n, list(it)


def parts(x: Array, r: range) -> Any:
    for i in r[::-1]:
        x = x * 0.5 + i
    for i in r[1:3]:
        x = x + i
    return x, r[::2], r[::-1][0], r[-2:][::-1], list(r[:-1:3])


PROGRAMS = (
    parts, length, items, total, as_index, truths, bounds, comprehension, both_ways,
    slices, zipped, as_array, extremes, numbered, text, shapes, iterator,
)  # fmt: skip


@pytest.mark.parametrize("native_loops", [True, False])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_range_arguments(program: Callable[..., Any], native_loops: bool) -> None:
    first, *rest = [lambda r=r: (np.arange(1.0, 13.0), r) for r in RANGES]  # type: ignore[misc]
    options = {"cost_model": False, "check": 1, "native_loops": native_loops}
    require_equal(
        program, first, variants=rest, compile=dynamo_lite.compile,
        compile_options={"options": {**options, "recompile_limit": 100}},
    )  # fmt: skip


def rows(x: Array, first: int, last: int) -> Any:
    total, seldom = 0.0, 0
    for i in range(12):
        if i in range(2, 7) and x[i] > 3.5:
            total += x[i]
        elif i not in range(first, last) or i in range(9, 0, -3):
            total -= x[i] * 0.5
        elif (i > 7) in range(1, 2):
            seldom += 1
    return total, seldom


@pytest.mark.parametrize("ends", [(3, 8), (8, 3), (-5, 2**40), (0, 2**70), (False, True)])
def test_numbers_of_a_loop_are_looked_for_in_ranges(ends: tuple[int, int]) -> None:
    x = np.arange(1.0, 13.0)
    fast = dynamo_lite.compile(rows, options={"cost_model": False, "check": 1})
    assert repr(fast(x, *ends)) == repr(rows(x, *ends))
    if type(ends[0]) is int and ends[1] < 2**63:
        assert [loop.outcome for loop in dynamo_lite.explain(fast)(x, *ends).loops] == ["native"]


@pytest.mark.parametrize("i", [0, 3, -1, True, 2.0, 2**70, np.int64(2), "2", 1j, None])
def test_what_is_looked_for_in_a_range(i: Any) -> None:
    def among(x: Array, n: int, i: Any) -> Any:
        return x + 1 if i in range(n) else x * 2

    for n in (3, 0, 2**70)[: 3 if isinstance(i, int) else 2]:  # NB: others are compared with each
        require_equal(among, lambda n=n: (np.arange(3.0), n, i), compile=dynamo_lite.compile,  # type: ignore[misc]
                      compile_options={"options": {"cost_model": False, "check": 1}})  # fmt: skip


def numbers(x: Array, n: int, first: int, last: int) -> int:
    found = 0
    for i in range(n):
        number = int(x[i])
        if number in range(first, last, 3):
            found += 1
        if number in range(last, first, -7):
            found += 100
        if (number > 0) in range(first, last, 2):
            found += 10000
    return found


ENDS = (-(2**63), -(2**40), -9, -5, 0, 1, 3, 8, 2**41, 2**63 - 1)


USUAL, EXTREME = (2**40, -(2**40), -9, -5, -2, 0, 1, 2, 3, 4, 7, 8, 9), (2**63 - 1, 2**63 - 3, -(2**63), 7)


@pytest.mark.parametrize("of", [USUAL, EXTREME], ids=["usual", "extreme"])
def test_elements_are_looked_for_in_ranges_with_steps(of: tuple[int, ...]) -> None:
    """Where a number less the range's first one is beyond 64 bits, too."""
    x = np.array(of)
    fast: Any = dynamo_lite.compile(numbers, options={"cost_model": False, "check": 1})
    for first in ENDS:
        for last in ENDS:
            assert fast(x, len(x), first, last) == numbers(x, len(x), first, last)
    assert of is EXTREME or fast.stats()["native_calls"] > 50


def backwards(x: Array, n: int) -> Any:
    for i in range(n)[::-1]:
        x[i] = x[i + 1] * 0.5 + x[i]
    return x, range(n, 1)[::-1]


def test_a_loop_over_a_range_backwards_is_native_whatever_its_length() -> None:
    fast = dynamo_lite.compile(backwards, options={"cost_model": False, "check": 1})
    for n in (11, 7, 1, 0, -2, 9):
        assert repr(fast(np.arange(12.0), n)) == repr(backwards(np.arange(12.0), n))
    assert fast.stats()["compiles"] <= 3
    assert [loop.outcome for loop in dynamo_lite.explain(fast)(np.arange(12.0), 9).loops] == ["native"]


def _item(n: int, k: int) -> int:
    return range(n)[k]


def _from_the_end(n: int, k: int) -> Any:
    return range(3, n + 7, 2)[k], range(n, 0, -1)[k], range(n, 0, -3)[-2], range(n)[-1]


def _summed(n: int, k: int) -> Any:
    total, items = 0, range(2, n, 3)
    for i in range(k):
        total += items[i] * i - items[-i - 1]
    return total


@pytest.mark.parametrize("fn", [_item, _from_the_end, _summed])
def test_items_under_numbers_of_the_call(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options={"cost_model": False})
    for n, k in ((40, 3), (50, -4), (5, 5), (5, 4), (5, -6), (5, -5), (0, 0), (2000, 600), (9, 3), (41, 8)):
        for _ in range(2):
            assert _tried(fast, n, k) == _tried(fn, n, k), (n, k)
    assert fast.stats()["compiles"] <= 5


def _tried(fn: Callable[..., Any], *args: int) -> Any:
    try:
        return fn(*args)
    except IndexError as error:
        return str(error)
