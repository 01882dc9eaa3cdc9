"""Loops that schedules and backends are tested with: a function of the number of iterations and more arguments, one row
each. On real arrays a function is the plain loop; traced, its `for_range` is a loop of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.schedule.programs import rand
from tests.schedule.tracing import as_type, for_range, new

Array = Any
LOOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def loop(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a row of the table, with these arguments behind the number of iterations."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        LOOPS[function.__name__] = (function, arguments)
        return function

    return add


def spread(*shape: int) -> Array:
    """An array that is not contiguous."""
    return rand(*(2 * size for size in shape))[tuple(slice(None, None, 2) for _ in shape)]


# ---- carried values


@loop(rand(2, 3))
def decay(n: Any, x: Array) -> Array:
    def body(i: Any, x: Array) -> Array:
        return (x * 0.5 + 1.0,)

    (result,) = for_range((0, n, 1), (x,), body)
    return result, x


@loop(rand(3, 4).T)
def decay_transposed(n: Any, x: Array) -> Array:
    def body(i: Any, x: Array) -> Array:
        return (x * 0.5 + 1.0,)

    return for_range((0, n, 1), (x,), body)


@loop(spread(3, 4))
def decay_strided(n: Any, x: Array) -> Array:
    def body(i: Any, x: Array) -> Array:
        return (np.exp(-x) * 0.5,)

    return for_range((0, n, 1), (x,), body)


@loop(rand(0, 4))
def decay_empty(n: Any, x: Array) -> Array:
    def body(i: Any, x: Array) -> Array:
        return (x * 0.5 + 1.0,)

    return for_range((0, n, 1), (x,), body)


@loop(rand(5), rand(5), rand(5))
def rotate(n: Any, a: Array, b: Array, c: Array) -> Array:
    """Nothing is computed: the very objects change places."""

    def body(i: Any, a: Array, b: Array, c: Array) -> Array:
        return b, c, a

    return (*for_range((0, n, 1), (a, b, c), body), a, b, c)


@loop(rand(5), rand(5))
def previous(n: Any, x: Array, y: Array) -> Array:
    """The last two values; one of them came in, or is captured."""

    def body(i: Any, before: Array, now: Array) -> Array:
        return now, y * 2.0

    return (*for_range((0, n, 1), (x, y), body), x, y)


@loop(rand(5))
def twice_the_same(n: Any, x: Array) -> Array:
    def body(i: Any, a: Array, b: Array) -> Array:
        new = a * 0.5 + b
        return new, new

    a, b = for_range((0, n, 1), (x, x), body)
    return a, b, x


@loop(rand(6, 6))
def carried_views(n: Any, x: Array) -> Array:
    """Views of what is carried and of what is captured are handed on."""

    def body(i: Any, a: Array, row: Array) -> Array:
        a = (a * 0.5 + row).T
        return a, a[1:3][0] * 1.0 + x[2]

    def views(i: Any, a: Array, b: Array) -> Array:
        return a.T, x[::-1]

    first = for_range((0, n, 1), (x, x[1]), body)
    return (*first, *for_range((0, n, 1), (x, x), views))


@loop(rand(6, 4))
def view_of_a_temporary(n: Any, x: Array) -> Array:
    def body(i: Any, a: Array, rest: Array) -> Array:
        doubled = x * 2.0 + rest[0]
        return doubled, doubled[::-1]

    return for_range((0, n, 1), (x, x), body)


@loop(rand(9), rand(9))
def scalars(n: Any, x: Array, y: Array) -> Array:
    """A NumPy scalar is carried."""

    def body(i: Any, s: Array, last: Array) -> Array:
        return s + x[i] * y[i], x[i]

    return for_range((0, n, 1), (x[0], y[0]), body)


@loop(rand(9, dtype="f"), rand(9, dtype="i"))
def scalars_of_other_types(n: Any, x: Array, k: Array) -> Array:
    def body(i: Any, s: Array, j: Array) -> Array:
        return as_type(np.float32, s * x[i]), j * k[i] - k[0]

    return for_range((0, n, 1), (x[1], k[1]), body)


@loop(rand(6), rand(3, 6), rand(6, dtype="l"), rand(6, dtype="?"), rand(6) * (1 + 2j))
def many_values(n: Any, a: Array, b: Array, c: Array, d: Array, e: Array) -> Array:
    """More than fit the small tables, of several dtypes."""

    def body(i: Any, a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> Array:
        g = a * 2.0
        h = g + b[0]
        m = b * h
        return h - a, m + 1.0, c * 3 + i, ~d, e * e.conj() + a, m[1] * g

    return for_range((0, n, 1), (a, b, c, d, e, a), body)


# ---- stores


@loop(rand(12, 9), rand(12, 9))
def jacobi(n: Any, a: Array, b: Array) -> None:
    def body(t: Any) -> Array:
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
        return ()

    for_range((0, n, 1), (), body)


@loop(rand(20), rand(20))
def ping_pong(n: Any, a: Array, b: Array) -> Array:
    """Arrays that are written change places."""

    def body(t: Any, a: Array, b: Array) -> Array:
        b[1:-1] = (a[:-2] + a[2:]) * 0.5
        return b, a

    return (*for_range((0, n, 1), (a, b), body), a, b)


@loop(rand(20))
def in_place_and_shifted(n: Any, a: Array) -> Array:
    """What a store reads overlaps what it writes."""

    def body(t: Any) -> Array:
        a[1:] = a[:-1] * 0.5 + a[1:]
        a[:] = a[::-1]
        return ()

    for_range((0, n, 1), (), body)
    return a


@loop(rand(9), rand(9))
def recurrence(n: Any, x: Array, y: Array) -> Array:
    def body(i: Any) -> Array:
        y[i] = y[i - 1] * 0.5 + x[i]
        return ()

    for_range((1, n, 1), (), body)
    return y


@loop(rand(9), rand(9))
def backwards(n: Any, x: Array, y: Array) -> Array:
    def body(i: Any, s: Array) -> Array:
        y[i] = s
        return (s - x[i],)

    return for_range((n, 0, -2), (x[0],), body)


@loop(rand(9, 5), rand(9, 5))
def rows(n: Any, x: Array, out: Array) -> Array:
    def body(i: Any, total: Array) -> Array:
        row = x[i]
        out[i] = row * total + i
        out[i, 1:] += row[:-1]
        return (total + row,)

    return (*for_range((0, n, 1), (x[0],), body), out)


@loop(rand(7, 7))
def elimination(n: Any, a: Array) -> Array:
    """A loop in a loop, bounds of the inner one depend on the outer index."""

    def column(k: Any) -> Array:
        def eliminate(i: Any) -> Array:
            a[i] = a[i] - a[k] * (a[i, k] / a[k, k])
            return ()

        for_range((k + 1, n, 1), (), eliminate)
        return ()

    for_range((0, n, 1), (), column)
    return a


@loop(rand(6, 6))
def nested_carried(n: Any, x: Array) -> Array:
    def outer(i: Any, x: Array, best: Array) -> Array:
        def inner(j: Any, y: Array, z: Array) -> Array:
            return y * 0.5 + x[j], y

        y, z = for_range((0, n, 1), (x[i], x[0]), inner)
        return x + y, z

    return (*for_range((0, n, 1), (x, x[1]), outer), x)


# ---- other steps


@loop(rand(8, 8), rand(8))
def power_method(n: Any, a: Array, v: Array) -> Array:
    def body(i: Any, v: Array) -> Array:
        v = a @ v
        return (v / np.sqrt(np.sum(v * v)),)

    return for_range((0, n, 1), (v,), body)


@loop(rand(30), 0.25, 7)
def numbers(n: Any, x: Array, dt: Any, k: Any) -> Array:
    """Python numbers from outside, and the index, in arithmetic."""

    def body(i: Any, x: Array) -> Array:
        return (x * dt + (i * k - 1),)

    return for_range((2, n + k - 7, 3), (x,), body)


@loop(rand(6, 5))
def temporaries(n: Any, x: Array) -> Array:
    """Fresh arrays of several shapes and orders, calls of NumPy, reductions over each axis."""

    def body(i: Any, x: Array) -> Array:
        zeros = new(np.zeros, x)
        ones = new(np.ones, x)
        zeros[1:] = x[:-1]
        ranked = np.sort(x, axis=0) + zeros * 2.0
        columns, lines = np.sum(ranked, axis=0), np.max(ranked.T, axis=0)
        return (ranked / (columns + 1.0) - ones * lines[0],)

    return for_range((0, n, 1), (x,), body)


@loop(rand(5), rand(5))
def stores_behind(n: Any, x: Array, y: Array) -> Array:
    """What a loop hands out is written afterwards: after no iteration it is what went in."""

    def body(i: Any, a: Array) -> Array:
        return (a + y,)

    (a,) = for_range((0, n, 1), (x,), body)
    before = x * 2.0
    a += 1.0
    after = x * 2.0
    return a, x, before, after


@loop(rand(5), rand(5))
def known_before(n: Any, x: Array, y: Array) -> Array:
    """Stores before a loop that reads and writes, and after it."""
    z = new(np.empty, x)
    z[:] = x + y
    x[:] = y * 3.0

    def body(i: Any, a: Array) -> Array:
        x[1:] = z[:-1] + a[1:]
        return (x * 0.5,)

    (a,) = for_range((0, n, 1), (y,), body)
    w = x + 1.0
    x[:] = a
    z[:] = w
    return a, x, y, z, w


@loop(rand(5))
def one_after_another(n: Any, x: Array) -> Array:
    def half(i: Any, a: Array) -> Array:
        return (a * 0.5,)

    def stores(i: Any, a: Array) -> Array:
        a[:] = a + x
        return (a,)

    (a,) = for_range((0, n, 1), (x,), half)
    (b,) = for_range((n, n * 2, 1), (a,), half)
    c = b * 1.0
    (d,) = for_range((0, n, 2), (c,), stores)
    return a, b, c, d, x
