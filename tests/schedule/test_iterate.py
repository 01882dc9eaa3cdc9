"""Which loops one kernel can run, and what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.lower import lower
from dynamo_lite.schedule import schedule
from dynamo_lite.schedule.steps import Loop, Map
from dynamo_lite.schedule.text import to_text
from tests.schedule.programs import rand
from tests.schedule.tracing import for_range, trace


def steps_of(body: Any, *carried: Any, captured: tuple[Any, ...] = ()) -> Any:
    def function(n: Any, *values: Any) -> Any:
        first, others = values[: len(carried)], values[len(carried) :]
        return for_range((0, n, 1), first, lambda i, *x: body(i, *x, *others))

    return schedule(lower(trace(function, 5, *carried, *captured)), TARGET)


def iterated(body: Any, *carried: Any, captured: tuple[Any, ...] = ()) -> Map | None:
    (loop,) = (step for step in steps_of(body, *carried, captured=captured).steps if isinstance(step, Loop))
    found: Map | None = loop.body.iterated
    return found


def test_one_map() -> None:
    text = to_text(steps_of(lambda i, x: (x + 1.0,), rand(2, 3)))
    assert text.split("many iterations: ")[1].startswith(
        "r1 = map[s1, s2](r1, 1.0)\n"
        "        v0: float64, v1: float64\n"
        "        v2: float64 = add(v0, v1)\n"
        "        -> v2\n"
        "        next v0 = v2\n"
    )


def test_several_maps_become_one() -> None:
    def body(i: Any, x: Any, v: Any) -> Any:
        x += 0.01 * v
        v -= 0.04 * x
        return ()

    def function(n: Any, x: Any, v: Any) -> None:
        for_range((0, n, 1), (), lambda i: body(i, x, v))

    (loop,) = (
        step for step in schedule(lower(trace(function, 5, rand(6), rand(6))), TARGET).steps if isinstance(step, Loop)
    )
    found = loop.body.iterated
    assert found is not None and len(loop.body.steps) == 2
    assert found.into == (True, True)
    assert [op.op for op in found.kernel.ops] == ["multiply", "add", "multiply", "subtract"]


def test_what_changes_places_is_a_result() -> None:
    found = iterated(lambda i, x, y: (y, x * 0.5), rand(5), rand(5))
    assert found is not None
    assert set(found.kernel.next) >= set(found.kernel.results) and found.into == (False, False)


def test_a_longer_round() -> None:
    found = iterated(lambda i, x, y, z: (y, z, x * 0.5), rand(5), rand(5), rand(5))
    assert found is not None and found.outs == (1, 2, 3)


def test_rows_and_elements() -> None:
    def body(i: Any, x: Any, u: Any) -> Any:
        return (x * u[0, i] + u[i],)

    found = iterated(body, rand(5), captured=(rand(5, 5),))
    assert found is not None and len(found.kernel.rows) == 1


def test_what_is_read_at_other_places_than_it_is_written() -> None:
    def function(n: Any, x: Any, y: Any) -> None:
        def body(i: Any) -> Any:
            y[1:-1] = x[:-2] + x[2:]
            x[1:-1] = y[:-2] + y[2:]
            return ()

        for_range((0, n, 1), (), body)

    steps = schedule(lower(trace(function, 5, rand(6), rand(6))), TARGET).steps
    (loop,) = (step for step in steps if isinstance(step, Loop))
    assert loop.body.iterated is None and loop.machine is not None


NOT: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "a neighbour": (lambda i, x: (x[::-1] * 0.5,), (rand(5),), ()),
    "a sum": (lambda i, x: (x - x.sum(),), (rand(5),), ()),
    "nothing made": (lambda i, x, y: (y, x), (rand(5), rand(5)), ()),
    "one array twice": (lambda i, x, y: (lambda z: (z, z))(x + y), (rand(5), rand(5)), ()),
    "another shape": (lambda i, x, y: (x + 1, y + 1), (rand(5), rand(4)), ()),
    "a call": (lambda i, x: (np.sort(x) + 1,), (rand(5),), ()),
}


@pytest.mark.parametrize("name", NOT)
def test_what_no_kernel_runs(name: str) -> None:
    body, carried, captured = NOT[name]
    assert iterated(body, *carried, captured=captured) is None
