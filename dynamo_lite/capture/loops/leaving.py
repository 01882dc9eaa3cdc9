"""Leaving a loop between two iterations: what the frame holds there, for plain Python or another program to go on.

Enters: a `while`, or a `for` of which rests.py can tell what is left, just captured, in the segment's own frame.
Leaves: a LoopExit, the frame's state in front of the body of the `while`, or of the FOR_ITER of the `for`, with an
iterator over what is left. When a signal or another thread waits, or an iteration declines, the program ends at the
loop with the values of then (a LEAVE node), and the exit's residual code hands over to the resume function at that
instruction, where capture begins as it does for any other segment:

    for i in range(n): x = step(x, i)     left after 7 iterations:  x as it is, then  for i in range(7, n): ...

INVARIANT: the state is of before the loop but for what the loop carries; what changes behind the loop is not in it.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite.capture.loops.code import keeps_iterator
from dynamo_lite.capture.loops.rests import Bounds, left_of
from dynamo_lite.capture.objects.places import stores
from dynamo_lite.capture.state import Frame, LoopExit, Tracer
from dynamo_lite.capture.value import (
    CallValue,
    CellValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    FunctionValue,
    GeneratorValue,
    InstanceValue,
    IteratorValue,
    MethodValue,
    NumberValue,
    SequenceValue,
    TakenValue,
    Value,
)
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, Symbol, kind_of, make, substitute
from dynamo_lite.pycode import Code, handled_alike
from dynamo_lite.pycode.flow import cells_named_alike, hidden

_FRAME_READERS = frozenset(
    (
        *("locals", "vars", "dir", "eval", "exec", "super", "_getframe", "currentframe"),
        *("settrace", "setprofile", "set_trace", "breakpoint"),
    )
)


def reads_frame(code: Code) -> str | None:
    """A name by which the code may look at its own frame, or have others told of frames that begin from there on: in a
    resume function it is another one."""
    for instr in code.instrs:
        if instr.op in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD") and instr.arg in _FRAME_READERS:
            return str(instr.arg)
    return None


def calls_super(code: Code) -> bool:
    """Whether it calls `super()` without arguments, which looks into the frame for its first argument: there a resume
    function that takes what lies on the stack has something else."""
    return "__class__" in code.freevars and any(instr.arg == "super" for instr in code.instrs)


def goes_on_at(code: Code, index: int, header: int | None = None) -> bool:
    """Whether a resume function may begin at instruction `index`, and nobody can tell it from the frame. header: of the
    loop that is left there, into which no handler may lead back."""
    if header is not None and (not handled_alike(code, index, header) or keeps_iterator(code, index, header)):
        return False
    hides = bool(code.cellvars) and bool(hidden(code)[index] or cells_named_alike(code))
    return not hides and reads_frame(code) is None


def exit_name(header: int) -> str:
    """The local, whose name no local of Python has, that says at which side exit a loop was left; 0 at its end."""
    return f".exit{header}"


def index_name(header: int) -> str:
    """The local that holds the index of the iteration in which a loop was left."""
    return f".at{header}"


class CannotLeave(Exception):
    """Nobody could go on in the middle of this loop: its program declines instead."""


def note_exit(
    tracer: Tracer,
    frame: Frame,
    header: int,
    loop: Node,
    rest: tuple[Value, Bounds] | None,
    held: Callable[[str], Value | None],
) -> bool:
    """Let `loop` be left between two iterations, if somebody can go on there: whether it may be.

    rest: what a `for` goes over, which nobody else has, and its numbers; None for a `while`. held: what a local holds
    after an iteration, None if nothing; it raises CannotLeave if nobody can tell.
    """
    if tracer.regions or len(tracer.frames) != 1 or tracer.depth or not goes_on_at(frame.code, header):
        return False
    memo: dict[Value, Value] = {}
    own = (exit_name(header), index_name(header))
    try:
        cells = _own_cells(frame, held, memo)
        values = {name: held(name) for name in frame.locals if name not in own}
        locals_ = {name: _as_now(value, memo) for name, value in values.items() if value is not None}
        stack = [_as_now(value, memo) for value in (frame.stack if rest is None else frame.stack[:-1])]
        kept = [(owner, key, _as_now(value, memo)) for owner, key, value in stores(tracer)]
    except CannotLeave:
        return False
    if rest is not None:
        iterator, bounds = rest
        assert isinstance(iterator, IteratorValue)
        stack.append(left_of(iterator, bounds, TakenValue()))
    tracer.exits.append(LoopExit(loop, header, stack, locals_, cells, kept))
    return True


def _own_cells(frame: Frame, held: Callable[[str], Value | None], memo: dict[Value, Value]) -> dict[str, CellValue]:
    """The cells of the frame's own variables as they are then; those that came with it are not changed."""
    own = {name: cell for name, cell in frame.cells.items() if name in frame.code.cellvars}
    copies = {name: cell if cell.source is not None else CellValue(None) for name, cell in own.items()}
    memo.update((own[name], copy) for name, copy in copies.items())  # first: they may hold each other
    for name, copy in copies.items():
        if copy.source is None and (contents := held(name)) is not None:
            copy.contents = _as_now(contents, memo)
    return copies


