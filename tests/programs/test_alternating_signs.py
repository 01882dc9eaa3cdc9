"""(-1) ** n in loops and outside: an int, or a float where n is negative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal

OPTIONS = {"check": 1, "cost_model": False}


def series(n: int, m: int) -> Any:
    total = 0
    for i in range(n):
        total += (-1) ** i / (2 * i + 1)
    return total


def lattice(n: int, m: int) -> Any:
    total = 0
    for i in range(-n, n):
        for j in range(-n, n):
            if i != 0 or j != 0:
                total += (-1) ** (i + j) / math.sqrt(i**2 + j**2)
    return total


def of_both_kinds(n: int, m: int) -> Any:
    out = []
    last: Any = None
    for i in range(-n, n):
        last = (-1) ** (i + m)
        out.append(last)
    return out, last


def counted(n: int, m: int) -> Any:
    k, out = m, []
    while k < n:
        out.append((-1) ** k * 3)
        k += 1
    return out


def of_an_argument(n: int, m: int) -> Any:
    return np.arange(4.0) * (-1) ** m, (-1) ** (n - m)


def in_an_array(n: int, m: int) -> Any:
    x = np.zeros((n, n), np.int64) if m >= 0 else np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            x[i, j] = (-1) ** (i + j + m)
    return x


FUNCTIONS = [series, lattice, of_both_kinds, counted, of_an_argument, in_an_array]


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_signs(backend: str, fn: Any) -> None:
    for n, m in ((9, 0), (8, 3), (7, -4), (6, -3), (0, 1)):
        require_equal(
            fn,
            lambda n=n, m=m: (n, m),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_one_graph(fn: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for n in (20, 30):
        fast(n, 2)
    assert fast.stats()["breaks"] == 0, fast.explain()
    assert fast.stats()["native_calls"] == 2, fast.explain()
    assert fast.stats()["declines"] == 0, fast.explain()
