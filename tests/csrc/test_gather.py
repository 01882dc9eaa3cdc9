"""x[indices] and np.take of vectors, which the program does itself: values, errors, aliases, in loops and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1, "recompile_limit": 100}}


def straight(x: Any, i: Any) -> Any:
    return x[i], np.take(x, i) + x[i], x.take(i, axis=0), np.take(x * 2, i[::-1])


def looped(x: Any, i: Any) -> Any:
    for _ in range(3):
        x = x[i] + np.take(x, i)
    return x


def written(x: Any, i: Any) -> Any:
    for _ in range(3):
        y = x[i]
        x[1:] = y[:-1]
        x[: len(i)] += np.take(x, i[::-1])
    return x, x[i]


def modes(x: Any, i: Any) -> Any:
    return np.take(x, i, mode="wrap"), np.take(x, i, mode="clip"), x[i]


def cases() -> Any:
    random = np.random.default_rng(1)
    for size in (1, 2, 7, 400, 70_000):
        base = random.random(2 * size) - 0.5
        places = random.integers(-size, size, size)
        yield base[:size], places
        yield base[::2], places[::-1]
        yield base[size - 1 :: -1], places.astype("i4")
        if size == 70_000:
            continue
        for kind in ("f4", "i1", "?", "c16", "f2", "M8[s]", "O"):
            yield base[:size].astype(kind), places
        for kind in ("i1", "i2", "u1", "u2", "u4", "u8", "i8"):
            yield base[:size], (places % min(size, 100)).astype(kind)
        yield base[:size], np.repeat(places, 2)[::2]
    yield np.zeros(0), np.zeros(0, int)
    yield random.random(200_000), random.integers(0, 200_000, 200_000)
    x = random.integers(0, 9, 9)
    yield x, x % 5  # what goes in is what it is read by


def is_moved(x: Any, i: Any) -> bool:
    return x.dtype.kind in "biufc" and len(i) == len(x)


@pytest.mark.parametrize("function", [straight, looped, written, modes])
def test_as_numpy(function: Any) -> None:
    for x, i in cases():
        if function is straight or is_moved(x, i):
            require_equal(function, copies_of(x, i), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("function", [straight, looped, written])
@pytest.mark.parametrize("wrong", [7, -8, 2**40, -(2**63)])
@pytest.mark.parametrize("place", [0, 3, 6])
def test_what_is_not_there_raises_as_plain(function: Any, wrong: int, place: int) -> None:
    i = np.arange(7)
    i[place] = wrong
    require_equal(function, copies_of(np.arange(7.0), i), compile=dynamo_lite.compile, compile_options=OPTIONS)
    require_equal(function, copies_of(np.zeros(0), i), compile=dynamo_lite.compile, compile_options=OPTIONS)


def test_no_call_of_numpy() -> None:
    def gathered(x: Any, i: Any) -> Any:
        return np.take(x, i) * 2.0 + x[i]

    fast = dynamo_lite.compile(gathered, options={"cost_model": False})
    x, i = np.arange(40.0), np.arange(40)[::-1]
    assert fast(x, i).tobytes() == gathered(x, i).tobytes()
    with np.errstate(all="raise"):
        assert fast(x, i).tobytes() == gathered(x, i).tobytes()
    assert fast.stats()["native_calls"] == 2
