"""What lists seem to hold: numbers of one kind, NumPy scalars, arrays of one type, or lists of such (object_lists.py).

Enters a list from outside, or what is put into one; leaves a Holding, which several lists may share: what is put into
one of them is what may be taken of another. A wrong one has the program decline, or the attempt refuse a loop.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dynamo_lite._C import abi, class_of
from dynamo_lite.capture.branches.sameness import alike_but_for_extents, types_agree
from dynamo_lite.capture.lists.scalar_items import DTYPES, NAMES, PYTHON_KINDS, SCALARS
from dynamo_lite.capture.state import Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, Break, Holding, ListValue, Value
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import symbols_of
from dynamo_lite.graph.types import ArrayType

LOOKED_AT = 64  # items of a list from outside
LONGEST_TUPLE = 8  # in a list
FEWEST_ARRAYS = 5  # a shorter list from outside has them known one by one
_MIXTURES = {"int", "float"}, {"int", "number"}, {"float", "number"}, {"int", "float", "number"}  # of kinds of rows
ARRAY_DTYPES = frozenset(dtype.char for dtype in DTYPES.values())


def holding_of(obj: Any, depth: int = 3, arrays: bool | None = False) -> Holding | None:
    """What a list from outside seems to hold; None if that is anything else. arrays: they may hold some, too."""
    if type(obj) is not list or depth == 0:
        return None
    if arrays and _are_arrays(obj):
        return Holding("array")
    names = {**NAMES, list: "list", tuple: "tuple"}
    kinds = {names.get(class_of(item)) for item in obj[:LOOKED_AT]}
    if not kinds:
        return Holding()
    latest = [names.get(class_of(item)) for item in obj[-LOOKED_AT:]]
    if not DTYPES.keys().isdisjoint((*kinds, *latest)):
        if not {*kinds, *latest} <= {*NAMES.values()}:
            return None
        scalars = [kind for kind in (*latest, *kinds) if kind in DTYPES]
        return Holding(SCALARS, most=max(scalars, key=scalars.count))
    if kinds == {"int", "float"}:
        return Holding("number")
    kind = kinds.pop()
    if kinds or kind is None:
        return None
    if kind == "tuple":
        return _holding_of_tuples(obj[:LOOKED_AT], depth - 1)
    if kind != "list":
        return Holding(kind)
    inners = [holding_of(item, depth - 1) for item in obj[:LOOKED_AT]]
    known = [one for one in inners if one is not None and one.kind]
    first = next((one for one in known if one.kind == SCALARS), known[0] if known else Holding())
    if {one.kind for one in known} in _MIXTURES:
        first = Holding("number")
    if any(one is None or (one.kind and not _fits(first, one)) for one in inners):
        return None
    return Holding("list", first)


def _are_arrays(obj: list[Any]) -> bool:
    """Whether a list seems to hold arrays of one type and shape, packed in C order."""
    first = obj[0] if len(obj) >= FEWEST_ARRAYS else None
    if type(first) is not np.ndarray or not 0 < first.ndim <= abi.MOST_TAKEN or first.dtype.char not in ARRAY_DTYPES:
        return False
    kind = first.dtype, first.shape
    latest = (*obj[:LOOKED_AT], *obj[-LOOKED_AT:])
    return all(type(one) is np.ndarray and (one.dtype, one.shape) == kind and one.flags.c_contiguous for one in latest)


def type_of_array(item: Value) -> ArrayType | None:
    """The type of an array that a list may get; None of another value."""
    if not isinstance(item, ArrayValue):
        return None
    type_ = item.node.array_type
    is_one = not type_.scalar and 0 < type_.ndim <= abi.MOST_TAKEN and type_.dtype.char in ARRAY_DTYPES
    return type_ if is_one and type_.dtype.isnative else None


def note_type(tracer: Tracer, filled: Node, item: Value) -> None:
    """Note what a list or dict of the program's, made here, gets: an array of one type, or (None) other things, too."""
    found = type_of_array(item)
    known = tracer.types_put.setdefault(filled, found)
    if known is None or known is found:
        return
    agree_here = partial(types_agree, tracer) if tracer.restraints.arrays else alike_but_for_extents
    if found is None or not agree_here(known, found):
        tracer.types_put[filled] = None


def are_known(tracer: Tracer, type_: ArrayType) -> bool:
    """Whether the call says how long the axes are."""
    return all(type(dim) is int or symbols_of(dim) <= tracer.hints.keys() for dim in type_.shape)


def _holding_of_tuples(obj: list[tuple[Any, ...]], depth: int) -> Holding | None:
    """What a list of tuples of one length holds."""
    if len(set(map(len, obj))) > 1 or not 0 < len(obj[0]) <= LONGEST_TUPLE:
        return None
    parts = [holding_of(list(column), depth) for column in zip(*obj, strict=True)]
    return None if None in parts else Holding("tuple", parts=parts)  # type: ignore[arg-type]


