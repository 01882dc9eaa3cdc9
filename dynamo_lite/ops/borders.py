"""Arrays with borders, which lower/pad.py makes: of unset elements, with the order of axes of what they will hold.

NumPy lays out the results of elementwise operations by the order of their operands' axes. Where all arrays that a value
is made of have one order, the value has it, and so has what is computed from views of an array in that order.
INVARIANT: where that is not sure the op raises, so that the program declines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import OpDef, OpKind, Relate, Sample, define
from dynamo_lite.graph.types import ArrayType


def bordered(*arrays: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of unset elements whose axes have the order that they have in all of `arrays`.

    Raises ValueError if they have no common order, or if the sizes leave it open what NumPy takes for one.
    """
    orders = {order_of(array) for array in arrays} or {tuple(range(len(shape)))}
    if len(orders) > 1 or None in orders:
        raise ValueError("arrays whose axes lie in different orders")
    order = orders.pop()
    assert order is not None
    if order == tuple(range(len(shape))):
        return np.empty(shape, dtype)
    if any(1 in array.shape for array in arrays):
        raise ValueError("an axis of one element, whose place among the others NumPy chooses")
    made = np.empty([shape[axis] for axis in order], dtype)
    return made.transpose(np.argsort(order))


def order_of(array: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The axes from the outermost in memory to the innermost, C order where sizes of 1 leave a choice; None where axes
    repeat or meet."""
    if not array.size:
        return None
    strides = [abs(stride) for stride in array.strides]
    axes = [axis for axis, size in enumerate(array.shape) if size != 1]
    moving = [strides[axis] for axis in axes]
    if not all(moving) or len(set(moving)) != len(moving):
        return None
    ordered = sorted(axes, key=lambda axis: -strides[axis])
    if ordered == axes:
        return tuple(range(array.ndim))
    return tuple(ordered) if len(axes) == array.ndim else None


def _infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    return ArrayType(params["dtype"], params["shape"])


_F8 = np.dtype(np.float64)

define(
    OpDef(
        "empty_bordered",
        OpKind.CREATION,
        _infer,
        lambda args, params: bordered(*args, **params),
        "An array of unset elements with the operands' order of axes.",
        (
            Sample(((2, 3),), {"shape": (4, 5), "dtype": _F8}),
            Sample(((2, 3), (2, 3)), {"shape": (2, 4), "dtype": _F8}),
        ),
    )
)


def same_order(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of one True, with as many axes; raises ValueError if the arrays have no common order of axes."""
    found = bordered(*arrays, shape=(1,) * arrays[0].ndim, dtype=np.dtype(bool))
    found[...] = True
    return found


def _infer_same(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    (first, *_) = args
    assert isinstance(first, Node)
    return ArrayType(np.dtype(bool), (1,) * first.array_type.ndim)


define(
    OpDef(
        "require_order",
        OpKind.CREATION,
        _infer_same,
        lambda args, params: same_order(*args),
        "That all operands have one order of axes, without which the program declines.",
        (Sample(((2, 3), (4, 5)), {}),),
    )
)
