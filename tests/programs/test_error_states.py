"""``with np.errstate(...)`` in functions and loops: the program has the state that NumPy would have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng

FUNCTIONS: dict[str, Any] = {}


def function(fn: Any) -> Any:
    FUNCTIONS[fn.__name__] = fn
    return fn


@function
def one_operation(x: Any, n: int) -> Any:
    with np.errstate(divide="ignore"):
        y = 1 / x
    return y * 2


@function
def the_same_outside(x: Any, n: int) -> Any:
    with np.errstate(all="ignore"):
        y = np.log(x)
    return y, np.log(x)


@function
def before_it(x: Any, n: int) -> Any:
    z = np.log(x)
    with np.errstate(all="ignore"):
        y = np.log(x)
    return y, z


@function
def one_in_another(x: Any, n: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
        with np.errstate(divide="warn"):
            z = x * 2 / (x + 1)
        w = np.sqrt(x - 0.5)
    return y, z, w


@function
def stricter(x: Any, n: int) -> Any:
    with np.errstate(all="raise"):
        return 1 / (x + 0.5)


@function
def raises_in_it(x: Any, n: int) -> Any:
    with np.errstate(divide="raise"):
        return 1 / x


@function
def a_call_of_numpys(x: Any, n: int) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.cov(np.stack([x / x, x]))
    return y, np.linalg.norm(x)


@function
def in_a_loop(x: Any, n: int) -> Any:
    for _ in range(n):
        with np.errstate(all="ignore"):
            y = 1 / x
        x = x * 0.5 + np.where(np.isinf(y), 0.0, 0.25)
    return x


@function
def around_a_loop(x: Any, n: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(n):
            x = x * 0.5 + 0 * np.log(x + 1) + 0 * np.where(x > 0, 1 / x, 0)
    return x


@function
def around_a_loop_that_warns_after(x: Any, n: int) -> Any:
    with np.errstate(divide="ignore"):
        for _ in range(n):
            x = x * 0.5
    return 1 / x


@function
def inlined(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5 + safe(x) * 0.25
    return x


def safe(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x == 0, 0.0, 1.0 / x)


@function
def left_by_a_break(x: Any, n: int) -> Any:
    for i in range(n):
        with np.errstate(all="ignore"):
            x = x * 0.5 + 1 / (x - x[0])
            if i == 2:
                break
        x = np.where(np.isfinite(x), x, 0.0)
    return x, np.isfinite(x / 2)


@function
def chosen(x: Any, n: int) -> Any:
    for _ in range(n):
        with np.errstate(all="ignore"):
            if x.sum() > 2:  # noqa: SIM108
                x = x * 0.5
            else:
                x = x + np.where(x > 0, 0.25 / x, 1.0)
    return x


@function
def element_by_element(x: Any, n: int) -> Any:
    total = x[0]
    for i in range(len(x)):
        with np.errstate(divide="ignore", invalid="ignore"):
            total = total + np.minimum(1 / x[i], 3.0)
    return total


@function
def printed_in_it(x: Any, n: int) -> Any:
    with np.errstate(all="ignore"):
        print(np.geterr()["divide"])
        y = 1 / x
    return y


STATES = [{}, {"all": "ignore"}, {"divide": "raise", "invalid": "ignore"}]


@pytest.mark.parametrize("state", STATES, ids=["default", "ignored", "raised"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name: str, backend: str, state: dict[str, Any]) -> None:
    def some() -> tuple[Any, ...]:
        return rng(3).random(6), 5

    def zeros() -> tuple[Any, ...]:
        return np.array([0.5, 0.0, 2.0, -0.0, 1.0, 0.25]), 5

    require_equal(
        FUNCTIONS[name], some, variants=[zeros, some, zeros], compile=dynamo_lite.compile, calls=2,
        compile_options={"backend": backend, "options": OPTIONS}, conditions=Conditions(errstate=state),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["one_operation", "in_a_loop", "inlined", "one_in_another"])
def test_no_break_and_no_decline(name: str) -> None:
    fast = dynamo_lite.compile(FUNCTIONS[name], options=OPTIONS)
    for _ in range(3):
        fast(np.array([0.5, 0.0, 2.0, 0.75]) + (name == "one_in_another"), 5)
    if not _C.get_stress():
        told = fast.explain()
        assert not told.breaks and fast.stats()["native_calls"] == 3, told


def test_the_state_is_the_caller_s_again() -> None:
    fast = dynamo_lite.compile(FUNCTIONS["in_a_loop"], options=OPTIONS)
    with np.errstate(over="print"):
        before = np.geterr()
        fast(np.array([0.5, 0.0]), 3)
        assert np.geterr() == before
