"""round() of floats that only the run knows: to ints, and to decimal digits, as Python does both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal


def to_ints(x: Any) -> Any:
    total, out = 0, []
    for value in x:
        total += round(float(value)) % 7
        out.append(round(value * 0.5))
    return total, out


def to_digits(x: Any, digits: int) -> Any:
    out, t = np.empty(len(x)), 0.25
    for i in range(len(x)):
        out[i] = round(float(x[i]), digits)
        t = round(t * 1.7 + 0.05, 3) % 10.0
    return out, t, round(len(x), 1)


def numbers(digits: int) -> Any:
    rng = np.random.default_rng(digits)
    ties = rng.integers(-(10**6), 10**6, 3000) + 0.5
    usual = rng.standard_normal(3000) * 10.0 ** rng.integers(-8, 9, 3000)
    halves = ties / 10.0**digits
    special = [-0.0, 0.0, 0.5, 1.5, 2.5, -0.5, 1e300, 5e-324, 2.0**52 + 0.5, 2.0**53, -2.675, 1.005, 0.285]
    return np.concatenate([usual, halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf), special])


@pytest.mark.parametrize("backend", BACKENDS)
def test_to_ints(backend: str) -> None:
    x = numbers(0)[:-7]
    odd = [np.array([*x[:20], value]) for value in (np.nan, np.inf, -np.inf, 2.0**62, 2.0**63, -(2.0**63), 1e300)]
    report = require_equal(
        to_ints,
        lambda: (x.copy(),),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend},
        variants=[lambda one=one: (one.copy(),) for one in odd],  # type: ignore[misc]
    )
    assert report.stats["native_calls"] > 0


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 7, 15, 17, 22, 23, -1])
@pytest.mark.parametrize("backend", BACKENDS)
def test_to_digits(backend: str, digits: int) -> None:
    x, odd = numbers(max(digits, 0)), (np.nan, np.inf, -1e308)
    report = require_equal(
        to_digits,
        lambda: (x.copy(), digits),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend},
        variants=[lambda one=one: (np.array([0.5, one, 1.25]), digits) for one in odd],  # type: ignore[misc]
    )
    assert report.stats["native_calls"] > 0 or not 0 <= digits <= 22
