"""Long axes grow, short ones beside them are what an element is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

import dynamo_lite
from dynamo_lite.graph.node import Node
from dynamo_lite.lower import lower
from dynamo_lite.schedule import estimate, paying_sizes, schedule
from dynamo_lite.schedule.growth import growing
from tests.schedule.tracing import trace


def grown(function: Any, *arguments: Any) -> tuple[list[int], int]:
    graph = dynamo_lite.compile(function).graph_for(*arguments)
    symbols = [symbol for symbol in graph.symbols.values() if symbol.axis is not None]
    arrays = [arg for arg in arguments if isinstance(arg, np.ndarray)]
    example = {symbol.name: arrays[symbol.input].shape[symbol.axis or 0] for symbol in symbols}
    first = next(node for node in graph.inputs if isinstance(node, Node))
    sizes, axes = growing(symbols, first.array_type.shape, example)
    return sorted(example[symbol.name] for symbol in sizes), axes


@pytest.mark.parametrize(
    ("shape", "sizes", "axes"),
    [
        ((1000, 3), [1000], 1),
        ((3, 1000), [1000], 1),
        ((300, 200), [200, 300], 2),
        ((300, 200, 4), [200, 300], 2),
        ((5, 4), [4, 5], 2),
        ((16,), [16], 1),
        ((0, 3), [0, 3], 2),
    ],
)
def test_sizes_that_grow(shape: tuple[int, ...], sizes: list[int], axes: int) -> None:
    assert grown(lambda x: x * 2.0 + 1.0, np.ones(shape)) == (sizes, axes)


def turned(x: Any, m: Any, t: Any) -> Any:
    y = x @ m.T + t
    return y[:, 0] / y[:, 2] * 3.0 + 1.0, y[:, 1] / y[:, 2] * 3.0 + 1.0


def test_many_points_are_no_large_matrix() -> None:
    arguments = np.ones((500, 3), "f"), np.eye(3, dtype="f"), np.ones(3, "f")
    graph = lower(trace(turned, *arguments))
    _, most = paying_sizes(estimate(graph, schedule(graph, TARGET), arguments, TARGET))
    assert most > 500_000


def filtered(z: Any, f: Any, q: Any) -> Any:
    x, p, out = np.zeros(len(f)), np.eye(len(f)), np.empty((len(z), len(f)))
    for i in range(len(z)):
        p = f @ p @ f.T + q
        x = f @ x + p[0] * z[i]
        out[i] = x
    return out, p


def test_of_short_arrays_one_may_grow_alone() -> None:
    fast = dynamo_lite.compile(filtered)
    f, q = np.array([[1.0, 0.1], [0.0, 0.9]]), np.eye(2)
    for n in (5, 5, 5000, 5000):
        fast(np.ones(n), f, q)
    assert fast.stats()["native_calls"] == 4
