"""Signals and asynchronous exceptions that come while a function is compiled: none is lost, none is taken for a defect.

When they come is not left to the clock: a hook in the compiler's own code sends them there, at one place after
the other.
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import compile as kernel_compiler

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.capture.machine import Machine
from dynamo_lite.compilation import Compilation
from dynamo_lite.resumes import Resumes
from tests import watched

X = np.linspace(0.25, 4.0, 8)


class Timeout(Exception):
    """What `with timeout(5):` recipes raise: an ordinary exception."""


def steps(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        x = np.sqrt(np.abs(x - 0.5)) * 2.0 + np.sin(x) * x
        i += 1
    return x


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


def raising(*_: Any) -> None:
    raise Timeout("too slow")


def at_step(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> list[int]:
    """Have `act` happen before the capture of the instruction of that number, counted over all attempts."""
    count = [0]
    step = Machine.step

    def counted(self: Machine, frame: Any) -> None:
        count[0] += 1
        if count[0] == number:
            act()
        step(self, frame)

    monkeypatch.setattr(Machine, "step", counted)
    return count


def send_signal() -> None:
    os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.parametrize("number", [1, 7, 20])
def test_a_timeout_in_capture_is_raised(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    signal.signal(signal.SIGUSR1, raising)
    at_step(monkeypatch, number, send_signal)
    fast = dynamo_lite.compile(steps)
    with pytest.raises(Timeout) as raised:
        fast(X, 50)
    names = [entry.name for entry in traceback.extract_tb(raised.value.__traceback__)]
    assert names[1:] == ["steps", "raising"]  # after this test's own line
    assert (fast(X, 50) == steps(X, 50)).all()
    stats = fast.stats()
    assert stats["native_calls"] == 1 and stats["plain_calls"] == 0 and stats["compiles"] == 1


@pytest.mark.parametrize("place", ["function_of", "emit_function"])
def test_a_timeout_while_a_kernel_is_compiled_is_raised(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    compiled = getattr(kernel_compiler, place)

    def interrupted(*args: Any) -> Any:
        send_signal()
        return compiled(*args)

    def fresh(x: Any) -> Any:
        return np.sqrt(x) * 2.125 + x * x - 0.0625 * x

    signal.signal(signal.SIGUSR1, raising)
    fast = dynamo_lite.compile(fresh)
    monkeypatch.setattr(kernel_compiler, place, interrupted)
    kernel_compiler._STATE.made.clear()
    kernel_compiler._STATE.latest.clear()
    x = np.linspace(0.0, 1.0, 3000)
    with pytest.raises(Timeout):
        fast(x)
    monkeypatch.undo()
    assert (fast(x) == fresh(x)).all()
    assert fast.stats()["native_calls"] >= 1
    assert fast.stats()["plain_calls"] <= 1  # where the kernel took long the first call declined


def handles_in_loop(x: float, n: int) -> tuple[float, str]:
    try:
        for i in range(n):
            for j in range(5):
                x = x * 0.5 + (i + j) % 3
    except Timeout:
        return x, "handled"
    return x, "not interrupted"


def test_a_timeout_while_a_loop_is_compiled_is_handled_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, sent = kernel_compiler._compile_machine, []

    def interrupted(*args: Any) -> Any:
        if not sent:
            sent.append(True)
            send_signal()
            time.sleep(0.06)  # longer than interrupts wait
        return compiled(*args)

    signal.signal(signal.SIGUSR1, raising)
    fast = dynamo_lite.compile(handles_in_loop, options={"cost_model": False})
    monkeypatch.setattr(kernel_compiler, "_compile_machine", interrupted)
    assert fast(1.5, 10**7)[1] == "handled"
    assert sent


def test_a_handler_that_returns_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    signal.signal(signal.SIGUSR1, lambda _, frame: seen.append(frame.f_code.co_name))
    at_step(monkeypatch, 5, send_signal)
    fast = dynamo_lite.compile(steps)
    assert (fast(X, 50) == steps(X, 50)).all()
    assert seen == ["steps"]  # not some function of the compiler's
    assert fast.stats()["native_calls"] == 1


def test_what_a_handler_changes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"np": np}
    exec("scale = 2.0\ndef scaled(x): return np.sqrt(x) * scale + x", space)
    signal.signal(signal.SIGUSR1, lambda *_: space.update(scale=3.0))
    at_step(monkeypatch, 3, send_signal)
    fast = dynamo_lite.compile(space["scaled"])
    assert (fast(X) == np.sqrt(X) * 3.0 + X).all()


def test_long_compiling_is_abandoned_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[float] = []

    def late(*_: Any) -> None:
        came.append(time.perf_counter())
        raise Timeout

    signal.signal(signal.SIGUSR1, late)
    sent: list[float] = []

    def act() -> None:
        sent.append(time.perf_counter())
        send_signal()

    count = at_step(monkeypatch, 2, act)
    counted = Machine.step

    def slow(self: Machine, frame: Any) -> None:
        time.sleep(0.02)
        counted(self, frame)

    monkeypatch.setattr(Machine, "step", slow)
    fast = dynamo_lite.compile(steps)
    with pytest.raises(Timeout):
        fast(X, 10)
    assert count[0] < 12  # of more than thirty: 50 ms, and the instruction under way
    assert len(came) == 1
    stats = fast.stats()
    assert stats["compiles"] == stats["plain_calls"] == 0
    monkeypatch.undo()
    assert (fast(X, 10) == steps(X, 10)).all()
    assert fast.stats()["compiles"] == 1 and fast.stats()["native_calls"] == 1


def test_a_timer_does_not_keep_a_function_from_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    beats = [0]

    def beat(*_: Any) -> None:
        beats[0] += 1

    signal.signal(signal.SIGUSR1, beat)
    step = Machine.step

    def slow(self: Machine, frame: Any) -> None:
        time.sleep(0.01)
        send_signal()
        step(self, frame)

    monkeypatch.setattr(Machine, "step", slow)
    fast = dynamo_lite.compile(steps)
    assert (fast(X, 10) == steps(X, 10)).all()
    assert beats[0] >= 2  # some in the middle of it
    assert fast.stats()["compiles"] == 1 and fast.stats()["native_calls"] == 1


def test_what_another_thread_sends_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    idle = threading.Thread(target=ended.wait)  # there is another thread, as there is one that sends
    idle.start()
    results: list[str] = []

    def act() -> None:
        # NB: sent from here as another thread would; ctypes.pythonapi holds the GIL.
        sent = ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Timeout)
        )
        assert sent == 1

    def run() -> None:
        for number in (1, 9):
            with monkeypatch.context() as patch:
                at_step(patch, number, act)
                fast = dynamo_lite.compile(steps)
                try:
                    fast(X, 20)
                    results.append("lost")
                except Timeout:
                    results.append("seen")
            results.append(str((fast(X, 20) == steps(X, 20)).all()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    ended.set()
    idle.join()
    assert results == ["seen", "True"] * 2
    assert not _C.has_other_threads() or threading.active_count() > 1


def test_numpys_python_code_in_a_program_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised there is no error of NumPy's, for which the program would decline."""

    def singular_values(x: Any) -> Any:
        a = np.sqrt(x) + x * 2.0
        return np.linalg.svd(a, compute_uv=False) * 3.0 + a

    fast, x = dynamo_lite.compile(singular_values), np.eye(4) + 0.25
    want = singular_values(x)
    fast(x)
    module = sys.modules[np.linalg.svd.__wrapped__.__module__]
    checked = module._assert_stacked_2d

    def checks_and_sends(*args: Any) -> None:
        send_signal()
        checked(*args)

    signal.signal(signal.SIGUSR1, raising)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_assert_stacked_2d", checks_and_sends)
        with pytest.raises(Timeout):
            fast(x)
    assert (fast(x) == want).all()


