"""A `while` whose tests data decides, before it is a loop of the graph: the first, and that of a peeled iteration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.branches.arms import BY_TRUTH
from dynamo_lite.capture.loops.first_tests import entering_way
from dynamo_lite.pycode import decoded
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS
from tests.programs.test_random_elements import machines_of

BEGINS = ("t = [a]", "t = [0]", "t = [0.5]", "t = [a - a]", "t = [True]")
TESTS = (
    *("t[c] < end", "t[-1] < end", "not t[c] >= end and c < 50", "t[c] < end and c < 50", "c < 50 and t[c] < end"),
    *("t[c] < end or c < 2", "end > t[c]", "abs(t[c]) < abs(end)", "np.sqrt(abs(t[c])) < end and c < 50"),
)
STEPS = ("t[c] + a", "t[-1] + 1", "t[c] + 0.25", "a + c", "t[c] + np.int64(1)")
BODIES = (
    "c += 1; t.append({step_before})",
    "t.append({step}); c += 1; x = t[c]; xs.append(x)",
    "xs.append(x * a)\n        while x >= 2.0: x -= 1.0\n        x = x + a; t.append({step}); c += 1",
)


def program(begin: str, test: str, step: str, body: str) -> Any:
    text = body.format(step=step, step_before=step.replace("t[c]", "t[c - 1]"))
    lines = f"def f(a, end):\n    {begin}; c = 0; x = a; xs = []\n    while {test}:\n        {text}\n"
    space: dict[str, Any] = {"np": np}
    exec(lines + "    return t, xs, x, c, x is t[-1]\n", space)
    return space["f"]


ALL = [*itertools.product(BEGINS, TESTS, STEPS, BODIES)]
ENDS = (np.float64(6.0), 6.0, 6, np.float64(-1.0), np.float64(0.75), np.int64(5), np.float64("nan"), np.float32(3.0))


@pytest.mark.parametrize("case", range(0, len(ALL), 7))
def test_lists_that_grow_until(case: int) -> None:
    function = program(*ALL[case])
    variants = [lambda end=end: (np.float64(0.75), end) for end in ENDS]  # type: ignore[misc]
    require_equal(
        function,
        lambda: (np.float64(0.75), np.float64(6.0)),
        variants=variants,
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS | {"recompile_limit": 100}},
    )


def until(a: Any, end: Any) -> Any:
    t, c = [0], 0
    while t[c] < end:
        c += 1
        t.append(t[c - 1] + a)
    return t


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("end", [np.float64(40.0), 40.0, 40])
def test_is_one_graph(end: Any, backend: str) -> None:
    report = require_equal(
        until,
        lambda: (np.float64(0.5), end),
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    assert report.stats["breaks"] == 0 and report.stats["declines"] == 0, report.compiled.explain()


def test_a_call_that_enters_no_iteration_runs_plainly() -> None:
    report = require_equal(
        until,
        lambda: (np.float64(0.5), np.float64(9.0)),
        variants=[lambda: (np.float64(0.5), np.float64(-1.0)), lambda: (np.float64(0.5), np.float64(0.25))],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
    assert report.stats["declines"] and report.stats["breaks"] == 0


def with_effects(a: Any, end: Any, log: Any, x: Any) -> Any:
    log.append(1)
    x[0] = a
    t = a - a
    while t < end:
        t += a
        x[1] += t
    return t


@pytest.mark.parametrize("end", [np.float64(5.0), np.float64(-1.0)])
def test_what_has_happened_before_happens_once(end: Any) -> None:
    require_equal(
        with_effects,
        lambda: (np.float64(0.5), end, [], np.zeros(2)),
        variants=[lambda: (np.float64(0.5), np.float64(-3.0), [], np.zeros(2))],
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )


def an_if_around_a_loop(a: Any, end: Any) -> Any:
    x = a
    if a < end:
        while x < 3.0:
            x += 0.5
    return x


def test_an_if_is_no_test_of_the_loop_in_it() -> None:
    code = decoded(an_if_around_a_loop.__code__)
    jumps = [place for place, instr in enumerate(code.instrs) if instr.op in BY_TRUTH]
    assert [entering_way(code, place) for place in jumps] == [None, True, True]


# Ints and floats are compared exactly, beyond 2**53 too.
FAR = (2**53, 2**53 + 1, 2**60, -(2**53) - 1, 2**62 + 1, 7, 0)
FLOATS = (float(2**53), float(2**60), -float(2**53), 0.0, -0.0, 6.5, float("inf"), -float("inf"), float("nan"))


def compared(n: int, t: float, by: float, m: int) -> Any:
    less = same = more = 0
    for _ in range(m):
        if t < n:
            less += 1
        if n == t:
            same += 1
        if n <= t:
            more += 1
        t += by
    return less, same, more, t


@pytest.mark.parametrize("n", FAR)
def test_ints_beside_floats(n: int) -> None:
    report = require_equal(
        compared,
        lambda: (7, 5.5, 0.5, 40),
        calls=1,
        variants=[lambda t=t, by=by: (n, t, by, 40) for t in FLOATS for by in (1.0, 0.5)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS | {"recompile_limit": 100}},
    )
    assert machines_of(report.compiled), report.compiled.explain()


def counted_up(n: int, t: float) -> Any:
    found = []
    while t < n:
        t += 1.0
        found.append(t)
    return found, t


def test_a_while_with_an_int_and_a_float_is_machine_code() -> None:
    report = require_equal(
        counted_up, lambda: (40, 0.5), compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )
    assert machines_of(report.compiled) and not report.stats["declines"], report.compiled.explain()


CALLED: list[float] = []


@dynamo_lite.allow_in_graph
def length(x: Any) -> Any:
    CALLED.append(float(x.sum()))
    return np.sqrt((x * x).sum())


def halved(x: Any) -> Any:
    count = 0
    while length(x) > 1.0:
        x = x * 0.5
        count += 1
    return x, count


def test_a_function_of_the_user_is_not_called_to_see() -> None:
    """It is called on arrays of ones alone, before the program runs."""
    CALLED.clear()
    x = np.array([3.0, 4.5])
    fast = dynamo_lite.compile(halved, options=OPTIONS)
    assert repr(fast(x)) == repr(halved(x))
    assert CALLED.count(7.5) == 2  # of the first test: compiled, and plainly
