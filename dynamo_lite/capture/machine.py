"""The symbolic interpreter: runs canonical instructions on symbolic values.

Enters: a root frame whose locals are lazy values. Leaves: the value the root frame returns, or, where an instruction
cannot be captured, a ``Stop``, from which segments/residual.py goes on in plain Python.
A break is found by running into it; where the instruction may have begun its work, capture then starts again and stops
in front of it, so the state handed out never holds half of an instruction (the interpreter is deterministic).
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dynamo_lite import budget
from dynamo_lite._C import safe_point
from dynamo_lite.capture.calls.binding import bind_arguments
from dynamo_lite.capture.iteration import consumers
from dynamo_lite.capture.kinds import kind_name
from dynamo_lite.capture.lists.whole_lists import look_closer
from dynamo_lite.capture.loops.code import while_loops
from dynamo_lite.capture.segments.restraints import place_of
from dynamo_lite.capture.source import Source, constant, slot
from dynamo_lite.capture.state import Frame, Raised, Tracer
from dynamo_lite.capture.value import (
    Break,
    CellValue,
    ConstantValue,
    FunctionValue,
    GeneratorValue,
    GoneValue,
    InstanceValue,
    IteratorValue,
    LazyValue,
    NullValue,
    ObjectValue,
    RaisedValue,
    RangeValue,
    Value,
    lazy,
)
from dynamo_lite.capture.wrap import outer_cell, realise, wrap
from dynamo_lite.dataclass import dataclass
from dynamo_lite.pycode import ITEM, OPCODES, Code, Instr, decoded, element, handlers_at, runs_out
from dynamo_lite.pycode.code import free_operand

# Where stress mode "break" ends a segment: everything that computes.
_BREAKABLE = frozenset(
    {"BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "BINARY_SUBSCR", "STORE_SUBSCR", "LOAD_ATTR", "LOAD_METHOD", "CALL"}
    | {"CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER", "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNPACK_SEQUENCE"}
)

# Instructions that have changed nothing where they break for these reasons and no guard or node has come about.
_LOOKING = frozenset(
    {("POP_JUMP_IF_TRUE", "data-dependent-branch"), ("POP_JUMP_IF_FALSE", "data-dependent-branch")}
    | {("FOR_ITER", "loop-goes-on"), ("LOAD_ATTR", "unsupported-operation"), ("LOAD_METHOD", "unsupported-operation")}
)

# Rounds of a loop that is unrolled after which one looks how many are to come, and how much of the work that these have
# taken others are expected to take in any case.
_FORESEEN = {8: 0.5, 32: 0.75, 128: 1.0}

_REFUSALS = ("c-function", "random", "output")  # of calls of what nothing is known of

Handler = Callable[["Machine", Frame, Instr], None]
HANDLERS: dict[str, Handler] = {}
# Called in front of the header of a `while` loop: whether it has brought the frame behind the loop (loops.py).
LOOP_ENTRIES: list[Callable[[Machine, Frame], bool]] = []
# Whether the call of a callable breaks the graph at once, whatever its arguments are (call_rules.py).
OPAQUE: list[Callable[[Any], bool]] = []
# Runs an inlined frame inside a loop to its return, choices on data included (branches.py).
CALLEES: list[Callable[[Machine, Frame], Value]] = []
# Calls a function that the user allows in graphs (opaque.py).
ALLOWED: list[Callable[[Machine, types.FunctionType, list[Value], dict[str, Value]], Value]] = []

MAX_INLINE_DEPTH = 24
_NOT_INLINED = 0x20 | 0x80 | 0x100 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR


def handles(*opcodes: str) -> Callable[[Handler], Handler]:
    """Register the handler of canonical opcodes; it is spelled like the opcode."""

    def register(handler: Handler) -> Handler:
        for opcode in opcodes:
            assert opcode not in HANDLERS, opcode
            HANDLERS[opcode] = handler
        return handler

    return register


class Returned(Exception):
    """RETURN_VALUE in the innermost frame."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and why the root frame stopped: the count of root instructions run before, the instruction, and the reason.
    in_front: the state is the one in front of the instruction, so that capture need not be run again up to there; else
    the frame may be behind it."""

    step: int
    index: int
    reason: str
    detail: str
    inside: tuple[str, int, str] | None  # innermost inlined frame of the user's: filename, line, function
    in_front: bool = False


class Machine:
    """Interprets one root frame and the callees it inlines."""

    def __init__(
        self,
        tracer: Tracer,
        break_everywhere: bool = False,
        inline_generators: bool = True,
        owns_slots: bool = False,
        joins: Callable[[Frame], bool] = lambda frame: False,
    ) -> None:
        self.tracer = tracer
        self.owns_slots = owns_slots
        self.inline_generators = inline_generators
        self.break_everywhere = break_everywhere
        self.joins = joins
        self.entered: list[tuple[int, int]] = []  # frames and headers of the loops being traced, the innermost last
        self.spent = 0.0  # work, in front of the outermost of them
        self.attempts: list[Any] = []  # and what traces their bodies (loops.Attempt)

    # -- running ----------------------------------------------------------------------------------

    def run_root(self, frame: Frame, stop_at: int | None) -> Value | Stop | None:
        """Run the root frame: its return value, a Stop where it breaks, or None when `stop_at` steps have been run."""
        self.tracer.frames.append(frame)
        self.slots = dict(frame.locals)
        self.root_steps = step = 0
        depth = 1
        while True:
            self.root_index = frame.index
            if step == stop_at:
                return None
            if self.break_everywhere and frame.code.instrs[frame.index].op in _BREAKABLE:
                return Stop(step, frame.index, "requested", "(stress mode)", None, True)
            if frame.side_exits is not None:
                return Stop(step, frame.index, "loop-ways", f"line {frame.line}", None, True)
            if (step or frame.index in self.tracer.firsts) and self.joins(frame):
                return Stop(step, frame.index, "joins", "", None, True)
            subject = self._subject(frame)
            before = frame.index, frame.line, frame.stack[:], self._size()
            try:
                self.step(frame)
            except Returned as returned:
                return returned.value
            except Break as stop:
                look_closer(self.tracer, stop.reason)
                inside = None
                users = [one for one in self.tracer.frames[depth:] if one.namespace is not vars(consumers)]
                if users:
                    inner = users[-1]
                    inside = (inner.code.filename, inner.line or inner.code.firstlineno, inner.code.name)
                in_front = self._is_untouched(frame, stop.reason, subject, *before)
                return Stop(step, before[0], stop.reason, stop.detail, inside, in_front)
            self.root_steps = step = step + 1

    def _size(self) -> tuple[int, ...]:
        """How much has been captured, looked at and noted."""
        tracer, root = self.tracer, self.tracer.root
        seen = len(tracer.facts.ops), len(tracer.inputs), len(tracer.wrapped), len(tracer.namespaces)
        return len(root.nodes), len(root.facts.learned), len(tracer.regions), len(tracer.frames), *seen

    def _subject(self, frame: Frame) -> Value | None:
        """What the instruction at hand is about to call, or the module of which it takes an attribute, looked at as it
        would; None for other instructions."""
        instr = frame.code.instrs[frame.index]
        if instr.op in ("LOAD_ATTR", "LOAD_METHOD"):
            subject = frame.stack[-1]
            if not (isinstance(subject, LazyValue) and issubclass(type(subject.concrete), types.ModuleType)):
                return None
        elif instr.op in ("CALL", "CALL_KW"):
            first, second = frame.stack[-OPCODES[instr.op].effect.popped(instr.arg) :][:2]
            subject = second if isinstance(first, NullValue) else first
        else:
            return None
        with suppress(Break):  # which the instruction itself comes upon
            return realise(self.tracer, subject)
        return None

    def _is_untouched(
        self,
        frame: Frame,
        reason: str,
        subject: Value | None,
        index: int,
        line: int | None,
        stack: list[Value],
        size: tuple[int, ...],
    ) -> bool:
        """Whether the instruction that has broken the graph has done nothing but take something off the stack; puts
        that back. Only of instructions that then have changed nothing else either."""
        refused = isinstance(subject, ConstantValue) and reason in _REFUSALS
        refused = refused and any(is_opaque(subject.value) for is_opaque in OPAQUE)  # type: ignore[union-attr]
        if size != self._size() or not (refused or (frame.code.instrs[index].op, reason) in _LOOKING):
            return False
        frame.index, frame.line, frame.stack[:] = index, line, stack
        self.tracer.graph.interpreted -= 1
        return True

    def step(self, frame: Frame) -> None:
        """Run one instruction, or a loop that it heads."""
        budget.spend()
        safe_point()
        if frame.side_exits is not None:
            raise Break("loop-ways", f"line {frame.line}")
        if frame.index in frame.rounds and place_of(frame.code, frame.index) in self.tracer.restraints.loops:
            raise Break("work-limit", "another iteration of the loop")
        if frame.index in self.while_loops(frame.code) and any(enter(self, frame) for enter in LOOP_ENTRIES):
            return
        instr = frame.code.instrs[frame.index]
        handler = HANDLERS.get(instr.op)
        if instr.position[0] is not None:
            frame.line = instr.position[0]
        if handler is None:
            raise Break("unsupported-opcode", instr.op)
        index = frame.index
        frame.index += 1
        self.tracer.graph.interpreted += 1
        try:
            handler(self, frame, instr)
        except Raised as raised:
            if not self._catch(frame, raised):
                raise
        if frame.index <= index:
            frame.rounds[frame.index] = rounds = frame.rounds.get(frame.index, 0) + 1
            began = frame.began.setdefault(frame.index, budget.left())
            budget.repeat(began, _times_as_often(frame, rounds) if rounds in _FORESEEN else 1.0)

    def _catch(self, frame: Frame, raised: Raised) -> bool:
        """Go to the handler around the instruction, as Python does where it raises; whether there is one.

        NB: not in a frame around the loop or the choice that is being traced, whose body would end in the middle. In
        the segment's own frame a break while an exception is handled could not be resumed: capture begins again then.
        """
        frames, index = self.tracer.frames, frame.index - 1
        entry = handlers_at(frame.code, index)
        place = next(place for place, one in enumerate(frames) if one is frame)
        least = 0 if self.tracer.catches and not self.tracer.peeling and not self.tracer.regions else 1
        if entry is None or place < max([least, *(region.depth for region in self.tracer.regions)]):
            return False
        self.tracer.caught |= place == 0
        del frames[place + 1 :]  # callees it came through
        del frame.stack[entry.depth :]
        if entry.lasti:
            frame.push(ConstantValue(None, index))
        frame.push(RaisedValue(None, raised.cls))
        frame.index = entry.target
        return True

    # -- the stack --------------------------------------------------------------------------------

    def pop(self, frame: Frame) -> Value:
        """The top of the stack, looked at."""
        return realise(self.tracer, frame.stack.pop())

    def realised(self, value: Value) -> Value:
        """`value`, looked at."""
        return realise(self.tracer, value)

    def peek(self, frame: Frame) -> Value:
        """The top of the stack, looked at and left there."""
        return realise(self.tracer, frame.stack[-1])

    def popn(self, frame: Frame, count: int) -> list[Value]:
        """The `count` topmost values, lowest first, looked at."""
        return [realise(self.tracer, value) for value in frame.popn(count)]

    # -- inlining ---------------------------------------------------------------------------------

    def call_python(
        self, function: types.FunctionType, source: Source | None, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """Interpret a call of a plain Python function in place."""
        code = function.__code__
        mark = getattr(function, "_dynamo_lite_capture", None)
        if mark is not None:
            if mark == "compiling":
                return ConstantValue(None, True)
            if mark == "allowed":
                self.tracer.facts.state("function", source or constant(function), *_made_of(function))
                return ALLOWED[0](self, function, args, kwargs)
            raise Break(mark, function.__qualname__)
        where = source or constant(function)
        self.tracer.facts.state("function", where, *_made_of(function))
        defaults = [default_value(value) for value in function.__defaults__ or ()]
        kwdefaults = {name: default_value(value) for name, value in (function.__kwdefaults__ or {}).items()}
        cells = {
            name: outer_cell(self.tracer, cell, constant(cell))
            for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
        }
        return self.interpret(code, function.__globals__, cells, defaults, kwdefaults, args, kwargs)

    def call_special(self, owner: ObjectValue | InstanceValue, name: str, args: list[Value]) -> Value:
        """A special method of an object, found on its class."""
        if isinstance(owner, ObjectValue):
            assert owner.source is not None
            self.tracer.state_class("type_version", owner.source, owner.cls)
        target = next((vars(base)[name] for base in owner.cls.__mro__ if name in vars(base)), None)
        bound: list[Value] = [owner]
        if type(target) is staticmethod:
            target, bound = target.__func__, []
        if not isinstance(target, types.FunctionType):
            raise Break("unsupported-operation", f"{name} of {owner.cls.__qualname__}")
        return self.call_python(target, constant(target), [*bound, *args], {})

    def call_virtual(self, function: FunctionValue, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Interpret a call of a function made in this segment."""
        cells = dict(zip(function.code.co_freevars, function.closure, strict=True))
        return self.interpret(
            function.code, function.namespace, cells, list(function.defaults), function.kwdefaults, args, kwargs
        )

    def interpret(
        self,
        code: types.CodeType,
        namespace: dict[str, Any],
        cells: dict[str, CellValue],
        defaults: list[Value],
        kwdefaults: dict[str, Value],
        args: list[Value],
        kwargs: dict[str, Value],
    ) -> Value:
        """Bind the arguments, run the callee's code to its return, and give back its value."""
        if code.co_flags & _NOT_INLINED and not (self.inline_generators and code.co_name == "<genexpr>"):
            raise Break("generator-call", code.co_qualname)
        if len(self.tracer.frames) > MAX_INLINE_DEPTH:
            raise Break("recursive-call", code.co_qualname)
        if self.tracer.regions and any(frame.code is decoded(code) for frame in self.tracer.frames):
            raise Break("recursive-call", code.co_qualname)  # with loops in loops, each of which is tried anew
        self._check_restraints(decoded(code))
        bound = bind_arguments(code, defaults, kwdefaults, args, kwargs)
        own = {free_operand(name, code.co_cellvars): cell for name, cell in cells.items()}
        frame = Frame(decoded(code), namespace, builtins_of(namespace), bound, own)
        if code.co_flags & _NOT_INLINED:
            return GeneratorValue(None, frame)
        frame.given = tuple(bound.values())
        self.tracer.graph.inlined += 1
        return self.finish(frame)

    def _check_restraints(self, code: Code) -> None:
        """Break where a call is not to be inlined, since that took too much work."""
        place, restraints = place_of(code), self.tracer.restraints
        if place in restraints.own:
            raise Break("work-limit", f"the call of {code.qualname}")
        if place in restraints.recursive and any(place_of(frame.code) == place for frame in self.tracer.frames):
            raise Break("work-limit", f"the call of {code.qualname} by itself")

    def resume(self, generator: GeneratorValue) -> Value | None:
        """What a generator expression yields next; None when it has returned."""
        frame: Frame = generator.frame
        if generator.ended:
            return None
        self.tracer.frames.append(frame)
        while frame.yielded is None:
            try:
                self.step(frame)
            except Returned:
                generator.ended = True
                break
        self.tracer.frames.pop()
        item, frame.yielded = frame.yielded, None
        return item

    def item_of(self, generator: GeneratorValue, item: Value) -> Value:
        """What a generator expression makes of an item of what it goes over; it has taken nothing itself."""
        own: Frame = generator.frame
        found = element(own.code)
        assert found is not None
        code, start = found
        frame = Frame(code, own.namespace, own.builtins, {**own.locals, ITEM: item}, own.cells, index=start)
        frame.push(GoneValue())  # the iterator
        return self.finish(frame)

    def finish(self, frame: Frame) -> Value:
        """Run an inlined frame to its return."""
        around = [one for one in self.tracer.frames if one.code is frame.code]
        self.tracer.frames.append(frame)
        if around:
            budget.repeat(around[0].began.setdefault(0, budget.left()))
        if self.tracer.regions:
            value = CALLEES[0](self, frame)
            self.tracer.frames.pop()
            return value
        while True:
            # NB: a Break leaves the callee's frame on tracer.frames, so that the report can name its line.
            try:
                self.step(frame)
            except Returned as returned:
                self.tracer.frames.pop()
                return returned.value

    def while_loops(self, code: Code) -> dict[int, frozenset[int]]:
        """The `while` loops of `code` by their headers; none where loops do not stay loops."""
        return while_loops(code) if self.tracer.native_loops else {}


