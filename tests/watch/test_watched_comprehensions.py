"""Comprehensions that take long are entered while they run, as loops are, wherever their functions are made.

Up to CPython 3.11 a comprehension is a function, whose result lies on the stack below its iterator, and which has that
iterator in a variable, too.
"""

from __future__ import annotations

import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynamo_lite import _C, policy
from dynamo_lite.pycode import GIVEN, decoded, is_comprehension, loops, watched_loops
from dynamo_lite.watch.watching import Watch
from tests import watched

own_function = pytest.mark.skipif(sys.version_info >= (3, 12), reason="comprehensions are no functions")

XS = np.linspace(-2.0, 2.0, 60)
LONG = 60


def folded(x: float, k: float = 3.0) -> float:
    total = 0.0
    for i in range(9):
        total += x * i % k
    return total


def listed() -> Any:
    return [folded(x) for x in XS]


def chosen() -> Any:
    return [folded(x) for x in XS.tolist() if x < -1 or x > 0]


def nested() -> Any:
    return [[folded(x * y) for x in XS] for y in range(LONG)]


def twice() -> Any:
    return [folded(x * y) for x in XS[:30] for y in range(30) if y % 3]


def numbered() -> Any:
    return [(i, folded(x)) for i, x in enumerate(XS.tolist())]


def beside() -> Any:
    return [folded(x) * k for x, k in zip(XS, range(LONG), strict=True)]


def arrays() -> Any:
    return [np.array([folded(x), 1.0]) for x in XS]


def keyed() -> Any:
    return {i: folded(x) for i, x in enumerate(XS)}


def gathered() -> Any:
    return {round(folded(x), 3) for x in XS}


def what_is_left() -> Any:
    """The iterator is somebody else's, too."""
    left = iter(XS.tolist())
    first = [folded(x) + next(left) for x in left]
    return first, next(left, "end")


def what_locals_show() -> Any:
    return [(folded(x), sorted(locals())) for x in range(LONG)]


def interrupted() -> Any:
    left, log = iter(XS.tolist()), []
    try:
        log = [folded(x) if x < 1.0 else 1 / (int(x) - int(x)) for x in left]
    except ZeroDivisionError:
        return log, next(left), traceback.format_exc().count("line")
    return None


CASES = [listed, chosen, nested, twice, numbered, beside, arrays, keyed, gathered, what_is_left, what_locals_show]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.tobytes()
    if isinstance(value, dict):
        return [(key, _plain(one)) for key, one in value.items()]
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else (type(value), repr(value))


def _module(source: str) -> tuple[Watch, Callable[[], dict[str, Any]]]:
    """What watches a file, and what runs it."""
    watch = Watch(watched.LOOPS_AT_ONCE, "numba")
    code = watch.watched(compile(source, "/tmp/a_users_file.py", "exec"))

    def run() -> dict[str, Any]:
        names: dict[str, Any] = {"np": np, "XS": XS, "__name__": "a_users_file"}
        exec(code, names)
        return names

    return watch, run


@pytest.fixture
def end() -> Iterator[list[Watch]]:
    watches: list[Watch] = []
    yield watches
    for one in watches:
        one.end()


@pytest.mark.parametrize("function", [*CASES, interrupted])
def test_a_comprehension_gives_what_it_gave(function: Any, end: list[Watch]) -> None:
    made = watched.Watched(function, watched.LOOPS_AT_ONCE, "numba")
    end.append(made.watch)
    for _ in range(3):
        assert _plain(made.function()) == _plain(function())


@own_function
@pytest.mark.parametrize("function", [listed, chosen, numbered, beside, arrays])
def test_it_is_entered_while_it_runs(function: Any, end: list[Watch]) -> None:
    made = watched.Watched(function, watched.LOOPS_AT_ONCE, "numba")
    end.append(made.watch)
    assert _plain(made.function()) == _plain(function())
    stats = made.stats()
    assert (stats["entered"], stats["breaks"], stats["native_calls"]) == (1, 0, 1)


SOURCE = """
def folded(x):
    return x * 3.5 % 3.0 + x

def main():
    return [folded(x) for x in XS]

def outer():
    def inner(n):
        total = 0.0
        for i in range(n):
            total += XS[i] * i % 3.0
        return total
    return inner(50)
"""


