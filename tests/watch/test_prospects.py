"""What has nothing to gain is known before the compiler is imported (dynamo_lite/watch/prospects.py)."""

from __future__ import annotations

import bisect
import cmath
import copy
import io
import itertools
import math
import random
import sys
import time
import types
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest

import dynamo_lite.compilation  # noqa: F401  first, which the rules need
from dynamo_lite import ops, policy
from dynamo_lite.capture.calls.call_rules import RULES
from dynamo_lite.capture.value import Break
from dynamo_lite.dataclass import replace
from dynamo_lite.pycode import decoded, loops
from dynamo_lite.watch.loop_kinds import kind_of
from dynamo_lite.watch.prospects import _REFUSED, breaks_each_call, breaks_each_round, carries_text, reaches_arrays
from dynamo_lite.watch.watching import Watch
from tests import watched


def transform(c: Any, n: int) -> None:
    for k in range(n):
        c[0] = c[0] + time.perf_counter() * k


def walk(n: int) -> float:
    x = 0.0
    while x < n:
        x += abs(random.getrandbits(1))
    return x


def tossed(n: int) -> int:
    return sum_of(random.randint, n)


def sum_of(toss: Callable[[int, int], int], n: int) -> int:
    total = 0
    for _ in range(n):
        total += toss(0, 1)
    return total


def a_step(x: float) -> float:
    if x > 0.5:
        return x - random.uniform(0.0, 1.0)
    return x + random.uniform(0.0, 1.0)


def sometimes(x: float) -> float:
    if x > 0.5:
        return x - random.uniform(0.0, 1.0)
    return x + 0.1


def calls_a_step(n: int) -> float:
    x = 0.0
    for _ in range(n):
        x = drawn(x)
    return x


def drawn(x: float) -> float:
    return x + random.getrandbits(1)


def reports(n: int) -> float:
    x = 0.0
    for i in range(n):
        x += sqrt(i) * math.sin(x)
        if i % 100 == 0:
            random.random()
    return x


def arrays(x: Any, n: int) -> Any:
    for _ in range(n):
        x = np.sqrt(x) + np.random.random()
    return x


def turned(z: complex, n: int) -> Any:
    for _ in range(n):
        z = z * cmath.exp(1j * random.uniform(0.0, 1.0))
    return z, random.choice([1, 2])


def found(items: list[float], n: int) -> int:
    total = 0
    for i in range(n):
        total += bisect.bisect(items, i)
    return total


def announces(x: Any, n: int) -> float:
    total = 0.0
    for i in range(n):
        print(i, x[i])
        total += x[i]
    return total


def skips(n: int) -> float:
    x = 0.0
    for i in range(n):
        if i % 2:
            continue
        x += random.getrandbits(1)
    return x


def ordered(xs: list[float], n: int) -> float:
    total = 0.0
    for i in range(n):
        total += sorted(xs)[i]
    return total


def chained(xs: list[float]) -> float:
    total = 0.0
    for x in itertools.chain(xs, xs):
        total += x
    return total


def calls_chained(n: int) -> float:
    total = 0.0
    for _ in range(n):
        total += chained([1.0])
    return total


def copies(xs: list[float], n: int) -> int:
    for _ in range(n):
        xs = copy.deepcopy(xs)
    return len(xs)


def is_text(x: Any, n: int) -> int:
    return sum_of(lambda low, high: isinstance(x, str), n)


def of_kinds(x: Any, n: int) -> int:
    total = 0
    for _ in range(n):
        total += isinstance(x, str) or len(set.__name__) > 4
    return total


def either_way(n: int) -> float:
    x = 0.0
    for i in range(n):
        if i % 2:
            x += random.getrandbits(1)
        else:
            x += len(sorted([x, 1.0]))
    return x


