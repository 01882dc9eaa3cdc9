"""Ufuncs of numbers in loops of machine code: NumPy's own inner loop, its operands without strides, as NumPy calls it;
clip and round among them. Bits, types and warnings as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_random_elements import machines_of


def powers_of_elements(x: Any, y: Any, b: Any, n: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.power(x[i], y[i])
    return out


def powers_by_numbers(x: Any, y: Any, b: Any, n: Any) -> Any:
    out = np.zeros((6, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = np.power(x[i], 2)
        out[1, i] = np.power(x[i], 0.5)
        out[2, i] = np.power(x[i], 3)
        out[3, i] = np.power(x[i], b)
        out[4, i] = np.power(b, x[i])
        out[5, i] = np.power(x[i], n)
    return out


def powers_of_python(x: Any, y: Any, b: Any, n: Any) -> Any:
    s, out = 0.0, []
    for i in range(len(x)):
        s = s + np.power(b, 2) * x[i] + np.power(b, 1.5) - np.power(2.0, n)
        out.append(np.power(b, 3))
    return s, out


def clipped(x: Any, y: Any, b: Any, n: Any) -> Any:
    out = np.zeros((3, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = np.clip(x[i], -0.5, 0.5)
        out[1, i] = np.clip(x[i], y[i], b)
        out[2, i] = np.clip(x[i], 0, n)
    return out


def clipped_numbers(x: Any, y: Any, b: Any, n: Any) -> Any:
    kept = []
    for i in range(len(x)):
        kept.append((np.clip(b, 0.1, 0.5), np.clip(b, 0, i), np.clip(i, 1, n), np.clip(i, 0.5, b)))
    return kept


def rounded(x: Any, y: Any, b: Any, n: Any) -> Any:
    out = np.zeros((4, len(x)), x.dtype)
    for i in range(len(x)):
        out[0, i] = np.round(x[i], 2)
        out[1, i] = np.round(x[i], -1)
        out[2, i] = round(x[i], 3)
        out[3, i] = x[i].round(20)
    return out


def integers(x: Any, y: Any, b: Any, n: Any) -> Any:
    s, k = 0, np.int64(3)
    for _ in range(len(x)):
        s = s + np.power(k, 2) + np.power(n, 3)
        k = k + 1
    return s, k


FUNCTIONS = (
    *(powers_of_elements, powers_by_numbers, powers_of_python, clipped, clipped_numbers, rounded),
    integers,
)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 0.3, -0.7, np.inf, -np.inf, np.nan, 1e-310, 1e300, 2.5, 0.125, 1234.56785)


def arguments(dtype: Any, of: str) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    if of == "special":
        x, y = (part.ravel().astype(dtype) for part in np.meshgrid(SPECIAL, SPECIAL))
    else:
        x, y = rng.random((2, 300)).astype(dtype) * 3
    return x, y, 0.7, 3


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("of", ["usual", "special"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_numbers(fn: Callable[..., Any], dtype: Any, of: str, backend: str) -> None:
    with np.errstate(all="ignore"):
        options = {"backend": backend, "options": OPTIONS}
        require_equal(fn, lambda: arguments(dtype, of), compile=dynamo_lite.compile, compile_options=options, calls=2)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_it_is_machine_code(fn: Callable[..., Any]) -> None:
    report = require_equal(
        fn,
        lambda: arguments(np.float64, "usual"),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        calls=2,
    )
    assert machines_of(report.compiled), report.compiled.explain()


@pytest.mark.parametrize("fn", [powers_by_numbers, rounded])
def test_what_they_report(fn: Callable[..., Any]) -> None:
    def given() -> tuple[Any, ...]:
        return np.array([1.0, 2.0, 1e300, -3.0]), np.ones(4), 0.7, 3

    require_equal(fn, given, compile=dynamo_lite.compile, compile_options={"options": OPTIONS}, calls=2)
