"""Opaque ops of functions that NumPy writes in Python and that look at values on their way, which a graph cannot:
medians, quantiles, histograms, cross products, windows.

NumPy's function runs as a whole (see calls.py). INVARIANT: results are fresh arrays or NumPy scalars.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.scalar import Scalar, is_symbolic, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import Shape, equal, opaque
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Axes,
    Flag,
    Int,
    IntOrNone,
    Kind,
    OperandArg,
    OptionalOperand,
    SizeArg,
    Text,
    Unmodelled,
    axis_of,
    only,
    type_of,
)
from dynamo_lite.ops.reductions import axes_of, reduced_shape
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
from dynamo_lite.ops.shapes import broadcast, settle

# medians and quantiles


def _axes(value: Any, ndim: int) -> tuple[int, ...] | None:
    return None if value is None else axes_of(value, ndim)


def _reduced(shape: Shape, params: dict[str, Any], ask: Relate) -> Shape:
    axes = tuple(range(len(shape))) if params["axis"] is None else params["axis"]
    if not all(ask(make("ge", shape[axis], 1)) for axis in axes):
        raise OpError("of no elements it warns or raises")
    return reduced_shape(shape, axes, params["keepdims"])


def _median_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return _reduced(shapes[0], params, ask)


def _quantile_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return (*shapes[1], *_reduced(shapes[0], params, ask))


_AXES = ({"axis": None, "keepdims": False}, {"axis": (1,), "keepdims": False}, {"axis": (0,), "keepdims": True})

# NB: nanmedian and its like warn of slices that are all NaN, at a place that depends on the caller's frame: no rule.
opaque(
    "median",
    np.median,
    _median_shape,
    "The median over params[axis].",
    tuple(Sample(((2, 3),), params) for params in _AXES),
)


@spell("median", "np.median", np.median)
def _bind_median(
    ask: Relate,
    a: ArrayArg,
    axis: Axes = None,
    out: Unmodelled = None,
    overwrite_input: Unmodelled = False,
    keepdims: Flag = False,
) -> Bound:
    return Bound("median", (a,), {"axis": _axes(axis, a.array_type.ndim), "keepdims": keepdims})


def _spell_quantile(name: str, function: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        q: OperandArg,
        axis: Axes = None,
        out: Unmodelled = None,
        overwrite_input: Unmodelled = False,
        method: Text = "linear",
        keepdims: Flag = False,
        *,
        weights: Unmodelled = None,
    ) -> Bound:
        params = {"axis": _axes(axis, a.array_type.ndim), "keepdims": keepdims, "method": method}
        return Bound(name, (a, q), params)

    spell(name, f"np.{name}", function)(bind)


for _name, _function, _summary, _q in (
    ("percentile", np.percentile, "The percentiles (second operand) over params[axis]; params method.", 30.0),
    ("quantile", np.quantile, "The quantiles (second operand) over params[axis]; params method.", 0.3),
):
    opaque(
        _name,
        _function,
        _quantile_shape,
        _summary,
        tuple(Sample(((2, 3), _q), params | {"method": "linear"}) for params in _AXES),
    )
    _spell_quantile(_name, _function)


# histogram


def _infer_histogram(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> tuple[ArrayType, ...]:
    type_ = type_of(args[0])
    bins = params["bins"]
    if type_.dtype.kind not in "iuf" or not ask(make("ge", bins, 1)):
        raise OpError(f"histogram of {type_.dtype} into {bins} bins")
    sample = np.zeros(2, type_.dtype)
    counts, edges = np.histogram(sample, 2, None if params["range"] is None else (0.0, 1.0))
    sizes = settle(bins, ask), settle(make("add", bins, 1), ask)
    return ArrayType(counts.dtype, (sizes[0],)), ArrayType(edges.dtype, (sizes[1],))


define(
    OpDef(
        "histogram",
        OpKind.CALL,
        _infer_histogram,
        lambda args, params: np.histogram(args[0], params["bins"], params["range"]),
        "How many elements lie in each of params[bins] bins of one width, and the bins' edges; params range.",
        (
            Sample(((3,),), {"bins": 4, "range": None}, ("?bhilBHILefd",)),
            Sample(((2, 3),), {"bins": 2, "range": (0.0, 3.0)}, ("?bhilBHILefd",)),
        ),
        function=np.histogram,
    )
)


def _infer_weighted(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> tuple[ArrayType, ...]:
    _, edges = _infer_histogram(args[:1], params, ask)
    return ArrayType(_weights_dtype(args, ask), (settle(params["bins"], ask),)), edges


def _weights_dtype(args: tuple[Argument, ...], ask: Relate) -> Any:
    """The dtype of counts of elements that have weights."""
    values, weights = type_of(args[0]), type_of(args[-1])
    if weights.dtype.kind not in "iuf" or weights.ndim != values.ndim:
        raise OpError(f"weights of {weights}")
    for one, other in zip(values.shape, weights.shape, strict=True):
        equal(one, other, ask)
    return np.histogram(np.zeros(2), 2, weights=np.ones(2, weights.dtype))[0].dtype


define(
    OpDef(
        "histogram_weighted",
        OpKind.CALL,
        _infer_weighted,
        lambda args, params: np.histogram(args[0], params["bins"], params["range"], weights=args[1]),
        "histogram, in which each element counts as its weight, the second operand, says.",
        (
            Sample(((3,), (3,)), {"bins": 4, "range": None}, ("?bhilBHILefd",) * 2),
            Sample(((2, 3), (2, 3)), {"bins": 2, "range": (0.0, 3.0)}, ("?bhilBHILefd",) * 2),
        ),
    )
)


def _range_or_none(value: Any) -> tuple[Scalar, Scalar] | None:
    if value is None:
        return None
    if type(value) in (tuple, list) and len(value) == 2 and all(map(_is_real_number, value)):
        return value[0], value[1]
    raise OpError("not two numbers")


def _is_real_number(value: Any) -> bool:
    return type(value) in (int, float) or (is_symbolic(value) and kind_of(value) in ("int", "float"))


RangeOrNone = Annotated[Any, Kind("two numbers, None", _range_or_none)]
NoDensity = Annotated[Any, only(False)]


@spell("histogram histogram_weighted", "np.histogram", np.histogram)
def _bind_histogram(
    ask: Relate,
    a: ArrayArg,
    bins: SizeArg = 10,
    range: RangeOrNone = None,
    density: NoDensity = None,
    weights: OptionalOperand = None,
) -> Bound:
    given = (a,) if weights is None else (a, weights)
    return Bound("histogram" if weights is None else "histogram_weighted", given, {"bins": bins, "range": range})


# cross products of vectors in space


def _cross_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    for shape in shapes:
        if not shape:
            raise OpError("cross of scalars")
        equal(shape[-1], 3, ask)
    return (*broadcast([shape[:-1] for shape in shapes], ask), 3)


def _infer_cross(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    types = [type_of(arg) for arg in args]
    shape = _cross_shape(tuple(type_.shape for type_ in types), params, ask)
    dtype = np.promote_types(types[0].dtype, types[1].dtype)
    if dtype.kind == "b":
        raise OpError("cross of bools raises")
    return ArrayType(dtype, shape)


define(
    OpDef(
        "cross",
        OpKind.CALL,
        _infer_cross,
        lambda args, params: np.cross(*args),
        "Cross products along the last axis, of three elements.",
        (Sample(((3,), (3,)), {}), Sample(((2, 3), (3,)), {}), Sample(((2, 3), (2, 3)), {})),
    )
)


@spell("cross", "np.cross", np.cross)
def _bind_cross(
    ask: Relate, a: ArrayArg, b: ArrayArg, axisa: Int = -1, axisb: Int = -1, axisc: Int = -1, axis: IntOrNone = None
) -> Bound:
    nodes = a, b
    rank = max(node.array_type.ndim for node in nodes)
    for node, place in zip((*nodes, None), (axisa, axisb, axisc) if axis is None else (axis,) * 3, strict=True):
        ndim = rank if node is None else node.array_type.ndim
        if axis_of(place, ndim) != ndim - 1:
            raise OpError("cross along another axis than the last")
    return Bound("cross", nodes)


# windows


def _infer_window(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if not ask(make("ge", params["M"], 1)):
        raise OpError("a window of no points")
    return ArrayType(np.dtype(np.float64), (settle(params["M"], ask),))


def _spell_window(name: str, function: Any) -> None:
    def bind(ask: Relate, M: SizeArg) -> Bound:
        return Bound(name, (), {"M": M})

    spell(name, f"np.{name}", function)(bind)


for _name in ("hanning", "hamming", "blackman", "bartlett"):
    _function = getattr(np, _name)
    define(
        OpDef(
            _name,
            OpKind.CREATION,
            _infer_window,
            lambda args, params, function=_function: function(params["M"]),  # type: ignore[misc]
            f"The {_name} window of params[M] points.",
            (Sample((), {"M": 5}), Sample((), {"M": 1}), Sample((), {"M": 2})),
            may_report=False,
        )
    )
    _spell_window(_name, _function)
