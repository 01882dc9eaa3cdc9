"""Numbers that are variables of a module: constants, until one is seen to change."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False}


def module(text: str, **variables: Any) -> Any:
    made = types.ModuleType("made_for_a_test")
    vars(made).update(np=np, math=math, **variables)
    exec(text, vars(made))
    return made


POLYNOMIAL = "def fn(x):\n    return a + x * (b + x * (c + np.pi * x)) + n\n"


def inputs(fast: Any) -> list[int]:
    return [len(graph.inputs) for graph in fast.explain().graphs]


def same(fast: Any, plain: Any, x: Any) -> bool:
    found, expected = fast(x), plain(x)
    return type(found) is type(expected) and np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def test_they_are_no_inputs() -> None:
    made = module(POLYNOMIAL, a=0.5, b=-0.0, c=1e300, n=7)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    for x in (np.linspace(0, 1, 5), np.ones(9)):
        assert same(fast, made.fn, x)
    assert inputs(fast) == [1] and fast.stats()["compiles"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"a": [1.5, 2.5, 1.5, -0.0, 0.0]},
        {"n": [8, 9, 10, 3000, 3001]},
        {"a": [1.5, 2.5, 3.5], "b": [4.5, 5.5, 6.5], "c": [0.1, 0.2, 0.3]},
        {"b": [0.0, -0.0, 0.0]},
    ],
)
def test_one_that_changes_is_compiled_once_more(changes: dict[str, list[Any]]) -> None:
    made = module(POLYNOMIAL, a=0.5, b=-0.0, c=1e300, n=7)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    x = np.linspace(-1, 1, 6)
    assert same(fast, made.fn, x)
    for values in zip(*changes.values(), strict=True):
        vars(made).update(zip(changes, values, strict=True))
        for _ in range(2):
            assert same(fast, made.fn, x), values
    assert inputs(fast) == [1, 1 + len(changes)] and fast.stats()["compiles"] == 2
    assert not fast.stats()["plain_calls"]


def test_numbers_that_change_one_after_the_other_are_compiled_twice_more() -> None:
    made = module(POLYNOMIAL, a=0.5, b=-0.0, c=1e300, n=7)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    x = np.linspace(-1, 1, 6)
    for name in "aabbccab":
        vars(made)[name] += 0.25
        assert same(fast, made.fn, x)
    assert fast.stats()["compiles"] == 3


def test_one_of_another_type_is_another_number() -> None:
    made = module("def fn(x):\n    return x * a\n", a=1)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    x = np.arange(5)
    for a in (1, 1.0, True, 1 + 0j, np.float32(1), float("nan"), 1.0):
        made.a = a
        assert same(fast, made.fn, x), a


@pytest.mark.parametrize(
    "text",
    [
        "def fn(x):\n    global n\n    n += 1\n    return x * n + 1.0\n",
        "def count():\n    global n\n    n += 1\ndef fn(x):\n    count()\n    return x * n + 1.0\n",
        "def fn(x):\n    global n\n    for _ in range(3):\n        n += 1\n        x = x + n\n    return x\n",
    ],
)
def test_counters_are_inputs(text: str) -> None:
    one, other = module(text, n=1000), module(text, n=1000)
    fast = dynamo_lite.compile(one.fn, options=OPTIONS)
    x = np.linspace(0, 1, 7)
    for _ in range(12):
        assert fast(x).tobytes() == other.fn(x).tobytes()
    assert one.n == other.n
    before = fast.stats()["compiles"]
    for _ in range(12):
        fast(x)
    assert fast.stats()["compiles"] == before <= 4


def test_one_that_goes_raises_as_ever() -> None:
    made = module(POLYNOMIAL, a=0.5, b=-0.0, c=1e300, n=7)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    fast(np.ones(3))
    del made.c
    with pytest.raises(NameError, match="'c'"):
        fast(np.ones(3))


def test_the_object_itself_is_returned() -> None:
    made = module("def fn(x):\n    return x * a, a, n\n", a=0.1, n=10**6)
    fast = dynamo_lite.compile(made.fn, options=OPTIONS)
    for _ in range(3):
        _, a, n = fast(np.ones(3))
        assert a is made.a and n is made.n
        made.a, made.n = made.a + 1.0, made.n + 1
