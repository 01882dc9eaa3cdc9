"""Numbers of one type or another by data: ``in``, aranges, slices."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests import watched
from tests.conftest import BACKENDS
from tests.oracle import require_equal

Array = Any
OPTIONS = {"check": 1, "cost_model": False, "recompile_limit": 100}


def in_sequences(x: Array, h: Array, k: Any) -> Any:
    s = x[0] if h[0] > 0 else k
    return s in [s, 2], s in (1, 2.0), s in [1, s], k in [s], s not in h, s in x, s in [1.5, 2.5]


def in_a_loop(x: Array, h: Array, k: Any) -> Any:
    found = 0
    for i in range(6):
        s = x[i % 2] if h[i % 3] > 0 else k
        if s in [s, 2]:
            found += 1
        if s not in (1, 2.0):
            found += 10
        if s in h:
            found += 100
        if k in [s]:
            found += 1000
    return found


def of_pythons_numbers(x: Array, h: Array, k: Any) -> Any:
    s = 1.5 if h[0] > 0 else 2
    return [s, 3] == [1.5, 3], 1.5 in [s], s in [s, x[0]], [s] == [1.5]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [in_sequences, in_a_loop, of_pythons_numbers])
def test_members_by_data(fn: Any, backend: str) -> None:
    for first, sign, k in itertools.product((math.nan, 2.0, 1.5), (1, -1), (1, 2.5, math.nan)):
        require_equal(
            fn,
            lambda first=first, sign=sign, k=k: (np.array([first, 1.0]), np.array([sign, 2, -2]), k),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


def test_one_graph() -> None:
    fast = dynamo_lite.compile(lambda x, k: (x[0] if x[1] > 0 else k) in [1.5, 2.5], options=OPTIONS)
    for second in (1.0, -1.0):
        assert fast(np.array([1.5, second]), 2.5)
    assert fast.stats()["breaks"] == 0, fast.explain()


def aranges(x: Array, h: Array, k: int, v: int) -> Any:
    u = t = x[2]
    for i in range(20):
        t = len(x) - k
        u = np.arange(h[i % 6] if x[i % 6] >= -0.5 else v, t)
    return u, t


def test_a_length_that_is_found_to_be_one_after_the_first_arm() -> None:
    """The first arm calls its own length by what both arms' stops are equal to; that is known around them."""
    for k, v in itertools.product(range(1, 6), range(5)):
        require_equal(
            aranges,
            lambda k=k, v=v: (np.array([-1.0, 1, 2, -1, 1, 2]), np.array([k, 0, 2, 3, 1, 2]), k, v),  # type: ignore[misc]
            compile=watched.compile_loops,
            compile_options={"backend": "numba"},
        )


FAR = (2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 2**62, -(2**62), 3, -4, 0)


def of_two(a: Array, b: Array, c: Any) -> Any:
    return np.arange(a[0], b[0], c)


def of_one_and_pythons(a: Array, b: Array, c: Any) -> Any:
    return np.arange(a[0], int(b[0]), c)


def ends_far_away(a: Array, b: Array, c: Any) -> Any:
    return np.arange(a[0], np.int64(-(2**63)), c)


def of_floats(a: Array, b: Array, c: Any) -> Any:
    return np.arange(a[0], b[0], float(c))


def in_turn(a: Array, b: Array, c: Any) -> Any:
    n = 0
    for i in range(3):
        u = np.arange(a[i], b[i], c)
        n += len(u)
    return n, u


@pytest.mark.parametrize("fn", [of_two, of_one_and_pythons, ends_far_away, of_floats, in_turn])
def test_distances_that_wrap(fn: Any) -> None:
    """Of np.int64 they do, with a warning, and an arange without elements is none, or the other way round."""
    for c in (1, -3, np.int64(5), 2**63 - 1):
        fast = dynamo_lite.compile(fn, options=OPTIONS)
        for p, q in itertools.product(FAR, FAR):
            if 50 < abs((q - p) // int(c)) < 2**58:
                continue  # an array that long would be made
            require_equal(fn, lambda p=p, q=q, c=c: (np.full(3, p), np.full(3, q), c), compile=lambda _: fast, calls=1)  # type: ignore[misc]  # noqa: B023


def cut_and_counted(x: Array, s: Any, k: int) -> Any:
    return x[int(s) % 6 : k : 2], np.arange(2, k)


def test_a_slice_of_which_more_is_known_later() -> None:
    """The arange fixes k, by which the slice is then known to have one element or none, but not which."""
    for n, k, s in itertools.product(range(4), range(1, 5), (0, 1, 2, 5)):
        require_equal(
            cut_and_counted,
            lambda n=n, k=k, s=s: (np.arange(float(n)), np.int64(s), k),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )
