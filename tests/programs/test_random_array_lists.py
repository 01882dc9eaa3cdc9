"""Random loops over lists and dicts of arrays, against plain Python; ARRAY_LIST_FUZZ sets how many."""

from __future__ import annotations

import warnings

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_array_lists import arguments, function, outcome, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("ARRAY_LIST_FUZZ", 60), BATCH))
def test_random_array_lists(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH))


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native and takes arrays of lists."""
    text = source(seed)
    fn = function(text)
    compiled = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 200})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that overflow, in both
        for n in (20, 12, 40, 20, 13):
            plain, other = outcome(fn, arguments(seed, n)), outcome(compiled, arguments(seed, n))
            assert plain == other, f"{seed} with n = {n}:\n{text}"
    graphs = [segment.capture.graph for segment in compiled._compilation.segments]
    return any(loops_in(graph) and "object_array" in str(graph) for graph in graphs)
