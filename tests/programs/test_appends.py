"""``xs.append(v)`` of lists from outside in straight code: part of the program, unless something reads the list."""

from __future__ import annotations

import copy
import gc
import signal
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPTIONS = {"cost_model": False}


class Model:
    def __init__(self) -> None:
        self.weights = np.linspace(0.0, 1.0, 6)
        self.history: list[Any] = []

    def step(self, x: Any) -> Any:
        out = np.tanh(self.weights * x)
        self.history.append(out)
        self.weights = self.weights - 0.1 * out
        self.history.append(np.sum(out * 2.0))
        return out


def arrays(xs: Any, v: Any) -> Any:
    a = np.tanh(v)
    xs.append(a)
    b = np.tanh(a * 2.0 + 1.0)
    xs.append(b)
    return b * 0.5 + a, a


def the_argument(xs: Any, v: Any) -> Any:
    xs.append(v)
    v += 1.0
    xs.append(v[1:3])
    return v * 2.0


def tuples(xs: Any, v: Any) -> Any:
    a = np.sum(v)
    xs.append((a, v * 2.0))
    xs.append([a * 2.0, True, 3])
    xs.append(None)
    return a


def numbers(xs: Any, v: Any) -> Any:
    a = float(np.sum(v)) * 2.0
    xs.append(a)
    xs.append(0.5)
    xs.append(7)
    xs.append((v.shape[0], v))
    return a, v * 2.0


def read(xs: Any, v: Any) -> Any:
    xs.append(v * 2.0)
    return xs[-1] + xs[0], len(xs), np.array(xs).sum()


def gone_over(xs: Any, v: Any) -> Any:
    total = v * 0.0
    xs.append(v * 2.0)
    for x in xs:
        total = total + x
    xs.append(total)
    return total


def in_a_loop_behind(xs: Any, v: Any) -> Any:
    xs.append(v * 2.0)
    for i in range(10):
        v = v * 0.5 + i
        xs.append(v)
    return v


def printed(xs: Any, v: Any) -> Any:
    for i in range(5):
        v = np.sqrt(v * v + i)
        xs.append(v)
        xs.append(v[0])
        print(end="")
    return v


def two_lists(xs: Any, v: Any) -> Any:
    xs[1].append(v * 2.0)
    xs[2].append(v * 3.0)
    xs[1].append(v * 4.0)
    return v + 1.0


FUNCTIONS = [arrays, the_argument, tuples, numbers, read, gone_over, in_a_loop_behind, printed]


def text(value: Any) -> str:
    with np.printoptions(precision=17):
        return repr(value)


def identities(value: Any, xs: list[Any]) -> list[int]:
    """Which of all objects in sight are one."""
    seen: list[int] = []
    work = [value, xs]
    while work:
        one = work.pop()
        seen.append(id(one))
        if type(one) in (list, tuple):
            work += one
    return [seen.index(one) for one in seen]


