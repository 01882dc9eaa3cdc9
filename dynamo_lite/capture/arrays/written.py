"""Which arrays a program writes to: what a store into one, or into a view of it, may change.

Enters the target of a store, or of a loop with stores. Leaves it noted at the tracer (Tracer.written), and at the
regions that carry it; Break where nothing may be stored there.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite import ops
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import is_exact_view
from dynamo_lite.graph.rewrite import carried_places, is_structured, loop_parts, origins


def note_written(machine: Machine, target: Node) -> None:
    """Check that a store into `target` is possible, and remember whose memory it changes."""
    root = root_of(target)
    if root.kind is NodeKind.CONSTANT or _read_only(machine, target, root):
        raise Break("python-exception", "ValueError: assignment destination is read-only")
    _require_own(root)
    owner = machine.tracer.array_columns.get(root)
    if owner is not None:  # residual code stores what has been written (listed_arrays.py)
        if not machine.tracer.defers:
            raise Break("side-effect-attribute", "an array of an object in a list")
        machine.tracer.stored.setdefault(owner, {})
    if root.kind is NodeKind.INPUT:
        for region in machine.tracer.regions:
            if root in region.carried:
                region.stored.add(root)  # where it may come from is checked when the loop is complete
        machine.tracer.written.add(root)
    elif is_loop_result(root):
        loop = root.args[0]
        assert isinstance(loop, Node)
        note_carried_written(machine, loop, root.params["index"])


def _require_own(root: Node) -> None:
    """Break where an array is written that has been taken of a list: nobody knows what shows its memory."""
    if root.op == "object_array":
        raise Break("listed-array", "a store")


def note_carried_written(machine: Machine, loop: Node, place: int) -> None:
    """The same for what a loop or a choice hands out: everything that it may be is then written to."""
    if loop.kind is NodeKind.COND:
        for branch in loop.regions:
            _note_end_written(machine, branch.outputs[place], loop.args[1:])
        return
    _, initial, captured, body = loop_parts(loop)
    for one in carried_places(loop, place):
        note_written(machine, initial[one])
        _note_end_written(machine, body.outputs[one], (0, *(None for _ in initial), *captured))


def _note_end_written(machine: Machine, end: Any, outer: tuple[Any, ...]) -> None:
    """The same for what a body returns; `outer`: what goes into it, None for what is carried."""
    root = root_of(end)
    if root.kind is NodeKind.CONSTANT or _passes_broadcast(end, root):
        raise Break("python-exception", "ValueError: assignment destination is read-only")
    for origin in origins(end):
        _require_own(origin)
        if origin.kind is NodeKind.INPUT and (given := outer[origin.params["index"]]) is not None:
            note_written(machine, given)


def root_of(node: Node) -> Node:
    """The node whose memory `node` shows; breaks where that is not certain."""
    while node.kind is NodeKind.CALL and ops.REGISTRY[node.op].kind is ops.OpKind.VIEW:
        if not is_exact_view(node):
            raise Break("op-without-rule", "a store into an array that the program makes in this way")
        parent = node.args[0]
        assert isinstance(parent, Node)
        node = parent
    return node


def _read_only(machine: Machine, target: Node, root: Node) -> bool:
    if root.kind is NodeKind.INPUT and root in machine.tracer.root.inputs:
        example = machine.tracer.example_inputs[root.params["index"]]
        if not example.flags.writeable:
            return True
    return _passes_broadcast(target, root)


def is_loop_result(node: Node) -> bool:
    """Whether `node` is a value that a loop or a choice hands out: it may be, or be a view of, what went in."""
    return node.op == "tuple_get" and is_structured(node.args[0])


def _passes_broadcast(node: Node, root: Node) -> bool:
    """Whether `node` is a read-only view of `root`."""
    while node is not root:
        if node.op == "broadcast_to" or (node.op == "diagonal" and not node.params["writeable"]):
            return True
        parent = node.args[0]
        assert isinstance(parent, Node)
        node = parent
    return False


__all__ = ["is_loop_result", "note_carried_written", "note_written", "root_of"]
