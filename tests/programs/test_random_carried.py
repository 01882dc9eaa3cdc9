"""Random functions with objects that iterations replace, against plain Python; CARRIED_FUZZ sets how many."""

from __future__ import annotations

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_carried import arguments, function, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("CARRIED_FUZZ", 60), BATCH))
def test_random_carried(start: int, backend: str) -> None:
    kept = 0
    for seed in range(start, start + BATCH):
        kept += keeps(seed, backend)
    assert kept


def keeps(seed: int, backend: str, check: int = 1) -> bool:
    """Compare one program; whether a loop of it is native."""
    text = source(seed)
    try:
        report = require_equal(
            function(text),
            lambda: arguments(seed, 8),
            variants=[lambda n=n: arguments(seed, n) for n in (0, 1, 2, 3, 12, 40)],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100, "check": check}},
            calls=1,
        )
    except BaseException as error:
        error.add_note(f"{seed}:\n{text}")
        raise
    return any(loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments)
