"""Loops over single elements and slices: run as machine code, with the bits of plain Python, in any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.schedule.steps import Loop
from tests.oracle import Conditions, Report, require_equal
from tests.programs.loop_cases import OPTIONS, loops_left
from tests.programs.test_random_elements import machines_in, machines_of

Program = Callable[[Any, Any, Any], Any]
PRODUCTS: dict[str, Program] = {}


def product(program: Program) -> Program:
    PRODUCTS[program.__name__] = program
    return program


# Each gets two square arrays of n rows and a vector of n elements.


@product
def triangular(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])


@product
def cholesky(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j] + 4
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(abs(a[i, i]))


@product
def decomposition(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j] + 4
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


@product
def substitution(a, b, x):  # type: ignore[no-untyped-def]
    y = np.zeros_like(x)
    for i in range(a.shape[0]):
        y[i] = x[i] - a[i, :i] @ y[:i]
    for i in range(a.shape[0] - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / (a[i, i] + 4)
    return y


@product
def backwards(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        x[i] = np.dot(a[i, ::-1], b[::-1, i]) + a[::-2, i].dot(b[i, ::-2])


@product
def bounds(a, b, x):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for i in range(n):
        s = a[0, i:] @ b[0, i:] + np.matmul(a[:i, 0], b[:i, 0]) + np.dot(a[0, i : n - 1], b[i : n - 1, 0])
        s = s + a[0, n:i:-1] @ b[0, n:i:-1] + np.dot(a[0, i::-2], b[0, i::-2]) + a[0, i::3] @ a[-1, i::3]
        x[i] = s + a[0, :i:-1] @ b[0, :i:-1] + np.dot(a[0, i : i + 1], b[0, i : i + 1])


@product
def bounds_from_the_end(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(1, a.shape[0] - 1):
        s = a[0, -i:] @ b[0, -i:] + np.matmul(a[:-i, 0], b[:-i, 0]) + np.dot(a[0, 1:-i], b[1:-i, 0])
        x[i] = s + a[0, -i::-1] @ b[-i::-1, 0]


@product
def slices_of_slices(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        rows = a[i:, ::2][::-1]
        x[i] = rows[0, 1:] @ b[i, ::2][1:] - rows[0][:-1] @ b[::2, i][:-1]


@product
def a_choice(a, b, x):  # type: ignore[no-untyped-def]
    s = x[0]
    for i in range(a.shape[0]):
        s = np.dot(a[i, :i], x[:i]) if i % 2 else s * 0.5
        while a[i, i:] @ b[i:, i] > 1:
            a[i, i] = a[i, i] * 0.25
            b[i:, i][0] = 0
            if a[i, i:] @ b[i:, i] > 1:
                a[i, -1] = 0
                break
    return s


@product
def norms(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        x[i] = x[i] / (1 + np.sqrt(a[:, i] @ a[:, i]))
    return x @ x


STATEMENTS: dict[str, Program] = {}


def statement(program: Program) -> Program:
    STATEMENTS[program.__name__] = program
    return program


@statement
def symmetric(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[:i, j] += 1.5 * b[i, j] * a[i, :i]
            x[j] = b[:i, j] @ a[i, :i]
        b[i, :] += 0.5 * b[i, :] * a[i, i] + 1.5 * x


@statement
def elimination(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(i + 1, a.shape[0]):
            a[i + 1 :, j] -= a[i + 1 :, i] * (a[i, j] / (a[i, i] + 4))
        a[i, i + 1 :] = 0


@statement
def gram_schmidt(a, b, x):  # type: ignore[no-untyped-def]
    for k in range(a.shape[1]):
        b[:, k] = a[:, k] / (1 + np.sqrt(np.dot(a[:, k], a[:, k])))
        for j in range(k + 1, a.shape[1]):
            x[j] = np.dot(b[:, k], a[:, j])
            a[:, j] -= b[:, k] * x[j]


@statement
def toeplitz(a, b, x):  # type: ignore[no-untyped-def]
    y = np.zeros_like(x)
    alpha = -x[0]
    beta = 1.0
    y[0] = alpha
    for k in range(1, x.shape[0]):
        beta = beta * (1.0 - alpha * alpha) + 1.5
        alpha = -(x[k] + np.dot(np.flip(x[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@statement
def temporaries(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        t = a[i, :i] * 2
        u = t[::-1] - b[:i, i]
        x[:i] = t
        a[i, :i] = u + x[:i][::-1]
        b[i, i] = t @ u + np.dot(t, t)
        t[:] = u
        x[i] = np.dot(t, x[:i])


@statement
def copies(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        a[i, :] = b[:, i]
        b[i:, i] = a[i, i:]
        a[i, :i] = 0.5
        b[::-1, i] = x[i]
        x[1 : i + 1] = x[:i]


@statement
def functions(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        a[i, :i] = np.exp(-abs(b[:i, i])) + np.sqrt(abs(x[:i])) + i
        b[i] = np.where(b[i] > x, np.minimum(a[i], x), np.floor(b[i] * 3) % 2)
        x[i:] -= np.hypot(a[i, i:], b[i, i:])
        x[:] = np.tanh(x)


@statement
def chosen(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        if x[i] > 0.1:
            a[i, :i] -= b[i, :i] * x[i]
        else:
            a[i, i:] = b[i, i:] + x[i]
            if i % 2 == 0:
                a[i] *= 0.5
        while a[i] @ a[i] > 1:
            a[i] *= 0.5


@statement
def rows(a, b, x):  # type: ignore[no-untyped-def]
    for i in range(1, a.shape[0]):
        row = a[i]
        for j in range(i):
            row[j:] = row[j:] - b[i, j:] * x[j]
            row[: j + 1] *= 0.5


def _offset(array: Any) -> Any:
    around = np.full([size + 3 for size in array.shape], 7, array.dtype)
    inside = around[tuple(slice(2, -1) for _ in array.shape)]
    inside[...] = array
    return inside


def _strided(array: Any) -> Any:
    around = np.repeat(array, 2, axis=-1)
    return around[..., ::2]


def _reversed(array: Any) -> Any:
    flip = (slice(None, None, -1),) * array.ndim
    return array[flip].copy()[flip]


def _padded(array: Any) -> Any:
    record = np.zeros(array.shape, [("x", array.dtype), ("y", np.int8)])
    record["x"] = array
    return record["x"]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda array: array,
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "offset": _offset,
    "unaligned": _padded,
}


def _arguments(n: int, layout: str, dtype: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    arrays = (rng.random((n, n)) - 0.25, rng.random((n, n)) - 0.25, rng.random(n))
    lay = LAYOUTS[layout]
    return tuple(lay((array * (1 if np.dtype(dtype).kind == "f" else 9)).astype(dtype)) for array in arrays)


def run(program: Program, first: Any, *rest: Any, **conditions: Any) -> Report:
    """One program with each of these arguments, as plain Python runs it."""
    return require_equal(
        program,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(**conditions),
        calls=1,
    )


SIZES = (5, 1, 2, 3, 17, 40)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, layout: str, dtype: Any) -> None:
    calls = [lambda n=n: _arguments(n, layout, dtype) for n in SIZES]  # type: ignore[misc]
    report = run(PRODUCTS[name], *calls)
    if layout != "unaligned":
        assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name: str, layout: str, dtype: Any) -> None:
    calls = [lambda n=n: _arguments(n, layout, dtype) for n in SIZES]  # type: ignore[misc]
    report = run(STATEMENTS[name], *calls)
    if layout != "unaligned":
        assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


@pytest.mark.parametrize("name", [*PRODUCTS, *STATEMENTS])
def test_loops_that_are_left(name: str) -> None:
    calls = [lambda n=n: _arguments(n, "C", np.float64) for n in SIZES]  # type: ignore[misc]
    with loops_left(3):
        report = run((PRODUCTS | STATEMENTS)[name], *calls)
    assert report.stats["leaves"] and not report.stats["declines"], report.compiled.explain()


def integers(a: Any, b: Any, x: Any) -> Any:
    for i in range(a.shape[0]):
        x[i] = a[i, :i] @ b[:i, i] + a[i, i::-1] @ b[i, i::-1]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint32])
def test_products_of_integers(dtype: Any) -> None:
    calls = [lambda n=n: _arguments(n, "C", dtype) for n in SIZES]  # type: ignore[misc]
    report = run(integers, *calls, errstate={"all": "ignore"})
    assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


def unequal(a: Any, b: Any, x: Any) -> Any:
    for i in range(a.shape[0]):
        a[i, 0] = 1
        x[i] = a[i, i:] @ b[i:, i] + np.dot(a[i, :2], b[:i, i])


def every_row(a: Any, b: Any, x: Any) -> Any:
    for i in range(a.shape[0]):
        x[i] = a[i, :] @ b[:, i] + np.dot(a[i, :1], b[:1, i])
        x[0] = np.dot(a[i], b[i])


def all_of_both(a: Any, b: Any, x: Any) -> Any:
    s = x[0]
    for _ in range(3):
        s = s + np.dot(a, b) * a[0]
    return s


def summed(a: Any, b: Any, x: Any) -> Any:
    for i in range(a.shape[0]):
        x[:] = a[i] + b[:, i] * x
        a[i, :2] -= 1


def overlapping(a: Any, b: Any, x: Any) -> Any:
    for i in range(2, a.shape[0]):
        a[i, 1:] = a[i, :-1] * 0.5
        a[i] += a[i - 1][::-1]
        x[1:] = x[:-1] + a[i, 1:]


def two_views(a: Any, b: Any, x: Any) -> Any:
    for i in range(1, a.shape[0]):
        one, other = a[i, 1:], a[i, :-1]
        for _ in range(3):
            one += other * x[i]
            other -= 1


def wrapping(a: Any, b: Any, x: Any) -> Any:
    for i in range(1, a.shape[0]):
        a[i, i:] = a[i, i:] * b[i, i:] + x[i] - (a[i - 1, i:] << 3)
        x[:i] += a[i, :i] // 3


def long_rows(a: Any, b: Any, x: Any) -> Any:
    for i in range(1, a.shape[0]):
        x[i:] = x[i:] * 0.5 + b[i, :-i]
        x[0] = np.dot(a[i, i:], b[i, i:])
        for j in range(5 * i):
            a[i, j] = a[i, j] - x[j + 1] * b[i, j]


NAN = np.float64("nan")


def _filled(value: Any, other: Any, dtype: Any = np.float64) -> Any:
    def arguments() -> tuple[Any, ...]:
        a, b = np.ones((4, 4), dtype), np.ones((4, 4), dtype)
        a[1], b[:, 1] = value, other
        return a, b, np.zeros(4, dtype)

    return arguments


def _views_of_one() -> tuple[Any, ...]:
    base = np.random.default_rng(1).random((6, 6))
    return base[:5, :5], base[1:, 1:], base[0, 1:]


HOSTILE: dict[str, tuple[Program, Any]] = {
    "unlike lengths": (unequal, lambda: _arguments(5, "C", np.float64)),
    "overflow": (every_row, _filled(1e200, 1e200)),
    "overflow of narrow floats": (every_row, _filled(1e30, 1e30, np.float32)),
    "underflow": (every_row, _filled(1e-200, 1e-200)),
    "infinity and zero": (every_row, _filled(np.inf, 0.0)),
    "infinities": (every_row, _filled([np.inf, -np.inf, 1, 1], 1)),
    "one NaN": (every_row, _filled(NAN, 1)),
    "two NaNs": (every_row, _filled(NAN, -NAN)),
    "equal NaNs": (every_row, _filled(NAN, NAN)),
    "zeros with a sign": (every_row, _filled(-0.0, 1)),
    "read-only": (every_row, lambda: (*_arguments(4, "C", np.float64)[:2], np.broadcast_to(np.float64(1), 4))),
    "rows repeated": (every_row, lambda: (np.broadcast_to(np.arange(4.0), (4, 4)), np.ones((4, 4)), np.zeros(4))),
    "elements repeated": (every_row, lambda: (np.broadcast_to(np.float64(0.1), (9, 9)), np.ones((9, 9)), np.zeros(9))),
    "views of one array": (cholesky, _views_of_one),
    "views of one array, one written": (triangular, _views_of_one),
    "one array twice": (triangular, lambda: (_arguments(5, "C", np.float64)[0],) * 2 + (np.zeros(5),)),
    "overflow of slices": (summed, _filled(1e200, 1e200)),
    "underflow of slices": (summed, _filled(1e-200, 1e-200)),
    "infinities in slices": (summed, _filled([np.inf, -np.inf, 1, 1], 1)),
    "one NaN in slices": (summed, _filled(NAN, 1)),
    "two NaNs in slices": (summed, _filled(NAN, -NAN)),
    "equal NaNs in slices": (summed, _filled(NAN, NAN)),
    "read-only slices": (summed, lambda: (np.ones((4, 4)), np.ones((4, 4)), np.broadcast_to(np.float64(1), 4))),
    "a read-only array": (summed, lambda: (np.broadcast_to(np.ones(4), (4, 4)), np.ones((4, 4)), np.ones(4))),
    "slices of other lengths": (summed, lambda: (np.ones((4, 4)), np.ones((5, 4)), np.ones(4))),
    "one element for all": (summed, lambda: (np.ones((4, 4)), np.ones((1, 4)), np.ones(4))),
    "arrays of one element": (summed, lambda: (np.ones((1, 1)), np.ones((1, 1)), np.ones(1))),
    "a vector that is a row": (summed, lambda: (lambda a: (a, np.ones((4, 4)), a[2]))(np.ones((4, 4)))),
    "slices that overlap": (overlapping, lambda: _arguments(6, "C", np.float64)),
    "two views of a row": (two_views, lambda: _arguments(6, "C", np.float64)),
    "integers that wrap": (wrapping, lambda: _arguments(6, "C", np.int8)),
    "narrow slices": (summed, lambda: (np.ones((4, 4), np.float32), np.ones((4, 4)), np.zeros(4))),
    "complex slices": (summed, lambda: (np.full((4, 4), 1j), np.full((4, 4), 2 + 1j), np.full(4, 1j))),
    "unlike dtypes": (every_row, lambda: (np.ones((4, 4), np.float32), np.ones((4, 4)), np.zeros(4))),
    "long vectors": (all_of_both, lambda: (np.linspace(0, 1, 40000), np.linspace(2, 3, 40000), np.zeros(4))),
    "no elements": (all_of_both, lambda: (np.zeros(0), np.zeros(0), np.zeros(4))),
}


@pytest.mark.parametrize("errstate", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("name", HOSTILE)
def test_what_leaves(name: str, errstate: str) -> None:
    program, arguments = HOSTILE[name]
    squares = (every_row, cholesky, triangular, summed, overlapping, two_views)
    harmless = (lambda: _arguments(5, "C", np.float64),) if program in squares else ()
    run(program, arguments, *harmless, errstate={"all": errstate})


@pytest.mark.parametrize("length", [300, 40000])
def test_elements_beside_long_slices(length: int) -> None:
    def arguments() -> tuple[Any, ...]:
        rng = np.random.default_rng(length)
        return rng.random((4, length)), rng.random((4, length)), rng.random(length)

    report = run(long_rows, arguments)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    programs = [entry.program for entry in _C.entries(report.compiled.__wrapped__.__code__)]
    loops = [step for program in programs for step in program.schedule.steps if isinstance(step, Loop)]
    assert loops and all(loop.machine is not None and machines_in(loop.body) for loop in loops)


def stored_around_a_view(a: Any, b: Any, x: Any) -> None:
    for i in range(1, a.shape[0]):
        rest, turned = x[i:], a[i, ::-1]
        for j in range(a.shape[0] - i):
            s = b[i, j] * 2
            rest[j] = s
            x[i + j] = 7.0
            rest[j] = s
            t = s + 1
            turned[j] = t
            a[i, j] += 1
            turned[j] = t


def stored_around_a_view_in_a_choice(a: Any, b: Any, x: Any) -> None:
    for i in range(1, a.shape[0]):
        rest = x[i:]
        s = b[i, i] * 2
        if b[i, 0] > 0:
            t = s + 1
            rest[0] = t
            x[i] = 7.0
            rest[0] = t


def stored_around_a_view_of_a_temporary(a: Any, b: Any, x: Any) -> None:
    for i in range(1, a.shape[0]):
        fresh = x * 2
        turned = fresh[::-1]
        for j in range(a.shape[0]):
            s = b[i, j] * 3
            fresh[j] = s
            turned[j] = s + 1
            fresh[j] = s
        a[i] = fresh


@pytest.mark.parametrize(
    "program", [stored_around_a_view, stored_around_a_view_in_a_choice, stored_around_a_view_of_a_temporary]
)
def test_stores_around_a_view(program: Program) -> None:
    report = run(program, *[lambda n=n: _arguments(n, "C", np.float64) for n in SIZES])  # type: ignore[misc]
    assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


def sines(a: Any, b: Any, x: Any) -> None:
    for i in range(1, a.shape[0]):
        x[:i] = np.sin(a[i, :i])
        b[i, i] = np.sin(b[i, 0])


def cosines(a: Any, b: Any, x: Any) -> None:
    for i in range(1, a.shape[0]):
        x[:i] = np.cos(a[i, :i])
        b[i, i] = np.cos(b[i, 0])


def test_loops_that_differ_in_the_functions_they_call() -> None:
    for program in (sines, cosines, sines):
        report = run(program, lambda: _arguments(5, "C", np.float64))
        assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


def test_nans_decline_once() -> None:
    fast = dynamo_lite.compile(summed, options=OPTIONS)
    for value, other in ((1.0, 1.0), (NAN, 1.0), (NAN, 2.0), (NAN, 3.0)):
        a, b, x = _filled(value, other)()
        fast(a, b, x)
        plain = _filled(value, other)()
        summed(*plain)
        assert all(one.tobytes() == same.tobytes() for one, same in zip((a, b, x), plain, strict=True))
    assert machines_of(fast) and fast.stats()["declines"] == 1, fast.explain()
