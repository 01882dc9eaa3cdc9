"""Whether what is between the graph breaks of a loop, or of a function, is too short to gain: seen as it is captured.

Enters: segments that end in a graph break, and what rounds and calls take plainly. Leaves: the loops and functions of
which no more is to be compiled. prospects.py tells by names what is certain to break; here it has broken.

    while stack:
        x, y = stack.pop()       # a break, and the round takes 0.7 us
        if grid[x, y] == 1:      # another one

The way out at a break and in again takes some microseconds. Where there are k of them in each round, of rounds that
take less than k times `least_piece`, that is about as much as could be gained, and the captures of what follows, one
after the other, win nothing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable

from dynamo_lite import _C, policy
from dynamo_lite.capture.trace import GraphBreak
from dynamo_lite.compilation import Compilation
from dynamo_lite.pipeline import Segment
from dynamo_lite.pycode import Code, Loop, decoded, defined_at, loops
from dynamo_lite.watch import prospects
from dynamo_lite.watch.expectations import Rounds


class Pieces:
    """Of all loops, by their rounds, and functions, by file and line, of one program."""

    def __init__(self, limits: policy.Thresholds, rounds: Rounds) -> None:
        self._given_up: dict[Hashable, _C.Round | _C.Poll] = {}  # with what tells how long they take
        self._limits = limits
        self._rounds = rounds
        self._breaks: dict[Hashable, set[Hashable]] = {}  # places, by the loop or the function that breaks there

    def note(
        self, compiler: Compilation, segment: Segment, entry_of: Callable[[types.CodeType], _C.Poll | None]
    ) -> bool:
        """Note where a segment breaks; whether it is of a loop or function that is given up, all of it.

        entry_of: the poll at the entry of a function."""
        found = segment.capture.break_
        is_straight = not segment.entry.exits and all(plan.outcome != "native" for plan in segment.capture.loops)
        if found is None or found.reason == "loop-goes-on" or not is_straight:
            return False  # NB: a loop that can be left has Jumps into it
        resumes = compiler.resumes
        of: Hashable
        for jump in segment.capture.jumps:
            ahead = jump.resume_function.__code__
            if ahead not in resumes.places:
                continue
            root = resumes.roots[ahead]
            whole, index = resumes.places[ahead]
            code = decoded(whole)
            around = [loop for loop in loops(code) if index in loop.body]
            seen: _C.Round | _C.Poll | None
            if around:
                seen = of = self._rounds.of(code, around[-1])
                at = _broken_at(code, around[-1], index, found)
                is_certain = not any(prospects.is_avoidable(code, around[-1], one) for one in at)
            else:
                of, seen = defined_at(root), entry_of(root)
                is_certain = not prospects.is_avoided(code, index)
            if seen is None or not is_certain:
                continue
            taken, times = _taken(seen)
            self._breaks.setdefault(of, set()).add(code.instrs[index].position)
            breaks = len(self._breaks[of])
            # NB: no more than what counts as short when it is asked about again, lest it be compiled again and again.
            least = min(breaks * self._limits.least_piece, self._limits.break_pays)
            if times >= self._limits.tried_plain and taken < least * 1e9 * times:
                self._given_up[of] = seen
                what = "a round" if around else "a call"
                counted = f"{breaks} graph break{'s' if breaks > 1 else ''}"
                detail = f"{counted} in {what} of {taken / times / 1e3:.3g} us"
                compiler.give_up([segment.code, *self._codes_of(compiler, root, of)], detail)
                return True
        return False

    def holds(self, of: Hashable) -> bool:
        """Whether a loop or a function was given up, and is as short as then. If it is not, it is as any other."""
        if of not in self._given_up:
            return False
        taken, times = _taken(self._given_up[of])
        if taken < self._limits.break_pays * 1e9 * times:
            return True
        del self._given_up[of]
        self._breaks.pop(of, None)
        return False

    def of(self, compiler: Compilation, code: types.CodeType) -> bool:
        """Whether this resume function is of a loop, or a function, that was given up."""
        if not self._given_up or code not in compiler.resumes.places:
            return False
        return self.holds(defined_at(code)) or any(map(self.holds, self._around(compiler, code)))

    def rounds(self) -> list[_C.Round]:
        """Of loops that were given up."""
        return [one for one in self._given_up.values() if type(one) is _C.Round]

    def _codes_of(self, compiler: Compilation, root: types.CodeType, of: Hashable) -> list[types.CodeType]:
        """The code of a function and of its resume functions, or of those in a loop."""
        resumed = [code for code, other in compiler.resumes.roots.items() if defined_at(other) == defined_at(root)]
        if of == defined_at(root):
            return [root, *resumed]
        return [code for code in resumed if code in compiler.resumes.places and of in self._around(compiler, code)]

    def _around(self, compiler: Compilation, code: types.CodeType) -> list[_C.Round]:
        whole, index = compiler.resumes.places[code]
        there = decoded(whole)
        return [self._rounds.of(there, loop) for loop in loops(there) if index in loop.body]


def _broken_at(code: Code, loop: Loop, index: int, found: GraphBreak) -> list[int]:
    """Where in a loop the graph broke, which goes on at `index`: at the header, where plain statements have gone up to
    the next round; then by the line of the break."""
    if index != loop.header or found.filename != code.filename:
        return [index]
    return [one for one in sorted(loop.body) if code.instrs[one].position[0] == found.line] or [index]


def _taken(seen: _C.Round | _C.Poll) -> tuple[int, int]:
    """Nanoseconds that rounds of a loop, or calls of a function, have taken plainly, and how many these were."""
    return (seen.plain, seen.n_plain) if isinstance(seen, _C.Round) else (seen.spent, seen.calls)
