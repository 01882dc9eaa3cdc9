"""Has what is computed twice computed once: reductions, and functions that take long.

Enters a graph that this pass may change; leaves it without such calls of which there is an equal one before:

    %sum = reduce(%x, add); %total = reduce(%x, add, keepdims)  ->  %total = reduce(%x, add, keepdims); %sum = %total[0]
    %a = exp(%x); %b = exp(%x)                                   ->  %a = exp(%x), which is %b

`(x - x.mean()) / x.std()` asks for the sum twice. INVARIANT: a value is that of the memory at its place in the graph:
behind a store, or anything else that may write, equal calls are no more equal. Two results become one array only where
both are nothing but read, by operations that make arrays of their own: nobody can tell then. What is to be reported has
been reported by the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind, elementwise_of
from dynamo_lite.graph.rewrite import is_view, origins, replace_uses, users, written
from dynamo_lite.graph.scalar import is_symbolic
from dynamo_lite.graph.types import ArrayType, identity_of
from dynamo_lite.lower.hoist import CHEAP

_READS = (OpKind.ELEMENTWISE, OpKind.REDUCTION)
_WHOLE = (None, None, None)


def once(graph: Graph) -> None:
    """Drop calls that an equal one before them makes needless."""
    if sum(map(_is_long, graph.nodes)) < 2:
        return
    numbers = _Numbers(graph)
    equal = numbers.equal()
    replaced: dict[Node, Argument] = {}
    nodes, graph.nodes = graph.nodes, []
    needless = {node for others in equal.values() for node in others}
    for node in nodes:
        if node in needless:
            continue
        graph.nodes.append(node)
        if node in equal:
            _merge(graph, node, equal[node], replaced)
    replace_uses(graph, replaced)
    if replaced:
        _drop_operands(graph, numbers.number)


def _drop_operands(graph: Graph, number: dict[Node, int]) -> None:
    """Drop what only needless calls have asked for: an equal value before it has reported what it would."""
    uses = users(graph)
    first: dict[int, Node] = {}
    for node in graph.nodes:
        first.setdefault(number.get(node, -1), node)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        is_needless = _kind(node) in _READS and not uses[node] and not any(node is one for one in graph.outputs)
        if is_needless and node in number and first[number[node]] is not node:
            for arg in node.args:
                if isinstance(arg, Node):
                    uses[arg].remove(node)
        else:
            kept.append(node)
    graph.nodes = kept[::-1]


def _kind(node: Node) -> OpKind | None:
    op = REGISTRY.get(node.op) if node.kind is NodeKind.CALL else None
    if op is None or "yields" in node.params:
        return None
    return OpKind.ELEMENTWISE if op.name.startswith("scalar_") else op.kind  # of NumPy scalars, which never change


def _is_long(node: Node) -> bool:
    """Whether it takes longer to compute than to read what came of it."""
    kind = _kind(node)
    if kind is OpKind.ELEMENTWISE:
        return isinstance(node.type, ArrayType) and not node.type.scalar and elementwise_of(node).name not in CHEAP
    return kind is OpKind.REDUCTION and node.op == "reduce"


class _Numbers:
    """Numbers values of a graph, equal ones alike. epoch: how often memory of unknown extent may have changed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.uses = users(graph)
        self.outputs = {one for one in graph.outputs if isinstance(one, Node)}
        self.fresh = itertools.count()
        self.number: dict[Node, int] = {}
        self.of_key: dict[Hashable, int] = {}
        self.epoch = 0

    def equal(self) -> dict[Node, list[Node]]:
        """For calls that equal ones follow these."""
        first: dict[Hashable, Node] = {}
        found: dict[Node, list[Node]] = {}
        for node in self.graph.nodes:
            kind = _kind(node)
            if kind not in (*_READS, OpKind.VIEW):
                self.number[node] = next(self.fresh)
                self.pass_by(node, kind)
                continue
            key = self.key(node)
            keeps = node.params.get("keepdims")
            self.number[node] = self.of_key.setdefault((key, keeps), next(self.fresh))
            if _is_long(node) and self.is_read_only(node):
                earlier = first.setdefault(key, node)
                if earlier is not node:
                    found.setdefault(earlier, []).append(node)
        return found

    def pass_by(self, node: Node, kind: OpKind | None) -> None:
        """Note what a node may write."""
        changed = written(node) if node.kind is NodeKind.STORE else set()
        if changed and all(origin.kind is NodeKind.CALL for origin in changed):
            shows = [one for one in self.number if one in changed or (is_view(one) and origins(one) & changed)]
            self.number |= {one: next(self.fresh) for one in shows}
        elif node.kind not in (NodeKind.INPUT, NodeKind.CONSTANT) and kind is not OpKind.CREATION:
            self.epoch += 1

    def key(self, node: Node) -> Hashable:
        """What two calls have in common that compute the same numbers, of reductions with axes that are kept or not."""
        params = ((name, value) for name, value in node.params.items() if name != "keepdims")
        args = tuple(self.number[arg] if isinstance(arg, Node) else ("number", _exact(arg)) for arg in node.args)
        return node.op, args, tuple((name, _exact(value)) for name, value in params), self.epoch

    def is_read_only(self, node: Node) -> bool:
        """Whether operations that make arrays of their own read it, or views of it, and nothing else has it."""
        return node not in self.outputs and all(
            _kind(user) in _READS or (is_view(user) and self.is_read_only(user)) for user in self.uses[node]
        )


def _exact(value: Any) -> Hashable:
    """A key that only the very same static value has."""
    if is_symbolic(value) or isinstance(value, np.ufunc | np.dtype | type | str | None):
        found: Hashable = value
        return found
    if type(value) is tuple:
        return tuple(map(_exact, value))
    if type(value) in (int, bool, float, complex):
        return identity_of(value)
    return object()  # like nothing else


def _merge(graph: Graph, node: Node, others: list[Node], replaced: dict[Node, Argument]) -> None:
    """Have `node`, the last one of the graph so far, stand for the others."""
    if all(other.params.get("keepdims") == node.params.get("keepdims") for other in others):
        replaced |= dict.fromkeys(others, node)
        return
    kept = [one for one in (node, *others) if one.params["keepdims"]]
    dropped = [one for one in (node, *others) if not one.params["keepdims"]]
    if not node.params["keepdims"]:
        graph.nodes.pop()
    whole = node
    if not node.params["keepdims"]:
        whole = graph.add_call("reduce", node.args, kept[0].params, kept[0].array_type, node.location)
    axes = node.params["axes"]
    index = tuple(0 if axis in axes else _WHOLE for axis in range(whole.array_type.ndim))
    params = {"index": index, "scalar": dropped[0].array_type.scalar}
    part = graph.add_call("basic_index", (whole,), params, dropped[0].array_type, node.location)
    replaced |= dict.fromkeys((one for one in kept if one is not whole), whole)
    replaced |= dict.fromkeys(dropped, part)
