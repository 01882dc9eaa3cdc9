"""The other commands, and how a command line is taken apart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dynamo_lite import breaks
from dynamo_lite.cli.command import main, split
from dynamo_lite.cli.report import describe_frames
from tests.cli.test_execute import run


@pytest.mark.parametrize(
    ("arguments", "own", "program"),
    [
        ("run a.py", "run a.py", ""),
        ("run a.py -m x --help", "run a.py", "-m x --help"),
        ("run -m a -v", "run -m a", "-v"),
        ("run -q a.py -q", "run -q a.py", "-q"),
        ("run --quiet -m a -q", "run --quiet -m a", "-q"),
        ("run --help", "run --help", ""),
        ("breaks output", "breaks output", ""),
        ("", "", ""),
    ],
)
def test_split(arguments: str, own: str, program: str) -> None:
    assert split(arguments.split()) == (own.split(), program.split())


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "-m"], ["nonsense"], [], ["breaks", "nonsense"], ["explain", "-q", __file__]]
)
def test_wrong_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m dynamo_lite" in capsys.readouterr().err


def test_what_commands_there_are_is_said_without_any(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    said = capsys.readouterr().err
    assert all(f"\n    {name} " in said for name in ("run", "explain", "doctor", "backends", "breaks"))


def test_a_missing_script_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "missing.py"])
    assert caught.value.code == 2
    assert capsys.readouterr().err == "python -m dynamo_lite run: can't open file 'missing.py': there is no such file\n"


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_backend_that_is_not_there_ends_it_before_the_program_begins(command: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print('begun')")
    done = run("-m", "dynamo_lite", command, "program.py", cwd=tmp_path, DYNAMO_LITE_BACKEND="nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("python -m dynamo_lite: there is no backend 'nowhere': c, numba, reference")


@pytest.mark.parametrize("arguments", [["."], ["-m", "nowhere"], ["-m", "os.nowhere"]])
def test_what_is_no_program_is_said_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    ours = run("-m", "dynamo_lite", "run", "-q", *arguments, cwd=tmp_path)
    theirs = run(*arguments, cwd=tmp_path)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, "") == (1, "")
    assert len(ours.stderr.splitlines()) == 1
    assert ours.stderr.split(":")[0] == theirs.stderr.split(":")[0]


@pytest.mark.parametrize("arguments", [["doctor"], ["run", "program.py"], ["breaks"]])
def test_a_wrong_variable_is_said_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nsys.exit(3)\n")
    wrong = {"DYNAMO_LITE_NUM_THREADS": "two"}
    done = run("-m", "dynamo_lite", *arguments, cwd=tmp_path, **wrong)
    said = "python -m dynamo_lite: DYNAMO_LITE_NUM_THREADS='two': expected a whole number\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    done = run("-c", "import dynamo_lite", cwd=tmp_path, **wrong)
    assert done.returncode == 1 and "dynamo_lite.errors.ConfigError: DYNAMO_LITE_NUM_THREADS" in done.stderr


def test_a_reader_may_stop_reading(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m dynamo_lite breaks | exit'
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_describe_frames() -> None:
    statistics = {"seen": 9, "captured": 2, "rewritten": 0, "skipped": {"generator": 3, "plain": 4, "none": 0}}
    assert describe_frames(statistics) == "frames seen 9 captured 2 skipped 7 (plain 4, generator 3)"
    assert describe_frames({"seen": 1, "captured": 1, "skipped": {}}) == "frames seen 1 captured 1 skipped 0"


def test_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends"]) == 0
    assert {"numba", "reference"} <= set(capsys.readouterr().out.split())


def test_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["breaks"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(breaks.REASONS)
    assert main(["breaks", "output"]) == 0
    assert breaks.REASONS["output"].hint in capsys.readouterr().out


def test_doctor(tmp_path: Path) -> None:
    done = run("-m", "dynamo_lite", "doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok      compiling: " in done.stdout and "FAILED" not in done.stdout


def test_explain(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np\n\n\ndef f(x):\n    y = np.sqrt(x * x + 1.0) * 2.0 - x\n"
        "    print('in f')\n    return y * y + x\n\n\n"
        "for _ in range(2):\n    f(np.arange(50_000.0))\n"
    )
    done = run("-m", "dynamo_lite", "explain", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "in f\nin f\n")
    assert "Graph 0 from" in done.stderr and "[output]" in done.stderr
    assert "\ndynamo_lite: " in done.stderr


def test_explain_lets_no_loop_wait_for_a_function_that_takes_longer(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np\n\n\ndef build(rng):\n    a = rng.standard_normal((300, 300))\n"
        "    return np.linalg.inv(a @ a.T + 3.0 * np.eye(300))[0] * 2.0 + 1.0\n\n\n"
        "def solve(x):\n    for k in range(500):\n        x = np.sqrt(x * x + 1.0) - 0.5 * x\n    return x\n\n\n"
        "print(solve(build(np.random.default_rng(7))).shape)\n"
    )
    done = run("-m", "dynamo_lite", "explain", "program.py", cwd=tmp_path)
    assert "program.py:10 in solve: native" in done.stderr, done.stderr


def test_explain_enters_the_loop_around_the_others_first(tmp_path: Path) -> None:
    """The loops of what it calls are within its program, and no program of their own with breaks around."""
    (tmp_path / "program.py").write_text(
        "import numpy as np\n\n\nclass Body:\n    def __init__(self, x):\n        self.x = x\n\n\n"
        "def step(bodies):\n    total = 0.0\n    for a in bodies:\n        for b in bodies:\n"
        "            total += float(np.abs(a.x - b.x).sum())\n    return total\n\n\n"
        "bodies, total = [Body(np.full(3, float(i))) for i in range(3)], 0.0\n"
        "for day in range(300):\n    total += step(bodies)\nprint(total)\n"
    )
    done = run("-m", "dynamo_lite", "explain", "program.py", cwd=tmp_path)
    assert "program.py:18 in <module>: native" in done.stderr and "loop-goes-on" not in done.stderr, done.stderr


def test_explain_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import numpy as np\n\nprint(np.ones(3))\n")
    done = run("-m", "dynamo_lite", "explain", "program.py", cwd=tmp_path)
    assert "; there was nothing to compile, or nothing that takes more than" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_explain_takes_no_more_than_the_program_by_much(tmp_path: Path) -> None:
    """A loop whose rounds break the graph is entered now and then, not in each of them."""
    (tmp_path / "program.py").write_text(
        "import numpy as np\n\n\ndef rare(data):\n    total, seen = 0.0, {}\n    for i, v in enumerate(data):\n"
        "        total += v * v\n        if v > 0.99999:\n            print('large', i)\n            seen[i] = v\n"
        "        total += seen.get(i, 0.0)\n    return total\n\n\n"
        "rare(np.random.default_rng(0).random(200_000))\n"
    )
    done = run("-m", "dynamo_lite", "explain", "program.py", cwd=tmp_path)
    entered = re.search(r"running loops entered (\d+) times", done.stderr)
    assert entered is not None and 0 < int(entered[1]) < 20_000
