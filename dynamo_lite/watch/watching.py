"""What watches a program: makes polls, answers them once something is hot, and has it compiled.

Enters: code objects of the user's files. Leaves: the same code with polls (pycode/polls.py), which csrc/watch/watch.c
asks and times by the thresholds of policy.py. What is hot is compiled as by ``compile(fn)``; a running loop from its
next round on, and where compiled code breaks off, plain code with polls goes on until the next back edge.
"""

from __future__ import annotations

import functools
import math
import sys
import types
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from time import monotonic_ns, perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from dynamo_lite import _C, budget, log, originals, policy
from dynamo_lite.budget import process_time
from dynamo_lite.config import config
from dynamo_lite.errors import BackendError, DynamoLiteError
from dynamo_lite.installation import unknown_version
from dynamo_lite.pycode import (
    CO_NEWLOCALS,
    Answers,
    Code,
    Loop,
    MakePoll,
    Places,
    decoded,
    defined_at,
    loops,
    may_loop,
    own_cells,
    polled,
    successors,
    watched_loops,
    with_questions,
)
from dynamo_lite.shadows import own_modules
from dynamo_lite.watch import prospects
from dynamo_lite.watch.expectations import Expectations, Rounds, innermost
from dynamo_lite.watch.imports import has_read_bytecode
from dynamo_lite.watch.loop_kinds import computes, held_in, shared

if TYPE_CHECKING:  # NB: imported when something is hot, lest each short program wait for it
    from dynamo_lite.compilation import Compilation
    from dynamo_lite.watch.pieces import Pieces


