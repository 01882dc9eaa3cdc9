"""Arrays like others: their memory order is NumPy's, whatever that of the array they are like."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import check

Array = Any
BASE = np.arange(120.0).reshape(2, 3, 4, 5)


def made(x: Array) -> tuple[Array, ...]:
    zeros, unset = np.zeros_like(x), np.empty_like(x)
    zeros[...] = x + 1
    unset[...] = x
    return (
        zeros,
        unset,
        np.ones_like(x, dtype=np.float32),
        np.full_like(x, 7),
        np.zeros_like(x * 2.0),
        np.zeros_like(x, dtype=bool),
    )


def in_a_loop(x: Array) -> Array:
    for i in range(3):
        step = np.zeros_like(x)
        step[1:] = x[:-1] * i
        x = x + step
    return x


@pytest.mark.parametrize("part", ("...", "::-1", ":, :, ::2", ":1", ":, :, :, :1", ":0"))
@pytest.mark.parametrize("fn", (made, in_a_loop))
def test_layouts(fn: Any, part: str) -> None:
    for axes in itertools.permutations(range(4)):
        view = eval(f"BASE.transpose(axes)[{part}]", {"BASE": BASE, "axes": axes})
        for x in (view, np.broadcast_to(view[:1], view.shape) if len(view) else view, view.astype("i4")):
            report = check(
                fn,
                lambda x=x: (x,),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": {"cost_model": False}},
                calls=2,
                ignore=frozenset({"references"}),
            )
            assert report.equal, (axes, report)
            assert report.stats["native_calls"]


def added_to(x: Array) -> tuple[Array, ...]:
    a = np.sqrt(x[:, np.newaxis][np.newaxis])
    a += 2
    b = x[np.newaxis] * np.ones((1, 1, 1))
    np.add(b, 1, out=b)
    c = np.exp(b)
    c *= 0.5
    return a, b, c


@pytest.mark.parametrize("n", (2, 5))
def test_axes_of_one_element_stay_where_they_are(n: int) -> None:
    """An array that is changed keeps its strides, which are other ones than those of a result made of it."""
    base = np.ones((n + 3, 9), order="F")
    for x in (base[1 : n + 1, 2:8], base.T[2:8, 1 : n + 1], base.T[1:4].copy(), np.asfortranarray(base[:n])):
        report = check(
            added_to,
            lambda x=x: (x,),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            calls=2,
            ignore=frozenset({"references"}),
        )
        assert report.equal, report
        assert report.stats["native_calls"]
