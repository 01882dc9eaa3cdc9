"""The proof machinery proved: every program equals itself through the oracle, in every dtype and layout.

Were a program not to repeat itself, or the oracle to see a difference where there is none, this says so without a
compiler in sight.
"""

from __future__ import annotations

import pytest

from benchmarks.programs import DTYPES, LAYOUTS, PROGRAMS
from tests.oracle import require_equal


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_equals_itself(name: str, layout: str) -> None:
    program = PROGRAMS[name]
    for dtype in dict.fromkeys((program.dtype, *DTYPES)):
        require_equal(
            program.fn,
            lambda dtype=dtype: program.make_args(dtype, layout, program.small),
            compile=lambda fn: fn,
            calls=1,
            variants=[lambda dtype=dtype: program.make_args(dtype, layout, 2 * program.small)],
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_with_its_own_dtype_without_a_word(name: str) -> None:
    program = PROGRAMS[name]
    program.fn(*program.make_args(size=program.small))  # warnings are errors here
