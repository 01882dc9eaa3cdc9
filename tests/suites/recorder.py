"""A pytest plugin that compiles the frames of tests, where asked to, and writes what became of each as a line of JSON.

$SUITES_RECORD is the path. A line is written as the test ends, so that a crash leaves those before it; a test that
begins is noted, so that a crash has a name. $DYNAMO_LITE_STRESS says what is compiled, but only while a test's own
function runs: imports and pytest's own code would take most of the time. Plain runs do not import dynamo_lite.
$SUITES_CHOSEN is a file of ids of tests, no others run; $SUITES_CASES is how many parameters of a test are tried, from
all over.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if os.environ.get("DYNAMO_LITE_STRESS"):
    from dynamo_lite import _C, stress

    ON_MISS = stress.enable().on_miss
    _C.hook_disable()


def write(kind: str, test: str, text: object = "") -> None:
    """One line; opened anew each time, for a test may close what it has not opened."""
    with open(os.environ["SUITES_RECORD"], "a") as out:
        out.write(json.dumps([kind, test, text]) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed what a test may draw from, whichever tests ran before it; some suites take another seed for each run."""
    random.seed(0)
    np.random.seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, Any, Any]:
    """Compile while a test's function runs."""
    if "ON_MISS" not in globals():
        return (yield)
    _C.hook_enable(ON_MISS)
    try:
        return (yield)
    finally:
        _C.hook_disable()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave tests out."""
    path, cases = os.environ.get("SUITES_CHOSEN"), int(os.environ["SUITES_CASES"])
    chosen = set(Path(path).read_text().splitlines()) if path else None
    of_one: dict[str, list[Any]] = {}
    for item in items:
        of_one.setdefault(item.nodeid.partition("[")[0], []).append(item)
    some = [item for ones in of_one.values() for item in ones[:: -(-len(ones) // cases)]]
    items[:] = [item for item in some if chosen is None or item.nodeid in chosen]


def pytest_runtest_logstart(nodeid: str) -> None:
    """A test begins."""
    write("begun", nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """A phase of a test has ended."""
    if report.when == "call":
        write("took", report.nodeid, report.duration)
    if report.when == "call" or not report.passed:
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        write(outcome if report.when == "call" or outcome != "failed" else "error", report.nodeid, reason(report))


def pytest_collectreport(report: Any) -> None:
    """A file could not be imported."""
    if report.failed:
        write("error", report.nodeid, reason(report))


def pytest_warning_recorded(warning_message: Any, nodeid: str) -> None:
    """A test has warned."""
    write("warned", nodeid, f"{warning_message.category.__name__}: {warning_message.message}"[:200])


def pytest_sessionfinish() -> None:
    """All tests have run."""
    write("ended", "", stress.frame_statistics() if "ON_MISS" in globals() else "")


def reason(report: Any) -> str:
    """The last line of a failure that says what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr or "")).strip()[:300] if report.failed else ""
