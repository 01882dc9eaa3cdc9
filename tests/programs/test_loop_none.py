"""Locals that are None until an iteration finds something, a number or a NumPy scalar, and tests of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS

PROGRAMS: list[Callable[..., Any]] = []
OTHERS: list[Callable[..., Any]] = []  # whose loops need not be native
LARGE = 10**6


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(fn)
    return fn


@program
def last_place(X: Any) -> Any:
    place = None
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            place = i
    return place


@program
def best_split(X: Any) -> Any:
    best, feature, threshold = -1.0, None, None
    for j in range(X.shape[1]):
        for i in range(len(X)):
            limit = X[i, j]
            gain = (X[:, j] > limit).sum() - (X[:, j] <= limit).sum() * 0.3
            if gain > best:
                best, feature, threshold = gain, j, limit
    return best, feature, threshold


@program
def computed_from_itself(X: Any) -> Any:
    k = None
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            k = 0 if k is None else k * 2 + 1
            if k > 1000:
                k = None
    return k, k is None


@program
def in_turn(X: Any) -> Any:
    kept, total = None, 0.0
    for i in range(len(X)):
        number = kept
        kept = None
        if number is None:
            number = float(X[i, 0])
            kept = number * 2.0
        total += number * i
    return kept, total


@program
def floats(X: Any) -> Any:
    value, count = None, 0
    for i in range(len(X)):
        if X[i, 0] > 0.7:
            value = float(X[i, 1])
        elif X[i, 0] < 0.2:
            value = None
        if value is not None:
            count += 1
        if value is not None and value > 0.5:
            count += 10
    return value, count


@program
def least_with_place(X: Any) -> Any:
    best = place = None
    for i in range(len(X)):
        if X[i, 0] > 0.3 and (best is None or X[i, 1] < best):
            best, place = X[i, 1], i
    return best, place


@program
def distances(X: Any) -> Any:
    last, out = None, []
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            last = i
        out.append(0 if last is None else i - last)
    return out, last


@program
def number_first(X: Any) -> Any:
    k: Any = 7
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            k = None
        elif X[i, 1] > 0.5:
            k = i
    return k


@program
def two_names(X: Any) -> Any:
    now = before = None
    for i in range(len(X)):
        if X[i, 0] > 0.5:
            before = now
            now = i + LARGE
    return now, before


@program
def number_from_outside(X: Any) -> Any:
    k, large = None, LARGE
    for i in range(len(X)):
        if X[i, 0] > 0.8:
            k = large
    return k


@program
def is_as_a_value(X: Any) -> Any:
    held, free, taken = None, 0, 0
    for i in range(len(X)):
        is_free = held is None
        was_held = held is not None
        free += is_free
        taken += int(was_held)
        held = X[i, 1] if is_free and X[i, 0] > 0.3 else None
    return held, free, taken


@program
def leaves_with_one(X: Any) -> Any:
    k = None
    for i in range(len(X)):
        if X[i, 0] > 0.9:
            k = i
            break
    if k is None:
        return -1
    return k * 2


def other(fn: Callable[..., Any]) -> Callable[..., Any]:
    OTHERS.append(fn)
    return fn


@other
def of_three_kinds(X: Any) -> Any:
    first, d, total = None, None, 0.0
    for i in range(len(X)):
        d = float(X[i, 2])
        if X[i, 0] > 0.3:
            total = total + X[i, 1]
        if first is None:
            first = i * 2
            d = int(X[i, 0] * 4)
    return first, d, total


@other
def is_true(X: Any) -> Any:
    found = False
    for row in X:
        if row.sum() > 1.5:
            found = True
    return found is True, found is False, found is None, found


@other
def truth_in_the_first_iteration(X: Any) -> Any:
    count, before = 0, 0
    for i in range(len(X)):
        before = before + X[i, 0] * count
        count += bool(X[i, 0] > 0.4)
    return count, before, bool(X.any()) + 1, not X.all()


@other
def other_uses(X: Any) -> Any:
    best, count, out = None, 0, []
    for i in range(len(X)):
        count += best in (None, 1)
        count += isinstance(best, float)
        if best is None or best is False:
            count += 1
        out.append(f"{best}")
        if X[i, 0] > 0.5:
            best = X[i, 1] > 0.6
        elif X[i, 1] > 0.8:
            best = None
    return best, count, out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [*PROGRAMS, *OTHERS], ids=lambda fn: str(fn.__name__))
def test_none(fn: Callable[..., Any], backend: str) -> None:
    X = np.random.default_rng(8).random((30, 4))
    nan = X.copy()
    nan[::3, 0] = np.nan
    arrays = [X[:17], X[:1], X[:0], X * 0.1, 1 - X, X + 1, nan, np.roll(X, 5, axis=0)]
    require_equal(
        fn,
        lambda: (X.copy(),),
        variants=[lambda one=one: (one.copy(),) for one in arrays],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    if _C.get_stress() or fn in OTHERS:
        return
    compiled = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    compiled(X)
    assert {loop.outcome for loop in compiled.explain().loops} == {"native"}, compiled.explain()
