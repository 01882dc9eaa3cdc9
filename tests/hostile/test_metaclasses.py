"""Classes whose metaclass notices that somebody looks at them: comparing, hashing or asking them runs code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests import watched

seen: list[str] = []


class Noticing(type):
    def __eq__(cls, other: object) -> bool:
        seen.append("eq")
        return cls is other

    def __hash__(cls) -> int:
        seen.append("hash")
        return 7

    def __getattribute__(cls, name: str) -> Any:
        seen.append(name)
        return type.__getattribute__(cls, name)


class Point(metaclass=Noticing):
    def __init__(self, x: float) -> None:
        self.x = x

    def __enter__(self) -> Point:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def step(self, dt: float) -> float:
        self.x += dt * 0.5
        return self.x


class Own(np.ndarray[Any, Any], metaclass=Noticing):
    pass


class Fails(ArithmeticError, metaclass=Noticing):
    pass


def attributes(p: Any, n: int) -> Any:
    s = 0.0
    for _ in range(n):
        s += p.step(0.1) * 2.0
        p.x = p.x * 0.5
    return s


def listed(ps: Any, n: int) -> Any:
    s = 0.0
    for _ in range(n):
        for p in ps:
            p.x = p.x * 0.9 + 0.1
            s += p.x
    return s


def made(cls: Any, n: int) -> Any:
    s = np.zeros(3)
    for i in range(n):
        with Point(0.5) as point:
            s = s + point.x
        try:
            s[i % 3] += 1.0
        except Fails:
            s = s * cls(0.5).x
    return s


def held(x: Any, cls: Any, many: Any) -> Any:
    y = np.sqrt(x) + 1.0
    table = {"a": cls}
    return y * 2.0, table["a"] is cls, many[0] is cls, [cls, *many]


def subclass(a: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        s += a[i % 3] * 1.5
    return s


def shared(cls: Any, n: int) -> Any:
    total, point = 0.0, cls(1.0)

    def add(k: int) -> Any:
        return point.x + k

    for i in range(n):
        total += np.sqrt(i) + add(i)
    return total


CALLS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (attributes, lambda: (Point(1.0), 60)),
    (listed, lambda: ([Point(1.0), Point(2.0)], 40)),
    (made, lambda: (Point, 30)),
    (held, lambda: (np.ones(3), Point, (Point, Fails))),
    (subclass, lambda: (np.arange(3.0).view(Own), 50)),
    (shared, lambda: (Point, 30)),
]


@pytest.mark.parametrize("compiler", [dynamo_lite.compile, watched.compile, watched.compile_loops])
@pytest.mark.parametrize(("plain", "make"), CALLS)
def test_nobody_looks_at_their_classes(plain: Any, make: Any, compiler: Any) -> None:
    compiled = compiler(plain, backend="numba")
    for _ in range(4):
        noticed = []
        for function in (plain, compiled):
            arguments = make()
            seen.clear()
            result = function(*arguments)
            noticed.append(seen.copy())
            noticed.append(repr(result))
        assert noticed[:2] == noticed[2:]
