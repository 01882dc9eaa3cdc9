"""Random elementwise loops, which one kernel runs, against plain Python; ITERATION_FUZZ sets how many."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite
from dynamo_lite.schedule.steps import Loop
from tests.conftest import budget
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import OPTIONS
from tests.programs.random_iterations import LAYOUTS, SHAPES, arguments, function, source

BATCH = 10
COUNTS = (6, 0, 1, 2, 5, 100)


def kernels_in(compiled: Any) -> int:
    """How many loops of a compiled function have a kernel that iterates."""
    schedules = [getattr(segment.program, "schedule", None) for segment in compiled._compilation.segments]
    steps = [step for schedule in schedules if schedule is not None for step in schedule.steps]
    return sum(isinstance(step, Loop) and step.body.iterated is not None for step in steps)


@pytest.mark.parametrize("reports", (False, True))
@pytest.mark.parametrize("start", range(0, budget("ITERATION_FUZZ", 60), BATCH))
def test_random_iterations(start: int, reports: bool) -> None:
    used = 0
    for seed in range(start, start + BATCH):
        shape, layout = SHAPES[seed // 3 % len(SHAPES)], LAYOUTS[seed // 5 % len(LAYOUTS)]
        calls = [(n, shape, layout) for n in COUNTS]
        calls += [(100, SHAPES[(seed + k) % len(SHAPES)], LAYOUTS[(seed + k) % len(LAYOUTS)]) for k in range(4)]
        first, *rest = [lambda c=call, s=seed: arguments(s, *c) for call in calls]  # type: ignore[misc]
        try:
            report = require_equal(
                function(seed),
                first,
                variants=rest,
                compile=dynamo_lite.compile,
                compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
                calls=1,
                conditions=Conditions() if reports else Conditions(errstate={"all": "ignore"}),
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed)}")
            raise
        used += kernels_in(report.compiled) and report.stats["native_calls"] > report.stats["plain_calls"]
    assert used
