"""Loop steps: declining without a trace, interrupts, threads, memory. What loops compute: tests/backends."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import gc
import operator
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import compile_graph
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite._C import Declined, Program
from dynamo_lite.config import config
from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.program.interpret import interpret
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Kernel,
    KernelOp,
    Leave,
    Loop,
    Map,
    Reg,
    Require,
    Save,
    Schedule,
    Step,
    View,
)
from dynamo_lite.schedule.text import to_text
from tests.csrc.test_program import ADD, COPY, DIVIDE, F8, I8, SCALE, call, fresh, into, leaks
from tests.schedule.loops import LOOPS
from tests.schedule.tracing import trace

N = Symbol("n", "int", 1)
S0 = Symbol("s0", "int", 0, 0)
INDEX = Symbol("i", "int", 0)
SIZE = Symbol("s0", "int", 2)
AT = Symbol("p", "int", -1)


def body(
    steps: list[Step],
    outputs: tuple[int, ...],
    n_inputs: int,
    n_registers: int = 12,
    written: tuple[int, ...] = (),
    constants: tuple[tuple[int, Any], ...] = (),
) -> Schedule:
    return Schedule(n_inputs, n_registers, (), constants, tuple(steps), tuple(map(Reg, outputs)), written)


def whole(steps: list[Step], outputs: tuple[Any, ...], n_inputs: int = 2, written: tuple[int, ...] = ()) -> Program:
    return Program(Schedule(n_inputs, 20, (), (), tuple(steps), outputs, written), compile_kernel)


HALVE = body([fresh(SCALE, (Reg(1), 0.5, 1.0), (SIZE,), 3)], (3,), 3)


def halving(stop: Any = N) -> Program:
    """x = x * 0.5 + 1.0, n times, for a vector x."""
    return whole([Loop((2,), HALVE, 0, stop, 1, (Reg(0),), (S0,))], (Reg(2), Reg(0)))


@pytest.mark.parametrize(
    "bounds",
    [
        *((0, 5, 1), (5, 0, -1), (5, 0, 1), (0, 0, 1), (0, 5, 7), (0, -5, -2), (-3, 4, 3), (7, -8, -5)),
        *((2**63 - 3, 2**63 - 1, 1), (-(2**63), -(2**63) + 5, 2), (2**63 - 1, 2**63 - 7, -2)),
        *((-(2**63), 2**63 - 1, 2**62), (2**63 - 1, -(2**63), -(2**62) - 1), (-(2**63) + 3, -(2**63), -1)),
        *((0, 1, 2**63 - 1), (0, -1, -(2**63)), (-(2**63), 2**63 - 1, 2**63 - 1)),
    ],
)
def test_the_numbers_of_a_range(bounds: tuple[int, int, int]) -> None:
    """The index takes the values of Python's range, up to the ends of 64 bits."""
    seen: list[int] = []
    start, stop, step = (Symbol(name, "int", place) for place, name in enumerate("abc"))
    inside = body([Call((), (), seen.append, (INDEX,))], (), 1)
    whole([Loop((), inside, start, stop, step, (), ())], (), n_inputs=3)(*bounds)
    assert seen == list(range(*bounds))


def test_a_step_of_zero_and_bounds_that_do_not_fit() -> None:
    start, stop, step = (Symbol(name, "int", place) for place, name in enumerate("abc"))
    run = whole([Loop((), body([], (), 1), start, stop, step, (), ())], (), n_inputs=3)
    assert run(0, 10**6, 1) == ()
    with pytest.raises(Declined, match="zero"):
        run(0, 5, 0)
    with pytest.raises(Declined, match="not of the kind"):
        run(0, 2**63, 1)


