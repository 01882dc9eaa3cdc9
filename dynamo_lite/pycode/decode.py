"""Code object -> canonical instructions.

Enters: a code object of the running Python. Leaves: a ``Code``, whose rows are those of opcodes.py, as version.py
describes the native ones. What this drops, encode.py puts back: CACHE, EXTENDED_ARG, the RESUME and COPY_FREE_VARS at
the entry, END_FOR, PRECALL, NOT_TAKEN, and TO_BOOL before a jump. First stage of every capture, which asks for the same
few code objects again and again (each capture, its second run, NumPy's functions): `decoded` remembers the latest. With
`config.check` what is read is held against the package bytecode (second_reading.py).
"""

from __future__ import annotations

import dis
import functools
import types
import weakref
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.borrow import borrowed_loads
from dynamo_lite.pycode.code import (
    NO_POSITION,
    Code,
    ExceptionEntry,
    Instr,
    Position,
    UnsupportedCode,
    UnsupportedOpcode,
    free_operand,
)
from dynamo_lite.pycode.flow import async_items
from dynamo_lite.pycode.module_code import known_flags
from dynamo_lite.pycode.opcodes import CONVERSIONS, OPCODES, OPERATORS, YIELDS_BOOL, Operand
from dynamo_lite.pycode.rotate import rotated
from dynamo_lite.pycode.tables import protected_ranges
from dynamo_lite.pycode.version import (
    BORROWING,
    CACHES,
    COMMON_CONSTANTS,
    FACTS,
    INTRINSICS,
    SPELLINGS,
    VERSION,
    Natives,
)

_REMEMBERED = 256
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_JUMPS = frozenset(dis.hasjrel) - {dis.opmap.get("END_ASYNC_FOR")}  # NB: from 3.14 that names where control came from
# Number of an opcode -> name, code units of caches, direction of its jump or 0, whether it takes an operand
_NATIVE = [
    (
        name,
        CACHES.get(name, 0),
        0 if number not in _JUMPS else -1 if "JUMP_BACKWARD" in name else 1,
        number >= dis.HAVE_ARGUMENT,
    )
    for number, name in enumerate(dis.opname)
]
_decoded: dict[int, tuple[weakref.ref[types.CodeType], Code]] = {}  # by identity: equal code may have another file


_original: dict[int, tuple[weakref.ref[types.CodeType], Code]] = {}


def remember_as(code: types.CodeType, original: Code) -> None:
    """Let `decoded(code)` give `original`, of which `code` was encoded, with polls or not, while `code` lives."""
    key = id(code)
    _original[key] = weakref.ref(code, functools.partial(_original.pop, key)), original


_plain: dict[int, tuple[weakref.ref[types.CodeType], types.CodeType]] = {}


def stand_for(code: types.CodeType, original: types.CodeType) -> None:
    """Let `decoded(code)` give what it gives for `original`, while `code` lives."""
    key = id(code)
    _plain[key] = weakref.ref(code, functools.partial(_plain.pop, key)), original


def decoded(code: types.CodeType) -> Code:
    """`rotated(decode(code))`, remembered while the code object lives and is among the latest."""
    key = id(code)
    stands_for = _plain.get(key)
    if stands_for is not None and stands_for[0]() is code:
        return decoded(stands_for[1])
    known = _decoded.get(key) or _original.get(key)
    if known is not None and known[0]() is code:
        return known[1]
    made = rotated(decode(code))
    # NB: the callback is made of C functions alone: the frame hook would see a Python function's frame.
    _decoded[key] = weakref.ref(code, functools.partial(_decoded.pop, key)), made
    while len(_decoded) > _REMEMBERED:
        _decoded.pop(next(iter(tuple(_decoded)), key), None)  # at once: other threads add and forget some
    return made


