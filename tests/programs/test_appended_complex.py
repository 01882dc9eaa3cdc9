"""Complex NumPy numbers that a loop appends to a list: complex128 has more bits than the word of machine code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def elements(x: Any) -> list[Any]:
    found = []
    for i in range(len(x)):
        found.append(x[i])
    return found


def squares(x: Any) -> list[Any]:
    found = []
    for i in range(len(x)):
        if i % 3:
            found.append(x[i] * x[i])
    return found


def pairs(x: Any) -> list[Any]:
    found = []
    for i in range(len(x)):
        found.append((i, x[i]))
    return found


@pytest.mark.parametrize("function", [elements, squares, pairs])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_they_are_the_numbers_and_the_loop_is_native(function: Callable[..., Any], dtype: Any, backend: str) -> None:
    report = require_equal(
        function,
        lambda: ((np.arange(1.0, 9.0) + 0.25j).astype(dtype),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False}},
    )
    assert report.stats["native_calls"] == 3
    assert report.stats["declines"] == 0
