"""What a loop of elements keeps to undo its writes: the row or column that alone it writes, and all of it is undone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite import _C
from dynamo_lite.schedule.blocks import FULL
from dynamo_lite.schedule.steps import Save, View
from tests.programs.loop_cases import OPTIONS


def column(a: Any, x: int, n: int, top: float) -> None:
    for y in range(n):
        a[y, x] = a[y, x] * top + y
        if a[y, x] > 1e6:
            raise ValueError(y)


def row(a: Any, i: int, n: int, top: float) -> None:
    for j in range(n):
        for _ in range(2):
            a[i][j] += a[i - 1, j] * top
        a[i, j] *= top


def two_rows(a: Any, i: int, n: int, top: float) -> None:
    for j in range(n):
        a[i, j] += top
        a[i - 1, j] *= top


def plane(a: Any, i: int, n: int, top: float) -> None:
    for j in range(1, n):
        if a[j, 0, i] > 0.5:
            a[j, j % 3, i] = a[j - 1, 0, 2] * top
        else:
            a[j, 1, i] = top * 0.5


def next_row(a: Any, i: int, n: int, top: float) -> None:
    for j in range(n):
        a[i, j] = a[i, j] * top
        i = (i + 1) % 3


def own_row(a: Any, i: int, n: int, top: float) -> None:
    for j in range(n):
        a[j, i] = a[j, 0] * top
    for j in range(n):
        a[i, j] = top


def beyond_64_bits(a: Any, i: int, n: int, top: float) -> None:
    k = 1
    for j in range(n):
        a[j, i] = a[j, i] * top + k
        a[j, i] -= 0.5
        k = k * 5  # the program declines at j = 27


def column_of_rows(a: Any, x: int, n: int, top: float) -> None:
    for y in range(n):
        a[y][x] = a[y][x] * top + y
        if a[y][x] > 1e6:
            raise ValueError(y)


def plane_of_planes(a: Any, i: int, n: int, top: float) -> None:
    for j in range(1, n):
        a[j][:, i] = a[j - 1][:, 2] * top
        a[j][0][i] = top
        a[j][None, 1, ..., i] += 1.0


def column_behind_a_slice(a: Any, x: int, n: int, top: float) -> None:
    b = a[1:]
    for y in range(n):
        b[y][x] = b[y][x] * top + y


def column_of_columns(a: Any, x: int, n: int, top: float) -> None:
    b = a.T
    for y in range(n):
        b[y][x] = b[y][x] * top + y


PARTS: dict[Callable[..., None], str] = {
    column: "* x",
    row: "x *",
    two_rows: "all",
    plane: "* * x",
    next_row: "all",
    own_row: "all",
    beyond_64_bits: "* x",
    column_of_rows: "* x",
    plane_of_planes: "* * x",
    column_behind_a_slice: "all",
    column_of_columns: "all",
}


def array(function: Callable[..., None]) -> Any:
    shape = (40, 3, 4) if function in (plane, plane_of_planes) else (40, 40)
    return np.random.default_rng(0).random(shape)


def parts(function: Callable[..., None]) -> list[str]:
    """The parts of the array that the programs of a function keep."""
    compiled = dynamo_lite.compile(function, dynamic=True, options=OPTIONS)
    for i in (2, 1):
        compiled(array(function), i, 30, 1.25)
    found = []
    for entry in _C.entries(compiled.__wrapped__.__code__):
        if isinstance(entry.program, _C.Program):
            steps = entry.program.schedule.steps
            shown = {step.dst: step.params for step in steps if isinstance(step, View)}
            kept = [shown.get(step.src) for step in steps if isinstance(step, Save)]
            found += ["all" if one is None else " ".join("*" if e == FULL else "x" for e in one) for one in kept]
    return found


@pytest.mark.parametrize("function", PARTS)
def test_the_part_that_is_written(function: Callable[..., None]) -> None:
    assert PARTS[function] in parts(function)


@pytest.mark.parametrize("function", PARTS)
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_what_is_written_before_it_declines_is_undone(function: Callable[..., None], layout: str) -> None:
    compiled = dynamo_lite.compile(function, dynamic=True, options=OPTIONS)
    cases = [(2, 30, 1.25), (1, 30, 1.5), (0, 30, 1.0), (2, 40, 1.25), (-1, 3, 2.0), (3, 50, 1.0), (99, 30, 1.0)]
    for i, n, top in (*cases, (2, 30, 1e306), (2, 30, 1e7), (2, 0, 1.0), (77, 0, 1.0), (2, 30, float("nan"))):
        outcomes = []
        for one in (function, compiled):
            a = array(function)
            a = {"F": np.asfortranarray(a), "reversed": a[::-1, ::-1]}.get(layout, a)
            a[3:5] = 1e5
            error = ""
            with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore" if i == 0 else "warn"):
                warnings.simplefilter("always")
                try:
                    one(a, i, n, top)
                except (ValueError, IndexError) as caught:
                    error = f"{type(caught).__name__}: {caught}"
            outcomes.append((a.tobytes(), error, [str(each.message) for each in warned]))
        assert outcomes[0] == outcomes[1], (i, n, top)
