"""Minimum, maximum and clip of floats: which of two zeros or NaNs NumPy keeps, and how they are compiled.

Where one is less, everybody keeps the same. Of two zeros of unlike sign, and of NaNs, NumPy's loops keep the one or the
other, by processor, version and maybe by where they stand in the array. It is tried out: if everywhere the first NaN is
kept, and of two equal numbers the second, so it is compiled. If not, the compiled operation tells where it met such a
pair (a lane in *doubt*), and the kernel goes by NumPy's loops from the next run on. What is clipped to numbers and is
NaN stays that NaN, which is tried out as well; only kernels that have met a NaN look for that.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dynamo_lite.program.element_ops import BOOL, EXTREMES, PLAIN_CLIP, ROWS
from dynamo_lite.program.ir import DType, Element, Value

Array = np.ndarray[Any, Any]

_NAMES = {ufunc: name for name, ufunc in EXTREMES.items()}
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan)
_LENGTHS = (1, 3, 8, 19, 64)


def compiled_extreme(op: Element, strict: bool) -> Element:
    """An extreme of float32 or float64 as a compiled operation, instead of by NumPy's loop; any other as it is.

    strict: in a kernel that expects NaNs."""
    known, name = known_extreme(op), _name_of(op)
    if known is not op or name is None:
        return known
    (result,) = op.results
    if name == "clip" and strict and not clips_to_itself(result.dtype):
        return op
    doubted = PLAIN_CLIP if name == "clip" and not strict else f"{name}_or_doubt"
    return Element(doubted, op.operands, (result, Value(f"{result.name}.doubt", BOOL)))


def known_extreme(op: Element) -> Element:
    """The same where nothing is in doubt."""
    name = _name_of(op)
    if name is None or not is_known(name, op.results[0].dtype):
        return op
    return Element(name, op.operands, op.results)


def _name_of(op: Element) -> str | None:
    """Which extreme of float32 or float64 an operation is."""
    dtypes = {value.dtype for value in (*op.operands, *op.results)}
    return _NAMES.get(op.ufunc) if len(dtypes) == 1 and op.results[0].dtype.char in "fd" else None


@functools.cache
def is_known(name: str, dtype: DType) -> bool:
    """Whether NumPy's function keeps the first NaN and the second of two equal numbers, wherever they stand."""
    ufunc = EXTREMES[name]
    sets = np.array(np.meshgrid(*[_SPECIAL] * ufunc.nin), dtype).reshape(ufunc.nin, -1)
    with np.errstate(all="ignore"):
        for operands in _spread(sets):
            expected = np.ascontiguousarray(ROWS[name, "f"].meaning(*operands))
            itself = operands[0].copy()
            for first, out in (
                (operands[0], np.empty_like(expected)),
                (operands[0], np.empty(2 * len(expected), dtype)[::2]),
                (itself, itself),
            ):
                ufunc(first, *operands[1:], out=out)
                if _bits(out).tobytes() != _bits(expected).tobytes():
                    return False
    return True


@functools.cache
def clips_to_itself(dtype: DType) -> bool:
    """Whether NumPy's clip of a NaN, by bounds that are numbers, is that NaN, wherever it stands."""
    numbers = [one for one in _SPECIAL if one == one]
    sets = np.array(np.meshgrid([np.nan, -np.nan, 1.0], numbers, numbers), dtype).reshape(3, -1)
    with np.errstate(all="ignore"):
        for operands in _spread(sets):
            found, is_nan = EXTREMES["clip"](*operands), np.isnan(operands[0])
            if not np.array_equal(_bits(found)[is_nan], _bits(operands[0])[is_nan]):
                return False
    return True


def _spread(sets: Array) -> Iterator[list[Array]]:
    """The sets of operands in arrays of several lengths and strides, so that each stands at many places."""
    for shift in range(0, sets.shape[1], sets.shape[1] // 8 + 1):
        for length in _LENGTHS:
            part = np.ascontiguousarray(np.roll(sets, shift, axis=1)[:, :length])
            yield list(part)
            yield [np.repeat(one, 2)[::2] for one in part]
            yield [np.ascontiguousarray(one[::-1])[::-1] for one in part]
            yield [part[0], *(np.broadcast_to(one[:1], one.shape) for one in part[1:])]
            yield [np.broadcast_to(part[0][:1], part[0].shape), *part[1:]]


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")
