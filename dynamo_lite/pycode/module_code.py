"""The code of a module as that of a function of no arguments, and back.

A module's names are those of its globals: what loads and stores them by name does so by LOAD_GLOBAL and STORE_GLOBAL in
a function with the same globals, which can be gone on with at one of its loops. INVARIANT: instructions keep their
places.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import CO_NEWLOCALS, CO_OPTIMIZED, Code

_AS_GLOBAL = {"LOAD_NAME": "LOAD_GLOBAL", "STORE_NAME": "STORE_GLOBAL", "DELETE_NAME": "DELETE_GLOBAL"}
_AS_NAME = {function: module for module, function in _AS_GLOBAL.items()}
_BACK = frozenset(number for name, number in dis.opmap.items() if "JUMP_BACKWARD" in name)
_BY_FRAME = frozenset({"locals", "vars", "dir", "eval", "exec"})  # which take a function's locals for a module's


def may_loop(native: bytes) -> bool:
    """Whether there may be a loop in a code object's ``co_code``, told without taking it apart."""
    return not _BACK.isdisjoint(native[::2])


def holds_loop(code: types.CodeType) -> bool:
    """Whether there may be a loop in it, or in a function in it: that of a comprehension, say."""
    return may_loop(code.co_code) or any(
        isinstance(const, types.CodeType) and holds_loop(const) for const in code.co_consts
    )


def is_module(code: Code) -> bool:
    """Whether it is a module's, whose locals are its globals if it is run as one."""
    return code.name == "<module>" and not code.flags & (CO_OPTIMIZED | CO_NEWLOCALS)


def as_function(code: Code) -> Code | None:
    """A module's code as a function's; None where that could be told.

    ``from math import *`` is a module's alone: what goes on at a loop must not come to it."""
    targets = [(index, instr.target) for index, instr in enumerate(code.instrs) if instr.target is not None]
    once = min((target for index, target in targets if target <= index), default=len(code.instrs))
    for index, instr in enumerate(code.instrs):
        if (instr.op == "IMPORT_STAR" and index >= once) or (isinstance(instr.arg, str) and instr.arg in _BY_FRAME):
            return None
    instrs = (replace(instr, op=_AS_GLOBAL.get(instr.op, instr.op)) for instr in code.instrs)
    return replace(code, instrs=tuple(instrs), flags=code.flags | CO_OPTIMIZED | CO_NEWLOCALS)


def as_module(code: Code, flags: int) -> Code:
    """What `as_function` gives, with more instructions, as a module's again, with those flags."""
    return replace(
        code, instrs=tuple(replace(instr, op=_AS_NAME.get(instr.op, instr.op)) for instr in code.instrs), flags=flags
    )


def native_flags(code: Code, variables: Iterable[str]) -> int:
    """The flags of a code object for `code` with these variables: a function that goes on with a module is not marked
    as optimized, so that CPython gives its frames the globals for their locals, which others look at (f_locals, a
    debugger).

    NB: up to 3.12 that look copies variables of the frame into the locals, and deletes what is unbound: not where the
    variables of comprehensions are the frame's."""
    goes_on = code.name == "<module>" and code.flags & CO_NEWLOCALS
    return code.flags & ~CO_OPTIMIZED if goes_on and all(map(_is_ours, variables)) else code.flags


def known_flags(code: types.CodeType) -> int:
    """The flags of a Code for `code`, which `native_flags` may have given its own."""
    goes_on = code.co_name == "<module>" and code.co_flags & CO_NEWLOCALS
    return code.co_flags | CO_OPTIMIZED if goes_on else code.co_flags


def _is_ours(variable: str) -> bool:
    return not variable.isidentifier()


__all__ = ["as_function", "as_module", "holds_loop", "is_module", "known_flags", "may_loop", "native_flags"]
