"""Runs random programs through the oracle and counts what became of them.

Enters: a Campaign. Leaves: a Summary: how many programs, equal, natively run, declined, and the first differences.
The programs are written and run in child processes (child.py), so that a crash or a hang is a difference with a seed
like any other.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import sys
import time
import traceback
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.compare import EXECUTED_TWICE
from tests.fuzz.child import Child, Lost, wait_for
from tests.fuzz.generator import RandomProgram, generate
from tests.fuzz.vocabulary import FULL, SMALL
from tests.oracle import Compile, Conditions, Report, check

HANG_SECONDS = 30.0
NATIVE = 0.8  # the least share of programs of which something runs natively; about 0.81 do


DYNAMO_LITE = "dynamo_lite:compile"


@dataclass(frozen=True, slots=True)
class Campaign:
    """compile: "module:name" of the compiler, so that a child process can find it."""

    backend: str
    count: int
    seed: int = 0
    first: int = 0
    forms: int | None = None
    small: bool = False
    compile: str = DYNAMO_LITE
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
    """counts: programs, equal, native, declined, raised, warned, breaks, broken (plain Python does not repeat).
    reasons: why programs of which nothing ran natively did not, by the ids of what was found."""

    counts: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: Summary) -> None:
        self.counts.update(other.counts)
        self.reasons.update(other.reasons)
        self.found.extend(other.found)

    def share(self, name: str) -> float:
        return self.counts[name] / max(1, self.counts["programs"])

    def line(self) -> str:
        names = ("equal", "native", "declined", "breaks", "raised", "warned", "unrepeatable", "different")
        shares = ", ".join(f"{name} {self.counts[name]} ({self.share(name):.1%})" for name in names)
        return f"programs {self.counts['programs']}: {shares}; {self.seconds:.0f} s"

    def __str__(self) -> str:
        lines = [self.line()]
        if self.reasons:
            plain = ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())
            lines.append(f"not native: {plain}")
        return "\n".join(lines)


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
    sys.modules.setdefault(EXECUTED_TWICE, types.ModuleType(EXECUTED_TWICE))  # dataclasses ask for their module
    namespace: dict[str, Any] = {"__name__": EXECUTED_TWICE}
    exec(compile(program.source, filename, "exec"), namespace)
    return namespace


def run_program(
    program: RandomProgram, compiler: Compile, backend: str, ignore: frozenset[str] = frozenset()
) -> Report:
    """One program, plain and compiled in namespaces of their own."""
    ours, theirs = namespace_of(program), namespace_of(program)
    errstate = {"all": program.errstate} if program.errstate else {}
    filters: Any = (("error", RuntimeWarning),) if program.error else ()
    try:
        return check(
            theirs["f"],
            lambda: program.make_args(0),
            plain=ours["f"],
            plain_conditions=Conditions(errstate, filters, state=lambda: _globals(ours)),
            conditions=Conditions(errstate, filters, state=lambda: _globals(theirs)),
            compile=compiler,
            compile_options={"backend": backend, "options": {"check": 1}},
            calls=2,
            variants=[functools.partial(program.make_args, number) for number in range(2, len(program.calls))],
            ignore=ignore,
            name=f"program {program.label} on {backend}",
        )
    finally:
        linecache.cache.pop(f"<random program {program.label}>", None)


def _globals(namespace: dict[str, Any]) -> dict[str, Any]:
    """What a program may have changed outside: its globals, and what its class and its method's object hold."""
    state = {name: value for name, value in namespace.items() if name[0] in "KWGLD" and name not in ("Wm", "Data0")}
    held = [(name, vars(namespace[name])) for name in ("P0", "Wm") if name in namespace]
    state |= {f"{name}.{key}": value for name, values in held for key, value in values.items() if key[0] != "_"}
    return state


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


def why_plain(report: Report) -> str:
    """The ids of the skips and breaks of a program of which nothing ran natively; "" for others."""
    explain = getattr(report.compiled, "explain", None)
    if explain is None or report.stats.get("native_calls", 0):
        return ""
    explanation = explain()
    ids = {record.id for record in (*explanation.skips, *explanation.breaks)} - {"library-frame"}
    if report.stats.get("declines", 0):
        ids.add("declines")
    telling = ids - {"nothing-to-compile"} or ids or {"no-array-work"}
    return "+".join(sorted(telling))


def run_one(campaign: Campaign, index: int) -> Summary:
    """Program `index` in this process."""
    summary = Summary()
    program = campaign.program(index)
    try:
        report = run_program(program, load(campaign.compile), campaign.backend, campaign.ignore)
    except Exception:  # of the compiler itself, outside any call: as bad as a wrong result
        summary.counts.update({"programs": 1, "different": 1})
        summary.found.append(Found(index, ("crash",), traceback.format_exc()))
        return summary
    summary.counts.update(judge(report))
    if reason := why_plain(report):
        summary.reasons[reason] += 1
    if not report.equal and report.repeatable:
        kinds = tuple(dict.fromkeys(difference.kind for difference in report.differences))
        summary.found.append(Found(index, kinds, str(report)))
    return summary


def mark_of(campaign: Campaign, program: RandomProgram) -> tuple[object, ...]:
    """What must stay the same while a program shrinks: how plain Python ended, and what differs first."""
    try:
        report = run_program(program, load(campaign.compile), campaign.backend, campaign.ignore)
    except Exception as error:  # the compiler's own failure is a difference like any other
        return (type(error).__name__,)
    if report.equal or not report.repeatable:
        return ()
    first = report.differences[0]
    exceptions = [(d.plain, d.compiled) for d in report.differences if d.kind == "exception"]
    return first.kind, report.raised[-1:], [(plain[:30], compiled[:30]) for plain, compiled in exceptions]


def run_range(campaign: Campaign, first: int, last: int) -> Summary:
    """The programs first..last-1 in this process."""
    summary = Summary()
    for index in range(first, last):
        summary.add(run_one(campaign, index))
    return summary


def run(
    campaign: Campaign,
    jobs: int = 1,
    progress: Callable[[Summary], object] | None = None,
    on_found: Callable[[Found], object] = lambda found: None,
    every: int = 500,
) -> Summary:
    """The whole campaign; `progress` is called every so many programs, `on_found` at each one that differs."""
    started = time.monotonic()
    total = Summary()
    todo = iter(range(campaign.first, campaign.first + campaign.count))
    idle = [Child(HANG_SECONDS) for _ in range(jobs)]
    busy: dict[Child, int] = {}
    try:
        while True:
            while idle and (index := next(todo, None)) is not None:
                child = idle.pop()
                busy[child] = index
                child.ask(run_one, campaign, index)
            if not busy:
                break
            wait_for(busy)
            for child, index in list(busy.items()):
                answer = child.answer()
                if answer is None:
                    continue
                del busy[child]
                idle.append(child)
                known = len(total.found)
                total.add(lost(campaign, index, answer) if isinstance(answer, Lost) else answer)
                total.seconds = time.monotonic() - started
                for found in total.found[known:]:
                    on_found(found)
                if progress is not None and total.counts["programs"] % every == 0:
                    progress(total)
    finally:
        for child in (*idle, *busy):
            child.close()
    total.found.sort(key=lambda found: found.index)
    return total


def lost(campaign: Campaign, index: int, how: Lost) -> Summary:
    """What a program adds to the counts that took its process with it."""
    text = f"program {campaign.seed}:{index}: {how.reason}"
    return Summary(Counter({"programs": 1, "different": 1}), [Found(index, (how.reason,), text)])
