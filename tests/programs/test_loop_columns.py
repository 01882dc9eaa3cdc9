"""Lists and tuples of numbers from outside in loops: read by number, gone through, nested, and what must not change."""

from __future__ import annotations

import copy
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.capture.wrap import layout_of
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS, compared, loops_left, registry, rng
from tests.programs.test_random_elements import machines_of

CASES, case = registry()


def floats(count: int, seed: int = 0) -> list[float]:
    return [float(value) for value in rng(count + seed).random(count)]


def ints(count: int, below: int, seed: int = 0) -> list[int]:
    return [int(value) for value in rng(count + seed).integers(0, below, count)]


def rows(count: int, below: int) -> list[list[int]]:
    return [ints(place * 7 % 5, below, place) for place in range(count)]


def graph(count: int) -> list[list[tuple[int, float]]]:
    return [[(k, k / 8 + place) for k in ints(place * 3 % 4, count, place)] for place in range(count)]


@case(lambda count, size: (floats(count + 140), rng(size).random(size)))  # a shorter one is unrolled
def weighted(w, x):  # type: ignore[no-untyped-def]
    s = np.zeros(x.shape)
    for k in range(len(w)):
        s = s + w[k] * x
    return s


@case(lambda count, size: (tuple(floats(count + 9)), rng(size).random(count + 9)))
def by_for_and_enumerate(w, x):  # type: ignore[no-untyped-def]
    s = 0.0
    for c in w:
        s += c * x[0]
    for k, c in enumerate(w):
        x[k] += c + s
    return s, x


@case(lambda count, size: (floats(count + 9), ints(count + 9, count + 9), rng(size).random(count + 9)))
def indirect(w, where, x):  # type: ignore[no-untyped-def]
    s = 0.0
    for k in range(len(where)):
        s += w[where[k]] * x[where[k]] - w[-1 - k] * where[k - 1]
    return s


@case(lambda count, size: (rows(count + 9, count + 9), np.full(count + 9, 100.0)))
def relaxed(nbrs, dist):  # type: ignore[no-untyped-def]
    dist[0] = 0.0
    for i in range(len(nbrs)):
        for j in range(len(nbrs[i])):
            k = nbrs[i][j]
            if dist[i] + 1.5 < dist[k]:
                dist[k] = dist[i] + 1.5
    return dist


@case(lambda count, size: (graph(count + 9), np.full(count + 9, 100.0)))
def edges_of(g, dist):  # type: ignore[no-untyped-def]
    dist[0] = 0.0
    for u in range(len(g)):
        for v, w in g[u]:
            dist[v] = min(dist[v], dist[u] + w)
    return dist


@case(lambda count, size: ([(k, 3 - k, 0.5 * k) for k in range(count + 9)], np.zeros(count + 9)))
def triples(points, out):  # type: ignore[no-untyped-def]
    for i, p in enumerate(points):
        x, y, z = p
        out[i] = x * y + z + p[-1] + p[0] * len(p)
    return out


@case(lambda count, size: ([floats(size, k) for k in range(size)], size))
def corners(grid, n):  # type: ignore[no-untyped-def]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = grid[i - 1][j - 1] + grid[i][j] * 2.0 - grid[0][j]
    return out


@case(lambda count, size: (tuple(tuple(floats(k % 3, k)) for k in range(count + 12)), np.zeros(count + 12)))
def ragged_tuples(rows, out):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        for value in rows[i]:
            out[i] += value
    return out


@case(lambda count, size: (floats(count + 140), floats(count + 140, 5), rng(size).random(size)))
def zipped(a, b, x):  # type: ignore[no-untyped-def]
    for p, q in zip(a, b):  # noqa: B905
        x = x * p + q
    return x


