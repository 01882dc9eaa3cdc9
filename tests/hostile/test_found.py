"""Programs that once differed, most of them found by random programs and shrunk; each is its own regression test.

A row is a function and the arguments of its calls. Every one runs on both backends, with and without the cost model,
twice with the same arguments and then with those of the other calls.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynamo_lite.config import config
from tests.copies import copies_of
from tests.oracle import check

Array = Any
Compile = Callable[..., Any]
FOUND: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {}


def found(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a row, with the arguments of each call."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        FOUND[function.__name__] = function, list(calls)
        return function

    return add


@pytest.mark.parametrize("cost_model", [True, False])
@pytest.mark.parametrize("name", FOUND)
def test_found(name: str, cost_model: bool, backend: str, compiler: Compile) -> None:
    function, calls = FOUND[name]
    first, *others = (copies_of(*call) for call in calls)
    with config.patch(cost_model=cost_model):
        report = check(function, first, compile=compiler, compile_options={"backend": backend}, variants=others)
    assert report.equal, str(report)


class Holder:
    x: Any = 1.0


@found((np.ones(3),))
def array_of_a_class(x: Array) -> Array:
    """No argument may live on in a guard."""
    Holder.x = x
    return Holder.x + 1


@found((np.ones(3), np.ones(3)))
def partial_of_an_argument(x: Array, y: Array) -> Array:
    return functools.partial(np.add, x)(y)


@found((np.ones(3),))
def array_that_warns_when_written(x: Array) -> Array:
    y = np.broadcast_arrays(x, 2.0)[1]
    return y + x


@found((np.full((4, 2), 3), np.ones((4, 2), int)), (np.full((8, 3), 3), np.ones((8, 0), int)))
def store_into_an_empty_array_behind_another(x: Array, y: Array) -> None:
    z = y >= y
    x[...] = x[::-1] + 1
    z[...] = y


@found((np.array([1.0, np.inf]) + 1j,), (np.array([1.0, np.nan]) + 1j,))
def unused_comparison_of_complex(x: Array) -> Array:
    x > 1  # noqa: B015
    return x + x


@found((np.zeros(6),), (np.ones(6),))
def division_that_only_decides_between_the_same(x: Array) -> Array:
    return np.where(x / x > 1, x, x)


@found((np.ones(5, bool),), (np.array([True, False, True]),))
def quotient_of_bools(x: Array) -> Array:
    return np.logical_xor(x, x) / x


@found((np.array([3, 1, 2]),), (np.array([1, 0]),))
def unused_reciprocal(x: Array) -> Array:
    np.reciprocal(x)
    return x * 2


@found((np.linspace(-3, 5, 60)[::2],))
def dot_of_what_was_stored(x: Array) -> Array:
    x += -129
    return x.dot(x), x.sum()


@found((np.array(127, np.int8),), (np.array(1, np.int8),))
def scalar_stored_in_a_small_integer(x: Array) -> Array:
    x[()] += x / x
    return x


@found((np.linspace(-1, 1, 9), np.array(False)), (np.array([-0.0, 0.0, 2.0]), np.array(False)))
def clip_at_a_bool(x: Array, low: Array) -> Array:
    return np.clip(x, low, 1e300)


@found((np.arange(12.0).reshape(4, 3)[:, ::2][:, :1],), (np.ones((1, 1)),), (np.ones((5, 3)).T,))
def reshape_to_the_same(x: Array) -> Array:
    return x.reshape(-1, 1), x.reshape(x.shape)


@found((np.arange(6.0).reshape(2, 3),), (np.ones(3),))
def tile_then_add(x: Array) -> Array:
    y = np.tile(x, 2)
    y += 1
    return y


@found((np.arange(1, 6, dtype=np.uint64),), (np.arange(1, dtype=np.uint64),))
def store_that_overlaps(x: Array) -> Array:
    y = np.exp2(x)
    x[:-1] *= x[1:]
    return y


NAN = np.where(np.arange(30) % 3 == 0, np.nan, 1.0)


@found((NAN, -NAN), (NAN, NAN), (NAN[::2], -NAN[::2]))
def two_nans(x: Array, y: Array) -> Array:
    """NumPy keeps the first, or behind the last whole vector of a packed array the second."""
    return x + y, abs(x) * x, (x * y).sum(), x - y, x / y


@found((np.ones(5), 2.0), (np.ones(5), float("nan")), (-NAN, float("nan")))
def nan_and_a_number(x: Array, y: Any) -> Array:
    return x * y + 1.5, x + y


@found((NAN + 1j, (-NAN + 1j)[::-1]), ((NAN + 1j)[::2], (1j - NAN)[::2]))
def complex_nans(x: Array, y: Array) -> Array:
    return x + y, x * y + y


@found((np.array([[1 + 1j, complex(np.nan, 1)], [complex(-np.nan, 1), 2]]),))
def complex_added_to_its_neighbour(x: Array) -> Array:
    x[:-1] += x[1:]
    return x


@found((np.ones(4), True), (np.ones(4), 3))
def bool_inverted(x: Array, flag: Any) -> Array:
    """Python 3.12 warns of ~True, at the line where it stands."""
    y = x * 2.0
    return y + ~flag


@found((np.ones(6), 3), (np.ones(6), 40))
def more_and_more_axes(x: Array, n: int) -> Array:
    """NumPy takes 64 axes, a compiled program 8."""
    for _ in range(n):
        x = x[None] * 0.5
    return x


@found((np.ones((2,) * 5),))
def axes_in_between(x: Array) -> Array:
    return np.tile(x, (2,) * 5) * 2.0, np.multiply.outer(x, x).sum()


@found((np.ones(3), 2**64), (np.ones(3), -(2**64)), (np.ones(3), 5))
def range_longer_than_64_bits(x: Array, n: int) -> Array:
    x = x * 0.5
    for i in range(n):
        x[i] += 1.0
    for i in range(-(2**63), 2**63 - 1):
        x = x + x[i + 2**63]
    return x


@found((np.ones(3),))
def length_beyond_64_bits(x: Array) -> Array:
    return x * len(range(2**70))


def congruences(p: int, k: int) -> int:
    for _ in range(8):
        p = (p * 1103515245 + k) % 1000003
    return p


@found((np.ones(3), 3), (np.ones(3), 4))
def number_computed_in_many_steps(x: Array, n: int) -> Any:
    """Every step goes through the expression of the steps before."""
    p, q = n, n * 0.5
    for i in range(8):
        for j in range(8):
            p = congruences(p, j)
            q = congruences(q, i)
    return x * p, x * q


@found((np.full((4, 4), 300, np.float16),), (np.ones((4, 4), np.float16),))
def product_of_half_numbers_overflows(x: Array) -> Array:
    """NumPy reports it elsewhere than the products of other numbers."""
    w = x + x
    return w[0] @ w[1], w @ w[2], w @ w, np.matmul(w[3], w)


@found((np.full(4, np.finfo(np.longdouble).max) / 3,))
def product_of_long_doubles(x: Array) -> Array:
    w = x + x
    return w @ w


AWKWARD = np.array([0.0, -0.0, 1.5, -1.5, 0.1, 3.3, 1e-200, 7e18, np.inf, -np.inf, np.nan, -np.nan])


@found(
    (AWKWARD,),
    (np.linspace(0.01, 9, 300).astype(np.float32),),
    (np.linspace(0.01, 9, 300)[::-1],),
    (np.full((2, 3), 1e200),),
    (np.array(2.5),),
    (np.arange(5),),
    (np.linspace(0.01, 9, 300).astype(np.float16),),
    (np.linspace(0.01, 9, 30) * 1j,),
    (np.float64(1.1),),
)
def short_powers(x: Array) -> Array:
    """NumPy multiplies, or takes the root, and reports a power."""
    return x**2.0, np.power(x, 2), np.power(x, 2.0).sum(), x**0.5, np.power(x, 0.5), np.power(x, np.array(2.0)), x**-0.5


@found((np.linspace(0.01, 9, 300),), (np.linspace(0.01, 9, 300).astype(np.float32),))
def powers_into(x: Array) -> Array:
    y = x.copy()
    np.power(x, 2.0, out=y[::-1])
    z = x.copy()
    z **= 2.0
    z **= 0.5
    return y, z, np.power(x, 2.0, dtype=np.float32, casting="same_kind"), np.power(2.0, x)


@found((0.0, 1.0, 5), (1.5, -2.0, 1), (0.0, 1.0, 0), (0, 3, 1000), (0.0, 1.0, -1), (0.0, 1.0, 2.5), (0.0, 1.0, True))
def so_many_points(a: float, b: float, n: int) -> Any:
    x = np.linspace(a, b, n)
    y = np.linspace(b, a, n + 1, endpoint=False)
    return x * 2 + 1, y, x.sum(), np.linspace(0, n, 3), x[:, None] * y


RANDOM = np.random.default_rng(0)


@found((RANDOM.random((5, 7)),), (RANDOM.random((7, 7)),), (RANDOM.random((1, 3)),))
def values_of_rows_that_are_stored(x: Array) -> Array:
    """What is read of a row before the store is read by others, too."""
    y = x - x[0]
    sums, powers = y.sum(axis=0), np.exp(y)
    x[:] = y
    z = x * x[:, 0][:, None]
    most = z.max(axis=0)
    x[:] = z + y
    return sums, powers, most, y


@found((RANDOM.random(3000)[::-1] * 9,), (RANDOM.random((50, 60)).T[::-1],))
def functions_of_what_was_stored(x: Array) -> Array:
    """NumPy reads the array, which is reversed, and not the value that was stored into it."""
    x[:] = x - 1.0
    y = np.exp(x), np.arctan(x)
    x[:] = x * 0.5
    return y, np.tan(x), x + 1.0


@found((RANDOM.random((60, 50))[::-1],), (RANDOM.random((60, 50))[:, ::-1],), (RANDOM.random((9, 200))[:, :70],))
def sines_of_what_was_stored(x: Array) -> Array:
    """NumPy's loop reads rows of a tile as one, which those of the array that is stored into are not."""
    x[:] = x - 1.0
    y = np.sin(x)
    x[:] = x * 0.5
    return y, np.cos(x)


