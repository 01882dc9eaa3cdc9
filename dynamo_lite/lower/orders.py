"""In which order of axes NumPy lays out what is computed: the arrays that it follows from.

NumPy lays out elementwise results by the order of their operands' axes. Where all arrays that a value is made of have
one order, the value has it, too. `Orders.allocate` makes an array that lies like a value: by the op "empty_bordered"
(ops/borders.py), which declines where those arrays have no common order, or in C order where that is certain.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.types import ArrayType

PACKED = None  # stands among the arrays for one that lies in C order


class Orders:
    """What the order of axes of arrays with two axes follows from."""

    def __init__(self) -> None:
        self.known: dict[Node, tuple[Node | None, ...] | None] = {}

    def of(self, node: Node) -> tuple[Node | None, ...] | None:
        """The arrays that have to have one order for `node` to have it; () where none has a say, which gives C order.
        None where it is not known."""
        if node not in self.known:
            self.known[node] = self.find(node)
        return self.known[node]

    def find(self, node: Node) -> tuple[Node | None, ...] | None:
        type_ = node.type
        if not isinstance(type_, ArrayType) or is_thin(type_):
            return ()
        if node.kind is not NodeKind.CALL:
            return (node,)
        if node.op in ("empty", "zeros", "full", "stack"):
            return (PACKED,) if node.params.get("order", "C") == "C" else (node,)
        if node.op == "cross":
            return (PACKED,)
        operands = [arg for arg in node.args if isinstance(arg, Node)]
        if node.op in ("empty_like", "full_like"):
            return self.of(operands[0])
        if node.op == "basic_index":
            # Slices alone keep the order, also where they turn an axis round.
            return self.of(operands[0]) if all(map(_is_slice, node.params["index"])) else (node,)
        if REGISTRY[node.op].kind is not OpKind.ELEMENTWISE or node.params.get("order", "K") != "K":
            return (node,)
        found: dict[Node | None, None] = {}
        for arg in operands:
            order = self.of(arg)
            if order is None or not (arg.array_type.ndim == type_.ndim or is_thin(arg.array_type)):
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
        if not arrays:
            return graph.add_call("empty", (), params | {"order": "C"}, result, node.location)
        if len(arrays) < len(order):
            sample = {"shape": (2,) * type_.ndim, "dtype": np.dtype(bool), "order": "C"}
            arrays += (graph.add_call("empty", (), sample, ArrayType(sample["dtype"], sample["shape"])),)  # type: ignore[arg-type]
        return graph.add_call("empty_bordered", arrays, params, result, node.location)


def _is_slice(entry: object) -> bool:
    return isinstance(entry, tuple)


def is_thin(type_: ArrayType) -> bool:
    """Whether an array has one axis at most, sizes of 1 aside: it has no say in the order of axes."""
    return sum(dim != 1 for dim in type_.shape) <= 1
