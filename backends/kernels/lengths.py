"""np.hypot in kernels: compiled where a trial found the C library's bits (dynamo_lite/program/length_ops.py).

A lane in doubt makes the kernel go by NumPy's loop from the next run on, like one of an extreme (extremes.py).
"""

from __future__ import annotations

import functools

import numpy as np
from dynamo_lite.backends.kernels.divisions import beside_nans, bits, doubtful

from dynamo_lite.ops.samples import Samples
from dynamo_lite.program.ir import DType, Element
from dynamo_lite.program.length_ops import length_in_doubt

_TRIED = 2000  # pairs of numbers of each kind


def compiled_length(op: Element, strict: bool) -> Element:
    """A hypot of floats as a compiled operation instead of by NumPy's loop; any other operation as it is. strict: where
    one operand is NaN, it is that NaN."""
    if op.ufunc is not np.hypot or len({value.dtype for value in (*op.operands, *op.results)}) != 1:
        return op
    (result,) = op.results
    if not is_compiled(result.dtype):
        return op
    return doubtful("hypot", strict, op)


@functools.cache
def is_compiled(dtype: DType) -> bool:
    """Whether NumPy's function has the bits of a strict kernel's steps: numbers of like and unlike sizes, and NaNs."""
    if dtype.char not in "fd":
        return False
    samples = Samples(7)
    x = samples.normal(3, _TRIED)
    y = samples.normal(3, _TRIED)
    y[1] *= 2.0 ** (samples.below(60, _TRIED) - 30)
    y[2] = x[2] * (1.0 + 2.0**-20 * y[2])
    x, y = (np.concatenate([z.astype(dtype).ravel(), w]) for z, w in zip((x, y), beside_nans(dtype), strict=True))
    expected, doubt = length_in_doubt(x, y)
    return bool(((bits(np.hypot(x, y)) == bits(expected)) | doubt).all())
