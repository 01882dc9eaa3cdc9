"""What itertools makes tuples of: items that are known, in loops, comprehensions and lists."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS


def neighbours(x: Any) -> Any:
    out = np.zeros_like(x)
    for dy, dx in product((-1, 0, 1), repeat=2):
        out += np.roll(np.roll(x, dy, 0), dx, 1)
    return out


def points(x: Any) -> Any:
    places = np.array(list(product([-0.5, 0.5], (1.0, 2.0, 3.0))))
    weights = [np.prod(pair) for pair in product([1.0, 2.0], repeat=2)]
    return places.sum(axis=0) + x[0, :2], weights


def pairs(x: Any) -> Any:
    names = {"a": x[0], "b": x[1], "c": x[2]}
    total = 0.0
    for one, other in combinations(names, 2):
        total = total + np.dot(names[one], names[other])
    orders = [order[0] - order[1] for order in permutations([1.0, 2.0, 3.0], 2)]
    return total, orders, [x[0, 0] * a + b for a, b in combinations_with_replacement((1, 2, 3), 2)]


def changed_meanwhile(x: Any) -> Any:
    items = [1.0, 2.0]
    left = product(items, "ab")
    items.append(3.0)
    few = list(combinations([], 0)), list(combinations(items, 4)), list(permutations("ab", 0))
    return list(left), x * items[2], few


def handed_out(x: Any) -> Any:
    return product([1, 2], (x,)), permutations([x[0, 0], 2], 2), x + 1.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [neighbours, points, pairs, changed_meanwhile])
def test_programs(fn: Any, backend: str) -> None:
    report = require_equal(
        fn,
        lambda: (np.random.default_rng(0).random((4, 5)),),
        variants=[lambda: (np.random.default_rng(1).random((6, 3)),)],
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": OPTIONS},
        calls=2,
    )
    assert not report.compiled.explain().breaks


@pytest.mark.parametrize("backend", BACKENDS)
def test_iterators_that_are_handed_out(backend: str) -> None:
    fast = dynamo_lite.compile(handed_out, backend=backend, options=OPTIONS)
    x = np.random.default_rng(0).random((2, 2))
    for _ in range(3):
        ours, plain = fast(x), handed_out(x)
        assert [type(one) for one in ours] == [type(one) for one in plain]
        assert [pair[0] for pair in ours[0]] == [1, 2] and next(plain[0])[1] is x
        assert list(ours[1]) == list(plain[1])


def test_what_python_raises() -> None:
    @dynamo_lite.compile
    def wrong(x: Any) -> Any:
        return x + 1.0, list(combinations([1, 2], -1))

    for _ in range(2):
        with pytest.raises(ValueError, match="non-negative"):
            wrong(np.ones(3))


def test_ranges_of_numbers_from_outside_are_not_guarded() -> None:
    def paired(x: Any, n: int) -> Any:
        y = x * 2.0
        return sum(y[i] * y[j] for i, j in combinations(range(n), 2))

    fast, x = dynamo_lite.compile(paired, options=OPTIONS), np.arange(20.0)
    for n in range(2, 12):
        assert fast(x, n) == paired(x, n)
    assert fast.stats()["recompiles"] < 4
