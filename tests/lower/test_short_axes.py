"""Reductions along a few rows become elementwise: the lines of the docstring, and that bits, strides and flags stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.short_axes import short_axes
from tests.oracle import Conditions, require_equal

SPECIAL = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3.0)


def taken_apart(function: Callable[..., Any], *arguments: Any) -> list[str]:
    graph = clone(dynamo_lite.compile(function).graph_for(*arguments))
    short_axes(graph)
    verify(graph)
    return [node.op for node in graph.nodes]


def rows_of(count: int, ufunc: np.ufunc, dtype: str) -> Callable[..., Any]:
    def program(x: Any, y: Any) -> Any:
        pair = np.zeros((count, len(x)), dtype)
        for row in range(count - 1):
            pair[row] = x if row % 2 else y
        return ufunc.reduce(pair, axis=0) + x, ufunc.reduce(pair * y, axis=0)

    return program


def check(function: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> None:
    options = {"options": {"cost_model": False}}
    for conditions in (Conditions(), Conditions({"all": "ignore"})):
        require_equal(
            function,
            lambda: tuple(array.copy() for array in arrays),
            compile=dynamo_lite.compile,
            compile_options=options,
            conditions=conditions,
        )


def test_rows_are_values() -> None:
    def program(x: Any, y: Any) -> Any:
        both = np.empty((2, len(x)))
        both[0] = x + 1.0
        both[1] = y - 1.0
        return np.sum(both * x, axis=0)

    assert taken_apart(program, np.ones(5), np.ones(5)).count("reduce") == 0
    text = str(lower(dynamo_lite.compile(program).graph_for(np.ones(5), np.ones(5))))
    assert "store" not in text, text
    assert text.count("multiply(") == 2 and "reduce" not in text, text


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.minimum, np.maximum])
@pytest.mark.parametrize(
    ("dtype", "count"), [("f8", 2), ("f8", 7), ("f8", 8), ("f4", 3), ("f2", 4), ("i8", 3), ("u1", 5)]
)
def test_bits(ufunc: np.ufunc, dtype: str, count: int) -> None:
    random = np.random.default_rng(count)
    for size in (0, 1, 2, 35):
        x, y = (random.choice(SPECIAL if dtype[0] == "f" else (0, 1, 2, 200), size).astype(dtype) for _ in "xy")
        check(rows_of(count, ufunc, dtype), x, y)
        ordinary = (x[np.isfinite(x)], y[: np.isfinite(x).sum()])
        check(rows_of(count, ufunc, dtype), *ordinary)


@pytest.mark.parametrize("zeros", [(-0.0, -0.0), (0.0, -0.0), (-0.0, 0.0)])
def test_a_sum_of_zeros(zeros: tuple[float, float]) -> None:
    def program(x: Any, y: Any) -> Any:
        both = np.empty((2, len(x)))
        both[0] = x
        both[1] = y
        return both.sum(axis=0), both.prod(axis=0), both.min(axis=0)

    for size in (1, 2, 19):
        check(program, np.full(size, zeros[0]), np.full(size, zeros[1]))


@pytest.mark.parametrize("ufunc", [np.add, np.minimum])
def test_a_row_as_it_was(ufunc: np.ufunc) -> None:
    def program(x: Any, y: Any) -> Any:
        pair = np.zeros((2, len(x)))
        total = np.zeros((2, len(x)))
        for row in range(2):
            for other in (x, y, x * y):
                pair[0, :] = other
                total[row, :] += ufunc.reduce(pair, axis=0) * other
                pair[-1, 1:] += 1.0
        return total, pair

    for size in (1, 2, 40):
        check(program, np.linspace(-2, 2, size), np.linspace(3, -1, size))


def test_an_operand_that_changes_behind() -> None:
    def program(x: Any, y: Any) -> Any:
        both = np.zeros((3, len(x)))
        both[1] = x
        product = both * y
        both[1] = 7.0
        y += 1.0
        return product.sum(axis=0), product.max(axis=0), both

    check(program, np.linspace(-2, 2, 9), np.linspace(3, -1, 9))


def test_what_others_read_is_computed_once() -> None:
    def program(x: Any) -> Any:
        both = np.zeros((2, len(x)))
        both[1] = x
        product = np.exp(both)
        return product.sum(axis=0), product

    assert "reduce" in taken_apart(program, np.ones(5))
    check(program, np.linspace(-2, 2, 9))


def test_memory_order_of_an_extreme() -> None:
    def program(x: Any, y: Any) -> Any:
        both = np.empty((2, len(x)), order="F")
        both[0] = x
        both[1] = y
        return both.min(axis=0), both.max(axis=0)

    for size in (1, 2, 9, 64):
        random = np.random.default_rng(size)
        check(program, random.choice(SPECIAL, size), random.choice(SPECIAL, size))


def test_in_a_loop() -> None:
    def program(x: Any, n: int) -> Any:
        for _ in range(n):
            both = np.empty((2, len(x)))
            both[0] = x * 0.5
            both[1] = x - 0.25
            x = np.max(both, axis=0)
        return x

    for size in (1, 2, 33):
        check(lambda x: program(x, 20), np.linspace(-2, 2, size))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4", "?"])
def test_a_stack_of_vectors(axis: int, dtype: str) -> None:
    def program(x: Any, y: Any) -> Any:
        both = np.stack([x, y, x[::-1], y[::-1]], axis=axis)
        x[:1] = 0
        return both, np.stack((x + y, y), axis=axis), np.stack((x, x, y), axis).max(axis=0)

    for size in (0, 1, 2, 19):
        x = np.arange(2 * size).astype(dtype)
        check(program, x[:size], x[size:])
        check(lambda x: program(x[::2], x[1::2]), x)


def test_a_stack_of_unlike_arrays_is_left_to_numpy() -> None:
    def program(x: Any, i: Any, m: Any) -> Any:
        return np.stack((x, i)), np.stack((m, m.T)), np.stack((m, m), -1), np.stack([x[0], x[1]]), np.stack([x] * 20)

    check(program, np.arange(4.0), np.arange(4), np.arange(9.0).reshape(3, 3))
