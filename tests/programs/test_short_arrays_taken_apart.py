"""Short arrays that a call, a list display or a name with a star takes apart: their length is guarded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


def product(p: Any, q: Any) -> Any:
    return np.array([p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0], *q[2:]])


def turned(x: Any, q: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = x[i - 1] + product(x[i], [0.0, *q[i]])
    return x


def row(a: float, b: float, c: float, d: float = 0.0) -> Any:
    return np.asarray([[a, b], [c, d]])


def stacked(x: Any, q: Any) -> Any:
    return np.asarray([row(*q[i]) for i in range(len(q))]).sum(axis=0), np.array([*x[0], 1.0])


def first_and_rest(x: Any, q: Any) -> Any:
    total = x[0, 0]
    for i in range(len(x)):
        first, *rest = x[i]
        total = total + first * len(rest) + rest[-1]
    return total, tuple(q[0]), (*q[0], total)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [turned, stacked, first_and_rest])
def test_programs(fn: Any, backend: str) -> None:
    def made(n: int, width: int = 3) -> Any:
        return lambda: (np.random.default_rng(n).random((n, 4)), np.random.default_rng(n).random((n, width)))

    report = require_equal(
        fn,
        made(5),
        variants=[made(20), made(1), made(6, 2) if fn is first_and_rest else made(7)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    assert not report.compiled.explain().breaks
