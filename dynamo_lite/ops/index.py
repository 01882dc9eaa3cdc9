"""Indexing: ``x[key]`` as a view ("basic_index") or a copy ("advanced_index"), and ``x[key] = value``.

params["index"] has one entry an axis of x, plus newaxes: None (newaxis), a Scalar (integer index, also negative), or
(start, stop, step) of Scalars and None, kept as the user wrote them; ellipses are spelled out. In an advanced index an
entry ("arg", k) stands for operand k, and an ellipsis of no axes stays: NumPy holds the index arrays beside it apart.
params["scalar"]: whether indexing down to one element yields a NumPy scalar, as ``x[0]`` does, or a 0-d view, as
``x[0, ...]`` does and a store's target has to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node, NodeKind
from dynamo_lite.graph.scalar import Dim, Scalar, is_scalar, is_symbolic, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, is_sequence
from dynamo_lite.ops.elementwise import dtype_class, resolve_dtypes
from dynamo_lite.ops.parameters import (
    ArrayArg,
    ExistingArray,
    IndexArg,
    IntOrNone,
    Operand,
    OperandArg,
    TakeMode,
    Unmodelled,
    array,
    axis_of,
    described,
    operand,
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
    UnknownShape,
    apply,
    asker,
    call,
    check_number,
    define,
    spell,
    spell_ufunc_method,
    store,
)
from dynamo_lite.ops.shapes import broadcast, settle, slice_length


def index(x: Node, key: Any, scalar: bool = True) -> Bound:
    """``x[key]`` in canonical form; OpError for keys with no rule (masks, lists).

    scalar: False makes a single element a 0-d view.
    """
    type_ = type_of(x)
    if type_.scalar:
        raise OpError("indexing a NumPy scalar")
    entries = list(key) if isinstance(key, tuple) else [key]
    args: list[Operand] = [x]
    index: list[Any] = []
    ellipses = sum(entry is ... for entry in entries)
    if ellipses > 1:
        raise OpError("an index with several ellipses raises")
    used = sum(entry is not None and entry is not ... for entry in entries)
    if used > type_.ndim:
        raise OpError("too many indices")
    full = [(None, None, None)] * (type_.ndim - used)
    for entry in entries:
        if entry is ...:
            index += full or [...]
            full = []
        else:
            index.append(_entry(entry, args))
    index += full
    _check_integers(index, type_.shape)
    if len(args) > 1:
        return Bound("advanced_index", tuple(args), {"index": tuple(index)})
    basic = tuple(entry for entry in index if entry is not ...)
    return Bound("basic_index", (x,), {"index": basic, "scalar": scalar and not ellipses})


def _entry(entry: Any, args: list[Operand]) -> Any:
    if entry is None:
        return None
    if isinstance(entry, slice):
        return tuple(_bound(part) for part in (entry.start, entry.stop, entry.step))
    if is_sequence(entry) and len(entry):  # an empty one is of integers here, whatever np.asarray makes of it
        entry = convert(entry)
    if isinstance(entry, Node):
        if entry.array_type.dtype.kind == "b":
            raise UnknownShape("indexing by a mask")
        if entry.array_type.dtype.kind not in "iu":
            raise OpError(f"an index of dtype {entry.array_type.dtype} has no rule")
        args.append(entry)
        return ("arg", len(args) - 1)
    if isinstance(entry, np.integer):
        return int(entry)
    if is_scalar(entry) and kind_of(entry) == "int":
        return entry
    raise OpError(f"{described(entry)} as an index has no rule")


def _bound(part: Any) -> Scalar | None:
    if part is None or (is_scalar(part) and kind_of(part) == "int"):
        return part  # type: ignore[no-any-return]
    if isinstance(part, np.integer | bool):
        return int(part)
    raise OpError(f"{described(part)} as the bound of a slice has no rule")


def _check_integers(index: list[Any], shape: tuple[Dim, ...]) -> None:
    """What is out of bounds by what is known now raises. NB: what turns out to be so later declines in each call."""
    axes = (entry for entry in index if entry is not None and entry is not ...)
    for entry, dim in zip(axes, shape, strict=True):
        known = not isinstance(entry, tuple) and not is_symbolic(entry) and not is_symbolic(dim)
        if known and not -dim <= entry < dim:  # type: ignore[operator]
            raise OpError(f"index {entry} is out of bounds for an axis of {dim}")


def _infer_basic_index(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    sizes = iter(type_.shape)
    shape: list[Dim] = []
    for entry in params["index"]:
        if entry is None:
            shape.append(1)
        elif isinstance(entry, tuple):
            shape.append(slice_length(entry, next(sizes), ask))
        else:
            next(sizes)
    return ArrayType(type_.dtype, tuple(shape), params["scalar"] and not shape)


def index_key(index: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as NumPy takes it."""
    key: list[Any] = []
    for entry in index:
        if not isinstance(entry, tuple):
            key.append(entry)
        else:
            key.append(args[entry[1]] if entry[0] == "arg" else slice(*entry))
    return tuple(key)


