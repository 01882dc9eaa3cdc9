"""What the backends share that make kernels: fused, of compiled arithmetic and NumPy's own loops, launched from C.

Enters a Graph, example inputs, and how the backend compiles a kernel; leaves a ``_C.Program``. ``lower`` and
``schedule`` make the steps, the backend the kernels, when the launcher first meets a stride pattern.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from dynamo_lite.backends.kernels.complexes import is_compiled
from dynamo_lite.backends.kernels.functions import folds, machine
from dynamo_lite.backends.kernels.loops import loop_is_elementwise, loop_is_forward
from dynamo_lite.backends.kernels.quotients import inverse_of

from dynamo_lite import _C, budget
from dynamo_lite._C import abi
from dynamo_lite.config import config, current, current_seconds
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower import lower
from dynamo_lite.program.element_ops import may_raise
from dynamo_lite.schedule import (
    Schedule,
    Target,
    brief_loops,
    estimate,
    example_of,
    may_be_straight,
    paying_iterations,
    paying_sizes,
    schedule,
    straight,
    straight_arrays,
)
from dynamo_lite.schedule.steps import DType, Kernel, Machine
from dynamo_lite.schedule.unsized import unsized_inputs

CompileKernel: TypeAlias = Callable[[Kernel | Machine, str], _C.CompiledKernel]


PLACE: ContextVar[str] = ContextVar("place", default="")
"""Where in the user's source the program begins for which a kernel is compiled: `file.py:17 step`."""


def has_fold(ufunc: np.ufunc, dtype: DType) -> bool:
    """Whether a Reduce is done without NumPy's reduce, most of the time."""
    return _C.find_fold(ufunc, dtype) >= 0


_C.threads_follow(config)  # which programs ask when they run
TARGET = Target(is_compiled, may_raise, loop_is_elementwise, loop_is_forward, has_fold, folds, machine, inverse_of)


def program_of(graph: Graph, example_inputs: Sequence[Any], compile_kernel: CompileKernel) -> Any:
    """The program of `graph`, for the sizes that pay; raises DoesNotPay when plain NumPy is expected to be as fast."""
    lowered = lower(graph, example_inputs)
    types = [node.array_type if isinstance(node, Node) else None for node in lowered.inputs]
    steps = straight(schedule(lowered, TARGET), types, TARGET)
    options = current()
    if options.stress != "compile":
        times, unsized = estimate(graph, steps, example_inputs, TARGET), unsized_inputs(graph, steps)
        steps = replace(steps, times=times, unsized=unsized)
        if options.cost_model:
            steps = _where_it_pays(lowered, steps, example_inputs)
    own = 0 if options is config else options.num_threads
    brief = brief_loops(steps, example_of(graph, example_inputs))
    timed = _timed(current_seconds(), compile_kernel, brief, _place_of(graph))
    make_small = partial(_small, steps, types, timed) if may_be_straight(steps) else None
    return _C.Program(steps, timed, own, make_small)


def _small(steps: Schedule, types: Sequence[ArrayType | None], compile_kernel: CompileKernel) -> _C.Program | None:
    """The program for small arrays, of one routine; None if there is none."""
    with budget.timed():
        routine = straight_arrays(steps, types, TARGET)
    return None if routine is None else _C.Program(routine, compile_kernel, 1)


def _where_it_pays(graph: Graph, steps: Schedule, example_inputs: Sequence[Any]) -> Schedule:
    """The schedule with the sizes, and numbers of iterations, for which it pays."""
    by_iterations = paying_iterations(graph, steps, example_inputs, TARGET)
    if by_iterations is None:
        return replace(steps, sizes=paying_sizes(steps.times))
    rest, condition = by_iterations
    sizes, unsized = paying_sizes(estimate(graph, rest, example_inputs, TARGET)), unsized_inputs(graph, rest)
    return replace(steps, sizes=sizes, unsized=unsized, pays=condition)


def _place_of(graph: Graph) -> str:
    located = (node.location for node in graph.nodes if node.location is not None)
    first = next(located, None)
    return "" if first is None else f"{os.path.basename(first.filename)}:{first.line} {first.function}"


def _timed(
    seconds: dict[str, float], compile_kernel: CompileKernel, brief: Collection[Machine], place: str
) -> CompileKernel:
    """compile_kernel, which notes what it takes: most kernels are compiled when the program first runs. brief: loops
    whose code is optimised only once C asks for that. place: see PLACE."""

    def compile_one(kernel: Kernel | Machine, classes: str) -> _C.CompiledKernel:
        began, around = perf_counter(), PLACE.set(place)
        try:
            with budget.timed():
                lasts = isinstance(kernel, Machine) and all(kernel is not one for one in brief)
                asks = abi.ASKS_LASTING if lasts and not classes.endswith(abi.ASKS_LASTING) else ""
                return compile_kernel(kernel, classes + asks)
        finally:
            PLACE.reset(around)
            seconds["kernels"] = seconds.get("kernels", 0.0) + perf_counter() - began

    return compile_one
