"""Has of a copy, or an array of zeros, only the frame made, where all inside is stored into before anybody reads it.

Enters a graph that this pass may change; leaves one that yields the same values:

    %new = copy(%u); store(%new[1:-1], %v)
    ->  %new = empty_like(%u); store(%new[1:-1], %v); store(%new[:1], %u[:1]); store(%new[-1:], %u[-1:])

Smoothing and stencils are written so: what keeps its value are the borders. INVARIANT: whatever reads the array, or may
write into it, stands behind the store; nothing writes into what is copied between the two; the frame is known to be no
larger than the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import origins, replace_uses, users, written
from dynamo_lite.graph.scalar import make
from dynamo_lite.ops.registry import infer

_WHOLE = (None, None, None)
MOST = 8  # rows or columns along an edge


def frames(graph: Graph) -> None:
    """Replace copies and zeros by arrays of which the frames are stored."""
    uses = users(graph)
    places = {node: place for place, node in enumerate(graph.nodes)}
    inner = {node: index for node in graph.nodes if (index := _inside(graph, node, uses, places)) is not None}
    if not inner:
        return
    replaced: dict[Node, Argument] = {}
    behind: dict[Node, list[Node]] = {}  # a store, and the frame that is stored right after it
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if node in inner:
            replaced[node], frame = _framed(graph, node, inner[node])
            behind[_first_store(node, uses, places)] = frame
        else:
            graph.nodes += (node, *behind.get(node, ()))
    replace_uses(graph, replaced)


def _first_store(node: Node, uses: dict[Node, list[Node]], places: dict[Node, int]) -> Node:
    part = min(uses[node], key=places.__getitem__)
    return uses[part][0]


def _inside(
    graph: Graph, node: Node, uses: dict[Node, list[Node]], places: dict[Node, int]
) -> tuple[tuple[Any, ...], ...] | None:
    """The part of a copy or of zeros that is stored into before all else, where it leaves a thin frame."""
    if not (_is_plain_copy(node) or _is_zero(node)) or not uses[node] or not node.array_type.ndim:
        return None
    part = min(uses[node], key=places.__getitem__)
    if part.op != "basic_index" or len(uses[part]) != 1:
        return None
    (store,) = uses[part]
    if store.kind is not NodeKind.STORE or store.args[0] is not part or store.args[1] is part:
        return None
    if any(places[user] < places[store] for user in uses[node] if user is not part):
        return None
    index = (*part.params["index"], *[_WHOLE] * (node.array_type.ndim - len(part.params["index"])))
    if len(index) != node.array_type.ndim or not all(map(_is_thin, index)) or all(one == _WHOLE for one in index):
        return None
    if node.op != "copy" and len(index) > 2 and index[-1] != _WHOLE:
        return None  # ends of rows that may be short: to fill all of the memory is as fast
    fits = (_fits(graph, one, size) for one, size in zip(index, node.array_type.shape, strict=True))
    between = graph.nodes[places[node] + 1 : places[store]]
    return index if all(fits) and not (node.op == "copy" and _may_change(node.args[0], between)) else None


def _may_change(source: Argument, nodes: Sequence[Node]) -> bool:
    assert isinstance(source, Node)
    return any(one.regions or origins(source) & written(one) for one in nodes)


def _is_plain_copy(node: Node) -> bool:
    if node.kind is not NodeKind.CALL or node.op != "copy" or node.array_type.scalar:
        return False
    source = node.args[0]
    return isinstance(source, Node) and source.type == node.type and node.params["order"] in ("K", "C")


def _is_zero(node: Node) -> bool:
    """Whether it is a fresh array of zeros."""
    if node.kind is not NodeKind.CALL or node.op not in ("zeros", "full", "full_like"):
        return False
    is_zero = node.op == "zeros" or (type(node.args[-1]) in (int, float) and str(node.args[-1]) in ("0", "0.0"))
    return is_zero and node.array_type.dtype.kind in "fiu"


def _is_thin(entry: object) -> bool:
    """Whether it is a slice that leaves a few rows before it and behind it."""
    if not isinstance(entry, tuple) or entry[2] not in (None, 1):
        return False
    start, stop = entry[0] or 0, entry[1] or 0
    return type(start) is int and type(stop) is int and 0 <= start <= MOST and -MOST <= stop <= 0


def _fits(graph: Graph, entry: Sequence[Any], size: Any) -> bool:
    rows = (entry[0] or 0) - (entry[1] or 0)
    return not rows or bool(graph.facts.decide(make("gt", size, rows)))


def _framed(graph: Graph, node: Node, index: tuple[tuple[Any, ...], ...]) -> tuple[Node, list[Node]]:
    """The array, and what stores its frame."""
    if node.op == "copy" and node.params["order"] == "C":
        params = {"shape": node.array_type.shape, "dtype": node.array_type.dtype, "order": "C"}
        made = graph.add_call("empty", (), params, node.array_type, node.location)
    elif node.op == "copy":
        made = graph.add_call("empty_like", node.args, {}, node.array_type, node.location)
    else:
        op, args = ("empty_like", node.args[:1]) if node.op == "full_like" else ("empty", ())
        made = graph.add_call(op, args, node.params, node.array_type, node.location)
    before = len(graph.nodes)
    for axis, (start, stop, _) in enumerate(index):
        for edge in ((None, start, None) if start else None, (stop, None, None) if stop else None):
            if edge is not None:
                part = {"index": (*index[:axis], edge, *[_WHOLE] * (len(index) - axis - 1)), "scalar": False}
                value = _part(graph, node, node.args[0], part) if node.op == "copy" else 0
                graph.add_store(_part(graph, node, made, part), value, node.location)
    frame = graph.nodes[before:]
    del graph.nodes[before:]
    return made, frame


def _part(graph: Graph, node: Node, array: Argument, params: dict[str, Any]) -> Node:
    type_ = infer("basic_index", (array,), params, lambda condition: bool(graph.facts.decide(condition)))
    return graph.add_call("basic_index", (array,), params, type_, node.location)
