"""Result arrays of few elements are made field by field: they answer whatever can be asked as NumPy's own do."""

from __future__ import annotations

import gc
import pickle
import sys
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name  # type: ignore[attr-defined]

import dynamo_lite

SHAPES = [(1,), (2,), (7,), (2, 3), (1, 3), (3, 1), (1, 1), (2, 1, 3), (1, 4, 1), (2, 3, 4, 5), (63, 65), (4096,)]
DTYPES = ["?", "i1", "u2", "i4", "i8", "f4", "f8", "c8", "c16"]


def twice(x: Any) -> Any:
    return x + x


def filled(n: int) -> tuple[Any, Any]:
    return np.empty((n, 2), np.float32), np.zeros(n)


def seen(array: Any) -> tuple[Any, ...]:
    """What can be asked of an array, but for its address."""
    return (
        *(type(array), array.dtype, array.shape, array.strides, array.base is None, str(array.flags), array.tobytes()),
        *(get_handler_name(array), sys.getsizeof(array), array.data.contiguous, array.ctypes.data % 16),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_are_as_numpy_makes_them(shape: tuple[int, ...], dtype: str) -> None:
    fast = dynamo_lite.compile(twice)
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for _ in range(3):
        assert seen(fast(x)) == seen(x + x)


def test_arrays_that_a_program_makes_are_as_numpy_makes_them() -> None:
    fast = dynamo_lite.compile(filled)
    for n in (1, 2, 5, 2000, 5000):
        for one, other in zip(fast(n), filled(n), strict=True):
            one[...] = other[...] = 0
            assert seen(one) == seen(other)


def test_what_is_done_to_a_result_is_what_is_done_to_any_array() -> None:
    fast = dynamo_lite.compile(twice)
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(20):
        result = fast(x)
        result.resize((5, 7), refcheck=False)
        reference = weakref.ref(result)
        view = result.T
        assert view.base is result and memoryview(result).nbytes == 280
        assert pickle.loads(pickle.dumps(result)).tobytes() == result.tobytes()
        del result
        assert reference() is not None
        del view
        assert reference() is None


def test_tracemalloc_sees_the_same_memory() -> None:
    fast = dynamo_lite.compile(twice)
    x = np.arange(600.0)
    fast(x)
    tracemalloc.start()
    try:
        peaks = []
        for way in (twice, fast):
            kept = [way(x) for _ in range(50)]
            domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
            found = tracemalloc.take_snapshot().filter_traces([domain])
            peaks.append(sum(trace.size for trace in found.traces))
            del kept
            gc.collect()
    finally:
        tracemalloc.stop()
    assert peaks == [50 * x.nbytes, 50 * x.nbytes]


def test_no_memory_is_lost() -> None:
    fast = dynamo_lite.compile(twice)
    x = np.arange(12.0).reshape(3, 4)
    fast(x)
    references = sys.getrefcount(x.dtype), sys.getrefcount(x)
    for _ in range(1000):
        fast(x)
    assert (sys.getrefcount(x.dtype), sys.getrefcount(x)) == references
