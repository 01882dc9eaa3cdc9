"""How often capture begins again: what a loop changes is guessed before, and a break found is a break kept."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture import trace
from tests.oracle import require_equal

Array = Any


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The Tracers of all captures, one for each attempt."""
    made: list[object] = []
    original = trace.Tracer.__init__

    def note(self: trace.Tracer, *args: Any, **kwargs: Any) -> None:
        made.append(None)
        original(self, *args, **kwargs)

    monkeypatch.setattr(trace.Tracer, "__init__", note)
    yield made


def call(fn: Callable[..., Any], *args: Any) -> Any:
    """Call `fn` compiled and plainly, which has to be the same; what was compiled, explained."""
    options = {"options": {"cost_model": False, "check": 1}}
    report = require_equal(fn, lambda: copy.deepcopy(args), compile=dynamo_lite.compile, compile_options=options)
    return report.compiled.explain()


def a_nest(a: Array, n: int) -> Any:
    k, last, total = 0, 0, 1.5
    for i in range(n):
        for j in range(n):
            for m in range(1, n):
                if a[i, j] > a[j, m]:
                    k += 1
                    last = i * j
                    total = total * 0.5 + k
                else:
                    a[i, m] = 0.5 * a[m, j]
    return k, last, total


def newton(a: Array, tol: float) -> Array:
    out = np.zeros(len(a))
    for i in range(len(a)):
        x, k = 1.0, 0
        while abs(x * x - a[i]) > tol and k < 50:
            x = x - (x * x - a[i]) / (2.0 * x)
            k += 1
        out[i] = x + k
    return out


def either_in_a_nest(a: Array, n: int) -> Any:
    s = 0.0
    for i in range(n):
        for j in range(n):
            if a[i, j] > 0.6:
                s += a[i, j]
            elif a[i, j] < 0.1:
                s = s * 0.5
    return s


def a_nest_over_globals(a: Array, n: int) -> Any:
    global row, column, depth, total, last
    total = 1.5
    for row in range(n):
        for column in range(n):
            last = a[row, column] * 2.0
            for depth in range(1, n):
                if a[row, column] > a[column, depth]:
                    total = total * 0.5 + last
                else:
                    a[row, depth] = 0.5 * a[depth, column]
    return row, column, depth, total, last


def globals_that_no_iteration_stores_to(a: Array, n: int) -> Any:
    global seen, rare, row
    seen, rare = 0, "none"
    for row in range(n):
        if n < 0:
            rare = row
        seen = seen + 1
        a[row] *= seen
    return seen, rare, row


def steps_of_either_kind(a: Array, end: float) -> Any:
    t, shown = 0.0, 1
    while t < end:
        dt = 0.1 * np.min(a)
        now = False
        if t + dt > shown * 0.3:
            dt = shown * 0.3 - t
            now = True
        a = a * (1.0 - 0.1 * dt)
        t += dt
        if now or t >= end:
            print(t)
            shown += 1
    return a, t


def best_place(a: Array, n: int) -> Any:
    best, where = 0, (0, 0)
    for i in range(1, n):
        for j in range(1, n):
            if a[i, j] * a[i - 1, j] > best:
                best, where = a[i, j] * a[i - 1, j], (i, j)
    return best, where


def sums_that_begin_as_ints(a: Array, n: int) -> Any:
    total, largest, t, k = 0, 0, 0, 0
    for i in range(n):
        total = total + np.sqrt(a[i]) * 2
        largest = largest + a[i] / 2
    while t < 1:
        t += a.min() / 2 + 0.1
        k += 1
    return total, largest, t, k


def anomaly(mean: float, e: float) -> Any:
    at, error = mean - e, 100.0
    while error > 1e-12:
        after = at - (mean - at + e * np.sin(at)) / (-1 + e * np.cos(at))
        if after == 0:
            return after
        error, at = np.fabs((after - at) * 100 / after), after
    return after


def orbit(a: Array, n: int) -> Any:
    times, angle, k = [a[0].item()], 0.1, 0
    while times[k] < n:
        angle = angle + 0.01 * np.sin(anomaly(times[k], 0.3))
        times.append(times[k] + 0.25)
        k += 1
    return angle, times


