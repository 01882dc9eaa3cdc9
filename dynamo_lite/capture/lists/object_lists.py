"""Lists that the program works on as the objects that they are: ``d[i][j] = d[i][k] + d[k][j]``, ``u = new``.

Enters a list from outside that a loop reads and stores to, or one made here that a loop needs in a way in which neither
its items (lists.py) nor arrays (cells.py, columns.py) can stand for it. Leaves a ListValue: the graph has the list, an
op takes an item of it, as an object, another one reads the number that this is, and a third puts an object there:

    a[j], a[j + 1] = a[j + 1], a[j]   %x = list_take(%a, j + 1); %y = list_take(%a, j); put_item(%a, j, %x) ...
    u = new                           the loop carries the list

So aliases, rows that are one list, and items that are moved need no thought: they are Python's own. What a list holds
is guessed from what it holds now (holdings.py); an item of another type declines, as an index that the list lacks does.
The attempt that finds such a list has all of a function known so from then on (Restraints.objects), but for those that
hold other things than numbers, NumPy scalars (scalar_items.py), tuples of these, and lists of such.

INVARIANT: which lists are one nobody asks: two ListValues may be the same list. A number that was taken of a list is
the object that its node gives (ItemRead), as long as that node is at hand, and else has a tag (number_objects.py).
"""

from __future__ import annotations

from typing import Any, NoReturn

from dynamo_lite import ops
from dynamo_lite._C import abi
from dynamo_lite.capture.branches.choices import LENGTH, is_none, split_each
from dynamo_lite.capture.branches.sameness import is_read_later, reachable, types_agree
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.lists.claims import claim, hold, made_anew, table_of
from dynamo_lite.capture.lists.holdings import (
    FEWEST_ARRAYS,
    LONGEST_TUPLE,
    agree,
    are_known,
    holding_of,
    joined,
    named,
    require_mixed,
    settle,
    type_of_array,
)
from dynamo_lite.capture.lists.list_arrays import read
from dynamo_lite.capture.lists.scalar_items import DTYPES, SCALARS, guess, kind_of_scalar, note_put
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.aggregates import LONGEST
from dynamo_lite.capture.objects.places import LATEST
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import NUMPY, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ComputedValue,
    ConstantValue,
    DictValue,
    EitherValue,
    Holding,
    ItemRead,
    LazyValue,
    ListValue,
    NumberValue,
    SequenceValue,
    Value,
    is_made_after,
    is_single,
    stored_late,
)
from dynamo_lite.capture.wrap import FROM_OUTSIDE, present, realise, wrap
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.scalar import Scalar, kind_of, make
from dynamo_lite.graph.types import LIST, ArrayType

_OF = {"int": abi.READ_INT, "float": abi.READ_FLOAT, "bool": abi.READ_BOOL}
_MIXED = {"int", "float"}
_FEW = 4
_MOST = 64  # items of a list made here that are put into it one by one
_MOST_KNOWN = 4096  # and of one of constants, which is copied
_DONE = frozenset({"list.append", "list.pop", "list.copy", "list.extend"})  # by `method`, below
_BY_OBJECTS = frozenset(  # of breaks that such lists may do away with
    {"loop-list", "loop-state", "side-effect-container", "loop-over-unknown-iterator", "unsupported-operation"}
    | {"loop-dependent", "long-list", "list-length", "listed-array", "data-dependent-number", "python-call"}
)


# -- which lists ---------------------------------------------------------------------------------------


def try_objects(tracer: Tracer, reason: str, detail: str = "") -> None:
    """Have lists known by their objects from the next attempt on, where a loop cannot stay one for that reason, and
    there are lists of numbers; or not any more, where that has been tried."""
    restraints = tracer.restraints
    if restraints.objects is False or reason not in _BY_OBJECTS:
        return
    if restraints.objects is None and detail.startswith("list.") and detail not in _DONE:
        return
    of_arrays = restraints.objects is None and _has_lists(tracer, True)
    if restraints.objects is None and (of_arrays or _has_lists(tracer)):
        restraints.objects, restraints.arrays = True, of_arrays
    elif restraints.arrays:
        restraints.objects, restraints.arrays = _has_lists(tracer), False
    elif restraints.objects:
        restraints.objects = False
    else:
        return
    begin_again(tracer)


