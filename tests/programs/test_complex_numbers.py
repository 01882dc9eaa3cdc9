"""Python's complex numbers in loops are two floats each: bits, types, identity, exceptions and streams as in plain
Python, of zeros, infinities, NaNs and numbers beyond the range as well."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.numbers import complex_operators
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, registry, rng

CASES, case = registry()
COUNTS = (3, 5, 12)


def sizes(count: int, size: int) -> tuple[Any, ...]:
    return count, size


def escapes(c, most):  # type: ignore[no-untyped-def]
    z = 0
    for n in range(most):
        if abs(z) > 2:
            return n
        z = z * z + c
    return most


def escapes_by_square(c, most):  # type: ignore[no-untyped-def]
    z = 0j
    n = 0
    while abs(z) <= 2 and n < most:
        z = z**2 + c
        n += 1
    return n


@case(sizes, counts=COUNTS, sizes=(6,), loops=3)
def mandelbrot(count, size):  # type: ignore[no-untyped-def]
    out = np.zeros((count, size), dtype=int)
    for i in range(count):
        for j in range(size):
            out[i, j] = escapes(complex(-2 + 3 * j / size, -1 + 2 * i / 7), 30)
    return out


@case(sizes, counts=COUNTS, sizes=(6,), loops=3)
def mandelbrot_of_axes(count, size):  # type: ignore[no-untyped-def]
    out = np.zeros((count, size))
    xs, ys = np.linspace(-2, 1, size), np.linspace(-1, 1, count)
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            out[i, j] = escapes_by_square(complex(x, y), 25)
    return out


@case(sizes, counts=COUNTS, sizes=(6,), loops=2)
def mandelbrot_of_scalars(count, size):  # type: ignore[no-untyped-def]
    out = np.zeros((count, size))
    xs, ys = np.linspace(-2, 1, size), np.linspace(-1, 1, count)
    for i in range(count):
        for j in range(size):
            c = xs[j] + 1j * ys[i]
            z = 0
            for k in range(12):
                z = z * z + c
                if abs(z) > 2:
                    out[i, j] = k
                    break
    return out


@case(sizes, counts=COUNTS, sizes=(6,), loops=2)
def julia(count, size):  # type: ignore[no-untyped-def]
    out = np.zeros((count, size), dtype=np.uint8)
    c = -0.4 + 0.6j
    for i in range(count):
        for j in range(size):
            z = complex(1.5 * (j - size / 2) / (0.5 * size), (i - 3) / 5)
            k = 40
            while abs(z) < 10 and k > 1:
                z = z * z + c
                k -= 1
            out[i, j] = k
    return out


@case(sizes, counts=COUNTS, sizes=(6,), loops=3)
def newton(count, size):  # type: ignore[no-untyped-def]
    out = np.zeros((count, size), dtype=int)
    roots = [1 + 0j, -0.5 + 0.8660254037844386j, -0.5 - 0.8660254037844386j]
    for i in range(count):
        for j in range(size):
            z = complex(-2 + 4 * j / size, -2.001 + 4 * i / 7)
            for _ in range(20):
                step = (z**3 - 1) / (3 * z**2)
                z = z - step
                if abs(step) < 1e-6:
                    break
            for r in range(3):
                if abs(z - roots[r]) < 1e-3:
                    out[i, j] = r
    return out


@case(lambda count, size: (rng(count).normal(size=count + 2),), counts=COUNTS, sizes=(6,), loops=2)
def transform(x):  # type: ignore[no-untyped-def]
    out = np.zeros(len(x), dtype=complex)
    for k in range(len(x)):
        total = 0
        for n in range(len(x)):
            total += x[n] * cmath.exp(-2j * cmath.pi * k * n / len(x))
        out[k] = total
    return out


@case(lambda count, size: (rng(count).normal(size=count + 2),), counts=COUNTS, sizes=(6,), loops=2)
def transform_by_numpy(x):  # type: ignore[no-untyped-def]
    out = np.zeros(len(x), dtype=complex)
    for k in range(len(x)):
        for n in range(len(x)):
            out[k] += x[n] * np.exp(-2j * np.pi * k * n / len(x))
    return out


@case(sizes, counts=COUNTS, sizes=(6,), loops=1)
def turning(count, size):  # type: ignore[no-untyped-def]
    psi, total = 1.0 + 0j, 0.0
    for k in range(count):
        psi = psi * (1 - 0.01j)
        psi = psi / abs(psi)
        total += psi.real * psi.imag + psi.conjugate().imag + cmath.phase(psi)
        psi += cmath.rect(0.1, total) / 3 - (2 - psi) * 0.5 + k
    return psi, total, -psi, +psi, psi == 1j, psi != psi


@case(sizes, counts=COUNTS, sizes=(6,), loops=1)
def one_of_two(count, size):  # type: ignore[no-untyped-def]
    best, z = 0j, 0.5 + 0.25j
    for k in range(count):
        z = z * (0.9 - 0.3j) + k
        if abs(z) > abs(best):
            best = z
    return best, z, best is z


Z, LAST = 0j, 0


@case(sizes, counts=COUNTS, sizes=(6,), loops=2)
def julia_of_globals(count, size):  # type: ignore[no-untyped-def]
    global Z, LAST
    out = np.zeros((count, size), dtype=np.uint8)
    for i in range(count):
        for j in range(size):
            Z = complex(1.5 * (j - size / 2) / (0.5 * size), (i - 3) / 5)
            LAST = 40
            while abs(Z) < 10 and LAST > 1:
                Z = Z * Z - (0.4 - 0.6j)
                LAST -= 1
            out[i, j] = LAST
    return out, Z, LAST


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_they_stay_in_native_loops(name: str, backend: str) -> None:
    check(CASES[name], backend)


# -- what raises, what is handed out, what comes from outside ---------------------------------------


def divides(c, n):  # type: ignore[no-untyped-def]
    z, total = 1 + 1j, 0.0
    for k in range(n):
        z = z / (c - k)
        total += z.imag
    return z, total


def divides_in_vain(c, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        1j / (c - k)
        total += 1.0
    return total


def squares(c, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        c = c**2
    return c


def squares_in_vain(c, n):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(n):
        c = c * c
        c**2
        total += 1
    return total


def sizes_in_vain(c, n):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(n):
        c = c * 1e100
        abs(c)
        total += 1
    return total


def exponentials(c, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        c = cmath.exp(c) * 300
    return c


def inverse_powers(c, n):  # type: ignore[no-untyped-def]
    total = 0j
    for k in range(n):
        total += (c - k) ** -2 + (c + 1) ** 0 + c**3.0
    return total


def zeros_and_signs(c, n):  # type: ignore[no-untyped-def]
    z, found = complex(-0.0, 0.0), 0
    for k in range(n):
        z = -z * c + 0 - 0.0 * k
        found += (z == 0) + (z != c) + (z == complex(-0.0, -0.0))
    return z, z.real, z.imag, found


def as_it_was(c, n):  # type: ignore[no-untyped-def]
    z = c
    while abs(z) < 4 and n > 0:
        z, n = z + c, n - 1
    return z, z is c


def two_names(c, n):  # type: ignore[no-untyped-def]
    z = w = c
    for k in range(n):
        w = z
        if k % 2:
            z = z * 1j
    return z, w, z is w, w is c


def exchanged(c, n):  # type: ignore[no-untyped-def]
    z, w, last = c, 1j, None
    for _ in range(n):
        z, w = w + c, z
        last = z
    return z, w, last, last is z


def begun_inside(c, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        z = 0j
        for j in range(k):
            z += c * j
    return z, k


def kept_in_a_list(c, n):  # type: ignore[no-untyped-def]
    z, found = 0j, []
    for _ in range(n):
        z = z * 0.5 + c
        found.append(z)
    return found, z is found[-1]


def left_early(c, n):  # type: ignore[no-untyped-def]
    z = 1j
    for k in range(n):
        z = z * c
        if z.real < -1:
            return "out", z, k
    return z


def of_an_array(c, n):  # type: ignore[no-untyped-def]
    out = np.zeros((n, 3), dtype=complex)
    z = c
    for k in range(n):
        z = z * 0.5 - 1j
        out[k] = out[k - 1] * z + z
        out[k, 1] = z
    return out, np.array([z, 1, c]), z * np.arange(3.0), np.exp(z)


def of_narrow_arrays(c, n):  # type: ignore[no-untyped-def]
    out, z = np.ones(3, np.complex64), c
    for _ in range(n):
        z = z * 0.5 - 1j
        out = out * z + np.float32(2) * z
    return out


def ended_by_nothing(c, n):  # type: ignore[no-untyped-def]
    best = None
    for k in range(n):
        z = c * k - 2
        if best is None or abs(z) < abs(best):
            best = z
    return best


def raised_half_way(c, n):  # type: ignore[no-untyped-def]
    z, seen = c, np.zeros(8)
    try:
        for k in range(n):
            seen[k] += 1
            z = z / (k - 3) * [1, 2, 3, 4, 5, 6][k]
    except (ZeroDivisionError, IndexError) as error:
        return z, seen, str(error)
    return z, seen


def parts_of_a_constant(c, n):  # type: ignore[no-untyped-def]
    s = t = 0.0
    for _ in range(n):
        t = s
        s = (2j + 0).real
    return s, t, s is t, c


def beside_large_ints(c, n):  # type: ignore[no-untyped-def]
    z, found = c + 1e16, 0
    for k in range(n):
        z = z + k * 2
        found += (z == 10**400) + (z != 2**53 + 1) + (z == 10**16 + 1) + (z == 2 * 10**16 // 2 + k)
        if k > 7:
            z = z - 10**400
    return z, found, complex(2.0**53 + k * 0.0, 0) == 2**53 + 1 if n else None


def parts_by_numpy(c, n):  # type: ignore[no-untyped-def]
    z, found = c * 1.0, []
    for _ in range(n):
        z = z * 0.5 + 1j
        found += [np.real(z), np.imag(z), np.isreal(z), np.iscomplex(z)]
    return found, np.real(z), np.imag(z), np.isreal(z), np.real(c)


def compared_with_narrow_numbers(c, n):  # type: ignore[no-untyped-def]
    z = w = c * 1.0
    for _ in range(n):
        z, w = z * 1.0, 0.1 + w * 0
    narrow = np.full(2, 0.1, np.float32), np.full(2, 0.1 + 0.5j, np.complex64)
    return [(one == w, w != one[0], z == one, one[1] == z, z == np.float32(0.1)) for one in narrow]


def by_elements(c, n):  # type: ignore[no-untyped-def]
    x, z, found = np.array([2.0, 0.5, -1.0, 3.0, 0.0]), c, None
    for k in range(n):
        z = z * (0.9 + 0.1j) + 1
        found = z ** x[k % 5], z * x[k % 5], x[k % 5] - z, x[k % 5] ** z
    return z, found


def of_no_numbers(c, n):  # type: ignore[no-untyped-def]
    z = c * 1.0
    for k in range(n):
        z = z * 1j
        if k == 4:
            z = z // 2
    return z


HOSTILE = [
    *(divides, divides_in_vain, squares, squares_in_vain, sizes_in_vain, exponentials, inverse_powers),
    *(zeros_and_signs, as_it_was, two_names, exchanged, begun_inside, kept_in_a_list, left_early, of_an_array),
    *(of_narrow_arrays, ended_by_nothing, raised_half_way, parts_of_a_constant),
    *(beside_large_ints, parts_by_numpy, compared_with_narrow_numbers, by_elements, of_no_numbers),
]
GIVEN = [
    *(0.3 + 0.5j, 2 + 0j, -1.5 - 0.25j, 0j, complex(-0.0, -0.0), 1e150 + 1e10j, complex(math.inf, 1), 3, 0.5),
    *(complex(1, math.nan), np.complex128(0.5 - 1j), np.float64(2.0), 1e-200 + 1e-250j),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", HOSTILE, ids=lambda fn: fn.__name__)
def test_all_is_as_plainly(fn: Callable[..., Any], backend: str) -> None:
    calls = [lambda c=c, n=n: (c, n) for n in (5, 3, 1, 0, 9) for c in GIVEN]
    first, *rest = calls
    require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 40}},
        calls=1,
    )


def test_the_forms_are_this_interpreters() -> None:
    assert complex_operators.is_known()
    assert complex_operators.knows_powers()
    assert complex_operators.knows_exponentials()


def test_a_complex_argument_that_changes_is_an_input() -> None:
    fast = dynamo_lite.compile(escapes, options=OPTIONS)
    for k in range(12):
        c = complex(-1 + k / 6, 0.5)
        assert fast(c, 50) == escapes(c, 50)
    stats = fast.stats()
    assert stats["compiles"] <= 3 and stats["native_calls"] >= 10, fast.explain()
