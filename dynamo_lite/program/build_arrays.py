"""Makes the nodes of what loops do with whole arrays and lists beside kernels: carry, choose, make, reduce, append.

Enters a step, or what a loop carries, with the Frame of its body; leaves nodes, or NotCompiled. An array that a step
makes lies in a *room*, memory that csrc/program/machine.c keeps for that step. One that a loop carries, or a choice
yields, has a room of its own: at the end of an iteration, or of a branch, it changes rooms with the array that is
handed on, which costs nothing; what lies elsewhere (an array that goes in, an unchanged one) is copied. All lie packed,
in C order. What is appended to a list and also handed on has to be that very object: its origin says which append has
made the object, or 0 if none has yet; an append makes one, or appends that object again. Of several registers that may
be the object that an append makes, only the one that is appended goes on.
INVARIANT: a room whose memory is given away was made in that iteration or branch, so that nobody reads it there any
more; nobody writes to an array of which there is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import Dim, Symbol, is_symbolic
from dynamo_lite.ops.lists import is_single
from dynamo_lite.program.build_numbers import INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import (
    IN_ORDER,
    Array,
    Axis,
    Elementwise,
    Frame,
    Held,
    List,
    NumpyScalar,
    Point,
    Register,
)
from dynamo_lite.program.build_vectors import MOST_AXES, VectorBuilder
from dynamo_lite.program.ir import DType, Fold, Memref, Store, Swap, Value
from dynamo_lite.schedule.steps import Alloc, Map, New, Operand, Put, Reduce, Reg

Either: TypeAlias = Callable[[Value | Memref, Value | Memref], Value | Memref]  # what a choice hands out
Handed: TypeAlias = NumpyScalar | Number | Array | List  # what loops carry and choices yield
MOST_CONSTANTS = 25  # of an array that machine code writes itself
OBJECT = np.dtype(object)
PYTHON_TYPES = {"int": abi.PYTHON_INT, "float": abi.PYTHON_FLOAT, "bool": abi.PYTHON_BOOL}


@cache
def reduces_a_copy() -> bool:
    """Whether this NumPy sums the elements of a part of a matrix as those of a packed copy, where its buffers have room
    for them, as csrc/program/machine.c asks."""
    x = np.sin(np.arange(3000.0)).reshape(60, 50)
    sizes = ((2, 2), (3, 3), (3, 9), (9, 3), (20, 30))
    parts = [x[i : i + n, j : j + m] for n, m in sizes for i in (0, 7) for j in (1, 8)]
    with np.errstate():
        np.setbufsize(abi.BUFFERED)
        return all(
            np.array_equal(np.add.reduce(part, axis=axis), np.add.reduce(part.copy(), axis=axis))
            for part in parts
            for axis in (None, 0, 1)
        )


def held(value: Register | Number) -> NumpyScalar | Held | None:
    """The object that a value is; None of a number."""
    return value.held if isinstance(value, Array) else value if isinstance(value, NumpyScalar) else None


def origin_of(value: Register | Number) -> Value | None:
    """The origin of the object that a value is, if that is known."""
    whole = held(value)
    return None if whole is None else whole.origin


def _known(origin: Value) -> int:
    """The origin of an object that there has been from the begin on, 0 of another."""
    return 0 if origin.number is None else int(origin.number)


def with_origin(value: Register, origin: Value | None) -> Register:
    """A NumPy scalar or array that is known to be the object of that origin; None: it must not leave the routine."""
    if isinstance(value, NumpyScalar):
        return replace(value, origin=origin)
    if not isinstance(value, Array) or value.held is None:
        return value
    return replace(value, held=None if origin is None else replace(value.held, origin=origin))


class ArrayBuilder(VectorBuilder):
    """Whole arrays and lists. forward: some operation tells an array that is reversed; multiplies: one whose elements
    lie apart. sized: numbers that are sizes, with the axes. phis: what each that is handed on may be."""

    def __init__(self, elementwise: Elementwise, asks: str) -> None:
        super().__init__(elementwise, asks)
        self.forward = self.multiplies = False
        self.phis: dict[Value | Memref, frozenset[Value | Memref]] = {}
        self.sized: dict[Value, frozenset[Axis]] = {}

    # Lists

    def append(self, step: Put, frame: Frame) -> None:
        """Append a NumPy scalar, an array or a number, or a tuple or list of such."""
        target = frame.registers.get(step.list)
        if not isinstance(target, List) or step.packed not in (None, tuple, list) or step.key is not None:
            raise NotCompiled("a list of its own")
        for place, value in enumerate(step.values):
            self.append_value(target, value, step.tags[place : place + 1], step.table, frame)
        if step.packed is not None:
            words = [self.constant(INT64, len(step.values)), self.constant(INT64, int(step.packed is tuple))]
            self.helper("pack", (target.value, *words), failure=abi.RETURNED_FAILED)

    def new_list(self, step: New, frame: Frame) -> None:
        """A list that an iteration makes."""
        if step.is_dict or step.is_table or step.value is not None:
            raise NotCompiled("a dict, or a list of the same item")
        made = self.helper("new_list", (), OBJECT)
        assert made is not None
        frame.registers[step.dst] = List(made)

    def append_value(self, target: List, appended: Operand, tags: Sequence[Operand], table: int, frame: Frame) -> None:
        """Append one; tags: its tag, if it has one, for the table in that register."""
        register = frame.registers.get(appended.index) if isinstance(appended, Reg) else None
        if isinstance(register, List):
            self.helper("append_held", (target.value, register.value), failure=abi.RETURNED_FAILED)
            return
        register = self.register(appended.index, frame) if isinstance(appended, Reg) else None
        if isinstance(register, Array) and isinstance(appended, Reg):
            if register.dtype.kind not in "biufc" or register.held is None or register.ordered is None:
                raise NotCompiled("an array that lies elsewhere")
            if register.room is None and _known(register.held.origin) == 0:
                raise NotCompiled("an array that lies elsewhere")
            self.copied.add(register.base)
            words: list[Value | Memref] = [self.begin(register), *self.as_words(register.sizes)]
            self.append_object("append_array", target, appended.index, frame, words)
        elif isinstance(appended, Reg):
            value = self.scalar(appended, frame).value
            if value.dtype.itemsize > INT64.itemsize:  # the helper takes its bits
                raise NotCompiled("a number of more than 64 bits in a list")
            self.append_object("append_scalar", target, appended.index, frame, [value])
        elif is_symbolic(appended) or tags or is_single(appended):
            number = self.number(appended, frame)
            if number.kind == "float":  # C and Python need not keep the same NaN
                self.decline_if(self.is_nan(number.value), abi.RETURNED_NUMBER)
            self.append_number(tags, table, target, number, frame)
        else:
            raise NotCompiled("a constant")

    def append_number(self, tags: Sequence[Operand], table_at: int, target: List, number: Number, frame: Frame) -> None:
        """Append a Python number: a new object, or the one with its tag."""
        words: list[Value] = [target.value, self.constant(INT64, PYTHON_TYPES[number.kind])]
        name = "append"
        if tags and tags[0] != 0:
            table, name = frame.registers.get(table_at), "append_tagged"
            if not isinstance(table, List):
                raise NotCompiled("a table of its own")
            words += [table.value, self.number(tags[0], frame).value]
        self.helper(name, (*words, number.value), failure=abi.RETURNED_FAILED)

    def append_object(self, name: str, target: List, index: int, frame: Frame, what: Sequence[Value | Memref]) -> None:
        """Append what is in a register: the object that it is, or a new one, which it is from now on."""
        value = self.register(index, frame)
        before = origin_of(value)
        if before is None:
            raise NotCompiled("nobody can tell which object it is")
        kind = self.constant(INT64, int(what[0].dtype.num))
        after = self.helper(name, (target.value, kind, before, *what), INT64)
        assert after is not None
        self.decline_if(self.op("equal", after, self.constant(INT64, 0)), abi.RETURNED_FAILED)
        if not _known(before):
            self.set_origin(index, after, frame)

    def set_origin(self, index: int, origin: Value | None, frame: Frame) -> None:
        """Note which object a register is; of others that may be the same one nobody can tell any more."""
        value = held(frame.registers[index])
        for other, register in frame.registers.items():
            whole = held(register)
            if other == index:
                frame.registers[index] = with_origin(register, origin)
            elif whole is not None and value is not None and not whole.makers.isdisjoint(value.makers):
                frame.registers[other] = with_origin(register, None)

    def changed_origins(self, operands: Sequence[Any], inner: Frame, frame: Frame) -> dict[int, Any]:
        """What a body has learned about which objects the registers are that go into it: their new origins, by
        where they are outside."""
        found: dict[int, Any] = {}
        for place, operand in enumerate(operands):
            if isinstance(operand, Reg):
                now = origin_of(inner.registers[place])
                if now is not origin_of(frame.registers[operand.index]):
                    found[operand.index] = None if found.get(operand.index, now) is not now else now
        return found

    # What is handed on

    def require_unwritten(self) -> None:
        """Nobody may tell a copy from the object itself."""
        if self.copied & self.stored:
            raise NotCompiled("a store into an array that is handed on")

    def written_copies(self) -> set[int]:
        """The arrays that go in whose reshaped copies nobody may tell from views, though they are written: where these
        lie packed there are no copies."""
        return {base for base in self.reshaped_copies & self.stored if base is not None and base >= 0}

    def slot(self, given: Array) -> Array:
        """A copy of an array that goes into a loop, in a room for what the loop carries in its place."""
        whole = self.require_whole(given)
        self.require_short(given.sizes, given.axes)
        room = self.room(given.dtype, given.sizes, given.axes)
        self.duplicate(room, given)
        return replace(room, held=whole)

    def require_whole(self, array: Array) -> Held:
        """What an array is that is handed on: an object in C order, no view that somebody has made."""
        if array.held is None or array.ordered is None:
            raise NotCompiled("what is handed on is no whole array")
        if len(array.sizes) > 1:
            self.vectors |= array.ordered
        return array.held

    def duplicate(self, target: Array, source: Array) -> None:
        """Copy an array that is handed on. The copy lies packed: where that shows, the array has to as well."""
        self.copied |= {source.base, target.base}
        if self.multiplies and source.base is not None and source.base >= 0:
            self.vectors.add((source.base, IN_ORDER))
        if self.forward:
            self.decline_reversed(source)
        self.sweep((target, source), lambda rows: self.copy(*rows))

    def resized(self, slot: NumpyScalar | Array, length: Number) -> Array:
        """What a loop carries in a room, where iterations change its length."""
        assert isinstance(slot, Array) and slot.room is not None and slot.held is not None
        sizes, axes = self.tested((length, *slot.sizes[1:]))
        return self.packed(sizes, axes, slot.room, slot.first, slot.held)

    def require_length(self, array: Handed, length: Handed) -> None:
        """An array is as long as the number says which is handed on with it."""
        if not isinstance(array, Array) or not isinstance(length, Number):
            raise NotCompiled("an array whose length is no number")
        self.require_size(array.sizes[0], length)

    def move(
        self,
        targets: Sequence[Array],
        sources: Sequence[Array],
        mark: int,
        lent: frozenset[int] = frozenset(),
        changing: Collection[int | None] = (),
    ) -> list[Array]:
        """Bring the sources into the rooms of the targets, all at once; the arrays there. mark: rooms from that number
        on, those that are lent, and the targets' own, give their memory away. changing: rooms of targets that get
        arrays of other lengths."""
        own = {target.room: target.room for target in targets}  # where what was in a room lies now
        waiting: list[int] = []  # what is copied when all memory has changed hands
        taken: set[int | None] = set()
        changed = False
        for place, (target, source) in enumerate(zip(targets, sources, strict=True)):
            assert target.room is not None
            if source.dtype.num != target.dtype.num:  # NB: two of one size are equal
                raise NotCompiled("what is handed on is of another dtype")
            if len(source.sizes) != len(target.sizes):
                raise NotCompiled("what is handed on has other axes")
            for axis, (size, length) in enumerate(zip(source.sizes, target.sizes, strict=True)):
                if axis or target.room not in changing:
                    self.require_size(size, length)
            at = own.get(source.room, source.room)
            again = source.room in taken and source.room in lent
            if source.room is None or again or (source.room < mark and source.room not in {*own, *lent}):
                waiting.append(place)
                continue
            if source.room in taken:
                raise NotCompiled("one array that is handed on as two")
            taken.add(source.room)
            if at == target.room:
                continue
            assert at is not None
            self.nodes.append(Swap(target.room, at))
            changed = True
            moved = {room: now for room, now in own.items() if now in (target.room, at)}
            own |= {room: at if now == target.room else target.room for room, now in moved.items()}
            own.setdefault(source.room, target.room)
        arrays = []
        for place, (target, source) in enumerate(zip(targets, sources, strict=True)):
            first = target.first
            sizes = (source.sizes[0], *target.sizes[1:]) if target.room in changing else target.sizes
            assert target.room is not None
            if changed or place in waiting:
                first = self.room_memory(target.room, target.dtype, self.total(sizes))
            whole = self.require_whole(source)
            arrays.append(self.packed(sizes, source.axes, target.room, first, whole))
        for place in waiting:
            self.duplicate(arrays[place], sources[place])
        return arrays

    def require_alike(self, ones: list[Handed], others: list[Handed]) -> None:
        if list(map(_form, ones)) != list(map(_form, others)):
            raise NotCompiled("a choice between unlike values")

    def settle(
        self, outputs: list[Handed], rooms: dict[int, int], mark: int, lent: frozenset[int] = frozenset()
    ) -> list[Handed]:
        """Bring the arrays that a branch yields into the rooms of the choice, by the number of the output. mark: the
        first room of the branch's; lent: others that may give their memory away."""
        arrays = {place: output for place, output in enumerate(outputs) if isinstance(output, Array)}
        for place, array in arrays.items():
            self.require_whole(array)
            if place not in rooms:
                rooms[place] = self.new_room()
        targets = [replace(array, room=rooms[place]) for place, array in arrays.items()]
        moved = dict(zip(arrays, self.move(targets, list(arrays.values()), mark, lent), strict=True))
        return [moved.get(place, output) for place, output in enumerate(outputs)]

    def merged(self, one: Handed, other: Handed, either: Either) -> Handed:
        """What comes from the one side or the other."""
        if isinstance(one, Array) and isinstance(other, Array):
            return self.merged_arrays(one, other, either)
        if isinstance(one, NumpyScalar) and isinstance(other, NumpyScalar):
            value, origin = either(one.value, other.value), None
            if one.origin is not None and other.origin is not None:
                origin = either(one.origin, other.origin)
            assert isinstance(value, Value) and not isinstance(origin, Memref)
            return NumpyScalar(value, origin, one.makers | other.makers)
        if isinstance(one, List) and isinstance(other, List):
            value = either(one.value, other.value)
            assert isinstance(value, Value)
            return List(value, False)
        assert isinstance(one, Number) and isinstance(other, Number)
        value = either(one.value, other.value)
        assert isinstance(value, Value)
        return Number(one.kind, value, min(one.least, other.least), max(one.most, other.most))

    def merged_arrays(self, one: Array, other: Array, either: Either) -> Array:
        """The array in a room, from the one side or the other."""
        first, second = self.require_whole(one), self.require_whole(other)
        assert one.room is not None and one.room == other.room
        begin = either(one.first, other.first)
        origin = either(first.origin, second.origin)
        assert isinstance(begin, Memref) and isinstance(origin, Value)
        sizes, axes, is_open = [], [], False
        for axis, (size, length) in enumerate(zip(one.sizes, other.sizes, strict=True)):
            known = one.axes[axis] | other.axes[axis]
            if size.value is not length.value:
                both = either(size.value, length.value)
                assert isinstance(both, Value)
                size = Number("int", both, min(size.least, length.least), max(size.most, length.most))
                known = one.axes[axis] & other.axes[axis]  # the sizes may differ
                is_open |= not known and size.least != size.most
            sizes.append(size)
            axes.append(known)
        if is_open:
            sizes, tested = self.tested(sizes)
            axes = [known | axis for known, axis in zip(axes, tested, strict=True)]
        return self.packed(sizes, axes, one.room, begin, Held(begin, origin, first.makers | second.makers))

    # Steps

    def extent(self, dim: Dim, frame: Frame) -> tuple[Number, frozenset[Axis]]:
        """A size of an array that is made, and the axes that are as long."""
        if isinstance(dim, Symbol) and dim.axis is not None:
            array = self.register(dim.input, frame)
            if isinstance(array, Array):
                return array.sizes[dim.axis], array.axes[dim.axis]
        number = self.number(dim, frame)
        return number, self.sized.get(number.value, frozenset())

    def extents(self, shape: Sequence[Dim], frame: Frame) -> tuple[list[Number], list[frozenset[Axis]]]:
        """The sizes of an array that is made, which are tested where nothing is known to be as long."""
        extents = [self.extent(dim, frame) for dim in shape]
        sizes, axes = [size for size, _ in extents], [known for _, known in extents]
        if all(known or size.least == size.most for size, known in extents):
            self.require_short(sizes, axes)
        else:
            sizes, tested = self.tested(sizes)
            axes = [known | axis for known, axis in zip(axes, tested, strict=True)]
        return sizes, axes

    def as_words(self, sizes: Sequence[Number]) -> list[Value]:
        """How many axes there are, and their sizes."""
        words = [size.value for size in sizes] + [self.constant(INT64, 1)] * (MOST_AXES - len(sizes))
        return [self.constant(INT64, len(sizes)), *words]

    def alloc(self, step: Alloc, frame: Frame) -> None:
        """A new array, maybe filled."""
        if len(step.shape) > MOST_AXES or step.dtype.kind not in "biuf" or step.dtype.itemsize > 8:
            raise NotCompiled("a new array of other axes or dtype")
        if not step.shape:
            number = self.new_room()
            point = Point(self.room_memory(number, step.dtype, self.exactly(1)), -1 - number)
            if step.fill is not None:
                self.nodes.append(Store(point.memref, (), self.operand(step.fill, step.dtype, frame)))
            frame.registers[step.dst] = point
            return
        if step.order != "C" and len(step.shape) > 1:
            self.require_ordered(step, frame)
        sizes, axes = self.extents(step.shape, frame)
        array = self.room(step.dtype, sizes, axes)
        if step.fill is not None:
            length = (self.total(sizes),)
            filling = self.repeated(self.operand(step.fill, step.dtype, frame), length)
            self.copy(replace(array, sizes=length, strides=(self.stride(step.dtype.itemsize),)), filling)
        frame.registers[step.dst] = array

    def table(self, register: int, known: np.ndarray[Any, Any], frame: Frame) -> None:
        """A short array of constants, of a filter say: it is written where it is needed."""
        if not known.ndim and known.dtype.kind in "biuf" and known.dtype.itemsize <= 8 and known.dtype.isnative:
            frame.registers[register] = Point(self.cell(self.constant(known.dtype, known[()])), None)
            return
        if not 1 <= known.ndim <= MOST_AXES or not 1 <= known.size <= MOST_CONSTANTS or not known.flags.c_contiguous:
            return
        if known.dtype.kind not in "biuf" or known.dtype.itemsize > 8 or not known.dtype.isnative:
            return
        array = self.room(known.dtype, [self.exactly(size) for size in known.shape], [frozenset()] * known.ndim)
        elements = self.memref(array)
        for place in np.ndindex(known.shape):
            element = self.shown(elements, (), (), tuple(self.constant(INT64, index) for index in place))
            self.nodes.append(Store(element, (), self.constant(known.dtype, known[place])))
        frame.registers[register] = replace(array, held=None, room=None)  # which object it is nobody here knows

    def require_ordered(self, step: Alloc, frame: Frame) -> None:
        """A new array that lies like others: these lie packed in C order."""
        for like in step.like:
            array = self.register(like.index, frame)
            if step.order == "F" or not isinstance(array, Array) or not array.packed or array.ordered is None:
                raise NotCompiled("a new array in another order")
            self.vectors |= array.ordered
        if not step.like:
            raise NotCompiled("a new array in another order")

    def reduce(self, step: Reduce, frame: Frame) -> None:
        """A vector or a packed matrix reduced along all axes or one, by the arithmetic of csrc/kernels/fold.c."""
        number = _C.find_fold(step.ufunc, step.dtype)
        kernel = step.kernel
        (value,) = kernel.results
        dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
        if number < 0 or dtypes[value] != step.dtype or step.dtype.itemsize > 8:
            raise NotCompiled(f"{step.ufunc.__name__}.reduce of {dtypes[value]}")
        operand = step.operands[value] if value < len(step.operands) else None
        array = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        lengths = [self.number(dim, frame) for dim in step.shape]
        if not isinstance(array, Array) or _is_broadcast(array, lengths):
            inside = Frame(dict(frame.registers), frame.numbers, frame.cache, frame.places, frame.n_inputs)
            self.map(Map(kernel, step.operands, step.shape, (step.dst,), (False,), (False,)), inside)
            array = inside.registers[step.dst]
        if not isinstance(array, Array) or len(array.sizes) != len(step.shape) or array.dtype != step.dtype:
            raise NotCompiled("a reduction of what is no array")
        for size, length in zip(array.sizes, lengths, strict=True):
            self.require_size(size, length)
        self.require_short(array.sizes, array.axes)
        if len(array.sizes) > 1:
            if not array.packed or array.ordered is None:
                array = self.gathered(array)
            assert array.ordered is not None
            self.vectors |= array.ordered
        if len(step.axes) == len(step.shape) and (step.scalar or len(array.sizes) == 1):
            stride = array.strides[0] if len(array.sizes) == 1 else self.stride(step.dtype.itemsize)
            result = self.new(step.dtype)
            memref = self.shown(array.first, (self.total(array.sizes),), (stride,))
            self.nodes.append(Fold(result, step.ufunc, memref))
            frame.registers[step.dst] = self.fresh(result)
            if not step.scalar and step.keepdims:  # a vector need not lie packed, as `fold_axes` wants it
                out = self.room(step.dtype, (self.exactly(1),), (frozenset(),))
                self.nodes.append(Store(out.first, (), result))
                frame.registers[step.dst] = out
        elif not step.scalar and step.axes == tuple(range(step.axes[0], step.axes[-1] + 1)):
            frame.registers[step.dst] = self.fold_axes(step, number, array)
        else:
            raise NotCompiled("a reduction along such axes")

    def gathered(self, array: Array) -> Array:
        """A matrix that need not lie packed, in order: NumPy reduces it as it would a copy."""
        if array.ordered is None or len(array.sizes) != 2 or not reduces_a_copy():
            raise NotCompiled("a reduction of an array that does not lie packed")
        self.vectors |= array.ordered
        most = self.constant(INT64, abi.BUFFERED)
        self.decline_if(self.op("greater", self.total(array.sizes).value, most), abi.RETURNED_LONG)
        return self.packed_copy(array)

    def fold_axes(self, step: Reduce, number: int, array: Array) -> Array:
        """Neighbouring axes as one."""
        first, behind = step.axes[0], step.axes[-1] + 1
        sizes, axes = list(array.sizes), list(array.axes)
        sizes[first:behind] = [self.exactly(1) for _ in step.axes if step.keepdims]
        axes[first:behind] = [frozenset() for _ in step.axes if step.keepdims]
        out = self.room(step.dtype, sizes, axes)
        parts = (array.sizes[:first], array.sizes[first:behind], array.sizes[behind:])
        extents = [self.total(part or (self.exactly(1),)).value for part in parts]
        operands: list[Value | Memref] = [self.constant(INT64, number), self.begin(out), self.begin(array), *extents]
        self.helper("fold_axes", operands, failure=abi.RETURNED_FOLD)
        return out


def _is_broadcast(array: Array, lengths: Sequence[Number]) -> bool:
    """Whether an array is repeated along some of axes of such lengths."""
    pairs = zip(array.sizes, lengths, strict=False)
    return len(array.sizes) != len(lengths) or any(size.most == 1 != length.most for size, length in pairs)


def _form(value: Handed) -> tuple[str, DType | str]:
    if isinstance(value, Number):
        return "number", value.kind
    return type(value).__name__, value.dtype if isinstance(value, Array) else value.value.dtype
