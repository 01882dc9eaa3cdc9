"""Loops that read lists of numbers while they fill them: tables of dynamic programming, stacks, counters in lists."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_in, loops_left, table
from tests.programs.test_loop_lists import require_same_objects

PROGRAMS, program = table()
MANY = {**OPTIONS, "recompile_limit": 100}
SIZES = (9, 2, 1, 0, 3, 30)


def numbers(n: int) -> list[int]:
    pick = random.Random(n)
    return [pick.randrange(-2000, 2000) for _ in range(n + 3)]


# -- tables ----------------------------------------------------------------------------------------


@program("native")
def best_sum(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 1)
    for i in range(1, n + 1):
        dp[i] = max(dp[i - 1] + a[i - 1], 0)
    return dp


@program("native")
def sums_of_two(n: int, a: list[int]) -> Any:
    fib = [0, 1]
    for _ in range(n):
        fib.append((fib[-1] + fib[-2]) % 1000007)
    return fib, fib[-1]


@program("native")
def in_floats(n: int, a: list[int]) -> Any:
    x = [1.0, 1.5]
    for _ in range(n):
        x.append(0.5 * x[-1] + 0.25 * x[-2])
    return x


@program("native")
def knapsack(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 5)
    for i in range(n):
        weight = a[i] % 7 + 1
        for c in range(n + 4, weight - 1, -1):
            dp[c] = max(dp[c], dp[c - weight] + 1000 + a[i] % 13)
    return dp[n + 4]


@program("native")
def first_is_stored_before(n: int, a: list[int]) -> Any:
    ways = [0] * (n + 1)
    ways[0] = 1
    for c in (1, 3, 4):
        for i in range(c, n + 1):
            ways[i] = (ways[i] + ways[i - c]) % 1000003
    return ways


@program("native")
def a_number_from_outside_is_stored_before(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 1)
    dp[0] = n * 1000
    for i in range(1, n + 1):
        dp[i] = min(dp[i - 1], n * 900 + i)
    return dp


@program("native")
def longest_rising(n: int, a: list[int]) -> Any:
    b = [k * 7919 % 101 for k in range(n)]
    dp = [1] * n
    for i in range(1, n):
        for j in range(i):
            if b[j] < b[i] and dp[j] + 1 > dp[i]:
                dp[i] = dp[j] + 1
    return dp, b


@program("native")
def sieve(n: int, a: list[int]) -> Any:
    is_prime = [True] * (n + 5)
    i = 2
    while i * i <= n + 4:
        if is_prime[i]:
            for j in range(i * i, n + 5, i):
                is_prime[j] = False
        i += 1
    return is_prime


@program("native")
def histogram(n: int, a: list[int]) -> Any:
    counts = [0] * 300
    for v in a:
        counts[v % 300] += 1
    return counts


@program("native")
def common(n: int, a: list[int]) -> Any:
    dp = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if a[i - 1] % 3 == a[j] % 3:
                dp[i][j] = dp[i - 1][j - 1] + 500
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp


@program("native")
def of_the_corner(n: int, a: list[int]) -> Any:
    dp = [[1.5] * (n + 2) for _ in range(n + 2)]
    for i in range(1, n + 2):
        for j in range(1, n + 2):
            dp[i][j] = max(dp[i - 1][j], dp[i][j - 1] * 0.75 + 0.5)
    return dp[n + 1][n + 1]


@program("native")
def rows_seen(n: int, a: list[int]) -> Any:
    seen = [[False] * (n + 1) for _ in range(n + 1)]
    count = 0
    for k in range(3 * n):
        row = seen[k * 7 % (n + 1)]
        if not row[k % len(row)]:
            row[k % len(row)] = True
            count += 1
    return seen, count


# -- stacks ----------------------------------------------------------------------------------------


@program("native")
def rectangle(n: int, a: list[int]) -> Any:
    stack = []
    best = 0
    for i in range(n + 1):
        height = a[i] % 50 if i < n else 0
        while stack and a[stack[-1]] % 50 >= height:
            top = stack.pop()
            width = i if not stack else i - stack[-1] - 1
            if a[top] % 50 * width > best:
                best = a[top] % 50 * width
        stack.append(i)
    return best, stack


@program("native")
def next_greater(n: int, a: list[int]) -> Any:
    found = [-1] * n
    stack = []
    for i in range(n):
        while stack and a[stack[-1]] < a[i]:
            found[stack.pop()] = a[i]
        stack.append(i)
    return found


@program("native")
def visits(n: int, a: list[int]) -> Any:
    seen = [0] * (n * n)
    stack = [0]
    count = 0
    while stack and n:
        k = stack.pop()
        if seen[k]:
            continue
        seen[k] = 1
        count += 1
        i, j = k // n, k % n
        if i + 1 < n and (i * 7 + j * 3) % 5 != 0:
            stack.append((i + 1) * n + j)
        if j + 1 < n:
            stack.append(i * n + j + 1)
    return count, seen, stack


# -- which objects ---------------------------------------------------------------------------------


@program("native")
def swapped(n: int, a: list[int]) -> Any:
    b = [k * 7919 % 10007 for k in range(n)]
    for i in range(n):
        for j in range(n - 1 - i):
            if b[j] > b[j + 1]:
                b[j], b[j + 1] = b[j + 1], b[j]
    return b


@program("native")
def copied(n: int, a: list[int]) -> Any:
    b, t = [0] * (n + 2), 0
    for i in range(n):
        t = i * 1000
        b[i] = t
        b[i + 1] = b[i // 2]
    return b, t, b[0]


@program("native")
def one_float_in_all(n: int, a: list[int]) -> Any:
    b, last = [0.25] * (n + 2), 0.0
    for i in range(n):
        if a[i] > 0:
            b[i] = b[i + 1] + 1.0
        last = b[i]
    return b, last


@program("native")
def items_from_outside(n: int, a: list[int]) -> Any:
    best, kept, firsts = a[0], [], [0] * (n + 3)
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
        kept.append(best)
        firsts[i] = a[-1 - i]
    return kept, firsts, best


@program("native")
def parents(n: int, a: list[int]) -> Any:
    parent = list(range(n))
    for k in range(n):
        x, y = k * 7919 % n, (k * 104729 + 1) % n
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        if x != y:
            parent[x] = y
    return parent


@program("native")
def by_another_name(n: int, a: list[int]) -> Any:
    b = [0] * (n + 1)
    c = b
    for i in range(n):
        b[i + 1] = c[i] + a[i]
    return b, c


@program("native")
def one_of_two_items(n: int, a: list[int]) -> Any:
    b = [k * 1000 for k in range(n + 2)]
    for i in range(n):
        b[i] = b[i + 1] if a[i] > 0 else b[i // 2]
    return b, b[0], b[-1]


# -- what plain Python raises, or declines ----------------------------------------------------------


@program("native")
def beyond_64_bits(n: int, a: list[int]) -> Any:
    b = [3] * (n + 1)
    for i in range(n):
        b[i + 1] = b[i] * 1000003
    return b


@program("native")
def index_out_of_range(n: int, a: list[int]) -> Any:
    b = [0] * (n + 1)
    for i in range(n):
        b[i + 1] = b[i] + 1
        if i == 20:
            b[i + a[0] * 0 + 1000] = 5
    return b


@program("native")
def popped_too_often(n: int, a: list[int]) -> Any:
    stack, total = [1, 2, 3], 0
    for i in range(n):
        total += stack.pop()
        if i % 2 == 0 and i < 12:
            stack.append(i)
    return stack, total


@program("native")
def no_number(n: int, a: list[int]) -> Any:
    x = [1.5] * (n + 2)
    for i in range(n):
        x[i + 1] = x[i] * 1e200 - x[i - 1]
    return x


# -- not in arrays ---------------------------------------------------------------------------------


@program("plain")
def of_two_kinds(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 80)
    for i in range(1, n + 80):
        dp[i] = dp[i - 1] * 0.5 + i
    return dp


@program("plain")
def seen_by_others(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 80)
    for i in range(1, n + 80):
        dp[i] = dp[i - 1] + 1
        if dp in ([], [1]):
            return None
    return dp


@program("plain")
def rows_are_one_list(n: int, a: list[int]) -> Any:
    dp = [[0] * (n + 1)] * (n + 1)
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            dp[i][j] = dp[i - 1][j - 1] + 1
    return dp


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, backend: str) -> None:
    fn, expected = PROGRAMS[name]
    first, *rest = [lambda n=n: (n, numbers(n)) for n in SIZES]
    report = require_equal(
        fn,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"backend": backend, "options": MANY},
        calls=1,
    )
    graphs = [segment.capture.graph for segment in report.compiled._compilation.segments]
    reads = any(loops_in(graph) and "scalar_number" in str(graph) for graph in graphs)
    assert reads == (expected == "native"), report.compiled.explain()


@pytest.mark.parametrize("name", [name for name, (_, expected) in PROGRAMS.items() if expected == "native"])
def test_the_objects_are_those_of_plain_python(name: str) -> None:
    fn = PROGRAMS[name][0]
    fast = dynamo_lite.compile(fn, options=MANY)
    for n in (9, 14, 2):
        a = numbers(n)
        try:
            plain = fn(n, a)
        except IndexError:
            continue
        require_same_objects((plain, a), (fast(n, a), a))


def test_a_loop_that_declines_goes_on_plainly() -> None:
    def f(n: int) -> Any:
        b = [1] * (n + 1)
        for i in range(n):
            b[i + 1] = b[i] * 7
        return b

    fast = dynamo_lite.compile(f, options=MANY)
    assert fast(5) == f(5)
    before = fast.stats()["declines"]
    assert fast(200) == f(200)
    assert fast.stats()["declines"] > before


def test_a_stack_that_outgrows_its_array() -> None:
    def f(n: int) -> Any:
        stack = [0]
        total = 0
        while total < n:
            total += len(stack)
            stack.append(stack[-1] + total)
            stack.append(total)
        return len(stack), stack[-1]

    fast = dynamo_lite.compile(f, options=MANY)
    for n in (10, 1000, 2 * 10**9):
        assert fast(n) == f(n)


def test_loops_are_left_with_the_list_as_it_is() -> None:
    def f(n: int) -> Any:
        b = [0.5] * (n + 1)
        s = [1]
        for i in range(n):
            b[i + 1] = b[i] if i % 3 else b[i] + 1.0
            s.append(s[-1] + len(s) * 1000)
        return b, s, b[-1]

    fast = dynamo_lite.compile(f, options=MANY)
    fast(5)
    for every in (1, 3):
        with loops_left(every):
            got = fast(12)
        assert got == f(12)
        require_same_objects(f(12), got)


def test_list_of() -> None:
    values, tags = np.array([1000, 2000, 1000, 3]), np.array([2, -1, 2, 0])
    first = 2000
    made = _C.Objects.list_of(values, 4, tags, table_ := _C.Objects(first))
    assert made == [1000, 2000, 1000, 3] and made[0] is made[2] and made[1] is first
    assert table_.at(2) is made[0]
    rows = _C.Objects.list_of(np.array([[0.5, math.inf], [-0.0, 2.0]]), 1)
    assert rows == [[0.5, math.inf]]
    assert _C.Objects.list_of(np.array([1, 0], np.int8), 2) == [True, False]
    for wrong in (np.zeros(2, np.int32), np.zeros((1, 1, 1))):
        with pytest.raises(ValueError, match="not the numbers"):
            _C.Objects.list_of(wrong, 1)
    with pytest.raises(ValueError, match="not the numbers"):
        _C.Objects.list_of(values, 5)




def read_between(n: int) -> Any:
    dp = [0] * (n + 1)
    for i in range(1, n + 1):
        dp[i] = dp[i - 1] + 1000
    first, last = dp[0], (dp, dp[n])
    for i in range(n):
        dp[i] += 5000
    return first, last, dp[n], dp


def popped_behind(n: int) -> Any:
    dp = [0] * (n + 1)
    for i in range(1, n + 1):
        dp[i] = max(dp[i - 1], i * 1000)
    last = dp[n]
    for _ in range(n):
        dp.pop()
    return last, dp[0], dp


def grid_read_between(n: int) -> Any:
    g = [[0] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            g[i][j] = max(g[i - 1][j], g[i][j - 1]) + (i * j) % 7
    last, row = g[n - 1][n - 1], g[2]
    for i in range(1, n):
        for j in range(1, n):
            g[i][j] = g[i][j - 1] - g[i - 1][j]
    return last, row is g[2], g[1][1], row[1]


def truths(n: int) -> Any:
    dp = [False] * (n + 1)
    dp[0] = True
    for i in range(1, n + 1):
        dp[i] = not dp[i - 1]
    return dp[n] is True, dp[n] is False, dp[n] is dp[0], dp[1] is True


def grid_of_truths(n: int) -> Any:
    g = [[False] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            g[i][j] = (i + j) % 2 == 0
    return g[n - 1][n - 1] is True, g[n - 1][n - 2] is False, g[0][0] is g[1][1]


def zipped_behind(n: int) -> Any:
    others = list(range(0, 3 * n, 3))
    dp = list(others)
    for i in range(1, n):
        dp[i] = dp[i - 1]
    found = []
    for one, other in zip(dp, others, strict=True):
        found.append(one - other)
    return [one - other for one, other in zip(dp, others, strict=True)], found


def met_before(n: int) -> Any:
    dp, total = [2.5] * (n + 4), 0.0
    for one in dp:
        total += one
    for i in range(1, n):
        dp[i] *= -dp[1]
    return total, dp


BETWEEN = (read_between, popped_behind, grid_read_between, truths, grid_of_truths, zipped_behind, met_before)


@pytest.mark.parametrize("function", BETWEEN, ids=lambda function: function.__name__)
def test_what_is_read_between_loops(function: Callable[..., Any]) -> None:
    """An item that is read before a later loop stores is what stood there then."""
    first, *rest = [lambda n=n: (n,) for n in (5, 4, 9, 40, 5)]  # type: ignore[misc]
    report = require_equal(
        function,
        first,
        variants=rest,
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1, "recompile_limit": 100}},
    )
    assert report.stats["native_calls"]
    assert not {"internal-error", "backend-failed"}.intersection(one.id for one in report.compiled.explain().skips)


def moves_and_clears(given: list[float]) -> Any:
    found, greatest = [], given[0]
    for i in range(len(given)):
        found.append(given[-1 - i])
        if given[i] > greatest:
            greatest = given[i]
    given.clear()
    return found, greatest


@pytest.mark.usefixtures("no_mode")
def test_items_of_a_list_that_is_emptied_behind_are_the_very_objects() -> None:
    fast: Any = dynamo_lite.compile(moves_and_clears, options=OPTIONS)
    for n in (12, 12, 30, 1, 12):
        kept = [1000.5 + k for k in range(n)]
        found, greatest = fast(list(kept))
        assert list(map(id, found)) == list(map(id, reversed(kept))) and greatest is kept[-1]
    assert "native" in {loop.outcome for loop in fast.explain().loops}


def ends_early(n: int, a: list[int]) -> Any:
    dp = [0] * (n + 1)
    for i in range(1, n + 1):
        dp[i] = dp[i - 1] + a[i]
        if dp[i] > 1500:
            break
    else:
        i = -1
    return dp, i


@pytest.mark.usefixtures("no_mode")
def test_a_loop_that_ends_early_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell how far it gets, and what residual code takes to make the list."""
    timed: list[Any] = []
    monkeypatch.setattr(_C, "time_calls", lambda code, owner, doubts=True: timed.append(code))
    fast: Any = dynamo_lite.compile(ends_early)
    a = [7] * 301
    assert fast(300, a) == ends_early(300, a)
    (loop,) = fast.explain().loops
    assert loop.outcome == "native" and timed == [ends_early.__code__]
