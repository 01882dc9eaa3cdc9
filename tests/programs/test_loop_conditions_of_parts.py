"""Conditions of several parts in loops (branches/compound.py), numbers that a loop carries as bounds of slices and in
arrays of narrower integers, and numbers that are ints in some iterations and floats in others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, 2.0, 3.0, 5e-324)


def by_bands(x: Any, out: Any) -> Any:
    for i in range(len(x)):
        v = x[i]
        if 0 <= v < 1 or 7 <= v <= 8 or 3 <= v < 4 or v == 100:
            out[i] = v + 1.0
        elif 1 <= v < 2 or 8 < v <= 9 or (v < -5 and not v > -7):
            out[i] = v * 2.0
        elif (2 <= v < 3 and (v < 2.5 or v > 2.75)) or 4 <= v < 5:
            out[i] = -v
        elif not (5 <= v < 6 or v != v) and v > 5.5:
            out[i] = 0.5
        else:
            out[i] -= 1.0
    return out


def near(x: Any, out: Any) -> Any:
    """A part is asked for only where the parts before it leave the answer open: x[i - 1] may not be there."""
    n = len(x)
    for i in range(n):
        if (i > 0 and x[i - 1] < x[i]) or (i + 1 < n and x[i + 1] < x[i]):
            out[i] = 1.0
        if (i == 0 or x[i - 1] >= x[i]) and (i == n - 1 or x[i + 1] >= x[i]) and (x[i] > 1 or x[i] < -1):
            out[i] += 2.0
        if (i > 1 and (x[i - 2] > 0 or x[i - 1] > 0)) or (i < 1 and (x[i] > 0 or x[i] < -2)):
            out[i] += 4.0
        if (x[i] > 0.5 and (i < 2 or x[i - 2] < 0.5)) or (x[i] < -0.5 and (i < 2 or x[i - 2] > -0.5)):
            out[i] += 8.0
    return out


def searched(x: Any, lo: float, hi: float) -> Any:
    """`break` and `continue` behind such conditions, in a `while`."""
    i = hits = 0
    total = 0.0
    while i < len(x) and (total < 50.0 or hits < 3):
        v = x[i]
        i += 1
        if lo < v < hi or v == 7.0 or -hi < v < -lo or v == -7.0:
            hits += 1
            continue
        if ((v > 9.0 or v < -9.0) and (hits > 5 or total > 40.0)) or (v > 99.0 and hits > 0):
            break
        if (v > 0 and (v < 3.0 or v > 6.0)) or (v < -3.0 and (v > -4.0 or v < -6.0)):
            total += v * v
    return i, hits, total


def drawn(n: int, out: Any) -> Any:
    """Numbers are drawn in the second part of a condition, as often as plain Python draws them."""
    for i in range(n):
        a = np.random.random()
        if a < 0.25 or np.random.random() < a or (a > 0.9 and np.random.random() < 0.5):
            out[i] = a
        elif (a < 0.5 and np.random.random() < 0.5) or (a > 0.7 and np.random.random() < 0.1) or a == 0.0:
            out[i] = -a
    return out, np.random.random()


def is_native(fast: Any) -> bool:
    return _C.get_stress() or {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("function", [by_bands, near])
def test_conditions_of_several_parts(function: Any, dtype: Any, backend: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.random(60) * 18 - 8
    if dtype is not np.int64:
        values[::7] = SPECIAL
    else:
        values[::7] = rng.integers(-9, 10, 9)
    x = values.astype(dtype)
    for part in (x, x[:1], x[:0], x[::-2]):
        require_equal(
            function,
            copies_of(part, np.zeros(len(part))),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    fast(x, np.zeros(60))
    assert is_native(fast)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ways_out_behind_them(backend: str) -> None:
    rng = np.random.default_rng(1)
    for scale in (5.0, 12.0, 120.0):
        x = rng.random(80) * 2 * scale - scale
        x[::9] = (*SPECIAL[:8], 7.0)
        for lo, hi in ((1.0, 2.0), (np.nan, 2.0), (-np.inf, np.inf)):
            require_equal(
                searched,
                copies_of(x, lo, hi),
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": OPTIONS},
            )


def test_draws_inside_them() -> None:
    def make() -> tuple[Any, ...]:
        np.random.seed(3)
        return 50, np.zeros(50)

    require_equal(drawn, make, compile=dynamo_lite.compile, compile_options={"options": OPTIONS})


# -- numbers that a loop carries ----------------------------------------------------------------------


def two_pointers(places: Any, sums: Any, dtype: Any) -> Any:
    indexes = np.zeros(len(places), dtype)
    i = j = 0
    while i < len(places):
        if places[i] < sums[j]:
            indexes[i] = j
            i += 1
        else:
            j += 1
    return indexes


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["i4", "i2", "i1", "u1", "f2", "f4", "i8"])
def test_a_carried_int_in_an_array_of_narrower_numbers(dtype: str, backend: str) -> None:
    """A number that the dtype cannot hold is Python's OverflowError, in that iteration."""
    rng = np.random.default_rng(2)
    for n in (40, 400):
        places, sums = np.sort(rng.random(n)), np.linspace(0.001, 1.001, n)
        require_equal(
            two_pointers,
            copies_of(places, sums, dtype),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )
    fast = dynamo_lite.compile(two_pointers, backend=backend, options=OPTIONS)
    fast(np.sort(rng.random(40)), np.linspace(0.001, 1.001, 40), dtype)
    assert is_native(fast)


