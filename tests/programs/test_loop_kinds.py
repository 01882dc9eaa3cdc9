"""Locals that a loop gives another kind of value in some iterations only: NumPy scalars in place of Python numbers,
tuples in place of constants. What they are behind the loop is the kind that plain Python has there, and the object."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, loops_left, registry, rng
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def ints(count: int, size: int) -> tuple[Any, ...]:
    return (rng(count).integers(-9, 9, count + 1),)


def negative(count: int, size: int) -> tuple[Any, ...]:
    return (-rng(count).integers(1, 9, count + 1),)


def floats(count: int, size: int) -> tuple[Any, ...]:
    return (rng(count).random(count + 1) - 0.5,)


@case(negative)
def never_replaced(x):  # type: ignore[no-untyped-def]
    best = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
    return best, type(best)


@case(ints)
def greatest(x):  # type: ignore[no-untyped-def]
    best = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
    return best, type(best)


@case(floats)
def with_its_place(x):  # type: ignore[no-untyped-def]
    best, where, found = 0.0, (0, 0), False
    for i in range(len(x)):
        if x[i] > best:
            best, where, found = x[i], (i, i + 1), x[i] > 0.25
    return best, where, found


@case(floats)
def in_calls_of_numpy(x):  # type: ignore[no-untyped-def]
    out = 0 * x
    for i in range(len(x)):
        value, step, count = np.pi, 1, 0
        while count < 30 and np.abs(step) > 1e-6:
            step = -(value - 0.25 * np.sin(value) - x[i]) / (1.0 - 0.25 * np.cos(value))
            value += step
            count += 1
        if np.maximum(np.abs(step), 1e-9) > 1e-6:
            out[0] = 1.0
        out[i] = np.arctan2(value, step)
    return out


@case(lambda count, size: (rng(count).random((count + 1, size)) - 0.8,))
def in_a_nest(x):  # type: ignore[no-untyped-def]
    best, where = 0, (0, 0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > best:
                best, where = x[i, j], (i, j)
    return best, where


@case(lambda count, size: (np.arange(count + 3) % 3 * 2**62, np.zeros(count + 3)))
def overflows_by_kind(x, y):  # type: ignore[no-untyped-def]
    last = 2**61
    for i in range(len(x)):
        y[i] = last * 2.0 + 1
        if x[i] < 0:
            last = x[i]
    return last


@case(lambda count, size: (rng(count).integers(0, 200, count + 4).astype(np.uint8), np.zeros(count + 4)))
def wraps_by_kind(x, y):  # type: ignore[no-untyped-def]
    base = 100
    for i in range(len(x)):
        y[i] = base + 100  # 200 of an int or a uint8; 244 or less where it wraps
        if x[i] > 190:
            base = x[i] - x[i] + np.uint8(100)
        if x[i] < 30:
            base = 50
    return base, type(base)


@case(lambda count, size: (rng(count).random(count + 4), np.zeros(count + 4)))
def there_and_back(x, y):  # type: ignore[no-untyped-def]
    state = 1.5
    for i in range(len(x)):
        if x[i] > 0.75:
            state = x[i]
        elif x[i] < 0.25:
            state = 2.5
        y[i] = state * 2 + 1
        if state < 1.0:
            state = -state


@case(lambda count, size: (rng(count).random(count + 4), 1000))
def keeps_the_object(x, start):  # type: ignore[no-untyped-def]
    best = start
    for i in range(len(x)):
        if x[i] > 0.9:
            best = x[i]
    return best


@case(lambda count, size: (rng(count).random(count + 4) - 0.2, np.zeros(count + 4)))
def chosen_in_the_body(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        part = x[i] if x[i] > 0 else 0
        y[i] = part * 3 + 1 if part != 0 else -part
    return y


@case(lambda count, size: (rng(count).random(count + 4) - 0.2,))
def through_max(x):  # type: ignore[no-untyped-def]
    best = 0
    for i in range(len(x)):
        best = max(best, x[i])
    return best, type(best)


@case(ints)
def in_a_while(x):  # type: ignore[no-untyped-def]
    best, i = 0, 0
    while i < len(x):
        if x[i] > best:
            best = x[i]
        i += 1
    return best, type(best), i


@case(ints)
def left_by_break(x):  # type: ignore[no-untyped-def]
    best = -1
    for i in range(len(x)):
        if x[i] > 7:
            break
        if x[i] > best:
            best = x[i]
    return best, type(best)


# -- what an iteration makes, and a way out of the loop reads ---------------------------------------


@case(floats)
def at_a_side_exit(x):  # type: ignore[no-untyped-def]
    out = 0 * x
    for i in range(len(x)):
        step, count = 1, 0
        while count < 9 and np.abs(step) > 0.125:
            step = step * x[i] * 2
            count += 1
        if count > 8:
            print(step, type(step), i)
        out[i] = step
    return out


@case(floats)
def returned(x):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        value = 7
        if x[i] > 0.0:
            value = x[i] * 2
        if x[i] < -0.45 or i > 30:
            return value, i
    return None


@case(floats)
def broken_off(x):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        value = 7.5
        if x[i] > 0.0:
            value = x[i] * 2
        if x[i] > 0.4:
            break
    else:
        value = -x[0]
    return value, i


@case(floats)
def kept_by_an_earlier_one(x):  # type: ignore[no-untyped-def]
    out = 0 * x
    for i in range(len(x)):
        value = i
        if x[i] > 0.0:
            value = x[i] * 2
        if x[i] > 0.45:
            print(value, type(value))
        out[i] = value
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_kinds(name: str, backend: str) -> None:
    one = CASES[name]
    report = compared(one, backend, calls=2)
    assert report.stats["native_calls"], report.compiled.explain()
    assert {loop.outcome for loop in report.compiled.explain().loops} == {"native"}, report.compiled.explain()
    assert backend == "reference" or machines_of(report.compiled), report.compiled.explain()


def test_what_stood_there_before_is_the_same_object() -> None:
    def find(x, found):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            if x[i] > 0:
                found = x[i]
        return found

    fast = dynamo_lite.compile(find, options=OPTIONS)
    start = 12345678
    for _ in range(3):
        assert fast(-np.ones(5), start) is start
        assert type(fast(np.arange(5.0), start)) is np.float64
    assert fast.stats()["native_calls"] == 6


def test_a_use_behind_the_loop_breaks_the_graph() -> None:
    def scaled(x):  # type: ignore[no-untyped-def]
        best = 0
        for i in range(len(x)):
            if x[i] > best:
                best = x[i]
        return best * 2, x / (best + 1)

    for x in (np.arange(-3, 4), -np.arange(3)):
        require_equal(scaled, copies_of(x), compile=dynamo_lite.compile, compile_options={"options": OPTIONS})


@pytest.mark.parametrize("name", CASES)
def test_kinds_where_the_loop_is_left(name: str) -> None:
    one = CASES[name]
    with loops_left(3):
        report = compared(one, calls=2)
    assert report.stats["native_calls"]


# An int before the loop, and a NumPy scalar after every iteration: one runs before the loop, unless it branches.


def skipped(h: Any, t: Any) -> Any:
    w, best = 0, 0.0
    for i in range(len(h)):
        w += h[i]
        if w == 0:
            continue
        best = best + w * 0.5 + i
    return w, best


def stopped(h: Any, t: Any) -> Any:
    w, k = 0, 0
    for i in range(len(h)):
        w += h[i]
        if w > t:
            break
        k = i
    return w, k


def threshold(h: Any, t: Any) -> Any:
    below, w, best, at = 0, 0, 0.0, 0
    for i in range(len(h)):
        w += h[i]
        if w == 0:
            continue
        rest = t - w
        if rest == 0:
            break
        below += i * h[i]
        v = w * rest * (below / w - (t - below) / rest) ** 2
        if v > best:
            best, at = v, i
    return below, w, best, at


def counted_down(h: Any, t: Any) -> Any:
    total = 0.5
    i = 0
    while i < len(h):
        total = total * h[i]
        if total > t:
            total = total - 1.0
        i += 1
    return total


@pytest.mark.parametrize("function", [skipped, stopped, threshold, counted_down])
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, np.int16])
def test_another_kind_after_every_iteration(function: Any, dtype: Any) -> None:
    h = np.array([0, 0, 3, 1, 0, 5, 2], dtype)
    for n in (7, 3, 1, 0):
        for t in (11, 4, 0):
            require_equal(
                function,
                lambda n=n, t=t: (h[:n].copy(), t),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": OPTIONS},
            )
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast(h, 11)
    assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def test_a_complex_constant_at_first() -> None:
    def mixed(x: Any, b: Any, g: Any, n: int, w: int) -> Any:
        c = 0j
        for i in range(w):
            for _ in range(n):
                c = max(c, x[max(0, i - w) : i + 1 : 2].min())  # which raises of complex numbers
            for j in range(2):
                b[i] = b[j % len(b)] * [1, -1] + [0, 2]
                c = g.integers(9)
        return c, type(c), b

    for n, w in ((2, 2), (0, 2), (0, 0), (1, 1)):
        require_equal(
            mixed,
            lambda n=n, w=w: (np.linspace(-1.0, 1.0, 5), np.ones((3, 2)), np.random.default_rng(3), n, w),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )


def low(i: int, w: int) -> int:
    if w > i:
        return 0
    return i - w


def high(i: int, n: int, w: int) -> int:
    if i + w > n:
        return n
    return i + w


def sums_of_windows(x: Any, n: int, w: int, count: int) -> Any:
    out = np.full(n, 7.0)
    for i in range(n):
        s = 0.0
        for j in range(low(i, w), high(i, n, w)):
            s += x[j]
        out[i] = s
    return out, s, type(s)


def greatest_of_windows(x: Any, n: int, w: int, count: int) -> Any:
    out, before = np.full(n, 7.0), count
    for i in range(n):
        best = x[i]
        for j in range(low(i, w), high(i, n, w)):
            if j == i:
                continue
            if x[j] > best:
                best = x[j]
                count += 1
        out[i] = best
    return out, count, count is before, before


def last_of_windows(x: Any, n: int, w: int, count: int) -> Any:
    last = kept = before = count
    for i in range(n):
        for j in range(low(i, w), high(i, n, w)):
            if x[j] > 0.5:
                kept, last = last, i * 1000 + j
    return last, kept, last is before, kept is before, last is kept


def floats_of_windows(x: Any, n: int, w: int, count: int) -> Any:
    last = before = float(count)
    for i in range(n):
        for j in range(low(i, w), high(i, n, w)):
            last = last * 0.5 + j if x[j] > 0.5 else before
        if x[i] > 0.9:
            before = last
    return last, last is before


@pytest.mark.parametrize("function", [sums_of_windows, greatest_of_windows, last_of_windows, floats_of_windows])
def test_inner_loops_that_may_have_no_iteration(function: Any) -> None:
    """Whether they have one changes from one iteration of the loop around to the next."""
    for n, w in ((9, 3), (9, 1), (9, 0), (1, 0), (1, 2), (5, 7), (2, -1)):
        for scale in (1.0, 0.4):
            require_equal(
                function,
                lambda n=n, w=w, scale=scale: (rng(n).random(9) * scale, n, w, 10**6),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": OPTIONS},
            )
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast(rng(3).random(9), 9, 2, 10**6)
    assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def rho(x: Any, y: Any) -> Any:
    if x <= 0.3 and x >= -0.3:
        return math.exp(-abs(y) / 0.1)
    else:
        return 0


def step(i: int) -> Any:
    if i % 3 == 0:
        return 0.25
    if i % 3 == 1:
        return i
    return 2


def sources(x: Any, y: Any, w: float) -> Any:
    out = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i][j] = (w / 4) * (out[i - 1][j] - w**2 * rho(x[i], y[j])) + (1 - w) * out[i][j]
    return out


def steps(x: Any, y: Any, w: float) -> Any:
    total, place, signs = w, 0, 0
    for i in range(len(x)):
        total += step(i) * w
        y[i] = y[i] / 2 - step(i)
        if step(i) > 1:
            signs += 1
        place += i if i % 2 else 2
        total = total - (1 if x[i] > 0 else 0.5)
        total = total * 0.25 * (step(i) + 1) - (-step(i))
    return total, place, y, signs


@pytest.mark.parametrize("function", [sources, steps])
def test_numbers_of_two_kinds(function: Any) -> None:
    for n in (1, 2, 9):
        require_equal(
            function,
            lambda n=n: (np.linspace(-1.0, 1.0, n), np.linspace(-0.5, 0.75, n), 0.75),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast(np.linspace(-1.0, 1.0, 9), np.linspace(-0.5, 0.75, 9), 0.75)
    assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def at_some_times(x: Any, n: int) -> Any:
    total, count = 0.5, 0
    for t in range(n):
        total += np.sin(t)
        if t in [3, 10, 50]:
            total *= 0.5
        if t not in (1, 2.0, True):
            count += 1
        if t in {4, 8} and x[t % len(x)] in (0.5, 1):
            count += 10
    return total, count


def of_data(x: Any, n: int) -> Any:
    total, count = 0.0, 0
    for value in x:
        if value in (0, 1.0, 2, 3.5):
            count += 1
        total += value
    return total, count


@pytest.mark.parametrize("function", [at_some_times, of_data])
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float32])
def test_one_of_a_few_numbers(function: Any, dtype: Any) -> None:
    for n in (60, 9, 3, 0):
        require_equal(
            function,
            lambda n=n: (np.arange(0, 12, 0.5).astype(dtype), n),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast(np.arange(0, 12, 0.5).astype(dtype), 60)
    if dtype is not np.float32:
        assert {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


class Held:
    def __init__(self) -> None:
        self.total = np.float64(0.5)


TOTAL: Any = 0.5


def in_attribute(held: Any, x: Any, n: int) -> Any:
    for i in range(n):
        held.total = held.total * 0.5 + x
        if i == 5:
            held.total = float(held.total) - 0.25
    return held.total


def in_variable(held: Any, x: Any, n: int) -> Any:
    global TOTAL
    for i in range(n):
        TOTAL = TOTAL * 0.5 + x
        if i == 5:
            TOTAL = float(TOTAL) - 0.25
    return TOTAL


def in_variable_while(held: Any, x: Any, n: int) -> Any:
    global TOTAL
    i = 0
    while i < n:
        TOTAL = TOTAL * 0.5 + x
        if i == 5:
            TOTAL = float(TOTAL) - 0.25
        i += 1
    return TOTAL


@pytest.mark.parametrize("function", [in_attribute, in_variable, in_variable_while])
def test_places_from_outside_hold_numbers_of_two_kinds(function: Any) -> None:
    """Nobody has looked at what was there before, which the first iteration reads: what it is otherwise is carried."""
    for n in (12, 7, 6, 3):
        require_equal(
            function,
            lambda n=n: (Held(), np.float64(0.25), n),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
            conditions=Conditions(reset=lambda: globals().update(TOTAL=np.float64(0.5)), state=lambda: TOTAL),
        )