def test_no_iteration_no_trace() -> None:
    """The results are the initial objects; nothing of the body is looked at, not even what could never run."""
    x = np.arange(3.0)
    for count in (0, -7):
        result, given = halving()(x, count)
        assert result is x and given is x
    broken = body([fresh(Kernel((np.dtype("f4"),), (), (0,)), (1e300,), (3,), 3)], (1,), 2)
    run = whole([Loop((2,), broken, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    assert run(x, 0) == (x,)
    with pytest.raises(Declined, match="does not fit"):
        run(x, 1)
    scalar = np.float64(3)
    keep = body([], (1,), 2)
    run = whole([Loop((2,), keep, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    for value in (scalar, np.arange(3), np.array(5.0), np.ones((1,) * 12), np.array("text"), x[::-1]):
        for count in (0, 1, 5):
            assert run(value, count)[0] is value


def test_results_are_new_objects_each_iteration() -> None:
    """Two views of one place made in two iterations are two objects, also where a view is made once for all of them."""
    steps: list[Step] = [View(4, 3, "basic_index", ((1, None, None),))]
    previous = body(steps, (2, 4), 4)
    run = whole([Loop((3, 4), previous, 0, N, 1, (Reg(0), Reg(0)), (Reg(2),))], (Reg(3), Reg(4)), n_inputs=3)
    x, base = np.arange(4.0), np.arange(5.0)
    for count in range(4):
        before, last = run(x, count, base)
        wanted: tuple[Any, Any] = (x, x)
        for _ in range(count):
            wanted = wanted[1], base[1:]
        assert (before is x) == (wanted[0] is x) and (last is x) == (wanted[1] is x)
        assert (before is last) == (wanted[0] is wanted[1])
        assert before.tobytes() == wanted[0].tobytes() and last.tobytes() == wanted[1].tobytes()


# ---- declining


def test_a_decline_in_the_middle_puts_everything_back() -> None:
    """Stores of earlier iterations are undone, whatever ends the loop."""
    x, y = np.arange(6.0), np.arange(6.0) + 1
    before = x.tobytes(), y.tobytes()
    fails_at = Symbol("k", "int", 2)
    for ending, error in (
        (Require(Symbol("never", "bool", 4)), None),
        (Call((), (), lambda i, k: 1 // (k - i), (INDEX, Symbol("k", "int", 5))), None),
        (Call((), (), lambda i, k: _raise(KeyboardInterrupt) if i == k else None, (INDEX, Symbol("k", "int", 5))),
         KeyboardInterrupt),
        (Call((), (), lambda i, k: _raise(MemoryError) if i == k else None, (INDEX, Symbol("k", "int", 5))), None),
    ):  # fmt: skip
        steps: list[Step] = [
            View(6, 1, "basic_index", ((None, None, -1),)),
            into(ADD, (Reg(6), Reg(2)), (6,), 1),
            into(SCALE, (Reg(1), 0.5, 1.0), (6,), 2),
            ending,
        ]
        inside = body(steps, (2,), 6, written=(1, 2))
        # x is carried (and comes back as y), y is captured.
        inside = body(steps, (1,), 6, written=(1, 2))
        never = Symbol("never", "bool", 3)
        outer: list[Step] = [
            Save(0),
            Save(1),
            Loop((5,), inside, 0, 10, 1, (Reg(0),), (Reg(1), 0, never, fails_at)),
        ]
        run = whole(outer, (Reg(5),), n_inputs=4, written=(0, 1))
        with pytest.raises(error or Declined):
            run(x, y, 7, False)
        assert (x.tobytes(), y.tobytes()) == before


def _raise(error: type[BaseException]) -> None:
    raise error


@pytest.mark.parametrize("count", [1, 50])
def test_floating_point_errors(count: int) -> None:
    """A flag that the caller does not ignore declines, in whichever iteration it comes up; ignored ones do not."""
    x = np.full(3, 1e300)
    steps: list[Step] = [
        fresh(ADD, (Reg(1), Reg(1)), (3,), 3),
        into(COPY, (Reg(3),), (3,), 2),
    ]
    inside = body(steps, (3,), 3, written=(2,))
    loop = Loop((3,), inside, 0, N, 1, (Reg(0),), (Reg(2),))
    run = whole([Save(2), loop], (Reg(3),), n_inputs=3, written=(2,))
    out = np.zeros(3)
    with np.errstate(over="ignore"):
        expected = x
        for _ in range(count):
            expected = expected + expected
        assert run(x, count, out)[0].tobytes() == expected.tobytes() == out.tobytes()
    if count == 1:
        return
    out[:] = 7.0
    for mode in ("warn", "raise", "call", "print", "log"):
        with np.errstate(over=mode), warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(Declined, match="floating-point"):
                run(x, count, out)
        assert out.tolist() == [7.0] * 3
    assert run.last_decline == "a floating-point error is to be reported"


def test_errors_of_calls() -> None:
    """Calls in the body raise what is not ignored; the errstate is the caller's again afterwards."""
    inside = body([call(3, F8, (3,), np.divide, Reg(1), Reg(2))], (3,), 3)
    run = whole([Loop((2,), inside, 0, N, 1, (Reg(0),), (Reg(0),))], (Reg(2),))
    x = np.array([1.0, 0.0, 2.0])
    state = np.geterr()
    with pytest.raises(Declined, match="floating-point error"):
        run(x, 3)
    with np.errstate(invalid="ignore"):
        assert np.isnan(run(x, 3)[0][1])
        twice = whole(
            [call(5, F8, (3,), np.negative, Reg(0)), Loop((2,), inside, 0, N, 1, (Reg(0),), (Reg(5),)),
             fresh(DIVIDE, (Reg(2), 0.0), (3,), 6)],
            (Reg(6),),
        )  # fmt: skip
        with pytest.raises(Declined, match="floating-point"):
            twice(x, 3)
    assert np.geterr() == state
    overflow = body([Call((2,), (ArrayType(I8, (), True),), operator.mul, (Reg(1), Reg(1)))], (2,), 2)
    square = whole([Loop((2,), overflow, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    assert square(np.int64(3), 4)[0] == 3**16
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Declined):
            square(np.int64(3), 7)


def test_a_body_whose_kernel_cannot_be_compiled() -> None:
    asked = []

    def broken(kernel: Kernel, classes: str) -> Any:
        asked.append(classes)
        raise RuntimeError("no luck")

    loop = Loop((2,), HALVE, 0, N, 1, (Reg(0),), (S0,))
    run = Program(Schedule(2, 3, (), (), (loop,), (Reg(2),), ()), broken)
    for _ in range(3):
        with pytest.raises(Declined, match="no luck"):
            run(np.ones(3), 4)
    assert asked == ["c00c"]


# ---- overlap


def test_carried_and_captured_arrays_that_overlap_decline() -> None:
    """Where the body writes, its inputs must not share memory, in any iteration; else plain Python has to say."""
    steps: list[Step] = [into(ADD, (Reg(1), Reg(2)), (4,), 2)]
    inside = body(steps, (1,), 3, written=(2,))
    loop = Loop((3,), inside, 0, N, 1, (Reg(0),), (Reg(2),))
    run = whole([Save(2), loop], (Reg(3),), n_inputs=3, written=(2,))
    x, y = np.arange(4.0), np.ones(4)
    assert run(x, 3, y)[0] is x and y.tolist() == [1.0, 4.0, 7.0, 10.0]
    same = whole([Save(0), Loop((3,), inside, 0, N, 1, (Reg(0),), (Reg(0),))], (Reg(3),), written=(0,))
    assert same(x, 0)[0] is x
    with pytest.raises(Declined, match="shares memory"):
        same(x, 1)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    # Only from the second iteration on: the body hands on a view of what it writes.
    late = body([*steps, View(5, 2, "basic_index", ((None, None, -1),))], (5,), 3, written=(2,))
    run = whole([Save(2), Loop((3,), late, 0, N, 1, (Reg(0),), (Reg(2),))], (Reg(3),), n_inputs=3, written=(2,))
    y[:] = 1.0
    assert run(x, 1, y)[0].base is y
    y[:] = 1.0
    with pytest.raises(Declined, match="shares memory"):
        run(x, 2, y)
    assert y.tolist() == [1.0] * 4
    y.flags.writeable = False
    with pytest.raises(Declined, match="element by element"):
        run(x, 1, y)


def test_swapped_arrays_are_written_in_turn() -> None:
    steps: list[Step] = [into(SCALE, (Reg(1), 0.5, 1.0), (4,), 2)]
    inside = body(steps, (2, 1), 3, written=(2, 1))
    loop = Loop((3, 4), inside, 0, N, 1, (Reg(0), Reg(2)), ())
    run = whole([Save(0), Save(2), loop], (Reg(3), Reg(4)), n_inputs=3, written=(0, 2))
    for count in range(5):
        x, y = np.arange(4.0), np.ones(4)
        a, b = x.copy(), y.copy()
        first, second = run(x, count, y)
        wanted = (a, b)
        for _ in range(count):
            wanted[1][:] = wanted[0] * 0.5 + 1.0
            wanted = wanted[1], wanted[0]
        assert (x.tobytes(), y.tobytes()) == (a.tobytes(), b.tobytes())
        assert (first is x, second is y) == (wanted[0] is a, wanted[1] is b)


# ---- signals and threads


LONG = body([fresh(SCALE, (Reg(1), 0.5, 1.0), (3,), 3), into(COPY, (Reg(3),), (3,), 2)], (3,), 3, written=(2,))
FOREVER = 10**15


def long_running() -> Program:
    loop = Loop((3,), LONG, 0, N, 1, (Reg(0),), (Reg(2),))
    return whole([Save(2), loop], (Reg(3),), n_inputs=3, written=(2,))


def nested_for_long() -> Program:
    """The time is spent in many short loops inside a long one."""
    inner = Loop((3,), LONG, 0, 20, 1, (Reg(1),), (Reg(2),))
    outer = body([inner], (3,), 3, written=(2,))
    return whole([Save(2), Loop((3,), outer, 0, N, 1, (Reg(0),), (Reg(2),))], (Reg(3),), n_inputs=3, written=(2,))


def empty_for_long() -> Program:
    """Nothing at all happens in an iteration."""
    loop = Loop((3,), body([], (1,), 3), 0, N, 1, (Reg(0),), (Reg(2),))
    return whole([loop], (Reg(3),), n_inputs=3)


@pytest.mark.parametrize("make", [long_running, nested_for_long, empty_for_long])
def test_a_signal_ends_a_long_loop(make: Callable[[], Program]) -> None:
    """The program declines with the arrays as they were, and the handler runs behind it, in plain Python."""
    run = make()
    out = np.zeros(3)
    handled: list[tuple[float, ...]] = []
    old = signal.signal(signal.SIGALRM, lambda number, frame: handled.append(tuple(out)))
    try:
        run(np.ones(3), 1000, out)
        out[:] = 7.0
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        began = time.monotonic()
        with pytest.raises(Declined, match="signal"):
            run(np.ones(3), FOREVER, out)
        assert time.monotonic() - began < 30
        assert handled == [(7.0, 7.0, 7.0)] and out.tolist() == [7.0] * 3
    finally:
        signal.signal(signal.SIGALRM, old)


def run_plainly() -> None:
    """A minute of plain Python, which takes an interrupt at its next instruction."""
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        pass


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_long_loop() -> None:
    run = long_running()
    timer = threading.Timer(0.05, _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        try:
            run(np.ones(3), FOREVER, np.zeros(3))
        except Declined:
            run_plainly()
    timer.join()


@pytest.mark.parametrize("make", [long_running, nested_for_long, empty_for_long])
def test_a_thread_that_waits_ends_a_long_loop(make: Callable[[], Program]) -> None:
    """The program declines with the arrays as they were, and the other thread runs behind it."""
    run = make()
    out = np.zeros(3)
    seen: list[tuple[float, ...]] = []
    run(np.ones(3), 1000, out)
    out[:] = 7.0
    timer = threading.Timer(0.05, lambda: seen.append(tuple(out)))
    timer.start()
    with pytest.raises(Declined, match="another thread waits"):
        while True:  # starting it may let it wait already
            run(np.ones(3), FOREVER, out)
    timer.join()
    assert seen == [(7.0, 7.0, 7.0)] and out.tolist() == [7.0] * 3


def test_an_exception_that_another_thread_sends_ends_a_long_loop() -> None:
    run = long_running()
    ended: list[BaseException] = []

    def work() -> None:
        try:
            while True:
                with contextlib.suppress(Declined):
                    run(np.ones(3), FOREVER, np.zeros(3))
        except SystemExit as error:
            ended.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(20):
        time.sleep(0.001)
    assert worker.is_alive() and worker.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident), ctypes.py_object(SystemExit))
    worker.join(30)
    assert len(ended) == 1


def test_calls_and_new_kernels_decline_while_there_are_other_threads() -> None:
    """They may let the others run. A kernel that was compiled on that occasion serves the next run."""
    inside = body([call(2, F8, (3,), np.negative, Reg(1))], (2,), 2)
    calls = whole([Loop((2,), inside, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    kernels = long_running()
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        out = np.full(3, 7.0)
        for _ in range(2):
            with pytest.raises(Declined, match="another thread waits"):
                calls(out, 3)
        for _ in range(3):
            with contextlib.suppress(Declined):
                kernels(np.ones(3), 2, out)
                break
            assert out.tolist() == [7.0] * 3
        else:
            raise AssertionError(kernels.last_decline)
        assert kernels.last_decline == "another thread waits"
    finally:
        end.set()
        other.join()
    assert calls(out, 3)[0].tolist() == (-out).tolist()


def test_eight_threads_at_once() -> None:
    """One program in eight threads; big arrays too. A run declines at its first call and when another thread waits."""
    jobs = []
    for name in ("jacobi", "power_method", "nested_carried", "temporaries", "many_values", "ping_pong"):
        function, arguments = LOOPS[name]
        with config.patch(cost_model=False):
            jobs.append((compile_graph(trace(function, 3, *arguments), (3, *arguments)), function, arguments))
    big = halving()
    wrong: list[str] = []

    def work(seed: int) -> None:
        x = np.full(200_000, float(seed))
        for count in range(1, 5):
            for run, function, arguments in jobs:
                inputs = [a.copy("K") if isinstance(a, np.ndarray) else a for a in arguments]
                plain = [a.copy("K") if isinstance(a, np.ndarray) else a for a in arguments]
                try:
                    got = run(count, *inputs)
                except Declined:
                    got = function(count, *inputs) or ()
                wanted = function(count, *plain) or ()
                if any(a.tobytes() != b.tobytes() for a, b in zip((*got, *inputs), (*wanted, *plain), strict=True)):
                    wrong.append(function.__name__)
            expected = x
            for _ in range(count):
                expected = expected * 0.5 + 1.0
            with contextlib.suppress(Declined):
                if big(x, count)[0].tobytes() != expected.tobytes():
                    wrong.append("big")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    with np.errstate(all="ignore"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


# ---- memory


def test_iterations_hold_no_more_arrays_than_plain_python() -> None:
    """What an iteration made is gone in the next, but for what is carried; the initial value goes, too."""
    alive: list[Any] = []
    most = 0

    def step(x: Any) -> Any:
        nonlocal most
        result = x + 1.0
        alive.append(weakref.ref(result))
        most = max(most, sum(ref() is not None for ref in alive))
        return result

    inside = body([call(2 + k, F8, (5,), step, Reg(1 + k)) for k in range(3)], (4,), 2)
    start = call(2, F8, (5,), step, Reg(0))
    run = whole([start, Loop((3,), inside, 0, N, 1, (Reg(2),), ())], (Reg(3),))
    run(np.ones(5), 10)
    assert most == 2 and sum(ref() is not None for ref in alive) == 0


@pytest.mark.usefixtures("no_mode")
def test_runs_leave_no_memory_and_no_references() -> None:
    """Loops that end and loops that decline give everything back, kept arrays and views included."""
    x, y = np.arange(12.0), np.ones(12)
    steps: list[Step] = [
        View(5, 2, "basic_index", ((None, None, -1),)),
        fresh(SCALE, (Reg(1), 0.5, 1.0), (12,), 6),
        Alloc(7, F8, (12,), 0),
        call(8, F8, (12,), np.negative, Reg(6)),
        into(COPY, (Reg(8),), (12,), 7),
        fresh(ADD, (Reg(7), Reg(5)), (12,), 9),
        View(10, 9, "basic_index", ((None, None, -1),)),
        View(11, 9, "basic_index", (3,), True),
        Require(Symbol("ok", "bool", 4)),
    ]
    inside = body(steps, (10, 11), 5, n_registers=13, constants=((12, np.float64(2)),))
    # carried: 1, 2 (an array and a scalar); captured: 3 (array), 4 (number)
    steps[0] = View(5, 3, "basic_index", ((None, None, -1),))
    inside = body(steps, (10, 11), 5, n_registers=13, constants=((12, np.float64(2)),))
    outer = [Loop((6, 7), inside, 0, 3, 1, (Reg(0), Reg(3)), (Reg(1), Symbol("ok", "bool", 2)))]
    run = whole(outer, (Reg(6), Reg(7)), n_inputs=4)  # type: ignore[arg-type]
    scalar = np.float64(1.5)
    counts = [sys.getrefcount(thing) for thing in (x, y, scalar, run)]
    assert leaks(lambda: run(x, y, True, scalar), 5_000) < 20

    def declines() -> None:
        try:
            run(x, y, False, scalar)
        except Declined:
            return

    assert leaks(declines, 5_000) < 20
    assert [sys.getrefcount(thing) for thing in (x, y, scalar, run)] == counts


@pytest.mark.parametrize("name", LOOPS)
def test_loops_leave_nothing_behind(name: str) -> None:
    function, arguments = LOOPS[name]
    with config.patch(cost_model=False):
        run = compile_graph(trace(function, 3, *arguments), (3, *arguments))
    inputs = [a.copy("K") if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        for count in (0, 3):
            assert leaks(lambda count=count: run(count, *inputs), 500) < 20  # type: ignore[misc]


def test_programs_with_loops_are_garbage_collected() -> None:
    class Adds:
        run: Program

        def __call__(self, x: Any) -> Any:
            return x + 1

    function = Adds()
    gone = weakref.ref(function)
    inside = body([call(2, F8, (3,), function, Reg(1))], (2,), 2)
    function.run = whole([Loop((2,), inside, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    function.run(np.ones(3), 3)
    del function, inside
    gc.collect()
    assert gone() is None


# ---- numbers


def numbers(first: float | int, ends: tuple[Any, ...], kinds: str = "ff") -> Program:
    """For n, (a, b) = (first, 2), then what `ends` says of a, b and the index, n times."""
    inside = Schedule(3, 3, (), (), (), ends, ())
    begins = (first, 2.0 if kinds[1] == "f" else 2)
    return whole([Loop((2, 3), inside, 0, Symbol("n", "int", 0), 1, (), begins)], (Reg(2), Reg(3)), n_inputs=1)


def pair(kinds: str = "ff") -> tuple[Symbol, Symbol]:
    words = {"f": "float", "i": "int"}
    return Symbol("a", words[kinds[0]], 1), Symbol("b", words[kinds[1]], 2)


def test_numbers_are_handed_on_together() -> None:
    """Each sees what the others were before, also where one is the other, or the index, or always the same."""
    a, b = pair()
    run = numbers(0.5, (b, ScalarOp("mul", "float", (a, 0.75))))
    x, y = 0.5, 2.0
    for count in range(6):
        got = run(count)
        assert got == (x, y) and [type(value) for value in got] == [np.float64, np.float64]
        x, y = y, x * 0.75
    a, b = pair("fi")
    run = numbers(0.5, (1.25, INDEX), "fi")
    assert run(0) == (0.5, 2) and run(1) == (1.25, 0) and run(4) == (1.25, 3)
    assert [type(value) for value in run(4)] == [np.float64, np.int64]
    with pytest.raises(ValueError, match="another kind"):
        numbers(1, (a, b), "ii")


def test_numbers_that_end_the_program() -> None:
    """Beyond 64 bits, divided by zero, or a NaN: declined."""
    a, b = pair("ii")
    run = numbers(1, (ScalarOp("mul", "int", (a, 3)), b), "ii")
    assert run(39) == (3**39, 2)
    with pytest.raises(Declined, match="64 bits"):
        run(40)
    a, b = pair()
    run = numbers(4.0, (ScalarOp("sub", "float", (a, 1.0)), ScalarOp("truediv", "float", (b, a))))
    assert run(4) == (0.0, 2.0 / 4.0 / 3.0 / 2.0 / 1.0)
    with pytest.raises(Declined):
        run(5)
    run = numbers(1e308, (ScalarOp("mul", "float", (a, 10.0)), ScalarOp("sub", "float", (a, a))))
    with np.errstate(all="ignore"):
        assert run(1) == (np.inf, 0.0)
        with pytest.raises(Declined):
            run(2)


# ---- building


@pytest.mark.parametrize(
    "loop",
    [
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), ()),
        Loop((2, 3), HALVE, 0, N, 1, (Reg(0),), (S0,)),
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), (Reg(0),)),
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), (1.5,)),
        Loop((2,), HALVE, 0, N, 1, (S0,), (S0,)),
        Loop((2,), HALVE, 0, N, 1, (Reg(7),), (S0,)),
        Loop((0,), HALVE, 0, N, 1, (Reg(0),), (S0,)),
        Loop((99,), HALVE, 0, N, 1, (Reg(0),), (S0,)),
        Loop((2,), HALVE, 0, 1.5, 1, (Reg(0),), (S0,)),
        Loop((2,), HALVE, 0, N, None, (Reg(0),), (S0,)),  # type: ignore[arg-type]
        Loop((2,), body([], (0,), 2), 0, N, 1, (Reg(0),), ()),
        Loop((2,), body([], (2,), 3), 0, N, 1, (Reg(0),), (3,)),
        Loop((2,), body([Require(Symbol("i", "float", 0))], (1,), 2), 0, N, 1, (Reg(0),), ()),
        Loop((2,), Schedule(2, 3, (), (), (), (1.0,), ()), 0, N, 1, (Reg(0),), ()),
        Loop((2,), None, 0, N, 1, (Reg(0),), ()),  # type: ignore[arg-type]
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), (S0,), pause=(AT,)),  # type: ignore[arg-type]
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), (S0,), pause=(AT, 3)),
        Loop((2,), HALVE, 0, N, 1, (Reg(0),), (S0,), pause=(Symbol("p", "float", -1), True)),
    ],
)
def test_broken_loops_are_refused(loop: Loop) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        whole([loop], (Reg(0),))


def test_a_loop_that_pauses() -> None:
    """Its entry goes on elsewhere; a program that is called by itself cannot end there, and declines."""
    at_5 = ScalarOp("eq", "bool", (ScalarOp("mod", "int", (AT, 8)), 5))
    inside = replace(HALVE, symbols=(SIZE,))
    steps = [Loop((2,), inside, 0, N, 1, (Reg(0),), (S0,), pause=(AT, at_5)), Leave(0, (Reg(2), N))]
    run, x = whole(steps, (Reg(2),)), np.arange(5.0)
    assert run(x, 0)[0] is x
    with pytest.raises(Declined):
        run(x, 2)
    schedule = replace(run.schedule, symbols=(Symbol("n", "int", 1), S0))
    assert "pauses at p where eq(mod(p, 8), 5)" in to_text(schedule)
    (paused,) = interpret(schedule, [x, 9])
    (ended,) = interpret(schedule, [x, 5])
    assert paused.tobytes() == ended.tobytes() == halving()(x, 5)[0].tobytes()


def test_the_interpretation_agrees() -> None:
    x = np.arange(5.0)
    run = halving()
    assert run.schedule.steps[0].body is HALVE
    symbols = (Symbol("n", "int", 1), S0)
    inner = Schedule(3, 12, (SIZE,), (), HALVE.steps, HALVE.outputs, ())
    steps = (Loop((2,), inner, 0, N, 1, (Reg(0),), (S0,)),)
    schedule = Schedule(2, 3, symbols, (), steps, (Reg(2),), ())
    for count in (0, 1, 4):
        (wanted,) = interpret(schedule, [x, count])
        assert run(x, count)[0].tobytes() == wanted.tobytes()


def test_maps_into_arrays_of_the_pool_have_numpys_strides() -> None:
    """Results alternate between two memory orders; none takes the place of the other."""
    swap = Kernel((F8,), (KernelOp("negative", (0,), (F8,), (F8,)),), (1,))
    steps: list[Step] = [
        View(2, 1, "transpose", (1, 0)),
        fresh(swap, (Reg(2),), (4, 4), 3),
        fresh(swap, (Reg(3),), (4, 4), 4),
        View(5, 4, "transpose", (1, 0)),
        Map(ADD, (Reg(4), Reg(5)), (4, 4), (6,), (False,), (False,)),
        fresh(ADD, (Reg(6), Reg(3)), (4, 4), 7),
    ]
    inside = body(steps, (7,), 2)
    run = whole([Loop((2,), inside, 0, N, 1, (Reg(0),), ())], (Reg(2),))
    x = np.arange(16.0).reshape(4, 4)
    for count in range(5):
        (got,) = run(x, count)
        wanted = x
        for _ in range(count):
            three = -wanted.T
            four = -three
            wanted = (four + four.T) + three
        assert got.strides == wanted.strides and got.tobytes() == wanted.tobytes()
