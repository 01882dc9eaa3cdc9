"""Constants of 64 bits without a sign, as hash functions and random generators have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.oracle import require_equal


def mixed(x: Any) -> Any:
    h = x * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    return (h >> np.uint64(11)).astype(np.float64) / (1 << 53), h % np.uint64(1000), np.uint64(2**64 - 1)


def test_a_hash_is_one_graph() -> None:
    fast = dynamo_lite.compile(mixed, fullgraph=True, options={"cost_model": False})
    x = np.arange(5000, dtype=np.uint64)
    for _ in range(2):
        for one, other in zip(fast(x), mixed(x), strict=True):
            assert type(one) is type(other) and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    assert fast.stats()["native_calls"] == 2


def walked(x: Any, n: int) -> Any:
    state = np.uint64(0xCBF29CE484222325)
    for i in range(n):
        state = state ^ x[i % len(x)]
        state = state >> np.uint64(1) | np.uint64(0x8000000000000000)
    return state


def test_a_loop_carries_such_a_number() -> None:
    require_equal(walked, lambda: (np.arange(64, dtype=np.uint64), 100), compile=dynamo_lite.compile)


@pytest.mark.parametrize("type_", [np.int64, np.uint32, np.float32, np.float64, np.uint64])
@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**63 + 1025, 2**64, -1])
def test_a_large_int_as_another_type(type_: Any, number: int) -> None:
    require_equal(lambda x: x + type_(number), lambda: (np.arange(4.0),), compile=dynamo_lite.compile)
