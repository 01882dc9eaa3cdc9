"""Functions of doubles and complex numbers that kernels compute without the C library where its result is certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite._C import count_nearest
from tests.conftest import budget
from tests.oracle import Conditions, require_equal

OPTIONS = {"options": {"cost_model": False, "num_threads": 1}}
FUNCTIONS = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos}
ROUNDS = budget("NEAREST_FUZZ", 4)
Make = Callable[[np.random.Generator, int], Any]
KINDS: dict[str, Make] = {
    "units": lambda draw, n: draw.random(n),
    "normal": lambda draw, n: draw.standard_normal(n) * 3.0,
    "next to 1": lambda draw, n: 1.0 + draw.standard_normal(n) * 2.0 ** draw.integers(-52, 0, n),
    "binades": lambda draw, n: draw.standard_normal(n) * 2.0 ** draw.integers(-40, 30, n),
    "all binades": lambda draw, n: np.abs(draw.standard_normal(n)) * 2.0 ** draw.integers(-1040, 1022, n),
    "large": lambda draw, n: draw.uniform(-720.0, 720.0, n),
    "quarters": lambda draw, n: draw.integers(-(2**18), 2**18, n) * (np.pi / 4) + draw.integers(-2, 3, n) * 1e-9,
    "integers": lambda draw, n: draw.integers(-300_000, 300_000, n).astype(float),
    "small integers": lambda draw, n: draw.integers(-9, 9, n).astype(float),
    "powers of two": lambda draw, n: 2.0 ** draw.integers(-1000, 1000, n),
    "multiples of log(2)": lambda draw, n: draw.integers(-1000, 1000, n) * np.log(2.0),
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.0**-26, 2.0**18, 1e22, 1e300, 709.8, -745.2]


def is_served(name: str) -> bool:
    """Whether this processor's NumPy has that function from the C library, and kernels serve it."""
    x = np.linspace(0.5, 1.5, 1000)
    before = count_nearest()
    program(name)(x)
    return count_nearest() > before


def program(name: str) -> Any:
    """The function and a multiplication, as a kernel."""
    function = FUNCTIONS[name]
    return dynamo_lite.compile(lambda x: function(x) * 1.0, **OPTIONS)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits(name: str, kind: str) -> None:
    draw = np.random.default_rng(len(name) + len(kind))
    fast = program(name)
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS):
            x = KINDS[kind](draw, 50_000)
            assert fast(x).tobytes() == FUNCTIONS[name](x).tobytes()
    assert fast.stats()["native_calls"] == ROUNDS


def test_what_is_served() -> None:
    """With AVX-512 NumPy has exp, log and power without the C library."""
    features = getattr(np, "_core", np)._multiarray_umath.__cpu_features__
    can = bool(features["AVX2"] and features["FMA3"])
    for name in FUNCTIONS:
        assert is_served(name) == (can and (name in ("sin", "cos") or not features["AVX512F"])), name
    before = count_nearest()
    dynamo_lite.compile(lambda x: x**1.25 * 2.0, **OPTIONS)(np.linspace(0.5, 1.5, 1000))  # type: ignore[arg-type]
    assert (count_nearest() > before) == (can and not features["AVX512F"])
    before = count_nearest()
    dynamo_lite.compile(lambda x: np.exp(1j * x) * 2.0, **OPTIONS)(np.linspace(0.5, 1.5, 1000))  # type: ignore[arg-type]
    assert (count_nearest() > before) == can


REAL_PARTS: dict[str, Make] = {
    "none": lambda draw, n: np.copysign(np.zeros(n), draw.random(n) - 0.5),
    "normal": KINDS["normal"],
    "large": lambda draw, n: draw.uniform(-750.0, 712.0, n),
    "tiny": lambda draw, n: draw.standard_normal(n) * 2.0 ** draw.integers(-1060, -20, n),
    "special": lambda draw, n: draw.choice(SPECIAL, n),
}


