"""Loops over what itertools, reversed() and NumPy's own iterators give, and over zips of unlike lengths: they stay
loops, and what the program sees of the iterators is as ever."""

from __future__ import annotations

import itertools
import sys
from itertools import count, islice, product, repeat
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal
from tests.programs.loop_cases import OPTIONS, registry, rng

CASES, case = registry()


def matrix(size: int, width: int) -> tuple[Any, ...]:
    return (rng(size).random((size, width)),)


@case(matrix)
def over_product(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i, j in product(range(x.shape[0]), range(x.shape[1])):
        total += x[i, j] * i - j
    return total, type(total)


@case(matrix)
def over_product_of_one(x):  # type: ignore[no-untyped-def]
    n, found = min(x.shape), np.zeros(x.shape)
    for i, j, k in itertools.product(range(1, n), repeat=3):
        if i == j:
            continue
        found[i, j] += x[k, i]
    return found


@case(matrix)
def over_flat(x):  # type: ignore[no-untyped-def]
    total, place = 0.0, 0
    for i, v in enumerate(x.T.flat):
        if v > 0.5:
            place = i
        total += v * i
    for v in x.flat:
        total -= v
    return total, place


@case(matrix)
def over_ndindex(x):  # type: ignore[no-untyped-def]
    y, last = np.zeros_like(x), (-1, -1)
    for index in np.ndindex(x.shape):
        y[index] = x[index] * 2.0
        last = index
    return y, last


@case(matrix)
def over_ndindex_of_numbers(x):  # type: ignore[no-untyped-def]
    y = np.zeros_like(x)
    for i, j in np.ndindex(*x.shape):
        y[i, j] = x[i, j] + j * 0.5
    for (i,) in np.ndindex(x.shape[0]):
        y[i] += i
    return y


@case(matrix)
def over_ndenumerate(x):  # type: ignore[no-untyped-def]
    best, where = -1.0, (0, 0)
    for (i, j), value in np.ndenumerate(x):
        if value > best:
            best, where = value, (i, j)
    return best, where


@case(matrix)
def over_ndenumerate_of_a_view(x):  # type: ignore[no-untyped-def]
    y = x.T[::-1]
    for place, value in np.ndenumerate(y):
        y[place] = value * 0.5 + x[0, 0]  # which later items are read of
    return x


@case(matrix)
def over_count(x):  # type: ignore[no-untyped-def]
    total, v = 0.0, x.ravel()
    for i in count():
        if i == len(v):
            break
        total += v[i]
        if total > 4.0:
            break
    return total, i


@case(matrix)
def over_zip_of_count(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i, value, j in zip(count(1), x.ravel(), count(5, -2), strict=False):
        total += value * i - j
    return total


@case(matrix)
def over_zip_of_unlike(x):  # type: ignore[no-untyped-def]
    total, v = 0.0, x.ravel()
    for a, b in zip(v, v[1:], strict=False):  # noqa: RUF007
        total += abs(b - a)
    for row, i in zip(x, range(3), strict=False):
        total += row.sum() * i
    for i, (a, row) in enumerate(zip(v, x, strict=False)):
        total += a * row[0] + i
    return total


@case(matrix)
def over_islice(x):  # type: ignore[no-untyped-def]
    total, v = 0.0, x.ravel()
    for value in islice(v, 4):
        total += value
    for value in islice(v, 1, 7):
        total -= value * 0.5
    for value in islice(v, 1, None, 3):
        total += value * 0.25
    for row in islice(x, 0, 5, 2):
        total += row.sum()
    return total


@case(matrix)
def over_repeat(x):  # type: ignore[no-untyped-def]
    v, w = x[0].copy(), x[0]
    for _ in repeat(None, x.shape[0]):
        v = v * 0.5 + 1.0
    for row, step in zip(x, repeat(w), strict=False):
        v = v + row * step
    return v


@case(matrix)
def over_reversed(x):  # type: ignore[no-untyped-def]
    total, v = 0.0, x.ravel()
    for i in reversed(range(len(v))):
        total = total * 0.5 + v[i]
    for value in reversed(v):
        total = total * 0.5 + value
    for row in reversed(x):
        total += row.sum() * 0.5
    for i in reversed(range(2, 40, 3)):
        total += i
    return total


@case(matrix)
def over_found_places(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i, j in np.argwhere(x > 0.5):
        total += x[i, j]
    for i, j in zip(*np.where(x > 0.25), strict=True):
        total -= x[i, j] * 0.5
    for i in np.flatnonzero(x[0] > 0.5):
        total += x[0, i]
    return total


@case(matrix)
def over_numbers_of_a_list(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.shape[0]):
        total += float(i) / 3
    for n in (x[:, 0] * 1e3).astype(np.int32):
        total -= float(n) / 7
    return total, type(total)


@case(matrix)
def over_found_places_with_a_count(x):  # type: ignore[no-untyped-def]
    hits = before = x.shape[0] + 10**6
    last = 0.5
    for i in np.where(x[0] > 0.5)[0]:
        if x[0, i] < 0.75:
            hits += 1
        else:
            last = float(i)
    return hits, hits is before, last


@pytest.mark.parametrize("name", CASES)
def test_program(name: str) -> None:
    function = CASES[name].fn
    for size, width in ((3, 4), (1, 1), (2, 7), (1, 9), (6, 2), (9, 9), (0, 3), (3, 0)):
        if (size, width) == (3, 0) or (size == 0 and name not in ("over_ndindex", "over_product", "over_count")):
            continue
        require_equal(
            function,
            lambda size=size, width=width: matrix(size, width),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )
    fast = dynamo_lite.compile(function, options=OPTIONS)
    fast(*matrix(9, 9))
    loops = {loop.line: loop.outcome for loop in fast._compilation.loops.values()}
    assert set(loops.values()) <= {"native", "unrolled"}
    assert "native" in loops.values()


def an_iterator_that_somebody_has(x: Any) -> Any:
    numbers, total = count(3), 0.0
    for i, value in zip(numbers, x, strict=False):
        total += i * value
    return total, next(numbers)


def an_array_under_two(x: Any) -> Any:
    rows, total = iter(x), 0.0
    for a, b in zip(rows, x[2:], strict=False):
        total += a * b
    return total, list(rows)


def a_function_that_counts(x: Any) -> Any:
    seen: list[Any] = []

    def value_of(a: Any) -> Any:
        seen.append(a)
        return a * 2.0

    total = 0.0
    for a, b in zip(map(value_of, x), x[2:], strict=False):
        total += a * b
    return total, seen


def one_object_of_a_pool(x: Any) -> Any:
    first = last = None
    for i, j in product(range(2), range(300, 300 + len(x))):
        if i == 0 and j == 302:
            first = j
        if i == 1 and j == 302:
            last = j
    return first is last, first, last


def over_the_last_of_product(x: Any) -> Any:
    i = j = -1
    total = 0.0
    for i, j in product(range(len(x)), range(3)):
        total += x[i] * j
        if total > 3.0:
            break
    return i, j, total


def an_iterator_that_goes_on(x: Any) -> Any:
    places, total = np.ndindex(len(x), 2), 0.0
    for i, j in places:
        total += x[i] * j
        if total > 0.5:
            break
    return total, list(places)


def a_product_that_goes_on(x: Any) -> Any:
    pairs, total = product(range(len(x)), range(3)), 0.0
    next(pairs)
    for i, j in pairs:
        total += x[i] * j
        if total > 0.5:
            break
    return total, list(pairs)


def what_flat_is_else(x: Any) -> Any:
    iterator, total = x.flat, 0.0
    for v in iterator:
        total += v
        if total > 0.5:
            break
    x.flat[2] = 7.0
    return total, iterator.index, next(iterator), x.flat[1], len(x.flat), np.asarray(x.flat), x


def strict_of_unlike(x: Any) -> Any:
    total = 0.0
    try:
        for a, b in zip(x, x[1:], strict=True):  # noqa: RUF007
            total += a * b
    except ValueError as error:
        return total, str(error)
    return total


@pytest.mark.parametrize(
    "function",
    [
        an_iterator_that_somebody_has,
        an_array_under_two,
        a_function_that_counts,
        one_object_of_a_pool,
        over_the_last_of_product,
        an_iterator_that_goes_on,
        a_product_that_goes_on,
        strict_of_unlike,
        what_flat_is_else,
    ],
)
def test_what_the_program_sees_of_its_iterators(function: Any) -> None:
    for size in (3, 5, 12):
        require_equal(
            function,
            lambda size=size: (rng(size).random(size),),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"options": OPTIONS},
        )


def pairs_of_one_pool(x: Any, n: int) -> Any:
    for i, j in itertools.product(range(n), repeat=2):  # noqa: B007
        x = x * 0.999 + 0.001 * i
    return i, j, x


def pairs_of_two_pools(x: Any, n: int) -> Any:
    for i, j in itertools.product(range(n), range(n)):  # noqa: B007
        x = x * 0.999 + 0.001 * i
    return i, j, x


@pytest.mark.parametrize("function", [pairs_of_one_pool, pairs_of_two_pools])
def test_a_pool_that_is_repeated_has_the_same_objects(function: Any) -> None:
    """As plain Python has it: repeat=2 gives one object twice, two ranges give two."""
    fast = dynamo_lite.compile(function, options=OPTIONS)
    for n in (20, 260, 260):
        i, j, x = fast(np.ones(4), n)
        first, second, plain = function(np.ones(4), n)
        assert (i, j, i is j) == (first, second, first is second)
        assert x.tobytes() == plain.tobytes()


@pytest.mark.parametrize("shape", [(-1,), (2, -1), (-1, 2)])
def test_negative_sizes_are_refused_as_ever(shape: tuple[int, ...]) -> None:
    def places(shape: Any, x: Any) -> Any:
        total = 0.0
        for index in np.ndindex(shape):
            total += x[0] * index[0]
        return total

    require_equal(
        places,
        lambda: (shape, np.ones(3)),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )


def ndindex_of(x: Any, n: Any) -> Any:
    places = np.ndindex(n, 2)
    x[0] = 5.0
    for _, j in places:
        x[1] += j
    return x


def islice_of(x: Any, n: Any) -> Any:
    items = islice(x, n)
    x[0] = 5.0
    total = 0.0
    for item in items:
        total += item
    return total


def islice_by(x: Any, n: Any) -> Any:
    items = islice(x, 0, None, n)
    x[0] = 5.0
    total = 0.0
    for item in items:
        total += item
    return total


def repeat_of(x: Any, n: Any) -> Any:
    items = repeat(2.0, n)
    x[0] = 5.0
    for item in items:
        x[1] += item
    return x


def ndindex_of_a_list(x: Any, n: Any) -> Any:
    for place in np.ndindex([n, 2]):
        x[0] += len(place)
    return x


@pytest.mark.parametrize("n", [2, 0, -1, 2**70, True, np.int64(3), 1.5, None], ids=repr)
@pytest.mark.parametrize("function", [ndindex_of, islice_of, islice_by, repeat_of, ndindex_of_a_list])
def test_what_cannot_be_made_raises_before_anything_is_stored(function: Any, n: Any) -> None:
    if n == 2**70 and "ndindex" in function.__name__ and sys.version_info >= (3, 14):
        pytest.skip("itertools.product takes the memory there is before it says that a range is too long")
    require_equal(
        function,
        lambda: (np.ones(4), n),
        compile=dynamo_lite.compile,
        compile_options={"options": OPTIONS},
    )
