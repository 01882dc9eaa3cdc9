"""Random loops over strings, against plain Python; TEXT_FUZZ sets how many."""

from __future__ import annotations

import warnings

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in
from tests.programs.random_array_lists import function, outcome
from tests.programs.random_texts import CALLS, arguments, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("TEXT_FUZZ", 60), BATCH))
def test_random_texts(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH)) >= BATCH // 4


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native."""
    text = source(seed)
    fn = function(text)
    compiled = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that overflow, in both
        for call in range(CALLS):
            plain, other = outcome(fn, arguments(seed, call)), outcome(compiled, arguments(seed, call))
            assert plain == other, f"{seed} in call {call}:\n{text}"
    return any(loops_in(segment.capture.graph) for segment in compiled._compilation.segments)
