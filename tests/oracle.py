"""The oracle: one function called plainly and compiled, everything that can be observed compared bit for bit.

Enters: a function and a ``make_args`` that builds its arguments anew at every call. Leaves: a Report. Compared are the
result (tests/compare.py), the arguments and the memory around them after the call, who shares memory with whom,
printed text and warnings in one order, the exception with its traceback, random streams, error state and references
held. If something differs, the plain function is compared with itself, to tell a wrong compiler from a program that
does not repeat itself.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynamo_lite.errors import RecompileLimitWarning
from tests.compare import Difference, Walk, buffers
from tests.copies import Array

MakeArgs = Callable[[], tuple[Any, ...]]
Compile = Callable[..., Callable[..., Any]]


class KeywordArgs(dict[str, Any]):
    """As the last item of what make_args returns: these go as keyword arguments."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What surrounds a call. filters: (action, category) pairs put before "always"; seed: of the global streams."""

    errstate: Mapping[str, Any] = field(default_factory=dict)
    filters: tuple[tuple[Any, type[Warning]], ...] = ()
    seed: int = 0
    reset: Callable[[], object] | None = None  # puts the world outside back before a call
    state: Callable[[], object] | None = None  # reads what the call may have changed outside


@dataclass(slots=True)
class Observation:
    """All one call left behind."""

    args: tuple[Any, ...]
    result: Any = None
    error: BaseException | None = None
    traceback: list[tuple[Any, ...]] = field(default_factory=list)
    events: list[tuple[Any, ...]] = field(default_factory=list)
    world: dict[str, Any] = field(default_factory=dict)
    references: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What a check found. stats: of the compiled function; raised, warned: what plain Python did, over all calls."""

    name: str
    differences: list[Difference] = field(default_factory=list)
    repeatable: bool = True
    calls: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)
    warned: int = 0
    events: list[tuple[Any, ...]] = field(default_factory=list)
    compiled: Any = None

    @property
    def equal(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        head = f"{self.name}: {self.calls} calls, {len(self.differences)} differences"
        if not self.repeatable:
            head += " (plain Python differs from itself too)"
        return "\n  ".join([head, *map(str, self.differences)])


class _Events(io.TextIOBase):
    """Standard output and warnings in the order they came."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.log and self.log[-1][0] == "printed":
            self.log[-1] = ("printed", self.log[-1][1] + text)
        else:
            self.log.append(("printed", text))
        return len(text)

    def warn(self, message: Any, category: type, filename: str, line: int, *_: Any) -> None:
        if category is RecompileLimitWarning:
            return  # documented: said once, when a function is left to plain Python
        self.log.append(("warning", category, str(message), filename, line))


@contextlib.contextmanager
def _surroundings(conditions: Conditions, events: _Events) -> Iterator[None]:
    if conditions.reset is not None:
        conditions.reset()
    random.seed(conditions.seed)
    np.random.seed(conditions.seed)
    warnings.onceregistry.clear()  # type: ignore[attr-defined]
    with warnings.catch_warnings(), np.errstate(**conditions.errstate), contextlib.redirect_stdout(events):
        warnings.resetwarnings()
        warnings.simplefilter("always")
        for action, category in conditions.filters:
            warnings.simplefilter(action, category)
        warnings.showwarning = events.warn  # type: ignore[assignment]
        yield


def observe(fn: Callable[..., Any], args: tuple[Any, ...], conditions: Conditions) -> Observation:
    """Call fn once and note everything."""
    events = _Events()
    seen = Observation(args)
    keywords: dict[str, Any] = {}
    if args and isinstance(args[-1], KeywordArgs):
        args, keywords = args[:-1], args[-1]
    with _surroundings(conditions, events):
        try:
            seen.result = fn(*args, **keywords)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            seen.error = error
            seen.traceback = _frames(error)
        else:
            seen.references = [sys.getrefcount(arg) for arg in args if isinstance(arg, np.ndarray)]
        seen.world = _world(conditions)
    seen.events = events.log
    return seen


