"""What loops do, as far as their code tells: which of them win nearly all of their time when they are compiled.

Enters a loop's instructions and the names that they load; leaves a LoopKind. Nothing is run.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dynamo_lite import policy
from dynamo_lite._C import class_of
from dynamo_lite.dataclass import dataclass
from dynamo_lite.module_names import module_of, name_of
from dynamo_lite.pycode import Code, Loop, decoded, is_comprehension, successors

OF_ARRAYS, OF_NUMBERS, OF_ELEMENTS = 1, 2, 3
_NOTHING: Mapping[str, Any] = types.MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LoopKind:
    """What a loop does, and the user's functions that it calls: OF_NUMBERS, nothing but compute with numbers and
    elements of arrays, and append to lists; OF_ELEMENTS, nor does it call NumPy, but for ufuncs where its variables
    hold no arrays, so that it makes none; OF_ARRAYS, it computes with arrays, of which it may make small ones of
    numbers; 0, it does something else.

    operations: how many there are in its code.
    """

    kind: int
    operations: int = 0


def kind_of(code: Code, loop: Loop, names: Mapping[str, Any], values: Mapping[str, Any] = _NOTHING) -> LoopKind:
    """The kind of a loop. names: the globals of its function; values: what its variables hold, if that is known."""
    seldom = _seldom(code, loop)
    found = _operations_of(code, [index for index in loop.body if index not in seldom], names, values, 2, {})
    if found is None or found.keys().isdisjoint(("BINARY_OP", "COMPARE_OP")):
        return LoopKind(0)
    if _loads_long(code, loop, names, values):
        return LoopKind(0)
    if "BINARY_OP" not in found and not _loads_numbers(code, loop, names, values):
        return LoopKind(0)  # what it compares may be anything
    count = sum(found[name] for name in _COUNTED)
    is_of_numbers = not found.keys().isdisjoint(_OF_NUMBERS) or _loads_numbers(code, loop, names, values)
    if is_of_numbers and found.keys().isdisjoint(_NOT_OF_NUMBERS):
        makes_arrays = "NumPy" in found or ("ufunc" in found and _loads_arrays(code, loop, names, values))
        return LoopKind(OF_NUMBERS if makes_arrays else OF_ELEMENTS, count)
    is_of_arrays = ("NumPy" in found or "ufunc" in found) and found.keys().isdisjoint(_NOT_OF_ARRAYS)
    return LoopKind(OF_ARRAYS if is_of_arrays else 0, count)


def _seldom(code: Code, loop: Loop) -> set[int]:
    """The instructions that only some rounds of a loop run, under `if i % 100 == 0:` or `if not i % 100:`, where they
    call something: a loop that is compiled is left for these rounds."""
    found: set[int] = set()
    for index in loop.body:
        often, of = code.instrs[index - 1], code.instrs[index]
        if of.op != "BINARY_OP" or of.arg != "%" or (type(often.arg) is int and often.arg < _OFTEN):
            continue
        then = code.instrs[index + 1 : index + 4]
        is_compared = len(then) == 3 and then[1].op == "COMPARE_OP" and then[1].arg == "=="
        at = index + (3 if is_compared else 1)
        jump = code.instrs[at]
        if jump.op not in ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE") or jump.target is None:
            continue
        is_target = is_compared == (jump.op == "POP_JUMP_IF_TRUE")  # where the remainder is 0
        ways = (at + 1, jump.target) if is_target else (jump.target, at + 1)
        usual, under = (_ahead(code, loop, way) for way in ways)
        found.update(under - usual if any(code.instrs[place].op == "CALL" for place in under - usual) else ())
    return found


def _ahead(code: Code, loop: Loop, start: int) -> set[int]:
    """The instructions of a loop that a round may come to from `start` on."""
    seen: set[int] = set()
    ahead = [start]
    while ahead:
        index = ahead.pop()
        if index not in seen and index in loop.body and index != loop.header:
            seen.add(index)
            ahead.extend(successors(code, index))
    return seen


def _loads_numbers(code: Code, loop: Loop, names: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether the variables that a loop reads hold numbers, Python's or NumPy's, as far as they are known: then so do
    those that it makes of them."""
    kinds = set()
    for index in loop.body:
        instr = code.instrs[index]
        if instr.op in _LOADS and instr.op not in _GLOBALS:
            value = values.get(instr.arg)
            kinds.add(type(None) if callable(value) else class_of(value))
        elif instr.op in _GLOBALS and instr.arg in names:
            value = names[instr.arg]
            kinds.add(type(None) if _is_called(value) else class_of(value))
    kinds.discard(type(None))  # not bound yet, or None, of which nothing is computed
    return bool(kinds) and all(map(_is_number, kinds))


