"""Transforms along several axes are one graph: NumPy's own functions compute with sizes and lists on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

RNG = np.random.default_rng(8)

ALONG_SEVERAL: list[Callable[[Any], Any]] = [
    lambda x: np.fft.fftn(x * 2.0) * 0.5,
    lambda x: np.fft.ifftn(np.fft.fftn(x * 2.0) * 1j),
    lambda x: np.fft.fft2(x * 2.0) * 0.5,
    lambda x: np.fft.ifft2(x * 2.0, norm="ortho") * 0.5,
    lambda x: np.fft.fftn(x * 2.0, axes=(1, -2)) * 0.5,
    lambda x: np.fft.fftn(x * 2.0, axes=(0, 0)) * 0.5,
    lambda x: np.fft.fft2(x * 2.0, s=(4, -1)) * 0.5,
    lambda x: np.fft.fft2(x.T * 2.0) * 0.5,
    lambda x: np.fft.rfft2(x * 2.0) * 0.5,
    lambda x: np.fft.rfftn(x * 2.0, axes=(1, 0)) * 0.5,
    lambda x: np.fft.irfft2(np.fft.rfft2(x * 2.0)) * 0.5,
    lambda x: np.fft.irfftn(np.fft.rfftn(x * 2.0)) * 0.5,
    lambda x: np.fft.irfftn(np.fft.rfftn(x * 2.0, axes=(1, 0)), axes=(1, 0)) * 0.5,
]


OPTIONS = {"cost_model": False}


@pytest.mark.parametrize("function", ALONG_SEVERAL)
def test_transforms_along_several_axes_are_one_graph(function: Callable[[Any], Any]) -> None:
    shapes = ((6, 8), (5, 7), (4, 6, 10))
    first, *others = (copies_of(RNG.normal(size=shape)) for shape in shapes)
    options = {"fullgraph": True, "options": OPTIONS}
    report = require_equal(function, first, compile=dynamo_lite.compile, compile_options=options, variants=others)
    assert report.stats["native_calls"] >= 6


@pytest.mark.parametrize(
    "function", [lambda x: np.fft.fft2(x * 2.0), lambda x: np.fft.fftn(x * 2.0, axes=(0, 5))], ids=["fft2", "no axis"]
)
def test_axes_that_are_not_there_raise_as_they_do_plainly(function: Callable[[Any], Any]) -> None:
    options = {"options": OPTIONS}
    report = require_equal(
        function, copies_of(RNG.normal(size=6)), compile=dynamo_lite.compile, compile_options=options
    )
    assert report.raised


def in_reverse(x: Any) -> Any:
    made = [x * 2.0, x + 1.0]
    other = made
    made.reverse()
    made.append(x - 3.0)
    for _ in range(3):
        other.reverse()
    return made, made is other, list(reversed(made))


def reversed_in_a_loop(x: Any) -> Any:
    made = [x * 2.0, x + 1.0]
    total = x * 0.0
    for scale in x:
        made.reverse()
        total = total + made[0] * scale
    return total, made


def in_reverse_from_outside(x: Any, items: Any) -> Any:
    items.reverse()
    return items[0] * x


def test_a_list_made_here_is_reversed_in_place() -> None:
    sizes = [copies_of(RNG.normal(size=size)) for size in (5, 9, 0)]
    options = {"fullgraph": True, "options": OPTIONS}
    report = require_equal(
        in_reverse, sizes[0], compile=dynamo_lite.compile, compile_options=options, variants=sizes[1:]
    )
    assert report.stats["native_calls"] >= 5
    options = {"options": OPTIONS}
    require_equal(
        reversed_in_a_loop, sizes[0], compile=dynamo_lite.compile, compile_options=options, variants=sizes[1:]
    )


def test_a_list_from_outside_is_reversed_by_python() -> None:
    args = copies_of(RNG.normal(size=4), [np.full(4, float(k)) for k in range(4)])
    require_equal(in_reverse_from_outside, args, compile=dynamo_lite.compile, compile_options={"options": OPTIONS})
