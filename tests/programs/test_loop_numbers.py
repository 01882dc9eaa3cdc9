"""Python numbers that a loop hands on, and loops over the items of arrays (see loop_cases.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, registry, rng, vector

CASES, case = registry()


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


@case(vector, versions=2)
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


@case(lambda count, size: (rng(size).random(size), count, 0.5))
def a_number_whose_parts_occur_twice_each(x, n, t):  # type: ignore[no-untyped-def]
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


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random((count + 1, size))), versions=3)
def zipped_of_different_lengths(m, other):  # type: ignore[no-untyped-def]
    total = np.zeros(m.shape[1])
    for row, one in zip(other, m):  # noqa: B905
        total = total * 0.5 + row * one
    return total


@case(lambda count, size: (rng(size).random((count, size)), count), versions=2)
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


@case(lambda count, size: (rng(size).random((count, size)), rng(size).random(size)), versions=3)
def summed_up(m, x):  # type: ignore[no-untyped-def]
    return x + sum(float(row[0]) for row in m)


def left_early(m, x):  # type: ignore[no-untyped-def]
    it = iter(m)
    for row in it:
        x = x + row
        if x.sum() > 5.0:
            break
    return x, list(it)


def left_early_by_enumerate(m, x):  # type: ignore[no-untyped-def]
    it = iter(m)
    for k, row in enumerate(it):
        x = x + row * k
        if x.sum() > 5.0:
            break
    else:
        x = x * 2
    return x, list(it)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [left_early, left_early_by_enumerate])
def test_an_iterator_that_somebody_holds_stands_where_the_loop_was_left(fn, backend: str) -> None:  # type: ignore[no-untyped-def]
    require_equal(
        fn,
        lambda: [np.ones((9, 2)), np.zeros(2)],
        variants=[lambda: [np.ones((2, 2)), np.zeros(2)], lambda: [np.ones((9, 2)) * 3, np.zeros(2)]],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)


# -- numbers that a choice takes over -------------------------------------------------------------


def takes_over(x: Any, f: float, g: float, n: int) -> Any:
    g = f * 0.25 + g / 2
    for _ in range(n):
        f = f * 0.5 if f > 0.5 else g
        x = x * 0.5
    return x, f, g


def takes_over_inside(x: Any, f: float, g: float, n: int) -> Any:
    for _ in range(n):
        g = f * 0.25 + g / 2
        for _i in range(n):
            f = f * 0.5 if f > 0.5 else g
            x = x * 0.5
    return x, f, g


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [takes_over, takes_over_inside])
def test_the_very_object(fn: Any, backend: str) -> None:
    """What a choice takes over, being computed before it, is one object under both names."""
    options = {"backend": backend, "options": OPTIONS}
    variants = [lambda f=f, n=n: (rng(6).random(6), f, 0.75, n) for f in (0.25, 4.0) for n in (0, 1, 3, 9)]
    require_equal(
        fn, lambda: (rng(6).random(6), 0.75, 2.0, 3), variants=variants, compile=dynamo_lite.compile,
        compile_options=options, calls=2,
    )  # fmt: skip
