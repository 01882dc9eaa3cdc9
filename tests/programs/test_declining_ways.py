"""Functions called in loops with a branch that only plain Python can do: a raise, a print, a call of unknown code. The
loop stays native, and an iteration that comes there runs plainly."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import OPTIONS


def raising(x: Any, note: Callable[[Any], None], most: float) -> Any:
    y = np.sin(x) + x
    if y > most:
        raise ValueError(f"too large: {y}")
    return y * 0.5


def printing(x: Any, note: Callable[[Any], None], most: float) -> Any:
    y = np.sin(x) + x
    if y > most:
        print("large", y)
    return y * 0.5


def noting(x: Any, note: Callable[[Any], None], most: float) -> Any:
    y = np.sin(x) + x
    if y > most:
        note(y)
        return -y
    return y * 0.5


def warning(x: Any, note: Callable[[Any], None], most: float) -> Any:
    y = np.sin(x) + x
    if y > most:
        warnings.warn(f"large: {y}", stacklevel=2)
    return y * 0.5


def iterating(x: Any, note: Callable[[Any], None], most: float) -> Any:
    rounds = 0
    y = x
    while np.abs(y - np.cos(y)) > 1e-9:
        y = np.cos(y)
        rounds += 1
        if rounds > most * 20:
            print("no end in sight", rounds)
            break
    return y


CALLEES = (raising, printing, noting, warning, iterating)


def summed(callee: Callable[..., Any], xs: Any, note: Callable[[Any], None], most: float) -> Any:
    total = 0.0
    for i in range(len(xs)):
        total += callee(xs[i], note, most)
    return total


def observed(run: Callable[..., Any], callee: Callable[..., Any], xs: Any, most: float, capsys: Any) -> Any:
    """What a call gives or raises, warns of, prints and notes."""
    noted: list[bytes] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result: Any = np.float64(run(callee, xs, lambda y: noted.append(y.tobytes()), most)).tobytes()
        except ValueError as error:
            result = str(error), error.__traceback__ and error.__traceback__.tb_next is not None
    told = [(str(one.message), one.lineno, one.filename) for one in warned]
    return result, told, capsys.readouterr().out, noted


@pytest.mark.parametrize("callee", CALLEES)
def test_a_way_that_is_never_gone(callee: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(summed, options=OPTIONS)
    xs = np.linspace(0.0, 1.0, 60)
    for _ in range(2):
        assert fast(callee, xs, print, 9.0) == summed(callee, xs, print, 9.0)
    assert [loop.outcome for loop in fast.explain().loops][:1] == ["native"]
    assert fast.stats()["native_calls"] == 2
    assert fast.stats()["declines"] == 0


@pytest.mark.parametrize("callee", CALLEES)
@pytest.mark.parametrize("most", [0.0, 0.1, 0.9, 1.8])
def test_a_way_that_is_gone_now_and_then(callee: Callable[..., Any], most: float, capsys: Any) -> None:
    fast = dynamo_lite.compile(summed, options=OPTIONS)
    xs = np.random.default_rng(1).random(80)
    for _ in range(3):
        assert observed(fast, callee, xs, most, capsys) == observed(summed, callee, xs, most, capsys)


def test_each_place_that_calls_is_served_at_once() -> None:
    """What one attempt to trace the loop has learned of the callee holds for its other calls, too."""

    def f(xs: Any) -> Any:
        total = 0.0
        for i in range(len(xs)):
            x = xs[i]
            total += printing(x, print, 9.0) + printing(x * 0.5, print, 9.0) + printing(x * 0.25, print, 9.0)
        return total

    fast = dynamo_lite.compile(f, options=OPTIONS)
    xs = np.linspace(0.0, 1.0, 60)
    assert fast(xs) == f(xs)
    assert [loop.outcome for loop in fast.explain().loops] == ["native"]


def storing(a: Any, i: int, kept: list[Any], told: list[Any], most: float) -> Any:
    a[i] = a[i] * 1.5 + 0.1
    kept.append(a[i] * 2.0)
    drawn, other = random.random(), np.random.rand()
    if a[i] + other > most:
        told.append((i, float(a[i]), other, len(kept)))
        print(told[-1])
        if other > 0.97:
            raise KeyError(i)
    return a[i] + drawn


def stored(a: Any, told: list[Any], most: float) -> Any:
    total, kept = 0.0, []  # type: float, list[Any]
    for i in range(len(a)):
        total += storing(a, i, kept, told, most)
        a[i - 1] += 0.01
    return total, kept


@pytest.mark.parametrize("most", [0.5, 1.5, 2.4, 2.5, 9.0])
def test_what_an_iteration_does_before_is_done_once(most: float, capsys: Any) -> None:
    """Stores, appends and draws of an iteration that declines in its middle."""

    def told(run: Callable[..., Any], seed: int) -> str:
        np.random.seed(seed)
        random.seed(seed)
        a, said = np.random.rand(60), []  # type: Any, list[Any]
        try:
            result = run(a, said, most)
        except KeyError as error:
            result = error.args
        return repr((result, a.tobytes(), said, capsys.readouterr().out, random.random(), np.random.rand()))

    fast = dynamo_lite.compile(stored, options=OPTIONS)
    for seed in range(4):
        assert told(fast, seed) == told(stored, seed)
