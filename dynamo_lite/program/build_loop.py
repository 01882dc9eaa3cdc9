"""Makes the Routine of a loop over single elements and vectors, its inner loops included.

Enters a Loop step with the types of what goes into its body; leaves a Routine, or NotCompiled when a step of a body
handles more than single elements (build_steps.py), vectors (build_vectors.py), what loops do with whole arrays and
lists (build_arrays.py) and Python numbers (build_numbers.py). The steps stand in their order, with the operations of
kernels from the same table:

    r1 = loop range(n) carried r0: body(...)  ->  range i from start to last by by with c1 = r0, then v9: ...

INVARIANT: where the function declines, nothing that it wrote is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import is_symbolic, kind_of
from dynamo_lite.graph.types import GENERATOR
from dynamo_lite.program.build_arrays import Handed, held, origin_of, with_origin
from dynamo_lite.program.build_draws import DrawBuilder
from dynamo_lite.program.build_lists import as_others, only_read, still_held
from dynamo_lite.program.build_numbers import FLOAT64, INT64, LEAST, MOST, UINT64, NotCompiled, Number
from dynamo_lite.program.build_steps import IN_ORDER, Array, Elementwise, Frame, Held, List, NumpyScalar, Point, Random
from dynamo_lite.program.build_vectors import PRODUCTS
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import (
    ANY,
    INDEX,
    DType,
    If,
    Joined,
    Memref,
    Node,
    Phi,
    Range,
    Routine,
    Value,
)
from dynamo_lite.schedule.blocks import registers_used
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Loop,
    Machine,
    Map,
    Masked,
    New,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Schedule,
    Step,
    Take,
    View,
    bodies,
)

MOST_INPUTS = 120
DTYPES: dict[str, DType] = {"bool": BOOL, "int": INT64, "float": FLOAT64}  # of Python numbers


def machine_form(loop: Loop, elementwise: Elementwise) -> Machine | None:
    """The machine form of a loop, None if it has none."""
    values = (*loop.carried, *loop.captured)
    if len(loop.types) != len(values) or len(values) > MOST_INPUTS:
        return None
    dtypes, ndims = [], []
    for type_ in loop.types:
        dtypes.append(None if type_ is None else type_.dtype)
        single = type_ is None or type_.scalar or type_ == GENERATOR
        ndims.append(abi.OF_SCALAR if type_ is None or single else type_.ndim)
    machine = Machine(loop, tuple(dtypes), tuple(ndims))
    while True:
        builder = _Builder(machine, abi.CLASS_SPREAD * len(values), elementwise)
        try:
            builder.routine()
        except NotCompiled:
            in_order = builder.written_copies() - set(machine.in_order)
            if not in_order:
                return None
            machine = replace(machine, in_order=tuple(sorted({*machine.in_order, *in_order})))
            continue
        return replace(machine, vectors=tuple(sorted(builder.vectors)), rooms=builder.rooms)


def build_loop(machine: Machine, classes: str, elementwise: Elementwise) -> Routine:
    """The routine of a machine loop. classes: PACKED for an array whose last axis is contiguous, ITERATED where the
    first one is; behind them, what kernels are asked for: ASKS_LOOPS, ASKS_STRICT, ASKS_ARISEN, ASKS_EACH."""
    builder = _Builder(machine, classes, elementwise)
    routine = builder.routine()
    assert builder.rooms <= machine.rooms, "csrc/program/machine.c keeps as many as the code makes for any strides"
    return routine


class _Builder(DrawBuilder):
    def __init__(self, machine: Machine, classes: str, elementwise: Elementwise) -> None:
        super().__init__(elementwise, classes[len(machine.dtypes) :])
        self.machine = machine
        self.classes = classes
        self.forward, self.multiplies = _tells_reversed(machine.loop.body), _multiplies(machine.loop.body)
        self.inputs: list[Value | Memref] = []
        self.outermost: set[Value | Memref] = set()  # what the outermost loop carries
        self.vectors |= {(place, IN_ORDER) for place in machine.in_order}

    def routine(self) -> Routine:
        machine, loop = self.machine, self.machine.loop
        frame = Frame()
        given: tuple[Any, ...] = (*loop.carried, *loop.captured)
        for place, (dtype, ndim) in enumerate(zip(machine.dtypes, machine.ndims, strict=True)):
            name = f"a{place}"
            if dtype is None:
                number = _input_number(name, kind_of(given[place]))
                self.inputs.append(number.value)
                frame.numbers[1 + place] = number
            elif ndim < 0:
                single = Value(name, dtype)
                self.inputs.append(single)
                if dtype.kind != "O":
                    frame.registers[1 + place] = NumpyScalar(single, self.origin(1 + place))
                else:
                    is_list = loop.types[place] != GENERATOR
                    frame.registers[1 + place] = List(single) if is_list else Random(single)
            else:
                frame.registers[1 + place] = self.input_array(name, dtype, ndim, place)
        self.name_sizes(loop, frame)
        start, by, last = (Value(name, INT64) for name in ("start", "by", "last"))
        first, stop, pace = (
            Number("int", value, *((bound, bound) if type(bound) is int else ()))
            for bound, value in ((loop.start, start), (loop.stop, last), (loop.step, by))
        )
        if pace.least == pace.most:
            pace = self.exactly(pace.least)
        firsts = self.initial(loop, frame)
        finals = self.iterate(loop, frame, firsts, first, stop, pace, last, True)
        self.require_distinct(finals)
        self.require_unwritten()
        results: list[tuple[Value | Memref, Value | None]] = []
        for final in finals:
            whole = held(final)
            value = final.first if isinstance(final, Array) else final.value
            results.append((value, None if whole is None else whole.origin))
        ndims = zip(machine.dtypes, machine.ndims, strict=True)
        shapes = tuple(abi.OF_NUMBER if dtype is None else ndim for dtype, ndim in ndims)
        body = (*self.first, *self.nodes)
        lengths = tuple((place, len(loop.carried) + number) for place, _, number in loop.extents)
        return Routine(tuple(self.inputs), shapes, start, by, last, body, tuple(results), self.rooms, lengths)

    def name_sizes(self, loop: Loop, frame: Frame) -> None:
        """Let numbers that go in, and stay, be the sizes of arrays that they are."""
        sizes: dict[Any, Number] = {}
        for place, type_ in enumerate(loop.types):
            array = frame.registers.get(1 + place)
            if type_ is not None and isinstance(array, Array):
                for axis, (dim, size) in enumerate(zip(type_.shape, array.sizes, strict=True)):
                    if is_symbolic(dim):
                        sizes.setdefault(dim, size)
                        self.sized[size.value] = self.sized.get(size.value, frozenset()) | array.axes[axis]
        changing = carried_places(loop)
        for place, given in enumerate((*loop.carried, *loop.captured), 1):
            if place in frame.numbers and place not in changing and given in sizes:
                frame.numbers[place] = sizes[given]

    def input_array(self, name: str, dtype: DType, ndim: int, place: int) -> Array | Point:
        shape = getattr(self.machine.loop.types[place], "shape", ())
        sizes = tuple(
            self.exactly(shape[axis]) if type(shape[axis]) is int else Number("int", Value(f"{name}.n{axis}", INDEX), 0)
            for axis in range(ndim)
        )
        strides = [Value(f"{name}.s{axis}", INT64) for axis in range(ndim)]
        if ndim and (place in self.machine.in_order or self.classes[place] == abi.CLASS_PACKED):
            strides[-1] = self.stride(dtype.itemsize)
        elif ndim and self.classes[place] == abi.CLASS_ITERATED:
            strides[0] = self.stride(dtype.itemsize)
        extents = tuple(size.value for size in sizes)
        memref = Memref(name, dtype, (ANY,) * ndim, extents, "operand", place, strides=tuple(strides))
        self.inputs.append(memref)
        if not ndim:
            return Point(memref, place)
        axes = tuple(frozenset(((place, axis),)) for axis in range(ndim))
        ordered = frozenset(((place, IN_ORDER),) if ndim > 1 else ())
        whole = Held(memref, self.origin(1 + place), frozenset())
        return Array(memref, sizes, tuple(strides), axes, place, whole, None, ordered, ndim > 1)

    def require_distinct(self, finals: Sequence[Handed]) -> None:
        """No two results may be one object that an iteration has made: by induction, if no value goes on as two."""
        seen: set[Value | Memref] = set()
        for final in finals:
            whole = held(final)
            work = [] if whole is None else list(whole.makers)
            makers: set[Value | Memref] = set()
            while work:
                one = work.pop()
                if one not in makers:
                    makers.add(one)
                    work += self.phis.get(one, ()) if one not in self.outermost else ()
            if makers & seen:
                raise NotCompiled("two results may be one object")
            seen |= makers

    # Control

    def inner_loop(self, loop: Loop, frame: Frame) -> None:
        """A loop in a body."""
        start, stop, by = (self.number(bound, frame) for bound in (loop.start, loop.stop, loop.step))
        if any(bound.kind != "int" for bound in (start, stop, by)):
            raise NotCompiled("a bound that is no int")
        inner = Frame()
        for place, operand in enumerate((*loop.carried, *loop.captured), 1):
            if isinstance(operand, Reg):
                inner.registers[place] = self.register(operand.index, frame)
            else:
                inner.numbers[place] = self.number(operand, frame)
        empty, last = self.bounds(start, stop, by)
        firsts = self.initial(loop, inner)

        def iterate() -> list[Handed]:
            self.enter_body(loop.body, inner)
            return self.iterate(loop, inner, firsts, start, stop, by, last, False)

        nodes, finals = self.inside(iterate)
        for place in inner.told:  # which object that is, is known where the loop goes on with it
            given = loop.carried[place - 1]
            assert isinstance(given, Reg)
            self.set_origin(given.index, None, frame)
        self.choose(loop, frame, empty, (), nodes, firsts, finals)

    def choose(
        self,
        step: Loop | Cond,
        frame: Frame,
        condition: Value,
        then: tuple[Node, ...],
        orelse: tuple[Node, ...],
        ones: list[Handed],
        others: list[Handed],
        origins: Sequence[dict[int, Value | None]] = ({}, {}),
    ) -> None:
        """Put what a step yields, from the one side or the other, into its registers and numbers. origins: what either
        has learned about which objects registers are."""
        joined: list[Joined] = []

        def either(one: Value | Memref, other: Value | Memref) -> Value | Memref:
            result: Value | Memref = self.new(one.dtype)
            if isinstance(one, Memref):
                result = Memref(self.name("m"), one.dtype, (), (), "merged")
            joined.append(Joined(result, one, other))
            return result

        after, merged = self.inside(
            lambda: [self.merged(one, other, either) for one, other in zip(ones, others, strict=True)]
        )
        learned: dict[int, Value | None] = {}
        for index in {**origins[0], **origins[1]}:
            known = origin_of(frame.registers[index])
            one, other = (side.get(index, known) for side in origins)
            learned[index] = None if one is None or other is None else either(one, other)  # type: ignore[assignment]
        self.nodes += [If(condition, then, orelse, tuple(joined)), *after]
        for index, origin in learned.items():
            self.set_origin(index, origin, frame)
        for index, origin in learned.items():  # NB: either may have made the other doubtful
            frame.registers[index] = with_origin(frame.registers[index], origin)
        numbers = [value for value in merged if isinstance(value, Number)]
        for symbol, number in zip(step.yields, numbers, strict=False):
            frame.numbers[symbol.input] = number
        for dst, value in zip(step.dsts, merged, strict=True):
            frame.registers[dst] = self.fresh(value.value) if isinstance(value, Number) else value

    def cond(self, step: Cond, frame: Frame) -> None:
        """A choice between two bodies."""
        condition = self.truth(step.condition, frame)
        rooms: dict[int, int] = {}  # by the number of the output, of arrays
        origins: list[dict[int, Value | None]] = []
        lent = self.unneeded(step, frame)

        def side(branch: Schedule) -> list[Handed]:
            around = Frame(frame.registers, frame.numbers)  # what is computed here is not known afterwards
            inner = Frame()
            for place, operand in enumerate(step.operands):
                if isinstance(operand, Reg):
                    inner.registers[place] = self.register(operand.index, frame)
                else:
                    inner.numbers[place] = self.number(operand, around)
            self.enter_body(branch, inner)
            mark = self.rooms
            inner.lent = lent
            self.body(branch, inner)
            origins.append(self.changed_origins(step.operands, inner, frame))
            outputs = [self.output(output, inner) for output in branch.outputs]
            return self.settle(outputs, rooms, mark, lent)

        then, ones = self.inside(lambda: side(step.then))
        orelse, others = self.inside(lambda: side(step.orelse))
        self.require_alike(ones, others)
        self.choose(step, frame, condition, then, orelse, ones, others, origins)

    def unneeded(self, step: Cond, frame: Frame) -> frozenset[int]:
        """The rooms of arrays that go into a choice, of which nobody needs what is there behind it."""
        operands = [frame.registers[operand.index] for operand in step.operands if isinstance(operand, Reg)]
        found = {one.room for one in operands if isinstance(one, Array) and one.room is not None}
        found = {room for room in found if room >= frame.mark or room in frame.lent}
        needed = [frame.registers[register] for register in frame.later if register in frame.registers]
        return frozenset(found - {-1 - (one.base or 0) for one in needed if isinstance(one, Array | Point)})

    def output(self, output: Any, frame: Frame) -> Handed:
        """What a branch yields."""
        if not isinstance(output, Reg):
            return self.number(output, frame)
        value = self.register(output.index, frame)
        return value if isinstance(value, Array | List) else self.scalar(output, frame)

    def truth(self, condition: Any, frame: Frame) -> Value:
        """A condition, as a bool."""
        if isinstance(condition, Reg):
            value = self.scalar(condition, frame).value
            if value.dtype.kind != "b":
                raise NotCompiled("a condition that is no bool")
            return value
        number = self.number(condition, frame)
        if number.kind == "float":
            raise NotCompiled("a condition that is a float")
        return self.cast(number.value, BOOL)

    def bounds(self, start: Number, stop: Number, by: Number) -> tuple[Value, Value]:
        """Whether the range is empty, and its last number if it is not."""
        low, high, up, pace = start.value, stop.value, None, self.cast(by.value, UINT64)
        if by.least == by.most:
            if by.least == 0:
                raise NotCompiled("a range with step 0")
            low, high = (low, high) if by.least > 0 else (high, low)
            pace = self.constant(UINT64, abs(by.least))
        else:
            zero = self.constant(INT64, 0)
            self.decline_if(self.op("equal", by.value, zero), abi.RETURNED_RANGE)
            up = self.op("greater", by.value, zero)
            low, high = self.where(up, low, high), self.where(up, high, low)
            pace = self.cast(self.where(up, by.value, self.op("negative", by.value)), UINT64)
        empty = self.op("greater_equal", low, high)
        reach = self.op("subtract", self.op("subtract", high, low), self.constant(INT64, 1))
        if pace.number != 1:
            steps = self.op("floor_divide", self.cast(reach, UINT64), pace)
            reach = self.cast(self.op("multiply", steps, pace), INT64)
        if up is None:
            return empty, self.op("add" if by.least > 0 else "subtract", start.value, reach)
        forward, backward = self.op("add", start.value, reach), self.op("subtract", start.value, reach)
        return empty, self.where(up, forward, backward)

    def initial(self, loop: Loop, frame: Frame) -> list[Handed]:
        """What the results are before the first iteration: NumPy scalars and arrays, then numbers."""
        result: list[Handed] = []
        for place in carried_places(loop):
            value = frame.registers[place] if place <= len(loop.carried) else frame.numbers[place]
            if isinstance(value, Array) and place not in loop.body.written:
                result.append(self.slot(value))
            elif isinstance(value, Number | List) or (isinstance(value, NumpyScalar) and value.origin is not None):
                result.append(value)
            else:
                raise NotCompiled("what is carried is no NumPy scalar and no int or float")
        return result

    def iterate(
        self,
        loop: Loop,
        frame: Frame,
        firsts: list[Handed],
        start: Number,
        stop: Number,
        by: Number,
        last: Value,
        outermost: bool,
    ) -> list[Handed]:
        """The iterations of a loop that has at least one; what it carries out. frame: what goes into the body; firsts:
        what is carried into the first iteration."""
        if any(axis for _, axis, _ in loop.extents):
            raise NotCompiled("an array whose rows change their length")
        if stays_in_registers(loop.body):
            raise NotCompiled("statements on arrays that one kernel iterates")
        carried: list[tuple[Value | Memref, Value | Memref]] = []  # with what each is at first

        def carry(first: Value | Memref) -> Any:
            value: Value | Memref = Value(name := self.name("c"), first.dtype)
            if isinstance(first, Memref):
                value = Memref(name, first.dtype, (), (), "merged")
            carried.append((value, first))
            return value

        first_number = 1 + len(loop.carried) + len(loop.captured) - (len(firsts) - len(loop.carried))
        lengths = {1 + place: first_number + number for place, _, number in loop.extents}
        objects: dict[int, NumpyScalar | Array] = {}
        kept = [self.keep_place() for first in firsts if isinstance(first, List)]
        for place, first in zip(carried_places(loop), firsts, strict=True):
            if isinstance(first, Number):
                frame.numbers[place] = Number(first.kind, carry(first.value))
                continue
            if isinstance(first, List):
                frame.registers[place] = List(carry(first.value), False)
                continue
            before = held(first)
            assert before is not None and before.origin is not None
            value, origin = carry(before.value if isinstance(first, NumpyScalar) else first.first), carry(before.origin)
            if isinstance(first, Array):
                objects[place] = replace(first, first=value, held=Held(value, origin, frozenset((value,))))
            else:
                objects[place] = NumpyScalar(value, origin, frozenset((value,)))
            frame.registers[place] = objects[place]
            self.outermost |= {value} if outermost else set()
        index = Value(self.name("i"), INDEX)
        bounds = _index_range(start, stop, by)
        frame.numbers[0] = Number("int", index, *bounds)

        entered = {place: origin_of(register) for place, register in frame.registers.items()}

        def body() -> tuple[list[Handed], Value | None]:
            mark = self.rooms
            for place, number in lengths.items():
                objects[place] = frame.registers[place] = self.resized(objects[place], frame.numbers[number])
            slots = [slot for slot in objects.values() if isinstance(slot, Array)]
            frame.lent = frozenset(slot.room for slot in slots if slot.room is not None)
            self.body(loop.body, frame)
            frame.told = [place for place, origin in entered.items() if origin_of(frame.registers[place]) is not origin]
            if not objects.keys() >= set(frame.told):
                raise NotCompiled("an object from before a loop, which an iteration appends")
            outputs = loop.body.outputs[: len(firsts)]
            finals = [self.final(output, first, frame) for output, first in zip(outputs, firsts, strict=True)]
            for place, number in lengths.items():
                self.require_length(finals[place - 1], finals[number - first_number + len(loop.carried)])
            changing = {slot.room for place, slot in objects.items() if place in lengths and isinstance(slot, Array)}
            arrays = [final for final in finals if isinstance(final, Array)]
            moved = iter(self.move(slots, arrays, mark, changing=changing))
            finals = [next(moved) if isinstance(final, Array) else final for final in finals]
            begun = [objects.get(place) for place in carried_places(loop)]
            self.keep_carried(kept, finals, begun)
            return finals, self.truth(loop.body.outputs[-1], frame) if loop.goes_on else None

        nodes, (finals, goes_on) = self.inside(body)
        following: list[Value | Memref] = []
        for place, first, final in zip(carried_places(loop), firsts, finals, strict=True):
            following.append(final.first if isinstance(final, Array) else final.value)
            one, other = held(first), held(final)
            if one is not None and other is not None and other.origin is not None:
                following.append(other.origin)
                slot = held(objects[place])
                assert slot is not None
                self.phis[slot.value] = one.makers | other.makers
        phis = tuple(Phi(value, first, next) for (value, first), next in zip(carried, following, strict=True))
        handed_out = {
            one: replace(one, name=f"{one.name}.n")
            for one in following
            if isinstance(one, Memref) or one.number is None
        }
        lasts = tuple(handed_out.items())
        self.nodes.append(Range(index, start.value, by.value, last, nodes, phis, lasts, goes_on, outermost, bounds))
        results = [self.after(final, handed_out) for final in finals]
        for place, number in lengths.items():
            array, length = results[place - 1], results[number - first_number + len(loop.carried)]
            assert isinstance(array, Array) and isinstance(length, Number)
            results[place - 1] = replace(array, sizes=(length, *array.sizes[1:]))
        return results

    def after(self, final: Handed, handed_out: dict[Any, Any]) -> Handed:
        """What is handed on, as it is called after the loop."""

        def named(one: Any) -> Any:
            return handed_out.get(one, one)

        if isinstance(final, Number | List):
            return replace(final, value=named(final.value))
        if isinstance(final, NumpyScalar):
            return replace(final, value=named(final.value), origin=named(final.origin))
        assert final.held is not None
        return replace(final, first=named(final.first), held=replace(final.held, origin=named(final.held.origin)))

    def final(self, output: Any, first: Handed, frame: Frame) -> Handed:
        """A value that a body hands on, in place of `first`."""
        if isinstance(output, Reg):
            value = self.register(output.index, frame)
            if isinstance(first, Array) and isinstance(value, Array):
                self.require_whole(value)
                return value
            if isinstance(first, List) and isinstance(value, List):
                return as_others(value)
            alike = isinstance(first, NumpyScalar) and isinstance(value, NumpyScalar)
            if alike and value.value.dtype == first.value.dtype and value.origin is not None:  # type: ignore[union-attr]
                return value  # type: ignore[return-value]
        elif isinstance(first, Number):
            number = self.number(output, frame)
            if number.kind == first.kind:
                return number
        raise NotCompiled("what is handed on is of another kind")

    # Steps

    def body(self, schedule: Schedule, frame: Frame) -> None:
        frame.n_inputs = schedule.n_inputs
        frame.read_only, frame.held = only_read(schedule), still_held(schedule)
        for register, known in schedule.constants:
            if isinstance(known, np.generic) and known.dtype.kind in "biuf" and known.dtype.itemsize <= 8:
                frame.registers[register] = NumpyScalar(self.constant(known.dtype, known), None)
            elif isinstance(known, np.ndarray):
                self.table(register, known, frame)
        frame.mark = self.rooms
        frame.brief = read_before_writes(schedule)
        later = used_later(schedule)
        for place, step in enumerate(schedule.steps):
            frame.later = later.get(place, frozenset())
            self.step(step, frame)

    def step(self, step: Step, frame: Frame) -> None:
        if isinstance(step, View):
            self.view(step, frame)
        elif isinstance(step, Map):
            self.map(step, frame)
        elif isinstance(step, Call):
            self.call(step, frame)
        elif isinstance(step, Loop):
            self.inner_loop(step, frame)
        elif isinstance(step, Cond):
            self.cond(step, frame)
        elif isinstance(step, Read) and step.of != abi.READ_SCALAR:
            frame.numbers[step.yields[0].input] = self.read_object(step, frame)
        elif isinstance(step, Take):
            self.take(step, frame)
        elif isinstance(step, Read):
            number = self.read(self.scalar(Reg(step.src), frame).value)
            frame.numbers[step.yields[0].input] = replace(number, read=True)
        elif isinstance(step, Put):
            self.put(step, frame)
        elif isinstance(step, New):
            self.new_list(step, frame)
        elif isinstance(step, Reduce):
            self.reduce(step, frame)
        elif isinstance(step, Alloc):
            self.alloc(step, frame)
        elif isinstance(step, Masked):
            self.masked(step, frame)
        elif isinstance(step, Require):
            self.decline_unless(self.truth(step.condition, frame), abi.RETURNED_CONDITION)
        else:
            raise NotCompiled(f"a step {type(step).__name__}")


def _input_number(name: str, kind: str) -> Number:
    if kind not in DTYPES:
        raise NotCompiled(f"a number of kind {kind}")
    return Number(kind, Value(name, DTYPES[kind]))


def _index_range(start: Number, stop: Number, by: Number) -> tuple[int, int]:
    """Bounds of a loop's index."""
    if by.least > 0:
        return start.least, max(start.least, stop.most - 1)
    if by.most < 0:
        return min(start.most, stop.least + 1), start.most
    return LEAST, MOST


