"""Programs of small arrays get one routine of machine code beside their steps, once that pays: with NumPy's results."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.csrc.test_memory import python
from tests.csrc.test_straight import assert_same


@pytest.fixture
def at_once() -> Iterator[None]:
    before = _C.run_small_after(-1)
    yield
    _C.run_small_after(before)


def scaled(x: Any) -> Any:
    return x / np.sqrt((x * x).sum())


def several(x: Any) -> Any:
    y = x * x.sum()
    return y, x, y.max(), y, (y > 0).any()


def joined(x: Any) -> Any:
    return np.concatenate((x, x * x.sum())), np.stack([x, -x])


def outer(x: Any) -> Any:
    return np.outer(x, x) / x.sum()


def columns(x: Any) -> Any:
    y = x.reshape(2, 1, 2)
    return y - y.sum(axis=0, keepdims=True), y.sum(axis=2) / y.sum()


def mixed(x: Any) -> Any:
    return np.zeros(3) + x.sum(), np.ones((2, 2)) * x[0], x.astype(np.float32) * x.sum(), np.where(x > 1, x, 0)


def product(x: Any) -> Any:
    y = np.outer(x, x)
    return y @ x + x


def in_place(x: Any) -> Any:
    x -= x.max()
    x[1:] += x[:-1]
    return x * 2.0


def row(x: Any) -> Any:
    y = (x * x.sum())[None, :]
    return y + y.T


def rotated(x: Any) -> Any:
    return (np.eye(2) * x[0] + np.outer(x[:2], x[2:])) @ x[:2], np.eye(len(x)) + x, np.identity(2, int)


def stiffness(x: Any) -> Any:
    a, b = x[0] / x[1], x[2]
    k = [[a, 0, 0, -a, 0, 0], [0, 12, b, 0, -12, b], [0, b, 4, 0, -b, 2], [-a, 0, 0, a, 0, 0]]
    turn = np.array([*k, [0, -12, -b, 0, 12, -b], [0, b, 2, 0, -b, 4]])
    return turn.T @ (turn * x[3]), np.array([[1, 2], [3, 4]]) * x.sum()


def like_a_part(x: Any) -> Any:
    y = x * x.sum()
    e = np.zeros_like(y[1:])
    e[0] = np.copysign(np.sqrt(y @ y), y[0])
    return y[1:] + e, np.cross(y[1:], x[:3]) * 2.0, np.ones_like(x[::2]) * x.sum()


def chosen(x: Any) -> Any:
    n = np.sqrt((x * x).sum())
    if n < 1e-3:  # noqa: SIM108
        y = np.zeros(len(x))
    else:
        y = x / n
    return y * n, y[1:] + y[0]


def chosen_twice(x: Any) -> Any:
    y = (x * x.sum() if x[1] > 2.25 else np.ones(len(x))) if x[0] < 1.75 else x + np.arange(4.0)
    return y, y.sum()


def written(x: Any) -> Any:
    y = x * 2.0
    if x[0] > 1.25:
        x[1] = 3.0
        y[2] = -1.0
        z = y + x
    else:
        z = x - x.sum()
    return z, y


def picked(x: Any) -> Any:
    y, z = x * 2.0, x - x.sum()
    p = y if x[0] < 1.25 else z
    return p + x, y.sum()


# Where the order of axes, or whose memory it is, may be another than what a routine makes: these keep their steps.
def turned(x: Any) -> Any:
    y = x.reshape(2, 2)
    return (y.T + 1.0) / y.sum()


def viewed(x: Any) -> Any:
    y = x * x.sum()
    return y, y[1:], y.reshape(2, 2), np.ravel(y)


def shown(x: Any) -> Any:
    return np.ravel(x), x * x.sum()


def one_or_the_other(x: Any) -> Any:
    y = x * 2.0 if x[0] < 1.25 else x
    return y + 1.0, y


def two_of_one(x: Any) -> Any:
    if x[0] > 1.25:
        y = x * 2.0
        z = y[1:]
    else:
        y = x + 1.0
        z = x[1:] * 2.0
    z += 1.0
    return y, z * x.sum()


def picked_and_written(x: Any) -> Any:
    y = x * 2.0
    p = y if x[0] < 1.25 else x
    x += 1.0
    y *= 0.5
    return p + x.sum()


def picked_and_written_through_a_view(x: Any) -> Any:
    y = x * 2.0
    p = y[1:] if x[0] < 1.25 else x[:-1]
    y[2] = 7.0
    x[1] = 5.0
    return p + x.sum()


HAVE = [scaled, several, joined, outer, columns, mixed, product, in_place, row, rotated, stiffness, chosen]
HAVE += [like_a_part, chosen_twice, written, picked]
OTHERS = [turned, viewed, shown, one_or_the_other, two_of_one, picked_and_written]
OTHERS += [picked_and_written_through_a_view]
FUNCTIONS = [*HAVE, *OTHERS]
ARRAYS: dict[str, Callable[[], Any]] = {
    "packed": lambda: np.array([1.5, 2.5, 3.5, 0.5]),
    "spread": lambda: np.arange(12.0)[1::3],
    "reversed": lambda: np.array([1.5, 2.5, 3.5, 4.0])[::-1],
    "float32": lambda: np.array([1.5, 2.5, 3.5, 4.0], np.float32),
    "integers": lambda: np.array([1, 2, 3, 4]),
    "not native": lambda: np.array([1.5, 2.5, 3.5, 4.0], ">f8"),
    "short": lambda: np.array([1.5, 2.5]),
    "empty": lambda: np.array([]),
    "large": lambda: np.linspace(0.5, 4.0, 5000),
    "with infinities": lambda: np.array([np.inf, 1.0, -np.inf, 2.0]),
    "with a NaN": lambda: np.array([1.0, np.nan, 2.0, 3.0]),
    "zeros": lambda: np.zeros(4),
    "huge": lambda: np.full(4, 1e308),
}


def outcome(function: Callable[..., Any], make: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call gives, raises, warns of and leaves in the array."""
    x = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(x)
        except Exception as error:
            value = type(error), str(error)
    return value, x, [str(warning.message) for warning in caught]


