"""Equal reductions and long functions are computed once; what may differ, or is seen, is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.lower import lower
from tests.copies import copies_of
from tests.oracle import Conditions, require_equal

X = np.random.default_rng(3).normal(size=(12, 9))


def count(function: Any, op: str, *arguments: Any) -> int:
    graph = lower(dynamo_lite.compile(function).graph_for(*arguments), arguments)
    return sum(node.op == op for node in graph.nodes)


def same(function: Any, *arrays: Any) -> None:
    for conditions in (Conditions(), Conditions({"all": "ignore"})):
        options: Any = {"compile": dynamo_lite.compile, "conditions": conditions}
        report = require_equal(
            function, copies_of(*arrays), compile_options={"options": {"cost_model": False}}, **options
        )
        if arrays[0] is X:
            assert report.stats["native_calls"] and not report.stats["declines"]


def scores(x: Any) -> Any:
    return (x - x.mean()) / x.std()


def columns(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0), (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def exponentials(x: Any) -> Any:
    return np.exp(x) / (1.0 + np.exp(x)), (np.exp(x) + np.sum(np.exp(x), axis=0))


def sums_of_squares(x: Any) -> Any:
    return x / np.sqrt(np.sum(x * x, axis=1))[:, None], x * np.sum(x * x, axis=1)[:, None]


def stored_meanwhile(x: Any) -> Any:
    before = np.sum(x, axis=1)
    x[2] = 3.0
    return before * 2.0 - np.sum(x, axis=1)


def stored_in_own(x: Any) -> Any:
    y = x + 1.0
    v = y[1:]
    before = np.sum(v, axis=0) * 2.0
    y[3, 1::2] = np.exp(before[1::2])
    after = np.sum(v, axis=0) * 3.0
    return before, after, y


def both_returned(x: Any) -> Any:
    a, b = x.sum(axis=0), x.sum(axis=0)
    b[0] = 7.0
    return a, b, np.exp(x), np.exp(x)


def zeros_of_other_signs(x: Any) -> Any:
    return np.arctan2(x, 0.0) * np.arctan2(x, -0.0), np.arctan2(x, 0) + np.arctan2(x, 0.0)


def other_starts(x: Any) -> Any:
    return np.sum(x, axis=0, initial=0.0) + np.sum(x, axis=0, initial=-0.0) + np.sum(x, axis=0, initial=1)


@pytest.mark.parametrize(
    ("function", "op", "number"),
    [
        (scores, "reduce", 2),
        (columns, "reduce", 4),
        (exponentials, "exp", 1),
        (sums_of_squares, "reduce", 1),
        (stored_meanwhile, "reduce", 2),
        (stored_in_own, "reduce", 2),
        (both_returned, "exp", 2),
        (zeros_of_other_signs, "arctan2", 3),
        (other_starts, "reduce", 3),
    ],
)
def test_how_often(function: Any, op: str, number: int) -> None:
    assert count(function, op, X) == number
    for x in (X, np.asfortranarray(X), X[::2, ::-1], X * 1e300, np.where(X > 1.0, np.nan, X), X - X, X[:0], X[:1]):
        same(function, x)


def test_operands_go_as_well() -> None:
    assert count(sums_of_squares, "multiply", X) == 2  # x * x, and the product with the sum


def of_sums_with_axes_kept_or_not(x: Any) -> Any:
    """Functions of equal reductions, of other shapes, which may be broadcast alike."""
    kept, plain = np.exp(x.sum(axis=1, keepdims=True)), np.exp(x.sum(axis=1))
    return x - kept, x - plain, kept * plain, np.tanh(x.max(axis=0)) * 2.0, np.tanh(x.max(axis=0, keepdims=True)) + x


def test_what_is_computed_of_them_has_its_own_shape() -> None:
    x = X[:9]  # square
    fast = dynamo_lite.compile(of_sums_with_axes_kept_or_not, options={"cost_model": False})
    for one in (x, x.T.copy()):
        for found, expected in zip(fast(one), of_sums_with_axes_kept_or_not(one), strict=True):
            assert found.tobytes() == expected.tobytes() and found.shape == expected.shape
    assert fast.stats()["native_calls"] == 2
