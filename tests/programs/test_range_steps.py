"""Ranges whose step an outer loop changes: sorts by gaps, transforms by doubling. And steps that are 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table

PROGRAMS, program = table()


@program(lambda n: (np.random.default_rng(n).random(n), np.array([9, 4, 2, 1])))
def sorted_by_gaps(a, gaps):
    for gap in gaps:
        for start in range(gap):
            for i in range(start + gap, len(a), gap):
                key, j = a[i], i - gap
                while j >= start and a[j] > key:
                    a[j + gap] = a[j]
                    j -= gap
                a[j + gap] = key
    return a


@program(lambda n: (np.random.default_rng(n).random(n),))
def swapped_by_halves(a):
    gap = len(a) // 2
    while gap > 0:
        for i in range(0, len(a) - gap, gap):
            if a[i] > a[i + gap]:
                a[i], a[i + gap] = a[i + gap], a[i]
        gap //= 2
    return a


@program(lambda n: (np.random.default_rng(n).random(n), np.array([3, 2, 7, 40])))
def summed_by_steps(x, steps):
    total = 0.0
    for step in steps:
        for i in range(0, len(x), step):
            total += x[i]
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    fn, arguments = PROGRAMS[name]
    report = require_equal(
        fn,
        lambda: arguments(30),
        variants=[lambda n=n: arguments(n) for n in (31, 5, 2, 64)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
    graph = report.compiled._compilation.segments[0].capture.graph
    assert any(loops_in(region) for node in graph.nodes for region in node.regions), report.compiled.explain()
    assert not report.stats["breaks"] and not report.stats["declines"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_another_sign(backend: str) -> None:
    require_equal(
        summed_by_steps,
        lambda: (np.arange(20.0), np.array([3, 2, 5])),
        variants=[
            lambda steps=steps: (np.arange(20.0), np.array(steps))  # type: ignore[misc]
            for steps in ((3, -2, 5), (-1,), (4, 0, 2), (0,), (1, 30, -30))
        ],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def goes_on_behind(x: Any, n: int, step: int) -> Any:
    found = range(0, n * step, step)
    x[0] += 1.0
    print(end="")
    return x + 1.0, found[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_of_zero_raises_where_the_range_is_made(backend: str) -> None:
    """Though the range is only needed behind a break."""
    require_equal(
        goes_on_behind,
        lambda: (np.ones(3), 3, 2),
        variants=[lambda step=step: (np.ones(3), 3, step) for step in (3, 0, -1, 0)],  # type: ignore[misc]
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )


def beside_a_range(x: Any, stop: int, step: int) -> Any:
    return x + range(0, stop, step)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", [(5, 2), (5, -1), (-5, -1)])
def test_a_range_beside_an_array_is_of_floats_where_it_is_empty(first: tuple[int, int], backend: str) -> None:
    """NumPy makes float64 of no numbers, whichever way the range would go."""
    require_equal(
        beside_a_range,
        lambda: (np.arange(1), *first),
        variants=[lambda pair=pair: (np.arange(1), *pair) for pair in ((5, -1), (5, 2), (-5, -2), (-5, 1), (0, 1))],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
    )
