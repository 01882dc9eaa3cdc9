"""Arithmetic of complex numbers in kernels: NumPy's bits and flags, whatever the layout, and no loop of NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels import complexes
from dynamo_lite.backends.kernels.functions import function_of

import dynamo_lite
from dynamo_lite.schedule.steps import Kernel, KernelOp

Array = np.ndarray[Any, Any]

OPTIONS = {"cost_model": False, "check": 1}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -3e-310, 1.7e308, -1e200, 1e-200])
PAYLOAD = np.array([0x7FF8000000000123, 0xFFF8000000000456], np.uint64).view(np.float64)


def polynomial(z: Array, w: Array) -> Any:
    return ((z * 0.5 + w) * z - 2j) * z + np.conj(w)


def quotient(z: Array, w: Array) -> Any:
    return (z - w) / (z + 2 * w)


def chosen(z: Array, w: Array) -> Any:
    return np.where(z == w * w, z, -w * z), z.real**2 + w.imag**2


def squares(z: Array, w: Array) -> Any:
    return np.square(z) + w**2, z * z != w


def through_loops(z: Array, w: Array) -> Any:
    return abs(z * w + 1.0) * np.exp(z * 0.01) * w


def mixed(z: Array, w: Array) -> Any:
    return z * w.real + w.imag * 1j, (z * w.conj()).real


def iterated(z: Array, w: Array) -> Any:
    for _ in range(6):
        z = z * z * 0.5 + w
    return z


def exchanged(z: Array, w: Array) -> Any:
    for _ in range(5):
        z, w = w * 0.5 + z, z - w * 1j
    return z, w


def in_place(z: Array, w: Array) -> Any:
    z = z.copy()
    for i in range(4):
        z[:] = z * w + i
    z -= w * z
    return z


PROGRAMS = (polynomial, quotient, chosen, squares, through_loops, mixed, iterated, exchanged, in_place)


def numbers(rng: np.random.Generator, n: int, dtype: str, special: str = "") -> Array:
    parts = rng.standard_normal((2, n)) * 10.0 ** rng.integers(-3, 4, (2, n))
    if special:
        of = {"plain": SPECIAL[[0, 1, 2, 3]], "all": SPECIAL, "payload": np.concatenate([SPECIAL, PAYLOAD])}[special]
        mask = rng.random((2, n)) < 0.3
        parts[mask] = rng.choice(of, np.count_nonzero(mask))
    made = np.empty(n, complex)
    made.real, made.imag = parts
    with np.errstate(all="ignore"):
        return made.astype(dtype)


def laid_out(values: Array, how: str) -> Array:
    n = len(values)
    if how == "packed":
        return values.copy()
    if how == "rows":
        memory = np.zeros((max(n // 3, 1), 5), values.dtype)
        memory[:, 1:4] = np.resize(values, (len(memory), 3)) if n else 0
        return memory[:, 1:4]
    if how == "columns":
        return np.asfortranarray(np.resize(values, (max(n // 3, 1), 3)) if n else np.zeros((0, 3), values.dtype))
    step = {"apart": 2, "reversed": -1}[how]
    view = np.zeros(n * abs(step), values.dtype)[::step]
    view[...] = values
    return view


def outcome(function: Callable[..., Any], args: tuple[Any, ...], **errors: Any) -> Any:
    """Bits, layouts, warnings, or the exception."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(**errors):
        warnings.simplefilter("always")
        try:
            found = function(*args)
        except FloatingPointError as error:
            return str(error)
    found = found if isinstance(found, tuple) else (found,)
    told = sorted(str(one.message) for one in caught)
    return [(one.dtype, one.shape, one.strides, one.tobytes()) for one in found], told


@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_sizes(program: Callable[..., Any], dtype: str) -> None:
    fast = dynamo_lite.compile(program, options=OPTIONS)
    rng = np.random.default_rng(7)
    for n in (*range(71), 1000, 20000):
        args = numbers(rng, n, dtype), numbers(rng, n, dtype)
        assert outcome(fast, args, all="ignore") == outcome(program, args, all="ignore"), n
    assert fast.stats()["native_calls"] > 60


@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_layouts(program: Callable[..., Any], dtype: str) -> None:
    rng = np.random.default_rng(8)
    for n in (3, 12, 39, 300):
        fast = dynamo_lite.compile(program, options=OPTIONS)
        for hows in (("apart", "packed"), ("packed", "reversed"), ("rows", "columns"), ("columns", "columns")):
            args = tuple(laid_out(numbers(rng, n, dtype), how) for how in hows)
            assert outcome(fast, args, all="ignore") == outcome(program, args, all="ignore"), (n, hows)


@pytest.mark.parametrize("errors", ("ignore", "warn", "raise"))
@pytest.mark.parametrize("special", ("plain", "all", "payload"))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_specials(program: Callable[..., Any], special: str, errors: str) -> None:
    """Also in the kernels that look which NaNs meet, which come behind the first NaN."""
    fast = dynamo_lite.compile(program, options=OPTIONS)
    rng = np.random.default_rng(9)
    for n in (1, 5, 8, 30, 67) * 3:
        args = numbers(rng, n, "D", special), numbers(rng, n, "D", special)
        assert outcome(fast, args, all=errors) == outcome(program, args, all=errors), n


