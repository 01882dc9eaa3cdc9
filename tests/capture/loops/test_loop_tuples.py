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


def made_anew(x, n):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + i
        t = (s, (i, s), "a", complex(s, i))  # NB: from 3.14 on sums of these and real numbers are not traced
        u = [s, t, 0]
        u[2] = v = t[1]
    return (u[1] is t, v is t[1], u[2] is v, t[0] is s, v[1] is s, u[0] is s, t, u, v) if n else None


def made_in_an_inner_loop(x, n):
    found = [0, 0]
    for i in range(n):
        for j in range(i % 3):
            s = float(x[j]) + i
            found = [j, s]
            pair = found, s
        if i == 7:
            break
    return found, (pair[0] is found, pair, s) if n > 1 else None


def item_under_a_branch(x, n):
    k = 0
    for i in range(n):
        k = (k * 5 + 3) % 16
        p = [0, 0, 0]
        if k < 5:
            p[0] = g = 1
        elif k < 11:
            p[k % 2 + 1] = g = 2
        else:
            g = p[2] = i
        q = p
    return (p is q, p, g, k) if n else None


def kept_elsewhere(x, n):
    rows, s, last = [], 0.0, None
    for i in range(n):
        s = s + i
        t = (s, i)
        rows.append(t)
        u = [s, i]
        if i == 1:
            last = u
    return (rows[-1] is t, rows[0] is t, last is u, rows, t, u, last) if n else None


def appended_or_the_first(x, n):
    start = p = (1000.5, 2000.5)
    rows = []
    for i in range(n):
        p = (p[0] + x[i], p[1]) if x[i] % 2 < 1 else start
        rows.append(p)
    return [one is start for one in rows], rows, start


def appended_and_read_on(x, n):
    p, rows, last = (0.5, 1000), [], None
    for i in range(n):
        a, b = p
        p = (a + x[i], b)
        rows.append(p)
        last = p[1]
    return [row[1] is rows[0][1] for row in rows], last is rows[-1][1] if n else None, rows


def appended_and_kept(x, n):
    p, rows, others = (0.5, 1000), [], []
    for i in range(n):
        p = (p[0] + x[i], p[1])
        rows.append(p)
        others.append(p)
    return [one is other for one, other in zip(rows, others, strict=True)], p is rows[-1] if n else None, rows


PROGRAMS = [
    *(appended_or_the_first, appended_and_read_on, appended_and_kept),
    *(made_anew, made_in_an_inner_loop, item_under_a_branch, kept_elsewhere),
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


def ends_with_a_tuple(x, n):
    s = 0.0
    for i in range(n):
        s = s + i
        t = (s, i)
    return t


def ends_with_a_list(x, n):
    s = 0.0
    for i in range(n):
        s = s + i
        t = [s, [i, s]]
        t[0] = -s
    return t


def ends_with_a_list_set_under_a_branch(x, n):
    k = 0
    for i in range(n):
        k = (k * 5 + 3) % 16
        p = [0, 0]
        if k < 5:
            p[0] = 1
        else:
            p[1] = i
    return p


def walks(x, n):
    at, track = (0, 1000), []
    for i in range(n):
        if x[i] < 2.0:
            at = (at[0] + 1000, at[1])
        elif x[i] < 6.0:
            at = (at[0], at[1] - 1000)
        else:
            at = (at[0] - 1, at[1])
        if i % 3 == 0:
            track.append(at)
    return track


PURE = [ends_with_a_tuple, ends_with_a_list, ends_with_a_list_set_under_a_branch, made_anew, walks]


@pytest.mark.parametrize("program", PURE, ids=lambda one: one.__name__)
def test_what_an_iteration_makes_keeps_no_loop_from_being_native(program: Callable) -> None:
    fast = dynamo_lite.compile(program, options={"check": 1})
    x = np.arange(30) * 0.5
    assert fast(x, 20) == program(x, 20)
    assert fast.stats()["breaks"] == 0 and fast.stats()["native_calls"] == 1


def appended_again(x, n):
    p, rows = (0.0, 0.0), []
    for i in range(n):
        if x[i] % 2 < 1:
            p = (p[0] + x[i], p[1])
        rows.append(p)
    return rows


def none_or_appended_again(x, n):
    p, rows = None, []
    for i in range(n):
        if x[i] % 2 < 1:
            p = (x[i], i)
        rows.append(p)
    return rows


@pytest.mark.parametrize("program", [appended_again, none_or_appended_again, walks], ids=lambda one: one.__name__)
def test_a_tuple_that_is_appended_again_is_one_object(program: Callable) -> None:
    fast = dynamo_lite.compile(program, options={"check": 1, "cost_model": False})
    x = np.arange(30) * 0.5
    for n in (25, 1, 4, 25):
        rows, expected = fast(x, n), program(x, n)
        assert rows == expected
        assert [[one is other for other in rows] for one in rows] == [[a is b for b in expected] for a in expected]
