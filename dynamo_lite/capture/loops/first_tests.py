"""The tests of a `while` before the loop is traced, where data decides them: the first, and that of a peeled iteration.

Enters the jump, and the condition that a graph would break at: behind the break all that the loop works on comes from
outside, lists that the function has made too. Leaves what the test says in this call; where the loop goes on, and
in a peeled iteration of one around, the program is taken to go that way, and declines where it does not. INVARIANT:
what comes before the test is little, so that it costs little to compute it again plainly, and has no effect, so that it
may be computed here too, by NumPy.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.capture.branches.arms import BY_TRUTH, has_big_arrays, sizes_in
from dynamo_lite.capture.state import Tracer
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY
from dynamo_lite.graph.scalar import Scalar, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.filters import MAY_WARN
from dynamo_lite.policy import ARMS
from dynamo_lite.pycode import Code, handlers_at, remembered

_LONGEST_TEST = 40  # instructions
_TOLD = MAY_WARN | {"error_state"}


@remembered
def entering_way(code: Code, place: int) -> bool | None:
    """The truth for which the jump at `place`, of the test of a `while`, goes on to an iteration and not past the loop;
    None where it is no such jump."""
    jump = code.instrs[place]
    if jump.op not in BY_TRUTH or jump.target is None or handlers_at(code, place) is not None:
        return None
    if jump.target <= place:  # the test at the bottom
        return None if code.instrs[jump.target].op == "FOR_ITER" else jump.op == "POP_JUMP_IF_TRUE"
    for index in range(place + 1, min(place + 1 + _LONGEST_TEST, jump.target)):
        instr = code.instrs[index]
        goes_back = instr.op in BY_TRUTH and instr.target is not None and instr.target <= place
        if goes_back or _is_tested_again(code, place, index):
            return jump.op == "POP_JUMP_IF_FALSE"
        if instr.op == "JUMP" and instr.target is not None and instr.target <= place:  # the test at the bottom, too
            test, header = _words(code, place, index), instr.target
            is_test = test == _words(code, max(0, header - len(test)), header)
            return jump.op == "POP_JUMP_IF_FALSE" if is_test else None
        if instr.target is not None and (instr.op not in BY_TRUTH or instr.target != jump.target):
            return None
    return None


def _is_tested_again(code: Code, place: int, header: int) -> bool:
    """Whether the loop at `header` goes back to it after what stands from `place` on in front of it: an `if` around a
    loop is no test of it."""
    test = _words(code, place, header)
    for index, instr in enumerate(code.instrs[header:], header):
        if instr.target == header and (instr.op in BY_TRUTH or instr.op == "JUMP"):
            end = index + (instr.op in BY_TRUTH)
            if test == _words(code, max(header, end - len(test)), end):
                return True
    return False


def _words(code: Code, begin: int, end: int) -> list[object]:
    """Instructions without the places and senses of their jumps."""
    return [(instr.op in BY_TRUTH, instr.arg) for instr in code.instrs[begin:end]]


def truth_now(tracer: Tracer, condition: Node | Scalar) -> bool | None:
    """The truth of a condition in this call; None where it is not to be computed here."""
    graph = tracer.root
    if tracer.in_loop or tracer.depth or sum(map(_is_call, graph.nodes)) > ARMS.before_loop:
        return None
    if not all(map(_may_run_here, graph.nodes)) or has_big_arrays(tracer, graph.nodes):
        return None
    for size in sizes_in(graph):
        tracer.relate(make("gt", size, ARMS.elements))  # that they are small is guarded
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
    """Whether a node is a function of arrays and numbers of which nobody can tell that it has run: what draws or fills
    lists has an object."""
    if node.kind is not NodeKind.CALL:
        return node.kind in (NodeKind.INPUT, NodeKind.CONSTANT) and not _is_object(node.type)
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    return node.op not in _TOLD and not REGISTRY[node.op].in_place and not any(map(_is_object, types))


def _is_object(type_: object) -> bool:
    return isinstance(type_, ArrayType) and type_.dtype.kind == "O"


__all__ = ["entering_way", "truth_now"]
