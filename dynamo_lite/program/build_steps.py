"""Makes the nodes of steps on single elements: views, kernels on them, operators between NumPy scalars.

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers, or NotCompiled. Kernels take
their operations from element_ops.py; what has no exact form there is NumPy's own loop on one element. INVARIANT: loads
and stores stand in the order of the steps, so that arrays may share memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.scalar import (
    COMPARISONS,
    FUNCTIONS,
    Scalar,
    ScalarOp,
    Symbol,
    is_scalar,
    kind_of,
    make,
    terms_of,
)
from dynamo_lite.ops.operators import BINARY, UNARY
from dynamo_lite.program.build import divided, elements
from dynamo_lite.program.build_complex import MOST_POWER, OF_ELEMENTS, PARTS, ComplexBuilder, Power, is_same_alone
from dynamo_lite.program.build_numbers import (
    FLOAT32,
    FLOAT64,
    INT64,
    LEAST,
    MOST,
    NotCompiled,
    Number,
    NumberBuilder,
    limits,
)
from dynamo_lite.program.element_ops import class_of, exact_cast, part_dtype, results_of
from dynamo_lite.program.ir import ANY, Alloc, DType, Element, Load, Memref, Node, Store, Value, View, Within
from dynamo_lite.program.nans import meets_nan, strict_test
from dynamo_lite.program.watch import tests_of
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.emit import assign
from dynamo_lite.schedule.steps import Call, Map, Reg
from dynamo_lite.schedule.steps import View as ViewStep

FULL = (None, None, None)
MOST_LOOPS = 100
Elementwise: TypeAlias = Callable[[np.ufunc, tuple[DType, ...], tuple[bool, ...]], bool]  # Target.loop


@dataclass(frozen=True, slots=True)
class NumpyScalar:
    """A NumPy scalar. origin: an int64, the number of the routine's input that is this very object, or of the object
    that an append has made of it, 0 for a fresh one; None: it must not leave the routine. makers: the fresh values and
    the phis that it may be."""

    value: Value
    origin: Value | None
    makers: frozenset[Value | Memref] = frozenset()


Axis: TypeAlias = tuple[int, int]  # of a value that goes in
WINDOW: Axis = (-1, -1)  # in place of an axis: a slice whose length is tested where it is taken
TESTED = -2  # in the place of a value, and downwards: an array whose number of elements is tested where it is made
IN_ORDER = abi.IN_ORDER  # in the place of an axis: the whole array, which has to lie packed in C order


@dataclass(frozen=True, slots=True)
class Point:
    """One element of an array, as a 0-d view. base: as an Array's."""

    memref: Memref
    base: int | None


@dataclass(frozen=True, slots=True)
class Held:
    """An array as an object, as NumpyScalar has it. value: the memory that it was made in."""

    value: Memref
    origin: Value
    makers: frozenset[Value | Memref]


@dataclass(frozen=True, slots=True)
class Array:
    """An array: its first element, sizes and strides in bytes. axes: for each axis those that are at least as long.
    base: the value that goes in, or what is made, whose memory it shows; None: a single element's own. held: the object
    that it is; None of a view. room: the number of the room that it fills. ordered: its strides do not grow from axis
    to axis where these are IN_ORDER; None where they may. packed: nothing lies in between then. part: of a view which
    array it is of, and the slices; parts that differ by the places along axes without a slice are one or apart."""

    first: Memref
    sizes: tuple[Number, ...]
    strides: tuple[Value, ...]
    axes: tuple[frozenset[Axis], ...]
    base: int | None
    held: Held | None = None
    room: int | None = None
    ordered: frozenset[Axis] | None = frozenset()
    packed: bool = False
    part: tuple[Any, ...] | None = None

    @property
    def dtype(self) -> DType:
        return self.first.dtype


@dataclass(frozen=True, slots=True)
class List:
    """A list, or another object that goes in or is taken of a list. noted: one that the program has made, or that goes
    in, of which the journal knows how long it was: what is appended needs no note."""

    value: Value
    noted: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """What stands in a list at an index: nobody wants more than the number that it is."""

    of: Value
    index: Value


@dataclass(frozen=True, slots=True)
class Random:
    """A random generator that goes in."""

    value: Value


Register: TypeAlias = NumpyScalar | Point | Array | List | Item | Random


