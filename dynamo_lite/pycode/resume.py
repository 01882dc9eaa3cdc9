"""Resume functions: a user's code object, started in the middle.

Enters: a ``Code``, an instruction index, what the stack holds there and which locals are bound. Leaves: a code object
that takes the stack's values and those locals as positional parameters, puts the stack back and jumps to the
instruction. It keeps the user's names, lines, columns and exception table, so tracebacks and handlers work as before.
Capture makes these at graph breaks; dispatch enters them like any other code.
"""

from __future__ import annotations

import types
from itertools import pairwise

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.code import (
    CO_GENERATOR_KINDS,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
    NO_POSITION,
    Code,
    ExceptionEntry,
    Instr,
    Position,
    UnsupportedCode,
    UnsupportedResume,
    handlers_at,
    in_order,
    is_handled,
    leaves_with,
    ranks,
    remembered,
)
from dynamo_lite.pycode.decode import remember_as
from dynamo_lite.pycode.encode import encode
from dynamo_lite.pycode.flow import cells_named_alike, hidden, own_cells, remove, reraising, stack_depth
from dynamo_lite.pycode.opcodes import OPCODES, Operand
from dynamo_lite.pycode.version import CACHES, FACTS

# Of a prologue, besides what has to do with ``.s0`` ...
_PUTS_BACK = frozenset({"PUSH_NULL", "GET_ITER", "MAKE_CELL", "STORE_CELL", "RESUME"})
# What may call a Python function, whose frame the interpreter's loop itself goes on with.
_CALLS = frozenset(("CALL", "CALL_KW", "CALL_FUNCTION_EX", "BINARY_SUBSCR", "LOAD_ATTR", "LOAD_METHOD", "FOR_ITER"))
LETS_NOBODY_IN = 2  # a RESUME like that behind a `yield from`, at which no signal is looked for


def begins_rest(code: Code, index: int) -> bool:
    """Whether instruction `index` is the GET_ITER by which a resume function goes on with a loop."""
    before = code.instrs[index - 1]  # NB: before 3.12 a parameter is loaded and then unbound
    return index > 0 and before.op in ("LOAD_FAST_AND_CLEAR", "DELETE_FAST") and str(before.arg).startswith(".s")


def begins_at(code: Code, index: int) -> bool:
    """Whether a resume function goes on with instruction `index`, right behind its prologue."""
    at = _behind_prologue(code, index)
    target = code.instrs[at].target if code.instrs[at].op == "JUMP" else at
    return index in (at, target) or (target == index - 1 and _is_before(*code.instrs[index - 1 : index + 1]))


def beginning(code: Code) -> int:
    """The instruction that a resume function goes on with."""
    at = _behind_prologue(code, len(code.instrs))
    target = code.instrs[at].target if code.instrs[at].op == "JUMP" else at
    assert target is not None
    return target + _is_before(*code.instrs[target : target + 2])


def _behind_prologue(code: Code, most: int) -> int:
    at = 0
    while at < most and (code.instrs[at].op in _PUTS_BACK or str(code.instrs[at].arg).startswith(".s")):
        at += 1
    return at


def _before(code: Code, index: int) -> Instr:
    """What a resume function has before an instruction whose exceptions count as raised by the one before:
    what comes at a jump back to it, and from 3.12 on what the function raises that it calls."""
    return Instr("NOP", position=code.instrs[index].position)


