"""Guards how long short axes are along which lowering takes arrays apart: of reductions and sums of products.

Enters a call in canonical form; leaves it as it is to be appended. A reduction along a few rows or columns is taken
apart by lower/columns.py, an einsum over a few products by lower/products.py: its operands have to lie packed for that,
which says in what order NumPy adds the products. Of constant places along one, lower/assemble.py makes stores.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.arrays.contiguity import is_packed
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import NumberValue
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import is_symbolic, make
from dynamo_lite.ops.calls import labels_of
from dynamo_lite.ops.index import axis_of_places, short_places
from dynamo_lite.ops.reductions import ONE_BY_ONE

_OF_ROWS = frozenset(((2, 1), (2, 0), (3, 2), (3, 0)))  # how many axes there are, and which one is reduced
MOST_PRODUCTS = 64
MANY = 64  # columns: beside fewer, few rows may as well be samples, of which there are others at the next call


def fix_short_axes(tracer: Tracer, bound: ops.Bound) -> ops.Bound:
    """The call, with guards on the sizes of its short axes."""
    if tracer.regions:
        return bound
    if bound.op == "reduce":
        _fix_rows(tracer, bound)
    elif (axis := axis_of_places(bound) if short_places(bound) is not None else None) is not None:
        _fix_axis(tracer, bound, axis)
    elif bound.op == "einsum" and _fix_labels(tracer, bound):
        return replace(bound, params=bound.params | {"packed": True})
    return bound


def _fix_rows(tracer: Tracer, bound: ops.Bound) -> None:
    (node,) = bound.args
    if not isinstance(node, Node) or len(bound.params["axes"]) != 1:
        return
    (axis,), shape = bound.params["axes"], node.array_type.shape
    if (len(shape), axis) not in _OF_ROWS or not is_symbolic(shape[axis]):
        return
    if not any(map(tracer.varies, shape)):
        sizes = [int(tracer.hint(size)) for size in shape]  # type: ignore[arg-type]
        others = sizes[:axis] + sizes[axis + 1 :]
        least = MANY if (len(shape), axis) == (2, 0) else sizes[axis] + 1
        is_short = min(others) >= least or (len(shape) == 3 and max(others) >= MANY)  # of many small matrices, too
        if sizes[axis] <= ONE_BY_ONE and is_short:
            tracer.specialise(NumberValue(None, shape[axis]))


def _fix_axis(tracer: Tracer, bound: ops.Bound, axis: int) -> None:
    """Fix the length of the short axis of which an index picks constant places."""
    (node, _) = bound.args
    assert isinstance(node, Node)
    size = node.array_type.shape[axis]
    is_open = is_symbolic(size) and not any(map(tracer.varies, node.array_type.shape))
    if is_open and int(tracer.hint(size)) <= ONE_BY_ONE:  # type: ignore[arg-type]
        tracer.specialise(NumberValue(None, size))


def _fix_labels(tracer: Tracer, bound: ops.Bound) -> bool:
    """Whether the call is one of a few products whose operands lie packed, of one type but for integers."""
    nodes = [arg for arg in bound.args if isinstance(arg, Node)]
    terms, result = labels_of(bound)
    shapes = [node.array_type.shape for node in nodes]
    dtypes = [node.array_type.dtype for node in nodes]
    common = np.result_type(*dtypes)
    if common.char not in "fd" or any(one != common and one.kind not in "iu" for one in dtypes) or not all(shapes):
        return False
    if list(map(len, terms)) != list(map(len, shapes)):
        return False
    labelled = [pair for one in zip(terms, shapes, strict=True) for pair in zip(*one, strict=True)]
    sizes = dict(labelled)
    if 1 in sizes.values() or any(map(tracer.varies, sizes.values())):
        return False
    hints = {label: int(tracer.hint(size)) for label, size in sizes.items()}  # type: ignore[arg-type]
    short = {label for label, hint in hints.items() if 1 < hint <= ONE_BY_ONE}
    long = hints.keys() - short
    count = 1
    for label in short:
        count *= hints[label]
    if not long or not long <= set(result) or not hints.keys() - set(result) or count > MOST_PRODUCTS:
        return False
    if not all(is_packed(tracer, node, "C") for node in nodes):
        return False
    for label, size in labelled:
        if label in short and is_symbolic(size):
            tracer.specialise(NumberValue(None, size))
        elif label in long and not tracer.relate(make("ge", size, 2)):
            return False
    return True


__all__ = ["fix_short_axes"]
