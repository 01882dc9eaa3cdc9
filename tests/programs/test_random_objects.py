"""Random functions over Python numbers against plain Python, as `is` can tell; OBJECT_FUZZ sets how many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_objects import Thing, arguments, function, source
from tests.programs.test_number_objects import told

BATCH = 10
CALLS = 6


@pytest.mark.parametrize("kind", ["straight", "loops", "left"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("OBJECT_FUZZ", 20), BATCH))
def test_random_objects(start: int, backend: str, kind: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        text = source(seed, kind != "straight")
        plain = function(text)
        fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 100})
        for call in range(CALLS):
            args = arguments(CALLS * seed + call)
            _C.leave_loops(kind == "left")  # after each iteration
            try:
                found = everything(fast, args)
            finally:
                _C.leave_loops(0)
            assert found == everything(plain, args), f"{kind} {seed}, {args[1:]}:\n{text}"
        native += any(loop.outcome == "native" for loop in fast.explain().loops)
    assert native or kind == "straight" or _C.get_stress()


def everything(of: Any, args: tuple[Any, ...]) -> list[Any]:
    """All that can be told of a call."""
    thing = Thing()
    thing.a, thing.b = args[3], args[5]
    with np.errstate(all="ignore"):
        results = of(*args, thing)
    return told(args, (*results, thing.a, thing.b))
