"""What is looked at, when it is compiled, and whether it stays: the one table of thresholds, and the three questions.

Enters: file names, seconds. Leaves: decisions. C keeps the counters (csrc/watch/watch.c, csrc/watch/trials.c) and is
told the thresholds once.

- What: users' own files. Not the standard library, not installed packages, unless ``config.include`` names them;
  ``config.exclude`` takes away. NumPy's own Python functions are inlined where a user's function calls them.
- When: ``compile(fn)`` compiles `fn` at its first call, and what has loops of the code that it leads to. All else waits
  until it has taken some time plainly; under `run` also until compiling has taken no more than a share of the time that
  the process has run.
- Whether it stays: whole calls are timed, compiled and plainly, by size class; what loses runs plainly again.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from dynamo_lite import budget
from dynamo_lite.budget import process_time
from dynamo_lite.config import config
from dynamo_lite.dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Seconds, shares of 1, numbers of calls and rounds. csrc/watch/trials.c reads some, by these names."""

    def __init__(self, **given: float) -> None:  # NB: written out, as text, it takes a millisecond to compile
        for row in dataclasses.fields(self):
            object.__setattr__(self, row.name, given.pop(row.name, row.default))
        if given:
            raise TypeError(f"no threshold {', '.join(given)}")

    budget_share: float = 0.05  # of the process's CPU time may go into compiling (config.run_budget)
    budget_gains: float = 0.30  # and of what compiled code has saved, where calls within calls count twice
    budget_base: float = -0.03  # and so many seconds besides; watching itself takes some, before the program begins
    budget_stake: float = 0.45  # seconds; of what goes beyond, only a part is there until compiled code has saved some
    budget_later: float = 0.2  # that part
    budget_trust: float = 0.6  # seconds, and what was saved; beyond that only time that has passed counts
    rest_factor: float = 1.5  # times as much may be spent on the rest of what is compiled in part

    budget_known: float = 4.8  # times as much counts as a loop is known to take that has begun
    budget_numbers: float = 8.0  # so for a loop of numbers or small arrays
    budget_elements: float = 11.0  # so for one of numbers and elements alone, which wins nearly all of it
    budget_guessed: float = 3.0  # times as much counts as a loop of numbers is only guessed to take
    budget_bare: float = 0.08  # of all time counts, where no arrays are in reach
    look_again: float = 1.5  # times the time that has passed, until one looks for arrays, or for prospects, again
    least_gain: float = 0.2  # of the time of arrays' segments, by the cost model; where they gain less, less counts
    barren_share: float = 0.6  # of what counts of a loop, or goes into an attempt, does after one that brings nothing
    break_takes: float = 3e-6  # seconds of the way out at a graph break and in again, which a segment is to gain
    long_segments: float = 0.0005  # seconds that these segments take, together, so that they tell
    called_again: int = 3  # calls of a function with loops of numbers, after which as many more are expected
    small_operation: float = 1.0e-6  # seconds of an operation on small arrays at most, which then are those of its call
    element_operation: float = 3.5e-7  # seconds of an operation on elements at most, in the mean
    large_operation: float = 1.0e-5  # seconds, more than which an operation on large arrays takes
    numeric_share: float = 0.5  # of what a loop takes, in innermost loops of numbers that it calls, makes it one, too
    slight_share: float = 0.05  # and less than so much of it, in one of its own, says nothing of it
    foresight: float = 50.0  # times what a loop of numbers has taken, at most, are expected of its iterator's length
    foresight_arrays: float = 10.0  # so of others, of which less is won, and the first rounds may have the most to do
    as_long: float = 1.0  # times what a loop of numbers has taken, whose end nothing tells, are expected to come

    budget_tries: int = 3  # attempts at one function since more was saved, after which only time that has passed counts
    budget_all_tries: int = 6  # and attempts at all of them
    whole_try: float = 0.06  # seconds of an attempt that counts as one; a shorter one, of little code, as a part
    rest_part: float = 0.2  # of the time known to come, as it is, may go into the rest of what is compiled in part,
    rest_of_all: float = 0.3  # whatever was spent: a half is a loss. And so much of all time, for all that was compiled
    next_part: float = 0.1  # of the time known to come may go into what else is compiled once the compiler is there,
    parts_of_all: float = 0.15  # and so much of all time, for all that was compiled
    attempt_over: float = 3.0  # times what is there then may go into one attempt, which is given up beyond that
    attempt_ahead: float = 0.05  # or of what is known to come, by the same reckoning
    attempt_part: float = 0.2  # but no more than so much of what is known to come, as it is, and the least
    attempt_sight: float = 5.0  # times as far as `foresight` goes what is known counts for an attempt
    attempt_least: float = 0.2  # seconds that an attempt may take in any case

    heart: float = 0.3  # of the time, as far as calls were timed, in one function: others wait until that was asked for
    heart_below: float = 0.7  # of what it takes, spent in a function that it calls, makes that one wanted instead
    heart_call: float = 50e-6  # seconds that a call of it takes at least; others are better inlined
    heart_waits: int = 20  # times that others wait for it, at most

    watching: float = 0.0108  # CPU seconds that importing what watches takes, about
    compiler: float = 0.115  # CPU seconds that importing the compiler takes, about
    first: float = 0.18  # CPU seconds of compiling a loop with it and what that leads to, without which it is of no use
    slowest: float = 3.0  # times as slow as that, at most, a machine is taken to be by what those imports take there
    fastest: float = 0.4  # and at least

    # Plain time of a round, or a call, that is certain to break the graph, below which nothing is compiled: a break
    # takes 2 to 5 us, so that what is between two of them gains only where that is little beside it.
    break_pays: float = 30e-6
    least_piece: float = 10e-6  # and of what was between the breaks that were met: it is compiled no further
    hopeless: float = 0.6  # of what a loop or function takes, in innermost loops of such rounds: it is not compiled
    no_prospects: float = 2.0  # seconds until that is looked at again
    others_take: float = 0.1  # of what a loop without prospects takes, at most, so that its function rests meanwhile

    earned_share: float = 0.25  # of the plain time of what compile_budget did not suffice for goes into compiling it
    least_attempt: float = 0.010  # seconds, for which it waits at least

    hot_function: float = 0.010  # plain time of a function's calls, after which calls are dispatched
    hot_loop: float = 0.010  # plain time of a loop that is running, after which compiled code takes over
    short_loop: float = 0.0001  # plain time of what is left of an inner loop that is not worth the way in
    way_in: float = 10.0  # times what the way in has taken, which what is left of an inner loop takes at least
    hot_callee: float = 0.003  # plain time of what a compiled function calls, or goes on with, until it is compiled
    polls_after: float = 0.002  # plain time of the calls of a function without loops, until it gets polls at all
    too_short: float = 0.02  # of the process's time pass until a loop asks again that ended too soon to be entered
    ask_again: float = 0.1  # of the process's time pass, as long as nothing may be compiled, until one asks again
    asking_share: float = 0.01  # of it may go into questions in vain; beyond that each is put off until it is no more,
    asking_rest: float = 0.25  # but for no longer than so much of it
    look: float = 0.0005  # how often a running loop looks at the clock, about
    operations: int = 4  # of a function without loops that is watched: with fewer there is little to gain
    together: int = 128  # instructions of the copies of a short loop, of which the last asks
    # Plain time of a call below which a function without loops is watched no more; half of it where it is given arrays.
    # NB: a call of 1 us shows as 2: it is timed alone, and what it runs has left the processor's caches meanwhile.
    short_function: float = 2e-6
    short_call: float = 0.008  # plain time of a call below which the loops of the function are watched no more
    # Plain time of a call below which it is timed by one clock, while it is not compiled, and below which two plain
    # calls, not one, tell that compiled ones gain.
    brief_call: float = 0.0001
    tried_short: int = 8  # calls timed before that is decided
    nudges: int = 10  # rounds of an inner loop that leave it to the loop around it to be entered first
    tried_compiled: int = 4  # calls timed, before compiled ones are held against plain ones
    tried_plain: int = 3
    tried_unclear: int = 12  # compiled calls, before one loses whose least time is shorter than that of plain ones
    tried_time: float = 0.010  # seconds that calls of either kind take, after which fewer are enough
    clear: float = 1.5  # times as fast: one plain call is enough, and later none
    close: float = 0.1  # share by which times differ that take three times as many calls to tell apart
    # A call that takes `tried_time` is not run plainly to be timed where so much of it went into programs, which the
    # cost model has judged.
    vouched: float = 0.75
    long_program: float = 50e-6  # seconds that these take each, on the average: of short ones it knows little
    unsettled: float = 0.25  # of a compiled call that is timed, at most: in code that may soon be compiled
    unsettled_calls: int = 50  # such calls on end, or calls that raise, do not count; later ones do
    sample_every: int = 4  # compiled calls to one that is run plainly to be timed
    rounds_judged: int = 16  # rounds of a loop that are held against plain ones
    sampled_rounds: float = 0.001  # plain time of rounds that are timed once more (`stale`)
    worth: float = 1.02  # what compiled rounds may take of plain ones
    rest_of_few: int = 16  # calls until what few calls have decided is tried again; twice as many each time
    first_rest: int = 256  # calls until what lost is tried again; twice as many each time
    longest_rest: int = 1 << 16
    first_patience: float = 0.5  # and for loops
    longest_patience: float = 2.0
    stale: float = 0.05  # of what compiled calls have taken since the latest plain one: another may take it
    credited: int = 256  # calls since the latest plain one, at most, that count as gains where that decides
    credited_rounds: int = 64  # and rounds of a loop, the first of which may have the most to do


