"""Lists of numbers that a loop reads while it fills them: ``dp[i] = dp[i - 1] + a[i]``, ``stack.pop()``.

Enters a list made in this segment that holds Python numbers of one kind. From before the loop on the program has these
in an array, in which the loop reads and stores as in any other, and their number as a place (places.py):

    dp = [0] * n; for i in range(1, n): dp[i] = dp[i - 1] + i    %full = full(n, 0);  loop ...: %full[i0] = ...
    return dp                                                    residual:  Objects.list_of(full, n)

What an attempt finds to be read so, the next one prepares (LoopPlan.cells). An index out of range declines, and so does
a list that becomes longer than the array. Residual code makes the list, which nobody has seen before, of the array.

Which object a number is that is read and stored again, or lives on behind the loop, its tag says (number_objects.py):
beside the numbers stands an array of their tags. Without tags each item is a new object, as one that the loop computes.
INVARIANT: what is put into a list without tags is a number that has one object only, or one that nobody else has.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from typing import Any, NoReturn

import numpy as np

from dynamo_lite._C import Objects
from dynamo_lite.capture.branches.choices import split_each
from dynamo_lite.capture.branches.conditions import as_whole
from dynamo_lite.capture.branches.sameness import parts, reachable, reached_by_name
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.lists.claims import claim
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.state import ENDLESS, PutNumber, Region, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    CellItem,
    CellRead,
    CellRow,
    ConstantValue,
    EitherValue,
    IteratorValue,
    NumberedValue,
    NumberValue,
    ResultValue,
    SequenceValue,
    SliceValue,
    Value,
    as_value,
    is_single,
    next_serial,
    stored_late,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, Symbol, kind_of, make

_DTYPES: dict[str, np.dtype[Any]] = {
    "int": np.dtype(np.int64),
    "float": np.dtype(np.float64),
    "bool": np.dtype(np.int8),
}
_GRID = "[]"  # ends the kind of a list of lists
_ROOM = 1 << 16  # items by which a list may become longer
_MAX_KNOWN = 64  # items that are stored one by one
_NO_ITEM = "python-exception", "IndexError"
_LATEST = 2**63  # a serial

Bounds = tuple[Scalar, Scalar, Scalar]


@dataclass(eq=False, slots=True)
class Cells:
    """The arrays of a list. plan, where: which loop has asked for them, and the list's name there. region: the
    outermost loop that uses them now, or did last.

    tagged: whether that tells which objects the numbers are, for which there are `tags` (else these are of a loop
    before). puts: what the list may hold. firsts: what stores the tags of its items from before the loop; mark: what
    stands for these, where each is an object of its own, and `marked` the product and sum that make their tags. table:
    the objects of the tags. numbers: those read, by what they are in a graph; left: those asked for behind the loops.

    is_grid: a list of lists. columns: how many items each of these has. fill: what they all are, as long as no loop has
    stored into them. filling: the loop that appends them; there is no array before it has begun.

    outside: the list from outside in whose objects they are (listed_objects.py). marks: what says which of the numbers
    the program has written. among: the objects for which they stand, where these are few.
    """

    kind: str
    grows: bool
    values: ArrayValue | None
    plan: LoopPlan | None
    where: Hashable
    is_grid: bool = False
    tags: ArrayValue | None = None
    tagged: bool = False
    region: Region | None = None
    puts: list[Value] = field(default_factory=list)
    firsts: list[PutNumber] = field(default_factory=list)
    mark: NumberValue | None = None
    filling: Region | None = None
    marked: tuple[Node, Node] | None = None
    table: Node | None = None
    fill: Value | None = None
    columns: Scalar = 0
    numbers: dict[Any, NumberValue] = field(default_factory=dict)
    left: dict[Any, CellItem] = field(default_factory=dict)
    outside: NumberedValue | None = None
    marks: ArrayValue | None = None
    among: tuple[Any, ...] = ()

    @property
    def room(self) -> Scalar:
        """How many items the arrays have room for."""
        assert self.values is not None
        size: Scalar = self.values.node.array_type.shape[0]
        return size

    @property
    def array(self) -> ArrayValue:
        """The numbers."""
        assert self.values is not None
        return self.values


# -- before a loop ---------------------------------------------------------------------------------


def want(tracer: Tracer, target: SequenceValue, item: Value | None = None, grows: bool = False) -> None:
    """Have the loop that first fills `target` know it by arrays in the next attempt, where that may be; raises Retry.
    item: what is appended to a list that may be empty."""
    around = tracer.regions[0] if tracer.in_loop else None  # in each iteration, new arrays would take too long
    if around is None or target not in around.lists or around.may_be_unrolled():
        return
    if target.kind is not list or target.source is not None:
        return
    name = tracer.plans[around.key], reached_by_name(tracer).get(target), _kind_of(tracer, target, item), grows
    plan, where, kind, grows = target.filler or name
    if kind is None or where is None or where in plan.cells:
        return
    plan.cells[where] = kind, grows
    raise Retry


def want_filled(tracer: Tracer, target: SequenceValue) -> None:
    """The same for a list that an earlier loop has filled, and which this one looks at."""
    filling = [tracer.plans[region.key] for region in tracer.regions if region.index.name]
    if target.filled is not None and target.filler is not None and target.filler[0] not in filling:
        want(tracer, target)


def _kind_of(tracer: Tracer, target: SequenceValue, item: Value | None) -> str | None:
    """The kind of the numbers in a list, as far as they are known; None if they are of several, or others."""
    if isinstance(item, SequenceValue) and not target.known:
        fill = _fill_of(tracer, item)
        return None if fill is None else f"{kind_of(as_scalar(fill))}{_GRID}"  # type: ignore[arg-type]
    items = [*target.known, *target.late.values(), *([] if item is None else [item])]
    numbers = [as_scalar(realise(tracer, one)) for one in items]
    kinds = {"" if number is None else kind_of(number) for number in numbers}
    return kinds.pop() if len(kinds) == 1 and kinds <= _DTYPES.keys() else None


def note_filler(tracer: Tracer, target: SequenceValue, item: Value | None = None) -> None:
    """Note which loop is the first to fill a list; item: what it appends."""
    around = next((region for region in tracer.regions if target in region.lists), None)
    if target.filler is None and around is not None:
        where, kind = reached_by_name(tracer).get(target), _kind_of(tracer, target, item)
        target.filler = tracer.plans[around.key], where, kind, item is not None


def _give_up(cells: Cells) -> NoReturn:
    """Have the list handled otherwise in the next attempt."""
    if cells.outside is not None:
        cells.outside.give_up()
    assert cells.plan is not None
    cells.plan.cells[cells.where] = None
    raise Retry


def hold(tracer: Tracer) -> Callable[[], None]:
    """Gives what takes away the arrays that lists get from now on, and lets the others be as they are now."""
    lists = [one for one in reachable(tracer) if isinstance(one, SequenceValue) and one.kind is list and not one.source]
    kept = [(one, replace(one, ends=dict(one.ends))) for one in lists]
    cells = [(one, replace(one, firsts=list(one.firsts), puts=list(one.puts))) for one in tracer.cell_lists]

    def undo() -> None:
        for one, before in ((one, before) for one, before in kept if one.cells is not before.cells):
            one.known, one.times, one.fix, one.late = before.known, before.times, before.fix, before.late
            one.cells, one.ends = before.cells, dict(before.ends)
        for one_, before_ in cells:
            for name in ("region", "fill", "tags", "tagged", "table", "firsts", "puts", "mark", "marked"):
                setattr(one_, name, getattr(before_, name))
        tracer.cell_lists[len(cells) :] = []

    return undo


def prepare(machine: Machine, plan: LoopPlan, bounds: Bounds) -> None:
    """Before a loop: make the arrays of the lists of which an earlier attempt has seen that it needs them."""
    tracer = machine.tracer
    outermost = tracer.plans[tracer.regions[0].key] if tracer.regions else plan
    if not tracer.regions:
        for one in reachable(tracer):
            if isinstance(one, SequenceValue):
                one.met = one.met or plan
    names = reached_by_name(tracer) if plan.cells else {}
    for where, known in plan.cells.items():
        owner = next((one for one, name in names.items() if name == where), None)
        if known is None or not isinstance(owner, SequenceValue) or owner.is_grown:
            continue
        kind, grows = known
        cells = Cells(kind.removesuffix(_GRID), grows and not kind.endswith(_GRID), None, plan, where)
        # NB: where an earlier loop is left, residual code would make the list of arrays that there are not yet.
        is_earlier = owner.met is not None and owner.met is not outermost
        if owner.source is not None or is_earlier or _is_gone_through(tracer, owner):
            _give_up(cells)
        if kind.endswith(_GRID):
            if owner.known or owner.times is not None:
                _give_up(cells)
            cells.is_grid = True
            owner.cells, owner.ends = cells, {"length": ConstantValue(None, 0)}
            tracer.cell_lists.append(cells)
        else:
            _make(machine, owner, cells, bounds, outermost)


def _is_gone_through(tracer: Tracer, owner: SequenceValue) -> bool:
    """Whether an iterator has the items of a list, one by one."""
    iterators = (one for one in reachable(tracer) if isinstance(one, IteratorValue) and one.of is owner)
    return any(one.kind != "array" for one in iterators)


def _number_of(item: Value, kind: str) -> Scalar | None:
    """An item as a number of that kind, which a list may hold before the loop."""
    number = as_scalar(item)
    if number is None or kind_of(number) != kind or (type(number) is int and not -(2**63) <= number < 2**63):
        return None
    return number


def _make(machine: Machine, owner: SequenceValue, cells: Cells, bounds: Bounds, outermost: LoopPlan) -> None:
    """Make the arrays of a list of numbers, with what it holds."""
    tracer = machine.tracer
    items = [realise(tracer, item) for item in owner.known]
    late = [(place, realise(tracer, item)) for place, item in stored_late(owner)]
    numbers = [_number_of(item, cells.kind) for item in (*items, *(item for _, item in late))]
    is_repeated = owner.times is not None or (len(items) > 1 and all(one is items[0] for one in items))
    if None in numbers or (not is_repeated and len(items) > _MAX_KNOWN):
        _give_up(cells)
    if not outermost.objects and not (cells.kind == "bool" or all(map(is_single, numbers))):
        outermost.objects = True
        raise Retry
    length: Scalar = len(items) if owner.times is None else make("max", owner.times, 0)
    room = make("add", length, _room(tracer, bounds)) if cells.grows else length
    cells.values = _new(machine, room, _DTYPES[cells.kind])
    cells.tagged = outermost.objects and cells.kind != "bool"
    cells.tags = _new(machine, room, _DTYPES["int"]) if cells.tagged else None
    tracer.cell_lists.append(cells)
    owner.cells, owner.known, owner.times, owner.fix, owner.late = cells, [], None, None, {}
    owner.ends = {"length": tracer.number(length)}
    if is_repeated:
        _store(machine, cells, ConstantValue(None, slice(None)), items[0])
    else:
        for place, item in enumerate(items):
            _store(machine, cells, ConstantValue(None, place), item)
    for where, item in late:
        _store(machine, cells, tracer.number(where), item)


def _room(tracer: Tracer, bounds: Bounds) -> Scalar:
    """By how many items a list may become longer."""
    start, stop, step = bounds
    if step != 1 or stop == ENDLESS or any(map(tracer.varies, (start, stop))):
        return _ROOM
    return make("add", make("max", make("sub", stop, start), 0), _ROOM)


def _new(machine: Machine, size: Scalar | tuple[Scalar, ...], dtype: np.dtype[Any]) -> ArrayValue:
    sizes = [machine.tracer.number(one) for one in (size if isinstance(size, tuple) else (size,))]
    shape = SequenceValue(None, tuple, sizes)
    array = numpy_rules.call_numpy(machine, np.empty, [shape, ConstantValue(None, dtype)], {})
    assert isinstance(array, ArrayValue)
    return array


# -- lists of lists --------------------------------------------------------------------------------


def _fill_of(tracer: Tracer, row: Value) -> Value | None:
    """What all items of a list made here are, a constant; None if they are several things, or something else."""
    if not isinstance(row, SequenceValue) or row.kind is not list or row.source is not None:
        return None
    if row.late or row.is_grown or not row.known or not all(one is row.known[0] for one in row.known):
        return None
    first = realise(tracer, row.known[0])
    number = as_scalar(first) if type(first) is ConstantValue else None
    if number is None or kind_of(number) not in _DTYPES or _number_of(first, kind_of(number)) is None:
        return None
    return first


def _append_row(machine: Machine, target: SequenceValue, row: Value) -> None:
    """Note one more row, which is like all others; the matrix is made in front of the loop."""
    cells, tracer = target.cells, machine.tracer
    fill, region = _fill_of(tracer, row), tracer.regions[0] if len(tracer.regions) == 1 else None
    if fill is None or region is None or target not in region.lists or not region.index.name:
        _give_up(cells)
    if row in reachable(tracer) or cells.values is not None or _number_of(fill, cells.kind) is None:
        _give_up(cells)
    assert isinstance(row, SequenceValue)
    start, stop, step = region.bounds
    columns: Scalar = len(row.known) if row.times is None else make("max", row.times, 0)
    if step != 1 or type(start) is not int or stop == ENDLESS or tracer.varies(stop) or tracer.varies(columns):
        _give_up(cells)
    tracer.regions = []
    try:
        rows = make("max", make("sub", stop, start), 0)
        cells.values = _new(machine, (rows, columns), _DTYPES[cells.kind])
        _set(machine, cells.array, ConstantValue(None, slice(None)), _stored(machine, cells, fill))
    finally:
        tracer.regions = [region]
    cells.fill, cells.columns, cells.filling, cells.region = fill, columns, region, region
    target.ends["length"] = tracer.number(make("add", length(target), 1))


def _row(machine: Machine, target: SequenceValue, index: Value) -> CellRow:
    """target[index], a list."""
    cells, tracer = target.cells, machine.tracer
    if cells.values is None or cells.filling in tracer.regions:
        _give_up(cells)
    return CellRow(None, operator.getitem, [target, index], target, _place(machine, target, index))


def columns_of(row: CellRow) -> Scalar:
    """len(row)."""
    found: Scalar = row.of.cells.columns
    return found


def get_of_row(machine: Machine, row: CellRow, index: Value) -> Value:
    """row[index]."""
    if not machine.tracer.regions and _is_left(row.of.cells):
        return _item_left(machine, row, index, row.of, _in_row(machine, row, index))
    return _read(machine, _used(machine, row.of), _in_row(machine, row, index))


def put_in_row(machine: Machine, row: CellRow, index: Value, item: Value) -> None:
    """row[index] = item."""
    _put(machine, _used(machine, row.of), _in_row(machine, row, index), item)


def _in_row(machine: Machine, row: CellRow, index: Value) -> Value:
    tracer = machine.tracer
    return SequenceValue(None, tuple, [tracer.number(row.place), tracer.number(_index(machine, index))])


# -- behind the loops --------------------------------------------------------------------------------


def _is_left(cells: Cells) -> bool:
    """Whether a loop has stored into the list, and none is about to run an iteration."""
    return cells.region is not None and cells.region.loop is not None and cells.values is not None


def _item_left(machine: Machine, of: Value, index: Value, target: SequenceValue, position: Value) -> CellItem:
    """of[index]: the item of the list that residual code makes, or if nobody else has that, the number alone."""
    cells, tracer = target.cells, machine.tracer
    if tracer.peeling or cells.kind == "bool" or cells.where in cells.plan.read_between:
        raise Break("loop-list", "a list")  # NB: a bool is one of two objects, which `is` can tell
    kept = (target, repr(_key(position)))
    found: CellItem | None = cells.left.get(kept)
    if found is not None:
        return found
    element = numpy_rules.get_item(machine, cells.array, position)
    assert isinstance(element, ArrayValue)
    number: Value = ResultValue(None, element.node, float if cells.kind == "float" else int)
    if cells.fill is not None:
        number = cells.fill
    elif cells.tags is not None:
        tag = numpy_rules.get_item(machine, cells.tags, position)
        assert isinstance(tag, ArrayValue)
        table = ArrayValue(None, cells.table)
        number = CallValue(None, Objects.at, [table, ResultValue(None, tag.node, int), number])
    found = cells.left[kept] = CellItem(None, operator.getitem, [of, index], target, number)
    return found


def _key(position: Value) -> Any:
    if isinstance(position, SequenceValue):
        return tuple(map(_key, position.known))
    return as_scalar(position)


def alone(roots: Iterable[Value | None]) -> set[Value]:
    """The items among what residual code loads whose lists it does not load otherwise."""
    seen: set[Value] = set()
    work = list(roots)
    while work:
        value = work.pop()
        if value is None or value in seen:
            continue
        seen.add(value)
        work += parts(value)
        if isinstance(value, CallValue) and not isinstance(value, CellItem):
            work += value.args
        if isinstance(value, EitherValue):
            work += [value.first, value.second]
    items = [value for value in seen if isinstance(value, CellItem)]
    times = Counter(item.of for item in items)
    return {item for item in items if item.of not in seen and times[item.of] == 1}


# -- in another loop -------------------------------------------------------------------------------


def _enter(machine: Machine, target: SequenceValue, region: Region) -> None:
    """Let another outermost loop use a list, in which loops have left new objects if there are no tags. What that takes
    stands in front of the loop. An item that was read before is what residual code finds in the list: where there is
    one, the segment has to end there in the next attempt."""
    tracer = machine.tracer
    if target.cells.left:
        target.cells.plan.read_between.add(target.cells.where)
        raise Retry
    regions, tracer.regions = tracer.regions, []
    try:
        _begin(machine, target.cells, length(target), tracer.plans[region.key])
    finally:
        tracer.regions = regions


def _begin(machine: Machine, cells: Cells, count: Scalar, plan: LoopPlan) -> None:
    cells.firsts, cells.mark, cells.marked, cells.tagged = [], None, None, False
    cells.numbers.clear()
    cells.left.clear()
    fill, cells.fill = cells.fill, None
    if cells.kind == "bool" or cells.tags is not None:
        return
    if fill is not None and not plan.objects and not is_single(as_scalar(fill)):
        plan.objects = True
        raise Retry
    if not plan.objects or (cells.is_grid and fill is None):
        return
    cells.tagged, cells.puts = True, []
    if fill is not None:
        cells.tags = _new(machine, cells.array.node.array_type.shape, _DTYPES["int"])
        _store_tag(machine, cells, ConstantValue(None, slice(None)), fill)
        return
    # NB: whether a size is 1 is not to be asked now, when loops that have it may be complete.
    size = make("add", count, 2) if cells.grows else cells.room
    places = numpy_rules.call_numpy(machine, np.arange, [machine.tracer.number(size)], {})
    assert places is not None
    product = numpy_rules.binary(machine, "*", places, ConstantValue(None, 2))
    tags = numpy_rules.binary(machine, "+", product, ConstantValue(None, 3))
    assert isinstance(product, ArrayValue) and isinstance(tags, ArrayValue)
    mark = Symbol("mark", "int", 0)
    cells.mark = NumberValue(None, mark, serial=_LATEST)  # as if this loop made them
    cells.marked, cells.tags = (product.node, tags.node), tags
    if cells.grows:
        cells.tags = _new(machine, cells.room, _DTYPES["int"])
        first = SliceValue(None, ConstantValue(None, None), machine.tracer.number(size), ConstantValue(None, None))
        numpy_rules.set_item(machine, cells.tags, first, tags)


# -- in a loop -------------------------------------------------------------------------------------


def length(target: SequenceValue) -> Scalar:
    """How many items the list has."""
    found = as_scalar(target.ends["length"])
    if found is None:
        raise Break("loop-list", "a list")
    return found


def size(known: Value) -> Value:
    """len() of a list of that length, a new object."""
    if isinstance(known, ResultValue):
        return replace(known)
    return NumberValue(None, known.expr) if isinstance(known, NumberValue) else known


def get(machine: Machine, target: SequenceValue, index: Value) -> Value:
    """target[index]."""
    if target.cells.is_grid:
        return _row(machine, target, index)
    if not machine.tracer.regions and _is_left(target.cells):
        return _item_left(machine, target, index, target, machine.tracer.number(_place(machine, target, index)))
    cells = _used(machine, target)
    return _read(machine, cells, machine.tracer.number(_place(machine, target, index)))


def pop(machine: Machine, target: SequenceValue) -> Value:
    """target.pop()."""
    cells, tracer = _used(machine, target, grows=True), machine.tracer
    tracer.have(make("ge", length(target), 1), *_NO_ITEM)
    place = make("sub", length(target), 1)
    found = _read(machine, cells, tracer.number(place))
    target.ends["length"] = tracer.number(place)
    return found


def append(machine: Machine, target: SequenceValue, item: Value) -> None:
    """target.append(item)."""
    if target.cells.is_grid:
        _append_row(machine, target, realise(machine.tracer, item))
        return
    cells, tracer = _used(machine, target, grows=True), machine.tracer
    place = length(target)
    tracer.have(make("lt", place, cells.room), *_NO_ITEM)
    _put(machine, cells, tracer.number(place), item)
    target.ends["length"] = tracer.number(make("add", place, 1))


def put(machine: Machine, target: SequenceValue, index: Value, item: Value) -> None:
    """target[index] = item."""
    cells = _used(machine, target)
    if cells.is_grid:
        raise Break("loop-list", "a list")
    _put(machine, cells, machine.tracer.number(_place(machine, target, index)), item)


def read_at(machine: Machine, cells: Cells, position: Value) -> Value:
    """The number at a position."""
    return _read(machine, cells, position)


def read_code(machine: Machine, cells: Cells, position: Value) -> Scalar:
    """The number at a position, which stands for something else."""
    return _read_number(machine, cells.array, position)


def put_code(machine: Machine, cells: Cells, position: Value, code: Scalar) -> None:
    """Put such a number at a position."""
    _set(machine, cells.array, position, machine.tracer.number(code))


def put_at(machine: Machine, cells: Cells, position: Value, item: Value) -> None:
    """Put a number at a position."""
    _put(machine, cells, position, item)


def _used(machine: Machine, target: SequenceValue, grows: bool = False) -> Cells:
    """The arrays, where a loop may use them; raises Retry where they cannot grow."""
    cells, tracer = target.cells, machine.tracer
    loop = tracer.regions[0] if tracer.regions else None
    assert isinstance(cells, Cells)
    if loop is None or not loop.index.name or cells.values is None:
        raise Break("loop-list", "a list")
    if cells.region not in (None, loop):
        _enter(machine, target, loop)
    if tracer.plans[loop.key].objects and not cells.tagged and cells.kind != "bool":
        raise Break("loop-list", "a list")
    if grows and not cells.grows:
        assert cells.plan is not None
        cells.plan.cells[cells.where] = cells.kind, True
        raise Retry
    cells.region = loop
    return cells


def _place(machine: Machine, target: SequenceValue, index: Value) -> Scalar:
    """Where in the arrays an item stands; a list that does not grow has as many as its arrays, which tell by
    themselves."""
    number, tracer = _index(machine, index), machine.tracer
    count = length(target)
    if not target.cells.grows and tracer.graph.facts.decide(make("eq", count, target.cells.room)):
        return number
    is_negative = tracer.graph.facts.decide(make("lt", number, 0))
    tracer.have(make("lt", number, count), *_NO_ITEM)
    if is_negative is not False:
        tracer.have(make("ge", make("add", number, count), 0), *_NO_ITEM)
    if is_negative is None:
        return make("add", number, make("mul", count, make("min", 1, make("max", 0, make("neg", number)))))
    return make("add", number, count) if is_negative else number


def _index(machine: Machine, index: Value) -> Scalar:
    if isinstance(index, ArrayValue) and index.node.array_type.scalar and index.node.array_type.dtype.kind in "iu":
        index = numpy_rules.read_number(machine, index) or index
    number = as_scalar(index)
    if number is None or kind_of(number) != "int":
        raise Break("loop-list", "a list")
    return number


def _read(machine: Machine, cells: Cells, position: Value) -> Value:
    tracer = machine.tracer
    expr = _read_number(machine, cells.array, position)
    if cells.kind == "bool":
        return NumberValue(None, make("ne", expr, 0))
    key = tracer.graph, expr
    if key not in cells.numbers:
        node = None
        if cells.tags is not None and cells.tagged:
            tag = _read_number(machine, cells.tags, position)
            node = next(one for one in reversed(tracer.graph.nodes) if tag in one.params.get("yields", ()))
        tracer.alternatives.pop(expr.name, None)
        tracer.cell_reads.add(expr)
        cells.numbers[key] = NumberValue(None, expr, CellRead(cells, node))
    return cells.numbers[key]


def _read_number(machine: Machine, array: ArrayValue, position: Value) -> Symbol:
    element = numpy_rules.get_item(machine, array, position)
    read = numpy_rules.read_number(machine, element)
    expr = None if read is None else as_scalar(read)
    if not isinstance(expr, Symbol):
        raise Break("data-dependent-number", "an item of a list")
    node = machine.tracer.graph.nodes[-1]
    if expr in node.params.get("yields", ()):
        node.params["listed"] = True
    return expr


def _put(machine: Machine, cells: Cells, position: Value, item: Value) -> None:
    item = realise(machine.tracer, item)
    if isinstance(item, EitherValue):
        split_each(machine, item, lambda one: _put(machine, cells, position, one))
        return
    number = _number_of(item, cells.kind)
    if number is None:
        _give_up(cells)
    if cells.kind != "bool":
        claim(machine.tracer, item, number, cells.outside is not None)
    _store(machine, cells, position, item)


def _store(machine: Machine, cells: Cells, index: Value, item: Value) -> None:
    """Store a number and its tag, under an index that the arrays have."""
    _set(machine, cells.array, index, _stored(machine, cells, item))
    if cells.marks is not None and cells.marks is not cells.tags:
        _set(machine, cells.marks, index, ConstantValue(None, 1))
    if cells.tagged or (cells.tags is not None and machine.tracer.regions):
        _store_tag(machine, cells, index, item)


def _set(machine: Machine, array: ArrayValue, index: Value, number: Value) -> None:
    numpy_rules.set_item(machine, array, index, number)
    node = machine.tracer.graph.nodes[-1]
    assert node.kind is NodeKind.STORE
    node.params["listed"] = True  # plainly it costs nothing but the instruction


def _stored(machine: Machine, cells: Cells, item: Value) -> Value:
    """An item as the number that stands in the array."""
    truth = as_scalar(item)
    if cells.kind != "bool":
        return item
    return ConstantValue(None, int(truth)) if isinstance(truth, bool) else as_whole(machine, item)


def _store_tag(machine: Machine, cells: Cells, index: Value, item: Value) -> None:
    """Store the tag of an item, as which 0 stands until it is known (number_objects.py)."""
    tracer = machine.tracer
    assert cells.tags is not None
    _set(machine, cells.tags, index, ConstantValue(None, 0))
    if not cells.tagged:
        return
    node = tracer.graph.nodes[-1]
    cells.puts.append(item)
    inner = next((region for region in reversed(tracer.regions) if region.index.name), None)
    is_first = isinstance(index, ConstantValue)  # of one object for several items, or before the loop
    serial = next_serial() if is_first or inner is None else inner.serial
    (tracer.put_numbers if tracer.regions else cells.firsts).append(PutNumber(node, 0, item, serial))


def list_of(target: SequenceValue) -> tuple[Any, list[Value]] | None:
    """What makes the list as it is now, a function and its arguments; None where no loop has got it as arrays."""
    cells = target.cells
    if cells is None or (cells.fill is None and cells.values is None):
        return None
    if cells.fill is not None:
        return _rows_of, [cells.fill, as_value(cells.columns), target.ends["length"]]
    args: list[Value] = [cells.array, target.ends["length"]]
    if cells.tags is not None:
        args += [cells.tags, ArrayValue(None, cells.table)]
    return Objects.list_of, args


def _rows_of(item: Any, columns: int, length: int) -> list[list[Any]]:
    """The list of lists in which no loop has stored."""
    return [[item] * columns for _ in range(length)]


__all__ = [
    *("Cells", "alone", "append", "columns_of", "get", "get_of_row", "hold", "length", "list_of", "note_filler", "pop"),
    *("prepare", "put", "put_in_row", "size", "want", "want_filled"),
]
