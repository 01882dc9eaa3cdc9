"""Holds what decode.py reads of a code object against the package bytecode, which reads it on its own.

Enters a code object; raises AssertionError where the two differ in an instruction, an argument, a jump or the table of
exceptions. It takes ten times as long as decoding, and runs where `config.check` asks for checks.
"""

from __future__ import annotations

import types
from typing import Any

from dynamo_lite.pycode.decode import take_apart
from dynamo_lite.pycode.tables import protected_ranges
from dynamo_lite.pycode.version import CACHES


def check_reading(code: types.CodeType) -> None:
    """Raise AssertionError where the package bytecode reads another program in `code`."""
    from bytecode import ConcreteBytecode
    from bytecode.instr import UNSET

    concrete = ConcreteBytecode.from_code(code)
    found = []
    offset = caches = 0
    for instr in concrete:
        if caches:
            caches -= 1  # each of them is a unit
        else:
            target = None if instr.name == "END_ASYNC_FOR" else instr.get_jump_target(offset)
            found.append((offset, instr.name, 0 if instr.arg is UNSET else instr.arg, target))
            caches = CACHES.get(instr.name, 0)
        offset += instr.size >> 1
    table = [
        (entry.start_offset, entry.stop_offset + 1, entry.target, entry.stack_depth, entry.push_lasti)
        for entry in concrete.exception_table
    ]
    ops, args, _, offsets, jumps = take_apart(code)
    instrs = list(zip(offsets, ops, args, map(jumps.get, range(len(ops))), strict=True))
    handlers = protected_ranges(code.co_exceptiontable)
    assert instrs == found, _first_difference(instrs, found, code)
    assert handlers == table, f"the exceptions of {code.co_qualname}: {handlers} is {table} to bytecode"


def _first_difference(own: list[Any], other: list[Any], code: types.CodeType) -> str:
    place = next((i for i, pair in enumerate(zip(own, other, strict=False)) if pair[0] != pair[1]), len(own))
    return f"{code.co_qualname} is another program to bytecode: {own[place : place + 1]}, {other[place : place + 1]}"
