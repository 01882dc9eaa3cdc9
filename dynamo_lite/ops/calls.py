"""Opaque ops: NumPy's own function does the work on real arrays; only the result's type is known before.

matmul and the other gufuncs are typed by dtype resolution and their signature. For the rest a row of ``opaque`` gives
the shape rule, and dtype, rank and scalar-or-array come from calling the function on a tiny well-conditioned sample
(``trial``). No sample may warn: catch_warnings would make Python forget which warnings it has shown. Functions whose
result is a Python number have no row, and those whose shape depends on values one of open_sizes.py. INVARIANT: results
are fresh arrays, never views of operands.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

import numpy as np

from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import demand
from dynamo_lite.graph.scalar import Dim, Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make, product
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import convert, is_sequence, pending, view
from dynamo_lite.ops.diagonal import diagonal_of
from dynamo_lite.ops.elementwise import (
    TAKES_ELLIPSIS,
    UFUNCS,
    bind_array_of,
    dtype_class,
    infer_ufunc,
    loop_dtypes,
    resolve_dtypes,
    ufunc_binder,
)
from dynamo_lite.ops.parameters import (
    REFUSALS,
    ArrayArg,
    DType,
    Flag,
    Int,
    Kind,
    NestedOrLarge,
    OpenFloat,
    OperandArg,
    Out,
    RealNumber,
    RealNumberOrNone,
    Text,
    Unmodelled,
    axis_of,
    described,
    static_int,
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
    spell_any_ufunc,
    spell_ufunc_method,
)
from dynamo_lite.ops.shapes import broadcast, settle, shape_of
from dynamo_lite.ops.views import view_operand

Shape: TypeAlias = tuple[Dim, ...]
ShapeRule: TypeAlias = Callable[[tuple[Shape, ...], dict[str, Any], Relate], Shape]
ShapesRule: TypeAlias = Callable[[tuple[Shape, ...], dict[str, Any], Relate], tuple[Shape, ...]]


# trial: what a function yields for operands of these types


def trial(function: Callable[..., Any], args: tuple[Argument, ...], params: dict[str, Any]) -> tuple[DType, int, bool]:
    """dtype, rank and whether it is a NumPy scalar of function(*args, **params), from a call on a sample."""
    (found,) = trials(function, args, params)
    return found


def trials(
    function: Callable[..., Any], args: tuple[Argument, ...], params: dict[str, Any]
) -> tuple[tuple[DType, int, bool], ...]:
    """The same of each item of a tuple; the result alone, if it is none."""
    cells = tuple(_cell(arg) for arg in args)
    return _trial(function, cells, tuple((name, _param(value)) for name, value in sorted(params.items())))


def _param(value: Any) -> Any:
    """A param to try with: a number that is not known as a one."""
    if isinstance(value, tuple):
        return tuple(map(_param, value))
    return _sample((value.kind,)) if isinstance(value, Symbol | ScalarOp) else value


def _cell(arg: Argument) -> tuple[Any, ...]:
    if isinstance(arg, Node):
        type_ = arg.array_type
        return type_.dtype, type_.ndim, type_.scalar
    if isinstance(arg, Symbol | ScalarOp):
        return (arg.kind,)
    return type(arg).__name__, arg


@lru_cache(1024)  # NB: keys hold numbers of users' programs
def _trial(
    function: Callable[..., Any], cells: tuple[tuple[Any, ...], ...], params: tuple[tuple[str, Any], ...]
) -> tuple[tuple[DType, int, bool], ...]:
    try:
        with np.errstate(all="ignore"):
            result = function(*map(_sample, cells), **dict(params))
    except REFUSALS as error:
        raise OpError(f"{getattr(function, '__name__', 'call')}: {type(error).__name__}: {error}") from None
    results = result if isinstance(result, tuple) else (result,)
    for one in results:
        if not isinstance(one, np.ndarray | np.generic):
            raise OpError(f"a result of type {type(one).__name__}")
    return tuple((one.dtype, one.ndim, isinstance(one, np.generic)) for one in results)


def _sample(cell: tuple[Any, ...]) -> Any:
    """An operand to try with: identity matrices, vectors of 0 and 1, one."""
    if len(cell) == 1:
        return {"int": 1, "float": 1.0, "bool": True}[cell[0]]
    if len(cell) == 2:
        return cell[1]
    dtype, ndim, scalar = cell
    if scalar:
        return dtype.type(1)
    if ndim == 0:
        return np.ones((), dtype)
    if ndim == 1:
        return np.arange(2).astype(dtype)
    return np.broadcast_to(np.eye(2), (2,) * ndim).astype(dtype)


def opaque(
    name: str,
    function: Callable[..., Any],
    shape: ShapeRule,
    doc: str,
    samples: tuple[Sample, ...],
    kind: OpKind = OpKind.CALL,
) -> None:
    """Define a CALL op whose operands and params are the function's."""
    several(name, function, lambda shapes, params, ask: (shape(shapes, params, ask),), doc, samples, kind)


