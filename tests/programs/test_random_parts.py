"""Random functions of parts of one array against plain Python; PARTS_FUZZ sets how many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_parts import Call, calls, source

BATCH = 20


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("PARTS_FUZZ", 60), BATCH))
def test_random_parts(start: int, backend: str) -> None:
    native = 0
    for seed in range(start, start + BATCH):
        text = source(seed)
        names: dict[str, Any] = {"np": np}
        exec(text, names)
        # NB: the verifier cannot tell that sizes like (n + 1) // 2 and 5 are equal by way of others.
        fast = dynamo_lite.compile(names["f"], backend=backend, options={**OPTIONS, "check": 0})
        for call in calls(seed):
            assert outcome(fast, call) == outcome(names["f"], call), f"{seed}: {vars(call)}\n{text}"
        native += fast.stats()["native_calls"] > fast.stats()["declines"]
    assert native > BATCH // 2


def outcome(function: Callable[..., Any], call: Call) -> list[Any]:
    """What two calls give, raise and leave behind."""
    parts, names = call.arguments()
    found: list[Any] = []
    for _ in range(2):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                found.append(described(function(*parts), names))
        except ValueError as error:
            found.append(repr(error))
    return [*found, *(array.tobytes() for array in names.values())]


def described(value: Any, names: dict[str, Any]) -> Any:
    """Bits, strides, and which objects they are."""
    if isinstance(value, tuple | list):
        return [type(value), *(described(item, names) for item in value)]
    if not isinstance(value, np.ndarray):
        return repr(value)
    same = [name for name, array in names.items() if array is value]
    shows = [name for name, array in names.items() if np.may_share_memory(array, value)]
    return same, shows, value.tobytes(), value.strides, value.dtype
