"""Quotients rounded down and their remainders, of floats and integers, as kernels compute them: rows of element_ops.py.

NumPy calls `fmod` of the C library for each float, and divides integers one by one. Here a quotient q = a / b is taken
of a whole vector, in float64 for integers, and cut to an integer t. Of floats a - t * b, rounded once, is what fmod
gives, but where q was rounded up to an integer: it then has the other sign, and lacks one b. Of integers below 2**52 no
quotient is rounded up to an integer, since it is at least 1/b away from the next one. What lies beyond (quotients too
big or infinite, unlike NaNs, the least int32, division by 0) is in doubt (backends/kernels/divisions.py). Of NaNs,
which stand for data that are missing, a strict kernel gives the very one, and any other one a NaN, which it reports.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dynamo_lite.program.element_ops import DType, EmitPair, Writer

DIVISIONS = {"remainder": np.remainder, "floor_divide": np.floor_divide}
DIVIDED = "fdilq"  # and the characters of their dtypes
BOOL = np.dtype(np.bool_)
FLOAT = np.dtype(np.float64)
EXACT = 2**52  # below that every integer is a float64, with half of an integer to spare


def _integers(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")


def _unlike(lines: Writer, dtype: DType, one: str, other: str) -> str:
    """Whether a number that is not 0 has another sign than the other."""
    integers = _integers(dtype)
    bits = [lines.bits_of(dtype, value) if dtype.kind == "f" else value for value in (one, other)]
    signs = lines.compare("slt", integers, lines.op("xor", integers, *bits), lines.splat_bits(integers, 0))
    operands = [one, lines.zero(dtype)]
    some = lines.quiet_compare("une", dtype, operands) if dtype.kind == "f" else lines.compare("ne", dtype, *operands)
    return lines.op("and", BOOL, some, signs)


def _with_sign_of(lines: Writer, dtype: DType, magnitude: str, sign: str) -> str:
    integers = _integers(dtype)
    top = 1 << (8 * dtype.itemsize - 1)
    kept = lines.op("and", integers, lines.bits_of(dtype, magnitude), lines.splat_bits(integers, top - 1))
    bit = lines.op("and", integers, lines.bits_of(dtype, sign), lines.splat_bits(integers, top))
    return lines.float_of(dtype, lines.op("or", integers, kept, bit))


def _where(lines: Writer, dtype: DType, mask: str, value: str) -> str:
    """The value where the mask is set, else 0."""
    return lines.select(mask, dtype, value, lines.zero(dtype))


def _cut(lines: Writer, dtype: DType, a: str, b: str) -> tuple[str, str, str]:
    """The quotient of two floats, what fmod leaves but for the sign of a 0, and whether it is too big for that. Both
    are NaN where an operand is, and where fmod divides by 0 or infinity."""
    quotient = lines.op("fdiv", dtype, a, b)
    whole = lines.intrinsic("trunc", dtype, [quotient])
    rest = lines.intrinsic("fma", dtype, [lines.negated(dtype, whole), b, a])
    missing = _where(lines, dtype, _unlike(lines, dtype, rest, a), _with_sign_of(lines, dtype, b, a))
    size, limit = lines.intrinsic("fabs", dtype, [quotient]), lines.splat_constant(dtype, _limit(dtype))
    return quotient, lines.op("fadd", dtype, rest, missing), lines.quiet_compare("oge", dtype, [size, limit])


def of_nans(
    lines: Writer, dtype: DType, args: list[str], missing: str, of: tuple[str, str]
) -> tuple[str, str]:
    """A result and its doubt with what is `missing` where one operand is NaN, or both are, and alike; any other NaN is
    in doubt."""
    result, doubt = of
    integers = _integers(dtype)
    one, other = (lines.is_nan(dtype, value) for value in args)
    alike = lines.compare("eq", integers, *(lines.bits_of(dtype, value) for value in args))
    known = lines.op("or", BOOL, lines.op("xor", BOOL, one, other), lines.op("and", BOOL, one, alike))
    unknown = lines.op("xor", BOOL, known, lines.all_ones(BOOL))
    odd = lines.op("and", BOOL, lines.is_nan(dtype, result), unknown)
    return lines.select(known, dtype, missing, result), lines.op("or", BOOL, doubt, odd)


def nans_known(a: Any, b: Any) -> Any:
    """Where one of two floats is NaN, or both are, and alike."""
    integers = f"i{np.asarray(a).dtype.itemsize}"
    alike = np.asarray(a).view(integers) == np.asarray(b).view(integers)
    return (np.isnan(a) ^ np.isnan(b)) | (np.isnan(a) & alike)


def _limit(dtype: DType) -> float:
    return 2.0**22 if dtype.itemsize == 4 else 2.0**51


def _remainder(lines: Writer, dtype: DType, args: list[str], strict: bool) -> tuple[str, str]:
    a, b = args
    quotient, rest, doubt = _cut(lines, dtype, a, b)
    up = lines.op("fadd", dtype, rest, _where(lines, dtype, _unlike(lines, dtype, rest, b), b))
    none = lines.quiet_compare("oeq", dtype, [rest, lines.zero(dtype)])
    of = lines.select(none, dtype, _with_sign_of(lines, dtype, lines.zero(dtype), b), up), doubt
    return of_nans(lines, dtype, args, quotient, of) if strict else of


def _floor_divide(lines: Writer, dtype: DType, args: list[str], strict: bool) -> tuple[str, str]:
    """The steps of npy_divmod, so that what these round is rounded."""
    a, b = args
    quotient, rest, doubt = _cut(lines, dtype, a, b)
    one = lines.splat_constant(dtype, 1.0)
    exact = lines.op("fdiv", dtype, lines.op("fsub", dtype, a, rest), b)
    lower = lines.op("fsub", dtype, exact, _where(lines, dtype, _unlike(lines, dtype, rest, b), one))
    down = lines.intrinsic("floor", dtype, [lower])
    half = lines.splat_constant(dtype, 0.5)
    above = lines.quiet_compare("ogt", dtype, [lines.op("fsub", dtype, lower, down), half])
    near = lines.op("fadd", dtype, down, _where(lines, dtype, above, one))
    none = lines.quiet_compare("oeq", dtype, [lower, lines.zero(dtype)])
    of = lines.select(none, dtype, _with_sign_of(lines, dtype, lines.zero(dtype), quotient), near), doubt
    return of_nans(lines, dtype, args, quotient, of) if strict else of


def _least(dtype: DType) -> int:
    return -(1 << (8 * dtype.itemsize - 1))


def _of_integers(remainder: bool) -> Any:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
        a, b = args
        if dtype.itemsize < 8:
            least = lines.compare("eq", dtype, a, lines.splat_bits(dtype, _least(dtype)))
            a = lines.select(least, dtype, lines.zero(dtype), a)
        floats = [lines.convert("sitofp", dtype, FLOAT, value) for value in (a, b)]
        whole = lines.convert("fptosi", FLOAT, dtype, lines.op("fdiv", FLOAT, *floats))
        rest = lines.op("sub", dtype, a, lines.op("mul", dtype, whole, b))
        below = _unlike(lines, dtype, rest, b)
        doubt = lines.compare("eq", dtype, b, lines.zero(dtype))
        for value in args if dtype.itemsize == 8 else ():
            moved = lines.op("add", dtype, value, lines.splat_bits(dtype, EXACT))
            far = lines.compare("uge", dtype, moved, lines.splat_bits(dtype, 2 * EXACT))
            doubt = lines.op("or", BOOL, doubt, far)
        if dtype.itemsize < 8:  # whose quotient by -1 is none of its numbers
            doubt = lines.op("or", BOOL, doubt, least)
        if remainder:
            return lines.op("add", dtype, rest, _where(lines, dtype, below, b)), doubt
        return lines.op("add", dtype, whole, lines.convert("sext", BOOL, dtype, below)), doubt

    return emit


def meaning_in_doubt(name: str, strict: bool) -> Any:
    """What NumPy gives, and whether that is in doubt; where it is not strict, also NaN in place of a number."""

    def meaning(a: Any, b: Any) -> tuple[Any, Any]:
        with np.errstate(all="ignore"):
            result = DIVISIONS[name](a, b)
            if result.dtype.kind == "f":
                big = np.abs(np.divide(a, b)) >= _limit(result.dtype)
                nan = np.isnan(result) | np.isinf(b)
                if strict:
                    return result, big | (nan & ~nans_known(a, b))
                return np.where(nan, np.nan, result).astype(result.dtype)[()], big
        far = a == _least(result.dtype) if result.dtype.itemsize < 8 else _is_far(a) | _is_far(b)
        return result, (b == 0) | far

    return meaning


def _is_far(x: Any) -> Any:
    return (x < -EXACT) | (x >= EXACT)


# By the name of the operation and the letter of its class, whether what is emitted is strict.
EMITTED: dict[tuple[str, str, bool], EmitPair] = {
    (name, "f", strict): partial(emit, strict=strict)
    for name, emit in (("remainder", _remainder), ("floor_divide", _floor_divide))
    for strict in (True, False)
} | {("remainder", "i", True): _of_integers(True), ("floor_divide", "i", True): _of_integers(False)}
