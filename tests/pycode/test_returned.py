"""What a code object returns that does nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_lite.pycode.returned import returned

CONSTANT = (1, 2)
GLOBAL: list[Any] = []


def _kept(a: Any, b: Any) -> Any:
    c = (b, 1.5, a)
    return c


CASES: list[tuple[Callable[..., Any], Any]] = [
    (lambda: None, (None,)),
    (lambda a, b: b, 1),
    (lambda a, b: (b, a, b), [1, 0, 1]),
    (lambda a, b: (a, "x", None), [0, ("x",), (None,)]),
    (lambda a: (1, 2), ((1, 2),)),
    (lambda a: (a, (a,)), None),
    (lambda a: [a], None),
    (lambda a: a + 1, None),
    (lambda a: GLOBAL, None),
    (lambda a: a if a else None, None),
    (lambda *, a, b: (b, a), [1, 0]),
]


@pytest.mark.parametrize("function, expected", CASES)
def test_what_is_returned(function: Callable[..., Any], expected: Any) -> None:
    assert returned(function.__code__) == expected


def test_a_constant_is_the_very_object() -> None:
    code = (lambda: (1.5, "text")).__code__
    found = returned(code)
    assert isinstance(found, tuple) and any(found[0] is constant for constant in code.co_consts)


def test_a_local_that_is_loaded_again_is_left_to_python() -> None:
    assert returned(_kept.__code__) is None
