"""The records an explanation is made of: strings and numbers only, filled by the pipeline.

Nothing here refers to a live graph, frame or array, so an Explanation can be kept, compared, pickled and rendered at
any time. Rendering is in render.py, which is imported when something is shown.
"""

from __future__ import annotations

import sys

from dynamo_lite.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """One condition under which a compiled version is used again. text: the guard as guards/ prints it."""

    text: str


@dataclass(frozen=True, slots=True)
class BreakRecord:
    """Where a graph ended or a frame was left plain, and why.

    id: of dynamo_lite.breaks. source_line: the user's line, stripped, or "" when no source is at hand.
    """

    id: str
    filename: str
    line: int
    function: str
    source_line: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """What became of a loop. outcome: "native", "unrolled", "segments" (one an iteration), "plain", or "paused" (only
    iterations for which a native loop would be left were met so far).

    message: why it is not native, or for what it is left. hint: what would change that.
    """

    filename: str
    line: int
    function: str
    outcome: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Calls of a function for arrays of about one size: seconds of a plain one and of a compiled one, as timed on real
    calls. stays_plain: they lose, and run plainly until they are tried again."""

    function: str
    filename: str
    line: int
    plain: float
    compiled: float
    stays_plain: bool


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """One captured graph.

    text: graph text. kernels: how many fused kernels run it. inputs: one "name: type" each. natively: it runs as
    native code (False: `why_plain` says why not). backend: its name. segment: 0 for the function's entry, then
    in the order of the resume functions. filename, line: where the segment starts. operations: nodes that compute.
    numpy_calls: steps that NumPy itself executes, as a whole. sizes: the fewest and the most elements of the largest
    input with which it runs natively, but for `any_size`, those of which that does not matter; iterations: how many
    iterations of its loops that takes, in words. Other calls would not be faster and run plainly. declines: why calls
    ran plainly though the guards passed, and how many.
    """

    text: str
    kernels: int
    inputs: tuple[str, ...]
    natively: bool
    backend: str
    function: str = ""
    segment: int = 0
    filename: str = ""
    line: int = 0
    operations: int = 0
    numpy_calls: int = 0
    why_plain: str = ""
    guards: tuple[GuardRecord, ...] = ()
    sizes: tuple[int, int] = (0, sys.maxsize)
    any_size: tuple[str, ...] = ()
    iterations: str = ""
    declines: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CompileRecord:
    """One run of the compiler. reason: "first call", or the guard that failed. seconds: by stage, in order."""

    function: str
    segment: int
    reason: str
    seconds: tuple[tuple[str, float], ...]

    @property
    def total_seconds(self) -> float:
        return sum(seconds for _, seconds in self.seconds)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What dynamo_lite made of one function.

    graphs and breaks stand in the order of the program, compiles in the order of time. skips: frames left to plain
    Python, the function's own or a callee's. loops: over ranges, what became of each. trials: of calls that were
    timed, compiled and plainly.
    """

    function: str
    filename: str = ""
    line: int = 0
    graphs: tuple[GraphRecord, ...] = ()
    breaks: tuple[BreakRecord, ...] = ()
    skips: tuple[BreakRecord, ...] = ()
    compiles: tuple[CompileRecord, ...] = ()
    stats: tuple[tuple[str, float], ...] = ()
    loops: tuple[LoopRecord, ...] = ()
    trials: tuple[TrialRecord, ...] = ()

    @property
    def guards(self) -> tuple[GuardRecord, ...]:
        """The guards of all graphs."""
        return tuple(guard for graph in self.graphs for guard in graph.guards)

    @property
    def recompiles(self) -> tuple[CompileRecord, ...]:
        """The compilations that were not the first of their segment."""
        seen: set[tuple[str, int]] = set()
        again = []
        for record in self.compiles:
            if (record.function, record.segment) in seen:
                again.append(record)
            seen.add((record.function, record.segment))
        return tuple(again)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds spent compiling, by stage."""
        seconds: dict[str, float] = {}
        for record in self.compiles:
            for stage, value in record.seconds:
                seconds[stage] = seconds.get(stage, 0.0) + value
        return seconds

    def __str__(self) -> str:
        from dynamo_lite.report import render

        return render.to_text(self)

    __repr__ = __str__  # what a prompt shows

    def to_json(self, indent: int | None = 2) -> str:
        """The whole explanation as JSON."""
        from dynamo_lite.report import render

        return render.to_json(self, indent)

    def to_html(self) -> str:
        """A page that stands alone."""
        from dynamo_lite.report import render

        return render.to_html(self)

    def _repr_html_(self) -> str:
        from dynamo_lite.report import render

        return render.to_html_fragment(self)
