"""Reference counts that Python code can see at a break, and context managers of every kind of __exit__."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dynamo_lite.config import config
from tests.copies import copies_of
from tests.oracle import check

Compile = Callable[..., Any]
LOCK = threading.Lock()


def counted(x: Any) -> Any:
    y = x * 2.0 + 1.0
    n = sys.getrefcount(y)
    return y, n


def resized(x: Any) -> Any:
    """From 3.14 the array on the stack has no reference of its own, and resize() accepts one alone."""
    y = x * 2.0 + 1.0
    y.resize(7)
    return y


def resized_where_jumps_part(x: Any) -> Any:
    y = x * 2.0 + 1.0
    y.resize(7 if len(x) > 2 else 3)
    return y


class Static:
    """Has no method for __exit__ and so nothing to call it with."""

    def __enter__(self) -> float:
        return 3.0

    @staticmethod
    def __exit__(*exception: Any) -> bool:
        return exception[0] is KeyError


class Callables:
    """Special methods that are no functions."""

    __enter__ = staticmethod(float)
    __exit__ = max


@contextlib.contextmanager
def generated() -> Iterator[float]:
    yield 4.0


def managers(x: Any) -> Any:
    y = x * 2.0
    with LOCK, np.errstate(divide="ignore"):
        y = y / 0.0
        with Static() as three, generated() as four:
            y = y * three + four
            if x.shape[0] > 5:
                raise KeyError("swallowed")
        y = y + x
    return y


def managers_in_a_loop(x: Any) -> Any:
    for i in range(3):
        with generated() as four:
            x = x * four
            if i == 1:
                break
    return x + 1.0


def no_manager(x: Any) -> Any:
    y = x + 1.0
    with y:
        return y


def odd_manager(x: Any) -> Any:
    y = x + 1.0
    with Callables():  # type: ignore[attr-defined]
        y = y * 2.0
    return y


@pytest.mark.parametrize(
    "function",
    [counted, resized, resized_where_jumps_part, managers, managers_in_a_loop, no_manager, odd_manager],
    ids=lambda function: function.__name__,
)
def test_as_plain(function: Callable[..., Any], backend: str, compiler: Compile) -> None:
    first, *others = (copies_of(np.linspace(1.0, 2.0, n)) for n in (3, 9))
    with config.patch(cost_model=False):
        report = check(function, first, compile=compiler, compile_options={"backend": backend}, variants=others)
    assert report.equal, str(report)
