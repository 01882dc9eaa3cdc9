"""Random branches on data in unrolled loops, against plain Python; BRANCH_FUZZ sets how many."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.graph.node import NodeKind
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_branches import arguments, function, outcome, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("BRANCH_FUZZ", 60), BATCH))
def test_random_branches(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH)) > BATCH // 6


def test_random_branches_in_routines() -> None:
    """Programs that have routines of small arrays from their first call on."""
    before = _C.run_small_after(-1)
    try:
        for seed in range(1000, 1000 + BATCH):
            keeps(seed, "numba")
    finally:
        _C.run_small_after(before)


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether it has a branch in its graph."""
    text = source(seed)
    fn = function(text)
    compiled = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 200})
    for call in range(8):
        plain, other = told(fn, arguments(seed, call)), told(compiled, arguments(seed, call))
        assert plain == other, f"{seed}, call {call}:\n{text}"
    graphs = [segment.capture.graph for segment in compiled._compilation.segments]
    return any(node.kind is NodeKind.COND for graph in graphs for node in graph.nodes)


def told(fn: Any, args: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = outcome(fn, args)
    return found, [(str(one.message), one.category, one.lineno) for one in caught]
