"""What decode.py reads of code objects is what the package bytecode reads; where they differ, a check says so."""

from __future__ import annotations

import argparse
import asyncio.tasks
import types
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.lib import _function_base_impl

import dynamo_lite
from dynamo_lite.pycode import second_reading
from dynamo_lite.pycode.second_reading import check_reading


def codes_in(module: types.ModuleType) -> Iterator[types.CodeType]:
    with open(str(module.__file__), encoding="utf-8") as file:
        pending = [compile(file.read(), "<module>", "exec")]
    while pending:
        code = pending.pop()
        yield code
        pending += [each for each in code.co_consts if isinstance(each, types.CodeType)]


@pytest.mark.parametrize("module", [argparse, asyncio.tasks, _function_base_impl], ids=lambda module: module.__name__)
def test_modules(module: types.ModuleType) -> None:
    for code in codes_in(module):
        check_reading(code)


def test_long_jumps_and_arguments() -> None:
    body = "".join(f"    x = x + {number}.5\n" for number in range(700))
    space: dict[str, types.FunctionType] = {}
    exec(f"def far(x, n):\n  while x < n:\n{body}    if x > 3.0: break\n  return x\n", space)
    check_reading(space["far"].__code__)


def test_checks_hold_each_segment_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = second_reading.check_reading
    monkeypatch.setattr("dynamo_lite.pycode.second_reading.check_reading", lambda code: (seen.append(code), real(code)))

    def doubled(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return x * 2.0

    dynamo_lite.compile(doubled, options={"check": 1, "cost_model": False})(np.ones(5))
    assert seen == [doubled.__code__]


def test_another_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(x: float) -> float:
        return x * 2.0

    def halved(x: float) -> float:
        return x * 0.5 - 1.0

    read = second_reading.take_apart
    monkeypatch.setattr(second_reading, "take_apart", lambda code: read(halved.__code__))
    with pytest.raises(AssertionError, match="another program to bytecode"):
        check_reading(doubled.__code__)
