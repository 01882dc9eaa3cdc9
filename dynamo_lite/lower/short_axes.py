"""Takes apart what is reduced along a first axis of a few rows: each row is a value of its own.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %product: float64[3, s0] = multiply(%x, %y); %r: float64[s0] = reduce(%product, add, axes=(0,))
    ->  %a = multiply(%x[0], %y[0]); ...; %add = add(0.0, %a); %add_1 = add(%add, %b); %r = add(%add_1, %c)

Then a reduction is elementwise: one kernel with what it is made of and with what is made of it.

INVARIANT: NumPy reduces fewer than 8 elements one after the other, whichever way the operand lies. Of minimum and
maximum that holds for zeros and NaNs only where it goes from row to row, which the operand's memory order tells.
What is taken apart has two axes, so that no memory order shows in the result.
"""

from __future__ import annotations

import functools

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import replace_uses, users
from dynamo_lite.graph.scalar import Dim, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.functionalise import looks_at_layout
from dynamo_lite.ops.reductions import ONE_BY_ONE, reduce_dtypes
from dynamo_lite.ops.shapes import is_open

_IN_ORDER = {np.add: "add", np.multiply: "multiply"}
_EXTREMES = {np.minimum: "minimum", np.maximum: "maximum"}


def short_axes(graph: Graph) -> None:
    """Rewrite reductions along a short first axis, and what only they read, row by row."""
    parts = _to_take_apart(graph)
    if not parts:
        return
    nodes, replaced = graph.nodes, dict[Node, Node]()
    rows: dict[Node, list[Node]] = {}
    wide: dict[Dim, None] = {}  # sizes that must not be 1
    graph.nodes = []
    for node in nodes:
        if node not in parts:
            graph.nodes.append(node)
        elif node.op == "reduce":
            (x,) = node.args
            assert isinstance(x, Node)
            if node.params["ufunc"] in _EXTREMES and x.array_type.dtype.kind == "f":
                wide[x.array_type.shape[1]] = None
            replaced[node] = _folded(graph, node, _rows(graph, x, rows))
        else:
            rows[node] = _elementwise_rows(graph, node, rows)
    replace_uses(graph, replaced)
    _require_columns(graph, wide)


def _require_columns(graph: Graph, sizes: dict[Dim, None]) -> None:
    """Of a single column NumPy takes the minimum along the rows, by another function. It is asked as soon as the size
    is known: before stores, most likely, which would have to be undone."""
    body, graph.nodes = graph.nodes, []
    for node in body:
        graph.nodes.append(node)
        for size in node.array_type.shape if isinstance(node.type, ArrayType) else ():
            if size in sizes:
                del sizes[size]
                condition = make("ne", size, 1)
                if not graph.facts.decide(condition):
                    graph.add_call("require", (condition,), {}, ArrayType(np.dtype(bool), (), True))


def _to_take_apart(graph: Graph) -> set[Node]:
    """The reductions that are rewritten, and the elementwise nodes that only these read."""
    uses, outputs = users(graph), {output for output in graph.outputs if isinstance(output, Node)}
    found: set[Node] = set()
    for node in reversed(graph.nodes):
        if node.kind is not NodeKind.CALL:
            continue
        if node.op == "reduce":
            found |= {node} if _is_short(graph, node) else set()
        elif node not in outputs and uses[node] and found.issuperset(uses[node]) and _has_rows(node):
            found.add(node)
    # What somebody else reads, too, is left to the kernel that reduces: it may compute it anew.
    return {node for node in found if node.op != "reduce" or node.args[0] in found or not _is_elementwise(node.args[0])}


def _is_elementwise(node: Argument) -> bool:
    return isinstance(node, Node) and node.kind is NodeKind.CALL and REGISTRY[node.op].kind is OpKind.ELEMENTWISE


