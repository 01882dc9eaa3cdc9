"""Makes the plainest function of a kernel: loops over its elements, and in them loads, operations and stores.

Enters a Kernel and what the launcher knows of its arrays, the classes of csrc/abi.def: of each operand and result a
letter, and whether there are rows. Leaves a Function:

    Kernel(v2 = multiply(v0, v1), classes "c0c")  ->  for i in n: v0 = load o0[i]; v1 = load o1[]; ...; store r0[i] = v2

What nobody needs and reports nothing is left out. INVARIANT: all loads of an element come before its stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.program.element_ops import BOOL, may_raise
from dynamo_lite.program.ir import (
    ANY,
    INDEX,
    PACKED,
    TABLE,
    Carried,
    Element,
    For,
    Function,
    Load,
    Memref,
    Node,
    Note,
    Store,
    Value,
)
from dynamo_lite.schedule.steps import Kernel


@dataclass(frozen=True, slots=True)
class Elements:
    """A kernel's operations on one element. constants: those of its values that are one."""

    operands: tuple[Value, ...]
    constants: tuple[tuple[Value, Memref], ...]
    ops: tuple[Element, ...]
    results: tuple[Value, ...]


Change: TypeAlias = Callable[[Element], Element]


def unchanged(op: Element) -> Element:
    """The operation itself."""
    return op


def divided(op: Element) -> Element:
    """A quotient by way of an inverse as the division that it stands for; any other operation as it is."""
    return Element("divide", op.operands[:2], op.results) if op.op == "quotient" else op


def elements(kernel: Kernel, change: Change = unchanged) -> Elements:
    """The operations of a kernel; change: what becomes of each."""
    values = [Value(f"v{number}", dtype) for number, dtype in enumerate(kernel.operand_dtypes)]
    operands = tuple(values)
    constants: list[tuple[Value, Memref]] = []
    ops: list[Element] = []
    for op in kernel.ops:
        results = tuple([Value(f"v{number}", dtype) for number, dtype in enumerate(op.dtypes, len(values))])
        values += results
        if op.op == "const":
            name = f"k{len(constants)}"
            constants.append((results[0], Memref(name, op.dtypes[0], (), (), "constant", len(constants), op.param)))
            continue
        ufunc: np.ufunc | None = op.param if op.op == "loop" else None
        operands_of = tuple([values[value] for value in op.operands])
        ops.append(change(Element(op.op, operands_of, results, ufunc, op.forward)))
    return Elements(operands, tuple(constants), tuple(ops), tuple([values[value] for value in kernel.results]))


def wanted(ops: Sequence[Element], results: Sequence[Value]) -> list[Element]:
    """The operations that lead to a result, or may report something."""
    needed = set(results)
    kept = []
    for op in reversed(ops):
        if any(value in needed for value in op.results) or may_raise(op.op, op.in_dtypes, op.dtypes):
            needed.update(op.operands)
            kept.append(op)
    return kept[::-1]


def build(kernel: Kernel, classes: str, with_rows: bool = False, change: Change = unchanged) -> Function:
    """The function of a kernel of which the arrays have these classes.

    change: what becomes of each operation; a backend may compile some for which the kernel asks for NumPy's loop.
    with_rows: there is a loop over rows around that over their elements. A kernel that iterates has one over
    iterations: inside, where what is carried are values; where it calls NumPy's loops, outside, and what is carried
    lies in memory, for results lie where the carried operands do.
    """
    builder = _Builder(kernel, classes, with_rows, change)
    if kernel.next and not any(op.ufunc is not None for op in builder.parts.ops):
        return builder.iterated()
    return builder.mapped()


def build_fold(kernel: Kernel, classes: str, change: Change) -> Function:
    """The function of a kernel that folds its value along two outer axes into what lies at the result."""
    return _Builder(kernel, classes, False, change, True).folded()