def several(
    name: str,
    function: Callable[..., Any],
    shapes: ShapesRule,
    doc: str,
    samples: tuple[Sample, ...],
    kind: OpKind = OpKind.CALL,
    open_size: bool = False,
) -> None:
    """The same with a tuple of results, or one; params["yields"] of an open size is not the function's."""

    def infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType | tuple[ArrayType, ...]:
        own = {key: value for key, value in params.items() if key != "yields"}
        found = trials(function, args, own)
        dims = [tuple(settle(dim, ask) for dim in one) for one in shapes(tuple(map(shape_of, args)), params, ask)]
        if [len(one) for one in dims] != [ndim for _, ndim, _ in found]:
            raise OpError(f"{name} of these ranks has no rule")
        types = tuple(ArrayType(dtype, one, scalar) for one, (dtype, _, scalar) in zip(dims, found, strict=True))
        return types[0] if len(types) == 1 else types

    def evaluate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return function(*args, **params)

    define(OpDef(name, kind, infer, evaluate, doc, samples, open_size=open_size, function=function))


def equal(left: Scalar, right: Scalar, ask: Relate) -> None:
    if not ask(make("eq", left, right)):
        raise OpError(f"sizes {left} and {right} differ")


def same_sizes(a: Node, b: Node, ask: Relate) -> bool:
    """Whether two arrays have the same shape."""
    left, right = a.array_type.shape, b.array_type.shape
    return len(left) == len(right) and all(ask(make("eq", one, two)) for one, two in zip(left, right, strict=True))


# gufuncs


def _core_dims(text: str) -> list[list[tuple[str, bool]]]:
    """A gufunc signature as, for each operand, (name, may be absent) of its core axes."""
    return [
        [(name.strip().rstrip("?"), name.strip().endswith("?")) for name in part.strip("()").split(",") if name.strip()]
        for part in text.replace("->", ",").replace("),(", ");(").split(";")
    ]


def gufunc_shape(ufunc: np.ufunc, shapes: tuple[Shape, ...], ask: Relate) -> Shape:
    """The shape of a one-output gufunc's result; OpError if the operands do not fit its signature."""
    cores = _core_dims(ufunc.signature or "")
    sizes: dict[str, Dim] = {}
    absent: set[str] = set()
    loops: list[Shape] = []
    for shape, core in zip(shapes, cores, strict=False):
        missing = len(core) - len(shape)
        present = core
        if missing > 0:
            present = [pair for pair in core if not pair[1]]
            absent.update(name for name, optional in core if optional)
            if len(present) > len(shape):
                raise OpError(f"{ufunc.__name__}: too few axes")
        loops.append(shape[: len(shape) - len(present)])
        for (name, _), dim in zip(present, shape[len(shape) - len(present) :], strict=True):
            equal(sizes.setdefault(name, dim), dim, ask)
    for name in absent & set(sizes):
        raise OpError(f"{ufunc.__name__}: axis {name} is absent in one operand only")
    result = [name for name, _ in cores[-1] if name not in absent]
    if any(name not in sizes for name in result):
        raise OpError(f"{ufunc.__name__}: the size of its result has no rule")
    return broadcast(loops, ask) + tuple(sizes[name] for name in result)


