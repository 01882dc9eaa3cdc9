"""Stores by index arrays beside a loop's number: `x[rows, j] = v`, with declines where an index is out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS

NATIVE = (
    "x[idx, i % 3] = v[0, 0, :3, None] * i",
    "x[idx, i % 3, jdx] = v[0, 0, :3]",
    "x[:, idx, i % 3] = v[:, :3, 0] * i",
    "x[idx, :, i % 3] = v[0, :3, :5] * i",
    "x[i % 3, idx] = v[0, :3] * i",
    "x[idx, i] = 1.0",
    "x[idx, i % 3] += v[0, 0, :3, None]",
    "x[i - 1, idx, jdx] *= 2",
    "x[idx, 0, i] = x[jdx, 1, i]",
)
OTHERS = (
    "np.add.at(x, (idx, i % 3), v[0, 0, :3, None])",
    "x[i % 3, :, jdx] = v[0, 0, :5]",  # the arrays' axes come first
    "x[i % 3, :, jdx] = 2.0 * i",
    "x[idx, None, i % 3] = 2.0 * i",
    "x[..., i % 3, jdx] = 2.0 * i",
    "x[idx, i : i + 2, 1] = i * 1.0",
    "x[1 : i + 1, idx, jdx] = i * 1.0",
)


def function(statement: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np}
    exec(f"def f(x, idx, jdx, v, n):\n    for i in range(n):\n        {statement}\n    return x\n", names)
    made: Callable[..., Any] = names["f"]
    return made


def arguments(count: int, below: int = 3) -> Callable[[], tuple[Any, ...]]:
    def make() -> tuple[Any, ...]:
        r = np.random.default_rng(count)
        return r.random((4, 5, 6)), r.integers(-3, below, 3), r.integers(-2, 4, 3), r.random((4, 5, 6)), count

    return make


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("statement", NATIVE + OTHERS)
def test_stores_by_index_arrays_beside_a_number(statement: str, backend: str) -> None:
    report = require_equal(
        function(statement),
        arguments(3),
        variants=[arguments(4), arguments(7), arguments(0), arguments(3, 30), arguments(9)],
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "backend": backend}},
    )
    if statement in NATIVE:
        assert {loop.outcome for loop in report.compiled.explain().loops} == {"native"}, report.compiled.explain()


def test_a_bad_index_half_way_leaves_what_was_stored_before() -> None:
    def stored(x: Any, idx: Any) -> Any:
        for i in range(len(idx)):
            x[idx[i], i] = i + 1.0
        return x

    def make(last: int) -> Callable[[], tuple[Any, ...]]:
        def args() -> tuple[Any, ...]:
            idx = np.random.default_rng(1).integers(0, 5, (6, 3))
            idx[4, 1] = last
            return np.zeros((5, 6)), idx

        return args

    report = require_equal(
        stored,
        make(2),
        variants=[make(5), make(-5), make(-6)],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
    assert report.raised.count("IndexError") == 4 and report.stats["declines"]
