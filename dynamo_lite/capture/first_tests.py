"""The first test of a `while`, where data decides it.

Enters the jump in front of the loop, and the condition that a graph would break at: behind the break all that the loop
works on comes from outside, lists that the function has made too. Leaves whether the loop is entered in this call; the
program is then taken to enter it, and declines where it does not. INVARIANT: what comes before the test is little, so
that it costs little to compute it again plainly, and has no effect, so that it may be computed here too, by NumPy.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.capture.arms import BY_TRUTH
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.scalar import Scalar
from dynamo_lite.policy import ARMS
from dynamo_lite.pycode import Code, handlers_at, remembered

_LONGEST_TEST = 40  # instructions
_PURE = frozenset((OpKind.ELEMENTWISE, OpKind.VIEW, OpKind.REDUCTION, OpKind.CREATION))


@remembered
def entering_way(code: Code, place: int) -> bool | None:
    """The truth for which the jump at `place` goes on to a loop, all of whose first test leads past it otherwise; None
    where it is no such jump."""
    jump = code.instrs[place]
    if jump.op not in BY_TRUTH or jump.target is None or jump.target <= place or handlers_at(code, place) is not None:
        return None
    for index in range(place + 1, min(place + 1 + _LONGEST_TEST, jump.target)):
        if _is_header(code, index):
            return jump.op == "POP_JUMP_IF_FALSE"
        instr = code.instrs[index]
        if instr.target is not None and (instr.op not in BY_TRUTH or instr.target != jump.target):
            return None
    return None


def _is_header(code: Code, index: int) -> bool:
    return any(instr.target == index for instr in code.instrs[index:])


def enters(tracer: Tracer, condition: Node | Scalar) -> bool | None:
    """The truth of a condition in this call; None where it is not to be computed here."""
    graph = tracer.root
    if tracer.in_loop or tracer.peeling or tracer.depth or sum(map(_is_call, graph.nodes)) > ARMS.before_loop:
        return None
    if not all(map(_may_run_here, graph.nodes)) or any(map(_is_big, tracer.example_inputs)):
        return None
    outputs, graph.outputs = graph.outputs, [condition]
    try:
        with np.errstate(all="ignore"):
            return bool(interpret(graph, tracer.example_inputs)[0])
    except (ArithmeticError, LookupError, ValueError):
        return None  # what plain Python raises as well
    finally:
        graph.outputs = outputs


def _is_call(node: Node) -> bool:
    return node.kind is NodeKind.CALL


def _may_run_here(node: Node) -> bool:
    if node.kind is not NodeKind.CALL:
        return node.kind in (NodeKind.INPUT, NodeKind.CONSTANT)
    op = REGISTRY[node.op]
    is_pure = op.kind in _PURE or op.ufunc is not None or op.name == "tuple_get" or op.name.startswith("scalar_")
    return is_pure and not op.in_place


def _is_big(example: object) -> bool:
    return isinstance(example, np.ndarray) and example.size > ARMS.elements


__all__ = ["entering_way", "enters"]
