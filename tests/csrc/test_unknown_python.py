"""Where frames are not known (another CPython, a free-threaded build) the extension builds, and functions are plain."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

import dynamo_lite
from dynamo_lite import _C, api
from dynamo_lite.cli import doctor
from dynamo_lite.errors import UnsupportedPythonWarning
from dynamo_lite.watch.program import Program

CSRC = Path(__file__).parent.parent.parent / "csrc"
SOURCES = ("pyframe.c", "pyframe_signals.c")


OTHER = "this is another Python. Use the usual one."


@pytest.fixture(scope="module")
def free_threaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pyframe.c as a free-threaded build compiles it."""
    return compiled(tmp_path_factory.mktemp("built"), SOURCES[0], "-DPy_GIL_DISABLED=1")


def compiled(folder: Path, source: str, *flags: str) -> Path:
    made = folder / "made.o"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    include = f"-I{CSRC}", "-I" + sysconfig.get_path("include")
    warnings = ("-Wall", "-Wextra", "-Werror")
    given = [*warnings, *flags, *include, str(CSRC / "frame" / source)]
    subprocess.run([compiler, "-c", "-fPIC", *given, "-o", str(made)], check=True)
    return made


def defined(made: Path) -> set[str]:
    """What the object file has for others to call."""
    text = subprocess.run(["nm", "-g", "--defined-only", str(made)], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines()}


@pytest.mark.parametrize("source", SOURCES)
def test_all_that_others_call_is_there(source: str, tmp_path: Path) -> None:
    free_threaded = defined(compiled(tmp_path, source, "-DPy_GIL_DISABLED=1"))
    assert free_threaded == defined(compiled(tmp_path, source))


def test_it_says_why(free_threaded: Path) -> None:
    assert b"this is a free-threaded build of Python" in free_threaded.read_bytes()


def test_functions_are_plain_and_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_C, "hook_refusal", lambda: OTHER)
    monkeypatch.setattr(api, "_UNSUPPORTED_SAID", False)
    with pytest.warns(UnsupportedPythonWarning, match="leaves every function plain: this is another Python") as said:
        fast = dynamo_lite.compile(lambda x: x + 1)
        again = dynamo_lite.compile(lambda x: x + 2)
    assert len(said) == 1
    assert (fast(1), again(1), fast.stats()["compiles"]) == (2, 3, 0)
    with pytest.raises(RuntimeError, match="every function runs as plain Python: this is another Python"):
        doctor._python()


def test_a_program_is_run_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_C, "hook_refusal", lambda: OTHER)
    program = Program()
    for _ in range(2):
        source = b"import numpy\ndef f(x):\n    for i in x:\n        i[0] += 1\n"
        code = compile(source, "/programs/user.py", "exec")
        assert program.prepared(code, source) is code
    assert program.watch is None and program.refusal == OTHER
    program.end()
