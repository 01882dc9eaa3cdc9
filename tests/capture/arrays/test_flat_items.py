"""Items and parts of ``x.flat``: elements in C order whatever the layout, parts as arrays of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

Array = Any


def items(x: Array, k: int) -> Any:
    first, last = x.flat[0], x.flat[-1]
    return x * first, last, x.flat[k] + 1


def parts(x: Array, k: int) -> Any:
    y, z = x.flat[:k], x.flat[::-2]
    y += 1  # which is no view
    return y, z * 2, x.flat[k:k], x.flat[1:100] + x.flat[0], x


def iterated(x: Array, k: int) -> Any:
    it = x.flat
    a = it[k]
    b = next(it)
    c = it[k]  # which begins it anew
    return x * a, b, c, next(it), it.index


def begun_anew(x: Array, k: int) -> Any:
    it, total, count = x.flat, 0.0, 0
    for value in it:
        total = total * 0.5 + value + it[1]  # so that it never ends
        count += 1
        if count > 20:
            break
    pair = (x.flat, 1)
    return total, count, pair[0][2], next(pair[0])


def by_other_than_ints(x: Array, k: int) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = x * 2, x.flat[k > 1], x.flat[k == 40], x.flat[1.0 if k else 0.0], x.flat[np.arange(3)]
    return found, [str(one.message) for one in caught]


LAYOUTS: dict[str, Callable[[], Array]] = {
    "contiguous": lambda: np.arange(12.0).reshape(3, 4),
    "transposed": lambda: np.arange(12.0).reshape(3, 4).T,
    "reversed": lambda: np.arange(12)[::-1],
    "strided": lambda: np.arange(48, dtype=np.float32).reshape(6, 8)[::2, 1::3],
    "complex": lambda: np.arange(6).reshape(1, 2, 3) * 1j,
}


@pytest.mark.parametrize("fn", [items, parts, iterated, begun_anew, by_other_than_ints])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_flat_items(fn: Callable[..., Any], layout: str) -> None:
    options = {"options": {"cost_model": False, "check": 1}}
    rest = [lambda k=k: (LAYOUTS[layout](), k) for k in (0, 2, -4, 40)]  # type: ignore[misc]
    report = require_equal(
        fn, lambda: (LAYOUTS[layout](), 3), variants=rest, compile=dynamo_lite.compile, compile_options=options
    )
    breaks = report.compiled.explain().breaks
    assert fn not in (items, parts) or not [one for one in breaks if "iterator" in one.message]
