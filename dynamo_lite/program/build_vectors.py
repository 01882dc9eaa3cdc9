"""Makes the nodes of steps on vectors and matrices: kernels over up to three axes, products, gathers.

Enters a step and the Frame of its body; leaves what it yields in the Frame's registers, or NotCompiled. A kernel is a
Launch; what it makes anew lies in a room. INVARIANT: a kernel gets no memory twice but at the same positions: within a
body the schedule sees to that, what goes into an inner body is looked at here.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.products import dot_is_matmul
from dynamo_lite.ops.samples import Samples
from dynamo_lite.program.build_numbers import INT64, NotCompiled, Number
from dynamo_lite.program.build_steps import (
    TESTED,
    WINDOW,
    Array,
    Axis,
    Elementwise,
    Frame,
    Held,
    Point,
    StepBuilder,
)
from dynamo_lite.program.element_ops import class_of, exact_cast
from dynamo_lite.program.ir import Alloc as AllocNode
from dynamo_lite.program.ir import DType, For, If, Launch, Memref, Room, Value
from dynamo_lite.schedule.steps import Call, Kernel, KernelOp, Map, Operand, Reg, Schedule, bodies
from dynamo_lite.schedule.steps import View as ViewStep

PRODUCTS = (np.matmul, np.dot, np.ndarray.dot)
LINALG = {
    getattr(np.linalg._umath_linalg, name): number
    for number, name in enumerate(abi.LINALG)
    if hasattr(np.linalg._umath_linalg, name)
}
ACCUMULATES = (_C.add_accumulate, _C.multiply_accumulate)
GREATEST = (np.ndarray.argmax, _C.argmax)
POSITIONS = (np.ndarray.argmin, _C.argmin, *GREATEST)
_IN_ORDER = ((("order", "C"),), (("order", "K"),))  # these are one for axes in C order
_MEDIAN = getattr(np.median, "_implementation", np.median)  # as schedule/call.py calls it
SEARCHES = (np.searchsorted, np.ndarray.searchsorted)
MOST_AXES = 3
LONGEST = 4 * abi.MOST_VECTOR  # elements of an array that is made of others, one behind another


class VectorBuilder(StepBuilder):
    """vectors: what is handled as a whole, as Machine has it. asks: the letters that all kernels are asked for with.
    copied: the bases of arrays of which there are two copies, in place of one object; reshaped_copies: those of arrays
    that need not have been copied, had they been known to lie packed; perhaps_apart: of copies, in whose place NumPy
    may have a view whose elements lie apart."""

    def __init__(self, elementwise: Elementwise, asks: str) -> None:
        super().__init__(elementwise)
        self.vectors: set[tuple[int, ...]] = set()
        self.asks = asks + abi.ASKS_DIVISION
        self.copied: set[int | None] = set()
        self.reshaped_copies: set[int | None] = set()
        self.perhaps_apart: set[int | None] = set()
        self.rooms = 0
        self.n_tested = 0

    def call(self, step: Call, frame: Frame) -> None:
        if step.function in PRODUCTS:
            self.product(step, frame)
        elif isinstance(step.function, np.ufunc) and step.function in LINALG:
            self.linalg(step, frame)
        elif step.function is operator.getitem and len(step.args) == 2:
            self.gather(step, frame)
        elif step.function in ACCUMULATES:
            self.accumulate(step, frame)
        elif step.function in POSITIONS:
            self.positions(step, frame)
        elif step.function is np.ndarray.ravel and step.kwargs in _IN_ORDER and len(step.args) == 1:
            source = self.ravelled(step.args[0], frame)
            if step.kwargs != _IN_ORDER[0] and len(source.sizes) > 1:
                if source.ordered is None:
                    raise NotCompiled("a ravel of axes that lie in another order")
                self.vectors |= source.ordered
            one = len(source.sizes) == 1
            packed = source.strides[0].number == source.dtype.itemsize if one else source.packed
            if not packed or source.ordered is None:
                is_brief = one and step.dsts[0] in frame.brief
                source = self.packed_copy(source) if is_brief else self.packed_together(source)
            frame.registers[step.dsts[0]] = self.reshaped(source, (-1,), frame)
        elif step.function is np.ndarray.flatten and step.kwargs == (("order", "C"),) and len(step.args) == 1:
            frame.registers[step.dsts[0]] = self.reshaped(self.copy_of(step.args[0], frame), (-1,), frame)
        elif step.function is np.ndarray.reshape and not step.kwargs and len(step.args) == 2:
            frame.registers[step.dsts[0]] = self.reshaped(self.array(step.args[0], frame), step.args[1], frame)
        elif step.function is np.sort:
            frame.registers[step.dsts[0]] = self.sorted(step, frame)
        elif _is_median(step):
            frame.registers[step.dsts[0]] = self.fresh(self.median(step, frame))
        elif step.function in SEARCHES:
            frame.registers[step.dsts[0]] = self.fresh(self.searched(step, frame))
        else:
            super().call(step, frame)

    def view(self, step: ViewStep, frame: Frame) -> None:
        if step.kind == "reshape":
            source = self.register(step.src, frame)
            if not isinstance(source, Array) or step.scalar:
                raise NotCompiled("a reshape of what is no array")
            frame.registers[step.dst] = self.reshaped(source, step.params, frame)
        else:
            super().view(step, frame)

    def copy_of(self, operand: Any, frame: Frame) -> Array:
        """A copy of an array, packed in C order."""
        return self.packed_copy(self.array(operand, frame))

    def packed_copy(self, source: Array) -> Array:
        if source.dtype.kind not in "biuf" or source.dtype.itemsize > 8:
            raise NotCompiled("a copy of an array of another dtype")
        self.require_short(source.sizes, source.axes)
        copy = self.room(source.dtype, source.sizes, source.axes)
        self.sweep((copy, source), lambda rows: self.copy(*rows))
        return copy

    def reshaped(self, source: Array, shape: Sequence[Any], frame: Frame) -> Array:
        """An array in another shape, of which NumPy makes a view where its elements are evenly apart; -1: what is left.

        Of a matrix that need not lie packed in C order this is a copy, in one axis, and so of a vector in more axes,
        where nobody knows how it lies. Nobody may tell it from a view: neither is written, nor multiplied, since BLAS
        adds up what lies apart in another order.
        """
        if not 1 <= len(shape) <= MOST_AXES:
            raise NotCompiled("a reshape to many axes")
        if len(source.sizes) > 1 and (not source.packed or source.ordered is None):
            if len(shape) > 1:
                raise NotCompiled("a reshape of a matrix that need not lie packed")
            source = self.packed_together(source)
            self.perhaps_apart.add(source.base)
        assert source.ordered is not None
        one = len(source.sizes) == 1
        self.require_short(source.sizes, source.axes)
        if one and tuple(shape) == (-1,):
            return replace(source, held=None, room=None, part=None)
        total = self.total(source.sizes)
        known = [self.number(dim, frame) for dim in shape if dim != -1]
        if len(known) < len(shape):
            rest = self.total(known or (self.exactly(1),))
            if rest.least < 1:
                raise NotCompiled("a reshape to a size that may be nothing")
            size = Number("int", self.op("floor_divide", total.value, rest.value), 0, total.most)
            known.insert(list(shape).index(-1), size)
        sizes, axes = self.tested(known)
        if len(sizes) > 1 or sizes[0].value is not total.value:
            self.require_size(self.total(sizes), total)
        apart = source.strides[-1] if one else self.stride(source.dtype.itemsize)
        if sum(size.most > 1 for size in sizes) > 1 and (apart.number is None or apart.number < 0):
            source, apart = self.packed_together(source), self.stride(source.dtype.itemsize)
            self.perhaps_apart.add(source.base)
        assert source.ordered is not None
        self.vectors |= source.ordered
        strides = [apart]
        for length in sizes[:0:-1]:
            strides.insert(0, self.op("multiply", strides[0], length.value))
        parts = (tuple(sizes), tuple(strides), tuple(axes))
        packed = apart.number == source.dtype.itemsize
        return Array(source.first, *parts, source.base, ordered=source.ordered, packed=packed)

    def packed_together(self, source: Array) -> Array:
        """A copy of what need not lie packed in C order, which may stand for the array where it does."""
        copy = self.packed_copy(source)
        if not (len(source.sizes) == 1 and source.strides[0].number is not None and source.sizes[0].least > 1):
            self.copied |= {source.base, copy.base}
            self.reshaped_copies.add(source.base)
        return replace(copy, held=None, room=None)

    def ravelled(self, operand: Any, frame: Frame) -> Array:
        """An operand that is an array; a single element as a vector of one."""
        register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        if not isinstance(register, Point):
            return self.array(operand, frame)
        parts = ((self.exactly(1),), (self.stride(register.memref.dtype.itemsize),), (frozenset[Axis](),))
        return Array(register.memref, *parts, register.base)

    def array(self, operand: Any, frame: Frame) -> Array:
        """An operand that is an array."""
        register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        if not isinstance(register, Array):
            raise NotCompiled("an operand that is no array")
        return register

    def product(self, step: Call, frame: Frame) -> None:
        """A product of vectors and matrices, by NumPy's loop."""
        dtype, vectors = step.types[0].dtype, step.types[0].scalar
        if len(step.types) != 1 or step.kwargs or len(step.args) != 2:
            raise NotCompiled("a product of other arrays")
        if class_of(dtype) not in ("iuf" if step.function is np.matmul else "f"):
            raise NotCompiled(f"a product of {dtype}")
        a, b = (self.array(arg, frame) for arg in step.args)
        if not self.perhaps_apart.isdisjoint((a.base, b.base)):
            raise NotCompiled("a product of what may lie apart in NumPy")
        if any(len(operand.sizes) > 2 for operand in (a, b)):
            raise NotCompiled("a product of what are no vectors or matrices")
        a, b = (self.cast_array(operand, dtype) for operand in (a, b))
        if vectors != (len(a.sizes) == len(b.sizes) == 1):
            raise NotCompiled("a product of other arrays")
        if not vectors and step.function is not np.matmul and not (dtype.char in "fd" and dot_is_matmul()):
            raise NotCompiled("np.dot of matrices, which is no matmul")
        what = self.constant(INT64, abi.VECTOR_PRODUCTS * dtype.num + abi.VECTOR_DOT * (step.function is not np.matmul))
        shared = a.axes[-1] | b.axes[0]
        self.require_short((*a.sizes, *b.sizes[1:]), (*a.axes[:-1], shared, *b.axes[1:]))
        if vectors:
            operands = (what, self.memref(a), self.memref(b))
            result = self.helper("product", operands, dtype, abi.RETURNED_PRODUCT)
            assert result is not None
            frame.registers[step.dsts[0]] = self.fresh(result)
            return
        out = self.room(dtype, (*a.sizes[:-1], *b.sizes[1:]), (*a.axes[:-1], *b.axes[1:]))
        one, none = self.constant(INT64, 1), self.constant(INT64, 0)
        left, right = ([*(size.value for size in x.sizes), *x.strides] for x in (a, b))
        left = left if len(a.sizes) == 2 else [one, left[0], none, left[1]]  # one row
        right = right if len(b.sizes) == 2 else [right[0], one, right[1], none]  # one column
        begins = [self.begin(x) for x in (out, a, b)]
        self.helper("matmul", (what, *begins, *left, *right), failure=abi.RETURNED_PRODUCT)
        frame.registers[step.dsts[0]] = out

    def cast_array(self, source: Array, dtype: DType) -> Array:
        """An array as another dtype, in C order, as NumPy converts an operand."""
        if source.dtype == dtype:
            return source
        if not exact_cast(source.dtype, dtype) or not np.can_cast(source.dtype, dtype) or source.ordered is None:
            raise NotCompiled(f"an array of {source.dtype} as {dtype}")
        self.vectors |= source.ordered if len(source.sizes) > 1 else set()
        self.require_short(source.sizes, source.axes)
        cast = KernelOp("cast", (0,), (source.dtype,), (dtype,))
        step = Map(Kernel((source.dtype,), (cast,), (1,)), (), (), (), (), ())
        result = self.room(dtype, source.sizes, source.axes)
        self.sweep([source, result], lambda rows: self.launch(step, rows, 1), 2)
        return result

    def linalg(self, step: Call, frame: Frame) -> None:
        """A matrix of doubles inverted, solved or factored, by NumPy's loop."""
        gufunc: Any = step.function
        arrays = [self.array(arg, frame) for arg in step.args]
        a, b = arrays[0], arrays[-1]
        if len(a.sizes) != 2 or len(b.sizes) > 2 or any(array.dtype != np.float64 for array in arrays):
            raise NotCompiled("a function of np.linalg of what are no matrices")
        # NB: the time goes by the third power of the size, or by its square and how many columns there are.
        for columns in (a, b):
            self.require_short((*a.sizes, columns.sizes[-1]), (*a.axes, columns.axes[-1]))
        sizes = {"m": (a.sizes[0], a.axes[0] | a.axes[1]), "n": (b.sizes[-1], b.axes[-1])}
        outs: list[Array | None] = []
        begins: list[Memref] = []
        for type_, axes in zip(step.types, _results_of(gufunc.signature), strict=True):
            if type_.dtype != np.float64 or type_.scalar != (not axes):
                raise NotCompiled("a result of another type")
            out = self.room(np.dtype(np.float64), *zip(*(sizes[axis] for axis in axes), strict=True)) if axes else None
            place = Memref(self.name("c"), np.dtype(np.float64), (), (), "cell")
            if out is None:
                self.nodes.append(AllocNode(place))
            outs.append(out)
            begins.append(place if out is None else self.begin(out))
        one, none = self.constant(INT64, 1), self.constant(INT64, 0)
        words: list[Value | Memref] = [self.constant(INT64, LINALG[gufunc]), begins[0], begins[-1]]
        for array in (a, b):
            number, apart = (one, none) if len(array.sizes) == 1 else (array.sizes[1].value, array.strides[1])
            words += [self.begin(array), array.sizes[0].value, number, array.strides[0], apart]
        self.helper("linalg", words, failure=abi.RETURNED_PRODUCT)
        for dst, out, begin in zip(step.dsts, outs, begins, strict=True):
            frame.registers[dst] = out or self.fresh(self.load(begin))

    def gather(self, step: Call, frame: Frame) -> None:
        """The elements of a vector that a vector of integers names."""
        x, places = (self.array(arg, frame) for arg in step.args)
        if len(x.sizes) != 1 or len(places.sizes) != 1:
            raise NotCompiled("an index of what are no vectors")
        kind = places.dtype.kind
        if kind not in "iu" or x.dtype.hasobject:
            raise NotCompiled(f"an index of {places.dtype}")
        self.require_short(places.sizes, places.axes)
        out = self.room(x.dtype, places.sizes, places.axes)
        bytes_each, of_place = (array.dtype.itemsize for array in (x, places))
        sizes = [self.constant(INT64, size) for size in (bytes_each, -of_place if kind == "i" else of_place)]
        operands = (self.begin(out), sizes[0], self.memref(x), self.memref(places), sizes[1])
        self.helper("gather", operands, failure=abi.RETURNED_INDEX)
        frame.registers[step.dsts[0]] = out

    def accumulate(self, step: Call, frame: Frame) -> None:
        """The cumulative sum or product of a vector."""
        x, (type_,) = self.array(step.args[1], frame), step.types
        if len(x.sizes) != 1 or x.dtype != type_.dtype or type_.dtype.char not in "fdl":
            raise NotCompiled("a cumulative sum of other than vectors of floats or int64")
        self.require_short(x.sizes, x.axes)
        out = self.room(x.dtype, x.sizes, x.axes)
        more = abi.ACCUMULATE_MULTIPLY if step.function is _C.multiply_accumulate else abi.ACCUMULATE_ADD
        what = self.constant(INT64, abi.ACCUMULATES * x.dtype.num + more)
        self.helper("accumulate", (what, self.begin(out), self.memref(x)), failure=abi.RETURNED_FOLD)
        frame.registers[step.dsts[0]] = out

    def positions(self, step: Call, frame: Frame) -> None:
        """Where the first extreme of an array lies, or of each row or column of a matrix."""
        x, (type_,) = self.array(step.args[0], frame), step.types
        given = dict(zip(("axis", "keepdims"), step.args[1:], strict=False)) | dict(step.kwargs)
        if given.get("axis") is None and len(x.sizes) > 1:
            x = self.reshaped(x, (-1,), frame)
        one = len(x.sizes) == 1
        if given.get("keepdims") or x.dtype.kind not in "biuf" or len(x.sizes) > 2 or type_.scalar != one:
            raise NotCompiled("positions of extremes of other arrays")
        self.require_short(x.sizes, x.axes)
        along = 0 if one else int(given["axis"])
        what = self.constant(
            INT64,
            abi.POSITIONS * x.dtype.num
            + (abi.POSITION_GREATEST if step.function in GREATEST else abi.POSITION_LEAST),
        )
        if one:
            out: Array | None = None
            place = Memref(self.name("c"), INT64, (), (), "cell")
            self.nodes.append(AllocNode(place))
            rows = (self.constant(INT64, 1), self.constant(INT64, 0))
        else:
            out = self.room(INT64, (x.sizes[1 - along],), (x.axes[1 - along],))
            place, rows = self.begin(out), (x.sizes[1 - along].value, x.strides[1 - along])
        words = (rows[0], x.sizes[along].value, rows[1], x.strides[along])
        self.helper("positions", (what, place, self.begin(x), *words), failure=abi.RETURNED_CONDITION)
        frame.registers[step.dsts[0]] = out or self.fresh(self.load(place))

    def sorted(self, step: Call, frame: Frame) -> Array:
        """A sorted copy of a vector, by NumPy's own function."""
        source, given = self.array(step.args[0], frame), dict(step.kwargs)
        if len(source.sizes) != 1 or len(step.args) != 1 or given.get("kind") is not None:
            raise NotCompiled("a sort of what is no vector")
        copy = self.packed_copy(source)
        what = self.constant(INT64, source.dtype.num)
        self.helper("sort", (what, self.begin(copy), copy.sizes[0].value), failure=abi.RETURNED_CONDITION)
        return copy

    def median(self, step: Call, frame: Frame) -> Value:
        """The median of all elements of a vector or matrix."""
        source = self.array(step.args[0], frame)
        if step.types[0] != ArrayType(np.dtype(np.float64), (), True) or not (
            source.dtype == np.float64 or source.dtype.kind in "iu"
        ):
            raise NotCompiled(f"a median of {source.dtype}")
        copy, out = self.packed_copy(source), Memref(self.name("c"), np.dtype(np.float64), (), (), "cell")
        self.nodes.append(AllocNode(out))
        what = self.constant(INT64, source.dtype.num)
        words = (what, self.begin(copy), self.total(copy.sizes).value, out)
        self.helper("median", words, failure=abi.RETURNED_CONDITION)
        return self.load(out)

    def searched(self, step: Call, frame: Frame) -> Value:
        """Where a number belongs in a sorted vector."""
        (vector, key), given = step.args, dict(step.kwargs)
        x = self.array(vector, frame)
        if len(x.sizes) != 1 or not step.types[0].scalar or x.dtype not in (np.float64, np.int64):
            raise NotCompiled("a search in other arrays")
        if isinstance(key, Reg):
            register = self.register(key.index, frame)
            value = self.load(register.memref) if isinstance(register, Point) else self.scalar(key, frame).value
            if value.dtype.kind not in "biuf" or np.result_type(value.dtype, x.dtype) != x.dtype:
                raise NotCompiled("a search for what is compared as another dtype")
            value = self.cast(value, x.dtype)
        else:
            number = self.number(key, frame)
            if number.kind == "bool" or (number.kind == "float" and x.dtype != np.float64):
                raise NotCompiled("a search for what is compared as another dtype")
            value = self.convert(number, x.dtype)
        side = abi.SEARCH_RIGHT if given.get("side") == "right" else abi.SEARCH_LEFT
        steps = _search_steps()
        if steps is None:
            raise NotCompiled("a search by steps that are not known")
        what = self.constant(INT64, abi.SEARCHES * x.dtype.num + side + steps)
        words = (what, self.begin(x), x.sizes[0].value, x.strides[0], self.cell(value))
        place = self.helper("search", words, INT64)
        assert place is not None
        return place

    # Kernels

    def map(self, step: Map, frame: Frame) -> None:
        if step.shape == ():
            super().map(step, frame)
            return
        if len(step.shape) > MOST_AXES:
            raise NotCompiled("a map over many axes")
        kernel = step.kernel
        if len(step.shape) > 1 and any(op.op == "copy" and op.param == "F" for op in kernel.ops):
            raise NotCompiled("a copy in another order")
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
            places.append(self.room(dtypes[value], lengths, axes))
            if target is None:
                frame.registers[out] = places[-1]
            else:
                late.append((target, places[-1]))
        self.sweep(places, lambda rows: self.launch(step, rows, len(reads)), 2)
        for pair in late:
            self.sweep(pair, lambda rows: self.copy(*rows))

    def require_alike_strides(self, source: Array, target: Array) -> None:
        """Decline where NumPy may copy a vector over itself element by element (csrc/kernels/kernel_map.c)."""
        (one,), (other,) = source.strides, target.strides
        if one is not other and one.number != 0:
            onward = self.op("greater_equal", self.op("bitwise_xor", one, other), self.constant(INT64, 0))
            unlike = self.op("not_equal", one, other)
            self.decline_if(self.op("logical_and", unlike, onward), abi.RETURNED_CONDITION)

    def copy(self, target: Array, source: Array) -> None:
        """Copy a vector to memory of its own."""
        to = (self.begin(target), target.strides[0])
        bytes_each = self.constant(INT64, source.dtype.itemsize)
        self.helper("copy", (*to, self.begin(source), source.sizes[0].value, source.strides[0], bytes_each))

    def require_short(self, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]]) -> None:
        """What is handled as a whole is not long, or the loop runs step by step."""
        product: list[int] = []
        most = 1
        if _is_tested(lengths, axes):
            self.vectors.add(WINDOW)
            return
        tested = any(place < TESTED for known in axes for place, _ in known)
        axes = [frozenset(one for one in known if one[0] > TESTED) for known in axes]
        if tested:
            self.vectors |= {axis for known in axes for axis in known}
            if prod(length.most for length in lengths) > LONGEST:
                total = self.total(lengths).value
                self.decline_if(self.op("greater", total, self.constant(INT64, LONGEST)), abi.RETURNED_LONG)
            return
        for length, known in zip(lengths, axes, strict=True):
            self.vectors |= {axis for axis in known if axis != WINDOW}
            if length.most <= abi.MOST_VECTOR and not known:
                most *= max(length.most, 1)
            elif not known or known == {WINDOW}:
                if not known or len(lengths) > 1:
                    raise NotCompiled("an array of a size that is not known")
            else:
                product += min(known - {WINDOW})
        self.vectors |= {WINDOW for known in axes if WINDOW in known}
        if most > abi.MOST_VECTOR or (product and most > 8) or len(product) > abi.VECTOR_WORDS:
            raise NotCompiled("an array of a size that is not known")
        if len(product) > 2:
            self.vectors.add(tuple(product))

    def tested(self, sizes: Sequence[Number]) -> tuple[list[Number], list[frozenset[Axis]]]:
        """Sizes of an array, which is found not to be too long here, or the loop runs step by step."""
        result = []
        for size in sizes:
            if size.least < 0:
                self.decline_if(self.op("less", size.value, self.constant(INT64, 0)), abi.RETURNED_CONDITION)
            if size.most > LONGEST:
                self.decline_if(self.op("greater", size.value, self.constant(INT64, LONGEST)), abi.RETURNED_LONG)
            result.append(replace(size, least=max(size.least, 0), most=min(size.most, LONGEST)))
        if prod(size.most for size in result) > LONGEST:
            total = self.total(result).value
            self.decline_if(self.op("greater", total, self.constant(INT64, LONGEST)), abi.RETURNED_LONG)
        self.n_tested += 1
        return result, [frozenset(((TESTED - self.n_tested, axis),)) for axis in range(len(result))]

    def sweep(self, places: Sequence[Array], run: Callable[[list[Array]], None], ndim: int = 1) -> None:
        """Do something with arrays of one shape: with all their parts of at most `ndim` axes, or with all elements as
        one vector where they lie so."""
        places = _squeezed(places)
        lengths = places[-1].sizes
        if len(lengths) == 1:
            run(list(places))
            return
        cells = [all(stride.number == 0 for stride in place.strides) for place in places]
        if all(cell or (place.packed and place.ordered is not None) for cell, place in zip(cells, places, strict=True)):
            total = (self.total(lengths),)
            flat = []
            for cell, place in zip(cells, places, strict=True):
                stride = self.stride(0 if cell else place.dtype.itemsize)
                self.vectors |= place.ordered or set()
                flat.append(replace(place, sizes=total, strides=(stride,), axes=(frozenset(),)))
            run(flat)
            return
        if len(lengths) <= ndim:  # NB: a kernel that goes through rows expects elements
            some = self.op("not_equal", self.total(lengths).value, self.constant(INT64, 0))
            nodes, _ = self.inside(lambda: run(list(places)))
            self.nodes.append(If(some, nodes))
            return
        together = self.lie_together(places, cells)
        if len(lengths) > 2 and together is not None:
            merged, _ = self.inside(lambda: self.sweep(self.with_two_as_one(places), run, ndim))
            apart, _ = self.inside(lambda: self.sweep_each(places, run, ndim))
            self.nodes.append(If(together, merged, apart))
        else:
            self.sweep_each(places, run, ndim)

    def sweep_each(self, places: Sequence[Array], run: Callable[[list[Array]], None], ndim: int) -> None:
        """sweep() with the parts along the first axis, one after another."""
        lengths, row = places[-1].sizes, Value(self.name("row"), INT64)

        def each() -> None:
            index = [row]
            rows = []
            for place in places:
                sizes, strides = place.sizes[1:], place.strides[1:]
                first = place.first
                if place.strides[0].number != 0:
                    first = self.shown(self.memref(place), sizes, strides, index)
                rows.append(Array(first, sizes, strides, place.axes[1:], place.base))
            self.sweep(rows, run, ndim)

        nodes, _ = self.inside(each)
        self.nodes.append(For(row, lengths[0].value, nodes))

    def lie_together(self, places: Sequence[Array], cells: Sequence[bool]) -> Value | None:
        """Whether the last two axes of all these arrays are one, as those of the channels and pixels of a row of an
        image: where the elements of the last axis end, its next ones begin. None: certainly not."""
        result = self.constant(np.dtype(np.bool_), True)
        for place, cell in zip(places, cells, strict=True):
            outer, inner = place.strides[-2:]
            if cell or outer.number == inner.number == 0:
                continue
            if 0 in (outer.number, inner.number):
                return None
            same = self.op("equal", outer, self.op("multiply", inner, place.sizes[-1].value))
            result = self.op("logical_and", result, same) if result.number is None else same
        return result

    def with_two_as_one(self, places: Sequence[Array]) -> list[Array]:
        """These arrays with their last two axes as one."""
        length = self.total(places[-1].sizes[-2:])
        return [
            replace(
                place,
                sizes=(*place.sizes[:-2], length),
                strides=(*place.strides[:-2], place.strides[-1]),
                axes=(*place.axes[:-2], frozenset()),
            )
            for place in places
        ]

    def total(self, lengths: Sequence[Number]) -> Number:
        """How many elements an array has, which is not long."""
        value = lengths[0].value
        for length in lengths[1:]:
            value = self.op("multiply", value, length.value)
        return Number("int", value, 0, LONGEST) if len(lengths) > 1 else lengths[0]

    def repeated(self, value: Value, lengths: Sequence[Number]) -> Array:
        """A single element in place of an array: it stands at a place of its own, with strides of 0."""
        n = len(lengths)
        return Array(self.cell(value), tuple(lengths), (self.stride(0),) * n, (frozenset(),) * n, None)

    def read_array(self, operand: Operand, dtype: DType, lengths: Sequence[Number], frame: Frame) -> Array:
        """An operand of a kernel, broadcast."""
        register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
        if not isinstance(register, Array):
            return self.repeated(self.operand(operand, dtype, frame), lengths)
        missing, nowhere, none = len(lengths) - len(register.sizes), frozenset[Axis](), self.stride(0)
        if missing < 0 or register.dtype != dtype:
            raise NotCompiled("an operand of other axes or dtype")
        strides, axes, broadcast = [none] * missing, [nowhere] * missing, missing > 0
        for size, stride, axis, length in zip(
            register.sizes, register.strides, register.axes, lengths[missing:], strict=True
        ):
            repeated = size.most == 1 < length.most and size.value is not length.value
            self.require_size(size, self.exactly(1) if repeated else length)
            broadcast |= repeated
            strides.append(none if repeated else stride)
            axes.append(nowhere if repeated else axis)
        if len(lengths) > 1 and len(lengths) - strides.count(none) > 1:
            if register.ordered is None:
                raise NotCompiled("an operand whose axes lie in another order")
            self.vectors |= register.ordered
        if not broadcast:
            return replace(register, sizes=tuple(lengths))
        return Array(register.first, tuple(lengths), tuple(strides), tuple(axes), register.base)

    def require_forward(self, step: Map, frame: Frame) -> None:
        """See KernelOp.forward."""
        read = {value for op in step.kernel.ops for value in op.operands if op.forward}
        for operand in (operand for value, operand in enumerate(step.operands) if value in read):
            register = self.register(operand.index, frame) if isinstance(operand, Reg) else None
            if isinstance(register, Array):
                self.decline_reversed(register)

    def decline_reversed(self, array: Array) -> None:
        """Decline where an array is reversed along some axis."""
        for stride in array.strides:
            if stride.number is None or stride.number < 0:
                self.decline_if(self.op("less", stride, self.constant(INT64, 0)), abi.RETURNED_REVERSED)

    def require_size(self, size: Number, length: Number) -> None:
        if size.value is not length.value:
            self.decline_if(self.op("not_equal", size.value, length.value), abi.RETURNED_CONDITION)

    def target(self, out: int, dtype: DType, lengths: Sequence[Number], frame: Frame) -> Array:
        """What a kernel writes."""
        target = self.register(out, frame)
        if not isinstance(target, Array) or len(target.sizes) != len(lengths) or target.dtype != dtype:
            raise NotCompiled("a target of other axes or dtype")
        for size, length in zip(target.sizes, lengths, strict=True):
            self.require_size(size, length)
        self.stored.add(target.base)
        return replace(target, sizes=tuple(lengths))

    def launch(self, step: Map, places: Sequence[Array], n_operands: int) -> None:
        """Run a kernel over vectors or matrices."""
        letters = ""
        rows = len(places[-1].sizes) == 2
        for place, array in enumerate(places):
            if array.strides[-1].number == 0 and place < n_operands:
                letters += abi.CLASS_SINGLE if array.strides[0].number == 0 else abi.CLASS_OF_ROW
            else:
                packed = array.strides[-1].number == array.dtype.itemsize
                letters += abi.CLASS_PACKED if packed else abi.CLASS_SPREAD
        asks = abi.ASKS_ROWS * rows + self.asks
        self.count_loops(sum(op.op == "loop" for op in step.kernel.ops))
        memrefs = tuple(self.memref(array) for array in places)
        self.nodes.append(Launch(step.kernel, letters + asks, memrefs[:n_operands], memrefs[n_operands:]))

    # Rooms

    def room(self, dtype: DType, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]]) -> Array:
        """Memory for an array that this step makes; it keeps it until it runs again."""
        number = self.new_room()
        first = self.room_memory(number, dtype, self.total(lengths))
        return self.packed(lengths, axes, number, first, Held(first, self.origin(0), frozenset((first,))))

    def new_room(self) -> int:
        if self.rooms == abi.MOST_ROOMS:
            raise NotCompiled("too many arrays")
        self.rooms += 1
        return self.rooms - 1

    def packed(
        self, lengths: Sequence[Number], axes: Sequence[frozenset[Axis]], number: int, first: Memref, held: Held
    ) -> Array:
        """An array that fills room `number`, in C order."""
        strides = [self.stride(first.dtype.itemsize)]
        for length in lengths[:0:-1]:
            strides.insert(0, self.op("multiply", strides[0], length.value))
        parts = (tuple(lengths), tuple(strides), tuple(axes))
        return Array(first, *parts, -1 - number, held, number, packed=True)

    def room_memory(self, number: int, dtype: DType, count: Number) -> Memref:
        """The first element of room `number`, which has room for so many."""
        memref = Memref(self.name("m"), dtype, (), (), "room", number)
        self.nodes.append(Room(memref, count.value))
        return memref

    def enter_body(self, body: Schedule, inside: Frame) -> None:
        """What goes into an inner body and is written there lies apart from all else, or nothing there is a vector."""
        if not holds_vectors(body):
            return
        registers = inside.registers.items()
        bases = {place: value.base for place, value in registers if isinstance(value, Array | Point)}
        for written in body.written:
            if any(place != written and base == bases.get(written) for place, base in bases.items()):
                raise NotCompiled("memory that goes into a body twice")


