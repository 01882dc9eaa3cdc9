"""What a loop program is: a function with arguments of three sizes.

INVARIANT: the arguments of one size are the same at every call, over new memory.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import JaxForm

SIZES = ("tiny", "small", "middle")
Build = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """build: from a random generator and the numbers of a size to the arguments. tiny is for tests."""

    name: str
    fn: Callable[..., Any]
    build: Build
    tiny: tuple[int, ...]
    small: tuple[int, ...]
    middle: tuple[int, ...]

    def at(self, size: str) -> SizedProgram:
        return SizedProgram(self, size)


@dataclass(frozen=True, slots=True)
class SizedProgram:
    """A program at one size, as benchmarks/compare.py takes it."""

    program: LoopProgram
    size: str

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def fn(self) -> Callable[..., Any]:
        return self.program.fn

    def make_args(self) -> tuple[Any, ...]:
        return self.program.build(np.random.default_rng(7), *getattr(self.program, self.size))

    def jax_form(self) -> JaxForm | None:
        """Imports jax."""
        forms: dict[str, JaxForm] = importlib.import_module("benchmarks.loops.jax_forms").FORMS
        return forms.get(self.name)
