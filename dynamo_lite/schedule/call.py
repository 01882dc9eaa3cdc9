"""Finds what a Call step calls: NumPy's function, method or operator where an op is just that, else `evaluate`.

Enters a node that no kernel computes; leaves (function, args, kwargs) whose call is the op. Going through
``OpDef.evaluate`` costs about a microsecond more, several times what NumPy needs for a scalar or a tiny array. So does
NumPy's own Python code: where what goes in is as that code wants it in the end, the function beneath it is called.
INVARIANT: tests/schedule/test_call.py compares every row with `evaluate` on the op's samples.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.opdef import REGISTRY, OpDef
from dynamo_lite.ops.draws import arguments
from dynamo_lite.ops.index import index_key
from dynamo_lite.ops.operators import BINARY, PARTS, UNARY
from dynamo_lite.ops.samples import Samples

Direct: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"scalar_{name}": function for name, _, function in BINARY.values()},
    **{f"scalar_{name}": function for name, _, function in UNARY.values()},
    **{f"scalar_{name}": function for name, function in PARTS.items()},
}
# Called with the operands, and the params as keywords.
_METHODS: dict[str, Callable[..., Any]] = {  # of arrays, not of NumPy scalars
    name: getattr(np.ndarray, name)
    for name in (
        *("argmax", "argmin", "argsort", "take", "repeat", "trace", "dot", "flatten", "ravel", "copy", "astype"),
        *("nonzero", "searchsorted"),
    )
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in (
            *("argmax", "argmin", "argsort", "argpartition", "partition", "searchsorted", "sort", "take", "repeat"),
            *("dot", "inner", "vdot", "convolve", "correlate", "interp", "trace", "tril", "triu", "where"),
            *("diag", "roll", "tile", "isclose", "nan_to_num", "linspace", "arange", "eye", "tri"),
            *("full_like", "empty_like"),
        )
    },
    **{
        f"linalg_{name}": getattr(np.linalg, name)
        for name in (
            *("cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd"),
        )
    },
    **{f"fft_{name}": getattr(np.fft, name) for name in ("fft", "ifft", "rfft", "irfft")},
}
# The gufuncs beneath np.linalg, with the signature that it asks for of doubles. It raises where they meet an invalid
# value, and ignores other errors; the first two do not look.
_LINALG: dict[str, tuple[str, str]] = {
    "linalg_det": ("det", "d->d"),
    "linalg_slogdet": ("slogdet", "d->dd"),
    "linalg_inv": ("inv", "d->d"),
    "linalg_cholesky": ("cholesky_lo", "d->d"),
    "linalg_eigh": ("eigh_lo", "d->dd"),
    "linalg_eigvalsh": ("eigvalsh_lo", "d->d"),
    "linalg_solve": ("solve", "dd->d"),
    "linalg_solve1": ("solve1", "dd->d"),
}
_GUFUNCS = {name: getattr(np.linalg._umath_linalg, beneath, None) for name, (beneath, _) in _LINALG.items()}
_INTERP = getattr(np.interp, "_implementation", np.interp).__globals__.get("compiled_interp")
_HISTOGRAM = getattr(np.histogram, "_implementation", np.histogram)
_EINSUM = getattr(np._core.multiarray, "c_einsum", None)
_UFUNC_METHODS = {"reduce": {"axes": "axis"}, "accumulate": {}, "outer": {}}  # with how params are called there

_POSITIONS = {"argmax": _C.argmax, "argmin": _C.argmin}
_RANKS = {"sort": _C.sort_rows, "median": _C.median_rows}
_ACCUMULATES: dict[np.ufunc, Callable[..., Any]] = {
    **{np.add: _C.add_accumulate, np.multiply: _C.multiply_accumulate, np.maximum: _C.maximum_accumulate},
    **{np.minimum: _C.minimum_accumulate, np.fmax: _C.fmax_accumulate, np.fmin: _C.fmin_accumulate},
}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Calls an op's ``evaluate``: first the operands, then the values of the params named by `keys`."""

    op: OpDef
    keys: tuple[str, ...]

    def __call__(self, *values: Any) -> Any:
        count = len(values) - len(self.keys)
        return self.op.evaluate(values[:count], dict(zip(self.keys, values[count:], strict=True)))

    def __str__(self) -> str:
        return self.op.name


