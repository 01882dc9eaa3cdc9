"""Reductions: ``ufunc.reduce`` over axes, as the one op "reduce", and its spellings (sum, max, any ...).

Params: ufunc, axes (sorted, non-negative), keepdims, dtype (absent: NumPy's choice), initial (a constant; absent: the
ufunc's identity). A result without axes is a NumPy scalar. Dtypes come from
``ufunc.resolve_dtypes((None, dtype, None), reduction=True)``; whether the ufunc may reduce these axes is asked of NumPy
on a small sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.parameters import (
    REFUSALS,
    ArrayArg,
    Axes,
    DType,
    DTypeOrNone,
    Flag,
    FlagOrNoValue,
    Int,
    IntOrNone,
    Out,
    PlainNumber,
    ReduceOut,
    Unmodelled,
    Where,
    axis_of,
    type_of,
)
from dynamo_lite.ops.registry import (
    Binder,
    Bound,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    define,
    spell,
    spell_ufunc_method,
)
from dynamo_lite.ops.shapes import element_count

_NO_VALUE = np._NoValue
ONE_BY_ONE = 7  # elements that NumPy adds one after the other; eight and more it adds in pairs


def axes_of(value: Any, ndim: int) -> tuple[int, ...]:
    """The axes an axis= argument names: sorted, non-negative; None is all of them."""
    if value is None:
        return tuple(range(ndim))
    axes = [axis_of(axis, ndim) for axis in (value if isinstance(value, tuple) else (value,))]
    if len(set(axes)) != len(axes):
        raise OpError("an axis is named twice")
    return tuple(sorted(axes))


def reduced_shape(shape: tuple[Dim, ...], axes: Iterable[int], keepdims: bool) -> tuple[Dim, ...]:
    """The shape without `axes`, or with them of size 1."""
    gone = set(axes)
    if keepdims:
        return tuple(1 if axis in gone else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in gone)


@cache
def reduce_dtypes(ufunc: np.ufunc, dtype: DType, result: DType | None) -> tuple[DType, DType]:
    """The accumulator's dtype, which the elements are cast to, and the dtype of the result.

    result: the dtype= argument.
    """
    try:
        _, element, out = ufunc.resolve_dtypes(
            (None, dtype, None),
            signature=(result, None, None),
            casting="unsafe",
            reduction=True,
        )
    except REFUSALS as error:
        raise OpError(f"{ufunc.__name__}.reduce: {error}") from None
    if dtype.kind == "c" and element.kind not in "cb":
        raise OpError("discarding the imaginary part warns")
    return element, out


@lru_cache(1024)  # NB: keys hold numbers of users' programs
def _try_reduce(ufunc: np.ufunc, dtype: DType, ndim: int, axes: tuple[int, ...], initial: Any) -> bool:
    keywords = {} if initial is None else {"initial": initial[0]}
    try:
        with np.errstate(all="ignore"):
            ufunc.reduce(np.ones((1,) * ndim, dtype), axis=axes, **keywords)
    except REFUSALS as error:
        raise OpError(f"{ufunc.__name__}.reduce: {error}") from None
    return True


def _infer_reduce(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    (node,) = args
    type_ = type_of(node)
    ufunc, axes = params["ufunc"], params["axes"]
    initial = (params["initial"],) if "initial" in params else None
    _, dtype = reduce_dtypes(ufunc, type_.dtype, params.get("dtype"))
    _try_reduce(ufunc, type_.dtype, type_.ndim, axes, initial)
    # NB: whether there are elements at all is asked in each call: a size here may yet turn out to be 0.
    shape = reduced_shape(type_.shape, axes, params["keepdims"])
    return ArrayType(dtype, shape, not shape)


def _evaluate_reduce(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    keywords = {key: params[key] for key in ("dtype", "keepdims", "initial") if key in params}
    return params["ufunc"].reduce(args[0], axis=params["axes"], **keywords)


def _reduction_samples() -> Iterable[Sample]:
    ufunc: np.ufunc
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or):
        for shape, axes, keepdims in (
            ((2, 3), (0, 1), False),
            ((2, 3), (0,), True),
            ((2, 3), (1,), False),
            ((3,), (0,), False),
            ((2, 1, 3), (1, 2), False),
            ((2, 3), (), False),
            ((), (), False),
            ((), (), True),
            ((2, 3), (0, 1), True),
        ):
            yield Sample((shape,), {"ufunc": ufunc, "axes": axes, "keepdims": keepdims})
    for ufunc in (np.bitwise_xor, np.subtract, np.hypot, np.logaddexp, np.fmax, np.gcd):
        yield Sample(((2, 3),), {"ufunc": ufunc, "axes": (1,), "keepdims": False})
    for code in "?bLefD":
        yield Sample(((2, 3),), {"ufunc": np.add, "axes": (0,), "keepdims": False, "dtype": np.dtype(code)})
        yield Sample(((3,),), {"ufunc": np.logical_or, "axes": (0,), "keepdims": False, "dtype": np.dtype(code)})
    yield Sample(((2, 3),), {"ufunc": np.maximum, "axes": (1,), "keepdims": False, "initial": 0})


define(
    OpDef(
        "reduce",
        OpKind.REDUCTION,
        _infer_reduce,
        _evaluate_reduce,
        "params[ufunc].reduce over params[axes], with NumPy's own order of operations.",
        tuple(_reduction_samples()),
    )
)


def bind_reduce(
    ufunc: np.ufunc,
    node: Node,
    axis: Any,
    dtype: DType | None,
    out: Any,
    keepdims: Any,
    initial: Any,
) -> Bound:
    """The canonical form of a reduction with the converted arguments of ``ufunc.reduce``."""
    params: dict[str, Any] = {
        "ufunc": ufunc,
        "axes": axes_of(axis, node.array_type.ndim),
        "keepdims": keepdims is True,
    }
    if dtype is not None:
        params["dtype"] = dtype
    if initial is not _NO_VALUE:
        params["initial"] = initial
    if out is None:
        return Bound("reduce", (node,), params)
    if out is ...:
        raise OpError("out=... of a reduction has no rule")
    if dtype is None:
        # Without dtype= the result's dtype is that of out (numpy/_core/src/umath/ufunc_object.c).
        source = node.array_type.dtype
        _, wanted = _dtypes_with_out(ufunc, source, out.array_type.dtype)
        if wanted != reduce_dtypes(ufunc, source, None)[1]:
            params["dtype"] = wanted
    return Bound("reduce", (node,), params, out, "unsafe")


def _dtypes_with_out(ufunc: np.ufunc, dtype: DType, out: DType) -> tuple[DType, DType]:
    try:
        _, element, result = ufunc.resolve_dtypes((out, dtype, None), casting="unsafe", reduction=True)
    except REFUSALS as error:
        raise OpError(f"{ufunc.__name__}.reduce: {error}") from None
    return element, result


@spell_ufunc_method("reduce", "reduce")
def _reduce_method(ufunc: np.ufunc) -> Binder:
    def bind(
        ask: Relate,
        array: ArrayArg,
        /,
        axis: Axes = 0,
        dtype: DTypeOrNone = None,
        out: ReduceOut = None,
        keepdims: Flag = False,
        initial: PlainNumber = _NO_VALUE,
        where: Unmodelled = True,
    ) -> Bound:
        return bind_reduce(ufunc, array, axis, dtype, out, keepdims, initial)

    return bind


def _spell_sum_like(ufunc: np.ufunc, name: str, *functions: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        axis: Axes = None,
        dtype: DTypeOrNone = None,
        out: Out = None,
        keepdims: FlagOrNoValue = _NO_VALUE,
        initial: PlainNumber = _NO_VALUE,
        where: Where = _NO_VALUE,
    ) -> Bound:
        return bind_reduce(ufunc, a, axis, dtype, out, keepdims, initial)

    spell("reduce", f"np.{name}", *functions, method=name)(bind)


def _spell_max_like(ufunc: np.ufunc, name: str, *functions: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        axis: Axes = None,
        out: Out = None,
        keepdims: FlagOrNoValue = _NO_VALUE,
        initial: PlainNumber = _NO_VALUE,
        where: Where = _NO_VALUE,
    ) -> Bound:
        return bind_reduce(ufunc, a, axis, None, out, keepdims, initial)

    spell("reduce", f"np.{name}", *functions, method=name)(bind)


def _spell_any_like(ufunc: np.ufunc, name: str, function: Any) -> None:
    def bind(
        ask: Relate,
        a: ArrayArg,
        axis: Axes = None,
        out: Out = None,
        keepdims: FlagOrNoValue = _NO_VALUE,
        *,
        where: Where = _NO_VALUE,
    ) -> Bound:
        return bind_reduce(ufunc, a, axis, np.dtype(bool), out, keepdims, _NO_VALUE)

    # NB: NumPy hands on a method's arguments as they are, to a function with dtype= between axis= and out=.
    def bind_method(
        ask: Relate,
        a: ArrayArg,
        axis: Axes = None,
        *,
        out: Out = None,
        keepdims: Flag = False,
        where: Unmodelled = True,
    ) -> Bound:
        return bind_reduce(ufunc, a, axis, np.dtype(bool), out, keepdims, _NO_VALUE)

    spell("reduce", f"np.{name}", function)(bind)
    spell("reduce", None, method=name)(bind_method)


_spell_sum_like(np.add, "sum", np.sum)
_spell_sum_like(np.multiply, "prod", np.prod)
_spell_max_like(np.maximum, "max", np.max, np.amax)
_spell_max_like(np.minimum, "min", np.min, np.amin)
_spell_any_like(np.logical_or, "any", np.any)
_spell_any_like(np.logical_and, "all", np.all)


# accumulate


def _infer_accumulate(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    if not type_.ndim:
        raise OpError("accumulate of a 0-d array raises")
    _, dtype = reduce_dtypes(params["ufunc"], type_.dtype, params.get("dtype"))
    return ArrayType(dtype, type_.shape)


def _evaluate_accumulate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return params["ufunc"].accumulate(args[0], axis=params["axis"], dtype=params.get("dtype"))


define(
    OpDef(
        "accumulate",
        OpKind.CALL,
        _infer_accumulate,
        _evaluate_accumulate,
        "params[ufunc].accumulate along params[axis] (cumsum, cumprod).",
        (
            *(
                Sample(((2, 3),), {"ufunc": ufunc, "axis": axis})
                for ufunc in (np.add, np.multiply, np.maximum, np.logical_or, np.subtract)
                for axis in (0, 1)
            ),
            Sample(((3,),), {"ufunc": np.add, "axis": 0, "dtype": np.dtype("f")}),
        ),
    )
)


@spell_ufunc_method("accumulate", "accumulate")
def _accumulate_method(ufunc: np.ufunc) -> Binder:
    def bind(
        ask: Relate, array: ArrayArg, /, axis: Int = 0, dtype: DTypeOrNone = None, out: ReduceOut = None
    ) -> Bound:
        return _bind_accumulate(ufunc, array, axis, dtype, out)

    return bind


def _bind_accumulate(ufunc: np.ufunc, node: Node, axis: int, dtype: DType | None, out: Any = None) -> Bound:
    params: dict[str, Any] = {"ufunc": ufunc, "axis": axis_of(axis, node.array_type.ndim)}
    if dtype is not None:
        params["dtype"] = dtype
    if out is not None:
        # NB: NumPy computes in the dtype of the array that it writes to.
        wanted = reduce_dtypes(ufunc, node.array_type.dtype, dtype)[1]
        if out is ... or out.array_type.dtype != wanted or out.array_type.ndim != node.array_type.ndim:
            raise OpError("accumulate into an array of another dtype or rank")
    return Bound("accumulate", (node,), params, out, "no")


def _spell_cumulative(ufunc: np.ufunc, name: str, function: Any) -> None:
    # PyArray_CumSum is add.accumulate on the axis; axis=None ravels first and 0-d arrays become 1-d.
    def bind(
        ask: Relate, a: ArrayArg, axis: IntOrNone = None, dtype: DTypeOrNone = None, out: Unmodelled = None
    ) -> Bound:
        if a.array_type.ndim != 1 and axis is None:
            return Bound("cumulative", (a,), {"ufunc": ufunc} if dtype is None else {"ufunc": ufunc, "dtype": dtype})
        return _bind_accumulate(ufunc, a, 0 if axis is None else axis, dtype)

    spell("accumulate cumulative", f"np.{name}", function, method=name)(bind)


def _infer_cumulative(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    _, dtype = reduce_dtypes(params["ufunc"], type_.dtype, params.get("dtype"))
    return ArrayType(dtype, (element_count(type_.shape, ask),))


_CUMULATIVE: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}

define(
    OpDef(
        "cumulative",
        OpKind.CALL,
        _infer_cumulative,
        lambda args, params: _CUMULATIVE[params["ufunc"]](args[0], dtype=params.get("dtype")),
        "cumsum or cumprod of all elements in C order.",
        (
            Sample(((2, 3),), {"ufunc": np.add}),
            Sample(((),), {"ufunc": np.multiply}),
            Sample(((2, 3),), {"ufunc": np.add, "dtype": np.dtype("D")}),
        ),
    )
)
_spell_cumulative(np.add, "cumsum", np.cumsum)
_spell_cumulative(np.multiply, "cumprod", np.cumprod)
