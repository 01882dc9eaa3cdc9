"""Canonical instructions -> code object.

Enters: a ``Code``, decoded, edited or assembled. Leaves: a code object of the running Python that does what the
instructions say: opcodes spelled as version.py has them, superinstructions joined again, CACHE, EXTENDED_ARG, RESUME,
COPY_FREE_VARS and loop exits in place; tables.py writes the bytes.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

from dynamo_lite.dataclass import replace
from dynamo_lite.pycode.borrow import borrowed_loads
from dynamo_lite.pycode.code import NO_POSITION, Code, ExceptionEntry, Instr, Position, UnsupportedCode, free_operand
from dynamo_lite.pycode.flow import async_items, stack_size
from dynamo_lite.pycode.module_code import native_flags
from dynamo_lite.pycode.opcodes import CONVERSIONS, INVERSE_CONDITIONS, OPCODES, OPERATORS, YIELDS_BOOL, Operand
from dynamo_lite.pycode.tables import exception_table, location_table
from dynamo_lite.pycode.version import BORROWING, CACHES, COMMON_CONSTANTS, FACTS, INTRINSICS, SPELLINGS, VERSION


def encode(code: Code) -> types.CodeType:
    """The code object that `code` describes.

    Constants may be any objects and keep their identity, but for what CPython itself does to the constants of every
    code object: identifier-like strings, also inside tuples and frozensets, become their interned equals.

    Raises UnsupportedCode where this CPython cannot express an instruction, or the stack does not add up.
    """
    encoder = _Encoder(code)
    encoder.run()
    return encoder.assemble()


def assemble(skeleton: Code, instrs: Iterable[Instr], exceptions: Sequence[ExceptionEntry] = ()) -> types.CodeType:
    """A code object with the head of `skeleton` (see code.skeleton) and these instructions.

    Locals that the instructions name and the skeleton does not are added; targets are indices into `instrs`.
    """
    return encode(replace(skeleton, instrs=tuple(instrs), exceptions=tuple(exceptions)))


# Native opcode -> its number, its caches in code units, and these as bytes.
_NATIVE = {op: (dis.opmap[op], caches, bytes(2 * caches)) for op, caches in CACHES.items()}

_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_IN_SEQUENCES = frozenset(op for op, _ in FACTS.sequences)
_COMMON_CONSTANTS = {id(value): number for number, value in enumerate(COMMON_CONSTANTS)}

_INTRINSIC_NUMBERS = {op: (native, number) for native, ops in INTRINSICS.items() for number, op in ops.items()}

# First canonical opcode -> the natives that stand for it and those behind it.
_JOINS: dict[str, list[tuple[str, tuple[tuple[str] | tuple[str, str | int], ...]]]] = {}
for _native, _parts in SPELLINGS.items():
    if len(_parts) > 1 and _native not in BORROWING.values():
        _JOINS.setdefault(_parts[0][0], []).append((_native, _parts))
_MAY_JOIN = frozenset(_JOINS) | {"PUSH_NULL", "LOAD_GLOBAL"}


class _Encoder:
    """The native instructions made so far and where each canonical one starts."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.instrs = code.instrs
        # The native instructions, in parallel. A jump's argument comes last, from where it leads.
        self.ops: list[str] = []
        self.args: list[int] = []
        self.positions: list[Position] = []
        self.labels: dict[int, int] = {}  # native jump -> the canonical index it leads to
        self.gotos: dict[int, int] = {}  # native jump -> the native index it leads to
        self.start: list[int] = []  # canonical index -> native index
        self.exits: dict[int, int] = {}  # canonical target of a loop -> native index of its loop exit

        self.consts = list(code.consts)
        self.const_index: dict[int, int] = {}
        for number, const in enumerate(self.consts):
            self.const_index.setdefault(id(const), number)
        self.names = list(code.names)
        self.name_index = {name: number for number, name in enumerate(self.names)}
        varnames = dict.fromkeys(code.varnames)
        for instr in code.instrs:
            if OPCODES[instr.op].operand is Operand.LOCAL:
                varnames.setdefault(instr.arg)
        self.varnames = list(varnames)
        self.local_slot = {name: number for number, name in enumerate(self.varnames)}
        own = [name for name in code.cellvars if name not in self.local_slot]
        self.cell_slot = {name: self.local_slot[name] for name in code.cellvars if name in self.local_slot}
        free = [free_operand(name, code.cellvars) for name in code.freevars]
        for number, name in enumerate((*own, *free), len(self.varnames)):
            self.cell_slot[name] = number

        # Where more than the instruction before may lead; and where, besides, a protected range begins or ends.
        self.targets = {instr.target for instr in code.instrs if instr.target is not None}
        self.targets.update(entry.target for entry in code.exceptions)
        self.borders = set(self.targets)
        for entry in code.exceptions:
            self.borders.update((entry.start, entry.end))
        self.borrowed = borrowed_loads(code) if FACTS.borrowing else frozenset()
        self.sends = async_items(code) if FACTS.branch_marks else {}

    # The pass

    def run(self) -> None:
        """Fill the native instructions and self.start."""
        loops: dict[int, Position] = {}
        if FACTS.loop_exit:
            for number, instr in enumerate(self.instrs):
                if instr.op == "FOR_ITER" and instr.target is not None and instr.target > number:
                    loops.setdefault(instr.target, instr.position)
        if self.code.freevars:
            self.emit("COPY_FREE_VARS", len(self.code.freevars), NO_POSITION)
        entry = self.entry()
        instrs, ops, start = self.instrs, self.ops, self.start
        index, n = 0, len(instrs)
        while index < n:
            if index in loops:
                self.loop_exit(index, loops[index])
            if index == entry:
                self.emit("RESUME", 0, self.code.entry)
            start.append(len(ops))
            instr = instrs[index]
            op = instr.op
            if op in _MAY_JOIN and (following := self.join(index)) > index:
                start.extend([len(ops)] * (following - index - 1))
                index = following
                continue
            if op not in _IN_SEQUENCES or not self.sequence(instr):
                lower = _LOWER.get(op)
                if lower is not None:
                    lower(self, index, instr)
                else:
                    self.emit(op, _OPERANDS[op](self, instr.arg), instr.position, instr.target)
            index += 1
        start.append(len(ops))

    def entry(self) -> int | None:
        """The index before which the entry's RESUME goes; None if the instructions have their own."""
        index = 0
        while index < len(self.instrs) and self.instrs[index].op == "MAKE_CELL":
            index += 1
        if index < len(self.instrs) and self.instrs[index].op in ("RESUME", "RETURN_GENERATOR"):
            return None
        return index

    def emit(self, op: str, arg: int, position: Position, label: int | None = None) -> int:
        """The native index of the instruction appended. label: where it jumps to."""
        if op not in CACHES:
            raise UnsupportedCode(f"{self.code.qualname}: Python {VERSION} has no {op}")
        index = len(self.ops)
        if label is not None:
            self.labels[index] = label
        self.ops.append(op)
        self.args.append(arg)
        self.positions.append(position)
        return index

    def loop_exit(self, index: int, position: Position) -> None:
        """Put what an exhausted FOR_ITER jumps over before instruction `index`; nothing may fall into it."""
        skip = None
        if index and not OPCODES[self.instrs[index - 1].op].ends:
            skip = self.emit("JUMP_FORWARD", 0, self.instrs[index - 1].position)
        self.exits[index] = len(self.ops)
        for op in FACTS.loop_exit:
            self.emit(op, 0, position)
        if skip is not None:
            self.gotos[skip] = len(self.ops)

    def joined(self, index: int) -> bool:
        """True if instruction `index` belongs to the one before it: same place in the source, no border between."""
        return (
            0 < index < len(self.instrs)
            and index not in self.borders
            and not (self.instrs[index].bare and self.instrs[index].op == "STORE_FAST")
            and self.instrs[index].position == self.instrs[index - 1].position
        )

    def join(self, index: int) -> int:
        """Emit one native instruction for several canonical ones; returns the next index, `index` if none fits."""
        instr = self.instrs[index]
        if instr.op in ("PUSH_NULL", "LOAD_GLOBAL") and self.joined(index + 1):
            pair = (instr, self.instrs[index + 1])
            null, load = pair if FACTS.null_below_callable else reversed(pair)
            if null.op == "PUSH_NULL" and load.op == "LOAD_GLOBAL":
                self.emit("LOAD_GLOBAL", self.name(load.arg) << 1 | 1, instr.position)
                return index + 2
        for native, parts in _JOINS.get(instr.op, ()):
            arg = self.match(index, parts)
            if arg is not None:
                label = next((part.target for part in self.instrs[index : index + len(parts)] if part.target), None)
                if native in BORROWING and {index, index + 1} <= self.borrowed:
                    native = BORROWING[native]
                self.emit(native, arg, instr.position, label)
                return index + len(parts)
        return index

    def sequence(self, instr: Instr) -> bool:
        """Emit the natives that version.py has for the instruction, if it has some."""
        natives = FACTS.sequences.get((instr.op, instr.arg), ())
        for op, arg in natives:
            self.emit(op, self.const(arg) if op == "LOAD_CONST" else arg, instr.position)
        return bool(natives)

    def match(self, index: int, parts: Sequence[tuple[str] | tuple[str, str | int]]) -> int | None:
        """The argument of the native that joins the instructions from `index` on, None if they are not `parts`."""
        arg = 0
        for offset, part in enumerate(parts):
            if index + offset >= len(self.instrs) or (offset and not self.joined(index + offset)):
                return None
            instr = self.instrs[index + offset]
            if instr.op != part[0]:
                return None
            spec = part[1] if len(part) == 2 else None
            if spec == "arg":
                arg = self.operand(instr)
            elif spec == "target":
                if instr.target is None or instr.target <= index + offset:
                    return None  # the natives that join a jump only go forward
            elif spec == "first" or spec == "second":
                slot = self.local_slot[instr.arg]
                if slot > 15:
                    return None
                arg = arg << 4 | slot
            elif spec is not None and instr.arg != spec:
                return None
        return arg

    # Operands

    def const(self, value: Any) -> int:
        index = self.const_index.get(id(value))
        if index is None:
            index = self.const_index[id(value)] = len(self.consts)
            self.consts.append(value)
        return index

    def name(self, name: str) -> int:
        index = self.name_index.get(name)
        if index is None:
            index = self.name_index[name] = len(self.names)
            self.names.append(name)
        return index

    def cell(self, name: str) -> int:
        if name not in self.cell_slot:
            raise UnsupportedCode(f"{self.code.qualname}: {name} is neither a cell nor a free variable")
        return self.cell_slot[name]

    def operand(self, instr: Instr) -> int:
        """The native argument of an instruction whose native opcode has the same kind of operand."""
        return _OPERANDS[instr.op](self, instr.arg)

    # One function for each opcode that is not spelled by its own name on some version

    def plain(self, index: int, instr: Instr) -> None:
        self.emit(instr.op, self.operand(instr), instr.position, instr.target)

    def jump(self, index: int, instr: Instr) -> None:
        assert instr.target is not None
        if instr.target > index:
            op = "JUMP_FORWARD"
        else:
            op = "JUMP_BACKWARD" if instr.op == "JUMP" else "JUMP_BACKWARD_NO_INTERRUPT"
        self.emit(op, 0, instr.position, instr.target)

    def jump_if(self, index: int, instr: Instr) -> None:
        assert instr.target is not None
        if FACTS.boolean_jumps and not instr.bare and instr.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
            self.to_bool(index, instr)
        forward = instr.target > index
        if FACTS.directed_conditions:
            op = instr.op.replace("JUMP", "JUMP_FORWARD" if forward else "JUMP_BACKWARD")
            self.emit(op, 0, instr.position, instr.target)
        elif forward:
            self.emit(instr.op, 0, instr.position, instr.target)
            self.branch_mark(instr)
        else:
            over = self.emit(INVERSE_CONDITIONS[instr.op], 0, instr.position)
            self.branch_mark(instr)
            self.emit("JUMP_BACKWARD", 0, instr.position, instr.target)
            self.gotos[over] = len(self.ops)

    def branch_mark(self, instr: Instr) -> None:
        if FACTS.branch_marks:
            self.emit("NOT_TAKEN", 0, instr.position)

    def end_send(self, index: int, instr: Instr) -> None:
        self.emit("END_SEND", 0, instr.position)
        if index in self.sends.values() and not instr.bare:
            self.branch_mark(instr)

    def end_async_for(self, index: int, instr: Instr) -> None:
        self.emit("END_ASYNC_FOR", 0, instr.position, self.sends.get(index))

    def for_iter(self, index: int, instr: Instr) -> None:
        assert instr.target is not None
        if instr.target > index:
            self.emit("FOR_ITER", 0, instr.position, instr.target)
            return
        loop = self.emit("FOR_ITER", 0, instr.position)
        over = self.emit("JUMP_FORWARD", 0, instr.position)  # FOR_ITER only goes forward
        self.gotos[loop] = len(self.ops)
        for op in FACTS.loop_exit:
            self.emit(op, 0, instr.position)
        self.emit("JUMP_BACKWARD", 0, instr.position, instr.target)
        self.gotos[over] = len(self.ops)

    def to_bool(self, index: int, instr: Instr) -> None:
        """Make the top of the stack, which instruction `index` wants as a bool, one."""
        before = self.instrs[index - 1].op if index and index not in self.targets else None
        if before == "COMPARE_OP" and FACTS.compare_bool_bit and self.joined(index):
            self.args[-1] |= FACTS.compare_bool_bit
        elif before not in YIELDS_BOOL:
            self.emit("TO_BOOL", 0, instr.position)

    def unary_not(self, index: int, instr: Instr) -> None:
        if FACTS.boolean_jumps:
            self.to_bool(index, instr)
        self.emit("UNARY_NOT", 0, instr.position)

    def compare_op(self, index: int, instr: Instr) -> None:
        operator = self.operand(instr)
        arg = operator << FACTS.compare_shift | FACTS.compare_masks[operator]
        self.emit("COMPARE_OP", arg, instr.position)

    def load_global(self, index: int, instr: Instr) -> None:
        self.emit("LOAD_GLOBAL", self.name(instr.arg) << 1, instr.position)

    def load_attr(self, index: int, instr: Instr) -> None:
        self.emit("LOAD_ATTR", self.name(instr.arg) << 1 | (instr.op == "LOAD_METHOD"), instr.position)

    def load_super(self, index: int, instr: Instr) -> None:
        name, explicit = instr.arg
        method = instr.op == "LOAD_SUPER_METHOD"
        self.emit("LOAD_SUPER_ATTR", self.name(name) << 2 | explicit << 1 | method, instr.position)

    def load_closure(self, index: int, instr: Instr) -> None:
        if FACTS.closure_by_load_fast:
            self.load_fast(index, instr)
        else:
            self.plain(index, instr)

    def store_cell(self, index: int, instr: Instr) -> None:
        self.emit("STORE_FAST", self.operand(instr), instr.position)

    def load_fast_and_clear(self, index: int, instr: Instr) -> None:
        if "LOAD_FAST_AND_CLEAR" in CACHES:
            self.plain(index, instr)
        else:  # only in code that decode did not make; the local must be bound
            self.emit("LOAD_FAST", self.operand(instr), instr.position)
            self.emit("DELETE_FAST", self.operand(instr), instr.position)

    def load_fast(self, index: int, instr: Instr) -> None:
        op = BORROWING["LOAD_FAST"] if index in self.borrowed else "LOAD_FAST"
        self.emit(op, self.operand(instr), instr.position)

    def load_const(self, index: int, instr: Instr) -> None:
        value = instr.arg
        if type(value) is int and 0 <= value < FACTS.small_ints:
            self.emit("LOAD_SMALL_INT", value, instr.position)
        elif id(value) in _COMMON_CONSTANTS:
            self.emit("LOAD_COMMON_CONSTANT", _COMMON_CONSTANTS[id(value)], instr.position)
        else:
            self.plain(index, instr)

    def pop_iter(self, index: int, instr: Instr) -> None:
        self.emit("POP_ITER" if "POP_ITER" in CACHES else "POP_TOP", 0, instr.position)

    def load_fast_check(self, index: int, instr: Instr) -> None:
        op = "LOAD_FAST_CHECK" if "LOAD_FAST_CHECK" in CACHES else "LOAD_FAST"
        self.emit(op, self.operand(instr), instr.position)

    def call(self, index: int, instr: Instr) -> None:
        op = "CALL" if FACTS.kw_names else instr.op
        if instr.op == "CALL_KW" and FACTS.kw_names:
            if index in self.borders or self.instrs[index - 1].op != "LOAD_CONST":
                raise UnsupportedCode(f"{self.code.qualname}: CALL_KW {index} needs LOAD_CONST right before it")
            self.ops[-1] = "KW_NAMES"
        for prefix in FACTS.call_prefix:
            self.emit(prefix, instr.arg, instr.position)
        self.emit(op, instr.arg, instr.position)

    def make_function(self, index: int, instr: Instr) -> None:
        if not FACTS.function_attributes:
            return self.plain(index, instr)
        self.emit("MAKE_FUNCTION", 0, instr.position)
        for flag in FACTS.function_attributes:
            if instr.arg & flag:
                self.emit("SET_FUNCTION_ATTRIBUTE", flag, instr.position)

    def format_value(self, index: int, instr: Instr) -> None:
        conversion, has_spec = instr.arg
        number = CONVERSIONS.index(conversion)
        if FACTS.conversion_in_format:
            self.emit("FORMAT_VALUE", number | has_spec << 2, instr.position)
            return
        swap = number and has_spec
        if swap:
            self.emit("SWAP", 2, instr.position)
        if number:
            self.emit("CONVERT_VALUE", number, instr.position)
        if swap:
            self.emit("SWAP", 2, instr.position)
        self.emit("FORMAT_WITH_SPEC" if has_spec else "FORMAT_SIMPLE", 0, instr.position)

    def build_interpolation(self, index: int, instr: Instr) -> None:
        conversion, has_spec = instr.arg
        self.emit("BUILD_INTERPOLATION", CONVERSIONS.index(conversion) << 2 | 2 | has_spec, instr.position)

    def intrinsic(self, index: int, instr: Instr) -> None:
        if FACTS.intrinsics:
            native, number = _INTRINSIC_NUMBERS[instr.op]
            self.emit(native, number, instr.position)
            return
        self.emit(instr.op, 0, instr.position)
        if instr.op in ("IMPORT_STAR", "PRINT_EXPR"):  # these push nothing; see SPELLINGS
            self.emit("LOAD_CONST", self.const(None), instr.position)

    def send(self, index: int, instr: Instr) -> None:
        if (instr.op == "SEND_OR_POP") != FACTS.send_pops:
            raise UnsupportedCode(f"{self.code.qualname}: Python {VERSION} has no {instr.op}")
        if instr.target is None or instr.target <= index:
            raise UnsupportedCode(f"{self.code.qualname}: {instr.op} {index} leads backwards")
        self.emit("SEND", 0, instr.position, instr.target)

    # Assembly

    def assemble(self) -> types.CodeType:
        """The code object."""
        offsets, sizes = self.layout()
        code, unit = self.code, offsets.__getitem__
        entries = (
            (unit(self.start[one.start]), unit(self.start[one.end]), unit(self.start[one.target]), one.depth, one.lasti)
            for one in code.exceptions
        )
        native, spans = bytearray(), []
        for op, arg, size, position in zip(self.ops, self.args, sizes, self.positions, strict=True):
            number, caches, tail = _NATIVE[op]
            if size > 1:
                for shift in range(8 * size - 8, 0, -8):
                    native += bytes((_EXTENDED_ARG, arg >> shift & 0xFF))
                arg &= 0xFF
            native.append(number)
            native.append(arg)
            if caches:
                native += tail
            spans.append((position, size + caches))
        return types.CodeType(
            code.argcount,
            code.posonlyargcount,
            code.kwonlyargcount,
            len(self.varnames),
            stack_size(code),
            native_flags(code, (*self.varnames, *code.cellvars)),
            bytes(native),
            tuple(self.consts),
            tuple(self.names),
            tuple(self.varnames),
            code.filename,
            code.name,
            code.qualname,
            code.firstlineno,
            location_table(spans, code.firstlineno),
            exception_table(entries),
            code.freevars,
            code.cellvars,
        )

    def layout(self) -> tuple[list[int], list[int]]:
        """Resolve the jumps; returns the offset of each native instruction, in code units, and that of the end; and
        the code units of each without caches, EXTENDED_ARG included."""
        ops, args = self.ops, self.args
        for jump, label in self.labels.items():
            exit = self.exits.get(label) if ops[jump] == "FOR_ITER" else None
            self.gotos[jump] = self.start[label] if exit is None else exit
        caches = [CACHES[op] for op in ops]
        sizes = [1 if arg < 0x100 else _room(arg) for arg in args]
        while True:
            offsets = [0, *accumulate(map(int.__add__, sizes, caches))]
            grown = False
            for jump, goto in self.gotos.items():
                args[jump] = arg = abs(offsets[goto] - offsets[jump + 1])
                if arg >= 0x100 and _room(arg) > sizes[jump]:
                    sizes[jump] = _room(arg)
                    grown = True
            if not grown:
                return offsets, sizes


