"""What NumPy takes more than csrc/arrays/small_products.c for products of small matrices, or a long and a small one.

Enters a "matmul" or "dot" of the captured graph; leaves a time for schedule/cost.py. NumPy calls BLAS for each matrix
of a stack, and BLAS copies a long matrix in blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Dim

MOST = 4  # rows and columns of a small matrix
LEAST = 16  # of so many matrices, or rows
MATRIX_NS = 12.0  # of a stack
PRODUCT_NS = 0.7
ROW_NS = 1.5  # of a long matrix, and a column of one
COLUMN_NS = 0.8


def small_products_time(node: Node, count: Callable[[tuple[Dim, ...]], float]) -> float:
    """In ns; 0.0 where NumPy is asked. count: how many elements an array of a shape has."""
    types = [arg.array_type for arg in node.args if isinstance(arg, Node)]
    if len(types) != 2 or any(type_.dtype != np.float64 or type_.ndim not in (2, 3) for type_ in types):
        return 0.0
    (*_, p, k), (*_, _, q) = (type_.shape for type_ in types)
    sizes = [count((size,)) for size in (p, k, q)]
    if not 2 <= sizes[1] <= MOST:
        return 0.0
    if node.op == "matmul" and max(type_.ndim for type_ in types) == 3:
        stacked = max(count(type_.shape[:1]) for type_ in types if type_.ndim == 3)
        if sizes[0] >= LEAST and 2 <= sizes[2] <= MOST and types[1].ndim == 2:
            return ROW_NS * stacked * sizes[0]  # an image and a matrix
        is_small = max(sizes) <= MOST and stacked >= LEAST
        return stacked * (MATRIX_NS + PRODUCT_NS * sizes[0] * sizes[1] * sizes[2]) if is_small else 0.0
    if [type_.ndim for type_ in types] != [2, 2]:
        return 0.0
    if sizes[0] >= LEAST and 2 <= sizes[2] <= MOST:
        return ROW_NS * sizes[0]
    return COLUMN_NS * sizes[2] if sizes[2] >= LEAST and 2 <= sizes[0] <= MOST else 0.0


__all__ = ["small_products_time"]
