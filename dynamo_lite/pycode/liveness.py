"""Which local variables each instruction, or one after it, may still read, and which may be bound before it.

Enters: a ``Code``. Leaves: one set of names per instruction, by data flow, exceptional edges included: backward for
``liveness`` and ``cell_liveness``, forward for ``assigned``. Cell variables that are locals too (parameters) count as
read by every use of the cell. What looks at a frame from outside (``locals()``, a debugger) is not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import overload

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import Code, Instr, remembered
from dynamo_lite.pycode.flow import following, handler_targets
from dynamo_lite.pycode.opcodes import OPCODES, Operand


class Live(Sequence[frozenset[str]]):
    """A set of names for each instruction, made of its mask when it is asked for: a function that is generated may have
    thousands of locals."""

    def __init__(self, names: tuple[str, ...], masks: list[int]) -> None:
        self._names = names
        self._masks = masks
        self._sets: dict[int, frozenset[str]] = {}

    @overload
    def __getitem__(self, index: int) -> frozenset[str]: ...

    @overload
    def __getitem__(self, index: slice) -> Live: ...

    def __getitem__(self, index: int | slice) -> frozenset[str] | Live:
        if isinstance(index, slice):
            return Live(self._names, self._masks[index])
        mask = self._masks[index]
        known = self._sets.get(mask)
        if known is None:
            bits = reversed(f"{mask:b}")
            known = self._sets[mask] = frozenset(compress(self._names, (bit == "1" for bit in bits)))
        return known

    def __len__(self) -> int:
        return len(self._masks)


@remembered
def liveness(code: Code) -> Live:
    """The locals live before each instruction: bound there, they must still be bound when it runs."""
    bits = {name: 1 << number for number, name in enumerate(code.varnames)}
    reads = [0] * len(code.instrs)
    kept = [-1] * len(code.instrs)  # mask of what an instruction does not overwrite
    for index, instr in enumerate(code.instrs):
        kind = OPCODES[instr.op].operand
        if kind is Operand.LOCAL or (kind is Operand.CELL and instr.arg in code.cellvars):
            bit = bits.get(instr.arg, 0)
            if instr.op == "STORE_FAST":
                kept[index] = ~bit
            else:  # NB: DELETE_FAST reads too: it raises UnboundLocalError when the local is unbound
                reads[index] = bit
    return Live(code.varnames, _backward(code, reads, kept))


@remembered
def cell_liveness(code: Code) -> Live:
    """The cells of the code's own variables that are live before each instruction, where no function has them already:
    it, or one after it, reads one or hands it to a function, before another value is stored there."""
    bits = {name: 1 << number for number, name in enumerate(code.cellvars)}
    reads = [0] * len(code.instrs)
    kept = [-1] * len(code.instrs)
    for index, instr in enumerate(code.instrs):
        if OPCODES[instr.op].operand in (Operand.CELL, Operand.LOCAL) and instr.arg in bits:
            if instr.op == "STORE_DEREF":
                kept[index] = ~bits[instr.arg]
            else:
                reads[index] = bits[instr.arg]
    return Live(code.cellvars, _backward(code, reads, kept))


def _backward(code: Code, reads: list[int], kept: list[int]) -> list[int]:
    """The mask of what is live before each instruction. kept: of each, the mask of what it does not overwrite."""
    handlers = handler_targets(code)
    behind = following(code)
    influences: list[list[int]] = [[] for _ in reads]  # the instructions whose live set depends on this one's
    for index, handler in enumerate(handlers):
        for after in behind[index]:
            influences[after].append(index)
        if handler is not None:
            influences[handler].append(index)
    live = list(reads)
    work = [index for index in range(len(reads)) if live[index]]
    while work:
        for index in influences[work.pop()]:
            mask = 0
            for after in behind[index]:
                mask |= live[after]
            mask = mask & kept[index] | reads[index]
            handler = handlers[index]
            if handler is not None:  # the exception may come before the store does
                mask |= live[handler]
            if mask != live[index]:
                live[index] = mask
                work.append(index)
    return live


@remembered
def kept_whole(code: Code) -> Live:
    """The locals with whose values at that point each instruction, or one after it, may do more than take items, by
    ``p[0]`` or ``x, y = p``: what only does that cannot tell a tuple from another one of the same items."""
    instrs = list(code.instrs)
    for index, instr in enumerate(code.instrs[:-1]):
        ahead = [one.op for one in code.instrs[index + 1 : index + 3]]
        if instr.op == "LOAD_FAST" and (ahead[0] == "UNPACK_SEQUENCE" or ahead == ["LOAD_CONST", "BINARY_SUBSCR"]):
            instrs[index] = Instr("LOAD_CONST", None)
    return liveness(replace(code, instrs=tuple(instrs)))


@remembered
def assigned(code: Code) -> Live:
    """The locals that may be bound before each instruction: it can be reached from an assignment to them."""
    instrs = code.instrs
    bits = {name: 1 << number for number, name in enumerate(code.varnames)}
    handlers = handler_targets(code)
    behind = following(code)
    bound = [0] * len(instrs)
    seen = [False] * len(instrs)
    bound[0] = sum(bits[name] for name in code.argnames)
    work = [0]
    while work:
        index = work.pop()
        seen[index] = True
        instr, before = instrs[index], bound[index]
        after = before
        if instr.op == "STORE_FAST":
            after |= bits[instr.arg]
        elif instr.op in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
            after &= ~bits[instr.arg]
        handler = handlers[index]
        edges = [(one, after) for one in behind[index]]
        if handler is not None:  # the exception may come before the store does
            edges.append((handler, before))
        for one, mask in edges:
            if not seen[one] or mask & ~bound[one]:
                bound[one] |= mask
                work.append(one)
    return Live(code.varnames, bound)
