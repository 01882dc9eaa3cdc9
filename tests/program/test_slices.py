"""Slices in routines: first place and number of elements as Python's slices have them, for any known range."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dynamo_lite.backends.numba.emit import emit

from dynamo_lite.program.build_numbers import INT64, LEAST, MOST, Number, NumberBuilder
from dynamo_lite.program.evaluate import evaluate
from dynamo_lite.program.ir import INDEX, PACKED, For, Function, Load, Memref, Store, Value
from dynamo_lite.program.verify import verify
from tests.backends.kernel_call import run_emitted

BOUNDS = (None, 0, 1, 2, 5, 6, 7, 100, MOST, -1, -2, -5, -6, -7, -100, LEAST)
SIZES = (0, 1, 2, 5, 6)


def function_of_slices(kinds: tuple[str, str], by: int) -> Function:
    """(size, start, stop) -> (first, count) of each element. kinds: "none", "natural" where a bound is known not to be
    negative, or "any"."""
    builder = NumberBuilder()
    given = [Value(name, INT64) for name in ("size", "start", "stop")]
    bounds = [
        None if kind == "none" else Number("int", value, 0 if kind == "natural" else LEAST)
        for value, kind in zip(given[1:], kinds, strict=True)
    ]
    first, count = builder.slice_axis(Number("int", given[0], 0), *bounds, by)
    assert count.least >= 0
    n, i = Value("n", INDEX), Value("i", INDEX)
    places = [
        Memref(f"{space[0]}{place}", INT64, (PACKED,), (n,), space, place)
        for space, number in (("operand", 3), ("result", 2))
        for place in range(number)
    ]
    constants = [
        Load(value, Memref(f"k{place}", value.dtype, (), (), "constant", place, value.number), ())
        for place, value in enumerate(builder.known.values())
    ]
    loads = [Load(value, memref, (i,)) for value, memref in zip(given, places, strict=False)]
    stores = [Store(memref, (i,), number.value) for memref, number in zip(places[3:], (first, count), strict=True)]
    nest = For(i, n, (*constants, *loads, *builder.nodes, *stores))
    return Function(tuple(places[:3]), tuple(places[3:]), n, (nest,), scratch_bytes=64)


@pytest.mark.parametrize("by", [1, 2, 3, 1000, -1, -2, -3, -1000])
@pytest.mark.parametrize("kinds", list(itertools.product(("none", "natural", "any"), repeat=2)))
def test_slices(kinds: tuple[str, str], by: int) -> None:
    function = function_of_slices(kinds, by)
    verify(function)
    allowed = {
        "none": (None,),
        "natural": [bound for bound in BOUNDS if bound is not None and bound >= 0],
        "any": [bound for bound in BOUNDS if bound is not None],
    }
    cases = list(itertools.product(SIZES, *(allowed[kind] for kind in kinds)))
    operands = list(np.array([[part or 0 for part in case] for case in cases], np.int64).T.copy())
    meant, found = ([np.zeros(len(cases), np.int64) for _ in range(2)] for _ in range(2))
    evaluate(function, operands, meant, n=len(cases))
    run_emitted(emit(function, "slices"), "slices", [*operands, *found], n=len(cases))
    for (size, start, stop), first, count, *others in zip(cases, *meant, *found, strict=True):
        places = range(size)[start:stop:by]
        assert [first, count] == others, (size, start, stop)
        assert count == len(places), (size, start, stop)
        assert not places or first == places[0], (size, start, stop)
