"""Numbers of many operations: one in the other, and such of which a part occurs twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.numbers import MAX_DEPTH
from tests.oracle import require_equal


def chain(operations: int) -> Callable[..., Any]:
    """A function that computes with its argument so often."""
    lines = "".join("    t = t * 1.01 + u\n" for _ in range(operations // 2))
    names: dict[str, Any] = {}
    exec(f"def deep(x, t, u):\n{lines}    return x * t, t\n", names)
    return names["deep"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("backend", ["numba", "reference", "c"])
@pytest.mark.parametrize("operations", [MAX_DEPTH // 2, MAX_DEPTH, MAX_DEPTH + 200])
def test_operations_in_each_other(operations: int, backend: str) -> None:
    """As one number up to a limit, from which on the graph breaks."""
    report = require_equal(
        chain(operations),
        lambda: (np.arange(5.0), 0.3, 0.7),
        variants=[lambda: (np.arange(3.0), -1.5, 1e300)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend},
    )
    breaks = [one.id for one in report.compiled.explain().breaks]
    assert ("number-too-long" in breaks) == (operations > MAX_DEPTH)


def test_a_number_of_which_each_part_occurs_twice() -> None:
    """It has as many operations as were written, though written out it would have 2^60."""

    def doubling(x, t):  # type: ignore[no-untyped-def]
        for _ in range(60):
            t = t * 0.5 + t * 0.25
        return x * t, t > 0.0

    report = require_equal(
        doubling,
        lambda: (np.arange(5.0), 0.3),
        variants=[lambda: (np.arange(3.0), -0.5)],
        compile=dynamo_lite.compile,
    )
    assert not report.compiled.explain().breaks
