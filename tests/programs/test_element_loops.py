"""Loops over single elements: run as machine code, with the bits of plain Python.

Those in CASES have to become machine code, those in MIXED need not.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.loops import awkward_values

import dynamo_lite
from tests.oracle import Conditions, require_equal
from tests.programs.loop_cases import OPTIONS, compared, loops_left, registry, rng, vector
from tests.programs.test_random_elements import machines_of

CASES, case = registry()
MIXED, mixed = registry()


def recurrence_args(count: int, size: int) -> tuple[Any, ...]:
    return rng(size).random(count + 2), 0.5


def square(count: int, size: int) -> tuple[Any, ...]:
    return rng(count).random((count + 2, count + 2)), 2


def table(count: int, size: int) -> tuple[Any, ...]:
    pick = rng(count)
    return pick.integers(0, 3, count + 2), pick.integers(0, 3, count + 3), np.zeros((count + 3, count + 4), np.int64)


# -- arrays ----------------------------------------------------------------------------------------


@case(recurrence_args)
def recurrence(x, a):  # type: ignore[no-untyped-def]
    y = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        y[i] = a * y[i - 1] + x[i]
    return y


@case(lambda count, size: (recurrence_args(count, size)[0][::-2], 2.0))
def negative_strides(x, a):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        x[i] = x[i] - a * x[i - 1]
    return x


@case(lambda count, size: (recurrence_args(count, size)[0], 2.0))
def backwards(x, a):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0] - 2, -1, -1):
        x[i] = x[i] - a * x[i + 1]


@case(lambda count, size: (recurrence_args(count, size)[0], 2.0))
def wraps_around(x, a):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        x[i] = x[i] - a * x[i - 1]


@case(lambda count, size: (recurrence_args(count, size)[0], 2.0))
def counts_from_the_end(x, a):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        x[-i] = x[-i - 1] * a


@case(square)
def seidel(a, steps):  # type: ignore[no-untyped-def]
    n = a.shape[0]
    for _ in range(steps * 5):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i + 1, j + 1]) / 9.0


@case(lambda count, size: (np.asfortranarray(square(count, size)[0]),))
def floyd_warshall(path):  # type: ignore[no-untyped-def]
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = np.minimum(path[i, j], path[i, k] + path[k, j])


@case(table)
def edit_distance(a, b, d):  # type: ignore[no-untyped-def]
    for i in range(d.shape[0]):
        d[i, 0] = i
    for j in range(d.shape[1]):
        d[0, j] = j
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            cost = a[i - 1] != b[j - 1]
            d[i, j] = np.minimum(np.minimum(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)
    return d


@case(lambda count, size: (square(count, size)[0] + 4, *(rng(count).random(count + 2) for _ in range(2))))
def triangular(lower, x, b):  # type: ignore[no-untyped-def]
    for i in range(lower.shape[0]):
        s = b[i]
        for j in range(i):
            s -= lower[i, j] * x[j]
        x[i] = s / lower[i, i]


@case(square)
def rows_first(x, k):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        for j in range(k):
            x[i][j] = x[i][j] + x[:, j][i - 1]


@case(lambda count, size: (rng(count).integers(0, 99, count + 2).astype(np.int16), np.zeros(count + 2, np.int8)))
def narrow_integers(x, y):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        y[i] = (x[i] + x[i - 1] * (i % 3)) % 100
        x[i] = x[i] + (y[i] < x[i - 1])


@case(lambda count, size: (rng(count).random(count + 2) > 0.5,))
def bools(x):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        x[i] = x[i] ^ x[i - 1]


@case(lambda count, size: (rng(count).random(count + 2).astype(np.float32), 0.3))
def narrow_floats(x, a):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * a + np.sqrt(x[i]) / 3


@case(recurrence_args)
def transcendental(x, a):  # type: ignore[no-untyped-def]
    for i in range(1, x.shape[0]):
        x[i] = np.exp(-x[i - 1]) * a + np.tanh(x[i])


# -- NumPy scalars and numbers that are handed on ----------------------------------------------------


@case(vector)
def sums(x, n):  # type: ignore[no-untyped-def]
    s = x[0]
    for i in range(n):
        s = s * 0.5 + x[i % 3]
    return s


@case(vector)
def previous_and_current(x, n):  # type: ignore[no-untyped-def]
    before = x[0]
    now = x[1]
    for i in range(n):
        before, now = now, before * 0.5 + now + i
    return before, now


@case(vector)
def the_argument_itself(x, n):  # type: ignore[no-untyped-def]
    s = t = x[0]
    for _ in range(n):
        for _ in range(0, n, 2):
            s = s * 0.5
    return s, s is t


@case(vector)
def python_ints(x, n):  # type: ignore[no-untyped-def]
    s = 12345
    for i in range(n):
        s = (s * 1103515245 + 12345) % 2147483648
        x[i % 4] = s // 7 - s % -5
    return s


@case(vector)
def python_floats(x, n):  # type: ignore[no-untyped-def]
    f = 0.5
    k = 3
    for i in range(n):
        f = f * 0.25 - i / 3 + k
        k = k + 2
        x[i % 3] = x[i % 3] + f
    return f, k


@case(lambda count, size: (rng(count).integers(0, 99, 5), count))
def integer_scalars(x, n):  # type: ignore[no-untyped-def]
    s = x[0]
    for i in range(n):
        s = (s ^ x[i % 5]) // 3 + x[(i + 1) % 5] % 7 - (x[i % 5] >> 1) + (s << 1) % 100
    return s


@mixed(vector)
def two_names_of_one_value(x, n):  # type: ignore[no-untyped-def]
    s = t = x[0]
    for i in range(n):
        t = t * 0.5 + i
        s = t
    return s is t, s


@mixed(vector)
def a_row_at_a_time(x, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        x[1:] = x[1:] * 0.5
        for j in range(1, x.shape[0]):
            x[j] = x[j] + x[j - 1] * 0.25 + i


@pytest.mark.parametrize("name", [*CASES, *MIXED])
def test_element_loops(name: str) -> None:
    one = CASES.get(name) or MIXED[name]
    report = compared(one)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert name in MIXED or machines_of(report.compiled)


@pytest.mark.parametrize("name", CASES)
def test_loops_that_are_left(name: str) -> None:
    one = CASES[name]
    with loops_left(3):
        report = compared(one)
    assert report.stats["leaves"] and not report.stats["declines"], report.compiled.explain()


# -- what leaves the machine code --------------------------------------------------------------------


def filled(x: Any, k: Any) -> Any:
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] * k + x[i]
    return x


def divided(x: Any, k: Any) -> Any:
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1] / x[i]
        x[i] = k
    return x


def indexed(x: Any, k: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = x[i + k]


def counted(x: Any, k: Any) -> Any:
    s = 3
    for i in range(x.shape[0]):
        s = s * s
        x[i] = i
    return s + k


def scaled(x: Any, k: Any) -> Any:
    s = x[0]
    for i in range(1, x.shape[0]):
        s = s * x[i]
    return s, k


def stepped(x: Any, k: Any) -> Any:
    for i in range(0, x.shape[0], k):
        x[i] = x[i] + 1


def narrowed(x: Any, k: Any) -> Any:
    for i in range(1, x.shape[0]):
        x[i] = x[i] + i * k


NAN, OTHER = np.float64("nan"), -np.float64("nan")
HOSTILE: dict[str, tuple[Any, Any]] = {
    "overflow": (filled, lambda: (np.full(9, 1e200), 1e200)),
    "one NaN": (filled, lambda: (np.array([1.0, 2.0, NAN, 3.0, 4.0]), 0.5)),
    "two NaNs": (filled, lambda: (np.array([1.0, NAN, OTHER, NAN, 4.0]), 0.5)),
    "NaN number": (filled, lambda: (np.array([OTHER, OTHER, 1.0]), float("nan"))),
    "division by zero, overwritten": (divided, lambda: (np.array([1.0, 0.0, 2.0]), 3.0)),
    "index beyond the end": (indexed, lambda: (np.arange(9.0), 1)),
    "index before the begin": (indexed, lambda: (np.arange(9.0), -10)),
    "long int": (counted, lambda: (np.arange(9.0), 2)),
    "integer overflow": (scaled, lambda: (np.full(9, 300), 1)),
    "unsigned overflow": (scaled, lambda: (np.full(9, 30, np.uint8), 1)),
    "step 0": (stepped, lambda: (np.arange(9.0), 0)),
    "number too large for the dtype": (narrowed, lambda: (np.arange(9, dtype=np.int8), 40)),
    "read-only": (filled, lambda: (np.broadcast_to(np.float64(1.0), (9,)), 0.5)),
    "sliding window": (
        filled,
        lambda: (np.lib.stride_tricks.as_strided(np.arange(9.0), (9,), (4,))[:2], 0.5),
    ),
}


@pytest.mark.parametrize("errstate", ["warn", "ignore", "raise"])
@pytest.mark.parametrize("name", HOSTILE)
def test_what_leaves(name: str, errstate: str) -> None:
    fn, arguments = HOSTILE[name]
    harmless = (lambda: (np.arange(1.0, 7.0), 1),) if fn is not indexed else ()
    require_equal(
        fn,
        arguments,
        variants=harmless,
        compile=dynamo_lite.compile,
        compile_options={"options": {**OPTIONS, "recompile_limit": 100}},
        conditions=Conditions(errstate={"all": errstate}),
    )


def test_wrapping_without_a_warning_stays_native() -> None:
    report = require_equal(
        scaled,
        lambda: (np.arange(250, 256, dtype=np.uint8), 1),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
        conditions=Conditions(errstate={"over": "ignore"}),
    )
    assert report.stats["native_calls"] and not report.stats["declines"]


def spin(x: Any, n: Any) -> Any:
    for i in range(n):
        x[i % 4] = x[i % 4] * 0.5 + i
    return x


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_seen() -> None:
    fast = dynamo_lite.compile(spin, options=OPTIONS)
    fast(np.zeros(4), 1000)
    assert machines_of(fast)
    seen: list[float] = []
    timer = threading.Timer(0.3, lambda: (seen.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fast(np.zeros(4), 10**12)
    assert seen
    timer.join()


def test_a_waiting_thread_gets_its_turn() -> None:
    fast = dynamo_lite.compile(spin, options=OPTIONS)
    fast(np.zeros(4), 1000)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.extend(range(1000)))
    thread.start()
    result = fast(np.zeros(4), 10**7)
    thread.join()
    assert np.array_equal(result, fast(np.zeros(4), 10**7)) and len(seen) == 1000
    assert not fast.stats()["declines"] and not fast.stats()["plain_calls"], fast.explain()


def test_equal_loops_share_their_code() -> None:
    def one(x):  # type: ignore[no-untyped-def]
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1] * 3.5 - x[i]

    def other(y):  # type: ignore[no-untyped-def]
        for place in range(1, y.shape[0]):
            y[place] = y[place - 1] * 3.5 - y[place]

    from dynamo_lite.backends.numba import compile as compiling

    dynamo_lite.compile(one, options=OPTIONS)(np.arange(5.0))
    before = set(compiling._STATE.made)
    dynamo_lite.compile(other, options=OPTIONS)(np.arange(6.0))
    assert set(compiling._STATE.made) == before


POWERS: dict[str, Any] = {
    "floats": lambda x, y: x**2 - y**0.5 + x**3,
    "two floats": lambda x, y: x**y,
    "remainders": lambda x, y: x % 3 + x // y - x % y,
    "integers": lambda x, y: abs(x) - -y + x**2 - y**5,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.int32])
@pytest.mark.parametrize("name", POWERS)
def test_operators_of_scalars(name: str, dtype: Any) -> None:
    compute = POWERS[name]
    is_float = np.dtype(dtype).kind == "f"
    if is_float == (name == "integers"):
        pytest.skip("not of this dtype")

    def fn(x: Any, y: Any, out: Any) -> None:
        for i in range(x.shape[0]):
            out[i] = compute(x[i], y[i])

    values = awkward_values(np.dtype(dtype))
    x, y = (grid.ravel() for grid in np.meshgrid(values, values[::-1]))
    native = 0
    for part in range(0, len(x) - 39, 40):
        report = require_equal(
            fn,
            lambda p=part: (x[p : p + 40], y[p : p + 40], np.zeros(40, dtype)),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
            conditions=Conditions(errstate={"all": "ignore"}),
            calls=1,
        )
        native += report.stats["native_calls"]
        assert machines_of(report.compiled) or name == "two floats"
    assert native


@pytest.mark.parametrize("source", [np.float64, np.float32, np.int64, np.uint64, np.int8, None])
@pytest.mark.parametrize("target", [np.int64, np.uint64, np.int32, np.uint32, np.int8, np.uint8])
def test_stores_among_integers(source: Any, target: Any) -> None:
    def fn(x: Any, out: Any, k: Any) -> None:
        for i in range(x.shape[0]):
            out[i] = x[i]
            out[i + 1] = k * i

    dtype = np.dtype(source or np.float64)
    info = np.iinfo(target)
    values = [info.min, info.max, 0, 1, 255, 127.5, -0.5, -1, 2.0**31, 2.0**32 - 1, 2.0**63, 2.0**64, -(2.0**63), 1e300]
    with np.errstate(all="ignore"):
        near = np.array(values, np.float64).astype(dtype)
    if dtype.kind == "f":
        near = np.concatenate([near, np.nextafter(near, dtype.type(0)), [dtype.type("nan")]])
    k = 1.5 if source is None else 2
    native = 0
    for value in near:
        report = require_equal(
            fn,
            lambda v=value: (np.array([1, v, 2], dtype), np.zeros(5, target), k),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
            calls=2,
        )
        native += report.stats["native_calls"]
    assert native