@found(
    ((RANDOM.random((5, 7)) + 1j * RANDOM.random((5, 7))).astype("c8")[::-1, ::-1],),
    ((RANDOM.random((8, 9)) + 1j * RANDOM.random((8, 9)))[:, ::-1],),
)
def products_of_what_was_stored(x: Array) -> Array:
    x[:] = x - 1
    y = x * x
    x[:] = x * x[:, -1:]
    x += y
    return y, x.copy()


@found((np.arange(4.0), np.ones(3)), (np.ones((2, 3)), np.ones((1, 3))))
def arrays_into_elements(x: Array, y: Array) -> Array:
    x[0] = x[1] * y[-1:]
    return x


@found((np.arange(4.0), np.ones((2, 1))), (np.ones((3, 3)), np.ones((1, 1))))
def arrays_into_elements_of_zero_axes(x: Array, y: Array) -> Array:
    x[(0,) * x.ndim + (...,)] = y[:1, 0]
    x[-1] += y[0, 0]
    x[0] = y[0]
    return x


def read_only(size: int) -> Array:
    x = np.arange(size)
    x.flags.writeable = False
    return x


@found((read_only(3),), (read_only(0),))
def tile_of_nothing_is_a_view(x: Array) -> Array:
    """What is read-only stays so, though nothing is written."""
    v = np.tile(x, 2)
    v -= 3
    return v, x


