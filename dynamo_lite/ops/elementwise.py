"""Elementwise ops: every numeric ufunc of NumPy by one rule, and where, astype, copies and clip.

A ufunc's op carries the ufunc's name (np.true_divide is "divide"). Its dtypes are what ``ufunc.resolve_dtypes`` says,
with int, float and complex standing for Python numbers; its shape is the broadcast one; a result of shape () is a NumPy
scalar unless params["as_array"] (``out=...``) is set. Params of a ufunc: dtype (that of the results), casting,
as_array; each absent when not given. Ops with several results have a tuple type, read by "tuple_get".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy._core import umath

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Location, Node
from dynamo_lite.graph.opdef import demand
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_scalar, kind_of, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, is_sequence, pending, sample_leaf
from dynamo_lite.ops.parameters import (
    ABSENT,
    REFUSALS,
    ArrayArg,
    Casting,
    CopyOrNone,
    Device,
    DType,
    DTypeArg,
    DTypeOrNone,
    ExistingArray,
    Flag,
    Int,
    MaskOrTrue,
    Nested,
    OperandArg,
    OptionalOperand,
    OrderKCF,
    OrderKCFOrNone,
    Out,
    SubOk,
    UfuncArgument,
    UfuncOptionalOperand,
    UfuncOut,
    UfuncWhere,
    Unmodelled,
    existing_array,
    out_array,
    type_of,
)
from dynamo_lite.ops.registry import (
    REGISTRY,
    Binder,
    Bound,
    OpDef,
    OpError,
    OpKind,
    Relate,
    Sample,
    call,
    check_number,
    define,
    spell,
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
    if casting in ("no", "equiv", "safe") and not all(isinstance(one, np.dtype) for one in classes):
        # NB: a call asks what the number's own dtype, int64 say, may be cast to. resolve_dtypes allows every casting of
        # a Python number, and crashes on "equiv" (NumPy 2.4).
        raise OpError(f"{ufunc.__name__} of a Python number with casting={casting!r}")
    signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    try:
        resolved = ufunc.resolve_dtypes(
            (*classes, *(None,) * ufunc.nout),
            signature=signature,
            casting=casting,  # type: ignore[arg-type]
        )
    except REFUSALS as error:
        raise OpError(f"{ufunc.__name__}: {error}") from None
    return tuple(resolved)


def loop_dtypes(ufunc: np.ufunc, args: Sequence[Argument], params: dict[str, Any], ask: Relate) -> tuple[DType, ...]:
    """The dtypes of the loop NumPy picks for a ufunc call: operands, then results; OpError if it would raise.

    Operands of another dtype are cast to the loop's; a Python number is converted to it.
    """
    if len(args) != ufunc.nin:
        raise OpError(f"{ufunc.__name__} takes {ufunc.nin} operands")
    if len(args) == 1 and type(args[0]) is int and not -(2**63) <= args[0] < 2**63:
        raise OpError(
            f"{ufunc.__name__} of an int beyond 64 bits"
        )  # alone it is no weak number, but an object or uint64
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


def _takes_ellipsis() -> bool:
    """Whether ``out=...`` asks for a 0-d array in a scalar's place, as it does since NumPy 2.3."""
    try:
        np.positive(1.0, out=...)
    except TypeError:
        return False
    return True


TAKES_ELLIPSIS = _takes_ellipsis()


# NumPy 2.4: a third positional argument might be meant for another operand.
_WARNS_OF_POSITIONAL_OUT = (np.maximum, np.minimum)