class Walker:
    def __init__(self) -> None:
        self.x = 0.0

    @staticmethod
    def step() -> float:
        return random.getrandbits(1)

    def walk(self, n: int) -> None:
        self.move(n * self.step())

    def move(self, x: float) -> None:
        self.x += x

    def walks(self, n: int) -> None:
        for i in range(n):
            self.walk(i)

    def moves(self, n: int) -> None:
        for i in range(n):
            self.move(i)


WALKER = Walker()


class Noise:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self) -> float:
        return self.scale * random.getrandbits(1)


class Scale(Noise):
    def __call__(self) -> float:
        return self.scale


NOISE, SCALE, HALF = Noise(2.0), Scale(2.0), np.vectorize(lambda x: x / 2 if x > 1 else x)


def calls_an_object(n: int) -> float:
    x = 0.0
    for _ in range(n):
        x += NOISE()
    return x


def scales(n: int) -> float:
    x = 0.0
    for _ in range(n):
        x += SCALE()
    return x


def halves(n: int) -> float:
    x = 0.0
    for i in range(n):
        x += HALF(i)
    return x


def is_sent(n: int) -> None:
    for i in range(n):
        WALKER.walk(i)


@pytest.mark.parametrize(("method", "breaks"), [(Walker.walks, True), (Walker.moves, False)])
def test_methods_of_what_variables_hold_are_followed(method: types.FunctionType, breaks: bool) -> None:
    code = decoded(method.__code__)
    (loop,) = loops(code)
    assert breaks_each_round(code, loop, method.__globals__, {"self": WALKER}) == breaks
    assert not breaks_each_round(code, loop, method.__globals__)


def test_what_a_method_is_given_is_known_as_long_as_it_keeps_it() -> None:
    code = decoded(Walker.walk.__code__)
    assert breaks_each_call(code, Walker.walk.__globals__, {"self": WALKER})
    assert not breaks_each_call(code, Walker.walk.__globals__, {"self": object()})


def test_what_is_refused_breaks_the_graph_whatever_it_is_given() -> None:

    for one in _REFUSED:
        rule = RULES.get(one)
        if rule is not None:
            with pytest.raises(Break):
                rule(None, [], {})  # type: ignore[arg-type]
        else:
            assert ops.lookup(one) is None and ops.lookup_folded(one) is None


@pytest.mark.parametrize(
    ("function", "breaks"),
    [
        *[(transform, True), (walk, True), (found, True), (calls_a_step, True)],
        *[(sum_of, False), (reports, False), (arrays, False), (skips, False), (turned, False)],
        *[(ordered, True), (calls_chained, True), (either_way, True), (is_sent, True)],
        (copies, sys.version_info < (3, 14)),  # whose deepcopy returns early for numbers and strings
        *[(of_kinds, False), (calls_an_object, True), (scales, False), (halves, True), (announces, True)],
    ],
)
def test_rounds_that_are_certain_to_break(function: types.FunctionType, breaks: bool) -> None:
    code = decoded(function.__code__)
    assert [breaks_each_round(code, loop, function.__globals__) for loop in loops(code)] == [breaks]


@pytest.mark.parametrize(
    ("function", "breaks"),
    [
        *[(drawn, True), (chained, True), (is_text, False), (sometimes, False), (sum_of, False)],
        *[(transform, False), (arrays, False)],
    ],
)
def test_calls_that_are_certain_to_break(function: types.FunctionType, breaks: bool) -> None:
    assert breaks_each_call(decoded(function.__code__), function.__globals__) == breaks


def digits(text: str) -> int:
    total = 0
    while len(text) != 0:
        total += int(text[-1])
        text = text[: len(text) - 1]
    return total


def report(n: int) -> float:
    x, line = 0.5, ""
    for i in range(n):
        x = math.sin(x + i)
        line = f"{i}: {x}"
        print(line)
    return x


def names_the_best(x: Any, n: int) -> str:
    best, name = 0.0, "none"
    for i in range(n):
        if x[i] > best:
            best, name = x[i], name + "."
    return name


