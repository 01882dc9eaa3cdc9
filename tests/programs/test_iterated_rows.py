"""Loops that one kernel runs and that read or write another row of an array in each iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.programs.test_iterations import check


def scan(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        h = h * 0.5 + u[t]
        y[t] = h
    return h


def recurrence(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(1, n):
        y[t] = y[t - 1] * 0.5 + u[t]


def second_order(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(2, n):
        y[t] = y[t - 1] * 1.25 - y[t - 2] * 0.5 + h


def in_place(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        y[t] += u[-1 - t] * h
        h += y[t]


def to_and_fro(h, u, y, n):  # type: ignore[no-untyped-def]
    """The same rows again and again."""
    for t in range(n):
        y[t % 3] = y[(t + 1) % 3] * 0.5 + u[t]


def stored_then_read(h, u, y, n):  # type: ignore[no-untyped-def]
    """What is read may be what has just been stored."""
    for t in range(n):
        y[t] = h
        h = y[(t * 7) % 5] * 0.5 + u[t]
    return h


def columns(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(1, n):
        y[:, t] = y[:, t - 1] * 0.5 + u[:, t]


def across(h, u, y, n):  # type: ignore[no-untyped-def]
    """A column of what rows are stored into."""
    for t in range(1, n):
        y[t] = y[:, t - 1] * 0.5 + u[t]


def windows(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        h = h + u[0, t : t + h.shape[0]]
    return h


def moving_windows(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        y[0, t : t + h.shape[0]] = h * t
        h = h * 0.5
    return h


def sines(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        h = np.sin(h) * 0.5 + u[t]
        y[t] = np.cos(h)
    return h


def by_elements(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        y[t] = h * u[t, 0] + y[0, 0]


def counted(h, u, y, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for t in range(n - 1, -1, -1):
        s = s * 0.5 + t
        y[t] = h * s - u[t]
    return s


def elimination(h, u, y, n):  # type: ignore[no-untyped-def]
    """A row that has been stored is read together with the one before it."""
    for t in range(1, n):
        y[t] = u[t] * 0.5 + h
        y[t] = (y[t] - y[t - 1] * 0.25) / (h + 1.0)


def neighbours(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(1, n - 1):
        y[t] = u[t] - y[t + 1] * 0.5
        y[t] = y[t] * y[t - 1] + y[t + 1]


def substitution(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n - 2, -1, -1):
        y[:, t] = u[:, t] * 0.5
        y[:, t] -= y[:, t + 1] * 0.75


def around(h, u, y, n):  # type: ignore[no-untyped-def]
    """The row before the first one is the last one."""
    for t in range(n):
        y[t] = u[t] * 0.5
        y[t] += y[t - 1] * 0.75


def from_the_end(h, u, y, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        y[t] = u[t] * 0.5
        y[t] -= y[t - n] + y[-1 - t] * 0.25


ROWS: tuple[Callable[..., Any], ...] = (
    scan,
    recurrence,
    second_order,
    in_place,
    to_and_fro,
    columns,
    sines,
    by_elements,
    counted,
    elimination,
    neighbours,
    substitution,
)
OTHERS: tuple[Callable[..., Any], ...] = (stored_then_read, across, windows, moving_windows, around, from_the_end)


def arguments(size: int, n: int, order: str = "C", step: int = 1, dtype: str = "float64") -> Callable[[], Any]:
    def made() -> tuple[Any, ...]:
        rows = max(size, n, 5)
        wide = np.linspace(0.5, 1.5, rows * step * rows * step).reshape(rows * step, rows * step)
        u = np.array(wide[::step, ::step], dtype, order=order)  # type: ignore[call-overload]
        y = np.array(wide.T, dtype, order=order)[::step, ::step]  # type: ignore[call-overload]
        if size == rows:
            return np.full(size, 0.25, dtype), u, y, n
        return np.full(size, 0.25, dtype), u[:, :size], y[:, :size], n

    return made


@pytest.mark.parametrize("function", ROWS)
def test_rows(function: Any) -> None:
    calls = [arguments(40, n) for n in (20, 1, 2, 5, 40)]
    calls += [arguments(size, size) for size in (5, 6, 7, 33, 70)]
    calls += [arguments(20, 20, "F"), arguments(20, 20, "C", 2), arguments(20, 20, "F", 2)]
    if function not in (columns, substitution):
        calls += [arguments(size, 30) for size in (2, 3, 9, 16, 17)]
    check(function, *calls)


@pytest.mark.parametrize("function", OTHERS)
def test_what_is_no_row(function: Any) -> None:
    check(function, *(arguments(20, n) for n in (10, 5, 2)), kernel=None)


@pytest.mark.parametrize("dtype", ("float32", "int64"))
def test_dtypes(dtype: str) -> None:
    def f(h, u, y, n):  # type: ignore[no-untyped-def]
        for t in range(n):
            h = h * 3 + u[t]
            y[t] = h

    check(f, *(arguments(size, 12, dtype=dtype) for size in (40, 13)))


def test_a_row_that_is_not_there() -> None:
    report = check(scan, *(lambda n=n: (*arguments(12, 12)()[:3], n) for n in (12, 13, 11)))  # type: ignore[misc]
    assert "IndexError" in report.raised


def test_an_error_in_one_row() -> None:
    def f(h, u, y, n):  # type: ignore[no-untyped-def]
        for t in range(n):
            y[t] = 1.0 / u[t]

    def made(row: int) -> Any:
        def make() -> tuple[Any, ...]:
            h, u, y, n = arguments(20, 20)()
            u[row, 19] = 0.0
            return h, u, y, n

        return make

    report = check(f, arguments(20, 20), made(0), made(7), made(19))
    assert report.warned and report.stats["declines"]


def test_rows_that_share_memory() -> None:
    def shared(n: int) -> tuple[Any, ...]:
        _, u, _, _ = arguments(20, n)()
        return u[0], u, u, n

    def shifted(n: int) -> tuple[Any, ...]:
        memory = np.linspace(0.5, 1.5, 21 * 20).reshape(21, 20)
        return np.ones(20), memory[1:], memory[:-1], n

    for function in (scan, recurrence, in_place, to_and_fro):
        check(function, *(lambda m=m, n=n: m(n) for m in (shared, shifted) for n in (20, 2, 12)))  # type: ignore[misc]


def angles(x, u, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        x = np.arctan(x) + u[t]
    return x


def waves(x, u, n):  # type: ignore[no-untyped-def]
    y = x * 0.0
    for t in range(n):
        y = np.tanh(u[t] + y) * x
        x = x * 0.9 + u[n - 1 - t]
    return x, y


def decays(x, u, n):  # type: ignore[no-untyped-def]
    for t in range(n):
        x = np.log1p(np.abs(x)) + u[t] * np.sin(u[t])
        u[t] = x
    return x


def complex_and_real(x, u, n):  # type: ignore[no-untyped-def]
    z = x + 1j * u[0]
    for _ in range(n):
        z = z * z * 0.1 + x
    return z


@pytest.mark.parametrize("dtype", ("float64", "float32"))
@pytest.mark.parametrize("function", (angles, waves, decays, complex_and_real))
def test_arrays_too_large_for_a_routine(function: Any, dtype: str) -> None:
    """One kernel makes many iterations, with NumPy's loops in between, and rows by a table of their addresses."""

    def make(size: int, n: int) -> tuple[Any, ...]:
        numbers = np.linspace(0.1, 1.0, (n + 1) * size).reshape(n + 1, size).astype(dtype)
        return numbers[0], numbers[1:], n

    sizes = ((40_000, 30), (33_001, 9), (7, 12))
    report = check(function, *(lambda size=size, n=n: make(size, n) for size, n in sizes))  # type: ignore[misc]
    assert report.stats["declines"] == 0