def ufunc_binder(ufunc: np.ufunc, finish: Callable[[Bound], Bound] = lambda bound: bound) -> Binder:
    """The binder of a call of `ufunc` itself; `finish` gets what it says."""

    def bind(
        ask: Relate,
        *args: UfuncArgument,
        out: UfuncOut = ABSENT,
        where: UfuncWhere = ABSENT,
        casting: Casting = "same_kind",
        order: Unmodelled = "K",
        dtype: DTypeOrNone = None,
        subok: SubOk = True,
        signature: Unmodelled = ABSENT,
        sig: Unmodelled = ABSENT,
    ) -> Bound:
        operands = tuple(one for one in args[: ufunc.nin] if one is not None)
        if len(args) > ufunc.nin:
            # NB: of a result in both places NumPy complains, also of None.
            if out is not ABSENT or len(args) > ufunc.nin + 1 or ufunc.nout > 1:
                raise OpError(f"{ufunc.__name__}: positional results have no rule")
            if ufunc in _WARNS_OF_POSITIONAL_OUT:
                raise OpError(f"{ufunc.__name__} warns of a positional result")
            out = out_array(args[-1])
        elif out is ABSENT:
            out = None
        if len(operands) < ufunc.nin or (where is not ABSENT and ufunc.signature is not None):
            raise OpError(f"{ufunc.__name__} takes {ufunc.nin} operands")
        params: dict[str, Any] = {}
        if dtype is not None:
            params["dtype"] = dtype
        if casting != "same_kind":
            params["casting"] = casting
        if out is ...:
            if not TAKES_ELLIPSIS:
                raise OpError("out=... raises")
            params["as_array"] = True
            out = None
        if where is not True and where is not ABSENT:
            if out is None or ufunc.nout > 1:
                raise OpError("where= without out= leaves elements unset")
            params |= {"ufunc": ufunc, "where": True}
            return finish(Bound("ufunc_out", (out, *operands, where), params, out, casting))
        return finish(Bound(ufunc.__name__, operands, params, out, casting))

    return bind


def _summary(ufunc: np.ufunc) -> str:
    text = (ufunc.__doc__ or "").split("\n\n")[1] if "\n\n" in (ufunc.__doc__ or "") else ufunc.__name__
    return " ".join(text.split())


def _define_ufunc(ufunc: np.ufunc) -> None:
    operands = ((2, 3), (3,), (2, 1))[: ufunc.nin] if ufunc.nin > 1 else ((2, 3),)
    samples = [Sample(operands, {}), Sample(((),) * ufunc.nin, {})]
    if TAKES_ELLIPSIS:
        samples.append(Sample(((),) * ufunc.nin, {"as_array": True}))
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
    # these names. "_ones_like" is what ``x ** 0`` calls before NumPy 2.3 (operators.py).
    if isinstance(ufunc, np.ufunc) and _is_numeric(ufunc) and ufunc.__name__ not in {"isnat", "real", "imag"}
}
for _ufunc in UFUNCS.values():
    _define_ufunc(_ufunc)

for _name, _ufunc in (("least", np.minimum), ("greatest", np.maximum)):
    define(
        OpDef(
            _name,
            OpKind.ELEMENTWISE,
            infer_ufunc(_ufunc),
            _evaluate_ufunc(_ufunc),
            f"One step of np.{_ufunc.__name__}.reduce: of zeros the second; kernels decline where NaNs might differ.",
            (Sample(((2, 3), (2, 3)), {}), Sample(((2, 3), (3,)), {})),
        )
    )


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


def _bind_conjugate(ask: Relate, x: ArrayArg) -> Bound:
    """x.conj() of an array of real numbers is x itself (PyArray_Conjugate); of a bool, too."""
    node = x
    if node.array_type.dtype.kind == "c":
        return Bound("conjugate", (node,))
    if node.array_type.scalar and node.array_type.dtype.kind != "b":
        return Bound("conjugate", (node,))  # another object
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
            _check_cast(branch, dtype, ask)
    return ArrayType(dtype, broadcast([shape_of(arg) for arg in args], ask))


def _check_cast(number: Scalar, dtype: DType, ask: Relate) -> None:
    """OpError if np.where, which makes an array of a Python number and casts that, meets an error there: other
    conversions of a number do not report an underflow."""
    if isinstance(number, Symbol | ScalarOp):
        if kind_of(number) == "float" and dtype.char in "efF":
            least = float(np.finfo(dtype).tiny)  # type: ignore[type-var]
            is_normal = make("or", make("ge", number, least), make("le", number, -least))
            if not demand(ask, make("or", is_normal, make("eq", number, 0.0))):
                raise OpError(f"{number} as {dtype} may underflow")
    elif type(number) in (float, complex):
        try:
            with np.errstate(all="raise"):
                np.asarray(number).astype(dtype)
        except FloatingPointError as error:
            raise OpError(f"{number} as {dtype}: {error}") from None


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


