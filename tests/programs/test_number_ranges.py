"""Loops at the ends of what tests were dropped for: sums at the ends of 64 bits, indices from either end, divisions by
zero, choices made selections, NaNs chosen by masks. Bits, types and errors are plain Python's, and arrays are as it
leaves them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS, loops_left
from tests.programs.test_random_elements import machines_of

MOST = (1 << 63) - 1


def counted_sum(x, k, n):  # type: ignore[no-untyped-def]
    """i + k fits at one end alone; x tells how far it came."""
    s = 0
    for i in range(n):
        s = s ^ (i + k)
        x[i] = i
    return s


def counted_difference(x, k, n):  # type: ignore[no-untyped-def]
    s = 0
    for i in range(n, -1, -1):
        s = s ^ (k - i)
        x[i] = i
    return s


def counted_product(x, k, n):  # type: ignore[no-untyped-def]
    s = 0
    for i in range(-2, n):
        s = s ^ (i * k)
        x[i] = i
    return s


def until_left(x, k, n):  # type: ignore[no-untyped-def]
    """The last index is never reached, so its sum need not fit."""
    s = 0
    for i in range(n):
        s = s ^ (i + k)
        x[i] = i
        if i == 2:
            break
    return s


def chosen_sum(x, k, n):  # type: ignore[no-untyped-def]
    """Of the two sides one alone may be too big."""
    for i in range(n):
        if x[i] > 2:  # noqa: SIM108
            k = k + 1
        else:
            k = k - 1
        x[i] = i
    return k


def collatz(x, k, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        k = k >> 1 if k % 2 == 0 else 3 * k + 1
        x[i] = i
    return k


def quotients(x, k, n):  # type: ignore[no-untyped-def]
    s = 0
    for i in range(n):
        s = s + (i + 7) // (i + 1) + (i + 7) % (i + 1) + (i - 3) // 2 + (i - 3) % 5
        x[i] = s
        s = s + 100 % (k - i)
    return s


def either_end(x, k, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        s = s + x[i - k] * x[k - i]
        x[i - 2] = s
    return s


def from_array(x, k, n):  # type: ignore[no-untyped-def]
    s = 0
    for i in range(n):
        s = s + x[x[i]]
        x[i] = x[x[i] - k] + 1
    return s


def same_place(x, k, n):  # type: ignore[no-untyped-def]
    """What was loaded is stored, and loaded again; between, another element may be it."""
    for i in range(n):
        a = x[i]
        x[k] = a + 1
        b = x[i]
        if b > 3:
            x[i] = b - 2
            a = x[i]
        x[i] = a + b + x[k]
    return x[k]


def narrow_sums(x, k, n):  # type: ignore[no-untyped-def]
    """NumPy's integers wrap around and warn."""
    for i in range(1, n):
        x[i] = x[i - 1] + x[i]
        x[i] += 1
    return k


def in_range(x, k, n):  # type: ignore[no-untyped-def]
    counts = 0
    for i in range(n):
        slot = int(x[i])
        if 0 <= slot < n:
            x[slot] = x[slot] + 0.5
        counts = counts + slot
    return counts


def masked(x, k, n):  # type: ignore[no-untyped-def]
    best = x[0]
    least = x[0]
    for i in range(n):
        if x[i] > best:
            best = x[i]
        least = x[i] if not x[i] >= least else least
        x[i] = min(best, x[i]) + max(least, 0.0)
    return best, least


def stretches(x, k, n):  # type: ignore[no-untyped-def]
    """Steps that end on the last index, and beside it."""
    s = 0
    for i in range(0, n, 3):
        for j in range(n, i, -2):
            for m in range(i - 70, j, 65):
                s = s + m * j + i
                if s > k:
                    s = s - k
        x[i] = s
    return s


def while_stretches(x, k, n):  # type: ignore[no-untyped-def]
    i = 0
    steps = 0
    while i < n:
        m = k + i
        while m > 1:
            m = m // 2 if m & 1 else m - 1
            steps += 1
        x[i] = steps
        i += 1
    return steps


