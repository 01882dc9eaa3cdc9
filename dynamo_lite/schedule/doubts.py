"""Tells which programs had better be timed on real calls, since no estimate knows what they take.

Enters a captured graph and the times by size that cost.py guesses; leaves whether calls are timed
(csrc/watch/trials.c). What gains is plain once or twice, what loses rests.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.schedule.cost import Times

DOUBTFUL = 4.0  # times as fast: what is expected to gain less is timed on real calls; estimates are that far off
MANY_INPUTS = 32  # a program with more is timed as well: what their guards take hangs on how they are reached
BRIEF = 2000.0  # ns: one with loops that is expected to take less may have too few iterations in another call


def is_doubtful(times: Mapping[int, Times], graph: Graph) -> bool:
    """Whether a call of the example's sizes gains so little, as estimated, that it had better be timed; or the gain
    hangs on how many iterations a brief call makes; or residual code makes lists of arrays (capture/lists/cells.py),
    which the estimate leaves out."""
    if 0 not in times:
        return False
    is_close = times[0].plain < DOUBTFUL * times[0].native
    is_brief = times[0].native < BRIEF and any(node.kind is NodeKind.LOOP for node in graph.nodes)
    return is_close or is_brief or len(graph.inputs) > MANY_INPUTS or makes_lists(graph)


def makes_lists(graph: Graph) -> bool:
    """Whether it has arrays of which residual code makes lists."""
    stores = any(node.kind is NodeKind.STORE and node.params.get("listed") for node in graph.nodes)
    return stores or any(makes_lists(region) for node in graph.nodes for region in node.regions)
