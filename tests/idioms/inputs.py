"""What the idioms of table.py take, by parameter name, and the names that they find in their module."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from typing import Any

import numpy as np

Point = namedtuple("Point", "mean std")


class Model:
    """An object with state, as users write them."""

    def __init__(self) -> None:
        self.scale, self.shift, self.total = 2.0, 0.5, 0.0
        self.weights = np.linspace(0, 1, 50)

    def apply(self, x: Any) -> Any:
        return np.tanh(self.scale * x + self.shift)

    def step(self, x: Any) -> None:
        self.total += float(x[0])


def arguments() -> dict[str, Any]:
    """Fresh arguments; a size stands for many: 1200 is the length of most vectors."""
    rng = np.random.default_rng(20)
    vector = rng.normal(size=(3, 1200))
    square = rng.normal(size=(2, 24, 24))
    complex_ = rng.normal(size=(2, 512)) + 1j * rng.normal(size=(2, 512))
    return {
        "x": vector[0].copy(),
        "y": vector[1].copy(),
        "w": vector[2].copy(),
        "p": np.linspace(0.01, 0.99, 1200),
        "m": rng.normal(size=(60, 40)),
        "k": rng.normal(size=(60, 40)),
        "s": square[0].copy(),
        "t": square[1].copy(),
        "spd": square[0] @ square[0].T + 24 * np.eye(24),
        "img": rng.integers(0, 256, size=(48, 64, 3)).astype(np.uint8),
        "volume": rng.normal(size=(12, 10, 4)),
        "c": complex_[0].copy(),
        "z": complex_[1].reshape(16, 32).copy(),
        "f": vector[0].astype(np.float32),
        "i": rng.integers(0, 1200, size=1200),
        "j": rng.integers(0, 1200, size=1200),
        "u": rng.integers(0, 256, size=1200).astype(np.uint8),
        "mask": vector[2] > 0,
        "labels": rng.integers(0, 8, size=1200),
        "n": 12,
        "T": 20,
        "a": 0.75,
        "b": 1.25,
        "rows": [vector[0].copy(), vector[1].copy(), vector[2].copy()],
        "params": {"a": 2.0, "b": 0.5},
        "rng": np.random.default_rng(7),
        "text": "kitten",
        "obj": Model(),
    }


def namespace() -> dict[str, Any]:
    """The globals of an idiom's module."""
    return {
        "__name__": "idioms",
        "np": np,
        "math": math,
        "functools": functools,
        "TABLE": np.arange(16) * 0.5,
        "CONSTANTS": [0.1 * place for place in range(60)],
        "Point": Point,
    }
