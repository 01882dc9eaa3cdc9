"""What compiling may cost under `run`: an attempt counts while it is under way, is given up beyond what is there, and
goes on only as long as something is saved."""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite import budget, policy
from dynamo_lite.dataclass import replace
from dynamo_lite.pycode import decode, loops
from dynamo_lite.watch.watching import Watch
from tests import watched


def spin(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() < began + seconds:
        pass


def note_rounds(watch: Watch, function: types.FunctionType, rounds: Any) -> None:
    """Let all of the time of a function's loops be known as that of `rounds`."""
    code = decode(function.__code__)
    for loop in loops(code):
        header = code.instrs[loop.header]
        watch.rounds[code.filename, code.qualname, header.op, header.position] = rounds


def test_time_of_a_block_under_way_counts() -> None:
    before = budget.taken()
    with budget.timed():
        spin(0.02)
        assert budget.taken() - before >= 0.02
    assert budget.taken() - before >= 0.02


def test_an_attempt_within_a_question_is_what_the_next_one_is_expected_to_take() -> None:
    spent = policy.Budget(policy.Thresholds(budget_base=0.5, budget_share=0.0))
    with budget.timed():
        with spent.attempt():
            spin(0.3)
        assert not spent.allows()
    assert not spent.allows() and spent.allows(saved=10.0)


def test_an_attempt_is_given_up_beyond_what_is_there() -> None:
    limits = policy.Thresholds(budget_base=0.05, budget_share=0.0, attempt_over=2.0, attempt_least=0.0)
    spent, began = policy.Budget(limits), time.thread_time()
    with pytest.raises(budget.OutOfTime), spent.attempt(), budget.seconds(60.0):
        while True:
            budget.spend(1000)
    assert 0.09 < time.thread_time() - began < 5.0
    assert not spent.allows()
    least = policy.Budget(replace(limits, attempt_least=60.0))
    with least.attempt():
        until = time.thread_time() + 0.15
        while time.thread_time() < until:
            budget.spend(1000)


def test_an_attempt_may_take_less_where_others_have_brought_nothing() -> None:
    limits = policy.Thresholds(budget_base=0.0, budget_share=0.0, attempt_least=10.0)
    spent, began = policy.Budget(limits), time.thread_time()
    with pytest.raises(budget.OutOfTime), spent.attempt(hope=0.01), budget.seconds(60.0):
        while True:
            budget.spend(1000)
    assert 0.09 < time.thread_time() - began < 5.0


def test_questions_in_vain_are_put_off_once_they_have_taken_their_share() -> None:
    limits = policy.Thresholds(asking_share=0.5, asking_rest=0.25)
    watch = Watch(limits)
    assert watch._after(0.001, time.thread_time()) == 0.001
    passed = budget.process_time()
    watch._in_vain = 0.55 * passed
    assert watch._after(0.001, time.thread_time()) == pytest.approx(0.1 * passed, rel=0.1)
    assert watch._after(passed, time.thread_time()) == passed
    watch._in_vain = 5.0 * passed
    assert watch._after(0.001, time.thread_time()) == pytest.approx(0.25 * passed, rel=0.1)


def test_a_loop_that_asked_in_vain_waits_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def spins(seconds: float) -> int:
        n, until = 0, time.process_time() + seconds
        while time.process_time() < until:
            n += abs(n)
        return n

    pauses: list[float] = []
    watch = Watch(replace(policy.THRESHOLDS, budget_base=-1e6))
    monkeypatch.setattr(watch, "_after", lambda pause, began: pauses.append(pause) or 1000.0)
    spins.__code__ = watch.watched(spins.__code__)
    try:
        spins(0.2)
    finally:
        watch.end()
    assert len(pauses) == 1


def test_a_block_may_take_no_longer_than_the_one_around_it() -> None:
    with budget.seconds(0.01), pytest.raises(budget.OutOfTime), budget.seconds(60.0):
        until = time.thread_time() + 5.0
        while time.thread_time() < until:
            budget.spend(1000)


def test_attempts_that_save_nothing_end_the_trust_in_time_to_come() -> None:
    limits = policy.Thresholds(
        **{"budget_base": 0.0, "budget_share": 0.1, "budget_stake": 1e9, "budget_trust": 1e9},
        **{"budget_tries": 3, "budget_all_tries": 5, "whole_try": 1e-12},
    )
    spent = policy.Budget(limits)
    spent.expects("loop", 1e6)
    for _ in range(3):
        assert spent.allows(cost=1e4)
        with spent.attempt():
            pass
    assert not spent.allows(cost=1e4)  # a tenth of the time that has passed is left
    for _ in range(2):
        assert spent.allows(cost=1e4, of="another function")
        with spent.attempt(of="another function"):
            pass
    assert not spent.allows(cost=1e4, of="another function") and not spent.allows(cost=1e4, of="a third one")
    assert spent.allows(cost=1e4, saved=0.1)
    for _ in range(3):
        with spent.attempt():
            pass
    assert not spent.allows(cost=1e4, saved=0.1)  # no more than before
    assert spent.allows(cost=1e4, saved=0.2)


def test_short_attempts_count_as_a_part_of_one() -> None:
    limits = policy.Thresholds(budget_base=0.0, budget_stake=1e9, budget_trust=1e9, budget_tries=1, whole_try=0.04)
    spent = policy.Budget(limits)
    spent.expects("loop", 1e6)
    for is_left in (True, True, False):
        with spent.attempt():
            spin(0.016)
        assert spent.allows(cost=1e4) == is_left


def test_an_attempt_may_take_a_share_of_what_is_known_to_come() -> None:
    limits = policy.Thresholds(attempt_least=0.0, attempt_over=0.0, attempt_ahead=0.5)
    for ahead, fits in ((0.0, False), (1e4, True)):
        spent = policy.Budget(limits)
        spent.expects("a loop", ahead)
        try:
            with spent.attempt():
                for _ in range(2000):
                    budget.spend(256)
            assert fits
        except budget.OutOfTime:
            assert not fits


@pytest.mark.parametrize(("known", "fits"), [(100.0, True), (1.0, False)])
def test_an_attempt_may_take_no_more_than_a_part_of_what_is_known_to_come(known: float, fits: bool) -> None:
    """However many times as much counts."""
    spent = policy.Budget(policy.Thresholds(attempt_least=0.0, attempt_over=0.0, attempt_ahead=0.5, attempt_part=0.1))
    spent.expects("a loop", 100.0, known)
    with pytest.raises(budget.OutOfTime) if not fits else contextlib.nullcontext(), spent.attempt():
        until = time.thread_time() + 0.3
        while time.thread_time() < until:
            budget.spend(1000)


def test_of_time_that_has_passed_a_part_counts() -> None:
    limits = policy.Thresholds(budget_base=0.0, budget_share=1.0, budget_stake=1e9, budget_trust=1e9)
    spent = policy.Budget(limits)
    half = time.process_time() / 2
    spent.expects("a loop that is over", 0.0)
    assert spent.allows(cost=half) and not spent.allows(cost=half, share=0.25)
    spent.expects("a loop", half)  # what is to come has its own part (Watch.shares)
    assert spent.allows(cost=half, share=0.25)


def several(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        y = np.sin(x) * i + np.cos(x)
        total += float((y * y).sum())
    return total


def test_what_is_given_up_runs_plainly_until_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_LOOK", 1)
    scarce = replace(policy.AT_ONCE, attempt_least=0.0, attempt_over=0.0, attempt_ahead=0.0)
    made = watched.Watched(several, scarce, "numba")
    x = np.linspace(0.0, 1.0, 50)
    for _ in range(3):
        assert made.function(x, 30) == several(x, 30)
    assert made.watch.given_up and all(seconds > 0.0 for seconds in made.watch.given_up.values())
    assert made.stats()["native_calls"] == 0
    compilation = made.watch.compilation
    assert compilation is not None and [reason for reason, *_ in compilation.skips] == ["run-budget"]
    made.watch.budget = policy.Budget(policy.AT_ONCE)
    for _ in range(3):
        assert made.function(x, 30) == several(x, 30)
    assert made.stats()["native_calls"] > 0


def test_a_loop_is_expected_to_take_time_of_this_process() -> None:
    """Rounds are timed by a clock that goes on while other processes run."""

    def counts(x: Any) -> None:
        for i in range(10_000_000):
            x[0] += i

    class Rounds:
        plain, n_plain, n_begun, entered, loses = 1_000_000_000, 1_000_000, 0, 0, False

    watch = Watch(policy.THRESHOLDS)
    (loop,) = loops(decode(counts.__code__))
    poll: Any = types.SimpleNamespace(round=Rounds(), place=loop)
    note_rounds(watch, counts, poll.round)

    def expected(share: float) -> float:
        expectations = watch.expectations
        expectations._began, expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0 / share
        watch._look_ahead(poll, counts, [iter(range(9_000_000))], {})
        return max(watch.budget._ahead.values()) - time.process_time()

    alone = expected(1.0)
    assert alone == pytest.approx(9.0 * policy.THRESHOLDS.budget_elements, rel=0.1)
    assert expected(0.25) == pytest.approx(alone / 4, rel=0.1)
    assert expected(2.0) == pytest.approx(alone, rel=0.1)  # of several threads


def test_a_loop_of_numbers_whose_end_nothing_tells_is_expected_to_take_as_long_again() -> None:
    def of_numbers(x: Any) -> None:
        while True:
            for i in range(10):
                x[i] = x[i] * 0.5 + x[i - 1]
            if x[0] > 1e9:
                break

    def of_arrays(x: Any) -> None:
        while True:
            x = np.sqrt(x * 0.5)
            if x[0] > 1e9:
                break

    class Rounds:
        plain, n_plain, n_begun, entered, loses = 1_000_000_000, 200_000, 0, 0, False

    limits = policy.THRESHOLDS
    for function, expected in ((of_numbers, limits.as_long * limits.budget_guessed), (of_arrays, 0.0)):
        watch = Watch(limits)
        watch.expectations._began, watch.expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0
        (loop,) = [one for one in loops(decode(function.__code__)) if one.over != "for"]
        poll: Any = types.SimpleNamespace(round=Rounds(), place=loop)
        note_rounds(watch, function, poll.round)
        watch._look_ahead(poll, function, [], {})
        assert max(watch.budget._ahead.values()) - time.process_time() == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize(("rounds", "expected"), [(9_000_000, 1.0), (250_000, 0.25)])
def test_a_loop_that_a_break_may_end_is_expected_to_take_no_longer_than_its_iterator_says(
    rounds: int, expected: float
) -> None:
    def relaxes(x: Any) -> None:
        for _ in range(10_000_000):
            for i in range(10):
                x[i] = x[i] * 0.5 + x[i - 1]
            if x[0] < 1e-9:
                break

    class Rounds:
        plain, n_plain, n_begun, entered, loses = 1_000_000_000, 1_000_000, 0, 0, False

    watch = Watch(policy.THRESHOLDS)
    watch.expectations._began, watch.expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0
    loop = next(one for one in loops(decode(relaxes.__code__)) if one.outer is None)
    poll: Any = types.SimpleNamespace(round=Rounds(), place=loop)
    note_rounds(watch, relaxes, poll.round)
    watch._look_ahead(poll, relaxes, [iter(range(rounds))], {})
    ahead = max(watch.budget._ahead.values()) - time.process_time()
    assert ahead == pytest.approx(expected * policy.THRESHOLDS.budget_guessed, abs=0.2)


def test_what_is_known_of_a_loop_are_the_rounds_of_those_around_it_too() -> None:
    def sweeps(x: Any) -> None:
        for _ in range(100):
            for i in range(10):
                for j in range(10):
                    x[i, j] = x[i, j - 1] * 0.5 + x[i - 1, j]

    def ends(x: Any) -> None:
        for _ in range(100):
            for i in range(10):
                for j in range(10):
                    x[i, j] = x[i, j - 1] * 0.5 + x[i - 1, j]
            if x[0, 0] < 1e-9:
                break

    class Rounds:
        entered = 0

        def __init__(self, plain: int, n_plain: int, n_begun: int) -> None:
            self.plain, self.n_plain, self.n_begun = plain, n_plain, n_begun
            self.loses = False

    for function, expected in ((sweeps, 0.05 + 8 * 0.1), (ends, 0.05)):
        watch = Watch(policy.THRESHOLDS)
        watch.expectations._began, watch.expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0
        code = decode(function.__code__)
        outermost, middle, inner = loops(code)
        rounds: Any = Rounds(150_000_000, 15, 1)
        outside: Any = Rounds(100_000_000, 1, 0)
        inside: Any = Rounds(140_000_000, 1_500_000, 150_000)
        for loop, one in ((outermost, outside), (middle, rounds), (inner, inside)):
            header = code.instrs[loop.header]
            watch.rounds[code.filename, code.qualname, header.op, header.position] = one
        poll: Any = types.SimpleNamespace(round=rounds, place=middle)
        watch._look_ahead(poll, function, [iter(range(8)), iter(range(5))], {})
        ahead = max(watch.budget._ahead.values()) - time.process_time()
        assert ahead == pytest.approx(expected * policy.THRESHOLDS.budget_elements, rel=0.1)


def test_a_function_of_numbers_that_was_called_again_is_expected_to_be_called_for_as_long() -> None:
    """No loop tells how often a comprehension, or a library, calls it."""

    def hits(x: Any) -> int:
        found = 0
        for i in range(1000):
            if x[i] * x[i - 1] > 0.5:
                found += 1
        return found

    class Rounds:
        plain, n_plain, n_begun, entered, loses = 1_000_000_000, 1_000_000, 0, 0, False

    limits, code = policy.THRESHOLDS, hits.__code__
    (loop,) = loops(decode(code))
    for calls, expected in ((limits.called_again - 1, 0.0), (limits.called_again, 2.0 * limits.budget_guessed)):
        watch = Watch(limits)
        watch.expectations._began, watch.expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0
        entry: Any = types.SimpleNamespace(calls=calls, spent=2_000_000_000, off=False)
        watch.entries.append((entry, code.co_filename, code.co_firstlineno, code.co_qualname))
        poll: Any = types.SimpleNamespace(round=Rounds(), place=loop)
        note_rounds(watch, hits, poll.round)
        watch._look_ahead(poll, hits, [iter(range(0))], {})
        assert max(watch.budget._ahead.values()) - time.process_time() == pytest.approx(expected, abs=0.5)


def test_a_function_of_short_calls_is_expected_to_be_called_for_as_long() -> None:
    """Its loops do not ask, and a loop that calls it counts as one of numbers where that takes most of its time."""

    def fills(x: Any, n: int) -> None:
        for i in range(n):
            x[i] = x[i - 1] * 0.5

    limits = policy.THRESHOLDS
    for spent, is_numeric in ((600_000_000, True), (400_000_000, False)):
        watch = Watch(limits)
        watch.expectations._began, watch.expectations._began_at = time.process_time() - 10.0, time.perf_counter() - 10.0
        entry: Any = type("Entry", (), {"calls": 1000, "spent": spent, "off": False, "times": []})
        watch.entries.append((entry, fills.__code__.co_filename, fills.__code__.co_firstlineno, "fills"))
        watch._look_at_calls(fills, ([0.5], 1), 1.0)
        ahead = max(watch.budget._ahead.values()) - time.process_time()
        assert ahead == pytest.approx(spent * 1e-9 * limits.budget_guessed, abs=0.2)
        around: Any = type("Round", (), {"plain": 1_000_000_000, "n_plain": 1000})
        watch.expectations.looked_into[around] = []
        assert watch.expectations._is_numeric(around) == is_numeric
        for times, stays in (
            ([(1e-6, 8, 0.0, 0, False)], is_numeric),
            ([(1e-6, 8, 2e-6, 8, True), (1e-6, 8, 5e-7, 8, False)], is_numeric),
            ([(1e-6, 8, 0.0, 0, False), (1e-6, 8, 2e-6, 8, True)], False),  # compiled calls have lost
        ):
            entry.times = times
            assert watch.expectations._is_numeric(around) == stays
        entry.times = []
        (loop,) = watch.expectations.loops_of[entry]
        watch.expectations.refuted.add(loop)
        assert not watch.expectations._is_numeric(around)
        told = dict(watch.budget._ahead)
        watch._look_at_calls(fills, ([0.5], 1), 1.0)
        assert watch.budget._ahead == told


def gets_lighter(i: int) -> float:
    return 0.004 if i < 30 else 0.0


def has_one_long_round(i: int) -> float:
    return 0.15 if i == 5 else 0.0005


@pytest.mark.parametrize(("seconds", "n"), ((gets_lighter, 3000), (has_one_long_round, 300)))
def test_rounds_have_not_saved_what_longer_ones_took_plainly(seconds: Callable[[int], float], n: int) -> None:
    def rounds(x: Any, n: int, out: list[Any]) -> Any:
        for i in range(n):
            time.sleep(seconds(i))
            x = x * 0.5 + i
            out[0] = str(x[0])
        return x

    limits = replace(watched.LOOPS_AT_ONCE, hot_loop=0.01, hot_function=1e6)
    made = watched.Watched(rounds, limits, "numba")
    assert (made.function(np.ones(20), n, [""]) == rounds(np.ones(20), n, [""])).all()
    (known,) = made.watch.rounds.values()
    assert known.entered > 0
    assert made.watch._known_savings() < 0.1


def test_a_loop_goes_on_compiled_behind_an_iteration_that_may_not_be_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def total(x: Any, n: int) -> list[float]:
        found = []
        for i in range(n):
            found.append(float((x * i).sum()))
            if i % 100 == 0:
                print(i)
        return found

    made = watched.Watched(total, watched.LOOPS_AT_ONCE, "numba")
    watch, fast, x = made.watch, made.function, np.arange(10.0)
    questions: list[tuple[Any, ...]] = []

    def allows(*question: Any, **share: float) -> bool:
        """The loop may be compiled, and nothing that begins with an iteration which prints."""
        is_of_running_loop = len(question) == 5 and not question[2]  # which is not the rest of what is compiled
        questions.extend([] if is_of_running_loop else [question])
        return len(questions) <= 2  # the compiler, and the loop

    monkeypatch.setattr(watch.budget, "allows", allows)
    monkeypatch.setattr(watch.budget, "wait", lambda *_: 1e6)
    try:
        assert fast(x, 3000) == total(x, 3000)
    finally:
        watch.end()
    printed = capsys.readouterr().out.split()
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :] == list(map(str, range(0, 3000, 100)))
    assert len(questions) > 2, "one was refused"
    assert made.stats()["native_calls"] >= 20


def of_two_kinds(x: Any) -> Any:
    return np.sqrt(x * x + 1.0) * 0.5 + np.abs(x) * x - 0.25


def test_calls_that_are_compiled_go_on_where_others_are_refused() -> None:
    made = watched.Watched(of_two_kinds, policy.AT_ONCE, "numba")
    x, other = np.linspace(-1.0, 1.0, 100_000), np.arange(100_000)
    for _ in range(30):
        assert made.function(x).tobytes() == of_two_kinds(x).tobytes()
    before = made.stats()["native_calls"]
    assert before > 10
    made.watch.budget = policy.Budget(replace(policy.AT_ONCE, budget_base=-1e6, budget_share=0.0, ask_again=1e6))
    for _ in range(30):
        assert made.function(other).tobytes() == of_two_kinds(other).tobytes()
        for _ in range(3):
            assert made.function(x).tobytes() == of_two_kinds(x).tobytes()
    assert made.stats()["native_calls"] > before + 60
    assert made.watch.put_off == 1  # and nobody is asked about the others meanwhile
