"""What residual code runs besides the instruction that broke the graph: a few that follow, and plain statements, calls
of what is not captured and nothing else.

Enters: the instruction that breaks the graph, or one after it. Leaves: where the statement there ends, if residual code
may as well run all of it. ``plt.cla(); ax.set_title(name, size=9); sys.stdout.flush()`` break one after the other; each
segment that did nothing but hand control on would cost a capture, and a dispatch in each call.

INVARIANT: this decides what is captured, never what is computed: residual code is the user's own instructions.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from dynamo_lite import policy
from dynamo_lite._C import names_are_plain, own_attribute
from dynamo_lite.capture.value import (
    ArrayValue,
    ConstantValue,
    IteratorValue,
    LazyValue,
    NullValue,
    ObjectValue,
    TextValue,
    Value,
)
from dynamo_lite.capture.wrap import MISSING, class_lookup
from dynamo_lite.module_names import module_of, name_of
from dynamo_lite.pycode import OPCODES, Code, Instr, handlers_at

# Instructions that residual code goes on with behind a break, because ending the segment there would only cost time.
_EXTEND = frozenset(
    {"POP_TOP", "JUMP", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "TO_BOOL"}
    | {"POP_ITER", "UNARY_NOT", "STORE_FAST", "FOR_ITER", "GET_ITER", "NOP", "RETURN_VALUE"}
)
_EXTEND_FORMAT = frozenset({"FORMAT_VALUE", "CONVERT_VALUE", "BUILD_STRING", "LOAD_CONST"})
_RETURN_TAIL = frozenset(
    {"LOAD_FAST", "LOAD_CONST", "BUILD_TUPLE", "RETURN_VALUE", "NOP", "SWAP", "POP_TOP", "POP_ITER"}
)
_LONGEST_TAIL = 8
_LONGEST = 100  # instructions
# What makes arguments, parts of arrays among them, and computes nothing.
_BUILDS = frozenset(
    {"BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_SLICE", "BINARY_SUBSCR"}
)
_ARRAY = object()  # an array, or a tuple with one: what is indexed by it is computed
_KNOWN = policy.KNOWN_MODULES
_OURS = object()  # what may be captured, or is not known
_FOREIGN = object()  # what a foreign object has, or gives
_NULL = object()


def extends(code: Code, index: int, formatting: bool) -> bool:
    """Whether residual code runs instruction `index` after the one that broke the graph. formatting: of a string."""
    if handlers_at(code, index) is not None:
        return False
    instrs = code.instrs
    op = instrs[index].op
    if op in _EXTEND or (formatting and (op in _EXTEND_FORMAT or op == "CALL")):
        return True
    for ahead in range(index, min(index + _LONGEST_TAIL, len(instrs))):
        if instrs[ahead].op == "RETURN_VALUE":
            return True
        if instrs[ahead].op not in _RETURN_TAIL:
            return False
    return False


def plain_statement(
    code: Code,
    index: int,
    namespace: Mapping[str, Any],
    variables: Mapping[str, Any],
    before: Sequence[Value] = (),
    handled: bool = False,
) -> tuple[int, int] | None:
    """The instruction after the statement of which `index` is part, and how many values it leaves on the stack, those
    of loops around; None where it may hold something to capture.

    variables: what is known of locals. before: what is on the stack. handled: also where exceptions are handled."""
    stack = [known(value) for value in before]
    computes = calls = False
    under = len(list(takewhile(_is_of_loop, before)))
    for at in range(index, min(index + _LONGEST, len(code.instrs))):
        instr = code.instrs[at]
        if (not handled and handlers_at(code, at) is not None) or instr.target is not None:
            return None
        effect = OPCODES[instr.op].effect
        popped = effect.popped(instr.arg)
        if popped > len(stack) - under:
            return None
        if _loads(instr, stack, namespace, variables):
            continue
        match instr.op:
            case "CALL" | "CALL_KW":
                if not is_foreign(_called(stack[len(stack) - popped :])):
                    return None
                del stack[-popped:]
                stack.append(_FOREIGN)
                calls = True
            case "LIST_EXTEND" if instr.arg == 1:
                del stack[-1]
            case "UNPACK_SEQUENCE":
                stack[-1:] = [_OURS] * instr.arg
            case "POP_TOP" | "STORE_FAST":
                del stack[-1]
                if len(stack) == under:
                    return None if computes and not calls else (at + 1, under)
            case _ if instr.op in _BUILDS:
                parts = stack[len(stack) - popped :]
                computes = computes or (instr.op == "BINARY_SUBSCR" and _is_array(parts[1]))
                del stack[len(stack) - popped :]
                stack.append(_ARRAY if instr.op == "BUILD_TUPLE" and any(map(_is_array, parts)) else _OURS)
            case _:
                return None
    return None


def plain_call_ahead(
    code: Code, index: int, namespace: Mapping[str, Any], variables: Mapping[str, Any]
) -> tuple[int, Any] | None:
    """The call of what is not captured to which what begins at `index` is certain to come, whatever it computes first,
    and what that calls; None where none is known.

    variables: what is known of locals."""
    stack: list[Any] = []
    for at in range(index, min(index + _LONGEST, len(code.instrs))):
        instr = code.instrs[at]
        effect = OPCODES[instr.op].effect
        popped = effect.popped(instr.arg)
        if handlers_at(code, at) is not None or instr.target is not None or OPCODES[instr.op].ends:
            return None
        if popped > len(stack):
            return None
        if _loads(instr, stack, namespace, variables):
            continue
        taken = stack[len(stack) - popped :]
        if instr.op in ("CALL", "CALL_KW") and is_foreign(_called(taken)):
            return at, _called(taken)
        stack[len(stack) - popped :] = [_OURS] * effect.pushed(instr.arg)
    return None


def _loads(instr: Instr, stack: list[Any], namespace: Mapping[str, Any], variables: Mapping[str, Any]) -> bool:
    """Do what an instruction does to the stack that only loads something; False for any other."""
    match instr.op:
        case "LOAD_GLOBAL":
            stack.append(_global(namespace, instr.arg))
        case "LOAD_FAST":
            stack.append(variables.get(instr.arg, _OURS))
        case "LOAD_CONST":
            stack.append(_OURS)
        case "PUSH_NULL":
            stack.append(_NULL)
        case "NOP":
            pass
        case "LOAD_ATTR":
            stack.append(_attribute(stack.pop(), instr.arg))
        case "LOAD_METHOD":
            found = _attribute(stack.pop(), instr.arg)
            stack += [found, found]
        case "SWAP":
            stack[-1], stack[-instr.arg] = stack[-instr.arg], stack[-1]
        case _:
            return False
    return True


def _called(slots: list[Any]) -> Any:
    """What a call calls: there is a null on either side of it, or it is a method with its object behind it."""
    return slots[slots[0] is _NULL]


def known(value: Value) -> Any:
    """The object that a value stands for, as far as it is one from outside."""
    match value:
        case NullValue():
            return _NULL
        case TextValue():
            return _OURS  # NB: its value would be guarded
        case ConstantValue():
            return value.value
        case LazyValue(known=None) | ObjectValue():
            return value.concrete
        case LazyValue():
            return known(value.known) if value.known is not None else _OURS
        case ArrayValue() if value.node.array_type.ndim:
            return _ARRAY
        case _:
            return _OURS


def _is_array(value: Any) -> bool:
    return value is _ARRAY or (type(value) is np.ndarray and value.ndim > 0)


def _is_of_loop(value: Value) -> bool:
    """Whether a value on the stack may be the iterator of a loop around; those are below all others."""
    is_lazy = isinstance(value, LazyValue) and class_lookup(type(value.concrete), "__next__") is not MISSING
    return is_lazy or isinstance(value, IteratorValue)


def _global(namespace: Mapping[str, Any], name: str) -> Any:
    if not names_are_plain(namespace):
        return _OURS
    if name in namespace:
        return namespace[name]
    return print if name == "print" else _OURS


def _attribute(owner: Any, name: str) -> Any:
    """An attribute as far as it is known without running code; capture does not run the user's ``__getattr__``."""
    if owner is _OURS or owner is _ARRAY or issubclass(type(owner), type) or not names_are_plain(owner):
        return _OURS
    if issubclass(type(owner), types.ModuleType):
        return vars(owner).get(name, _FOREIGN)
    if is_foreign(owner):
        return _FOREIGN
    cls = type(owner)
    is_asked = class_lookup(cls, "__getattr__") is not MISSING and class_lookup(cls, name) is MISSING
    return _FOREIGN if is_asked and own_attribute(owner, name, MISSING) is MISSING else _OURS


def is_foreign(value: Any) -> bool:
    """Whether a call of `value`, or of an attribute of it, is certain to break the graph."""
    if value is _FOREIGN or value is print:
        return True
    kind = type(value)  # NB: isinstance would ask an object of the user's for its __class__
    if value is _OURS or value is _ARRAY or issubclass(kind, np.ufunc):
        return False
    if issubclass(kind, types.ModuleType):
        module = name_of(value)
    elif issubclass(kind, type | types.FunctionType | types.BuiltinFunctionType):
        module = module_of(value) or "builtins"
    else:
        module = module_of(kind)
    if module.partition(".")[0] in _KNOWN or module == "__main__":
        return False
    if issubclass(kind, types.FunctionType):
        return not policy.is_looked_at(value.__code__.co_filename, module)
    within = value if issubclass(kind, types.ModuleType) else sys.modules.get(module)
    if within is None:
        return False  # a module that was not imported in the usual way
    file = getattr(within, "__file__", None)
    return file is None or not policy.is_looked_at(file, module)
