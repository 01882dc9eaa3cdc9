"""Arrays that a program puts into lists of which it takes arrays, or takes: it may write to none of them as well.

    hs.append(h); h += 1; y = hs[-1] * 2     the graph does not know that what is taken shows the memory of %h
    for w in ws:
        s += w                               in the next round, %s may be what was taken, which nothing puts back
        if w[0] > 0: s = w

Enters a graph that is complete. Raises Retry, and has lists of arrays known otherwise from then on, where it may store
into such an array. What is in lists from outside the program looks at when it takes it
(csrc/program/machine_lists.c). Most stores into what was taken end their capture at once (written.py).
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_lite.capture.lists.object_lists import begin_again
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import origins, outside, written_by
from dynamo_lite.graph.types import LIST

_KEEPS, _TAKES = frozenset(("append", "put_item", "new_container")), "object_array"


def check_kept(tracer: Tracer) -> None:
    """Raise Retry where the graph takes arrays of lists, and may write to one of these or to one that it puts there."""
    if tracer.restraints.arrays and _takes(tracer.root) and not _are_apart(tracer.root):
        tracer.restraints.arrays = False
        begin_again(tracer)


def _takes(graph: Graph) -> bool:
    return any(node.op == _TAKES or any(map(_takes, node.regions)) for node in graph.nodes)


def _are_apart(graph: Graph, carried: int = 0) -> bool:
    """Whether nothing that is written is put into a list or taken of one, in this graph or a body in it; carried: by
    the loop whose body it is."""
    for node in graph.nodes:
        own = node.params["carried"] if node.kind is NodeKind.LOOP else 0
        if not all(_are_apart(region, own) for region in node.regions):
            return False
    written = written_by(graph.nodes)
    waiting = list(written)
    while waiting:  # the next iteration writes to what this one hands on
        one = waiting.pop()
        place = one.params["index"] if one.kind is NodeKind.INPUT else 0
        end = graph.outputs[place - 1] if 0 < place <= carried else None
        new = origins(end) - written if isinstance(end, Node) else set()
        written |= new
        waiting += new
    return written.isdisjoint(_kept_by(graph.nodes)) and all(one.op != _TAKES for one in written)


def _kept_by(nodes: Iterable[Node]) -> set[Node]:
    """The inputs and fresh arrays whose memory these nodes may put into a list."""
    found: set[Node] = set()
    for node in nodes:
        if node.op in _KEEPS:
            arrays = (arg for arg in node.args if isinstance(arg, Node) and arg.array_type != LIST)
            found.update(*map(origins, arrays))
        elif node.regions:
            found |= outside(node, _kept_by(inner for region in node.regions for inner in region.nodes))
    return found


__all__ = ["check_kept"]