@pytest.mark.parametrize(
    ("function", "values", "carries"),
    [
        (digits, {"text": "101", "total": 1}, True),
        (digits, {"text": [1, 0, 1], "total": 1}, False),
        (digits, {}, False),
        (report, {"x": 0.5, "line": "0: 0.5"}, False),
        (names_the_best, {"best": 0.5, "name": "none"}, False),
    ],
)
def test_rounds_that_go_on_with_another_text(
    function: types.FunctionType, values: dict[str, Any], carries: bool
) -> None:
    code = decoded(function.__code__)
    assert [carries_text(code, loop, values, function.__globals__) for loop in loops(code)] == [carries]


def sums_of_digits(n: int) -> list[int]:
    found = []
    for i in range(n):
        text, total = f"{i:b}", 0
        while text != "":
            total += int(text[-1])
            text = text[:-1]
        found.append(total)
    return found


@pytest.mark.parametrize(("pays", "asks"), [(1e-3, False), (0.0, True)])
def test_a_loop_around_one_of_texts_does_not_ask_for_the_compiler(pays: float, asks: bool) -> None:
    limits = policy.Thresholds(hot_function=10.0, hot_loop=0.001, look=1e-5, break_pays=pays, budget_share=0.0)
    watch = Watch(limits)
    ready: Any = types.FunctionType(watch.watched(sums_of_digits.__code__), globals())
    try:
        assert ready(20000) == sums_of_digits(20000)
    finally:
        watch.end()
    assert (watch.put_off > 0) == asks
    assert watch.compilation is None


def test_looking_runs_no_code_of_the_users() -> None:
    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            raise AssertionError

    class Strange:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError

    code = decoded(transform.__code__)
    for names in ({}, Names(), {"time": Strange()}, {"time": types.ModuleType("time")}):
        assert not any(breaks_each_round(code, loop, names) for loop in loops(code))


@pytest.mark.parametrize(("pays", "asks"), [(1e-3, False), (0.0, True)])
def test_a_loop_without_prospects_does_not_ask_for_the_compiler(pays: float, asks: bool) -> None:
    limits = policy.Thresholds(hot_function=0.001, hot_loop=0.001, look=1e-5, break_pays=pays, budget_share=0.0)
    watch = Watch(limits)
    ready: Any = types.FunctionType(watch.watched(walk.__code__), globals())
    again: Any = types.FunctionType(watch.watched(drawn.__code__), globals())
    began = time.process_time()
    try:
        while time.process_time() < began + 0.3 and not watch.put_off:
            ready(1000)
            again(1.0)
    finally:
        watch.end()
    assert (watch.put_off > 0) == asks
    assert watch.compilation is None


MARK = io.StringIO()  # whose methods break the graph, which nobody knows before


