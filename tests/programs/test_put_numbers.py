"""Lists and dicts that get a number which something else holds, too: the same object twice, or one that lives on.

A chain of a sampler is the usual one: a rejected step appends the object that the step before appended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.programs.loop_cases import BACKENDS, OPTIONS, check, loops_left, registry, rng, vector

CASES, case = registry()


def generator(count: int, size: int) -> tuple[Any, ...]:
    return rng(size), count, 0.25 * size


@case(generator, versions=2)
def chain(g: Any, n: int, x: float) -> Any:
    states, accepted = [], 0
    for _ in range(n):
        new = x + g.normal(0.0, 0.8)
        if np.log(g.random()) < 0.5 * (x * x - new * new):
            x = new
            accepted += 1
        states.append(x)
    return states, accepted, x


@case(generator, versions=2)
def chain_with_its_start(g: Any, n: int, x0: float) -> Any:
    x, energy = x0, x0**4
    states, energies = [x], [energy]
    for _ in range(1, n):
        new = g.normal(x, 0.5)
        after = new**4 - new**2
        if g.random() < np.exp(energy - after):
            x, energy = new, after
        states.append(x)
        energies.append(energy)
    return states, energies, x, energy, x0


@case(generator, versions=2)
def chain_from_a_constant(g: Any, n: int, scale: float) -> Any:
    states = []
    x = 1.5
    for i in range(n):
        if g.random() < 0.5:
            x = g.normal(x, scale + 0.1)
        if i % 3 == 0:
            states.append(x)
    return states, x


@case(generator, versions=2)
def chain_from_a_draw(g: Any, n: int, scale: float) -> Any:
    x = g.normal(0.0, 1.0)
    states = [x]
    for _ in range(n):
        y = g.normal(x, scale + 0.1)
        if abs(y) < abs(x):
            x = y
        states.append(x)
    return states, x


@case(generator, versions=2)
def pairs(g: Any, n: int, x: float) -> Any:
    states, best = [], x
    for i in range(n):
        y = x + g.normal(0.0, 1.0)
        if y * y < x * x:
            x = y
        if x < best:
            best = x
        states.append((x, best))
        states.append([i, x])
    return states, x, best


@case(generator, versions=3)  # a list of one item, whose array has another size, apart
def under_keys(g: Any, n: int, x: float) -> Any:
    found, at = {}, [0.0] * n
    for i in range(n):
        y = x + g.normal(0.0, 1.0)
        if y * y < x * x:
            x = y
        found[i * 1000] = x
        at[i] = x
    return found, at, x


@case(generator, versions=2)
def thinned(g: Any, n: int, x: float) -> Any:
    states = []
    for _ in range(n):
        for _ in range(3):
            y = x + g.normal(0.0, 1.0)
            if y * y < x * x + 0.5:
                x = y
        states.append(x)
    return states, x


@case(generator, versions=2, loops=2)
def each_several_times(g: Any, n: int, x: float) -> Any:
    states, kept = [], x
    for _ in range(n):
        y = x + g.normal(0.0, 1.0)
        for _ in range(n):
            states.append(y)
            if y < kept:
                kept = y
        if y * y < x * x:
            x = y
        states.append(kept)
    return states, x, kept


@case(vector, versions=2)
def long_ints(x: Any, n: int) -> Any:
    largest, out = 1000, []
    for i in range(n):
        k = (i * 7919) % 3001
        if k > largest:
            largest = k
        out.append(largest)
        x = x + largest
    return out, largest, x


@case(vector, versions=2)
def exchanged(x: Any, n: int) -> Any:
    a, b, c, out = 0.5, 1.5, 2.5, []
    for i in range(n):
        a, b = b, a
        if i % 2:
            a, c = c, a + i
        out.append(a)
        x = x + b
    return out, a, b, c, x


@case(vector)
def counted(x: Any, n: int) -> Any:
    count, out = 1000, []
    for _ in range(n):
        count += 7
        out.append(count)
        x = x + count
    return out, count, x


@case(vector, versions=2)
def times(x: Any, n: int) -> Any:
    t, out = 0.0, [0.0]
    for _ in range(n):
        x = x + t
        t += 0.125
        out.append(t)
    return out, t, x


@case(lambda count, size: (rng(size), count, 0.25 * size, []), versions=2)
def list_from_outside(g: Any, n: int, x: float, states: list[Any]) -> Any:
    for _ in range(n):
        y = x + g.normal(0.0, 1.0)
        if y * y < x * x:
            x = y
        states.append(x)
    return x, list(states)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, backend: str) -> None:
    check(CASES[name], backend)


def objects(value: Any) -> list[Any]:
    """The numbers in a result, in order."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        return [one for part in value for one in objects(part)]
    return [] if isinstance(value, np.ndarray) else [value]


def which(value: Any) -> list[tuple[int, Any]]:
    """Of each number in a result, which one is the first that is the same object; small ints are one in any case."""
    first: dict[int, int] = {}
    return [(first.setdefault(id(one), place), one) for place, one in enumerate(objects(value))]


@pytest.mark.parametrize("every", [0, 1, 3])
@pytest.mark.parametrize("name", CASES)
def test_the_objects_are_those_of_plain_python(name: str, every: int) -> None:
    """Also where the loop is left between two iterations, and entered again."""
    one = CASES[name]
    fast = dynamo_lite.compile(one.fn, options={**OPTIONS, "recompile_limit": 100})
    with loops_left(every):
        for count in (3, 12, 1, 40, 0, 12):
            args, others = one.args(count, 6), one.args(count, 6)
            plain, compiled = one.fn(*args), fast(*others)
            assert which((plain, args[2:])) == which((compiled, others[2:]))


def test_a_chain_is_machine_code() -> None:
    fast = dynamo_lite.compile(chain)
    for _ in range(2):
        fast(*generator(2000, 3))
    assert fast.stats()["native_calls"] == 2 and not fast.stats()["declines"]
    (segment,) = fast._compilation.segments  # type: ignore[attr-defined]
    assert "kind=Objects" in str(segment.capture.graph)


def test_a_number_that_is_no_number_declines() -> None:
    def sums(x: Any, n: int) -> Any:
        out, total = [], 0.0
        for i in range(n):
            if x[i % 4] > 0.5:
                total = total + float(x[i % 4])
            out.append(total)
        return out, total

    fast = dynamo_lite.compile(sums, options=OPTIONS)
    for x in (np.array([1.0, 0.0, 2.0, 0.1]), np.array([1.0, np.inf, -np.inf, 2.0])):
        assert repr(which(sums(x, 9))) == repr(which(fast(x, 9)))
