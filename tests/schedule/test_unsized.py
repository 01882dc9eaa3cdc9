"""Arrays that are only stored into: their size does not tell whether a call pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.compare import Array


def into_a_part(x: Array, out: Array) -> Array:
    w = x + 1.0
    out[:5] = w[:5]
    return w


def into_a_row(x: Array, out: Array) -> Array:
    w = x + 1.0
    out[2, : len(w)] = w
    return w


def into_all(x: Array, out: Array) -> Array:
    out[:] = 1.0
    return x + 1.0


def of_another_shape(x: Array, out: Array) -> Array:
    out[:, 3] = 2.0
    return x + 1.0


def read_too(x: Array, out: Array) -> Array:
    out[:5] = x[:5] + 1.0
    return x + out.sum()


def nothing_else(out: Array) -> Any:
    out[:5] = out[5:10] + 1.0
    return out[0] * 2.0


@pytest.mark.parametrize(
    ("function", "any_size"),
    [
        (into_a_part, ("out",)),
        (into_a_row, ("out",)),
        (into_all, ()),
        (of_another_shape, ()),
        (read_too, ()),
        (nothing_else, ()),
    ],
)
def test_which_inputs_do_not_count(function: Callable[..., Any], any_size: tuple[str, ...]) -> None:
    out = np.zeros((20, 100)) if function in (into_a_row, of_another_shape) else np.zeros(100)
    arguments = (out,) if function is nothing_else else (np.linspace(0.0, 1.0, 50), out)
    (graph,) = dynamo_lite.explain(function, options={"cost_model": False})(*arguments).graphs
    assert graph.any_size == any_size


def test_a_large_array_that_gets_a_part_of_a_small_one() -> None:
    fast, x = dynamo_lite.compile(into_a_part), np.linspace(0.0, 1.0, 100)
    for size in (100, 100_000, 1_000_000):
        for _ in range(2):
            out, plain = np.zeros(size), np.zeros(size)
            assert fast(x, out).tobytes() == into_a_part(x, plain).tobytes()
            assert out.tobytes() == plain.tobytes()
    assert fast.stats()["native_calls"] == 6 and fast.stats()["plain_calls"] == 0
    (graph,) = fast.explain().graphs
    assert 100 < graph.sizes[1] < 1_000_000
    assert "elements (out may have any size); plain NumPy" in str(fast.explain())


def test_of_many_inputs_only_the_first_64_may_have_any_size() -> None:
    names = [f"a{i}" for i in range(70)]
    lines = [f"def many({', '.join(names)}):", f"    s = {' + '.join(names[1:-1])}", "    a0[1] = s", "    a69[1] = s"]
    space: dict[str, Any] = {}
    exec("\n".join([*lines, "    return s"]), space)
    given, plain = ([np.zeros((3, 50)), *np.ones((68, 50)), np.zeros((4, 50))] for _ in range(2))
    fast = dynamo_lite.compile(space["many"], options={"cost_model": False, "check": 1})
    assert fast(*given).tobytes() == space["many"](*plain).tobytes()
    assert all(one.tobytes() == other.tobytes() for one, other in zip(given, plain, strict=True))
    (graph,) = fast.explain().graphs
    assert "a69" not in graph.any_size and fast.stats()["native_calls"] == 1
