"""Loops that are left between two iterations: the state is plain Python's, and another program goes on with it.

Leaving is forced behind every iteration, or every few, for whole collections of programs; and it is caused by what
causes it for users: a signal, a thread that waits for the GIL.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import test_loop_kernels, test_loop_nests, test_loop_numbers, test_loops
from tests.programs.loop_cases import OPTIONS, Case
from tests.programs.random_loops import arguments, function, source

CASES = {
    name: case
    for module in (test_loops, test_loop_nests, test_loop_numbers, test_loop_kernels)
    for name, case in module.CASES.items()
}


@pytest.fixture
def leave() -> Iterator[None]:
    """Leave loops behind every second iteration."""
    _C.leave_loops(2)
    yield
    _C.leave_loops(0)


@pytest.mark.usefixtures("leave")
@pytest.mark.parametrize("name", CASES)
def test_every_program(name: str) -> None:
    case: Case = CASES[name]
    require_equal(
        case.fn,
        lambda: case.args(5, case.sizes[0]),
        variants=[lambda count=count: case.args(count, case.sizes[0]) for count in (0, 1, 4, 5)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": "numba", "options": {**OPTIONS, "recompile_limit": 100}},
    )


@pytest.mark.usefixtures("leave")
def test_many_are_left() -> None:
    before = _C.counters(None)["leaves"]
    for case in CASES.values():
        fast = dynamo_lite.compile(case.fn, backend="numba", options={**OPTIONS, "recompile_limit": 100})
        try:
            for _ in range(2):
                fast(*case.args(5, case.sizes[0]))
        except Exception:  # some of the programs raise; test_every_program compares that
            continue
    assert _C.counters(None)["leaves"] - before > len(CASES)


@pytest.mark.usefixtures("leave")
@pytest.mark.parametrize("seed", range(budget("LOOP_FUZZ", 60)))
def test_random_loops(seed: int) -> None:
    try:
        require_equal(
            function(seed),
            lambda: arguments(seed, 5),
            variants=[lambda n=n: arguments(seed, n) for n in (0, 1, 2, 7)],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": "numba", "options": {**OPTIONS, "recompile_limit": 100}},
            calls=1,
        )
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{source(seed)}")
        raise


@pytest.mark.usefixtures("leave")
def test_goes_on_natively() -> None:
    def halves(x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x * 0.5 + i
        return x, i

    fast = dynamo_lite.compile(halves, backend="numba", options=OPTIONS)
    fast(np.ones(4), 40)
    before = fast.stats()
    assert fast(np.ones(4), 40)[1] == 39
    after = fast.stats()
    assert after["leaves"] - before["leaves"] == 19
    assert after["plain_calls"] == before["plain_calls"]
    assert after["compiles"] == before["compiles"] == 2


class Interrupted(Exception):
    """What the test's signal handler raises."""


@pytest.mark.skipif(sys.platform == "win32", reason="no interval timers")
def test_signal_leaves_what_was_done() -> None:
    def counts(x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x[0] += 1.0

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    fast = dynamo_lite.compile(counts, backend="numba", options=OPTIONS)
    x = np.zeros(3)
    fast(x, 20)
    fast(x, 20)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        x[:] = 0.0
        declines = fast.stats()["declines"]
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            fast(x, 10**12)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert fast.stats()["declines"] == declines
    assert x[0] > 0.0  # what was done stays done


BESIDE = """
import sys, threading, time
import numpy as np
import dynamo_lite
OPTIONS = {"cost_model": False}
stop = threading.Event()
"""

BUSY = """
def halves(x, n):
    for i in range(n):
        x = x * 0.5 + 1.0
    return x, i
fast = dynamo_lite.compile(halves, options=OPTIONS)
fast(np.ones(4), 20)
turns = 0
def work():
    global turns
    while not stop.is_set():
        turns += 1
thread = threading.Thread(target=work)
thread.start()
x, i = fast(np.ones(4), 100_000_000)
stop.set()
thread.join()
stats = fast.stats()
assert x.tolist() == [2.0] * 4 and i == 99_999_999
assert stats["leaves"] and not stats["declines"] and turns, stats
"""

IDLE = """
def multiplies(m, n):
    for i in range(n):
        m = m @ m
    return m
fast = dynamo_lite.compile(multiplies, options=OPTIONS)
thread = threading.Thread(target=stop.wait)
thread.start()
for _ in range(3):
    fast(np.eye(3), 50)
stop.set()
thread.join()
stats = fast.stats()
assert stats["native_calls"] and not stats["declines"], stats
"""


@pytest.mark.parametrize("script", [BUSY, IDLE], ids=["busy", "idle"])
def test_other_threads(script: str) -> None:
    command = [sys.executable, "-c", BESIDE + script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
