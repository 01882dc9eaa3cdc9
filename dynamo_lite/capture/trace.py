"""trace: one call of one function, captured. The public entry of the capture stage.

Enters: a Python function and the objects in its argument slots. Leaves: a Capture, or SkipFrame when there is nothing
to gain or the frame cannot be captured. When an instruction breaks that may have begun its work, a second run stops
in front of it (machine.py).
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any

from dynamo_lite import _C, budget, ops
from dynamo_lite.capture.arrays.parts import check_parts
from dynamo_lite.capture.arrays.warned import ReportingPlace
from dynamo_lite.capture.branches.forks import refuse_fork
from dynamo_lite.capture.branches.sameness import held_cells
from dynamo_lite.capture.calls import numpy_functions, object_functions, opaque, operator_functions
from dynamo_lite.capture.handlers import families
from dynamo_lite.capture.iteration import item_rules, search_rules, sums
from dynamo_lite.capture.lists.cells import alone
from dynamo_lite.capture.lists.kept_arrays import check_kept
from dynamo_lite.capture.lists.listed_objects import state_listed
from dynamo_lite.capture.lists.listed_scalars import check_inside, check_outputs
from dynamo_lite.capture.lists.lists import check_others, state_others
from dynamo_lite.capture.lists.object_lists import try_objects
from dynamo_lite.capture.lists.whole_lists import check_unchanged
from dynamo_lite.capture.loops import lessons
from dynamo_lite.capture.loops.candidates import begin_apart, begins_plainly, count_first_rounds, may_share
from dynamo_lite.capture.loops.leaving import reads_frame
from dynamo_lite.capture.loops.plan import LoopKey, LoopPlan
from dynamo_lite.capture.loops.unbound import may_be_unbound
from dynamo_lite.capture.machine import Machine, Stop, root_frame
from dynamo_lite.capture.numbers import math_functions
from dynamo_lite.capture.objects.places import check_variables, state_owners, stores
from dynamo_lite.capture.scopes import changes_filters, is_told
from dynamo_lite.capture.segments.kept import kept_locals
from dynamo_lite.capture.segments.residual import TAKEN, Pending, Residual
from dynamo_lite.capture.segments.restraints import Restraints, place_in, place_of
from dynamo_lite.capture.segments.targets import Target, comes_back
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import CellStored, Frame, GeneratorEscapes, Retry, SkipFrame, StoresShow, Tracer
from dynamo_lite.capture.value import ArrayValue, Break, IteratorValue, NumberValue, Value
from dynamo_lite.capture.wrap import number_sources, read_cell, realise
from dynamo_lite.config import Config
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import acts, is_structured
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.pycode import (
    LETS_NOBODY_IN,
    OPCODES,
    Code,
    Instr,
    Operand,
    Position,
    assemble,
    begins_at,
    begins_rest,
    decoded,
    handlers_at,
    handles_exception,
    has_handlers,
    leaves_with,
    liveness,
    skeleton,
)
from dynamo_lite.pycode.flow import cells_named_alike, hidden, natural_loop

MAX_LOCALS = 5000  # what follows them takes time that grows with their square
MAX_ATTEMPTS = 64  # of keeping loops loops, in one capture
_REFUSED = {0x20: "generator", 0x80: "coroutine", 0x100: "coroutine", 0x200: "coroutine"}


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A graph break: its reason (breaks.py), and where it stands."""

    reason: str
    detail: str
    filename: str
    line: int
    function: str
    inside: tuple[str, int, str] | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """What one segment became. guards: operations for _C.Guards; inputs: the registers of the graph's inputs.
    exits: by the number of a LEAVE node, residual code for when the program ends there.

    residual None: the program's first output is the return value. ends: "return", "break" or "rest" (the rest of the
    frame is plain Python). jumps: what `jump` made, one for each way out. loops: those that were met, and their fate.
    stores: residual code stores to objects from outside, until when no interrupt is let in. reporting: places where
    floating-point errors may be reported, at which the program declines. defers: see CacheEntry.
    """

    graph: Graph
    guards: list[tuple[Any, ...]]
    inputs: tuple[int, ...]
    example_inputs: tuple[Any, ...]
    residual: types.FunctionType | None
    ends: str
    break_: GraphBreak | None
    jumps: tuple[Any, ...]
    loops: tuple[LoopPlan, ...] = ()
    exits: tuple[types.FunctionType, ...] = ()
    stores: bool = False
    reporting: tuple[ReportingPlace, ...] = ()
    defers: int = 0

    @property
    def computes(self) -> bool:
        """Whether there is anything to run: an output, a store, or an operation that has to run all the same."""
        return bool(self.graph.outputs) or any(
            node.kind is NodeKind.STORE
            or (node.kind is NodeKind.CALL and ops.has_to_run(node))
            or acts(node, ops.has_to_run)
            for node in self.graph.nodes
        )

    @property
    def pauses(self) -> bool:
        """Whether some loop is left for single iterations, which only a native program does."""
        return any("pause" in node.params for node in self.graph.nodes)

    @property
    def is_native(self) -> bool:
        """Whether only a native program does what it does."""
        return self.pauses or changes_filters(self.graph)

    @property
    def only_scalars(self) -> bool:
        """Whether no operation works on more than one element: a program could not win what its launch costs."""
        calls = [node for node in self.graph.nodes if node.kind is not NodeKind.INPUT]
        if any(map(is_structured, calls)):
            return False
        return all(
            isinstance(node.type, ArrayType) and (node.type.scalar or ops.REGISTRY[node.op].kind is ops.OpKind.VIEW)
            for node in calls
            if node.kind is NodeKind.CALL
        ) and not any(isinstance(arg, Node) and arg.array_type.ndim for node in calls for arg in _computing(node))


