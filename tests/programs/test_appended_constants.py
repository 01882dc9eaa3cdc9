"""Constants that a loop appends to a list: each time the object that stands in the code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.test_loop_conditions_of_parts import is_native


def flips(x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] < 0.5:
            found.append(1)
        else:
            found.append(0)
    return found


def words(x: Any) -> Any:
    found, others = [], ["first"]
    for i in range(len(x)):
        if x[i] < 0.5:
            found.append("heads")
            others.append("heads")
        elif x[i] < 0.75:
            found.append(None)
        else:
            found.append(b"tails")
            others.append("")
    return found, others


def numbers(x: Any) -> Any:
    found: list[Any] = []
    for i in range(len(x)):
        if x[i] < 0.25:
            found.append(1000)
        elif x[i] < 0.5:
            found.append(-0.0)
        elif x[i] < 0.75:
            found.append(True)
        else:
            found.append((i, 256, "a", None))
            found.append(257)
    return found


def one_object(values: list[Any]) -> list[int]:
    """Which of the items are one object."""
    return [next(k for k, other in enumerate(values) if other is one) for one in values]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [flips, words, numbers])
def test_constants_in_lists(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for size in (40, 1, 0, 40):
        x = np.random.default_rng(size).random(size)
        options = {"backend": backend, "options": OPTIONS}
        require_equal(function, copies_of(x), compile=dynamo_lite.compile, compile_options=options)
        found, wanted = fast(x), function(x)
        if function is words:
            found, wanted = found[0] + found[1], wanted[0] + wanted[1]
        assert one_object(found) == one_object(wanted)
        assert all(one is other for one, other in zip(found, wanted, strict=True) if type(one) in (str, bytes))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [flips, words])
def test_their_loops_are_native(function: Any, backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    fast(np.random.default_rng(0).random(20))
    assert is_native(fast), fast.explain()
