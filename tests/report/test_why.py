"""What is said of a loop that is not native: what breaks the way that goes round."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamo_lite
from tests.compare import Array


def counts(data: Array, seen: dict[int, int]) -> float:
    total = 0.0
    for i in range(len(data)):
        total += data[i]
        if data[i] > 0.999:
            print("large", i)
        seen[i % 7] = seen[i % 7] + 1
    return total


def test_a_loop_that_each_way_leaves(capsys: Any) -> None:
    """The print alone would be a side exit."""
    seen = dict.fromkeys(range(7), 0)
    explained = dynamo_lite.explain(counts)(np.linspace(0.0, 1.0, 20_000), seen)
    (loop,) = explained.loops
    assert loop.message == "item assignment to a dict changes a list, dict or set from before this graph"
    assert "the loop cannot be a native loop: item assignment" in str(explained)
