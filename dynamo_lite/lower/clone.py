"""Copies a graph, so that passes may change it while capture's own stays as explain() shows it.

Enters a Graph; leaves another with the same nodes, names, symbols and facts, bodies of loops included. First pass of
lowering.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.budget import spend
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Symbol


def clone(graph: Graph) -> Graph:
    """A graph that shares nothing mutable with `graph`."""
    result = Graph()
    copies: dict[Node, Node] = {}

    def copied(arg: Argument) -> Argument:
        return copies[arg] if isinstance(arg, Node) else arg

    for node in graph.nodes:
        spend()
        params: dict[str, Any] = dict(node.params)
        copies[node] = Node(
            node.kind,
            node.op,
            tuple(map(copied, node.args)),
            params,
            node.type,
            node.name,
            node.location,
            tuple(map(clone, node.regions)),
        )
    result.nodes = list(copies.values())
    result.inputs = [value if isinstance(value, Symbol) else copies[value] for value in graph.inputs]
    result.outputs = [copied(output) for output in graph.outputs]
    result.symbols = dict(graph.symbols)
    result.facts = graph.facts.copy()
    result._names = dict(graph._names)
    return result
