"""Slices in machine loops: first place and number of elements as Python's slices have them, for any known range."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import pytest
from dynamo_lite.backends.numba import compile as compiling
from dynamo_lite.backends.numba.machine_numbers import LEAST, MOST, Number, NumberWriter
from dynamo_lite.backends.numba.machine_slices import slice_axis

BOUNDS = (None, 0, 1, 2, 5, 6, 7, 100, MOST, -1, -2, -5, -6, -7, -100, LEAST)
_MADE = itertools.count()
_KEPT: list[object] = []  # what keeps the machine code


def _compiled(kinds: tuple[str, str], by: int) -> Any:
    """A function of (size, start, stop, out). kinds: "none", "natural" where a bound is known not to be negative, or
    "any"."""
    writer = NumberWriter()
    size = Number("int", "%size", 0)
    numbers = [
        None if kind == "none" else Number("int", name, 0 if kind == "natural" else LEAST)
        for name, kind in zip(("%start", "%stop"), kinds, strict=True)
    ]
    first, count = slice_axis(writer, size, numbers[0], numbers[1], by)
    assert count.least >= 0
    name = f"slice_axis{next(_MADE)}"
    text = [f"define void @{name}(i64 %size, i64 %start, i64 %stop, ptr %out) {{", "entry:", *writer.lines.text]
    text += [f"  store i64 {first.name}, ptr %out", "  %next = getelementptr i64, ptr %out, i64 1"]
    text += [f"  store i64 {count.name}, ptr %next", "  ret void", "}", *sorted(writer.lines.declarations)]
    address, code = compiling._STATE.start().load("\n".join(text) + "\n", name)
    _KEPT.append(code)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, ctypes.POINTER(ctypes.c_int64))(address)


@pytest.mark.parametrize("by", [1, 2, 3, 1000, -1, -2, -3, -1000])
@pytest.mark.parametrize("kinds", list(itertools.product(("none", "natural", "any"), repeat=2)))
def test_slices(kinds: tuple[str, str], by: int) -> None:
    function, out = _compiled(kinds, by), (ctypes.c_int64 * 2)()
    allowed = {
        "none": (None,),
        "natural": [bound for bound in BOUNDS if bound is not None and bound >= 0],
        "any": [bound for bound in BOUNDS if bound is not None],
    }
    for size, start, stop in itertools.product((0, 1, 2, 5, 6), *(allowed[kind] for kind in kinds)):
        function(size, start or 0, stop or 0, out)
        places = range(size)[start:stop:by]
        assert out[1] == len(places), (size, start, stop)
        assert not places or out[0] == places[0], (size, start, stop)
