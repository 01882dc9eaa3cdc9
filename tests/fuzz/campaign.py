"""Runs random programs through the oracle and counts what became of them.

Enters: a Campaign. Leaves: a Summary: how many programs, equal, natively run, declined, and the first differences.
The programs run in child processes, so that a crash or a hang is a difference with a seed like any other.
"""

from __future__ import annotations

import faulthandler
import functools
import importlib
import linecache
import multiprocessing
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.fuzz.generator import RandomProgram, generate
from tests.fuzz.vocabulary import FULL, SMALL
from tests.oracle import Compile, Conditions, Report, check

HANG_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Campaign:
    """compile: "module:name" of the compiler, so that a child process can find it."""

    backend: str
    count: int
    seed: int = 0
    first: int = 0
    forms: int | None = None
    small: bool = False
    compile: str = "dynamo_lite:compile"
    ignore: frozenset[str] = frozenset()

    def program(self, index: int) -> RandomProgram:
        return generate(self.seed, index, SMALL if self.small else FULL, self.forms)


@dataclass(frozen=True, slots=True)
class Found:
    """A program that differs: its index, the kinds of difference, the report's text."""

    index: int
    kinds: tuple[str, ...]
    text: str


@dataclass(slots=True)
class Summary:
    """counts: programs, equal, native, declined, raised, warned, breaks, broken (plain Python does not repeat)."""

    counts: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Summary) -> None:
        self.counts.update(other.counts)
        self.found.extend(other.found)

    def share(self, name: str) -> float:
        return self.counts[name] / max(1, self.counts["programs"])

    def __str__(self) -> str:
        names = ("equal", "native", "declined", "breaks", "raised", "warned", "unrepeatable", "different")
        shares = ", ".join(f"{name} {self.counts[name]} ({self.share(name):.1%})" for name in names)
        return f"programs {self.counts['programs']}: {shares}; {self.seconds:.0f} s"


def load(name: str) -> Compile:
    """The compiler that "module:name" says."""
    module, attribute = name.split(":")
    compiler: Compile = getattr(importlib.import_module(module), attribute)
    return compiler


def identity(fn: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """The compiler that does nothing: what a campaign must find no difference with."""
    return fn


def namespace_of(program: RandomProgram) -> dict[str, Any]:
    """The program's globals after a run of its module, with its text where tracebacks look for it."""
    filename = f"<random program {program.label}>"
    linecache.cache[filename] = len(program.source), None, program.source.splitlines(True), filename
    namespace: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(program.source, filename, "exec"), namespace)
    return namespace


def run_program(
    program: RandomProgram, compiler: Compile, backend: str, ignore: frozenset[str] = frozenset()
) -> Report:
    """One program, plain and compiled in namespaces of their own."""
    ours, theirs = namespace_of(program), namespace_of(program)
    try:
        return check(
            theirs["f"],
            lambda: program.make_args(0),
            plain=ours["f"],
            plain_conditions=Conditions(state=lambda: _globals(ours)),
            conditions=Conditions(state=lambda: _globals(theirs)),
            compile=compiler,
            compile_options={"backend": backend},
            calls=2,
            variants=[functools.partial(program.make_args, number) for number in range(2, len(program.calls))],
            ignore=ignore,
            name=f"program {program.label} on {backend}",
        )
    finally:
        linecache.cache.pop(f"<random program {program.label}>", None)


def _globals(namespace: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in namespace.items() if name[0] in "KW"}


def judge(report: Report) -> Counter[str]:
    """What one report adds to the counts."""
    counts = Counter({"programs": 1})
    stats = report.stats
    counts["native"] = int(stats.get("native_calls", 0) > 0)
    counts["declined"] = int(stats.get("declines", 0) > 0)
    counts["breaks"] = int(stats.get("breaks", 0) > 0)
    counts["raised"] = int(bool(report.raised))
    counts["warned"] = int(report.warned > 0)
    outcome = "equal" if report.equal else "different" if report.repeatable else "unrepeatable"
    counts[outcome] = 1
    return counts


def run_range(campaign: Campaign, first: int, last: int, note: Callable[[int], object] = lambda _: None) -> Summary:
    """The programs first..last-1 in this process."""
    compiler = load(campaign.compile)
    summary = Summary()
    for index in range(first, last):
        note(index)
        program = campaign.program(index)
        try:
            report = run_program(program, compiler, campaign.backend, campaign.ignore)
        except Exception:  # of the compiler itself, outside any call: as bad as a wrong result
            summary.counts.update({"programs": 1, "different": 1})
            summary.found.append(Found(index, ("crash",), traceback.format_exc()))
            continue
        summary.counts.update(judge(report))
        if not report.equal and report.repeatable:
            kinds = tuple(dict.fromkeys(difference.kind for difference in report.differences))
            summary.found.append(Found(index, kinds, str(report)))
    return summary


def _child(connection: Connection, campaign: Campaign, current: Any, first: int, last: int) -> None:
    faulthandler.enable()
    connection.send(run_range(campaign, first, last, lambda index: setattr(current, "value", index)))
    connection.close()


@dataclass(slots=True)
class _Worker:
    process: Any
    connection: Connection
    current: Any
    last: int
    seen: int
    since: float


def run(
    campaign: Campaign, jobs: int = 1, chunk: int = 250, progress: Callable[[Summary], object] | None = None
) -> Summary:
    """The whole campaign."""
    started = time.monotonic()
    context = multiprocessing.get_context("spawn")
    total = Summary()
    end = campaign.first + campaign.count
    todo = [(start, min(start + chunk, end)) for start in range(campaign.first, end, chunk)][::-1]
    workers: list[_Worker] = []

    def start(first: int, last: int) -> None:
        ours, theirs = context.Pipe(duplex=False)
        current = context.Value("q", first)
        process = context.Process(target=_child, args=(theirs, campaign, current, first, last))
        process.start()
        theirs.close()
        workers.append(_Worker(process, ours, current, last, first, time.monotonic()))

    while todo or workers:
        while todo and len(workers) < jobs:
            start(*todo.pop())
        wait([worker.connection for worker in workers], timeout=5.0)
        for worker, outcome in list(_outcomes(workers)):
            workers.remove(worker)
            worker.process.join()
            if isinstance(outcome, Summary):
                total.add(outcome)
            else:
                index = worker.current.value
                total.counts.update({"programs": 1, "different": 1})
                total.found.append(Found(index, (outcome,), f"program {campaign.seed}:{index}: {outcome}"))
                if index + 1 < worker.last:
                    todo.append((index + 1, worker.last))
            total.seconds = time.monotonic() - started
            if progress is not None:
                progress(total)
    total.found.sort(key=lambda found: found.index)
    return total


def _outcomes(workers: list[_Worker]) -> Iterator[tuple[_Worker, Summary | str]]:
    """Workers that are done, with their summary or the way they died; a death loses its chunk's counts so far."""
    for worker in workers:
        if worker.connection.poll():
            try:
                yield worker, worker.connection.recv()
            except EOFError:
                worker.process.join()
                yield worker, f"process died with code {worker.process.exitcode}"
        elif worker.current.value != worker.seen:
            worker.seen, worker.since = worker.current.value, time.monotonic()
        elif time.monotonic() - worker.since > HANG_SECONDS:
            worker.process.kill()
            yield worker, f"no answer for {HANG_SECONDS:.0f} seconds"
