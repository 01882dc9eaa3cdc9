"""Members of an Enum are found as Python finds them, and read as the constants that they are."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


class Kind(enum.Enum):
    CALL = 1
    PUT = 2.5
    ALSO_CALL = 1
    NAMED = "named"

    @property
    def doubled(self) -> Any:
        return self.value * 2


class Special(enum.Enum):
    A = 1

    @property
    def value(self) -> Any:
        return 17


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def by_kind(x: Any, kind: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if kind == Kind.CALL.value:
            total += x[i]
        elif kind == Kind.PUT.value or Kind.NAMED.value == kind:
            total -= x[i] * Kind.ALSO_CALL.value
        else:
            total += Kind.CALL.doubled
    return total, Kind.CALL.name, Kind.ALSO_CALL is Kind.CALL, Kind.PUT, Special.A.value


def by_level(x: Any, level: Any) -> Any:
    if level is Level.HIGH or level is Kind.PUT:
        return x * Level.HIGH.value, Level.HIGH
    return x + Level.LOW.value, Kind["CALL"], Kind(2.5)


def test_members() -> None:
    for function in (by_kind, by_level):
        for kind in (1, 2.5, "named", 0, Kind.PUT, Level.HIGH, Level.LOW, None):
            require_equal(
                function,
                lambda kind=kind: (np.arange(20.0), kind),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"options": OPTIONS},
            )


def test_a_loop_that_asks_for_them_is_native() -> None:
    fast = dynamo_lite.compile(by_kind, options=OPTIONS)
    fast(np.arange(20.0), 1)
    assert _C.get_stress() or {loop.outcome for loop in fast._compilation.loops.values()} == {"native"}


def test_what_becomes_of_a_member_is_seen() -> None:
    class Own(enum.Enum):
        A = 1
        B = 2

    def of_own(x: Any) -> Any:
        return x * Own.A.value + 1.0

    fast = dynamo_lite.compile(of_own, options=OPTIONS)
    x = np.arange(9.0)
    assert fast(x).tobytes() == fast(x).tobytes() == of_own(x).tobytes()
    first = Own.A
    first._value_ = 5
    assert fast(x).tobytes() == of_own(x).tobytes()
    type.__setattr__(Own, "A", Own.B)
    assert fast(x).tobytes() == of_own(x).tobytes()
