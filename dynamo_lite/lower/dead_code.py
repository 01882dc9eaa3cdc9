"""Drops what nobody uses and nobody could notice.

Enters a graph that this pass may change; leaves it without unused calls, but for those that may warn or raise:

    %add = add(%x, 1); %less = less(%x, 0); return %x  ->  %add = add(%x, 1); return %x   # it may overflow
    %nonzero = nonzero(%mask, yields=(y0,))            ->  %n = count_true(%mask, yields=(y0,))   # if nobody reads it

INVARIANT: a floating-point error that NumPy would report is still met. Stores stay.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.rewrite import drop_unused, users
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.masks import is_mask
from dynamo_lite.ops.registry import may_report


def dead_code(graph: Graph) -> None:
    """Remove unused nodes that cannot report anything."""
    drop_unused(graph, may_report)
    if any(node.op == "nonzero" for node in graph.nodes):
        _count_only(graph)


def _count_only(graph: Graph) -> None:
    """Of places that nobody reads there is a number left, by which masks select (capture/masks.py)."""
    uses, outputs = users(graph), {one for one in graph.outputs if isinstance(one, Node)}
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if node.op == "nonzero" and is_mask(node.args[0]) and not uses[node] and node not in outputs:
            graph.add_call("count_true", node.args, node.params, ArrayType(np.dtype(np.int64), (), True), node.location)
        else:
            graph.nodes.append(node)
