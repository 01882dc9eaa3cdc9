"""Programs of single elements, NumPy scalars and numbers are one routine, without registers: with NumPy's results."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.config import config
from dynamo_lite.schedule.straight import routine_of
from tests.compare import Walk


def derivative(y: Any, a: float, b: float) -> Any:
    p = y[0] * a - y[1] * b
    out = np.empty((3,))
    out[0] = p + y[2]
    out[1] = -p
    out[2] = a / b + p * y[1]
    return out


def zeros(y: Any, a: float, b: float) -> Any:
    out = np.zeros((2, 2), np.float32)
    out[0, 1] = y[0] * a
    out[1, 0] = b
    return out


def single(y: Any, a: float, b: float) -> Any:
    return y[0] * a + y[1] / b


def several(y: Any, a: float, b: float) -> Any:
    s = np.sqrt(y[0] * y[0] + y[1] * y[1])
    return s, a, s > 1.0, y, a + b, (y[2] * b, None)


def pair(y: Any, a: float, b: float) -> Any:
    return y[0] * a, y[1] + b


def in_place(y: Any, a: float, b: float) -> None:
    y[0] = y[1] * a
    y[1] = y[2] / b
    y[2] += y[0]


def constants(y: Any, a: float, b: float) -> None:
    y[0] = 1.5
    y[1] = a


def of_scalars(y: Any, a: float, b: float) -> Any:
    s = np.float32(a)
    return s * np.float32(b) + s


def as_number(y: Any, a: float, b: float) -> Any:
    k = int(y[0])
    out = np.zeros(4, np.int64)
    out[1] = k * 2
    return out


FUNCTIONS: list[Callable[..., Any]] = [
    derivative,
    zeros,
    single,
    several,
    pair,
    in_place,
    constants,
    of_scalars,
    as_number,
]
ARRAYS: dict[str, Callable[[], Any]] = {
    "packed": lambda: np.array([1.5, 2.5, 3.5]),
    "spread": lambda: np.arange(9.0)[1::3],
    "reversed": lambda: np.array([1.5, 2.5, 3.5])[::-1],
    "longer": lambda: np.linspace(0.5, 4.0, 100),
    "float32": lambda: np.array([1.5, 2.5, 3.5], np.float32),
    "integers": lambda: np.array([1, 2, 3]),
    "not native": lambda: np.array([1.5, 2.5, 3.5], ">f8"),
    "short": lambda: np.array([1.5, 2.5]),
    "of one element": lambda: np.array([1.5]),
    "with infinities": lambda: np.array([np.inf, 1.0, -np.inf]),
    "with a NaN": lambda: np.array([np.nan, 1.0, 2.0]),
    "huge": lambda: np.array([1e308, 1e308, 1e308]),
}


def outcome(function: Callable[..., Any], make: Callable[[], Any], *numbers: Any) -> tuple[Any, ...]:
    """What a call gives, raises, warns of and leaves in the array."""
    y = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(y, *numbers)
        except Exception as error:
            value = type(error), str(error)
    if isinstance(value, tuple):
        value = tuple("y" if item is y else item for item in value)
    return value, y, [str(warning.message) for warning in caught]


def assert_same(compiled: Any, plain: Any) -> None:
    walk = Walk()
    walk.pair("outcome", plain, compiled)
    walk.sharing()
    assert not walk.differences, walk.differences


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_results_warnings_and_arrays_are_those_of_plain_python(function: Callable[..., Any], array: str) -> None:
    fast = dynamo_lite.compile(function)
    packed = ARRAYS["packed"]
    for make, numbers in (
        *(((packed, (2.0, 4.0)),) * 3),
        *(((ARRAYS[array], (2.0, 4.0)),) * 3),
        (ARRAYS[array], (2.0, 0.0)),
        (ARRAYS[array], (1e300, 1e-300)),
        (packed, (2, 4)),
        (ARRAYS[array], (np.float64(2.0), 4.0)),
        (packed, (2.0, 4.0)),
    ):
        assert_same(outcome(fast, make, *numbers), outcome(function, make, *numbers))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_they_are_one_routine(function: Callable[..., Any]) -> None:
    with config.patch(cost_model=False):
        fast = dynamo_lite.compile(function)
        for _ in range(3):
            fast(ARRAYS["packed"](), 2.0, 4.0)
        (entry,) = _C.entries(function.__code__)[:1]
        assert isinstance(entry.program, _C.Program)
        assert routine_of(entry.program.schedule) is not None or not entry.program.schedule.steps


def test_what_was_written_is_put_back_where_it_declines() -> None:
    """The division raises behind the first store."""

    def raising(y: Any, b: float) -> None:
        y[0] = y[1] * 3.0
        y[1] = y[2] / np.float64(b)

    fast = dynamo_lite.compile(raising)
    for b in (2.0, 2.0, 0.0, 2.0):
        one, other = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
        with np.errstate(all="raise"):
            for way, y in ((fast, one), (raising, other)):
                try:
                    way(y, b)
                except FloatingPointError:
                    assert b == 0.0
        assert one.tobytes() == other.tobytes()


def test_what_nothing_could_decline_after_is_put_back_too() -> None:
    """The steps need not save it; their routine finds out at its end that the product overflows."""

    def toggling(x: Any, k: Any) -> None:
        x[0] = x[1] * x[2]
        k[0] = k[0] ^ 1

    fast = dynamo_lite.compile(toggling)
    for value in (2.0, 2.0, 1e308, 2.0, 1e308):
        x, k = np.array([1.0, value, value]), np.array([4, 5])
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            fast(x, k)
        assert k.tolist() == [5, 5]


@pytest.mark.parametrize("kind", ["same", "part", "apart", "reversed"])
def test_arrays_that_share_memory(kind: str) -> None:
    def move(x: Any, y: Any) -> Any:
        x[0] = y[1] * 2.0
        x[1] = y[0] + x[0]
        return y[1]

    fast = dynamo_lite.compile(move)
    fast(np.arange(3.0), np.arange(3.0))
    for _ in range(3):
        results = []
        for way in (fast, move):
            whole = np.arange(8.0)
            x, y = {
                "same": (whole[:3], whole[:3]),
                "part": (whole[:3], whole[1:4]),
                "apart": (whole[:3], whole[4:7]),
                "reversed": (whole[:3], whole[3::-1]),
            }[kind]
            results.append((way(x, y), whole.tolist()))
        assert results[0] == results[1]


def test_read_only_arrays_stay_as_they_are() -> None:
    def store(y: Any) -> None:
        y[0] = y[1] + 1.0

    fast = dynamo_lite.compile(store)
    fast(np.arange(3.0))
    y = np.arange(3.0)
    y.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            fast(y)
    assert y.tolist() == [0.0, 1.0, 2.0]


def test_results_are_new_objects_each_time() -> None:
    fast = dynamo_lite.compile(several)
    y = np.array([3.0, 4.0, 5.0])
    one, other = fast(y, 1.0, 2.0), fast(y, 1.0, 2.0)
    assert one[0] is not other[0] and one[3] is other[3] is y
    assert type(one[0]) is np.float64 and type(one[2]) is np.bool_
    a = 1.0
    assert fast(y, a, 2.0)[1] is a


def test_no_references_are_lost() -> None:
    fast, stored = dynamo_lite.compile(several), dynamo_lite.compile(in_place)
    y, a = np.array([3.0, 4.0, 5.0]), 1.25
    for _ in range(3):
        fast(y, a, 2.0), stored(y, a, 2.0)
    before = sys.getrefcount(y), sys.getrefcount(a), sys.getrefcount(y.dtype), sys.getrefcount(None)
    for _ in range(500):
        fast(y, a, 2.0), stored(y, a, 2.0)
    after = sys.getrefcount(y), sys.getrefcount(a), sys.getrefcount(y.dtype), sys.getrefcount(None)
    assert all(abs(one - other) < 50 for one, other in zip(before, after, strict=True))


def test_the_flags_of_the_caller_stay() -> None:
    """What is set before is neither taken for the routine's nor cleared: NumPy clears it at its next operation."""
    fast = dynamo_lite.compile(single)
    y = np.array([1.0, 2.0, 3.0])
    fast(y, 1.0, 2.0)
    for _ in range(5):
        assert np.isinf(1e308 * float(y[0] * 10))
        assert fast(y, 1.0, 2.0) == single(y, 1.0, 2.0)
    assert fast.stats()["declines"] == 0  # type: ignore[attr-defined]