def _define_gufunc(ufunc: np.ufunc, samples: tuple[Sample, ...]) -> None:
    def infer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
        for arg in args:
            if not isinstance(arg, Node):
                raise OpError(f"{ufunc.__name__} of a Python number")
        dtype = loop_dtypes(ufunc, args, params, ask)[-1]
        shape = gufunc_shape(ufunc, tuple(map(shape_of, args)), ask)
        return ArrayType(dtype, shape, not shape and not params.get("as_array", False))

    def evaluate(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        keywords = {key: params[key] for key in ("dtype", "casting") if key in params}
        return ufunc(*args, out=..., **keywords) if params.get("as_array") else ufunc(*args, **keywords)

    doc = {"matmul": "Matrix product (@).", "vecdot": "Inner products of vectors along the last axis."}
    define(
        OpDef(
            ufunc.__name__,
            OpKind.CALL,
            infer,
            evaluate,
            doc.get(ufunc.__name__, f"Generalised ufunc {ufunc.signature}."),
            samples,
            ufunc=ufunc,
        )
    )
    spell(ufunc.__name__, f"np.{ufunc.__name__}", ufunc)(ufunc_binder(ufunc))


_define_gufunc(
    np.matmul,
    (
        Sample(((2, 3), (3, 4)), {}),
        Sample(((3,), (3, 4)), {}),
        Sample(((2, 3), (3,)), {}),
        Sample(((3,), (3,)), {}),
        *([Sample(((3,), (3,)), {"as_array": True})] if TAKES_ELLIPSIS else []),
        Sample(((5, 1, 2, 3), (2, 3, 1)), {}),
        Sample(((2, 3), (3, 4)), {"dtype": np.dtype("D")}),
    ),
)
_define_gufunc(np.vecdot, (Sample(((2, 3), (3,)), {}), Sample(((3,), (3,)), {})))
_define_gufunc(np.matvec, (Sample(((2, 3), (3,)), {}), Sample(((5, 2, 3), (1, 3)), {})))
_define_gufunc(np.vecmat, (Sample(((3,), (3, 2)), {}), Sample(((5, 3), (3, 2)), {})))


# ufuncs of other packages


def _infer_other_ufunc(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> Any:
    ufunc: np.ufunc = params["ufunc"]
    others = {key: value for key, value in params.items() if key != "ufunc"}
    if ufunc.signature is None:
        return infer_ufunc(ufunc)(args, others, ask)
    if ufunc.nout > 1 or not all(isinstance(arg, Node) for arg in args):
        raise OpError(f"{ufunc.__name__} in this form has no rule")
    dtype = loop_dtypes(ufunc, args, others, ask)[-1]
    shape = gufunc_shape(ufunc, tuple(map(shape_of, args)), ask)
    return ArrayType(dtype, shape, not shape)


def _evaluate_other_ufunc(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return params["ufunc"](*args, **{key: value for key, value in params.items() if key != "ufunc"})


define(
    OpDef(
        "other_ufunc",
        OpKind.CALL,
        _infer_other_ufunc,
        _evaluate_other_ufunc,
        "params[ufunc] of the operands: a ufunc or gufunc that is none of NumPy's own, scipy.special's say.",
        (Sample(((2, 3), (3,)), {"ufunc": np.add}), Sample(((3,), (3,)), {"ufunc": np.vecdot})),
    )
)


@spell_any_ufunc("other_ufunc")
def _other_ufunc(ufunc: np.ufunc) -> Binder:
    def as_other(bound: Bound) -> Bound:
        if bound.out is not None or bound.params.get("as_array") or bound.op != ufunc.__name__:
            raise OpError(f"{ufunc.__name__} with out= has no rule")
        return Bound("other_ufunc", bound.args, bound.params | {"ufunc": ufunc})

    return ufunc_binder(ufunc, as_other)


# products


def _dot_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    left, right = shapes
    if not left or not right:
        return left + right
    equal(left[-1], right[-2] if len(right) > 1 else right[0], ask)
    return left[:-1] + (right[:-2] + right[-1:] if len(right) > 1 else ())


def _inner_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    left, right = shapes
    if not left or not right:
        return left + right
    equal(left[-1], right[-1], ask)
    return left[:-1] + right[:-1]


def _vdot_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    equal(product(shapes[0]), product(shapes[1]), ask)
    return ()


_PRODUCT_SAMPLES = (
    Sample(((3,), (3,)), {}),
    Sample(((2, 3), (4, 3)), {}),
    Sample(((), (3,)), {}),
    Sample(((), ()), {}),
)
opaque(
    "dot",
    np.dot,
    _dot_shape,
    "np.dot: the last axis against the last but one.",
    (
        Sample(((3,), (3,)), {}),
        Sample(((2, 3), (3, 4)), {}),
        Sample(((2, 3), (5, 3, 2)), {}),
        Sample(((2, 3), (3,)), {}),
        Sample(((), (3,)), {}),
        Sample(((), ()), {}),
        Sample(((2, 3), 2), {}),
    ),
)
opaque("inner", np.inner, _inner_shape, "np.inner: last axis against last axis.", _PRODUCT_SAMPLES)
opaque(
    "vdot",
    np.vdot,
    _vdot_shape,
    "The conjugated inner product of all elements.",
    (Sample(((2, 3), (3, 2)), {}), Sample(((3,), (3,)), {})),
)


# NumPy demands an out= of just the result's dtype and C order, which is not known here.
@spell("dot", "np.dot", np.dot)
def _bind_dot(ask: Relate, a: OperandArg, b: OperandArg, out: Unmodelled = None) -> Bound:
    return Bound("dot", (a, b))


@spell("dot", None, method="dot")
def _bind_method_dot(ask: Relate, a: OperandArg, b: OperandArg, /, out: Unmodelled = None) -> Bound:
    return Bound("dot", (a, b))


@spell("inner", "np.inner", np.inner)
def _bind_inner(ask: Relate, a: OperandArg, b: OperandArg, /) -> Bound:
    return Bound("inner", (a, b))


@spell("vdot", "np.vdot", np.vdot)
def _bind_vdot(ask: Relate, a: OperandArg, b: OperandArg, /) -> Bound:
    return Bound("vdot", (a, b))


def _pair_of_axes(value: Any) -> Any:
    """An int, or the axes of each operand as a tuple."""
    if type(value) not in (tuple, list):
        return static_int(value)
    if len(value) != 2:
        raise OpError("axes of other than two arrays")
    return tuple(
        tuple(map(static_int, part)) if type(part) in (tuple, list) else (static_int(part),) for part in value
    )


PairOfAxes = Annotated[Any, Kind("a number of axes, or the axes of each operand", _pair_of_axes)]


@spell("reshape", "np.tensordot", np.tensordot)
def _bind_tensordot(ask: Relate, a: ArrayArg, b: ArrayArg, axes: PairOfAxes = 2) -> Bound:
    """np.dot of matrices: axes are moved, and those that go put together."""
    nodes = [convert(one) if one.array_type.scalar else one for one in (a, b)]
    shapes = [node.array_type.shape for node in nodes]
    if type(axes) is int and not 0 <= axes <= min(map(len, shapes)):
        raise OpError("tensordot over more axes than there are")
    given = (tuple(range(-axes, 0)), tuple(range(axes))) if type(axes) is int else axes
    gone = [
        tuple(axis_of(axis, len(shape)) for axis in part) for part, shape in zip(given, shapes, strict=True)
    ]
    if len(gone[0]) != len(gone[1]) or any(len(set(part)) != len(part) for part in gone):
        raise OpError("tensordot over these axes")
    for left, right in zip(*gone, strict=True):
        equal(shapes[0][left], shapes[1][right], ask)
    kept = [
        tuple(axis for axis in range(len(shape)) if axis not in part)
        for shape, part in zip(shapes, gone, strict=True)
    ]
    common = product(tuple(shapes[0][axis] for axis in gone[0]))
    free = [product(tuple(shape[axis] for axis in part)) for shape, part in zip(shapes, kept, strict=True)]
    matrices = [
        pending("reshape", (view(node, "transpose", {"axes": order}),), {"shape": shape})
        for node, order, shape in (
            (nodes[0], kept[0] + gone[0], (free[0], common)),
            (nodes[1], gone[1] + kept[1], (common, free[1])),
        )
    ]
    shape = tuple(shapes[0][axis] for axis in kept[0]) + tuple(shapes[1][axis] for axis in kept[1])
    return Bound("reshape", (pending("dot", tuple(matrices), {}),), {"shape": shape})


def _infer_outer(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    # NumPy makes arrays of the operands first: Python numbers are not weak here.
    strong = tuple(np.dtype(dtype_class(arg)) for arg in args)
    dtype = resolve_dtypes(params["ufunc"], strong)[-1]
    shape = tuple(dim for arg in args for dim in shape_of(arg))
    return ArrayType(dtype, shape, not shape)


define(
    OpDef(
        "outer",
        OpKind.CALL,
        _infer_outer,
        lambda args, params: params["ufunc"].outer(*args),
        "params[ufunc] of every pair of elements.",
        (
            *(Sample(((2, 3), (2,)), {"ufunc": ufunc}) for ufunc in (np.add, np.multiply, np.less)),
            Sample(((), ()), {"ufunc": np.add}),
            Sample(((3,), 2), {"ufunc": np.multiply}),
        ),
    )
)


@spell_ufunc_method("outer", "outer")
def _outer_method(ufunc: np.ufunc) -> Binder:
    def bind(ask: Relate, a: OperandArg, b: OperandArg, /) -> Bound:
        if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
            raise OpError(f"{ufunc.__name__}.outer has no rule")
        return Bound("outer", (a, b), {"ufunc": ufunc})

    return bind


def _unspaced(subscripts: str) -> str:
    """Subscripts without spaces, which may stand anywhere but within an arrow or an ellipsis."""
    text = subscripts.replace(" ", "")
    if not text.isascii() or any(subscripts.count(sign) != text.count(sign) for sign in ("->", "...")):
        raise OpError(f"einsum {subscripts!r} has no rule")
    return text


def _labels(subscripts: str, operands: int) -> tuple[list[str], str]:
    """The labels of each operand and of the result; by NumPy's rule the result has the labels that occur once."""
    inputs, arrow, result = _unspaced(subscripts).partition("->")
    terms = inputs.split(",")
    if not arrow:
        result = "".join(sorted(label for label in set(inputs) - {","} if inputs.count(label) == 1))
    if len(terms) != operands or not all((term + result).isalpha() or not term + result for term in terms):
        raise OpError(f"einsum {subscripts!r} has no rule")
    return terms, result


def _without_ellipsis(subscripts: str, operands: Sequence[Node]) -> str:
    """The subscripts with a label of its own for each axis that an ellipsis stands for: the last ones are alike."""
    if "..." not in subscripts:
        return subscripts
    inputs, arrow, result = _unspaced(subscripts).partition("->")
    terms = inputs.split(",")
    counts = [
        node.array_type.ndim - len(term) + 3 if "..." in term else 0
        for term, node in zip(terms, operands, strict=False)
    ]
    labels = [label for label in string.ascii_letters if label not in inputs][: max(counts)]
    if len(terms) != len(operands) or min(counts) < 0 or len(labels) < max(counts):
        raise OpError(f"einsum {subscripts!r} has no rule")
    spread = "".join(labels)
    named = [term.replace("...", spread[len(spread) - count :]) for term, count in zip(terms, counts, strict=True)]
    if not arrow:
        plain = inputs.replace(".", "").replace(",", "")
        result = "..." + "".join(sorted(label for label in set(plain) if plain.count(label) == 1))
    if "..." not in result and spread:
        raise OpError(f"einsum {subscripts!r} has no rule")
    return ",".join(named) + "->" + result.replace("...", spread)


def labels_of(node: Bound | Node) -> tuple[list[str], str]:
    """The labels of each operand of an einsum and of its result."""
    return _labels(node.params["subscripts"], len(node.args))


def _einsum_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    terms, result = _labels(params["subscripts"], len(shapes))
    sizes: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(term) != len(shape):
            raise OpError(f"einsum: {len(shape)} axes for {term!r}")
        for label, dim in zip(term, shape, strict=True):
            if sizes.setdefault(label, dim) == 1:
                sizes[label] = dim  # einsum broadcasts a size of 1
            elif dim != 1:
                equal(sizes[label], dim, ask)
    return tuple(sizes[label] for label in result)


def _einsum(*operands: Any, subscripts: str, packed: bool = False) -> Any:
    return np.einsum(subscripts, *operands)


opaque(
    "einsum",
    _einsum,
    _einsum_shape,
    "np.einsum of params[subscripts], without ellipsis, unoptimised; packed: its operands lie packed in C order.",
    (
        Sample(((2, 3), (3, 4)), {"subscripts": "ij,jk->ik"}),
        Sample(((2, 3), (3,)), {"subscripts": "ij,j"}),
        Sample(((3,), (3,)), {"subscripts": "i,i"}),
        Sample(((2, 3),), {"subscripts": "ij->j"}),
        Sample(((2, 3), (2, 3), (3,)), {"subscripts": "ij,ij,j->i"}),
    ),
)


@spell("einsum", "np.einsum", np.einsum)
def _bind_einsum(
    ask: Relate,
    subscripts: Text,
    /,
    *operands: ArrayArg,
    out: Unmodelled = None,
    dtype: Unmodelled = None,
    order: Unmodelled = "K",
    casting: Unmodelled = "safe",
    optimize: Unmodelled = False,
) -> Bound:
    subscripts = _without_ellipsis(subscripts, operands)
    terms, result = _labels(subscripts, len(operands))
    if len(operands) == 1 and len(set(terms[0])) == len(result):
        return _view_by_labels(ask, operands[0], terms[0], result)
    return Bound("einsum", operands, {"subscripts": subscripts})


def _view_by_labels(ask: Relate, operand: Node, term: str, result: str) -> Bound:
    """An einsum of one operand that sums nothing, which gives a view: of other axes, or of a diagonal as the last."""
    node = view_operand(operand)
    shape = node.array_type.shape
    if len(shape) != len(term) or set(term) != set(result):
        raise OpError(f"einsum {term!r} to {result!r}")
    if len(term) == len(result):
        return Bound("transpose", (node,), {"axes": tuple(map(term.index, result))})
    twice = [label for label in result if term.count(label) == 2]
    rest = "".join(label for label in term if term.count(label) == 1)
    if len(twice) != 1 or result != rest + twice[0]:
        raise OpError("einsum that sums nothing gives a view of diagonals that has no rule")
    first, second = term.index(twice[0]), term.rindex(twice[0])
    equal(shape[first], shape[second], ask)
    return diagonal_of(node, 0, first, second, writeable=True)


# scalar types as functions: np.float32(x)


def _infer_scalar_cast(args: tuple[Argument, ...], params: dict[str, Any], ask: Relate) -> ArrayType:
    (arg,) = args
    dtype = np.dtype(params["type"])
    if isinstance(arg, Node):
        type_ = arg.array_type
        if type_.shape:
            raise OpError("of an array it makes an array")
        if type_.dtype.kind == "c" and dtype.kind not in "cb":
            raise OpError("discarding the imaginary part warns")
    elif is_symbolic(arg):
        if arg.kind == "float" and dtype.kind in "iu":  # type: ignore[union-attr]
            raise OpError("an integer from a float depends on its value")
        if dtype.char == "e":
            check_number(arg, dtype, ask)  # NB: where the program makes a float16 of a number NumPy warns at once
    else:
        try:
            with np.errstate(all="raise"):
                params["type"](arg)
        except REFUSALS as error:
            raise OpError(f"{dtype}({arg}): {error}") from None
    return ArrayType(dtype, (), True)


define(
    OpDef(
        "scalar_cast",
        OpKind.CALL,
        _infer_scalar_cast,
        lambda args, params: params["type"](args[0]),
        "A NumPy scalar of params[type] from a NumPy scalar, 0-d array or Python number.",
        tuple(Sample((one,), {"type": type_}) for one in ((), 2, True) for type_ in (np.float32, np.int64, np.bool_)),
    )
)


def _spell_type(type_: type[np.generic]) -> None:
    dtype = np.dtype(type_)

    def bind(ask: Relate, value: NestedOrLarge, /) -> Bound:
        if type(value) is int and value >= 2**63:
            if type_ is not np.uint64:
                raise OpError("an int beyond 64 bits")
            value = np.uint64(value)  # a constant: the program has no Python number for it
        if is_sequence(value):  # NB: converted item by item, which raises where a cast of an array would wrap
            return bind_array_of(value, dtype)
        if not isinstance(value, Node) or not value.array_type.shape:
            return Bound("scalar_cast", (value,), {"type": type_})
        if value.array_type.dtype == dtype:
            return Bound("same", (value,))
        return Bound("astype", (value,), {"dtype": dtype})

    spell("scalar_cast", f"np.{type_.__name__}", type_)(bind)


for _code in "?bhilBHILefdFD":
    _spell_type(np.dtype(_code).type)


# rounding


def _round(a: Any, decimals: int) -> Any:
    return a.round(decimals)


def same_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return shapes[0]


opaque(
    "round",
    _round,
    same_shape,
    "Rounded to params[decimals] places, half to even.",
    (Sample(((2, 3),), {"decimals": 0}), Sample(((2, 3),), {"decimals": 2}), Sample(((),), {"decimals": -1})),
)


_INTEGERS = np.ones(1, np.int64)
_HANDS_BACK = np.round(_INTEGERS) is _INTEGERS  # NB: older NumPy (2.2) gives an array of integers itself, no copy


@spell("round rint", "np.round", np.round, np.around)
def _bind_round(ask: Relate, a: OperandArg, decimals: Int = 0, out: Out = None) -> Bound:
    if not isinstance(a, Node):
        if decimals != 0 or out is not None or isinstance(a, np.generic) or kind_of(a) != "float":
            raise OpError(f"round of {described(a)} has no rule")
        return ufunc_binder(UFUNCS["rint"])(ask, a)
    if out is not None and not same_sizes(a, out, ask):
        raise OpError("round into an array of another shape")
    if decimals == 0 and a.array_type.dtype.kind == "f":
        return ufunc_binder(UFUNCS["rint"])(ask, a, out=out)
    if out is not None:
        raise OpError("round to places with out= has no rule")
    if _HANDS_BACK and a.array_type.dtype.kind in "iu" and decimals >= 0 and not a.array_type.scalar:
        raise OpError("round of integers, of which this NumPy gives the array itself")
    return Bound("round", (a,), {"decimals": decimals})


spell("round rint", None, method="round")(_bind_round)


# comparison and repair of values


def _broadcast_shape(shapes: tuple[Shape, ...], params: dict[str, Any], ask: Relate) -> Shape:
    return broadcast(shapes, ask)


opaque(
    "isclose",
    np.isclose,
    _broadcast_shape,
    "Whether elements are equal up to params[rtol] and params[atol].",
    (
        Sample(((2, 3), (3,)), {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}),
        Sample(((3,), 1.5), {"rtol": 0.1, "atol": 0.0, "equal_nan": True}),
        Sample(((), ()), {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}),
    ),
)


@spell("isclose", "np.isclose", np.isclose)
def _bind_isclose(
    ask: Relate, a: OperandArg, b: OperandArg, rtol: OpenFloat = 1e-5, atol: OpenFloat = 1e-8, equal_nan: Flag = False
) -> Bound:
    for margin in (rtol, atol):
        bounds = make("ge", margin, -sys.float_info.max), make("le", margin, sys.float_info.max)
        if not all(demand(ask, bound) if is_symbolic(bound) else bound for bound in bounds):
            raise OpError("np.isclose warns of a margin that is not finite")
    return Bound("isclose", (a, b), {"rtol": rtol, "atol": atol, "equal_nan": equal_nan})


opaque(
    "nan_to_num",
    np.nan_to_num,
    same_shape,
    "NaN and infinities replaced by numbers; params nan, posinf, neginf.",
    (
        Sample(((2, 3),), {"nan": 0.0, "posinf": None, "neginf": None}),
        Sample(((),), {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}),
    ),
)


@spell("nan_to_num", "np.nan_to_num", np.nan_to_num)
def _bind_nan_to_num(
    ask: Relate,
    x: ArrayArg,
    copy: Unmodelled = True,
    nan: RealNumber = 0.0,
    posinf: RealNumberOrNone = None,
    neginf: RealNumberOrNone = None,
) -> Bound:
    return Bound("nan_to_num", (x,), {"nan": nan, "posinf": posinf, "neginf": neginf})