def _frames(error: BaseException) -> list[tuple[Any, ...]]:
    """File, function, line and columns of every frame but the oracle's own.

    NB: the columns of an UnboundLocalError are those of the first half of a superinstruction once CPython has
    specialised the code, so plain Python does not repeat itself there.
    """
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename != __file__:
            position = list(code.co_positions())[traceback.tb_lasti // 2]
            columns = () if isinstance(error, UnboundLocalError) else position
            frames.append((code.co_filename, code.co_name, traceback.tb_lineno, *columns))
        traceback = traceback.tb_next
    return frames


def _world(conditions: Conditions) -> dict[str, Any]:
    state: Any = np.random.get_state(legacy=False)
    return {
        "random.getstate()": hash(random.getstate()),
        "np.random.get_state()": (state["state"]["key"].tobytes(), state["state"]["pos"], state["gauss"]),
        "np.geterr()": np.geterr(),
        "np.get_printoptions()": np.get_printoptions(),
        "state": conditions.state() if conditions.state is not None else None,
    }


def compare(plain: Observation, compiled: Observation, *, ignore: frozenset[str] = frozenset()) -> list[Difference]:
    """Everything in which two observations of the same call differ, but for the kinds in `ignore`."""
    walk = Walk()
    walk.pair("arguments after the call", plain.args, compiled.args)
    for where, left, right in list(walk.arrays):
        buffers(walk, where, left, right)
    walk.pair("result", plain.result, compiled.result)
    walk.sharing()
    _exceptions(walk, "exception", plain.error, compiled.error)
    # CPython 3.11 puts an unbound local that a superinstruction meets on the line of the instruction before, once the
    # code is warm: the line depends on how often the function ran.
    quickened = isinstance(plain.error, UnboundLocalError) and sys.version_info < (3, 12)
    if plain.traceback != compiled.traceback and not quickened:
        walk.differ("traceback", "exception", plain.traceback, compiled.traceback)
    _events(walk, plain.events, compiled.events)
    for name, left in plain.world.items():
        walk.pair(name, left, compiled.world[name])
    if plain.references != compiled.references:
        walk.differ("references", "arrays given as arguments", plain.references, compiled.references)
    return [difference for difference in walk.differences if difference.kind not in ignore]


def _exceptions(
    walk: Walk, where: str, plain: BaseException | None, compiled: BaseException | None, depth: int = 0
) -> None:
    if type(plain) is not type(compiled):
        walk.differ("exception", where, repr(plain), repr(compiled))
        return
    if plain is None or compiled is None or depth > 5:
        return
    if str(plain) != str(compiled):
        walk.differ("exception", where, str(plain), str(compiled))
    else:
        walk.pair(where, plain, compiled)
    if plain.__suppress_context__ != compiled.__suppress_context__:
        walk.differ(
            "exception", f"{where}.__suppress_context__", plain.__suppress_context__, compiled.__suppress_context__
        )
    _exceptions(walk, f"{where}.__cause__", plain.__cause__, compiled.__cause__, depth + 1)
    _exceptions(walk, f"{where}.__context__", plain.__context__, compiled.__context__, depth + 1)


def _events(walk: Walk, plain: list[tuple[Any, ...]], compiled: list[tuple[Any, ...]]) -> None:
    for index in range(max(len(plain), len(compiled))):
        left = plain[index] if index < len(plain) else ("nothing",)
        right = compiled[index] if index < len(compiled) else ("nothing",)
        if left != right:
            walk.differ("events", f"printed text and warnings, number {index}", left, right)
            return


def _observe_amid(byte: int, fn: Callable[..., Any], args: Any, conditions: Conditions) -> Observation:
    """Observe a call where freed memory holds `byte`: NumPy leaves some results half-written when it raises."""
    blocks = [bytearray([byte]) * (1 << power) for power in range(4, 21) for _ in range(8)]
    arrays = [np.full(size, byte, np.uint8) for size in range(8, 1024, 8) for _ in range(8)]
    del blocks, arrays
    return observe(fn, args, conditions)


def check(
    fn: Callable[..., Any],
    make_args: MakeArgs,
    *,
    compile: Compile,
    compile_options: Mapping[str, Any] | None = None,
    calls: int = 3,
    variants: Sequence[MakeArgs] = (),
    conditions: Conditions = Conditions(),
    plain: Callable[..., Any] | None = None,
    plain_conditions: Conditions | None = None,
    ignore: frozenset[str] = frozenset(),
    name: str = "",
) -> Report:
    """Compare `calls` calls with make_args' arguments, two with those of each variant, and make_args' once more.

    plain: what to run plainly, if not fn itself (the same program in a second namespace), under plain_conditions.
    """
    report = Report(name or getattr(fn, "__qualname__", repr(fn)))
    reference = fn if plain is None else plain
    around = conditions if plain_conditions is None else plain_conditions
    compiled = compile(fn, **(compile_options or {}))
    report.compiled = compiled
    plan = [make_args] * calls + [variant for variant in variants for _ in range(2)] + [make_args] * bool(variants)
    for number, build in enumerate(plan):
        expected = observe(reference, build(), around)
        found = observe(compiled, build(), conditions)
        differences = compare(expected, found, ignore=ignore)
        report.calls += 1
        _tally(report, expected)
        if differences:
            again = [_observe_amid(byte, reference, build(), around) for byte in (0x11, 0x6E)]
            report.repeatable = not compare(again[0], again[1], ignore=ignore)
            report.differences = [
                Difference(d.kind, f"call {number}: {d.where}", d.plain, d.compiled) for d in differences
            ]
            break
    stats = getattr(compiled, "stats", None)
    report.stats = dict(stats()) if stats is not None else {}
    return report


def _tally(report: Report, expected: Observation) -> None:
    if expected.error is not None:
        report.raised.append(type(expected.error).__name__)
    report.warned += sum(event[0] == "warning" for event in expected.events)
    report.events.extend(expected.events)


def require_equal(*args: Any, **options: Any) -> Report:
    """check(), raising AssertionError with the differences if there are any."""
    report = check(*args, **options)
    if report.differences:
        raise AssertionError(str(report))
    return report


def arrays_in(values: Sequence[Any]) -> list[Array]:
    """The arrays among `values`."""
    return [value for value in values if isinstance(value, np.ndarray)]
