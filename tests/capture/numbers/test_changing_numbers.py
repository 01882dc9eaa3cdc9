"""A number whose value is needed, and that is another one in each call: after a few versions the graph breaks there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.numbers import fixed

VALUES = range(2, 14)


def basis(n: int) -> Any:
    e = np.zeros((n, n - 1))
    for j in range(n - 1):
        i = j + 1
        e[:, j] = np.array([1 / i] * i + [-1] + [0] * (n - i - 1)) * np.sqrt(i / (i + 1))
    return e.T


def padded(x: Any, k: int) -> Any:
    y = np.sqrt(np.abs(x)) * 2.0 + x
    z = np.concatenate([y, np.array([0.5] * k)])
    return z * 3.0 - z.mean()


def powers(x: Any, k: int) -> Any:
    return np.sqrt(np.abs(x) + 1.0) ** k * 2.0 + 1.0


@pytest.mark.parametrize("function", [padded, powers])
def test_few_versions_are_made_and_none_warns(function: Any) -> None:
    fast, x = dynamo_lite.compile(function), np.linspace(-1.0, 1.0, 50)
    for _ in range(2):
        for k in VALUES:
            assert fast(x, k).tobytes() == function(x, k).tobytes()
    assert fast.stats()["compiles"] <= 2 * fixed.FIXED + 3
    assert "[changing-number]" in str(fast.explain())
    compiled = fast.stats()["compiles"]
    assert fast(x, 99).tobytes() == function(x, 99).tobytes()
    assert fast.stats()["compiles"] == compiled


def test_a_number_of_a_loop_that_runs_a_segment_an_iteration() -> None:
    fast = dynamo_lite.compile(basis)
    for n in (6, 20, 40, 30):
        found, wanted = fast(n), basis(n)
        assert found.tobytes() == wanted.tobytes() and found.strides == wanted.strides
    assert fast.stats()["compiles"] <= 2 * fixed.FIXED


def test_one_graph_is_one_for_each_number() -> None:
    fast, x = dynamo_lite.compile(padded, fullgraph=True), np.linspace(-1.0, 1.0, 50)
    for k in VALUES[: fixed.FIXED + 2]:
        assert fast(x, k).tobytes() == padded(x, k).tobytes()
    assert fast.stats()["compiles"] == fixed.FIXED + 2


def rolled(x: Any, k: int) -> Any:
    y = np.sqrt(np.abs(x)) * 2.0 + x
    return np.roll(y, k - 5) * 3.0 - np.roll(x, -k)[:10].sum()


def test_what_may_vary_is_not_fixed_any_more() -> None:
    fast, x = dynamo_lite.compile(rolled), np.linspace(-1.0, 1.0, 50)
    for k in [*VALUES, *VALUES, 0, 5, 50, 55, -200, 2**40]:
        found, wanted = fast(x, k), rolled(x, k)
        assert found.tobytes() == wanted.tobytes() and found.strides == wanted.strides
    assert not fast.explain().breaks and fast.stats()["compiles"] <= fixed.FIXED + 2
    assert fast(x[:0], 99).tobytes() == rolled(x[:0], 99).tobytes()
