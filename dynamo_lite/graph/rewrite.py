"""Small steps that passes over graphs are made of: who uses a value, whose memory a view shows, replacing, dropping.

Each works on a Graph in place or reads it; none changes a type. INVARIANT: stores keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol


def is_view(node: Node) -> bool:
    """Whether `node` is, or may be, a view of its first operand."""
    return node.kind is NodeKind.CALL and node.op in REGISTRY and REGISTRY[node.op].kind is OpKind.VIEW


def root(node: Node) -> Node:
    """The node whose memory `node` shows: itself, or the origin of the chain of views it ends."""
    while is_view(node):
        base = node.args[0]
        assert isinstance(base, Node), node.name
        node = base
    return node


def users(graph: Graph) -> dict[Node, list[Node]]:
    """For every node the nodes that take it as operand, in order, one entry a use."""
    result: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    for node in graph.nodes:
        for arg in node.args:
            if isinstance(arg, Node):
                result[arg].append(node)
    return result


def replace_uses(graph: Graph, mapping: Mapping[Node, Argument]) -> None:
    """Let every operand and output that is a key of `mapping` be the value instead."""

    def replaced(arg: Argument) -> Argument:
        while isinstance(arg, Node) and arg in mapping:
            arg = mapping[arg]
        return arg

    for node in graph.nodes:
        node.args = tuple(map(replaced, node.args))
    graph.outputs = [replaced(output) for output in graph.outputs]


def drop_unused(graph: Graph, keep: Callable[[Node], bool]) -> None:
    """Remove calls and constants that nothing reads, unless `keep` says that they have to stay. Stores stay."""
    live: set[Node] = {output for output in graph.outputs if isinstance(output, Node)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        removable = node.kind in (NodeKind.CALL, NodeKind.CONSTANT)
        if not removable or node in live or (node.kind is NodeKind.CALL and keep(node)):
            kept.append(node)
            live.update(arg for arg in node.args if isinstance(arg, Node))
    graph.nodes = kept[::-1]


def map_scalars(value: Any, change: Callable[[Scalar], Any]) -> Any:
    """A param with `change` applied to every symbolic number in it, also inside tuples and lists."""
    if isinstance(value, Symbol | ScalarOp):
        return change(value)
    if isinstance(value, tuple):
        return tuple(map_scalars(item, change) for item in value)
    if isinstance(value, list):
        return [map_scalars(item, change) for item in value]
    return value
