"""Whole programs as `run` runs them: what takes long is compiled, what is short never meets the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.test_execute import run, split_closing

LONG = """\
import numpy as np, time
from helper import step
def main():
    x, total = np.linspace(0.0, 1.0, 20_000), 0.0
    while time.process_time() < {seconds}:
        for i in range(50):
            x = step(x)
            total += x[i]
    for i in range(200):
        x = x * 0.5 + np.sqrt(np.abs(x)) - 0.25 * x * x
        total += x[3]
    return bool(total > 0), x.shape
print(main())
"""
HELPER = "import numpy as np\ndef step(x):\n    return x * 0.5 + np.sqrt(np.abs(x)) - 0.25 * x * x\n"


def test_what_takes_long_is_compiled_and_said(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG.format(seconds=3))
    (tmp_path / "helper.py").write_text(HELPER)
    done = run("-m", "dynamo_lite", "run", "long.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET="50")
    _, closing = split_closing(done.stderr)
    assert done.stdout == "(True, (20000,))\n"
    calls = re.search(r"(\d+) native calls, running loops entered (\d+) times", closing)
    assert calls and int(calls.group(1)) > 0 and int(calls.group(2)) > 0, closing


HOLDS = """\
import numpy as np
{first}
class Says:
    def __del__(self, say=print): say("gone", flush=True)
says = Says()
x, y = np.ones(1000), 0.0
{compiled}def step(x):
    return x * 0.5 + np.sqrt(np.abs(x))
for i in range({rounds}):
    y = y * 0.5 + x[i % 1000]
    if not i % 1000:
        x = step(x)
print("end")
"""


@pytest.mark.parametrize("command", [["-m", "dynamo_lite", "run", "-q"], ["-m", "dynamo_lite", "run"], []])
def test_what_the_program_holds_is_let_go_when_it_ends(command: list[str], tmp_path: Path) -> None:
    own = {"first": "import dynamo_lite", "compiled": "@dynamo_lite.compile\n", "rounds": 3000}
    watched = {"first": "", "compiled": "", "rounds": 500_000}
    (tmp_path / "holds.py").write_text(HOLDS.format(**(watched if command else own)))
    done = run(*command, "holds.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET="100")
    assert done.returncode == 0 and done.stdout == "end\ngone\n", done.stderr
    if len(command) == 3:
        assert " 0 segments" not in done.stderr and " segments" in done.stderr


def test_short_programs_never_meet_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text(
        "import sys\nimport numpy as np\n"
        + HELPER
        + "x = step(np.ones(9))\nprint(sys.modules.keys() & {'dynamo_lite.compilation', 'llvmlite'})\n"
    )
    done = run("-m", "dynamo_lite", "run", "short.py", cwd=tmp_path)
    assert done.stdout == "set()\n"
    assert "nothing took long enough" in done.stderr


def test_compiling_takes_no_more_than_its_share(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(LONG.format(seconds=1))
    (tmp_path / "helper.py").write_text(HELPER)
    done = run("-m", "dynamo_lite", "run", "long.py", cwd=tmp_path)
    assert done.stdout == "(True, (20000,))\n"
    assert "nothing was compiled" in done.stderr  # importing the compiler alone would take more
    assert "compiling had to wait (option run_budget)" in done.stderr


def test_a_loop_of_a_module_that_seldom_prints_is_not_given_up(tmp_path: Path) -> None:
    """Behind the print its graph goes on at the loop's header, as it does where each round breaks."""
    (tmp_path / "prints.py").write_text(
        "import numpy as np\nx = 0.0\nfor i in range(3_000_000):\n    x = x * 0.999 + np.sin(i * 0.1)\n"
        "    if i % 500_000 == 499_999: print(i, x)\nprint(x)\n"
    )
    plain = run("prints.py", cwd=tmp_path)
    ours = run("-m", "dynamo_lite", "run", "prints.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET="1000")
    assert ours.stdout == plain.stdout
    assert " native calls" in ours.stderr and "would not be faster" not in ours.stderr


ASKS = """\
from dynamo_lite.watch.program import Program
program = Program()
program.prepared(compile("import numpy", "made.py", "exec"), b"import numpy")
print(program.watch.budget._pace)
"""


def test_where_sources_are_compiled_imports_tell_nothing_of_the_machine(tmp_path: Path) -> None:
    """As after the package was installed or changed: all would take as long as on a slow one."""
    paces = [
        float(run("-c", ASKS, cwd=tmp_path, PYTHONPYCACHEPREFIX=str(tmp_path / "made"), **more).stdout)
        for more in ({"PYTHONDONTWRITEBYTECODE": "1"}, {"PYTHONDONTWRITEBYTECODE": ""}, {"PYTHONDONTWRITEBYTECODE": ""})
    ]
    assert paces[:2] == [1.0, 1.0] and paces[2] != 1.0
