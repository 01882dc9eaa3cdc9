"""Resume functions: one for each place where control goes on, whatever is left in variables that nobody reads there."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture import trace as trace_module
from dynamo_lite.capture.segments.restraints import MANY_FIRST
from dynamo_lite.resumes import Resumes
from tests import watched

Compile = Callable[..., Any]
WRITTEN: list[Any] = []


class Thing:
    """Says when it dies."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        WRITTEN.append(f"{self.name} died")


def entered_twice(x: Any, n: int) -> Any:
    """Behind the append the header of the loop is reached with `shown` and `mean` bound, at first without."""
    i, total = 0, 0.0
    while i < n:
        y = np.sqrt(x * 0.5 + 1.0)
        x = y * y - x * 0.25
        s = x.sum()
        total += s
        i += 1
        if s > 4.0:
            shown = Thing(f"shown {i}")
            mean = x.mean()
            WRITTEN.append((shown.name, float(mean)))
            x = x * 0.125
    return x, total


def one_side_binds(x: Any, n: int) -> Any:
    WRITTEN.insert(len(WRITTEN), "begin")  # which breaks the graph
    if n > 2:
        label = Thing("label")
        scale = x * 2.0
        WRITTEN.append((label.name, float(scale.sum())))
    WRITTEN.insert(len(WRITTEN), "between")
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25 + i
    WRITTEN.append("end")
    return x


def unbound_on_one_side(x: Any, n: int) -> Any:
    if n > 2:
        last = x * 3.0
        WRITTEN.append("bound")
    for i in range(n):
        x = np.sqrt(x * x + 1.0) - x * 0.25 + i
    WRITTEN.append("end")
    return x + last


def unbound_by_del(x: Any, n: int) -> Any:
    kept = Thing("kept")
    for i in range(n):
        x = np.sqrt(x * x + 1.0) + i
        if x.sum() > 4.0:
            WRITTEN.append(i)
            if i > 2:
                del kept
    return x


def asks_for_locals(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.sqrt(x * x + 1.0) + i
        if x.sum() > 5.0:
            late = i
            WRITTEN.append(sorted(locals()))
    return x, late


def rebinds_what_nobody_reads(x: Any, n: int) -> Any:
    unread = Thing("first")
    for i in range(n):
        WRITTEN.append(i)
        x = x * 0.5 + 1.0
    WRITTEN.append("end")
    x = x + 1.0
    unread = Thing("second")  # noqa: F841
    WRITTEN.append("made")
    return x * 2.0


PROGRAMS: list[Callable[..., Any]] = [
    entered_twice,
    one_side_binds,
    unbound_on_one_side,
    unbound_by_del,
    asks_for_locals,
    rebinds_what_nobody_reads,
]


def observed(
    function: Callable[..., Any], n: int, size: int = 7, seen: Callable[[Any], Any] = repr
) -> tuple[Any, ...]:
    """What a call gives or raises, where, and what it writes. seen: what is compared of a result."""
    WRITTEN.clear()
    try:
        result = seen(function(np.linspace(0.0, 2.0, size), n))
    except Exception as error:
        lines = [(at.name, at.lineno) for at in traceback.extract_tb(error.__traceback__)[1:]]
        result = f"{error!r} {lines}"
        del error
    return result, tuple(WRITTEN)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: str(function.__name__))
def test_what_is_bound_and_what_dies_is_that_of_plain_python(function: Callable[..., Any], compiler: Compile) -> None:
    for options in ({}, {"cost_model": False}, {"cost_model": False, "native_loops": False}):
        fast = compiler(function, options=options)
        for n in (3, 1, 6, 0, 6, 3):
            assert observed(fast, n) == observed(function, n), (options, n)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: str(function.__name__))
def test_the_same_where_running_loops_are_entered(function: Callable[..., Any]) -> None:
    for compile_ in (watched.compile, watched.compile_loops):
        fast = compile_(function, backend="numba")
        for n in (3, 1, 6, 0, 6, 3):
            assert observed(fast, n) == observed(function, n), (compile_.__name__, n)


@pytest.mark.usefixtures("no_mode")
def test_a_loop_that_is_entered_from_two_places_is_compiled_once(compiler: Compile) -> None:
    fast = compiler(entered_twice, options={"cost_model": False})
    for _ in range(2):
        assert observed(fast, 40) == observed(entered_twice, 40)
    # At the entry, on either side of the branch, at the two calls, and at the header.
    assert [record.reason for record in fast.explain().compiles].count("first call") == 6


@pytest.mark.usefixtures("no_mode")
def test_what_one_side_of_a_branch_has_bound_does_not_tell_what_follows_apart(compiler: Compile) -> None:
    fast = compiler(one_side_binds, options={"cost_model": False})
    for n in (6, 1, 6, 2):
        assert observed(fast, n) == observed(one_side_binds, n)
    assert sum("loop" in graph.text for graph in fast.explain().graphs) == 1
    assert fast.stats()["recompiles"] == 1  # of what tests n


# -- loops whose first iteration is another one ------------------------------------------------------------------------