def holds_arrays(tracer: Tracer, value: Value) -> bool:
    """Whether a value is a list from outside of arrays of one type, each an input with guards of its own."""
    concrete = next((obj for obj, one in tracer.wrapped.values() if one is value), None)
    holding = holding_of(concrete, arrays=True)
    return holding is not None and holding.kind == "array"


def take_items(tracer: Tracer) -> None:
    """Have such lists known by their objects from the next attempt on, unless that was tried."""
    if tracer.restraints.objects is None:
        try_objects(tracer, "loop-over-unknown-iterator")


def begin_again(tracer: Tracer) -> NoReturn:
    """Raise Retry, with what loops have learned of lists forgotten."""
    for plan in tracer.plans.values():
        plan.cells.clear()
        plan.lists.clear()
        plan.rows.clear()
        for place in [place for place in plan.places if type(place.key) is int or place.key in (*LATEST, "length")]:
            del plan.places[place]
    raise Retry


def _has_lists(tracer: Tracer, arrays: bool = False) -> bool:
    """Whether there are such lists; arrays: of arrays, others do not count."""
    outside = [one for one, _ in tracer.wrapped.values()] + [one.concrete for one in tracer.grown.values()]
    holdings = [holding_of(one, arrays=arrays) for one in outside]
    if any(one is not None and (not arrays or one.kind == "array") for one in holdings):
        return True
    if arrays:
        return any(_holds_arrays(tracer, value) for value in reachable(tracer))
    return any(isinstance(value, ListValue) or is_eligible(tracer, value, True) for value in reachable(tracer))


def is_eligible(tracer: Tracer, value: Value, ever: bool = False) -> bool:
    """Whether a value is a list made here of numbers of one kind, or of ints and floats, or of such lists, or of arrays
    where lists of those are known so. ever: or would have been one before a loop that is being captured began."""
    if not isinstance(value, SequenceValue) or value.kind is not list or value.source is not None:
        return False
    of_arrays = tracer.restraints.arrays and _holds_arrays(tracer, value)
    if of_arrays and value.is_grown:
        return True
    is_other = value.is_grown or any(one is not None for one in (value.cells, value.rows, value.became))
    if value.by_parts or (not ever and (is_other or any(value in region.lists for region in tracer.regions))):
        return False  # it was there before the loop, or something else stands for it
    kinds = {_kind_of(tracer, item) for item in (*value.known, *value.late.values())}
    most = _MOST_KNOWN if _constants(tracer, value) else _MOST
    is_of_scalars = SCALARS in kinds and kinds <= {SCALARS, *_OF}
    is_alike = not kinds or is_of_scalars or kinds == _MIXED or (len(kinds) == 1 and None not in kinds)
    return len(value.known) <= most and (of_arrays or is_alike)


def _holds_arrays(tracer: Tracer, value: Value) -> bool:
    """Whether a value is a list or dict made here of arrays of one type, and of None where one may be stored."""
    if isinstance(value, DictValue):
        return value.source is None and value.filled is None and _are_arrays(tracer, list(value.known.values()))
    if not isinstance(value, SequenceValue) or value.kind is not list or value.source is not None or value.by_parts:
        return False
    if value.is_grown:
        return _filled_type(tracer, value) is not None
    items = [item for item in (*value.known, *value.late.values()) if not is_none(item)]
    awaits = value.times is not None or len(value.known) >= FEWEST_ARRAYS
    return _are_arrays(tracer, items) if items else awaits and bool(value.known)


def _are_arrays(tracer: Tracer, items: list[Value]) -> bool:
    types = {type_of_array(_looked_at(tracer, item)) for item in items[: _MOST + 1]}
    return len(items) <= _MOST and len(types) == 1 and None not in types


def _looked_at(tracer: Tracer, item: Value) -> Value:
    """What an item is; as it was where nobody has seen it, and it is a list that something fills already."""
    is_filled = isinstance(item, LazyValue) and item.known is None and id(item.concrete) in tracer.grown
    return item if is_filled else realise(tracer, item)


