"""The elementwise operations whose compiled form gives NumPy's bits: the table the kernel compiler reads.

Enters an operation's name and dtypes; leaves the LLVM instructions for it. An operation is in the table only where
IEEE 754 or two's complement fixes the result, so that any correct instruction gives NumPy's bits. Everything else
(exp, power, minimum and maximum of floats with their NaN and signed-zero order, float16 and complex arithmetic) runs
in NumPy's own inner loop. INVARIANT: no instruction sets a floating-point flag that NumPy would report and this form
would not, and compares are quiet, so NaN operands set none. Float constants are hidden from the optimiser, which would
compute with them when it compiles: no flag would show then, and a NaN would have another sign.

NB: of two NaN operands x86 keeps the first. NumPy's add and multiply keep the one or the other by position and
alignment (a compiler may swap them); subtract and divide always keep the first, and so do these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from dynamo_lite.backends.numba.llvm_text import Lines

DType = np.dtype[np.generic]


def class_of(dtype: DType) -> str:
    """The letter the table uses: "f" float32/64, "i" signed, "u" unsigned, "b" bool, "x" anything else."""
    if dtype.kind == "f":
        return "f" if dtype.itemsize in (4, 8) else "x"
    return dtype.kind if dtype.kind in "iub" else "x"


Emit = Callable[[Lines, DType, list[str]], str]


@dataclass(frozen=True, slots=True)
class ExactOp:
    """How `name` is emitted for operands of one class.

    result: "same" as the operands, or "bool". raises: it may set a flag NumPy reports. emit(lines, dtype, operands):
    operands of class "b" are i1 values and so is a bool result.
    """

    emit: Emit
    result: str = "same"
    raises: bool = False


def _plain(instruction: str) -> Emit:
    def emit(lines: Lines, dtype: DType, args: list[str]) -> str:
        return lines.do(f"{instruction} {lines.type_of(dtype, mask=True)} {', '.join(args)}")

    return emit


def _intrinsic(name: str) -> Emit:
    return lambda lines, dtype, args: lines.intrinsic(name, dtype, args)


def _float_compare(predicate: str) -> Emit:
    return lambda lines, dtype, args: lines.quiet_compare(predicate, dtype, args)


def _square(lines: Lines, dtype: DType, args: list[str]) -> str:
    instruction = "fmul" if dtype.kind == "f" else "mul"
    return lines.do(f"{instruction} {lines.type_of(dtype)} {args[0]}, {args[0]}")


def _negate_int(lines: Lines, dtype: DType, args: list[str]) -> str:
    return lines.do(f"sub {lines.type_of(dtype)} {lines.zero(dtype)}, {args[0]}")


def _negate_float(lines: Lines, dtype: DType, args: list[str]) -> str:
    # LLVM turns a + (-b) into a - b, which keeps the sign of a NaN b; the mask hides the negation from it.
    bits = lines.bits_of(dtype, args[0])
    return lines.float_of(dtype, lines.do(f"xor {lines.bits_type(dtype)} {bits}, {lines.sign_mask(dtype)}"))


def _absolute_int(lines: Lines, dtype: DType, args: list[str]) -> str:
    negative = lines.do(f"icmp slt {lines.type_of(dtype)} {args[0]}, {lines.zero(dtype)}")
    negated = _negate_int(lines, dtype, args)
    return lines.select(negative, dtype, negated, args[0])


def _reciprocal(lines: Lines, dtype: DType, args: list[str]) -> str:
    return lines.do(f"fdiv {lines.type_of(dtype)} {lines.splat_constant(dtype, 1.0)}, {args[0]}")


def _sign(lines: Lines, dtype: DType, args: list[str]) -> str:
    zero = lines.hidden_constant(dtype, 0.0)
    inner = lines.select(lines.quiet_compare("oeq", dtype, [args[0], zero]), dtype, zero, args[0])
    minus = lines.hidden_constant(dtype, -1.0)
    inner = lines.select(lines.quiet_compare("olt", dtype, [args[0], zero]), dtype, minus, inner)
    plus = lines.hidden_constant(dtype, 1.0)
    return lines.select(lines.quiet_compare("ogt", dtype, [args[0], zero]), dtype, plus, inner)


def _magnitude_bits(lines: Lines, dtype: DType, value: str) -> str:
    mask = (1 << (8 * dtype.itemsize - 1)) - 1
    return lines.do(f"and {lines.bits_type(dtype)} {lines.bits_of(dtype, value)}, {lines.splat_bits(dtype, mask)}")


def _magnitude_compare(predicate: str) -> Emit:
    def emit(lines: Lines, dtype: DType, args: list[str]) -> str:
        infinity = 0x7F800000 if dtype.itemsize == 4 else 0x7FF0000000000000
        magnitude = _magnitude_bits(lines, dtype, args[0])
        return lines.do(f"icmp {predicate} {lines.bits_type(dtype)} {magnitude}, {lines.splat_bits(dtype, infinity)}")

    return emit


def _signbit(lines: Lines, dtype: DType, args: list[str]) -> str:
    return lines.do(f"icmp slt {lines.bits_type(dtype)} {lines.bits_of(dtype, args[0])}, {lines.splat_bits(dtype, 0)}")


def _copysign(lines: Lines, dtype: DType, args: list[str]) -> str:
    magnitude = _magnitude_bits(lines, dtype, args[0])
    sign_bit = lines.splat_bits(dtype, 1 << (8 * dtype.itemsize - 1))
    sign = lines.do(f"and {lines.bits_type(dtype)} {lines.bits_of(dtype, args[1])}, {sign_bit}")
    return lines.float_of(dtype, lines.do(f"or {lines.bits_type(dtype)} {magnitude}, {sign}"))


def _int_compare(predicate: str) -> Emit:
    def emit(lines: Lines, dtype: DType, args: list[str]) -> str:
        sign = "" if predicate in ("eq", "ne") else ("s" if dtype.kind == "i" else "u")
        return lines.do(f"icmp {sign}{predicate} {lines.type_of(dtype, mask=True)} {args[0]}, {args[1]}")

    return emit


def _int_extremum(predicate: str) -> Emit:
    def emit(lines: Lines, dtype: DType, args: list[str]) -> str:
        first = lines.do(
            f"icmp {'s' if dtype.kind == 'i' else 'u'}{predicate} {lines.type_of(dtype)} {args[0]}, {args[1]}"
        )
        return lines.select(first, dtype, args[0], args[1])

    return emit


def _invert(lines: Lines, dtype: DType, args: list[str]) -> str:
    return lines.do(f"xor {lines.type_of(dtype, mask=True)} {args[0]}, {lines.all_ones(dtype)}")


def _truth(lines: Lines, dtype: DType, value: str) -> str:
    if dtype.kind == "b":
        return value
    if dtype.kind == "f":
        return lines.quiet_compare("une", dtype, [value, lines.zero(dtype)])
    return lines.do(f"icmp ne {lines.type_of(dtype)} {value}, {lines.zero(dtype)}")


def _logical(instruction: str) -> Emit:
    def emit(lines: Lines, dtype: DType, args: list[str]) -> str:
        left, right = (_truth(lines, dtype, value) for value in args)
        return lines.do(f"{instruction} {lines.mask_type} {left}, {right}")

    return emit


def _logical_not(lines: Lines, dtype: DType, args: list[str]) -> str:
    ones = lines.all_ones(np.dtype(np.bool_))
    return lines.do(f"xor {lines.mask_type} {_truth(lines, dtype, args[0])}, {ones}")


def _first(lines: Lines, dtype: DType, args: list[str]) -> str:
    return args[0]


def _rows() -> dict[tuple[str, str], ExactOp]:
    rows: dict[tuple[str, str], ExactOp] = {}

    def row(names: str, classes: str, emit: Emit, result: str = "same", raises: bool = False) -> None:
        for name in names.split():
            for letter in classes:
                rows[name, letter] = ExactOp(emit, result, raises)

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
    return rows


ROWS = _rows()

CAST_CLASSES = "fiub"


def exact_cast(source: DType, target: DType) -> bool:
    """True when the compiled cast gives the bits and flags of NumPy's astype.

    Float to uint32 is not: beyond the range NumPy's bits and flags depend on the position in the array.
    """
    if class_of(source) == "f" and target == np.dtype(np.uint32):
        return False
    return class_of(source) in CAST_CLASSES and class_of(target) in CAST_CLASSES


def exact_row(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> ExactOp | None:
    """The table row for this operation on these dtypes, if its compiled form is exact."""
    if len(dtypes) != 1 or not in_dtypes or any(dtype != in_dtypes[0] for dtype in in_dtypes):
        return None
    row = ROWS.get((name, class_of(in_dtypes[0])))
    if row is None:
        return None
    expected = np.dtype(np.bool_) if row.result == "bool" else in_dtypes[0]
    return row if dtypes[0] == expected else None


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
        return class_of(dtypes[0]) != "x"
    return exact_row(name, in_dtypes, dtypes) is not None


def may_raise(name: str, in_dtypes: tuple[DType, ...], dtypes: tuple[DType, ...]) -> bool:
    """True when the compiled operation may set a floating-point flag that NumPy would report."""
    if name == "cast":
        narrows = in_dtypes[0].kind == "f" and dtypes[0].kind == "f" and dtypes[0].itemsize < in_dtypes[0].itemsize
        return narrows or (in_dtypes[0].kind == "f" and dtypes[0].kind in "iu")
    if name in ("where", "const", "copy"):
        return False
    row = exact_row(name, in_dtypes, dtypes)
    return row is None or row.raises


def emit_cast(lines: Lines, source: DType, target: DType, value: str) -> str:
    """Emit the cast; bool values are i1. Out-of-range float to int follows what C compilers make of it on x86-64."""
    kinds = class_of(source) + class_of(target)
    from_type, to_type = lines.type_of(source, mask=True), lines.type_of(target, mask=True)
    if source == target or (kinds in ("iu", "ui", "ii", "uu") and source.itemsize == target.itemsize):
        return value
    if kinds[1] == "b":
        return _truth(lines, source, value)
    if kinds == "bf":
        return lines.select(value, target, lines.hidden_constant(target, 1.0), lines.hidden_constant(target, 0.0))
    if kinds == "ff":
        instruction = "fpext" if target.itemsize > source.itemsize else "fptrunc"
        return lines.do(f"{instruction} {from_type} {value} to {to_type}")
    if kinds[1] == "f":
        return lines.do(f"{'sitofp' if kinds[0] == 'i' else 'uitofp'} {from_type} {value} to {to_type}")
    if kinds[0] == "f":
        return _float_to_int(lines, source, target, value)
    if target.itemsize < source.itemsize:
        return lines.do(f"trunc {from_type} {value} to {to_type}")
    return lines.do(f"{'sext' if kinds[0] == 'i' else 'zext'} {from_type} {value} to {to_type}")


def _float_to_int(lines: Lines, source: DType, target: DType, value: str) -> str:
    # NB: of an integer that was made a float LLVM would take the integer itself, and report no value out of range.
    bits = np.dtype(f"i{source.itemsize}")
    integer = lines.do(f"bitcast {lines.type_of(source)} {value} to {lines.type_of(bits)}")
    value = lines.do(f"bitcast {lines.type_of(bits)} {lines.unknown(bits, integer)} to {lines.type_of(source)}")
    if target.kind == "u" and target.itemsize == 8:
        limit = lines.splat_constant(source, 2.0**63)
        small = lines.quiet_compare("ult", source, [value, limit])
        reduced = lines.do(f"fsub {lines.type_of(source)} {value}, {limit}")
        shifted = lines.select(small, source, value, reduced)
        signed = lines.do(f"fptosi {lines.type_of(source)} {shifted} to {lines.type_of(target)}")
        bit = lines.splat_bits(target, 1 << 63)
        flipped = lines.do(f"xor {lines.type_of(target)} {signed}, {bit}")
        return lines.select(small, target, signed, flipped)
    # A narrow target takes the low bits of the int32 that the hardware conversion yields.
    wide = np.dtype(np.int64 if target.itemsize == 8 else np.int32)
    converted = lines.do(f"fptosi {lines.type_of(source)} {value} to {lines.type_of(wide)}")
    if wide.itemsize == target.itemsize:
        return converted
    return lines.do(f"trunc {lines.type_of(wide)} {converted} to {lines.type_of(target)}")
