"""Loops that data ends, and choices on data inside loops: programs, trip counts, conditions that are NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, loops_in, matrix, registry, rng, two, vector

CASES, case = registry()


# -- what one way leaves as it was -------------------------------------------------------------------


@case(lambda count, size: (rng(size).random(count + 2),))
def place_of_the_largest(x: Any) -> Any:
    best = x[0]
    at = 0
    for i in range(1, x.shape[0]):
        if x[i] > best:
            best = x[i]
            at = i
    return best, at


@case(lambda count, size: (rng(size).random((count + 2, size)),), loops=2)
def place_in_two_axes(x: Any) -> Any:
    best = x[0, 0]
    row = column = hits = 0
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
                row, column = i, j
            elif x[i, j] < 0.1:
                hits += 1
    return best, row, column, hits


@case(lambda count, size: (rng(size).random(count + 2), 0.7))
def last_above(x: Any, tol: float) -> Any:
    k = 0
    found = False
    while k < x.shape[0]:
        if x[k] > tol:
            found = True
        k += 1
    return k, found


# -- while ---------------------------------------------------------------------------------------------


@case(lambda count, size: (rng(size).random(size), 2.0**-count * 0.5), counts=(3, 1, 2, 5, 40))
def relaxes(x: Any, tol: float) -> Any:
    err = 1.0
    while err > tol:
        xn = x * 0.5 + 0.25
        err = np.abs(xn - x).max()
        x = xn
    return x, err


@case(lambda count, size: (rng(size).random(size), 1e-9, count), counts=(3, 1, 2, 5, 40))
def relaxes_a_while(x: Any, tol: float, n: int) -> Any:
    err = 1.0
    k = 0
    while k < n and err > tol:
        xn = x * 0.5 + 0.25
        err = np.abs(xn - x).max()
        x = xn
        k += 1
    return x, err, k


@case(vector, versions=2)
def counts_down(x: Any, n: int) -> Any:
    while n > 0:
        x = x * 0.5 + n
        n -= 1
    return x


@case(lambda count, size: (rng(size).random((size, size)), 2.0**-count * 0.5), counts=(3, 1, 2, 5, 30))
def jacobi(grid: Any, tol: float) -> Any:
    err = 1.0
    sweeps = 0
    while err > tol:
        old = grid.copy()
        grid[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        err = np.abs(grid - old).max()
        sweeps += 1
    return sweeps


@case(lambda count, size: (rng(size).random((size, size)), 2.0**-count * 0.5), counts=(3, 1, 2, 5), loops=3)
def gauss_seidel(grid: Any, tol: float) -> Any:
    change = 1.0
    while change > tol:
        old = grid.copy()
        for i in range(1, grid.shape[0] - 1):
            for j in range(1, grid.shape[1] - 1):
                grid[i, j] = 0.25 * (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1])
        change = np.abs(grid - old).max()
    return grid


@case(lambda count, size: (rng(size).random((size, size)), rng(1).random(size), 10.0**-count), counts=(3, 1, 2, 8))
def power_iteration(a: Any, x: Any, tol: float) -> Any:
    change = 2.0
    while change > tol:
        y = a @ x
        y = y / np.sqrt((y * y).sum())
        change = np.abs(y - x).max()
        x = y
    return x


def definite(count: int, size: int) -> tuple[Any, ...]:
    a = rng(size).random((size, size))
    return a @ a.T + size * np.eye(size), rng(count).random(size), count


@case(definite, counts=(3, 1, 2, 5, 40))
def conjugate_gradient(a: Any, b: Any, n: int) -> Any:
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    for _ in range(n):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if new < 1e-20:
            break
        p = r + (new / rs) * p
        rs = new
    return x


@case(lambda count, size: (rng(size).random((4 * size, 2)), rng(size).random((3, 2)), count), counts=(3, 1, 2, 20))
def k_means(points: Any, centres: Any, n: int) -> Any:
    k = 0
    while k < n:
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        near = distance.argmin(axis=1)
        weights = (near[:, None] == np.arange(3)[None, :]) * 1.0
        new = (weights.T @ points) / (weights.sum(axis=0)[:, None] + 1e-30)
        shift = np.abs(new - centres).max()
        centres = new
        if shift < 1e-12:
            break
        k += 1
    return centres


@case(lambda count, size: (rng(size).random(size) + 1.0, 1e-12), counts=(1, 2))
def newton(y: Any, tol: float) -> Any:
    x = y
    step = np.abs(y)
    far = True
    while far:
        new = 0.5 * (x + y / x)
        step = np.abs(new - x)
        x = new
        far = step.max() > tol
    return x, step


@case(lambda count, size: (count + 1,), counts=(3, 26, 6, 96, 870))
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:  # noqa: SIM108
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(lambda count, size: (np.float64(-1.0), np.float64(2.0 + size), 10.0**-count), counts=(3, 1, 2, 12))
def bisection(low: Any, high: Any, tol: float) -> Any:
    going = True
    while going:
        middle = (low + high) * 0.5
        if middle * middle * middle - 2.0 < 0.0:
            low = middle
        else:
            high = middle
        going = high - low > tol
    return low, high


# -- choices -------------------------------------------------------------------------------------------


@case(vector)
def largest(x: Any, n: int) -> Any:
    best = x[0]
    for i in range(x.shape[0]):
        if x[i] > best:
            best = x[i]
    return best


@case(lambda count, size: (rng(size).standard_normal(size), -0.5, 0.5))
def clips(x: Any, low: float, high: float) -> Any:
    for i in range(x.shape[0]):
        if x[i] < low:
            x[i] = low
        elif x[i] > high:
            x[i] = high
    return x


@case(two)
def keeps_the_larger(x: Any, y: Any, n: int) -> Any:
    for i in range(n):
        y = y * 0.75 + 0.1
        x = x * 0.5 if x.sum() > y.sum() else x + y * i
    return x


@case(two)
def stores_where(x: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        if x[0] > y[0]:
            x[1:] *= 0.5
            x[0] = 0.25
        else:
            y[:2] += x[:2]
    return None


@case(vector)
def chained(x: Any, n: int) -> Any:
    for i in range(n):
        if (0.2 < x[0] < 0.8 and i % 2 == 0) or not x[1] > 0.5:  # noqa: SIM108
            x = x * 0.5
        else:
            x = x + 0.125
    return x


@case(vector)
def continues(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.75 + 0.1
        if x[0] > 0.3:
            continue
        x = x + i
    return x


@case(vector)
def finds(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5
        if x[0] < 0.05:
            break
    return x


@case(lambda count, size: (rng(size).integers(0, 4, size), rng(size + 1).integers(0, 4, size + 1)), loops=4)
def levenshtein(a: Any, b: Any) -> Any:
    table = np.zeros((a.shape[0] + 1, b.shape[0] + 1), np.int64)
    for i in range(1, a.shape[0] + 1):
        table[i, 0] = i
    for j in range(1, b.shape[0] + 1):
        table[0, j] = j
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                least = table[i - 1, j]
                if table[i, j - 1] < least:
                    least = table[i, j - 1]
                if table[i - 1, j - 1] < least:
                    least = table[i - 1, j - 1]
                table[i, j] = 1 + least
    return table


@case(lambda count, size: (rng(size).random((size, size)) * 2.5 - 1.5, count), counts=(3, 1, 2, 20), loops=3)
def mandelbrot(grid: Any, n: int) -> Any:
    out = np.zeros(grid.shape, np.int64)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            z = grid[i, j]
            for k in range(n):
                if z * z > 4.0:
                    out[i, j] = k
                    break
                z = z * z + grid[i, j]
    return out


@case(matrix)
def flags(x: Any, n: int) -> Any:
    done = False
    k = 0
    while not done:
        x = x * 0.5
        k += 1
        if x.max() < 0.01 or k > n:
            done = True
    return x, k


@case(vector)
def truths(x: Any, n: int) -> Any:
    left = x.sum()
    for i in range(n):
        if left:
            x = x * 0.5
        left = left - left if i == 1 else left
    return x


# -- what stays as it was ------------------------------------------------------------------------------


@case(vector, versions=2)
def has_else(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5 + 1.0
        if x[0] > 1.9:
            break
    else:
        x = x - 1.0
    return x


@case(vector)
def returns_early(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5 + 1.0
        if x[0] > 1.9:
            return n
    return x


@case(vector)
def of_two_types(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        if x[0] > 0.5:
            s = x[0]
        x = x * 0.75 + 0.1 * i
    return s


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)


# -- conditions that are NaN, identity, warnings --------------------------------------------------------


def until_nan(x: Any, n: int) -> Any:
    err = np.float64(1.0)
    k = 0
    while err > 1e-3 and k < n:
        x = x * 0.5
        err = np.abs(x).max()
        k += 1
    return x, err, k


def truth_of_nan(x: Any, n: int) -> Any:
    for _ in range(n):
        if x[0]:  # noqa: SIM108
            x = x + 1.0
        else:
            x = x - 1.0
    return x


def divides(x: Any, n: int) -> Any:
    for i in range(n):
        if x[i] != 0.0:
            x[i] = 1.0 / x[i]
    return x


def divides_all(x: Any, n: int) -> Any:
    k = 0
    while k < n:
        if k >= 2:
            x[k] = 1.0 / x[k - 2]
        k += 1
    return x


def same_number(low: float, high: float, n: int) -> Any:
    for i in range(n):
        middle = 0.5 * (low + high)
        if middle * middle < 2.0 + i * 0.0:
            low = middle
        else:
            high = middle
    return low, high


def holed(count: int) -> Any:
    return [np.array([0.0, np.nan, 1.0, 0.0, -0.0, np.inf, 2.0]), count]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [until_nan, truth_of_nan, divides, divides_all])
def test_special_values(fn: Any, backend: str) -> None:
    variants = [lambda n=n: holed(n) for n in (0, 1, 2, 3, 7)]  # type: ignore[misc]
    variants.append(lambda: [np.array([np.nan, 0.0, 0.5, 0.0, 1.0, 2.0, 3.0]), 5])
    require_equal(
        fn,
        lambda: [np.arange(1.0, 8.0), 5],
        variants=variants,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=1,
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_stay_the_objects_that_they_are(backend: str) -> None:
    fast = dynamo_lite.compile(same_number, backend=backend, options=OPTIONS)
    low, high = 1.0, float("2.5")
    for n in (9, 1, 2, 30):
        plain, found = same_number(low, high, n), fast(low, high, n)
        assert found == plain
        assert [one is other for one, other in zip(found, (low, high), strict=True)] == [
            one is other for one, other in zip(plain, (low, high), strict=True)
        ]


def test_explain_tells_of_a_while() -> None:
    fast = dynamo_lite.compile(relaxes, options=OPTIONS)
    fast(np.arange(4.0), 0.1)
    text = str(fast.explain())
    assert "in relaxes: native" in text
    (segment,) = fast._compilation.segments
    assert loops_in(segment.capture.graph) == 1
    assert "while=True" in str(segment.capture.graph)


# -- an inner loop's break that begins the next iteration of the outer one; otherwise it returns -----------


def row_without(x: Any, least: float) -> Any:
    for i in range(len(x)):
        for j in range(x.shape[1]):
            if x[i, j] < least:
                break
        else:
            return i
    return -1


def while_in_while(x: Any, least: float) -> Any:
    i = 0
    while i < len(x):
        j = 0
        while j < x.shape[1]:
            if x[i, j] < least:
                break
            j += 1
        else:
            return i
        i += 1
    return -1


def for_in_while(x: Any, least: float) -> Any:
    i = 0
    while i < len(x):
        i += 1
        for j in range(x.shape[1]):
            if x[i - 1, j] < least:
                break
        else:
            return i
    return -1


def while_in_for(x: Any, least: float) -> Any:
    for i in range(len(x)):
        j = 0
        while j < x.shape[1]:
            if x[i, j] < least:
                break
            j += 1
        else:
            return i
    return -1


def three_deep(x: Any, least: float) -> Any:
    for i in range(len(x)):
        for j in range(x.shape[1]):
            k = 0
            while x[i, j] > least and k < 5:
                k += 1
                if x[i, k] > 1.5:
                    break
            else:
                if k:
                    return i, j, k
                break
        else:
            return i
    return -1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [row_without, while_in_while, for_in_while, while_in_for, three_deep])
def test_a_break_to_the_loop_around(fn: Any, backend: str) -> None:
    x = np.random.default_rng(1).random((9, 7))
    x[5] += 1.0
    require_equal(
        fn,
        lambda: [x.copy(), 0.5],
        variants=[lambda least=least: [x.copy(), least] for least in (0.0, 0.125, 3.0)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=1,
    )
