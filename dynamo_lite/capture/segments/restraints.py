"""What the captures of one function have found out for those to come: restraints, and where segments begin.

Enters: what one capture learns. Leaves: what the next one asks. A resume function has its function's Restraints; places
are told apart by file, position and name, which all code objects that go on with the same function share.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

from dynamo_lite.capture.source import Source
from dynamo_lite.dataclass import dataclass
from dynamo_lite.pycode import Code, Position

MANY_EXITS, FEW_ROUNDS = 16, 2  # see Rounds
MANY_FIRST = 8  # see FirstRounds

Place: TypeAlias = tuple[str, str, int, int | None]  # a line of a function: resume functions have it at the same place


class Beginning(NamedTuple):
    """Where a resume function goes on: an instruction (its file, position and name), how many slots of the stack are in
    use there, and which locals it takes."""

    place: tuple[str, Position, str]
    depth: int
    bound: tuple[str, ...]

    @property
    def line(self) -> int | None:
        return self.place[1][0]

    def is_reached(self, depth: int, bound: Set[str], live: Set[str]) -> bool:
        """Whether a frame that is at the place, with these locals bound, goes on there: dead ones may be missing."""
        taken = frozenset(self.bound)
        return self.depth == depth and bound <= taken and live.isdisjoint(taken - bound)


def place_in(code: Code, index: int) -> tuple[str, Position, str]:
    """Where an instruction stands, for all code objects that go on with the same function."""
    return code.filename, code.instrs[index].position, code.instrs[index].op


class Variable(NamedTuple):
    """A variable of the module, in a Lesson."""

    name: str


@dataclass(eq=False, slots=True)
class Lesson:
    """What a LoopPlan (plan.py) of the latest capture knew of one loop in others (lessons.py), with the module's
    variables as `Variable`s. variables: of modules, as places; attributes: by a local of the function that is captured,
    the names of the way, and its own. refused: as there; often: by how many captures, one after the other, for the same
    reason."""

    peel: int = 0
    unpeeled: bool = False
    differing: set[Any] = field(default_factory=set)
    kinds: dict[Any, set[Any]] = field(default_factory=dict)
    fixed: set[tuple[Any, ...]] = field(default_factory=set)
    numbers: set[tuple[Any, ...]] = field(default_factory=set)
    steps: dict[tuple[Any, ...], int] = field(default_factory=dict)
    eithers: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    extents: dict[tuple[Any, ...], set[int]] = field(default_factory=dict)
    own_extents: set[tuple[Any, ...]] = field(default_factory=set)
    settled: set[tuple[Any, ...]] = field(default_factory=set)
    replaced: set[Any] = field(default_factory=set)
    variables: dict[str, bool] = field(default_factory=dict)
    attributes: dict[tuple[str, ...], bool] = field(default_factory=dict)
    refused: tuple[str, str] | None = None
    often: int = 0


WHOLE = "whole"  # in Restraints.numbered


@dataclass(eq=False, slots=True)
class Restraints:
    """What captures no longer inline or unroll, since a capture that did has run out of work (budget.py), and which
    numbers they no longer take for constants. A resume function has its function's."""

    # Functions, by where they are defined.
    recursive: set[Place] = field(default_factory=set)  # not inlined into themselves
    own: set[Place] = field(default_factory=set)  # not inlined at all

    # Loops, by their first lines.
    loops: set[Place] = field(default_factory=set)  # a capture takes one iteration only
    busy: set[Place] = field(default_factory=set)  # left in the middle of an iteration too often
    rolled: set[Place] = field(default_factory=set)  # short ones that stay loops, for the branches on data in them
    unrolled: set[Place] = field(default_factory=set)  # for which that was in vain
    often: set[Place] = field(default_factory=set)  # the first iteration has run plainly often enough to be compiled
    begins_plainly: bool = False  # whether it may do so
    side_exits: set[tuple[str, Position, str]] = field(default_factory=set)  # where ways begin that were not captured
    lessons: dict[tuple[Any, ...], Lesson] = field(default_factory=dict)  # by the loop's place and those around it

    # Segments.
    joins: dict[tuple[str, Position, str], set[Beginning]] = field(default_factory=dict)  # where long ones begin
    sides: set[CodeType] = field(default_factory=set)  # begin after a branch on data, and end where a long one begins
    shared: set[tuple[str, Position, str]] = field(default_factory=set)  # headers of loops to which several lead

    # Values from outside.
    # variables of modules, complex numbers and bounds of slices: the constant, or MISSING if it changes
    numbers: dict[Source, Any] = field(default_factory=dict)
    parts: dict[Source, set[str]] = field(default_factory=dict)  # arrays that show each other's memory (parts.py)
    # What numbers have been fixed to, by where and which (Tracer.specialise); None: they may be anything (fullgraph).
    fixed: dict[tuple[Any, ...], set[Any]] | None = field(default_factory=dict)

    # Lists from outside, by the code that is captured.
    lengths: dict[CodeType, dict[Source, set[int]]] | None = field(default_factory=dict)  # found; None: any (fullgraph)
    numbered: dict[CodeType, dict[Source, bool | str | None]] = field(default_factory=dict)
    """Those that loops have read by number, and whether they still may (columns.py). None: where their lengths change;
    WHOLE: only NumPy has wanted all of it (whole_lists.py)."""

    # Lists as objects.
    objects: bool | None = None  # whether lists are known so (object_lists.py); None: nobody has asked yet
    arrays: bool = False  # whether lists of arrays are, too
    texts: bool = True  # whether loops over strings from outside go by their characters (numbered.py)
    lists_grow: bool = False  # whether some that may be from outside get longer or shorter
    mixed: set[Any] = field(default_factory=set)  # by name those that hold ints and floats
    known: dict[Any, list[Any]] = field(default_factory=dict)  # by list and attribute, its objects (listed_objects.py)

    warns: bool = False  # errors have been reported again and again, also in functions that are called (warned.py)

    def clear(self) -> None:
        """Forget everything."""
        self.objects, self.arrays, self.lists_grow, self.warns = None, False, False, False
        self.mixed.clear()
        self.known.clear()
        loops = self.loops, self.busy, self.often, self.rolled, self.unrolled
        for known in (self.recursive, self.own, self.side_exits, *loops):
            known.clear()
        self.sides.clear()
        self.shared.clear()
        for held in (self.numbers, self.parts, self.joins, self.lengths or {}, self.numbered, self.lessons):
            held.clear()
        (self.fixed or {}).clear()


