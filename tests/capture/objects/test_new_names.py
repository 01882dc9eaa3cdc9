"""New names of a module, attributes and keys that two ways make in another order: a dict shows which came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite


class Holder:
    pass


def by_data(x, held):
    global new_a, new_b
    m = x.sum()
    if m > 3.0:
        new_a = m * 2
        new_b = m + 1
    else:
        new_b = m * 3
        new_a = m - 1
    return m * m + 1.0


def in_a_loop(x, held):
    global new_a, new_b
    t = 0.0
    for i in range(len(x)):
        t = t + x[i]
        if t > 3.0:
            new_a = t * 2
            new_b = t + 1
        else:
            new_b = t * 3
            new_a = t - 1
    return t


def attributes(x, held):
    m = x.sum()
    if m > 3.0:
        held.new_a = m * 2
        held.new_b = m + 1
    else:
        held.new_b = m * 3
        held.new_a = m - 1
    return m * m + 1.0


def of_an_object_made_here(x, held):
    one = Holder()
    m = x.sum()
    if m > 3.0:
        one.new_a = m * 2
        one.new_b = m + 1
    else:
        one.new_b = m * 3
        one.new_a = m - 1
    return one.__dict__


def keys(x, held):
    one = {}
    m = x.sum()
    if m > 3.0:
        one["new_a"] = m * 2
        one["new_b"] = m + 1
    else:
        one["new_b"] = m * 3
        one["new_a"] = m - 1
    return one


def in_one_order(x, held):
    global new_a, new_b
    m = x.sum()
    if m > 3.0:
        new_b = m * 2
        new_a = m + 1
    else:
        new_b = m * 3
        new_a = m - 1
    return m * m + 1.0


PROGRAMS = [by_data, in_a_loop, attributes, of_an_object_made_here, keys, in_one_order]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_new_names_come_in_their_order(program: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(program, options={"check": 1, "cost_model": False})

    def seen(run: Callable[..., Any], x: Any) -> str:
        for name in ("new_a", "new_b"):
            globals().pop(name, None)
        held = Holder()
        result = run(x, held)
        names = [(name, globals()[name]) for name in globals() if name.startswith("new_")]
        return repr((result, names, held.__dict__))

    for x in (np.ones(8), np.zeros(8), np.ones(8), np.zeros(8)):
        assert seen(fast, x) == seen(program, x)
    assert fast.stats()["native_calls"]


def test_where_both_ways_make_them_alike_the_branch_stays_in_the_graph() -> None:
    fast = dynamo_lite.compile(in_one_order, options={"check": 1, "cost_model": False})
    for x in (np.ones(8), np.zeros(8)):
        for name in ("new_a", "new_b"):
            globals().pop(name, None)
        fast(x, None)
    assert fast.stats()["breaks"] == 0 and fast.stats()["compiles"] == 1
