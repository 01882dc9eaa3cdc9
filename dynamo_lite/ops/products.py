"""How BLAS multiplies matrices, which hangs on NumPy, its BLAS and the processor: tried out once in a process.

Whether np.dot of matrices and vectors has the bits of np.matmul, which the program computes without a call: both call
BLAS, with arguments that mean the same, where matrices lie packed in C or F order and the axis that is summed has two
elements or more. And in what order products are added, of many small matrices or of a long one and a small one
(csrc/arrays/small_products.c).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from dynamo_lite._C import products_by
from dynamo_lite.ops.samples import Samples

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


STACK, ROWS, COLUMNS = range(3)  # the shapes of csrc/arrays/small_products.c, and of a way to add
FUSED, ZERO, HALVES = (1 << bit for bit in (8, 9, 10))
_MATRICES = (16, 17, 33, 129)  # how many are tried; and how many rows of a long one
_LENGTHS = (*range(16, 34), 63, 64, 100, 257, 1000, 4099)
_THREADED = 300_000  # so many products OpenBLAS shares out among threads
# Where two operands lie, in elements beyond a cache line: what is not in the first vector BLAS may add by itself.
_OFFSETS = tuple(itertools.product((0, 1, 2, 5), (0, 1, 6, 3)))


def way_of_product(is_dot: bool, shape: int, a_in_f: bool, b_in_f: bool, p: int, k: int, q: int) -> int:
    """The way in which NumPy adds the products of p x k and k x q matrices of doubles, -1 where none explains its
    bits."""
    ways = list(_ways(k))
    for number, (a, b) in enumerate(_matrices(shape, a_in_f, b_in_f, p, k, q)):
        some = _OFFSETS[number % 4 :: 4] if shape == STACK else (_OFFSETS[number % 16],)
        for a_offset, b_offset in some:
            one, other = _placed(a, a_offset), _placed(b, b_offset)
            found = one.dot(other) if is_dot else one @ other
            ways = [way for way in ways if _are_same(products_by(way, is_dot, one, other), found)]
            if not ways:
                return -1
    return ways[0]


def _ways(k: int) -> Iterator[int]:
    for order in itertools.permutations(range(k)):
        for flags in (FUSED | ZERO, FUSED, ZERO, 0):
            way = flags | sum(place << 2 * number for number, place in enumerate(order))
            yield way
            if k == 4:
                yield way | HALVES


def _matrices(
    shape: int, a_in_f: bool, b_in_f: bool, p: int, k: int, q: int
) -> Iterator[tuple[Array, Array]]:
    samples = Samples(64 * p + 8 * k + q)

    def numbers(*sizes: int) -> Array:
        """Of unlike sizes, some of them zeros of either sign."""
        made: Array = samples.normal(*sizes) * 4.0 ** (samples.below(12, *sizes) - 6)
        drawn = samples.below(8, *sizes)
        return np.where(drawn == 0, 0.0, np.where(drawn == 1, -0.0, made))

    def lying(in_f: bool, *sizes: int) -> Array:
        return numbers(*sizes[:-2], sizes[-1], sizes[-2]).swapaxes(-1, -2) if in_f else numbers(*sizes)

    for count in _MATRICES if shape == STACK else _LENGTHS:
        if shape == STACK:
            a, b = lying(a_in_f, count, p, k), lying(b_in_f, count, k, q)
        elif shape == ROWS:
            a, b = lying(a_in_f, count, k), lying(b_in_f, k, q)
        else:
            a, b = lying(a_in_f, p, k), lying(b_in_f, k, count)
        yield a, b
    times = -(-_THREADED // (_LENGTHS[-1] * p * k * q))
    if shape == ROWS:
        yield np.concatenate([a] * times), b
    elif shape == COLUMNS:
        yield a, np.concatenate([b.T] * times).T if b_in_f else np.concatenate([b] * times, axis=1)


def _placed(array: Array, offset: int) -> Array:
    """A copy that lies as the array does, so many elements beyond a cache line."""
    memory = np.empty(array.size + 16)
    start = -memory.__array_interface__["data"][0] // 8 % 8 + offset
    axes = sorted(range(array.ndim), key=array.strides.__getitem__, reverse=True)
    turned = array.transpose(axes)
    made: Array = memory[start : start + array.size].reshape(turned.shape).transpose(np.argsort(axes))
    made[...] = array
    return made


def _are_same(one: Array | None, other: Array) -> bool:
    return one is not None and one.shape == other.shape and one.tobytes() == other.tobytes()


__all__ = ["COLUMNS", "ROWS", "STACK", "dot_is_matmul", "way_of_product"]