def an_item_that_is_an_int(a: Array, n: int) -> Any:
    last, far = 0, 0
    for i in range(n):
        last = a.item(i)
        far = far + math.floor(last * 1.5)
    return last, far


def prints_seldom(a: Array, n: int) -> Any:
    for i in range(n):
        a = a * 0.5 + 0.1
        if i % 20 == 0:
            total = np.sum(a**2)
            print(f"{i} {total:.3f}")
    return a


def prints_and_ends(a: Array, n: int) -> Any:
    for i in range(n):
        a = a * 0.9 + 0.01
        if a[0] < 0.3:
            print("done after", i)
            break
    return a


def escapes_then_prints(a: Array, n: int) -> Array:
    rounds = np.zeros((n, n))
    for i, y in enumerate(np.linspace(-2, 2, n)):
        for j, x in enumerate(a):
            c, z = x + y * 1j, 0
            for k in range(30):
                z = z * z + c  # complex from its second iteration on
                if np.abs(z) > 2:
                    rounds[i, j] = k
                    break
            else:
                rounds[i, j] = 30
    print(rounds.sum())
    return rounds


class Chain:
    """A hidden Markov model as textbooks write it down: sums that begin as ints, of attributes and calls."""

    def __init__(self, seed: int, states: int, length: int) -> None:
        rng = np.random.default_rng(seed)
        self.states, self.length = states, length
        self.moves, self.before, self.behind = rng.random((states, states)), rng.random((length, states)), None
        self.behind = self.before * 0.5

    def share(self, i: int, t: int) -> Any:
        whole = 0
        for j in range(self.states):
            whole += self.before[t][j] * self.behind[t][j]
        return self.before[t][i] * self.behind[t][i] / whole

    def pair(self, i: int, j: int, t: int) -> Any:
        whole = 0
        for k in range(self.states):
            for m in range(self.states):
                whole += self.before[t][k] * self.moves[k][m] * self.behind[t + 1][m]
        return self.before[t][i] * self.moves[i][j] * self.behind[t + 1][j] / whole


def learns(chain: Chain) -> Array:
    found = np.zeros((chain.states, chain.states))
    for i in range(chain.states):
        for j in range(chain.states):
            above, below = 0.0, 0
            for t in range(chain.length - 1):
                above += chain.pair(i, j, t)
                below += chain.share(i, t)
            found[i][j] = above / below
    return found


def sums_of_lists_and_calls(rows: list[list[Any]], a: Array) -> Any:
    def of(x: Any) -> Any:
        return x * 0.5

    total, least = 0, 0
    for row in rows:
        for k in range(len(row)):
            total += row[k]
    for i in range(a.shape[0]):
        least = least + of(a[i])
    return total, least


