"""Which views that the body of a loop or a choice takes from outside are made inside it, from the array that they show.

A body knows nothing of what goes into it but types: a view of an array beside the array itself would be two inputs that
share memory, of which a program that writes one declines (csrc/program/overlap.c). Where the body writes, such views
are views again inside:

    U = zeros(n + 2), u = U[1:-1];  loop over U, u: u += U[2:]   ->   loop over U: u = U[1:-1]; u += U[2:]

INVARIANT: a view that the body may hand out stays what it is outside, for it is that very object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dynamo_lite.graph.alias import is_address
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.rewrite import may_hand_out, root, written_by


def shared_views(nodes: Iterable[Node], ends: Iterable[Argument], taken: Iterable[Node]) -> set[Node]:
    """Of `taken`, which a body of these nodes and results takes from outside, the views to be made inside."""
    groups: dict[Node, list[Node]] = {}
    for value in dict.fromkeys(taken):
        groups.setdefault(root(value), []).append(value)
    groups = {base: values for base, values in groups.items() if len(values) > 1}
    if not groups:
        return set()
    nodes = list(nodes)
    stored = written_by(nodes)
    found = {value for base, values in groups.items() if base in stored for value in values if is_address(value)}
    found = {value for value in found if address_root(value) is root(value)}
    return {value for value in found if not may_hand_out(nodes, ends, value)}


def address_root(view: Node) -> Node:
    """The array whose elements `view` shows, by however many views that certainly are no copies."""
    while is_address(view):
        base = view.args[0]
        assert isinstance(base, Node), view.name
        view = base
    return view


def remake(view: Node, taken: Callable[[Node], Node], made: dict[Node, Node], body: Graph) -> Node:
    """`view` made again in `body`. taken: what stands there for the array that it shows."""
    if view not in made:
        base = view.args[0]
        assert isinstance(base, Node), view.name
        source = remake(base, taken, made, body) if is_address(base) else taken(base)
        made[view] = body.add_call(view.op, (source, *view.args[1:]), dict(view.params), view.array_type, view.location)
    return made[view]
