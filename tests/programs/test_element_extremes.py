"""max, min and abs of single elements in loops, and calls of functions with several returns: bits, types and identity
as in plain Python, where the first of equal objects counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, registry, rng
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def wild(count: int, size: int) -> tuple[Any, ...]:
    """Zeros of both signs, NaN of both signs, infinities."""
    values = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, np.inf, -np.inf, 5e-324])
    chosen = rng(count).integers(0, len(values), (2, count + 2))
    return values[chosen[0]], values[chosen[1]], np.zeros((4, count + 2))


def small(count: int, size: int) -> tuple[Any, ...]:
    return rng(count).integers(0, 4, count + 2), rng(size).integers(0, 4, count + 3)


@case(wild)
def first_of_equals(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[0, i] = max(x[i], y[i])
        out[1, i] = min(x[i], y[i])
        out[2, i] = max(x[i], y[i], x[i - 1])
        out[3, i] = abs(min(y[i], x[-i], y[0]))


@case(wild)
def mixed_with_numbers(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[0, i] = max(0, x[i])
        out[1, i] = min(x[i], 0.0) + 0.5
        out[2, i] = max(x[i], 0, y[i])
        out[3, i] = -max(0.0, y[i]) * 2 + abs(min(y[i], i))


@case(wild)
def largest_so_far(x, y, out):  # type: ignore[no-untyped-def]
    best = x[0]
    worst = 0.0
    for i in range(x.shape[0]):
        best = max(best, y[i])
        worst = min(worst, i * -0.5)
        out[0, i] = best
        out[1, i] = worst
    return best, type(best) is np.float64


@case(lambda count, size: (wild(count, size)[0].astype(np.float32), np.float32(0.25), np.zeros(count + 2)))
def narrow(x, least, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = max(x[i] * 3, least) / 7


@case(lambda count, size: (rng(count).integers(-128, 128, count + 2).astype(np.int8), np.zeros(count + 2, np.int16)))
def small_integers(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = max(x[i], 3) + min(x[i], -1)


@case(small)
def distance(a, b):  # type: ignore[no-untyped-def]
    table = np.zeros((a.shape[0] + 1, b.shape[0] + 1), np.int64)
    for i in range(1, table.shape[0]):
        for j in range(1, table.shape[1]):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table


@case(small)
def alignment(a, b):  # type: ignore[no-untyped-def]
    h = np.zeros((a.shape[0] + 1, b.shape[0] + 1))
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            score = 2.0 if a[i - 1] == b[j - 1] else -1.0
            h[i, j] = max(0, h[i - 1, j - 1] + score, h[i - 1, j] - 1, h[i, j - 1] - 1)
    return h


def match(b1, b2):  # type: ignore[no-untyped-def]
    if b1 + b2 == 3:
        return 1
    else:
        return 0


def sign(x, least):  # type: ignore[no-untyped-def]
    if x > least:
        return x * 2
    scaled = x / 3
    if x < -least:
        scaled = -scaled
        return scaled
    while False:
        scaled += 1
    return least if x == 0 else scaled


@case(lambda count, size: (count + 2, rng(count).integers(0, 4, count + 2)))
def pairs(n, seq):  # type: ignore[no-untyped-def]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@case(lambda count, size: (rng(count).random(count + 3) - 0.5, np.zeros(count + 3)))
def several_returns(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = sign(x[i], np.float64(0.125)) + 1


@case(lambda count, size: (count + 3, np.zeros((count + 3, count + 3))))
def conditions_on_both_indices(n, out):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(n):
            if i < j - 1:
                out[i, j] = 1
            elif j <= i and i + j < n:
                out[i, j] = out[i - j, j] + 2
            if i + 1 < n:
                out[i + 1, j] -= 0.25


@pytest.mark.parametrize("name", CASES)
def test_extremes(name: str) -> None:
    one = CASES[name]
    report = compared(one)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert machines_of(report.compiled), report.compiled.explain()


def overflowing(x: Any, out: Any) -> Any:
    for i in range(x.shape[0]):
        out[i] = max(x[i] + np.int64(1), 2)
    return out


def too_wide(x: Any, out: Any) -> Any:
    for i in range(x.shape[0]):
        out[i] = max(x[i], 300 + i)
    return out


def which(x: Any, y: Any) -> Any:
    best = x[0]
    other = x[1]
    for _ in range(y.shape[0]):
        best = max(best, other)
        other = min(other, best)
    return best, other, best is other, type(best)


def same_number(x: Any, best: float) -> Any:
    first = best
    for i in range(x.shape[0]):
        best = max(best, i * 0.25)
        x[i] = abs(best)
    return best, best is first


def unlike_behind(x: Any) -> Any:
    best = 0
    for i in range(x.shape[0]):
        best = max(0, x[i])
    return best, type(best)


def with_key(x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0]):
        s += max(x[i], x[i - 1], key=abs)
    return s


def of_pairs(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = max((x[i], i), (x[i - 1], i))[0] + max([x[i], 0.5])
    return x


def large_ints(x: Any, k: int) -> Any:
    for i in range(x.shape[0]):
        k = max(k * 3, i)
        x[i] = k % 7
    return x, k


def raises(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = max(x[i], "a" if x[i] > 2 else 1)
    return x


HOSTILE: dict[str, tuple[Any, Any]] = {
    "overflowing": (overflowing, lambda: (np.array([1, 2**63 - 1, 5]), np.zeros(3))),
    "too wide for the dtype": (too_wide, lambda: (np.arange(9, dtype=np.uint8), np.zeros(9))),
    "into a narrow array": (too_wide, lambda: (np.arange(9, dtype=np.int64), np.zeros(9, np.uint8))),
    "one object": (which, lambda: (np.array([0.0, -0.0]), np.zeros(5))),
    "NaN": (which, lambda: (np.array([np.nan, 1.0]), np.zeros(5))),
    "no iteration": (which, lambda: (np.array([1.0, 2.0]), np.zeros(0))),
    "a number that stays": (same_number, lambda: (np.zeros(5), 3.5)),
    "unlike behind the loop": (unlike_behind, lambda: (np.array([1.0, 2.0, -3.0]),)),
    "unlike behind no loop": (unlike_behind, lambda: (np.zeros(0),)),
    "key": (with_key, lambda: (np.array([1.0, -2.0, 3.0]),)),
    "of sequences": (of_pairs, lambda: (np.array([1.0, -2.0, 3.0]),)),
    "ints beyond 64 bits": (large_ints, lambda: (np.zeros(60), 5)),
    "TypeError": (raises, lambda: (np.array([1, 2, 3, 4]),)),
    "of arrays": (first_of_equals, lambda: (np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((4, 3)))),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("backend", BACKENDS)
def test_hostile_extremes(name: str, backend: str) -> None:
    fn, arguments = HOSTILE[name]
    require_equal(
        fn, arguments, compile=dynamo_lite.compile, compile_options={"backend": backend, "options": OPTIONS}, calls=3
    )
