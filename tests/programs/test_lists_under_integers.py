"""Lists and tuples under integers of NumPy's that come from outside: the item is the one that the int would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal

OPTIONS = {"check": 1, "cost_model": False}


class Segment:
    def __init__(self, scale: float) -> None:
        self.coefficients = np.arange(4.0) * scale

    def at(self, u: float) -> Any:
        return self.coefficients.dot(np.array([1.0, u, u**2, u**3]))


SEGMENTS = [Segment(1.0), Segment(2.5), Segment(-3.0)]


def of_objects(k: Any, u: float) -> Any:
    return SEGMENTS[k].at(u) * 2.0


def of_arrays(k: Any, u: float) -> Any:
    rows = [np.ones(3) * u, np.zeros(3) + u, np.arange(3.0)]
    return rows[k] * 2.0, rows[k:], rows[k - 1] + 1.0


def of_a_tuple(k: Any, u: float) -> Any:
    rows = (np.ones(3) * u, np.zeros(3) + u, np.arange(3.0))
    return rows[k] * u, rows[:k], (1.5, 2.5, 4.0)[k] * np.ones(2)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("fn", [of_objects, of_arrays, of_a_tuple])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_item(backend: str, fn: Any, dtype: Any) -> None:
    for k in (0, 2, 1, 3):
        require_equal(
            fn,
            lambda k=k: (dtype(k), 0.75),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS},
        )


def test_one_graph() -> None:
    fast = dynamo_lite.compile(of_objects, options=OPTIONS)
    for k in (0, 1, 2, 1, -1):
        assert fast(np.int64(k), 0.5) == of_objects(k, 0.5)
    assert fast.stats()["breaks"] == 0, fast.explain()
    assert fast.stats()["native_calls"] == 5, fast.stats()