def test_factor_that_overflows() -> None:
    """NumPy fills its last vector with 1+1j, and reports what that becomes."""

    def scaled(z: Array, c: complex) -> Any:
        return z * c + z

    fast = dynamo_lite.compile(scaled, options=OPTIONS)
    for n in (1, 2, 3, 4, 5):
        for c in (complex(1e308, 1.2e308), complex(np.inf, np.inf), complex(np.inf, 1.0), 2.0 + 1j):
            args = np.zeros(n, complex), np.complex128(c)
            assert outcome(fast, args, all="warn") == outcome(scaled, args, all="warn"), (n, c)


def test_equal_nans_do_not_decline() -> None:
    """What diverges becomes one NaN everywhere."""
    fast = dynamo_lite.compile(iterated, options=OPTIONS)
    z = np.full(64, 1e200 + 1e200j)
    for _ in range(4):
        assert outcome(fast, (z, z), all="ignore") == outcome(iterated, (z, z), all="ignore")
    assert fast.stats()["declines"] <= 1


def test_square_of_a_number() -> None:
    """Of a single one NumPy's loop does not fuse."""

    def square(c: complex) -> Any:
        return np.square(c)

    rng = np.random.default_rng(10)
    for _ in range(30):
        c = complex(*rng.standard_normal(2))
        fast = dynamo_lite.compile(square, options=OPTIONS)
        assert fast(c).tobytes() == fast(c).tobytes() == square(c).tobytes()


@pytest.mark.parametrize("char", "FD")
def test_no_loops_of_numpys(char: str) -> None:
    dtype = np.dtype(char)
    for name in sorted(complexes.COMPUTED):
        ufunc: np.ufunc = getattr(np, name)
        ins = (dtype,) * ufunc.nin
        out = (np.dtype(bool),) if name in ("equal", "not_equal") else (dtype,)
        assert complexes.is_compiled(name, ins, out), name
        kernel = Kernel(ins, (KernelOp(name, tuple(range(ufunc.nin)), ins, out),), (ufunc.nin,))
        assert function_of(kernel, "c" * (ufunc.nin + 1), None).loops == ()
    assert not complexes.is_compiled("exp", (dtype,), (dtype,))


def test_what_a_loop_carries_may_be_reversed_at_first() -> None:
    # NumPy's loop of complex64 has other bits for a reversed array; the copy that a loop carries is not reversed.
    def squared(z: Any, n: int, b: Any) -> Any:
        for i in range(n):
            b[i] = b[i - 1] + (1, 2)
            z = z.conj() * z
        return z

    rng = np.random.default_rng(0)
    for dtype in (np.complex64, np.complex128):
        for n in (3, 5, 16, 300):
            z = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
            fast = dynamo_lite.compile(squared, options={"cost_model": False})
            for _ in range(2):
                for layout in (z, z[::-1], np.repeat(z, 2)[::2]):
                    expected = squared(layout, 3, np.zeros((6, 2)))
                    assert fast(layout, 3, np.zeros((6, 2))).tobytes() == expected.tobytes()
            assert fast.stats()["native_calls"]


LAYOUTS: tuple[Callable[[Any], Any], ...] = (
    *(lambda z: z, lambda z: z[::-1], lambda z: z[:, ::-1], lambda z: z[::-1, ::-1], np.asfortranarray),
    *(lambda z: np.asfortranarray(z)[::-1], lambda z: np.asfortranarray(z)[:, ::-1]),
    *(lambda z: np.repeat(z, 2, 1)[:, ::2], lambda z: np.repeat(z, 2, 1)[:, ::-2]),
)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("first", LAYOUTS)
def test_matrices_that_are_reversed_along_some_axis(first: Callable[[Any], Any], dtype: Any) -> None:
    def once(a: Any, b: Any, n: int) -> Any:
        return (a.conj() * b + a * (0.5 - 1j)) / (b * b), np.square(a) * b[:1]

    def again(a: Any, b: Any, n: int) -> Any:
        z, s = a, 0.0
        for _ in range(n):
            z = (z * b - z.conj() * a) * 0.5
            s = s + abs(z[0, 0])
        return z, s

    rng = np.random.default_rng(1)
    for function in (once, again):
        fast = dynamo_lite.compile(function, options={"cost_model": False})
        for second in LAYOUTS:
            for shape in ((3, 5), (1, 7), (6, 1)):
                a, b = (
                    layout((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))
                    for layout in (first, second)
                )
                for one, other in zip(fast(a, b, 3), function(a, b, 3), strict=True):
                    assert type(one) is type(other) and one.tobytes() == other.tobytes()
                    assert getattr(one, "strides", None) == getattr(other, "strides", None)
        assert fast.stats()["native_calls"] or first is not LAYOUTS[0]  # a reversed one may decline
