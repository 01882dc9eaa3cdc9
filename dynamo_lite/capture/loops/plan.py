"""LoopPlan: what the attempts of a capture have learnt of one loop, by which the next attempt traces it.

An attempt that finds something its plan lacks writes it down there and raises Retry (state.py); capture begins again.
Paths name what an iteration changes: a local's name, then places in tuples, or an attribute's owner (places.py).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from dynamo_lite.dataclass import dataclass

LoopKey: TypeAlias = tuple[Any, ...]
MAX_PEELED = 2  # iterations before a loop
NO_WAY_ROUND = "loop-exit", "each way through its body"


@dataclass(eq=False, slots=True)
class LoopPlan:
    """What is known of a loop of the user's before it is traced; it grows from one attempt to the next."""

    filename: str
    line: int
    function: str

    # Iterations before the loop.
    peel: int = 0  # how many run there
    differing: set[Any] = field(default_factory=set)  # locals of another type after the first: all the reason
    kinds: dict[Any, set[Any]] = field(default_factory=dict)  # before, of variables that it stores to (kinds_ahead.py)
    unpeeled: bool = False  # none can, since such a one breaks the graph

    # What an iteration changes.
    steps: dict[tuple[Any, ...], int] = field(default_factory=dict)  # the int by which a number grows each time
    numbers: set[tuple[Any, ...]] = field(default_factory=set)  # those that change otherwise
    fixed: set[tuple[Any, ...]] = field(default_factory=set)  # those that do not
    eithers: dict[Any, tuple[Any, Any]] = field(default_factory=dict)  # locals of two kinds: both forms (eithers.py)
    chosen: dict[Any, dict[Any, Any]] = field(default_factory=dict)  # locals that are one of a few objects: by source
    replaced: set[Any] = field(default_factory=set)  # locals that hold another object of the same class (aggregates.py)
    others: set[str] = field(default_factory=set)  # locals that ways set which are no part of it, in loops inside
    shared: set[str] = field(default_factory=set)  # cells that functions have which the body makes, and which live on
    places: dict[Any, bool] = field(default_factory=dict)  # besides locals; whether the next iteration may read it
    extents: dict[tuple[Any, ...], set[int]] = field(default_factory=dict)  # of arrays, the axes (extents.py)
    own_extents: set[tuple[Any, ...]] = field(default_factory=set)  # those that equal others at first alone
    settled: set[tuple[Any, ...]] = field(default_factory=set)  # those that are others after the first iteration alone
    doubtful: set[tuple[Any, ...]] = field(default_factory=set)  # those that have only been taken to change
    guessed: set[tuple[Any, ...]] = field(default_factory=set)  # of steps and numbers, what no attempt has confirmed
    guessed_places: set[Any] = field(default_factory=set)  # likewise of places
    guessed_eithers: set[Any] = field(default_factory=set)  # and of eithers
    looked_ahead: bool = False  # its code has been (kinds_ahead.py)
    guesses: bool = True  # whether there may be such (loops/guesses.py)

    # Lists and dicts.
    lists: dict[Any, bool] = field(default_factory=dict)  # True: the program holds all items; False: guards, the length
    rows: dict[Any, Any] = field(default_factory=dict)  # as arrays: type, whether counted, most rows; or None
    cells: dict[Any, tuple[str, bool] | None] = field(default_factory=dict)  # kind of numbers, whether it grows
    read_between: set[Any] = field(default_factory=set)  # cells of which an item read after the loop ends the segment
    objects: bool = False  # it tells which objects the numbers are that lists and dicts get

    # Conditions.
    promises: set[str] = field(default_factory=set)  # guarded to hold in every iteration, or in none, as text
    required: dict[str, bool] = field(default_factory=dict)  # the program declines in an iteration where it is not so
    compound: bool = False  # conditions of several parts are one number (compound.py)

    # Where it is left.
    side_exits: set[int] = field(default_factory=set)  # where ways out begin that are no part of it
    known: set[int] = field(default_factory=set)  # those of which an earlier capture has found that
    broken: dict[int, tuple[str, str]] = field(default_factory=dict)  # of those that break: reason and detail
    avoided: dict[LoopKey, tuple[str, str, int]] = field(default_factory=dict)  # ways that break: reason, detail, line
    declining: set[LoopKey] = field(default_factory=set)  # ways of callees that break, or read an unbound local
    alone: set[int] = field(default_factory=set)  # numbers of iterations that go an avoided way: each runs by itself

    # What became of it.
    refused: tuple[str, str] | None = None  # why it cannot stay a loop: a break's reason and detail
    # In this attempt: "native", "unrolled", "segments", "begun" (peeled), "tested" (a `while` that is), "paused", or
    # "": not met.
    outcome: str = ""
    stayed: bool = False  # it was native in an earlier attempt
    chain: tuple[Any, ...] = ()  # where it stands, and the loops around it, for all captures of a function (lessons.py)

    def begin_with(self, path: tuple[Any, ...]) -> None:
        """One more iteration is to run before the loop, behind which what is at the path is of its later type. Where it
        still is not, it is of one type and another in turn."""
        if self.peel >= MAX_PEELED:
            self.peel, self.unpeeled = 0, True
            return
        self.peel += 1
        self.differing.add(path[0])
        self.steps.pop(path, None)
        self.numbers.discard(path)
        self.guessed.discard(path)

    def leave_by(self, way: int, reason: str, detail: str) -> None:
        """Make a side exit of a way, which breaks the graph."""
        self.side_exits.add(way)
        self.broken[way] = reason, detail

    @property
    def why_refused(self) -> tuple[str, str] | None:
        """What to say of that: where each way through the body breaks, how the last one does that was found."""
        if self.refused == NO_WAY_ROUND and self.broken:
            return next(reversed(self.broken.values()))
        return self.refused

    def knows(self, path: tuple[Any, ...]) -> bool:
        """Whether it is known that a number changes, not only guessed."""
        return path in self.numbers and path not in self.guessed