def _without_unreached(code: Code, jump: int) -> Code:
    """A resume function, of which instruction `jump` ends the prologue, without what it does not reach and what another
    one had before the instruction that it goes on with. Of what is left out right before an instruction of `_before`, a
    NOP is left, so that its exceptions are handled as before."""
    begin = code.instrs[jump].target
    assert begin is not None
    dead = {index for index, depth in enumerate(stack_depth(code)) if depth is None}
    again = {
        instr.target
        for at, instr in enumerate(code.instrs)
        if at > jump and at not in dead and instr.target is not None and instr.target <= at
    }
    counted = {at for at in range(jump + 1, len(code.instrs)) if at in again or code.instrs[at].op in _CALLS} - dead
    kept = {at - 1 for at in counted if at - 1 in dead and handlers_at(code, at - 1) is not None}
    ours = {at for at, pair in enumerate(pairwise(code.instrs)) if at > jump and _is_before(*pair)} - dead
    instrs = [_before(code, at + 1) if at in kept else instr for at, instr in enumerate(code.instrs)]
    if begin - 1 in kept:
        instrs[jump] = replace(instrs[jump], target=begin - 1)
    removed = (dead - kept) | ours
    made = remove(replace(code, instrs=tuple(instrs)), removed)
    if begin - 1 not in kept and begin in counted and handlers_at(code, begin) is not None:
        made = _with_nop(made, begin - sum(at < begin for at in removed), jump)
    return made


@remembered
def resume_code(
    code: Code, index: int, stack: tuple[str, ...], bound_locals: tuple[str, ...], cells: tuple[str, ...] = ()
) -> types.CodeType:
    """The code of a function that goes on with `code` at instruction `index`.

    stack: "value", "null" or "rest" for each slot in use there, bottom first. The parameters are ``.s0``, ``.s1``,
    ... for the values, and for what is left of what a `for` goes over, whose iterator is to lie there, then
    `bound_locals`; every other local starts unbound. The stack's parameters are unbound before the user's code goes on,
    so that ``locals()`` does not show them and they keep nothing alive. What cannot be reached from `index` is left
    out, so the same place resumed from within a resume function gives an equal code object.

    A variable that inner functions share is among `bound_locals` like any other where it is bound: the function makes
    a cell of its own. Where an inner function that lives on has the cell, the variable is one of `cells` instead: the
    function takes the cell itself, as the last parameters do, and puts it in place of its own.

    Raises UnsupportedResume for generators and coroutines, for module and class bodies, for places at which the stack
    holds a number of an instruction (flow.reraising) or a comprehension hides a cell (flow.hidden), and for code that
    CPython cannot express. Raises ValueError if the stack has not the depth that the instruction finds there, or a
    local is not one of the code's.
    """
    if code.flags & CO_GENERATOR_KINDS:
        raise UnsupportedResume(f"{code.qualname} is a generator or coroutine")
    if not (code.flags & CO_OPTIMIZED and code.flags & CO_NEWLOCALS):
        raise UnsupportedResume(f"{code.qualname} is not a function")
    if index in reraising(code):
        raise UnsupportedResume(f"{code.qualname}: at instruction {index} an exception is on its way through a handler")
    if cells_named_alike(code):
        raise UnsupportedResume(f"{code.qualname} has a free variable and a cell of one name")
    if code.cellvars and hidden(code)[index]:
        raise UnsupportedResume(f"{code.qualname}: at instruction {index} a comprehension hides a cell")
    depth = stack_depth(code)[index]
    if depth != len(stack):
        raise ValueError(f"{code.qualname}: instruction {index} finds {depth} stack slots, not {len(stack)}")
    unknown = set(bound_locals).difference(code.varnames, code.cellvars) | set(cells).difference(code.cellvars)
    if unknown or len({*bound_locals, *cells}) != len(bound_locals) + len(cells):
        raise ValueError(f"{code.qualname}: not distinct locals: {', '.join(bound_locals)}")

    position = code.instrs[index].position
    prologue = [Instr("MAKE_CELL", name) for name in sorted(own_cells(code))]
    entry = position
    if is_handled(code, index) or leaves_with(code, index):
        # NB: what a signal raises is to come where the user's code handles it
        prologue.append(Instr("RESUME", LETS_NOBODY_IN, position=position))
        entry = (code.firstlineno, code.firstlineno, 0, 0)
    parameters: list[str] = []
    brought = [f".sc{number}" for number in range(len(cells))]
    for parameter, name in zip(brought, cells, strict=True):
        prologue += _take(parameter, position)
        prologue.append(Instr("STORE_CELL", name, position=position))
    for kind in stack:
        if kind == "null":
            prologue.append(Instr("PUSH_NULL", position=position))
        elif kind in ("value", "rest"):
            parameters.append(f".s{len(parameters)}")
            prologue += _take(parameters[-1], position)
            if kind == "rest":
                prologue.append(Instr("GET_ITER", position=position))
        else:
            raise ValueError(f"{kind!r} is none of 'value', 'null' and 'rest'")
    if FACTS.kw_names and code.instrs[index].op == "CALL_KW":
        # The names are no stack slot here: drop them and start where they are loaded.
        del prologue[-len(_take(parameters[-1], position)) :]
        prologue.append(Instr("DELETE_FAST", parameters[-1], position=position))
        index -= 1
    index += code.instrs[index].op == "NOP" and _is_before(*code.instrs[index : index + 2])
    shift = len(prologue) + 1
    prologue.append(Instr("JUMP", target=index + shift, position=position))

    body = [instr if instr.target is None else replace(instr, target=instr.target + shift) for instr in code.instrs]
    exceptions = [
        ExceptionEntry(entry.start + shift, entry.end + shift, entry.target + shift, entry.depth, entry.lasti)
        for entry in code.exceptions
    ]
    parameters.extend((*bound_locals, *brought))
    # NB: in an order of their own, without what an earlier prologue used: whichever function leads here, it is equal.
    others = in_order(code, {name for name in code.varnames if not name.startswith(".s")}.difference(parameters))
    resumed = replace(
        code,
        instrs=(*prologue, *body),
        exceptions=tuple(exceptions),
        argcount=len(parameters),
        posonlyargcount=0,
        kwonlyargcount=0,
        flags=code.flags & ~(CO_VARARGS | CO_VARKEYWORDS),
        varnames=(*parameters, *others),
        entry=entry,
        order=tuple(name for name in ranks(code) if not name.startswith(".s")),
    )
    resumed = _without_unreached(resumed, shift - 1)
    used = {instr.arg for instr in resumed.instrs if OPCODES[instr.op].operand is Operand.CELL}
    resumed = replace(resumed, cellvars=tuple(name for name in code.cellvars if name in used))
    if resumed.instrs[shift - 1].target == shift:
        resumed = remove(resumed, {shift - 1})
    try:
        made = encode(resumed)
    except UnsupportedCode as error:
        raise UnsupportedResume(str(error)) from error
    remember_as(made, resumed)
    return made