def magnitudes(x, k, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        s = s + abs(float(x[i])) * 0.5
        x[i] = s
    return s


INTS = (3, 0, 5, 2, 4, 1, 6, 2)
FLOATS = (0.5, -0.0, 2.5, 7.0, -3.0, 0.0, 1.0, 6.5)
NUMBERS = (0, 1, -1, 3, MOST, -MOST - 1, MOST - 3, -MOST + 2, MOST // 3, -(MOST // 3) - 2, 1 << 62)


def of_ints(function: Callable[..., Any], *numbers: int, dtype: Any = np.int64) -> list[tuple[Any, ...]]:
    return [(function, np.dtype(dtype), INTS, k, n) for k in numbers for n in (0, 1, 3, 8)]


CASES = [
    *(case for fn in (counted_sum, counted_difference, counted_product) for case in of_ints(fn, *NUMBERS)[:40]),
    *of_ints(until_left, MOST - 2, MOST - 1, MOST, 5),
    *(case for fn in (chosen_sum, collatz) for case in of_ints(fn, *NUMBERS)),
    *of_ints(quotients, 2, -5, 9, 100),
    *of_ints(either_end, 0, 1, 7, 8, 9, -3, MOST, -MOST - 1, dtype=np.float64),
    *of_ints(from_array, 0, 1, 3, -7, 12),
    *of_ints(same_place, 0, 2, -1, -8, 8),
    *of_ints(narrow_sums, 1, dtype=np.int8),
    *of_ints(stretches, 10, 1000),
    *of_ints(while_stretches, 1, 9),
    *[(fn, np.dtype(of), FLOATS, 1, n) for fn in (in_range, masked, magnitudes) for of in "fd" for n in (1, 5, 8)],
]


@pytest.mark.parametrize("place", range(0, len(CASES), 8))
def test_at_the_ends(place: int, backend: str) -> None:
    for fn, dtype, numbers, k, n in CASES[place : place + 8]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            require_equal(
                fn,
                lambda dtype=dtype, numbers=numbers, k=k, n=n: (np.array(numbers, dtype), k, n),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": OPTIONS},
                calls=2,
                name=f"{fn.__name__} {k} {n}",
            )


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000000, 0xFFF0000000000000])
def test_a_mask_chooses_and_reports_nothing(bits: int) -> None:
    odd = np.array([bits], np.uint64).view(np.float64)[0]
    for place in range(5):
        for dtype in "fd":
            numbers = np.array(FLOATS).astype(dtype)
            numbers[place] = odd
            for fn in (masked, magnitudes):
                require_equal(
                    fn,
                    lambda numbers=numbers: (numbers.copy(), 1, 8),  # type: ignore[misc]
                    compile=dynamo_lite.compile,
                    compile_options={"options": OPTIONS},
                    calls=2,
                    name=f"{fn.__name__} {odd} {place}",
                )


def test_the_ends_are_native() -> None:
    """Else the above would say nothing."""
    for fn in {case[0] for case in CASES}:
        dtype, numbers = next((case[1], case[2]) for case in CASES if case[0] is fn)
        compiled = dynamo_lite.compile(fn, options=OPTIONS)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(np.array(numbers, dtype), 7 if fn is quotients else 2, 5)
        assert machines_of(compiled), fn.__name__


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("fn", [stretches, while_stretches, masked, counted_sum])
def test_stretches_end_where_somebody_waits(fn: Callable[..., Any], every: int) -> None:
    """Left between any two iterations, a loop goes on as if it had not been."""
    dtype = np.float64 if fn is masked else np.int64
    arguments = [(np.arange(40, dtype=dtype) * 7 % 11, 3, n) for n in (1, 2, 5, 40)]
    expected = [(fn(x := a.copy(), k, n), x.tolist()) for a, k, n in arguments]
    with loops_left(every):
        compiled = dynamo_lite.compile(fn, options=OPTIONS)
        for (a, k, n), (result, array) in zip(arguments, expected, strict=True):
            x = a.copy()
            assert compiled(x, k, n) == result
            assert x.tolist() == array
