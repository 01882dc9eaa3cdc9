"""Opaque ops that move elements: joining, sorting, searching, repeating, triangles; and vectors' convolution.

NumPy does the work (see calls.py); each row gives the shape rule. INVARIANT: results are fresh arrays.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from dynamo_lite.dataclass import replace
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import Scalar, is_scalar, kind_of, make, product, total
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import Shape, equal, opaque, same_shape
from dynamo_lite.ops.conversion import convert, pending, sample_scalar, view
from dynamo_lite.ops.creation import number_dtype
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Arrays,
    AxesOrListOrNone,
    CountOrCounts,
    Counts,
    DType,
    Flag,
    FlagOrNone,
    FlagOrNoValue,
    Int,
    IntOrNone,
    Joined,
    OpenIntOrSeveral,
    OperandArg,
    ProductMode,
    Side,
    SortKind,
    Unmodelled,
    array,
    axis_of,
    type_of,
)
from dynamo_lite.ops.reductions import reduced_shape
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


def _widen(node: Any, ndim: int) -> Any:
    """The array with axes of one element put before, up to `ndim` of them, as np.atleast_1d and np.atleast_2d do."""
    for _ in range(type_of(node).ndim, ndim):
        node = convert([node])
    return node


@spell("concatenate", "np.concatenate", np.concatenate, np.concat)
def _bind_concatenate(
    ask: Relate,
    arrays: Arrays,
    /,
    axis: Int = 0,
    out: Unmodelled = None,
    *,
    dtype: Unmodelled = None,
    casting: Unmodelled = "same_kind",
) -> Bound:
    return Bound("concatenate", arrays, {"axis": axis_of(axis, type_of(arrays[0]).ndim)})


@spell("stack", "np.stack", np.stack)
def _bind_stack(
    ask: Relate,
    arrays: Arrays,
    axis: Int = 0,
    out: Unmodelled = None,
    *,
    dtype: Unmodelled = None,
    casting: Unmodelled = "same_kind",
) -> Bound:
    return Bound("stack", arrays, {"axis": axis_of(axis, type_of(arrays[0]).ndim + 1)})


@spell("concatenate", "np.hstack", np.hstack)
def _bind_hstack(ask: Relate, tup: Arrays, *, dtype: Unmodelled = None, casting: Unmodelled = "same_kind") -> Bound:
    nodes = tuple(_widen(node, 1) for node in tup)
    return Bound("concatenate", nodes, {"axis": 0 if type_of(nodes[0]).ndim == 1 else 1})


@spell("concatenate stack", "np.vstack", np.vstack)
def _bind_vstack(ask: Relate, tup: Arrays, *, dtype: Unmodelled = None, casting: Unmodelled = "same_kind") -> Bound:
    if {type_of(node).ndim for node in tup} == {1}:
        return Bound("stack", tup, {"axis": 0})
    return Bound("concatenate", tuple(_widen(node, 2) for node in tup), {"axis": 0})


@spell("concatenate", "np.column_stack", np.column_stack)
def _bind_column_stack(ask: Relate, tup: Arrays) -> Bound:
    return Bound("concatenate", tuple(_column(node) for node in tup), {"axis": 1})


# np.r_ and np.c_: arrays, numbers and slices, one after another


def _joined(items: tuple[Any, ...], column: bool) -> Bound:
    """Numbers are weak; a vector, or what a slice counts, is a column of np.c_."""
    if not items:
        raise OpError("nothing to join")
    parts = [pending("arange", _counted(item), {}) if isinstance(item, slice) else item for item in items]
    samples = [sample_scalar(part) if is_scalar(part) else type_of(part).dtype for part in parts]
    dtype = np.result_type(*samples)
    arrays = [convert(part, dtype) if is_scalar(part) else array(part) for part in parts]
    ranks = {max(type_of(one).ndim, 1 + column) for one in arrays}
    if len(ranks) != 1:
        raise OpError("arrays of different ranks")
    wide = [_column(one) if column else _widen(one, 1) for one in arrays]
    return Bound("concatenate", tuple(wide), {"axis": max(ranks) - 1 if column else 0})


def _counted(item: slice) -> tuple[Any, Any, Any]:
    start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
    if item.stop is None or not all(is_scalar(one) and kind_of(one) == "int" for one in (start, item.stop, step)):
        raise OpError("a slice of other than ints")
    return start, item.stop, step


@spell("concatenate", "np.r_", subscript=np.r_)
def _bind_r(ask: Relate, *items: Joined) -> Bound:
    return _joined(items, False)


@spell("concatenate", "np.c_", subscript=np.c_)
def _bind_c(ask: Relate, *items: Joined) -> Bound:
    return _joined(items, True)


def _column(node: Any) -> Any:
    """A vector as a matrix of one column."""
    ndim = type_of(node).ndim
    if ndim == 0:
        return _widen(node, 2)
    return view(node, "basic_index", {"index": ((None, None, None), None), "scalar": False}) if ndim == 1 else node


# sorting and searching


def _arg_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    shape, axis = shapes[0], params["axis"]
    axes = range(len(shape)) if axis is None else (axis,)
    return reduced_shape(shape, axes, params["keepdims"])  # for no elements, each call declines


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

    def bound(a: Node, axis: int | None, keepdims: bool) -> Bound:
        place = None if axis is None else axis_of(axis, a.array_type.ndim)
        return Bound(name, (a,), {"axis": place, "keepdims": keepdims})

    def bind(
        ask: Relate,
        a: ArrayArg,
        axis: IntOrNone = None,
        out: Unmodelled = None,
        *,
        keepdims: FlagOrNoValue = np._NoValue,
    ) -> Bound:
        return bound(a, axis, keepdims is True)

    def bind_method(
        ask: Relate, a: ArrayArg, axis: IntOrNone = None, out: Unmodelled = None, *, keepdims: Flag = False
    ) -> Bound:
        return bound(a, axis, keepdims)

    spell(name, f"np.{name}", function)(bind)
    spell(name, None, method=name)(bind_method)


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


def _sort_params(node: Node, axis: int | None, kind: str | None, stable: bool | None) -> dict[str, Any]:
    if stable is not None:
        if kind is not None:
            raise OpError("kind= and stable= at once")
        kind = "stable" if stable else None
    if axis is None or node.array_type.scalar:
        raise OpError("a sort of all elements has no rule")
    return {"axis": axis_of(axis, node.array_type.ndim), "kind": kind}


@spell("sort", "np.sort", np.sort)
def _bind_sort(
    ask: Relate,
    a: ArrayArg,
    axis: IntOrNone = -1,
    kind: SortKind = None,
    order: Unmodelled = None,
    *,
    stable: FlagOrNone = None,
) -> Bound:
    return Bound("sort", (a,), _sort_params(a, axis, kind, stable))


@spell("sort", None, method="sort")
def _bind_method_sort(
    ask: Relate,
    a: ArrayArg,
    axis: Int = -1,
    kind: SortKind = None,
    order: Unmodelled = None,
    *,
    stable: FlagOrNone = None,
) -> Bound:
    return Bound("sort", (a,), _sort_params(a, axis, kind, stable), a, "no", "none")


@spell("argsort", "np.argsort", np.argsort, method="argsort")
def _bind_argsort(
    ask: Relate,
    a: ArrayArg,
    axis: IntOrNone = -1,
    kind: SortKind = None,
    order: Unmodelled = None,
    *,
    stable: FlagOrNone = None,
) -> Bound:
    return Bound("argsort", (a,), _sort_params(a, axis, kind, stable))


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


def _spell_partition(name: str, function: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        kth: Int,
        axis: IntOrNone = -1,
        kind: Unmodelled = "introselect",
        order: Unmodelled = None,
    ) -> Bound:
        if axis is None or a.array_type.scalar or not a.array_type.ndim:
            raise OpError(f"{name} of all elements has no rule")
        if kth < 0:
            raise OpError(f"{name} at a negative place has no rule")
        return Bound(name, (a,), {"kth": kth, "axis": axis_of(axis, a.array_type.ndim)})

    spell(name, f"np.{name}", function)(bind)


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
    _spell_partition(_name, _partition)


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


@spell("searchsorted", "np.searchsorted", np.searchsorted)
def _bind_searchsorted(
    ask: Relate, a: ArrayArg, v: OperandArg, side: Side = "left", sorter: Unmodelled = None
) -> Bound:
    return Bound("searchsorted", (a, v), {"side": side})


@spell("searchsorted", None, method="searchsorted")
def _bind_method_searchsorted(
    ask: Relate, a: ArrayArg, v: OperandArg, /, side: Side = "left", sorter: Unmodelled = None
) -> Bound:
    return Bound("searchsorted", (a, v), {"side": side})


# other ndarray methods and functions

MOST_REPEATED = 4  # times, each with a store of its own


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


def _not_negative(count: Scalar, what: str, ask: Relate) -> Scalar:
    """A number of copies, known or not."""
    if not ask(make("ge", count, 0)):
        raise OpError(f"negative {what} raise")
    return count


@spell("repeat repeat_each", "np.repeat", np.repeat)
def _bind_repeat(ask: Relate, a: ArrayArg, repeats: CountOrCounts, axis: IntOrNone = None) -> Bound:
    return _repeated(ask, a, repeats, axis)


@spell("repeat repeat_each", None, method="repeat")
def _bind_method_repeat(ask: Relate, a: ArrayArg, repeats: CountOrCounts, /, axis: IntOrNone = None) -> Bound:
    return _repeated(ask, a, repeats, axis)


def _repeated(ask: Relate, a: Node, repeats: Any, axis: int | None) -> Bound:
    place = None if axis is None else axis_of(axis, a.array_type.ndim)
    if isinstance(repeats, Node):
        return Bound("repeat_each", (a, repeats), {"axis": place})
    along = 0 if a.array_type.ndim == 1 else place
    if along is not None and isinstance(repeats, int) and 0 < repeats <= MOST_REPEATED:
        with contextlib.suppress(Undecided):  # asked for lower/assemble.py
            ask(make("ge", a.array_type.shape[along], 1))
    return Bound("repeat", (a,), {"repeats": _not_negative(repeats, "repeats", ask), "axis": place})


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
    ask: Relate,
    a: ArrayArg,
    offset: Int = 0,
    axis1: Int = 0,
    axis2: Int = 1,
    dtype: Unmodelled = None,
    out: Unmodelled = None,
) -> Bound:
    ndim = a.array_type.ndim
    return Bound("trace", (a,), {"offset": offset, "axis1": axis_of(axis1, ndim), "axis2": axis_of(axis2, ndim)})


def _triangle_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return shapes[0] if len(shapes[0]) > 1 else shapes[0] * 2


def _spell_triangle(name: str, function: Any) -> None:
    def bind(ask: Relate, m: ArrayArg, k: Int = 0) -> Bound:
        return Bound(name, (m,), {"k": k})

    spell(name, f"np.{name}", function)(bind)


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
    _spell_triangle(_name, _function)


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
    ask: Relate,
    x: OperandArg,
    xp: ArrayArg,
    fp: ArrayArg,
    left: Unmodelled = None,
    right: Unmodelled = None,
    period: Unmodelled = None,
) -> Bound:
    return Bound("interp", (x, xp, fp))


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


def _spell_vector_product(name: str, function: Any, default: str) -> None:
    def bind(ask: Relate, a: ArrayArg, v: ArrayArg, mode: ProductMode = default) -> Bound:
        return Bound(name, (a, v), {"mode": mode})

    spell(name, f"np.{name}", function)(bind)


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
    _spell_vector_product(_name, _function, _default)


# diagonal matrices


def _diag_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    if len(shapes[0]) != 1:
        raise OpError("np.diag of other than a vector or a matrix")
    side: Any = make("add", shapes[0][0], abs(params["k"]))
    return (side, side)


opaque(
    "diag",
    np.diag,
    _diag_shape,
    "The matrix with a vector on diagonal params[k].",
    (Sample(((3,),), {"k": 0}), Sample(((3,),), {"k": -2})),
)


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


@spell("roll copy", "np.roll", np.roll)
def _bind_roll(ask: Relate, a: ArrayArg, shift: OpenIntOrSeveral, axis: AxesOrListOrNone = None) -> Bound:
    if not isinstance(shift, tuple) and (axis is None or isinstance(axis, int)):
        return _rolled(ask, a, a.array_type.shape, shift, axis)
    if axis is None:
        raise OpError("np.roll by several places of no axis")
    axes, shifts = (one if isinstance(one, tuple) else (one,) for one in (axis, shift))
    count = max(len(axes), len(shifts))
    if not {len(axes), len(shifts)} <= {1, count} or count == 0:
        raise OpError("np.roll by another number of places than axes")
    if count > 1 and 1 in a.array_type.shape:
        raise OpError("np.roll of several axes makes one array, and so has other strides along axes of size 1")
    pairs = list(zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True))
    moving = [pair for pair in pairs if pair[0] != 0]
    pairs = moving or pairs[-1:]
    shape = a.array_type.shape  # NB: a pending node's is not known yet
    for places, along in pairs[:-1]:
        place = axis_of(along, len(shape))
        _ask_size(ask, shape, places, place)
        a = pending("roll", (a,), {"shift": places, "axis": place})
    return _rolled(ask, a, shape, *pairs[-1])


def _rolled(ask: Relate, a: Node, shape: Shape, shift: Scalar, axis: int | None) -> Bound:
    place = None if axis is None else axis_of(axis, len(shape))
    if shift == 0 and place is not None:
        return Bound("copy", (a,), {"order": "K"})  # which lies as np.roll's result does
    _ask_size(ask, shape, shift, place)
    return Bound("roll", (a,), {"shift": shift, "axis": place})


def _ask_size(ask: Relate, shape: Shape, shift: Scalar, place: int | None) -> None:
    """Have capture guard that a roll by few places is not longer than what it goes through: lower/pad.py and
    decompose.py know the sizes of the parts then."""
    if isinstance(shift, int) and 0 < abs(shift) <= MOST_ROLLED and shape:
        size = product(shape) if place is None else shape[place]
        with contextlib.suppress(Undecided):
            if ask(make("ge", size, abs(shift))):
                ask(make("eq", make("sub", size, abs(shift)), 1))


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


@spell("tile full reshape", "np.tile", np.tile)
def _bind_tile(ask: Relate, A: OperandArg, reps: Counts) -> Bound:
    times = tuple(_not_negative(n, "reps", ask) for n in (reps if isinstance(reps, tuple) else (reps,)))
    if not isinstance(A, Node):
        row = pending("full", (A,), {"shape": (product(times),), "dtype": number_dtype(A), "order": "C"})
        return Bound("reshape", (row,), {"shape": times})
    if not all(ask(make("ge", size, 1)) for size in A.array_type.shape):
        raise OpError("np.tile of an empty array, which is a view of it")
    with contextlib.suppress(Undecided):  # asked for lower/assemble.py
        all(ask(make("ge", n, 1)) for n in times)
    return Bound("tile", (A,), {"reps": times})
