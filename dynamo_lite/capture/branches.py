"""Walk: one iteration of a loop traced along all of its ways, choices on data included.

Enters: a frame at the first instruction of an iteration. Leaves: the frame at its end, and whether the loop goes on:
True, False, or a condition. At a jump that data decides both ways are traced, each into a Region, up to where they meet
(the immediate post-dominator inside the iteration, or its end); there the locals and the stack are merged:

    if c: x = a          %cond: T = cond(c, %a, %b): then returns %a, else returns %b;  x is tuple_get(%cond)
    else: x = b

A `break` ends its way with False; what follows it in the iteration is then on the other way. Where one way breaks the
graph, and the condition can be known before the iteration begins, the loop is left for the iterations that may go there
(leaving.py), and only the other way is traced. INVARIANT: what differs at the end of two ways is an array, a NumPy
scalar or a number, of one type, or nobody reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture import numpy_rules
from dynamo_lite.capture.leaving import index_name, way_number
from dynamo_lite.capture.loop_code import joins, meeting, same_code
from dynamo_lite.capture.machine import CALLEES, Machine, Returned
from dynamo_lite.capture.numbers import as_scalar
from dynamo_lite.capture.objects import MAX_YIELDS
from dynamo_lite.capture.places import Snapshot, changed, place_at, put, restore, snapshot
from dynamo_lite.capture.region import close_branches
from dynamo_lite.capture.sameness import is_tuple, mutable_state, same, types_agree, unchanged
from dynamo_lite.capture.state import Frame, LoopKey, Region, Retry, Tracer, Ways
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    ConstantValue,
    EitherValue,
    IteratorValue,
    NumberValue,
    SequenceValue,
    Value,
    a_kind,
    is_gone,
)
from dynamo_lite.capture.words import undecided
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import Scalar, ScalarOp, is_symbolic, kind_of, make, negate, simplify, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.pycode import liveness

GoesOn: TypeAlias = Scalar | Node
Parts: TypeAlias = tuple[Value, Value | None, Value | None]  # see parts_of
Refuse: TypeAlias = Callable[[str, str], NoReturn]

MAX_FORKS = 100  # in one iteration, written out


@dataclass(eq=False, slots=True)
class _End:
    """The end of one of two ways. goes_on: None where it meets the other inside the iteration. places: where it may go
    on behind the loop."""

    region: Region
    goes_on: GoesOn | None
    places: set[int]
    locals: dict[str, Value]
    contents: dict[str, Value | None]
    stack: list[Value]
    held: Snapshot

    def acts(self, locals_: dict[str, Value], stack: list[Value]) -> bool:
        """Whether anything was done on the way, which began with these."""
        if self.region.graph.nodes or self.locals.keys() != locals_.keys() or len(self.stack) != len(stack):
            return True
        kept = all(value is locals_[name] for name, value in self.locals.items())
        return not kept or any(one is not other for one, other in zip(self.stack, stack, strict=True))


@dataclass(eq=False)
class Walk:
    """One iteration of the loop of `frame` that `header` heads. exit: where it goes on behind the loop.

    loop: its instructions, those on the way out of it too. iterator: of a `for`, which lies on the stack. refuse: what
    to do where it cannot be traced, with a break's reason and detail; it does not return. apart: where else it may go
    on behind the loop, or in the middle of an iteration; the local `number` says where. starts: where ways out begin;
    way: the one that is being traced. leave_at: told where an iteration may be left for what cannot be traced there; it
    returns if that cannot be.
    """

    machine: Machine
    frame: Frame
    loop: frozenset[int]
    header: int
    refuse: Refuse
    exit: int
    iterator: IteratorValue | None
    apart: tuple[int, ...] = ()
    starts: frozenset[int] = frozenset()
    way: int | None = None
    leave_at: Callable[[int], None] | None = None
    inside: frozenset[int] = frozenset()
    gone: dict[int, int] = field(default_factory=dict)  # values on the stack there, besides the iterator
    places: set[int] = field(default_factory=set)  # where it may go on behind the loop
    leaves: bool = False  # some way does
    forks: int = 0

    def __post_init__(self) -> None:
        self.joins = joins(self.frame.code, self.loop, self.header)
        self.depth = len(self.frame.stack)
        self.number = way_number(self.header)

    def run(self, join: int | None = None, begins: bool = True) -> GoesOn | None:
        """Trace up to `join`, or to the end of the iteration; None at `join`. begins: the header is the first."""
        frame = self.frame
        while True:
            if frame.ways is not None:
                goes_on = self._go_apart(frame.ways)
                if goes_on is not None:
                    return goes_on
                continue
            if frame.index == join:
                return None
            if frame.index == self.header and not begins:
                return True
            begins = False
            if frame.index in self.apart:
                self._leave_apart()
                return False
            if frame.index in self.starts:
                self.way = frame.index
            if frame.index not in self.loop:
                self._leave()
                return False
            instr = frame.code.instrs[frame.index]
            if instr.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
                condition = data_condition(self.machine, frame.stack[-1])
                if condition is not None and self._avoids(condition):
                    continue
                if condition is not None:
                    goes_on = self._fork(condition)
                    if goes_on is not None:
                        return goes_on
                    continue
            self.machine.step(frame)
            if frame.yielded is not None:
                self.refuse("loop-exit", "yield")

    def _leave(self) -> None:
        """At the end of a way out of the loop, which has taken the iterator off the stack."""
        frame = self.frame
        self.leaves = True
        self.places.add(self.exit)
        if not same_code(frame.code, frame.index, self.exit):
            self.refuse("loop-exit", "break, to another place than where it ends by itself (else, or return)")
        if self.iterator is not None:
            frame.push(self.iterator)
        if len(frame.stack) != self.depth:
            self.refuse("loop-exit", "return")

    def _leave_apart(self) -> None:
        """Where a way out begins that is not traced here."""
        frame = self.frame
        self.leaves = True
        self.places.add(frame.index)
        gone = frame.stack[self.depth :]
        # Outside of the loop nobody goes on with the iterator of one that was unrolled in it.
        only = all(is_gone(value) or isinstance(value, IteratorValue) for value in gone)
        others = self.gone.setdefault(frame.index, len(gone)) != len(gone)
        if others or not only or (gone and frame.index in self.inside):
            self.refuse("loop-exit", "a way on which its stack is another")
        del frame.stack[self.depth :]
        frame.locals[self.number] = ConstantValue(None, 1 + self.apart.index(frame.index))

    # -- choices ----------------------------------------------------------------------------------

    def _fork(self, condition: GoesOn) -> GoesOn | None:
        """Trace both ways from the jump at hand to where they meet, and merge what they leave."""
        frame, index = self.frame, self.frame.index
        instr = frame.code.instrs[index]
        assert instr.target is not None
        frame.stack.pop()
        frame.line = instr.position[0] or frame.line
        if_true = instr.op == "POP_JUMP_IF_TRUE"
        ahead = {if_true: instr.target, not if_true: index + 1}

        def begin(truth: bool) -> None:
            frame.index = ahead[truth]

        return self._follow(condition, begin, self.joins[index], (index,))

    def _go_apart(self, ways: Ways) -> GoesOn | None:
        """Trace the ways on which an inner loop may have been left, and the one behind it, to where they meet."""
        frame, index = self.frame, self.frame.index
        number = as_scalar(ways.number)
        assert number is not None
        (place, under), *others = ways.places
        join = meeting(frame.code, self.loop, self.header, (index, *(place for place, _ in ways.places)))

        def begin(truth: bool) -> None:
            frame.index = place if truth else index
            frame.ways = None
            if truth:
                frame.stack += under
            elif others:
                frame.ways = Ways(ways.number, tuple(others), ways.first + 1)

        return self._follow(make("eq", number, ways.first), begin, join, (index, "way", ways.first))

    def _follow(
        self, condition: GoesOn, begin: Callable[[bool], None], join: int | None, key: tuple[Any, ...]
    ) -> GoesOn | None:
        """Trace both ways to where they meet, and merge what they leave. begin: puts the frame where one begins."""
        machine, frame = self.machine, self.frame
        tracer = machine.tracer
        self.forks += 1
        if self.forks > MAX_FORKS:
            self.refuse("graph-too-large", f"more than {MAX_FORKS} choices")
        line, way, places = frame.line, self.way, self.places
        state = mutable_state(tracer, {id(cell) for cell in frame.cells.values() if cell.concrete is None})
        before = dict(frame.locals), {name: cell.contents for name, cell in frame.cells.items()}, frame.stack[:]
        held = snapshot(tracer)
        ends: list[_End] = []
        arms: list[int | None] = []
        for truth in (True, False):
            if ends:
                self._restore(*before)
            begin(truth)
            arm = frame.index if frame.ways is None else None
            arms.append(arm)
            frame.line, self.way, self.places = line, way, set()
            name = (*self._key(), *key, truth)
            region = tracer.open_branch(name, condition, truth)
            try:
                goes_on = self.run(join, begins=False)
            except Break as reason:
                self._avoid(name, condition, reason.reason, reason.detail)
                self._part(arm, before)
                raise
            except Undecided as reason:
                if not tracer.may_promise(reason.condition):
                    self._avoid(name, condition, "loop-dependent", undecided(tracer, reason.condition), unrolled=True)
                    self._part(arm, before)
                raise
            except Returned:
                if tracer.tells_pauses(condition) and tracer.regions[0].is_of_known_length():
                    self.way = None  # unrolled the loop needs no break for it
                raise
            tracer.regions.pop()
            contents = {name: cell.contents for name, cell in frame.cells.items()}
            now = snapshot(tracer)
            ends.append(_End(region, goes_on, self.places, dict(frame.locals), contents, frame.stack[:], now))
            restore(tracer, held)
            if not unchanged(tracer, state):
                what = "a list, dict or iterator that a branch changes"
                self._avoid(name, condition, "loop-state", what, unrolled=True)
                self._part(arm, before)
                self.refuse("loop-state", "a list, dict or iterator that a branch changes")
        frame.line, self.way = line, way
        self.places = places.union(*(end.places for end in ends))

        def refuse(reason: str, detail: str) -> NoReturn:
            """What the ways leave does not fit together: leave the loop for the one that does something."""
            acts = [end.acts(before[0], before[2]) for end in ends]
            if acts.count(True) == 1:
                place = acts.index(True)
                self._avoid((*self._key(), *key, place == 0), condition, reason, detail, unrolled=True)
                self._part(arms[place], before)
            self.refuse(reason, detail)

        return self._merge(condition, ends[0], ends[1], join, held, refuse)

    def _avoid(self, key: LoopKey, condition: GoesOn, reason: str, detail: str, unrolled: bool = False) -> None:
        """Have the outermost loop left for iterations that may go a way which breaks the graph, if that can be.

        unrolled: it breaks none in a loop that is unrolled, so that one of known length does better without."""
        tracer, root = self.machine.tracer, self.machine.tracer.frames[0]
        if self.way is not None:
            return  # which the loop is left on
        if tracer.tells_pauses(condition) and not (unrolled and tracer.regions[0].is_of_known_length()):
            line = root.line or root.code.firstlineno
            tracer.plans[tracer.regions[0].key].avoided[key] = reason, detail, line
            raise Retry

    def _part(self, arm: int | None, before: tuple[Any, Any, list[Value]]) -> None:
        """Have the iteration left where a way begins that cannot be traced, if that can be."""
        if self.way is None and arm is not None and self.leave_at is not None and len(before[2]) == self.depth:
            self.leave_at(arm)

    def _avoids(self, condition: GoesOn) -> bool:
        """Go on with one way from the jump at hand where no native iteration goes the other one."""
        frame, tracer = self.frame, self.machine.tracer
        if not tracer.tells_pauses(condition):
            return False
        assert not isinstance(condition, Node)
        index, instr = frame.index, frame.code.instrs[frame.index]
        avoided = tracer.plans[tracer.regions[0].key].avoided
        truth = next((truth for truth in (True, False) if (*self._key(), index, truth) in avoided), None)
        if truth is None:
            return False
        pause = condition if truth else negate(condition)
        for region in tracer.regions:
            if region.given is not True and tracer.tells_pauses(region.given):
                pause = make("and", region.given, pause)
        pauses = tracer.regions[0].pauses
        assert pauses is not None and instr.target is not None
        if pause not in pauses:
            pauses.append(pause)
        frame.stack.pop()
        frame.line = instr.position[0] or frame.line
        frame.index = index + 1 if truth == (instr.op == "POP_JUMP_IF_TRUE") else instr.target
        if all(region.given is True for region in tracer.regions):
            for region in tracer.regions:
                region.graph.facts.learn(condition, not truth)
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.machine.tracer.regions[-1].key

    def _restore(self, locals_: dict[str, Value], contents: dict[str, Value | None], stack: list[Value]) -> None:
        self.frame.locals.clear()
        self.frame.locals.update(locals_)
        for name, value in contents.items():
            self.frame.cells[name].contents = value
        self.frame.stack[:] = stack

    # -- merging ----------------------------------------------------------------------------------

    def _merge(
        self, condition: GoesOn, then: _End, orelse: _End, join: int | None, before: Snapshot, refuse: Refuse
    ) -> GoesOn | None:
        """The state behind both ways; whether the loop goes on, where they meet at the end of the iteration.
        before: what places held where the ways part. refuse: what to do where they leave what does not fit."""
        frame, tracer = self.frame, self.machine.tracer
        own = {id(cell) for cell in frame.cells.values()}
        merge = _Merge(self.machine.tracer, refuse, then.region, orelse.region)
        wanted = [self._live(end, join) for end in (then, orelse)]
        locals_: dict[str, Value] = {}
        for name in {**then.locals, **orelse.locals}:
            pair = then.locals.get(name), orelse.locals.get(name)
            value = merge.local(name, pair, (name in wanted[0], name in wanted[1]))
            if value is not None:
                locals_[name] = value
        contents = {
            name: merge.local(name, (value, orelse.contents[name]), (True, True))
            for name, value in then.contents.items()
        }
        places: list[tuple[Value, Any, Value | None]] = []
        for owner, key in changed(tracer, before, then.held) + changed(tracer, before, orelse.held):
            if isinstance(owner, IteratorValue):  # where one way has ended the loop that it is of, it is the other's
                ends = [end.held[owner][key] for end in (then, orelse) if owner in end.held]
                if len(ends) == 2 and changed(tracer, {owner: then.held[owner]}, {owner: orelse.held[owner]}):
                    refuse("loop-state", "a list, dict or iterator that a branch changes")
                places += [(owner, key, end) for end in ends]
            elif id(owner) not in own and not any((owner, key) == known[:2] for known in places):
                pair = place_at(tracer, owner, key, then.held), place_at(tracer, owner, key, orelse.held)
                places.append((owner, key, merge.local(str(key), pair, (True, True))))
        if len(then.stack) != len(orelse.stack):
            refuse("loop-state", "what lies on the stack behind an if")
        stack = [
            merge.value("an expression", pair, (True, True)) for pair in zip(then.stack, orelse.stack, strict=True)
        ]
        goes_on = None if join is not None else self._goes_on(condition, then, orelse, merge)
        node = merge.close(condition)
        self._restore(locals_, contents, stack)
        for owner, key, value in places:
            put(owner, key, value)
        if join is not None:
            frame.index = join
        if isinstance(goes_on, int) and not isinstance(goes_on, bool):  # the place of a number that the choice yields
            assert node is not None
            goes_on = node.params["yields"][goes_on]
        return goes_on

    def _live(self, end: _End, join: int | None) -> frozenset[str]:
        """The locals that may be read behind the end of a way."""
        live = liveness(self.frame.code)
        if join is not None:
            return live[join]
        after = frozenset((self.number, index_name(self.header))) if self.apart else frozenset()
        if end.goes_on is not False:
            after |= live[self.header]
            if self.iterator is not None:
                after |= live[self.exit]
        return after.union(*(live[place] for place in end.places))

    def _goes_on(self, condition: GoesOn, then: _End, orelse: _End, merge: _Merge) -> GoesOn:
        """Whether the loop goes on; an int stands for the number in that place of what the choice yields."""
        first, second = then.goes_on, orelse.goes_on
        assert first is not None and second is not None
        if isinstance(first, bool) and first is second:
            return first
        if first is True and second is False:
            return condition
        if first is False and second is True and not isinstance(condition, Node):
            return simplify(negate(condition))
        numbers = [
            _as_number(self.machine.tracer, end.region, goes_on) for end, goes_on in ((then, first), (orelse, second))
        ]
        return merge.number(numbers[0], numbers[1])


@dataclass(eq=False)
class _CalleeWalk(Walk):
    """A call of a Python function that is traced in place inside a loop, along all of its ways to a return."""

    def run(self, join: int | None = None, begins: bool = True) -> GoesOn | None:
        """As for an iteration; at its end the stack holds what is returned, and nothing else lives on."""
        try:
            return super().run(join, begins)
        except Returned as returned:
            frame = self.frame
            frame.locals.clear()
            frame.stack[:] = [returned.value]
            return True

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.frame.code.qualname, self.frame.code.firstlineno)

    def _live(self, end: _End, join: int | None) -> frozenset[str]:
        return frozenset() if join is None else super()._live(end, join)


def _call_in_loop(machine: Machine, frame: Frame) -> Value:
    """What a call of a Python function inside a loop returns."""
    walk = _CalleeWalk(machine, frame, frozenset(range(len(frame.code.instrs))), -1, _break, -1, None)
    walk.run()
    return frame.stack.pop()


CALLEES.append(_call_in_loop)


def _break(reason: str, detail: str) -> NoReturn:
    raise Break(reason, detail)


# -- choices between values ------------------------------------------------------------------------


def choose(machine: Machine, condition: GoesOn, first: Value, second: Value) -> Value:
    """`first` where the condition, which only the run knows, holds; else `second`."""
    tracer = machine.tracer
    first, second = realise(tracer, first), realise(tracer, second)
    if isinstance(first, EitherValue) or isinstance(second, EitherValue) or not _alike(first, second):
        return EitherValue(None, condition, first, second)
    return _split(machine, condition, lambda: first, lambda: second)


def split(machine: Machine, value: EitherValue, operate: Callable[[Value], Value]) -> Value:
    """What `operate` makes of a value that is one or the other: it runs on the one that it is."""
    if isinstance(value.condition, Value):
        _break("data-dependent-number", f"the type of {a_kind(value)}")
    return _split(machine, value.condition, lambda: operate(value.first), lambda: operate(value.second))


def _split(machine: Machine, condition: GoesOn, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
    tracer = machine.tracer
    regions: list[Region] = []
    values: list[Value] = []
    state = mutable_state(tracer, set())
    for truth, make_value in ((True, then), (False, orelse)):
        around = tracer.regions[-1].key
        regions.append(tracer.open_branch((*around, "value", truth), condition, truth))
        values.append(make_value())
        tracer.regions.pop()
    if not unchanged(tracer, state):
        _break("loop-state", "a list, dict or iterator that a branch changes")
    merge = _Merge(tracer, _break, regions[0], regions[1])
    what = "an expression"
    first, second = (realise(tracer, value) for value in values)
    is_scalar = isinstance(first, EitherValue | ArrayValue) or as_scalar(first) is not None
    if not is_scalar or _alike(first, second):
        result = merge.value(what, (first, second), (True, True))
    else:
        result = EitherValue(None, condition, _handed(merge, first, 0), _handed(merge, second, 1))
    merge.close(condition)
    _settle(result)
    return result


def _handed(merge: _Merge, value: Value, place: int) -> Value:
    """A value of one branch alone, behind the choice; for the condition of an either it is a value, too, for now."""
    if isinstance(value, EitherValue):
        held = value.condition
        held = ArrayValue(None, held) if isinstance(held, Node) else NumberValue(None, held)
        parts = (_handed(merge, part, place) for part in (held, value.first, value.second))
        return EitherValue(None, *parts)
    pair = (value, None) if place == 0 else (None, value)
    return merge.value("an expression", pair, (place == 0, place == 1))


def _settle(value: Value) -> None:
    """Let the conditions be what the choice yields for them, now that it stands."""
    if isinstance(value, EitherValue):
        held = value.condition
        if isinstance(held, ArrayValue):
            value.condition = held.node
        elif isinstance(held, Value):
            value.condition = as_scalar(held)
        _settle(value.first)
        _settle(value.second)


def _alike(first: Value, second: Value) -> bool:
    """Whether two scalars are of one type."""
    if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
        return first.node.array_type == second.node.array_type
    one, other = as_scalar(first), as_scalar(second)
    return one is not None and other is not None and kind_of(one) == kind_of(other)


def _as_number(tracer: Tracer, region: Region, goes_on: GoesOn) -> Scalar:
    """A condition as a number of the branch that has it."""
    tracer.regions.append(region)
    number = _number_of(tracer, goes_on)
    tracer.regions.pop()
    return number


def _number_of(tracer: Tracer, condition: GoesOn) -> Scalar:
    """A condition as a number of the graph at hand."""
    if not isinstance(condition, Node):
        return condition
    choice = close_branches(tracer, condition, _empty(tracer, condition), (), ((True, False),))
    number: Scalar = choice.params["yields"][0]
    return number


def _empty(tracer: Tracer, condition: GoesOn) -> tuple[Region, Region]:
    """Two ways on which nothing is done."""
    around = tracer.regions[-1].key
    then = tracer.open_branch((*around, "number", True), condition, True)
    tracer.regions.pop()
    orelse = tracer.open_branch((*around, "number", False), condition, False)
    tracer.regions.pop()
    return then, orelse


def parts_of(tracer: Tracer, value: Value | None) -> Parts | None:
    """A value as three: whether it is one that the segment makes (a NumPy scalar, or a tuple of scalars), that one, and
    what it is otherwise (a Python number, a constant, a tuple from outside); None in place of what it never is, and for
    other values. What the parts are made of is put into the graph at hand."""
    if isinstance(value, EitherValue):
        one, other = parts_of(tracer, value.first), parts_of(tracer, value.second)
        if one is None or other is None or isinstance(value.condition, Value):
            return None
        if one[1] is value.first and other[2] is value.second and not isinstance(value.condition, Node):
            return NumberValue(None, value.condition), value.first, value.second
        merge = _Merge(tracer, _break, *_empty(tracer, value.condition))
        either = merge.either("an expression", one, other)
        merge.close(value.condition)
        return None if either is None else parts_of(tracer, either)
    if value is not None and (_is_numpy_scalar(value) or _is_tuple_of_scalars(tracer, value)):
        return ConstantValue(None, True), value, None
    number = None if value is None else as_scalar(value)
    kept = isinstance(value, SequenceValue) and value.kind is tuple and value.source is not None
    if kept or isinstance(value, ConstantValue) or (number is not None and kind_of(number) != "complex"):
        return ConstantValue(None, False), None, value
    return None


def _is_numpy_scalar(value: Value) -> bool:
    return isinstance(value, ArrayValue) and value.node.array_type.scalar and value.number is None


def _is_tuple_of_scalars(tracer: Tracer, value: Value) -> bool:
    if not is_tuple(value):
        return False
    assert isinstance(value, SequenceValue)
    items = [realise(tracer, item) for item in value.items]
    return all(_is_numpy_scalar(item) or as_scalar(item) is not None for item in items)


def _is_of(value: Value | None, region: Region) -> bool:
    """Whether a part is made on one way, so that there is none of it on the other."""
    if isinstance(value, ArrayValue):
        return value.node in region.graph.nodes
    if isinstance(value, SequenceValue) and is_tuple(value):
        return any(_is_of(item, region) for item in value.items)
    number = None if value is None else as_scalar(value)
    yielded = {symbol for node in region.graph.nodes for symbol in node.params.get("yields", ())}
    return bool(symbols_of(number) & {symbol.name for symbol in yielded})


def are_like(one: Value, other: Value) -> bool:
    """Whether two parts are of one type, so that a loop or a choice can hand out either."""
    if is_tuple(one) and is_tuple(other):
        assert isinstance(one, SequenceValue) and isinstance(other, SequenceValue)
        return len(one.items) == len(other.items) and all(map(are_like, one.items, other.items))
    return _alike(one, other) or same(one, other)


@dataclass(eq=False)
class _Merge:
    """The values behind two ways, and what the choice has to hand out for them."""

    tracer: Tracer
    refuse: Refuse
    then: Region
    orelse: Region
    nodes: list[tuple[Node, Node]] = field(default_factory=list)
    numbers: list[tuple[Scalar, Scalar]] = field(default_factory=list)
    arrays: list[ArrayValue] = field(default_factory=list)  # of the nodes
    scalars: list[tuple[NumberValue, int]] = field(default_factory=list)  # of the numbers, with their place
    eithers: list[EitherValue] = field(default_factory=list)
    known: dict[tuple[Value, Value], Value] = field(default_factory=dict)

    def local(self, name: str, pair: tuple[Value | None, Value | None], wanted: tuple[bool, bool]) -> Value | None:
        """What a local holds; None if nothing, or nobody reads it."""
        first, second = pair
        if first is second:
            return first
        if not any(wanted):
            return None
        if (first is None and wanted[0]) or (second is None and wanted[1]):
            self.refuse("loop-state", f"the local {name}, which one branch of an if does not assign")
        return self.value(f"the local {name}", (first, second), wanted)

    def value(self, what: str, pair: tuple[Value | None, Value | None], wanted: tuple[bool, bool]) -> Value:
        """What stands for one value or the other; where one is not wanted, anything of the other's type does."""
        if pair[0] is pair[1] and pair[0] is not None:
            return pair[0]
        first, second = (None if value is None else realise(self.tracer, value) for value in pair)
        if not wanted[0] or first is None:
            first = self.stand_in(what, second, first, self.then)
        if not wanted[1] or second is None:
            second = self.stand_in(what, first, second, self.orelse)
        assert first is not None and second is not None
        if same(first, second):
            return first
        known = self.known.get((first, second))
        if known is None:
            known = self.known[first, second] = self.differing(what, first, second, wanted)
        return known

    def differing(self, what: str, first: Value, second: Value, wanted: tuple[bool, bool]) -> Value:
        if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
            if first.node is second.node:
                return first
            if types_agree(self.tracer, first.node.array_type, second.node.array_type):
                self.nodes.append((first.node, second.node))
                self.arrays.append(ArrayValue(None, first.node))
                return self.arrays[-1]
        if is_tuple(first) and is_tuple(second):
            assert isinstance(first, SequenceValue) and isinstance(second, SequenceValue)
            if len(first.items) == len(second.items):
                pairs = zip(first.items, second.items, strict=True)
                return SequenceValue(None, tuple, [self.value(what, pair, wanted) for pair in pairs])
        one, other = as_scalar(first), as_scalar(second)
        if one is not None and other is not None and kind_of(one) == kind_of(other) != "complex":
            value = NumberValue(None, one)
            self.scalars.append((value, self.number(one, other)))
            return value
        either = self.either(what, self.parts(first, self.then), self.parts(second, self.orelse))
        if either is not None:
            return either
        self.refuse("loop-state", f"{what}, which is of one type in one branch and of another in the other")

    def parts(self, value: Value, region: Region) -> Parts | None:
        """The parts of a value of one branch."""
        self.tracer.regions.append(region)
        parts = parts_of(self.tracer, value)
        self.tracer.regions.pop()
        return parts

    def either(self, what: str, first: Parts | None, second: Parts | None) -> EitherValue | None:
        """What is one of two kinds of value, of two such by their parts; None where these are of unlike types."""
        if first is None or second is None:
            return None
        pairs: list[tuple[Value | None, Value | None]] = []
        for one, other in zip(first, second, strict=True):
            if one is None and other is None:
                return None
            if one is not None and other is not None and not are_like(one, other):
                return None
            if other is None and not _is_of(one, self.then):
                other = one  # as good as any, and the same object if nothing takes its place
            elif one is None and not _is_of(other, self.orelse):
                one = other
            pairs.append((one, other))
        flag, made, kept = (self.value(what, pair, (pair[0] is not None, pair[1] is not None)) for pair in pairs)
        result = EitherValue(None, flag, made, kept)
        self.eithers.append(result)
        return result

    def number(self, one: Scalar, other: Scalar) -> int:
        """The place of a number that the choice yields."""
        if len(self.numbers) == MAX_YIELDS:
            self.refuse("loop-state", f"more than {MAX_YIELDS} numbers that differ behind an if")
        if any(isinstance(number, int) and not -(2**63) <= number < 2**63 for number in (one, other)):
            self.refuse("loop-state", "an int of more than 64 bits")
        self.numbers.append((one, other))
        return len(self.numbers) - 1

    def stand_in(self, what: str, value: Value | None, instead: Value | None, region: Region) -> Value:
        """Something of the type of `value` for a branch behind which nobody reads it: `instead`, if it is such."""
        assert value is not None
        while isinstance(value, EitherValue):
            value = value.second
        if not isinstance(value, ArrayValue):
            if is_tuple(value):
                assert isinstance(value, SequenceValue)
                items = [self.stand_in(what, realise(self.tracer, item), None, region) for item in value.items]
                return SequenceValue(None, tuple, items)
            number = as_scalar(value)
            if number is None or not is_symbolic(number):
                return value
            return ConstantValue(None, {"int": 0, "float": 0.0, "bool": False}[kind_of(number)])
        type_ = value.node.array_type
        if isinstance(instead, ArrayValue) and types_agree(self.tracer, type_, instead.node.array_type):
            return instead
        self.tracer.regions.append(region)
        node = stand_in_node(self.tracer, type_)
        self.tracer.regions.pop()
        if node is None:
            self.refuse("loop-state", f"{what}, whose size one branch decides")
        return ArrayValue(None, node)

    def close(self, condition: GoesOn) -> Node | None:
        """Append the choice, if anything hangs on it, and let the merged values be what it yields."""
        node = self._close(condition)
        for either in self.eithers:
            _settle(either)
        return node

    def _close(self, condition: GoesOn) -> Node | None:
        graph = self.tracer.graph
        if not self.nodes and not self.numbers and not self.then.graph.nodes and not self.orelse.graph.nodes:
            return None
        node = close_branches(self.tracer, condition, (self.then, self.orelse), self.nodes, self.numbers)
        for place, array in enumerate(self.arrays):
            array.node = ops.call(graph, "tuple_get", (node,), {"index": place}, self.tracer.location())
        for value, place in self.scalars:
            value.expr = node.params["yields"][place]
        for symbol, pair in zip(node.params.get("yields", ()), self.numbers, strict=True):
            self.tracer.alternatives[symbol.name] = pair
        return node


