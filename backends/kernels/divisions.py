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


def compiled_division(op: Element, strict: bool) -> Element:
    """A remainder, or a quotient rounded down, as a compiled operation instead of by NumPy's loop; any other operation
    as it is. strict: where one operand is NaN, it is that NaN."""
    name, dtypes = _NAMES.get(op.ufunc), {value.dtype for value in (*op.operands, *op.results)}
    if name is None or len(dtypes) != 1 or not is_compiled(op.results[0].dtype):
        return op
    (result,) = op.results
    exact = strict or result.dtype.kind != "f"
    if result.dtype.kind == "f" and exact and not hands_nans_on(name, result.dtype):
        return op
    return doubtful(name, exact, op)


def doubtful(name: str, strict: bool, op: Element) -> Element:
    """The operation that says where its result is in doubt."""
    (result,) = op.results
    of = "doubt" if strict else "nan"
    return Element(f"{name}_or_{of}", op.operands, (result, Value(f"{result.name}.doubt", BOOL)))


@functools.cache
def is_compiled(dtype: DType) -> bool:
    """Whether this processor has the instructions, without which NumPy's loops are no slower."""
    features: dict[str, bool] = getattr(_multiarray_umath, "__cpu_features__", {})
    needs = {"f": "FMA3", "i": "AVX512DQ" if dtype.itemsize == 8 else "AVX2"}
    known = dtype.char in DIVIDED and dtype.itemsize >= 4 and dtype == np.dtype(dtype.char)
    return known and features.get(needs[dtype.kind], False)


@functools.cache
def hands_nans_on(name: str, dtype: DType) -> bool:
    """Whether of a NaN and a number, or the same NaN, NumPy's function gives the NaN, bit by bit."""
    a, b = beside_nans(dtype)
    with np.errstate(all="ignore"):
        found = DIVISIONS[name](a, b)
    return bool((bits(found) == bits(np.where(np.isnan(a), a, b))).all())


def beside_nans(dtype: DType) -> tuple[Any, Any]:
    """NaNs and numbers, and what stands beside each: a number or a NaN, or the same NaN."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    quiet = np.array([np.nan], dtype).view(unsigned)
    sign = np.array([1 << (8 * dtype.itemsize - 1)], unsigned)
    nans = np.concatenate([quiet, quiet | sign, quiet | 0x1234, quiet | sign | 0x4321]).view(dtype)
    limits: Any = np.finfo(dtype)
    numbers = np.array([1.5, -2.5, 1.0, limits.max, -limits.max, limits.tiny, -limits.smallest_subnormal], dtype)
    pairs = np.repeat(nans, len(numbers)), np.tile(numbers, len(nans))
    return np.concatenate([*pairs, nans]), np.concatenate([*pairs[::-1], nans])


def bits(x: Any) -> Any:
    """The bits of floats."""
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")
