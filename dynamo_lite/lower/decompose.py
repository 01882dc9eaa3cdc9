"""Rewrites composite operations as primitives that kernels know.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %clip: int32[s0] = clip(%x, 0, 9)             ->  %maximum = maximum(%x, 0); %minimum = minimum(%maximum, 9)
    %clip: float64[s0] = clip(%x, 0, 9)           ->  %less = less(%x, 0); %where = where(%less, 0, %x); ...
    %reduce: int64[] = reduce(%x: bool[s0], add)  ->  %positive: int64[s0] = positive(%x); %r = reduce(%positive, add)
    %take: float64[s1] = take(%x, %i)             ->  %advanced_index = advanced_index(%x[%i])
    %outer: int32[s0, s1] = outer(%x, %y, add)    ->  %x[:, newaxis]; add
    %cross: float64[3] = cross(%x, %y)            ->  %made = empty_like(%x); store %made[0], subtract(...) ...
    %power: float64[s0] = power(%x, 2.0)          ->  %square: float64[s0] = square(%x)
    %divide: float64[s0] = divide(%x, 4.0)        ->  %multiply: float64[s0] = multiply(%x, 0.25)
    %remainder: int64[s0] = remainder(%x, 8)      ->  %bitwise_and: int64[s0] = bitwise_and(%x, 7)
    %radians: float64[s0] = radians(%x)           ->  %multiply: float64[s0] = multiply(%x, 0.017453292519943295)
    %triu: float64[s0, s1] = triu(%x, 1)          ->  %r = arange(s0)[:, newaxis]; %c = arange(0, s1); ...
                                                      %g = greater_equal(%r, %c); where(%g, 0.0, %x)
    %nan_to_num: float64[s0] = nan_to_num(%x)     ->  %c = copy(%x); where(isnan(%c), 0.0, where(equal(%c, inf), ...
    %p: int64[s0] = searchsorted(%a, %x: float32) ->  %astype: float64[s0] = astype(%x); %p = searchsorted(%a, %astype)

A reduction's cast is made explicit, hence fused, only where the order of operations cannot show: on integers and
bools. Floating sums with a cast run in NumPy's chunks of 8192 elements, and stay whole. It is a ufunc and no astype:
NumPy casts as it iterates, in the order that ufuncs go through their operands, whereas a copy also sorts axes of
stride 0, which shows in the strides of a result with keepdims. Clip of floats by arrays has its own rule for NaN.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import elementwise_of
from dynamo_lite.graph.rewrite import replace_uses
from dynamo_lite.graph.scalar import Dim, Scalar, is_symbolic, make, product
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.reductions import reduce_dtypes
from dynamo_lite.ops.registry import infer

Rule: TypeAlias = Callable[[Graph, Node], Node | None]
_BOUNDS = ((0.0, 1.0), (-0.0, 0.5), (0.0, -0.0), (-1.0, 0.0), (1.0, -1.0), (-1e-40, np.inf))
LEAST_INVERTED = 2.0**-100  # this power of 2 and its inverse are normal numbers of float32, too


def decompose(graph: Graph) -> None:
    """Rewrite every node that has a rule below."""
    _rewrite(graph, _RULES)


def _rewrite(graph: Graph, rules: Mapping[str, Rule]) -> None:
    nodes = graph.nodes
    graph.nodes = []
    replaced: dict[Node, Node] = {}
    for node in nodes:
        rule = rules.get(node.op) if node.kind is NodeKind.CALL else None
        new = rule(graph, node) if rule is not None else None
        if new is None:
            graph.nodes.append(node)
        else:
            replaced[node] = new
    replace_uses(graph, dict(replaced))


def _clip(graph: Graph, node: Node) -> Node | None:
    """NumPy's clip is minimum(maximum(x, low), high), for integers without exception. Floats that are clipped by
    numbers stay as they are where they are not out of bounds, zeros and NaNs too."""
    if node.array_type.dtype.kind == "f":
        return _clip_by_numbers(graph, node)
    operands = [arg.array_type.dtype for arg in node.args if isinstance(arg, Node)]
    if node.array_type.dtype.kind not in "iu" or any(dtype != node.array_type.dtype for dtype in operands):
        return None
    x, low, high = node.args

    def call(op: str, *args: object) -> Node:
        shape = infer(op, args, node.params, lambda condition: bool(graph.decides(condition)))  # type: ignore[arg-type]
        return graph.add_call(op, args, node.params, shape, node.location)  # type: ignore[arg-type]

    return call("minimum", call("maximum", x, low), high)


def _clip_by_numbers(graph: Graph, node: Node) -> Node | None:
    x, *bounds = node.args
    dtype, shape = node.array_type.dtype, node.array_type.shape
    known = all(type(bound) in (int, float) and bound == bound for bound in bounds)
    if not known or node.params or not isinstance(x, Node) or not x.array_type.ndim or x.array_type.dtype != dtype:
        return None
    if dtype.char not in "fd" or not _keeps_what_is_inside(dtype.char):
        return None
    if len(shape) > 2 and not _all_axes_tell(graph, node):
        return None
    kept: Argument = x
    for op, bound in zip(("less", "greater"), bounds, strict=True):
        outside = graph.add_call(op, (kept, bound), {}, ArrayType(np.dtype(bool), shape), node.location)
        kept = graph.add_call("where", (outside, bound, kept), {}, node.array_type, node.location)
    assert isinstance(kept, Node)
    return kept


def _all_axes_tell(graph: Graph, node: Node) -> bool:
    """Whether no axis has one element: of such np.where chooses the stride otherwise than a ufunc or a copy does."""
    return all(size != 1 and graph.decides(make("ne", size, 1)) for size in node.array_type.shape)


@functools.cache
def _keeps_what_is_inside(char: str) -> bool:
    """Whether this NumPy's clip by numbers leaves elements within the bounds as they are, wherever they stand."""
    with np.errstate(all="ignore"):
        special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 0.5, 1e-40], char)
        cases = itertools.product((1, 3, 8, 19, 67), (0, 3), _BOUNDS)
        return all(_is_clipped(np.resize(np.roll(special, start), n), *bounds) for n, start, bounds in cases)


