"""Ufuncs with where=: the lines of the docstring, and that bits, warnings and what is left unset stay NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from dynamo_lite.ops.vector_math import looks_at_strides
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1}}
Array = Any


def quotient(a: Array, b: Array, m: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def logarithm(a: Array, b: Array, m: Array) -> Array:
    return np.log(a, out=np.full_like(a, -1.0), where=(a > 0) & m) * 2


def root_in_place(a: Array, b: Array, m: Array) -> Array:
    np.sqrt(a, out=a, where=a >= b)
    return a


def exponential_in_place(a: Array, b: Array, m: Array) -> Array:
    np.exp(a, out=a, where=m)
    return a


def backwards(a: Array, b: Array, m: Array) -> Array:
    np.subtract(a[::-1], b, out=a, where=m)
    return a


def broadcast(a: Array, b: Array, m: Array) -> Array:
    out = np.ones((2, *a.shape), a.dtype)
    np.multiply(a, 3, out=out, where=m)
    return out, np.add(2, b, out=out[0], where=True)


def question_of_bools(a: Array, b: Array, m: Array) -> Array:
    found = np.full_like(a, False, dtype=bool)
    np.less(a, b, where=~np.isnan(a), out=found)
    return found, np.logical_and(found, m, out=found, where=m)


def whole_numbers(a: Array, b: Array, m: Array) -> Array:
    i, j = (x.astype(np.int64) for x in (np.nan_to_num(a), np.nan_to_num(b)))
    return np.floor_divide(i, j, out=np.zeros_like(i), where=j != 0), np.remainder(i, j, out=i.copy(), where=j > 0)


def selected_zeros(a: Array, b: Array, m: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=m), np.log(b, out=np.zeros_like(a), where=m)


def powers(a: Array, b: Array, m: Array) -> Array:
    return np.power(a, b, out=np.zeros_like(a), where=a > 0), np.arctan2(a, b, out=np.zeros_like(a), where=m)


FUNCTIONS = [
    *(quotient, logarithm, root_in_place, exponential_in_place, backwards, broadcast, question_of_bools, whole_numbers),
    *(selected_zeros, powers),
]


def arguments(dtype: str) -> list[tuple[Array, Array, Array]]:
    random = np.random.default_rng(2)
    a, b = (random.normal(size=(2, 9, 11)) * 3).astype(dtype)
    b[2:4, 1:5] = 0
    m = random.random((9, 11)) < 0.6
    special = a.copy()
    special[::2, :3] = np.nan, np.inf, -np.inf
    twisted = b.copy()
    twisted[1:3, 2] = -np.nan, np.nan
    return [
        *((a, b, m), (a[0], b[0], m[0]), (a, b, b != 0), (special, b, m), (special, twisted, m), (a, b, ~m & m)),
        *((np.asfortranarray(a), b, m), (a[:, ::2], b[:, ::2], m[:, ::2]), (a[:0], b[:0], m[:0]), (a, b, m.T.copy().T)),
    ]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_bits_and_warnings(function: Callable[..., Any], dtype: str) -> None:
    for given in arguments(dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            require_equal(function, copies_of(*given), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("function", [quotient, logarithm, root_in_place, backwards, whole_numbers, powers])
def test_nothing_of_numpy_is_called(function: Callable[..., Any]) -> None:
    a, b, m = arguments("f8")[0]
    graph = lower(dynamo_lite.compile(function).graph_for(a, b, m), (a, b, m))
    assert "ufunc_out" not in str(graph)


def test_what_lies_otherwise_has_other_bits() -> None:
    """Of functions that look at layouts NumPy computes those in place, or from parts of the result."""
    a, b, m = arguments("f8")[0]
    graph = lower(dynamo_lite.compile(exponential_in_place).graph_for(a, b, m), (a, b, m))
    looks = looks_at_strides("exp", a.dtype)
    assert ("ufunc_out" in str(graph)) is looks


def test_one_kernel_is_the_faster_one() -> None:
    """The estimate knows that NumPy goes through runs of the mask."""
    random = np.random.default_rng(3)
    a, b = random.random((2, 30_000))
    b[random.random(30_000) < 0.1] = 0
    fast = dynamo_lite.compile(quotient)
    for _ in range(3):
        assert fast(a, b, b).tobytes() == quotient(a, b, b).tobytes()
    assert fast.stats()["native_calls"] == 3
