"""Loops over means and deviations of slices whose bounds only the run knows, empty ones too: NumPy warns of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS


def means(x, bounds):  # type: ignore[no-untyped-def]
    out = np.zeros(len(bounds) - 1)
    for i in range(len(bounds) - 1):
        out[i] = np.mean(x[bounds[i] : bounds[i + 1]])
    return out


def appended(x, bounds):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(bounds) - 1):
        out.append(x[bounds[i] : bounds[i + 1]].mean())
    return np.array(out)


def deviations(x, bounds):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(1, len(bounds)):
        part = x[bounds[i - 1] : bounds[i]]
        total += np.std(part) - np.var(part, ddof=1)
    return total


def handled(x, bounds):  # type: ignore[no-untyped-def]
    found = 0
    for i in range(1, len(bounds)):
        try:
            np.mean(x[bounds[i - 1] : bounds[i]])
        except RuntimeWarning:
            found += i
    return found


FUNCTIONS = [means, appended, deviations, handled]
BOUNDS = [[0, 3, 7, 20], [0, 3, 3, 20], [4, 4], [0, 0, 0, 5], list(range(0, 21, 2)), [5, 2, 9, 11, 11, 12]]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("raised", [False, True])
def test_slices(fn: Callable[..., Any], raised: bool) -> None:
    filters = (("error", RuntimeWarning),) if raised else ()
    calls = [lambda b=b: (np.arange(20.0), np.array(b)) for b in BOUNDS]
    require_equal(
        fn,
        calls[0],
        variants=calls[1:],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        conditions=Conditions(filters=filters),
    )


@pytest.mark.parametrize("fn", [means, appended, deviations], ids=lambda fn: fn.__name__)
def test_loops_over_slices_are_native(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    args = np.arange(50.0), np.arange(0, 50, 5)
    assert np.array_equal(fast(*args), fn(*args))
    assert (fast.stats()["breaks"], fast.stats()["declines"], fast.stats()["native_calls"]) == (0, 0, 1)


def shifted(x):  # type: ignore[no-untyped-def]
    values = np.unique(x)
    values[:-1] = values[1:]
    return values


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0, 2.0], [1.0], []], ids=len)
def test_slices_of_an_array_whose_length_the_program_finds(values: list[float]) -> None:
    require_equal(shifted, lambda: (np.array(values),), compile=dynamo_lite.compile)


def of_one(x, n):  # type: ignore[no-untyped-def]
    found = []
    for j in range(n):
        found.append(np.std(x) + np.var(x[::2]) + x[::-1].sum(keepdims=True) - x[1:].max(axis=0, keepdims=True))
        x[0] = j
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("step", [1, 2, -1])
def test_vectors_with_gaps_reduced_to_vectors_of_one(step: int, backend: str) -> None:
    calls = [lambda size=size: (np.sin(np.arange(30.0))[: size * abs(step)][::step], 4) for size in (5, 2, 9)]
    options = {"backend": backend, "options": OPTIONS}
    require_equal(of_one, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options)
