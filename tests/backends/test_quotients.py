"""Quotients by a known number are products with the parts of its inverse: NumPy's bits whatever is divided.

Where numbers are too small for that, they are divisions from the second call on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import function_of
from dynamo_lite.backends.kernels.quotients import inverse_of, parts_of, rounded

import dynamo_lite
from dynamo_lite._C import abi
from dynamo_lite.program.ir import Element, walk
from dynamo_lite.program.vectorise import Lanes
from tests.oracle import Report, check

Array = Any
WHATEVER_PAYS = {"options": {"cost_model": False}}
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e30, -1e30)
NUMBERS = (3, 5.0, -7.0, 0.1, 1.055, 12.92, 255, 273.15, 2**0.5, -np.pi, 1e-5, 86400, 6.02e17)
HAS_PRODUCTS = inverse_of(3.0, np.dtype("f8")) is not None


def same(fn: Callable[..., Any], *arguments: Any, calls: int = 3, backend: str = "numba") -> Report:
    report = check(
        fn,
        lambda: tuple(one.copy() if isinstance(one, np.ndarray) else one for one in arguments),
        compile=lambda fn, **options: dynamo_lite.compile(fn, backend=backend, **options),
        compile_options=WHATEVER_PAYS,
        calls=calls,
    )
    assert report.equal, report
    return report


@pytest.mark.parametrize("bits", (5, 6, 7, 8))
def test_whether_all_quotients_by_a_number_are_right_is_known(bits: int) -> None:
    """With few bits, all numbers divided by all numbers."""
    all_numbers = range(1 << (bits - 1), 1 << bits)
    refused = 0
    for m in all_numbers[1:]:
        exponent = 2 * bits - 1
        high = Fraction((1 << exponent) // m, 1 << exponent)
        low = rounded(Fraction(1, m) - high, bits)
        right = all(
            rounded(x * high + rounded(x * low, bits), bits) == rounded(Fraction(x, m), bits) for x in all_numbers
        )
        assert parts_of(m, bits) == ((high, low) if right else None), m
        refused += not right
    assert 0 < refused <= len(all_numbers) / 8
    assert parts_of(all_numbers[0], bits) is None  # a power of 2


def test_some_doubles_have_no_such_inverse() -> None:
    rng = np.random.default_rng(2)
    refused = [float(number) for number in rng.uniform(1.0, 2.0, 200) if not inverse_of(number, np.dtype("f8"))]
    assert 2 <= len(refused) <= 30 or not HAS_PRODUCTS
    x = rng.standard_normal(2000)
    for number in refused[:3]:
        assert same(by(number), x).stats["declines"] == 0


def by(number: float) -> Callable[[Array], Array]:
    """A function that has the number in its code: one that comes from outside is not known."""
    namespace: dict[str, Any] = {}
    exec(f"def quotient(x):\n    return (x * 1) / {number!r}", namespace)
    fn: Callable[[Array], Array] = namespace["quotient"]
    return fn


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("number", NUMBERS)
def test_floats(dtype: str, number: float) -> None:
    rng = np.random.default_rng(4)
    x = (rng.standard_normal(5001) * 2.0 ** rng.integers(-20, 20, 5001)).astype(dtype)
    x[: len(SPECIAL)] = SPECIAL
    assert same(by(number), x).stats["declines"] == 0
    near = x[len(SPECIAL) :] * x.dtype.type(number)  # next to what has no digits left over
    for moved in (near, np.nextafter(near, x.dtype.type(0)), np.nextafter(near, x.dtype.type(np.inf))):
        assert same(by(number), moved).stats["declines"] == 0
    assert same(by(number), x.reshape(3, -1)[:, ::2]).stats["declines"] == 0
    assert same(by(number), x[0]).equal


@pytest.mark.parametrize("dtype", ("u1", "i2", "i4", "i8", "?"))
def test_integers(dtype: str) -> None:
    x = (np.arange(3001) * 37 % 1009).astype(dtype)
    assert same(by(255), x).stats["declines"] == 0
    assert same(by(1.055), x).stats["declines"] == 0


def test_nans_are_kept() -> None:
    x = np.linspace(-3.0, 3.0, 1001)
    x[::7] = np.nan
    x[3::7] = -np.nan
    x.view(np.uint64)[5::7] = 0x7FF8000000001234
    assert same(by(5.0), x).equal


@pytest.mark.parametrize("backend", ("numba", "c"))
@pytest.mark.parametrize(("dtype", "small"), (("f8", 1e-305), ("f8", 5e-324), ("f8", 2e-308), ("f4", 1e-37)))
def test_what_is_too_small_is_divided(backend: str, dtype: str, small: float) -> None:
    x = np.linspace(-3.0, 3.0, 1001).astype(dtype)
    x[500] = small
    x[77] = -small * 1.7
    report = same(by(5.0), x, calls=4, backend=backend)
    assert report.stats["declines"] == HAS_PRODUCTS
    assert report.stats["native_calls"] >= 3


def in_a_loop(x: Array, n: int) -> Array:
    for i in range(n):
        y = np.sin(x) / 3.0
        x = np.where(y > 0.1, y, x / 1.7) / 10.0 if i % 2 else y / 1e9
    return x


def reduced(x: Array) -> Any:
    return np.sum(x / 7.0, axis=0), np.sum(x / 7.0), np.max(x / 7.0)


def masked(x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        z = x / 5.0
    return z + y / 3.0


def in_a_branch(x: Array) -> Array:
    if x[0] > 0:
        return x / 11.0 - 1.0
    return x / 13.0 + 1.0


def test_other_places() -> None:
    x = np.linspace(0.5, 3.0, 4000).reshape(40, 100)
    small = x * 1e-304
    for array in (x, small, -x):
        assert same(in_a_loop, array, 50, calls=4).equal
        assert same(reduced, array, calls=4).equal
        assert same(masked, array, x, calls=4).equal
        assert same(in_a_branch, array.ravel(), calls=4).equal


def far_tails(x: Array) -> Any:
    return np.exp(-x * x) + x / 5.0, np.exp(-x * x)


def test_an_underflow_of_another_function_is_no_reason_to_divide() -> None:
    x = np.linspace(-40.0, 40.0, 2000)
    assert same(far_tails, x, calls=4).stats["declines"] == 0
    with np.errstate(under="warn"):
        assert same(far_tails, x, calls=4).equal
    with np.errstate(under="warn", over="raise"):
        assert same(by(5.0), x, calls=4).stats["declines"] == 0


def own_scope(x: Array) -> Any:
    with np.errstate(under="raise"):
        try:
            return np.exp(-x * x) + x / 5.0
        except FloatingPointError as error:
            return str(error)


def test_an_underflow_of_another_function_is_reported_where_it_is_asked_for() -> None:
    x = np.linspace(-40.0, 40.0, 2000)
    assert same(own_scope, x, calls=4).equal
    assert same(own_scope, x / 40, calls=4).equal
    with np.errstate(all="ignore"):
        assert same(own_scope, x, calls=4).equal


def under_raise(x: Array) -> Any:
    with np.errstate(under="raise"):
        try:
            return x / 5.0
        except FloatingPointError as error:
            return str(error)


def under_warn(x: Array) -> Array:
    with np.errstate(under="warn"):
        return x / 0.3 + 1.0


def test_underflow_is_reported() -> None:
    x = np.linspace(0.5, 3.0, 1000)
    for array in [x * scale for scale in (1.0, 1e-290, 1e-304, 5e-308, 1e-318)]:
        for fn in (under_raise, under_warn):
            assert same(fn, array, calls=4).equal


def test_what_kernels_are_asked_for() -> None:
    from dynamo_lite.schedule.steps import Kernel, KernelOp

    f8 = np.dtype(np.float64)
    parts = inverse_of(5.0, f8) or (0.2, 0.0)
    consts = tuple(KernelOp("const", (), (), (f8,), part) for part in parts)
    kernel = Kernel((f8, f8), (*consts, KernelOp("quotient", (0, 1, 2, 3), (f8,) * 4, (f8,))), (4,))
    lanes = Lanes(lambda itemsize: True, lambda itemsize: True)

    def ops(asks: str) -> list[str]:
        function = function_of(kernel, "c0c" + asks, lanes)
        return [node.op for node in walk(function.body) if isinstance(node, Element)]

    assert ops("") == ["quotient"]
    assert ops(abi.ASKS_DIVISION) == ["divide"]