def _computing(node: Node) -> tuple[Any, ...]:
    """The operands that a node reads element by element."""
    if node.kind is NodeKind.CALL and ops.REGISTRY[node.op].kind is ops.OpKind.VIEW:
        return ()
    return node.args


def trace(
    function: types.FunctionType,
    slots: tuple[Any, ...],
    jump: Callable[[Target], Any],
    config: Config,
    owns_slots: bool = False,
    pauses: bool = True,
    constants: bool = True,
    restraints: Restraints | None = None,
) -> Capture:
    """Capture a call of `function` with `slots` (its argument slots in order). `jump` makes the callable that
    residual code calls to continue at a Target. owns_slots: nobody else holds the slots (a resume function's).
    pauses: loops may be left for single iterations. constants: numbers that live with a module are constants (wrap.py).
    restraints: what earlier captures of the function have found to be too much work, to which this one adds.
    Raises SkipFrame where the frame cannot be captured."""
    tracers: list[Tracer] = []
    known = Restraints() if restraints is None else restraints
    given = function, slots, config, owns_slots, pauses, constants, known, tracers
    try:
        return _captured(_Attempts(*given, inline_generators=True), jump)
    except GeneratorEscapes:
        return _captured(_Attempts(*given, inline_generators=False), jump)
    finally:
        for used in tracers:
            used.release()


def _is_handling(stop: Stop, code: Code) -> bool:
    """Whether the graph broke where an exception is handled, or may be, or is raised again."""
    return stop.reason == "python-exception" or handles_exception(code, stop.index)


def _readable(function: types.FunctionType) -> Code:
    """The code of a function whose frames can be captured."""
    flags = function.__code__.co_flags
    for flag, reason in _REFUSED.items():
        if flags & flag:
            raise SkipFrame(reason, function.__qualname__)
    if function.__code__.co_nlocals > MAX_LOCALS:
        raise SkipFrame("too-many-locals", str(MAX_LOCALS))
    code = decoded(function.__code__)
    if twins := cells_named_alike(code):
        raise SkipFrame("cell-variables", ", ".join(twins))
    return code


