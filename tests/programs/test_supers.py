"""super() in methods that are inlined, of objects made here and from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


class Base:
    scale = 2.0

    def __init__(self, x: Any) -> None:
        self.x = x

    def step(self, dt: float) -> float:
        return self.x * dt

    def __add__(self, other: Any) -> Any:
        return type(self)(self.x + other)

    @property
    def double(self) -> Any:
        return self.x * self.scale

    @classmethod
    def made(cls, x: Any) -> Any:
        return cls(x)

    @staticmethod
    def half(x: Any) -> Any:
        return x * 0.5


class Left(Base):
    def __init__(self, x: Any, y: Any = 1.0) -> None:
        super().__init__(x)
        self.y = y

    def step(self, dt: float) -> float:
        return super().step(dt) + self.y

    @property
    def double(self) -> Any:
        return super().double + 1.0

    def halved(self) -> Any:
        return super().half(self.x)

    def other(self) -> Any:
        return super().made(self.y)


class NoArgument(Base):
    @staticmethod
    def by_local() -> Any:
        me = NoArgument(2.0)
        return super().step(me.x)  # type: ignore[misc]

    @staticmethod
    def by_keyword(*, me: Any = None) -> Any:
        return super().step(0.5)  # type: ignore[misc]

    def starred(*args: Any) -> Any:
        return super().step(0.5)  # type: ignore[misc]

    def own_class(self) -> Any:
        return super().__class__


class Right(Base):
    def step(self, dt: float) -> float:
        return super().step(dt) - 3.0


class Both(Left, Right):
    scale = 5.0

    def step(self, dt: float) -> float:
        return super().step(dt) * 0.5

    def explicit(self, dt: float) -> float:
        return super(Left, self).step(dt)  # behind Left: Right

    def moved(self, other: Any) -> float:
        self = other  # noqa: F841
        return super().step(0.5)

    def leaked(self) -> Any:
        above = super()
        return above.step(0.25)

    def missing(self) -> Any:
        try:
            return super().nothing  # type: ignore[misc]
        except AttributeError:
            return "missing"

    def held(self) -> Any:
        return (lambda: self.x)() + super().step(0.125)


def made(n: int) -> tuple[Any, ...]:
    s = Left(1.0, 0.5)
    for _ in range(n):
        s = Left(s.x + 0.1 * s.step(0.01), s.double)
    return s.x, s.y


def diamond(s: Any, n: int) -> tuple[Any, ...]:
    total = 0.0
    for _ in range(n):
        total += s.step(0.01) + s.explicit(0.5) + s.halved()
    return total, s.double, type(s.other()).__name__


def odd(s: Any, n: int) -> tuple[Any, ...]:
    total = 0.0
    for _ in range(n):
        total += s.moved(Both(3.0)) + s.leaked() + s.held()
    return total, s.missing()


def of_arrays(s: Any, n: int) -> Any:
    for _ in range(n):
        s = s + s.step(0.01)
    return s.x


def by_local(x: Any) -> Any:
    return NoArgument(x).by_local() + x


def by_keyword(x: Any) -> Any:
    return NoArgument(x).by_keyword(me=NoArgument(x)) + x


def starred(x: Any) -> Any:
    return NoArgument(x).starred() + x


def own_class(x: Any) -> Any:
    return NoArgument(x).own_class() is super, x * 2.0


NO_ARGUMENT = [by_local, by_keyword, starred, own_class]
COUNTS = (20, 0, 1, 2)
CASES: list[tuple[Callable[..., Any], list[Callable[[], tuple[Any, ...]]]]] = [
    (made, [lambda n=n: (n,) for n in COUNTS]),
    (diamond, [lambda n=n: (Both(0.5, 2.0), n) for n in COUNTS]),
    (odd, [lambda n=n: (Both(0.5, 2.0), n) for n in COUNTS]),
    *((fn, [lambda: (np.arange(3.0),)]) for fn in NO_ARGUMENT),  # the first three raise
    (of_arrays, [lambda n=n, of=of: (of(np.arange(4.0)), n) for n in COUNTS for of in (Base, Left, Right, Both)]),
]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_as_plainly(fn: Callable[..., Any], calls: list[Callable[[], tuple[Any, ...]]]) -> None:
    options = {"options": OPTIONS | {"recompile_limit": 100}}
    require_equal(fn, calls[0], variants=calls[1:], compile=dynamo_lite.compile, compile_options=options)


def test_objects_that_the_program_makes_are_native() -> None:
    fast = dynamo_lite.compile(made, options=OPTIONS)
    assert fast(50) == made(50)
    assert (fast.stats()["breaks"], fast.stats()["native_calls"]) == (0, 1)


def test_a_base_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = dynamo_lite.compile(made, options=OPTIONS)
    assert fast(5) == made(5)
    monkeypatch.setattr(Base, "step", lambda self, dt: self.x - dt)
    assert fast(5) == made(5)
    Left.__bases__ = (Right,)
    try:
        assert fast(5) == made(5)
    finally:
        Left.__bases__ = (Base,)
