"""The instructions of a loop: which they are, what they assign and read, where their ways meet.

Enters a Code and the index of a loop's header; leaves sets of instructions and names. A `for` is headed by its
FOR_ITER; a `while` by the first instruction of its body, since CPython repeats the test at the bottom.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from dynamo_lite.pycode import OPCODES, Code, handlers_at, remembered
from dynamo_lite.pycode.flow import following, natural_loop, predecessors, reached, stack_depth, successors
from dynamo_lite.pycode.opcodes import Operand

COPIED = 32  # instructions that are compared
CONDITIONAL_JUMPS = frozenset(
    ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
)
OPERATIONS = frozenset(
    ("BINARY_OP", "BINARY_SUBSCR", "STORE_SUBSCR", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER")
)


@remembered
def while_loops(code: Code) -> dict[int, frozenset[int]]:
    """The loops that are no `for`: their instructions by their header.

    A `continue` jumps to the test at the top, which then heads a loop of its own around the one headed by the body. It
    is taken to be part of that. A handler, which stands at the end, also jumps back to where the function goes on.
    """
    back = [
        (index, instr.target)
        for index, instr in enumerate(code.instrs)
        if instr.target is not None and instr.target <= index
    ]
    heads = sorted(
        {
            head
            for index, head in back
            if code.instrs[head].op not in ("FOR_ITER", "SEND") and index in reached(code, head, False)
        }
    )
    loops = {head: natural_loop(code, head, False) for head in heads}
    for outer, inner in itertools.pairwise(heads):
        test = range(outer, inner)
        if inner in loops[outer] and all(
            after in test or after == inner or after not in loops[outer]
            for index in test
            for after in successors(code, index)
        ):
            loops[inner] |= loops.pop(outer)
    return loops


@remembered
def appends(code: Code) -> bool:
    """Whether the code may append to a list: `xs.append(x)` or `xs += [x]`."""
    pairs = itertools.pairwise(code.instrs)
    joins = (one.op == "BUILD_LIST" and (after.op, after.arg) == ("BINARY_OP", "+=") for one, after in pairs)
    return "append" in code.names or any(joins)


def start_of(code: Code, header: int) -> int | None:
    """Where the expression that a `for` goes over begins, if only its end leads to the loop; None if not."""
    depths = stack_depth(code)
    under = depths[header]
    if under is None or code.instrs[header - 1].op != "GET_ITER":
        return None
    start = header - 1
    while start and depths[start] != under - 1:
        start -= 1
    inside = range(start + 1, header)
    jumps = any(code.instrs[index].target is not None for index in inside)
    jumps = jumps or any(instr.target in inside for instr in code.instrs)
    return None if jumps or depths[start] != under - 1 else start


def tests(code: Code, header: int) -> list[tuple[str, str, Any]]:
    """The comparisons of a local with another or an int that hold whenever the body of a `while` begins: parts, joined
    by `and`, of its test, which stands above the body and once more at its bottom."""
    found: list[tuple[str, str, Any]] = []
    jumps = [index for index, instr in enumerate(code.instrs) if instr.target == header]
    if len(jumps) != 1 or not header:
        return found
    last, behind = jumps[0], jumps[0] + 1
    if code.instrs[last].op == "JUMP" and code.instrs[last - 1].op == "POP_JUMP_IF_FALSE":  # from CPython 3.12 on
        last -= 1
    elif code.instrs[last].op != "POP_JUMP_IF_TRUE":
        return found
    end, leaves = code.instrs[header - 1], {code.instrs[header - 1].target, behind}
    if end.op != "POP_JUMP_IF_FALSE" or code.instrs[last].target not in {header, *leaves}:
        return found
    for back in range(1, min(header, last - header)):
        top, bottom = header - 1 - back, last - back
        one, other = code.instrs[top], code.instrs[bottom]
        is_exit = one.op == "POP_JUMP_IF_FALSE" and one.target in leaves and other.target in leaves
        if (one.op, one.arg) != (other.op, other.arg) or one.op.startswith(("STORE", "DELETE")):
            break
        if one.target is not None and not is_exit:
            break
        left, right, jump = code.instrs[max(top - 1, 0)], one, code.instrs[top + 2]
        if code.instrs[top + 1].op != "COMPARE_OP" or not jump.op.startswith("POP_JUMP_IF") or back < 2:
            continue
        copy = code.instrs[bottom - 1]
        if (left.op, left.arg) != (copy.op, copy.arg) or left.op != "LOAD_FAST":
            continue
        if right.op == "LOAD_FAST" or (right.op == "LOAD_CONST" and type(right.arg) is int):
            found.append((left.arg, code.instrs[top + 1].arg, right.arg))
    return found


@remembered
def ways_out(code: Code, loop: frozenset[int]) -> frozenset[int]:
    """The instructions that follow one of `loop` outside of it."""
    behind = following(code)
    return frozenset(after for index in loop for after in behind[index]) - loop


@remembered
def whole_loop(
    code: Code, loop: frozenset[int], exit_index: int | None, side_exits: frozenset[int]
) -> tuple[frozenset[int], int | None]:
    """`loop` with what runs on the way out of it, and where it goes on behind it: where the way on which its test ends
    it meets most others, or most of all meet. NB: that may be a NOP, at which the ways of an `if` around it meet.

    exit_index: where that is, of a `for`. side_exits: where ways out begin that are no part of it.
    """
    ways = sorted(ways_out(code, loop))
    if exit_index is None:
        behind = _behind(code, range(len(code.instrs)), lambda after: after)
        chains = [_chain(behind, way) for way in ways]
        best = 0
        known = dict(zip(ways, chains, strict=True))
        for candidate in (index for way in _ends(code, loop, ways) for index in known[way]):
            meets = sum(any(same_code(code, other, candidate) for other in chain) for chain in chains)
            if meets > best:
                best, exit_index = meets, candidate
    if exit_index is None:
        return loop, None
    found = set(loop)
    work = [way for way in ways if way not in side_exits and not same_code(code, way, exit_index)]
    while work:
        index = work.pop()
        if index not in found:
            found.add(index)
            work += [after for after in successors(code, index) if not same_code(code, after, exit_index)]
    return frozenset(found), exit_index


def without(code: Code, loop: frozenset[int], header: int, places: frozenset[int]) -> frozenset[int]:
    """The instructions of a loop that are reached without `places`."""
    if not places:
        return loop
    found: set[int] = set()
    work, behind = [header], following(code)
    while work:
        index = work.pop()
        if index in loop and index not in found and index not in places:
            found.add(index)
            work += behind[index]
    return frozenset(found)


def keeps_iterator(code: Code, way: int, header: int) -> bool:
    """Whether what is raised from `way` on, where one out of a loop begins, is handled with the iterator of the loop,
    or of one in it, still on the stack: that handler may go round in the loop."""
    depths = stack_depth(code)
    own, work, seen = depths[header], [way], {header}
    if own is None or way in natural_loop(code, header, False):
        return False
    under = own - (code.instrs[header].op == "FOR_ITER")
    while work:
        index = work.pop()
        depth = depths[index]
        if index in seen or depth is None or depth <= under:
            continue
        seen.add(index)
        entry = handlers_at(code, index)
        if entry is not None and entry.depth > under:
            return True
        work += successors(code, index)
    return False


def _ends(code: Code, loop: frozenset[int], ways: list[int]) -> list[int]:
    """The ways out on which the test at the bottom of a `while` ends it, or all that lie as deep in the stack."""
    depths = stack_depth(code)
    depth = min(known for known in (depths[index] for index in loop) if known is not None)
    own: list[int | None] = []
    for index in loop:
        instr, before = code.instrs[index], code.instrs[index - 1]
        if instr.target is None or instr.target > index or code.instrs[instr.target].op == "FOR_ITER":
            continue
        own += [index + 1] if instr.op.startswith("POP_JUMP_IF") else []
        own += [before.target] if instr.op == "JUMP" and before.op.startswith("POP_JUMP_IF") else []
    alike = [way for way in ways if depths[way] == depth]
    return [way for way in alike if way in own] or alike


def _chain(behind: dict[int | None, int], index: int) -> list[int]:
    """The instructions that every way from `index` on runs, in that order."""
    common = [one for one in behind if one is not None and behind[index] >> one & 1]
    return sorted(common, key=lambda one: -behind[one].bit_count())


def _behind(code: Code, order: Iterable[int], goes: Callable[[int], int | None]) -> dict[int | None, int]:
    """For each instruction the set, by bit, of those that every way from it on runs; of None, the end, the highest."""
    indices = sorted(order, reverse=True)
    end = 1 << len(code.instrs)
    follow = following(code)
    after: dict[int, set[int | None]] = {index: set(map(goes, follow[index])) for index in indices}
    behind: dict[int | None, int] = dict.fromkeys(indices, 2 * end - 1)
    behind[None] = end
    changed = True
    while changed:
        changed = False
        for index in indices:
            common = 2 * end - 1 if after[index] else end
            for one in after[index]:
                common &= behind.get(one, end)
            if common | 1 << index != behind[index]:
                behind[index] = common | 1 << index
                changed = True
    return behind


@remembered
def joins(code: Code, loop: frozenset[int], header: int) -> dict[int, int | None]:
    """Where all ways from each instruction of a loop to the end of the iteration meet first; None: at its end."""
    behind = _inside(code, loop, header)
    begins = {ahead: index for index, ahead in behind.items()}
    return {index: begins.get(behind[index] & ~(1 << index)) for index in loop}


def meeting(code: Code, loop: frozenset[int], header: int, indices: Iterable[int]) -> int | None:
    """Where the ways from some instructions of a loop to the end of the iteration meet first; None: at its end."""
    behind = _inside(code, loop, header)
    common = -1
    for index in indices:
        common &= behind[index if index in loop and index != header else None]
    return next((index for index, ahead in behind.items() if ahead == common), None)


@remembered
def _inside(code: Code, loop: frozenset[int], header: int) -> dict[int | None, int]:
    """As _behind, for ways to the end of an iteration."""
    return _behind(code, loop, lambda after: after if after in loop and after != header else None)


def followed(code: Code, index: int) -> int:
    """Where control gets to from `index` without doing anything."""
    seen: set[int] = set()
    while code.instrs[index].op in ("JUMP", "NOP") and index not in seen:
        seen.add(index)
        target = code.instrs[index].target
        index = index + 1 if target is None else target
    return index


def same_code(code: Code, one: int, other: int) -> bool:
    """Whether the same happens from one instruction on as from the other: CPython copies short ends of functions.

    Only the other may check that a local is bound; where control comes from the one, it is.
    """
    for _ in range(COPIED):
        one, other = followed(code, one), followed(code, other)
        if one == other:
            return True
        first, second = code.instrs[one], code.instrs[other]
        checks = (first.op, second.op) == ("LOAD_FAST", "LOAD_FAST_CHECK")
        if (first.op != second.op and not checks) or (first.arg, first.position[0]) != (second.arg, second.position[0]):
            return False
        if type(first.arg) is not type(second.arg) or first.target is not None:
            return False
        if OPCODES[first.op].ends:
            return True
        one, other = one + 1, other + 1
    return False


def outermost_loop(code: Code, index: int) -> frozenset[int]:
    """The instructions of the outermost loop around one; the instruction alone where there is none."""
    before = predecessors(code, False)
    leading, work = {index}, [index]
    while work:
        new = set(before[work.pop()]) - leading
        leading |= new
        work += new
    return frozenset(leading & reached(code, index, False))


def operations_behind(code: Code, index: int) -> int:
    """How many operations and calls may run once the outermost loop around an instruction has ended."""
    behind = reached(code, index, False) - outermost_loop(code, index)
    return sum(code.instrs[one].op in OPERATIONS for one in behind)


def stored_names(code: Code, loop: frozenset[int]) -> frozenset[str]:
    names = (code.instrs[index] for index in loop)
    return frozenset(
        instr.arg
        for instr in names
        if instr.op in ("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR", "STORE_DEREF", "DELETE_DEREF")
    )


@remembered
def always_read(code: Code, loop: frozenset[int], header: int, begin: int, name: str) -> bool:
    """Whether an iteration that is at instruction `begin` is certain to read a local before it stores to it or ends,
    unless it raises."""
    seen: set[int] = set()
    work, after = [begin], following(code)
    while work:
        index = work.pop()
        if index == header or index not in loop:
            return False
        instr = code.instrs[index]
        if index in seen or (instr.op in _READS and instr.arg == name):
            continue
        seen.add(index)
        if instr.op == "RETURN_VALUE" or (instr.op in _BINDS and instr.arg == name):
            return False
        work += after[index]
    return True


_READS = frozenset(("LOAD_FAST", "LOAD_FAST_CHECK"))
_BINDS = frozenset(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))


def always_run(code: Code, loop: frozenset[int], header: int) -> int:
    """The instructions, as bits, that every iteration of a loop runs to its end, unless it leaves the loop."""
    return _inside(code, loop, header).get(header + 1 if code.instrs[header].op == "FOR_ITER" else header, 0)


@remembered
def even_steps(code: Code, loop: frozenset[int], header: int) -> dict[str, int]:
    """The locals to which every iteration adds an int once, and which it assigns nowhere else."""
    instrs = code.instrs
    stores: dict[str, list[int]] = {}
    for index in loop:
        if instrs[index].op in ("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
            stores.setdefault(instrs[index].arg, []).append(index)
    always = always_run(code, loop, header)
    found: dict[str, int] = {}
    for name, places in stores.items():
        index = places[0]
        if len(places) > 1 or index < 3 or not always >> index & 1 or not loop.issuperset(range(index - 3, index)):
            continue
        load, number, add, store = instrs[index - 3 : index + 1]
        adds = store.op == "STORE_FAST" and add.op == "BINARY_OP" and add.arg in ("+", "+=", "-", "-=")
        given = number.op == "LOAD_CONST" and type(number.arg) is int
        if adds and given and load.op == "LOAD_FAST" and load.arg == name:
            found[name] = number.arg if add.arg[0] == "+" else -number.arg
    return found


_OPERANDS = {"FAST": Operand.LOCAL, "DEREF": Operand.CELL}


@remembered
def exposed(
    code: Code, loop: frozenset[int], header: int, behind: frozenset[str], through: frozenset[str], kind: str
) -> frozenset[str]:
    """The locals that an iteration may read before it has assigned them, or leave as they are when it ends the loop.

    behind: those that are live behind the loop. through: those that count, too, where some way through the iteration
    does not assign them. kind: "FAST", or "GLOBAL" of variables of the module, as far as the loop itself reads them.
    """
    bits: dict[str, int] = {}

    def mask(names: Iterable[str]) -> int:
        return sum(1 << bits.setdefault(name, len(bits)) for name in names)

    ends, again = mask(behind), mask(through)
    rows: list[tuple[int, list[int], int, int, int]] = []  # index, what follows, needed of that anyway, kept, read
    follow = following(code)
    for index in sorted(loop, reverse=True):
        instr, after = code.instrs[index], follow[index]
        leaves = index != header or instr.op != "FOR_ITER"
        anyway = (ends if leaves and not loop.issuperset(after) else 0) | (again if header in after else 0)
        kept, read = -1, 0
        if instr.op.endswith("_GLOBAL") if kind == "GLOBAL" else OPCODES[instr.op].operand is _OPERANDS[kind]:
            name = mask((instr.arg,))
            kept, read = (~name, 0) if instr.op == f"STORE_{kind}" else (-1, name)
        rows.append((index, [one for one in after if one in loop], anyway, kept, read))
    needed = dict.fromkeys(loop, 0)
    changed = True
    while changed:
        changed = False
        for index, inside, names, kept, read in rows:
            for one in inside:
                names |= needed[one]
            names = names & kept | read
            if names != needed[index]:
                needed[index] = names
                changed = True
    return frozenset(name for name, bit in bits.items() if needed[header] >> bit & 1)
