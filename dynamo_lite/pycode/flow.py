"""Where control goes from each canonical instruction, and how deep the stack is there.

Enters: a ``Code``. ``stack_depth`` follows every edge with the stack effects of opcodes.py; encode.py takes the
code object's stack size from it, resume.py the number of slots to rebuild. INVARIANT: all paths to an instruction
agree on the depth. NB: loops are found by where control goes, not by where their instructions stand: a compiler may put
a loop behind the back edge of the one around it (3.14 copies the jump of a `continue` or of an end to where it comes
from).
"""

from __future__ import annotations

from collections.abc import Container
from itertools import accumulate

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import Code, ExceptionEntry, UnsupportedCode, handlers_at, remembered
from dynamo_lite.pycode.opcodes import OPCODES
from dynamo_lite.pycode.version import RISES

_RISING = frozenset(op for op, _ in RISES)


@remembered
def following(code: Code) -> list[tuple[int, ...]]:
    """For each instruction those that may run right after it when it raises nothing."""
    found: list[tuple[int, ...]] = []
    for index, instr in enumerate(code.instrs):
        after = () if OPCODES[instr.op].ends else (index + 1,)
        found.append(after if instr.target is None else (*after, instr.target))
    return found


def successors(code: Code, index: int) -> tuple[int, ...]:
    """The instructions that may run right after `index` when it raises nothing."""
    return following(code)[index]


def handler_targets(code: Code) -> list[int | None]:
    """For each instruction the handler that runs when it raises, or None."""
    handlers: list[int | None] = [None] * len(code.instrs)
    for entry in code.exceptions:
        for index in range(entry.start, entry.end):
            handlers[index] = entry.target
    return handlers


@remembered
def predecessors(code: Code, raising: bool) -> tuple[tuple[int, ...], ...]:
    """For each instruction those that it may follow when nothing raises; raising: and what it handles.

    NB: what is remembered is made of tuples of numbers, over which the garbage collector does not go."""
    before: list[tuple[int, ...]] = [()] * len(code.instrs)
    for index, afters in enumerate(_after(code, raising)):
        for after in afters:
            before[after] += (index,)
    return tuple(before)


def reached(code: Code, start: int, raising: bool) -> set[int]:
    """The instructions that may run from `start` on when nothing raises; raising: and in handlers."""
    found: set[int] = set()
    work, after = [start], _after(code, raising)
    while work:
        index = work.pop()
        if index not in found:
            found.add(index)
            work += after[index]
    return found


@remembered
def natural_loop(code: Code, header: int, raising: bool) -> frozenset[int]:
    """The instructions from which `header` is reached again without leaving the loop that it heads, and that follow it
    when nothing raises; raising: and those of handlers."""
    before, after = predecessors(code, raising), _after(code, raising)
    leading = {header}
    work = [index for index in before[header] if index > header]
    while work:
        index = work.pop()
        if index not in leading:
            leading.add(index)
            work += before[index]
    found: set[int] = set()
    work = [header]
    while work:  # NB: what lies on a way from the header to one of them is one of them
        index = work.pop()
        if index in leading and index not in found:
            found.add(index)
            work += after[index]
    return frozenset(found)


@remembered
def _after(code: Code, raising: bool) -> tuple[tuple[int, ...], ...]:
    """For each instruction those that may follow it when nothing raises; raising: and its handler."""
    n = len(code.instrs)
    after = list(following(code))
    if n and n in after[-1]:  # control runs off the end
        after[-1] = tuple(one for one in after[-1] if one < n)
    if raising:
        for entry in code.exceptions:
            for index in range(entry.start, entry.end):
                after[index] += (entry.target,)
    return tuple(after)


@remembered
def reraising(code: Code) -> frozenset[int]:
    """The instructions before which the stack holds the number of the instruction that raised, for RERAISE.

    NB: it is a number within this very code, and from 3.14 no object: nothing but the frame itself can hold it.
    """
    depths, after = stack_depth(code), _after(code, False)
    found: set[int] = set()
    for target, slot in {(entry.target, entry.depth) for entry in code.exceptions if entry.lasti}:
        seen: set[int] = set()
        work = [target]
        while work:
            index = work.pop()
            depth = depths[index]
            if index not in seen and depth is not None and depth > slot:
                seen.add(index)
                work += after[index]
                handler = handlers_at(code, index)
                if handler is not None and handler.depth > slot:
                    work.append(handler.target)
        found |= seen
    return frozenset(found)


