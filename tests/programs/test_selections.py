"""Loops that choose elements of small arrays: run as machine code, with the bits of plain Python.

How many elements are chosen only the run finds. The programs get a vector of floats, one of ints, a matrix, and a
number of iterations; none, some and all of the elements are chosen, and some are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import Report, require_equal
from tests.program.routines import collected
from tests.program.test_routines import require_same
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_random_elements import machines_of

Program = Callable[..., Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


# mypy: disallow-untyped-defs=False


@program
def greedy(q, k, p, n):
    s = 0
    for i in range(n):
        best = np.where(q == q.max())[0]
        a = best[i % len(best)]
        q[a] += 0.5 * (k[a] - q[a])
        s += a
    return q, s


@program
def places_of_all_kinds(q, k, p, n):
    s = 0
    for i in range(n):
        s += len(np.flatnonzero(q > 0.5)) + len(np.nonzero(k)[0]) + np.flatnonzero(q).sum() + len((q < 0).nonzero()[0])
        q[i % len(q)] = i % 2
        k[i % len(k)] -= 1
    return q, k, s


@program
def places_in_a_plane(q, k, p, n):
    s = 0.0
    for i in range(n):
        rows, columns = np.nonzero(p > 0.5)
        s += len(rows) + rows.sum() * 2 + columns.sum()
        p[i % 3, i % 2] *= 0.5
    return p, s


@program
def taken_by_a_mask(q, k, p, n):
    s = 0.0
    for i in range(n):
        v = q[q > 0.4]
        s += v.sum() + len(v) + k[q > 0.4].sum()
        q[i % len(q)] = (i * 7 % 5) * 0.25
    return q, s


@program
def changed_by_a_mask(q, k, p, n):
    for i in range(n):
        q[q > 0.4] *= 0.9
        k[q < 0.3] += i
        q[k > 2] = q[k > 2] + 0.5
        q[i % len(q)] = (i * 7 % 5) * 0.25
    return q, k


@program
def rows_by_a_mask(q, k, p, n):
    s = np.zeros(3)
    for i in range(n):
        chosen = p[q > 0.5]
        s = s + chosen.sum(axis=0) * 0.5
        p[k == 1] = p[k == 1] * 0.5 + 0.25
        q[i % len(q)] = (i % 3) * 0.5
    return p, s


@program
def a_plane_by_a_mask(q, k, p, n):
    s = 0.0
    for i in range(n):
        s += p[p > 0.5].sum()
        p[p > 0.7] *= 0.75
        p[i % 3, 1] = 0.9
    return p, s


@program
def in_order(q, k, p, n):
    s = 0.0
    for i in range(n):
        order = np.argsort(q)
        s += q[order[0]] * order[-1] + k[np.argsort(k, kind="stable")][-1] + order[::-1][0]
        q[i % len(q)] = (i * 7 % 5) * 0.25
    return q, s


@program
def each_once(q, k, p, n):
    s = 0.0
    for i in range(n):
        values, first, inverse, counts = np.unique(k, return_index=True, return_inverse=True, return_counts=True)
        s += len(values) + values[-1] * 3 + first.sum() * 5 + inverse.sum() * 7 + counts.max() * 11
        s += len(np.unique(q))
        k[i % len(k)] = i % 3
        q[i % len(q)] = i % 2
    return k, q, s


@program
def numbers_of_each(q, k, p, n):
    s = 0.0
    for i in range(n):
        counts = np.bincount(k)
        s += counts[0] + len(counts) + np.bincount(k, weights=q, minlength=5)[i % 5]
        k[i % len(k)] = i % 4
    return k, s


@program
def even_steps(q, k, p, n):
    s = 0.0
    for i in range(n):
        s += np.dot(np.arange(len(q)), q) + np.arange(i).sum() + (np.arange(0.0, 1.0, 0.1) * 3).sum()
        s += np.arange(i, -3, -2).sum() + np.arange(5, dtype=float)[i % 5]
        q[i % len(q)] *= 0.99
    return q, s


@program
def longer_and_shorter(q, k, p, n):
    s = 0.0
    for i in range(n):
        s += np.append(q, i).sum() + np.delete(q, i % 3).sum() + np.delete(k, -1)[0]
        q[i % len(q)] = i * 0.5
    return q, s


@program
def norms(q, k, p, n):
    """What is ravelled is written in the same loop."""
    s = 0.0
    for i in range(n):
        s += np.linalg.norm(q) + np.outer(q, p[1])[0, 1] + np.linalg.norm(p[i % 3]) + np.ravel(p)[i % 9]
        q[i % len(q)] *= 0.99
        p[i % 3, 1] *= 0.5
    return q, p, s


@program
def in_branches(q, k, p, n):
    s = 0.0
    for i in range(n):
        w = np.flatnonzero(k == i % 3)
        if len(w) > 1:
            s += q[w].sum()
            q[w[0]] = s % 1.0
        elif len(w):
            v = q[q > 0.5]
            if v.size:
                s += v.max()
        k[i % len(k)] = i % 5
    return q, k, s


@program
def rows_at_places(q, k, p, n):
    s = np.zeros(3)
    for i in range(n):
        order = np.argsort(q)
        s = s + p[order[::-1]][0] * 0.5 + p[k % 3].sum(axis=0) + p[order[0], k % 3][0] + p[k % 3, 1].sum()
        p[k % 3] = p[k % 3] * 0.5 + 0.1
        p[order, k % 3] += 0.25
        q[i % len(q)] = (i * 7 % 5) * 0.25
    return p, s


@program
def stored_at_places(q, k, p, n):
    for i in range(n):
        w = np.flatnonzero(q > 0.5)
        q[w] *= 0.5
        q[k % 4] += 1.0
        p[w, 0] = q[w]
        np.add.at(q, k % 4, 0.25)
        np.add.at(k, w, 1)
        np.subtract.at(q, k % 3, q)
        q[k % 3] = i
        p[k % 2] = q[:3]
        k[i % len(k)] = i % 3 - 1
    return q, k, p


@program
def joined(q, k, p, n):
    s = 0.0
    for i in range(n):
        v = np.concatenate((q[q > 0.5], [0.5, i], k[k > 1], q[:2]))
        runs = np.diff(np.flatnonzero(np.concatenate(([True], k[1:] != k[:-1], [True]))))
        s += v.sum() + len(v) + runs.max() * len(runs)
        q[i % len(q)] = (i * 7 % 5) * 0.25
        k[i % len(k)] = i % 2
    return s


@program
def turned(q, k, p, n):
    s = 0.0
    for i in range(n):
        by = k[i % len(k)] - 2
        s += np.roll(q, by)[0] + np.roll(p, by * 3, axis=0)[0, 1] + np.roll(p, -by, 1)[1, 0] + np.roll(k[::2], by)[0]
        q[i % len(q)] *= 0.5
        k[0] = i * 7 - 11
    return s


@program
def turned_by_turns(q, k, p, n):
    """By the loop's number, or by one that it carries."""
    by = 1
    for i in range(n):
        q[:] = np.roll(q, -i) * 0.5
        p[i % len(p)] = np.roll(p[i % len(p)], by)
        p[:] = np.roll(p, (i - 2) * 3, axis=0) + np.roll(p, 7 - i, 1) + q[0]
        by = i * 5 - by
    return q, p


