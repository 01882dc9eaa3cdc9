"""Stress mode "break": a function that breaks at every legal point still does what it does plainly."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def straight(x: Any, y: Any) -> Any:
    z = x * 2.0 + y
    return z[1:] - z[:-1], z.shape[0] > 3, -z


def loops(x: Any, y: Any) -> Any:
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        if i == 2:
            continue
        while a > 0.5:
            a = a / 2.0
        total += float(a) * b
    else:
        total -= 1.0
    return total


def handlers(x: Any, y: Any) -> Any:
    log = []
    for index in (1, 100):
        try:
            with np.errstate(all="ignore"):
                log.append(x[index] / 0.0)
        except IndexError as error:
            log.append(str(error))
        finally:
            log.append(len(log))
    return log, x + y


def stores(x: Any, y: Any) -> Any:
    x[1:] += y[:-1]
    x[0] = x.sum()
    table = {"x": x, **{"y": y}}
    first, *rest = table.values()
    return first, rest, f"{table['x'].sum():.3f}", x is first


def calls(x: Any, y: Any, *more: Any, k: float = 2.0, **others: Any) -> Any:
    def inner(v: Any, scale: float = 1.5) -> Any:
        return v * scale

    chosen = [inner(v, scale=k) for v in (x, *more)]
    return operator.add(*[inner(x), y]), chosen, np.stack(arrays=[x, y], axis=1), sorted(others)


def raises(x: Any, y: Any) -> Any:
    z = x + y
    if z.ndim == 1:
        raise ValueError("no", z.shape) from KeyError(z.dtype)
    return z


def warns(x: Any, y: Any) -> Any:
    return (x - x) / (y - y) + 1.0


FUNCTIONS = [straight, loops, handlers, stores, raises, warns]


def arguments() -> tuple[Any, ...]:
    return np.arange(1.0, 6.0), np.linspace(-1.0, 3.0, 5)


def broken(function: Callable[..., Any], **options: Any) -> Any:
    """`function`, compiled to break everywhere."""
    return dynamo_lite.compile(function, options={"stress": "break"}, **options)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__name__))
def test_equals_plain_python(function: Callable[..., Any]) -> None:
    report = require_equal(function, arguments, compile=broken, calls=4)
    assert report.stats["breaks"] >= 4 * 3, report.stats
    assert report.stats["native_calls"] == 0 and report.stats["retired"] == 0, report.stats


def test_cells_and_keywords_equal_plain_python() -> None:
    require_equal(calls, lambda: (*arguments(), np.ones(2)), compile=broken, calls=3)


@pytest.mark.usefixtures("no_mode")
def test_every_instruction_that_computes_breaks() -> None:
    fast = broken(straight)
    fast(*arguments())
    # Two operators, two slices and a minus; an attribute, a subscript and a comparison; and the negative, whose
    # residual code returns the value itself.
    assert {record.id for record in fast.explain().breaks} == {"requested"}
    assert fast.stats()["compiles"] == 9 and fast.stats()["breaks"] == 8, fast.stats()
    for _ in range(3):
        fast(*arguments())
    assert fast.stats()["compiles"] == 9 and fast.stats()["breaks"] == 4 * 8, fast.stats()


def test_the_pieces_are_reused() -> None:
    fast = broken(loops)
    fast(*arguments())
    compiles = fast.stats()["compiles"]
    for _ in range(5):
        fast(*arguments())
    assert fast.stats()["compiles"] == compiles
