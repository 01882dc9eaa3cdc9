"""What a segment passes on without looking at it must still be there when its entry is used again.

Residual code loads such values at the break. Without a guard it would be the first to find one gone, at another line
than plain Python, or where getattr() has a default.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite


@dynamo_lite.disable
def sink(*values: Any) -> Any:
    return values


class Slotted:
    __slots__ = ("a",)


class Ordinary:
    pass


class WithDefault:
    a = "of the class"


def make(kind: type, *values: Any) -> Any:
    made = kind()
    for value in values:
        made.a = value
    return made


def attribute(thing: Any) -> Any:
    found = thing.a
    return sink(found, 1)


def attribute_or_default(thing: Any) -> Any:
    return sink(getattr(thing, "a", "default"), 1)


def of_the_global(thing: Any) -> Any:
    found = PASSED
    return sink(found, thing)


PASSED = "global"


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as error:
        lines = [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)[1:]]
        return type(error), str(error), lines


@pytest.mark.parametrize("function", [attribute, attribute_or_default])
@pytest.mark.parametrize("kind", [Slotted, Ordinary, WithDefault])
@pytest.mark.parametrize("first", [0, 1])
def test_an_attribute_comes_and_goes(function: Callable[..., Any], kind: type, first: int) -> None:
    things = [make(kind), make(kind, "own")]
    fast = dynamo_lite.compile(function, options={"stress": "compile"})
    for number in (first, 1 - first, first, 1 - first):
        assert outcome(fast, things[number]) == outcome(function, things[number]), number


def test_a_global_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = dynamo_lite.compile(of_the_global, options={"stress": "compile"})
    assert outcome(fast, 1) == outcome(of_the_global, 1)
    monkeypatch.delitem(globals(), "PASSED")
    assert outcome(fast, 1) == outcome(of_the_global, 1)


def test_a_cell_is_emptied() -> None:
    def make_function() -> tuple[Any, Any]:
        value = "cell"

        def function(thing: Any) -> Any:
            found = value
            return sink(found, thing)

        def empty() -> None:
            nonlocal value
            del value

        return function, empty

    (function, empty), (again, empty_again) = make_function(), make_function()
    fast = dynamo_lite.compile(function, options={"stress": "compile"})
    assert outcome(fast, 1) == outcome(again, 1)
    empty()
    empty_again()
    assert outcome(fast, 1) == outcome(again, 1)
