"""Opaque ops of places and sets: flat indices and back, sorting by several keys, membership, sets of sorted elements.

NumPy does the work (see calls.py). INVARIANT: results are fresh arrays, or NumPy scalars.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import equal, trial
from dynamo_lite.ops.open_sizes import define_open
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Arrays,
    DType,
    Flag,
    Int,
    Shape,
    Unmodelled,
    axis_of,
    one_of,
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
from dynamo_lite.ops.shapes import broadcast, settle, shape_of

_INDEX = np.dtype(np.intp)
IndexMode = Annotated[str, one_of("raise", "wrap", "clip")]
IndexOrder = Annotated[str, one_of("C", "F")]


def _require_index(dtype: DType) -> None:
    if dtype.kind not in "iu" or not np.can_cast(dtype, _INDEX, "safe"):
        raise OpError(f"indices of {dtype}")


# flat indices


def _infer_flat_index(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if len(args) != len(params["dims"]):
        raise OpError("as many index arrays as axes are wanted")
    for arg in args:
        _require_index(type_of(arg).dtype)
    shape = broadcast(list(map(shape_of, args)), ask)
    return ArrayType(_INDEX, shape, not shape)


define(
    OpDef(
        "flat_index",
        OpKind.CALL,
        _infer_flat_index,
        lambda args, params: np.ravel_multi_index(args, **params),
        "np.ravel_multi_index: the places in the flat array of the indices, one operand an axis of params dims.",
        (
            Sample(((3,), (3,)), {"dims": (50, 60), "mode": "raise", "order": "C"}, ("bhil",) * 2),
            Sample(((2, 1), (3,)), {"dims": (50, 60), "mode": "clip", "order": "F"}, ("bhil",) * 2),
            Sample(((), ()), {"dims": (50, 60), "mode": "wrap", "order": "C"}, ("bhil",) * 2),
        ),
    )
)


@spell("flat_index", "np.ravel_multi_index", np.ravel_multi_index)
def _bind_ravel_multi_index(
    ask: Relate, multi_index: Arrays, dims: Shape, mode: IndexMode = "raise", order: IndexOrder = "C"
) -> Bound:
    return Bound("flat_index", multi_index, {"dims": dims, "mode": mode, "order": order})


def _infer_axis_indices(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> tuple[ArrayType, ...]:
    type_ = type_of(args[0])
    _require_index(type_.dtype)
    if type_.shape:
        raise OpError("unravel_index of an array gives views of one array")
    return (ArrayType(_INDEX, (), True),) * len(params["shape"])


define(
    OpDef(
        "axis_indices",
        OpKind.CALL,
        _infer_axis_indices,
        lambda args, params: np.unravel_index(args[0], params["shape"], params["order"]),
        "np.unravel_index of one place: its index along each axis of params shape.",
        (
            Sample(((),), {"shape": (50, 60), "order": "C"}, ("bhil",)),
            Sample(((),), {"shape": (7, 80, 9), "order": "F"}, ("bhil",)),
        ),
    )
)


@spell("axis_indices", "np.unravel_index", np.unravel_index)
def _bind_unravel_index(ask: Relate, indices: ArrayArg, shape: Shape, order: IndexOrder = "C") -> Bound:
    if len(shape) < 2:
        raise OpError("unravel_index in fewer than two axes")
    return Bound("axis_indices", (indices,), {"shape": shape, "order": order})


# sorting by several keys


def _infer_lexsort(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    shapes = [type_of(arg).shape for arg in args]
    if not shapes[0] or any(len(shape) != len(shapes[0]) for shape in shapes):
        raise OpError("lexsort of keys of these ranks")
    for shape in shapes[1:]:
        for one, other in zip(shapes[0], shape, strict=True):
            equal(one, other, ask)
    return ArrayType(_INDEX, shapes[0])


define(
    OpDef(
        "lexsort",
        OpKind.CALL,
        _infer_lexsort,
        lambda args, params: np.lexsort(args, params["axis"]),
        "The order of the elements along params axis by several keys, of which the last one counts most.",
        (
            Sample(((4,), (4,)), {"axis": 0}),
            Sample(((3, 2), (3, 2), (3, 2)), {"axis": 0}),
            Sample(((3, 2), (3, 2)), {"axis": 1}),
        ),
        may_report=False,
    )
)


@spell("lexsort", "np.lexsort", np.lexsort)
def _bind_lexsort(ask: Relate, keys: Arrays, axis: Int = -1) -> Bound:
    return Bound("lexsort", keys, {"axis": axis_of(axis, type_of(keys[0]).ndim)})


# parts that are reduced


def _infer_reduceat(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_, places, axis = type_of(args[0]), type_of(args[1]), params["axis"]
    _require_index(places.dtype)
    if places.ndim != 1 or not type_.ndim:
        raise OpError("reduceat at other places than a vector of them")
    dtype, _, _ = trial(params["ufunc"].reduceat, args, {"axis": axis})
    length = settle(places.shape[0], ask)
    return ArrayType(dtype, (*type_.shape[:axis], length, *type_.shape[axis + 1 :]))


define(
    OpDef(
        "reduceat",
        OpKind.CALL,
        _infer_reduceat,
        lambda args, params: params["ufunc"].reduceat(*args, axis=params["axis"]),
        "params[ufunc].reduceat: the elements along params axis, reduced from each place up to the next one.",
        (
            Sample(((9,), (3,)), {"ufunc": np.add, "axis": 0}, ("", "bhil")),
            Sample(((9, 2), (3,)), {"ufunc": np.maximum, "axis": 0}, ("", "bhil")),
            Sample(((2, 9), (3,)), {"ufunc": np.multiply, "axis": 1}, ("", "bhil")),
        ),
    )
)


@spell_ufunc_method("reduceat", "reduceat")
def _reduceat_method(ufunc: np.ufunc) -> Binder:
    def bind(
        ask: Relate,
        array: ArrayArg,
        /,
        indices: ArrayArg,
        axis: Int = 0,
        dtype: Unmodelled = None,
        out: Unmodelled = None,
    ) -> Bound:
        return Bound("reduceat", (array, indices), {"ufunc": ufunc, "axis": axis_of(axis, array.array_type.ndim)})

    return bind


# membership and sets


def _infer_isin(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    for arg in args:
        if type_of(arg).dtype.kind not in "biuf":
            raise OpError(f"isin of {type_of(arg).dtype}")
    return ArrayType(np.dtype(bool), type_of(args[0]).shape)


define(
    OpDef(
        "isin",
        OpKind.CALL,
        _infer_isin,
        lambda args, params: np.isin(*args, **params),
        "Which elements of the first operand are among those of the second; params assume_unique, invert.",
        (
            Sample(((2, 3), (4,)), {"assume_unique": False, "invert": False}, ("?bhilBHILefd",) * 2),
            Sample(((3,), (20,)), {"assume_unique": False, "invert": True}, ("?bhilBHILefd",) * 2),
            Sample(((3,), ()), {"assume_unique": False, "invert": False}, ("?bhilBHILefd",) * 2),
        ),
        function=np.isin,
    )
)


@spell("isin", "np.isin", np.isin)
def _bind_isin(
    ask: Relate,
    element: ArrayArg,
    test_elements: ArrayArg,
    assume_unique: Flag = False,
    invert: Flag = False,
    *,
    kind: Unmodelled = None,
) -> Bound:
    return Bound("isin", (element, test_elements), {"assume_unique": assume_unique, "invert": invert})


_SETS: dict[str, Any] = {name: getattr(np, name) for name in ("intersect1d", "setdiff1d", "union1d", "setxor1d")}


def _infer_set_of(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    for arg in args:
        if type_of(arg).dtype.kind not in "biuf" or not type_of(arg).ndim:
            raise OpError(f"a set of {type_of(arg)}")
    dtype, ndim, scalar = trial(_SETS[params["name"]], args, {})
    if ndim != 1 or scalar:
        raise OpError("no vector")
    return ArrayType(dtype, params["yields"])


define_open(
    "set_of",
    _infer_set_of,
    lambda args, params: _SETS[params["name"]](*args, assume_unique=True)
    if params.get("unique")
    else _SETS[params["name"]](*args),
    "params[name], a set operation on the elements of two arrays: a sorted vector; params unique: each is there once.",
    (
        *(Sample(((4,), (3,)), {"name": name}, ("?bhilBHILefd",) * 2) for name in _SETS),
        Sample(((2, 3), (3,)), {"name": "union1d"}, ("?bhilBHILefd",) * 2),
    ),
)


@spell("set_of", "np.union1d", np.union1d)
def _bind_union1d(ask: Relate, ar1: ArrayArg, ar2: ArrayArg) -> Bound:
    return Bound("set_of", (ar1, ar2), {"name": "union1d"})


@spell("set_of", "np.setdiff1d", np.setdiff1d)
def _bind_setdiff1d(ask: Relate, ar1: ArrayArg, ar2: ArrayArg, assume_unique: Flag = False) -> Bound:
    return Bound("set_of", (ar1, ar2), {"name": "setdiff1d", "unique": assume_unique})


@spell("set_of", "np.setxor1d", np.setxor1d)
def _bind_setxor1d(ask: Relate, ar1: ArrayArg, ar2: ArrayArg, assume_unique: Flag = False) -> Bound:
    return Bound("set_of", (ar1, ar2), {"name": "setxor1d", "unique": assume_unique})


@spell("set_of", "np.intersect1d", np.intersect1d)
def _bind_intersect1d(
    ask: Relate, ar1: ArrayArg, ar2: ArrayArg, assume_unique: Flag = False, return_indices: Unmodelled = False
) -> Bound:
    return Bound("set_of", (ar1, ar2), {"name": "intersect1d", "unique": assume_unique})


__all__ = ["IndexMode", "IndexOrder"]
