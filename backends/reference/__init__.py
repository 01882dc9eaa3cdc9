"""The reference backend: the graph run node by node with plain NumPy. The oracle of the others, and a fallback.

Enters: a verified graph. Leaves: a callable of the graph's inputs. INVARIANT: as a native program, it either succeeds or
raises Declined having changed nothing: every error that `np.geterr()` does not ignore is raised, and what was written
before one is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite._C import Declined
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node, NodeKind


def compile_graph(graph: Graph, example_inputs: list[Any]) -> Callable[..., list[Any]]:
    """A callable that interprets `graph`."""
    written = sorted({root.params["index"] for root in map(_root, _stores(graph)) if root.kind is NodeKind.INPUT})

    def run(*inputs: Any) -> list[Any]:
        saved = [(inputs[index], inputs[index].copy()) for index in written]
        strict: dict[str, Any] = {
            name: "ignore" if mode == "ignore" else "raise" for name, mode in np.geterr().items()
        }
        try:
            with np.errstate(**strict):
                return interpret(graph, list(inputs))
        except BaseException as error:
            for array, before in saved:
                array[...] = before
            if not isinstance(error, Exception) or isinstance(error, MemoryError):
                raise
            raise Declined(f"{type(error).__name__}: {error}") from None

    return run


def _stores(graph: Graph) -> list[Node]:
    return [node.args[0] for node in graph.nodes if node.kind is NodeKind.STORE and isinstance(node.args[0], Node)]


def _root(node: Node) -> Node:
    """The node whose memory a store into `node` changes."""
    while node.kind is NodeKind.CALL and node.args and isinstance(node.args[0], Node):
        node = node.args[0]
    return node
