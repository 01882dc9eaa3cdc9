"""Loops mean what their graphs mean: scheduled and run step by step with NumPy, they do what the plain loop does."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.graph.interpret import interpret as interpret_graph
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.program.interpret import interpret
from dynamo_lite.schedule import schedule
from dynamo_lite.schedule.text import to_text
from tests.schedule.loops import LOOPS
from tests.schedule.test_schedule import same
from tests.schedule.tracing import trace


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_loops(name: str, count: int) -> None:
    function, arguments = LOOPS[name]
    graph = trace(function, 3, *copy.deepcopy(arguments))
    before = str(graph)
    verify(graph)
    lowered = lower(graph)
    verify(lowered)
    assert str(graph) == before
    steps = schedule(lowered, TARGET)
    assert "loop range(" in to_text(steps)
    arguments = (count, *arguments)
    runs = []
    with np.errstate(all="ignore"):
        for run in (lambda *x: function(*x), lambda *x: interpret_graph(graph, x), lambda *x: interpret(steps, x)):
            inputs = copy.deepcopy(arguments)
            result = run(*inputs)
            outputs = result if isinstance(result, tuple | list) else () if result is None else (result,)
            runs.append((*outputs, *inputs))
    for other in runs[1:]:
        assert len(other) == len(runs[0])
        for index, (result, wanted) in enumerate(zip(other, runs[0], strict=True)):
            assert same(result, wanted), (index, result, wanted)