class _Attempts:
    """Attempts at capturing one call. Each begins at the entry again, by what those before it have found out: in the
    plans of loops, the sets of places that the tracers share, and the flags here."""

    def __init__(
        self,
        function: types.FunctionType,
        slots: tuple[Any, ...],
        config: Config,
        owns_slots: bool,
        pauses: bool,
        constants: bool,
        restraints: Restraints,
        tracers: list[Tracer],
        inline_generators: bool,
    ) -> None:
        self.code = _readable(function)
        self.function, self.slots, self.config, self.restraints = function, slots, config, restraints
        self.owns_slots, self.pauses, self.constants = owns_slots, pauses, constants
        self.inline_generators = inline_generators
        self.names = slot_names(function.__code__)
        self.tracers, self.before = tracers, len(tracers)
        self.plans: dict[LoopKey, LoopPlan] = {}
        self.starts: set[int] = set()
        self.firsts: set[int] = set()
        self.forks: set[Any] = set()
        self.keyed: set[Source] = set()
        # NB: without what this capture finds, which has most of the loop by then
        self.headers = frozenset(restraints.shared)
        self.native_loops = True
        self.shows_locals, self.stores_cells = False, False
        self.defers, self.scopes, self.catches, self.grows = True, True, True, True

    def until_settled(self) -> tuple[Tracer, Frame, Value | Stop | None]:
        """Run attempts until one teaches nothing more: that one."""
        config = self.config
        while True:
            native_loops = config.native_loops and not self.shows_locals
            native_loops = native_loops and len(self.tracers) - self.before < MAX_ATTEMPTS
            # NB: a loop that stays one hides places to break at
            self.native_loops = native_loops and config.stress != "break"
            for plan in self.plans.values():
                plan.stayed |= plan.outcome == "native"
                plan.outcome = ""
            try:
                tracer, frame, result = self._run(None)
                self._check(tracer, result)
            except Retry:
                self.grows &= not self.tracers[-1].is_read_behind
            except StoresShow:
                self.defers = False
            except CellStored:
                self.stores_cells = True
            else:
                if not self._teaches(tracer, frame, result):
                    return tracer, frame, result

    def up_to(self, stop: Stop) -> tuple[Tracer, Frame]:
        """Run once more as the last attempt, up to the instruction at which it stopped.
        INVARIANT: nothing was found out since."""
        tracer, frame, again = self._run(stop.step)
        if again is not None:  # a thread, a signal's handler or a finalizer has changed something meanwhile
            assert not self.config.check or _C.has_other_threads(), "capture is not deterministic"
            raise budget.ChangedMeanwhile
        return tracer, frame

    def _run(self, stop_at: int | None) -> tuple[Tracer, Frame, Value | Stop | None]:
        config, function, restraints = self.config, self.function, self.restraints
        tracer = Tracer(
            *(config.node_limit, config.unroll_limit, self.native_loops, self.plans, self.pauses),
            *(self.constants, restraints, self.defers, self.scopes),
        )
        self.tracers.append(tracer)
        if restraints.lengths is not None:
            tracer.lengths = restraints.lengths.setdefault(function.__code__, {})
        if self.native_loops:
            tracer.numbered = restraints.numbered.setdefault(function.__code__, {})
        tracer.outer_cells = {} if self.stores_cells else None
        tracer.catches, tracer.grows = self.catches, self.grows
        may_fork = config.native_branches and config.stress != "break" and not self.shows_locals
        tracer.forks = self.forks if may_fork else None
        tracer.starts, tracer.firsts, tracer.keyed = self.starts, self.firsts, self.keyed
        tracer.is_repeated = stop_at is not None
        tracer.facts.state_globals(function.__globals__)
        frame = root_frame(tracer, function, self.code, self.slots, self.names)
        break_everywhere = config.stress == "break" and stop_at is None
        may_join, joins = function.__code__ in restraints.sides, _never
        if may_join or self.starts or self.headers:
            joins = functools.partial(_joins, tracer, may_join, self.headers)
        machine = Machine(tracer, break_everywhere, self.inline_generators, self.owns_slots, joins)
        try:
            with budget.work(math.inf if stop_at is not None else config.work_limit):
                return tracer, frame, machine.run_root(frame, stop_at)
        except budget.OutOfWork:
            return tracer, frame, _restrain(tracer, machine)
        except Retry:
            begin_apart(machine)
            raise

    def _check(self, tracer: Tracer, result: Value | Stop | None) -> None:
        """Raise Retry where the whole attempt shows that a part of it was taken wrongly."""
        is_of_list = isinstance(result, Stop) and result.reason == "loop-list" and self.native_loops
        if is_of_list and not any(plan.cells for plan in self.plans.values()):  # those are faster
            try_objects(tracer, "loop-list")
        check_variables(tracer)
        state_listed(tracer)
        check_parts(tracer)
        check_unchanged(tracer)
        check_others(tracer)
        check_inside(tracer, isinstance(result, Stop))
        check_kept(tracer)

    def _teaches(self, tracer: Tracer, frame: Frame, result: Value | Stop | None) -> bool:
        """Whether how an attempt has ended says that another one is to be made otherwise."""
        if tracer.is_read_behind:  # let the list that is appended to end a segment, so that the next one can know it
            self.grows = False
            self.plans.clear()
            return True
        if (isinstance(result, Stop) and tracer.depth) or (tracer.filtered and is_told(tracer.root)):
            self.scopes = False  # nobody could go on inside of the scope
            return True
        if not isinstance(result, Stop):
            return False
        if tracer.caught and _is_handling(result, self.code):
            self.catches = False
            return True
        header = begins_plainly(tracer, frame) if self.native_loops else None
        if header is not None:
            self.firsts.add(header)
            self.starts.add(header)
            return True
        if self.native_loops and self._unpeels(result):
            return True
        # A loop drops the locals that nobody reads behind it; a traceback shows them.
        if self.shows_locals or result.reason != "python-exception" or not (tracer.indices or tracer.forked):
            return False
        self.shows_locals = True
        return True

    def _unpeels(self, stop: Stop) -> bool:
        """Whether loops whose first iteration ran before them have none behind the break, where they are no loops any
        more: that iteration is not to run before them, or they are refused."""
        # NB: where a peeled round of a `while` breaks by itself, its test say, the next segment has the others.
        peeled = {"begun", "tested"} if stop.inside is not None else {"begun"}
        begun = [plan for key, plan in self.plans.items() if plan.outcome in peeled and not _goes_on(self.plans, key)]
        for plan in begun:
            if plan.peel and not plan.unpeeled:
                plan.peel, plan.unpeeled = 0, True
            else:
                plan.refused = stop.reason, stop.detail
        return bool(begun)