def _kind_of(tracer: Tracer, item: Value) -> str | None:
    item = _looked_at(tracer, item)
    if tracer.restraints.arrays and type_of_array(item) is not None:
        return "array"
    if isinstance(item, ListValue) or is_eligible(tracer, item):
        return "list"
    if _is_tuple(item):
        kinds = [_kind_of(tracer, part) for part in item.known]  # type: ignore[attr-defined]
        return None if None in kinds or "tuple" in kinds else "tuple"
    if (constant := _constant_tuple(item)) is not None:
        return None if holding_of([constant]) is None else "tuple"
    if _is_given_tuple(item):
        kinds = [_kind_of(tracer, part) for part in item.known]  # type: ignore[attr-defined]
        return "tuple" if {*kinds} <= {*_OF} else None
    if kind_of_scalar(item) is not None:
        return SCALARS
    number = as_scalar(item)
    return None if number is None or kind_of(number) not in _OF else kind_of(number)


def _constants(tracer: Tracer, value: SequenceValue) -> list[Any] | None:
    """The items of a list of numbers that are the same objects in each call; None for another one."""
    items = [_looked_at(tracer, item) for item in value.known]
    if value.times is not None or value.late or len(items) < _FEW:
        return None
    tuples = [_constant_tuple(item) for item in items]
    if None not in tuples:
        return tuples
    known = all(type(item) is ConstantValue or is_single(as_scalar(item)) for item in items)
    return [item.value for item in items] if known else None  # type: ignore[attr-defined]


def _is_tuple(item: Value) -> bool:
    is_made_here = isinstance(item, SequenceValue) and item.kind is tuple and item.source is None
    return is_made_here and 0 < len(item.known) <= LONGEST_TUPLE  # type: ignore[attr-defined]


def _is_given_tuple(item: Value) -> bool:
    """Whether a value is a tuple from outside, of a few items."""
    is_given = type(item) is SequenceValue and item.kind is tuple and item.source is not None
    return is_given and 0 < len(item.known) <= LONGEST_TUPLE and _constant_tuple(item) is None  # type: ignore[attr-defined]


def _constant_tuple(item: Value) -> tuple[Any, ...] | None:
    """The tuple that the code has as a constant."""
    if type(item) is ConstantValue and type(item.value) is tuple:
        return item.value
    source = item.source if isinstance(item, SequenceValue) and item.kind is tuple else None
    return source.key.value if source is not None and source.kind == "const" else None


def _filled_type(tracer: Tracer, value: SequenceValue) -> ArrayType | None:
    """The type of the arrays in a list all of which the program has; None of another one."""
    if value.filled is None or value.known or value.ends or value.cells is not None:
        return None
    type_ = tracer.types_put.get(value.filled)
    return type_ if type_ is not None and are_known(tracer, type_) else None


def convert_all(tracer: Tracer) -> None:
    """Before a loop: have the program make the lists that it may need."""
    if not tracer.restraints.objects or tracer.frames[-1].code.filename.startswith(NUMPY):
        return
    for value in reachable(tracer):
        if is_eligible(tracer, value):
            assert isinstance(value, SequenceValue)
            convert(tracer, value)


def convert(tracer: Tracer, value: SequenceValue) -> ListValue:
    """The list of the program's that a list made here becomes."""
    graph, here = tracer.graph, tracer.location()
    kinds = {_kind_of(tracer, item) for item in (*value.known, *value.late.values())}
    if (type_ := _filled_type(tracer, value)) is not None:
        assert value.filled is not None
        value.became = made = ListValue(None, value.filled, Holding("array", array=type_))
        return made
    frame = tracer.frames[-1]
    name = (frame.code.filename, frame.code.qualname, frame.index)
    of_parts = ("list", "tuple", "array", SCALARS)
    kind = "number" if kinds == _MIXED else next(iter(kinds)) or "" if kinds and kinds.isdisjoint(of_parts) else ""
    holding = Holding(kind)
    made = ListValue(None, holding=named(holding, name, tracer.restraints.mixed))
    constants = _constants(tracer, value)
    if constants is not None and not holding.kind:
        made.holding = named(holding_of(constants) or holding, name, tracer.restraints.mixed)
    value.became = made  # whose items nobody else has, if they are tuples
    if constants is not None:
        model = hold(tracer, constants)
        made.node = _take_of(tracer, model, abi.TAKE_COPY)
    elif value.times is not None:
        repeated = _object_node(tracer, holding, realise(tracer, value.known[0]))
        made.node = ops.lists.new_container(graph, list, here, repeated, value.times)
    else:
        made.node = ops.lists.new_container(graph, list, here)
        for one in value.known:
            _store(tracer, made, None, realise(tracer, one))
    for place, one in stored_late(value):
        _store(tracer, made, place, realise(tracer, one))
    return made