def _is_short(graph: Graph, node: Node) -> bool:
    (x,) = node.args
    if not isinstance(x, Node) or x.array_type.ndim != 2 or node.params["axes"] != (0,) or node.params["keepdims"]:
        return False
    ufunc, size, dtype = node.params["ufunc"], x.array_type.shape[0], x.array_type.dtype
    if type(size) is not int or not 2 <= size <= ONE_BY_ONE or "initial" in node.params:
        return False
    if reduce_dtypes(ufunc, dtype, node.params.get("dtype")) != (dtype, dtype):
        return False
    if dtype.kind in "iu":
        return ufunc in _IN_ORDER or ufunc in _EXTREMES
    if dtype.char not in "fd":  # NB: of float16 NumPy adds up in float32
        return False
    return ufunc in _IN_ORDER or (ufunc in _EXTREMES and _is_packed(x) and not _may_be_one(graph, x))


def _may_be_one(graph: Graph, x: Node) -> bool:
    """Whether only the run knows if there is one column, of which the program would decline."""
    size = x.array_type.shape[1]
    return is_open(size) and not graph.facts.decide(make("ne", size, 1))


@functools.cache
def begins_with_zero(char: str) -> bool:
    """Whether this NumPy's sums begin with 0.0, which makes 0.0 of -0.0, and not with the first row."""
    return not np.signbit(np.add.reduce(np.full((2, 2), -0.0, char), axis=0)).any()


def _is_packed(node: Node) -> bool:
    """Whether an array with two axes surely lies in C order."""
    if node.op in ("empty", "zeros", "full"):
        return node.params.get("order") == "C"
    if not _is_elementwise(node) or node.params:
        return False
    arrays = [arg for arg in node.args if isinstance(arg, Node) and arg.array_type.ndim]
    return bool(arrays) and all(arg.array_type.shape == node.array_type.shape and _is_packed(arg) for arg in arrays)


def _has_rows(node: Node) -> bool:
    """Whether an elementwise node is as well computed row by row."""
    if not _is_elementwise(node) or node.params or isinstance(node.type, tuple) or looks_at_layout(node):
        return False
    (size, _) = shape if len(shape := node.array_type.shape) == 2 else (None, None)
    arrays = [arg.array_type.shape for arg in node.args if isinstance(arg, Node)]
    return type(size) is int and all(len(shape) < 2 or shape[0] in (1, size) for shape in arrays)


def _rows(graph: Graph, x: Node, rows: dict[Node, list[Node]]) -> list[Node]:
    """The rows of `x`, as they were computed or as views of it."""
    if x in rows:
        return rows[x]
    size, length = x.array_type.shape
    assert isinstance(size, int)
    type_, whole = ArrayType(x.array_type.dtype, (length,)), (None, None, None)
    indices = ({"index": (number, whole), "scalar": False} for number in range(size))
    return [graph.add_call("basic_index", (x,), index, type_, x.location) for index in indices]


def _elementwise_rows(graph: Graph, node: Node, rows: dict[Node, list[Node]]) -> list[Node]:
    size, length = node.array_type.shape
    assert isinstance(size, int)
    type_ = ArrayType(node.array_type.dtype, (length,))
    operands = [
        _rows(graph, arg, rows) if isinstance(arg, Node) and arg.array_type.ndim == 2 else [arg] for arg in node.args
    ]
    return [
        graph.add_call(node.op, tuple(each[number % len(each)] for each in operands), {}, type_, node.location)
        for number in range(size)
    ]


def _folded(graph: Graph, node: Node, rows: list[Node]) -> Node:
    ufunc, char = node.params["ufunc"], node.array_type.dtype.char
    starts: list[Argument] = [0.0] if ufunc is np.add and char in "fd" and begins_with_zero(char) else []
    result, *others = starts + rows
    for row in others:
        result = graph.add_call((_IN_ORDER | _EXTREMES)[ufunc], (result, row), {}, node.array_type, node.location)
    assert isinstance(result, Node)
    return result
