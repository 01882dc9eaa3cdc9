"""The one file that knows every stage: a call of a function in, a CacheEntry out; one line a stage.

    slots -> trace -> Capture -> verify -> backend (lower, schedule, kernels) -> Program -> entry

Each stage takes a value and returns a value that prints as text. No stage calls back into an earlier one; resuming
after a graph break comes in again by `compile_segment` with the resume function (docs/architecture.md, "Segments").
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import field
from time import perf_counter
from typing import Any

from dynamo_lite import _C, budget, log
from dynamo_lite.backends import Backend
from dynamo_lite.capture.segments.restraints import Restraints
from dynamo_lite.capture.segments.targets import Target
from dynamo_lite.capture.trace import Capture, trace
from dynamo_lite.config import Config, compiling
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import symbols_of
from dynamo_lite.guards.words import GuardsOf
from dynamo_lite.pycode import decode
from dynamo_lite.pycode.returned import returned
from dynamo_lite.schedule.cost import DoesNotPay, Times

SINGLE_ELEMENTS = "single elements only"


@dataclass(slots=True)
class Segment:
    """One compiled segment: what each stage made of it, and the seconds each took; the backend adds to these later.

    slight: it gains nothing by itself, being about single elements, but may lead to a segment that does.
    """

    code: types.CodeType
    capture: Capture
    program: Callable[..., Any] | None
    entry: _C.CacheEntry
    guards: GuardsOf
    why_plain: str = ""
    why_plain_detail: str = ""
    slight: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def times(self) -> Mapping[int, Times]:
        """What a call is expected to take, by scale (schedule/cost.py); empty where nobody estimated it."""
        return self.program.schedule.times if isinstance(self.program, _C.Program) else {}


def compile_segment(
    function: types.FunctionType,
    slots: tuple[Any, ...],
    jump: Callable[[Target], Any],
    backend: Backend,
    settings: Config,
    owns_slots: bool = False,
    pauses: bool = True,
    constants: bool = True,
    restraints: Restraints | None = None,
) -> Segment:
    """Compile a call of `function` with `slots`. Raises SkipFrame when there is nothing to capture.

    pauses: loops may be left for single iterations, if the backend makes native programs. constants: numbers
    that live with their module, alone or in long sequences, are taken for constants. restraints: see capture.trace."""
    clock = _Clock()
    capture = trace(function, slots, jump, settings, owns_slots, pauses, constants, restraints)
    clock.stage("capture")
    log.emit("graph", function.__qualname__, capture.graph)
    _require_own(capture.graph)
    if settings.check:
        _check(function, capture)
        clock.stage("verify")
    program, why, detail = None, "", ""
    slight = settings.cost_model and capture.ends != "return" and capture.computes and capture.only_scalars
    if slight and capture.ends != "break":
        why, detail = "does-not-pay", SINGLE_ELEMENTS
    elif capture.computes:
        try:
            options = settings.replace(cost_model=settings.cost_model and capture.ends == "return")
            with compiling(options, clock.seconds):
                program = backend(capture.graph, list(capture.example_inputs))
        except DoesNotPay as reason:
            why, detail = "does-not-pay", str(reason)
        clock.stage("backend")
    if capture.is_native and program is not None and not isinstance(program, _C.Program):
        return compile_segment(function, slots, jump, backend, settings, owns_slots, False, constants, restraints)
    guards = _C.Guards(capture.guards, capture.inputs)
    if settings.check and (failed := guards.explain(function, slots)):
        if _C.has_other_threads():
            raise budget.ChangedMeanwhile
        raise AssertionError(f"the guards of {function.__qualname__} do not hold for the call they are of: {failed}")
    least, most = program.schedule.sizes if isinstance(program, _C.Program) else (0, sys.maxsize)
    pays = program.schedule.pays if isinstance(program, _C.Program) else None
    residual = None if why else capture.residual
    exits = capture.exits if isinstance(program, _C.Program) else ()
    entry = _C.CacheEntry(
        *(guards, program, residual),
        calls_python=capture.ends != "return",
        least=least,
        most=most,
        exits=exits,
        pays=pays,
        stores=capture.stores,
        returns=None if residual is None or capture.ends != "return" else returned(residual.__code__),
    )
    entry.defers = capture.defers
    entry.unsized = program.schedule.unsized if isinstance(program, _C.Program) else 0
    clock.stage("entry")
    words = GuardsOf(guards, function.__code__)
    log.emit("guards", function.__qualname__, words)
    if capture.residual is not None:
        log.emit("bytecode", function.__qualname__, _Lazily(decode, capture.residual.__code__))
    text = _Lazily(_text, program)
    if isinstance(program, _C.Program):
        log.emit("kernels", function.__qualname__, text)
    capture = replace(capture, example_inputs=())  # the caller's arrays must not be kept alive
    number = next(_SEGMENTS)
    for stage, value in (("graph", capture.graph), ("guards", words), ("program", text)):
        log.dump(number, function.__qualname__, stage, value)
    log.say(f"{function.__qualname__}: compiled in {sum(clock.seconds.values()) * 1e3:.1f} ms; {why or capture.ends}")
    return Segment(function.__code__, capture, program, entry, words, why, detail, slight, clock.seconds)


_SEGMENTS = itertools.count()


class _Lazily:
    """A text that is made when somebody reads it."""

    def __init__(self, make: Callable[[Any], object], *args: Any) -> None:
        self._make, self._args = make, args

    def __str__(self) -> str:
        return str(self._make(*self._args))


def _require_own(graph: Graph) -> None:
    """Raise GraphError where a graph, or a body in it, hands out what it does not make: the rest of `verify` is for
    tests, but this would be another value."""
    nodes = set(graph.nodes)
    handed = [*graph.outputs, *(arg for node in graph.nodes if node.kind is NodeKind.LEAVE for arg in node.args)]
    for one in handed:
        if one not in nodes if isinstance(one, Node) else not symbols_of(one) <= graph.symbols.keys():
            from dynamo_lite.graph.verify import GraphError

            raise GraphError(f"{one} is handed out and not made")
    for node in graph.nodes:
        for region in node.regions:
            _require_own(region)


def _check(function: types.FunctionType, capture: Capture) -> None:
    """Verify what was read and what was made of it. NB: what is only asked for in tests is imported here."""
    from dynamo_lite.graph.verify import verify
    from dynamo_lite.pycode.second_reading import check_reading

    check_reading(function.__code__)
    verify(capture.graph)


def _text(program: object) -> str:
    """A program as its schedule, or what else there is to say of it."""
    from dynamo_lite.schedule.text import to_text

    return to_text(program.schedule) if isinstance(program, _C.Program) else repr(program)


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
