"""Random loops that append to lists against plain Python; LIST_FUZZ sets how many."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs import random_elements, random_loops
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_lists import function, with_ends, with_lists
from tests.programs.test_loop_lists import require_same_objects

BATCH = 10


@pytest.mark.parametrize("kind", ["straight", "choices", "elements", "ends"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("LIST_FUZZ", 20), BATCH))
def test_random_lists(start: int, backend: str, kind: str) -> None:
    kept = 0
    for seed in range(start, start + BATCH):
        kept += keeps(kind, seed, backend)
    assert kept


def keeps(kind: str, seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native and appends."""
    elements = kind == "elements"
    plain = random_elements.source(seed) if elements else random_loops.source(seed, kind in ("choices", "ends"))
    text = with_ends(plain, seed) if kind == "ends" else with_lists(plain, seed, elements)

    def arguments(n: int) -> tuple[Any, ...]:
        return (*(random_elements if elements else random_loops).arguments(seed, n), [])

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of some elements
            report = require_equal(
                fn := function(text),
                lambda: arguments(3),
                variants=[lambda n=n: arguments(n) for n in (0, 1, 2, 7)],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
            for n in (7, 3):
                if report.raised:
                    break
                require_same_objects(fn(*arguments(n)), report.compiled(*arguments(n)))
    except BaseException as error:
        error.add_note(f"{kind} {seed}:\n{text}")
        raise
    graphs = [segment.capture.graph for segment in report.compiled._compilation.segments]
    return any(loops_in(graph) and "append(" in str(graph) for graph in graphs)
