"""Drops what nobody uses and nobody could notice.

Enters a graph that this pass may change; leaves it without unused calls, but for those that may warn or raise:

    %add = add(%x, 1); %less = less(%x, 0); return %x  ->  %add = add(%x, 1); return %x   # it may overflow

INVARIANT: a floating-point error that NumPy would report is still met. Stores stay.
"""

from __future__ import annotations

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.rewrite import drop_unused
from dynamo_lite.ops.registry import may_report


def dead_code(graph: Graph) -> None:
    """Remove unused nodes that cannot report anything."""
    drop_unused(graph, may_report)
