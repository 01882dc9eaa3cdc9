"""Guesses whether a schedule beats plain NumPy, from the memory both move and the calls both make.

Enters the lowered graph, its Schedule and example inputs; raises DoesNotPay when no gain is in sight, so that plain
Python runs instead. Times are rough, in nanoseconds, for one core; only their ratio counts, and both sides are
charged alike for what both do (a NumPy loop's own time, a matmul).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import symbol_values
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.scalar import Number, evaluate
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.call import Evaluation
from dynamo_lite.schedule.steps import Alloc, Call, Map, Reduce, Schedule

NUMPY_CALL = 400.0  # of one NumPy operation from Python: dispatch, result object, bytecode
NUMPY_VIEW = 150.0
NUMPY_SCALAR = 60.0  # of one operator between NumPy scalars
CALL = 400.0  # of a Call step, NumPy's own overhead included; of a scalar's operator; through an op's evaluate
SCALAR_CALL = 130.0
EVALUATION = 1500.0
PROGRAM = 100.0  # guards and the launch of one program
STEP = 40.0
NS_PER_BYTE = 0.03  # through the caches; a fresh array costs twice that (page faults)
LOOP_NS = 1.0  # an element through a typical loop of exp, log, power ... in NumPy or on a tile
MATMUL_NS = 0.05  # per multiply-add
WORTHWHILE = 1.02
_SIMPLE = frozenset(  # as fast as memory, in NumPy and in kernels
    (
        *("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "reciprocal"),
        *("positive", "conjugate", "where", "astype", "copy", "equal", "not_equal", "less", "less_equal"),
        *("greater", "greater_equal", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and"),
        *("bitwise_or", "bitwise_xor", "invert", "maximum", "minimum", "floor", "ceil", "trunc", "rint", "isnan"),
        *("isinf", "isfinite", "signbit", "copysign", "sign", "tuple_get"),
    )
)


class DoesNotPay(Exception):
    """The schedule is not expected to beat plain NumPy; the text says why."""


def require_gain(graph: Graph, schedule: Schedule, example_inputs: Sequence[Any]) -> None:
    """Raise DoesNotPay unless the schedule is expected to be faster than NumPy at the size of the example."""
    env = symbol_values(graph, example_inputs)
    shared = sum(_own_time(node, env) for node in graph.nodes)
    plain = shared + sum(_numpy_time(node, env) for node in graph.nodes)
    native = shared + PROGRAM + _native_time(schedule, env)
    if plain < native * WORTHWHILE:
        raise DoesNotPay(f"about {native / 1e3:.3g} us compiled against {plain / 1e3:.3g} us by NumPy")


def _count(shape: Sequence[Any], env: Mapping[str, Number]) -> float:
    sizes: list[Any] = [evaluate(dim, env) for dim in shape]
    return float(prod(sizes))


def _bytes(type_: ArrayType, env: Mapping[str, Number]) -> float:
    return _count(type_.shape, env) * type_.dtype.itemsize


def _types(node: Node) -> list[ArrayType]:
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    return [type_ for type_ in types if type_ is not None]


def _own_time(node: Node, env: Mapping[str, Number]) -> float:
    """What a node takes wherever it runs: the arithmetic, and all of an opaque call."""
    if node.kind is not NodeKind.CALL or node.op in _SIMPLE:
        return 0.0
    op = REGISTRY[node.op]
    operands = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    if op.kind is OpKind.ELEMENTWISE:
        return LOOP_NS * _count(_types(node)[0].shape, env)
    if op.kind is not OpKind.CALL:
        return 0.0
    traffic = NS_PER_BYTE * sum(_bytes(type_, env) for type_ in (*operands, *_types(node)))
    if node.op in ("matmul", "dot", "inner", "einsum") and operands and operands[0].shape:
        work = _count(_types(node)[0].shape, env) * _count(operands[0].shape[-1:], env)
        return traffic + MATMUL_NS * work
    return traffic + LOOP_NS * sum(_count(type_.shape, env) for type_ in (*operands, *_types(node)))


def _numpy_time(node: Node, env: Mapping[str, Number]) -> float:
    """What plain NumPy takes for a node besides: the call, and memory traffic."""
    if node.kind is NodeKind.STORE:
        target = node.args[0]
        assert isinstance(target, Node)
        value = node.args[1]
        traffic = 2 * _bytes(target.array_type, env) if isinstance(value, Node) else _bytes(target.array_type, env)
        return NUMPY_CALL + NS_PER_BYTE * traffic
    if node.kind is not NodeKind.CALL or node.op == "tuple_get":
        return 0.0
    kind = REGISTRY[node.op].kind
    if kind is OpKind.VIEW:
        return NUMPY_VIEW
    if kind is OpKind.CALL:
        return NUMPY_SCALAR if node.op.startswith("scalar_") else NUMPY_CALL
    read = sum(_bytes(arg.array_type, env) for arg in node.args if isinstance(arg, Node))
    made = sum(_bytes(type_, env) for type_ in _types(node))
    return NUMPY_CALL + NS_PER_BYTE * (read + 2 * made)


def _is_opaque(step: Call) -> bool:
    """Whether the call is of an op that both sides are charged alike for."""
    op = step.function.op if isinstance(step.function, Evaluation) else REGISTRY.get(step.function.__name__)
    return op is None or op.kind is OpKind.CALL


def _native_time(schedule: Schedule, env: Mapping[str, Number]) -> float:
    time = 0.0
    for step in schedule.steps:
        time += STEP
        if isinstance(step, Map | Reduce):
            count = _count(step.shape, env)
            read = sum(dtype.itemsize for dtype in step.kernel.operand_dtypes)
            time += NS_PER_BYTE * count * read
            dtypes = [*step.kernel.operand_dtypes, *(dtype for op in step.kernel.ops for dtype in op.dtypes)]
            if isinstance(step, Map):
                for value, into in zip(step.kernel.results, step.into, strict=True):
                    time += NS_PER_BYTE * count * dtypes[value].itemsize * (1 if into else 2)
        elif isinstance(step, Call):
            made = 0.0 if _is_opaque(step) else sum(_bytes(type_, env) for type_ in step.types)
            scalar = type(step.function) is type(operator.add)
            evaluated = isinstance(step.function, Evaluation)
            time += EVALUATION if evaluated else SCALAR_CALL if scalar else CALL
            time += NS_PER_BYTE * 3 * made
        elif isinstance(step, Alloc):
            time += NUMPY_CALL / 4
    return time