# -- from outside ------------------------------------------------------------------------------------------


def from_outside(tracer: Tracer, obj: list[Any], source: Source) -> ListValue | None:
    """A list from outside; None where it holds other things."""
    holding = holding_of(obj, arrays=tracer.restraints.arrays)
    if holding is None:
        return None
    tracer.facts.state("type", source, list)
    if holding.kind == "array":
        model = realise(tracer, present(tracer, source.item(0), obj[0]))
        holding.array = type_of_array(model)
        if holding.array is None:
            return None
    node = tracer.root.add_input(LIST, "list")
    tracer.inputs.append(source)
    tracer.example_inputs.append(obj)
    tracer.lists.append(source)
    tracer.nested |= holding.kind == "list"
    named(holding, source, tracer.restraints.mixed)
    return _known(tracer, ListValue(source, node, holding, source, obj))


def _known(tracer: Tracer, value: ListValue) -> ListValue:
    tracer.listed.append(value)
    return value


# -- in the graph --------------------------------------------------------------------------------------------


def length(machine: Machine, target: ListValue) -> Value:
    """len(target)."""
    tracer = machine.tracer
    if target.at is not None and not (tracer.restraints.lists_grow and (tracer.in_loop or tracer.changes_lists)):
        if target.fixed is None:
            target.fixed = as_scalar(wrap(tracer, len(target.concrete), Source("list_length", target.at, None)))
        assert target.fixed is not None
        return tracer.number(target.fixed)
    return length_now(tracer, target.node)


def length_now(tracer: Tracer, node: Node) -> Value:
    """How long a list of the program's, or one to which it appends, is at this place."""
    return NumberValue(None, read(tracer, node, "int", abi.READ_LENGTH))


def place_of(machine: Machine, index: Value) -> Scalar:
    """An index as an int."""
    number = as_scalar(numpy_rules.read_int(machine, index))
    if number is None or kind_of(number) != "int":
        raise Break("loop-list", "a list, under an index that is no int")
    return number


def get(machine: Machine, target: ListValue, index: Value) -> Value:
    """target[index]."""
    tracer, place = machine.tracer, place_of(machine, index)
    known = tracer.taken.get((target.node, place))
    if known is not None and known[0] == tracer.changes_lists:
        # NB: a number that a branch moves as an object would have to be kept in every iteration.
        is_here = known[1] is tracer.graph
        if is_here or (isinstance(known[2], ListValue) and _runs_with(tracer, known[1])):
            return known[2]
    node = _take(tracer, target, abi.TAKE_ITEM, place)
    found = _item_from_outside(tracer, target, place, node) or _item(tracer, target, node, place)
    tracer.taken[target.node, place] = tracer.changes_lists, tracer.graph, found
    return found


def _item_from_outside(tracer: Tracer, target: ListValue, place: Scalar, node: Node) -> Value | None:
    """An item of a list from outside as it is when the call begins, of which the guards know the number, or length."""
    if target.at is None or tracer.regions or tracer.changes_lists or type(place) is not int:
        return None
    if not 0 <= place < len(target.concrete):
        return None
    item, at = target.concrete[place], target.at.item(place)
    if target.holding.kind == "list" and type(item) is list:
        assert target.holding.inner is not None
        return _known(tracer, ListValue(None, node, target.holding.inner, at, item))
    if target.holding.kind == "array":
        return realise(tracer, present(tracer, at, item))
    known = wrap(tracer, item, at) if type(item).__name__ == target.holding.kind != "bool" else None
    if not isinstance(known, NumberValue):
        return None
    tracer.made_by_guards.add(at)
    return NumberValue(None, known.expr, ItemRead(node))


