"""Programs that run some rows at a time: bit for bit NumPy's results, whatever the arrays look like."""

from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import size_blocks
from tests.copies import copies_of
from tests.oracle import require_equal


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def softmax_by_index(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1)[..., None])
    return e / e.sum(axis=-1)[..., None]


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def with_its_means(x: Any) -> Any:
    mean = x.mean(axis=-1)
    centred = x - mean[..., np.newaxis]
    return mean, centred, (centred * centred).sum(axis=-1)


def last_two_axes(x: Any) -> Any:
    return (x - x.min(axis=(-2, -1), keepdims=True)) / (np.ptp(x, axis=(-2, -1), keepdims=True) + 1)


def first_columns(x: Any) -> Any:
    total = x.sum(axis=-1, keepdims=True)
    return x[..., :2] / total, x[..., 1] * total[..., 0]


def by_columns(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0) + x.max(axis=-1, keepdims=True)


def of_two(x: Any, y: Any) -> Any:
    return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def view_behind(x: Any) -> Any:
    y = x - x.sum(axis=-1, keepdims=True)
    return y[:, 1:], y.max(axis=-1)


def of_many_kinds(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    positive = shifted > -1.0
    small = shifted.astype(np.float32)
    small += 1
    return positive, small, small.sum(axis=-1), shifted, shifted * 2 + small


ONE = [of_many_kinds, softmax, softmax_by_index, with_its_means, last_two_axes, first_columns, by_columns, view_behind]
SHAPES = [(7, 5), (3, 4, 5), (2, 3, 2, 9), (40, 33)]
CASES = [(fn, shape) for fn in ONE for shape in SHAPES if fn is not last_two_axes or len(shape) > 2]


def equal(fn: Callable[..., Any], *args: Any) -> None:
    options = {"options": {"cost_model": False}}
    require_equal(fn, copies_of(*args), compile=dynamo_lite.compile, compile_options=options)


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    before = size_blocks(1, 100)
    yield
    size_blocks(*before)


def arrays(dtype: str, shape: tuple[int, ...]) -> Iterator[Any]:
    x = (np.random.default_rng(1).standard_normal(shape) * 10).astype(dtype)
    yield x
    yield np.asfortranarray(x)
    yield x[::-1]
    yield x[..., ::2]
    yield x[1:2]
    yield x[:0]
    yield np.broadcast_to(x[:1], shape)
    special = x.copy()
    if dtype != "i8":
        special.flat[[0, -1]] = np.nan, np.inf
        yield special


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize(("fn", "shape"), CASES)
def test_every_layout(fn: Callable[[Any], Any], shape: tuple[int, ...], dtype: str) -> None:
    for x in arrays(dtype, shape):
        equal(fn, x)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_rows_that_all_have_in_common(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for shape in ((7, 5), (3, 4, 5), (300, 8)):
        for x in arrays(dtype, shape):
            scale, shift = (rng.random(x.shape[-1]).astype(dtype) for _ in range(2))
            for own in (scale, scale.reshape((1,) * (x.ndim - 1) + (-1,)), np.float64(2.0), 3):
                equal(layer_norm, x, own, shift)


def test_two_arrays() -> None:
    """Which must both lie packed."""
    rng = np.random.default_rng(3)
    x, y = rng.random((2, 6, 4, 8))
    for pair in ((x, y), (x, y[0]), (x, y[:1]), (x, y[:, :1]), (x, np.asfortranarray(y)), (x, x), (x[0], y)):
        equal(of_two, *pair)


def by_numpy(x: Any) -> Any:
    """Products of floats are NumPy's own reduce."""
    product = x.prod(axis=-1, keepdims=True)
    return x - product, x.prod(axis=-1), x.max(axis=-1), (x * x).sum(axis=-1)


def of_all_rows(x: Any) -> Any:
    return x - x.sum(axis=1), np.maximum(x - x.min(axis=-1, keepdims=True), x.sum(axis=-1))


def with_a_row(x: Any, w: Any) -> Any:
    total = (x * w).sum(axis=-1) * w
    return total, (x * w).max(axis=-1), w[:, None] - x.mean(axis=1, keepdims=True)


def outer_sums(x: Any) -> Any:
    return (x - x.sum(axis=(1, 2))) * x


def test_numpy_reduces_rows() -> None:
    """Each time other ones: also where only NumPy knows which NaN or zero it keeps."""
    rng = np.random.default_rng(6)
    for rows in (163, 164, 1000):
        x = rng.random((rows, 9)) * 0.02 + 0.99
        equal(by_numpy, x)
        equal(by_numpy, np.ones((rows, 9)))
        x[5], x[rows - 2], x[rows // 2 :] = -0.0, -0.0, 0.0
        equal(by_numpy, x)
        equal(with_its_means, x.astype("f2"))
        x[3, 3] = x[rows - 4, 1] = np.nan
        equal(by_numpy, x)
        equal(softmax, x)


@pytest.mark.parametrize("n", [4, 9, 40])
def test_as_many_rows_as_columns(n: int) -> None:
    """A vector may be one number for each row, or one row for all."""
    rng = np.random.default_rng(n)
    x, w = rng.random((n, n)), rng.random(n)
    equal(of_all_rows, x)
    equal(with_a_row, x, w)
    equal(outer_sums, rng.random((n, 3, n)))
    equal(layer_norm, x, w, x[0])


def scaled(a: Any, f: Any, y: Any) -> Any:
    """NumPy may write into the product, which has the order of f."""
    t = a * f + y
    return t / t.sum(axis=(1, 2), keepdims=True), t.sum(axis=(1, 2)), t.max(axis=(1, 2))


def test_an_order_that_all_rows_have_in_common() -> None:
    rng = np.random.default_rng(8)
    for n, size in ((400, 16), (20, 64)):
        a, f, y = rng.random((n, 1, 1)), rng.random((size, size)), rng.random((n, size, size))
        for order in (f, np.asfortranarray(f), f[::-1]):
            equal(scaled, a, order, y)
            equal(scaled, a, order[None], y)


def test_axes_of_one_element() -> None:
    """Whatever their strides are."""
    rng = np.random.default_rng(10)
    for shape in ((1, 9, 5), (9, 1, 5), (9, 5, 1), (3, 1, 4, 5)):
        x, axis = rng.random(shape), shape.index(1)
        wide = np.repeat(x, 3, axis=axis)[(slice(None),) * axis + (slice(0, 1),)]
        for array in (x, wide, x.T, np.moveaxis(x, axis, 0), np.squeeze(x, axis)[(slice(None),) * axis + (None,)]):
            equal(softmax, array)
            equal(with_its_means, array)


def many(*arrays: Any) -> Any:
    total = sum(arrays)
    return total - total.max(axis=1, keepdims=True)


@pytest.mark.parametrize("count", [3, 16, 17, 24])
def test_many_arrays(count: int) -> None:
    equal(many, *np.random.default_rng(9).random((count, 6, 7)))


def test_it_runs_by_rows() -> None:
    """The exponentials are never there as a whole."""
    fast = dynamo_lite.compile(softmax, options={"cost_model": False})
    x = np.random.default_rng(4).random((2000, 100))
    fast(x)

    def peak() -> int:
        tracemalloc.start()
        result = fast(x)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result.tobytes() == softmax(x).tobytes()
        return most

    by_rows = peak()
    size_blocks(1 << 40, 100)
    assert by_rows + x.nbytes < peak() + x.nbytes // 10


def test_threads() -> None:
    """Eight threads, each with arrays of its own, through one program."""
    fast = dynamo_lite.compile(softmax, options={"cost_model": False})
    wrong: list[int] = []

    def work(seed: int) -> None:
        for n in range(60):
            x = np.random.default_rng([seed, n]).random((50 + n % 3, 20))
            if fast(x).tobytes() != softmax(x).tobytes():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_stays_the_same() -> None:
    """References to inputs and to what is made on the way are given back."""
    fast = dynamo_lite.compile(with_its_means)
    x = np.random.default_rng(5).random((40, 9))
    fast(x)
    before, blocks = sys.getrefcount(x), sys.getallocatedblocks()
    for _ in range(300):
        fast(x)
    assert sys.getrefcount(x) == before
    assert sys.getallocatedblocks() < blocks + 50


def test_results_are_arrays_of_their_own() -> None:
    """Kernels write rows of them where they belong, through views that nobody sees."""
    x = np.random.default_rng(3).standard_normal((50, 12))
    fast = dynamo_lite.compile(of_many_kinds, options={"cost_model": False})
    results = fast(x)
    assert fast.stats()["native_calls"] == 1
    for result in results:
        assert result.base is None and result.flags.owndata and result.flags.writeable
        assert not any(np.shares_memory(result, other) for other in (x, *results) if other is not result)
        assert sys.getrefcount(result) == 3  # the tuple, the name and the argument
