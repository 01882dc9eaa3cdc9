"""Lets a loop carry once what it carries as several values that are always one object.

Enters a graph that this pass may change; leaves one in which such a value goes through the loop once, also in bodies:

    %a, %b = loop over %x, %x: %y = add(%a, 1); return %y, %y  ->  %a = loop over %x: %y = add(%a, 1); return %y

A name and the item of a list that it was read from are such values (x = xs[i] behind xs.append(...)). INVARIANT: values
are merged that are the same object before the loop and, wherever they are so before an iteration, after it. That is
more than equal bits: which object they are is seen behind the loop. Two results that may be one object have no machine
form (program/build_loop.py), and each costs a copy.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import drop_input, loop_parts, replace_uses

FIRST = 3  # of a loop's operands, the carried ones


def merge(graph: Graph) -> None:
    """Merge carried values in the loops of `graph`: those inside first, which yield what those outside go on with."""
    for node in graph.nodes:
        for region in node.regions:
            merge(region)
        if node.kind is NodeKind.LOOP:
            _merge(graph, node)


def _merge(graph: Graph, loop: Node) -> None:
    leaders = _leaders(loop)
    for place in reversed(range(len(leaders))):
        if leaders[place] != place:
            _drop(graph, loop, place, leaders[place])


def _leaders(loop: Node) -> list[int]:
    """For each carried value the first one that it always is."""
    _, initial, _, body = loop_parts(loop)
    places = {value: place for place, value in enumerate(body.inputs[1 : 1 + len(initial)]) if isinstance(value, Node)}
    leaders = [initial.index(value) for value in initial]
    while True:
        groups: dict[tuple[int, Argument], int] = {}
        following = []
        for place, leader in enumerate(leaders):
            output = body.outputs[place]
            handed = places.get(output) if isinstance(output, Node) else None
            key = leader, output if handed is None else body.inputs[1 + leaders[handed]]
            following.append(groups.setdefault(key, place))
        if following == leaders:
            return leaders
        leaders = following


def _drop(graph: Graph, loop: Node, place: int, leader: int) -> None:
    """Carry the value at `leader` alone, and take it where that at `place` is taken."""
    body = loop.regions[0]
    replace_uses(body, {body.inputs[1 + place]: body.inputs[1 + leader]})
    drop_input(body, 1 + place)
    del body.outputs[place]
    loop.args = (*loop.args[: FIRST + place], *loop.args[FIRST + place + 1 :])
    loop.params = loop.params | {"carried": loop.params["carried"] - 1}
    assert isinstance(loop.type, tuple)
    loop.type = (*loop.type[:place], *loop.type[place + 1 :])
    taken = {node.params["index"]: node for node in graph.nodes if node.op == "tuple_get" and node.args[0] is loop}
    dropped, kept = taken.pop(place, None), taken.get(leader)
    if dropped is not None:
        dropped.params = dropped.params | {"index": leader}
        if kept is not None:  # whichever stands first is the one
            one, other = sorted((dropped, kept), key=graph.nodes.index)
            graph.nodes.remove(other)
            replace_uses(graph, {other: one})
    for index, node in taken.items():
        if index > place:
            node.params = node.params | {"index": index - 1}
