"""Compiling ends: what a capture inlines and unrolls has a limit, and the time that compiling takes a budget."""

from __future__ import annotations

import signal
import time
import types
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import budget, means
from dynamo_lite.capture.handlers import control
from dynamo_lite.means import Means
from tests.copies import copies_of
from tests.oracle import require_equal

RNG = np.random.default_rng(3)


def merge_sort(x: Any) -> Any:
    if len(x) <= 1:
        return x
    middle = len(x) // 2
    left, right, out = merge_sort(x[:middle]), merge_sort(x[middle:]), np.empty_like(x)
    i = j = 0
    for k in range(len(x)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def until_it_raises(x: Any) -> Any:
    i = 0
    while True:
        x = x * 0.5 + 1.0
        i += 1
        x[i]


def over_many(x: Any) -> Any:
    for scale in SCALES:
        x = x * scale + 1.0
    return x


SCALES = [np.float32(0.5 + k / 1000) for k in range(400)]  # floats, and float64 scalars, would be no work


def leaf(x: Any) -> Any:
    return x * 0.5 + 1.0


def twice(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def both(x: Any) -> Any:
        return inner(x) + inner(x * 0.25)

    return both


def tree(depth: int) -> Callable[[Any], Any]:
    made: Callable[[Any], Any] = leaf
    for _ in range(depth):
        made = twice(made)
    return made


exec("def straight(x):\n" + "    x = x * 0.5 + 1.0\n" * 300 + "    return x\n")
straight = globals()["straight"]

CASES = {
    "recursion": (merge_sort, RNG.integers(0, 50, 40), "the call of merge_sort by itself"),
    "while True": (until_it_raises, np.ones(1500), "another iteration of the loop"),
    "a list gone through": (over_many, np.ones(50), "another iteration of the loop"),
    "calls in calls": (tree(8), np.ones(50), "the call of "),
    "a long function": (straight, np.ones(50), "the program up to here"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_takes_too_much_work_is_cut(name: str) -> None:
    function, x, detail = CASES[name]
    options = {"cost_model": False, "work_limit": 1000}
    require_equal(function, copies_of(x), compile=dynamo_lite.compile, compile_options={"options": options})
    made = []
    for _ in range(2):
        fast = dynamo_lite.compile(function, options=options)
        for _ in range(3):
            try:
                fast(x)
            except IndexError:
                assert function is until_it_raises
        made.append(fast.explain())
        assert fast.stats()["native_calls"] > 0
    for one in made:
        messages = [record.message for record in one.breaks if record.id == "work-limit"]
        assert any(detail in message for message in messages), one.breaks
    assert [graph.text for graph in made[0].graphs] == [graph.text for graph in made[1].graphs]


def test_what_a_capture_has_found_to_be_too_much_serves_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    raised = []

    def spend(self: budget.Budget, units: int, own: Callable[..., None] = budget.Budget.spend) -> None:
        try:
            own(self, units)
        except budget.OutOfWork:
            raised.append(self)
            raise

    monkeypatch.setattr(budget.Budget, "spend", spend)
    fast = dynamo_lite.compile(merge_sort, options={"work_limit": 5000, "cost_model": False})
    for size in (40, 40, 37, 20, 90):
        x = RNG.integers(0, 50, size)
        assert np.array_equal(fast(x), np.sort(x))
    assert len(raised) == 1
    fast.reset()
    fast(x)
    assert len(raised) == 2


def counts_texts(x: Any, texts: list[str]) -> Any:
    for text in texts:
        x = x * 0.9
        if text == "more":
            x = x + 1.0
    return x


def test_no_segment_goes_on_where_it_began() -> None:
    """What is left of a list is too much work for the very first instruction behind a break: residual code runs it."""
    texts = ["more", "less"] * 60
    fast = dynamo_lite.compile(counts_texts, options={"cost_model": False, "work_limit": 100, "recompile_limit": 200})
    for _ in range(3):
        x = np.ones(5)
        assert ends_within(20, lambda: fast(x, texts)).tobytes() == counts_texts(x, texts).tobytes()  # noqa: B023


def ends_within(seconds: int, call: Callable[[], Any]) -> Any:
    """What `call` gives; TimeoutError if that takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        return call()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def test_time_has_a_budget() -> None:
    x = np.ones(50)
    fast = dynamo_lite.compile(over_many, options={"compile_budget": 1})
    assert np.array_equal(fast(x), over_many(x))
    (skip,) = fast.explain().skips
    assert skip.id == "compile-budget" and "(1 ms of CPU time)" in skip.message
    assert fast.stats()["compiles"] == 0
    free = dynamo_lite.compile(over_many, options={"compile_budget": 0, "cost_model": False})
    assert np.array_equal(free(x), over_many(x)) and free.stats()["native_calls"] == 1


def many_breaks(x: Any) -> Any:
    x = x * 0.5 + 1.0
    print(end="")
    x = x * 2.0 + 1.0
    print(end="")
    x = x * 3.0 + 1.0
    print(end="")
    return x * 4.0 + 1.0


def test_segments_share_the_budget_of_their_function(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]  # a millisecond passes with every unit of work

    def spend(self: budget.Budget, units: int, own: Callable[..., None] = budget.Budget.spend) -> None:
        clock[0] += units * 1e-3
        own(self, max(units, 256))  # and so that it looks at the clock

    for module in (budget, means):
        monkeypatch.setattr(module, "thread_time", lambda: clock[0])
    monkeypatch.setattr(budget.Budget, "spend", spend)
    x = np.ones(20)
    options = {"compile_budget": 0, "cost_model": False, "work_limit": 10**9}
    free = dynamo_lite.compile(many_breaks, options=options)
    assert np.array_equal(free(x), many_breaks(x)) and free.stats()["native_calls"] == 4
    half = dynamo_lite.compile(many_breaks, options=options | {"compile_budget": int(clock[0] * 500)})
    assert np.array_equal(half(x), many_breaks(x))
    assert 0 < half.stats()["native_calls"] < 4
    assert {skip.id for skip in half.explain().skips} == {"compile-budget"}


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, and how much of it each unit of work takes; nothing else takes any."""
    clock = [0.0, 1e-6]

    def spend(self: budget.Budget, units: int, own: Callable[..., None] = budget.Budget.spend) -> None:
        clock[0] += units * clock[1]
        own(self, max(units, 256))

    for module in (budget, means):
        monkeypatch.setattr(module, "thread_time", lambda: clock[0])
    monkeypatch.setattr(budget.Budget, "spend", spend)
    return clock


def calls_until(fast: Callable[..., Any], x: Any, plain: Callable[..., Any], done: Callable[[], bool]) -> None:
    """Call until `done`, for 20 s at most."""
    ends = time.perf_counter() + 20
    while not done():
        assert np.array_equal(fast(x), plain(x))
        assert time.perf_counter() < ends


def test_what_had_no_time_is_compiled_once_it_has_run_for_long(slow_clock: list[float]) -> None:
    x = np.ones(50)
    options = {"compile_budget": 1, "cost_model": False, "work_limit": 10**9}
    fast = dynamo_lite.compile(over_many, options=options)
    began = time.perf_counter()
    calls_until(fast, x, over_many, lambda: fast.stats()["native_calls"] > 0)
    assert slow_clock[0] < 0.001 + 0.3 * (time.perf_counter() - began)  # a share of what the calls took
    assert not fast.explain().skips and fast.stats()["compiles"] == 1
    first = slow_clock[0]
    one = x.astype(np.float32)  # for which there is no time any more
    assert np.array_equal(fast(one), over_many(one))
    assert [skip.id for skip in fast.explain().skips] == ["compile-budget"]
    hits = fast.stats()["native_calls"]
    assert np.array_equal(fast(x), over_many(x)) and fast.stats()["native_calls"] == hits + 1
    calls_until(fast, one, over_many, lambda: fast.stats()["compiles"] == 2)
    assert slow_clock[0] > first and not fast.explain().skips


def test_segments_that_had_no_time_are_compiled_later(slow_clock: list[float]) -> None:
    x = np.ones(20)
    slow_clock[1] = 1e-4
    options = {"compile_budget": 0, "cost_model": False, "work_limit": 10**9}
    dynamo_lite.compile(many_breaks, options=options)(x)
    half = int(slow_clock[0] * 500)  # of the time that all segments take
    slow_clock[:] = 0.0, 1e-4
    fast = dynamo_lite.compile(many_breaks, options=options | {"compile_budget": half})
    assert np.array_equal(fast(x), many_breaks(x)) and fast.stats()["native_calls"] < 4
    assert {skip.id for skip in fast.explain().skips} == {"compile-budget"}
    calls_until(fast, x, many_breaks, lambda: fast.stats()["compiles"] == 4)
    before = fast.stats()["native_calls"]
    fast(x)
    assert fast.stats()["native_calls"] == before + 4 and not fast.explain().skips


def calls_over_many(x: Any) -> Any:
    print(end="")
    return callee_over_many(x)


def callee_over_many(x: Any) -> Any:
    print(end="")
    return over_many(x) + 1.0


def test_callees_that_had_no_time_are_compiled_later(slow_clock: list[float]) -> None:
    x = np.ones(50)
    options = {"compile_budget": 1, "cost_model": False, "work_limit": 10**9}
    fast = dynamo_lite.compile(calls_over_many, options=options)
    fast(x)
    assert "compile-budget" in {skip.id for skip in fast.explain().skips}
    calls_until(fast, x, calls_over_many, lambda: fast.stats()["compiles"] == 4)
    fast.reset()
    fast(x)
    assert "compile-budget" in {skip.id for skip in fast.explain().skips}


def test_code_of_a_whole_program_is_asked_for_again_and_has_twice_the_time() -> None:
    function = types.FunctionType(over_many.__code__.replace(), globals())
    version, given = (function.__code__, 0), []

    def never(*_: Any) -> Any:
        raise AssertionError

    def compile_() -> None:
        began = time.thread_time()
        try:
            while True:
                budget.spend(256)
        finally:
            given.append(time.thread_time() - began)

    means = Means(0.004)
    for _ in range(4):
        with pytest.raises(budget.OutOfTime):
            means.in_time(version, function.__code__, never, compile_)
        means.put_off(version, function, never, runs_watched=True)
    assert len(given) == 4 and given[1] >= 0.009
    assert all(later > 1.6 * earlier for earlier, later in pairwise(given[1:]))


def test_a_long_function_is_one_graph() -> None:
    line = "    z[1:-1, {0}:{0} - 3] += (x[1:-1, {1}:{1} - 3] * {2}.5 - y[:-2, 3:] + y[2:, :-3]) * 1e-3"
    lines = [line.format(k % 2 + 1, (k + 1) % 2 + 1, k) for k in range(170)]
    namespace: dict[str, Any] = {}
    exec("\n".join(["def long(x, y, z):", *lines, "    return z"]), namespace)
    fast = dynamo_lite.compile(namespace["long"])
    one, other = ([RNG.random((30, 30)) for _ in range(3)] for _ in range(2))
    for array, copy in zip(one, other, strict=True):
        copy[...] = array
    assert fast(*one).tobytes() == namespace["long"](*other).tobytes()
    (graph,) = fast.explain().graphs
    assert graph.operations > 2000 and not fast.stats()["breaks"]


def test_a_loop_that_nothing_leaves_and_that_begins_with_a_call() -> None:
    """The null beside the callable is the first that an iteration pushes, where its segment ends."""

    def scaled(x: Any) -> Any:
        while True:
            x = np.multiply(x, 1e50)

    def joined(x: Any) -> Any:
        while True:
            x = np.concatenate((x, x * 1e50))[1:]

    for function in (scaled, joined):
        fast = dynamo_lite.compile(function, options={"check": 1})
        for call in (fast, function):
            with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in multiply"):
                call(np.ones(4))
        assert fast.stats()["native_calls"] > 1


def walks(count: int, rng: np.random.Generator) -> Any:
    ends = []
    for _ in range(count):
        place, seen = (0, 0), []
        for step in range(100):
            if rng.random() < 0.5:
                place = (place[0] + 1, place[1])
            elif step > 0:
                place = (place[0], place[1] - 1)
            if step % 10 == 0:
                seen.insert(len(seen), place)  # which no native loop does
        ends.append(np.array([x * x + y * y for x, y in seen]))
    return ends


def test_an_inner_loop_that_would_read_too_many_numbers_is_written_out_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent: list[int] = []
    usual = budget.Budget.spend
    monkeypatch.setattr(budget.Budget, "spend", lambda self, units: (spent.append(units), usual(self, units))[1])

    def work() -> int:
        spent.clear()
        require_equal(walks, lambda: (5, np.random.default_rng(3)), compile=dynamo_lite.compile)
        return sum(spent)

    foreseeing = work()
    monkeypatch.setattr(control, "_SEEN", 1000)
    assert foreseeing < 0.75 * work()


def over_a_range(x: Any) -> Any:
    for i in range(1600):
        x = x * 0.5 + i
    return x


def over_a_short_range(x: Any) -> Any:
    for i in range(300):
        x = x * 0.5 + i
    return x


def left_soon(x: Any) -> Any:
    for i in range(1600):
        x = x * 0.5 + i
        if i == 200:
            break
    return x


@pytest.mark.parametrize(
    ("fn", "iterations"), [(over_a_range, range(1, 40)), (over_a_short_range, [300]), (left_soon, [200])]
)
def test_a_loop_that_would_take_too_much_is_given_up_after_a_few_iterations(
    fn: Callable[..., Any], iterations: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes to unroll it is known by its range, unless it may be left before."""
    rounds: list[None] = []
    repeat = budget.repeat
    monkeypatch.setattr(budget, "repeat", lambda *given: (rounds.append(None), repeat(*given)))
    fast = dynamo_lite.compile(fn, options={"cost_model": False, "native_loops": False})
    x = np.ones(5)
    assert np.array_equal(fast(x), fn(x))
    assert len(rounds) in iterations
