"""Loops that write into arrays of which they ravel parts, as np.outer and np.linalg.norm do: copies or views?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.program.routines import collected
from tests.programs.loop_cases import OPTIONS


def eliminated(a: Any) -> Any:
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def reflected(a: Any) -> Any:
    for k in range(a.shape[1]):
        x = a[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2.0 * np.outer(v, v @ a[k:, k:])
    return a


def orthogonal(a: Any) -> Any:
    for i in range(a.shape[1]):
        for j in range(i):
            a[:, i] -= np.dot(a[:, i], a[:, j]) * a[:, j]
        a[:, i] /= np.linalg.norm(a[:, i])
    return a


def read_behind_a_store(a: Any) -> Any:
    """Of a row that lies packed it is a view, which shows what is stored; of a column a copy."""
    total = np.zeros(3)
    for i in range(len(a) - 1):
        row, column = a[i].ravel(), np.ravel(a[:, i])
        a[i, :] = a[i + 1] * 2.0
        a[:, i] += 1.0
        total += row[:3] * column[:3]
        total += np.outer(row, column)[:3, 0]
    return total, a


def read_before_and_behind(a: Any) -> Any:
    out = []
    for i in range(len(a) - 1):
        row = a[i].ravel()
        before = row[0] + np.dot(row, row)
        a[i, 0] = before
        out.append(row[0] - before)
    return out, a


def written_through(a: Any) -> Any:
    for i in range(len(a)):
        row = a[i].ravel()
        row += 1.0
        a[i, 0] *= 2.0
    return a


FUNCTIONS = [eliminated, reflected, orthogonal, read_behind_a_store, read_before_and_behind, written_through]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_programs(fn: Any, backend: str) -> None:
    def made(order: str = "C", by: int = 1, size: int = 6) -> Any:
        def make() -> Any:
            a = np.random.default_rng(size).normal(size=(size, size * abs(by))) + 4.0 * np.eye(size, size * abs(by))
            return (np.asarray(a, order=order)[:, ::by],)  # type: ignore[call-overload]

        return make

    require_equal(
        fn,
        made(),
        variants=[made("F"), made("C", 2), made("C", -1), made(size=13), made(size=3)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


@pytest.mark.parametrize("fn", [eliminated, reflected, orthogonal])
def test_they_are_compiled_whole(fn: Any) -> None:
    assert collected(fn, np.random.default_rng(0).normal(size=(6, 6)))
