"""Loops that warn, raise or decline, with odd arguments, and what explain() says of loops."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, relaxed, rng


class Model:
    """Holds arrays that a method changes."""

    def __init__(self, size: int) -> None:
        self.a = rng(size).random(size)
        self.b = np.zeros(size)

    def step(self, h: float) -> None:
        self.b[...] = self.a * h
        self.a += self.b


def advance(model: Any, n: int) -> Any:
    for _ in range(n):
        model.step(0.125)
    return model.a, model.b


def outside_is_read(x: Any, n: int) -> Any:
    for i in range(n):
        x[i] += 1.0
        x *= 0.5
    return x


def divides(x: Any, n: int) -> Any:
    for i in range(n):
        x = x / (x - i)
    return x


def overflows(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x + x[::-1]
    return x


def writes_to_broadcast(x: Any, n: int) -> Any:
    y = x.copy()
    for _ in range(n):
        y[0] = 1.0
        y = np.broadcast_to(x, x.shape)
    return y


def first_iteration_raises(x: Any, n: int) -> Any:
    y, total = np.zeros(3), 0
    for i in range(n):
        total = total + y[5 - i] * x
    return total


def outgrows_64_bits(x: Any, n: int) -> Any:
    k = 2**61
    for _ in range(n):
        x = x * 0.5
        k += 2**61
    return x, k


def outgrows_a_byte(x: Any, n: int) -> Any:
    x = (x * 0.0).astype(np.uint8)
    for i in range(200, 200 + n * 8):
        x = x + i
    return x


def around_a_native_loop(x: Any, n: int) -> Any:
    for i in range(n):
        print(i)
        for j in range(n + 9):
            x = x * 0.5 + j
    return x


def returns_early(x: Any, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    if x[0] > 2.0:
        return x
    return -x


def bounds_of_a_fixed_number(x: Any, n: int) -> Any:
    for i in range(n):
        for _ in range(min(n, 12)):
            if i == 50:
                continue
            x = x * 0.5
    return x


ODD: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "method": (advance, lambda n: (Model(5), n)),
    "index error": (outside_is_read, lambda n: (np.ones(6), n)),
    "division warns": (divides, lambda n: (np.arange(5.0), n)),
    "read-only broadcast": (writes_to_broadcast, lambda n: (np.arange(5.0), n)),
    "read-only argument": (outside_is_read, lambda n: (np.broadcast_to(np.ones(3), (60, 3)), n)),
    "peeled iteration raises": (first_iteration_raises, lambda n: (np.ones(2), n)),
    "64 bits": (outgrows_64_bits, lambda n: (np.ones(2), n)),
    "a byte": (outgrows_a_byte, lambda n: (np.ones(2), n)),
    "printing around": (around_a_native_loop, lambda n: (np.ones(2), n)),
    "branch behind": (returns_early, lambda n: (np.ones(2), n)),
    "bounds of a fixed number": (bounds_of_a_fixed_number, lambda n: (np.ones(2), n)),
    "empty": (relaxed, lambda n: (np.ones((0, 3)), n)),
    "one element": (relaxed, lambda n: (np.ones(1), n)),
    "0-d": (relaxed, lambda n: (np.array(2.0), n)),
    "numpy scalar": (relaxed, lambda n: (np.float32(2.0), n)),
    "complex": (relaxed, lambda n: (np.arange(3) * 1j, n)),
    "bool": (relaxed, lambda n: (np.ones(3, bool), n)),
    "strided": (relaxed, lambda n: (np.arange(12.0).reshape(3, 4)[::2, ::-1], n)),
    "python number": (relaxed, lambda n: (2.0, n)),
    "numpy count": (relaxed, lambda n: (np.ones(2), np.int64(n))),
    "list": (relaxed, lambda n: ([1.0], n)),
}


@pytest.mark.parametrize("mode", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ODD)
def test_odd(name: str, backend: str, mode: str) -> None:
    fn, args = ODD[name]
    require_equal(
        fn,
        lambda: args(4),
        variants=[lambda n=n: args(n) for n in (0, 1, 2, 9, 30)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        conditions=Conditions(errstate={"all": mode}),
    )


def test_explain_says_what_became_of_each_loop() -> None:
    def mixed(x: Any, n: int) -> Any:
        for i in range(n):
            x = x * 0.5 + i
        for _ in range(20):
            x = x + 1.0 if x is None else x * 0.5
        for _ in range(n + 100):
            x = x + 1.0
            print(end="")
        return x

    fast = dynamo_lite.compile(mixed, backend="reference", options=OPTIONS)
    fast(np.ones(3), 4)
    text = str(fast.explain())
    assert ": native" in text and "one segment an iteration: print writes output" in text
    assert [record.outcome for record in fast.explain().loops] == ["native", "native", "segments"]
    assert "<h4>Loops</h4>" in fast.explain().to_html()


def test_a_condition_on_the_index_is_guarded_where_it_is_hardest_to_meet() -> None:
    def windows(x: Any, n: int) -> Any:
        total = np.zeros(3)
        for i in range(n):
            total = total + x[i : i + 3]
        return total

    fast = dynamo_lite.compile(windows, backend="reference", options=OPTIONS)
    for n in (3, 0, 1, 6, 2):
        assert fast(np.arange(8.0), n).tobytes() == windows(np.arange(8.0), n).tobytes()
    assert fast.stats()["compiles"] == 1
    with pytest.raises(ValueError, match="broadcast"):
        fast(np.arange(8.0), 7)


def test_a_long_loop_that_declines_weighs_more_than_short_ones_that_do_not() -> None:
    def through(x: Any, n: int) -> Any:
        return overflows(x, n)  # of which the loop cannot be left

    for _ in range(10):  # NB: on a busy machine a short call may seem to take as long as many long ones
        code = through.__code__.replace()
        fast: Any = dynamo_lite.compile(types.FunctionType(code, globals()), options=OPTIONS)
        with pytest.warns(RuntimeWarning, match="overflow"):
            for _ in range(20):
                for _ in range(4):
                    fast(np.ones(3), 5)
                fast(np.ones(3), 200_000)
        counted = _C.counters(code)
        if counted["declines"] == 16:
            break
    assert counted["retired"] == 1 and counted["declines"] == 16
