"""Conditions on the index of a loop that hold in most iterations: it stays native, with plain Python's results."""

from __future__ import annotations

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import table

PROGRAMS, program = table()  # True: its loop is not refused


@program(True)
def windows_from_before_the_begin(x):  # type: ignore[no-untyped-def]
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i - 2 : i + 3].sum()
    return out


@program(True)
def one_iteration_before_the_begin(x):  # type: ignore[no-untyped-def]
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i - 1 : i + 1].sum() + len(x[i - 1 : i])
    return out


@program(False)
def stores_by_such_bounds(x):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        x[i] += 1.0
        x[i - 1 : i + 1] *= 0.5
    return x


@program(True)
def counted_down(x):  # type: ignore[no-untyped-def]
    c = len(x) - 1
    s, r = 0.0, 1.0
    while r > 0.0:
        s += np.mean(x[:c])
        c = c - 1
        r = x[c] + 10.0 * (c > 3) - 5.0
    return s, c


@program(False)
def counted_below_nothing(x):  # type: ignore[no-untyped-def]
    c = len(x)
    seen = []
    while c > -4:
        seen.append(np.sum(x[:c]))
        c = c - 1
    return np.array(seen)


@program(False)
def quotients(x):  # type: ignore[no-untyped-def]
    s = 0
    for i in range(len(x)):
        s += 100 // (i - 40) if len(x) < 40 else 100 // (i + 1)
    return s, x[0]


@program(False)
def a_divisor_of_nothing(x):  # type: ignore[no-untyped-def]
    out = []
    for i in range(len(x)):
        x[i] = x[i] + 1.0
        out.append(7 // (i - 20))
    return out, x


@program(False)
def inside_another_loop(x):  # type: ignore[no-untyped-def]
    s = np.zeros(len(x))
    for i in range(5):
        for j in range(len(x)):
            s[j] += x[j - 1 : j + 2].sum() * i
    return s


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [64, 41, 21, 3, 1, 0])
def test_is_plain_python(name: str, size: int) -> None:
    """What other iterations do is done in them, whatever length the arrays have by then."""
    random = np.random.default_rng(5)
    arrays = [random.random(count) for count in (64, size, size, 30)]
    first, *rest = [lambda x=x: (x.copy(),) for x in arrays]  # type: ignore[misc]
    require_equal(
        PROGRAMS[name][0],
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
    )


@pytest.mark.parametrize("name", [name for name, (_, is_native) in PROGRAMS.items() if is_native])
def test_is_native(name: str) -> None:
    fast = dynamo_lite.compile(PROGRAMS[name][0])
    x = np.random.default_rng(1).random(64)
    for _ in range(3):
        fast(x.copy())
    assert "may change from one iteration" not in str(fast.explain())
    assert fast.stats()["native_calls"]
