"""A list or tuple under a name of the module, or an attribute, that a loop stores over: nobody can notice its death."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import dynamo_lite

pair: Any = None


class Holder:
    last: Any = None


def in_the_module(n):
    global pair
    s = 0.0
    for i in range(n):
        s = s + i
        pair = [s, (i, s)]
    return s


def in_an_attribute(n):
    s = 0.0
    for i in range(n):
        s = s + i
        Holder_of_all.last = (s, i)
    return s


Holder_of_all = Holder()


@pytest.mark.parametrize("before", [(1, 2), [1.0, "a"], [[1], (2.5,)], 3, None])
def test_loops_store_over_lists_and_tuples(before: Any) -> None:
    global pair
    for program in (in_the_module, in_an_attribute):
        fast = dynamo_lite.compile(program, options={"check": 1})
        found = []
        for run in (program, fast):
            pair = Holder_of_all.last = before
            found.append((run(30), run(20), pair, Holder_of_all.last))
        assert found[0] == found[1]
        assert fast.stats()["breaks"] == 0 and fast.stats()["native_calls"] == 2


class Noticed:
    pass


def note(died):
    died.append(pair)


def test_objects_whose_death_is_noticed_die_when_they_are_stored_over() -> None:
    global pair
    fast = dynamo_lite.compile(in_the_module)
    for _ in range(3):
        pair = (1, 2)
        fast(20)
        died: list[Any] = []
        noticed = Noticed()
        weakref.finalize(noticed, note, died)
        pair = (noticed, 2)
        del noticed
        fast(20)
        assert died == [[0.0, (0, 0.0)]]


class Bytes(bytearray):
    pass


def of_objects(noticed):
    return np.array([noticed], object)


def itself(noticed):
    return np.zeros(3)


def a_view(noticed):
    return np.zeros((3, 3))[1:]


def of_others_memory(noticed):
    return np.frombuffer(Bytes(16))


def twice(x):
    global pair
    y = np.sqrt(x) + 1.0
    pair = 1.0
    z = y * 2.0
    pair = 2.0
    return z


@pytest.mark.parametrize("make", [of_objects, itself, a_view, of_others_memory])
@pytest.mark.parametrize(("program", "given"), [(in_the_module, 20), (twice, np.ones(4))])
def test_arrays_whose_death_is_noticed_die_when_they_are_stored_over(program: Any, given: Any, make: Any) -> None:
    """One of objects, one to which, or to whose memory's owner, there is a weak reference."""
    global pair
    fast = dynamo_lite.compile(program, options={"cost_model": False})
    for _ in range(3):
        pair = np.zeros(3)
        fast(given)
    assert fast.stats()["native_calls"] >= 3
    seen = []
    for run in (program, fast):
        died: list[Any] = []
        noticed = Noticed()
        pair = make(noticed)
        watched = noticed if make is of_objects else pair if pair.base is None else pair.base
        weakref.finalize(watched, note, died)
        del noticed, watched
        run(given)
        seen.append(repr(died))
    assert seen[0] == seen[1] and seen[0] != "[]"
