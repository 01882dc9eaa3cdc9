"""Indexing by masks: which mask selects how many elements, as a Symbol that the run yields.

Enters an array, a mask and, for a store, what is stored. Leaves nodes of ops/masks.py. ``z[m] = f(z[m], c[m])`` fits
since the three masks select alike: a mask is counted once, and found again while it is the same node, or the same
expression of the same operands, and nothing has been stored since into memory that it shows or was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite.capture.state import Tracer
from dynamo_lite.capture.value import Break
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import origins, written
from dynamo_lite.graph.scalar import Symbol, is_scalar, kind_of, make
from dynamo_lite.graph.types import ArrayType

MOST_COUNTS = 100  # in one graph: csrc/builder/build_loop.c tells fewer than 255 stages of numbers apart
_DEEPEST = 8  # of expressions that are compared


@dataclass(frozen=True, slots=True)
class Selection:
    """What a mask of an index selects from. x: a view of the array that is indexed, with the mask's axes in front; at:
    where the axis of what is selected stands in the result."""

    x: Node
    mask: Node
    at: int


def selection(tracer: Tracer, x: Node, index: tuple[Any, ...]) -> Selection | None:
    """What an index of `x` selects by one mask, beside numbers, slices, new axes and an ellipsis, or None.
    Raises OpError where a number or a slice has no rule.

    ``x[1:, mask, k]`` is ``x[1:, ..., k]`` with the mask's axes in front, by the mask; the axis that this makes goes
    behind that of ``1:``. So is ``x[mask, None]`` the view ``x[:, None]`` by the mask.
    """
    places = [place for place, entry in enumerate(index) if ops.masks.is_mask(entry)]
    others = [entry for entry in index if entry is not ... and not ops.masks.is_mask(entry)]
    if len(places) != 1 or len(index) - len(others) > 2 or not all(map(_is_plain, others)):
        return None
    mask = index[places[0]]
    covered = mask.array_type.ndim
    used = covered + sum(entry is not None for entry in others)
    if used > x.array_type.ndim:
        return None
    if places[0] == 0 and all(entry == _WHOLE for entry in others):
        return Selection(x, mask, 0)
    rest = [_WHOLE] * (x.array_type.ndim - used)
    basic: list[Any] = []
    selects: list[bool] = []  # whether an entry takes part in the selection; NumPy takes numbers for arrays
    first = before = 0  # the first of the mask's axes in what the others leave; how many axes are before the selection
    for entry in index:
        taken = [_WHOLE] * covered if entry is mask else rest if entry is ... else [entry]
        if entry is mask:
            first = sum(one is None or isinstance(one, slice) for one in basic)
        kept = entry is None or entry is ... or isinstance(entry, slice)
        if kept and True not in selects:
            before += len(taken)
        selects.append(not kept)
        basic += taken
    number = sum(selects)
    together = all(selects[selects.index(True) :][:number])
    graph, here = tracer.graph, tracer.location()
    with tracer.demands(of_slices=True):
        view = _node(ops.apply(graph, ops.index(x, tuple(basic), scalar=False), here, tracer.relate))
    return Selection(_to_front(tracer, view, first, covered), mask, before if together else 0)


_WHOLE = slice(None)


def instead_of_places(tracer: Tracer, x: Node, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with a mask instead of the places where np.nonzero, or np.where, has found it true: ``x[np.where(m)]``.
    As it is where there are others, the mask may have changed since, or the array has another size."""
    if not index or not all(isinstance(entry, Node) and entry.op == "tuple_get" for entry in index):
        return index
    (found, *others) = dict.fromkeys(entry.args[0] for entry in index)
    nodes = tracer.graph.nodes
    if others or not isinstance(found, Node) or found.op != "nonzero" or found not in nodes:
        return index
    (mask,) = found.args
    if not isinstance(mask, Node) or not ops.masks.is_mask(mask) or x.array_type.ndim < mask.array_type.ndim:
        return index
    if [entry.params["index"] for entry in index] != list(range(mask.array_type.ndim)):
        return index
    places = {node: place for place, node in enumerate(nodes)}
    since = nodes[places[found] :]
    if not all(_disjoint(written(node), origins(mask), places) for node in since if _writes(node)):
        return index
    for size, own in zip(mask.array_type.shape, x.array_type.shape, strict=False):
        same = make("eq", size, own)
        if tracer.varies(same) or not tracer.relate(same):
            return index
    return (mask,)


