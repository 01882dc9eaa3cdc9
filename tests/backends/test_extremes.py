"""Minimum, maximum and clip of floats are compiled: as NumPy is seen to choose between two zeros or NaNs, or else its
own loops decide, from the second call with such data on. Each test goes both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels import extremes
from dynamo_lite.backends.numba import compile

import dynamo_lite
from dynamo_lite.program.element_ops import EXTREMES, PLAIN_CLIP
from dynamo_lite.program.ir import Element, Value
from tests.copies import copies_of
from tests.oracle import Conditions, Report, check

Array = Any


@pytest.fixture(autouse=True, params=("as tried out", "in doubt"))
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "in doubt":
        monkeypatch.setattr(extremes, "is_known", lambda name, dtype: False)
        monkeypatch.setattr(compile, "_STATE", compile._State())


SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, 5e-324, np.nan, -np.nan)
WHATEVER_PAYS = {"options": {"cost_model": False}}


def same(fn: Callable[..., Any], *pairs: tuple[Any, ...], calls: int = 3) -> Report:
    first, *others = (copies_of(*arrays) for arrays in pairs)
    conditions = Conditions({"all": "raise"})
    report = check(
        fn,
        first,
        compile=dynamo_lite.compile,
        compile_options=WHATEVER_PAYS,
        variants=others,
        conditions=conditions,
        calls=calls,
    )
    assert report.equal, report
    return report


def lesser(x: Array, y: Array) -> Array:
    return np.minimum(x * 1.0, y)


def greater(x: Array, y: Array) -> Array:
    return np.maximum(x, y * 1.0)


def within(x: Array, y: Array) -> Array:
    return np.clip(x * 1.0, y, 2.0) + np.clip(x, -1.0, y)


def limiter(x: Array, y: Array) -> Array:
    return np.where(x * y > 0.0, np.minimum(np.abs(x), np.abs(y)), np.maximum(np.minimum(x, y), -3.0)) * np.sign(x)


FUNCTIONS = (lesser, greater, within, limiter)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_each_pair_at_each_place(fn: Callable[..., Any], dtype: str) -> None:
    """Special numbers in pairs, one pair among ordinary numbers, at places of a vector and behind the last one."""
    ordinary = np.linspace(0.5, 1.5, 19).astype(dtype)
    for one in SPECIAL:
        for other in SPECIAL:
            cases = []
            for place in (0, 7, 16, 18):
                x, y = ordinary.copy(), ordinary[::-1].copy()
                x[place], y[place] = one, other
                cases.append((x, y))
            same(fn, (ordinary, ordinary[::-1].copy()), *cases)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_doubt_costs_one_call(fn: Callable[..., Any]) -> None:
    """Zeros of unlike sign are met once; ordinary data never declines."""
    x, y = (np.random.default_rng(seed).standard_normal((20, 33)) for seed in (1, 2))
    assert same(fn, (x, y)).stats["declines"] == 0
    x[::3], y[::3] = -0.0, 0.0
    report = same(fn, (x, y), calls=6)
    assert report.stats["declines"] <= 1
    assert report.stats["native_calls"] >= 5
    if fn in (lesser, greater):
        name = "minimum" if fn is lesser else "maximum"
        assert report.stats["declines"] == (not extremes.is_known(name, x.dtype))


def test_several_kernels_learn_together() -> None:
    """What one kernel of a program meets, the others are ready for."""

    def layers(x: Array, a: Array, b: Array, c: Array) -> Array:
        for weights in (a, b, c):
            x = np.maximum(x @ weights, 0.0) * 0.5
        return x

    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal((8, 8)) for _ in range(3))
    x = rng.standard_normal((5, 8))
    x[2] = 0.0
    a[:, 3], b[:, 4] = -0.0, -0.0
    report = same(layers, (x, -a, -b, c), calls=6)
    assert report.stats["declines"] <= 1


@pytest.mark.parametrize("least", (0.0, -0.0, 0.5, np.nan))
def test_iterations(least: float) -> None:
    """A kernel that iterates, and machine code of a loop."""

    def decay(x: Array, least: float) -> Array:
        for _ in range(40):
            x = np.maximum(x * 0.9 - 0.1, least)
        return x

    def elements(x: Array, least: float) -> float:
        total = 0.0
        for i in range(len(x)):
            total += np.maximum(x[i], least)
        return total

    x = np.random.default_rng(4).standard_normal(50)
    for fn in (decay, elements):
        same(fn, (x, least), (-x, least), (x * 0.0, least))


@pytest.mark.parametrize("axis", (None, 0, 1))
def test_reduced(axis: int | None) -> None:
    """Extremes that are added up, or reduced themselves."""

    def reduced(x: Array, y: Array) -> Any:
        return np.sum(np.maximum(x, 0.0) * y, axis), np.max(np.minimum(x, y), axis)

    x, y = (np.random.default_rng(seed).standard_normal((33, 20)) for seed in (5, 6))
    zeros = np.where(x > 0, x, -0.0)
    same(reduced, (x, y), (zeros, y), (zeros, zeros * 0.0))


@pytest.mark.parametrize("channels", (2, 3, 4))
@pytest.mark.parametrize("dtype", ("f8", "f4", "u1", "c16"))
def test_targets_that_alternate(channels: int, dtype: str) -> None:
    """Columns of one array are written by one kernel."""

    def columns(x: Array) -> Array:
        out = np.empty_like(x)
        for channel in range(channels):
            out[..., channel] = x[..., channel] * x[..., 0]
        return out

    image = (np.random.default_rng(7).random((6, 9, channels)) * 50).astype(dtype)
    report = same(columns, (image,))
    assert report.stats["declines"] == 0


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_clipped_nans(dtype: str) -> None:
    """A NaN is clipped to itself by compiled code, which looks for it once there has been one; what is in doubt besides
    is NumPy's."""
    ordinary = np.linspace(-2.5, 2.5, 75).astype(dtype)
    with_nan, with_zero, infinite, at_zero = (ordinary.copy() for _ in range(4))
    with_nan[[0, 3, 40, 74]] = np.nan, -np.nan, np.nan, -np.nan
    with_zero[5:9] = -0.0, 0.0, -0.0, np.nan
    infinite[1:4] = np.inf, -np.inf, np.nan
    at_zero[:] = 0.0

    def picture(x: Array, y: Array) -> Array:
        return np.clip(x * 2, -1, 1) + 1, np.clip(x, y, 1.5), np.clip(x - x, 0, 1) * 0.5

    pairs = [(with_nan, ordinary), (with_nan, at_zero), (with_zero, -at_zero), (ordinary, with_nan)]
    pairs.append((with_nan, with_nan))
    for first in (ordinary, with_nan, with_zero):
        same(picture, (first, ordinary), *pairs, (with_zero[::-1], ordinary), (with_nan[::2], ordinary[::2]))
    with np.errstate(invalid="ignore"):
        fast = dynamo_lite.compile(picture, **WHATEVER_PAYS)  # type: ignore[call-overload]
        for x in (with_nan, infinite, with_nan, infinite, with_zero):
            for _ in range(3):
                found, wanted = fast(x, ordinary), picture(x, ordinary)
                assert [one.tobytes() for one in found] == [one.tobytes() for one in wanted]


def test_clip_is_compiled_for_nans_as_well() -> None:
    dtype = np.dtype("f8")
    operands = tuple(Value(f"v{k}", dtype) for k in range(3))
    op = Element("loop", operands, (Value("v3", dtype),), EXTREMES["clip"])
    by_loops = extremes.known_extreme(op)
    for strict, name in ((False, PLAIN_CLIP), (True, "clip_or_doubt")):
        made = extremes.compiled_extreme(op, strict)
        assert made.op == (name if by_loops is op else by_loops.op)
