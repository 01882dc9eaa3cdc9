"""Sequences where NumPy wants an array: ``np.concatenate(([1], x))``, ``np.sum([x, y], axis=0)``, ``x * (1, 2, 3)``.

Enters: a list, tuple or range of numbers, arrays and further sequences, as an argument of a call. Leaves: a *pending*
node, typed but in no graph yet, which binders treat as any array. ``enter`` puts it into the graph when the call that
takes it is appended: constants as a CONSTANT, the rest as a call of "array_of". INVARIANT: dtype and shape are those of
``np.asarray``; a sequence that becomes no array of numbers raises OpError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpDef, OpError, OpKind, ResultType
from dynamo_lite.graph.scalar import ScalarOp, Symbol, is_scalar
from dynamo_lite.graph.types import ArrayType

_PENDING = ""  # the name of a node that is in no graph

MOST_ITEMS = 4096  # of a sequence; NumPy would look at each object too, but not keep it as an operand


class Filled:
    """A list of which `array` holds the items, at least one; in no other way can it be read."""

    def __init__(self, array: Node) -> None:
        self.array = array

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> NoReturn:
        raise OpError("the items of a list that a loop has filled")


def is_sequence(value: Any) -> bool:
    """True for what NumPy converts item by item."""
    return isinstance(value, list | tuple | range | Filled)


def is_pending(value: Any) -> bool:
    """True for a node that `convert` has made and no graph has."""
    return isinstance(value, Node) and value.name == _PENDING


def convert(value: Any, dtype: np.dtype[Any] | None = None) -> Node:
    """A pending node for ``np.asarray(value, dtype)`` of a sequence or number."""
    if isinstance(value, range) and dtype is None and len(value):
        return pending("arange", (value.start, value.stop, value.step), {})
    leaves, shape, _ = _flat(value)
    params: dict[str, Any] = {"shape": shape}
    if dtype is not None:
        _require_casts(value, dtype)
        params["dtype"] = dtype
    node = pending("array_of", tuple(leaves), params)
    if any(map(is_pending, leaves)) and dtype is None:
        # NB: NumPy promotes in the order of the items, which for small dtypes is not always associative.
        exact = np.asarray([sample_scalar(leaf) for leaf in _leaves(value)]).dtype
        if exact != node.array_type.dtype:
            raise OpError(f"a sequence whose dtype, {exact}, depends on the order of its items")
    return node


def _require_casts(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse a list known by its array for a dtype to which NumPy takes numbers one by one otherwise than a cast does:
    an int that does not fit raises, and one becomes a float32 by way of a double."""
    if isinstance(value, Filled):
        source = value.array.array_type.dtype
        is_exact = dtype.kind == "b" or np.can_cast(source, dtype, "safe")
        if not is_exact and not (source == np.float64 and dtype.kind in "fc"):
            raise OpError(f"a list of {source} as an array of {dtype}")
    elif is_sequence(value):
        for item in value:
            _require_casts(item, dtype)


def view(array: Node, op: str, params: dict[str, Any]) -> Node:
    """A pending node for a view of an array, as NumPy takes one on the way to the call itself."""
    return pending(op, (array,), params)


def pending(op: str, args: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """A node of a call that is in no graph yet. Its sizes are taken to agree: `enter` asks."""
    stand_ins = tuple(_stand_in(arg) for arg in args)
    type_: ResultType = REGISTRY[op].infer(
        stand_ins, params, lambda condition: condition if type(condition) is bool else True
    )
    assert isinstance(type_, ArrayType)
    return Node(NodeKind.CALL, op, args, params, type_, _PENDING)


def _stand_in(arg: Any) -> Argument:
    """A constant NumPy scalar as the node that it becomes."""
    if isinstance(arg, np.generic):
        return Node(NodeKind.CONSTANT, "constant", (), {"value": arg}, ArrayType(arg.dtype, (), True), _PENDING)
    return arg  # type: ignore[no-any-return]


def _flat(value: Any) -> tuple[list[Any], tuple[int, ...], int]:
    """The leaves of nested sequences in C order, the shape of the nest around them, and the rank of each leaf."""
    value = value.array if isinstance(value, Filled) else value
    if isinstance(value, Node):
        if not isinstance(value.type, ArrayType):
            raise OpError(f"%{value.name} is no array")
        return [value], (), value.type.ndim
    if is_scalar(value) or isinstance(value, np.generic):
        return [value], (), 0
    if not is_sequence(value):
        raise OpError(f"an operand of type {type(value).__name__}")
    if len(value) > MOST_ITEMS:
        raise OpError(f"a sequence of more than {MOST_ITEMS} items")
    parts = [_flat(item) for item in value]
    if not parts:
        return [], (0,), 0
    _, shape, rank = parts[0]
    if any((part[1], part[2]) != (shape, rank) for part in parts):
        if any(len(part[1]) + part[2] != len(shape) + rank for part in parts):
            raise OpError("a ragged sequence")
        # Arrays beside sequences of as many axes: these become arrays first.
        parts = [part if not part[1] else ([convert(item)], (), 0) for part, item in zip(parts, value, strict=True)]
        rank, shape = len(shape) + rank, ()
    return [leaf for part in parts for leaf in part[0]], (len(parts), *shape), rank


def _leaves(value: Any) -> list[Any]:
    """All arrays and numbers in nested sequences, in order."""
    if isinstance(value, Filled):
        return [value.array]
    return [leaf for item in value for leaf in _leaves(item)] if is_sequence(value) else [value]


def sample_leaf(arg: Any) -> Any:
    """What to try a conversion with in place of an operand: a one of its type, in as many axes."""
    if isinstance(arg, Node) and arg.array_type.ndim:
        return np.ones((1,) * arg.array_type.ndim, arg.array_type.dtype)
    return sample_scalar(arg)


def sample_scalar(arg: Any) -> Any:
    """A number to try a conversion with in place of an operand: itself, or a one of its type."""
    if isinstance(arg, Node):
        return arg.array_type.dtype.type(1)
    if isinstance(arg, Symbol | ScalarOp):
        return {"int": 1, "float": 1.0, "bool": True}[arg.kind]
    return arg


Append = Callable[[str, tuple[Any, ...], dict[str, Any]], Node]


def enter(graph: Graph, value: Any, taker: OpDef | None, append: Append) -> Any:
    """`value`, put into the graph if it is a NumPy scalar constant or a pending node; anything else as it is.

    taker: the op that takes it as an operand, None where the caller gets it itself. append: appends a call of an op.
    """
    if isinstance(value, np.generic):
        return graph.add_constant(value)
    if not is_pending(value):
        return value
    known = not any(isinstance(arg, Node | Symbol | ScalarOp) for arg in value.args)
    if known and taker is not None and taker.kind is not OpKind.VIEW and not taker.in_place:
        constant = np.ascontiguousarray(REGISTRY[value.op].evaluate(value.args, value.params))
        constant = constant.reshape(tuple(int(dim) for dim in value.array_type.shape))
        constant.flags.writeable = False
        return graph.add_constant(constant)
    return append(value.op, value.args, value.params)