def _as_now(value: Value, memo: dict[Value, Value]) -> Value:
    """`value` as it is now: a copy where the interpreter changes values in place."""
    if value in memo:
        return memo[value]
    match value:
        case GeneratorValue() | DictViewValue() if value.source is None:
            raise CannotLeave
        case CellValue() if value.source is None:
            cell = memo[value] = CellValue(None)
            cell.contents = None if value.contents is None else _as_now(value.contents, memo)
        case FunctionValue() if value.source is None:
            function = memo[value] = replace(value)
            function.closure = tuple(_as_now(cell, memo) for cell in value.closure)  # type: ignore[misc]
            function.defaults = tuple(_as_now(default, memo) for default in value.defaults)
            function.kwdefaults = {name: _as_now(default, memo) for name, default in value.kwdefaults.items()}
            function.annotations = tuple(_as_now(annotation, memo) for annotation in value.annotations)
            if value.annotate is not None:
                function.annotate = _as_now(value.annotate, memo)  # type: ignore[assignment]
        case MethodValue() if isinstance(value.self, SequenceValue | DictValue) and not value.self.source:
            raise CannotLeave
        case MethodValue() if isinstance(value.self, InstanceValue):
            memo[value] = replace(value, self=_as_now(value.self, memo))
        case SequenceValue() if value.became is not None:
            memo[value] = value.became
        case SequenceValue() if value.source is None:
            sequence = memo[value] = SequenceValue(None, value.kind)  # which a list may hold itself
            sequence.known = [_as_now(item, memo) for item in value.known]
            sequence.filled, sequence.times, sequence.cells = value.filled, value.times, None
            sequence.late = {place: _as_now(item, memo) for place, item in value.late.items()}
            if value.cells is not None:
                sequence.cells, sequence.ends = replace(value.cells), dict(value.ends)
        case DictValue() if value.source is None:
            mapping = memo[value] = DictValue(None)
            mapping.known = {key: _as_now(item, memo) for key, item in value.known.items()}
            mapping.filled = value.filled
        case InstanceValue():
            instance = memo[value] = replace(value, stored={})
            instance.stored = {name: _as_now(item, memo) for name, item in value.stored.items()}
        case IteratorValue():
            iterator = memo[value] = replace(value)
            iterator.of = _as_now(value.of, memo)
            iterator.items = [_as_now(item, memo) for item in value.items]
            parts = [_as_now(part, memo) for part in value.parts]
            iterator.parts = tuple(part for part in parts if isinstance(part, IteratorValue))
        case _:
            memo[value] = value
    return memo[value]


def number_left(tracer: Tracer, value: Value, bounds: Bounds, index: Symbol) -> Value:
    """An int that grows evenly with the index, as it is between two iterations: a new object.

    Raises CannotLeave for any other value."""
    if not isinstance(value, NumberValue) or kind_of(value.expr) != "int":
        raise CannotLeave
    start, _, step = bounds
    before = substitute(value.expr, {index.name: make("sub", start, step)})
    grows = make("sub", substitute(value.expr, {index.name: make("add", index, step)}), value.expr)
    if type(grows) is not int or tracer.varies(before):
        raise CannotLeave
    return counted(tracer.number(before), grows)


def is_told(tracer: Tracer, value: Value, bounds: Bounds, index: Symbol) -> bool:
    """Whether number_left tells it."""
    try:
        number_left(tracer, value, bounds, index)
    except CannotLeave:
        return False
    return True


def counted(begin: Value, step: int) -> Value:
    """A Python int that began as `begin` and grew by `step` in every iteration so far."""
    return CallValue(None, grown, [begin, ConstantValue(None, step), TakenValue()])


def done_at(start: int, step: int, at: int) -> int:
    """How many iterations come before that of the number `at`."""
    return (at - start) // step


def iterations_before(index: Scalar, bounds: tuple[Scalar, Scalar, Scalar]) -> Scalar:
    """The same in the program, of an index that it has."""
    start, _, step = bounds
    distance = make("sub", index, start)
    if step == 1:
        return distance
    return make("neg", distance) if step == -1 else make("floordiv", distance, step)


def grown(begin: int, step: int, taken: int) -> int:
    """The int that residual code works out for ``counted``."""
    return begin + step * taken


__all__ = [
    *("CannotLeave", "counted", "done_at", "goes_on_at", "index_name", "is_told", "note_exit", "number_left"),
    *("iterations_before", "calls_super", "reads_frame", "exit_name"),
]
