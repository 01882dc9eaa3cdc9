"""Long lists from outside, whose items are not looked at one by one: what reads all of them runs plainly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False}
LONG = [float(x) for x in np.random.default_rng(0).random(3000)]


def least(x: Any, numbers: Any) -> Any:
    return np.sqrt(x * 2.0 + min(numbers))


def contained(x: Any, numbers: Any) -> Any:
    return np.sqrt(x) + (3.5 in numbers)


def mean(x: Any, numbers: Any) -> Any:
    return np.sqrt(x) + np.mean(numbers)


def squares(x: Any, numbers: Any) -> Any:
    return np.sqrt(x) + sum([number * number for number in numbers])


def some(x: Any, numbers: Any) -> Any:
    return np.sqrt(x) * numbers[-1] + numbers[len(numbers) // 2] + len(numbers)


@pytest.mark.parametrize("fn, kind", [*itertools.product([least, contained, squares], [list, tuple]), (mean, tuple)])
def test_items_that_are_needed_one_by_one(fn: Callable[..., Any], kind: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    x = np.linspace(0.0, 1.0, 50)
    for numbers in (kind(LONG), kind(LONG[::-1])):
        assert fast(x, numbers).tobytes() == fn(x, numbers).tobytes()
    found = fast.explain()
    is_a_loop = fn is squares and [loop.outcome for loop in found.loops] == ["native"]  # of all items, from 3.12 on
    assert "long-list" in [record.id for record in found.breaks] or is_a_loop
    assert fast.stats()["recompiles"] == 0


def test_numpy_wants_all_of_a_list_at_once() -> None:
    fast = dynamo_lite.compile(mean, fullgraph=True, options=OPTIONS)
    x = np.linspace(0.0, 1.0, 50)
    for numbers in (LONG, LONG[::-1], LONG[:700]):
        assert fast(x, numbers).tobytes() == mean(x, numbers).tobytes()
    assert fast.stats()["recompiles"] == 0


@pytest.mark.parametrize("fn", [least, mean])
def test_short_lists_are_part_of_the_graph(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    x = np.linspace(0.0, 1.0, 50)
    assert fast(x, LONG[:100]).tobytes() == fn(x, LONG[:100]).tobytes()
    assert "long-list" not in [record.id for record in fast.explain().breaks]


def test_single_items_of_long_lists_are_inputs() -> None:
    fast = dynamo_lite.compile(some, fullgraph=True)
    x = np.linspace(0.0, 1.0, 50)
    for numbers in (LONG, LONG[::-1]):
        assert fast(x, numbers).tobytes() == some(x, numbers).tobytes()
    assert fast.stats()["compiles"] == 1
