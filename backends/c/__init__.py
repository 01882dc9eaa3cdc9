"""Kernels written as C and compiled by the system's compiler: slower to compile than the default backend's, and without
llvmlite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.backends.c.compile import compile_kernel, try_out
from dynamo_lite.backends.kernels import program_of

from dynamo_lite.graph.graph import Graph


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Any:
    """The program of `graph`, for the sizes that pay; raises DoesNotPay when plain NumPy is expected to be as fast, and
    BackendError where there is no C compiler that will do."""
    try_out()
    return program_of(graph, example_inputs, compile_kernel)