@program
def sets(q, k, p, n):
    s = 0.0
    for i in range(n):
        other = np.arange(i % 4) + 1
        s += np.isin(k, other).sum() + len(np.setdiff1d(other, k)) * 3 + np.intersect1d(k, other).sum() * 5
        s += len(np.union1d(k, other)) + np.setxor1d(other, k).sum() * 7 + np.isin(q, q[:2], invert=True).sum()
        k[i % len(k)] = i % 5
    return s


@program
def sets_of_planes(q, k, p, n):
    """Sets of what np.where has found, a tuple of one vector: a plane of one row."""
    s = 0
    for i in range(n):
        found = np.union1d(np.where(k > i % 3), np.where(q > 0.5))
        left = np.setdiff1d(found, (i % 5, 1))
        s += left.sum() * 3 + len(np.intersect1d(found, np.where(q <= 0.5))) + len(np.setxor1d(left, [[1, 2], [3, i]]))
        k[i % len(k)] = i % 5
    return s


@program
def least_of_two(q, k, p, n):
    """Of as many columns as were found: none, one, or more."""
    s = np.zeros(3)
    for i in range(n):
        w = np.flatnonzero(k == i % 4)
        both = np.array([q[w], q[w[::-1]] * 0.5])
        q[w] = np.min(both, axis=0) - np.max(both, axis=0) * 0.25
        s[0] += np.argmin(both, axis=0).sum() + np.prod(both, axis=0).sum()
        s += np.min(p[w], axis=1).sum()
        k[i % len(k)] = i % 5
    return q, s


