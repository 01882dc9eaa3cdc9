"""Lists of numbers from outside where NumPy wants an array: the guards make it, however long the list is."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import BACKENDS
from tests.oracle import require_equal

PLACES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 0, 8]
WEIGHTS = [0.5, -1.5, 2.0, 7.25, 1e300, -0.0, 3.5, 1.0, 2.5, 9.0, -4.0, 0.125]


def taken(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return x[at] * 2.0


def rows(x: Any, w: Any, at: Any, ws: Any) -> Any:
    m = np.outer(x, w)
    return m[at, :] - m[at[0], :], m[:, at], m[at, at]


def operand(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return w * ws + at, ws - w, np.maximum(w, at), np.add(ws, 1.0) * w


def stored(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x.copy()
    y[at] = ws
    y[at] += 1.0
    return y


def added(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = np.zeros(x.shape)
    np.add.at(y, at, w)
    np.subtract.at(y, at, ws)
    return y


def reduced(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return np.sum(ws) + x, np.mean(at) * w, np.max(ws) - w, np.dot(ws, w), np.std(ws) * x


def made(x: Any, w: Any, at: Any, ws: Any) -> Any:
    first, second = np.array(ws), np.asarray(ws)
    first[0] = 3.0
    second += w
    return first, second, np.asarray(at), np.array(at, dtype=float) + w, np.array([ws, at, w])


def joined(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return np.concatenate([x, ws]), np.stack([ws, at]) * w, x[[at, at]]


def structure(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return np.percentile(x, at) + w, np.histogram(x * 2.0, bins=sorted(at)), np.split(x * 2.0, sorted(at))


def both(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x[at] + w
    total = 0.0
    for k in at:
        total += k * 0.5
    return y, total, len(at), max(at), at[2]


def changed(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x[at] + w
    at[0] = 7
    return y, x[at] - w


def grown(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x[at] + w
    at.append(2)
    return y, x[at]


def looped(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x.copy()
    for _ in range(50):
        np.add.at(y, at, w * 0.01)
        y = y + 0.1 * np.sum(y[at] * ws)
    return y


def loop_that_stores(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = x.copy()
    for k in range(12):
        y = y + np.sum(y[at]) * 1e-3
        at[k] = k % 3
    return y, at


def loop_over_a_name_for_it(x: Any, w: Any, at: Any, ws: Any) -> Any:
    other = at
    out = []
    for k in range(12):
        out.append(float(np.sum(x[at] * w)))
        other[k] = 11 - k
        other[0], other[1] = other[1], other[0]
    return out, at


def of_other_dtypes(x: Any, w: Any, at: Any, ws: Any) -> Any:
    """What NumPy makes of each number by itself: an int becomes a float32 by way of a double."""
    y = w.astype(np.float32)
    y[:] = at
    return y, np.array(at, dtype=np.float32) + y, np.array(ws, dtype=np.float32), np.insert(y, 1, at)


def of_short_ints(x: Any, w: Any, at: Any, ws: Any) -> Any:
    return np.array(at, dtype=np.int8) + w.astype(np.int8)


def into_short_ints(x: Any, w: Any, at: Any, ws: Any) -> Any:
    y = w.astype(np.int8)
    y[:] = at
    return y * 2, np.insert(y, 1, at)


FUNCTIONS = [taken, rows, operand, stored, added, reduced, made, joined, structure, both, changed, grown, looped]
FUNCTIONS += [of_other_dtypes, of_short_ints, into_short_ints, loop_that_stores, loop_over_a_name_for_it]


def _calls() -> list[tuple[Any, ...]]:
    x, w = np.linspace(-1.0, 3.0, 12), np.linspace(0.5, 9.0, 12)
    others: list[list[Any]] = [PLACES[::-1], [*PLACES[:-1], -3], [True, *PLACES[1:]], [2.0, *PLACES[1:]]]
    others += [[300, *PLACES[1:]], [9007199791611905, *PLACES[1:]], [-1, *PLACES[1:]]]
    others += [[np.int64(2), *PLACES[1:]], [2**40, *PLACES[1:]], [2**64, *PLACES[1:]], PLACES[:-1], []]
    numbers: list[list[Any]] = [WEIGHTS[::-1], [1, *WEIGHTS[1:]], [None, *WEIGHTS[1:]], ["", *WEIGHTS[1:]], WEIGHTS[:5]]
    numbers += [[float("nan"), *WEIGHTS[1:]], [1j, *WEIGHTS[1:]], [[1.0, 2.0], *WEIGHTS[1:]], []]
    calls = [(x, w, PLACES, WEIGHTS)] * 3 + [(x, w, at, WEIGHTS) for at in others]
    return calls + [(x, w, PLACES, ws) for ws in numbers]


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_as_numpy_would(fn: Callable[..., Any], backend: str) -> None:
    first, *others = [functools.partial(copy.deepcopy, args) for args in _calls()]
    report = require_equal(
        fn,
        first,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": {"cost_model": False, "recompile_limit": 100}},
        variants=others,
    )
    assert report.stats["native_calls"] > 0


@pytest.mark.parametrize("fn", [taken, rows, operand, stored, added, reduced, joined, looped])
def test_one_program_for_all_lengths(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, fullgraph=True, options={"cost_model": False})
    for size in (12, 20, 1000, 12):
        x, w = np.linspace(-1.0, 3.0, size), np.linspace(0.5, 9.0, size)
        fast(x, w, [k % 12 for k in range(size)], [k * 0.5 for k in range(size)])
    assert fast.stats()["compiles"] == 1
    assert "the numbers of" in str(fast.explain())


def filled(x: Any, first: int, dtype: Any, n: int) -> Any:
    found = []
    for k in range(n):
        found.append(first + k * 100)
    y = np.zeros(n, dtype)
    y[:] = found
    return y, np.array(found, dtype=dtype) + x.astype(dtype), np.insert(y, 0, [first, 2])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64, np.complex64, bool])
@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_that_a_loop_fills_as_other_dtypes(backend: str, dtype: Any) -> None:
    options = {"backend": backend, "options": {"cost_model": False, "recompile_limit": 100}}
    for first, n in ((0, 1), (0, 2), (0, 3), (0, 30), (-1, 20), (9007199791611905, 20), (2**24 + 1, 20)):
        require_equal(
            filled,
            lambda first=first, n=n: (np.ones(1), first, dtype, n),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options=options,
        )


DEEP = (  # what is stored has more axes than where it goes: NumPy takes that of an array alone
    *("m[0] = [m[1]]", "m[0] = [[1.0, 2.0, 3.0]]", "m[0] = ((1.0, 2.0, 3.0),)", "m[:, 0] = [m[:, 1]]", "m[...] = [m]"),
    *("m[0, 0, ...] = [k]", "m[0] = m.tolist()[:1]", "m[0][:] = [range(3)]", "m[k] = list(m)[:1]", "m[[0]] = [[m[1]]]"),
    *("m[0] = np.array([m[1]])", "m[:1] = [m[1]]", "m[0, :2] = [m[1, 0], k]", "m[m > 0.5] = [[1.0]]"),
)


@pytest.mark.parametrize("store", DEEP)
@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_of_more_axes_than_they_are_stored_into(store: str, backend: str) -> None:
    namespace: dict[str, Any] = {"np": np}
    body = f"    for k in range(n):\n        m[2] += 1.0\n        {store}\n    {store}\n    return m\n"
    exec(f"def in_loop(m, n):\n    k = 0\n{body}", namespace)
    exec(f"def at_once(m, n):\n    k = n - 1\n    {store}\n    return m\n", namespace)
    options = {"backend": backend, "options": {"cost_model": False}}
    for function in (namespace["in_loop"], namespace["at_once"]):
        require_equal(
            function, lambda: (np.arange(9.0).reshape(3, 3) / 9, 3), compile=dynamo_lite.compile,
            compile_options=options,
        )  # fmt: skip
