"""Composite operations become primitives with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.decompose import decompose
from tests.schedule.tracing import trace


def decomposed(function: Any, *arguments: Any) -> str:
    graph = trace(function, *arguments)
    after = clone(graph)
    decompose(after)
    verify(after)
    for left, right in zip(interpret(graph, arguments), interpret(after, arguments), strict=True):
        assert left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return str(after)


def test_clip_of_integers() -> None:
    text = decomposed(lambda x: np.clip(x, 2, 9), np.arange(20, dtype="i"))
    assert "maximum(%x, 2)" in text and "minimum(%maximum, 9)" in text and "clip" not in text


def test_clip_of_integers_with_bounds_crossed() -> None:
    assert "clip" not in decomposed(lambda x: np.clip(x, 9, 2), np.arange(20, dtype="i"))


def test_clip_of_floats_stays() -> None:
    assert "clip(" in decomposed(lambda x: np.clip(x, 2.0, 9.0), np.array([np.nan, 1.0, 5.0]))


@pytest.mark.parametrize("char", "?bhiBHI")
def test_the_cast_of_an_integer_sum_is_a_node(char: str) -> None:
    text = decomposed(lambda x: x.sum(), np.arange(20).astype(char))
    assert "astype(%x" in text and "reduce(%astype" in text


def test_the_cast_of_a_float_sum_is_not() -> None:
    x = np.arange(20, dtype="f")
    assert "astype" not in decomposed(lambda x: x.sum(dtype=np.float64), x)
    assert "astype" not in decomposed(lambda x: x.sum(), x)
