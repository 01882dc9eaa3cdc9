"""np.dot in machine loops of operands that NumPy copies before it multiplies: slices of matrices, reversed vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


def forecast(a: Any, v: Any, n: int) -> Any:
    last = v[::-1]
    for i in range(len(v), a.shape[1]):
        a[:, i] = 0.5 + a[:, i - len(v) : i].dot(last)
    return a


def products(a: Any, v: Any, n: int) -> Any:
    out, total = np.zeros((len(a), len(a))), np.zeros(len(a))
    for i in range(n):
        part = a[:, i : i + 5]
        out += np.dot(part, part.T) * 0.5
        total += part.dot(a[i, :5]) + np.dot(a[i, i + 4 : i : -1][::-1], part.T[: 5 - 1]) + np.dot(out[::-1], total)
    return out, total


def by_single_rows(a: Any, v: Any, n: int) -> Any:
    total = np.zeros((1, a.shape[1]))
    for _ in range(n):
        total += np.dot(a[:1, ::2], a[: a[:1, ::2].shape[1]]) + np.dot(v[::-2][:1], a[:1])
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [forecast, products, by_single_rows])
def test_programs(fn: Any, backend: str) -> None:
    def made(rows: int, columns: int, order: str = "C", by: int = 1) -> Any:
        def make() -> Any:
            draw = np.random.default_rng(rows)
            a = np.asarray(draw.normal(size=(rows, columns * by)), order=order)  # type: ignore[call-overload]
            return a[:, ::by], draw.normal(size=3), 4

        return make

    require_equal(
        fn,
        made(20, 20),
        variants=[made(30, 12), made(2, 12), made(20, 20, "F"), made(20, 11, "C", 2), made(1, 9), made(0, 9)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


def carries_a_vector(a: Any, v: Any, n: int) -> Any:
    for _ in range(n):
        v = v @ a * 0.1
    return v


def carries_a_sum(a: Any, v: Any, n: int) -> Any:
    for i in range(n):
        v = v * np.dot(v, a[i])
    return v


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [carries_a_vector, carries_a_sum])
def test_a_carried_vector_lies_apart_in_the_first_iteration(fn: Any, backend: str) -> None:
    """A copy of it that lies packed has other products."""

    def made(size: int, by: int) -> Any:
        def make() -> Any:
            draw = np.random.default_rng(size)
            return draw.normal(size=(size, size)), draw.normal(size=abs(by) * size)[::by], 1

        return make

    require_equal(
        fn,
        made(6, 2),
        variants=[made(size, by) for size in (7, 10, 11, 12) for by in (2, -1, 1)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )


def test_none_declines() -> None:
    fast = dynamo_lite.compile(forecast, options=OPTIONS)
    for _ in range(3):
        fast(np.random.default_rng(0).normal(size=(20, 9)), np.ones(3), 0)
    assert fast.stats()["native_calls"] == 3 and not fast.stats()["declines"]