THRESHOLDS = Thresholds()
AT_ONCE = Thresholds(
    hot_function=0.0,
    short_call=0.0,
    hot_loop=0.0,
    short_loop=0.0,
    way_in=0.0,
    too_short=0.0,
    asking_share=1e6,
    hot_callee=0.0,
    polls_after=0.0,
    look=0.0,
    operations=1,
    together=0,
    short_function=0.0,
    budget_share=1e6,
    budget_base=1e6,
    look_again=0.0,
    watching=0.0,
    compiler=0.0,
    first=0.0,
    attempt_least=1e6,
    heart=1.0,
    break_pays=0.0,
    least_piece=0.0,
)  # everything is compiled at its second call or round
# So for `explain`; but loops take a little time before, so that those around others are entered first, as under `run`,
# and most rounds of a loop run plainly whose compiled ones take much longer.
EXPLAINED = replace(
    AT_ONCE, heart_waits=0, hot_loop=5e-5, rounds_judged=1_000_000, sampled_rounds=0.0, first_patience=0.02
)


@dataclass(frozen=True, slots=True)
class Arms:
    """Which branches on data outside of loops stay in the graph, both arms of them. An arm that never runs has taken
    its compile time for nothing, and big arrays gain more where a segment of its own fuses them with what follows."""

    shorter: int = 40  # instructions of the shorter arm
    together: int = 300  # and of both
    elements: int = 2048  # of an array that an arm computes
    most: int = 24  # in one segment, with those of inlined functions
    most_refused: int = 4  # that could not be captured, after which no more is tried
    before_loop: int = 400  # operations in front of a `while` that a decline at its first test may repeat


