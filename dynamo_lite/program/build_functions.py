"""Makes the nodes of NumPy's functions of short vectors: traces, products, searches, interpolation, flat indices.

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers, or NotCompiled. Where NumPy's
own result is in doubt (vectors that do not grow, NaNs, zeros of unlike sign) the program declines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import is_scalar
from dynamo_lite.program.build_numbers import FLOAT64, INT64, NotCompiled, Number
from dynamo_lite.program.build_rearranged import RearrangedBuilder
from dynamo_lite.program.build_steps import Array, Frame, NumpyScalar, Point
from dynamo_lite.program.ir import Alloc as AllocNode
from dynamo_lite.program.ir import Fold, Memref, Value
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.steps import Alloc, Call, Reduce, Reg, View

EXTREMES = {_C.maximum_accumulate: 0, _C.minimum_accumulate: 1}


class FunctionBuilder(RearrangedBuilder):
    """Functions of vectors beside all that rearranges them."""

    functions: ClassVar[tuple[tuple[Any, str], ...]] = (
        *RearrangedBuilder.functions,
        *((np.ndarray.trace, "trace"), (np.trace, "trace"), (_C.searchsorted, "search"), (_C.interp, "interp")),
    )
    evaluated: ClassVar[frozenset[str]] = RearrangedBuilder.evaluated | {
        *("trace", "search", "interp", "full", "flat_index", "axis_indices")
    }

    def call(self, step: Call, frame: Frame) -> None:
        if any(step.function is one for one in EXTREMES):
            self.extremes(step, frame)
        else:
            super().call(step, frame)

    def view(self, step: View, frame: Frame) -> None:
        if step.kind == "diagonal":
            frame.registers[step.dst] = self.diagonal(self.array(Reg(step.src), frame), step.params)
        else:
            super().view(step, frame)

    def diagonal(self, source: Array, params: Sequence[Any]) -> Array:
        """The diagonal of a matrix, as a view."""
        first, second, offset, _ = params
        if len(source.sizes) != 2 or (first, second) != (0, 1) or type(offset) is not int:
            raise NotCompiled("the diagonal of other axes")
        begin = (max(-offset, 0), max(offset, 0))
        lengths = []
        for size, gone in zip(source.sizes, begin, strict=True):
            if gone and size.least <= gone:  # it may be empty
                self.decline_if(self.op("less_equal", size.value, self.constant(INT64, gone)), abi.RETURNED_CONDITION)
                size = replace(size, least=gone + 1)
            lengths.append(self.integer_op("sub", [size, self.exactly(gone)]) if gone else size)
        size = lengths[0] if lengths[0].value is lengths[1].value else self.integer_op("min", lengths)
        stride = self.op("add", *source.strides)
        index = tuple(self.constant(INT64, place) for place in begin)
        first_of = self.shown(self.memref(source), (size,), (stride,), index)
        return Array(first_of, (size,), (stride,), (source.axes[0] | source.axes[1],), source.base)

    def trace(self, step: Call, frame: Frame) -> None:
        """The sum of a diagonal."""
        source, given, (type_,) = self.array(step.args[0], frame), dict(step.kwargs), step.types
        axes = given.get("axes", (given.get("axis1", 0), given.get("axis2", 1)))
        known = _C.find_fold(np.add, source.dtype) >= 0 and source.dtype.itemsize <= 8
        if len(step.args) != 1 or type_.dtype != source.dtype or not known:
            raise NotCompiled(f"a trace of {source.dtype}")
        if given.get("dtype") not in (None, type_.dtype) or len(axes) != 2:
            raise NotCompiled("a trace of another dtype")
        diagonal = self.diagonal(source, (*axes, given.get("offset", 0), 0))
        self.require_short(diagonal.sizes, diagonal.axes)
        result = self.new(type_.dtype)
        self.nodes.append(Fold(result, np.add, self.memref(diagonal)))
        frame.registers[step.dsts[0]] = self.fresh(result)

    def reduce(self, step: Reduce, frame: Frame) -> None:
        array = self.register(step.operands[0].index, frame) if isinstance(step.operands[0], Reg) else None
        whole = not step.kernel.ops and isinstance(array, Array) and len(array.sizes) == 1 and step.scalar
        if step.ufunc is not np.multiply or step.dtype != FLOAT64 or not whole:
            super().reduce(step, frame)
            return
        assert isinstance(array, Array)
        if array.dtype != FLOAT64:
            raise NotCompiled(f"a product of {array.dtype}")
        self.require_size(array.sizes[0], self.number(step.shape[0], frame))
        self.require_short(array.sizes, array.axes)
        product = self.computed("product_of", [self.memref(array)], FLOAT64, abi.RETURNED_FOLD)
        frame.registers[step.dst] = self.fresh(product)

    def extremes(self, step: Call, frame: Frame) -> None:
        """The greatest or the least so far."""
        x = self.array(step.args[1], frame)
        if len(x.sizes) != 1:
            raise NotCompiled("extremes along other axes")
        if x.dtype not in (FLOAT64, INT64):
            raise NotCompiled(f"extremes of {x.dtype}")
        self.require_short(x.sizes, x.axes)
        out = self.room(x.dtype, x.sizes, x.axes)
        what = [self.constant(INT64, number) for number in (x.dtype.num, EXTREMES[step.function])]
        self.helper("extremes", (*what, self.begin(out), self.memref(x)), failure=abi.RETURNED_FOLD)
        frame.registers[step.dsts[0]] = out

    def as_packed(self, array: Array) -> Array:
        self.require_short(array.sizes, array.axes)
        return array if array.strides[0].number == array.dtype.itemsize else self.packed_copy(array)

    def search(self, step: Call, frame: Frame) -> None:
        """The places of the elements of a vector in another one."""
        vector, keys, side = *(self.array(arg, frame) for arg in step.args[:2]), step.args[2]
        if len(vector.sizes) != 1 or len(keys.sizes) != 1 or vector.dtype != keys.dtype:
            raise NotCompiled("a search in other arrays")
        if vector.dtype not in (FLOAT64, INT64, np.dtype(np.float32), np.dtype(np.int32)):
            raise NotCompiled(f"a search in {vector.dtype}")
        a, k = self.as_packed(vector), self.as_packed(keys)
        out = self.room(INT64, keys.sizes, keys.axes)
        what = [self.constant(INT64, number) for number in (a.dtype.num, int(side == "right"))]
        words: list[Value | Memref] = [*what, self.begin(a), a.sizes[0].value, self.begin(k), k.sizes[0].value]
        self.helper("search_all", (*words, self.begin(out)), failure=abi.RETURNED_CONDITION)
        frame.registers[step.dsts[0]] = out

    def interp(self, step: Call, frame: Frame) -> None:
        """np.interp of a vector of keys, or of a single one."""
        _, key, *points = step.args
        xp, fp = (self.array(arg, frame) for arg in points)
        if any(len(one.sizes) != 1 or one.dtype != FLOAT64 for one in (xp, fp)) or step.kwargs:
            raise NotCompiled("an interpolation of other arrays")
        self.require_size(xp.sizes[0], fp.sizes[0])
        xp, fp = self.as_packed(xp), self.as_packed(fp)
        register = frame.registers.get(key.index) if isinstance(key, Reg) else None
        ends: list[Value | Memref]
        if isinstance(register, Array):
            if len(register.sizes) != 1 or register.dtype != FLOAT64:
                raise NotCompiled("an interpolation at other places")
            x = self.as_packed(register)
            out = self.room(FLOAT64, x.sizes, x.axes)
            places = self.room_memory(self.new_room(), INT64, x.sizes[0])
            begin, count, end = self.begin(x), x.sizes[0].value, self.begin(out)
        else:
            begin, count = self.cell(self.key_of(key, register, frame)), self.constant(INT64, 1)
            end, places = (Memref(self.name("c"), dtype, (), (), "cell") for dtype in (FLOAT64, INT64))
            self.nodes += [AllocNode(end), AllocNode(places)]
        ends = [begin, count, self.begin(xp), self.begin(fp), xp.sizes[0].value, places, end]
        self.helper("interpolate", ends, failure=abi.RETURNED_CONDITION)
        frame.registers[step.dsts[0]] = out if isinstance(register, Array) else self.fresh(self.load(end))

    def key_of(self, key: Any, register: Any, frame: Frame) -> Value:
        """A single key as a double."""
        if isinstance(register, NumpyScalar | Point):
            value = register.value if isinstance(register, NumpyScalar) else self.load(register.memref)
            if value.dtype.kind not in "biuf" or value.dtype.char == "e" or value.dtype.itemsize > 8:
                raise NotCompiled(f"an interpolation at {value.dtype}")
            return self.cast(value, FLOAT64)
        if not is_scalar(key):
            raise NotCompiled("an interpolation at what is no number")
        return self.as_float(self.number(key, frame))

    def full(self, step: Call, frame: Frame) -> None:
        """A new array full of one number."""
        assert isinstance(step.function, Evaluation)
        (fill, *values), (type_,) = step.args, step.types
        given = dict(zip(step.function.keys, values, strict=True))
        register = frame.registers.get(fill.index) if isinstance(fill, Reg) else None
        if isinstance(register, Array) or not type_.ndim:
            raise NotCompiled("an array full of an array")
        self.alloc(Alloc(step.dsts[0], type_.dtype, type_.shape, None, given["order"]), frame)
        array = frame.registers[step.dsts[0]]
        assert isinstance(array, Array)
        length = (self.total(array.sizes),)
        filling = self.repeated(self.as_dtype(fill, register, array, frame), length)
        self.copy(replace(array, sizes=length, strides=(self.stride(type_.dtype.itemsize),)), filling)

    # Indices

    def index_of(self, arg: Any, frame: Frame) -> Number:
        register = frame.registers.get(arg.index) if isinstance(arg, Reg) else None
        if isinstance(register, NumpyScalar):
            return self.read_int(register.value)
        if isinstance(register, Point):
            return self.read_int(self.load(register.memref))
        if isinstance(arg, Reg):
            raise NotCompiled("an index that is no number")
        return self.number(arg, frame)

    def flat_index(self, step: Call, frame: Frame) -> None:
        """np.ravel_multi_index of numbers."""
        assert isinstance(step.function, Evaluation)
        count = len(step.args) - len(step.function.keys)
        given = dict(zip(step.function.keys, step.args[count:], strict=True))
        if not step.types[0].scalar or given["mode"] != "raise" or given["order"] != "C":
            raise NotCompiled("flat indices in another order")
        place = self.exactly(0)
        for arg, dim in zip(step.args[:count], given["dims"], strict=True):
            number, size = self.index_of(arg, frame), self.number(dim, frame)
            least = self.constant(INT64, 0)  # NB: none is counted from the end
            self.decline_if(self.op("less", number.value, least), abi.RETURNED_INDEX)
            self.decline_if(self.op("greater_equal", number.value, size.value), abi.RETURNED_INDEX)
            inside = replace(number, least=0, most=max(size.most - 1, 0))
            place = self.integer_op("add", [self.integer_op("mul", [place, size]), inside])
        frame.registers[step.dsts[0]] = self.fresh(place.value)

    def axis_indices(self, step: Call, frame: Frame) -> None:
        """np.unravel_index of one number."""
        assert isinstance(step.function, Evaluation)
        (arg, *values) = step.args
        given = dict(zip(step.function.keys, values, strict=True))
        if given["order"] != "C":
            raise NotCompiled("indices in another order")
        place, sizes = self.index_of(arg, frame), [self.number(dim, frame) for dim in given["shape"]]
        total = self.exactly(1)
        for size in sizes:
            total = self.integer_op("mul", [total, size])
        self.decline_if(self.op("less", place.value, self.constant(INT64, 0)), abi.RETURNED_INDEX)
        self.decline_if(self.op("greater_equal", place.value, total.value), abi.RETURNED_INDEX)
        rest = replace(place, least=0, most=max(total.most - 1, 0))
        found: list[Value] = []
        for size in sizes[::-1]:
            found.insert(0, self.integer_op("mod", [rest, size]).value)
            rest = self.integer_op("floordiv", [rest, size])
        for dst, value in zip(step.dsts, found, strict=True):
            frame.registers[dst] = self.fresh(value)
