"""NumPy's functions in loops that stay loops, where the function beneath NumPy's Python code is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, loops_in, registry, rng

CASES, case = registry()


def system(count: int, size: int) -> tuple[Any, ...]:
    a = rng(size).normal(size=(size, size)) + size * np.eye(size)
    return a, rng(size + 1).random(size), count


@case(system)
def newton(a: Any, b: Any, n: int) -> Any:
    x = np.ones(len(b))
    for _ in range(n):
        step = np.linalg.solve(a + np.diag(2 * x), a @ x + x**2 - b)
        x = x - step
    return x


@case(system)
def filtered(a: Any, b: Any, n: int) -> Any:
    p, x = np.eye(len(b)), b
    for _ in range(n):
        p = 0.1 * p / np.linalg.det(a) + np.eye(len(b))
        k = p @ np.linalg.inv(p + a)
        x = x + k @ (b - x)
    return p, x


@case(system)
def several_sides(a: Any, b: Any, n: int) -> Any:
    for _ in range(n):
        a = np.linalg.solve(a, a * 0.5 + np.eye(len(b))) + a
    return a


@case(system, versions=2)
def eigenvalues(a: Any, b: Any, n: int) -> Any:
    h, total = a + a.T, 0.0
    for _ in range(n):
        w, v = np.linalg.eigh(h)
        total = total + np.linalg.eigvalsh(h * 0.5)[0] + np.linalg.slogdet(h)[1]
        h = h * 0.5 + v @ np.diag(w) @ v.T
    return h, total


@case(system)
def factors(a: Any, b: Any, n: int) -> Any:
    s = a @ a.T
    for _ in range(n):
        c = np.linalg.cholesky(s)
        s = s * 0.5 + c @ c.T
    return s


@case(system, versions=2)
def products(a: Any, b: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        m = np.kron(a, np.eye(2)) + np.kron(np.ones((2, 2)), a)
        total = total + np.trace(m) + m[-1, 0]
        a = a * 0.5
    return total, a


def table(count: int, size: int) -> tuple[Any, ...]:
    return np.sort(rng(size).random(size)), rng(size + 1).random(size), count


@case(table, versions=3)
def interpolated(xp: Any, fp: Any, n: int) -> Any:
    t, y = 0.0, 1.0
    for _ in range(n):
        y = y + 0.1 * (np.interp(t, xp, fp) - y)
        t += 0.07
    return t, y


@case(table)
def sought(edges: Any, x: Any, n: int) -> Any:
    counts = np.zeros(len(edges) + 1, dtype=int)
    for i in range(n):
        counts[np.searchsorted(edges, x[i % len(x)], side="right")] += 1
    return counts


@case(table)
def medians(x: Any, y: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total = total + np.median(x * y) - np.median(x[: 1 + i % 3])
        x = x + y * 0.1
    return total


@case(lambda count, size: (rng(size).random(size * 45), count), versions=2)
def medians_of_parts(x: Any, n: int) -> Any:
    out, width = np.zeros(n), len(x) // n if n else 0
    for i in range(n):
        out[i] = np.median(x[i * width : (i + 1) * width])
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("medians", "medians_of_parts")])
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ignored", ["ignore", "raise"])
def test_other_error_states(name: str, ignored: str) -> None:
    one = CASES[name]
    with np.errstate(all=ignored):  # type: ignore[call-overload]
        require_equal(
            one.fn,
            lambda: one.args(7, 6),
            variants=[lambda: one.args(40, 4), lambda: one.args(3, 6)],
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )


def solved(a: Any, b: Any, n: int) -> Any:
    for i in range(n):
        a[i % 3, :] *= 0.5
        b = np.linalg.solve(a, b) + np.linalg.inv(a)[0]
    return b


def eigen(a: Any, b: Any, n: int) -> Any:
    for _ in range(n):
        w, v = np.linalg.eigh(a)
        b = b + w
        a = a + v
    return a, b


def decomposed(a: Any, b: Any, n: int) -> Any:
    for _ in range(n):
        b = np.linalg.cholesky(a) @ b + np.linalg.det(a)
    return b


@pytest.mark.parametrize("fn", [solved, eigen, decomposed])
@pytest.mark.parametrize("state", ["warn", "ignore", "raise"])
def test_singular_and_odd_matrices(fn: Callable[..., Any], state: str) -> None:
    """What NumPy raises comes from it, at the user's line, whatever floating-point errors are ignored."""
    good = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])
    odd = [good, np.zeros((3, 3)), np.full((3, 3), np.nan), good * 1e200, good * 1e-310, -good]
    odd.append(np.diag([1.0, np.inf, 2.0]))
    with np.errstate(all=state):  # type: ignore[call-overload]
        require_equal(
            fn,
            lambda: (good.copy(), np.ones(3), 4),
            variants=[lambda a=a: (a.copy(), np.ones(3), 4) for a in odd],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        )


def kron(a: Any, b: Any) -> Any:
    return np.kron(a, b), np.kron(b, a + 1.0)


def test_kron_of_any_layout() -> None:
    a, b = rng(1).random((3, 4)), rng(2).random((2, 5))
    pairs = [(a, b), (a.T, b), (np.asfortranarray(a), np.asfortranarray(b)), (a[::2, ::-1], b[:, 1:]), (a[:, :1], b)]
    pairs += [(a.astype("f"), b), ((a * 9).astype(int), b), (a[:0], b), (a[0], b), (a, 2.5), (a * 1j, b), (a, b[0])]
    require_equal(
        kron,
        lambda: pairs[0],
        variants=[lambda pair=pair: pair for pair in pairs],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
    )


def middle(rows: Any) -> Any:
    out = []
    for i in range(len(rows)):
        out.append(np.median(rows[i]))
    return out


@pytest.mark.parametrize("state", ["warn", "ignore", "raise"])
def test_odd_medians(state: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324, 1e-308, 2.0]
    pick = rng(3)
    rows = [np.array(pick.choice(values, size=(7, size))) for size in (1, 2, 3, 4, 5, 8, 30)]
    rows += [np.array(pick.choice(values[:4], size=(40, size))) for size in (2, 3, 10, 31)]
    rows += [np.asfortranarray(rows[-1]), rows[-1][:, ::-2], rows[3][::2]]
    with np.errstate(all=state):  # type: ignore[call-overload]
        require_equal(
            middle,
            lambda: (rng(1).random((5, 6)),),
            variants=[lambda one=one: (one.copy("K"),) for one in rows],  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        )


def test_parts_of_an_array_by_their_number() -> None:
    """Whether i * (n // m) is negative does not change from one iteration to the next."""
    fast = dynamo_lite.compile(medians_of_parts, options=OPTIONS)
    x = rng(5).random(4000)
    for n in (40, 10, 200):
        assert fast(x, n).tobytes() == medians_of_parts(x, n).tobytes()
    assert loops_in(fast._compilation.segments[-1].capture.graph) == 1  # type: ignore[attr-defined]