def place_of(code: Code, index: int | None = None) -> Place:
    """Where `code` is defined, or where its instruction `index` stands."""
    line = None if index is None else code.instrs[index].position[0]
    return code.filename, code.qualname, code.firstlineno, line


class Rounds:
    """How many iterations a loop does before it is left in the middle of one. Where these are few, it is not rare to
    leave it, as a guard of its program says: the next capture leaves it at the end of iterations only."""

    def __init__(self, restraints: Restraints, place: Place) -> None:
        self.rare = True
        self._restraints, self._place = restraints, place
        self._exits = self._done = 0

    def note(self, done: int) -> None:
        """The loop has been left after so many iterations."""
        self._exits += 1
        self._done += done
        if self._exits == MANY_EXITS:
            self.rare = self._done >= FEW_ROUNDS * MANY_EXITS
            self._exits = self._done = 0
            if not self.rare:
                self._restraints.busy.add(self._place)


class FirstRounds:
    """How often the first iteration of a loop has run plainly, since what it leaves in a variable is of another type
    than before it, and the graph breaks in it: to compile it apart takes as long as the loop. Where it runs again and
    again, as a guard says, the next capture compiles it."""

    def __init__(self, restraints: Restraints, place: Place) -> None:
        self.few = True
        self._restraints, self._place = restraints, place
        self._begun = 0

    def note(self) -> None:
        """The loop is about to begin."""
        self._begun += 1
        if self._begun == MANY_FIRST:
            self.few = False
            self._restraints.often.add(self._place)
