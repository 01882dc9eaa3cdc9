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
from dynamo_lite.graph.rewrite import hands_out, origins, replace_uses, users, written, written_by
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.functionalise import looks_at_layout
from dynamo_lite.lower.orders import PACKED, Order, Orders
from dynamo_lite.lower.short_axes import begins_with_zero
from dynamo_lite.ops.reductions import ONE_BY_ONE, reduce_dtypes
from dynamo_lite.ops.samples import Samples

MOST_OPERATIONS = 300  # that a chain of rows becomes
RANKS = (2, 3)
_LENGTHS = (512, 1, 2, 3, 5, 8, 13, 300)  # of arrays on which reductions are tried out
WHOLE = (None, None, None)
_FOLDS: dict[np.ufunc, str] = {
    np.add: "add",
    np.multiply: "multiply",
    np.minimum: "minimum",
    np.maximum: "maximum",
    np.logical_and: "logical_and",
    np.logical_or: "logical_or",
}
_STEPS = {np.minimum: "least", np.maximum: "greatest"}  # of floats


def columns(graph: Graph, orders: Orders) -> bool:
    """Take apart what is short along its last axis, or its first one, wherever that spares a reduction or a product;
    whether there was any."""
    found = False
    for axis in (-1, 0):
        orders.forget()
        taker = _Taker(graph, axis, orders)
        if any(map(taker.pays, graph.nodes)):
            taker.choose()
            if taker.taken:
                taker.rewrite()
                found = True
    return found