def _room(arg: int) -> int:
    """The code units that an instruction with this argument needs, EXTENDED_ARG included."""
    return 1 if arg < 0x100 else 2 if arg < 0x10000 else 3 if arg < 0x1000000 else 4


def _operand_of(op: str) -> Callable[[_Encoder, Any], int]:
    """What makes the native argument of the canonical one, where the native opcode has the same kind of operand."""
    match OPCODES[op].operand:
        case Operand.NONE | Operand.TARGET:
            return lambda encoder, arg: 0
        case Operand.FLAG if FACTS.kwargs_always:
            return lambda encoder, arg: 0
        case Operand.CONST:
            return _Encoder.const
        case Operand.LOCAL:
            return lambda encoder, arg: encoder.local_slot[arg]
        case Operand.CELL:
            return _Encoder.cell
        case Operand.NAME:
            return _Encoder.name
        case Operand.UNPACK:
            return lambda encoder, arg: int(arg[0] | arg[1] << 8)
        case Operand.CONVERSION:
            return lambda encoder, arg: CONVERSIONS.index(arg)
        case Operand.OPERATOR:
            return lambda encoder, arg, names=OPERATORS[op]: names.index(arg)  # type: ignore[misc]
    return lambda encoder, arg: int(arg)


_OPERANDS = {op: _operand_of(op) for op in OPCODES}

