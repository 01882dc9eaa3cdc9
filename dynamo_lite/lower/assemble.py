"""Rewrites what puts arrays together as stores of each part into its place in a new array.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %array_of: float64[2] = array_of(%a, %b)             ->  %e = empty; store(%e[0], %a); store(%e[1], %b)
    %stack: float64[2, s0] = stack(%x, %y)               ->  %e = empty; store(%e[0], %x); store(%e[1], %y)
    %concatenate: float64[s0, 2] = concatenate(%x[:, newaxis], %y[:, newaxis], axis=1)  ->  the same as of np.stack
    %concatenate: float64[s0+s1] = concatenate(%x, %y)   ->  %e = empty; store(%e[:s0], %x); store(%e[s0:], %y)
    %pad: float64[s0+2] = pad(%x, 1, edge)               ->  %e = empty; store(%e[1:-1], %x); store(%e[:1], %e[1:2])...
    %insert: float64[s0+1] = insert(%x, 0, 2.0)          ->  %e = empty; store(%e[:1], 2.0); store(%e[1:], %x)
    %repeat: float64[2*s0] = repeat(%x, 2)               ->  %e = empty; store(%e[::2], %x); store(%e[1::2], %x)
    %tile: float64[2*s0] = tile(%x, 2)                   ->  %e = empty[2, s0]; store(%e, %x); %e.reshape(2*s0)
    %tile: float64[s0, 3] = tile(%x[:, newaxis], (1, 3)) ->  copy(broadcast_to(%x[:, newaxis], (s0, 3)), order=C)
    %i: float64[s0, 2] = advanced_index(%x[:, [2, 0]])   ->  %e = empty[2, s0]; store(%e[0], %x[:, 2]); ...; %e.T

A part is then computed straight into its place, and a view that lies in one part is a view of that part
(functionalise.py). INVARIANT: the new array lies as NumPy would lay out the result. Vectors leave no choice; of arrays
of more axes it is known what their order follows from (orders.py), or they stay calls of NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import hands_out, origins, replace_uses, users, written_by
from dynamo_lite.graph.scalar import Dim, Scalar, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.orders import PACKED, Orders
from dynamo_lite.ops.index import axis_of_places, short_places
from dynamo_lite.ops.rearrange import MOST_REPEATED

MOST_STORES = 16  # of parts, each a small kernel; NumPy takes about 100 ns an item, and 1 us for the array
WIDEST = 8  # pad, in elements
_DTYPE_OF_KIND: dict[str, np.dtype[np.generic]] = {
    "bool": np.dtype(np.bool_),
    "int": np.dtype(np.int64),
    "float": np.dtype(np.float64),
    "complex": np.dtype(np.complex128),
}
_SAME_ELEMENTS = frozenset(("array_of", "copy", "ravel", "reshape", "broadcast_to"))
Entry: TypeAlias = Scalar | tuple[Scalar | None, Scalar | None, int | None] | None
WHOLE = (None, None, None)


def assemble(graph: Graph, orders: Orders) -> None:
    """Rewrite every node that puts a few arrays or numbers together."""
    maker = _Assembler(graph, orders, written_by(graph.nodes), _handed_out(graph))
    rules = {
        "array_of": maker.array_of,
        "stack": maker.stack,
        "concatenate": maker.concatenate,
        "pad": maker.pad,
        "insert": maker.insert,
        "delete": maker.delete,
        "repeat": maker.repeat,
        "tile": maker.tile,
        "eye": maker.eye,
        "advanced_index": maker.picked,
        "take": maker.picked,
    }
    nodes, graph.nodes = graph.nodes, []
    replaced: dict[Node, Argument] = {}
    for node in nodes:
        rule = rules.get(node.op) if node.kind is NodeKind.CALL else None
        new = rule(node) if rule is not None else None
        if new is None:
            graph.nodes.append(node)
        else:
            replaced[node] = new
            if isinstance(new, Node):  # what is made of it asks before all uses are replaced
                orders.known[node] = orders.of(new)
    replace_uses(graph, replaced)


def _handed_out(graph: Graph) -> set[Node]:
    """The arrays of np.tile of which it may be seen that they are views."""
    tiles = [node for node in graph.nodes if node.op == "tile"]
    uses = users(graph) if tiles else {}
    return {node for node in tiles if node in graph.outputs or any(map(hands_out, uses[node]))}


@dataclass(eq=False, slots=True)
class _Assembler:
    graph: Graph
    orders: Orders
    written: set[Node]
    handed_out: set[Node]

    # What the rules are made of

    def new(self, node: Node, shape: tuple[Dim, ...] | None = None) -> Node:
        """An array of unset elements, in C order, for what `node` yields."""
        type_ = ArrayType(node.array_type.dtype, node.array_type.shape if shape is None else shape)
        params = {"shape": type_.shape, "dtype": type_.dtype, "order": "C"}
        return self.graph.add_call("empty", (), params, type_, node.location)

    def view(self, array: Node, index: Sequence[Entry], shape: Sequence[Dim], node: Node) -> Node:
        """Part of an array."""
        params = {"index": tuple(index), "scalar": False}
        type_ = ArrayType(array.array_type.dtype, tuple(shape))
        return self.graph.add_call("basic_index", (array,), params, type_, node.location)

    def along(self, array: Node, axis: int, entry: Entry, size: Dim, node: Node) -> Node:
        """What an index along one axis gives, of so many elements."""
        shape = array.array_type.shape
        index = [entry if place == axis else WHOLE for place in range(len(shape))]
        return self.view(array, index, (*shape[:axis], size, *shape[axis + 1 :]), node)

    def store(self, target: Node, value: Argument, node: Node) -> None:
        self.graph.add_store(target, value, node.location)

    def holds(self, relation: str, left: Scalar, right: Scalar) -> bool:
        return self.graph.facts.decide(make(relation, left, right)) is True

    def is_settled(self, size: Scalar) -> bool:
        """Whether it is known whether a size is 1: types rest on that."""
        return self.graph.facts.decide(make("eq", size, 1)) is not None

    def filled(
        self, node: Node, indices: Iterable[tuple[Any, ...]], part: ArrayType, args: Sequence[Argument] | None = None
    ) -> Node:
        """A new array with each operand, of `node` if no others are given, stored where its index tells."""
        made = self.new(node)
        for index, item in zip(indices, node.args if args is None else args, strict=True):
            self.store(self.view(made, index, part.shape, node), item, node)
        return made

    def row(self, made: Node, axis: int, parts: Sequence[tuple[Argument, Dim]], node: Node) -> None:
        """Store parts of these sizes one after another along an axis, each counted from the nearer end of known place,
        as slices of it are written: x[1:-1]."""
        behind: list[Scalar] = [0]
        for _, size in reversed(parts):
            behind.append(make("add", behind[-1], size))
        start: Scalar = 0
        for (value, size), rest in zip(parts, behind[-2::-1], strict=True):
            stop = make("add", start, size)
            if size != 0:
                end = None if rest == 0 else stop if type(stop) is int or type(rest) is not int else -rest
                self.store(self.along(made, axis, (start or None, end, None), size, node), value, node)
            start = stop

    # The rules

    def array_of(self, node: Node) -> Node | None:
        """A few arrays, or numbers of the result's dtype, are stored item by item; NumPy has to look at each object."""
        result, outer = node.array_type, node.params["shape"]
        if not 0 < len(node.args) <= MOST_STORES:
            return None
        numbers = [arg for arg in node.args if not isinstance(arg, Node) or not arg.array_type.ndim]
        if any(_own_dtype(arg) != result.dtype and not _is_exact_in(arg, result.dtype) for arg in numbers):
            return None
        whole = (WHOLE,) * (result.ndim - len(outer))
        part = ArrayType(result.dtype, result.shape[len(outer) :])
        return self.filled(node, [(*place, *whole) for place in itertools.product(*map(range, outer))], part)

    def eye(self, node: Node) -> Node | None:
        """Zeros, into whose diagonal ones are stored."""
        (rows, columns), dtype = node.array_type.shape, node.array_type.dtype
        if node.params["k"] != 0 or rows != columns or dtype.kind not in "biuf":
            return None
        params = {"shape": (rows, columns), "dtype": dtype, "order": "C"}
        made = self.graph.add_call("zeros", (), params, node.array_type, node.location)
        where = {"axes": (0, 1), "offset": 0, "writeable": True}
        diagonal = self.graph.add_call("diagonal", (made,), where, ArrayType(dtype, (rows,)), node.location)
        self.store(diagonal, {"b": True, "f": 1.0}.get(dtype.kind, 1), node)
        return made

    def stack(self, node: Node) -> Node | None:
        return self.stacked(node, node.args)

    def stacked(self, node: Node, args: Sequence[Argument]) -> Node | None:
        """Of vectors NumPy makes a packed array in C order, however they lie, and of planes in C order as well."""
        result, axis = node.array_type, node.params["axis"]
        types = {arg.array_type.dtype if isinstance(arg, Node) else None for arg in args}
        if types != {result.dtype} or len(args) > MOST_STORES or result.dtype.kind not in "biufc":
            return None
        if result.ndim > 3 or (result.ndim == 3 and not self.lie_packed(args)):
            return None
        before, behind = (WHOLE,) * axis, (WHOLE,) * (result.ndim - 1 - axis)
        indices: list[tuple[Any, ...]] = [(*before, place, *behind) for place in range(len(args))]
        part = ArrayType(result.dtype, (*result.shape[:axis], *result.shape[axis + 1 :]))
        return self.filled(node, indices, part, args)

    def lie_packed(self, args: Sequence[Argument]) -> bool:
        """Whether it is known what the order of axes of the operands follows from; the program declines where that is
        not C order."""
        known = [self.orders.of(arg) for arg in args if isinstance(arg, Node)]
        order = (PACKED, *(array for one in known for array in one or ()))
        if 1 in args[0].array_type.shape or None in known or not self.orders.may_have(order, 0):  # type: ignore[union-attr]
            return False
        self.orders.require(self.graph, order)
        return True

    def concatenate(self, node: Node) -> Node | None:
        """NumPy lays out the result by the operands' common order of axes."""
        result, axis = node.array_type, node.params["axis"]
        args = [arg for arg in node.args if isinstance(arg, Node)]
        sizes = [arg.array_type.shape[axis] for arg in args]
        if len(args) > MOST_STORES or not all(_goes_into(arg.array_type.dtype, result.dtype) for arg in args):
            return None
        if None not in (sources := [_without_new_axis(arg, axis) for arg in args]):
            made = self.stacked(node, [source for source in sources if source is not None])
            if made is not None:
                return made
        values = [self.before(arg, result.dtype) for arg in args]
        if not all(map(self.is_settled, (*sizes, *result.shape))):
            return None
        made = self.new(node) if result.ndim == 1 else self.orders.allocate_if_known(self.graph, node)
        if made is None:
            return None
        self.row(made, axis, list(zip(values, sizes, strict=True)), node)
        return made

    def before(self, arg: Node, dtype: np.dtype[Any]) -> Argument:
        """What an operand was before NumPy made an array of it: of np.ravel the vector itself, of an array with one
        element that element."""
        value: Argument = arg
        while isinstance(value, Node) and value.kind is NodeKind.CALL and len(value.args) == 1:
            (source,) = value.args
            if not self.is_unwritten(value):
                break
            if not isinstance(source, Node):
                same = value.op == "array_of" and _own_dtype(source) == value.array_type.dtype == dtype
                return source if same else value
            is_flat = value.op == "ravel" and source.array_type.ndim == 1
            is_one = value.op in _SAME_ELEMENTS and {*value.array_type.shape, *source.array_type.shape} <= {1}
            if not (is_flat or is_one):
                break  # also of what a loop hands out: the loop itself is no array
            if source.array_type.dtype != value.array_type.dtype or not self.is_unwritten(source):
                break
            value = source
        if isinstance(value, Node) and value.kind is NodeKind.CONSTANT and value.array_type.shape in ((), (1,)):
            number = value.params["value"].item()
            if value.array_type.dtype == dtype and type(number) in (int, float) and _own_dtype(number) == dtype:
                return number if number == number else value  # NB: a NaN has bits that a number may lose
        return value

    def is_unwritten(self, value: Node) -> bool:
        """Whether nothing in the graph writes into what a value may be a view of."""
        mine = origins(value)
        outside = [any(node.kind is NodeKind.INPUT for node in nodes) for nodes in (mine, self.written)]
        return mine.isdisjoint(self.written) and not all(outside)

    def pad(self, node: Node) -> Node | None:
        """The operand is stored between the borders, and these are filled axis by axis as np.pad does it, of later axes
        without their borders."""
        x, *fill = node.args
        result, widths, mode = node.array_type, node.params["widths"], node.params["mode"]
        assert isinstance(x, Node)
        shape = x.array_type.shape
        if not _is_plain(result.dtype) or not all(map(self.is_settled, (*shape, *result.shape))):
            return None
        if fill and not _is_value_of(fill[0], result.dtype):
            return None
        reach = 1 if mode == "reflect" else 0
        for size, pair in zip(shape, widths, strict=True):
            for width in pair:
                if type(width) is not int or width > WIDEST:
                    return None
                if mode in ("reflect", "symmetric", "wrap") and width and not self.holds("ge", size, width + reach):
                    return None
        if result.ndim == 1:
            made: Node | None = self.new(node)
        else:  # NB: np.pad makes a C-ordered array of one that does not lie packed in F order
            made = self.new(node) if self.orders.require_packed(self.graph, x) else None
        if made is None:
            return None
        inner = tuple((before or None, -behind or None, None) for before, behind in widths)
        self.store(self.view(made, inner, shape, node), x, node)
        for axis, (before, behind) in enumerate(widths):
            for width, is_first in ((before, True), (behind, False)):
                if width:
                    self.border(made, axis, (width, is_first), inner, fill[0] if fill else 0, node)
        return made

    def border(
        self, made: Node, axis: int, side: tuple[int, bool], inner: Sequence[Entry], fill: Argument, node: Node
    ) -> None:
        """Fill the border of one axis at its begin or end."""
        width, is_first = side
        x = node.args[0]
        assert isinstance(x, Node)
        before, behind = node.params["widths"][axis]
        shape = (*node.array_type.shape[: axis + 1], *x.array_type.shape[axis + 1 :])

        def part(entry: Entry, size: int) -> Node:
            index = (*(WHOLE,) * axis, entry, *inner[axis + 1 :])
            return self.view(made, index, (*shape[:axis], size, *shape[axis + 1 :]), node)

        target = part((None, width, None) if is_first else (-width, None, None), width)
        first, last = before, -behind - 1  # of the operand's own elements
        match node.params["mode"]:
            case "constant":
                self.store(target, fill, node)
            case "edge" if is_first:
                self.store(target, part((first, first + 1, None), 1), node)
            case "edge":
                self.store(target, part((last, last + 1 or None, None), 1), node)
            case "wrap" if is_first:
                self.store(target, part((last + 1 - width, last + 1 or None, None), width), node)
            case "wrap":
                self.store(target, part((first or None, first + width, None), width), node)
            case mode:
                away = 1 if mode == "reflect" else 0
                if is_first:
                    begin, end = first + width - 1 + away, first - 1 + away
                    self.store(target, part((begin, end if end >= 0 else None, -1), width), node)
                else:
                    self.store(target, part((last - away, last - away - width, -1), width), node)

    def insert(self, node: Node) -> Node | None:
        """A number or a vector in front of a place of a vector."""
        x, value = node.args
        place, dtype = node.params["place"], node.array_type.dtype
        assert isinstance(x, Node)
        if x.array_type.ndim != 1 or type(place) is not int or not _is_plain(dtype):
            return None
        count: Dim = 1
        if isinstance(value, Node):
            if value.array_type.ndim > 1 or not _goes_into(value.array_type.dtype, dtype):
                return None
            count = value.array_type.shape[0] if value.array_type.shape else 1
        elif not _is_value_of(value, dtype):
            return None
        size = x.array_type.shape[0]
        before = place if place >= 0 else make("add", size, place)
        behind = make("sub", size, before)
        if not all(map(self.is_settled, (before, behind, count, *node.array_type.shape))):
            return None
        made = self.new(node)
        self.row(made, 0, [self.head(x, before, place, node), (value, count), self.tail(x, behind, place, node)], node)
        return made

    def head(self, x: Node, size: Scalar, stop: int, node: Node) -> tuple[Node, Dim]:
        """What a vector has before a place, and how much."""
        length = self.length(size)
        return (self.along(x, 0, (None, stop, None), length, node) if length != 0 else x), length

    def tail(self, x: Node, size: Scalar, start: int, node: Node) -> tuple[Node, Dim]:
        """What a vector has from a place on, and how much."""
        length = self.length(size)
        return (self.along(x, 0, (start or None, None, None), length, node) if length != 0 else x), length

    def length(self, size: Scalar) -> Dim:
        """A size as types have it: 1 where it is 1."""
        for number in (0, 1):
            if self.holds("eq", size, number):
                return number
        return size  # type: ignore[return-value]

    def delete(self, node: Node) -> Node | None:
        """A vector without one element."""
        (x,) = node.args
        place, dtype = node.params["place"], node.array_type.dtype
        assert isinstance(x, Node)
        if x.array_type.ndim != 1 or type(place) is not int or dtype.kind not in "biufc":
            return None
        size = x.array_type.shape[0]
        before = place if place >= 0 else make("add", size, place)
        behind = make("sub", make("sub", size, before), 1)
        if not all(map(self.is_settled, (before, behind, *node.array_type.shape))):
            return None
        made = self.new(node)
        tail = (self.tail(x, behind, place + 1, node)) if place != -1 else (x, 0)
        self.row(made, 0, [self.head(x, before, place, node), tail], node)
        return made

    def repeat(self, node: Node) -> Node | None:
        """np.repeat makes an array in C order, however the operand lies."""
        (x,) = node.args
        times, axis = node.params["repeats"], node.params["axis"]
        assert isinstance(x, Node)
        shape, dtype = x.array_type.shape, node.array_type.dtype
        axis = 0 if axis is None and len(shape) == 1 else axis
        if axis is None or x.array_type.scalar or dtype.kind not in "biufc":
            return None
        if shape[axis] == 1 and len(shape) > 1 and self.orders.lies is not None:
            return self.spread(x, node)
        if type(times) is not int or not 0 < times <= MOST_REPEATED:
            return None
        if not all(map(self.is_settled, (*shape, *node.array_type.shape))):
            return None
        made = self.new(node)
        for place in range(times):
            self.store(self.along(made, axis, (place or None, None, times), shape[axis], node), x, node)
        return made

    def tile(self, node: Node) -> Node | None:
        """Of a vector np.tile makes a matrix with so many rows, and hands out a view of it in another shape. What is
        repeated along axes of one element alone is a copy of a view."""
        (x,) = node.args
        times = [one for one in node.params["reps"] if one != 1]
        assert isinstance(x, Node)
        if node.array_type.dtype.kind in "biufc" and self.is_spread(x, node.params["reps"]):
            made = self.spread(x, node)
            if node not in self.handed_out:
                return made
            params = {"shape": node.array_type.shape}
            return self.graph.add_call("reshape", (made,), params, node.array_type, node.location)
        if x.array_type.ndim != 1 or len(times) != 1 or node.array_type.dtype.kind not in "biufc":
            return None
        (size,) = x.array_type.shape
        if type(times[0]) is not int or not times[0] > 0 or not all(map(self.is_settled, node.array_type.shape)):
            return None
        made = self.new(node, (times[0], size))
        self.store(made, x, node)
        params = {"shape": node.array_type.shape}
        return self.graph.add_call("reshape", (made,), params, node.array_type, node.location)

    def is_spread(self, x: Node, reps: Sequence[Scalar]) -> bool:
        """Whether an array is repeated along axes of one element, or new ones, and surely so along one of them: else
        np.tile keeps its order of axes."""
        shape = x.array_type.shape
        if self.orders.lies is None:  # a body's code knows vectors
            return False
        rank = max(len(shape), len(reps))
        sizes, times = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(reps)) + tuple(reps)
        if not all(size == 1 or many == 1 for size, many in zip(sizes, times, strict=True)):
            return False
        if not all(self.holds("ge", many, 1) for many in times):  # NB: an empty one has the strides of no other
            return False
        return any(self.holds("ne", many, 1) for many in times)

    def spread(self, x: Node, node: Node) -> Node:
        """A copy in C order of `x`, as it is seen where it goes along axes of one element."""
        type_ = ArrayType(node.array_type.dtype, node.array_type.shape)
        wide = self.graph.add_call("broadcast_to", (x,), {"shape": type_.shape}, type_, node.location)
        return self.graph.add_call("copy", (wide,), {"order": "C"}, type_, node.location)

    def picked(self, node: Node) -> Node | None:
        """A few constant places along a short axis, `x[:, [2, 0]]`. NumPy puts the index's axis in front in memory;
        np.take makes an array in C order."""
        x, places, axis = node.args[0], short_places(node), axis_of_places(node)
        if places is None or axis is None or self.orders.lies is None:
            return None
        assert isinstance(x, Node)
        shape, result = x.array_type.shape, node.array_type
        size = shape[axis]
        if type(size) is not int or not all(-size <= place < size for place in places):
            return None
        if result.dtype.kind not in "biufc" or not all(map(self.is_settled, (*shape, *result.shape))):
            return None
        rest = (*shape[:axis], *shape[axis + 1 :])
        in_front = node.op == "advanced_index"
        if in_front and len(rest) > 1:  # NB: the result's order follows strides, along axes of one element too
            has_units = any(self.graph.facts.decide(make("eq", size, 1)) is not False for size in rest)
            if has_units or not self.orders.require_packed(self.graph, x):
                return None
        made = self.new(node, (len(places), *rest) if in_front else None)
        for number, place in enumerate(places):
            part = self.view(x, [place if at == axis else WHOLE for at in range(len(shape))], rest, node)
            first = 0 if in_front else axis
            index = [number if at == first else WHOLE for at in range(len(shape))]
            self.store(self.view(made, index, rest, node), part, node)
        if not in_front or not axis:
            return made
        axes = (*range(1, axis + 1), 0, *range(axis + 1, len(shape)))
        return self.graph.add_call("transpose", (made,), {"axes": axes}, result, node.location)


