"""Loops that compute with complex elements are machine code: bits, types, warnings and errors as in plain Python, of
zeros, infinities, NaNs and numbers beyond the range as well."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.program import build_complex
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, registry, rng
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def waves(count: int, size: int) -> tuple[Any, ...]:
    parts = rng(count).normal(size=(4, count + 2))
    return parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]


def narrow(count: int, size: int) -> tuple[Any, ...]:
    x, y = waves(count, size)
    return x.astype(np.complex64), y.astype(np.complex64)


@case(waves)
def recurrence(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(x)):
        x[i] -= y[i] * x[i - 1]
    return x


@case(narrow)
def recurrence_of_narrow(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(x)):
        x[i] = y[i] * x[i - 1] - x[i] / y[i]
    return x


@case(waves)
def elimination(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, len(x)):
        factor = y[i - 1] / (x[i - 1] + 2.5)
        x[i] = x[i] - factor * y[i - 1]
        y[i] = -(y[i] - factor * x[i]) * 2 + (1 - 0.5j)
    return x, y


@case(waves)
def product_with_conjugates(x, y):  # type: ignore[no-untyped-def]
    total = 0j
    for i in range(len(x)):
        total = total + x[i] * np.conj(y[i])
    return total


@case(waves)
def parts_and_sizes(x, y):  # type: ignore[no-untyped-def]
    z, power, sizes = x[0], 0.0, np.zeros(len(x))
    for i in range(len(x)):
        z = z * y[i] + x[i]
        if abs(z) > 2:
            z = z / abs(z)
        power += z.real**2 + np.imag(z) ** 2
        sizes[i] = abs(z)
    return z, power, sizes


@case(waves)
def equal_elements(x, y):  # type: ignore[no-untyped-def]
    y[::2] = x[::2]
    same = other = 0
    for i in range(len(x)):
        if x[i] == y[i]:
            same += 1
        if x[i] != -y[i]:
            other += 1
    return same, other


@case(waves)
def escapes(x, y):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(x), int)
    for i in range(len(x)):
        z = x[i] * 0
        for _ in range(12):
            z = z**2 + y[i]
            if abs(z) > 2:
                break
            counts[i] += 1
    return counts


@case(waves)
def basins(x, y):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(x), int)
    for i in range(len(x)):
        z = x[i]
        while counts[i] < 12 and np.abs(z - 1) > 1e-3:
            z = z - (z**3 - 1) / (3 * z**2 + 0.01)
            counts[i] += 1
    return counts


@case(narrow)
def narrow_powers(x, y):  # type: ignore[no-untyped-def]
    sizes = np.zeros(len(x), np.float32)
    for i in range(len(x)):
        y[i] = x[i] ** 4 - y[i] ** 7 + x[i] ** 16
        sizes[i] = np.absolute(y[i])
    return y, sizes


@case(waves)
def exponentials(x, y):  # type: ignore[no-untyped-def]
    z = x[0]
    for i in range(1, len(x)):
        z = np.exp(z) * 0.25 + y[i]
    return z


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_loops_over_complex_elements_are_those_of_plain_python(name: str, backend: str) -> None:
    one = CASES[name]
    report = compared(one, backend, calls=2)
    assert report.stats["native_calls"], report.compiled.explain()
    if backend == "numba":
        assert machines_of(report.compiled), report.compiled.explain()


AWKWARD = (0.0, -0.0, 1.0, -1.5, 1e-310, 7.3e180, -1e308, np.inf, -np.inf, np.nan)


def awkward(shift: int) -> tuple[Any, ...]:
    x = np.array([complex(re, im) for re in AWKWARD for im in AWKWARD])
    return x, np.roll(x, shift), np.zeros_like(x)


def add(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] + y[i]
    return out


def multiply(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] * y[i] - out[i - 1] * 0
    return out


def divide(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] / y[i]
    return out


def squares(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] ** 2 + y[i] * 0
    return out


def powers(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] ** 3 + y[i] ** 5 * 0 + x[i] ** 4
    return out


def absolutes(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = np.abs(x[i]) + y[i].imag
    return out


def sizes(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = abs(x[i]) + y[i].imag
    return out


@pytest.mark.parametrize("fn", [add, multiply, divide, squares, powers, absolutes, sizes])
def test_awkward_numbers_are_those_of_plain_python(fn: Any) -> None:
    """One number of each call is awkward, lest all calls decline."""
    cases = []
    for place in range(len(AWKWARD) ** 2):

        def make(place: int = place) -> tuple[Any, ...]:
            x, y, out = awkward(0)
            return x[place : place + 1].repeat(2), np.roll(y, place * 7)[:2].copy(), out[:2]

        cases.append(make)
    compiled = {"backend": "numba", "options": OPTIONS}
    first, *rest = cases
    with np.errstate(all="ignore"):
        quiet = require_equal(
            fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=compiled, calls=1
        )
    assert quiet.stats["native_calls"]
    require_equal(fn, first, variants=rest, compile=dynamo_lite.compile, compile_options=compiled, calls=1)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_all_powers_that_have_a_form_are_known(dtype: Any) -> None:
    exponents = range(2, build_complex.MOST_POWER + 1)
    assert all(build_complex.is_known(build_complex.Power(one), np.dtype(dtype)) for one in exponents)


def test_an_operator_that_numpy_computes_otherwise_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = np.dtype(np.complex128)
    assert build_complex.is_known(operator.mul, wide)
    other = dict(build_complex.FORMS)
    other[operator.mul] = build_complex.FORMS[operator.add]
    monkeypatch.setattr(build_complex, "FORMS", other)
    build_complex.is_known.cache_clear()
    try:
        assert not build_complex.is_known(operator.mul, wide)
        assert build_complex.is_known(operator.add, wide)
    finally:
        build_complex.is_known.cache_clear()
