"""NaNs bit by bit: constants that differ in a sign, data that are missing, and which of two NumPy keeps."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.types import identity_of
from tests.programs.loop_cases import BACKENDS

Array = Any
WHATEVER_PAYS = {"cost_model": False}
POSITIVE, NEGATIVE = np.nan, -np.nan
PAYLOAD = np.array([0x7FF8000000000077], np.uint64).view(np.float64)[0]


def bits(results: Any) -> list[Any]:
    several = results if isinstance(results, tuple) else (results,)
    return [(type(one), np.asarray(one).dtype, np.asarray(one).tobytes()) for one in several]


def same(fn: Callable[..., Any], fast: Callable[..., Any], *arrays: Array) -> None:
    with np.errstate(all="ignore"):
        assert bits(fast(*[one.copy() for one in arrays])) == bits(fn(*[one.copy() for one in arrays]))


# mypy: disallow-untyped-defs=False


def in_place_of_numbers(x):
    for _ in range(3):
        x = np.where(x > 0, x * NEGATIVE, x * 0.5 - POSITIVE)
    return x


CONSTANTS = (
    lambda x: (POSITIVE - x, x * NEGATIVE),
    lambda x: (np.where(x > 0, POSITIVE, x), np.where(x > 0, NEGATIVE, x)),
    lambda x: (x * complex(POSITIVE, 0.0), x * complex(POSITIVE, -0.0), x * complex(NEGATIVE, 0.0)),
    lambda x: (x + PAYLOAD, x - POSITIVE),
    lambda x: (np.full(x.shape, POSITIVE) + x, np.full(x.shape, NEGATIVE) + x),
    in_place_of_numbers,
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", CONSTANTS)
def test_constants(fn, backend: str) -> None:
    fast = dynamo_lite.compile(fn, backend=backend, options=WHATEVER_PAYS)
    for _ in range(5):
        same(fn, fast, np.array([1.0, -1.0, 2.0, 0.0, -3.0]))


def test_identity_of_numbers() -> None:
    numbers = [0, False, 0.0, -0.0, POSITIVE, NEGATIVE, PAYLOAD, 0j, complex(0, -0.0), complex(POSITIVE, 0.0)]
    numbers += [complex(NEGATIVE, 0.0), np.float64(0.0), np.float32(0.0), np.float64(-0.0)]
    assert len({identity_of(one) for one in numbers}) == len(numbers)
    assert identity_of(float("nan")) == identity_of(np.nan) and identity_of(2.5) == identity_of(2.5)


@pytest.mark.usefixtures("no_mode")
def test_how_often_a_program_declines() -> None:
    def difference(x, y):
        return (x - y) * 2.0 + x

    fast = dynamo_lite.compile(difference, options=WHATEVER_PAYS)
    numbers, missing, unlike = np.arange(1.0, 9.0), np.arange(1.0, 9.0), np.arange(1.0, 9.0)
    missing[3], unlike[3] = POSITIVE, NEGATIVE
    for x, y, declines in (
        (numbers, numbers, 0),
        (missing, numbers, 1),  # some NaN was met
        (missing, missing, 1),  # all that go in are alike
        (missing, unlike, 2),  # two that differ go in
        (missing, unlike, 2),  # which meet where NumPy keeps the first
        (numbers, unlike, 2),
    ):
        same(difference, fast, x, y)
        assert fast.stats()["declines"] == declines


@pytest.mark.usefixtures("no_mode")
def test_one_that_arises_is_no_other() -> None:
    def roots(x, y):
        return np.sqrt(x) * y + x * y  # the processor's NaN is negative

    fast = dynamo_lite.compile(roots, options=WHATEVER_PAYS)
    x, y = np.array([4.0, 9.0, -1.0, 1.0] * 3), np.array([2.0, POSITIVE, POSITIVE, 1.0] * 3)
    same(roots, fast, np.abs(x), y)
    assert fast.stats()["declines"] == 1
    for _ in range(3):
        same(roots, fast, x, y)
    assert fast.stats()["declines"] >= 2

    fast = dynamo_lite.compile(roots, options=WHATEVER_PAYS)
    for _ in range(4):
        same(roots, fast, x, np.abs(x))
    assert fast.stats()["declines"] == 1  # all that meet have arisen, and are alike
    for _ in range(4):
        same(roots, fast, x, y)
    assert fast.stats()["declines"] >= 2


BINARY = ("+", "+", "*", "*", "-", "/")


def expression(rng: random.Random, names: tuple[str, ...], depth: int) -> str:
    """NB: of two constants that are NaN, Python itself keeps the one or the other, by how warm the code is."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(names)
    parts = [expression(rng, names, depth - 1) for _ in range(4)]
    form = rng.choice(
        (
            *(f"({{}} {sign} {{}})" for sign in 2 * BINARY),
            *("(-{})", "np.abs({})", "np.sqrt({})", "np.exp({})", "np.square({})", "np.clip({}, -1.5, 2.0)"),
            *("np.hypot({}, {})", "({} % {})", "({} // {})", "np.maximum({}, {})", "np.minimum({}, {})"),
            *("np.where({} > {}, {}, {})", "({} * 0.5)", "({} + np.nan)", "(-np.nan - {})"),
        )
    )
    return form.format(*parts)


