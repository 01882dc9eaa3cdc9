"""``in`` an array: whether any element is equal, as Python's bool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal

Array = Any
OPTIONS = {"check": 1, "cost_model": False, "recompile_limit": 100}


def is_in(x: Array, k: Any) -> Any:
    return k in x, k not in x, x * 2


def in_a_loop(x: Array, k: Any) -> Any:
    found = 0
    for i in range(30):
        if i % 7 in x:
            found += 1
        if k not in x:
            found += 2
    return found


def of_elements(x: Array, k: Any) -> Any:
    return x.sum() in x, x[:1] in x, np.nan in x


def chooses(x: Array, k: Any) -> Any:
    return x * 2.0 if k in x else x + 1.0


ARRAYS = [
    *(np.arange(5.0), np.arange(6), np.array([1.0, 0.0, -0.0, np.nan]), np.array([]), np.ones((2, 2))),
    *(np.array([3, 4], np.uint8), np.array([True, False]), np.array([1 + 2j, 3]), np.array(3.0)),
]


@pytest.mark.parametrize("fn", [is_in, in_a_loop, of_elements, chooses])
@pytest.mark.parametrize("backend", BACKENDS)
def test_members(backend: str, fn: Any) -> None:
    for x in ARRAYS if fn is not of_elements else ARRAYS[:2]:
        for k in (0, 3, 300, -1, 2.0, True, np.float64(1.0), np.int8(4), "text", None):
            require_equal(
                fn,
                lambda x=x, k=k: (x.copy(), k),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": OPTIONS},
            )


@pytest.mark.parametrize("fn", [is_in, in_a_loop, of_elements, chooses])
def test_one_graph(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for k in (1.0, 2.0):
        fast(np.arange(5.0), k)
    assert fast.stats()["breaks"] == 0, fast.explain()
    assert fast.stats()["native_calls"] == 2, fast.explain()
