"""Opaque ops that move elements: joining, sorting, searching, repeating, triangles; and vectors' convolution.

NumPy does the work (see calls.py); each row gives the shape rule. INVARIANT: results are fresh arrays.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import make, product, total
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import Shape, equal, opaque, same_shape
from dynamo_lite.ops.reductions import reduced_shape
from dynamo_lite.ops.registry import (
    Bound,
    DType,
    OpDef,
    Operand,
    OpError,
    OpKind,
    Relate,
    Sample,
    array,
    axis_of,
    define,
    operand,
    refuse,
    spell,
    static_bool,
    static_int,
    type_of,
)
from dynamo_lite.ops.shapes import element_count, settle

# joining


def _joined_type(args: tuple[Argument, ...], params: dict[str, Any]) -> DType:
    dtypes = [type_of(arg).dtype for arg in args]
    try:
        return np.result_type(*dtypes)
    except TypeError as error:
        raise OpError(str(error)) from None


def _infer_concatenate(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    shapes = [type_of(arg).shape for arg in args]
    axis, first = params["axis"], shapes[0]
    if any(len(shape) != len(first) for shape in shapes) or not 0 <= axis < len(first):
        raise OpError("concatenate of arrays of these ranks")
    for shape in shapes[1:]:
        for place, dim in enumerate(shape):
            if place != axis:
                equal(first[place], dim, ask)
    length = settle(total(shape[axis] for shape in shapes), ask)
    return ArrayType(_joined_type(args, params), (*first[:axis], length, *first[axis + 1 :]))


define(
    OpDef(
        "concatenate",
        OpKind.CALL,
        _infer_concatenate,
        lambda args, params: np.concatenate(args, axis=params["axis"]),
        "The operands one after another along params[axis].",
        (
            Sample(((2, 3), (4, 3)), {"axis": 0}),
            Sample(((3,), (3,)), {"axis": 0}),
            Sample(((2, 3), (2, 1), (2, 2)), {"axis": 1}),
        ),
    )
)


def _infer_stack(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    shapes = [type_of(arg).shape for arg in args]
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]):
            raise OpError("stack of arrays of different ranks")
        for left, right in zip(shapes[0], shape, strict=True):
            equal(left, right, ask)
    axis = params["axis"]
    return ArrayType(_joined_type(args, params), (*shapes[0][:axis], len(args), *shapes[0][axis:]))


define(
    OpDef(
        "stack",
        OpKind.CALL,
        _infer_stack,
        lambda args, params: np.stack(args, axis=params["axis"]),
        "The operands along a new axis params[axis].",
        (Sample(((2, 3), (2, 3)), {"axis": 1}), Sample(((), (), ()), {"axis": 0}), Sample(((3,),), {"axis": 0})),
    )
)


def _arrays(value: Any) -> tuple[Operand, ...]:
    if not isinstance(value, tuple | list) or not value:
        raise OpError("no sequence of arrays")
    return tuple(array(item) for item in value)


@spell("concatenate", "np.concatenate", np.concatenate, np.concat)
def _bind_concatenate(
    ask: Relate, arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Bound:
    refuse(out=(out, None), dtype=(dtype, None), casting=(casting, "same_kind"))
    nodes = _arrays(arrays)
    return Bound("concatenate", nodes, {"axis": axis_of(axis, type_of(nodes[0]).ndim)})


@spell("stack", "np.stack", np.stack)
def _bind_stack(
    ask: Relate, arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Bound:
    refuse(out=(out, None), dtype=(dtype, None), casting=(casting, "same_kind"))
    nodes = _arrays(arrays)
    return Bound("stack", nodes, {"axis": axis_of(axis, type_of(nodes[0]).ndim + 1)})


@spell("concatenate", "np.hstack", np.hstack)
def _bind_hstack(ask: Relate, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Bound:
    refuse(dtype=(dtype, None), casting=(casting, "same_kind"))
    nodes = _arrays(tup)
    if not type_of(nodes[0]).shape:
        raise OpError("hstack of 0-d arrays has no rule")
    return Bound("concatenate", nodes, {"axis": 0 if type_of(nodes[0]).ndim == 1 else 1})


@spell("concatenate stack", "np.vstack", np.vstack)
def _bind_vstack(ask: Relate, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Bound:
    refuse(dtype=(dtype, None), casting=(casting, "same_kind"))
    nodes = _arrays(tup)
    ranks = {type_of(node).ndim for node in nodes}
    if ranks == {1}:
        return Bound("stack", nodes, {"axis": 0})
    if ranks & {0, 1}:
        raise OpError("vstack of arrays of these ranks has no rule")
    return Bound("concatenate", nodes, {"axis": 0})


# sorting and searching


def _arg_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape, axis = shapes[0], params["axis"]
    axes = range(len(shape)) if axis is None else (axis,)
    if any(shape[place] == 0 for place in axes):
        raise OpError("argmin and argmax of no elements raise")
    return reduced_shape(shape, axes, params["keepdims"])


_ARG_SAMPLES = (
    Sample(((2, 3),), {"axis": None, "keepdims": False}),
    Sample(((2, 3),), {"axis": 1, "keepdims": False}),
    Sample(((2, 3),), {"axis": 0, "keepdims": True}),
    Sample(((3,),), {"axis": 0, "keepdims": False}),
    Sample(((),), {"axis": None, "keepdims": False}),
    Sample(((2, 3),), {"axis": None, "keepdims": True}),
)


def _define_arg(name: str, function: Any, summary: str) -> None:
    opaque(name, function, _arg_shape, summary, _ARG_SAMPLES)

    def bind(ask: Relate, a: Any, axis: Any = None, out: Any = None, keepdims: Any = np._NoValue) -> Bound:
        refuse(out=(out, None))
        node = array(a)
        place = None if axis is None else axis_of(axis, node.array_type.ndim)
        keep = keepdims is not np._NoValue and static_bool(keepdims, "keepdims")
        return Bound(name, (node,), {"axis": place, "keepdims": keep})

    spell(name, f"np.{name}", function, method=name)(bind)


_define_arg("argmax", np.argmax, "The position of the first maximum (or NaN).")
_define_arg("argmin", np.argmin, "The position of the first minimum (or NaN).")

_SORT_SAMPLES = (
    Sample(((2, 3),), {"axis": 1, "kind": None}),
    Sample(((3,),), {"axis": 0, "kind": "stable"}),
    Sample(((2, 3),), {"axis": 0, "kind": None}),
)


def _sort(a: Any, axis: int, kind: Any) -> Any:
    return np.sort(a, axis=axis, kind=kind)


def _argsort(a: Any, axis: int, kind: Any) -> Any:
    return np.argsort(a, axis=axis, kind=kind)


opaque("sort", _sort, same_shape, "A sorted copy along params[axis].", _SORT_SAMPLES)
opaque("argsort", _argsort, same_shape, "The positions that sort along params[axis].", _SORT_SAMPLES)


def _sort_params(node: Node, axis: Any, kind: Any, order: Any, stable: Any) -> dict[str, Any]:
    refuse(order=(order, None))
    if stable is not None:
        kind = "stable" if static_bool(stable, "stable") else None
    if axis is None or node.array_type.scalar:
        raise OpError("a sort of all elements has no rule")
    return {"axis": axis_of(axis, node.array_type.ndim), "kind": kind}


@spell("sort", "np.sort", np.sort)
def _bind_sort(
    ask: Relate, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Bound:
    return Bound("sort", (array(a),), _sort_params(array(a), axis, kind, order, stable))


@spell("sort", None, method="sort")
def _bind_method_sort(
    ask: Relate, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Bound:
    node = array(a)
    return Bound("sort", (node,), _sort_params(node, axis, kind, order, stable), node, "no", "none")


@spell("argsort", "np.argsort", np.argsort, method="argsort")
def _bind_argsort(
    ask: Relate, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Bound:
    return Bound("argsort", (array(a),), _sort_params(array(a), axis, kind, order, stable))


def _infer_partition(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    inside = ask(make("lt", params["kth"], type_.shape[params["axis"]]))
    if not inside and not ask(make("eq", product(type_.shape), 0)):
        raise OpError("partition at a place that is not there")
    return ArrayType(type_.dtype, type_.shape)


def _infer_argpartition(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    return replace(_infer_partition(args, params, ask), dtype=np.dtype(np.intp))


_PARTITIONS: tuple[tuple[str, Any, Any, str], ...] = (
    ("partition", np.partition, _infer_partition, "A copy with element params[kth] in its sorted place."),
    ("argpartition", np.argpartition, _infer_argpartition, "The positions that partition along params[axis]."),
)
for _name, _partition, _infer, _summary in _PARTITIONS:
    define(
        OpDef(
            _name,
            OpKind.CALL,
            _infer,
            lambda args, params, function=_partition: function(args[0], params["kth"], axis=params["axis"]),  # type: ignore[misc]
            _summary,
            (Sample(((2, 3),), {"kth": 1, "axis": 1}), Sample(((3,),), {"kth": 0, "axis": 0})),
        )
    )

    @spell(_name, f"np.{_name}", _partition)
    def _bind_partition(
        ask: Relate, a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None, name: str = _name
    ) -> Bound:
        refuse(kind=(kind, "introselect"), order=(order, None))
        node = array(a)
        if axis is None or node.array_type.scalar or not node.array_type.ndim:
            raise OpError(f"{name} of all elements has no rule")
        place = static_int(kth, "kth")
        if place < 0:
            raise OpError(f"{name} at a negative place has no rule")
        return Bound(name, (node,), {"kth": place, "axis": axis_of(axis, node.array_type.ndim)})


def _searchsorted_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    if len(shapes[0]) != 1:
        raise OpError("searchsorted in an array that is not 1-d")
    return shapes[1]


opaque(
    "searchsorted",
    np.searchsorted,
    _searchsorted_shape,
    "Where to insert the second operand's elements into the first.",
    (
        Sample(((3,), (2, 2)), {"side": "left"}),
        Sample(((3,), ()), {"side": "right"}),
        Sample(((3,), 1), {"side": "left"}),
    ),
)


@spell("searchsorted", "np.searchsorted", np.searchsorted, method="searchsorted")
def _bind_searchsorted(ask: Relate, a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Bound:
    refuse(sorter=(sorter, None))
    return Bound("searchsorted", (array(a), operand(v)), {"side": side})


# other ndarray methods and functions


def _repeat_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    axis, times = params["axis"], params["repeats"]
    if axis is None:
        return (make("mul", element_count(shapes[0], ask), times),)  # type: ignore[return-value]
    return tuple(
        make("mul", dim, times) if place == axis else dim  # type: ignore[misc]
        for place, dim in enumerate(shapes[0])
    )


opaque(
    "repeat",
    np.repeat,
    _repeat_shape,
    "Every element params[repeats] times along params[axis].",
    (
        Sample(((2, 3),), {"repeats": 2, "axis": 0}),
        Sample(((2, 3),), {"repeats": 3, "axis": None}),
        Sample(((3,),), {"repeats": 0, "axis": 0}),
    ),
)


@spell("repeat", "np.repeat", np.repeat, method="repeat")
def _bind_repeat(ask: Relate, a: Any, repeats: Any, axis: Any = None) -> Bound:
    node = array(a)
    times = static_int(repeats, "repeats")
    if times < 0:
        raise OpError("negative repeats raise")
    place = None if axis is None else axis_of(axis, node.array_type.ndim)
    return Bound("repeat", (node,), {"repeats": times, "axis": place})


def _trace_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    gone = {params["axis1"], params["axis2"]}
    if len(gone) != 2:
        raise OpError("trace of one axis")
    return reduced_shape(shapes[0], gone, False)


opaque(
    "trace",
    np.trace,
    _trace_shape,
    "The sum along the diagonal params[offset] of two axes.",
    (
        Sample(((2, 3),), {"offset": 0, "axis1": 0, "axis2": 1}),
        Sample(((4, 2, 3),), {"offset": 1, "axis1": 2, "axis2": 0}),
    ),
)


@spell("trace", "np.trace", np.trace, method="trace")
def _bind_trace(
    ask: Relate, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Bound:
    refuse(dtype=(dtype, None), out=(out, None))
    node = array(a)
    ndim = node.array_type.ndim
    return Bound(
        "trace",
        (node,),
        {"offset": static_int(offset, "offset"), "axis1": axis_of(axis1, ndim), "axis2": axis_of(axis2, ndim)},
    )


def _triangle_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return shapes[0] if len(shapes[0]) > 1 else shapes[0] * 2


for _name, _function, _summary in (
    ("tril", np.tril, "Zeros above diagonal params[k]."),
    ("triu", np.triu, "Zeros below diagonal params[k]."),
):
    opaque(
        _name,
        _function,
        _triangle_shape,
        _summary,
        (Sample(((2, 3),), {"k": 0}), Sample(((2, 3, 3),), {"k": -1}), Sample(((3,),), {"k": 1})),
    )

    @spell(_name, f"np.{_name}", _function)
    def _bind_triangle(ask: Relate, m: Any, k: Any = 0, name: str = _name) -> Bound:
        return Bound(name, (array(m),), {"k": static_int(k, "k")})


def _interp_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    if len(shapes[1]) != 1 or len(shapes[2]) != 1 or shapes[1] == (0,):
        raise OpError("interp of sample points that are not 1-d")
    equal(shapes[1][0], shapes[2][0], ask)
    return shapes[0]


opaque(
    "interp",
    np.interp,
    _interp_shape,
    "Piecewise linear interpolation.",
    (Sample(((2, 2), (3,), (3,)), {}, ("", "d", "d")), Sample(((), (3,), (3,)), {}, ("", "d", "d"))),
)


@spell("interp", "np.interp", np.interp)
def _bind_interp(
    ask: Relate, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Bound:
    refuse(left=(left, None), right=(right, None), period=(period, None))
    return Bound("interp", (operand(x), array(xp), array(fp)))


def _correlate_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise OpError("correlate of arrays that are not 1-d")
    (long,), (short,) = shapes
    if not ask(make("ge", long, short)):
        long, short = short, long
    if not ask(make("ge", short, 1)):
        raise OpError("correlate of no elements raises")
    if params["mode"] == "same":
        return (long,)
    if params["mode"] == "valid":
        return (make("add", make("sub", long, short), 1),)  # type: ignore[return-value]
    return (make("sub", make("add", long, short), 1),)  # type: ignore[return-value]


_VECTOR_PRODUCTS: tuple[tuple[str, Any, str, str], ...] = (
    ("correlate", np.correlate, "valid", "Cross-correlation of two vectors."),
    ("convolve", np.convolve, "full", "Convolution of two vectors."),
)
for _name, _function, _default, _summary in _VECTOR_PRODUCTS:
    opaque(
        _name,
        _function,
        _correlate_shape,
        _summary,
        tuple(
            Sample(shapes, {"mode": mode})
            for mode in ("valid", "same", "full")
            for shapes in (((5,), (3,)), ((2,), (5,)))
        ),
    )

    @spell(_name, f"np.{_name}", _function)
    def _bind_correlate(ask: Relate, a: Any, v: Any, mode: Any = _default, name: str = _name) -> Bound:
        if mode not in ("valid", "same", "full"):
            raise OpError(f"mode={mode!r} has no rule")
        return Bound(name, (array(a), array(v)), {"mode": mode})


# diagonal matrices


def _diag_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    if len(shapes[0]) != 1:
        raise OpError("the diagonal of a matrix is a read-only view: no rule")
    side: Any = make("add", shapes[0][0], abs(params["k"]))
    return (side, side)


opaque(
    "diag",
    np.diag,
    _diag_shape,
    "The matrix with a vector on diagonal params[k].",
    (Sample(((3,),), {"k": 0}), Sample(((3,),), {"k": -2})),
)


@spell("diag", "np.diag", np.diag)
def _bind_diag(ask: Relate, v: Any, k: Any = 0) -> Bound:
    return Bound("diag", (array(v),), {"k": static_int(k, "k")})


# copies with other places

MOST_ROLLED = 8  # places; a stencil's arms


def _roll_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return shapes[0]


opaque(
    "roll",
    np.roll,
    _roll_shape,
    "Elements moved by params[shift] along params[axis], those that leave come in at the other end.",
    (Sample(((2, 3),), {"shift": 1, "axis": 0}), Sample(((2, 3),), {"shift": -2, "axis": None})),
)


@spell("roll", "np.roll", np.roll)
def _bind_roll(ask: Relate, a: Any, shift: Any, axis: Any = None) -> Bound:
    node = array(a)
    place = None if axis is None else axis_of(axis, node.array_type.ndim)
    steps = static_int(shift, "shift")
    if place is not None and 0 < abs(steps) <= MOST_ROLLED:
        # Asked for lower/decompose.py, which makes two stores of it where it knows the sizes of the parts.
        size = node.array_type.shape[place]
        with contextlib.suppress(Undecided):
            if ask(make("ge", size, abs(steps))):
                ask(make("eq", make("sub", size, abs(steps)), 1))
    return Bound("roll", (node,), {"shift": steps, "axis": place})


def _tile_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape, reps = shapes[0], params["reps"]
    rank = max(len(shape), len(reps))
    sizes = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(reps)) + reps
    return tuple(make("mul", size, n) for size, n in zip(sizes, times, strict=True))  # type: ignore[misc]


opaque(
    "tile",
    np.tile,
    _tile_shape,
    "The array params[reps] times side by side along each axis.",
    (
        Sample(((2, 3),), {"reps": (2, 1)}),
        Sample(((3,),), {"reps": (2, 2)}),
        Sample(((2, 3),), {"reps": (3,)}),
        Sample(((3,),), {"reps": (0,)}),
    ),
)


@spell("tile", "np.tile", np.tile)
def _bind_tile(ask: Relate, A: Any, reps: Any) -> Bound:
    times = tuple(static_int(n, "reps") for n in (reps if isinstance(reps, tuple | list) else (reps,)))
    if any(n < 0 for n in times):
        raise OpError("negative reps raise")
    return Bound("tile", (array(A),), {"reps": times})
