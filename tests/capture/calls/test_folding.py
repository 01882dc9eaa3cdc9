"""Capture computes with constants only what has a bound: it follows branches that never run."""

from __future__ import annotations

import operator
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.capture.calls import folding
from dynamo_lite.capture.value import Break, ConstantValue
from dynamo_lite.ops import creation
from tests.copies import copies_of
from tests.oracle import require_equal

HUGE = 2**30


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (operator.mul, ("x", HUGE)),
        (operator.mul, (HUGE, b"x")),
        (operator.mul, (1 << 40000, 3)),
        (operator.pow, (10, HUGE)),
        (operator.pow, (-3, 10**30)),
        (operator.lshift, (1, HUGE)),
        (operator.add, ("x" * 4000, "y" * 4000)),
        (operator.mod, ("%1000000000d", 5)),
        (operator.mod, ("%.1000000000f", 5.0)),
        (operator.mod, ("%*d", 5)),
        (operator.mod, (b"%99999999999999999999d", 5)),
        (operator.floordiv, (1 << 400000, 3)),
        (operator.neg, (1 << 400000,)),
    ],
)
def test_what_may_be_large_is_not_computed(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    tracemalloc.start()
    with pytest.raises(Break) as found:
        folding.python_result(function, *args)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.value.reason == "costly-constant" and peak < 2**16


def test_what_is_computed_is_as_small_as_its_bound() -> None:
    dice = random.Random(5)
    values: list[Any] = [0, 1, -1, 2, 7, 255, -256, 10**9, 2**64, -(3**90), True, 1.5, -0.0, 1e300]
    values += ["", "x", "ab" * 20, "%d", "%5s", "%08.3f", "%%", "%-30d", b"", b"x" * 9, b"%d", b"%3d"]
    computed = 0
    for _ in range(20000):
        function = dice.choice([one for one in folding._GROWTH if one.__module__ == "_operator"])
        unary = function in (operator.neg, operator.pos, operator.invert)
        args = tuple(dice.choice(values) for _ in range(1 if unary else 2))
        try:
            result = folding.python_result(function, *args)
        except Break:
            continue
        assert isinstance(result, ConstantValue)
        assert folding.size_of(result.value) <= folding._GROWTH[function](*args) <= folding.MAX_SIZE, (function, args)
        computed += 1
    assert computed > 5000


def never(a: Any, k: int) -> Any:
    t = 0.0
    for i in range(len(a)):
        if a[i] > 100:
            t += len("x" * (k**10))
        t += a[i]
    return t


def doubled(a: Any, k: int) -> Any:
    text, items, number = "x", [1, 2], 3
    if k > 100:
        for _ in range(k):
            text, items, number = text + text, items + items, number * number
    return a * len(text) + len(items) + number


def widths(a: Any, k: int) -> Any:
    return a * 2 if k < 100 else a + len("%1000000000d" % k)  # noqa: UP031


@pytest.mark.parametrize("function", [never, doubled, widths])
def test_programs_cost_what_they_cost_plainly(function: Callable[..., Any]) -> None:
    tracemalloc.start()
    require_equal(
        function,
        copies_of(np.arange(5.0), 8),
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False}},
        variants=[copies_of(np.arange(5.0), 9)],
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**27


def test_a_sequence_that_doubles_is_cut() -> None:
    def grows(a: Any) -> Any:
        items, text = [1, 2], "x"
        for _ in range(20):
            items, text = items + items, text + text
        return a * len(items) + len(text)

    fast = dynamo_lite.compile(grows, options={"cost_model": False})
    a = np.ones(4)
    assert np.array_equal(fast(a), grows(a))
    assert "costly-constant" in {record.id for record in fast.explain().breaks}


def cuts(x: Any, a: str, b: str) -> Any:
    c = a[:3] + b[3:]
    d = a[:3] + b[3:]
    one, other = slice(1, 2), range(len(a))
    return x * 2, c, d, c, "ab" * 3, "ababab", one, one, other, other, a, a[:], a[:1]


def test_strings_and_slices_are_objects_of_their_own() -> None:
    """CPython interns constants of a code object that look like names."""
    fast = dynamo_lite.compile(cuts, options={"cost_model": False})
    x, a = np.arange(3.0), "abcdef"
    before = []
    for _ in range(3):
        plain, found = cuts(x, a, a), fast(x, a, a)
        assert found[1:] == plain[1:]
        same = [[one is other for other in plain] for one in plain]
        assert [[one is other for other in found] for one in found] == same
        assert (found[1] is a, found[-1] is a[:1]) == (plain[1] is a, plain[-1] is a[:1])
        assert all(one is not found[1] for one in before)
        before.append(found[1])


def wide_format(a: Any) -> Any:
    t = 0.0
    for i in range(len(a)):
        if a[i] > 100:
            _ = f"{3:50000000}"
        t += a[i]
    return t


def long_range(a: Any) -> Any:
    t = 0.0
    for i in range(len(a)):
        if a[i] > 100:
            t += np.arange(0.0, 1.0, 1e-8).sum() + np.arange(10**8).sum()
        t += a[i]
    return t


@pytest.mark.parametrize("function", [wide_format, long_range])
def test_what_never_runs_is_not_made(function: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(function, backend="reference", options={"cost_model": False, "check": 1})
    fast(np.arange(7))  # what is imported for the first of all captures
    tracemalloc.start()
    assert fast(np.arange(9.0)) == 36.0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def test_long_ranges_have_the_length_that_numpy_gives_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "_SEEN", 0)
    dice, seen = random.Random(3), 0
    kinds: list[dict[str, Any]] = [{}, {"dtype": np.dtype("f8")}, {"dtype": np.dtype("i8")}]
    for _ in range(20000):
        values = [(dice.randint(-50, 50), dice.uniform(-5, 5), 0.1 * dice.randint(-9, 9), 1e-3) for _ in range(3)]
        start, stop, step = map(dice.choice, values)
        if step and 0 < (stop - start) / step < 5000:
            params = dice.choice(kinds)
            found, made = creation._long_arange((start, stop, step), params), np.arange(start, stop, step, **params)
            assert found is not None and (found.dtype, found.shape) == (made.dtype, made.shape)
            seen += 1
    assert seen > 5000
