"""Tuples that a loop carries by their items are one object where plain Python has one, and two where it has two."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import dynamo_lite

State = namedtuple("State", "x k")


def two_names(x, n):
    t = u = None
    for i in range(n):
        t = (x[i] * 2, i)
        u = t
    return t is u, t, u


def began_as_one(x, n):
    t = u = (0.0, x)
    for i in range(n):
        t = (i * 0.5, x * 2)
        u = t
    return t is u, t, u


def previous(x, n):
    t = u = v = (0.0, x[0])
    for i in range(n):
        v = u
        u = t
        t = (i * 0.5, x[i])
    return t is u, u is v, t is v, t, u, v


def within_another(x, n):
    t = u = (0.0, 0)
    p = None
    for i in range(n):
        p = t
        t = (t[0] + x[i], i)
        u = (t, p)
    return u[0] is t, u[1] is p, t, u, p


def begins_as_an_item(x, n):
    t = ((1.0, 2.0), 3.0)
    u = t[0]
    for i in range(n):
        t = ((t[1], i), u[0])
        u = t[0]
    return u is t[0], t


def swapped(x, n):
    t, u = (0.0, x[0]), (1.0, x[1])
    w, v = t, u
    for _ in range(n):
        t, u = u, t
    return u is w, u is v, t is w, t is v


def records(x, n):
    s = last = State(0.0, 0)
    for i in range(n):
        s = State(s.x + x[i], i)
        last = s
    return s is last, s


def printed_now_and_then(x, n):
    t = u = (0.0, 0.0)
    for i in range(n):
        t = (t[0] + i * 0.5, t[1] * 0.5)
        u = t
        if i % 10 == 5:
            print(t is u)
    return t is u, t


def in_an_attribute(x, n):
    class Holder:
        last = None

    h = Holder()
    t = None
    for i in range(n):
        t = (x[i] * 2, i)
        h.last = t
    return h.last is t, t


PROGRAMS = [
    *(two_names, began_as_one, previous, within_another, begins_as_an_item, swapped, records, printed_now_and_then),
    in_an_attribute,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_tuples_of_a_loop_are_the_objects_that_they_are(program: Callable, capsys: pytest.CaptureFixture) -> None:
    fast = dynamo_lite.compile(program, options={"check": 1, "cost_model": False})
    x = np.arange(30) * 0.5
    for n in (25, 1, 0, 2, 3, 25):
        expected = repr(program(x, n)), capsys.readouterr().out
        assert (repr(fast(x, n)), capsys.readouterr().out) == expected
