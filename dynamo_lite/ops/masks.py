"""Masks: ``x[mask]`` and ``x[mask] = values``, whose sizes only the run knows.

``count_true`` yields a Symbol for the number of true elements (params["yields"]); what a mask gathers has that number
of elements, and only what has the same number fits in behind it:

    %n: int64 = count_true(%mask, yields=(y0,)); %z: float64[y0] = masked(%x, %mask, y0)
    %put: float64[s0] = put_masked(%x, %mask, y0, %square); store(%x, %put)

A mask has the shape of the array, or of its first axes. INVARIANT: no fact is known of such a number but what a
``require`` in the same graph says, so that whatever else asks for it is undecided. ``put_masked`` is a value; the store
behind it says where it goes, and scheduling makes one step of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.scalar import Scalar, Symbol, is_scalar, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.parameters import (
    type_of,
)
from dynamo_lite.ops.registry import (
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    call,
    define,
)
from dynamo_lite.ops.shapes import settle


def is_mask(key: object) -> bool:
    """Whether an index is one array of bools."""
    return isinstance(key, Node) and key.array_type.dtype.kind == "b" and bool(key.array_type.shape)


def _check_shapes(x: ArrayType, mask: ArrayType, ask: Relate) -> None:
    if mask.dtype.kind != "b" or not mask.shape:
        raise OpError("no mask")
    if len(x.shape) < len(mask.shape):
        raise OpError("a mask of more axes than the array")
    for size, dim in zip(mask.shape, x.shape, strict=False):
        if not ask(make("eq", size, dim)):
            raise OpError("a mask of another shape than the array")


def _infer_count(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    mask = type_of(args[0])
    _check_shapes(mask, mask, ask)
    return ArrayType(np.dtype(np.int64), (), True)


define(
    OpDef(
        "count_true",
        OpKind.CALL,
        _infer_count,
        lambda args, params: np.int64(np.count_nonzero(args[0])),
        "How many elements of a mask are true; params yields: the Symbol of that number.",
        (Sample(((3,),), {"yields": ()}, ("?",)), Sample(((2, 3),), {"yields": ()}, ("?",))),
        may_report=False,
    )
)


def _infer_masked(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    x, count = type_of(args[0]), args[2]
    _check_shapes(x, type_of(args[1]), ask)
    if not is_scalar(count) or kind_of(count) != "int":  # type: ignore[arg-type]
        raise OpError("a number of elements is an int")
    yielded = isinstance(count, Symbol) and count.input < 0
    size = count if yielded else settle(count, ask)  # type: ignore[arg-type]
    return ArrayType(x.dtype, (size, *x.shape[type_of(args[1]).ndim :]))  # type: ignore[arg-type]


define(
    OpDef(
        "masked",
        OpKind.CALL,
        _infer_masked,
        lambda args, params: args[0][args[1]],
        "x[mask]: the elements, or rows, of the first operand where the second is true; the third is how many.",
        tuple(Sample((*shapes, 0), {}, ("", "?")) for shapes in (((0,), (0,)), ((2, 0), (2, 0)), ((0, 2), (0,)))),
        may_report=False,
    )
)


def _infer_put_masked(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    x, value = type_of(args[0]), type_of(args[3])
    selected, count = _infer_masked(args, params, ask), args[2]
    if x.dtype != value.dtype or value.ndim != selected.ndim:
        raise OpError("values of another dtype, or of other axes, than the mask selects")
    room: tuple[Any, ...] = (count, *selected.shape[1:])
    rest = zip(value.shape[1:], room[1:], strict=True)  # of the first the program sees to itself
    if not all(ask(make("eq", size, size_of)) for size, size_of in rest):
        raise OpError("another number of values than the mask selects")
    return ArrayType(x.dtype, x.shape)


def _evaluate_put_masked(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    result = np.array(args[0], order="K")
    result[args[1]] = args[3]
    return result


define(
    OpDef(
        "put_masked",
        OpKind.CALL,
        _infer_put_masked,
        _evaluate_put_masked,
        "A copy of x with the values, or rows, of the last operand in the places where the mask is true.",
        (
            Sample(((0,), (0,), 0, (0,)), {}, ("d", "?", "d")),
            Sample(((0, 2), (0,), 0, (0, 2)), {}, ("d", "?", "d")),
        ),
        may_report=False,
        in_place=True,
    )
)


def _infer_require(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if not is_scalar(args[0]):
        raise OpError("no condition")
    return ArrayType(np.dtype(bool), (), True)


def _evaluate_require(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if not args[0]:
        raise ValueError("a required relation does not hold")
    return np.True_


define(
    OpDef(
        "require",
        OpKind.CALL,
        _infer_require,
        _evaluate_require,
        "A condition on numbers without which the program declines: plain Python then does what is rare, a warning.",
        (Sample((1,), {}),),
    )
)


def masked(graph: Graph, x: Node, mask: Node, count: Scalar, location: Location | None, relate: Relate) -> Node:
    """Append ``x[mask]``; count: how many elements are selected."""
    return call(graph, "masked", (x, mask, count), {}, location, relate)


def store_masked(
    graph: Graph, target: Node, mask: Node, count: Scalar, value: Node, location: Location | None, relate: Relate
) -> None:
    """Append ``target[mask] = value`` for `count` elements or rows; OpError where the cast may warn or lose."""
    dtype = target.array_type.dtype
    mark = len(graph.nodes)
    try:
        if value.array_type.dtype != dtype:
            if not np.can_cast(value.array_type.dtype, dtype, "safe"):
                raise OpError(f"a masked store of {value.array_type.dtype} into {dtype}")
            value = call(graph, "astype", (value,), {"dtype": dtype}, location, relate)
        put = call(graph, "put_masked", (target, mask, count, value), {}, location, relate)
    except OpError:
        del graph.nodes[mark:]
        raise
    graph.add_store(target, put, location)
