"""Computes ufuncs with where= everywhere, and chooses.

Enters a graph that this pass may change; leaves one that yields the same bits:

    store(%out, ufunc_out(%out, %x, %y, %mask, divide))
    ->  %a = where(%mask, %x, 1); %b = where(%mask, %y, 1); store(%out, where(%mask, divide(%a, %b), %out))

NumPy computes where the mask is true alone, so that nothing else is reported. What is computed beside it is the same
function of ones, which reports nothing for the functions below: 1 / 1, log(1), sqrt(1). INVARIANT: of functions whose
last bits depend on where arrays lie (ops/vector_math.py) only those with a result that the graph makes, and of which no
operand is a part.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import origins, replace_uses
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import infer
from dynamo_lite.ops.vector_math import looks_at_strides

# Functions that report nothing of any numbers, and such as report nothing of ones.
_QUIET = frozenset(
    (
        *("absolute", "negative", "positive", "copysign", "sign", "isnan", "isinf", "isfinite", "signbit", "invert"),
        *("logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    )
)
_QUIET_OF_ONES = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "float_power"),
        *("reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
        *("arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "hypot", "maximum", "minimum"),
        *("sqrt", "square", "arcsin", "arccos", "fmax", "fmin", "cbrt", "floor", "ceil", "trunc", "rint"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("deg2rad", "rad2deg", "radians", "degrees"),
    )
)
_MADE = frozenset(("empty", "empty_like", "zeros", "zeros_like", "full", "full_like", "copy"))
_DTYPES = "?bhilqBHILQfd"


def chosen(graph: Graph) -> None:
    """Rewrite every ufunc with where= whose functions and dtypes allow it."""
    nodes, graph.nodes = graph.nodes, []
    replaced: dict[Node, Node] = {}
    for node in nodes:
        new = _chosen(graph, node) if node.kind is NodeKind.CALL and node.op == "ufunc_out" else None
        if new is None:
            graph.nodes.append(node)
        else:
            replaced[node] = new
    replace_uses(graph, dict(replaced))


def _chosen(graph: Graph, node: Node) -> Node | None:
    if node.params.keys() != {"ufunc", "where"}:
        return None
    target, *operands, mask = node.args
    name, type_ = node.params["ufunc"].__name__, node.array_type
    arrays = [arg for arg in operands if isinstance(arg, Node)]
    assert isinstance(target, Node)
    if name not in _QUIET | _QUIET_OF_ONES or not type_.ndim or not arrays:
        return None
    if any(one.array_type.dtype.char not in _DTYPES for one in (target, *arrays)):
        return None
    if looks_at_strides(name, type_.dtype) and not _is_apart(target, arrays):
        return None

    def call(op: str, *args: Argument) -> Node | None:
        found = infer(op, args, {}, lambda condition: bool(graph.decides(condition)))
        return graph.add_call(op, args, {}, found, node.location) if isinstance(found, ArrayType) else None

    def of_ones(arg: Argument) -> Argument | None:
        """An operand, and 1 beside the mask."""
        if name in _QUIET or not isinstance(arg, Node):
            return arg
        return call("where", mask, arg, arg.array_type.dtype.kind == "b" or 1)

    known = [of_ones(arg) for arg in operands]
    made = call(name, *(arg for arg in known if arg is not None)) if None not in known else None
    found = call("where", mask, made, target) if made is not None and made.array_type.dtype == type_.dtype else None
    same = found is not None and (found.array_type.dtype, found.array_type.shape) == (type_.dtype, type_.shape)
    return found if same else None


def _is_apart(target: Node, arrays: list[Node]) -> bool:
    """Whether the graph makes `target`, and no operand is a part of it."""
    if target.kind is not NodeKind.CALL or target.op not in _MADE:
        return False
    return all(target not in origins(arg) for arg in arrays)