@program
def grids(q, k, p, n):
    """Rows and columns chosen at once: `x[np.ix_(i, j)]`, and the like."""
    s, e = 0.0, np.zeros((len(p), len(p)))
    for i in range(n):
        rows, columns = np.flatnonzero(p[:, 0] > 0.3), np.flatnonzero(p[0] > 0.2)
        part = p[np.ix_(rows, columns)]
        s += part.sum() + p[rows[:, None], columns].sum() + p[rows[::-1, None], columns[None, :] - 1].sum()
        e[np.ix_(rows, columns)] += 0.5
        e[rows[:, None], columns] = part * i
        e[np.ix_(columns, rows)] = q[i % len(q)]
        e[np.ix_(rows, rows)] = i * 1.0
        p[i % len(p), 0] = i % 2 * 0.75
    return s, e


@program
def accepted(q, k, p, n):
    """What is proposed is a changed copy, which is kept or not."""
    least = 1e9
    m = q
    for i in range(n):
        y = m.copy()
        y[i % len(y)] += k[i % len(k)] - 1.0
        energy = (y * y).sum()
        if energy < least or i % 3 == 2:
            m = y
            least = energy
    return m, q, least


@program
def accepted_twice(q, k, p, n):
    a = q
    b = p[:, 0].copy()
    for i in range(n):
        y = a.copy()
        y[0] += 1.0
        z = b.copy()
        z[i % len(z)] = i
        if k[i % len(k)] > 1:
            if k[0] > 2:
                a = y
            else:
                b, a = z, y
            k[0] -= 1
        elif i % 2:
            b = z
    return a, b, k


@program
def diagonals(q, k, p, n):
    s = 0.0
    for i in range(n):
        s += np.trace(p) + np.diag(p)[i % 3] * 2 + np.trace(p[:2]) + p.diagonal(1)[0]
        p[i % 3, i % 2] *= 0.5
    return s


@program
def products_and_extremes(q, k, p, n):
    s = 0.0
    for i in range(n):
        s += np.prod(q) + np.inner(q, p[:, 0]) + np.maximum.accumulate(q)[-1] * 2 + np.minimum.accumulate(k).sum()
        s += (q - np.maximum.accumulate(q)).min() + np.minimum.accumulate(q)[1]
        q[i % len(q)] = i % 4 * 0.3 + 0.1
        k[i % len(k)] = i % 3
    return s


@program
def interpolated(q, k, p, n):
    s = 0.0
    for i in range(n):
        xp = np.sort(q)
        s += np.interp(0.3 * i, xp, q) + np.interp(p[:, 1], xp, q).sum() * 2 + np.interp(q[0], xp, xp)
        s += np.searchsorted(xp, p[:, 0]).sum() + np.searchsorted(xp, xp[::-1], side="right")[0]
        q[i % len(q)] = i % 4 * 0.3 + 0.1
    return s


@program
def filled(q, k, p, n):
    s = 0.0
    for i in range(n):
        v = np.full(4, 0.5 * i)
        w = np.full((2, 3), q[i % len(q)])
        w[i % 2, 1] = i
        s += v.sum() + w.sum() * 2 + np.full(i % 3, k[0]).sum()
    return s


@program
def flat_indices(q, k, p, n):
    s = 0
    for i in range(n):
        row, column = np.unravel_index(p.argmax(), p.shape)
        s += np.ravel_multi_index((row, column), p.shape) * 3 + row + column
        s += np.ravel_multi_index((i % 3, 1), (4, 4))
        p[row, column] *= 0.5
    return p, s