def _is_clipped(x: np.ndarray[Any, Any], low: float, high: float) -> bool:
    """Whether NumPy clips these elements so, also where they lie apart, backwards, or in the result."""
    expected = np.where(x < low, low, x)
    expected = np.where(expected > high, high, expected)
    apart, itself = np.repeat(x, 2)[::2], x.copy()
    np.clip(itself, low, high, out=itself)
    found = np.clip(x, low, high), np.clip(apart, low, high), np.clip(x[::-1], low, high)[::-1], itself
    return all(one.tobytes() == expected.tobytes() for one in found)


def _reduce(graph: Graph, node: Node) -> Node | None:
    (x,) = node.args
    if not isinstance(x, Node) or "initial" in node.params:
        return None
    ufunc, dtype = node.params["ufunc"], x.array_type.dtype
    element, result = reduce_dtypes(ufunc, dtype, node.params.get("dtype"))
    if element == dtype or element != result or element.kind not in "iub" or dtype.kind not in "iub":
        return None
    cast = _read_as(graph, x, element, node)
    params = {key: value for key, value in node.params.items() if key != "dtype"}
    params["dtype"] = element
    return graph.add_call("reduce", (cast,), params, node.type, node.location)  # type: ignore[arg-type]


def _read_as(graph: Graph, x: Node, dtype: np.dtype[np.generic], node: Node) -> Node:
    """x as a ufunc reads it that computes in `dtype`, an integer's or bool."""
    type_ = ArrayType(dtype, x.array_type.shape, x.array_type.scalar)
    params: dict[str, Any] = {} if type_.shape or type_.scalar else {"as_array": True}
    if dtype.kind == "b":
        return graph.add_call("not_equal", (x, 0), params, type_, node.location)
    return graph.add_call("positive", (x,), {"dtype": dtype, "casting": "unsafe", **params}, type_, node.location)


