"""Lists that a program makes: ``out.append(x)`` in a loop, which needs no Python for it.

``new_list`` is a fresh empty list, ``append`` adds one value to it, in the program's order; no other op reads a list,
it is handed out as it is. What is appended is the very object: a store into it later is seen through the list.

    %out: object = new_list();  loop ...: %append = append(%out, %x)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import OpDef, OpError, OpKind, Relate, define

LIST = ArrayType(np.dtype(object), (), True)


define(
    OpDef(
        "new_list",
        OpKind.CALL,
        lambda args, params, ask: LIST,
        lambda args, params: [],
        "An empty list.",
        may_report=False,
    )
)


def _infer_append(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    target = args[0]
    if not isinstance(target, Node) or target.array_type != LIST:
        raise OpError("no list")
    return LIST


def _evaluate_append(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    args[0].append(args[1])
    return args[0]


define(
    OpDef(
        "append",
        OpKind.CALL,
        _infer_append,
        _evaluate_append,
        "Append the second operand, an array, NumPy scalar, list or Python number, to the list that is the first.",
    )
)


def new_list(graph: Graph, location: Location | None) -> Node:
    """Append the making of a list."""
    return graph.add_call("new_list", (), {}, LIST, location)


def append(graph: Graph, target: Node, value: Argument, location: Location | None) -> None:
    """Append ``target.append(value)``."""
    graph.add_call("append", (target, value), {}, LIST, location)