@found((np.array([1.0, 2.0]),), (np.array([2.0, 1.0]),))
def signs_of_bools(x: Array) -> Any:
    less = float(x[0]) < float(x[1])
    x[0] = 5.0
    return +less, -less, abs(less), less


@found((np.array([1.0, 2.0]),), (np.array([2.0, 1.0]),))
def signs_of_bools_in_loops(x: Array) -> Any:
    n = 0
    for i in range(len(x)):
        n += +bool(x[i] > 1.5)
        n -= -bool(x[i] > 1.0)
        x[i] *= 2.0
    return n, +bool(x[0] > 2.0), x


np.square(np.complex128(1.0))  # the first call in a process takes another way through NumPy, and may round otherwise
COMPLEX = np.random.default_rng(1).normal(size=(8, 2)).view(complex).ravel()


@found((COMPLEX,), (COMPLEX[::-1],))
def squares_of_complex_scalars(z: Array) -> Any:
    """NumPy computes them in place, where its loops do not fuse multiplications with additions."""
    found = []
    for i in range(len(z)):
        found.append(np.square(z[i] + 1.0))
        z[i] = np.square(z[i]) * 1j
    return found, z, np.square(z.sum()), np.square(z)


@found((np.int64(-128), 100, 5), (np.int64(-20), 0, 2), (9, 0, 3))
def while_of_two_conditions_before_a_try(p: Any, q: int, n: int) -> Any:
    """CPython puts a NOP in front of `try`, at which the ways around the inner loop meet."""
    i = 0
    while i < n:
        w = 0
        while p < 5 and w < 9:
            p += 1
            w += 1
        try:  # noqa: SIM105
            q = q + 1
        except ZeroDivisionError:
            pass
        i += 1
    return p, q, i


