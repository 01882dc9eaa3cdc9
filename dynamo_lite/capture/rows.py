"""What NumPy makes of a list that a loop has filled: ``np.array(out)``, ``np.mean(out)``, in the graph.

Enters a list made in this segment to which a loop has appended one NumPy scalar, array or Python number in every
iteration, where NumPy wants an array. Leaves the array, whose rows the loop stores as it appends:

    for i in range(n): out.append(f(i))     %empty = empty(n);  loop ...: append(%filled, %x); %empty[i0] = %x
    np.array(out)                           array_of(%empty)

That it is wanted shows after the loop: the plan says so to the next attempt (LoopPlan.rows), which makes the array
before the loop. The list itself is dropped where nobody else reads it (lower/lists.py). INVARIANT: what a row was
when it was appended, it is still when the array is wanted: nobody stores into it in between.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from dynamo_lite.capture.numbers import as_scalar
from dynamo_lite.capture.state import LoopKey, LoopPlan, Region, Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, ConstantValue, NumberValue, SequenceValue, Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import loop_parts, origins, written_by
from dynamo_lite.graph.scalar import Scalar, kind_of, make, symbols_of
from dynamo_lite.graph.types import ArrayType

_DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(bool)}  # of Python numbers


@dataclass(eq=False, slots=True)
class Rows:
    """The array of a list that a loop fills. key, where: the loop, and the list's name in front of it. graph: the one
    around the loop. row: the type of what is appended, None if there is no such array. array: None in the attempt that
    finds that it is wanted. first: how many items there were before the loop. items: what was
    appended; region: where."""

    key: LoopKey
    where: Hashable
    graph: Graph
    row: ArrayType | None
    first: int
    array: ArrayValue | None = None
    items: list[Node | None] | None = None
    region: Region | None = None
    of_arrays: bool = True  # NumPy scalars and arrays alone
    is_begun: bool = False  # whether the rows from before the loop are there


def type_of_row(item: Value) -> ArrayType | None:
    """The type of an item as a row; None if it can be none."""
    if isinstance(item, ArrayValue):
        is_known = item.node.array_type.dtype.kind in "biufc"
        return item.node.array_type if is_known else None
    number = as_scalar(item) if isinstance(item, NumberValue | ConstantValue) else None
    dtype = None if number is None else _DTYPES.get(kind_of(number))
    return None if dtype is None else ArrayType(dtype, (), True)


def rows_ahead(
    tracer: Tracer, plan: LoopPlan, owner: SequenceValue, where: Hashable, bounds: tuple[Scalar, ...]
) -> Rows | None:
    """The rows of a list in front of a loop that an earlier attempt has seen to fill it; the array is yet to be made.
    None where the array's shape is not known here."""
    row, (start, stop, step) = plan.rows[where], bounds
    is_plain = owner.source is None and owner.filled is None and owner.times is None
    if row is None or type(start) is not int or step != 1 or not is_plain or tracer.varies(stop):
        return None
    names = set().union(*map(symbols_of, row.shape))
    for value in (*owner.known, *tracer.frames[-1].locals.values()):
        if not names <= tracer.hints.keys():
            realise(tracer, value)  # an array that the loop goes on from
    if not names <= tracer.hints.keys() or not tracer.relate(make("gt", stop, start)):
        return None
    key = next(key for key, known in tracer.plans.items() if known is plan)
    return Rows(key, where, tracer.graph, row, len(owner.known), items=[])


