"""Whole programs, run from C, against the graph's interpretation: bits, strides, input memory, sharing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends import resolve

from dynamo_lite._C import Declined
from dynamo_lite.config import config
from dynamo_lite.graph.interpret import interpret
from tests.conftest import BACKENDS as BACKENDS
from tests.schedule.programs import PROGRAMS
from tests.schedule.random_programs import random_program
from tests.schedule.tracing import trace


def same(left: Any, right: Any) -> bool:
    """Equal in type, dtype, shape, strides and bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        layout = (left.dtype, left.shape, left.strides) == (right.dtype, right.shape, right.strides)
        return layout and np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()
    if isinstance(left, np.generic):
        return left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return bool(left == right)


def sharing(values: list[Any]) -> list[list[bool]]:
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    return [[np.shares_memory(a, b) for b in arrays] for a in arrays]


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments afresh, in the same memory order."""
    return tuple(argument.copy("K") if isinstance(argument, np.ndarray) else argument for argument in arguments)


def check(backend: str, function: Any, arguments: tuple[Any, ...]) -> None:
    graph = trace(function, *copies(arguments))
    with config.patch(cost_model=False):
        program = resolve(backend)(graph, copies(arguments))
    expected_inputs, inputs = copies(arguments), copies(arguments)
    with np.errstate(all="ignore"):
        expected = interpret(graph, expected_inputs)
        results = list(program(*inputs))
    assert len(results) == len(expected)
    for index, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert same(result, wanted), (index, result, wanted)
    for result, wanted in zip(inputs, expected_inputs, strict=True):
        assert same(result, wanted)
    assert sharing([*results, *inputs]) == sharing([*expected, *expected_inputs])
    for result, argument, wanted, expected_argument in (
        (r, a, w, e)
        for r, w in zip(results, expected, strict=True)
        for a, e in zip(inputs, expected_inputs, strict=True)
    ):
        assert (result is argument) == (wanted is expected_argument)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(backend: str, name: str) -> None:
    function, arguments = PROGRAMS[name]
    check(backend, function, arguments)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """They give what the graph gives, or decline, where NumPy computes otherwise, with everything as it was."""
    function, arguments = random_program(seed)
    try:
        check("numba", function, arguments)
    except Declined as error:
        assert "is reversed" in str(error)
        inputs = copies(arguments)
        with config.patch(cost_model=False):
            program = resolve("numba")(trace(function, *copies(arguments)), copies(arguments))
        with pytest.raises(Declined), np.errstate(all="ignore"):
            program(*inputs)
        assert all(map(same, inputs, copies(arguments)))