@case(lambda count, size: ([[[k, k + j] for j in range(k % 3 + 1)] for k in range(count + 9)], np.zeros(count + 9)))
def three_deep(cube, out):  # type: ignore[no-untyped-def]
    for i in range(len(cube)):
        for j in range(len(cube[i])):
            for k in range(len(cube[i][j])):
                out[i] += cube[i][j][k]
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_lists_in_loops(name: str, backend: str) -> None:
    one = CASES[name]
    report = compared(one, backend, calls=3)
    assert report.stats["native_calls"] and not report.stats["declines"], report.compiled.explain()
    assert {loop.outcome for loop in report.compiled.explain().loops} == {"native"}, report.compiled.explain()
    assert backend == "reference" or machines_of(report.compiled), report.compiled.explain()


@pytest.mark.parametrize("name", CASES)
def test_lists_where_the_loop_is_left(name: str) -> None:
    one = CASES[name]
    with loops_left(3):
        report = compared(one, calls=3)
    assert report.stats["native_calls"]


def equal(fn: Callable[..., Any], *makes: Callable[[], tuple[Any, ...]]) -> Any:
    first, *rest = makes
    return require_equal(
        fn, first, variants=rest, compile=dynamo_lite.compile, compile_options={"options": OPTIONS}
    )


def test_one_version_serves_all_lengths() -> None:
    fast = dynamo_lite.compile(weighted, options=OPTIONS)
    x = rng(4).random(4)
    for count in range(60, 2, -1):
        assert fast(floats(count), x).tobytes() == weighted(floats(count), x).tobytes()
    assert fast.stats()["compiles"] <= 3, fast.explain()


def test_a_short_loop_over_whole_arrays_is_unrolled() -> None:
    fast = dynamo_lite.compile(weighted, options=OPTIONS)
    for count in (20, 20, 150):
        x = rng(count).random(7)
        assert fast(floats(count), x).tobytes() == weighted(floats(count), x).tobytes()
    (graph, *_) = fast.explain().graphs
    assert graph.text.count("= multiply") == 20


class Own(list):  # type: ignore[type-arg]
    """A list whose items are others."""

    def __getitem__(self, index: Any) -> Any:
        return 7.0


@pytest.mark.parametrize(
    "other",
    [
        *([1.0] * 20, [1] * 20, [1.0] * 19 + [2], [True] * 20, [2**63] * 20, [1] * 19 + [2**80], [], [0.5]),
        *((1.0,) * 20, Own([1.0] * 20), np.ones(20), ["a"] * 20, [None] * 20, [np.float64(2.0)] * 20, [1j] * 20),
        *([float("nan"), -0.0, float("inf")] * 9, [[1.0]] * 20, range(20), dict.fromkeys(range(20), 1.0)),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:12]}",
)
def test_other_lists_than_those_compiled_for(other: Any) -> None:
    def total(w: Any, x: Any) -> Any:
        for k in range(len(w)):
            x = x + w[k]
        return x, w

    x = np.ones(3)
    makes = [lambda w=w: (copy.copy(w), x.copy()) for w in (floats(20), other, floats(9))]
    equal(total, *makes)


def beyond(w: Any, n: int, x: Any) -> Any:
    for k in range(n):
        x[k] = w[k] + 1.0
    return x


def test_an_index_out_of_range_raises_what_python_raises() -> None:
    report = equal(
        beyond,
        lambda: (floats(20), 20, np.zeros(30)),
        lambda: (floats(20), 21, np.zeros(30)),
        lambda: (floats(20), 30, np.zeros(30)),
        lambda: (floats(40), 31, np.zeros(30)),
    )
    assert "IndexError" in report.raised


def inner_beyond(g: Any, n: int, x: Any) -> Any:
    for i in range(len(g)):
        for j in range(n):
            x[i] += g[i][j]
    return x


def outer_beyond(g: Any, n: int, x: Any) -> Any:
    for i in range(n):
        for j in range(len(g[i - 3])):
            x[j] += g[i - 3][j]
    return x


