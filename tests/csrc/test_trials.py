"""Calls that are timed: what loses rests, what gains stays, each call runs once (csrc/watch/trials.c,
policy.Thresholds)."""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C, policy
from tests.csrc.hook import nothing, under_hook

SLOW, QUICK = 2e-3, 1e-4


@pytest.fixture(autouse=True)
def limits(no_clock: None) -> Iterator[None]:
    _C.set_limits(replace(policy.THRESHOLDS, first_rest=20, longest_rest=80))
    yield
    _C.set_limits(policy.THRESHOLDS)


def busy(seconds: float) -> None:
    ends = time.thread_time() + seconds  # so that a busy machine changes nothing
    while time.thread_time() < ends:
        pass


def callee_of(function: Callable[[], str], n: int) -> Callable[[], list[str]]:
    return lambda: [function() for _ in range(n)]


Seconds = float | dict[str, float]


def made(
    plain: Seconds,
    compiled: Seconds,
    log: list[str],
    judged: bool = True,
    first: float | None = None,
    fails: type[Exception] | None = None,
) -> Any:
    """A function that takes `plain` seconds, its first plain call `first`, and `compiled` in two segments by hand.

    A dict tells how long by "plain" and "compiled", and may be changed meanwhile. fails: what it raises at its end."""

    def now(seconds: Seconds, how: str) -> float:
        return seconds[how] if isinstance(seconds, dict) else seconds

    def fn(x: Any) -> str:
        log.append("plain")
        busy(now(plain, "plain") if first is None or log.count("plain") > 1 else first)
        return end()

    def end() -> str:
        if fails is not None:
            raise fails
        return "value"

    def resume(x: Any) -> str:
        raise AssertionError("runs compiled")

    def rest(x: Any) -> str:
        log.append("compiled")
        busy(now(compiled, "compiled"))
        return end()

    def no_entry(func: types.FunctionType, slots: tuple[Any, ...]) -> None:
        return None

    _C.clear(fn), _C.clear(resume)
    entry = _C.CacheEntry(None, None, _C.Jump(resume))
    entry.judged = judged
    _C.add_entry(fn, entry)
    _C.add_entry(resume, _C.CacheEntry(None, None, rest))
    return _C.CompiledFunction(fn, no_entry, "fn")


def test_what_loses_rests_and_is_tried_again() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log)
    for n in range(1, 61):
        assert fast(1) == "value"
        assert len(log) == n, "each call runs once"
    ((plain, _, compiled, _, stays_plain),) = _C.trials(fast.fn, fast.on_miss)
    assert compiled > 1e-3 > plain and stays_plain
    tries = log.count("compiled")
    assert tries < 25
    for _ in range(200):
        fast(1)
    assert tries < log.count("compiled") < tries + 25
    assert _C.counters(fast.fn)["plain_calls"] == log.count("plain")


def test_what_loses_before_it_raises_rests_as_well() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log, fails=ValueError)
    for _ in range(60 + policy.THRESHOLDS.unsettled_calls):
        with pytest.raises(ValueError):
            fast(1)
    ((plain, _, compiled, _, stays_plain),) = _C.trials(fast.fn, fast.on_miss)
    assert compiled > 1e-3 > plain and stays_plain
    assert log.count("compiled") < 25 + policy.THRESHOLDS.unsettled_calls


def broken_off_in_each_call(x: Any, n: int) -> list[float]:
    out: list[float] = []
    for i in range(n):
        try:
            if i % 7 == 3:
                raise ValueError(i)
            out.append(1 / (i % 5))
        except ZeroDivisionError:
            out.append(-1.0)
        except ValueError:
            out.append(-2.0)
        finally:
            x[i % len(x)] += 1
    return out


def test_calls_in_each_of_which_something_is_asked_count_in_the_end() -> None:
    x = np.zeros(60)
    fast = dynamo_lite.compile(broken_off_in_each_call)
    for _ in range(3 * policy.THRESHOLDS.unsettled_calls):
        fast(x, 50)
    compilation = fast._compilation  # type: ignore[attr-defined]
    rows = _C.trials(broken_off_in_each_call.__code__, compilation.on_miss)
    assert all(compiled > 0.0 for _, _, compiled, _, _ in rows)
    assert rows


