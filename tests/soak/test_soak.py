"""Short versions of the soak runs, and their own eyes tested: a leak, a wrong result and a new failure are seen.

DYNAMO_LITE_SOAK_CALLS sets the calls on each path and of each thread (a million in ``python -m tests.soak leaks``).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.conftest import budget
from tests.soak import leaks, stress, threads

CALLS = budget("DYNAMO_LITE_SOAK_CALLS", 4_000)
PATHS = (
    "hit",
    "keywords",
    "method",
    "big array (no GIL)",
    "stores and views",
    "miss: limit reached",
    "miss: unsupported array",
    "miss: compiled anew",
    "a new function",
    "break",
    "breaks in a loop",
    "NumPy raises",
    "raise behind a break",
    "TypeError of binding",
    "decline, warning",
    "warning of its own",
    "decline, exception",
    "retired entry",
    "callee by the hook",
    "recursion",
)


@pytest.fixture(scope="module")
def all_paths() -> dict[str, leaks.Path]:
    return {path.name: path for path in leaks.paths()}


def test_all_paths_are_tested(all_paths: dict[str, leaks.Path]) -> None:
    assert tuple(all_paths) == PATHS


@pytest.mark.parametrize("name", PATHS)
def test_no_leak(name: str, all_paths: dict[str, leaks.Path], no_mode: None) -> None:
    path = all_paths[name]
    growth = leaks.measure(path, CALLS // 40 if path.costly else CALLS)
    assert growth.proven, path.stats()
    assert not growth.leaks, growth


def test_a_leak_is_seen() -> None:
    kept: list[object] = []
    growth = leaks.measure(leaks.Path("leaks", lambda: kept.append([]), lambda: {"calls": len(kept)}, "calls"), 1_000)
    assert growth.leaks and growth.proven


def test_threads() -> None:
    run, counters = threads.soak(8, CALLS // 80, timeout=0)
    assert not run.wrong, "\n".join(run.wrong)
    assert all(counters[name] for name in threads.PATHS), counters


def test_a_wrong_result_is_seen() -> None:
    jobs = threads.jobs()
    jobs[0].fast = threads.norm
    run = threads.Run(jobs[:1])
    run.guarded(run.call, 0, 5)
    assert run.wrong


PLAIN = """\
FAIL: test_known (test.test_x.A.test_known)
Ran 3 tests in 0.1s

FAILED (failures=1, skipped=1)
"""
CLOSING = "frames seen 10 captured 7 skipped 3 (a generator, or so 2, recompile-limit 1), plain from a break on 4\n"


def test_what_is_new_under_a_mode_is_found(tmp_path: Path) -> None:
    def outcome(text: str, code: int = 1) -> stress.Outcome:
        (tmp_path / "log").write_text(text)
        return stress.read(tmp_path / "log", code, 0.1)

    plain = outcome(PLAIN)
    assert (plain.failed, plain.counts) == ({"test_known (test.test_x.A.test_known)"}, "3 run, 1 skipped")
    assert stress.findings("compile", plain, outcome(PLAIN + CLOSING), 0.5) == []
    new = PLAIN.replace("Ran", "ERROR: test_new (test.test_x.A.test_new)\nRan") + CLOSING
    assert stress.findings("compile", plain, outcome(new), 0.5) == ["fails: test_new (test.test_x.A.test_new)"]
    for text, finding in (
        (PLAIN + CLOSING.replace("seen 10", "seen 11"), "of 11 frames, 10 are accounted for"),
        (PLAIN + CLOSING.replace("captured 7 skipped 3", "captured 1 skipped 9"), "the mode touched 1 of 10 frames"),
        (PLAIN.replace("Ran 3", "Ran 2") + CLOSING, "2 run, 1 skipped; plainly 3 run, 1 skipped"),
        (
            PLAIN + CLOSING.replace("recompile-limit 1", "internal-error 1"),
            "a defect made frames plain: internal-error 1",
        ),
        (PLAIN, "no closing line"),
    ):
        assert stress.findings("compile", plain, outcome(text), 0.5) == [finding]
    ours = outcome(
        "FAILED tests/x.py::test_a - assert 0\n3 failed, 7 passed, 2 skipped, 1 xfailed in 81.20s (0:01:21)\n"
    )
    assert ours.counts == "11 run, 2 skipped" and ours.failed == {"tests/x.py::test_a"}
    assert outcome("Segmentation fault\n", -11).counts == "did not end"


@pytest.mark.skipif(importlib.util.find_spec("test.test_scope") is None, reason="this Python came without its tests")
@pytest.mark.parametrize(
    ("mode", "file"), [("hook", "test_scope"), ("rewrite", "test_scope"), ("compile", "test_dictcomps")]
)
def test_a_test_file_of_cpython(mode: str, file: str, tmp_path: Path) -> None:
    plain = stress.run(file, "", tmp_path, 300)
    assert plain.code == 0
    assert stress.findings(mode, plain, stress.run(file, mode, tmp_path, 300), 0.5) == []
