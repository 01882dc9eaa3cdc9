"""Small products go through np.matmul's inner loop without a call: the bits, layout and warnings are the call's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.copies import copies_of
from tests.oracle import require_equal

Array = np.ndarray[Any, Any]

SHAPES = [
    *(((k,), (k,)) for k in (0, 1, 2, 3, 7, 33, 200)),
    *(((m, k), (k,)) for m, k in ((1, 1), (1, 5), (5, 1), (3, 4), (17, 9), (2, 0), (0, 2))),
    *(((k,), (k, p)) for k, p in ((1, 1), (5, 1), (1, 5), (4, 3), (9, 17), (0, 2), (2, 0))),
    *(((m, k), (k, p)) for m, k, p in ((1, 1, 1), (1, 4, 1), (3, 1, 3), (1, 4, 5), (5, 4, 1), (3, 4, 5), (20, 20, 20))),
]


def layouts(shape: tuple[int, ...], dtype: str, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) * 3.0
    base: Any = (values + 1j * rng.normal(size=shape) if dtype in "FD" else values).astype(dtype)
    yield base
    yield np.asfortranarray(base)
    wide = np.zeros(tuple(2 * size for size in shape), dtype)
    every_second = wide[tuple(slice(None, None, 2) for _ in shape)]
    every_second[...] = base
    yield every_second
    yield base[tuple(slice(None, None, -1) for _ in shape)]
    yield np.broadcast_to(base[..., :1], shape) if shape[-1] else base


def product(a: Any, b: Any) -> Any:
    c = a @ b
    return c, c != 0


def dot(a: Any, b: Any) -> Any:
    c = np.dot(a, b)
    return c, c != 0, a.dot(b)


def differences(function: Callable[..., Any], a: Array, b: Array) -> None:
    report = require_equal(
        function,
        copies_of(a, b),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
        calls=2,
        name=f"{function.__name__} {a.dtype} {a.shape} {a.strides} {b.shape} {b.strides}",
    )
    assert report.raised or report.warned or report.stats["native_calls"] > 0, report.stats


@pytest.mark.parametrize("function", [product, dot])
@pytest.mark.parametrize("dtype", ["d", "f", "D", "F", "l", "B", "?"])
def test_equal_in_every_layout(function: Callable[..., Any], dtype: str) -> None:
    fast: Any = dynamo_lite.compile(function, options={"cost_model": False}, recompile_limit=1000)
    for left, right in SHAPES:
        for a, b in itertools.product(layouts(left, dtype, 1), layouts(right, dtype, 2)):
            expected, found = function(a, b), fast(a, b)
            for one, other in zip(expected, found, strict=True):
                where = f"{a.shape} {a.strides} {b.shape} {b.strides}"
                assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape, where
                assert one.strides == other.strides and one.flags == other.flags, where
                assert one.tobytes() == other.tobytes(), where
    assert fast.stats()["native_calls"] > 100


def any_layout(rng: np.random.Generator, buffer: Array, sizes: list[int]) -> Array:
    """A view of `buffer` with odd strides: forwards, backwards, none, and any for an axis of one element."""
    strides = [int(rng.choice((1, 1, 2, 7, -1, -3, 0, size))) for size in sizes]
    order = rng.permutation(len(sizes))
    step = 1
    for axis in order:
        if rng.random() < 0.7:
            strides[axis] = step * int(rng.choice((1, 1, 1, -1)))
        step *= max(sizes[axis], 1)
    if sizes and rng.random() < 0.2:
        strides[0] = strides[-1] + 1
    middle = buffer.size // 2
    return np.lib.stride_tricks.as_strided(buffer[middle:], sizes, [stride * buffer.itemsize for stride in strides])


@pytest.mark.parametrize("seed", range(budget("PRODUCT_FUZZ", 7)))
def test_equal_under_any_strides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options = {"cost_model": False}
    fasts: list[Any] = [dynamo_lite.compile(f, options=options, recompile_limit=1000) for f in (product, dot)]
    values: Any = rng.normal(size=2000) * 3.0
    dtype = "dfDFlBh"[seed % 7]
    buffer = (values + 1j * values[::-1] if dtype in "DF" else values).astype(dtype)
    for _ in range(150):
        m, k, p = (int(n) for n in rng.choice((0, 1, 1, 2, 3, 5, 9), 3))
        a = any_layout(rng, buffer, [m, k][int(rng.integers(2)) :])
        b = any_layout(rng, buffer, [k, p][: int(rng.integers(1, 3))])
        if rng.random() < 0.2:
            b = a.T
        if a.shape[-1] != b.shape[0]:
            continue
        for function, fast in zip((product, dot), fasts, strict=True):
            where = f"{function.__name__} {buffer.dtype} {a.shape} {a.strides} {b.shape} {b.strides}"
            for one, other in zip(function(a, b), fast(a, b), strict=True):
                assert type(one) is type(other) and one.dtype == other.dtype and one.shape == other.shape, where
                assert one.strides == other.strides and one.flags == other.flags, where
                assert one.tobytes() == other.tobytes(), where


@pytest.mark.parametrize("function", [product, dot])
def test_equal_with_nan_infinity_and_overflow(function: Callable[..., Any]) -> None:
    for values in (
        [1e300, 1e300, 1.0],
        [np.nan, 1.0, 2.0],
        [np.inf, -np.inf, 1.0],
        [np.inf, 0.0, 1.0],
        [5e-324, 1e-300, 0.0],
    ):
        for other in ([1e300, 1e300, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, -0.0], [-0.0, -0.0, -0.0]):
            a, b = np.array(values), np.array(other)
            differences(function, a, b)
            differences(function, np.stack((a, b)), b)
            differences(function, a, np.stack((a, b), 1))


def test_an_overflow_that_raises() -> None:
    fast = dynamo_lite.compile(product, options={"cost_model": False})
    a = np.full(4, 1e200)
    fast(a * 0.0, a)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in matmul"):
        fast(a, a)
    fast = dynamo_lite.compile(dot, options={"cost_model": False})
    fast(a * 0.0, a)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in dot"):
        fast(a, a)


def test_in_a_loop() -> None:
    def solve(lower: Any, b: Any) -> Any:
        x = np.zeros_like(b)
        for i in range(b.shape[0]):
            x[i] = (b[i] - lower[i, :i] @ x[:i] - 0.0 * np.dot(lower[:i, i], x[:i])) / lower[i, i]
        return x

    rng = np.random.default_rng(3)
    for n in (2, 5, 40):
        differences(solve, rng.uniform(1.0, 2.0, (n, n)), rng.normal(size=n))


WILD = (0.0, -0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, 1e30, 3e38, -3e38, 1e-45)


@pytest.mark.parametrize("dtype", ["d", "f", "D", "F"])
def test_every_infinity_and_every_report(dtype: str) -> None:
    """Nothing is computed behind the product, so that it has to look for what it reports itself."""
    rng = np.random.default_rng(5)
    large = 1e270 if dtype in "dD" else 1.0
    chosen = np.array([value * large if abs(value) > 1e29 else value for value in WILD])
    for sizes in ((1,), (2,), (3,), (8,), (1, 1), (1, 3), (3, 1), (3, 3), (2, 5)):
        for _ in range(15):
            a = np.empty(sizes, dtype)
            a.real = rng.choice(chosen, sizes)
            if dtype in "DF":
                a.imag = rng.choice(chosen, sizes)
            differences_of_reports(lambda a: a @ a.T, a)
            differences_of_reports(lambda a: np.dot(a, a.T), a)
            differences_of_reports(lambda a: a.T @ a[..., ::-1].T.T, a)


def differences_of_reports(function: Callable[..., Any], a: Array) -> None:
    options = {"options": {"cost_model": False}}
    require_equal(function, copies_of(a), compile=dynamo_lite.compile, compile_options=options, calls=1, name=repr(a))
