"""Masks beside numbers, slices, new axes and an ellipsis, ``x[1:, mask, k]``: what is selected, and what is stored."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False}}
ENTRIES = (":", "1", "1:", "::-1", "-2")
FORM = """
def f(x, y, m):
    z = x[{key}] * 2.0 + 1.0
    y[{key}] = z * z
    w = y * 1.0
    w[{key}] = -3.0
    v = y * 0.5
    v[{key}] /= 3.0
    return z, w, v
"""


def program(key: str) -> Callable[..., Any]:
    source, name = FORM.format(key=key), f"<masks beside {key}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def random_key(choose: random.Random) -> tuple[str, int, int, int]:
    """An index of an array by one mask; how many axes the array has, where the mask's begin, and how many these are."""
    ndim = choose.randint(1, 4)
    covered = choose.randint(1, min(2, ndim))
    first = choose.randint(0, ndim - covered)
    key = [choose.choice(ENTRIES) for _ in range(ndim - covered)]
    key.insert(first, "m")
    if choose.random() < 0.4:
        key.insert(choose.randint(0, len(key)), "...")
    while choose.random() < 0.5 and key[-1] == ":":
        key.pop()
    while choose.random() < 0.3:
        key.insert(choose.randint(0, len(key)), "None")
    return ", ".join(key), ndim, first, covered


@pytest.mark.parametrize("seed", range(60))
def test_random(seed: int) -> None:
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    key, ndim, first, covered = random_key(choose)
    shape = (20, 5, 3, 4)[:ndim]
    order: Any = choose.choice("CF")
    x, y = (np.asarray(draw.standard_normal(shape), order=order) for _ in range(2))
    mask = draw.random(shape[first : first + covered]) < choose.choice((0.0, 0.5, 1.0))
    function = program(key)
    require_equal(function, copies_of(x, y, mask), compile=dynamo_lite.compile, compile_options=OPTIONS)
    fast: Any = dynamo_lite.compile(function, **OPTIONS)
    fast(x.copy("K"), y.copy("K"), mask)
    fast(x.copy("K"), y.copy("K"), mask)
    stats = fast.stats()
    assert stats["native_calls"] == 2 and stats["breaks"] == stats["declines"] == 0, key


def test_of_another_length() -> None:
    """An IndexError is Python's own, also of an axis that the index does not begin with."""

    def f(x: Any, m: Any) -> Any:
        y = x * 2.0
        y[0, m] = x[1, m] + 1.0
        return y

    x = np.arange(12.0).reshape(3, 4)
    for length in (3, 4, 5):
        require_equal(f, copies_of(x, np.arange(length) % 2 == 0), compile=dynamo_lite.compile, compile_options=OPTIONS)


def test_rows_behind_axes_that_are_kept() -> None:
    """What does not have the shape of what is selected is NumPy's to spread."""

    def f(x: Any, m: Any, row: Any) -> Any:
        y, z = x * 2.0, x * 3.0
        y[:, m] = row[:, None]
        z[m[:3], 1:] = row
        return y, z

    x, m = np.arange(12.0).reshape(3, 4), np.array([True, False, True, True])
    require_equal(f, copies_of(x, m, np.arange(3.0)), compile=dynamo_lite.compile, compile_options=OPTIONS)


def in_a_loop(x: Any, v: Any, n: int) -> Any:
    for i in range(n):
        out = x[:, 0] > 0.5 * i
        v[out, 0] = -v[out, 0]
        x[out, 0] = 1.0 - x[out, 0]
        x = x + 0.1 * v
    return x, v


def test_in_a_loop() -> None:
    draw = np.random.default_rng(4)
    x, v = draw.standard_normal((2, 50, 3))
    require_equal(in_a_loop, copies_of(x, v, 12), compile=dynamo_lite.compile, compile_options=OPTIONS)
    fast: Any = dynamo_lite.compile(in_a_loop, **OPTIONS)
    fast(x.copy(), v.copy(), 12)
    assert fast.stats()["breaks"] == 0


def test_bools_that_may_be_the_mask() -> None:
    def f(x: Any) -> Any:
        x[0, x[0]] = False
        y = x[1]
        x[1, y] = x[0, y]
        return x

    x = np.random.default_rng(5).random((2, 9)) < 0.5
    require_equal(f, copies_of(x), compile=dynamo_lite.compile, compile_options=OPTIONS)
