"""Random nests of loops that fill lists and dicts, and have other effects, against plain Python; see ITEM_FUZZ."""

from __future__ import annotations

import random

import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_items import arguments, function, source

BATCH = 10
KNOWN = 920  # among these, a size of which one branch asks whether it is 1, and which goes into the other, too


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", [*range(0, budget("ITEM_FUZZ", 40), BATCH), KNOWN])
def test_random_items(start: int, backend: str) -> None:
    """Values, printed text, identity, random states and exceptions agree, also where loops are left by force."""
    native = 0
    for seed in range(start, start + BATCH):
        variants = [lambda n=n, s=seed: arguments(s, n) for n in (0, 1, 2, 7)]  # type: ignore[misc]
        variants.append(lambda s=seed: arguments(s, 4, 9))  # type: ignore[misc]
        every = random.Random(seed).choice((0, 0, 1, 2, 3))  # iterations after which a loop is left
        _C.leave_loops(every)
        try:
            report = require_equal(
                function(seed),
                lambda s=seed: arguments(s, 3),  # type: ignore[misc]
                variants=variants,
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}, left after {every}:\n{source(seed)}")
            raise
        finally:
            _C.leave_loops(0)
        native += any(loop.outcome == "native" for loop in report.compiled.explain().loops)
    assert native or _C.get_stress()
