"""Loops over lists, tuples, arrays, enumerate, zip and reversed are left and entered in their middle.

Each program goes over each kind of iterable; it is left because something waits, because an iteration declines, prints,
raises or returns; and a running one is entered. What it leaves behind is plain Python's.
"""

from __future__ import annotations

import contextlib
import io
import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.capture.loops.rests import Rest, rest_of_iterator
from tests import watched
from tests.oracle import MakeArgs, require_equal
from tests.programs.loop_cases import OPTIONS

MANY = {**OPTIONS, "recompile_limit": 200}

ITERABLES: dict[str, Callable[[int], Any]] = {
    "list": lambda n: [0.5 * k for k in range(n)],
    "ints": lambda n: list(range(n)),
    "tuple": lambda n: tuple(0.25 * k for k in range(n)),
    "array": lambda n: np.linspace(0.0, 1.0, n),
    "int_array": lambda n: np.arange(n),
    "strided": lambda n: np.arange(2.0 * n)[::-2],
    "pairs": lambda n: [(0.5 * k, k) for k in range(n)],
    "rows": lambda n: np.arange(3.0 * n).reshape(n, 3),
    "range": lambda n: range(3, 3 + 2 * n, 2),
    "back": lambda n: range(n, 0, -1),
}


def number(item: Any) -> Any:
    return item


def alone(x: Any, items: Any, at: int, out: Any) -> Any:
    total = 0.0
    for item in items:
        x = x * 0.9 + 0.1
        total = total + x[0]
        out.append(item)
    return x, total, item


def numbered(x: Any, items: Any, at: int, out: Any) -> Any:
    for i, item in enumerate(items, 3):
        x = x * 0.9 + 0.01 * i
        if i == at:
            print("at", i, item)
    return x, i


def zipped(x: Any, items: Any, at: int, out: Any) -> Any:
    others = np.arange(float(len(items) + 2))
    for _item, other in zip(items, others, strict=False):
        x = x * 0.9 + other
        if x[0] > at:
            print("more", other)
            x = x * 0.01
    return x, other


def strict(x: Any, items: Any, at: int, out: Any) -> Any:
    for (i, _item), k in zip(enumerate(items), range(7, 7 + len(items)), strict=True):
        x = x * 0.9 + 1.0 / (i - at - np.float64(k - i - 7))
        out.append(k)
    return x, i, k


def left(x: Any, items: Any, at: int, out: Any) -> Any:
    for i, item in enumerate(items):
        x = x * 0.9 + 0.01 * i
        if i == at:
            return x, item
    return x, None


def broken(x: Any, items: Any, at: int, out: Any) -> Any:
    for i, _item in enumerate(items):
        x = x * 0.9 + 0.01 * i
        if x[1] * 20 > at:
            break
    else:
        x = x + 1.0
    return x, i


def raises(x: Any, items: Any, at: int, out: Any) -> Any:
    for _item in items:
        x = x * 0.5 + 1.0
        out.append(x[len(out) + 5 - at])
    return x


def grown(x: Any, items: Any, at: int, out: Any) -> Any:
    made = []
    for i, _item in enumerate(items):
        made.append(i * 0.5)
    for one in made:
        x = x * 0.9 + one
        if x[0] > at:
            print(one)
    for i, one in enumerate(made[1:]):
        x = x * 0.9 + one * i
    return x, made


def nested(x: Any, items: Any, at: int, out: Any) -> Any:
    for i, item in enumerate(items):
        for one in reversed(np.arange(4.0)):
            x = x * 0.9 + one * 0.01
        if i == at:
            print(x[0], item)
    return x, i


def kept(x: Any, items: Any, at: int, out: Any) -> Any:
    going = iter(items)
    for item in going:
        x = x * 0.9 + 0.1
        out.append(item)
        if x[0] > 0.9:
            print("left", len(list(going)))
    return x, item


PROGRAMS = (alone, numbered, zipped, strict, left, broken, raises, grown, nested, kept)


def arguments(kind: str, n: int, at: int) -> MakeArgs:
    return lambda: (np.linspace(0.1, 0.4, 9), ITERABLES[kind](n), at, [])


