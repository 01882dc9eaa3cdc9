"""The operations on elements: one table, of what each means, what it may report, and how it is written.

Enters an operation's name and dtypes; leaves its row. A row that is `offered` gives NumPy's bits: an operation has one
only where IEEE 754 or two's complement fixes the result, so that any correct instruction gives them. Everything else
(exp, power, float16 arithmetic) runs in NumPy's own inner loop. The rows that are not offered are what passes make:
tests for NaNs, and extremes where these have been tried out (backends/kernels/extremes.py). Those of complex numbers
(class "c") are never written: `pairs` makes operations on their parts of them. INVARIANT: no
instruction sets a floating-point flag that NumPy would report and this form would not, and compares are quiet, so NaN
operands set none. A row is written through a Writer, which a backend has of its own (numba/llvm_text.py, c/c_text.py);
instructions bear LLVM's names. Float constants are hidden from the optimiser, which would compute with them when it
compiles: no flag would show then, and a NaN would have another sign.

NB: of two NaN operands x86 keeps the first. NumPy's add and multiply keep the one or the other by position and
alignment (a compiler may swap them); subtract and divide always keep the first, and so do these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.program.division_ops import EMITTED, meaning_in_doubt
from dynamo_lite.program.length_ops import emit_length, length_in_doubt

if TYPE_CHECKING:
    from fractions import Fraction

DType = np.dtype[np.generic]
BOOL = np.dtype(np.bool_)


class Writer(Protocol):
    """What writes instructions, for scalars or vectors. A value is its name; a bool is a byte in memory, and a mask
    when it is computed with."""

    def op(self, name: str, dtype: DType, *args: str) -> str: ...
    def compare(self, predicate: str, dtype: DType, *args: str) -> str: ...
    def convert(self, name: str, source: DType, target: DType, value: str) -> str: ...
    def bits_of(self, dtype: DType, value: str) -> str: ...
    def float_of(self, dtype: DType, bits: str) -> str: ...
    def splat_constant(self, dtype: DType, value: float) -> str: ...
    def splat_bits(self, dtype: DType, bits: int) -> str: ...
    def zero(self, dtype: DType) -> str: ...
    def all_ones(self, dtype: DType) -> str: ...
    def sign_mask(self, dtype: DType) -> str: ...
    def hidden_constant(self, dtype: DType, value: float) -> str: ...
    def unknown(self, dtype: DType, value: str) -> str: ...
    def select(self, mask: str, dtype: DType, yes: str, no: str) -> str: ...
    def negated(self, dtype: DType, value: str) -> str: ...
    def intrinsic(self, name: str, dtype: DType, args: list[str]) -> str: ...
    def quiet_compare(self, predicate: str, dtype: DType, args: list[str]) -> str: ...
    def is_nan(self, dtype: DType, value: str) -> str: ...
    def with_overflow(self, name: str, dtype: DType, args: list[str]) -> tuple[str, str]: ...
    def choose(self, mask: str, dtype: DType, arms: tuple[str, str], computed: tuple[bool, ...]) -> str: ...
    def byte_of(self, mask: str) -> str: ...
    def part(self, dtype: DType, value: str, number: int) -> str: ...
    def complex_of(self, part: DType, real: str, imag: str) -> str: ...
    def mask_of(self, byte: str) -> str: ...


def class_of(dtype: DType) -> str:
    """The letter the table uses: "f" float32/64, "c" complex64/128, "i" signed, "u" unsigned, "b" bool, "x" anything
    else."""
    if dtype.kind in "fc":
        return dtype.kind if dtype.char in "fdFD" else "x"
    return dtype.kind if dtype.kind in "iub" else "x"


def part_dtype(dtype: DType) -> DType:
    """The dtype of a complex number's real and imaginary part; of any other number it is its own."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def bits_dtype(dtype: DType) -> DType:
    """The integers as wide as dtype."""
    return np.dtype(f"i{dtype.itemsize}")


