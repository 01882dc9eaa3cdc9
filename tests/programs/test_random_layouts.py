"""Random loops over parts of arrays in several layouts against plain Python; LAYOUT_FUZZ sets how many."""

from __future__ import annotations

import warnings

import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS, loops_in
from tests.programs.random_layouts import arguments, function, source

BATCH = 15


@pytest.mark.parametrize("start", range(0, budget("LAYOUT_FUZZ", 60), BATCH))
def test_random_layouts(start: int) -> None:
    """NB: the reference backend calls NumPy on the very views; what lies otherwise would show by the numba backend."""
    kept = 0
    for seed in range(start, start + BATCH):
        kept += keeps(seed)
    assert kept


def keeps(seed: int) -> bool:
    """Compare one program; whether a loop of it is native."""
    text = source(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            report = require_equal(
                function(text),
                lambda: arguments(seed, 40),
                variants=[lambda n=n: arguments(seed, n) for n in (8, 300)],  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
            )
    except BaseException as error:
        error.add_note(f"{seed}:\n{text}")
        raise
    return any(loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments)
