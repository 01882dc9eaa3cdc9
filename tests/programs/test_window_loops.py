"""Loops over windows of arrays, of the kind that filters of images are: what each window is sorted, searched, laid out
as a vector or cast for happens in machine code, with NumPy's own bits."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS, rng
from tests.programs.test_random_elements import machines_of

Array = np.ndarray[Any, Any]
# Zeros of both signs, and NaNs of both and with other bits: of what compares equal the order shows.
UNUSUAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -1.5, 5e-324])
UNUSUAL[2:3].view(np.int64)[:] += 0x123


def native(function: Any, *args: Any) -> None:
    """The call gives what it gives plainly, in machine code that does not decline."""
    report = equal(function, *args)
    assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


def equal(function: Any, *args: Any) -> Any:
    options = {"options": OPTIONS}
    return require_equal(function, copies_of(*args), compile=dynamo_lite.compile, compile_options=options, calls=3)


def medians(x: Array, n: int) -> Array:
    out = np.zeros((x.shape[0] - n, x.shape[1] - n), x.dtype)
    for i in range(x.shape[0] - n):
        for j in range(x.shape[1] - n):
            out[i, j] = np.sort(np.ravel(x[i : i + n, j : j + n]))[n * n // 2]
    return out


@pytest.mark.parametrize("dtype", list("?bBhHiIlLfd"))
def test_sorted_windows(dtype: str) -> None:
    native(medians, (rng(3).random((9, 8)) * 200).astype(dtype), 3)


def sorted_rows(x: Array, n: int) -> Array:
    out = np.zeros((len(x) - n, n), x.dtype)
    for i in range(len(x) - n):
        out[i] = np.sort(x[i : i + n])
    return out


@pytest.mark.parametrize("n", [2, 9, 17, 70, 130])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_what_is_equal_is_sorted_as_ever(n: int, dtype: str) -> None:
    native(sorted_rows, rng(n).choice(UNUSUAL, 150).astype(dtype), n)


def places(x: Array, keys: Array, side: str) -> Array:
    out = np.zeros(len(keys), np.int64)
    for i in range(len(keys)):
        out[i] = np.searchsorted(x, keys[i], side=side)  # type: ignore[call-overload]
    return out


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [2, 3, 50, 1000])
@pytest.mark.parametrize("is_sorted", [True, False])  # NB: where it is not, the steps of the search show
def test_searches(n: int, side: str, is_sorted: bool) -> None:
    x, keys = rng(n).random(n) * 50, rng(7).random(40) * 50
    x = np.sort(x) if is_sorted else x
    native(places, x, keys, side)
    native(places, x, keys.astype("f"), side)
    native(places, x, rng(8).integers(0, 50, 40), side)
    native(places, x.astype(int), rng(8).integers(-5, 50, 40), side)
    native(places, rng(n).choice(UNUSUAL, n), rng(9).choice(UNUSUAL, 40), side)
    native(places, np.repeat(x, 2)[::2], keys, side)
    equal(places, x.astype(int), keys, side)
    equal(places, x.astype("f"), keys, side)


def rows_of_windows(x: Array, n: int) -> Array:
    out = np.zeros((x.shape[0] - n, n * n))
    for i in range(x.shape[0] - n):
        out[i, :] = np.ravel(x[i : i + n, i : i + n]) * 2.0
    return out


def changed_copies(x: Array, n: int) -> Array:
    out = np.zeros((x.shape[0] - n, n * n))
    for i in range(x.shape[0] - n):
        window = x[i : i + n, i : i + n].flatten()
        window[0] = 7.0
        out[i] = window
    return out


def changed_windows(x: Array, n: int) -> Array:
    total = 0.0
    for i in range(x.shape[0] - n):
        window = x[i : i + n, :].ravel()
        x[i + 1, 0] += 1.0
        total += window[1]
        window[0] = 7.0
        x[0, 0] += total
    return x


def kept_windows(x: Array, n: int) -> Any:
    kept = []
    for i in range(x.shape[0] - n):
        kept.append(x[i : i + n, i : i + n].ravel())
    return kept


LAYOUTS = [
    rng(1).random((9, 9)),
    np.asfortranarray(rng(1).random((9, 9))),
    rng(1).random((18, 18))[::2, ::2],
    rng(1).random((9, 9))[::-1],
    rng(1).random((9, 3)),  # a window is packed
]


@pytest.mark.parametrize("x", LAYOUTS, ids=["C", "F", "strided", "reversed", "narrow"])
def test_windows_as_vectors(x: Array) -> None:
    n = 3
    if x.shape[1] > n:
        native(rows_of_windows, x, n)
        native(changed_copies, x, n)
        equal(kept_windows, x, n)
    equal(changed_windows, x, n)  # a view of what lies packed, a copy of all else


def gathered(x: Array, n: int) -> Array:
    height, width = x.shape[0] - n + 1, x.shape[1] - n + 1
    out = np.zeros((height * width, n * n))
    for row, (i, j) in enumerate(product(range(height), range(width))):
        out[row, :] = np.ravel(x[i : i + n, j : j + n])
    return out


def test_windows_at_the_places_of_a_product() -> None:
    """The places stay below the ranges' ends, so that each window is as long as the first."""
    native(gathered, rng(2).random((8, 7)), 3)


def cast(x: Array, type_: Any) -> Array:
    out = np.zeros(len(x), type_)
    for i in range(len(x)):
        out[i] = type_(x[i])
    return out


