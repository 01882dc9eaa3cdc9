"""Numbers that each iteration sets to a constant, under names of the module or in a nest of loops that may not run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dynamo_lite

door = guess = 5
pair: object = None


def under_global_names(x, n):
    global door, guess
    s = 0.0
    for i in range(n):
        door = 0
        s = s * 0.5 + x[i]
        guess = 2 if s > 3.0 else door
    return s, door, guess


def read_before_it_is_reset(x, n):
    found, s = n, 0.0
    for i in range(n):
        s = s + x[i] * found
        found = 3
    return s, found


def in_loops_that_may_not_run(x, n):
    global door, guess, pair
    s = 0.0
    for i in range(n):
        for j in range(i % 3):
            door = 0
            pair = [0, 0]
            s = s * 0.5 + x[j]
            if s > 2.0:
                pair[0] = guess = 1
            else:
                pair[1] = guess = 7
    return s, door, guess, pair


def signed_zeros(x, n):
    last, s = -0.0, 0.0
    for i in range(n):
        s = s + np.arctan2(last, -x[i])
        last = 0.0
    return s, last


def flags(x, n):
    first, s = True, 0.0
    for i in range(n):
        if first:
            s = s + 1.0
        s = s * 0.5 + x[i]
        first = False
    return s, first


PROGRAMS = [under_global_names, read_before_it_is_reset, in_loops_that_may_not_run, signed_zeros, flags]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_numbers_that_are_reset(program: Callable) -> None:
    global door, guess, pair
    fast = dynamo_lite.compile(program, options={"check": 1, "cost_model": False})
    x = np.arange(1, 41) * 0.25
    for n in (40, 1, 0, 2, 3, 40):
        for begin in (5, 0):
            found = []
            for run in (program, fast):
                door, guess, pair = begin, begin + 1, begin
                found.append((run(x, n), door, guess, pair))
            assert repr(found[0]) == repr(found[1])
    assert fast.stats()["native_calls"]


@pytest.mark.parametrize("program", PROGRAMS[:2], ids=lambda one: one.__name__)
def test_they_keep_no_loop_from_being_native(program: Callable) -> None:
    fast = dynamo_lite.compile(program, options={"check": 1})
    fast(np.arange(1, 41) * 0.25, 40)
    assert fast.stats()["breaks"] == 0 and fast.stats()["native_calls"] == 1
