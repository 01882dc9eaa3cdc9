"""Writes a loop over single elements, its inner loops included, as one LLVM function ``i32 machine(ptr block, i64 n)``.

Enters a Loop step with the types of what goes into its body; leaves LLVM text, or NotScalar when a step of a body
handles more than single elements, vectors (machine_vectors.py), NumPy scalars and numbers. The steps are written in
their order, with the operations of kernels from the same table (program/element_ops.py); loads and stores keep the
program's order. Arithmetic on elements is written as LLVM's strict operations: the optimiser neither drops one that may
set a floating-point flag nor runs one that the program does not. INVARIANT: the function returns 0, or another status
and then the call declines: nothing that it wrote is kept. block: see `layout`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from dynamo_lite.backends.numba.emit import literal
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.machine_arrays import ArrayWriter, Either, Handed
from dynamo_lite.backends.numba.machine_numbers import FLOAT64, LEAST, MOST, NotScalar, Number
from dynamo_lite.backends.numba.machine_slices import constant
from dynamo_lite.backends.numba.machine_steps import (
    BOOL,
    IN_ORDER,
    INT64,
    Array,
    Element,
    Frame,
    List,
    Value,
    fresh,
)
from dynamo_lite.backends.numba.machine_vectors import NAME

from dynamo_lite._C import abi, machine_block
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import kind_of
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    DType,
    Loop,
    Machine,
    Map,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Schedule,
    Step,
    View,
    bodies,
)

# What the function returns, by the lower-case names of csrc/abi.def.
RETURNED = {
    name.removeprefix("RETURNED_").lower(): getattr(abi, name) for name in dir(abi) if name.startswith("RETURNED_")
}


# ---- the block: csrc/abi.def says what its words are ----


@dataclass(frozen=True, slots=True)
class Layout:
    """The first word of each value that goes in, and of each result. words: how many stand before the scratch."""

    inputs: tuple[int, ...]
    results: tuple[int, ...]
    words: int


def layout(machine: Machine) -> Layout:
    """The block of a machine loop."""
    kinds = zip(machine.dtypes, machine.ndims, strict=True)
    ndims = tuple(abi.OF_NUMBER if dtype is None else ndim for dtype, ndim in kinds)
    n_carried = len(machine.loop.carried)
    return Layout(*machine_block(ndims, n_carried, len(machine.loop.dsts) - n_carried))


def machine_form(loop: Loop) -> Machine | None:
    """The machine form of a loop, None if it has none."""
    values = (*loop.carried, *loop.captured)
    if len(loop.types) != len(values) or len(values) > MOST_INPUTS or loop.yields:
        return None
    dtypes, ndims = [], []
    for type_ in loop.types:
        dtypes.append(None if type_ is None else type_.dtype)
        ndims.append(abi.OF_SCALAR if type_ is None or type_.scalar else type_.ndim)
    machine = Machine(loop, tuple(dtypes), tuple(ndims))
    writer = _Writer(machine, "s" * len(values))
    try:
        writer.run()
    except NotScalar:
        return None
    return replace(machine, vectors=tuple(sorted(writer.vectors)), rooms=writer.rooms)


MOST_INPUTS = 24


def generate(machine: Machine, classes: str) -> tuple[str, tuple[tuple[np.ufunc, tuple[DType, ...]], ...], int]:
    """The LLVM module that defines NAME, the NumPy loops it calls, and the scratch memory it needs. classes: "c" for an
    array whose last axis is contiguous, "i" where the first one is; a "!" behind them asks for strict kernels."""
    writer = _Writer(machine, classes)
    text = writer.run()
    assert writer.rooms <= machine.rooms, "csrc/machine.c keeps as many as the code makes for any strides"
    return text, tuple(writer.loops), writer.scratch_bytes


_DTYPES = {"bool": BOOL, "int": INT64, "float": FLOAT64}  # of the NumPy scalars that hold numbers


class _Writer(ArrayWriter):
    def __init__(self, machine: Machine, classes: str) -> None:
        self.machine = machine
        self.classes = classes
        self.layout = layout(machine)
        super().__init__(self.layout.words, classes.endswith("!"))
        self.budget = self.look = ""

    def run(self) -> str:
        machine, lines = self.machine, self.lines
        loop = machine.loop
        frame = Frame()
        given = (*loop.carried, *loop.captured)
        for place, (dtype, ndim) in enumerate(zip(machine.dtypes, machine.ndims, strict=True)):
            word = self.layout.inputs[place]
            if dtype is None:
                frame.numbers[1 + place] = self.load_number(kind_of(given[place]), word)  # type: ignore[arg-type]
            elif dtype.kind == "O":
                frame.registers[1 + place] = List(self.load_word("ptr", word))
            elif ndim < 0:
                origin = str(1 + place)
                frame.registers[1 + place] = Value(dtype, self.load_word(scalar_type(dtype), word), origin)
            else:
                array = self.load_array(dtype, ndim, place)
                frame.registers[1 + place] = array if ndim else Element(dtype, array.pointer, place)
        start, by, last = (self.load_word("i64", word) for word in (abi.WORD_START, abi.WORD_BY, abi.WORD_LAST))
        self.look = self.load_word("ptr", abi.WORD_LOOK)
        self.budget = self.load_word("i64", abi.WORD_BUDGET)
        lines.put("  br label %run")
        lines.label("run")
        first, stop, pace = (
            Number("int", name, *((bound, bound) if type(bound) is int else ()))
            for bound, name in ((loop.start, start), (loop.stop, last), (loop.step, by))
        )
        if pace.least == pace.most:
            pace = Number("int", str(pace.least), pace.least, pace.most)
        firsts = self.initial(loop, frame)
        finals = self.iterate(loop, frame, firsts, first, stop, pace, last, "all")
        self.require_distinct(finals)
        self.require_own_objects()
        self.require_unwritten()
        for word, final in zip(self.layout.results, finals, strict=True):
            if isinstance(final, Number) and final.kind == "bool":
                self.store_word("i64", lines.do(f"zext i1 {final.name} to i64"), word)
                continue
            self.store_word(llvm_type(final), name_of(final), word)
            held = final.held if isinstance(final, Array) else final
            if isinstance(held, Value):
                self.store_word("i64", lines.do(f"zext i8 {held.origin} to i64"), word + abi.RESULT_ORIGIN)
        if self.overflows:
            self.entry += ["  %overflow = alloca i64, align 8", "  store i64 0, ptr %overflow, align 8"]
            self.store_word("i64", lines.do("load i64, ptr %overflow, align 8"), abi.WORD_OVERFLOW)
        if self.helpers:
            self.enter_helpers()
        lines.put("  ret i32 0")
        lines.text += self.lines.apart
        for failure in sorted(self.lines.failures):
            lines.put(f"decline.{failure}:")
            lines.put(f"  ret i32 {RETURNED[failure]}")
        return self.module()

    def require_distinct(self, finals: list[Handed]) -> None:
        """No two results may be one object that an iteration has made: by induction, if no value goes on as two."""
        outermost = {name for name in self.phis if name.startswith("%all.")}
        seen: set[str] = set()
        for final in finals:
            held = final.held if isinstance(final, Array) else final
            work = list(held.makers) if isinstance(held, Value) else []
            makers: set[str] = set()
            while work:
                name = work.pop()
                if name not in makers:
                    makers.add(name)
                    work += self.phis.get(name, ()) if name not in outermost else ()
            if makers & seen:
                raise NotScalar("two results may be one object")
            seen |= makers

    def enter_helpers(self) -> None:
        """Load the addresses of the functions of C that are called."""
        table = self.load_word("ptr", abi.WORD_HELPERS)
        self.entry.append("  %helper.result = alloca double, align 8")
        for name in sorted(self.helpers):
            self.entry.append(f"  %helper.{name}.at = getelementptr ptr, ptr {table}, i64 {abi.HELPERS.index(name)}")
            self.entry.append(f"  %helper.{name} = load ptr, ptr %helper.{name}.at, align 8")

    def module(self) -> str:
        lines = self.lines
        head = ['source_filename = "dynamo_lite"']
        head += [f"@{name} = private global {kind} {value}" for (kind, value), name in lines.hidden.items()]
        hidden = [f"  %{name} = load volatile {kind}, ptr @{name}" for (kind, _), name in lines.hidden.items()]
        body = [f"define i32 @{NAME}(ptr %block, i64 %n) #0 {{", "entry:", *hidden, *self.entry, *lines.text, "}"]
        tail = [
            *self.kernel_texts(),
            *sorted(lines.declarations),
            "attributes #0 = { strictfp }",
            '!0 = !{!"branch_weights", i32 1, i32 9999}',
        ]
        return "\n".join([*head, *body, *tail]) + "\n"

    # The block

    def load_word(self, kind: str, word: int) -> str:
        at, name = self.lines.name("%at"), self.lines.name("%in")
        self.entry.append(f"  {at} = getelementptr i64, ptr %block, i64 {word}")
        self.entry.append(f"  {name} = load {kind}, ptr {at}, align 8")
        return name

    def store_word(self, kind: str, value: str, word: int) -> None:
        at = self.lines.do(f"getelementptr i64, ptr %block, i64 {word}")
        self.lines.put(f"  store {kind} {value}, ptr {at}, align 8")

    def load_number(self, kind: str, word: int) -> Number:
        if kind not in ("bool", "int", "float"):
            raise NotScalar(f"a number of kind {kind}")
        name = self.load_word("double" if kind == "float" else "i64", word)
        if kind == "bool":
            short = self.lines.name("%flag")
            self.entry.append(f"  {short} = icmp ne i64 {name}, 0")
            name = short
        return Number(kind, name)

    def load_array(self, dtype: DType, ndim: int, place: int) -> Array:
        word = self.layout.inputs[place]
        pointer = self.load_word("ptr", word)
        shape = getattr(self.machine.loop.types[place], "shape", ())
        sizes = tuple(
            constant(shape[axis])
            if type(shape[axis]) is int
            else Number("int", self.load_word("i64", word + abi.ARRAY_SIZES + axis), 0)
            for axis in range(ndim)
        )
        strides = [self.load_word("i64", word + abi.ARRAY_SIZES + ndim + axis) for axis in range(ndim)]
        if self.classes[place] in "ci" and ndim:
            strides[-1 if self.classes[place] == "c" else 0] = str(dtype.itemsize)
        axes = tuple(frozenset(((place, axis),)) for axis in range(ndim))
        held, ordered = Value(dtype, pointer, str(1 + place)), frozenset(((place, IN_ORDER),) if ndim > 1 else ())
        return Array(dtype, pointer, sizes, tuple(strides), axes, place, held, None, ordered, ndim > 1)

    # Control

    def inner_loop(self, loop: Loop, frame: Frame) -> None:
        """A loop in a body."""
        lines = self.lines
        start, stop, by = (self.number(bound, frame) for bound in (loop.start, loop.stop, loop.step))
        if any(bound.kind != "int" for bound in (start, stop, by)):
            raise NotScalar("a bound that is no int")
        given = (*loop.carried, *loop.captured)
        inner = Frame()
        for place, operand in enumerate(given, 1):
            if isinstance(operand, Reg):
                inner.registers[place] = self.register(operand.index, frame)
            else:
                inner.numbers[place] = self.number(operand, frame)
        empty, last = self.bounds(start, stop, by)
        firsts = self.initial(loop, inner)
        stem, before, budget = lines.name("loop"), lines.block, self.budget
        lines.put(f"  br i1 {empty}, label %{stem}.exit, label %{stem}.enter")
        lines.label(f"{stem}.enter")
        self.enter_body(loop.body, inner)
        finals = self.iterate(loop, inner, firsts, start, stop, by, last, stem)
        inside, inner_budget = lines.block, self.budget
        lines.put(f"  br label %{stem}.exit")
        lines.label(f"{stem}.exit")
        self.budget = lines.do(f"phi i64 [ {budget}, %{before} ], [ {inner_budget}, %{inside} ]")

        def either(kind: str, first: str | None, final: str | None) -> str:
            return lines.do(f"phi {kind} [ {first}, %{before} ], [ {final}, %{inside} ]")

        self.results(loop, frame, firsts, finals, either)

    def results(
        self, step: Loop | Cond, frame: Frame, ones: list[Handed], others: list[Handed], either: Either
    ) -> None:
        """Put what a step yields, from the one side or the other, into its registers and numbers."""
        merged: list[Handed] = []
        for one, other in zip(ones, others, strict=True):
            if isinstance(one, Array) and isinstance(other, Array):
                merged.append(self.merge_arrays(one, other, either))
                continue
            name = either(llvm_type(one), name_of(one), name_of(other))
            if isinstance(one, Value) and isinstance(other, Value):
                leaves = one.origin is not None and other.origin is not None
                origin = either("i8", one.origin, other.origin) if leaves else None
                merged.append(Value(one.dtype, name, origin, one.makers | other.makers))
            elif isinstance(one, Number) and isinstance(other, Number):
                merged.append(Number(one.kind, name, min(one.least, other.least), max(one.most, other.most)))
        numbers = [value for value in merged if isinstance(value, Number)]
        for symbol, number in zip(step.yields, numbers, strict=False):
            frame.numbers[symbol.input] = number
        for dst, value in zip(step.dsts, merged, strict=True):
            if not isinstance(value, Number):
                frame.registers[dst] = value
                continue
            name = self.lines.do(f"zext i1 {value.name} to i8") if value.kind == "bool" else value.name
            frame.registers[dst] = fresh(_DTYPES[value.kind], name)

    def cond(self, step: Cond, frame: Frame) -> None:
        """A choice between two bodies."""
        lines, stem, budget = self.lines, self.lines.name("choice"), self.budget
        condition = self.truth(step.condition, frame)
        lines.put(f"  br i1 {condition}, label %{stem}.then, label %{stem}.else")
        ends: list[str] = []
        budgets: list[str] = []
        sides: list[list[Handed]] = []
        rooms: dict[int, Array] = {}  # by the number of the output, of vectors
        for name, branch in (("then", step.then), ("else", step.orelse)):
            lines.label(f"{stem}.{name}")
            self.budget = budget
            around = Frame(frame.registers, frame.numbers)  # what is computed here is not known behind
            inner = Frame()
            for place, operand in enumerate(step.operands):
                if isinstance(operand, Reg):
                    inner.registers[place] = self.register(operand.index, frame)
                else:
                    inner.numbers[place] = self.number(operand, around)
            self.enter_body(branch, inner)
            mark = self.rooms
            self.body(branch, inner)
            sides.append(self.settle([self.output(output, inner) for output in branch.outputs], rooms, mark))
            budgets.append(self.budget)
            ends.append(lines.block)
            lines.put(f"  br label %{stem}.end")
        lines.label(f"{stem}.end")

        def either(kind: str, one: str | None, other: str | None) -> str:
            return lines.do(f"phi {kind} [ {one}, %{ends[0]} ], [ {other}, %{ends[1]} ]")

        self.budget = either("i64", *budgets)
        self.require_alike(sides[0], sides[1])
        self.results(step, frame, sides[0], sides[1], either)

    def output(self, output: Any, frame: Frame) -> Handed:
        """What a branch yields."""
        if not isinstance(output, Reg):
            return self.number(output, frame)
        value = self.register(output.index, frame)
        return value if isinstance(value, Array) else self.scalar(output, frame)

    def truth(self, condition: Any, frame: Frame) -> str:
        """A condition, as an i1."""
        if isinstance(condition, Reg):
            value = self.scalar(condition, frame)
            if value.dtype.kind != "b":
                raise NotScalar("a condition that is no bool")
            return self.lines.do(f"icmp ne i8 {value.name}, 0")
        number = self.number(condition, frame)
        if number.kind == "float":
            raise NotScalar("a condition that is a float")
        return number.name if number.kind == "bool" else self.lines.do(f"icmp ne i64 {number.name}, 0")

    def bounds(self, start: Number, stop: Number, by: Number) -> tuple[str, str]:
        """Whether the range is empty (an i1), and its last number if it is not."""
        lines = self.lines
        if by.least == by.most:
            if by.least == 0:
                raise NotScalar("a range with step 0")
            low, high = (start.name, stop.name) if by.least > 0 else (stop.name, start.name)
            pace, up = str(abs(by.least)), ""
        else:
            self.lines.decline_if(lines.do(f"icmp eq i64 {by.name}, 0"), "range")
            up = lines.do(f"icmp sgt i64 {by.name}, 0")
            low = lines.do(f"select i1 {up}, i64 {start.name}, i64 {stop.name}")
            high = lines.do(f"select i1 {up}, i64 {stop.name}, i64 {start.name}")
            negated = lines.do(f"sub i64 0, {by.name}")
            pace = lines.do(f"select i1 {up}, i64 {by.name}, i64 {negated}")
        empty = lines.do(f"icmp sge i64 {low}, {high}")
        reach = lines.do(f"sub i64 {high}, {low}")
        reach = lines.do(f"sub i64 {reach}, 1")
        if pace != "1":
            reach = lines.do(f"mul i64 {lines.do(f'udiv i64 {reach}, {pace}')}, {pace}")
        if not up:
            return empty, lines.do(f"{'add' if by.least > 0 else 'sub'} i64 {start.name}, {reach}")
        forward = lines.do(f"add i64 {start.name}, {reach}")
        backward = lines.do(f"sub i64 {start.name}, {reach}")
        return empty, lines.do(f"select i1 {up}, i64 {forward}, i64 {backward}")

    def initial(self, loop: Loop, frame: Frame) -> list[Handed]:
        """What the results are before the first iteration: NumPy scalars and vectors, then numbers."""
        result: list[Handed] = []
        for place in carried_places(loop):
            value = frame.registers[place] if place <= len(loop.carried) else frame.numbers[place]
            if isinstance(value, Array) and place not in loop.body.written:
                result.append(self.slot(value))
                continue
            carries = True if isinstance(value, Number) else getattr(value, "origin", None) is not None
            if not carries:
                raise NotScalar("what is carried is no NumPy scalar and no int or float")
            assert isinstance(value, Value | Number)
            result.append(value)
        return result

    def iterate(
        self,
        loop: Loop,
        frame: Frame,
        firsts: list[Handed],
        start: Number,
        stop: Number,
        by: Number,
        last: str,
        stem: str,
    ) -> list[Handed]:
        """The iterations of a loop that has at least one; what it carries out. frame: what goes into the body; firsts:
        what is carried into the first iteration."""
        lines = self.lines
        if stays_in_registers(loop.body):
            raise NotScalar("statements on arrays that one kernel iterates")
        before = lines.block
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.head")
        index = f"%{stem}.index"
        lines.put(f"  {index} = phi i64 [ {start.name}, %{before} ], [ {index}.next, %{stem}.next ]")
        budget = f"%{stem}.budget"
        lines.put(f"  {budget} = phi i64 [ {self.budget}, %{before} ], [ {budget}.next, %{stem}.next ]")
        holes = {}  # where the phis of what is carried will stand
        slots: list[Array] = []
        for place, first in zip(carried_places(loop), firsts, strict=True):
            name = f"%{stem}.carried{place}"
            holes[place] = len(lines.text)
            lines.text += ["", ""]
            if isinstance(first, Number):
                frame.numbers[place] = Number(first.kind, name)
                continue
            held = Value(first.dtype, name, f"{name}.origin", frozenset((name,)))
            if isinstance(first, Array):
                assert first.room is not None
                slots.append(replace(first, pointer=name, held=held))
            frame.registers[place] = slots[-1] if isinstance(first, Array) else held
        frame.numbers[0] = Number("int", index, *_index_range(start, stop, by))
        self.budget = budget
        mark = self.rooms
        self.body(loop.body, frame)
        outputs = loop.body.outputs[: len(firsts)]
        finals = [self.final(output, first, frame) for output, first in zip(outputs, firsts, strict=True)]
        moved = iter(self.move(slots, [final for final in finals if isinstance(final, Array)], mark))
        finals = [next(moved) if isinstance(final, Array) else final for final in finals]
        holds = [final.held if isinstance(final, Array) else final for final in finals]
        self.finals += [held for held in holds if isinstance(held, Value)]
        done = lines.do(f"icmp eq i64 {index}, {last}")
        stops = ""
        if loop.goes_on:
            stops = lines.do(f"xor i1 {self.truth(loop.body.outputs[-1], frame)}, true")
            done = lines.do(f"or i1 {done}, {stops}")
        lines.put(f"  br i1 {done}, label %{stem}.done, label %{stem}.on")
        lines.label(f"{stem}.on")
        if stem == "all" and holds_loop(loop.body):
            self.leave_if_asked(index)  # by an inner loop
        left = lines.do(f"sub i64 {self.budget}, 1")
        spent = lines.do(f"icmp eq i64 {left}, 0")
        before_look = lines.block
        lines.put(f"  br i1 {spent}, label %{stem}.look, label %{stem}.next, !prof !0")
        lines.label(f"{stem}.look")
        more = lines.do(f"call i64 {self.look}(ptr %block) #0")
        self.lines.failures.add("looked")
        refused = lines.do(f"icmp eq i64 {more}, 0")
        lines.put(f"  br i1 {refused}, label %decline.looked, label %{stem}.looked, !prof !0")
        lines.label(f"{stem}.looked")
        if stem == "all":
            self.leave_if_asked(index)
        looked = lines.block
        lines.put(f"  br label %{stem}.next")
        lines.label(f"{stem}.next")
        lines.put(f"  {budget}.next = phi i64 [ {left}, %{before_look} ], [ {more}, %{looked} ]")
        lines.put(f"  {index}.next = add i64 {index}, {by.name}")
        lines.put(f"  br label %{stem}.head")
        for (place, hole), first, final in zip(holes.items(), firsts, finals, strict=True):
            name, end = f"%{stem}.carried{place}", f"%{stem}.next"
            kind = llvm_type(final)
            lines.text[hole] = f"  {name} = phi {kind} [ {name_of(first)}, %{before} ], [ {name_of(final)}, {end} ]"
            one, other = (value.held if isinstance(value, Array) else value for value in (first, final))
            if isinstance(one, Value) and isinstance(other, Value):
                origins = f"[ {one.origin}, %{before} ], [ {other.origin}, {end} ]"
                lines.text[hole + 1] = f"  {name}.origin = phi i8 {origins}"
                self.phis[name] = one.makers | other.makers
        lines.label(f"{stem}.done")
        if stem == "all" and stops:
            self.store_word("i64", lines.do(f"zext i1 {stops} to i64"), abi.WORD_ENDED)
        return finals

    def leave_if_asked(self, index: str) -> None:
        """End behind this iteration of the outermost loop, if somebody waits for that: `index` is then the last one."""
        lines, stem = self.lines, self.lines.name("leave")
        at = lines.do(f"getelementptr i64, ptr %block, i64 {abi.WORD_LEAVE}")
        asked = lines.do(f"icmp ne i64 {lines.do(f'load volatile i64, ptr {at}, align 8')}, 0")
        lines.put(f"  br i1 {asked}, label %{stem}, label %{stem}.on, !prof !0")
        lines.label(stem)
        self.store_word("i64", index, abi.WORD_LAST)
        lines.put("  br label %all.done")
        lines.label(f"{stem}.on")

    def final(self, output: Any, first: Handed, frame: Frame) -> Handed:
        """A value that a body hands on, in place of `first`."""
        if isinstance(output, Reg):
            value = self.register(output.index, frame)
            if isinstance(first, Array) and isinstance(value, Array):
                self.require_whole(value)
                return value
            alike = isinstance(first, Value) and isinstance(value, Value) and value.dtype == first.dtype
            if alike and isinstance(value, Value) and value.origin is not None:
                return value
        elif isinstance(first, Number):
            number = self.number(output, frame)
            if number.kind == first.kind:
                return number
        raise NotScalar("what is handed on is of another kind")

    # Steps

    def body(self, schedule: Schedule, frame: Frame) -> None:
        frame.n_inputs = schedule.n_inputs
        for register, known in schedule.constants:
            if isinstance(known, np.generic) and known.dtype.kind in "biuf" and known.dtype.itemsize <= 8:
                frame.registers[register] = Value(known.dtype, literal(self.lines, known.dtype, known), None)
        for step in schedule.steps:
            self.step(step, frame)

    def read_scalar(self, step: Read, frame: Frame) -> Number:
        value = self.scalar(Reg(step.src), frame)
        return self.read(value.dtype, value.name)

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
        elif isinstance(step, Read):
            frame.numbers[step.yields[0].input] = replace(self.read_scalar(step, frame), read=True)
        elif isinstance(step, Put):
            self.append(step, frame)
        elif isinstance(step, Reduce):
            self.reduce(step, frame)
        elif isinstance(step, Alloc):
            self.alloc(step, frame)
        elif isinstance(step, Require):
            fails = self.lines.do(f"xor i1 {self.truth(step.condition, frame)}, true")
            self.lines.decline_if(fails, "condition")
        else:
            raise NotScalar(f"a step {type(step).__name__}")


def _index_range(start: Number, stop: Number, by: Number) -> tuple[int, int]:
    """Bounds of a loop's index."""
    if by.least > 0:
        return start.least, max(start.least, stop.most - 1)
    if by.most < 0:
        return min(start.most, stop.least + 1), start.most
    return LEAST, MOST


def holds_loop(schedule: Schedule) -> bool:
    return any(isinstance(step, Loop) or any(map(holds_loop, bodies(step))) for step in schedule.steps)


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


def name_of(value: Handed) -> str:
    """The name of a value that is handed on, a vector's address."""
    return value.pointer if isinstance(value, Array) else value.name


def llvm_type(value: Handed) -> str:
    """The LLVM type of a value that is handed on."""
    if isinstance(value, Array):
        return "ptr"
    if isinstance(value, Number):
        return {"bool": "i1", "int": "i64", "float": "double"}[value.kind]
    return scalar_type(value.dtype)
