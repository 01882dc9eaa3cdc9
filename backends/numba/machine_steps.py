"""Writes the steps of machine loops that compute: views of elements, kernels on them, operators between NumPy scalars.

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers, or NotScalar.
Kernels take their operations from program/element_ops.py; what has no exact form there is NumPy's own loop on one
element. INVARIANT: loads and stores stand in the order of the steps, so that arrays may share memory.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from dynamo_lite.backends.numba.emit import Values, call_address, emit_element, literal
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.loops import loop_is_elementwise
from dynamo_lite.backends.numba.machine_numbers import (
    COMPARISONS,
    FLOAT64,
    LEAST,
    MOST,
    NotScalar,
    Number,
    NumberWriter,
)
from dynamo_lite.backends.numba.machine_operators import INTEGER_OPERATORS, LOOPS, OPERATORS
from dynamo_lite.backends.numba.machine_slices import constant, slice_axis

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_scalar, kind_of, make
from dynamo_lite.program import ir
from dynamo_lite.program.build import elements
from dynamo_lite.program.element_ops import class_of, emit_cast, exact_cast, nans_differ, results_of
from dynamo_lite.program.nans import meets_nan
from dynamo_lite.program.watch import tests_of
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.emit import assign
from dynamo_lite.schedule.steps import Call, DType, Map, Reg, View

BOOL, INT64 = np.dtype(np.bool_), np.dtype(np.int64)
FULL = (None, None, None)
MOST_LOOPS = 40


@dataclass(frozen=True, slots=True)
class Value:
    """A NumPy scalar, as it lies in memory (a bool is a byte). origin: an i8, the number of the function's input
    that is this very object, 0 for a fresh one; None: it must not leave the function. makers: the names of the fresh
    values and of the phis that it may be."""

    dtype: DType
    name: str
    origin: str | None = "0"
    makers: frozenset[str] = frozenset()


def fresh(dtype: DType, name: str) -> Value:
    """A NumPy scalar that has just been computed or read."""
    return Value(dtype, name, "0", frozenset((name,)))


Axis = tuple[int, int]  # of a value that goes in
WINDOW: Axis = (-1, -1)  # in place of an axis: a slice whose length is tested where it is taken
IN_ORDER = abi.IN_ORDER  # in the place of an axis: the whole array, which has to lie packed in C order


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an array, as a 0-d view. base: as an Array's."""

    dtype: DType
    pointer: str
    base: int | None


@dataclass(frozen=True, slots=True)
class Array:
    """An array: its first element, sizes and strides in bytes. axes: for each axis those that are at least as long.
    base: the value that goes in, or what is made, whose memory it shows; None: a single element's own. held: the object
    that it is, as a NumPy scalar's; None of a view. room: the number of the room that it fills. ordered: its strides do
    not grow from axis to axis where these are IN_ORDER; None where they may. packed: nothing lies in between then."""

    dtype: DType
    pointer: str
    sizes: tuple[Number, ...]
    strides: tuple[str, ...]
    axes: tuple[frozenset[Axis], ...]
    base: int | None
    held: Value | None = None
    room: int | None = None
    ordered: frozenset[Axis] | None = frozenset()
    packed: bool = False


@dataclass(frozen=True, slots=True)
class List:
    """A list that goes in: the pointer to it."""

    name: str


Register = Value | Element | Array | List


@dataclass(slots=True)
class Frame:
    """What a body knows: its registers, of which the first `n_inputs` go in, the numbers that go into it (by input),
    and what was computed of them."""

    registers: dict[int, Register] = field(default_factory=dict)
    numbers: dict[int, Number] = field(default_factory=dict)
    cache: dict[str, Number] = field(default_factory=dict)
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    n_inputs: int = 0


