"""Random loops whose arrays change size against plain Python; SIZES_FUZZ sets how many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.errors import DynamoLiteWarning
from tests.conftest import budget
from tests.programs.random_sizes import source

BATCH = 20
SIZES = (8, 8, 5, 1, 30)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("start", range(0, budget("SIZES_FUZZ", 60), BATCH))
def test_random_sizes(start: int, backend: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        native += run(seed, backend)
    assert native > BATCH // 2


def run(seed: int, backend: str) -> bool:
    """Whether anything ran natively; fails where a call differs."""
    text = source(seed)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, f"sizes {seed}", "exec"), names)
    options = {"cost_model": False, "check": 1} if seed % 2 else {}
    fast = dynamo_lite.compile(names["f"], backend=backend, options=options)
    for number, size in enumerate(SIZES):
        rng = np.random.default_rng(10 * seed + number)
        given = rng.normal(size=size), rng.normal(size=2 * size)[::2], rng.normal(size=(3, size)).T
        copies = given[0].copy(), np.repeat(given[1], 2)[::2], given[2].T.copy().T
        assert outcome(fast, copies) == outcome(names["f"], given), f"{seed}, {number}\n{text}"
    return fast.stats()["native_calls"] > 0


def outcome(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """What a call gives or raises, and has written: types, bits, strides, what is a view of what, and the warnings."""
    arrays = [one for one in given if isinstance(one, np.ndarray)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = described(function(*given), arrays)
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
            result = type(error), str(error)
    found = [
        (one.category, str(one.message), one.lineno)
        for one in caught
        if not issubclass(one.category, DynamoLiteWarning)  # each size may be a version of its own
    ]
    return result, [one.tobytes() for one in arrays], found


def described(value: Any, given: list[Any]) -> Any:
    if isinstance(value, tuple | list):
        arrays = [one for one in value if isinstance(one, np.ndarray)]
        shared = [[np.shares_memory(one, other) for other in (*arrays, *given)] for one in arrays]
        same = [[one is other for other in (*arrays, *given)] for one in arrays]
        return type(value), [described(one, given) for one in value], shared, same
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.strides, value.tobytes(), value.flags.owndata, value.flags.writeable
    return type(value), repr(value)
