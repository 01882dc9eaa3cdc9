"""The diagonal of two axes, a view. Params: axes, the two; offset; writeable.

NumPy's own is read-only, the one by which np.fill_diagonal stores (capture/calls/numpy_functions.py) is not.

The elements lie as far apart as both strides together (csrc/program/views.c).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.scalar import Dim, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.parameters import ArrayArg, Int, axis_of, type_of
from dynamo_lite.ops.registry import Bound, OpDef, OpError, OpKind, Relate, Sample, define, spell
from dynamo_lite.ops.shapes import settle
from dynamo_lite.ops.views import view_operand


def _infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    first, second = params["axes"]
    if type_.scalar or first == second or max(first, second) >= type_.ndim:
        raise OpError("the diagonal of fewer than two axes")
    rest = tuple(size for axis, size in enumerate(type_.shape) if axis not in (first, second))
    return ArrayType(type_.dtype, (*rest, _length(type_.shape[first], type_.shape[second], params["offset"], ask)))


def _length(rows: Dim, columns: Dim, offset: int, ask: Relate) -> Dim:
    """How many elements lie on a diagonal."""
    left: Any = rows if offset >= 0 else make("add", rows, offset)
    below: Any = columns if offset <= 0 else make("sub", columns, offset)
    length: Dim = left if left == below or ask(make("le", left, below)) else below
    if offset and not ask(make("ge", length, 0)):
        return 0  # it lies beside the matrix
    return settle(length, ask)


def _evaluate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    result = args[0].diagonal(params["offset"], *params["axes"])
    if params["writeable"] and args[0].flags.writeable:
        result.flags.writeable = True
    return result


define(
    OpDef(
        "diagonal",
        OpKind.VIEW,
        _infer,
        _evaluate,
        "The elements on the diagonal params[offset] of params[axes], a view; read-only unless params[writeable].",
        (
            Sample(((3, 4),), {"axes": (0, 1), "offset": 0, "writeable": False}),
            Sample(((4, 3),), {"axes": (0, 1), "offset": 1, "writeable": False}),
            Sample(((4, 2, 3),), {"axes": (2, 0), "offset": -1, "writeable": True}),
        ),
        exact_view=True,
        may_report=False,
    )
)


@spell("diagonal", "np.diagonal", np.diagonal, method="diagonal")
def _bind_diagonal(ask: Relate, a: ArrayArg, offset: Int = 0, axis1: Int = 0, axis2: Int = 1) -> Bound:
    return diagonal_of(a, offset, axis1, axis2)


@spell("diagonal", "np.linalg.diagonal", np.linalg.diagonal)
def _bind_linalg_diagonal(ask: Relate, x: ArrayArg, /, *, offset: Int = 0) -> Bound:
    return diagonal_of(x, offset, -2, -1)


@spell("diag diagonal", "np.diag", np.diag)
def _bind_diag(ask: Relate, v: ArrayArg, k: Int = 0) -> Bound:
    if v.array_type.ndim == 2:
        return diagonal_of(v, k, 0, 1)
    return Bound("diag", (v,), {"k": k})


def diagonal_of(a: Any, offset: int, axis1: int, axis2: int, writeable: bool = False) -> Bound:
    """NumPy's view of a diagonal."""
    node = view_operand(a)
    ndim = node.array_type.ndim
    axes = axis_of(axis1, ndim), axis_of(axis2, ndim)
    return Bound("diagonal", (node,), {"axes": axes, "offset": offset, "writeable": writeable})
