"""One graph serves every size its facts admit; few questions are asked, and other sizes get a graph of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamo_lite
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import Scalar, Symbol, evaluate
from dynamo_lite.ops.shapes import slice_length
from tests.conftest import BACKENDS
from tests.copies import copies_of
from tests.ops.record import record
from tests.oracle import Conditions, require_equal

QUIET = Conditions(errstate={"all": "ignore"})


def grid(rows: int, columns: int) -> Any:
    return np.random.default_rng(rows * 100 + columns).normal(size=(rows, columns))


def jacobi(a: Any, b: Any) -> None:
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    a[1:-1, 1:-1] = b[1:-1, 1:-1] * 2.0


def halves(a: Any, b: Any) -> Any:
    rows = a.shape[0]
    return a[::2] - b[: (rows + 1) // 2], a[rows // 2 :].sum(axis=0), np.concatenate([a, b])[::-1]


def flat(a: Any, b: Any) -> Any:
    return a.reshape(-1) @ b.ravel(), a.reshape(b.shape[1], -1), (a.reshape(-1)[:, None] + b[0]).mT


def reduced(a: Any, b: Any) -> Any:
    return a.sum(axis=0) / b.max(axis=1, keepdims=True), a - a.min(axis=1)[:, None], np.where(a > b, a, 0)[1:, ::-2]


def pairs(a: Any, b: Any) -> Any:
    return a.reshape(-1, 2) * 2 + 1, b.reshape(b.shape[0] // 2, 2, -1) - 1, a.reshape(2, -1) + b.reshape(2, -1)


def butterfly(a: Any, b: Any) -> Any:
    half = a.shape[0] // 2
    upper, lower = a[:half] + a[half:], b[: b.shape[0] // 2] - a[half:]
    return np.concatenate((upper, lower)) * 2 + b


def pooled(a: Any, b: Any) -> Any:
    blocks = a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2)
    return blocks.max(axis=(1, 3)) * 2 + b[::2, ::2], blocks.reshape(-1, 4).sum(axis=1) + 1


@pytest.mark.parametrize(
    ("function", "graphs"),
    [(jacobi, 1), (halves, 2), (flat, 1), (reduced, 1), (pairs, 1), (butterfly, 1), (pooled, 1)],
)
def test_one_graph_for_many_sizes(function: Callable[..., Any], graphs: int) -> None:
    sizes = [(6, 8), (12, 10), (5, 4), (8, 6), (40, 30), (7, 8)]
    if function in (pairs, butterfly, pooled):  # NumPy refuses odd ones
        sizes = [size for size in sizes if size[0] % 2 == 0]
    variants = [copies_of(grid(*size), grid(*size)) for size in sizes]
    report = require_equal(function, variants[0], compile=record, variants=variants[1:], conditions=QUIET)
    assert len(report.compiled.graphs) <= graphs  # type: ignore[attr-defined]


@pytest.mark.parametrize("function", [jacobi, halves, flat, reduced, pairs, butterfly, pooled])
@pytest.mark.parametrize("size", [(0, 3), (3, 0), (1, 1), (2, 2), (3, 1), (1, 5), (2, 4), (4, 3)])
def test_small_sizes(function: Callable[..., Any], size: tuple[int, int]) -> None:
    a, b = grid(*size), grid(*size)
    try:
        with np.errstate(all="ignore"):
            function(a.copy(), b.copy())
    except (ValueError, IndexError):
        return
    variants = [copies_of(grid(6, 8), grid(6, 8))]
    require_equal(function, copies_of(a, b), compile=record, variants=variants, conditions=QUIET)


def facts_of(function: Callable[..., Any], *args: Any) -> list[str]:
    compiled = record(function)
    compiled(*args)
    return [str(condition) for condition in compiled.graphs[-1].facts.learned]


def first_of_two(x: Any) -> Any:
    both = np.column_stack((x, x))
    return both[0, 0], both[[0], 0], (both <= 3) % x  # which fits where x has 1 column or none


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shapes", [[(3, 0)], [(3, 1), (3, 0), (3, 1)], [(0, 0), (3, 4)]])
def test_a_size_that_turns_out_to_be_0_makes_an_index_an_error_of_the_call(
    backend: str, shapes: list[tuple[int, int]]
) -> None:
    fast = dynamo_lite.compile(first_of_two, backend=backend, options={"check": 1, "cost_model": False})
    for shape in shapes * 2:
        got = []
        for call in (first_of_two, fast):
            try:
                got.append([np.array(part).tolist() for part in call(np.ones(shape))])
            except (IndexError, ValueError) as error:
                got.append([str(error)])
        assert got[0] == got[1]


def test_a_stencil_asks_little() -> None:
    assert facts_of(lambda a: a[1:-1] + a[:-2] + a[2:], np.ones(9)) == ["ge(s0, 4)"]
    assert facts_of(lambda a, b: a + b, np.ones((5, 4)), np.ones((5, 4))) == ["eq(s0, s2)", "eq(s1, s3)"]
    assert facts_of(lambda a: (a[:], a[::-1], a[0], a[-1], a.T, a.reshape(-1)), np.ones((5, 4))) == []
    assert facts_of(lambda a: (a + a[0], a - a.sum(1, keepdims=True)), np.ones((5, 4))) == []


@settings(max_examples=400)
@given(
    *(st.none() | st.integers(-7, 7) for _ in range(2)),
    st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]),
    st.integers(0, 8),
    st.booleans(),
)
def test_slice_length(start: int | None, stop: int | None, step: int | None, size: int, symbolic: bool) -> None:
    """Right now, and at every other size that answers the questions alike."""
    dim = 1 if size == 1 else Symbol("n", "int", 0, 0)
    env: dict[str, Any] = {"n": size}
    bounds: list[Scalar | None] = []
    for name, value in (("a", start), ("b", stop), ("c", step)):
        if value is not None and symbolic:
            env[name] = value
            bounds.append(Symbol(name, "int", 1))
        else:
            bounds.append(value)
    facts = Facts()

    def ask(condition: Scalar) -> bool:
        known = facts.decide(condition)
        truth = bool(evaluate(condition, env))
        assert known is None or known is truth
        facts.learn(condition, truth)
        return truth

    length = slice_length((bounds[0], bounds[1], bounds[2]), dim, ask)
    assert length != 1 or evaluate(length, env) == 1
    for other in (size,) if size == 1 else (0, *range(2, 12)):
        world = {**env, "n": other}
        if all(evaluate(condition, world) for condition in facts.learned):
            expected = len(range(*slice(start, stop, step).indices(other)))
            assert evaluate(length, world) == expected
            assert expected != 1 or length == 1