class _Ending:
    """How a segment ends: the residual code of an attempt that is settled, and what goes on where."""

    def __init__(self, attempts: _Attempts, tracer: Tracer, frame: Frame, jump: Callable[[Target], Any]) -> None:
        jumps: list[Any] = []

        def remember(target: Target) -> Any:
            jumps.append(jump(target))
            return jumps[-1]

        # NB: a method would make a cycle with the residual code that calls it, in which the caller's objects live on
        self.remember, self.jumps = remember, jumps
        self.attempts, self.tracer, self.frame = attempts, tracer, frame
        self.record: GraphBreak | None = None
        self.ends, self.only_jumps = "return", False
        self.residual = self._begun()
        self.residual.stores = stores(tracer) if tracer.stored else None

    def _begun(self) -> Residual:
        namespace = self.attempts.function.__globals__
        sources, changed = number_sources(self.tracer), changed_lists(self.tracer)
        return Residual(self.attempts.code, namespace, self.remember, inputs=sources, changed=changed)

    def returns(self, result: Value | None) -> None:
        """The frame returns that."""
        frame, residual = self.frame, self.residual
        given: Argument | None = None
        if residual.stores is None and isinstance(result, ArrayValue) and result.source is None:
            given = result.node
        elif residual.stores is None and isinstance(result, NumberValue) and residual.is_computed(result):
            given = result.expr
        if given is not None:  # the program's first output
            residual.output(given)
            namespace = self.attempts.function.__globals__
            self.residual = Residual(self.attempts.code, namespace, self.remember, residual.outputs)
            return
        assert isinstance(result, Value)
        residual.alone = _alone(residual, [result], {}, frozenset())
        residual.returns(result, self.attempts.code.instrs[frame.index - 1].position)

    def _variables(self) -> tuple[dict[str, Value], frozenset[str]]:
        """What locals, and variables that inner functions share, hold at the break; and which are shared.

        A resume function makes cells of its own, with the same contents; but for those that a function which lives on
        has, which it takes over."""
        code, frame, residual = self.attempts.code, self.frame, self.residual
        index = frame.index
        instr = code.instrs[index]
        own = {name: cell for name, cell in frame.cells.items() if name in code.cellvars}
        residual.cells = held_cells(frame, own)
        shared = {name: cell.contents for name, cell in own.items() if cell.contents and name not in residual.cells}
        on_cell = OPCODES[instr.op].operand is Operand.CELL and instr.arg in code.cellvars
        if on_cell and instr.arg in residual.cells and instr.op in ("STORE_DEREF", "DELETE_DEREF"):
            contents = read_cell(residual.cells[instr.arg])
            on_cell = instr.op == "DELETE_DEREF" and contents is None  # which raises
            if contents is not None and contents.source is not None:
                self.tracer.facts.register(contents.source)
        if code.cellvars and (on_cell or hidden(code)[index]):
            raise SkipFrame("cell-variables", ", ".join(code.cellvars))
        variables = frame.locals | shared
        assert not any(map(may_be_unbound, variables.values()))
        return variables, frozenset(shared)

    def _guard_callee(self) -> None:
        """That a call breaks is a fact about what is called: another callable gets another capture."""
        frame = self.frame
        instr = self.attempts.code.instrs[frame.index]
        about = frame.stack[-1:] if instr.op in ("LOAD_ATTR", "LOAD_METHOD") else []
        if instr.op in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            callee = len(frame.stack) - OPCODES[instr.op].effect.popped(instr.arg)
            about = frame.stack[callee : callee + 2]
        for value in about:
            with suppress(Break):  # what a list holds, whose length is not to be guarded any more, does not matter
                realise(self.tracer, value)

    def breaks(self, stop: Stop) -> None:
        """The graph breaks at an instruction of the frame."""
        attempts, tracer, frame, residual = self.attempts, self.tracer, self.frame, self.residual
        code, names, index = attempts.code, attempts.names, frame.index
        instr = code.instrs[index]
        variables, shared = self._variables()
        self._guard_callee()
        line = instr.position[0] or code.firstlineno
        if stop.reason != "joins":
            self.record = GraphBreak(stop.reason, stop.detail, code.filename, line, code.name, stop.inside)
        runs = instr.op in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER")
        is_first = begins_at(code, index) or begins_rest(code, index)  # the segment that would go on there is this one
        plain_rest = handlers_at(code, index) is not None or _enters_with(code, index)
        self.ends = "rest" if plain_rest else "break"
        # What is certain to raise shows the frame, with all of its locals, in its traceback.
        live = frozenset(variables) if stop.reason == "python-exception" else liveness(code)[index] | shared
        if frame.side_exits is not None:
            lives = [kept | shared for kept in liveness(code)] if shared else liveness(code)
            residual.goes_on_at_side_exits(frame.side_exits, index, frame.stack, variables, lives, names)
            self.only_jumps = True
            return
        residual.alone = _alone(residual, frame.stack, variables, live)
        if (
            stop.reason in ("loop-pauses", "joins")
            or (_is_taken_up(stop, frame, instr) and not plain_rest)
            or (stop.reason == "work-limit" and not plain_rest and not runs and not is_first)
        ):
            residual.first = index in attempts.firsts and stop.reason == "joins"
            if residual.first:
                residual.call(count_first_rounds(tracer, frame).note, [])
                residual.emit("POP_TOP")
            residual.goes_on(index, frame.stack, variables, live, names)
            self.only_jumps = True
            return
        formats = stop.reason == "format-string"
        residual.breaks(index, frame.stack, variables, live, names, plain_rest, formats)
        if leaves_with(code, index) and not plain_rest:
            if _calls_before(residual):  # which would let others in
                plain_rest = True
                self.residual = self._begun()
                self.residual.stores, self.residual.cells = residual.stores, residual.cells
                self.residual.alone = residual.alone
                self.jumps.clear()
                self.residual.breaks(index, frame.stack, variables, live, names, plain_rest, formats)
            else:
                residual.pending.insert(0, Pending("RESUME", LETS_NOBODY_IN, position=code.entry))
        self.only_jumps = plain_rest
        if plain_rest and comes_back(self.jumps[-1]):
            self.ends = "break"