def _roll(graph: Graph, node: Node) -> Node | None:
    """Two stores into an array laid out like the operand, as np.roll itself does it: y[k:] = x[:-k]; y[:k] = x[-k:].

    By a number that only the run knows, k is what it leaves of the size, as in np.roll; a store may store nothing."""
    (x,) = node.args
    shift, axis = node.params["shift"], node.params["axis"]
    if not isinstance(x, Node) or x.array_type.scalar or (type(shift) is int and shift == 0):
        return None
    if axis is None:
        return _roll_flat(graph, node, x) if x.array_type.ndim else None
    shape = x.array_type.shape
    if is_symbolic(shift):
        k: Scalar = make("mod", shift, make("max", shape[axis], 1))
        rest = make("sub", shape[axis], k)
        bounds = (((k, None), (None, rest), rest), ((None, k), (rest, None), k))
    else:
        moved, rest = abs(shift), make("sub", shape[axis], abs(shift))
        single = graph.facts.decide(make("eq", rest, 1))
        if single is None or not graph.facts.decide(make("ge", shape[axis], moved)):
            return None
        longer: Scalar = 1 if single else rest
        behind, ahead = (longer, moved) if shift > 0 else (moved, longer)
        bounds = (((shift, None), (None, -shift), behind), ((None, shift), (-shift, None), ahead))

    def part(array: Node, bounds: tuple[Scalar | None, Scalar | None], length: Scalar) -> Node:
        index = tuple((*bounds, None) if place == axis else (None, None, None) for place in range(len(shape)))
        sizes: Any = (*shape[:axis], length, *shape[axis + 1 :])
        type_ = ArrayType(node.array_type.dtype, sizes)
        return graph.add_call("basic_index", (array,), {"index": index, "scalar": False}, type_, node.location)

    made = graph.add_call("empty_like", (x,), {}, node.array_type, node.location)
    for into, out_of, length in bounds:
        graph.add_store(part(made, into, length), part(x, out_of, length), node.location)
    return made


def _roll_flat(graph: Graph, node: Node, x: Node) -> Node | None:
    """np.roll along no axis rolls all elements as one vector, and hands out a view of that."""
    flat, size = x, product(x.array_type.shape)
    if x.array_type.ndim > 1:
        type_ = ArrayType(node.array_type.dtype, (size,))  # type: ignore[arg-type]
        flat = graph.add_call("ravel", (x,), {"order": "C"}, type_, node.location)
    given = Node(NodeKind.CALL, "roll", (flat,), node.params | {"axis": 0}, flat.type, node.name, node.location)
    rolled = _roll(graph, given)
    if rolled is None:
        graph.nodes = [other for other in graph.nodes if other is not flat or flat is x]
        return None
    return graph.add_call("reshape", (rolled,), {"shape": x.array_type.shape}, node.array_type, node.location)


def _outer(graph: Graph, node: Node) -> Node | None:
    """ufunc.outer gives the first operand an axis of one element for each axis of the second, and calls the ufunc."""
    x, y = node.args
    op = elementwise_of(node)
    if op.name == node.op:
        return None
    assert isinstance(x, Node) and isinstance(y, Node)
    index = ((None, None, None),) * x.array_type.ndim + (None,) * y.array_type.ndim
    type_ = ArrayType(x.array_type.dtype, (*x.array_type.shape, *(1 for _ in y.array_type.shape)))
    wide = graph.add_call("basic_index", (x,), {"index": index, "scalar": False}, type_, node.location)
    return graph.add_call(op.name, (wide, y), {}, node.type, node.location)  # type: ignore[arg-type]


def _take(graph: Graph, node: Node) -> Node | None:
    """Of a vector, by a vector of integers, the same as x[indices], where both raise for what is not there."""
    x, indices = (arg.array_type for arg in node.args if isinstance(arg, Node))
    if node.params not in ({"axis": None}, {"axis": 0}) or (x.ndim, indices.ndim) != (1, 1) or x.scalar:
        return None
    if indices.dtype.kind != "i":
        return None
    return graph.add_call("advanced_index", node.args, {"index": (("arg", 1),)}, node.array_type, node.location)