@spell("where nonzero", "np.where", np.where)
def _bind_where(ask: Relate, condition: OperandArg, x: OptionalOperand = None, y: OptionalOperand = None, /) -> Bound:
    if x is None or y is None:
        if x is not None or y is not None:
            raise OpError("np.where of one array of two")
        return Bound("nonzero", (existing_array(condition),))
    return Bound("where", (condition if isinstance(condition, Node) else convert(condition), x, y))


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
def _bind_np_astype(
    ask: Relate, x: ExistingArray, dtype: DTypeArg, /, *, copy: Flag = True, device: Device = None
) -> Bound:
    if x.array_type.scalar:
        raise OpError("np.astype takes arrays only")
    return _bind_astype(ask, x, dtype, copy=copy)


@spell("astype", None, method="astype")
def _bind_astype(
    ask: Relate,
    x: ArrayArg,
    dtype: DTypeArg,
    order: OrderKCF = "K",
    casting: Casting = "unsafe",
    subok: SubOk = True,
    copy: Flag = True,
) -> Bound:
    params: dict[str, Any] = {"dtype": dtype}
    if order != "K":
        params["order"] = order
    if casting != "unsafe":
        params["casting"] = casting
    if not copy and dtype == x.array_type.dtype and not x.array_type.scalar:
        if order != "K":
            raise OpError(f"whether a copy is due depends on the memory order ({order})")
        return Bound("same", (x,))
    return Bound("astype", (x,), params)


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
def _bind_method_copy(ask: Relate, x: ArrayArg, order: OrderKCF = "C") -> Bound:
    return Bound("copy", (x,), {"order": order})


@spell("copy", None, method="__copy__")
def _bind_dunder_copy(ask: Relate, x: ArrayArg) -> Bound:
    if x.array_type.scalar:
        raise OpError("copy.copy of a NumPy scalar")
    return Bound("copy", (x,), {"order": "K"})


@spell("copy", "np.copy", np.copy)
def _bind_copy(ask: Relate, a: ArrayArg, order: OrderKCF = "K", subok: SubOk = False) -> Bound:
    return Bound("copy", (a,), {"order": order, "as_array": True})


@spell("copy astype array_of reshape", "np.array", np.array)
def _bind_array(
    ask: Relate,
    object: Nested,
    dtype: DTypeOrNone = None,
    *,
    copy: CopyOrNone = True,
    order: OrderKCF = "K",
    subok: SubOk = False,
    ndmin: Int = 0,
    like: Unmodelled = None,
) -> Bound:
    return _array_from(object, dtype, copy, order, ndmin, ask)


def _array_from(object: Any, dtype: DType | None, copy: bool | None, order: str, ndmin: int, ask: Relate) -> Bound:
    """copy: True, or None for a copy only where it is due; a copy that is not allowed (False) may raise."""
    if is_sequence(object) or is_scalar(object):
        if ndmin != 0:
            raise OpError("np.array of a sequence with ndmin= has no rule")
        bound = bind_array_of(object, dtype)
        if order != "F":
            return bound
        made = pending(bound.op, bound.args, bound.params)
        return Bound("copy", (made,), {"order": "F", "as_array": True})
    type_ = type_of(object)
    wanted = type_.dtype if dtype is None else dtype
    if not 0 <= ndmin <= type_.ndim:
        return _with_axes(object, wanted, copy, order, ndmin, ask)
    if wanted == type_.dtype and wanted.num != type_.dtype.num:  # long and long long: a view, which shows the other
        raise OpError("an array of a dtype that is equal to its own, but another")
    if copy is None and order == "K" and wanted == type_.dtype and not type_.scalar:
        return Bound("same", (object,))
    if copy is None and order != "K":
        raise OpError(f"whether a copy is due depends on the memory order ({order})")
    if wanted == type_.dtype:
        return Bound("copy", (object,), {"order": order, "as_array": True})
    if type_.scalar:
        raise OpError("an array of another dtype from a NumPy scalar")
    return Bound("astype", (object,), {"dtype": wanted} if order == "K" else {"dtype": wanted, "order": order})


def _with_axes(object: Node, dtype: DType, copy: bool | None, order: str, ndmin: int, ask: Relate) -> Bound:
    """np.array with axes put before those of a vector: a view of it, or of a copy, that lies as a reshaped one does."""
    type_ = object.array_type
    if type_.ndim != 1 or not 1 < ndmin <= 64 or order != "K" or dtype.num != type_.dtype.num:
        raise OpError("ndmin= that adds axes has no rule but for vectors of that dtype")
    if not ask(make("ge", type_.shape[0], 1)):
        raise OpError("ndmin= that adds axes to an empty vector")
    vector = object if copy is None else pending("copy", (object,), {"order": "K", "as_array": True})
    return Bound("reshape", (vector,), {"shape": (*(1,) * (ndmin - 1), type_.shape[0])})


