"""What NumPy makes of a list that a loop has filled: ``np.array(out)``, ``np.mean(out)``, in the graph.

Enters a list made in this segment to which a loop has appended NumPy scalars, arrays or Python numbers of one type,
where NumPy wants an array. Leaves the array, whose rows the loop stores as it appends:

    for i in range(n): out.append(f(i))     %empty = empty(n);  loop ...: append(%filled, %x); %empty[i0] = %x
    np.array(out)                           array_of(%empty)

Where not every iteration appends one, or nobody can say before the loop how many there are, the loop carries the
list's length (a place, places.py), the array has room to spare, and what is wanted is the part that has been stored.
A list that becomes longer than that has the program decline.

That it is wanted shows after the loop: the plan says so to the next attempt (LoopPlan.rows), which makes the array
before the loop. The list itself is dropped where nobody else reads it (lower/lists.py). INVARIANT: what a row was
when it was appended, it is still when the array is wanted: nobody stores into it in between.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from functools import partial, reduce

import numpy as np

from dynamo_lite.capture.branches.sameness import is_read_later
from dynamo_lite.capture.loops.plan import LoopKey, LoopPlan
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.places import Place
from dynamo_lite.capture.state import ENDLESS, Frame, Region, Retry, Tracer
from dynamo_lite.capture.value import ArrayValue, ConstantValue, NumberValue, SequenceValue, Value
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import loop_parts, origins, written_by
from dynamo_lite.graph.scalar import Scalar, ScalarOp, kind_of, make, product, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import may_report

_ROOM, _ROOM_INSIDE = 1 << 20, 1 << 14  # rows of a list of which nobody knows how long it becomes; in a loop's body
_MOST_ROOM = 1 << 24  # and of any other: memory that is not written to costs nothing
_MOST_ELEMENTS = 1 << 26  # of all rows that are arrays
_DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(bool)}  # of Python numbers


@dataclass(eq=False, slots=True)
class Rows:
    """The array of a list that a loop fills. key, where: the loop, and the list's name in front of it. graph: the one
    around the loop. row: the type of what is appended, None if there is no such array. array: None in the attempt that
    finds that it is wanted. first: how many items there were before the loop. items: what was
    appended; region: the loop. counted: whether the list's length says where the next row stands; most: how many
    the loop appends at most, None if nobody knows before it."""

    key: LoopKey
    where: Hashable
    graph: Graph
    row: ArrayType | None
    first: int
    array: ArrayValue | None = None
    items: list[Node | None] | None = None
    region: Region | None = None
    of_arrays: bool = True  # NumPy scalars or arrays
    is_mixed: bool = False  # and Python's numbers, too
    own: bool = True  # numbers that nobody else has
    counted: bool = False
    most: Scalar | None = 0
    inner: list[Rows] = field(default_factory=list)  # of the lists that are its rows


def type_of_row(tracer: Tracer, item: Value) -> ArrayType | None:
    """The type of an item as a row; None if it can be none. A list or tuple that nobody changes any more is one, too:
    of a list that an inner loop has filled, the rows."""
    if isinstance(item, ArrayValue):
        is_known = item.node.array_type.dtype.kind in "biufc"
        return item.node.array_type if is_known else None
    if isinstance(item, SequenceValue):
        return _type_of_items(tracer, item)
    number = as_scalar(item) if isinstance(item, NumberValue | ConstantValue) else None
    dtype = None if number is None else _DTYPES.get(kind_of(number))
    return None if dtype is None else ArrayType(dtype, (), True)


def _type_of_items(tracer: Tracer, item: SequenceValue) -> ArrayType | None:
    if item.source is not None or item.cells is not None or item.times is not None:
        return None
    if item.kind is list and is_read_later(tracer, item):
        return None
    if item.is_grown:
        rows: Rows | None = item.rows
        if rows is None or rows.row is None or rows.region is None or _loop_of(tracer, rows) is None:
            return None
        if rows.counted or not _is_counted_by(tracer, rows.region.bounds):
            return None
        return ArrayType(rows.row.dtype, (_count(rows), *rows.row.shape))  # type: ignore[arg-type]
    types = {type_of_row(tracer, realise(tracer, one)) for one in item.known}
    one = types.pop() if len(types) == 1 else None
    return None if one is None or not one.scalar else ArrayType(one.dtype, (len(item.known),))


def _count(rows: Rows) -> Scalar:
    """How many rows a loop has stored that appends one in each iteration, and has some."""
    assert rows.region is not None
    start, stop, _ = rows.region.bounds
    return make("add", make("sub", stop, start), rows.first)


def rows_ahead(
    tracer: Tracer, plan: LoopPlan, owner: SequenceValue, where: Hashable, bounds: tuple[Scalar, ...]
) -> Rows | None:
    """The rows of a list in front of a loop that an earlier attempt has seen to fill it; the array is yet to be made.
    None where the array's shape is not known here."""
    if plan.rows[where] is None or owner.source is not None or owner.filled is not None or owner.times is not None:
        return None
    row, counted, most = plan.rows[where]
    names = set().union(*map(symbols_of, (*row.shape, 0 if most is None else most)))
    held = [value for frame in reversed(tracer.frames) for value in _held(frame)]
    for value in (*owner.known, *held):
        if not names <= tracer.hints.keys():
            realise(tracer, value)  # an array that the loop goes on from, or how long a row is
    if not names <= tracer.hints.keys() or not _are_alike(tracer, owner, row):
        return None
    if not counted and (not _is_counted_by(tracer, bounds) or not tracer.relate(make("gt", bounds[1], bounds[0]))):
        return None
    key = next(key for key, known in tracer.plans.items() if known is plan)
    return Rows(key, where, tracer.graph, row, len(owner.known), items=[], counted=counted, most=most)


