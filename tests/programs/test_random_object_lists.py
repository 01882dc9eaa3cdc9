"""Random loops over lists that programs work on as objects, against plain Python; OBJECT_LIST_FUZZ sets how many."""

from __future__ import annotations

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_object_lists import arguments, function, outcome, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("OBJECT_LIST_FUZZ", 60), BATCH))
def test_random_object_lists(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH))


def keeps(seed: int, backend: str, check: int = 1) -> bool:
    """Compare one program; whether a loop of it is native and takes items of lists."""
    text = source(seed)
    fn = function(text)
    options = {**OPTIONS, "recompile_limit": 100, "check": check}
    compiled = dynamo_lite.compile(fn, backend=backend, options=options)
    for n in (8, 8, 0, 1, 2, 5, 12, 8):
        plain, other = outcome(fn, arguments(seed, n)), outcome(compiled, arguments(seed, n))
        assert plain == other, f"{seed} with n = {n}:\n{text}"
    graphs = [segment.capture.graph for segment in compiled._compilation.segments]
    return any(loops_in(graph) and "list_take" in str(graph) for graph in graphs)
