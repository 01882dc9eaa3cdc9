"""Drops what nobody uses and nobody could notice.

Enters a graph that this pass may change; leaves it without unused calls, but for those that may warn or raise:

    %add = add(%x, 1); %less = less(%x, 0); return %x  ->  %add = add(%x, 1); return %x   # it may overflow

INVARIANT: a floating-point error that NumPy would report is still met. Stores stay.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import drop_unused
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops import registry

_INTEGER_REPORTS = frozenset(
    (
        *("floor_divide", "remainder", "divmod", "fmod", "power", "float_power", "reciprocal"),
        *("left_shift", "right_shift", "ldexp", "lcm", "gcd"),
    )
)


def dead_code(graph: Graph) -> None:
    """Remove unused nodes that cannot report anything."""
    drop_unused(graph, may_report)


def may_report(node: Node) -> bool:
    """Whether running `node` could warn or raise; integer arithmetic on arrays wraps silently."""
    if node.op == "tuple_get" or not registry.may_report(node):
        return False
    op = REGISTRY[node.op]
    if op.kind is not OpKind.ELEMENTWISE or node.op in _INTEGER_REPORTS or not isinstance(node.type, ArrayType):
        return True
    operands = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    whole = node.array_type.dtype.kind in "iub" and all(operand.dtype.kind in "iub" for operand in operands)
    return not whole
