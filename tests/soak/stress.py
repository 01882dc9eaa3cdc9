"""CPython's own test files, and ours, under the stress modes, compared with plain Python.

Each target runs plainly and then by ``python -m dynamo_lite run`` under each mode, in processes of its own. A test that
fails under a mode and not plainly is a finding; so is another number of tests run or skipped, a crash, and a closing
line that is missing or says that the mode did nothing. Targets: names of CPython test modules (``test_with``), or
folders and files for pytest (``tests/pycode``).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import IN_USE

MODES = ("hook", "rewrite", "compile")
CPYTHON = (
    "test_grammar",
    "test_generators",
    "test_exceptions",
    "test_with",
    "test_scope",
    "test_extcall",
    "test_patma",
    "test_descr",
)
# What no mode that compiles can leave as it is; printed with each run.
KNOWN = {
    ("compile", "test_slots (test.test_descr.ClassPropertiesAndMethods.test_slots)"): (
        "counts all objects of the process (gc.get_objects) around a first call, which is compiled in between: the "
        "entry, its guards and records are objects, and making them may set off a collection of what was garbage"
    ),
}
ROOT = Path(__file__).parent.parent.parent

_CLOSING = re.compile(
    r"^frames seen (\d+) captured (\d+) skipped (\d+)(?: \((.*)\))?(?:, rewritten (\d+))?(?:, plain .*)?$", re.M
)
_OPTION = re.compile(r"DYNAMO_LITE_(?!(FUZZ|LEAK|OPS|SOAK|THREAD)_)")  # the others say how much the tests do
_DEFECTS = re.compile(r"(?:internal-error|backend-failed) \d+")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a target said. failed: ids of failing tests; counts: the runner's numbers, as text."""

    failed: frozenset[str]
    counts: str
    code: int
    seconds: float
    log: Path
    closing: tuple[int, int, int, str, int] | None  # seen, captured, skipped, why, rewritten
    taken: int = 0  # tests of what a mode uses itself, which ran only without one; part of those run


def run(target: str, mode: str, folder: Path, timeout: float) -> Outcome:
    """Run `target` under `mode` ("" is plain Python); the output is kept in `folder`."""
    own = target.startswith("test_") and not Path(target).exists()
    command = ["unittest", f"test.{target}"] if own else ["pytest", "-q", "-rfEs", "-p", "no:cacheprovider", target]
    before = ["-m", "dynamo_lite", "run"] if mode else []
    environment = {name: value for name, value in os.environ.items() if not _OPTION.match(name)}
    log = log_of(target, mode, folder)
    began = time.perf_counter()
    with open(log, "w") as output:
        try:
            code = subprocess.run(
                [sys.executable, *before, "-m", *command],
                env={**environment, "DYNAMO_LITE_STRESS": mode},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
    return read(log, code, time.perf_counter() - began)


def log_of(target: str, mode: str, folder: Path) -> Path:
    """Where the output of a run is kept."""
    return folder / f"{target.replace('/', '_')}.{mode or 'plain'}.log"


def read(log: Path, code: int, seconds: float) -> Outcome:
    """What the output of unittest or pytest says."""
    text = log.read_text(errors="replace")
    failed = re.findall(r"^(?:FAIL|ERROR): (.*)$", text, re.M)
    failed = failed or re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.M)
    taken = 0
    unittest = re.findall(r"^Ran (\d+) tests?", text, re.M)
    if unittest:
        skipped = re.search(r"^(?:OK|FAILED) \(.*?skipped=(\d+)", text, re.M)
        counts = f"{unittest[-1]} run, {skipped.group(1) if skipped else 0} skipped"
    else:
        summary = re.findall(r"^(?=.*\d+ (?:passed|failed|error)).* in [\d.]+s.*$", text, re.M)
        found = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", summary[-1])} if summary else {}
        run_ = sum(found.get(word, 0) for word in ("passed", "failed", "xfailed", "error", "errors"))
        taken = sum(map(int, re.findall(rf"^SKIPPED \[(\d+)\] .*: {IN_USE}$", text, re.M)))
        counts = f"{run_ + taken} run, {found.get('skipped', 0) - taken} skipped" if summary else "did not end"
    last = _CLOSING.findall(text)
    closing = None
    if last:
        seen, captured, skipped_frames, why, rewritten = last[-1]
        closing = (int(seen), int(captured), int(skipped_frames), why, int(rewritten or 0))
    return Outcome(frozenset(failed), counts, code, seconds, log, closing, taken)


