"""Kernels that fold their values themselves: NumPy's bits for any width of rows, its warnings, and what they refuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import folds
from dynamo_lite.backends.numba.compile import _STATE

import dynamo_lite
from dynamo_lite.schedule.steps import Kernel, KernelOp

F8, I8, BOOL = np.dtype("f8"), np.dtype("i8"), np.dtype("?")


def same(fn: Callable[..., Any], *args: Any) -> None:
    """Equal bits, dtype and strides, from a program."""
    fast = dynamo_lite.compile(fn)
    got, expected = fast(*args), fn(*args)
    assert got.tobytes() == expected.tobytes()
    assert (got.dtype, got.strides) == (expected.dtype, expected.strides)
    assert fast.stats()["native_calls"] == 1


def weighted(x: Any, w: Any) -> Any:
    return np.sum(x[:, :, :, None] * w, axis=(1, 2))


def scaled(x: Any) -> Any:
    return np.sum(x * 3, axis=0)


def chosen(x: Any, y: Any) -> Any:
    return np.sum(np.where(x > y, x - y, y / 2.0), axis=0)


def highest(x: Any) -> Any:
    return np.max(x, axis=(1, 2)), np.min(x * x, axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u2"])
def test_rows_of_every_length(dtype: str) -> None:
    """1 to 70 columns, so that each number of lanes is taken; and rows that are folded in several calls."""
    rng = np.random.default_rng(5)
    for columns in (*range(1, 71), 700):
        x = (rng.standard_normal((3, 4, 5)) * 100).astype(dtype)
        w = (rng.standard_normal((4, 5, columns)) * 100).astype(dtype)
        if columns % 9 == 1:
            same(weighted, x, w)
            same(weighted, x[:, ::-1, ::2], w[:, ::2, ::-1])
        y = (rng.standard_normal((40, columns)) * 100).astype(dtype)
        if dtype != "u2":
            fast = dynamo_lite.compile(scaled)
            assert fast(y).tobytes() == scaled(y).tobytes()


def test_it_is_used() -> None:
    """The program calls such a kernel."""
    same(weighted, np.ones((4, 4, 6)), np.ones((4, 6, 3)))
    kernels = [key for key in _STATE.made if isinstance(key[0], Kernel)]
    used = [kernel for kernel, classes in kernels if kernel.fold is np.add and classes.endswith("i")]
    assert any(op.op == "multiply" for kernel in used for op in kernel.ops)


def test_choices_and_casts() -> None:
    """Comparisons, choices, and integers that become floats."""
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((30, 7)), rng.integers(-3, 3, (30, 7))
    same(chosen, x, y)
    same(chosen, x[:, :6:2], y[::-1, 1::2])


def test_extremes_of_parts() -> None:
    """Of arrays that do not lie packed, and with NaNs and zeros of both signs."""
    rng = np.random.default_rng(7)
    fast = dynamo_lite.compile(highest)
    x = rng.standard_normal((6, 9, 8, 5))
    cases = [x, x[:, 1:5, ::2, :], np.maximum(x, 0.0), -np.maximum(x, 0.0), x.transpose(3, 1, 0, 2)]
    for place, value in ((0, np.nan), (-1, -0.0), (7, np.inf)):
        special = x.copy()
        special.flat[place] = value
        cases.append(special[:, ::2])
    for case in cases:
        for got, expected in zip(fast(case), highest(case), strict=True):
            assert got.tobytes() == expected.tobytes() and got.strides == expected.strides
    assert fast.stats()["native_calls"] == len(cases)


@pytest.mark.parametrize("columns", [1, 3, 8, 33])
def test_warnings_of_a_fold(columns: int) -> None:
    """What a product or a sum reports in any lane is reported."""
    fast = dynamo_lite.compile(weighted)
    rng = np.random.default_rng(8)
    x, w = rng.standard_normal((2, 4, 5)), rng.standard_normal((4, 5, columns))
    for where, value in (((0, 0, 0), 1e308), ((1, 3, 4), 1e308), ((1, 2, 3), 1e-308), ((0, 1, 1), np.inf)):
        for column in {0, columns - 1}:
            special_x, special_w = x.copy(), w.copy()
            special_x[where] = value
            special_w[where[1], where[2], column] = {1e308: 1e308, 1e-308: 1e-308, np.inf: 0.0}[value]
            with warnings.catch_warnings(record=True) as got:
                warnings.simplefilter("always")
                result = fast(special_x, special_w)
            with warnings.catch_warnings(record=True) as expected:
                warnings.simplefilter("always")
                plain = weighted(special_x, special_w)
            assert [str(w.message) for w in got] == [str(w.message) for w in expected]
            assert result.tobytes() == plain.tobytes()


def test_what_does_not_fold() -> None:
    """NumPy's loops, operations whose NaN or flag the sum does not show, and ufuncs whose order is not known."""
    add = KernelOp("add", (0, 1), (F8, F8), (F8,))
    assert folds(Kernel((F8, F8), (add,), (2,)), np.add)
    assert not folds(Kernel((F8, F8), (add,), (2,)), np.multiply)
    assert not folds(Kernel((F8,), (KernelOp("loop", (0,), (F8,), (F8,), np.exp),), (1,)), np.add)
    positive = KernelOp("greater", (2, 0), (F8, F8), (BOOL,))
    count = KernelOp("cast", (3,), (BOOL,), (I8,))
    assert not folds(Kernel((F8, F8), (add, positive, count), (4,)), np.add)
    some = KernelOp("where", (3, 0, 1), (BOOL, F8, F8), (F8,))
    assert not folds(Kernel((F8, F8), (add, positive, some), (4,)), np.add)
