"""Programs that a compiler which checks itself gave up: graphs are verified, guards held against their call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import copies_of
from tests.oracle import require_equal

Array = Any
Compile = Callable[..., Any]
OPTIONS = {"check": 1, "cost_model": False, "recompile_limit": 100}
CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {}


def case(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a row, with the arguments of each call."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = function, list(calls)
        return function

    return add


@pytest.mark.parametrize("name", CASES)
def test_checked(name: str, backend: str, compiler: Compile) -> None:
    function, calls = CASES[name]
    first, *others = (copies_of(*call) for call in calls)
    options = {"backend": backend, "options": OPTIONS}
    report = require_equal(function, first, compile=compiler, compile_options=options, variants=others)
    assert report.stats["native_calls"] > 0


@case((np.arange(4.0),), (np.arange(5.0),), (np.arange(6.0),))
def size_with_two_names(x: Array) -> Any:
    """Half of the elements and two more are as many as there were, in the first call."""
    t = x
    for _ in range(len(x)):
        t = np.pad(x[::2], 1, "reflect")
    return t


@case((np.ones(2), 3), (np.ones(2), -5), (np.ones(2), 0), (np.ones(2), 2**62))
def limits_beyond_64_bits(x: Array, n: int) -> Any:
    y = x + 1
    if min(2**64, n) and max(n, -(10**30)) > -3:
        y = y * 2
    for _ in range(3):
        if min(n + 1, 2**63, 2**65) > 2:
            y = y + 1
    return y, min(n, 2**70), max(-(2**63) - 1, n)
