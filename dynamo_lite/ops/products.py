"""Whether np.dot of matrices and vectors has the bits of np.matmul, which the program computes without a call.

Both call BLAS, with arguments that mean the same, where matrices lie packed in C or F order and the axis that is
summed has two elements or more. That depends on NumPy and its BLAS, so it is tried out once in a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

SIZES = (2, 3, 4, 7, 8, 17, 1)
Array = np.ndarray[Any, Any]


@cache
def dot_is_matmul() -> bool:
    """True where np.dot and np.matmul gave the same bits in all products that were tried."""
    return all(np.dot(a, b).tobytes() == np.matmul(a, b).tobytes() for a, b in _products())


def _products() -> Iterator[tuple[Array, Array]]:
    for dtype in (np.float64, np.float32):
        numbers = np.sqrt(np.arange(1.0, 700.0)).astype(dtype) - dtype(13.0)
        for place, rows in enumerate(SIZES):
            for columns in SIZES[:-1]:
                matrix = numbers[: rows * columns].reshape(rows, columns)
                other = numbers[100 : 100 + columns * SIZES[place - 1]].reshape(columns, -1)
                for a in (matrix, np.asfortranarray(matrix)):
                    yield a, other[:, 0]
                    yield a, numbers[:columns]
                    yield numbers[: 2 * columns : 2], a.T
                    yield a, other
                    yield a, np.asfortranarray(other)
                    yield a, a.T


__all__ = ["dot_is_matmul"]