def _is_plain(entry: Any) -> bool:
    """Whether it is a slice, a number or a new axis, which says nothing of the size of what is selected."""
    is_int = isinstance(entry, np.integer) or (is_scalar(entry) and kind_of(entry) == "int")
    return is_int or entry is None or isinstance(entry, slice)


def _node(found: Any) -> Node:
    assert isinstance(found, Node)
    return found


def _to_front(tracer: Tracer, x: Node, first: int, count: int) -> Node:
    """x with `count` axes from `first` on in front of all others."""
    moved = list(range(first, first + count))
    return _transposed(tracer, x, moved + [axis for axis in range(x.array_type.ndim) if axis not in moved])


def _transposed(tracer: Tracer, x: Node, axes: list[int]) -> Node:
    if axes == sorted(axes):
        return x
    return ops.call(tracer.graph, "transpose", (x,), {"axes": tuple(axes)}, tracer.location(), tracer.relate)


def get(tracer: Tracer, chosen: Selection) -> Node:
    """What a mask selects; raises OpError where there is no rule."""
    graph, here = tracer.graph, tracer.location()
    mark = len(graph.nodes)
    found = _counted(tracer, chosen.mask)
    try:
        if found is None:
            found = chosen.mask, _count(tracer, chosen.mask)
        node = ops.masks.masked(graph, chosen.x, found[0], found[1], here, tracer.relate)
        axes = list(range(1, node.array_type.ndim))
        return _transposed(tracer, node, [*axes[: chosen.at], 0, *axes[chosen.at :]])
    except ops.OpError:
        del graph.nodes[mark:]
        raise


def put(tracer: Tracer, chosen: Selection, value: Node) -> None:
    """Store as many values, or rows, as the mask selects; raises OpError where there is no rule."""
    target = chosen.x
    if value.array_type.ndim > chosen.at:
        value = _to_front(tracer, value, chosen.at, 1)
    (size, *_) = value.array_type.shape
    if size == 1:
        raise ops.OpError("a masked store of an array of one element, or row")
    found = _counted(tracer, chosen.mask)
    if found is None:
        found = chosen.mask, _count(tracer, chosen.mask)
    if size != found[1]:
        tracer.require(make("eq", size, found[1]))  # where it does not hold, NumPy refuses, or repeats the one value
    if not origins(value).isdisjoint(origins(target) | origins(found[0])) or any(
        origin.kind is not NodeKind.CALL for origin in origins(value)
    ):
        raise ops.OpError("a masked store of an array that may share memory with the target")
    require_another(tracer, target, found[0])
    ops.masks.store_masked(tracer.graph, target, found[0], found[1], value, tracer.location(), tracer.relate)


def require_another(tracer: Tracer, target: Node, mask: Node) -> None:
    """OpError where a store into bools may change the mask, of which NumPy reads parts after it has written others."""
    if target.array_type.dtype.kind == "b":
        places = {node: place for place, node in enumerate(tracer.graph.nodes)}
        memory = origins(target), origins(mask)
        if not _disjoint(*memory, places) and not _lie_apart(tracer, *memory):
            raise ops.OpError("a masked store into bools, which may be the mask itself")


def _lie_apart(tracer: Tracer, written: set[Node], other: set[Node]) -> bool:
    """Whether these are two inputs of the segment's own graph: its program declines where one that it writes shares
    memory with another (csrc/program/overlap.c)."""
    inputs = all(node.kind is NodeKind.INPUT for node in written | other)
    return inputs and not tracer.regions and written.isdisjoint(other)


def count_nonzero(tracer: Tracer, x: Node) -> Symbol:
    """np.count_nonzero of an array; raises OpError where there is no rule."""
    type_ = x.array_type
    if type_.scalar or not type_.shape:
        raise ops.OpError("count_nonzero of a scalar")
    if type_.dtype.kind != "b":
        x = ops.call(tracer.graph, "astype", (x,), {"dtype": np.dtype(bool)}, tracer.location(), tracer.relate)
    found = _counted(tracer, x)
    return _count(tracer, x) if found is None else found[1]


