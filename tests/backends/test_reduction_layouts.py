"""Reductions lie in memory as NumPy's do: strides of every result, with keepdims too, over operands of every layout.

Axes of size 1 and of stride 0 (`np.broadcast_to`) say nothing of an operand's order, so that rules differ there between
a ufunc, a copy and a reduction, with a cast and without one. DYNAMO_LITE_LAYOUTS sets how many programs are tried.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget

DTYPES = ("?", "i1", "u2", "i4", "i8", "f4", "f8", "c16")
WITH_AXES = (
    *("sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "ptp", "count_nonzero", "median", "nansum"),
    *("logical_and.reduce", "logical_or.reduce", "bitwise_or.reduce", "bitwise_xor.reduce", "multiply.reduce"),
)
ONE_AXIS = ("argmax", "argmin")
KEEPS_AXES = ("cumsum", "cumprod", "add.accumulate", "maximum.accumulate", "sort", "argsort")
OPERANDS = (
    "{x}",
    "{x} * 2",
    "({x} > 1)",
    "{x}.astype('f8')",
    "{x}.astype('i8')",
    "({x} + {x}[..., ::-1])",
    "(+{x}.T if True else {x})",
    "{x}.copy()",
    "({x}[..., :1] + {x})",
    "np.where({x} > 1, {x}, 0)",
)
CASTS = {"sum": ", dtype='i8'", "prod": ", dtype='f4'", "mean": ", dtype='f8'", "cumsum": ", dtype='f8'"}
MADE = budget("DYNAMO_LITE_LAYOUTS", 40)


def layouts(dtype: str) -> Iterator[Any]:
    """Arrays of three axes, of which the shapes change as well."""
    rng = np.random.default_rng(3)

    def fresh(*shape: int) -> Any:
        return rng.integers(0, 5, shape).astype(dtype)

    square = fresh(4, 4)
    for array in (square, square.T):
        yield from (np.broadcast_to(array, (2, 4, 4)), np.broadcast_to(array, (2, 4, 4)).transpose(0, 2, 1))
        yield np.broadcast_to(array[:, None], (4, 3, 4))
    for axes in itertools.permutations(range(3)):
        for array in (
            fresh(2, 3, 4),
            fresh(3, 1, 4),
            np.broadcast_to(fresh(3, 1, 5), (3, 4, 5)),
            fresh(4, 6, 4)[::2, 1:4],
        ):
            yield array.transpose(axes)
    yield from (
        np.broadcast_to(fresh(), (2, 3, 4)),
        np.broadcast_to(fresh(4), (3, 1, 4)),
        fresh(1, 1, 4),
        fresh(4, 1, 1),
    )
    yield from (np.broadcast_to(fresh(1, 1, 4), (2, 1, 4)), np.broadcast_to(fresh(3, 1, 1), (3, 2, 4)), fresh(1, 1, 1))
    yield from (fresh(6, 5, 4)[::2, 2:3, ::-1], fresh(2, 3, 4)[::-1, ::-1], fresh(2, 3, 4)[:, :, ::-1])
    step = np.dtype(dtype).itemsize
    yield np.lib.stride_tricks.as_strided(
        fresh(12), (2, 1, 3), (3 * step, 7 * step, step)
    )  # an axis of 1 with any stride
    yield from (np.asfortranarray(fresh(3, 1, 4)), np.asfortranarray(fresh(2, 3, 4)))


def programs() -> list[tuple[str, str]]:
    """The text of every function, and the dtype it is tried on; in an order that mixes them."""
    made = []
    for operand, dtype in itertools.product(OPERANDS, DTYPES):
        x = operand.format(x="x")
        for name in WITH_AXES:
            for cast in {"", CASTS.get(name, "")}:
                axes = ("0", "1", "-1", "None", "(0, 1)", "(0, 2)", "()") if name != "median" else ("0", "-1")
                calls = [
                    f"np.{name}({x}, axis={axis}{cast}, keepdims={keep})" for axis in axes for keep in (True, False)
                ]
                made.append((", ".join(calls), dtype))
        for name in ONE_AXIS:
            calls = [f"np.{name}({x}, axis={axis}, keepdims={keep})" for axis in (0, 1, -1) for keep in (True, False)]
            made.append((", ".join(calls), dtype))
        for name in KEEPS_AXES:
            cast = CASTS.get(name, "")
            made.append((", ".join(f"np.{name}({x}, axis={axis}{cast})" for axis in (0, 1, -1)), dtype))
    random.Random(1).shuffle(made)
    return made


def shown(result: Any) -> list[Any]:
    return [
        (type(each).__name__, each.dtype.str, each.shape, each.strides, each.tobytes())
        if hasattr(each, "strides")
        else each
        for each in result
    ]


def check(text: str, dtype: str) -> int:
    """The same as plain for every layout; how many calls ran natively."""
    fn: Any = eval(f"lambda x: ({text},)", {"np": np})
    fast: Any = dynamo_lite.compile(fn, options={"cost_model": False})
    for x in layouts(dtype):
        with np.errstate(all="ignore"):
            try:
                expected = shown(fn(x))
            except (TypeError, ValueError):
                return 1
            got = shown(fast(x))
        for call, one, other in zip(text.split(", np."), got, expected, strict=True):
            assert one == other, f"{call} of {dtype} {x.shape} {x.strides}: {one[1:4]}, plain {other[1:4]}"
    return int(fast.stats()["native_calls"])


@pytest.mark.parametrize(("text", "dtype"), programs()[:MADE])
@pytest.mark.filterwarnings("ignore")
def test_results_lie_as_numpys_do(text: str, dtype: str) -> None:
    assert check(text, dtype) > 0


@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "all", "logical_and.reduce", "mean"])
@pytest.mark.parametrize("dtype", ["?", "i4", "f8"])
@pytest.mark.parametrize("axis", [0, -1, (0, 2)])
def test_axes_of_one_element_over_repeated_rows(name: str, dtype: str, axis: Any) -> None:
    assert check(f"np.{name}(x, axis={axis}, keepdims=True)", dtype) > 0