def called(function: Callable[..., Any], kind: str, n: int, at: int) -> None:
    """Call it for what it compiles."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*arguments(kind, n, at)())


def same(fast: Callable[..., Any], function: Callable[..., Any], kind: str, n: int, at: int) -> None:
    """Require that a call of what is compiled leaves what a plain call does."""
    require_equal(function, arguments(kind, n, at), compile=lambda *_, **__: fast, calls=1)


@pytest.fixture
def force() -> Iterator[Callable[[int, int], None]]:
    """Have loops be left behind every so many iterations, and decline in every so many."""

    def forced(leave: int, decline: int) -> None:
        _C.leave_loops(leave)
        _C.decline_loops(decline)

    yield forced
    forced(0, 0)


@pytest.mark.parametrize("forced", [(0, 0), (1, 0), (3, 0), (0, 1), (0, 3), (4, 3)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_program(program: Callable[..., Any], forced: tuple[int, int], force: Callable[[int, int], None]) -> None:
    force(*forced)
    for kind in ITERABLES:
        first, *rest = [arguments(kind, *call) for call in ((12, 5), (12, 0), (30, 21), (0, 1), (1, 0), (12, 50))]
        require_equal(
            program,
            first,
            variants=rest,
            compile=dynamo_lite.compile,
            compile_options={"backend": "numba", "options": MANY},
            calls=1,
        )


@pytest.mark.parametrize("kind", ITERABLES)
@pytest.mark.parametrize("program", [numbered, zipped, left, nested], ids=lambda program: program.__name__)
def test_most_iterations_are_native(program: Callable[..., Any], kind: str) -> None:
    fast = dynamo_lite.compile(program, backend="numba", options=MANY)
    at = 3400 if program is zipped else 300
    for _ in range(3):
        called(fast, kind, 400, at)
    before = fast.stats()
    same(fast, program, kind, 400, at)
    after = fast.stats()
    assert after["native_calls"] - before["native_calls"] <= (100 if program is zipped else 12)
    assert after["plain_calls"] - before["plain_calls"] <= 1  # what is left of an iteration may have nothing to compile


def test_declines_cost_an_iteration() -> None:
    fast = dynamo_lite.compile(strict, backend="numba", options=MANY)
    for _ in range(3):
        called(fast, "list", 400, 300)
    before = fast.stats()
    same(fast, strict, "list", 400, 300)
    after = fast.stats()
    assert after["plain_rounds"] - before["plain_rounds"] == 1
    assert after["native_calls"] - before["native_calls"] <= 40


@pytest.mark.parametrize("kind", ITERABLES)
@pytest.mark.parametrize("program", [alone, numbered, zipped, strict, nested], ids=lambda program: program.__name__)
def test_a_running_loop_is_entered(program: Callable[..., Any], kind: str) -> None:
    fast = watched.compile_loops(program, backend="numba")
    same(fast, program, kind, 400, 300)
    assert fast.stats()["native_calls"]  # type: ignore[attr-defined]


def last(x: Any, items: Any, at: int) -> Any:
    for i, item in enumerate(items):
        x = x * 0.9 + item
        other = item
        if i == at:
            print(item)
    return x, item, other


def last_parts(x: Any, items: Any, at: int) -> Any:
    for one, (k, two) in items:
        x = x * 0.9 + one * two
        if x[0] > at:
            print(k)
            x = x * 0.01
    return x, one, k, two


@pytest.mark.parametrize("forced", [(0, 0), (1, 0), (3, 0), (0, 1), (0, 3)], ids=str)
@pytest.mark.parametrize("program", [last, last_parts], ids=lambda program: program.__name__)
def test_items_of_lists_are_the_very_objects(
    program: Callable[..., Any], forced: tuple[int, int], force: Callable[[int, int], None]
) -> None:
    force(*forced)
    fast = dynamo_lite.compile(program, backend="numba", options=MANY)
    for n, at in ((300, 1000), (300, 120), (1, 0), (130, 129)):
        flat = [1000.5 + k for k in range(n)]
        items: Any = flat if program is last else [(one, (1000 + k, 0.5 * one)) for k, one in enumerate(flat)]
        x = np.linspace(0.1, 0.4, 9)
        with contextlib.redirect_stdout(io.StringIO()):
            (wanted, *ours), (got, *theirs) = program(x, items, at), fast(x, items, at)
        assert got.tobytes() == wanted.tobytes()
        assert all(one is other for one, other in zip(ours, theirs, strict=True)), (n, at)
    assert fast.stats()["native_calls"]


def test_a_long_list_is_gone_through_natively() -> None:
    """Making an array of it pays by the iterations that are left, of which the first is captured by itself."""

    def program(x: Any, items: Any, at: int, out: Any) -> Any:
        total = 0.0
        for item in items:
            x = x * 0.9 + item
            total += item
            out.append(x.mean())
        return x, total

    fast = watched.compile_loops(program, backend="numba")
    same(fast, program, "list", 6000, 0)
    assert 0 < fast.stats()["native_calls"] < 10  # type: ignore[attr-defined]


def prints_often(x: Any, items: Any, at: int, out: Any) -> Any:
    for i, item in enumerate(items):
        x = x * 0.9 + item * 1e-6
        if i % at == 0:
            print(i, x[0])
    return x, i


def test_a_long_list_is_left_and_entered_up_to_its_end() -> None:
    """Behind the last print so few iterations are left that its columns do not pay, and its items are too much work."""
    fast = watched.compile_loops(prints_often, backend="numba")
    same(fast, prints_often, "list", 60_000, 1000)
    assert fast.stats()["native_calls"]  # type: ignore[attr-defined]


def floats_of_the_index(x: Any, items: Any, at: int, out: Any) -> Any:
    for i in range(len(items)):
        t = 0.1 * i
        u = i % 7
        x = x * 0.9 + t
        if i % 50 == at:
            print(t, u)
    return x, t, u


@pytest.mark.parametrize("forced", [(0, 0), (1, 0), (3, 0), (0, 1), (0, 3)], ids=str)
def test_numbers_that_only_the_index_tells(forced: tuple[int, int], force: Callable[[int, int], None]) -> None:
    force(*forced)
    fast = dynamo_lite.compile(floats_of_the_index, backend="numba", options=MANY)
    for n in (400, 400, 400, 1, 0, 60):
        same(fast, floats_of_the_index, "list", n, 7)
    assert fast.stats()["native_calls"] < 3000


def test_rounds_of_rests_are_counted() -> None:
    """A loop over a list that is left again and again is credited with what its rounds save."""
    made = watched.Watched(prints_often, replace(watched.LOOPS_AT_ONCE, hot_loop=0.001), "numba")
    same(made.function, prints_often, "list", 20_000, 2000)
    (known,) = made.watch.rounds.values()
    _, gain, rounds = known.savings
    assert gain > 0 and rounds > 0 and not known.loses  # 30 ms plainly, a tenth of that compiled


def iterators() -> list[Any]:
    xs, ys = [1.0, 2.0, 3.0], np.arange(3.0)
    return [
        iter(xs),
        iter(tuple(xs)),
        iter(ys),
        iter(range(5)),
        reversed(ys),
        enumerate(xs, 4),
        enumerate(range(2, 9, 3)),
        zip(xs, ys, strict=False),
        zip(xs, range(9), strict=False),
        zip(xs, enumerate(ys), strict=True),
        enumerate(zip(range(4), range(5, 1, -1), strict=False)),
    ]


@pytest.mark.parametrize("number", range(len(iterators())))
@pytest.mark.parametrize("taken", range(3))
def test_what_is_left(number: int, taken: int) -> None:
    iterator = iterators()[number]
    for _ in range(taken):
        next(iterator)
    rest = rest_of_iterator(iterator)
    assert isinstance(rest, Rest | range)
    assert operator.length_hint(rest) == len(list(rest))
    assert type(iter(rest)) is type(iterator)
    assert repr(list(rest)) == repr(list(iterator))


def test_what_nobody_can_tell_is_left_as_it_is() -> None:
    inner, ended, apart = iter([1, 2]), iter([]), iter([1, 2, 3])
    next(ended, None)
    next(apart)
    mine = type("Mine", (), {"__getitem__": lambda self, k: k})()
    for one in (
        enumerate(inner),
        zip(inner),
        ended,
        zip(apart, iter([4, 5]), strict=False),
        iter(mine),
        map(abs, [1]),
        iter({1: 2}),
    ):
        assert rest_of_iterator(one) is None
    assert rest_of_iterator(zip(inner, inner, strict=False)) is None
