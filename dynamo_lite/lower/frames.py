"""Has of a copy, or an array of zeros, only the frame made, where all inside is stored into before anybody reads it.

Enters a graph that this pass may change; leaves one that yields the same values:

    %new = copy(%u); store(%new[1:-1], %v)
    ->  %new = empty_like(%u); store(%new[:1], %u[:1]); store(%new[-1:], %u[-1:]); store(%new[1:-1], %v)

Smoothing and stencils are written so: what keeps its value are the borders. INVARIANT: whatever reads the array, or may
write into it, stands behind the store; the frame is known to be no larger than the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import OpError
from dynamo_lite.graph.rewrite import replace_uses, users
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
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        made = _framed(graph, node, inner[node]) if node in inner else None
        if made is None:
            graph.nodes.append(node)
        else:
            replaced[node] = made
    replace_uses(graph, replaced)


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
    return index if all(fits) else None


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


def _framed(graph: Graph, node: Node, index: tuple[tuple[Any, ...], ...]) -> Node | None:
    """The array, of which the frame is stored; None, and nothing changed, where a size of it is not known."""
    before = len(graph.nodes)
    copies = node.op == "copy"
    try:
        if copies and node.params["order"] == "C":
            params = {"shape": node.array_type.shape, "dtype": node.array_type.dtype, "order": "C"}
            made = graph.add_call("empty", (), params, node.array_type, node.location)
        elif copies:
            made = graph.add_call("empty_like", node.args, {}, node.array_type, node.location)
        else:
            op, args = ("empty_like", node.args[:1]) if node.op == "full_like" else ("empty", ())
            made = graph.add_call(op, args, node.params, node.array_type, node.location)
        for axis, (start, stop, _) in enumerate(index):
            for edge in ((None, start, None) if start else None, (stop, None, None) if stop else None):
                if edge is not None:
                    part = {"index": (*index[:axis], edge, *[_WHOLE] * (len(index) - axis - 1)), "scalar": False}
                    target = _call(graph, node, "basic_index", made, part)
                    value = _call(graph, node, "basic_index", node.args[0], part) if copies else 0
                    graph.add_store(target, value, node.location)
    except OpError:
        del graph.nodes[before:]
        return None
    return made


def _call(graph: Graph, node: Node, op: str, arg: Argument, params: dict[str, Any]) -> Node:
    type_ = infer(op, (arg,), params, lambda condition: bool(graph.facts.decide(condition)))
    return graph.add_call(op, (arg,), params, type_, node.location)