@dataclass(eq=False, slots=True)
class _Taker:
    graph: Graph
    axis: int  # the short one
    orders: Orders
    uses: dict[Node, list[Node]] = field(init=False)
    outputs: set[Node] = field(init=False)
    stored: set[Node] = field(init=False)
    assembled: set[Node] = field(init=False)  # new arrays into which nobody but stores into columns write
    taken: dict[Node, None] = field(default_factory=dict)
    parts: dict[Node, list[Node]] = field(default_factory=dict)  # the columns of arrays, as far as they were asked for

    def __post_init__(self) -> None:
        graph = self.graph
        self.uses = users(graph)
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.stored = written_by(graph.nodes)
        self.assembled = self.find_assembled()

    # Which nodes

    def pays(self, node: Node) -> bool:
        """Whether NumPy goes through short rows one by one."""
        if node.kind is not NodeKind.CALL:
            return False
        if self.is_cross(node) or self.is_fold(node):
            return True
        reads = any(arg in self.assembled for arg in node.args if isinstance(arg, Node))
        return (reads or self.is_put_in(node)) and self.has_columns(node)

    def is_put_in(self, node: Node) -> bool:
        """Whether a node is stored as a column of an array that is put together of such, `x[:, 1:2] = node`."""
        targets = [user.args[0] for user in self.uses[node] if user.kind is NodeKind.STORE and user.args[1] is node]
        return any(isinstance(view, Node) and self.column_of(view) is not None for view in targets)

    def column_of(self, view: Node) -> tuple[Node, int] | None:
        """The array that is put together of columns, and the number of the one that a view shows as an array."""
        source = view.args[0] if view.op == "basic_index" else None
        if source not in self.assembled or not isinstance(source, Node) or type(self.entry(view)) is int:
            return None
        number = self.number_of(view, source)
        return None if number is None else (source, number)

    def number_of(self, view: Node, source: Node) -> int | None:
        """Which column of an array a view shows: x[:, 1] or x[:, 1:2]."""
        entry, width = self.entry(view), self.width_of(source)
        if view.params["index"] != self.index(entry, source.array_type.ndim):
            return None
        if type(entry) is int:
            return entry
        if not _is_constant_slice(entry):
            return None
        start, stop, step = slice(*entry).indices(width)
        return start if step == 1 and stop - start == 1 else None

    def find_assembled(self) -> set[Node]:
        ops = ("empty", "empty_like", "empty_bordered")
        found = {node for node in self.graph.nodes if node.op in ops and self.is_short(node)}
        for node in self.graph.nodes:
            view = node.args[0] if node.kind is NodeKind.STORE else None
            source = view.args[0] if isinstance(view, Node) and view.op == "basic_index" else None
            is_part = isinstance(view, Node) and isinstance(source, Node) and source in found
            if not is_part or self.number_of(view, source) is None:  # type: ignore[arg-type]
                found -= written(node)
        return found

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
            size = sum(map(self.operations, chain))
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
        if self.is_fold(node) or self.is_cross(node) or self.is_roll(node):
            return True
        if node.op == "basic_index":
            return self.is_column(node) or self.picks(node)
        return self.has_columns(node)

    def is_value(self, node: Node) -> bool:
        return origins(node).isdisjoint(self.stored)

    def is_short(self, node: Node) -> bool:
        """Whether an array is short along the axis, and long along the others."""
        if not isinstance(node.type, ArrayType) or node.type.dtype.kind not in "biuf":
            return False
        shape = list(node.type.shape)
        if len(shape) not in RANKS:
            return False
        width = shape.pop(self.axis)
        if not (type(width) is int and 1 <= width <= ONE_BY_ONE and any(map(_is_long, shape))):
            return False
        return all(_is_long(size) or size == 1 for size in shape)

    def is_flat(self, node: Node) -> bool:
        """Whether a node that may be taken lacks the axis: it is a column."""
        if node.op == "basic_index":
            return type(self.entry(node)) is int
        return node.op == "reduce" and not node.params["keepdims"]

    def entry(self, view: Node) -> Any:
        """What a view's index says of the short axis."""
        return view.params["index"][self.axis] if view.params["index"] else WHOLE

    def width_of(self, node: Node) -> int:
        width = node.array_type.shape[self.axis]
        assert isinstance(width, int)
        return width

    def rows_of(self, type_: ArrayType) -> ArrayType:
        """The type of a column."""
        shape = list(type_.shape)
        del shape[self.axis]
        return ArrayType(type_.dtype, tuple(shape))

    def index(self, entry: Any, rank: int) -> tuple[Any, ...]:
        whole = (WHOLE,) * (rank - 1)
        return (*whole, entry) if self.axis else (entry, *whole)

    def picks(self, node: Node) -> bool:
        """Whether a node takes columns of an array that is computed by columns: one, or some next to each other."""
        (x,) = node.args
        if x not in self.taken or not isinstance(x, Node) or self.is_flat(x):
            return False
        entry, index = self.entry(node), node.params["index"]
        if index != self.index(entry, x.array_type.ndim):
            return False
        return type(entry) is int or _is_constant_slice(entry)

    def is_column(self, node: Node) -> bool:
        """Whether a node gives an array the short axis, of one element."""
        (x,) = node.args
        rank = node.array_type.ndim
        return isinstance(x, Node) and self.is_short(node) and node.params["index"] == self.index(None, rank)

    def is_fold(self, node: Node) -> bool:
        if node.op != "reduce":
            return False
        (x,) = node.args
        if not isinstance(x, Node) or not self.is_short(x) or "initial" in node.params:
            return False
        if node.params["axes"] != (x.array_type.ndim - 1 if self.axis else 0,):
            return False
        ufunc, dtype, width = node.params["ufunc"], x.array_type.dtype, self.width_of(x)
        if ufunc not in _FOLDS or reduce_dtypes(ufunc, dtype, node.params.get("dtype")) != (dtype, dtype):
            return False
        if width == 1:
            return False  # NB: a copy
        if ufunc in (np.logical_and, np.logical_or):
            return dtype.kind == "b"
        return dtype.char in "fdbBhHiIlLqQ" and _folds_one_by_one(ufunc, dtype.char, width)

    def is_cross(self, node: Node) -> bool:
        if node.op != "cross" or not self.axis or not self.is_short(node) or node.array_type.dtype.kind not in "iuf":
            return False
        types = [arg.array_type for arg in node.args if isinstance(arg, Node)]
        if any(type_.dtype != node.array_type.dtype for type_ in types) or node.array_type.dtype.char == "e":
            return False
        return len(types) == 2 and all(self.fits(arg, node) for arg in node.args)

    def is_roll(self, node: Node) -> bool:
        """Whether a node rolls each column by itself."""
        if node.op != "roll" or node.params["axis"] is None or not self.is_short(node):
            return False
        return bool(node.params["axis"] != self.axis % node.array_type.ndim)

    def has_columns(self, node: Node) -> bool:
        """Whether an elementwise node is as well computed column by column."""
        if REGISTRY[node.op].kind is not OpKind.ELEMENTWISE or not self.is_short(node):
            return False
        alike = node.params.keys() <= {"casting", "dtype"}
        return alike and not looks_at_layout(node) and all(self.fits(arg, node) for arg in node.args)

    def fits(self, arg: Argument, result: Node) -> bool:
        """Whether an operand has columns that go with those of a result, or is one for all of them."""
        if not isinstance(arg, Node) or not arg.array_type.shape:
            return True
        if arg in self.taken and self.is_flat(arg):
            return not self.axis
        return not self.axis or arg.array_type.shape[-1] in (1, result.array_type.shape[-1])

    def serves(self, node: Node) -> bool:
        """Whether all users get what they want: what is one for a row, and a view, is never put together."""
        users = self.uses[node]
        if node.op == "basic_index" or (not self.is_flat(node) and self.width_of(node) == 1):
            return bool(users) and node not in self.outputs and all(self.reads_values(user, node) for user in users)
        return self.known_order(node)

    def reads_values(self, user: Node, node: Node) -> bool:
        """Whether a user cannot tell a view from a value."""
        if user in self.taken or self.takes_columns(user, node):
            return True
        if not self.is_flat(node):
            return False
        if user.kind is NodeKind.STORE:
            return user.args[0] is not node
        is_call = user.kind is NodeKind.CALL
        return is_call and REGISTRY[user.op].kind is OpKind.ELEMENTWISE and not looks_at_layout(user)

    def known_order(self, node: Node) -> bool:
        """Whether it is known how an array lies that is seen whole, and so are those along the other two axes."""
        if node.array_type.ndim == 1 or not (self.is_flat(node) or self.is_seen(node)):
            return True
        return self.orders.may_have(self.order_of(node), node.array_type.ndim + self.is_flat(node))

    def order_of(self, node: Node) -> Order | None:
        """What the order of axes of a node's value follows from. Where a reduction keeps an axis of one element, NumPy
        chooses its stride by the order of what it reduces: only of C order is it known."""
        if node.op != "reduce" or node.array_type.ndim < 2 or 1 not in node.array_type.shape:
            return self.orders.of(node)
        (x,) = node.args
        order = self.orders.of(x) if isinstance(x, Node) else None
        return None if order is None else tuple(dict.fromkeys((*order, PACKED)))

    def is_seen(self, node: Node) -> bool:
        """Whether somebody needs the array as a whole."""
        return node in self.outputs or any(
            user not in self.taken and not self.takes_columns(user, node) for user in self.uses[node]
        )

    def takes_columns(self, user: Node, node: Node) -> bool:
        """Whether a store may go column by column."""
        if user.kind is not NodeKind.STORE or user.args[1] is not node or self.is_flat(node):
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
                if isinstance(arg, Node) and arg in chain and not self.is_flat(arg) and chain[arg] is not mine:
                    other = chain[arg]
                    other += mine
                    for one in mine:
                        chain[one] = other
                    mine = other
        return list({id(each): each for each in chain.values()}.values())

    def operations(self, node: Node) -> int:
        """How many operations a node becomes."""
        if node.op == "basic_index":
            return 0
        (x, *_) = node.args
        return 9 if node.op == "cross" else self.width_of(x if node.op == "reduce" else node)  # type: ignore[arg-type]

    # Rewriting

    def rewrite(self) -> None:
        graph = self.graph
        nodes, graph.nodes = graph.nodes, []
        replaced: dict[Node, Argument] = {}
        for node in nodes:
            if node in self.taken:
                parts = self.parts[node] = self.compute(node)
                if self.is_flat(node):
                    replaced[node] = self.laid_out(node, *parts)
                elif self.is_seen(node):
                    replaced[node] = self.put_together(node, parts)
            elif node.kind is NodeKind.STORE and node.args[1] in self.taken and self.takes_columns(node, node.args[1]):
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
        if node.op == "roll":
            return self.rolled(node)
        if node.op != "basic_index":
            return self.each(node)
        assert isinstance(x, Node)
        entry = self.entry(node)
        if entry is None:
            return [x]
        found = self.parts[x][slice(*entry) if isinstance(entry, tuple) else entry]
        return found if isinstance(found, list) else [found]

    def columns_of(self, x: Argument, rank: int) -> list[Argument]:
        """The columns of an operand of an operation on `rank` axes, as they were computed or as views of it."""
        if not isinstance(x, Node):
            return [x]
        if x in self.parts:
            return list(self.parts[x])
        dtype, shape = x.array_type.dtype, x.array_type.shape
        if not shape or shape == (1,) or (not self.axis and len(shape) < rank):
            return [x]
        found = []
        for place in range(self.width_of(x)):
            vector = len(shape) == 1
            index: tuple[Any, ...] = ((place, place + 1, None),) if vector else self.index(place, len(shape))
            type_ = ArrayType(dtype, (1,)) if vector else self.rows_of(x.array_type)
            params = {"index": index, "scalar": False}
            found.append(self.graph.add_call("basic_index", (x,), params, type_, x.location))
        if self.is_value(x):
            self.parts[x] = found
        return list(found)

    def each(self, node: Node) -> list[Node]:
        type_, rank = self.rows_of(node.array_type), node.array_type.ndim
        operands = [self.columns_of(arg, rank) for arg in node.args]
        found = []
        for place in range(self.width_of(node)):
            args = tuple(one[place % len(one)] for one in operands)
            found.append(self.graph.add_call(node.op, args, node.params, type_, node.location))
        return found

    def rolled(self, node: Node) -> list[Node]:
        (x,) = node.args
        along = node.params["axis"] - (self.axis == 0)
        type_, params = self.rows_of(node.array_type), node.params | {"axis": along}
        parts = self.columns_of(x, node.array_type.ndim)
        return [self.graph.add_call("roll", (part,), params, type_, node.location) for part in parts]

    def folded(self, node: Node) -> Node:
        (x,) = node.args
        assert isinstance(x, Node)
        ufunc, dtype = node.params["ufunc"], x.array_type.dtype
        type_, rank = self.rows_of(x.array_type), x.array_type.ndim
        op = _STEPS.get(ufunc, _FOLDS[ufunc]) if dtype.kind == "f" else _FOLDS[ufunc]
        starts: list[Argument] = [0.0] if _starts_with_zero(ufunc, dtype.char) else []
        result, *others = starts + self.columns_of(x, rank)
        for other in others:
            result = self.graph.add_call(op, (result, other), {}, type_, node.location)
        assert isinstance(result, Node)
        return result

    def crossed(self, node: Node) -> list[Node]:
        """As np.cross computes it: two products each, and their difference."""
        left, right = (self.columns_of(arg, node.array_type.ndim) for arg in node.args)
        type_ = self.rows_of(node.array_type)

        def call(op: str, *args: Argument) -> Node:
            return self.graph.add_call(op, args, {}, type_, node.location)

        return [
            call("subtract", call("multiply", left[i], right[j]), call("multiply", left[j], right[i]))
            for i, j in ((1, 2), (2, 0), (0, 1))
        ]

    def laid_out(self, node: Node, part: Node) -> Node:
        """A column in the order of axes that NumPy gives it. Its own is that of the arrays that it is made of, which
        np.cross, for one, does not keep: what follows from that is in C order."""
        order = self.order_of(node) or ()
        if order == (PACKED,) and node.array_type.ndim > 1 and self.sources(node) - {PACKED}:
            made = self.orders.allocate(self.graph, node)
            self.graph.add_store(made, part, node.location)
            return made
        self.orders.require(self.graph, order)
        return part

    def sources(self, node: Node) -> set[Node | None]:
        """What the order of the arrays follows from that the columns of a node are read out of."""
        found: set[Node | None] = set()
        seen, waiting = {node}, [node]
        while waiting:
            for arg in waiting.pop().args:
                if not isinstance(arg, Node) or arg in seen:
                    continue
                seen.add(arg)
                if arg in self.taken:
                    waiting.append(arg)
                else:
                    found |= {arg} if (order := self.orders.of(arg)) is None else set(order)
        return found

    def put_together(self, node: Node, parts: list[Node]) -> Node:
        """An array with these columns, in the order of axes that NumPy gives it."""
        made = self.orders.allocate(self.graph, node)
        self.fill(made, parts, node)
        if node.op == "cross" and self.is_handed_out(node):
            params = {"index": (WHOLE,) * node.array_type.ndim, "scalar": False}
            return self.graph.add_call("basic_index", (made,), params, node.array_type, node.location)
        return made

    def is_handed_out(self, node: Node) -> bool:
        """Whether it may be seen that what np.cross gives is a view."""
        return node in self.outputs or any(map(hands_out, self.uses[node]))

    def fill(self, array: Node, parts: list[Node], node: Node) -> None:
        type_ = self.rows_of(array.array_type)
        column = self.column_of(array)
        if column is not None:
            array, first = column
        for place, part in enumerate(parts, 0 if column is None else first):
            params = {"index": self.index(place, array.array_type.ndim), "scalar": False}
            view = self.graph.add_call("basic_index", (array,), params, type_, node.location)
            self.graph.add_store(view, part, node.location)