TYPES = [np.bool_, np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("source", list("?bBhiIlLfd"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_casts(type_: Any, source: str) -> None:
    x = (rng(5).normal(size=20) * 100).astype("l").astype(source)
    equal(cast, x, type_)
    if source in "fd":
        for one in (np.nan, np.inf, -0.0, 300.0, 1e20, -1e20, 1e-300, 2.0**63, 2.0**31, 0.9):
            x[3] = one
            equal(cast, x, type_)


def truths(x: Array) -> Any:
    as_bools, as_bytes, of_floats, n, share = np.zeros(len(x), bool), np.zeros(len(x), np.uint8), x > 2.0, 0, 0.0
    for i in range(len(x)):
        as_bools[i] = int(x[i] > 0.5)
        as_bytes[i] = int(x[i] > 0.2)
        of_floats[i] = x[i] * 0.5
        n += int(x[i] < 0.3)
        share += float(x[i] < 0.6)
    return as_bools, as_bytes, of_floats, n, share


def test_bools_as_numbers() -> None:
    x = rng(6).random(40)
    x[3:6] = 0.0, -0.0, np.nan
    native(truths, x)


ONE = ("asinh", "acosh", "atanh", "expm1", "exp2", "log1p", "cbrt", "erf", "erfc", "sqrt", "sin")


def of_elements(name: str) -> Any:
    function = getattr(math, name)

    def elements(x: Array, y: Array) -> Any:
        out, total = np.zeros(len(x)), 0.0
        for i in range(len(x)):
            out[i] = function(x[i], y[i]) if name in ("fmod", "copysign") else function(x[i])
            total += out[i]
        return out, total

    return elements


@pytest.mark.parametrize("name", [*ONE, "fmod", "copysign"])
def test_functions_of_math(name: str) -> None:
    x, y = rng(4).random(30) * 0.9, rng(5).normal(size=30)
    x = x + 1.0 if name == "acosh" else x
    native(of_elements(name), x, y)
    for one in (np.nan, np.inf, -np.inf, -0.0, 1.0, -1.0, 0.0, 800.0, 1e308):
        x[3] = one
        equal(of_elements(name), x, y)


def of_ints(n: int) -> float:
    total = 0.0
    for i in range(1, n):
        total += math.sqrt(i) + math.sin(i) + math.atan2(i, 3) + math.erf(i)
    return total


def test_functions_of_ints() -> None:
    native(of_ints, 40)


def reduced(expression: str) -> Any:
    scope: dict[str, Any] = {"np": np}
    lines = [
        "def of_windows(x, n, m):",
        "    out = np.zeros((x.shape[0] - n, x.shape[1] - m))",
        "    for i in range(x.shape[0] - n):",
        "        for j in range(x.shape[1] - m):",
        "            w = x[i : i + n, j : j + m]",
        f"            out[i, j] = {expression}",
        "    return out",
    ]
    exec("\n".join(lines), scope)
    return scope["of_windows"]


REDUCTIONS = [
    *("w.sum()", "w.mean()", "w.std()", "np.var(w, ddof=1)", "np.max(w) - np.min(w)", "np.linalg.norm(w)"),
    *("w.sum(axis=1)[-1]", "w.mean(axis=0)[0]", "w.max(axis=0)[0]", "w.sum(keepdims=True)[0, 0]"),
    *("np.median(w)", "np.median(w[0])"),
]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (3, 9), (9, 3), (5, 17)])
@pytest.mark.parametrize("expression", REDUCTIONS)
def test_reductions(expression: str, sizes: tuple[int, int]) -> None:
    function = reduced(expression)
    native(function, rng(8).random((19, 23)), *sizes)
    for x in (rng(8).random((23, 19)).T, rng(9).random((38, 40))[::2, ::2], rng(9).random((19, 23))[::-1]):
        equal(function, x, *sizes)
    equal(function, (rng(9).random((19, 23)) * 200).astype(np.uint8), *sizes)
    equal(function, rng(9).random((19, 23)).astype(np.float32), *sizes)


@pytest.mark.parametrize("expression", REDUCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_of_unusual_numbers(expression: str) -> None:
    for unusual in (UNUSUAL[:2], UNUSUAL, np.array([0.0, 1.0, -1.0]), np.array([-0.0, 1.0])):
        equal(reduced(expression), rng(2).choice(unusual, (9, 8)), 3, 3)


@pytest.mark.parametrize("dtype", list("bBhHiIlL"))
def test_medians_of_integers(dtype: str) -> None:
    for sizes in ((3, 3), (2, 2)):
        native(reduced("np.median(w)"), (rng(3).random((9, 8)) * 100).astype(dtype), *sizes)


def around(x: Array, peaks: Array) -> Any:
    mean, energy = np.zeros(7), []
    for p in peaks:
        mean += x[p - 3 : p + 4]
        energy.append(np.sum(x[p - 2 : p] ** 2))
    return mean, np.array(energy)


def between(x: Array, positions: Array) -> Array:
    out = np.zeros(len(positions))
    for i in range(1, len(positions)):
        out[i] = np.sum(x[positions[i - 1] - 1 : positions[i] - 1])
    return out


@pytest.mark.parametrize("dtype", ["d", "f", "l"])
def test_windows_around_places(dtype: str) -> None:
    x = (rng(5).random(200) * 200).astype(dtype)
    native(around, x, np.arange(5, 190, 7))
    native(between, x, np.array([1, 4, 9, 9, 30, 180]))


@pytest.mark.parametrize("places", [(50, 1, 70), (50, 199, 70), (2, 2), (0, 60), (-1, 60), (300, 60), (-250, 4), ()])
def test_windows_beyond_the_ends(places: tuple[int, ...]) -> None:
    x = rng(6).random(200)
    equal(around, x, np.array([20, 30, 40, *places, 90], int))
    equal(between, x, np.array([20, 30, 40, *places, 90], int))
