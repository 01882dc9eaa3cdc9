"""``python -m benchmarks.whole PROGRAM.py ...``: CPU time of whole programs, plain and compiled, output compared.

``run``: the program as a process of its own, plain, under ``python -m dynamo_lite run``, and plain once more; the ratio
of CPU times (plain before and after averaged over compiled), import and compile time included.
``main``: the file imported as a module in one process, then ``main()`` plainly, ``compile(main)`` called twice, and
``main()`` plainly once more. A program without ``main`` but with ``work(*inputs())`` is called so (20 calls).

Programs draw with a stand-in for matplotlib that hashes what they draw (stand_in/); its digest is part of the output
that is compared. Programs are named by the caller; none is part of this project.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STAND_IN = str(Path(__file__).parent / "stand_in")
CALLS = 20


def process(command: list[str], folder: Path, limit: float) -> tuple[float, str, str]:
    """CPU seconds of a child process, what it printed, and its last line on stderr."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((STAND_IN, root)), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = done.stderr.strip() or "-"
    if done.returncode:
        raise RuntimeError(f"{command}: exit {done.returncode}: {said[-2000:]}")
    return seconds, done.stdout, said


def entry(path: Path) -> str:
    """The source that runs the program as its own __main__, for files that only define work(*inputs())."""
    text = path.read_text()
    if "def work(" in text and "__main__" not in text:
        main = f"    for _ in range({CALLS}):\n        _r = work(*inputs())\n    print(_r)\n"
        return f"\n\nif __name__ == '__main__':\n{main}"
    return ""


def as_process(path: Path, limit: float) -> list[tuple[float, str, str]]:
    """Plain, under run, plain again."""
    added = entry(path)
    if added:
        folder = Path(os.environ.get("TMPDIR", "/tmp")) / "whole_programs"
        folder.mkdir(exist_ok=True)
        (folder / path.name).write_text(path.read_text() + added)
        path = folder / path.name
    plain, fast = [sys.executable, path.name], [sys.executable, "-m", "dynamo_lite", "run", path.name]
    return [process(command, path.parent, limit) for command in (plain, fast, plain)]


def _timed(call: Callable[[], Any]) -> tuple[float, str]:
    """CPU seconds of a call, and all that it printed or drew."""
    printed = io.StringIO()
    import matplotlib

    with contextlib.redirect_stdout(printed):
        began = time.process_time()
        call()
        seconds = time.process_time() - began
    text = printed.getvalue() + matplotlib.drawings()  # type: ignore[attr-defined]
    return seconds, text


def in_process(path: Path) -> list[float]:
    """CPU seconds: plain, compiled first, compiled second, plain again. Raises where the output differs."""
    import hashlib

    os.environ["STAND_IN_QUIET"] = "1"
    sys.path.insert(0, STAND_IN)
    os.chdir(path.parent)
    import matplotlib

    import dynamo_lite

    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "main"):
        plain, fast = module.main, dynamo_lite.compile(module.main)
        calls: list[Callable[[], Any]] = [plain, fast, fast, plain]
    else:
        compiled = dynamo_lite.compile(module.work)

        def several(function: Any) -> None:
            for _ in range(CALLS):
                result = function(*module.inputs())
            print(result)

        calls = [lambda f=f: several(f) for f in (module.work, compiled, compiled, module.work)]  # type: ignore[misc]
    seconds, texts = [], []
    first = dict(vars(module))
    for call in calls:
        vars(module).update(first)  # programs count in globals
        matplotlib._digest = hashlib.sha256()  # type: ignore[attr-defined]
        matplotlib._calls = 0  # type: ignore[attr-defined]
        took, text = _timed(call)
        seconds.append(took)
        texts.append(text)
    if len(set(texts)) > 1:
        differ = [index for index, text in enumerate(texts) if text != texts[0]]
        raise AssertionError(f"calls {differ} printed or drew something else than the first")
    return seconds


def mean(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main() -> int:
    """Run what the command line names; 1 if an output differed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole", description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds a process may take")
    parser.add_argument("--only", choices=("run", "main"))
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(*in_process(options.programs[0].resolve()))
        return 0
    failed = False
    ratios: dict[str, list[float]] = {"run": [], "second": []}
    for path in options.programs:
        line = f"{path.stem:26}"
        try:
            if options.only != "main":
                (before, text, _), (fast, fast_text, _), (after, _, _) = as_process(path.resolve(), options.limit)
                ratio = (before + after) / 2 / fast
                ratios["run"].append(ratio)
                same = "same" if text == fast_text else "OTHER OUTPUT"
                failed |= text != fast_text
                line += f" plain {before:6.2f} {after:6.2f}  run {fast:6.2f}  ratio {ratio:5.2f} {same}  "
            if options.only != "run":
                command = [sys.executable, "-m", "benchmarks.whole", "--in-process", str(path.resolve())]
                _, printed, _ = process(command, Path.cwd(), options.limit)
                plain, first, second, again = map(float, printed.split()[-4:])
                usual = (plain + again) / 2
                ratios["second"].append(usual / second)
                line += f" main plain {plain:6.2f} {again:6.2f} first {usual / first:5.2f} second {usual / second:5.2f}"
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            line += f" FAILED: {error}"
            failed = True
        print(line, flush=True)
    for name, values in ratios.items():
        if values:
            print(f"{name}: geometric mean {mean(values):.2f} over {len(values)}, least {min(values):.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
