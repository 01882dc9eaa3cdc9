"""Loops over lists that programs work on as the objects that they are (capture/lists/object_lists.py)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table
from tests.programs.random_object_lists import outcome

PROGRAMS, program = table()


def floats(n: int, seed: int = 0) -> list[float]:
    pick = random.Random(seed)
    return [pick.random() for _ in range(n)]


def rows(n: int, seed: int = 0) -> list[list[float]]:
    return [floats(n, seed + i) for i in range(n)]


@program(lambda n: (floats(n), 3))
def heat(u, steps):
    for _ in range(steps):
        new = u[:]
        for i in range(1, len(u) - 1):
            new[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = new
    return u


@program(lambda n: (floats(n),))
def bubble_sort(a):
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


@program(lambda n: (floats(n),))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program(lambda n: (rows(n),))
def floyd(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d


@program(lambda n: (rows(n), 3))
def relaxed(a, steps):
    n = len(a)
    for _ in range(steps):
        b = [row[:] for row in a]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1])
        a = b
    return a


@program(lambda n: ([[int(x > 0.4) for x in row] for row in rows(n)], 3))
def life(g, steps):
    n, m = len(g), len(g[0]) if g else 0
    for _ in range(steps):
        new = [[0] * m for _ in range(n)]
        for i in range(n):
            for j in range(m):
                s = 0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        if a or b:
                            s += g[(i + a) % n][(j + b) % m]
                new[i][j] = 1 if s == 3 or (s == 2 and g[i][j]) else 0
        g = new
    return g


@program(lambda n: (rows(n), rows(n, 9)))
def product_of_ints_at_first(a, b):
    n = len(a)
    c = [[0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    return c


@program(lambda n: ([[0] * n for _ in range(n)], 0, 0, 1))
def flood(grid, x, y, color):
    n, m = len(grid), len(grid[0]) if grid else 0
    stack = [(x, y)]
    count = 0
    while stack:
        i, j = stack.pop()
        if 0 <= i < n and 0 <= j < m and grid[i][j] != color:
            grid[i][j] = color
            count += 1
            stack.append((i + 1, j))
            stack.append((i, j + 1))
            stack.append((i - 1, j))
    return grid, count


@program(lambda n: (n, 7))
def row_by_row(n, last):
    row = [1]
    for _ in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [1]
        row[-1] = last
    return row


@program(lambda n: (floats(n), 2))
def prefix_sums(a, times):
    for _ in range(times):
        for i in range(1, len(a)):
            a[i] += a[i - 1]
    return a, a[-1] if a else None


@program(lambda n: (floats(n), [3, 1, 2] * n))
def taken_and_kept(u, w):
    best = u[0] if u else 0.0
    last = best
    for i in range(len(u)):
        x = u[w[i] % len(u)]
        if x > best:
            last = best
            best = x
        u[i] = best
        w[i] = w[i] * 1000
    return best, last, u, w


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    """Values, types, objects and what exceptions leave are those of plain Python; nothing declines."""
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (18, 18, 0, 1, 2, 20):
        assert _outcome(fn, arguments(n)) == _outcome(fast, arguments(n)), n
    graphs = [segment.capture.graph for segment in fast._compilation.segments]
    assert any(loops_in(graph) and "list_take" in str(graph) for graph in graphs)
    assert not fast.stats()["declines"]


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    lists = [arg for arg in args if type(arg) is list]
    nested = [list(row) for arg in lists for row in arg if type(row) is list]
    return outcome(lambda *args: (fn(*args[:-2]), *args), (*args, nested, [list(one) for one in lists]), rows=[])


def _same(fn: Callable[..., Any], backend: str, *calls: Callable[[], tuple[Any, ...]]) -> Any:
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for make in calls:
        assert _outcome(fn, make()) == _outcome(fast, make())
    return fast


def smooth(u, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "odd", [np.float64(0.5), 3, 2**70, float("nan"), True, "x", None, 0.5 + 1j], ids=lambda one: type(one).__name__
)
def test_items_of_other_types(odd: Any, backend: str) -> None:
    usual = lambda: (floats(9), 3)  # noqa: E731
    _same(smooth, backend, usual, lambda: ([*floats(4), odd, *floats(4, 1)], 3), usual)


def beyond(u, w, limit):
    for i in range(limit):
        u[i] = w[i] * 2.0
        w[i + 1] = u[i]
    return u, w


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_exception_leaves_what_plain_python_leaves(backend: str) -> None:
    _same(beyond, backend, *(lambda n=n: (floats(8), floats(8, 1), n) for n in (5, 7, 8, 20, 5)))  # type: ignore[misc]


def changed(g, h, steps):
    for _ in range(steps):
        for i in range(len(g)):
            for j in range(len(g[i])):
                g[i][j] += h[j][i]
        g[0] = g[-1]
    return g, h


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_that_are_one(backend: str) -> None:
    def one() -> tuple[Any, ...]:
        g = rows(3)
        return g, g, 3

    def shared() -> tuple[Any, ...]:
        g = rows(3)
        g[1] = g[2]
        return g, [g[0], g[0], g[1]], 3

    def itself() -> tuple[Any, ...]:
        row = floats(3)
        return [row] * 3, rows(3), 3

    _same(changed, backend, lambda: (rows(3), rows(3, 5), 3), one, shared, itself)


class Own(list):  # type: ignore[type-arg]
    """A list whose items are other ones."""

    def __getitem__(self, index: Any) -> Any:
        return 2.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_class_of_lists(backend: str) -> None:
    _same(smooth, backend, lambda: (floats(9), 3), lambda: (Own(floats(9)), 3))
    _same(changed, backend, lambda: (rows(3), rows(3, 5), 3), lambda: ([Own(floats(3)), *rows(2)], rows(3), 2))


class Dying:
    """Says when it dies."""

    said: ClassVar[list[str]] = []

    def __del__(self) -> None:
        Dying.said.append("died")


def replaced(u, said):
    noted = 0
    for i in range(len(u)):
        u[i] = 0.5
        noted += len(said)
    return noted


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_object_that_dies(backend: str) -> None:
    fast = dynamo_lite.compile(replaced, backend=backend, options=OPTIONS)
    fast(floats(9), [])
    fast(floats(9), [])
    found = []
    for fn in (replaced, fast):
        Dying.said.clear()
        found.append(fn([*floats(70), Dying(), *floats(5)], Dying.said))
    assert found[0] == found[1] == 6


def lengthened(u, w, n):
    other = u
    for i in range(n):
        u[i] = w[i] + 1.0
        if i == 2:
            u += [0.25]
        x, y = [u[0], w[0]]
    return u, other, x + y


def spread(points, times):
    total = 0.0
    for _ in range(times):
        for i in range(len(points)):
            x, y = points[i]
            points[i] = [y, x * 0.5]
            total += x
    return total, points


@pytest.mark.parametrize("backend", BACKENDS)
def test_operators_and_unpacking(backend: str) -> None:
    _same(lengthened, backend, *(lambda n=n: (floats(9), floats(9, 1), n) for n in (9, 2, 9)))  # type: ignore[misc]
    pairs = lambda: ([floats(2, i) for i in range(20)], 3)  # noqa: E731
    fast = _same(spread, backend, pairs, pairs, lambda: ([floats(2), floats(3), floats(2)], 2), pairs)
    assert any("list_take" in str(segment.capture.graph) for segment in fast._compilation.segments)


def grown(u, most):
    total = 0.0
    for x in u:
        total += x
        if x > 0.5 and len(u) < most:
            u.append(x - 0.5)
    return total, u


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_list_that_gets_longer_while_a_loop_goes_over_it(backend: str) -> None:
    _same(grown, backend, *(lambda n=n: (floats(9), n) for n in (0, 12, 30, 0)))  # type: ignore[misc]


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("fn, make", [(smooth, lambda: (floats(9), 4)), (floyd, lambda: (rows(5),))])
def test_what_declines_is_put_back(every: int, fn: Any, make: Any) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    fast(*make())
    _C.decline_loops(every)
    try:
        for _ in range(3):
            assert _outcome(fn, make()) == _outcome(fast, make())
    finally:
        _C.decline_loops(0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pairs_and_reduce(backend: str) -> None:
    def pairs(xs):
        t = 0.0
        for a, b in itertools.pairwise(xs):
            t += abs(b - a)
        return t

    def folded(xs, begin):
        return functools.reduce(lambda a, b: a * 0.5 + b, xs), functools.reduce(lambda a, b: a - b, xs, begin)

    fast = _same(pairs, backend, *(lambda n=n: (floats(n),) for n in (40, 40, 1, 0)))  # type: ignore[misc]
    assert any(loops_in(segment.capture.graph) for segment in fast._compilation.segments)
    fast = _same(folded, backend, *(lambda n=n: (floats(n), 1.5) for n in (40, 40, 1, 0)))  # type: ignore[misc]
    assert any(loops_in(segment.capture.graph) for segment in fast._compilation.segments)


def tree(nodes, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        first, second = nodes[i]
        nodes.append([first + 1, second])
        nodes[i][1] = first


def columns(pair, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        pair[0].append(pair[1][i] + 1)
        pair[1].append(pair[0][i])


@pytest.mark.parametrize("backend", [*BACKENDS, "c"])
def test_lists_from_outside_get_longer(backend: str) -> None:
    _same(tree, backend, *(lambda n=n: ([[1, 2]], n) for n in (0, 30, 3, 30)))  # type: ignore[misc]
    _same(columns, backend, *(lambda n=n: ([[1], [2]], n) for n in (30, 0, 3, 30)))  # type: ignore[misc]