def count_summed(tracer: Tracer, x: Node, counts: bool) -> Symbol | None:
    """What ``np.sum(mask)`` has summed up, as the number of elements that the mask selects; None of any other node, and
    where the mask may have changed since. counts: also of a mask that has not been counted yet."""
    mask = x.args[0] if x.op == "reduce" else None
    if not isinstance(mask, Node) or x.params["ufunc"] is not np.add or not ops.masks.is_mask(mask):
        return None
    if x.array_type.dtype != np.int64 or len(x.params["axes"]) != mask.array_type.ndim or x not in tracer.graph.nodes:
        return None
    places = {node: place for place, node in enumerate(tracer.graph.nodes)}
    since = tracer.graph.nodes[places[x] :]
    if not all(_disjoint(written(node), origins(mask), places) for node in since if _writes(node)):
        return None  # the mask may select another number by now
    found = _counted(tracer, mask)
    return found[1] if found is not None else _count(tracer, mask) if counts else None


def _count(tracer: Tracer, mask: Node) -> Symbol:
    graph = tracer.graph
    if sum(node.op == "count_true" for node in graph.nodes) >= MOST_COUNTS:
        raise Break("graph-too-large", f"more than {MOST_COUNTS} masks")
    node = ops.call(graph, "count_true", (mask,), {"yields": ()}, tracer.location(), tracer.relate)
    (name,) = tracer.yield_names(1)
    symbol = graph.add_size(name)
    node.params["yields"] = (symbol,)
    return symbol


def _counted(tracer: Tracer, mask: Node) -> tuple[Node, Symbol] | None:
    """A mask that has been counted and selects what `mask` selects now, and its number."""
    nodes = tracer.graph.nodes
    places = {node: place for place, node in enumerate(nodes)}
    stores = [(place, written(node)) for place, node in enumerate(nodes) if _writes(node)]
    for node in reversed(nodes):
        counted = node.args[0] if node.op in ("count_true", "nonzero") else None
        if not isinstance(counted, Node) or not ops.masks.is_mask(counted):
            continue
        memory: set[Node] = set()
        if not _same(counted, mask, memory, _DEEPEST):
            continue
        if counted is not mask and not (counted in places and mask in places):
            continue  # what was stored outside of this body, since one of them was made, is not looked through
        # Of one node the memory may not change from here on, of two from where the first of them was made.
        begin = places[node] if counted is mask else min(places[counted], places[mask])
        if all(place < begin or _disjoint(found, memory, places) for place, found in stores):
            (symbol,) = node.params["yields"]
            return counted, symbol
    return None


def _disjoint(stored: set[Node], memory: set[Node], here: dict[Node, int]) -> bool:
    """Whether nothing of `memory` can be what is stored to: all of one of them was made in this graph, and is none of
    the other. Arrays of outside may be one array under two names, say one that a loop carries, if of one dtype.

    NB: where views of one memory differ in dtype the mask may select another number than was counted: the program
    declines."""
    if not stored.isdisjoint(memory):
        return False
    if not {_dtype(node) for node in stored} & {_dtype(node) for node in memory}:
        return True
    return any(
        all(node in here and node.kind is NodeKind.CALL and node.op != "tuple_get" for node in one)
        for one in (stored, memory)
    )


def _dtype(node: Node) -> np.dtype[Any] | None:
    return node.type.dtype if isinstance(node.type, ArrayType) else None


def _writes(node: Node) -> bool:
    return node.kind in (NodeKind.STORE, NodeKind.LOOP, NodeKind.COND)


def _same(left: Node, right: Node, memory: set[Node], depth: int) -> bool:
    """Whether two nodes have the same value while no store touches `memory`, which grows."""
    memory |= origins(left) | origins(right)
    if left is right:
        return True
    if depth == 0 or left.kind is not NodeKind.CALL or right.kind is not NodeKind.CALL or left.op != right.op:
        return False
    kind = REGISTRY[left.op].kind
    if kind not in (OpKind.ELEMENTWISE, OpKind.VIEW) or isinstance(left.type, tuple) or left.op == "tuple_get":
        return False
    if left.params != right.params or len(left.args) != len(right.args):
        return False
    for one, other in zip(left.args, right.args, strict=True):
        if isinstance(one, Node) and isinstance(other, Node):
            if not _same(one, other, memory, depth - 1):
                return False
        elif isinstance(one, Node) or isinstance(other, Node) or repr(one) != repr(other):
            return False
    return True
