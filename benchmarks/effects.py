"""``python -m benchmarks.effects``: what effects cost in a loop of array code that is compiled.

Each loop does the step of an explicit heat equation and, in every hundredth iteration (or in every one, where its name
says so), something besides. Two ratios are told, of processor time, best of several calls: to plain NumPy, and to the
compiled loop that does nothing besides, measured before and after the others (the noise floor).
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dynamo_lite
from benchmarks.table import columns
from tests.compare import Walk

STEPS = 4000
CALLS = 7
SIZES = (200, 2000)


class Figure:
    """Keeps what is plotted."""

    def __init__(self) -> None:
        self.n = 0

    def plot(self, u: Any) -> None:
        self.n += 1
        self.last = u.copy()


class Solver:
    """Holds its state in attributes."""

    def __init__(self, u: Any) -> None:
        self.u, self.t = u, 0.0

    def step(self) -> None:
        self.u = step(self.u)
        self.t += 0.1


def step(u: Any) -> Any:
    return u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))


def nothing(u: Any) -> Any:
    for _ in range(STEPS):
        u = step(u)
    return u


def prints(u: Any) -> Any:
    for i in range(STEPS):
        u = step(u)
        if i % 100 == 0:
            print(f"step {i} max {u.max():.4f}")
    return u


def plots(u: Any) -> Any:
    figure = Figure()
    for i in range(STEPS):
        u = step(u)
        if i % 100 == 0:
            figure.plot(u)
    return u, figure.n, figure.last


def appends(u: Any) -> Any:
    history, t = [], 0.0
    for i in range(STEPS):
        u = step(u)
        t += 0.1
        if i % 100 == 0:
            history.append((t, u.copy()))
    return u, history


def appends_always(u: Any) -> Any:
    history = []
    for _ in range(STEPS):
        u = step(u)
        history.append(u.max())
    return u, history


def counts_and_prints(u: Any) -> Any:
    count = 0
    for i in range(STEPS):
        u = step(u)
        if u[0] > 0.5:
            count += 1
        if i % 100 == 0:
            print(i, count)
    return u, count


def stores_items_always(u: Any) -> Any:
    state = {"t": 0.0}
    for _ in range(STEPS):
        u = step(u)
        state["t"] += 0.1
    return u, state


def stores_attributes_always(u: Any) -> Any:
    solver = Solver(u)
    for _ in range(STEPS):
        solver.step()
    return solver.u, solver.t


def draws(u: Any) -> Any:
    generator = np.random.default_rng(1)
    for i in range(STEPS):
        u = step(u)
        if i % 100 == 0:
            u = u + generator.normal(size=u.size)
    return u


def returns(u: Any) -> Any:
    for i in range(STEPS):
        before, u = u, step(u)
        if i % 100 == 0 and np.abs(u - before).max() < 1e-30:
            return u, i
    return u, STEPS


LOOPS: tuple[Callable[[Any], Any], ...] = (
    *(nothing, prints, plots, appends, appends_always, counts_and_prints, stores_items_always),
    *(stores_attributes_always, draws, returns, nothing),
)


def best(function: Callable[[Any], Any], u: Any) -> tuple[float, Any]:
    """Seconds of the fastest call, and what it returned and printed."""
    seconds, outcome = [], None
    for _ in range(CALLS):
        printed = io.StringIO()
        began = time.process_time()
        with contextlib.redirect_stdout(printed):
            result = function(u)
        seconds.append(time.process_time() - began)
        outcome = result, printed.getvalue()
    return min(seconds), outcome


def main() -> int:
    """Print a table for each size; 1 if some loop gave another result than plain Python."""
    differing = 0
    for size in SIZES:
        u = np.random.default_rng(0).random(size)
        rows = []
        alone = 0.0
        for loop in LOOPS:
            fast = dynamo_lite.compile(loop)
            plain, expected = best(loop, u)
            compiled, found = best(fast, u)
            alone = alone or compiled
            walk = Walk()
            walk.pair("result", expected, found)
            equal = not walk.differences
            differing += not equal
            rows.append((loop.__name__, f"{plain / compiled:.1f}", f"{alone / compiled:.2f}", "yes" if equal else "NO"))
        print(columns((f"{size} cells", "of plain", "of the loop alone", "bits equal"), rows))
        print()
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
