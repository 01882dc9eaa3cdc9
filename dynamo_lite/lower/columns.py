"""Takes apart arrays with short rows, points in space say: each of their columns is a value of its own.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %m: float64[s0, 3] = multiply(%x, %x); %r: float64[s0, 1] = reduce(%m, add, axes=(1,)); %d = divide(%x, %r)
    ->  %a = multiply(%x[:, 0], %x[:, 0]); ...; %sum = add(add(add(0.0, %a), %b), %c)
        %e = empty_bordered(%x); store(%e[:, 0], divide(%x[:, 0], %sum)); ...

Then reductions along rows, cross products and what is one for each row are elementwise over as many elements as there
are rows: one kernel with what they are made of and what is made of them. NumPy goes through such rows one by one.

INVARIANT: a sum of fewer than 8 elements goes from one to the next, and reductions of other kinds are taken apart where
a trial found the bits of one operation after the other, however the rows lie. What is seen whole lies in NumPy's order
of axes, or the program declines (lower/orders.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import hands_out, origins, replace_uses, users, written
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.functionalise import looks_at_layout
from dynamo_lite.lower.orders import Orders
from dynamo_lite.lower.short_axes import begins_with_zero
from dynamo_lite.ops.reductions import ONE_BY_ONE, reduce_dtypes

MOST_OPERATIONS = 300  # that a chain of rows becomes
WHOLE = (None, None, None)
_FOLDS: dict[np.ufunc, str] = {
    np.add: "add",
    np.multiply: "multiply",
    np.minimum: "minimum",
    np.maximum: "maximum",
    np.logical_and: "logical_and",
    np.logical_or: "logical_or",
}


def columns(graph: Graph) -> bool:
    """Take apart what has short rows wherever that spares a reduction or a product by rows; whether there was any."""
    taker = _Taker(graph)
    if not any(map(taker.pays, graph.nodes)):
        return False
    taker.choose()
    if not taker.taken:
        return False
    taker.rewrite()
    return True


@dataclass(eq=False, slots=True)
class _Taker:
    graph: Graph
    uses: dict[Node, list[Node]] = field(init=False)
    outputs: set[Node] = field(init=False)
    stored: set[Node] = field(init=False)
    taken: dict[Node, None] = field(default_factory=dict)
    parts: dict[Node, list[Node]] = field(default_factory=dict)  # the columns of arrays, as far as they were asked for
    orders: Orders = field(init=False)

    def __post_init__(self) -> None:
        graph = self.graph
        self.uses = users(graph)
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.stored = {origin for node in graph.nodes for origin in written(node)}
        self.orders = Orders()

    # Which nodes

    def pays(self, node: Node) -> bool:
        """Whether NumPy goes through short rows one by one."""
        if node.kind is not NodeKind.CALL:
            return False
        return self.is_cross(node) or self.is_fold(node)

    def choose(self) -> None:
        """Fill `taken`."""
        for node in self.graph.nodes:
            if self.may_be_taken(node):
                self.taken[node] = None
        before = -1
        while before != len(self.taken):
            before = len(self.taken)
            for node in reversed(list(self.taken)):
                if not self.serves(node):
                    del self.taken[node]
            self.drop_views()
        for chain in self.chains():
            size = sum(self.width(node) for node in chain)
            if not any(map(self.pays, chain)) or size > MOST_OPERATIONS:
                for node in chain:
                    del self.taken[node]

    def drop_views(self) -> None:
        """Views of what is not taken apart stay views."""
        for node in list(self.taken):
            (source, *_) = node.args
            if node.op == "basic_index" and None not in node.params["index"] and source not in self.taken:
                del self.taken[node]

    def may_be_taken(self, node: Node) -> bool:
        """Whether a node may be computed by columns; a view of rows only if these are."""
        if node.kind is not NodeKind.CALL or not isinstance(node.type, ArrayType) or not self.is_value(node):
            return False
        if self.is_fold(node) or self.is_cross(node):
            return True
        if node.op == "basic_index":
            return self.is_column(node) or self.picks(node)
        return _has_columns(node)

    def is_value(self, node: Node) -> bool:
        return origins(node).isdisjoint(self.stored)

    def picks(self, node: Node) -> bool:
        """Whether a node takes columns of an array that is computed by columns: one, or some next to each other."""
        (x,) = node.args
        if x not in self.taken or len(index := node.params["index"]) != 2 or index[0] != WHOLE:
            return False
        return type(index[1]) is int or _is_constant_slice(index[1])

    def is_column(self, node: Node) -> bool:
        """Whether a node gives a vector a second axis."""
        (x,) = node.args
        return (
            isinstance(x, Node) and x.array_type.ndim == 1 and _rows(node) and node.params["index"] == (WHOLE, None)
        )

    def is_fold(self, node: Node) -> bool:
        if node.op != "reduce":
            return False
        (x,) = node.args
        if not isinstance(x, Node) or not _rows(x) or node.params["axes"] != (1,) or "initial" in node.params:
            return False
        ufunc, dtype, width = node.params["ufunc"], x.array_type.dtype, x.array_type.shape[1]
        assert type(width) is int
        if ufunc not in _FOLDS or reduce_dtypes(ufunc, dtype, node.params.get("dtype")) != (dtype, dtype):
            return False
        if ufunc in (np.logical_and, np.logical_or):
            return dtype.kind == "b"
        return width > 1 and dtype.char in "fdbBhHiIlLqQ" and _folds_one_by_one(ufunc, dtype.char, width)

    def is_cross(self, node: Node) -> bool:
        if node.op != "cross" or not _rows(node) or node.array_type.dtype.kind not in "iuf":
            return False
        types = [arg.array_type for arg in node.args if isinstance(arg, Node)]
        if any(type_.dtype != node.array_type.dtype for type_ in types) or node.array_type.dtype.char == "e":
            return False
        return len(types) == 2 and all(_fits(type_, node.array_type) for type_ in types)

    def serves(self, node: Node) -> bool:
        """Whether all users get what they want: what is one for a row, and a view, is never put together."""
        users = self.uses[node]
        if node.op == "basic_index" or node.array_type.shape[-1] == 1:
            return bool(users) and node not in self.outputs and all(self.reads_values(user, node) for user in users)
        return node.array_type.ndim == 1 or self.known_order(node)

    def reads_values(self, user: Node, node: Node) -> bool:
        """Whether a user cannot tell a view from a value."""
        if user in self.taken:
            return True
        if node.array_type.ndim > 1:
            return False
        if user.kind is NodeKind.STORE:
            return user.args[0] is not node
        is_call = user.kind is NodeKind.CALL
        return is_call and REGISTRY[user.op].kind is OpKind.ELEMENTWISE and not looks_at_layout(user)

    def known_order(self, node: Node) -> bool:
        return not self.is_seen(node) or self.orders.of(node) is not None

    def is_seen(self, node: Node) -> bool:
        """Whether somebody needs the array as a whole."""
        return node in self.outputs or any(
            user not in self.taken and not self.takes_columns(user, node) for user in self.uses[node]
        )

    def takes_columns(self, user: Node, node: Node) -> bool:
        """Whether a store may go column by column."""
        if user.kind is not NodeKind.STORE or user.args[1] is not node:
            return False
        target = user.args[0]
        assert isinstance(target, Node)
        return target.array_type.shape == node.array_type.shape and target.array_type.dtype == node.array_type.dtype

    def chains(self) -> list[list[Node]]:
        """The taken nodes, those together that read one another."""
        chain: dict[Node, list[Node]] = {}
        for node in self.taken:
            chain[node] = mine = [node]
            for arg in node.args:
                if isinstance(arg, Node) and arg in chain and arg.array_type.ndim > 1 and chain[arg] is not mine:
                    other = chain[arg]
                    other += mine
                    for one in mine:
                        chain[one] = other
                    mine = other
        return list({id(each): each for each in chain.values()}.values())

    def width(self, node: Node) -> int:
        if node.op == "basic_index":
            return 0
        shape = node.args[0].array_type.shape if node.op == "reduce" else node.array_type.shape  # type: ignore[union-attr]
        return int(shape[-1]) * (3 if node.op == "cross" else 1)  # type: ignore[arg-type]

    # Rewriting

    def rewrite(self) -> None:
        graph = self.graph
        nodes, graph.nodes = graph.nodes, []
        replaced: dict[Node, Argument] = {}
        for node in nodes:
            if node in self.taken:
                parts = self.parts[node] = self.compute(node)
                if node.array_type.ndim == 1:
                    (replaced[node],) = parts
                elif self.is_seen(node):
                    replaced[node] = self.put_together(node, parts)
            elif node.kind is NodeKind.STORE and node.args[1] in self.taken and self.takes_columns(node, node.args[1]):  # type: ignore[arg-type]
                target, value = node.args
                assert isinstance(target, Node) and isinstance(value, Node)
                self.fill(target, self.parts[value], node)
            else:
                graph.nodes.append(node)
        replace_uses(graph, replaced)

    def compute(self, node: Node) -> list[Node]:
        """The columns of a node."""
        if node.op == "reduce":
            return [self.folded(node)]
        if node.op == "cross":
            return self.crossed(node)
        (x, *_) = node.args
        if node.op != "basic_index":
            return self.each(node)
        assert isinstance(x, Node)
        if x.array_type.ndim == 1:
            return [x]
        place = node.params["index"][1]
        found = self.parts[x][slice(*place) if isinstance(place, tuple) else place]
        return found if isinstance(found, list) else [found]

    def columns_of(self, x: Node) -> list[Node]:
        """The columns of an operand, as they were computed or as views of it; an array of one for all rows has vectors
        of one element."""
        if x in self.parts:
            return self.parts[x]
        dtype, shape = x.array_type.dtype, x.array_type.shape
        if not shape or shape == (1,):
            return [x]
        width = shape[-1]
        assert isinstance(width, int)
        found = []
        for place in range(width):
            one: Any = (place, place + 1, None)
            index: tuple[Any, ...] = (one,) if len(shape) == 1 else (0, one) if shape[0] == 1 else (WHOLE, place)
            size = (shape[0],) if index[0] == WHOLE else (1,)
            params = {"index": index, "scalar": False}
            found.append(self.graph.add_call("basic_index", (x,), params, ArrayType(dtype, size), x.location))
        if self.is_value(x):
            self.parts[x] = found
        return found

    def each(self, node: Node) -> list[Node]:
        rows, width = node.array_type.shape
        assert isinstance(width, int)
        type_ = ArrayType(node.array_type.dtype, (rows,))
        operands = [self.columns_of(arg) if isinstance(arg, Node) else [arg] for arg in node.args]
        return [
            self.graph.add_call(node.op, tuple(one[place % len(one)] for one in operands), {}, type_, node.location)
            for place in range(width)
        ]

    def folded(self, node: Node) -> Node:
        (x,) = node.args
        assert isinstance(x, Node)
        ufunc, dtype = node.params["ufunc"], x.array_type.dtype
        type_ = ArrayType(dtype, (x.array_type.shape[0],))
        starts: list[Argument] = [0.0] if ufunc is np.add and begins_with_zero(dtype.char) else []
        result, *others = starts + list(self.columns_of(x))
        for other in others:
            result = self.graph.add_call(_FOLDS[ufunc], (result, other), {}, type_, node.location)
        assert isinstance(result, Node)
        return result

    def crossed(self, node: Node) -> list[Node]:
        """As np.cross computes it: two products each, and their difference."""
        left, right = (self.columns_of(arg) for arg in node.args if isinstance(arg, Node))
        type_ = ArrayType(node.array_type.dtype, (node.array_type.shape[0],))

        def call(op: str, *args: Node) -> Node:
            return self.graph.add_call(op, args, {}, type_, node.location)

        return [
            call("subtract", call("multiply", left[i], right[j]), call("multiply", left[j], right[i]))
            for i, j in ((1, 2), (2, 0), (0, 1))
        ]

    def put_together(self, node: Node, parts: list[Node]) -> Node:
        """An array with these columns, in the order of axes that NumPy gives it."""
        made = self.orders.allocate(self.graph, node)
        self.fill(made, parts, node)
        if node.op == "cross" and self.is_handed_out(node):
            params = {"index": (WHOLE, WHOLE), "scalar": False}
            return self.graph.add_call("basic_index", (made,), params, node.array_type, node.location)
        return made

    def is_handed_out(self, node: Node) -> bool:
        """Whether it may be seen that what np.cross gives is a view."""
        return node in self.outputs or any(map(hands_out, self.uses[node]))

    def fill(self, array: Node, parts: list[Node], node: Node) -> None:
        rows, _ = array.array_type.shape
        type_ = ArrayType(array.array_type.dtype, (rows,))
        for place, part in enumerate(parts):
            params = {"index": (WHOLE, place), "scalar": False}
            view = self.graph.add_call("basic_index", (array,), params, type_, node.location)
            self.graph.add_store(view, part, node.location)


def _rows(node: Node) -> bool:
    """Whether an array has many short rows."""
    if not isinstance(node.type, ArrayType) or node.type.ndim != 2 or node.type.dtype.kind not in "biuf":
        return False
    rows, width = node.type.shape
    return type(width) is int and 1 <= width <= ONE_BY_ONE and (type(rows) is not int or rows > ONE_BY_ONE)


def _fits(type_: ArrayType, result: ArrayType) -> bool:
    """Whether an operand has columns that go with those of a result."""
    if type_.ndim < 2:
        return type_.shape in ((), (1,), result.shape[1:])
    return type_.shape[0] in (1, result.shape[0]) and type_.shape[1] in (1, result.shape[1])


def _has_columns(node: Node) -> bool:
    """Whether an elementwise node is as well computed column by column."""
    if REGISTRY[node.op].kind is not OpKind.ELEMENTWISE or not _rows(node) or node.params or looks_at_layout(node):
        return False
    return all(_fits(arg.array_type, node.array_type) for arg in node.args if isinstance(arg, Node))


def _is_constant_slice(entry: Any) -> bool:
    return isinstance(entry, tuple) and all(bound is None or type(bound) is int for bound in entry)


@functools.cache
def _folds_one_by_one(ufunc: np.ufunc, char: str, width: int) -> bool:
    """Whether this NumPy reduces rows of so many elements one element after the other, however they lie: tried out on
    zeros and NaNs of either sign and on numbers of unlike sizes."""
    if np.dtype(char).kind in "iu":
        return True
    random = np.random.default_rng(width)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5], char)
    rows = random.choice(special, (512, width))
    rows[256:] = random.normal(size=(256, width)) * 10.0 ** random.integers(-6, 6, (256, width))
    lying: tuple[Callable[[Any], Any], ...] = (
        lambda x: x,
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[:, ::-1].copy()[:, ::-1],
    )
    with np.errstate(all="ignore"):
        start = [np.zeros(512, char)] if ufunc is np.add and begins_with_zero(char) else []
        expected = functools.reduce(ufunc, start + [np.ascontiguousarray(one) for one in rows.T])
        found = [ufunc.reduce(lay(rows), axis=1) for lay in lying]
    number = ~np.isnan(expected)
    if ufunc in (np.add, np.multiply):  # which of two NaNs comes out, kernels look after
        return all(np.array_equal(np.isnan(one), ~number) and _same(one[number], expected[number]) for one in found)
    return all(_same(one, expected) for one in found)


def _same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return left.tobytes() == right.tobytes()
