"""Keeps what NumPy scalars compute from sizes in Scalars, which cost nothing at a call.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %c = scalar_cast(s0, type=int64); %d = scalar_subtract(%c, 1)  ->  %d = scalar_cast(sub(s0, 1), type=int64)

np.mean and np.var count elements in this way. Only int64: there a Scalar's exact integers are NumPy's, or the call
declines where NumPy would warn of an overflow.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, is_scalar, kind_of, make

INT64 = np.dtype(np.int64)
_OPS = {
    "scalar_add": "add",
    "scalar_subtract": "sub",
    "scalar_multiply": "mul",
    "maximum": "max",
    "minimum": "min",
}


def numbers(graph: Graph) -> None:
    """Rewrite integer arithmetic between NumPy scalars that stand for Scalars."""
    known: dict[Node, Scalar] = {}
    for node in graph.nodes:
        if node.kind is not NodeKind.CALL or isinstance(node.type, tuple) or node.type is None:
            continue
        if not node.type.scalar or node.type.dtype != INT64:
            continue
        if node.op == "scalar_cast":
            number = _number(node.args[0], known)
        elif node.op in _OPS and set(node.params) <= {"dtype", "casting"}:
            left, right = (_number(arg, known) for arg in node.args)
            number = None if left is None or right is None else make(_OPS[node.op], left, right)
        else:
            continue
        if number is None:
            continue
        known[node] = number
        node.op, node.args, node.params = "scalar_cast", (number,), {"type": np.int64}


def _number(arg: Argument, known: dict[Node, Scalar]) -> Scalar | None:
    """The integer that `arg` is, if it is a Scalar or stands for one."""
    if isinstance(arg, Node):
        return known.get(arg)
    return arg if is_scalar(arg) and kind_of(arg) == "int" else None
