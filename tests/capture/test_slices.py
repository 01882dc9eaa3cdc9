"""Slices that come from outside: variables of a module, arguments, items of tuples, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

Array = Any
Key = Any

SLICES = (
    slice(1, -1),
    slice(2, 9, 3),
    slice(None),
    slice(None, None, -2),
    slice(3, 0),
    slice(-100, 100),
    slice(10**30),
    slice(True, 7),
    slice(np.int64(2), None),
    slice(np.array(3), 5),
)
INNER = slice(1, -1)
BLOCK = np.s_[1:-1, 2:5]


class Window:
    def __init__(self, rows: slice) -> None:
        self.rows = rows


def read(x: Array, key: Key) -> Any:
    return x[key] * 2.0, key


def pairs(x: Array, key: Key) -> Any:
    return x[key, key].T + 1.0, x[..., key].sum(), x[key][:, key]


def written(x: Array, key: Key) -> Any:
    x[key] += 1.0
    x[key, 1] = x[0, 0]
    return x


def of_lists(x: Array, key: Key) -> Any:
    return x + 1.0, [1, 2, 3, 4][key], (1, 2, 3, 4)[key], "spam"[key]


def parts(x: Array, key: Key) -> Any:
    return x + 1.0, key.start, key.stop, key.step


def asked(x: Array, key: Key) -> Any:
    return x + 1.0, type(key), isinstance(key, slice), key is None, key == slice(1, -1), bool(key), key is key


def shown(x: Array, key: Key) -> Any:
    y = x + 1.0
    return y, f"{key}", repr(key), key.indices(4)[0], y[key]


def hashed(x: Array, key: Key) -> Any:
    try:
        return x * 2.0, hash(key)
    except TypeError as error:
        return x * 3.0, str(error)


def in_a_tuple(x: Array, key: Key) -> Any:
    both = (key, slice(0, 2))
    for _ in range(3):
        x[both] = x[both] * 0.5 + 1.0
    return x, both


PROGRAMS = (read, pairs, written, of_lists, parts, asked, shown, hashed, in_a_tuple)
OPTIONS = {"cost_model": False, "check": 1}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_one_after_another(program: Callable[..., Any]) -> None:
    first, *rest = [lambda key=key: (np.arange(49.0).reshape(7, 7), key) for key in SLICES]  # type: ignore[misc]
    options = {**OPTIONS, "recompile_limit": 100}
    require_equal(program, first, variants=rest, compile=dynamo_lite.compile, compile_options={"options": options})


def test_it_stays_the_same_object() -> None:
    fast = dynamo_lite.compile(read, options=OPTIONS)
    for key in (INNER, INNER, slice(1, -1), slice(2, -1), slice(3, -1)):
        assert fast(np.ones((5, 5)), key)[1] is key


def of_a_module(x: Array, n: int) -> Array:
    for _ in range(n):
        x[INNER, INNER] = 0.25 * (x[:-2, INNER] + x[2:, INNER] + x[INNER, :-2] + x[INNER, 2:])
        x[BLOCK] += 0.5
    return x


def of_an_object(x: Array, window: Window) -> Array:
    return x[window.rows] * 2.0 + x[window.rows].sum(axis=0)


def test_a_loop_over_the_inside_is_one_graph() -> None:
    report = require_equal(
        of_a_module, lambda: (np.arange(81.0).reshape(9, 9), 5), variants=[lambda: (np.ones((12, 12)), 4)],
        compile=dynamo_lite.compile, compile_options={"options": OPTIONS},
    )  # fmt: skip
    assert report.stats["compiles"] == 1 and not report.stats["breaks"]


def test_bounds_that_change_become_numbers() -> None:
    def given(at: int) -> Callable[[], tuple[Array, Window]]:
        return lambda: (np.arange(400.0).reshape(40, 10), Window(slice(at, at + 9)))

    first, *rest = [given(at) for at in range(0, 24, 2)]
    report = require_equal(
        of_an_object, first, variants=rest, compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )
    assert report.stats["compiles"] <= 3


class GivesBack:
    def __getitem__(self, key: Key) -> Key:
        return key


def given_back(x: Array, keys: GivesBack) -> Any:
    first, second = keys[1:2], keys[1:2]
    return x + 1.0, first is second, first  # one object from 3.14 on, where a slice of constants is a constant


def test_a_slice_that_somebody_keeps_is_the_object_that_it_is() -> None:
    fast = dynamo_lite.compile(given_back, options={"cost_model": False, "check": 1})
    for _ in range(3):
        assert repr(fast(np.ones(3), GivesBack())) == repr(given_back(np.ones(3), GivesBack()))