def _captured(attempts: _Attempts, jump: Callable[[Target], Any]) -> Capture:
    function, code, names, plans = attempts.function, attempts.code, attempts.names, attempts.plans
    tracer, frame, result = attempts.until_settled()
    lessons.remember(attempts.restraints, plans.values(), function.__globals__)
    if isinstance(result, Stop):
        if result.reason == "frame-introspection":
            raise SkipFrame(result.reason, result.detail)
        if reader := reads_frame(code):
            raise SkipFrame("frame-introspection", reader)
        if not result.in_front:
            tracer, frame = attempts.up_to(result)
    ending = _Ending(attempts, tracer, frame, jump)
    if isinstance(result, Stop):
        ending.breaks(result)
    else:
        ending.returns(result)
    graph, residual = tracer.root, ending.residual
    graph.outputs = list(residual.outputs)
    made = make_residual(function, code, names, residual) if residual.pending else None
    exits = make_exits(function, code, names, tracer, jump, ending.jumps)
    check_outputs(tracer)
    tracer.canonicalise(graph)
    state_distinct(tracer)
    state_others(tracer)
    state_owners(tracer)
    state_listed(tracer)
    for source in residual.loaded:  # it exists, or plain Python raises in its place, before any store
        tracer.facts.register(source)
    registers = tuple(tracer.facts.register(source) for source in tracer.inputs)
    examples = tuple(tracer.example_inputs)
    for plan in plans.values():
        for learned in (plan.eithers, plan.replaced, plan.places, plan.steps, plan.numbers, plan.fixed, plan.guessed):
            learned.clear()  # which may refer to the caller's objects
    return Capture(
        graph,
        tracer.facts.ops,
        registers,
        examples,
        made,
        ending.ends,
        ending.record,
        tuple(ending.jumps),
        tuple(plan for plan in plans.values() if plan.outcome not in ("", "tested")),
        exits,
        bool(tracer.stored),
        tuple(tracer.reporting.values()),
        (_C.abi.DEFERS_ALL if ending.only_jumps else 1) if has_handlers(code) else 0,
    )


