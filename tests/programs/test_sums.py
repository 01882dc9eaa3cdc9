"""sum(): of arrays, of what a segment has computed, from a start on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def of_an_array(x: Any) -> Any:
    return sum(x), sum(x, 5), sum(x, start=x[:1].sum() if x.ndim == 1 else 1)


def of_what_is_computed(x: Any) -> Any:
    d = x * x + 1
    total = sum(d)
    return total, d / total, type(total)


def of_rows(x: Any) -> Any:
    return sum(np.abs(x) ** 2, 0), sum(x[:, None]), sum(x.T)


def of_items(x: Any) -> Any:
    y = [float(v) for v in x[:6]]
    return sum(y), sum([v * v for v in y]), sum(y, 2), sum(y, 0.5), sum([]), sum([], 3)


def of_the_callers_list(x: Any, start: Any) -> Any:
    return sum(x, start), sum(x), np.sqrt(np.float64(len(x)))


def same(function: Any, *args: Any, backend: str = "numba") -> None:
    """Whether it gives what it gives plainly."""
    compile_options = {"backend": backend, "options": OPTIONS}
    require_equal(function, copies_of(*args), compile=dynamo_lite.compile, compile_options=compile_options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [of_an_array, of_what_is_computed, of_items])
@pytest.mark.parametrize("char", "?bBhilqefdFD")
def test_sums_of_vectors(function: Any, char: str, backend: str) -> None:
    """One after the other, from 0 on: 0 + -0.0 is 0.0, small integers wrap and warn, a bool makes an int64."""
    rng = np.random.default_rng(1)
    values = rng.random(50) * 200 - 100
    for x in (values, values[:1], values[:0], values[::-3], values * 0.0 - 0.0, values * 1e300):
        if char in "bBhilq" and np.abs(x).max(initial=0) > 1e3:
            continue
        with np.errstate(all="ignore"):
            x = (np.abs(x) if char == "B" else x).astype(char)
        if function is of_items and char in "FD":
            continue
        same(function, x, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_that_meet_nan_and_infinity(backend: str) -> None:
    special = np.array([1.0, np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308, 1e308])
    for x in (special, special[4:5], special[6:], special[2:4], -special[::-1]):
        same(of_what_is_computed, x, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sums_of_rows(backend: str) -> None:
    for shape in ((3, 5), (1, 4), (0, 4), (40, 3)):
        x = np.random.default_rng(2).random(shape) - 0.5
        for one in (x, np.asfortranarray(x), (x * 9).astype(int), x + 1j):
            same(of_rows, one, backend=backend)


def test_sums_of_the_callers_lists() -> None:
    rng = np.random.default_rng(3)
    lists: list[Any] = [[1, 2, 3], [0.1] * 11, [1e16, 1.0, 1.0, -1e16], [1, 2.5, True], list(rng.random(20)), []]
    for items in (*lists, [np.ones(3), np.zeros(3)], [[1], [2]], ["a"]):
        for start in (0, 1.5, np.float64(2.0), np.arange(3.0), [], ""):
            same(of_the_callers_list, items, start)


def called_wrongly(x: Any) -> Any:
    return sum(start=x)


def test_a_wrong_call_is_pythons_error() -> None:
    require_equal(called_wrongly, copies_of(np.ones(3)), compile=dynamo_lite.compile)


def test_it_is_one_graph() -> None:
    fast = dynamo_lite.compile(of_what_is_computed, options=OPTIONS)
    fast(np.ones(30))
    assert _C.get_stress() or fast.stats()["breaks"] == 0
