"""Lowering: Graph -> Graph in primitives, by passes that each keep every bit of the result.

Enters: a graph from capture, left as it is. Leaves: a copy for scheduling. ``lower`` is the list of passes in order;
the bodies of loops and branches go through it as graphs of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import safe_point
from dynamo_lite.graph.graph import Graph
from dynamo_lite.lower.assemble import assemble
from dynamo_lite.lower.chosen import chosen
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.columns import columns
from dynamo_lite.lower.dead_code import dead_code
from dynamo_lite.lower.decompose import decompose
from dynamo_lite.lower.frames import frames
from dynamo_lite.lower.functionalise import functionalise
from dynamo_lite.lower.hoist import hoist
from dynamo_lite.lower.lists import lists
from dynamo_lite.lower.merge import merge
from dynamo_lite.lower.numbers import numbers
from dynamo_lite.lower.once import once
from dynamo_lite.lower.orders import Orders
from dynamo_lite.lower.pad import pad
from dynamo_lite.lower.products import products
from dynamo_lite.lower.selected import selected
from dynamo_lite.lower.shift import shift
from dynamo_lite.lower.short_axes import short_axes
from dynamo_lite.lower.unravel import unravel
from dynamo_lite.ops.borders import order_of

__all__ = ["lower"]


def lower(graph: Graph, examples: Sequence[Any] | None = None) -> Graph:
    """The graph in primitives. examples: what goes in now; what suits only arrays that lie otherwise is not done."""
    result = clone(graph)
    lists(result)
    merge(result)
    hoist(result)
    if examples is None:
        _lower(result, Orders({}, facts=result.facts))
        return result
    lies = {place: order_of(one) for place, one in enumerate(examples) if isinstance(one, np.ndarray) and one.ndim > 1}
    _lower(result, Orders(lies, facts=result.facts))
    return result


def _lower(result: Graph, orders: Orders) -> None:
    safe_point()
    for node in result.nodes:
        for region in node.regions:
            _lower(region, Orders(None, orders.going_into(node), region.facts))
    numbers(result)
    dead_code(result)
    products(result)
    chosen(result)
    assemble(result, orders)
    unravel(result)
    dead_code(result)
    if orders.lies is None:
        short_axes(result)
    functionalise(result, orders.are_alike)
    if selected(result):
        dead_code(result)
        functionalise(result, orders.are_alike)
    # In a loop's body arrays that are put together would have no machine form (program/build_arrays.py).
    if orders.lies is not None and columns(result, orders):
        functionalise(result, orders.are_alike)
    functionalise(result, pad(result))
    decompose(result)
    if orders.lies is not None:
        frames(result)
    once(result)
    dead_code(result)
    shift(result)
