"""Loops run from C, against the plain loop: bits, strides, sharing and identity of results, whatever the count."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends import resolve

from dynamo_lite._C import Declined
from dynamo_lite.config import config
from dynamo_lite.graph.verify import verify
from tests.backends.test_programs import BACKENDS, copies, same, sharing
from tests.schedule.loops import LOOPS
from tests.schedule.random_loops import random_loop
from tests.schedule.tracing import trace


def flat(result: Any) -> list[Any]:
    return [] if result is None else list(result) if isinstance(result, tuple | list) else [result]


def identities(values: list[Any]) -> list[bool]:
    return [a is b for a, b in itertools.combinations(values, 2)]


def bases(values: list[Any]) -> list[Any]:
    """Of each array, the number of the array that owns its memory; None where that is not among the values."""
    owners = [value.base if isinstance(value, np.ndarray) and value.base is not None else value for value in values]
    return [next((k for k, value in enumerate(values) if value is owner), None) for owner in owners]


def check(program: Any, function: Any, arguments: tuple[Any, ...]) -> None:
    expected_inputs, inputs = copies(arguments), copies(arguments)
    with np.errstate(all="ignore"):
        expected = [*flat(function(*expected_inputs)), *expected_inputs]
        results = [*program(*inputs), *inputs]
    assert len(results) == len(expected)
    for index, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert same(result, wanted), (index, result, wanted)
    assert sharing(results) == sharing(expected)
    assert identities(results) == identities(expected)
    assert bases(results) == bases(expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", LOOPS)
def test_loops(backend: str, name: str) -> None:
    function, arguments = LOOPS[name]
    graph = trace(function, 3, *copies(arguments))
    with config.patch(cost_model=False):
        program = resolve(backend)(graph, (3, *copies(arguments)))
    for count in (0, 1, 2, 3, 4, 0, 5):
        check(program, function, (count, *arguments))


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed: int) -> None:
    """They end as the plain loop does, or decline, where arrays overlap, with everything as it was; also where there is
    no iteration and something was taken out of the loop (lower/hoist.py)."""
    function, arguments = random_loop(seed)
    graph = trace(function, 3, *copies(arguments))
    verify(graph)
    with config.patch(cost_model=False):
        program = resolve("numba")(graph, (3, *copies(arguments)))
    for count in (0, 1, 2, 3, 5):
        try:
            check(program, function, (count, *arguments))
        except Declined as error:
            assert "shares memory" in str(error) or (count < 2 and "a required relation" in str(error))
            inputs = copies(arguments)
            with pytest.raises(Declined), np.errstate(all="ignore"):
                program(count, *inputs)
            assert all(map(same, inputs, copies(arguments)))
