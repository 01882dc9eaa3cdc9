"""A Compilation: what one `compile(fn)` knows between calls: its options, resume functions, records and statistics.

The C dispatcher calls `Compilation.miss` when no CacheEntry of a code object passes its guards. How code is compiled is
pipeline.py's business; this is the bookkeeping around it: limits, reasons, reports.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import linecache
import math
import os
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dynamo_lite import _C, breaks, budget, log, originals, policy, stance
from dynamo_lite.backends import resolve
from dynamo_lite.capture.arrays import warned
from dynamo_lite.capture.loops.code import operations_behind, outermost_loop
from dynamo_lite.capture.segments.restraints import Restraints
from dynamo_lite.capture.segments.targets import Target, comes_back
from dynamo_lite.capture.state import SkipFrame
from dynamo_lite.capture.trace import Capture, GraphBreak, trace
from dynamo_lite.capture.wrap import supported_array, supported_dtype
from dynamo_lite.chains import call_that_loses, of_round, reached, sizes_of_round, waits_for_loop
from dynamo_lite.config import Config
from dynamo_lite.dataclass import replace
from dynamo_lite.errors import (
    BackendError,
    BackendWarning,
    DynamoLiteError,
    DynamoLiteWarning,
    GraphBreakError,
    RecompileError,
    RecompileLimitWarning,
)
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.rewrite import operations
from dynamo_lite.graph.types import MAX_DIMS
from dynamo_lite.means import COMPILE_BUDGET, RUN_BUDGET, Means, lacks_stack
from dynamo_lite.pipeline import Segment, compile_segment
from dynamo_lite.pycode import (
    UnsupportedCode,
    UnsupportedOpcode,
    UnsupportedResume,
    decoded,
    defined_at,
    successors,
)
from dynamo_lite.report import why
from dynamo_lite.report.records import (
    BreakRecord,
    CompileRecord,
    Explanation,
    GraphRecord,
    GuardRecord,
    LoopRecord,
    TrialRecord,
)
from dynamo_lite.resumes import Resumes, Watcher, with_back_edges
from dynamo_lite.runtime.transaction import transaction
from dynamo_lite.schedule.cost import DoesNotPay
from dynamo_lite.schedule.doubts import is_doubtful, makes_lists
from dynamo_lite.schedule.steps import Call, Map, Reduce, count
from dynamo_lite.telling import Telling

_STANDARD_LIBRARY = ("<frozen ", policy.STDLIB + os.sep)


def _count(program: Any, *kinds: type) -> int:
    """How many steps of these kinds a native program has, those of its loops and branches included."""
    return count(program.schedule, kinds) if isinstance(program, _C.Program) else 0


originals.remember(np)

# Why a frame may stay plain under fullgraph: nothing of the function breaks.
_NO_BREAK = frozenset(
    {"does-not-pay", "nothing-to-compile", "replaced", "unsupported-dtype", "too-many-dims", "unaligned-array"}
)


def _condition(segment: Segment) -> str:
    """How many iterations of its loops a segment's program needs to pay, in words; empty where that is not asked."""
    pays = segment.program.schedule.pays if isinstance(segment.program, _C.Program) else None
    return "" if pays is None else segment.guards.of_inputs(pays)


_WORTHLESS_LIMIT = 4  # versions of one code object that compute nothing, before it is left alone
# Entries of one code object that take numbers of modules, and tables of them, for constants.
_CONSTANT_ENTRIES = 2
# Entries of one code object that only say which dtypes run plainly; dtypes may be made without end.
_PLAIN_ENTRIES = 8
_MUCH = 12  # operations behind a loop that are too many to run them plainly for its sake
_LOOKED_AGAIN = 4  # how often code is captured again for what NumPy warns of
_ROUND = "the segments of a loop together"


