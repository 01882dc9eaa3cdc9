"""Stores whose value shows the memory they write: what NumPy puts aside first, and what it copies as it goes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS

PARTS = ("[:]", "[1:]", "[:-1]", "[::2]", "[1::2]", "[::-1]", "[2:]", "[:-2]", "[::3]", "[:4]", "[-4:]", "[4::-1]")
STORES = (
    *("x{a} = x{b}", "x{a} = x{b} * 1.0", "x{a} = x{b}.copy()", "x{a} += x{b}", "np.copyto(x{a}, x{b})"),
    *("np.copyto(x{a}, x{b}, where=x{b} > 2)", "x{a} = x[3:4]", "np.negative(x{b}, x{a})", "x[k] = x[::-1][k]"),
    *("m[k] = m[0]", "m[k] = m[:, 1]", "m[k, :] = m[::-1][k]"),
    *("m[0]{a} = m[:, 0]{b}", "m[:, 1]{a} = m[1]{b}", "m{a} = m{b}", "m[:, 2]{a} = m[2]{b} + 1"),
)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("store", STORES)
def test_parts_of_one_array(store: str, backend: str) -> None:
    ran = 0
    for a, b in itertools.product(PARTS, PARTS):
        if len(range(7)[_slice(a)]) != len(range(7)[_slice(b)]):
            continue
        names: dict[str, Any] = {"np": np}
        exec(f"def function(x, m, k):\n    {store.format(a=a, b=b)}\n    return x.sum()", names)
        fast = dynamo_lite.compile(names["function"], backend=backend, options=OPTIONS)
        outcomes = []
        for function in (names["function"], fast):
            x, m = np.arange(7.0), np.arange(49.0).reshape(7, 7)
            k = np.array([1, 0, 1, 1, 0, 0, 1], bool)
            outcomes.append((function(x, m, k), x.tobytes(), m.tobytes()))
        assert outcomes[0] == outcomes[1], (a, b)
        ran += fast.stats()["native_calls"]
    assert ran


def _slice(text: str) -> slice:
    parts = [int(part) if part else None for part in text.strip("[]").split(":")]
    return slice(*parts)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("store", ["x{a} = x{b}", "np.copyto(x{a}, x{b})"])
def test_what_stands_around_a_copy_over_itself(store: str, backend: str) -> None:
    """What is stored before it is not stored twice; what is read behind it is what NumPy has written on the way."""
    for a, b in itertools.product(PARTS, PARTS):
        if len(range(7)[_slice(a)]) != len(range(7)[_slice(b)]):
            continue
        names: dict[str, Any] = {"np": np}
        body = f"n[0] += 1\n    x{b} *= 2.0\n    {store.format(a=a, b=b)}\n    y[...] = 0.0\n    y{a} = x{a}"
        exec(f"def function(x, y, n):\n    {body}\n    return y + x", names)
        fast = dynamo_lite.compile(names["function"], backend=backend, options=OPTIONS)
        outcomes = []
        for function in (names["function"], fast, fast):
            x, y, n = np.arange(7.0), np.zeros(7), np.zeros(2, np.int64)
            outcomes.append((function(x, y, n).tobytes(), x.tobytes(), y.tobytes(), n.tobytes()))
        assert outcomes[0] == outcomes[1] == outcomes[2], (a, b)
        assert fast.stats()["native_calls"] == 2