def decode(code: types.CodeType) -> Code:
    """The canonical form of `code`.

    Raises UnsupportedOpcode, naming it, where the table of this Python has no row.
    """
    decoder = _Decoder(code)
    decoder.run()
    made = Code(
        instrs=decoder.instrs(),
        exceptions=decoder.exceptions(),
        name=code.co_name,
        qualname=code.co_qualname,
        filename=code.co_filename,
        firstlineno=code.co_firstlineno,
        argcount=code.co_argcount,
        posonlyargcount=code.co_posonlyargcount,
        kwonlyargcount=code.co_kwonlyargcount,
        flags=known_flags(code),
        varnames=code.co_varnames,
        cellvars=code.co_cellvars,
        freevars=code.co_freevars,
        consts=code.co_consts,
        names=code.co_names,
        entry=decoder.entry,
    )
    if not decoder.bare:
        return made
    try:
        borrowed = borrowed_loads(made) if FACTS.borrowing else frozenset()
    except UnsupportedCode:  # no code that a compiler made; encode says why
        borrowed = frozenset()
    instrs = list(made.instrs)
    items = async_items(made).values() if FACTS.branch_marks else ()
    for index in decoder.bare:
        instr = instrs[index]
        if instr.target is not None or instr.op == "STORE_FAST" or index in borrowed or index in items:
            instrs[index] = replace(instr, bare=True)
    return replace(made, instrs=tuple(instrs))


