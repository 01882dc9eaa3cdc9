"""Writes what machine loops do with whole arrays beside kernels: carry them, choose between two, make and reduce them.

Enters a step, or what a loop carries, with the Frame of its body; leaves lines, or NotScalar. An array that a step
makes lies in a *room*, memory that csrc/machine.c keeps for that step. One that a loop carries, or a choice yields, has
a room of its own: at the end of an iteration, or of a branch, it changes rooms with the array that is handed on, which
costs nothing; what lies elsewhere (an array that goes in, an unchanged one) is copied. All lie packed, in C order.
INVARIANT: a room whose memory is given away was made in that iteration or branch, so that nobody reads it there any
more; nobody writes to an array of which there is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.machine_lists import ListWriter
from dynamo_lite.backends.numba.machine_numbers import NotScalar, Number
from dynamo_lite.backends.numba.machine_slices import constant
from dynamo_lite.backends.numba.machine_steps import Array, Axis, Frame, Value, fresh
from dynamo_lite.backends.numba.machine_vectors import MOST_AXES

from dynamo_lite import _C
from dynamo_lite.graph.scalar import Dim, Symbol
from dynamo_lite.schedule.steps import Alloc, DType, Map, Reduce, Reg

Either: TypeAlias = Callable[[str, str | None, str | None], str]  # a phi of that LLVM type
Handed: TypeAlias = Value | Number | Array  # what loops carry and choices yield


class ArrayWriter(ListWriter):
    """Whole arrays."""

    def require_unwritten(self) -> None:
        """Nobody may tell a copy from the object itself."""
        if self.copied & self.stored:
            raise NotScalar("a store into an array that is handed on")

    def slot(self, given: Array) -> Array:
        """A copy of an array that goes into a loop, in a room for what the loop carries in its place."""
        held = self.require_whole(given)
        self.require_short(given.sizes, given.axes)
        room = self.room(given.dtype, given.sizes, given.axes)
        assert room.room is not None
        self.duplicate(room, given)
        return replace(room, held=held)

    def require_whole(self, array: Array) -> Value:
        """What an array is that is handed on: an object in C order, no view that somebody has made."""
        if array.held is None or array.held.origin is None or array.ordered is None:
            raise NotScalar("what is handed on is no whole array")
        if len(array.sizes) > 1:
            self.vectors |= array.ordered
        return array.held

    def duplicate(self, target: Array, source: Array) -> None:
        """Copy an array that is handed on."""
        self.copied |= {source.base, target.base}
        self.sweep((target, source), lambda rows: self.copy(*rows))

    def move(self, targets: Sequence[Array], sources: Sequence[Array], mark: int) -> list[Array]:
        """Bring the sources into the rooms of the targets, all at once; the vectors there. mark: rooms from that number
        on, and the targets' own, give their memory away."""
        own = {target.room: target.room for target in targets}  # where what was in a room lies now
        waiting: list[int] = []  # what is copied when all memory has changed hands
        taken: set[int | None] = set()
        changed = False
        for place, (target, source) in enumerate(zip(targets, sources, strict=True)):
            assert target.room is not None
            if source.dtype.num != target.dtype.num:  # NB: two of one size are equal
                raise NotScalar("what is handed on is of another dtype")
            if len(source.sizes) != len(target.sizes):
                raise NotScalar("what is handed on has other axes")
            for size, length in zip(source.sizes, target.sizes, strict=True):
                self.require_size(size, length)
            at = own.get(source.room, source.room)
            if source.room is None or (source.room < mark and source.room not in own):
                waiting.append(place)
                continue
            if source.room in taken:
                raise NotScalar("one array that is handed on as two")
            taken.add(source.room)
            if at == target.room:
                continue
            assert at is not None
            self.swap(target.room, at)
            changed = True
            moved = {room: now for room, now in own.items() if now in (target.room, at)}
            own |= {room: at if now == target.room else target.room for room, now in moved.items()}
            own.setdefault(source.room, target.room)
        arrays = []
        for place, (target, source) in enumerate(zip(targets, sources, strict=True)):
            pointer = target.pointer
            assert target.room is not None
            if changed or place in waiting:
                pointer = self.room_pointer(target.room, target.dtype, self.total(target.sizes))
            array = self.packed(target.dtype, target.sizes, source.axes, target.room, fresh(target.dtype, pointer))
            arrays.append(replace(array, held=self.require_whole(source)))
        for place in waiting:
            self.duplicate(arrays[place], sources[place])
        return arrays

    def swap(self, one: int, other: int) -> None:
        """Let two rooms exchange their memory."""
        lines, words = self.lines, (*self.room_words(one), *self.room_words(other))
        values = [lines.do(f"load i64, ptr {word}, align 8") for word in words]
        for value, word in zip((*values[2:], *values[:2]), words, strict=True):
            lines.put(f"  store i64 {value}, ptr {word}, align 8")

    def require_alike(self, ones: list[Handed], others: list[Handed]) -> None:
        if list(map(_form, ones)) != list(map(_form, others)):
            raise NotScalar("a choice between unlike values")

    def settle(self, outputs: list[Handed], rooms: dict[int, Array], mark: int) -> list[Handed]:
        """Bring the vectors that a branch yields into the rooms of the choice. mark: the first room of the branch's."""
        arrays = {place: output for place, output in enumerate(outputs) if isinstance(output, Array)}
        for place, array in arrays.items():
            self.require_whole(array)
            if place not in rooms:
                rooms[place] = replace(array, pointer="", room=self.new_room())
        targets = [replace(array, pointer="", room=rooms[place].room) for place, array in arrays.items()]
        moved = dict(zip(arrays, self.move(targets, list(arrays.values()), mark), strict=True))
        return [moved.get(place, output) for place, output in enumerate(outputs)]

    def merge_arrays(self, one: Array, other: Array, either: Either) -> Array:
        """The vector in a room, from the one side or the other."""
        first, second = self.require_whole(one), self.require_whole(other)
        assert one.room is not None and one.room == other.room
        name = either("ptr", one.pointer, other.pointer)
        held = Value(one.dtype, name, either("i8", first.origin, second.origin), first.makers | second.makers)
        sizes = []
        for size, length in zip(one.sizes, other.sizes, strict=True):
            if size.name != length.name:
                both = either("i64", size.name, length.name)
                size = Number("int", both, min(size.least, length.least), max(size.most, length.most))
            sizes.append(size)
        axes = tuple(map(frozenset.union, one.axes, other.axes))
        return self.packed(one.dtype, sizes, axes, one.room, held)

    def extent(self, dim: Dim, frame: Frame) -> tuple[Number, frozenset[Axis]]:
        """A size of an array that is made, and the axes that are as long."""
        if isinstance(dim, Symbol) and dim.axis is not None:
            array = self.register(dim.input, frame)
            if isinstance(array, Array):
                return array.sizes[dim.axis], array.axes[dim.axis]
        return self.number(dim, frame), frozenset()

    def alloc(self, step: Alloc, frame: Frame) -> None:
        """A new vector, maybe filled."""
        if not 1 <= len(step.shape) <= MOST_AXES or step.dtype.kind not in "biuf" or step.dtype.itemsize > 8:
            raise NotScalar("a new array of other axes or dtype")
        if step.order != "C" and len(step.shape) > 1:
            raise NotScalar("a new array in another order")
        extents = [self.extent(dim, frame) for dim in step.shape]
        sizes, axes = [size for size, _ in extents], [known for _, known in extents]
        if any(size.least < 0 for size in sizes):
            raise NotScalar("a new array of a size that may be negative")
        self.require_short(sizes, axes)
        array = self.room(step.dtype, sizes, axes)
        if step.fill is not None:
            kind = scalar_type(step.dtype)
            value = self.operand(step.fill, step.dtype, frame)
            cell = self.lines.name("%cell")
            self.entry.append(f"  {cell} = alloca [16 x i8], align 16")
            self.lines.put(f"  store {kind} {value}, ptr {cell}, align {step.dtype.alignment}")
            length = self.total(sizes)
            flat = replace(array, sizes=(length,), strides=(str(step.dtype.itemsize),))
            self.copy(flat, Array(step.dtype, cell, (length,), ("0",), (frozenset(),), None))
        frame.registers[step.dst] = array

    def reduce(self, step: Reduce, frame: Frame) -> None:
        """A vector or a packed matrix reduced along all axes or one, by the arithmetic of csrc/fold.c."""
        number = _C.find_fold(step.ufunc, step.dtype)
        kernel = step.kernel
        (value,) = kernel.results
        dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
        if number < 0 or dtypes[value] != step.dtype or step.dtype.itemsize > 8:
            raise NotScalar(f"{step.ufunc.__name__}.reduce of {dtypes[value]}")
        operand = step.operands[value] if value < len(step.operands) else None
        array = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        lengths = [self.number(dim, frame) for dim in step.shape]
        if not isinstance(array, Array) or _is_broadcast(array, lengths):
            inside = Frame(dict(frame.registers), frame.numbers, frame.cache, frame.places, frame.n_inputs)
            self.map(Map(kernel, step.operands, step.shape, (step.dst,), (False,), (False,)), inside)
            array = inside.registers[step.dst]
        if not isinstance(array, Array) or len(array.sizes) != len(step.shape) or array.dtype != step.dtype:
            raise NotScalar("a reduction of what is no array")
        for size, length in zip(array.sizes, lengths, strict=True):
            self.require_size(size, length)
        self.require_short(array.sizes, array.axes)
        if len(array.sizes) > 1:
            if not array.packed or array.ordered is None:
                raise NotScalar("a reduction of an array that does not lie packed")
            self.vectors |= array.ordered
        if len(step.axes) == len(step.shape) and step.scalar:
            frame.registers[step.dst] = fresh(step.dtype, self.fold(step, number, array))
        elif not step.scalar and step.axes == tuple(range(step.axes[0], step.axes[-1] + 1)):
            frame.registers[step.dst] = self.fold_axes(step, number, array)
        else:
            raise NotScalar("a reduction along such axes")

    def fold(self, step: Reduce, number: int, array: Array) -> str:
        """All elements of an array as one."""
        lines, kind, length = self.lines, scalar_type(step.dtype), self.total(array.sizes)
        stride = array.strides[0] if len(array.sizes) == 1 else str(step.dtype.itemsize)

        def ask() -> str:
            words = f"ptr %helper.result, ptr {array.pointer}, i64 {length.name}, i64 {stride}"
            failed = self.helper("fold", "i32", f"i64 {number}, {words}")
            lines.decline_if(lines.do(f"icmp ne i32 {failed}, 0"), "fold")
            return lines.do(f"load {kind}, ptr %helper.result, align {step.dtype.alignment}")

        if step.ufunc is not np.add or step.dtype.char not in "fd" or stride != str(step.dtype.itemsize):
            return ask()
        self.functions.setdefault(f"sum.{kind}", small_sum(kind))
        short = lines.do(f"call {kind} @sum.{kind}(ptr {array.pointer}, i64 {length.name}) #0")
        unsure, long = lines.is_nan(step.dtype, short), lines.do(f"icmp ugt i64 {length.name}, {LEAF}")
        return lines.aside(lines.do(f"or i1 {unsure}, {long}"), ask, kind, short)

    def fold_axes(self, step: Reduce, number: int, array: Array) -> Array:
        """Neighbouring axes as one."""
        first, behind = step.axes[0], step.axes[-1] + 1
        sizes, axes = list(array.sizes), list(array.axes)
        sizes[first:behind] = [constant(1) for _ in step.axes if step.keepdims]
        axes[first:behind] = [frozenset() for _ in step.axes if step.keepdims]
        out = self.room(step.dtype, sizes, axes)
        parts = (array.sizes[:first], array.sizes[first:behind], array.sizes[behind:])
        extents = ", ".join(f"i64 {self.total(part or (constant(1),)).name}" for part in parts)
        failed = self.helper("fold_axes", "i32", f"i64 {number}, ptr {out.pointer}, ptr {array.pointer}, {extents}")
        self.lines.decline_if(self.lines.do(f"icmp ne i32 {failed}, 0"), "fold")
        return out


