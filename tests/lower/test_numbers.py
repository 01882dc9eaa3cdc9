"""NumPy scalars that count elements become Scalars, with the same type and value."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower

X = np.arange(12.0).reshape(3, 4)


def lowered(function: Any, *arguments: Any) -> list[str]:
    graph = lower(dynamo_lite.compile(function).graph_for(*arguments))  # type: ignore[attr-defined]
    verify(graph)
    return [str(node.op) for node in graph.nodes if node.op != "input"]


def test_counting_costs_nothing() -> None:
    def program(x: Any) -> Any:
        count = np.maximum(np.int64(x.shape[0]) - 1, 0)
        return x / count

    assert lowered(program, X) == ["scalar_cast", "divide"]


def test_other_scalar_types_keep_their_arithmetic() -> None:
    def program(x: Any) -> Any:
        return x / (np.int32(x.shape[0]) - 1)

    assert "scalar_subtract" in lowered(program, X)


def test_mean_and_std_use_no_calls() -> None:
    """What NumPy's own Python does around them is done by kernels, or needs nothing at a call."""
    rows = np.ones((40, 3))
    assert sorted(lowered(lambda x: x.mean(axis=0), rows)) == ["divide", "reduce", "scalar_cast"]
    assert "store" not in lowered(lambda x: x.std(axis=0), rows)