@functools.cache
def _search_steps() -> int | None:
    """Which steps NumPy's search takes, as they show in a vector that is not sorted; None: others than are known."""
    x = Samples(0).uniform(200)
    trials = [(x[:n], key, int(x[:n].searchsorted(key))) for n in (1, 2, 3, 5, 8, 17, 64, 100, 200) for key in x[::9]]
    for steps, place in ((0, _place_by_middles), (abi.SEARCH_BY_HALVES, _place_by_halves)):
        if all(place(some, key) == found for some, key, found in trials):
            return steps
    return None


def _place_by_middles(x: np.ndarray[Any, Any], key: float) -> int:
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if x[middle] < key else (low, middle)
    return low


def _place_by_halves(x: np.ndarray[Any, Any], key: float) -> int:
    low, rest = 0, len(x)
    while rest > 1:
        half = rest // 2
        low += half if x[low + half] < key else 0
        rest -= half
    return low + int(x[low] < key)


def _results_of(signature: str) -> list[tuple[str, ...]]:
    """The axes of each result of a gufunc: [("m",), ("m", "m")] for "(m,m)->(m),(m,m)"."""
    results = re.findall(r"\(([^)]*)\)", signature.partition("->")[2])
    return [tuple(filter(None, one.replace(" ", "").split(","))) for one in results]


def _is_median(step: Call) -> bool:
    """Whether it is the median of all elements."""
    if step.function is _MEDIAN:
        params = dict(step.kwargs)
        return params.get("axis") is None and not params.get("keepdims")
    return step.function is _C.median


def _is_tested(lengths: Sequence[Number], axes: Sequence[frozenset[Axis]]) -> bool:
    """Whether these are axes of one array whose number of elements is tested, or have one element."""
    found = [
        {place for place, _ in known if place < TESTED}
        for length, known in zip(lengths, axes, strict=True)
        if not length.least == length.most == 1
    ]
    return bool(found) and bool(set.intersection(*found))


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
    same = (read.first, read.strides) == (target.first, target.strides)
    return read.base == target.base and not same and (read.part is None or read.part != target.part)


def holds_vectors(schedule: Schedule) -> bool:
    return any(
        (isinstance(step, Map) and step.shape != ()) or any(map(holds_vectors, bodies(step))) for step in schedule.steps
    )
