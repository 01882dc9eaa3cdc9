"""``python -m benchmarks.npbench PATH``: the NumPy programs of NPBench, unmodified.

Enters: the folder of a checkout of github.com/spcl/npbench. Leaves: a line for each program, then a table. What to
call with which arguments stands in the suite's own bench_info; the function that it names is compiled, and nothing
else. Each program runs in a process of its own. spmv needs scipy for its arguments.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import single_thread, suite_options

PRESETS = ("S", "M", "L", "paper")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One program of the suite. values: its arguments."""

    name: str
    fn: Callable[..., Any]
    values: tuple[Any, ...]

    def make_args(self) -> tuple[Any, ...]:
        from tests.copies import clone

        return clone(self.values)  # type: ignore[no-any-return]


def names(path: Path) -> list[str]:
    """All programs of the suite."""
    return sorted(info.stem for info in (path / "bench_info").glob("*.json"))


def load(path: Path, name: str, preset: str) -> Kernel:
    """The program with the arguments of a preset; ModuleNotFoundError if it needs a package that is missing."""
    info = json.loads((path / "bench_info" / f"{name}.json").read_text())["benchmark"]
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))
    module = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
    data = dict(info["parameters"][preset])
    if info.get("init"):
        made = getattr(importlib.import_module(module), info["init"]["func_name"])(
            *(data[argument] for argument in info["init"]["input_args"])
        )
        outputs = info["init"]["output_args"]
        data.update(zip(outputs, made if len(outputs) > 1 else (made,), strict=True))
    fn = getattr(importlib.import_module(f"{module}_numpy"), info["func_name"])
    return Kernel(name, fn, tuple(data[argument] for argument in info["input_args"]))


def main() -> int:
    """Print the table; 1 if a program failed or gave other bits than NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("path", type=Path, help="a checkout of github.com/spcl/npbench")
    parser.add_argument("--preset", choices=PRESETS, default="S")
    parser.add_argument("--only", default="", help="names, joined by commas; all by default")
    suite_options.add(parser)
    options = parser.parse_args()
    single_thread.restart("benchmarks.npbench", options.threads)

    # After restart, since NumPy reads its thread settings when it is imported.
    from benchmarks import isolated

    path = options.path.resolve()
    known = names(path)
    if not known:
        parser.error(f"{path} has no bench_info: it is no checkout of NPBench")
    if options.row:
        return isolated.child(lambda: load(path, options.child, options.preset), options)
    chosen = [name for name in options.only.split(",") if name] or known
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(known)}")
    return isolated.command("benchmarks.npbench", chosen, [str(path), f"--preset={options.preset}"], options)


if __name__ == "__main__":
    sys.exit(main())
