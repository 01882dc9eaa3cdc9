"""What a signal's handler raises in a nest whose outermost loop takes long for an iteration: it comes after what the
function has stored and drawn before, inside of its `try` and `with`, behind iterations that are whole."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite

LOG: list[Any] = []
STATE = 0
LONG = 10**11  # iterations that would take minutes natively
FIRST, LATER, LAST = (5, 0, LONG), (5, 2, LONG), (2, 1, 200_000_000)


class Timeout(Exception):
    pass


class Noting:
    def __enter__(self) -> None:
        LOG.append("enter")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        LOG.append(("exit", kind))
        return kind is Timeout


def late(*_: Any) -> None:
    raise Timeout


def in_try(x: Any, n: int, at: int, count: int) -> Any:
    i = -1
    try:
        for i in range(n):
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
    except Timeout:
        LOG.append(("caught", i, x > 1.0))
    finally:
        LOG.append("finally")
    return x


def in_with(x: Any, n: int, at: int, count: int) -> Any:
    total = np.zeros(4)
    LOG.append(total)
    with Noting():
        for i in range(n):
            total[0] += 1.0
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
    LOG.append(total[0])
    return x


def by_condition(x: Any, n: int, at: int, count: int) -> Any:
    i = 0
    made = None
    try:
        while i < n:
            made = i
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
            i += 1
    except Timeout:
        LOG.append(("caught", i, made))
    return x


def of_arrays(x: Any, n: int, at: int, count: int) -> Any:
    a = np.full(3, x)
    try:
        for i in range(n):
            for _ in range(5 + count * (i == at)):
                a = np.where(a > 2.0, a - 1.0, a + 0.25)
    except Timeout:
        LOG.append(("caught", i, len(a)))
    return a


def stored_before(x: Any, n: int, at: int, count: int) -> Any:
    global STATE
    STATE = 1
    for i in range(n):
        for _ in range(5 + count * (i == at)):
            x = x * 0.5 + 1.0
    STATE = 2
    return x


def stored_in_try(x: Any, n: int, at: int, count: int) -> Any:
    global STATE
    STATE = 1
    try:
        for i in range(n):
            STATE = i + 10
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
    except Timeout:
        LOG.append(("caught", i, STATE))
    return x


def drawn_before(x: Any, n: int, at: int, count: int) -> Any:
    np.random.seed(3)
    y = np.random.rand()
    for i in range(n):
        for _ in range(5 + count * (i == at)):
            x = x * 0.5 + y
    return x


def behind_another(x: Any, n: int, at: int, count: int) -> Any:
    try:
        for _ in range(n):
            x = x * 0.5
        for i in range(n):
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
    except Timeout:
        LOG.append(("caught", i))
    return x


def in_comprehension(x: Any, n: int, at: int, count: int) -> Any:
    try:
        for i in range(n):
            x = x + sum([x * 0.5 for _ in range(5 + count * (i == at))]) * 1e-9
    except Timeout:
        LOG.append(("caught", i))
    return x


def without_lists(x: Any, n: int, at: int, count: int) -> Any:
    try:
        for i in range(n):
            for _ in range(5 + count * (i == at)):
                x = x * 0.5 + 1.0
    except Timeout:
        return i, None
    return x


def called(function: Callable[..., Any], where: tuple[int, int, int], after: float) -> Any:
    """What can be seen of a call in which a handler raises, and the lines of where it does."""
    global STATE
    LOG.clear()
    STATE = 0
    np.random.seed(5)
    before, lines = signal.signal(signal.SIGALRM, late), []
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        result = function(1.5, *where)
        LOG.append(result if type(result) is tuple else None)
    except Timeout as error:
        rows = traceback.extract_tb(error.__traceback__)[1:]
        lines = [(row.name, row.line) for row in rows]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    return repr(LOG), STATE, int(np.random.get_state()[1][7]), lines[:1], [name for name, _ in lines]  # type: ignore[index]


HANDLED = [in_try, behind_another, without_lists, in_with, by_condition, of_arrays, stored_in_try]
FUNCTIONS = [*HANDLED, stored_before, drawn_before, in_comprehension]


def check(
    function: Callable[..., Any], where: tuple[int, int, int], backend: str = "numba", after: float = 0.2
) -> None:
    plain = called(function, where, 0.02)
    fast = dynamo_lite.compile(function, options={"backend": backend, "cost_model": False})
    for count in (7, 7, 20_000):  # the last one compiles what a comprehension that is too long is left for
        fast(1.5, 5, 3, count)
    log, state, drawn, line, names = called(fast, where, after)
    assert (log, state, drawn, names) == (*plain[:3], plain[4])
    assert line == plain[3] or "for " in line[0][1]  # at the loop, not before it


@pytest.mark.parametrize("function", FUNCTIONS)
def test_in_the_first_iteration(function: Callable[..., Any]) -> None:
    check(function, FIRST)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_in_a_later_iteration(function: Callable[..., Any]) -> None:
    check(function, LATER)


@pytest.mark.parametrize("where", [FIRST, LATER])
def test_of_another_backend(where: tuple[int, int, int]) -> None:
    check(in_with, where, "c")


@pytest.mark.parametrize("function", HANDLED)
def test_at_the_end_of_the_last_iteration(function: Callable[..., Any]) -> None:
    """It takes less than a second, and the loop goes round no more."""
    check(function, LAST, after=0.05)


def test_handlers_that_raise_nothing_are_let_in() -> None:
    """A timer that goes off again and again does not keep the nest from running natively."""
    ticks: list[int] = []
    fast = dynamo_lite.compile(without_lists)
    for _ in range(3):
        fast(1.5, 5, 3, 7)
    before = signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.02)
        fast(1.5, 5, 3, 1_000_000_000)  # the fourth iteration takes seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert len(ticks) > 3
    assert (fast.stats()["declines"], fast.stats()["leaves"]) == (0, 0)


def filling(x: Any, n: int, count: int) -> Any:
    made = {}
    for i in range(n):
        made[i] = i * 0.5
        for _ in range(count):
            x = x + 1.0
        made[i + n] = x
    return x, made


def filling_in_try(x: Any, n: int, count: int) -> Any:
    made = []
    try:
        for i in range(n):
            made.append(i * 0.5)
            for _ in range(count):
                x = x + 1.0
            made.append(x)
    finally:
        x = x + 0.25
    return x, made


@pytest.mark.parametrize("function", [filling, filling_in_try])
def test_inner_loops_run_to_their_ends(function: Callable[..., Any]) -> None:
    """The loop around them is left, not they."""
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(2):
        fast(1.0, 3, 7)
    want = function(1.0, 3, 1_000_001)[0] + 3 * 49_000_000
    ticks: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        assert fast(1.0, 3, 50_000_001)[0] == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert ticks


def test_nothing_is_left_over() -> None:
    """What a handler has raised comes once."""
    fast = dynamo_lite.compile(in_try)
    fast(1.5, 5, 3, 7)
    called(fast, FIRST, 0.05)
    for _ in range(100):
        fast(1.5, 5, 3, 7)
    assert LOG.count("finally") == 101 and len(LOG) == 103
