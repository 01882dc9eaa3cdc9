"""Loops that carry, choose, make and reduce whole vectors: run as machine code, with the bits of plain Python.

Which object a result is counts: an array that no iteration has replaced is the caller's own, and two results that are
one array stay one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import Report, require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left
from tests.programs.test_random_elements import machines_of

Program = Callable[..., Any]
PROGRAMS: dict[str, Program] = {}
OTHERS: dict[str, Program] = {}  # which need not become machine code


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def other(function: Program) -> Program:
    OTHERS[function.__name__] = function
    return function


# mypy: disallow-untyped-defs=False

# Each gets two vectors of one length and a number of iterations.


@program
def one_element_read(x, y, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.75 + 0.25
        s = s + x[0]
    return x, s


@program
def lengths_and_rests(x, y, n):
    s = 0.0
    for _ in range(n):
        r = np.hypot(x, y)
        x = (x + 0.3 * r) % 6.25
        y = np.clip(y * 0.5 + r // 3.0, -2.0, 2.0)
        s += x[0] + y.sum()
    return x, y, s


@program
def summed(x, y, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.5 + y
        s += x.sum() + (x * y).sum()
    return x, s


@program
def product_of_two(x, y, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.5 + y
        s += np.dot(x, y) + x @ x
    return x, s


@program
def all_reductions(x, y, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.5 - y
        s += x.max() + x.min() + np.abs(x).max()
        s += 2.0 * (x > y).any() + 3.0 * (x < y).all()
    return x, s


@other
def counted_by_data(x, y, n):
    k = 0
    for _ in range(n):
        x = x * 0.5 - y
        if (x > y).any():
            k += 1
    return x, k


@program
def one_or_the_other(x, y, n):
    for _ in range(n):
        if x[0] > 0.5:
            x = x * 0.5
        else:
            z = x + y
            x = z
    return x


@program
def maybe_never(x, y, n):
    """The array may stay the caller's own."""
    for i in range(n):
        if i > 2:
            x = x + y
    return x, i if n else -1


@program
def replaced_by_the_other(x, y, n):
    for _ in range(n):
        z = x + y
        if z[0] > 1.0:
            x = z
    return x


@program
def becomes_an_argument(x, y, n):
    for i in range(n):
        x = x * 0.5 if i != 2 else y
        x[0] + 1.0
    return x, y


@program
def two_that_change_places(x, y, n):
    s = 0.0
    for _ in range(n):
        x, y = y, x
        s = s * 0.5 + x[0]
    return x, y, s


@program
def ping_pong(x, y, n):
    for _ in range(n):
        new = x * 0.5 + y[0]
        x, y = new, x
    return x, y


@program
def three_in_turn(x, y, n):
    z = x + y
    for _ in range(n):
        x, y, z = y, z, x * 0.5
        y[0] * 2.0
    return x, y, z


@program
def the_last_two(x, y, n):
    before = x
    for _ in range(n):
        before = x
        x = x * 0.5 + y
        if np.abs(x - before).max() < 1e-3:
            break
    return x, before


@program
def made_and_filled(x, y, n):
    total = np.zeros(3)
    for _ in range(n):
        d = np.empty(3)
        d[0] = 10.0 * (x[1] - x[0])
        d[1] = x[0] * (2.0 - x[2]) - x[1]
        d[2] = x[0] * x[1] - 2.5 * x[2]
        total = total + 0.01 * d
    return total


@program
def made_of_items(x, y, n):
    q = np.array([x[0], x[1], y[0], y[1]])
    for _ in range(n):
        q = np.array([q[0] - 0.1 * q[1], q[1] + 0.1 * q[2], q[2] + 0.1 * q[3], q[3] - 0.1 * q[0]])
        q = q / np.sqrt((q * q).sum())
    return q


@other
def ones_and_numbers(x, y, n):
    s = np.zeros_like(x)
    for i in range(n):
        w = np.full(4, 0.5 * i)
        v = np.ones(4, np.int64)
        w[i % 4] = x[0]
        s = s + w.sum() + v.sum()
    return s


@program
def nested(x, y, n):
    s = 0.0
    for _ in range(n):
        for _ in range(x.shape[0]):
            x = x * 0.5 + y
            s += x[1]
        y = y - 0.125 * x
    return x, y, s


