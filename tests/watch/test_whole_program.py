"""Watched programs: entered at functions and in the middle of loops, with nothing to see but the time."""

from __future__ import annotations

import dis
import faulthandler
import gc
import io
import math
import os
import pickle
import re
import signal
import sys
import sysconfig
import time
import traceback
import types
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends import resolve

from dynamo_lite import _C, policy
from dynamo_lite.budget import taken, timed
from dynamo_lite.config import config
from dynamo_lite.pycode import FACTS, Instr, decode, decoded, loops, runs_out
from dynamo_lite.report.records import LoopRecord
from dynamo_lite.watch import watching
from dynamo_lite.watch.expectations import innermost
from dynamo_lite.watch.foresight import Whiles, comparisons, items_left
from dynamo_lite.watch.loop_kinds import OF_ARRAYS, OF_ELEMENTS, OF_NUMBERS, LoopKind
from dynamo_lite.watch.program import Program
from dynamo_lite.watch.watching import Watch
from tests import watched
from tests.conftest import budget
from tests.fuzz.campaign import Campaign, run_range

pytestmark = pytest.mark.usefixtures("no_mode")


@pytest.fixture(autouse=True)
def nothing_is_watched_afterwards() -> Iterator[None]:
    yield
    _C.watch(None, None, None)