def data(rng: np.random.Generator, kind: str, dtype: str, n: int) -> Array:
    x = rng.normal(size=n).astype(dtype)
    unsigned = f"u{x.itemsize}"
    quiet = np.array([np.nan], dtype).view(unsigned)
    sign = np.array([1 << (8 * x.itemsize - 1)], unsigned)
    nans = np.concatenate([quiet, quiet | sign, quiet | 0x77, quiet | sign | 0x55]).view(dtype)
    chosen = rng.random(n) < 0.2
    if kind in ("mixed", "all"):
        x[chosen] = nans[rng.integers(0, 4, chosen.sum())]
    elif kind == "missing":
        x[chosen] = np.nan
    if kind in ("infinite", "all"):
        x[rng.random(n) < 0.15], x[rng.random(n) < 0.1], x[rng.random(n) < 0.1] = np.inf, -np.inf, 0.0
    return x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(24))
def test_random_expressions(seed: int, backend: str) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    names = ("x", "y", "z")[: rng.randint(1, 3)]
    body = f"return {expression(rng, names, 4)}, {expression(rng, names, 3)}"
    if seed % 3 == 2:
        body = f"for _ in range(3):\n        x = {expression(rng, names, 2)} + 0.0 * x\n    return x, y"
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x, y, z):\n    {body}", space)
    fast = dynamo_lite.compile(space["f"], backend=backend, options=WHATEVER_PAYS)
    for dtype in ("f8", "f4"):
        for kind in ("plain", "missing", "missing", "mixed", "infinite", "all", "all", "missing"):
            n = rng.choice((3, 17, 64, 300))
            arrays = [data(numbers, kind, dtype, 2 * n) for _ in range(3)]
            cut = rng.choice((slice(None, n), slice(None, None, 2), slice(None, None, -1)))
            same(space["f"], fast, *[one[cut] for one in arrays])


SUMS = (
    lambda x: np.sum(x * 2.0 + 1.0),
    lambda x: np.sum(x * 2.0 + 1.0, axis=0),
    lambda x: np.mean(x * x, axis=1),
    lambda x: np.sum(x, axis=(0, 1)) + x[0],
    lambda x: np.add.reduce(x[:, ::2] * 0.5, axis=1, keepdims=True),
    lambda x: np.cumsum(x * 0.5, axis=1),
    lambda x: np.cumsum(x, axis=0),
    lambda x: np.cumprod(x * 0.5, axis=1),
    lambda x: np.std(x, axis=0),
    lambda x: np.max(x * 2.0, axis=1) + np.min(x),
)


@pytest.mark.parametrize("fn", SUMS)
@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_sums(fn, dtype: str) -> None:
    rng = np.random.default_rng(3)
    missing = "missing"
    for kinds in ((missing,) * 4, (missing, "mixed", missing, "all", missing), ("plain", "infinite", missing)):
        for shape in ((6, 5), (40, 60), (3, 700)):
            fast = dynamo_lite.compile(fn, options=WHATEVER_PAYS)
            for kind in (*kinds, "negative"):
                x = data(rng, "plain" if kind == "negative" else kind, dtype, shape[0] * shape[1]).reshape(shape)
                if kind == "negative":
                    x[2, 3] = x[1, 1] = NEGATIVE
                same(fn, fast, x)


def test_sums_by_threads() -> None:
    fast = dynamo_lite.compile(lambda x: np.sum(x * 2.0 + 1.0, axis=1), options={**WHATEVER_PAYS, "num_threads": 2})
    x = np.random.default_rng(5).normal(size=(600, 2000))
    for place, value in (((0, 0), POSITIVE), ((599, 1999), POSITIVE), ((300, 7), POSITIVE), ((599, 3), NEGATIVE)):
        x[place] = value
        for _ in range(4):
            same(lambda x: np.sum(x * 2.0 + 1.0, axis=1), fast, x)


EXTREMES = (
    lambda x: np.min(x * 0.5),
    lambda x: np.max(-np.abs(x), axis=1),
    lambda x: np.min(np.abs(x), axis=0),
    lambda x: (x - x.min()) / (x.max() - x.min() + 1.0),
    lambda x: np.maximum(x, 0.0).min(axis=1),
    lambda x: np.min(x[:, ::2]) + np.max(x[::-1]),
)


@pytest.mark.parametrize("fn", EXTREMES)
@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_extremes_that_are_zero(fn, dtype: str) -> None:
    rng = np.random.default_rng(4)
    for shape in ((6, 5), (40, 60), (3, 700)):
        fast = dynamo_lite.compile(fn, options=WHATEVER_PAYS)
        for zeros in ((0.0,), (0.0,), (0.0,), (-0.0,), (0.0, -0.0), (0.0,), (-0.0, 0.0, np.nan), (0.0,)):
            x = rng.random(shape).astype(dtype)
            for zero in zeros:
                x[rng.random(shape) < 0.1] = zero
            same(fn, fast, x)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize(("ufunc", "one", "other"), ((np.add, POSITIVE, NEGATIVE), (np.minimum, 0.0, -0.0)))
def test_what_is_known_needs_no_memory(ufunc: np.ufunc, one: float, other: float) -> None:
    """NumPy's reduce, which knows which of several NaNs or zeros it keeps, would get an array of all that goes in."""
    fast = dynamo_lite.compile(lambda x: ufunc.reduce(x * 2.0, axis=1), options=WHATEVER_PAYS)
    x = np.random.default_rng(6).random((300, 1000))
    x[2, 3] = one
    for _ in range(4):
        fast(x)
    tracemalloc.start()
    try:
        fast(x)
        _, alike = tracemalloc.get_traced_memory()
        x[2, 5] = other
        fast(x)
        _, unlike = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert alike < x.nbytes / 4 < x.nbytes <= unlike
