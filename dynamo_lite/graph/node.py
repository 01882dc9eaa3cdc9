"""One value of a graph: its operation, operands, static parameters and type."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Any, TypeAlias

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Scalar
from dynamo_lite.graph.types import ArrayType


class NodeKind(Enum):
    """What a node is; LOOP and COND hold body graphs in ``regions``."""

    INPUT = "input"
    CONSTANT = "constant"
    CALL = "call"
    STORE = "store"
    LOOP = "loop"
    COND = "cond"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Location:
    """Where in the user's source an operation stands."""

    filename: str
    line: int
    function: str


@dataclass(eq=False, slots=True)
class Node:
    """A graph value. ``args`` holds Nodes and Scalars (weak Python numbers); ``params`` everything static.

    kind INPUT: params["index"]; an array, a NumPy scalar, or a list that is appended to. CONSTANT: params["value"], a
    read-only NumPy scalar or array.
    CALL: ``op`` names an OpDef of dynamo_lite.ops; a multi-output op has a tuple as type and is read by op "tuple_get".
    STORE: args = (target, value); writes value, cast and broadcast, into target, a view node whose root is an input or
    a fresh array; yields nothing (type None). INVARIANT: stores keep their program order.
    LOOP: op "loop", args = (start, stop, step, the initial carried values, what the body captures), params["carried"]
    tells how many are carried, regions = (body,). The body's input 0 is the index (a number), then come the carried and
    the captured values; it refers to nothing of this graph, and returns the carried values of the next iteration. The
    type is the tuple of the carried values' types, read by "tuple_get": what a loop over range(start, stop, step) ends
    with, the initial values themselves when it has no iteration. Stores of the body into what it captured, or into
    carried arrays, are effects of the loop. params["while"]: the body's last output is no value but the condition to go
    on, a bool Scalar or a bool NumPy scalar, looked at when the others have been handed on.
    params["pause"]: a Symbol of this graph for the index, then conditions: where one holds, the loop ends in front of
    that iteration, and the program at the LEAVE behind it (nowhere else is it asked for).
    COND: op "cond", args = (condition, what the branches take), regions = (then, otherwise): bodies with the same
    inputs and outputs of the same types, of which one runs. The condition is a bool Scalar or a bool NumPy scalar.
    Outputs are nodes, then params["numbers"] many numbers. Type and effects are as those of a LOOP.
    params["yields"] of both: Symbols of this graph, one for each number that the node yields; also of a CALL that
    counts, or reads a NumPy scalar, whose result is that number.
    LEAVE: op "leave", args = (loop, values...): a program may end here when that loop, which stands right before it
    but for its tuple_gets, was left between two iterations; then its tuple_gets are what was carried so far, and the
    program's outputs are these values. params["exit"] numbers the LEAVE nodes of a graph. The graph's
    meaning does not know it.
    A view's params may hold Scalars inside tuples (see ops/views.py).
    """

    kind: NodeKind
    op: str
    args: tuple[Argument, ...]
    params: dict[str, Any]
    type: ArrayType | tuple[ArrayType, ...] | None
    name: str
    location: Location | None = None
    regions: tuple[Any, ...] = field(default=())

    @property
    def array_type(self) -> ArrayType:
        """The type of a single-output node."""
        assert isinstance(self.type, ArrayType), self.name
        return self.type


Argument: TypeAlias = Node | Scalar
