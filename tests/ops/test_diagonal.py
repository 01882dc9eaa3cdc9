"""Diagonals: views of matrices, and np.fill_diagonal, on every dtype and layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS

RNG = np.random.default_rng(0)
BASE = RNG.random((4, 4)) * 9
MATRICES = [
    BASE,
    RNG.random((3, 5)),
    RNG.random((5, 3)),
    np.asfortranarray(BASE),
    RNG.random((8, 8))[::2, ::-2],
    RNG.random((1, 1)),
    RNG.random((0, 0)),
    RNG.random((2, 0)),
    np.full((3, 3), np.nan),
    np.broadcast_to(BASE[0], (4, 4)),
    *(BASE.astype(char) for char in "?bBhHiIlLqefdFD"),
]


def views(a: Any) -> Any:
    return np.diag(a), np.diagonal(a, -1) if a.shape[0] > 1 else 0, a.diagonal(), np.linalg.diagonal(a)


def computed(a: Any) -> Any:
    b = a * 2 + np.diag(a).sum()
    return np.diag(b) + 1, np.diag(np.diag(b)) - b, np.diag(b, 1)[::-1] if b.shape[1] > 1 else 0


def filled(a: Any) -> Any:
    b = a + a
    np.fill_diagonal(b, 0)
    np.fill_diagonal(a, 1)
    return b, b.sum(), np.diag(b)


def filled_by_vector(a: Any) -> Any:
    b = np.zeros(a.shape)
    np.fill_diagonal(b, a.diagonal() * 0.5)
    np.fill_diagonal(a, np.diag(a)[::-1])
    return b, a


def filled_with(a: Any, value: Any) -> Any:
    np.fill_diagonal(a, value)
    return a


def stored_to(a: Any) -> Any:
    d = np.diag(a)
    d[0] = 1
    return d


def in_loop(a: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        a = a * 1.5
        np.fill_diagonal(a, k)
        total += np.diag(a).sum() + a.sum()
    return total, a


def of_three_axes(a: Any) -> Any:
    return a.diagonal(0, 1, 2), np.diagonal(a, 1, 2, 0), np.diagonal(a).sum(axis=-1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [views, computed, filled, filled_by_vector, stored_to])
def test_diagonals(function: Any, backend: str) -> None:
    for matrix in MATRICES:
        require_equal(
            function,
            copies_of(matrix),
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": {"cost_model": False}},
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_diagonal_is_filled_with(backend: str) -> None:
    values: list[Any] = [0, 1, -1, 300, 1.5, True, 2j, np.nan, np.float32(1.5), np.float64(1e300), np.int64(3)]
    values += [np.array(2.0), np.arange(4.0), np.arange(2.0), [1, 2], np.zeros((2, 2)), "x", None]
    for matrix in (MATRICES[0], MATRICES[3], MATRICES[4], *MATRICES[10:14], *MATRICES[-4:]):
        for value in values:
            require_equal(
                filled_with,
                copies_of(matrix, value),
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {"cost_model": False}},
            )


@pytest.mark.parametrize("backend", BACKENDS)
def test_diagonals_in_loops_and_of_more_axes(backend: str) -> None:
    options = {"backend": backend, "options": {"cost_model": False}}
    for n in (0, 1, 5):
        require_equal(in_loop, copies_of(BASE, n), compile=dynamo_lite.compile, compile_options=options)
    for shape in ((3, 4, 5), (2, 2, 2), (4, 3, 3)):
        require_equal(of_three_axes, copies_of(RNG.random(shape)), compile=dynamo_lite.compile, compile_options=options)


def test_it_is_one_graph() -> None:
    fast = dynamo_lite.compile(filled, fullgraph=True, options={"cost_model": False})
    fast(BASE.copy())
    assert fast.stats()["breaks"] == 0
