"""Short loops that stay loops, since data decides branches in them: boards of games, small systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table

PROGRAMS, program = table()


def board(n: int) -> Any:
    return 2 ** np.random.default_rng(n).integers(0, 3, (4, 4)) // 2 * 2


@program(lambda n: (board(n),))
def merged(b):
    for i in range(4):
        for j in range(3):
            if b[i][j] == b[i][j + 1] and b[i][j] != 0:
                b[i][j] *= 2
                b[i][j + 1] = 0
    return b


@program(lambda n: (board(n),))
def slid(b):
    out, score = np.zeros((4, 4), dtype=int), 0
    for i in range(4):
        k = 0
        for j in range(4):
            if b[i, j] != 0:
                if k > 0 and out[i, k - 1] == b[i, j]:
                    out[i, k - 1] *= 2
                    score += out[i, k - 1]
                else:
                    out[i, k] = b[i, j]
                    k += 1
    return out, score


@program(lambda n: (np.random.default_rng(n).random((3, 3)), np.random.default_rng(n).random(3)))
def eliminated(a, b):
    for k in range(3):
        p = k
        for i in range(k + 1, 3):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, 3):
            f = a[i, k] / a[k, k]
            for j in range(k, 3):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    return a, b


@program(lambda n: (np.random.default_rng(n).integers(0, 3, (3, 3)),))
def winner(b):
    for i in range(3):
        if b[i, 0] != 0 and b[i, 0] == b[i, 1] == b[i, 2]:
            return b[i, 0]
        if b[0, i] != 0 and b[0, i] == b[1, i] == b[2, i]:
            return b[0, i]
    return 0


@program(lambda n: (np.random.default_rng(n).integers(0, 2, (6, 6)), 3))
def life(b, n):
    for _ in range(n):
        new = b.copy()
        for i in range(6):
            for j in range(6):
                count = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if (di != 0 or dj != 0) and 0 <= i + di < 6 and 0 <= j + dj < 6:
                            count += b[i + di, j + dj]
                if b[i, j] == 1 and (count < 2 or count > 3):
                    new[i, j] = 0
                elif b[i, j] == 0 and count == 3:
                    new[i, j] = 1
        b = new
    return b


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    fn, arguments = PROGRAMS[name]
    report = require_equal(
        fn,
        lambda: arguments(1),
        variants=[lambda n=n: arguments(n) for n in range(2, 12)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    found = report.compiled.explain()
    assert name == "winner" or (not found.breaks and report.stats["compiles"] == 1), found
    assert any(loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments), found


def appends_what_it_finds(b: Any, names: Any) -> Any:
    found = []
    for i in range(3):
        if b[i, i] > 1:
            found.append((names[i], b[i, i]))
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_short_loop_that_cannot_stay_one_is_unrolled(backend: str) -> None:
    require_equal(
        appends_what_it_finds,
        lambda: (board(1), ["a", object, None]),
        variants=[lambda n=n: (board(n), ["a", object, None]) for n in range(2, 6)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def smoothed(x: Any, axes: int, n: int) -> Any:
    out, i = x, 0
    while i < n:
        d = np.zeros_like(x)
        slices = [slice(None)] * axes
        for axis in range(axes):
            slices[axis] = slice(1, None)
            d[tuple(slices)] += np.diff(out, axis=axis)
            slices[axis] = slice(None)
        out = out + 0.1 * d
        i += 1
        if (d * d).sum() < 1e-3:
            break
    return out, i


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_over_the_axes_in_a_loop_is_unrolled_where_their_number_is_an_argument(backend: str) -> None:
    """A list of slices cannot be the program's: what is refused is the inner loop, and not the one around it."""
    report = require_equal(
        smoothed,
        lambda: (np.random.default_rng(1).random((5, 6)), 2, 7),
        variants=[lambda n=n: (np.random.default_rng(n).random((6, 5, 4)[:n]), n, 5) for n in (1, 2, 3)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    found = report.compiled.explain()
    assert not found.breaks and {loop.outcome for loop in found.loops} == {"native", "unrolled"}, found