def shape_of(rows: Rows, bounds: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The shape of the array."""
    assert rows.row is not None
    count = make("add", make("sub", bounds[1], bounds[0]), rows.first)
    return (count, *rows.row.shape)


def note_row(tracer: Tracer, target: SequenceValue, item: Value, where: Hashable, loops: list[int]) -> Scalar | None:
    """Note that `item` is appended, a list's only one in this iteration; the row to store it in, if there is one."""
    region = tracer.regions[-1] if tracer.regions else None
    is_only = region is not None and bool(region.index.name) and loops == [len(tracer.regions) - 1]
    row = type_of_row(item)
    rows = target.rows
    if rows is not None and not isinstance(item, ArrayValue):
        rows.of_arrays = False
    if rows is None and is_only and where is not None and row is not None:
        assert region is not None
        around = tracer.regions[-2].graph if len(tracer.regions) > 1 else tracer.root
        found = Rows(region.key, where, around, row, len(target.known), None, [_node(item)], region)
        found.of_arrays = isinstance(item, ArrayValue)
        target.rows = found
        return None
    if rows is None or rows.row is None or rows.items or not is_only or row is None:
        give_up(tracer, target)
        return None
    assert region is not None and rows.row is not None and rows.items is not None
    alike = row.dtype == rows.row.dtype and row.ndim == rows.row.ndim and region.key == rows.key
    if not alike or not all(tracer.relate(make("eq", *pair)) for pair in zip(row.shape, rows.row.shape, strict=True)):
        give_up(tracer, target)
        return None
    rows.region = region
    rows.items.append(_node(item))
    return make("add", make("sub", region.index, region.bounds[0]), rows.first)


def give_up(tracer: Tracer, target: SequenceValue) -> None:
    """There is no such array of a list; raises Retry where one was made."""
    rows = target.rows
    if rows is not None and rows.array is not None:
        tracer.plans[rows.key].rows[rows.where] = None
        raise Retry
    target.rows = Rows((), None, tracer.graph, None, 0)


def _node(item: Value) -> Node | None:
    return item.node if isinstance(item, ArrayValue) and not item.node.array_type.scalar else None


def filled_array(tracer: Tracer, target: SequenceValue) -> Rows | None:
    """The rows of a list that a loop has filled, where NumPy wants an array; raises Retry where none were stored."""
    rows: Rows | None = target.rows
    loop = _loop_of(tracer, rows)
    if rows is None or rows.row is None or loop is None:
        return None
    types = [type_of_row(realise(tracer, item)) for item in target.known]
    if any(type_ is None or type_.dtype != rows.row.dtype or type_.shape != rows.row.shape for type_ in types):
        return None
    if not all(_stays(tracer, item, loop) for item in rows.items or ()):
        return None
    if rows.array is None:
        plan = tracer.plans[rows.key]
        if rows.where in plan.rows:
            return None
        plan.rows[rows.where] = rows.row
        raise Retry
    return rows


def length_of_filled(tracer: Tracer, target: SequenceValue) -> Scalar | None:
    """How long a list is that a loop has filled, one item in each iteration; None for another one."""
    rows: Rows | None = target.rows
    if rows is None or rows.region is None or _loop_of(tracer, rows) is None:
        return None
    start, stop, step = rows.region.bounds
    if type(start) is not int or step != 1 or tracer.varies(stop):
        return None
    return make("add", make("sub", stop, start), rows.first) if tracer.relate(make("gt", stop, start)) else rows.first


def holds_scalars(tracer: Tracer, target: SequenceValue) -> bool:
    """Whether a loop has filled a list with NumPy scalars, one in each iteration."""
    rows: Rows | None = target.rows
    if rows is None or rows.row is None or not rows.row.scalar or not rows.of_arrays:
        return False
    return all(isinstance(realise(tracer, item), ArrayValue) for item in target.known)


def _loop_of(tracer: Tracer, rows: Rows | None) -> Node | None:
    """The loop that has filled a list, if it stands in the graph at hand and has had all its iterations."""
    loop = None if rows is None or rows.region is None or rows.graph is not tracer.graph else rows.region.loop
    if loop is None or loop not in tracer.graph.nodes or loop.params.get("while") or loop.params.get("pause"):
        return None
    return loop


def _stays(tracer: Tracer, item: Node | None, loop: Node) -> bool:
    """Whether nobody has stored into what is appended since then. (Into what the body makes it may have before.)"""
    if item is None:
        return True
    _, initial, captured, inside = loop_parts(loop)
    body, around = inside.nodes, tracer.graph.nodes
    appends = [place for place, node in enumerate(body) if node.op == "append" and item in node.args]
    after = body[appends[0] :] if appends else body
    later = written_by(around[around.index(loop) + 1 :])
    if any(one.op == "tuple_get" and one.args[0] is loop for one in later):
        return False
    for one in origins(item):
        if one not in body:
            return False  # one object for all iterations, which has another name in the body now
        if one.kind is NodeKind.INPUT:
            outer = (0, *initial, *captured)[one.params["index"]]
            assert isinstance(outer, Node)
            if one in written_by(body) or not origins(outer).isdisjoint(later):
                return False
        elif one.kind is not NodeKind.CALL or one in written_by(after):
            return False
    return True


__all__ = ["Rows", "filled_array", "give_up", "holds_scalars", "length_of_filled", "note_row", "rows_ahead", "shape_of"]
