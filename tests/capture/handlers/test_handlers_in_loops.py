"""Exceptions that functions of a loop's body catch themselves: the loop stays native."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

OPTIONS = {"options": {"cost_model": False, "check": 1, "recompile_limit": 30}}


def rank(x: Any) -> int:
    try:
        return x.ndim  # type: ignore[no-any-return]
    except AttributeError:
        return -1


def in_a_callee(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * 0.5 + rank(2.5) + rank(x)
    return x


def around_a_choice(x: Any, n: Any) -> Any:
    def chosen(y: Any) -> Any:
        try:
            if y[0] > 0.25:
                y = y - (0.5).ndim  # type: ignore[attr-defined]
            return y + 1.0
        except AttributeError:
            return y * 0.5

    for _ in range(n):
        x = chosen(x)
    return x


def around_a_loop(x: Any, n: Any) -> Any:
    def rounds(y: Any) -> Any:
        try:
            for i in range(n):
                y = y + 1.0
                if i == 3:
                    y = y.nothing
            return y
        except AttributeError:
            return y * 0.5

    return rounds(x) + rounds(x * 2.0)


def in_the_loop_itself(x: Any, n: Any) -> Any:
    for _ in range(n):
        try:
            x = x + (1.0).ndim  # type: ignore[attr-defined]
        except AttributeError:
            x = x * 0.5
    return x


def gradients(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x + 0.1 * np.gradient(x) - 0.05 * np.gradient(np.gradient(x, 0.5), 2, edge_order=2)
    return x


@pytest.mark.parametrize("function", [in_a_callee, around_a_choice, around_a_loop, in_the_loop_itself, gradients])
@pytest.mark.parametrize("n", [0, 1, 3, 20])
def test_as_plain(function: Any, n: int) -> None:
    for x in (np.linspace(0.0, 1.0, 9), np.linspace(-3.0, 3.0, 400)[::-2], np.array([0.5, 0.25, 1.0], "f4")):
        require_equal(function, copies_of(x, n), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("function", [in_a_callee, gradients])
def test_the_loop_is_native(function: Any) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    x = np.linspace(0.0, 1.0, 40)
    for _ in range(3):
        assert fast(x, 20).tobytes() == function(x, 20).tobytes()
    assert fast.stats()["native_calls"] == 3 and fast.stats()["breaks"] == 0


def test_gradients_of_too_few_raise_as_plain() -> None:
    for x in (np.zeros(1), np.zeros(2), np.zeros(0)):
        require_equal(gradients, copies_of(x, 3), compile=dynamo_lite.compile, compile_options=OPTIONS)