class _Builder:
    """What building a function keeps: the kernel's operations and where its operands and results lie."""

    def __init__(self, kernel: Kernel, classes: str, with_rows: bool, change: Change, folds: bool = False) -> None:
        self.kernel = kernel
        self.with_rows = with_rows
        self.parts = elements(kernel, change)
        self.n = Value("n", INDEX)
        self.i = Value("i", INDEX)
        self.outer: tuple[tuple[Value, Value], ...] = ()  # indices and extents of the loops around
        if with_rows:
            self.outer = ((Value("row", INDEX), Value("rows", INDEX)),)
        elif kernel.next:
            self.outer = ((Value("k", INDEX), Value("iterations", INDEX)),)
        elif folds:
            self.outer = tuple((Value(f"{name}.i", INDEX), Value(f"{name}.n", INDEX)) for name in ("outer", "inner"))
        self.memrefs: list[Memref] = []
        self.indices: list[tuple[Value, ...]] = []
        n_operands = len(self.parts.operands)
        outer = tuple(index for index, _ in self.outer)
        extent_of = {self.i: self.n, **dict(self.outer)}
        for place, letter in enumerate(classes):
            operand = place < n_operands
            value = self.parts.operands[place] if operand else self.parts.results[place - n_operands]
            axes: tuple[str, ...] = {abi.CLASS_PACKED: (PACKED,), abi.CLASS_SINGLE: ()}.get(letter, (ANY,))
            if not axes and not operand:
                axes = (ANY,)  # stride zero means a single element
            index = outer if letter in (abi.CLASS_ITERATED, abi.CLASS_OF_ROW) else (self.i,) * len(axes)
            if letter not in (abi.CLASS_ITERATED, abi.CLASS_OF_ROW):
                if (with_rows and axes) or (folds and operand):
                    axes, index = (*(ANY,) * len(outer), *axes), (*outer, *index)
                elif place in kernel.rows:
                    axes, index = (TABLE, *axes), (*outer, *index)
            name = f"o{place}" if operand else f"r{place - n_operands}"
            number = place if operand else place - n_operands
            extents = tuple(extent_of[one] for one in index)
            self.memrefs.append(Memref(name, value.dtype, axes, extents, "operand" if operand else "result", number))
            self.indices.append(index)
        self.loads = {
            value: Load(value, memref, index)
            for value, memref, index in zip(self.parts.operands, self.memrefs, self.indices, strict=False)
        } | {value: Load(value, memref, ()) for value, memref in self.parts.constants}
        self.stores = [
            Store(memref, index, value)
            for memref, index, value in zip(
                self.memrefs[n_operands:], self.indices[n_operands:], self.parts.results, strict=True
            )
        ]

    def function(self, body: tuple[Node, ...]) -> Function:
        split = len(self.parts.operands)
        function = Function(tuple(self.memrefs[:split]), tuple(self.memrefs[split:]), self.n, body)
        extents = tuple(extent for _, extent in self.outer)
        if self.with_rows:
            return replace(function, rows=extents[0])
        return replace(function, iterations=extents[0]) if self.kernel.next else replace(function, axes=extents)

    def needed(self, ops: Sequence[Element], values: Sequence[Value]) -> list[Load]:
        """The loads of what the operations and values need, in that order."""
        order = dict.fromkeys([value for op in ops for value in op.operands] + list(values))
        return [self.loads[value] for value in order if value in self.loads]

    def mapped(self) -> Function:
        ops = wanted(self.parts.ops, self.parts.results)
        body: tuple[Node, ...] = (*self.needed(ops, self.parts.results), *ops, *self.stores)
        nest = For(self.i, self.n, body)
        for index, extent in self.outer[::-1]:
            nest = For(index, extent, (nest,))
        return self.function((nest,))

    def iterated(self) -> Function:
        kernel, parts = self.kernel, self.parts
        ((k, iterations),) = self.outer
        by_name = {value.name: value for value in (*self.loads, *(value for op in parts.ops for value in op.results))}
        moving = [place for place, value in enumerate(kernel.next) if value != place]
        carried = []
        first = []
        for place in moving:
            load = self.loads.pop(parts.operands[place])
            start = Value(f"{load.result.name}.0", load.result.dtype)
            first.append(Load(start, load.memref, load.index))
            carried.append(Carried(load.result, start, by_name[f"v{kernel.next[place]}"]))
        ops = wanted(parts.ops, (*parts.results, *(one.next for one in carried)))
        body: list[Node] = [*self.needed(ops, parts.results), *ops]
        after: list[Node] = []
        last: dict[Value, Value] = {}
        for store in self.stores:
            if k in store.index:
                body.append(store)
            else:
                last.setdefault(store.value, Value(f"{store.value.name}.n", store.value.dtype))
                after.append(Store(store.memref, store.index, last[store.value]))
        loop = For(k, iterations, tuple(body), tuple(carried), tuple(last.items()))
        return self.function((For(self.i, self.n, (*first, loop, *after)),))

    def folded(self) -> Function:
        (store,) = self.stores
        (j, outer), (k, inner) = self.outer
        memref, value = store.memref, store.value
        memref = Memref(memref.name, memref.dtype, (PACKED,), (self.n,), memref.space)
        self.memrefs[-1] = memref
        names = ("start", "sum.outer", "sum", "folded", "folded.inner", "folded.outer")
        start, between, inside, folded, after_inner, after = (Value(name, value.dtype) for name in names)
        assert self.kernel.fold is not None
        name, operands = self.kernel.fold.__name__, (inside, value)
        tests: list[Node] = []
        if name in ("maximum", "minimum"):
            operands = (value, inside)
            if value.dtype.kind == "f":
                unclear = Value("unclear", BOOL)
                tests = [Element("nan_or_minus_zero", (value,), (unclear,)), Note(unclear, abi.RETURNED_MET_NAN)]
                name = "greater_of" if name == "maximum" else "less_of"
        ops = wanted(self.parts.ops, (value,))
        body = (*self.needed(ops, (value,)), *ops, Element(name, operands, (folded,)), *tests)
        inner_loop = For(k, inner, body, (Carried(inside, between, folded),), ((folded, after_inner),))
        outer_loop = For(j, outer, (inner_loop,), (Carried(between, start, after_inner),), ((after_inner, after),))
        nest = For(self.i, self.n, (Load(start, memref, (self.i,)), outer_loop, Store(memref, (self.i,), after)))
        return self.function((nest,))
