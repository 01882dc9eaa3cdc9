"""Resume functions of one Compilation: what graph breaks lead to, and what running loops are entered by.

Enters: a place in a function, and what its frame holds there. Leaves: a Jump, or a Continuation, to the resume function
of that place (pycode/resume.py), which is made once. Iterations of a loop in which programs decline run plainly in a
resume function that comes back at the back edge (``with_back_edges``).
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from dynamo_lite import _C, budget
from dynamo_lite.capture.loops.leaving import calls_super, reads_frame
from dynamo_lite.capture.loops.rests import rest_of_iterator
from dynamo_lite.capture.segments.plain_statements import plain_statement
from dynamo_lite.capture.segments.restraints import Beginning, place_in
from dynamo_lite.capture.segments.targets import Target, code_of, locals_taken
from dynamo_lite.capture.trace import empty_closure
from dynamo_lite.dataclass import replace
from dynamo_lite.pycode import (
    GIVEN,
    Answers,
    Code,
    Landing,
    Loop,
    MakePoll,
    Places,
    UnsupportedCode,
    UnsupportedResume,
    assigned,
    beginning,
    begins_at,
    decoded,
    in_order,
    is_comprehension,
    is_handled,
    landings,
    leaves_with,
    liveness,
    loops,
    own_cells,
    polled,
    remember_as,
    resume_code,
)

_EMPTY = types.CellType()
MANY_DEAD = 256  # locals that nobody reads, and that are handed on one by one


class Watcher(Protocol):
    """Who watches a whole program (dynamo_lite/watch).

    on_miss: what the dispatcher asks, which asks the Compilation in turn.
    """

    on_miss: _C.OnMiss

    def with_polls(
        self, code: types.CodeType, make_edge: MakePoll | None = None, places: Places | None = None
    ) -> types.CodeType:
        """`code` with polls at the back edges of its loops, what `make_edge` makes where that makes something, and what
        `places` gives."""

    def is_promising(self, code: Code, index: int, function: types.FunctionType) -> bool:
        """Whether there may be array code between an instruction and the next back edge or return."""

    def round_at(self, code: Code, index: int) -> tuple[_C.Round, int] | None:
        """What is known of the rounds of the innermost loop around an instruction, and its iterator's stack slot."""


class _Way(NamedTuple):
    """How a running frame of some code is entered: the locals that go along, by their places among those bound there,
    and None for others. code: which is kept, and so its number."""

    code: types.CodeType
    jump: Any
    places: tuple[int | None, ...]
    is_handled: bool


