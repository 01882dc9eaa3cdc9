"""Lists that a program makes: ``out.append(x)`` in a loop, which needs no Python for it.

``new_list`` is a fresh empty list, ``append`` adds one value to it, or to one that is an input, in the program's
order; no other op reads a list, it is handed out as it is. What is appended is the very object: a store into it later
is seen through the list.

    %out: object = new_list();  loop ...: %append = append(%out, %x); %append_1 = append(%out, i0, %x, packed=tuple)
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.types import LIST, ArrayType
from dynamo_lite.ops.registry import (
    OpDef,
    OpError,
    OpKind,
    Relate,
    define,
)

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
    if params["packed"] not in (None, tuple, list) or (params["packed"] is None and len(args) != 2):
        raise OpError("nothing that can be appended")
    return LIST


def _evaluate_append(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    args[0].append(args[1] if params["packed"] is None else params["packed"](args[1:]))
    return args[0]


define(
    OpDef(
        "append",
        OpKind.CALL,
        _infer_append,
        _evaluate_append,
        "Append the second operand, an array, NumPy scalar, list or Python number, to the list that is the first; "
        "params packed: a tuple or list of all others.",
    )
)


def new_list(graph: Graph, location: Location | None) -> Node:
    """Append the making of a list."""
    return graph.add_call("new_list", (), {}, LIST, location)


def append(
    graph: Graph, target: Node, values: tuple[Argument, ...], packed: type | None, location: Location | None
) -> None:
    """Append ``target.append(value)``; packed: the value is a fresh tuple or list of several."""
    graph.add_call("append", (target, *values), {"packed": packed}, LIST, location)
