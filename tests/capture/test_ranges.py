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


PROGRAMS = (
    length, items, total, as_index, truths, bounds, comprehension, both_ways,
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