def _made_of(function: types.FunctionType) -> tuple[Any, ...]:
    return function.__code__, function.__defaults__, function.__kwdefaults__


def default_value(value: Any) -> Value:
    """A default of an inlined function; the guard on the function has fixed which object it is."""
    if type(value) in (int, float, bool, str, type(None)):
        return ConstantValue(None, value)
    return lazy(constant(value), value)


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """The builtins namespace that code with these globals sees."""
    found = namespace.get("__builtins__", builtins)
    return vars(found) if isinstance(found, types.ModuleType) else found


def root_frame(
    tracer: Tracer, function: types.FunctionType, code: Code, slots: tuple[Any, ...], names: tuple[str, ...]
) -> Frame:
    """The frame of a call of `function` whose argument slots hold `slots`."""
    locals_: dict[str, Value] = {
        name: lazy(slot(index, name), value) for index, (name, value) in enumerate(zip(names, slots, strict=True))
    }
    cells = {
        name: outer_cell(tracer, cell, Source("cell", None, index))
        for index, (name, cell) in enumerate(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
    }
    return Frame(code, function.__globals__, builtins_of(function.__globals__), locals_, cells)


def is_null(value: Value) -> bool:
    return isinstance(value, NullValue)


def as_constant(machine: Machine, value: Value) -> Any:
    """The Python object a value is known to be (a symbolic number is fixed by a guard); breaks when unknown."""
    value = machine.tracer.specialise(realise(machine.tracer, value))
    if isinstance(value, ConstantValue):
        return value.value
    raise Break("unsupported-value", kind_name(value))


def _times_as_often(frame: Frame, rounds: int) -> float:
    """How many times as often as it was, so many `rounds`, the loop at the header of which a frame stands is going to
    be repeated at least, if it is over a range, and nothing but that ends it."""
    iterator = frame.stack[-1] if frame.stack else None
    is_range = isinstance(iterator, IteratorValue) and isinstance(iterator.of, RangeValue)
    if not is_range or not runs_out(frame.code, frame.index):
        return 1.0
    assert isinstance(iterator, IteratorValue)
    return max(1.0, _FORESEEN[rounds] * (1.0 + max(0, len(iterator.items) - iterator.taken) / rounds))


__all__ = ["HANDLERS", "Handler", "Machine", "Returned", "Stop", "as_constant", "handles", "is_null", "wrap"]
