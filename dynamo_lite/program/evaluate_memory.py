"""Arrays over the memory of a Routine that is evaluated (evaluate_loop.py): elements are reached by their address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite.program.evaluate import Array
from dynamo_lite.program.ir import DType


class _Memory:
    __array_interface__: dict[str, Any]


def array_over(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Array:
    """An array over memory that somebody keeps."""

    memory = _Memory()
    memory.__array_interface__ = {
        "shape": shape, "strides": strides, "typestr": dtype.str, "data": (address, False), "version": 3,
    }  # fmt: skip
    return np.asarray(memory)


def array_at(array: Array, shape: Sequence[Any], strides: Sequence[Any]) -> Array:
    """The array of that shape that begins at an element."""
    return array_over(array.ctypes.data, tuple(map(int, shape)), tuple(map(int, strides)), array.dtype)
