"""Random kernels, the classes of their arrays, and arrays to run them on.

Enters a random generator; leaves Kernels whose operations are compiled or NumPy's loops, as the scheduler chooses them,
of floats, integers and bools, with values that set flags and are NaN.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from dynamo_lite.backends.kernels.loops import awkward_values

from dynamo_lite.program.element_ops import is_exact
from dynamo_lite.schedule.steps import Kernel, KernelOp

Array = np.ndarray[Any, Any]
BINARY = ("add", "subtract", "multiply", "divide", "less", "greater_equal", "equal", "minimum", "maximum", "copysign")
UNARY = ("negative", "absolute", "square", "sqrt", "sign", "floor", "isnan", "positive", "exp", "sin", "log")
INTEGER = ("add", "subtract", "multiply", "less", "bitwise_xor", "minimum")


class KernelMaker:
    """Values of a kernel under construction, by dtype."""

    def __init__(self, rng: random.Random, operand_dtypes: str) -> None:
        self.rng = rng
        self.dtypes = list(map(np.dtype, operand_dtypes))
        self.n_operands = len(operand_dtypes)
        self.ops: list[KernelOp] = []

    def add(self, name: str, *operands: int, to: str = "") -> int:
        ins = tuple(self.dtypes[value] for value in operands)
        if name in ("cast", "where"):
            outs: tuple[Any, ...] = (np.dtype(to),) if name == "cast" else (ins[1],)
        else:
            outs = tuple(getattr(np, name).resolve_dtypes((*ins, None)))[len(ins) :]
        op = KernelOp(name, operands, ins, outs)
        if not is_exact(name, ins, outs):
            op = KernelOp("loop", operands, ins, outs, getattr(np, name))
        self.ops.append(op)
        self.dtypes += outs
        return len(self.dtypes) - 1

    def of(self, dtype: str) -> int:
        """Some value of that dtype, cast if there is none."""
        found = [value for value, known in enumerate(self.dtypes) if known == np.dtype(dtype)]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found)
        kinds = "fi?" if np.dtype(dtype).kind == "f" else "i?" if np.dtype(dtype).kind == "i" else "?"
        sources = [value for value, known in enumerate(self.dtypes) if known.char in kinds + dtype]
        source = self.rng.choice(sources) if sources else 0
        if self.dtypes[source] == np.dtype(dtype):
            return source
        if dtype == "?":
            return self.add("isnan", source) if self.dtypes[source].kind == "f" else self.add("less", source, source)
        return self.add("cast", source, to=dtype) if self.dtypes[source].kind != "f" or dtype in "fd" else source

    def step(self, floats: str, loops: bool) -> None:
        """Add an operation."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.15:
            dtype = floats
            self.add("where", self.of("?"), self.of(dtype), self.of(dtype))
        elif kind < 0.3:
            a = self.of("l")
            if self.dtypes[a] == np.dtype("l"):
                self.add(rng.choice(INTEGER), a, a if rng.random() < 0.2 else self.of_same(a))
        else:
            name = rng.choice(BINARY + UNARY)
            if not loops and name in ("exp", "sin", "log"):
                name = "sqrt"
            a = self.of(floats)
            self.add(name, a, *([self.of_same(a)] if name in BINARY else []))

    def of_same(self, value: int) -> int:
        dtype = self.dtypes[value]
        return self.rng.choice([other for other, known in enumerate(self.dtypes) if known == dtype])


def random_kernel(rng: random.Random, loops: bool) -> Kernel:
    """A kernel of up to a dozen operations and three results."""
    floats = rng.choice("ddf")
    maker = KernelMaker(rng, floats + "".join(rng.choice([floats, floats, "l", "?"]) for _ in range(rng.randint(1, 3))))
    for _ in range(rng.randint(1, 12)):
        maker.step(floats, loops)
    values = range(len(maker.dtypes))
    results = tuple(rng.sample(values, min(len(values), rng.randint(1, 3))))
    if rng.random() < 0.8:
        results = (*results[:-1], len(maker.dtypes) - 1)
    return Kernel(tuple(maker.dtypes[: maker.n_operands]), tuple(maker.ops), results)


def dtypes_of(kernel: Kernel) -> list[np.dtype[Any]]:
    """Of each operand and result."""
    dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
    return [*kernel.operand_dtypes, *(dtypes[value] for value in kernel.results)]


def random_classes(rng: random.Random, kernel: Kernel, with_rows: bool) -> str:
    """A letter for each operand and result: some operand is no single number."""
    letters = "cccs00b" if with_rows else "ccccs00"
    while True:
        operands = "".join(rng.choice(letters) for _ in kernel.operand_dtypes)
        if set(operands) & set("cs"):
            return operands + "".join(rng.choice("ccs") for _ in kernel.results)


def array_of(rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, ...], letter: str, plain: bool) -> Array:
    """An array of awkward values (plain: of small ones) that lies as the class says: an axis for each index."""
    values = np.arange(1, 20).astype(dtype) if plain and dtype.kind != "b" else awkward_values(dtype)
    shape = {"0": (), "b": shape[:1]}.get(letter, shape)
    picked = np.array([rng.choice(values) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    if letter != "s":
        return np.ascontiguousarray(picked) if shape else picked.reshape(())
    wide = np.zeros((*shape[:-1], 3 * shape[-1]), dtype)
    wide[..., ::3] = picked
    return wide[..., ::3]
