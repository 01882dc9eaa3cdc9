"""Conditions of several parts: where `a <= x < b or c <= x < d` goes on, whichever of its jumps decides.

Enters the two places where a jump goes on; leaves the two where all jumps of the condition go on, if it has more than
one. Traced jump by jump, what follows such a condition would be traced once for each way through it, and a chain of
them that many times over. So a loop with many choices is traced again with each condition as one number, by which the
ways part once (branches.py):

    if a or b: f()        %cond: y0 = cond(a): then returns True, else returns b;  cond(y0): then f()
"""

from __future__ import annotations

from dynamo_lite.capture.loops.code import CONDITIONAL_JUMPS, followed
from dynamo_lite.pycode import Code, remembered
from dynamo_lite.pycode.flow import stack_depth

_MOST = 40  # jumps of one condition
_NOT_EXPRESSIONS = frozenset(("POP_TOP", "IMPORT_NAME", "LOAD_FAST_AND_CLEAR", "GET_ITER"))
_STATEMENTS = ("STORE_", "DELETE_", "RETURN_", "RAISE", "RERAISE", "YIELD_", "PUSH_EXC", "POP_EXCEPT", "BEFORE_")


@remembered
def ends_of_condition(
    code: Code, loop: frozenset[int], header: int, ahead: tuple[int, int], kept: frozenset[int]
) -> tuple[int, int] | None:
    """Where the smallest condition goes on that begins with a jump to one of `ahead`; None for one of no more parts.

    kept: instructions that have to be reached as they are.
    """
    depths = stack_depth(code)
    places = {followed(code, place) for place in ahead}
    done: set[int] = set()
    while len(places) > 1 and len(done) < _MOST:
        inside = (place for place in sorted(places) if place in loop and place != header)
        parts = ((place, _next_jump(code, loop, place, kept)) for place in inside)
        place, after = next(((place, after) for place, after in parts if after is not None), (None, None))
        if place is None or after is None or after & done:
            return None
        done.add(place)
        places = places - {place} | after
        if len(places) == 2:
            one, other = sorted(places)
            if depths[one] == depths[other]:
                return one, other
    return None


def _next_jump(code: Code, loop: frozenset[int], place: int, kept: frozenset[int]) -> set[int] | None:
    """Where control goes on from `place` after a part of an expression; None if something else is there."""
    index = place
    while index in loop and index not in kept:
        instr = code.instrs[index]
        if instr.op in CONDITIONAL_JUMPS:
            assert instr.target is not None
            return {followed(code, instr.target), followed(code, index + 1)}
        if instr.op == "POP_TOP" and index == place:  # what a chained comparison leaves
            return {followed(code, index + 1)}
        if instr.target is not None or instr.op in _NOT_EXPRESSIONS or instr.op.startswith(_STATEMENTS):
            return None
        index += 1
    return None
