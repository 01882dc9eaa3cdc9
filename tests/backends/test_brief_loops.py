"""Loops compiled whole that are expected to be brief: their code is optimised once it has run for a while."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.compare import Walk


def recurrence(x: Any, a: float) -> Any:
    y = x.copy()
    for i in range(1, len(y)):
        if y[i] > 0.5:
            y[i] = y[i - 1] * a + y[i]
        else:
            y[i] = y[i] - y[i - 1]
    return y


def table(n: int, m: int) -> Any:
    found = np.zeros((n, m), dtype=np.int64)
    for i in range(1, n):
        for j in range(1, m):
            found[i, j] = max(found[i - 1, j], found[i, j - 1] + 1) + (i * j) % 3
    return found


def halves(x: Any) -> int:
    count = 0
    while x[0] > 1e-3:
        x[0] = x[0] * 0.5
        x[1] = x[1] + x[0]
        count += 1
    return count


def assert_same(found: Any, expected: Any) -> None:
    walk = Walk()
    walk.pair("result", expected, found)
    assert not walk.differences


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each loop that is compiled, in that order, whether its code is optimised."""
    from dynamo_lite.backends.numba.compile import _STATE

    engine, found = _STATE.start(), []
    load = engine.load

    def load_and_note(text: str, name: str, quickly: bool = False) -> Any:
        if name.startswith("machine"):
            found.append(not quickly)
        return load(text, name, quickly)

    monkeypatch.setattr(engine, "load", load_and_note)
    monkeypatch.setattr(_STATE, "made", {})  # what other tests have compiled
    monkeypatch.setattr(_STATE, "latest", type(_STATE.latest)())
    return found


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (recurrence, lambda: (np.linspace(0.0, 1.0, 500) ** 2, 0.3)),
        (table, lambda: (40, 30)),
    ],
)
def test_a_brief_loop_is_optimised_once_it_has_run_for_a_while(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], made: list[bool]
) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    for _ in range(20_000):
        assert_same(fast(*make()), function(*make()))
        if len(made) > 1:
            break
    assert made == [False, True]
    assert_same(fast(*make()), function(*make()))
    assert len(fast.explain().graphs) == 1


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (table, lambda: (3000, 300)),  # long
        (halves, lambda: (np.array([1.0, 0.0]),)),  # nobody knows how long
    ],
)
def test_other_loops_are_optimised_at_once(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], made: list[bool]
) -> None:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    assert_same(fast(*make()), function(*make()))
    assert made == [True]