def take_apart(
    code: types.CodeType,
) -> tuple[list[str], list[int], list[Position], list[int], dict[int, int]]:
    """The native instructions of a code object without caches: names, arguments, positions; where each begins, in code
    units, with the EXTENDED_ARGs before it; and where those that jump jump to, likewise, by their numbers."""
    ops: list[str] = []
    args: list[int] = []
    found: list[Position] = []
    offsets: list[int] = []
    jumps: dict[int, int] = {}
    native = code.co_code
    positions = list(code.co_positions())
    positions.extend([NO_POSITION] * (len(native) // 2 - len(positions)))  # a short line table
    last: Position = NO_POSITION
    begin = at = prefix = 0  # in code units: of the instruction with its EXTENDED_ARGs, and of itself
    end = len(native) // 2
    while at < end:
        number, arg = native[2 * at], native[2 * at + 1]
        if number == _EXTENDED_ARG:
            prefix = (prefix | arg) << 8
            at += 1
            continue
        op, caches, direction, takes = _NATIVE[number]
        arg = prefix | arg if takes else 0
        if direction:
            jumps[len(ops)] = at + 1 + caches + direction * arg
        ops.append(op)
        args.append(arg)
        position = positions[at]
        last = last if position == last else position
        found.append(last)
        offsets.append(begin)
        begin = at = at + 1 + caches
        prefix = 0
    return ops, args, found, offsets, jumps


class _Decoder:
    """The native instructions in parallel lists, and the canonical ones made so far."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.locals = code.co_varnames
        # Locals that are also cells share the local's slot; free variables follow and never share one.
        self.cells = frozenset(code.co_cellvars)
        own = (name for name in code.co_cellvars if name not in code.co_varnames)
        free = (free_operand(name, code.co_cellvars) for name in code.co_freevars)
        self.slots = (*code.co_varnames, *own, *free)
        self.entry: Position = (code.co_firstlineno, code.co_firstlineno, 0, 0)

        self.ops, self.args, self.positions, self.offsets, jumps = take_apart(code)
        self.goto: list[int | None] = [None] * len(self.ops)  # the native instruction a jump goes to
        for index, target in jumps.items():
            self.goto[index] = self.native_at(target)
        self.handlers = protected_ranges(code.co_exceptiontable)

        self.targets = {target for target in self.goto if target is not None}
        self.targets.update(self.native_at(target) for _, _, target, _, _ in self.handlers)
        self.loop_exits = self.find_loop_exits()
        self.raw_cells = self.find_raw_cells() if FACTS.closure_by_load_fast and self.cells else frozenset()

        self.start: list[int] = []  # native index -> index of the first canonical instruction made from it or after it
        self.out: list[tuple[str, Any, int | None, Position]] = []
        self.bare: list[int] = []  # canonical instructions that may have to be marked Instr.bare
        self.raising: list[int] = []  # for each canonical instruction the native that raises its exceptions
        self.truth: int | None = None  # the native that makes a bool for the next canonical instruction
        self.keyword_names = False

    # Preparation

    def native_at(self, offset: int) -> int:
        """The index of the native instruction at or after `offset`."""
        return bisect_left(self.offsets, offset)

    def find_loop_exits(self) -> frozenset[int]:
        """The native instructions an exhausted FOR_ITER jumps over; nothing else may jump to them."""
        exit = FACTS.loop_exit
        if not exit:
            return frozenset()
        found: set[int] = set()
        for index, op in enumerate(self.ops):
            if op == "FOR_ITER":
                target = self.goto[index]
                assert target is not None
                if tuple(self.ops[target : target + len(exit)]) != exit:
                    raise self.unsupported(index, f"does not lead to {' '.join(exit)}")
                found.update(range(target, target + len(exit)))
        for index, target in enumerate(self.goto):
            if target in found and self.ops[index] != "FOR_ITER":
                raise self.unsupported(index, "leads to the exit of a loop")
        return frozenset(found)

    def find_raw_cells(self) -> frozenset[str]:
        """Cell variables whose slot holds a plain local of the same name, in an inlined comprehension or outside it."""
        clears = (index for index, op in enumerate(self.ops) if op == "LOAD_FAST_AND_CLEAR")
        return self.cells.intersection(self.slots[self.args[index]] for index in clears)

    def unsupported(self, index: int, reason: str) -> UnsupportedOpcode:
        line = self.positions[index][0]
        return UnsupportedOpcode(
            f"{self.ops[index]} {reason} (Python {VERSION}, {self.code.co_qualname},"
            f" {self.code.co_filename}:{self.code.co_firstlineno if line is None else line})"
        )

    # The pass

    def run(self) -> None:
        """Fill self.out and self.start."""
        ops, out, start = self.ops, self.out, self.start
        index, n = 0, len(ops)
        while index < n:
            start.append(len(out))
            if index in self.loop_exits:
                index += 1
                continue
            op = ops[index]
            read = _PLAIN.get(op)
            if read is not None:  # NB: without further calls: most of the instructions of each function are such
                out.append((op, read(self, self.args[index]), self.goto[index], self.positions[index]))
                self.raising.append(index)
                index += 1
                continue
            special = _SPECIAL.get(op)
            following = self.sequence(index) if op in _SEQUENCES else index
            if following > index:
                pass
            elif special is not None:
                following = special(self, index)
            elif op in SPELLINGS:
                following = self.spelled(index)
            else:
                following = self.plain(index)
            # Natives that were merged into this one; no jump leads to them (see `free`).
            start.extend([len(out)] * (following - index - 1))
            index = following
        start.append(len(out))

    def emit(self, index: int, op: str, arg: Any = None, goto: int | None = None) -> None:
        if op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE") and FACTS.boolean_jumps and self.truth is None:
            before = self.out[-1][0] if self.out and index not in self.targets else ""
            if before not in YIELDS_BOOL:
                self.bare.append(len(self.out))
        self.out.append((op, arg, goto, self.positions[index]))
        self.raising.append(index if self.truth is None else self.truth)
        self.truth = None

    def plain(self, index: int) -> int:
        """A native opcode that is a canonical one by the same name."""
        op = self.ops[index]
        row = OPCODES.get(op)
        if row is None:
            raise self.unsupported(index, "is an opcode dynamo_lite does not know")
        self.emit(index, op, self.operand(index, row.operand, op), self.goto[index])
        return index + 1

    def sequence(self, index: int) -> int:
        """Natives in a row that version.py has as one instruction; `index` if there are none."""
        for canonical, natives in _SEQUENCES[self.ops[index]]:
            if all(
                (offset == 0 or self.free(index + offset, op)) and self.ops[at] == op and self.is_given(at, arg)
                for offset, (op, arg) in enumerate(natives)
                for at in (index + offset,)
            ):
                self.emit(index, *canonical)
                return index + len(natives)
        return index

    def is_given(self, index: int, arg: object) -> bool:
        """Whether a native has this argument."""
        if self.ops[index] == "LOAD_CONST":
            return self.code.co_consts[self.args[index]] is arg
        return self.args[index] == arg

    def spelled(self, index: int) -> int:
        """A native opcode that version.py spells as other instructions."""
        op, arg = self.ops[index], self.args[index]
        for part in SPELLINGS[op]:
            name = part[0]
            spec = part[1] if len(part) == 2 else None
            if spec == "target":
                self.emit(index, name, None, self.goto[index])
            elif spec == "arg":
                self.emit(index, name, self.operand(index, OPCODES[name].operand, op))
            elif spec == "first" or spec == "second":
                slot = arg >> 4 if spec == "first" else arg & 15
                if name == "LOAD_FAST":
                    self.load_slot(index, slot, spec == "first")
                else:
                    self.emit(index, name, self.slots[slot])
            else:
                self.emit(index, name, spec)
        return index + 1

    def operand(self, index: int, kind: Operand, op: str) -> Any:
        """The canonical operand of the native instruction `index`."""
        return _READ[kind](self, self.args[index]) if kind is not Operand.OPERATOR else self.operator(op, index)

    def operator(self, op: str, index: int) -> str:
        names, arg = OPERATORS[op], self.args[index]
        if arg >= len(names):
            raise self.unsupported(index, f"has an unknown operator, {arg}")
        return names[arg]

    def free(self, index: int, op: str) -> bool:
        """True if native `index` is `op`, stands where native index-1 stands in the source, and no jump leads to it."""
        return (
            index < len(self.ops)
            and self.ops[index] == op
            and index not in self.targets
            and self.positions[index] == self.positions[index - 1]
        )

    # Results

    def instrs(self) -> tuple[Instr, ...]:
        start = self.start
        return tuple(
            [Instr(op, arg, None if goto is None else start[goto], position) for op, arg, goto, position in self.out]
        )

    def exceptions(self) -> tuple[ExceptionEntry, ...]:
        entries = []
        for first, after, handler, depth, lasti in self.handlers:
            start = bisect_left(self.raising, self.native_at(first))
            end = bisect_left(self.raising, self.native_at(after))
            target = self.start[self.native_at(handler)]
            if start < end:  # else it covers only what has no canonical instruction and raises nothing
                entries.append(ExceptionEntry(start, end, target, depth, lasti))
        return tuple(entries)

    # Native opcodes whose meaning depends on their operand or on their neighbours; each returns the next native index

    def resume(self, index: int) -> int:
        """The RESUME at a function's entry becomes Code.entry; those of generators, some of them protected, stay."""
        if self.is_entry(index):
            self.entry = self.positions[index]
        else:
            self.emit(index, "RESUME", self.args[index])
        return index + 1

    def is_entry(self, index: int) -> bool:
        """True if native RESUME `index` is where encode.py would put one."""
        return (
            self.args[index] == 0
            and index not in self.targets
            and all(op in ("COPY_FREE_VARS", "MAKE_CELL") for op in self.ops[:index])
            and all(self.offsets[index] < start for start, *_ in self.handlers)
        )

    def copy_free_vars(self, index: int) -> int:
        if index != 0 or self.args[index] != len(self.code.co_freevars):
            raise self.unsupported(index, "is not at the entry")
        return index + 1

    def load_fast(self, index: int) -> int:
        self.load_slot(index, self.args[index])
        return index + 1

    def load_slot(self, index: int, slot: int, more: bool = False) -> None:
        """LOAD_FAST; from 3.13 it also loads cells to make closures of them. more: the native loads another slot."""
        if FACTS.borrowing and self.ops[index] not in BORROWING.values():
            self.bare.append(len(self.out))
        name = self.slots[slot]
        is_cell = slot >= len(self.locals) or name in self.cells
        if FACTS.closure_by_load_fast and is_cell and (name not in self.raw_cells or self.makes_closure(index, more)):
            self.emit(index, "LOAD_CLOSURE", name)
        else:
            self.emit(index, "LOAD_FAST", name)

    def makes_closure(self, index: int, more: bool) -> bool:
        """True if what native `index` loads, last or (more) first of two, goes into the closure of a MAKE_FUNCTION."""
        count, index = 1 + more, index + 1
        while self.ops[index] in _LOADS:
            count += 1 + (self.ops[index] not in _LOAD_ONE)
            index += 1
        if self.ops[index] != "BUILD_TUPLE" or self.args[index] < count or self.ops[index + 1] != "LOAD_CONST":
            return False
        made = self.code.co_consts[self.args[index + 1]]
        return isinstance(made, types.CodeType) and len(made.co_freevars) == self.args[index]

    def store_fast(self, index: int) -> int:
        name = self.slots[self.args[index]]
        if name in self.cells and index and self.takes_cell(index - 1):
            self.emit(index, "STORE_CELL", name)
            return index + 1
        if index and "STORE_FAST_STORE_FAST" in SPELLINGS and self.free(index, self.ops[index - 1]):
            self.bare.append(len(self.out))
        self.emit(index, "STORE_FAST", self.slots[self.args[index]])
        return index + 1

    def takes_cell(self, index: int) -> bool:
        """True if native `index` unbinds a parameter of a resume function, so that a cell lies on the stack."""
        unbinds = self.ops[index] in ("LOAD_FAST_AND_CLEAR", "DELETE_FAST")
        return unbinds and self.slots[self.args[index]].startswith(".s")

    def load_global(self, index: int) -> int:
        arg = self.args[index]
        if arg & 1 and FACTS.null_below_callable:
            self.emit(index, "PUSH_NULL")
        self.emit(index, "LOAD_GLOBAL", self.code.co_names[arg >> 1])
        if arg & 1 and not FACTS.null_below_callable:
            self.emit(index, "PUSH_NULL")
        return index + 1

    def load_attr(self, index: int) -> int:
        arg = self.args[index]
        self.emit(index, "LOAD_METHOD" if arg & 1 else "LOAD_ATTR", self.code.co_names[arg >> 1])
        return index + 1

    def load_super_attr(self, index: int) -> int:
        arg = self.args[index]
        op = "LOAD_SUPER_METHOD" if arg & 1 else "LOAD_SUPER_ATTR"
        self.emit(index, op, (self.code.co_names[arg >> 2], bool(arg & 2)))
        return index + 1

    def compare_op(self, index: int) -> int:
        arg = self.args[index]
        operator = (arg & ~FACTS.compare_bool_bit) >> FACTS.compare_shift
        names = OPERATORS["COMPARE_OP"]
        if operator >= len(names):
            raise self.unsupported(index, f"has an unknown operator, {operator}")
        self.emit(index, "COMPARE_OP", names[operator])
        return self.to_bool(index) if arg & FACTS.compare_bool_bit else index + 1

    def to_bool(self, index: int) -> int:
        """The canonical jump behind it tests the truth of any object.

        NB: CPython ends a protected range between TO_BOOL and a jump that was turned round, since the jump itself
        cannot raise; the canonical jump can, and is protected where TO_BOOL was. Where such a jump has come to stand
        in another place of the source, TO_BOOL stays, for the sake of the traceback.
        """
        tested = self.ops[index + 1] in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT")
        if tested and self.positions[index] == self.positions[index + 1]:
            self.truth = index
        else:
            self.emit(index, "TO_BOOL")
        return index + 1

    def intrinsic(self, index: int) -> int:
        op = INTRINSICS[self.ops[index]].get(self.args[index])
        if op is None:
            raise self.unsupported(index, f"has an unknown number, {self.args[index]}")
        self.emit(index, op)
        return index + 1

    def load_small_int(self, index: int) -> int:
        self.emit(index, "LOAD_CONST", self.args[index])
        return index + 1

    def load_common_constant(self, index: int) -> int:
        number = self.args[index]
        if number >= len(COMMON_CONSTANTS):
            raise self.unsupported(index, f"has an unknown number, {number}")
        self.emit(index, "LOAD_CONST", COMMON_CONSTANTS[number])
        return index + 1

    def load_special(self, index: int) -> int:
        raise self.unsupported(index, "is not part of a with statement")

    def call_function_ex(self, index: int) -> int:
        self.emit(index, "CALL_FUNCTION_EX", FACTS.kwargs_always or bool(self.args[index]))
        return index + 1

    def build_interpolation(self, index: int) -> int:
        flags = self.args[index]
        self.emit(index, "BUILD_INTERPOLATION", (CONVERSIONS[flags >> 2 & 3], bool(flags & 1)))
        return index + 1

    def not_taken(self, index: int) -> int:
        return index + 1

    def kw_names(self, index: int) -> int:
        self.emit(index, "LOAD_CONST", self.code.co_consts[self.args[index]])
        self.keyword_names = True
        return index + 1

    def precall(self, index: int) -> int:
        if self.ops[index + 1] != "CALL":
            raise self.unsupported(index, "stands without CALL")
        return index + 1

    def call(self, index: int) -> int:
        self.emit(index, "CALL_KW" if self.keyword_names else "CALL", self.args[index])
        self.keyword_names = False
        return index + 1

    def make_function(self, index: int) -> int:
        """From 3.13 flags are SET_FUNCTION_ATTRIBUTEs behind it."""
        flags = self.args[index]
        following = index + 1
        for flag in FACTS.function_attributes:
            if self.free(following, "SET_FUNCTION_ATTRIBUTE") and self.args[following] == flag:
                flags |= flag
                following += 1
        self.emit(index, "MAKE_FUNCTION", flags)
        return following

    def format_value(self, index: int) -> int:
        flags = self.args[index]
        self.emit(index, "FORMAT_VALUE", (CONVERSIONS[flags & 3], bool(flags & 4)))
        return index + 1

    def convert_value(self, index: int) -> int:
        conversion = CONVERSIONS[self.args[index]]
        if self.free(index + 1, "FORMAT_SIMPLE"):
            self.emit(index, "FORMAT_VALUE", (conversion, False))
            return index + 2
        self.emit(index, "CONVERT_VALUE", conversion)
        return index + 1

    def format_simple(self, index: int) -> int:
        self.emit(index, "FORMAT_VALUE", (None, False))
        return index + 1

    def format_with_spec(self, index: int) -> int:
        self.emit(index, "FORMAT_VALUE", (None, True))
        return index + 1

    def send(self, index: int) -> int:
        self.emit(index, "SEND_OR_POP" if FACTS.send_pops else "SEND", None, self.goto[index])
        return index + 1

    def end_send(self, index: int) -> int:
        if FACTS.branch_marks and self.ops[index + 1] != "NOT_TAKEN":
            self.bare.append(len(self.out))
        self.emit(index, "END_SEND")
        return index + 1

    def end_for(self, index: int) -> int:
        raise self.unsupported(index, "is not the exit of a loop")


# Kind of operand -> what makes the canonical one of a native argument.
_READ: dict[Operand, Callable[[_Decoder, int], Any]] = {
    Operand.NONE: lambda decoder, arg: None,
    Operand.TARGET: lambda decoder, arg: None,
    Operand.CONST: lambda decoder, arg: decoder.code.co_consts[arg],
    Operand.LOCAL: lambda decoder, arg: decoder.slots[arg],
    Operand.CELL: lambda decoder, arg: decoder.slots[arg],
    Operand.NAME: lambda decoder, arg: decoder.code.co_names[arg],
    Operand.FLAG: lambda decoder, arg: bool(arg),
    Operand.UNPACK: lambda decoder, arg: (arg & 0xFF, arg >> 8),
    Operand.CONVERSION: lambda decoder, arg: CONVERSIONS[arg],
    Operand.COUNT: lambda decoder, arg: arg,
    Operand.NUMBER: lambda decoder, arg: arg,
}

_LOADS = frozenset(BORROWING) | frozenset(BORROWING.values())
_LOAD_ONE = frozenset({"LOAD_FAST", BORROWING["LOAD_FAST"]})

_SPECIAL: dict[str, Callable[[_Decoder, int], int]] = {
    "RESUME": _Decoder.resume,
    "COPY_FREE_VARS": _Decoder.copy_free_vars,
    "STORE_FAST": _Decoder.store_fast,
    "LOAD_GLOBAL": _Decoder.load_global,
    "LOAD_SUPER_ATTR": _Decoder.load_super_attr,
    "COMPARE_OP": _Decoder.compare_op,
    "TO_BOOL": _Decoder.to_bool,
    "CALL_INTRINSIC_1": _Decoder.intrinsic,
    "CALL_INTRINSIC_2": _Decoder.intrinsic,
    "KW_NAMES": _Decoder.kw_names,
    "PRECALL": _Decoder.precall,
    "CALL": _Decoder.call,
    "MAKE_FUNCTION": _Decoder.make_function,
    "FORMAT_VALUE": _Decoder.format_value,
    "CONVERT_VALUE": _Decoder.convert_value,
    "FORMAT_SIMPLE": _Decoder.format_simple,
    "FORMAT_WITH_SPEC": _Decoder.format_with_spec,
    "SEND": _Decoder.send,
    "END_SEND": _Decoder.end_send,
    "END_FOR": _Decoder.end_for,
    "LOAD_SMALL_INT": _Decoder.load_small_int,
    "LOAD_COMMON_CONSTANT": _Decoder.load_common_constant,
    "LOAD_SPECIAL": _Decoder.load_special,
    "CALL_FUNCTION_EX": _Decoder.call_function_ex,
    "BUILD_INTERPOLATION": _Decoder.build_interpolation,
    "NOT_TAKEN": _Decoder.not_taken,
}
if FACTS.closure_by_load_fast or FACTS.borrowing:
    _SPECIAL.update({"LOAD_FAST": _Decoder.load_fast, "LOAD_FAST_BORROW": _Decoder.load_fast})
if FACTS.attr_method_bit:
    _SPECIAL["LOAD_ATTR"] = _Decoder.load_attr

# First native opcode -> the canonical instructions that begin with it, and their natives.
_SEQUENCES: dict[str, list[tuple[tuple[str, object], Natives]]] = {}
for _canonical, _natives in FACTS.sequences.items():
    _SEQUENCES.setdefault(_natives[0][0], []).append((_canonical, _natives))


def _reading(op: str) -> Callable[[_Decoder, int], Any]:
    """What makes the operand of an opcode whose native index `start` has just been given."""
    kind = OPCODES[op].operand
    if kind is Operand.OPERATOR:
        return lambda decoder, _: decoder.operator(op, len(decoder.start) - 1)
    return _READ[kind]


# What `emit` looks at: whether a TO_BOOL came before.
_TESTS = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT") if FACTS.boolean_jumps else ()
# Native opcodes that are canonical ones by the same name wherever they stand -> what makes the operand.
_PLAIN = {
    op: _reading(op) for op in OPCODES.keys() & CACHES.keys() - {*_SPECIAL, *_SEQUENCES, *SPELLINGS, *_TESTS}
}

HANDLED = frozenset(_SPECIAL)
"""Native opcodes that need more than a row of their own name."""