def call(node: Node) -> Direct:
    """The function, operands and keywords that compute `node`."""
    op, params = REGISTRY[node.op], {key: value for key, value in node.params.items() if key != "yields"}
    if op.ufunc is not None and set(params) <= {"dtype", "casting", "as_array"}:
        keywords = {key: value for key, value in params.items() if key != "as_array"}
        if params.get("as_array"):
            keywords["out"] = ...
        return op.ufunc, node.args, keywords
    if node.op in _OPERATORS and not params:
        return _OPERATORS[node.op], node.args, {}
    if node.op == "accumulate" and params["ufunc"] in _ACCUMULATES and _keeps_dtype(node):
        return _ACCUMULATES[params["ufunc"]], (params["ufunc"].accumulate, *node.args, params["axis"]), {}
    if node.op in _UFUNC_METHODS:
        names = _UFUNC_METHODS[node.op]
        keywords = {names.get(key, key): value for key, value in params.items() if key != "ufunc"}
        return getattr(params["ufunc"], node.op), node.args, keywords
    if node.op == "inner" and not params and _has_doubles(node.args, 1):
        return np.dot, node.args, {}  # both call the dtype's own function, of these very vectors
    if node.op == "dot" and not params and all(map(_is_array, node.args)) and _sums_one(*node.args):
        return dot_along_one, node.args, {}
    beneath = _beneath(node)
    if beneath is not None:
        return beneath
    if node.op == "advanced_index":
        key = index_key(params["index"], node.args)
        return operator.getitem, (node.args[0], key[0] if len(key) == 1 else key), {}
    if node.op == "draw":
        return params["method"], *arguments(node.args, params)
    if node.op == "concatenate":
        return np.concatenate, (node.args,), params
    if node.op == "reshape" and _is_array(node.args[0]):
        return np.ndarray.reshape, (node.args[0], params["shape"]), {}
    if node.op in _METHODS and _is_array(node.args[0]) and "as_array" not in params:
        return _METHODS[node.op], node.args, params
    if node.op in _FUNCTIONS:
        return _FUNCTIONS[node.op], node.args, params
    if op.function is not None:  # beneath NumPy's dispatcher: the operands are plain arrays
        return getattr(op.function, "_implementation", op.function), node.args, params
    return Evaluation(op, tuple(params)), (*node.args, *params.values()), {}


def is_linalg(function: Callable[..., Any]) -> bool:
    """Whether it is one of the gufuncs beneath np.linalg."""
    return any(function is one for one in _GUFUNCS.values())


def reports_invalid_alone(function: Callable[..., Any]) -> bool:
    """Whether NumPy calls it so that invalid values raise, and no other floating-point errors are reported."""
    return any(function is one for name, one in _GUFUNCS.items() if name not in ("linalg_det", "linalg_slogdet"))


