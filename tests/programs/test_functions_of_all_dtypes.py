"""Loops that call functions of csrc/arrays and csrc/kernels/fold.c, which have code of their own for each dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

Array = Any
OPTIONS = {"cost_model": False, "recompile_limit": 100}
DTYPES = "?bBhHiIlLfdD"


def rolled(x: Array, n: int) -> Any:
    s = 0
    for i in range(n):
        y = np.roll(x, -3)
        x = np.roll(y, 2) * 1
        s = s + x[i % x.size]
    return x, y, s


def rolled_by_a_number(x: Array, n: int) -> Any:
    k = 0
    for i in range(n):
        k = (k * 3 + i) % 7 - 3
        x = np.roll(x, k) * 1
    return x, k


def among(x: Array, n: int) -> Any:
    s = 0
    for i in range(n):
        found = np.isin(x, x[i % 3 : i % 3 + 2])
        s += found.sum()
    return s, found


def sets(x: Array, n: int) -> Any:
    s = 0
    for i in range(n):
        rest = np.setdiff1d(x, x[i % 3 : i % 3 + 2])
        both = np.union1d(x[:2], x[2:4])
        common = np.intersect1d(x[:5], x[3:])
        s += rest.size + both.size * 2 + common.size * 3
    return s, rest, both, common


def masked(x: Array, n: int) -> Any:
    s = 0
    for i in range(n):
        mask = x != x[i % x.size]
        chosen = x[mask]
        s += chosen.size
        x = x.copy()
        x[mask] = x[0]
        x[~mask] = 2
    return s, chosen, x


def ordered(x: Array, n: int) -> Any:
    s = 0
    for _ in range(n):
        once = np.unique(x)
        s += once.size
        x = np.concatenate((x[1:], x[:1]))
        y = np.sort(x)
    return s, once, x, y, x[np.argsort(x, kind="stable")]


def accumulated(x: Array, n: int) -> Any:
    for _ in range(n):
        sums, products = np.cumsum(x), np.cumprod(x)
        x = x + sums[:1]
    return sums, products, x


def folded(x: Array, n: int) -> Any:
    """Of integers NumPy adds in 64 bits, where nobody asks for less."""
    of, y = x.dtype, x.reshape(-1, 3) if x.size % 3 == 0 else x.reshape(1, -1)
    y = y + y
    sums = y.sum(dtype=of), y.sum(0, dtype=of), y.sum(-1, dtype=of), y[:, ::2].sum(dtype=of), y.T.sum(0, dtype=of)
    products = y.prod(dtype=of), np.multiply.reduce(y, axis=0, dtype=of), np.multiply.reduce(y, axis=-1, dtype=of)
    return sums, products, y.max(), y.min(), y.max(0), y.min(-1), n


PROGRAMS: tuple[Callable[..., Any], ...] = (
    *(rolled, rolled_by_a_number, among, sets, masked, ordered, accumulated, folded),
)


def numbers(dtype: str, size: int) -> Array:
    rng, of = np.random.default_rng(size), np.dtype(dtype)
    whole = rng.integers(0 if of.kind in "bu" else -3, 2 if of.kind == "b" else 5, size)
    scale = {"c": 0.5 + 1j, "f": 0.5}.get(of.kind, 1)
    return (whole * scale).astype(of)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", PROGRAMS)
def test_functions_of_a_dtype(function: Callable[..., Any], dtype: str) -> None:
    sizes = (9, 40, 300, 2)
    calls = [lambda size=size: (numbers(dtype, size), 12) for size in sizes]  # type: ignore[misc]
    report = require_equal(
        function, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )
    assert report.stats["native_calls"]


def shifted(items: list[Any], n: int) -> Any:
    s = 0
    for i in range(n):
        one = items[i % len(items)]
        items[(i + 1) % len(items)] = one
        s = s + one
    return s, items


LISTS: dict[str, Callable[[], list[Any]]] = {
    "float64": lambda: [np.float64(i * 0.5) for i in range(9)],
    "int64": lambda: [np.int64(i) for i in range(9)],
    "float64 and float": lambda: [np.float64(1.5), 2.5] * 3,
    "bools": lambda: [True, False, True],
    "ints and floats": lambda: [1, 2.5, 3],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("to", ("numba", "c"))
def test_lists_of_numbers(name: str, to: str) -> None:
    calls = [lambda n=n: (LISTS[name](), n) for n in (30, 5)]  # type: ignore[misc]
    options = {"options": OPTIONS, "backend": to}
    require_equal(shifted, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options)
