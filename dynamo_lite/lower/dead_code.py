"""Drops what nobody uses and nobody could notice.

Enters a graph that this pass may change; leaves it without unused calls, but for those that may warn or raise, or
test what the code takes for granted:

    %add = add(%x, 1); %less = less(%x, 0); return %x  ->  %add = add(%x, 1); return %x   # it may overflow
    %nonzero = nonzero(%mask, yields=(y0,))            ->  %n = count_true(%mask, yields=(y0,))   # if nobody reads it
    %tag = object_number(%item, %objects, of=5, yields=(y1,))  ->                                  # if nobody reads y1

INVARIANT: a floating-point error that NumPy would report is still met. Stores stay.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.rewrite import drop_unused, map_scalars, users
from dynamo_lite.graph.scalar import symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.masks import is_mask
from dynamo_lite.ops.registry import has_to_run


def dead_code(graph: Graph) -> None:
    """Remove unused nodes that do not have to run all the same."""
    _drop_tags(graph)
    drop_unused(graph, has_to_run)
    if any(node.op == "nonzero" for node in graph.nodes):
        _count_only(graph)


def _count_only(graph: Graph) -> None:
    """Of places that nobody reads there is a number left, by which masks select (capture/arrays/masks.py)."""
    uses, outputs = users(graph), {one for one in graph.outputs if isinstance(one, Node)}
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if node.op == "nonzero" and is_mask(node.args[0]) and not uses[node] and node not in outputs:
            graph.add_call("count_true", node.args, node.params, ArrayType(np.dtype(np.int64), (), True), node.location)
        else:
            graph.nodes.append(node)


def _drop_tags(graph: Graph) -> None:
    """Tags of numbers taken of lists are read wherever one might be wanted (loops/number_objects.py); few are."""
    tags = [node for node in graph.nodes if node.op == "object_number" and node.params["of"] == abi.READ_TAG]
    if not tags:
        return
    used = set[str]()
    params = [value for node in graph.nodes for name, value in node.params.items() if name != "yields"]
    values = [*graph.outputs, *params, *(node.args for node in graph.nodes)]
    map_scalars(values, lambda one: used.update(symbols_of(one)))
    unread = {tag for tag in tags if tag.params["yields"][0].name not in used}
    graph.nodes = [node for node in graph.nodes if node not in unread]