def _tells_reversed(schedule: Schedule) -> bool:
    """Whether some kernel has other bits for an array that is reversed."""
    return any(
        (isinstance(step, Map | Reduce) and any(op.forward for op in step.kernel.ops))
        or any(map(_tells_reversed, bodies(step)))
        for step in schedule.steps
    )


def _multiplies(schedule: Schedule) -> bool:
    """Whether something is a product of BLAS's, which adds up what lies apart in another order."""
    return any(
        (isinstance(step, Call) and step.function in PRODUCTS) or any(map(_multiplies, bodies(step)))
        for step in schedule.steps
    )


def used_later(schedule: Schedule) -> dict[int, frozenset[int]]:
    """By the numbers of its choices: the registers that a schedule uses behind each."""
    found: dict[int, frozenset[int]] = {}
    used = {output.index for output in schedule.outputs if isinstance(output, Reg)}
    if any(isinstance(step, Cond) for step in schedule.steps):
        for place in reversed(range(len(schedule.steps))):
            if isinstance(schedule.steps[place], Cond):
                found[place] = frozenset(used)
            used |= registers_used(schedule.steps[place])
    return found


def read_before_writes(schedule: Schedule) -> frozenset[int]:
    """The registers with raveled arrays that are read, also by views, before anything is written, and never later."""
    found: set[int] = set()
    shown: dict[int, int] = {}
    written: set[int] = set()  # which were raveled before something was written
    for step in schedule.steps:
        for register in registers_used(step):
            if shown.get(register) in written:
                found.discard(shown[register])
        if isinstance(step, View) and step.src in shown:
            shown[step.dst] = shown[step.src]
        elif isinstance(step, Call) and step.function is np.ndarray.ravel:
            found.add(step.dsts[0])
            shown[step.dsts[0]] = step.dsts[0]
        elif not _only_reads(step):
            written |= found
    handed = {shown.get(output.index) for output in schedule.outputs if isinstance(output, Reg)}
    return frozenset(found - handed)


def _only_reads(step: Step) -> bool:
    if isinstance(step, Call):
        return not step.kwargs and (isinstance(step.function, np.ufunc) or step.function in PRODUCTS)
    return isinstance(step, View | Reduce | Read | Require | Alloc) or (isinstance(step, Map) and not any(step.into))


def stays_in_registers(body: Schedule) -> bool:
    """Whether a kernel that iterates does so on the same vectors, without others that each iteration reads."""
    step = body.iterated
    if step is None or step.shape == ():
        return False
    results = range(len(step.operands), len(step.operands) + len(step.outs))
    views = {view.dst for view in body.steps if isinstance(view, View) and not view.scalar}
    operands = [step.operands[place] for place in step.kernel.rows if place < len(step.operands)]
    reads_rows = any(isinstance(operand, Reg) and operand.index in views for operand in operands)
    return not set(results) <= set(step.kernel.rows) and not reads_rows


def carried_places(loop: Loop) -> list[int]:
    """The inputs of the body that are carried: NumPy scalars, then numbers."""
    numbers = len(loop.dsts) - len(loop.carried)
    total = len(loop.carried) + len(loop.captured)
    return [*range(1, 1 + len(loop.carried)), *range(1 + total - numbers, 1 + total)]
