"""A `while` is tested at its top, where it begins, and at its bottom, where it goes on.

Enters: a ``Code``. Leaves: one that does the same, in which no `while` goes back to its test. Up to 3.13 CPython
compiles it so; from 3.14 each round begins with the test, so that the body has no place of its own at which all that
the test says holds. Capture and watching see this shape alone. INVARIANT: rotated code stays as it is, also after
encode and decode.

    5  LOAD_FAST n                        5  LOAD_FAST n
    6  POP_JUMP_IF_FALSE -> 9             6  POP_JUMP_IF_FALSE -> 11
    7  (body)                 becomes     7  (body)
    8  JUMP -> 5                          8  LOAD_FAST n
    9  ...                                9  POP_JUMP_IF_FALSE -> 11
                                         10  JUMP -> 7
                                         11  ...
"""

from __future__ import annotations

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import Code, ExceptionEntry, Instr
from dynamo_lite.pycode.flow import natural_loop, successors
from dynamo_lite.pycode.opcodes import INVERSE_CONDITIONS, OPCODES
from dynamo_lite.pycode.version import FACTS


def rotated(code: Code) -> Code:
    """`code` with the tests of its `while` loops at their bottom, too."""
    if FACTS.test_at_bottom:
        return code
    headers = {instr.target for index, instr in enumerate(code.instrs) if _goes_back(instr, index)}
    for header in sorted((one for one in headers if one is not None), reverse=True):
        test = _test(code, header)
        if test is not None:
            code = _with_copy(code, header, *test)
    return code


def _goes_back(instr: Instr, index: int) -> bool:
    return instr.op == "JUMP" and instr.target is not None and instr.target <= index


def _test(code: Code, header: int) -> tuple[int, list[int]] | None:
    """The last instruction of the test at `header`, and the back edges. None where there is no test, or one at the
    bottom already: there the loop goes back from the line of its test, which stands above its body."""
    instrs = code.instrs
    line = instrs[header].position[0]
    loop = natural_loop(code, header, True)
    edges = [index for index in sorted(loop) if index >= header and instrs[index].target == header]
    if not edges or line is None or any(instrs[index].op != "JUMP" for index in edges):
        return None
    came_from = instrs[edges[-1]].position[0]
    if came_from is not None and came_from < line:
        return None
    end = None
    for index in range(header, edges[0]):
        instr = instrs[index]
        if instr.position[0] != line or (index not in loop and instr.op != "JUMP") or instr.op == "FOR_ITER":
            break
        if instr.op in INVERSE_CONDITIONS and any(after not in loop for after in successors(code, index)):
            end = index
        elif OPCODES[instr.op].ends and instr.op != "JUMP":
            break
    if end is None or all(instr.position[0] == line for instr in instrs[end + 1 : edges[-1]]):
        return None  # nor where all stands in one line: each way back is an event for a tracer
    return end, edges


def _with_copy(code: Code, header: int, end: int, edges: list[int]) -> Code:
    """`code` with a copy of the test, instructions `header` to `end`, in place of the last of `edges`."""
    instrs, last = code.instrs, edges[-1]
    onwards = end + 1
    if instrs[onwards].op == "JUMP":  # to where the loop ends; the body follows
        onwards = instrs[onwards].target or 0
    out: list[Instr] = []
    labels: list[int | None] = []  # the old instruction that a jump leads to
    copied: dict[int, int] = {}  # an instruction of the test -> its copy
    inner: dict[int, int] = {}  # a jump of the copy -> the instruction of the test that it leads to
    origin: list[int] = []
    start: list[int] = []

    def emit(instr: Instr, index: int, label: int | None) -> None:
        out.append(instr)
        origin.append(index)
        labels.append(label)

    for index, instr in enumerate(instrs):
        start.append(len(out))
        if index != last:
            emit(instr, index, last if index in edges else instr.target)
            continue
        for at in range(header, end + 1):
            test = instrs[at]
            copied[at] = len(out)
            if test.target is None or test.target > last:
                emit(test, at, test.target)
            elif header <= test.target <= end:
                inner[len(out)] = test.target
                emit(test, at, test.target)
            elif test.op == "JUMP":
                emit(test, at, test.target)
            else:  # it would go back: code spells that with a jump of its own
                inner[len(out)] = at + 1
                emit(replace(test, op=INVERSE_CONDITIONS[test.op]), at, at + 1)
                emit(Instr("JUMP", target=0, position=test.position), at, test.target)
        copied[end + 1] = len(out)
        emit(Instr("JUMP", target=0, position=instrs[end].position), end, onwards)
    start.append(len(out))
    placed = tuple(
        instr if label is None else replace(instr, target=copied[inner[index]] if index in inner else start[label])
        for index, (instr, label) in enumerate(zip(out, labels, strict=True))
    )
    return replace(code, instrs=placed, exceptions=_exceptions(code, origin, start))


def _exceptions(code: Code, origin: list[int], start: list[int]) -> tuple[ExceptionEntry, ...]:
    """The exception table, where each new instruction is handled as the old one that it comes from."""
    entries: list[ExceptionEntry | None] = [None] * len(code.instrs)
    for entry in code.exceptions:
        entries[entry.start : entry.end] = [entry] * (entry.end - entry.start)
    found: list[ExceptionEntry] = []
    begin = 0
    for index in range(1, len(origin) + 1):
        known = entries[origin[begin]]
        if index == len(origin) or entries[origin[index]] is not known:
            if known is not None:
                found.append(replace(known, start=begin, end=index, target=start[known.target]))
            begin = index
    return tuple(found)


__all__ = ["rotated"]
