"""Lists that loops read as they fill them where NumPy wants an array: capture/lists/list_arrays.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table
from tests.programs.random_array_lists import described
from tests.watch.test_module_loops import same

PROGRAMS, program = table()


def numbers(n: int) -> Any:
    return np.random.default_rng(n).random(n)


@program(lambda n: (numbers(7), n))
def plucked(table, n):
    samples, at, before = [], 0, 0
    while len(samples) < n:
        table[at] = 0.5 * (table[at] + before)
        samples.append(table[at])
        before = samples[-1]
        at = (at + 1) % table.size
    return np.array(samples)


@program(lambda n: (np.random.default_rng(n).integers(0, 20, 3 * n),))
def edges(x):
    bins = [x[0]]
    for i in range(len(x)):
        if x[i] > bins[-1]:
            bins.append(x[i])
    bins[-1] = x[-1]
    return np.array(bins), np.diff(bins)


@program(lambda n: (np.log(numbers(4 * n).reshape(n, 4)), np.log(numbers(16).reshape(4, 4))))
def best_path(scores, moves):
    n, k = scores.shape
    best, back = np.zeros((n, k)), np.zeros((n, k), dtype=int)
    for t in range(1, n):
        for s in range(k):
            found = [best[t - 1, r] + moves[r, s] + scores[t, s] for r in range(k)]
            best[t, s], back[t, s] = np.max(found), np.argmax(found)
    at = best[n - 1].argmax()
    path = [at]
    for t in range(n - 1, 0, -1):
        at = back[t, at]
        path.append(at)
    return path[::-1], best, back


@program(lambda n: (n, 1 << 60))
def python_ints(n, step):
    f = [0, 1]
    for i in range(n):
        f.append(f[-1] + f[-2] + (step if i == 25 else 0))
    return np.array(f), np.sum(f), f


@program(lambda n: (n, 0.25))
def ints_and_floats(n, odd):
    f = [1, 0.5]
    for i in range(n):
        f.append(f[-1] * 2 if i % 3 else i + odd)
        f[0] = i
    return np.asarray(f) * 0.5, np.mean(f[1:]), f


@program(lambda n: (numbers(n + 2),))
def bools(x):
    seen = [True]
    for i in range(len(x)):
        seen.append(not seen[-1] if x[i] > 0.5 else seen[-1])
    return np.array(seen), x[np.array(seen)[1:]], seen


@program(lambda n: (numbers(n + 2).astype(np.float32),))
def singles(x):
    y = [x[0]]
    for i in range(1, len(x)):
        y.append(y[-1] * x[i] + x[i])
        y[0] = y[-1]
    return np.array(y), x + y, y


@program(lambda n: (numbers(n + 3),))
def in_each_iteration(x):
    window = [x[0], x[1], x[2]]
    means = []
    for i in range(3, len(x)):
        window.append(x[i] - window[-1])
        window.pop(0)
        means.append(np.median(window) + np.sum(window))
    return means, window


def _require_like(fn: Callable[..., Any], fast: Callable[..., Any], make: Callable[..., Any], *args: Any) -> None:
    seen = []
    for one in (fn, fast):
        given = make(*args)
        try:
            found = one(*given)
            is_of_objects = isinstance(found, np.ndarray) and found.dtype == object
            seen.append((found.tolist() if is_of_objects else found, given))
        except (ValueError, TypeError) as error:
            seen.append((str(error), given))
    assert same(*seen), seen


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (30, 30, 2, 9, 3, 31):
        _require_like(fn, fast, arguments, n)
    graphs = [segment.capture.graph for segment in fast._compilation.segments]
    assert any(loops_in(graph) and "list_array" in str(graph) for graph in graphs)
    assert fast.stats()["native_calls"] >= 4


def filled(first: Any, x: Any) -> Any:
    y = [first]
    for i in range(len(x)):
        y.append(x[i])
        y[0] = y[-1] if x[i] > 0.5 else first
    return np.array(y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_other_numbers_numpy_makes_another_array(backend: str) -> None:
    fast = dynamo_lite.compile(filled, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    x = numbers(40)
    for first in (0.25, np.float64(0.25), 7, np.float32(0.25), 1 << 70, True, np.int64(3), 0.25):
        for one in (x, x.astype(np.float32), (x * 2).astype(np.int64), x[:0]):
            _require_like(filled, fast, lambda *args: args, first, one)


def emptied(x: Any) -> Any:
    y = [0.5]
    for i in range(len(x)):
        if x[i] < 0.5:
            y.append(x[i] + y[-1])
        elif len(y) > 0:
            y.pop()
    return np.array(y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_empty_list_declines(backend: str) -> None:
    fast = dynamo_lite.compile(emptied, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for x in (np.full(20, 0.25), np.array([0.25, 1.0, 0.25]), np.array([1.0]), np.full(5, 0.25)):
        _require_like(emptied, fast, lambda x: (x,), x)


def type_alone(x: Any, n: int, first: Any) -> Any:
    acc = [first]
    for i in range(n):
        acc.append(acc[-1] + x[i % len(x)])
        if np.mean(acc) > 3:
            acc.append(0.5)
    return acc, np.array(acc).dtype


def sizes_of_items(xs: list[Any], n: int) -> Any:
    out = []
    for i in range(n):
        out.append(xs[i])
    total = 0
    while out:
        total += out.pop().itemsize
    return total


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_type_that_alone_is_asked_for_is_that_of_the_call(backend: str) -> None:
    """What type the array, or an item, has is a guess: it is tested though nobody reads a value."""
    options = {"cost_model": False, "recompile_limit": 100}
    fast = dynamo_lite.compile(type_alone, backend=backend, options=options)
    for x, n, first in ((np.arange(4), 9, 0), (numbers(3), 0, True), (numbers(3), 5, np.float64(2.0))):
        assert repr(fast(x, n, first)) == repr(type_alone(x, n, first))
    sizes = dynamo_lite.compile(sizes_of_items, backend=backend, options=options)
    for items in ([np.float64(1)] * 4, [np.float64(1), np.float32(1)] * 2, [np.float32(1)] * 4):
        assert sizes(items, 2) == sizes_of_items(items, 2)


def holds_itself(x: Any, n: int) -> Any:
    a: list[Any] = [x, x * 2.0]
    a.append(a)
    ws, s = [x * i for i in range(9)], x
    for i in range(n):
        b = a[2]
        b[0] = b[0] * 0.5 + ws[i]
        s = a[0] * np.sqrt(1.0 + i)
    return s, len(a), a[2] is a


def holds_one_that_holds_it(x: Any, n: int) -> Any:
    a: list[Any] = []
    a.append([a, a])
    s = x
    for _ in range(n):
        s = s * 0.5 + len(a)
    print(end="")
    return s + 1.0, a[0][1] is a


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [holds_itself, holds_one_that_holds_it])
def test_lists_that_hold_themselves(fn: Any, backend: str) -> None:
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    for n in (6, 0, 3):
        assert described(fast(np.arange(3.0), n), {}) == described(fn(np.arange(3.0), n), {})
