"""What NumPy takes more to read by index arrays than csrc/arrays/fancy.c does, in nanoseconds.

Enters an "advanced_index" of the captured graph; leaves a time for schedule/cost.py. NumPy walks over several index
arrays, and over one that stands behind whole axes or before them, with an iterator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.schedule.call import call

GATHER_CAST_NS = 1.0  # of an index array of less than 8 bytes, which NumPy converts; of one that gathers rows
GATHER_ROW_NS = 6.0
GATHER_PLACE_NS = 0.7  # an element that several index arrays read, or one behind whole axes


def gather_time(node: Node, count: Callable[[tuple[Dim, ...]], float]) -> float:
    """count: how many elements an array of a shape has."""
    key = call(node)[1][1]
    kinds = "".join(map(_kind_of, key if isinstance(key, tuple) else (key,)))
    if kinds.rstrip(".") == "i":
        x, index = (arg.array_type for arg in node.args if isinstance(arg, Node))
        of_element = GATHER_ROW_NS if x.ndim > 1 else GATHER_CAST_NS if index.dtype.itemsize < 8 else 0.0
        return of_element * count(index.shape)
    if "?" not in kinds and "." not in kinds.strip("."):
        return GATHER_PLACE_NS * count(node.array_type.shape)
    return 0.0


def _kind_of(one: Any) -> str:
    """i: an index array; ".": a whole axis; ?: anything else."""
    return "i" if isinstance(one, Node) else "." if isinstance(one, slice) and one == slice(None) else "?"
