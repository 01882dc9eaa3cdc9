"""Methods of lists whose arguments have a choice or a loop in them: by then the list may be the program's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal

_TEXT = """
def pair(v):
    return (v, 1) if v > 0 else (0, v)

def program(x, h, a):
    t = x[0] * 2
    out = {first}
    {statement}
    i = -1
    while i < len(x):
        i += 1
        if x[1] < 0.5:
            continue
        out.append((1, t))
    k = -1
    while k < 12:
        k += 1
        v = np.isnan(t) if h[1] == 1 else np.uint8(7)
    return v, out
"""
_ITEM = "pair(int(a))[0]"
_STATEMENTS = [
    *(f"out.append({_ITEM})", f"out.extend([{_ITEM}, 1])", f"out.insert(0, {_ITEM})", f"out += [{_ITEM}]"),
    *(f"add = out.append; add({_ITEM}); add(2)", f"out = out + [{_ITEM}]", f"out = [*out, {_ITEM}]"),
    *(f"out.append({_ITEM}); out[0] = {_ITEM}", f"out.append([{_ITEM}, pair(int(x[2]))])"),
]


@pytest.mark.parametrize("first", ["[]", "[3]", "[(1, 2.0)]"])
@pytest.mark.parametrize("statement", _STATEMENTS)
def test_methods_of_lists(first: str, statement: str) -> None:
    namespace: dict[str, Any] = {"np": np}
    exec(_TEXT.format(first=first, statement=statement), namespace)
    arguments = [
        lambda a=a, x=x: (np.array([-0.5, x, -1.5, 2.5]), np.array([1, 0, 3]), a)
        for a, x in ((np.float64(2.0), 1.25), (np.float64(-2.0), 1.0), (3, 0.25))
    ]
    require_equal(
        namespace["program"],
        arguments[0],
        variants=arguments[1:],
        compile=dynamo_lite.compile,
        compile_options={"options": {"cost_model": False, "check": 1, "recompile_limit": 40}},
        calls=2,
    )
