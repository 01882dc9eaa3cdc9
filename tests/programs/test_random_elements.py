"""Random loops over single elements against plain Python, as machine code; ELEMENT_FUZZ sets how many."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.schedule.steps import Loop, Schedule, bodies
from tests.conftest import budget
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import OPTIONS
from tests.programs.random_elements import arguments, function, source

BATCH = 10


def machines_in(schedule: Schedule) -> int:
    """The machine loops of a program."""
    found = 0
    for step in schedule.steps:
        if isinstance(step, Loop) and step.machine is not None:
            found += 1
        else:
            found += sum(map(machines_in, bodies(step)))
    return found


def machines_of(compiled: Any) -> int:
    """The machine loops of a compiled function's programs."""
    programs = [entry.program for entry in _C.entries(compiled.__wrapped__.__code__)]
    return sum(machines_in(program.schedule) for program in programs if isinstance(program, _C.Program))


# 168, 1314: a way that an inner loop was left for is none of the outer one. 301, 469: what is known of sizes that do
# not go into a body says something of those that do. 70040: the intervals of what a loop carries, which a test in its
# body narrows, were looked for without an end.
@pytest.mark.parametrize("start", sorted({*range(0, budget("ELEMENT_FUZZ", 60), BATCH), 160, 300, 460, 1310, 70040}))
def test_random_elements(start: int) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        variants = [lambda n=n, s=seed: arguments(s, n) for n in (0, 1, 2, 9)]  # type: ignore[misc]
        variants.append(lambda s=seed: arguments(s, 6, True))  # type: ignore[misc]
        errstate = {"all": "ignore"} if seed % 3 else {}
        try:
            report = require_equal(
                function(seed),
                lambda s=seed: arguments(s, 5),  # type: ignore[misc]
                variants=variants,
                compile=dynamo_lite.compile,
                compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
                conditions=Conditions(errstate=errstate),
                calls=1,
            )
        except BaseException as error:
            error.add_note(f"seed {seed}:\n{source(seed)}")
            raise
        native += bool(machines_of(report.compiled) and report.stats["native_calls"])
    assert native
