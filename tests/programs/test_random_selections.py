"""Random loops that choose elements of small arrays against plain Python; SELECTION_FUZZ sets how many."""

from __future__ import annotations

import warnings

import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_selections import HOW, arguments, function, source
from tests.programs.test_random_elements import machines_of

BATCH = 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("SELECTION_FUZZ", 60), BATCH))
def test_random_selections(start: int, backend: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        cases = [(6, 4, how) for how in HOW]
        cases += [(size, n, "plain") for size, n in ((6, 0), (1, 3), (3, 1), (0, 3), (9, 7))]
        cases.append((300, 3, HOW[seed % len(HOW)]))
        variants = [lambda case=case, s=seed: arguments(s, *case) for case in cases]  # type: ignore[misc]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                report = require_equal(
                    function(seed),
                    lambda s=seed: arguments(s, 6, 5),  # type: ignore[misc]
                    variants=variants,
                    compile=dynamo_lite.compile,
                    compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                    conditions=Conditions(errstate={"all": "ignore"} if seed % 3 else {}),
                    calls=1,
                )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed)}")
            raise
        native += bool(machines_of(report.compiled) and report.stats["native_calls"])
    assert native or backend == "reference" or _C.get_stress()