def _runs_with(tracer: Tracer, graph: Graph) -> bool:
    """Whether what stands in a graph has been done in this very iteration: it is the graph at hand, or one around it
    with nothing but branches in between."""
    for region in reversed(tracer.regions):
        if region.graph is graph or region.index.name:
            return region.graph is graph
    return graph is tracer.root


def _item(tracer: Tracer, target: ListValue, node: Node, place: Scalar = -1) -> Value:
    """What a node has taken of a list under an index."""
    holding = target.holding
    if holding.kind == "list":
        assert holding.inner is not None
        return ListValue(None, node, holding.inner)
    if holding.kind == "tuple":
        count = len(holding.parts)
        takes = [_take_of(tracer, node, abi.TAKE_OF_TUPLE, place, count) for place in range(count)]
        items = [_item(tracer, ListValue(holding=part), one) for part, one in zip(holding.parts, takes, strict=True)]
        return SequenceValue(None, tuple, items, taken=node)
    if holding.kind == "array":
        assert holding.array is not None
        return ArrayValue(None, ops.lists.read_array(tracer.graph, node, holding.array, tracer.location()))
    if not holding.kind:  # a guess
        settle(holding, "int", tracer.restraints.mixed)
    kind = holding.kind
    if kind == SCALARS:
        kind = guess(tracer, target, place)
    if kind in DTYPES:
        return ArrayValue(None, ops.lists.read_scalar(tracer.graph, node, DTYPES[kind], tracer.location()))
    if kind == "bool":
        return NumberValue(None, make("ne", read(tracer, node, "int", abi.READ_BOOL), 0))
    table = table_of(tracer)
    tag = None
    if table is not None:
        read(tracer, node, "int", abi.READ_TAG, table)
        tag = tracer.graph.nodes[-1]
    if kind != "number":
        return _number(tracer, node, kind, _OF[kind], tag)
    is_float = make("ne", read(tracer, node, "int", abi.READ_IS_FLOAT), 0)
    parts = (("float", abi.READ_FLOAT_ELSE), ("int", abi.READ_INT_ELSE))
    return EitherValue(None, is_float, *(_number(tracer, node, one, of, tag) for one, of in parts))


def _number(tracer: Tracer, node: Node, kind: str, of: int, tag: Node | None) -> NumberValue:
    symbol = read(tracer, node, kind, of)
    tracer.cell_reads.add(symbol)
    return NumberValue(None, symbol, ItemRead(node, tag))


def put(machine: Machine, target: ListValue, index: Value | None, item: Value) -> None:
    """target[index] = item, or without an index target.append(item)."""
    item = realise(machine.tracer, item)
    _put_each(machine, target, None if index is None else place_of(machine, index), item, item)


def _put_each(machine: Machine, target: ListValue, place: Scalar | None, item: Value, whole: Value) -> None:
    """Store what `whole` is: `item`, which is one value or another itself, maybe, or something else."""
    item = realise(machine.tracer, item)
    if isinstance(item, EitherValue) and _node_of(item) is None:
        split_each(machine, item, lambda one: _put_each(machine, target, place, one, whole))
        return
    _store(machine.tracer, target, place, item, whole)


def _node_of(item: EitherValue) -> Node | None:
    """The node that has taken a number of one kind or another of a list."""
    origins = [one.origin if isinstance(one, NumberValue) else None for one in (item.first, item.second)]
    nodes = {one.object if isinstance(one, ItemRead) else None for one in origins}
    return nodes.pop() if len(nodes) == 1 else None


def as_operand(machine: Machine, target: ListValue) -> list[Value] | None:
    """The items of a short list from outside where NumPy wants an array, and it does not hold numbers alone
    (list_arrays.py)."""
    is_short = target.at is not None and 0 < len(target.concrete) <= LONGEST
    return unpack(machine, target, len(target.concrete)) if is_short else None


numpy_rules.ITEMS.append(as_operand)


def pop(machine: Machine, target: ListValue, index: Value | None) -> Value:
    """target.pop(index)."""
    tracer = machine.tracer
    place = -1 if index is None else place_of(machine, index)
    _changes_length(tracer, target)
    tracer.changes_lists += 1
    node = _take(tracer, target, abi.TAKE_OUT, place)
    _stay_as_long(tracer)
    return _item(tracer, target, node)


