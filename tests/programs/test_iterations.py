"""Loops that one kernel runs: what warns in one iteration, lanes beside the last element, NaNs, shared memory."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.schedule.steps import Loop
from tests.oracle import Conditions, Report, require_equal
from tests.programs.loop_cases import OPTIONS


def grow(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x + 1.0
    return x


def newton(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x - (x * x - y) / (2 * x)
    return x


def spring(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x + 0.01 * y
        y = y - 0.01 * 4.0 * x
    return x, y


def apart(x, y, n):  # type: ignore[no-untyped-def]
    """Nothing that is carried on needs the quotient."""
    for i in range(n):
        y = 1.0 / (x - i)
    return x, y


def unread(x, y, n):  # type: ignore[no-untyped-def]
    """Nobody needs the quotient."""
    for i in range(n):
        1.0 / (x - i)
        y = y * 0.5 + x
    return x, y


def masked(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.where(x > y, 1.0 / x, x * 2.0)
    return x


def swapped(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x, y = y, x * 0.5 + y
    return x, y


def round_about(x, y, n):  # type: ignore[no-untyped-def]
    z = y
    for _ in range(n):
        x, y, z = y, z, x * 0.5
    return x, y, z


def in_place(x, y, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x += 0.01 * y
        y -= 0.04 * x


def numbers(x, y, n):  # type: ignore[no-untyped-def]
    t = 0.0
    for i in range(n):
        x = x + t * y + i
        t += 0.125
    return x, t


def sines(x, y, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = np.sin(x) + y * i
    return x


def elements(x, y, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + y[i % 2, 1] * y[0, -1] + i
    return x


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    grow,
    newton,
    spring,
    apart,
    unread,
    masked,
    swapped,
    round_about,
    in_place,
    numbers,
    sines,
    elements,
)


def has_kernel(compiled: Any) -> bool:
    schedules = [getattr(segment.program, "schedule", None) for segment in compiled._compilation.segments]
    steps = [step for schedule in schedules if schedule is not None for step in schedule.steps]
    return any(isinstance(step, Loop) and step.body.iterated is not None for step in steps)


def check(function: Any, *calls: Any, kernel: bool | None = True, **options: Any) -> Report:
    """Compare with plain Python; every call is the makers of the arguments. kernel None: there may be none."""
    first, *rest = calls
    options.setdefault("calls", 1)
    options["compile_options"] = {"options": {**OPTIONS, "recompile_limit": 100}}
    report = require_equal(function, first, variants=rest, compile=dynamo_lite.compile, **options)
    assert kernel is None or has_kernel(report.compiled) == kernel, report.compiled.explain()
    return report


def arguments(size: Any, n: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (np.linspace(0.5, 1.5, int(np.prod(size))).reshape(size) + 0.001, np.full(size, 0.75), n)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_program_for_every_trip_count(function: Any) -> None:
    counts = (6, 0, 1, 2, 5, 7, 1000) if function is not numbers else (6, 1, 2, 5, 7, 1000)  # its t is no array
    report = check(function, *(arguments((2, 3), n) for n in counts))
    assert report.stats["compiles"] == 1 and not report.warned
    assert not report.stats["declines"] and not report.stats["plain_calls"]


@pytest.mark.parametrize("function", (newton, spring, masked, apart, sines))
def test_no_lane_computes_what_no_element_does(function: Any) -> None:
    """Zeros in lanes that are not used would divide by zero."""
    sizes = (*range(2, 20), 30, 31, 32, 33, 34, 63, 64, 65, 100)
    report = check(function, *(arguments(size, 30) for size in sizes))
    assert not report.stats["declines"] and not report.warned


@pytest.mark.parametrize("dtype", ("float32", "int64", "int32", "uint8", "bool", "complex128"))
def test_dtypes(dtype: str) -> None:
    def mix(x: Any, y: Any, n: int) -> Any:
        for _ in range(n):
            x = x ^ y if dtype in ("int64", "int32", "uint8", "bool") else x * y
            y = y | x if dtype in ("int64", "int32", "uint8", "bool") else y * x
        return x, y

    def made(size: int, n: int) -> Any:
        return lambda: ((np.arange(size) % 3 * 0.25).astype(dtype), (np.arange(size) % 2).astype(dtype), n)

    report = check(mix, *(made(size, n) for size in (5, 33, 130) for n in (10, 100)))
    assert not report.stats["declines"]


@pytest.mark.parametrize("n", (1, 2, 5, 6, 20))
def test_an_error_in_the_last_iteration_alone(n: int) -> None:
    def divide(x, y, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x - 1.0
            y = y / x
        return x, y

    for place in (0, 3, 36):

        def made(place: int = place) -> tuple[Any, ...]:
            x = np.full(37, 1000.0)
            x[place] = n
            return x, np.ones(37), n

        report = check(divide, arguments(37, 30), made)
        assert report.warned and report.stats["declines"]


@pytest.mark.parametrize("when", (0, 1, 5, 17, 39))
@pytest.mark.parametrize("function", (apart, unread))
def test_an_error_whose_value_is_lost(function: Any, when: int) -> None:
    def made() -> tuple[Any, ...]:
        x = np.full(9, 1000.5)
        x[4] = when  # zero in that iteration alone
        return x, np.ones(9), 40

    report = check(function, arguments(9, 30), made)
    assert report.warned and report.stats["declines"]


@pytest.mark.parametrize("errors", ("ignore", "raise", "warn"))
def test_overflow_on_the_way(errors: str) -> None:
    def made(n: int) -> Any:
        return lambda: (np.array([[2.0, 1.0, 0.5], [1.0, 1.0, 1.0]]), np.zeros((2, 3)), n)

    def squares(x, y, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x * x
        return x

    check(squares, *(made(n) for n in (5, 9, 10, 11, 12, 100)), conditions=Conditions(errstate={"over": errors}))


@pytest.mark.parametrize("position", (0, 2, 36))
def test_which_of_two_nans(position: int) -> None:
    def made() -> tuple[Any, ...]:
        x, y = np.ones(37), np.ones(37)
        x[position], y[position] = np.array([-1, -2]).view(float)
        return x, y, 20

    def add(x, y, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x + y
        return x

    def product(x, y, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x, y = y * x, x
        return x, y

    for function in (add, product, spring, swapped, masked):
        report = check(function, arguments(37, 20), made)
        assert report.stats["declines"] or function is masked


def test_an_index_that_fits_no_more() -> None:
    def add(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x + i
        return x

    def made(n: int) -> Any:
        return lambda: (np.zeros(5, np.uint8), None, n)

    report = check(add, made(256), made(255), made(257), made(1000))
    assert "OverflowError" in report.raised


def test_an_element_that_is_not_there() -> None:
    def add(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x + y[i]
        return x

    def made(n: int) -> Any:
        return lambda: (np.zeros(5), np.arange(30.0), n)

    report = check(add, made(30), made(31), made(29))
    assert "IndexError" in report.raised


def test_elements_of_an_array_that_is_written() -> None:
    def add(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x += y[i] * 0.5

    def shared(n: int) -> tuple[Any, ...]:
        memory = np.linspace(0.5, 1.5, 40)
        return memory, memory, n

    def beside(n: int) -> tuple[Any, ...]:
        memory = np.linspace(0.5, 1.5, 80)
        return memory[:40], memory[40:], n

    check(add, *(lambda m=m, n=n: m(n) for m in (shared, beside) for n in (20, 2, 40)))  # type: ignore[misc]


def test_a_product_of_indices_that_is_too_large() -> None:
    def add(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x + i * i * (1 << 56) % 7
        return x

    check(add, lambda: (np.zeros(5), None, 8), lambda: (np.zeros(5), None, 40))


@pytest.mark.parametrize("function", (in_place, grow, spring))
def test_arrays_that_share_memory(function: Any) -> None:
    def one(n: int) -> tuple[Any, ...]:
        x = np.linspace(0.5, 1.5, 12)
        return x, x, n

    def shifted(n: int) -> tuple[Any, ...]:
        memory = np.linspace(0.5, 1.5, 13)
        return memory[:-1], memory[1:], n

    def reversed_(n: int) -> tuple[Any, ...]:
        memory = np.linspace(0.5, 1.5, 12)
        return memory, memory[::-1], n

    check(function, *(lambda m=m, n=n: m(n) for m in (one, shifted, reversed_) for n in (20, 2, 100)))  # type: ignore[misc]


@pytest.mark.parametrize("view", ("x[:, ::2]", "x[::-1]", "x.T", "x[1:-1, 1:-1]"))
def test_stores_into_a_view(view: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def f(x, y, n):\n  for _ in range(n):\n    {view}[...] = {view} * 0.5 + y\n  return x", space)
    check(space["f"], *(lambda n=n: (np.arange(64.0).reshape(8, 8), 0.25, n) for n in (20, 1, 2, 100)))  # type: ignore[misc]


@pytest.mark.parametrize("order", ("C", "F", "K"))
def test_fresh_arrays_beside_stores(order: str) -> None:
    """What is made of an array that is written lies as that array does."""

    def f(x, y, n):  # type: ignore[no-untyped-def]
        z = x
        for _ in range(n):
            y += 0.5 * x
            z = y * 0.25 + z
        return z

    def made(n: int) -> Any:
        wide = np.arange(60.0).reshape(3, 4, 5).transpose(1, 0, 2)
        y = wide * 1 if order == "K" else np.array(wide, order=order)  # type: ignore[call-overload]
        return lambda: (np.ones((4, 3, 5)), y.copy("K"), n)

    check(f, made(20), made(3), made(100))


def test_the_loop_gives_way_to_a_signal() -> None:
    def forever(x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            x = x + 1.0
        return x

    fast = dynamo_lite.compile(forever, options=OPTIONS)
    fast(np.zeros(6), 1000)
    fast(np.zeros(6), 1000)
    assert fast.stats()["native_calls"] == 2 and has_kernel(fast)

    class Alarm(Exception):
        pass

    def ring(*_: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            fast(np.zeros(6), 10**15)
        assert time.monotonic() - begin < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("function", (grow, spring, swapped, in_place, sines, elements))
@pytest.mark.parametrize("every", (3, 20))
def test_loops_that_are_left_on_the_way(function: Any, every: int) -> None:
    dynamo_lite._C.leave_loops(every)
    try:
        report = check(function, *(arguments((2, 3), n) for n in (41, 1, 6, 60)))
    finally:
        dynamo_lite._C.leave_loops(0)
    assert not report.stats["declines"]
