"""Random functions over Python numbers against plain Python, as `is` can tell; OBJECT_FUZZ sets how many."""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.graph.node import NodeKind
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left
from tests.programs.random_objects import Thing, arguments, function, source
from tests.programs.test_number_objects import told

BATCH = 10
CALLS = 6


@pytest.mark.parametrize("kind", ["straight", "loops", "left"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("OBJECT_FUZZ", 20), BATCH))
def test_random_objects(start: int, backend: str, kind: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        text = source(seed, kind != "straight")
        plain = function(text)
        fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 100})
        for call in range(CALLS):
            args = arguments(CALLS * seed + call)
            with loops_left(kind == "left"):  # after each iteration
                found = everything(fast, args)
            assert found == everything(plain, args), f"{kind} {seed}, {args[1:]}:\n{text}"
        native += any(loop.outcome == "native" for loop in fast.explain().loops)
    assert native or kind == "straight" or _C.get_stress()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("OBJECT_FUZZ", 20), BATCH))
def test_random_branches(start: int, backend: str) -> None:
    chosen = 0
    for seed in range(start, start + BATCH):
        text = source(seed, False, True)
        plain = function(text)
        fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 100})
        for call in range(CALLS):
            found, expected = (outcome(of, arguments(CALLS * seed + call)) for of in (fast, plain))
            assert found == expected, f"{seed}, call {call}:\n{text}"
        graphs = [segment.capture.graph for segment in fast._compilation.segments]
        chosen += any(node.kind is NodeKind.COND for graph in graphs for node in graph.nodes)
    assert chosen or _C.get_stress()


def outcome(of: Any, args: tuple[Any, ...]) -> list[Any]:
    """All that can be told of a call that may warn, raise, print and write its argument; tuples are told by items."""
    thing, printed = Thing(), io.StringIO()
    thing.a, thing.b = args[3], args[5]
    results: list[Any] = []
    raised: Any = None
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            results = [*flat(of(*args, thing)), thing.a, thing.b]
        except Exception as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)][1:]
            raised = type(error), str(error), lines
    arrays = [one for one in (args[0], *results) if isinstance(one, np.ndarray)]
    lie = [(one.dtype, one.shape, one.strides, one.base is None) for one in arrays]
    shared = [np.shares_memory(one, other) for one, other in combinations(arrays, 2)]
    said = [(one.category, str(one.message), one.lineno) for one in warned]
    items = tuple(one for one in results if not isinstance(one, tuple))
    return [told(args, items), len(results), raised, said, printed.getvalue(), lie, shared, args[0].tobytes()]


def flat(value: Any) -> list[Any]:
    """A value, and the items of tuples in it."""
    return [value, *(one for item in value for one in flat(item))] if isinstance(value, tuple) else [value]


def everything(of: Any, args: tuple[Any, ...]) -> list[Any]:
    """All that can be told of a call."""
    thing = Thing()
    thing.a, thing.b = args[3], args[5]
    with np.errstate(all="ignore"):
        results = of(*args, thing)
    return told(args, (*results, thing.a, thing.b))
