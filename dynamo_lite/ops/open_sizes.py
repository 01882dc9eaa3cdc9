"""Opaque ops whose results have a size that only the run knows: nonzero, unique, bincount, repeat by an array ...

params["yields"] is the Symbol of that size, which the result's shape has in its place; ``registry.call`` makes it:

    %index: tuple = nonzero(%mask, yields=(y0,)); %at: int64[y0] = tuple_get(%index, index=0); %z: float64[y0] = ...

NumPy does the work, and the program takes the size from what it gives. As with masks (masks.py) nothing
else is known of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.dataclass import replace
from dynamo_lite.graph.node import Argument
from dynamo_lite.graph.scalar import Scalar, Symbol, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import equal, trial
from dynamo_lite.ops.parameters import (
    ArrayArg,
    Flag,
    IntOrNone,
    OptionalOperand,
    SizeArg,
    Unmodelled,
    axis_of,
    type_of,
)
from dynamo_lite.ops.registry import Bound, OpDef, OpError, OpKind, Relate, Sample, define, spell
from dynamo_lite.ops.shapes import element_count

_INDEX = np.dtype(np.intp)


def define_open(
    name: str,
    infer: Any,
    evaluate: Any,
    doc: str,
    samples: tuple[Sample, ...],
    may_report: bool = True,
    function: Any = None,
) -> None:
    """function: where it takes the operands, and the params as keywords."""
    op = OpDef(name, OpKind.CALL, infer, evaluate, doc, samples, may_report=may_report, open_size=True)
    define(replace(op, function=function))


# nonzero


def _infer_nonzero(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> tuple[ArrayType, ...]:
    type_ = type_of(args[0])
    if not type_.shape:
        raise OpError("nonzero of a scalar")
    return (ArrayType(_INDEX, params["yields"]),) * type_.ndim


define_open(
    "nonzero",
    _infer_nonzero,
    lambda args, params: np.nonzero(args[0]),
    "The indices of elements that are not zero, an array for each axis.",
    (Sample(((3,),), {}), Sample(((2, 3),), {})),
    may_report=False,
)


@spell("nonzero", "np.nonzero", np.nonzero)
def _bind_nonzero(ask: Relate, a: ArrayArg) -> Bound:
    return Bound("nonzero", (a,))


@spell("nonzero", None, method="nonzero")
def _bind_method_nonzero(ask: Relate, a: ArrayArg, /) -> Bound:
    return Bound("nonzero", (a,))


# unique


_RETURNS = ("return_index", "return_inverse", "return_counts")
_INVERSE_NDIM = np.unique(np.zeros((1, 1)), return_inverse=True)[1].ndim  # NumPy 2.0 gave a vector, others a's shape


def _infer_unique(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType | tuple[ArrayType, ...]:
    type_ = type_of(args[0])
    if type_.scalar or not type_.shape:
        raise OpError("unique of a scalar")
    whole = type_.shape if _INVERSE_NDIM > 1 else (element_count(type_.shape, ask),)
    types = [ArrayType(type_.dtype, params["yields"])]
    types += [ArrayType(_INDEX, whole if name == "return_inverse" else params["yields"]) for name in _asked(params)]
    return types[0] if len(types) == 1 else tuple(types)


def _asked(params: dict[str, Any]) -> list[str]:
    return [name for name in _RETURNS if params[name]]


def _flags(index: bool = False, inverse: bool = False, counts: bool = False, nan: bool = True) -> dict[str, Any]:
    return dict(zip((*_RETURNS, "equal_nan"), (index, inverse, counts, nan), strict=True))


define_open(
    "unique",
    _infer_unique,
    lambda args, params: np.unique(args[0], **params),
    "The sorted elements, each once; by params return_index, return_inverse, return_counts more arrays.",
    (
        Sample(((3,),), _flags()),
        Sample(((2, 3),), _flags(inverse=True)),
        Sample(((3,),), _flags(True, True, True)),
        Sample(((2, 3),), _flags(counts=True, nan=False)),
    ),
    function=np.unique,
)


@spell("unique", "np.unique", np.unique)
def _bind_unique(
    ask: Relate,
    ar: ArrayArg,
    return_index: Flag = False,
    return_inverse: Flag = False,
    return_counts: Flag = False,
    axis: Unmodelled = None,
    *,
    equal_nan: Flag = True,
    sorted: Unmodelled = True,
) -> Bound:
    return Bound("unique", (ar,), _flags(return_index, return_inverse, return_counts, equal_nan))


# bincount


def _infer_bincount(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    x, *weights = (type_of(arg) for arg in args)
    if x.ndim != 1 or any(one.ndim != 1 for one in weights):
        raise OpError(f"bincount of {x}")
    # NB: of no elements NumPy counts whatever x and weights are; where only the run knows, the program declines then.
    if not _is_open(x.shape[0]) and not ask(make("ge", x.shape[0], 1)):
        return ArrayType(_INDEX, params["yields"])
    dtype, _, _ = trial(np.bincount, args, {})
    for one in weights:
        equal(x.shape[0], one.shape[0], ask)
    return ArrayType(dtype, params["yields"])


def _is_open(size: Scalar) -> bool:
    return isinstance(size, Symbol) and size.input < 0


define_open(
    "bincount",
    _infer_bincount,
    lambda args, params: np.bincount(args[0], *args[1:], **params),
    "How often each int occurs, or the sum of its weights.",
    (Sample(((3,),), {"minlength": 0}), Sample(((3,), (3,)), {"minlength": 9})),
    function=np.bincount,
)


@spell("bincount", "np.bincount", np.bincount)
def _bind_bincount(ask: Relate, x: ArrayArg, /, weights: OptionalOperand = None, minlength: SizeArg = 0) -> Bound:
    return Bound("bincount", (x,) if weights is None else (x, weights), {"minlength": minlength})


# repeat and compress


def _along(shape: tuple[Any, ...], axis: int | None, size: tuple[Any, ...]) -> tuple[Any, ...]:
    """`shape` with another size along `axis`, or (None) of all elements in a row."""
    return size if axis is None else (*shape[:axis], *size, *shape[axis + 1 :])


def _infer_repeat_each(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_, times, axis = type_of(args[0]), type_of(args[1]), params["axis"]
    if times.dtype.kind not in "biu" or not np.can_cast(times.dtype, _INDEX, "safe") or times.ndim > 1:
        raise OpError(f"repeat by {times}")
    length: Scalar = element_count(type_.shape, ask) if axis is None else type_.shape[axis]
    if times.ndim and not ask(make("eq", times.shape[0], 1)):
        equal(length, times.shape[0], ask)
    return ArrayType(type_.dtype, _along(type_.shape, axis, params["yields"]))


define_open(
    "repeat_each",
    _infer_repeat_each,
    lambda args, params: np.repeat(args[0], args[1], axis=params["axis"]),
    "Each element as often along params[axis] as the second operand says.",
    (
        Sample(((3,), (3,)), {"axis": None}, ("", "?bhil")),
        Sample(((2, 3), (2,)), {"axis": 0}, ("", "?bhil")),
        Sample(((2, 3), ()), {"axis": None}, ("", "?bhil")),
    ),
    function=np.repeat,
)


def _infer_compress(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    condition, type_ = type_of(args[0]), type_of(args[1])
    if condition.ndim != 1 or type_.scalar or not type_.shape:
        raise OpError(f"compress of {type_} by {condition}")
    return ArrayType(type_.dtype, _along(type_.shape, params["axis"], params["yields"]))


define_open(
    "compress",
    _infer_compress,
    lambda args, params: np.compress(args[0], args[1], axis=params["axis"]),
    "What stands where the first operand is true, along params[axis].",
    (Sample(((2,), (2, 3)), {"axis": 0}), Sample(((3,), (2, 3)), {"axis": None})),
    function=np.compress,
)


@spell("compress", "np.compress", np.compress)
def _bind_compress(
    ask: Relate, condition: ArrayArg, a: ArrayArg, axis: IntOrNone = None, out: Unmodelled = None
) -> Bound:
    return Bound("compress", (condition, a), {"axis": None if axis is None else axis_of(axis, a.array_type.ndim)})


@spell("compress", None, method="compress")
def _bind_method_compress(
    ask: Relate, a: ArrayArg, condition: ArrayArg, axis: IntOrNone = None, out: Unmodelled = None
) -> Bound:
    return _bind_compress(ask, condition, a, axis)