Emit = Callable[[Writer, DType, list[str]], str]
EmitPair = Callable[[Writer, DType, list[str]], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ElementOp:
    """What `name` does to operands of one class.

    result: "same" as the operands, "bool", or "part" or "complex", of complex numbers. raises: it may set a flag NumPy
    reports. meaning: in Python, of NumPy scalars or arrays. emit(lines, dtype, operands): operands of class "b" are i1
    values and so is a bool result.
    emit_pair: of an operation that has a second result, a bool: whether NumPy may have other bits. offered: whether the
    scheduler may choose it for NumPy's function of that name.
    """

    meaning: Callable[..., Any]
    emit: Emit
    result: str = "same"
    raises: bool = False
    offered: bool = True
    emit_pair: EmitPair | None = None


def _plain(instruction: str) -> Emit:
    return lambda lines, dtype, args: lines.op(instruction, dtype, *args)


def _intrinsic(name: str) -> Emit:
    return lambda lines, dtype, args: lines.intrinsic(name, dtype, args)


def _float_compare(predicate: str) -> Emit:
    return lambda lines, dtype, args: lines.quiet_compare(predicate, dtype, args)


def _square(lines: Writer, dtype: DType, args: list[str]) -> str:
    instruction = "fmul" if dtype.kind == "f" else "mul"
    return lines.op(instruction, dtype, args[0], args[0])


def _negate_int(lines: Writer, dtype: DType, args: list[str]) -> str:
    return lines.op("sub", dtype, lines.zero(dtype), args[0])


def _negate_float(lines: Writer, dtype: DType, args: list[str]) -> str:
    # LLVM turns a + (-b) into a - b, which keeps the sign of a NaN b; the mask hides the negation from it.
    bits = lines.bits_of(dtype, args[0])
    return lines.float_of(dtype, lines.op("xor", bits_dtype(dtype), bits, lines.sign_mask(dtype)))


def _absolute_int(lines: Writer, dtype: DType, args: list[str]) -> str:
    negative = lines.compare("slt", dtype, args[0], lines.zero(dtype))
    negated = _negate_int(lines, dtype, args)
    return lines.select(negative, dtype, negated, args[0])


def _reciprocal(lines: Writer, dtype: DType, args: list[str]) -> str:
    return lines.op("fdiv", dtype, lines.splat_constant(dtype, 1.0), args[0])


def _sign(lines: Writer, dtype: DType, args: list[str]) -> str:
    zero = lines.hidden_constant(dtype, 0.0)
    inner = lines.select(lines.quiet_compare("oeq", dtype, [args[0], zero]), dtype, zero, args[0])
    minus = lines.hidden_constant(dtype, -1.0)
    inner = lines.select(lines.quiet_compare("olt", dtype, [args[0], zero]), dtype, minus, inner)
    plus = lines.hidden_constant(dtype, 1.0)
    return lines.select(lines.quiet_compare("ogt", dtype, [args[0], zero]), dtype, plus, inner)


def _magnitude_bits(lines: Writer, dtype: DType, value: str) -> str:
    mask = (1 << (8 * dtype.itemsize - 1)) - 1
    return lines.op("and", bits_dtype(dtype), lines.bits_of(dtype, value), lines.splat_bits(dtype, mask))


def _magnitude_compare(predicate: str) -> Emit:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        infinity = 0x7F800000 if dtype.itemsize == 4 else 0x7FF0000000000000
        magnitude = _magnitude_bits(lines, dtype, args[0])
        return lines.compare(predicate, bits_dtype(dtype), magnitude, lines.splat_bits(dtype, infinity))

    return emit


def _signbit(lines: Writer, dtype: DType, args: list[str]) -> str:
    return lines.compare("slt", bits_dtype(dtype), lines.bits_of(dtype, args[0]), lines.splat_bits(dtype, 0))


def _copysign(lines: Writer, dtype: DType, args: list[str]) -> str:
    magnitude = _magnitude_bits(lines, dtype, args[0])
    sign_bit = lines.splat_bits(dtype, 1 << (8 * dtype.itemsize - 1))
    sign = lines.op("and", bits_dtype(dtype), lines.bits_of(dtype, args[1]), sign_bit)
    return lines.float_of(dtype, lines.op("or", bits_dtype(dtype), magnitude, sign))


def _int_compare(predicate: str) -> Emit:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        sign = "" if predicate in ("eq", "ne") else ("s" if dtype.kind == "i" else "u")
        return lines.compare(f"{sign}{predicate}", dtype, *args)

    return emit


def _int_extremum(predicate: str) -> Emit:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        first = lines.compare(f"{'s' if dtype.kind == 'i' else 'u'}{predicate}", dtype, *args)
        return lines.select(first, dtype, args[0], args[1])

    return emit


def _invert(lines: Writer, dtype: DType, args: list[str]) -> str:
    return lines.op("xor", dtype, args[0], lines.all_ones(dtype))


def _truth(lines: Writer, dtype: DType, value: str) -> str:
    if dtype.kind == "b":
        return value
    if dtype.kind == "f":
        return lines.quiet_compare("une", dtype, [value, lines.zero(dtype)])
    return lines.compare("ne", dtype, value, lines.zero(dtype))


def _logical(instruction: str) -> Emit:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        left, right = (_truth(lines, dtype, value) for value in args)
        return lines.op(instruction, BOOL, left, right)

    return emit


def _logical_not(lines: Writer, dtype: DType, args: list[str]) -> str:
    ones = lines.all_ones(BOOL)
    return lines.op("xor", BOOL, _truth(lines, dtype, args[0]), ones)


def _first(lines: Writer, dtype: DType, args: list[str]) -> str:
    return args[0]


# Integers of NumPy scalars: an overflow is reported there, as it is not of arrays.


def _or_overflow(name: str) -> EmitPair:
    return lambda lines, dtype, args: lines.with_overflow(name, dtype, args)


def _negative_or_overflow(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    return lines.with_overflow("sub", dtype, [lines.zero(dtype), args[0]])


def _absolute_or_overflow(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    negative = lines.compare("slt", dtype, args[0], lines.zero(dtype))
    below = lines.select(negative, dtype, args[0], lines.zero(dtype))
    negated, over = _negative_or_overflow(lines, dtype, [below])
    return lines.select(negative, dtype, negated, args[0]), over


def _meaning_or_overflow(name: str) -> Callable[..., Any]:
    def meaning(*operands: Any) -> tuple[Any, Any]:
        wrapped = getattr(np, name)(*operands)
        return wrapped, int(wrapped) != int(getattr(np, name)(*(np.array(int(one), object) for one in operands)))

    return meaning


def _shift(left: bool) -> Emit:
    """A shift; one by as many bits as there are, or by a negative number, shifts everything out."""

    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        bits = 8 * dtype.itemsize
        inside = lines.compare("ult", dtype, args[1], lines.splat_bits(dtype, bits))
        signed = dtype.kind == "i" and not left
        count = lines.select(inside, dtype, args[1], lines.splat_bits(dtype, bits - 1 if signed else 0))
        shifted = lines.op("ashr" if signed else "shl" if left else "lshr", dtype, args[0], count)
        return shifted if signed else lines.select(inside, dtype, shifted, lines.zero(dtype))

    return emit


def _floor(remainder: bool) -> Emit:
    """A quotient rounded down, or what is left; the divisor is not 0, and the quotient fits."""

    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        a, b = args
        if dtype.kind == "u":
            return lines.op("urem" if remainder else "udiv", dtype, a, b)
        rest, zero = lines.op("srem", dtype, a, b), lines.zero(dtype)
        signs = lines.compare("slt", dtype, lines.op("xor", dtype, rest, b), zero)
        wrong = lines.op("and", BOOL, lines.compare("ne", dtype, rest, zero), signs)
        if remainder:
            return lines.op("add", dtype, rest, lines.select(wrong, dtype, b, zero))
        quotient = lines.op("sdiv", dtype, a, b)
        return lines.op("add", dtype, quotient, lines.convert("sext", BOOL, dtype, wrong))

    return emit


# Minimum, maximum and clip of floats. The first NaN is kept, and of two equal numbers the second; where NumPy does not
# do so for sure, both ways round are computed, which differ where it may have other bits; a NaN is clipped to itself.

STEPS = frozenset(("least", "greatest"))  # of reductions, which keep a NaN with its sign or make np.nan of it
PLAIN_CLIP = "plain_clip_or_doubt"  # in kernels that no NaN has been seen in
EXTREMES = {"minimum": np.minimum, "maximum": np.maximum, "clip": np._core.umath.clip}  # type: ignore[attr-defined]


def _extreme(predicate: str) -> Emit:
    def emit(lines: Writer, dtype: DType, args: list[str]) -> str:
        one, other = args
        better = lines.quiet_compare(predicate, dtype, [one, other])
        return lines.select(lines.is_nan(dtype, one), dtype, one, lines.select(better, dtype, one, other))

    return emit


def _clip(lines: Writer, dtype: DType, args: list[str]) -> str:
    return _extreme("olt")(lines, dtype, [_extreme("ogt")(lines, dtype, args[:2]), args[2]])


def _doubtful(predicate: str) -> EmitPair:
    """Flags do not count: a NaN is in doubt anyway."""

    def emit(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
        one, other = args
        kept = lines.select(lines.compare(predicate, dtype, one, other), dtype, one, other)
        again = lines.select(lines.compare(predicate, dtype, other, one), dtype, other, one)
        return kept, lines.compare("ne", bits_dtype(dtype), lines.bits_of(dtype, kept), lines.bits_of(dtype, again))

    return emit


def _plain_clip(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    """Of numbers: a NaN is in doubt."""
    kept, doubt = _doubtful("ogt")(lines, dtype, args[:2])
    kept, also = _doubtful("olt")(lines, dtype, [kept, args[2]])
    return kept, lines.op("or", BOOL, doubt, also)


def _doubtful_clip(lines: Writer, dtype: DType, args: list[str]) -> tuple[str, str]:
    """A NaN is kept, and in doubt beside one among the bounds alone."""
    x, low, high = args
    is_nan = lines.is_nan(dtype, x)
    kept, doubt = _plain_clip(lines, dtype, [lines.select(is_nan, dtype, low, x), low, high])
    return lines.select(is_nan, dtype, x, kept), doubt


def _choose(mask: Any, yes: Any, no: Any) -> Any:
    chosen: Any = np.where(mask, yes, no)
    return chosen[()]


def _extreme_of(name: str, x: Any, *bounds: Any) -> Any:
    if name == "clip":
        return _extreme_of("minimum", _extreme_of("maximum", x, bounds[0]), bounds[1])
    better = x < bounds[0] if name == "minimum" else x > bounds[0]
    return _choose(np.isnan(x) | better, x, bounds[0])


def _with_doubt(name: str, x: Any, *bounds: Any) -> tuple[Any, Any]:
    if name == "clip":
        kept, doubt = _with_doubt("plain_clip", _choose(np.isnan(x), bounds[0], x), *bounds)
        return _choose(np.isnan(x), x, kept), doubt
    if name == "plain_clip":
        low, doubt = _with_doubt("maximum", x, bounds[0])
        kept, also = _with_doubt("minimum", low, bounds[1])
        return kept, doubt | also
    better = np.less if name == "minimum" else np.greater
    with np.errstate(all="ignore"):
        kept = _choose(better(x, bounds[0]), x, bounds[0])
        again = _choose(better(bounds[0], x), bounds[0], x)
    return kept, _bits(kept) != _bits(again)


def _first_of(pair: EmitPair) -> Emit:
    return lambda lines, dtype, args: pair(lines, dtype, args)[0]


# Tests for NaNs.


def _bits(x: Any) -> Any:
    return np.asarray(x).view(f"u{x.itemsize}")[()]


def _unordered(x: Any, y: Any) -> Any:
    return np.isnan(x) | np.isnan(y)


def _nans_differ(*operands: Any) -> Any:
    """Whether two are NaN, with different bits."""
    found: Any = np.False_
    for x, y in combinations(operands, 2):
        found = found | (np.isnan(x) & np.isnan(y) & (_bits(x) != _bits(y)))
    return found


def _nan_or_minus_zero(x: Any) -> Any:
    return np.isnan(x) | ((x == 0) & np.signbit(x))


def _emit_nan_or_minus_zero(lines: Writer, dtype: DType, args: list[str]) -> str:
    bits = lines.bits_of(dtype, args[0])
    minus_zero = lines.compare("eq", bits_dtype(dtype), bits, lines.sign_mask(dtype))
    return lines.op("or", BOOL, lines.is_nan(dtype, args[0]), minus_zero)


def _better(predicate: str) -> Emit:
    """The first operand where it is better than the second, else that."""
    return lambda lines, dtype, args: lines.select(lines.quiet_compare(predicate, dtype, args), dtype, *args)


def _odd_nan(x: Any) -> Any:
    return np.isnan(x) & (np.asarray(x).view(f"i{x.itemsize}") != np.array(np.nan, x.dtype).view(f"i{x.itemsize}"))[()]


def _emit_odd_nan(lines: Writer, dtype: DType, args: list[str]) -> str:
    """Whether a value is a NaN with other bits than np.nan."""
    usual = int(np.array(np.nan, dtype).view(bits_dtype(dtype)))
    integers = bits_dtype(dtype)
    other = lines.compare("ne", integers, lines.bits_of(dtype, args[0]), lines.splat_bits(integers, usual))
    return lines.op("and", BOOL, lines.is_nan(dtype, args[0]), other)


def _no_arisen_nan(x: Any) -> Any:
    return np.isnan(x) & (_bits(x) != _bits(_arisen(x.dtype)))


def _arisen(dtype: DType) -> Any:
    """The NaN that an invalid operation makes."""
    with np.errstate(all="ignore"):
        return np.subtract(*np.full((2, 1), np.inf, dtype))[0]


def _emit_no_arisen_nan(lines: Writer, dtype: DType, args: list[str]) -> str:
    """Whether a value is a NaN with other bits than one that arises."""
    integers = bits_dtype(dtype)
    arisen = lines.splat_bits(integers, int(_arisen(dtype).view(integers)))
    other = lines.compare("ne", integers, lines.bits_of(dtype, args[0]), arisen)
    return lines.op("and", BOOL, lines.is_nan(dtype, args[0]), other)


def nans_differ(lines: Writer, dtype: DType, args: list[str]) -> str:
    """Write whether two of the operands are NaNs with different bits."""
    nans = [lines.is_nan(dtype, side) for side in args]
    bits = [lines.bits_of(dtype, side) for side in args]
    found = ""
    for one, other in combinations(range(len(args)), 2):
        differ = lines.compare("ne", bits_dtype(dtype), bits[one], bits[other])
        pair = lines.op("and", BOOL, lines.op("and", BOOL, nans[one], nans[other]), differ)
        found = lines.op("or", BOOL, found, pair) if found else pair
    return found


# Complex numbers and their parts.


def _fused_number(a: Any, b: Any, c: Any) -> Any:
    """a * b + c rounded once."""
    kind = type(a)
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        if (np.isfinite(a) and np.isfinite(b)) or (np.isnan(c) and not (np.isnan(a) or np.isnan(b))):
            return c + kind(0)  # whatever the product is
        return a * b + c
    from fractions import Fraction  # NB: only the oracle needs it, and all compiling would wait for it

    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if not exact:
        return kind(c) if not (a and b) and not c and np.signbit(c) == (np.signbit(a) != np.signbit(b)) else kind(0)
    return _rounded(exact, kind)


def _rounded(exact: Fraction, kind: Any) -> Any:
    """A fraction that is not 0 as a float; reports an overflow."""
    fraction = type(exact)
    try:
        near = float(exact)
    except OverflowError:
        near = float("inf") if exact > 0 else float("-inf")
    if kind is np.float32 and np.isfinite(near) and fraction(near) != exact:
        # To odd, so that rounding it again is as good as rounding once.
        bits = int(np.float64(near).view(np.int64))
        if not bits & 1:
            near = float(np.nextafter(near, np.inf if exact > fraction(near) else -np.inf))
    if not np.isfinite(near):
        return np.copysign(np.finfo(kind).max * kind(2), kind(near))
    return np.float64(near).astype(kind)


def _fused(a: Any, b: Any, c: Any) -> Any:
    if np.ndim(a) == np.ndim(b) == np.ndim(c) == 0:
        return _fused_number(a, b, c)
    a, b, c = np.broadcast_arrays(a, b, c)
    found = [_fused_number(*operands) for operands in zip(a.ravel(), b.ravel(), c.ravel(), strict=True)]
    return np.array(found, a.dtype).reshape(a.shape)


def _fused_difference(a: Any, b: Any, c: Any) -> Any:
    return _fused(a, b, _choose(np.isnan(c), c, np.negative(c)))


def _emit_fused_difference(lines: Writer, dtype: DType, args: list[str]) -> str:
    """The sign of a NaN is in doubt: which instruction this becomes is the code generator's choice."""
    return lines.intrinsic("fma", dtype, [*args[:2], lines.negated(dtype, args[2])])


def _emit_strict_difference(lines: Writer, dtype: DType, args: list[str]) -> str:
    minus = _negate_float(lines, dtype, args[2:])
    return lines.intrinsic("fma", dtype, [*args[:2], lines.select(lines.is_nan(dtype, args[2]), dtype, args[2], minus)])


def _quotient(lines: Writer, dtype: DType, args: list[str]) -> str:
    """x / by from the two parts of by's inverse (backends/kernels/quotients.py)."""
    x, _, high, low = args
    return lines.intrinsic("fma", dtype, [x, high, lines.op("fmul", dtype, x, low)])


def _huge(x: Any) -> Any:
    return np.isinf(x) | (np.abs(x) >= np.ldexp(x.dtype.type(1), np.finfo(x.dtype).maxexp - 1))


def _emit_huge(lines: Writer, dtype: DType, args: list[str]) -> str:
    """Whether a number is infinite, or may be when it is doubled; a NaN is not."""
    integers = bits_dtype(dtype)
    largest, infinity = (0x7F000000, 0x7F800000) if dtype.itemsize == 4 else (0x7FE0000000000000, 0x7FF0000000000000)
    magnitude = _magnitude_bits(lines, dtype, args[0])
    low = lines.compare("sge", integers, magnitude, lines.splat_bits(integers, largest))
    return lines.op("and", BOOL, low, lines.compare("sle", integers, magnitude, lines.splat_bits(integers, infinity)))


def _complex_of(real: Any, imag: Any) -> Any:
    made = np.empty(np.broadcast(real, imag).shape, f"c{2 * real.itemsize}")
    made.real, made.imag = real, imag
    return made[()]


def _emit_part(number: int) -> Emit:
    return lambda lines, dtype, args: lines.part(dtype, args[0], number)


def _emit_complex(lines: Writer, dtype: DType, args: list[str]) -> str:
    return lines.complex_of(dtype, args[0], args[1])


def _not_written(lines: Writer, dtype: DType, args: list[str]) -> str:
    raise NotImplementedError("complex numbers are computed by their parts")


def _rows() -> dict[tuple[str, str], ElementOp]:
    rows: dict[tuple[str, str], ElementOp] = {}

    def row(names: str, classes: str, emit: Emit, result: str = "same", raises: bool = False) -> None:
        for name in names.split():
            for letter in classes:
                rows[name, letter] = ElementOp(getattr(np, name), emit, result, raises)

    def overflowing(name: str, letter: str, emit: Emit, pair: EmitPair) -> None:
        row = ElementOp(_meaning_or_overflow(name), emit, offered=False, emit_pair=pair)
        rows[f"{name}_or_overflow", letter] = row

    for name, on_float, on_int in (("add", "fadd", "add"), ("subtract", "fsub", "sub"), ("multiply", "fmul", "mul")):
        row(name, "f", _plain(on_float), raises=True)
        row(name, "iu", _plain(on_int))
    row("divide", "f", _plain("fdiv"), raises=True)
    row("reciprocal", "f", _reciprocal, raises=True)
    row("sqrt", "f", _intrinsic("sqrt"), raises=True)
    row("square", "f", _square, raises=True)
    row("square", "iu", _square)
    row("negative", "f", _negate_float)
    row("negative", "iu", _negate_int)
    row("absolute fabs", "f", _intrinsic("fabs"))
    row("absolute", "i", _absolute_int)
    row("absolute", "bu", _first)
    row("positive", "fiu", _first)
    row("conjugate", "fiu", _first)
    row("sign", "f", _sign)
    row("copysign", "f", _copysign)
    row("floor", "f", _intrinsic("floor"))
    row("ceil", "f", _intrinsic("ceil"))
    row("trunc", "f", _intrinsic("trunc"))
    row("rint", "f", _intrinsic("rint"))
    for name, on_float, on_int in (
        ("equal", "oeq", "eq"), ("not_equal", "une", "ne"), ("less", "olt", "lt"), ("less_equal", "ole", "le"),
        ("greater", "ogt", "gt"), ("greater_equal", "oge", "ge"),
    ):  # fmt: skip
        row(name, "f", _float_compare(on_float), "bool")
        row(name, "iub", _int_compare(on_int), "bool")
    row("isnan", "f", _magnitude_compare("ugt"), "bool")
    row("isinf", "f", _magnitude_compare("eq"), "bool")
    row("isfinite", "f", _magnitude_compare("ult"), "bool")
    row("signbit", "f", _signbit, "bool")
    row("minimum fmin", "iu", _int_extremum("lt"))
    row("maximum fmax", "iu", _int_extremum("gt"))
    row("bitwise_and", "iu", _plain("and"))
    row("bitwise_or", "iu", _plain("or"))
    row("bitwise_xor", "iu", _plain("xor"))
    row("invert", "iub", _invert)
    row("logical_and", "fiub", _logical("and"), "bool")
    row("logical_or", "fiub", _logical("or"), "bool")
    row("logical_xor", "fiub", _logical("xor"), "bool")
    row("logical_not", "fiub", _logical_not, "bool")
    # NumPy's bool arithmetic is logic.
    row("bitwise_and multiply minimum fmin", "b", _logical("and"), "bool")
    row("bitwise_or add maximum fmax", "b", _logical("or"), "bool")
    row("bitwise_xor", "b", _logical("xor"), "bool")
    # Of numbers in Routines; of elements kernels have divisions of integers in doubt (division_ops.py).
    for name, instruction in (("add", "add"), ("subtract", "sub"), ("multiply", "mul")):
        pair = _or_overflow(instruction)
        for letter in "iu":
            overflowing(name, letter, _plain(instruction), pair)
    overflowing("negative", "i", _negate_int, _negative_or_overflow)
    overflowing("absolute", "i", _absolute_int, _absolute_or_overflow)
    for name, left in (("left_shift", True), ("right_shift", False)):
        for letter in "iu":
            rows[name, letter] = ElementOp(getattr(np, name), _shift(left))
    for name, remainder in (("floor_divide", False), ("remainder", True)):
        for letter in "iu":
            rows[name, letter] = ElementOp(getattr(np, name), _floor(remainder), offered=False)
    # What passes make.
    rows["unordered", "f"] = ElementOp(_unordered, _float_compare("uno"), "bool", offered=False)
    rows["nan_or_minus_zero", "f"] = ElementOp(_nan_or_minus_zero, _emit_nan_or_minus_zero, "bool", offered=False)
    rows["greater_of", "f"] = ElementOp(lambda x, y: _choose(x > y, x, y), _better("ogt"), offered=False)
    rows["less_of", "f"] = ElementOp(lambda x, y: _choose(x < y, x, y), _better("olt"), offered=False)
    rows["odd_nan", "f"] = ElementOp(_odd_nan, _emit_odd_nan, "bool", offered=False)
    rows["no_arisen_nan", "f"] = ElementOp(_no_arisen_nan, _emit_no_arisen_nan, "bool", offered=False)
    rows["nans_differ", "f"] = ElementOp(_nans_differ, nans_differ, "bool", offered=False)
    for name in ("add", "subtract", "multiply", "divide", "square", "negative", "positive", "conjugate"):
        raises = name not in ("negative", "positive", "conjugate")
        rows[name, "c"] = ElementOp(getattr(np, name), _not_written, raises=raises, offered=False)
    for name in ("equal", "not_equal"):
        rows[name, "c"] = ElementOp(getattr(np, name), _not_written, "bool", offered=False)
    rows["real", "c"] = ElementOp(lambda z: z.real, _emit_part(0), "part", offered=False)
    rows["imag", "c"] = ElementOp(lambda z: z.imag, _emit_part(1), "part", offered=False)
    rows["complex_of", "f"] = ElementOp(_complex_of, _emit_complex, "complex", offered=False)
    rows["multiply_add", "f"] = ElementOp(_fused, _intrinsic("fma"), raises=True, offered=False)
    for name, difference in (
        ("multiply_subtract", _emit_fused_difference), ("multiply_subtract_strict", _emit_strict_difference),
    ):  # fmt: skip
        rows[name, "f"] = ElementOp(_fused_difference, difference, raises=True, offered=False)
    rows["quotient", "f"] = ElementOp(lambda x, by, *inverse: np.divide(x, by), _quotient, raises=True, offered=False)
    rows["huge", "f"] = ElementOp(_huge, _emit_huge, "bool", offered=False)
    for name, emit, pair in (
        ("minimum", _extreme("olt"), _doubtful("olt")), ("maximum", _extreme("ogt"), _doubtful("ogt")),
        ("clip", _clip, _doubtful_clip),
    ):  # fmt: skip
        rows[name, "f"] = ElementOp(functools.partial(_extreme_of, name), emit, raises=True, offered=False)
        doubted = functools.partial(_with_doubt, name)
        rows[f"{name}_or_doubt", "f"] = ElementOp(doubted, emit, raises=True, offered=False, emit_pair=pair)
    rows[PLAIN_CLIP, "f"] = ElementOp(
        functools.partial(_with_doubt, "plain_clip"), _clip, raises=True, offered=False, emit_pair=_plain_clip
    )
    for (name, letter, strict), divided in EMITTED.items():
        rows[f"{name}_or_{'doubt' if strict else 'nan'}", letter] = ElementOp(
            meaning_in_doubt(name, strict), _first_of(divided), raises=True, offered=False, emit_pair=divided
        )
    for strict in (True, False):
        length = functools.partial(emit_length, strict=strict)
        rows[f"hypot_or_{'doubt' if strict else 'nan'}", "f"] = ElementOp(
            functools.partial(length_in_doubt, strict=strict),
            _first_of(length),
            raises=True,
            offered=False,
            emit_pair=length,
        )
    for step, name, predicate in (("least", "minimum", "olt"), ("greatest", "maximum", "ogt")):
        kept = functools.partial(_extreme_of, name)
        rows[step, "f"] = ElementOp(kept, _extreme(predicate), raises=True, offered=False)
    return rows


ROWS = _rows()

CAST_CLASSES = "fiub"


def exact_cast(source: DType, target: DType) -> bool:
    """True when the compiled cast gives the bits and flags of NumPy's astype.

    Float to uint32 is not: beyond the range NumPy's bits and flags depend on the position in the array.
    """
    if class_of(source) == "f" and target == np.dtype(np.uint32):
        return False
    if class_of(target) == "c":
        return exact_cast(part_dtype(source), part_dtype(target))
    return class_of(source) in CAST_CLASSES and class_of(target) in CAST_CLASSES


def row_of(name: str, in_dtypes: tuple[DType, ...]) -> ElementOp | None:
    """The table row for this operation on operands of these dtypes, offered or not."""
    if not in_dtypes or any(dtype != in_dtypes[0] for dtype in in_dtypes):
        return None
    return ROWS.get((name, class_of(in_dtypes[0])))


def results_of(name: str, in_dtypes: tuple[DType, ...]) -> tuple[DType, ...] | None:
    """The dtypes of the results of a row's operation, None if there is none."""
    row = row_of(name, in_dtypes)
    if row is None:
        return None
    own = in_dtypes[0]
    if row.result == "complex":
        own = np.dtype(f"c{2 * own.itemsize}")
    result = {"bool": BOOL, "part": part_dtype(own)}.get(row.result, own)
    return (result, *((BOOL,) if row.emit_pair is not None else ()))


def exact_row(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> ElementOp | None:
    """The table row for this operation on these dtypes, if its compiled form is exact."""
    row = row_of(name, in_dtypes)
    return row if row is not None and row.offered and dtypes == results_of(name, in_dtypes) else None


def is_exact(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> bool:
    """True when the kernel compiler may compile this operation; "cast", "copy" and "where" count as operations."""
    if name == "copy":
        return in_dtypes == dtypes and dtypes[0].kind in "biufc"
    if name == "cast":
        return exact_cast(in_dtypes[0], dtypes[0])
    if name == "where":
        alike = len(in_dtypes) == 3 and in_dtypes[1] == in_dtypes[2] == dtypes[0]
        return alike and in_dtypes[0].kind == "b" and dtypes[0].kind in "biufc"
    if name == "const":
        return class_of(dtypes[0]) in CAST_CLASSES
    return exact_row(name, in_dtypes, dtypes) is not None


def may_raise(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> bool:
    """True when the compiled operation may set a floating-point flag that NumPy would report."""
    if name == "cast":
        in_dtypes, dtypes = tuple(map(part_dtype, in_dtypes)), tuple(map(part_dtype, dtypes))
        narrows = in_dtypes[0].kind == "f" and dtypes[0].kind == "f" and dtypes[0].itemsize < in_dtypes[0].itemsize
        return narrows or (in_dtypes[0].kind == "f" and dtypes[0].kind in "iu")
    if name in ("where", "const", "copy"):
        return False
    row = row_of(name, in_dtypes)
    return row is None or row.raises


def meaning_of(name: str, dtype: DType) -> Callable[..., Any]:
    """What an operation that yields `dtype` does to NumPy scalars or arrays."""
    if name == "cast":
        return lambda x: np.asarray(x).astype(dtype)[()]
    if name == "copy":
        return lambda x: x
    if name == "where":
        return _choose
    return next(row.meaning for (known, _), row in ROWS.items() if known == name)


def emit_cast(lines: Writer, source: DType, target: DType, value: str) -> str:
    """Emit the cast; bool values are i1. Out-of-range float to int follows what C compilers make of it on x86-64."""
    kinds = class_of(source) + class_of(target)
    if source == target or (kinds in ("iu", "ui", "ii", "uu") and source.itemsize == target.itemsize):
        return value
    if kinds[1] == "b":
        return _truth(lines, source, value)
    if kinds == "bf":
        return lines.select(value, target, lines.hidden_constant(target, 1.0), lines.hidden_constant(target, 0.0))
    if kinds == "ff":
        instruction = "fpext" if target.itemsize > source.itemsize else "fptrunc"
        return lines.convert(instruction, source, target, value)
    if kinds[1] == "f":
        return lines.convert("sitofp" if kinds[0] == "i" else "uitofp", source, target, value)
    if kinds[0] == "f":
        return _float_to_int(lines, source, target, value)
    if target.itemsize < source.itemsize:
        return lines.convert("trunc", source, target, value)
    return lines.convert("sext" if kinds[0] == "i" else "zext", source, target, value)


def _float_to_int(lines: Writer, source: DType, target: DType, value: str) -> str:
    # NB: of an integer that was made a float LLVM would take the integer itself, and report no value out of range.
    bits = bits_dtype(source)
    value = lines.float_of(source, lines.unknown(bits, lines.bits_of(source, value)))
    if target.kind == "u" and target.itemsize == 8:
        limit = lines.splat_constant(source, 2.0**63)
        small = lines.quiet_compare("ult", source, [value, limit])
        reduced = lines.op("fsub", source, value, limit)
        shifted = lines.select(small, source, value, reduced)
        signed = lines.convert("fptosi", source, target, shifted)
        flipped = lines.op("xor", target, signed, lines.splat_bits(target, 1 << 63))
        return lines.select(small, target, signed, flipped)
    # A narrow target takes the low bits of the int32 that the hardware conversion yields.
    wide = np.dtype(np.int64 if target.itemsize == 8 else np.int32)
    converted = lines.convert("fptosi", source, wide, value)
    return converted if wide.itemsize == target.itemsize else lines.convert("trunc", wide, target, converted)
