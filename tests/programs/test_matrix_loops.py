"""Loops over whole matrices, and vectors beside them: run as machine code where they lie packed, with plain bits.

In any other layout, and where they are long, the same loop runs step by step; nothing declines.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite._C import abi
from tests.oracle import require_equal
from tests.programs import test_vector_loops as vectors
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_random_elements import machines_of
from tests.programs.test_vector_loops import AWKWARD, OTHERS, PROGRAMS, Program

VECTORS = {*PROGRAMS, *OTHERS}
MATRICES: dict[str, Program] = {}
UNLIKE: dict[str, Program] = {}  # need not become machine code


def program(function: Program) -> Program:
    assert function.__name__ not in VECTORS
    MATRICES[function.__name__] = function
    return function


def other(function: Program) -> Program:
    UNLIKE[function.__name__] = function
    return function


# mypy: disallow-untyped-defs=False

# Each gets a square matrix, one of as many rows and three columns, a vector, and a number of iterations.


@program
def moved(a, p, x, n):
    v = p * 0.0
    s = 0.0
    for _ in range(n):
        v = v - 0.125 * p
        p = p + 0.5 * v
        s += p[0, 1]
    return p, v, s


@program
def filtered(a, p, x, n):
    """A Kalman filter's arithmetic."""
    state = x
    for i in range(n):
        state = a @ state
        p = a @ p
        gain = p / (p[0, 0] + 1.0)
        state = state + gain[:, 0] * (0.5 - state[i % 3])
        p = p - 0.25 * gain
    return state, p


@program
def turned(a, p, x, n):
    for _ in range(n):
        a = (a @ a.T) * 0.125 + a
    return a


@program
def sums_along_axes(a, p, x, n):
    s = 0.0
    for _ in range(n):
        p = p * 0.5 + 0.25
        rows = p.sum(axis=1)
        columns = p.max(axis=0)
        s += rows[0] + columns[1] + p.sum() + np.abs(p).min()
        x = x * 0.5 + rows
    return p, x, s


@program
def kept_axes(a, p, x, n):
    for _ in range(n):
        p = p / (np.abs(p).sum(axis=1, keepdims=True) + 1.0)
        p = p - p.sum(axis=0, keepdims=True) * 0.125
        p[0, 0] + 1.0
    return p


@program
def distances(a, p, x, n):
    s = 0.0
    for _ in range(n):
        d = x[:, None] - x[None, :]
        x = x - 0.125 * (d * d * d).sum(axis=1)
        s += d[0, 1]
    return x, s


@program
def slices_of_one(a, p, x, n):
    n = min(n, len(a))
    for k in range(n):
        a = np.minimum(a, a[:, k : k + 1] + a[k : k + 1, :])
    return a


@other
def stencil(a, p, x, n):
    for _ in range(n):
        a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return a


@program
def chosen(a, p, x, n):
    for _ in range(n):
        if p[0, 0] > 0.25:
            p = p * 0.5
        else:
            q = p + x[:, None]
            p = q
    return p


@program
def made(a, p, x, n):
    total = np.zeros((3, 3))
    for i in range(n):
        r = np.zeros((3, 3))
        r[0, 0] = r[1, 1] = np.cos(0.5 * i)
        r[0, 1] = -np.sin(0.5 * i)
        r[2, 2] = 1.0
        total = total * 0.5 + r @ p[:3]
    return total


@program
def filled(a, p, x, n):
    """A matrix that nothing but numbers is read for lies as its caller has laid it."""
    for i in range(n):
        a[...] = 2.0
        p[:, :] = x[0] * 0.5
        a[0, 1] += i
    return a, p


@program
def added_to_each_row(a, p, x, n):
    bias, scale = p[:1] * 0.5, x[:, None] * 0.25
    for _ in range(n):
        p = np.maximum(p @ p[:3] * 0.125 + bias, 0.0) + scale
        bias = p.sum(axis=0, keepdims=True) * 0.125
        scale = (scale * p).max(axis=1, keepdims=True)
    return p, bias, scale


@program
def extremes_that_are_zero(a, p, x, n):
    best = np.zeros((n, 3))
    for i in range(n):
        h = np.maximum(p - 1.0, 0.0)
        best[i] = h.max(axis=0)
        p = p * 0.75
    return best, p


@other
def part_of_a_matrix(a, p, x, n):
    s = 0.0
    for i in range(n):
        p = p + 0.5
        s += p[1:, ::2].max() if i % 2 else p[i % 4].sum()
    return p, s


@other
def other_orders(a, p, x, n):
    """NumPy lays a sum out like its operands."""
    for _ in range(n):
        a = a.T + a.T
        a[0, 1] + 1.0
    return a, a.flags.c_contiguous


@other
def reversed_rows(a, p, x, n):
    for _ in range(n):
        p = p[::-1] * 0.5 + p
        p[0, 1] + 1.0
    return p


@program
def three_axes(a, p, x, n):
    s = 0.0
    for _ in range(n):
        d = p[:, None, :] - p[None, :, :]
        r = np.sqrt((d * d).sum(axis=2)) + 1.0
        p = p - 0.125 * (d / r[:, :, None]).sum(axis=1)
        s += r[0, 1]
    return p, s


