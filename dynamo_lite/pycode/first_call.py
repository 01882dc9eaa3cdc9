"""A question before all else that a function does, written without taking its code apart.

Most functions of the files that a program imports are never called, and polls (polls.py) take longer to write than all
the rest of importing them.

Enters: the code object of a file. Leaves: the same with a prefix before the code of each function, whose poll gives the
function code with polls at its first call, and runs that instead.

    0  RESUME                 becomes        0  LOAD_CONST poll
    1  ...                                   1  POP_JUMP_IF_FALSE -> 9
                                             2  PUSH_NULL; LOAD_CONST poll; CALL 0
                                                COPY 1; LOAD_CONST go_on; IS_OP; POP_JUMP_IF_TRUE -> 8
                                             7  RETURN_VALUE
                                             8  POP_TOP
                                             9  RESUME ...

NB: jumps are relative, so what follows stays as it is, but for its tables. Before RESUME a frame is incomplete:
tracebacks and sys._getframe() do not show it, and tracers do not see it.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from dynamo_lite import _C
from dynamo_lite.pycode.code import CO_GENERATOR_KINDS, CO_NEWLOCALS, CO_OPTIMIZED, Instr, skeleton
from dynamo_lite.pycode.decode import stand_for
from dynamo_lite.pycode.encode import assemble
from dynamo_lite.pycode.module_code import holds_loop, may_loop
from dynamo_lite.pycode.tables import location_table, shifted_exceptions
from dynamo_lite.pycode.version import FACTS

MakePoll: TypeAlias = Callable[[types.CodeType, bool], object]  # of a function's code, which may have loops
_LOAD_CONST, _RESUME = dis.opmap["LOAD_CONST"], dis.opmap["RESUME"]
_MOST_CONSTANTS = 250  # that fit into one instruction, with two more
_STACK = 3  # slots


def with_questions(
    code: types.CodeType,
    make_poll: MakePoll,
    go_on: object,
    polled: Callable[[types.CodeType], types.CodeType],
) -> types.CodeType:
    """The code of a module, or of a class, with prefixes before that of its functions; likewise of a function without
    loops, which may be called once and have comprehensions or inner functions that take long.

    polled: gives at once what cannot get a prefix its polls.
    """
    consts = tuple(
        _with_question(const, make_poll, go_on, polled) if isinstance(const, types.CodeType) else const
        for const in code.co_consts
    )
    if all(new is old for new, old in zip(consts, code.co_consts, strict=True)):
        return code
    return code.replace(co_consts=consts)


def _with_question(
    code: types.CodeType,
    make_poll: MakePoll,
    go_on: object,
    polled: Callable[[types.CodeType], types.CodeType],
) -> types.CodeType:
    if not (code.co_flags & CO_OPTIMIZED and code.co_flags & CO_NEWLOCALS):
        return with_questions(code, make_poll, go_on, polled)
    if code.co_flags & CO_GENERATOR_KINDS:
        return polled(code) if any(isinstance(const, types.CodeType) for const in code.co_consts) else code
    n = len(code.co_consts)
    if not FACTS.prefixes or n > _MOST_CONSTANTS:
        return polled(code)
    prefix = bytearray(_prefix())
    for at in range(0, len(prefix), 2):
        if prefix[at] == _LOAD_CONST:
            prefix[at + 1] += n
    native = code.co_code  # NB: which CPython makes anew each time it is asked
    loops = may_loop(native)
    waits = not loops and holds_loop(code)  # others get polls, with all that is in them, at their first call
    inner = with_questions(code, make_poll, go_on, polled) if waits else code
    units = len(prefix) // 2
    made = code.replace(
        co_code=bytes(prefix) + native,
        co_consts=(*inner.co_consts, make_poll(code, loops), go_on),
        co_stacksize=max(code.co_stacksize, _STACK),
        co_linetable=_nowhere() + code.co_linetable,
        co_exceptiontable=shifted_exceptions(code.co_exceptiontable, units),
    )
    stand_for(made, code)
    _C.note_polls(made)
    _C.same_code(made, code)
    return made


@cache
def _nowhere() -> bytes:
    """The part of the location table that is the prefix's, which stands on no line."""
    return location_table([((None, None, None, None), len(_prefix()) // 2)], 1)


@cache
def _prefix() -> bytes:
    """The prefix, for constants of which the poll is the first and `go_on` the second."""
    poll, go_on = object(), object()
    push = [Instr("PUSH_NULL"), Instr("LOAD_CONST", poll)]
    instrs = (
        Instr("LOAD_CONST", poll),
        Instr("POP_JUMP_IF_FALSE", None, 11),
        *(push if FACTS.null_below_callable else push[::-1]),
        Instr("CALL", 0),
        Instr("COPY", 1),
        Instr("LOAD_CONST", go_on),
        Instr("IS_OP", "is not"),
        Instr("POP_JUMP_IF_FALSE", None, 10),
        Instr("RETURN_VALUE"),
        Instr("POP_TOP"),
        Instr("LOAD_CONST", go_on),  # here the function begins: what stands here is cut off
        Instr("RETURN_VALUE"),
    )
    code = assemble(skeleton("prefix", "", 1), instrs)
    assert [const for const in code.co_consts if const is poll or const is go_on] == [poll, go_on]
    first = code.co_consts.index(poll)
    native = bytearray(code.co_code)
    begin = 2 if native[0] == _RESUME else 0
    end = max(at for at in range(0, len(native), 2) if native[at] == _LOAD_CONST)
    for at in range(begin, end, 2):
        if native[at] == _LOAD_CONST:
            native[at + 1] -= first
    return bytes(native[begin:end])


__all__ = ["with_questions"]
