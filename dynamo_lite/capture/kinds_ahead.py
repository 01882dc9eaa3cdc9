"""Which locals begin as ints and are something else after any iteration of a loop, by its instructions alone.

Enters a frame in front of a loop. Leaves the names: of the sum that begins as ``s = 0`` and grows by ``x[i]``, of the
time that begins as ``t = 0`` and grows by ``dt``. One iteration of such a loop runs before it; what has been traced of
it until that was found would have to be traced again. NB: a guess; nothing rests on its being right.
"""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np

from dynamo_lite._C import names_are_plain
from dynamo_lite.capture.loop_code import always_run
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.value import ArrayValue, ConstantValue, LazyValue, NullValue, NumberValue, Value
from dynamo_lite.graph.scalar import kind_of
from dynamo_lite.pycode import OPCODES, Instr

_INT, _OTHER, _NULL = object(), object(), object()  # kinds: an int, a number or array that is none, a null
_FLOATS = frozenset(
    getattr(math, name) for name in ("sqrt", "sin", "cos", "tan", "atan", "atan2", "exp", "log", "log10", "pow")
)
_CALLED = (
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(np.ufunc, type(np.sum)),
)
_PLAIN = frozenset({np.shape, np.size, np.ndim})  # which make no NumPy scalars or arrays


def differing_after(frame: Frame, loop: frozenset[int], header: int) -> str | None:
    """A local that begins as an int, and is none after any iteration; None where none is known to be."""
    code, always = frame.code, always_run(frame.code, loop, header)
    places = [at for at in sorted(loop) if code.instrs[at].op == "STORE_FAST" and always >> at & 1]
    found = (code.instrs[at].arg for at in places)
    ints = {name for name in found if name in frame.locals and _kind_of(frame.locals[name]) is _INT}
    if not ints:
        return None
    locals_ = {name: _kind_of(value) for name, value in frame.locals.items()}
    stack: list[Any] = []
    for at in range(min(loop), max(places) + 1):
        instr = code.instrs[at]
        popped = OPCODES[instr.op].effect.popped(instr.arg)
        if popped > len(stack):  # those of before, or of another way
            stack[:0] = [None] * (popped - len(stack))
        if instr.op == "STORE_FAST":
            locals_[instr.arg] = stack.pop()
            if instr.arg in ints and locals_[instr.arg] is _OTHER and always >> at & 1 and at in loop:
                return str(instr.arg)
            continue
        taken = stack[len(stack) - popped :]
        stack[len(stack) - popped :] = _made(instr, taken, locals_, frame)
    return None


def _made(instr: Instr, taken: list[Any], locals_: dict[str, Any], frame: Frame) -> list[Any]:
    """What an instruction leaves on the stack in place of what it takes."""
    match instr.op:
        case "LOAD_FAST" | "LOAD_FAST_CHECK":
            return [locals_.get(instr.arg)]
        case "LOAD_CONST":
            return [_known(instr.arg)]
        case "LOAD_GLOBAL":
            plain = names_are_plain(frame.namespace) and names_are_plain(frame.builtins)
            return [_known(frame.namespace.get(instr.arg, frame.builtins.get(instr.arg))) if plain else None]
        case "PUSH_NULL":
            return [_NULL]
        case "LOAD_ATTR":
            return [_attribute(taken[0], instr.arg)]
        case "LOAD_METHOD":
            method = _OTHER if taken[0] is _OTHER else _attribute(taken[0], instr.arg)
            return [method, method]
        case "UNARY_NEGATIVE":
            return taken
        case "BINARY_OP":
            is_int = taken[0] is _INT and taken[1] is _INT and instr.arg not in ("/", "/=")
            return [_INT if is_int else _OTHER if _OTHER in taken or taken == [_INT, _INT] else None]
        case "BINARY_SUBSCR":
            return [_OTHER if taken[0] is _OTHER else None]
        case "CALL":
            return [_result(taken[taken[0] is _NULL])]
    return [None] * OPCODES[instr.op].effect.pushed(instr.arg)


def _kind_of(value: Value | None) -> Any:
    match value:
        case NullValue():
            return _NULL
        case ConstantValue():
            return _known(value.value)
        case LazyValue():
            return _known(value.concrete) if value.known is None else _kind_of(value.known)
        case NumberValue():
            return {"int": _INT, "bool": None}.get(kind_of(value.expr), _OTHER)
        case ArrayValue():
            return _OTHER
    return None


def _known(found: Any) -> Any:
    """The kind of a number or array; a module or function as it is."""
    kind = type(found)
    if kind is int:
        return _INT
    if kind in (float, complex, np.ndarray) or (issubclass(kind, np.generic) and kind is not np.bool_):
        return _OTHER
    return found if issubclass(kind, _CALLED) or found is float else None


def _attribute(owner: Any, name: str) -> Any:
    is_module = issubclass(type(owner), types.ModuleType) and names_are_plain(owner)
    return _known(vars(owner).get(name)) if is_module else None


def _result(called: Any) -> Any:
    """The kind of what a call of a function of NumPy's or math's, or of a method of an array, gives back."""
    if called is _OTHER or called is float:
        return _OTHER
    try:
        is_float = called in _FLOATS
    except TypeError:
        return None
    is_numpy = (getattr(called, "__module__", None) or "").partition(".")[0] == "numpy" or type(called) is np.ufunc
    return _OTHER if is_float or (is_numpy and called not in _PLAIN) else None
