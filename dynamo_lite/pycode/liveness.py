"""Which local variables each instruction, or one after it, may still read.

Enters: a ``Code``. Leaves: one set of names per instruction, by backward data flow, exceptional edges included. Cell
variables that are locals too (parameters) count as read by every use of the cell. What looks at a frame from outside
(``locals()``, a debugger) is not seen here.
"""

from __future__ import annotations

from dynamo_lite.pycode.code import Code, remembered
from dynamo_lite.pycode.flow import handler_targets, successors
from dynamo_lite.pycode.opcodes import OPCODES, Operand


@remembered
def liveness(code: Code) -> list[frozenset[str]]:
    """The locals live before each instruction: bound there, they must still be bound when it runs."""
    instrs = code.instrs
    bits = {name: 1 << number for number, name in enumerate(code.varnames)}
    handlers = handler_targets(code)
    following = [tuple(successors(code, index)) for index in range(len(instrs))]
    reads = [0] * len(instrs)
    kept = [-1] * len(instrs)  # mask of what an instruction does not overwrite
    influences: list[list[int]] = [[] for _ in instrs]  # the instructions whose live set depends on this one's
    for index, instr in enumerate(instrs):
        kind = OPCODES[instr.op].operand
        if kind is Operand.LOCAL or (kind is Operand.CELL and instr.arg in code.cellvars):
            bit = bits.get(instr.arg, 0)
            if instr.op == "STORE_FAST":
                kept[index] = ~bit
            else:  # NB: DELETE_FAST reads too: it raises UnboundLocalError when the local is unbound
                reads[index] = bit
        for after in following[index]:
            influences[after].append(index)
        handler = handlers[index]
        if handler is not None:
            influences[handler].append(index)
    live = list(reads)
    work = [index for index in range(len(instrs)) if live[index]]
    while work:
        for index in influences[work.pop()]:
            mask = 0
            for after in following[index]:
                mask |= live[after]
            mask = mask & kept[index] | reads[index]
            handler = handlers[index]
            if handler is not None:  # the exception may come before the store does
                mask |= live[handler]
            if mask != live[index]:
                live[index] = mask
                work.append(index)
    sets: dict[int, frozenset[str]] = {}
    for mask in live:
        if mask not in sets:
            sets[mask] = frozenset(name for name, bit in bits.items() if mask & bit)
    return [sets[mask] for mask in live]