def marked_rounds(x: Any, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += x[k % 4] * 0.5
        MARK.tell()
        total = total * 0.25 + x[1]
        MARK.tell()
        total -= x[2] * x[3]
    return float(total)


def marked_call(x: Any, n: int) -> Any:
    y = x * n + 0.5
    MARK.tell()
    y = y * 0.25 + x - n
    MARK.tell()
    return np.sqrt(y * y + 1.0)


def calls(function: Callable[..., Any], x: Any, n: int) -> None:
    for k in range(n):
        assert function(x, k).tobytes() == marked_call(x, k).tobytes()


SOON = replace(policy.AT_ONCE, hot_loop=1e-3, hot_function=1e-3, look=1e-5, break_pays=1e-4, no_prospects=0.0)


@pytest.mark.parametrize(("least", "gives_up"), [(1e-3, True), (0.0, False)])
def test_a_loop_that_breaks_in_each_short_round_is_captured_no_further(least: float, gives_up: bool) -> None:
    made = watched.Watched(marked_rounds, replace(SOON, hot_function=1e6, least_piece=least), "reference")
    x = np.linspace(0.0, 1.0, 4)
    assert made.function(x, 30_000) == marked_rounds(x, 30_000)
    compilation, pieces = made.watch.compilation, made.watch.pieces
    assert compilation is not None and pieces is not None
    assert bool(pieces._given_up) == gives_up
    assert (len(compilation.segments) <= 2) == gives_up
    texts = [record.message for record in compilation.skips.values()]
    assert any("1 graph break" in text and "in a round of" in text for text in texts) == gives_up


@pytest.mark.parametrize(("least", "gives_up"), [(1e-3, True), (0.0, False)])
def test_a_function_whose_short_calls_break_is_captured_no_further_until_they_are_long(
    least: float, gives_up: bool
) -> None:
    made = watched.Watched(marked_call, replace(SOON, least_piece=least), "reference")
    short, long = np.linspace(0.0, 1.0, 4), np.linspace(0.0, 1.0, 500_000)
    while made.watch.compilation is None or not made.watch.compilation.segments:
        calls(made.function, short, 20)
    calls(made.function, short, 100)
    compilation, pieces = made.watch.compilation, made.watch.pieces
    assert compilation is not None and pieces is not None
    assert bool(pieces._given_up) == gives_up
    assert (len(compilation.segments) == 1) == gives_up
    for _ in range(200 if gives_up else 0):
        calls(made.function, long, 10)
        if len(compilation.segments) > 3:
            break
    assert not gives_up or len(compilation.segments) > 3  # all of it


def copies(x: Any, n: int) -> list[Any]:
    kept = []
    for i in range(n):
        y = np.sin(x[i % 9]) * 0.5 + x[i % 9]
        for _ in range(int(y > 0.5)):
            kept.append(y)
    return kept


def test_a_loop_is_of_numbers_by_its_own_code_too_where_what_is_in_it_tells_nothing() -> None:
    watch = Watch(policy.Thresholds(hot_function=10.0, hot_loop=0.001, look=1e-5, budget_share=0.0))
    ready: Any = types.FunctionType(watch.watched(copies.__code__), globals())
    x = np.linspace(0.0, 1.0, 9)
    try:
        assert ready(x, 30000) == copies(x, 30000)
    finally:
        watch.end()
    first = copies.__code__.co_firstlineno
    (known,) = (one for key, one in watch.rounds.items() if key[3][0] == first + 2)
    assert watch.expectations._is_numeric(known)


class Body:
    def __init__(self, state: Any) -> None:
        self.state = state


def with_dict(body: Body) -> Body:
    assert vars(body)  # from now on it has one
    return body


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)


class Guarded(metaclass=Meta):
    @property
    def __class__(self) -> Any:
        raise AssertionError

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("values", "is_there"),
    [
        ([np.ones(3)], True),
        ([1, np.float64(0.5)], True),
        ([Body(np.ones(3))], True),
        ([Body(Body(np.ones(3)))], True),
        ([[Body(np.ones(3))]], True),
        ([{"a": 1, "u": np.ones(3)}], True),
        ([with_dict(Body(np.ones(3)))], True),
        ([[0.5, 0.25], (1, 2), {"a": 3}], False),
        ([Body([0] * 4), "text", None, Guarded(), Guarded, []], False),
    ],
)
def test_what_variables_hold_has_arrays(values: list[Any], is_there: bool) -> None:
    assert reaches_arrays("file.py", (), values, {}, lambda _: {}) == is_there


