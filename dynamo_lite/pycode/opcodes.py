"""The canonical opcodes: one row each, with what it takes from the stack and leaves there.

A row is name, stack effect, operand kind. Effects read bottom to top, ``"lhs rhs -- result"``; ``items[n]`` is as
many slots as ``_COUNTS["n"]`` says of the operand. An opcode whose slots are shuffled or peeked at names all of them:
a slot of one name on both sides holds the same reference after it (borrow.py).
A row of four has another effect on the edge of its jump. Rows exist once for all versions; what no source of a version
needs (say TO_BOOL before 3.13) does not occur there. The table is compared to ``dis.opmap`` and ``dis.stack_effect``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

from dynamo_lite.dataclass import dataclass


class Operand(Enum):
    """What ``Instr.arg`` holds."""

    NONE = "none"  # None
    CONST = "const"  # any object
    LOCAL = "local"  # name of a local variable
    CELL = "cell"  # name of a cell or free variable (code.free_operand)
    NAME = "name"  # name of a global, attribute, module
    SUPER = "super"  # (attribute name, whether super has two arguments in the source)
    COUNT = "count"  # int: how many, how deep
    NUMBER = "number"  # int: a mode, as CPython numbers it
    FLAG = "flag"  # bool
    OPERATOR = "operator"  # str: "+", "+=", "<", "is not", "not in", ...
    UNPACK = "unpack"  # (names before the star, names after it)
    CONVERSION = "conversion"  # "str", "repr" or "ascii"
    FORMAT = "format"  # (conversion or None, whether there is a format spec)
    TARGET = "target"  # None: see Instr.target


N, CONST, LOCAL, CELL, NAME, SUPER = (
    Operand.NONE,
    Operand.CONST,
    Operand.LOCAL,
    Operand.CELL,
    Operand.NAME,
    Operand.SUPER,
)
COUNT, NUMBER, FLAG, OPERATOR, UNPACK = Operand.COUNT, Operand.NUMBER, Operand.FLAG, Operand.OPERATOR, Operand.UNPACK
TARGET = Operand.TARGET

_COUNTS: dict[str, Callable[[Any], int]] = {
    "n": lambda arg: arg,
    "2n": lambda arg: 2 * arg,
    "n-1": lambda arg: arg - 1,
    "n-2": lambda arg: arg - 2,
    "flag": lambda arg: int(arg),
    "before": lambda arg: arg[0],
    "after": lambda arg: arg[1],
    "has_spec": lambda arg: int(arg[1]),
    "has_defaults": lambda arg: arg & 1,
    "has_kwdefaults": lambda arg: arg >> 1 & 1,
    "has_annotations": lambda arg: arg >> 2 & 1,
    "has_closure": lambda arg: arg >> 3 & 1,
    "has_annotate": lambda arg: arg >> 4 & 1,
}

_ROWS: tuple[tuple[str, str, Operand] | tuple[str, str, Operand, str], ...] = (
    # Stack
    ("NOP", "--", N),  # a line of its own (`pass`), or a jump target
    ("POP_TOP", "value --", N),
    ("PUSH_NULL", "-- null", N),
    ("COPY", "value rest[n-1] -- value rest[n-1] copy", COUNT),
    ("SWAP", "bottom rest[n-2] top -- top rest[n-2] bottom", COUNT),
    # Variables
    ("LOAD_CONST", "-- value", CONST),
    ("LOAD_FAST", "-- value", LOCAL),
    ("LOAD_FAST_CHECK", "-- value", LOCAL),  # 3.12: the local may be unbound, which raises; 3.11: LOAD_FAST does both
    ("LOAD_FAST_AND_CLEAR", "-- value_or_null", LOCAL),  # saves the local that an inlined comprehension hides
    ("STORE_FAST", "value_or_null --", LOCAL),
    ("DELETE_FAST", "--", LOCAL),
    ("MAKE_CELL", "--", CELL),
    ("STORE_CELL", "cell --", CELL),  # no compiler's: puts a cell in place of the one that MAKE_CELL made (resume.py)
    ("LOAD_CLOSURE", "-- cell", CELL),
    ("LOAD_DEREF", "-- value", CELL),
    ("STORE_DEREF", "value --", CELL),
    ("DELETE_DEREF", "--", CELL),
    ("LOAD_CLASSDEREF", "-- value", CELL),
    ("LOAD_FROM_DICT_OR_DEREF", "mapping -- value", CELL),
    ("LOAD_GLOBAL", "-- value", NAME),
    ("STORE_GLOBAL", "value --", NAME),
    ("DELETE_GLOBAL", "--", NAME),
    ("LOAD_NAME", "-- value", NAME),
    ("STORE_NAME", "value --", NAME),
    ("DELETE_NAME", "--", NAME),
    ("LOAD_LOCALS", "-- mapping", N),
    ("LOAD_FROM_DICT_OR_GLOBALS", "mapping -- value", NAME),
    ("SETUP_ANNOTATIONS", "--", N),
    # Attributes and items
    ("LOAD_ATTR", "owner -- value", NAME),
    ("STORE_ATTR", "value owner --", NAME),
    ("DELETE_ATTR", "owner --", NAME),
    ("LOAD_METHOD", "owner -- first second", NAME),  # method, self; or the attribute and NULL (null_below_callable)
    ("LOAD_SUPER_ATTR", "super class self -- value", SUPER),
    ("LOAD_SUPER_METHOD", "super class self -- first second", SUPER),
    ("BINARY_SUBSCR", "container key -- value", N),
    ("STORE_SUBSCR", "value container key --", N),
    ("DELETE_SUBSCR", "container key --", N),
    # Operators
    ("BINARY_OP", "lhs rhs -- result", OPERATOR),
    ("COMPARE_OP", "lhs rhs -- result", OPERATOR),
    ("IS_OP", "lhs rhs -- result", OPERATOR),
    ("CONTAINS_OP", "item container -- result", OPERATOR),
    ("UNARY_NEGATIVE", "value -- result", N),
    ("UNARY_POSITIVE", "value -- result", N),
    ("UNARY_NOT", "value -- result", N),
    ("UNARY_INVERT", "value -- result", N),
    ("TO_BOOL", "value -- result", N),  # 3.13, rare: where its jump stands elsewhere
    # Containers and strings
    ("BUILD_TUPLE", "items[n] -- tuple", COUNT),
    ("BUILD_LIST", "items[n] -- list", COUNT),
    ("BUILD_SET", "items[n] -- set", COUNT),
    ("BUILD_MAP", "items[2n] -- dict", COUNT),
    ("BUILD_CONST_KEY_MAP", "values[n] keys -- dict", COUNT),
    ("BUILD_SLICE", "parts[n] -- slice", COUNT),
    ("BUILD_STRING", "parts[n] -- string", COUNT),
    ("LIST_APPEND", "list rest[n-1] item -- list rest[n-1]", COUNT),
    ("SET_ADD", "set rest[n-1] item -- set rest[n-1]", COUNT),
    ("MAP_ADD", "dict rest[n-1] key value -- dict rest[n-1]", COUNT),
    ("LIST_EXTEND", "list rest[n-1] iterable -- list rest[n-1]", COUNT),
    ("SET_UPDATE", "set rest[n-1] iterable -- set rest[n-1]", COUNT),
    ("DICT_UPDATE", "dict rest[n-1] mapping -- dict rest[n-1]", COUNT),
    # Of a call with `**`: where a name comes twice, the message has the name of the callable below (CALL_FUNCTION_EX).
    ("DICT_MERGE", "first second args dict rest[n-1] mapping -- first second args dict rest[n-1]", COUNT),
    ("LIST_TO_TUPLE", "list -- tuple", N),
    ("UNPACK_SEQUENCE", "iterable -- items[n]", COUNT),  # the first item on top
    ("UNPACK_EX", "iterable -- right[after] list left[before]", UNPACK),  # left's and right's first items on top
    ("FORMAT_VALUE", "value spec[has_spec] -- string", Operand.FORMAT),
    ("CONVERT_VALUE", "value -- string", Operand.CONVERSION),  # 3.13, where FORMAT_VALUE does not follow at once
    ("BUILD_INTERPOLATION", "value text spec[has_spec] -- interpolation", Operand.FORMAT),
    ("BUILD_TEMPLATE", "strings interpolations -- template", N),
    # Calls and functions. `first second` is NULL and the callable or the callable and NULL (null_below_callable), or a
    # function and the object it is called with first.
    ("CALL", "first second args[n] -- result", COUNT),
    ("CALL_KW", "first second args[n] names -- result", COUNT),
    ("CALL_FUNCTION_EX", "first second args kwargs[flag] -- result", FLAG),
    (
        "MAKE_FUNCTION",
        "defaults[has_defaults] kwdefaults[has_kwdefaults] annotations[has_annotations] annotate[has_annotate]"
        " closure[has_closure] code -- function",
        NUMBER,
    ),
    ("SET_FUNCTION_ATTRIBUTE", "value function -- function", NUMBER),  # 3.13, apart from its MAKE_FUNCTION
    ("LOAD_BUILD_CLASS", "-- build_class", N),
    ("LOAD_ASSERTION_ERROR", "-- type", N),
    ("RETURN_VALUE", "value --", N),
    # Jumps
    ("JUMP", "--", TARGET),
    ("JUMP_NO_INTERRUPT", "--", TARGET),
    ("POP_JUMP_IF_TRUE", "value --", TARGET),  # tests the truth of any object
    ("POP_JUMP_IF_FALSE", "value --", TARGET),
    ("POP_JUMP_IF_NONE", "value --", TARGET),
    ("POP_JUMP_IF_NOT_NONE", "value --", TARGET),
    ("GET_ITER", "iterable -- iterator", N),
    ("FOR_ITER", "iterator -- iterator value", TARGET, "iterator --"),
    ("POP_ITER", "iterator --", N),  # 3.14: the POP_TOP of a `break`
    # Imports, patterns
    ("IMPORT_NAME", "level fromlist -- module", NAME),
    ("IMPORT_FROM", "module -- module value", NAME),
    ("IMPORT_STAR", "module -- none", N),
    ("PRINT_EXPR", "value -- none", N),
    ("GET_LEN", "subject -- subject length", N),
    ("MATCH_MAPPING", "subject -- subject result", N),
    ("MATCH_SEQUENCE", "subject -- subject result", N),
    ("MATCH_KEYS", "subject keys -- subject keys values", N),
    ("MATCH_CLASS", "subject class names -- attributes", COUNT),
    # Exceptions and with
    ("PUSH_EXC_INFO", "exception -- previous exception", N),
    ("POP_EXCEPT", "previous --", N),
    ("CHECK_EXC_MATCH", "exception type -- exception result", N),
    ("CHECK_EG_MATCH", "exception type -- rest match", N),
    ("PREP_RERAISE_STAR", "original exceptions -- exception", N),
    ("RAISE_VARARGS", "exception_cause[n] --", COUNT),
    ("RERAISE", "exception --", NUMBER),  # arg 1: restores f_lasti from the slot below those of the handler
    ("BEFORE_WITH", "manager -- exit value", N),
    ("WITH_EXCEPT_START", "exit lasti previous exception -- exit lasti previous exception result", N),
    # 3.14: exit is a function and the manager it is called with, or any callable and NULL; BEFORE_WITH's is bound.
    ("BEFORE_WITH_SELF", "manager -- exit manager value", N),
    (
        "WITH_EXCEPT_START_SELF",
        "exit self lasti previous exception -- exit self lasti previous exception result",
        N,
    ),
    # Generators and coroutines
    ("RETURN_GENERATOR", "-- sent", N),
    ("YIELD_VALUE", "value -- sent", NUMBER),
    ("RESUME", "--", NUMBER),  # after a yield; the one at a function's entry is the codec's
    ("SEND", "receiver value -- receiver result", TARGET),
    ("SEND_OR_POP", "receiver value -- receiver result", TARGET, "receiver value -- result"),  # SEND of 3.11
    ("END_SEND", "receiver value -- value", N),
    ("CLEANUP_THROW", "receiver sent exception -- none value", N),
    ("GET_YIELD_FROM_ITER", "iterable -- iterator", N),
    ("GET_AWAITABLE", "value -- awaitable", NUMBER),
    ("GET_AITER", "iterable -- iterator", N),
    ("GET_ANEXT", "iterator -- iterator awaitable", N),
    ("END_ASYNC_FOR", "iterator exception --", N),
    ("BEFORE_ASYNC_WITH", "manager -- exit awaitable", N),
    ("BEFORE_ASYNC_WITH_SELF", "manager -- exit manager awaitable", N),  # 3.14
    ("ASYNC_GEN_WRAP", "value -- wrapped", N),
    ("STOPITERATION_ERROR", "exception -- converted", N),
    # Type parameters
    ("TYPEVAR", "name -- typevar", N),
    ("PARAMSPEC", "name -- paramspec", N),
    ("TYPEVARTUPLE", "name -- typevartuple", N),
    ("SUBSCRIPT_GENERIC", "parameters -- generic", N),
    ("TYPEALIAS", "parts -- alias", N),
    ("TYPEVAR_WITH_BOUND", "name bound -- typevar", N),
    ("TYPEVAR_WITH_CONSTRAINTS", "name constraints -- typevar", N),
    ("SET_FUNCTION_TYPE_PARAMS", "function parameters -- completed", N),
    ("SET_TYPEPARAM_DEFAULT", "parameter default -- completed", N),
)


@dataclass(frozen=True, slots=True)
class Slot:
    """A named part of a stack effect: one slot, or ``count(operand)`` slots."""

    name: str
    count: Callable[[Any], int] | None

    def size(self, arg: Any) -> int:
        """How many stack slots this is for an instruction with operand `arg`."""
        return 1 if self.count is None else self.count(arg)


@dataclass(frozen=True, slots=True)
class Effect:
    """A parsed stack effect; both sides are listed bottom to top. takes, leaves: how many slots, if that is fixed."""

    text: str
    pops: tuple[Slot, ...]
    pushes: tuple[Slot, ...]
    takes: int | None
    leaves: int | None

    def popped(self, arg: Any) -> int:
        """How many slots an instruction with operand `arg` takes."""
        return _total(self.pops, arg) if self.takes is None else self.takes

    def pushed(self, arg: Any) -> int:
        """How many slots an instruction with operand `arg` leaves."""
        return _total(self.pushes, arg) if self.leaves is None else self.leaves


def _total(slots: tuple[Slot, ...], arg: Any) -> int:
    total = 0
    for slot in slots:
        total += 1 if slot.count is None else slot.count(arg)
    return total


@dataclass(frozen=True, slots=True)
class Opcode:
    """A row: ``ends`` says that the next instruction is not reached by falling through."""

    name: str
    effect: Effect
    jump_effect: Effect
    operand: Operand
    ends: bool


_ENDS = frozenset({"RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "JUMP", "JUMP_NO_INTERRUPT"})


@cache  # many effects are alike
def _slots(side: str) -> tuple[Slot, ...]:
    slots = []
    for word in side.split():
        name, bracket, count = word.partition("[")
        slots.append(Slot(name, _COUNTS[count.rstrip("]")] if bracket else None))
    return tuple(slots)


@cache
def _effect(text: str) -> Effect:
    pops, _, pushes = text.partition("--")
    before, after = _slots(pops), _slots(pushes)
    return Effect(text, before, after, _number(before), _number(after))


def _number(side: tuple[Slot, ...]) -> int | None:
    return len(side) if all(slot.count is None for slot in side) else None


def _opcode(name: str, effect: str, operand: Operand, jump_effect: str | None = None) -> Opcode:
    return Opcode(name, _effect(effect), _effect(jump_effect or effect), operand, name in _ENDS)


OPCODES: dict[str, Opcode] = {row[0]: _opcode(*row) for row in _ROWS}
"""Every canonical opcode by name."""

BINARY_OPERATORS = (
    *("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"),
    *("+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=", ">>=", "-=", "/=", "^="),
)
COMPARE_OPERATORS = ("<", "<=", "==", "!=", ">", ">=")
IS_OPERATORS = ("is", "is not")
CONTAINS_OPERATORS = ("in", "not in")
CONVERSIONS = (None, "str", "repr", "ascii")

# What each opcode with an OPERATOR operand numbers natively. BINARY_OPERATORS follow Include/opcode.h's NB_*.
OPERATORS: dict[str, tuple[str, ...]] = {
    "BINARY_OP": BINARY_OPERATORS,
    "COMPARE_OP": COMPARE_OPERATORS,
    "IS_OP": IS_OPERATORS,
    "CONTAINS_OP": CONTAINS_OPERATORS,
}

# What leaves a bool, so that no TO_BOOL is due before a jump (3.13).
YIELDS_BOOL = frozenset(
    {"IS_OP", "CONTAINS_OP", "UNARY_NOT", "TO_BOOL", "CHECK_EXC_MATCH", "MATCH_MAPPING", "MATCH_SEQUENCE"}
)

INVERSE_CONDITIONS = {
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}