def _cross(graph: Graph, node: Node) -> Node | None:
    """Of two vectors in space, elements: two products each, and their difference, as np.cross computes them. (Of arrays
    of such vectors columns.py makes kernels.)"""
    dtype = node.array_type.dtype
    types = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    if dtype.char not in "fd" or any(type_.dtype != dtype or type_.ndim != 1 for type_ in types):
        return None
    if not all(graph.facts.decide(make("eq", type_.shape[0], 3)) for type_ in types):
        return None

    def call(op: str, args: tuple[Node, ...], params: dict[str, Any], type_: ArrayType) -> Node:
        return graph.add_call(op, args, params, type_, node.location)

    def element(of: Argument, place: int) -> Node:
        assert isinstance(of, Node)
        return call("basic_index", (of,), {"index": (place,), "scalar": True}, ArrayType(dtype, (), True))

    def scalar(op: str, *args: Node) -> Node:
        return call(op, args, {}, ArrayType(dtype, (), True))

    left, right = ([element(arg, place) for place in range(3)] for arg in node.args)
    made = call("empty_like", (node.args[0],), {}, node.array_type)  # type: ignore[arg-type]
    for place, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        value = scalar("subtract", scalar("multiply", left[i], right[j]), scalar("multiply", left[j], right[i]))
        at = call("basic_index", (made,), {"index": (place,), "scalar": False}, ArrayType(dtype, ()))
        graph.add_store(at, value, node.location)
    return call("basic_index", (made,), {"index": ((None, None, None),), "scalar": False}, node.array_type)


def _power(graph: Graph, node: Node) -> Node | None:
    """NumPy's power loop multiplies, or takes the root, where the exponent has no axes and is 2 or 0.5."""
    x, exponent = node.args
    if type(exponent) not in (int, float) or exponent not in (2, 0.5) or node.params or not isinstance(x, Node):
        return None
    dtype = node.array_type.dtype
    if x.array_type.dtype != dtype or dtype.char not in "fd" or not _takes_short_ways(dtype.char):
        return None
    op = "square" if exponent == 2 else "sqrt"
    return graph.add_call(op, (x,), {}, node.array_type, node.location)


@functools.cache
def _takes_short_ways(char: str) -> bool:
    """Whether this NumPy does so: it came with version 2.3."""
    x = np.linspace(0.01, 50.0, 5000).astype(char)
    return bool((np.power(x, 2.0) == x * x).all() and (np.power(x, 0.5) == np.sqrt(x)).all())


def _round(graph: Graph, node: Node) -> Node | None:
    """NumPy rounds to places by ufuncs. NB: the result of more axes has another layout than theirs."""
    (x,), decimals = node.args, node.params["decimals"]
    type_ = node.array_type
    assert isinstance(x, Node)
    known = type(decimals) is int and 1 <= abs(decimals) <= _MOST_PLACES
    if not known or type_.dtype.char not in "fd" or not (type_.scalar or type_.ndim == 1):
        return None
    before, after = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scale = 10.0 ** abs(decimals)
    moved = graph.add_call(before, (x, scale), {}, type_, node.location)
    whole = graph.add_call("rint", (moved,), {}, type_, node.location)
    return graph.add_call(after, (whole, scale), {}, type_, node.location)


_MOST_PLACES = 22  # powers of ten up to that are floats


def _divide(graph: Graph, node: Node) -> Node | None:
    """By a power of 2 the product is the quotient, bit by bit and with the same flags, in a fraction of the time."""
    x, divisor = node.args
    dtype = node.array_type.dtype
    if not isinstance(divisor, int | float) or isinstance(divisor, bool) or node.params:
        return None
    if not isinstance(x, Node) or x.array_type.dtype != dtype:
        return None
    if dtype.char not in "fd" or not LEAST_INVERTED <= abs(divisor) <= 1 / LEAST_INVERTED:
        return None
    if abs(math.frexp(divisor)[0]) != 0.5:
        return None
    return graph.add_call("multiply", (x, 1.0 / divisor), {}, node.array_type, node.location)


def _divide_by_power(graph: Graph, node: Node) -> Node | None:
    """Of integers, by a power of 2: bits are shifted out, or left, of negative numbers as well, which round down."""
    x, divisor = node.args
    type_ = node.array_type
    if type(divisor) is not int or node.params or not isinstance(x, Node) or x.array_type.dtype != type_.dtype:
        return None
    bits = 8 * type_.dtype.itemsize - (type_.dtype.kind == "i")
    if type_.dtype.kind not in "iu" or divisor < 1 or divisor & (divisor - 1) or divisor >> bits:
        return None
    if node.op == "remainder":
        return graph.add_call("bitwise_and", (x, divisor - 1), {}, type_, node.location)
    return graph.add_call("right_shift", (x, divisor.bit_length() - 1), {}, type_, node.location)


