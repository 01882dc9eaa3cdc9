"""A program that declines behind a write has undone it: what plain Python does then, it does once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def unlike_orders(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    return x + (y + 1)


def sum_of_unlike_orders(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    return (x + (y + 1)).sum(axis=0), x


def reshaped(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    return x.reshape(-1) + y.reshape(-1)


def indexed(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    return x[c[1]] + y[c[0]]


def number_that_does_not_fit(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    n = int(c[0]) * 100
    return x.astype(np.int8) + n, y


def flags(c: Any, x: Any, y: Any) -> Any:
    c[0] += 1
    return x / (y - 1)


def matrices(kind: str) -> tuple[Any, ...]:
    c = np.zeros(3, np.int64)
    if kind == "alike":
        return c, np.ones((300, 300), np.int64) * 3, np.ones((300, 300), np.int64) * 7
    if kind == "unlike":
        return c, np.ones((300, 300), np.int64), np.ones((300, 300), np.int64, order="F")
    if kind == "turned":
        return c, np.arange(90000).reshape(300, 300).T, np.ones((300, 300), np.int64)
    c[:] = 2, 400, 1
    return c, np.ones((300, 300), np.int64), np.ones((300, 300), np.int64)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [unlike_orders, sum_of_unlike_orders, reshaped, indexed, number_that_does_not_fit, flags]
)
def test_a_write_before_what_declines(function: Callable[..., Any], backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for kind in ("alike", "unlike", "turned", "large", "alike", "unlike"):
        found = []
        for f in (function, fast):
            arguments = matrices(kind)
            outcome = []
            for _ in range(2):
                try:
                    result = f(*arguments)
                except (IndexError, OverflowError) as error:
                    outcome.append(repr(error))
                    continue
                parts = result if isinstance(result, tuple) else (result,)
                # NB: the reference backend calls functions, which know of no temporary whose memory they might take
                outcome += [(part.tobytes(), part.strides if backend != "reference" else None) for part in parts]
            found.append((outcome, [array.tobytes() for array in arguments]))
        assert found[0] == found[1], kind
    assert fast.stats()["native_calls"] + fast.stats()["declines"] > 0


def fills_and_turns(x: Any, row: Any) -> Any:
    x[1:] = x[:-1]
    x[...] = row
    x[::-1] = x
    return x


def fills_and_copies(x: Any, row: Any) -> Any:
    x[1:] = x[:-1]
    x[...] = row
    return x.copy(), x


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1), (3, 4), (4, 4)], ids=str)
@pytest.mark.parametrize("fn", [fills_and_turns, fills_and_copies])
def test_an_array_that_is_filled_lies_in_an_order_that_nothing_tells(fn: Any, shape: tuple[int, int]) -> None:
    def args(row: Any, order: Any = "C") -> Any:
        flat = np.arange(shape[0] * shape[1], dtype=float)
        return lambda: (np.array(flat.reshape(shape), order=order), copy.copy(row))

    rows = [7.0, np.float64(3.0), np.arange(shape[1], dtype=float), np.ones((shape[0], 1))]
    options = {"options": {**OPTIONS, "recompile_limit": 100}}
    for row in rows:
        variants = [args(row, "F"), *map(args, rows)]
        require_equal(fn, args(row), variants=variants, compile=dynamo_lite.compile, compile_options=options)
