"""Random nests of loops over numbers of changing kinds, against plain Python; NEST_FUZZ sets how many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.programs.loop_cases import BACKENDS, OPTIONS
from tests.programs.random_nests import COUNTS, SPACE, arguments, source

BATCH = 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("start", range(0, budget("NEST_FUZZ", 40), BATCH))
def test_random_nests(start: int, backend: str) -> None:
    assert sum(keeps(seed, backend) for seed in range(start, start + BATCH)) >= BATCH // 4


def keeps(seed: int, backend: str) -> bool:
    """Compare one program; whether a loop of it is native."""
    text = source(seed)
    space = dict(SPACE)
    exec(compile(text, "<random nests>", "exec"), space)
    fn: Any = space["f"]
    fast = dynamo_lite.compile(fn, backend=backend, options={**OPTIONS, "check": 1})
    with np.errstate(all="ignore"):
        for call in range(1 + len(COUNTS)):
            plain, other = described(fn, arguments(seed, call)), described(fast, arguments(seed, call))
            assert plain == other, f"{seed} in call {call}:\n{text}"
    return any(loop.outcome == "native" for loop in fast._compilation.loops.values())


def described(fn: Any, args: tuple[Any, ...]) -> Any:
    """What comes of a call: types and values to the bit, and what the arguments are after it."""
    try:
        result: Any = fn(*args)
    except Exception as error:
        result = type(error), str(error)
    return bits(result), bits(args[0]), bits((args[2].t, args[2].a))


def bits(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value), [bits(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)