class Resumes:
    """numbers, places, roots, begins: by the code of a resume function, its number, where in what code it goes on, the
    code of the user's function, and what it goes on with. handled: the code of those that run plainly where exceptions
    are handled, and come back at a back edge."""

    def __init__(
        self,
        on_miss: _C.OnMiss,
        watcher: Watcher | None,
        on_made: Callable[[types.CodeType, Target, types.FunctionType], None],
        on_way: Callable[[types.CodeType, types.CodeType], None],
        on_failure: Callable[[types.FunctionType, Exception], None],
        sides: set[types.CodeType],
    ) -> None:
        """on_made: told of each new one, and what it goes on with. on_way: told where one that runs plainly comes back,
        in what code. on_failure: told of a defect. sides: gets the code of those that side exits lead to."""
        self._on_miss = on_miss
        self._watcher = watcher
        self._on_made = on_made
        self._on_way = on_way
        self._on_failure = on_failure
        self._sides = sides
        self._jumps: dict[tuple[types.CodeType, bool], _C.Jump] = {}
        self._entered: dict[tuple[Any, ...], tuple[types.CodeType, Any]] = {}  # by where a running loop was
        self._dead: dict[tuple[Any, ...], frozenset[str]] = {}  # by place, the locals that nobody reads from there on
        self._ways: dict[tuple[Any, ...], _Way] = {}  # by where a frame was that was entered, and the names bound there
        self._with_edges: dict[types.CodeType, types.FunctionType | None] = {}
        self._rounds: dict[types.CodeType, _C.Jump | None] = {}  # by the code behind them, iterations that run plainly
        self.numbers: dict[types.CodeType, int] = {}
        self.places: dict[types.CodeType, tuple[types.CodeType, int]] = {}
        self.roots: dict[types.CodeType, types.CodeType] = {}
        self.begins: dict[types.CodeType, Beginning] = {}
        self._without_polls: dict[types.CodeType, types.CodeType] = {}  # by the code with polls, from which it was made
        self.handled: set[types.CodeType] = set()

    def clear(self) -> None:
        """Forget them all."""
        self._jumps.clear()
        self._entered.clear()
        self._dead.clear()
        self._ways.clear()
        self._with_edges.clear()
        self._rounds.clear()
        self.numbers.clear()
        self.places.clear()
        self.roots.clear()
        self.begins.clear()
        self._without_polls.clear()
        self.handled.clear()

    def begins_with_loop(self, code: types.CodeType) -> bool:
        """Whether what `code` goes on with is an iteration of a loop."""
        if code not in self.places:
            return False
        whole, index = self.places[code]
        return any(loop.header == index for loop in loops(decoded(whole)))

    def is_handled(self, code: types.CodeType) -> bool:
        """Whether what is raised where `code` goes on is handled in it."""
        if code not in self.places:
            return False
        whole, index = self.places[code]
        return is_handled(decoded(whole), index)

    def is_in_block(self, code: types.CodeType) -> bool:
        """Whether `code` goes on in a `with` or `try` of the user's, past which goes what is raised before that."""
        if code not in self.places:
            return False
        whole, index = self.places[code]
        return is_handled(decoded(whole), index) or leaves_with(decoded(whole), index)

    def jump(self, function: types.FunctionType, target: Target) -> Any:
        """The Jump to a target of `function`, to enter it while it runs; None where that cannot be."""
        code = function.__code__
        key = id(code), target
        if key not in self._entered:
            with budget.timed():
                try:
                    jump = self.jumper(function)(target)
                except (UnsupportedResume, UnsupportedCode):
                    jump = None
                except Exception as error:
                    self._on_failure(function, error)
                    jump = None
            self._entered[key] = code, jump  # which keeps the code, and so its number
        return self._entered[key][1]

    def entered(
        self,
        function: types.FunctionType,
        header: int,
        stack: Sequence[Any],
        own: Sequence[bool | None],
        names: Sequence[str],
        values: Sequence[Any],
        sole: Sequence[bool],
    ) -> Any:
        """The Continuation by which compiled code takes over a running frame of `function` at the header of a loop;
        None where it cannot.

        stack, names and values: the frame's. own, sole: whether nobody else has what a stack slot, or a variable's,
        holds; None of a slot that is NULL.
        """
        kinds, items = [], []
        for item, is_own in zip(stack, own, strict=True):
            if is_own is None:
                kinds.append("null")
                continue
            rest = rest_of_iterator(item) if is_own else None
            kinds.append("value" if rest is None else "rest")
            items.append(item if rest is None else rest)
        key = id(function.__code__), header, *kinds, *names
        known = self._ways.get(key)
        if known is not None:
            if known.is_handled:
                _C.hold_interrupts()
            return known.jump(*items, *[None if place is None else values[place] for place in known.places])
        code = decoded(function.__code__)
        shows = reads_frame(code)
        if shows and is_comprehension(code):
            kinds, items = ["value"] * len(stack), list(stack)
        if handled := is_handled(code, header):
            _C.hold_interrupts()
        cells, bound, held = own_cells(code), {}, {}
        live = frozenset(names) if shows else liveness(code)[header]
        # NB: in the order of graph breaks, so that there is one resume function. What nobody reads is handed on, too:
        # plain code may have taken an array's address, and what is called may look into the frame (numexpr.evaluate).
        there = {name: (value, is_sole) for name, value, is_sole in zip(names, values, sole, strict=True)}
        for name in in_order(code, there):
            value, is_sole = there[name]
            if name not in cells:
                if name != GIVEN or name in live:
                    bound[name] = value
            elif not is_sole:
                held[name] = value
            elif value != _EMPTY:  # no inner function has the cell: it is a variable like the others
                bound[name] = value.cell_contents
        # NB: super() looks into the frame's first slot, where a resume function has what lay on the stack.
        if calls_super(code) and (items or tuple(bound)[:1] != code.argnames[:1]):
            return None
        target = Target(header, tuple(kinds), tuple(bound), cells=tuple(held))
        jump = self.jump(function, target)
        if jump is None:
            return None
        if function.__code__ in self.handled and (to := code_of(jump)) is not None:
            self._on_way(function.__code__, to)
        taken = locals_taken(jump, target)
        if not cells and not (shows and is_comprehension(code)):
            places = tuple(names.index(name) if name in bound else None for name in taken)
            self._ways[key] = _Way(function.__code__, jump, places, handled)
        return jump(*items, *map(bound.get, taken), *held.values())

    def with_back_edges(self, function: types.FunctionType, from_break: bool = False) -> types.FunctionType | None:
        """A function that does what `function` does with its argument slots, a user's or a resume function, but comes
        back with a Continuation at the back edge of the loop that it begins in, or of one that is in no other; None
        where there is no such edge. In front of a loop it lets in what waits for that. from_break: it begins with what
        breaks the graph, and comes back as soon as it can, in front of a statement after that, too."""
        code = function.__code__
        if code not in self._with_edges:
            self._with_edges[code] = None
            made = self._without_polls.get(code, code)
            if code not in self.numbers:  # NB: the user's own code may bind its arguments otherwise than as they stand
                whole = decoded(code)
                entry = next(at for at, instr in enumerate(whole.instrs) if instr.op not in ("MAKE_CELL", "RESUME"))
                try:
                    made = resume_code(whole, entry, (), whole.argnames, ())
                except UnsupportedResume:
                    return None

            def make_edge(of: Code, loop: Loop | None) -> object | None:
                if loop is None or not (_is_next(of, loop) if from_break else _is_own(of, loop)):
                    return None
                return _C.BackEdge(loop, loop.depth, self._at_back_edge, self._on_miss)

            def land(of: Code) -> list[tuple[Landing, object]]:
                found = _landings(of, function.__globals__)
                return [(one, _C.BackEdge(one, one.depth, self._at_back_edge, self._on_miss)) for one in found]

            def begin(of: Code) -> list[tuple[Landing, object]]:
                place = beginning(of) if code in self.numbers else 0
                within = {loop.header for loop in loops(of) if place in loop.body and place != loop.header}
                own = [loop for loop in loops(of) if loop.outer is None or loop.outer in within]
                return [(Landing(loop.header, loop.depth, True), _C.LOOP_BEGINS) for loop in own]

            places = land if from_break else begin
            if self._watcher is None:
                answers = Answers(_C.GO_ON, _C.drop_frame)
                edged = polled(made, make_edge, answers, inner=False, every=True, places=places)
            else:
                edged = self._watcher.with_polls(made, make_edge, places)
            if any(type(const) is _C.BackEdge for const in edged.co_consts):
                found = types.FunctionType(edged, function.__globals__, function.__name__, None, empty_closure(edged))
                found.__qualname__ = function.__qualname__
                self.roots[edged] = self.roots.get(code, code)
                if from_break:
                    self.handled.add(edged)
                self._with_edges[code] = self._with_edges[edged] = found
        return self._with_edges[code]

    def _at_back_edge(self, edge: _C.BackEdge, function: types.FunctionType, *held: Any) -> Any:
        """Where an iteration of a loop has run plainly, in which its program declines: the Continuation behind it."""
        return self.entered(function, edge.place.header, *held)

    def jumper(self, function: types.FunctionType) -> Callable[[Target], Any]:
        """What makes the Jump to a target of `function`. The same place gives the same Jump, also when it is reached
        from within a resume function: equal code objects are one."""
        return partial(self._jump, function)  # NB: no function that holds itself, and so the user's

    def _jump(self, function: types.FunctionType, target: Target) -> Any:
        code = decoded(function.__code__)
        if not target.plain:
            target = replace(target, bound=self._taken(function.__code__, code, target))
        made = resume_code(code, target.index, tuple(target.kinds), tuple(target.bound), target.cells)
        known = self._jumps.get((made, target.plain))
        if known is None:
            plain = made
            made = made.replace()  # one of our own: entries and skips belong to code objects
            remember_as(made, decoded(plain))
            if self._watcher is not None:
                bare, made = made, self._watcher.with_polls(made)
                self._without_polls[made] = bare
            resumed = types.FunctionType(made, function.__globals__, function.__name__, None, empty_closure(made))
            resumed.__qualname__ = function.__qualname__
            known = self._jumps[plain, target.plain] = _C.Jump(resumed)
            round_ = None if self._watcher is None else self._watcher.round_at(code, target.index)
            if round_ is not None:
                _C.set_round(resumed, *round_)
            self.numbers[made] = len(self.numbers) + 1
            self.places[made] = function.__code__, target.index
            # NB: no walk along `places`: after a reset() amid a run, an equal resume function is made of this one.
            self.roots[made] = self.roots.get(function.__code__, function.__code__)
            self.begins[made] = Beginning(place_in(code, target.index), len(target.kinds), target.bound)
            self._on_made(made, target, function)
        if target.side and isinstance(known.resume_function, types.FunctionType):
            self._sides.add(known.resume_function.__code__)
        if target.plain:
            return self._after_a_round(known, target) or known
        if target.first:
            # NB: what goes on with the iteration itself would end up here again.
            return self._after_a_round(known, target) or self._jump(
                function, replace(target, first=False, plain=True)
            )
        return known

    def _after_a_round(self, jump: _C.Jump, target: Target) -> _C.Jump | None:
        """What runs an iteration plainly, and goes on where `jump` does; None where there is no such thing."""
        function = jump.resume_function
        assert isinstance(function, types.FunctionType)
        if function.__code__ not in self._rounds:
            plainly = self.with_back_edges(function, target.plain)
            self._rounds[function.__code__] = None if plainly is None else _C.Jump(plainly)
            if plainly is not None:
                self._on_made(plainly.__code__, target, function)
        return self._rounds[function.__code__]

    def _taken(self, of: types.CodeType, code: Code, target: Target) -> tuple[str, ...]:
        """The locals that the resume function at `target` takes, whichever way leads there: those bound that the code
        may still read, and all that it does not read and that may be bound. Who has none of these brings None.

        So places are compiled once, whatever is left in variables by earlier iterations, or by one side of a branch."""
        if reads_frame(code):
            return target.bound
        live, cells = liveness(code)[target.index], own_cells(code)
        dead = {name for name in target.bound if name not in live and name not in cells}
        place = self.roots.get(of, of), place_in(code, target.index)
        known = self._dead.get(place, frozenset())
        if place not in self._dead or not dead <= known:
            may_be = {name for name in assigned(code)[target.index] if name.isidentifier() and name not in cells}
            known |= dead | (may_be if len(may_be) <= MANY_DEAD else frozenset())
            self._dead[place] = known
        return in_order(code, {*target.bound, *(known - live)})


def _is_own(code: Code, loop: Loop) -> bool:
    """Whether a resume function begins with this loop, or it is in no other."""
    return loop.outer is None or begins_at(code, loop.header)


def _is_next(code: Code, loop: Loop) -> bool:
    """Whether this is a loop around the place where a resume function begins, or one right inside of the innermost of
    those, or in no other. NB: from 3.12 on a jump back out of a handler may look like a loop inside of them."""
    begin = beginning(code)
    around = [one.header for one in loops(code) if begin in one.body]
    return loop.outer is None or loop.header in around or loop.outer in around[-1:]


def _landings(code: Code, namespace: dict[str, Any]) -> list[Landing]:
    """Where a resume function that begins with what breaks the graph may hand over, besides at back edges."""

    def end_of_plain(of: Code, index: int) -> int | None:
        statement = plain_statement(of, index, namespace, {}, handled=True)
        return None if statement is None else statement[0]

    return landings(code, beginning(code), end_of_plain)


def with_back_edges(resumes: weakref.ref[Resumes], function: types.FunctionType) -> types.FunctionType | None:
    """What an entry asks, which does not keep its Compilation alive: see there."""
    found = resumes()
    return None if found is None else found.with_back_edges(function)