def _angle(graph: Graph, node: Node) -> Node | None:
    """Degrees and radians are products with a number that is rounded once, in the precision at hand."""
    (x,) = node.args
    dtype = node.array_type.dtype
    if node.params or not isinstance(x, Node) or x.array_type.dtype != dtype or dtype.char not in "fd":
        return None
    factor = _factor(node.op, dtype.char)
    return None if factor is None else graph.add_call("multiply", (x, factor), {}, node.array_type, node.location)


@functools.cache
def _factor(name: str, char: str) -> float | None:
    """What NumPy's function multiplies by, None if it does otherwise."""
    ufunc, kind = getattr(np, name), np.dtype(char).type
    factor = ufunc(kind(1))
    x = np.linspace(-1000.0, 1000.0, 5001).astype(char)
    return float(factor) if (ufunc(x) == x * factor).all() else None


def _searchsorted(graph: Graph, node: Node) -> Node | None:
    """NumPy casts both operands to their common type, and then compares."""
    types = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    if len(types) != 2 or types[0].dtype == types[1].dtype or types[1].scalar:
        return None
    common = np.promote_types(types[0].dtype, types[1].dtype)
    if common.kind not in "iuf":
        return None

    def cast(x: Argument) -> Argument:
        if not isinstance(x, Node) or x.array_type.dtype == common:
            return x
        type_ = ArrayType(common, x.array_type.shape)
        return graph.add_call("astype", (x,), {"dtype": common}, type_, node.location)

    return graph.add_call("searchsorted", tuple(map(cast, node.args)), node.params, node.array_type, node.location)


def _ufunc_out(graph: Graph, node: Node) -> Node | None:
    """Of complex numbers that are added in place only a NaN may differ, and kernels decline where one is a result."""
    target, *operands = node.args
    assert isinstance(target, Node)
    type_ = target.array_type
    alike = all(not isinstance(arg, Node) or arg.array_type.dtype == type_.dtype for arg in operands)
    if node.params.keys() != {"ufunc"} or node.params["ufunc"] is not np.add or type_.dtype.kind != "c" or not alike:
        return None
    result = infer("add", tuple(operands), {}, lambda condition: bool(graph.decides(condition)))
    if not isinstance(result, ArrayType) or (result.dtype, result.shape) != (type_.dtype, type_.shape):
        return None
    return graph.add_call("add", tuple(operands), {}, result, node.location)


def _isclose(graph: Graph, node: Node) -> Node | None:
    """abs(x - y) <= atol + rtol * abs(y), where y is finite, or x == y, of floats. NumPy ignores what is invalid on the
    way, as what comes of a y that is not finite: 0.0 takes its place, since the first test does not count then."""
    x, y = node.args
    rtol, atol = node.params["rtol"], node.params["atol"]
    is_number = type(y) in (int, float) and math.isfinite(y)  # type: ignore[arg-type]
    floats = all(isinstance(arg, Node) and arg.array_type.dtype.char in "fd" for arg in ((x,) if is_number else (x, y)))
    plain_margins = all(is_symbolic(one) or math.isfinite(one) for one in (rtol, atol))
    if any(map(is_symbolic, (rtol, atol))):  # which float32 might not hold
        arrays = (arg for arg in node.args[: 2 - is_number] if isinstance(arg, Node))
        plain_margins &= all(arg.array_type.dtype.char == "d" for arg in arrays)
    if not floats or not plain_margins or (node.array_type.scalar and not is_number):
        return None

    def call(op: str, *args: Argument) -> Node:
        type_ = infer(op, args, {}, lambda condition: bool(graph.decides(condition)))
        return graph.add_call(op, args, {}, type_, node.location)

    def shown(result: Node) -> Node:
        """result[()], which is what NumPy gives."""
        params = {"index": ((None, None, None),) * result.array_type.ndim, "scalar": True}
        return graph.add_call("basic_index", (result,), params, result.array_type, node.location)

    if isinstance(y, int | float):
        number = float(y)
        off = make("mul", rtol, abs(number))
        near = call("less_equal", call("absolute", call("subtract", x, number)), make("add", atol, off))
        close = call("bitwise_or", near, call("equal", x, number))
        return close if close.array_type.scalar else shown(close)
    finite = call("isfinite", y)
    known = call("where", finite, y, 0.0)
    margin = call("add", atol, call("multiply", rtol, call("absolute", known)))
    near = call("less_equal", call("absolute", call("subtract", x, known)), margin)
    close = call("bitwise_or", call("bitwise_and", near, finite), call("equal", x, y))
    if node.params["equal_nan"]:
        close = call("bitwise_or", close, call("bitwise_and", call("isnan", x), call("isnan", y)))
    return shown(close)