def pooled(x: Any, size: int, stride: int, out: Any) -> Any:
    i = j = row = column = 0
    while i < x.shape[0]:
        if i + size > x.shape[0]:
            break
        while j < x.shape[1]:
            if j + size > x.shape[1]:
                break
            out[row][column] = np.max(x[i : i + size, j : j + size])
            j += stride
            column += 1
        i += stride
        row += 1
        j = column = 0
    return out, i, j


@pytest.mark.parametrize("backend", BACKENDS)
def test_slices_from_carried_numbers_on(backend: str) -> None:
    x = np.random.default_rng(3).random((14, 11))
    for size, stride in ((3, 2), (2, 2), (1, 1), (5, 4), (14, 1), (2, 5)):
        require_equal(
            pooled,
            copies_of(x, size, stride, np.zeros((20, 20))),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )
    fast = dynamo_lite.compile(pooled, backend=backend, options=OPTIONS)
    fast(x, 3, 2, np.zeros((20, 20)))
    assert is_native(fast)


def backwards(x: Any, k: int, step: int) -> Any:
    total = 0.0
    n = 0
    while n < 6:
        total += x[k : k + 3].sum()
        k -= step
        n += 1
    return total, k


def test_slices_that_come_to_begin_before_the_first_element() -> None:
    for k in (9, 5, 2, 0, -1, -20):
        for step in (1, 2, -1, 0):
            require_equal(
                backwards,
                copies_of(np.arange(12.0), k, step),
                compile=dynamo_lite.compile,
                compile_options={"options": OPTIONS},
            )


# -- ints and floats in turn --------------------------------------------------------------------------


def bisected(x: Any, target: float, low: Any, high: Any, n: int) -> Any:
    middle = 100.0
    for _ in range(n):
        error = np.sum(np.exp(-x / middle)) - target
        if error > 0:
            high = middle
            middle = (middle + low) / 2.0
        else:
            low = middle
            middle = (middle + high) / 2.0
        if np.abs(error) < 1e-6:
            break
    return middle, low, high, type(low), type(high)


def clamped(x: Any, n: int) -> Any:
    best: Any = 0
    last: Any = False
    for i in range(n):
        v = float(x[i])
        if v > best:
            last = best
            best = v
        elif v < -0.5:
            best = 1
    return best, type(best), last, type(last)


