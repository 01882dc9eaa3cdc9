"""Searches for float16 numbers in loops, which machine code only copies: they are numbers, not bits."""

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def places(edges: Any, x: Any) -> list[Any]:
    found = []
    for i in range(len(x)):
        found.append(np.searchsorted(edges, x[i]))
    return found


def count(edges: Any, x: Any) -> Any:
    total = 0
    for i in range(len(x)):
        total += np.searchsorted(edges, x[i], side="right")
    return total


@pytest.mark.parametrize("function", [places, count])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_they_are_found_where_numpy_finds_them(function: Any, dtype: Any, backend: str) -> None:
    require_equal(
        function,
        lambda: (np.linspace(-3.0, 3.0, 9), np.array([1.0, -0.0, 0.5, -2.5, np.inf, np.nan, 7.0], dtype)),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
