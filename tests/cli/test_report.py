"""The last lines of `run`: where most time went plainly, a line a function, and why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.test_execute import run

HEAD = "import numpy as np, time\n\n\ndata = np.random.default_rng(0).random(1000)\n\n\n"
SORTS = """\
def sorts(seconds):
    total, ends = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for i in range(1000):
            total += sorted([data[i], data[i - 1], 0.5])[1]
    return total


sorts(0.8)
"""
COUNTS = """\
def counts(seconds):
    x, seen, ends = np.zeros(3), set(), time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for i in range(1000):
            x = x + data[i]
            seen.add(i % 10)
    return x


counts(0.8)
"""


@pytest.mark.parametrize(
    ("text", "budget", "line", "why"),
    [
        (SORTS, "5", "(9|10) a loop of sorts", "each of its rounds breaks the graph"),
        (COUNTS, "0", "(9|10) a loop of counts", r"compiling had to wait \(option run_budget\)"),
        (COUNTS, "1000", "(9|10) a loop of counts", "(?!compiling had to wait)"),
    ],
    ids=["no prospects", "no budget", "compiled"],
)
def test_each_function_has_one_line_and_its_own_reason(
    text: str, budget: str, line: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(HEAD + text)
    done = run("-m", "dynamo_lite", "run", "program.py", cwd=tmp_path, DYNAMO_LITE_RUN_BUDGET=budget)
    _, *places = done.stderr.splitlines()
    assert len(places) == 1
    assert re.match(rf"  \S*program\.py:{line}: \d\.\d\d s plainly: {why}", places[0]), done.stderr