@remembered
def hidden(code: Code) -> list[frozenset[str]]:
    """For each instruction, the variables that have cells in this code, or in a comprehension that was compiled into
    it, and whose slots such a comprehension uses there for variables of its own (PEP 709).

    NB: what the slot held lies on the stack meanwhile, a cell or a plain value, and is put back by a store to it.
    """
    found: list[frozenset[str]] = [frozenset()] * len(code.instrs)
    depths, after = stack_depth(code), _after(code, True)
    for begin, instr in enumerate(code.instrs):
        below = depths[begin]
        if instr.op != "LOAD_FAST_AND_CLEAR" or instr.arg not in code.cellvars or below is None:
            continue
        seen: set[int] = set()
        work = [begin + 1]
        while work:
            index = work.pop()
            depth = depths[index]
            if index in seen or depth is None:
                continue
            seen.add(index)
            found[index] |= {instr.arg}
            # Above what is put back lies the comprehension's result, or an exception; in the loop, more than that.
            here = code.instrs[index]
            if not (here.op == "STORE_FAST" and here.arg == instr.arg and depth <= below + 2):
                work += after[index]
    return found


def own_cells(code: Code) -> frozenset[str]:
    """The variables that have cells from the entry on; not those that only a comprehension has as cells of its own."""
    known = zip(code.instrs, hidden(code), strict=True) if code.cellvars else ()
    return frozenset(instr.arg for instr, names in known if instr.op == "MAKE_CELL" and instr.arg not in names)


def cells_named_alike(code: Code) -> tuple[str, ...]:
    """The names of free variables that cells of the code have too: of classes, and of inlined comprehensions."""
    return tuple(name for name in code.freevars if name in code.cellvars)


def async_items(code: Code) -> dict[int, int]:
    """For each END_ASYNC_FOR the END_SEND to which an item of its loop comes: the first range whose StopAsyncIteration
    it handles begins with the loop's GET_ANEXT and SEND."""
    found: dict[int, int] = {}
    for entry in code.exceptions:
        if code.instrs[entry.target].op == "END_ASYNC_FOR" and entry.target not in found:
            sends = (instr.target for instr in code.instrs[entry.start :] if instr.op == "SEND")
            target = next(sends, None)
            if target is not None and code.instrs[target].op == "END_SEND":
                found[entry.target] = target
    return found


def stack_depth(code: Code) -> list[int | None]:
    """The number of stack slots in use before each instruction; None where no path from the entry leads."""
    return _walk(code)[0]


def stack_size(code: Code) -> int:
    """The most stack slots in use at any point: co_stacksize."""
    return _walk(code)[1]


def remove(code: Code, indices: Container[int]) -> Code:
    """`code` without these instructions; what led to one leads to the next that stays."""
    keep = [index not in indices for index in range(len(code.instrs))]
    new = [0, *accumulate(keep)]
    entries = (
        ExceptionEntry(new[entry.start], new[entry.end], new[entry.target], entry.depth, entry.lasti)
        for entry in code.exceptions
    )
    return replace(
        code,
        instrs=tuple(
            instr if instr.target is None else replace(instr, target=new[instr.target])
            for instr, stays in zip(code.instrs, keep, strict=True)
            if stays
        ),
        exceptions=tuple(entry for entry in entries if entry.start < entry.end),
    )


def prune(code: Code) -> Code:
    """`code` without the instructions that no path from the entry reaches."""
    return remove(code, {index for index, depth in enumerate(stack_depth(code)) if depth is None})


@remembered
def _walk(code: Code) -> tuple[list[int | None], int]:
    instrs = code.instrs
    depths: list[int | None] = [None] * len(instrs)
    handlers: list[tuple[int, int] | None] = [None] * len(instrs)
    for entry in code.exceptions:
        handlers[entry.start : entry.end] = [(entry.target, entry.handler_depth)] * (entry.end - entry.start)
    deepest = 1
    work: list[tuple[int, int]] = [(0, 0)] if instrs else []
    while work:
        index, depth = work.pop()
        while True:
            if index >= len(instrs):
                raise UnsupportedCode(f"{code.qualname}: control runs off the end")
            known = depths[index]
            if known is not None:
                if known != depth:
                    raise UnsupportedCode(f"{code.qualname}: instruction {index} at stack depths {known} and {depth}")
                break
            depths[index] = depth
            instr = instrs[index]
            row = OPCODES[instr.op]
            effect, handler = row.effect, handlers[index]
            if handler is not None:
                deepest = max(deepest, handler[1])
                work.append(handler)
            if instr.op in _RISING:
                deepest = max(deepest, depth + RISES.get((instr.op, instr.arg), 0))
            # NB: without the calls for what is fixed: this is asked of each instruction of each function.
            below = depth - (effect.popped(instr.arg) if effect.takes is None else effect.takes)
            if below < 0:
                raise UnsupportedCode(f"{code.qualname}: instruction {index}, {instr}, pops an empty stack")
            if instr.target is not None:
                work.append((instr.target, depth - row.jump_effect.popped(None) + row.jump_effect.pushed(None)))
            depth = below + (effect.pushed(instr.arg) if effect.leaves is None else effect.leaves)
            if depth > deepest:
                deepest = depth
            if row.ends:
                break
            index += 1
    return depths, deepest
