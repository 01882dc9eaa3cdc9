"""Everything that differs between the CPython versions, as data; the only Python file that looks at the version.

Enters: sys.version_info. Leaves: ``FACTS`` (how this interpreter spells what decode.py and encode.py handle in code),
``SPELLINGS`` (native opcodes that are one or several canonical instructions), ``RISES`` (how much stack
canonical instructions need that are several native ones), ``INTRINSICS``, ``COMMON_CONSTANTS`` and ``NOT_IN_CODE``.
A new CPython is a row in ``_FACTS`` and rows in the tables; tests/pycode/test_opcodes.py lists what is missing.
Facts come from Python/bytecodes.c (ceval.c in 3.11), Python/compile.c and Python/flowgraph.c of each version.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass, replace

Natives = tuple[tuple[str, Any], ...]
"""Native opcodes and their arguments, what a LOAD_CONST loads among them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What one CPython version does its own way."""

    null_below_callable: bool  # NULL, callable, args...; from 3.13 callable, NULL, args...
    attr_method_bit: bool  # LOAD_ATTR's low bit makes it a LOAD_METHOD
    compare_shift: int  # COMPARE_OP's operator is arg >> compare_shift
    compare_masks: tuple[int, ...]  # low bits the specialised COMPARE_OP wants, by operator
    compare_bool_bit: int  # set in COMPARE_OP's arg: the result is converted to bool
    call_prefix: tuple[str, ...]  # natives with CALL's arg that stand right before each CALL
    kw_names: bool  # keyword names travel in KW_NAMES, not on the stack
    loop_exit: tuple[str, ...]  # natives at FOR_ITER's target, which an exhausted FOR_ITER jumps over
    boolean_jumps: bool  # POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE and UNARY_NOT want a bool: TO_BOOL comes first
    function_attributes: tuple[int, ...]  # SET_FUNCTION_ATTRIBUTE flags in order of attachment; (): MAKE_FUNCTION's
    closure_by_load_fast: bool  # LOAD_CLOSURE is spelled LOAD_FAST
    directed_conditions: bool  # conditional jumps exist FORWARD and BACKWARD; else they only go forward
    intrinsics: bool  # CALL_INTRINSIC_1 and CALL_INTRINSIC_2
    send_pops: bool  # SEND pops the receiver when it jumps; else END_SEND does
    conversion_in_format: bool  # FORMAT_VALUE converts and formats; else CONVERT_VALUE and FORMAT_SIMPLE
    documented_by_flag: int  # code flag that says consts[0] is the docstring; 0: when it is a str
    kwargs_always: bool  # CALL_FUNCTION_EX has no operand and takes a mapping or NULL
    small_ints: int  # LOAD_SMALL_INT loads the ints below it
    borrowing: bool  # LOAD_FAST_BORROW where the local outlives what is on the stack (borrow.py)
    branch_marks: bool  # NOT_TAKEN behind conditional jumps, and END_ASYNC_FOR names where the loop came from
    prefixes: bool  # code may stand before RESUME, unseen by tracers and tracebacks; tried on 3.11 alone
    test_at_bottom: bool  # a `while` is tested once more at its end (rotate.py)
    sequences: dict[tuple[str, object], Natives]  # canonical op and operand: natives in a row


# Canonical opcode and operand -> the natives that stand for it, in one place of the source.
_WITH = ((1, 0), (3, 2))  # __exit__ and __enter__, __aexit__ and __aenter__, as LOAD_SPECIAL numbers them
_SEQUENCES_OF_3_14: dict[tuple[str, object], Natives] = {
    ("BINARY_SUBSCR", None): (("BINARY_OP", 26),),
    ("LOAD_ASSERTION_ERROR", None): (("LOAD_COMMON_CONSTANT", 0),),
    ("CALL_FUNCTION_EX", False): (("PUSH_NULL", 0), ("CALL_FUNCTION_EX", 0)),
    ("WITH_EXCEPT_START_SELF", None): (("WITH_EXCEPT_START", 0),),
    # As before 3.14, with a bound method: only in code that was made here.
    ("BEFORE_WITH", None): (
        *(("COPY", 1), ("LOAD_SPECIAL", _WITH[0][0]), ("LOAD_CONST", _C.bound), ("SWAP", 3), ("CALL", 1)),
        *(("SWAP", 2), ("LOAD_SPECIAL", _WITH[0][1]), ("CALL", 0)),
    ),
    **{
        (op, None): (
            *(("COPY", 1), ("LOAD_SPECIAL", exit), ("SWAP", 2), ("SWAP", 3)),
            *(("LOAD_SPECIAL", enter), ("CALL", 0)),
        )
        for op, (exit, enter) in zip(("BEFORE_WITH_SELF", "BEFORE_ASYNC_WITH_SELF"), _WITH, strict=True)
    },
}

_FACTS = {
    (3, 11): Facts(
        null_below_callable=True,
        attr_method_bit=False,
        compare_shift=0,
        compare_masks=(0, 0, 0, 0, 0, 0),
        compare_bool_bit=0,
        call_prefix=("PRECALL",),
        kw_names=True,
        loop_exit=(),
        boolean_jumps=False,
        function_attributes=(),
        closure_by_load_fast=False,
        directed_conditions=True,
        intrinsics=False,
        send_pops=True,
        conversion_in_format=True,
        documented_by_flag=0,
        kwargs_always=False,
        small_ints=0,
        borrowing=False,
        branch_marks=False,
        prefixes=True,
        test_at_bottom=True,
        sequences={},
    ),
}
# Each version as the one before, but for what it changes.
_FACTS[3, 12] = replace(
    _FACTS[3, 11],
    prefixes=False,
    attr_method_bit=True,
    compare_shift=4,
    compare_masks=(2, 10, 8, 7, 4, 12),
    call_prefix=(),
    loop_exit=("END_FOR",),
    directed_conditions=False,
    intrinsics=True,
    send_pops=False,
)
_FACTS[3, 13] = replace(
    _FACTS[3, 12],
    null_below_callable=False,
    compare_shift=5,
    compare_bool_bit=16,
    kw_names=False,
    loop_exit=("END_FOR", "POP_TOP"),
    boolean_jumps=True,
    function_attributes=(8, 4, 2, 1),
    closure_by_load_fast=True,
    conversion_in_format=False,
    documented_by_flag=0x4000000,
)
_FACTS[3, 14] = replace(
    _FACTS[3, 13],
    loop_exit=("END_FOR", "POP_ITER"),
    function_attributes=(8, 4, 16, 2, 1),
    kwargs_always=True,
    small_ints=256,
    borrowing=True,
    branch_marks=True,
    test_at_bottom=False,
    sequences=_SEQUENCES_OF_3_14,
)

VERSION = ".".join(map(str, sys.version_info[:3]))

KNOWN = sys.version_info[:2] in _FACTS
"""Whether this CPython has a row. Without one nothing is captured (``_C.hook_refusal`` says why), and FACTS, the newest
row, only keeps the package importable."""

FACTS = _FACTS[sys.version_info[:2] if KNOWN else max(_FACTS)]

_cache_entries = dis._inline_cache_entries  # type: ignore[attr-defined]


def _rise(natives: Natives) -> int:
    """How far the stack grows, at most, while these run."""
    arguments = ((dis.opmap[op], arg if isinstance(arg, int) else 0) for op, arg in natives)
    effects = (dis.stack_effect(op, arg if op in dis.hasarg else None) for op, arg in arguments)  # type: ignore[attr-defined]
    return max(accumulate(effects))


RISES = {
    canonical: _rise(natives)
    for canonical, natives in FACTS.sequences.items()
    if all(op in dis.opmap for op, _ in natives)  # else this CPython has no row
}
"""Canonical opcode and operand that are natives in a row -> how far the stack grows, at most, while they run."""

# Native opcode -> the number of CACHE units behind it; only what co_code can show.
CACHES: dict[str, int] = {
    # keyed by name from 3.13
    name: _cache_entries.get(name, 0) if isinstance(_cache_entries, Mapping) else _cache_entries[number]
    for name, number in dis.opmap.items()
    if number < 256 and not name.startswith("INSTRUMENTED_") and name not in ("CACHE", "EXTENDED_ARG")
}

# Native opcode -> the canonical instructions it stands for. An operand is "arg" (the native's own operand), "target",
# "first"/"second" (the two locals of a superinstruction), an int, or absent. Where several canonical instructions
# with one position stand in a row, encode.py joins them again.
_SPELLINGS: dict[str, tuple[tuple[str] | tuple[str, str | int], ...]] = {
    # 3.11
    "JUMP_IF_FALSE_OR_POP": (("COPY", 1), ("POP_JUMP_IF_FALSE", "target"), ("POP_TOP",)),
    "JUMP_IF_TRUE_OR_POP": (("COPY", 1), ("POP_JUMP_IF_TRUE", "target"), ("POP_TOP",)),
    "POP_JUMP_FORWARD_IF_FALSE": (("POP_JUMP_IF_FALSE", "target"),),
    "POP_JUMP_FORWARD_IF_TRUE": (("POP_JUMP_IF_TRUE", "target"),),
    "POP_JUMP_FORWARD_IF_NONE": (("POP_JUMP_IF_NONE", "target"),),
    "POP_JUMP_FORWARD_IF_NOT_NONE": (("POP_JUMP_IF_NOT_NONE", "target"),),
    "POP_JUMP_BACKWARD_IF_FALSE": (("POP_JUMP_IF_FALSE", "target"),),
    "POP_JUMP_BACKWARD_IF_TRUE": (("POP_JUMP_IF_TRUE", "target"),),
    "POP_JUMP_BACKWARD_IF_NONE": (("POP_JUMP_IF_NONE", "target"),),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": (("POP_JUMP_IF_NOT_NONE", "target"),),
    "IMPORT_STAR": (("IMPORT_STAR",), ("POP_TOP",)),  # the intrinsic of 3.12 pushes None
    "PRINT_EXPR": (("PRINT_EXPR",), ("POP_TOP",)),
    # 3.11 and later
    "JUMP_FORWARD": (("JUMP", "target"),),
    "JUMP_BACKWARD": (("JUMP", "target"),),
    "JUMP_BACKWARD_NO_INTERRUPT": (("JUMP_NO_INTERRUPT", "target"),),
    # 3.12 and later
    "RETURN_CONST": (("LOAD_CONST", "arg"), ("RETURN_VALUE",)),
    "BINARY_SLICE": (("BUILD_SLICE", 2), ("BINARY_SUBSCR",)),
    "STORE_SLICE": (("BUILD_SLICE", 2), ("STORE_SUBSCR",)),
    # 3.13
    "LOAD_FAST_LOAD_FAST": (("LOAD_FAST", "first"), ("LOAD_FAST", "second")),
    "STORE_FAST_LOAD_FAST": (("STORE_FAST", "first"), ("LOAD_FAST", "second")),
    "STORE_FAST_STORE_FAST": (("STORE_FAST", "first"), ("STORE_FAST", "second")),
    # 3.14
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": (("LOAD_FAST", "first"), ("LOAD_FAST", "second")),
}

SPELLINGS = {native: parts for native, parts in _SPELLINGS.items() if native in dis.opmap}

BORROWING = {"LOAD_FAST": "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST": "LOAD_FAST_BORROW_LOAD_FAST_BORROW"}
"""Natives that load locals -> those that do it without a reference of their own, where Facts.borrowing."""

COMMON_CONSTANTS: tuple[object, ...] = tuple(getattr(dis, "_common_constants", ()))
"""What LOAD_COMMON_CONSTANT loads (3.14): canonically LOAD_CONST of the same object."""

# Argument of CALL_INTRINSIC_1 and CALL_INTRINSIC_2 -> canonical opcode (Include/internal/pycore_intrinsics.h). The
# first five were opcodes of their own in 3.11.
INTRINSICS: dict[str, dict[int, str]] = {
    "CALL_INTRINSIC_1": {
        1: "PRINT_EXPR",
        2: "IMPORT_STAR",
        3: "STOPITERATION_ERROR",
        4: "ASYNC_GEN_WRAP",
        5: "UNARY_POSITIVE",
        6: "LIST_TO_TUPLE",
        7: "TYPEVAR",
        8: "PARAMSPEC",
        9: "TYPEVARTUPLE",
        10: "SUBSCRIPT_GENERIC",
        11: "TYPEALIAS",
    },
    "CALL_INTRINSIC_2": {
        1: "PREP_RERAISE_STAR",
        2: "TYPEVAR_WITH_BOUND",
        3: "TYPEVAR_WITH_CONSTRAINTS",
        4: "SET_FUNCTION_TYPE_PARAMS",
        5: "SET_TYPEPARAM_DEFAULT",
    },
}

# Opcodes that co_code never shows: the interpreter's own, and those reserved. INSTRUMENTED_* and specialised opcodes
# appear in co_code as what they stand for; opcodes above 255 exist in the compiler only.
NOT_IN_CODE = frozenset(
    {"INTERPRETER_EXIT", "RESERVED", "EXIT_INIT_CHECK", "ENTER_EXECUTOR"}
    | {name for name, number in dis.opmap.items() if name.startswith("INSTRUMENTED_") or number > 255}
)