class StepWriter(NumberWriter):
    """words: of the block, before the scratch pointer. loop_words: where those of NumPy's loops begin. entry: the lines
    of the first block."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.scratch_word, self.loop_words, _ = kernel_block(words // abi.PLACE_WORDS, 0)
        self.entry: list[str] = []
        self.stored: set[int | None] = set()  # the bases of arrays that are written
        self.loops: list[tuple[np.ufunc, tuple[DType, ...]]] = []

    def register(self, index: int, frame: Frame) -> Register:
        if index not in frame.registers:
            raise NotScalar("a register that holds no element")
        return frame.registers[index]

    def view(self, step: View, frame: Frame) -> None:
        source = self.register(step.src, frame)
        if not isinstance(source, Array) or step.kind not in ("basic_index", "transpose"):
            raise NotScalar(f"a view: {step.kind}")
        if step.kind == "transpose":
            parts = (source.sizes, source.strides, source.axes)
            sizes, strides, axes = (tuple(part[axis] for axis in step.params) for part in parts)
            ordered = source.ordered if len(sizes) < 2 else None
            frame.registers[step.dst] = Array(
                source.dtype, source.pointer, sizes, strides, axes, source.base, ordered=ordered
            )
            return
        element = self.index(step, source, frame)
        if isinstance(element, Element) and step.scalar:
            frame.registers[step.dst] = fresh(source.dtype, self.load(element))
        else:
            frame.registers[step.dst] = element

    def index(self, step: View, source: Array, frame: Frame) -> Array | Element:
        """What basic indexing gives of an array."""
        lines, pointer, ordered = self.lines, source.pointer, source.ordered
        sizes: list[Number] = []
        strides: list[str] = []
        axes: list[frozenset[Axis]] = []
        entries = [*step.params, *[FULL] * (len(source.sizes) - sum(entry is not None for entry in step.params))]
        given = iter(zip(source.sizes, source.strides, source.axes, strict=True))
        for entry in entries:
            if entry is None:
                sizes.append(constant(1))
                strides.append("0")
                axes.append(frozenset())
                continue
            size, stride, axis = next(given)
            pace = 1
            if not isinstance(entry, tuple):
                first = self.place(entry, size, frame)
            elif entry == FULL:
                first = ""
            else:
                start, stop = (None if bound is None else self.number(bound, frame) for bound in entry[:2])
                by = 1 if entry[2] is None else entry[2]
                if type(by) is not int:
                    raise NotScalar("a slice with a step that is not known")
                place, size = slice_axis(self, size, start, stop, by)
                first, pace = "" if place.most == place.least == 0 else place.name, by
                known = None if None in entry[:2] else make("sub", entry[1], entry[0])
                if type(known) is int and by == 1 and known > 0:
                    size = replace(size, most=min(size.most, known))
                if any(bound is not None and bound.read for bound in (start, stop)):
                    self.lines.decline_if(lines.do(f"icmp ugt i64 {size.name}, {abi.MOST_VECTOR}"), "long")
                    axis = frozenset((WINDOW,))
            if first:
                offset = lines.do(f"mul i64 {first}, {stride}")
                pointer = lines.do(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            if isinstance(entry, tuple):
                sizes.append(size)
                strides.append(stride if pace == 1 else lines.do(f"mul i64 {stride}, {pace}"))
                axes.append(axis)
                ordered = ordered if pace > 0 else None
        if not sizes:
            return Element(source.dtype, pointer, source.base)
        ordered = frozenset() if len(sizes) == 1 else ordered
        packed = source.packed and all(entry in (None, FULL) for entry in entries)
        parts = (tuple(sizes), tuple(strides), tuple(axes))
        return Array(source.dtype, pointer, *parts, source.base, ordered=ordered, packed=packed)

    def place(self, index: Scalar, size: Number, frame: Frame) -> str:
        """An index into an axis of that size, counted from its begin; declines where it is out of range."""
        lines = self.lines
        number = self.number(index, frame)
        key = (number.name, size.name)
        if key not in frame.places:
            at = number.name
            if number.least < 0:
                behind = lines.do(f"add i64 {at}, {size.name}")
                negative = lines.do(f"icmp slt i64 {at}, 0")
                at = behind if number.most < 0 else lines.do(f"select i1 {negative}, i64 {behind}, i64 {at}")
            self.lines.decline_if(lines.do(f"icmp uge i64 {at}, {size.name}"), "index")
            frame.places[key] = at
        return frame.places[key]

    def load(self, element: Element) -> str:
        kind = scalar_type(element.dtype)
        return self.lines.do(f"load {kind}, ptr {element.pointer}, align {element.dtype.alignment}")

    def map(self, step: Map, frame: Frame) -> None:
        """A kernel on single elements."""
        lines, parts = self.lines, elements(step.kernel)
        if step.shape != ():
            raise NotScalar("a map over an array")
        loaded = {
            value: self.operand(operand, value.dtype, frame)
            for value, operand in zip(parts.operands, step.operands, strict=True)
        }
        values = Values(lines, loaded)
        for value, memref in parts.constants:
            values.memory[value] = literal(lines, memref.dtype, memref.number)
        for op in parts.ops:
            if op.ufunc is not None:
                self.numpy_loop(op, op.ufunc, values)
            else:
                emit_element(lines, op, values)
        self.test_nans(parts.ops, values)
        for out, value, into, scalar in zip(step.outs, parts.results, step.into, step.scalar, strict=True):
            name = values.in_memory(value)
            if into:
                target = self.register(out, frame)
                if not isinstance(target, Element) or target.dtype != value.dtype:
                    raise NotScalar("a target that is no element")
                self.stored.add(target.base)
                kind = scalar_type(target.dtype)
                lines.put(f"  store {kind} {name}, ptr {target.pointer}, align {target.dtype.alignment}")
            elif scalar:
                frame.registers[out] = fresh(value.dtype, name)
            else:
                raise NotScalar("a fresh array")

    def operand(self, operand: Any, dtype: DType, frame: Frame) -> str:
        """An operand of a kernel, of that dtype."""
        if isinstance(operand, Reg):
            value = self.register(operand.index, frame)
            if isinstance(value, Array | List) or value.dtype != dtype:
                raise NotScalar("an operand that is no element")
            return self.load(value) if isinstance(value, Element) else value.name
        return self.convert(self.number(operand, frame), dtype)

    def numpy_loop(self, op: ir.Element, ufunc: np.ufunc, values: Values) -> None:
        """NumPy's own inner loop on one element; minimum and maximum of floats only where they are equal or NaN."""
        name, dtype, dtypes = ufunc.__name__, op.results[0].dtype, (*op.in_dtypes, *op.dtypes)
        if name in ("minimum", "maximum", "fmin", "fmax") and class_of(dtype) == "f":
            lines = self.lines
            a, b = (values.in_memory(value) for value in op.operands)
            less = lines.quiet_compare("olt", dtype, [a, b])
            greater = lines.quiet_compare("ogt", dtype, [a, b])
            chosen = lines.select(less if "min" in name else greater, dtype, a, b)
            unclear = lines.do(f"xor i1 {lines.do(f'or i1 {less}, {greater}')}, true")

            def ask() -> str:
                return self.call_loop(ufunc, dtypes, [a, b])[0]

            values.memory[op.results[0]] = self.lines.aside(unclear, ask, scalar_type(dtype), chosen)
            return
        texts = self.call_loop(ufunc, dtypes, [values.in_memory(value) for value in op.operands])
        values.memory |= dict(zip(op.results, texts, strict=True))

    def call_loop(self, ufunc: np.ufunc, dtypes: tuple[DType, ...], operands: list[str]) -> list[str]:
        """Call NumPy's inner loop with these operands; its results."""
        lines, number = self.lines, len(self.loops)
        if number == MOST_LOOPS:
            raise NotScalar("too many operations of NumPy's own")
        self.loops.append((ufunc, dtypes))
        stem = f"%call{number}"
        word = self.loop_words + abi.LOOP_WORDS * number
        self.entry += [
            f"  {stem}.slot = getelementptr i64, ptr %block, i64 {word}",
            *call_address(f"{stem}.invoke", f"{stem}.slot"),
            f"  {stem}.args = alloca [{len(dtypes)} x ptr], align 8",
            f"  {stem}.strides = alloca [{len(dtypes)} x i64], align 8",
        ]
        for place, dtype in enumerate(dtypes):
            self.entry += [
                f"  {stem}.cell{place} = alloca [16 x i8], align 16",
                f"  {stem}.arg{place} = getelementptr ptr, ptr {stem}.args, i64 {place}",
                f"  {stem}.stride{place} = getelementptr i64, ptr {stem}.strides, i64 {place}",
                f"  store i64 {dtype.itemsize}, ptr {stem}.stride{place}, align 8",
            ]
        for place in range(len(dtypes)):  # every time: a loop may move its pointers
            lines.put(f"  store ptr {stem}.cell{place}, ptr {stem}.arg{place}, align 8")
        for place, (operand, dtype) in enumerate(zip(operands, dtypes, strict=False)):
            lines.put(f"  store {scalar_type(dtype)} {operand}, ptr {stem}.cell{place}, align {dtype.alignment}")
        arguments = f"ptr {stem}.slot, ptr {stem}.args, i64 1, ptr {stem}.strides"
        status = lines.do(f"call i32 {stem}.invoke({arguments}) #0")
        self.lines.decline_if(lines.do(f"icmp ne i32 {status}, 0"), "failed")
        return [
            lines.do(f"load {scalar_type(dtype)}, ptr {stem}.cell{place}, align {dtype.alignment}")
            for place, dtype in enumerate(dtypes[len(operands) :], len(operands))
        ]

    def test_nans(self, ops: Sequence[ir.Element], values: Values) -> None:
        """Decline where two NaNs with other bits have met of which NumPy keeps the one or the other."""
        lines = self.lines
        tests, _ = tests_of(ops, set())
        any_nan = lines.either([lines.is_nan(value.dtype, values.memory[value]) for value in tests])
        if any_nan is None:
            return

        def judge() -> None:
            masks = []
            for op in filter(meets_nan, ops):
                sides = [values.memory[value] for value in op.operands]
                masks.append(nans_differ(lines, op.operands[0].dtype, sides))
            met = lines.either(masks)
            assert met is not None
            self.lines.decline_if(met, "nan")

        self.lines.aside(any_nan, judge)

    def call(self, step: Call, frame: Frame) -> None:
        """An operator between NumPy scalars that no kernel has, for it may warn or a number may not fit its dtype; or a
        store of one that may not fit."""
        if step.function is assign:
            self.assign(step, frame)
            return
        is_operator = not isinstance(step.function, Evaluation)
        if not is_operator or len(step.types) != 1 or not step.types[0].scalar or step.kwargs or len(step.args) > 2:
            raise NotScalar(f"a call of {step.function}")
        dtype = step.types[0].dtype
        compared = dtype.kind == "b" and step.function in OPERATORS
        common = self.common(step.args, frame) if compared else dtype
        if common.kind in "iu" and dtype == common and step.function in INTEGER_OPERATORS:
            operands = [self.converted(arg, dtype, frame) for arg in step.args]
            result = INTEGER_OPERATORS[step.function](self, dtype, *operands)
        elif common.kind in "iuf" and class_of(common) != "x":
            result = self.computed(step, common, dtype, [self.converted(arg, common, frame) for arg in step.args])
        else:
            raise NotScalar(f"a call of {step.function} for {dtype}")
        frame.registers[step.dsts[0]] = fresh(dtype, result)

    def computed(self, step: Call, common: DType, dtype: DType, operands: list[str]) -> str:
        """The result of an operator on operands of dtype `common`: by an exact operation, C's pow, or NumPy's loop."""
        lines = self.lines
        if step.function is operator.pow and common.kind == "f":
            kind = scalar_type(common)
            name = "power" if kind == "double" else "power_float"
            return self.helper(name, kind, ", ".join(f"{kind} {operand}" for operand in operands))
        ufunc = LOOPS.get(step.function)
        if ufunc is not None and common.kind == "f":
            if not loop_is_elementwise(ufunc, (common, common, dtype), (False, False)):
                raise NotScalar(f"a call of {step.function}")
            return self.call_loop(ufunc, (common, common, dtype), operands)[0]
        sides = tuple(ir.Value(f"v{place}", common) for place in range(len(operands)))
        name, in_dtypes = OPERATORS.get(step.function, ""), (common,) * len(operands)
        noted = results_of(f"{name}_or_overflow", in_dtypes)
        results = noted or results_of(name, in_dtypes)
        if results is None or results[0] != dtype or (common.kind == "u" and name == "negative"):
            raise NotScalar(f"a call of {step.function} for {common}")
        names = [ir.Value(f"r{place}", of) for place, of in enumerate(results)]
        op = ir.Element(f"{name}_or_overflow" if noted else name, sides, tuple(names))
        values = Values(lines, dict(zip(sides, operands, strict=True)))
        emit_element(lines, op, values)
        if noted:
            self.note_overflow(values.operand(names[1]))
        self.test_nans((op,), values)
        return values.in_memory(names[0])

    def common(self, args: tuple[Any, ...], frame: Frame) -> DType:
        """The dtype that NumPy compares two operands in, where that is one of theirs."""
        dtypes = {self.scalar(arg, frame).dtype for arg in args if isinstance(arg, Reg)}
        found: DType = np.result_type(*dtypes)
        if found not in dtypes or len({dtype.kind == "f" for dtype in dtypes}) != 1:
            raise NotScalar("a comparison of unlike operands")
        return found

    def scalar(self, arg: Reg, frame: Frame) -> Value:
        value = self.register(arg.index, frame)
        if not isinstance(value, Value):
            raise NotScalar("an operand that is no NumPy scalar")
        return value

    def assign(self, step: Call, frame: Frame) -> None:
        """Store a number in an array of integers, by way of a Python int; declines where that does not fit."""
        lines, (goal, given) = self.lines, step.args
        target = self.register(goal.index, frame) if isinstance(goal, Reg) else None
        if not isinstance(target, Element) or target.dtype.kind not in "iu" or step.kwargs:
            raise NotScalar("a store of what is no number")
        if isinstance(given, Reg):
            value = self.scalar(given, frame)
        elif is_scalar(given) and kind_of(given) == "float":
            value = fresh(FLOAT64, self.number(given, frame).name)
        else:
            raise NotScalar("a store of what is no number")
        source, bits = value.dtype, 8 * target.dtype.itemsize
        least, most = (0, (1 << bits) - 1) if target.dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if class_of(source) == "f":
            wide = emit_cast(lines, source, FLOAT64, value.name)
            exact = float(least - 1) != float(least)  # what lies between is cut to the least
            bound = lines.splat_constant(FLOAT64, float(least - exact))
            above = lines.quiet_compare("ogt" if exact else "oge", FLOAT64, [wide, bound])
            below = lines.quiet_compare("olt", FLOAT64, [wide, lines.splat_constant(FLOAT64, float(most + 1))])
            outside = lines.do(f"xor i1 {lines.do(f'and i1 {above}, {below}')}, true")
            lines.decline_if(outside, "convert")
            through = target.dtype if bits == 64 else INT64
            stored = emit_cast(lines, FLOAT64, through, wide)
            stored = emit_cast(lines, through, target.dtype, stored)
        elif source.kind in "iu":
            kind = scalar_type(source)
            stored = emit_cast(lines, source, target.dtype, value.name)
            back = emit_cast(lines, target.dtype, source, stored)
            changed = lines.do(f"icmp ne {kind} {back}, {value.name}")
            if source.kind != target.dtype.kind:  # the sign, where one of them has none
                signed, of = (value.name, kind) if source.kind == "i" else (stored, scalar_type(target.dtype))
                changed = lines.do(f"or i1 {changed}, {lines.do(f'icmp slt {of} {signed}, 0')}")
            lines.decline_if(changed, "convert")
        else:
            raise NotScalar(f"a store of {source} among integers")
        self.stored.add(target.base)
        lines.put(f"  store {scalar_type(target.dtype)} {stored}, ptr {target.pointer}, align {target.dtype.alignment}")

    def converted(self, arg: Any, dtype: DType, frame: Frame) -> str:
        """An operand of an operator that computes in that dtype."""
        if not isinstance(arg, Reg):
            if not is_scalar(arg) or kind_of(arg) not in ("int", "float"):
                raise NotScalar("an operand that is no int or float")
            return self.convert(self.number(arg, frame), dtype)
        value = self.scalar(arg, frame)
        source = value.dtype
        if not exact_cast(source, dtype) or not (np.can_cast(source, dtype) or dtype.kind == "f"):
            raise NotScalar(f"{source} as {dtype}")
        name = self.lines.do(f"icmp ne i8 {value.name}, 0") if source.kind == "b" else value.name
        return emit_cast(self.lines, source, dtype, name)

    def number(self, value: Any, frame: Frame) -> Number:
        """A Python number: exact in 64 bits, or the call declines."""
        if isinstance(value, Symbol):
            if value.axis is None:
                if value.input not in frame.numbers:
                    raise NotScalar("a number that is not known")
                return frame.numbers[value.input]
            array = self.register(value.input, frame)
            if not isinstance(array, Array):
                raise NotScalar("a size of what is no array")
            return array.sizes[value.axis]
        if isinstance(value, ScalarOp):
            key = repr(value)
            if key not in frame.cache:
                frame.cache[key] = self.scalar_op(value, frame)
            return frame.cache[key]
        if type(value) is bool:
            return Number("bool", "true" if value else "false")
        if type(value) is int and LEAST <= value <= MOST:
            return Number("int", str(value), value, value)
        if type(value) is float:
            return Number("float", self.lines.splat_constant(FLOAT64, value))
        raise NotScalar(f"the number {value!r}")

    def scalar_op(self, value: ScalarOp, frame: Frame) -> Number:
        operands = [self.number(operand, frame) for operand in value.operands]
        kinds = {operand.kind for operand in operands}
        if value.op in COMPARISONS:
            return self.compare(value.op, *operands)
        if value.op in ("and", "or", "not"):
            if kinds != {"bool"}:
                raise NotScalar("logic of what is no bool")
            if value.op == "not":
                return Number("bool", self.lines.do(f"xor i1 {operands[0].name}, true"))
            return Number("bool", self.lines.do(f"{value.op} i1 {operands[0].name}, {operands[1].name}"))
        if "bool" in kinds:
            raise NotScalar("arithmetic of a bool")
        if kinds == {"int"} and value.op != "truediv":
            return self.integer_op(value.op, operands)
        return self.float_op(value.op, operands)