def small_of(function: Any) -> Any:
    """The routine that runs small arrays in the first program of a function, or None."""
    return _C.entries(function.__code__)[0].program.small


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_results_warnings_and_arrays_are_those_of_plain_python(
    function: Callable[..., Any], array: str, at_once: None
) -> None:
    fast = dynamo_lite.compile(function)
    if function is outer and array == "large":
        return
    for make in [ARRAYS["packed"]] * 3 + [ARRAYS[array]] * 3 + [ARRAYS["packed"]]:
        assert_same(outcome(fast, make), outcome(function, make))


@pytest.mark.parametrize("function", HAVE, ids=lambda function: function.__name__)
def test_they_get_a_routine(function: Callable[..., Any], at_once: None) -> None:
    fast = dynamo_lite.compile(function)
    for _ in range(3):
        fast(ARRAYS["packed"]())
    assert small_of(function) is not None
    assert fast.stats()["declines"] == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_others_keep_their_steps(function: Callable[..., Any], at_once: None) -> None:
    fast = dynamo_lite.compile(function)
    for _ in range(3):
        fast(ARRAYS["packed"]())
    assert small_of(function) is None


def test_it_is_asked_for_once_the_steps_have_taken_long_and_stays_if_it_is_faster() -> None:
    before = _C.run_small_after(1000)
    try:

        def normed(x: Any) -> Any:
            y = x * 2.0 + x.sum()
            z = y / np.sqrt((y * y).sum())
            return z[1:] - z[:-1], z.max(), z * z.min()

        fast, x = dynamo_lite.compile(normed), np.linspace(0.5, 2.0, 6)
        first = fast(x)
        assert small_of(normed) is None
        for _ in range(1000):
            assert_same(fast(x), first)
        assert small_of(normed) is not None
    finally:
        _C.run_small_after(before)


def test_long_arrays_do_not_ask_for_it() -> None:
    before = _C.run_small_after(10)
    try:

        def normed(x: Any) -> Any:
            return x / np.sqrt((x * x).sum())

        fast = dynamo_lite.compile(normed)
        for _ in range(100):
            fast(np.ones(5000))
        assert small_of(normed) is None
    finally:
        _C.run_small_after(before)


def test_after_many_others_it_is_tried_no_more(at_once: None) -> None:
    def normed(x: Any) -> Any:
        return x / np.sqrt((x * x).sum())

    fast, x, large = dynamo_lite.compile(normed), np.ones(5), np.linspace(1.0, 2.0, 5000)
    for _ in range(3):
        fast(x)
    assert small_of(normed) is not None
    for _ in range(30):
        assert fast(large).tobytes() == normed(large).tobytes()
    fast(x)
    assert small_of(normed) is not None
    for _ in range(100):
        assert fast(large).tobytes() == normed(large).tobytes()
    assert small_of(normed) is None
    assert fast(x).tobytes() == normed(x).tobytes()


def test_what_was_written_is_put_back_where_it_declines(at_once: None) -> None:
    """The division raises after the store."""

    def raising(x: Any, y: Any) -> Any:
        x[:] = x * x.sum()
        return x / y

    fast = dynamo_lite.compile(raising)
    for b in (2.0, 2.0, 2.0, 0.0, 2.0):
        one, other, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]), np.array([b, 1.0, 1.0])
        with np.errstate(all="raise"):
            for way, x in ((fast, one), (raising, other)):
                try:
                    way(x, y)
                except FloatingPointError:
                    assert b == 0.0
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", ["same", "part", "apart", "reversed"])
def test_arrays_that_share_memory(kind: str, at_once: None) -> None:
    def move(x: Any, y: Any) -> Any:
        x[1:] = y[:-1] * y.sum()
        return y - x.sum(), y

    fast = dynamo_lite.compile(move)
    for _ in range(3):
        fast(np.arange(3.0), np.arange(3.0))
    for _ in range(3):
        results = []
        for way in (fast, move):
            whole = np.arange(8.0)
            x, y = {
                "same": (whole[:3], whole[:3]),
                "part": (whole[:3], whole[1:4]),
                "apart": (whole[:3], whole[4:7]),
                "reversed": (whole[:3], whole[3:0:-1]),
            }[kind]
            result, same = way(x, y)
            assert same is y
            results.append((result.tolist(), whole.tolist()))
        assert results[0] == results[1]


