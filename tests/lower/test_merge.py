"""Loops carry once what is always one object, and keep apart what only may be equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.merge import merge
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS

X, V = np.float64(1.0), np.float64(0.25)


def carried(function: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
    """How much the only loop carries before and after the pass."""
    graph = clone(dynamo_lite.compile(function).graph_for(*arguments))
    before = [node.params["carried"] for node in graph.nodes if node.kind is NodeKind.LOOP]
    merge(graph)
    verify(graph)
    (loop,) = (node for node in graph.nodes if node.kind is NodeKind.LOOP)
    return before[0], loop.params["carried"]


def from_lists(n: int, x: Any, v: Any) -> Any:
    xs, vs, c = [x], [v], 0
    while c < n:
        vs.append(vs[c] - x * 0.5)
        xs.append(xs[c] + v)
        c += 1
        x, v = xs[c], vs[c]
    return xs, vs, x, v, x is xs[-1], v is vs[-1]


def one_array_twice(n: int, x: Any, v: Any) -> Any:
    a = b = np.full(4, x)
    for _ in range(n):
        a = b = a + v
    return a, b, a is b


def parted_later(n: int, x: Any, v: Any) -> Any:
    a = b = np.full(4, x)
    for i in range(n):
        a, b = a + v, (a if i else b)
    return a, b, a is b


def equal_but_two(n: int, x: Any, v: Any) -> Any:
    a = b = np.full(4, x)
    for _ in range(n):
        a, b = a + v, b + v
    return a, b, a is b


def of_an_inner_loop(n: int, x: Any, v: Any) -> Any:
    xs = [x]
    for _ in range(n):
        for j in range(3):
            xs.append(xs[-1] + v * j)
            x = xs[-1]
        x = xs[-1]
    return xs, x, x is xs[-1]


PROGRAMS = (from_lists, one_array_twice, parted_later, equal_but_two, of_an_inner_loop)


def test_items_and_the_names_that_have_them() -> None:
    assert carried(from_lists, 5, X, V) == (4, 2)


def test_two_names_of_one_array() -> None:
    assert carried(one_array_twice, 5, X, V)[1] == 1


@pytest.mark.parametrize("program", [equal_but_two, parted_later])
def test_what_may_be_two_objects_stays_two(program: Any) -> None:
    assert carried(program, 5, X, V)[1] == 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_objects_come_out(program: Any, backend: str) -> None:
    options = {"backend": backend, "options": OPTIONS}
    variants = [lambda n=n: (n, X, V) for n in (0, 1, 2, 30)]  # type: ignore[misc]
    require_equal(program, lambda: (7, X, V), variants=variants, compile=dynamo_lite.compile, compile_options=options)