def _alone(residual: Residual, stack: list[Value], variables: dict[str, Value], live: frozenset[str]) -> set[Value]:
    """The items of lists that residual code loads without the lists."""
    stored = [part for owner, _, value in residual.stores or () for part in (owner, value)]
    cells = residual.cells.values()
    shown = [*stack, *stored, *cells]
    return alone([*shown, *kept_locals(variables, live, shown).values()])


def _enters_with(code: Code, index: int) -> bool:
    """Whether instruction `index` enters a `with` block, or gives what the next one enters: what is raised from there
    on is handled, and what is plain comes back within the block."""
    return any(instr.op in ("BEFORE_WITH", "BEFORE_WITH_SELF") for instr in code.instrs[index : index + 2])


def _calls_before(residual: Residual) -> bool:
    """Whether residual code that leaves a `with` calls something before that: the first call is not this one."""
    instrs = [item for item in residual.pending if isinstance(item, Pending)]
    first = next(at for at, item in enumerate(instrs) if item.op.startswith("CALL"))
    return instrs[first].op != "CALL" or instrs[first].arg != 2 or instrs[first + 1].op != "POP_TOP"


def _is_taken_up(stop: Stop, frame: Frame, instr: Instr) -> bool:
    """Whether the segment ends in front of a `for` over a list that it has made, whose items the next one can know."""
    iterator = frame.stack[-1] if frame.stack else None
    return (
        stop.reason == "loop-list"
        and instr.op == "FOR_ITER"
        and isinstance(iterator, IteratorValue)
        and iterator.is_rest
    )


