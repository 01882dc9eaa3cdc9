"""What an inlined function catches, of exceptions that are certain to come, does not break the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"check": 1, "cost_model": False}}


def size_of(v: Any) -> Any:
    try:
        return len(v)
    except TypeError:
        return 1


def axes_of(v: Any) -> Any:
    try:
        return v.ndim
    except (KeyError, AttributeError):
        return np.asarray(v).ndim


def through_frames(v: Any) -> Any:
    try:
        return 10 * measured(v)
    except Exception as error:
        return 5 if error is not None else 6


def measured(v: Any) -> Any:
    try:
        return len(v)
    except KeyError:
        return 7
    finally:
        v = 3


def used(v: Any) -> Any:
    try:
        return len(v)
    except TypeError as error:
        return len(str(error))


def uncaught(v: Any) -> Any:
    try:
        return len(v)
    except ValueError:
        return 2


def in_loop(v: Any) -> Any:
    total = 0
    for _ in range(3):
        total += size_of(v)
    return total


CAUGHT = [size_of, axes_of, through_frames, in_loop]


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("number", [3, 2.5, True, np.float64(1.5)], ids=repr)
@pytest.mark.parametrize("helper", CAUGHT)
def test_a_caught_exception(compiler: Callable[..., Any], helper: Callable[[Any], Any], number: Any) -> None:
    def both(x: Any, n: Any) -> Any:
        return x * helper(n) + helper(x)

    report = require_equal(
        both, copies_of(np.linspace(0, 1, 50), number), compile=compiler, compile_options=OPTIONS, calls=2
    )
    assert report.stats["native_calls"] >= 1
    assert not report.compiled.explain().breaks


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("helper", [used, uncaught])
def test_what_is_looked_at_or_not_caught_is_plain_pythons(
    compiler: Callable[..., Any], helper: Callable[[Any], Any]
) -> None:
    def both(x: Any, n: Any) -> Any:
        return x * helper(n) + helper(x)

    require_equal(both, copies_of(np.linspace(0, 1, 50), 3), compile=compiler, compile_options=OPTIONS, calls=2)


def test_numpys_own_functions_that_try(compiler: Callable[..., Any]) -> None:
    def slopes(x: Any) -> Any:
        return np.gradient(x) + np.gradient(x, 0.5), np.ndim(2.0), np.size(3)

    report = require_equal(
        slopes, copies_of(np.linspace(0, 1, 50) ** 2), compile=compiler, compile_options=OPTIONS, calls=2
    )
    assert not report.compiled.explain().breaks
