"""Comparisons of a float and an int, one of which is an argument: decided by a guard on them, not on their values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPERATORS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


@pytest.mark.parametrize("constant", [0, -3, 7, 2**53, 2**53 + 1, 2**70])
@pytest.mark.parametrize("compare", OPERATORS)
def test_a_float_beside_a_constant(compare: Callable[..., bool], constant: int) -> None:
    def program(x: Any, t: Any) -> Any:
        return x * 2.0 if compare(t, constant) else x - t

    def arguments(t: Any) -> Any:
        return lambda: (np.arange(4.0), t)

    values = (0.0, -0.0, -3.0, 7.0, 6.5, 2.0**53, 2.0**53 + 2, 2.0**70, -1e300, math.inf, -math.inf, math.nan, 7, True)
    require_equal(
        program, arguments(1.5), variants=[arguments(value) for value in values],
        compile=dynamo_lite.compile, compile_options={"options": {"recompile_limit": 60}}, calls=1,
    )  # fmt: skip


@pytest.mark.parametrize("compare", OPERATORS)
def test_a_float_beside_an_int(compare: Callable[..., bool]) -> None:
    def program(x: Any, t: Any, n: Any) -> Any:
        return x * 2.0 if compare(t, n) else x - t

    def arguments(t: Any, n: Any) -> Any:
        return lambda: (np.arange(4.0), t, n)

    pairs = [(t, n) for t in (0.0, 3.0, 2.0**53, 2.0**60, math.nan) for n in (0, 3, 4, 2**53, 2**53 + 1, 2**60 + 1)]
    require_equal(
        program, arguments(1.5, 2), variants=[arguments(*pair) for pair in pairs],
        compile=dynamo_lite.compile, compile_options={"options": {"recompile_limit": 60}}, calls=1,
    )  # fmt: skip


def test_one_program_for_all_values() -> None:
    def program(x: Any, t: float, n: int) -> Any:
        return x * t if t > 0 and t < n else x - t

    fast = dynamo_lite.compile(program)
    for t in np.linspace(0.1, 5.0, 20).tolist():
        fast(np.ones(50), t, 7)
    assert fast.stats()["compiles"] == 1, fast.explain()


def cut(x: Any, i: Any) -> Any:
    results: list[Any] = [x[i:] * 2.0, x[: i + 1], len(x) < i + 2, x[i - 1 :]]
    try:
        results.append(np.zeros(i))
    except ValueError as error:
        results.append(str(error))
    return results


@pytest.mark.parametrize("i", [2**63 - 1, 2**63 - 3, -(2**63), 1 - 2**63, 2**62, 3, 2**63, np.int64(2**63 - 1)])
def test_sums_of_the_largest_numbers_with_sizes(i: Any) -> None:
    require_equal(
        cut,
        lambda: (np.arange(6.0), i),
        variants=[lambda: (np.arange(6.0), 2)],
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1}},
        calls=2,
    )


@pytest.mark.parametrize("s", [2**62, -(2**62), 2**40, 3])
def test_guards_that_need_more_than_64_bits(s: int) -> None:
    def program(x: Any, a: int, s: int, t: int, c: int) -> Any:
        i = 0
        while i < len(x) and (a - s) - t * s < c:
            x[i] += 1.0
            i += 1
        return i, x * 2.0 if a + s - c < s * 3 + t else x - 1.0

    def arguments() -> Any:
        return np.arange(50.0), 3, s, 2, 5

    options = {"options": {"cost_model": False, "check": 1}}
    report = require_equal(program, arguments, compile=dynamo_lite.compile, compile_options=options, calls=5)
    assert report.stats["compiles"] <= 3 and report.stats["recompiles"] == 0, report.stats
