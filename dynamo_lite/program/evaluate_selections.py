"""What the functions of csrc/selections.c mean, for evaluate_loop.py: by NumPy's own functions.

Enters the operands of a Helper, of a place in memory an array of its first element; leaves its result. ValueError where
the function of C fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo_lite.program.evaluate import Array
from dynamo_lite.program.evaluate_memory import array_at

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
    _packed(out, n)[...] = np.argsort(_packed(x, n), kind=_KINDS[int(kind)])  # type: ignore[call-overload]


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
    "move_selected": _move_selected,
    "order": _order,
    "unique": _unique,
    "bins": _bins,
    "count_each": _count_each,
    "weigh": _weigh,
    "fill_evenly": lambda type_num, out, n: _fill_evenly(type_num, out, n) if n > 2 else None,
}
