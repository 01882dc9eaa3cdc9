"""Random programs of stencils: rolls, slices, stores into parts of arrays and in place, with bits and strides."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from tests.copies import copies_of
from tests.oracle import require_equal

STATEMENTS = (
    "{new} = {x} * 0.5 + {y}",
    "{new} = {x} - {y} * {z}",
    "{new} = np.sqrt(abs({x})) + 0.125",
    "{new} = np.roll({x}, {k}, {axis})",
    "{new} = np.roll({x}, 1, {axis}) - np.roll({x}, -1, {axis})",
    "{new} = np.roll({x} * 0.5, {k}, 0) + np.roll({x} * 0.5, 1, 1) + {y}",
    "{new} = np.maximum({x}, np.roll(np.roll({y}, {k}, 0), 1, 1))",
    "{new} = np.where({x} > {y}, np.roll({x}, 1, 1), np.exp(-abs({z})))",
    "{new} = np.roll({x}, 1, 0)[1:, :] * 0.5 - {y}[:-1]; {new} = np.concatenate(({new}, {x}[:1]))",
    "{new} = np.zeros_like({x}); {new}[:-1] = {x}[1:] - {x}[:-1]; {new}[1:] += {y}[:-1] * 0.25",
    "{new} = np.empty_like({x}); {new}[...] = np.roll({y}, {k}, {axis}); {new}[0] = 0.0",
    "{new} = {x} - {x}.sum(axis=0) * 0.125",
    "{new} = {x} + {y}[0] * {z}[:, :1]",
    "{x} += {y} * 0.25",
    "{x} -= np.roll({y}, {k}, {axis})",
    "{x} *= 0.5; {x} += np.roll({x}, 1, 0)",
    "{x}[1:-1] = ({y}[:-2] + {z}[2:]) * 0.5",
    "{x}[:, 1:] = {x}[:, :-1] * 0.5 + {y}[:, 1:]",
    "{x}[0] = {y}[-1]; {x}[:, -1] = {x}[:, 0]",
    "{x}[...] = 0.0; {x} += {y}",
    "{x}[:] = {y}; {y}[1:] = {z}[1:]",
)


def program(seed: int) -> Any:
    """A function of two arrays of one shape."""
    rng = random.Random(seed)
    names, lines = ["a", "b"], []
    for number in range(rng.randrange(3, 18)):
        new = f"v{number}"
        text = rng.choice(STATEMENTS)
        x, y, z = (rng.choice(names[-5:]) for _ in "xyz")
        lines.append(text.format(new=new, x=x, y=y, z=z, k=rng.choice((1, -1, 2)), axis=rng.choice((0, 1))))
        if "{new}" in text:
            names.append(new)
    shown = rng.sample(names, min(len(names), rng.randrange(1, 4)))
    source = "\n    ".join(["def run(a, b):", *lines, f"return {', '.join(shown)},"])
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    return namespace["run"]


def layouts(seed: int) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 7, 6)) + 0.25
    yield a, b
    yield np.asfortranarray(a), np.asfortranarray(b)
    if seed % 4 == 0:
        yield np.asfortranarray(a), b
        yield a[::-1, ::2], b[:, ::2]
        yield a.astype("f4"), b
        yield rng.random((2, 190, 181))
    if seed % 16 == 0:
        yield a[:1], b[:1]
        yield a[:, :1], b[:, 1:2]
        yield a[:2, :2], b[1:3, :2]
        yield a[:0], b[:0]


@pytest.mark.parametrize("seed", range(48))
def test_random_stencils(seed: int) -> None:
    for arrays in layouts(seed):
        options = {"options": {"cost_model": False, "recompile_limit": 100, "check": 1}}
        require_equal(program(seed), copies_of(*arrays), compile=dynamo_lite.compile, compile_options=options)
