"""Lists that one loop fills and another one appends to, which meanwhile asks for what is in them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.conftest import budget
from tests.oracle import require_equal
from tests.programs.loop_cases import BACKENDS, OPTIONS

FIRST = ("s.append(j)", "s.append(j * 0.5)", "s.append(len(s))", "s.append(u[j])", "s.append(np.sqrt(u[j]))")
SECOND = (
    *("s.append(len(s))", "s.append(s[-1] * 2)", "s.append(s[len(s) - 1] + 1)", "s.append(sum(s))", "s.append(max(s))"),
    *("s.append(s[j] + len(s))", "s.append(np.mean(s))", "s.append(np.sum(s))", "s.append(min(s) - 1)"),
    *("s.append(len(s)); s.append(len(s))", "c += len(s); s.append(c)", "c += s[-1]; s.append(c); c -= len(s)"),
    *("s.append(float(3.5 in s))", "s.append(np.array(s).sum())", "s.append(len(np.array(s)))", "s.append(s.count(1))"),
    *("s.append(s[-2] + s[-1])", "s.append(s[0]); s[0] = len(s)", "s.pop(); s.append(len(s))", "s += [len(s)]"),
    *("t = s[:]; s.append(len(t))", "t = list(s); s.append(len(t)); c += len(t)", "s = s + [len(s)]"),
    *("s.extend([len(s)])", "s.append(sum(1 for v in s))", "s.insert(0, len(s))", "s.append(s[len(s) // 2])"),
    *("if j % 2: s.append(len(s))", "if len(s) < 8: s.append(len(s))"),
)
BEGINS = ("s = [5]", "s = []", "s = [1, 2]", "s = [0.5]")
FORMS = (
    "for j in range(m):\n        {first}\n    for j in range(m):\n        {second}",
    "for j in range(m):\n        {first}\n    for i in range(m):\n        for j in range(m):\n            {second}",
    "for i in range(3):\n        for j in range(m):\n            {first}\n"
    "        for j in range(m):\n            {second}",
)
ALL = [*itertools.product(FIRST, SECOND, BEGINS, FORMS)]
CHOSEN = [ALL[0], *random.Random(4).sample(ALL, budget("FILLED_AGAIN", 100))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", range(len(CHOSEN)))
def test_a_list_that_another_loop_has_filled(case: int, backend: str) -> None:
    first, second, begin, form = CHOSEN[case]
    text = f"def f(u, m):\n    {begin}; c = 0\n    {form.format(first=first, second=second)}\n    return s, c, len(s)\n"
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    for m in (3, 2):
        require_equal(
            space["f"],
            lambda m=m: (np.array([0.5, 1.5, 2.5, 1.0]), m),  # type: ignore[misc]
            compile=dynamo_lite.compile,
            compile_options={"backend": backend, "options": OPTIONS | {"recompile_limit": 100}},
        )
