"""Schedules mean what their graphs mean: step by step with NumPy, over a table of programs and random ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret as interpret_graph
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.program.interpret import interpret
from dynamo_lite.schedule import Schedule, schedule
from dynamo_lite.schedule.text import to_text
from tests.schedule.programs import PROGRAMS
from tests.schedule.random_programs import random_program
from tests.schedule.tracing import trace


def make(graph: Graph) -> Schedule:
    before = str(graph)
    verify(graph)
    lowered = lower(graph)
    verify(lowered)
    assert str(graph) == before
    steps = schedule(lowered, TARGET)
    to_text(steps)
    return steps


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray | np.generic):
        equal = left.dtype == right.dtype and left.shape == right.shape
        return equal and np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()
    return bool(left == right)


def check(graph: Graph, arguments: tuple[Any, ...], steps: Schedule) -> None:
    expected_inputs, inputs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        expected = interpret_graph(graph, expected_inputs)
        results = interpret(steps, inputs)
    for index, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert same(result, wanted), (index, result, wanted)
    for result, wanted in zip(inputs, expected_inputs, strict=True):
        assert same(result, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    function, arguments = PROGRAMS[name]
    graph = trace(function, *copy.deepcopy(arguments))
    check(graph, arguments, make(graph))


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    function, arguments = random_program(seed)
    graph = trace(function, *copy.deepcopy(arguments))
    check(graph, arguments, make(graph))
    with np.errstate(all="ignore"):
        expected = function(*copy.deepcopy(arguments))
        results = interpret(make(graph), copy.deepcopy(arguments))
    for result, wanted in zip(results, expected, strict=True):
        assert same(result, wanted)
