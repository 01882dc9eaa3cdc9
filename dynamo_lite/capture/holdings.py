"""What lists seem to hold: numbers of one kind, or lists of such (object_lists.py).

Enters a list from outside, or what is put into one; leaves a Holding, which several lists may share: what is put into one
of them is what may be taken of another. A wrong one has the program decline, or the attempt refuse a loop.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.capture.value import ArrayValue, Break, Holding, ListValue
from dynamo_lite.graph.node import Node

LOOKED_AT = 64  # items of a list from outside


def holding_of(obj: Any, depth: int = 3) -> Holding | None:
    """What a list from outside seems to hold; None if that is anything else."""
    if type(obj) is not list or depth == 0:
        return None
    names = {float: "float", int: "int", bool: "bool", list: "list"}
    kinds = {names.get(type(item)) for item in obj[:LOOKED_AT]}
    if not kinds:
        return Holding()
    kind = kinds.pop()
    if kinds or kind is None:
        return None
    if kind != "list":
        return Holding(kind)
    inners = [holding_of(item, depth - 1) for item in obj[:LOOKED_AT]]
    first = next((one for one in inners if one is not None and one.kind), Holding())
    if any(one is None or (one.kind and not _fits(first, one)) for one in inners):
        return None
    return Holding("list", first)


def _fits(one: Holding, other: Holding) -> bool:
    if one.kind != other.kind:
        return not other.kind
    return one.kind != "list" or (one.inner is not None and other.inner is not None and _fits(one.inner, other.inner))


def joined(one: Holding | None, other: Holding) -> Holding:
    """What both lists may hold."""
    if one is None or one is other:
        return other
    if not one.kind:
        one.kind, one.inner = other.kind, other.inner
    elif not other.kind:
        other.kind, other.inner = one.kind, one.inner
    if one.kind != other.kind:
        raise Break("loop-list", "a list of several kinds of lists")
    if one.kind == "list":
        assert one.inner is not None and other.inner is not None
        joined(one.inner, other.inner)
    return one


def agree(one: ListValue, other: ListValue) -> bool:
    """Whether two lists seem to hold the same."""
    try:
        joined(one.holding, other.holding)
    except Break:
        return False
    return True


def with_node(value: ArrayValue | ListValue, node: Node) -> ArrayValue | ListValue:
    """An array, or a list that seems to hold what that one does."""
    return ListValue(None, node, value.holding) if isinstance(value, ListValue) else ArrayValue(None, node)


__all__ = ["agree", "holding_of", "joined", "with_node"]
