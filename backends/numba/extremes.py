"""Minimum, maximum and clip of floats: which of two zeros or NaNs NumPy keeps, and how they are compiled.

Where one is less, everybody keeps the same. Of two zeros of unlike sign, and of NaNs, NumPy's loops keep the one or the
other, by processor, version and maybe by where they stand in the array. It is tried out: if everywhere the first NaN is
kept, and of two equal numbers the second, so it is compiled. If not, the compiled operation tells where it met such a
pair (a lane in *doubt*), and the kernel goes by NumPy's loops from the next run on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from dynamo_lite.backends.numba.llvm_text import Lines

from dynamo_lite.schedule.steps import DType, Kernel, KernelOp

Array = np.ndarray[Any, Any]

_CLIP = np._core.umath.clip  # type: ignore[attr-defined]
UFUNCS = {"minimum": np.minimum, "maximum": np.maximum, "clip": _CLIP}
_NAMES = {ufunc: name for name, ufunc in UFUNCS.items()}
_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan)
_LENGTHS = (1, 3, 8, 19, 64)


def is_extreme(op: KernelOp) -> bool:
    """Whether an operation is a compiled extreme of floats."""
    return op.op in UFUNCS and op.dtypes[0].kind == "f"


def is_doubtful(op: KernelOp) -> bool:
    """Whether it tells where it may not have NumPy's bits."""
    return is_extreme(op) and not is_known(op.op, op.dtypes[0])


def with_extremes(kernel: Kernel) -> Kernel:
    """The kernel with extremes of float32 and float64 compiled, instead of by NumPy's loops."""
    ops = tuple(
        replace(op, op=_NAMES[op.param], param=None) if op.op == "loop" and _is_of_reals(op) else op
        for op in kernel.ops
    )
    return replace(kernel, ops=ops) if ops != kernel.ops else kernel


def _is_of_reals(op: KernelOp) -> bool:
    return op.param in _NAMES and len({*op.in_dtypes, *op.dtypes}) == 1 and op.dtypes[0].char in "fd"


@functools.cache
def is_known(name: str, dtype: DType) -> bool:
    """Whether NumPy's function keeps the first NaN and the second of two equal numbers, wherever they stand."""
    ufunc = UFUNCS[name]
    sets = np.array(np.meshgrid(*[_SPECIAL] * ufunc.nin), dtype).reshape(ufunc.nin, -1)
    with np.errstate(all="ignore"):
        for operands in _spread(sets):
            expected = _model(name, *operands)
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


def _model(name: str, x: Array, *bounds: Array) -> Array:
    if name == "clip":
        return _model("minimum", _model("maximum", x, bounds[0]), bounds[1])
    better = x < bounds[0] if name == "minimum" else x > bounds[0]
    return np.ascontiguousarray(np.where(np.isnan(x) | better, x, bounds[0]))


def _bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")


def emit_extreme(lines: Lines, op: KernelOp, args: list[str], doubts: list[str]) -> str:
    """Write the operation; of one that is doubtful `doubts` gets masks of the lanes in doubt."""
    doubtful = is_doubtful(op)
    emit = functools.partial(_emit_doubtful, doubts=doubts) if doubtful else _emit_known
    dtype = op.dtypes[0]
    if op.op != "clip":
        return emit(lines, op.op, dtype, args[0], args[1])
    return emit(lines, "minimum", dtype, emit(lines, "maximum", dtype, args[0], args[1]), args[2])


def _emit_known(lines: Lines, name: str, dtype: DType, one: str, other: str) -> str:
    better = lines.quiet_compare("olt" if name == "minimum" else "ogt", dtype, [one, other])
    return lines.select(lines.is_nan(dtype, one), dtype, one, lines.select(better, dtype, one, other))


def _emit_doubtful(lines: Lines, name: str, dtype: DType, one: str, other: str, doubts: list[str]) -> str:
    """Both ways round, which differ where the lane is in doubt. Flags do not count: a NaN is in doubt anyway."""
    kind, predicate = lines.type_of(dtype), "olt" if name == "minimum" else "ogt"
    kept = lines.select(lines.do(f"fcmp {predicate} {kind} {one}, {other}"), dtype, one, other)
    again = lines.select(lines.do(f"fcmp {predicate} {kind} {other}, {one}"), dtype, other, one)
    bits = lines.bits_type(dtype)
    doubts.append(lines.do(f"icmp ne {bits} {lines.bits_of(dtype, kept)}, {lines.bits_of(dtype, again)}"))
    return kept
