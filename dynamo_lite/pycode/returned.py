"""Finds what a code object returns that does nothing else: an argument, a constant, or a tuple of such.

Enters a code object; leaves a template from which csrc/frame/residual.c makes the value without a frame, or None.
Residual code behind a program that a `return` ends is mostly of this kind.
"""

from __future__ import annotations

import types
from typing import Any, TypeAlias

from dynamo_lite.pycode.decode import decode

Item: TypeAlias = int | tuple[Any, ...]  # the number of an argument, a constant in a tuple of its own, or a choice:
# arguments that are True or False, each followed by what it is where that is True, and at last what it is otherwise
Template: TypeAlias = Item | list[Item]  # a list stands for a tuple
_SILENT = frozenset(("NOP", "RESUME"))
_CHOICE = ("SWAP", "POP_TOP")  # behind a jump to the latter: the first operand of two, or the second


def returned(code: types.CodeType) -> Template | None:
    """What `code` returns, made of its arguments in their order."""
    names = code.co_varnames
    n_args = code.co_argcount + code.co_kwonlyargcount
    stack: list[Template] = []
    instrs = [instr for instr in decode(code).instrs if instr.op not in _SILENT]
    skipped = len(decode(code).instrs) - len(instrs)
    for place, instr in enumerate(instrs):
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
        elif instr.op == "POP_JUMP_IF_FALSE" and tuple(one.op for one in instrs[place + 1 : place + 3]) == _CHOICE:
            if instr.target != place + 2 + skipped or instrs[place + 1].arg != 2:
                return None
            choice = _choice(*stack[-3:])
            if choice is None:
                return None
            stack[-3:] = [choice, choice]  # of which the other one goes
        elif instr.op == "SWAP" and len(stack) > 1 and stack[-1] is stack[-2]:
            continue
        elif instr.op == "POP_TOP" and len(stack) > 1 and stack[-1] is stack[-2]:
            stack.pop()
        elif instr.op == "TO_BOOL" and stack and type(stack[-1]) is int:
            continue
        elif instr.op == "RETURN_VALUE":
            return stack[-1]
        else:
            return None
    return None


def _choice(second: Template, first: Template, flag: Template) -> Item | None:
    """The first item of two where the flag is True; None where that is not so simple."""
    is_simple = type(first) is int or (type(first) is tuple and len(first) == 1)
    if type(flag) is not int or not is_simple or isinstance(second, list):
        return None
    return (flag, first, *(second if isinstance(second, tuple) and len(second) > 1 else (second,)))
