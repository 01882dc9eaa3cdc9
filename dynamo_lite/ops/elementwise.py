"""Elementwise ops: every numeric ufunc of NumPy by one rule, and where, astype, copies and clip.

A ufunc's op carries the ufunc's name (np.true_divide is "divide"). Its dtypes are what ``ufunc.resolve_dtypes`` says,
with int, float and complex standing for Python numbers; its shape is the broadcast one; a result of shape () is a NumPy
scalar unless params["as_array"] (``out=...``) is set. Params of a ufunc: dtype (that of the results), casting,
as_array; each absent when not given. Ops with several results have a tuple type, read by "tuple_get".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy._core import umath

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.scalar import ScalarOp, Symbol, is_scalar, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import (
    REGISTRY,
    Binder,
    Bound,
    DType,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    UnknownShape,
    array,
    call,
    check_number,
    define,
    operand,
    refuse,
    spell,
    static_bool,
    static_dtype,
    static_int,
    type_of,
)
from dynamo_lite.ops.shapes import broadcast, shape_of

WEAK = {"int": int, "float": float, "complex": complex}


def dtype_class(arg: Argument) -> Any:
    """An operand as dtype resolution takes it: a dtype, or int, float or complex for a weak Python number."""
    if isinstance(arg, Node):
        return arg.array_type.dtype
    kind = kind_of(arg)
    return np.dtype(bool) if kind == "bool" else WEAK[kind]


@cache
def resolve_dtypes(
    ufunc: np.ufunc, classes: tuple[Any, ...], dtype: DType | None = None, casting: str = "same_kind"
) -> tuple[DType, ...]:
    """What ``ufunc.resolve_dtypes`` says for operands of these dtypes or weak classes: operands, then results."""
    signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    try:
        resolved = ufunc.resolve_dtypes(
            (*classes, *(None,) * ufunc.nout),
            signature=signature,
            casting=casting,  # type: ignore[arg-type]
        )
    except (TypeError, ValueError) as error:
        raise OpError(f"{ufunc.__name__}: {error}") from None
    return tuple(resolved)


def loop_dtypes(ufunc: np.ufunc, args: Sequence[Argument], params: dict[str, Any], ask: Relate) -> tuple[DType, ...]:
    """The dtypes of the loop NumPy picks for a ufunc call: operands, then results; OpError if it would raise.

    Operands of another dtype are cast to the loop's; a Python number is converted to it.
    """
    if len(args) != ufunc.nin:
        raise OpError(f"{ufunc.__name__} takes {ufunc.nin} operands")
    dtypes = resolve_dtypes(
        ufunc, tuple(map(dtype_class, args)), params.get("dtype"), params.get("casting", "same_kind")
    )
    for arg, dtype in zip(args, dtypes, strict=False):
        if not isinstance(arg, Node):
            check_number(arg, dtype, ask)
        elif arg.array_type.dtype.kind == "c" and dtype.kind not in "cb":
            raise OpError("discarding the imaginary part warns")
    return dtypes


def infer_ufunc(ufunc: np.ufunc) -> Any:
    """The type rule of a ufunc."""

    def infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType | tuple[ArrayType, ...]:
        dtypes = loop_dtypes(ufunc, args, params, ask)[ufunc.nin :]
        shape = broadcast([shape_of(arg) for arg in args], ask)
        scalar = not shape and not params.get("as_array", False)
        types = tuple(ArrayType(dtype, shape, scalar) for dtype in dtypes)
        return types[0] if ufunc.nout == 1 else types

    return infer


def _evaluate_ufunc(ufunc: np.ufunc) -> Any:
    def evaluate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        keywords: dict[str, Any] = {key: params[key] for key in ("dtype", "casting") if key in params}
        if params.get("as_array"):
            keywords["out"] = ...
        return ufunc(*args, **keywords)

    return evaluate


# Ufuncs whose loops never report: comparisons, logic and bit tests. Everything else may set a flag for some dtype
# (or raise: integer powers).
_SILENT = frozenset(
    (
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "bitwise_count"),
        *("isnan", "isinf", "isfinite", "signbit", "copysign", "conjugate", "positive"),
    )
)
_NOT_NUMERIC = frozenset({"isnat", "_ones_like"})


def ufunc_binder(ufunc: np.ufunc) -> Binder:
    """The binder of a call of `ufunc` itself."""

    def bind(
        ask: Relate,
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
    ) -> Bound:
        if len(args) > ufunc.nin:
            if out is not None or len(args) > ufunc.nin + 1 or ufunc.nout > 1:
                raise OpError(f"{ufunc.__name__}: positional results have no rule")
            *args, out = args  # type: ignore[assignment]
        if len(args) < ufunc.nin:
            raise OpError(f"{ufunc.__name__} takes {ufunc.nin} operands")
        refuse(where=(where, True), order=(order, "K"), signature=(signature, None), sig=(sig, None))
        params: dict[str, Any] = {}
        if dtype is not None:
            params["dtype"] = static_dtype(dtype)
        if casting != "same_kind":
            params["casting"] = casting
        if isinstance(out, tuple):
            if len(out) != 1:
                raise OpError(f"{ufunc.__name__}: several out= arrays have no rule")
            (out,) = out
        target = None
        if out is ...:
            params["as_array"] = True
        elif out is not None:
            target = array(out)
            if target.array_type.scalar:
                raise OpError("out= is a NumPy scalar")
        return Bound(ufunc.__name__, tuple(map(operand, args)), params, target, casting)

    return bind


def _summary(ufunc: np.ufunc) -> str:
    text = (ufunc.__doc__ or "").split("\n\n")[1] if "\n\n" in (ufunc.__doc__ or "") else ufunc.__name__
    return " ".join(text.split())


def _define_ufunc(ufunc: np.ufunc) -> None:
    operands = ((2, 3), (3,), (2, 1))[: ufunc.nin] if ufunc.nin > 1 else ((2, 3),)
    samples = [Sample(operands, {}), Sample(((),) * ufunc.nin, {}), Sample(((),) * ufunc.nin, {"as_array": True})]
    if ufunc.nin == 2:
        samples += [Sample(((2, 3), 1), {}), Sample((1.5, (3,)), {}), Sample(((3,), True), {}), Sample(((), 2), {})]
    define(
        OpDef(
            ufunc.__name__,
            OpKind.ELEMENTWISE,
            infer_ufunc(ufunc),
            _evaluate_ufunc(ufunc),
            _summary(ufunc),
            tuple(samples if ufunc.nout == 1 else samples[:2]),
            may_report=ufunc.__name__ not in _SILENT,
            ufunc=ufunc,
        )
    )
    spell(ufunc.__name__, f"np.{ufunc.__name__}", ufunc)(ufunc_binder(ufunc))


def _is_numeric(ufunc: np.ufunc) -> bool:
    return ufunc.signature is None and any(types[0] in "?bdl" for types in ufunc.types)


UFUNCS = {
    ufunc.__name__: ufunc
    for ufunc in vars(umath).values()
    # "real" and "imag" exist as ufuncs since NumPy 2.5; nothing of NumPy's Python calls them, and the views have
    # these names.
    if isinstance(ufunc, np.ufunc) and _is_numeric(ufunc) and ufunc.__name__ not in _NOT_NUMERIC | {"real", "imag"}
}
for _ufunc in UFUNCS.values():
    _define_ufunc(_ufunc)


def _infer_tuple_get(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    (node,) = args
    if not isinstance(node, Node) or not isinstance(node.type, tuple):
        raise OpError("tuple_get of something that is no tuple")
    index: int = params["index"]
    return node.type[index]


define(
    OpDef(
        "tuple_get",
        OpKind.CALL,
        _infer_tuple_get,
        lambda args, params: args[0][params["index"]],
        "One result of an op that has several.",
        may_report=False,
    )
)


def _bind_conjugate(ask: Relate, x: Any) -> Bound:
    """x.conj() of real numbers is x itself (PyArray_Conjugate)."""
    node = array(x)
    if node.array_type.dtype.kind == "c":
        return Bound("conjugate", (node,))
    if node.array_type.scalar:
        raise OpError("conj of a real NumPy scalar has no rule")
    return Bound("same", (node,))


for _method in ("conj", "conjugate"):
    spell("conjugate", None, method=_method)(_bind_conjugate)


# where


def _infer_where(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    condition, *branches = args
    if not isinstance(condition, Node):
        raise OpError("where: the condition is a Python number")
    dtype = _where_dtype(tuple(map(dtype_class, branches)))
    for branch in branches:
        if not isinstance(branch, Node):
            check_number(branch, dtype, ask)
    return ArrayType(dtype, broadcast([shape_of(arg) for arg in args], ask))


@cache
def _where_dtype(classes: tuple[Any, ...]) -> DType:
    samples = [np.ones((), one) if isinstance(one, np.dtype) else one(1) for one in classes]
    return np.where(np.ones((), bool), *samples).dtype


define(
    OpDef(
        "where",
        OpKind.ELEMENTWISE,
        _infer_where,
        lambda args, params: np.where(*args),
        "Elements of the second operand where the first is true, of the third elsewhere; never a scalar.",
        (
            Sample(((2, 3), (3,), (2, 1)), {}, ("?", "", "")),
            Sample(((3,), (3,), 2), {}, ("", "", "")),
            Sample(((), (), ()), {}, ("?", "", "")),
            Sample(((3,), 1.5, 2), {}, ("?",)),
        ),
        may_report=False,
    )
)


@spell("where", "np.where", np.where)
def _bind_where(ask: Relate, condition: Any, x: Any = None, y: Any = None, /) -> Bound:
    if x is None or y is None:
        raise UnknownShape("np.where of a condition alone")
    return Bound("where", (array(condition), operand(x), operand(y)))


# astype and copies


def _infer_astype(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    dtype = params["dtype"]
    if type_.dtype.kind == "c" and dtype.kind not in "cb":
        raise OpError("discarding the imaginary part warns")
    if not np.can_cast(type_.dtype, dtype, params.get("casting", "unsafe")):
        raise OpError(f"cannot cast {type_.dtype} to {dtype}")
    return ArrayType(dtype, type_.shape, type_.scalar)


define(
    OpDef(
        "astype",
        OpKind.ELEMENTWISE,
        _infer_astype,
        lambda args, params: args[0].astype(**params),
        "A fresh array with every element cast; params dtype, casting, order (absent: K).",
        (
            *(Sample(((2, 3),), {"dtype": np.dtype(code)}) for code in "?bLefdD"),
            Sample(((),), {"dtype": np.dtype("f")}),
            Sample(((2, 3),), {"dtype": np.dtype("d"), "order": "F"}),
        ),
    )
)


@spell("astype", "np.astype", np.astype)
def _bind_np_astype(ask: Relate, x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Bound:
    refuse(device=(device, None))
    if type_of(x).scalar:
        raise OpError("np.astype takes arrays only")
    return _bind_astype(ask, x, dtype, copy=copy)


@spell("astype", None, method="astype")
def _bind_astype(
    ask: Relate,
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: Any = True,
) -> Bound:
    node = array(x)
    params: dict[str, Any] = {"dtype": static_dtype(dtype)}
    if order != "K":
        params["order"] = _order(order, "KCF")
    if casting != "unsafe":
        params["casting"] = casting
    same = params["dtype"] == node.array_type.dtype and not node.array_type.scalar
    if not static_bool(copy, "copy") and same:
        if order != "K":
            raise OpError(f"whether a copy is due depends on the memory order ({order})")
        return Bound("same", (node,))
    return Bound("astype", (node,), params)


def _order(order: Any, known: str) -> str:
    if order not in tuple(known):
        raise OpError(f"order={order!r} has no rule")
    return order  # type: ignore[no-any-return]


def _infer_copy(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    return ArrayType(type_.dtype, type_.shape, type_.scalar and not params.get("as_array", False))


def _evaluate_copy(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if params.get("as_array"):
        return np.array(args[0], order=params["order"])
    return args[0].copy(params["order"])


define(
    OpDef(
        "copy",
        OpKind.ELEMENTWISE,
        _infer_copy,
        _evaluate_copy,
        "A fresh array of the same elements in memory order params[order]; as_array makes a NumPy scalar a 0-d array.",
        (
            Sample(((2, 3),), {"order": "K"}),
            Sample(((2, 3),), {"order": "C"}),
            Sample(((2, 3),), {"order": "F"}),
            Sample(((),), {"order": "C"}),
            Sample(((),), {"order": "K", "as_array": True}),
        ),
        may_report=False,
    )
)


@spell("copy", None, method="copy")
def _bind_method_copy(ask: Relate, x: Any, order: str = "C") -> Bound:
    return Bound("copy", (array(x),), {"order": _order(order, "KCF")})


@spell("copy", None, method="__copy__")
def _bind_dunder_copy(ask: Relate, x: Any) -> Bound:
    if array(x).array_type.scalar:
        raise OpError("copy.copy of a NumPy scalar")
    return Bound("copy", (array(x),), {"order": "K"})


@spell("copy", "np.copy", np.copy)
def _bind_copy(ask: Relate, a: Any, order: str = "K", subok: bool = False) -> Bound:
    return Bound("copy", (array(a),), {"order": _order(order, "KCF"), "as_array": True})


@spell("copy astype array_of", "np.array", np.array)
def _bind_array(
    ask: Relate,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Bound:
    refuse(like=(like, None))
    if isinstance(object, list | tuple) or is_scalar(object):
        refuse(order=(order, "K"), ndmin=(ndmin, 0))
        return _bind_array_of(object, dtype)
    type_ = type_of(object)
    if type_.ndim < static_int(ndmin, "ndmin"):
        raise OpError("ndmin= that adds axes has no rule")
    wanted = type_.dtype if dtype is None else static_dtype(dtype)
    if copy is None and order == "K" and wanted == type_.dtype and not type_.scalar:
        return Bound("same", (object,))
    if copy is None and order != "K":
        raise OpError(f"whether a copy is due depends on the memory order ({order})")
    if copy is not None and not static_bool(copy, "copy"):
        raise OpError("copy=False may raise")
    if wanted == type_.dtype:
        return Bound("copy", (object,), {"order": _order(order, "KCF"), "as_array": True})
    if type_.scalar:
        raise OpError("an array of another dtype from a NumPy scalar")
    return Bound("astype", (object,), {"dtype": wanted} if order == "K" else {"dtype": wanted, "order": order})


def _bind_as(name: str, *callables: Any) -> None:
    def bind(
        ask: Relate,
        a: Any,
        dtype: Any = None,
        order: Any = None,
        *,
        device: Any = None,
        copy: Any = None,
        like: Any = None,
    ) -> Bound:
        refuse(device=(device, None))
        return _bind_array(ask, a, dtype, copy=copy, order="K" if order is None else order, like=like)

    spell("copy astype array_of", f"np.{name}", *callables)(bind)


_bind_as("asarray", np.asarray)
_bind_as("asanyarray", np.asanyarray)


def _nested(value: Any, leaves: list[Any]) -> tuple[int, ...]:
    """The shape of nested sequences of numbers; appends the numbers to `leaves` in C order."""
    if not isinstance(value, list | tuple):
        leaf = operand(value)
        if isinstance(leaf, Node) and not leaf.array_type.scalar:
            raise OpError("np.array of a sequence of arrays has no rule")
        leaves.append(leaf)
        return ()
    shapes = [_nested(item, leaves) for item in value]
    if any(shape != shapes[0] for shape in shapes):
        raise OpError("np.array of a ragged sequence")
    return (len(value), *(shapes[0] if shapes else ()))


def _bind_array_of(value: Any, dtype: Any) -> Bound:
    leaves: list[Any] = []
    params: dict[str, Any] = {"shape": _nested(value, leaves)}
    if dtype is not None:
        params["dtype"] = static_dtype(dtype)
    return Bound("array_of", tuple(leaves), params)


def _infer_array_of(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    wanted = params.get("dtype")
    for arg in args:
        if isinstance(arg, Node) and wanted is not None and not np.can_cast(arg.array_type.dtype, wanted, "same_kind"):
            raise OpError(f"np.array of a {arg.array_type.dtype} as {wanted}")
    samples = tuple(map(sample_number, args))
    try:
        with np.errstate(all="raise"):
            dtype: DType = _evaluate_array_of(samples, params).dtype
    except (ValueError, TypeError, OverflowError, FloatingPointError) as error:
        raise OpError(f"np.array: {error}") from None
    for arg in args:
        if not isinstance(arg, Node):
            check_number(arg, dtype, ask)
    return ArrayType(dtype, params["shape"])


def sample_number(arg: Argument) -> Any:
    """A number to try a function with in place of a NumPy scalar or Python number: itself, or a one of its type."""
    if isinstance(arg, Node):
        return arg.array_type.dtype.type(1)
    if isinstance(arg, Symbol | ScalarOp):
        return {"int": 1, "float": 1.0, "bool": True}[arg.kind]
    return arg


def _evaluate_array_of(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    items = list(args)
    for length in reversed(params["shape"][1:]):
        items = [items[start : start + length] for start in range(0, len(items), length)]
    return np.array(items if params["shape"] else items[0], dtype=params.get("dtype"))


define(
    OpDef(
        "array_of",
        OpKind.CALL,
        _infer_array_of,
        _evaluate_array_of,
        "A fresh array of the operands, NumPy scalars and Python numbers, in C order; params shape, dtype.",
        (
            Sample(((), (), 2), {"shape": (3,)}),
            Sample((1, 2.5, (), 4), {"shape": (2, 2)}),
            Sample((), {"shape": (0,)}),
            Sample((7,), {"shape": (), "dtype": np.dtype("f")}),
        ),
    )
)


# clip: the C method forwards to numpy._core._methods._clip; this is that function's rule.


def _bind_clip_bounds(ask: Relate, x: Node, low: Any, high: Any, out: Any, casting: str, dtype: Any) -> Bound:
    kind = x.array_type.dtype.kind
    if kind in "iu":
        limits = np.iinfo(x.array_type.dtype)  # type: ignore[type-var]
        low = None if _is_int(low) and ask(make("le", low, int(limits.min))) else low
        high = None if _is_int(high) and ask(make("ge", high, int(limits.max))) else high
    name, operands = {
        (True, True): ("positive", (x,)),
        (True, False): ("minimum", (x, high)),
        (False, True): ("maximum", (x, low)),
        (False, False): ("clip", (x, low, high)),
    }[low is None, high is None]
    return ufunc_binder(UFUNCS[name])(ask, *operands, out=out, casting=casting, dtype=dtype)


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Symbol | ScalarOp) and value.kind == "int")


@spell("clip minimum maximum positive", None, method="clip")
def _bind_method_clip(
    ask: Relate,
    x: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    where: Any = True,
    casting: str = "same_kind",
    dtype: Any = None,
) -> Bound:
    refuse(where=(where, True))
    return _bind_clip_bounds(ask, array(x), min, max, out, casting, dtype)


@spell("clip minimum maximum positive", "np.clip", np.clip)
def _bind_clip(
    ask: Relate,
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    where: Any = True,
    casting: str = "same_kind",
    dtype: Any = None,
) -> Bound:
    missing = np._NoValue
    if a_min is missing and a_max is missing:
        a_min, a_max = (None if min is missing else min), (None if max is missing else max)
    elif a_min is missing or a_max is missing or min is not missing or max is not missing:
        raise OpError("np.clip with one bound missing or given twice")
    return _bind_method_clip(ask, a, a_min, a_max, out, where=where, casting=casting, dtype=dtype)


# writes


@spell("copy", "np.copyto", np.copyto)
def _bind_copyto(ask: Relate, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Bound:
    refuse(where=(where, True))
    target, source = array(dst), operand(src)
    if not isinstance(source, Node | np.generic) and casting != "unsafe":
        number = np.dtype({"bool": bool, **WEAK}[kind_of(source)])
        if not np.can_cast(number, target.array_type.dtype, casting):  # type: ignore[arg-type]
            raise OpError(f"cannot copy {source} to {target.array_type.dtype} with casting={casting!r}")
    return Bound("same", (source,), {}, target, casting, "none")


@spell("copy", None, method="fill")
def _bind_fill(ask: Relate, x: Any, value: Any) -> Bound:
    source = operand(value)
    if not is_scalar(source) and type_of(source).shape:
        raise OpError("fill with an array")
    return Bound("same", (source,), {}, array(x), "unsafe", "none")


# a ufunc with out=, by NumPy itself


def _infer_ufunc_out(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    target = type_of(args[0])
    others = {key: value for key, value in params.items() if key != "ufunc"} | {"as_array": True}
    result = REGISTRY[params["ufunc"].__name__].infer(args[1:], others, ask)
    if not isinstance(result, ArrayType) or result.dtype != target.dtype or len(result.shape) != len(target.shape):
        raise OpError("a result of another type than its out=")
    if not all(ask(make("eq", a, b)) for a, b in zip(result.shape, target.shape, strict=True)):
        raise OpError("a result of another shape than its out=")
    return ArrayType(target.dtype, target.shape)


def _evaluate_ufunc_out(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    keywords = {key: value for key, value in params.items() if key != "ufunc"}
    return params["ufunc"](*args[1:], out=args[0], **keywords)


define(
    OpDef(
        "ufunc_out",
        OpKind.CALL,
        _infer_ufunc_out,
        _evaluate_ufunc_out,
        "params[ufunc] of the other operands, into the first one: where NumPy's bits depend on the memory they share.",
        (
            Sample(((3,), (3,)), {"ufunc": np.conjugate}, ("D", "D")),
            Sample(((2, 3), (3,), (2, 3)), {"ufunc": np.subtract}, ("F", "F", "F")),
        ),
        in_place=True,
    )
)


def store_ufunc(graph: Graph, bound: Bound, location: Location | None, relate: Relate) -> None:
    """Append the call of a ufunc into its out=, done by NumPy in that very memory; OpError where there is no rule."""
    op = REGISTRY[bound.op]
    if op.ufunc is None or op.kind is not OpKind.ELEMENTWISE or op.ufunc.nout != 1 or bound.out is None:
        raise OpError(f"complex {bound.op} in place")
    params = {key: value for key, value in bound.params.items() if key != "as_array"} | {"ufunc": op.ufunc}
    node = call(graph, "ufunc_out", (bound.out, *bound.args), params, location, relate)
    graph.add_store(bound.out, node, location)
