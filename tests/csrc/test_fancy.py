"""x[i, j] and stores by index arrays without a call of NumPy's (csrc/arrays/fancy.c): values, layouts, errors,
aliases."""

from __future__ import annotations

import itertools
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False, "check": 1, "recompile_limit": 100_000}
Array = Any


def one(x: Array, i: Array, j: Array) -> Array:
    return x[i]


def two(x: Array, i: Array, j: Array) -> Array:
    return x[i, j]


def beside_a_number(x: Array, i: Array, j: Array) -> Array:
    return x[i, 2], x[-1, i]


def beside_a_number_of_the_run(x: Array, i: Array, j: Array) -> Array:
    out = []
    for k in range(3):
        out.append(x[i, k])
        out.append(x[k - 1, i])
    return out


def rows(x: Array, i: Array, j: Array) -> Array:
    return x[i, :], x[:, i], x[..., i]


def behind_whole_axes(x: Array, i: Array, j: Array) -> Array:
    if x.ndim == 2:
        return x[:, i] * 2, x[:, i]
    return x[:, i, j % 3], x[:, :, i % 3], x[:, 1, i % 3], x[:, i], x.transpose(2, 0, 1)[:, i, j]


def store_one(x: Array, i: Array, j: Array) -> Array:
    x[i] = x[0]
    return x


def store_two(x: Array, i: Array, j: Array) -> Array:
    x[i, j] = x[i, j] + x[0, 0]
    return x


def store_numbers(x: Array, i: Array, j: Array) -> Array:
    x[i, 1] = 1
    x[2, i] = True
    x[i] = 0.5 if x.dtype.kind == "f" else -1
    return x


def store_a_number(x: Array, i: Array, j: Array) -> Array:
    x[i, j] = 1
    return x


def store_in_a_loop(x: Array, i: Array, j: Array) -> Array:
    for k in range(3):
        x[k, i] = k
        x[i, k] = x[0, k]
    return x


FUNCTIONS = [one, two, beside_a_number, beside_a_number_of_the_run, rows, behind_whole_axes]
STORES = [store_one, store_two, store_numbers, store_in_a_loop]


def layouts(array: Array) -> Iterator[Array]:
    yield array
    if array.ndim:
        yield np.asfortranarray(array)
        yield np.repeat(array, 2, axis=-1)[..., ::2]
        yield array[::-1]
        yield np.broadcast_to(array[:1], array.shape)


def shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    if isinstance(value, np.ndarray):
        base = value.base.shape if isinstance(value.base, np.ndarray) else None
        return value.dtype.str, value.shape, value.strides, value.tobytes(), value.flags.owndata, base
    return type(value).__name__, repr(value)


def outcome(function: Callable[..., Any], x: Array, i: Array, j: Array) -> Any:
    before = x.copy() if x.flags.writeable else None
    try:
        found = shown(function(x, i, j))
    except Exception as error:
        found = type(error).__name__, str(error)
    after = shown(x)
    if before is not None:
        x[...] = before
    return found, after


def agree(fast: Callable[..., Any], plain: Callable[..., Any], x: Array, i: Array, j: Array) -> None:
    wanted = outcome(plain, x, i, j)
    for _ in range(2):
        assert outcome(fast, x, i, j) == wanted


@pytest.mark.parametrize("function", [*FUNCTIONS, *STORES])
@pytest.mark.parametrize("dtype", ["f8", "u1", "c16", "i4"])
def test_layouts(function: Callable[..., Any], dtype: str) -> None:
    """Arrays and index arrays of all layouts, of other integers, of no elements; results lie as NumPy lays them out."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    random = np.random.default_rng(1)
    for shape in ((7, 6), (7, 6, 3)):
        for x in layouts(random.integers(0, 99, shape).astype(dtype)):
            for size, other in itertools.product([(5,), (4, 3), (1, 3), (0,)], [(5,), (4, 1), (3,), (1,)]):
                try:
                    np.broadcast_shapes(size, other)
                except ValueError:
                    continue
                for i in layouts(random.integers(-6, 6, size)):
                    agree(fast, function, x, i, random.integers(0, 6, other).astype("i4"))


@pytest.mark.parametrize("function", [one, two, store_one, store_two])
def test_out_of_range(function: Callable[..., Any]) -> None:
    """An index out of range is NumPy's own error, and nothing has been stored."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    x = np.arange(12.0).reshape(4, 3)
    for i in ([0, 1, 99], [-4, 3, 1], [-5, 0, 0], [2**40, 0, 0]):
        agree(fast, function, x, np.array(i), np.array([0, 1, 2]))
        agree(fast, function, x, np.array([0, 1, 2]), np.array(i))
    agree(fast, function, x, np.array([2**63, 0, 0], np.uint64), np.array([0, 1, 2]))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("of", ["?", "i2", "f4", "f8", "c16"])
def test_one_index_array(dtype: str, of: str) -> None:
    """Of every dtype, for elements and rows of every size, also beyond what is done without letting others run."""
    table = np.random.default_rng(1).integers(0, 2, (100, 5)).astype(of)
    fast = dynamo_lite.compile(one, options=OPTIONS)
    for x in (table[:, 0].copy(), table[:, 0], table[:, :2].copy(), table[:, :3].copy(), table, table[::-1]):
        for size in ((7,), (0,), (3, 4), (300_001,) if x.ndim > 1 and x.shape[1] == 5 else (1025,)):
            i = np.random.default_rng(2).integers(0 if dtype[0] == "u" else -100, 100, size).astype(dtype)
            for index in (i, i[::-1], i[..., ::2], i.T):
                agree(fast, one, x, index, index)
        for outside in {"u": (100,), "i": (100, -101)}[dtype[0]]:
            agree(fast, one, x, np.array([0, 1, outside, 2] * 200, dtype), np.zeros(1, int))
    agree(fast, one, table[:0], np.zeros(9, dtype), np.zeros(1, int))


