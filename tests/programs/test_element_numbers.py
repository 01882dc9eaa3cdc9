"""Loops in which arrays give the indices, the bounds and the ints to compute with: bits, types and errors as in plain
Python, negative indices and IndexError among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, registry, rng, variants
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def data(count: int, size: int) -> tuple[Any, ...]:
    return (rng(count).integers(0, 256, count + 2).astype(np.uint8),)


@case(data)
def crc(data, poly=0x8408):  # type: ignore[no-untyped-def]
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    return (~crc & 0xFFFF) << 8


@case(data)
def crc_of_ints(data):  # type: ignore[no-untyped-def]
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
    return crc ^ 0xFFFF


@case(lambda count, size: (rng(count).integers(-1000, 1000, count + 2), np.zeros(count + 2, np.int64)))
def bits(x, out):  # type: ignore[no-untyped-def]
    k = -7
    for i in range(x.shape[0]):
        n = int(x[i])
        k = (k ^ n) | (i & 5)
        out[i] = ~k & (n << 3) | (k >> 2) ^ abs(n) + (n & -4) - (7 & k)
        if n & 1 and not x[i] & 2:
            out[i] += 1


@case(lambda count, size: (rng(count).integers(-5, 5, count + 2),))
def histogram(bins):  # type: ignore[no-untyped-def]
    counts = np.zeros(5, np.int64)
    for i in range(bins.shape[0]):
        counts[bins[i]] += 1
    return counts


@case(lambda count, size: (rng(count).integers(0, 4, (2, count + 2)).astype(np.int16), rng(size).random((4, 4))))
def pairs(places, table):  # type: ignore[no-untyped-def]
    s = 0.0
    for i, j in zip(places[0], places[1]):  # noqa: B905
        s = s + table[i, j] * table[-i, j - 3]
        table[i][j] = s
    return s


@case(lambda count, size: (rng(count).permutation(count + 2),))
def follow(link):  # type: ignore[no-untyped-def]
    k = 0
    for _ in range(link.shape[0]):
        k = int(link[k])
        link[k] += 0
    return link


def rows(count: int, size: int) -> tuple[Any, ...]:
    ends = np.cumsum(rng(count).integers(0, 4, count + 2))
    n = int(ends[-1]) + 1
    return np.r_[0, ends].astype(np.int32), rng(size).integers(0, size, n), rng(size).random(n), rng(1).random(size)


@case(rows)
def sparse_product(starts, columns, values, x):  # type: ignore[no-untyped-def]
    y = np.zeros(starts.shape[0] - 1)
    for i in range(y.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def compressed(count: int, size: int) -> tuple[Any, ...]:
    """A matrix by compressed rows, some of them empty."""
    generator = rng(count)
    starts = np.concatenate([[0], generator.integers(0, 4, count + 1).cumsum()]).astype(np.uint32)
    columns = generator.integers(-size, size, starts[-1]).astype(np.int32)
    return starts, columns, generator.random(starts[-1]), generator.random(size)


@case(compressed)
def by_rows(starts, columns, values, x):  # type: ignore[no-untyped-def]
    y = np.empty(starts.size - 1, values.dtype)
    for i in range(starts.size - 1):
        places = columns[starts[i] : starts[i + 1]]
        row = values[starts[i] : starts[i + 1]]
        y[i] = row @ x[places]
    return y


@case(compressed)
def by_columns(starts, columns, values, x):  # type: ignore[no-untyped-def]
    y = np.zeros(x.size)
    for i in range(starts.size - 1):
        a, b = starts[i], starts[i + 1]
        values[a:b] *= 0.5 + x[columns[a:b]]
        for k in range(a, b):
            y[columns[k]] += values[k] * x[i % 3]
    return y, values


@case(compressed)
def read_again(starts, columns, values, x):  # type: ignore[no-untyped-def]
    for i in range(starts.size - 1):
        a = int(starts[i])
        starts[i] = i
        x[: starts[i] % 3] += values[: int(starts[i])] @ values[: starts[i]]
        starts[i] += int(starts[i]) + a
    return starts, x


@case(lambda count, size: (rng(count).random(count + 2).astype(np.float32), np.zeros(count + 2)))
def floats(x, out):  # type: ignore[no-untyped-def]
    s = 0.5
    for i in range(x.shape[0]):
        s = s * 0.5 + float(x[i])
        out[i] = s / (float(out[i]) + 2)


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    one = CASES[name]
    report = compared(one)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert machines_of(report.compiled), report.compiled.explain()


@pytest.mark.parametrize("name", CASES)
def test_on_the_reference_backend(name: str) -> None:
    one = CASES[name]
    first, *rest = variants(one)
    options = {"backend": "reference", "options": OPTIONS}
    require_equal(one.fn, first, variants=rest[:3], compile=dynamo_lite.compile, compile_options=options, calls=1)


def gather(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        out[i] = x[at[i]]
    return out


def scatter(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        out[at[i]] += x[i]
    return out


def in_steps(x: Any, at: Any, out: Any) -> Any:
    """Rows are made, so that the loop runs step by step."""
    for i in range(at.shape[0]):
        out[i] = x[at[i] :].sum() + (x * at[i])[at[i]]
    return out


def slices(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0] - 1):
        out[i] = x[at[i] : at[i + 1]].sum()
    return out


def products(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0] - 1):
        out[i] = x[at[i] : at[i + 1]] @ x[at[i] : at[i + 1]]
    return out


def picked(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0] - 1):
        out[i] = x[at[i:]] @ x[at[i:]] + x[at[: at[i]]] @ x[at[: at[i]]]
    return out


def ends(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        out[at[i] :] += 1.0
        out[: -at[i]] *= 2.0
        x[at[i] : at[i] + 2] -= 0.5
    return out


def before_and_after(x: Any, at: Any, out: Any) -> Any:
    """An element that is read, written, and read again, before the first one is used."""
    for i in range(at.shape[0]):
        a = at[i]
        at[i] = 0
        out[i] = x[a] - x[at[i]]
    return out, at


def older_again(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        a = at[i]
        s = x[a]
        at[i] += 1
        t = x[at[i]] * 100 + s
        out[i] = t + x[a] + int(a) - int(at[i])
    return out, at


def swapped(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0] - 1):
        k = at[i]
        at[i] = at[i + 1]
        at[i + 1] = k
        out[i] = x[k] - x[at[i + 1]] + 10 * x[at[i]]
    return out, at


def grown(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        a = at[i]
        if x[0] > 0:
            at *= 1
            at[i] += 1
        out[i] += x[a : at[i]] @ x[a : at[i]] + x[at[i]]
    return out, at


def summed(x: Any, at: Any, out: Any) -> Any:
    total = 0
    for i in range(at.shape[0]):
        total += int(at[i]) * 3
        out[i] = total % 5
    return total, out


def shifted(x: Any, at: Any, out: Any) -> Any:
    k = 1
    for i in range(at.shape[0]):
        k = (k << 5) + i ^ int(at[i])
        out[i] = k & 3
    return k, out


def negative_shift(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        out[i] = i >> int(at[i])
    return out


def stepping(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        for k in range(0, 9, at[i]):
            out[i] += k
    return out


def held(x: Any, at: Any, out: Any) -> Any:
    last = first = at[0]
    for i in range(at.shape[0]):
        last = int(at[i])
        out[i] = last
    return last, first, type(last), out


def of_floats(x: Any, at: Any, out: Any) -> Any:
    for i in range(x.shape[0]):
        out[i] = int(x[i]) + float(at[i])
    return out


def by_lists(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        out[i] = x[[at[i], 0]].sum() + x[at[i], ...]
    return out


def inside_out(x: Any, at: Any, out: Any) -> Any:
    for i in range(at.shape[0]):
        at[at[i]] = at[i - 1]
    return at


def whole(x: Any, at: Any, out: Any) -> Any:
    n = 0
    for i in range(x.shape[0]):
        out[int(x[i]) % 5] += 1.0
        n = n * 3 + int(x[i] * 2.5) // 2
        out[i] = int(float(x[i]) - 0.5) - n
    return out, n


def binned(x: Any, at: Any, out: Any) -> Any:
    for value in x:
        k = int(value * 1.5)
        if 0 <= k < len(out):
            out[k] += value
    return out


PROGRAMS = (gather, scatter, in_steps, slices, products, picked, ends, summed, shifted, negative_shift, stepping, held)
PROGRAMS += (before_and_after, older_again, swapped, grown, of_floats, by_lists, inside_out, whole, binned)
PLACES: dict[str, Any] = {
    "in range": lambda: np.array([0, 3, 1, 1, 4]),
    "negative": lambda: np.array([-1, -5, 0, -2, 4]),
    "too large": lambda: np.array([0, 1, 5, 2, 0]),
    "too small": lambda: np.array([0, 1, -6, 2, 0]),
    "none": lambda: np.array([], np.int64),
    "bytes": lambda: np.array([0, 3, 1, 1, 4], np.uint8),
    "largest": lambda: np.array([0, 2**64 - 1, 1], np.uint64),
    "beyond": lambda: np.array([1, 2**62, 2**62, 2**63 - 1]),
    "bools": lambda: np.array([True, False, True]),
    "floats": lambda: np.array([1.0, 2.0]),
    "strided": lambda: np.arange(10, dtype=np.int16)[8::-2] // 2,
    "ones": lambda: np.array([1]),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_hostile_numbers(fn: Any, places: str, backend: str) -> None:
    options = {"backend": backend, "options": OPTIONS}

    def arguments() -> tuple[Any, ...]:
        return np.array([0.5, -0.0, np.nan, 3.0, 1e300]), PLACES[places](), np.zeros(5)

    require_equal(fn, arguments, compile=dynamo_lite.compile, compile_options=options, calls=2)


def test_index_and_result_share_memory() -> None:
    def arguments() -> tuple[Any, ...]:
        x = np.arange(6)[::-1].copy()
        return x, x, x

    for fn in (gather, scatter):
        require_equal(fn, arguments, compile=dynamo_lite.compile, compile_options={"options": OPTIONS}, calls=3)


FLOATS: dict[str, list[float]] = {
    "both signs": [0.9, -0.9, 1.0, -1.0, 3.99, -3.99, 0.0, -0.0],
    "largest exact": [2.0**53, -(2.0**53), 2.0**62, 1.0],
    "last that fits": [float(np.nextafter(2.0**63, 0)), -1.0, 4.0],
    "first that does not": [1.0, 2.0**63, 2.0],
    "least": [1.0, -(2.0**63), 2.0],
    "huge": [1.0, 1e300, -1e300],
    "infinite": [1.0, 2.0, np.inf],
    "nan": [1.0, np.nan],
    "tiny": [5e-324, -1e-300],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("numbers", FLOATS)
@pytest.mark.parametrize("fn", [whole, binned], ids=lambda fn: fn.__name__)
def test_ints_of_floats(fn: Any, numbers: str, dtype: Any, backend: str) -> None:
    def arguments() -> tuple[Any, ...]:
        with np.errstate(over="ignore"):
            return np.array(FLOATS[numbers]).astype(dtype), None, np.zeros(9)

    options = {"backend": backend, "options": OPTIONS}
    report = require_equal(fn, arguments, compile=dynamo_lite.compile, compile_options=options)
    if backend != "reference" and numbers == "both signs" and dtype is not np.float16:
        assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 2)])
def test_a_list_is_no_tuple_of_indices(shape: tuple[int, ...]) -> None:
    def rows(x: Any, n: int) -> Any:
        for _ in range(n):
            x[[0, -1]] = 2.5
            x[[1, 0]] += 1.0
        return x, x[[0, -1]]

    options = {"options": {"cost_model": False}}
    require_equal(rows, lambda: (np.ones(shape), 12), compile=dynamo_lite.compile, compile_options=options)


def test_long_slices() -> None:
    """Short slices of long arrays are taken in machine code; a long one would keep signals waiting, and declines."""

    def arguments(longest: int) -> Any:
        generator = rng(longest)
        ends = np.array([0, 5, 9, 9, 9 + longest, 60_000])
        values, columns = generator.random(100_000), generator.integers(0, 70_000, 100_000)
        return ends[[0, 1, 2, 3, 4]], columns, values, generator.random(70_000)

    options = {"options": OPTIONS}
    fn = CASES["by_rows"].fn
    report = require_equal(fn, lambda: arguments(100), compile=dynamo_lite.compile, compile_options=options)
    assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()
    for longest, declines in ((2**15, False), (2**15 + 1, True)):
        more = require_equal(fn, lambda n=longest: arguments(n), compile=dynamo_lite.compile, compile_options=options)
        assert bool(more.stats["declines"]) == declines, more.compiled.explain()
