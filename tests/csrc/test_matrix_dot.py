"""np.dot of matrices and vectors without a call: matmul's loop where that has the same bits (csrc/arrays/product.c)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.ops.products import dot_is_matmul

OPTIONS = {"cost_model": False, "recompile_limit": 100_000}
Array = Any


def once(a: Array, b: Array) -> Array:
    return np.dot(a, b), a.dot(b) + 1.0


def looped(a: Array, b: Array) -> Array:
    out = []
    for i in range(3):
        out.append(np.dot(a, b) * i)
    return out


def carried(a: Array, b: Array) -> Array:
    for _ in range(3):
        b = np.dot(a, b) * 0.25
    return b


def layouts(array: Array) -> Iterator[Array]:
    yield array
    yield np.asfortranarray(array)
    yield array[::-1]
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield np.repeat(array, 2, axis=0)[::2]
    yield np.broadcast_to(array[:1], array.shape)
    yield np.pad(array, 1)[(slice(1, -1),) * array.ndim]


def shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.strides, value.tobytes()
    return type(value).__name__, repr(value)


def outcome(function: Callable[..., Any], a: Array, b: Array) -> Any:
    with np.errstate(all="warn"):
        try:
            return shown(function(a, b))
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("function", [once, looped])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_is_numpys(function: Callable[..., Any], dtype: str) -> None:
    """Bits and layouts, of all layouts of operands and of one row, column or element."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    random = np.random.default_rng(1)
    shapes = [((m, k), (k, p)) for m, k, p in itertools.product((1, 3, 8), (1, 2, 5), (1, 4, 7))]
    pairs = [*shapes, ((3, 4), (4,)), ((4,), (4, 3)), ((1, 4), (4,)), ((4,), (4, 1)), ((3, 0), (0,)), ((3, 0), (0, 2))]
    for left, right in [*pairs, ((1,), (1, 3)), ((3, 4), (5,)), ((17, 9), (9,)), ((9, 9), (9, 9))]:
        one, other = (random.standard_normal(shape).astype(dtype) for shape in (left, right))
        for a, b in itertools.product(layouts(one), layouts(other)):
            wanted = outcome(function, a, b)
            assert outcome(fast, a, b) == wanted
            assert outcome(fast, a, b) == wanted


@pytest.mark.parametrize("function", [once, looped, carried])
def test_values_that_are_not_finite(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for value in (np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324):
        for size in (2, 3, 9):
            a = np.ones((size, size))
            a[0, -1] = value
            with np.errstate(all="ignore"):
                others = np.full(size, value), np.arange(size) * value, a.T, a
            for b in others:
                assert outcome(fast, a, b.copy()) == outcome(function, a, b.copy())


def test_loops_are_machine_code() -> None:
    """A state that is carried from one step to the next takes no call of NumPy's."""
    if not dot_is_matmul():
        pytest.skip("np.dot has other bits here than matmul")

    def steps(a: Array, x: Array, n: int) -> Array:
        out = np.zeros((n, len(x)))
        for i in range(n):
            x = a.dot(x) * 0.5
            out[i] = x
        return out

    fast = dynamo_lite.compile(steps)
    a, x = np.random.default_rng(1).random((2, 3, 3))[0], np.ones(3)
    for _ in range(3):
        assert fast(a, x, 50).tobytes() == steps(a, x, 50).tobytes()
    assert fast.stats()["native_calls"] and not fast.stats()["breaks"]


def test_columns_are_machine_code_and_outer_products_are_not() -> None:
    """A state that is a column; and what differs in which NaN it gives."""

    def columns(a: Array, x: Array) -> Array:
        for _ in range(20):
            x = a.dot(x) * 0.5 + 1.0
        return x

    def outer(x: Array, y: Array) -> Array:
        total = np.zeros((x.shape[0], 4))
        for i in range(y.shape[1]):
            column = y[:, i : i + 1]
            total = total + x[:, :1].dot(column.T)
        return total

    a = np.random.default_rng(1).random((4, 4))
    for function, args in ((columns, (a, np.ones((4, 1)))), (outer, (a, np.array([[1.0, 2.5, -0.0]] * 4)))):
        fast = dynamo_lite.compile(function)
        for _ in range(4):
            assert fast(*args).tobytes() == function(*args).tobytes()
        assert not fast.stats()["declines"]
