"""Functions of math on numbers that a program gets, reads out of arrays, or changes in a loop: exactly Python's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.scalar import FUNCTIONS, FUNCTIONS_OF_MATH
from tests.oracle import require_equal

NAMES = (*FUNCTIONS_OF_MATH, "sqrt", "radians", "degrees")
VALUES = (0.7, -0.3, 0.0, -0.0, 1.0, -1.0, 3.5, -20.25, 800.0, -800.0, 5e-324, 1e300, math.inf, -math.inf, math.nan)


def call_of(name: str) -> Callable[..., Any]:
    """The function of two numbers, the second of which those with one operand add."""
    function = getattr(math, name)
    if FUNCTIONS.get(name) == 2:
        return lambda a, b: function(a, b)
    return lambda a, b: function(a) + b


def of_arguments(name: str) -> Callable[..., Any]:
    call = call_of(name)

    def program(x: Any, a: Any, b: Any) -> Any:
        value = call(a, b)
        return x * value, value

    return program


def of_elements(name: str) -> Callable[..., Any]:
    call = call_of(name)

    def program(x: Any, a: Any, b: Any) -> Any:
        y = np.array([a, b, 1.0]) * 1.0
        return np.array([[call(y[0], y[1]), 0.0], [0.0, float(y[2])]]) @ x[:2], call(y[0], 2)

    return program


def of_a_loop(name: str) -> Callable[..., Any]:
    call = call_of(name)

    def program(x: Any, a: Any, b: Any) -> Any:
        total = 0.0
        y = x + a
        for i in range(len(y)):
            total = total * 0.5 + call(y[i], b)
            y[i] = total
        return y, total

    return program


def unused(name: str) -> Callable[..., Any]:
    """NB: what is computed for nothing raises all the same."""
    call = call_of(name)

    def program(x: Any, a: Any, b: Any) -> Any:
        call(a, b)
        for i in range(len(x)):
            call(x[i] + a, b)
        return x + 1.0

    return program


@pytest.mark.parametrize("make", [of_arguments, of_elements, of_a_loop, unused])
@pytest.mark.parametrize("name", NAMES)
def test_is_pythons(name: str, make: Callable[[str], Callable[..., Any]]) -> None:
    def arguments(a: Any, b: Any) -> Any:
        return lambda: (np.linspace(0.1, 0.9, 12), a, b)

    pairs = [(a, b) for a in VALUES for b in (1.5, -0.0)] + [(2, 0.5), (1, 3), (-1, 2), (0.5, 2**60 + 1)]
    require_equal(
        make(name), arguments(0.5, 0.25), variants=[arguments(*pair) for pair in pairs],
        compile=dynamo_lite.compile, compile_options={"options": {"recompile_limit": 60}}, calls=1,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_one_program_for_all_numbers(name: str) -> None:
    fast = dynamo_lite.compile(of_arguments(name))
    x = np.ones(4)
    for value in (0.5, 0.25, 0.125, 0.75, 0.9):
        fast(x, value + 1.0 if name == "acosh" else value, 0.5)
    assert fast.stats()["compiles"] == 1, fast.explain()


@pytest.mark.parametrize("name", NAMES)
def test_complex_numbers_raise_where_they_stand(name: str) -> None:
    call = call_of(name)

    def program(x: Any) -> Any:
        for i in range(len(x)):
            call(x[i].item(), 2.0)
            x[i] = 1.0

    require_equal(
        program, lambda: (np.arange(3) + 1j,), compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
    )  # fmt: skip


def test_sizes_of_a_float() -> None:
    def far(x: Any) -> Any:
        best = math.inf
        for i in range(len(x)):
            if abs(x[i] - 0.5) < best:
                best = abs(float(x[i]) - 0.5)
        return best, abs(best)

    require_equal(far, lambda: (np.linspace(0.0, 1.0, 40),), compile=dynamo_lite.compile)
