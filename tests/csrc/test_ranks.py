"""Sorted short rows and their medians: NumPy's bits, strides, warnings, and whom is asked."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal

FUNCTIONS = {"sort": (_C.sort_rows, np.sort), "median": (_C.median_rows, np.median)}
SHAPES = [(2, 3), (3, 2), (70, 9), (9, 70), (64, 8), (130, 25), (65, 32), (5, 33), (4, 3, 65), (65, 2, 3), (3, 1, 4)]
SPECIAL = (0.0, 1.5, -2.0, np.inf, -np.inf, 3.0, 5e-324, 1e-310)


def same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.strides == wanted.strides
    assert found.tobytes() == wanted.tobytes()


def both(name: str, x: Any, axis: int) -> None:
    ours, numpys = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        same(ours(x, axis, numpys), numpys(x, axis))


def refuse(*args: Any) -> Any:
    raise AssertionError("NumPy was asked")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f", "l", "i", "B", "h", "?", "e"])
@pytest.mark.parametrize("shape", SHAPES)
def test_layouts(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(shape))
    x = (random.normal(size=shape) * 100).astype("d" if dtype in "dfe" else "l").astype(dtype)
    wide = np.repeat(x, 2, axis=-1)
    for axis, one in itertools.product(range(len(shape)), (x, np.asfortranarray(x), wide[..., ::2], x[::-1], x.T)):
        both(name, one, axis)


@pytest.mark.parametrize("n", range(2, _C.abi.MOST_SORTED + 1))
def test_zeros_and_ones(n: int) -> None:
    """What sorts all rows of zeros and ones sorts all rows."""
    places = np.arange(n, dtype=np.uint32)
    x = (np.arange(1 << n, dtype=np.uint32)[:, None] >> places & 1).astype("d" if n < 15 else "B")
    same(_C.sort_rows(x, 1, refuse), np.sort(x, axis=1))
    if x.dtype == "d":
        same(_C.median_rows(x, 1, refuse), np.median(x, axis=1))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("values", [SPECIAL, (*SPECIAL, -0.0), (*SPECIAL, np.nan, -np.nan), (-0.0, 0.0)])
def test_special_numbers(name: str, dtype: str, values: tuple[float, ...]) -> None:
    random = np.random.default_rng(2)
    for n in (2, 5, 8, 9):
        x = random.choice(values, (67, n)).astype(dtype)
        both(name, x, 1)
        both(name, np.ascontiguousarray(x.T), 0)


def test_large_integers() -> None:
    x = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, (100, 6))
    both("median", x, 1)
    both("sort", x, 1)


@pytest.mark.parametrize("values", [(1e308, 1.7e308), (1.0, np.nan), (-0.0, 0.0), (2.0, 5e-324)])
@pytest.mark.parametrize("n", [4, 5])
def test_programs_report_as_numpy_does(values: tuple[float, ...], n: int) -> None:
    def middle(x: Any) -> Any:
        return np.median(x, axis=1) * 2.0, np.sort(x, axis=1), np.sort(x, axis=0), np.median(x, axis=0, keepdims=True)

    x = np.random.default_rng(4).choice(values, (300, n))
    require_equal(
        middle,
        lambda: (x.copy(),),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
    )


def test_windows() -> None:
    """A view of overlapping rows."""
    x = np.random.default_rng(5).normal(size=500)
    view = np.lib.stride_tricks.sliding_window_view(x, 7)
    same(_C.median_rows(view, 1, refuse), np.median(view, axis=1))


def test_arguments() -> None:
    with pytest.raises(TypeError, match="not 1 arguments"):
        _C.sort_rows(np.zeros((2, 2)))  # type: ignore[call-arg]
    for axis in (5, -1, 2**70, None):
        assert _C.sort_rows(np.zeros((2, 2)), axis, lambda x, axis: axis) == axis  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_pay_by_themselves(name: str) -> None:
    numpys = FUNCTIONS[name][1]
    fast = dynamo_lite.compile(lambda x: numpys(x, axis=1))
    x = np.random.default_rng(1).normal(size=(50_000, 9))
    same(fast(x), numpys(x, axis=1))
    assert fast.stats()["native_calls"] == 1
