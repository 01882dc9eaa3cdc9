"""Lowering: Graph -> Graph in primitives, by passes that each keep every bit of the result.

Enters: a graph from capture, left as it is. Leaves: a copy for scheduling. ``lower`` is the list of passes in order;
the bodies of loops and branches go through it as graphs of their own.
"""

from dynamo_lite._C import safe_point
from dynamo_lite.graph.graph import Graph
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.columns import columns
from dynamo_lite.lower.dead_code import dead_code
from dynamo_lite.lower.decompose import assemble, decompose
from dynamo_lite.lower.functionalise import functionalise
from dynamo_lite.lower.numbers import numbers
from dynamo_lite.lower.orders import Orders
from dynamo_lite.lower.pad import pad
from dynamo_lite.lower.short_axes import short_axes

__all__ = ["lower"]


def lower(graph: Graph, is_body: bool = False) -> Graph:
    """The graph in primitives; is_body: it is that of a loop or a branch."""
    safe_point()
    result = clone(graph)
    for node in result.nodes:
        node.regions = tuple(lower(region, is_body=True) for region in node.regions)
    numbers(result)
    dead_code(result)
    orders = Orders()
    assemble(result, orders)
    short_axes(result)
    functionalise(result, orders.are_alike)
    if not is_body and columns(result, orders):
        functionalise(result, orders.are_alike)
    functionalise(result, pad(result))
    decompose(result)
    dead_code(result)
    return result
