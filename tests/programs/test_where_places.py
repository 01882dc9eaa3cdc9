"""Places that np.where or np.nonzero has found are as good as the mask, and dense masks go by vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal


def divided(x: Any, y: Any) -> Any:
    found = np.where(x > 0.1)
    z = y.copy()
    z[found] = z[found] / x[found]
    return z


def added(x: Any, y: Any) -> Any:
    i = np.where(x > 0.1)[0]
    z = y * 2.0
    z[i] += x[i] * len(i)
    return z, i


def filled(x: Any, y: Any) -> Any:
    z = y * 2.0
    z[np.nonzero(x > 0.1)] = 0.0
    z[np.flatnonzero(x < -1.0)] = np.nan
    return z


def mask_changes(x: Any, y: Any) -> Any:
    m = x > 0.1
    i = np.where(m)
    m[3:5] = ~m[3:5]
    z = y * 2.0
    z[i] = 0.0
    return z, m, y[m]


def mask_changes_by_itself(x: Any, y: Any) -> Any:
    m = x > 0.1
    i = np.where(m)
    m[i] = False
    z = y * 2.0
    z[i] = x[i]
    return z, m


def shorter(x: Any, y: Any) -> Any:
    i = np.where(x[:30] > 0.1)[0]
    return y[i] * 2.0, x[i[1:]]


def in_a_loop(x: Any, y: Any) -> Any:
    for k in range(5):
        i = np.where(x > 0.1 * k)
        y[i] = y[i] * 0.5 + x[i]
    return y


FUNCTIONS = (divided, added, filled, mask_changes, mask_changes_by_itself, shorter, in_a_loop)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_places(function: Any, dtype: str) -> None:
    rng = np.random.default_rng(7)
    options = {"options": {"cost_model": False}}
    for shape in ((100,), (700,), (31, 33)):
        x, y = (rng.normal(size=shape).astype(dtype) for _ in "xy")
        if len(shape) == 2 and function in (added, mask_changes, shorter, filled):
            continue
        for one in (x, np.abs(x) + 1, -np.abs(x), np.where(rng.random(shape) < 0.05, x, 5).astype(dtype)):
            require_equal(function, copies_of(one, y), compile=dynamo_lite.compile, compile_options=options)
        both = copies_of(np.repeat(x, 2, axis=-1)[..., ::2], y[..., ::-1])
        require_equal(function, both, compile=dynamo_lite.compile, compile_options=options)


@pytest.mark.parametrize("function", (divided, filled, in_a_loop))
def test_no_places_are_made(function: Any) -> None:
    x, y = np.linspace(-1.0, 1.0, 500), np.ones(500)
    report = require_equal(function, copies_of(x, y), compile=dynamo_lite.compile)
    text = str(report.compiled.explain())
    assert "advanced_index" not in text and "put_index" not in text


@pytest.mark.parametrize("dtype", ("f8", "f4", "i4", "u8", "f2", "c8"))
@pytest.mark.parametrize("share", (0.0, 0.02, 0.4, 0.9, 1.0))
def test_dense_masks(dtype: str, share: float) -> None:
    def program(x: Any, y: Any, m: Any) -> Any:
        y[m] = x[m]
        return x[m], y

    rng = np.random.default_rng(8)
    options = {"options": {"cost_model": False}}
    for size in (1, 63, 64, 65, 127, 128, 200, 1000):
        m = rng.random(size) < share
        x, y = ((rng.normal(size=size) * 100).astype(dtype) for _ in "xy")
        require_equal(program, copies_of(x, y, m), compile=dynamo_lite.compile, compile_options=options)
        spread = copies_of(np.repeat(x, 2)[::2], y, np.repeat(m, 2)[::2])
        require_equal(program, spread, compile=dynamo_lite.compile, compile_options=options)