def _bind_as(name: str, *callables: Any) -> None:
    def bind(
        ask: Relate,
        a: Nested,
        dtype: DTypeOrNone = None,
        order: OrderKCFOrNone = None,
        *,
        device: Device = None,
        copy: CopyOrNone = None,
        like: Unmodelled = None,
    ) -> Bound:
        return _array_from(a, dtype, copy, "K" if order is None else order, 0, ask)

    spell("copy astype array_of", f"np.{name}", *callables)(bind)


_bind_as("asarray", np.asarray)
_bind_as("asanyarray", np.asanyarray)


def bind_array_of(value: Any, dtype: DType | None) -> Bound:
    """np.array of a sequence or number."""
    made = convert(value, dtype)
    return Bound(made.op, made.args, made.params)


def _infer_array_of(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    wanted = params.get("dtype")
    for arg in args:
        if isinstance(arg, Node) and wanted is not None and not np.can_cast(arg.array_type.dtype, wanted, "same_kind"):
            raise OpError(f"np.array of a {arg.array_type.dtype} as {wanted}")
    samples = tuple(map(sample_leaf, args))
    try:
        with np.errstate(all="raise"):
            dtype: DType = _evaluate_array_of(samples, params).dtype
    except REFUSALS as error:
        raise OpError(f"np.array: {error}") from None
    for arg in args:
        if not isinstance(arg, Node):
            check_number(arg, dtype, ask)
    items = [shape_of(arg) for arg in args]
    if any(len(item) != len(items[0]) for item in items):
        raise OpError("np.array of a ragged sequence")
    for item in items[1:]:
        for size, other in zip(items[0], item, strict=True):
            if not ask(make("eq", size, other)):
                raise OpError("np.array of a ragged sequence")
    return ArrayType(dtype, (*params["shape"], *(items[0] if items else ())))


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
        "A fresh array in C order of the operands, arrays of one shape, NumPy scalars or numbers; params shape, dtype.",
        (
            Sample(((), (), 2), {"shape": (3,)}),
            Sample(((2, 3), (2, 3)), {"shape": (2,)}),
            Sample(((3,),) * 4, {"shape": (2, 2)}),
            Sample(((3,), (3,)), {"shape": (2,), "dtype": np.dtype("D")}),
            Sample((1, 2.5, (), 4), {"shape": (2, 2)}),
            Sample((), {"shape": (0,)}),
            Sample((7,), {"shape": (), "dtype": np.dtype("f")}),
        ),
    )
)


# clip: the C method forwards to numpy._core._methods._clip; this is that function's rule.


def _bind_clip_bounds(ask: Relate, x: Any, low: Any, high: Any, out: Any, casting: str, dtype: DType | None) -> Bound:
    if not isinstance(x, Node) and any(isinstance(bound, Node | np.generic) for bound in (x, low, high)):
        raise OpError("np.clip of a Python number by NumPy's")
    of = x.array_type.dtype if isinstance(x, Node) else np.dtype(_NUMBERS.get(kind_of(x), object))
    if of.kind == "O":
        raise OpError("np.clip of what is no number")
    if of.kind in "iu":
        limits = np.iinfo(of)  # type: ignore[type-var]
        low = None if _is_int(low) and ask(make("le", low, int(limits.min))) else low
        high = None if _is_int(high) and ask(make("ge", high, int(limits.max))) else high
    name, operands = {
        (True, True): ("positive", (x,)),
        (True, False): ("minimum", (x, high)),
        (False, True): ("maximum", (x, low)),
        (False, False): ("clip", (x, low, high)),
    }[low is None, high is None]
    return ufunc_binder(UFUNCS[name])(ask, *operands, out=out, casting=casting, dtype=dtype)


_NUMBERS = {"int": np.int64, "float": np.float64}  # what NumPy makes an array of


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Symbol | ScalarOp) and value.kind == "int")


@spell("clip minimum maximum positive", None, method="clip")
def _bind_method_clip(
    ask: Relate,
    x: ArrayArg,
    min: UfuncOptionalOperand = None,
    max: UfuncOptionalOperand = None,
    out: Out = None,
    *,
    where: Unmodelled = True,
    casting: Casting = "same_kind",
    dtype: DTypeOrNone = None,
) -> Bound:
    return _bind_clip_bounds(ask, x, min, max, out, casting, dtype)


