"""Lists that the program works on as objects (object_lists.py) where NumPy wants an array: `np.array(samples)`.

Enters such a list, of numbers. Leaves the array that NumPy makes of it, as the program does when it gets there:

    samples.append(x); ... samples[-1] ...     append(%samples, %x); %item = list_take(%samples, -1) ...
    np.array(samples)                          n0 = object_number(%samples, of=length); list_array(%samples, n0)

INVARIANT: of which dtype it is is a guess, by what the list seems to hold. An item of another type has the program
decline, as does an empty list, of which NumPy makes floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite._C import abi
from dynamo_lite.capture.lists.scalar_items import DTYPES, SCALARS
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import ListValue
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.conversion import Filled

_OF = {"int": np.dtype(np.int64), "bool": np.dtype(bool), **dict.fromkeys(("float", "number"), np.dtype(np.float64))}


def array_of_numbers(tracer: Tracer, value: ListValue) -> Filled | None:
    """The array of the numbers in a list; None where it seems to hold other things."""
    holding = value.holding
    dtype = DTYPES.get(holding.most) if holding.kind == SCALARS else _OF.get(holding.kind)
    if dtype is None:
        return None
    size = read(tracer, value.node, "int", abi.READ_LENGTH)
    tracer.have(make("ge", size, 1), "loop-list", "an empty list as an operand")
    type_ = ArrayType(dtype, (size,))
    return Filled(ops.lists.read_numbers(tracer.graph, value.node, type_, tracer.location()))


def read(tracer: Tracer, node: Node, kind: str, of: int, *table: Node) -> Any:
    """A symbol for the number that an object is, or how long a list is."""
    (name,) = tracer.yield_names(1)
    symbol = tracer.graph.add_size(name) if of == abi.READ_LENGTH else tracer.graph.add_yield(name, kind)
    tracer.alternatives[name] = ()
    ops.lists.read_number(tracer.graph, (node, *table), of, symbol, tracer.location())
    return symbol


__all__ = ["array_of_numbers", "read"]
