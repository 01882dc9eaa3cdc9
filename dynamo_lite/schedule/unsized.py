"""Arrays whose size says nothing of what a call takes: only parts of them are stored into, with what is as large.

    out[i] = x * 0.99 + 0.01        out: float64[s0, s1], x: float64[s1]    ->    out

Enters a graph with its schedule. Leaves a bit for each such input: the cost model goes by the largest of the
others, and so does the test before a call (CacheEntry.least, most).
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import is_structured, loop_parts, users
from dynamo_lite.schedule.steps import Save, Schedule


def unsized_inputs(graph: Graph, schedule: Schedule) -> int:
    """A bit for each input, by its place; none where no other input is an array. What a program copies as a whole, to
    undo what it stores, counts."""
    if not schedule.written:
        return 0
    arrays = {place: node for place, node in enumerate(graph.inputs) if isinstance(node, Node)}
    saved = {step.src for step in schedule.steps if isinstance(step, Save)}
    known = users(graph)
    written = arrays.keys() & set(schedule.written) - saved
    found = {place for place in written if place < _BITS and _is_only_stored_into(arrays[place], known)}
    return sum(1 << place for place in found) if found != arrays.keys() else 0


_BITS = 64  # of CacheEntry.unsized; later inputs count


def sized_inputs(graph: Graph, schedule: Schedule) -> list[Node]:
    """The arrays among the inputs that count."""
    unsized = unsized_inputs(graph, schedule)
    return [node for at, node in enumerate(graph.inputs) if isinstance(node, Node) and not unsized >> at & 1]


def _is_only_stored_into(array: Node, known: dict[Node, list[Node]]) -> bool:
    """Whether all that is done to it is to store into parts of it what is of their shapes. known: users."""
    return all(_stores_into(user, array, known) for user in known[array] if user.kind is not NodeKind.LEAVE)


def _stores_into(user: Node, array: Node, known: dict[Node, list[Node]]) -> bool:
    if user.op == "basic_index":
        return all(_fills(store, user) for store in known[user])
    if not is_structured(user):
        return False
    return all(
        _is_only_stored_into(one, users(region))
        for region, given in _regions(user)
        for one, value in zip(region.inputs, given, strict=False)
        if value is array and isinstance(one, Node)
    ) and all(value is not array for value in _carried(user))


def _fills(store: Node, part: Node) -> bool:
    """Whether a node does nothing but store into `part` what is of its shape."""
    if store.kind is not NodeKind.STORE or store.args[0] is not part:
        return False
    value = store.args[1]
    shape = value.array_type.shape if isinstance(value, Node) else ()
    return value is not part and shape == part.array_type.shape


def _regions(node: Node) -> list[tuple[Graph, tuple[Argument | None, ...]]]:
    """The bodies of a loop or a choice, with what goes into each of their inputs; None: the index."""
    if node.kind is NodeKind.COND:
        return [(region, node.args[1:]) for region in node.regions]
    _, initial, captured, body = loop_parts(node)
    return [(body, (None, *initial, *captured))]


def _carried(node: Node) -> tuple[Node, ...]:
    return loop_parts(node)[1] if node.kind is NodeKind.LOOP else ()