def test_what_gains_stays_and_one_plain_call_tells_at_first() -> None:
    log: list[str] = []
    fast = made(SLOW, QUICK, log)
    for _ in range(15):
        assert fast(1) == "value"
    assert log.count("plain") == 1
    for _ in range(600):
        assert fast(1) == "value"
    # One more, once what compiled calls have taken since the third is twenty times as long.
    assert log.count("plain") == policy.THRESHOLDS.tried_plain + 1
    ((plain, _, compiled, _, stays_plain),) = _C.trials(fast.fn, fast.on_miss)
    assert plain > 1e-3 > compiled and not stays_plain


def test_a_gain_of_calls_that_had_more_to_do_does_not_count_for_later_ones() -> None:
    log: list[str] = []
    work = {"plain": SLOW, "compiled": 2 * QUICK}
    fast = made(work, work, log)
    for _ in range(150):
        fast(1)
    work.update(plain=QUICK / 4, compiled=QUICK / 2)
    for _ in range(1500):
        fast(1)
    assert log[-300:].count("plain") > 150


def test_one_plain_call_that_took_long_does_not_decide_for_good() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log, first=20 * SLOW)
    for _ in range(12):
        fast(1)
    assert log.count("plain") == 1
    for _ in range(100):
        fast(1)
    ((_, _, _, _, stays_plain),) = _C.trials(fast.fn, fast.on_miss)
    assert stays_plain


@pytest.mark.skipif(_C.hook_refusal() is not None, reason=str(_C.hook_refusal()))
def test_a_callee_for_which_nothing_compiled_runs_is_judged_as_well(leave_no_hook: None) -> None:
    def callee() -> str:
        return "plain"

    _C.clear(callee)
    entry = _C.CacheEntry(None, None, lambda: "compiled")
    entry.judged = True
    _C.add_entry(callee, entry)
    assert under_hook(callee_of(callee, 1)) == ["compiled"]
    entry.retire("a test")
    assert under_hook(callee_of(callee, 100)) == ["plain"] * 100
    ((plain, _, compiled, n_compiled, _),) = _C.trials(callee, nothing)
    assert plain > 0 and compiled > 0, "both were timed"
    assert n_compiled < 100


def test_sizes_are_told_apart() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log)
    for _ in range(40):
        fast(np.zeros(10))
    log.clear()
    fast(np.zeros(10)), fast(np.zeros(100_000))
    assert log == ["plain", "compiled"]


@pytest.mark.parametrize("other", [1, 4**7, 4**10])
def test_all_sizes_are_told_apart(other: int) -> None:
    log: list[str] = []
    seconds = {"plain": QUICK, "compiled": SLOW}
    fast = made(seconds, seconds, log)
    for _ in range(40):
        fast(np.zeros(other))
    seconds["plain"], seconds["compiled"] = SLOW, QUICK
    log.clear()
    for _ in range(40):
        fast(np.zeros(100))
    assert log.count("plain") < 5


@pytest.mark.parametrize("many, few", [([0.5] * 30, [0.5] * 3), ((1,) * 30, (1, 1)), (10_000, 10), (1 << 70, 100)])
def test_lists_and_numbers_of_iterations_are_told_apart(many: Any, few: Any) -> None:
    log: list[str] = []
    seconds = {"plain": QUICK, "compiled": SLOW}
    fast = made(seconds, seconds, log)
    for _ in range(40):
        fast(many)
    seconds["plain"], seconds["compiled"] = SLOW, QUICK
    log.clear()
    for _ in range(40):
        fast(few)
    assert log.count("plain") < 5


def test_of_very_many_sizes_the_latest_count() -> None:
    log: list[str] = []
    fast = made(QUICK / 10, QUICK, log)
    for _ in range(3):
        for power in range(20):
            fast(np.zeros(2**power, np.int8))
    rows = _C.trials(fast.fn, fast.on_miss)
    assert 0 < len(rows) < 20


