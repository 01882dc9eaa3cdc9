"""Loops that stay loops: values handed on, the index and what is computed from it.

Programs at every trip count, by one compiled version, with the bits of plain Python (loop_cases.py).
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.programs.loop_cases import BACKENDS, check, matrix, registry, rng, two, vector

CASES, case = registry()


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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)