@own_function
def test_what_a_function_that_is_called_once_holds_is_entered(end: list[Watch]) -> None:
    """Without loops of its own that function is not watched before its calls have taken some time."""
    for call in ("main()", "outer()"):
        watch = Watch(replace(watched.LOOPS_AT_ONCE, polls_after=1e6), "numba")
        end.append(watch)
        names: dict[str, Any] = {"np": np, "XS": XS, "__name__": "a_users_file"}
        exec(watch.watched(compile(f"{SOURCE}\nfound = {call}", "/tmp/a_users_file.py", "exec")), names)
        plain: dict[str, Any] = {"np": np, "XS": XS}
        exec(f"{SOURCE}\nfound = {call}", plain)
        assert _plain(names["found"]) == _plain(plain["found"])
        assert watch.loops_entered == 1
        watch.end()


@own_function
def test_a_comprehension_of_a_module_is_entered(end: list[Watch]) -> None:
    watch, run = _module(f"{SOURCE}\nfound = [folded(x) for x in XS]")
    end.append(watch)
    assert _plain(run()["found"]) == _plain([x * 3.5 % 3.0 + x for x in XS])
    assert watch.loops_entered == 1


@own_function
def test_short_rounds_are_not_asked() -> None:
    def code_of(source: str) -> Any:
        return decoded(next(one for one in compile(source, "f", "eval").co_consts if isinstance(one, types.CodeType)))

    for short in ("[x * 2 for x in xs]", "[x for x in xs if x % 3]", "[abs(x) for x in xs]"):
        code = code_of(short)
        assert is_comprehension(code) and code.argnames == (GIVEN,)
        assert len(loops(code)) == 1 and loops(code)[0].depth == 2
        assert not watched_loops(code)
    for long in ("[f(x) for x in xs]", "[[y for y in x] for x in xs]", "[a[i] * b[i] + c[i] for i in xs]"):
        assert len(watched_loops(code_of(long))) == 1
    assert len(watched_loops(code_of("[f(x, y) for x in xs for y in ys]"))) == 2


@own_function
def test_an_iterator_dies_with_its_comprehension(end: list[Watch]) -> None:
    made = watched.Watched(listed, watched.LOOPS_AT_ONCE, "numba")
    end.append(made.watch)
    made.function()
    before = sys.getrefcount(XS)
    for _ in range(50):
        made.function()
    assert sys.getrefcount(XS) == before


@own_function
def test_functions_made_again_and_again_are_asked_once(end: list[Watch]) -> None:
    """The function around them, short and without loops, is asked how long it takes."""
    source = "def one(i):\n    return i\ndef short(n):\n    return [one(i) for i in range(n)]"
    watch = Watch(replace(watched.LOOPS_AT_ONCE, polls_after=1e6), "numba")
    end.append(watch)
    names: dict[str, Any] = {"np": np}
    exec(watch.watched(compile(source, "/tmp/a_users_file.py", "exec")), names)
    inner = next(one for one in names["short"].__code__.co_consts if isinstance(one, types.CodeType))
    poll = next(one for one in inner.co_consts if isinstance(one, _C.Poll))
    assert not poll.off
    assert [names["short"](3) for _ in range(5)] == [[0, 1, 2]] * 5
    assert poll.off


def of_lists(xs: list[float], n: int) -> float:
    return sum(len([folded(x) for x in xs]) for _ in range(n))


def of_ranges(xs: list[float], n: int) -> float:
    return sum(len([folded(x) for x in range(5)]) for _ in range(n))


def of_enumerated(xs: list[float], n: int) -> float:
    return sum(len([folded(x) for _, x in enumerate(xs)]) for _ in range(n))


def of_zipped(xs: list[float], n: int) -> float:
    return sum(len([folded(x) for x, _ in zip(xs, range(7), strict=False)]) for _ in range(n))


def of_arrays(xs: list[float], n: int) -> float:
    return sum(len([folded(x) for x in XS[:5]]) for _ in range(n))


@own_function
@pytest.mark.parametrize("function", [of_lists, of_ranges, of_enumerated, of_zipped, of_arrays])
@pytest.mark.parametrize("together", [0, 128])
def test_runs_of_which_each_has_the_frame_of_the_one_before_are_told_apart(
    function: Any, together: int, end: list[Watch]
) -> None:
    """What passes between two of them is not their time."""
    made = watched.Watched(function, replace(policy.THRESHOLDS, hot_loop=1e6, together=together), "reference")
    end.append(made.watch)
    before = time.perf_counter()
    for _ in range(20):
        assert made.function([0.5] * 5, 20) == 100
        time.sleep(0.01)
    passed = time.perf_counter() - before
    ((_, known),) = [one for one in made.watch.rounds.items() if one[0][1].endswith("<listcomp>")]
    assert known.n_begun >= 20 and known.n_plain > 0
    assert known.plain * 1e-9 < passed - 0.1
