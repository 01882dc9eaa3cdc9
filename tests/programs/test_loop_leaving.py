"""Loops that are left between two iterations: the state is plain Python's, and another program goes on with it.

Leaving is forced behind every iteration, or every few, for whole collections of programs; and it is caused by what
causes it for users: a signal, a thread that waits for the GIL.
"""

# ruff: noqa: B007 (what a loop leaves in its variable is what is tested)

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import (
    test_complex_in_place,
    test_element_choices,
    test_element_loops,
    test_loop_conditions,
    test_loop_kernels,
    test_loop_lists,
    test_loop_nests,
    test_loop_numbers,
    test_loops,
    test_masks,
)
from tests.programs.loop_cases import OPTIONS, Case
from tests.programs.random_loops import arguments, function, source

MODULES = (
    test_loops, test_loop_nests, test_loop_numbers, test_loop_kernels, test_loop_conditions,
    test_element_loops, test_element_choices, test_masks, test_complex_in_place, test_loop_lists,
)  # fmt: skip
CASES = {
    f"{module.__name__.rpartition('test_')[2]}-{name}": case
    for module in MODULES
    for name, case in module.CASES.items()  # type: ignore[attr-defined]
}


RAISED = (IndexError, ValueError, ZeroDivisionError, FloatingPointError)  # by some of the programs


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
    cases = list(CASES.values())[::5]
    for case in cases:
        fast = dynamo_lite.compile(case.fn, backend="numba", options={**OPTIONS, "recompile_limit": 100})
        with contextlib.suppress(*RAISED):  # test_every_program compares that
            for _ in range(2):
                fast(*case.args(5, case.sizes[0]))
    assert _C.counters(None)["leaves"] - before > len(cases)


@pytest.mark.usefixtures("leave")
@pytest.mark.parametrize("choices", [False, True], ids=["straight", "choices"])
@pytest.mark.parametrize("seed", range(budget("LOOP_FUZZ", 60)))
def test_random_loops(seed: int, choices: bool) -> None:
    try:
        require_equal(
            function(seed, choices),
            lambda: arguments(seed, 5),
            variants=[lambda n=n: arguments(seed, n) for n in (0, 1, 2, 7)],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": "numba", "options": {**OPTIONS, "recompile_limit": 100}},
            calls=1,
        )
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{source(seed, choices)}")
        raise


@pytest.mark.usefixtures("leave", "no_mode")
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


def newton(x: Any, least: float) -> Any:
    root, steps = x, 0
    while np.abs(root * root - x).max() > least:
        root = (root + x / root) * 0.5
        steps += 1
    return root, steps


def newton_of_each(x: Any, roots: Any) -> Any:
    total = 0
    while total < 1000:
        root = x[total % 4]
        while abs(root * root - x[total % 4]) > 1e-9:
            root = 0.5 * (root + x[total % 4] / root)
        roots[total % 4] = root
        total += 1
    return roots, total


