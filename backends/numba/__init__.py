"""The default backend: kernels written as LLVM text and compiled by llvmlite, the code generator under Numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.backends.kernels import TARGET, program_of
from dynamo_lite.backends.numba.compile import compile_kernel

from dynamo_lite.graph.graph import Graph

__all__ = ["TARGET", "compile_graph"]


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Any:
    """The program of `graph`, for the sizes that pay; raises DoesNotPay when plain NumPy is expected to be as fast."""
    return program_of(graph, example_inputs, compile_kernel)