def advances(x: Any, n: int) -> Any:
    """After the first iteration the time is a NumPy scalar."""
    t, shown = 0, 0
    while t < n:
        dt = 0.25 * np.min(1.0 / (np.abs(x) + 1.0))
        x = np.sqrt(x * x + dt) - 0.125 * x
        t += dt
        if t > shown + 1:
            WRITTEN.insert(len(WRITTEN), (type(t).__name__, float(t)))  # which breaks the graph
            shown += 1
    return x, t


def leaves_in_the_first(x: Any, n: int) -> Any:
    t = 0
    while t < 10:
        t += x.sum() * 0.0 + n + 1
        if t > 5.0:
            WRITTEN.append("left")
            return "early", t
        x = x * 0.5 + 1.0
    return x, t


def raises_in_the_first(x: Any, n: int) -> Any:
    t = 0
    while t < n:
        t += x.sum() * 0.0 + 1.0
        if t < 1.5:
            WRITTEN.append("first")
            x = x + np.ones(3)
    return x, t


def changes_back_and_forth(x: Any, n: int) -> Any:
    kind, i = 0, 0
    while i < 4 * n:
        kind = int(x[0]) if isinstance(kind, float) else float(i)
        x = np.sqrt(x * x + 1.0) - x * 0.125
        i += 1
        if x.sum() > 5000.0:
            WRITTEN.append((type(kind).__name__, i))
    return x, kind


def has_a_loop_inside(x: Any, n: int) -> Any:
    t = 0
    while t < n:
        for i in range(20 * n):
            x = np.sqrt(x * x + 1.0) - x * 0.125 * i
        t += np.min(np.abs(x)) * 0.0 + 0.5
        if x.sum() > 0.0:
            WRITTEN.append(float(t))
    return x, t


class Clock:
    t: Any = 0


def advances_an_attribute(x: Any, n: int) -> Any:
    clock = Clock()
    while clock.t < n:
        dt = 0.25 * np.min(1.0 / (np.abs(x) + 1.0))
        x = np.sqrt(x * x + dt) - 0.125 * x
        clock.t += dt
        if x.sum() > 100.0:
            WRITTEN.append(float(clock.t))
    return x, clock.t


def advances_a_cell(x: Any, n: int) -> Any:
    t = 0

    def now() -> Any:
        return t

    while t < n:
        dt = 0.25 * np.min(1.0 / (np.abs(x) + 1.0))
        x = np.sqrt(x * x + dt) - 0.125 * x
        t += dt
        if x.sum() > 100.0:
            WRITTEN.append(float(now()))
    return x, now()


def advances_in_turns(x: Any, n: int) -> Any:
    """The loop is met again and again, each time with a time that begins anew."""
    total = 0
    for _ in range(3):
        t = 0
        while t < n:
            dt = 0.5 * np.min(1.0 / (np.abs(x) + 1.0))
            x = np.sqrt(x * x + dt) - 0.125 * x
            t += dt
            if t > 1.5:
                WRITTEN.append(float(t))
                break
        total += t
    return x, total


FIRST: list[Callable[..., Any]] = [
    advances,
    advances_an_attribute,
    advances_a_cell,
    advances_in_turns,
    leaves_in_the_first,
    raises_in_the_first,
    changes_back_and_forth,
    has_a_loop_inside,
]


def at_length(function: Callable[..., Any], n: int) -> tuple[Any, ...]:
    """The same with arrays of 3000 elements."""

    def seen(result: Any) -> tuple[Any, ...]:
        array, last = result
        return array if isinstance(array, str) else array.tobytes(), type(last), repr(last)

    return observed(function, n, 3000, seen)


@pytest.mark.parametrize("function", FIRST, ids=lambda function: str(function.__name__))
def test_first_iterations_that_run_plainly_are_those_of_plain_python(
    function: Callable[..., Any], compiler: Compile
) -> None:
    for options in ({}, {"cost_model": False}):
        fast = compiler(function, options=options)
        for n in (3, 1, 0, 3, 6, 2, 3, 4, 3, 6, 3):
            assert at_length(fast, n) == at_length(function, n), (options, n)


@pytest.mark.usefixtures("no_mode")
def test_a_first_iteration_that_is_another_one_runs_plainly_a_few_times(compiler: Compile) -> None:
    fast = compiler(advances)
    expected = at_length(advances, 3)
    assert at_length(fast, 3) == expected
    begins = advances.__code__.co_firstlineno + 4
    assert ["loop" in graph.text for graph in fast.explain().graphs if graph.line == begins] == [True]
    for _ in range(2 * MANY_FIRST):
        assert at_length(fast, 3) == expected
    graphs = [graph for graph in fast.explain().graphs if graph.line == begins]
    assert any("loop" not in graph.text for graph in graphs[1:])


@pytest.mark.usefixtures("no_mode")
def test_where_nobody_would_come_back_after_an_iteration_the_rest_is_plain(
    compiler: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resumes, "with_back_edges", lambda self, *_: None)
    fast = compiler(advances)
    for _ in range(2 * MANY_FIRST):
        assert at_length(fast, 3) == at_length(advances, 3)


