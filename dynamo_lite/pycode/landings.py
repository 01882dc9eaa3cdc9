"""Where plain code that begins with what breaks the graph may hand over again: in front of a statement after it.

Enters: the Code of a resume function. Leaves: places, which polls.py asks as it asks at the back edges of loops. In
front of a statement the stack holds what leaves the `with` blocks around it and the iterators of the loops, and nothing
else, so that another resume function can begin there.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite.pycode.code import Code, leaves_with, remembered
from dynamo_lite.pycode.flow import reached, stack_depth, successors
from dynamo_lite.pycode.polls import Landing, loops, statement_depth

_COMPUTES = frozenset(("CALL_KW", "CALL_FUNCTION_EX", "BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_OP", "COMPARE_OP"))


def landings(code: Code, begin: int, end_of_plain: Callable[[Code, int], int | None]) -> list[Landing]:
    """The first places to which what begins at instruction `begin` comes, and behind which there is something to
    compute. end_of_plain: where a statement ends that is to run first, as it computes nothing; None for any other."""
    depths, headers = stack_depth(code), {loop.header for loop in loops(code)}
    found: list[Landing] = []
    seen: set[int] = set()
    work = [begin]
    while work:
        index = work.pop()
        if index in seen:
            continue
        seen.add(index)
        op, depth = code.instrs[index].op, depths[index]
        if index == begin or op in ("JUMP", "NOP") or depth is None or depth != statement_depth(code, index):
            work += [after for after in successors(code, index) if after > index]
        elif (end := end_of_plain(code, index)) is not None:
            work.append(end)
        elif _computes(code, index):
            found.append(Landing(index, depth, index in headers))
    return found


@remembered
def _computing(code: Code) -> frozenset[int]:
    """The instructions that may compute something: all calls but those that leave a `with`."""
    instrs, found = code.instrs, set()
    for index, instr in enumerate(instrs):
        if instr.op in _COMPUTES or (instr.op == "CALL" and not leaves_with(code, index)):
            found.add(index)
    return frozenset(found)


def _computes(code: Code, index: int) -> bool:
    return not _computing(code).isdisjoint(reached(code, index, False))


__all__ = ["landings"]
