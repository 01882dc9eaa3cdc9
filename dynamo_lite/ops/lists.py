"""Lists and dicts that a program fills: ``out.append(x)`` and ``out[i] = x`` in a loop, which need no Python for it.

``new_container`` is a fresh list or dict, ``append`` adds one value to a list, ``put_item`` stores one under an index
or key, in the program's order. The container may be an input; no other op reads it, it is handed out as it is. What
goes in is the very object: a store into it later is seen through the container. What packs several values is a type,
or a format whose text they make.

    %out: object = new_container(kind=list);  loop ...: %append = append(%out, i0, %x, packed=tuple)
    %out: object = new_container(0.0, s0, kind=list);  loop ...: %put_item = put_item(%out, i0, %x, packed=None)
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


def _infer_new(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if len(args) != (2 if args and params["kind"] is list else 0):
        raise OpError("neither an empty list or dict, nor an item and how often")
    return LIST


define(
    OpDef(
        "new_container",
        OpKind.CALL,
        _infer_new,
        lambda args, params: [args[0]] * args[1] if args else params["kind"](),
        "An empty list or dict (params kind), or a list of the first operand as often as the second says.",
        may_report=False,
    )
)


def _infer_put(args: tuple[Argument, ...], params: dict[str, Any], keys: int) -> ArrayType:
    target, values, packed = args[0], args[1 + keys :], params["packed"]
    if not isinstance(target, Node) or target.array_type != LIST:
        raise OpError("no list or dict")
    if (packed not in (None, tuple, list) and type(packed) is not str) or (packed is None and len(values) != 1):
        raise OpError("nothing that can be put there")
    return LIST


def pack(values: tuple[Any, ...], packed: type | str | None) -> Any:
    """The only one of `values`, or what they are packed into."""
    if packed is None:
        return values[0]
    return packed.format(*values) if isinstance(packed, str) else packed(values)


def put_item(container: Any, key: Any, value: Any) -> Any:
    """Store `value` under `key`, or where that is None at the end of a list; the container itself."""
    if key is None:
        container.append(value)
    else:
        container[key] = value
    return container


def put_back(container: Any, held: Any) -> None:
    """Let a list or dict hold what it held."""
    container.clear()
    (container.update if isinstance(held, dict) else container.extend)(held)


define(
    OpDef(
        "append",
        OpKind.CALL,
        lambda args, params, ask: _infer_put(args, params, 0),
        lambda args, params: put_item(args[0], None, pack(tuple(args[1:]), params["packed"])),
        "Append the second operand, an array, NumPy scalar, list or Python number, to the list that is the first; "
        "params packed: a tuple or list of all others, or a format of the text that they make.",
    )
)

define(
    OpDef(
        "put_item",
        OpKind.CALL,
        lambda args, params, ask: _infer_put(args, params, 1),
        lambda args, params: put_item(args[0], args[1], pack(tuple(args[2:]), params["packed"])),
        "Store the third operand in the list or dict that is the first, under the second, a Python number; params "
        "packed as for append.",
    )
)


def new_container(graph: Graph, kind: type, location: Location | None, *repeated: Argument) -> Node:
    """Append the making of an empty list or dict, or of a list of the first of `repeated` as often as the second."""
    return graph.add_call("new_container", repeated, {"kind": kind}, LIST, location)


def put(
    graph: Graph,
    target: Node,
    key: Argument | None,
    values: tuple[Argument, ...],
    packed: type | str | None,
    location: Location | None,
) -> None:
    """Append ``target[key] = value``, or without a key ``target.append(value)``; packed: the value is a fresh tuple,
    list or text of several."""
    op, keys = ("append", ()) if key is None else ("put_item", (key,))
    graph.add_call(op, (target, *keys, *values), {"packed": packed}, LIST, location)


__all__ = ["new_container", "pack", "put", "put_back", "put_item"]
