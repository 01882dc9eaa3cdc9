"""Random functions that gather numbers in lists against plain Python; GATHER_FUZZ sets how many."""

from __future__ import annotations

import warnings

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_gathers import arguments, function, source
from tests.programs.test_loop_lists import require_same_objects

BATCH = 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("GATHER_FUZZ", 30), BATCH))
def test_random_gathers(start: int, backend: str) -> None:
    kept = 0
    for seed in range(start, start + BATCH):
        kept += keeps(seed, backend)
    assert kept


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native."""
    text = source(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of empty lists
            report = require_equal(
                fn := function(text),
                lambda: arguments(seed, 8),
                variants=[lambda n=n: arguments(seed, n) for n in (0, 1, 2, 12, 40)],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
            for n in (12, 8):
                if report.raised:
                    break
                require_same_objects(fn(*arguments(seed, n)), report.compiled(*arguments(seed, n)))
    except BaseException as error:
        error.add_note(f"{seed}:\n{text}")
        raise
    return any(loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments)
