"""`is` between arrays, numbers, containers and objects from outside, whose exact types are known."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

Array = Any
TOKEN = types.SimpleNamespace(name="token")


def masked(x: Array, scale: Any) -> Any:
    if x is np.ma.masked or scale is np.ma.masked:
        return scale
    y = x * scale + 1.0
    return y + 2.0 if y is not np.ma.masked else x


def token(x: Array, scale: Any) -> Any:
    held, pair, listed, named = TOKEN, (x, scale), [x], {"x": x}
    same = held is TOKEN, x is held, scale is held, pair is held, listed is held, named is held
    return x * 2.0, same, held is not x, held is not named


@pytest.mark.parametrize("fn", [masked, token])
@pytest.mark.parametrize("scale", [2.0, 3, True, 1j, np.float64(0.5), np.arange(4.0)], ids=repr)
def test_things_of_unlike_types_are_not_one(fn: Callable[..., Any], scale: Any) -> None:
    options = {"options": {"cost_model": False, "check": 1}}
    make = lambda: (np.arange(4.0), copy.copy(scale))  # noqa: E731
    report = require_equal(fn, make, compile=dynamo_lite.compile, compile_options=options)
    assert not report.compiled.explain().breaks


def test_what_is_masked_is_told_from_arrays_at_each_call() -> None:
    fast = dynamo_lite.compile(masked, options={"cost_model": False})
    x = np.arange(4.0)
    for scale in (2.0, np.ma.masked, x, np.ma.masked):
        assert repr(fast(x, scale)) == repr(masked(x, scale))
    assert fast(x, np.ma.masked) is np.ma.masked and fast(np.ma.masked, x) is x
