"""Says what a sound function is: values are defined once and before they are used, types agree, indices stay within.

Enters a Function, as any pass leaves it, or a Routine; leaves nothing, or Unsound. Of a Routine, an element is reached
only by indices that have been tested, and what is counted by a loop's index.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.program.element_ops import BOOL, exact_cast, results_of
from dynamo_lite.program.ir import (
    INDEX,
    Alloc,
    Decline,
    DType,
    Element,
    Fold,
    For,
    Function,
    Helper,
    If,
    Keep,
    Launch,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Phi,
    Range,
    Room,
    Routine,
    Store,
    Swap,
    Tiles,
    Value,
    View,
    Within,
    defined,
    used,
    walk,
)
from dynamo_lite.program.text import node_text

ORIGIN: DType = np.dtype(np.int64)  # of what says which object something is

TAILS = ("", "masked", "numbers", "padded", "copied", "halved")


class Unsound(Exception):
    """A function that is none; the text says which node, and why."""


def verify(function: Function | Routine) -> None:
    """Raise Unsound unless the function is sound."""
    (_Verifier(function) if isinstance(function, Function) else _RoutineVerifier(function)).run()


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


class _RoutineVerifier:
    """values, memrefs: those in scope; born: all that there were. within: indices that were tested, with what they stay
    below."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.values: set[Value] = set()
        self.memrefs: set[Memref] = set()
        self.born: set[Value | Memref] = set()
        self.within: set[tuple[Value, Value]] = set()

    def run(self) -> None:
        routine = self.routine
        sizes = [size for one in routine.inputs if isinstance(one, Memref) for size in (*one.extents, *one.strides)]
        given = (*routine.inputs, *sizes, routine.start, routine.by, routine.last)
        self.define(dict.fromkeys(one for one in given if isinstance(one, Memref) or one.number is None))
        if len(routine.inputs) != len(routine.ndims):
            raise Unsound("an input of which nothing says how it is given")
        loops = [node for node in walk(routine.body) if isinstance(node, Range) and node.outermost]
        if len(loops) != 1 or loops[0] not in routine.body:
            raise Unsound("a routine has one outermost loop")
        for node in routine.body:
            self.node(node)
        for value, origin in routine.results:
            self.require(self.known(value) and (origin is None or self.known(origin)), "a result that is not defined")
            self.require(origin is None or origin.dtype == ORIGIN, "an origin is an int64")

    def require(self, holds: bool, why: str, node: Node | None = None) -> None:
        if not holds:
            raise Unsound(why if node is None else f"{why}: {node_text(node)[0]}")

    def known(self, one: Value | Memref) -> bool:
        if isinstance(one, Memref):
            return one in self.memrefs
        return one.number is not None or one in self.values

    def define(self, given: Iterable[Value | Memref]) -> None:
        for one in given:
            self.require(one not in self.born, f"{one.name} is defined twice")
            self.born.add(one)
            if isinstance(one, Memref):
                self.memrefs.add(one)
            else:
                self.values.add(one)

    def body(self, nodes: Iterable[Node], handed_on: Iterable[Value | Memref], node: Node) -> None:
        """A body, at whose end what is handed on is known."""
        before = set(self.values), set(self.memrefs), set(self.within)
        for one in nodes:
            self.node(one)
        for value in handed_on:
            self.require(self.known(value), f"{value.name} is not defined in the body", node)
        self.values, self.memrefs, self.within = before

    def node(self, node: Node) -> None:
        """A node; what it defines is in scope from then on."""
        unknown = [one.name for one in (*used(node), *_memrefs(node)) if not self.known(one)]
        self.require(not unknown, f"{unknown[:1]} is not defined here", node)
        made: tuple[Value | Memref, ...] = defined(node)
        match node:
            case Element():
                self.require(not _type_error(node), _type_error(node), node)
            case Load() | Store():
                value = node.result if isinstance(node, Load) else node.value
                self.require(not node.index and not node.memref.axes, "one element is reached by a view", node)
                self.require(node.memref.dtype == value.dtype, f"{node.memref.name} holds another dtype", node)
            case View(result):
                self.view(node)
                made = (result,)
            case Alloc(memref) | Room(memref):
                self.require(not memref.axes and memref.space in ("cell", "room"), "one element, or the first", node)
                self.require(memref.space == "cell" or memref.index < self.routine.rooms, "there is no such room", node)
                made = (memref,)
            case Decline(condition, status) | Note(condition, status):
                self.require(condition.dtype == BOOL and status > 0, "a condition is a bool, a status a bit", node)
            case Within(index, extent, tested, result):
                self.require(result is None or not tested, "what was tested is counted from the begin", node)
                self.within.add((result or index, extent))
            case Swap(one, other):
                self.require(max(one, other) < self.routine.rooms, "there is no such room", node)
            case Helper(name, _, _, failure):
                self.require(name in abi.HELPERS and failure >= 0, "there is no such function", node)
            case Fold(result, _, memref):
                self.require(len(memref.axes) == 1 and memref.dtype == result.dtype, "a fold is of a vector", node)
            case Launch():
                self.launch(node)
            case If():
                self.choice(node)
                made = tuple(one.result for one in node.results)
            case For(index, extent):
                self.require(not node.carried and not node.last and node.lanes == 1, "a sweep carries nothing", node)
                self.define([index])
                self.within.add((index, extent))
                self.body(node.body, (), node)
            case Range():
                self.range(node)
                made = tuple(after for _, after in node.last)
            case _:
                self.require(False, "no node of a routine", node)
        self.define(made)

    def view(self, node: View) -> None:
        result, source = node.result, node.source
        self.require(result.dtype == source.dtype and len(node.index) <= len(source.axes), "another view", node)
        self.require(len(result.axes) == len(result.extents) == len(result.strides), "axes without strides", node)
        if not result.axes:
            for pair in zip(node.index, source.extents, strict=False):
                self.require(pair in self.within or pair[0].number == 0, "an index that was not tested", node)

    def launch(self, node: Launch) -> None:
        kernel, places = node.kernel, (*node.reads, *node.writes)
        dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
        wanted = [*kernel.operand_dtypes, *(dtypes[value] for value in kernel.results)]
        self.require([place.dtype for place in places] == wanted, "a kernel of other dtypes", node)
        extents = {place.extents for place in places}
        self.require(len(extents) == 1 and len(places[0].extents) in (1, 2), "a kernel over arrays of one shape", node)

    def choice(self, node: If) -> None:
        self.require(node.condition.dtype == BOOL, "a condition is a bool", node)
        self.body(node.then, (one.then for one in node.results), node)
        self.body(node.orelse, (one.orelse for one in node.results), node)
        alike = all(one.result.dtype == one.then.dtype == one.orelse.dtype for one in node.results)
        self.require(alike, "what is handed out has one dtype", node)

    def range(self, node: Range) -> None:
        bounds = (node.index, node.start, node.by, node.end)
        self.require(all(value.dtype == INDEX for value in bounds), "an index is an int64", node)
        self.require(all(map(_is_alike, node.carried)), "what is carried has one dtype", node)
        self.require(node.goes_on is None or node.goes_on.dtype == BOOL, "a condition is a bool", node)
        before = set(self.values), set(self.memrefs)
        self.define([node.index, *(one.value for one in node.carried)])
        going_on = [] if node.goes_on is None else [node.goes_on]
        handed_on = [*(one.next for one in node.carried), *(inside for inside, _ in node.last), *going_on]
        self.body(node.body, handed_on, node)
        self.values, self.memrefs = before


def _is_alike(one: Phi) -> bool:
    return one.value.dtype == one.first.dtype == one.next.dtype


def _memrefs(node: Node) -> tuple[Value | Memref, ...]:
    """What a node uses beside the values that `used` names: elements in memory, and what says where they lie."""
    if isinstance(node, Load | Store | Fold):
        return (node.memref,)
    if isinstance(node, View):
        return (node.source, *node.result.extents, *node.result.strides)
    if isinstance(node, Launch):
        return (*node.reads, *node.writes)
    if isinstance(node, Helper):
        return node.operands
    if not isinstance(node, Range):
        return ()
    return *(one.first for one in node.carried), *(one.again for one in node.carried if one.again is not None)


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
