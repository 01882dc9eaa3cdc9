"""Which operands may share memory with an array that is written.

Two arrays share memory only if their chains of views end at one node, or come out of loops that one node went into:
fresh arrays share with nothing, and a program declines when a written input overlaps another input. INVARIANT: every
answer errs on the side of sharing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, is_exact_view
from dynamo_lite.graph.rewrite import hands_out, is_view, origins, root, written
from dynamo_lite.graph.scalar import Dim, Scalar, make

__all__ = [
    "disjoint",
    "drop_repeated",
    "is_address",
    "is_external",
    "may_share",
    "merge_views",
    "other_rows",
    "place",
    "same_positions",
]


def is_address(node: Node) -> bool:
    """Whether `node` only says where elements lie: an exact view, and not one element read out as a NumPy scalar."""
    return is_view(node) and is_exact_view(node) and not node.array_type.scalar


def may_share(left: Node, right: Node) -> bool:
    """Whether two values may have an element in common; a NumPy scalar is a copy."""
    if left.array_type.scalar or right.array_type.scalar:
        return False
    one, other = root(left), root(right)
    if one is other or "tuple_get" not in (one.op, other.op):
        return one is other
    return not origins(one).isdisjoint(origins(other))


def place(node: Node) -> Hashable:
    """Where the elements of `node` lie: arrays of one place certainly are the same elements in the same order."""
    node, steps = _whole(node), []
    while is_address(node):
        steps.append((node.op, repr(_address(node))))
        source = node.args[0]
        assert isinstance(source, Node)
        node = _whole(source)
    return (node, *steps)


def same_positions(left: Node, right: Node) -> bool:
    """Whether two arrays certainly are the same elements in the same order."""
    return left is right or place(left) == place(right)


def disjoint(left: Node, right: Node, facts: Facts) -> bool:
    """Whether two arrays certainly are disjoint parts of one: along some axis they have no index in common."""
    if not (is_address(left) and is_address(right)) or left.op != "basic_index" or right.op != "basic_index":
        return False
    source, other = left.args[0], right.args[0]
    assert isinstance(source, Node) and isinstance(other, Node)
    one, two = left.params["index"], right.params["index"]
    if _whole(source) is not _whole(other):
        return False
    return other_rows(one, two, facts) or _other_ranges(one, two, source.array_type.shape, facts)


def _other_ranges(one: tuple[Any, ...], other: tuple[Any, ...], shape: tuple[Dim, ...], facts: Facts) -> bool:
    """Whether two indices of an array of this shape are ranges of one axis that do not meet."""
    pairs = zip((e for e in one if e is not None), (e for e in other if e is not None), shape, strict=False)
    for a, b, size in pairs:
        if a == b or not (isinstance(a, tuple) or isinstance(b, tuple)):
            continue
        (start, stop), (begin, end) = _range(a, size, facts), _range(b, size, facts)
        if _at_most(stop, begin, facts) or _at_most(end, start, facts):
            return True
    return False


def _at_most(low: Scalar | None, high: Scalar | None, facts: Facts) -> bool:
    return low is not None and high is not None and facts.decide(make("le", low, high)) is True


def _range(entry: Any, size: Dim, facts: Facts) -> tuple[Scalar | None, Scalar | None]:
    """The least index that an entry may name, and the one behind the greatest; None where it is not known."""
    if not isinstance(entry, tuple):
        return (entry, make("add", entry, 1)) if _counts(entry, facts) else (None, None)
    start, stop, step = entry
    if step not in (None, 1):
        return None, None
    return _bound(0 if start is None else start, size, facts), _bound(size if stop is None else stop, size, facts)


def _bound(index: Scalar, size: Dim, facts: Facts) -> Scalar | None:
    """The bound of a slice, counted from the begin of the axis."""
    if type(index) is int and index < 0:
        return make("add", size, index)
    return index if _counts(index, facts) else None


def other_rows(one: tuple[Any, ...], other: tuple[Any, ...], facts: Facts) -> bool:
    """Whether two indices of one array name other elements: an integer of theirs on one axis is never the same."""
    pairs = zip((e for e in one if e is not None), (e for e in other if e is not None), strict=False)
    return any(
        type(distance := make("sub", a, b)) is int and distance != 0 and _counts(a, facts) and _counts(b, facts)
        for a, b in pairs
        if not isinstance(a, tuple) and not isinstance(b, tuple)
    )


def _counts(index: Any, facts: Facts) -> bool:
    """Whether an index certainly is counted from the begin of its axis."""
    return facts.decide(make("ge", index, 0)) is True


def _whole(node: Node) -> Node:
    """The array of which `node` shows all, in its own shape: itself, or what x[:] is a view of."""
    while node.op == "basic_index" and is_address(node):
        index = node.params["index"]
        if any(entry != (None, None, None) for entry in index):
            break
        (source,) = node.args
        assert isinstance(source, Node)
        node = source
    return node


def _address(node: Node) -> dict[str, Any]:
    """The params that say where a view's elements lie; whether one element becomes a scalar does not."""
    return {key: value for key, value in node.params.items() if key != "scalar"}


def is_external(node: Node) -> bool:
    """Whether a write into `node` may change an input."""
    return any(origin.kind is NodeKind.INPUT for origin in origins(node))


def merge_views(graph: Graph) -> None:
    """Let equal views of one array be one node, but for those that are returned or appended, or go into a loop or a
    choice, which may return them: these are objects of their own."""
    outputs = {output for output in graph.outputs if isinstance(output, Node)}
    for node in graph.nodes:
        if hands_out(node):
            outputs.update(arg for arg in node.args if isinstance(arg, Node))
    known: dict[tuple[str, Node, str], Node] = {}
    merged: dict[Node, Node] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node.args = tuple(merged.get(arg, arg) if isinstance(arg, Node) else arg for arg in node.args)
        if is_address(node) and node not in outputs:
            source = node.args[0]
            assert isinstance(source, Node)
            key = (node.op, source, repr(_address(node)))
            first = known.setdefault(key, node)
            if first is not node:
                merged[node] = first
                continue
        kept.append(node)
    graph.nodes = kept


def _holds(held: dict[Node, Node], target: Node, value: Node) -> bool:
    """Whether an array holds a value already: it was stored, or is what the array itself shows."""
    same_type = value.array_type.dtype == target.array_type.dtype
    return held.get(target) is value or (same_type and same_positions(target, value))


def drop_repeated(graph: Graph, is_body: bool) -> None:
    """Drop stores of what the array holds already: `x[:i] += y` stores twice, the second time what it has computed.
    is_body: two inputs may be views of one array, which the inner loops of machine loops allow."""
    inputs = {node for node in graph.inputs if isinstance(node, Node)} if is_body else set()
    held: dict[Node, Node] = {}  # array -> the value that was stored into it
    kept: list[Node] = []
    for node in graph.nodes:
        target, value = node.args if node.kind is NodeKind.STORE else (None, None)
        if isinstance(target, Node) and isinstance(value, Node) and _holds(held, target, value):
            continue
        memory = written(node)
        if not memory.isdisjoint(inputs):
            memory = memory | inputs
        if memory:
            held = {array: what for array, what in held.items() if memory.isdisjoint(origins(array) | origins(what))}
        if isinstance(target, Node) and isinstance(value, Node) and value.kind is NodeKind.CALL:
            works_in_place = REGISTRY[value.op].in_place
            held |= {target: value} if not works_in_place and memory.isdisjoint(origins(value)) else {}
        kept.append(node)
    graph.nodes = kept
