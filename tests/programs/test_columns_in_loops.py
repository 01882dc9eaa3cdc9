"""Columns of matrices by index arrays, ``v[:, [p, q]]``, in loops that are compiled whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.program.routines import collected
from tests.programs.loop_cases import OPTIONS


def rotated(a: Any, n: int) -> Any:
    v = np.eye(len(a))
    for i in range(n):
        p, q = i % len(a), (2 * i + 1) % len(a)
        v[:, [p, q]] = v[:, [p, q]] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
        a[:, p] = a[:, p] + v[:, q]
    return v, a


def exchanged(a: Any, n: int) -> Any:
    sums = []
    for i in range(n):
        p, q = i % a.shape[1], (2 * i + 1) % a.shape[1]
        a[:, [p, q]] = a[:, [q, p]]
        a[:, np.array([q, q])] = a[:, [p, q]] * 2.0
        a[:, [p]] = 1.5
        sums.append((a[:, [0, q]] * 2.0).sum())
    return a, sums


def handed_out(a: Any, n: int) -> Any:
    part = a[:, [0, 1]]
    for i in range(n):
        part = a[:, [i, 0]] + part
    return part, a[:, [n, 0]]


def out_of_range(a: Any, n: int) -> Any:
    for i in range(n + 8):
        a[:, [i, 0]] = a[:, [0, i]] + 1.0
    return a


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [rotated, exchanged, handed_out, out_of_range])
def test_programs(fn: Any, backend: str) -> None:
    def made(lies: Any = np.array, size: int = 7) -> Any:
        return lambda: (lies(np.random.default_rng(size).random((size, size))), 4)

    layouts = (np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: x[::-1])
    require_equal(
        fn,
        made(),
        variants=[*map(made, layouts), made(size=5)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        calls=2,
    )


def test_they_are_compiled_whole() -> None:
    assert collected(rotated, np.random.default_rng(0).random((7, 7)), 4)
