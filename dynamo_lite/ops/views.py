"""Views: transpose, reshape, ravel, broadcast_to, real, imag; the other shape methods are spellings of these.

Params: transpose axes (a permutation); reshape shape (Scalars, C order, -1 as the user wrote it); ravel order ("C",
"F", "K"); broadcast_to shape. reshape and ravel copy where memory order demands it, so they are no exact views: a ravel
copies every operand that is not contiguous, a reshape only where no strides fit. INVARIANT: squeezed axes are index 0
with scalar False, so no view but an index turns an array into a NumPy scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import demand
from dynamo_lite.graph.scalar import Dim, Scalar, divide_exactly, is_scalar, is_symbolic, make, product
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, view
from dynamo_lite.ops.parameters import (
    ABSENT,
    ArrayArg,
    Axes,
    AxesOrArrayOrNone,
    AxesOrList,
    DTypeArg,
    ExistingArray,
    Int,
    OperandArg,
    OrderCF,
    OrderKCF,
    Shape,
    SizeOrShape,
    SubOk,
    Unmodelled,
    ViewType,
    array,
    axis_of,
    type_of,
)
from dynamo_lite.ops.reductions import axes_of
from dynamo_lite.ops.registry import (
    Bound,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    define,
    spell,
)
from dynamo_lite.ops.shapes import broadcast, element_count, settle


def view_operand(value: Any) -> Node:
    """`value` as an array a view can be taken of: not a NumPy scalar."""
    node = array(value)
    if node.array_type.scalar:
        raise OpError("a NumPy scalar has no views")
    return node


def made_array(value: Any) -> Node:
    """`value` as np.asarray makes it: a number or NumPy scalar becomes a 0-d array."""
    single = is_scalar(value) or isinstance(value, np.generic) or (isinstance(value, Node) and type_of(value).scalar)
    return convert(value) if single else view_operand(value)


# transpose


def _infer_transpose(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    return ArrayType(type_.dtype, tuple(type_.shape[axis] for axis in params["axes"]))


define(
    OpDef(
        "transpose",
        OpKind.VIEW,
        _infer_transpose,
        lambda args, params: args[0].transpose(params["axes"]),
        "The axes in the order of params[axes].",
        (
            Sample(((2, 3),), {"axes": (1, 0)}),
            Sample(((2, 3, 4),), {"axes": (2, 0, 1)}),
            Sample(((),), {"axes": ()}),
        ),
        exact_view=True,
        may_report=False,
    )
)


def _transpose(x: Any, axes: Sequence[Any] | None) -> Bound:
    node = view_operand(x)
    ndim = node.array_type.ndim
    if axes is None:
        return Bound("transpose", (node,), {"axes": tuple(range(ndim))[::-1]})
    order = tuple(axis_of(axis, ndim) for axis in axes)
    if sorted(order) != list(range(ndim)):
        raise OpError(f"axes {order} are no permutation")
    return Bound("transpose", (node,), {"axes": order})


@spell("transpose", "np.transpose", np.transpose, np.permute_dims)
def _bind_transpose(ask: Relate, a: ArrayArg, axes: AxesOrArrayOrNone = None) -> Bound:
    return _transpose(a, (axes,) if isinstance(axes, int) else axes)


@spell("transpose", None, method="transpose")
def _bind_method_transpose(ask: Relate, x: ArrayArg, *axes: AxesOrArrayOrNone) -> Bound:
    if len(axes) == 1 and not isinstance(axes[0], int):
        return _transpose(x, axes[0])
    return _transpose(x, axes or None)


@spell("transpose", None, attribute="T")
def _bind_t(ask: Relate, x: ArrayArg) -> Bound:
    return _transpose(x, None)


@spell("transpose", "np.matrix_transpose", np.matrix_transpose, attribute="mT")
def _bind_mt(ask: Relate, x: ArrayArg, /) -> Bound:
    ndim = x.array_type.ndim
    if ndim < 2:
        raise OpError("matrix transpose of fewer than two axes")
    return _transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


@spell("transpose", "np.swapaxes", np.swapaxes)
def _bind_swapaxes(ask: Relate, a: ArrayArg, axis1: Int, axis2: Int) -> Bound:
    return _swapped(a, axis1, axis2)


@spell("transpose", None, method="swapaxes")
def _bind_method_swapaxes(ask: Relate, a: ArrayArg, axis1: Int, axis2: Int, /) -> Bound:
    return _swapped(a, axis1, axis2)


def _swapped(a: Node, axis1: int, axis2: int) -> Bound:
    ndim = a.array_type.ndim
    order = list(range(ndim))
    first, second = axis_of(axis1, ndim), axis_of(axis2, ndim)
    order[first], order[second] = second, first
    return _transpose(a, order)


@spell("transpose", "np.moveaxis", np.moveaxis)
def _bind_moveaxis(ask: Relate, a: ArrayArg, source: AxesOrList, destination: AxesOrList) -> Bound:
    ndim = a.array_type.ndim
    pair = [[axis_of(axis, ndim) for axis in (ax if isinstance(ax, tuple) else (ax,))] for ax in (source, destination)]
    if len(pair[0]) != len(pair[1]) or any(len(set(axes)) != len(axes) for axes in pair):
        raise OpError("moveaxis of these axes")
    order = [axis for axis in range(ndim) if axis not in pair[0]]
    for destination_axis, source_axis in sorted(zip(pair[1], pair[0], strict=True)):
        order.insert(destination_axis, source_axis)
    return _transpose(a, order)


@spell("transpose basic_index", "np.rot90", np.rot90)
def _bind_rot90(ask: Relate, m: ArrayArg, k: Int = 1, axes: AxesOrList = (0, 1)) -> Bound:
    node = view_operand(m)
    ndim = node.array_type.ndim
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise OpError("rot90 in other than two axes")
    first, second = (axis_of(axis, ndim) for axis in axes)
    if first == second:
        raise OpError("rot90 in one axis")
    order = list(range(ndim))
    order[first], order[second] = second, first
    whole, back = (None, None, None), (None, None, -1)

    def flipped(*which: int) -> dict[str, Any]:
        return {"index": tuple(back if axis in which else whole for axis in range(ndim)), "scalar": False}

    if k % 2 == 0:
        return Bound("basic_index", (node,), flipped(first, second) if k % 4 else flipped())
    if k % 4 == 1:
        return _transpose(view(node, "basic_index", flipped(second)), order)
    return Bound("basic_index", (view(node, "transpose", {"axes": tuple(order)}),), flipped(second))


@spell("transpose", "np.rollaxis", np.rollaxis)
def _bind_rollaxis(ask: Relate, a: ExistingArray, axis: Int, start: Int = 0) -> Bound:
    ndim = a.array_type.ndim
    place = axis_of(axis, ndim)
    if not -ndim <= start <= ndim:
        raise OpError("rollaxis to no axis")
    end = start + ndim if start < 0 else start
    order = [one for one in range(ndim) if one != place]
    order.insert(end - (place < end), place)
    if order[place] == place and end - (place < end) == place:
        return Bound("basic_index", (view_operand(a),), {"index": ((None, None, None),) * ndim, "scalar": False})
    return _transpose(a, order)


# reshape and its relatives


def _infer_reshape(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    shape = params["shape"]
    if -1 in [dim for dim in shape if not is_symbolic(dim)]:
        shape = _solve(type_.shape, shape, ask)
    settled = tuple(settle(dim, ask) for dim in shape)
    if not demand(ask, make("eq", product(type_.shape), product(settled))):
        raise OpError("reshape to another number of elements")
    return ArrayType(type_.dtype, settled)


def _solve(old: tuple[Dim, ...], new: Sequence[Scalar], ask: Relate) -> list[Scalar]:
    """`new` with its one -1 replaced by what makes the number of elements fit."""
    place = [position for position, dim in enumerate(new) if dim == -1]
    if len(place) != 1:
        raise OpError("reshape with several -1")
    known = product(dim for dim in new if dim != -1)
    size = product(old)
    if ask(make("eq", known, 0)):
        raise OpError("reshape with -1 beside a size of 0 raises")
    quotient = divide_exactly(size, known)
    if quotient is None:
        quotient = make("floordiv", size, known)
        if not ask(make("eq", make("mod", size, known), 0)):
            raise OpError("reshape to another number of elements")
        if not ask(make("eq", make("mul", quotient, known), size)):
            raise OpError("reshape to another number of elements")
    result = list(new)
    result[place[0]] = quotient
    return result


define(
    OpDef(
        "reshape",
        OpKind.VIEW,
        _infer_reshape,
        lambda args, params: args[0].reshape(params["shape"]),
        "The elements in C order in a new shape; a copy only where no strides fit.",
        (
            Sample(((2, 3),), {"shape": (3, 2)}),
            Sample(((2, 3),), {"shape": (6,)}),
            Sample(((4, 3),), {"shape": (2, -1)}),
            Sample(((2, 3),), {"shape": (1, 2, 1, 3)}),
            Sample(((1, 1),), {"shape": ()}),
            Sample(((),), {"shape": (1,)}),
        ),
        exact_axes=1,  # which are split
    )
)


def _given(shape: tuple[Scalar, ...], ask: Relate) -> tuple[Scalar, ...]:
    """A shape of numbers one of which may be an argument that is -1 in this call."""
    return tuple(-1 if _is_open(size, ask) else size for size in shape)


def _is_open(size: Scalar, ask: Relate) -> bool:
    return is_symbolic(size) and not ask(make("ge", size, 0)) and ask(make("eq", size, -1))


def _reshape(x: Node, shape: tuple[Scalar, ...], order: str = "C") -> Bound:
    node = view_operand(x)
    if order == "C":
        return Bound("reshape", (node,), {"shape": shape})
    turned = view(node, "transpose", {"axes": tuple(range(node.array_type.ndim))[::-1]})
    made = view(turned, "reshape", {"shape": shape[::-1]})
    return Bound("transpose", (made,), {"axes": tuple(range(len(shape)))[::-1]})


@spell("reshape transpose", None, method="reshape")
def _bind_method_reshape(
    ask: Relate, x: ArrayArg, *shape: SizeOrShape, order: OrderCF = "C", copy: Unmodelled = None
) -> Bound:
    if len(shape) == 1 and isinstance(shape[0], tuple):
        return _reshape(x, _given(shape[0], ask), order)
    if not shape or any(isinstance(size, tuple) for size in shape):
        raise OpError("reshape without a shape")
    return _reshape(x, _given(shape, ask), order)


@spell("reshape transpose", "np.reshape", np.reshape)
def _bind_reshape(ask: Relate, a: ArrayArg, /, shape: Shape, order: OrderCF = "C", *, copy: Unmodelled = None) -> Bound:
    return _reshape(a, _given(shape, ask), order)


@spell("reshape", "np.expand_dims", np.expand_dims)
def _bind_expand_dims(ask: Relate, a: ArrayArg, axis: AxesOrList) -> Bound:
    node = view_operand(a)
    given = axis if isinstance(axis, tuple) else (axis,)
    ndim = node.array_type.ndim + len(given)
    new = axes_of(given, ndim)
    old = iter(node.array_type.shape)
    return _reshape(node, tuple(1 if place in new else next(old) for place in range(ndim)))


@spell("basic_index", "np.squeeze", np.squeeze, method="squeeze")
def _bind_squeeze(ask: Relate, a: ArrayArg, axis: Axes = None) -> Bound:
    node = view_operand(a)
    shape = node.array_type.shape
    if axis is None:
        axes = tuple(place for place, dim in enumerate(shape) if dim == 1 or ask(make("eq", dim, 1)))
    else:
        axes = axes_of(axis, len(shape))
        if any(shape[place] != 1 for place in axes):
            raise OpError("squeeze of an axis that is not 1")
    if not axes:
        return Bound("same", (node,))  # PyArray_Squeeze
    index = tuple(0 if place in axes else (None, None, None) for place in range(len(shape)))
    return Bound("basic_index", (node,), {"index": index, "scalar": False})


# NB: x.view(None) is a view of float64, and x.view(type=None) raises; neither is a default.


@spell("basic_index", None, method="view")
def _bind_view(ask: Relate, x: ArrayArg, dtype: DTypeArg = ABSENT, type: ViewType = ABSENT) -> Bound:
    node = view_operand(x)
    if dtype is not ABSENT and dtype != node.array_type.dtype:
        raise OpError("a view of another dtype has no rule")
    return Bound("basic_index", (node,), {"index": ((None, None, None),) * node.array_type.ndim, "scalar": False})


def _infer_ravel(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    return ArrayType(type_.dtype, (element_count(type_.shape, ask),))


_RAVEL_SAMPLES = tuple(Sample((shape,), {"order": order}) for shape in ((2, 3), (3,), (), (1, 1)) for order in "CFK")

define(
    OpDef(
        "ravel",
        OpKind.VIEW,
        _infer_ravel,
        lambda args, params: args[0].ravel(params["order"]),
        "All elements along one axis; a view where the memory order allows it without strides, else a copy.",
        _RAVEL_SAMPLES,
        may_report=False,
    )
)
define(
    OpDef(
        "flatten",
        OpKind.CALL,
        _infer_ravel,
        lambda args, params: args[0].flatten(params["order"]),
        "All elements along one axis, always a copy.",
        _RAVEL_SAMPLES,
        may_report=False,
    )
)


@spell("ravel", "np.ravel", np.ravel, method="ravel")
def _bind_ravel(ask: Relate, a: OperandArg, order: OrderKCF = "C") -> Bound:
    return Bound("ravel", (made_array(a),), {"order": order})


@spell("flatten", None, method="flatten")
def _bind_flatten(ask: Relate, x: ArrayArg, order: OrderKCF = "C") -> Bound:
    return Bound("flatten", (view_operand(x),), {"order": order})


# broadcast_to


def _infer_broadcast_to(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    shape = tuple(settle(dim, ask) for dim in params["shape"])
    if len(shape) < type_.ndim:
        raise OpError("broadcast_to fewer axes")
    for size, room in zip(reversed(type_.shape), reversed(shape), strict=False):
        if size != 1 and not ask(make("eq", size, room)):
            raise OpError(f"{size} elements do not broadcast to {room}")
    return ArrayType(type_.dtype, broadcast([type_.shape, shape], ask) if 0 not in shape else shape)


define(
    OpDef(
        "broadcast_to",
        OpKind.VIEW,
        _infer_broadcast_to,
        lambda args, params: np.broadcast_to(args[0], params["shape"]),
        "A read-only view with axes repeated.",
        (
            Sample(((3,),), {"shape": (2, 3)}),
            Sample(((2, 1),), {"shape": (2, 3)}),
            Sample(((),), {"shape": (2,)}),
            Sample(((2, 1),), {"shape": (2, 0)}),
        ),
        exact_view=True,
        may_report=False,
    )
)


@spell("broadcast_to", "np.broadcast_to", np.broadcast_to)
def _bind_broadcast_to(ask: Relate, array: OperandArg, shape: Shape, subok: SubOk = False) -> Bound:
    return Bound("broadcast_to", (made_array(array),), {"shape": shape})


# real and imag


def _infer_part(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    if type_.dtype.kind != "c" or type_.scalar:
        raise OpError("only complex arrays have a view of a part")
    return ArrayType(np.zeros(0, type_.dtype).real.dtype, type_.shape)


for _name, _summary in (("real", "The real parts, a view."), ("imag", "The imaginary parts, a view.")):
    define(
        OpDef(
            _name,
            OpKind.VIEW,
            _infer_part,
            lambda args, params, name=_name: getattr(args[0], name),  # type: ignore[misc]
            _summary,
            (Sample(((2, 3),), {}, ("FD",)), Sample(((),), {}, ("FD",))),
            exact_view=True,
            may_report=False,
        )
    )


def _is_complex_scalar(value: Any) -> bool:
    return isinstance(value, Node) and value.array_type.scalar and value.array_type.dtype.kind == "c"


@spell("real", "np.real", np.real, attribute="real")
def _bind_real(ask: Relate, val: ArrayArg) -> Bound:
    if _is_complex_scalar(val):
        return Bound("scalar_real", (val,))
    node = view_operand(val)
    return Bound("real" if node.array_type.dtype.kind == "c" else "same", (node,))


@spell("imag", "np.imag", np.imag, attribute="imag")
def _bind_imag(ask: Relate, val: ArrayArg) -> Bound:
    if _is_complex_scalar(val):
        return Bound("scalar_imag", (val,))
    return Bound("imag", (view_operand(val),))
