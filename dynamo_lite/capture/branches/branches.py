"""Walk: one iteration of a loop traced along all of its ways, choices on data included.

Enters: a frame at the first instruction of an iteration. Leaves: the frame at its end, and whether the loop goes on:
True, False, or a condition. At a jump that data decides both ways are traced, each into a Region, up to where they meet
(the immediate post-dominator inside the iteration, or its end); there the locals and the stack are merged:

    if c: x = a          %cond: T = cond(c, %a, %b): then returns %a, else returns %b;  x is tuple_get(%cond)
    else: x = b

A `break` ends its way with False; what follows it in the iteration is then on the other way. Where one way breaks the
graph, and the condition can be known before the iteration begins, the loop is left for the iterations that may go there
(leaving.py), and only the other way is traced. On such a way of a function that is called the program declines.
INVARIANT: what differs at the end of two ways is an array, a NumPy scalar or a number, of one type, or nobody reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, NoReturn

from dynamo_lite.capture.branches.arms import check_sizes, declining_way
from dynamo_lite.capture.branches.choices import GoesOn, Merge, Refuse, as_number, break_, merge_of
from dynamo_lite.capture.branches.compound import ends_of_condition
from dynamo_lite.capture.branches.conditions import as_number_here, data_condition, narrowed, none_condition
from dynamo_lite.capture.branches.sameness import cells_of_others, find_changed, mutable_state, reachable
from dynamo_lite.capture.lists.object_lists import convert_all, is_eligible, try_objects
from dynamo_lite.capture.loops.candidates import is_long, roll, share
from dynamo_lite.capture.loops.code import CONDITIONAL_JUMPS, always_read, joins, meeting, same_code
from dynamo_lite.capture.loops.leaving import exit_name, index_name
from dynamo_lite.capture.loops.plan import LoopKey
from dynamo_lite.capture.loops.unbound import or_unbound
from dynamo_lite.capture.machine import CALLEES, Machine, Returned
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.numbers.words import undecided
from dynamo_lite.capture.objects.aggregates import require_alone
from dynamo_lite.capture.objects.places import Snapshot, changed, is_quiet, made_alike, place_at, put, restore, snapshot
from dynamo_lite.capture.segments.plain_statements import plain_call_ahead
from dynamo_lite.capture.segments.restraints import place_of
from dynamo_lite.capture.state import Frame, Region, Retry, SideExits
from dynamo_lite.capture.value import (
    Break,
    ConstantValue,
    IteratorValue,
    LazyValue,
    Value,
    is_gone,
)
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import make, negate, simplify
from dynamo_lite.pycode import cell_liveness, liveness
from dynamo_lite.pycode.liveness import Live

FEW_FORKS = 4  # with more, short loops around them are not unrolled
MAX_FORKS = 100  # in one iteration, written out
SIMPLE_FORKS = 16  # with more the loop is traced again, with each condition of several parts as one number
_END = -2  # in place of an instruction: the end of such a condition
_IF_TRUE = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE")
_PLAIN_WORK = frozenset(  # why a way of a callee breaks that plain Python alone can go
    (
        *("output", "c-function", "python-call", "disabled-function", "raise-statement", "python-exception"),
        "import-statement",
    )
)
_OF_LISTS = frozenset(("side-effect-container", "loop-list", "loop-dependent"))  # why a way breaks that fills a list


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
    shared: frozenset[str]  # cells that something besides the frame has

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
    to do where it cannot be traced, with a break's reason and detail; it does not return. side_exits: where else it may
    go on after the loop, or in the middle of an iteration; the local `number` says where. starts: where ways out begin;
    way: the one that is being traced. leave_at: told where an iteration may be left for what cannot be traced there,
    what locals hold, and why; it returns if that cannot be.
    """

    machine: Machine
    frame: Frame
    loop: frozenset[int]
    header: int
    refuse: Refuse
    exit: int
    iterator: IteratorValue | None
    side_exits: tuple[int, ...] = ()
    starts: frozenset[int] = frozenset()
    way: int | None = None
    leave_at: Callable[[int, dict[str, Value], tuple[str, str]], None] | None = None
    inside: frozenset[int] = frozenset()
    gone: dict[int, int] = field(default_factory=dict)  # values on the stack there, besides the iterator
    places: set[int] = field(default_factory=set)  # where it may go on behind the loop
    leaves: bool = False  # some way does
    forks: int = 0
    ends: tuple[int, ...] = ()  # while a condition of several parts is traced, where it goes on

    def __post_init__(self) -> None:
        self.joins = joins(self.frame.code, self.loop, self.header)
        self.depth = len(self.frame.stack)
        self.number = exit_name(self.header)

    def run(self, join: int | None = None, begins: bool = True) -> GoesOn | None:
        """Trace up to `join`, or to the end of the iteration; None at `join`. begins: the header is the first."""
        frame = self.frame
        while True:
            if frame.side_exits is not None:
                goes_on = self._follow_side_exits(frame.side_exits)
                if goes_on is not None:
                    return goes_on
                continue
            if frame.index == join:
                return None
            if frame.index in self.ends:
                frame.push(ConstantValue(None, frame.index == self.ends[1]))
                frame.index = _END
                return None
            if frame.index == self.header and not begins:
                return True
            begins = False
            if frame.index in self.side_exits:
                self._leave_by_side_exit()
                return False
            if frame.index in self.starts:
                self.way = frame.index
            if frame.index not in self.loop:
                self._leave()
                return False
            instr = frame.code.instrs[frame.index]
            if instr.op in CONDITIONAL_JUMPS and not self._raises(frame.index):
                asks_none = instr.op.endswith("NONE")
                condition = (none_condition if asks_none else data_condition)(self.machine, frame.stack[-1])
                if condition is not None and (self._declines(condition) or self._avoids(condition)):
                    continue
                if condition is not None:
                    goes_on = self.fork(condition)
                    if goes_on is not None:
                        return goes_on
                    continue
            self.machine.step(frame)
            if frame.yielded is not None:
                self.refuse("loop-exit", "yield")

    def _raises(self, place: int) -> bool:
        """Whether one way of a jump only raises, and the program goes the other one, or declines."""
        return declining_way(self.machine.tracer, self.frame.code, place) is not None

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

    def _leave_by_side_exit(self) -> None:
        """End the iteration where a side exit begins, which is not traced here; a local says which."""
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
        frame.locals[self.number] = ConstantValue(None, 1 + self.side_exits.index(frame.index))

    # -- choices ----------------------------------------------------------------------------------

    def fork(self, condition: GoesOn) -> GoesOn | None:
        """Trace both ways from the jump at hand to where they meet, and merge what they leave."""
        frame, index = self.frame, self.frame.index
        instr = frame.code.instrs[index]
        assert instr.target is not None
        frame.stack.pop()
        frame.line = instr.position[0] or frame.line
        if_true = instr.op in _IF_TRUE
        ahead = {if_true: instr.target, not if_true: index + 1}
        join = _END if self.ends else self.joins[index]
        key: tuple[Any, ...] = (index,)

        def begin(truth: bool) -> None:
            frame.index = ahead[truth]

        while not self.ends and self._is_compound():
            kept = self.starts.union(self.side_exits)
            ends = ends_of_condition(frame.code, self.loop, self.header, (ahead[False], ahead[True]), kept)
            if ends is None:
                break
            self.ends = ends
            try:
                self._follow(condition, begin, _END, key)
            finally:
                self.ends = ()
            ahead = {False: ends[0], True: ends[1]}
            known = frame.stack.pop()
            truth = data_condition(self.machine, known)
            if truth is None:
                assert isinstance(known, ConstantValue)
                begin(known.value)
                return None
            condition, key = truth, (index, "of", *ends)
            join = meeting(frame.code, self.loop, self.header, ends)
        return self._follow(condition, begin, join, key)

    def _is_compound(self) -> bool:
        """Whether conditions of several parts are to become one number."""
        tracer = self.machine.tracer
        return tracer.in_loop and tracer.plans[tracer.regions[0].key].compound

    def _follow_side_exits(self, exits: SideExits) -> GoesOn | None:
        """Trace the side exits of an inner loop, and what comes after it, to where they meet."""
        frame, index = self.frame, self.frame.index
        number = as_scalar(exits.number)
        assert number is not None
        (place, under), *others = exits.places
        join = meeting(frame.code, self.loop, self.header, (index, *(place for place, _ in exits.places)))

        def begin(truth: bool) -> None:
            frame.index = place if truth else index
            frame.side_exits = None
            if truth:
                frame.stack += under
            elif others:
                frame.side_exits = SideExits(exits.number, tuple(others), exits.first + 1)

        return self._follow(make("eq", number, exits.first), begin, join, (index, "way", exits.first))

    def _follow(
        self, condition: GoesOn, begin: Callable[[bool], None], join: int | None, key: tuple[Any, ...]
    ) -> GoesOn | None:
        """Trace both ways to where they meet, and merge what they leave. begin: puts the frame where one begins."""
        machine, frame = self.machine, self.frame
        tracer = machine.tracer
        self.forks += 1
        if self.forks > FEW_FORKS:
            roll(tracer, frame.code, frame.index, frame.stack)
        if self.forks > SIMPLE_FORKS and tracer.in_loop and not self._is_compound():
            tracer.plans[tracer.regions[0].key].compound = True
            raise Retry
        most = MAX_FORKS if tracer.in_loop else SIMPLE_FORKS
        if self.forks > most:
            self.refuse("graph-too-large", f"more than {most} choices")
        line, way, places = frame.line, self.way, self.places
        convert_all(tracer)
        state = mutable_state(tracer, {id(cell) for cell in frame.cells.values() if cell.concrete is None})
        before = dict(frame.locals), {name: cell.contents for name, cell in frame.cells.items()}, frame.stack[:]
        held, scope, scopes = snapshot(tracer), tracer.scope, set[Any]()
        ends: list[_End] = []
        arms: list[int | None] = []
        narrowed_here: list[dict[str, tuple[Value, Value]]] = []
        for truth in (True, False):
            if ends:
                self._restore(*before)
            begin(truth)
            known = self._narrow(condition, truth)
            arm = frame.index if frame.side_exits is None else None
            arms.append(arm)
            frame.line, self.way, self.places = line, way, set()
            name = (*self._key(), *key, truth)
            region = tracer.open_branch(name, condition, truth)
            try:
                goes_on = self.run(join, begins=False)
            except Break as reason:
                if reason.reason in _OF_LISTS and tracer.restraints.objects is None:
                    try_objects(tracer, reason.reason, reason.detail)
                self._go_aside(arm, before, name, condition, reason.reason, reason.detail)
                if len(key) == 1:  # no condition of several parts
                    self._decline((*place_of(frame.code), key[0], truth), reason.reason)
                raise
            except Undecided as reason:
                if not tracer.may_promise(reason.condition):
                    what = undecided(tracer, reason.condition)
                    self._go_aside(arm, before, name, condition, "loop-dependent", what, unrolled=True)
                raise
            except Returned:
                if tracer.tells_pauses(condition) and tracer.regions[0].may_be_unrolled():
                    self.way = None  # unrolled the loop needs no break for it
                raise
            tracer.regions.pop()
            scopes.add(tracer.scope)
            tracer.scope = scope
            narrowed_here.append(known)
            contents = {name: cell.contents for name, cell in frame.cells.items()}
            shared = cells_of_others(tracer, frame, frame.cells.keys())
            now = snapshot(tracer)
            ends.append(_End(region, goes_on, self.places, dict(frame.locals), contents, frame.stack[:], now, shared))
            restore(tracer, held)
            changed = find_changed(tracer, state)
            if changed is not None:
                is_first = self.leave_at is not None and tracer.restraints.objects is None
                if is_first and is_eligible(tracer, changed, ever=True):
                    try_objects(tracer, "loop-state")
                what = "a list, dict or iterator that a branch changes"
                self._go_aside(arm, before, name, condition, "loop-state", what, unrolled=True)
                self.refuse("loop-state", what)
        for local, (either, _) in narrowed_here[0].items():  # which neither way has changed
            if all(end.locals.get(local) is known[local][1] for end, known in zip(ends, narrowed_here, strict=True)):
                for end in ends:
                    end.locals[local] = either
        if len(scopes) > 1:
            self.refuse("loop-state", "a `with` that one way leaves, and the other does not")
        (tracer.scope,) = scopes
        if not tracer.in_loop:
            check_sizes(tracer, ends[0].region, ends[1].region)
        frame.line, self.way = line, way
        self.places = places.union(*(end.places for end in ends))

        if join is not None and any(end.goes_on is not None for end in ends):
            self.refuse("loop-exit", "a way that does not come to where both meet")

        def refuse(reason: str, detail: str) -> NoReturn:
            """What the ways leave does not fit together: decline on the one on which a local is read that has no value,
            or leave the loop for the one that does something."""
            acts = [end.acts(before[0], before[2]) for end in ends]
            unbinding = self._unbinding(ends, join)
            if unbinding is not None and tracer.in_loop and len(key) == 1:  # no condition of several parts
                tracer.plans[tracer.regions[0].key].declining.add((*self._key(), *key, unbinding == 0))
                raise Retry
            if acts.count(True) == 1:
                place = acts.index(True)
                name = (*self._key(), *key, place == 0)
                self._go_aside(arms[place], before, name, condition, reason, detail, unrolled=True)
            self.refuse(reason, detail)

        known_before = frozenset(id(value) for value, _ in state)
        return self._merge(condition, ends[0], ends[1], join, held, refuse, known_before)

    def _unbinding(self, ends: list[_End], join: int | None) -> int | None:
        """Which of two ways comes to where both meet without a local that the other one assigns and that is certain to
        be read from there on, which raises an exception; None where neither does, or each lacks one."""
        if join is None or join == _END:
            return None
        bound = [frozenset(end.locals) for end in ends]
        lacks = [
            any(always_read(self.frame.code, self.loop, self.header, join, name) for name in other - own)
            for own, other in (bound, bound[::-1])
        ]
        return lacks.index(True) if lacks.count(True) == 1 else None

    def _narrow(self, condition: GoesOn, truth: bool) -> dict[str, tuple[Value, Value]]:
        """Let the locals that are one thing or another by a condition be that on one of its ways; what each was."""
        locals_ = self.frame.locals
        found = {name: (value, narrowed(value, condition, truth)) for name, value in locals_.items()}
        known = {name: (value, part) for name, (value, part) in found.items() if part is not None}
        locals_.update((name, part) for name, (_, part) in known.items())
        return known

    def _go_aside(
        self,
        arm: int | None,
        before: tuple[Any, Any, list[Value]],
        key: LoopKey,
        condition: GoesOn,
        reason: str,
        detail: str,
        unrolled: bool = False,
    ) -> None:
        """Have the outermost loop left for a way that breaks the graph, if that can be: in front of the iterations that
        may go it, or where the way begins. The latter first in a long iteration, which would be compiled once more to
        run by itself."""
        regions = self.machine.tracer.regions
        begins_late = bool(regions) and is_long(regions[0])
        if begins_late:
            self._part(arm, before, (reason, detail))
        self._avoid(key, condition, reason, detail, unrolled)
        if not begins_late:
            self._part(arm, before, (reason, detail))

    def _avoid(self, key: LoopKey, condition: GoesOn, reason: str, detail: str, unrolled: bool) -> None:
        """Have the outermost loop left for iterations that may go a way which breaks the graph, if that can be.

        unrolled: it breaks none in a loop that is unrolled, so that one of known length does better without."""
        tracer, root = self.machine.tracer, self.machine.tracer.frames[0]
        if self.way is not None or "of" in key:
            return  # which the loop is left on; a condition of several parts is of no use for that
        if tracer.tells_pauses(condition) and not (unrolled and tracer.regions[0].may_be_unrolled()):
            line = root.line or root.code.firstlineno
            tracer.plans[tracer.regions[0].key].avoided[key] = reason, detail, line
            share(self.machine)
            raise Retry

    def _part(self, arm: int | None, before: tuple[Any, Any, list[Value]], why: tuple[str, str]) -> None:
        """Have the iteration left where a way begins that cannot be traced, if that can be."""
        if self.way is None and arm is not None and self.leave_at is not None and len(before[2]) == self.depth:
            self.leave_at(arm, before[0], why)

    def _decline(self, key: LoopKey, reason: str) -> None:
        """Have the program decline where a way begins that only plain Python can go, in any call of this function.

        Nobody could go on in the middle of a callee, so the iteration runs plainly. In the outermost loop's own frame a
        side exit does better, and where that is a callee's itself, to capture it by itself does."""
        machine, tracer = self.machine, self.machine.tracer
        if reason not in _PLAIN_WORK or not tracer.in_loop:
            return
        outermost = machine.attempts[0].frame if machine.attempts else None
        if outermost is tracer.frames[0] and outermost is not self.frame:
            tracer.plans[tracer.regions[0].key].declining.add(key)
            raise Retry

    def _declines(self, condition: GoesOn) -> bool:
        """Go on with one way from the jump at hand where the program declines on the other (`_decline`, `fork`)."""
        frame, tracer = self.frame, self.machine.tracer
        index, instr = frame.index, frame.code.instrs[frame.index]
        ways = tracer.plans[tracer.regions[0].key].declining if tracer.in_loop else ()
        keys = (self._key(), place_of(frame.code))
        truth = next((truth for truth in (True, False) if any((*key, index, truth) in ways for key in keys)), None)
        if truth is None or instr.target is None:
            return False
        number = as_number_here(self.machine, condition)
        tracer.require(simplify(negate(number)) if truth else number)
        frame.stack.pop()
        frame.line = instr.position[0] or frame.line
        frame.index = index + 1 if truth == (instr.op in _IF_TRUE) else instr.target
        return True

    def _avoids(self, condition: GoesOn) -> bool:
        """Go on with one way from the jump at hand where no native iteration goes the other one."""
        frame, tracer = self.frame, self.machine.tracer
        if not tracer.tells_pauses(condition):
            return False
        assert not isinstance(condition, Node)
        index, instr = frame.index, frame.code.instrs[frame.index]
        avoided = tracer.plans[tracer.regions[0].key].avoided
        truth = next((truth for truth in (True, False) if (*self._key(), index, truth) in avoided), None)
        if truth is None and self.way is None and not self.ends and not is_long(tracer.regions[0]):
            truth = self._expects_print(avoided)
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
        frame.index = index + 1 if truth == (instr.op in _IF_TRUE) else instr.target
        if all(region.given is True for region in tracer.regions):
            for region in tracer.regions:
                region.graph.facts.learn(condition, not truth)
        return True

    def _expects_print(self, avoided: dict[LoopKey, tuple[str, str, int]]) -> bool | None:
        """The way from the jump at hand that is certain to come to a print, noted among those that break the graph."""
        frame, root = self.frame, self.machine.tracer.frames[0]
        code, index, instr = frame.code, frame.index, frame.code.instrs[frame.index]
        assert instr.target is not None
        prints = {}
        for truth, begin in ((instr.op in _IF_TRUE, instr.target), (instr.op not in _IF_TRUE, index + 1)):
            call = plain_call_ahead(code, begin, frame.namespace, {})
            if call is not None and call[1] is print:
                prints[truth] = code.instrs[call[0]].position[0]
        if len(prints) != 1:
            return None
        ((truth, line),) = prints.items()
        if root is not frame or line is None:
            line = root.line or root.code.firstlineno
        avoided[(*self._key(), index, truth)] = "output", "print", line
        return truth

    def _key(self) -> tuple[Any, ...]:
        regions = self.machine.tracer.regions
        return regions[-1].key if regions else ()

    def _restore(self, locals_: dict[str, Value], contents: dict[str, Value | None], stack: list[Value]) -> None:
        self.frame.locals.clear()
        self.frame.locals.update(locals_)
        for name, value in contents.items():
            self.frame.cells[name].contents = value
        self.frame.stack[:] = stack

    # -- merging ----------------------------------------------------------------------------------

    def _merge(
        self,
        condition: GoesOn,
        then: _End,
        orelse: _End,
        join: int | None,
        before: Snapshot,
        refuse: Refuse,
        objects: frozenset[int],
    ) -> GoesOn | None:
        """The state behind both ways; whether the loop goes on, where they meet at the end of the iteration.
        before: what places held where the ways part; objects: by id the containers that there were. refuse: what to do
        where they leave what does not fit."""
        frame, tracer = self.frame, self.machine.tracer
        own = {id(cell) for cell in frame.cells.values()}
        merge = merge_of(self.machine.tracer, refuse, then.region, orelse.region, objects)
        live = liveness(frame.code)
        wanted = [self._live(end, join, live) for end in (then, orelse)]
        locals_: dict[str, Value] = {}
        for name in {**then.locals, **orelse.locals}:
            pair = then.locals.get(name), orelse.locals.get(name)
            if name not in wanted[0] | wanted[1] and self._dies_on_one(pair):
                refuse("loop-state", f"what the local {name} held, which one branch of an if lets go")
            reads = name in wanted[0], name in wanted[1]
            if tracer.in_loop and self._unbinding([then, orelse], join) is None:
                pair = or_unbound(merge, pair, reads)
            value = merge.local(name, pair, reads)
            if value is not None:
                locals_[name] = value
        live = cell_liveness(frame.code)
        kept = [self._live(end, join, live) | then.shared | orelse.shared for end in (then, orelse)]
        contents: dict[str, Value | None] = {}
        for name, first in then.contents.items():
            pair = first, orelse.contents[name]
            if name not in kept[0] | kept[1] and self._dies_on_one(pair):
                refuse("loop-state", f"what the local {name} held, which one branch of an if lets go")
            contents[name] = merge.local(name, pair, (name in kept[0], name in kept[1]))
        places: list[tuple[Value, Any, Value | None]] = []
        for owner, key in changed(tracer, before, then.held) + changed(tracer, before, orelse.held):
            if isinstance(owner, IteratorValue):  # where one way has ended the loop that it is of, it is the other's
                ends = [end.held[owner][key] for end in (then, orelse) if owner in end.held]
                if len(ends) == 2 and changed(tracer, {owner: then.held[owner]}, {owner: orelse.held[owner]}):
                    if not self._is_held(owner, (then, orelse), wanted[0] | wanted[1]):
                        continue  # the loop that it is of was left, on one way
                    refuse("loop-state", "a list, dict or iterator that a branch changes")
                places += [(owner, key, end) for end in ends]
            elif id(owner) not in own and not any((owner, key) == known[:2] for known in places):
                pair = place_at(tracer, owner, key, then.held), place_at(tracer, owner, key, orelse.held)
                places.append((owner, key, merge.local(str(key), pair, (True, True))))
        if not made_alike(tracer, [known[:2] for known in places], before, [then.held, orelse.held]):
            refuse("loop-state", "names that two ways make in another order")
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
        read = [value for name, value in locals_.items() if name in wanted[0] | wanted[1]]
        require_alone(tracer, frame, list(dict.fromkeys(merge.gone)), read, refuse)
        if join is not None:
            frame.index = join
        if isinstance(goes_on, int) and not isinstance(goes_on, bool):  # the place of a number that the choice yields
            assert node is not None
            goes_on = node.params["yields"][goes_on]
        return goes_on

    def _is_held(self, iterator: IteratorValue, ends: tuple[_End, _End], live: frozenset[str]) -> bool:
        """Whether something has an iterator behind one of two ways, where these locals are read."""
        frame, state = self.frame, (self.frame.locals, self.frame.stack)
        held = False
        for end in ends:
            frame.locals = {name: value for name, value in end.locals.items() if name in live}
            frame.stack = end.stack
            held |= iterator in reachable(self.machine.tracer)
        frame.locals, frame.stack = state
        return held

    def _dies_on_one(self, pair: tuple[Value | None, Value | None]) -> bool:
        """Whether a local of the segment's own frame, which nobody reads any more, holds on one of two ways alone what
        the segment began with, and the death of that may be noticed: nothing would hold it behind both."""
        tracer = self.machine.tracer
        if pair[0] is pair[1] or tracer.in_loop or self.frame is not tracer.frames[0]:
            return False
        for value in self.machine.slots.values():
            if isinstance(value, LazyValue) and (value in pair or (value.known is not None and value.known in pair)):
                assert value.source is not None
                if not is_quiet(tracer, value.source, value.concrete):
                    return True
        return False

    def _live(self, end: _End, join: int | None, live: Live) -> frozenset[str]:
        """The locals, or cells, that may be read behind the end of a way. live: which are before each instruction."""
        if join == _END:
            around = (self.header, self.exit) if self.header >= 0 else ()
            return frozenset().union(*(live[place] for place in (*self.ends, *around)), (self.number,))
        if join is not None:
            return live[join]
        after = frozenset((self.number, index_name(self.header))) if self.side_exits else frozenset()
        if end.goes_on is not False:
            after |= live[self.header]
            if self.iterator is not None:
                after |= live[self.exit]
        return after.union(*(live[place] for place in end.places))

    def _goes_on(self, condition: GoesOn, then: _End, orelse: _End, merge: Merge) -> GoesOn:
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
            as_number(self.machine.tracer, end.region, goes_on) for end, goes_on in ((then, first), (orelse, second))
        ]
        return merge.number(numbers[0], numbers[1])


@dataclass(eq=False)
class CalleeWalk(Walk):
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

    def _live(self, end: _End, join: int | None, live: Live) -> frozenset[str]:
        return frozenset() if join is None else super()._live(end, join, live)


def _call_in_loop(machine: Machine, frame: Frame) -> Value:
    """What a call of a Python function inside a loop returns."""
    walk = CalleeWalk(machine, frame, frozenset(range(len(frame.code.instrs))), -1, break_, -1, None)
    walk.run()
    return frame.stack.pop()


CALLEES.append(_call_in_loop)


__all__ = ["CalleeWalk", "GoesOn", "Walk"]