def _joins(tracer: Tracer, may_join: bool, shared: Set[tuple[Any, ...]], frame: Frame) -> bool:
    """Whether another segment begins where `frame` is: that of a loop which works on what this one computes, or to
    which several ways lead; or a side of a branch ends there, lest all that follows be compiled a second time."""
    code, index = frame.code, frame.index
    if index in tracer.starts:
        return True
    place = place_in(code, index)
    known = tracer.restraints.joins.get(place, set()) if may_join else set()
    if not known and place not in shared:
        return False
    if tracer.depth or code.cellvars or begins_at(code, index) or handlers_at(code, index) is not None:
        return False
    if place in shared and may_share(code, index):
        return True
    bound = kept_locals(frame.locals, liveness(code)[index], frame.stack).keys()
    return any(one.is_reached(len(frame.stack), bound, liveness(code)[index]) for one in known)


def _goes_on(plans: dict[LoopKey, LoopPlan], begun: LoopKey) -> bool:
    """Whether a loop whose first iteration ran before it is native behind that: in an arm of a branch in there, say,
    where that has not left the loop."""
    *place, around = begun
    return any(
        plan.outcome == "native" and [*key[:-1]] == place and key[-1][: len(around)] == around
        for key, plan in plans.items()
    )


def _never(frame: Frame) -> bool:
    return False


def _restrain(tracer: Tracer, machine: Machine) -> Stop:
    """What to do about a capture that has run out of work at some instruction of the root frame: end it there, or raise
    Retry for another one that inlines or unrolls less.

    In order: a function that was being inlined into itself, a loop of the root frame that was being unrolled (the
    outermost), what the root frame called, a loop that was to stay one."""
    root, *inlined = tracer.frames
    restraints = tracer.restraints
    places = [place_of(frame.code) for frame in tracer.frames]
    repeated = [place for place in places if places.count(place) > 1]
    headers = sorted(
        header
        for header, count in root.rounds.items()
        if count > 1 and root.index in natural_loop(root.code, header, False) | {header}
    )
    if tracer.forking is not None:
        refuse_fork(tracer)
    if repeated:
        restraints.recursive.add(repeated[0])
    elif headers and not tracer.regions:
        restraints.loops.add(place_of(root.code, headers[0]))
    elif inlined:
        restraints.own.add(places[1])
    elif tracer.regions:
        tracer.plans[tracer.regions[0].key].refused = "work-limit", "the loop"
    else:
        return Stop(machine.root_steps, machine.root_index, "work-limit", "the program up to here", None)
    raise Retry


