"""Cumulative sums and products of vectors, which the program computes: bits, NaNs, flags, in loops and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1, "recompile_limit": 100}}


def straight(x: Any) -> Any:
    return np.cumsum(x), np.cumprod(x) + 1, x[::-2].cumsum(), np.add.accumulate(x * 2), np.cumsum(x, axis=-1)


def looped(x: Any) -> Any:
    for _ in range(4):
        x = np.cumsum(x) / len(x) - np.cumprod(x[::-1])
    return x


def written(x: Any) -> Any:
    for _ in range(3):
        y = x.cumsum()
        x[1:] = y[:-1] * 0.5
        x[:] = np.cumsum(x * 0.5)
    return x


def of_others(x: Any) -> Any:
    return np.cumsum(x, dtype="f8"), np.maximum.accumulate(x), np.subtract.accumulate(x), np.cumsum(x[None], axis=1)


def cases() -> Any:
    random = np.random.default_rng(1)
    for size in (0, 1, 2, 7, 400, 70_000):
        base = random.random(2 * size) - 0.5
        yield base[:size]
        yield base[size - 1 :: -1] if size else base
        yield base[::2].astype("f4")
        yield (base[:size] * 1e12).astype("i8")
        yield (base[:size] * 100).astype("i4")
    for kind in ("f2", "c16", "c8", "?", "u8", "i1"):
        yield (random.random(9) * 3).astype(kind)
    yield random.random(200_000)
    nan, other = np.nan, np.array([0x7FF8_0000_0000_0007], "u8").view("f8")[0]
    for values in ([1, nan, 2], [nan, other, 1], [1, np.inf, -np.inf, 2], [-0.0, -0.0], [1e308, 1e308, -np.inf, 3]):
        yield np.array(values)
        yield np.array(values, "f4") if 1e308 not in values else np.array([3e38, 3e38], "f4")
    yield np.array([2**62, 2**62, 2**62, 5])


@pytest.mark.parametrize("function", [straight, looped, written, of_others])
@pytest.mark.parametrize("state", ["warn", "raise", "ignore"])
def test_as_numpy(function: Any, state: str) -> None:
    for x in cases():
        if function is straight or function is of_others or x.dtype.kind == "f":
            conditions = Conditions(errstate={"all": state})
            require_equal(
                function, copies_of(x), compile=dynamo_lite.compile, compile_options=OPTIONS, conditions=conditions
            )


def test_loops_call_nothing_of_numpy() -> None:
    def sums(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = np.cumsum(x) * 0.01
        return x

    fast = dynamo_lite.compile(sums, options={"cost_model": False})
    x = np.random.default_rng(1).random(40)
    for _ in range(3):
        assert fast(x, 9).tobytes() == sums(x, 9).tobytes()
    assert fast.stats()["native_calls"] == 3 and fast.stats()["declines"] == 0
