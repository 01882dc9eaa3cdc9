"""Loops that stay loops: programs at every trip count, by one compiled version, with the bits of plain Python.

A Case says what has to come of its loops. "native": one program serves all calls, none declines, and its graph holds a
loop; a case with `versions` needs as many (a trip count of 0 apart from the others, say). "plain": the loop falls back,
and everything is as without loops. "overlaps": in some calls what is written shares memory with what is read, which
the native backend declines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.node import NodeKind
from tests.oracle import Conditions, MakeArgs, require_equal

COUNTS = (3, 0, 1, 2, 5, 40)


@dataclass(frozen=True, slots=True)
class Case:
    """A function, and what makes its arguments for a trip count and a size."""

    fn: Callable[..., Any]
    args: Callable[[int, int], tuple[Any, ...]]
    versions: int = 1
    counts: tuple[int, ...] = COUNTS
    sizes: tuple[int, ...] = (6, 4, 9)
    loops: int = 1
    plain: bool = False
    overlaps: bool = False


CASES: dict[str, Case] = {}


def case(args: Callable[[int, int], tuple[Any, ...]], **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Register a program."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        assert fn.__name__ not in CASES, fn.__name__
        CASES[fn.__name__] = Case(fn, args, **options)
        return fn

    return register


def rng(size: int) -> np.random.Generator:
    return np.random.default_rng(size)


def vector(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random(size), count


def two(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random(size), rng(size + 1).random(size), count


def matrix(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random((size, size)), count


def two_matrices(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random((size, size + 1)), rng(size + 1).random((size, size + 1)), count


# -- values handed on ------------------------------------------------------------------------------


@case(vector)
def chain(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


@case(vector)
def start_stop_step(x, n):  # type: ignore[no-untyped-def]
    for i in range(2, n, 3):
        x = x * 0.5 + i
    return x


@case(vector)
def backwards(x, n):  # type: ignore[no-untyped-def]
    for i in range(n, 1, -2):
        x = x * 0.5 + i
    return x


@case(lambda count, size: (*vector(count, size), 1 + count % 3))
def step_of_an_argument(x, n, k):  # type: ignore[no-untyped-def]
    for i in range(0, n, k):
        x = x * 0.5 + i
    return x


@case(vector)
def known_length(x, n):  # type: ignore[no-untyped-def]
    for i in range(100):
        x = x * 0.5 + i
    return x, n


@case(vector, loops=0)
def short_ranges_are_unrolled(x, n):  # type: ignore[no-untyped-def]
    for i in range(8):
        x = x * 0.5 + i
    return x, n


@case(two)
def swap(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a, b = b, a
    return a, b


@case(two)
def swap_and_store(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        b[1:-1] = (a[:-2] + a[2:]) * 0.5 + i
        a, b = b, a
    return a, b, a[0]


@case(two)
def rotate(a, b, n):  # type: ignore[no-untyped-def]
    c = a + b
    for _ in range(n):
        a, b, c = b, c, a
        a[0] += 1.0
    return a, b, c


@case(lambda count, size: (*two(count, size), 0.25))
def fibonacci(a, b, n, h):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a, b = b, a * h + b
    return a


@case(vector, overlaps=True)
def carried_view(x, n):  # type: ignore[no-untyped-def]
    v = x[:]
    for _ in range(n):
        v[1:] = v[1:] + v[:-1]
        v = x[::-1]
    return v, x


@case(vector)
def carried_view_of_a_view(x, n):  # type: ignore[no-untyped-def]
    v = x
    for _ in range(n):
        v = v[::-1]
        v[0] = v[0] + 1.0
    return v, v is None


@case(matrix)
def transposed_each_time(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x.T * 2.0
    return x


@case(matrix)
def transposed_view(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x.T
        x[0] += 1.0
    return x


@case(vector)
def in_place(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x *= 0.5
        x += i
    return x


@case(vector)
def in_place_unreturned(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x[i % 3] += 1.0


@case(vector)
def temporaries(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        y = x * 2.0
        z = y - x
        x = z * 0.25
    return x


@case(vector, versions=2, counts=(3, 2, 1, 5, 40, 0))
def temporary_used_after(x, n):  # type: ignore[no-untyped-def]
    y = None
    for _ in range(n):
        y = x * 2.0
        x = y - 1.0
    return x, y


@case(vector, versions=2, counts=(3, 2, 1, 5, 40, 0))
def number_becomes_array(x, n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        total = total + x * i
    return total


@case(vector, versions=2, counts=(3, 2, 1, 5, 40, 0))
def number_becomes_scalar(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(n):
        total += x[i % 3]
    return total


@case(vector)
def numpy_scalar(x, n):  # type: ignore[no-untyped-def]
    total = x.sum()
    for _ in range(n):
        total = total * 0.5 + x[0]
    return total


@case(vector)
def accumulator_of_its_own(x, n):  # type: ignore[no-untyped-def]
    total = np.zeros_like(x)
    for i in range(n):
        total += x * i
    return total


@case(lambda count, size: (rng(size).random(size), (rng(1).random(size), rng(2).random(size)), count))
def tuple_state(x, state, n):  # type: ignore[no-untyped-def]
    a, b = state
    state = (a, (b, 1.5))
    for _ in range(n):
        h, (c, k) = state
        c = c * 0.5 + x
        state = (np.tanh(c) + h, (c, k))
    return state


@case(vector, versions=2, counts=(3, 1, 2, 5, 40, 0))
def tuple_becomes_arrays(x, n):  # type: ignore[no-untyped-def]
    state = (0.0, 0)
    for _ in range(n):
        state = (x + state[0], state[1] + x)
    return state


@case(lambda count, size: (rng(size).integers(0, 9, size), count))
def integers(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = (x * 3 + i) % 17
    return x


@case(lambda count, size: (rng(size).random(size).astype("f4"), count))
def float32(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
    return x


# -- the index, and other numbers ------------------------------------------------------------------


@case(vector)
def index_after(x, n):  # type: ignore[no-untyped-def]
    i = -1
    for i in range(n):
        x = x + i
    return x, i


@case(vector, versions=2, counts=(3, 2, 1, 5, 40, 0))
def index_after_another_start(x, n):  # type: ignore[no-untyped-def]
    i = 7
    for i in range(n):
        x = x + i
    return x, i


@case(vector, versions=2, counts=(13, 12, 11, 5, 40, 0))
def index_after_with_a_step(x, n):  # type: ignore[no-untyped-def]
    i = -2
    for i in range(4, n, 3):
        x = x + i
    return x, i


@case(vector)
def induction(x, n):  # type: ignore[no-untyped-def]
    k = 5
    for _ in range(n):
        x = x + k
        k += 2
    return x, k


@case(vector)
def induction_backwards(x, n):  # type: ignore[no-untyped-def]
    k = n
    for _ in range(n, 0, -3):
        x = x + k
        k = k - 1
    return x, k


@case(vector, versions=2, counts=(3, 2, 1, 5, 40, 0))
def derived_from_the_index(x, n):  # type: ignore[no-untyped-def]
    t, j = 0.0, 0
    for i in range(n):
        t = i * 0.125
        j = 3 * i + 1
        x = x + t * j
    return x, t, j


@case(lambda count, size: (*vector(count, size), 0.1, 3))
def arguments_inside(x, n, h, k):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * h + k - i
    return x


@case(lambda count, size: (rng(size).random((size + 40, 3)), rng(1).random(3)))
def over_a_size(rows, x):  # type: ignore[no-untyped-def]
    for t in range(rows.shape[0]):
        x = x * 0.5 + rows[t]
    return x


@case(lambda count, size: (rng(size).random((count, 3)), rng(1).random(3)), counts=(3, 2, 5, 0, 40))
def over_a_length(rows, x):  # type: ignore[no-untyped-def]
    for t in range(len(rows)):
        x = x * 0.5 + rows[t]
    return x


@case(vector)
def index_into_slices(x, n):  # type: ignore[no-untyped-def]
    y = np.zeros(40)
    for i in range(n):
        y[i] = x[i % 3] * i
        y[i:] += 1.0
    return y


@case(lambda count, size: (rng(size).random(size + 40),))
def cumulative(x):  # type: ignore[no-untyped-def]
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return y


@case(lambda count, size: (rng(size).random(size + 40),))
def prefix_sums(x):  # type: ignore[no-untyped-def]
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[:i].sum() + x[i:].max()
    return y


@case(lambda count, size: (rng(size).random((size, size)) + size * np.eye(size),))
def elimination(a):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


@case(lambda count, size: (rng(size).random((size, size)) + size * np.eye(size), rng(1).random(size)))
def forward_substitution(low, b):  # type: ignore[no-untyped-def]
    x = np.zeros_like(b)
    for i in range(low.shape[0]):
        x[i] = (b[i] - low[i, :i] @ x[:i]) / low[i, i]
    return x


# -- nested, inlined -------------------------------------------------------------------------------


@case(vector, loops=2)
def nested(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(i):
            x = x * 0.5 + j
        x = x + i
    return x


@case(lambda count, size: (rng(size).random((size, size)), count), loops=2)
def nested_over_sizes(a, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        for i in range(a.shape[0]):
            a[i] = a[i] * 0.5 + a[:, i]
    return a


@case(two, loops=2)
def nested_swap(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        for _ in range(n):
            a, b = b, a
            a[0] += 1.0
        b = b * 2.0
    return a, b


@case(two, loops=2)
def one_after_the_other(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        a = a + b * i
    for i in range(n):
        b = b + a * i
    return a, b


def relaxed(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    return x


@case(vector)
def inlined(x, n):  # type: ignore[no-untyped-def]
    return relaxed(x, n) * 2.0


@case(vector, loops=2)
def inlined_in_a_loop(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = relaxed(x, n) - 1.0
    return x


@case(vector)
def calls_inside(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.mean(np.stack([x, x * 2.0]), axis=0) / np.linalg.norm(x)
    return x


@case(vector)
def closures_inside(x, n):  # type: ignore[no-untyped-def]
    def f(y):  # type: ignore[no-untyped-def]
        return y * h

    h = 0.5
    for _ in range(n):
        x = f(x) + (lambda y: y + 1.0)(x)
    return x


@case(vector)
def lists_inside(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        parts = [x * k for k in range(3)]
        parts.append(x + i)
        x = sum(parts) * 0.1
    return x


@case(lambda count, size: (two(count, size)[0], [two(count, size)[1], 0.5], count))
def list_of_outside(x, weights, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * weights[0] + weights[1]
    return x


WEIGHTS = np.linspace(0.0, 1.0, 4)


@case(lambda count, size: vector(count, 4))
def globals_inside(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * WEIGHTS + WEIGHTS[::-1]
    return x


@case(lambda count, size: (lambda x: (x, x, count))(rng(size).random(size)), overlaps=True)
def the_same_array_twice(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a = b * 0.5 + a
        b[0] = a[1]
    return a, b


@case(lambda count, size: (lambda x: (x[1:], x[:-1], count))(rng(size).random(size + 1)), overlaps=True)
def overlapping_arrays(a, b, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        a[...] = b * 0.5 + i
        a, b = b, a
    return a, b


@case(lambda count, size: (rng(size).random((size, size))[:, ::-1].T, count))
def odd_layout(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


@case(lambda count, size: (rng(size).random((1, size)), rng(1).random((size, 1)), count))
def broadcast(a, b, n):  # type: ignore[no-untyped-def]
    c = a + b
    for _ in range(n):
        c = c * a + b
    return c


@case(vector)
def nothing_happens(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        pass
    return x + 1.0


@case(vector)
def only_reads(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x * i
    return x


@case(lambda count, size: (rng(size).random(size) * 1e200, count))
def overflow_warns_in_plain_python_only(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x * 0.5
    return x


@case(vector, versions=2)
def broken_off_after(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
    print(n)
    return x * 2.0


@case(vector, versions=2)
def broken_off_before(x, n):  # type: ignore[no-untyped-def]
    x = x + 1.0
    print(n)
    for i in range(n):
        x = x * 0.5 + i
    return x


@case(vector)
def else_clause(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
    else:
        x = x + 100.0
    return x


@case(vector)
def branch_on_an_argument(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x.shape[0] > 100:
            continue
        x = x * 0.5 + i
    return x


# -- known kernels ---------------------------------------------------------------------------------


@case(two)
def jacobi_1d(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


@case(two_matrices)
def jacobi_2d(a, b, n):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def cube(count: int, size: int) -> tuple[Any, ...]:
    return count, rng(size).random((size,) * 3), rng(1).random((size,) * 3)


@case(cube, counts=(3, 0, 1, 2, 8))
def heat_3d(n, a, b):  # type: ignore[no-untyped-def]
    for _ in range(1, n):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, 0:-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1] * 0.5


@case(
    lambda count, size: (count, *(rng(k).random((size, size + 1)) for k in range(3)), rng(4).random(64)),
    counts=(3, 0, 1, 2, 20),
)
def fdtd_2d(n, ex, ey, hz, fict):  # type: ignore[no-untyped-def]
    for t in range(n):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@case(lambda count, size: (rng(size).integers(1, 100, (size, size)),))
def floyd_warshall(path):  # type: ignore[no-untyped-def]
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return path


def laplacian(z: Any) -> Any:
    return z[:-2, 1:-1] + z[1:-1, :-2] - 4.0 * z[1:-1, 1:-1] + z[1:-1, 2:] + z[2:, 1:-1]


@case(two_matrices)
def gray_scott(u, v, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        lu, lv = laplacian(u), laplacian(v)
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        uvv = a * b * b
        a += 0.1 * lu - uvv + 0.035 * (1.0 - a)
        b += 0.05 * lv + uvv - 0.1 * b
    return u, v


@case(lambda count, size: (rng(size).integers(0, 2, (size, size + 2)), count))
def game_of_life(z, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        around = (
            z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:] + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        )
        birth = (around == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((around == 2) | (around == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return z


@case(lambda count, size: (rng(size).random((size, size)), rng(1).random(size), count))
def power_iteration(a, v, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        v = a @ v
        v /= np.sqrt(v @ v)
    return v, v @ (a @ v)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def cell(x: Any, state: Any, w: Any, u: Any, b: Any) -> Any:
    h, c = state
    z = x @ w + h @ u + b
    size = h.shape[0]
    i, f, o, g = z[:size], z[size : 2 * size], z[2 * size : 3 * size], z[3 * size :]
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def recurrent(count: int, size: int) -> tuple[Any, ...]:
    r = rng(size)
    return (
        r.random((count, 3)), r.random(size), r.random(size), r.random((3, 4 * size)), r.random((size, 4 * size)),
        r.random(4 * size),
    )  # fmt: skip


@case(recurrent, counts=(3, 2, 5, 0, 20))
def lstm(xs, h, c, w, u, b):  # type: ignore[no-untyped-def]
    state = (h, c)
    for t in range(xs.shape[0]):
        state = cell(xs[t], state, w, u, b)
    return state


@case(recurrent, counts=(3, 2, 5, 0, 20))
def lstm_with_outputs(xs, h, c, w, u, b):  # type: ignore[no-untyped-def]
    out = np.empty((xs.shape[0], h.shape[0]))
    for t in range(xs.shape[0]):
        h, c = cell(xs[t], (h, c), w, u, b)
        out[t] = h
    return out


def pendulum(t: float, y: Any) -> Any:
    return np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1] + t])


@case(lambda count, size: (rng(size).random(2), 0.01, count))
def rk4(y, h, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        t = i * h
        k1 = pendulum(t, y)
        k2 = pendulum(t + h / 2, y + h / 2 * k1)
        k3 = pendulum(t + h / 2, y + h / 2 * k2)
        k4 = pendulum(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


# -- what falls back -------------------------------------------------------------------------------


@case(vector, plain=True)
def prints(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
        print(i)
    return x


@case(vector, plain=True)
def data_dependent(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x[0] > 0.5:
            x = x * 0.5
        x = x + i
    return x


@case(vector, plain=True)
def breaks(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + 1.0
        if i == 4:
            break
    return x


@case(vector, plain=True)
def returns(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x * 0.5 + i
        return x
    return x - 1.0


@case(vector, plain=True)
def appends(x, n):  # type: ignore[no-untyped-def]
    seen = []
    for i in range(n):
        x = x * 0.5 + i
        seen.append(x)
    return seen


@case(vector, plain=True)
def fills_a_dict(x, n):  # type: ignore[no-untyped-def]
    seen = {}
    for i in range(n):
        x = x * 0.5 + i
        seen["last"] = x
    return seen


@case(vector)
def changes_a_cell(x, n):  # type: ignore[no-untyped-def]
    def f():  # type: ignore[no-untyped-def]
        return x + 1.0

    for i in range(n):
        x = x * 0.5 + i
    return f()


@case(vector, plain=True)
def takes_from_an_iterator(x, n):  # type: ignore[no-untyped-def]
    others = iter((1.0, 2.0, 3.0))
    for i in range(n):
        for other in others:
            x = x + other
        x = x * 0.5 + i
    return x


@case(vector, plain=True)
def grows(x, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = np.concatenate([x, x[:2]])
    return x


@case(vector, plain=True)
def alternates_types(x, n):  # type: ignore[no-untyped-def]
    y = x.astype("f4")
    for _ in range(n):
        x, y = y, x
    return x, y


@case(vector, plain=True)
def parity(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x = x + 1.0 if i % 2 else x * 0.5
    return x


@case(vector, plain=True)
def tried(x, n):  # type: ignore[no-untyped-def]
    try:
        for i in range(n):
            x = x * 0.5 + i
    except ValueError:
        x = x + 1.0
    return x


@case(vector, plain=True)
def compares_identity(x, n):  # type: ignore[no-untyped-def]
    y = x
    for _ in range(n):
        if y is x:
            x = x + 1.0
    return x


@case(vector, plain=True)
def squeezed(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        if x[: i + 1].squeeze().ndim:
            x = x + 1.0
    return x


# -- numbers that change --------------------------------------------------------------------------


@case(vector, versions=2)
def float_accumulator(x, n):  # type: ignore[no-untyped-def]
    t = 0.0
    for _ in range(n):
        t += 0.1
        x = x + t
    return x, t


@case(vector, versions=2)
def geometric(x, n):  # type: ignore[no-untyped-def]
    k = 1
    for _ in range(n):
        k = k * 2
        x = x + k
    return x, k


@case(lambda count, size: (rng(size).random(size), count, 0.5))
def decays(x, n, rate):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x - rate * x
        rate *= 0.9
    return x


@case(lambda count, size: (rng(size).random(max(count, 2)), count, 10.0, 28.0, 8.0 / 3.0))
def lorenz(xs, n, sigma, rho, beta):  # type: ignore[no-untyped-def]
    x, y, z = 0.1, 0.2, 0.3
    for i in range(n):
        dx, dy, dz = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
        xs[i] = x
    return xs


@case(lambda count, size: (rng(size).random(size), count, 7), versions=2)
def congruential(x, n, seed):  # type: ignore[no-untyped-def]
    for _ in range(n):
        seed = (seed * 1103515 + 12345) % 65536
        x = x + seed
    return x, seed


@case(vector)
def two_numbers_swap(x, n):  # type: ignore[no-untyped-def]
    a, b = 0.25, 4.0
    for _ in range(n):
        x = x * a
        a, b = b, a
    return x


@case(vector, plain=True)
def an_object_goes_through(x, n):  # type: ignore[no-untyped-def]
    a, b = 0.25, 4.0
    for _ in range(n):
        x = x * a
        a, b = b, a * 0.5
    return x, a, b


@case(vector, versions=2)
def one_number_twice(x, n):  # type: ignore[no-untyped-def]
    a, b = 0.25, 4.0
    for _ in range(n):
        x = x * a
        a = a * 0.5
        b = a
        c = b + 1.0
    return x, a, b, c if n else 0.0


@case(lambda count, size: (rng(size).random(size), count, 0.5, 3), versions=2)
def numbers_alone(x, n, a, k):  # type: ignore[no-untyped-def]
    for _ in range(n):
        a = a * 0.5 + k * 0.125
        k = k * 3 % 11
    return a, k, a


@case(lambda count, size: (rng(size).random(size), count, 2.0), versions=2)
def divided_by_a_number(x, n, a):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x = x + 1.0 / a
        a = a + 0.25
    return x, a * 2


@case(lambda count, size: (rng(size).random((size, size)), count, 0.5), loops=2)
def number_of_an_outer_loop(m, n, t):  # type: ignore[no-untyped-def]
    for _ in range(n):
        for j in range(m.shape[0]):
            m[j] += t
        t = t * 0.75
    return m


@case(lambda count, size: (rng(size).random((size, size)), count, 0.5), loops=2)
def number_of_an_inner_loop(m, n, t):  # type: ignore[no-untyped-def]
    for _ in range(n):
        u = t
        for j in range(m.shape[0]):
            m[j] += u
            u = u * 0.75
    return m


@case(lambda count, size: (rng(size).random(size), count, 0.9))
def powers(x, n, beta):  # type: ignore[no-untyped-def]
    m = np.zeros_like(x)
    for t in range(1, n + 1):
        m = beta * m + (1 - beta) * x
        x = x - 0.1 * m / (1 - beta**t) + t**2 * 2.0**-t
    return x


def derivatives(x: Any, y: Any, z: Any) -> Any:
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


@case(lambda count, size: (np.zeros((count + 2, 3)), count, 0.01))
def runge_kutta(out, n, h):  # type: ignore[no-untyped-def]
    x, y, z = 0.1, 0.2, 0.3
    for i in range(n):
        a1, b1, c1 = derivatives(x, y, z)
        a2, b2, c2 = derivatives(x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1)
        a3, b3, c3 = derivatives(x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2)
        a4, b4, c4 = derivatives(x + h * a3, y + h * b3, z + h * c3)
        x = x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        y = y + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        z = z + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
    return out


@case(lambda count, size: (rng(size).random(size), count, 0.5), plain=True)
def a_number_too_long_to_write_out(x, n, t):  # type: ignore[no-untyped-def]
    for _ in range(n):
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        t = t * t + t * 0.25
        x = x + t
    return x


# -- items of arrays -------------------------------------------------------------------------------


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random(size)), versions=2)
def rows(m, x):  # type: ignore[no-untyped-def]
    for row in m:
        x = x * 0.5 + row
    return x


@case(lambda count, size: (rng(size).random(count), rng(size).random(size)), versions=2)
def elements(m, x):  # type: ignore[no-untyped-def]
    for one in m:
        x = x * 0.5 + one
    return x


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random(size)), versions=2)
def last_row_lives_on(m, x):  # type: ignore[no-untyped-def]
    row = x
    for row in m:
        x = x * 0.5 + row
    return x, row


@case(lambda count, size: (rng(size).random((count, size)), 3), versions=2)
def rows_changed(m, start):  # type: ignore[no-untyped-def]
    for k, row in enumerate(m, start):
        row *= 0.5
        row += k
    return m


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random((count, 2))), versions=2)
def zipped(m, other):  # type: ignore[no-untyped-def]
    total = np.zeros(m.shape[1])
    for row, (a, b) in zip(m, other):  # noqa: B905
        total = total * a + row * b
    return total


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random(count)), versions=2)
def numbered_pairs(m, w):  # type: ignore[no-untyped-def]
    for k, (row, one) in enumerate(zip(m, w)):  # noqa: B905
        m[k] = row * one + k
    return m


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random((count + 1, size))), plain=True)
def zipped_of_different_lengths(m, other):  # type: ignore[no-untyped-def]
    total = np.zeros(m.shape[1])
    for row, one in zip(other, m):  # noqa: B905
        total = total * 0.5 + row * one
    return total


@case(lambda count, size: (rng(size).random((count, size)), count), plain=True)
def rows_until(m, n):  # type: ignore[no-untyped-def]
    total = np.zeros(m.shape[1])
    for k, row in enumerate(m):
        if k == n - 1:
            break
        total = total * 0.5 + row
    return total


@case(vector, loops=0)
def a_few_known_elements(x, n):  # type: ignore[no-untyped-def]
    for one in np.zeros(3):
        x = x * 0.5 + one
    return x, n


@case(lambda count, size: (rng(size).random((count, size)),), versions=2, loops=1)
def an_iterator_that_is_kept(m):  # type: ignore[no-untyped-def]
    it = iter(m)
    total = np.zeros(m.shape[1])
    for row in it:
        total = total * 0.5 + row
    for row in it:
        total = total * row
    return total, list(it)


@case(lambda count, size: (rng(size).random((2 * count, size)),), plain=True)
def items_in_turn(m):  # type: ignore[no-untyped-def]
    it = iter(m)
    total = np.zeros(m.shape[1])
    for a, b in zip(it, it):  # noqa: B905
        total = total * 0.5 + a * b
    return total


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random((count, size))), versions=2)
def the_rest_of_an_iterator(m, other):  # type: ignore[no-untyped-def]
    it, total = enumerate(m), np.zeros(m.shape[1])
    for k, row in it:
        total = total * 0.5 + row * k
    for (k, row), one in zip(it, other):  # noqa: B905
        total = total * row + k + one
    for row, (k, one) in zip(other, it):  # noqa: B905
        total = total * row + k + one
    return total


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random(size)), plain=True)
def comprehended(m, x):  # type: ignore[no-untyped-def]
    rows = [row * 0.5 for row in m]
    x = x + sum(float(row[0]) for row in m)
    return rows, x, sum(one for one in x)


OPTIONS = {"native_loops": True, "check": 1, "cost_model": False}
BACKENDS = ("reference", "numba")


def variants(one: Case) -> list[MakeArgs]:
    calls = [(count, one.sizes[0]) for count in one.counts] + [(one.counts[-2], size) for size in one.sizes[1:]]
    return [lambda call=call: one.args(*call) for call in calls]  # type: ignore[misc]


def loops_in(graph: Any) -> int:
    return sum(1 + loops_in(node.regions[0]) for node in graph.nodes if node.kind is NodeKind.LOOP)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    one = CASES[name]
    first, *rest = variants(one)
    compile_options = {"backend": backend, "options": OPTIONS}
    report = require_equal(
        one.fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=compile_options, calls=1
    )
    found = [loops_in(segment.capture.graph) for segment in report.compiled._compilation.segments]
    if one.plain:
        assert not any(found)
        return
    assert max(found) == one.loops, report.compiled.explain()
    stats = report.stats
    assert stats["compiles"] == one.versions, report.compiled.explain()
    if one.overlaps and backend != "reference":
        assert stats["declines"], report.compiled.explain()
        return
    assert stats["native_calls"] and not stats["declines"], report.compiled.explain()
    assert stats["plain_calls"] <= 2 * (one.versions - 1), report.compiled.explain()


# -- errors, warnings, odd arguments ---------------------------------------------------------------


class Model:
    """Holds arrays that a method changes."""

    def __init__(self, size: int) -> None:
        self.a = rng(size).random(size)
        self.b = np.zeros(size)

    def step(self, h: float) -> None:
        self.b[...] = self.a * h
        self.a += self.b


def advance(model: Any, n: int) -> Any:
    for _ in range(n):
        model.step(0.125)
    return model.a, model.b


def outside_is_read(x: Any, n: int) -> Any:
    for i in range(n):
        x[i] += 1.0
        x *= 0.5
    return x


def divides(x: Any, n: int) -> Any:
    for i in range(n):
        x = x / (x - i)
    return x


def writes_to_broadcast(x: Any, n: int) -> Any:
    y = x.copy()
    for _ in range(n):
        y[0] = 1.0
        y = np.broadcast_to(x, x.shape)
    return y


def first_iteration_raises(x: Any, n: int) -> Any:
    y, total = np.zeros(3), 0
    for i in range(n):
        total = total + y[5 - i] * x
    return total


def outgrows_64_bits(x: Any, n: int) -> Any:
    k = 2**61
    for _ in range(n):
        x = x * 0.5
        k += 2**61
    return x, k


def outgrows_a_byte(x: Any, n: int) -> Any:
    x = (x * 0.0).astype(np.uint8)
    for i in range(200, 200 + n * 8):
        x = x + i
    return x


def around_a_native_loop(x: Any, n: int) -> Any:
    for i in range(n):
        print(i)
        for j in range(n + 9):
            x = x * 0.5 + j
    return x


def returns_early(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    if x[0] > 2.0:
        return x
    return -x


ODD: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "method": (advance, lambda n: (Model(5), n)),
    "index error": (outside_is_read, lambda n: (np.ones(6), n)),
    "division warns": (divides, lambda n: (np.arange(5.0), n)),
    "read-only broadcast": (writes_to_broadcast, lambda n: (np.arange(5.0), n)),
    "read-only argument": (outside_is_read, lambda n: (np.broadcast_to(np.ones(3), (60, 3)), n)),
    "peeled iteration raises": (first_iteration_raises, lambda n: (np.ones(2), n)),
    "64 bits": (outgrows_64_bits, lambda n: (np.ones(2), n)),
    "a byte": (outgrows_a_byte, lambda n: (np.ones(2), n)),
    "printing around": (around_a_native_loop, lambda n: (np.ones(2), n)),
    "branch behind": (returns_early, lambda n: (np.ones(2), n)),
    "empty": (relaxed, lambda n: (np.ones((0, 3)), n)),
    "one element": (relaxed, lambda n: (np.ones(1), n)),
    "0-d": (relaxed, lambda n: (np.array(2.0), n)),
    "numpy scalar": (relaxed, lambda n: (np.float32(2.0), n)),
    "complex": (relaxed, lambda n: (np.arange(3) * 1j, n)),
    "bool": (relaxed, lambda n: (np.ones(3, bool), n)),
    "strided": (relaxed, lambda n: (np.arange(12.0).reshape(3, 4)[::2, ::-1], n)),
    "python number": (relaxed, lambda n: (2.0, n)),
    "numpy count": (relaxed, lambda n: (np.ones(2), np.int64(n))),
    "list": (relaxed, lambda n: ([1.0], n)),
}


@pytest.mark.parametrize("mode", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ODD)
def test_odd(name: str, backend: str, mode: str) -> None:
    fn, args = ODD[name]
    require_equal(
        fn,
        lambda: args(4),
        variants=[lambda n=n: args(n) for n in (0, 1, 2, 9, 30)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        conditions=Conditions(errstate={"all": mode}),
    )


def test_explain_says_what_became_of_each_loop() -> None:
    def mixed(x: Any, n: int) -> Any:
        for i in range(n):
            x = x * 0.5 + i
        for _ in range(20):
            x = x + 1.0 if x is None else x * 0.5
        for _ in range(n + 100):
            x = x + 1.0
            print(end="")
        return x

    fast = dynamo_lite.compile(mixed, backend="reference", options=OPTIONS)
    fast(np.ones(3), 4)
    text = str(fast.explain())
    assert ": native" in text and "one segment an iteration: print writes output" in text
    assert [record.outcome for record in fast.explain().loops] == ["native", "native", "segments"]
    assert "<h4>Loops</h4>" in fast.explain().to_html()


def test_a_condition_on_the_index_is_guarded_where_it_is_hardest_to_meet() -> None:
    def windows(x: Any, n: int) -> Any:
        total = np.zeros(3)
        for i in range(n):
            total = total + x[i : i + 3]
        return total

    fast = dynamo_lite.compile(windows, backend="reference", options=OPTIONS)
    for n in (3, 0, 1, 6, 2):
        assert fast(np.arange(8.0), n).tobytes() == windows(np.arange(8.0), n).tobytes()
    assert fast.stats()["compiles"] == 1
    with pytest.raises(ValueError, match="broadcast"):
        fast(np.arange(8.0), 7)
