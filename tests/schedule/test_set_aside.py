"""Stores that read rows and columns of the same array: those are copied first, and the rest is one kernel in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite


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
    fast = dynamo_lite.compile(fn)
    square = rng.random((n, n)).round(2)
    for x in (square, square.astype("f4"), np.asfortranarray(square), rng.random((2 * n, n))[::2], square[::-1, ::-1]):
        got, expected = x.copy(order="K"), x.copy(order="K")
        results = zip(np.atleast_1d(fast(got)), np.atleast_1d(fn(expected)), strict=True)
        assert got.tobytes() == expected.tobytes()
        assert all(np.array_equal(one, other) for one, other in results)
