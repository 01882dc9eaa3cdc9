"""A graph as text, one node a line, for people, goldens and cache keys.

    %x: float64[s0, 3] = input(0)
    %add: float64[s0, 3] = add(%x, 1.0)  # file.py:12
    return %add
    assuming ge(s0, 4)

Equal graphs print equal text; node names are unique in a graph. A loop's body stands indented below it, and so do the
branches of a choice, with "else" between them.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import ScalarOp, Symbol

if TYPE_CHECKING:
    from dynamo_lite.graph.graph import Graph


def to_text(graph: Graph, locations: bool = True) -> str:
    """`graph` as text; without `locations` the text does not depend on where the source stands."""
    lines = [
        f"{value}: {value.kind} = input({index})"
        for index, value in enumerate(graph.inputs)
        if isinstance(value, Symbol)
    ]
    for node in graph.nodes:
        lines.append(node_text(node, locations))
        for place, region in enumerate(node.regions):
            lines += ["  else"] if place else []
            lines += ["    " + line for line in to_text(region, locations).splitlines()]
    lines.append("return " + ", ".join(map(value_text, graph.outputs)))
    lines += [f"assuming {condition}" for condition in graph.facts.learned]
    return "\n".join(lines) + "\n"


def node_text(node: Node, locations: bool = True) -> str:
    """One node as a line of text."""
    parts = [value_text(arg) for arg in node.args]
    if node.kind is NodeKind.INPUT:
        parts.append(str(node.params["index"]))
    elif node.kind is NodeKind.CONSTANT:
        parts.append(_constant_text(node.params["value"]))
    elif node.op == "basic_index":
        parts += [f"{key}={value_text(value)}" for key, value in node.params.items() if key != "index"]
        parts[0] += "[" + ", ".join(map(_index_text, node.params["index"])) + "]"
    else:
        parts += [f"{key}={value_text(value)}" for key, value in node.params.items()]
    call = f"{node.op}({', '.join(parts)})"
    if node.type == ():
        call = f"%{node.name} = {call}"
    elif node.type is not None:
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        call = f"%{node.name}: {', '.join(map(str, types))} = {call}"
    if locations and node.location is not None:
        call += f"  # {PurePath(node.location.filename).name}:{node.location.line}"
    return call


def value_text(value: Any) -> str:
    """An argument or a param as text."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, Symbol | ScalarOp):
        return str(value)
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, np.ufunc | type):
        return value.__name__
    if isinstance(value, tuple):
        return "(" + ", ".join(map(value_text, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return repr(value)


def _index_text(entry: Any) -> str:
    if entry is None:
        return "newaxis"
    if not isinstance(entry, tuple):
        return value_text(entry)
    start, stop, step = ("" if part is None else value_text(part) for part in entry)
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def _constant_text(value: np.generic | np.ndarray[Any, Any]) -> str:
    if value.size <= 8:
        return repr(value.tolist())
    return f"<{value.size} values>"