@pytest.mark.usefixtures("interruptible")
def test_destructors_lose_no_interrupt(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    # NB: Python itself loses an interrupt that arrives in a callback of the collector's, such as hypothesis has.
    for callback in gc.callbacks[:]:
        gc.callbacks.remove(callback)
        request.addfinalizer(functools.partial(gc.callbacks.append, callback))
    reset = Compilation.reset

    def interrupted(self: Compilation) -> None:
        _thread.interrupt_main()
        reset(self)

    monkeypatch.setattr(Compilation, "reset", interrupted)
    for cycle in (False, True):
        fast = dynamo_lite.compile(lambda x: x * 2.0 + 1.0)
        if cycle:
            fast.itself = fast
        with pytest.raises(KeyboardInterrupt):
            del fast
            gc.collect()
            for _ in range(10):
                pass
    assert not unraisable


def call_for(seconds: float, fn: Any, *args: Any) -> None:
    """NB: on 3.13 no handler around a `while` covers the jump back to its test; one around this call does."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        fn(*args)


def test_timers_at_any_time() -> None:
    """As found in use: a limit that runs out somewhere in the first call."""
    signal.signal(signal.SIGALRM, raising)
    lost = 0
    try:
        for k in range(25):
            fast = dynamo_lite.compile(steps)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0015 * (k + 1))
                call_for(30.0, fast, X, 20_000)
                lost += 1
            except Timeout:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert lost == 0


def until_time_is_over(x: Any) -> int:
    n = i = 0
    try:
        while True:
            if x[i % 3] > 0.5:
                n += 1
            n %= 1000
            i += 1
    except Timeout:
        return i


def until_time_is_over_with_another_try(x: Any) -> int:
    n = i = 0
    try:
        while i < 10**9:
            try:
                i += 1
                n += x[i % 4] > 0.5
            except IndexError:
                i += 1
    except Timeout:
        pass
    return i


UNCOVERED = pytest.mark.skipif(sys.version_info >= (3, 13), reason="no handler covers the jump back")
ENDED = [until_time_is_over, pytest.param(until_time_is_over_with_another_try, marks=UNCOVERED)]


@pytest.mark.parametrize("function", ENDED)
def test_long_loops_are_ended_in_their_try(function: Callable[[Any], int]) -> None:
    """Each of their iterations is segments, or plain code, that goes on in the middle of one."""
    signal.signal(signal.SIGALRM, raising)
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    try:
        for seconds in (2.0, 0.3, 0.3):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            with suppress(Timeout) if seconds > 1.0 else nullcontext():  # the first call is compiled
                fast(np.array([0.0, 1.0, 0.0]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_an_interrupt_while_a_running_loop_is_taken_over_is_of_a_line_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGUSR1, raising)
    fast: Any = watched.compile_loops(steps)
    seen = []

    def send_and_wait() -> None:
        send_signal()
        seen.append(True)
        time.sleep(0.06)  # longer than interrupts wait

    jump = Resumes.jump

    def sends(self: Resumes, *place: Any) -> Any:
        send_and_wait()
        _C.safe_point()
        send_and_wait()
        _C.safe_point()
        return jump(self, *place)

    monkeypatch.setattr(Resumes, "jump", sends)
    try:
        with pytest.raises(Timeout) as raised:
            fast(X, 50)
    finally:
        _C.watch(None, None, None)
    lines = [entry.lineno for entry in traceback.extract_tb(raised.value.__traceback__) if entry.name == "steps"]
    assert seen and len(lines) == 1 and lines[0] > steps.__code__.co_firstlineno, lines


@pytest.mark.parametrize("milliseconds", (1, 20, 60, 110, 170, 240))
def test_an_interrupt_in_the_first_use_leaves_the_compiler_whole(milliseconds: int) -> None:
    """A timeout while the compiler is imported is raised, and the next use finds all of it."""
    text = f"""
        import signal, time
        import numpy as np, dynamo_lite
        class Late(Exception): pass
        def late(*args): raise Late
        signal.signal(signal.SIGALRM, late)
        raised = False
        try:
            signal.setitimer(signal.ITIMER_REAL, {milliseconds / 1000})
            dynamo_lite.compile
            while True:
                time.sleep(0.01)
        except Late:
            raised = True
        assert raised
        assert dynamo_lite.compile(lambda x: x * 2.0 + 1.0)(np.ones(3)).tolist() == [3.0, 3.0, 3.0]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(text)], check=True, timeout=60)
