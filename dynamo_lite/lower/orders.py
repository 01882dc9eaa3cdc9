"""In which order of axes NumPy lays out what is computed: the arrays that it follows from.

NumPy lays out elementwise results by the order of their operands' axes, and reductions and views keep it. Where all
arrays that a value is made of have one order, the value has it, too. `Orders.allocate` makes an array that lies like a
value: by the op "empty_bordered" (ops/borders.py), which declines where those arrays have no common order, or in C
order where that is certain. `Orders.require` lets the program decline where a value's order is not certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import root
from dynamo_lite.graph.scalar import Dim, make
from dynamo_lite.graph.types import ArrayType

Order = tuple[Node | None, ...]
PACKED = None  # stands among the arrays for one that lies in C order


class Orders:
    """What the order of axes of arrays follows from. lies: the order of those that go in now, by their places; None in
    a body, where little is required: what declines there costs all of the loop. inside: of those that go into a body
    now, as far as it is known. facts: what is known of sizes."""

    def __init__(
        self,
        lies: Mapping[int, tuple[int, ...] | None] | None,
        inside: Mapping[int, tuple[int, ...] | None] | None = None,
        facts: Facts | None = None,
    ) -> None:
        self.lies = lies
        self.facts = Facts() if facts is None else facts
        self.inside = {} if inside is None else inside
        self.known: dict[Node, Order | None] = {}
        self._facts: dict[frozenset[Dim], Facts] = {}
        self.required: list[frozenset[Node | None]] = []

    def may_have(self, order: Order | None, rank: int) -> bool:
        """Whether it is known what an order of axes follows from, and those arrays lie so now, as `require` wants."""
        if order is None or self.lies is None:
            return False
        ranks = {array.array_type.ndim for array in order if array is not None}
        found = self.found(order)
        if PACKED in order or ranks - {rank}:
            return all(one == tuple(range(len(one))) for one in found if one is not None) and None not in found
        return len(found) <= 1 and None not in found

    def is_common(self, order: Order) -> bool:
        """Whether arrays, C order among them or not, have one order as far as it is known how they lie now: in a body
        as well, whose arrays seldom change their order."""
        if self.lies is not None:
            return self.may_have(order, max((array.array_type.ndim for array in order if array is not None), default=0))
        found = self.found(order)
        if PACKED in order:
            return all(one is not None and one == tuple(range(len(one))) for one in found)
        return len(found) <= 1 and None not in found

    def found(self, order: Order) -> set[tuple[int, ...] | None]:
        """How arrays lie now, as far as that is known; one and its transpose lie differently, however they do."""
        found: set[tuple[int, ...] | None] = set()
        turned: dict[Node, tuple[int, ...]] = {}
        for array in order:
            if array is None:
                continue
            source, axes = array, tuple(range(array.array_type.ndim))
            while source.op == "transpose" and isinstance(source.args[0], Node):
                axes = tuple(source.params["axes"][axis] for axis in axes)
                source = source.args[0]
            lies = self.lies_now(source)
            if lies is not None and lies:
                found.add(tuple(axes.index(axis) for axis in lies))
            elif lies is None or turned.setdefault(source, axes) != axes:
                found.add(None)
        return found

    def lies_now(self, array: Node) -> tuple[int, ...] | None:
        """The axes from the outermost in memory to the innermost, None where axes meet; () where it is not known."""
        if array.kind is NodeKind.INPUT:
            return (self.inside if self.lies is None else self.lies).get(array.params["index"], ())
        if array.op in ("empty", "zeros", "full") and array.params["order"] == "C":
            return tuple(range(array.array_type.ndim))
        return ()

    def forget(self) -> None:
        """Forget what was found out about a graph that has changed since, but not what it requires."""
        self.known.clear()

    def going_into(self, node: Node) -> dict[int, tuple[int, ...] | None]:
        """How the arrays lie now that go into the bodies of a loop or a choice, by their places there."""
        known = self.inside if self.lies is None else self.lies
        first = 1 if node.kind is NodeKind.COND else 3  # the condition; the bounds, for which the index stands
        operands = enumerate(node.args[first:], 1 if node.kind is NodeKind.LOOP else 0)
        return {
            place: known[arg.params["index"]]
            for place, arg in operands
            if isinstance(arg, Node) and arg.kind is NodeKind.INPUT and arg.params["index"] in known
        }

    def are_alike(self, value: Node, array: Node) -> bool:
        """Whether both have one order of axes, or else the program declines."""
        orders = self.of(value), self.of(array)
        found = {one for order in orders for one in order or ()}
        return None not in orders and any(found <= required for required in self.required)

    def of(self, node: Node) -> Order | None:
        """The arrays that have to have one order for `node` to have it; () where none has a say, which gives C order.
        None where it is not known."""
        if node not in self.known:
            self.known[node] = self.find(node)
        return self.known[node]

    def find(self, node: Node) -> Order | None:
        type_ = node.type
        if node.op == "concatenate" and any(0 in arg.array_type.shape for arg in node.args if isinstance(arg, Node)):
            return None if node.array_type.ndim > 1 else ()  # what has no elements has a say, also in a thin result
        if not isinstance(type_, ArrayType) or is_thin(type_):
            return ()
        if node.kind is not NodeKind.CALL:
            return (node,)
        operands = [arg for arg in node.args if isinstance(arg, Node)]
        if node.op in ("empty", "zeros", "full"):
            return (PACKED,) if node.params["order"] == "C" else (node,)
        if node.op == "cross" or (node.op == "roll" and node.params["axis"] is None):
            return (PACKED,)  # of all elements as one vector, np.roll makes a view in C order
        if node.op == "basic_index":
            order = self.of(operands[0])
            if order is None or not any(one is not None and is_turned(one) for one in order):
                return order
            is_alike = PACKED not in order and node.array_type.ndim == operands[0].array_type.ndim
            return order if is_alike else (node,)  # it lies somehow, which the run tells
        if node.op in ("empty_like", "full_like", "reduce", "roll"):
            return self.made(node, self.of(operands[0]))
        if node.op == "concatenate":
            return self.made(node, self.joined(operands))
        if REGISTRY[node.op].kind is not OpKind.ELEMENTWISE:
            return (node,)
        match node.params.get("order", "K"):
            case "K":
                return self.made(node, self.combined(node, operands))
            case "C":
                return (PACKED,)
        return None

    def made(self, node: Node, order: Order | None) -> Order | None:
        """Of a new array that has this order if no axis has less than two elements. Without elements NumPy makes it in
        C order, or not, by how it goes through the operands, and where an axis of one element stands it chooses, too;
        only of operands in C order nothing else is made."""
        if order is None or PACKED in order:
            return order
        if not order:
            return (PACKED,)  # made of what has no say, it is in C order, and has a say itself
        facts = self.facts_of(array for array in order if array is not None)
        if all(size != 1 and facts.decide(make("ge", size, 1)) for size in node.array_type.shape):
            return order
        return (*order, PACKED)

    def facts_of(self, arrays: Iterable[Node]) -> Facts:
        """What is known of sizes where these arrays have elements: without, one has no order, and the program
        declines."""
        sizes = frozenset(dim for array in arrays for dim in array.array_type.shape if not isinstance(dim, int))
        facts = self._facts.get(sizes)
        if facts is None:
            facts = self._facts[sizes] = self.facts.copy()
            for size in sorted(sizes, key=str):
                facts.learn(make("ge", size, 1), True)
        return facts

    def combined(self, node: Node, operands: list[Node]) -> Order | None:
        """Of an elementwise operation. An axis along which no operand goes stands where it stands in C order. Where
        operands disagree on two axes, C order wins in NumPy (npyiter_find_best_axis_ordering): so one operand in C
        order that goes along all axes decides, unless NumPy may put the result into another one, a large temporary."""
        found: dict[Node | None, None] = {}
        axes = {axis for axis, dim in enumerate(node.array_type.shape) if dim != 1}
        others = [arg for arg in operands if self.of(arg) != (PACKED,) or self.axes_of(node, arg) != axes]
        if len(others) < len(operands) and all(is_thin(arg.array_type) or is_shown(arg) for arg in others):
            return (PACKED,)
        partial = False
        for arg in operands:
            if is_thin(arg.array_type):
                continue
            order = self.of(arg)
            if order is None:
                return None
            found |= dict.fromkeys(order)
            if self.axes_of(node, arg) == axes:
                axes = set()
            partial = True
        if axes and partial:
            found[PACKED] = None
        return tuple(found)

    @staticmethod
    def axes_of(node: Node, operand: Node) -> set[int]:
        """The axes of `node` along which an operand goes."""
        offset = node.array_type.ndim - operand.array_type.ndim
        return {offset + axis for axis, dim in enumerate(operand.array_type.shape) if dim != 1}

    def joined(self, operands: list[Node]) -> Order | None:
        """Of arrays that are joined: the common order of those that have one."""
        found: dict[Node | None, None] = {}
        for arg in operands:
            if is_thin(arg.array_type):
                continue
            order = self.of(arg)
            if order is None or 1 in arg.array_type.shape:
                return None
            found |= dict.fromkeys(order)
        return tuple(found)

    def allocate(self, graph: Graph, node: Node) -> Node:
        """An array of unset elements that lies as NumPy would lay out `node`."""
        order, type_ = self.of(node), node.array_type
        assert order is not None
        arrays = tuple(array for array in order if array is not None)
        params = {"shape": type_.shape, "dtype": type_.dtype}
        result = ArrayType(type_.dtype, type_.shape)
        if arrays and len(arrays) == len(order) and all(one.array_type.ndim == type_.ndim for one in arrays):
            return graph.add_call("empty_bordered", arrays, params, result, node.location)
        self.require(graph, (*order, PACKED))
        return graph.add_call("empty", (), params | {"order": "C"}, result, node.location)

    def allocate_if_known(self, graph: Graph, node: Node) -> Node | None:
        """The same where it is known what the order follows from, and these arrays have one order now."""
        order = self.of(node)
        if order is None or {array.array_type.ndim for array in order if array is not None} - {node.array_type.ndim}:
            return None
        return self.allocate(graph, node) if self.is_common(order) else None

    def require_packed(self, graph: Graph, node: Node) -> bool:
        """Let the program decline unless an array lies in C order; whether it is known what that follows from, and so
        now."""
        order = self.of(node)
        if order is None or {array.array_type.ndim for array in order if array is not None} - {node.array_type.ndim}:
            return False
        if any(array is not None and array.kind is not NodeKind.INPUT for array in order):
            return False  # a transpose, say: nobody knows how it lies now
        if not self.is_common((*order, PACKED)):
            return False
        if set(order) - {PACKED}:
            self.require(graph, (*order, PACKED))
        return True

    def require(self, graph: Graph, order: Sequence[Node | None]) -> None:
        """Let the program decline unless these arrays have one order; of axes of unlike number only C order is one."""
        wanted = frozenset(order)
        ranks = {array.array_type.ndim for array in wanted if array is not None}
        if len(ranks) > 1:
            wanted |= {PACKED}
        if wanted in self.required:
            return
        self.required.append(wanted)
        for rank in sorted(ranks):
            known = dict.fromkeys(array for array in order if array is not None)
            arrays = tuple(array for array in known if array.array_type.ndim == rank)
            if PACKED in wanted:
                sample = ArrayType(np.dtype(bool), (2,) * rank)
                params = {"shape": sample.shape, "dtype": sample.dtype, "order": "C"}
                arrays += (graph.add_call("empty", (), params, sample),)
            graph.add_call("require_order", arrays, {}, ArrayType(np.dtype(bool), (1,) * rank))


def is_shown(array: Node) -> bool:
    """Whether an array is surely no temporary that owns its memory: it is from outside, or a view."""
    return array.kind is NodeKind.INPUT or array.op in ("basic_index", "transpose")


def is_turned(array: Node) -> bool:
    """Whether an array surely lies in another order than C: x[:, k], of which NumPy puts the axes of `k` in front."""
    array = root(array)
    if array.op != "advanced_index":
        return False
    entries = [entry for entry in array.params["index"] if entry is not None and entry is not ...]
    return bool(entries) and isinstance(entries[0], tuple) and entries[0][0] != "arg"


def is_thin(type_: ArrayType) -> bool:
    """Whether an array has one axis at most, sizes of 1 aside: it has no say in the order of axes."""
    return sum(dim != 1 for dim in type_.shape) <= 1
