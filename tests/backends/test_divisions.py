"""Remainders and quotients rounded down are compiled: NumPy's bits, and its own loops from the second call with data
on for which those steps are not known to give them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.divisions import is_compiled

import dynamo_lite
from tests.oracle import Report, check

Array = Any
WHATEVER_PAYS = {"options": {"cost_model": False}}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.1, -360.0, 5e-324, 1e300, np.inf, -np.inf, np.nan, -np.nan)


def rest(x: Array, y: Any) -> Array:
    return (x * 1) % y


def whole(x: Array, y: Any) -> Array:
    return (x * 1) // y


FUNCTIONS = (rest, whole)


def same(fn: Callable[..., Any], *arguments: Any, calls: int = 3) -> Report:
    report = check(
        fn,
        lambda: tuple(one.copy() if isinstance(one, np.ndarray) else one for one in arguments),
        compile=dynamo_lite.compile,
        compile_options=WHATEVER_PAYS,
        calls=calls,
    )
    assert report.equal, report
    return report


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("scale", (1.0, 300.0, 1e5))
def test_floats(fn: Callable[..., Any], dtype: str, scale: float) -> None:
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal(3001) * scale).astype(dtype), (rng.random(3001) + 0.5).astype(dtype)
    y[::2] *= -1
    for divisor in (y, 360.0, -0.1, 1.0, 2 * np.pi):
        assert same(fn, x, divisor).stats["declines"] == 0
        assert same(fn, np.round(x), divisor).stats["declines"] == 0
        assert same(fn, np.round(x) * x.dtype.type(0.1), divisor).stats["declines"] == 0  # near whole quotients
    steps = np.nextafter(np.round(x), x.dtype.type(0)) * x.dtype.type(0.7)
    assert same(fn, steps, x.dtype.type(0.7)).stats["declines"] == 0


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_special_floats(fn: Callable[..., Any], dtype: str) -> None:
    ordinary = np.linspace(0.5, 1.5, 19).astype(dtype)
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype)
    for one in special:
        for other in special:
            x, y = ordinary.copy(), ordinary[::-1].copy()
            x[[2, 18]], y[[2, 18]] = one, other
            same(fn, x, y)


@pytest.mark.skipif(not is_compiled(np.dtype(float)), reason="another processor")
@pytest.mark.parametrize("fn", (lambda x, y: abs(x % y), lambda x, y: abs(x // y)))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_missing_data_are_in_no_doubt(fn: Callable[..., Any], dtype: str) -> None:
    nans = (np.arange(19, dtype=f"u{dtype[1]}") | np.array(np.nan, dtype).view(f"u{dtype[1]}")).view(dtype)
    nans[::3] *= -1
    numbers = np.linspace(-5.0, 7.2, 19).astype(dtype)
    some = np.where(np.arange(19) % 4 == 1, nans, numbers)
    same(fn, nans, nans[::-1].copy())
    pairs = ((nans, numbers), (numbers, nans), (nans, nans), (some, numbers[::-1].copy()))
    for x, y in (*pairs, (some, nans.dtype.type(360.0))):
        same(fn, x, y, calls=4)
        fast = dynamo_lite.compile(fn, **WHATEVER_PAYS)
        for _ in range(4):
            fast(x, y)
        assert fast.stats()["declines"] == 1  # the first one knew that it was a NaN, but not which
        fast(np.full(19, 1e30, dtype), np.full(19, 1e-3, dtype))
        assert fast.stats()["declines"] == 2  # by those steps still, not by NumPy's loop


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("char", "bhilBHIL")
def test_integers(fn: Callable[..., Any], char: str) -> None:
    limits, rng = np.iinfo(char), np.random.default_rng(5)
    for low, high in ((limits.min, limits.max), (max(-100, limits.min), 100)):
        x, y = (rng.integers(low, high, 1001, dtype=char) for _ in range(2))
        y[y == 0] = 3
        for divisor in (y, 7, np.array(7, char), -7 if low else 5):
            report = same(fn, x, divisor)
            assert report.stats["declines"] <= (x.itemsize == 8 and high > 2**52)
    x[5], y[5] = limits.min, -1 if low else 1
    same(fn, x, y)
    y[7] = 0
    same(fn, x, y)


@pytest.mark.skipif(not is_compiled(np.dtype(float)), reason="a processor without these instructions")
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_doubt_costs_one_call(fn: Callable[..., Any]) -> None:
    x = np.linspace(1.0, 5.0, 50)
    x[33] = 1e200
    report = same(fn, x, 0.3, calls=6)
    assert report.stats["declines"] == 1 and report.stats["native_calls"] >= 5
    numbers = np.arange(50)
    numbers[33] = 2**60
    report = same(fn, numbers, 7, calls=6)
    assert report.stats["declines"] == is_compiled(numbers.dtype) and report.stats["native_calls"] >= 5
    numbers = np.arange(50, dtype=np.int32)
    numbers[33] = -(2**31)
    report = same(rest, numbers, np.int32(-1), calls=6)
    assert report.stats["declines"] == is_compiled(numbers.dtype) and report.stats["native_calls"] >= 5
