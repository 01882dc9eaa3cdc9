"""Functions that NumPy computes otherwise where arrays are reversed or overlap: the last bits are its own all the same.

Which functions these are depends on the processor. The arrays hold the numbers for which the two ways differ on the one
at hand, if there are any, and a few more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import Grade, _grade

import dynamo_lite
from dynamo_lite.ops import vector_math
from tests.copies import copies_of
from tests.oracle import check

Array = Any
NAMES = sorted(vector_math.NAMES_OF_HALF - {"arctan2", "power", "float_power"})


@functools.cache
def numbers(name: str, dtype: Any) -> Array:
    """Numbers for which the ways differ, and some others."""
    ufunc, rng = getattr(np, name), np.random.default_rng(5)
    low = 1.0 if name == "arccosh" else 1e-3 if name.startswith("log") else -0.99
    high = 0.99 if name in ("arcsin", "arccos", "arctanh") else 10.0
    many = rng.uniform(low, high, 20_000).astype(dtype)
    # NB: out is packed: NumPy turns both round where both are reversed.
    differ = many[ufunc(many) != ufunc(many[::-1], out=np.empty_like(many))[::-1]]
    return np.concatenate([differ[:100], many[: 40 - min(len(differ), 20)]])


def layouts(x: Array) -> Iterator[Array]:
    yield x
    yield x[::-1]
    yield np.repeat(x, 2)[::2]
    yield np.repeat(x, 2)[::-2]
    yield x[:1]
    yield x[:1][::-1]
    yield x[0]
    two = np.stack([x, x])
    yield from (two, two.T, two[::-1], two[:, ::-1], two[::-1, ::-1], two.T[::-1], two.T[:, ::-1])


def pairs(x: Array) -> Iterator[tuple[Array, Array]]:
    """Operands and results that lie beside, in and across each other."""
    n = len(x)

    def memory() -> Array:
        return np.concatenate([x, x, x])

    columns = np.stack([x, x], axis=1)
    yield columns[:, 0], columns[:, 1]
    for start in (0, 1, n - 1, n):
        own = memory()
        yield own[:n], own[start : start + n]
    own = memory()
    yield own[:n], own[:n][::-1]
    yield x.copy(), np.empty_like(x)[::-1]
    yield x[::-1].copy()[::-1], np.empty_like(x)
    yield x[::-1].copy()[::-1], np.empty_like(x)[::-1]
    yield x.copy(), np.empty((n, 2), x.dtype)[:, 1]


def fresh(ufunc: Any) -> Callable[..., Any]:
    return lambda x: ufunc(x) * 2


def of_what_is_computed(ufunc: Any) -> Callable[..., Any]:
    return lambda x: (ufunc(x * 1.0) * 2, ufunc((x * 1.0)[::-1]) + 1, ufunc(x[::-1] * 1.0)[::-1] + 2)


def added_up(ufunc: Any) -> Callable[..., Any]:
    return lambda x: (ufunc(x).sum(), ufunc(x * 1.0).sum())


def repeated(ufunc: Any) -> Callable[..., Any]:
    def function(x: Array) -> Any:
        total = x * 0.0
        for _ in range(4):
            total = total + ufunc(x)
        return total

    return function


def by_slices(ufunc: Any) -> Callable[..., Any]:
    def function(x: Array) -> Any:
        out = np.zeros(x.shape, x.dtype)
        for i in range(len(x)):
            out[:i] += ufunc(x[:i])
            out[i:] -= ufunc(x[i:][::-1])
        return out

    return function


def into(ufunc: Any) -> Callable[..., Any]:
    def function(x: Array, out: Array) -> None:
        ufunc(x, out=out)

    return function


def computed_into(ufunc: Any) -> Callable[..., Any]:
    def function(x: Array, out: Array) -> None:
        ufunc(x * 1.0, out=out)

    return function


def stored(ufunc: Any) -> Callable[..., Any]:
    def function(x: Array, out: Array) -> None:
        out[...] = ufunc(x)

    return function


def compare(function: Callable[..., Any], *calls: tuple[Any, ...], backend: str = "numba") -> None:
    options = {"cost_model": False, "recompile_limit": 50}
    compiler = functools.partial(dynamo_lite.compile, backend=backend, options=options)
    first, *others = (copies_of(*call) for call in calls)
    report = check(function, first, compile=compiler, variants=others)
    assert report.equal, str(report)


@pytest.mark.parametrize("form", [fresh, of_what_is_computed, added_up, repeated])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str, dtype: Any, form: Any) -> None:
    x = numbers(name, dtype)
    arrays = [a for a in layouts(x) if a.ndim or form is not of_what_is_computed]
    compare(form(getattr(np, name)), *((a,) for a in arrays))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["exp", "tan", "log2"])
def test_slices(name: str, dtype: Any) -> None:
    x = numbers(name, dtype)
    compare(by_slices(getattr(np, name)), *((a,) for a in layouts(x) if a.ndim == 1))


@pytest.mark.parametrize("form", [into, computed_into, stored])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", NAMES)
def test_results_beside_operands(name: str, dtype: Any, form: Any, backend: str) -> None:
    compare(form(getattr(np, name)), *pairs(numbers(name, dtype)), backend=backend)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["arctan2", "power"])
def test_two_operands(name: str, dtype: Any) -> None:
    ufunc, rng = getattr(np, name), np.random.default_rng(6)
    x, y = rng.uniform(0.1, 5, (2, 30_000)).astype(dtype)
    differ = ufunc(x, y) != ufunc(x[::-1], y[::-1], out=np.empty_like(x))[::-1]
    keep = np.flatnonzero(differ)[:100]
    keep = np.concatenate([keep, np.arange(40 - min(len(keep), 20))])
    x, y = x[keep], y[keep]
    calls = [*zip(layouts(x), layouts(y), strict=True), (x, y[::-1]), (x[::-1], y), (x, y[3]), (x[3], y)]
    compare(lambda x, y: ufunc(x, y) * 2, *calls)
    compare(lambda x, y: ufunc(x, y).sum(), *calls)
    compare(lambda x, y: ufunc(x * 1.0, y[::-1]), *(call for call in calls if np.ndim(call[0]) and np.ndim(call[1])))
    compare(lambda x, y: ufunc(x, 1.3), *calls)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", NAMES)
def test_the_grade_fits(name: str, dtype: Any) -> None:
    """What is reversed differs only where the grade says so."""
    x, ufunc = numbers(name, dtype), getattr(np, name)
    differs = bool((ufunc(x) != ufunc(x[::-1], out=np.empty_like(x))[::-1]).any())
    assert not differs or _grade(ufunc, (np.dtype(dtype),) * 2, (False,)) < Grade.ANYWHERE
