"""What such a program is: a function whose arguments have about a given number of elements.

INVARIANT: the arguments of one size are the same at every call, over new memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import JaxForm

SIZES = (4096, 65_536, 1_000_000)


@dataclass(frozen=True, slots=True)
class KindProgram:
    """build: from a random generator and a number of elements to the arguments."""

    name: str
    fn: Callable[..., Any]
    build: Callable[[np.random.Generator, int], tuple[Any, ...]]

    def at(self, elements: int) -> SizedProgram:
        return SizedProgram(self, elements)


@dataclass(frozen=True, slots=True)
class SizedProgram:
    """A program at one size, as benchmarks/compare.py takes it."""

    program: KindProgram
    elements: int

    @property
    def name(self) -> str:
        return f"{self.program.name}:{self.elements}"

    @property
    def fn(self) -> Callable[..., Any]:
        return self.program.fn

    def make_args(self) -> tuple[Any, ...]:
        return self.program.build(np.random.default_rng(11), self.elements)

    def jax_form(self) -> JaxForm | None:
        return None


def square(elements: int, depth: int = 1) -> int:
    """The side of two equal axes, so that arrays with a third one of `depth` have about so many elements."""
    return max(4, round((elements / depth) ** 0.5))
