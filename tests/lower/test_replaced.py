"""np.nan_to_num, np.triu and np.tril as tests and choices of kernels: bits, strides, and what is left to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1}}
Array = Any

TRIANGLES: list[Callable[[Array], Any]] = [
    lambda x: np.triu(x, 1),
    lambda x: np.tril(x) * 2,
    lambda x: np.triu(x, -3).sum(),
    lambda x: np.tril(x, 2) + np.triu(x + x, 99),
]
NUMBERS: list[Callable[[Array], Any]] = [
    lambda x: np.nan_to_num(x),
    lambda x: np.nan_to_num(x * 2, nan=-1.5, posinf=9) + 1,
    lambda x: np.nan_to_num(x[1:], neginf=-7.25, nan=0),
]


def matrices() -> list[Array]:
    random = np.random.default_rng(7)
    x, y = random.normal(size=(2, 20, 23))
    y[0, 0], y[-1, -1], y[4, 0], y[-1, 0] = np.nan, np.inf, -np.inf, -0.0
    found = [x, y, np.asfortranarray(y), y.T, y[::-1], y[:, ::2], y[:1], y[:, :1], y[:0]]
    return [*found, np.broadcast_to(y[0], y.shape), y.astype("f4"), x > 0]


@pytest.mark.parametrize("function", [*TRIANGLES, *NUMBERS])
def test_bits_and_strides(function: Callable[..., Any]) -> None:
    for x in matrices():
        if x.dtype.kind == "b" and function in (TRIANGLES[3], *NUMBERS):
            continue
        require_equal(function, copies_of(x), compile=dynamo_lite.compile, compile_options=OPTIONS)
    if function in TRIANGLES:
        whole = np.arange(30).reshape(5, 6)
        require_equal(function, copies_of(whole), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("function", [*TRIANGLES, *NUMBERS])
def test_nothing_of_numpy_is_called(function: Callable[..., Any]) -> None:
    x = matrices()[0]
    graph = str(lower(dynamo_lite.compile(function).graph_for(x), (x,)))
    assert not any(f"= {name}(" in graph for name in ("triu", "tril", "nan_to_num"))


def test_numbers_of_another_dtype_are_left() -> None:
    """NumPy reports a number that float32 does not hold, and computes with one for each column."""
    x = matrices()[-2]
    for function in (lambda x: np.nan_to_num(x, nan=1e300), lambda x: np.nan_to_num(x, posinf=np.inf)):
        assert "nan_to_num(" in str(lower(dynamo_lite.compile(function).graph_for(x), (x,)))
        require_equal(function, copies_of(x), compile=dynamo_lite.compile, compile_options=OPTIONS)


def test_they_pay() -> None:
    x = np.random.default_rng(1).normal(size=(200, 200))
    for function in (TRIANGLES[0], NUMBERS[0]):
        fast = dynamo_lite.compile(function)
        for _ in range(3):
            assert fast(x).tobytes() == function(x).tobytes()
        assert "does-not-pay" not in str(dynamo_lite.explain(function)(x))