def method(machine: Machine, target: ListValue, name: str, args: list[Value]) -> Value:
    """A call of a method of a list."""
    match name, len(args):
        case "append", 1:
            put(machine, target, None, args[0])
            return ConstantValue(None, None)
        case "pop", 0 | 1:
            return pop(machine, target, args[0] if args else None)
        case "copy", 0:
            return copy(machine, target)
        case "extend", 1 if (items := _known_items(machine.tracer, args[0])) is not None:
            for item in items:
                put(machine, target, None, item)
            return ConstantValue(None, None)
    raise Break("side-effect-container", f"list.{name}")


def _known_items(tracer: Tracer, value: Value) -> list[Value] | None:
    """The items of a list or tuple that capture knows one by one."""
    value = realise(tracer, value)
    is_known = type(value) is SequenceValue and not value.is_grown and value.cells is None and value.times is None
    return value.items if is_known else None  # type: ignore[attr-defined]


def copy(machine: Machine, target: ListValue, start: Value | None = None, stop: Value | None = None) -> ListValue:
    """target[start:stop], a new list; None: from the begin, to the end."""
    tracer = machine.tracer
    places: list[Scalar] = []
    if start is not None or stop is not None:
        ends = (ConstantValue(None, 0) if start is None else start, stop)
        places = [2**62 if one is None else place_of(machine, one) for one in ends]
    return ListValue(None, _take(tracer, target, abi.TAKE_COPY, *places), target.holding)


def join(tracer: Tracer, one: Value, other: Value) -> ListValue | None:
    """one + other, a new list; None where lists are not known by their objects, or these are none."""
    if not tracer.restraints.objects or not tracer.native_loops:
        return None
    both = [_as_list(tracer, value) for value in (one, other)]
    if both[0] is None or both[1] is None or tracer.frames[-1].code.filename.startswith(NUMPY):
        return None
    joined(both[0].holding, both[1].holding, tracer.restraints.mixed)
    node = ops.lists.join(tracer.graph, both[0].node, both[1].node, tracer.location())
    return ListValue(None, node, both[0].holding)


def as_list_like(tracer: Tracer, known: Value, after: Value) -> Value:
    """What an iteration leaves where a list was, as a list that seems to hold the same; any other value as it is."""
    found = _as_list(tracer, after) if isinstance(known, ListValue) else None
    if found is None:
        return after
    assert isinstance(known, ListValue)
    return found if agree(known, found, tracer.restraints.mixed) else Value()


def _as_list(tracer: Tracer, value: Value) -> ListValue | None:
    if isinstance(value, SequenceValue) and is_eligible(tracer, value):
        return convert(tracer, value)
    return value if isinstance(value, ListValue) else None


def _take(tracer: Tracer, target: ListValue, kind: int, *places: Scalar) -> Node:
    return _take_of(tracer, target.node, kind, *places)


def _take_of(tracer: Tracer, target: Node, kind: int, *places: Scalar) -> Node:
    return ops.lists.take_out_of(tracer.graph, target, kind, places, tracer.location())


def _changes_length(tracer: Tracer, target: ListValue) -> None:
    """Note that a list gets longer or shorter. One from outside has then to be asked how long it is."""
    is_own = target.node.op == "new_container" or target.node.params.get("kind") == abi.TAKE_COPY
    if not is_own and not tracer.restraints.lists_grow:
        tracer.restraints.lists_grow = True
        raise Retry


def next_of(machine: Machine, target: ListValue, count: Scalar, index: Value) -> Value:
    """The item of a list of so many items that a loop goes over."""
    tracer = machine.tracer
    if tracer.regions:
        tracer.gone_over.append((tracer.regions[-1], target, count))
    return get(machine, target, index)


def unpack(machine: Machine, target: ListValue, count: int) -> list[Value]:
    """The items of a list that has to have so many."""
    known = as_scalar(length(machine, target))
    assert known is not None
    machine.tracer.have(make("eq", known, count), "unpack", f"a list into {count} names")
    return [get(machine, target, ConstantValue(None, place)) for place in range(count)]


