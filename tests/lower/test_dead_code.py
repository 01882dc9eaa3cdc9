"""What is unused goes, unless NumPy would have something to say about it."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamo_lite
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.dead_code import dead_code
from tests.schedule.tracing import trace


def kept(function: Any, *arguments: Any) -> list[str]:
    graph = clone(trace(function, *arguments))
    dead_code(graph)
    verify(graph)
    return [node.op for node in graph.nodes if node.op != "input"]


def left(function: Any, *arguments: Any) -> list[str]:
    """The same of what capture finds."""
    graph = clone(dynamo_lite.compile(function).graph_for(*arguments))
    dead_code(graph)
    return [node.op for node in graph.nodes if node.op != "input"]


def test_the_docstring() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        x < 0  # noqa: B015
        y < 0  # noqa: B015
        return y

    assert kept(program, np.ones(3)) == ["add"]


def test_floating_point_errors_stay() -> None:
    def program(x: Any) -> Any:
        1 / x
        return x

    assert kept(program, np.ones(3)) == ["divide"]


def test_ordering_complex_numbers_may_meet_nan() -> None:
    def program(x: Any) -> Any:
        x == 1  # noqa: B015
        x < 1  # noqa: B015
        return x

    assert kept(program, np.ones(3)) == []
    assert kept(program, np.ones(3, complex)) == ["less"]
    assert kept(lambda x: (x < 1j, x)[1], np.ones(3)) == ["less"]
    for scalar in (np.float64(1), np.float32(1), np.int64(1)):
        assert kept(lambda x: (x < 1j, x == 1j, x)[2], scalar)[0] == "scalar_less"


def test_a_number_too_large_for_a_scalar_is_reported() -> None:
    def program(x: Any) -> Any:
        x < 70000.0  # noqa: B015
        x < 1.0  # noqa: B015
        x < np.inf  # noqa: B015
        return x

    assert kept(program, np.float16(3)) == ["scalar_less"]
    assert kept(program, np.float32(3)) == kept(program, np.float64(3)) == []


def test_integer_arithmetic_is_silent() -> None:
    def program(x: Any) -> Any:
        x * x - 3
        x // 2
        return x

    assert kept(program, np.arange(3)) == ["floor_divide"]


def test_integer_arithmetic_that_reports() -> None:
    def program(x: Any) -> Any:
        np.reciprocal(x)
        np.floor_divide.outer(x, x)
        np.add.outer(x, x)
        x.astype(np.int8)
        x.astype(np.float16)
        return x

    assert kept(program, np.arange(3)) == ["reciprocal", "outer", "astype"]


def test_views_go_and_reads_that_may_raise_stay() -> None:
    def program(x: Any) -> Any:
        x.T  # noqa: B018
        x[0]
        return x

    assert kept(program, np.ones(3)) == ["basic_index"]


def test_reads_of_an_axis_of_known_length_go() -> None:
    def program(x: Any) -> Any:
        y = np.empty((x.shape[0], 2))
        y[:, 1]
        y[..., -2]
        return x * 2.0

    def outside(x: Any) -> Any:
        x[2]
        return x * 2.0

    assert left(program, np.ones(9)) == ["multiply"]
    assert left(outside, np.ones(9)) == ["basic_index", "multiply"]


def test_stores_stay() -> None:
    def program(x: Any) -> None:
        x[1:] = 0

    assert kept(program, np.ones(3)) == ["basic_index", "store"]