def slot_names(code: types.CodeType) -> tuple[str, ...]:
    """The names of a code object's argument slots, in order."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


def state_distinct(tracer: Tracer) -> None:
    """Arrays that are written must not be the same object as another input (overlap is the launcher's check)."""
    arrays = [node for node in tracer.root.inputs if isinstance(node, Node) and not node.array_type.scalar]
    for written in tracer.written:
        for other in arrays:
            if written is not other and written in arrays:
                first = tracer.inputs[written.params["index"]]
                second = tracer.inputs[other.params["index"]]
                tracer.facts.state_pair("distinct", first, second)


def bind_slots(function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The argument slots of a call, as CPython would fill them; raises TypeError as the call would."""
    bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments[name] for name in slot_names(function.__code__))


def empty_closure(code: types.CodeType) -> tuple[types.CellType, ...]:
    """Cells for a function that the dispatcher binds anew at each call: it must not keep the first caller's alive."""
    return tuple(types.CellType() for _ in code.co_freevars)


def changed_lists(tracer: Tracer) -> frozenset[Source]:
    """The lists from outside whose items the program may have put elsewhere."""
    return frozenset(one.at for one in tracer.listed if one.at is not None and tracer.changes_lists)


def make_exits(
    function: types.FunctionType,
    code: Code,
    names: tuple[str, ...],
    tracer: Tracer,
    jump: Callable[[Target], Any],
    jumps: list[Any],
) -> tuple[types.FunctionType, ...]:
    """Put a LEAVE behind each loop that may be left, and write the residual code for it; jumps grows."""
    if reads_frame(code):
        if any(exit_.loop.params.get("pause") for exit_ in tracer.exits):
            raise SkipFrame("frame-introspection", reads_frame(code) or "")
        return ()
    made: list[types.FunctionType] = []
    for exit_ in tracer.exits:
        own: list[Any] = []

        def remember(target: Target, own: list[Any] = own) -> Any:
            own.append(jump(target))
            return own[-1]

        kept = exit_.stores if tracer.stored else None
        cells = held_cells(exit_, exit_.cells)
        shared = {name: cell.contents for name, cell in exit_.cells.items() if cell.contents and name not in cells}
        sources = number_sources(tracer)
        changed = changed_lists(tracer)
        residual = Residual(code, function.__globals__, remember, [], sources, kept, cells=cells, changed=changed)
        variables, live = exit_.locals | shared, liveness(code)[exit_.index] | shared.keys()
        try:
            residual.goes_on(exit_.index, exit_.stack, variables, live, names)
        except (GeneratorEscapes, SkipFrame):
            if exit_.loop.params.get("pause"):
                raise
            continue  # nobody could go on there: the program declines
        for source in residual.loaded:
            tracer.facts.register(source)
        tracer.root.add_leave(exit_.loop, tuple(residual.outputs), len(made))
        made.append(make_residual(function, code, names, residual, (TAKEN,), code.instrs[exit_.index].position))
        jumps += own
    return tuple(made)


def make_residual(
    function: types.FunctionType,
    code: Code,
    names: tuple[str, ...],
    residual: Residual,
    first: tuple[str, ...] = (),
    entry: Position | None = None,
) -> types.FunctionType:
    """The function object of residual code. first: parameters before those for the outputs. entry: where the user's
    code stands meanwhile, if not at its begin: a signal's handler may raise there."""
    params = (*names, *first, *(f".o{i}" for i in range(len(residual.outputs))))
    head = skeleton(code.name, code.filename, code.firstlineno, params, qualname=code.qualname, freevars=code.freevars)
    # The user's order of locals shows, in the suggestions of a NameError for one.
    head = replace(head, varnames=(*params, *(name for name in code.varnames if name not in params)))
    if entry is not None:
        head = replace(head, entry=entry)
    made = assemble(head, residual.finish())
    return types.FunctionType(made, function.__globals__, function.__name__, None, empty_closure(made))


__all__ = [
    "Capture",
    "GraphBreak",
    "bind_slots",
    "empty_closure",
    "families",
    "item_rules",
    "math_functions",
    "numpy_functions",
    "object_functions",
    "opaque",
    "operator_functions",
    "search_rules",
    "slot_names",
    "sums",
    "trace",
]
