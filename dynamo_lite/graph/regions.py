"""Which part of an array the stores of a graph write: the indices that all of them have in common.

``for y in range(n): img[y, x] = ...`` writes one column of img, whatever y is: only that need be kept to undo it.
INVARIANT: every answer errs on the side of writing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import first_changing, loop_parts, origins, root, written_by
from dynamo_lite.graph.scalar import Scalar, is_scalar, substitute, symbols_of

Part = tuple[Scalar | None, ...]
WHOLE = (None, None, None)  # a slice


def part_written(graph: Graph, source: Node) -> Part | None:
    """For each axis of `source`, an input, the one index at which anything is written, None where there are several;
    None if nothing is written."""
    found: Part | None = None
    for node in graph.nodes:
        part = _part_of(node, source)
        if part is not None:
            found = part if found is None else _joined(found, part)
            if not any(one is not None for one in found):
                return found
    return found


def _part_of(node: Node, source: Node) -> Part | None:
    """The part of `source` that one node writes."""
    if node.kind is NodeKind.STORE:
        target = node.args[0]
        assert isinstance(target, Node)
        return _part_shown(target, source) if source in origins(target) else None
    if node.kind is NodeKind.LOOP:
        _, initial, captured, body = loop_parts(node)
        same = range(1 + len(initial), first_changing(node))  # inputs of the body that are the same in each iteration
        return _part_in(body, (None, *initial, *captured), same, source)
    parts = (_part_in(region, node.args[1:], range(len(node.args) - 1), source) for region in node.regions)
    written = [part for part in parts if part is not None]
    return reduce(_joined, written) if written else None


def _part_in(body: Graph, values: Sequence[Any], same: range, source: Node) -> Part | None:
    """The part of `source` that a body writes, in the numbers around it. values: what its inputs are; same: those that
    are that in each iteration."""
    written = written_by(body.nodes)
    whole: Part = (None,) * len(source.array_type.shape)
    found: Part | None = None
    known = _entered(body, values, same)
    for place, value in enumerate(values):
        inner = body.inputs[place] if place < len(body.inputs) else None
        if not isinstance(value, Node) or not isinstance(inner, Node) or source not in origins(value):
            continue
        if inner not in written:
            continue
        part = part_written(body, inner) if value is source and place in same else whole
        if part is not None:
            part = tuple(_around(one, known) for one in part)
            found = part if found is None else _joined(found, part)
    return found


def _entered(body: Graph, values: Sequence[Any], same: range) -> Mapping[str, Scalar]:
    """The numbers of a body that are those around it, by name."""
    result: dict[str, Scalar] = {}
    for symbol in body.symbols.values():
        if symbol.input in same and symbol.axis is None and is_scalar(values[symbol.input]):
            result[symbol.name] = values[symbol.input]
    return result


def _around(index: Scalar | None, known: Mapping[str, Scalar]) -> Scalar | None:
    return None if index is None or not symbols_of(index) <= known.keys() else substitute(index, known)


def _part_shown(target: Node, source: Node) -> Part:
    """The part of `source` that an array shows, which may show it."""
    whole: Part = (None,) * len(source.array_type.shape)
    if root(target) is not source or target is source:
        return whole
    views: list[Node] = []
    while target is not source:
        views.append(target)
        target = target.args[0]  # type: ignore[assignment]
    found: list[Scalar | None] = [*whole]
    axes = list(range(len(whole)))  # of `source`, that the axes of the view are, all of each
    for view in reversed(views):
        if view.op != "basic_index":
            break
        index = [entry for entry in view.params["index"] if entry is not None]
        shown: list[int] = []
        for axis, one in zip(axes, [*index, *[WHOLE] * (len(axes) - len(index))], strict=True):
            if is_scalar(one):
                found[axis] = one
            elif one == WHOLE:
                shown.append(axis)
            else:
                return tuple(found)
        if None in view.params["index"]:
            break
        axes = shown
    return tuple(found)


def _joined(left: Part, right: Part) -> Part:
    return tuple(one if one == other else None for one, other in zip(left, right, strict=True))