@pytest.mark.parametrize("size", [1, 10, 40_000, 65_536])
def test_calls_without_arrays_are_told_from_those_with_some(size: int) -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log)
    for _ in range(40):
        fast(np.zeros(size))
    log.clear()
    fast(np.zeros(size)), fast(1)
    assert log == ["plain", "compiled"]


def test_a_call_that_fails_or_asks_is_not_timed() -> None:
    log: list[str] = []
    fast = made(QUICK, QUICK, log)
    fast(1)
    for _ in range(5):
        with pytest.raises(TypeError):
            fast()
    rows = _C.trials(fast.fn, fast.on_miss)
    assert not any(compiled for _, _, compiled, _, _ in rows)


def test_nothing_is_timed_unasked() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW / 4, log, judged=False)
    for _ in range(50):
        fast(1)
    assert log == ["compiled"] * 50
    assert _C.trials(fast.fn, fast.on_miss) == []


def test_clearing_forgets_the_times() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log)
    for _ in range(30):
        fast(1)
    assert _C.trials(fast.fn, fast.on_miss)
    _C.clear(fast.fn, fast.on_miss)
    assert _C.trials(fast.fn, fast.on_miss) == []


def test_the_random_state_and_what_is_written_are_plain_pythons() -> None:
    def step(x: Any, seen: list[float]) -> Any:
        x += np.random.rand(4)
        seen.append(float(x.sum()))
        print(end="")
        for _ in range(3):
            seen.append(sorted(x.tolist())[0])
            print(end="")
        return x * 2.0

    def history(call: Callable[..., Any]) -> tuple[bytes, list[float], Any]:
        np.random.seed(3)
        x, seen = np.zeros(4), list[float]()
        for _ in range(60):
            last = call(x, seen)
        return last.tobytes(), seen, np.random.get_state()[1].tobytes()  # type: ignore[union-attr]

    assert history(dynamo_lite.compile(step)) == history(step)


def test_explain_shows_both_times() -> None:
    def step(x: Any) -> Any:
        total = 0.0
        for i in range(30):
            print(end="")
            total += float(x[i])
        return total

    fast, x = dynamo_lite.compile(step), np.ones(30)
    for _ in range(200):
        assert fast(x) == 30.0
    found = fast.explain()
    for record in found.trials:
        assert "compiled: runs" in str(found) and record.plain > 0 and record.compiled > 0
    assert fast.stats()["resting"] == sum(record.stays_plain for record in found.trials)


def test_straight_code_waits_until_it_has_taken_time(no_mode: None) -> None:
    def helper(x: Any) -> Any:
        return np.sin(x) * 2.0 + np.cos(x) * x - 1.0

    def work(x: Any) -> Any:
        y = x * 2.0 + 1.0
        print(end="")
        return eval("helper", {"helper": helper})(y)

    x = np.linspace(0.0, 1.0, 5000)
    for least, most in ((0.0, 0), (1e3, 1)):
        _C.set_limits(replace(policy.THRESHOLDS, hot_callee=least, tried_compiled=1e9, tried_time=1e9))
        fast = dynamo_lite.compile(work)
        for _ in range(3):
            assert np.array_equal(fast(x), work(x))
        assert (len(_C.entries(helper)) == 0) == bool(most)
        _C.clear(helper)


def test_one_program_is_timed_where_that_is_asked_for() -> None:
    log: list[str] = []
    fast = made(QUICK, SLOW, log, judged=False)
    _C.time_calls(fast.fn, fast.on_miss)
    for n in range(1, 61):
        assert fast(1) == "value"
        assert len(log) == n, "each call runs once"
    ((_, _, _, _, stays_plain),) = _C.trials(fast.fn, fast.on_miss)
    assert stays_plain


