"""Random loops that keep changed copies in some iterations against plain Python; ACCEPTED_FUZZ sets how many."""

from __future__ import annotations

import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_accepted import arguments, function, source
from tests.programs.test_random_elements import machines_of

BATCH = 10
SIZES = ((4, 0), (4, 1), (3, 2), (3, 8), (1, 4))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("ACCEPTED_FUZZ", 40), BATCH))
def test_random_accepted(start: int, backend: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        try:
            report = require_equal(
                function(seed),
                lambda s=seed: arguments(s, 4, 5),  # type: ignore[misc]
                variants=[lambda s=seed, c=case: arguments(s, *c) for case in SIZES],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 50}},
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed)}")
            raise
        native += bool(machines_of(report.compiled))
    assert native or backend == "reference" or _C.get_stress()