def findings(mode: str, plain: Outcome, ours: Outcome, floor: float) -> list[str]:
    """What is worse under `mode` than plainly, one line each."""
    found = [f"fails: {name}" for name in sorted(ours.failed - plain.failed) if (mode, name) not in KNOWN]
    if ours.counts != plain.counts:
        found.append(f"{ours.counts}; plainly {plain.counts}")
    if ours.code != plain.code and not ours.failed - plain.failed:
        found.append(f"exit code {ours.code}; plainly {plain.code}")
    if ours.closing is None:
        return [*found, "no closing line"]
    seen, captured, skipped, why, rewritten = ours.closing
    found.extend(f"a defect made frames plain: {count}" for count in _DEFECTS.findall(why))
    if captured + skipped + rewritten != seen:
        found.append(f"of {seen} frames, {captured + skipped + rewritten} are accounted for")
    touched = {"hook": seen, "rewrite": rewritten, "compile": captured}.get(mode, captured)
    least = {"hook": 1.0, "rewrite": 0.9}.get(mode, floor)
    if seen == 0 or touched < least * seen:
        found.append(f"the mode touched {touched} of {seen} frames")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="test_with, tests/pycode ...; default: CPython's")
    parser.add_argument("--modes", default=",".join(MODES), help="joined by commas; also break and miss")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run")
    parser.add_argument("--floor", type=float, default=0.2, help="least share of frames captured in mode compile")
    parser.add_argument("--keep-plain", action="store_true", help="read the outputs of the last plain runs instead")
    parser.add_argument("--logs", type=Path, default=Path("build/stress"), help="where the outputs go")


def main(options: argparse.Namespace) -> int:
    """Run all targets and print the table; 1 when something was found."""
    targets, modes = options.targets or CPYTHON, [mode for mode in options.modes.split(",") if mode]
    return survey(targets, modes, options.logs, options.timeout, options.floor, options.keep_plain)


def survey(
    targets: Sequence[str], modes: Sequence[str], logs: Path, timeout: float, floor: float, keep_plain: bool = False
) -> int:
    """Run `targets` under `modes`; 1 when something was found."""
    logs = logs / "{}.{}".format(*sys.version_info[:2])
    logs.mkdir(parents=True, exist_ok=True)
    total = 0
    print(f"Python {sys.version.split()[0]}; outputs in {logs}")
    for target in targets:
        log = log_of(target, "", logs)
        plain = read(log, 0, 0.0) if keep_plain and log.exists() else run(target, "", logs, timeout)
        print(f"{target:18} plain    {plain.counts}, {len(plain.failed)} failed, {plain.seconds:.1f} s", flush=True)
        if plain.counts.startswith(("0 run", "did not end")):
            total += 1
            print(f"    nothing ran: see {plain.log}")
            continue
        for mode in modes:
            ours = run(target, mode, logs, timeout)
            found = findings(mode, plain, ours, floor)
            total += len(found)
            taken = f" ({ours.taken} only plainly: they test what the mode uses)" if ours.taken else ""
            head = f"{target:18} {mode:8} {ours.counts}{taken}"
            print(f"{head}, {len(found)} new, {ours.seconds:.1f} s; {_frames(ours)}")
            for name in sorted(ours.failed - plain.failed):
                if (mode, name) in KNOWN:
                    print(f"    known: {name} {KNOWN[mode, name]}")
            for text in found:
                print(f"    {text}", flush=True)
    print(f"{len(targets)} targets, {total} findings")
    return 1 if total else 0


def _frames(outcome: Outcome) -> str:
    """The closing line, shortened."""
    if outcome.closing is None:
        return "no closing line"
    seen, captured, skipped, why, rewritten = outcome.closing
    return f"frames {seen} captured {captured} rewritten {rewritten} skipped {skipped} ({why})"
