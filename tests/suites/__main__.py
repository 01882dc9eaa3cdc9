"""Runs other people's tests plainly and with every frame compiled, and prints which came out otherwise.

``python -m tests.suites scipy/ndimage hmmlearn`` takes rows of table.py, or those of their files that begin so, which
``--list`` prints. It installs the packages into an environment under build/, on top of the one that runs this, and runs
the tests of each name plainly and on each backend, in processes of their own. Found is a test that passes plainly and
not compiled, that warns of something else, or during which the process dies, and that comes out alike in two plain
runs: a defect, or `known` in the table says why not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.suites.table import SUITES, Suite

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "build" / "suites" / "{}.{}".format(*sys.version_info[:2])
OVER = -1000  # no signal's number: the run was ended when its time was over


@dataclass(slots=True)
class Outcome:
    """What a run recorded: of each test what became of it and why, what was warned of, and how long it took."""

    results: dict[str, tuple[str, str]] = field(default_factory=dict)
    warnings: dict[str, Counter[str]] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    latest: str = ""
    ended: bool = False
    frames: dict[str, int] = field(default_factory=dict)
    code: int = 0
    seconds: float = 0.0

    def note(self, kind: str, test: str, what: Any) -> None:
        """Take up one line of the record."""
        if kind == "begun":
            self.latest = test
        elif kind == "took":
            self.took[test] = what
        elif kind == "ended":
            self.ended, self.frames = True, what or {}
        elif kind == "warned":
            self.warnings.setdefault(test, Counter())[what] += 1
        elif self.results.get(test, ("passed",))[0] == "passed":
            self.results[test] = kind, what

    def counts(self) -> str:
        """How many passed, failed and so on."""
        found = Counter(kind for kind, _ in self.results.values())
        return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "nothing ran"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="scipy, scipy/ndimage, scipy/ndimage/tests/test_x.py")
    parser.add_argument("--list", action="store_true", help="print the rows, or the files of those that are named")
    parser.add_argument("--backends", default="reference,numba", help="joined by commas")
    parser.add_argument("--mode", default="compile", help="a stress mode; break: a break at every legal place")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one run")
    parser.add_argument("--longest", type=float, default=2, help="leave out tests that take more seconds plainly")
    parser.add_argument("--cases", type=int, default=10, help="at most so many parameters of one test")
    parser.add_argument("-k", dest="expression", default="", help="only tests that match, as pytest has it")
    options = parser.parse_args(arguments)
    if options.list and not options.names:
        print("\n".join(f"{name:16} {' '.join(row.files)}" for name, row in SUITES.items()))
        return 0
    if unknown := [name for name in options.names if name.partition("/")[0] not in SUITES]:
        parser.error(f"no row is called {', '.join(unknown)}; --list prints them")
    python = environment()
    install(python, {name.partition("/")[0] for name in options.names})
    chosen = {name: list(files(python, name)) for name in options.names}
    if empty := [name for name, paths in chosen.items() if not paths]:
        parser.error(f"no file begins with {', '.join(empty)}")
    if options.list:
        print("\n".join(str(path) for paths in chosen.values() for path in paths))
        return 0
    found = sum(survey(python, name, paths, options) for name, paths in chosen.items())
    print(f"{sum(map(len, chosen.values()))} files, {found} findings")
    return 1 if found else 0


def environment() -> Path:
    """The python of an environment that has what this one has; packages that come into it stay out of this one."""
    python = FOLDER / "environment" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", python.parent.parent], check=True)
        ours = sysconfig.get_path("purelib")
        (packages(python) / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
        (FOLDER / "pytest.ini").write_text("[pytest]\n")
    return python


def packages(python: Path) -> Path:
    """The folder of the packages of the environment whose python this is."""
    (found,) = (python.parent.parent / "lib").glob("python*/site-packages")
    return found


def install(python: Path, names: set[str]) -> None:
    """Bring in the packages of rows that are not there; NumPy and all that this environment has stay as they are."""
    needed = sorted({one for name in names if not folder_of(python, SUITES[name]) for one in SUITES[name].requires})
    if needed:
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "-q", *needed], check=True)


def folder_of(python: Path, row: Suite) -> Path | None:
    """Where the row's package lies, if it is there."""
    places = (packages(python), Path(sysconfig.get_path("platlib")))
    return next((place / row.package for place in places if (place / row.package).is_dir()), None)


