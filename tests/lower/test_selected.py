"""What a mask selects, computed everywhere and chosen: the lines of the docstring, and NumPy's bits and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1}}
Array = Any


def one_and_the_other(x: Array, y: Array, s: Any) -> Array:
    m = x > 0.3
    x[m] = (x[m] - y[m]) / 7.787
    x[~m] = x[~m] * 1.5 + 0.25
    return x


def in_place(x: Array, y: Array, s: Any) -> Array:
    m = (x > y) & (y != 0)
    z = x + 1
    z[m] *= 3
    z[m] -= y[m] * 2
    z[~m] += x[~m]
    return z, m


def quotients(x: Array, y: Array, s: Any) -> Array:
    """Zeros are divided by where the mask says so."""
    m = y >= 0
    x[m] /= y[m]
    z = np.ones_like(x)
    z[m] = np.sqrt(x[m]) + np.minimum(x[m], y[m])
    return x, z


def numbers_of_the_run(x: Array, y: Array, s: Any) -> Array:
    """Beside the mask they are not computed with, whatever they are."""
    m = x < y
    x[m] = (x[m] * s - y[m]) / (s + 1.0)
    return x


def differences(x: Array, y: Array, s: Any) -> Array:
    """Of ones they would be zero, by which others are divided."""
    m = x > y
    x[m] = 1 / (x[m] - y[m])
    return x


def swapped(x: Array, y: Array, s: Any) -> Array:
    m = x > y
    a = x[m]
    x[m] = y[m]
    y[m] = a
    return x, y


def of_both(x: Array, y: Array, s: Any) -> Array:
    """What is selected goes into two arrays; and what somebody else reads is gathered."""
    m = x > 0
    a = x[m] * 2 + y[m]
    x[m] = a - 1
    y[m] = a
    b = y[~m]
    y[~m] = b + 1
    return x, y, b.sum(), m.sum()


def read_before(x: Array, y: Array, s: Any) -> Array:
    """What was selected before others wrote."""
    m = x > y
    a = x[m] - 1
    x[:] = y
    y[m] = a
    x[m] = x[m] + y[m]
    return x, y


def of_questions(x: Array, y: Array, s: Any) -> Array:
    m = x > y
    q = y > 0
    q[m] = (x[m] > 1) | ~q[m]
    i = np.zeros(x.shape, np.int16)
    i[m] = i[m] + 3
    return q, i


def iterated(x: Array, y: Array, s: Any) -> Array:
    """In a loop, whose mask selects less and less."""
    z, n = x * 0, np.zeros(x.shape, int)
    for _ in range(6):
        m = np.abs(z) < 3
        z[m] = z[m] * z[m] + x[m]
        n[m] += 1
    return z, n


def with_a_mask_from_outside(x: Array, m: Array, s: Any) -> Array:
    x[m] = -x[m]
    return x


FUNCTIONS = [
    *(one_and_the_other, in_place, quotients, numbers_of_the_run, differences, swapped, of_both, read_before),
    *(of_questions, iterated),
]


def arguments(dtype: str) -> list[tuple[Any, ...]]:
    random = np.random.default_rng(2)
    x, y = (random.normal(size=(2, 9, 11)) * 3).astype(dtype)
    y[2:4, 1:5] = 0
    special = x.copy()
    special[::2, :3] = np.nan, np.inf, -np.inf
    twisted = y.copy()
    twisted[1:3, 2] = -np.nan, np.nan
    twisted[5] = -0.0
    long = random.normal(size=(2, 300)).astype(dtype)
    return [
        *((x, y, 0.5), (x[0], y[0], 1e308), (special, y, -1.0), (special, twisted, np.inf), (x, -np.abs(y) - 9, 2.0)),
        *((np.asfortranarray(x), y, 1.5), (x[:, ::2], y[:, ::2], 1.5), (x[:0], y[:0], 2.0), (x.T, y.T, np.float64(3))),
        *((long[0], long[1], 0.1), (np.abs(x), y * 0 - 1, 0.3), (x[:1], y[:1], 4.0)),
    ]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_bits_and_warnings(function: Callable[..., Any], dtype: str) -> None:
    for given in arguments(dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            require_equal(function, copies_of(*given), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("function", [one_and_the_other, in_place, quotients, numbers_of_the_run, differences, swapped])
def test_nothing_is_gathered(function: Callable[..., Any]) -> None:
    for given in arguments("f8")[:1] + arguments("f8")[9:10]:
        graph = lower(dynamo_lite.compile(function).graph_for(*given), given)
        assert not any(word in str(graph) for word in ("masked(", "count_true("))


def test_what_others_read_is_gathered() -> None:
    given = arguments("f8")[0]
    graph = str(lower(dynamo_lite.compile(of_both).graph_for(*given), given))
    assert graph.count(" masked(") == 1 and graph.count("put_masked(") == 1 and graph.count("count_true(") == 1


def test_a_mask_that_may_be_the_array() -> None:
    """Bools of the caller's may be a view of the floats that they select."""
    x = np.random.default_rng(4).normal(size=64)
    x[::3] = 5e-324
    for given in ((x, x > 0, 0), (x, x.view(bool)[::8], 0)):
        a, b = given[0].copy(), given[0].copy()
        masks = [given[1] if given[1].base is None else array.view(bool)[::8] for array in (a, b)]
        expected = with_a_mask_from_outside(a, masks[0], 0)
        fast = dynamo_lite.compile(with_a_mask_from_outside, **OPTIONS)
        assert fast(b, masks[1], 0).tobytes() == expected.tobytes()