def _is_plain(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufc" and dtype.char not in "egG"


def _without_new_axis(value: Node, axis: int) -> Node | None:
    """Of a view x[..., newaxis], which adds this axis and nothing else, the array x."""
    if value.kind is not NodeKind.CALL or value.op != "basic_index" or not isinstance(value.args[0], Node):
        return None
    index = value.params["index"]
    is_added = len(index) == value.array_type.ndim == value.args[0].array_type.ndim + 1 and index[axis] is None
    return value.args[0] if is_added and all(one == WHOLE for one in (*index[:axis], *index[axis + 1 :])) else None


def _goes_into(source: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether elements of one dtype are stored as those of another without a loss that NumPy may report."""
    if source == dtype:
        return dtype.kind in "biufc"
    plain = _is_plain(source) and _is_plain(dtype) and "c" not in (source.kind, dtype.kind)
    return plain and np.can_cast(source, dtype, "safe")


def _is_value_of(number: Argument, dtype: np.dtype[Any]) -> bool:
    """Whether a number is stored as itself, whatever NumPy makes of it on the way."""
    if isinstance(number, Node):
        return False
    if dtype == np.float64:
        return kind_of(number) == "float" or _is_exact_in(number, dtype)
    if dtype.kind in "iu":
        return type(number) is int and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
    exact = type(number) is float and dtype == np.float32 and np.float32(number) == number
    return exact or _is_exact_in(number, dtype)


def _is_exact_in(arg: Argument, dtype: np.dtype[Any]) -> bool:
    """Whether `arg` is a known int that a float of `dtype` is too."""
    return type(arg) is int and abs(arg) <= 2**11 and dtype.kind in "fc"


def _own_dtype(arg: Argument) -> np.dtype[np.generic]:
    return arg.array_type.dtype if isinstance(arg, Node) else _DTYPE_OF_KIND[kind_of(arg)]