class Compilation:
    """The state behind one compiled function, and behind the callees that it calls and the hook captures."""

    def __init__(
        self,
        function: Any,
        backend: Any,
        *,
        fullgraph: bool,
        config: Config,
        name: str | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        """watcher: of a whole program; what it asks for has taken time, and is treated as `function` would be."""
        self.function = function
        self.backend_name = backend if isinstance(backend, str) else getattr(backend, "__name__", "custom")
        self._resolved = resolve(backend)
        self.fullgraph = fullgraph
        self.config = config
        self._watcher = watcher
        self._everything = config.stress in ("compile", "break")  # whether it pays or not
        # Whether calls are timed, and rest where they lose. Another backend than our own is there to be run; whole
        # programs have clocks of their own.
        self.judged = watcher is None and backend == "numba" and config.cost_model
        self.judged &= not self._everything
        self.name: str = name or str(getattr(function, "__qualname__", type(function).__name__))
        # One object: the dispatcher tells compilations apart by its identity.
        self.on_miss: _C.OnMiss = self.miss if watcher is None else watcher.on_miss
        self.segments: list[Segment] = []
        self._versions: dict[types.CodeType, list[Segment]] = {}
        self.breaks: dict[tuple[str, str, int], BreakRecord] = {}
        self.skips: dict[tuple[str, str, int], BreakRecord] = {}
        self.loops: dict[tuple[str, int, str], LoopRecord] = {}
        self._compiles: list[tuple[CompileRecord, Mapping[str, float]]] = []  # with seconds that may still grow
        self._entries: dict[types.CodeType, int] = {}
        self._plain_entries: dict[types.CodeType, int] = {}
        self._skipped: set[types.CodeType] = set()
        self._waited: set[tuple[types.CodeType, int]] = set()  # codes and instructions that had to take time first
        self._waiting: dict[types.CodeType, list[tuple[types.CodeType, Segment]]] = {}
        self._worthless: set[types.CodeType] = set()
        self._leads: dict[types.CodeType, set[types.CodeType]] = {}  # code of segments that break -> where they go on
        self._led: dict[types.CodeType, set[types.CodeType]] = {}  # and the other way round
        self._pauses = False  # some loop is left for single iterations, whose segments are met again and again
        known: dict[Any, Any] = {"lengths": None, "fixed": None} if fullgraph else {}
        self._restraints = Restraints(begins_plainly=self.judged and not fullgraph, **known)
        self.resumes = Resumes(
            self.on_miss, watcher, self._note_resume, self._note_way, self._fail, self._restraints.sides
        )
        self._means = Means(config.compile_budget / 1e3 or math.inf)
        self._telling = Telling()
        self._looked_again: dict[types.CodeType, int] = {}  # how often code was captured again for what NumPy warns of
        self._dropped: set[types.CodeType] = set()  # what is to be captured again for that
        self._replaced: tuple[types.CodeType, str] | None = None  # what ran plainly since that was replaced
        if fullgraph:
            for record in self._refusal():
                raise GraphBreakError(
                    record.id, record.message, record.hint, record.filename, record.line, record.function
                )
        # Counters belong to code objects: what other compiled functions of the same code had counted before this one.
        self._before = {code: _C.counters(code) for code in self._own_codes()}

    # -- the dispatcher's question ------------------------------------------------------------------------------------

    def miss(self, function: types.FunctionType, slots: tuple[Any, ...]) -> _C.CacheEntry | None:
        """An entry for this call, or None to run it plainly."""
        if name := originals.replaced():
            self._replaced = function.__code__, name  # explained later: to look for the line would call some of them
            return None
        code = function.__code__
        if not _is_hashable(code):
            _C.set_skip(code, True, _C.abi.FIRST_PIPELINE_REASON + breaks.NUMBERS["unknown-bytecode"], self.on_miss)
            return None
        own = (
            self._watcher is not None
            or code is getattr(self.function, "__code__", None)
            or code in self.resumes.numbers
        )
        if own and not self.resumes.is_in_block(code):
            self._telling.rest()
        if not own and not self._worth(function):
            self._skip(code, "library-frame")
            return None
        if not own and self._may_wait(code):
            _C.wait(code)
            return None
        refused = [index for index, slot in enumerate(slots) if type(slot) is np.ndarray and not supported_array(slot)]
        if refused:
            array = slots[refused[0]]
            if not supported_dtype(array.dtype):
                self._note_skip(function.__code__, "unsupported-dtype", str(array.dtype))
            elif array.ndim > MAX_DIMS:
                self._note_skip(function.__code__, "too-many-dims", str(array.ndim))
            else:
                self._note_skip(function.__code__, "unaligned-array", "an argument")
            return self._plain_entry(code, refused[0])
        count = self._entries.get(code, 0)
        if count and stance.current == "fail_on_recompile":
            raise RecompileError(f"{function.__qualname__}: {self._why_missed(function, slots)}")
        if count > self.config.recompile_limit:
            if own:
                self._warn_of_limit(function)
            self._leave_plain(function, "recompile-limit", str(self.config.recompile_limit))
            return None
        if self.resumes.is_handled(code):
            _C.hold_interrupts()
        version = self.resumes.roots.get(code, code), count  # whose segments share the time for compiling
        try:
            # NumPy keeps errstate in a context variable: what an interrupt leaves behind stays in this copy.
            segment = contextvars.copy_context().run(
                self._means.in_time,
                version,
                code,
                self.on_miss,
                compile_segment,
                function,
                slots,
                self.resumes.jumper(function),
                self._backend,
                self.config,
                code in self.resumes.numbers,
                constants=count < _CONSTANT_ENTRIES,
                restraints=self._restraints,
            )
        except SkipFrame as skip:
            self._leave_plain(function, skip.reason, skip.detail)
            return None
        except budget.OutOfTime:
            put_off = self._means.put_off(version, function, self.on_miss, runs_watched=self._watcher is not None)
            self._note_skip(code, *put_off)
            return None
        except (UnsupportedOpcode, UnsupportedResume) as error:
            self._leave_plain(function, "unknown-bytecode", str(error))
            return None
        except BackendError as error:
            if self.fullgraph or self.config.check:
                raise
            self._warn(f"{self.name}: {error}; it runs as plain Python", BackendWarning, code)
            self._leave_plain(function, "backend-failed", str(error))
            return None
        except DynamoLiteError:
            raise
        except Exception as error:
            reason, again = self._means.lacking(error, code)
            if not reason:
                self._fail(function, error)
            elif again:
                self._note_skip(code, reason, "")  # this call; the next may find more
            else:
                self._leave_plain(function, reason, "")
            return None
        if (
            not self._everything
            and (segment.program is None or segment.slight)
            and not (own and (count < _WORTHLESS_LIMIT or self._pauses))
            and not self._promising(segment, slots)
        ):
            self._leave_plain(function, "nothing-to-compile", "")
            return None
        self._require_one_graph(segment)
        segment.entry.judged = self.judged
        if segment.capture.reporting and self._looked_again.get(code, 0) < _LOOKED_AGAIN:
            segment.entry.look_again = functools.partial(
                _look_again, weakref.ref(self), code, segment.capture.reporting
            )
        if segment.entry.exits:
            segment.entry.restart = functools.partial(with_back_edges, weakref.ref(self.resumes))
            segment.entry.at_loop, segment.entry.polled = self.resumes.begins_with_loop(code), self._watcher is not None
        self._entries[code] = count + 1
        try:
            self._note(function, slots, segment, count)
        except (DynamoLiteError, Warning):
            raise
        except Exception as error:
            self._fail(function, error)
            return None
        return segment.entry

    def drop(self, code: types.CodeType, entry: _C.CacheEntry) -> None:
        """Forget an entry of `code`, which is to be captured once more."""
        if _C.drop(code, entry):
            self._looked_again[code] = self._looked_again.get(code, 0) + 1
            self._entries[code] -= 1
            self._dropped.add(code)
            self._restraints.warns = True

    def give_up(self, codes: Sequence[types.CodeType], detail: str) -> None:
        """Forget what was compiled of these, which gains nothing; they may be asked for again."""
        self._note_skip(codes[0], "does-not-pay", detail)
        for code, segment in [(of, one) for of in codes for one in self._versions.pop(of, ())]:
            self._entries[code] -= _C.drop(code, segment.entry)

    def _fail(self, function: types.FunctionType, error: Exception) -> None:
        """A defect of ours must not reach the user's program; it is said, counted, and an error where we test."""
        if self.config.check or self.fullgraph:
            raise error
        text = f"{self.name}: dynamo_lite failed ({type(error).__name__}: {error}); it runs as plain Python"
        self._warn(text, code=function.__code__)
        self._leave_plain(function, "internal-error", f"{type(error).__name__}: {error}")

    def _plain_entry(self, code: types.CodeType, slot: int) -> _C.CacheEntry | None:
        """An entry that runs nothing: the dispatcher need not ask again about arrays like this in this slot."""
        made = self._plain_entries.get(code, 0)
        if made >= _PLAIN_ENTRIES:
            return None
        self._plain_entries[code] = made + 1
        return _C.CacheEntry(_C.Guards([("arg", 0, slot), ("unfit", 0)], ()), None, None)

    def _backend(self, graph: Graph, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """The backend's product; what is not a native Program is made to change nothing where it fails."""
        try:
            made = self._resolved(graph, example_inputs)
        except Exception as error:
            if isinstance(error, DoesNotPay | BackendError | budget.OutOfTime | MemoryError) or lacks_stack(error):
                raise
            raise BackendError(self.backend_name, f"{type(error).__name__}: {error}") from error
        if isinstance(made, _C.Program):
            return made
        if not callable(made):
            raise BackendError(self.backend_name, f"gave {type(made).__name__}, which is not callable")
        return transaction(graph, made, None if self.backend_name == "reference" else self._note_failure)

    def _note_failure(self, error: Exception) -> None:
        """A callable that a backend made has failed: the call runs plainly; said once, and an error where we test."""
        if self.config.check:
            raise BackendError(self.backend_name, f"{type(error).__name__}: {error}") from error
        self._warn(
            f"{self.name}: backend {self.backend_name!r} failed ({type(error).__name__}: {error}); it runs plainly",
            BackendWarning,
        )

    def _leave_plain(self, function: types.FunctionType, reason: str, detail: str) -> None:
        """Never ask for this code again."""
        self._note_skip(function.__code__, reason, detail)
        self._skip(function.__code__, reason)
        self._retire_before(function.__code__)

    def _skip(self, code: types.CodeType, reason: str) -> None:
        """Let the dispatcher never ask this compilation for an entry of `code` again."""
        self._skipped.add(code)
        _C.set_skip(code, True, _C.abi.FIRST_PIPELINE_REASON + breaks.NUMBERS[reason], self.on_miss)

    def _promising(self, segment: Segment, slots: tuple[Any, ...]) -> bool:
        """Whether a segment that computes nothing may lead to one that does: it breaks, and an array is at hand."""
        if segment.capture.ends != "break" or self._entries.get(segment.code, 0) >= _WORTHLESS_LIMIT:
            return False
        return any(issubclass(type(slot), np.ndarray | np.generic) for slot in slots)

    def _worth(self, function: types.FunctionType) -> bool:
        """Whether a callee that the hook saw deserves a capture of its own."""
        module = str(function.__globals__.get("__name__", ""))
        return self._everything or policy.is_looked_at(function.__code__.co_filename, module)

    def _may_wait(self, code: types.CodeType, index: int = 0) -> bool:
        """Whether it is no loss to run `code` plainly from an instruction on until it has taken some time: not where a
        loop is ahead, which could not be entered while it runs. Answers so once."""
        is_asked_for = self.resumes.roots.get(code, code) in self._own_codes() or not isinstance(
            self.function, types.FunctionType
        )
        if not self.judged or is_asked_for or (code, index) in self._waited:
            return False
        self._waited.add((code, index))
        try:
            whole = decoded(code)
        except UnsupportedCode:
            return False
        return not any(min(successors(whole, at), default=at + 1) <= at for at in range(index, len(whole.instrs)))

    # -- resume functions ---------------------------------------------------------------------------------------------

    def _line(self, code: types.CodeType) -> int:
        return (code in self.resumes.begins and self.resumes.begins[code].line) or code.co_firstlineno

    def is_resumed(self, code: types.CodeType) -> bool:
        """Whether this is the code of a resume function."""
        return code in self.resumes.numbers

    def is_waiting(self, code: types.CodeType) -> bool:
        """Whether there was no time to compile this, so that it is to be asked for again."""
        return code in self._means.waiting()

    def _note_resume(self, code: types.CodeType, target: Target, function: types.FunctionType) -> None:
        """A resume function is new, which goes on with `function` at `target`."""
        if code not in self.resumes.numbers:  # it runs plainly up to a back edge, then `function` does
            _C.set_skip(code, True, _C.abi.FIRST_PIPELINE_REASON + breaks.NUMBERS["first-iteration"], self.on_miss)
            if target.first:
                self._note_way(code, function.__code__)
        elif target.plain:
            self._skip(code, "exception-handler-active")
        elif self._watcher is not None:
            if not self._watcher.is_promising(decoded(function.__code__), target.index, function):
                self._skip(code, "nothing-to-compile")
        elif self._may_wait(function.__code__, target.index):
            _C.wait(code)

    def _note_way(self, code: types.CodeType, to: types.CodeType) -> None:
        """What runs plainly has come back to `to`; where that closes the round of a loop, it is judged."""
        if to in self._leads.get(code, ()):
            return
        self._leads.setdefault(code, set()).add(to)
        self._led.setdefault(to, set()).add(code)
        latest = self._versions[to][-1] if to in self._versions else None
        if latest is not None and latest.capture.ends == "break" and not latest.entry.retired and self._judges:
            self._loses_in_round(latest)

    @property
    def _judges(self) -> bool:
        return self.config.cost_model and not self._everything

    # -- records ------------------------------------------------------------------------------------------------------

    def _note(self, function: types.FunctionType, slots: tuple[Any, ...], segment: Segment, count: int) -> None:
        """Record a compiled segment; retire one that gains nothing, and those that only led to it."""
        code = function.__code__
        reason = self._why_missed(function, slots) if count else "first call"
        if code in self._dropped:
            self._dropped.discard(code)
            reason = "NumPy has warned of what it declined for"
        for lacking in (COMPILE_BUDGET, RUN_BUDGET):
            self.skips.pop((lacking, code.co_filename, self._line(code)), None)
        self.segments.append(segment)
        self._pauses |= segment.capture.pauses
        self._versions.setdefault(code, []).append(segment)
        number = self.resumes.numbers.get(code, 0)
        self._compiles.append((CompileRecord(function.__qualname__, number, reason, ()), segment.seconds))
        if code in self.resumes.begins and operations(segment.capture.graph) >= policy.LONG:
            self._restraints.joins.setdefault(self.resumes.begins[code].place, set()).add(self.resumes.begins[code])
        if reason != "first call":
            log.emit("recompiles", function.__qualname__, reason)
        for plan in segment.capture.loops:
            place = plan.filename, plan.line, plan.function
            if plan.outcome == "paused" and place in self.loops:
                continue  # what becomes of the others is known
            refused = plan.why_refused
            message = breaks.message(*refused) if refused else why.pauses(plan) if plan.avoided else ""
            hint = breaks.REASONS[refused[0]].hint if refused and plan.outcome == "segments" else ""
            loop = LoopRecord(plan.filename, plan.line, plan.function, plan.outcome, message, hint)
            self.loops[place] = loop
        record = segment.capture.break_
        if record is not None:
            self._note_break(record, segment.capture)
        if segment.why_plain:
            self._note_skip(function.__code__, segment.why_plain, segment.why_plain_detail)
        if (segment.capture.ends == "break" or segment.capture.pauses) and not segment.why_plain:
            for jump in segment.capture.jumps:
                self._leads.setdefault(code, set()).add(jump.resume_function.__code__)
                self._led.setdefault(jump.resume_function.__code__, set()).add(code)
        if self._judges:
            is_whole = segment.capture.ends == "return" or makes_lists(segment.capture.graph)
            if is_whole and segment.program is not None and is_doubtful(segment.times, segment.capture.graph):
                _C.time_calls(code, self.on_miss)
            goes_round = segment.capture.ends == "break" or segment.capture.pauses
            if segment.program is None and any(map(comes_back, segment.capture.jumps)):
                root = self.resumes.roots.get(code, code)
                _C.time_calls(root, self.on_miss, False)  # nobody knows yet where it comes back
                goes_round = False
            if goes_round and not segment.why_plain and self._loses_in_round(segment):
                return
            self._leave_call_plain(code)
        if (segment.program is not None and not segment.slight) or (self._everything and not segment.why_plain):
            return
        if segment.capture.ends != "break" or segment.why_plain:
            self._retire(code, segment)
            return
        targets = {jump.resume_function.__code__ for jump in segment.capture.jumps}
        for target in targets:
            self._waiting.setdefault(target, []).append((code, segment))
        if targets <= self._worthless | self._skipped:
            self._retire(code, segment)

    def _loses_in_round(self, segment: Segment) -> bool:
        """Whether the segments of a loop, of which this is one, take longer than plain Python: then leave it to that.

        Where its entry is out of range or retired, the rest of the loop and all behind it run plainly.
        """
        code = segment.code
        round_ = reached(code, self._leads) & reached(code, self._led)
        around = round_ & self._versions.keys()
        latest = [each for one in around for each in of_round(self._versions[one])]
        programs = [one for one in latest if one.program is not None]
        if any(not one.times and not one.slight for one in programs):
            return False
        if waits_for_loop(latest) and not round_ & self.resumes.handled:
            return False
        if not programs and (code not in around or any(one.capture.break_ is None for one in latest)):
            return False  # it is no loop yet, or its first iterations run plainly
        made_of = (self.resumes.places[one] for one in around if one in self.resumes.places)
        places = [(decoded(whole), index) for whole, index in made_of]
        is_much = max((operations_behind(*place) for place in places), default=0) > _MUCH
        if is_much and not (programs and all(one.slight for one in programs)):
            return False
        try:
            judged, sizes = sizes_of_round(segment, latest, len(round_ & self.resumes.handled))
            for one in self._versions[judged.code]:
                one.entry.least, one.entry.most = sizes
        except DoesNotPay as reason:
            self._note_skip(code, "does-not-pay", f"{_ROUND}: {reason}")
            for one in of_round(self._versions[code]):
                self._retire(code, one)
            lines = {of.instrs[one].position[0] for of, index in places for one in outermost_loop(of, index)}
            for key, record in list(self.loops.items()):
                if record.outcome == "segments" and record.line in lines and record.filename == code.co_filename:
                    self.loops[key] = replace(record, outcome="plain")
            return True
        return False

    def _leave_call_plain(self, code: types.CodeType) -> None:
        """Retire the segment with which a call begins that `code` goes on with, where the whole call loses by it."""
        root = self.resumes.roots.get(code, code)
        if code is root or root not in self._versions or self._versions[root][-1].entry.retired:
            return  # of one segment the cost model has judged
        if (reason := call_that_loses(root, self._versions, self._skipped)) is not None:
            self._note_skip(root, "does-not-pay", reason)
            self._retire(root, self._versions[root][-1])

    def _retire(self, code: types.CodeType, segment: Segment) -> None:
        """Calls that pass these guards run plainly from now on; so do segments that only led here."""
        segment.entry.retire(segment.why_plain or ("does-not-pay" if segment.slight else "nothing-to-compile"))
        segment.program = None
        self._retire_before(code)

    def _retire_before(self, code: types.CodeType) -> None:
        """Where no version of `code` gains anything: retire those that gain nothing either and only led to such."""
        if any(not one.entry.retired for one in self._versions.get(code, ())):
            return
        self._worthless.add(code)
        for parent, waiting in self._waiting.pop(code, ()):
            known = {jump.resume_function.__code__ for jump in waiting.capture.jumps} & self._entries.keys()
            if known <= self._worthless and not waiting.entry.retired:
                self._retire(parent, waiting)

    def _why_missed(self, function: types.FunctionType, slots: tuple[Any, ...]) -> str:
        """Which guard of each earlier version did not hold for this call, the latest version first."""
        reasons = [
            segment.entry.guards.explain(function, slots)
            for segment in reversed(self._versions.get(function.__code__, ()))
            if segment.code is function.__code__ and isinstance(segment.entry.guards, _C.Guards)
        ]
        failed = dict.fromkeys(reason for reason in reasons if reason)
        return "; ".join(failed) or "the earlier versions were forgotten"

    def _require_one_graph(self, segment: Segment) -> None:
        """Under fullgraph, raise GraphBreakError where the segment breaks."""
        found = segment.capture.break_
        if self.fullgraph and segment.capture.pauses:
            plan = next(plan for plan in segment.capture.loops if plan.avoided)
            reason, detail, line = next(iter(plan.avoided.values()))
            found = GraphBreak(reason, detail, plan.filename, line, plan.function)
        if self.fullgraph and found is not None:
            message, hint = why.message(found, segment.capture), why.hint(found, segment.capture)
            raise GraphBreakError(found.reason, message, hint, found.filename, found.line, found.function)

    def _note_break(self, found: GraphBreak, capture: Capture) -> None:
        if found.reason == "loop-goes-on":
            known = list(self.breaks.values())  # at once: another thread may note a break meanwhile
            if (found.filename, found.line) in {(record.filename, record.line) for record in known}:
                return  # why the loop was not unrolled is noted already
        message = why.message(found, capture)
        text = linecache.getline(found.filename, found.line).strip()
        self.breaks[found.reason, found.filename, found.line] = BreakRecord(
            found.reason, found.filename, found.line, found.function, text, message, why.hint(found, capture)
        )
        log.emit("breaks", found.function, f"{found.filename}:{found.line}: {message} [{found.reason}]")

    def _note_skip(self, code: types.CodeType, reason: str, detail: str) -> None:
        row = breaks.REASONS[reason]
        line = self._line(code)
        text = linecache.getline(code.co_filename, line).strip()
        message = breaks.message(reason, detail)
        if self.fullgraph and reason not in _NO_BREAK:
            raise GraphBreakError(reason, message, row.hint, code.co_filename, line, code.co_qualname)
        log.emit("breaks", code.co_qualname, f"left plain: {message} [{reason}]")
        is_standard = code.co_filename.startswith(_STANDARD_LIBRARY) and "site-packages" not in code.co_filename
        if is_standard and code not in self._own_codes():
            return  # of no interest to the user, and in whole-program mode there are hundreds
        key = (reason, code.co_filename, line)
        self.skips[key] = BreakRecord(reason, code.co_filename, line, code.co_qualname, text, message, row.hint)

    def _warn_of_limit(self, function: types.FunctionType) -> None:
        last = self._compiles[-1][0].reason if self._compiles else ""
        self._warn(
            f"{function.__qualname__} was compiled {self.config.recompile_limit + 1} times (last because {last}); "
            "from now on it runs as plain Python. Raise recompile_limit, or make its arguments more alike.",
            RecompileLimitWarning,
            function.__code__,
        )

    def _warn(
        self,
        text: str,
        category: type[DynamoLiteWarning] = DynamoLiteWarning,
        code: types.CodeType | None = None,
    ) -> None:
        """Say something once, which became of `code`. A program that is run as a whole must not find warnings that are
        not its own."""
        if not self._telling.is_new(text):
            return
        if self.function is None:
            log.say(text)
        elif code is not None and self.resumes.is_in_block(code):
            self._telling.wait(text, category)
            root = self.resumes.roots.get(code, code)  # whose next call asks, then
            for segment in self._versions.get(root, ()):
                self._entries[root] -= _C.drop(root, segment.entry)
        else:
            self._telling.warn(text, category)

    @property
    def compiles(self) -> tuple[CompileRecord, ...]:
        """What was compiled so far, in order; the kernels of a program are, when it first meets their operands."""
        return tuple(replace(record, seconds=tuple(seconds.items())) for record, seconds in list(self._compiles))

    # -- reports ------------------------------------------------------------------------------------------------------

    def explanation(self) -> Explanation:
        """What has been compiled so far."""
        filename, line = self._place()
        if self._replaced is not None:
            self._note_skip(self._replaced[0], "replaced", self._replaced[1])
        graphs = tuple(self._graph_record(segment) for segment in self.segments if segment.program is not None)
        skips = [] if graphs else list(self._refusal()) or list(self._idle())
        return Explanation(
            self.name,
            filename,
            line,
            graphs,
            tuple(self.breaks.values()),
            (*skips, *self.skips.values()),
            self.compiles,
            tuple((name, float(value)) for name, value in self.stats().items()),
            loops=tuple(self.loops.values()),
            trials=tuple(record for record in self._trials() if record.plain),
        )

    def _trials(self) -> Iterator[TrialRecord]:
        """Calls that were timed, of the function and of others that were compiled for it."""
        for code in {**dict.fromkeys(self._own_codes()), **self._entries}:
            for plain, _, compiled, _, stays_plain in _C.trials(code, self.on_miss):
                yield TrialRecord(code.co_qualname, *defined_at(code), plain, compiled, stays_plain)

    def reasons(self) -> dict[tuple[str, int], str]:
        """Why what stands at a line is plain, or not one program: by file and line."""
        found = {(record.filename, record.line): record.message for record in self.breaks.values()}
        found |= {(record.filename, record.line): record.message for record in self.loops.values() if record.message}
        return found | {(record.filename, record.line): record.message for record in self.skips.values()}

    def _place(self) -> tuple[str, int]:
        """File and first line of the function; "" and 0 when it is no Python function."""
        code = next(iter(self._own_codes()), None)
        return defined_at(code) if code else ("", 0)

    def _refusal(self) -> Iterator[BreakRecord]:
        """Why calls of this function are not captured, whatever the arguments: at most one record."""
        if inspect.isgeneratorfunction(self.function):
            reason = "generator"
        elif inspect.iscoroutinefunction(self.function) or inspect.isasyncgenfunction(self.function):
            reason = "coroutine"
        elif self.function is not None and not self._own_codes():
            reason = "not-a-python-function"
        elif getattr(self.function, "_dynamo_lite_capture", "") == "disabled-function":
            reason = "disabled"
        else:
            return
        yield self._own_record(reason, breaks.message(reason, self.name))

    def _idle(self) -> Iterator[BreakRecord]:
        """That there was nothing to compile, where calls ran and nothing else says why none was native."""
        known = self.breaks or self.skips or any(record.message for record in self.loops.values())
        if not known and any(self.stats().values()):
            yield self._own_record("nothing-to-compile", breaks.message("nothing-to-compile"))

    def _own_record(self, reason: str, message: str) -> BreakRecord:
        text = linecache.getline(*self._place()).strip()
        return BreakRecord(reason, *self._place(), self.name, text, message, breaks.REASONS[reason].hint)

    def _graph_record(self, segment: Segment) -> GraphRecord:
        graph, code = segment.capture.graph, segment.code
        # NB: of an inlined function's nodes, NumPy's own say, the lines are those of another file.
        own = (
            node.location.line for node in graph.nodes if node.location and node.location.filename == code.co_filename
        )
        return GraphRecord(
            text=str(graph),
            kernels=_count(segment.program, Map, Reduce),
            inputs=tuple(
                f"{getattr(item, 'name', item)}: {getattr(item, 'type', None) or item.kind}" for item in graph.inputs
            ),
            natively=isinstance(segment.program, _C.Program),
            backend=self.backend_name,
            function=segment.code.co_qualname,
            segment=self.resumes.numbers.get(code, 0),
            filename=code.co_filename,
            line=next(own, self._line(code)),
            operations=operations(graph),
            numpy_calls=_count(segment.program, Call),
            guards=tuple(map(GuardRecord, segment.guards.sentences())),
            sizes=(segment.entry.least, segment.entry.most),
            any_size=tuple(one.name for i, one in enumerate(graph.inputs) if segment.entry.unsized >> i & 1),
            iterations=_condition(segment),
            declines=tuple(getattr(segment.program, "declines", {}).items()),
        )

    def _own_codes(self) -> list[types.CodeType]:
        """The code object of the function, if it is a Python function."""
        code = getattr(self.function, "__code__", None)
        return [code] if isinstance(code, types.CodeType) and _is_hashable(code) else []

    def stats(self) -> dict[str, int | float]:
        """Counters: compiles recompiles hits misses breaks native_calls plain_calls declines leaves
        plain_rounds resting compile_seconds.

        plain_rounds: iterations of loops that ran plainly, since a program declines in them. resting: kinds of calls
        that were timed, lost, and run plainly.

        Compiles, native calls and declines are this compilation's own; the others of the code, whoever compiled it.
        """
        counted = ("hits", "misses", "native_calls", "plain_calls", "declines", "breaks", "retired", "leaves")
        names = (*counted, "plain_rounds")
        totals = dict.fromkeys(names, 0)
        for code in {*self._entries, *self._own_codes()}:
            before = self._before.get(code, {})
            for name, value in _C.counters(code).items():
                if name in totals:
                    totals[name] += value - before.get(name, 0)
        totals["native_calls"] = sum(one.entry.hits for one in self.segments if one.entry.program is not None)
        totals["declines"] = sum(one.entry.declines for one in self.segments)
        totals["resting"] = sum(record.stays_plain for record in self._trials())
        compiles = self.compiles
        return {
            "compiles": len(compiles),
            "recompiles": sum(record.reason != "first call" for record in compiles),
            **totals,
            "compile_seconds": sum(record.total_seconds for record in compiles),
        }

    def graph_for(self, slots: tuple[Any, ...]) -> Graph:
        """The graph that a call with these slots starts with; raises DynamoLiteError when there is none."""
        try:
            capture = trace(self.function, slots, lambda target: None, self.config)
        except SkipFrame as skip:
            raise DynamoLiteError(
                f"{self.name} runs as plain Python: {breaks.message(skip.reason, skip.detail)}"
            ) from None
        if not capture.computes:
            raise DynamoLiteError(f"{self.name} has nothing to compile for these arguments")
        return capture.graph

    def reset(self) -> None:
        """Forget every compiled segment, and what was left plain; other compilations of the same code keep theirs."""
        codes = {*self._entries, *self._plain_entries, *self._skipped, *self._means.waiting(), *self._own_codes()}
        for code in codes | self.resumes.numbers.keys():
            _C.clear(code, self.on_miss)
        self._before = {code: _C.counters(code) for code in codes - self.resumes.numbers.keys()}
        self.segments.clear()
        self._versions.clear()
        self.breaks.clear()
        self.skips.clear()
        self._replaced = None
        self.loops.clear()
        self._compiles.clear()
        self.resumes.clear()
        self._entries.clear()
        self._plain_entries.clear()
        self._looked_again.clear()
        self._dropped.clear()
        self._skipped.clear()
        self._waited.clear()
        self._waiting.clear()
        self._worthless.clear()
        self._leads.clear()
        self._led.clear()
        self._pauses = False
        self._restraints.clear()
        self._means.clear()


def _look_again(
    compilation: weakref.ref[Compilation],
    code: types.CodeType,
    places: tuple[warned.ReportingPlace, ...],
    entry: _C.CacheEntry,
) -> None:
    """An entry declines again and again over errors that are to be reported. Where NumPy has warned at one of its
    places by now, it is captured once more, and gives these warnings itself."""
    owner = compilation()
    if owner is not None and stance.current != "fail_on_recompile" and warned.is_known_now(places):
        owner.drop(code, entry)


def _is_hashable(code: types.CodeType) -> bool:
    """Whether it can be a key; made-up code may have any object among its constants."""
    try:
        hash(code)
    except TypeError:
        return False
    return True
