"""Tables of dynamic programming as they are mostly written: ints among floats, ends that are stored before a loop,
ranges in the place of the first row."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite
from dynamo_lite._C import abi
from dynamo_lite.graph.graph import Graph
from dynamo_lite.lower import lower
from dynamo_lite.schedule.steps import Loop
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, table
from tests.programs.random_object_lists import outcome

PROGRAMS, program = table()


def floats(n: int, seed: int = 0) -> list[float]:
    pick = random.Random(seed)
    return [pick.uniform(1.0, 2.0) for _ in range(n)]


def word(n: int, seed: int = 0) -> str:
    pick = random.Random(seed)
    return "".join(pick.choice("abc") for _ in range(n))


@program(lambda n: ([3, 4, 7], 3 * n))
def fewest_coins(coins, amount):
    best = [float("inf")] * (amount + 1)
    best[0] = 0
    for coin in coins:
        for i in range(coin, amount + 1):
            best[i] = min(best[i], best[i - coin] + 1)
    return best, best[amount]


@program(lambda n: (n + 1,))
def steps(n):
    found = [float("inf")] * (n + 1)
    found[0] = 0
    for i in range(1, n + 1):
        one, other = found[i], found[i - 1] + 1
        found[i] = other if other < one else one
    return found


@program(lambda n: (floats(n + 1), floats(n + 2, 1)))
def warped(a, b):
    n, m = len(a), len(b)
    cost = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    cost[0][0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i][j] = abs(a[i - 1] - b[j - 1]) + min(cost[i - 1][j], cost[i][j - 1], cost[i - 1][j - 1])
    return cost


@program(lambda n: ([i % 5 + 2 for i in range(n + 1)],))
def matrix_chain(sizes):
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i][j] = float("inf")
            for k in range(i, j):
                found = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if found < cost[i][j]:
                    cost[i][j] = found
    return cost


@program(lambda n: (floats(n + 1), floats(n + 1, 1), floats(n + 1, 2), floats(n + 1, 3)))
def tridiagonal(a, b, c, d):
    n = len(d)
    above, right = [0.0] * n, [0.0] * n
    above[0], right[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        by = b[i] + a[i] * above[i - 1]
        above[i] = c[i] / by
        right[i] = (d[i] - a[i] * right[i - 1]) / by
    x = [0.0] * n
    x[-1] = right[-1]
    for i in range(n - 2, -1, -1):
        x[i] = right[i] - above[i] * x[i + 1]
    return x, above


@program(lambda n: (floats(n + 1), 1.5))
def from_the_end(d, last):
    n = len(d)
    x = [0.0] * n
    x[n - 1] = last
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - 0.5 * x[i + 1]
    return x


@program(lambda n: (n + 2, 1.5, 2.5))
def ends(n, one, other):
    x = [0.0] * n
    x[1] = one
    x[-1] = other
    x[1] = one + other
    x[n - 2] = other - one
    for i in range(1, n):
        x[i] = x[i] + x[i - 1]
    return x


@program(lambda n: ([[(i * j + i + j) % 7 for j in range(n + 1)] for i in range(n + 1)],))
def nearest_first(lengths):
    n = len(lengths)
    far, seen = [float("inf")] * n, [False] * n
    far[0] = 0
    for _ in range(n):
        u = -1
        for i in range(n):
            if not seen[i] and (u == -1 or far[i] < far[u]):
                u = i
        seen[u] = True
        for v in range(n):
            if lengths[u][v] > 0 and far[u] + lengths[u][v] < far[v]:
                far[v] = far[u] + lengths[u][v]
    return far, seen


@program(lambda n: (word(n + 1), word(n + 2, 1)))
def distance(one, other):
    before = range(len(other) + 1)
    for i, a in enumerate(one):
        now = [i + 1]
        for j, b in enumerate(other):
            now.append(min(before[j + 1] + 1, now[j] + 1, before[j] + (a != b)))
        before = now
    return before[-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (18, 18, 0, 1, 2, 20):
        assert _outcome(fn, arguments(n)) == _outcome(fast, arguments(n)), n
    assert any(loops_in(segment.capture.graph) for segment in fast._compilation.segments)
    assert not fast.stats()["declines"]
    left = [record.outcome for record in fast.explain().loops if record.outcome != "native"]
    assert not left


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["tridiagonal", "from_the_end", "ends"])
def test_long_lists(name: str, backend: str) -> None:
    """What is stored under an index from the end does not fix how long the list is."""
    fn, arguments = PROGRAMS[name]
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    for n in (300, 300, 310, 290, 500):
        assert _outcome(fn, arguments(n)) == _outcome(fast, arguments(n)), n
    assert fast.stats()["compiles"] == 1


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return outcome(fn, args, rows=[])


@pytest.mark.parametrize("odd", [2**70, float("nan"), True, None, "x"], ids=lambda one: type(one).__name__)
def test_rows_that_hold_something_else(odd: Any) -> None:
    def least(rows):  # type: ignore[no-untyped-def]
        for i in range(1, len(rows)):
            for j in range(1, len(rows[0])):
                rows[i][j] = min(rows[i - 1][j], rows[i][j - 1]) + 1

    def rows() -> tuple[list[list[Any]]]:
        return ([[0, *floats(9)], *([float("inf")] * 10 for _ in range(5))],)

    fast = dynamo_lite.compile(least, options={**OPTIONS, "recompile_limit": 100})
    for place in (None, (0, 3), (3, 0), (2, 5), None):
        one, other = rows(), rows()
        if place is not None:
            one[0][place[0]][place[1]] = other[0][place[0]][place[1]] = odd
        assert _outcome(least, one) == _outcome(fast, other), place


def test_tags_that_nobody_reads_are_not_looked_up() -> None:
    """In the innermost loop of an elimination the numbers alone count; after it a number may be the one from before."""

    def eliminated(a: Any) -> Any:
        n = len(a)
        for j in range(n):
            for i in range(j + 1):
                total = a[i][j]
                for k in range(i):
                    total -= a[i][k] * a[k][j]
                a[i][j] = total
        return a

    def tags(graph: Graph) -> list[int]:
        own = sum(node.op == "object_number" and node.params["of"] == abi.READ_TAG for node in graph.nodes)
        inner = [tags(region) for node in graph.nodes for region in node.regions]
        return [own, *(count for counts in inner for count in counts)]

    def make() -> tuple[list[list[float]]]:
        return ([floats(12, i) for i in range(12)],)

    fast = dynamo_lite.compile(eliminated, options=OPTIONS)
    for _ in range(3):
        assert _outcome(eliminated, make()) == _outcome(fast, make())
    (graph,) = (segment.capture.graph for segment in fast._compilation.segments)
    assert sum(tags(graph)) == 3
    assert sum(tags(lower(graph))) == 1


def doubled(x, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = x[i] * 2.0


def rows_by_columns(values, columns, begins, x, out):  # type: ignore[no-untyped-def]
    for row in range(len(out)):
        total = 0.0
        for k in range(begins[row], begins[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


def _to_double(n: int) -> tuple[Any, ...]:
    return floats(n), [0] * n


def _sparse(n: int) -> tuple[Any, ...]:
    pick = random.Random(n)
    begins = [0]
    for _ in range(n):
        begins.append(begins[-1] + pick.randrange(3))
    columns = [pick.randrange(n) for _ in range(begins[-1])]
    return floats(len(columns)), columns, begins, floats(n), [0.0] * n


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn, arguments", [(doubled, _to_double), (rows_by_columns, _sparse)])
def test_lists_from_outside_that_are_only_filled(fn: Any, arguments: Any, backend: str) -> None:
    """A list is filled by machine code, whatever the numbers are that it gets; one that is too short declines."""
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "recompile_limit": 100})
    for n in (60, 60, 0, 1, 2, 90):
        assert _outcome(fn, arguments(n)) == _outcome(fast, arguments(n)), n
    one, other = arguments(50), arguments(50)
    del one[-1][40:], other[-1][40:]
    assert _outcome(fn, one) == _outcome(fast, other)
    if backend == "numba":
        steps = [step for segment in fast._compilation.segments for step in segment.program.schedule.steps]
        assert all(step.machine is not None for step in steps if isinstance(step, Loop))


def test_a_list_that_repeats_an_item_is_not_that_item() -> None:
    """What was stored into it counts, also where another kind of argument has had it known by its objects."""

    def first_zero(n: int, w: Any) -> Any:
        found = [w] * (n + 2)
        found[0] = 0.0
        j = 0
        for i in range(1, n + 1):
            if not found[j]:
                j = i
        return j, found[0]

    fast = dynamo_lite.compile(first_zero, options=OPTIONS)
    for n, w in ((6, 2), (9, True), (9, True), (9, False), (9, 0), (6, 2.5)):
        assert first_zero(n, w) == fast(n, w), (n, w)