def stand_in_node(tracer: Tracer, type_: ArrayType) -> Node | None:
    """A node of that type whose value nobody reads; None where its size is not known in the graph at hand."""
    if type_.scalar:
        constant = tracer.graph.add_constant(np.zeros((), type_.dtype)[()])
        if not tracer.regions or type_.dtype.kind not in "biufc":
            return constant
        # A constant is one object, which may not leave machine code; what is computed may.
        copied = "logical_not" if type_.dtype.kind == "b" else "positive"
        return ops.call(tracer.graph, copied, (constant,), {}, tracer.location())
    if any(tracer.varies(dim) for dim in type_.shape):
        return None
    return ops.call(
        tracer.graph, "empty", (), {"shape": type_.shape, "dtype": type_.dtype, "order": "C"}, tracer.location()
    )


def data_condition(machine: Machine, value: Value) -> GoesOn | None:
    """The truth of a value as a condition that only the run knows; None where capture decides it."""
    tracer = machine.tracer
    value = realise(tracer, value)
    condition: Scalar
    if isinstance(value, EitherValue):
        value = split(machine, value, lambda one: _truth(machine, one))
    if isinstance(value, NumberValue):
        kind = kind_of(value.expr)
        zero = 0.0 if kind == "float" else 0
        condition = value.expr if kind == "bool" else ScalarOp("ne", "bool", (value.expr, zero))
    elif isinstance(value, ArrayValue) and value.number is not None:
        condition = value.number if kind_of(value.number) == "bool" else make("ne", value.number, 0)
    elif isinstance(value, ArrayValue) and value.node.array_type.scalar:
        dtype = value.node.array_type.dtype
        if dtype.kind == "b":
            return value.node
        if dtype.kind not in "iufc":
            return None
        truth = numpy_rules.compare(machine, "!=", value, ConstantValue(None, 0))
        return truth.node if isinstance(truth, ArrayValue) and truth.number is None else None
    else:
        return None
    condition = simplify(condition)
    if not is_symbolic(condition) or not tracer.varies(condition) or tracer.graph.facts.decide(condition) is not None:
        return None
    return None if tracer.requires(condition) or tracer.may_promise(condition) else condition


def _truth(machine: Machine, value: Value) -> Value:
    """bool(value) of one of two values, as a number of its branch."""
    condition = data_condition(machine, value)
    if condition is not None:
        return NumberValue(None, _number_of(machine.tracer, condition))
    number = as_scalar(value)
    if number is None or is_symbolic(number):
        _break("unsupported-operation", f"the truth of {a_kind(value)}")
    return ConstantValue(None, bool(number))


__all__ = ["GoesOn", "Parts", "Walk", "are_like", "choose", "data_condition", "parts_of", "split", "stand_in_node"]
