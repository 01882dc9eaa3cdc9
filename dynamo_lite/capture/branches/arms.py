"""Which branches on data outside of loops may stay in the graph, by the code and by the arrays of their arms.

Enters a jump, or the two traced arms. Leaves whether they may be one node. The thresholds are policy.Arms.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_lite.capture.loops.code import joins, while_loops
from dynamo_lite.capture.state import NUMPY, Region, Tracer
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, is_symbolic, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.policy import ARMS
from dynamo_lite.pycode import Code, handlers_at, remembered
from dynamo_lite.pycode.flow import following, natural_loop

_STAYS_OUT = frozenset(
    ("FOR_ITER", "SEND", "YIELD_VALUE", "RETURN_GENERATOR", "GET_ITER", "BEFORE_WITH", "BEFORE_WITH_SELF")
)

BY_TRUTH = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_LONGEST_RAISE = 60  # instructions
_ENDS = frozenset({"JUMP", "RETURN_VALUE", "YIELD_VALUE", "RERAISE"})


def declining_way(tracer: Tracer, code: Code, place: int) -> bool | None:
    """The truth for which a program may decline at a jump, as that leads to nothing but a `raise` or `warn`; None where
    it is a jump like any other. In loops that holds of NumPy's own functions: what a user's raises is a way out."""
    if (tracer.in_loop or tracer.peeling) and not code.filename.startswith(NUMPY):
        return None
    return raising_way(code, place)


@remembered
def are_short(code: Code, place: int) -> bool:
    """Whether what may run on either side of a jump, up to where the sides meet, is straight code and not long."""
    instr = code.instrs[place]
    if instr.target is None or handlers_at(code, place) is not None:
        return False
    if any(place in loop for loop in while_loops(code).values()):
        return False  # which better stays a loop, as it may behind a break in its first round
    join = joins(code, frozenset(range(len(code.instrs))), -1)[place]
    heads = _heads_around(code, place)  # of loops that the ways may go on with
    one, other = (_arm(code, begin, join, heads) for begin in (place + 1, instr.target))
    if one is None or other is None:
        return False
    lengths = sorted((len(one - other), len(other - one)))
    return lengths[0] <= ARMS.shorter and len(one | other) <= ARMS.together


@remembered
def loops_around(code: Code, place: int) -> int:
    """In how many `for` loops an instruction is."""
    return len(_heads_around(code, place))


def _heads_around(code: Code, place: int) -> frozenset[int]:
    heads = (at for at, instr in enumerate(code.instrs) if instr.op == "FOR_ITER")
    return frozenset(at for at in heads if place in natural_loop(code, at, False))


def _arm(code: Code, begin: int, join: int | None, heads: frozenset[int]) -> set[int] | None:
    """The instructions from one on up to another; None where there is a loop but those that have these heads, a handler
    or the like."""
    found: set[int] = set()
    work, behind = [begin], following(code)
    while work:
        index = work.pop()
        if index in found or index == join:
            continue
        found.add(index)
        if (code.instrs[index].op in _STAYS_OUT and index not in heads) or handlers_at(code, index) is not None:
            return None
        back = {after for after in behind[index] if after <= index} - heads
        if back - {join} or len(found) > ARMS.together:
            return None
        work += behind[index]
    return found


def raising_way(code: Code, place: int) -> bool | None:
    """The truth for which a jump leads to instructions that only raise, or warn; None where neither does, or both."""
    jump = code.instrs[place]
    if jump.op not in BY_TRUTH or jump.target is None:
        return None
    behind, target = _only_raises(code, place + 1), _only_raises(code, jump.target)
    return None if behind == target else target == (jump.op == "POP_JUMP_IF_TRUE")


def _only_raises(code: Code, index: int) -> bool:
    """Whether what begins there ends with a `raise` that nothing here handles, whatever happens on the way.

    In NumPy's own functions also whether it comes to a `warn`: of slices without a number, say. The program declines
    there, and plain Python warns, as often as it is told to. A user's function may warn at the end of long work.
    """
    is_numpy = code.filename.startswith(NUMPY)
    for _ in range(_LONGEST_RAISE):
        instr = code.instrs[index]
        if handlers_at(code, index) is not None:
            return False
        if instr.op == "RAISE_VARARGS" or (is_numpy and instr.op in _LOADS and instr.arg == "warn"):
            return True
        if instr.op == "JUMP" and instr.target is not None and instr.target > index:
            index = instr.target
        elif instr.target is not None or instr.op in _ENDS:
            return False
        else:
            index += 1
    return False


def check_sizes(tracer: Tracer, *regions: Region) -> None:
    """Refuse arms that work on big arrays; that others are small is guarded."""
    for region in regions:
        for size in dict.fromkeys(sizes_in(region.graph)):
            limit = make("gt", size, ARMS.elements)
            if tracer.varies(limit) or tracer.relate(limit):
                raise Break("graph-too-large", "an arm with big arrays")


def has_big_arrays(tracer: Tracer, among: Iterable[object]) -> bool:
    """Whether there are arrays `among` some values of the graph that are no longer small in this call."""
    types = (one.type for one in among if isinstance(one, Node) and isinstance(one.type, ArrayType))
    sizes = (_size(type_) for type_ in types)
    return any(tracer.varies(size) or _is_big(tracer.hint(size)) for size in sizes)


def stay_small(tracer: Tracer, among: Iterable[object]) -> bool:
    """Whether the arrays `among` some values of the graph are small, in each call that the guards let in."""
    types = (one.type for one in among if isinstance(one, Node) and isinstance(one.type, ArrayType))
    limits = [make("gt", _size(type_), ARMS.elements) for type_ in types]
    return not any(tracer.varies(limit) or tracer.relate(limit) for limit in limits)


def sizes_in(graph: Graph) -> list[Scalar]:
    """How many elements the arrays have that a graph computes, but for those known to be small."""
    types = (type_ for node in graph.nodes for type_ in (node.type if isinstance(node.type, tuple) else (node.type,)))
    sizes = (_size(type_) for type_ in types if isinstance(type_, ArrayType))
    return [size for size in sizes if is_symbolic(size) or _is_big(size)]


def _size(type_: ArrayType) -> Scalar:
    size: Scalar = 1
    for dim in type_.shape:
        size = make("mul", size, dim)
    return size


def _is_big(size: Scalar) -> bool:
    return isinstance(size, int) and size > ARMS.elements


__all__ = [
    *("BY_TRUTH", "are_short", "check_sizes", "declining_way", "has_big_arrays", "loops_around"),
    *("raising_way", "sizes_in", "stay_small"),
]
