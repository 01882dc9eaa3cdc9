"""Random programs over arrays, views, stores and reductions, the same for the same seed.

Enters a seed; leaves a function and its arguments. The function takes NumPy arrays or traced ones; every value it makes
stays bounded, so that few programs meet floating-point errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

UNARY = ("negative", "absolute", "sqrt", "exp", "sin", "square", "floor", "tanh", "rint")
BINARY = ("+", "-", "*", "/", "<", ">=", "==")


def random_program(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of three or four arguments, and the arguments."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(3, 7)), int(rng.integers(3, 9))
    order = "CF"[int(rng.integers(2))]
    first = np.asarray(rng.random((rows, columns)) + 0.5, order=order)
    second = rng.random((rows, columns)) + 0.5
    if rng.random() < 0.3:
        second = second.astype("f")
    third = rng.random(columns) + 0.5
    if rng.random() < 0.3:
        third = rng.integers(1, 5, columns)
    arguments: tuple[Any, ...] = (first, second, third, 0.75 if rng.random() < 0.5 else 2)
    script = [rng.random(4) for _ in range(int(rng.integers(4, 22)))]

    def run(a: Any, b: Any, c: Any, number: Any) -> Any:
        full = [a, b, a * 0.5]
        rest = [c]
        for kind, *choice in script:
            step(full, rest, number, kind, choice)
        return (*full[-3:], *rest[-2:], full[2], a)

    return run, arguments


def pick(items: Any, choice: float) -> Any:
    return items[int(choice * len(items))]


def bounded(value: Any) -> Any:
    return value / (1.0 + abs(value)) + 0.5


def step(full: list[Any], rest: list[Any], number: Any, kind: float, choice: list[float]) -> None:
    """One random statement."""
    one, other = pick(full, choice[0]), pick(full, choice[1])
    if kind < 0.15:
        full.append(bounded(getattr(np, pick(UNARY, choice[2]))(one)))
    elif kind < 0.4:
        full.append(apply(pick(BINARY, choice[2]), one, other))
    elif kind < 0.48:
        full.append(apply(pick(BINARY[:4], choice[2]), one, rest[0]))
    elif kind < 0.54:
        full.append(one * number + 0.25)
    elif kind < 0.6:
        full.append(np.where(one < other, one, other * 0.5))
    elif kind < 0.66:
        rest.append(one.sum(axis=int(choice[2] * 2)) * 0.125)
    elif kind < 0.7:
        full.append(one - one.max(axis=1, keepdims=True))
    elif kind < 0.74:
        rest.append(one.sum())
    elif kind < 0.8:
        full.append(one[::-1] + other)
    elif kind < 0.86:
        full[2][1:] = bounded(one[:-1])
    elif kind < 0.9:
        full[0][:, 1:] = full[0][:, :-1] * 0.5 + bounded(other)[:, 1:]
    elif kind < 0.94:
        target = full[0] if choice[2] < 0.5 else full[2]
        target *= 0.5
        target += bounded(other)
    elif kind < 0.97:
        full[2][...] = bounded(other)
    else:
        full[2][0] = rest[0]


def apply(symbol: str, one: Any, other: Any) -> Any:
    if symbol == "+":
        return bounded(one + other)
    if symbol == "-":
        return one - other
    if symbol == "*":
        return bounded(one * other)
    if symbol == "/":
        return one / (abs(other) + 0.5)
    compared = {"<": np.less, ">=": np.greater_equal, "==": np.equal}[symbol](one, other)
    return np.where(compared, one, 0.5)
