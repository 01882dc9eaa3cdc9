"""Finds what a code object returns that does nothing else: an argument, a constant, or a tuple of such.

Enters a code object; leaves a template from which csrc/residual.c makes the value without a frame, or None. Residual
code behind a program that a `return` ends is mostly of this kind.
"""

from __future__ import annotations

import types
from typing import Any, TypeAlias

from dynamo_lite.pycode.decode import decode

Item: TypeAlias = int | tuple[Any]  # the number of an argument, or a constant in a tuple of its own
Template: TypeAlias = Item | list[Item]  # a list stands for a tuple
_SILENT = frozenset(("NOP", "RESUME"))


def returned(code: types.CodeType) -> Template | None:
    """What `code` returns, made of its arguments in their order."""
    names = code.co_varnames
    n_args = code.co_argcount + code.co_kwonlyargcount
    stack: list[Template] = []
    for instr in decode(code).instrs:
        if instr.op == "LOAD_FAST" and instr.arg in names[:n_args]:
            stack.append(names.index(instr.arg))
        elif instr.op == "LOAD_CONST":
            stack.append((instr.arg,))
        elif instr.op == "BUILD_TUPLE" and instr.arg:
            items = stack[-instr.arg :]
            del stack[-instr.arg :]
            flat = [item for item in items if not isinstance(item, list)]
            if len(flat) != len(items):
                return None
            stack.append(flat)
        elif instr.op == "COPY" and instr.arg == 1:
            stack.append(stack[-1])
        elif instr.op == "STORE_FAST" and instr.arg not in names[:n_args]:
            stack.pop()  # which nothing loads: see above
        elif instr.op == "RETURN_VALUE":
            return stack[-1]
        elif instr.op not in _SILENT:
            return None
    return None