def _held(frame: Frame) -> list[Value]:
    cells = (cell.contents for cell in frame.cells.values())
    return [*frame.locals.values(), *(value for value in cells if value is not None)]


def _are_alike(tracer: Tracer, target: SequenceValue, row: ArrayType) -> bool:
    """Whether the items from before the loop are such rows, too."""
    types = [type_of_row(tracer, realise(tracer, item)) for item in target.known]
    return all(type_ and type_.dtype == row.dtype and type_.shape == row.shape for type_ in types)


def _is_counted_by(tracer: Tracer, bounds: tuple[Scalar, ...]) -> bool:
    """Whether the numbers of a loop with these bounds say which item an iteration appends."""
    start, stop, step = bounds
    return type(start) is int and step == 1 and not tracer.varies(stop)


def shape_of(tracer: Tracer, rows: Rows, bounds: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The shape of the array."""
    assert rows.row is not None
    count = make("sub", bounds[1], bounds[0])
    if rows.counted:
        spare = _ROOM_INSIDE if tracer.regions else _ROOM
        room: Scalar = _MOST_ROOM
        if not rows.row.scalar:
            room = make("floordiv", _MOST_ELEMENTS, make("max", product(rows.row.shape), 1))
        count = spare if rows.most is None else make("min", rows.most, room)
    return (make("add", count, rows.first), *rows.row.shape)


def _most_of(tracer: Tracer, region: Region) -> Scalar | None:
    """How many iterations a loop has at most, however often it begins; None if nobody knows before the loops around."""
    start, stop, step = region.bounds
    forward, backward = (tracer.graph.facts.decide(make(op, step, 0)) for op in ("gt", "lt"))
    if stop == ENDLESS or not (forward or backward):
        return None
    low, high = (start, stop) if forward else (stop, start)
    lows, highs = (
        one.operands if isinstance(one, ScalarOp) and one.op == op else (one,)
        for one, op in ((low, "max"), (high, "min"))
    )
    counts = [make("sub", most, least) for least in lows for most in highs]
    if any(tracer.graph.facts.decide(make("ge", least, -1)) for least in lows):
        counts += [make("add", most, 1) for most in highs]
    known = [count for count in counts if not tracer.varies(count)]
    if not known:
        return None
    most, by = reduce(partial(make, "min"), known), step if forward else make("neg", step)
    if not tracer.varies(by):
        most = make("floordiv", make("add", most, make("sub", by, 1)), by)
    return make("max", most, 0)


def _grow(tracer: Tracer, rows: Rows, regions: list[Region]) -> None:
    """Note one more append, in these loops."""
    counts = [_most_of(tracer, region) for region in regions if region.index.name]
    is_known = rows.most is not None and None not in counts
    rows.most = make("add", rows.most, reduce(partial(make, "mul"), counts)) if is_known else None  # type: ignore[arg-type]


def note_row(
    tracer: Tracer, target: SequenceValue, item: Value, where: Hashable, loops: list[int], length: Value | None
) -> Scalar | None:
    """Note that `item` is appended; the row to store it in, if there is one. loops: those that the list was there
    before; length: how long it was, where the loop carries that."""
    if not loops:
        give_up(tracer, target)
        return None
    region = tracer.regions[loops[0]]
    is_only = bool(tracer.regions[-1].index.name) and loops == [len(tracer.regions) - 1]
    row, rows = type_of_row(tracer, item), target.rows
    if rows is not None and not rows.items:
        rows.of_arrays = isinstance(item, ArrayValue)
    elif rows is not None and rows.of_arrays != isinstance(item, ArrayValue):
        rows.is_mixed = True
    if rows is None and where is not None and row is not None and region.index.name:
        around = tracer.regions[loops[0] - 1].graph if loops[0] else tracer.root
        found = Rows(region.key, where, around, row, len(target.known), None, [_node(item)], region)
        found.of_arrays, found.counted = isinstance(item, ArrayValue), not is_only
        found.own = _is_own(tracer, target, item)
        found.inner += _inner(item)
        _grow(tracer, found, tracer.regions[loops[0] :])
        target.rows = found
        return None
    if rows is None or rows.row is None or row is None or region.key != rows.key:
        give_up(tracer, target)
        return None
    alike = row.dtype == rows.row.dtype and row.scalar == rows.row.scalar and row.ndim == rows.row.ndim
    if not alike or not all(tracer.relate(make("eq", *pair)) for pair in zip(row.shape, rows.row.shape, strict=True)):
        give_up(tracer, target)
        return None
    rows.own = rows.own and _is_own(tracer, target, item)
    is_next = bool(rows.items) or not is_only
    if is_next and rows.array is None:
        rows.counted = True
    if is_next and not rows.counted:
        give_up(tracer, target)
        return None
    rows.region = region
    rows.inner += _inner(item)
    assert rows.items is not None
    rows.items.append(_node(item))
    if rows.array is None:
        _grow(tracer, rows, tracer.regions[loops[0] :])
        return None
    if not rows.counted:
        return make("add", make("sub", region.index, region.bounds[0]), rows.first)
    place = None if length is None else as_scalar(length)
    assert place is not None
    tracer.have(make("lt", place, rows.array.node.array_type.shape[0]), "loop-list", "a list")
    return place


def give_up(tracer: Tracer, target: SequenceValue) -> None:
    """There is no such array of a list; raises Retry where one was made."""
    rows = target.rows
    if rows is not None and rows.array is not None:
        tracer.plans[rows.key].rows[rows.where] = None
        raise Retry
    target.rows = Rows((), None, tracer.graph, None, 0)


def _node(item: Value) -> Node | None:
    return item.node if isinstance(item, ArrayValue) and not item.node.array_type.scalar else None


def _inner(item: Value) -> list[Rows]:
    return [item.rows] if isinstance(item, SequenceValue) and item.rows is not None else []


def _want(tracer: Tracer, rows: Rows) -> bool:
    """Have the next attempt store the rows of a list, and of the lists that are its rows; whether it may."""
    plan = tracer.plans[rows.key]
    if rows.where in plan.rows:
        return False
    assert rows.region is not None
    counted = rows.counted or not _is_counted_by(tracer, rows.region.bounds)
    if counted and rows.items and any(rows.items) and rows.most is None:
        return False
    plan.rows[rows.where] = rows.row, counted, rows.most
    if counted:
        plan.places[Place(rows.where, "length")] = True
    for inner in rows.inner:
        if inner.array is None:
            _want(tracer, inner)
    return True


def _is_own(tracer: Tracer, target: SequenceValue, item: Value) -> bool:
    """Whether a number is a new object that only the list has, and no other one; before the loop it was empty."""
    if not isinstance(item, ArrayValue | NumberValue) or target.known or is_read_later(tracer, item):
        return False
    number = item.node if isinstance(item, ArrayValue) else item.expr
    graphs = (tracer.root, *(region.graph for region in tracer.regions))
    takers = (node for graph in graphs for node in graph.nodes if node.op in _PUTS or node.regions)
    return all(arg is not number for node in takers for arg in node.args)


_PUTS = ("append", "put_item")  # a loop or choice that takes the number may have such a node, too


def filled_array(tracer: Tracer, target: SequenceValue) -> Rows | None:
    """The rows of a list that a loop has filled, where NumPy wants an array; raises Retry where none were stored."""
    rows: Rows | None = target.rows
    loop = _loop_of(tracer, rows)
    if rows is None or rows.row is None or loop is None:
        return None
    if not _are_alike(tracer, target, rows.row) or not all(_stays(tracer, item, loop) for item in rows.items or ()):
        return None
    if rows.array is None:
        if not _want(tracer, rows):
            return None
        raise Retry
    return rows


def length_of_part(tracer: Tracer, rows: Rows, known: Value) -> Scalar | None:
    """How many rows of a counted array have been stored, by the list's length; None where no graph knows that."""
    length = as_scalar(known)
    if length is None or rows.array is None:
        return None
    tracer.have(make("le", length, rows.array.node.array_type.shape[0]), "loop-list", "a list")
    if rows.row != ArrayType(_DTYPES["float"], (), True):  # NumPy makes float64 of an empty list
        tracer.have(make("ge", length, 1), "op-without-rule", "an array of an empty list")
    return length


def length_of_filled(tracer: Tracer, target: SequenceValue) -> Scalar | None:
    """How long a list is that a loop has filled, one item in each iteration; None for another one."""
    rows: Rows | None = target.rows
    if rows is None or rows.region is None or rows.counted or _loop_of(tracer, rows) is None:
        return None
    start, stop, _ = rows.region.bounds
    if not _is_counted_by(tracer, rows.region.bounds):
        return None
    return _count(rows) if tracer.relate(make("gt", stop, start)) else rows.first


def holds_numbers(tracer: Tracer, target: SequenceValue) -> bool:
    """Whether a loop has filled a list with NumPy scalars, or with Python's numbers, of one type."""
    rows: Rows | None = target.rows
    if rows is None or rows.row is None or not rows.row.scalar or rows.is_mixed:
        return False
    return all(isinstance(realise(tracer, item), ArrayValue) is rows.of_arrays for item in target.known)


def _loop_of(tracer: Tracer, rows: Rows | None) -> Node | None:
    """The loop that has filled a list, if it stands in the graph at hand, or in one around it, and has had all its
    iterations."""
    loop = None if rows is None or rows.region is None else rows.region.loop
    graphs = (tracer.root, *(region.graph for region in tracer.regions))
    if rows is None or loop is None or all(graph is not rows.graph for graph in graphs):
        return None
    if rows.graph is not tracer.graph and any(rows.items or ()):
        return None
    if loop not in rows.graph.nodes or loop.params.get("while") or loop.params.get("pause"):
        return None
    return loop


def _stays(tracer: Tracer, item: Node | None, loop: Node) -> bool:
    """Whether nobody has stored into what is appended since then. (Into what the body makes it may have before.)"""
    if item is None:
        return True
    around = tracer.graph.nodes
    later = written_by(around[around.index(loop) + 1 :])
    if any(one.op == "tuple_get" and one.args[0] is loop for one in later):
        return False
    shown, levels = {item}, _levels_to(loop, item)
    for place, (node, region) in reversed(list(enumerate(levels))):
        inside = region.nodes
        if place + 1 < len(levels):
            after = inside[inside.index(levels[place + 1][0]) + 1 :]
        else:
            after = inside[_first_append(inside, item) :]
        outer: set[Node] = set()
        for one in set().union(*map(origins, shown)):
            if one not in inside:
                return False  # one object for all iterations, which has another name in the body now
            if one.kind is NodeKind.INPUT:
                given = _given(node, one.params["index"])
                if one in written_by(inside) or not isinstance(given, Node):
                    return False
                outer.add(given)
            elif one.kind is not NodeKind.CALL or one in written_by(after):
                return False
        shown = outer
    return bool(levels) and all(origins(one).isdisjoint(later) for one in shown)


def _first_append(nodes: list[Node], item: Node) -> int:
    return next(place for place, node in enumerate(nodes) if node.op == "append" and item in node.args)


def _levels_to(node: Node, item: Node) -> list[tuple[Node, Graph]]:
    """The loops and choices, with their bodies, in the innermost of which an item is appended."""
    for region in node.regions:
        if any(one.op == "append" and item in one.args for one in region.nodes):
            return [(node, region)]
        for one in region.nodes:
            if one.regions and (inner := _levels_to(one, item)):
                return [(node, region), *inner]
    return []


def _given(node: Node, place: int) -> Argument:
    """What an input of a body is at first."""
    if node.kind is NodeKind.COND:
        return node.args[1 + place]
    _, initial, captured, _ = loop_parts(node)
    return (0, *initial, *captured)[place]


_MOVES = frozenset(("append", "copy", "flatten", "require"))


def only_collects(plan: LoopPlan, region: Region) -> bool:
    """Whether a loop does nothing but put parts of arrays together, of which it stores the rows, so that there is no
    iteration with anything to report: if it is not left in the middle, nobody needs the list."""
    is_one = any(rows is not None and not rows[0].scalar for rows in plan.rows.values())
    return is_one and _only_moves(region.graph)


def _only_moves(graph: Graph) -> bool:
    calls = [node for node in graph.nodes if node.kind is NodeKind.CALL]
    moves = (node.op in _MOVES or REGISTRY[node.op].kind is OpKind.VIEW or not may_report(node) for node in calls)
    return all(moves) and all(_only_moves(region) for node in graph.nodes for region in node.regions)


__all__ = [
    *("Rows", "filled_array", "give_up", "holds_numbers", "length_of_filled", "length_of_part", "note_row"),
    *("only_collects", "rows_ahead", "shape_of"),
]
