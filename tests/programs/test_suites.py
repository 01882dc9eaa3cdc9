"""The command for NPBench on a checkout of three programs: one that runs, one that ends its process, one that imports
what is not there. Each costs no more than itself, and the result says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

KERNELS = {
    "steps": """
import numpy as np
def kernel(n, a):
    for _ in range(n):
        a[1:] = a[1:] * 0.5 + a[:-1]
    return a.sum()
""",
    "ends": """
import os
def kernel(n, a):
    os.abort()
""",
    "needs": """
import no_such_package
def kernel(n, a):
    return a
""",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name, text in KERNELS.items():
        info: dict[str, Any] = {
            "relative_path": f"some/{name}",
            "module_name": name,
            "func_name": "kernel",
            "parameters": {"S": {"N": 20}},
            "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["a"]},
            "input_args": ["N", "a"],
        }
        folder = tmp_path / "npbench" / "benchmarks" / "some" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(
            "import numpy as np\ndef initialize(N):\n    return np.linspace(0.0, 1.0, N)\n"
        )
        (folder / f"{name}_numpy.py").write_text(text)
        (tmp_path / "bench_info").mkdir(exist_ok=True)
        (tmp_path / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": info}))
    return tmp_path


def run(suite: Path, *arguments: str) -> tuple[int, str]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.npbench",
        str(suite),
        "--peers=",
        "--seconds=0",
        "--rounds=1",
        *arguments,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_each_program_costs_no_more_than_itself(suite: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    code, text = run(suite, f"--json={saved}")
    assert code == 1, text
    outcomes = {outcome["program"]: outcome for outcome in json.loads(saved.read_text())}
    assert list(outcomes) == ["ends", "needs", "steps"]
    assert "SIGABRT" in outcomes["ends"]["reason"] and not outcomes["ends"]["skipped"]
    assert "no_such_package" in outcomes["needs"]["reason"] and outcomes["needs"]["skipped"]
    steps = outcomes["steps"]
    assert steps["equal"]["dynamo_lite"], text
    assert [loop["outcome"] for loop in steps["loops"]] == ["native"]
    assert steps["first_call"] > 0 and steps["ratios"]["dynamo_lite"] > 0
    assert "over all 3" in text and "failed: ends" in text and "missing: needs" in text


def test_a_name_that_does_not_exist_is_said(suite: Path) -> None:
    code, text = run(suite, "--only=steps,never")
    assert code == 2 and "no program never; there are ends, needs, steps" in text