def files(python: Path, name: str) -> Iterator[Path]:
    """The test files of a row, or those of them whose path begins as `name` says."""
    row = SUITES[name.partition("/")[0]]
    folder = folder_of(python, row)
    if folder is None:
        raise SystemExit(f"{row.package} is not there after installing {row.requires}")
    for path in sorted({path for pattern in row.files for path in folder.glob(pattern)}):
        if f"{row.package}/{path.relative_to(folder)}".startswith(name):
            yield path


def survey(python: Path, name: str, paths: list[Path], options: argparse.Namespace) -> int:
    """Run files plainly and on each backend, and print what differs; how much was found."""
    plain = run(python, name, paths, "", None, options)
    print(f"{name}: {plain.counts()}, {plain.seconds:.1f} s", flush=True)
    if not plain.ended or not plain.results:
        print("    nothing to compare with: it does not end, or nothing runs")
        return 1
    chosen = [test for test in plain.results if plain.took.get(test, 0.0) <= options.longest]
    known = tuple(SUITES[name.partition("/")[0]].known)
    total = 0
    for backend in options.backends.split(","):
        ours = run(python, name, paths, backend, chosen, options)
        found = {test: text for test, text in differences(plain, ours).items() if not test.startswith(known)}
        if found:  # some come out otherwise at each run
            again = differences(plain, run(python, name, paths, "", list(found), options))
            found = {test: text for test, text in found.items() if test not in again}
        seen, captured = (ours.frames.get(what, 0) for what in ("seen", "captured"))
        print(f"    {backend}: {len(found)} differ; {ours.seconds:.1f} s, {captured} of {seen} frames", flush=True)
        for test, text in found.items():
            print(f"        {test} {text}", flush=True)
        total += len(found)
    return total


def run(
    python: Path, name: str, paths: list[Path], backend: str, chosen: list[str] | None, options: argparse.Namespace
) -> Outcome:
    """Run test files, or `chosen` ones of their tests, plainly where no backend is named."""
    logs, scratch = FOLDER / "logs", FOLDER / "scratch"
    for folder in (logs, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    label = backend or ("plain" if chosen is None else "again")
    record, log = (logs / f"{name.replace('/', '-')}.{label}.{suffix}" for suffix in ("json", "log"))
    record.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYNAMO_LITE_")}
    environment |= {"SUITES_RECORD": str(record), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    environment["SUITES_CASES"] = str(options.cases)
    if chosen is not None:
        ids = record.with_suffix(".ids")
        ids.write_text("\n".join(chosen))
        environment["SUITES_CHOSEN"] = str(ids)
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a row's options name those that its tests need
    if backend:
        environment |= {"DYNAMO_LITE_STRESS": options.mode, "DYNAMO_LITE_BACKEND": backend}
    root = Path(*paths[0].parts[: paths[0].parts.index("site-packages") + 1])
    command = [str(python), "-m", "pytest", "-q", "-rfE", "-p", "recorder", "-p", "no:cacheprovider"]
    command += ["-c", str(FOLDER / "pytest.ini"), "--rootdir", str(root), *SUITES[name.partition("/")[0]].options]
    command += ["-k", options.expression] if options.expression else []
    outcome = Outcome()  # the ids of tests are paths from `root` on
    began = time.perf_counter()
    with open(log, "w") as out:
        outcome.code = call([*command, *map(str, paths)], environment, scratch, out.fileno(), options.timeout)
    outcome.seconds = time.perf_counter() - began
    for line in record.read_text().splitlines() if record.exists() else ():
        outcome.note(*json.loads(line))
    return outcome


def call(command: Sequence[str], environment: dict[str, str], folder: Path, out: int, timeout: float) -> int:
    """The exit code of `command`, OVER where it took too long."""
    try:
        return subprocess.run(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=timeout
        ).returncode
    except subprocess.TimeoutExpired:
        return OVER


def differences(plain: Outcome, ours: Outcome) -> dict[str, str]:
    """Tests that came out otherwise, and how; the one during which the process ended too early is among them."""
    found = {}
    for test in ours.results:
        kind, _ = plain.results.get(test, ("missing", ""))
        now, why = ours.results[test]
        before, after = plain.warnings.get(test, Counter()), ours.warnings.get(test, Counter())
        if now != kind:
            found[test] = f"{kind} plainly, {now} compiled: {why}"
        elif before != after:
            found[test] = f"warns of {dict(after - before)} more and {dict(before - after)} less"
    if not ours.ended:
        found[ours.latest] = "ran when the time was over" if ours.code == OVER else f"ended with code {ours.code}"
    return found


if __name__ == "__main__":
    sys.exit(main())