def arguments(how: str, size: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(size)
    q, k, p = rng.random(size), rng.integers(0, 4, size), rng.random((size, 3))
    if how == "none":
        q[:], k[:], p[:] = 0.1, 0, 0.2
    elif how == "all":
        q[:], k[:], p[:] = 0.9, 3, 0.8
    elif how == "nan":
        q[::2] = np.nan
        p[0, 0], p[1, 1] = np.nan, -0.0
    elif how == "spread":
        q, k, p = np.repeat(q, 2)[::2], k[::-1].copy()[::-1], np.asfortranarray(p)
    return q, k, p, n


def run(function: Program, backend: str, *calls: tuple[str, int, int]) -> Report:
    first, *rest = [lambda call=call: arguments(*call) for call in calls]  # type: ignore[misc]
    options = {"backend": backend, "options": {**OPTIONS, "recompile_limit": 20}}
    return require_equal(function, first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_selections(name: str, backend: str) -> None:
    run(PROGRAMS[name], backend, *((how, 5, 7) for how in ("none", "all", "nan", "spread")))
    run(PROGRAMS[name], backend, *(("plain", size, n) for size, n in ((4, 0), (4, 1), (4, 2), (9, 3), (700, 4))))
    report = run(PROGRAMS[name], backend, ("plain", 6, 9))
    if backend != "reference" and not _C.get_stress():
        assert machines_of(report.compiled), report.compiled.explain()
        assert not report.stats["declines"] and report.stats["native_calls"], report.compiled.explain()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_they_mean(name: str) -> None:
    """The routine evaluated, and its step."""
    machines = collected(PROGRAMS[name], *arguments("plain", 6, 5))
    ran = [require_same(*machine, seed) for machine in machines for seed in range(10)]
    assert any(ran)


@pytest.mark.parametrize("dtype", ["f4", "i4", "i2", "u1", "?", "f2", "c16", ">f8"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_dtypes(name: str, dtype: str) -> None:
    def make(size: int, n: int) -> tuple[Any, ...]:
        q, k, p, _ = arguments("plain", size, n)
        return q.astype(dtype), k.astype(dtype), (p * 2).astype(dtype), n

    first, *rest = [lambda size=size, n=n: make(size, n) for size, n in ((5, 4), (3, 2), (9, 6))]  # type: ignore[misc]
    options = {"backend": "numba", "options": OPTIONS}
    require_equal(PROGRAMS[name], first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=1)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_zeros_of_unlike_sign_are_equal(dtype: str) -> None:
    def f(x, n):
        r = []
        for _ in range(n):
            r.append(np.unique(x))
            r.append(np.unique(x[::-1], return_counts=True))
        return r

    first, *rest = [
        lambda values=values: (np.array(values, dtype), 3)  # type: ignore[misc]
        for values in ([0.5, 1.0, 0.5], [0.0, -0.0, 1.0, 0.0], [np.nan, -0.0, 0.0, -np.nan, np.nan])
    ]
    options = {"backend": "numba", "options": OPTIONS}
    require_equal(f, first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors_stand_where_numpy_raises_them(backend: str) -> None:
    """Of what is empty, and where an index is out of range: with all that was written before."""

    def fails(q, k, p, n):
        for i in range(n):
            q[i % len(q)] = 0.25
            w = np.flatnonzero(q > 0.5)
            k[w] = i
            k[0] = q[w].max() * 4
        return q

    def outside(q, k, p, n):
        for i in range(n):
            q[i] = np.bincount(k)[1]
            k[i] = i - 2
        return q

    for function in (fails, outside):
        run(function, backend, ("plain", 5, 5), ("all", 5, 5), ("none", 5, 4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_kept_of_a_choice_is_no_copy(backend: str) -> None:
    """What a choice keeps, and what is read or written behind it."""

    def read(q, k, p, n):
        s = 0.0
        m = q.copy()
        for i in range(n):
            y = m.copy()
            y[0] = i
            v = y[1:]
            if k[i % len(k)] > 1:
                m = y
            v[0] = 7.0
            s += y.sum() + m.sum()
        return m, s

    def both(q, k, p, n):
        m, o = q.copy(), q.copy()
        for i in range(n):
            y = m.copy()
            y[i % len(y)] = i
            if k[i % len(k)] > 1:
                m = y
                o = y
            o[0] += 1.0
        return m, o, m is o

    def kept(q, k, p, n):
        found, m = [], q.copy()
        for i in range(n):
            y = m.copy()
            y[i % len(y)] = i
            if k[i % len(k)] > 1:
                m = y
            found.append(y)
            m = m + 0.5
        return m, found

    for function in (read, both, kept):
        run(function, backend, *((how, 5, n) for how in ("plain", "spread", "all", "none") for n in (6, 1)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_chosen_is_a_copy(backend: str) -> None:
    """And what is taken before a store is not what stands there behind it; of what is ravelled it is."""

    def fn(q, k, p, n):
        s = 0.0
        for i in range(n):
            v, w, r = q[q > 0.2], np.flatnonzero(q > 0.2), np.ravel(q)
            q[:] = i * 0.5
            s += v.sum() + w.sum() + r.sum()
            v[...] = 7.0
        return q, s

    run(fn, backend, *((how, 5, 4) for how in ("plain", "spread", "all", "none")))


@pytest.mark.parametrize("backend", BACKENDS)
def test_which_are_among_others_is_a_view(backend: str) -> None:
    """As NumPy's own: `np.isin` reshapes what it has found."""

    def last(q, k, n):
        for i in range(n):
            found = np.isin(q, k)
            q[i] += 1
        return found

    fast = dynamo_lite.compile(last, backend=backend, options=OPTIONS)
    for _ in range(2):
        plain, found = (one(np.arange(5.0), np.array([1.0, 3.0]), 4) for one in (last, fast))
        assert plain.tobytes() == found.tobytes() and plain.base.shape == found.base.shape
        assert plain.flags.owndata == found.flags.owndata