@other
def inner_from_outer(x, y, n):
    """The inner loop carries on from what the outer one keeps."""
    s = 0.0
    for i in range(n):
        z = x
        for _ in range(i % 3):
            z = z + y
        s += z.sum() - x.sum()
        x = x * 0.75
    return x, s


@other
def until_it_is_small(x, y, n):
    k = 0
    while x.max() > 0.01 and k < n:
        x = x * 0.5
        k += 1
    return x, k


@program
def parts_of_it(x, y, n):
    s = 0.0
    for _ in range(n):
        x = x + y
        x[1:] = x[:-1] * 0.5
        s += x[1:].sum() + x[::-1][0] + x[::2].sum()
    return x, s


@other
def whole_numbers(x, y, n):
    k = np.arange(4)
    total = 0
    for i in range(n):
        k = k * 3 + i
        total += int(k.sum()) % 7 + int(k.max() > 100)
    return k, total


@program
def comparisons(x, y, n):
    m = x > y
    c = 0
    for i in range(n):
        m = (x * i > y) & ~m
        if m.any():
            c += 1
    return m, c


@program
def with_functions(x, y, n):
    s = 0.0
    for _ in range(n):
        x = np.sin(x) + np.exp(-y)
        s += np.sqrt((x * x).sum())
    return x, s


@other
def one_array_as_two(x, y, n):
    z = y
    for _ in range(n):
        x = x * 0.5 + y
        z = x
        x[0] + 1.0
    return x, z, x is z


@other
def views_that_are_handed_on(x, y, n):
    for _ in range(n):
        x = (x + 1.0)[::-1]
        x[0] + 1.0
    return x, x.base is None


@other
def written_where_it_lies(x, y, n):
    for i in range(n):
        x[0] = x[1] + i
        x = x + y
    return x


@other
def written_behind_another_name(x, y, n):
    z = x + 0.0
    for i in range(n):
        for _ in range(i % 2):
            x, z, x = z, x, x
            x[0] + y[0]
        x[:2] *= 0.5
        z = np.where(z > z, z, z)
    return x, z


@other
def written_where_it_was_chosen(x, y, n):
    for i in range(n):
        z = x * 0.5 if x[0] > 0.25 else y
        y[1] = x[1] + i
        x = z + 1.0
        x[0] = y[1]
    return x, y


@program
def collected(x, y, n):
    out = []
    for _ in range(n):
        x = x * 0.5
        x[0] + 1.0
        out.append(x)
    return out, x


@program
def collected_copies(x, y, n):
    out = [x]
    for _ in range(n):
        x = x * 0.5 + y
        out.append(x.copy())
        y = y * 0.75
    return out, x, y


@other
def collected_before_it_changes(x, y, n):
    out = []
    for _ in range(n):
        out.append(x)
        x = x * 0.5 + y[0]
    return out, x


@other
def collected_and_written(x, y, n):
    out = []
    for _ in range(n):
        x = x * 0.5 + y
        out.append(x)
        x[0] = 7.0
    return out, x


@other
def collected_twice(x, y, n):
    out = []
    for i in range(n):
        x = x * 0.5 + y
        out.append(x)
        if i > 2:
            out.append(x)
    return out, x


