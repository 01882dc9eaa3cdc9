"""Lists from outside that are read and grow: what reads them is compiled for some lengths, then runs plainly."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest

import dynamo_lite

OPTIONS = {"cost_model": False}


def last(x: Any, seen: list[float]) -> Any:
    y = x * 2.0 + seen[-1]
    return np.sqrt(y)


def recorded(x: Any, steps: int, every: int, tells: bool) -> Any:
    sums = []
    for n in range(steps):
        x = x * 0.999 + 0.01
        if n % every == 0:
            total = np.sum(x * x)
            sums.append(total)
            if tells:
                print(n, total)
    return x, np.array(sums)


def output(function: Any, *args: Any) -> tuple[str, list[bytes]]:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        results = function(*args)
    return text.getvalue(), [result.tobytes() for result in results]


@pytest.mark.filterwarnings("error")
def test_a_list_that_grows_has_few_versions() -> None:
    fast = dynamo_lite.compile(last, options=OPTIONS)
    seen: list[float] = []
    for n in range(30):
        seen.append(n * 0.5)
        x = np.linspace(0.0, 1.0, 7 + n)
        assert fast(x, seen).tobytes() == last(x, seen).tobytes()
    assert [record.id for record in fast.explain().breaks] == ["list-length"]
    assert fast.stats()["recompiles"] == 3


@pytest.mark.filterwarnings("error")
def test_a_loop_that_records_and_prints() -> None:
    fast = dynamo_lite.compile(recorded)
    x = np.linspace(0.0, 1.0, 20000)
    for _ in range(3):
        assert output(fast, x, 200, 10, True) == output(recorded, x, 200, 10, True)
    assert not any(record.id == "recompile-limit" for record in fast.explain().skips)


def test_one_graph_is_one_for_each_length() -> None:
    fast = dynamo_lite.compile(last, fullgraph=True, options=OPTIONS)
    x = np.linspace(0.0, 1.0, 7)
    for n in range(1, 7):
        assert fast(x, [0.5] * n).tobytes() == last(x, [0.5] * n).tobytes()
    assert fast.stats()["recompiles"] == 5


def test_what_was_compiled_again_names_both_lengths() -> None:
    fast = dynamo_lite.compile(last, options=OPTIONS)
    for n in (2, 3):
        fast(np.ones(3), [0.5] * n)
    assert "not true that seen has length 2; it has 3" in str(fast.explain())


def tables(n: int, m: int) -> Any:
    table = [[0] * (n + 1) for _ in range(m + 1)]
    print(end="")  # which hands the lists to plain Python
    table[m][n] = 7
    return table


@pytest.mark.parametrize("sizes", [(3, 4), (0, 1), (-1, 2), (-5, 2), (2, 30)])
def test_a_list_that_is_appended_keeps_its_length(sizes: tuple[int, int]) -> None:
    """`[0] * n` for an n of the call's, in a loop: such a list once lost all items but the first."""
    for options in ({}, {"options": OPTIONS}):
        fast = dynamo_lite.compile(tables, **options)  # type: ignore[call-overload]
        for n in (sizes[0], sizes[0] + 1):
            try:
                expected: Any = tables(n, sizes[1])
            except IndexError as error:
                expected = str(error)
            try:
                found: Any = fast(n, sizes[1])
            except IndexError as error:
                found = str(error)
            assert found == expected
            assert isinstance(found, str) or len(set(map(id, found))) == len(found)


def counted_in_a_list(x: Any, n: int) -> Any:
    return x.tolist().count(0.0) + n


def test_a_method_of_a_list_whose_length_is_not_guarded_any_more() -> None:
    """The list was too long, and too short, too often; that its method breaks the graph depends on neither."""
    fast = dynamo_lite.compile(counted_in_a_list, options={**OPTIONS, "check": 1, "recompile_limit": 100})
    for n in (7, 7, 1, 1, 0, 0, 12):
        x = np.arange(n + 3.0)
        assert fast(x, n) == counted_in_a_list(x, n)
    assert "internal-error" not in {skip.id for skip in fast.explain().skips}


def test_what_an_iteration_has_appended_is_read_by_number() -> None:
    """Of lists that were empty, too, of which the loop has no last item to carry."""

    def passes(x: Any, n: int) -> Any:
        states, outputs, loss = [x], [], 0
        for t in range(n):
            x = np.tanh(states[t] * 0.5 + x)
            states.append(x)
            y = states[t + 1] * 2.0
            outputs.append(np.exp(y) / np.sum(np.exp(y)))
            loss += -np.log(outputs[t][1])
        return states, outputs, loss

    def some(x: Any, n: int) -> Any:
        kept: list[Any] = []
        for t in range(n):
            kept.append(x * t)
            if x[0] > 0.4:
                kept.append(x)
            x = np.sin(x) + kept[-1] * 0.25
        return kept, x

    def twice(x: Any, n: int) -> Any:
        kept: list[Any] = []
        for t in range(n):
            for k in range(3):
                kept.append(x + k)
            x = np.sin(kept[-1]) + kept[3 * t]
        return kept, x

    for function in (passes, some, twice):
        fast = dynamo_lite.compile(function, options={"cost_model": False})
        for n in (6, 20, 20, 1, 0):
            x = np.linspace(0.1, 0.9, 5)
            assert repr(fast(x, n)) == repr(function(x, n))
        if function is passes:
            assert {loop.outcome for loop in fast.explain().loops} == {"native"}, fast.explain()
