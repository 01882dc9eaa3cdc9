"""Arguments of random programs: small specs that say what to build, and the building.

Enters: a list of specs (plain tuples, so that they print as Python source), sizes for the dimensions "n" and "m", a
seed. Leaves: an argument tuple. INVARIANT: the same specs, sizes and seed give the same bytes, layout and overlap.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Array = np.ndarray[Any, Any]
Spec: TypeAlias = tuple[Any, ...]
"""("array", dtype, shape, layout, fill) | ("view", index of an earlier array, how) | ("number", value) |
("float", text) | ("scalar", dtype, value) | ("tuple" or "list", specs...) | ("box", k, w) with two specs |
("dict", a, b) with two specs"""


class Box:
    """An object with a number, an array and methods."""

    gain = 1.5

    def __init__(self, k: Any, w: Any) -> None:
        self.k = k
        self.w = w

    def act(self, a: Any, by: float = 0.5) -> Any:
        return a * self.k + by

    def scaled(self) -> Any:
        return self.act(self.w) * self.gain


class Sub(np.ndarray[Any, Any]):
    """A subclass that changes nothing."""


LAYOUTS = ("C", "F", "strided", "reversed", "permuted", "padded", "read-only", "broadcast")
RARE_LAYOUTS = ("unaligned", "subclass", "expanded", "window")
VIEWS = ("same", "whole", "shifted", "tail", "reversed", "transposed")
FILLS = (*("tame", "positive") * 3, *("small integers", "nasty") * 2, "zeros")

_FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324, 2.2e-308, 1.7e308,
    -1.7e308, 1.0000000000000002, 1e-7, 1e30, 3.0, 1e16,
)  # fmt: skip
_PAYLOAD = {8: 0x7FF8000000000ABC, 4: 0x7FC00ABC, 2: 0x7E0B}


def build(specs: list[Spec], sizes: dict[str, int], seed: int) -> tuple[Any, ...]:
    """The arguments that `specs` describe."""
    rng = np.random.default_rng(seed)
    made: list[Any] = []
    for spec in specs:
        made.append(_build(spec, made, sizes, rng))
    return tuple(made)


def _build(spec: Spec, made: list[Any], sizes: dict[str, int], rng: np.random.Generator) -> Any:
    kind, *rest = spec
    if kind == "array":
        dtype, shape, layout, fill = rest
        return _array(np.dtype(dtype), tuple(sizes.get(dim, dim) for dim in shape), layout, fill, rng)
    if kind == "view":
        return _view(made[rest[0]], rest[1])
    if kind == "number":
        return rest[0]
    if kind == "float":  # as text, since nan is not a Python literal
        return float(rest[0])
    if kind == "scalar":
        with np.errstate(all="ignore"):
            return np.dtype(rest[0]).type(rest[1])
    items = [_build(item, made, sizes, rng) for item in rest]
    if kind == "box":
        return Box(*items)
    if kind == "dict":
        return dict(zip("ab", items, strict=True))
    return tuple(items) if kind == "tuple" else items


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], layout: str, fill: str, rng: np.random.Generator) -> Array:
    values = _values(dtype, math.prod(shape), fill, rng).reshape(shape)
    if not shape:
        return values
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "strided":
        buffer = np.zeros((*shape[:-1], 2 * shape[-1] + 1), dtype)
        view = buffer[..., 1::2]
    elif layout == "reversed":
        view = np.zeros(shape, dtype)[(slice(None, None, -1),) * len(shape)]
    elif layout == "permuted":
        view = np.zeros((*shape[1:], shape[0]), dtype).transpose(len(shape) - 1, *range(len(shape) - 1))
    elif layout == "padded":
        view = np.ndarray(shape, dtype, np.zeros(math.prod(shape) + 6, dtype), 2 * dtype.itemsize)
    elif layout == "broadcast":
        return np.broadcast_to(values[:1], shape)
    elif layout == "unaligned":
        view = np.ndarray(shape, dtype, np.zeros(math.prod(shape) * dtype.itemsize + 1, np.uint8), 1)
    elif layout == "subclass":
        return values.view(Sub)
    elif layout == "expanded":  # every other row of a transposed cube: no axis is contiguous, and they are out of order
        cube = np.zeros((*shape[::-1], 2), dtype)[..., 0].T
        view = cube
    elif layout == "window":  # elements that lie on one another
        return np.lib.stride_tricks.as_strided(values, shape, (dtype.itemsize,) * len(shape), writeable=True)
    else:
        values.flags.writeable = layout != "read-only"
        return values
    view[...] = values
    return view


def _view(array: Any, how: str) -> Any:
    if how == "same" or not isinstance(array, np.ndarray):
        return array
    if how == "shifted" and isinstance(array.base, np.ndarray) and array.base.size == array.size + 6:
        return np.ndarray(array.shape, array.dtype, array.base, 3 * array.itemsize)
    if how == "tail" and array.ndim:
        return array[1:]
    if how == "reversed" and array.ndim:
        return array[::-1]
    if how == "transposed":
        return array.T
    return array[...]


def _values(dtype: np.dtype[Any], count: int, fill: str, rng: np.random.Generator) -> Array:
    with np.errstate(all="ignore"):
        if fill == "zeros":
            return np.zeros(count, dtype)
        if dtype.kind == "b":
            return rng.random(count) < 0.5
        if dtype.kind in "iu":
            return _integers(dtype, count, fill, rng)
        if dtype.kind == "c":
            part = np.dtype(f"{dtype.byteorder}f{dtype.itemsize // 2}")
            made = np.empty(count, dtype)
            made.real, made.imag = _floats(part, count, fill, rng), _floats(part, count, fill, rng)
            return made
        return _floats(dtype, count, fill, rng)


def _integers(dtype: np.dtype[Any], count: int, fill: str, rng: np.random.Generator) -> Array:
    info = np.iinfo(dtype)
    if fill == "positive":
        return rng.integers(1, 100, count).astype(dtype)
    if fill == "nasty":
        choices = np.array([info.min, info.max, 0, 1, 2, info.max - 1, info.min + 1, 3, 7, 13], dtype)
        return choices[rng.integers(0, len(choices), count)]
    return rng.integers(-9, 10, count).astype(dtype)


def _floats(dtype: np.dtype[Any], count: int, fill: str, rng: np.random.Generator) -> Array:
    if fill == "small integers":
        return rng.integers(-4, 5, count).astype(dtype)
    if fill == "positive":
        return rng.uniform(0.1, 10.0, count).astype(dtype)
    made: Array = rng.normal(0.0, 2.0, count).astype(dtype)
    if fill == "nasty" and count:
        special = np.array(_FLOATS, np.float64).astype(dtype)
        where = rng.random(count) < 0.5
        made[where] = special[rng.integers(0, len(special), int(where.sum()))]
        if rng.random() < 0.3 and dtype.isnative and dtype.itemsize in _PAYLOAD:
            bits: Any = made.view(f"u{dtype.itemsize}")
            bits[rng.integers(0, count)] = _PAYLOAD[dtype.itemsize]
    return made