def _is_long(size: Dim) -> bool:
    return type(size) is not int or size > ONE_BY_ONE


def _is_constant_slice(entry: Any) -> bool:
    return isinstance(entry, tuple) and all(bound is None or type(bound) is int for bound in entry)


def _starts_with_zero(ufunc: np.ufunc, char: str) -> bool:
    return ufunc is np.add and char in "fd" and begins_with_zero(char)


@functools.cache
def _folds_one_by_one(ufunc: np.ufunc, char: str, width: int) -> bool:
    """Whether this NumPy reduces rows of so many elements one element after the other, however they lie: tried out on
    zeros and NaNs of either sign and on numbers of unlike sizes."""
    if np.dtype(char).kind in "iu":
        return True
    samples = Samples(width)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5], char)
    rows = special[samples.below(len(special), 512, width)]
    rows[256:] = samples.normal(256, width) * 10.0 ** (samples.below(12, 256, width) - 6)
    lying: tuple[Callable[[Any], Any], ...] = (
        lambda x: x,
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[:, ::-1].copy()[:, ::-1],
    )
    step: Callable[[Any, Any], Any] = ufunc
    if ufunc in _STEPS:
        better = np.less if ufunc is np.minimum else np.greater
        step = lambda x, y: np.where(np.isnan(x) | better(x, y), x, y)  # noqa: E731
    with np.errstate(all="ignore"):
        start = [np.zeros(512, char)] if _starts_with_zero(ufunc, char) else []
        expected = functools.reduce(step, start + [np.ascontiguousarray(one) for one in rows.T])
        found = [ufunc.reduce(lay(rows[:length]), axis=1) for lay in lying for length in _LENGTHS]
    # What becomes of two NaNs that are added, and of others than np.nan, kernels look after.
    sure = ~np.isnan(expected) | ((_bits(expected) == _bits(np.array(np.nan, char))) & (ufunc in _STEPS))
    for one in found:
        wanted, at = expected[: len(one)], sure[: len(one)]
        if not np.array_equal(np.isnan(one), np.isnan(wanted)) or not _same(one[at], wanted[at]):
            return False
    return True


def _bits(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.view(f"u{x.itemsize}")


def _same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return left.tobytes() == right.tobytes()
