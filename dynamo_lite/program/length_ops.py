"""np.hypot of floats, as kernels compute it: rows of element_ops.py.

NumPy calls the C library for each element. Of float32 the root is taken in float64, where the squares are exact; where
it lies in the middle between two float32, as far as can be told, no trial says what a library gives. Of float64 it is
corrected by what its own square lacks (C. F. Borges, An improved algorithm for hypot(a, b), 2019, without fused
operations). Whether that gives the library's bits is tried out (backends/kernels/lengths.py): the nearest double is
another number for one pair in two hundred. Where one number is so small that it does not count, the sum of both is the
result. What is huge or infinite, two NaNs, and two tiny numbers are in doubt. Of one NaN, which stands for data that
are missing, a strict kernel gives that NaN, and any other one a NaN, which it reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamo_lite.program.division_ops import nans_known, of_nans

if TYPE_CHECKING:
    from dynamo_lite.program.element_ops import DType, Writer

BOOL = np.dtype(np.bool_)
DOUBLE = np.dtype(np.float64)
MOST, LEAST = 2.0**500, 2.0**-450  # of numbers whose squares neither overflow nor lose bits
LOST, MIDDLE = 29, 2**28  # the last bits that a float32 lacks, and half of the first one of them
NOTHING = 2.0**-54  # of the greater number: the smaller one does not count


def _in_double(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    """NB: what is in doubt is computed as 0, so that it sets no flags."""
    wide = [lines.convert("fpext", dtype, DOUBLE, value) for value in args]
    squares = [lines.op("fmul", DOUBLE, value, value) for value in wide]
    length = lines.intrinsic("sqrt", DOUBLE, [lines.op("fadd", DOUBLE, *squares)])
    most = float(np.finfo(np.float32).max) / 2
    unknown = lines.quiet_compare("ogt", DOUBLE, [length, lines.splat_constant(DOUBLE, most)])
    least = lines.splat_constant(DOUBLE, float(np.finfo(np.float32).tiny))  # below, rounding reports an underflow
    some = lines.quiet_compare("ogt", DOUBLE, [length, lines.zero(DOUBLE)])
    tiny = lines.op("and", BOOL, some, lines.quiet_compare("olt", DOUBLE, [length, least]))
    integers = np.dtype(np.int64)
    lost = lines.op("and", integers, lines.bits_of(DOUBLE, length), lines.splat_bits(integers, 2**LOST - 1))
    from_middle = lines.op("sub", integers, lost, lines.splat_bits(integers, MIDDLE - 1))
    near = lines.compare("ult", integers, from_middle, lines.splat_bits(integers, 3))
    doubt = lines.op("or", BOOL, near, lines.op("or", BOOL, unknown, tiny))
    safe = lines.select(doubt, DOUBLE, lines.zero(DOUBLE), length)
    return lines.convert("fptrunc", DOUBLE, dtype, safe), doubt


def emit_length(lines: Writer, dtype: DType, args: list[str], strict: bool) -> tuple[str, str]:
    """The length, and whether it is in doubt."""
    of = _length(lines, dtype, args) if dtype == DOUBLE else _in_double(lines, dtype, args)
    if strict:  # NB: infinite beside NaN is infinite
        infinite = [lines.splat_constant(dtype, np.inf)]
        sizes = (lines.intrinsic("fabs", dtype, [value]) for value in args)
        masks = (lines.quiet_compare("oeq", dtype, [size, *infinite]) for size in sizes)
        result, doubt = of_nans(lines, dtype, args, lines.op("fadd", dtype, *args), of)
        of = result, lines.op("or", BOOL, doubt, lines.op("or", BOOL, *masks))
    return of


def _length(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    def op(name: str, *operands: str) -> str:
        return lines.op(name, dtype, *operands)

    def times(number: float, value: str) -> str:
        return op("fmul", lines.splat_constant(dtype, number), value)

    one, other = (lines.intrinsic("fabs", dtype, [value]) for value in args)
    swapped = lines.quiet_compare("olt", dtype, [one, other])
    x, y = lines.select(swapped, dtype, other, one), lines.select(swapped, dtype, one, other)
    small = lines.quiet_compare("ole", dtype, [y, times(NOTHING, x)])
    huge = lines.quiet_compare("ogt", dtype, [x, lines.splat_constant(dtype, MOST)])
    tiny = lines.quiet_compare("olt", dtype, [y, lines.splat_constant(dtype, LEAST)])
    others = lines.op("or", BOOL, small, lines.op("or", BOOL, huge, tiny))
    doubt = lines.op("or", BOOL, huge, lines.op("and", BOOL, tiny, lines.op("xor", BOOL, small, lines.all_ones(BOOL))))
    two = lines.splat_constant(dtype, 2.0)  # what is not computed so sets no flags
    a, b = lines.select(others, dtype, two, x), lines.select(others, dtype, two, y)
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
    return lines.select(others, dtype, op("fadd", x, y), h), doubt


def length_in_doubt(one: Any, other: Any, strict: bool = True) -> tuple[Any, Any]:
    """The same of NumPy's arrays and scalars."""
    one, other = np.asarray(one), np.asarray(other)
    with np.errstate(all="ignore"):
        length, doubt = (_length_of if one.dtype == DOUBLE else _in_double_of)(np.abs(one), np.abs(other))
        if strict:
            known = nans_known(one, other)
            odd = (np.isnan(length) & ~known) | np.isinf(one) | np.isinf(other)
            length, doubt = np.where(known, one + other, length), doubt | odd
    return length[()], doubt[()]


def _in_double_of(one: Any, other: Any) -> tuple[Any, Any]:
    squares = (np.square(value.astype(DOUBLE)) for value in (one, other))
    length = np.sqrt(sum(squares))
    limits = np.finfo(np.float32)
    unknown = (length > float(limits.max) / 2) | ((length > 0) & (length < float(limits.tiny)))
    lost = np.asarray(length, DOUBLE).view(np.int64) & (2**LOST - 1)
    doubt = unknown | (abs(lost - MIDDLE) <= 1)
    return np.where(doubt, 0.0, length).astype(np.float32), doubt


def _length_of(one: Any, other: Any) -> tuple[Any, Any]:
    swapped = one < other
    x, y = np.where(swapped, other, one), np.where(swapped, one, other)
    small, huge, tiny = y <= NOTHING * x, x > MOST, y < LEAST
    others = small | huge | tiny
    a, b = np.where(others, 2.0, x), np.where(others, 2.0, y)
    h = np.sqrt(a * a + b * b)
    near, by_b, by_a = h <= 2 * b, h - b, h - a
    first = np.where(near, a * (2 * by_b - a), 2 * by_a * (a - 2 * b))
    second = np.where(near, (by_b - 2 * (a - b)) * by_b, (4 * by_a - b) * b + by_a * by_a)
    h = h - (first + second) / (2 * h)
    return np.where(others, x + y, h), huge | (tiny & ~small)