@dataclass(slots=True)
class Frame:
    """What a body knows: its registers, of which the first `n_inputs` go in, the numbers that go into it (by input),
    and what was computed of them. read_only: registers with items of lists that are read as numbers; held: those with
    items that their list has as long as they are used. places: indices that were tested, by index and size. told:
    inputs that an append has made objects of, or of what they may be. mark: the first room of the body's own; lent:
    others, of which nobody needs what is there behind the body; later: registers that the steps behind the one at hand
    use; brief: those with raveled arrays that nobody needs any more once something is written."""

    registers: dict[int, Register] = field(default_factory=dict)
    numbers: dict[int, Number] = field(default_factory=dict)
    cache: dict[ScalarOp, Number] = field(default_factory=dict)
    places: dict[tuple[Value, Value], Value] = field(default_factory=dict)
    n_inputs: int = 0
    told: list[int] = field(default_factory=list)
    read_only: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()
    mark: int = 0
    lent: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()
    brief: frozenset[int] = frozenset()


class StepBuilder(ComplexBuilder):
    """elementwise: whether NumPy's loop for a function may be called on one element. n_loops: how many are."""

    def __init__(self, elementwise: Elementwise) -> None:
        super().__init__()
        self.elementwise = elementwise
        self.stored: set[int | None] = set()  # the bases of arrays that are written
        self.first: list[Node] = []  # what stands before all else: the cells of constants
        self.cells: dict[Value, Memref] = {}
        self.n_loops = 0

    def fresh(self, value: Value) -> NumpyScalar:
        """A NumPy scalar that has just been computed or read."""
        return NumpyScalar(value, self.origin(0), frozenset((value,)))

    def origin(self, number: int) -> Value:
        return self.constant(INT64, number)

    def register(self, index: int, frame: Frame) -> Register:
        if index not in frame.registers:
            raise NotCompiled("a register that holds no element")
        return frame.registers[index]

    def stride(self, number: int) -> Value:
        return self.constant(INT64, number)

    # Memory

    def shown(
        self, source: Memref, sizes: Sequence[Number], strides: Sequence[Value], index: Sequence[Value] = ()
    ) -> Memref:
        """The part of `source` that begins at `index`, with axes of these sizes and strides."""
        extents = tuple(size.value for size in sizes)
        same = not index and source.extents == extents and source.strides == tuple(strides)
        if same:
            return source
        axes = (ANY,) * len(extents)
        result = Memref(self.name("m"), source.dtype, axes, extents, "view", strides=tuple(strides))
        self.nodes.append(View(result, source, tuple(index)))
        return result

    def memref(self, array: Array) -> Memref:
        """The elements of an array."""
        return self.shown(array.first, array.sizes, array.strides)

    def begin(self, array: Array) -> Memref:
        """The first element of an array."""
        return self.shown(array.first, (), ())

    def cell(self, value: Value) -> Memref:
        """A place of its own for one element."""
        if value in self.cells:
            return self.cells[value]
        memref = Memref(self.name("c"), value.dtype, (), (), "cell")
        known = value.number is not None
        (self.first if known else self.nodes).extend((Alloc(memref), Store(memref, (), value)))
        if known:
            self.cells[value] = memref
        return memref

    def view(self, step: ViewStep, frame: Frame) -> None:
        source = self.register(step.src, frame)
        if isinstance(source, Point) and step.kind == "basic_index" and step.params == ():
            frame.registers[step.dst] = self.fresh(self.load(source.memref)) if step.scalar else source
            return
        if not isinstance(source, Array) or step.kind not in ("basic_index", "transpose"):
            raise NotCompiled(f"a view: {step.kind}")
        if step.kind == "transpose":
            sizes, strides, axes = (
                tuple(part[axis] for axis in step.params) for part in (source.sizes, source.strides, source.axes)
            )
            ordered = source.ordered if len(sizes) < 2 else None
            frame.registers[step.dst] = Array(source.first, sizes, strides, axes, source.base, ordered=ordered)
            return
        part = self.index(step, source, frame)
        if isinstance(part, Point) and step.scalar:
            frame.registers[step.dst] = self.fresh(self.load(part.memref))
        else:
            frame.registers[step.dst] = part

    def index(self, step: ViewStep, source: Array, frame: Frame) -> Array | Point:
        """What basic indexing gives of an array."""
        ordered, nowhere = source.ordered, self.constant(INT64, 0)
        begin: list[Value] = []
        sizes: list[Number] = []
        strides: list[Value] = []
        axes: list[frozenset[Axis]] = []
        entries = [*step.params, *[FULL] * (len(source.sizes) - sum(entry is not None for entry in step.params))]
        given = iter(zip(source.sizes, source.strides, source.axes, strict=True))
        for entry in entries:
            if entry is None:
                sizes.append(self.exactly(1))
                strides.append(self.stride(0))
                axes.append(frozenset())
                continue
            size, stride, axis = next(given)
            if not isinstance(entry, tuple):
                begin.append(self.place(entry, size, frame))
                continue
            if entry == FULL:
                begin.append(nowhere)
            else:
                place, size, window = self.window(entry, size, frame)
                begin.append(place)
                axis = frozenset((WINDOW,)) if window else axis
            pace = 1 if entry[2] is None else entry[2]
            sizes.append(size)
            strides.append(stride if pace == 1 else self.op("multiply", stride, self.constant(INT64, pace)))
            axes.append(axis)
            ordered = ordered if pace > 0 else None
        while begin and begin[-1] is nowhere and sizes:
            begin.pop()
        array = self.memref(source) if begin else source.first
        first = self.shown(array, sizes, strides, begin) if begin or not sizes else array
        if not sizes:
            return Point(first, source.base)
        ordered = frozenset() if len(sizes) == 1 else ordered
        packed = source.packed and all(entry in (None, FULL) for entry in entries)
        slices = tuple([entry if entry is None or isinstance(entry, tuple) else "place" for entry in entries])
        are_known = all(isinstance(bound, int | None) for one in slices if isinstance(one, tuple) for bound in one)
        part = (source.first, slices) if are_known else None
        return Array(first, tuple(sizes), tuple(strides), tuple(axes), source.base, None, None, ordered, packed, part)

    def window(self, entry: tuple[Any, ...], size: Number, frame: Frame) -> tuple[Value, Number, bool]:
        """Of a slice where it begins, its length, and whether that was found short only now."""
        start, stop = (None if bound is None else self.number(bound, frame) for bound in entry[:2])
        by = 1 if entry[2] is None else entry[2]
        if type(by) is not int:
            raise NotCompiled("a slice with a step that is not known")
        place, length = self.slice_axis(size, start, stop, by)
        known = None if None in entry[:2] else make("sub", entry[1], entry[0])
        if type(known) is int and by == 1 and known > 0:
            length = replace(length, most=min(length.most, known))
        window = any(bound is not None and bound.read for bound in (start, stop))
        if window:
            self.decline_if(self.op("greater", length.value, self.constant(INT64, abi.MOST_VECTOR)), abi.RETURNED_LONG)
        return place.value, length, window

    def place(self, index: Scalar, size: Number, frame: Frame) -> Value:
        """An index into an axis of that size, counted from its begin; declines where it is out of range."""
        return self.place_of(self.number(index, frame), size, frame)

    def place_of(self, number: Number, size: Number, frame: Frame) -> Value:
        """The same of a number."""
        key = (number.value, size.value)
        if key not in frame.places:
            at, other = number.value, None
            if number.most < 0:
                at = self.from_begin(number, size)
            elif number.least < 0:
                other = self.new(INT64)
            self.nodes.append(Within(at, size.value, False, other))
            at = at if other is None else other
            frame.places[key] = at
        return frame.places[key]

    def load(self, memref: Memref) -> Value:
        value = self.new(memref.dtype)
        self.nodes.append(Load(value, memref, ()))
        return value

    # Kernels on single elements

    def map(self, step: Map, frame: Frame) -> None:
        """A kernel on single elements."""
        parts = elements(step.kernel, divided)
        if step.shape != ():
            raise NotCompiled("a map over an array")
        values = {
            value: self.operand(operand, value.dtype, frame)
            for value, operand in zip(parts.operands, step.operands, strict=True)
        }
        values |= {value: self.constant(memref.dtype, memref.number) for value, memref in parts.constants}
        ops: list[Element] = []
        for given in parts.ops:
            operands = tuple(values[value] for value in given.operands)
            results = tuple(self.new(value.dtype) for value in given.results)
            op = Element(given.op, operands, results, given.ufunc, given.forward)
            if op.ufunc is None and op.op != "copy" and any(value.dtype.kind == "c" for value in (*operands, *results)):
                values[given.results[0]] = self.complex_element(op, ops)
                continue
            ops.append(op)
            if op.ufunc is None:
                self.nodes.append(op)
            else:
                results = self.numpy_loop(op, op.ufunc)
            values |= zip(given.results, results, strict=True)
        self.test_nans(ops)
        for out, result, into, scalar in zip(step.outs, parts.results, step.into, step.scalar, strict=True):
            value = values[result]
            if into:
                target = self.register(out, frame)
                if not isinstance(target, Point) or target.memref.dtype != value.dtype:
                    raise NotCompiled("a target that is no element")
                self.stored.add(target.base)
                self.nodes.append(Store(target.memref, (), value))
            elif scalar:
                frame.registers[out] = self.fresh(value)
            else:
                raise NotCompiled("a fresh array")

    def complex_element(self, op: Element, ops: list[Element]) -> Value:
        """An operation on complex elements, or that makes one; what it is made of are `ops`, too."""
        dtype = next(value.dtype for value in (*op.results, *op.operands) if value.dtype.kind == "c")
        form = OF_ELEMENTS.get(op.op)
        if form is None or (op.op == "cast" and op.results[0].dtype.kind != "c"):
            raise NotCompiled(f"{op.op} of complex elements")
        before = len(self.nodes)
        result = self.formed(form, dtype, op.operands)
        ops += [node for node in self.nodes[before:] if isinstance(node, Element)]
        return result

    def operand(self, operand: Any, dtype: DType, frame: Frame) -> Value:
        """An operand of a kernel, of that dtype."""
        if not isinstance(operand, Reg):
            return self.convert(self.number(operand, frame), dtype)
        held = self.register(operand.index, frame)
        if isinstance(held, Point) and held.memref.dtype == dtype:
            return self.load(held.memref)
        if isinstance(held, NumpyScalar) and held.value.dtype == dtype:
            return held.value
        raise NotCompiled("an operand that is no element")

    def numpy_loop(self, op: Element, ufunc: np.ufunc) -> tuple[Value, ...]:
        """NumPy's own inner loop on one element; minimum and maximum of floats only where they are equal or NaN."""
        name, dtype = ufunc.__name__, op.results[0].dtype
        if name not in ("minimum", "maximum", "fmin", "fmax") or class_of(dtype) != "f":
            self.call_loop(op)
            return op.results
        a, b = op.operands
        less, greater = self.op("less", a, b), self.op("greater", a, b)
        chosen = self.op("less_of" if "min" in name else "greater_of", a, b)
        clear = self.op("logical_or", less, greater)

        def ask() -> Value:
            self.call_loop(op)
            return op.results[0]

        return (self.aside(self.op("logical_not", clear), ask, chosen),)

    def call_loop(self, op: Element) -> None:
        """Call NumPy's inner loop."""
        self.count_loops(1)
        self.nodes.append(op)

    def count_loops(self, more: int) -> None:
        self.n_loops += more
        if self.n_loops > MOST_LOOPS:
            raise NotCompiled("too many operations of NumPy's own")

    def test_nans(self, ops: Sequence[Element]) -> None:
        """Decline where two NaNs with other bits have met of which NumPy keeps the one or the other."""
        tests, _ = tests_of(ops, set())
        if not tests:
            return

        def judge() -> None:
            tests = [strict_test(op) for op in filter(meets_nan, ops)]
            met = [self.op(test, *operands) for test, operands in tests]
            self.decline_if(self.any_of(met), abi.RETURNED_NAN)

        self.aside(self.any_of([self.is_nan(value) for value in tests]), judge)

    # Operators between NumPy scalars

    def call(self, step: Call, frame: Frame) -> None:
        """An operator between NumPy scalars that no kernel has, for it may warn or a number may not fit its dtype; or a
        store of one that may not fit."""
        if step.function is assign:
            self.assign(step, frame)
            return
        if isinstance(step.function, Evaluation) and step.function.op.name == "scalar_cast":
            frame.registers[step.dsts[0]] = self.fresh(self.cast_scalar(step, frame))
            return
        if isinstance(step.function, Evaluation) and step.function.op.name == "complex_number":
            parts = (self.as_float(self.number(arg, frame)) for arg in step.args)
            frame.registers[step.dsts[0]] = self.fresh(self.complex_of(*parts))
            return
        is_ufunc, is_other = isinstance(step.function, np.ufunc), isinstance(step.function, Evaluation)
        if is_other or len(step.types) != 1 or not step.types[0].scalar or step.kwargs:
            raise NotCompiled(f"a call of {step.function}")
        if len(step.args) > 2 and not is_ufunc:
            raise NotCompiled(f"a call of {step.function}")
        dtype = step.types[0].dtype
        compared = dtype.kind == "b" and step.function in OPERATORS
        common = self.common(step.args, frame) if compared else dtype
        if common.kind == "c" or step.function in OF_ONE_COMPLEX:
            made = self.of_complex(step, common, frame)
            if made is not None:
                frame.registers[step.dsts[0]] = self.fresh(made)
                return
        if common.kind not in "iuf" or class_of(common) == "x":
            raise NotCompiled(f"a call of {step.function} for {dtype}")
        given = [self.scalar(arg, frame).value.dtype for arg in step.args if isinstance(arg, Reg)]
        if step.function is operator.pow and common not in given:  # NumPy converts, and takes that of arrays
            raise NotCompiled(f"a power for {common} of {given}")
        operands = [self.converted(arg, common, frame) for arg in step.args]
        if common.kind in "iu" and dtype == common and step.function in INTEGER_OPERATORS:
            result = INTEGER_OPERATORS[step.function](self, *operands)
        else:
            result = self.operator(step, common, dtype, operands)
        frame.registers[step.dsts[0]] = self.fresh(result)

    def of_complex(self, step: Call, common: DType, frame: Frame) -> Value | None:
        """An operator on complex scalars; None where it has no such operand, or no known form."""
        function, args = step.function, step.args
        if function is operator.pow and type(args[1]) is int and 2 <= args[1] <= MOST_POWER:
            function, args = Power(args[1]), args[:1]
        operands = [self.complex_operand(arg, frame) for arg in args]
        if step.function in OF_ONE_COMPLEX and operands[0].dtype.kind != "c":
            return None
        if step.function is abs:
            (operand,), hypot = operands, np.hypot
            if not self.elementwise(hypot, (common,) * 3, (False, False)):
                return None
            result = self.new(common)
            self.call_loop(Element("loop", self.complex_parts(operand, operand.dtype), (result,), hypot))
            return result
        if step.function is np.absolute:
            (operand,) = operands  # NB: `abs` of it may be another number
            as_packed = self.elementwise(np.absolute, (operand.dtype, common), (False,))
            if not as_packed or not is_same_alone(np.absolute, operand.dtype):
                return None
            result = self.new(common)
            self.call_loop(Element("loop", (operand,), (result,), np.absolute))
            return result
        given = [operand.dtype for operand in operands]
        if any(dtype.kind not in "fc" or not np.can_cast(part_dtype(dtype), part_dtype(common)) for dtype in given):
            return None
        before = len(self.nodes)
        made = self.complex_operator(function, common, operands)
        if made is not None:
            self.test_nans([node for node in self.nodes[before:] if isinstance(node, Element)])
        return made

    def complex_operand(self, arg: Any, frame: Frame) -> Value:
        if isinstance(arg, Reg):
            return self.scalar(arg, frame).value
        return self.constant(np.dtype(complex), arg) if type(arg) is complex else self.converted(arg, FLOAT64, frame)

    def operator(self, step: Call, common: DType, dtype: DType, operands: list[Value]) -> Value:
        """The result of an operator on operands of dtype `common`: by an exact operation, C's pow, or NumPy's loop."""
        if step.function is operator.pow and common.kind == "f":
            return self.computed("power_float" if common == FLOAT32 else "power", operands, common)
        ufunc = step.function if isinstance(step.function, np.ufunc) else LOOPS.get(step.function)
        if ufunc is not None and common.kind == "f":
            is_of_numbers = ufunc is step.function  # else NumPy's scalars compute as it does with elements of arrays
            of, places = (*(common for _ in operands), dtype), (is_of_numbers,) * len(operands)
            if ufunc.nin != len(operands) or not self.elementwise(ufunc, of, places):
                raise NotCompiled(f"a call of {step.function}")
            result = self.new(dtype)
            self.call_loop(Element("loop", tuple(operands), (result,), ufunc))
            return result
        name, in_dtypes = OPERATORS.get(step.function, ""), (common,) * len(operands)
        noted = results_of(f"{name}_or_overflow", in_dtypes)
        dtypes = noted or results_of(name, in_dtypes)
        if dtypes is None or dtypes[0] != dtype or (common.kind == "u" and name == "negative"):
            raise NotCompiled(f"a call of {step.function} for {common}")
        results = tuple(self.new(of) for of in dtypes)
        op = Element(f"{name}_or_overflow" if noted else name, tuple(operands), results)
        self.nodes.append(op)
        if noted:
            self.note_overflow(results[1])
        self.test_nans((op,))
        return results[0]

    def cast_scalar(self, step: Call, frame: Frame) -> Value:
        """A NumPy scalar or number as a NumPy scalar of a type; declines where NumPy would say something."""
        given, dtype = step.args[0], step.types[0].dtype
        if dtype.kind not in "biuf" or class_of(dtype) == "x":
            raise NotCompiled(f"a call of scalar_cast to {dtype}")
        if not isinstance(given, Reg):
            return self.convert(self.number(given, frame), dtype)
        value = self.scalar(given, frame).value
        if class_of(value.dtype) == "f" and dtype.kind in "iu":
            return self.float_as(value, dtype)
        if class_of(value.dtype) != "f" and value.dtype.kind not in "biu":
            raise NotCompiled(f"a call of scalar_cast of {value.dtype}")
        if class_of(value.dtype) == "f" and dtype.itemsize < value.dtype.itemsize:
            return self.convert(Number("float", self.cast(value, FLOAT64)), dtype)
        return self.cast(value, dtype)

    def common(self, args: tuple[Any, ...], frame: Frame) -> DType:
        """The dtype that NumPy compares two operands in, where that is one of theirs."""
        dtypes = {self.scalar(arg, frame).value.dtype for arg in args if isinstance(arg, Reg)}
        found: DType = np.result_type(*dtypes)
        if found not in dtypes or len({dtype.kind == "f" for dtype in dtypes}) != 1:
            raise NotCompiled("a comparison of unlike operands")
        return found

    def scalar(self, arg: Reg, frame: Frame) -> NumpyScalar:
        value = self.register(arg.index, frame)
        if not isinstance(value, NumpyScalar):
            raise NotCompiled("an operand that is no NumPy scalar")
        return value

    def assign(self, step: Call, frame: Frame) -> None:
        """Store a number in an array of integers, by way of a Python int, which declines where that does not fit; or of
        bools, by its truth."""
        goal, given = step.args
        target = self.register(goal.index, frame) if isinstance(goal, Reg) else None
        if not isinstance(target, Point) or target.memref.dtype.kind not in "biu" or step.kwargs:
            raise NotCompiled("a store of what is no number")
        to_bool = target.memref.dtype.kind == "b"
        if isinstance(given, Reg):
            value = self.scalar(given, frame).value
        elif is_scalar(given) and (kind_of(given) == "float" or (to_bool and kind_of(given) in ("int", "bool"))):
            value = self.number(given, frame).value
        else:
            raise NotCompiled("a store of what is no number")
        source, dtype = value.dtype, target.memref.dtype
        if to_bool and (class_of(source) == "f" or source.kind in "biu"):
            stored = self.cast(value, dtype)
        elif class_of(source) == "f":
            stored = self.float_as(value, dtype)
        elif source.kind in "iu":
            stored = self.cast(value, dtype)
            changed = self.op("not_equal", self.cast(stored, source), value)
            if source.kind != dtype.kind:  # the sign, where one of them has none
                signed = value if source.kind == "i" else stored
                negative = self.op("less", signed, self.constant(signed.dtype, 0))
                changed = self.op("logical_or", changed, negative)
            self.decline_if(changed, abi.RETURNED_CONVERT)
        else:
            raise NotCompiled(f"a store of {source} among integers")
        self.stored.add(target.base)
        self.nodes.append(Store(target.memref, (), stored))

    def float_as(self, value: Value, dtype: DType) -> Value:
        """A float cut to an integer; declines where that does not fit."""
        wide, (least, most) = self.cast(value, FLOAT64), limits(dtype)
        exact = float(least - 1) != float(least)  # what lies between is cut to the least
        above = self.op("greater" if exact else "greater_equal", wide, self.constant(FLOAT64, float(least - exact)))
        below = self.op("less", wide, self.constant(FLOAT64, float(most + 1)))
        self.decline_unless(self.op("logical_and", above, below), abi.RETURNED_CONVERT)
        return self.cast(self.cast(wide, dtype if dtype.itemsize == 8 else INT64), dtype)

    def converted(self, arg: Any, dtype: DType, frame: Frame) -> Value:
        """An operand of an operator that computes in that dtype."""
        if not isinstance(arg, Reg):
            if not is_scalar(arg) or kind_of(arg) not in ("int", "float"):
                raise NotCompiled("an operand that is no int or float")
            return self.convert(self.number(arg, frame), dtype)
        value = self.scalar(arg, frame).value
        if not exact_cast(value.dtype, dtype) or not (np.can_cast(value.dtype, dtype) or dtype.kind == "f"):
            raise NotCompiled(f"{value.dtype} as {dtype}")
        return self.cast(value, dtype)

    # Python numbers

    def number(self, value: Any, frame: Frame) -> Number:
        """A Python number: exact in 64 bits, or the call declines."""
        if isinstance(value, Symbol):
            if value.axis is None:
                if value.input not in frame.numbers:
                    raise NotCompiled("a number that is not known")
                return frame.numbers[value.input]
            array = self.register(value.input, frame)
            if not isinstance(array, Array):
                raise NotCompiled("a size of what is no array")
            return array.sizes[value.axis]
        if isinstance(value, ScalarOp):
            if value not in frame.cache:
                frame.cache[value] = self.whole_number(value, frame)
            return frame.cache[value]
        if type(value) is bool:
            return Number("bool", self.constant(np.dtype(np.bool_), value))
        if type(value) is int and LEAST <= value <= MOST:
            return self.exactly(value)
        if type(value) is float:
            return Number("float", self.constant(FLOAT64, value))
        raise NotCompiled(f"the number {value!r}")

    def whole_number(self, value: ScalarOp, frame: Frame) -> Number:
        """A number that is no part of another one; declines where two NaNs with other bits have met in it: C compilers
        may swap the operands of a sum or product."""
        before = len(self.nodes)
        for term in terms_of(value):
            if term not in frame.cache:
                frame.cache[term] = self.scalar_op(term, frame)
        self.test_nans([node for node in self.nodes[before:] if isinstance(node, Element)])
        return frame.cache[value]

    def scalar_op(self, value: ScalarOp, frame: Frame) -> Number:
        operands = [self.number(operand, frame) for operand in value.operands]
        kinds = {operand.kind for operand in operands}
        if value.op in COMPARISONS:
            return self.compare(value.op, *operands)
        if value.op in ("and", "or", "not"):
            if kinds != {"bool"}:
                raise NotCompiled("logic of what is no bool")
            return Number("bool", self.op(f"logical_{value.op}", *(operand.value for operand in operands)))
        if "bool" in kinds:
            raise NotCompiled("arithmetic of a bool")
        if kinds == {"int"} and value.op not in ("truediv", "sqrt") and value.op not in FUNCTIONS:
            return self.integer_op(value.op, operands)
        return self.float_op(value.op, operands)