@pytest.mark.parametrize(
    ("fn", "args", "most"),
    [
        (learns, (Chain(1, 5, 12),), 2),
        (sums_of_lists_and_calls, ([[1.5, 2.5, 3.0] * 4] * 12, np.arange(12.0)), 5),
        (sums_that_begin_as_ints, (np.random.default_rng(7).random(12), 12), 2),
        (orbit, (np.zeros(3), 12), 8),
        (an_item_that_is_an_int, (np.arange(12), 12), 3),
        (an_item_that_is_an_int, (np.arange(12) / 7, 12), 3),
        (a_nest, (np.random.default_rng(1).random((12, 12)), 12), 1),
        (newton, (np.random.default_rng(2).random(20) + 1, 1e-9), 2),
        (either_in_a_nest, (np.random.default_rng(3).random((12, 12)), 12), 2),
        (a_nest_over_globals, (np.random.default_rng(4).random((12, 12)), 12), 3),
        (best_place, (np.random.default_rng(6).integers(0, 9, (12, 12)), 12), 4),
        (best_place, (np.zeros((3, 3), dtype=np.int64), 3), 4),
        (escapes_then_prints, (np.linspace(-2, 2, 12), 12), 4),
        (globals_that_no_iteration_stores_to, (np.random.default_rng(5).random((12, 12)), 12), 2),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_few_attempts(fn: Callable[..., Any], args: tuple[Any, ...], most: int, attempts: list[object]) -> None:
    explanation = call(fn, *args)
    assert [loop.outcome for loop in explanation.loops] == ["native"] * len(explanation.loops)
    assert len(attempts) <= most


@pytest.mark.parametrize(("fn", "most"), [(prints_seldom, 7), (prints_and_ends, 4)])
def test_a_print_in_a_loop_is_seen_ahead(fn: Callable[..., Any], most: int, attempts: list[object]) -> None:
    explanation = call(fn, np.random.default_rng(8).random(12) + 1, 40)
    assert "native" in [loop.outcome for loop in explanation.loops]
    assert len(attempts) <= most


def test_what_is_of_either_kind_is_learned_where_the_iteration_is_left(attempts: list[object]) -> None:
    explanation = call(steps_of_either_kind, np.random.default_rng(6).random(12) + 0.5, 2.0)
    assert [loop.outcome for loop in explanation.loops] == ["native"] * len(explanation.loops)
    assert len(attempts) <= len(explanation.compiles) + 3


def other_ways_to_count(x: Array, n: int) -> Any:
    k, down, still, same = 0, 100, 7, 3
    for i in range(n):
        k = 1 + k
        down = down - 2 * 1
        still = still + 0
        same = same
        x[i % 8] += k + down + still + same
    return k, down, still, same


def counts_and_prints(x: Array, n: int) -> int:
    k = 0
    for i in range(n):
        k = 1 + k
        x[i % 8] += k
        if k % 50 == 0:
            print("at", k)
    return k


def counts_twice(x: Array, n: int) -> tuple[int, int]:
    k, m = 0, 0
    for i in range(n):
        k += 1
        if x[i % 8] > 0.5:
            m += 1
        m += 1
        k += 2
        x[i % 8] = x[i % 8] * 0.9 + m * 1e-3
    return k, m


def holds_the_last(x: Array, n: int) -> Any:
    last, low = -1, 7.5
    for i in range(n):
        last = i * i
        low = x[0] if last < 0 else 2.5
        if n > 1000:
            low = 3.5
        x[i % 8] += last
    return last, low


def flags(x: Array, n: int) -> Any:
    first, seen = True, False
    best = 0
    for i in range(n):
        if first:
            best = x[i % 8]
            first = False
        elif x[i % 8] > best:
            best = x[i % 8]
            seen = True
    return best, first, seen


def numbers_in_a_tuple(x: Array, n: int) -> Any:
    pair = (0, 1.0)
    for i in range(n):
        pair = (pair[0] + 2, pair[1] * 0.5 + x[i % 8])
    return pair


def lists_of_numbers(x: Array, n: int) -> Any:
    out, k = [], 0
    for i in range(n):
        k += 3
        if x[i % 8] > 0.3:
            k += 1
        out.append(k)
    return out, k


@pytest.mark.parametrize(
    "fn",
    [other_ways_to_count, counts_and_prints, counts_twice, holds_the_last, flags, numbers_in_a_tuple, lists_of_numbers],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.parametrize("n", [0, 1, 2, 9, 120])
def test_wrong_guesses_change_nothing(fn: Callable[..., Any], n: int) -> None:
    call(fn, np.random.default_rng(4).random(8), n)


def breaks_at_a_branch(x: Array) -> Any:
    y = x * 2 + 1
    if y.sum() > 3:
        y = y - 1
    return y * x


def breaks_at_a_print(x: Array) -> Any:
    y = x * 2 + 1
    print("between", x.shape[0])
    return y * x


@pytest.mark.parametrize("fn", [breaks_at_a_branch, breaks_at_a_print], ids=lambda fn: fn.__name__)
def test_a_break_that_has_touched_nothing_is_captured_once(fn: Callable[..., Any], attempts: list[object]) -> None:
    fast = dynamo_lite.compile(fn, options={"cost_model": False})
    x = np.arange(3000.0)
    np.testing.assert_array_equal(fast(x), fn(x))
    explanation = fast.explain()
    assert len(explanation.breaks) == 1
    assert len(attempts) == len(explanation.compiles) == 2


def test_variables_with_arrays_are_carried(attempts: list[object]) -> None:
    """Variables of the module that hold arrays before a loop, and others after each iteration: no iteration runs before
    the loop, which would have everything in it compiled twice."""
    script = """
u, c, last, x = np.ones(8), np.zeros(8), np.float64(0.0), np.linspace(0.0, 1.0, 8)
def work(n):
    global u, c, last
    for j in range(n):
        c = np.sqrt(u) * 0.5
        for i in range(1, 8):
            u[i] += c[i] - c[i - 1] * x[i]
            last = u[i] * 2.0
        u = u * 0.9 + 0.1
"""
    plain: dict[str, Any] = {"np": np}
    compiled: dict[str, Any] = {"np": np}
    for names in (plain, compiled):
        exec(script, names)
    plain["work"](9)
    fast = dynamo_lite.compile(compiled["work"], options={"cost_model": False, "check": 1})
    fast(9)
    for name in ("u", "c", "last"):
        assert type(compiled[name]) is type(plain[name])
        assert compiled[name].tobytes() == plain[name].tobytes()
    assert len(attempts) <= 4
    assert str(fast.graph_for(9)).count("sqrt(") == 1


def raises_behind_a_choice(x: Array, y: Array) -> Any:
    scale = max(1, x.sum())
    return scale, x + y


def test_the_way_to_an_exception_is_captured_as_before() -> None:
    options = {"options": {"cost_model": False, "check": 1}}
    report = require_equal(
        raises_behind_a_choice,
        lambda: (np.arange(3.0), np.arange(4.0)),
        variants=[lambda: (np.arange(3.0), np.arange(3.0))],
        compile=dynamo_lite.compile,
        compile_options=options,
    )
    assert report.raised.count("ValueError") == 4


WORDS = ("a", "bc", "def") * 80


def much_before(x: Array, n: int) -> Any:
    """A lot of operations, and behind them a loop that takes several attempts, and is none in the end."""
    for word in WORDS:
        x = np.sqrt(x * len(word) + 1.0) - 0.5
    found: list[Any] = []
    best, total = 0, 0
    for i in range(n):
        y = x[i % 4] * 2.0
        if y > best:
            best = y
        found.append(str(y))
        total = total + len(found[i // 2])
    return best, total


def test_what_stands_before_a_loop_is_not_captured_with_each_attempt_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[int] = []
    original = trace.Machine.run_root

    def run_root(self: Any, *args: Any) -> Any:
        try:
            return original(self, *args)
        finally:
            traced.append(len(self.tracer.root.nodes))

    monkeypatch.setattr(trace.Machine, "run_root", run_root)
    call(much_before, np.linspace(0.0, 1.0, 4), 30)
    long = [nodes for nodes in traced if nodes > 700]
    assert 1 <= len(long) <= 3
    assert len(traced) >= len(long) + 4


class Described(np.float64):
    """A number that prints when somebody asks what it is."""

    @property
    def dtype(self) -> Any:
        print("dtype")
        return np.dtype("f8")


class Holder:
    def __init__(self) -> None:
        self.number, self.items = Described(1.5), [2.0]
        self.items.append(self.items)  # type: ignore[arg-type]
        self.nested: list[Any] = []
        self.nested.append(self.nested)


def sums_of_a_holder(holder: Holder, x: Array, n: int) -> Any:
    total, first, depth = 0, 0, 0
    around: list[Any] = []
    around.append(around)
    for i in range(n):
        total = total + holder.number
        first = first + holder.items[0]
        depth = depth + (holder.nested[0] is around[0])
        x[i] += 1.0
    return total, first, depth


def test_no_code_of_the_users_runs_to_foresee_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    """And a list that holds itself has an end."""
    plain = sums_of_a_holder(Holder(), np.ones(9), 7)
    printed = capsys.readouterr().out
    fast = dynamo_lite.compile(sums_of_a_holder, options={"cost_model": False, "check": 1})
    for _ in range(3):
        assert fast(Holder(), np.ones(9), 7) == plain
        assert capsys.readouterr().out == printed


def test_a_while_all_of_whose_rounds_ran_before_it_is_no_loop_to_report() -> None:
    def first_is_another_kind(n: int, x: Any) -> Any:
        t, i = 0.0, 0
        while i < n:
            t = t + x[i]
            i += 1
        return t

    found = dynamo_lite.explain(first_is_another_kind)(1, np.ones(5))
    assert not found.loops and "Loops" not in str(found)
