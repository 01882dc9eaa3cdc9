"""Which loads of locals need no reference of their own (LOAD_FAST_BORROW, from 3.14).

Enters: a ``Code``. Leaves: the indices of the loads whose object the local keeps alive as long as it lies on the
stack. Reference counts show the difference (``sys.getrefcount``, ``ndarray.resize``), so that encode.py has to spell a
load as CPython's compiler does (Python/flowgraph.c, optimize_load_fast): nothing is known of what lies on the stack at
the start of a block, what lies there at its end counts as kept, and handlers are not looked at. What an instruction
leaves of what it takes is read off its stack effect: a slot of the same name on both sides. NB: the compiler borrows
less than it could: it also stops at blocks that have become empty, which no code object shows. Loads that it left so
are marked, ``Instr.bare``.
"""

from __future__ import annotations

from dynamo_lite.pycode.code import Code, Instr, remembered
from dynamo_lite.pycode.flow import stack_depth, successors
from dynamo_lite.pycode.opcodes import OPCODES
from dynamo_lite.pycode.version import FACTS

_LOADS = frozenset({"LOAD_FAST", "LOAD_CLOSURE"})

# Slots that may hold what another slot held, though it has another name: opcode -> {pushed: popped}.
_PASSED = {
    "COPY": {"copy": "value"},
    "GET_YIELD_FROM_ITER": {"iterator": "iterable"},
    "LOAD_METHOD": {"second": "owner"},
    "LOAD_SUPER_METHOD": {"second": "self"},
}


def borrowed_loads(code: Code) -> frozenset[int]:
    """The indices of the LOAD_FASTs and LOAD_CLOSUREs that may borrow and are not marked."""
    return _walk(code)[0]


def borrowed_slots(code: Code, index: int) -> tuple[str | None, ...]:
    """For each stack slot before the instruction, bottom first, the local from which it borrows; () where none does."""
    loads, stacks = _walk(code) if FACTS.borrowing else (frozenset(), {})
    slots = tuple(None if load not in loads else code.instrs[load].arg for load in stacks.get(index, ()))
    return slots if any(slots) else ()


@remembered
def _walk(code: Code) -> tuple[frozenset[int], dict[int, tuple[int | None, ...]]]:
    """The loads that borrow, and what lies on the stack before each instruction: the loads it comes from."""
    stacks: dict[int, tuple[int | None, ...]] = {}
    instrs = code.instrs
    depths = stack_depth(code)
    begins = {0} | {instr.target for instr in instrs if instr.target is not None}
    begins.update(index + 1 for index, instr in enumerate(instrs) if instr.target is not None or OPCODES[instr.op].ends)
    found: set[int] = set()
    seen: set[int] = set()
    work = [0] if instrs else []
    while work:
        index = start = work.pop()
        if start in seen:
            continue
        seen.add(start)
        depth = depths[start]
        assert depth is not None
        stack: list[int | None] = [None] * depth  # for each slot the LOAD_FAST it comes from
        loads: set[int] = set()
        kept: set[int | None] = set()
        while True:
            instr = instrs[index]
            if any(load is not None for load in stack):
                stacks[index] = tuple(stack)
            if instr.op in _LOADS:
                loads.add(index)
            elif instr.op in ("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
                if instr.op == "STORE_FAST":
                    kept.add(stack.pop())
                kept.update(load for load in stack if load is not None and instrs[load].arg == instr.arg)
                if instr.op == "STORE_FAST":
                    stack.append(None)
            _run(index, instr, stack)
            index += 1
            if index in begins:
                break
        kept.update(stack)
        found |= loads - kept
        work.extend(successors(code, index - 1))
    return frozenset(index for index in found if not instrs[index].bare), stacks


def _run(index: int, instr: Instr, stack: list[int | None]) -> None:
    """Do to `stack` what the instruction does."""
    row = OPCODES[instr.op]
    sizes = [(slot.name, slot.size(instr.arg)) for slot in row.effect.pops]
    taken: dict[str, list[int | None]] = {}
    for name, size in reversed(sizes):
        taken[name] = stack[len(stack) - size :]
        del stack[len(stack) - size :]
    passed = _PASSED.get(instr.op, {})
    if instr.op == "FORMAT_VALUE" and instr.arg == (None, False):
        passed = {"string": "value"}  # a str is its own format
    for slot in row.effect.pushes:
        size = slot.size(instr.arg)
        source = taken.get(passed.get(slot.name, slot.name))
        stack += [None] * size if source is None or len(source) != size else source
    if instr.op in _LOADS:
        stack[-1] = index
