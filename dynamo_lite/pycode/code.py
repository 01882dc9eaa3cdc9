"""A code object in canonical form: what decode.py makes, what encode.py takes.

``Code`` holds instructions by index instead of bytes by offset: jump targets, exception ranges and handlers are
indices into ``Code.instrs``. INVARIANT: ``decode(encode(code)) == code`` for every code that decode made. Equality is
exact: constants compare by identity or by type and bits, never by ``==`` alone (1, 1.0 and True differ, 0.0 and -0.0
differ, arrays do not compare).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from dataclasses import field, fields
from struct import pack
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from dynamo_lite.dataclass import dataclass
from dynamo_lite.pycode.opcodes import OPCODES, Operand
from dynamo_lite.pycode.version import FACTS

_T = TypeVar("_T")
_Rest = TypeVarTuple("_Rest")

Position: TypeAlias = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column, as in ``code.co_positions()``."""

NO_POSITION: Position = (None, None, None, None)

CO_OPTIMIZED = 0x1
CO_NEWLOCALS = 0x2
CO_VARARGS = 0x4
CO_VARKEYWORDS = 0x8
CO_NESTED = 0x10
CO_GENERATOR_KINDS = 0x20 | 0x80 | 0x200  # generator, coroutine, async generator


class UnsupportedOpcode(Exception):
    """A native opcode, or its use, that has no canonical form."""


class UnsupportedCode(Exception):
    """Canonical code that this CPython cannot express."""


class UnsupportedResume(Exception):
    """A place in a code object at which no resume function can start."""


@dataclass(frozen=True, slots=True, eq=False)
class Instr:
    """A canonical instruction: ``op`` is a row of OPCODES, ``arg`` its operand, ``target`` the index it may jump to.

    ``bare``: spelled without what encode.py would add: a load of a local that could borrow (borrow.py), a jump that has
    no TO_BOOL before it, the END_SEND of an asynchronous comprehension, which has no NOT_TAKEN after it, a STORE_FAST
    that is not joined to the one before (the compiler restores a comprehension's locals so).
    """

    op: str
    arg: Any = None
    target: int | None = None
    position: Position = NO_POSITION
    bare: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instr):
            return NotImplemented
        return (
            self.op == other.op
            and self.target == other.target
            and self.position == other.position
            and self.bare == other.bare
            and same_constant(self.arg, other.arg)
        )

    def __hash__(self) -> int:
        return hash((self.op, self.target, self.position))

    def __str__(self) -> str:
        if self.target is not None:
            return f"{self.op} -> {self.target}"
        return self.op if self.arg is None and OPCODES[self.op].operand is Operand.NONE else f"{self.op} {self.arg!r}"


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """An exception raised by the instructions start..end-1 goes on at ``target``, with the stack cut down to ``depth``
    slots; then, if ``lasti``, the raising instruction's offset and, always, the exception are pushed."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool

    @property
    def handler_depth(self) -> int:
        """The stack depth at the handler's first instruction."""
        return self.depth + self.lasti + 1


