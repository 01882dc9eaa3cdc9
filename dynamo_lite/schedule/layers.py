"""What loops over layers of arrays cost plainly: of x[:, :, k] every element lies in a cache line of its own.

Enters a loop; leaves the bytes of cache lines that plain NumPy fetches in an iteration besides those that it asks for.
The program fetches each line once for several iterations, whose kernels run in bands (csrc/program/bands.c). Lines of
an array that stays in the cache from one iteration to the next are fetched once either way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind

LINE = 64  # bytes of a cache line
BEYOND_CACHE = 3 << 19  # bytes of an array that does not stay there: below, bands were measured to gain nothing


def waits_for_the_next(loop: Node) -> bool:
    """Whether kernels of one iteration may wait for those of the next: `lingers` in csrc/builder/build_loop.c."""
    carries_arrays = any(isinstance(one, Node) for one in loop.regions[0].outputs)
    return not loop.params.get("while") and not carries_arrays


def bytes_besides(body: Graph, count: Callable[[Sequence[Any]], float]) -> float:
    """For the body of such a loop. count: how many elements an array of a shape has."""
    found = 0.0
    for node in body.nodes:
        for arg in node.args:
            if isinstance(arg, Node) and _is_layer(arg):
                itemsize = arg.array_type.dtype.itemsize
                (source,) = arg.args
                assert isinstance(source, Node)
                step = itemsize * count(source.array_type.shape[-1:])
                if itemsize * count(source.array_type.shape) >= BEYOND_CACHE:
                    found += max(0.0, min(LINE, step) - itemsize) * count(arg.array_type.shape)
    return found


def _is_layer(node: Node) -> bool:
    """Whether it is a view of one index along the last axis, and of whole other axes."""
    if node.kind is not NodeKind.CALL or node.op != "basic_index" or not isinstance(node.args[0], Node):
        return False
    index = node.params["index"]
    is_whole = len(index) == node.args[0].array_type.ndim and None not in index
    return is_whole and len(index) > 1 and not isinstance(index[-1], tuple) and isinstance(index[-2], tuple)