@pytest.mark.parametrize("fn", [inner_beyond, outer_beyond])
def test_an_inner_index_out_of_range(fn: Callable[..., Any]) -> None:
    def make(count: int, n: int, width: int = 3) -> Callable[[], tuple[Any, ...]]:
        return lambda: ([floats(width, k) for k in range(count)], n, np.zeros(40))

    report = equal(fn, make(20, 3), make(20, 4), make(20, 25), make(9, 20), make(20, 0), make(20, 3, 0), make(9, 12))
    assert "IndexError" in report.raised


def test_wrong_number_of_items_to_unpack() -> None:
    def unpacked(g: Any, x: Any) -> Any:
        for i in range(len(g)):
            a, b = g[i]
            x[i] = a + b
        return x

    good, odd = [(1.0, 2.0)] * 20, [(1.0, 2.0)] * 19 + [(1.0, 2.0, 3.0)]
    rows_ = [[1.0, 2.0]] * 20
    report = equal(
        unpacked,
        lambda: (list(good), np.zeros(20)),
        lambda: (list(odd), np.zeros(20)),
        lambda: (list(rows_), np.zeros(20)),
        lambda: ([*rows_[:19], [1.0]], np.zeros(20)),
    )
    assert "ValueError" in report.raised


# -- which object a number is ----------------------------------------------------------------------


def largest(w: Any, x: Any) -> Any:
    best = w[0]
    for k in range(len(w)):
        x[k] = w[k] * 2.0
        if w[k] > best:
            best = w[k]
    return best


def last(w: Any, x: Any) -> Any:
    v = None
    for k in range(len(w)):
        v = w[k]
        x[k] = v
    return v


def found(w: Any, x: Any) -> Any:
    for k in range(len(w)):
        x[k] += 1.0
        if w[k] > 0.5:
            return w[k]
    return None


def collected(w: Any, x: Any) -> Any:
    out = []
    for k in range(len(w)):
        x[k] += 1.0
        out.append(w[k])
    return out


def kept(w: Any, x: Any) -> Any:
    state = {"last": 0.0}
    for k in range(len(w)):
        x[k] += 1.0
        state["last"] = w[k]
    return state["last"]


def smallest(w: Any, x: Any) -> Any:
    best = 1000.0
    for k in range(len(w)):
        x[k] += 1.0
        best = min(best, w[k])
    return best


def row_of(g: Any, x: Any) -> Any:
    row = None
    for k in range(len(g)):
        row = g[k]
        x[k] += row[0]
    return row


@pytest.mark.parametrize("fn", [largest, last, found, collected, kept, smallest])
def test_numbers_out_of_lists_are_the_lists_own_objects(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn, options=OPTIONS)
    for seed in range(4):
        w = [value * 1000 + 0.25 for value in floats(20, seed)]
        for _ in range(2):
            got, want = fast(w, np.zeros(20)), fn(w, np.zeros(20))
            pairs = zip(got, want, strict=True) if isinstance(want, list) else [(got, want)]
            assert all(one is other for one, other in pairs), fast.explain()


def test_rows_out_of_lists_are_the_lists_own_objects() -> None:
    fast = dynamo_lite.compile(row_of, options=OPTIONS)
    for make in (lambda: [floats(3, k) for k in range(20)], lambda: [(k, 0.5) for k in range(20)]):
        g = make()
        for _ in range(3):
            assert fast(g, np.zeros(20)) is g[-1]


# -- lists that change -----------------------------------------------------------------------------


def stored(w: Any, x: Any) -> Any:
    for k in range(1, len(w)):
        w[k] = w[k - 1] * 0.5 + w[k]
        x[k] += w[k]
    return x, w


def appended(w: Any, out: Any, x: Any) -> Any:
    for k in range(20):
        x[k] += w[k]
        out.append(x[k])
    return x, len(w), len(out)


def row_appended(g: Any, row: Any, x: Any) -> Any:
    for k in range(20):
        row.append(k)
        x[k] += len(g[k]) + g[k][0]
    return x, [len(one) for one in g]


