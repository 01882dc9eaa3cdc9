"""Writes the steps of machine loops that handle vectors: kernels over slices of one axis, and products of two.

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers, or NotScalar. A kernel is the
function that emit.py writes for any Map, in the same module; what it makes anew lies in memory that csrc/machine.c
keeps for the step. INVARIANT: a kernel gets no memory twice but at the same positions: within a body the schedule sees
to that, what goes into an inner body is looked at here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from dynamo_lite.backends.numba.emit import emit
from dynamo_lite.backends.numba.functions import function_of
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.machine_numbers import NotScalar, Number
from dynamo_lite.backends.numba.machine_slices import constant
from dynamo_lite.backends.numba.machine_steps import (
    MOST_LOOPS,
    WINDOW,
    Array,
    Axis,
    Element,
    Frame,
    StepWriter,
    Value,
    fresh,
)

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.program.element_ops import class_of
from dynamo_lite.program.ir import Function
from dynamo_lite.schedule.steps import Call, DType, Map, Operand, Reg, Schedule, bodies

PRODUCTS = (np.matmul, np.dot, np.ndarray.dot)
NAME = "machine.loop"
MOST_AXES = 3


class VectorWriter(StepWriter):
    """vectors: what is handled as a whole, as Machine has it. strict: of kernels that may meet two NaNs
    (program/watch.py). kernels: the functions that are called, their texts by name. scratch_bytes: what they need."""

    def __init__(self, words: int, strict: bool) -> None:
        super().__init__(words)
        self.vectors: set[tuple[int, ...]] = set()
        self.strict = strict
        self.kernels: dict[str, list[str]] = {}
        self.functions: dict[str, list[str]] = {}
        self.scratch_bytes = 0
        self.rooms = 0
        self.known_rooms: set[int] = set()  # whose words' addresses are worked out

    def call(self, step: Call, frame: Frame) -> None:
        if step.function in PRODUCTS:
            self.product(step, frame)
        elif step.function is operator.getitem and len(step.args) == 2:
            self.gather(step, frame)
        else:
            super().call(step, frame)

    def product(self, step: Call, frame: Frame) -> None:
        """A product of vectors and matrices, by NumPy's loop."""
        operands = [self.register(arg.index, frame) if isinstance(arg, Reg) else None for arg in step.args]
        dtype, vectors = step.types[0].dtype, step.types[0].scalar
        if len(step.types) != 1 or step.kwargs or len(operands) != 2:
            raise NotScalar("a product of other arrays")
        if class_of(dtype) not in ("iuf" if step.function is np.matmul else "f"):
            raise NotScalar(f"a product of {dtype}")
        for operand in operands:
            if not isinstance(operand, Array) or len(operand.sizes) > 2 or operand.dtype != dtype:
                raise NotScalar("a product of what are no vectors or matrices")
        a, b = (operand for operand in operands if isinstance(operand, Array))
        if vectors != (len(a.sizes) == len(b.sizes) == 1) or not (vectors or step.function is np.matmul):
            raise NotScalar("a product of other arrays")
        what = abi.VECTOR_PRODUCTS * dtype.num + abi.VECTOR_DOT * (step.function is not np.matmul)
        shared = a.axes[-1] | b.axes[0]
        self.require_short((*a.sizes, *b.sizes[1:]), (*a.axes[:-1], shared, *b.axes[1:]))
        if vectors:
            words = ", ".join(f"ptr {x.pointer}, i64 {x.sizes[0].name}, i64 {x.strides[0]}" for x in (a, b))
            failed = self.helper("product", "i32", f"i64 {what}, ptr %helper.result, {words}")
        else:
            out = self.room(dtype, (*a.sizes[:-1], *b.sizes[1:]), (*a.axes[:-1], *b.axes[1:]))
            left, right = ([*(size.name for size in x.sizes), *x.strides] for x in (a, b))
            left = left if len(a.sizes) == 2 else ["1", left[0], "0", left[1]]  # one row
            right = right if len(b.sizes) == 2 else [right[0], "1", right[1], "0"]  # one column
            words = ", ".join([f"ptr {x.pointer}" for x in (out, a, b)] + [f"i64 {word}" for word in (*left, *right)])
            failed = self.helper("matmul", "i32", f"i64 {what}, {words}")
        self.lines.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), "product")
        if not vectors:
            frame.registers[step.dsts[0]] = out
            return
        kind = scalar_type(dtype)
        result = self.lines.do(f"load {kind}, ptr %helper.result, align {dtype.alignment}")
        frame.registers[step.dsts[0]] = fresh(dtype, result)

    def gather(self, step: Call, frame: Frame) -> None:
        """The elements of a vector that a vector of integers names."""
        x, places = (self.register(arg.index, frame) if isinstance(arg, Reg) else None for arg in step.args)
        for operand in (x, places):
            if not isinstance(operand, Array) or len(operand.sizes) != 1:
                raise NotScalar("an index of what are no vectors")
        assert isinstance(x, Array) and isinstance(places, Array)
        kind = places.dtype.kind
        if kind not in "iu" or x.dtype.hasobject:
            raise NotScalar(f"an index of {places.dtype}")
        axes = places.axes[0]
        self.vectors |= axes
        out = self.room(x.dtype, places.sizes, (axes,))
        words = [f"ptr {out.pointer}, i64 {x.dtype.itemsize}"]
        words += [f"ptr {array.pointer}, i64 {array.sizes[0].name}, i64 {array.strides[0]}" for array in (x, places)]
        words.append(f"i64 {-places.dtype.itemsize if kind == 'i' else places.dtype.itemsize}")
        failed = self.helper("gather", "i32", ", ".join(words))
        self.lines.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), "index")
        frame.registers[step.dsts[0]] = out

    def map(self, step: Map, frame: Frame) -> None:
        if step.shape == ():
            super().map(step, frame)
            return
        if len(step.shape) > MOST_AXES:
            raise NotScalar("a map over many axes")
        kernel = step.kernel
        lengths = tuple(self.number(dim, frame) for dim in step.shape)
        self.require_forward(step, frame)
        reads = [
            self.read_array(operand, dtype, lengths, frame)
            for operand, dtype in zip(step.operands, kernel.operand_dtypes, strict=True)
        ]
        dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
        targets = [
            self.target(out, dtypes[value], lengths, frame) if into else None
            for out, value, into in zip(step.outs, kernel.results, step.into, strict=True)
        ]
        arrays = [array for array in (*reads, *targets) if array is not None]
        axes = tuple(frozenset(one for array in arrays for one in array.axes[axis]) for axis in range(len(lengths)))
        self.require_short(lengths, axes)
        places = list(reads)
        late: list[tuple[Array, Array]] = []  # what is written when all has been read
        for out, value, target in zip(step.outs, kernel.results, targets, strict=True):
            if target is not None and value < len(reads) and len(lengths) == 1 and _collide(reads[value], target):
                self.require_alike_strides(reads[value], target)
            if target is not None and not any(_collide(read, target) for read in reads):
                places.append(target)
                continue
            if target is not None and len(lengths) > 1:
                raise NotScalar("a target whose memory is read")  # the launcher looks whether they are apart
            places.append(self.room(dtypes[value], lengths, axes))
            if target is None:
                frame.registers[out] = places[-1]
            else:
                late.append((target, places[-1]))
        self.sweep(places, lambda rows: self.call_kernel(step, rows, len(reads)), 2)
        for pair in late:
            self.sweep(pair, lambda rows: self.copy(*rows))

    def require_alike_strides(self, source: Array, target: Array) -> None:
        """Decline where NumPy may copy a vector over itself element by element (csrc/kernel_map.c)."""
        lines, (one,), (other,) = self.lines, source.strides, target.strides
        if one not in (other, "0"):
            unlike = lines.do(f"icmp ne i64 {one}, {other}")
            onward = lines.do(f"icmp sge i64 {lines.do(f'xor i64 {one}, {other}')}, 0")
            lines.decline_if(lines.do(f"and i1 {unlike}, {onward}"), "condition")

    def copy(self, target: Array, source: Array) -> None:
        """Copy a vector to memory of its own."""
        words = f"ptr {target.pointer}, i64 {target.strides[0]}, ptr {source.pointer}, i64 {source.sizes[0].name}"
        self.helper("copy", "i32", f"{words}, i64 {source.strides[0]}, i64 {source.dtype.itemsize}")

    def require_short(self, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]]) -> None:
        """What is handled as a whole is not long, or the loop runs step by step."""
        product: list[int] = []
        most = 1
        for length, known in zip(lengths, axes, strict=True):
            self.vectors |= {axis for axis in known if axis != WINDOW}
            if length.most <= abi.MOST_VECTOR and not known:
                most *= max(length.most, 1)
            elif not known or known == {WINDOW}:
                if not known or len(lengths) > 1:
                    raise NotScalar("an array of a size that is not known")
            else:
                product += min(known - {WINDOW})
        self.vectors |= {WINDOW for known in axes if WINDOW in known}
        if most > abi.MOST_VECTOR or (product and most > 8):
            raise NotScalar("an array of a size that is not known")
        if len(product) > 2:
            self.vectors.add(tuple(product))

    def sweep(self, places: Sequence[Array], run: Callable[[list[Array]], None], ndim: int = 1) -> None:
        """Do something with arrays of one shape: with all their parts of at most `ndim` axes, or with all elements as
        one vector where they lie so."""
        places, lines = _squeezed(places), self.lines
        lengths = places[-1].sizes
        if len(lengths) == 1:
            run(list(places))
            return
        cells = [set(place.strides) == {"0"} for place in places]
        if all(cell or (place.packed and place.ordered is not None) for cell, place in zip(cells, places, strict=True)):
            total = (self.total(lengths),)
            flat = []
            for cell, place in zip(cells, places, strict=True):
                stride = "0" if cell else str(place.dtype.itemsize)
                self.vectors |= place.ordered or set()
                flat.append(replace(place, sizes=total, strides=(stride,), axes=(frozenset(),)))
            run(flat)
            return
        if len(lengths) <= ndim:
            stem = lines.name("some")  # NB: a kernel that goes through rows expects elements
            some = lines.do(f"icmp ne i64 {self.total(lengths).name}, 0")
            lines.put(f"  br i1 {some}, label %{stem}, label %{stem}.on")
            lines.label(stem)
            run(list(places))
            lines.put(f"  br label %{stem}.on")
            lines.label(f"{stem}.on")
            return
        stem, before = lines.name("rows"), lines.block
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.head")
        hole = len(lines.text)
        lines.text.append("")
        on = lines.do(f"icmp ult i64 %{stem}.row, {lengths[0].name}")
        lines.put(f"  br i1 {on}, label %{stem}.body, label %{stem}.end")
        lines.label(f"{stem}.body")
        rows = []
        for place in places:
            pointer = place.pointer
            if place.strides[0] != "0":
                offset = lines.do(f"mul i64 %{stem}.row, {place.strides[0]}")
                pointer = lines.do(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            rows.append(
                Array(place.dtype, pointer, place.sizes[1:], place.strides[1:], place.axes[1:], place.base)
            )
        self.sweep(rows, run, ndim)
        lines.put(f"  %{stem}.next = add i64 %{stem}.row, 1")
        lines.text[hole] = f"  %{stem}.row = phi i64 [ 0, %{before} ], [ %{stem}.next, %{lines.block} ]"
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.end")

    def total(self, lengths: Sequence[Number]) -> Number:
        """How many elements an array has, which is not long."""
        name = lengths[0].name
        for length in lengths[1:]:
            name = self.lines.do(f"mul i64 {name}, {length.name}")
        return Number("int", name, 0, abi.MOST_VECTOR) if len(lengths) > 1 else lengths[0]

    def read_array(self, operand: Operand, dtype: DType, lengths: Sequence[Number], frame: Frame) -> Array:
        """An operand of a kernel, broadcast; a single element has stride 0 and is copied to a place of its own."""
        register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        nowhere = frozenset[Axis]()
        if not isinstance(register, Array):
            value, cell = self.operand(operand, dtype, frame), self.lines.name("%cell")
            self.entry.append(f"  {cell} = alloca [16 x i8], align 16")
            self.lines.put(f"  store {scalar_type(dtype)} {value}, ptr {cell}, align {dtype.alignment}")
            return Array(dtype, cell, tuple(lengths), ("0",) * len(lengths), (nowhere,) * len(lengths), None)
        missing = len(lengths) - len(register.sizes)
        if missing < 0 or register.dtype != dtype:
            raise NotScalar("an operand of other axes or dtype")
        strides, axes, broadcast = ["0"] * missing, [nowhere] * missing, missing > 0
        for size, stride, axis, length in zip(
            register.sizes, register.strides, register.axes, lengths[missing:], strict=True
        ):
            repeated = size.most == 1 and size.name != length.name
            self.require_size(size, constant(1) if repeated else length)
            broadcast |= repeated
            strides.append("0" if repeated else stride)
            axes.append(nowhere if repeated else axis)
        if len(lengths) > 1 and len(lengths) - strides.count("0") > 1:
            if register.ordered is None:
                raise NotScalar("an operand whose axes lie in another order")
            self.vectors |= register.ordered
        if not broadcast:
            return replace(register, sizes=tuple(lengths))
        return Array(dtype, register.pointer, tuple(lengths), tuple(strides), tuple(axes), register.base)

    def require_forward(self, step: Map, frame: Frame) -> None:
        """See KernelOp.forward."""
        read = {value for op in step.kernel.ops for value in op.operands if op.forward}
        for operand in (operand for value, operand in enumerate(step.operands) if value in read):
            register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
            for stride in register.strides if isinstance(register, Array) else ():
                if not stride.isdigit():
                    self.lines.decline_if(self.lines.do(f"icmp slt i64 {stride}, 0"), "reversed")

    def require_size(self, size: Number, length: Number) -> None:
        lines = self.lines
        if size.name != length.name:
            lines.decline_if(lines.do(f"icmp ne i64 {size.name}, {length.name}"), "condition")

    def target(self, out: int, dtype: DType, lengths: Sequence[Number], frame: Frame) -> Array:
        """What a kernel writes."""
        target = self.register(out, frame)
        if not isinstance(target, Array) or len(target.sizes) != len(lengths) or target.dtype != dtype:
            raise NotScalar("a target of other axes or dtype")
        for size, length in zip(target.sizes, lengths, strict=True):
            self.require_size(size, length)
        self.stored.add(target.base)
        return target

    def room(self, dtype: DType, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]]) -> Array:
        """Memory for an array that this step makes; it keeps it until it runs again."""
        number = self.new_room()
        pointer = self.room_pointer(number, dtype, self.total(lengths))
        return self.packed(dtype, lengths, axes, number, fresh(dtype, pointer))

    def new_room(self) -> int:
        if self.rooms == abi.MOST_ROOMS:
            raise NotScalar("too many arrays")
        self.rooms += 1
        return self.rooms - 1

    def packed(
        self, dtype: DType, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]], number: int, held: Value
    ) -> Array:
        """An array that fills room `number`, in C order."""
        strides = [str(dtype.itemsize)]
        for length in lengths[:0:-1]:
            strides.insert(0, self.lines.do(f"mul i64 {strides[0]}, {length.name}"))
        parts = (tuple(lengths), tuple(strides), tuple(axes))
        return Array(dtype, held.name, *parts, -1 - number, held, number, packed=True)

    def room_pointer(self, number: int, dtype: DType, length: Number) -> str:
        """Where room `number` lies, of so many elements."""
        lines = self.lines
        size = lines.do(f"mul i64 {length.name}, {dtype.itemsize}")
        at = self.room_words(number)
        pointer, there = lines.do(f"load ptr, ptr {at[0]}, align 8"), lines.do(f"load i64, ptr {at[1]}, align 8")

        def ask() -> str:
            made = self.helper("room", "ptr", f"ptr %block, i64 {number}, i64 {size}")
            lines.decline_if(lines.do(f"icmp eq ptr {made}, null"), "failed")
            return made

        return lines.aside(lines.do(f"icmp ule i64 {there}, {size}"), ask, "ptr", pointer)

    def room_words(self, number: int) -> tuple[str, str]:
        """Where the address of a room stands, and how many bytes it has."""
        name = f"%room{number}"
        if number not in self.known_rooms:
            self.known_rooms.add(number)
            word = abi.ROOM_WORDS * number
            self.entry += [
                f"  {name}.rooms.at = getelementptr i64, ptr %block, i64 {abi.WORD_ROOMS}",
                f"  {name}.rooms = load ptr, ptr {name}.rooms.at, align 8",
                f"  {name}.address = getelementptr i64, ptr {name}.rooms, i64 {word}",
                f"  {name}.bytes = getelementptr i64, ptr {name}.rooms, i64 {word + 1}",
            ]
        return f"{name}.address", f"{name}.bytes"

    def call_kernel(self, step: Map, places: list[Array], n_operands: int) -> None:
        """Run a kernel over vectors or matrices; where it does not return 0, neither does the function."""
        lines = self.lines
        letters = ""
        rows = len(places[-1].sizes) == 2
        for place, array in enumerate(places):
            if array.strides[-1] == "0" and place < n_operands:
                letters += abi.CLASS_SINGLE if array.strides[0] == "0" else abi.CLASS_OF_ROW
            else:
                packed = array.strides[-1] == str(array.dtype.itemsize)
                letters += abi.CLASS_PACKED if packed else abi.CLASS_SPREAD
        asks = abi.ASKS_ROWS * rows + abi.ASKS_LOOPS + abi.ASKS_STRICT * self.strict
        function = function_of(step.kernel, letters + asks)
        name = self.kernel(function)
        block = lines.name("%kernel.block")
        loops = range(len(self.loops), len(self.loops) + len(function.loops))
        if loops.stop > MOST_LOOPS:
            raise NotScalar("too many operations of NumPy's own")
        self.loops += [(loop.ufunc, loop.dtypes) for loop in function.loops]
        scratch, first, words = kernel_block(len(places), len(loops))
        room = words + (abi.ROWS_STEPS + len(places)) * rows
        self.entry.append(f"  {block} = alloca [{room} x i64], align 8")
        own_first = self.loop_words + abi.LOOP_WORDS * loops.start
        copied = [(self.scratch_word, scratch), *zip(count(own_first), range(first, words), strict=False)]
        for source, goal in copied:
            at, to, value = (lines.name(stem) for stem in ("%at", "%to", "%word"))
            self.entry += [
                f"  {at} = getelementptr i64, ptr %block, i64 {source}",
                f"  {to} = getelementptr i64, ptr {block}, i64 {goal}",
                f"  {value} = load i64, ptr {at}, align 8",
                f"  store i64 {value}, ptr {to}, align 8",
            ]
        values: list[tuple[int, str, str]] = []
        for place, array in enumerate(places):
            base = abi.PLACE_WORDS * place
            values.append((base + abi.PLACE_POINTER, "ptr", array.pointer))
            values.append((base + abi.PLACE_STRIDE, "i64", array.strides[-1]))
            if rows:
                values.append((words + abi.ROWS_STEPS + place, "i64", array.strides[0]))
        if rows:
            values.append((words + abi.ROWS_COUNT, "i64", places[-1].sizes[0].name))
        for number, kind, value in values:
            word = lines.name("%place")
            self.entry.append(f"  {word} = getelementptr i64, ptr {block}, i64 {number}")
            lines.put(f"  store {kind} {value}, ptr {word}, align 8")
        status = lines.do(f"call i32 @{name}(ptr {block}, i64 {places[-1].sizes[-1].name}) #0")
        failed, on, stop = lines.do(f"icmp ne i32 {status}, 0"), lines.name("on"), lines.name("stop")
        lines.put(f"  br i1 {failed}, label %{stop}, label %{on}, !prof !0")
        lines.apart += [f"{stop}:", f"  ret i32 {status}"]
        lines.label(on)

    def kernel(self, function: Function) -> str:
        """The name of a kernel's function in this module."""
        self.scratch_bytes = max(self.scratch_bytes, function.scratch_bytes)
        text = emit(function, "@").splitlines()
        for name, known in self.kernels.items():
            if known == text:
                return name
        name = f"{NAME}.kernel{len(self.kernels)}"
        self.kernels[name] = text
        return name

    def kernel_texts(self) -> list[str]:
        """The functions of the kernels, and others that are called; what kernels declare is declared once."""
        result = [line for text in self.functions.values() for line in text]
        for name, text in self.kernels.items():
            for line in text:
                if line.startswith("declare "):
                    self.lines.declarations.add(line)
                elif not line.startswith("source_filename"):
                    line = line.replace("@hidden", f"@{name}.hidden").replace("@constant", f"@{name}.constant")
                    result.append(line.replace("define i32 @@(", f"define internal i32 @{name}("))
        return result

    def enter_body(self, body: Schedule, inside: Frame) -> None:
        """What goes into an inner body and is written there lies apart from all else, or nothing there is a vector."""
        if not holds_vectors(body):
            return
        registers = inside.registers.items()
        bases = {place: value.base for place, value in registers if isinstance(value, Array | Element)}
        for written in body.written:
            if any(place != written and base == bases.get(written) for place, base in bases.items()):
                raise NotScalar("memory that goes into a body twice")


def _squeezed(places: Sequence[Array]) -> list[Array]:
    """Arrays of one shape without the axes that have a single element."""
    lengths = places[-1].sizes
    kept = [axis for axis, length in enumerate(lengths) if not length.least == length.most == 1] or [len(lengths) - 1]

    def part(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[axis] for axis in kept)

    return [
        replace(place, sizes=part(place.sizes), strides=part(place.strides), axes=part(place.axes)) for place in places
    ]


def _collide(read: Array, target: Array) -> bool:
    """Whether an array may be read elsewhere than where it is written."""
    same = (read.pointer, read.strides) == (target.pointer, target.strides)
    return read.base == target.base and not same


def holds_vectors(schedule: Schedule) -> bool:
    return any(
        (isinstance(step, Map) and step.shape != ()) or any(map(holds_vectors, bodies(step))) for step in schedule.steps
    )
