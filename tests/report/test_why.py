"""What is said of a loop that is not native: what breaks the way that goes round."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamo_lite
from tests import watched
from tests.compare import Array


def counts(data: Array, seen: dict[int, int]) -> float:
    total = 0.0
    for i in range(len(data)):
        total += data[i]
        if data[i] > 0.999:
            print("large", i)
        seen[i % 7] = seen[i % 7] + 1
    return total


def looked_up(data: Array, seen: dict[int, float]) -> float:
    total = 0.0
    for i, v in enumerate(data):
        total += v * v
        if v > 0.999:
            print("large", i)
            seen[i] = v
        total += seen.get(i, 0.0)
    return total


def test_what_has_no_name_of_the_users_is_not_named() -> None:
    """The second segment begins in the loop, with what is left of it on its stack."""
    made = watched.Watched(looked_up, watched.LOOPS_AT_ONCE, "numba")
    made.function(np.linspace(0.0, 1.0, 3000), {})
    assert made.watch.compilation is not None
    text = str(made.watch.compilation.explanation())
    assert "the value of the loop's index + a number that is computed is needed" in text
    assert ".s0" not in text


def test_a_loop_that_each_way_leaves(capsys: Any) -> None:
    """The print alone would be a side exit."""
    seen = dict.fromkeys(range(7), 0)
    explained = dynamo_lite.explain(counts)(np.linspace(0.0, 1.0, 20_000), seen)
    (loop,) = explained.loops
    assert loop.message == "item assignment to a dict changes a list, dict or set from before this graph"
    assert "the loop cannot be a native loop: item assignment" in str(explained)
