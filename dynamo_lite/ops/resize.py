"""Opaque ops that make arrays longer or shorter by known amounts: pad, insert, delete.

NumPy's functions do the work as a whole; in Python they look at values (``np.pad`` at its widths, say) that a graph
would have to know. Counts and places may be symbolic. INVARIANT: results are fresh arrays.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import Scalar, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, is_sequence
from dynamo_lite.ops.parameters import (
    ABSENT,
    ArrayArg,
    IntOrNone,
    Kind,
    Nested,
    SizeArg,
    axis_of,
    number,
    one_of,
    size,
    type_of,
)
from dynamo_lite.ops.registry import (
    Bound,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    check_number,
    define,
    spell,
)
from dynamo_lite.ops.shapes import element_count, settle

# pad

_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _infer_pad(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    for fill in args[1:]:
        check_number(fill, type_.dtype, ask, assignment=True)  # type: ignore[arg-type]
    shape = []
    for dim, (before, after) in zip(type_.shape, params["widths"], strict=True):
        for width in (before, after):
            if not ask(make("ge", width, 0)):
                raise OpError("a negative width of np.pad raises")
        if params["mode"] != "constant" and not ask(make("ge", dim, 1)):
            raise OpError("np.pad of an axis of no elements")
        shape.append(settle(make("add", make("add", dim, before), after), ask))
    return ArrayType(type_.dtype, tuple(shape))


def _evaluate_pad(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    fill = {"constant_values": args[1]} if len(args) > 1 else {}
    return np.pad(args[0], params["widths"], params["mode"], **fill)


define(
    OpDef(
        "pad",
        OpKind.CALL,
        _infer_pad,
        _evaluate_pad,
        "The first operand with params[widths] elements more before and after each axis, by params[mode]; constant "
        "ones are the second.",
        (
            Sample(((2, 3),), {"widths": ((1, 2), (0, 1)), "mode": "constant"}),
            Sample(((3,), 2), {"widths": ((2, 2),), "mode": "constant"}),
            *(Sample(((2, 3),), {"widths": ((1, 1), (1, 2)), "mode": mode}) for mode in _PAD_MODES),
        ),
    )
)


def _pad_widths(value: Any) -> Any:
    return tuple(map(_pad_widths, value)) if is_sequence(value) else size(value)


PadWidths = Annotated[Any, Kind("widths, alone or in sequences", _pad_widths)]
PadMode = Annotated[str, one_of(*_PAD_MODES)]


def _pad_fill(value: Any) -> Scalar:
    """A number, alone or in sequences of one item; or several that are the same one."""
    if not is_sequence(value):
        return number(value)
    fills = [_pad_fill(item) for item in value]
    same = all(fill == fills[0] and repr(fill) == repr(fills[0]) for fill in fills)  # NB: -0.0 is not 0.0
    if not 1 <= len(fills) <= 2 or not (same or len(fills) == 1):
        raise OpError("np.pad by other constants on one side than on the other")
    return fills[0]


PadFill = Annotated[Scalar, Kind("a number, alone or in sequences", _pad_fill)]


def _widths(value: Any, ndim: int) -> tuple[tuple[Scalar, Scalar], ...]:
    """pad_width as NumPy broadcasts it to (ndim, 2)."""
    if not is_sequence(value):
        return ((value, value),) * ndim
    rows = [row if is_sequence(row) else (row,) for row in value]
    nested = [is_sequence(row) for row in value]
    if nested == [False, False]:
        rows = [rows[0] + rows[1]]
    elif not all(nested) and nested != [False]:
        raise OpError("pad_width of this form")
    if len(rows) == 1:
        rows = rows * ndim
    if len(rows) != ndim or any(len(row) not in (1, 2) for row in rows) or len({len(row) for row in rows}) != 1:
        raise OpError("pad_width of this form")
    return tuple((row[0], row[-1]) for row in rows)


@spell("pad", "np.pad", np.pad)
def _bind_pad(
    ask: Relate, array: ArrayArg, pad_width: PadWidths, mode: PadMode = "constant", constant_values: PadFill = ABSENT
) -> Bound:
    if constant_values is not ABSENT and mode != "constant":
        raise OpError(f"np.pad of mode {mode!r} in this form")
    type_ = array.array_type
    if type_.scalar or not type_.ndim:
        raise OpError("np.pad of a scalar")
    args = (array,) if constant_values is ABSENT else (array, constant_values)
    widths = _widths(pad_width, type_.ndim)
    for dim, width in zip(type_.shape, (max(pair, key=_known) for pair in widths), strict=True):
        if mode in ("reflect", "symmetric", "wrap") and _known(width) > 0:
            _ask_for_lowering(ask, make("ge", dim, make("add", width, int(mode == "reflect"))))
    return Bound("pad", args, {"widths": widths, "mode": mode})


def _known(width: Scalar) -> int:
    return width if isinstance(width, int) else 0


def _ask_for_lowering(ask: Relate, *conditions: Scalar) -> None:
    """Ask what lower/assemble.py has to know of sizes."""
    with contextlib.suppress(Undecided):
        for condition in conditions:
            ask(condition)


# insert and delete


def _infer_insert(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    size, place = element_count(type_.shape, ask), params["place"]
    if not ask(make("ge", place, make("neg", size))) or not ask(make("le", place, size)):
        raise OpError("np.insert outside of the array")
    if not isinstance(args[1], Node):
        check_number(args[1], type_.dtype, ask, assignment=True)
        count: Any = 1
    else:
        inserted = type_of(args[1])
        if not np.can_cast(inserted.dtype, type_.dtype, "same_kind") or inserted.ndim > 1:
            raise OpError(f"np.insert of {inserted} into {type_.dtype}")
        count = element_count(inserted.shape, ask)
    return ArrayType(type_.dtype, (settle(make("add", size, count), ask),))


define(
    OpDef(
        "insert",
        OpKind.CALL,
        _infer_insert,
        lambda args, params: np.insert(args[0], params["place"], args[1]),
        "The elements of the first operand along one axis, with those of the second in front of number params[place].",
        (
            Sample(((3,), 2), {"place": 0}),
            Sample(((2, 3), (2,)), {"place": -1}),
            Sample(((3,), ()), {"place": 3}),
        ),
    )
)


@spell("insert", "np.insert", np.insert)
def _bind_insert(ask: Relate, arr: ArrayArg, obj: SizeArg, values: Nested, axis: IntOrNone = None) -> Bound:
    node = arr
    if is_sequence(values):  # each number becomes one of that dtype, without an array of their own between
        values = convert(values, node.array_type.dtype)
    if node.array_type.scalar or not node.array_type.ndim or (axis is not None and node.array_type.ndim != 1):
        raise OpError("np.insert along an axis of several")
    if axis is not None:
        axis_of(axis, 1)
    if node.array_type.ndim == 1 and isinstance(obj, int):
        _ask_for_parts(ask, node, obj, 0)
    return Bound("insert", (node, values), {"place": obj})


def _ask_for_parts(ask: Relate, node: Node, place: int, gone: int) -> None:
    """Ask whether there is one element before, or after, a place of a vector, without so many there."""
    (size,) = node.array_type.shape
    before = place if place >= 0 else make("add", size, place)
    behind = make("sub", make("sub", size, before), gone)
    if ask(make("ge", before, 0)) and ask(make("ge", behind, 0)):
        _ask_for_lowering(ask, make("eq", before, 1), make("eq", behind, 1))


def _infer_delete(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    place, axis = params["place"], params["axis"]
    shape = type_.shape if axis is not None else (element_count(type_.shape, ask),)
    size = shape[axis or 0]
    if not ask(make("ge", place, make("neg", size))) or not ask(make("lt", place, size)):
        raise OpError("np.delete outside of the array")
    left = settle(make("sub", size, 1), ask)
    return ArrayType(type_.dtype, (*shape[: axis or 0], left, *shape[(axis or 0) + 1 :]))


define(
    OpDef(
        "delete",
        OpKind.CALL,
        _infer_delete,
        lambda args, params: np.delete(args[0], params["place"], axis=params["axis"]),
        "The operand without what stands at params[place] of params[axis].",
        (
            Sample(((3,),), {"place": 0, "axis": None}),
            Sample(((2, 3),), {"place": -1, "axis": 1}),
            Sample(((2, 3),), {"place": 4, "axis": None}),
        ),
    )
)


@spell("delete", "np.delete", np.delete)
def _bind_delete(ask: Relate, arr: ArrayArg, obj: SizeArg, axis: IntOrNone = None) -> Bound:
    node = arr
    if node.array_type.scalar or not node.array_type.ndim:
        raise OpError("np.delete of a scalar")
    place = None if axis is None else axis_of(axis, node.array_type.ndim)
    if node.array_type.ndim == 1 and isinstance(obj, int):
        _ask_for_parts(ask, node, obj, 1)
    return Bound("delete", (node,), {"place": obj, "axis": place})
