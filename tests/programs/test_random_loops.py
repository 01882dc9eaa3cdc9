"""Random loops against plain Python; LOOP_FUZZ sets how many."""

from __future__ import annotations

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_loops import arguments, function, source

BATCH = 10


# A bound known under another name; stores into arrays that are handed on; sizes that are equal by way of a third one.
@pytest.mark.parametrize(("seed", "choices"), [(109, False), (446, False), (822, True), (328, True)])
def test_found_before(seed: int, choices: bool) -> None:
    options = {"backend": "numba", "options": OPTIONS}
    require_equal(
        function(seed, choices), lambda: arguments(seed, 3), compile=dynamo_lite.compile, compile_options=options
    )


@pytest.mark.parametrize("choices", [False, True], ids=["straight", "choices"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("LOOP_FUZZ", 60), BATCH))
def test_random_loops(start: int, backend: str, choices: bool) -> None:
    kept = 0
    for seed in range(start, start + BATCH):
        variants = [lambda n=n, s=seed: arguments(s, n) for n in (0, 1, 2, 7)]  # type: ignore[misc]
        variants.append(lambda s=seed: arguments(s, 4, 9))  # type: ignore[misc]
        try:
            report = require_equal(
                function(seed, choices),
                lambda s=seed: arguments(s, 3),  # type: ignore[misc]
                variants=variants,
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed, choices)}")
            raise
        segments = report.compiled._compilation.segments
        kept += any(loops_in(segment.capture.graph) for segment in segments)
    assert kept
