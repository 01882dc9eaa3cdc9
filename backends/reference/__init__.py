"""The reference backend: plain NumPy runs the graph node by node; the oracle for other backends, and slow.

Enters a Graph; leaves a Python callable. Where NumPy would warn or raise, it declines, and plain Python runs instead;
arrays that the graph writes are put back first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite import _C
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import root


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """A callable of the graph's inputs."""
    targets = [node.args[0] for node in graph.nodes if node.kind is NodeKind.STORE]
    roots = {root(target) for target in targets if isinstance(target, Node)}
    written = sorted(node.params["index"] for node in roots if node.kind is NodeKind.INPUT)

    def run(*inputs: Any) -> tuple[Any, ...]:
        before = {index: inputs[index].copy() for index in written}
        # Errors that are not ignored become exceptions; ignored ones stay ignored.
        modes = {kind: "ignore" if mode == "ignore" else "raise" for kind, mode in np.geterr().items()}
        try:
            with warnings.catch_warnings(), np.errstate(**modes):  # type: ignore[arg-type]
                warnings.simplefilter("error")
                return tuple(interpret(graph, inputs))
        except Exception as error:
            for index, copy in before.items():
                inputs[index][...] = copy
            raise _C.Declined(f"{type(error).__name__}: {error}") from error

    return run
