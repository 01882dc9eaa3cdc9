"""What capture guesses of loops: whether a number is still what it was, or what it was before the loop."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dynamo_lite.capture.loops.guesses import _made_of
from dynamo_lite.graph.scalar import Scalar, Symbol, make

A, B, C, N = (Symbol(name, "int", -1) for name in ("a", "b", "c", "n"))


@pytest.mark.parametrize(
    ("alternatives", "end", "expected"),
    [
        ({}, N, True),
        ({}, 7, True),
        ({}, 8, False),
        ({}, A, False),
        ({"a": (N, 7)}, A, True),
        ({"a": (N, B), "b": (A, 7)}, A, True),  # of two loops, each may be the other's
        ({"a": (A, N)}, A, True),
        ({"a": (B, N), "b": (A, make("add", A, 1))}, A, False),
        ({"a": (B, N), "b": (A, C)}, A, False),
        ({"a": ()}, A, False),
    ],
)
def test_what_a_number_is_made_of(alternatives: dict[str, tuple[Scalar, ...]], end: Scalar, expected: bool) -> None:
    tracer: Any = SimpleNamespace(alternatives=alternatives)
    assert _made_of(tracer, end, N, 7) is expected
