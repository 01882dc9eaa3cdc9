"""Makes the nodes of what reads and writes by index arrays: elements, and rows, of arrays of up to three axes.

Enters a call of getitem, setitem or a ufunc's `at`, and the Frame of its body; leaves what it yields in the Frame's
registers, or NotCompiled. First it is found how far behind the first element all these lie, each index array for its
axis, then they are moved. INVARIANT: all indices are known to be in range before anything is written.

    x[i, j] = v  ->  call offsets(0, m1, i ...); call offsets(1, m1, j ...); call move_at(1, v, ..., x, m1, ...)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.scalar import is_scalar, kind_of
from dynamo_lite.ops.index import index_key, put_index
from dynamo_lite.program.build_arrays import ArrayBuilder
from dynamo_lite.program.build_numbers import FLOAT32, FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import Array, Axis, Frame, NumpyScalar, Point
from dynamo_lite.program.element_ops import exact_cast
from dynamo_lite.program.ir import Memref, Value
from dynamo_lite.schedule.steps import Call, Reg

ADDED = (np.add.at, np.subtract.at)
_WHOLE = slice(None)


@dataclass(frozen=True, slots=True)
class Places:
    """Where some elements of an array are. begin: what all index arrays say 0 of; sizes, axes: those of these arrays;
    offsets: bytes from there; inner: the number of elements of the row at each place, and how far they lie apart;
    turned: these are columns, so that the places' axis is behind the other one."""

    begin: Memref
    sizes: tuple[Number, ...]
    axes: tuple[frozenset[Axis], ...]
    count: Number
    offsets: Memref
    inner: tuple[Number, frozenset[Axis], Value] | None
    turned: bool = False


