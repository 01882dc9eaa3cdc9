"""Scheduling: a lowered graph becomes the steps of a program.

Enters: the graph ``lower`` leaves and what the backend can compile. Leaves: a Schedule (steps.py), which
csrc/program/launch.c runs and program/interpret.py explains. ``schedule`` is the list of passes in order; the bodies of
loops and branches go first.
"""

from dynamo_lite._C import safe_point
from dynamo_lite.graph.alias import drop_repeated, merge_views
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.rewrite import is_structured
from dynamo_lite.schedule.brief import brief_loops
from dynamo_lite.schedule.cost import DoesNotPay, estimate, example_of, paying_iterations, paying_sizes
from dynamo_lite.schedule.emit import emit
from dynamo_lite.schedule.fuse import fuse
from dynamo_lite.schedule.level import level
from dynamo_lite.schedule.machine_loops import machine_loops
from dynamo_lite.schedule.steps import Schedule
from dynamo_lite.schedule.straight import may_be_straight, straight, straight_arrays
from dynamo_lite.schedule.target import Target

__all__ = [
    "DoesNotPay",
    "Schedule",
    "Target",
    "brief_loops",
    "estimate",
    "example_of",
    "may_be_straight",
    "paying_iterations",
    "paying_sizes",
    "schedule",
    "straight",
    "straight_arrays",
]


def schedule(graph: Graph, target: Target) -> Schedule:
    """The steps that compute `graph`, which this changes."""
    return machine_loops(_schedule(graph, target, False), target)


def _schedule(graph: Graph, target: Target, is_body: bool) -> Schedule:
    bodies = {
        node: tuple(_schedule(region, target, True) for region in node.regions)
        for node in graph.nodes
        if is_structured(node)
    }
    safe_point()
    merge_views(graph)
    drop_repeated(graph, is_body)
    safe_point()
    units, forms = fuse(graph, target)
    safe_point()
    units = level(graph, units, forms, target)
    safe_point()
    return emit(graph, units, forms, target, bodies, is_body)
