"""What a program makes and does not hand out has its memory from the pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite import _C
from dynamo_lite.lower import lower
from dynamo_lite.schedule import estimate, paying_sizes, schedule
from dynamo_lite.schedule.fresh import LARGE, MOST_POOLED, fresh_time, handed_out, made_time
from tests.schedule.tracing import trace


def turned(x: Any, m: Any, t: Any) -> Any:
    y = x @ m.T + t
    return y[:, 0] / y[:, 2] * 3.0 + 1.0, y[:, 1] / y[:, 2] * 3.0 + 1.0


def test_what_dies_in_a_program_is_not_new() -> None:
    assert made_time(LARGE, True) == fresh_time(LARGE) > made_time(LARGE, False)
    assert made_time(2 * MOST_POOLED, False) == fresh_time(2 * MOST_POOLED)


def test_a_view_hands_out_what_it_is_of() -> None:
    def program(x: Any) -> Any:
        y = np.sort(x * 2.0)
        return (y + 1.0)[::2], np.sort(y * 3.0)[1:].sum()

    found = schedule(lower(trace(program, np.ones(100))), TARGET)
    assert len(handed_out(found)) == 3  # the view, its array, the sum


def test_large_temporaries_are_no_reason_to_run_plainly() -> None:
    arguments = np.ones((333_333, 3)), np.eye(3), np.ones(3)
    graph = lower(trace(turned, *arguments))
    least, most = paying_sizes(estimate(graph, schedule(graph, TARGET), arguments, TARGET))
    assert least <= 999_999 <= most


def test_where_the_pool_stays_awake_plain_temporaries_are_not_new_either() -> None:
    """A large matrix that is scaled once gains in both ways alike, beside a product that the program calls as well."""

    def scaled(m: Any, x: Any) -> Any:
        return 0.5 * m @ x

    arguments = np.ones((751, 751)), np.ones(751)
    graph = lower(trace(scaled, *arguments))

    def gain() -> float:
        times = estimate(graph, schedule(graph, TARGET), arguments, TARGET)[0]
        return times.plain / times.native

    assert gain() > 2.0
    if not _C.memory_install(2 * MOST_POOLED, stay=True):
        pytest.skip("the pool needs glibc, and NumPy's and Python's own allocators")
    try:
        assert _C.memory_stays()
        assert fresh_time(LARGE) == made_time(LARGE, True) == made_time(LARGE, False)
        assert fresh_time(2 * MOST_POOLED) > 2 * fresh_time(MOST_POOLED)
        assert gain() < 1.02
    finally:
        _C.memory_uninstall()
    assert not _C.memory_stays()
    assert gain() > 2.0
