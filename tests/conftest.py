"""What every test shares: the compiler under test, the backends it is tested on, and Hypothesis's settings.

Hypothesis draws the same examples in every run, so that a failure means a change; ``HYPOTHESIS_PROFILE=explore`` draws
new ones and remembers what failed.
"""

from __future__ import annotations

import gc
import os
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import hypothesis
import pytest

import dynamo_lite
from dynamo_lite import _C, policy

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

MANY = 6  # cases, of which --cases leaves none out
IN_USE = "a stress mode of the process has it in use"
# Which backends the tests of programs run on, e.g. DYNAMO_LITE_TEST_BACKENDS=c.
BACKENDS = tuple(os.environ.get("DYNAMO_LITE_TEST_BACKENDS", "reference numba").split())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files again, as they are now")
    parser.addoption(
        "--cases", type=int, default=1, metavar="N", help="one in N cases of a test that has many; others each day"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """``--cases N``: of a test with more than MANY cases run one in N, another choice each day."""
    share, day = config.getoption("--cases"), time.strftime("%Y%m%d")
    if share < 1:
        raise pytest.UsageError(f"--cases {share}: one in so many, at least 1")
    counts = Counter(item.nodeid.partition("[")[0] for item in items)
    kept, left_out = [], []
    for item in items:
        is_one_of_many = counts[item.nodeid.partition("[")[0]] > MANY
        is_left_out = is_one_of_many and zlib.crc32(f"{day} {item.nodeid}".encode()) % share
        (left_out if is_left_out else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(scope="session")
def compiler() -> Callable[..., Any]:
    """dynamo_lite.compile."""
    return dynamo_lite.compile


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend by name."""
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def _optimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every other test has its kernels optimised at once, as code is that runs for long; the others as they come."""
    if zlib.crc32(request.node.nodeid.encode()) % 2:
        yield
        return
    before = _C.optimise_after(0.0, 0.0)
    yield
    _C.optimise_after(*before)


@pytest.fixture
def no_mode() -> None:
    """For a test that sets up what a stress mode of the whole process uses, or counts what it adds to.

    The frame hook, and so the callees that it captures; entries in functions' caches, true or made up; how often a
    function was compiled, what is said of it and whether it pays; what is remembered of code; references.
    """
    if _C.hook_installed():
        pytest.skip(IN_USE)


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> None:
    """What earlier files have left alive is frozen: tests that collect would take ever longer."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_clock() -> Iterator[None]:
    """What is compiled, and what runs, does not depend on how fast this machine is: no callee waits until it has taken
    time, no call is run plainly for the sake of knowing. Tests of just that set limits of their own."""
    _C.set_limits(replace(policy.THRESHOLDS, hot_callee=0.0, tried_compiled=1e9, tried_time=1e9))
    yield
    _C.set_limits(policy.THRESHOLDS)


@pytest.fixture(autouse=True)
def nothing_watched() -> Iterator[None]:
    """No test leaves a program watched, under which those behind it would compile callees later."""
    yield
    _C.watch(None, None, None)


@pytest.fixture(autouse=True)
def same_mode() -> Iterator[None]:
    """No test ends the stress mode of the process, lest those behind it run plainly and pass for it."""
    before = _C.get_stress()
    yield
    assert _C.get_stress() == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the process was started with it ignored, as shells do behind `&`."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


def budget(name: str, quick: int) -> int:
    """How many programs, calls ... a test makes: `quick`, or what the environment variable `name` says."""
    return int(os.environ.get(name, quick))
