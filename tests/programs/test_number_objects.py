"""Which object a number is behind a loop: the one from before it, the index, or another, as `is` can tell."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng


class Thing:
    pass


def counts(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
    return u, k


def where_last(u: Any, n: int, k: int) -> Any:
    at, i = k, 0
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
    return u, at, i


def where_two(u: Any, n: int, k: int) -> Any:
    at = other = k
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
        if u[1] > 0.1:
            other = i
    return u, at, other


def least(u: Any, n: int, k: int) -> Any:
    best, at = 1e9, k
    for i in range(300, 300 + n):
        u = u * 0.5
        total = float(u.sum())
        if total < best:
            best, at = total, i
    return u, best, at


def counts_in_a_row_of_choices(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        for j in range(3):
            if u[j] > 0.1:
                k += 1
    return u, k


def counts_in_a_nest(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        for j in range(n):
            if u[j % 4] > 0.1:
                k += 1
    return u, k


def counts_while(u: Any, n: int, k: int) -> Any:
    while u[0] > 1e-3:
        u = u * 0.5
        if u[1] > 0.1:
            k += 1
    return u, k


def counts_in_places(u: Any, n: int, k: int) -> Any:
    thing: Any = Thing()
    thing.n = thing.m = k
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            thing.n += 1
        if u[1] > 5.0:
            thing.m += 1
    return u, thing.n, thing.m


def changes_places(u: Any, n: int, k: int) -> Any:
    p, q = k, n
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            p, q = q, p
    return u, p, q


def goes_back(u: Any, n: int, k: int) -> Any:
    before = k
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
        elif u[1] > 0.1:
            k = before
    return u, k, before


def where_in_a_nest(u: Any, n: int, k: int) -> Any:
    at = j = k
    for _ in range(n):
        for j in range(300, 300 + n):
            u = u * 0.5
            if u[0] > 0.1:
                at = j
    return u, at, j


def where_from_a_computed_number(u: Any, n: int, k: int) -> Any:
    at, i = k * 2, 0
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 10.0:
            at = i
    return u, at, i


def two_from_one_computed_number(u: Any, n: int, k: int) -> Any:
    x = y = k * 1.5
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            x = x + 1
        if u[1] > 0.1:
            y = y + 1
    return u, x, y


def where_if_equal(u: Any, n: int, k: int) -> Any:
    at = k
    for i in range(995, 995 + n):
        u = u * 0.5
        if u[0] > 0.1 and at == i:
            at = i
    return u, at


def in_steps_and_left_early(u: Any, n: int, k: int) -> Any:
    at, i = k, 0
    for i in range(300, 300 + 3 * n, 3):
        u = u * 0.5
        if u[0] > 0.1:
            at = i
        if u[3] > 1.0:
            break
    return u, at, i


def used_behind(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k += 1
    return u * k, k, k + 1


def adds_nothing(u: Any, n: int, k: int) -> Any:
    for _ in range(n):
        u = u * 0.5
        if u[0] > 0.1:
            k = k + 0
    return u, k


def adds_nothing_each_time(u: Any, n: int, k: int) -> Any:
    m = k
    for _ in range(n):
        u = u * 0.5
        k = k + 1 - 1
        m = +m
    return u, k, m


def last_and_best(u: Any, n: int, k: int) -> Any:
    last, best, s = 77.5, 1e9, 0.0
    for _ in range(n):
        u = u * 0.75
        s = float(u[0]) - 0.25
        if s * s < best:
            last = best
            best = s * s
    return u, last, best, s


def three_places(u: Any, n: int, k: int) -> Any:
    a = b = c = k
    i = 0
    for i in range(300, 300 + n):
        u = u * 0.5
        if u[0] > 0.1:
            a, b = b, i
        elif u[1] > 0.01:
            c = a
        else:
            a = i * 2
    return u, a, b, c, i


def starts_again(u: Any, n: int, k: int) -> Any:
    total, rounds = 0.0, 0
    for _ in range(n):
        u = u * 0.5
        total = total + float(u[0])
        if total > 1.0:
            total = 0.0
            rounds = rounds + 1000
    return u, total, rounds


def chooses(u: Any, n: int, k: int) -> Any:
    f, g = k * 0.5, k * 0.25
    h = f
    for _ in range(n):
        u = u * 0.5
        h = g if u[0] > 0.3 else h if u[1] > 0.1 else f
    return u, f, g, h


def extremes(u: Any, n: int, k: int) -> Any:
    low, high, most, i = k * 0.001, 0.5, k, 0
    for i in range(998, 998 + n):
        u = u * 0.5
        low = min(low, float(u[0]))
        high = max(high, low, float(u[1]))
        most = max(most, i)
    return u, low, high, most, i


def sizes(u: Any, n: int, k: int) -> Any:
    far = k - 1500
    near = far
    for _ in range(n):
        u = u * 0.5
        near = abs(far)
        if u[0] > 0.3:
            far = near
    return u, far, near


def remainders(u: Any, n: int, k: int) -> Any:
    s, r, far = k, 7, -k
    for i in range(n):
        u = u * 0.5
        r = s % 2147483648
        far = far % -(2**31)
        if u[0] > 0.1:
            s = (r * 1103515245 + i) % 2147483648
    return u, s, r, far


def before_in_a_nest(u: Any, n: int, k: int) -> Any:
    last = best = k
    for i in range(n):
        for j in range(n):
            u = u * 0.75
            if u[0] > 0.1:
                last = best
                best = i * 1000 + j
        u = u * 0.75
    return u, last, best


def in_a_nest_under_a_choice(u: Any, n: int, k: int) -> Any:
    p, q = k * 2, 1000
    for _ in range(n):
        u = u * 0.75
        if u[0] > 0.2:
            s = q + 1
            for _ in range(3):
                u = u * 0.9
                if u[1] > 0.1:
                    p = q
                q = s
    return u, p, q


def remembers(thing: Any, u: Any, n: int) -> Any:
    for _ in range(n):
        u = u * 0.75
        if u[0] > 0.2:
            thing.last = thing.best
            thing.best = float(u[0])
    return u


NATIVE = [
    *(counts, where_last, where_two, least, counts_in_a_row_of_choices, counts_in_a_nest, counts_while),
    *(counts_in_places, two_from_one_computed_number, in_steps_and_left_early, used_behind),
    *(where_from_a_computed_number, where_if_equal, changes_places, goes_back, where_in_a_nest, adds_nothing),
    *(adds_nothing_each_time, last_and_best, three_places, starts_again, chooses, extremes, sizes, before_in_a_nest),
    *(in_a_nest_under_a_choice, remainders),
]


def told(args: tuple[Any, ...], results: tuple[Any, ...]) -> list[Any]:
    """All that can be told of what a call returned, `is` included."""
    found: list[Any] = []
    for one in results:
        small = isinstance(one, int) and -5 <= one <= 256
        known = [] if small else [place for place, arg in enumerate(args) if arg is one]
        found.append(one.tobytes() if isinstance(one, np.ndarray) else (type(one), repr(one), known))
    return [*found, [one is other for one, other in combinations(results, 2)]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", NATIVE, ids=lambda function: function.__name__)
def test_objects(function: Callable[..., Any], backend: str) -> None:
    fast: Any = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    random = rng(11)
    for _ in range(16):
        u = random.random(4) * random.choice([0.01, 1.0, 4.0, 100.0])
        args = u, int(random.integers(1, 12)), int(random.choice([5, 1000, 70000]))
        assert told(args, fast(*args)) == told(args, function(*args)), args
    if not _C.get_stress():
        assert [loop.outcome for loop in fast.explain().loops] == ["native"] * len(fast.explain().loops)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_that_leaves_what_does_not_fit_is_left(backend: str) -> None:
    class Figure:
        def __init__(self) -> None:
            self.n = 0

        def plot(self, u: Any) -> None:
            self.n += 1
            self.last = u.copy()  # an attribute that is not there before

    def plots(figure: Figure, u: Any, n: int) -> Any:
        for i in range(n):
            u = u + 0.1 * (1.0 - u)
            if i % 10 == 0:
                figure.plot(u)
        return u

    fast: Any = dynamo_lite.compile(plots, backend=backend, options=OPTIONS)
    for n in (35, 35, 101):
        figures = Figure(), Figure()
        results = fast(figures[0], np.linspace(0.0, 0.5, 9), n), plots(figures[1], np.linspace(0.0, 0.5, 9), n)
        assert results[0].tobytes() == results[1].tobytes()
        assert figures[0].n == figures[1].n and figures[0].last.tobytes() == figures[1].last.tobytes()


def plots_of_many(figure: Any, u: Any) -> Any:
    for i in range(130):
        u = u + 0.1 * (1.0 - u)
        if i % 10 == 0:
            figure.last = u.copy()
    return u


def test_loops_of_known_length_are_left_too() -> None:
    fast: Any = dynamo_lite.compile(plots_of_many, options=OPTIONS)
    for _ in range(3):
        things = Thing(), Thing()
        results = fast(things[0], np.linspace(0.0, 0.5, 9)), plots_of_many(things[1], np.linspace(0.0, 0.5, 9))
        assert results[0].tobytes() == results[1].tobytes()
        assert vars(things[0])["last"].tobytes() == vars(things[1])["last"].tobytes()
    if not _C.get_stress():
        assert "native" in {loop.outcome for loop in fast.explain().loops}


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_in_attributes(backend: str) -> None:
    fast: Any = dynamo_lite.compile(remembers, backend=backend, options=OPTIONS)
    random = rng(12)
    for _ in range(16):
        found: list[Any] = []
        u, n, first, second = random.random(4) * 3.0, int(random.integers(1, 12)), random.random(), random.random()
        for function in (fast, remembers):
            thing: Any = Thing()
            thing.last, thing.best = float(first), float(second)
            args = u, thing.last, thing.best
            result = function(thing, u, n)
            found.append(told(args, (result, thing.last, thing.best)))
        assert found[0] == found[1]
    if not _C.get_stress():
        assert {loop.outcome for loop in fast.explain().loops} == {"native"}


def computed(u: Any, k: int, f: float) -> Any:
    a, b, c = k + 0, k * 1, -k
    return u * 2, a, b, a, k - 0, k // 1, k | 0, k >> 0, k + 1 - 1, -c, k**1, f + 0.0, f * 1.0, f**1.0, abs(f)


def handed_on(u: Any, k: int, f: float) -> Any:
    whole = abs(k), int(k), k.real, k.numerator, operator.index(k), math.floor(k), math.ceil(k), k % 2**40
    return u * 2, +k, *whole, max(k, k + 0), min(k, 2000000), divmod(k, 2**40)[1], +f, float(f), f.real, max(f, -1e300)


def one_digit(u: Any, k: int, f: float) -> Any:
    return u * 2, k % 2**30, k % (2**30 - 1), k % -(2**30), abs(-k), max(k + 0, k), k % (len(u) * 2**29)


def known(u: Any, k: int, f: float) -> Any:
    big = 500
    twice, half = big * 2, 1.0 / 4
    return u * 2, big, 500, twice, 1000, big + big, half, 0.25, half, k - k + 1000, len(u) * 0 + 70000


def kept(thing: Any, u: Any, k: int) -> Any:
    thing.a = k
    thing.b = k + 0
    thing.c = thing.b
    return u * 2, thing.a, thing.b, thing.c


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [computed, handed_on, one_digit, known], ids=lambda function: function.__name__)
def test_objects_without_a_loop(function: Callable[..., Any], backend: str) -> None:
    fast: Any = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    before: dict[Any, tuple[Any, Any]] = {}
    for text in ("7", "1000", "-1000", "70000", "3000000000", "7", "1000"):
        args = np.ones(3), int(text), float(text) * 0.5
        results = fast(*args), function(*args)
        assert told(args, results[0]) == told(args, results[1]), args
        for other in before.values():  # what another call gave
            patterns = [
                [one is two for one, two in product(new[1:], old[1:])] for new, old in zip(results, other, strict=True)
            ]
            assert patterns[0] == patterns[1]
        before[text] = results


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_that_are_stored(backend: str) -> None:
    fast: Any = dynamo_lite.compile(kept, backend=backend, options=OPTIONS)
    for text in ("7", "1000", "70000"):
        args = np.ones(3), int(text)
        results = [function(Thing(), *args) for function in (fast, kept)]
        assert told(args, results[0]) == told(args, results[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_comparison_with_a_sign_is_an_int(backend: str) -> None:
    def signs(u: Any, n: int, k: int) -> Any:
        a = b = c = 5
        for i in range(n):
            u = u * 0.5
            a, b, c = -(i < k), +(i < k), abs(i < k)
        return u, a, b, c

    fast: Any = dynamo_lite.compile(signs, backend=backend, options=OPTIONS)
    for n, k in ((3, 2), (3, 5), (0, 1)):
        args = np.ones(3), n, k
        assert told(args, fast(*args)) == told(args, signs(*args))


# What capture knows, and plain Python computes anew in each iteration.
KNOWN = (
    *("r.append(sum(s) / len(s))", "q = n * 2.0; r.append(q); r.append(q)", "r.append(1.5); r.append(n * 1.0)"),
    *("q = n * 2.0; r.append((q, q, j))", "q = k * 1000; r.append(q); p = q", "r.append([q, k * 10000])"),
    *("r2.append(n * 2.0); r.append(r2[-1])", "q = n * 2.0 if j % 2 else q; r.append(q)", "x[j] = n * 2.0"),
    *("p = q; q = n * 3.0; r.append(q); r.append(p)", "p = z = n * -1.0; r.append(p); q = z", "r.append(q)"),
    *("r.append(float('nan'))", "r.append(float(k)); r.append(int(n))", "r.append(-n); r.append(+n)", "r += [n * 2.0]"),
    *("r.extend((n * 2.0, q))", "r.append(abs(-n))", "r.append(max(n * 2.0, k))", "r.append(q); q = n * 2.0"),
)
BESIDE = ("A = np.linalg.inv(A)", "A = np.fft.fft(A).real", "A = A * 2")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("statements", KNOWN)
def test_numbers_that_capture_knows_are_new_in_each_iteration(statements: str, backend: str) -> None:
    def objects(value: Any) -> list[Any]:
        return [one for part in value for one in objects(part)] if isinstance(value, list | tuple) else [value]

    for beside, before in product(BESIDE, ("q = 0.25", "q = 5.5 * n")):
        lines = [f"n = 3.5; k = 1000; s = [2.5, 1.5]; r = []; r2 = []; p = z = None; {before}"]
        lines += ["for j in range(m):", f"    {statements}", f"    {beside}", "return r, r2, p, q, n, k, s, x"]
        names: dict[str, Any] = {"np": np}
        exec("def f(A, m, x):\n    " + "\n    ".join(lines), names)
        fast: Any = dynamo_lite.compile(names["f"], backend=backend, options=OPTIONS)
        for m in (3, 2, 5):
            results = []
            for function in (names["f"], fast, fast):
                found = objects(function(np.array([[2.0, 1.0], [1.0, 3.0]]), m, [0.0] * 6))
                same = [[one is other for one in found] for other in found]
                results.append((list(map(repr, found)), same))
            assert results[0] == results[1] == results[2]


SAME = ("complex(y[0])", "y[1][:]", "y[1] * 1", "y[1] + ''", "'' + y[1]", "y[1][::1]", "1 * y[2]", "y[2][:]", "+y[3]")


@pytest.mark.parametrize("expression", SAME)
def test_what_python_hands_back_is_the_object_of_that_call(expression: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def f(x, y):\n    return {expression}, x * 2.0\n", names)
    fast: Any = dynamo_lite.compile(names["f"], options=OPTIONS)
    for _ in range(3):
        y = [complex(1.5, float("2.5")), "".join(["a", "bc"]), bytes(bytearray(b"xyz")), float("1.25")]
        of = [any(function(np.ones(3), y)[0] is one for one in y) for function in (names["f"], fast)]
        assert of == [True, True]


NONE, FOUR, LAST_OF_ONE, LARGE = 0, 4, 256, 257


def small_ints(g: Any, n: int, k: int) -> Any:
    place, hits, seen = [k, 0], 0, 0
    for i in range(n):
        rest = i % 7
        if rest is not NONE:
            place = [place[0] + 1, place[1]]
        if place[0] is FOUR or LAST_OF_ONE is place[0]:
            hits += 10
        seen += place[0] + k is LAST_OF_ONE
    return hits, seen, g * 2.0


def large_ints(g: Any, n: int, k: int) -> Any:
    found = 0
    for i in range(n):
        found += k + i is LARGE
    return found, g * 2.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_small_ints_are_one_object_each(backend: str) -> None:
    fast = dynamo_lite.compile(small_ints, backend=backend, options=OPTIONS)
    for n, k in ((1000, 0), (40, 250), (0, 4), (9, -7)):
        expected, found = small_ints(np.arange(5.0), n, k), fast(np.arange(5.0), n, k)
        assert found[:2] == expected[:2] and (found[2] == expected[2]).all()
    assert fast.stats()["breaks"] == 0, fast.explain()
    fast = dynamo_lite.compile(large_ints, backend=backend, options=OPTIONS)
    for k in (250, 200, 257):
        expected, found = large_ints(np.arange(5.0), 20, k), fast(np.arange(5.0), 20, k)
        assert found[0] == expected[0] and (found[1] == expected[1]).all()