def _stay_as_long(tracer: Tracer) -> None:
    """Decline where a list has got longer or shorter that a loop around goes over: so does the loop."""
    tracer.lengths_changed += 1
    for region, target, count in tracer.gone_over:
        if region in tracer.regions:
            tracer.require(make("eq", read(tracer, target.node, "int", abi.READ_LENGTH), count))


def _store(
    tracer: Tracer, target: ListValue, place: Scalar | None, item: Value, whole: Value | None = None
) -> None:
    """target[place] = item, or without a place an append; whole: what either is `item` or another value, if it is."""
    if place is None:
        _changes_length(tracer, target)
    packed, items, holdings = None, [item], [target.holding]
    if isinstance(item, SequenceValue) and _is_tuple(item) and item.taken is None:
        if is_read_later(tracer, whole or item, True):
            raise Break("loop-state", "a list, by a tuple that something else holds, too")
        packed, items = tuple, [realise(tracer, part) for part in item.known]
        holdings = _parts(target.holding, len(items))
    values = tuple(_object(tracer, holding, one) for holding, one in zip(holdings, items, strict=True))
    tracer.changes_lists += 1
    note_put(tracer, target, place, item)
    table = None if all(isinstance(value, Node) for value in values) else table_of(tracer)
    node = ops.lists.put(tracer.graph, target.node, place, values, packed, tracer.location(), table, True)
    if table is not None:
        for at, (value, one) in enumerate(zip(values, items, strict=True)):
            if not isinstance(value, Node):
                tracer.note_put(node, at + (place is not None), one)
    if place is None:
        _stay_as_long(tracer)


def _parts(holding: Holding, count: int) -> list[Holding]:
    """What tuples of that length in a list hold."""
    if not holding.kind:
        holding.kind, holding.parts = "tuple", [Holding() for _ in range(count)]
        for place, part in enumerate(holding.parts):
            part.names |= {((name, place), "") for name, _ in holding.names}
    if holding.kind != "tuple" or len(holding.parts) != count:
        raise Break("loop-list", "a list of tuples and others")
    return holding.parts


def _object(tracer: Tracer, holding: Holding, item: Value) -> Node | Scalar:
    """What is put into a list: a node of the object, or a number of which there is none yet."""
    if isinstance(item, SequenceValue) and is_eligible(tracer, item):
        item = convert(tracer, item)
    mixed = tracer.restraints.mixed
    if isinstance(item, ListValue):
        if holding.kind not in ("", "list"):
            raise Break("loop-list", "a list of lists and numbers")
        holding.kind, holding.inner = "list", joined(holding.inner, item.holding, mixed)
        item.holding = holding.inner
        return item.node
    if isinstance(item, SequenceValue) and item.taken is not None and _is_at_hand(tracer, item.taken):
        parts = _parts(holding, len(item.known))
        for part, one in zip(parts, item.known, strict=True):
            _object(tracer, part, realise(tracer, one))
        return item.taken
    if isinstance(item, EitherValue) and (node := _node_of(item)) is not None and _is_at_hand(tracer, node):
        require_mixed(holding, "number", mixed)
        return node
    if (constants := _constant_tuple(item)) is not None:
        for part, one in zip(_parts(holding, len(constants)), constants, strict=True):
            _object(tracer, part, ConstantValue(None, one))
        return hold(tracer, constants)
    if _is_given_tuple(item) and _kind_of(tracer, item) == "tuple":
        assert isinstance(item, SequenceValue)
        for part, one in zip(_parts(holding, len(item.known)), item.known, strict=True):
            of_part = _kind_of(tracer, one) or ""
            if not part.kind:
                settle(part, of_part, mixed)
            require_mixed(part, of_part, mixed)
        return _input(tracer, item, next(obj for obj, one in tracer.wrapped.values() if one is item))
    if tracer.restraints.arrays and is_none(item) and holding.kind in ("", "array"):
        return hold(tracer, None)
    if tracer.restraints.arrays and isinstance(item, ArrayValue) and (type_ := type_of_array(item)) is not None:
        if not holding.kind:
            holding.kind, holding.array = "array", type_
        if holding.array is None or not types_agree(tracer, holding.array, type_):
            raise Break("loop-list", "a list of arrays of several types, or of other things")
        return item.node
    number = as_scalar(item) if (scalar := kind_of_scalar(item)) is None else None
    kind = scalar if number is None else kind_of(number)
    if kind is None or holding.kind == "array" or (scalar is None and kind not in _OF):
        raise Break("loop-list", "a list of several kinds of numbers, or of other things")
    if not holding.kind:
        settle(holding, kind, mixed)
    require_mixed(holding, kind, mixed)
    if isinstance(item, ArrayValue) and scalar is not None:
        return item.node
    assert number is not None
    origin = item.origin if isinstance(item, NumberValue) else None
    if isinstance(origin, ItemRead) and _is_at_hand(tracer, origin.object):
        return origin.object
    if isinstance(item, ComputedValue) and id(item.value) in tracer.held:
        node = tracer.held[id(item.value)][1]
        if _is_at_hand(tracer, node):
            return node
    if type(item) is ConstantValue:
        return hold(tracer, item.value)
    if isinstance(item, NumberValue) and item.source is not None and kind != "bool":
        return _input(tracer, item, tracer.hints.get(getattr(item.expr, "name", ""), 0))
    if tracer.in_loop:
        claim(tracer, item, number)
        return made_anew(item, number)
    elif kind != "bool" and not is_single(number) and isinstance(item, NumberValue | ComputedValue):
        return _boxed(tracer, item, number)
    return number