def _evaluate_basic_index(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    key = index_key(params["index"], args)
    return args[0][key] if params["scalar"] else args[0][(*key, ...)]


_FULL = (None, None, None)

define(
    OpDef(
        "basic_index",
        OpKind.VIEW,
        _infer_basic_index,
        _evaluate_basic_index,
        "x[params[index]] by integers, slices and newaxis, a view.",
        tuple(
            Sample((shape,), {"index": index, "scalar": scalar})
            for shape, index, scalar in (
                ((5,), (0,), True),
                ((5,), (-1,), False),
                ((5,), ((1, -1, None),), True),
                ((5,), ((None, None, -1),), True),
                ((5,), ((7, None, None),), True),
                ((5,), ((-9, 9, 2),), True),
                ((5,), ((3, 1, None),), True),
                ((5,), ((-2, None, -2),), True),
                ((5,), ((2, 3, None),), True),
                ((4, 3), (1, (None, 2, None)), True),
                ((4, 3), (_FULL, None, -1), True),
                ((4, 3), (2, 1), True),
                ((4, 3), (2, 1), False),
                ((4, 1), (None, _FULL, (None, None, 3)), True),
                ((), (), True),
                ((), (), False),
                ((), (None,), True),
            )
        ),
        exact_view=True,
    )
)


def _infer_advanced_index(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    index = params["index"]
    # NumPy: with an array among the indices, integers are arrays too; the broadcast axes stand where the first index
    # array was if all of them are neighbours, else in front.
    advanced = [
        position
        for position, entry in enumerate(index)
        if entry is not None and entry is not ... and (not isinstance(entry, tuple) or entry[0] == "arg")
    ]
    together = advanced[-1] - advanced[0] == len(advanced) - 1
    common = broadcast([_array_shape(index[position], args) for position in advanced], ask)
    sizes = iter(type_.shape)
    shape: list[Dim] = []
    insert = 0
    for position, entry in enumerate(index):
        if together and position == advanced[0]:
            insert = len(shape)
        if entry is ...:
            continue
        if entry is None:
            shape.append(1)
        elif position in advanced:
            next(sizes)
        else:
            shape.append(slice_length(entry, next(sizes), ask))
    shape[insert:insert] = common
    arrays = [type_of(arg) for arg in args[1:]]
    whole = shape or ... in index
    if all(one.scalar or not one.shape for one in arrays) and any(one.scalar for one in arrays) and whole:
        raise OpError("a NumPy integer as index gives a view")
    if shape or not all(one.scalar for one in arrays):
        if not common:
            raise OpError("0-d index arrays have no rule")
        return ArrayType(type_.dtype, tuple(shape))
    return ArrayType(type_.dtype, (), True)


def _array_shape(entry: Any, args: tuple[Argument, ...]) -> tuple[Dim, ...]:
    return type_of(args[entry[1]]).shape if isinstance(entry, tuple) else ()


define(
    OpDef(
        "advanced_index",
        OpKind.CALL,
        _infer_advanced_index,
        lambda args, params: args[0][index_key(params["index"], args)],
        "x[params[index]] with integer arrays among the indices, a fresh array; or one element by NumPy integers.",
        tuple(
            Sample((shape, *indices), {"index": index}, ("", *("l",) * len(indices)))
            for shape, indices, index in (
                ((5,), ((3,),), (("arg", 1),)),
                ((5,), ((2, 2),), (("arg", 1),)),
                ((4, 3), ((2,), (2,)), (("arg", 1), ("arg", 2))),
                ((4, 3), ((2, 1), (3,)), (("arg", 1), ("arg", 2))),
                ((4, 3), ((2,),), (_FULL, ("arg", 1))),
                ((4, 3), ((2,),), (None, ("arg", 1), (1, None, None))),
                ((4, 3, 5), ((2,),), (("arg", 1), _FULL, 2)),
                ((4, 3, 5), ((2,),), (_FULL, ("arg", 1), 2)),
                ((4, 3, 5), ((2,),), (_FULL, 1, ..., ("arg", 1))),
                ((4, 3), ((),), ()),
            )
            if index
        ),
    )
)


def store_index(
    graph: Graph,
    target: Node,
    key: Any,
    value: Operand,
    location: Location | None = None,
    relate: Relate | None = None,
) -> None:
    """Append ``target[key] = value``: a view and a store, or for a mask of target's shape a where and a store.

    Raises OpError (nothing appended) for other keys, and for values whose conversion may warn or raise.
    """
    mark = len(graph.nodes)
    # NumPy puts each object of a sequence into the target, without an array of the sequence's own dtype between.
    listed = is_sequence(value)
    value = convert(value, target.array_type.dtype) if listed else operand(value)
    try:
        if isinstance(key, Node) and key.array_type.dtype.kind == "b":
            _store_masked(graph, target, key, value, location, relate)
            return
        bound = index(target, key, scalar=False)
        if bound.op != "basic_index":
            _put(graph, target, bound, value, location, relate)
            return
        whole = all(entry == _FULL for entry in bound.params["index"])
        view = target if whole else apply(graph, bound, location, relate)
        single = index(target, key, scalar=True).params["scalar"] and not array(view).array_type.shape
        if single and isinstance(value, Node) and value.array_type.shape:
            raise OpError("an array stored as one element")
        if listed and isinstance(value, Node) and value.array_type.ndim > array(view).array_type.ndim:
            raise OpError("a sequence of more axes than it is stored into")  # NB: an array of them may broadcast
        store(graph, array(view), value, location, relate)
    except OpError:
        del graph.nodes[mark:]
        raise


def _put(
    graph: Graph, target: Node, place: Bound, value: Operand, location: Location | None, relate: Relate | None
) -> None:
    """target[index arrays] = value, which NumPy does in place."""
    if any(map(is_symbolic, parts(place.params["index"]))):
        target, place = _split(graph, target, place, location, relate)
    node = call(graph, "put_index", (target, value, *place.args[1:]), _put_params(place), location, relate)
    graph.add_store(target, node, location)


def _put_params(place: Bound) -> dict[str, Any]:
    entries = place.params["index"]
    if any(map(is_symbolic, parts(entries))):
        raise OpError("a store by index arrays beside numbers that are not constant")
    return {"index": entries}


def _split(
    graph: Graph, target: Node, place: Bound, location: Location | None, relate: Relate | None
) -> tuple[Node, Bound]:
    """An index of arrays beside numbers and slices, taken in two steps: `x[rows, j]` is `x[:, j][rows]`.

    NB: NumPy takes numbers for arrays of no axes. The axes that the arrays make have to stand where they stood.
    """
    entries = place.params["index"]
    if None in entries or ... in entries:
        raise OpError("a store by index arrays beside numbers that are not constant")
    arrays = [_is_array(entry) for entry in entries]
    kept = [entry if _is_array(entry) else _FULL for entry in entries if isinstance(entry, tuple)]
    advanced = [_is_array(entry) or not isinstance(entry, tuple) for entry in entries]
    if _made_at(advanced) != _made_at(list(map(_is_array, kept))):
        raise OpError("a store by index arrays beside numbers that are not constant, which moves axes")
    basic = tuple(_FULL if is_array else entry for entry, is_array in zip(entries, arrays, strict=True))
    view = array(call(graph, "basic_index", (target,), {"index": basic, "scalar": False}, location, relate))
    return view, Bound("advanced_index", (view, *place.args[1:]), {"index": tuple(kept)})


def _made_at(advanced: list[bool]) -> int:
    """Where the axes stand that index arrays make: where the arrays do, or first of all if these are apart."""
    first, count = advanced.index(True), sum(advanced)
    return first if all(advanced[first : first + count]) else 0


def _is_array(entry: Any) -> bool:
    return isinstance(entry, tuple) and entry[0] == "arg"


def parts(entries: Any) -> list[Any]:
    """All numbers in an index."""
    return [part for entry in entries for part in (parts(entry) if isinstance(entry, tuple) else (entry,))]


@spell_ufunc_method("put_index", "at")
def _at_method(ufunc: np.ufunc) -> Binder:
    def bind(ask: Relate, a: ExistingArray, indices: IndexArg, b: OperandArg, /) -> Bound:
        if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None or a.array_type.scalar:
            raise OpError(f"{ufunc.__name__}.at in this form has no rule")
        place = index(a, indices, scalar=False)
        if place.op != "advanced_index":
            raise OpError(f"{ufunc.__name__}.at of a part has no rule")
        params = _put_params(place) | {"ufunc": ufunc}
        return Bound("put_index", (a, b, *place.args[1:]), params, a, "no", "none")

    return bind


def _infer_put_index(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    target, value, indices = type_of(args[0]), args[1], args[2:]
    place = _infer_advanced_index((args[0], *indices), {"index": params["index"]}, ask)
    if isinstance(value, Node):
        source = value.array_type
        if source.dtype.kind == "c" and target.dtype.kind != "c":
            raise OpError("writing complex values into real memory warns")
        shape = source.shape[max(source.ndim - place.ndim, 0) :]
        if source.shape[: source.ndim - len(shape)].count(1) != source.ndim - len(shape):
            raise OpError("a value of more axes than what is stored into")
        for size, room in zip(reversed(shape), reversed(place.shape), strict=False):
            if size != 1 and not ask(make("eq", size, room)):
                raise OpError(f"{size} elements do not fit an axis of {room}")
        element: Any = source.dtype
    else:
        check_number(value, target.dtype, ask, assignment=True)
        element = dtype_class(value)
    if "ufunc" in params:
        # NB: ufunc.at casts to the loop's dtypes and back, as an out= of the target's dtype would.
        resolved = resolve_dtypes(params["ufunc"], (target.dtype, element))
        if resolved[-1] != target.dtype:
            raise OpError(f"{params['ufunc'].__name__}.at of {element} into {target.dtype}")
    return ArrayType(target.dtype, target.shape)


def _evaluate_put_index(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    result = np.array(args[0], order="K")
    put_index(result, *args[1:], **params)
    return result


def put_index(target: Any, value: Any, *indices: Any, index: Any, ufunc: np.ufunc | None = None) -> None:
    """Do to `target` what a put_index says."""
    key = index_key(index, (target, *indices))
    if ufunc is None:
        target[key] = value
    else:
        ufunc.at(target, key, value)


define(
    OpDef(
        "put_index",
        OpKind.CALL,
        _infer_put_index,
        _evaluate_put_index,
        "The first operand with the second at the places of params[index], index arrays; by params[ufunc].at.",
        (
            Sample(((5,), (3,), (3,)), {"index": (("arg", 1),)}, ("", "", "l")),
            Sample(((5,), 1, (3,)), {"index": (("arg", 1),)}, ("", "l")),
            Sample(((4, 3), (2,), (2,), (2,)), {"index": (("arg", 1), ("arg", 2))}, ("", "", "l", "l")),
            Sample(((4, 3), (3,), (2,)), {"index": (("arg", 1), _FULL)}, ("", "", "l")),
            Sample(((5,), (3,), (3,)), {"index": (("arg", 1),), "ufunc": np.add}, ("d", "d", "l")),
        ),
        in_place=True,
    )
)


def _store_masked(
    graph: Graph, target: Node, mask: Node, value: Operand, location: Location | None, relate: Relate | None
) -> None:
    """target[mask] = one number is target[...] = where(mask, number, target); so is one row for all rows that a mask of
    fewer axes selects."""
    ask = asker(graph, relate)
    shape, mask_shape = target.array_type.shape, mask.array_type.shape
    dtype = target.array_type.dtype
    if not mask_shape or len(shape) < len(mask_shape):
        raise OpError("a mask of another rank than the array")
    for size, dim in zip(mask_shape, shape, strict=False):
        if not ask(make("eq", size, dim)):
            raise OpError("a mask of another shape than the array")
    rest = shape[len(mask_shape) :]
    if rest:
        rows = (_FULL,) * len(mask_shape) + (None,) * len(rest)
        mask = call(graph, "basic_index", (mask,), {"index": rows, "scalar": False}, location, relate)
    if not isinstance(value, Node | np.generic):
        check_number(value, dtype, ask, assignment=True)
        if dtype.kind in "iub" and kind_of(value) not in ("int", "bool"):
            raise OpError(f"{value} into {dtype} by a mask")
        if dtype.kind == "b":
            if is_symbolic(value):
                raise OpError(f"{value} into bool by a mask")
            value = bool(value)
    elif len(type_of(value).shape) > len(rest):
        raise OpError("a masked store of an array")
    elif not all(
        size == 1 or ask(make("eq", size, dim))
        for size, dim in zip(reversed(type_of(value).shape), reversed(rest), strict=False)
    ):
        raise OpError("a masked store of a row of another length")
    elif type_of(value).dtype != dtype:
        raise OpError(f"a masked store of {type_of(value).dtype} into {dtype}")
    chosen = call(graph, "where", (mask, value, target), {}, location, relate)
    if chosen.array_type.dtype != dtype:
        raise OpError("the masked store would promote")
    graph.add_store(target, chosen, location)


def _infer_take(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_, indices = type_of(args[0]), type_of(args[1])
    if indices.dtype.kind not in "iu" or not np.can_cast(indices.dtype, np.intp, "same_kind"):
        raise OpError(f"take by {indices.dtype}")
    axis = params["axis"]
    whole = axis is None
    shape = indices.shape if whole else type_.shape[:axis] + indices.shape + type_.shape[axis + 1 :]
    return ArrayType(type_.dtype, tuple(settle(dim, ask) for dim in shape), not shape)


define(
    OpDef(
        "take",
        OpKind.CALL,
        _infer_take,
        lambda args, params: np.take(args[0], args[1], **params),
        "Elements, or slices along params[axis], at the indices of the second operand; params mode.",
        (
            Sample(((5,), (2, 2)), {"axis": None}, ("", "l")),
            Sample(((4, 3), (2,)), {"axis": 1}, ("", "l")),
            Sample(((4, 3), ()), {"axis": 0, "mode": "wrap"}, ("", "l")),
            Sample(((5,), ()), {"axis": 0}, ("", "l")),
        ),
    )
)


@spell("take", "np.take", np.take)
def _bind_take(
    ask: Relate,
    a: ArrayArg,
    indices: OperandArg,
    axis: IntOrNone = None,
    out: Unmodelled = None,
    mode: TakeMode = "raise",
) -> Bound:
    return _taken(a, indices, axis, mode)


@spell("take", None, method="take")
def _bind_method_take(
    ask: Relate,
    a: ArrayArg,
    indices: OperandArg,
    /,
    axis: IntOrNone = None,
    out: Unmodelled = None,
    mode: TakeMode = "raise",
) -> Bound:
    return _taken(a, indices, axis, mode)


def _taken(a: Node, indices: Any, axis: int | None, mode: str) -> Bound:
    indices = convert(indices) if is_scalar(indices) else indices
    params: dict[str, Any] = {"axis": None if axis is None else axis_of(axis, a.array_type.ndim)}
    if mode != "raise":
        params["mode"] = mode
    return Bound("take", (a, indices), params)


MOST_PLACES = 8  # along a short axis, of which each is a copy of its own


def short_places(node: Bound | Node) -> tuple[int, ...] | None:
    """The constant places along one axis that an "advanced_index" or a "take" picks of an array of two or three axes,
    None of any other."""
    if node.op not in ("advanced_index", "take") or len(node.args) != 2 or "mode" in node.params:
        return None
    x, picked = node.args
    if not isinstance(x, Node) or not isinstance(picked, Node) or x.array_type.ndim not in (2, 3):
        return None
    if axis_of_places(node) is None:
        return None
    if picked.kind is NodeKind.CONSTANT:
        places = picked.params["value"].tolist()
    else:
        places = list(picked.args) if picked.op == "array_of" else []
    is_short = picked.array_type.ndim == 1 and 0 < len(places) <= MOST_PLACES
    return tuple(places) if is_short and all(type(place) is int for place in places) else None


def axis_of_places(node: Bound | Node) -> int | None:
    """The axis along which it picks, where it takes all others whole."""
    if node.op == "take":
        axis: int | None = node.params["axis"]
        return axis
    index = node.params["index"]
    others = [entry for entry in index if entry != ("arg", 1)]
    is_one = len(others) == len(index) - 1 and all(entry == (None, None, None) for entry in others)
    return index.index(("arg", 1)) if is_one else None