def row_stored(g: Any, row: Any, x: Any) -> Any:
    for k in range(20):
        row[0] = k + 0.5
        x[k] += g[k][0]
    return x, g


def first_stored(g: Any, x: Any) -> Any:
    for k in range(20):
        g[3][1] = k + 0.5
        x[k] += g[3 - k][1]
    return x, g


def made(w: Any, x: Any) -> Any:
    w = w + [1.5]  # noqa: RUF005
    for k in range(len(w) - 1):
        x[k] += w[k] + w[k + 1]
    return x


def test_lists_that_the_function_changes() -> None:
    def same_list() -> tuple[Any, ...]:
        w = floats(20)
        return w, w, np.zeros(20)

    def same_row(g: Any) -> tuple[Any, ...]:
        return g, g[5], np.zeros(20)

    equal(stored, lambda: (floats(20), np.zeros(20)), lambda: (floats(20), np.zeros(20)))
    equal(appended, lambda: (floats(20), [], np.zeros(20)), same_list, lambda: (floats(20), [], np.zeros(20)))
    for fn in (row_appended, row_stored):
        lists = lambda: [[k, k + 1] for k in range(20)]  # noqa: E731
        equal(fn, lambda: (lists(), [1], np.zeros(20)), lambda: same_row(lists()))  # noqa: B023
        equal(fn, lambda: same_row(lists()), lambda: (lists(), [1], np.zeros(20)))  # noqa: B023
    equal(first_stored, lambda: ([floats(2, k) for k in range(20)], np.zeros(20)))
    equal(made, lambda: (floats(19), np.zeros(20)))


def test_a_list_that_is_changed_between_calls() -> None:
    fast = dynamo_lite.compile(weighted, options=OPTIONS)
    w, x = floats(20), np.ones(3)
    for step in range(20):
        assert fast(w, x).tobytes() == weighted(w, x).tobytes()
        w[step % len(w)] = step * 0.25
        w.append(float(step)) if step % 3 else w.pop()
    assert not fast.stats()["declines"]


def test_a_list_that_a_handler_changes() -> None:
    def long(w: Any, x: Any, n: int) -> Any:
        for _ in range(n):
            for k in range(len(w)):
                x[0] += w[k]
        return x

    fast = dynamo_lite.compile(long, options=OPTIONS)
    w = [1.0] * 1000
    fast(w, np.zeros(1), 10)

    def handler(*_: Any) -> None:
        w[:] = [0.0] * len(w)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        got = fast(w, np.zeros(1), 200_000)[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert w[0] == 0.0 and got < 200_000 * 1000


# -- what columns are ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "layout"),
    [
        ([1.0, 2.0], ("l", "f")),
        ((1, 2), ("t", "i")),
        ([[1], [], [2, 3]], ("l", ("l", "i"))),
        ([(1, 2.0)], ("l", ("p", "i", "f"))),
        ([(1, 2), (3,)], ("l", ("t", "i"))),
        ([[(1, 2.0)], []], ("l", ("l", ("p", "i", "f")))),
        ([np.float64(1)], ("l", "d")),
        (([np.int64(1)], [1j]), None),
        ([(np.complex128(1), np.int64(2), 1j)], ("l", ("p", "D", "q", "c"))),
        *((value, None) for value in ([], [[]], [1, 2.0], [1, [2]], [True], ["a"], [None], 3, "ab", [(1, "a")])),
        *((value, None) for value in ([[[[1]]]], [[1], (1, 2.0)], [np.float32(1)], [np.float64(1), 1.0], {1: 2}, [()])),
    ],
    ids=repr,
)
def test_layout(value: Any, layout: Any) -> None:
    assert layout_of(value) == layout