@dataclass(frozen=True, slots=True)
class Code:
    """A code object. argcount counts positional-only arguments too, as co_argcount does; varnames starts with the
    arguments. ``consts`` and ``names`` are the pools as they were, which keep their order; encode adds what is
    missing. ``entry`` is the position of the RESUME at a function's entry, which has no Instr. Exception entries are
    sorted and do not overlap. ``order``, of a resume function: the locals as the user's function has them, in whose
    order Python lets go of them. ``found`` is what analyses remember.
    """

    instrs: tuple[Instr, ...]
    exceptions: tuple[ExceptionEntry, ...]
    name: str
    qualname: str
    filename: str
    firstlineno: int
    argcount: int
    posonlyargcount: int
    kwonlyargcount: int
    flags: int
    varnames: tuple[str, ...]
    cellvars: tuple[str, ...]
    freevars: tuple[str, ...]
    consts: tuple[Any, ...]
    names: tuple[str, ...]
    entry: Position
    order: tuple[str, ...] = field(default=(), repr=False, compare=False)
    found: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def docstring(self) -> str | None:
        """What a function made of this code has as ``__doc__``."""
        if FACTS.documented_by_flag and not self.flags & FACTS.documented_by_flag:
            return None
        first = self.consts[0] if self.consts else None
        return first if isinstance(first, str) else None

    @property
    def argnames(self) -> tuple[str, ...]:
        """All parameters, in the order of their slots: positional, keyword-only, *args, **kwargs."""
        count = self.argcount + self.kwonlyargcount
        return self.varnames[: count + bool(self.flags & CO_VARARGS) + bool(self.flags & CO_VARKEYWORDS)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Code):
            return NotImplemented
        return same_constant(self.consts, other.consts) and all(
            getattr(self, field) == getattr(other, field) for field in _COMPARED
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """One line an instruction: index, `>` if jumped to, source line, instruction; then the exception entries."""
        targets = {instr.target for instr in self.instrs} | {entry.target for entry in self.exceptions}
        lines = [f"code {self.qualname}({', '.join(self.argnames)})  # {self.filename}:{self.firstlineno}"]
        for index, instr in enumerate(self.instrs):
            line = "" if instr.position[0] is None else instr.position[0]
            lines.append(f"{index:5} {'>' if index in targets else ' '} {line:>5}  {instr}")
        for entry in self.exceptions:
            lasti = " lasti" if entry.lasti else ""
            lines.append(f"  {entry.start}..{entry.end - 1} -> {entry.target} depth {entry.depth}{lasti}")
        return "\n".join(lines)


_COMPARED = tuple(field.name for field in fields(Code) if field.compare and field.name != "consts")


def defined_at(code: types.CodeType) -> tuple[str, int]:
    """File and line: of which function a code object, or a resume function's, is."""
    return code.co_filename, code.co_firstlineno


def remembered(find: Callable[[Code, *_Rest], _T]) -> Callable[[Code, *_Rest], _T]:
    """Keep what `find` finds out about a Code with that Code, by the other (positional, hashable) arguments.

    A function may be compiled again and again, and its bytecode stays the same. Nobody may change the result.
    """

    @functools.wraps(find)
    def known(code: Code, *args: *_Rest) -> _T:
        key = (find, *args)
        made: _T
        try:
            made = code.found[key]
        except KeyError:
            made = code.found[key] = find(code, *args)
        return made

    return known


def same_constant(a: Any, b: Any) -> bool:
    """True if `a` and `b` are one object, or immutable builtins of one type with the same bits."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in (int, str, bytes):
        return bool(a == b)
    if kind is float:
        return pack("d", a) == pack("d", b)
    if kind is complex:
        return same_constant(a.real, b.real) and same_constant(a.imag, b.imag)
    if kind is slice:  # a constant from 3.14
        return all(map(same_constant, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    if kind is tuple:
        return len(a) == len(b) and all(map(same_constant, a, b))
    if kind is frozenset:
        return len(a) == len(b) and all(any(same_constant(x, y) for y in b) for x in a)
    return False


def free_operand(name: str, cellvars: tuple[str, ...]) -> str:
    """The operand that means free variable `name`.

    That is the name, unless the code has a cell variable of the same name too: a class body that reads ``__class__``
    from outside and makes its own for its methods, an inlined comprehension whose variable hides a free one.
    """
    return f"{name} (free)" if name in cellvars else name


def handlers_at(code: Code, index: int) -> ExceptionEntry | None:
    """The entry that catches what instruction `index` raises; entries do not overlap, so it is the innermost."""
    for entry in code.exceptions:
        if entry.start <= index < entry.end:
            return entry
    return None


def is_handled(code: Code, index: int) -> bool:
    """Whether what comes where a frame goes on with instruction `index` is handled in it. NB: a NOP at which a `try` of
    a loop begins raises nothing; what comes at a jump back to it counts as raised by the instruction before."""
    if handlers_at(code, index) is not None:
        return True
    is_head = code.instrs[index].op == "NOP" and any(instr.target == index for instr in code.instrs[index:])
    return is_head and index > 0 and handlers_at(code, index - 1) is not None


def handled_alike(code: Code, a: int, b: int) -> bool:
    """Whether what two instructions raise is handled at one place, or nowhere."""
    one, other = handlers_at(code, a), handlers_at(code, b)
    return (one and one.target) == (other and other.target)


@remembered
def ranks(code: Code) -> dict[str, int]:
    """The locals, and variables that inner functions share, by their place in the user's function."""
    return {name: place for place, name in enumerate(dict.fromkeys((*code.order, *code.varnames, *code.cellvars)))}


def in_order(code: Code, names: Iterable[str]) -> tuple[str, ...]:
    """Some of these as they stand there, whichever resume function `code` is of."""
    return tuple(sorted(names, key=ranks(code).__getitem__))


def has_handlers(code: Code) -> bool:
    """Whether code of the user's may handle what is raised, in a `try` or a `with`."""
    return any(code.instrs[entry.target].op == "PUSH_EXC_INFO" for entry in code.exceptions)


def handles_exception(code: Code, index: int) -> bool:
    """Whether an exception is being handled at instruction `index`, or may be, in a `with`: what restores the one from
    before is on the stack. Also in a `try`, or the like, that stands in a handler."""
    entry = handlers_at(code, index)
    if entry is not None and entry.lasti:
        return True
    while entry is not None:
        if code.instrs[entry.target].op == "PUSH_EXC_INFO":  # of a `try` or `with`: it has a handler of its own
            own = handlers_at(code, entry.target)
            entry = own and handlers_at(code, own.target)
        elif entry.lasti:
            return True
        else:
            entry = handlers_at(code, entry.target)
    return False


def leaves_with(code: Code, index: int) -> bool:
    """Whether instruction `index` is the call that leaves a `with` block in whose course nothing was raised. NB: from
    the block's last instruction that lets others in up to there no signal's handler runs, and no handler covers it."""
    before = code.instrs[max(index - 3, 0) : index]
    is_call = code.instrs[index].op == "CALL"
    return is_call and len(before) == 3 and all((one.op, one.arg) == ("LOAD_CONST", None) for one in before)


def skeleton(
    name: str,
    filename: str,
    firstlineno: int,
    argnames: tuple[str, ...] = (),
    *,
    qualname: str | None = None,
    freevars: tuple[str, ...] = (),
    docstring: str | None = None,
) -> Code:
    """A function's code without instructions, taking `argnames` positionally; see encode.assemble."""
    flags = CO_OPTIMIZED | CO_NEWLOCALS | (CO_NESTED if freevars else 0)
    if docstring is not None:
        flags |= FACTS.documented_by_flag
    return Code(
        instrs=(),
        exceptions=(),
        name=name,
        qualname=qualname or name,
        filename=filename,
        firstlineno=firstlineno,
        argcount=len(argnames),
        posonlyargcount=0,
        kwonlyargcount=0,
        flags=flags,
        varnames=argnames,
        cellvars=(),
        freevars=freevars,
        consts=(docstring,),  # slot 0 is the docstring's; a constant there that is a str would become __doc__
        names=(),
        entry=(firstlineno, firstlineno, 0, 0),
    )
