"""Statements at a graph break that are calls of what is not captured run in residual code, as they are."""

from __future__ import annotations

import io
import sys
import textwrap
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.segments.plain_statements import is_foreign


class Pen:
    """Any attribute of it can be called; it notes what it is told."""

    def __init__(self, notes: list[Any], name: str = "pen") -> None:
        self._notes = notes
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Pen(self._notes, f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return Pen(self._notes, f"{self._name}[{key!r}]")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "raises" in self._name:
            raise ValueError(self._name)
        self._notes.append((self._name, [np.asarray(one).tolist() for one in args], sorted(kwargs.items())))
        return self


def drawing(x: Any, pen: Any, out: Any, n: int) -> Any:
    for i in range(n):
        x = x * 2.0 + 1.0
        pen.cla()
        pen.axis().set_label("x", size=i, where=(1, 2))
        pen.plot(x, i)
        sys.stdout.flush()
        print(i, "of", n, file=out)
        t = time.perf_counter()
        pen.show(block=False)
        x = x - t * 0.0
    pen.savefig("last.png", dpi=n)
    pen.close()
    return x


def rebinding(x: Any, pen: Any, out: Any, n: int) -> Any:
    y = x + 1.0
    pen.begin()
    pen = pen.other(y)
    pen.go(y, [n, n + 1][0])
    x = pen._name if n > 5 else y * 2.0
    pen.end()
    out = pen.last(x)
    return x, out is pen


def parts(x: Any, pen: Any, out: Any, n: int) -> Any:
    chosen = [0, 2, 1]
    for i in range(n):
        y = np.sqrt(x + i)
        pen.cla()
        pen.plot(y[[0, 1]], y[1:-1], x[chosen], {"x": y[i % 5]}["x"], [1, 2, 3], x[::-1][i % 3 :], size=[4, 5, 6])
        pen.lines[i % 2](y[-1])
        x = y * 0.5
    return x


def indexing(x: Any, pen: Any, out: Any, n: int) -> Any:
    y = x + 1.0
    pen.begin()
    try:
        return outside(y, pen, n)
    except IndexError as error:
        pen.note(str(error), error.__traceback__.tb_next.tb_lineno)
    return y


def outside(y: Any, pen: Any, n: int) -> Any:
    y = y * 2.0
    pen.go(y[0])
    pen.plot(y[: n + 1], y[n])
    return y


def unpacking(x: Any, pen: Any, out: Any, n: int) -> Any:
    y = x + 1.0
    pen.begin()
    a, b = divmod(n, 3)
    first, second = time.gmtime(n).tm_year, time.gmtime(n)[1:3]
    hour, minute, *_ = time.gmtime(n)[3:]
    name, value = time.strftime("%Y %d", time.gmtime(n)).split()
    return y * a + b, first, name + value, hour, minute, second[0]


def raising(x: Any, pen: Any, out: Any, n: int) -> Any:
    y = x + 1.0
    pen.begin()
    pen.cla(y)
    pen.raises(y)
    pen.end()
    return y * 2.0


def caught(x: Any, pen: Any, out: Any, n: int) -> Any:
    y = x + 1.0
    pen.begin()
    try:
        pen.cla(y)
        pen.raises(y)
    except ValueError as error:
        y = y * 3.0
        pen.note(str(error))
    pen.end()
    return y * 2.0


def while_loop(x: Any, pen: Any, out: Any, n: int) -> Any:
    while n:
        x = x * 0.5
        pen.plot(x)
        pen.cla()
        n -= 1
        pen.clim(-n, n * 2)
        pen.grid(True)
    return x


def told(function: Callable[..., Any], n: int) -> Any:
    notes: list[Any] = []
    out = io.StringIO()
    try:
        result = function(np.linspace(0.0, 1.0, 5), Pen(notes), out, n)
        parts = [part if isinstance(part, bool | str) else np.asarray(part).tobytes() for part in result]
    except ValueError as error:
        lines = []
        entry: types.TracebackType | None = error.__traceback__
        while entry is not None:
            lines.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
            entry = entry.tb_next
        parts = [str(error), lines[1:]]
    return parts, notes, out.getvalue()


@pytest.mark.parametrize("function", [drawing, rebinding, parts, indexing, unpacking, raising, caught, while_loop])
def test_what_a_program_does_is_the_same(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for n in (3, 0, 1, 7, 3):
        assert told(fast, n) == told(function, n)


@pytest.mark.usefixtures("no_mode")
def test_statements_in_a_row_break_once() -> None:
    def draws(x: Any, pen: Any) -> Any:
        y = x * 2.0 + 1.0
        pen.cla()
        pen.plot(y, "o")
        pen.axis().set_label("x", size=3)
        print("drawn", file=sys.stderr)
        pen.show()
        return y * 3.0 + y

    fast = dynamo_lite.compile(draws, options={"cost_model": False})
    for _ in range(3):
        fast(np.ones(5), Pen([]))
    assert fast.stats()["compiles"] == 2
    assert len(fast.explain().breaks) == 1


@pytest.mark.usefixtures("no_mode")
def test_what_has_array_code_in_it_is_captured() -> None:
    def draws(x: Any, pen: Any) -> Any:
        pen.cla()
        pen.plot(np.sqrt(np.abs(x)) * 2.0)
        return x.sum()

    fast = dynamo_lite.compile(draws, options={"cost_model": False})
    fast(np.ones(5), Pen([]))
    assert sum(graph.kernels for graph in fast.explain().graphs) == 2


class StubPen:
    """Any attribute of it can be called; it notes for what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return lambda *args: (1, 2)


def test_objects_are_asked_for_what_the_program_names() -> None:
    def notes(x: Any, pen: Any) -> Any:
        y = x * 2.0 + 1.0
        pen.go(1)
        pen.stop(y)
        return y + 1.0

    fast = dynamo_lite.compile(notes, options={"cost_model": False})
    for _ in range(3):
        pen = StubPen()
        fast(np.ones(5), pen)
        assert pen.asked == ["go", "stop"]


@pytest.mark.usefixtures("no_mode")
def test_iterators_given_to_foreign_calls_are_not_those_of_loops() -> None:
    def reads(x: Any, pen: Any, items: Any) -> Any:
        for i in items:
            x = x * 2.0 + i
            pen.go(pen, items, x)
            a, b = pen.both()
            x = x + (a - b)
        pen.end(pen, items, x)
        a, b = pen.both()
        c = pen.last()
        return x * a, b, c

    fast = dynamo_lite.compile(reads, options={"cost_model": False})
    for n in (3, 3, 0, 4):
        found, expected = (function(np.ones(5), StubPen(), iter(range(n))) for function in (fast, reads))
        assert [str(value) for value in found] == [str(value) for value in expected]
    assert fast.stats()["native_calls"] > 0


OF_NOBODY = """
def halved(x):
    return x * 0.5

class Mine:
    pass
"""


def test_a_module_that_was_not_imported_is_the_users() -> None:
    """exec() in a namespace of one's own, a file loaded by its path: functions' files tell whose they are."""
    names: dict[str, Any] = {"__name__": "nowhere", "np": np}
    exec(compile(OF_NOBODY, "/somewhere/mine.py", "exec"), names)
    assert not is_foreign(names["halved"]) and not is_foreign(names["Mine"]) and not is_foreign(names["Mine"]())
    assert is_foreign(textwrap.dedent) and is_foreign(time.sleep) and is_foreign(print)


def selected(x: Any, flags: Any) -> Any:
    if np.any(x > 5.0):
        part = x[x > 1.0]
        return part
    chosen = flags
    if np.all(x < 5.0):
        z = x[chosen]
        return np.log1p(x[chosen]) * 2.0 - z
    w = x[chosen, ...]
    return w * 2.0 - x[chosen]


@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0])
def test_what_an_array_selects_is_captured(scale: float) -> None:
    def made() -> Any:
        x = np.random.default_rng(3).random(20_000) * scale
        return np.append(x, min(5.0, 6.0 * scale)), np.append(x, 0.0) > 0.3 * scale

    compiled = dynamo_lite.compile(selected, options={"cost_model": False})
    for _ in range(2):
        assert np.array_equal(compiled(*made()), selected(*made()))
    assert {one.id for one in compiled.explain().breaks} == {"data-dependent-branch"}