@pytest.mark.usefixtures("no_mode")
def test_a_first_iteration_with_a_loop_in_it_is_compiled(compiler: Compile) -> None:
    fast = compiler(has_a_loop_inside)
    at_length(fast, 3)
    assert sum("loop" in graph.text for graph in fast.explain().graphs) > 1


@pytest.mark.usefixtures("no_mode")
def test_what_is_set_apart_in_a_loop_is_known_where_it_is_entered_again(
    compiler: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Counted(trace_module.Tracer):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(trace_module, "Tracer", Counted)
    fast = compiler(advances)
    at_length(fast, 3)
    (loop,) = (record for record in fast.explain().loops)
    assert loop.outcome == "native"
    places = [region.key[3] for tracer in made for region in tracer.met if not region.key[4]]
    # Once where it finds what breaks in it and what begins as another, then for good; and behind a plain iteration,
    # where the test at its bottom is known for one and leads into it.
    assert len(places) in (2, 3), places


class Named:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def __del__(self) -> None:
        self.log.append(self.name)


def lets_go(x: Any, n: int, log: list[str]) -> Any:
    z = Named("z", log)  # noqa: F841
    y = Named("y", log)  # noqa: F841
    for i in range(n):
        x = x * 0.5 + i
        log.append(str(i))
        if i == 2:
            b = Named("b", log)  # noqa: F841
            a = Named("a", log)  # noqa: F841
    return x


@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile, watched.compile_loops])
def test_locals_die_in_the_order_in_which_the_function_has_them(compiler: Any) -> None:
    made = compiler(lets_go)
    for n in (5, 6, 7):
        logs: tuple[list[str], list[str]] = ([], [])
        results = [of(np.ones(3), n, log).tobytes() for of, log in zip((made, lets_go), logs, strict=True)]
        assert results[0] == results[1]
        assert logs[0] == logs[1]
        # NB: CPython lets go the first one first; from 3.14 on the last
        assert logs[1][-4:] == (["a", "b", "y", "z"] if sys.version_info >= (3, 14) else ["z", "y", "b", "a"])


def lives_on(x: Any, n: int, log: list[str]) -> Any:
    i = 0
    while True:
        i += 1
        if i >= n:
            break
        x = x * 0.5 + i
        w = Named(str(i), log)  # noqa: F841
    log.append("behind")
    return x


@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile, watched.compile_loops])
def test_what_a_loop_that_ends_at_once_does_not_store_to_lives_on(compiler: Any) -> None:
    made = compiler(lives_on)
    for n in (1, 2, 7, 8):
        logs: tuple[list[str], list[str]] = ([], [])
        results = [of(np.ones(3), n, log).tobytes() for of, log in zip((made, lives_on), logs, strict=True)]
        assert results[0] == results[1]
        assert logs[0] == logs[1]


class Base:
    def __init__(self, v: Any) -> None:
        self.v = v

    def step(self) -> None:
        self.v = np.sqrt(self.v * self.v + 1.0)


class Calling(Base):
    """super() looks for its object where the variables of the frame begin."""

    def in_a_loop(self, n: int) -> Any:
        for _ in range(n):
            super().step()
        return self.v

    def behind_a_loop(self, n: int) -> Any:
        for _ in range(n):
            self.v = self.v * 0.5
        super().step()
        return self.v

    def of_a_shared_variable(self, other: Calling, n: int) -> Any:
        get = lambda: self  # noqa: E731
        while n > 0:
            get().v = self.v * 0.5
            n -= 1
        super().step()
        return get().v, other.v

    def in_a_while(self, n: int) -> Any:
        while n > 0:
            super().step()
            n -= 1
        return self.v


@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile, watched.compile_loops])
@pytest.mark.parametrize("name", ["in_a_loop", "behind_a_loop", "of_a_shared_variable", "in_a_while"])
def test_super_finds_its_object_where_a_loop_is_entered(compiler: Any, name: str) -> None:
    plain: Any = getattr(Calling, name)
    made = compiler(plain)
    others = [Calling(np.ones(2))] * (name == "of_a_shared_variable")
    for n in (3, 4, 9):
        found = [np.asarray(run(Calling(np.arange(2.0)), *others, n)).tobytes() for run in (plain, made)]
        assert found[0] == found[1]


def evaluated(text: str) -> Any:
    """As numexpr.evaluate() and pandas' query() do."""
    caller = sys._getframe(1)
    return eval(text, caller.f_globals, dict(caller.f_locals))


def names_in_text(x: Any, n: int) -> Any:
    least, factor, label, flag, scale = 0.5, 3, "ab", True, np.float64(0.25)  # noqa: F841
    for i in range(n):  # noqa: B007
        x = np.sqrt(x + 0.5)
    return evaluated("(x[x > least] * factor * scale + len(label) + flag + i).tobytes()")


@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile, watched.compile_loops])
def test_what_is_called_after_a_loop_finds_variables_that_only_it_reads(compiler: Any) -> None:
    made = compiler(names_in_text)
    for n in (3, 4, 9):
        assert made(np.arange(3.0), n) == names_in_text(np.arange(3.0), n)