def loop(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        x = x * 0.5 + np.sqrt(np.abs(x)) - 0.25
        total += float(x[i % 4])
    return x, total, i


def until(x: Any, n: int) -> Any:
    k = 0
    while x.sum() > 1e-3 and k < n:
        x = x * 0.9
        k += 1
    return x, k


def nested(x: Any, n: int) -> Any:
    found = []
    for i in range(n):
        for row in x:
            y = row * i + 1.0
            found.append(float(y.sum()))
    return found


def sharing(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        y[i % len(y)] = y.sum() * 1e-3
        x = x + 0.0
        if i == n // 2:
            y = x
    return x, y


def raises(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 2.0
        if i == n - 2:
            raise ValueError(f"at {i}")
    return x


def made_before(x: Any, n: int) -> Any:
    """The inner function and the loop write each other's variables."""
    scale, calls = 0.5, 0

    def step(v: Any) -> Any:
        nonlocal calls
        calls += 1
        return v * scale + np.sqrt(np.abs(v))

    for i in range(n):
        x = step(x)
        if i % 5 == 4:
            scale = scale * 0.9
    return x, calls, scale, step(x)


def made_within(x: Any, n: int) -> Any:
    kept = []
    for i in range(n):
        x = x * 0.5 + i
        kept.append(lambda: (i, float(x[0])))  # noqa: B023
    return [one() for one in kept], x


def has_ended(x: Any, n: int) -> Any:
    """No inner function lives on: the variable is one like the others."""
    factor = 0.5
    x = (lambda v: v * factor)(x)
    for i in range(n):
        x = x * factor + i
        factor = factor * 0.99
    return x, factor


def argument(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    return (lambda: x + n)()


def unbound(x: Any, n: int) -> Any:
    def read() -> Any:
        return later

    for i in range(n):
        x = x * 0.5 + i
        if i == n - 1:
            later = x
        else:
            try:
                read()
            except NameError as error:
                x = x + len(error.args)
    del i
    return x, read()


def comprehending(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + sum([(lambda: i + k)() for k in range(3)])
    return x, [lambda: i, lambda: x][0]()


def nested_function(x: Any, n: int) -> Any:
    def inner(v: Any) -> Any:
        for i in range(n):
            v = v * 0.5 + i
        return v

    for i in range(n):
        x = x * 0.5 + inner(x)
        if i == 4:
            print(end="")
    return x, inner(x)


CLOSURES = [made_before, made_within, has_ended, argument, unbound, comprehending, nested_function]


@pytest.mark.parametrize("compiler", [watched.compile, watched.compile_loops], ids=["calls", "loops"])
@pytest.mark.parametrize("backend", ["reference", "numba"])
@pytest.mark.parametrize("function", [loop, until, nested, sharing, *CLOSURES])
def test_watched_functions_give_what_they_gave(function: Any, backend: str, compiler: Any) -> None:
    made = compiler(function, backend=backend)
    for size in (4, 4, 1000):
        x = np.linspace(0.1, 2.0, size).reshape((4, -1) if function is nested else -1)
        expected, found = function(x.copy(), 12), made(x.copy(), 12)
        assert repr(expected) == repr(found)
    stats = made.stats()
    assert stats["polls"] and stats["native_calls"] and not stats["failed"]
    if compiler is watched.compile_loops:
        assert stats["entered"]


def test_a_traceback_shows_the_function_once() -> None:
    made = watched.compile_loops(raises)

    def trace_of(function: Any) -> list[tuple[str, int | None]]:
        with pytest.raises(ValueError, match="at 10") as caught:
            function(np.ones(100), 12)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.name, frame.lineno) for frame in frames if frame.name == "raises"]

    assert trace_of(made) == trace_of(raises)
    assert made.stats()["entered"]


def callers(x: Any, n: int) -> Any:
    seen = set()
    for _ in range(n):
        x = x + 1.0
        seen.add(tuple(names()))
    return seen


def names() -> list[str]:
    frame, found = sys._getframe(1), []
    for _ in range(2):
        found.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def test_the_chain_of_frames_has_the_function_once() -> None:
    made = watched.compile_loops(callers)
    assert made(np.ones(100), 9) == callers(np.ones(100), 9)
    assert made.stats()["entered"]


def dumps(x: Any, n: int, file: Any) -> None:
    for _ in range(n):
        x = x * 1.0
        faulthandler.dump_traceback(file=file, all_threads=False)


def test_faulthandler_walks_the_chain_of_frames(tmp_path: Path) -> None:
    """NB: from 3.12 on it takes the mark of an evaluation from C for a frame, and crashes, where two follow."""
    made = watched.compile_loops(dumps)
    with open(tmp_path / "dump", "w+") as file:
        list(map(made, [np.ones(100)], [9], [file]))  # called from C, whose mark comes next
        file.seek(0)
        text = file.read()
    assert made.stats()["entered"]
    assert text.count("in dumps") == 9 and "???" not in text


class Token:
    """Something whose end can be seen."""


def holds(token: Any, x: Any, n: int) -> Any:
    mark = weakref.ref(token)
    seen = []
    for i in range(n):
        x = x + 1.0
        if i == 5:
            token = None
        seen.append(mark() is None)
    return seen


def test_what_a_loop_lets_go_of_ends_at_once() -> None:
    made = watched.compile_loops(holds)
    assert made(Token(), np.ones(10), 9) == holds(Token(), np.ones(10), 9)


def test_references_do_not_grow() -> None:
    made = watched.compile_loops(loop)
    x = np.ones(50)
    for _ in range(3):
        made(x, 6)
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(None)
    for _ in range(200):
        made(x, 6)
    assert sys.getrefcount(x) == before[0]
    assert abs(sys.getrefcount(None) - before[1]) < 150


def test_a_loop_in_a_thread_is_entered() -> None:
    import threading

    made = watched.compile_loops(loop)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(made(np.ones(64), 40))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({repr(result) for result in results}) == 1
    assert made.stats()["entered"]


def says(x: Any, n: int, file: Any) -> Any:
    for i in range(n):
        x = x * 0.999 + 0.001
        file.write(f"{i} ")
        text = str(i)
        file.write(text)
    return x


def depths(x: Any, n: int, seen: Any) -> Any:
    for _ in range(n):
        x = x * 0.999 + 0.001
        seen.append(len(traceback.extract_stack()))
        seen.append(str(seen[-1]))
    return x


def test_a_loop_is_entered_as_often_as_it_takes_without_getting_deeper() -> None:
    """Behind each break plain code goes on to the back edge, from which compiled code takes over again."""
    made, files = watched.compile_loops(says), (io.StringIO(), io.StringIO())
    assert repr(says(np.ones(9), 1000, files[0])) == repr(made(np.ones(9), 1000, files[1]))
    assert files[0].getvalue() == files[1].getvalue()
    assert made.stats()["entered"] > 900
    made, seen = watched.compile_loops(depths), ([], [])
    depths(np.ones(9), 50, seen[0])
    made(np.ones(9), 50, seen[1])
    assert seen[0] == seen[1]


def shows_locals(x: Any, n: int) -> Any:
    before = x * 3.0
    for _ in range(n):
        x = x * 0.5 + 1.0
    return sorted(locals()), eval("before.sum()"), x.sum()


def test_code_that_reads_its_frame_finds_all_of_it_behind_a_loop() -> None:
    made = watched.compile_loops(shows_locals)
    assert repr(made(np.ones(50), 30)) == repr(shows_locals(np.ones(50), 30))
    assert made.stats()["entered"]


def keeps_its_locals(x: Any, n: int) -> Any:
    seen, same = locals(), 0
    for i in range(n):
        x = x * 0.5 + i
        if i % 7 == 0:
            seen["mine"] = i
            same += locals() is seen
    return same, sorted(seen), locals() is seen, seen.get("mine"), seen.get("i")


class Noted:
    def __init__(self, log: list[Any], number: int) -> None:
        self.log, self.number = log, number

    def __del__(self) -> None:
        self.log.append(("dies", self.number))


def lets_go(*rest: Any, only: Any = None, **more: Any) -> None:
    log, *rest = rest  # type: ignore[assignment]
    log.append("begins")
    del rest, only
    log.append(sorted(more))
    del more
    log.append("ends")


def lets_go_of_many(
    log: Any, a: Any, b: Any = 1, c: Any = 2, d: Any = 3, e: Any = 4, f: Any = 5, g: Any = 6, *rest: Any,
    h: Any, i: Any = 7, j: Any = 8, k: Any = 9, **more: Any,
) -> Any:  # fmt: skip
    def shared() -> Any:
        return a, h, rest, sorted(more), [b, c, d, e, f, g, i, j, k]

    log.append("begins")
    h = 0
    log.append(shared()[3:])
    a = rest = 1  # type: ignore[assignment]
    log.append(shared())
    more = {}
    return log


@pytest.mark.parametrize("plain", [lets_go, lets_go_of_many])
def test_what_a_function_lets_go_of_while_its_call_is_timed_dies_at_once(plain: Any) -> None:
    made = watched.Watched(plain, replace(policy.AT_ONCE, hot_function=1e6, polls_after=1e6), "reference")

    def logged(called: Any) -> list[Any]:
        log: list[Any] = []
        if plain is lets_go:
            called(log, Noted(log, 1), only=Noted(log, 2), z=Noted(log, 3), a=4)
        else:
            called(log, Noted(log, 1), 0, 1, 2, 3, 4, 5, 6, Noted(log, 2), h=Noted(log, 3), x=Noted(log, 4), y=5)
        return [str(one) for one in log]

    for _ in range(4):
        assert logged(made.function) == logged(plain)


traced: list[tuple[str, str]] = []


def sees(frame: types.FrameType, event: str, _: Any) -> Any:
    if frame.f_code.co_filename == __file__:
        traced.append((frame.f_code.co_name, event))
    return sees


def begins_to_profile() -> None:
    sys.setprofile(sees)


def begins_to_trace(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
        if i == 5:
            sys.settrace(sees)
            sys.setprofile(sees)
    return x


def profiles_and_raises(x: Any) -> Any:
    sys.setprofile(sees)
    return x.nothing


@pytest.mark.parametrize("limits", [replace(policy.AT_ONCE, hot_function=1e6, polls_after=1e6), watched.LOOPS_AT_ONCE])
@pytest.mark.parametrize(
    ("plain", "arguments"), [(begins_to_profile, ()), (begins_to_trace, (np.ones(5), 9)), (profiles_and_raises, (1,))]
)
def test_a_tracer_sees_one_end_of_the_call_that_has_set_it(plain: Any, arguments: Any, limits: Any) -> None:
    made = watched.Watched(plain, limits, "reference")
    logs = []
    for function in (plain, *[made.function] * 3):
        traced.clear()
        try:
            function(*arguments)
        except AttributeError:
            pass
        finally:
            sys.setprofile(None)
            sys.settrace(None)
        logs.append(traced.copy())
    assert logs == [logs[0]] * 4 and logs[0]


def evaluates(x: Any, n: int) -> Any:
    log: list[Any] = []
    for i in range(n):
        x = x * 0.5 + i

        def total(q: int = i) -> Any:
            return q + x.sum()  # noqa: B023

        log.append(eval("i + 1") + total())
        if i % 3 == 0:
            held = Noted(log, i)  # noqa: F841
    return log[:]


@pytest.mark.parametrize("compiler", [watched.compile, watched.compile_loops])
@pytest.mark.parametrize("plain", [keeps_its_locals, evaluates])
def test_a_frame_whose_locals_somebody_has_is_not_left(plain: Any, compiler: Any) -> None:
    """Before Python 3.13 locals() is one dict for the frame, in which what it has shown lives on."""
    made = compiler(plain)
    for n in (7, 8, 9, 10, 11):
        assert repr(made(np.ones(5), n)) == repr(plain(np.ones(5), n))


@pytest.mark.parametrize(
    ("compiler", "asked"),
    [(watched.compile, "_entry_for"), (watched.compile, "_share"), (watched.compile_loops, "_look_ahead")],
)
def test_a_defect_where_something_is_hot_leaves_the_program_plain(
    compiler: Any, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(Watch, asked, fails)
    monkeypatch.setattr(config, "check", 0)
    fast = compiler(loop)
    x = np.linspace(0.1, 1.0, 50)
    for _ in range(3):
        made, expected = fast(x, 40), loop(x, 40)
        assert made[1:] == expected[1:] and made[0].tobytes() == expected[0].tobytes()
    assert fast.stats()["failed"] > 0


@pytest.mark.parametrize(
    ("compiler", "asked"), [(watched.compile, "_share"), (watched.compile_loops, "_have_prospects")]
)
def test_an_exception_of_a_signal_while_something_is_asked_is_the_programs_own(
    compiler: Any, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: Any) -> None:
        raise TimeoutError("the program's own")

    def interrupted(self: Watch, *args: Any, **kwargs: Any) -> Any:
        if not sent:
            sent.append(True)
            signal.raise_signal(signal.SIGTERM)
        return original(self, *args, **kwargs)

    sent: list[bool] = []
    original = getattr(Watch, asked)
    monkeypatch.setattr(Watch, asked, interrupted)
    monkeypatch.setattr(config, "check", 0)
    before = signal.signal(signal.SIGTERM, ends)
    fast = compiler(loop)
    try:
        with pytest.raises(TimeoutError, match="the program's own"):
            fast(np.linspace(0.1, 1.0, 50), 200)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert sent and fast.stats()["failed"] == 0


def test_a_loop_that_runs_out_tells_how_long_it_will_take() -> None:
    def counts(x: Any) -> None:
        for i in range(10):
            if i == 2:
                continue
            if x[i] < 0:
                raise ValueError
            x[i] += 1
        else:
            x[0] = 3

    def leaves(x: Any) -> None:
        for i in range(10):
            if x[i] < 0:
                break

    def returns(x: Any) -> Any:
        for i in range(10):
            if x[i] < 0:
                return i

    def goes(x: Any) -> None:
        while x[0] < 10:
            x[0] += 1

    found = {}
    for function in (counts, leaves, returns, goes):
        code = decode(function.__code__)
        (header,) = [found.header for found in loops(code)]
        found[function.__name__] = runs_out(code, header)
    assert found == {"counts": True, "leaves": False, "returns": False, "goes": False}
    limits = policy.Thresholds(budget_base=0.0, budget_share=0.1, budget_trust=1e9, budget_later=1.0, budget_gains=0.0)
    budget = policy.Budget(limits)
    assert not budget.allows(cost=1e6)
    budget.expects("loop", 1.1e7)
    assert budget.allows(cost=1e6)
    wary = policy.Budget(replace(limits, budget_trust=5.0))  # as long as nothing is saved
    wary.expects("loop", 1.1e7)
    assert wary.allows(cost=4.0) and not wary.allows(cost=1e6)
    assert not wary.allows(cost=1e6, saved=1.0)  # what was saved may be spent besides, no more
    assert wary.allows(cost=5.5, saved=1.0) and wary.allows(cost=1e6, saved=1e6)


def test_how_long_an_iterator_lasts() -> None:
    class Item:
        pass

    def passes_on(items: Any) -> Any:
        for item in items:  # noqa: UP028
            yield item

    taken = passes_on(range(100))
    for _ in range(10):
        next(taken)
    assert items_left(taken) == 90
    assert items_left(iter(range(7))) == 7
    assert items_left(iter([1, 2])) == 2
    assert items_left(passes_on(iter("abc"))) is None
    assert items_left(zip("ab", "cd", strict=True)) is None
    rows = iter(np.ones((5, 2)))
    next(rows)
    assert items_left(rows) == 4
    assert items_left(enumerate(np.ones(6), 300)) == 6
    assert items_left(enumerate(zip(range(9), [1] * 8, "abc", strict=False))) == 8  # no more than that
    assert items_left(iter(np.ones(3).flat)) is None

    class Sequence:
        def __getitem__(self, i: int) -> int:
            raise IndexError

        def __len__(self) -> int:
            raise AssertionError("it is not asked")

    assert items_left(iter(Sequence())) is None

    def makes(count: int) -> Any:
        for _ in range(count):
            item = Item()
            yield item

    going = makes(3)
    first = weakref.ref(next(going))
    assert items_left(going) == 2
    next(going)
    assert first() is None  # looking has kept nothing alive


def test_how_long_comparisons_hold() -> None:
    def steps(t: Any, end: Any, dt: Any) -> None:
        while t < end:
            for _ in range(3):
                t += dt

    def leaves(n: int, x: Any) -> Any:
        while True:
            n -= 1
            if n <= 2:
                return x
            if x is None:
                raise ValueError

    def found(x: Any, t: Any) -> None:
        while t < 1.0:
            if x[t]:
                break
            t += 1

    def asked(x: Any, t: Any) -> None:
        while t < len(x):
            t += 1

    def both(t: Any, n: int) -> None:
        while t < 1.0 and n > 0:
            n -= 1
            t += 0.5

    def of_objects(self: Any, dt: Any) -> None:
        while self.t < self.grid.end:
            self.t += dt

    def computed(t: float, end: float, dt: float) -> None:
        while t + dt < 2 * end - dt:
            t += dt

    def of_functions(x: float, old: float, i: int, xs: Any) -> None:
        while abs(x - old) / 2 > 1e-3 and i < len(xs):
            i += 1

    def of_others(x: float) -> None:
        while float(x) > 1e-3:
            x /= 2

    def of_many(t: float, a: Any) -> None:
        while t < a + a + a + a + a + a + a + a + a + a:
            t += 1

    def of_items(ts: Any, i: int, end: float) -> None:
        while ts[i] < end and ts[-1] < end * 2:
            ts.append(ts[i] + 0.5)
            i += 1

    compared = {}
    functions = (steps, leaves, found, asked, both, of_objects, computed, of_functions, of_others, of_many, of_items)
    for function in functions:
        code = decode(function.__code__)
        (header, *_) = [one.header for one in loops(code) if one.over != "for"]
        compared[function.__name__] = comparisons(code, header)
    assert {name: len(those) for name, those in compared.items()} == {
        "steps": 1,
        "leaves": 1,
        "found": 0,
        "asked": 1,
        "both": 2,
        "of_objects": 1,
        "computed": 1,
        "of_functions": 2,
        "of_others": 1,
        "of_many": 0,
        "of_items": 2,
    }

    whiles, looks = Whiles(), []
    for count, t in ((10, 0.0), (20, 1.0), (20, 1.0), (30, 1.5), (40, 1.25), (50, np.float64(2.25)), (60, "2.5")):
        looks.append(whiles.rounds_left(1, lambda: compared["steps"], ({"t": t}, {"end": 3, "t": 0}), count))
    assert looks == [None, 20.0, None, 30.0, None, 7.5, None]
    for n, expected in ((102, None), (77, 75.0)):
        assert whiles.rounds_left(2, lambda: compared["leaves"], ({"n": n},), 127 - n) == expected
    for t, n, expected in ((0.0, 20, None), (0.5, 10, 10.0), (0.25, 5, 5.0)):
        assert whiles.rounds_left(3, lambda: compared["both"], ({"t": t, "n": n},), 30 - n) == expected
    assert whiles.rounds_left(4, lambda: compared["found"], ({"t": 0.5},), 7) is None

    for t, expected in ((0.0, None), (0.5, 28.0)):
        names = {"t": t, "end": 1.0, "dt": 0.05}
        looks = [whiles.rounds_left(9, lambda: compared["computed"], (names,), int(20 * t))]
        assert looks == [expected if expected is None else pytest.approx(expected)]

    for x, i, expected in ((1.0, 0, None), (-0.5, 10, 9.96), (0.25, 20, 20.0), (0.0625, 30, 10.0), (0.0625, 40, None)):
        names = {"x": x, "old": 0.0, "i": i, "xs": np.zeros(40)}
        assert whiles.rounds_left(10, lambda: compared["of_functions"], (names,), i) == expected
    for x, xs in ((1.0, "ab"), (0.5, np.array(3.0)), (0.25, {})):
        names = {"x": x, "old": x, "i": 3, "xs": xs, "abs": min}  # another function of that name
        assert whiles.rounds_left(11, lambda: compared["of_functions"], (names,), int(4 / x)) is None
        assert whiles.rounds_left(12, lambda: compared["of_others"], (names,), int(4 / x)) is None

    mixed = ["", None, (), 1.5]
    for ts, i, expected in (([0.0], 0, None), ([0.0, 0.5], 1, 3.0), (np.arange(4) / 2, 2, 2.0), (mixed, 3, 1.0)):
        names = {"ts": ts, "i": i, "end": 2.0}
        assert whiles.rounds_left(13, lambda: compared["of_items"], (names,), i) == expected
    for ts in ({0: 0.5}, np.eye(3), np.array([0.5, 1.5], object), [0.5], "01", (0.25, None)):
        names = {"ts": ts, "i": 1, "end": 2.0}
        assert whiles.rounds_left(14, lambda: compared["of_items"], (names,), id(ts)) is None

    class Mine(float):
        def __float__(self) -> float:
            raise AssertionError("it is not asked")

    for count in (1, 2):
        assert whiles.rounds_left(5, lambda: compared["steps"], ({"t": Mine(count)}, {"end": 1 << 80}), count) is None

    class Grid:
        end = 2.0

        @property
        def t(self) -> float:
            raise AssertionError("it is not asked")

    simulation, grid = types.SimpleNamespace(t=0.0), Grid()
    simulation.grid = types.SimpleNamespace(end=2.0)
    for t, expected in ((0.0, None), (0.5, 30.0)):
        simulation.t = t
        assert whiles.rounds_left(6, lambda: compared["of_objects"], ({"self": simulation},), int(20 * t)) == expected
    for count in (1, 2):
        computed = {"self": types.SimpleNamespace(t=float(count), grid=grid)}, {"self": grid}
        for number, names in enumerate(computed, 7):
            assert whiles.rounds_left(number, lambda: compared["of_objects"], (names,), count) is None


def test_a_loop_whose_time_goes_into_loops_of_numbers_is_taken_for_one() -> None:
    class Rounds:
        def __init__(self, plain: int) -> None:
            self.plain, self.n_plain, self.loses = plain, 1, False

    watch = Watch(policy.Thresholds(numeric_share=0.5, small_operation=1e-9, element_operation=5e-8))
    watch.expectations._own_share = lambda: 1.0  # type: ignore[method-assign]  # other processes may take what they like
    numbers, others, around = map(Rounds, (60, 40, 100))
    watch.expectations.kinds.update({numbers: LoopKind(OF_NUMBERS, 1), others: LoopKind(0)})  # type: ignore[dict-item]
    watch.expectations.looked_into[around] = []  # type: ignore[index]
    assert watch.expectations._is_numeric(around)  # type: ignore[arg-type]
    assert not watch.expectations._is_numeric(around, OF_ELEMENTS)  # type: ignore[arg-type]
    numbers.n_plain = 2  # 30 ns for its one operation
    assert watch.expectations._is_numeric(around, OF_ELEMENTS)  # type: ignore[arg-type]
    numbers.plain, numbers.n_plain = 45, 1
    assert not watch.expectations._is_numeric(around)  # type: ignore[arg-type]
    for n_rounds, is_small in ((5, False), (9, True)):
        others.n_plain = n_rounds
        watch.expectations.kinds[others] = LoopKind(OF_ARRAYS, 5)  # type: ignore[index]
        assert watch.expectations._is_numeric(around) is is_small  # type: ignore[arg-type]
    others.n_plain = 5
    watch.expectations.looked_into[around] = [numbers]  # type: ignore[index,list-item]
    assert watch.expectations._is_numeric(around)  # type: ignore[arg-type]
    watch.expectations.refuted.add(numbers)  # type: ignore[arg-type]
    assert not watch.expectations._is_numeric(around)  # type: ignore[arg-type]
    watch.expectations.refuted.clear()
    numbers.plain = 45_000  # 45 us for its one operation: elements of a large array
    assert not watch.expectations._is_numeric(around)  # type: ignore[arg-type]
    watch.budget.imported(3.0, 1.0)  # on a slow machine
    numbers.plain = 25_000
    assert watch.expectations._is_numeric(around)  # type: ignore[arg-type]


def test_a_loop_that_is_not_native_after_all_promises_no_more_what_native_ones_win() -> None:
    limits = policy.Thresholds(budget_known=2.0, budget_numbers=10.0)
    watch, round_ = Watch(limits), _C.Round()
    expected: list[float] = []
    watch.budget.expects = lambda _, seconds, known: expected.append(seconds)  # type: ignore[assignment,method-assign]
    watch.rounds[("file.py", "f", "FOR_ITER", (7, 9, 4, 8))] = round_
    watch.expectations.kinds[round_], watch.expectations.looked_into[round_] = LoopKind(OF_NUMBERS), [round_]
    watch.expectations.expected[round_] = time.process_time() + 100.0, 0.0, 0.0
    watch.expectations._expect(round_)

    def became(**outcomes: tuple[int, str, str]) -> None:
        records = (LoopRecord("file.py", line, "f", *rest) for line, *rest in outcomes.values())
        watch.expectations.learn(list(records))

    for outcome in ("segments", "native", "plain", "unrolled"):
        became(inner=(7, outcome, ""))
    assert [round(one, -1) for one in expected] == [1000.0, 200.0, 1000.0, 200.0, 1000.0]
    became(inner=(7, "unrolled", "a local has another type in some iterations"))
    assert round(expected[-1], -1) == 200.0
    around = watch.rounds["file.py", "f", "FOR_ITER", (5, 9, 4, 8)] = _C.Round()
    watch.expectations.looked_into[around] = [round_]
    became(inner=(7, "unrolled", "a local has another type in some iterations"), around=(5, "native", ""))
    assert round(expected[-1], -1) == 1000.0


def test_what_segments_gain_little_promises_little_of_other_arrays() -> None:
    limits = policy.Thresholds(budget_known=2.0, budget_numbers=10.0, least_gain=0.2, long_segments=0.001)
    watch, arrays, numbers = Watch(limits), _C.Round(), _C.Round()
    expected: dict[Any, float] = {}
    watch.budget.expects = lambda loop, seconds, known: expected.update({loop: seconds})  # type: ignore[assignment,method-assign]
    for round_, kind in ((arrays, LoopKind(0)), (numbers, LoopKind(OF_NUMBERS))):
        watch.expectations.kinds[round_], watch.expectations.looked_into[round_] = kind, [round_]
        watch.expectations.expected[round_] = time.process_time() + 100.0, 0.0, 0.0
        watch.expectations._expect(round_)
    assert (round(expected[arrays], -1), round(expected[numbers], -1)) == (200.0, 1000.0)
    for times, promised in (
        ([], 200.0),
        ([(0.0005, 0.0004)], 200.0),  # too short to tell
        ([(0.0005, 0.0004), (0.0015, 0.0014)], 100.0),
        ([(0.002, 0.0001)], 200.0),
        ([(0.002, 0.003)], 0.0),
    ):
        watch.expectations.weigh(times)
        assert (round(expected[arrays], -1), round(expected[numbers], -1)) == (promised, 1000.0)


def test_attempts_that_bring_nothing_let_less_count_until_one_brings_a_native_loop() -> None:
    watch, round_ = Watch(policy.Thresholds(budget_numbers=10.0, barren_share=0.5, break_takes=3e-6)), _C.Round()
    expected: list[float] = []
    watch.budget.expects = lambda _, seconds, known: expected.append(seconds)  # type: ignore[assignment,method-assign]
    watch.expectations.kinds[round_], watch.expectations.looked_into[round_] = LoopKind(OF_NUMBERS), [round_]
    watch.expectations.expected[round_] = time.process_time() + 100.0, 0.0, 0.0
    watch.expectations._expect(round_)

    def segment(gain: float | None, reason: str | None, *outcomes: str) -> Any:
        found = None if reason is None else types.SimpleNamespace(reason=reason)
        plans = [types.SimpleNamespace(outcome=one) for one in outcomes]
        times = {} if gain is None else {0: types.SimpleNamespace(plain=1e9 * gain, native=0.0)}
        return types.SimpleNamespace(capture=types.SimpleNamespace(break_=found, loops=plans), times=times)

    for segments, promised in (
        ([], 1000.0),
        ([segment(None, "loop-goes-on", "segments")], 1000.0),  # what is in it is not known yet
        ([segment(1e-6, None)], 1000.0),  # a whole call
        ([segment(1e-6, "data-dependent-branch")], 500.0),
        ([segment(5e-6, "data-dependent-branch")], 500.0),
        ([segment(None, "c-function", "segments"), segment(1e-6, "c-function")], 250.0),
        ([segment(1e-6, "c-function", "native")], 1000.0),
        ([segment(1e-6, "c-function")], 1000.0),
    ):
        watch.expectations.attempted(segments)
        assert round(expected[-1], -1) == promised


def test_an_attempt_that_brings_no_code_at_all_has_brought_nothing() -> None:
    watch = Watch(policy.Thresholds(barren_share=0.5))
    for has_entry, hope in ((True, 1.0), (False, 0.5), (False, 0.25)):
        watch.expectations.attempted([], has_entry)
        assert watch.expectations.hope == hope
    watch.expectations.is_proved = True
    watch.expectations.attempted([], False)
    assert watch.expectations.hope == 1.0


def test_a_loop_that_has_lost_is_no_loop_of_numbers() -> None:
    watch = Watch(policy.THRESHOLDS)
    round_: Any = type("Round", (), {"plain": 1_000, "n_plain": 10, "loses": False})
    assert watch.expectations._seen_kind(round_, LoopKind(OF_NUMBERS, 4))
    round_.loses = True
    assert not watch.expectations._seen_kind(round_, LoopKind(OF_NUMBERS, 4))


def test_an_inner_loop_that_takes_no_time_says_nothing_of_the_one_around_it() -> None:
    class Rounds:
        def __init__(self, plain: int, n_plain: int) -> None:
            self.plain, self.n_plain, self.loses = plain, n_plain, False

    watch = Watch(policy.THRESHOLDS)
    expectations: Any = watch.expectations
    around, numbers = Rounds(10_000_000, 5), Rounds(0, 0)
    expectations.kinds |= {around: LoopKind(0), numbers: LoopKind(OF_NUMBERS, 4)}
    expectations.looked_into[around] = [numbers, around]
    assert not expectations._is_numeric(around)
    numbers.plain, numbers.n_plain = 100_000, 50
    assert not expectations._is_numeric(around)
    numbers.plain = 1_000_000
    assert expectations._is_numeric(around)


def test_the_function_in_which_most_time_goes_is_compiled_first() -> None:
    watch = Watch(policy.Thresholds(heart=0.0, heart_waits=2))
    codes = [f.__code__ for f in (loop, until, nested, sharing)]
    called = {"loop": ("until",), "until": ("nested", "range"), "nested": ("loop",), "sharing": ()}
    spent = {"loop": (9.0, 10), "until": (8.5, 20), "nested": (8.0, 30), "sharing": (0.5, 10**6)}
    for code in codes:
        name, (seconds, calls) = code.co_name, spent[code.co_name]
        key = code.co_filename, code.co_firstlineno
        poll: Any = types.SimpleNamespace(spent=seconds * 1e9, calls=calls, off=False)
        watch.entries.append((poll, *key, name))
        watch.names[key] = called[name]
    heart = nested.__code__
    # For `sharing` they have waited enough.
    assert [watch._waits(code, 10.0) for code in codes] == [True, True, False, False]
    watch.waited.clear()
    watch.asked.add((heart.co_filename, heart.co_firstlineno))
    assert not any(watch._waits(code, 10.0) for code in codes)
    watch.asked.clear()
    for poll, *_ in watch.entries:
        poll.calls = 10**9  # they are better inlined
    assert not any(watch._waits(code, 10.0) for code in codes)
    watch.from_outside.add((heart.co_filename, heart.co_firstlineno))  # but for one that np.vectorize calls, say
    assert watch._waits(codes[0], 10.0)


def test_who_calls_a_function_tells_whether_it_is_inlined() -> None:
    watch = Watch(policy.Thresholds(budget_share=0.0, budget_base=-1.0))

    def is_watched() -> Any:
        return watch.miss(loop, ())

    def is_not_watched() -> Any:
        return watch.miss(until, ())

    watch.watched_code.add((is_watched.__code__.co_filename, is_watched.__code__.co_firstlineno))
    assert is_watched() is None and is_not_watched() is None
    assert watch.from_outside == {(until.__code__.co_filename, until.__code__.co_firstlineno)}


def test_a_short_loop_is_left_to_the_code_of_its_function() -> None:
    def total(x: Any) -> Any:
        found = 0.0
        for i in range(40):
            found += float((x * i).sum())
        return found

    watch = Watch(policy.Thresholds(hot_function=1e6, hot_loop=0.001, budget_base=1e6))
    fast: Any = types.FunctionType(watch.watched(total.__code__), globals())
    x = np.arange(10.0)
    try:
        for _ in range(400):
            assert fast(x) == total(x)
    finally:
        watch.end()
    assert not watch.loops_entered


def test_a_function_of_short_calls_runs_without_polls_in_its_loops() -> None:
    def total(x: Any, n: int) -> Any:
        found = 0.0
        for i in range(n):
            found += float((x * i).sum())
        return found

    # NB: a loop that is found too short to be entered would wait for a share of all the time that the tests have taken
    limits = policy.Thresholds(hot_function=1e6, hot_loop=0.001, short_call=0.01, budget_base=1e6, too_short=0.0)
    watch = Watch(limits)
    fast: Any = types.FunctionType(watch.watched(total.__code__), globals())
    whole = fast.__code__
    x = np.arange(10.0)
    try:
        while fast.__code__ is whole:
            assert fast(x, 1) == total(x, 1)
        assert len(fast.__code__.co_code) < len(whole.co_code)
        assert decoded(fast.__code__) == decoded(total.__code__)
        while fast.__code__ is not whole:  # until a long call is timed
            assert fast(x, 2000) == total(x, 2000)
        tries = 20  # on a busy machine one may take less CPU time than it seems, or more to compile than is there
        while tries and not watch.loops_entered:
            for n in (1, 1, 3000):
                assert fast(x, n) == total(x, n)
            assert fast.__code__ is whole
            tries -= 1
    finally:
        watch.end()
    assert watch.loops_entered


def test_a_function_whose_loops_have_no_prospects_runs_without_polls_in_them_for_a_while() -> None:
    def checks(n: int) -> int:
        found = 0
        for i in range(n):
            found += zlib.crc32(b"%d" % i)
        return found

    limits = policy.Thresholds(hot_function=0.002, hot_loop=0.001, short_call=0.0, no_prospects=0.3, budget_base=1e6)
    watch = Watch(limits)
    watched: Any = types.FunctionType(watch.watched(checks.__code__), globals())
    whole = watched.__code__
    try:
        for _ in range(2):
            while watched.__code__ is whole:
                assert watched(200_000) == checks(200_000)
                assert not watch.asked  # for the loop takes nearly all of a call
            assert decoded(watched.__code__) == decoded(checks.__code__)
            began = time.monotonic()
            while watched.__code__ is not whole:
                assert watched(200_000) == checks(200_000)
            assert time.monotonic() - began > 0.1
    finally:
        watch.end()
    assert not watch.loops_entered


def test_a_function_with_another_loop_goes_on_with_its_polls() -> None:
    def work(x: Any, n: int) -> tuple[int, Any]:
        found = 0
        for i in range(n):
            found += zlib.crc32(b"%d" % i)
        for _ in range(n // 100):
            x = np.exp(-x) + 1.0
        return found, x

    limits = policy.Thresholds(hot_function=1e6, hot_loop=0.001, short_call=0.0, others_take=0.01, budget_base=1e6)
    watch = Watch(limits)
    watched: Any = types.FunctionType(watch.watched(work.__code__), globals())
    whole, x = watched.__code__, np.linspace(0.0, 1.0, 1000)
    try:
        rest = 20  # calls after it was found out
        while rest:
            found, expected = watched(x, 100_000), work(x, 100_000)
            assert found[0] == expected[0] and found[1].tobytes() == expected[1].tobytes()
            assert watched.__code__ is whole
            rest -= True in watch.opaque.values()
    finally:
        watch.end()


def around_neighbours(x: Any, n: int) -> Any:
    for i in range(n):
        for k in (-1, 0, 1):
            x = x * 0.5 + k
        for j in range(n):
            x = x + j
        x = x - i
    return x


@pytest.mark.parametrize("edge_of", ["", "i", "k", "j"])
def test_short_inner_loops_have_edges_but_no_polls(edge_of: str) -> None:
    code = decoded(around_neighbours.__code__)

    def name(loop: Any) -> str:
        return str(code.instrs[loop.header + 1].arg)

    def make_edge(of: Any, loop: Any) -> object | None:
        return _C.Poll(loop) if loop is not None and name(loop) == edge_of else None

    edged = Watch().with_polls(around_neighbours.__code__, make_edge)
    polls = [const for const in edged.co_consts if type(const) is _C.Poll]
    assert {name(poll.place) for poll in polls} == {"i", "j"} | ({edge_of} - {""})
    for poll in polls:
        assert name(poll.place) == "k" or innermost(code, poll.place)


def test_calls_of_a_function_that_was_given_other_code_are_specialised() -> None:
    source = """
import numpy
def short(x):
    return x[0] + 1
def many(n):
    found = 0
    for _ in range(n):
        found = short((found,))
    return found
def changed(x, y=1):
    return x + y
changed.__defaults__ = (2,)
"""
    cold = {"hot_function": 1e6, "hot_loop": 1e6}
    watch = Watch(policy.Thresholds(**cold, operations=1, polls_after=0.0, short_function=1.0))
    names: dict[str, Any] = {}
    exec(watch.watched(compile(source, "mine.py", "exec")), names)
    short, many, changed = names["short"], names["many"], names["changed"]
    before, without, tries = short.__code__, len(compile(source, "mine.py", "exec").co_consts[2].co_code), 2000
    try:
        while tries and len(short.__code__.co_code) != without:
            tries -= 1
            assert many(100) == 100
        assert short.__code__ is not before and tries
        assert [changed(i) for i in range(100)] == list(range(2, 102))
        assert many(10_000) == 10_000
    finally:
        watch.end()
    names_of_calls = [each.opname for each in dis.get_instructions(many, adaptive=True) if "CALL" in each.opname]
    assert "CALL_PY_EXACT_ARGS" in names_of_calls


def test_of_a_function_that_calls_itself_no_time_counts_twice() -> None:
    source = """
def halved(x, depth):
    x = x * 2.0 - x[0] + 1.0
    return x if depth == 0 else halved(x, depth - 1) + halved(x, depth - 1)
"""
    cold = {"hot_function": 1e6, "hot_loop": 1e6}
    watch = Watch(policy.Thresholds(**cold, operations=1, polls_after=0.0, short_function=0.0))
    names: dict[str, Any] = {}
    exec(watch.watched(compile(source, "mine.py", "exec")), names)
    began = time.perf_counter()
    try:
        for _ in range(3):
            names["halved"](np.ones(4), 9)
    finally:
        watch.end()
    took = time.perf_counter() - began
    (poll,) = (poll for poll, *_ in watch.entries)
    assert 0.2 * took < poll.spent * 1e-9 <= took and poll.calls > 500


def searching(rows: int, longest: int) -> int:
    found = 0
    for row in range(rows):
        left = row % longest
        while left:
            left, found = left - 1, found + left
    return found


def test_a_loop_that_begins_often_and_ends_soon_is_not_entered() -> None:
    cold = {"hot_function": 1e6, "hot_loop": 1e6, "look": 0.0}
    watch = Watch(policy.Thresholds(**cold, operations=1, polls_after=0.0, short_call=0.0, together=0))
    function: Any = types.FunctionType(watch.watched(searching.__code__), globals())
    try:
        function(400, 8)
    finally:
        watch.end()
    polls = [const for const in function.__code__.co_consts if type(const) is _C.Poll and const.round is not None]
    (inner,) = (poll for poll in polls if poll.place.outer is not None)
    assert 200 < inner.round.n_begun <= 400 and inner.round.n_plain > 400
    names: tuple[dict[str, Any], list[Any]] = {"left": 3, "found": 0}, [iter(range(100))]
    assert not watch._look_ahead(inner, function, names[1], names[0])
    for limit in ("short_loop", "way_in"):
        watch.expectations.limits = replace(watch.expectations.limits, **{limit: 0.0})
    assert watch._look_ahead(inner, function, names[1], names[0])


def test_runs_of_a_loop_that_begins_often_pass_without_a_look() -> None:
    watch = Watch(policy.Thresholds(hot_function=1e6, hot_loop=1e6, look=1e3, operations=1, short_call=0.0, together=0))
    function: Any = types.FunctionType(watch.watched(searching.__code__), globals())
    polls = [const for const in function.__code__.co_consts if type(const) is _C.Poll and const.round is not None]
    (inner,) = (poll for poll in polls if poll.place.outer is not None)
    strides = []
    try:
        assert function(40_000, 5) == searching(40_000, 5)
        strides.append(inner.stride)
        for _ in range(200):  # another call is another run
            function(3, 5)
            strides.append(inner.stride)
    finally:
        watch.end()
    assert max(strides) >= 16
    begun, rounds = 32_000, 80_000  # 4 of 5 rows have some, and 2 are of each between the first and the last look
    assert 0.5 * begun < inner.round.n_begun < 2 * begun
    assert 0.3 * (rounds - begun) < inner.round.n_plain < 3 * (rounds - begun)
    assert inner.round.plain / inner.round.n_plain < 10e3  # ns


def printing_rows(x: Any, rows: int) -> Any:
    found = 0.0
    for row in range(rows):
        print(row)
        left = row % 8
        while left:
            left, found = left - 1, found + x[left]
    return found


def test_a_loop_that_compiled_code_has_left_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    made = watched.Watched(printing_rows, watched.LOOPS_AT_ONCE, "reference")
    assert made.function(np.ones(9), 60) == printing_rows(np.ones(9), 60)
    assert capsys.readouterr().out.split() == [str(row) for row in range(60)] * 2
    (known,) = (one for one in made.watch.rounds.values() if one.entered)
    assert known.entered > 1 and known.n_begun == 0


def waiting(x: Any, n: int, first: int) -> Any:
    for i in range(n):
        x = x * 0.5 + 1.0
        print(i)
        sum(range(200_000 if i else first))
    return x


@pytest.mark.parametrize("first", [200_000, 2_000_000])
def test_rounds_that_clearly_lose_are_few(first: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Four take some milliseconds: there is no need of sixteen. Where one plain round is all that is known, because it
    took long, others run before that is decided."""
    runs = []

    def slow(graph: Any, examples: Any) -> Any:
        made = resolve("reference")(graph, examples)

        def run(*given: Any) -> Any:
            runs.append(1)
            ends = time.thread_time() + 0.1
            while time.thread_time() < ends:
                pass
            return made(*given)

        return run

    made = watched.Watched(waiting, replace(watched.LOOPS_AT_ONCE, hot_loop=0.005), slow)
    assert np.array_equal(made.function(np.ones(3), 40, first), waiting(np.ones(3), 40, first))
    assert capsys.readouterr().out.split() == [str(i) for i in range(40)] * 2
    assert 4 <= len(runs) < 12
    (known,) = made.watch.rounds.values()
    assert known.loses


MANY = list(range(20_000))


def without_programs(n: int) -> int:
    text = ""
    for i in range(n):
        text = repr(MANY)
        print(i)
    return len(text)


def test_rounds_in_which_nothing_compiled_has_run_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    """Even where they do not lose: plain code is not slower in rounds that it alone runs."""
    limits = replace(watched.LOOPS_AT_ONCE, hot_loop=0.005, worth=1e6, clear=1e6)
    made = watched.Watched(without_programs, limits, "reference")
    assert made.function(60) == without_programs(60)
    assert capsys.readouterr().out.split() == [str(i) for i in range(60)] * 2
    assert made.stats()["native_calls"] == 0
    (known,) = made.watch.rounds.values()
    assert 1 <= known.entered < 45


def test_folders_that_packages_were_installed_into_hold_no_users_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "target" / "some-1.0.dist-info").mkdir(parents=True)
    places = [str(tmp_path / name) for name in ("own", "target")]
    monkeypatch.setattr(sys, "path", ["", *places, *sys.path])
    assert policy.is_looked_at(os.path.join(places[0], "some.py"), "some")
    assert not policy.is_looked_at(os.path.join(places[1], "some", "part.py"), "some.part")
    monkeypatch.setattr(sys, "path", [places[1], *sys.path[1:]])  # the program's own folder
    assert policy.is_looked_at(os.path.join(places[1], "some.py"), "some")


def test_files_that_are_not_the_users_are_left_alone() -> None:
    for name in ("stdlib", "platstdlib"):
        assert os.path.normpath(sysconfig.get_path(name)) + os.sep in policy._LIBRARIES
    assert not policy.is_looked_at(np.__file__, "numpy")
    assert not policy.is_looked_at(traceback.__file__, "traceback")
    assert not policy.is_looked_at("<frozen importlib._bootstrap>", "importlib._bootstrap")
    assert not policy.is_looked_at(policy.__file__, "dynamo_lite.policy")
    assert policy.is_looked_at(__file__, __name__)
    with policy.config.patch(include={"numpy"}, exclude={"tests"}):
        assert policy.is_looked_at(np.__file__, "numpy.lib")
        assert not policy.is_looked_at(__file__, "tests.watch.test_whole_program")


def test_a_file_that_does_not_speak_of_numpy_is_left_as_it_is() -> None:
    source = b"def f(x):\n    for i in range(3):\n        x = g(x)\n    return x\n"
    code = compile(source, __file__, "exec")
    program = Program()
    assert program.prepared(code, source) is code
    assert program.prepared(code, b"import numpy\n" + source) is not code
    program.end()


@pytest.mark.parametrize(
    ("line", "is_watched"),
    [
        *[("x = u[i, :]", True), ("x = u[:, 0]", True), ("u[1:-1, i] = 0", True), ("x = u[i][1:], i", False)],
        *[("x = {1: [i, 2], 3: [4]}", False), ("x = [lambda y: y, i]", False), ("x = u[i, 1]", False)],
    ],
)
def test_a_file_that_takes_slices_of_arrays_is_watched(line: str, is_watched: bool) -> None:
    """It may be given arrays by one that imports NumPy, and have the loops in which all of the time goes."""
    source = f"def f(u):\n    for i in range(3):\n        {line}\n".encode()
    code = compile(source, __file__, "exec")
    program = Program()
    assert (program.prepared(code, source) is not code) == is_watched
    program.end()


def test_a_file_that_imports_numba_is_left_as_it_is() -> None:
    program = Program()
    source = b"import numpy as np\nfrom numba import njit\n@njit\ndef f(x):\n    return x[0] * 2\n"
    code = compile(source, "/tmp/a_users_file.py", "exec")
    assert program.prepared(code, source) is code


def test_what_calls_within_calls_save_counts_once() -> None:
    watch = Watch()

    def add(name: str, line: int, names: tuple[str, ...], *savings: tuple[float, float, int]) -> None:
        watch.entries.append((types.SimpleNamespace(savings=list(savings)), "file", line, name))  # type: ignore[arg-type]
        watch.names["file", line] = names

    add("A.outer", 1, ("inner",), (0.0, 2.0, 2))
    add("inner", 2, (), (2.0, 0.01, 100))
    add("other", 3, ("numpy",), (0.5, 0.5, 1), (0.0, 0.0, 0))
    assert watch.saved() == pytest.approx(5.0)
    add("loses", 4, ("inner",), (0.0, -0.5, 1))
    assert watch.saved() == pytest.approx(4.5)
    assert watch.saved(1) == pytest.approx(2.51)  # gains since the latest plain call are a guess
    watch.entries.clear()
    add("loses", 4, ("inner",), (0.0, -0.5, 3))
    assert watch.saved(1) == pytest.approx(-1.5)


def test_a_budget_grows_with_the_time_that_has_passed() -> None:
    spent = policy.Budget(policy.Thresholds(budget_base=0.0, budget_share=0.0))
    assert spent.allows()
    assert not spent.allows(cost=1.0)
    with timed():
        sum(range(10_000))
    assert not spent.allows()
    assert spent.allows(saved=10.0)
    spent = policy.Budget(policy.Thresholds(budget_base=1.0, budget_share=0.0))
    with spent.attempt():
        spin = time.thread_time()
        while time.thread_time() < spin + 0.6:
            pass
    assert not spent.allows()  # the next one would take about as long
    assert policy.Budget(policy.Thresholds(budget_base=1e9)).allows()


def test_what_goes_beyond_a_stake_has_to_be_saved() -> None:
    budget = policy.Budget(
        policy.Thresholds(budget_share=0.05, budget_stake=0.5, budget_trust=1e9, budget_later=0.01, budget_gains=0.5)
    )
    budget.expects("loop", 10_000.0 - time.process_time())
    assert budget.allows(cost=5.0)  # 0.5 s and a hundredth of 500 s
    assert not budget.allows(cost=6.0)
    assert budget.allows(cost=6.0, saved=4.0)


def test_rounds_that_get_shorter_are_expected_to_stay_so() -> None:
    class Rounds:
        plain, n_plain = 8_000_000, 4

    expectations, of_a_sieve = Watch(policy.THRESHOLDS).expectations, Rounds()
    assert expectations._each(of_a_sieve) == pytest.approx(2e-3)  # type: ignore[arg-type]
    of_a_sieve.plain, of_a_sieve.n_plain = 9_000_000, 14
    assert expectations._each(of_a_sieve) == pytest.approx(1e-4)  # type: ignore[arg-type]
    of_a_sieve.plain, of_a_sieve.n_plain = 11_000_000, 15  # longer ones may be an exception
    assert expectations._each(of_a_sieve) == pytest.approx(11e-3 / 15)  # type: ignore[arg-type]
    of_a_sieve.plain, of_a_sieve.n_plain = 1_000_000, 1  # it has begun anew
    assert expectations._each(of_a_sieve) == pytest.approx(1e-3)  # type: ignore[arg-type]


def test_a_slower_machine_has_a_larger_stake() -> None:
    limits = policy.Thresholds(
        **{"budget_base": 0.0, "budget_share": 1.0, "budget_stake": 0.5, "budget_trust": 2.0, "budget_later": 0.0},
        **{"compiler": 0.1, "first": 0.2, "slowest": 3.0},
    )
    budget = policy.Budget(limits)
    budget.expects("loop", 10_000.0, 1.0)

    def may_take(seconds: float) -> bool:
        return budget.allows(cost=0.99 * seconds) and not budget.allows(cost=1.01 * seconds)

    assert may_take(0.5)
    budget.imported(0.05, 0.1)  # on a faster one it is the same
    assert may_take(0.5)
    budget.imported(0.2, 0.1)
    assert may_take(1.0)
    budget.imported(5.0, 0.1)  # something else than the machine is slow
    assert may_take(1.5)


def test_on_a_slower_machine_the_compiler_is_imported_where_more_may_be_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "process_time", lambda: 0.0)
    limits = policy.Thresholds(
        **{"budget_base": 0.0, "budget_share": 1.0, "budget_stake": 0.0, "budget_trust": 9.0, "budget_later": 0.05},
        **{"compiler": 0.1, "first": 0.2, "slowest": 3.0},
    )
    budget = policy.Budget(limits)
    budget.expects("loop", 8.0)  # 0.4 s of which may be spent
    assert budget.allows_import()
    budget.imported(0.03, 0.02)
    assert not budget.allows_import()
    budget.imported(0.02, 0.02)
    assert budget.allows_import()


def test_on_a_faster_machine_the_compiler_is_imported_where_less_may_be_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "process_time", lambda: 0.0)
    limits = policy.Thresholds(
        **{"budget_base": 0.0, "budget_share": 1.0, "budget_stake": 0.0, "budget_trust": 9.0, "budget_later": 0.05},
        **{"compiler": 0.1, "first": 0.2, "fastest": 0.5},
    )
    budget = policy.Budget(limits)
    budget.expects("loop", 4.0)  # 0.2 s of which may be spent
    assert not budget.allows_import()
    budget.imported(0.012, 0.02)
    assert budget.allows_import()
    budget.expects("loop", 2.0)
    budget.imported(0.001, 0.02)  # what is so fast tells of something else
    assert not budget.allows_import()


def test_once_the_compiler_is_there_a_part_of_what_is_known_to_come_may_be_spent_whatever_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policy, "process_time", lambda: 0.0)
    limits = policy.Thresholds(budget_base=-1.0, compiler=0.1, rest_part=0.2, next_part=0.1, budget_tries=2)
    budget = policy.Budget(limits)
    budget.expects("loop", 0.0, 1.0)
    assert not budget.allows(0.01)
    budget.imported(0.1, 0.1)  # what watches
    assert not budget.allows(0.01)
    budget.imported_compiler(0.1)
    assert budget.allows(0.09)
    assert not budget.allows(0.11)
    assert budget.allows(0.19, goes_on=True)  # half of a loop is a loss
    assert not budget.allows(0.21, goes_on=True)
    assert not budget.allows(0.09, share=0.5)
    budget._before -= 0.2  # which was spent, half of it for the compiler
    assert budget.allows(0.04)
    assert not budget.allows(0.06)  # that is too much in all
    budget._before += 0.2
    for _ in range(2):  # which have shown no gain
        budget._tries["f"] = budget._tries.get("f", 0.0) + 1.0
    assert not budget.allows(0.01, of="f")
    assert budget.allows(0.01, of="g")


def test_who_was_refused_waits_until_half_of_what_is_missing_is_there() -> None:
    limits = policy.Thresholds(budget_base=0.0, budget_share=0.5, ask_again=1e6, budget_stake=1e6, budget_trust=0.0)
    slow = policy.Budget(replace(limits, budget_base=-1e3))
    assert slow.wait() == pytest.approx(1e3 - 0.5 * time.process_time(), rel=0.01)  # 500 s of which half is share
    seldom = policy.Budget(replace(limits, budget_base=-1e3, ask_again=0.1))
    assert seldom.wait() <= 0.1 * (time.process_time() + 1e-3)  # the budget's clock is read to half a millisecond
    assert policy.Budget(replace(limits, budget_share=0.0, ask_again=0.0)).wait() == 0.0


def test_how_long_one_waits_is_told_of_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "process_time", lambda: 100.0)
    limits = policy.Thresholds(budget_base=0.0, budget_share=0.01, ask_again=1e6, budget_stake=1e6, budget_trust=0.0)
    budget = policy.Budget(limits)
    budget._before = policy.budget.taken()
    assert not budget.allows(2.0) and budget.wait(2.0) == pytest.approx(50.0, rel=0.01)  # 1 s is missing, half of it
    assert not budget.allows(2.0, share=0.5) and budget.wait(2.0, share=0.5) == pytest.approx(150.0, rel=0.01)
    assert not budget.allows(2.0, goes_on=True)  # of which half as much again is there
    assert budget.wait(2.0, goes_on=True) == pytest.approx(25.0, rel=0.01)
    assert budget.allows(0.5) and budget.wait(0.5) == 0.0  # nobody was refused


@pytest.mark.parametrize("seconds", [-1.0, 1e300, math.inf, math.nan])
def test_any_number_of_seconds_is_a_time_to_rest(seconds: float) -> None:
    def asked(x: float) -> float:
        return x

    _C.cool(asked, seconds)
    assert asked(1.5) == 1.5


def test_files_that_are_imported_once_the_program_has_ended_are_not_watched() -> None:
    code = compile("def f(x):\n    for i in range(3):\n        x += i\n", "mine.py", "exec")
    watch = Watch(policy.AT_ONCE)
    assert watch.watched(code) is not code
    watch.end()
    assert watch.watched(code) is code
    program = Program(policy.AT_ONCE)
    assert program.prepared(code, b"import numpy") is not code
    program.end()
    program.forget()
    assert program.prepared(code, b"import numpy") is code


def test_a_file_whose_polls_cannot_be_written_runs_plainly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("of ours")

    code = compile("x = 1\n", "mine.py", "exec")
    watch = Watch(policy.AT_ONCE)
    monkeypatch.setattr(config, "check", 0)
    monkeypatch.setattr(watching, "with_questions", fail)
    try:
        assert watch.watched(code) is code
    finally:
        watch.end()
    (said,) = watch.failures
    assert "ZeroDivisionError: of ours" in said


def raising(x: float) -> float:
    for _ in range(3):
        x = x * 0.5 + 1.0
    if x > 2.0:
        raise ValueError(x)
    return (x * 0.25 + 3.0) * x - 1.0


def test_plain_calls_that_raise_are_not_timed() -> None:
    limits = replace(policy.THRESHOLDS, polls_after=0.0, hot_function=1e6, short_function=1.0, tried_short=2)
    watching = watched.Watched(raising, limits, "reference")
    polls = (const for const in watching.function.__code__.co_consts if isinstance(const, _C.Poll))
    (poll,) = (one for one in polls if one.round is None)
    for _ in range(50):
        with pytest.raises(ValueError, match=re.escape("2.5")):
            watching.function(6.0)
    assert poll.times == []
    assert watching.function(0.5) == raising(0.5)


def test_questions_count_as_time_for_compiling() -> None:
    watch = Watch(policy.Thresholds(hot_function=0.0, hot_loop=0.0, look=0.0, budget_share=0.0, ask_again=0.0))
    ready: Any = types.FunctionType(watch.watched(loop.__code__), globals())
    try:
        for _ in range(50):
            ready(np.ones(4), 20)
    finally:
        watch.end()
    assert watch.put_off > 10 and watch.budget.spent > 0.0


@pytest.mark.skipif(not FACTS.prefixes, reason="functions have polls from the start")
def test_a_function_without_loops_gets_polls_once_it_has_taken_time() -> None:
    source = (
        "def short(x):\n    return x * 2 + x[0] - x[1]\ndef looping(x):\n    for _ in range(2):\n        x = x * 2\n"
    )
    watch = Watch(policy.Thresholds(polls_after=0.02, hot_function=1e6, hot_loop=1e6))
    names: dict[str, Any] = {}
    exec(watch.watched(compile(source + "import numpy\n", "mine.py", "exec")), names)
    short, looping = names["short"], names["looping"]
    code = short.__code__
    try:
        small = np.ones(3)
        assert [short(small).tolist() for _ in range(20)] == [[2.0] * 3] * 20
        before = looping.__code__
        looping(small)
        assert short.__code__ is code and looping.__code__ is not before
        large, began = np.ones(1_000_000), time.process_time()
        while short.__code__ is code and time.process_time() < began + 10:
            short(large)
        assert short.__code__ is not code and short(small).tolist() == [2.0] * 3
    finally:
        watch.end()


@pytest.mark.skipif(not _C.FREEZES, reason="this Python's lists are not known")
def test_what_is_remembered_of_code_is_not_gone_over_by_the_collector() -> None:
    watch = Watch(policy.Thresholds(hot_function=1e6, hot_loop=1e6))
    names: dict[str, Any] = {}
    exec(watch.watched(compile("def f(x):\n    for i in range(3):\n        x += i\n", "mine.py", "exec")), names)
    before = [one for one in gc.get_objects() if type(one) is Instr]  # NB: held, lest some go and others come
    try:
        names["f"](1)
    finally:
        watch.end()
    known = set(map(id, before))
    assert not [one for one in gc.get_objects() if type(one) is Instr and id(one) not in known]


def test_who_was_refused_asks_again_more_and_more_seldom() -> None:
    """Polls that are refused cost a share of the program's time, however long that runs."""
    watch = Watch(policy.Thresholds(hot_function=1e6, hot_loop=1e-4, look=1e-5, budget_share=0.0, ask_again=0.1))
    ready: Any = types.FunctionType(watch.watched(loop.__code__), globals())
    began = time.process_time()
    try:
        while time.process_time() < began + 0.5:
            ready(np.ones(4), 2000)
    finally:
        watch.end()
    assert 1 <= watch.put_off <= 25  # and not every 10 ms
    assert not watch.loops_entered


def totients(phi: Any, n: int) -> Any:
    for i in range(2, n):
        if phi[i] == i - 1:
            multiples = np.arange(2 * i, n, i)
            phi[multiples] -= phi[multiples] // i
    return phi


def test_rounds_that_get_lighter_are_held_against_plain_ones_of_now() -> None:
    """The first rounds take a thousand times as long as later ones, which lose by breaking at each prime."""
    watch = Watch(policy.Thresholds(hot_function=1e6, budget_base=1e6, budget_trust=1e6))
    ready: Any = types.FunctionType(watch.watched(totients.__code__), globals())
    n = 300_000
    try:
        found = ready(np.arange(-1, n), n)
    finally:
        watch.end()
    assert (found == totients(np.arange(-1, n), n)).all()
    (known,) = watch.rounds.values()
    assert 0 < known.entered < 2_000  # of 26,000 breaks


def test_time_between_calls_is_not_that_of_a_loop() -> None:
    """The frame of the next call has the memory of this one's."""

    def rounds(x: Any) -> Any:
        for i in range(3):
            x = x + i
        return x

    watch = Watch(policy.Thresholds(hot_function=1e6, hot_loop=1e6, look=0.0, together=0))
    ready: Any = types.FunctionType(watch.watched(rounds.__code__), globals())
    try:
        for _ in range(30):
            ready(1)
            time.sleep(0.003)
    finally:
        watch.end()
    (known,) = watch.rounds.values()
    assert known.n_plain >= 30
    assert known.plain / known.n_plain < 1e6  # ns


def test_time_for_compiling_counts_once_where_blocks_are_nested() -> None:
    before, began = taken(), time.thread_time()
    with timed(), timed():
        sum(range(100_000))
    assert 0 < taken() - before <= time.thread_time() - began


@pytest.mark.parametrize("compiler", ["compile", "compile_loops"])
def test_random_programs_are_equal(compiler: str) -> None:
    """More: WATCHED_PROGRAMS=2000."""
    count = budget("WATCHED_PROGRAMS", 80)
    summary = run_range(Campaign("reference", count, seed=23, compile=f"tests.watched:{compiler}"), 0, count)
    assert not summary.found, summary.found[0].text
    assert summary.share("native") > (0.6 if compiler == "compile" else 0.08), str(summary)


def short_branch(x: Any, t: float) -> Any:
    if t < x[0]:
        return None
    return x[1] + x[2] * t


@pytest.mark.parametrize("look", [0.0, 1e-3])
def test_calls_that_stay_plain_are_not_timed(look: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """To time a short call takes longer than the call, and where the guards are not asked there is nothing to learn."""
    monkeypatch.setattr(config, "native_branches", False)  # it is left plain for its segments
    watching = watched.Watched(short_branch, replace(policy.AT_ONCE, look=look), "reference")
    (poll,) = [const for const in watching.function.__code__.co_consts if isinstance(const, _C.Poll)]
    x = np.arange(3.0)
    for _ in range(5000):
        assert watching.function(x, 1.5) == 4.0
    timed_calls = sum(n_plain + n_compiled for _, n_plain, _, n_compiled, _ in poll.times)
    assert watching.stats()["plain_calls"] > 0
    assert timed_calls < 500
    assert watching.function(x, -1.0) is None
    assert watching.function([1.0, 2, 3], 2) == 8


def turned(x: float) -> float:
    for _ in range(WAITED["rounds"]):
        x = x * 0.5 + 1.0
    return (x * 0.25 + 3.0) * x - 1.0


WAITED = {"rounds": 0}


@pytest.mark.parametrize(("first", "then", "excess"), [(400, 0, 2000.0), (0, 400, 0.0)])
def test_what_plain_calls_show_too_much_is_known_by_those_that_are_timed_by_one_clock(
    first: int, then: int, excess: float
) -> None:
    """The first calls are timed by more than that. NB: here they do more, or less, than the later ones."""
    limits = replace(policy.THRESHOLDS, hot_function=0.05, polls_after=0.0, short_function=0.0)
    watching = watched.Watched(turned, replace(limits, budget_share=0.0, brief_call=1.0), "reference")
    polls = (const for const in watching.function.__code__.co_consts if isinstance(const, _C.Poll))
    (poll,) = (one for one in polls if one.round is None)
    for rounds in (first, then):
        WAITED["rounds"] = rounds
        for _ in range(400_000):
            watching.function(1.5)
            (count,) = [row[1] for row in poll.times] or [0]
            if rounds is first and count == 8:
                break
            if count > 30:
                break
    assert poll.excess == excess


CALLS_A_PART = """
import numpy as np
def part(x):
    return x * 0.5 + np.sqrt(x * x + 1.0)
def whole(x, n):
    for _ in range(n):
        x = part(x) - 0.25
    return x
def changed(x):
    return x + 1.0
"""


def test_what_was_inlined_stays_so_while_its_code_gets_other_polls() -> None:
    plain: dict[str, Any] = {}
    exec(CALLS_A_PART, plain)
    watch, names = Watch(policy.AT_ONCE, "numba"), {}
    x = np.linspace(0.0, 1.0, 1000)
    exec(watch.watched(compile(CALLS_A_PART, "mine.py", "exec")), names)
    whole, part = names["whole"], names["part"]

    def check() -> int:
        assert whole(x, 40).tobytes() == plain["whole"](x, 40).tobytes()
        assert watch.compilation is not None
        return int(watch.compilation.stats()["native_calls"])

    try:
        check()
        before = check()
        codes = [part.__code__]
        compiled = len(watch.compilation.segments) if watch.compilation is not None else 0
        for _ in range(20):
            assert part(x).tobytes() == plain["part"](x).tobytes()
            codes.append(part.__code__)
        of_part = len(watch.compilation.segments) if watch.compilation is not None else 0
        (entry,) = (const for const in part.__code__.co_consts if type(const) is _C.Poll)
        if entry.without is not None:
            part.__code__ = entry.without
            codes.append(part.__code__)
        assert len(set(map(id, codes))) > 1
        assert check() > before and compiled > 0
        assert watch.compilation is not None and len(watch.compilation.segments) == of_part
        part.__code__ = names["changed"].__code__  # by the program
        plain["part"].__code__ = plain["changed"].__code__
        check()
    finally:
        watch.end()


def test_calls_of_what_does_not_pay_pass_whatever_numbers_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all entries are retired, not each call is dispatched and timed to find that it runs plainly."""
    monkeypatch.setattr(config, "native_branches", False)
    watching = watched.Watched(short_branch, replace(policy.AT_ONCE, look=1e-3), "reference")
    (poll,) = [const for const in watching.function.__code__.co_consts if isinstance(const, _C.Poll)]
    x, stride, t = np.arange(3.0), 1, 1
    while stride <= 50 and t < 30000:  # a machine that pauses takes longer to
        assert watching.function(x, t) == 1.0 + 2.0 * t
        stride = max(stride, poll.stride)
        t += 1
    assert stride > 50
    assert watching.stats()["plain_calls"] < max(300, t / 10)  # that were dispatched


def test_copies_of_polls_are_never_true() -> None:
    """As in code objects that are shipped to another process, or to this one: the copies know another GO_ON."""
    call: Any = watched.compile(loop)
    polls = [const for const in call.__code__.co_consts if isinstance(const, _C.Poll)]
    assert polls
    for poll in polls:
        again = pickle.loads(pickle.dumps(poll))
        assert not any(bool(again) for _ in range(100))


CHANGED = """
def short(x):
    return x[0] * 2.0 + x[1] * x[2] - x[1]

def long(x):
    total = 0.0
    for i in range(300):
        total += x[i % 3] * 2.0
    return total
"""


@pytest.mark.parametrize("name", ["short", "long"])
@pytest.mark.parametrize("limits", [policy.AT_ONCE, watched.LOOPS_AT_ONCE], ids=["calls", "loops"])
@pytest.mark.parametrize("calls", [0, 1, 5])
def test_copies_of_code_with_other_constants_do_what_they_say(name: str, limits: Any, calls: int) -> None:
    """As a decorator makes them that binds globals as constants: before the first call, and of code that has polls."""
    watch = Watch(limits, "reference")
    names: dict[str, Any] = {"__name__": "changed"}
    exec(watch.watched(compile(CHANGED, "changed.py", "exec")), names)
    function, x = names[name], np.arange(1.0, 4.0)
    before = [function(x) for _ in range(calls)]
    code = function.__code__
    consts = tuple(3.0 if type(const) is float and const == 2.0 else const for const in code.co_consts)
    changed = types.FunctionType(code.replace(co_consts=consts), names)
    plain: dict[str, Any] = {}
    exec(CHANGED.replace("2.0", "3.0"), plain)
    assert {changed(x) for _ in range(5)} == {plain[name](x)}
    assert len({*before, function(x), function(x)}) == 1
    watch.end()


def relaxes(error: float, target: float) -> None:
    while error > target:
        error *= 0.9


def relaxes_until(x: Any, target: float) -> None:
    for _ in range(1000):
        error = x.sum()
        if target > -2 and error < target:
            break


@pytest.mark.parametrize("function", [relaxes, relaxes_until])
def test_what_gets_smaller_by_a_factor_ends_at_a_target(function: Any) -> None:
    code = decode(function.__code__)
    (header,) = [one.header for one in loops(code)]

    def looks(target: float) -> list[float | None]:
        whiles, found = Whiles(), []
        for count, error in ((10, 1.0), (20, 0.5), (30, 0.25), (40, 0.125), (50, 0.0625)):
            names = {"error": error, "target": target}
            found.append(whiles.rounds_left(1, lambda: comparisons(code, header), (names,), count))
        return found

    assert looks(2.0**-10) == [None, pytest.approx(10.0, rel=0.01), *map(pytest.approx, (80.0, 70.0, 60.0))]
    assert looks(0.0) == [None, 10.0, None, None, None]  # which it never is
    assert looks(-1.0) == [None, 30.0, None, None, None]
    assert looks(5e-324)[2:] == [pytest.approx(10.0 * bits) for bits in (1072, 1071, 1070)]  # no quotient is infinite


def test_the_outermost_loop_is_asked_first_and_then_the_ones_within(monkeypatch: pytest.MonkeyPatch) -> None:
    def three(x: Any, n: int) -> None:
        for _ in range(n):
            for i in range(40):
                for j in range(40):
                    x[i, j] = x[i, j] * 0.5 + x[i, j - 1]

    asked: list[int] = []
    monkeypatch.setattr(Watch, "hot", lambda self, poll, *_: asked.append(len(loops_around(poll))) or 0.0)

    def loops_around(poll: Any) -> list[Any]:
        return [one for one in loops(decode(three.__code__)) if poll.place.header in one.body]

    made = watched.Watched(three, replace(watched.LOOPS_AT_ONCE, hot_loop=2e-4, look=1e-5, nudges=10), "reference")
    made.function(np.ones((40, 40)), 60)
    made.watch.end()
    assert asked[0] == 1 and set(asked) >= {1, 2}
    assert asked.index(1) < asked.index(2)
