"""Kernels that go through rows: every length of a row beside those of vectors and tiles, every way that rows can lie.

The last elements of a row are computed as a vector of which only some lanes count; what the others do must not show, in
floating-point flags least of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import compile, llvm_text

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import Conditions, Report, check

Array = Any
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 26, 33, 63, 64, 65, 257, 1025, 2100)
DTYPES = ("f8", "f4", "i1", "u2", "i4", "i8", "?", "c16", "f2")
FLAGGED = {"all": "raise"}


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    return (rng.integers(1, 60, shape) if dtype[0] in "iu" else rng.uniform(0.5, 2.0, shape)).astype(dtype)


def layouts(rows: int, n: int, dtype: str) -> dict[str, Array]:
    """Arrays of shape (rows, n), or that spread over it."""
    return {
        "gaps": numbers((rows, n + 2), dtype)[:, 1:-1],
        "every second": numbers((rows, 2 * n), dtype, 1)[:, ::2],
        "reversed": numbers((rows, n), dtype, 2)[:, ::-1],
        "rows reversed": numbers((rows, n), dtype, 3)[::-1],
        "columns": numbers((n, rows), dtype, 4).T,
        "one row": numbers((n,), dtype, 5),
        "one column": numbers((rows, 1), dtype, 6),
        "number": numbers((1, 1), dtype, 7),
    }


def same(fn: Callable[..., Any], *pairs: tuple[Array, ...], errors: dict[str, str] | None = None) -> Report:
    """Check fn with each of the arguments, in one compiled function."""
    first, *others = (copies_of(*arrays) for arrays in pairs)
    whatever_pays = {"options": {"cost_model": False}}
    report = check(
        fn,
        first,
        compile=dynamo_lite.compile,
        compile_options=whatever_pays,
        variants=others,
        conditions=Conditions(errors or {}),
    )
    assert report.equal, report
    assert report.stats["native_calls"], report.compiled.explain()
    return report


def arithmetic(x: Array, y: Array) -> Array:
    return x * y + y


def chosen(x: Array, y: Array) -> Array:
    return np.where(x > y, x, y)


def called(x: Array, y: Array) -> Array:
    return np.exp(x * y) + np.sin(y)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("fn", (arithmetic, chosen, called))
def test_lengths_and_layouts(fn: Callable[..., Any], n: int) -> None:
    """Arithmetic, a choice and NumPy's loops over rows of n elements, each pair of layouts, no flag reported."""
    arrays = layouts(5, n, "f8")
    first = arrays.pop("gaps")
    for other in arrays.values():
        report = same(fn, (first, other), (other, first), errors=FLAGGED)
        assert report.stats["declines"] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (3, 10, 26, 70))
def test_dtypes(dtype: str, n: int) -> None:
    arrays = layouts(6, n, dtype)
    first = arrays.pop("gaps")
    for other in arrays.values():
        same(chosen if dtype != "c16" else arithmetic, (first, other))


def scaled_in_place(x: Array, y: Array) -> Array:
    z = x - y
    z *= y
    z += x
    return z


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", (2, 3, 4, 7, 8, 9))
def test_many_short_rows(dtype: str, n: int) -> None:
    """Packed rows that run as one long one, beside what is one for a row and a row that is one for all."""
    rows = 1700 // n
    arrays = layouts(rows, n, dtype)
    first = numbers((rows, n), dtype)
    others = (arrays["one column"], arrays["one row"], arrays["rows reversed"], arrays["gaps"], first[:, 1:2])
    for fn in (chosen, arithmetic, scaled_in_place):
        if not ((fn is chosen and dtype == "c16") or (fn is not chosen and dtype == "?")):
            same(fn, *((first, other) for other in others), *((other, first) for other in others[:2]))


def test_a_short_row_scaled_by_its_own_element() -> None:
    def own(x: Array) -> Array:
        x *= x[:, :1]
        x[:, 1:] += x[:, :1]
        return x

    same(own, (numbers((900, 3), "f8"),), (numbers((90, 3), "f8"),))


@pytest.mark.parametrize("at", (0, 511, 699))
def test_an_element_among_many_short_rows_reports(at: int) -> None:
    def quotient(x: Array, y: Array) -> Array:
        return x / y + y

    good, divisor = numbers((700, 3), "f8"), numbers((700, 1), "f8")
    assert same(quotient, (good, divisor), errors=FLAGGED).stats["declines"] == 0
    bad = divisor.copy()
    bad[at] = 0.0
    assert "FloatingPointError" in same(quotient, (good, divisor), (good, bad), errors=FLAGGED).raised


