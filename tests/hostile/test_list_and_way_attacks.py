"""Programs in which the compiled function differed from plain Python: appends in native loops, ways out of them."""

from __future__ import annotations

import signal
import warnings
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.test_loop_lists import require_same_objects

BACKENDS = ("reference", "numba")
OPTIONS = {"native_loops": True, "check": 1, "cost_model": False, "recompile_limit": 100}


def compare(fn: Any, backend: str, counts: tuple[int, ...] = (3, 0, 1, 2, 20)) -> None:
    """Values, warnings and identity, for several trip counts."""

    def make(n: int) -> tuple[Any, ...]:
        return np.random.default_rng(6).random(6) + 1.0, n

    first, *rest = [lambda n=n: make(n) for n in counts]
    report = require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=1,
    )
    for n in counts:
        require_same_objects(fn(*make(n)), report.compiled(*make(n)))


# -- stores behind a loop: another name, or a list, has the array, too -----------------------------


def appended_then_written(x: Any, n: int) -> Any:
    y = x + 1
    out = []
    for _ in x:
        y = y * 2
        out.append(y)
    y += 1
    return out


def appended_by_a_helper_that_writes(x: Any, n: int) -> Any:
    out: list[Any] = []
    _collect(x + 1, n, out)
    return out


def _collect(y: Any, n: int, out: list[Any]) -> None:
    for _ in range(n):
        y = y * 2
        out.append(y)
    y += 1


def appended_and_replaced(x: Any, n: int) -> Any:
    out = []
    y, z = x + 1, x * 2
    for _ in x:
        out.append(y)
        y = z
    y += 1
    return out


def two_names(x: Any, n: int) -> Any:
    y = x + 1
    z = x * 2
    for _ in x:
        y = y * 2
        z = y
    y += 1
    return z


def a_view(x: Any, n: int) -> Any:
    y = x + 1
    z = x * 2
    for v in x:
        y = z * v
        z = y[::-1]
    y += 1
    return z


LOST = [appended_then_written, appended_by_a_helper_that_writes, appended_and_replaced, two_names, a_view]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", LOST)
def test_stores_behind_a_loop(fn: Any, backend: str) -> None:
    compare(fn, backend)


# -- a signal's handler finds the arrays and the list of one iteration -----------------------------


class Stop(Exception):
    pass


def grows(x: Any, n: int, out: list[Any]) -> Any:
    for _ in range(n):
        x += 1
        out.append(x[0])
    return x


@pytest.mark.parametrize("raises", [False, True])
def test_a_signal(raises: bool) -> None:
    seen: list[float] = []

    def handler(*_: Any) -> None:
        seen.append(float(x[0]) - len(out))
        if raises:
            raise Stop

    fast = dynamo_lite.compile(grows, options={"native_loops": True, "cost_model": False})
    for _ in range(2):
        fast(np.zeros(3), 50, [])
    before = signal.signal(signal.SIGALRM, dynamo_lite.disable(handler))
    x, out = np.zeros(3), []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
        fast(x, 3_000_000, out)
    except Stop:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen and max(map(abs, seen)) <= 1, seen
    assert abs(x[0] - len(out)) <= 1


# -- a NumPy scalar appended in an if or an inner loop is the object outside -----------------------


def appended_in_an_if(x: Any, n: int) -> Any:
    out = []
    s = x[0]
    for i in range(n):
        s = x[i % 6] * 2
        if s < 50:
            out.append(s)
    return out, s


def appended_behind_a_break(x: Any, n: int) -> Any:
    out = []
    s = x[0]
    for i in range(n):
        s = x[i % 6] * 2
        if s > 50:
            break
        out.append(s)
    return out, s


def appended_behind_a_continue(x: Any, n: int) -> Any:
    out = []
    s = x[0]
    i = 0
    while i < n:
        s = x[i % 6] * 2
        i += 1
        if s > 50:
            continue
        out.append(s)
    return out, s


def appended_again_and_again(x: Any, n: int) -> Any:
    out = []
    s = x[0]
    for i in range(n):
        s = x[i % 6] * 2
        for _ in range(i % 3):
            out.append(s)
    return out


def carried_and_appended(x: Any, n: int) -> Any:
    out = []
    s = x.sum()
    for i in range(n):
        s = s * 0.5 + x[i % 6]
        if s < 50:
            out.append(s)
    return out, s


