"""Deliberately wrong compilers, to see that a campaign finds, names and shrinks what they break."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]


def _after(fn: Function, change: Callable[[Any], Any]) -> Function:
    @functools.wraps(fn)
    def wrapper(*args: Any) -> Any:
        return change(fn(*args))

    return wrapper


def c_order(fn: Function, **_: Any) -> Function:
    """Gives every array result in C order."""
    return _after(fn, lambda y: np.ascontiguousarray(y) if isinstance(y, np.ndarray) and y.ndim > 1 else y)


def one_ulp(fn: Function, **_: Any) -> Function:
    """Moves the first element of a fresh float64 result by one unit in the last place."""

    def change(y: Any) -> Any:
        if isinstance(y, np.ndarray) and y.dtype == np.float64 and y.size and y.flags.carray and y.flags.owndata:
            y.reshape(-1).view(np.int64)[0] ^= 1
        return y

    return _after(fn, change)


def aborts(fn: Function, **_: Any) -> Function:
    """Kills the process at a program that sorts."""
    return _after(fn, lambda y: os.abort()) if "sort" in fn.__code__.co_names else fn


def sleeps(fn: Function, **_: Any) -> Function:
    """Never comes back from a program that sorts."""
    return _after(fn, lambda y: time.sleep(10**6)) if "sort" in fn.__code__.co_names else fn