def _power(builder: NumberBuilder, a: Value, b: Value) -> Value:
    """A power with a known exponent: products that wrap around, of which NumPy says nothing."""
    if b.number is None or not 1 <= b.number <= 16:
        raise NotCompiled("a power of an integer scalar")
    result = a
    for _ in range(int(b.number) - 1):
        result = builder.op("multiply", result, a)
    return result


# Operators between NumPy scalars of integers that may decline; an operator is here only if its result is NumPy's for
# every operand.
INTEGER_OPERATORS: dict[Callable[..., Any], Callable[[NumberBuilder, Value, Value], Value]] = {
    operator.floordiv: lambda builder, a, b: builder.division(a, b, False),
    operator.mod: lambda builder, a, b: builder.division(a, b, True),
    operator.pow: _power,
    np.power: _power,
}
# Others, by their names in element_ops.py.
OPERATORS: dict[Callable[..., Any], str] = {
    **{function: name for name, _, function in BINARY.values() if name not in ("matmul", "divmod")},
    **{function: name for name, _, function in UNARY.values()},
}
OF_ONE_COMPLEX = frozenset((abs, np.absolute, *PARTS))  # yield a float
# Of floats, by NumPy's loop, which calls what its scalars call.
LOOPS: dict[Callable[..., Any], np.ufunc] = {BINARY[symbol][2]: BINARY[symbol][1] for symbol in ("%", "//")}