def _nan_to_num(graph: Graph, node: Node) -> Node | None:
    """A copy in which NaNs and infinities are replaced, by numbers of its dtype."""
    (x,) = node.args
    given, char = {name: node.params[name] for name in ("nan", "posinf", "neginf")}, node.array_type.dtype.char
    if not isinstance(x, Node) or char not in "fd" or not node.array_type.ndim:
        return None
    if node.array_type.ndim > 1 and not _all_axes_tell(graph, node):
        return None
    largest = float(np.finfo(char).max)
    numbers = [one for one in given.values() if one is not None]
    if any(type(one) not in (int, float) or not abs(one) <= largest for one in numbers):
        return None

    def call(op: str, *args: Argument, **params: Any) -> Node:
        type_ = infer(op, args, params, lambda condition: bool(graph.decides(condition)))
        return graph.add_call(op, args, params, type_, node.location)

    found = copied = call("copy", x, order="K")
    for name, number in (("neginf", -largest), ("posinf", largest)):
        value = number if given[name] is None else float(given[name])
        found = call("where", call("equal", copied, math.copysign(math.inf, number)), value, found)
    found = call("where", call("isnan", copied), float(given["nan"]), found)
    return found if found.array_type == node.array_type else None


def _triangle(graph: Graph, node: Node) -> Node | None:
    """Zeros on one side of a diagonal, as NumPy chooses them by the numbers of rows and columns."""
    (x,) = node.args
    k = node.params["k"]
    if not isinstance(x, Node) or x.array_type.ndim != 2 or x.array_type.dtype.char not in "?bhilqBHILQfd":
        return None
    if type(k) is not int:
        return None

    def call(op: str, dtype: np.dtype[Any], shape: tuple[Dim, ...], *args: Argument, **params: Any) -> Node:
        return graph.add_call(op, args, params, ArrayType(dtype, shape), node.location)

    (rows, columns), whole, number = x.array_type.shape, (None, None, None), np.dtype(np.int64)
    k -= node.op == "triu"
    down = call("arange", number, (rows,), 0, rows, 1)
    across = call("arange", number, (columns,), -k, make("sub", columns, k), 1)
    row = call("basic_index", number, (rows, 1), down, index=(whole, None), scalar=False)
    column = call("basic_index", number, (1, columns), across, index=(None, whole), scalar=False)
    below = call("greater_equal", np.dtype(np.bool_), (rows, columns), row, column)
    zero = False if x.array_type.dtype.kind == "b" else 0
    chosen = (x, zero) if node.op == "tril" else (zero, x)
    return call("where", x.array_type.dtype, (rows, columns), below, *chosen)


_RULES: Mapping[str, Rule] = {
    "nan_to_num": _nan_to_num,
    "tril": _triangle,
    "triu": _triangle,
    "clip": _clip,
    "isclose": _isclose,
    "cross": _cross,
    "reduce": _reduce,
    "roll": _roll,
    "outer": _outer,
    "take": _take,
    "power": _power,
    "round": _round,
    "divide": _divide,
    "floor_divide": _divide_by_power,
    "remainder": _divide_by_power,
    "radians": _angle,
    "deg2rad": _angle,
    "degrees": _angle,
    "rad2deg": _angle,
    "searchsorted": _searchsorted,
    "ufunc_out": _ufunc_out,
}
