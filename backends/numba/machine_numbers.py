"""Python numbers in machine loops: ints exact in 64 bits or the function ends, floats as Python computes them.

Enters operands as Numbers; leaves the Number of the result, its lines written. What is known of an int's range saves
the test for overflow. The rules are those of csrc/scalar.c; conversions to a dtype are those of csrc/launch.c.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from dynamo_lite.backends.numba.strict_lines import StrictLines

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import FUNCTIONS
from dynamo_lite.program.element_ops import emit_cast, emit_row, nans_differ
from dynamo_lite.schedule.steps import DType

LEAST, MOST = -(1 << 63), (1 << 63) - 1
EXACT = 1 << 53  # integers up to here are doubles exactly
FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)


class NotScalar(Exception):
    """A step has no form on single elements."""


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number. least, most: bounds of an int. read: out of an array, in the loop."""

    kind: str
    name: str
    least: int = LEAST
    most: int = MOST
    read: bool = False


class NumberWriter:
    """Writes arithmetic. overflows: some integer operation notes an overflow in %overflow. helpers: the functions of
    csrc/abi.def that are called, as %helper.<name>."""

    def __init__(self) -> None:
        self.lines = StrictLines()
        self.overflows = False
        self.helpers: set[str] = set()

    def helper(self, name: str, kind: str, arguments: str) -> str:
        """Call a function of C."""
        self.helpers.add(name)
        return self.lines.do(f"call {kind} %helper.{name}({arguments}) #0")

    def as_float(self, number: Number) -> str:
        """A number as a double, rounded as Python rounds."""
        if number.kind == "float":
            return number.name
        if number.kind == "bool":
            return self.lines.do(f"uitofp i1 {number.name} to double")
        if number.least == number.most:
            return self.lines.splat_constant(FLOAT64, float(number.least))
        return self.lines.do(f"sitofp i64 {number.name} to double")

    def convert(self, number: Number, dtype: DType) -> str:
        """A Python number as NumPy converts it; declines where it does not fit."""
        lines, kind = self.lines, number.kind
        if dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize == 2):
            raise NotScalar(f"a number as {dtype}")
        if dtype.kind == "f":
            wide = self.as_float(number)
            if dtype.itemsize == 8:
                return wide
            narrow = lines.do(f"fptrunc double {wide} to float")
            over, was = emit_row(lines, "isinf", dtype, [narrow]), emit_row(lines, "isinf", FLOAT64, [wide])
            self.lines.decline_if(lines.do(f"icmp ne i1 {over}, {was}"), "convert")
            return narrow
        if kind == "float" or (kind == "bool" and dtype.kind != "b"):
            raise NotScalar(f"a {kind} as {dtype}")
        if dtype.kind == "b":
            if kind == "bool":
                return lines.do(f"zext i1 {number.name} to i8")
            return lines.do(f"zext i1 {lines.do(f'icmp ne i64 {number.name}, 0')} to i8")
        bits = 8 * dtype.itemsize
        least, most = (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if number.most < least or number.least > most:
            raise NotScalar("a number that never fits")
        if number.least < least:
            self.lines.decline_if(lines.do(f"icmp slt i64 {number.name}, {least}"), "convert")
        if number.most > most:
            self.lines.decline_if(lines.do(f"icmp sgt i64 {number.name}, {most}"), "convert")
        if number.least == number.most:
            return str(number.least if number.least <= (1 << bits - 1) - 1 else number.least - (1 << bits))
        return number.name if bits == 64 else lines.do(f"trunc i64 {number.name} to i{bits}")

    def read(self, dtype: DType, name: str) -> Number:
        """The number that a NumPy scalar holds; declines for an integer beyond 64 bits."""
        if dtype.kind == "f" and dtype.itemsize in (4, 8):
            return Number("float", emit_cast(self.lines, dtype, FLOAT64, name))
        if dtype.kind not in "iu":
            raise NotScalar(f"a number out of {dtype}")
        bits = 8 * dtype.itemsize
        if bits == 64:
            if dtype.kind == "u":
                self.lines.decline_if(self.lines.do(f"icmp slt i64 {name}, 0"), "number")
            return Number("int", name, 0 if dtype.kind == "u" else LEAST, MOST)
        limits = (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        return Number("int", self.lines.do(f"{'z' if dtype.kind == 'u' else 's'}ext i{bits} {name} to i64"), *limits)

    def compare(self, name: str, left: Number, right: Number) -> Number:
        kinds = {left.kind, right.kind}
        if kinds not in ({"int"}, {"float"}):
            raise NotScalar("a comparison of an int with a float")
        dtype = INT64 if kinds == {"int"} else FLOAT64
        return Number("bool", emit_row(self.lines, COMPARISONS[name], dtype, [left.name, right.name]))

    def integer_op(self, name: str, operands: list[Number]) -> Number:
        lines = self.lines
        a = operands[0]
        b = operands[-1]
        if name == "neg":
            a, name = Number("int", "0", 0, 0), "sub"
        if name in ("add", "sub", "mul"):
            least, most = _RANGES[name](a, b)
            if least >= LEAST and most <= MOST:
                return Number("int", lines.do(f"{name} i64 {a.name}, {b.name}"), least, most)
            result, over = lines.with_overflow(name, INT64, [a.name, b.name])
            self.lines.decline_if(over, "number")
            return Number("int", result, max(least, LEAST), min(most, MOST))
        if name in ("min", "max"):
            first = lines.do(f"icmp {'slt' if name == 'min' else 'sgt'} i64 {b.name}, {a.name}")
            choose = min if name == "min" else max
            chosen = lines.do(f"select i1 {first}, i64 {b.name}, i64 {a.name}")
            return Number("int", chosen, choose(a.least, b.least), choose(a.most, b.most))
        if name in ("floordiv", "mod"):
            divisor = b.least if b.least == b.most else None
            if divisor is not None and divisor > 0 and not divisor & (divisor - 1):
                if name == "mod":
                    return Number("int", lines.do(f"and i64 {a.name}, {divisor - 1}"), 0, divisor - 1)
                shifted = lines.do(f"ashr i64 {a.name}, {divisor.bit_length() - 1}")
                return Number("int", shifted, a.least // divisor, a.most // divisor)
            signed = a.least < 0 or b.least < 0
            result = self.floor_division("i64", signed, a.name, b.name, name == "mod", divisor)
            if name == "mod" and b.least >= 0:
                return Number("int", result, 0, max(0, b.most - 1))
            return Number("int", result, *((0, a.most) if not signed else ()))
        if name in _BITS:
            result = lines.do(f"{_BITS[name]} i64 {a.name}, {b.name}")
            if a.least < 0 or b.least < 0:
                return Number("int", result)
            most = min(a.most, b.most) if name == "bitand" else (1 << max(a.most, b.most).bit_length()) - 1
            return Number("int", result, 0, most)
        raise NotScalar(f"{name} of ints")

    def float_op(self, name: str, operands: list[Number]) -> Number:
        lines = self.lines
        if name == "trunc":
            return self.truncate(operands[0].name)
        if name == "neg":
            return Number("float", emit_row(lines, "negative", FLOAT64, [operands[0].name]))
        if name == "truediv" and all(operand.kind == "int" for operand in operands):
            for operand in operands:  # Python rounds the exact quotient once; so does a division of exact doubles
                if operand.least < -EXACT or operand.most > EXACT:
                    shifted = lines.do(f"add i64 {operand.name}, {EXACT}")
                    self.lines.decline_if(lines.do(f"icmp ugt i64 {shifted}, {2 * EXACT}"), "number")
        if name == "sqrt":
            root = self.as_float(operands[0])
            low = lines.quiet_compare("oge", FLOAT64, [root, lines.zero(FLOAT64)])
            self.lines.decline_if(lines.do(f"xor i1 {low}, true"), "number")
            return Number("float", emit_row(lines, "sqrt", FLOAT64, [root]))
        if name in FUNCTIONS:
            a, b = (self.as_float(operand) for operand in (operands[0], operands[-1]))
            op = f"i32 {_C.abi.SCALAR_OPS.index(name)}"
            failed = self.helper("python_function", "i32", f"{op}, double {a}, double {b}, ptr %helper.result")
            self.lines.decline_if(lines.do(f"icmp ne i32 {failed}, 0"), "number")
            return Number("float", lines.do("load double, ptr %helper.result, align 8"))
        a, b = (self.as_float(operand) for operand in operands)
        if name in ("add", "sub", "mul"):
            result = emit_row(lines, _ARITHMETIC[name], FLOAT64, [a, b])
            if name != "sub":  # C compilers may swap the operands
                nan = lines.is_nan(FLOAT64, result)
                self.lines.aside(nan, lambda: self.lines.decline_if(nans_differ(lines, FLOAT64, [a, b]), "nan"))
            return Number("float", result)
        if name == "truediv":
            zero = lines.quiet_compare("oeq", FLOAT64, [b, lines.zero(FLOAT64)])
            self.lines.decline_if(zero, "number")
            return Number("float", emit_row(lines, "divide", FLOAT64, [a, b]))
        if name in ("min", "max"):
            if any(operand.kind != "float" for operand in operands):
                raise NotScalar("an int or a float")
            other = lines.quiet_compare("olt" if name == "min" else "ogt", FLOAT64, [b, a])
            return Number("float", lines.select(other, FLOAT64, b, a))
        if name == "pow":
            failed = self.helper("python_power", "i32", f"double {a}, double {b}, ptr %helper.result")
            self.lines.decline_if(lines.do(f"icmp ne i32 {failed}, 0"), "number")
            return Number("float", lines.do("load double, ptr %helper.result, align 8"))
        if name in ("mod", "floordiv"):
            zero = lines.quiet_compare("oeq", FLOAT64, [b, lines.zero(FLOAT64)])
            self.lines.decline_if(zero, "number")
            function = "modulo" if name == "mod" else "floor_divide"
            return Number("float", self.helper(function, "double", f"double {a}, double {b}"))
        raise NotScalar(f"{name} of floats")

    def truncate(self, a: str) -> Number:
        """int(a); declines for a NaN, and where it does not fit 64 bits."""
        lines = self.lines
        low, high = (lines.splat_constant(FLOAT64, end) for end in (-(2.0**63), 2.0**63))
        above = lines.quiet_compare("ogt", FLOAT64, [a, low])
        below = lines.quiet_compare("olt", FLOAT64, [a, high])
        fits = lines.do(f"and i1 {above}, {below}")
        self.lines.decline_if(lines.do(f"xor i1 {fits}, true"), "number")
        return Number("int", lines.do(f"fptosi double {a} to i64"))

    def note_overflow(self, over: str) -> None:
        """Note an overflow of an integer scalar among the floating-point flags, where the condition holds."""
        self.overflows = True
        self.lines.aside(over, lambda: self.lines.put("  store i64 1, ptr %overflow, align 8"))

    def floor_division(self, kind: str, signed: bool, a: str, b: str, remainder: bool, divisor: int | None) -> str:
        """a // b or a % b as Python rounds them; declines where b is 0 or the quotient does not fit.
        divisor: b, where it is known."""
        lines = self.lines
        if divisor is None:
            self.lines.decline_if(lines.do(f"icmp eq {kind} {b}, 0"), "number")
        elif divisor == 0:
            raise NotScalar("a division by zero")
        if not signed:
            return lines.do(f"{'urem' if remainder else 'udiv'} {kind} {a}, {b}")
        if divisor in (None, -1):
            lowest = -(1 << int(kind[1:]) - 1)
            minimal = lines.do(f"icmp eq {kind} {a}, {lowest}")
            minus = lines.do(f"icmp eq {kind} {b}, -1")
            self.lines.decline_if(lines.do(f"and i1 {minimal}, {minus}"), "number")
        rest = lines.do(f"srem {kind} {a}, {b}")
        signs = lines.do(f"icmp slt {kind} {lines.do(f'xor {kind} {rest}, {b}')}, 0")
        wrong = lines.do(f"and i1 {lines.do(f'icmp ne {kind} {rest}, 0')}, {signs}")
        if remainder:
            return lines.do(f"add {kind} {rest}, {lines.do(f'select i1 {wrong}, {kind} {b}, {kind} 0')}")
        quotient = lines.do(f"sdiv {kind} {a}, {b}")
        return lines.do(f"add {kind} {quotient}, {lines.do(f'sext i1 {wrong} to {kind}')}")


# Of Python numbers, by their names in program/element_ops.py.
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_ARITHMETIC = {"add": "add", "sub": "subtract", "mul": "multiply"}


def _products(a: Number, b: Number) -> tuple[int, int]:
    corners = [x * y for x in (a.least, a.most) for y in (b.least, b.most)]
    return min(corners), max(corners)


_BITS = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
_RANGES: dict[str, Callable[[Number, Number], tuple[int, int]]] = {
    "add": lambda a, b: (a.least + b.least, a.most + b.most),
    "sub": lambda a, b: (a.least - b.most, a.most - b.least),
    "mul": _products,
}