def test_names_lead_to_functions_that_use_numpy() -> None:
    called: dict[str, list[tuple[str, tuple[str, ...]]]] = {
        "step": [("file.py", ("push", "math")), ("file.py", ("step",))],
        "push": [("other.py", ("xp", "pull"))],
        "pull": [("other.py", ("step",))],
    }
    spaces: dict[str, dict[str, Any]] = {"file.py": {"math": math, "xp": np}, "other.py": {}}

    def reaches(*names: str) -> bool:
        return reaches_arrays("file.py", names, (), called, lambda file: spaces[file])

    assert reaches("xp") and not reaches("step", "other")
    spaces["other.py"]["xp"] = np
    assert reaches("step")
    spaces["other.py"]["xp"] = Body(np.ones(3))
    assert reaches("step") and not reaches("math")


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def step(self, i: int) -> None:
        self.n = self.n + i if i % 2 else self.n

    def step_of_arrays(self, i: int) -> None:
        self.n = self.n + int(np.sign(i)) if i % 2 else self.n


def steps(counter: Counter, n: int) -> int:
    for i in range(n):
        counter.step(i)
    return counter.n


def steps_of_arrays(counter: Counter, n: int) -> int:
    for i in range(n):
        counter.step_of_arrays(i)
    return counter.n


@pytest.mark.parametrize(("function", "share"), [(steps, 0.25), (steps_of_arrays, 1.0)])
def test_of_objects_that_call_each_other_less_time_counts(function: types.FunctionType, share: float) -> None:
    limits = policy.Thresholds(hot_loop=0.001, look=1e-5, break_pays=0.0, budget_share=0.0, budget_bare=0.25)
    watch = Watch(limits)
    ready: Any = types.FunctionType(watch.watched(function.__code__), globals())
    watch.watched(Counter.step.__code__)  # they are known by name
    watch.watched(Counter.step_of_arrays.__code__)
    try:
        assert ready(Counter(), 30000) == function(Counter(), 30000)
    finally:
        watch.end()
    assert set(watch.expectations.shares.values()) == {share}
    assert watch.compilation is None


@pytest.mark.parametrize(("seconds", "may_be"), [(2.0, False), (math.inf, True)])
def test_a_function_whose_loop_cannot_be_entered_may_be_compiled_all_the_same(seconds: float, may_be: bool) -> None:
    watch = Watch(policy.THRESHOLDS)
    code = decoded(sum_of.__code__)
    (loop,) = loops(code)
    entry: Any = types.SimpleNamespace(calls=3, spent=10**9, rests_until=0)
    watch.entries.append((entry, code.filename, code.firstlineno, code.qualname))
    assert watch._call_has_prospects(sum_of, ())
    poll: Any = types.SimpleNamespace(round=types.SimpleNamespace(n_begun=1, plain=10**9), place=loop)
    watch._rest(poll, sum_of.__code__, seconds)
    assert entry.rests_until > time.monotonic_ns()
    assert watch._call_has_prospects(sum_of, ()) == may_be


class Speaking(type):
    """What asks its classes, or their objects, for anything runs code of the program's."""

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise AssertionError("a class was asked")


class Proxy:
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"an object was asked for {name}")

    def __call__(self) -> None: ...


class Told(metaclass=Speaking): ...


nameless = types.ModuleType("nameless")
del nameless.__name__
elsewhere = types.FunctionType((lambda: None).__code__, globals())
elsewhere.__module__ = 5  # type: ignore[assignment]
proxy, told, told_class = Proxy(), Told(), Told


def names_odd_things(n: int) -> float:
    x = 0.0
    for i in range(n):
        x += VECTOR[i % 3] * 2.0
        if i > n:
            proxy()
            told_class()
            x += nameless.x + told.x
            elsewhere()
    return x


VECTOR = np.arange(3.0)


def test_nothing_of_the_program_runs_while_prospects_are_looked_at() -> None:
    code, names = decoded(names_odd_things.__code__), names_odd_things.__globals__
    (loop,) = loops(code)
    assert kind_of(code, loop, names).kind == 0
    assert not breaks_each_round(code, loop, names)
    values = [names[name] for name in ("proxy", "told", "told_class", "nameless", "elsewhere")]
    assert not reaches_arrays("here", ["proxy", "told", "nameless", "elsewhere"], values, {}, lambda _: names)
