"""Checks a graph: everything is defined before its use, types are what the ops infer, stores hit writable memory.

Enters: any graph, from capture or after a pass. Leaves: nothing, or GraphError naming the node. Types are inferred
again from the graph's own facts alone, so a type that rests on an unguarded relation is an error too.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpError
from dynamo_lite.graph.rewrite import map_scalars, root
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, make
from dynamo_lite.graph.types import ArrayType


class GraphError(Exception):
    """A graph breaks a rule; the text names the node."""


def verify(graph: Graph) -> None:
    """Raise GraphError if `graph` is not well formed."""
    defined: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        for arg in node.args:
            _check_argument(graph, node.name, arg, defined)
        for value in node.params.values():
            map_scalars(value, lambda scalar, node=node: _check_symbols(graph, node.name, scalar))  # type: ignore[misc]
        if node.name in names:
            raise GraphError(f"{node.name}: the name is taken")
        _CHECKS.get(node.kind, _check_nothing)(graph, node)
        names.add(node.name)
        defined.add(node)
    for index, value in enumerate(graph.inputs):
        if isinstance(value, Node) and value not in defined:
            raise GraphError(f"{value.name}: input {index} is not among the nodes")
        if isinstance(value, Symbol) and graph.symbols.get(value.name) is not value:
            raise GraphError(f"{value.name}: input {index} is not among the symbols")
    for output in graph.outputs:
        _check_argument(graph, "return", output, defined)


def _check_argument(graph: Graph, name: str, arg: Argument, defined: set[Node]) -> None:
    if isinstance(arg, Node):
        if arg not in defined:
            raise GraphError(f"{name}: %{arg.name} is used before it is defined")
        if arg.type is None:
            raise GraphError(f"{name}: %{arg.name} has no value")
    else:
        _check_symbols(graph, name, arg)


def _check_symbols(graph: Graph, name: str, value: Scalar) -> None:
    if isinstance(value, Symbol) and graph.symbols.get(value.name) != value:
        raise GraphError(f"{name}: {value} is not a symbol of this graph")
    if isinstance(value, ScalarOp):
        for operand in value.operands:
            _check_symbols(graph, name, operand)


def _check_nothing(graph: Graph, node: Node) -> None:
    pass


def _check_input(graph: Graph, node: Node) -> None:
    index = node.params.get("index")
    if not isinstance(index, int) or not 0 <= index < len(graph.inputs) or graph.inputs[index] is not node:
        raise GraphError(f"{node.name}: it is not input {index} of the graph")
    _check_type(graph, node, node.array_type)


def _check_constant(graph: Graph, node: Node) -> None:
    value = node.params["value"]
    if (value.dtype, value.shape) != (node.array_type.dtype, node.array_type.shape):
        raise GraphError(f"{node.name}: its value is {value.dtype}{value.shape}, its type {node.type}")


def _check_call(graph: Graph, node: Node) -> None:
    op = REGISTRY.get(node.op)
    if op is None:
        raise GraphError(f"{node.name}: there is no op {node.op}")

    def relate(condition: Scalar) -> bool:
        truth = graph.facts.decide(condition)
        if truth is None:
            raise GraphError(f"{node.name}: its type rests on {condition}, which no fact of the graph decides")
        return truth

    try:
        inferred = op.infer(node.args, node.params, relate)
    except OpError as error:
        raise GraphError(f"{node.name}: {error}") from error
    for type_ in node.type if isinstance(node.type, tuple) else (node.type,):
        if type_ is None:
            raise GraphError(f"{node.name}: a call has a type")
        _check_type(graph, node, type_)
    if not same_type(graph, inferred, node.type):
        raise GraphError(f"{node.name}: {node.op} yields {_types(inferred)}, the node says {_types(node.type)}")


def _types(type_: object) -> str:
    return ", ".join(map(str, type_)) if isinstance(type_, tuple) else str(type_)


def same_type(graph: Graph, left: object, right: object) -> bool:
    """Whether two types agree as far as the facts of `graph` tell."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same_type(graph, a, b) for a, b in zip(left, right, strict=True))
    if not isinstance(left, ArrayType) or not isinstance(right, ArrayType):
        return left is right
    return (
        left.dtype == right.dtype
        and left.scalar == right.scalar
        and left.ndim == right.ndim
        and all(graph.facts.decide(make("eq", a, b)) for a, b in zip(left.shape, right.shape, strict=True))
    )


def _check_type(graph: Graph, node: Node, type_: ArrayType) -> None:
    if type_.scalar and type_.shape:
        raise GraphError(f"{node.name}: a NumPy scalar has no axes")
    if not type_.dtype.isnative:
        raise GraphError(f"{node.name}: the byte order of {type_.dtype} is not native")
    for dim in type_.shape:
        _check_symbols(graph, node.name, dim)
        if graph.facts.decide(make("ne", dim, 1)) is None:
            raise GraphError(f"{node.name}: whether its axis {dim} has size 1 is not known")


def _check_store(graph: Graph, node: Node) -> None:
    target, value = node.args
    if not isinstance(target, Node):
        raise GraphError(f"{node.name}: its target is a number")
    origin = root(target)
    if origin.kind not in (NodeKind.INPUT, NodeKind.CALL) or target.array_type.scalar:
        raise GraphError(f"{node.name}: %{target.name} is no array of the graph's inputs or its own")
    shape = value.array_type.shape if isinstance(value, Node) else ()
    room = target.array_type.shape
    if any(size != 1 for size in shape[: max(0, len(shape) - len(room))]):
        raise GraphError(f"{node.name}: the value has more axes than the target")
    for size, space in zip(reversed(shape), reversed(room), strict=False):
        if size != 1 and not graph.facts.decide(make("eq", size, space)):
            raise GraphError(f"{node.name}: {size} elements do not fit an axis of {space}")


_CHECKS = {
    NodeKind.INPUT: _check_input,
    NodeKind.CONSTANT: _check_constant,
    NodeKind.CALL: _check_call,
    NodeKind.STORE: _check_store,
}
