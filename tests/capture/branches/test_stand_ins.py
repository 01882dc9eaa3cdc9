"""What stands for a local behind a loop or a choice on ways on which nobody reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def left_early(x: Any, z: Any, a: int, s: Any) -> Any:
    u = x.copy()
    for i in range(a + 2):
        if i % 2:
            break
        u = np.cumsum(z[a:])
    else:
        s = np.ptp(u)
    return s


def handled(x: Any, z: Any, a: int, s: Any) -> Any:
    u = x
    for i in range(a + 2):
        try:
            if i % 2:
                break
            u = z[a:] * 2.0
        except ValueError:
            pass
    else:
        s = u.sum()
    return s


@pytest.mark.parametrize("program", [left_early, handled])
@pytest.mark.parametrize("dtype", [bool, np.float64])
def test_of_a_size_that_one_way_alone_knows(program: Any, dtype: type) -> None:
    def arguments(a: int, n: int = 8) -> Any:
        return lambda: (np.arange(8).astype(dtype), np.arange(float(n)), a, np.float64(0.5))

    require_equal(
        program,
        arguments(2),
        variants=[arguments(a, n) for a, n in ((0, 8), (7, 8), (9, 8), (-1, 9), (-2, 3), (2, 2))],
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1, "recompile_limit": 40}},
    )


@pytest.mark.parametrize("a", [np.int64(1), np.float64(-2.0), 1])
def test_of_a_number_that_is_one_object_or_another(a: Any) -> None:
    def program(m: Any, a: Any, s: Any) -> Any:
        if s < np.any(m > 255):
            s = np.inf
            s -= min(-0.0, a, 3)
        else:
            s = m.sum()
        return s

    require_equal(
        program,
        lambda: (np.ones(8), a, np.int64(-3)),
        variants=[lambda s=s, m=m: (np.full(8, m), a, s) for s in (np.int64(3), 2, 0.5) for m in (1.0, 400.0)],
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1, "recompile_limit": 40}},
    )
