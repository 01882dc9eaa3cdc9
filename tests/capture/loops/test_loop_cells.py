"""Loops that are left in the middle, in functions whose variables inner functions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite

Program = Callable[..., Any]


def reads(x: Any, n: int, at: int) -> Any:
    """The inner function, made in the same segment, reads what the loop does not change."""
    scale = 0.5

    def step(v: Any) -> Any:
        return v * scale + 1.0

    for i in range(n):
        x = step(x)
        if i == at:
            print(i, x[0], step(2.0))
    scale = 3.0
    return x, step(1.0), step


def carries(x: Any, n: int, at: int) -> Any:
    """What the loop carries lies in a cell."""
    total, count = 0.0, 0

    def read() -> Any:
        return total, count

    for i in range(n):
        x = x * 0.5 + i
        total = total + float(x[0])
        count += 1
        if i == at:
            print(i, read())
    return x, read(), read


def writes(x: Any, n: int, at: int) -> Any:
    """The inner function writes what the loop reads."""
    calls, seen = 0, []

    def step(v: Any) -> Any:
        nonlocal calls
        calls += 1
        return v * 0.5 + calls

    i = 0
    while i < n:
        x = step(x)
        if i == at:
            print(i, calls)
            seen.append(calls)
        i += 1
    return x, calls, seen, step(x)


def hold_each_other(x: Any, n: int, at: int) -> Any:
    scale = 0.5

    def inner(v: Any) -> Any:
        return v * scale

    def outer(v: Any, twice: bool = True) -> Any:
        return inner(v) + (outer(v, twice=False) if twice else scale)

    for i in range(n):
        x = outer(x)
        scale = scale * 0.9
        if i == at:
            print(i, outer(1.0), inner(1.0))
    return x, scale, outer(1.0), outer, inner


def returns_from_it(x: Any, n: int, at: int) -> Any:
    k = 0

    def read() -> Any:
        return k

    for i in range(n):
        x = x * 0.5 + i
        k = i
        if i == at:
            return x, read(), read
    return x, read


def makes_another(x: Any, n: int, at: int) -> Any:
    offset = 1.0

    def shift(v: Any) -> Any:
        return v + offset

    for i in range(n):
        x = shift(x * 0.5)
        if i == at:
            offset = 2.0
            old, shift = shift, lambda v: v - offset  # noqa: B023
            print(old(1.0), shift(1.0))
    return x, shift(1.0), shift


def an_argument(x: Any, n: int, at: int) -> Any:
    read = lambda: x  # noqa: E731
    for i in range(n):
        x = x * 0.5 + i
        if i == at:
            print(i, read()[0])
    return x, read(), read


def from_outside(x: Any, n: int, at: int) -> Any:
    """The second loop finds the cells that the first print has left to the inner function."""
    factor = 0.5

    def step(v: Any) -> Any:
        return v * factor + 1.0

    print(step(1.0))
    for i in range(n):
        x = step(x)
        if i == at:
            print(i, x[0])
    factor = 0.25
    return x, step(1.0), step


def reads_in_one_branch(x: Any, n: int, at: int) -> Any:
    """One variable is stored to, another one is read, where an iteration goes on alone."""
    total, scale = 0.0, 1

    def read() -> Any:
        return total, scale

    print(read())
    for i in range(n):
        total = total + float(x[0])
        x = x[::-1] * 0.5
        if total < -3 and i > at:
            break
        x = x * scale * 0.9
    return x, total, scale, read(), read


def one_cell_on_two_ways(x: Any, n: int, at: int) -> Any:
    """What the function stores, the loop finds, and the other way round."""
    t = 0.0

    def advance(dt: Any) -> None:
        nonlocal t
        t = t + dt

    def rate(v: Any) -> Any:
        return v * 0.5 + t

    print(rate(1.0))
    for i in range(n):
        x = x + 0.1 * rate(x)
        advance(0.1)
        t = t * 1.001
        if i == at:
            print(i, t)
    return x, t, rate(0.0), rate


PROGRAMS = [
    reads_in_one_branch,
    one_cell_on_two_ways,
    reads,
    carries,
    writes,
    hold_each_other,
    returns_from_it,
    makes_another,
    an_argument,
    from_outside,
]


def outcome(function: Program, size: int, n: int, at: int, capsys: Any) -> tuple[Any, str]:
    """What a call gives, with what the functions among it give when they are called, and what it prints."""
    x = np.linspace(-1.0, 1.0, size)
    result = function(x, n, at)
    parts = []
    for part in result:
        if callable(part):
            cells = part.__closure__
            parts.append((part.__qualname__, [cell.cell_contents is not None for cell in cells]))
            parts.append(part(np.ones(2)) if part.__code__.co_argcount else part())
        else:
            parts.append(part)
    return repr(parts), capsys.readouterr().out


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_loops_of_functions_with_cells(function: Program, backend: str, capsys: Any) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options={"cost_model": False, "check": 1})
    for n, at in ((40, 33), (40, 33), (41, 5), (40, 0), (60, 59), (40, -1), (0, 0)):
        assert outcome(function, 5, n, at, capsys) == outcome(fast, 5, n, at, capsys)


@pytest.mark.parametrize("function", [reads, carries, returns_from_it, an_argument, from_outside, one_cell_on_two_ways])
def test_the_loop_is_one_program_between_two_prints(function: Program, capsys: Any) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(3):
        before = fast.stats()["native_calls"]
        outcome(fast, 5, 2000, 1500, capsys)
    assert fast.stats()["native_calls"] - before < 10
