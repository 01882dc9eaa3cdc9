"""np.ravel of vectors that elementwise operations read: left out where nothing can tell (lower/unravel.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower


def kept(fn: Any, *args: Any) -> int:
    """How many ravels are left."""
    graph = dynamo_lite.compile(fn).graph_for(*args)
    return sum(node.op == "ravel" for node in lower(graph, args).nodes)


def outer(x: Any, y: Any) -> Any:
    return np.outer(x[1:], y[::2]) + 1.0


def handed_out(x: Any, y: Any) -> Any:
    return x[1:].ravel(), y.ravel() * 2.0


def summed(x: Any, y: Any) -> Any:
    return np.ravel(x[::2]).sum() + np.dot(y.ravel(), y)


def stored_between(x: Any, y: Any) -> Any:
    z = y.ravel()
    x[1:] = 0.0
    return z + 1.0


def matrix(x: Any, y: Any) -> Any:
    return x[None, :].ravel() * y


@pytest.mark.parametrize(("fn", "left"), [(outer, 0), (handed_out, 1), (summed, 2), (stored_between, 1), (matrix, 1)])
def test_ravels(fn: Any, left: int) -> None:
    assert kept(fn, np.arange(5.0), np.arange(5.0)) == left
