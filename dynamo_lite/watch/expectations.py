"""What running loops are expected to take from now on, by what was seen of their rounds, and how much of it counts.

Enters: a loop that is asked about, with what its frame holds; later what became of the loops that were compiled.
Leaves: what policy.Budget is told, and whether enough is left of the loop to enter it while it runs.

- Known: what the iterator of a `for`, or the numbers that a `while` compares, have left (foresight.py), and what the
  loops around it have.
- Guessed: of a loop of numbers that tells nothing of its end, that it takes as long again.
- How much of that counts: by what the loop's operations are (loop_kinds.py), and what they take; a loop that promised
  much, and was compiled to no native loop, promises it no more.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dynamo_lite import _C, policy
from dynamo_lite.budget import process_time
from dynamo_lite.pycode import Code, Loop, loops, runs_out, watched_loops
from dynamo_lite.watch.foresight import Whiles, comparisons, items_left
from dynamo_lite.watch.loop_kinds import OF_ARRAYS, OF_ELEMENTS, OF_NUMBERS, LoopKind, kind_of

if TYPE_CHECKING:  # NB: imported when something is hot, lest each short program wait for it
    from dynamo_lite.pipeline import Segment
    from dynamo_lite.report.records import LoopRecord


class Rounds(dict[tuple[Any, ...], _C.Round]):
    """What is known of the rounds of each loop: one for all code objects in which it stands."""

    def of(self, code: Code, loop: Loop) -> _C.Round:
        header = code.instrs[loop.header]
        key = (code.filename, code.qualname, header.op, header.position)
        return self.get(key) or self.setdefault(key, _C.Round())


class Expectations:
    """Of all loops of one program."""

    def __init__(self, limits: policy.Thresholds, budget: policy.Budget, rounds: Rounds) -> None:
        self.limits = limits
        self.budget = budget
        self.rounds = rounds
        self.latest: dict[_C.Round, tuple[int, int]] = {}  # nanoseconds and number of rounds at the latest look
        self.kinds: dict[_C.Round, LoopKind] = {}  # of innermost loops, and of those that were looked into
        self.looked_into: dict[_C.Round, list[_C.Round]] = {}  # the innermost ones in a loop, in its code, and itself
        # Until when a loop is known to run, and guessed, and may be known to.
        self.expected: dict[_C.Round, tuple[float, float, float]] = {}
        self.functions: dict[_C.Poll, int] = {}  # the kinds of those that have asked, by their entries
        self.loops_of: dict[_C.Poll, list[_C.Round]] = {}  # the innermost ones of those functions
        self.refuted: set[_C.Round] = set()  # innermost loops that were compiled, and are not native
        self.shares: dict[_C.Round, float] = {}  # of the time of a loop, that counts
        self.whiles = Whiles()
        self.gain = 1.0  # how much counts of a loop of arrays, by what was compiled of such
        self.hope = 1.0  # how much counts of any, by how many attempts have brought nothing
        self.is_proved = False  # one has brought a native loop
        self._began = process_time()
        self._began_at = perf_counter()

    def look(
        self,
        poll: _C.Poll,
        code: Code,
        stack: Sequence[Any],
        names: Sequence[Mapping[str, Any]],
        find_entry: Callable[[], _C.Poll | None],
        is_called: bool,
        way_in: float,
    ) -> bool:
        """Tell the budget how long a loop is going to run; whether that is long enough to enter it.

        A `for` that only its iterator ends says so, and a `while` that only comparisons of numbers end; any other is
        expected to take as long again as it has taken if it is one of numbers without NumPy, which win nearly all of
        it, but no longer than its iterator says. A short one, of a function that may be called again, is left to the
        compiled code of that function.

        stack, names: the frame's, and where its variables are looked up. find_entry: gives the poll of its function, if
        there is one. is_called: whether that may be called again. way_in: seconds that ways into the loop have taken.
        """
        round_ = poll.round
        if round_ is None or not round_.n_plain:
            return True
        if round_ not in self.looked_into:
            self.looked_into[round_] = self._inner_of(code, poll, names)
        own = self._own_share()  # of the time that passes
        plain, each = own * round_.plain * 1e-9, own * self._each(round_)
        left, guessed, is_long = 0.0, 0.0, True
        most = plain
        is_numeric, within = self._is_numeric(round_), self.looked_into[round_]
        if is_numeric and max(one.n_plain for one in (round_, *within)) >= self.limits.tried_plain:
            most *= self.limits.foresight
        elif round_.n_plain >= self.limits.tried_plain:
            most *= self.limits.foresight_arrays
        rounds = items_left(stack[-1]) if stack else None
        is_inner = poll.place.outer is not None or not is_called
        way_in *= self.limits.way_in
        if poll.place.over == "for" and runs_out(code, poll.place.header):
            if rounds is not None:
                left = rounds * each
                is_long = left >= (max(self.limits.short_loop, way_in) if is_inner else self.limits.hot_loop)
        else:  # NB: of a `for` that may be left by a break it is known how long it is going to run at most
            if not round_.entered:
                find = functools.partial(comparisons, code, poll.place.header)
                coming = self.whiles.rounds_left(round_, find, names, round_.n_plain)
                if coming is not None:
                    left = min(coming, math.inf if rounds is None else rounds) * each
                elif self._is_numeric(round_, OF_ELEMENTS):
                    guessed = min(self.limits.as_long * plain, math.inf if rounds is None else rounds * each)
            if is_inner and round_.n_begun >= self.limits.tried_plain:
                is_long = plain >= max(self.limits.short_loop, way_in) * round_.n_begun
        left += self._left_around(code, poll.place, stack, plain / max(1, round_.n_begun) + left, own)
        if is_numeric and (entry := find_entry()) is not None:
            guessed = max(guessed, self._calls_to_come(entry))
        now = process_time()
        self.expected[round_] = now + min(left, most), now + guessed, now + min(left, self.limits.attempt_sight * most)
        self._expect(round_)
        return is_long

    def look_at_calls(self, entry: _C.Poll, code: Code, names: Sequence[Mapping[str, Any]], share: float) -> None:
        """Tell the budget how long further calls of a function are going to take, if its innermost loops are of
        numbers: where its calls are short these do not ask. share: of that time, that counts. names: as of `look`."""
        held, outside = names
        inner = {self.rounds.of(code, loop): loop for loop in innermost(code)}
        if entry not in self.functions:
            kinds = [kind_of(code, loop, outside, held).kind for loop in inner.values()]
            self.functions[entry] = min(OF_NUMBERS, *kinds) if kinds else 0
            self.loops_of[entry] = list(inner)
        if self._kind_of_calls(entry) == OF_NUMBERS:
            guessed = self._calls_to_come(entry)
            self.budget.expects(entry, share * guessed * self.limits.budget_guessed, guessed)

    def learn(self, became: Sequence[LoopRecord]) -> None:
        """See which of the loops that promised much were compiled, and are no native loops: they promise it no more.

        Of what was unrolled since it cannot be one, a loop around it that is native keeps the promise."""
        ended: dict[tuple[str, int | None], str] = {}
        for one in became:
            is_refused = one.outcome == "unrolled" and one.message
            ended[one.filename, one.line] = "refused" if is_refused else one.outcome
        outcomes = {round_: ended.get((key[0], key[3][0]), "") for key, round_ in self.rounds.items()}
        kept = {one for around, inner in self.looked_into.items() if outcomes[around] == "native" for one in inner}
        refuted = {round_ for round_, kind in self.kinds.items() if kind.kind and outcomes[round_] in _NOT_NATIVE}
        refuted -= {round_ for round_ in kept if outcomes[round_] == "refused"}
        if refuted != self.refuted:
            self.refuted = refuted
            for round_ in self.expected:
                self._expect(round_)

    def weigh(self, times: Iterable[tuple[float, float]]) -> None:
        """See what segments are expected to gain: their seconds plainly, and compiled. Where matrices are multiplied
        most of the time that is little, and so it is going to be in what calls them."""
        plain, compiled = (sum(column) for column in zip((0.0, 0.0), *times, strict=True))
        if plain >= self.limits.long_segments:
            self.gain = min(1.0, max(0.0, 1.0 - compiled / plain) / self.limits.least_gain)
            for round_ in self.expected:
                self._expect(round_)

    def attempted(self, segments: Sequence[Segment], has_entry: bool = True) -> None:
        """See what an attempt has brought. As long as none has a native loop, and each has brought nothing at all, or
        pieces of which each gains less than the way from it to the next one takes, less and less counts. has_entry:
        whether what was asked for may run."""
        found = [one for one in segments if one.capture.break_ is None or one.capture.break_.reason != "loop-goes-on"]
        self.is_proved |= any(plan.outcome == "native" for one in found for plan in one.capture.loops)
        is_barren = all(one.capture.break_ is not None and self._gains_nothing(one) for one in found)
        is_barren = is_barren if found else not (segments or has_entry)
        hope = 1.0 if self.is_proved else self.hope * (self.limits.barren_share if is_barren else 1.0)
        if hope != self.hope:
            self.hope = hope
            for round_ in self.expected:
                self._expect(round_)

    def _gains_nothing(self, segment: Segment) -> bool:
        times = segment.times.get(0)
        return times is None or times.plain - times.native < self.limits.break_takes * 1e9

    def computes(self, code: Code, names: Mapping[str, Any]) -> bool:
        """Whether one of the innermost loops of a function does little but compute (loop_kinds.py)."""
        kinds = (self.kinds.get(self.rounds.of(code, loop)) or kind_of(code, loop, names) for loop in innermost(code))
        return any(one.kind for one in kinds)

    def _left_around(self, code: Code, loop: Loop, stack: Sequence[Any], whole: float, own: float) -> float:
        """Seconds that the loops around one are known to take behind the rounds in which they are: as far outwards as
        only their iterators end them. whole: seconds of all rounds of `loop` from its begin on, about; own: CPU time of
        a second that passes."""
        around = {one.header: one for one in loops(code)}
        left = 0.0
        while loop.outer is not None:
            loop = around[loop.outer]
            is_there = loop.over == "for" and loop.depth <= len(stack) and runs_out(code, loop.header)
            rounds = items_left(stack[loop.depth - 1]) if is_there else None
            if rounds is None:
                break
            known = self.rounds.of(code, loop)
            each = own * known.plain * 1e-9 / known.n_plain if known.n_plain else whole
            left += rounds * each
            whole = own * known.plain * 1e-9 / max(1, known.n_begun) + rounds * each
        return left

    def _expect(self, round_: _C.Round) -> None:
        """Tell the budget what a loop is known to take from now on, and how many times as much counts."""
        known, guessed, longest = (max(0.0, until - process_time()) for until in self.expected[round_])
        factor, gain = self.limits.budget_known * self.gain, self.gain
        if self._is_numeric(round_):
            is_of_elements = self._is_numeric(round_, OF_ELEMENTS)
            factor, gain = self.limits.budget_elements if is_of_elements else self.limits.budget_numbers, 1.0
        seconds = max(known * factor, guessed * self.limits.budget_guessed)
        share = self.hope * self.shares.get(round_, 1.0)
        self.budget.expects(round_, share * seconds, self.hope * max(guessed, gain * longest))

    def _calls_to_come(self, entry: _C.Poll) -> float:
        """Seconds that further calls of a function are expected to take: as long again as the calls so far, once there
        were some. NB: it may be called where no loop tells how often, in a comprehension or by a library."""
        if entry.calls < self.limits.called_again:
            return 0.0
        return self.limits.as_long * self._own_share() * entry.spent * 1e-9

    def _inner_of(self, code: Code, poll: _C.Poll, names: Sequence[Mapping[str, Any]]) -> list[_C.Round]:
        """The innermost loops in that of a poll, and itself, of which it notes the kinds.

        NB: what is in it may run seldom, and say little: `for _ in range(copies): kept.append(x)`."""
        held, outside = names
        found = innermost(code, poll.place)
        found += [one for one in watched_loops(code) if one.header == poll.place.header and one not in found]
        for one in found:
            inner = self.rounds.of(code, one)
            if inner not in self.kinds:
                self.kinds[inner] = kind_of(code, one, outside, held)
        return [self.rounds.of(code, one) for one in found]

    def _is_numeric(self, round_: _C.Round, least: int = OF_NUMBERS) -> bool:
        """Whether most of what a loop takes is taken by innermost loops of such a kind, its own or of what it calls."""
        kinds = {inner: self._seen_kind(inner, found) for inner, found in self.kinds.items()}
        spent = sum(inner.plain for inner, kind in kinds.items() if kind >= least)
        brief = self.limits.short_call * 1e9  # of such functions nobody sees the loops
        seen = {one: self._kind_of_calls(one) for one in self.functions if one.spent < brief * one.calls}
        called = [one for one, kind in seen.items() if kind >= least]
        spent += sum(one.spent for one in called)
        least_time = self.limits.slight_share * round_.plain  # NB: one of its own may run seldom, or never
        own = [kinds[one] for one in self.looked_into[round_] if one is round_ or one.plain >= least_time]
        return max(own, default=0) >= least or spent > self.limits.numeric_share * round_.plain

    def _kind_of_calls(self, entry: _C.Poll) -> int:
        """The kind of a function that has asked, by its loops; none where these were compiled to nothing native, or all
        its calls that were compiled have lost."""
        if not self.refuted.isdisjoint(self.loops_of[entry]):
            return 0
        tried = [stays_plain for *_, n_compiled, stays_plain in entry.times if n_compiled]
        return 0 if tried and all(tried) else self.functions[entry]

    def _seen_kind(self, inner: _C.Round, found: LoopKind) -> int:
        """What an innermost loop does, by its code and by what its operations take: of arrays so small that nearly all
        of that goes into the call it is as good as one of numbers, and one that takes long has large arrays."""
        if inner in self.refuted or inner.loses or not found.kind:
            return 0
        each = self.budget.slowness * found.operations * inner.n_plain  # of seconds on a usual machine
        taken = self._own_share() * inner.plain * 1e-9
        if found.kind == OF_ARRAYS:
            return OF_NUMBERS if taken < self.limits.small_operation * each else OF_ARRAYS
        if found.kind == OF_NUMBERS and taken < self.limits.element_operation * each:
            return OF_ELEMENTS  # as a ufunc's of an element, too
        return OF_ARRAYS if taken > self.limits.large_operation * each else found.kind

    def _own_share(self) -> float:
        """CPU time of this process in a second that passes, one at most: loops are timed by a clock that goes on while
        other processes run, and what the budget expects of them is CPU time."""
        passed = perf_counter() - self._began_at
        return min(1.0, (process_time() - self._began) / passed) if passed > 0.0 else 1.0

    def _each(self, round_: _C.Round) -> float:
        """Seconds that a plain round takes, by the latest ones where these were shorter: of a sieve's each is."""
        plain, count = self.latest.get(round_, (0, 0))
        self.latest[round_] = round_.plain, round_.n_plain
        each = round_.plain / round_.n_plain
        if round_.n_plain > count > 0 and round_.plain >= plain:
            each = min(each, (round_.plain - plain) / (round_.n_plain - count))
        return each * 1e-9


_NOT_NATIVE = ("segments", "plain", "refused")  # what became of a loop


def innermost(code: Code, around: Loop | None = None) -> list[Loop]:
    """The watched loops of a function in which there is no other: all of them, or those in `around`, or that itself."""
    found = [loop for loop in watched_loops(code) if around is None or loop.header in around.body]
    outer = {loop.outer for loop in found}
    return [loop for loop in found if loop.header not in outer]