class PlaceBuilder(ArrayBuilder):
    """Index arrays beside whole arrays."""

    def call(self, step: Call, frame: Frame) -> None:
        if step.function is operator.getitem and len(step.args) == 2 and not self.is_simple(step, frame):
            self.read_at(step, frame)
        elif step.function is operator.setitem and len(step.args) == 3:
            self.write_at(*step.args, frame)
        elif step.function in ADDED and len(step.args) == 3:
            self.add_at(step.function, *step.args, frame)
        elif step.function is put_index:
            target, value, *indices = step.args
            given = dict(step.kwargs)
            key = index_key(given["index"], (target, *indices))
            if "ufunc" in given:
                self.add_at(given["ufunc"].at, target, key, value, frame)
            else:
                self.write_at(target, key, value, frame)
        else:
            super().call(step, frame)

    def is_simple(self, step: Call, frame: Frame) -> bool:
        """Whether a vector is read by a vector."""
        x, places = (frame.registers.get(arg.index) if isinstance(arg, Reg) else None for arg in step.args)
        return isinstance(x, Array) and isinstance(places, Array) and len(x.sizes) == len(places.sizes) == 1

    def places(self, x: Array, key: Any, frame: Frame) -> Places:
        entries = list(key) if isinstance(key, tuple) else [key]
        if len(x.sizes) == len(entries) == 2 and entries[0] == _WHOLE != entries[1]:  # rows of the transpose
            if x.ordered is None:
                raise NotCompiled("an index of axes that lie in another order")
            found = self.places(_transposed(x, x.ordered), entries[1], frame)
            return replace(found, turned=True)
        while entries and entries[-1] == _WHOLE:
            entries.pop()
        if not len(entries) <= len(x.sizes) <= len(entries) + 1 or any(isinstance(one, slice) for one in entries):
            raise NotCompiled("an index of other axes")
        self.vectors |= (x.ordered or set()) if len(x.sizes) > 1 else set()
        if x.ordered is None:
            raise NotCompiled("an index of axes that lie in another order")
        begin: list[Value] = []
        indices: list[tuple[int, Array]] = []
        for axis, entry in enumerate(entries):
            register = frame.registers.get(entry.index) if isinstance(entry, Reg) else None
            if isinstance(register, Array):
                indices.append((axis, register))
                begin.append(self.constant(INT64, 0))
            elif is_scalar(entry) and kind_of(entry) == "int":
                begin.append(self.place(entry, x.sizes[axis], frame))
            elif isinstance(register, NumpyScalar):
                begin.append(self.place_of(self.read_int(register.value), x.sizes[axis], frame))
            else:
                raise NotCompiled("an index by what is no array")
        if not indices:
            raise NotCompiled("an index without arrays")
        broadcast = self.broadcast([array for _, array in indices])
        like = broadcast[0]
        self.require_short(like.sizes, like.axes)
        count = self.total(like.sizes)
        room = self.new_room()
        offsets = self.room_memory(room, INT64, count)
        for place, ((axis, _), array) in enumerate(zip(indices, broadcast, strict=True)):
            kind = array.dtype.itemsize * (-1 if array.dtype.kind == "i" else 1)
            stride = array.strides[0] if len(array.sizes) == 1 else self.stride(array.dtype.itemsize)
            words = (self.constant(INT64, int(place > 0)), offsets, self.begin(array), count.value, stride)
            of_axis = (self.constant(INT64, kind), x.sizes[axis].value, x.strides[axis])
            self.helper("offsets", (*words, *of_axis), failure=abi.RETURNED_INDEX)
        first = self.shown(self.memref(x), (), (), begin)
        inner = None
        if len(x.sizes) > len(entries):
            inner = (x.sizes[-1], x.axes[-1], x.strides[-1])
        return Places(first, like.sizes, like.axes, count, offsets, inner)

    def read_int(self, value: Value) -> Number:
        if value.dtype.kind not in "iu":
            raise NotCompiled(f"an index of {value.dtype}")
        return self.read(value)

    def broadcast(self, arrays: Sequence[Array]) -> list[Array]:
        """Index arrays as arrays of one shape. What repeats in one, as in a grid x[i[:, None], j], is copied."""
        n_axes = max(len(array.sizes) for array in arrays)
        if n_axes > 2:
            raise NotCompiled("an index by arrays of many axes")
        spread = [_with_axes(array, n_axes, self.exactly(1), self.stride(0)) for array in arrays]
        sizes, axes = list(spread[0].sizes), list(spread[0].axes)
        for array in spread[1:]:
            for axis, size in enumerate(array.sizes):
                if _is_one(sizes[axis]):
                    sizes[axis], axes[axis] = size, array.axes[axis]
                elif not _is_one(size):
                    self.require_size(size, sizes[axis])
        return [self.spread(array, sizes, axes) for array in spread]

    def spread(self, array: Array, sizes: list[Number], axes: list[frozenset[Axis]]) -> Array:
        """An index array in the shape of all."""
        repeats = [_is_one(size) and not _is_one(length) for size, length in zip(array.sizes, sizes, strict=True)]
        if not any(repeats):
            return self.flat_indices(array)
        if array.dtype.kind not in "iu":
            raise NotCompiled(f"an index by an array of {array.dtype}")
        none = self.stride(0)
        strides = [none if again else stride for again, stride in zip(repeats, array.strides, strict=True)]
        repeated = replace(array, sizes=tuple(sizes), strides=tuple(strides), axes=tuple(axes), packed=False)
        return self.packed_copy(repeated)

    def flat_indices(self, array: Array) -> Array:
        if array.dtype.kind not in "iu" or len(array.sizes) > 2:
            raise NotCompiled(f"an index by an array of {array.dtype}")
        if len(array.sizes) == 2:
            if not array.packed or array.ordered is None:
                raise NotCompiled("an index by an array that does not lie packed")
            self.vectors |= array.ordered
        return array

    def read_at(self, step: Call, frame: Frame) -> None:
        x = self.array(step.args[0], frame)
        if x.dtype.kind not in "biufc":
            raise NotCompiled(f"an index of {x.dtype}")
        found = self.places(x, step.args[1], frame)
        sizes, axes = list(found.sizes), list(found.axes)
        if found.inner is not None:
            sizes.append(found.inner[0])
            axes.append(found.inner[1])
        if len(sizes) > 2:
            raise NotCompiled("rows at places of many axes")
        self.require_short(sizes, axes)
        out = self.room(x.dtype, sizes, axes)
        itemsize = self.stride(x.dtype.itemsize)
        strides = (out.strides[0] if found.inner is not None else itemsize, itemsize)
        self.move_at(False, self.begin(out), strides, found, x)
        frame.registers[step.dsts[0]] = _transposed(out, None) if found.turned else out

    def move_at(self, puts: bool, begin: Memref, strides: Sequence[Value], found: Places, x: Array) -> None:
        one, none = self.constant(INT64, 1), self.constant(INT64, 0)
        inner = [one, none] if found.inner is None else [found.inner[0].value, found.inner[2]]
        words: list[Value | Memref] = [self.constant(INT64, int(puts)), begin, *strides, found.begin, found.offsets]
        self.helper("move_at", (*words, found.count.value, *inner, self.stride(x.dtype.itemsize)))

    def stored_value(self, x: Array, found: Places, given: Any, frame: Frame) -> tuple[Memref, tuple[Value, Value]]:
        """Where the values begin that are stored, and how far apart they lie from place to place, and in a row."""
        none = self.stride(0)
        register = frame.registers.get(given.index) if isinstance(given, Reg) else None
        if not isinstance(register, Array):
            return self.cell(self.as_dtype(given, register, x, frame)), (none, none)
        value = self.cast_array(register, x.dtype)
        if value.base == x.base:
            value = self.packed_copy(value)
        if found.turned:
            if len(value.sizes) != 2:
                raise NotCompiled("a store of other axes at places")
            value = _transposed(value, None)
        sizes = [*found.sizes, *(() if found.inner is None else (found.inner[0],))]
        missing = len(sizes) - len(value.sizes)
        if missing < 0 or len(sizes) > 2 or (missing and found.inner is None):
            raise NotCompiled("a store of other axes at places")
        for size, length in zip(value.sizes, sizes[missing:], strict=True):
            self.require_size(size, length)
        strides = [none] * missing + list(value.strides)
        if found.inner is None:
            if len(sizes) == 2:
                if not value.packed or value.ordered is None:
                    raise NotCompiled("a store of what does not lie packed")
                self.vectors |= value.ordered
                strides = [self.stride(x.dtype.itemsize)]
            strides = [strides[0], none]
        return self.begin(value), (strides[0], strides[1])

    def as_dtype(self, given: Any, register: Any, x: Array, frame: Frame) -> Value:
        """A single value as it is stored among the elements of an array."""
        if register is None and not isinstance(given, Reg):
            return self.convert(self.number(given, frame), x.dtype)
        if not isinstance(register, NumpyScalar | Point):
            raise NotCompiled("a store of what is no number")
        value = register.value if isinstance(register, NumpyScalar) else self.load(register.memref)
        if value.dtype != x.dtype and not (exact_cast(value.dtype, x.dtype) and np.can_cast(value.dtype, x.dtype)):
            raise NotCompiled(f"a store of {value.dtype} among {x.dtype}")
        return self.cast(value, x.dtype)

    def write_at(self, target: Any, key: Any, value: Any, frame: Frame) -> None:
        x = self.array(target, frame)
        found = self.written(x, key, frame)
        begin, strides = self.stored_value(x, found, value, frame)
        self.stored.add(x.base)
        self.move_at(True, begin, strides, found, x)

    def written(self, x: Array, key: Any, frame: Frame) -> Places:
        if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
            raise NotCompiled(f"a store at places of {x.dtype}")
        entries = key if isinstance(key, tuple) else (key,)
        registers = [frame.registers.get(one.index) for one in entries if isinstance(one, Reg)]
        if any(isinstance(one, Array) and one.base == x.base for one in registers):
            raise NotCompiled("an index by the array itself")
        return self.places(x, key, frame)

    def add_at(self, method: Any, target: Any, key: Any, value: Any, frame: Frame) -> None:
        x = self.array(target, frame)
        if x.dtype not in (FLOAT64, FLOAT32, INT64) or method not in ADDED:
            raise NotCompiled(f"additions at places of {x.dtype}")
        found = self.written(x, key, frame)
        if found.inner is not None:
            raise NotCompiled("additions to rows")
        begin, strides = self.stored_value(x, found, value, frame)
        what = [self.constant(INT64, number) for number in (x.dtype.num, ADDED.index(method))]
        self.stored.add(x.base)
        words: list[Value | Memref] = [*what, found.begin, found.offsets, found.count.value, begin, strides[0]]
        self.helper("add_at", words, failure=abi.RETURNED_NAN)


def _is_one(size: Number) -> bool:
    return size.least == size.most == 1


def _with_axes(array: Array, n: int, one: Number, stride: Value) -> Array:
    """An array with axes of one element in front of its own."""
    missing, nowhere = n - len(array.sizes), frozenset[Axis]()
    sizes, strides = (one,) * missing + array.sizes, (stride,) * missing + array.strides
    return replace(array, sizes=sizes, strides=strides, axes=(nowhere,) * missing + array.axes) if missing else array


def _transposed(x: Array, ordered: frozenset[Axis] | None) -> Array:
    """A matrix with its axes the other way round. ordered: what is taken to follow from the order in which it lies."""
    parts = (x.sizes[::-1], x.strides[::-1], x.axes[::-1])
    return Array(x.first, *parts, x.base, ordered=ordered)


__all__ = ["PlaceBuilder"]