ARMS = Arms()
APART = 8000  # units of work (budget.py) in front of a loop that are not done once more with each attempt at it
LONG = 50  # operations of a segment, or of an iteration, that is not compiled once more for each way that leads to it

# NB: as sysconfig's paths "stdlib" and "platstdlib" have it, which take 3 ms to find out.
STDLIB = os.path.dirname(os.__file__)
_LIBRARIES = tuple(
    {
        form(path) + os.sep
        for path in (STDLIB, os.path.join(sys.exec_prefix, sys.platlibdir, os.path.basename(STDLIB)))
        for form in (os.path.realpath, os.path.normpath)
    }
    | {os.path.dirname(os.path.realpath(__file__)) + os.sep}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


# Whose functions and objects capture may know; the user's own may be inlined.
KNOWN_MODULES = frozenset(
    {"builtins", "numpy", "math", "cmath", "random", "operator", "itertools", "functools", "types", "dynamo_lite"}
)


def is_looked_at(filename: str, module: str = "") -> bool:
    """Whether functions of this file may be compiled by themselves: users' own, and what `config` includes."""
    package = module.partition(".")[0]
    if package == "dynamo_lite":
        return False
    if _names(config.exclude, package, module):
        return False
    if _names(config.include, package, module):
        return True
    if filename.startswith("<"):
        return not filename.startswith("<frozen ")
    if _is_library(filename):  # as most files are, and without a look at the disk
        return False
    path = os.path.realpath(filename) if os.path.islink(filename) else _in_real_folder(filename)
    return not _is_library(path)


def _in_real_folder(filename: str) -> str:
    """The same file by the path of its folder without symbolic links."""
    folder, name = os.path.split(filename)
    return os.path.join(_real_folder(folder), name)


@functools.cache
def _real_folder(folder: str) -> str:
    """A package has many files in one."""
    return os.path.realpath(folder)


def _is_library(path: str) -> bool:
    folders = tuple(entry if isinstance(entry, str) else "" for entry in sys.path)
    return _has_libraries(path.rpartition(os.sep)[0] + os.sep, folders)


@functools.lru_cache(1024)
def _has_libraries(folder: str, path: tuple[str, ...]) -> bool:
    """Whether files in a folder are a library's, with that sys.path."""
    is_there = folder.startswith(_LIBRARIES) or any(part in folder for part in _INSTALLED)
    # NB: the program's own folder, the first one, may have them beside the program.
    entries = [entry for entry in path[1:] if entry and folder.startswith(entry + os.sep)]
    return is_there or any(entry != path[0] and _has_packages(entry) for entry in entries)


@functools.cache
def _has_packages(folder: str) -> bool:
    """Whether packages have been installed into a folder of the path, as by ``pip install --target``."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def _names(names: frozenset[str], package: str, module: str) -> bool:
    return bool(names) and (package in names or module in names)


class Budget:
    """CPU time that compiling may take, importing the compiler included: grows with what the process has taken, or is
    known to take."""

    def __init__(self, thresholds: Thresholds = THRESHOLDS) -> None:
        self._thresholds = thresholds
        self._before = budget.taken()
        self._ahead: dict[Hashable, float] = {}  # CPU time of the process until which each loop counts as running
        self._ends: dict[Hashable, float] = {}  # and until which it is known or guessed to run
        self._import = 0.0  # seconds that importing the compiler has taken
        self._usual = 0.0  # what one attempt takes, by the latest ones
        self._saved = 0.0  # the most that was saved at any question
        self._tries: dict[Hashable, float] = {}  # attempts since then, by the function they were of
        self._pace = 1.0  # of this machine: what takes a second by the thresholds takes so many here
        self.refused: set[Hashable] = set()  # functions that had to wait; None: the compiler

    def imported(self, seconds: float, usual: float) -> None:
        """An import that takes `usual` CPU seconds by the thresholds has taken so many here: on a slower machine all
        costs more, and there is a larger stake; on a faster one compiling for the first time costs less."""
        limits = self._thresholds
        self._pace = min(max(limits.fastest, seconds / usual), limits.slowest) if usual else 1.0

    def imported_compiler(self, seconds: float, tells: bool = True) -> None:
        """The compiler is there; importing it has taken so many CPU seconds. tells: as it takes each time."""
        if tells:
            self.imported(seconds, self._thresholds.compiler)
        self._import = seconds

    def allows_import(self, share: float = 1.0) -> bool:
        """Whether the compiler may be imported, and used at least once. share: as of `allows`."""
        return self.allows(self._pace * (self._thresholds.compiler + self._thresholds.first), share=share)

    @property
    def slowness(self) -> float:
        """What takes a second by the thresholds takes so many here, if that is more."""
        return max(1.0, self._pace)

    @property
    def spent(self) -> float:
        """Seconds."""
        return budget.taken() - self._before

    def expects(self, loop: Hashable, seconds: float, known: float = math.inf) -> None:
        """A loop is going to take so many seconds, if nothing is compiled, whatever was expected of it before. known:
        at most, and without the factors by which some loops count for more."""
        self._ahead[loop] = process_time() + seconds
        self._ends[loop] = process_time() + known

    @contextmanager
    def attempt(
        self, saved: float = 0.0, goes_on: bool = False, of: Hashable = None, hope: float = 1.0
    ) -> Iterator[None]:
        """Compile something in this block: it counts, and the next attempt is expected to take about as long.

        It is given up once it takes much more than what is there, or than a share of what is known to come
        (budget.OutOfTime): of a program that has run for two seconds the capture of one long loop may want one, and win
        nothing. hope: 1, or less where attempts so far have brought nothing: this one gets as much less in any case.
        """
        limits = self._thresholds
        there = -self._missing(-self._usual, saved, goes_on, of)
        earned = -self._missing(-self._usual, saved, goes_on, of, trusts=False)
        now, least = process_time(), self._pace * limits.attempt_least * hope
        ahead, known = (max(0.0, max(ends.values(), default=now) - now) for ends in (self._ahead, self._ends))
        promised = max(limits.attempt_over * there, limits.attempt_ahead * ahead)
        most = max(least, limits.attempt_over * earned, min(promised, least + limits.attempt_part * known))
        before = budget.taken()
        try:
            with budget.timed(), budget.seconds(most):
                yield
        finally:
            taken = budget.taken() - before
            self._tries[of] = self._tries.get(of, 0.0) + min(1.0, taken / (self.slowness * limits.whole_try))
            self._usual = max(self._usual / 2, taken)

    def allows(
        self, cost: float = 0.0, saved: float = 0.0, goes_on: bool = False, of: Hashable = None, share: float = 1.0
    ) -> bool:
        """Whether something may be compiled now that takes `cost` seconds besides what an attempt takes.

        saved: seconds that compiled code has saved. goes_on: it is the rest of what is compiled, which alone is of
        little use. of: which function it is of. share: of the time that has passed, which counts.
        """
        if saved > self._saved:
            self._saved = saved
            self._tries.clear()
        allowed = self._missing(cost, saved, goes_on, of, share) <= 0.0
        if not allowed:
            self.refused.add(of)
        return allowed

    def wait(
        self, cost: float = 0.0, saved: float = 0.0, goes_on: bool = False, of: Hashable = None, share: float = 1.0
    ) -> float:
        """Seconds after which one who was refused may ask again, as of `allows`: half of those in which what is missing
        is there, if nothing more is saved, but no more than a share of the time that has passed."""
        limits = self._thresholds
        most = limits.ask_again * process_time()
        pace = limits.budget_share * (limits.budget_later if self.spent > self.slowness * limits.budget_stake else 1.0)
        missing = max(0.0, self._missing(cost, saved, goes_on, of, share))
        return min(most, missing / (2.0 * share * pace)) if pace > 0.0 else most

    def _missing(
        self, cost: float, saved: float, goes_on: bool, of: Hashable = None, part: float = 1.0, trusts: bool = True
    ) -> float:
        """Seconds by which what is asked for goes beyond what may be spent. trusts: what is known to come counts."""
        limits = self._thresholds
        passed = process_time()
        ahead = max(0.0, max(self._ahead.values(), default=0.0) - passed)
        share = part * limits.budget_share * passed
        trusted = min(share + limits.budget_share * ahead, self.slowness * limits.budget_trust + max(0.0, saved))
        is_trusted = trusts and self._tries.get(of, 0) < limits.budget_tries
        is_trusted = is_trusted and sum(self._tries.values()) < limits.budget_all_tries
        if is_trusted:
            share = max(share, trusted)  # else what was compiled shows no gain so far
        limit = limits.budget_base + limits.budget_gains * max(0.0, saved)
        limit += min(share, self.slowness * limits.budget_stake + limits.budget_later * share)
        missing = self.spent + cost + self._usual - limit * (limits.rest_factor if goes_on else 1.0)
        if is_trusted and self._import > 0.0:  # what it took to begin is gone: is it worth to go on?
            known = part * max(0.0, max(self._ends.values(), default=0.0) - passed)
            of_known = limits.rest_part if goes_on else limits.next_part
            of_all = limits.rest_of_all if goes_on else limits.parts_of_all
            in_all = self.spent - self._import - of_all * (part * passed + known)
            missing = min(missing, self._usual + cost + max(in_all, -of_known * known))
        return missing
