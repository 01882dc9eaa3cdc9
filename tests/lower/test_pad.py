"""Rolls as views of arrays with borders: the two lines of the docstring, and that results keep bits and strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.pad import pad
from tests.copies import copies_of
from tests.oracle import require_equal


def padded(function: Callable[..., Any], *arguments: Any) -> str:
    graph = clone(dynamo_lite.compile(function).graph_for(*arguments))
    pad(graph)
    verify(graph)
    return str(graph)


def laplace(x: Any) -> Any:
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4.0 * x


def of_a_value(x: Any) -> Any:
    f = x * x + 1.0
    return (f - np.roll(f, 1, axis=0)) * (np.roll(f, -2, axis=0) - f), f


def twice(x: Any) -> Any:
    f = np.sqrt(abs(x))
    left = np.roll(f, 1, 0)
    return left * np.roll(left, 1, 1) + np.roll(np.roll(f, -1, 1), 1, 1) + np.roll(left, 1, 0)


def across(x: Any) -> Any:
    return np.roll(np.roll(x, 2, 0), -1, 1) + np.roll(np.roll(x, -1, -1), 1, 0) * 2.0


def along_both(x: Any) -> Any:
    return np.roll(x, (1, -1), axis=(0, 1)) * x + np.roll(x, (2, 1), (1, 0)) - np.roll(x, 1, axis=(0, 1))


def returned(x: Any) -> Any:
    f = x + 1.0
    left, right = np.roll(f, 1, 0), np.roll(f, -1, 0)
    return left, left + right, np.roll(left, 1, 1) - right


def viewed(x: Any) -> Any:
    left = np.roll(x * 2.0, 1, 0)
    return left[1:, ::-1] + left[:-1], left[0]


def summed(x: Any) -> Any:
    f = x * 0.1
    return np.roll(f, 1, 0).sum(), (np.roll(f, 1, 1) - f).sum(axis=0), np.roll(f, -1, 0) @ x.T


def written_between(x: Any) -> Any:
    y = x + np.roll(x, 1, 0)
    x[1:] = 0.0
    y -= np.roll(x, 1, 0)
    x += np.roll(x, -1, 1)
    return y


def written_into(x: Any) -> Any:
    left = np.roll(x, 1, 0)
    left[0] = x[0]
    left += np.roll(x, 1, 1)
    return left * 2.0


def stored(x: Any) -> Any:
    y = np.zeros_like(x)
    y[...] = np.roll(x, 1, 0)
    y[1:] += np.roll(x, 1, 1)[:-1]
    return y


def mixed(x: Any) -> Any:
    y = x.T.copy().T + x
    f = y * 2.0
    return f + np.roll(f, 1, 0), np.roll(y, 1, 1) * x


def thin(x: Any) -> Any:
    f = x[:1] * x[:, :1]
    return np.roll(f, 1, 0) + f, np.roll(x[:, :1], 1, 0) + 1.0, np.roll(x[0], 1, 0) + x[0]


def kept_order(x: Any) -> Any:
    f = x + 1
    left = np.roll(f, 1, 0)
    return left.copy(), left.astype("f4"), np.roll(f, -1, 0).copy(order="F"), np.roll(f, 2, 1) > f


def in_a_loop(x: Any) -> Any:
    for _ in range(4):
        x = 0.25 * (np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1))
    return x


def conditions(x: Any) -> Any:
    f = np.where(np.roll(x, 1, 0) > x, np.roll(x, -1, 0), x)
    return np.log(np.roll(f, 1, 1) + 3.0), np.roll(f > 1, 1, 0) & np.roll(f < 2, -1, 0)


PROGRAMS = [
    *(laplace, of_a_value, twice, across, along_both, returned, viewed, summed, written_between, written_into, stored),
    *(mixed, thin, kept_order, in_a_loop, conditions),
]


def layouts() -> Iterator[Any]:
    base = np.random.default_rng(3).random((9, 7)) + 0.5
    yield from (base, np.asfortranarray(base), base.astype("f4"), base[::-1], base[:, ::-1], base.T)
    wide = np.random.default_rng(4).random((40, 60))
    yield from (wide[::2, ::3], np.asfortranarray(wide)[::2], wide[:2, :2], wide[:3, :2], wide[:1], wide[:, :1])
    yield from (wide[:0], wide[:, :0], (wide * 9).astype("i4"), np.broadcast_to(wide[0], (5, 60)))
    yield wide[:5, :5] * (1 + 1j)
    yield np.random.default_rng(5).random((300, 250)) + 0.5


@pytest.mark.parametrize("fn", PROGRAMS)
def test_rolls_keep_bits_and_strides(fn: Callable[[Any], Any]) -> None:
    for x in layouts():
        if x.strides[0] == 0 and fn is written_between:
            continue
        options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
        require_equal(fn, copies_of(x), compile=dynamo_lite.compile, compile_options=options)


def volume(x: Any) -> Any:
    f = x * 2.0
    return np.roll(f, 1, 1) - f, np.roll(np.roll(f, 1, 0), -1, 2) + f, np.roll(f, 1, 2)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_any_order_of_axes(axes: tuple[int, ...]) -> None:
    for shape in ((3, 4, 5), (3, 1, 5), (1, 4, 3), (4, 3, 1)):
        x = np.random.default_rng(1).random(shape).transpose(axes)
        options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
        require_equal(volume, copies_of(x), compile=dynamo_lite.compile, compile_options=options)


def test_a_stencil_needs_one_array() -> None:
    text = padded(laplace, np.ones((4, 5)))
    assert text.count("= empty_bordered") == 1 and text.count("store(") == 5 and "roll(%" not in text
    for fn in (across, along_both):
        text = padded(fn, np.ones((4, 5)))
        assert text.count("= empty_bordered") == 1 and "roll(%" not in text


@pytest.mark.parametrize("fn", [returned, written_into])
def test_what_is_seen_is_an_array_of_its_own(fn: Callable[[Any], Any]) -> None:
    assert "roll(%" in padded(fn, np.ones((4, 5)))


def test_it_runs_as_kernels() -> None:
    x = np.random.default_rng(0).random((50, 60))
    fast = dynamo_lite.compile(of_a_value, options={"cost_model": False})
    for one in (x, np.asfortranarray(x), x[::2]):
        for _ in range(2):
            for found, expected in zip(fast(one), of_a_value(one), strict=True):
                assert found.tobytes() == expected.tobytes() and found.strides == expected.strides
    assert fast.stats()["native_calls"] == 6 and fast.stats()["declines"] == 0


def test_arrays_that_only_meet_later_are_compared() -> None:
    def apart_at_first(x: Any, y: Any) -> Any:
        left, right = np.roll(x * 2.0, 1, 0) + x, np.roll(y * 2.0, 1, 0) + y
        z = x + y
        return left, right, np.roll(z, 1, 0) * 2.0, np.roll(z, 1, 1) - z

    base = np.random.default_rng(0).random((6, 5))
    for x, y in ((base, base * 2), (base, np.asfortranarray(base)), (np.asfortranarray(base), base), (base.T, base.T)):
        options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
        require_equal(apart_at_first, copies_of(x, y), compile=dynamo_lite.compile, compile_options=options)


def in_place(x: Any) -> Any:
    f = x * 0.5
    g = f * x
    f -= g * 2.0
    return np.roll(f, 1, 0) + f + g


def test_what_is_changed_in_place_is_a_value() -> None:
    assert "store(%multiply" not in str(lower(dynamo_lite.compile(in_place).graph_for(np.ones((4, 5)))))
    for x in layouts():
        options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
        require_equal(in_place, copies_of(x), compile=dynamo_lite.compile, compile_options=options)


def advect(x: Any) -> Any:
    return x - 0.1 * (x - np.roll(x, 1)) + np.roll(np.roll(x, 2), -3) * 0.5


def heat(x: Any) -> Any:
    for _ in range(3):
        x = x + 0.1 * (np.roll(x, -1) - 2 * x + np.roll(x, 1))
    return x


def seen(x: Any) -> Any:
    f = x + 1.0
    left, right = np.roll(f, 1), np.roll(f, -1)
    return left, left - right, left[1:], right.base is None, np.roll(x, 3).flags.owndata


def changed(x: Any) -> Any:
    left = np.roll(x, -1)
    left[0] = x[-1]
    y = x + np.roll(x, 1)
    x[1:] = left[:-1]
    x += np.roll(x, 2)
    return y, np.roll(x, 1).sum(), np.roll(x > 1, 1) & (x < 2)


def both_ways(x: Any) -> Any:
    return np.roll(x, 1) - np.roll(x, -1, axis=0) + np.roll(x, -1, -1)


def flat(x: Any) -> Any:
    y = x[:, None] + x
    return np.roll(y, 1) + y - np.roll(y, -1, 0)


@pytest.mark.parametrize("fn", [advect, heat, seen, changed, both_ways, flat])
def test_along_the_only_axis(fn: Callable[[Any], Any]) -> None:
    """np.roll of no axis goes along the one that there is."""
    base = np.random.default_rng(6).random(60) + 0.5
    for x in (base, base[::-1], base[::3], base[::-2], base.astype("f4"), (base * 9).astype("i4"), base[:9] * (1 + 1j)):
        for size in (len(x), 5, 4, 3, 2, 1, 0):
            options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
            require_equal(fn, copies_of(x[:size]), compile=dynamo_lite.compile, compile_options=options)


def test_a_stencil_along_the_only_axis_needs_one_array() -> None:
    for fn in (advect, both_ways):
        text = padded(fn, np.ones(40))
        assert text.count("= empty_bordered") == 1 and "roll(%" not in text
    assert "roll(%" in padded(seen, np.ones(40)) and "roll(%" in padded(flat, np.ones(40))


def by_nothing(x: Any) -> Any:
    still = np.roll(x, 0, axis=0)
    moved = np.roll(np.roll(x, 0, axis=1), 1, axis=0)
    return still, moved * 2.0, np.roll(x, (0, 1), axis=(0, 1)), np.roll(x, (0, 0), axis=(0, 1))


def test_rolls_by_nothing_are_copies() -> None:
    x = np.arange(42.0).reshape(6, 7)
    graph = str(dynamo_lite.compile(by_nothing).graph_for(x))
    assert "shift=0" not in graph and graph.count("= copy(") == 3
    for one in (x, np.asfortranarray(x), x[::2, ::-1], x[:, :1], np.broadcast_to(x[0], (3, 7)), x[:0]):
        require_equal(by_nothing, copies_of(one), compile=dynamo_lite.compile)
