"""Resume functions: one for each place where control goes on, whatever is left in variables that nobody reads there."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
    WRITTEN.append("begin")
    if n > 2:
        label = Thing("label")
        scale = x * 2.0
        WRITTEN.append((label.name, float(scale.sum())))
    WRITTEN.append("between")
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


def observed(function: Callable[..., Any], n: int) -> tuple[Any, ...]:
    """What a call gives or raises, where, and what it writes."""
    WRITTEN.clear()
    try:
        result = repr(function(np.linspace(0.0, 2.0, 7), n))
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
