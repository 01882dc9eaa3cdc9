"""Fresh copies of arguments, so that the same call can be made twice without one run seeing the other's writes.

Enters: a tree of tuples, lists, dicts, sets, plain objects, arrays and scalars. Leaves: the same tree, new memory.
INVARIANT: dtype, shape, strides, flags, identity (one object twice stays one object) and overlap (two views of one
buffer stay two views of one buffer, at the same offsets) are those of the original.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype)
_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, slice, range)


def copies_of(*values: Any) -> Callable[[], tuple[Any, ...]]:
    """A ``make_args`` that hands out a fresh copy of `values` at every call."""
    kept = clone(values)
    return lambda: clone(kept)


def clone(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A copy of `value` over fresh memory; one memo keeps identity and overlap across several calls."""
    if memo is None:
        memo = {}
    if isinstance(value, _ATOMS + _SHARED):
        return value
    if id(value) in memo:
        return memo[id(value)][1]
    made = _copy(value, memo)
    memo[id(value)] = (value, made)  # keeps the original alive, so that its id stays its own
    return made


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        return _clone_array(value, memo)
    if kind is tuple:
        return tuple(clone(item, memo) for item in value)
    if kind in (list, dict, set):
        made: Any = kind()
        memo[id(value)] = (value, made)
        if kind is list:
            made.extend(clone(item, memo) for item in value)
        elif kind is dict:
            made.update((clone(key, memo), clone(item, memo)) for key, item in value.items())
        else:
            made.update(clone(item, memo) for item in value)
        return made
    if kind is types.MethodType:
        return types.MethodType(value.__func__, clone(value.__self__, memo))
    if type(kind) is type and hasattr(value, "__dict__") and _is_plain(kind):
        made = object.__new__(kind)
        memo[id(value)] = (value, made)
        made.__dict__.update({name: clone(item, memo) for name, item in value.__dict__.items()})
        return made
    return copy.deepcopy(value)


def _is_plain(kind: type) -> bool:
    reduce: Any = kind.__reduce_ex__
    return reduce is object.__reduce_ex__


def owner_of(array: Array) -> Array:
    """The array at the end of the chain of bases."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # as_strided puts an object of its own between a view and its base
        if not isinstance(base, np.ndarray):
            return array
        array = base


def _clone_array(array: Array, memo: dict[int, Any]) -> Array:
    owner = owner_of(array)
    if array.dtype.hasobject or owner.dtype.hasobject:
        return np.array(_objects(array, memo), dtype=array.dtype, order="K", copy=True)
    if owner is array:
        return _clone_owner(owner)
    if id(owner) not in memo:
        memo[id(owner)] = (owner, _clone_owner(owner))
    fresh: Array = memo[id(owner)][1]
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    writeable = fresh.flags.writeable
    if not writeable and fresh.base is None:
        fresh.flags.writeable = True
    made: Array = np.ndarray(array.shape, array.dtype, _flat_bytes(fresh), offset, array.strides)
    made.flags.writeable = array.flags.writeable
    if fresh.flags.writeable != writeable:
        fresh.flags.writeable = writeable
    return made


def _objects(array: Array, memo: dict[int, Any]) -> Array:
    made = array.copy(order="K")
    if array.dtype == object:
        flat, source = made.reshape(-1), array.reshape(-1)
        for index in range(source.size):
            flat[index] = clone(source[index], memo)
    return made


def _clone_owner(owner: Array) -> Array:
    if owner.base is not None:
        return _over_foreign_memory(owner)
    made = owner.copy(order="K")
    if made.strides != owner.strides or made.shape != owner.shape:
        raise TypeError(f"cannot copy an array of shape {owner.shape} and strides {owner.strides} with its layout")
    made.flags.writeable = owner.flags.writeable
    return made


def _over_foreign_memory(owner: Array) -> Array:
    if not isinstance(owner.base, bytes | bytearray | memoryview):
        raise TypeError(f"cannot copy an array over a {type(owner.base).__name__}: build it anew for each run")
    memory = bytearray(owner.base) if owner.flags.writeable else bytes(bytearray(owner.base))
    start = np.frombuffer(owner.base, np.uint8).__array_interface__["data"][0]
    offset = owner.__array_interface__["data"][0] - start
    return np.ndarray(owner.shape, owner.dtype, memory, offset, owner.strides)


def _flat_bytes(owner: Array) -> Array:
    """All bytes of a dense array in the order of memory, as a view."""
    order = sorted(range(owner.ndim), key=lambda axis: (-owner.strides[axis], -owner.shape[axis]))
    dense = owner.transpose(order)
    flat = dense.reshape(-1)
    if flat.size and not np.shares_memory(flat, owner):
        raise TypeError("the owner of an array's memory is not dense")
    return flat.view(np.uint8)