SCALARS = [
    *(appended_in_an_if, appended_behind_a_break, appended_behind_a_continue, appended_again_and_again),
    carried_and_appended,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", SCALARS)
def test_appended_scalars_are_one_object(fn: Any, backend: str) -> None:
    compare(fn, backend)


# -- what the compiler failed on -------------------------------------------------------------------


def returns_from_an_unrolled_loop(x: Any, n: int, debug: bool = False) -> Any:
    while x.sum() < n:
        x = x * 1.5
        for name in ("a", "b"):
            if debug:
                return name, x
    return x


def returns_from_a_short_range(x: Any, n: int) -> Any:
    k = 1000
    i = 0
    while i < n:
        i += 1
        for _ in range(3, 9):
            if k > 9000:
                return x, n
    return i


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [returns_from_an_unrolled_loop, returns_from_a_short_range])
def test_a_way_out_that_nobody_takes(fn: Any, backend: str) -> None:
    """ValueError: instruction 13 finds 2 stack slots, not 1."""
    compare(fn, backend, (3, 0, 1, 50))


@pytest.mark.parametrize("fn", [returns_from_an_unrolled_loop, returns_from_a_short_range])
def test_no_warning_with_default_options(fn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dynamo_lite.compile(fn)(np.arange(4.0) + 1, 50)


def an_inner_loop_as_long_as_data_says(x: Any, n: int) -> Any:
    i = 0
    while i < n:
        i += 1
        for j in range(i % 4):
            if j > 1:
                x = x + 1
    return x


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_condition_on_an_inner_index(backend: str) -> None:
    """ValueError: max() arg is an empty sequence (capture/state.py owner); older than the lists."""
    compare(an_inner_loop_as_long_as_data_says, backend)


def rounded(x: Any, n: int) -> Any:
    t = 0.0
    for i in range(n):
        s = x[i % 6] * 2
        t = t + s.round(1)
    return t


def as_int(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        s = x[i % 6] * 2
        out.append(np.int64(s))
    return out


def as_bool(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        s = x[i % 6] * 2
        out.append(np.bool_(s))
    return out


@pytest.mark.parametrize("fn", [rounded, as_int, as_bool])
def test_calls_with_a_dict_in_machine_loops(fn: Any) -> None:
    """BackendWarning: TypeError: unhashable type: 'dict' (the steps of a machine loop: LOOPS.get)."""
    compare(fn, "numba")


# -- a Python number that two lists, or one twice, get under two names -----------------------------


def through_float(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        f = i * 0.5
        out.append(f)
        other.append(float(f))
    return out, other


def through_plus(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        f = i * 0.5
        out.append(f)
        other.append(+f)
    return out, other


def through_max(x: Any, n: int) -> Any:
    out = []
    for i in range(n):
        f, g = i * 0.5, i * 0.25 + 1
        out.append(max(f, g))
        out.append(f)
        out.append(g)
    return out


def through_a_choice(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        f, g = i * 0.5 + 0.25, i * 0.75
        out.append(f)
        other.append(f if i % 2 else g)
    return out, other


def through_or(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        f, g = i * 0.5 + 0.25, i * 0.75
        out.append(f)
        other.append(f or g)
    return out, other


def through_abs(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        k = i * 1000 + 500
        out.append(k)
        other.append(abs(k))
    return out, other


def through_int(x: Any, n: int) -> Any:
    out, other = [], []
    for i in range(n):
        k = i * 1000 + 500
        out.append(k)
        other.append(int(k))
    return out, other


def lives_on_one_way(x: Any, n: int) -> Any:
    out = []
    f = 0.5
    for i in range(n):
        f = i * 0.5 + 0.25
        out.append(f)
        if x[i % 6] > 1.5:
            f = f + 1
    return f, out


def int_lives_on_one_way(x: Any, n: int) -> Any:
    out = []
    k = 5000
    for i in range(n):
        k = i + 700
        out.append(k)
        if x[i % 6] > 1.5:
            k = k + 1
    return k, out


NUMBERS = [through_float, through_plus, through_max, through_a_choice, through_or, through_abs, through_int]
NUMBERS += [lives_on_one_way, int_lives_on_one_way]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", NUMBERS)
def test_numbers_under_two_names(fn: Any, backend: str) -> None:
    compare(fn, backend)


# -- recursion -------------------------------------------------------------------------------------


def recursive(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 1.5
        if x[0] > 4:
            return recursive(x * 0.5, n - 1)
    return x


def test_recursion_from_a_loop() -> None:
    """Older than the lists; 7 iterations take 10 microseconds in plain Python, and minutes to compile."""

    def stop(*_: Any) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.alarm(10)
        dynamo_lite.compile(recursive)(np.arange(3.0) + 1, 7)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
