"""Polls: a user's code object with a question at its entry and at the back edges of its loops.

Enters: a ``Code`` and what to ask. Leaves: a ``Code`` that does the same, but tests an object of ours (``bool(poll)``,
a C function) where it begins and each time one of its loops goes round. Where that is true, it calls ``poll()``; unless
the answer is ``go_on``, the frame returns the answer instead of running on. watching.py does this to the files of a
program that is run as a whole, so that functions, and loops that are running already (on-stack replacement), can be
handed over to compiled code. The question takes 5 to 10 ns, which a short loop would feel: it is written several times
over, and the last copy alone asks.

    12  JUMP -> 5        becomes        12  LOAD_CONST poll
                                        13  POP_JUMP_IF_TRUE -> 40
                                        14  JUMP -> 5
                                        ...
                                        40  PUSH_NULL; LOAD_CONST poll; CALL 0         -> handler, if it raises
                                            COPY 1; LOAD_CONST go_on; IS_OP is not; POP_JUMP_IF_TRUE -> 48
                                            POP_TOP; JUMP -> 5
                                        48  SWAP 2; POP_TOP (for each stack slot); RETURN_VALUE
                               handler  50  COPY 1; drop_frame(exception); POP_JUMP_IF_TRUE -> 58
                                        57  RERAISE                                    -> the user's handler, if any
                                        58  RERAISE
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dynamo_lite import _C
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.pycode.code import (
    CO_GENERATOR_KINDS,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    NO_POSITION,
    Code,
    ExceptionEntry,
    Instr,
    Position,
    UnsupportedCode,
    UnsupportedOpcode,
    handlers_at,
    remembered,
)
from dynamo_lite.pycode.decode import decode, decoded, remember_as
from dynamo_lite.pycode.encode import encode
from dynamo_lite.pycode.flow import natural_loop, reached, stack_depth, successors
from dynamo_lite.pycode.module_code import as_function, as_module, is_module
from dynamo_lite.pycode.opcodes import OPCODES
from dynamo_lite.pycode.rotate import rotated
from dynamo_lite.pycode.version import FACTS


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop by its header (the instruction its back edges lead to): its instructions, the back edges, the stack slots
    in use at the header, each an iterator of a `for` (the innermost on top), and the header of the loop around it.
    copies: rounds from one question to the next."""

    header: int
    body: frozenset[int]
    edges: tuple[int, ...]
    depth: int
    over: str  # "for" or "while"
    outer: int | None
    copies: int = 1

    @property
    def last(self) -> int:
        """The last of the back edges."""
        return self.edges[-1]


@dataclass(frozen=True, slots=True)
class Landing:
    """A place in front of a statement by its instruction, and the stack slots in use there. once: it heads a loop,
    whose back edges ask for themselves."""

    header: int
    depth: int
    once: bool


GIVEN = ".0"  # the variable in which a comprehension's function has the iterator that it was given


def is_comprehension(code: Code) -> bool:
    """Whether it is the function of a list, set or dict comprehension (up to 3.11), or goes on with one: the result
    lies on the stack below the iterators."""
    return code.name in ("<listcomp>", "<setcomp>", "<dictcomp>")


@remembered
def loops(code: Code) -> list[Loop]:
    """The loops at whose header the stack holds the iterators of the `for` loops around it and what leaves the `with`
    blocks around it, below them the result of a comprehension whose function that is, and nothing else.

    Others stand in the middle of an expression, or in an exception handler.
    """
    edges: dict[int, list[int]] = {}
    for index, instr in enumerate(code.instrs):
        if instr.target is not None and instr.target <= index and index in natural_loop(code, instr.target, True):
            edges.setdefault(instr.target, []).append(index)
    if not edges:
        return []
    depths = stack_depth(code)
    found: list[Loop] = []
    for header in sorted(edges):
        if depths[header] is None:
            continue
        body = natural_loop(code, header, True)
        around = [loop for loop in found if header in loop.body]
        over = "for" if code.instrs[header].op == "FOR_ITER" else "while"
        slots = _slots(code, header, around) + (over == "for")
        outer = around[-1].header if around else None
        if depths[header] == slots:
            found.append(Loop(header, body, tuple(edges[header]), slots, over, outer))
    return found


def statement_depth(code: Code, index: int) -> int:
    """The stack slots in use in front of instruction `index`, if a statement begins there or a loop of `loops` goes
    round."""
    return _slots(code, index, [loop for loop in loops(code) if index in loop.body])