@pytest.mark.parametrize(
    ("value", "path", "want"),
    [
        ([1.5, -0.0], "lf", [1.5, -0.0]),
        ([[1, 2], [], [3]], "lli", [1, 2, 3]),
        ([[1, 2], [], [3]], "lnl", [0, 2, 2, 3]),
        ([], "lnl", [0]),
        (((1.0,), ()), "ttf", [1.0]),
        ([(1, 2.0), (3, 4.0)], "lp21f", [2.0, 4.0]),
        ([[(1, 2.0)], [], [(3, 4.0)] * 2], "llp20i", [1, 3, 3]),
        *(([1, 2.0], path, None) for path in ("li", "lf", "ti", "lli", "lnl", "lp20i")),
        *(([value], "li", None) for value in (True, 2**63, -(2**63) - 1, np.int64(1), "a")),
        ([(1, 2), (1, 2, 3)], "lp20i", None),
        ([-(2**63), 2**63 - 1], "li", [-(2**63), 2**63 - 1]),
        ([np.float64(1.5), np.float64(-0.0)], "ld", [1.5, -0.0]),
        ([(np.int64(-7), 1j), (np.int64(2**63 - 1), 2 - 3j)], "lp20q", [-7, 2**63 - 1]),
        ([(np.int64(-7), 1j), (np.int64(2**63 - 1), 2 - 3j)], "lp21r", [0.0, 2.0]),
        ([(np.int64(-7), 1j), (np.int64(2**63 - 1), 2 - 3j)], "lp21j", [1.0, -3.0]),
        (([np.complex128(1, -0.0)], [], [np.complex128(2, 3)] * 2), "tlD", [complex(1, -0.0), 2 + 3j, 2 + 3j]),
        (([np.complex128(1, -0.0)], [], [np.complex128(2, 3)] * 2), "tnl", [0, 1, 1, 3]),
        *(([value], "ld", None) for value in (1.0, np.float32(1), np.longdouble(1), np.int64(1), np.array(1.0))),
        *(([value], "lq", None) for value in (1, np.longlong(1), np.int32(1), np.uint64(1), np.bool_(True))),
        *(([value], "lD", None) for value in (1j, np.complex64(1), np.float64(1))),
        *(([value], path, None) for value in (1.0, np.complex128(1)) for path in ("lr", "lj")),
    ],
    ids=repr,
)
def test_column(value: Any, path: str, want: Any) -> None:
    column = _C.column(value, path)
    if want is None:
        assert column is None
        return
    assert column is not None and column.base is value and not column.flags.writeable and column.flags.aligned
    dtype = np.complex128 if path[-1] == "D" else np.float64 if path[-1] in "fdrj" else np.int64
    assert column.dtype == dtype and column.tobytes() == np.array(want, dtype).tobytes()


@pytest.mark.parametrize("path", ["", "l", "f", "n", "nl", "ln", "lp2", "lp22f", "lp01f", "lc", "lff", "lnlf", "lD1"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        _C.column([], path)


class Point:
    def __init__(self, x: float) -> None:
        self.x = x


def stored_beside_objects(points: Any, sums: Any, x: Any) -> Any:
    for i, point in enumerate(points):
        sums[-1] += 1
        x[i % 3] += point.x
    return sums, x


def stored_beside_tuples(pairs: Any, sums: Any, x: Any) -> Any:
    for i, pair in enumerate(pairs):
        sums[-1] += 1
        x[i % 3] += pair[0] * pair[1]
    return sums, x


@pytest.mark.parametrize("plain", [stored_beside_objects, stored_beside_tuples])
def test_a_list_of_others_is_read_beside_one_that_is_stored_to(plain: Any) -> None:
    fast: Any = dynamo_lite.compile(plain, backend="reference", options={"cost_model": False, "check": 1})
    for n in (70, 71, 70):
        items = [Point(i * 0.5) if plain is stored_beside_objects else (i * 0.5, i) for i in range(n)]
        assert repr(fast(items, [0.5, 1.0], np.zeros(3))) == repr(plain(items, [0.5, 1.0], np.zeros(3)))
