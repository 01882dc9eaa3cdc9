"""Random loops over elementwise arithmetic, of the kind that one kernel runs, and arguments of every layout.

`source(seed)` is the text of a function f(x, y, a, b, k, r, n), `arguments(seed, n, ...)` makes its arguments: x and y
that are carried; a and b that broadcast to them; k whose elements are read, r whose rows. Values grow and shrink as
they like: some loops overflow, or divide by zero, in the midst.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = ("float64", "float64", "float64", "float32", "int64", "int32", "uint8", "bool", "complex128", "int8")
SHAPES = ((2, 3), (7,), (33,), (1,), (), (0, 3), (5, 1, 7), (40, 3), (130,), (4, 9))
LAYOUTS = ("C", "F", "strided", "reversed", "broadcast", "transposed")
_FLOAT = (
    "{v} = {v} + r[i % 3] * 0.1",
    "r[i % 4] = {v} * 0.5; {v} = {v} - 0.25 * {w}",
    "r[i % 4] = r[(i + 1) % 4] * 0.5 + {v}",
    "r[i % 4] += {v} * {w}",
    "{v} = {v} * 0.5 + k[i % 3]",
    "{v} += k[-1] * {w}",
    "{v} = {v} * (k[i % 2] / (k[2] + 1)) + k[1] * 0.5",
    "{v} += {w}",
    "{v} *= 0.75; {u} -= 0.1 * {v}",
    "{v}[...] = {w} * {n}",
    "np.add({v}, {w}, out={u})",
    "a += {v}",
    "{v} += {v} > {w}",
    "{v} = {v} + {n}",
    "{v} = {v} * {w}",
    "{v} = {v} * 0.5 + {w}",
    "{v} = {v} - ({v} * {v} - {w}) / (2 * {v})",
    "{v} = {w} - {v} / {u}",
    "{v} = np.sqrt({v}) * {w}",
    "{v} = np.where({v} > {w}, {u}, {v} * 1.25)",
    "{v} = 3.75 * {v} * (1 - {v})",
    "t = {v} - {w}; {u} = t * t + {n}",
    "{v} = -{v} + {n}",
    "{v} = abs({v}) - {w}",
    "{v}, {u} = {u}, {v} + {w}",
    "{v} = np.floor({v} * {n})",
    "{v} = {v} + i * 0.125",
    "{v} = {v} / (i + 1)",
    "{v} = {v} + s; s = s * 0.5 + 1",
    "{v} = np.exp({v} * 0.001) + {w}",
    "{v} = np.maximum({v}, {w}) * 0.75",
    "{v} = {v} * 1.5",
    "{v} = np.square({v}) * 0.25",
    "{v} = {v}.copy()",
    "{v} = np.copysign({v}, {w}) + {u}",
    "{v} = np.minimum(np.sin({v}), {w})",
    "{v} = 1.0 / ({v} - i)",
)
_INT = (
    "{v} = {v} + r[i % 3]",
    "r[i % 4] = {v}; {v} = {v} * 3",
    "{v} = {v} + k[i % 3]",
    "{v} += {w}",
    "{v} *= {m}; {u} -= {w}",
    "{v}[...] = {u} + {w}",
    "{v} = {v} + {m}",
    "{v} = {v} * {w}",
    "{v} = {v} - {w} * {m}",
    "{v} = {v} ^ {w}",
    "{v} = ({v} & {w}) | {u}",
    "{v} = ~{v}",
    "{v} = np.where({v} > {w}, {u}, {v} * {m})",
    "{v} = np.maximum({v}, {w}) - {u}",
    "{v}, {u} = {u}, {v} + {w}",
    "{v} = {v} + i",
    "{v} = {v} * (i + 1) - {w}",
    "{v} = {v} << 1",
    "{v} = abs({v}) + {m}",
    "{v} = {v} // 2 + {w}",
    "t = {v} - {w}; {u} = t * t",
)
_BOOL = (
    "{v} = {v} ^ {w}",
    "{v} = {v} & {w} | {u}",
    "{v} = ~{v}",
    "{v}, {u} = {u}, {v} | {w}",
    "{v} = np.where({w}, {u}, ~{v})",
    "{v} = np.logical_and({v}, {w})",
)
_COMPLEX = (
    "{v} = {v} * {v} + {w}",
    "{v} = {v} + {n}",
    "{v} = {v} * 0.5 - {w}",
    "{v}, {u} = {u}, {v} * {w}",
    "{v} = np.conjugate({v}) + i",
)
_STATEMENTS = {"f": _FLOAT, "i": _INT, "u": _INT, "b": _BOOL, "c": _COMPLEX}


def dtype_of(seed: int) -> np.dtype[Any]:
    """What the function's arrays are made of."""
    return np.dtype(DTYPES[seed % len(DTYPES)])


def source(seed: int) -> str:
    """The text of a function."""
    pick = random.Random(seed)
    statements = _STATEMENTS[dtype_of(seed).kind]
    bounds = pick.choice(("n", "n", "1, n + 1", "n, 0, -1"))
    lines = ["def f(x, y, a, b, k, r, n):", "    s = 0.5", f"    for i in range({bounds}):"]
    for _ in range(pick.choice((1, 1, 2, 3, 4))):
        names = [pick.choice(("x", "y")), pick.choice(("x", "y", "a", "b")), pick.choice(("x", "y"))]
        number, whole = pick.choice(("1.0", "0.1", "2", "-0.75", "1e10")), pick.choice(("1", "2", "3", "5"))
        lines.append("        " + pick.choice(statements).format(v=names[0], w=names[1], u=names[2], n=number, m=whole))
    lines.append("    return x, y")
    return "\n".join(lines) + "\n"


def function(seed: int) -> Callable[..., Any]:
    """The function itself."""
    space: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(compile(source(seed), f"<random iterations {seed}>", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def arguments(seed: int, n: int, shape: tuple[int, ...], layout: str) -> tuple[Any, ...]:
    """Arguments for n iterations."""
    rng, dtype = np.random.default_rng(seed), dtype_of(seed)
    x, y = (_array(rng, dtype, shape, layout if k == seed % 2 else "C") for k in range(2))
    a = _array(rng, dtype, shape, layout)
    b = _array(rng, dtype, shape[len(shape) // 2 :], "C")
    if seed % 7 == 3:
        y = x
    if seed % 7 == 4:
        a = x[...] if shape else x
    if seed % 11 == 5 and dtype.kind == "f" and x.size > 1:
        for number, array in enumerate((x, b)):  # two NaNs that are told apart by their bits
            if array.flags.writeable:
                array[(-1,) * array.ndim] = np.array(-1 - number, f"i{dtype.itemsize}").view(dtype)
    return x, y, a, b, _array(rng, dtype, (4,), "C")[:3], _array(rng, dtype, (4, *shape), ("C", "F")[seed % 3 // 2]), n


def _array(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], layout: str) -> Any:
    wide = tuple(2 * size for size in shape) if layout == "strided" else shape
    wide = wide[::-1] if layout == "transposed" else wide
    if layout == "broadcast" and shape:
        wide = (*shape[:-1], 1)
    if dtype.kind in "iub":
        values = rng.integers(0, 2 if dtype.kind == "b" else 100, wide).astype(dtype)
    else:
        values = (rng.random(wide) * 2).astype(dtype)
        if dtype.kind == "c":
            values = (values * (0.25 + 0.5j)).astype(dtype)
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "strided":
        return values[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "reversed":
        return values[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "transposed":
        return values.T
    return np.broadcast_to(values, shape) if layout == "broadcast" else values
