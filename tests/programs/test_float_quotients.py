"""`x % b` and `x // b` of Python floats that a loop carries: Python's own bits, and its ZeroDivisionError."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite
from tests.programs.loop_cases import OPTIONS

FLOATS = (0.0, -0.0, 1.0, -2.5, 3.7, 1e308, 5e-324, float("inf"), -float("inf"), 7, -3, 2**53 + 1)


def rests(a: Any, b: Any, n: int) -> Any:
    x, y = a, 0.0
    for _ in range(n):
        x = (x + 1.3) % b
        y += x // 0.7 + x // b
    return x, y


@pytest.mark.parametrize("b", FLOATS)
def test_loops(b: float) -> None:
    def told(run: Callable[..., Any], a: Any) -> Any:
        try:
            return struct.pack("dd", *run(a, b, 30))
        except ZeroDivisionError as error:
            return str(error)

    fast = dynamo_lite.compile(rests, options=OPTIONS)
    for a in FLOATS:
        assert told(fast, a) == told(rests, a)
    assert fast.stats()["native_calls"] > 0 or b == 0
