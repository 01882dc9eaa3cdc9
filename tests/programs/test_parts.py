"""Stores into parts of one array: halves, columns, steps, corners. Which parts meet is NumPy's to say; a program never
declines for parts that do not, though the bytes from their first to their last element overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Report, check

Array = Any


def same(fn: Any, *arrays: Array) -> Report:
    options = {"options": {"cost_model": False}}
    report = check(fn, copies_of(*arrays), compile=dynamo_lite.compile, compile_options=options)
    assert report.equal, report
    return report


def halves(x: Array) -> Array:
    n = x.shape[1]
    out = np.empty((x.shape[0], 2 * n))
    out[:, :n] = x * 2.0
    out[:, n:] = x + 1.0
    return out


def known_halves(x: Array) -> Array:
    out = np.empty((x.shape[0], 10))
    out[:, :5] = x * 2.0
    out[:, 5:] = x + 1.0
    return out


def quarters(x: Array) -> Array:
    out = np.zeros((2 * x.shape[0], 2 * x.shape[1]))
    out[::2, ::2], out[1::2, ::2], out[::2, 1::2], out[1::2, 1::2] = x, x * 2, x * 3, x * 4
    return out


def into_both(x: Array, out: Array) -> None:
    out[:, :5] = x * 2.0
    out[:, 5:] = x + 1.0
    out[:, 5:] *= out[:, :5]


@pytest.mark.parametrize("fn", (halves, known_halves, quarters))
def test_parts_of_a_fresh_array(fn: Any) -> None:
    report = same(fn, np.random.default_rng(1).random((7, 5)))
    assert report.stats["declines"] == 0
    assert report.stats["native_calls"] == 3


def test_parts_of_an_argument() -> None:
    rng = np.random.default_rng(2)
    for out in (rng.random((7, 10)), rng.random((10, 7)).T, rng.random((14, 20))[::-2, ::2]):
        assert same(into_both, rng.random((7, 5)), out).stats["declines"] == 0


@pytest.mark.parametrize("seed", range(40))
def test_parts_at_random(seed: int) -> None:
    """Two parts of one shape, one of them stored, then the other, then one into the other."""
    rng = np.random.default_rng(seed)
    nd = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 5, nd))
    whole = tuple(3 * n + 3 for n in shape)

    def part() -> str:
        ranges = []
        for size, n in zip(whole, shape, strict=True):
            step = int(rng.integers(1, 4)) * int(rng.choice((1, -1)))
            start = int(rng.integers(0, size - (n - 1) * abs(step)))
            start = start if step > 0 else start + (n - 1) * -step
            stop = start + n * step
            ranges.append(f"{start}:{stop if stop >= 0 else ''}:{step}")
        return ", ".join(ranges)

    one, other = part(), part()
    text = f"""def parts(out, x):
        out[{one}] = x * 2.0
        out[{other}] = x + 1.0
        out[{one}] = out[{other}] * 0.5
        return out[{one}] + x
    """
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    out, x = rng.random(whole), rng.random(shape)
    report = same(namespace["parts"], out, x)
    assert report.stats["declines"] == 0, text
    assert report.stats["native_calls"] == 3, text
