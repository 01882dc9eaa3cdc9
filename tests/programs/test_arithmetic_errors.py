"""Errors of Python's arithmetic with floats, which come whether anybody wants the result or not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def powers_in_vain(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        x = x * 1e60
        x**4
        total += 1.0
    return total


def quotients_in_vain(x, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(n):
        1.0 / (x - k)
        total += 1.0
    return total


def powers_of_an_argument_in_vain(x, n):  # type: ignore[no-untyped-def]
    x**-n
    total = 0.0
    for _ in range(n):
        total += 1.0
        (x - 0.5) ** -1
        int(x * 1e300 * 1e8)
        1e200**x
    return total


IN_VAIN = [powers_in_vain, powers_of_an_argument_in_vain, quotients_in_vain]


@pytest.mark.parametrize("fn", IN_VAIN, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_floats_of_which_nobody_wants_the_result_raise_all_the_same(fn: Callable[..., Any], backend: str) -> None:
    calls = [lambda x=x, n=n: (x, n) for x in (1.5, 0.5, 2.0, -1.0, 0.0) for n in (3, 1, 12)]
    options = {"backend": backend, "options": OPTIONS}
    require_equal(fn, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options, calls=1)


BASES = [
    *(0.5, 2.0, 0.0, -0.0, -1.0, -2.5, 1e200, 1e308, -1e308, 1e-200, math.nan, math.inf, -math.inf),
    *(1.3e154, 1.4e154, 5e-309, 6e-309, 5e-324),  # where squares, and inverses, begin to be too large
]
EXPONENTS = ("2", "3", "-1", "-2", "0.5", "1.5", "-0.5", "1e-3", "-1e-3", "16", "17", "0", "-16.0", "x")


def _powers(exponent: str) -> list[Callable[..., Any]]:
    """A power outside of loops and in one, wanted and not."""
    scope: dict[str, Any] = {}
    source = f"""
def outside(x, n):
    x**{exponent}
    return n + 1.0
def wanted_outside(x, n):
    return x**{exponent} * 2.0
def inside(x, n):
    total = 0.0
    for i in range(n):
        x**{exponent}
        total += i
    return total
def wanted_inside(x, n):
    total = 0.0
    for i in range(n):
        total += x**{exponent} + i
    return total
"""
    exec(compile(source, "<powers>", "exec"), scope)
    return [fn for name, fn in scope.items() if name != "__builtins__"]


def _outcome(fn: Callable[..., Any], x: float) -> str:
    try:
        return repr(fn(x, 3))
    except ArithmeticError as error:
        return repr(error)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_are_errors_where_they_are(exponent: str) -> None:
    for fn in _powers(exponent):
        for options in ({"cost_model": False}, {**OPTIONS, "recompile_limit": 60}):
            fast = dynamo_lite.compile(fn, options=options)
            for x in BASES * 2:
                assert _outcome(fast, x) == _outcome(fn, x), (fn.__name__, x)
            assert fast.stats()["native_calls"] > 0, fast.explain()