def arguments(layout: str, dtype: Any, size: int, n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(size + n)
    x, y = (rng.random(2 * size).astype(dtype) for _ in range(2))
    if layout == "packed":
        return x[:size].copy(), y[:size].copy(), n
    if layout == "spread":
        return x[::2], y[::-2], n
    return x[:size][::-1], y[:size].copy(), n


def run(function: Program, backend: str, *calls: tuple[Any, ...], make: Any = arguments) -> Report:
    """The report on calls with the arguments that `make` makes."""
    first, *rest = [lambda call=call: make(*call) for call in calls]
    options = {"backend": backend, "options": OPTIONS}
    return require_equal(function, first, variants=rest, compile=dynamo_lite.compile, compile_options=options, calls=1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_vector_loops(name: str, backend: str) -> None:
    function = (PROGRAMS | OTHERS)[name]
    calls = [("packed", "f8", 5, n) for n in (3, 0, 1, 2, 4, 9)]
    layouts, sizes = ("packed", "spread", "reversed"), (4, 8, 9, 130, 1100, 0)
    calls += [(layout, "f8", size, 6) for layout in layouts for size in sizes]
    run(function, backend, *calls)
    report = run(function, backend, ("packed", "f8", 5, 6))
    if backend != "reference" and name in PROGRAMS and not _C.get_stress():
        assert machines_of(report.compiled), report.compiled.explain()
        assert not report.stats["declines"] and report.stats["native_calls"], report.compiled.explain()


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "u1", "?", "c16", "f2", ">f8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes(name: str, dtype: str) -> None:
    calls = [("packed", dtype, size, n) for size, n in ((5, 3), (5, 0), (5, 1), (9, 6))]
    run(PROGRAMS[name], "numba", *calls)


AWKWARD = {
    "nan": [np.nan, 1.0, 2.0, 3.0, 0.5],
    "two nans": [np.nan, -np.nan, 2.0, 3.0, 0.5],
    "infinite": [np.inf, -np.inf, 1.0, 1e308, -1e308],
    "zeros": [0.0, -0.0, 0.0, -0.0, -0.0],
    "minus zeros": [-0.0] * 5,
    "subnormal": [5e-324, -5e-324, 1e-310, 1e-300, 0.0],
}


@pytest.mark.parametrize("errors", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("values", AWKWARD)
@pytest.mark.parametrize("name", PROGRAMS)
def test_awkward_values(name: str, values: str, errors: str) -> None:
    def make() -> tuple[Any, ...]:
        x = np.array(AWKWARD[values])
        return x, x[::-1].copy(), 4

    def under(x: Any, y: Any, n: int) -> Any:
        with np.errstate(all=errors):  # type: ignore[call-overload]
            return PROGRAMS[name](x, y, n)

    options = {"backend": "numba", "options": OPTIONS}
    require_equal(under, make, compile=dynamo_lite.compile, compile_options=options, calls=2)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_loops_that_are_left(name: str, every: int) -> None:
    """Behind any iteration, to let others run, and entered again."""
    with loops_left(every):
        report = run((PROGRAMS | OTHERS)[name], "numba", *(("packed", "f8", 5, n) for n in (7, 1, 4)))
    assert report.stats["leaves"] or name in OTHERS, report.compiled.explain()


def test_a_doubtful_extreme_runs_step_by_step() -> None:
    """Where the arithmetic does not know which zero NumPy keeps the loop begins again, and nothing declines."""
    fast = dynamo_lite.compile(all_reductions, options=OPTIONS)
    for values in ([0.0, -0.0, 0.0, -0.0], [-0.0, -0.0, -0.0, 0.0], [0.0, -0.0, -1.0, 1.0], [1.0, 2.0, 3.0, 4.0]):
        x, y = np.array(values), np.zeros(4)
        assert repr(fast(x, y, 3)) == repr(all_reductions(x, y, 3))
    assert machines_of(fast) and not fast.stats()["declines"], fast.explain()


def test_what_an_iteration_hands_on_is_nobody_elses() -> None:
    fast = dynamo_lite.compile(ping_pong, options=OPTIONS)
    x, y = np.arange(4.0), np.ones(4)
    for n in range(5):
        one, two = fast(x, y, n)
        assert (one is x) == (n == 0) and (two is y) == (n == 0) and (two is x) == (n == 1)
        assert not np.shares_memory(one, two)
        if n > 1:
            one[...] = two[...] = 7.0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and y.tolist() == [1.0] * 4


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", (3, 8, 40, 1000))
def test_what_is_in_doubt_goes_by_numpys_loops(backend: str, size: int) -> None:
    fast = dynamo_lite.compile(lengths_and_rests, backend=backend, options=OPTIONS)
    numbers = np.linspace(-3.0, 5.0, size)
    missing = np.where(np.arange(size) % 3 == 1, np.nan, numbers)
    special = np.resize([np.inf, -0.0, 0.0, 1e300, -np.nan, 5e-324, -1e-200, 3.0], size)
    with np.errstate(all="ignore"):
        for x in (numbers, missing, -missing, special, numbers, special[::-1].copy(), numbers):
            for y in (numbers[::-1].copy(), missing, special):
                expected, found = lengths_and_rests(x.copy(), y.copy(), 4), fast(x.copy(), y.copy(), 4)
                for one, other in zip(expected, found, strict=True):
                    assert type(one) is type(other) and one.tobytes() == other.tobytes()
    assert machines_of(fast) or backend == "reference"
