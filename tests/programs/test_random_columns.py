"""Random functions over lists of objects against plain Python, as `is` can tell; COLUMN_FUZZ sets how many."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

import dynamo_lite
from dynamo_lite import _C
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS, loops_left
from tests.programs.random_columns import Body, Sim, Slotted, arguments, function, source

BATCH = 10
CALLS = 5


@pytest.mark.parametrize("kind", ["loops", "left"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("COLUMN_FUZZ", 30), BATCH))
def test_random_columns(start: int, backend: str, kind: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        text = source(seed)
        plain = function(text)
        fast: Any = dynamo_lite.compile(plain, backend=backend, options={**OPTIONS, "recompile_limit": 100})
        for call in range(CALLS):
            with loops_left(kind == "left"):  # after each iteration
                found = everything(fast, plain, CALLS * seed + call)
            expected = everything(plain, plain, CALLS * seed + call)
            assert found == expected, f"{kind} {seed}, call {call}:\n{text}"
        native += any(loop.outcome == "native" for loop in fast.explain().loops)
    assert native or _C.get_stress()


def everything(of: Callable[..., Any], plain: Any, seed: int) -> list[Any]:
    """All that can be told of a call: each object by its first place among all that there are."""
    args = arguments(seed)
    ps, qs, leader, sim, dt, _ = args
    bodies = [*ps, *qs, leader]
    held = [*numbers(bodies), dt, *constants(plain.__code__), Body.limit]
    result, raised, printed = None, None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = of(*args)
        except Exception as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)][1:]
            raised = type(error), str(error), lines
    values = [*flat(result), sim.t, sim.best, *numbers(bodies), *numbers([*ps, *qs])]
    places: dict[int, int] = {}
    for place, one in enumerate((*held, *bodies, *values)):
        places.setdefault(id(one), place)
    told = [(type(one), repr(one) if type(one) in (int, float, bool, str) else "", places[id(one)]) for one in values]
    return [told, raised, printed.getvalue(), len(ps), len(qs)]


def numbers(bodies: list[Any]) -> list[Any]:
    """All that some objects have, in order."""
    names = (*Slotted.__slots__, "z")
    return [getattr(one, name, None) for one in bodies for name in names]


def constants(code: CodeType) -> list[Any]:
    """The numbers in a function's code, and in those of the methods."""
    methods = (one.__code__ for one in vars(Body).values() if hasattr(one, "__code__"))
    return [one for each in (code, *methods) for one in each.co_consts if type(one) in (int, float, str)]


def flat(value: Any) -> list[Any]:
    """A value, or the items of tuples and lists in it."""
    return [one for item in value for one in flat(item)] if isinstance(value, tuple | list) else [value]


__all__ = ["Sim"]
