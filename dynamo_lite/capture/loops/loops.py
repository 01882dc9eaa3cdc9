"""Loops that stay loops: a `for` over numbered items, or a `while`, whose body captures without a break becomes a LOOP.

Enters: a machine in front of the FOR_ITER of a range, or of arrays, that is not to be unrolled, or of the body of a
`while`. Leaves: the machine behind the loop, its values those after the last iteration. The body is traced once, for
any iteration, into a Region: what the loop assigns and reads again is carried, an int that grows evenly is computed
from the index, everything else has to be the same after an iteration as before it. Where that does not hold, a Retry
says what was learned (LoopPlan) and capture begins again: with one or two iterations run before the loop, so that an
accumulator that starts as a Python number is an array by then, or with the loop refused, which leaves it unrolled, or
one segment an iteration. INVARIANT: an attempt that fails leaves no trace in the capture that counts.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field
from functools import partial
from typing import NoReturn

from dynamo_lite import ops
from dynamo_lite.capture.arrays.written import note_carried_written, note_written
from dynamo_lite.capture.branches.aliases import require_told
from dynamo_lite.capture.branches.branches import GoesOn, Walk
from dynamo_lite.capture.branches.few_objects import as_one_like
from dynamo_lite.capture.branches.sameness import is_one_object, mutable_state, reachable, same
from dynamo_lite.capture.branches.stand_ins import stand_in_node
from dynamo_lite.capture.iteration.numbered import is_held, item_at
from dynamo_lite.capture.lists.claims import share_numbers
from dynamo_lite.capture.lists.columns import close_columns, unroll_rather
from dynamo_lite.capture.lists.holdings import with_node
from dynamo_lite.capture.lists.listed_objects import TOLD_BEFORE
from dynamo_lite.capture.lists.lists import forget_ends, is_seen_after, learn_ends, prepare, watch
from dynamo_lite.capture.lists.object_lists import as_list_like, try_objects
from dynamo_lite.capture.lists.whole_lists import look_closer
from dynamo_lite.capture.loops import candidates
from dynamo_lite.capture.loops.candidates import expect_side_exits, holds_instances, key_of, share, starts_segment
from dynamo_lite.capture.loops.closure_cells import cells_of_loop, check_cells
from dynamo_lite.capture.loops.code import exposed, keeps_iterator, ways_out, whole_loop, without
from dynamo_lite.capture.loops.eithers import Either, either_made, enter_either, put_together
from dynamo_lite.capture.loops.extents import agree, enter_type, fit_extents
from dynamo_lite.capture.loops.guesses import (
    MAX_NUMBERS,
    doubt,
    guess,
    guess_differing,
    is_carriable,
    learn_either,
    learn_objects,
    learn_seldom,
    plans_for,
)
from dynamo_lite.capture.loops.leaving import (
    CannotLeave,
    counted,
    exit_name,
    goes_on_at,
    index_name,
    is_told,
    iterations_before,
    number_left,
)
from dynamo_lite.capture.loops.number_objects import Behind, Objects, Path, tell_apart
from dynamo_lite.capture.loops.pauses import pause_at, refuse_pauses, see_whether_alone
from dynamo_lite.capture.loops.plan import NO_WAY_ROUND, LoopPlan
from dynamo_lite.capture.loops.promises import learn
from dynamo_lite.capture.loops.rests import is_handed_over
from dynamo_lite.capture.loops.results import (
    TYPES,
    CarriedTuple,
    array_behind,
    as_entered,
    carry_positions,
    closes,
    each_item,
    is_handed_out,
    is_tagged,
    items_behind,
    made_behind,
    made_inside,
    note_kept,
    numbers_left,
    part_final,
    trip,
    untold_tuple,
    value_behind,
)
from dynamo_lite.capture.loops.surroundings import (
    Name,
    State,
    Unreached,
    bounds_of,
    find_owners,
    learn_others,
    only_places,
    own_names,
    side_exits_of,
)
from dynamo_lite.capture.loops.unbound import all_bound, left_unbound, settle, unbound_before
from dynamo_lite.capture.loops.whole_loops import check_whole, let_leave
from dynamo_lite.capture.machine import Machine, Returned
from dynamo_lite.capture.numbers.complex_numbers import parted
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.numbers.words import undecided
from dynamo_lite.capture.objects.aggregates import (
    Object,
    by_parts,
    has_items,
    is_like,
    is_object,
    is_replaced,
    objects_in,
    require_alone,
)
from dynamo_lite.capture.objects.places import Place, Snapshot, get, holds_array, put, snapshot, unread
from dynamo_lite.capture.region import close_region
from dynamo_lite.capture.segments.restraints import place_in, place_of
from dynamo_lite.capture.state import Frame, Retry
from dynamo_lite.capture.value import (
    UNBOUND,
    ArrayValue,
    Break,
    Carried,
    ComplexValue,
    ConstantValue,
    EitherValue,
    IteratorValue,
    ListedObject,
    ListValue,
    NumberValue,
    OneOf,
    SequenceValue,
    Value,
    is_computed,
    is_made_after,
    is_single,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.rewrite import written
from dynamo_lite.graph.scalar import Scalar, Symbol, is_symbolic, kind_of, make, symbols_of
from dynamo_lite.pycode import handled_alike, liveness
from dynamo_lite.pycode.flow import natural_loop


class _Differs(Exception):
    """What is at a path, its argument, is of another kind after an iteration."""


@dataclass(eq=False)
class Attempt:
    """One attempt to trace the body of a loop once for all iterations."""

    machine: Machine
    frame: Frame
    header: int
    exit_index: int | None  # of a `while`: not known before
    plan: LoopPlan
    number: int  # of iterations that ran before, or as a `while` counts them
    bounds: tuple[Scalar, Scalar, Scalar]
    more: Scalar  # whether there is an iteration at all
    forward: bool
    leaves: dict[Path, tuple[ArrayValue | ListValue, Node]] = field(default_factory=dict)  # carried: before, inside
    ends: dict[Path, Node] = field(default_factory=dict)  # carried: value after an iteration
    final: dict[Path, Value] = field(default_factory=dict)  # what others are after the last iteration
    parted: dict[Path, Value] = field(default_factory=dict)  # complex numbers, say, of which `final` has the parts
    counts: dict[Path, Scalar] = field(default_factory=dict)  # of numbers that grow evenly: what they begin with
    begins: dict[Path, Scalar] = field(default_factory=dict)  # of numbers that are carried
    next: dict[Path, Scalar] = field(default_factory=dict)  # and what they are after an iteration
    held: dict[Path, Value] = field(default_factory=dict)  # as the value that names hold, maybe several the same
    firsts: dict[Value, Path] = field(default_factory=dict)  # by what names hold that hold the same: the first
    merged: dict[Path, NumberValue] = field(default_factory=dict)  # the same in a loop around
    entered: dict[Path, NumberValue] = field(default_factory=dict)  # numbers that change, as the body has them
    became: dict[Path, NumberValue] = field(default_factory=dict)  # numbers after an iteration
    eithers: dict[Path, Either] = field(default_factory=dict)  # scalars that are NumPy's or Python's: their parts
    owners: dict[Place, Value] = field(default_factory=dict)  # of the places that it changes
    around: dict[Name, Value | None] = field(default_factory=dict)  # what it stores to holds before it
    handed: set[Path] = field(default_factory=set)  # of `held`: what no iteration reads
    closed: set[Path] = field(default_factory=set)  # of `final`: what they are is what they were if nothing runs
    objects: Objects = field(default_factory=Objects)  # which the numbers behind the loop are
    tuples: dict[Path, CarriedTuple] = field(default_factory=dict)  # that it carries by their items
    whole: dict[Name, Value] = field(default_factory=dict)  # objects before the loop that it carries by parts
    left: dict[Path, Object] = field(default_factory=dict)  # and after an iteration
    extents: dict[Path, Path] = field(default_factory=dict)  # that change: the number that each is, by both paths
    learned: bool = False  # something about numbers, so that the next attempt is another
    works_on_computed: bool = False  # what the segment computes, by a loop that none can begin in the middle of
    before: dict[Name, Value] = field(default_factory=dict)  # what names hold before the loop
    may_leave: bool = True  # nobody but the loop has what it goes over
    late: bool = False  # something has its value only behind an iteration
    goes_on: GoesOn = True  # whether there is another iteration
    walk: Walk | None = None  # the one under way

    def run(self) -> None:
        """Trace the body, append the loop, bring the frame behind it; raises Retry where that does not work."""
        tracer, frame = self.machine.tracer, self.frame
        is_while = self.exit_index is None
        self.exit_name = exit_name(self.header)
        whole = self.machine.while_loops(frame.code)[self.header] if is_while else None
        natural = natural_loop(frame.code, self.header, False) if whole is None else whole
        outermost = not tracer.regions and len(tracer.frames) == 1
        iterator = None if is_while else frame.stack[-1]
        assert iterator is None or isinstance(iterator, IteratorValue)
        if outermost and (iterator is None or is_handed_over(iterator)):
            expect_side_exits(tracer, self.plan, frame, natural, self.header)
        self.loop, exit_index = whole_loop(frame.code, natural, self.exit_index, frozenset(self.plan.side_exits))
        inside = natural & self.plan.side_exits
        self.loop = without(frame.code, self.loop, self.header, inside)
        self.at_name = index_name(self.header) if inside else ""
        if exit_index is None:
            self.refuse("loop-exit", "nothing that it tests")
        exits = exit_index, *(side_exits := tuple(sorted(self.plan.side_exits)))
        names = own_names(frame, self.plan, self.loop)
        cells = cells_of_loop(tracer, frame, self.plan, self.loop, self.header, exits, names)
        live_at = liveness(frame.code)
        behind = frozenset[str]().union(*(live_at[one] for one in exits))
        self.live_after = behind | live_at[self.header]
        self.read: frozenset[Name] = cells.read.union(self.plan.others)
        self.read |= exposed(frame.code, self.loop, self.header, behind, frozenset(), "FAST")
        if side_exits:
            names |= {self.exit_name, self.at_name} - {""}
        try:
            self.undo = prepare(self.machine, self.plan, self.bounds)
            self.owners = find_owners(self.machine, self.plan, frame, self.loop, self.header)
        except (Unreached, Break) as found:
            self.refuse(*found.args[:2])
        self.works_on_computed = not is_while and any(map(is_computed, frame.locals.values()))
        self.stored = frozenset[Name](self.owners).union(names)
        self.around = {name: self._get(name) for name in self.stored}
        live = frozenset[Name](self.owners).union(live_at[self.header], cells.entered)
        self.read |= {place for place in self.owners if self.plan.places[place] or self._is_read(place)}
        before = self.before = self._enter_locals(live)
        kept = self.read | exposed(frame.code, self.loop, self.header, behind, names, "FAST")
        read = {name: value for name, value in before.items() if name in kept and (name,) not in self.eithers}
        guess(tracer, self.plan, frame.code, self.loop, self.header, read)
        if is_while:
            self.bounds = bounds_of(tracer, frame, self.header, self.plan, before, self.stored) or self.bounds
        self.region = tracer.open_region(key_of(tracer, frame, self.header), *self.bounds)
        kept_on = iterator is not None and is_held(tracer, frame, self.live_after, iterator)
        self.may_leave = iterator is None or (is_handed_over(iterator) and not kept_on)
        if tracer.pauses and outermost and self.may_leave and not self.plan.extents:
            self.region.pauses = []
        walk = Walk(self.machine, frame, self.loop, self.header, self._refuse_way, exit_index, iterator, side_exits)
        walk.starts, walk.inside = ways_out(frame.code, natural) - {exit_index}, inside
        if outermost and self.may_leave:
            walk.leave_at = self._leave_at
        self.walk = walk
        self.machine.attempts.append(self)
        around = frame.stack[:]
        aside = {id(frame.cells[name]) for name in cells.names}
        watch(tracer, self.region, reachable(tracer))
        try:
            for name, value in before.items():
                self.assign(name, self._enter(value, (name,)))
            aside |= {id(one) for one in objects_in(map(self._get, self.plan.replaced & before.keys()))}
            self._require_alone(objects_in(self.whole.values()), frozenset())
            state, held = mutable_state(tracer, aside), snapshot(tracer)
            if side_exits:
                frame.locals[self.exit_name] = ConstantValue(None, 0)
            if inside:
                frame.locals[self.at_name] = NumberValue(None, self.region.index)
            self._run_body(walk)
            check_cells(tracer, frame, self.plan, cells)
            if frame.stack != around or not self._only_places(state, held, aside):
                learn_ends(tracer, self.region)
                self.refuse("loop-state", "a list, dict, cell or iterator from before the loop")
            seen = {place for place, owner in self.owners.items() if is_seen_after(owner, place.key)}
            after = frozenset(seen).union(behind, cells.behind, {self.exit_name, self.at_name} if side_exits else ())
            if side_exits and self.goes_on is False:
                self.refuse(*NO_WAY_ROUND)
            if walk.forks or any(node.params.get("yields") for node in self.region.graph.nodes):
                # What one way leaves as it was depends on the iteration before.
                self.read |= exposed(frame.code, self.loop, self.header, behind, names, "FAST")
            self._compare_locals(before, live, after)
            if iterator is not None and walk.leaves and is_held(tracer, frame, self.live_after, iterator):
                self.refuse("loop-state", "an iterator from before the loop, which it may leave early")
            if is_while and not walk.leaves:
                self.refuse("loop-exit", "nothing that it tests")
        except Returned:
            self._refuse_way("loop-exit", "return")
        except Break as reason:
            fit_extents(self.machine.attempts, reason)
            self._refuse_way(reason.reason, reason.detail)
        except Undecided as reason:
            self._promise(reason.condition)
        finally:
            self.walk = None  # which refers to this attempt
            self.machine.attempts.pop()
        frame.line = frame.code.instrs[self.header].position[0] or frame.line
        self._leave(before, live, after)
        settle(self, exit_index)
        if not tracer.regions:
            forget_ends(self.owners.values())
        if is_while:
            frame.index = exit_index
        number, at = (frame.locals.pop(name, None) for name in (self.exit_name, self.at_name))
        if number is not None and not isinstance(number, ConstantValue):
            frame.side_exits = side_exits_of(tracer, frame.code, walk, number, at, self.bounds)

    def _leave_at(self, place: int, locals_: dict[str, Value], why: tuple[str, str]) -> None:
        """Leave the iteration at the beginning of an arm that cannot be traced, and enter the loop again after it; not
        where that was done too often, or somebody could see another frame. locals_: those of there. why: a break's."""
        code, tracer = self.frame.code, self.machine.tracer
        busy = place_of(code, self.header) in tracer.restraints.busy or self.region.may_be_unrolled()
        if busy or place in self.plan.side_exits or not goes_on_at(code, place, self.header):
            return
        doubt(tracer, self.plan)
        self.plan.leave_by(place, *why)
        tracer.restraints.side_exits.add(place_in(code, place))
        share(self.machine)
        guess_differing(tracer, self.plan, self.before, locals_, self.region.numbers)
        raise Retry

    def _only_places(self, state: State, held: Snapshot, aside: set[int]) -> bool:
        """Whether the iteration has changed nothing but the places of this attempt."""
        own = {(id(owner), place.key) for place, owner in self.owners.items()}
        tracer, depth = self.machine.tracer, self.machine.tracer.frames.index(self.frame)
        stored = {(depth, name) for name in self.stored if isinstance(name, str)}
        return only_places(tracer, self.plan, state, held, lambda *at: at[0] in aside or at in own, stored)

    def refuse(self, reason: str, detail: str) -> NoReturn:
        tracer, is_told = self.machine.tracer, detail is TOLD_BEFORE
        candidates.unroll(tracer, self.frame.code, self.loop)
        try_objects(tracer, reason)
        look_closer(tracer, reason)
        doubt(tracer, self.plan)
        if is_told and (self.machine.attempts[0] is not self or self.frame is not tracer.frames[0]):
            raise Break(reason, detail)  # NB: what it is called by goes on in a segment of its own
        is_told |= holds_instances(self.frame)
        if not ((self.works_on_computed or is_told) and starts_segment(tracer, self.frame, self.header, is_told)):
            self.plan.refused = (reason, detail)
        if detail is not TOLD_BEFORE:
            close_columns(tracer)
        raise Retry

    def _refuse_way(self, reason: str, detail: str) -> NoReturn:
        """Where the iteration cannot be traced: if it is on a way out, let the frame go on there behind the loop."""
        frame, tracer = self.frame, self.machine.tracer
        try_objects(tracer, reason)
        way = None if self.walk is None else self.walk.way
        if way is None or way in self.plan.side_exits or not handled_alike(frame.code, way, self.header):
            self.refuse(reason, detail)  # NB: what a handler of its own catches may go round in the loop
        stays = len(tracer.frames) == 1 and not goes_on_at(frame.code, way)
        if stays or keeps_iterator(frame.code, way, self.header):
            self.refuse(reason, detail)
        doubt(tracer, self.plan, reason)
        self.plan.leave_by(way, reason, detail)
        raise Retry

    def _promise(self, condition: Scalar) -> NoReturn:
        """Begin again where a condition on an index can be decided by then, else refuse the loop."""
        if learn(self.machine.tracer, condition):
            raise Retry
        self.refuse("loop-dependent", undecided(self.machine.tracer, condition))

    def _differs(self, path: Path) -> NoReturn:
        raise _Differs(path)

    def _peel(self, path: Path) -> NoReturn:
        """Let one iteration run before the loop: behind it the name may hold what it holds after any other."""
        if not self.plan.unpeeled:
            self.plan.begin_with(path)
            raise Retry
        self.refuse("loop-state", f"the local {path[0]}, which is of another type after every iteration")

    # -- before the body --------------------------------------------------------------------------

    def _enter_locals(self, live: frozenset[Name]) -> dict[Name, Value]:
        """The values at the header of what the loop assigns; what nobody reads again is dropped."""
        before: dict[Name, Value] = {}
        for name in sorted(self.stored, key=str):
            value = self._get(name) or unbound_before(self.plan, name)
            if isinstance(name, Place) and not self._is_read(name):
                self.assign(name, unread(self.plan, name))
            elif value is not None and name in live:
                before[name] = parted(self.machine.tracer, as_entered(self, name, value))
                if name in self.plan.replaced:
                    self.whole[name] = before[name]
                    before[name] = by_parts(self.machine.tracer, before[name])
                forms = self.plan.eithers.get(name)
                either = None if forms is None else enter_either(self.machine.tracer, before[name], forms)
                if either is not None:
                    self.eithers[name,] = either
            else:
                self.assign(name, None)
        return before

    def _is_read(self, place: Place) -> bool:
        """Whether what a place holds before the loop is carried into it: an iteration reads it, or it is an array."""
        return (value := self.around[place]) is not None and (self.plan.places[place] or holds_array(value))

    def _get(self, name: Name) -> Value | None:
        """What a place, a local, or a closure variable of this frame's own holds."""
        if isinstance(name, Place):
            return get(self.machine.tracer, self.owners[name], name.key)
        cell = self.frame.cells.get(name)
        return self.frame.locals.get(name) if cell is None else cell.contents

    def assign(self, name: Name, value: Value | None) -> None:
        if isinstance(name, Place):
            put(self.owners[name], name.key, value)
            return
        cell = self.frame.cells.get(name)
        if cell is not None:
            cell.contents = value
        elif value is not None and value is not UNBOUND:
            self.frame.locals[name] = value
        else:
            self.frame.locals.pop(name, None)

    def _enter(self, value: Value, path: Path) -> Value:
        """What stands for `value` in the body, in every iteration."""
        either = self.eithers.get(path)
        if either is not None:
            either.inside = [self._enter(part, (*path, k)) for k, part in enumerate(either.before)]
            return put_together(either.inside)
        if isinstance(value, ArrayValue | ListValue):
            node = self.region.graph.add_input(enter_type(self, path, value.node.array_type), str(path[0]))
            self.region.carried.append(node)
            self.leaves[path] = value, node
            return with_node(value, node)
        if has_items(value):
            self.region.kept[path] = each_item(self.machine.tracer, value, path, lambda at, item: self._enter(item, at))
            return self.region.kept[path]
        begin = as_scalar(value)
        if begin is not None and path in self.plan.steps and kind_of(begin) == "int":  # NB: True + 0 is an int
            self.counts[path] = begin
            return self._number(path, begin, self.counted(path, self._count()))
        if begin is not None and (path in self.plan.numbers or self._may_change(path, begin)):
            self.begins[path] = begin
            return self._number(path, begin, self.machine.tracer.carry_number(self.region, path, kind_of(begin)))
        return value

    def _number(self, path: Path, begin: Scalar, expr: Scalar) -> NumberValue:
        """A number that the loop changes, as the body has it; `begin` before the first iteration."""
        value = self.entered[path] = NumberValue(None, expr, Carried(self.region, path))
        if not is_single(begin):
            (self.region.before if is_symbolic(begin) else self.region.constants).add(expr)
        return value

    def _require_alone(self, objects: list[Object], names: Set[Name]) -> None:
        """Refuse where something but these names and places, which the body sets, has an object that goes by parts."""
        live = [value for name, value in self.frame.locals.items() if name in self.live_after - names]
        at = [one for path, one in self.left.items() if isinstance(path[0], Place)]
        require_alone(self.machine.tracer, self.frame, objects, live, self.refuse, at)

    def _may_change(self, path: Path, begin: Scalar) -> bool:
        """Whether to take a number for one that changes until the contrary is seen: a `while` tests what it changes."""
        is_open = self.exit_index is None and path not in self.plan.fixed and path[0] in self.read
        return is_open and is_carriable(begin)

    def counted(self, path: Path, count: Scalar) -> Scalar:
        """A number that grows by the same int each time, after so many iterations."""
        return make("add", self.counts[path], make("mul", count, self.plan.steps[path]))

    def _count(self) -> Scalar:
        """How many iterations came before the one at hand."""
        return iterations_before(self.region.index, self.bounds)

    def _run_body(self, walk: Walk) -> None:
        frame = self.frame
        if walk.iterator is not None:
            frame.push(item_at(self.machine, walk.iterator, self.region.index))
        before = dict(frame.locals)
        goes_on = walk.run()
        assert goes_on is not None
        self.goes_on = goes_on
        learn_others(self.plan, self.stored, before, frame.locals)

    # -- after the body ---------------------------------------------------------------------------

    def _compare_locals(self, before: dict[Name, Value], live: frozenset[Name], after: frozenset[Name]) -> None:
        """Compare what live locals held before and after an iteration; may raise Retry. after: live behind the loop."""
        differing: Path | None = None
        for name in sorted(self.stored & (live | after), key=str):
            try:
                was = before.get(name) or left_unbound(self, name, live)
                self._compare((name,), was, self._get(name), name in self.read)
            except _Differs as found:
                differing = differing or found.args[0]
        self.learned |= differing is not None and learn_seldom(self.machine, differing[0], self._get(differing[0]))
        if self.learned:
            raise Retry
        share_numbers(self.machine.tracer, self.entered, self.became, self.region.ends, after)
        if (path := differing or untold_tuple(self)) is not None:
            self._peel(path)
        require_told(self, live | after)
        self._require_alone(list(self.left.values()), self.plan.replaced)

    def _compare(self, path: Path, before: Value | None, after: Value | None, read: bool) -> None:
        """Note what has become of a value in one iteration. read: the next iteration may read it."""
        tracer = self.machine.tracer
        if after is None:
            if before is not None:
                self._differs(path)
            return
        after = parted(tracer, realise(tracer, after))
        if isinstance(after, NumberValue):
            self.became[path] = after
        if as_scalar(after) is not None:
            self.region.begins[path], self.region.ends[path] = before, after
        if path in self.eithers:
            either = self.eithers[path]
            for place, (one, other) in enumerate(zip(either.before, either.after(tracer, after), strict=True)):
                if other is None:
                    self._differs(path)
                self._compare((*path, place), one, other, read)
            return
        if len(path) == 1 and (learn_either(self, path, before, after) or learn_objects(self, path, before, after)):
            self.learned = True
            return
        after = as_one_like(tracer, before, after)
        if path in self.leaves:
            known, type_ = self.leaves[path][0], self.leaves[path][1].array_type
            after = as_list_like(tracer, known, after)
            if type(after) is not type(known) or not agree(self, path, type_, after.node.array_type):
                self._differs(path)
            self.ends[path] = after.node
            return
        if before is not None and has_items(before):
            if not is_like(before, after):
                self._differs(path)
            note_kept(self, path, before, after)
            if is_object(after):
                self.left[path] = after
            pairs = zip(before.items, after.items, strict=True)  # type: ignore[attr-defined]
            for place, (one, other) in enumerate(pairs):
                self._compare((*path, place), realise(tracer, one), other, read)
            return
        if path in self.counts:
            self._compare_counted(path, after)
        elif path in self.begins:
            end, number = as_scalar(after), self.region.numbers[path]
            if end is None or kind_of(end) != number.kind:
                self._differs(path)
            is_flag = path[:-1] in self.eithers and path[-1] == 0  # which may be set from the first iteration on
            is_reset = path not in self.plan.fixed and not is_symbolic(end) and self.begins[path] == end
            if not self.plan.knows(path) or (is_reset and not is_flag):
                self._learn_number(path, number, end, read, is_reset)
            if not (is_symbolic(end) or is_flag or self.plan.unpeeled):
                self._differs(path)
            self.next[path] = end
            self.held[path] = after
        elif before is not None and same(before, after) and is_one_object(before, after):
            pass
        elif is_replaced(before, after):
            self.plan.replaced.add(path[0])
            self.learned = True
        elif before is not None and read:
            self._guess_step(path, before, after)
        elif isinstance(after, ArrayValue) and is_handed_out(self, path, after):
            self._hand_out(path, after)
        elif isinstance(after, EitherValue) and self.goes_on is not True and len(path) == 1:
            either = self.eithers[path] = either_made(tracer, after) or self._differs(path)
            for place, part in enumerate(either.inside):
                self._compare((*path, place), None, part, read)
        elif made_inside(self, after):
            self._differs(path)
        elif isinstance(after, ComplexValue | ListedObject | OneOf):
            self.parted[path] = after
            items = {(*path, place): item for place, item in enumerate(after.items)}
            self.final, self.region.ends = self.final | items, self.region.ends | items
        else:
            self.final[path] = after  # it is known without the iterations before

    def _learn_number(self, path: Path, number: Symbol, end: Scalar, read: bool, is_reset: bool) -> None:
        """See whether a number that was taken to change does not, or grows by the same int every time, or is one that
        no iteration has from the one before. is_reset: to what the first iteration begins with."""
        plan, step = self.plan, make("sub", end, number) if number.kind == "int" else None
        is_open = path not in plan.numbers and not self.region.pauses and len(plan.numbers) < MAX_NUMBERS
        supposed = path in plan.guessed or is_open
        plan.guessed.discard(path)
        if supposed and end != number and type(step) is not int and read and not is_reset:
            plan.numbers.add(path)
            return
        plan.numbers.discard(path)
        if end == number or not read or is_reset:
            plan.fixed.add(path)
        elif type(step) is int:
            plan.steps[path] = step
        elif len(plan.numbers) < MAX_NUMBERS:
            plan.numbers.add(path)
        else:
            self._differs(path)
        self.learned = True

    def _hand_out(self, path: Path, after: ArrayValue) -> None:
        """Carry what an iteration makes and no other reads, for the code behind the loop, which is then to have one."""
        tracer, type_ = self.machine.tracer, after.node.array_type
        tracer.regions.pop()
        initial = stand_in_node(tracer, type_)
        tracer.regions.append(self.region)
        if initial is None:
            self._differs(path)
        node = self.region.graph.add_input(type_, str(path[0]))
        self.region.carried.append(node)
        self.leaves[path] = ArrayValue(None, initial), node
        self.ends[path] = after.node
        self.late = True

    def _compare_counted(self, path: Path, after: Value) -> None:
        if (end := as_scalar(after)) is None or kind_of(end) != "int":
            self._differs(path)
        self.plan.guessed.discard(path)
        if make("sub", end, self.counted(path, self._count())) != self.plan.steps[path]:
            del self.plan.steps[path]
            self.plan.numbers.add(path)
            self.learned = True

    def _guess_step(self, path: Path, before: Value, after: Value) -> None:
        """A number that the loop changes: suppose that it grows by the same int every time, and see."""
        begin, end = as_scalar(before), as_scalar(after)
        if begin is None or end is None or kind_of(begin) != kind_of(end) or not is_carriable(begin):
            self._differs(path)
        step = make("sub", end, begin) if kind_of(end) == "int" else None
        if type(step) is int:
            self.plan.steps[path] = step
        elif len(self.plan.numbers) < MAX_NUMBERS:
            for plan in plans_for(self, path[0]) if path[:1] in self.eithers else (self.plan,):
                if path[0] in plan.eithers or plan is self.plan:
                    plan.numbers.add(path)
        else:
            self._differs(path)
        self.learned = True

    # -- behind the loop --------------------------------------------------------------------------

    def _leave(self, before: dict[Name, Value], entered: frozenset[Name], live: frozenset[Name]) -> None:
        """Append the loop and give the locals their values behind it. entered, live: what is live before and behind."""
        tracer = self.machine.tracer
        iterator = None if self.exit_index is None else self.frame.stack[-1]
        unroll_rather(tracer, self.region, trip(self), iterator, place_of(self.frame.code, self.header))
        self._carry_final(before, live, entered)
        late = [path for path in self.final if path[0] in live and path not in self.closed]
        own = live - {self.exit_name, self.at_name}
        late += [path for path in self.held if path[0] in own and self._may_be_as_before(path)]
        tracer.regions.pop()
        if self.region.pauses:
            see_whether_alone(self)
        if (late or self.late) and not self._runs_at_all():
            self.undo()
            for name in self.stored:
                self.assign(name, self.around[name] if isinstance(name, Place) else (before | self.whole).get(name))
            return
        inputs = {path: node for path, (_, node) in self.leaves.items()}
        initial = {path: value.node for path, (value, _) in self.leaves.items()}
        numbers = {path: (begin, self.next[path]) for path, begin in self.begins.items() if path in self.next}
        condition = None if self.goes_on is True else self.goes_on
        loop, places = close_region(tracer, self.region, self.bounds, inputs, initial, self.ends, numbers, condition)
        for path, node in inputs.items():
            if node in self.region.stored:
                note_written(self.machine, initial[path])
                if path in places:
                    note_carried_written(self.machine, loop, places[path])
        for target in written(loop):
            note_written(self.machine, target)
        results = {
            place: ops.call(tracer.graph, "tuple_get", (loop,), {"index": place}, tracer.location())
            for path, place in places.items()
            if path[0] in live or path[0] in entered
        }
        self.region.loop, tracer.loops[loop] = loop, self.region
        made = self._made_left, partial(made_behind, self)
        left, behind = (Behind(self.objects, places, results, make_one, self.first) for make_one in made)
        held = partial(self._left, before=before, left=left)
        try:
            for place in self.owners:
                self.assign(place, held(place))
            rest = None if iterator is None else (iterator, self.bounds)
            leaves = self.may_leave and let_leave(tracer, self.frame, self.region, self.header, loop, rest, held)
        except CannotLeave:
            leaves = False
        if not tracer.regions:
            check_whole(tracer, self.region, self.header, leaves, self.may_leave)
        if self.region.pauses and not leaves:
            refuse_pauses(self)
        if self.region.pauses:
            (name,) = tracer.yield_names(1)
            index = tracer.root.add_yield(name, "int")
            loop.params["pause"] = index, *(pause_at(self, pause, index) for pause in self.region.pauses)
        for name in self.stored:
            known = name in live and (name in before or self._is_left_by_iterations((name,)))
            was = self.around[name] if self.goes_on is False and type(name) is str and not self._get(name) else None
            self.assign(name, value_behind(self, (name,), before.get(name), behind) if known else was)

    def _may_be_as_before(self, path: Path) -> bool:
        """Whether the number at `path` may be the object from before the loop, and no tag (number_objects.py) tells."""
        is_flag = path[:-1] in self.eithers and path[-1] == 0
        return path in self.handed or not (is_flag or is_tagged(self))

    def _is_left_by_iterations(self, path: Path) -> bool:
        return any(path in known for known in (self.final, self.next, self.leaves, self.eithers, self.parted))

    def _left(self, name: Name, before: dict[Name, Value], left: Behind) -> Value | None:
        """What a local holds when the loop is left between two iterations."""
        if name not in self.stored:
            return self._get(name)
        if name not in before and not self._is_left_by_iterations((name,)):
            return None
        return all_bound(self._value_left((name,), before.get(name), left))

    def _value_left(self, path: Path, before: Value | None, left: Behind) -> Value:
        if path in self.eithers:
            pieces = enumerate(self.eithers[path].before)
            return put_together([self._value_left((*path, k), part, left) for k, part in pieces])
        value = self.final.get(path)
        if path in self.next or path in self.counts or (value is not None and self.is_made(path, value)):
            return left.number(path)
        if value is not None:
            if self._changes(value):
                raise CannotLeave
            return value
        if path in self.leaves:
            return array_behind(self, path, left)
        return items_behind(self, path, before, left, Attempt._value_left)

    def _made_left(self, path: Path, left: Behind) -> Value:
        """The number at `path` where the loop is left between two iterations, as a new object."""
        if path in self.next:
            return left.result(path, TYPES[kind_of(self.next[path])])
        if path in self.counts:
            return counted(self.machine.tracer.number(self.counts[path]), self.plan.steps[path])
        value, tracer = self.final[path], self.machine.tracer
        return number_left(tracer, value, self.bounds, self.region.index) if self._changes(value) else value

    def _is_untold(self, value: Value) -> bool:
        if not isinstance(value, NumberValue) or kind_of(value.expr) == "complex" or not self._changes(value):
            return False
        return not is_told(self.machine.tracer, value, self.bounds, self.region.index)

    def _changes(self, value: Value) -> bool:
        """Whether `value` depends on which iteration it is of."""
        if isinstance(value, SequenceValue | ComplexValue):
            return any(self._changes(realise(self.machine.tracer, item)) for item in value.items)
        return isinstance(value, NumberValue) and self.machine.tracer.varies(value.expr)

    def _carry_final(self, before: dict[Name, Value], live: frozenset[Name], entered: frozenset[Name]) -> None:
        """Hand out, too, what is computed from carried numbers and read behind the loop."""
        tracer = self.machine.tracer
        leaves = self.may_leave and len(tracer.regions) == len(tracer.frames) == 1
        part_final(self, live, leaves)
        for path in [path for path, value in self.final.items() if path[0] in live and self.is_carried(value, leaves)]:
            end = as_scalar(self.final[path])
            if end is None or kind_of(end) == "complex":
                self.refuse("loop-state", f"the local {path[0]}, which holds numbers that it computes")
            self.held[path] = self.final.pop(path)
            self.handed.add(path)
            self.begins[path] = {"int": 0, "float": 0.0, "bool": False}[kind_of(end)]
            self.next[path] = end
            tracer.carry_number(self.region, path, kind_of(end))
        for path, begin in self.counts.items() if self.goes_on is not True else ():
            if path[0] in live:  # how many iterations there are only the run knows
                self.held[path] = NumberValue(None, begin)
                self.begins[path] = begin
                self.next[path] = self.counted(path, make("add", self._count(), 1))
                tracer.carry_number(self.region, path, "int")
        self.closed = {path for path in self.final if closes(self, path, before.get(path[0]))}
        for path, number in self.region.numbers.items():
            if path in self.next:
                tracer.alternatives[number.name] = self.begins[path], self.next[path]
        if len(tracer.regions) == 1:
            carry_positions(self)
            found = numbers_left(self, live | entered)
            self.objects = tell_apart(tracer, self.region, found, self._count(), self, self.refuse)
        if len(self.next) > MAX_NUMBERS:
            self.refuse("loop-state", f"more than {MAX_NUMBERS} numbers")

    def is_made(self, path: Path, value: Value) -> bool:
        """Whether what is at `path` behind the loop may be another object than `value`, which an iteration leaves."""
        return as_scalar(value) is not None and (path in self.closed or is_made_after(value, self.region.serial))

    def first(self, path: Path) -> Path:
        """The first of the paths that have the same object behind the loop as `path`."""
        value = self.held.get(path)
        if value is None and path not in self.counts and path not in self.closed:
            value = self.region.ends.get(path)
        return path if value is None else self.firsts.setdefault(value, path)

    def _runs_at_all(self) -> bool:
        """Whether there is an iteration, decided now; where that changes in a loop around, there is no loop here."""
        try:
            return self.machine.tracer.relate(self.more)
        except Undecided as reason:
            self._promise(reason.condition)

    def is_carried(self, value: Value, leaves: bool = False) -> bool:
        """Whether a number in `value` depends on one that the loop carries. leaves: or nobody could tell it amid it."""
        if leaves and self._is_untold(value):
            return True
        if isinstance(value, SequenceValue | ComplexValue):
            return any(self.is_carried(realise(self.machine.tracer, item)) for item in value.items)
        names = self._names_inside() - ({self.region.index.name} if self.goes_on is True else set())
        return isinstance(value, NumberValue) and not names.isdisjoint(symbols_of(value.expr))

    def _names_inside(self) -> set[str]:
        """The names of the numbers that are others in every iteration."""
        names = {number.name for number in self.region.numbers.values()} | {self.region.index.name}
        return names | {symbol.name for node in self.region.graph.nodes for symbol in node.params.get("yields", ())}


__all__ = ["Attempt"]