def _loads_arrays(code: Code, loop: Loop, names: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a variable that a loop reads may hold anything but numbers, lists and tuples that begin with numbers, and
    what is called. values: empty where nothing is known of locals."""
    for index in loop.body:
        instr = code.instrs[index]
        if instr.op in _LOADS and instr.op not in _GLOBALS and not values:
            return True
        where = names if instr.op in _GLOBALS else values
        value = where.get(instr.arg) if instr.op in _LOADS else None
        value = value[0] if class_of(value) in (list, tuple) and value else value
        kind = class_of(value)
        if not (value is None or kind in (str, list, tuple) or _is_called(value) or _is_number(kind)):
            return True
    return False


def _loads_long(code: Code, loop: Loop, names: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a loop computes with ints of 64 bits or more, as a random number generator that is written out may."""
    for index in loop.body:
        instr = code.instrs[index]
        where = names if instr.op in _GLOBALS else values
        value = instr.arg if instr.op == "LOAD_CONST" else where.get(instr.arg) if instr.op in _LOADS else None
        if type(value) is int and value.bit_length() >= 64:
            return True
    return False


def _is_number(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return kind in (int, float, complex, bool) or (numpy is not None and issubclass(kind, numpy.number))


Found: TypeAlias = "Counter[str] | None"


def _operations_of(
    code: Code,
    body: Iterable[int],
    names: Mapping[str, Any],
    values: Mapping[str, Any],
    deep: int,
    known: dict[tuple[Any, int], Found],
) -> Found:
    """The opcodes of some instructions, and of functions that they load, and "ufunc" where they call one of NumPy's,
    "NumPy" where they use anything else of that, or `@`, "print" where they print; None where these load anything but
    modules of numbers, and functions. A variable that functions share is one like any other in the function that makes
    it, and where `values` tells what it holds. known: the same of whole functions, by how deep they are looked into."""
    found: Counter[str] = Counter()
    for index in body:
        instr = code.instrs[index]
        value = values.get(instr.arg) if instr.op in _LOADS else None
        is_given = instr.op not in _GLOBALS and type(value) is types.FunctionType  # as an argument, maybe
        if is_given or (instr.op in _GLOBALS and instr.arg in names):
            value = value if is_given else names[instr.arg]
            if not (computes(value) or _is_of_python(value)):
                return None
            if computes(value) and type(value) is not types.FunctionType and _is_called(value):
                found["ufunc" if _is_ufunc(code, index, value) else "NumPy"] += 1
            if type(value) is types.FunctionType and deep:
                called, at = decoded(value.__code__), (value, deep)
                if at not in known:
                    whole = range(len(called.instrs))
                    known[at] = _operations_of(called, whole, value.__globals__, shared(value), deep - 1, known)
                found += known[at] or Counter()
        elif instr.op in _GLOBALS and instr.arg == "print":
            found["print"] += 1
        if instr.op == "BINARY_OP" and instr.arg in ("@", "@="):
            found["NumPy"] += 1
        module = _module_before(code, index, names) if instr.op == "LOAD_METHOD" else None
        if module is not None and name_of(module) == "numpy.linalg":
            found["CALL"] += _OF_MATRICES
        if instr.op == "LOAD_METHOD" and instr.arg in _OF_SMALL_ARRAYS:
            found["method"] += 1
        elif not (
            (instr.op == "LOAD_METHOD" and (module is not None or instr.arg in _OF_NUMBERS_TOO))
            or (instr.op == "LIST_APPEND" and is_comprehension(code))
            or (instr.op == "BUILD_LIST" and code.instrs[index + 1].arg == "+=")  # an append
            or (instr.op == "LOAD_DEREF" and (instr.arg in code.cellvars or instr.arg in values))
        ):
            found[instr.op] += 1
    return found


def shared(function: types.FunctionType) -> dict[str, Any]:
    """What the variables hold, as far as they are bound, that a function shares with those around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: contents for name, cell in cells for contents in held_in(cell)}


def held_in(cell: types.CellType) -> list[Any]:
    """What a variable of several functions holds; nothing where it is not bound."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def _is_ufunc(code: Code, index: int, value: Any) -> bool:
    """Whether instruction `index`, which loads something of NumPy's, or the one behind it loads a ufunc or a number."""
    after = code.instrs[index + 1]
    if type(value) is types.ModuleType:
        value = vars(value).get(after.arg) if after.op in ("LOAD_ATTR", "LOAD_METHOD") else None
    return class_of(value) is float or class_of(value).__name__ == "ufunc"


def _module_before(code: Code, index: int, names: Mapping[str, Any]) -> types.ModuleType | None:
    """The module of which an instruction loads something: `math`, `np.linalg`."""
    before, first = code.instrs[index - 1], code.instrs[index - 2]
    value = names.get(before.arg) if before.op in _GLOBALS else None
    if before.op == "LOAD_ATTR" and first.op in _GLOBALS and type(names.get(first.arg)) is types.ModuleType:
        value = vars(names[first.arg]).get(before.arg)
    return value if type(value) is types.ModuleType else None


def _is_called(value: object) -> bool:
    """Whether it is a module or a function, not what is computed with."""
    return type(value) is types.ModuleType or callable(value)


def computes(value: object) -> bool:
    """Whether what a global name stands for may compute with arrays."""
    if type(value) is types.ModuleType:
        return name_of(value).partition(".")[0] == "numpy"
    if type(value) is types.FunctionType:
        return policy.is_looked_at(value.__code__.co_filename, module_of(value))
    return (_home(value) or module_of(class_of(value))).partition(".")[0] == "numpy"


def _home(value: Any) -> str:
    """The module that a function in C is of, or that the class is of which it is a method: `from numpy import zeros`,
    `from random import random`; "" of what is neither, as of methods of lists and the like."""
    if class_of(value) not in (types.BuiltinFunctionType, types.MethodType):
        return ""
    owner = value.__self__
    if owner is None or type(owner) is types.ModuleType:
        return module_of(value)
    of = module_of(class_of(owner))
    return "" if of == "builtins" else of


def _is_of_python(value: object) -> bool:
    """Whether it is a module of numbers, of it, or a function or value of Python's own."""
    if type(value) is types.ModuleType:
        return name_of(value) in _NUMBER_MODULES
    return not callable(value) or (_home(value) or module_of(value)) in ("builtins", *_NUMBER_MODULES)


_OFTEN = 10  # what a counter is divided by, below which what hangs on that is not seldom
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_LOADS = (*_GLOBALS, "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF")
_NUMBER_MODULES = ("math", "cmath", "random")
_OF_MATRICES = 5  # operations on small arrays that take as long as what np.linalg does before it computes
_OF_NUMBERS = frozenset(("BINARY_SUBSCR", "STORE_SUBSCR", "COMPARE_OP"))
_COUNTED = ("BINARY_OP", "CALL", "CALL_KW", "BINARY_SUBSCR", "STORE_SUBSCR", "COMPARE_OP", "UNARY_NEGATIVE")
_OF_NUMBERS_TOO = ("append", "conjugate")  # methods
_OF_SMALL_ARRAYS = frozenset(  # methods
    ("all", "any", "argmax", "argmin", "astype", "copy", "dot", "item", "max", "mean", "min", "prod", "std", "sum")
)

# What a loop of arrays does not do: call other methods, make containers or functions, handle exceptions, print.
_NOT_OF_ARRAYS = frozenset(
    (
        *("LOAD_METHOD", "CALL_FUNCTION_EX", "BUILD_MAP", "BUILD_SET", "LIST_APPEND", "MAKE_FUNCTION", "BEFORE_WITH"),
        *("PUSH_EXC_INFO", "IMPORT_NAME", "FORMAT_VALUE", "BUILD_STRING", "print"),
    )
)
# Nor one of numbers and elements, which also makes no lists.
_NOT_OF_NUMBERS = _NOT_OF_ARRAYS - {"print"} | {"method", "CALL_KW", "STORE_ATTR", "BUILD_LIST", "LOAD_DEREF"}


__all__ = ["OF_ARRAYS", "OF_ELEMENTS", "OF_NUMBERS", "LoopKind", "computes", "held_in", "kind_of", "shared"]
