"""Lists that get a NumPy scalar or an array again, in machine code: the object that they got before, or a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.schedule.steps import Loop
from tests.programs.loop_cases import OPTIONS, loops_left


def spins(g: Any, x: Any, n: int) -> Any:
    """The sum is another one in some iterations only."""
    total = x.sum()
    sums = [total]
    for i in range(n):
        if g.random() < 0.5:
            x[i % len(x)] = -x[i % len(x)]
            total = total + 2 * x[i % len(x)]
        sums.append(total)
    return sums, total


def thinned(g: Any, x: Any, n: int) -> Any:
    energy, kept = x[0], []
    for i in range(n):
        if g.random() < 0.6:
            energy = energy * 0.5 + x[i % len(x)]
        if i % 3 == 0:
            kept.append(energy)
    return kept, energy


def either_list(g: Any, x: Any, n: int) -> Any:
    level, low, high = x[0], [], []
    for i in range(n):
        new = level + x[i % len(x)] - 0.5
        if g.random() < 0.4:
            level = new
        if level < x[1]:
            low.append(level)
        else:
            high.append(level)
            high.append(level)
    return low, high, level


def nested(g: Any, x: Any, n: int) -> Any:
    value, states = x[0], []
    for _ in range(n):
        for j in range(len(x)):
            if x[j] < g.random():
                value = value * 0.9 + x[j]
        states.append(value)
    return states, value


def in_the_inner_loop(g: Any, x: Any, n: int) -> Any:
    value, states = x[0], []
    for _ in range(n):
        for j in range(len(x)):
            if x[j] < g.random():
                value = value * 0.9 + x[j]
            states.append(value)
    return states, value


def vectors(g: Any, x: Any, n: int) -> Any:
    states = []
    energy = np.sum(x * x)
    for _ in range(n):
        y = x + 0.3 * g.standard_normal(len(x))
        after = np.sum(y * y)
        if np.log(g.random()) < 0.5 * (energy - after):
            x, energy = y, after
        states.append(x)
    return states, x, energy


def before_and_after(g: Any, x: Any, n: int) -> Any:
    value, states = x[0], []
    for i in range(n):
        states.append(value)
        if g.random() < 0.5:
            value = value + x[i % len(x)]
        states.append(value)
    return states, value


def a_number_at_first(g: Any, x: Any, n: int) -> Any:
    """Python's at first, NumPy's after the first step that is taken."""
    state, states = 0.25, []
    for _ in range(n):
        new = np.float64(state) + x[0] * g.normal()
        if np.log(g.random()) < 0.5 * (state**2 - new**2):
            state = new
        states.append(state)
    return states, state


def constants(g: Any, x: Any, n: int) -> Any:
    steps, flags = [], []
    for i in range(n):
        if x[i % len(x)] < 0.5:
            steps.append(0.125)
            flags.append(True)
        else:
            steps.append(1000)
            flags.append(False)
        flags.append(3)
    return steps, flags


# In these two names may be the object that an append makes: no machine code.
def also_the_best(g: Any, x: Any, n: int) -> Any:
    value = best = x[0]
    states = []
    for i in range(n):
        if g.random() < 0.5:
            value = value + x[i % len(x)] - 0.5
        if value < best:
            best = value
        states.append(value)
    return states, value, best


def the_one_before(g: Any, x: Any, n: int) -> Any:
    value, states = x[0], []
    for i in range(n):
        last = value
        if g.random() < 0.5:
            value = value + x[i % len(x)]
        states.append(last)
        states.append(value)
    return states, value


MACHINE = (spins, thinned, either_list, nested, in_the_inner_loop, vectors, a_number_at_first, constants)
OTHERS = (before_and_after, also_the_best, the_one_before)


def arguments(n: int, size: int) -> tuple[Any, ...]:
    return np.random.default_rng(size), np.random.default_rng(size + 1).random(size), n


def objects(value: Any) -> Any:
    """Which objects a result has, arrays as numbers are."""
    if isinstance(value, list | tuple):
        return [one for part in value for one in objects(part)]
    return [value]


@pytest.mark.parametrize("every", [0, 1, 4])
@pytest.mark.parametrize("fn", [*MACHINE, *OTHERS])
def test_the_objects_are_those_of_plain_python(fn: Callable[..., Any], every: int) -> None:
    fast = dynamo_lite.compile(fn, options={**OPTIONS, "recompile_limit": 100})
    with loops_left(every):
        for count, size in ((12, 4), (3, 4), (1, 6), (60, 5), (0, 5), (12, 4)):
            plain, compiled = fn(*arguments(count, size)), fast(*arguments(count, size))
            first: tuple[dict[int, int], dict[int, int]] = {}, {}
            for place, pair in enumerate(zip(objects(plain), objects(compiled), strict=True)):
                one, other = (known.setdefault(id(value), place) for known, value in zip(first, pair, strict=True))
                assert one == other and type(pair[0]) is type(pair[1]), place
                assert np.array(pair[0]).tobytes() == np.array(pair[1]).tobytes()


@pytest.mark.parametrize("fn", MACHINE)
def test_it_is_machine_code(fn: Callable[..., Any]) -> None:
    fast = dynamo_lite.compile(fn)
    fast(*arguments(50, 5))
    segment = fast._compilation.segments[-1]  # type: ignore[attr-defined]
    loops = [step for step in segment.program.schedule.steps if isinstance(step, Loop)]
    assert [loop.machine is not None for loop in loops] == [True]