def first_above(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 1.5 + i
        if x[0] > 1e60:
            break
    return x, i


@pytest.mark.usefixtures("leave")
@pytest.mark.parametrize(
    ("fn", "arguments"),
    [
        (newton, lambda: (np.arange(1.0, 5.0), 1e-9)),
        (newton_of_each, lambda: (np.arange(1.0, 5.0), np.zeros(4))),
        (first_above, lambda: (np.ones(3), 10**6)),
    ],
    ids=lambda value: str(value.__name__),
)
def test_a_condition_and_leaving(fn: Callable[..., Any], arguments: Callable[[], Any]) -> None:
    report = require_equal(
        fn, arguments, compile=dynamo_lite.compile, compile_options={"options": {**OPTIONS, "recompile_limit": 100}}
    )
    stats = report.compiled.stats()
    assert stats["leaves"] >= report.calls * 2 and not stats["declines"], report.compiled.explain()


class Box:
    """Holds what a loop reads and what is changed behind it."""

    def __init__(self) -> None:
        self.w = 0.5
        self.log: list[int] = []


def containers(x: Any, n: int) -> Any:
    seen, d, t = [1, 2], {"a": x}, (x, [3])
    for i in range(n):
        x = x * 0.5 + i
    seen.append(i)
    d["b"] = x
    t[1].append(4)
    return x, seen, d, t


def attributes(x: Any, n: int, box: Box) -> Any:
    for i in range(n):
        x = x * box.w + i
    box.log.append(i)
    return x, box.log


def one_object(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        x[0] += 1.0
    return x is y, x, y


def two_objects(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = y + 1.0
    z = y
    return y is z, x is y, z, y


def in_an_unrolled_loop(x: Any, n: int) -> Any:
    out = []
    for k in (1.0, 2.0, 3.0):
        for i in range(n):
            x = x + k * i
        out.append(x)
    return out, k, i


def overflows(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1e40
    return x


def nested(x: Any, n: int) -> Any:
    for i in range(n):
        for j in range(i):
            x[j] = x[j] * 0.5 + i
    return x, i


def unbound(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5
    del i
    try:
        return x, i  # type: ignore[name-defined]  # noqa: F821
    except UnboundLocalError as error:
        return x, str(error)


def swaps(x: Any, n: int) -> Any:
    k = n
    i = -1
    a = b = x
    for i in range(2, n, 2):
        a, b = b, a + b
        k -= 3
        n += 1
    return a, b, k, n, i


def a_live_iterator(x: Any, n: int) -> Any:
    it = iter([1, 2, 3])
    next(it)
    for _ in range(n):
        x = x + 1.0
    return x, list(it)


def views(x: Any, n: int) -> Any:
    a = x[1:]
    v = x.reshape(-1, 2)
    for i in range(n):
        a = a * 0.5
        v[0, 0] = i
    return a, v, x, v.base is x


def two_loops_and_a_break(x: Any, n: int) -> Any:
    for i in range(n):
        x = x + 1.0
        y = x * 2.0
    print(i)
    for j in range(n):
        y = y + j
    return x, y, i, j


def big_numbers(x: Any, n: int) -> Any:
    big, text, nothing = 2**70, "abc", None
    for i in range(n):
        x = x + 1.0
    return x, big, text, nothing, i * big


def random_numbers(x: Any, n: int) -> Any:
    rng = np.random.default_rng(3)
    for _ in range(n):
        x = x + rng.random(x.shape)
    return x, rng.random()


def contains_itself(x: Any, n: int) -> Any:
    cycle: list[Any] = [0]
    cycle.append(cycle)
    for _ in range(n):
        x = x + 1.0
    return x, cycle[0], cycle[1] is cycle


HOSTS = (
    containers, attributes, one_object, two_objects, in_an_unrolled_loop, overflows, nested, unbound, swaps,
    a_live_iterator, views, two_loops_and_a_break, big_numbers, random_numbers, contains_itself,
)  # fmt: skip


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
@pytest.mark.usefixtures("leave")
def test_what_is_around_the_loop(host: Callable[..., Any], every: int) -> None:
    def arguments(n: int) -> Any:
        return lambda: (np.arange(1.0, 13.0), n, Box()) if host is attributes else (np.arange(1.0, 13.0), n)

    _C.leave_loops(every)
    require_equal(
        host, arguments(9), variants=[arguments(n) for n in (10, 1, 0, 12)], compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "check": 1, "recompile_limit": 100}},
    )  # fmt: skip


class Interrupted(Exception):
    """What the test's signal handler raises."""


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


class Total:
    """What a loop stores to."""

    def __init__(self) -> None:
        self.total = 1.0


def halved(x: Any, n: int) -> None:
    for k in range(n):
        x[k] = x[k] * 0.5


def totals(kept: Total, x: Any, n: int) -> float:
    for k in range(n):
        kept.total = kept.total + x[k]
    halved(x, n)
    for k in range(n):
        kept.total = kept.total - x[k]
    return kept.total


def test_a_loop_of_an_inlined_function_leaves_those_before_it_native() -> None:
    """Nobody could go on in the middle of it, where a signal comes, and the loop before has stored to an object: so it
    runs in a frame of its own."""
    compiled, kept, other = dynamo_lite.compile(totals, options=OPTIONS), Total(), Total()
    x, y = np.arange(60.0), np.arange(60.0)
    for n in (60, 60, 0, 1, 60):
        assert compiled(kept, x, n) == totals(other, y, n)
        assert x.tobytes() == y.tobytes()
    if not _C.get_stress():
        outcomes = {loop.line: loop.outcome for loop in compiled.explain().loops}
        assert set(outcomes.values()) == {"native"}, outcomes
        assert [one.id for one in compiled.explain().breaks] == ["loop-whole"]