class Watch:
    """The watching of one program: what was asked, and the Compilation that serves it once something is hot."""

    def __init__(self, limits: policy.Thresholds = policy.THRESHOLDS, backend: Any = None) -> None:
        self.compilation: Compilation | None = None
        self.limits = limits
        self.backend = backend  # None: as config says
        self.budget = policy.Budget(limits)
        self.loops_entered = 0
        self.put_off = 0
        self.rounds = Rounds()
        self.expectations = Expectations(limits, self.budget, self.rounds)
        self.opaque: dict[_C.Round, bool] = {}  # whether each round of a loop is certain to break the graph
        self.hopeful: dict[_C.Round, float] = {}  # and until when it is believed that not
        self.hopeful_calls: dict[tuple[str, int], float] = {}  # so of calls of functions, by file and line
        self.pieces: Pieces | None = None  # what breaks too often, once something was compiled
        self.ways_in: dict[_C.Round, float] = {}  # seconds that the latest ways into a loop have taken, in the mean
        self.entries: list[tuple[_C.Poll, str, int, str]] = []  # polls of functions, with file, line and name
        self.names: dict[tuple[str, int], tuple[str, ...]] = {}  # what a function's code names, by file and line
        self.with_arrays: set[tuple[str, int]] = set()  # functions in whose reach arrays are
        self.without_arrays: dict[tuple[str, int], float] = {}  # others, and until when that is believed
        self.watched_code: set[tuple[str, int]] = set()  # functions that have polls, or get them
        self.asked: set[tuple[str, int]] = set()  # functions for which code was asked, by file and line
        self.given_up: dict[types.CodeType, float] = {}  # seconds that are to be there for what took too long
        self.waited: dict[tuple[str, int], int] = {}  # how often others have waited for one
        self.from_outside: set[tuple[str, int]] = set()  # functions that code which is not watched was seen to call
        self.on_miss: _C.OnMiss = (
            self.miss
        )  # one object, by whose identity the dispatcher knows whose entries are whose
        self.failures: Counter[str] = Counter()  # defects of ours, by what was said of them
        self._started = self._ended = False
        self._began = process_time()
        self._in_vain = 0.0  # CPU seconds that questions have taken which brought nothing

    def watched(self, code: types.CodeType) -> types.CodeType:
        """`code` with polls, which act from now on; as it is once the watching has ended."""
        if self._ended:
            return code
        if not self._started:
            self._started = True
            _C.watch(self.on_miss, self.hot, self.limits)
        try:
            return self._watched(code)
        except Exception as error:
            self._fail(code.co_qualname, error)
            return code

    def _watched(self, code: types.CodeType) -> types.CodeType:
        if code.co_flags & CO_NEWLOCALS:
            return self._polled(code, entries=True)
        code = with_questions(code, self._first_call, _C.GO_ON, functools.partial(self._polled, entries=True))
        return self._polled(code, entries=False) if may_loop(code.co_code) else code

    def _first_call(self, code: types.CodeType, loops: bool) -> _C.Poll:
        """The poll that gives the functions of `code` theirs, once one is called, or has taken some time. loops:
        whether it may have any."""
        self.watched_code.add(defined_at(code))
        made: list[types.CodeType] = []

        def make() -> types.CodeType:
            if not made:  # NB: what is remembered of each function's code would be gone over at each full collection
                try:
                    made.append(_C.freeze_made_by(lambda: self._polled(code, entries=True)))
                except Exception as error:
                    self._fail(code.co_qualname, error)
                    made.append(code)
            return made[0]

        poll = _C.Poll(code, make=make, waits=not loops)
        poll.without = code
        return poll

    def with_polls(
        self, code: types.CodeType, make_edge: MakePoll | None = None, places: Places | None = None
    ) -> types.CodeType:
        """The code of a resume function with polls in its loops, which are the user's loops. The code of inner
        functions has them already. make_edge: makes what is asked in their place, where it makes something. places:
        where something else is asked."""
        return self._polled(code, entries=False, make_edge=make_edge, places=places)

    def _polled(
        self, code: types.CodeType, entries: bool, make_edge: MakePoll | None = None, places: Places | None = None
    ) -> types.CodeType:
        polls: dict[tuple[int, int | None], _C.Poll] = {}  # by code and header, None at the entry

        def make_poll(of: Code, loop: Loop | None) -> object | None:
            if loop is None:
                if not entries:
                    return None
                entry = _C.Poll(of.qualname, cells=_cell_arguments(of))
                self.entries.append((entry, of.filename, of.firstlineno, of.qualname))
                self.names[of.filename, of.firstlineno] = of.names
                self.watched_code.add((of.filename, of.firstlineno))
                polls[id(of), None] = entry
                return entry
            if make_edge is not None and (edge := make_edge(of, loop)) is not None:
                return edge
            if all(one.header != loop.header for one in watched_loops(of)):
                return None
            outer = None if loop.outer is None else polls.get((id(of), loop.outer))
            known = self.rounds.of(of, loop)
            poll = _C.Poll(loop, loop.depth, outer, known, loop.copies, polls.get((id(of), None)))
            polls[id(of), loop.header] = poll
            return poll

        limits, answers = self.limits, Answers(_C.GO_ON, _C.drop_frame)
        if make_edge is not None:  # each iteration asks
            return polled(code, make_poll, answers, inner=False, every=True, places=places)
        return polled(code, make_poll, answers, limits.together, limits.operations, inner=entries)

    def round_at(self, code: Code, index: int) -> tuple[_C.Round, int] | None:
        """What is known of the rounds of the innermost loop around instruction `index`, and the stack slot of its
        iterator, -1 for a `while`; None where there is no loop."""
        around = [loop for loop in loops(code) if index in loop.body]
        if not around:
            return None
        return self.rounds.of(code, around[-1]), around[-1].depth - 1 if around[-1].over == "for" else -1

    def is_promising(self, code: Code, index: int, function: types.FunctionType) -> bool:
        """Whether there may be array code between instruction `index` and the next back edge of a loop around it, or a
        return: an operator, a function of NumPy's or of the user's. What a script does outside of its loops it does
        once."""
        around = {loop.header for loop in loops(code) if index in loop.body}
        if code.name == "<module>" and not around:
            return False
        names = function.__globals__
        seen, ahead = set(), [index]
        while ahead:
            at = ahead.pop()
            if at in seen or (at in around and at != index):
                continue
            seen.add(at)
            instr = code.instrs[at]
            if instr.op == "BINARY_OP" or (instr.op == "LOAD_GLOBAL" and computes(names.get(instr.arg))):
                return True
            if instr.op == "LOAD_DEREF":
                return True
            ahead.extend(successors(code, at))
        return index in around

    def plain_places(self) -> list[tuple[float, str, int, str]]:
        """Seconds that were spent plainly in functions and loops which were watched: with file, line and name; most
        first. A place within another counts in both."""
        found = [(poll.spent * 1e-9, file, line, name) for poll, file, line, name in self.entries if poll.spent]
        for (filename, qualname, _, position), round_ in self.rounds.items():
            if round_.plain:
                found.append((round_.plain * 1e-9, filename, position[0] or 0, f"a loop of {qualname}"))
        return sorted(found, reverse=True)

    def saved(self, credited: float = math.inf, credited_rounds: float = math.inf) -> float:
        """Seconds that compiled calls and rounds took less than plain ones, as far as both were timed.

        credited, credited_rounds: calls, and rounds of a loop, after the latest plain one that may count as gains; what
        later ones would have taken is a guess.

        What a call saves is in the savings of the function that makes it, as far as that was timed: of functions and
        loops of which one calls the other the one counts that saved most. What was lost counts everywhere.
        """

        def sum_of(savings: Sequence[tuple[float, float, int]], most: float) -> float:
            return sum(known + gain * (min(count, most) if gain > 0.0 else count) for known, gain, count in savings)

        rows: list[tuple[float, str, tuple[str, ...]]] = []
        for entry, file, line, name in self.entries:
            if seconds := sum_of(entry.savings, credited):
                rows.append((seconds, name.rpartition(".")[2], self.names[file, line]))
        for (_, qualname, *_), round_ in self.rounds.items():
            if seconds := sum_of([round_.savings], credited_rounds):
                rows.append((seconds, qualname.rpartition(".")[2], self._names_of(qualname)))
        total = 0.0
        counted: list[tuple[str, tuple[str, ...]]] = []
        for seconds, name, names in sorted(rows, reverse=True):
            within = any(name == other or name in others or other in names for other, others in counted)
            if seconds < 0.0 or not within:
                total += seconds
                counted.append((name, names))
        return total

    def _known_savings(self) -> float:
        """What counts for the budget."""
        return self.saved(self.limits.credited, self.limits.credited_rounds)

    def _names_of(self, qualname: str) -> tuple[str, ...]:
        """What the code of a function names."""
        found = ((file, line) for _, file, line, name in self.entries if name == qualname)
        return next((self.names[at] for at in found), ())

    def end(self) -> None:
        """Watch no more; what is compiled stays."""
        if self._started and not self._ended:
            _C.watch(None, None, None)
        self._ended = True

    def _compiler(self, share: float) -> Compilation | None:
        """What compiles; None as long as the process has not run long enough to import it. share: of that time, that
        counts."""
        if self.compilation is None:
            with own_modules:
                self._import(share)
        return self.compilation

    def _import(self, share: float) -> None:
        if not unknown_version() and self.budget.allows_import(share):
            with budget.timed():
                backend = self.backend or config.backend
                has_read, began = has_read_bytecode(), thread_time()
                make = _C.freeze_made_by(lambda: _import_compiler(backend))
                self.budget.imported_compiler(thread_time() - began, has_read())
                self.compilation = make(
                    None,
                    backend,
                    fullgraph=False,
                    config=config.replace(),
                    name="whole program",
                    watcher=self,
                )
                self.pieces = _import_pieces()(self.limits, self.rounds)

    def miss(self, function: types.FunctionType, slots: tuple[Any, ...], /) -> _C.CacheEntry | None:
        """The dispatcher's question: an entry for this call of a hot function, or None to run it plainly."""
        try:
            return self._entry_for(function, slots, sys._getframe().f_back)  # None in a thread of C's
        except (DynamoLiteError, Warning):
            raise
        except Exception as error:
            self._fail(function.__qualname__, error)
            _C.cool(function, self.limits.no_prospects)
            return None

    def _fail(self, name: str, error: Exception) -> None:
        """A defect of ours must not reach the program; it is said, counted, and an error where we test."""
        if config.check:
            raise error
        text = f"{name}: dynamo_lite failed ({type(error).__name__}: {error}); it runs as plain Python"
        self.failures[text] += 1
        if self.failures[text] == 1:
            log.say(text)

    def _entry_for(
        self, function: types.FunctionType, slots: tuple[Any, ...], caller: types.FrameType | None
    ) -> _C.CacheEntry | None:
        code, began = function.__code__, thread_time()
        with budget.timed():  # the question itself is part of the price
            if originals.replaced(builtins_alone=True) or not self._call_has_prospects(function, slots):
                _C.cool(function, self._after(self.limits.no_prospects, began))
                return None
            share = self._share(function, slots)
            self._look_at_calls(function, slots, share)
            compiler = self._compiler(share)
            if self._is_outside(caller, code):
                self.from_outside.add(defined_at(code))
            saved = self._known_savings() if compiler is not None else 0.0
            goes_on = compiler is not None and compiler.is_resumed(code)
            asked = self.given_up.get(code, 0.0), saved, goes_on, defined_at(code), share
            allowed = compiler is not None and self.budget.allows(*asked)
            if compiler is None or not allowed or self._waits(code, self._running()):
                self.put_off += 1
                _C.cool(function, self._after(self._pause(allowed, asked), began))
                return None
            self.asked.add(defined_at(code))
            before = budget.taken()
            hope = self.expectations.hope
            with self.budget.attempt(saved, goes_on, defined_at(code), hope), own_modules:
                known = len(compiler.segments)
                entry = compiler.miss(function, slots)
                if len(compiler.segments) > known and self._breaks_too_often(compiler):
                    entry = None
                    _C.cool(function, self.limits.no_prospects)
            self.expectations.learn(list(compiler.loops.values()))
            self.expectations.attempted(compiler.segments[known:], entry is not None)
            found = (one.times.get(0) for one in compiler.segments if not one.why_plain)
            self.expectations.weigh((one.plain * 1e-9, one.native * 1e-9) for one in found if one is not None)
            if compiler.is_waiting(code):
                self.given_up[code] = budget.taken() - before
            else:
                self.given_up.pop(code, None)
            return entry

    def _breaks_too_often(self, compiler: Compilation) -> bool:
        """Whether what was compiled just now is of a loop or function that is given up for its graph breaks."""
        assert self.pieces is not None
        if not self.pieces.note(compiler, compiler.segments[-1], self._entry_of):
            return False
        self.opaque.update(dict.fromkeys(self.pieces.rounds(), True))
        return True

    def _call_has_prospects(self, function: types.FunctionType, slots: Sequence[Any]) -> bool:
        """Whether compiling a function may gain, as far as can be told without the compiler (prospects.py). slots: what
        it is called with."""
        own = function.__code__
        poll = self._entry_of(own)
        if self.compilation is not None and self.compilation.is_resumed(own):
            return self.pieces is None or not self.pieces.of(self.compilation, own)
        if poll is None or not poll.calls:
            return True
        if 0 < poll.rests_until < _FOR_GOOD:
            return False  # until one of its loops is found to have some
        code, names = decoded(own), function.__globals__
        found = watched_loops(code)
        is_short = poll.spent < self.limits.break_pays * 1e9 * poll.calls
        if self.pieces is not None and self.pieces.holds(defined_at(own)):
            return False
        if found:
            return self._have_prospects(code, innermost(code), names, poll.spent)
        now = process_time()
        if is_short and self.hopeful_calls.get(defined_at(own), 0.0) <= now:
            given = dict(zip(code.argnames, slots, strict=False))
            if prospects.breaks_each_call(code, names, given):
                return False
            self.hopeful_calls[defined_at(own)] = self.limits.look_again * now
        return True

    def _have_prospects(
        self, code: Code, inner: list[Loop], names: dict[str, Any], spent: int, values: dict[str, Any] | None = None
    ) -> bool:
        """Whether what took `spent` nanoseconds, much of it perhaps in those innermost loops, may gain. values: what
        its variables hold, if that is known."""
        around = {loop.header: loop for loop in loops(code)}
        hopeless, now = 0, process_time()
        for loop in inner:
            known = self.rounds.of(code, loop)
            if not self._is_short(known):
                continue
            if not self.opaque.get(known, False) and self.hopeful.get(known, 0.0) <= now:
                self.hopeful[known] = self.limits.look_again * now
                is_text = values is not None and prospects.carries_text(code, loop, values, names)
                self.opaque[known] = is_text or prospects.breaks_each_round(code, loop, names, values or {})
            if self.opaque.get(known, False):
                hopeless += self._spent_around(code, loop, around)
        return hopeless <= self.limits.hopeless * spent

    def _spent_around(self, code: Code, loop: Loop, around: dict[int, Loop]) -> int:
        """Nanoseconds that a loop has taken, or the short ones around it whose rounds come to it.

        NB: of one that begins anew in each round of another little is seen."""
        known = self.rounds.of(code, loop)
        spent, rounds, outer = known.plain, known.n_plain, loop.outer
        while outer is not None:
            known = self.rounds.of(code, around[outer])
            if not self._is_short(known) or known.n_plain > rounds:
                break
            spent, outer = max(spent, known.plain), around[outer].outer
        return spent

    def _is_short(self, known: _C.Round) -> bool:
        return known.plain < self.limits.break_pays * 1e9 * known.n_plain

    def _pause(self, allowed: bool, asked: tuple[float, float, bool, Hashable, float]) -> float:
        """Seconds until one who was refused may ask again; where the budget did not refuse it, others only have to be
        asked for first. asked: what the budget was."""
        if self.compilation is None:
            return self.limits.ask_again * process_time()
        return 0.0 if allowed else self.budget.wait(*asked)

    def _after(self, pause: float, began: float) -> float:
        """Seconds until one may ask again who has asked in vain, since `began`, and would after `pause`: more, as long
        as such questions have taken more than their share of the time."""
        self._in_vain += thread_time() - began
        now = process_time()
        owed = self._in_vain / self.limits.asking_share - now
        return max(pause, min(owed, self.limits.asking_rest * now))

    def _share(self, function: types.FunctionType, values: Iterable[Any]) -> float:
        """How much of the time counts for a function, whose variables have those values: all of it where arrays are in
        reach, or one of its loops computes with numbers."""
        of, now = defined_at(function.__code__), process_time()
        if now < self.without_arrays.get(of, 0.0):
            return self.limits.budget_bare
        if of not in self.with_arrays:
            code, names = decoded(function.__code__), function.__globals__
            if not self.expectations.computes(code, names):
                loaded = {instr.arg for instr in code.instrs if instr.op in _NAMED}
                find = self._namespace(of[0], names)
                if not prospects.reaches_arrays(of[0], loaded, values, self._called(), find):
                    self.without_arrays[of] = self.limits.look_again * now
                    return self.limits.budget_bare
            self.with_arrays.add(of)
        return 1.0

    def _called(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """By name the files of the watched functions, and what these name; those that make objects by their class."""
        found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for _, file, line, qualname in self.entries:
            around, _, name = qualname.rpartition(".")
            of = around.rpartition(".")[2] if name == "__init__" else name
            found.setdefault(of, []).append((file, self.names[file, line]))
        return found

    def _namespace(self, file: str, names: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
        """Gives the globals of a file; `names` are those of `file`."""
        known = {file: names}

        def find(other: str) -> dict[str, Any]:
            if other not in known:
                modules = (vars(one) for one in tuple(sys.modules.values()) if type(one) is types.ModuleType)
                known[other] = next((one for one in modules if one.get("__file__") == other), {})
            return known[other]

        return find

    def _running(self) -> float:
        """CPU seconds that the program has run, without compiling."""
        return process_time() - self._began - self.budget.spent

    def _waits(self, code: types.CodeType, taken: float) -> bool:
        """Whether `code`, for which so many seconds speak, is compiled after the function in which most of them go,
        unless that is called no more.

        Around it there may be much code that breaks the graph and takes no time; the budget is for what does.
        """
        limits = self.limits
        heart = self._heart(limits.heart * 1e9 * taken)
        if heart is None:
            return False
        waited = self.waited.get(heart, 0)
        if heart in self.asked or heart == defined_at(code) or waited >= limits.heart_waits:
            return False
        self.waited[heart] = waited + 1
        return True

    def _is_outside(self, frame: types.FrameType | None, code: types.CodeType) -> bool:
        """Whether code that is not watched calls the function that asks now, whose caller's frame that is, or which has
        called itself there: it is not inlined (np.vectorize)."""
        while frame is not None and defined_at(frame.f_code) == defined_at(code):
            frame = frame.f_back
        return frame is not None and defined_at(frame.f_code) not in self.watched_code

    def _heart(self, most: float) -> tuple[str, int] | None:
        """The function with more than so many nanoseconds: of those that call each other the innermost that has nearly
        as many. None where there is none, or where its calls are so short that they are better inlined."""
        spent = {
            name.rpartition(".")[2]: (poll.spent, (file, line))
            for poll, file, line, name in self.entries
            if not poll.off
            and (poll.spent > self.limits.heart_call * 1e9 * poll.calls or (file, line) in self.from_outside)
        }
        time_, heart = max(spent.values(), default=(0, None))
        if heart is None or time_ <= max(0.0, most):
            return None
        around = {heart}
        while True:
            inner = [spent[name] for name in self.names[heart] if name in spent]
            below, found = max((one for one in inner if one[1] not in around), default=(0, heart))
            if below < self.limits.heart_below * time_:
                return heart
            time_, heart = below, found
            around.add(heart)

    def _look_ahead(
        self, poll: _C.Poll, function: types.FunctionType, stack: Sequence[Any], held: dict[str, Any]
    ) -> bool:
        """Tell the budget how long a loop is going to run; whether that is long enough to enter it. held: what the
        function's variables hold."""
        code = function.__code__
        is_resumed = self.compilation is not None and self.compilation.is_resumed(code)
        is_called = not is_resumed and defined_at(code) in self.names
        way_in = 0.0 if poll.round is None else self.ways_in.get(poll.round, 0.0)
        names = held, function.__globals__
        find_entry = functools.partial(self._entry_of, code)
        return self.expectations.look(poll, decoded(code), stack, names, find_entry, is_called, way_in)

    def _look_at_calls(self, function: types.FunctionType, slots: Sequence[Any], share: float) -> None:
        """Tell the budget how long further calls of a function are going to take that has not been compiled."""
        own = function.__code__
        entry = self._entry_of(own)
        if entry is None or defined_at(own) in self.asked or (self.compilation and self.compilation.is_resumed(own)):
            return
        code = decoded(own)
        names = _held(function, code.argnames, slots), function.__globals__
        self.expectations.look_at_calls(entry, code, names, share)

    def _entry_of(self, code: types.CodeType) -> _C.Poll | None:
        """The poll at the entry of a function; None where it has none."""
        return next((poll for poll, file, line, _ in self.entries if (file, line) == defined_at(code)), None)

    def _rest(self, poll: _C.Poll, own: types.CodeType, seconds: float) -> None:
        """Let the function of a loop that has no prospects run without polls in its loops for so long, from its next
        call on, if it has no other loop that takes time. For good: the loop cannot be entered while it runs, but its
        function may be compiled."""
        entry, round_ = self._entry_of(own), poll.round
        if entry is None or round_ is None or not round_.n_begun or poll.place.outer is not None:
            return  # NB: in the first call nobody knows what comes after the loop
        code = decoded(own)
        others = [loop for loop in watched_loops(code) if loop.header not in poll.place.body]
        if sum(self.rounds.of(code, loop).plain for loop in others) <= self.limits.others_take * round_.plain:
            entry.rests_until = _FOR_GOOD if seconds == math.inf else monotonic_ns() + int(seconds * 1e9)

    def hot(self, poll: _C.Poll, function: types.FunctionType, *held: Any) -> Any:
        """The Continuation by which compiled code takes over a running loop at its header; None: it never can, a
        number: not for so many seconds. held: the frame's (see `_taken_over`)."""
        try:
            return self._taken_over(poll, function, *held)
        except (DynamoLiteError, Warning):
            raise
        except Exception as error:
            self._fail(function.__qualname__, error)
            return self.limits.no_prospects

    @budget.timed()  # the question itself is part of the price
    def _taken_over(
        self,
        poll: _C.Poll,
        function: types.FunctionType,
        stack: Sequence[Any],
        own: Sequence[bool],
        names: list[str],
        values: list[Any],
        sole: list[bool],
    ) -> Any:
        """stack, names and values: the frame's. own, sole: whether nobody else has what a stack slot, or a variable's,
        holds."""
        began, began_at = thread_time(), perf_counter()
        is_given_up = self.pieces is not None and self.pieces.holds(poll.round)
        is_known = poll.round is not None and poll.round.entered > 0 and not is_given_up
        if not is_known and originals.replaced(builtins_alone=True):
            return self.limits.no_prospects
        held = {} if is_known else _held(function, names, values)
        share = 1.0 if is_known else self._share(function, held.values())
        if poll.round is not None:
            self.expectations.shares[poll.round] = share
        if not self._look_ahead(poll, function, stack, held):
            return self._after(self.limits.too_short * process_time(), began)
        if poll.round is not None and not is_known:
            code = decoded(function.__code__)
            inner = innermost(code, poll.place)
            if not self._have_prospects(code, inner, function.__globals__, poll.round.plain, held):
                self._rest(poll, function.__code__, self.limits.no_prospects)
                return self._after(self.limits.no_prospects, began)
            if (entry := self._entry_of(function.__code__)) is not None:
                entry.rests_until = 0
        compiler = self._compiler(share)
        saved = self._known_savings() if compiler is not None and not is_known else 0.0
        asked = 0.0, saved, False, defined_at(function.__code__), share
        allowed = compiler is not None and (is_known or self.budget.allows(*asked))
        taken = self._running() if poll.round is None else min(self._running(), poll.round.plain * 1e-9)
        if compiler is None or not allowed or (not is_known and self._waits(function.__code__, taken)):
            self.put_off += 1
            return self._after(self._pause(allowed, asked), began)
        if not is_known and originals.replaced():
            return self.limits.no_prospects
        taken_over = compiler.resumes.entered(function, poll.place.header, stack, own, names, values, sole)
        if taken_over is None:
            self._rest(poll, function.__code__, math.inf)
            return None
        self.loops_entered += 1
        if is_known and poll.round is not None:
            taken = perf_counter() - began_at
            mean = self.ways_in.get(poll.round, taken)
            self.ways_in[poll.round] = mean + (min(taken, 2 * mean) - mean) / 8
        return taken_over


_FOR_GOOD = 2**63  # Poll.rests_until
_NAMED = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD")


def _import_compiler(backend: Any) -> type[Compilation]:
    """What compiles, with as much of its backend as a capture needs, imported now rather than when it is first used."""
    from dynamo_lite.backends import resolve
    from dynamo_lite.compilation import Compilation

    with suppress(BackendError):  # who compiles says so
        resolve(backend)
    return Compilation


def _import_pieces() -> type[Pieces]:
    from dynamo_lite.watch.pieces import Pieces

    return Pieces


def _held(function: types.FunctionType, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """What the variables of a frame hold, those that functions share as well."""
    held = shared(function)
    for name, value in zip(names, values, strict=False):
        for contents in held_in(value) if type(value) is types.CellType else (value,):
            held[name] = contents
    return held


def _cell_arguments(code: Code) -> int:
    """A bit for each argument slot that holds a cell, once a call has begun."""
    cells = own_cells(code)
    return sum(1 << slot for slot, name in enumerate(code.argnames) if name in cells)