def _beneath(node: Node) -> Direct | None:
    """The function beneath NumPy's Python code, where that does no more than to call it."""
    if node.op in _LINALG and _has_doubles(node.args[:1], 2) and _has_doubles(node.args[1:], 1, 2):
        name = node.op
        if name == "linalg_solve" and isinstance(node.args[1], Node) and node.args[1].array_type.ndim == 1:
            name = "linalg_solve1"
        function = _GUFUNCS[name]
        return None if function is None else (function, node.args, {"signature": _LINALG[name][1]})
    if node.op == "interp" and _INTERP is not None and _has_doubles(node.args[1:], 1):
        return (_C.interp, (_INTERP, *node.args), {}) if _interpolates_alike() else (_INTERP, node.args, {})
    if node.op == "searchsorted" and all(map(_is_array, node.args)):
        return _C.searchsorted, (*node.args, node.params["side"]), {}
    if node.op == "einsum" and _EINSUM is not None:  # which params have it unoptimised
        return _EINSUM, (node.params["subscripts"], *node.args), {}
    if node.op in ("histogram", "histogram_weighted") and counts_alike():
        weights = node.args[1] if len(node.args) > 1 else None
        return _C.histogram, (_HISTOGRAM, node.args[0], node.params["bins"], node.params["range"], weights), {}
    if node.op in _POSITIONS and _is_array(node.args[0]) and node.params["axis"] is not None:
        several = isinstance(node.args[0], Node) and node.args[0].array_type.ndim > 1
        given = (*node.args, node.params["axis"], node.params["keepdims"])
        return (_POSITIONS[node.op], given, {}) if several else None
    if node.op in _RANKS and (axis := _sorted_axis(node)) is not None:
        function = getattr(np, node.op)
        return _RANKS[node.op], (*node.args, axis, getattr(function, "_implementation", function)), {}
    is_whole = node.op == "median" and node.params == {"axis": None, "keepdims": False}
    if is_whole and _has_doubles(node.args, 1):
        return _C.median, node.args, {}
    return None


def _sorted_axis(node: Node) -> int | None:
    """The axis along which csrc/arrays/ranks.c sorts, or finds medians, if the array has others."""
    (x,) = node.args
    if not isinstance(x, Node) or x.array_type.ndim < 2 or node.params.get("kind") or node.params.get("keepdims"):
        return None
    axes = node.params["axis"]
    (axis,) = axes if isinstance(axes, tuple) and len(axes) == 1 else (axes,)
    return axis if isinstance(axis, int) else None


@functools.cache
def _interpolates_alike() -> bool:
    """Whether this NumPy's interp has the bits of ours (csrc/arrays/search.c): one that was compiled for a newer
    processor may multiply and add at once."""
    samples = Samples(5)
    xp, fp = np.sort(samples.normal(200)), samples.normal(200) * 1e3
    x = 6.0 * samples.uniform(2000) - 3.0
    assert _INTERP is not None
    return bool(np.array_equal(_C.interp(_INTERP, x, xp, fp), _INTERP(x, xp, fp)))


@functools.cache
def counts_alike() -> bool:
    """Whether this NumPy's histogram has the bits of ours (csrc/arrays/histogram.c): numbers at and beside the edges
    tell."""
    samples = Samples(6)
    edges = np.linspace(-0.7, 2.9, 24)
    beside = [np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)[1:]]
    x = np.concatenate((edges, *beside, samples.uniform(70_000)))
    weights = samples.normal(len(x))
    for bins, limits, given in ((23, None, None), (23, None, weights), (7, (-0.25, 1), None), (7, (-0.25, 1), weights)):
        ours = _C.histogram(None, x, bins, limits, given)
        if not all(map(np.array_equal, ours, _HISTOGRAM(x, bins, limits, None, given))):
            return False
    return True


def _keeps_dtype(node: Node) -> bool:
    """Whether an array is accumulated in its own dtype, one that csrc/arrays/accumulate.c knows."""
    (x,) = node.args
    if not isinstance(x, Node) or not _is_array(x):
        return False
    dtype = x.array_type.dtype
    return dtype.char in "fdl" and node.params.get("dtype", dtype) == dtype == node.array_type.dtype


def _has_doubles(args: tuple[Argument, ...], *ndims: int) -> bool:
    """Whether all are arrays of doubles with so many axes."""
    types = [arg.array_type for arg in args if isinstance(arg, Node) and _is_array(arg)]
    return len(types) == len(args) and all(one.dtype == np.float64 and one.ndim in ndims for one in types)


def dot_along_one(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    """np.dot where one product makes each element, which is not for product.c."""
    return np.dot(a, b)


def _sums_one(*operands: Argument) -> bool:
    types = [operand.array_type for operand in operands if isinstance(operand, Node)]
    return max(one.ndim for one in types) == 2 and types[0].ndim > 0 and types[0].shape[-1] == 1


def _is_array(arg: Argument) -> bool:
    return isinstance(arg, Node) and not arg.array_type.scalar
