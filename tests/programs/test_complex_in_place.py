"""Complex arithmetic into its own operands, by other loops of NumPy: overlapping views, NaNs, errors, loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, registry, rng

CASES, case = registry()


def arrays(count: int, size: int) -> tuple[Any, ...]:
    one = rng(size).normal(size=(4, size, size)) + 1j * rng(size + 1).normal(size=(4, size, size))
    return one, rng(size + 2).normal(size=(size, size)), 0.5 - 0.25j, count


@case(arrays)
def polynomial(h: Any, x: Any, z: Any, n: int) -> Any:
    total = np.zeros(x.shape, dtype=np.complex128)
    for i in range(n):
        total += np.power(z, 1.5 - i) * h[1]
        total *= 0.5
        total -= x
    return total


@case(arrays)
def iterates(h: Any, x: Any, z: Any, n: int) -> Any:
    a, c = h[0], h[1]
    for _ in range(n):
        np.multiply(a, a, a)
        np.add(a, c, a)
        a /= 1.0 + np.abs(a)
    return h


@case(arrays)
def neighbours(h: Any, x: Any, z: Any, n: int) -> Any:
    for _ in range(n):
        h[1:] *= h[:-1]
        h[:, ::-1] += h * 0.25
        h[0] *= 0.125
    return h


@case(arrays)
def reads_before_and_after(h: Any, x: Any, z: Any, n: int) -> Any:
    for _ in range(n):
        before = h[0] + 1.0
        whole = h[0] * h[1]
        h[0] *= 0.5j
        h[2] = before - whole + h[0]
    return h


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted(CASES))
def test_loops(name: str, backend: str) -> None:
    check(CASES[name], backend)


def all_operators(a: Any, b: Any) -> Any:
    a += b
    a *= a
    a -= b * 0.5
    a /= b + 2.0
    a **= 2
    a *= 1j
    np.multiply(a, b, a)
    np.reciprocal(a, out=a)
    return a, b


def overwritten(a: Any, b: Any) -> Any:
    kept = a * 2.0
    a *= b
    a[...] = kept
    a[...] = 1.0
    return a, kept


def to_real(a: Any, b: Any) -> Any:
    a += b
    b += a
    return a, b


VALUES = np.array([1.0, -0.0, 0.0, np.nan, np.inf, -np.inf, 1e308, 5e-324, -3.5, 2.0, 0.5, -1.0])


def special(code: str = "D") -> Any:
    real, imag = np.meshgrid(VALUES, VALUES)
    made = np.empty(real.shape, np.complex128)
    made.real, made.imag = real, imag
    with np.errstate(all="ignore"):
        return made.astype(code)


OPERANDS = {
    "finite": lambda: (arrays(0, 6)[0], arrays(0, 6)[1] + 1.0),
    "special": lambda: (special(), special()[::-1].copy()),
    "itself": lambda: (lambda a: (a, a))(arrays(0, 5)[0]),
    "reversed views": lambda: (lambda a: (a, a[::-1]))(special()),
    "shifted views": lambda: (lambda a: (a[1:], a[:-1]))(special()),
    "fortran": lambda: (np.asfortranarray(special()), special()),
    "strided": lambda: (special()[::-1, ::2], special()[:, 1::2]),
    "single": lambda: (special("F"), np.complex64(2.0 + 1.0j)),
    "wider": lambda: (special("F"), special()),
    "scalar": lambda: (special(), 1.5),
    "broadcast": lambda: (special(), special()[0]),
    "too large": lambda: (special()[0].copy(), special()),
    "0-d": lambda: (np.array(1.0 + 2.0j), np.array(2.0)),
    "read-only": lambda: (np.broadcast_to(special()[0], (12, 12)), special()),
    "real target": lambda: (VALUES.copy(), special()[1]),
    "empty": lambda: (np.zeros((0, 3), complex), np.zeros((0, 3), complex)),
    "numpy scalar": lambda: (np.complex128(1.0 + 2.0j), np.complex128(2.0)),
}


@pytest.mark.parametrize("errors", [{}, {"all": "raise"}, {"all": "ignore"}], ids=["warn", "raise", "ignore"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [all_operators, overwritten, to_real])
def test_hostile_operands(fn: Any, backend: str, errors: dict[str, str]) -> None:
    first, *rest = OPERANDS.values()
    require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate=errors),
        calls=2,
    )


# -- arrays made otherwise -----------------------------------------------------------------------------


def constructed(n: int) -> Any:
    a = np.ndarray((n, 3), dtype=np.float32)
    b = np.ndarray(n)
    c = np.ndarray(shape=(2, n), dtype=complex, order="F")
    a[...] = 1.5
    b[...] = np.linspace(0, 1, 5, dtype=np.float64)[1]
    c[...] = 2.0
    return a, b, c, np.linspace(0.0, n, 4, dtype=float)


def constructed_over(n: int) -> Any:
    base = np.arange(12.0)
    return np.ndarray((2, n), np.float64, base, 8), np.ndarray((n,), np.float64, base, 0, (16,)), base


def constructed_wrongly(n: int) -> Any:
    return np.ndarray(n - 100)


def spaced_integers(n: int) -> Any:
    return np.linspace(0.0, 2.5, n, dtype=np.int64), np.linspace(0.0, 2.5, n, dtype=np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [constructed, constructed_over, constructed_wrongly, spaced_integers])
def test_arrays_made_otherwise(fn: Any, backend: str) -> None:
    require_equal(
        fn,
        lambda: (3,),
        variants=[lambda: (4,), lambda: (0,), lambda: (1,), lambda: (-1,), lambda: (np.int64(2),), lambda: (True,)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=1,
    )