def _is_before(instr: Instr, after: Instr) -> bool:
    return instr.op == "NOP" and instr.position == after.position != NO_POSITION


def _with_nop(code: Code, index: int, jump: int) -> Code:
    """With a NOP before instruction `index`, to which no jump but the prologue's leads, instruction `jump`."""

    def moved(place: int) -> int:
        return place + (place >= index)

    instrs = [instr if instr.target is None else replace(instr, target=moved(instr.target)) for instr in code.instrs]
    instrs[jump] = code.instrs[jump]
    instrs.insert(index, _before(code, index))
    entries = (
        ExceptionEntry(
            entry.start + (entry.start > index),
            entry.end + (entry.end > index),
            *(moved(entry.target), entry.depth, entry.lasti),
        )
        for entry in code.exceptions
    )
    return replace(code, instrs=tuple(instrs), exceptions=tuple(entries))


def _take(parameter: str, position: Position) -> list[Instr]:
    """Push a parameter and unbind it; spelled as `decode` does, so that what is encoded needs not be decoded."""
    if "LOAD_FAST_AND_CLEAR" in CACHES:
        return [Instr("LOAD_FAST_AND_CLEAR", parameter, position=position)]
    return [Instr(op, parameter, position=position) for op in ("LOAD_FAST", "DELETE_FAST")]
