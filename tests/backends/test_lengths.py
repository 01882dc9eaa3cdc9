"""np.hypot is compiled: the C library's bits, and NumPy's own loop from the second call with data in doubt on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels import lengths

import dynamo_lite
from dynamo_lite.program.length_ops import length_in_doubt
from tests.copies import copies_of
from tests.oracle import Report, check

SPECIAL = (0.0, -0.0, 1.0, -3.0, 4.0, 5e-324, 1e-200, 1e300, np.inf, -np.inf, np.nan, -np.nan)


def length(x: Any, y: Any) -> Any:
    return np.hypot(x * 1.0, y)


def same(*arrays: Any, calls: int = 3) -> Report:
    options = {"options": {"cost_model": False}}
    report = check(length, copies_of(*arrays), compile=dynamo_lite.compile, compile_options=options, calls=calls)
    assert report.equal, report
    return report


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("scale", (1e-9, 1.0, 1e7, 1e18))
def test_bits(dtype: str, scale: float) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal(5001).astype(dtype), (rng.standard_normal(5001) * scale).astype(dtype)
    x[::7], y[::5] = 0.0, -0.0
    assert same(x, y).stats["declines"] == 0
    assert same(y, x).stats["declines"] == 0
    assert same(np.round(x * 10), np.round(x[::-1] * 10)).stats["declines"] == 0
    assert same(x, x * x.dtype.type(1.0 + 1e-6)).stats["declines"] == 0


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_special_numbers(dtype: str) -> None:
    ordinary = np.linspace(0.5, 1.5, 19).astype(dtype)
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype)
    for one in special:
        for other in special:
            x, y = ordinary.copy(), ordinary[::-1].copy()
            x[[2, 18]], y[[2, 18]] = one, other
            same(x, y)


@pytest.mark.skipif(not lengths.is_compiled(np.dtype(float)), reason="another C library")
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_missing_data_are_in_no_doubt(dtype: str) -> None:
    nans = (np.arange(19, dtype=f"u{dtype[1]}") | np.array(np.nan, dtype).view(f"u{dtype[1]}")).view(dtype)
    nans[::3] *= -1
    numbers = np.linspace(-5.0, 7.0, 19).astype(dtype)
    same(nans, nans[::-1].copy())
    for x, y in ((nans, numbers), (numbers, nans), (nans, nans), (numbers, np.where(numbers > 3, nans, numbers))):
        expected, doubt = length_in_doubt(x, y)
        assert not doubt.any() and np.isnan(expected).any()
        same(x, y, calls=4)
        fast = dynamo_lite.compile(length, options={"cost_model": False})
        for _ in range(4):
            fast(x, y)
        assert fast.stats()["declines"] == 1  # the first one knew that it was a NaN, but not which
        fast(np.full(19, np.inf, dtype), y)
        assert fast.stats()["declines"] == 2  # by those steps still, not by NumPy's loop


def test_a_middle_between_two_numbers_is_in_doubt() -> None:
    x, y = np.array([3.0, 7591401.0], np.float32), np.array([4.0, 15124320.0], np.float32)  # 16922601.0 is no float32
    expected, doubt = length_in_doubt(x, y)
    assert doubt.tolist() == [False, True] and expected[0] == 5.0
    assert length_in_doubt(x[1], y[1])[1] and not length_in_doubt(x[0], y[0])[1]
    report = same(x, y, calls=6)
    assert report.stats["declines"] == lengths.is_compiled(np.dtype(np.float32))


def test_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has other bits goes by its loop."""
    lengths.is_compiled.cache_clear()
    monkeypatch.setattr(lengths, "length_in_doubt", lambda x, y: (np.hypot(x, y) * (1 + 1e-15), np.isnan(x)))
    assert not lengths.is_compiled(np.dtype(float))
    lengths.is_compiled.cache_clear()


@pytest.mark.skipif(not lengths.is_compiled(np.dtype(float)), reason="another C library")
def test_doubt_costs_one_call() -> None:
    x = np.linspace(1.0, 5.0, 50)
    x[33] = 1e200
    report = same(x, x, calls=6)
    assert report.stats["declines"] == 1 and report.stats["native_calls"] >= 5