def assert_same(fn: Callable[..., Any], fast: Any, xs: Any, v: Any) -> None:
    ours, theirs = copy.deepcopy((xs, v)), copy.deepcopy((xs, v))
    found, wanted = fast(*ours), fn(*theirs)
    assert text((found, ours)) == text((wanted, theirs))
    assert identities((found, ours[1]), ours[0]) == identities((wanted, theirs[1]), theirs[0])


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_list_gets_the_very_objects(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for n in (2, 2, 3, 2):
        assert_same(fn, fast, [np.ones(5)] * n, np.linspace(1.0, 2.0, 5))
    assert fast.stats()["native_calls"]


BREAKS = [(arrays, 0), (the_argument, 0), (tuples, 0), (in_a_loop_behind, 0), (gone_over, 2)]


@pytest.mark.parametrize("fn, breaks", BREAKS)
def test_how_often_the_graph_breaks(fn: Callable[..., Any], breaks: int) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    fast([np.ones(5)], np.linspace(1.0, 2.0, 5))
    assert len(fast.explain().breaks) == breaks


def test_what_a_method_appends_to() -> None:
    def fit(model: Model, x: Any) -> Any:
        return [model.step(x * k) for k in (1.0, 2.0, 3.0)]

    fast = dynamo_lite.compile(fit, options=OPTIONS)
    for _ in range(3):
        ours, theirs = Model(), Model()
        x = np.linspace(1.0, 2.0, 6)
        assert text(fast(ours, x)) == text(fit(theirs, x))
        assert text(vars(ours)) == text(vars(theirs))
    assert "side-effect-container" not in [record.id for record in fast.explain().breaks]


def test_one_list_by_two_names() -> None:
    fast = dynamo_lite.compile(two_lists, options=OPTIONS)
    for same in (False, True, False, True):
        results = []
        for fn in (two_lists, fast):
            first: list[Any] = []
            xs = [None, first, first if same else []]
            results.append(text((fn(xs, np.ones(3)), xs)))
        assert results[0] == results[1]


@pytest.mark.parametrize("action", ["ignore", "error", "always"])
def test_a_program_that_declines_takes_back_what_it_has_appended(action: Any) -> None:
    def fn(xs: Any, v: Any) -> Any:
        xs.append(v * 2.0)
        out = np.log(v)
        xs.append(out)
        return out

    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for v in (np.ones(4), np.array([1.0, 0.0, -1.0, 2.0]), np.ones(4), np.array([1.0, 0.0, -1.0, 2.0])):
        results = []
        for one in (fn, fast):
            xs: list[Any] = []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter(action)
                try:
                    result: Any = one(xs, v)
                except RuntimeWarning as error:
                    result = str(error)
            results.append(text((result, xs, [str(warning.message) for warning in caught])))
        assert results[0] == results[1]


def test_an_exception_behind_it_is_raised_once_it_is_there() -> None:
    def fn(xs: Any, v: Any) -> Any:
        xs.append(v * 2.0)
        return np.linalg.solve(v, v)

    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for v in (np.eye(3), np.zeros((3, 3)), np.eye(3)):
        results = []
        for one in (fn, fast):
            xs: list[Any] = []
            try:
                result: Any = one(xs, v)
            except np.linalg.LinAlgError as error:
                result = str(error)
            results.append(text((result, xs)))
        assert results[0] == results[1]


@pytest.mark.parametrize("where", ["before", "before a nest", "in"])
def test_what_was_appended_is_there_when_a_signal_ends_a_loop(where: str) -> None:
    def long_loop(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
        return x

    def before_it(xs: Any, v: Any, n: int) -> Any:
        xs.append(v * 2.0)
        xs.append(long_loop(v, n))
        return v

    def before_a_nest(xs: Any, v: Any, n: int) -> Any:
        xs.append(v * 2.0)
        for _ in range(100):
            for _ in range(n):
                v = np.sqrt(v * v + 1.0) - v * 0.25
        return v

    def fill(xs: Any, x: Any, n: int) -> Any:
        for i in range(n):
            x = np.sqrt(x * x + 1.0) - x * 0.25
            if i % 10**6 == 0:
                xs.append(x)
        return x

    def in_it(xs: Any, v: Any, n: int) -> Any:
        return fill(xs, v, n)

    fn = {"before": before_it, "before a nest": before_a_nest, "in": in_it}[where]
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for _ in range(2):
        fast([], np.ones(5), 300)
    assert "native" in {loop.outcome for loop in fast.explain().loops}
    xs: list[Any] = []
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        with pytest.raises(KeyboardInterrupt):
            fast(xs, np.ones(5), 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert 1 <= len(xs) <= 10


class Dies:
    def __del__(self) -> None:
        DEATHS.append("died")


DEATHS: list[Any] = []


def let_go(log: list[Any], x: Any, n: int) -> Any:
    thing: Any = Dies()
    y = x * 2.0
    log.append(y[0])
    thing = y + 1.0
    log.append(y[1])
    return thing, n


def let_go_in_a_loop(log: list[Any], x: Any, n: int) -> Any:
    thing: Any = Dies()
    for _ in range(n):
        log.append(x[0])
        thing = x * 2.0
        x = x + 1.0
    return thing


def let_go_where_items_are_stored(log: Any, x: Any, n: int) -> Any:
    thing: Any = Dies()
    for i in range(n):
        log[i % 3] = x[0]
        thing = x * 2.0
        x = x + 1.0
    log.append(len(log))
    return thing


def let_go_behind_the_first_append(log: list[Any], x: Any, n: int) -> Any:
    thing: Any = Dies()
    for _ in range(20):
        log.append(x)
        thing = n
    return thing


def let_go_on_one_way(log: list[Any], x: Any, n: int) -> Any:
    thing: Any = Dies()
    y = x * 2.0
    if x[0] > n:
        thing = y  # noqa: F841
    log.append(y[0])
    return y


def let_go_on_the_other_way(log: list[Any], x: Any, n: int) -> Any:
    thing: Any = Dies()
    y = x * 2.0
    if x[0] > n:
        y = x * 3.0
    else:
        thing = None  # noqa: F841
    log.append(n)
    return y


LETTING_GO = [let_go, let_go_in_a_loop, let_go_behind_the_first_append, let_go_where_items_are_stored]
LETTING_GO += [let_go_on_one_way, let_go_on_the_other_way]


@pytest.mark.parametrize("fn", LETTING_GO)
def test_what_is_appended_behind_a_death_comes_behind_it(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    found = []
    for one in (fn, fast, fast, fast):
        DEATHS[:] = [0.5, 1.5, 2.5]
        one(DEATHS, np.linspace(1.0, 2.0, 5), 4)
        found.append(text(DEATHS))
    assert found == found[:1] * 4


ASKED: list[str] = []


class Asks:
    """One that tells when somebody looks at it."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        ASKED.append("__class__")
        return Asks


def test_what_a_loop_lets_go_is_not_asked_anything() -> None:
    def fn(log: list[Any], thing: Any, x: Any, n: int) -> Any:
        for _ in range(n):
            log.append(x[0])
            thing = x * 2.0
            x = x + 1.0
        return thing

    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for n in (4, 6):
        ours: list[Any] = []
        theirs: list[Any] = []
        assert text((fast(ours, Asks(), np.ones(3), n), ours)) == text((fn(theirs, Asks(), np.ones(3), n), theirs))
    assert not ASKED


def test_nothing_is_kept_that_the_list_lets_go() -> None:
    fast = dynamo_lite.compile(arrays, options=OPTIONS)
    xs: list[Any] = []
    for _ in range(3):
        fast(xs, np.ones(5))
    gc.collect()
    counts = [sys.getrefcount(one) for one in xs]
    plain: list[Any] = []
    for _ in range(3):
        arrays(plain, np.ones(5))
    assert counts == [sys.getrefcount(one) for one in plain]
    gone = weakref.ref(xs[0])
    xs.clear()
    assert gone() is None


def fills_by_two_names(xs: list[float], x: Any) -> Any:
    held = {"a": xs, "b": [1]}
    for i in range(len(x)):
        held["a"] += [x[i]]
        held["b"] += [i]
    return held


def test_a_list_that_is_filled_already_is_looked_at_by_nobody() -> None:
    require_equal(fills_by_two_names, lambda: ([2.0], np.arange(9.0)), compile=dynamo_lite.compile)
