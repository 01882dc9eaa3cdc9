"""list.index() of numbers that only the run knows, round() of floats, and floats as exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def nearest(x: Any, centres: Any, n: int) -> Any:
    labels = [0] * n
    cost = 0.0
    for i in range(n):
        distances = [abs(c - x[i]) for c in centres]
        least = min(distances)
        labels[i] = distances.index(least)
        cost += least
    return labels, cost


def among(x: Any, wanted: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        total += [x[i], 1.0, 2, x[0]].index(wanted) + (x[i], wanted, 3.0).index(wanted)
    return total


def known(a: Any) -> Any:
    return [1, 2.0, 3].index(2), (1, True, 0).index(True), ["a", "b"].index("b") if len(a) > 9 else a * 2.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_a_number_is(backend: str) -> None:
    """A NaN is found by which object it is; where nothing is equal Python raises."""
    options = {"backend": backend, "options": OPTIONS}
    rng = np.random.default_rng(0)
    arrays: list[Any] = [rng.random(12), rng.random(12).tolist(), rng.integers(0, 9, 12), np.array([np.nan, 0.2, -0.0])]
    for x in arrays:
        for centres in ([0.1, 0.5, 0.9], (0.5,), [0.0, -0.0, 0.0], [1, 5, 7]):
            require_equal(nearest, copies_of(x, centres, len(x)), compile=dynamo_lite.compile, compile_options=options)
        for wanted in (2, 1, 1.0, 7.5, 0, float("nan"), np.float64(2.0), np.int64(1), True, None, "x"):
            require_equal(among, copies_of(x, wanted, len(x)), compile=dynamo_lite.compile, compile_options=options)
    require_equal(known, copies_of(np.ones(3)), compile=dynamo_lite.compile, compile_options=options)
    fast = dynamo_lite.compile(nearest, **options)
    fast(arrays[0], [0.1, 0.5, 0.9], 12)
    assert _C.get_stress() or {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def rounded(value: Any, step: Any) -> Any:
    return round(value / step), np.zeros(abs(round(value / step)) % 100), round(value), round(value, 1), 3


def test_round() -> None:
    for value in (7.0, 2.5, 0.5, 1.5, -2.5, 1e300, float("nan"), float("inf"), 3, 0.0, -0.0, True, np.float64(2.5)):
        for step in (1.0, 0.4, 2):
            require_equal(
                rounded, copies_of(value, step), compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
            )


def powers(x: Any, p: Any) -> Any:
    return x**p, (x + 1) ** p * 2


def powers_in_place(x: Any, p: Any) -> Any:
    x **= p
    return x


def powers_of_elements(x: Any, p: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += (1.0 + x.ravel()[i]) ** p
    return total


EXPONENTS = (0.7, 2.0, 0.5, -1.0, 1.0, 0.0, -0.0, 3.0, -2.5, np.nan, np.inf, 1e308, 2, -1, True, 2j, np.float64(2.0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [powers, powers_in_place, powers_of_elements])
def test_floats_as_exponents(function: Any, backend: str) -> None:
    rng = np.random.default_rng(1)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 2, 1e300])
    arrays = [rng.random(9), rng.random(9) - 0.5, special, rng.random((3, 3)).T.astype("f"), rng.integers(0, 5, 9)]
    for x in (*arrays, rng.random(9) + 1j, rng.random(9).astype("e"), np.zeros(0), special > 0):
        first, *rest = (copies_of(x, p) for p in EXPONENTS)
        require_equal(
            function,
            first,
            variants=rest,
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS | {"recompile_limit": 100}},
            calls=1,
        )


def test_one_program_serves_all_exponents() -> None:
    fast = dynamo_lite.compile(powers, fullgraph=True, options=OPTIONS)
    for p in (0.7, 3.0, -2.5, 0.1):
        fast(np.arange(1.0, 9.0), p)
    assert _C.get_stress() or fast.stats()["compiles"] == 1


# -- numbers that are Python's or NumPy's as indices, bins ---------------------------------------------


def clipped_places(x: Any, y: Any, n: int) -> Any:
    out = np.zeros(len(x) + n)
    for i in range(n):
        k = np.searchsorted(x, y[i])
        out[i] = x[min(k, len(x) - 1)] - y[i]
        out[max(k - 1, 0)] += 1.0
        out[min(i, k) : max(i, k)] *= 0.5
    return out


def neighbours(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        k = np.argmin(x[i])
        total += x[min(k + 1, n - 1), max(k - 1, 0)]
        x[max(k - 2, 0), k] = total
    return total, x


@pytest.mark.parametrize("backend", BACKENDS)
def test_indices_of_either_kind(backend: str) -> None:
    rng = np.random.default_rng(2)
    options = {"backend": backend, "options": OPTIONS}
    for x, y in (
        (np.sort(rng.random(9)), rng.random(7)),
        (np.arange(5.0), np.array([-1.0, 3, 99, np.nan])),
        (np.ones(1), rng.random(3)),
        (np.zeros(0), rng.random(2)),
    ):
        require_equal(clipped_places, copies_of(x, y, len(y)), compile=dynamo_lite.compile, compile_options=options)
    for shape in ((8, 8), (1, 1), (2, 9), (0, 5)):
        require_equal(
            neighbours, copies_of(rng.random(shape), shape[0]), compile=dynamo_lite.compile, compile_options=options
        )
    fast = dynamo_lite.compile(clipped_places, **options)
    fast(np.arange(9.0), rng.random(40) * 9, 40)
    assert _C.get_stress() or {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def binned(x: Any, bins: Any, right: bool) -> Any:
    return np.digitize(x, bins), np.digitize(x, bins=bins, right=right)


def counted(x: Any, bins: Any, n: int) -> Any:
    counts = np.zeros(len(bins) + 1)
    for i in range(n):
        counts[np.digitize(x[i], bins)] += 1
    return counts


def test_bins() -> None:
    """Bins that do not grow are NumPy's: some count the other way, some raise."""
    rng = np.random.default_rng(3)
    bins: list[Any] = [[4.0, 3, 1], [1.0, 3, 2], [1.0, 1, 1], [np.nan, 1, 2], [0.0, np.nan], [], [2.0], [0.0, -0.0, 1]]
    arrays = [np.array(one) for one in bins] + [np.arange(4), np.array([0, 2, 3], "u1"), np.linspace(0, 5, 9)[::2]]
    options = {"options": OPTIONS}
    for one in (*arrays, [0.0, 1.0, 2.0], np.ones((2, 2))):
        for x in (rng.random(6) * 5, np.array([np.nan, np.inf, -np.inf, -0.0, 1.0]), np.arange(5), np.float64(1), 2.5):
            for right in (False, True):
                require_equal(binned, copies_of(x, one, right), compile=dynamo_lite.compile, compile_options=options)
        require_equal(
            counted, copies_of(rng.random(9) * 5, one, 9), compile=dynamo_lite.compile, compile_options=options
        )
