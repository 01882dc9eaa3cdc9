"""Which operand NumPy's operators write into, where that shows in the bits.

``z * (w + 1)`` on 256 KiB and more is ``np.multiply(t, z, out=t)`` for the temporary t: numpy/_core/src/multiarray/
temp_elide.c takes the second operand of a commutative operator if it cannot have the first. A product of complex
numbers rounds otherwise with its operands exchanged, since processors fuse the second multiplication with the addition.
So such a product enters the graph in NumPy's order:

    z * (w + 1)     -> multiply(%add, %z)         a guard says that the arrays are that large
    t = w + 1; z*t  -> multiply(%z, %add)         somebody else refers to t
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.value import ArrayValue, CellValue, ConstantValue, SequenceValue, Value
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, make, product

LEAST_BYTES = 256 * 1024


def are_exchanged(machine: Machine, op: str, lhs: Value, rhs: Value) -> bool:
    """Whether NumPy computes `lhs` op `rhs` as `rhs` op `lhs`, and other bits may come of it."""
    if op != "*" or not _is_complex(lhs) or not isinstance(rhs, ArrayValue) or not _is_complex(rhs):
        return False
    if not exchanges() or not _is_temporary(machine, rhs.node):
        return False
    second = rhs.node.array_type
    if isinstance(lhs, ArrayValue):
        first = lhs.node.array_type
        if first.scalar or not np.can_cast(first.dtype, second.dtype, "safe") or first.ndim not in (0, second.ndim):
            return False  # a NumPy scalar's own operator is no place where NumPy looks for temporaries
        if first.ndim and not all(map(machine.tracer.relate, _equalities(lhs.node, rhs.node))):
            return False
        if first.ndim and first.dtype == second.dtype and _is_temporary(machine, lhs.node):
            return False
    least = -(-LEAST_BYTES // second.dtype.itemsize)
    return machine.tracer.relate(make("ge", product(second.shape), least))


def _equalities(one: Node, other: Node) -> Iterable[Scalar]:
    sizes = zip(one.array_type.shape, other.array_type.shape, strict=True)
    return (make("eq", a, b) for a, b in sizes)


def _is_complex(value: Value) -> bool:
    if isinstance(value, ArrayValue):
        return value.node.array_type.dtype.kind == "c"
    return isinstance(value, ConstantValue) and type(value.value) is complex


def _is_temporary(machine: Machine, node: Node) -> bool:
    """Whether the array is new memory to which only the operator refers."""
    if node.kind is not NodeKind.CALL or not node.array_type.ndim or ops.REGISTRY[node.op].kind is ops.OpKind.VIEW:
        return False
    if node.op == "object_array":  # the list has it, too
        return False
    frames = machine.tracer.frames
    places = (value for frame in frames for value in (*frame.locals.values(), *frame.cells.values(), *frame.stack))
    return not any(_refers(value, node) for value in places)


def _refers(value: Value, node: Node) -> bool:
    match value:
        case ArrayValue():
            return value.node is node
        case SequenceValue():
            return any(_refers(item, node) for item in value.items)
        case CellValue():
            return value.contents is not None and _refers(value.contents, node)
    return False


@functools.cache
def exchanges() -> bool:
    """Whether this NumPy does so, and this processor's products differ."""
    z = np.exp(1j * np.linspace(0.0, 7.0, LEAST_BYTES // 16))
    w = z * 1.3
    own, exchanged = np.multiply(z, w), np.multiply(w, z)
    return not np.array_equal(own, exchanged) and np.array_equal(z * (w + 0.0), exchanged)