@found((np.arange(6.0), 100), (np.arange(3.0), 5), (np.array([7.0, 1.0]), 0))
def while_in_an_if_before_a_try(x: Array, q: int) -> Any:
    for i in range(len(x)):
        if x[i] < 5:
            while x[i] < 7:
                x[i] += 1
        try:  # noqa: SIM105
            q = q + 1
        except ZeroDivisionError:
            pass
    return x, q


@found((np.arange(6.0), 100), (np.arange(3.0), 5), (np.array([7.0, 1.0]), 0))
def loops_before_a_pass(x: Array, q: float) -> Any:
    for i in range(len(x)):
        if x[i] > 1:
            for j in range(i):
                if x[j] > 2:
                    break
                q += x[j]
        pass
        while q > 3 and x[i] > 0:
            q *= 0.5
        with np.errstate(all="ignore"):
            q = q + 1
    return x, q


@found((np.array([1.5, 2.5]), np.int8), (np.array([300.0, 2.0]), np.int8), (np.array([np.nan, 2.0]), np.int64))
def sequence_given_to_a_type(x: Array, kind: Any) -> Any:
    """It is converted item by item: what does not fit raises."""
    if kind is np.int8:
        return np.int8((x[0] * 1.0, x[1])), np.int8([3, 4])
    return np.int64(np.divmod(x[0], 2))


def _total(*numbers: Any, **named: Any) -> Any:
    return sum(numbers) + sum(named.values())


class _Pairs:
    def keys(self) -> list[str]:
        return ["b", "c"]

    def __getitem__(self, name: str) -> float:
        return 3.0


class _Odd:
    total = staticmethod(_total)

    def own(self, *numbers: Any, **named: Any) -> Any:
        return _total(*numbers, **named)


MAPPINGS: tuple[Any, ...] = ({"b": 2}, {"a": 2}, {}, {3: 4}, None, _Pairs(), [("b", 2)])


@found(*((np.arange(4.0), one) for one in MAPPINGS), *((np.arange(4.0), one) for one in reversed(MAPPINGS)))
def names_that_come_twice(x: Array, named: Any) -> Any:
    """The message of the TypeError has the name of what is called."""
    y, odd = x * 2, _Odd()
    y = y * _total(a=1, **named) + odd.own(1, a=0, **named) * odd.total(x[0], *(1, 2), **named, d=4)
    return y + _total(**{"e": 1}, **named)


@found((np.arange(4.0),))
def keywords_that_there_are_not(x: Array) -> Any:
    made = []
    for program in (
        lambda: [a * x + b for a, b in zip((1, 2), (2, 3), strict=True, foo=1)],  # type: ignore[call-overload]
        lambda: [a * x + b for a, b in itertools.product(range(2), repeat=2, foo=1)],  # type: ignore[call-overload]
        lambda: dict(a=1, **{"a": 2})["a"] * x,
    ):
        try:
            made.append(program())
        except TypeError as error:
            made.append(str(error))
    return made


@found(([], {"a": 1}, np.ones(3)), ({}, {"a": 1}, np.ones(3)), ({}, [], np.ones(3)))
def method_that_lists_do_not_have_in_a_try(one: Any, other: dict[str, int], x: Array) -> tuple[Any, ...]:
    """Of lists and dicts that are about to change, only the type is looked at: it has to have the method."""
    try:
        one.update(other)
        other["a"] += 1
    except (AttributeError, ValueError):
        x = x + 1.0
    return one, other, x * 2.0
