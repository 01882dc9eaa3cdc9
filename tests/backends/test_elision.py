"""NumPy's operators write into a big operand that nobody else has, which keeps that one's memory order.

The reference backend calls NumPy's functions, not operators, and does not show this.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import check

Array = Any


def statement(t: Array, x: Array) -> Any:
    y = x * 2
    return t + x * 2, x * 2 + t, t * (x * 2), t - x * 2, t + np.exp(x * 1e-3), (t + x * 2).sum(axis=0), t + y


def loop(t: Array, x: Array) -> Any:
    total = np.zeros(x.shape)
    for i in range(5):
        total = total + x * i
        t = t * 0.5 + x
    return total, t, (total + t).ravel(order="K")


def arguments(n: int, m: int) -> tuple[Array, Array]:
    """One in C order, one in F order."""
    return np.arange(n * m, dtype=np.float64).reshape(n, m) / 7, np.arange(n * m, dtype=np.float64).reshape(m, n).T / 3


@pytest.mark.parametrize("function", [statement, loop])
@pytest.mark.parametrize("cost_model", [True, False])
def test_memory_order(function: Any, cost_model: bool) -> None:
    compiler = functools.partial(dynamo_lite.compile, options={"cost_model": cost_model})
    big, small, other = (copies_of(*arguments(*shape)) for shape in ((200, 300), (30, 20), (300, 110)))
    report = check(function, big, compile=compiler, variants=[small, other])
    assert report.equal, str(report)


def test_one_order_stays_native() -> None:
    report = check(
        statement,
        copies_of(np.ones((300, 300)), np.ones((300, 300))),
        compile=functools.partial(dynamo_lite.compile, options={"cost_model": False}),
    )
    assert report.equal and not report.stats["declines"], str(report)


def rolled(x: Array, y: Array) -> Any:
    """One array with borders is stored into, so that the kernel asks for the order of what it computes beside it."""
    g = x * 1.5
    up = np.roll(g, 1, 0) - g
    return up * np.roll(g, -1, 0) + np.roll(y, 1, 0), np.roll(y, -1, 0) - g * np.roll(y, 1, 1), g - y * np.roll(g, 1, 1)


@pytest.mark.parametrize("order", "CF")
def test_borders_do_not_change_the_order(order: Any) -> None:
    """A big array between borders has other strides than NumPy's temporary, and the same order of axes."""
    x, y = (np.random.default_rng(seed).random((256, 256)).copy(order) for seed in (1, 2))
    report = check(
        rolled, copies_of(x, y), compile=functools.partial(dynamo_lite.compile, options={"cost_model": False})
    )
    assert report.equal and not report.stats["declines"], str(report)