def test_numpys_buffers_and_error_states_of_the_caller(at_once: None) -> None:
    def total(x: Any) -> Any:
        return (x[:, 1] * 0.1).sum() * x[0]

    fast = dynamo_lite.compile(total)
    x = np.linspace(0.1, 7.0, 240).reshape(120, 2)
    for _ in range(3):
        assert fast(x).tobytes() == total(x).tobytes()
    assert small_of(total) is not None
    before = np.setbufsize(64)
    try:
        for _ in range(3):
            assert fast(x).tobytes() == total(x).tobytes()
    finally:
        np.setbufsize(before)
    for state in ("ignore", "raise", "warn", "ignore"):
        with np.errstate(all=state):  # type: ignore[call-overload]
            assert fast(x).tobytes() == total(x).tobytes()
    assert small_of(total) is not None
    y = np.array([[1e308, 1e308], [1e308, 1e308]])
    for _ in range(2):
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            fast(y)
        with np.errstate(over="ignore"):
            assert fast(y).tobytes() == total(y).tobytes()


def test_results_are_new_objects_each_time_and_no_references_are_lost(at_once: None) -> None:
    fast = dynamo_lite.compile(several)
    x = ARRAYS["packed"]()
    for _ in range(3):
        fast(x)
    one, other = fast(x), fast(x)
    assert one[0] is not other[0] and one[0] is one[3] and one[1] is other[1] is x
    assert not np.shares_memory(one[0], other[0])
    gone = weakref.ref(one[0])
    del one
    assert gone() is None
    before = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(None)
    for _ in range(500):
        fast(x)
    after = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(None)
    assert all(abs(one - other) < 50 for one, other in zip(before, after, strict=True))


def test_a_program_lets_go_of_its_routine(at_once: None) -> None:
    def normed(x: Any) -> Any:
        return x / np.sqrt((x * x).sum())

    def programs() -> int:
        gc.collect()
        return sum(isinstance(item, _C.Program) for item in gc.get_objects())

    before = programs()
    fast = dynamo_lite.compile(normed)
    for _ in range(3):
        fast(np.ones(3))
    assert programs() > before + 1
    del fast, normed
    assert programs() == before


def test_what_fails_when_it_is_asked_for_is_said(at_once: None) -> None:
    def normed(x: Any) -> Any:
        return x / np.sqrt((x * x).sum())

    fast = dynamo_lite.compile(normed)
    fast(np.ones(3))
    schedule = _C.entries(normed.__code__)[0].program.schedule

    def fails() -> Any:
        raise KeyError("s1")

    def compile_kernel(*_: Any) -> Any:
        raise AssertionError

    program = _C.Program(schedule, compile_kernel, 0, fails)
    with pytest.raises(_C.Declined, match="KeyError"):
        program(np.ones(3))
    program = _C.Program(schedule, compile_kernel, 0, lambda: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(_C.Declined, match="no program"):
        program(np.ones(3))


def test_a_room_that_there_was_no_memory_for_is_none_of_the_next_routine() -> None:
    """All routines share their rooms."""
    code = """
import resource
import numpy as np
import dynamo_lite
from dynamo_lite import _C

_C.run_small_after(-1)

def joined(x):
    y = np.concatenate((x,) * 96)
    return x * (y * y).sum()

def joined_twice(x):
    y = np.concatenate((x, x))
    return x * (y * y).sum()

few, many = np.linspace(0.5, 1.0, 3), np.linspace(0.5, 1.0, 256)
wide, other = dynamo_lite.compile(joined), dynamo_lite.compile(joined_twice)
for _ in range(5):
    wide(few), other(few)
programs = [_C.entries(function.__code__)[0].program for function in (joined, joined_twice)]
assert all(program.small for program in programs)
expected, limit, held = joined(many), resource.getrlimit(resource.RLIMIT_AS), []
with open("/proc/self/statm") as file:
    resource.setrlimit(resource.RLIMIT_AS, (int(file.read().split()[0]) * resource.getpagesize(), limit[1]))
for size in (2**16, 2**12, 2**8):
    try:
        while True:
            held.append(bytearray(size))
    except MemoryError:
        pass
try:
    wide(many)
except MemoryError:
    pass
held.clear()
resource.setrlimit(resource.RLIMIT_AS, limit)
assert [bool(program.small) for program in programs] == [False, True]
for _ in range(3):
    assert other(few).tobytes() == joined_twice(few).tobytes()
assert wide(many).tobytes() == expected.tobytes()
print("through")
"""
    assert python("-c", code) == "through\n"
