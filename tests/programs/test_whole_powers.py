"""Whole powers of numbers of both signs: NumPy's loop computes them, or csrc/arrays/power.c with twice the digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng

EXTREMES = [0.0, -0.0, np.nan, np.inf, -np.inf, -1e-320, -5e-324, -1e300, 1e300, -1e-110, -1.0, -2.0, -3.0, -0.5, -1e16]


def powers(x: Any, y: Any) -> Any:
    return x**3 + y, x**4 * y, x**5 - y, y * x**7, x**16 - x**17, x**-3 + y, x**2.5 + y, np.power(x, 6.0) * y, x**y


def ordinary(count: int, scale: float, dtype: str = "d") -> Any:
    signs = rng(count).choice([-1.0, 1.0], count)
    x = signs * 2.0 ** rng(count + 1).uniform(-scale, scale, count)
    return x.astype(dtype), rng(count + 2).normal(size=count).astype(dtype)


def extremes(step: int, dtype: str = "d") -> Any:
    with np.errstate(all="ignore"):
        x = np.array(EXTREMES * 20).astype(dtype)
    return x[::step], np.ones(len(x[::step]), dtype)


@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}], ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_powers(backend: str, dtype: str, errors: dict[str, str]) -> None:
    require_equal(
        powers,
        lambda: ordinary(5000, 1.0, dtype),
        variants=[
            lambda: ordinary(127, 3.0, dtype),
            lambda: ordinary(1, 3.0, dtype),
            lambda: ordinary(4096, 60.0, dtype),
            lambda: tuple(part[::-3] for part in ordinary(3000, 2.0, dtype)),
            lambda: extremes(1, dtype),
            lambda: extremes(7, dtype),
        ],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


def cube(x: Any) -> Any:
    return x**3 * 1.0


@pytest.mark.parametrize("scale", [0.5, 8.0, 290.0])
def test_many_negative_numbers(scale: float) -> None:
    x = -(2.0 ** rng(3).uniform(-scale, scale, 200_000))
    fast = dynamo_lite.compile(cube, options=OPTIONS)
    for _ in range(2):
        assert np.array_equal(fast(x).view(np.uint64), cube(x).view(np.uint64))
    assert fast.stats()["native_calls"] == 2


@pytest.mark.parametrize("exponent", range(3, 17))
@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0])
def test_many_negative_floats(scale: float, exponent: int) -> None:
    x = -(2.0 ** rng(exponent).uniform(-scale, scale, 50_000)).astype("f")
    fast = dynamo_lite.compile(lambda x: x**exponent * np.float32(1), options=OPTIONS)
    for _ in range(2):
        with np.errstate(all="ignore"):
            assert np.array_equal(fast(x).view(np.uint32), (x**exponent * np.float32(1)).view(np.uint32))
    assert fast.stats()["native_calls"] == 2


@pytest.mark.parametrize("dtype", ["d", "f"])
def test_ordinary_powers_set_no_flags(dtype: str) -> None:
    x = np.concatenate([ordinary(1000, 2.0, dtype)[0], np.array([0.0, -0.0], dtype)])
    fast = dynamo_lite.compile(cube, options=OPTIONS)
    with np.errstate(all="raise"):
        fast(x)
        assert fast.stats()["native_calls"] == 1


@pytest.mark.parametrize("exponent", [3, 4, 7])
def test_nans_report_nothing(exponent: int) -> None:
    fast = dynamo_lite.compile(lambda x: x**exponent + 1, options={"cost_model": False})
    x = np.random.default_rng(0).standard_normal(500)
    x[::7] = np.nan
    for _ in range(2):
        assert fast(x).tobytes() == (x**exponent + 1).tobytes()
    assert fast.stats()["native_calls"] == 2
    assert fast.stats()["declines"] == 0


def powers_of_scalars(x: Any, k: Any, n: int) -> Any:
    found = []
    last = 0.0
    for i in range(n):
        last = float(x[i]) ** k[i]
        found.append((last, k[i] ** float(x[i]), x[i] ** k[i], x[i] ** float(x[i]), np.float32(x[i]) ** k[i]))
    return found, last


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "float32", "float64"])
def test_powers_of_scalars_that_numpy_converts_are_those_of_arrays(dtype: str) -> None:
    fast = dynamo_lite.compile(powers_of_scalars, options={"cost_model": False, "check": 1})
    x, k = rng(4).uniform(0.1, 30.0, 300), rng(5).integers(1, 6, 300).astype(dtype)
    assert repr(fast(x, k, 300)) == repr(powers_of_scalars(x, k, 300))