@pytest.mark.parametrize("doubts", [True, False])
def test_a_long_call_that_programs_take_is_run_plainly_only_where_there_is_doubt(doubts: bool, no_mode: None) -> None:
    def simulate(n: int) -> Any:
        x = np.linspace(0.0, 1.0, 100_000)
        for i in range(n):
            x = ((x * 0.5 + 0.25) * x * 0.125 + x) * 0.5 + 0.1
            if i % 100 == 99:
                print(end="")
        return x

    fast = dynamo_lite.compile(simulate)
    fast(3000)
    _C.time_calls(simulate, fast.on_miss, doubts)
    for _ in range(6):
        fast(3000)
    ((_, n_plain, compiled, n_compiled, _),) = _C.trials(simulate, fast.on_miss)
    assert compiled > policy.THRESHOLDS.tried_time
    assert n_plain + n_compiled == 6
    assert bool(n_plain) == doubts
    _C.clear(simulate)


@pytest.mark.parametrize("doubtful", [1e9, 0.0])
def test_what_is_expected_to_gain_little_is_timed(
    doubtful: float, no_mode: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many times as fast is little is one number, which is moved here to either side of what is expected."""
    monkeypatch.setattr("dynamo_lite.schedule.doubts.DOUBTFUL", doubtful)

    def horner(x: Any) -> Any:
        return (((x * 2.0 + 1.0) * x - 0.5) * x + 3.0) * x - x * x

    x = np.ones(300)
    fast = dynamo_lite.compile(horner)
    for _ in range(40):
        assert fast(x).tobytes() == horner(x).tobytes()
    assert fast.stats()["native_calls"]
    assert bool(fast.explain().trials) == bool(doubtful)


@pytest.mark.parametrize("brief", [1e9, 0.0])
def test_a_brief_program_with_a_loop_is_timed(brief: float, no_mode: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another call the loop may have too few iterations."""
    monkeypatch.setattr("dynamo_lite.schedule.doubts.DOUBTFUL", 0.0)
    monkeypatch.setattr("dynamo_lite.schedule.doubts.BRIEF", brief)

    def area(points: list[tuple[float, float]]) -> float:
        k, total = 1, 0.0
        while k < len(points) and points[k][0] > points[k - 1][0]:
            total += (points[k][0] - points[k - 1][0]) * points[k][1]
            k += 1
        return total

    fast = dynamo_lite.compile(area)
    for count in (3, 300):
        points = [(float(k), 0.5 * k) for k in range(count)]
        for _ in range(200):
            assert fast(points) == area(points)
    assert fast.stats()["native_calls"]
    assert bool(fast.explain().trials) == bool(brief)


def test_a_program_of_many_inputs_is_timed(no_mode: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the guards of many items take no estimate knows."""
    monkeypatch.setattr("dynamo_lite.schedule.doubts.DOUBTFUL", 0.0)

    def scattered(x: Any, places: tuple[Any, ...]) -> Any:
        for place in places:
            x[place] = x[place] * 0.5 + 1.0
        return x

    x = np.ones(300)
    for count in (5, 60):
        places = tuple(map(np.int32, range(count)))  # each a guard of its own
        fast = dynamo_lite.compile(scattered)
        for _ in range(200):
            assert fast(x.copy(), places).tobytes() == scattered(x.copy(), places).tobytes()
        assert bool(fast.explain().trials) == (count == 60)


def test_of_brief_calls_one_plain_one_that_took_long_decides_nothing() -> None:
    _C.set_limits(replace(policy.THRESHOLDS, brief_call=10 * SLOW))  # far beyond what a busy machine adds to it
    log: list[str] = []
    fast = made(QUICK / 5, QUICK / 3, log, first=QUICK * 0.8)
    for _ in range(12):
        fast(1)
    assert log.count("plain") == 2


def test_a_plain_call_that_did_more_than_plain_ones_do_decides_nothing() -> None:
    class Now(dict[str, float]):
        """The first plain call that is timed once more takes long."""

        def __getitem__(self, how: str) -> float:
            return 20 * SLOW if log[-2:] == ["compiled", how] and 30 < len(log) < 45 else 20 * QUICK

    log: list[str] = []
    fast = made(Now(), 80 * QUICK, log)  # NB: calls are timed by a clock that goes on while other processes run
    for _ in range(60):
        fast(1)
    assert log[40:].count("compiled") < 12
