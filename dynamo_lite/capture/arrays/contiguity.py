"""Whether an array lies packed in C (or F) order: by how it was made, or by a guard.

Enters an array of the graph. Leaves True or False, decided for this call and guarded; None where nothing is known, say
of an array that a loop carries. Strides are counted in elements; those of an array that the program makes in C order
are products of its sizes, those of a view of it come from the index.
"""

from __future__ import annotations

from dynamo_lite import ops
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import Dim, Scalar, make
from dynamo_lite.ops.registry import OpKind

_IN_ORDER = frozenset(("empty", "zeros", "full", "copy", "astype"))  # of params order
_IN_C_ORDER = frozenset(("arange", "array_of", "eye", "ravel"))
_DEEPEST = 12  # of views and operations on the way


def is_packed(tracer: Tracer, node: Node, order: str) -> bool | None:
    """Whether `node` lies packed in `order`, "C" or "F"; one more guard where it is an array from outside."""
    shape = node.array_type.shape
    if not all(_holds(tracer, make("ge", size, 1)) for size in shape):
        return None
    strides = _strides(tracer, node, _DEEPEST)
    if strides is None:
        if not _is_outside(tracer, node):
            return None
        flag = "C_CONTIGUOUS" if order == "C" else "F_CONTIGUOUS"
        index = node.params["index"]
        found = bool(tracer.example_inputs[index].flags[flag])
        tracer.facts.state("packed", tracer.inputs[index], "CF".index(order), int(found))
        return found
    return _are_packed(tracer, shape, strides, order)


def _is_outside(tracer: Tracer, node: Node) -> bool:
    return node.kind is NodeKind.INPUT and node in tracer.root.inputs


def _are_packed(tracer: Tracer, shape: tuple[Dim, ...], strides: list[Scalar], order: str) -> bool | None:
    expected: Scalar = 1
    pairs = list(zip(shape, strides, strict=True))
    for size, stride in pairs if order == "F" else reversed(pairs):
        if size == 1:
            continue
        if stride != expected:
            same = make("eq", stride, expected)
            if tracer.varies(same):
                return None
            if not tracer.relate(same):
                return False
        expected = make("mul", expected, size)
    return True


def _holds(tracer: Tracer, condition: Scalar) -> bool:
    return not tracer.varies(condition) and tracer.relate(condition)


def _in_c_order(shape: tuple[Dim, ...]) -> list[Scalar]:
    strides: list[Scalar] = []
    stride: Scalar = 1
    for size in reversed(shape):
        strides.append(stride)
        stride = make("mul", stride, size)
    return strides[::-1]


def _strides(tracer: Tracer, node: Node, depth: int) -> list[Scalar] | None:
    """How many elements lie between two neighbours along each axis; None where that is not known."""
    shape = node.array_type.shape
    if _is_outside(tracer, node):
        example = tracer.example_inputs[node.params["index"]]
        if not example.flags.c_contiguous:
            return None
        tracer.facts.state("packed", tracer.inputs[node.params["index"]], 0, 1)
        return _in_c_order(shape)
    if node.kind is not NodeKind.CALL or node.array_type.scalar or depth == 0:
        return None
    order = node.params.get("order", "K")
    if node.op in _IN_ORDER and order != "K":  # else as its operand lies
        return _in_c_order(shape) if order == "C" else None
    if node.op in _IN_C_ORDER and node.params.get("order", "C") == "C":
        return _in_c_order(shape)
    if node.op == "matmul" and all(len(arg.array_type.shape) == 2 for arg in node.args if isinstance(arg, Node)):
        return _in_c_order(shape)
    if ops.REGISTRY[node.op].kind is OpKind.ELEMENTWISE:
        alike = all(_is_like(tracer, arg, shape, depth - 1) for arg in node.args if isinstance(arg, Node))
        return _in_c_order(shape) if alike and any(isinstance(arg, Node) for arg in node.args) else None
    if node.op not in ("basic_index", "transpose", "reshape"):
        return None
    base = node.args[0]
    assert isinstance(base, Node)
    strides = _strides(tracer, base, depth - 1)
    if strides is None:
        return None
    if node.op == "transpose":
        return [strides[axis] for axis in node.params["axes"]]
    if node.op == "reshape":
        packed = _are_packed(tracer, base.array_type.shape, strides, "C")
        return _in_c_order(shape) if packed else None
    return _indexed(node.params["index"], strides)


def _indexed(index: tuple[object, ...], strides: list[Scalar]) -> list[Scalar]:
    """Those of a view; 0 for a new axis."""
    found: list[Scalar] = []
    left = iter(strides)
    for entry in index:
        if entry is None:
            found.append(0)
        elif isinstance(entry, tuple):
            stride, step = next(left), entry[2]
            found.append(stride if step is None else make("mul", stride, step))
        else:
            next(left)
    return found


def _is_like(tracer: Tracer, operand: Node, shape: tuple[Dim, ...], depth: int) -> bool:
    """Whether the result of an operation lies packed in C order, as far as this operand is concerned."""
    own = operand.array_type.shape
    if not own:
        return True
    if own != shape:
        return False
    strides = _strides(tracer, operand, depth)
    return strides is not None and bool(_are_packed(tracer, own, strides, "C"))


__all__ = ["is_packed"]
