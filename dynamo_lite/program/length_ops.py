"""np.hypot of floats, as kernels compute it: rows of element_ops.py.

NumPy calls the C library for each element. Of float32 the root is taken in float64, where the squares are exact; where
it lies in the middle between two float32, as far as can be told, no trial says what a library gives. Of float64 it is
corrected by what its own square lacks (C. F. Borges, An improved algorithm for hypot(a, b), 2019, without fused
operations). Whether that gives the library's bits is tried out (backends/kernels/lengths.py): the nearest double is
another number for one pair in two hundred. Where one number is so small that it does not count, the sum of both is the
result. What is huge, infinite or NaN, or both tiny, is in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dynamo_lite.program.element_ops import DType, Writer

BOOL = np.dtype(np.bool_)
DOUBLE = np.dtype(np.float64)
MOST, LEAST = 2.0**500, 2.0**-450  # of numbers whose squares neither overflow nor lose bits
LOST, MIDDLE = 29, 2**28  # the last bits that a float32 lacks, and half of the first one of them
NOTHING = 2.0**-54  # of the greater number: the smaller one does not count


def _in_double(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    wide = [lines.convert("fpext", dtype, DOUBLE, value) for value in args]
    squares = [lines.op("fmul", DOUBLE, value, value) for value in wide]
    length = lines.intrinsic("sqrt", DOUBLE, [lines.op("fadd", DOUBLE, *squares)])
    most = float(np.finfo(np.float32).max) / 2
    known = lines.quiet_compare("ole", DOUBLE, [length, lines.splat_constant(DOUBLE, most)])
    least = lines.splat_constant(DOUBLE, float(np.finfo(np.float32).tiny))  # below, rounding reports an underflow
    zero = lines.quiet_compare("oeq", DOUBLE, [length, lines.zero(DOUBLE)])
    normal = lines.op("or", BOOL, zero, lines.quiet_compare("oge", DOUBLE, [length, least]))
    integers = np.dtype(np.int64)
    lost = lines.op("and", integers, lines.bits_of(DOUBLE, length), lines.splat_bits(integers, 2**LOST - 1))
    from_middle = lines.op("sub", integers, lost, lines.splat_bits(integers, MIDDLE - 1))
    clear = lines.compare("uge", integers, from_middle, lines.splat_bits(integers, 3))
    sure = lines.op("and", BOOL, clear, lines.op("and", BOOL, known, normal))
    safe = lines.select(sure, DOUBLE, length, lines.zero(DOUBLE))
    doubt = lines.op("xor", BOOL, sure, lines.all_ones(BOOL))
    return lines.convert("fptrunc", DOUBLE, dtype, safe), doubt


def emit_length(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    """The length, and whether it is in doubt."""
    if dtype != DOUBLE:
        return _in_double(lines, dtype, args)

    def op(name: str, *operands: str) -> str:
        return lines.op(name, dtype, *operands)

    def times(number: float, value: str) -> str:
        return op("fmul", lines.splat_constant(dtype, number), value)

    one, other = (lines.intrinsic("fabs", dtype, [value]) for value in args)
    swapped = lines.quiet_compare("olt", dtype, [one, other])
    x, y = lines.select(swapped, dtype, other, one), lines.select(swapped, dtype, one, other)
    small = lines.quiet_compare("ole", dtype, [y, times(NOTHING, x)])
    inside = lines.op(
        "and",
        BOOL,
        lines.quiet_compare("ole", dtype, [x, lines.splat_constant(dtype, MOST)]),
        lines.quiet_compare("oge", dtype, [y, lines.splat_constant(dtype, LEAST)]),
    )
    usual = lines.op("and", BOOL, inside, lines.op("xor", BOOL, small, lines.all_ones(BOOL)))
    simple = lines.op("and", BOOL, small, lines.quiet_compare("ole", dtype, [x, lines.splat_constant(dtype, MOST)]))
    two = lines.splat_constant(dtype, 2.0)  # what is not computed so sets no flags
    a, b = lines.select(usual, dtype, x, two), lines.select(usual, dtype, y, two)
    h = lines.intrinsic("sqrt", dtype, [op("fadd", op("fmul", a, a), op("fmul", b, b))])
    near = lines.quiet_compare("ole", dtype, [h, times(2.0, b)])
    by_b, by_a = op("fsub", h, b), op("fsub", h, a)
    first = lines.select(
        near,
        dtype,
        op("fmul", a, op("fsub", times(2.0, by_b), a)),
        op("fmul", times(2.0, by_a), op("fsub", a, times(2.0, b))),
    )
    second = lines.select(
        near,
        dtype,
        op("fmul", op("fsub", by_b, times(2.0, op("fsub", a, b))), by_b),
        op("fadd", op("fmul", op("fsub", times(4.0, by_a), b), b), op("fmul", by_a, by_a)),
    )
    h = op("fsub", h, op("fdiv", op("fadd", first, second), times(2.0, h)))
    zero = lines.zero(dtype)
    added = op("fadd", lines.select(simple, dtype, x, zero), lines.select(simple, dtype, y, zero))
    doubt = lines.op("xor", BOOL, lines.op("or", BOOL, usual, simple), lines.all_ones(BOOL))
    return lines.select(usual, dtype, h, added), doubt


def length_in_doubt(one: Any, other: Any) -> tuple[Any, Any]:
    """The same of NumPy's arrays and scalars."""
    with np.errstate(all="ignore"):
        if np.asarray(one).dtype != DOUBLE:
            squares = (np.square(np.asarray(value).astype(DOUBLE)) for value in (one, other))
            length = np.sqrt(sum(squares))
            limits = np.finfo(np.float32)
            sure = (length == 0) | ((length >= float(limits.tiny)) & (length <= float(limits.max) / 2))
            lost = np.asarray(length, DOUBLE).view(np.int64) & (2**LOST - 1)
            sure = sure & (abs(lost - MIDDLE) > 1)
            return np.where(sure, length, 0.0).astype(np.float32)[()], ~sure
        x, y = np.maximum(np.abs(one), np.abs(other)), np.minimum(np.abs(one), np.abs(other))
        small = y <= NOTHING * x
        usual, simple = (x <= MOST) & (y >= LEAST) & ~small, small & (x <= MOST)
        a, b = np.where(usual, x, 2.0), np.where(usual, y, 2.0)
        h = np.sqrt(a * a + b * b)
        near, by_b, by_a = h <= 2 * b, h - b, h - a
        first = np.where(near, a * (2 * by_b - a), 2 * by_a * (a - 2 * b))
        second = np.where(near, (by_b - 2 * (a - b)) * by_b, (4 * by_a - b) * b + by_a * by_a)
        h = h - (first + second) / (2 * h)
        return np.where(usual, h, np.where(simple, x, 0.0) + np.where(simple, y, 0.0))[()], ~(usual | simple)
