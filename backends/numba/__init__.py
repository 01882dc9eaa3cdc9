"""The default backend: kernels written as LLVM text and compiled by llvmlite, the code generator under Numba.

What writes and compiles them, a third of what importing the compiler takes, is imported once there is a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.backends.kernels import TARGET, program_of

from dynamo_lite._C import CompiledKernel, freeze_made_by, unseen
from dynamo_lite.graph.graph import Graph
from dynamo_lite.schedule.steps import Kernel, Machine
from dynamo_lite.shadows import own_modules

__all__ = ["TARGET", "compile_graph"]


def compile_graph(graph: Graph, example_inputs: Sequence[Any]) -> Any:
    """The program of `graph`, for the sizes that pay; raises DoesNotPay when plain NumPy is expected to be as fast."""
    program = program_of(graph, example_inputs, _compile_kernel)
    with own_modules:
        unseen(freeze_made_by, _import_compiler)  # now rather than amid the program's first run
    return program


def _import_compiler() -> None:
    import dynamo_lite.backends.numba.compile  # noqa: F401


def _compile_kernel(kernel: Kernel | Machine, classes: str) -> CompiledKernel:
    from dynamo_lite.backends.numba.compile import compile_kernel

    return compile_kernel(kernel, classes)
