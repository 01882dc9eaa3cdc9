"""Views, made before a loop, of arrays that the loop writes: they are views inside, too; what is handed out stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS

MAKES = {
    "fresh": "a = np.zeros(x.shape); a[...] = x",
    "argument": "a = x",
    "doubled": "a = x * 2.0",
}
VIEWS = {
    "middle": "u = a[1:-1]; left = a[:-2]; right = a[2:]",
    "middle alone": "u = a[1:-1]; left = right = a[1:-1]",
    "of a view": "w = a[1:]; u = w[:-1]; left = w[1:]; right = a[:-2]",
    "by a number": "u = a[k:-1]; left = a[k - 1:-2]; right = a[k + 1:]",
    "reversed": "u = a[1:-1]; left = a[::-1][2:]; right = a[-3::-1]",
}
BODIES = {
    "plain": "u += 0.1 * (left - right)",
    "two": "left *= 0.5; u[:] = u + right",
    "whole": "u += 0.1 * right; a *= 0.9",
    "whole read": "u -= 0.25; s = a.sum(); left += s * 0.01",
    "element": "u[i % 3] = left[0] + right[1]; left[i % 2] += a[i % 4]",
    "choice": "t = u[0] > 0.5\n        if t: u += 0.1 * left\n        else: right *= 0.75",
    "choice of one": "if i % 2: u += 0.1 * a[1:-1]",
    "inner loop": "for j in range(3): u += 0.1 * left; right *= 0.9",
    "inner element": "for j in range(3):\n            for k in range(2): u[k] += left[k + 1] * 0.5; a[j] *= 0.9",
    "handed on": "u += 0.1 * left; left = u",
    "kept": "u += 0.1 * left; kept = right",
    "swapped": "left, right = right, left; u += left * 0.1",
    "appended": "u += 0.1 * left; out.append(right)",
    "appended copy": "u += 0.1 * left; out.append(right.copy())",
}


def make(text: str, views: str, body: str) -> Any:
    names: dict[str, Any] = {"np": np}
    source = (
        f"def function(x, n, k):\n    {text}\n    {views}\n    out = []; kept = None; s = 0.0\n"
        f"    for i in range(n):\n        {body}\n"
        "    same = kept is right, kept is u, left is u, [v is right for v in out]\n"
        "    return a, u, left, right, s, out, same\n"
    )
    exec(source, names)
    return names["function"]


def told(result: Any) -> Any:
    a, *rest, same = result
    flat = [part for one in rest for part in (one if isinstance(one, list) else [one])]
    shares = [isinstance(part, np.ndarray) and np.shares_memory(a, part) for part in flat]
    arrays = [np.asarray(part) for part in flat]
    seen = [(type(part), array.shape, array.strides, array.tobytes()) for part, array in zip(flat, arrays, strict=True)]
    return seen, a.tobytes(), shares, same


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("body", BODIES)
def test_views_of_what_a_loop_writes(body: str, views: str, backend: str) -> None:
    for text in MAKES.values():
        function = make(text, VIEWS[views], BODIES[body])
        fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
        for size, count in ((9, 4), (9, 0), (30, 5), (5, 2)):
            x, y = np.linspace(0.0, 1.0, size), np.linspace(0.0, 1.0, size)
            assert told(fast(x, count, 1)) == told(function(y, count, 1)), (text, size, count)
            assert x.tobytes() == y.tobytes(), (text, size, count)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_view_that_a_loop_writes_runs_natively(backend: str) -> None:
    function = make(MAKES["fresh"], VIEWS["middle"], BODIES["plain"])
    fast = dynamo_lite.compile(function, backend=backend, options=OPTIONS)
    for _ in range(3):
        fast(np.linspace(0.0, 1.0, 100), 50, 1)
    assert fast.stats()["native_calls"] == 3
    assert fast.stats()["declines"] == 0
