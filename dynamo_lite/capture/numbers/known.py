"""What the number is that a NumPy scalar holds, where it follows from numbers that are known: ``np.prod(x.shape)``.

Enters: the result of an operator or of a call of NumPy, with its operands. Leaves: ``number``, ``whole`` or ``real`` of
its ArrayValue, an expression of the numbers of this call, from which sizes may be made and relations decided.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar, rounded_to_int, square_root
from dynamo_lite.capture.value import ArrayValue, SequenceValue, Value
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY
from dynamo_lite.graph.rewrite import map_scalars, written
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make
from dynamo_lite.graph.types import MAX_DIMS, ArrayType


def note_real(machine: Machine, result: Value, op: str, lhs: Value, rhs: Value) -> None:
    """Note which float the result is, where those of both operands are known."""
    if not isinstance(result, ArrayValue) or result.node.type != ArrayType(np.dtype(np.float64), (), True):
        return
    a, b = _as_real(lhs), _as_real(rhs)
    if a is None or b is None or not is_symbolic(make("add", a, b)) or any(map(machine.tracer.varies, (a, b))):
        return
    if op in ("+", "-", "*") or (op == "/" and machine.tracer.relate(ScalarOp("ne", "bool", (b, 0.0)))):
        result.real = make({"+": "add", "-": "sub", "*": "mul", "/": "truediv"}[op], a, b)


def _as_real(value: Value) -> Scalar | None:
    """The float that a number is, as float64 takes it, if it is known; NumPy rounds an int before it computes."""
    known: Scalar | None = as_scalar(value)
    if isinstance(value, ArrayValue):
        known = next((one for one in (value.real, value.number, value.whole) if one is not None), None)
    if known is None or kind_of(known) not in ("int", "float"):
        return None
    return known if kind_of(known) == "float" else make("mul", known, 1.0)


def note_int(result: Value, op: str | None, lhs: Value, rhs: Value) -> Value:
    """`result`, with its number where those of both operands are known."""
    a, b = known_number(lhs), known_number(rhs)
    if isinstance(result, ArrayValue) and op is not None and a is not None and b is not None:
        result.number = make(op, a, b)
    return result


def known_number(value: Value) -> Scalar | None:
    """The integer that a Python int or an integer NumPy scalar is known to be."""
    if isinstance(value, ArrayValue):
        return value.number
    scalar = as_scalar(value)
    return scalar if scalar is not None and kind_of(scalar) == "int" else None


_ROUNDINGS: dict[Any, str] = {
    np.floor: "down",
    np.trunc: "down",  # of numbers that are not negative
    np.ceil: "up",
    **dict.fromkeys((np.rint, np.round, np.around), "even"),
}


_FOLDS: dict[Any, tuple[str, int]] = {np.sum: ("add", 0), np.prod: ("mul", 1)}


def note(machine: Machine, target: Any, args: list[Value], kwargs: dict[str, Value], result: Value) -> None:
    """Note which number the result of a call of `target` is, where those of its operands are known."""
    if not isinstance(result, ArrayValue) or len(args) != 1:
        return
    given = machine.realised(args[0])
    if target is np.intp:
        result.number = known_number(given)
        if result.number is None and isinstance(given, ArrayValue):
            result.number = given.whole
    if target in (*_ROUNDINGS, np.sqrt):
        scalar = _known_real(given)
        if scalar is not None and is_symbolic(scalar) and not machine.tracer.varies(scalar):
            if target is np.sqrt:
                result.real = square_root(machine.tracer, scalar)
            else:
                result.whole = rounded_to_int(machine.tracer, scalar, _ROUNDINGS[target])
    if target in _FOLDS and not kwargs:
        result.number = _fold_of_ints(machine, result, _FOLDS[target], given)


def _fold_of_ints(machine: Machine, result: ArrayValue, fold: tuple[str, int], given: Value) -> Scalar | None:
    """The int that the sum or product of a list or tuple of known ints is, ``np.prod(x.shape)`` say; a number that does
    not fit is found where it is evaluated."""
    if not isinstance(given, SequenceValue) or given.filled is not None or result.node.array_type.dtype != np.intp:
        return None
    op, number = fold
    total: Scalar = number
    for item in given.items:
        known = known_number(machine.realised(item))
        if known is None or kind_of(known) != "int" or machine.tracer.varies(known):
            return None
        total = make(op, total, known)
        if type(total) is int and not -(2**63) <= total < 2**63:  # NumPy's wraps around
            return None
    return total


def _known_real(value: Value) -> Scalar | None:
    """The number that a Python number or a floating NumPy scalar is known to be."""
    return value.real if isinstance(value, ArrayValue) else as_scalar(value)


def read_before(graph: Graph, element: Node) -> Symbol | None:
    """The number that was read out of this element, or of the same one with no store between the two reads.

    NB: an element is read where it is indexed, its number maybe later, behind a store.
    """
    nodes = graph.nodes
    numbers: dict[Any, Symbol] = {n.args[0]: n.params["yields"][0] for n in nodes if n.op == "scalar_number"}
    if element in numbers or element.op != "basic_index" or element not in nodes:
        return numbers.get(element)

    def key(node: Node) -> Any:
        return node.args, repr(node.params), node.type

    for node in reversed(nodes[: nodes.index(element)]):
        if node.kind is not NodeKind.CALL:
            return None  # it may have been written
        if node.op == "basic_index" and node in numbers and key(node) == key(element):
            return numbers[node]
    return None


_OF_INTS = frozenset(("array_of", "argsort", "arange", "concatenate", "copy", "roll", "basic_index", "add", "subtract"))
_WRITERS = (NodeKind.STORE, NodeKind.LOOP, NodeKind.COND)
_SHORT = frozenset((size,) for size in range(MAX_DIMS + 1))
_DEEP = 8  # calls that are made of one another


def ints_of(graph: Graph, node: Node) -> tuple[int, ...] | None:
    """The ints of a vector of axes, say, that `graph` computes from constants alone: ``np.argsort((1, 0))``."""
    if node not in graph.nodes or node.array_type.shape not in _SHORT:
        return None
    changed = {origin for one in graph.nodes if one.kind in _WRITERS for origin in written(one)}
    made = _computed(node, changed, _DEEP)
    if made is None or made.dtype.kind not in "iu" or made.shape not in _SHORT:
        return None
    return tuple(int(one) for one in made)


def _computed(node: Node, changed: set[Node], depth: int) -> Any:
    """What a node is that is made of constants, as long as nobody may have changed anything of it."""
    if node in changed or not depth:
        return None
    if node.kind is NodeKind.CONSTANT:
        return node.params["value"]
    if node.kind is not NodeKind.CALL or node.op not in _OF_INTS or node.array_type.shape not in {(), *_SHORT}:
        return None
    args = [_computed(arg, changed, depth - 1) if isinstance(arg, Node) else arg for arg in node.args]
    if any(arg is None or is_symbolic(arg) for arg in args) or has_symbols(node.params):
        return None
    return REGISTRY[node.op].evaluate(tuple(args), node.params)


def has_symbols(params: dict[str, Any]) -> bool:
    """Whether a number of the run stands among params, also inside tuples."""
    found: list[Scalar] = []

    def note(scalar: Scalar) -> Scalar:
        found.append(scalar)
        return scalar

    map_scalars(tuple(params.values()), note)
    return bool(found)
