"""Makes the nodes of what puts elements of arrays elsewhere, or joins arrays: concatenate, delete, roll; and of sets.

Enters a call and the Frame of its body; leaves what it yields in the Frame's registers and numbers, or NotCompiled.
Most of these the lowering has made kernels of; here are those with lengths that only the run knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import is_scalar, kind_of
from dynamo_lite.program.build_numbers import INT64, NotCompiled, Number
from dynamo_lite.program.build_selections import SelectionBuilder
from dynamo_lite.program.build_steps import Array, Frame
from dynamo_lite.program.build_vectors import MOST_AXES
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import Memref, Store, Value
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.steps import Call, Reg

MOST_ITEMS = 64  # of an array that is made of numbers, one by one
SETS = {
    "setdiff1d": abi.SET_FIRST,
    "intersect1d": abi.SET_BOTH,
    "union1d": abi.SET_FIRST + abi.SET_BOTH + abi.SET_SECOND,
    "setxor1d": abi.SET_FIRST + abi.SET_SECOND,
}


def _both(function: Callable[..., Any]) -> tuple[Any, Any]:
    """A function of NumPy's, and what is beneath its dispatcher."""
    return function, getattr(function, "_implementation", function)


class RearrangedBuilder(SelectionBuilder):
    """Joined and rearranged arrays beside selected elements."""

    functions: ClassVar[tuple[tuple[Any, str], ...]] = (
        *SelectionBuilder.functions,
        *((one, function.__name__) for function in (np.concatenate, np.roll, np.isin) for one in _both(function)),
    )
    evaluated: ClassVar[frozenset[str]] = SelectionBuilder.evaluated | {
        *("concatenate", "array_of", "delete", "roll", "isin", "set_of")
    }

    def concatenate(self, step: Call, frame: Frame) -> None:
        """Vectors, one behind another."""
        given, (type_,) = dict(step.kwargs), step.types
        if type_.ndim != 1 or given.get("axis") != 0 or given.keys() != {"axis"} or len(step.args) != 1:
            raise NotCompiled("other arrays one behind another")
        parts = [self.cast_array(self.array(arg, frame), type_.dtype) for arg in step.args[0]]
        if type_.dtype.kind not in "biuf" or type_.dtype.itemsize > 8 or any(len(part.sizes) != 1 for part in parts):
            raise NotCompiled(f"arrays of {type_.dtype} one behind another")
        ends = [self.exactly(0)]
        for part in parts:
            self.require_short(part.sizes, part.axes)
            known = replace(part.sizes[0], most=min(part.sizes[0].most, abi.MOST_VECTOR))
            ends.append(self.integer_op("add", [ends[-1], known]))
        known = self.number(type_.shape[0], frame)
        self.require_size(known, ends[-1])
        (size,), (axes,) = self.tested([replace(known, least=max(known.least, 0), most=min(known.most, ends[-1].most))])
        out = self.open_array(type_.dtype, size, size, axes)
        for part, begin in zip(parts, ends, strict=False):
            self.copy_part(out, begin.value, part, self.constant(INT64, 0), part.sizes[0])
        frame.registers[step.dsts[0]] = out

    def delete(self, step: Call, frame: Frame) -> None:
        """A vector without one element."""
        source, place, axis = self.array(step.args[0], frame), *step.args[1:]
        if len(source.sizes) != 1 or axis not in (None, 0) or not is_scalar(place) or kind_of(place) != "int":
            raise NotCompiled("a vector without other than one element")
        (size,) = source.sizes
        at = self.place(place, size, frame)
        left = Number("int", self.op("subtract", size.value, self.constant(INT64, 1)), 0, max(size.most - 1, 0))
        self.require_short(source.sizes, source.axes)
        out = self.open_array(source.dtype, size, left, source.axes[0])
        before = Number("int", at, 0, max(size.most - 1, 0))
        self.copy_part(out, self.constant(INT64, 0), source, self.constant(INT64, 0), before)
        behind = Number("int", self.op("subtract", left.value, at), 0, left.most)
        self.copy_part(out, at, source, self.op("add", at, self.constant(INT64, 1)), behind)
        frame.registers[step.dsts[0]] = out

    def copy_part(self, target: Array, to: Value, source: Array, begin: Value, count: Number) -> None:
        """Copy `count` elements of a vector from one place on to another one."""
        one, other = (
            replace(array, first=self.shown(self.memref(array), (count,), array.strides, (place,)), sizes=(count,))
            for array, place in ((target, to), (source, begin))
        )
        self.copy(one, other)

    def array_of(self, step: Call, frame: Frame) -> None:
        """A short vector, or small matrix, of NumPy scalars and numbers."""
        assert isinstance(step.function, Evaluation)
        items, (type_,) = step.args[: len(step.args) - len(step.function.keys)], step.types
        sizes = [dim for dim in type_.shape if type(dim) is int]
        if not 1 <= len(sizes) == type_.ndim <= MOST_AXES or not prod(sizes) == len(items) <= MOST_ITEMS:
            raise NotCompiled("an array of arrays")
        if type_.dtype.kind not in "biuf" or type_.dtype.itemsize > 8:
            raise NotCompiled(f"an array of {type_.dtype}")
        out = self.room(type_.dtype, list(map(self.exactly, sizes)), [frozenset()] * len(sizes))
        for place, item in enumerate(items):
            value = self.as_dtype(item, frame.registers.get(item.index) if isinstance(item, Reg) else None, out, frame)
            self.nodes.append(Store(self.part_of(out.first, place), (), value))
        frame.registers[step.dsts[0]] = out

    def roll(self, step: Call, frame: Frame) -> None:
        """An array turned along one axis, or a vector, by a number that only the run knows."""
        given, source = dict(step.kwargs), self.array(step.args[0], frame)
        shift, axis = given.get("shift", ()), given.get("axis")
        ndim = len(source.sizes)
        if len(step.args) != 1 or not is_scalar(shift) or kind_of(shift) != "int" or ndim > 2:
            raise NotCompiled("an array that is turned otherwise")
        if (axis is None and ndim > 1) or source.dtype.kind not in "biuf" or source.ordered is None:
            raise NotCompiled("an array that is turned otherwise")
        self.vectors |= source.ordered if ndim > 1 else set()
        self.require_short(source.sizes, source.axes)
        by, none = self.number(shift, frame).value, self.constant(INT64, 0)
        along_rows = ndim > 1 and axis == 0
        out = self.room(source.dtype, source.sizes, source.axes)
        words: list[Value | Memref] = [self.begin(out), self.begin(source), *self.plane(source, ndim)]
        words += [self.stride(source.dtype.itemsize), by if along_rows else none, none if along_rows else by]
        self.helper("roll", words)
        frame.registers[step.dsts[0]] = replace(out, held=None, room=None) if axis is None else out

    def isin(self, step: Call, frame: Frame) -> None:
        """Which elements are among others; where these are not many."""
        x, others = (self.array(arg, frame) for arg in step.args)
        if x.dtype != others.dtype or x.dtype.kind not in "biuf" or x.dtype.char == "e" or x.dtype.itemsize > 8:
            raise NotCompiled(f"{x.dtype} among {others.dtype}")
        if len(x.sizes) != 1 or len(others.sizes) != 1:
            raise NotCompiled("elements of many axes among others")
        self.require_short(x.sizes, x.axes)
        self.require_short(others.sizes, others.axes)
        if x.sizes[0].least * others.sizes[0].least > abi.MOST_COMPARED:
            raise NotCompiled("many elements among many")
        pairs = self.op("multiply", x.sizes[0].value, others.sizes[0].value)
        if x.sizes[0].most * others.sizes[0].most > abi.MOST_COMPARED:
            most = self.constant(INT64, abi.MOST_COMPARED)
            self.decline_if(self.op("greater", pairs, most), abi.RETURNED_LONG)
        out = self.room(BOOL, x.sizes, x.axes)
        what = [self.constant(INT64, int(one)) for one in (x.dtype.num, dict(step.kwargs).get("invert", False))]
        ends: Sequence[Value | Memref] = (self.begin(out), self.memref(x), self.memref(others))
        self.helper("among", (*what, *ends))
        frame.registers[step.dsts[0]] = replace(out, held=None, room=None)  # NumPy's own is reshaped: a view of another

    def set_of(self, step: Call, frame: Frame) -> None:
        """What is in one set or the other, or in both, in order."""
        assert isinstance(step.function, Evaluation)
        count = len(step.args) - len(step.function.keys)
        given = dict(zip(step.function.keys, step.args[count:], strict=True))
        which = SETS.get(given["name"])
        x, y = (self.array(arg, frame) for arg in step.args[:count])
        # NB: where an element stands in a matrix does not show.
        x, y = (one if len(one.sizes) == 1 else self.reshaped(one, (-1,), frame) for one in (x, y))
        if which is None or given.get("unique") or x.dtype != y.dtype or x.dtype.kind not in "biu":
            raise NotCompiled(f"a set of {x.dtype}")
        sets = []
        for one in (x, y):
            self.require_vector(one)
            out = self.room_memory(self.new_room(), one.dtype, one.sizes[0])
            sets.append((out, self.sorted_once(one, out)))
        lengths = [replace(one.sizes[0], most=min(one.sizes[0].most, abi.MOST_VECTOR)) for one in (x, y)]
        most = self.integer_op("add", lengths)
        number = self.new_room()
        first = self.room_memory(number, x.dtype, self.integer_op("add", [most, self.exactly(1)]))
        words: list[Value | Memref] = [self.constant(INT64, number) for number in (x.dtype.num, which)]
        parts = [part for begin, length in sets for part in (begin, length.value)]
        found = self.computed("set_of", [*words, *parts, first], INT64)
        (size,), (axes,) = self.tested([Number("int", found, 0, most.most)])
        frame.numbers[step.yields[0].input] = size
        frame.registers[step.dsts[0]] = self.as_open(number, first, size, axes)
