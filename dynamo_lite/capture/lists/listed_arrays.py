"""Arrays that the objects in a list have as attributes, in a loop: ``for b in balls: b.pos += b.vel * dt``.

Enters a ListedObject (listed_objects.py). Leaves a row of the *column* of such arrays, which the guards make
(csrc/guards/array_columns.c): a view of an input of the graph, into which a store may go like into any array.

    for b in balls: b.pos += b.vel * dt    loop i0: %pos[i0] += %vel[i0] * dt    residual: put(%pos)

Where the segment ends, or a loop is left, residual code copies what has been written into the arrays of the objects; so
a program that declines has changed nothing.

INVARIANT: a row is not the object that the attribute is, so that it stays inside of the program, and is nothing that a
loop carries or a branch hands out (listed_scalars.py); where it may, the list is known by its items in the next
attempt. No attribute gets another array. The guards say that arrays of which a column is have no memory in common with
another one of which the program knows, if either is written to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite._C import are_apart
from dynamo_lite._C import column as make_column
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.lists import cells
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import ArrayValue, ListedObject, Value
from dynamo_lite.capture.wrap import column, realise
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, make
from dynamo_lite.graph.types import LIST

KIND = "rows"


def is_array(own: Any) -> bool:
    """Whether what an object has under a name may be an item of a column."""
    return type(own) is np.ndarray


def read(
    machine: Machine, owner: ListedObject, path: str, position: Value, place: Scalar | None, count: Scalar
) -> Value:
    """The array that an object has under the name with which a path ends; place: which of `count` objects it is."""
    tracer, root = machine.tracer, owner.root
    whole = f"{path}v"
    if path not in root.attributes:
        if tracer.grown or make_column(root.concrete, whole) is None:
            tracer.note_reading()
            root.give_up()
        made = column(tracer, root, whole)
        tracer.relate(make("eq", made.node.array_type.shape[0], count))
        root.attributes[path] = [cells.Cells(KIND, False, made, None, whole, outside=root)]
        tracer.array_columns[made.node] = root
    row = numpy_rules.get_item(machine, root.attributes[path][0].array, position)
    assert isinstance(row, ArrayValue)
    tracer.list_scalars[row.node] = root
    tracer.array_items[row.node] = root, path, place
    return row


def is_stored_again(tracer: Tracer, owner: ListedObject, path: str, place: Scalar | None, value: Value) -> bool:
    """Whether a value is the very array that an object has under that name, as behind ``b.pos += v``."""
    value = realise(tracer, value)
    return (
        isinstance(value, ArrayValue)
        and place is not None
        and tracer.array_items.get(value.node) == (owner.root, path, place)
    )


def state_arrays_apart(tracer: Tracer) -> None:
    """Guard that arrays of columns show no memory that another one shows, where either is written to."""
    if not tracer.array_columns:
        return
    inputs = [one for one in tracer.root.inputs if isinstance(one, Node) and _is_array(one)]
    for one, root in tracer.array_columns.items():
        if one in tracer.written and tracer.restraints.arrays:
            root.give_up()  # nobody knows what arrays that are taken of lists show
        for other in inputs:
            is_written = one in tracer.written or other in tracer.written
            if is_written and (other is not one or one in tracer.written):
                _state_apart(tracer, one, other)


def _is_array(node: Node) -> bool:
    return node.type != LIST and not node.array_type.scalar


def _state_apart(tracer: Tracer, one: Node, other: Node) -> None:
    places = one.params["index"], other.params["index"]
    sources = [tracer.inputs[place] for place in places]
    if sources[1].kind == "column" and other not in tracer.array_columns:
        return  # it has memory of its own
    if not are_apart(*(tracer.example_inputs[place] for place in places)):
        tracer.array_columns[one].give_up()
    tracer.facts.state_pair("apart", *sources)


__all__ = ["KIND", "is_array", "is_stored_again", "read", "state_arrays_apart"]
