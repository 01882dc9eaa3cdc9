"""Makes the nodes of Python numbers in Routines: ints exact in 64 bits or the function declines, floats as in Python.

Enters operands as Numbers; leaves the Number of the result, its nodes put where the builder stands. What is known of an
int's range saves the test for overflow. The rules are those of csrc/numbers/scalar.c, of conversions to a dtype those
of csrc/program/launch.c, of slices those of PySlice_AdjustIndices, which csrc/program/views.c calls. NotCompiled is
raised where a step has no such form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import FUNCTIONS, INFIX
from dynamo_lite.ops.operators import BINARY
from dynamo_lite.program.element_ops import BOOL, class_of, results_of
from dynamo_lite.program.ir import Decline, DType, Element, Helper, If, Joined, Memref, Node, Note, Value

LEAST, MOST = -(1 << 63), (1 << 63) - 1
EXACT = 1 << 53  # integers up to here are doubles exactly
FLOAT64, INT64, UINT64 = (np.dtype(one) for one in (np.float64, np.int64, np.uint64))
FLOAT32 = np.dtype(np.float32)

Result = TypeVar("Result")


class NotCompiled(Exception):
    """A step has no form in a Routine."""


@dataclass(frozen=True, slots=True)
class Number:
    """A Python number. least, most: bounds of an int. read: out of an array, in the loop."""

    kind: str
    value: Value
    least: int = LEAST
    most: int = MOST
    read: bool = False


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    bits = 8 * dtype.itemsize
    return (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


class NumberBuilder:
    """nodes: those of the body at hand."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[tuple[DType, bytes], Value] = {}
        self.count = 0

    # Nodes

    def name(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def new(self, dtype: DType) -> Value:
        return Value(self.name(), dtype)

    def constant(self, dtype: DType, number: Any) -> Value:
        """A value that is known; the same for the same bits."""
        raw = np.asarray(number, dtype)
        key = (dtype, raw.tobytes())
        if key not in self.known:
            self.known[key] = Value(repr(raw.item()), dtype, raw[()])
        return self.known[key]

    def exactly(self, number: int) -> Number:
        """An int that is known."""
        return Number("int", self.constant(INT64, number), number, number)

    def ops(self, name: str, *operands: Value) -> tuple[Value, ...]:
        """The results of an operation."""
        dtypes = results_of(name, tuple(value.dtype for value in operands))
        assert dtypes is not None, name
        results = tuple(self.new(dtype) for dtype in dtypes)
        self.nodes.append(Element(name, operands, results))
        return results

    def op(self, name: str, *operands: Value) -> Value:
        return self.ops(name, *operands)[0]

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value as that dtype."""
        if value.dtype == dtype:
            return value
        if "x" in (class_of(value.dtype), class_of(dtype)):  # float16, which code only copies
            raise NotCompiled(f"{value.dtype} as {dtype}")
        result = self.new(dtype)
        self.nodes.append(Element("cast", (value,), (result,)))
        return result

    def where(self, condition: Value, yes: Value, no: Value) -> Value:
        result = self.new(yes.dtype)
        self.nodes.append(Element("where", (condition, yes, no), (result,)))
        return result

    def any_of(self, conditions: Sequence[Value]) -> Value:
        """Whether one of them holds."""
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = self.op("logical_or", whole, condition)
        return whole

    def decline_if(self, condition: Value, status: int) -> None:
        self.nodes.append(Decline(condition, status))

    def decline_unless(self, condition: Value, status: int) -> None:
        self.decline_if(self.op("logical_not", condition), status)

    def inside(self, write: Callable[[], Result]) -> tuple[tuple[Node, ...], Result]:
        """The nodes that `write` puts, and what it answers."""
        before, self.nodes = self.nodes, []
        try:
            result = write()
            return tuple(self.nodes), result
        finally:
            self.nodes = before

    def aside(self, condition: Value, write: Callable[[], Value | Memref | None], value: Any = None) -> Any:
        """The value; where the condition holds, which is seldom, what `write` makes in its place."""
        nodes, other = self.inside(write)
        if value is None or other is None:
            self.nodes.append(If(condition, nodes, rare=True))
            return value
        result: Value | Memref = Memref(self.name("m"), value.dtype, (), (), "merged")
        if isinstance(value, Value):
            result = self.new(value.dtype)
        self.nodes.append(If(condition, nodes, (), (Joined(result, other, value),), rare=True))
        return result

    def helper(
        self, name: str, operands: Sequence[Value | Memref], dtype: DType | None = None, failure: int = 0
    ) -> Value | None:
        """Call a function of C; its result, where it has one."""
        result = None if dtype is None else self.new(dtype)
        self.nodes.append(Helper(name, tuple(operands), () if result is None else (result,), failure))
        return result

    def computed(
        self, name: str, operands: Sequence[Value | Memref], dtype: DType, failure: int = 0
    ) -> Value:
        """The same of one that has a result."""
        result = self.helper(name, operands, dtype, failure)
        assert result is not None
        return result

    # Conversions

    def as_float(self, number: Number) -> Value:
        """A number as a double, rounded as Python rounds."""
        if number.kind == "int" and number.least == number.most:
            return self.constant(FLOAT64, float(number.least))
        return self.cast(number.value, FLOAT64)

    def convert(self, number: Number, dtype: DType) -> Value:
        """A Python number as NumPy converts it; declines where it does not fit."""
        kind = number.kind
        if dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
            raise NotCompiled(f"a number as {dtype}")
        if dtype.kind == "f":
            wide = self.as_float(number)
            if dtype == FLOAT64:
                return wide
            narrow = self.cast(wide, dtype)
            over = self.op("not_equal", self.op("isinf", narrow), self.op("isinf", wide))
            self.decline_if(over, abi.RETURNED_CONVERT)
            return narrow
        if kind == "float" or (kind == "bool" and dtype.kind != "b"):
            raise NotCompiled(f"a {kind} as {dtype}")
        if dtype.kind == "b":
            return self.cast(number.value, BOOL)
        self.require_between(number, *limits(dtype))
        if number.least == number.most:
            return self.constant(dtype, number.least)
        return self.cast(number.value, dtype)

    def require_between(self, number: Number, least: int, most: int) -> None:
        """Decline where an int is no number of a dtype."""
        if number.most < least or number.least > most:
            raise NotCompiled("a number that never fits")
        if number.least < least:
            self.decline_if(self.op("less", number.value, self.constant(INT64, least)), abi.RETURNED_CONVERT)
        if number.most > most:
            self.decline_if(self.op("greater", number.value, self.constant(INT64, most)), abi.RETURNED_CONVERT)

    def read(self, value: Value) -> Number:
        """The number that a NumPy scalar holds; declines for an integer beyond 64 bits."""
        dtype = value.dtype
        if dtype.kind == "f" and dtype.itemsize in (4, 8):
            return Number("float", self.cast(value, FLOAT64))
        if dtype.kind not in "iu":
            raise NotCompiled(f"a number out of {dtype}")
        if dtype == UINT64:
            number = Number("int", self.cast(value, INT64), 0)
            self.decline_if(self.op("less", number.value, self.constant(INT64, 0)), abi.RETURNED_NUMBER)
            return number
        return Number("int", self.cast(value, INT64), *limits(dtype))

    # Operations

    def compare(self, name: str, left: Number, right: Number) -> Number:
        if "bool" in (left.kind, right.kind):
            raise NotCompiled("a comparison of bools")
        if left.kind != right.kind:
            left, right = self.exact_float(left), self.exact_float(right)
        return Number("bool", self.op(NAMES[name], left.value, right.value))

    def exact_float(self, number: Number) -> Number:
        """A number as a double of the same value, as Python compares ints with floats; declines where none may be."""
        if number.kind == "float":
            return number
        self.require_between(number, -EXACT, EXACT)
        return Number("float", self.as_float(number))

    def integer_op(self, name: str, operands: Sequence[Number]) -> Number:
        a, b = operands[0], operands[-1]
        if name == "neg":
            a, name = self.exactly(0), "sub"
        if name in _RANGES:
            least, most = _RANGES[name](a, b)
            if least >= LEAST and most <= MOST:
                return Number("int", self.op(NAMES[name], a.value, b.value), least, most)
            result, over = self.ops(f"{NAMES[name]}_or_overflow", a.value, b.value)
            self.decline_if(over, abi.RETURNED_NUMBER)
            return Number("int", result, max(least, LEAST), min(most, MOST))
        if name in ("min", "max"):
            choose = min if name == "min" else max
            chosen = self.op("minimum" if name == "min" else "maximum", a.value, b.value)
            return Number("int", chosen, choose(a.least, b.least), choose(a.most, b.most))
        if name in ("floordiv", "mod"):
            return self.integer_division(a, b, name == "mod")
        if name in ("bitand", "bitor", "bitxor"):
            result = self.op(NAMES[name], a.value, b.value)
            if a.least < 0 or b.least < 0:
                return Number("int", result)
            most = min(a.most, b.most) if name == "bitand" else (1 << max(a.most, b.most).bit_length()) - 1
            return Number("int", result, 0, most)
        raise NotCompiled(f"{name} of ints")

    def integer_division(self, a: Number, b: Number, remainder: bool) -> Number:
        divisor = b.least if b.least == b.most else None
        if divisor is not None and divisor > 0 and not divisor & (divisor - 1):
            if remainder:
                rest = self.op("bitwise_and", a.value, self.constant(INT64, divisor - 1))
                return Number("int", rest, 0, divisor - 1)
            shifted = self.op("right_shift", a.value, self.constant(INT64, divisor.bit_length() - 1))
            return Number("int", shifted, a.least // divisor, a.most // divisor)
        signed = a.least < 0 or b.least < 0
        dividend, by = (side.value if signed else self.cast(side.value, UINT64) for side in (a, b))
        if divisor is not None:
            by = self.constant(by.dtype, divisor)
        result = self.cast(self.division(dividend, by, remainder), INT64)
        if remainder and b.least >= 0:
            return Number("int", result, 0, max(0, b.most - 1))
        return Number("int", result, *((0, a.most) if not signed else ()))

    def division(self, a: Value, b: Value, remainder: bool) -> Value:
        """a // b or a % b of integers as Python rounds them; declines where b is 0 or the quotient does not fit."""
        dtype, divisor = a.dtype, b.number
        if divisor is None:
            self.decline_if(self.op("equal", b, self.constant(dtype, 0)), abi.RETURNED_NUMBER)
        elif divisor == 0:
            raise NotCompiled("a division by zero")
        if dtype.kind == "i" and (divisor is None or divisor == -1):
            lowest = self.op("equal", a, self.constant(dtype, limits(dtype)[0]))
            minus = self.op("equal", b, self.constant(dtype, -1))
            self.decline_if(self.op("logical_and", lowest, minus), abi.RETURNED_NUMBER)
        return self.op("remainder" if remainder else "floor_divide", a, b)

    def float_op(self, name: str, operands: Sequence[Number]) -> Number:
        if name == "trunc":
            return self.truncate(operands[0].value)
        if name == "neg":
            return Number("float", self.op("negative", operands[0].value))
        if name in ("min", "max"):
            if any(operand.kind != "float" for operand in operands):
                raise NotCompiled("an int or a float")
            a, b = (operand.value for operand in operands)
            return Number("float", self.op("less_of" if name == "min" else "greater_of", b, a))
        if name == "truediv" and all(operand.kind == "int" for operand in operands):
            for operand in operands:  # Python rounds the exact quotient once; so does a division of exact doubles
                self.require_exact(operand)
        a, b = (self.as_float(operand) for operand in (operands[0], operands[-1]))
        zero = self.constant(FLOAT64, 0.0)
        if name == "sqrt":
            self.decline_unless(self.op("greater_equal", a, zero), abi.RETURNED_NUMBER)
            return Number("float", self.op("sqrt", a))
        if name == "fabs":
            return Number("float", self.op("absolute", a))
        if name in FUNCTIONS:
            which = self.constant(np.dtype(np.int32), abi.SCALAR_OPS.index(name))
            return Number("float", self.computed("python_function", (which, a, b), FLOAT64, abi.RETURNED_NUMBER))
        if name in _RANGES:
            return Number("float", self.op(NAMES[name], a, b))
        if name == "pow" and a.number == 2.0 and operands[1].kind == "int":
            exponent = operands[1]
            if exponent.least >= 0 and exponent.most <= 62:
                shifted = self.op("left_shift", self.constant(INT64, 1), exponent.value)
                return Number("float", self.cast(shifted, FLOAT64))
        if name == "pow":
            return Number("float", self.computed("python_power", (a, b), FLOAT64, abi.RETURNED_NUMBER))
        if name not in ("truediv", "mod", "floordiv"):
            raise NotCompiled(f"{name} of floats")
        self.decline_if(self.op("equal", b, zero), abi.RETURNED_NUMBER)
        if name == "truediv":
            return Number("float", self.op("divide", a, b))
        return Number("float", self.computed("modulo" if name == "mod" else "floor_divide", (a, b), FLOAT64))

    def require_exact(self, number: Number) -> None:
        """Decline where an int is no double exactly."""
        if number.least < -EXACT or number.most > EXACT:
            below = self.op("less", number.value, self.constant(INT64, -EXACT))
            above = self.op("greater", number.value, self.constant(INT64, EXACT))
            self.decline_if(self.op("logical_or", below, above), abi.RETURNED_NUMBER)

    def truncate(self, a: Value) -> Number:
        """int(a); declines for a NaN, and where it does not fit 64 bits."""
        low, high = (self.constant(FLOAT64, end) for end in (-(2.0**63), 2.0**63))
        fits = self.op("logical_and", self.op("greater_equal", a, low), self.op("less", a, high))
        self.decline_unless(fits, abi.RETURNED_NUMBER)
        return Number("int", self.cast(a, INT64))

    def note_overflow(self, over: Value) -> None:
        """Note an overflow of an integer scalar among the floating-point flags, where the condition holds."""
        self.nodes.append(Note(over, 1))

    # NaNs

    def is_nan(self, value: Value) -> Value:
        return self.op("unordered", value, value)

    # Slices

    def slice_axis(self, size: Number, start: Number | None, stop: Number | None, by: int) -> tuple[Number, Number]:
        """Of a slice of an axis of that size the first place, and the number of elements."""
        if not by or abs(by) > 1 << 31:
            raise NotCompiled("a slice with such a step")
        if by > 0:
            first = self.exactly(0) if start is None else self._bound(start, size, 0)
            end = size if stop is None else self._bound(stop, size, 0)
            return first, self._count(first, end, by, size.most)
        behind = self.integer_op("sub", [size, self.exactly(1)])
        first = behind if start is None else self._bound(start, size, -1)
        end = self.exactly(-1) if stop is None else self._bound(stop, size, -1)
        return first, self._count(end, first, -by, size.most)

    def _bound(self, bound: Number, size: Number, least: int) -> Number:
        """A bound counted from the begin, between `least` and as far from the size."""
        if bound.kind != "int":
            raise NotCompiled("a bound of a slice that is no int")
        if bound.least < 0:
            value = self.from_begin(bound, size)
            bound = self.integer_op("max", [Number("int", value, most=max(bound.most, size.most)), self.exactly(least)])
        most = self.integer_op("add", [size, self.exactly(least)]) if least else size
        return self.integer_op("min", [bound, most])

    def from_begin(self, index: Number, size: Number) -> Value:
        """An index that may be counted from the end."""
        if index.least >= 0:
            return index.value
        behind = self.op("add", index.value, size.value)
        if index.most < 0:
            return behind
        return self.where(self.op("less", index.value, self.constant(INT64, 0)), behind, index.value)

    def _count(self, low: Number, high: Number, by: int, most: int) -> Number:
        """How many numbers there are from low up to high, `by` apart."""
        value = self.op("subtract", high.value, low.value)  # of numbers between -1 and a size
        if low.most > high.least:
            value = self.op("maximum", value, self.constant(INT64, 0))
        if by != 1:
            more = self.cast(self.op("add", value, self.constant(INT64, by - 1)), UINT64)
            value = self.cast(self.op("floor_divide", more, self.constant(UINT64, by)), INT64)
        return Number("int", value, 0, min(most, max(0, -(-(high.most - low.least) // by))))


# Operations on Python numbers, by their names in element_ops.py.
NAMES = {op: BINARY[symbol][0] for op, symbol in INFIX.items() if symbol in BINARY}


def _products(a: Number, b: Number) -> tuple[int, int]:
    corners = [x * y for x in (a.least, a.most) for y in (b.least, b.most)]
    return min(corners), max(corners)


_RANGES: dict[str, Callable[[Number, Number], tuple[int, int]]] = {
    "add": lambda a, b: (a.least + b.least, a.most + b.most),
    "sub": lambda a, b: (a.least - b.most, a.most - b.least),
    "mul": _products,
}
