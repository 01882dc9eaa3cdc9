"""Stores that read rows and columns of the same array: those are copied first, and the rest is one kernel in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal


def shortest_paths(x: Any) -> None:
    for k in range(x.shape[0]):
        x[:] = np.minimum(x[:], np.add.outer(x[:, k], x[k, :]))


def less_first_row(x: Any) -> None:
    x[:] = x - x[0]


def less_last_column(x: Any) -> None:
    x[...] = x * 2.0 - x[:, -1:]


def less_corner(x: Any) -> None:
    x[1:] = x[1:] - x[-1:, :1] * x[0]


def both_ways(x: Any) -> Any:
    row = x[1] * 3.0
    x[:, :] = x + row + x[1] + x[:, 1][:, None]
    return row, x[1] + 1.0


def reversed_row(x: Any) -> None:
    x[:] = x + x[2, ::-1]


def other_rows(x: Any) -> None:
    x[1:] = x[1:] + x[:-1]


def one_row(x: Any) -> None:
    x[:1] = x[:1] + x[1:2] + x[0]


@pytest.mark.parametrize(
    "fn",
    [shortest_paths, less_first_row, less_last_column, less_corner, both_ways, reversed_row, other_rows, one_row],
)
@pytest.mark.parametrize("n", [3, 40, 300])
def test_the_right_hand_side_is_read_first(fn: Callable[[Any], Any], n: int) -> None:
    rng = np.random.default_rng(n)
    square = rng.random((n, n)).round(2)
    for x in (square, square.astype("f4"), np.asfortranarray(square), rng.random((2 * n, n))[::2], square[::-1, ::-1]):
        equal(fn, x)


def equal(fn: Callable[[Any], Any], x: Any) -> None:
    options = {"options": {"cost_model": False, "recompile_limit": 100}}
    require_equal(fn, copies_of(x), compile=dynamo_lite.compile, compile_options=options)


def to_the_power(x: Any) -> None:
    x[:] = x ** x[0, ::-1]


def angles(x: Any) -> None:
    x[:] = np.arctan2(x, x[:, -1:])


def products(x: Any) -> None:
    x[:] = x * x[-1, ::-1]


@pytest.mark.parametrize("fn", [to_the_power, angles, products])
def test_functions_that_look_at_strides(fn: Callable[[Any], Any]) -> None:
    """The copy lies packed where the row does not."""
    x = np.random.default_rng(1).random((40, 300)) * 3 + 0.1
    kinds = [x, x.astype("f4"), x.astype("f2")]
    if fn is not angles:
        kinds += [x + 1j * x[::-1], (x - 1j * x).astype("c8")]
    for array in kinds:
        for one in (array, array[:, ::-1], array[::-1], array[:, ::3]):
            equal(fn, one)
