"""Reads vectors where they are, which NumPy ravels before it goes through them: np.outer(a, b).

Enters a graph that this pass may change; leaves one that yields the same bits:

    %r = ravel(%x[1:]); %c = basic_index(%r[:, None]); %m = multiply(%c, %y)
    ->  %c = basic_index(%x[1:][:, None]); %m = multiply(%c, %y)

Raveled, a vector that lies apart is a copy and one that lies packed is none, so that nobody knows whether it shows
what is stored later. INVARIANT: nothing is stored between the ravel and what reads it, which are elementwise operations
alone: products by BLAS and sums of numbers that lie apart have other bits.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import replace_uses, users

_WHOLE = (None, None, None)
_SHOWS = ("ravel", "basic_index")  # what shows the vector


def unravel(graph: Graph) -> None:
    """Let elementwise operations read vectors themselves in place of what np.ravel makes of them."""
    if not any(_is_of_vector(node) for node in graph.nodes):
        return
    uses, places = users(graph), {node: place for place, node in enumerate(graph.nodes)}
    others = [place for place, node in enumerate(graph.nodes) if not _only_computes(node)]
    replaced: dict[Node, Argument] = {}
    for node in filter(_is_of_vector, graph.nodes):
        readers = _readers(node, uses)
        if readers is None or any(one in graph.outputs and one.op in _SHOWS for one in (node, *readers)):
            continue
        last = max(places[one] for one in readers)
        if not any(places[node] < place < last for place in others):
            replaced[node] = node.args[0]
    replace_uses(graph, replaced)


def _is_of_vector(node: Node) -> bool:
    vector = node.args[0] if node.kind is NodeKind.CALL and node.op == "ravel" else None
    return isinstance(vector, Node) and vector.array_type.ndim == 1


def _only_computes(node: Node) -> bool:
    """Whether it certainly writes nothing."""
    kind = REGISTRY[node.op].kind if node.kind is NodeKind.CALL and node.op in REGISTRY else None
    return node.op == "ravel" or kind in (OpKind.ELEMENTWISE, OpKind.VIEW, OpKind.CREATION)


def _readers(node: Node, uses: dict[Node, list[Node]]) -> list[Node] | None:
    """What reads a vector, also by views with more axes; None where it is more than elementwise operations."""
    found: list[Node] = []
    for user in uses[node]:
        if user.kind is not NodeKind.CALL or user.op not in REGISTRY:
            return None
        if user.op == "basic_index" and all(entry in (None, _WHOLE) for entry in user.params["index"]):
            behind = _readers(user, uses)
            if behind is None:
                return None
            found += [user, *behind]
        elif REGISTRY[user.op].kind is OpKind.ELEMENTWISE and not REGISTRY[user.op].in_place:
            found.append(user)
        else:
            return None
    return found or None


__all__ = ["unravel"]
