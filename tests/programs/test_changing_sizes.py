"""Loops whose arrays change size from one iteration to the next stay native: each such extent is a carried number."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.test_random_sizes import outcome

OPTIONS = {"cost_model": False, "check": 1}


def escapes(c: Any, n: int) -> Any:
    z, out, at = c.copy(), np.zeros(c.size, np.int64), np.arange(c.size)
    for i in range(n):
        z = z * z + c
        stays = np.abs(z) < 2.0
        out[at[~stays]] = i + 1
        z, c, at = z[stays], c[stays], at[stays]
    return out, z, at


def grown(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.append(x, x[-1] * 0.5 + i)
    return x


def differences(x: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        x = x[1:] - x[:-1]
        total += x.sum()
    return x, total


def collected(x: Any, n: int) -> Any:
    found, rejected = np.empty(0), 0
    for i in range(n):
        if x[i % len(x)] > 0.2:
            found = np.append(found, x[i % len(x)] * i)
        else:
            rejected += 1
    return found, rejected


def taken_off(x: Any, n: int) -> Any:
    largest, count = 0.0, 0
    while len(x) > n % 3:
        largest = max(largest, float(x[0]))
        x = x[x > x[0]]
        count += 1
    return x, largest, count


def rows(x: Any, n: int) -> Any:
    w = np.stack((x, x * x, -x), axis=1)
    for i in range(n):
        w = w * 0.9
        w = w[w[:, 0] + w[:, 2] * 0.5 > 0.001 * i]
    return w, w.sum(axis=0), w.shape


def joined(x: Any, n: int) -> Any:
    w = np.zeros((1, 2))
    for i in range(n):
        w = np.vstack((w, w[-1] + i))
    return w


def nested(x: Any, n: int) -> Any:
    sizes = []
    for i in range(n):
        y = x * i
        for j in range(12):
            y = y[y > 0.1 * j]
            y = np.append(y, 0.05 * j)
        sizes.append(len(y))
        x = np.append(x, y.sum())
    return x, sizes


def queue(x: Any, n: int) -> Any:
    q, seen = np.array([1, 2]), 0
    while q.size and seen < n:
        first, q = q[0], q[1:]
        q = np.concatenate((q, np.array([2 * first + 1, 2 * first % 97])))
        seen += 1
    return q, seen


def views(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        y = y[1:]
        y += i
    return x, y


def printed(x: Any, n: int) -> Any:
    for i in range(n):
        x = np.append(x, x[0] + i)
        if i % 4 == 3:
            print(end="")
    return x


def unequal(x: Any, n: int) -> Any:
    y = x * 2.0
    for i in range(n):
        x = x[1:]
        y = y[1:] if i < n - 1 else y
        x = x + y
    return x


def tree(x: Any, n: int) -> Any:
    """Sizes that go with the index, beside an array that shrinks as the index does."""
    v = x
    for i in range(len(x) - 1, 0, -1):
        stop = np.arange(i) * 0.1 + n
        v = np.maximum(0.5 * v[1:] + 0.5 * v[:-1], stop)
    return v


def swapped(x: Any, n: int) -> Any:
    new = x * 1.5
    for i in range(min(n, len(x) - 1)):
        old, held = new, np.ones(len(x) - i - 1) * i
        new = np.where(old[1:] > held, old[:-1], held)
    return new


def padded(x: Any, n: int) -> Any:
    v = x[:1]
    for i in range(n):
        w = np.zeros(i + 2)
        w[:-1] += v
        w[1:] += v * 0.5
        v = np.minimum(w, np.arange(i + 2) * 0.5)
    return v


def misfit(x: Any, n: int) -> Any:
    """The sizes fit up to the last iteration but one."""
    v = x
    for i in range(n):
        v = v[1:] + np.ones(len(x) - i - 1 - (i == 7))
    return v


def stays(x: Any, n: int) -> Any:
    """What is taken to change does not."""
    total = 0.0
    for i in range(n):
        x = x[::-1]
        total += (x[:2] - np.ones(i + 1)).sum()
    return x, total


PROGRAMS = (tree, swapped, padded, escapes, grown, differences, collected, taken_off, rows, joined, nested, queue)


@pytest.mark.parametrize("backend", ["numba", "c", "reference"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_they_are_native(program: Callable[..., Any], backend: str, no_mode: None) -> None:
    fast = dynamo_lite.compile(program, backend=backend, options=OPTIONS)
    for size in (40, 40, 12, 200):
        x = np.random.default_rng(size).random(size) * (1.2 + 0.4j if program is escapes else 1.0)
        for n in (9, 8, 0):
            assert outcome(fast, (x.copy(), n)) == outcome(program, (x.copy(), n))
    stats = fast.stats()
    assert stats["native_calls"] and not stats["breaks"] and not stats["declines"]


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize(
    "program", (*PROGRAMS, views, printed, unequal, misfit, stays), ids=lambda program: program.__name__
)
def test_nothing_left_or_wrong(program: Callable[..., Any], backend: str) -> None:
    """Arrays that are empty, or of one element, before the loop or in it; errors that NumPy raises then."""
    fast = dynamo_lite.compile(program, backend=backend, options=OPTIONS)
    for size in (5, 6, 1, 0, 2, 5):
        x = np.linspace(0.5, 1.0, size) * (1.2 + 0.4j if program is escapes else 1.0)
        for n in (12, 3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert outcome(fast, (x.copy(), n)) == outcome(program, (x.copy(), n)), (size, n)


@pytest.mark.parametrize("size", [300, 40_000])
def test_long_arrays(size: int) -> None:
    """Beyond what machine code handles as a whole, from the begin on or while it runs."""

    def doubled(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            x = np.concatenate((x, x * 0.5 + i))
            total += x[i]
        return x, total

    fast = dynamo_lite.compile(doubled, options=OPTIONS)
    for n in (3, 9, 3):
        x = np.random.default_rng(1).random(size)
        assert outcome(fast, (x.copy(), n)) == outcome(doubled, (x.copy(), n))


def test_equal_at_first_alone() -> None:
    """Two arrays of one length before the loop are no longer of one length in it."""

    def apart(x: Any, y: Any, n: int) -> Any:
        for _ in range(n):
            x = x[1:] * 2.0
            y = np.append(y, y[0])
        return x, y

    fast = dynamo_lite.compile(apart, options=OPTIONS)
    x = np.arange(30.0)
    assert outcome(fast, (x, x + 1.0, 7)) == outcome(apart, (x, x + 1.0, 7))
    assert fast.stats()["native_calls"] and not fast.stats()["breaks"]


def trimmed(x: Any, y: Any, n: int) -> Any:
    i = 0
    while i < n:
        i += 1
        x = x[1:-1]
        x = np.append(x, y[0])
    return x


def less_what_is_empty(x: Any, y: Any, n: int) -> Any:
    for i in range(n):
        x = x[x > i * 0.1]
        x -= y[8:]
    return x


def as_long_as_the_shorter(x: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        k = min(len(x), len(y))
        x = x[:k] * 2.0
        y = y[:k] + 1.0
    return x, y


def shorter_where_it_is_rare(x: Any, y: Any, n: int) -> Any:
    z = x
    for i in range(n):
        if z.size > 2:
            x = x + x
        x = x[:-1]
        if i % 2 == 0 and z.sum() > 3:
            z = z[1:]
    return x, z


def kept_where_it_is_rare(x: Any, y: Any, n: int) -> Any:
    holder = [np.outer(y, y)]
    for i in range(n):
        if i % 2 == 0:
            holder[0] = np.vstack((holder[0], holder[0][:1]))
        holder[0][0, 0] = i
    return holder[0]


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize(
    "program",
    [trimmed, less_what_is_empty, shorter_where_it_is_rare, kept_where_it_is_rare],
)
def test_graphs_pass_the_check(program: Any, backend: str) -> None:
    """Where a size is known better after the node of which it is the size, equal to another by a require, or where an
    extent stays in the iterations that are run natively."""
    fast = dynamo_lite.compile(program, backend=backend, options={**OPTIONS, "check": 1})
    for x in (np.arange(8.0), np.zeros(8), np.ones(3), np.zeros(0)):
        given = x, np.arange(8.0), 4
        assert outcome(fast, given) == outcome(program, given), x
    assert fast.stats()["native_calls"]


def one_broadcast_then_none(x: Any, y: Any, n: int) -> Any:
    for _ in range(n):
        x = x + y * 0.25
        y = y[:-1]
    return x, y


def test_what_follows_from_an_extent_that_stays_passes_the_check() -> None:
    """The extent of x stays 1 and is required to be that of y: so that is known to be 1."""
    fast = dynamo_lite.compile(one_broadcast_then_none, options={**OPTIONS, "check": 1})
    for size in (1, 1, 5):
        given = np.ones(1), np.ones(size), 30
        assert outcome(fast, given) == outcome(one_broadcast_then_none, given)


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_as_long_as_the_shorter(backend: str) -> None:
    """NB: with check=1 the verifier refuses it: what a guard says of a minimum it does not know of the operands."""
    fast = dynamo_lite.compile(as_long_as_the_shorter, backend=backend, options={"cost_model": False})
    for x in (np.arange(8.0), np.ones(3), np.arange(20.0), np.zeros(0)):
        given = x, np.arange(8.0), 4
        assert outcome(fast, given) == outcome(as_long_as_the_shorter, given), x


def broadcast_first(x: Any, n: int) -> Any:
    v = np.zeros(1)
    for _ in range(n):
        v = x * 0.5 + v
    return v


def product_first(x: Any, n: int) -> Any:
    m, v = np.outer(x, x), x[:1]
    for _ in range(n):
        v = m @ (x + v) * 1e-3
    return v


def rows_first(x: Any, n: int) -> Any:
    v = np.zeros((1, 5))
    for _ in range(n):
        v = np.ones((len(x), 5)) * 0.5 + v
    return v


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("program", [broadcast_first, product_first, rows_first])
def test_a_size_that_settles_is_no_number(program: Any, backend: str, no_mode: None) -> None:
    """It is another one after the first iteration alone, which runs before the loop: then sizes are known to agree."""
    fast = dynamo_lite.compile(program, backend=backend, options=OPTIONS)
    for size in (30, 30, 7):
        given = np.linspace(0.0, 1.0, size), 12
        assert outcome(fast, given) == outcome(program, given)
    assert fast.stats()["native_calls"] and not fast.stats()["breaks"]


def nearest(weights: Any, starts: int) -> Any:
    """Dijkstra's distances: a list of one place in the first round, then an array of those that are as near."""
    count = len(weights)
    found = np.zeros((starts, count))
    for start in range(starts):
        distance, open_, places = np.full(count, np.inf), np.ones(count, bool), [start]
        distance[start] = 0.0
        while True:
            open_[places] = False
            for place in places:
                (others,) = np.where(weights[place])
                distance[others] = np.minimum(distance[others], distance[place] + weights[place, others])
            if distance[open_].size == 0:
                break
            least = np.min(distance[open_])
            if np.isinf(least):
                break
            (places,) = np.where((distance == least) & open_)
        found[start] = distance
    return found


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_a_size_that_nobody_reads_on_one_way_out(backend: str) -> None:
    fast = dynamo_lite.compile(nearest, backend=backend, options=OPTIONS)
    for count in (7, 12, 2, 7):
        rng = np.random.default_rng(count)
        weights = rng.integers(1, 4, (count, count)) * (rng.random((count, count)) < 0.4) * 1.0
        for starts in (count, 1, 0):
            assert outcome(fast, (weights, starts)) == outcome(nearest, (weights, starts))
    assert fast.stats()["native_calls"] and not fast.stats()["breaks"] and not fast.stats()["declines"], fast.explain()
