"""What the functions of csrc/arrays/selections.c mean, for evaluate_loop.py: by NumPy's own functions.

Enters the operands of a Helper, of a place in memory an array of its first element; leaves its result. ValueError where
the function of C fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.program.evaluate import Array
from dynamo_lite.program.evaluate_memory import array_at, array_over

_KINDS = ("quicksort", "heapsort", "stable")


def _packed(first: Array, n: Any) -> Array:
    return array_at(first, (n,), (first.itemsize,))


def _nonzero(
    type_num: Any, x: Array, rows: Any, n: Any, row_stride: Any, stride: Any, pairs: Any, out: Array
) -> Any:
    elements = array_at(x, (rows, n), (row_stride, stride))
    at = np.argwhere(elements) if pairs else np.flatnonzero(elements)
    _packed(out, at.size)[...] = at.ravel()
    return len(at)


def _mark(mask: Array, rows: Any, n: Any, row_stride: Any, stride: Any, out: Array) -> Any:
    return np.count_nonzero(array_at(mask, (rows, n), (row_stride, stride)))


def _move_selected(
    puts: Any,
    packed: Array,
    packed_stride: Any,
    packed_inner: Any,
    x: Array,
    rows: Any,
    n: Any,
    row_stride: Any,
    stride: Any,
    inner: Any,
    inner_stride: Any,
    itemsize: Any,
    mask: Array,
    mask_row_stride: Any,
    mask_stride: Any,
    notes: Array,
    count: Any,
) -> None:
    bools = array_at(mask, (rows, n), (mask_row_stride, mask_stride))
    elements = array_at(x, (rows, n, inner), (row_stride, stride, inner_stride))
    others = array_at(packed, (count, inner), (packed_stride, packed_inner))
    if puts:
        elements[bools] = others
    else:
        others[...] = elements[bools]


def _order(type_num: Any, kind: Any, x: Array, n: Any, out: Array) -> None:
    _packed(out, n)[...] = np.argsort(_packed(x, n), kind=_KINDS[int(kind)])  # type: ignore[arg-type]


def _unique(
    type_num: Any,
    by_order: Any,
    x: Array,
    n: Any,
    order: Array,
    out: Array,
    first: Array,
    inverse: Array,
    counts: Array,
) -> Any:
    elements = _packed(x, n)
    zeros = elements[elements == 0]
    if x.dtype.kind == "f" and (np.isnan(elements).any() or len(set(np.signbit(zeros).tolist())) > 1):
        return -1
    found, *others = np.unique(elements, return_index=True, return_inverse=True, return_counts=True)
    for place, given in zip((out, first, inverse, counts), (found, *others), strict=True):
        if by_order or given is found:
            _packed(place, given.size)[...] = given.ravel()
    return len(found)


def _offsets(adds: Any, out: Array, indices: Array, m: Any, stride: Any, kind: Any, n: Any, apart: Any) -> None:
    numbers = array_at(indices, (m,), (stride,)).astype(object)
    if any(not -n <= number < n for number in numbers):
        raise IndexError("out of range")
    offsets = [(number + (int(n) if number < 0 else 0)) * int(apart) for number in numbers]
    _packed(out, m)[...] = np.array(offsets, np.int64) + (_packed(out, m) if adds else 0)


def _move_at(
    puts: Any,
    even: Array,
    even_stride: Any,
    even_inner: Any,
    x: Array,
    offsets: Array,
    count: Any,
    inner: Any,
    inner_stride: Any,
    itemsize: Any,
) -> None:
    rows = array_at(even, (count, inner), (even_stride, even_inner))
    for row, offset in zip(rows, _packed(offsets, count).tolist(), strict=True):
        there = array_over(x.ctypes.data + offset, (int(inner),), (int(inner_stride),), x.dtype)
        target, source = (there, row) if puts else (row, there)
        target[...] = source


def _add_at(
    type_num: Any, subtracts: Any, x: Array, offsets: Array, count: Any, values: Array, stride: Any
) -> None:
    add = np.subtract if subtracts else np.add
    for value, offset in zip(array_at(values, (count,), (stride,)), _packed(offsets, count).tolist(), strict=True):
        there = array_over(x.ctypes.data + offset, (), (), x.dtype)
        if np.isnan(value) and np.isnan(there):
            raise ArithmeticError("which NaN it is")
        add(there, value, out=there)


def _among(type_num: Any, inverts: Any, out: Array, x: Array, others: Array) -> None:
    _packed(out, len(x))[...] = np.isin(x, others, invert=bool(inverts))


def _set_of(type_num: Any, which: Any, x: Array, n: Any, y: Array, m: Any, out: Array) -> Any:
    one, other = _packed(x, n).tolist(), _packed(y, m).tolist()
    parts = {abi.SET_FIRST: set(one) - set(other), abi.SET_BOTH: {*one} & {*other}, abi.SET_SECOND: {*other} - {*one}}
    found = sorted(element for bit, part in parts.items() if which & bit for element in part)
    _packed(out, len(found))[...] = found
    return len(found)


def _roll(
    out: Array, x: Array, rows: Any, n: Any, row_stride: Any, stride: Any, size: Any, by_rows: Any, by: Any
) -> None:
    turned = np.roll(array_at(x, (rows, n), (row_stride, stride)), (int(by_rows), int(by)), (0, 1))
    array_at(out, (rows, n), (n * size, size))[...] = turned


def _product_of(x: Array) -> Any:
    result = np.multiply.reduce(x)
    if np.isnan(result):
        raise ArithmeticError("which NaN it is")
    return result


def _extremes(type_num: Any, least: Any, out: Array, x: Array) -> None:
    if x.dtype.kind == "f" and (np.isnan(x).any() or len(set(np.signbit(x[x == 0]).tolist())) > 1):
        raise ArithmeticError("which zero or NaN it is")
    _packed(out, len(x))[...] = (np.minimum if least else np.maximum).accumulate(x)


def _search_all(type_num: Any, ups: Any, a: Array, n: Any, keys: Array, count: Any, out: Array) -> None:
    vector, wanted = _packed(a, n), _packed(keys, count)
    if np.isnan(vector).any() or np.isnan(wanted).any() or (vector[1:] < vector[:-1]).any():
        raise ValueError("numbers that do not grow")
    _packed(out, count)[...] = np.searchsorted(vector, wanted, "right" if ups else "left")


def _interpolate(x: Array, count: Any, xp: Array, fp: Array, n: Any, places: Array, out: Array) -> None:
    vector = _packed(xp, n)
    result = np.interp(_packed(x, count), vector, _packed(fp, n))
    if np.isnan(result).any() or (vector[1:] < vector[:-1]).any():
        raise ValueError("numbers that do not grow")
    _packed(out, count)[...] = result


def _bins(x: Array, n: Any, stride: Any, least: Any) -> Any:
    numbers = array_at(x, (n,), (stride,))
    if not len(numbers):
        return least
    return -1 if numbers.min() < 0 else max(int(numbers.max()) + 1, int(least))


def _count_each(x: Array, n: Any, stride: Any, out: Array, bins: Any) -> None:
    _packed(out, bins)[...] = np.bincount(array_at(x, (n,), (stride,)), minlength=int(bins))


def _weigh(x: Array, n: Any, stride: Any, weights: Array, out: Array, bins: Any) -> None:
    _packed(out, bins)[...] = np.bincount(array_at(x, (n,), (stride,)), weights, minlength=int(bins))


def _fill_evenly(type_num: Any, out: Array, n: Any) -> None:
    elements = _packed(out, n)
    start, second = elements[0], elements[1]
    elements[2:] = start + np.arange(2, int(n)).astype(out.dtype) * (second - start)


SELECTIONS: dict[str, Callable[..., Any]] = {
    "nonzero": _nonzero,
    "mark": _mark,
    "product_of": _product_of,
    "extremes": _extremes,
    "search_all": _search_all,
    "interpolate": _interpolate,
    "among": _among,
    "set_of": _set_of,
    "roll": _roll,
    "offsets": _offsets,
    "move_at": _move_at,
    "add_at": _add_at,
    "move_selected": _move_selected,
    "order": _order,
    "unique": _unique,
    "bins": _bins,
    "count_each": _count_each,
    "weigh": _weigh,
    "fill_evenly": lambda type_num, out, n: _fill_evenly(type_num, out, n) if n > 2 else None,
}
