"""The reference backend: the graph run node by node with plain NumPy. The oracle of the others, and a fallback.

Enters: a verified graph. Leaves: a callable of the graph's inputs. It raises where plain NumPy raises, and under
runtime/transaction.py (which the pipeline puts around it) changes nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """A callable that interprets `graph`."""

    def run(*inputs: Any) -> list[Any]:
        return interpret(graph, list(inputs))

    return run
