"""Windows that are cut short at the edges of an array, in loops: moving averages, neighbourhoods of pixels."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

LOWER = (
    "i - w",
    "max(0, i - w)",
    "max(i - 2, 0)",
    "i",
    "min(i, n)",
    "i - 1 if i > 0 else 0",
    "i * 2",
    "-w",
    "i // 2",
    "n - i",
)
UPPER = (
    "i + w",
    "min(n, i + w + 1)",
    "i + 3",
    "min(i + 1, len(x))",
    "i + w * 2",
    "max(i, w)",
    "2 * i + 1",
    "-1",
    "n - i + 2",
)
FOLDS = (
    "x[{0}].sum()",
    "x[{0}].sum() / max(1, w)",
    "np.dot(x[{0}], x[{0}])",
    "(x[{0}] * 0.5 + 1.0).sum()",
    "len(x[{0}])",
)
CALL: dict[str, Any] = {"compile": dynamo_lite.compile, "compile_options": {"options": {"cost_model": False}}}


def made(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"np": np}
    exec(compile(text, "<windows>", "exec"), space)
    function: Callable[..., Any] = space["f"]
    return function


def outcomes(function: Callable[..., Any], *arguments: Any) -> list[str]:
    fast = dynamo_lite.compile(function, options={"cost_model": False})
    fast(*arguments)
    return [loop.outcome for loop in fast._compilation.loops.values()]


@pytest.mark.parametrize("seed", range(40))
def test_random_windows(seed: int) -> None:
    pick = random.Random(seed)
    step = pick.choice(("", "", "", ":2", ":-1"))
    window = f"{pick.choice(LOWER)}:{pick.choice(UPPER)}{step}"
    text = (
        "def f(x, w):\n    n = len(x)\n    o = np.zeros(n)\n    for i in range(n):\n"
        f"        o[i] = {pick.choice(FOLDS).format(window)}\n    return o\n"
    )
    function = made(text)
    for n in (7, 1, 2, 0):
        for w in (2, 0, 9, -1):
            require_equal(function, lambda n=n, w=w: (np.linspace(0.1, 1.0, n), w), **CALL)  # type: ignore[misc]


def moving(x: Any, w: int) -> Any:
    n = len(x)
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[max(0, i - w) : min(n, i + w + 1)].sum()
    return out


def tails(x: Any, w: int) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i : i + w].max()
    return out


def seams(m: Any, w: int) -> Any:
    b = np.zeros(m.shape, int)
    for i in range(1, m.shape[0]):
        for j in range(m.shape[1]):
            if j == 0:
                k = np.argmin(m[i - 1, j : j + 2])
                b[i, j] = k + j
            else:
                k = np.argmin(m[i - 1, j - 1 : j + 2])
                b[i, j] = k + j - 1
            m[i, j] += m[i - 1, b[i, j]] * w
    return b


def neighbourhoods(m: Any, w: int) -> Any:
    rows, columns = m.shape
    out = np.zeros_like(m)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = m[max(i - 1, 0) : i + 2, max(0, j - w) : min(columns, j + w + 1)].sum()
    return out


@pytest.mark.parametrize("function", [moving, tails, seams, neighbourhoods])
def test_idioms_are_native(function: Callable[..., Any]) -> None:
    vector = function in (moving, tails)

    def arguments() -> tuple[Any, ...]:
        return np.linspace(0.1, 1.0, 24) if vector else np.linspace(0.1, 1.0, 24).reshape(4, 6), 2

    assert "native" in outcomes(function, *arguments())
    require_equal(function, arguments, **CALL)
