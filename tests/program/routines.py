"""Loops that become routines: collected as functions are compiled, and run by hand in two ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.kernels.functions import routine_of
from dynamo_lite.backends.numba import compile as compiling

import dynamo_lite
from dynamo_lite.graph.scalar import Symbol, kind_of
from dynamo_lite.graph.types import GENERATOR
from dynamo_lite.program.evaluate_loop import Ended, evaluate_routine
from dynamo_lite.program.interpret import interpret
from dynamo_lite.schedule.steps import Loop, Machine, Reg, Schedule
from tests.programs.loop_cases import OPTIONS

RANGE = range(1, 5)


def collected(function: Callable[..., Any], *arguments: Any) -> list[tuple[Machine, str]]:
    """The loops of a function that are compiled whole, with the classes of their arrays."""
    found: list[tuple[Machine, str]] = []

    def recorded(machine: Machine, classes: str) -> Any:
        found.append((machine, classes))
        return routine_of(machine, classes)

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(compiling, "routine_of", recorded)
        with suppress(ArithmeticError, IndexError, TypeError, ValueError):  # the function's own
            dynamo_lite.compile(function, options=OPTIONS)(*arguments)
    return found


def inputs_of(machine: Machine, classes: str, rng: random.Random) -> list[Any]:
    """Values for what goes into a loop: arrays of the strides that the classes say, equal sizes where they are known to
    be equal."""
    sizes: dict[str, int] = {}
    given: tuple[Any, ...] = (*machine.loop.carried, *machine.loop.captured)
    values: list[Any] = [None] * len(given)
    for place, (dtype, ndim) in enumerate(zip(machine.dtypes, machine.ndims, strict=True)):
        if dtype is not None and dtype.kind == "O":
            is_list = machine.loop.types[place] != GENERATOR
            values[place] = [] if is_list else np.random.default_rng(rng.randrange(99))
        elif dtype is not None:
            dims = getattr(machine.loop.types[place], "shape", ()) if ndim > 0 else ()
            shape = tuple(dim if type(dim) is int else sizes.setdefault(str(dim), 6) for dim in dims)
            values[place] = _array(rng, dtype, shape, classes[place])
            values[place] = values[place][()] if ndim < 0 else values[place]
    for place, (dtype, number) in enumerate(zip(machine.dtypes, given, strict=True)):
        if dtype is None:
            chosen = {"int": sizes.get(str(number), rng.randint(0, 4)), "float": 0.75, "bool": True}
            values[place] = chosen[kind_of(number)]
    return values


def _array(rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...], letter: str) -> Any:
    count = int(np.prod(shape, dtype=int))
    numbers = [rng.choice((rng.uniform(-2, 2), rng.randint(0, 3))) for _ in range(count)]
    array = np.array([abs(number) if dtype.kind in "ub" else number for number in numbers]).reshape(shape)
    array = array.astype(dtype)
    if letter == "c" or not shape:
        return array
    if letter == "i":
        return np.asfortranarray(array)
    spread = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    spread[...] = array
    return spread


def by_schedule(machine: Machine, inputs: list[Any], numbers: range) -> list[Any]:
    """What the Loop step hands out, as interpret.py has it."""
    loop = machine.loop
    operands: list[Any] = []
    symbols = []
    for place, (dtype, given) in enumerate(zip(machine.dtypes, (*loop.carried, *loop.captured), strict=True)):
        operands.append(Reg(place))
        if dtype is None:
            symbols.append(Symbol(f"given{place}", kind_of(given), place))
            operands[-1] = symbols[-1]
    split, n = len(loop.carried), len(inputs)
    dsts = tuple(range(n, n + len(loop.dsts)))
    step = replace(
        loop,
        dsts=dsts,
        carried=tuple(operands[:split]),
        captured=tuple(operands[split:]),
        start=numbers.start,
        stop=numbers.stop,
        step=numbers.step,
        yields=(),
        pause=None,
    )
    outputs = tuple(map(Reg, dsts))
    return interpret(Schedule(n, n + len(dsts), tuple(symbols), (), (step,), outputs, ()), inputs)


def numbers_of(loop: Loop) -> range:
    """A range that the loop may have."""
    by = loop.step if type(loop.step) is int else 1
    start = loop.start if type(loop.start) is int else (RANGE.start if by > 0 else RANGE.stop - 1)
    return range(start, loop.stop if type(loop.stop) is int and loop.stop < 9 else start + 4 * by, by)


def both(machine: Machine, classes: str, seed: int) -> tuple[Ended, list[Any], list[Any], list[Any]] | None:
    """What the routine and what the step hand out, and the inputs after each; None where the routine declines."""
    numbers = numbers_of(machine.loop)
    if not numbers:
        return None
    one, other = (inputs_of(machine, classes, random.Random(seed)) for _ in range(2))
    ended = evaluate_routine(routine_of(machine, classes), one, numbers)
    if ended.status:
        return None
    with np.errstate(all="ignore"):
        return ended, by_schedule(machine, other, numbers), one, other