def _slots(code: Code, index: int, around: list[Loop]) -> int:
    """What lies on the stack below a statement in some loops."""
    return sum(loop.over == "for" for loop in around) + _withs(code, index) + is_comprehension(code)


def watched_loops(code: Code, together: int = 0) -> list[Loop]:
    """Those among `loops` that are worth a question: not the short ones, whose few rounds would feel it, and around
    which there is one that asks soon enough. together: instructions that the copies of an innermost loop may have."""
    return _watched(code, together)


@remembered
def _watched(code: Code, together: int) -> list[Loop]:
    found = list(loops(code))
    if is_comprehension(code):
        found = [loop for loop in found if _takes_long(code, loop)]
    for loop in reversed(found):  # the innermost first
        is_inner = loop.outer is not None and all(one.outer != loop.header for one in found)
        if is_inner and _is_short(code, loop):
            found.remove(loop)
    inner = {loop.header for loop in found} - {loop.outer for loop in found}
    return [replace(loop, copies=_copies(code, loop, together)) if loop.header in inner else loop for loop in found]


_LONG = 4  # operations of a round, for which the question is little


def _takes_long(code: Code, loop: Loop) -> bool:
    """Whether a round of a comprehension is long enough that nobody feels a question in it, which no copy on the same
    line can spare: it calls more than what is built in, or computes more than `[x * x for x in values]`."""
    body = [code.instrs[index] for index in loop.body]
    calls = sum(instr.op in _CALLS for instr in body)
    built_in = sum(instr.op == "LOAD_GLOBAL" and hasattr(builtins, str(instr.arg)) for instr in body)
    return calls > built_in or _operations(body) >= _LONG


_FEW = 8  # rounds


def _is_short(code: Code, loop: Loop) -> bool:
    """Whether a loop has few rounds, as its code tells, which call nothing: `for dx in (-1, 0, 1): n += x[i + dx]`."""
    calls = [index for index in loop.body if code.instrs[index].op in _CALLS]
    if loop.over != "for" or any(code.instrs[index + 1].op != "GET_ITER" for index in calls):
        return False
    before = [instr for instr in code.instrs[max(loop.header - 7, 0) : loop.header] if instr.op != "PUSH_NULL"]
    if len(before) < 2 or before[-1].op != "GET_ITER":
        return False
    given = before[-2]
    if given.op == "LOAD_CONST" and isinstance(given.arg, tuple | frozenset):
        return len(given.arg) <= _FEW
    if given.op in ("BUILD_TUPLE", "BUILD_LIST"):
        return bool(given.arg <= _FEW)
    bounds = [instr.arg for instr in before[-2 - given.arg : -2]] if given.op == "CALL" else []
    is_range = 0 < len(bounds) <= min(3, len(before) - 3) and before[-3 - len(bounds)].arg == "range"
    are_known = all(type(bound) is int for bound in bounds) and 0 not in bounds[2:]
    return is_range and are_known and len(range(*bounds)[: _FEW + 1]) <= _FEW  # NB: a long one may have no length


def _withs(code: Code, index: int) -> int:
    """The slots of the stack that the `with` blocks have in which an instruction stands: one each, two from 3.14 on."""
    count, entry = 0, handlers_at(code, index)
    while entry is not None:
        count += _WITH_SLOTS.get(code.instrs[entry.target + 1].op, 0)
        entry = handlers_at(code, entry.target)
        while entry is not None and code.instrs[entry.target].op == "COPY":  # what ends a handler that is left
            entry = handlers_at(code, entry.target)
    return count


_WITH_SLOTS = {"WITH_EXCEPT_START": 1, "WITH_EXCEPT_START_SELF": 2}
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})


@remembered
def runs_out(code: Code, header: int) -> bool:
    """Whether the loop headed by instruction `header` is a `for` that ends with its iterator only, unless something is
    raised."""
    if code.instrs[header].op != "FOR_ITER":
        return False
    body = natural_loop(code, header, True)
    exits = {after for index in body for after in successors(code, index)} - body - {code.instrs[header].target}
    return not any(
        code.instrs[index].op.startswith("RETURN") for start in exits for index in reached(code, start, False)
    )


