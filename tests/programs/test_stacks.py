"""Loops that work off a list of tuples and put others there: floods, searches, labels (lists/object_lists.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table
from tests.programs.random_object_lists import outcome

PROGRAMS, program = table()


def field(n: int) -> Any:
    inside = np.where(np.random.default_rng(n).random((n, n)) > 0.3, 255, 1).astype(np.uint8)
    inside[0, 0] = 255
    return np.pad(inside, 1)


@program(lambda n: (field(n), (1, 1)))
def flooded_from_a_tuple(image, seed):
    stack = []
    stack.append(seed)
    while len(stack) > 0:
        x, y = stack.pop()
        image[x][y] = 0
        if image[x + 1][y] == 255:
            stack.append((x + 1, y))
        if image[x - 1][y] == 255:
            stack.append((x - 1, y))
        if image[x][y + 1] == 255:
            stack.append((x, y + 1))
        if image[x][y - 1] == 255:
            stack.append((x, y - 1))
    return image


@program(lambda n: (field(n), 1, 1))
def extended(image, x, y):
    stack, count = [(x, y)], 0
    while stack:
        x, y = stack.pop()
        if image[x, y] != 255:
            continue
        image[x, y] = 7
        count += 1
        stack.extend([(x + 1, y), (x - 1, y)])
        stack.extend(((x, y + 1), (x, y - 1)))
    return image, count


@program(lambda n: (np.random.default_rng(n).random(n), (0, n)))
def keeps_the_tuple(x, whole):
    parts = [whole]
    for i in range(len(x)):
        if x[i] > 0.5:
            low, high = parts[-1]
            parts.append((low, high - 1))
        else:
            parts.append(parts[0])
    return parts, parts[0]


@program(lambda n: (np.random.default_rng(n).random(n), (0.25, True), [3, 4]))
def of_several_kinds(x, first, more):
    seen = [first]
    for i in range(len(x)):
        a, b = seen[-1]
        more.extend([i, i + 1])
        seen.append((a * 0.5 + i, not b))
    return seen, more


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    """Values, types, and which objects are one."""
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (12, 12, 3, 2, 15):
        assert outcome(fn, arguments(n), rows=[]) == outcome(fast, arguments(n), rows=[]), n
    graphs = [segment.capture.graph for segment in fast._compilation.segments]
    assert any(loops_in(graph) and "list_take" in str(graph) for graph in graphs)
    assert fast.stats()["native_calls"] >= 4 and not fast.stats()["breaks"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tuple_of_other_things(backend: str) -> None:
    fast = dynamo_lite.compile(flooded_from_a_tuple, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for seed in ((1, 1), (1.5, 1), (1, 1, 1), (1,), (1, "1"), (np.int64(1), 1), (True, 1), (1, 1)):
        image = field(8)
        expected = outcome(flooded_from_a_tuple, (image.copy(), seed), rows=[])
        assert expected == outcome(fast, (image.copy(), seed), rows=[]), seed
