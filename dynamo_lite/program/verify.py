"""Says what a sound Function is: values are defined once and before they are used, types agree, indices stay within.

Enters a Function, as any pass leaves it; leaves nothing, or Unsound.
"""

from __future__ import annotations

from dynamo_lite._C import abi
from dynamo_lite.program.element_ops import BOOL, exact_cast, results_of
from dynamo_lite.program.ir import (
    INDEX,
    Alloc,
    DType,
    Element,
    For,
    Function,
    Keep,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    View,
    defined,
    used,
    walk,
)
from dynamo_lite.program.text import node_text

TAILS = ("", "masked", "numbers", "copied", "halved")


class Unsound(Exception):
    """A function that is none; the text says which node, and why."""


def verify(function: Function) -> None:
    """Raise Unsound unless the function is sound."""
    _Verifier(function).run()


class _Verifier:
    """values, memrefs: those in scope. extents: of the indices in scope, what they stay below."""

    def __init__(self, function: Function) -> None:
        self.function = function
        extents = [function.n, *filter(None, (function.rows, function.iterations)), *function.axes]
        self.values: set[Value] = set(extents)
        self.born: set[Value] = set(extents)
        self.memrefs: set[Memref] = {*function.operands, *function.results}
        self.extents: dict[Value, Value] = {}
        self.length = next((node.length for node in function.body if isinstance(node, Tiles)), 0)
        self.counts: set[Value] = set()

    def run(self) -> None:
        for memref in (*self.function.operands, *self.function.results):
            if len(memref.axes) != len(memref.extents):
                raise Unsound(f"{memref.name} has axes without extents")
        self.nodes(self.function.body)
        views = {node.result: node.source for node in walk(self.function.body) if isinstance(node, View)}
        written = {node.memref for node in walk(self.function.body) if isinstance(node, Store)}
        written |= {memref for loop in self.function.loops for memref in loop.writes}
        while reached := {views[memref] for memref in written if memref in views} - written:
            written |= reached
        for memref in self.function.results:
            if memref not in written:
                raise Unsound(f"nothing is stored in {memref.name}")

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        values, memrefs, extents = set(self.values), set(self.memrefs), dict(self.extents)
        for node in nodes:
            why = self.node(node)
            if why:
                raise Unsound(f"{why}: {node_text(node)[0]}")
        self.values, self.memrefs, self.extents = values, memrefs, extents

    def define(self, values: tuple[Value, ...]) -> str:
        twice = [value.name for value in values if value in self.born]
        self.values.update(values)
        self.born.update(values)
        return f"{twice[0]} is defined twice" if twice else ""

    def node(self, node: Node) -> str:
        """What is wrong with a node, "" if nothing is; what it defines is in scope from then on."""
        unknown = [value.name for value in used(node) if value not in self.values]
        if unknown:
            return f"{unknown[0]} is not defined here"
        why = ""
        match node:
            case Load(result, memref, index):
                why = self.access(memref, index, result.dtype)
            case Store(memref, index, value):
                why = "an operand is stored into" if memref.space == "operand" else ""
                why = why or self.access(memref, index, value.dtype)
            case Element():
                why = _type_error(node)
            case Note(condition, status):
                why = "" if condition.dtype == BOOL and status > 0 else "a condition is a bool, a status a bit"
            case View():
                why = self.view(node)
            case Alloc():
                why = self.alloc(node)
            case NumpyLoop():
                why = self.loop(node)
            case For():
                return self.nest(node)
            case Tiles():
                return self.tiles(node)
            case Keep():
                pass
        return why or self.define(defined(node))

    def access(self, memref: Memref, index: tuple[Value, ...], dtype: DType) -> str:
        if memref not in self.memrefs and memref.space != "constant":
            return f"{memref.name} is not defined here"
        if memref.dtype != dtype:
            return f"{memref.name} holds {memref.dtype}"
        below = tuple(self.extents.get(value) for value in index)
        return "" if below == memref.extents else "an index does not stay within"

    def view(self, node: View) -> str:
        source, result = node.source, node.result
        kept = source.axes[len(node.index) :] if node.drop else source.axes
        if source not in self.memrefs or result in self.memrefs:
            return "a view of what is not defined, or defined twice"
        if kept != result.axes or len(result.extents) != len(kept) or source.dtype != result.dtype:
            return "a view has the axes and the dtype of what it shows"
        for index, extent in zip(node.index, source.extents, strict=False):
            if self.extents.get(index) is not extent:
                return "a view begins within"
        self.memrefs.add(result)
        return ""

    def alloc(self, node: Alloc) -> str:
        memref, end = node.memref, node.offset + node.memref.dtype.itemsize * self.length
        self.memrefs.add(memref)
        if memref.space != "tile":
            return "only tiles have buffers"
        if node.offset < 0:
            return ""
        within = node.offset % abi.SCRATCH_ALIGNMENT == 0 and self.length and end <= self.function.scratch_bytes
        return "" if within else "a buffer does not lie within the scratch"

    def loop(self, node: NumpyLoop) -> str:
        memrefs = (*node.reads, *node.writes)
        if any(memref not in self.memrefs and memref.space != "constant" for memref in memrefs):
            return "an array is not defined here"
        if (len(node.reads), len(node.writes)) != (node.ufunc.nin, node.ufunc.nout):
            return "the function has other operands"
        if node.count not in self.counts:
            return "a loop of NumPy's is over a tile"
        together = all(len(memref.axes) < 2 or memref.space == "tile" for memref in memrefs)
        return "" if together else "a loop of NumPy's needs elements that lie in one row"

    def nest(self, node: For) -> str:
        why = self.define((node.index,))
        if node.index.dtype != INDEX or node.extent.dtype != INDEX:
            why = why or "an index is an int64"
        if (
            node.tail not in TAILS
            or node.lanes < 1
            or node.lanes & (node.lanes - 1)
            or (node.lanes > 1) != bool(node.tail)
        ):
            why = why or "a number of lanes is a power of two, and has a tail"
        if any(len({one.value.dtype, one.first.dtype, one.next.dtype}) > 1 for one in node.carried):
            why = why or "what is carried has one dtype"
        if why:
            return why
        inside = {value for one in walk(node.body) for value in defined(one)} | {one.value for one in node.carried}
        carried = tuple(one.value for one in node.carried)
        outer = set(self.values)
        why = self.define(carried)
        self.extents[node.index] = node.extent
        self.nodes(node.body)
        handed_on = [one.next for one in node.carried] + [value for value, _ in node.last]
        missing = [value.name for value in handed_on if value not in inside | outer]
        self.values = outer
        del self.extents[node.index]
        return why or (f"{missing[0]} is not defined in the body" if missing else self.define(defined(node)))

    def tiles(self, node: Tiles) -> str:
        values = [node.at, node.columns, node.count, *filter(None, (node.row, node.rows))]
        outer = set(self.values)
        why = self.define(tuple(dict.fromkeys(values)))
        self.counts.add(node.count)
        self.extents[node.at] = node.extent
        if node.row is not None and node.extent_rows is not None:
            self.extents[node.row] = node.extent_rows
        self.nodes(node.body)
        self.values = outer
        return why


def _type_error(op: Element) -> str:
    """What is wrong with the types of an operation."""
    ins, outs = op.in_dtypes, op.dtypes
    if op.ufunc is not None:
        return "" if (len(ins), len(outs)) == (op.ufunc.nin, op.ufunc.nout) else "the function has other operands"
    if op.op == "copy":
        return "" if ins == outs and len(ins) == 1 else "a copy has its operand's dtype"
    if op.op == "cast":
        return "" if len(ins) == len(outs) == 1 and exact_cast(ins[0], outs[0]) else "no cast of these dtypes"
    if op.op == "where":
        return "" if ins == (BOOL, *outs, *outs) else "a choice of unlike dtypes"
    expected = results_of(op.op, ins)
    if expected is None:
        return "no such operation on these dtypes"
    return "" if outs == expected else "a result of another dtype"
