"""np.setbufsize: NumPy sums what it copies by as much as its buffers hold, which shows in the last bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, rng


def windows(x: Any, n: int) -> Any:
    out, total = np.zeros((x.shape[0] - n, 3)), 0.0
    for i in range(x.shape[0] - n):
        window = x[i : i + n, i : i + n]
        out[i, 0] = window.sum()
        out[i, 1] = x[::2, i:].mean()
        out[i, 2] = window.sum(axis=0)[1]
        total = total + window.std()
    return out, total


def in_an_error_state(x: Any, n: int) -> Any:
    with np.errstate(divide="ignore"):
        return 1.0 / x[0], x[1 : 1 + n, 2 : 2 + n].sum(), np.linalg.det(x[:3, :3])


@pytest.fixture(autouse=True)
def size_as_ever() -> Iterator[None]:
    before = np.getbufsize()
    yield
    np.setbufsize(before)


@pytest.mark.parametrize("first", [8192, 64])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [windows, in_an_error_state])
def test_as_numpy(fn: Any, backend: str, first: int) -> None:
    fast = dynamo_lite.compile(fn, backend=backend, options=OPTIONS)
    xs = [rng(seed).normal(size=(45, 45)) for seed in range(6)]
    seen = set()
    for size in (first, 16, 64, 8192, 65536, 8192):
        np.setbufsize(size)
        for x in xs:
            plain, compiled = fn(x, 20), fast(x, 20)
            assert all(np.array_equal(one, other) for one, other in zip(plain, compiled, strict=True)), size
            seen.add(b"".join(np.asarray(one).tobytes() for one in plain))
    assert len(seen) > len(xs), "the size shows in no bit: the test tests nothing"
    assert fast.stats()["native_calls"] >= 4 * len(xs) and not fast.stats()["declines"]