def _copies(code: Code, loop: Loop, together: int) -> int:
    """How often an innermost loop is written."""
    span = range(loop.header, loop.last + 1)
    body = code.instrs[loop.header : loop.last + 1]
    if len({instr.position[0] for instr in body}) == 1:
        return 1  # NB: a jump back makes a tracer see a line once more
    if any(entry.start <= loop.last and loop.header < entry.end for entry in code.exceptions):
        return 1
    for index, instr in enumerate(code.instrs):
        within = index in span
        if instr.target is not None and instr.target in span and instr.target != loop.header and not within:
            return 1
        if within and instr.target is not None and instr.target <= index and instr.target != loop.header:
            return 1
    if any(instr.op in _CALLS for instr in body):
        return 1  # its rounds may be long, and nobody would know before all copies have run
    return max(1, together // len(body))


MakePoll = Callable[[Code, "Loop | None"], object | None]  # None: there is none
Places = Callable[[Code], "list[tuple[Landing, object]]"]  # landings, and the polls there


@dataclass(frozen=True, slots=True)
class Answers:
    """What goes with polls: `go_on` is the answer after which a frame runs on, `drop_frame(exception)` takes the frame
    off the traceback of an exception that the poll's call raised, and says whether its handlers have seen that."""

    go_on: object
    drop_frame: object


def with_polls(
    code: Code,
    make_poll: MakePoll,
    answers: Answers,
    together: int = 0,
    least: int = 1,
    every: bool = False,
    places: Places | None = None,
) -> Code | None:
    """`code` with polls at its entry and at the back edges of its loops; None where there is no place for one.

    make_poll: asked for the poll of the entry (None), then of each loop that may be worth it, outer ones first; it may
    give None. together: instructions that the copies of a short loop may have. least: operations of a function without
    loops that is worth one. every: of short loops too. places: gives those besides loops where there is to be a poll.
    """
    if not (code.flags & CO_OPTIMIZED and code.flags & CO_NEWLOCALS) or code.flags & CO_GENERATOR_KINDS:
        return None
    writer = _Writer(code, answers)
    found = loops(code) if every else watched_loops(code, together)
    if code.name == "<lambda>" or not code.name.startswith("<"):
        entry = next(index for index, instr in enumerate(code.instrs) if instr.op != "MAKE_CELL")
        enough = 1 if found else least
        if _operations(code.instrs) >= enough:
            poll = make_poll(code, None)
            if poll is not None:
                writer.at_entry(entry, poll)
    for loop in found:
        if _operations(code.instrs[index] for index in loop.body):
            poll = make_poll(code, loop)
            if poll is not None:
                writer.at_loop(loop, poll)
    for landing, poll in [] if places is None else places(code):
        writer.at_landing(landing, poll)
    return writer.finish() if writer.blocks else None


# What makes a call, or a round of a loop, take the time of an array operation at least.
_WORTH_A_POLL = frozenset(("CALL", "CALL_KW", "CALL_FUNCTION_EX", "BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_OP"))


def _operations(instrs: Iterable[Instr]) -> int:
    return sum(instr.op in _WORTH_A_POLL for instr in instrs)


class _Writer:
    """A Code in the making; a jump leads to an index of the old code, or to ``(block, part)``, until all is placed."""

    def __init__(self, code: Code, answers: Answers) -> None:
        self.code = code
        self.answers = answers
        self.entry: tuple[int, int] | None = None
        self.edges: dict[int, int] = {}  # index of a back edge -> its block
        self.landings: dict[int, tuple[int, Landing]] = {}  # and by the instruction
        self.copied: dict[int, Loop] = {}  # header -> loop
        self.in_with = False  # whether anything is asked in a `with` block
        self.blocks: list[tuple[object, int, int, Position]] = []  # poll, where to go on, stack depth there, position
        self.out: list[Instr] = []
        self.labels: list[object] = []
        self.place: dict[object, int] = {}

    def at_entry(self, index: int, poll: object) -> None:
        """Ask `poll` before instruction `index`, the first."""
        self.entry = index, len(self.blocks)
        self.blocks.append((poll, index, 0, NO_POSITION))

    def at_loop(self, loop: Loop, poll: object) -> None:
        """Ask `poll` at all back edges of `loop`."""
        if loop.copies > 1:
            self.copied[loop.header] = loop
        self.in_with |= _withs(self.code, loop.header) > 0
        self.edges.update(dict.fromkeys(loop.edges, len(self.blocks)))
        self.blocks.append((poll, loop.header, loop.depth, self.code.instrs[loop.last].position))

    def at_landing(self, landing: Landing, poll: object) -> None:
        """Ask `poll` before the instruction of `landing`."""
        self.landings[landing.header] = len(self.blocks), landing
        self.in_with |= _withs(self.code, landing.header) > 0
        position = self.code.instrs[landing.header].position
        self.blocks.append((poll, landing.header, landing.depth, position))

    def emit(self, op: str, arg: object = None, position: Position = NO_POSITION, to: object = None) -> None:
        self.out.append(Instr(op, arg, None if to is None else 0, position))
        self.labels.append(to)

    def ask(self, block: int, position: Position) -> None:
        """The question: go to the block's call where the poll is true."""
        poll = self.blocks[block][0]
        self.emit("LOAD_CONST", poll, position)
        self.emit("POP_JUMP_IF_TRUE", None, position, (block, "call"))

    def finish(self) -> Code:
        code, start = self.code, []
        for index, instr in enumerate(code.instrs):
            if self.entry is not None and self.entry[0] == index:
                self.ask(self.entry[1], NO_POSITION)  # a tracer must not see the line of the `def`
            copied = self.copied.get(index)
            lands, landing = self.landings.get(index, (0, None))
            if landing is not None and landing.once:
                self.ask(lands, NO_POSITION)
            start.append(len(self.out))
            if landing is not None and not landing.once:
                self.ask(lands, NO_POSITION)
                self.place["landed", index] = len(self.out)
            if copied is not None:
                self.write_copies(copied)
                self.place["asks", index] = len(self.out)
            block = self.edges.get(index)
            target: object = instr.target
            if block is not None and OPCODES[instr.op].ends:
                self.ask(block, instr.position)
            elif block is not None:
                target = (block, "ask")
            if instr.op == "BEFORE_WITH_SELF" and self.in_with:  # as a bound method, and NULL: who asks knows which
                self.emit("BEFORE_WITH", None, instr.position)
                self.emit("PUSH_NULL", None, instr.position)
                self.emit("SWAP", 2, instr.position)
                continue
            self.out.append(instr)
            self.labels.append(target)
        start.append(len(self.out))
        entries = [
            ExceptionEntry(start[entry.start], start[entry.end], start[entry.target], entry.depth, entry.lasti)
            for entry in code.exceptions
        ]
        for block in range(len(self.blocks)):
            entries += self.write(block, start)
        instrs = tuple(
            instr
            if label is None
            else replace(instr, target=start[label] if isinstance(label, int) else self.place[label])
            for instr, label in zip(self.out, self.labels, strict=True)
        )
        return replace(code, instrs=instrs, exceptions=tuple(entries))

    def write_copies(self, loop: Loop) -> None:
        """All rounds of a loop but the one that asks, one after the other."""
        span = range(loop.header, loop.last + 1)
        for copy in range(loop.copies - 1):
            for index in span:
                instr = self.code.instrs[index]
                self.place[copy, index] = len(self.out)
                if instr.target == loop.header:
                    follows: object = (copy + 1 if copy + 2 < loop.copies else "asks", loop.header)
                    if instr.op != "JUMP" or index != loop.last:
                        self.out.append(instr)
                        self.labels.append(follows)
                    if instr.op != "JUMP" and index == loop.last:
                        self.emit("JUMP", None, instr.position, loop.last + 1)
                else:
                    self.out.append(instr)
                    self.labels.append((copy, instr.target) if instr.target in span else instr.target)

    def write(self, block: int, start: Sequence[int]) -> list[ExceptionEntry]:
        """The block after all else: the question of conditional back edges, the call, what becomes of its answer."""
        poll, onwards, depth, position = self.blocks[block]
        self.place[block, "ask"] = len(self.out)
        edges = (self.code.instrs[edge].op for edge, number in self.edges.items() if number == block)
        if not all(OPCODES[op].ends for op in edges):
            self.ask(block, position)
            self.emit("JUMP", None, position, onwards)
        self.place[block, "call"] = begin = len(self.out)
        for op, arg in _callable(poll):
            self.emit(op, arg, position)
        self.emit("CALL", 0, position)
        end = len(self.out)
        self.emit("COPY", 1, position)
        self.emit("LOAD_CONST", self.answers.go_on, position)
        self.emit("IS_OP", "is not", position)
        self.emit("POP_JUMP_IF_TRUE", None, position, (block, "return"))
        self.emit("POP_TOP", None, position)
        self.emit("JUMP", None, position, ("landed", onwards) if ("landed", onwards) in self.place else onwards)
        self.place[block, "return"] = len(self.out)
        for _ in range(depth):
            self.emit("SWAP", 2, position)
            self.emit("POP_TOP", None, position)
        self.emit("RETURN_VALUE", None, position)
        handler = len(self.out)  # exception -> exception, callable and NULL, exception -> exception
        self.emit("COPY", 1, position)
        for op, arg in reversed(_callable(self.answers.drop_frame)):
            self.emit(op, arg, position)
        self.emit("SWAP", 3, position)
        self.emit("CALL", 1, position)
        self.emit("POP_JUMP_IF_TRUE", None, position, (block, "left"))
        raises = len(self.out)  # in the frame, where the loop goes round
        self.emit("RERAISE", 0, position)
        self.place[block, "left"] = len(self.out)
        self.emit("RERAISE", 0, position)
        entries = [ExceptionEntry(begin, end, handler, depth, False)]
        around = handlers_at(self.code, onwards)
        if around is not None:
            entries.append(ExceptionEntry(raises, raises + 1, start[around.target], around.depth, around.lasti))
        return entries


def _callable(function: object) -> list[tuple[str, object]]:
    """What pushes `function` for a call, with its NULL."""
    pushes: list[tuple[str, object]] = [("PUSH_NULL", None), ("LOAD_CONST", function)]
    return pushes if FACTS.null_below_callable else pushes[::-1]


def polled(
    code: types.CodeType,
    make_poll: MakePoll,
    answers: Answers,
    together: int = 0,
    least: int = 1,
    inner: bool = True,
    every: bool = False,
    places: Places | None = None,
) -> types.CodeType:
    """`code` with polls (with_polls), and if `inner` all code objects in it; `decoded` goes on giving what they were
    without.

    What cannot be written so stays as it is. A code object that has polls must not be given them again.
    """
    if inner:
        consts = tuple(
            polled(const, make_poll, answers, together, least) if isinstance(const, types.CodeType) else const
            for const in code.co_consts
        )
        if any(new is not old for new, old in zip(consts, code.co_consts, strict=True)):
            user, code = code, code.replace(co_consts=consts)
            _C.same_code(code, user)
    made, polls = _written(code, make_poll, answers, together, least, every=every, places=places)
    if polls and polls[0][0] is None:  # the entry's
        entry: Any = polls[0][1]
        if len(polls) == 1:
            entry.without = code  # what a function may go back to that is not worth the question
        else:
            plain = decoded(made)  # NB: as it was; to take the code apart once more takes a third of the time
            entry.alone = lambda: _written(code, lambda _, loop: None if loop else entry, answers, 0, least, plain)[0]
    return made


def _written(
    code: types.CodeType,
    make_poll: MakePoll,
    answers: Answers,
    together: int,
    least: int,
    known: Code | None = None,
    every: bool = False,
    places: Places | None = None,
) -> tuple[types.CodeType, list[tuple[Loop | None, object]]]:
    """`code` with polls, and these with their loops, the entry's first; as it is where that cannot be written. known:
    what it says, once it has been taken apart."""
    polls: list[tuple[Loop | None, object]] = []

    def make_and_note(of: Code, loop: Loop | None) -> object | None:
        poll = make_poll(of, loop)
        if poll is not None:
            polls.append((loop, poll))
        return poll

    try:
        plain = rotated(decode(code)) if known is None else known
        is_script = is_module(plain)
        if is_script:
            function = as_function(plain)
            if function is None:
                return code, []
            plain = function
        made = with_polls(plain, make_and_note, answers, together, least, every, places)
        if made is None:
            return code, []
        result = encode(as_module(made, code.co_flags) if is_script else made)
    except (UnsupportedCode, UnsupportedOpcode):
        return code, []
    remember_as(result, plain)
    _C.note_polls(result)
    _C.same_code(result, code)
    return result, polls


__all__ = [
    *("GIVEN", "Answers", "Landing", "Loop", "MakePoll", "Places", "is_comprehension", "loops", "polled"),
    *("statement_depth", "watched_loops", "with_polls"),
]
