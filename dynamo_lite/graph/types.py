"""What a node of a graph yields: an array of known dtype and symbolic shape."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import Dim, Scalar, is_symbolic, kind_of

MAX_DIMS = abi.MAX_DIMS
NUMBER_DTYPES: dict[type, np.dtype[np.generic]] = {
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    bool: np.dtype(np.bool_),
}
_KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool}


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A NumPy value: ``scalar`` tells a NumPy scalar (``np.float64(1)``) from a 0-d array.

    dtype: native byte order. shape: one Dim an axis; equal Dims are equal sizes at every call that passes the guards,
    and an axis of size 1 is always the constant 1 (broadcasting is decided at capture). In the body of a loop a size
    that depends on the index may be 1 in some iterations: it broadcasts with nothing but itself and the constant 1.
    """

    dtype: np.dtype[np.generic]
    shape: tuple[Dim, ...]
    scalar: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"{self.dtype.name}{'' if self.scalar else f'[{dims}]'}"


LIST = ArrayType(np.dtype(object), (), True)  # a Python list or dict, or what a list holds, as an object (ops/lists.py)


def number_type(number: Scalar) -> ArrayType:
    """The NumPy scalar that a loop hands out for a number that it carries."""
    return ArrayType(NUMBER_DTYPES[_KINDS[kind_of(number)]], (), True)


GENERATOR = ArrayType(np.dtype(object), ())  # a random generator, which the program draws from (ops/draws.py)


def identity_of(number: object) -> Hashable:
    """A key that no other static number has. NB: 0, False, 0.0 and -0.0 are equal, and NaNs with other bits have one
    text."""
    if is_symbolic(number):
        key: Hashable = number
        return key
    exact = isinstance(number, float | complex | np.generic)
    return type(number), np.asarray(number).tobytes() if exact else repr(number)