@pytest.mark.parametrize("n", (3, 9, 11, 30))
@pytest.mark.parametrize("at", (1, -2))
def test_only_elements_report(n: int, at: int) -> None:
    """Lanes behind the last element report nothing; an element that divides by zero does, wherever it is."""

    def quotient(x: Array, y: Array) -> Array:
        return x / y - np.sqrt(x)

    good = layouts(4, n, "f8")["gaps"]
    divisor = numbers((4, n + 2), "f8")
    divisor[:, (0, -1)] = 0.0  # beside the elements
    report = same(quotient, (good, divisor[:, 1:-1]), errors=FLAGGED)
    assert report.stats["declines"] == 0
    divisor[2, at] = 0.0
    report = same(quotient, (good, good), (good, divisor[:, 1:-1]), errors=FLAGGED)
    assert "FloatingPointError" in report.raised


@pytest.mark.parametrize("n", (3, 9, 11, 30))
def test_not_a_number(n: int) -> None:
    """NaNs with payloads of their own, in the vectors and behind them: NumPy's choice between two."""
    x, y = (numbers((4, n + 2), "f8", seed) for seed in (1, 2))
    for number, array in enumerate((x, y)):
        array.view("u8")[::2, 1::2] = 0x7FF8_0000_0000_0001 + number
        array.view("u8")[1, :] = 0xFFF8_0000_0000_0007 + number
    good = numbers((4, n + 2), "f8")[:, 1:-1]
    for fn in (arithmetic, chosen):
        same(fn, (good, good), (x[:, 1:-1], y[:, 1:-1]))


@pytest.mark.parametrize("n", (3, 9, 11, 30, 300))
def test_stores(n: int) -> None:
    """Rows that are written in place, at other places of what is read, and with a step."""

    def in_place(x: Array, y: Array) -> None:
        x[1:-1, 1:-1] *= y[1:-1, 1:-1]
        x[:, 1:] = x[:, :-1] + y[:, 1:]
        y[1:, ::2] = x[:-1, ::2] * 0.5
        y[:, ::-1] += x

    same(in_place, (numbers((6, n + 2), "f8"), numbers((6, n + 2), "f8", 1)))


@pytest.mark.parametrize("n", (5, 26, 400))
def test_numbers_of_rows(n: int) -> None:
    """A number for each row where NumPy's loop looks whether it stays."""

    def powers(x: Array, y: Array, z: Array) -> Array:
        return x**y + np.power(x, z) + np.hypot(x, y)

    arrays = layouts(7, n, "f8")
    exponents = np.array([2.0, 0.5, 1.0, 3.0, -1.0, 0.0, 2.5])[:, None]
    same(powers, (arrays["gaps"], exponents, arrays["one row"]))
    cube = numbers((3, 7, n + 1), "f8")[:, :, 1:]
    same(powers, (cube, exponents, np.array([2.0, 0.5, 3.0])[:, None, None]))


@pytest.fixture
def number_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor that has no vectors under a mask."""
    monkeypatch.setattr(llvm_text, "can_mask", lambda itemsize: False)
    monkeypatch.setattr(compile, "_STATE", compile._State())


@pytest.mark.usefixtures("number_by_number")
@pytest.mark.parametrize("n", (1, 3, 9, 26, 257))
def test_without_masks(n: int) -> None:
    test_lengths_and_layouts(arithmetic, n)
    test_lengths_and_layouts(called, n)
    test_only_elements_report(max(n, 3), 1)
    test_not_a_number(n + 1)
    test_stores(n + 2)


def test_addresses_of_rows_are_multiplied_once_and_not_stepped() -> None:
    def many(a: Array, b: Array, c: Array) -> Array:
        return np.exp((a * b + c) / (a + b)) * (a - b + c)

    fast = dynamo_lite.compile(many, options={"cost_model": False})
    written: list[str] = []
    load = compile._Engine.load

    def noting(self: Any, text: str, *how: Any) -> Any:
        written.append(text)
        return load(self, text, *how)

    arrays = [numbers((40, 30), "f8", seed)[:, 1:-1] for seed in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile._Engine, "load", noting)
        result = fast(*arrays)
    assert result.tobytes() == many(*arrays).tobytes()
    (text,) = [one for one in written if ".row.index = " in one]
    products = [line.partition(" = ")[2] for line in text.splitlines() if " = mul i64 " in line]
    assert len(products) == len(set(products)), text
    assert 'call i64 asm "", "=r,0"' in text
