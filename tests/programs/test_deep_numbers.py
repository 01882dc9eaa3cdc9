"""Numbers of many operations: one in the other, and such of which a part occurs twice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.numbers.numbers import MAX_DEPTH
from tests.oracle import require_equal


def chain(operations: int) -> Callable[..., Any]:
    """A function that computes with its argument so often."""
    lines = "".join("    t = t * 1.01 + u\n" for _ in range(operations // 2))
    names: dict[str, Any] = {}
    exec(f"def deep(x, t, u):\n{lines}    return x * t, t\n", names)
    return names["deep"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("backend", ["numba", "reference", "c"])
@pytest.mark.parametrize("operations", [MAX_DEPTH // 2, MAX_DEPTH, MAX_DEPTH + 200])
def test_operations_in_each_other(operations: int, backend: str) -> None:
    """As one number up to a limit, from which on the graph breaks."""
    report = require_equal(
        chain(operations),
        lambda: (np.arange(5.0), 0.3, 0.7),
        variants=[lambda: (np.arange(3.0), -1.5, 1e300)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend},
    )
    breaks = [one.id for one in report.compiled.explain().breaks]
    assert ("number-too-long" in breaks) == (operations > MAX_DEPTH)


def test_a_number_of_which_each_part_occurs_twice() -> None:
    """It has as many operations as were written, though written out it would have 2^60."""

    def doubling(x, t):  # type: ignore[no-untyped-def]
        for _ in range(60):
            t = t * 0.5 + t * 0.25
        return x * t, t > 0.0

    report = require_equal(
        doubling,
        lambda: (np.arange(5.0), 0.3),
        variants=[lambda: (np.arange(3.0), -0.5)],
        compile=dynamo_lite.compile,
    )
    assert not report.compiled.explain().breaks


def repeated(line: str, times: int, returned: str = "x * t, t", indent: str = "    ") -> Callable[..., Any]:
    """A function f(x, t, a, b) that executes one line so often, with {i} as a number of its own."""
    names: dict[str, Any] = {"np": np}
    lines = "".join(indent + line.format(i=i) + "\n" for i in range(times))
    loop = "    for j in range(6):\n" if len(indent) > 4 else ""
    exec(f"def f(x, t, a, b):\n{loop}{lines}    return {returned}\n", names)
    return names["f"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("line", "times", "start"),
    [
        ("t = t * (a + b + {i})", 40, (1, 1, -2)),
        ("t = t * t - 1", 40, (0, 0, 0)),
        ("t = t * t", 40, (1, 0, 0)),
        ("t = (t * t - t + a) * (t - b)", 8, (1, 0, 1)),
        ("t = max(min(t, a), t - {i} - 1)", 40, (5, 2, 0)),
        ("t = max(min(t, b), a - {i}) + {i}", 300, (5, 2, 9)),
        ("t = max(min(t, a), min(t, b))", 60, (5, 2, 9)),
        ("t = (t * 3 + b) % (1000003 + {i})", 300, (1, 2, 9)),
        ("t = (t + b * {i}) // 2 + t % ({i} + 7)", 200, (1, 2, 9)),
        ("t = t + a // ({i} + 2)", 500, (1, 2, 9)),
        ("t = t * 0.3 + b", 450, (1.0, 2, 9.0)),
    ],
)
def test_work_on_long_numbers_is_bounded(line: str, times: int, start: tuple[Any, ...]) -> None:
    """Neither does it double with each operation, nor take a call for each: in guards, in loops, and as sizes."""
    tail = "x * t if t > 3 else x, t"
    for fn in (
        repeated(line, times, tail),
        repeated(line, times, tail, "        "),
        repeated(line, times, "x[int(t) % 5 :] + 1.0"),
    ):
        began = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("error", dynamo_lite.errors.DynamoLiteWarning)
            fast = dynamo_lite.compile(fn)
            results = [fast(np.arange(5.0), *start), fn(np.arange(5.0), *start)]
        assert process_time() - began < 10
        assert repr(results[0]) == repr(results[1])


def test_slices_by_min_and_max_of_what_others_left() -> None:
    """Each asks of the length before it, which is of min and max as well."""
    fn = repeated("x = x[min(a, len(x) - 1) : max(b, len(x) // 2)]", 8, "x")
    report = require_equal(fn, lambda: (np.arange(200.0), 0, 1, 200), compile=dynamo_lite.compile)
    assert not report.compiled.explain().breaks
