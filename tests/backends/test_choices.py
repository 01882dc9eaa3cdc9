"""np.where computes both arms for every element: each floating-point error is reported, chosen or not.

AVX-512 has instructions that compute some lanes only, which the code generator must not choose here.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba.functions import emit_function, function_of
from dynamo_lite.backends.numba.llvm_text import vector_register

import dynamo_lite
from dynamo_lite.schedule.steps import Kernel
from tests.program.kernels import KernelMaker

LENGTHS = (1, 3, 7, 8, 9, 16, 17, 33)


def quotient(x: Any, y: Any) -> Any:
    return np.where(y != 0, x / y, 0.0)


def root(x: Any, y: Any) -> Any:
    return np.where(x > 0, np.sqrt(x), y)


def square(x: Any, y: Any) -> Any:
    return np.where(x < 2, x * x, x)


def twice(x: Any, y: Any) -> Any:
    return np.where(x < 2, x + x, 0.0)


def difference(x: Any, y: Any) -> Any:
    return np.where(x < 2, 1.0, -x - x)


def nested(x: Any, y: Any) -> Any:
    return np.where(x < 2, np.where(x < 1, -(x * x), y), 0.0)


def whole(x: Any, y: Any) -> Any:
    return np.where(x < 2, (x * x).astype(np.int64), 0) + np.where(x < 2, (x * x).astype(np.int32), np.int32(0))


def summed(x: Any, y: Any) -> Any:
    return np.where(x < 2, x * x, 0.0).sum(), np.where(x < 2, x * x, y).max()


def by_columns(x: Any, y: Any) -> Any:
    wide = np.where(x < 2, x * x, y)[:, np.newaxis] * np.ones((1, 5), x.dtype)
    return np.where(wide < 2, wide + wide, 0.0).sum(axis=0)


def again(x: Any, y: Any) -> Any:
    for _ in range(3):
        x = np.where(x < 2, x + x, y)
    return x


PROGRAMS = [quotient, root, square, twice, difference, nested, whole, summed, by_columns, again]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_what_is_not_chosen_is_reported(fn: Callable[[Any, Any], Any], dtype: str) -> None:
    special = {quotient: 1.5, root: -1.0}.get(fn, np.finfo(dtype).max)
    fast = dynamo_lite.compile(fn, options={"cost_model": False, "recompile_limit": 100})
    for n in LENGTHS:
        for place in {0, n // 2, n - 1}:
            x, y = np.full(n, 1.5, dtype), np.full(n, 2.0, dtype)
            x[place], y[place] = special, 0.0
            assert outcome(fast, x, y) == outcome(fn, x, y)


def outcome(function: Callable[[Any, Any], Any], x: Any, y: Any) -> tuple[list[str], bytes]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x.copy(), y.copy())
    found = {str(warning.message) for warning in caught}
    assert found
    return sorted(found), b"".join(part.tobytes() for part in np.atleast_1d(result))


@pytest.mark.skipif(vector_register()[1] < 64, reason="vectors take two registers, which LLVM can only store")
def test_what_nobody_may_need_is_computed_without_a_store() -> None:
    maker = KernelMaker(random.Random(0), "ddd")
    product = maker.add("multiply", 0, 1)
    arm = maker.add("add", product, 2)
    chosen = maker.add("where", maker.add("less", product, 2), arm, 2)
    kernel = Kernel(tuple(maker.dtypes[:3]), tuple(maker.ops), (chosen,))
    text = emit_function(function_of(kernel, "cccc"), "kernel")
    vectors = [line for line in text.splitlines() if "x double>" in line]
    assert any("asm sideeffect" in line for line in vectors)
    assert not any("volatile" in line for line in vectors), text
