"""Inner functions that live on at a graph break, or behind the segment, keep the variables that they share."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

OPTIONS = {"cost_model": False}


def reads(x: Any) -> Any:
    k = x * 2.0

    def inner(y: Any) -> Any:
        return y + k * 0.5

    z = inner(x) + 1.0
    print("one")
    w = inner(z) * 2.0
    k = k + 1.0
    print("two")
    return inner(w) + k


def counts(x: Any) -> Any:
    n = 3

    def count() -> int:
        nonlocal n
        n += 1
        return n

    y = x * 2.0 + 1.0
    print(count())
    y = y * n + 1.0
    n = 10
    print(count())
    return y * n


def calls_itself(x: Any) -> Any:
    k = x * 2.0 + 1.0

    def g(depth: int) -> Any:
        return k * 0.5 if depth == 0 else g(depth - 1) + 1.0

    print("made")
    z = k * x
    print("used")
    return z + g(2)


def two_share(x: Any) -> Any:
    k = x + 1.0

    def put(y: Any) -> None:
        nonlocal k
        k = y

    def get() -> Any:
        return k * 1.0

    print("made")
    put(get() * 2.0)
    print("put")
    put(get() + k)
    return get() - x


def made_in_a_loop(x: Any) -> Any:
    functions = []
    for i in range(3):

        def scaled(y: Any, i: int = i) -> Any:
            return y * i + m  # noqa: B023

        m = x * i + 1.0
        functions.append(scaled)
        print(i)
    return sum(one(x) for one in functions) * 2.0


def argument(x: Any, k: float = 3.0) -> Any:
    def inner() -> Any:
        return x * k + 1.0  # noqa: F821

    print("made")
    y = inner() + 2.0
    x = y
    print("stored")
    y = inner() * 2.0
    k = 4.0
    try:
        y[100]
    except IndexError:
        y = y + inner()
    del k
    try:
        inner()
    except NameError:
        print("gone")
    return y


def in_containers(x: Any) -> Any:
    k = x * 2.0
    held = {"f": [lambda y: y - k], "g": (lambda: k,)}
    print("made")
    k = held["f"][0](x) * 3.0
    print("stored")
    return held["f"][0](x), held["g"][0]() * 1.0


def not_yet(x: Any) -> Any:
    def inner() -> Any:
        return late * 2.0

    print("made")
    late = x + 1.0
    print("bound")
    return inner() * 2.0


def deletes(x: Any) -> Any:
    n = 3

    def forget() -> None:
        nonlocal n
        del n

    y = x * 2.0 + n
    forget()
    try:
        return y * n
    except NameError as error:
        return y, str(error)


FUNCTIONS = [reads, counts, calls_itself, two_share, made_in_a_loop, argument, in_containers, not_yet]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_at_a_break(function: Callable[..., Any], backend: str, compiler: Callable[..., Any]) -> None:
    report = require_equal(
        function,
        lambda: (np.linspace(0.0, 1.0, 5),),
        variants=[lambda: (np.linspace(0.0, 2.0, 7),)],
        compile=compiler,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=3,
        name=function.__name__,
    )
    assert "cell-variables" not in {record.id for record in report.compiled.explain().skips}
    assert report.stats["native_calls"]


@pytest.mark.parametrize("stress", ["", "break"])
def test_deleting(stress: str) -> None:
    options = {"options": {**OPTIONS, "stress": stress}}
    require_equal(deletes, lambda: (np.ones(3),), compile=dynamo_lite.compile, compile_options=options)


def test_behind_the_segment() -> None:
    def factory(x: Any) -> Any:
        k = x * 2.0 + 1.0

        def g(depth: int) -> Any:
            return k * 0.5 if depth == 0 else g(depth - 1) + 1.0

        def put(y: Any) -> None:
            nonlocal k
            k = y

        return g, put, k * x

    fast = dynamo_lite.compile(factory, options=OPTIONS)
    for size in (4, 4, 9):
        x = np.linspace(0.0, 1.0, size)
        (g, put, _), (plain_g, plain_put, _) = fast(x), factory(x)
        for depth in range(3):
            assert g(depth).tobytes() == plain_g(depth).tobytes()
        put(x)
        plain_put(x)
        assert g(1).tobytes() == plain_g(1).tobytes()
        assert g.__closure__[0].cell_contents is g and g.__closure__[1] is put.__closure__[0]
        assert (g.__name__, g.__qualname__, g.__module__) == (plain_g.__name__, plain_g.__qualname__, __name__)
    assert fast.stats()["native_calls"] == 3


def test_nothing_is_kept_alive() -> None:
    def function(x: Any) -> Any:
        k = x * 2.0

        def inner() -> Any:
            return k + 1.0

        seen.append(weakref.ref(k))
        y = inner() * 2.0
        seen.append(weakref.ref(inner))
        return y

    seen: list[Any] = []
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for _ in range(3):
        x = np.ones(4)
        fast(x)
        seen.append(weakref.ref(x))
        del x
    gc.collect()
    assert [one() for one in seen] == [None] * 9