_LOWER: dict[str, Callable[[_Encoder, int, Instr], None]] = {
    "JUMP": _Encoder.jump,
    "JUMP_NO_INTERRUPT": _Encoder.jump,
    "POP_JUMP_IF_TRUE": _Encoder.jump_if,
    "POP_JUMP_IF_FALSE": _Encoder.jump_if,
    "POP_JUMP_IF_NONE": _Encoder.jump_if,
    "POP_JUMP_IF_NOT_NONE": _Encoder.jump_if,
    "FOR_ITER": _Encoder.for_iter,
    "TO_BOOL": _Encoder.to_bool,
    "UNARY_NOT": _Encoder.unary_not,
    "COMPARE_OP": _Encoder.compare_op,
    "LOAD_GLOBAL": _Encoder.load_global,
    "LOAD_SUPER_ATTR": _Encoder.load_super,
    "LOAD_SUPER_METHOD": _Encoder.load_super,
    "LOAD_CLOSURE": _Encoder.load_closure,
    "STORE_CELL": _Encoder.store_cell,
    "POP_ITER": _Encoder.pop_iter,
    "END_SEND": _Encoder.end_send,
    "END_ASYNC_FOR": _Encoder.end_async_for,
    "BUILD_INTERPOLATION": _Encoder.build_interpolation,
    "LOAD_FAST_AND_CLEAR": _Encoder.load_fast_and_clear,
    "LOAD_FAST_CHECK": _Encoder.load_fast_check,
    "CALL": _Encoder.call,
    "CALL_KW": _Encoder.call,
    "MAKE_FUNCTION": _Encoder.make_function,
    "FORMAT_VALUE": _Encoder.format_value,
    "SEND": _Encoder.send,
    "SEND_OR_POP": _Encoder.send,
    **dict.fromkeys(_INTRINSIC_NUMBERS, _Encoder.intrinsic),
}
# What is spelled by its own name where this CPython has no other way, which takes half of the time.
if FACTS.attr_method_bit:
    _LOWER.update({"LOAD_ATTR": _Encoder.load_attr, "LOAD_METHOD": _Encoder.load_attr})
if FACTS.borrowing:
    _LOWER["LOAD_FAST"] = _Encoder.load_fast
if FACTS.small_ints or COMMON_CONSTANTS:
    _LOWER["LOAD_CONST"] = _Encoder.load_const
