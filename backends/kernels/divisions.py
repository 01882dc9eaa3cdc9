"""Remainders and quotients rounded down in kernels: compiled where that gives NumPy's bits, but for what is in doubt.

The steps are in dynamo_lite/program/division_ops.py. A lane in doubt makes the kernel go by NumPy's loops from the next
run on, like one of an extreme (extremes.py).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from dynamo_lite.program.division_ops import DIVIDED, DIVISIONS
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import DType, Element, Value

_NAMES: dict[Any, str] = {ufunc: name for name, ufunc in DIVISIONS.items()}


def compiled_division(op: Element) -> Element:
    """A remainder, or a quotient rounded down, as a compiled operation instead of by NumPy's loop; any other operation
    as it is."""
    name, dtypes = _NAMES.get(op.ufunc), {value.dtype for value in (*op.operands, *op.results)}
    if name is None or len(dtypes) != 1 or not is_compiled(op.results[0].dtype):
        return op
    (result,) = op.results
    return Element(f"{name}_or_doubt", op.operands, (result, Value(f"{result.name}.doubt", BOOL)))


@functools.cache
def is_compiled(dtype: DType) -> bool:
    """Whether this processor has the instructions, without which NumPy's loops are no slower."""
    features: dict[str, bool] = getattr(_multiarray_umath, "__cpu_features__", {})
    needs = {"f": "FMA3", "i": "AVX512DQ" if dtype.itemsize == 8 else "AVX2"}
    known = dtype.char in DIVIDED and dtype.itemsize >= 4 and dtype == np.dtype(dtype.char)
    return known and features.get(needs[dtype.kind], False)
