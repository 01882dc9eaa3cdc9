"""Native loops that cannot be left at once, beside threads and timers: they go on natively, and lose nothing.

Loops over arrays, loops of inlined functions, of functions with cell variables, and inner loops of long outer
iterations. What is asserted is what was run and what came out, not how long it took: another process may have the
processor.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import dynamo_lite

N = 3_000_000
ROWS = np.linspace(0.1, 1.0, 100).reshape(10, 10)


def rows(a: Any, n: int) -> Any:
    t = 0.0
    for x in a:
        for j in range(n):
            t = t + x[j % 10] * 0.5
    return t


def summed(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s = s + x[i % 10] * 0.5
    return s


def inlined(a: Any, n: int) -> Any:
    return summed(a[0], 10 * n) + summed(a[1], n)


def long_iterations(a: Any, n: int) -> Any:
    total = 0.0
    for k in range(2):
        s = 0.0
        for i in range(5 * n):
            s = s + a[k, i % 10] * 0.5
        total = total + s
    return total


def with_a_cell(a: Any, n: int) -> Any:
    scale = 0.5
    s = 0.0
    for i in range(10 * n):
        s = s + a[0, i % 10] * scale
    return s, (lambda: scale)()


def with_vectors(a: Any, n: int) -> Any:
    t = np.zeros(10)
    for x in a:
        for _ in range(2 * n):
            t = t * 0.5 + x
    return t


PROGRAMS = [rows, inlined, long_iterations, with_a_cell, with_vectors]


class Beats:
    """Counts how often somebody else ran."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = False

    def in_a_thread(self) -> None:
        while not self.ended:
            time.sleep(0.005)
            self.count += 1

    def at_a_signal(self, *_: Any) -> None:
        self.count += 1


@contextmanager
def thread(beats: Beats) -> Iterator[None]:
    runner = threading.Thread(target=beats.in_a_thread, daemon=True)
    runner.start()
    try:
        yield
    finally:
        beats.ended = True
        runner.join()


@contextmanager
def timer(beats: Beats) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, beats.at_a_signal)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def counts(fast: Any) -> tuple[int, int]:
    return fast.stats()["plain_calls"], fast.stats()["declines"]


@pytest.mark.parametrize("beside", [thread, timer])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_goes_on_natively(function: Callable[..., Any], beside: Callable[[Beats], Any]) -> None:
    fast, beats = dynamo_lite.compile(function), Beats()
    for _ in range(3):
        fast(ROWS, 20)
    before = counts(fast)
    want = fast(ROWS, N)
    during = 0
    with beside(beats):
        for _ in range(20):  # a thread that has slept may have to wait for a processor
            began = beats.count
            got = fast(ROWS, N)
            during = max(during, beats.count - began)
            assert np.array_equal(got, want)
            if during > 1:
                break
    assert counts(fast) == before
    assert during > 1  # the others ran in the middle of it


@pytest.mark.parametrize("beside", [thread, timer])
def test_compiled_beside_others(beside: Callable[[Beats], Any]) -> None:
    """The first call of all is native, too."""
    space: dict[str, Any] = {"np": np}
    exec(
        "def fresh(a, n):\n    t = 0.0\n    for x in a:\n        for j in range(n):\n"
        "            t = t + x[j % 10] * 0.515625\n    return t",
        space,
    )
    fast, beats = dynamo_lite.compile(space["fresh"]), Beats()
    with beside(beats):
        assert fast(ROWS, 200) == space["fresh"](ROWS, 200)
        fast(ROWS, N)
    assert counts(fast) == (0, 0)


def fills(a: Any, out: Any, n: int) -> Any:
    for x in a:
        for j in range(n):
            out[j % 10] = out[j % 10] + x[j % 10] * 0.5
    return out


class Timeout(Exception):
    pass


def test_what_a_handler_raises_ends_the_loop() -> None:
    def late(*_: Any) -> None:
        raise Timeout(time.perf_counter())

    fast = dynamo_lite.compile(fills)
    for _ in range(3):
        fast(ROWS, np.zeros(10), 20)
    before = signal.signal(signal.SIGALRM, late)
    out = np.zeros(10)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Timeout):
            fast(ROWS, out, 10**11)  # would take minutes natively, and a day plainly
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert counts(fast) == (0, 0)
    assert (out > 0.0).all()  # as plainly: what was done is done
    # and every iteration once: after m whole rounds over the ten elements each has got as many halves of its value
    rounds = out / (ROWS[0] * 0.5)
    assert rounds.max() - rounds.min() < 1.5
    want = fast(ROWS, np.zeros(10), 1000)
    assert np.array_equal(want, fills(ROWS, np.zeros(10), 1000))


def added(a: Any, out: Any, n: int) -> None:
    for x in a:
        for j in range(n):
            out[0] = out[0] + x[j % 2]


def late_index(a: Any, out: Any, n: int, last: int) -> Any:
    added(a, out, n)  # inlined: a loop that cannot be left
    return out[last]


def test_what_others_write_survives_a_decline() -> None:
    """The program declines at its end, after somebody else has written, and plain Python does it all and raises."""
    fast, out = dynamo_lite.compile(late_index), np.zeros(4)
    a = np.ones((2, 2))
    for _ in range(3):
        fast(a, np.zeros(4), 20, 1)
    assert counts(fast) == (0, 0)

    def write(*_: Any) -> None:
        out[1] = 7.0

    before = signal.signal(signal.SIGALRM, write)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.004)  # in the middle of the native loop, which takes 15 ms
        with pytest.raises(IndexError):
            fast(a, out, 2_000_000, 9)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert out.tolist() == [4_000_000.0, 7.0, 0.0, 0.0]
    assert counts(fast) == (1, 1)


class Box:
    stop = False


def follows(a: Any, n: int, box: Any) -> Any:
    t = 0.0
    for x in a:
        for j in range(n):
            if box.stop:
                return t
            t = t + x[j % 10]
    return t


def test_what_others_change_is_seen() -> None:
    fast, box = dynamo_lite.compile(follows), Box()
    for _ in range(3):
        fast(ROWS, 20, box)

    def stop() -> None:
        time.sleep(0.1)
        box.stop = True

    runner = threading.Thread(target=stop)
    runner.start()
    assert fast(ROWS, 10**13, box) >= 0.0  # or it never ends
    runner.join()


def test_an_argument_that_another_thread_reshapes() -> None:
    fast = dynamo_lite.compile(rows)
    a = ROWS.copy()
    for _ in range(3):
        fast(a, 20)

    def reshape() -> None:
        time.sleep(0.1)
        a.resize((50, 2), refcheck=False)

    runner = threading.Thread(target=reshape)
    runner.start()
    with pytest.raises(IndexError):  # plain Python's, of rows of two elements
        fast(a, 10**9)
    runner.join()
