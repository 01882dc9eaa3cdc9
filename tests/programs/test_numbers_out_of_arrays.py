"""Numbers that code takes out of arrays by item(), and pow(): the objects, the errors and the values are Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal


def the_only_one(x: Any) -> Any:
    angle = (x + np.pi) % (2 * np.pi) - np.pi
    return angle.item(), angle.item() * x


def one_of_some(x: Any) -> Any:
    return x.item(1, 0), x.item(-1, -1) * x


def by_a_flat_index(x: Any) -> Any:
    return x.item(1), x.item((0, 0))


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + np.asarray(x[i, 0]).flatten().item() + x.item(i, 0) - x.item(-i, 1)
    return total


def powers(x: Any) -> Any:
    total = 0
    for i in range(len(x)):
        total += pow(x[i, 0] - x[i, 1], 2)
    return total, pow(x, 2), pow(2, len(x)), pow(2.5, len(x)), pow(3, len(x), 5)


SMALL = (
    np.array([4.0]), np.array([[-4.5]]), np.full((1, 1, 1), 3.25, np.float32), np.array([3]), np.array(2.5),
    np.array([2**63], np.uint64), np.array([True]), np.array([1 + 2j]), np.zeros(0), np.ones(3), np.ones((2, 2)),
)  # fmt: skip
TABLES = (np.linspace(0.1, 2.0, 24).reshape(12, 2), np.arange(24).reshape(12, 2), np.ones((1, 2)), np.ones((0, 2)))


@pytest.mark.parametrize(
    ("fn", "arrays"),
    [
        *((the_only_one, SMALL), (one_of_some, (*TABLES, *SMALL)), (by_a_flat_index, (*TABLES, *SMALL))),
        *((in_a_loop, TABLES), (powers, TABLES)),
    ],
)
def test_is_pythons(fn: Any, arrays: tuple[Any, ...]) -> None:
    def arguments(array: Any) -> Any:
        return lambda: (array.copy(),)

    require_equal(
        fn, arguments(arrays[0]), variants=[arguments(array) for array in arrays[1:]], compile=dynamo_lite.compile
    )  # fmt: skip


@pytest.mark.parametrize(("fn", "array"), [(the_only_one, SMALL[1]), (in_a_loop, TABLES[0]), (one_of_some, TABLES[0])])
def test_is_one_program(fn: Any, array: Any) -> None:
    fast = dynamo_lite.compile(fn)
    fast(array)
    assert fast.stats()["native_calls"] == 1 and not fast.explain().breaks, fast.explain()


def whole_numbers_of_the_best(x: Any, k: int) -> Any:
    best, out, found = 0, np.zeros(len(x), dtype=int), 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
        out[i] = int(best) + k
        found += float(best)
    return out, found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [np.arange(9) * 7 % 5, np.linspace(-3.0, 9.0, 8), np.array([1e300, 2.0]), np.zeros(0)])
def test_conversions_of_what_is_pythons_or_numpys(x: Any, backend: str) -> None:
    report = require_equal(
        whole_numbers_of_the_best,
        lambda: (x.copy(), 2),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
    assert not report.stats["breaks"]


def latest_as_a_number(x: Any, k: int) -> Any:
    latest, total, other = 0, 0, 0.0
    for i in range(len(x)):
        total = total + int(latest)
        other = other + float(latest)
        if i % k:
            latest = x[i]
    return total, other


def sums_of_some(x: Any, k: int) -> Any:
    total = 0
    for i in range(len(x)):
        for j in range(i, i + 3):
            for _ in range(k):
                total += 1
            if i % 3 != 1:
                total += x[j % len(x)]
        total = j + 0.5
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.longlong, np.ulonglong, float])
@pytest.mark.parametrize("fn", [latest_as_a_number, sums_of_some])
def test_numbers_that_are_pythons_or_of_a_type_without_rules(fn: Any, dtype: Any, backend: str) -> None:
    require_equal(
        fn,
        lambda: ((np.arange(9) * 7 % 5).astype(dtype), 2),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