def scaled(w: Any, n: int) -> Any:
    """What is divided by is NumPy's number or Python's."""
    for k in range(n):
        w[:, k] = np.clip(w[:, k], 0.0, 0.75)
        norm = np.linalg.norm(w[:, k])
        w[:, k] /= norm if norm > 0 else 1.0
        w[k] -= norm if k % 2 else 2
    return w


@pytest.mark.parametrize("backend", BACKENDS)
def test_ints_and_floats_in_turn(backend: str) -> None:
    x = np.random.default_rng(4).random(30)
    options = {"backend": backend, "options": OPTIONS}
    for target in (10.0, 29.9, 0.0, 1e9, np.nan):
        for low, high in ((0, 1e15), (0, 10**9), (-5, 7), (0.0, 1), (10**15, 0)):
            for n in (0, 1, 2, 40):
                require_equal(
                    bisected, copies_of(x, target, low, high, n), compile=dynamo_lite.compile, compile_options=options
                )
    fast = dynamo_lite.compile(bisected, **options)
    fast(x, 10.0, 0, 1e15, 40)
    assert is_native(fast)


@pytest.mark.parametrize("backend", BACKENDS)
def test_which_object_such_a_number_is(backend: str) -> None:
    rng = np.random.default_rng(5)
    for values in (rng.random(20), rng.random(20) - 0.5, -rng.random(20) * 0.4, np.full(20, np.nan), np.zeros(20)):
        for n in (0, 1, 20):
            require_equal(
                clamped,
                copies_of(values, n),
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": OPTIONS},
            )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_in_place_by_pythons_number_or_numpys(order: str, backend: str) -> None:
    w = np.array(np.random.default_rng(6).random((9, 5)) - 0.25, order=order)  # type: ignore[call-overload]
    w[:, 2] = 0.0
    for one in (w, w.astype(np.float32), w * np.nan):
        require_equal(
            scaled,
            copies_of(one, 5),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


# -- lists beside NumPy scalars -----------------------------------------------------------------------


def log_sums(a: Any, n: int, m: int) -> Any:
    out = np.zeros((n, m))
    for t in range(n):
        for s in range(m):
            terms = [a[k, s] * t for k in range(m)]
            most = np.max(terms)
            less = terms - most
            out[t, s] = np.log(np.sum(np.exp(less))) + most + (2.0 / (terms + np.float64(9.0))).sum()
    return out


def with_scalars(s: Any) -> Any:
    listed, pair = [1, 2.5], (3, 4)
    return listed - s, s - pair, pair + s, s / listed, listed < s, s == pair, 2**s - listed, pair % (s + 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_beside_numpy_scalars(backend: str) -> None:
    options = {"backend": backend, "options": OPTIONS}
    a = np.random.default_rng(7).random((4, 4))
    for one in (a, a * np.nan, a.astype(np.float32), -a * 1e300):
        for n, m in ((5, 4), (1, 1), (3, 2)):
            require_equal(log_sums, copies_of(one, n, m), compile=dynamo_lite.compile, compile_options=options)
    for s in (np.float64(1.5), np.float32(-0.0), np.int64(3), np.uint8(7), np.float64(np.nan), np.bool_(True)):
        require_equal(with_scalars, copies_of(s), compile=dynamo_lite.compile, compile_options=options)


def times(s: Any) -> Any:
    return [1, 2] * s


def test_a_product_with_one_repeats() -> None:
    for s in (np.int64(3), np.float64(2.0), np.uint8(0)):
        require_equal(times, copies_of(s), compile=dynamo_lite.compile, compile_options={"options": OPTIONS})


def asks_for_identity(a: Any, flag: Any) -> Any:
    if np.allclose(a, a.T) is False:
        return 0, flag is True, flag is not False
    return a * 2.0, flag is True, (len(a) > 3) is True, len(a) is True


def test_identity_of_bools() -> None:
    for a in (np.eye(3), np.arange(9.0).reshape(3, 3), np.full((4, 4), np.nan)):
        for flag in (True, False, 1, 0, 1.0, None):
            require_equal(
                asks_for_identity, copies_of(a, flag), compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
            )
