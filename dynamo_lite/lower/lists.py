"""Drops lists that only get things, and which nobody reads.

Enters a graph that this pass may change; leaves it without such lists, in the bodies of loops and choices too:

    %out = new_container(); loop over %out: append(%out, %x)  ->  loop: ...

np.array(out) reads rows that the loop stores beside the list (lists/rows.py), so that the list may be one of these.
INVARIANT: what an append tells a table of numbers' objects, it still does: such a list stays.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import drop_input, is_structured


def lists(graph: Graph) -> None:
    """Remove the lists of `graph`, and of the bodies in it, that nobody reads: those that have others first."""
    while _drop_unread(graph):
        pass


def _drop_unread(graph: Graph) -> bool:
    """Whether there was such a list."""
    found = False
    for node in list(graph.nodes):
        if node.op == "new_container" and node.params["kind"] is list and not node.args and _is_unread(graph, node):
            _drop(graph, node)
            graph.nodes.remove(node)
            found = True
    inside = [_drop_unread(region) for node in graph.nodes for region in node.regions]
    return found or any(inside)


def _is_unread(graph: Graph, target: Node) -> bool:
    """Whether all that happens to a list is that something is appended."""
    readers = [node for node in graph.nodes if target in node.args]
    return target not in graph.outputs and all(_only_appends(node, target) for node in readers)


def _only_appends(node: Node, target: Node) -> bool:
    places = [place for place, arg in enumerate(node.args) if arg is target]
    if node.op == "append":
        tags = node.args[len(node.args) - node.params.get("tagged", 0) :]
        return places == [0] and not any(map(_is_noted, tags))
    if not is_structured(node) or len(places) != 1 or places[0] < 3 + node.params.get("carried", -2):
        return False
    return all(_is_unread(region, _inner(node, region, places[0])) for region in node.regions)


def _is_noted(tag: object) -> bool:
    """Whether the table may keep the object with that tag: not one from before the loop, or that nobody else has."""
    return not isinstance(tag, int) or tag > 0


def _inner(node: Node, region: Graph, place: int) -> Node:
    """What stands in a body for the operand at `place`."""
    inner = region.inputs[place - _first(node)]
    assert isinstance(inner, Node)
    return inner


def _first(node: Node) -> int:
    """By how much the place of an operand is behind that of a body's input: a loop's first one is the index."""
    return 2 if node.kind is NodeKind.LOOP else 1


def _drop(graph: Graph, target: Node) -> None:
    """Take out what is appended to a list, and the list out of what goes into loops and choices."""
    graph.nodes = [node for node in graph.nodes if node.op != "append" or node.args[0] is not target]
    for node in graph.nodes:
        if target in node.args:
            place = node.args.index(target)
            for region in node.regions:
                _drop(region, _inner(node, region, place))
                drop_input(region, place - _first(node))
            node.args = (*node.args[:place], *node.args[place + 1 :])


__all__ = ["lists"]
