"""``python -m benchmarks.first_calls``: the CPU time of the first call of every program of the suites.

Each program runs in a process of its own that has imported the compiler and compiled nothing; importing is timed apart.
Leaves a line a program, for each stage the sum, the median and the 90th percentile, and the worst ten.

capture, backend, kernels: CPU time that the stages say they took. rest: what the first call took besides, running the
program included. later: the shortest of two more calls.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import single_thread
from benchmarks.peers import Case

STAGES = ("capture", "backend", "entry", "kernels", "rest", "first", "later", "excess")
SUITES = ("loops", "states", "elements", "kinds", "straight")
IMPORT = """
import numpy
from time import process_time
began = process_time()
import llvmlite.binding
library = process_time() - began
import dynamo_lite.compilation, dynamo_lite.backends
dynamo_lite.backends.resolve("numba")
import dynamo_lite.backends.numba.compile
print(library, process_time() - began)
"""

Times = dict[str, float]


def main() -> int:
    """Print the lines and the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names like loops.heat; all by default")
    parser.add_argument("--suites", default=",".join(SUITES), help=f"joined by commas (default {','.join(SUITES)})")
    parser.add_argument("--npbench", type=Path, help="a checkout of github.com/spcl/npbench, preset S")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each program, of which the shortest counts")
    parser.add_argument("--json", type=Path, help="a file for all results")
    parser.add_argument("--before", type=Path, help="such a file, to compare with")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    single_thread.restart("benchmarks.first_calls", 1)
    suites = options.suites.split(",")
    if options.child:
        ready()
        print(json.dumps(calls_of(dict(cases(suites, options.npbench))[options.child])))
        return 0
    print_imports()
    rows: dict[str, Times] = {}
    for name, _ in cases(suites, options.npbench):
        if options.programs and name not in options.programs:
            continue
        command = [sys.executable, "-m", "benchmarks.first_calls", f"--suites={options.suites}", f"--child={name}"]
        command += [f"--npbench={options.npbench}"] if options.npbench else []
        runs = [subprocess.run(command, capture_output=True, text=True) for _ in range(options.repeat)]
        made = [json.loads(run.stdout) for run in runs if run.returncode == 0]
        if not made:
            print(f"{name}: FAILED: {(runs[0].stderr.strip().splitlines() or ['no message'])[-1]}")
            continue
        rows[name] = min(made, key=lambda times: times["first"])
        print(f"{name}: " + ", ".join(f"{stage} {rows[name][stage] * 1e3:.1f}" for stage in STAGES), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print_tables(rows, json.loads(options.before.read_text()) if options.before else {})
    return 0


def cases(suites: Sequence[str], npbench: Path | None) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Names, and what makes the program of each."""
    from benchmarks.kinds.programs import PROGRAMS as KINDS
    from benchmarks.loops.programs import ELEMENTS, PROGRAMS, STATES
    from benchmarks.programs import PROGRAMS as STRAIGHT

    for suite, programs in (("loops", PROGRAMS), ("states", STATES), ("elements", ELEMENTS)):
        if suite in suites:
            yield from ((f"{suite}.{name}", lambda one=one: one.at("small")) for name, one in programs.items())
    if "kinds" in suites:
        yield from ((f"kinds.{name}", lambda one=one: one.at(65_536)) for name, one in KINDS.items())
    if "straight" in suites:
        yield from ((f"straight.{name}", lambda one=one: one) for name, one in STRAIGHT.items())
    if npbench is not None:
        from benchmarks import npbench as suite

        path = npbench.resolve()
        for name in suite.names(path):
            yield f"npbench.{name}", lambda name=name: suite.load(path, name, "S")


def ready() -> None:
    """Import the compiler, and have its stages take CPU time."""
    import dynamo_lite.backends.numba.compile

    import dynamo_lite
    from dynamo_lite import backends, pipeline

    kernels = sys.modules["dynamo_lite.backends.kernels"] if backends.resolve("numba") else None
    pipeline.perf_counter = kernels.perf_counter = process_time  # type: ignore[attr-defined,union-attr]
    assert dynamo_lite.compile


def calls_of(load: Callable[[], Case]) -> Times:
    """CPU seconds of three calls, by stage."""
    import dynamo_lite
    from tests.copies import clone

    case = load()
    args = case.make_args()
    compiled: Any = dynamo_lite.compile(case.fn)
    took = []
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for _ in range(3):
            given = clone(args)
            began = process_time()
            compiled(*given)
            took.append(process_time() - began)
            if len(took) == 1:
                stages = [dict(record.seconds) for record in compiled.explain().compiles]
    times = {name: sum(stage.get(name, 0.0) for stage in stages) for name in STAGES[:4]}
    first, later = took[0], min(took[1:])
    return {**times, "rest": first - sum(times.values()), "first": first, "later": later, "excess": first - later}


def print_imports() -> None:
    """What importing takes, the least of five processes."""
    command = [sys.executable, "-c", IMPORT]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
    library, whole = (min(map(float, column)) for column in zip(*(run.stdout.split() for run in runs), strict=True))
    print(f"import: {whole * 1e3:.0f} ms, of which llvmlite {library * 1e3:.0f} ms")


def print_tables(rows: dict[str, Times], before: dict[str, Times]) -> None:
    """Sums and percentiles by stage, and the programs with the longest first calls."""
    shared = [name for name in rows if name in before]
    for stage in STAGES:
        values = sorted(times[stage] * 1e3 for times in rows.values())
        most = values[len(values) * 9 // 10]
        line = f"{stage:8} sum {sum(values):8.0f} ms, median {statistics.median(values):6.1f}, 90 % {most:6.1f}"
        if shared:
            now, then = (sum(some[name][stage] for name in shared) for some in (rows, before))
            line += f"; {now / then:.3f} of before"
        print(line)
    for name in sorted(rows, key=lambda name: -rows[name]["excess"])[:10]:
        print(f"  {name}: " + ", ".join(f"{stage} {rows[name][stage] * 1e3:.0f}" for stage in STAGES))


if __name__ == "__main__":
    sys.exit(main())