LEAF = 128  # numbers that NumPy adds up in eight accumulators


def small_sum(kind: str) -> list[str]:
    """The function ``sum.kind(ptr, n)``: the sum of n <= LEAF packed numbers, of more 0, in the order of NumPy's
    pairwise_sum (numpy/_core/src/umath/loops_utils.h.src): csrc/fold_pairwise.h has it for any layout."""
    vector = f"<8 x {kind}>"
    align = 8 if kind == "double" else 4
    lines = [
        f"define internal {kind} @sum.{kind}(ptr %a, i64 %n) alwaysinline {{",
        "entry:",
        f"  %long = icmp ugt i64 %n, {LEAF}",
        "  br i1 %long, label %no, label %yes",
        "no:",
        f"  ret {kind} 0.0",
        "yes:",
        "  %small = icmp ult i64 %n, 8",
        "  br i1 %small, label %rest, label %blocks",
        "blocks:",
        f"  %first = load {vector}, ptr %a, align {align}",
        "  %whole = and i64 %n, -8",
        "  br label %head",
        "head:",
        "  %i = phi i64 [ 8, %blocks ], [ %i.next, %body ]",
        f"  %r = phi {vector} [ %first, %blocks ], [ %r.next, %body ]",
        "  %on = icmp ult i64 %i, %whole",
        "  br i1 %on, label %body, label %tree",
        "body:",
        f"  %at = getelementptr {kind}, ptr %a, i64 %i",
        f"  %more = load {vector}, ptr %at, align {align}",
        f"  %r.next = fadd {vector} %r, %more",
        "  %i.next = add i64 %i, 8",
        "  br label %head",
        "tree:",
        *(f"  %r{lane} = extractelement {vector} %r, i64 {lane}" for lane in range(8)),
        *(f"  %p{lane} = fadd {kind} %r{lane}, %r{lane + 1}" for lane in range(0, 8, 2)),
        *(f"  %q{lane} = fadd {kind} %p{lane}, %p{lane + 2}" for lane in range(0, 8, 4)),
        f"  %all = fadd {kind} %q0, %q4",
        "  br label %rest",
        "rest:",
        "  %j = phi i64 [ 0, %yes ], [ %whole, %tree ], [ %j.next, %one ]",
        f"  %sum = phi {kind} [ -0.0, %yes ], [ %all, %tree ], [ %sum.next, %one ]",
        "  %left = icmp ult i64 %j, %n",
        "  br i1 %left, label %one, label %end",
        "one:",
        f"  %from = getelementptr {kind}, ptr %a, i64 %j",
        f"  %number = load {kind}, ptr %from, align {align}",
        f"  %sum.next = fadd {kind} %sum, %number",
        "  %j.next = add i64 %j, 1",
        "  br label %rest",
        "end:",
        f"  %result = fadd {kind} %sum, 0.0",  # NumPy begins at 0.0
        f"  ret {kind} %result",
        "}",
    ]
    return lines


def _is_broadcast(array: Array, lengths: Sequence[Number]) -> bool:
    """Whether an array is repeated along some of axes of such lengths."""
    pairs = zip(array.sizes, lengths, strict=False)
    return len(array.sizes) != len(lengths) or any(size.most == 1 != length.most for size, length in pairs)


def _form(value: Handed) -> tuple[str, DType | str]:
    return type(value).__name__, value.kind if isinstance(value, Number) else value.dtype