@pytest.mark.parametrize("kind", ["units", "normal", "binades", "all binades", "quarters", "integers"])
@pytest.mark.parametrize("part", REAL_PARTS)
def test_complex_numbers(part: str, kind: str) -> None:
    draw = np.random.default_rng(len(part) + len(kind))
    fast: Any = dynamo_lite.compile(lambda z: np.exp(z).conj(), **OPTIONS)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        for n in (50_000,) * ROUNDS + (7, 8, 9, 511, 513):
            z = REAL_PARTS[part](draw, n) + 1j * KINDS[kind](draw, n)
            assert fast(z).tobytes() == np.exp(z).conj().tobytes()
            assert fast(z[::-3]).tobytes() == np.exp(z[::-3]).conj().tobytes()
    assert fast.stats()["native_calls"]


EXPONENTS: dict[str, Make] = {
    "one": lambda draw, n: np.float64(draw.choice([1.5, 0.25, -0.733, 1 / 3, 2.5, -4.0, 0.5, 2.0, 3.0, 7.0])),
    "some": lambda draw, n: draw.choice([0.5, 2.0, -1.0, 1.0, 0.0, 3.5, -2.25], n),
    "normal": lambda draw, n: draw.standard_normal(n) * 3.0,
    "large": lambda draw, n: draw.standard_normal(n) * 2.0 ** draw.integers(-60, 20, n),
}


@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_powers(kind: str, exponents: str) -> None:
    draw = np.random.default_rng(len(exponents) + len(kind))
    fast: Any = dynamo_lite.compile(lambda x, y: np.power(x, y) * 1.0, **OPTIONS)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS):
            x, y = KINDS[kind](draw, 50_000), EXPONENTS[exponents](draw, 50_000)
            assert fast(x, y).tobytes() == np.power(x, y).tobytes()
    assert fast.stats()["native_calls"] == ROUNDS


def test_strides_of_powers() -> None:
    def f(x: Any, y: Any) -> Any:
        return x[::2] ** y[::-2][: len(x[::2])], x[::-1] ** 1.7, x**y, 1.3**y

    draw = np.random.default_rng(8)
    for n in (1, 7, 8, 9, 127, 511, 512, 513, 2000):
        x, y = draw.random(n) + 0.5, draw.standard_normal(n)
        require_equal(f, lambda x=x, y=y: (x.copy(), y.copy()), compile=dynamo_lite.compile, compile_options=OPTIONS)


@pytest.mark.parametrize("state", ["ignore", "warn"])
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_reported(name: str, special: float, state: str) -> None:
    """One number among others, which set no flag."""
    x = np.linspace(0.5, 1.5, 300)
    x[217] = special
    function = FUNCTIONS[name]

    def f(x: Any) -> Any:
        return function(x) * 1.0

    under = Conditions({"all": state})
    require_equal(f, lambda: (x.copy(),), compile=dynamo_lite.compile, compile_options=OPTIONS, conditions=under)


@pytest.mark.parametrize("state", ["ignore", "warn"])
@pytest.mark.parametrize("special", [0j, -0j, 1 + 1e-9j, -699.9 + 1e-6j, -746 + 1j, 709.9 + 1j, 1 + 1e300j, 1e300j])
def test_what_complex_numbers_report(special: complex, state: str) -> None:
    """One number among others, which set no flag; also where a product of parts underflows."""
    z = np.linspace(0.5, 1.5, 300) * (1.0 + 1.0j)
    z[217] = special

    def f(z: Any) -> Any:
        return np.exp(z).conj()

    for one in (z, np.where(np.arange(300) == 217, complex(np.nan, 1.0), z), np.where(z == 1.0 + 1.0j, np.inf, z)):
        require_equal(
            f,
            lambda one=one: (one.copy(),),
            compile=dynamo_lite.compile,
            compile_options=OPTIONS,
            conditions=Conditions({"all": state}),
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides_and_lengths(name: str) -> None:
    function, draw = FUNCTIONS[name], np.random.default_rng(3)

    def f(x: Any, out: Any) -> Any:
        function(x, out=out)
        return function(x[::2]) + function(x[::-2][: len(x[::2])]), function(out)

    for n in (1, 2, 7, 8, 9, 11, 127, 128, 129, 130, 131, 1000):
        x = draw.random(n) + 0.5
        require_equal(f, lambda x=x: (x.copy(), np.empty_like(x)), compile=dynamo_lite.compile, compile_options=OPTIONS)
        require_equal(f, lambda x=x: ((y := x.copy()), y), compile=dynamo_lite.compile, compile_options=OPTIONS)
