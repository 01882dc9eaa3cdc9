"""Random loops over lists of objects that have arrays, against plain Python; OBJECT_ARRAY_FUZZ sets how many."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left
from tests.programs.random_object_arrays import arguments, function, outcome, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("start", range(0, budget("OBJECT_ARRAY_FUZZ", 40), BATCH))
def test_random_object_arrays(start: int, left: bool, backend: str) -> None:
    assert sum(keeps(seed, backend, left) for seed in range(start, start + BATCH)) or _C.get_stress()


def keeps(seed: int, backend: str, left: bool = False) -> bool:
    """Compare one program, whose loops are left after each iteration, maybe; whether one has columns of arrays."""
    text = source(seed)
    plain = function(text)
    fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 200})
    for call, n in enumerate((20, 12, 40, 20, 13, 25)):
        outcomes = []
        for fn in (plain, fast):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), loops_left(left and fn is fast):
                outcomes.append((outcome(fn, arguments(seed * 8 + call, n)), printed.getvalue()))
        assert outcomes[0] == outcomes[1], f"{seed}, call {call} with n = {n}:\n{text}"
    return any(";v" in str(segment.capture.guards) for segment in fast._compilation.segments)
