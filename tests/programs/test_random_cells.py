"""Random loops that read lists while they fill them against plain Python; CELL_FUZZ sets how many."""

from __future__ import annotations

import random
from typing import Any

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_cells import source
from tests.programs.test_loop_lists import require_same_objects

BATCH = 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("CELL_FUZZ", 20), BATCH))
def test_random_cells(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH))


def arguments(n: int) -> tuple[Any, ...]:
    pick = random.Random(n)
    return n, [pick.randrange(-2000, 2000) for _ in range(n + 3)]


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native and reads what it fills."""
    text = source(seed)
    space: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, "<random cells>", "exec"), space)
    fn = space["f"]
    try:
        report = require_equal(
            fn,
            lambda: arguments(9),
            variants=[lambda n=n: arguments(n) for n in (0, 1, 2, 17)],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
            calls=1,
        )
        for n in (17, 9):
            if report.raised:
                break
            require_same_objects(fn(*arguments(n)), report.compiled(*arguments(n)))
    except BaseException as error:
        error.add_note(f"{seed}:\n{text}")
        raise
    graphs = [segment.capture.graph for segment in report.compiled._compilation.segments]
    return any(loops_in(graph) and "scalar_number" in str(graph) for graph in graphs)
