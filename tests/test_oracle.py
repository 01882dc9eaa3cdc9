"""The oracle must pass a function against itself, and catch every kind of wrong compiler.

Each row of WRONG is a function, its arguments, a compiler that breaks exactly one promise, and the kind of difference
the oracle must name.
"""

from __future__ import annotations

import functools
import struct
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.copies import clone, copies_of
from tests.oracle import Conditions, KeywordArgs, check, require_equal

Function = Callable[..., Any]


def identity(fn: Function) -> Function:
    return fn


def after(change: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[[Function], Function]:
    """A compiler whose functions give change(right result, arguments)."""

    def compile(fn: Function) -> Function:
        return lambda *args: change(fn(*args), args)

    return compile


def double(x: Any) -> Any:
    return x * 2.0


def both(x: Any) -> Any:
    y = x + 1.0
    return y, y


def first(x: Any) -> Any:
    return x


def rows(x: Any) -> Any:
    return x[1:]


def total(x: Any) -> Any:
    return x.sum()


def bump(x: Any) -> None:
    x += 1.0


def inverse(x: Any) -> Any:
    return 1.0 / x


def say(x: Any) -> Any:
    print("sum", x.sum())
    return np.log(x)


def fails(x: Any) -> Any:
    y = x + 1.0
    return y @ y[:-1]


def raises(x: Any) -> Any:
    raise ValueError("no", 1)


def draws(x: Any) -> Any:
    return x * np.random.random()


def one_ulp(y: Any, _: Any) -> Any:
    y.view(np.int64)[1] += 1
    return y


def duplicated(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        fn(x)
        return fn(x)

    return wrapper


def silent(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(x)

    return wrapper


def elsewhere(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        warnings.warn("divide by zero encountered in divide", RuntimeWarning, stacklevel=1)
        with np.errstate(all="ignore"):
            return fn(x)

    return wrapper


def reworded(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        warnings.warn_explicit("division by zero", RuntimeWarning, __file__, inverse.__code__.co_firstlineno + 1)
        with np.errstate(all="ignore"):
            return fn(x)

    return wrapper


def raising(kind: type[BaseException], *args: Any, note: str | None = None) -> Callable[[Function], Function]:
    def compile(fn: Function) -> Function:
        def wrapper(x: Any) -> Any:
            error = kind(*args)
            if note is not None:
                error.add_note(note)
            raise error

        return wrapper

    return compile


def written(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        y = fn(x)
        x[0] = 7.0
        return y

    return wrapper


def beside(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        y = fn(x)
        x.base[1] = 7.0
        return y

    return wrapper


def drawn_twice(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        y = fn(x)
        np.random.random()
        return y

    return wrapper


def keeping(fn: Function) -> Function:
    kept = []

    def wrapper(x: Any) -> Any:
        kept.append(x)
        return fn(x)

    return wrapper


def errstate_left(fn: Function) -> Function:
    def wrapper(x: Any) -> Any:
        y = fn(x)
        np.seterr(all="raise")
        return y

    return wrapper


def on_call(number: int, change: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[[Function], Function]:
    def compile(fn: Function) -> Function:
        seen = []

        def wrapper(*args: Any) -> Any:
            seen.append(1)
            return change(fn(*args), args) if len(seen) == number else fn(*args)

        return wrapper

    return compile


PLAIN = np.arange(6.0)
MATRIX = np.arange(12.0).reshape(3, 4)
STRIDED = np.arange(12.0)[::2]
ZERO = np.array([0.0, 1.0])
NAN = np.array([np.nan, 1.0])
QUIET = np.frombuffer(struct.pack("<Qd", 0x7FF8000000000123, 1.0), np.float64)

WRONG: list[tuple[str, Function, Any, Callable[[Function], Function], str]] = [
    ("one ulp off", double, PLAIN, after(one_ulp), "value"),
    ("one ulp off in a scalar", total, PLAIN, after(lambda y, _: np.nextafter(y, 0)), "value"),
    ("wrong dtype", double, PLAIN, after(lambda y, _: y.astype(np.float32)), "dtype"),
    ("long for long long", double, np.arange(3), after(lambda y, _: y.astype("l").view("q")), "dtype"),
    ("Fortran order", double, MATRIX, after(lambda y, _: np.asfortranarray(y)), "strides"),
    ("C order from F", double, MATRIX.T, after(lambda y, _: np.ascontiguousarray(y)), "strides"),
    ("copy of an argument", first, PLAIN, after(lambda y, _: y.copy()), "identity"),
    ("the argument for a copy", np.copy, PLAIN, after(lambda y, a: a[0]), "identity"),
    ("copy for a view", rows, PLAIN, after(lambda y, _: y.copy()), "sharing"),
    ("another view", rows, np.ones(6), after(lambda y, a: a[0][:-1]), "sharing"),
    ("view for a copy", double, PLAIN, after(lambda y, _: np.concatenate([y, y])[:6]), "owndata"),
    ("read-only", double, PLAIN, after(lambda y, _: y.setflags(write=False) or y), "flags"),
    ("two objects for one", both, PLAIN, after(lambda y, _: (y[0], y[1].copy())), "identity"),
    ("two views for one object", both, PLAIN, after(lambda y, _: (y[0], y[1][:])), "identity"),
    ("0-d for a scalar", total, PLAIN, after(lambda y, _: np.asarray(y)), "type"),
    ("Python float for a scalar", total, PLAIN, after(lambda y, _: float(y)), "type"),
    ("list for a tuple", both, PLAIN, after(lambda y, _: list(y)), "type"),
    (
        "minus zero",
        double,
        ZERO,
        after(lambda y, _: y - 2 * y * (y == 0) if (y.__setitem__(0, -0.0)) else y),
        "zero sign",
    ),
    ("payload of a nan", double, QUIET, after(lambda y, _: np.where(np.isnan(y), np.nan, y)), "nan bits"),
    ("sign of a nan", double, NAN, after(lambda y, _: np.copysign(y, -1) * np.array([1, -1])), "nan bits"),
    ("argument written", double, PLAIN, written, "value"),
    ("memory beside the argument written", double, STRIDED, beside, "value"),
    ("no store", bump, PLAIN, lambda fn: lambda x: None, "value"),
    ("warning twice", inverse, ZERO, duplicated, "events"),
    ("warning lost", inverse, ZERO, silent, "events"),
    ("warning at another line", inverse, ZERO, elsewhere, "events"),
    ("warning with other words", inverse, ZERO, reworded, "events"),
    ("printed twice", say, PLAIN, duplicated, "events"),
    ("print after the warning", say, ZERO, lambda fn: lambda x: (np.log(x), print("sum", x.sum()))[0], "events"),
    ("no exception", raises, PLAIN, lambda fn: double, "exception"),
    ("another exception", raises, PLAIN, raising(TypeError, "no", 1), "exception"),
    ("other exception arguments", raises, PLAIN, raising(ValueError, "no", 2), "exception"),
    ("a note", raises, PLAIN, raising(ValueError, "no", 1, note="compiled"), "type"),
    ("other frames in the traceback", raises, PLAIN, raising(ValueError, "no", 1), "traceback"),
    ("a compiler's frame in the traceback", fails, PLAIN, lambda fn: lambda x: fn(x), "traceback"),
    ("global stream drawn once more", draws, PLAIN, drawn_twice, "value"),
    ("an argument kept alive", double, PLAIN, keeping, "references"),
    ("error state left behind", double, PLAIN, errstate_left, "value"),
    ("wrong on the second call", double, PLAIN, on_call(2, one_ulp), "value"),
    ("wrong on the third call", double, PLAIN, on_call(3, one_ulp), "value"),
]


@pytest.mark.parametrize(("fn", "x"), [(row[1], row[2]) for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_function_equals_itself(fn: Function, x: Any) -> None:
    report = require_equal(fn, copies_of(x), compile=identity, variants=[copies_of(x)])
    assert report.calls == 6


@pytest.mark.parametrize(("fn", "x", "wrong", "kind"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_compiler_is_caught(fn: Function, x: Any, wrong: Any, kind: str) -> None:
    report = check(fn, copies_of(x), compile=wrong)
    assert kind in {difference.kind for difference in report.differences}, str(report)
    assert report.repeatable, str(report)


def test_a_program_that_does_not_repeat_itself_is_told_apart() -> None:
    state = np.random.default_rng(1)
    report = check(lambda x: x * state.random(), copies_of(PLAIN), compile=identity)
    assert not report.equal
    assert not report.repeatable


def test_swapped_arguments_with_equal_values_are_caught() -> None:
    report = check(lambda x, y: x, copies_of(PLAIN, PLAIN.copy()), compile=after(lambda y, args: args[1]))
    assert [difference.kind for difference in report.differences] == ["identity", "references"]


def test_keyword_arguments_and_conditions() -> None:
    def scaled(x: Any, *, by: float) -> Any:
        return x / by

    conditions = Conditions(errstate={"divide": "raise"}, filters=(("error", RuntimeWarning),))
    report = require_equal(scaled, lambda: (np.ones(3), KeywordArgs(by=0.0)), compile=identity, conditions=conditions)
    assert report.raised == ["FloatingPointError"] * 3
    report = check(
        scaled,
        lambda: (np.zeros(3), KeywordArgs(by=0.0)),
        compile=lambda fn: lambda x, by: np.errstate(all="ignore")(fn)(x, by=by),
        conditions=conditions,
    )
    assert "exception" in [difference.kind for difference in report.differences]


def test_state_outside_is_compared() -> None:
    box = [0]

    def count(x: Any) -> Any:
        box[0] += 1
        return x

    conditions = Conditions(reset=lambda: box.__setitem__(0, 0), state=lambda: list(box))
    require_equal(count, copies_of(PLAIN), compile=identity, conditions=conditions)
    report = check(count, copies_of(PLAIN), compile=lambda fn: lambda x: fn(fn(x)), conditions=conditions)
    assert [difference.where for difference in report.differences] == ["call 0: state[0]"]


def layouts() -> dict[str, np.ndarray[Any, Any]]:
    base = np.arange(60.0).reshape(3, 4, 5)
    read_only = base.copy()
    read_only.flags.writeable = False
    return {
        "C": base.copy(),
        "F": np.asfortranarray(base),
        "permuted": base.copy().transpose(1, 0, 2),
        "strided": base[:, ::2, ::-1],
        "broadcast": np.broadcast_to(np.arange(5.0), (3, 5)),
        "read-only": read_only,
        "view of read-only": read_only[1:],
        "read-only view": np.lib.stride_tricks.as_strided(np.arange(5.0), (3,), (8,), writeable=False),
        "0-d": np.array(3.0),
        "empty": np.empty((0, 3)),
        "overlapping windows": np.lib.stride_tricks.sliding_window_view(np.arange(9.0), 3),
        "structured": np.zeros(3, [("a", "i4"), ("b", "f8")])["b"],
        "object": np.array([1, [2], "x"], dtype=object),
        "dates": np.array(["2020-01-01"], "M8[D]")[::1],
        "swapped": np.arange(4, dtype=">f8")[::2],
        "unaligned": np.frombuffer(bytearray(33), np.float64, offset=1),
        "nan": QUIET.copy(),
    }


@pytest.mark.parametrize("name", layouts())
def test_a_copy_has_the_layout_of_its_original(name: str) -> None:
    original = layouts()[name]
    made = clone(original)
    assert made.strides == original.strides
    assert made.flags.writeable == original.flags.writeable
    assert made.flags.owndata == original.flags.owndata
    assert made.tobytes() == original.tobytes() or original.dtype == object
    assert original.size == 0 or not original.flags.writeable or not np.shares_memory(made, original)


def test_a_copy_keeps_overlap_and_identity() -> None:
    buffer = np.arange(10.0)
    x, y = buffer[:8], buffer[2:][::-1]
    a, b, c, (d,) = clone((x, y, x, [buffer]))
    assert a is c
    assert np.shares_memory(a, b)
    assert a.base is d
    d[2] = 99.0
    assert a[2] == 99.0 == b[-1]
    assert buffer[2] == 2.0


def test_objects_are_copied_with_their_arrays() -> None:
    class Layer:
        def __init__(self) -> None:
            self.weights = np.ones(3)
            self.tied = self.weights

    layer, _ = clone((Layer(), np.zeros(2)))
    assert layer.weights is layer.tied
    assert type(layer) is Layer
    assert functools.reduce(np.add, layer.weights) == 3.0


def _long_doubles(position: int) -> Callable[[], tuple[Any, ...]]:
    """Two long doubles that do not lie on their alignment; the byte at `position` is another each time."""
    count = iter(range(255))

    def make_args() -> tuple[Any, ...]:
        memory = np.zeros(48, np.uint8)
        array = np.ndarray((2,), np.longdouble, memory.data, 1)
        array[...] = 1.0
        memory[position] = next(count)
        return (np.ndarray((2,), np.longdouble, memory, 1),)

    return make_args


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize != 16, reason="long doubles have no padding here")
def test_only_the_padding_of_long_doubles_does_not_count() -> None:
    require_equal(first, _long_doubles(1 + 10), compile=identity)
    require_equal(first, _long_doubles(1 + 16 + 15), compile=identity)
    for position in (0, 1 + 32, 1 + 16 + 3):
        with pytest.raises(AssertionError, match="the memory around"):
            require_equal(first, _long_doubles(position), compile=identity)
