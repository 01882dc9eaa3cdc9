"""Random programs of objects and branches against plain Python; METHODS_FUZZ sets how many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.random_methods import source

BATCH = 20


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("start", range(0, budget("METHODS_FUZZ", 100), BATCH))
def test_random_methods(start: int, backend: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        text = source(seed)
        names: dict[str, Any] = {"np": np}
        exec(compile(text, f"methods {seed}", "exec"), names)
        options = {"cost_model": False, "check": 1} if seed % 2 else {}
        fast = dynamo_lite.compile(names["f"], backend=backend, options=options)
        for number in range(4):
            a = np.random.default_rng(10 * seed + number).random(5) * (1, 0.3, 2, 1)[number]
            assert outcome(fast, a.copy()) == outcome(names["f"], a), f"{seed}, {number}\n{text}"
        native += fast.stats()["native_calls"] > 0
    assert native > BATCH // 2


def outcome(function: Callable[..., Any], a: Any) -> Any:
    """What a call gives or raises, with the types and bits of all parts and which of them are one object."""
    try:
        with np.errstate(all="ignore"):
            return described(function(a), {})
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        return repr(error)


def described(value: Any, seen: dict[int, int]) -> Any:
    is_whole = isinstance(value, list | tuple | dict | np.ndarray) or hasattr(value, "__dict__")
    if is_whole and id(value) in seen:
        return "again", seen[id(value)]
    if is_whole:
        seen[id(value)] = len(seen)
    if isinstance(value, list | tuple):
        return type(value), [described(item, seen) for item in value]
    if isinstance(value, dict):
        return [(key, described(item, seen)) for key, item in value.items()]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if hasattr(value, "__dict__"):
        return type(value), [(name, described(item, seen)) for name, item in vars(value).items()]
    return type(value), repr(value)