def depth_of(holding: Holding, most: int = 8) -> int:
    """How many levels of lists and tuples there are from such a list to the innermost lists in it, or 0."""
    if holding.kind == "tuple":
        parts = [depth_of(part, most - 1) for part in holding.parts if most > 0]
        return 1 + max(parts) if any(parts) else 0
    if holding.kind != "list" or most == 0:
        return 0
    return 1 + (0 if holding.inner is None else depth_of(holding.inner, most - 1))


def _fits(one: Holding, other: Holding) -> bool:
    if one.kind == SCALARS:
        return other.kind in ("", "number", SCALARS, *PYTHON_KINDS)
    if one.kind == "number":
        return other.kind in ("", "number", "int", "float")
    if one.kind != other.kind:
        return not other.kind
    if one.kind == "tuple":
        return len(one.parts) == len(other.parts) and all(map(_fits, one.parts, other.parts))
    if one.kind != "list":
        return True
    return one.inner is not None and other.inner is not None and _fits(one.inner, other.inner)


def named(holding: Holding, name: Any, mixed: set[Any]) -> Holding:
    """What a list of that name holds; mixed: those of which an attempt has seen that they hold ints and floats, or get
    NumPy scalars of a kind."""
    holding.names.add((name, holding.kind))
    _await_scalars(holding, mixed)
    if holding.kind in ("int", "float") and not holding.names.isdisjoint(mixed):
        holding.kind = "number"
    if holding.inner is not None:
        named(holding.inner, (name, "inner"), mixed)
    for place, part in enumerate(holding.parts):
        named(part, (name, place), mixed)
    return holding


def _await_scalars(holding: Holding, mixed: set[Any]) -> None:
    """Note that a list of Python's numbers gets NumPy scalars, as an attempt has seen."""
    if holding.kind in PYTHON_KINDS:
        kinds = [kind for kind in DTYPES if any((SCALARS, name, kind) in mixed for name in holding.names)]
        if kinds:
            holding.kind, holding.most, holding.awaits = SCALARS, kinds[0], True


def joined(one: Holding | None, other: Holding, mixed: set[Any]) -> Holding:
    """What both lists may hold; raises Retry where that was not known when they were read."""
    if one is None or one is other:
        return other
    for this, that in ((one, other), (other, one)):
        if not this.kind and that.kind:
            this.inner, this.parts, this.most, this.awaits = that.inner, that.parts, that.most, that.awaits
            this.array = that.array
            settle(this, that.kind, mixed)
    if "array" in (one.kind, other.kind) and (one.kind, one.array) != (other.kind, other.array):
        raise Break("loop-list", "a list of arrays of several types, or of other things")
    if one.kind != other.kind:
        require_mixed(one, other.kind, mixed)
        require_mixed(other, one.kind, mixed)
    if one.kind == "list":
        assert one.inner is not None and other.inner is not None
        joined(one.inner, other.inner, mixed)
    if len(one.parts) != len(other.parts):
        raise Break("loop-list", "a list of tuples of several lengths")
    for pair in zip(one.parts, other.parts, strict=True):
        joined(*pair, mixed)
    one.names |= other.names
    other.names |= one.names
    return one


def settle(holding: Holding, kind: str, mixed: set[Any]) -> None:
    """Note what a list holds of which nothing was known."""
    if kind in DTYPES:
        holding.kind, holding.most = SCALARS, kind
        return
    is_mixed = kind in ("int", "float") and not holding.names.isdisjoint(mixed)
    holding.kind = "number" if is_mixed else kind
    _await_scalars(holding, mixed)


def require_mixed(holding: Holding, kind: str, mixed: set[Any]) -> None:
    """See that a list may get a number of that kind."""
    if holding.kind == SCALARS and (kind in (SCALARS, "number") or kind in NAMES.values()):
        return
    if holding.kind in PYTHON_KINDS and (kind in DTYPES or kind == SCALARS):
        noted = {(SCALARS, name, kind if kind in DTYPES else "float64") for name in holding.names}
        if not noted or noted <= mixed:
            raise Break("loop-list", "a list of several kinds of numbers, or of other things")
        mixed |= noted
        raise Retry
    if holding.kind == kind or (holding.kind == "number" and kind in ("int", "float", "number")):
        return
    if not {holding.kind, kind} <= {"int", "float", "number"} or holding.names <= mixed:
        raise Break("loop-list", "a list of several kinds of numbers, or of other things")
    mixed |= holding.names
    raise Retry


def agree(one: ListValue, other: ListValue, mixed: set[Any]) -> bool:
    """Whether two lists seem to hold the same."""
    try:
        joined(one.holding, other.holding, mixed)
    except Break:
        return False
    return True


def with_node(value: ArrayValue | ListValue, node: Node) -> ArrayValue | ListValue:
    """An array, or a list that seems to hold what that one does."""
    return ListValue(None, node, value.holding) if isinstance(value, ListValue) else ArrayValue(None, node)


__all__ = [
    *("agree", "are_known", "depth_of", "holding_of", "joined", "named", "note_type", "require_mixed", "settle"),
    *("type_of_array", "with_node"),
]