@spell("clip minimum maximum positive", "np.clip", np.clip)
def _bind_clip(
    ask: Relate,
    a: OperandArg,
    a_min: UfuncOptionalOperand = np._NoValue,
    a_max: UfuncOptionalOperand = np._NoValue,
    out: Out = None,
    *,
    min: UfuncOptionalOperand = np._NoValue,
    max: UfuncOptionalOperand = np._NoValue,
    where: Unmodelled = True,
    casting: Casting = "same_kind",
    dtype: DTypeOrNone = None,
) -> Bound:
    missing = np._NoValue
    if a_min is missing and a_max is missing:
        a_min, a_max = (None if min is missing else min), (None if max is missing else max)
    elif a_min is missing or a_max is missing or min is not missing or max is not missing:
        raise OpError("np.clip with one bound missing or given twice")
    return _bind_clip_bounds(ask, a, a_min, a_max, out, casting, dtype)


# writes


@spell("copy", "np.copyto", np.copyto)
def _bind_copyto(
    ask: Relate, dst: ExistingArray, src: OperandArg, casting: Casting = "same_kind", where: MaskOrTrue = True
) -> Bound:
    target, source = dst, src
    if isinstance(source, Node | np.generic):
        dtype = type_of(source).dtype
    else:
        dtype = np.dtype({"bool": bool, **WEAK}[kind_of(source)])
    if not np.can_cast(dtype, target.array_type.dtype, casting):  # type: ignore[arg-type]
        raise OpError(f"cannot copy {dtype} to {target.array_type.dtype} with casting={casting!r}")
    if where is not True:
        chosen = pending("where", (where, source, target), {})
        if chosen.array_type.dtype != target.array_type.dtype or where.array_type.dtype.kind != "b":
            raise OpError("np.copyto with where= of other dtypes")
        return Bound("same", (chosen,), {}, target, casting, "none")
    return Bound("same", (source,), {}, target, casting, "none")


@spell("copy", None, method="fill")
def _bind_fill(ask: Relate, x: ArrayArg, value: OperandArg, /) -> Bound:
    if not is_scalar(value) and type_of(value).shape:
        raise OpError("fill with an array")
    return Bound("same", (value,), {}, x, "unsafe", "none")


# a ufunc with out=, by NumPy itself


def _infer_ufunc_out(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    target = type_of(args[0])
    others = {key: value for key, value in params.items() if key not in ("ufunc", "where")} | {"as_array": True}
    op = REGISTRY.get(params["ufunc"].__name__)
    if op is None or op.ufunc is not params["ufunc"]:
        raise OpError(f"{params['ufunc'].__name__} with where= has no rule")
    result = op.infer(args[1:-1] if params.get("where") else args[1:], others, ask)
    if params.get("where") and isinstance(result, ArrayType):
        mask = type_of(args[-1])
        if mask.dtype.kind != "b":
            raise OpError(f"where= of {mask.dtype}")
        result = ArrayType(result.dtype, broadcast([result.shape, mask.shape], ask))
    if not isinstance(result, ArrayType) or result.dtype != target.dtype or len(result.shape) != len(target.shape):
        raise OpError("a result of another type than its out=")
    if not all(ask(make("eq", a, b)) for a, b in zip(result.shape, target.shape, strict=True)):
        raise OpError("a result of another shape than its out=")
    return ArrayType(target.dtype, target.shape)


def _evaluate_ufunc_out(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    keywords = {key: value for key, value in params.items() if key not in ("ufunc", "where")}
    if params.get("where"):
        return params["ufunc"](*args[1:-1], out=args[0], where=args[-1], **keywords)
    return params["ufunc"](*args[1:], out=args[0], **keywords)


define(
    OpDef(
        "ufunc_out",
        OpKind.CALL,
        _infer_ufunc_out,
        _evaluate_ufunc_out,
        "params[ufunc] of the other operands, into the first one: where NumPy's bits depend on the memory they share, "
        "or (params[where]) where the last one is true.",
        (
            Sample(((3,), (3,)), {"ufunc": np.conjugate}, ("D", "D")),
            Sample(((2, 3), (3,), (2, 3), (3,)), {"ufunc": np.divide, "where": True}, ("d", "d", "d", "?")),
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
