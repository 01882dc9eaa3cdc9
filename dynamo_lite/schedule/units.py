"""What a graph falls into for scheduling: kernels with what they compute, store and keep, and nodes that run alone.

fuse.py makes units in program order, level.py joins and orders them, emit.py writes them as steps.
"""

from __future__ import annotations

from typing import TypeAlias

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.types import ArrayType


@dataclass(frozen=True, slots=True)
class Part:
    """Compute `members` (one shape, program order) and write the value of `store` straight into its target.

    The value is one of the members, or lies in memory. aside: what the part reads of memory, and the copy that it reads
    instead.
    """

    members: tuple[Node, ...]
    store: Node | None = None
    aside: tuple[tuple[Node, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Run `parts`, all of one shape, in order in one kernel and keep `results` of what they compute.

    What a part reads in the positions that a part before it has stored into is what that has stored.
    """

    parts: tuple[Part, ...]
    results: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduce the last of `members`, computed on the fly, or (no members) the operand in memory."""

    node: Node
    members: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Single:
    """A node that runs by itself: a view, a creation, a call, a loop, its leave, a store that NumPy does."""

    node: Node


Unit: TypeAlias = Group | Reduction | Single


def result_type(node: Node) -> ArrayType:
    """The type of a node's (first) result."""
    type_ = node.type[0] if isinstance(node.type, tuple) else node.type
    assert type_ is not None, node.name
    return type_
