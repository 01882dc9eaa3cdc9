"""Fresh arrays: empty, zeros, full (also ones), arange, the *_like family, eye and tri.

Params: shape (Dims), dtype, order ("C" or "F"). full's operand is the fill; the like ops take the array whose shape,
dtype (unless params["dtype"]) and memory order (K) they copy. INVARIANT: never a NumPy scalar.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import Undecided, demand
from dynamo_lite.graph.scalar import Scalar, ScalarOp, is_symbolic, kind_of, make, terms_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.parameters import (
    REFUSALS,
    ArrayArg,
    Device,
    DType,
    DTypeArg,
    DTypeOrNone,
    Flag,
    Int,
    Number,
    NumberOrNone,
    Operand,
    OperandArg,
    OrderCF,
    OrderCFOrNone,
    OrderKCF,
    RealOperand,
    Shape,
    SizeArg,
    SizeOrNone,
    SubOk,
    Unmodelled,
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
    check_number,
    define,
    spell,
)
from dynamo_lite.ops.shapes import is_open, settle

_F8 = np.dtype(np.float64)
_I8 = np.dtype(np.int64)
_NUMBERS = {"bool": np.dtype(bool), "int": _I8, "float": _F8, "complex": np.dtype(np.complex128)}


def _infer_new(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    dtype = params["dtype"]
    for fill in args:
        _check_fill(fill, dtype, ask)
    return ArrayType(dtype, tuple(settle(dim, ask) for dim in params["shape"]))


def _check_fill(fill: Argument, dtype: DType, ask: Relate) -> None:
    if isinstance(fill, Node):
        type_ = fill.array_type
        if type_.shape:
            raise OpError("a fill that is an array")
        if not np.can_cast(type_.dtype, dtype, "same_kind"):
            raise OpError(f"a fill of {type_.dtype} for {dtype}")
    else:
        check_number(fill, dtype, ask, assignment=True)


_SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (), (0, 3), (1,))
_NEW_SAMPLES = tuple(
    {"shape": shape, "dtype": dtype, "order": order}
    for shape in _SHAPES
    for dtype, order in ((_F8, "C"), (np.dtype("?"), "F"), (np.dtype("F"), "C"))
)

define(
    OpDef(
        "empty",
        OpKind.CREATION,
        _infer_new,
        lambda args, params: np.empty(**params),
        "An array of unset elements.",
        tuple(Sample((), params) for params in _NEW_SAMPLES),
        may_report=False,
    )
)
define(
    OpDef(
        "zeros",
        OpKind.CREATION,
        _infer_new,
        lambda args, params: np.zeros(**params),
        "An array of zeros.",
        tuple(Sample((), params) for params in _NEW_SAMPLES),
        may_report=False,
    )
)
define(
    OpDef(
        "full",
        OpKind.CREATION,
        _infer_new,
        lambda args, params: np.full(params["shape"], args[0], params["dtype"], params["order"]),
        "An array with every element the operand, a number or 0-d value.",
        tuple(Sample((1,), params) for params in _NEW_SAMPLES)
        + tuple(Sample(((),), {"shape": (2,), "dtype": np.dtype("D"), "order": "C"}) for _ in (1,)),
    )
)


def _new_params(shape: tuple[Scalar, ...], dtype: DType | None, order: str) -> dict[str, Any]:
    return {"shape": shape, "dtype": _F8 if dtype is None else dtype, "order": order}


def _new_binder(op: str, fill: tuple[int, ...]) -> Binder:
    def bind(
        ask: Relate,
        shape: Shape,
        dtype: DTypeOrNone = None,
        order: OrderCF = "C",
        *,
        device: Device = None,
        like: Unmodelled = None,
    ) -> Bound:
        return Bound(op, fill, _new_params(shape, dtype, order))

    return bind


@spell("empty", "np.ndarray", np.ndarray)
def _bind_ndarray(
    ask: Relate,
    shape: Shape,
    dtype: DTypeOrNone = None,
    buffer: Unmodelled = None,
    offset: Unmodelled = 0,
    strides: Unmodelled = None,
    order: OrderCFOrNone = None,
) -> Bound:
    return Bound("empty", (), _new_params(shape, dtype, "C" if order is None else order))


spell("empty", "np.empty", np.empty)(_new_binder("empty", ()))
spell("zeros", "np.zeros", np.zeros)(_new_binder("zeros", ()))
spell("full", "np.ones", np.ones)(_new_binder("full", (1,)))


def number_dtype(fill: Operand) -> DType:
    """The dtype of an array of a number, or of the elements of an array."""
    if isinstance(fill, Node | np.generic):
        return type_of(fill).dtype
    return _NUMBERS[kind_of(fill)]


@spell("full", "np.full", np.full)
def _bind_full(
    ask: Relate,
    shape: Shape,
    fill_value: OperandArg,
    dtype: DTypeOrNone = None,
    order: OrderCF = "C",
    *,
    device: Device = None,
    like: Unmodelled = None,
) -> Bound:
    wanted = number_dtype(fill_value) if dtype is None else dtype
    return Bound("full", (fill_value,), _new_params(shape, wanted, order))


def _infer_like(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    type_ = type_of(args[0])
    dtype = params.get("dtype", type_.dtype)
    for fill in args[1:]:
        _check_fill(fill, dtype, ask)
    return ArrayType(dtype, type_.shape)


define(
    OpDef(
        "empty_like",
        OpKind.CREATION,
        _infer_like,
        lambda args, params: np.empty_like(args[0], **params),
        "An array of unset elements, shaped and ordered like the operand.",
        (Sample(((2, 3),), {}), Sample(((2, 3),), {"dtype": np.dtype("F")}), Sample(((),), {})),
        may_report=False,
    )
)
define(
    OpDef(
        "full_like",
        OpKind.CREATION,
        _infer_like,
        lambda args, params: np.full_like(args[0], args[1], **params),
        "An array shaped and ordered like the first operand, every element the second.",
        (Sample(((2, 3), 1), {}), Sample(((2, 3), 2), {"dtype": np.dtype("d")}), Sample(((), 0), {})),
    )
)


def _like(op: str, node: Node, fill: tuple[Operand, ...], dtype: DType | None, order: str) -> Bound:
    if order in ("C", "F"):  # then only shape and dtype matter
        type_ = node.array_type
        return Bound(op.removesuffix("_like"), fill, _new_params(type_.shape, dtype or type_.dtype, order))
    return Bound(op, (node, *fill), {} if dtype is None else {"dtype": dtype})


def _filled_like(fill: int) -> Binder:
    def bind(
        ask: Relate,
        a: ArrayArg,
        dtype: DTypeOrNone = None,
        order: OrderKCF = "K",
        subok: SubOk = True,
        shape: Unmodelled = None,
        *,
        device: Device = None,
    ) -> Bound:
        return _like("full_like", a, (fill,), dtype, order)

    return bind


@spell("empty_like empty", "np.empty_like", np.empty_like)
def _bind_empty_like(
    ask: Relate,
    prototype: ArrayArg,
    /,
    dtype: DTypeOrNone = None,
    order: OrderKCF = "K",
    subok: SubOk = True,
    shape: Unmodelled = None,
    *,
    device: Device = None,
) -> Bound:
    return _like("empty_like", prototype, (), dtype, order)


spell("full_like full", "np.zeros_like", np.zeros_like)(_filled_like(0))
spell("full_like full", "np.ones_like", np.ones_like)(_filled_like(1))


@spell("full_like full", "np.full_like", np.full_like)
def _bind_full_like(
    ask: Relate,
    a: ArrayArg,
    fill_value: OperandArg,
    dtype: DTypeOrNone = None,
    order: OrderKCF = "K",
    subok: SubOk = True,
    shape: Unmodelled = None,
    *,
    device: Device = None,
) -> Bound:
    return _like("full_like", a, (fill_value,), dtype, order)


# arange


def _infer_arange(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    if any(isinstance(arg, Node) for arg in args):
        raise OpError("arange of values of the graph")
    if not all(_is_near(arg, ask) for arg in args):  # type: ignore[arg-type]
        raise OpError("arange of integers of which NumPy's sum may overflow")
    if not any(map(is_symbolic, args)):
        if long := _long_arange(args, params):
            return long
        try:
            with np.errstate(all="raise"):
                result = _evaluate_arange(args, params)
        except REFUSALS as error:
            raise OpError(f"arange: {error}") from None
        return ArrayType(result.dtype, result.shape)
    kinds = {kind_of(arg) for arg in args}  # type: ignore[arg-type]
    if not kinds <= {"int", "float"}:
        raise OpError("arange of bools that are not constant")
    if "float" in kinds:
        if params.get("dtype", _F8) != _F8:
            raise OpError(f"arange of floats as {params['dtype']}")
        return ArrayType(_F8, (settle(_quotient_up(args, ask), ask),))
    dtype = params.get("dtype", _I8)
    if dtype.kind not in "ifc" or dtype.itemsize < 8:
        raise OpError(f"arange of {dtype} may overflow")
    start, stop, step = args
    distance: Scalar
    if ask(make("ge", step, 1)):  # type: ignore[arg-type]
        distance, stride = make("sub", stop, start), step  # type: ignore[arg-type]
    elif ask(make("le", step, -1)):  # type: ignore[arg-type]
        distance, stride = make("sub", start, stop), make("neg", step)  # type: ignore[arg-type]
    else:
        raise OpError("arange with step 0 raises")
    length = make("floordiv", make("sub", make("add", distance, stride), 1), stride)  # type: ignore[arg-type]
    try:
        if not ask(make("ge", distance, 1)):
            return ArrayType(dtype, (0,))
    except Undecided:  # in some iterations of a loop it has elements, in others it has none
        length = make("max", length, 0)
    return ArrayType(dtype, (settle(length, ask),))


_NEAR = 1 << 61  # sums and differences of two such numbers fit 64 bits


def _is_near(number: Scalar, ask: Relate) -> bool:
    """Whether NumPy's distance of a number that may be an np.int64 from another one cannot overflow: it wraps then, and
    warns, where the length of our own computes with Python's ints. Those that only the run knows may be read from one.
    """
    if not is_symbolic(number):
        return type(number) is not int or abs(number) <= _NEAR
    parts = (number, *(operand for term in terms_of(number) for operand in term.operands))
    if kind_of(number) != "int" or not any(map(is_open, parts)):
        return True
    return demand(ask, make("ge", number, -_NEAR)) and demand(ask, make("le", number, _NEAR))


def _quotient_up(args: tuple[Any, ...], ask: Relate) -> Scalar:
    """How many steps lie between two numbers, if one of the three is a float, as PyArray_ArangeObj counts them."""
    start, stop, step = args
    if not ask(ScalarOp("ne", "bool", (step, 0))):
        raise OpError("arange with step 0 raises")
    quotient = make("truediv", make("sub", stop, start), step)
    if not ask(ScalarOp("ge", "bool", (quotient, _LEAST))):
        if ask(ScalarOp("le", "bool", (quotient, -_LEAST))):
            return 0
        # Or of one so small that its quotient is 0, for which NumPy has a rule, or nearly, which it may report.
        raise OpError("arange of no distance")
    if not ask(ScalarOp("le", "bool", (quotient, float(_MOST)))):
        raise OpError("arange of so many elements")
    whole = make("trunc", quotient)
    return whole if ask(ScalarOp("eq", "bool", (quotient, make("add", whole, 0.0)))) else make("add", whole, 1)


def _long_arange(args: tuple[Any, ...], params: dict[str, Any]) -> ArrayType | None:
    """The type of an arange of Python numbers that is too long to be made only to see it; None of others."""
    if any(type(arg) not in (int, float) or not abs(arg) < 2**53 for arg in args):
        return None
    start, stop, step = args
    dtype = params.get("dtype", _I8 if all(type(arg) is int for arg in args) else _F8)
    length = (stop - start) / step if step else 0  # as PyArray_ArangeObj has it
    if not length > _SEEN or dtype not in (_I8, _F8):
        return None
    if length > _MOST:
        raise OpError("arange of so many elements")
    return ArrayType(dtype, (math.ceil(length),))


_SEEN = 1 << 12  # elements of an arange that is made while capturing
_MOST = 1 << 40
_LEAST = 2.0**-1000


def _evaluate_arange(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return np.arange(*args, **params)


define(
    OpDef(
        "arange",
        OpKind.CREATION,
        _infer_arange,
        _evaluate_arange,
        "start, start + step ... below stop (the operands).",
        (
            Sample((0, 5, 1), {}),
            Sample((5, 0, -2), {}),
            Sample((0, 0, 1), {}),
            Sample((0.0, 1.0, 0.25), {}),
            Sample((0, 1, 1), {"dtype": _F8}),
            Sample((0, 300, 7), {"dtype": np.dtype("f")}),
        ),
    )
)


@spell("arange", "np.arange", np.arange)
def _bind_arange(
    ask: Relate,
    start_or_stop: Number,
    /,
    stop: NumberOrNone = None,
    step: NumberOrNone = 1,
    dtype: DTypeOrNone = None,
    *,
    device: Device = None,
    like: Unmodelled = None,
) -> Bound:
    start, end = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    return Bound("arange", (start, end, 1 if step is None else step), {} if dtype is None else {"dtype": dtype})


# eye and tri


def _infer_eye(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    return ArrayType(params["dtype"], tuple(settle(dim, ask) for dim in (params["N"], params["M"])))


for _op, _function, _summary in (
    ("eye", np.eye, "Ones on diagonal k, zeros elsewhere."),
    ("tri", np.tri, "Ones on and below diagonal k, zeros elsewhere."),
):
    define(
        OpDef(
            _op,
            OpKind.CREATION,
            _infer_eye,
            lambda args, params, function=_function: function(**params),  # type: ignore[misc]
            _summary,
            (
                Sample((), {"N": 3, "M": 2, "k": 0, "dtype": _F8}),
                Sample((), {"N": 1, "M": 4, "k": -1, "dtype": np.dtype("?")}),
            ),
            may_report=False,
        )
    )


@spell("eye", "np.eye", np.eye)
def _bind_eye(
    ask: Relate,
    N: SizeArg,
    M: SizeOrNone = None,
    k: Int = 0,
    dtype: DTypeArg = _F8,
    order: Unmodelled = "C",
    *,
    device: Device = None,
    like: Unmodelled = None,
) -> Bound:
    return Bound("eye", (), {"N": N, "M": N if M is None else M, "k": k, "dtype": dtype})


@spell("eye", "np.identity", np.identity)
def _bind_identity(ask: Relate, n: SizeArg, dtype: DTypeOrNone = None, *, like: Unmodelled = None) -> Bound:
    return Bound("eye", (), {"N": n, "M": n, "k": 0, "dtype": _F8 if dtype is None else dtype})


@spell("tri", "np.tri", np.tri)
def _bind_tri(
    ask: Relate, N: SizeArg, M: SizeOrNone = None, k: Int = 0, dtype: DTypeArg = _F8, *, like: Unmodelled = None
) -> Bound:
    return Bound("tri", (), {"N": N, "M": N if M is None else M, "k": k, "dtype": dtype})


# linspace


def _infer_linspace(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    for arg in args:
        if isinstance(arg, Node):
            if not arg.array_type.scalar or arg.array_type.dtype not in (_F8, _I8):
                raise OpError(f"linspace of {arg.array_type} has no rule")
        elif kind_of(arg) not in ("int", "float", "bool"):
            raise OpError("linspace of other than real numbers has no rule")
    return ArrayType(params.get("dtype", _F8), (settle(params["num"], ask),))


define(
    OpDef(
        "linspace",
        OpKind.CREATION,
        _infer_linspace,
        lambda args, params: np.linspace(*args, **params),
        "params[num] evenly spaced numbers from the first operand to the second; params endpoint, dtype.",
        (
            Sample(
                (
                    0,
                    1,
                ),
                {"num": 5, "endpoint": True},
            ),
            Sample((-1.5, 2.5), {"num": 4, "endpoint": False}),
            Sample((3, 3.0), {"num": 1, "endpoint": True}),
            Sample((0, 1), {"num": 0, "endpoint": True}),
            Sample((-1.5, 2.5), {"num": 4, "endpoint": True, "dtype": np.dtype("f")}),
            Sample((0, 9), {"num": 4, "endpoint": False, "dtype": np.dtype("i")}),
        ),
    )
)


@spell("linspace", "np.linspace", np.linspace)
def _bind_linspace(
    ask: Relate,
    start: RealOperand,
    stop: RealOperand,
    num: SizeArg = 50,
    endpoint: Flag = True,
    retstep: Unmodelled = False,
    dtype: DTypeOrNone = None,
    axis: Unmodelled = 0,
    *,
    device: Device = None,
) -> Bound:
    params: dict[str, Any] = {"num": num, "endpoint": endpoint}
    if dtype is not None and dtype != _F8:  # which it is of Python numbers in any case
        params["dtype"] = dtype
    return Bound("linspace", (start, stop), params)