def test_axes_of_size_one() -> None:
    """NumPy lays out the axes behind the indices by x's strides, which an axis of size 1 may have any of."""
    i = np.array([2, 0, 1])
    for function in (one, two, store_one):
        fast = dynamo_lite.compile(function, options=OPTIONS)
        for shape in ((3, 1, 5), (3, 5, 1), (3, 3, 1, 5), (3, 3, 5, 1), (3, 1, 3, 5)):
            x = np.arange(float(np.prod(shape))).reshape(shape)
            axis = shape.index(1)
            for stride in (0, 8, 40, 160, 1000, -8, -40):
                strides = (*x.strides[:axis], stride, *x.strides[axis + 1 :])
                agree(fast, function, np.lib.stride_tricks.as_strided(x, shape, strides), i, i * 0)
            agree(fast, function, np.squeeze(x, axis)[(slice(None),) * axis + (None,)], i, i * 0)


def test_whole_axes_of_size_one() -> None:
    """NumPy sorts the axes before the indices and behind them by x's strides, which those of size 1 may have any of."""

    def columns(x: Array, i: Array, j: Array) -> Array:
        return x[:, i, :], x[:, :, i] if x.ndim > 2 else x[:, i, i]

    fast = dynamo_lite.compile(columns, options=OPTIONS)
    i = np.array([[2, 0, 1], [-1, -2, -3]])
    for shape in ((1, 3, 3), (3, 3, 1), (3, 1, 3), (2, 3, 3), (40, 3, 3), (1, 3, 1)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        for axis in range(3):
            for stride in (0, 8, 24, 72, 1000, -8) if shape[axis] == 1 else (x.strides[axis],):
                strides = (*x.strides[:axis], stride, *x.strides[axis + 1 :])
                one = np.lib.stride_tricks.as_strided(x, shape, strides)
                for index in (i, i[0], i[0, :1], i % 1):
                    agree(fast, columns, one, index, index)


def test_places_behind_whole_axes_are_found_here() -> None:
    """Behind whole axes NumPy walks over indices with an iterator: patches of images take a third of the time."""

    def patches(x: Array, k: Array, i: Array, j: Array) -> Array:
        return x[:, k, i, j]

    fast = dynamo_lite.compile(patches, options=OPTIONS)
    random = np.random.default_rng(1)
    x = random.random((2, 4, 52, 52))
    k, (i, j) = np.repeat(np.arange(4), 9)[:, None], random.integers(0, 52, (2, 36, 2500))
    assert shown(fast(x, k, i, j)) == shown(patches(x, k, i, j))

    def least(function: Callable[..., Any]) -> float:
        return min(timeit.repeat(lambda: function(x, k, i, j), number=3, repeat=7, timer=time.process_time))

    assert least(fast) < 0.75 * least(patches)


@pytest.mark.parametrize("function", [two, store_a_number])
def test_more_places_than_a_size_may_be(function: Callable[..., Any]) -> None:
    """Indices that repeat to 2**64 places and more are NumPy's own error."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    x = np.arange(12.0).reshape(4, 3)
    agree(fast, function, x, np.array([[1], [2]]), np.array([1]))
    for size in (2**32, 2**33):
        i = np.broadcast_to(np.array([[1]]), (size, 1))
        agree(fast, function, x, i, np.broadcast_to(np.array([1]), (size,)))


def test_who_comes_last_and_who_overlaps() -> None:
    """Of several values for one place the last one stays; values and indices may be the array itself."""

    def store(x: Array, i: Array, v: Array) -> Array:
        x[i] = v
        return x

    fast = dynamo_lite.compile(store, options=OPTIONS)
    for make in (
        lambda: (np.zeros(5), np.array([1, 1, 3, 1]), np.array([1.0, 2.0, np.nan, -0.0])),
        lambda: (x := np.arange(9.0), np.array([0, 1, 2, 3]), x[1:5]),
        lambda: (x := np.arange(9.0), np.array([0, 1, 2, 3]), x[2:6][::-1]),
        lambda: (x := np.arange(9), x, x[::-1]),
        lambda: (x := np.arange(9), x[::-1], x),
        lambda: (np.arange(9.0), np.array([0, 1]), np.array([1.5, 2.5], "f4")),
        lambda: (np.arange(9.0), np.array([0, 1]), 3),
        lambda: (np.arange(9), np.array([0, 1]), np.float64(2.5)),
        lambda: (np.arange(9.0).astype("f4"), np.array([0, 1]), 0.1),
        lambda: (np.arange(9, dtype="u1"), np.array([0, 1]), 255),
        lambda: (np.arange(9, dtype="u1"), np.array([0, 1]), 256),
    ):
        for _ in range(3):
            ours, theirs = (outcome_of_store(function, make) for function in (fast, store))  # type: ignore[arg-type]
            assert ours == theirs


def outcome_of_store(function: Callable[..., Any], make: Callable[[], Any]) -> Any:
    args = make()
    try:
        function(*args)
    except Exception as error:
        return type(error).__name__, str(error), shown(list(args))
    return shown(list(args))
