"""Makes the nodes of what chooses elements of arrays: by masks, by what is not zero, in sorted order, each once.

How many there are only the run finds: their array lies in a room for as many as there can be, and its length is a
number that the step yields, so that all other steps work on it like on any array:

    %i: int64[y0] = nonzero(%m)  ->  m1 = room 0 of a0.n0; v1 = call nonzero(a0 ..., m1); y0 = v1

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers and numbers, or NotCompiled.
INVARIANT: an array that NumPy would return as a view of another one, as np.nonzero does, never leaves the routine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import is_scalar, kind_of
from dynamo_lite.program.build_numbers import FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_places import PlaceBuilder
from dynamo_lite.program.build_steps import Array, Axis, Frame, Held
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import Memref, Store, Value
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.steps import Call, Masked, Reg

KINDS = ("quicksort", "heapsort", "stable", "mergesort")
STABLE = 2  # NumPy's number of it


def _beneath(function: Callable[..., Any]) -> Callable[..., Any]:
    """As schedule/call.py calls it."""
    beneath: Callable[..., Any] = getattr(function, "_implementation", function)
    return beneath


class SelectionBuilder(PlaceBuilder):
    """Selected elements beside whole arrays."""

    # Of calls that a method of that name makes: the functions, and the ops that are evaluated.
    functions: ClassVar[tuple[tuple[Any, str], ...]] = (
        *((np.ndarray.nonzero, "nonzero"), (np.ndarray.argsort, "argsort"), (np.arange, "arange")),
        *((_beneath(np.unique), "unique"), (_beneath(np.bincount), "bincount")),
    )
    evaluated: ClassVar[frozenset[str]] = frozenset({"nonzero", "argsort", "unique", "bincount", "arange"})

    def call(self, step: Call, frame: Frame) -> None:
        if isinstance(step.function, Evaluation):
            name = step.function.op.name if step.function.op.name in self.evaluated else None
        else:
            name = next((name for function, name in self.functions if function is step.function), None)
        if name is None:
            super().call(step, frame)
        else:
            getattr(self, name)(step, frame)

    # Arrays whose length the run finds

    def open_array(self, dtype: Any, most: Number, count: Number, axes: frozenset[Axis]) -> Array:
        """Memory for `most` elements, of which `count` will be there."""
        number = self.new_room()
        first = self.room_memory(number, dtype, most)
        return self.as_open(number, first, count, axes)

    def as_open(self, number: int, first: Memref, count: Number, axes: frozenset[Axis], held: bool = True) -> Array:
        array = self.packed([count], [axes], number, first, Held(first, self.origin(0), frozenset((first,))))
        return array if held else replace(array, held=None, room=None)

    def longest(self, array: Array) -> tuple[Number, frozenset[Axis]]:
        """How many elements an array has, which is not long; and the axes that are as long."""
        self.require_short(array.sizes, array.axes)
        if len(array.sizes) == 1:
            return array.sizes[0], array.axes[0]
        total = self.total(array.sizes)
        return replace(total, most=min(total.most, abi.MOST_VECTOR)), frozenset()

    def plane(self, array: Array, axes: int) -> list[Value]:
        """The first axes of an array as rows: how many, of how many elements, and the strides."""
        one, none = self.constant(INT64, 1), self.constant(INT64, 0)
        if axes == 1:
            return [one, array.sizes[0].value, none, array.strides[0]]
        if axes == 2:
            return [array.sizes[0].value, array.sizes[1].value, array.strides[0], array.strides[1]]
        raise NotCompiled("a mask of many axes")

    def nonzero(self, step: Call, frame: Frame) -> None:
        """The indices of what is not zero: views of one array with a row for each."""
        source = self.array(step.args[0], frame)
        dtype, ndim = source.dtype, len(source.sizes)
        if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype.char == "e":
            raise NotCompiled(f"what is not zero of {dtype}")
        if ndim > 2 or step.kwargs or len(step.dsts) != ndim:
            raise NotCompiled("what is not zero of many axes")
        most, axes = self.longest(source)
        number = self.new_room()
        length = self.op("multiply", most.value, self.constant(INT64, ndim)) if ndim > 1 else most.value
        # NB: one more is written than there are.
        more = Number("int", self.op("add", length, self.constant(INT64, ndim)), 0)
        places = self.room_memory(number, INT64, more)
        what, pairs = self.constant(INT64, dtype.num), self.constant(INT64, int(ndim > 1))
        words: list[Value | Memref] = [what, self.begin(source), *self.plane(source, ndim), pairs, places]
        count = Number("int", self.computed("nonzero", words, INT64), 0, most.most)
        frame.numbers[step.yields[0].input] = count
        stride = self.stride(ndim * INT64.itemsize)
        for place, dst in enumerate(step.dsts):
            frame.registers[dst] = Array(self.part_of(places, place), (count,), (stride,), (axes,), -1 - number)

    def part_of(self, first: Memref, place: int) -> Memref:
        """The element at a place behind the first one."""
        if place == 0:
            return first
        strides = (self.stride(first.dtype.itemsize),)
        whole = self.shown(first, (self.exactly(place + 1),), strides)
        return self.shown(self.shown(whole, (self.exactly(1),), strides, (self.constant(INT64, place),)), (), ())

    # Masks

    def masked(self, step: Masked, frame: Frame) -> None:
        """What a mask selects: counted, taken, or replaced."""
        mask = self.array(Reg(step.mask), frame)
        if mask.dtype != BOOL:
            raise NotCompiled("a mask of other than bools")
        if step.kind == "count":
            count, notes = self.marked(mask)
            frame.numbers[step.count.input] = count  # type: ignore[union-attr]
            if step.places >= 0:
                frame.registers[step.places] = notes
            return
        count = self.number(step.count, frame)
        source, known = self.array(Reg(step.src), frame), frame.registers.get(step.places)
        if isinstance(known, Array):
            notes = known
        else:
            found, notes = self.marked(mask)
            self.require_size(found, count)
        n_axes = len(mask.sizes)
        inner = source.sizes[n_axes:]
        if len(source.sizes) < n_axes or len(inner) > 1 or source.dtype.kind not in "biufc" or source.ordered is None:
            raise NotCompiled("a selection from other axes")
        if source.dtype.itemsize > 16:
            raise NotCompiled(f"a selection from {source.dtype}")
        for size, length in zip(source.sizes, mask.sizes, strict=False):
            self.require_size(size, length)
        self.vectors |= source.ordered
        axes = [notes.axes[0], *source.axes[n_axes:]]
        self.require_short((count, *inner), axes)
        if step.kind == "get":
            number, (all_of, _) = self.new_room(), self.longest(mask)
            first = self.room_memory(number, source.dtype, self.total((all_of, *inner)))
            whole = Held(first, self.origin(0), frozenset((first,)))
            packed = self.packed((count, *inner), axes, number, first, whole)
            # NB: of rows NumPy chooses in which order they lie where these are few.
            frame.registers[step.dst] = replace(packed, held=None, room=None) if inner else packed
        else:
            packed = self.array(Reg(step.value), frame)
            if len(packed.sizes) != 1 + len(inner) or packed.dtype != source.dtype:
                raise NotCompiled("a store of other axes or dtype by a mask")
            for size, length in zip(packed.sizes, (count, *inner), strict=True):
                self.require_size(size, length)
            self.stored.add(source.base)
        self.move_selected(step.kind == "put", packed, source, mask, notes, count)

    def marked(self, mask: Array) -> tuple[Number, Array]:
        """How many elements of a mask are true, and what is noted of where they are."""
        most, axes = self.longest(mask)
        more = Number("int", self.op("add", most.value, self.constant(INT64, abi.MASK_NOTES)), 0)
        number = self.new_room()
        notes = self.room_memory(number, np.dtype(np.int32), more)
        words: list[Value | Memref] = [self.begin(mask), *self.plane(mask, len(mask.sizes)), notes]
        count = Number("int", self.computed("mark", words, INT64), 0, most.most)
        return count, self.as_open(number, notes, count, axes, False)

    def move_selected(
        self, puts: bool, packed: Array, source: Array, mask: Array, notes: Array, count: Number
    ) -> None:
        one, none, axes = self.constant(INT64, 1), self.constant(INT64, 0), len(mask.sizes)
        inner = [source.sizes[axes].value, source.strides[axes]] if len(source.sizes) > axes else [one, none]
        packed_inner = packed.strides[1] if len(packed.sizes) > 1 else none
        words: list[Value | Memref] = [self.constant(INT64, int(puts)), self.begin(packed), packed.strides[0]]
        words += [packed_inner, self.begin(source), *self.plane(source, axes), *inner]
        words += [self.constant(INT64, source.dtype.itemsize), self.begin(mask), *self.plane(mask, axes)[2:]]
        self.helper("move_selected", (*words, self.begin(notes), count.value), failure=abi.RETURNED_CONDITION)

    # Orders

    def order_of(self, source: Array, kind: int) -> tuple[Array, Array]:
        """A vector, packed; and the order of its elements."""
        self.require_vector(source)
        packed = source if source.strides[0].number == source.dtype.itemsize else self.packed_copy(source)
        order = self.room(INT64, source.sizes, source.axes)
        which = [self.constant(INT64, number) for number in (source.dtype.num, kind)]
        words: list[Value | Memref] = [*which, self.begin(packed), source.sizes[0].value, self.begin(order)]
        self.helper("order", words, failure=abi.RETURNED_CONDITION)
        return packed, order

    def require_vector(self, source: Array) -> None:
        if len(source.sizes) != 1 or source.dtype.kind not in "biuf" or source.dtype.itemsize > 8:
            raise NotCompiled("an order of what is no vector")
        self.require_short(source.sizes, source.axes)

    def require_comparable(self, source: Array) -> None:
        """A vector of whose elements C knows which are equal. NB: zeros of unlike sign are, and have other bytes."""
        self.require_vector(source)
        if source.dtype.char == "e":
            raise NotCompiled(f"equal ones of {source.dtype}")

    def argsort(self, step: Call, frame: Frame) -> None:
        given = dict(step.kwargs)
        kind, axis = given.get("kind") or "quicksort", given.get("axis", -1)
        if len(step.args) != 1 or kind not in KINDS or axis not in (0, -1) or given.keys() - {"kind", "axis"}:
            raise NotCompiled("an order by other means")
        number = min(KINDS.index(kind), STABLE)
        frame.registers[step.dsts[0]] = self.order_of(self.array(step.args[0], frame), number)[1]

    def unique(self, step: Call, frame: Frame) -> None:
        """The sorted elements, each once; their first indices, the inverse, and how often each is there."""
        given, source = dict(step.kwargs), self.array(step.args[0], frame)
        self.require_comparable(source)
        asked = [0, *(place for place, name in enumerate(_RETURNS, 1) if given.get(name))]
        (size,), (axes,) = source.sizes, source.axes
        rooms = [self.new_room() for _ in range(4 if len(asked) > 1 else 1)]
        dtypes = (source.dtype, INT64, INT64, INT64)
        begins = [self.room_memory(room, dtype, size) for room, dtype in zip(rooms, dtypes, strict=False)]
        if len(asked) > 1:
            what, by_order = self.constant(INT64, source.dtype.num), self.constant(INT64, 1)
            x, order = self.order_of(source, STABLE)
            others = [self.begin(order), *begins]
            words: list[Value | Memref] = [what, by_order, self.begin(x), size.value, *others]
            count = Number("int", self.computed("unique", words, INT64), 0, size.most)
            self.decline_if(self.op("less", count.value, self.constant(INT64, 0)), abi.RETURNED_CONDITION)
        else:
            count = self.sorted_once(source, begins[0])
        frame.numbers[step.yields[0].input] = count
        for place, dst in zip(asked, step.dsts, strict=True):
            length = size if place == _INVERSE else count
            frame.registers[dst] = self.as_open(rooms[place], begins[place], length, axes, place != _INVERSE)

    def sorted_once(self, source: Array, out: Memref) -> Number:
        """Write each element of a vector once, in order: how many there are."""
        self.require_comparable(source)
        (size,) = source.sizes
        x, what = self.packed_copy(source), self.constant(INT64, source.dtype.num)
        self.helper("sort", (what, self.begin(x), size.value), failure=abi.RETURNED_CONDITION)
        words: list[Value | Memref] = [what, self.constant(INT64, 0), self.begin(x), size.value]
        words += [out] * 5  # of which the second one counts
        count = Number("int", self.computed("unique", words, INT64), 0, size.most)
        self.decline_if(self.op("less", count.value, self.constant(INT64, 0)), abi.RETURNED_CONDITION)
        return count

    def bincount(self, step: Call, frame: Frame) -> None:
        """How often each int occurs, or the sums of their weights."""
        x, *weights = (self.array(arg, frame) for arg in step.args)
        least = self.number(dict(step.kwargs).get("minlength", 0), frame)
        if len(x.sizes) != 1 or x.dtype != INT64 or any(one.dtype != FLOAT64 for one in weights) or least.kind != "int":
            raise NotCompiled("numbers of each of other arrays")
        self.require_short(x.sizes, x.axes)
        none = self.constant(INT64, 0)
        self.decline_if(self.op("less", least.value, none), abi.RETURNED_CONDITION)
        self.decline_if(self.op("equal", x.sizes[0].value, none), abi.RETURNED_CONDITION)  # NB: of any dtype
        vector = (self.begin(x), x.sizes[0].value, x.strides[0])
        bins = Number("int", self.computed("bins", (*vector, least.value), INT64))
        (length,), (axes,) = self.tested([bins])
        out = self.open_array(FLOAT64 if weights else INT64, length, length, axes)
        for one in weights:
            self.require_size(one.sizes[0], x.sizes[0])
            self.helper("weigh", (*vector, self.memref(one), self.begin(out), length.value))
        if not weights:
            self.helper("count_each", (*vector, self.begin(out), length.value))
        frame.numbers[step.yields[0].input] = length
        frame.registers[step.dsts[0]] = out

    # Even steps, and parts

    def arange(self, step: Call, frame: Frame) -> None:
        """Evenly spaced numbers, of which NumPy's own function computes all but the first two."""
        (type_,) = step.types
        dtype = type_.dtype
        if dtype not in (INT64, FLOAT64) or len(step.args) != 3 or not all(map(is_scalar, step.args)):
            raise NotCompiled(f"even steps of {dtype}")
        if any(kind_of(arg) not in ("int", "float") for arg in step.args):
            raise NotCompiled("even steps of bools")
        start, _, by = (self.number(arg, frame) for arg in step.args)
        if dtype == INT64:
            if start.kind != "int" or by.kind != "int":
                raise NotCompiled("even steps that are cut to integers")
            both = (start.value, self.op("add", start.value, by.value))  # NB: past the end it need not fit
        else:
            second = self.integer_op("add", [start, by]) if start.kind == by.kind == "int" else None
            floats = self.op("add", self.as_float(start), self.as_float(by)) if second is None else None
            both = (self.as_float(start), floats or self.as_float(second))  # type: ignore[arg-type]
        size, axes = self.extent(type_.shape[0], frame)
        if not axes and size.most > abi.MOST_VECTOR:
            (size,), (axes,) = self.tested([size])
        self.require_short([size], [axes])
        more = Number("int", self.op("add", size.value, self.constant(INT64, 2)), 0)
        out = self.open_array(dtype, more, size, axes)
        for place, number in enumerate(both):
            self.nodes.append(Store(self.part_of(out.first, place), (), number))
        words: list[Value | Memref] = [self.constant(INT64, dtype.num), self.begin(out), size.value]
        self.helper("fill_evenly", words, failure=abi.RETURNED_CONDITION)
        frame.registers[step.dsts[0]] = out


_RETURNS = ("return_index", "return_inverse", "return_counts")
_INVERSE = 2
