"""Recursion limits: compiled and watched code leaves as much room for nested calls, of Python and of C, as plain code.

CPython counts frames of Python functions, and from 3.12 to 3.13 the evaluations on the C stack apart from those: a call
that goes through ours must count for what plain Python's call would have.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests import watched

X = np.ones(4)
MOST = 12_000  # more than any limit for nested lists
ROOM: list[int] = []


def nested() -> list[Any]:
    """Lists in lists: item n is n deep."""
    made: list[Any] = [[]]
    for _ in range(MOST):
        made.append([made[-1]])
    return made


LISTS = nested()


def lists_left() -> int:
    """How deep a list's repr() may be here."""
    fits, fails = 0, MOST
    while fits + 1 < fails:
        middle = (fits + fails) // 2
        try:
            repr(LISTS[middle])
            fits = middle
        except RecursionError:
            fails = middle
    return fits


def frames_left() -> int:
    """How many frames fit here."""
    deepest = 0

    def deeper(depth: int) -> None:
        nonlocal deepest
        deepest = depth
        deeper(depth + 1)

    with pytest.raises(RecursionError):
        deeper(1)
    return deepest


@dynamo_lite.disable
def note(left: Callable[[], int]) -> int:
    ROOM.append(left())
    return 0


def flat(x: Any, left: Any) -> Any:
    y = x * 2.0
    note(left)
    return y + 1.0


def loop(x: Any, left: Any) -> Any:
    for _ in range(3):
        x = x * 2.0
        note(left)
    return x


def recursive(x: Any, left: Any, depth: int = 5) -> Any:
    y = x * 2.0
    if depth:
        return recursive(y, left, depth - 1)
    note(left)
    return y


def callbacks(x: Any, left: Any) -> Any:
    y = x * 2.0
    for one in map(functools.partial(flat, left=left), [y]):
        y = y + one
    return y


def end(fast: Any) -> None:
    """Stop watching, for the tests that follow."""
    getattr(fast, "end", lambda: None)()


MODES: dict[str, Callable[[Any], Any]] = {
    "compiled": lambda function: dynamo_lite.compile(function, options={"cost_model": False}),
    "watched": lambda function: watched.compile(function, backend="numba"),
    "watched loops": lambda function: watched.compile_loops(function, backend="numba"),
}


UNCOUNTED = pytest.mark.skip(
    "a frame that C code calls under the hook counts for none on the C stack: dl_pyframe_lend_c_stack"
)


def rooms_to_compare() -> Iterator[Any]:
    """Mode, function, and what measures the room that is left."""
    for mode, function, left in itertools.product(MODES, [flat, loop, recursive, callbacks], [lists_left, frames_left]):
        known = (mode, function, left) == ("compiled", callbacks, lists_left)
        name = f"{mode}-{function.__name__}-{left.__name__}"
        yield pytest.param(mode, function, left, id=name, marks=[UNCOUNTED] if known else [])


@pytest.mark.parametrize(("mode", "function", "left"), list(rooms_to_compare()))
@pytest.mark.usefixtures("no_mode")
def test_as_much_room_as_plainly(mode: str, function: Any, left: Any) -> None:
    fast = MODES[mode](function)
    rooms = []
    for run in (function, fast, fast, fast):
        ROOM.clear()
        run(X, left)
        rooms.append(list(ROOM))
    end(fast)
    assert rooms[1:] == rooms[:1] * 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("no_mode")
def test_the_recursion_error_comes_at_the_same_depth(mode: str) -> None:
    """Of a function that itself is compiled, or watched, and calls itself without end."""

    def endless(x: Any, depths: list[int]) -> Any:
        depths[0] += 1  # NB: not by a method of C, which counts as a level where CPython has not specialised its call
        y = x * 2.0
        return again(y, depths)

    depths = []
    for made in (endless, MODES[mode](endless)):
        again: Any = made
        found = [0]
        with pytest.raises(RecursionError):
            made(X, found)
        depths.append(found[0])
        end(made)
    assert depths[0] == depths[1]


@pytest.mark.xfail(
    sys.version_info < (3, 12), reason="a call of C that CPython has specialised is no level", strict=True
)
@pytest.mark.usefixtures("no_mode")
def test_the_recursion_error_comes_at_the_same_depth_beside_methods_of_c() -> None:
    """On 3.11 a specialised list.append asks for no level; residual code's does, and raises one level earlier."""

    def endless(x: Any, depths: list[int]) -> Any:
        depths.append(len(depths))
        y = x * 2.0
        return again(y, depths)

    depths = []
    for made in (endless, MODES["compiled"](endless)):
        again: Any = made
        found: list[int] = []
        with pytest.raises(RecursionError):
            made(X, found)
        depths.append(len(found))
        end(made)
    assert depths[0] == depths[1]


def many(x: Any) -> Any:
    for _ in range(3):
        x = x * 2.0 + 1.0
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.usefixtures("no_mode")
def test_what_compiles_has_room_near_the_limit(mode: str) -> None:
    """Plain Python has the frames that it needs: so few that compiling, which needs more, would have none left."""

    def under(frames: int, function: Any) -> Any:
        return under(frames - 1, function) if frames > 0 else function(X)

    fast = MODES[mode](many)
    found = []
    for made in (many, fast, fast):
        ROOM.clear()
        note(frames_left)
        found.append(under(ROOM[0] - 6, made).tobytes())
    end(fast)
    assert found[1:] == found[:1] * 2
