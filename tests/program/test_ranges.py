"""What ranges.py, flatten.py and share.py make of loops of numbers, in their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dynamo_lite.backends.kernels.functions import routine_of

from dynamo_lite.program import ir
from dynamo_lite.program.ir import walk
from dynamo_lite.program.text import to_text
from tests.program.routines import collected


def text_of(function: Callable[..., Any], *arguments: Any) -> str:
    ((machine, classes),) = collected(function, *arguments)
    return to_text(routine_of(machine, classes))


def test_what_an_index_is_needs_no_test_for_overflow() -> None:
    def fn(x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            for i in range(1, x.shape[0]):
                x[i - 1] = (i + 5) * 3 % 7 + (i & 12) // 5
        return x

    text = text_of(fn, np.zeros(8), 6)
    assert "overflow" not in text and "either end" not in text and "uint64 = remainder" in text


def test_what_may_wrap_around_is_tested() -> None:
    def fn(x, k, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            k = k + x[i % 4]
            x[k] = i
        return k

    text = text_of(fn, np.arange(8), 3, 6)
    assert "_or_overflow" in text


def test_a_counter_is_not_taken_for_what_it_is_at_first() -> None:
    def fn(x, n):  # type: ignore[no-untyped-def]
        k = 0
        for i in range(n):
            if x[i] > 1.0:
                k = k + i
                x[k % 8] = 0.0
        return k

    text = text_of(fn, np.arange(8.0), 6)
    assert "add_or_overflow" in text


def test_a_condition_narrows_its_sides_alone() -> None:
    def fn(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            slot = int(y[i])
            if slot >= 0:
                x[slot] = 1.0
            x[slot - 1] = 2.0
        return x

    text = text_of(fn, np.zeros(8), np.ones(8), 6)
    assert text.count("from either end") == 1


def test_a_sum_that_a_loop_counts_is_tested_at_its_ends() -> None:
    def fn(x, k, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x[i - k] = x[i + 1]
        return x

    lines = [line.strip() for line in text_of(fn, np.ones(8), 2, 6).splitlines()]
    inner = max(place for place, line in enumerate(lines) if line.startswith("range"))
    assert not any("overflow" in line for line in lines[inner:])
    assert sum("subtract_or_overflow" in line for line in lines[:inner]) == 2


def test_short_choices_of_integers_are_selections() -> None:
    def fn(x, k, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            k = 3 * k + 1 if k & 1 else k >> 1
            x[i] = k
        return k

    ((machine, classes),) = collected(fn, np.arange(8), 3, 6)
    choices = [node for node in walk(routine_of(machine, classes).body) if isinstance(node, ir.If) and not node.rare]
    assert choices and not any(node.then or node.orelse for node in choices)
    seldom = [node for node in walk(routine_of(machine, classes).body) if isinstance(node, ir.If) and node.rare]
    assert sum(isinstance(one, ir.Decline) for node in seldom for one in node.then) == 2


def test_choices_with_loads_and_divisions_are_jumps() -> None:
    def fn(x, k, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            k = k // (i + 3) if k > 5 else k + x[i]
            x[i] = k & 7
        return k

    ((machine, classes),) = collected(fn, np.arange(8), 3, 6)
    choices = [node for node in walk(routine_of(machine, classes).body) if isinstance(node, ir.If) and not node.rare]
    assert any(node.then for node in choices)


def test_an_element_is_loaded_again_after_a_store_elsewhere() -> None:
    def fn(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            s = x[i] + x[i]
            y[i] = s
            x[i] = x[i] * s
        return x

    ((machine, classes),) = collected(fn, np.arange(8.0), np.arange(8.0), 6)
    loads = [node for node in walk(routine_of(machine, classes).body) if isinstance(node, ir.Load)]
    assert len(loads) == 2
