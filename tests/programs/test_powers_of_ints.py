"""Powers of ints, and shifts, by a number that changes in a loop: exact where 64 bits hold them, floats where the
exponent is negative; beyond that the iteration runs plainly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS


def value_of(bits: Any) -> Any:
    total = 0
    for i, bit in enumerate(bits[::-1]):
        total += bit * pow(2, i)
    return total


def ones(x: int, n: int) -> int:
    count = 0
    for i in range(n):
        count += (x >> i) & 1
    return count


def mixed(low: int, n: int) -> int:
    total = 0
    for i in range(n):
        total += (1 << i) + i**4 - 3 ** (n - i - 1) + (i + low) ** i
    return total


def halves(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += 1 / 2**i + 1.5**i
    return total


def inverses(n: int) -> float:
    total = 0.0
    for i in range(1, n):
        total += 2**-i + 10 ** (-i)
    return total


def powers(base: int, n: int) -> int:
    total = 0
    for i in range(n):
        total = base**i
    return total


CASES = [
    *((value_of, np.random.default_rng(0).integers(0, 2, n)) for n in (1, 12, 40)),
    *((ones, x, n) for x, n in ((12345, 14), (-7, 20), (2**40 + 5, 60))),
    *((mixed, low, n) for low, n in ((1, 12), (-3, 9), (0, 5))),
    *((halves, n) for n in (0, 1, 30, 50)),
    *((inverses, n) for n in (1, 20)),
    *((powers, base, n) for base in (0, 1, -1, 2, 3, -5, 8, 10) for n in (1, 2, 15)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[-1]}"[:20])
def test_powers(case: tuple[Any, ...], backend: str) -> None:
    function, *args = case
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for _ in range(2):
        given, expected = fast(*args), function(*args)
        assert type(given) is type(expected)
        assert repr(given) == repr(expected)
    assert {loop.outcome for loop in fast.explain().loops} <= {"native", "unrolled"}
    assert fast.stats()["declines"] == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("base", [2, -2, 3, 7, 16, 94906265, 2**31])
def test_powers_that_64_bits_or_floats_do_not_hold(base: int, backend: str) -> None:
    fast = dynamo_lite.compile(powers, backend=backend, options=OPTIONS)
    for n in range(2, 70, 1 if base == 3 else 9):
        assert fast(base, n) == powers(base, n)


def shifted(x: int, first: int, n: int) -> int:
    total = 0
    for i in range(first, n):
        total += (x >> i) + (x << i)
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_shifts_that_raise_or_are_far(backend: str) -> None:
    fast = dynamo_lite.compile(shifted, backend=backend, options=OPTIONS)
    for x, first, n in ((5, 0, 9), (5, 0, 70), (-5, 3, 66), (0, 0, 100)):
        assert fast(x, first, n) == shifted(x, first, n)
    with pytest.raises(ValueError, match="negative shift count") as plain:
        shifted(5, -2, 4)
    with pytest.raises(ValueError, match="negative shift count") as found:
        fast(5, -2, 4)
    assert found.traceback[-1].lineno == plain.traceback[-1].lineno


def crossing(first: int, n: int) -> list[Any]:
    out = []
    for i in range(first, n):
        out.append(2**i)
    return out


def test_exponents_of_both_signs() -> None:
    fast = dynamo_lite.compile(crossing, options=OPTIONS)
    for first, n in ((-3, 4), (0, 5), (-5, -1), (-1, 2)):
        assert repr(fast(first, n)) == repr(crossing(first, n))


def series(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += 1.5**i / math.factorial(i)
    return total


def factorials(low: int, n: int) -> int:
    total = 0
    for i in range(low, n):
        total += math.factorial(i)
    return total


def roots(low: int, n: int) -> int:
    total = 0
    for i in range(low, n):
        total += math.isqrt(i * i - 1) + math.isqrt(i * i) + math.isqrt(i)
    return total


def of_two_ints(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += math.pow(2, i) + math.pow(i + 1, -2) + math.trunc(i * -0.7)
    return total


def truncated(x: Any) -> int:
    total = 0
    for i in range(len(x)):
        total += math.trunc(x[i] * 100.0)
    return total


def items_truncated(x: Any) -> int:
    total = 0
    for i in range(len(x)):
        total += math.trunc(x[i])
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        *((series, (n,)) for n in (0, 1, 21, 30)),
        *((factorials, args) for args in ((0, 15), (3, 19))),
        *((roots, args) for args in ((1, 300), (2**24, 2**24 + 50), (94906265, 94906290))),
        (of_two_ints, (20,)),
        (truncated, (np.random.default_rng(0).random(20) - 0.5,)),
    ],
)
def test_functions_of_ints(function: Any, args: tuple[Any, ...], backend: str) -> None:
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for _ in range(2):
        given, expected = fast(*args), function(*args)
        assert type(given) is type(expected)
        assert repr(given) == repr(expected)
    assert [loop.outcome for loop in fast.explain().loops] == ["native"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_no_factorial_raises(backend: str) -> None:
    fast = dynamo_lite.compile(factorials, backend=backend, options=OPTIONS)
    assert fast(0, 9) == factorials(0, 9)
    with pytest.raises(ValueError, match="not defined for negative values"):
        fast(-1, 5)
    assert fast(15, 30) == factorials(15, 30)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalars_that_cannot_be_truncated_raise(backend: str) -> None:
    fast = dynamo_lite.compile(items_truncated, backend=backend, options=OPTIONS)
    for dtype in ("f8", "f4", "i8", "?", "f8"):
        x = np.arange(1, 6).astype(dtype)
        if hasattr(x.dtype.type, "__trunc__"):
            assert repr(fast(x)) == repr(items_truncated(x))
        else:
            with pytest.raises(TypeError, match=f"type numpy.{x.dtype.type.__name__} doesn't define __trunc__ method"):
                fast(x)
    with pytest.raises(TypeError, match="ndarray doesn't define __trunc__"):
        fast(np.ones((3, 1)))


def _shifted(n: int, k: int) -> Any:
    total = 0
    for i in range(n):
        total ^= (3 << (i % 11)) + (i >> (i % 3)) + (1 << k) + (-5 << i % 4) + (1234567 >> k)
    return total, total & (1 << k)


def _from_shift(n: int, k: int) -> Any:
    found = []
    for i in range(n):
        found.append(1 << (k - i))
    return found


def _powers_of_powers(n: int, k: int) -> Any:
    found = []
    for i in range(n):
        found.append((4 ** (i % 8) ^ 16 ** (k % 18), 8**k, type(8**k), 1**k))
    return found


@pytest.mark.parametrize("backend", ["numba", "reference", "c"])
@pytest.mark.parametrize("fn", [_shifted, _from_shift, _powers_of_powers])
def test_shifts_by_what_only_the_run_knows(fn: Any, backend: str) -> None:
    """A power of two is a shift up to 62; beyond that the program declines, and below 0 Python raises."""
    fast = dynamo_lite.compile(fn, backend=backend, options={"cost_model": False})
    for n, k in ((40, 5), (40, 61), (40, 62), (30, 63), (30, 64), (3, 200), (20, 0), (9, 30), (20, 3), (5, -1)):
        for _ in range(2):
            assert _tried(fast, n, k) == _tried(fn, n, k), (n, k)


def _tried(fn: Any, *args: int) -> Any:
    try:
        return fn(*args)
    except ValueError as error:
        return str(error)