def _object_node(tracer: Tracer, holding: Holding, item: Value) -> Node:
    """The same as a node in any case: a number that may be one object or another is taken of a list that gets it."""
    origin = item.origin if isinstance(item, NumberValue) else None
    is_known = type(item) is ConstantValue or (isinstance(origin, ItemRead) and _is_at_hand(tracer, origin.object))
    if isinstance(item, ListValue) or is_known or not tracer.in_loop:
        found = _object(tracer, holding, item)
        if isinstance(found, Node):
            return found
    one = ListValue(None, ops.lists.new_container(tracer.graph, list, tracer.location()), holding)
    _store(tracer, one, None, item)
    return _take(tracer, one, abi.TAKE_ITEM, 0)


def _boxed(tracer: Tracer, item: NumberValue | ComputedValue, number: Scalar) -> Node:
    """A number that the segment makes before a loop as an object, which all that have it have from now on: it is made
    where the number is, even if a branch is the first to put it into a list."""
    if item.origin is not None:
        raise Break("loop-list", "a number that is one object or another, in a list before a loop")
    made_in = (region.graph for region in reversed(tracer.regions) if is_made_after(item, region.serial))
    graph, here = next(made_in, tracer.root), tracer.location()
    one = ops.lists.new_container(graph, list, here, number, 1)
    node = ops.lists.take_out_of(graph, one, abi.TAKE_ITEM, (0,), here)
    if isinstance(item, NumberValue):
        item.origin = ItemRead(node)
    else:
        item.origin = CallValue(None, itself, [ListValue(None, node)])
        tracer.held[id(item.value)] = item.value, node
    return node


def itself(one: Any) -> Any:
    """What it is given."""
    return one


def _input(tracer: Tracer, item: Value, example: Any) -> Node:
    """A number or tuple from outside as the object that it is."""
    known = tracer.held.get(item.source)
    if known is None:
        assert item.source is not None
        tracer.inputs.append(item.source)
        tracer.example_inputs.append(example)
        name = "tuple" if isinstance(item, SequenceValue) else "number"
        known = tracer.held[item.source] = None, tracer.root.add_input(LIST, name)
    return known[1]


def _is_at_hand(tracer: Tracer, node: Node) -> bool:
    graphs = (tracer.root, *(region.graph for region in tracer.regions))
    return any(node in graph.nodes for graph in graphs)


FROM_OUTSIDE.append(from_outside)
LENGTH.append(length)


__all__ = [
    *("as_list_like", "begin_again", "convert", "convert_all", "copy", "from_outside", "get", "holds_arrays"),
    *("is_eligible", "join", "length"),
    *("method", "next_of", "put", "take_items", "try_objects", "unpack"),
]
