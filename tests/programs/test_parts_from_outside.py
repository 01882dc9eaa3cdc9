"""Arguments that show each other's memory, of which one is written: they are one array to the graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.arrays.parts import index_of
from tests.programs.loop_cases import BACKENDS, OPTIONS

Array = np.ndarray[Any, Any]


class State:
    """What a simulation keeps."""

    def __init__(self) -> None:
        self.U, self.V = whole((12,)), whole((30,))
        self.u, self.v = self.U[1:-1], self.V[::3]


SLICES = (
    *(slice(None), slice(1, -1), slice(2, None), slice(None, -2), slice(0, 4), slice(-4, None), slice(3, 7)),
    *(slice(None, None, 2), slice(1, None, 2), slice(1, -1, 2), slice(None, None, -1), slice(-2, 0, -1)),
    *(slice(None, None, -2), slice(1, None, 3), slice(-1, -4, -1)),
)
KEYS = (*SLICES, 0, 2, -1)


def whole(shape: tuple[int, ...] = (9, 11), order: Any = "C") -> Array:
    array = np.empty(shape, order=order)
    array[...] = np.random.default_rng(5).random(shape)
    return array


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_index_of_every_part_is_found(order: str) -> None:
    array = whole(order=order)
    for index in itertools.product(KEYS, KEYS):
        part = array[index]
        if not part.ndim or 1 in part.shape:
            continue
        found = index_of(array, part)
        assert found is not None, index
        again = array[found]
        assert (again.ctypes.data, again.shape, again.strides) == (part.ctypes.data, part.shape, part.strides)
        # What is at the edges stays there in a bigger array.
        if all(entry in (slice(None), slice(1, -1), slice(2, None), slice(None, -2), 0, -1) for entry in index):
            bigger = whole((14, 17), order)
            assert bigger[found].ctypes.data == bigger[index].ctypes.data and bigger[found].shape == bigger[index].shape


def test_what_is_no_part() -> None:
    array = whole()
    assert index_of(array, array) is None
    assert index_of(array, array.copy()) is None
    assert index_of(array, array.T) is None
    assert index_of(array, array.view(np.int64)) is None
    assert index_of(array, array[2:3]) is None  # nobody knows that a part has one row, when its bounds are counted
    assert index_of(array, array[3:3]) is None
    assert index_of(array[1:-1], array) is None
    assert index_of(array[::2], array[1::2]) is None
    locked = array[1:-1]
    locked.flags.writeable = False
    assert index_of(array, locked) is None


def add_to_part(u: Array, U: Array) -> Any:
    L = U[:-2, 1:-1] + U[2:, 1:-1] - 2.0 * u
    u += 0.25 * L
    return u


def write_whole(u: Array, U: Array) -> Any:
    U *= 0.5
    return u + 1.0


def write_both(u: Array, U: Array) -> Any:
    u[...] = U[1:-1, :-2] * 2.0
    U[0] = u[0, 0]
    return u.sum(), U


def shifted(u: Array, U: Array) -> Any:
    u[1:] = u[:-1] * 0.5
    U[2:-1, 1:-1] += u[:-1]
    return U[0]


def in_a_loop(u: Array, U: Array) -> Any:
    for i in range(5):
        u[i] = U[i, 1:-1] + U[i + 2, 1:-1]
        U[:, 0] += u[0, 0]
    return u


def carried(u: Array, U: Array) -> Any:
    a = u
    for i in range(4):
        U[i] = a[0, 0]
        a = u if i % 2 else a
    return a


def appended(u: Array, U: Array) -> Any:
    out = []
    for i in range(3):
        u[i] = U[i + 1, 1:-1] * 2.0
        out.append(u)
    return out


def chosen(u: Array, U: Array) -> Any:
    for i in range(4):
        a = U[1:-1, 1:-1]
        if U[i, i] > 0.5:
            a = u
        a[i] += U[0, 1:-1]
    return a is u, a


FUNCTIONS = (add_to_part, write_whole, write_both, shifted, in_a_loop, carried, appended, chosen)


def outcome(function: Callable[..., Any], arguments: Callable[[], tuple[Array, Array]], calls: int = 3) -> list[Any]:
    u, U = arguments()
    found: list[Any] = []
    for _ in range(calls):
        result = function(u, U)
        results = result if isinstance(result, tuple | list) else (result,)
        found += [
            (r is u, r is U, getattr(r, "base", None) is U, np.asarray(r).tobytes(), getattr(r, "strides", None))
            for r in results
        ]
        found += [U.tobytes(), u.tobytes()]
    return found


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_parts_of_an_argument(function: Callable[..., Any], backend: str) -> None:
    """Inner parts, in both orders; apart from each other in between; and every other part that fits."""
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)

    def inner(order: Any = "C", shape: tuple[int, int] = (9, 11)) -> Callable[[], tuple[Array, Array]]:
        def made() -> tuple[Array, Array]:
            U = whole(shape, order)
            return U[1:-1, 1:-1], U

        return made

    def apart() -> tuple[Array, Array]:
        return whole((7, 9)), whole()

    def other() -> tuple[Array, Array]:
        U = whole((12, 15))
        return U[3:10, 2:11], U[:9, :11]  # both of a third

    def turned() -> tuple[Array, Array]:
        U = whole()
        return U[-2:0:-1, -2:0:-1], U

    for arguments in (inner(), inner("C", (10, 12)), inner("F"), apart, inner(), other, turned, apart):
        assert outcome(function, arguments) == outcome(fast, arguments)
    stats = fast.stats()
    assert stats["native_calls"] > 0
    if function not in (carried, appended, chosen):  # which hand the part out
        assert stats["native_calls"] == 8 * 3 and stats["declines"] == 0, fast.explain()


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_that_are_attributes(backend: str) -> None:
    def step(state: Any) -> Any:
        state.u += 0.1 * (state.U[:-2] + state.U[2:] - 2.0 * state.u)
        state.v[...] = state.u[::-1]
        return state.u

    fast = dynamo_lite.compile(step, backend=backend, options=OPTIONS)
    found = []
    for function in (step, fast):
        state = State()
        found.append([function(state) is state.u for _ in range(3)] + [state.U.tobytes(), state.V.tobytes()])
    assert found[0] == found[1] and all(found[1][:3])
    assert fast.stats()["native_calls"] == 3 and fast.stats()["declines"] == 0


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
def test_any_two_parts_of_one_array(backend: str) -> None:
    """A store into one of two parts that the caller has made, read through the other, before and behind it."""

    def step(a: Array, b: Array) -> Any:
        s = b * 2.0
        a[...] = s + b[::-1]
        return s + b

    native = 0
    rng = np.random.default_rng(11)
    for _ in range(60):
        n = int(rng.integers(8, 14))
        one, other = (SLICES[int(k)] for k in rng.integers(0, len(SLICES), 2))
        length = min(len(range(n)[one]), len(range(n)[other]))
        outcomes = []
        fast = dynamo_lite.compile(step, backend=backend, options=OPTIONS)
        for function in (step, fast):
            memory = np.arange(float(n))
            a, b = memory[one][:length], memory[other][:length]
            outcomes.append((function(a, b).tobytes(), memory.tobytes()))
        assert outcomes[0] == outcomes[1], (n, one, other)
        native += fast.stats()["native_calls"] > fast.stats()["declines"]
    assert native > 50


@pytest.mark.usefixtures("no_mode")
def test_an_array_that_is_ever_another_part_is_left_alone() -> None:
    """Nobody is warned of recompiles, and each call is right."""

    def add(row: Array, table: Array) -> Any:
        row += table.sum(axis=0)
        return row

    fast = dynamo_lite.compile(add, options=OPTIONS)
    one, other = whole((20, 6)), whole((20, 6))
    for k in range(20):
        assert np.array_equal(add(one[k], one), fast(other[k], other)) and one.tobytes() == other.tobytes()
    assert fast.stats()["compiles"] <= 6
