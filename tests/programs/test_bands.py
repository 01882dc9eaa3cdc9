"""Maps that wait for one another and run in bands of rows: bit for bit NumPy's results, whatever meets whatever."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import count_bands, size_bands
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs import random_layers, random_rows

OPTIONS = {"options": {"cost_model": False, "num_threads": 1}}


@pytest.fixture(autouse=True, params=[(1, 1), (300, 1), (2000, 1 << 30)], ids=["one row", "few rows", "no buffers"])
def small_bands(request: pytest.FixtureRequest) -> Iterator[None]:
    before = size_bands(1, *request.param, 2)
    yield
    size_bands(*before)


def equal(function: Callable[..., Any], *args: Any, runs: bool = True) -> None:
    """runs: some maps have to run in bands, unless they would hold more memory so."""
    before = count_bands()
    require_equal(function, copies_of(*args), compile=dynamo_lite.compile, compile_options=OPTIONS)
    has_buffers = size_bands(1, 1, 1, 2)
    size_bands(*has_buffers)
    assert count_bands() > before or not runs or has_buffers[2] > 1


def matrix(rows: int = 40, columns: int = 7, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal((rows, columns))


def second_differences(x: Any) -> Any:
    flux = x[1:] - x[:-1]
    y = np.sin(flux) * flux
    z = y[1:] - y[:-1]
    return z[2:] * z[:-2], z[1:]


def periodic(x: Any, y: Any) -> Any:
    slope = (np.roll(x, -1, 0) - np.roll(x, 1, 0)) * np.sqrt(np.abs(y))
    flux = np.roll(slope, 1, 1) * y - slope / (np.abs(y) + 1.0)
    face = np.cos(flux) + flux * flux
    return x - (face - np.roll(face, 1, 0)) + np.roll(face, 2, 0) * slope


def borders(u: Any, v: Any) -> Any:
    for _ in range(2):
        new = np.zeros_like(u)
        new[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] - v[1:-1, 2:] * 0.5
        new[0] = new[-2]
        new[-1] = new[1]
        new[:, 0] = new[:, -2]
        v[1:-1] += np.exp(-(new[2:] ** 2)) - np.exp(-(new[:-2] ** 2))
        u = new * 0.5 + v
    return u, v


def first_rows_last(x: Any, y: Any) -> Any:
    z = x * 2.0 + np.sqrt(np.abs(y))
    w = np.roll(np.exp(-z * z), 3, 0) + z
    return np.roll(w * w - np.abs(z), -2, 0) + w


def in_place(x: Any, y: Any) -> Any:
    y[2:] = np.tanh(x[:-2]) * x[2:]
    x[1:] -= y[:-1] * np.exp(-np.abs(y[1:]))
    x *= 0.5
    y[:-1] = x[1:] + np.arctan(x[:-1])
    return x + y


def of_zeros(x: Any, y: Any) -> Any:
    """The zeros come from the system, so that nobody writes them."""
    a = np.exp(-x * x)
    z = np.zeros(x.shape)
    z[1:-1, 1:-1] = a[2:, 1:-1] - a[:-2, 1:-1]
    w = np.ones(x.shape)
    w[:, 1:] = a[:, :-1]
    return np.sin(z) * y + a, np.cos(w) + z


def of_late_rows(x: Any, y: Any) -> Any:
    """Nothing touches the first rows of what is made."""
    z = np.empty_like(x)
    z[50:] = np.exp(-x[50:] * x[50:])
    w = np.empty_like(x)
    w[60:] = z[60:] * z[50:-10] + np.sqrt(np.abs(y[60:]))
    return np.sin(w[60:]) - w[60:]


def symmetric(x: Any) -> Any:
    y = np.exp(-x * x)
    return y + y.T, (y * 2.0).T - y


def three_axes(x: Any) -> Any:
    east = np.zeros_like(x)
    east[:-1] = x[1:] - x[:-1]
    top = np.zeros_like(x)
    top[:, :, :-1] = np.exp(-np.abs(x[:, :, 1:] - x[:, :, :-1]))
    flux = east * top + np.sqrt(np.abs(east))
    return x[1:-1] + flux[1:-1] - flux[:-2]


def of_vectors(x: Any, y: Any) -> Any:
    a = np.exp(-np.abs(x))
    b = a[1:] * a[:-1] + y[1:]
    c = np.cos(b) * b
    return c[1:] - c[:-1] * y[2:]


def turned(x: Any, y: Any) -> Any:
    a = np.exp(-x * x) + y
    b = a.T[1:] - a.T[:-1]
    c = b * np.sin(b)
    return c[::-1] + c, a[::2] - np.cos(a[::2])


def with_a_pause(x: Any, y: Any) -> Any:
    a = np.exp(-x * x) * y
    b = a[1:] - a[:-1]
    c = np.sort(b, axis=0)
    return (c * 2.0 - b) / np.abs(a).max(), b


PAIRS = [periodic, borders, first_rows_last, in_place, turned, with_a_pause]


def stacked(x: Any, y: Any, z: Any) -> Any:
    """Long rows of which an array of few rows is made, after the bands."""
    s = np.concatenate(([x * 2.0], [y + x], [z - 1.0]))
    return s > 0.5, s


def test_rows_made_after_the_bands_are_none_of_theirs() -> None:
    """They would make each band one element long; what the other maps touch stays in the cache as it is."""
    args = np.random.default_rng(5).standard_normal((3, 4000))
    before = size_bands(1, 1 << 16, 1, 16)
    try:
        done = count_bands()
        require_equal(stacked, copies_of(*args), compile=dynamo_lite.compile, compile_options=OPTIONS)
        assert count_bands() == done
        size_bands(1, 1 << 12, 1, 16)
        require_equal(stacked, copies_of(*args), compile=dynamo_lite.compile, compile_options=OPTIONS)
        assert count_bands() > done
    finally:
        size_bands(*before)



@pytest.mark.parametrize("function", PAIRS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 7, 16, 17, 64])
def test_of_two(function: Callable[..., Any], rows: int) -> None:
    if rows > 4 or function not in (borders, in_place):
        equal(function, matrix(rows), matrix(rows, seed=2), runs=False)


@pytest.mark.parametrize("function", PAIRS, ids=lambda function: function.__name__)
def test_orders_of_memory(function: Callable[..., Any]) -> None:
    x, y = matrix(), matrix(seed=2)
    equal(function, x, y)
    for a, b in (
        (np.asfortranarray(x), y),
        (np.asfortranarray(x), np.asfortranarray(y)),
        (x[::-1], y),
        (x[:, ::-1], y),
        (matrix(80)[::2], y),
        (matrix(42, 9)[1:-1, 1:-1], y),
        (x.astype("f4"), y.astype("f4")),
    ):
        equal(function, a, b, runs=False)


def test_of_one() -> None:
    equal(second_differences, matrix())
    equal(three_axes, np.random.default_rng(3).standard_normal((30, 4, 5)))
    equal(of_vectors, *np.random.default_rng(4).standard_normal((2, 300)))


def test_late_rows() -> None:
    equal(of_late_rows, matrix(100), matrix(100, seed=2))
    equal(of_late_rows, matrix(300, 33), matrix(300, 33, seed=2))


def test_zeros() -> None:
    """Of arrays as large as those that NumPy asks the system for, where memory is not zero by chance."""
    for rows in (300, 301, 302):
        junk = [np.full((k, 40), 7.0) for k in (rows, rows + 1, rows + 2) * 3]
        del junk
        equal(of_zeros, matrix(rows, 40), matrix(rows, 40, seed=2))


def test_inputs_that_share_memory() -> None:
    base = matrix(50)
    equal(in_place, base[:40], base[10:], runs=False)
    equal(periodic, base[:40], base[10:])
    equal(first_rows_last, base, base)


@pytest.mark.parametrize("row", [0, 1, 20, 38, 39])
def test_what_one_row_reports(row: int) -> None:
    """The program declines, with nothing written."""
    x, y = matrix(), matrix(seed=2)
    y[row, 3] = np.inf
    for function in (periodic, borders, in_place):
        equal(function, x, y, runs=False)


@pytest.mark.parametrize("seed", range(60))
def test_random(seed: int) -> None:
    namespace: dict[str, Any] = {"np": np}
    exec(random_rows.source(seed), namespace)
    for number in range(3):
        equal(namespace["f"], *random_rows.arguments(3 * seed + number), runs=False)


ACROSS, DOWN = np.array([0, 1, -1] * 3), np.array([0, 0, 1, 1, -1, -1, 2, 0, 1])


def streamed(a: Any, b: Any, c: Any, w: Any, n: int) -> Any:
    for k, dx, dy in zip(range(n), ACROSS, DOWN, strict=False):
        a[:, :, k] = np.roll(a[:, :, k], dx, axis=1)
        a[:, :, k] = np.roll(a[:, :, k], dy, axis=0)


def relaxed(a: Any, b: Any, c: Any, w: Any, n: int) -> Any:
    for k in range(1, n):
        b[1:-1, :, k] = (a[2:, :, k] + a[:-2, :, k]) * w[k] + b[1:-1, :, k - 1]
        a[:, :, k] = b[:, :, k] * 0.5


@pytest.mark.parametrize("function", [streamed, relaxed])
def test_layers(function: Any) -> None:
    """Maps of one iteration wait for those of the next."""
    equal(function, *random_layers.arguments(0))
    a, b, c, w, n = random_layers.arguments(1)
    equal(function, a, b, c, b[3, 4], n, runs=False)  # numbers of an array that waiting maps write
    a[3, 3, n - 1] = np.inf
    equal(function, a, b, c, w, n, runs=False)


@pytest.mark.parametrize("seed", range(40))
def test_random_layers(seed: int) -> None:
    namespace: dict[str, Any] = {"np": np}
    exec(random_layers.source(seed), namespace)
    for number in range(2):
        equal(namespace["f"], *random_layers.arguments(2 * seed + number), runs=False)


def rolled(x: Any, y: Any) -> Any:
    return np.roll(x, -1, 0) - y, y - np.roll(x, -1, 1), np.roll(x, 2, 0) + np.roll(y, 1, 1)


@pytest.mark.parametrize("rows", [40, 700])
def test_temporaries_of_numpy(rows: int) -> None:
    """NumPy writes a difference into what np.roll has made, if that is big, and so in its order."""
    x, y = matrix(rows, 60), matrix(rows, 60, seed=2)
    equal(rolled, x, y, runs=False)
    equal(rolled, np.asfortranarray(x), y, runs=False)
    equal(rolled, x, np.asfortranarray(y), runs=False)


def test_parts_are_no_temporaries() -> None:
    """NumPy writes into no array that others may see, so what is added to a transposed one has a known order."""
    x = matrix(300, 300)
    fast: Any = dynamo_lite.compile(symmetric, options=OPTIONS["options"])
    for _ in range(3):
        for one, other in zip(fast(x), symmetric(x), strict=True):
            assert one.tobytes() == other.tobytes() and one.strides == other.strides
    assert fast.stats()["native_calls"] and not fast.stats()["declines"]


def test_memory() -> None:
    """What only later maps read is never there as a whole."""

    def chain(x: Any) -> Any:
        a = np.exp(-x * x)
        b = a[1:] - a[:-1]
        c = np.sin(b) * b
        d = c[1:] - c[:-1]
        return np.cos(d) * d

    x = matrix(4000, 50)
    fast = dynamo_lite.compile(chain, options=OPTIONS["options"])
    peaks = []
    for function in (chain, fast):
        function(x)
        function(x)
        tracemalloc.start()
        function(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0]


def of_two_rows(x: Any, y: Any) -> Any:
    a, b = np.empty(x.shape), np.empty(x.shape)
    a[0, :] = x[0, :] * 2.0 + np.exp(y[1, :])
    b[0, :] = np.exp(y[0, :])
    b[0, 1:] = a[0, :-1] * a[0, 1:] - x[1, 1:]
    a[1, :] = y[1, :]
    a[1, 2:] = b[0, 1:-1] * y[0, 2:]
    b[1, :] = x[1, :]
    b[1, 3:] = a[1, 2:-1] - a[0, 3:]
    return a, b


def test_along_rows() -> None:
    """Maps over rows of matrices go through them element by element: a band has room for more than one of them."""
    before = size_bands(1, 1 << 12, 1 << 30, 2)
    count = count_bands()
    equal(of_two_rows, matrix(2, 150), matrix(2, 150, seed=2), runs=False)  # all of it fits into a few bands
    assert count_bands() == count
    equal(of_two_rows, matrix(2, 9000), matrix(2, 9000, seed=2))
    size_bands(*before)