@program
def axes_in_the_middle(a, p, x, n):
    s = 0.0
    for _ in range(n):
        d = p[:, None, :] + a[:, :, None]
        p = p * 0.5 + d.sum(axis=1)
        s += d.max(axis=(0, 1))[0] + d.sum(axis=(1, 2))[1] + d.min(axis=1, keepdims=True)[0, 0, 1]
    return p, s


@other
def copied_over_itself(a, p, x, n):
    """NumPy copies a vector of another stride element by element, also what it has just written."""
    a[1] = a[:, 3]
    x[::2] = x[: (len(x) + 1) // 2]
    for i in range(n):
        a[i % 3] = a[:, 3]
        x[1:] = x[:-1]
        x[:-1] = x[:0:-1]
        a[:, 2] = a[i % 2, :]
    return a, x


def arguments(layout: str, dtype: Any, size: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(size + n)
    wide, tall, long = ((rng.random(shape) - 0.25).astype(dtype) for shape in ((size, size), (size, 3), (size,)))
    if layout == "C":
        return wide, tall, long, n
    if layout == "F":
        return np.asfortranarray(wide), np.asfortranarray(tall), long, n
    if layout == "part":
        big, high = np.zeros((2 * size, size + 2), dtype), np.zeros((size + 1, 5), dtype)
        big[::2, 1:-1], high[1:, 1:4] = wide, tall
        return big[::2, 1:-1], high[1:, 1:4], np.repeat(long, 2)[::2], n
    return wide[::-1], tall[:, ::-1], long[::-1], n


run = functools.partial(vectors.run, make=arguments)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*MATRICES, *UNLIKE])
def test_matrix_loops(name: str, backend: str) -> None:
    function = (MATRICES | UNLIKE)[name]
    calls = [("C", "f8", 5, n) for n in (3, 0, 1, 2, 4, 9)]
    calls += [(layout, "f8", size, 5) for layout in ("C", "F", "part", "reversed") for size in (4, 7, 40, 0)]
    run(function, backend, *calls)
    report = run(function, backend, ("C", "f8", 5, 6))
    if backend != "reference" and name in MATRICES and not _C.get_stress():
        assert machines_of(report.compiled), report.compiled.explain()
        assert not report.stats["declines"] and report.stats["native_calls"], report.compiled.explain()


@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "?", "c16", "f2", ">f8"])
@pytest.mark.parametrize("name", MATRICES)
def test_dtypes(name: str, dtype: str) -> None:
    run(MATRICES[name], "numba", *(("C", dtype, size, n) for size, n in ((5, 3), (5, 0), (5, 1), (8, 4))))


@pytest.mark.parametrize("layout", ["F", "part", "reversed"])
@pytest.mark.parametrize("name", MATRICES)
def test_other_layouts_run_step_by_step(name: str, layout: str) -> None:
    report = run(MATRICES[name], "numba", (layout, "f8", 6, 4), ("C", "f8", 6, 4), (layout, "f8", 7, 3))
    assert _C.get_stress() or not report.stats["declines"], report.compiled.explain()


@pytest.mark.parametrize("name", ["distances", "moved", "turned"])
def test_long_ones_run_step_by_step(name: str) -> None:
    size = int(abi.MOST_VECTOR**0.5) + 3
    report = run(MATRICES[name], "numba", ("C", "f8", size, 3), ("C", "f8", 9, 3))
    assert _C.get_stress() or not report.stats["declines"], report.compiled.explain()


def test_more_rooms_than_there_are() -> None:
    """Such a loop runs step by step."""
    choices = [f"        x = x * 0.5 if x[{place % 5}] > 0.{place:02} else x + 0.1\n" for place in range(60)]
    names: dict[str, Any] = {}
    exec("def function(a, p, x, n):\n    for _ in range(n):\n" + "".join(choices) + "    return x\n", names)
    run(names["function"], "numba", *(("C", "f8", 5, n) for n in (3, 1)))


def test_two_integers_of_one_size() -> None:
    def function(x: Any, y: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 3 + y
            x[0] + 1
        return x

    def arguments(n: int) -> Any:
        return np.arange(4, dtype="q"), np.arange(4, dtype="l"), n

    for n in (0, 1, 3):
        fast = dynamo_lite.compile(function, options=OPTIONS)
        plain = function(*arguments(n))
        assert [fast(*arguments(n)).dtype.char for _ in range(2)] == [plain.dtype.char] * 2


@pytest.mark.parametrize("values", AWKWARD)
@pytest.mark.parametrize("name", MATRICES)
def test_awkward_values(name: str, values: str) -> None:
    def make() -> tuple[Any, ...]:
        x = np.array(AWKWARD[values])
        return np.outer(np.ones(5), x), np.tile(x[1:4], (5, 1)), x, 3

    def under(a: Any, p: Any, x: Any, n: int) -> Any:
        with np.errstate(all="ignore"):
            return MATRICES[name](a, p, x, n)

    options = {"backend": "numba", "options": OPTIONS}
    with np.errstate(all="ignore"):
        require_equal(under, make, compile=dynamo_lite.compile, compile_options=options, calls=2)
