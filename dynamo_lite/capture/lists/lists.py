"""Lists and dicts that a loop fills: ``out.append(x)``, ``out[i] = x`` as ops of the loop's body (ops/lists.py).

Enters a list made in this segment and what is appended to it. Outside of loops the interpreter keeps its items; where
a loop knew the list before its first iteration, the program makes a list of its own, which gets what the loop appends,
and residual code adds it to the items from before:

    out = [x0]                                  %filled = new_container()
    for i in range(n): x = f(x); out.append(x)  loop ...: append(%filled, %x)
    return out                                  residual:  out = [x0]; out.extend(filled)

Where an index or key is a number that only the run knows, the program has all items, from before the loop on: the plan
says so to the next attempt (LoopPlan.lists). A list or dict from outside is an input of the program, which puts back
what it held if it declines; nothing else of the segment has looked into it.

The last item and the length of such a list are places (places.py) with the keys "last" and "length": where an iteration
looks at one and appends, the loop carries it, and `out.append(out[-1] * 0.5)` is `last = last * 0.5; out.append(last)`.
So are the two items before it, if they are no numbers of Python's. An index that grows with the list is that of one
of them: `out[i]`, where there was one item before the loop over `range(n)`. The last item is an array, a NumPy scalar,
or a Python number. Such a number is not known after the loop: the one that the list holds and the one that the loop
carries are two objects.

A number that the iteration has computed, and that nobody else gets, is a new object. Where one may be an object that
something else holds, too, the next attempt has all of them tagged (LoopPlan.objects, number_objects.py).

INVARIANT: no iteration has read the list otherwise. What is appended is the object that it would be: an array is its
node's, a number a new one or that with its tag.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import pairwise
from typing import NoReturn

import numpy as np

from dynamo_lite import ops
from dynamo_lite._C import abi, holds
from dynamo_lite.capture.branches.choices import split
from dynamo_lite.capture.branches.sameness import is_read_later, reachable, reached_by_name
from dynamo_lite.capture.calls.folding import check_items
from dynamo_lite.capture.calls.numpy_rules import call_numpy, read_int, read_result, set_item
from dynamo_lite.capture.lists import cells, object_lists
from dynamo_lite.capture.lists.claims import claim, hold, made_anew, table_of
from dynamo_lite.capture.lists.holdings import are_known, depth_of, note_type
from dynamo_lite.capture.lists.outside_items import looked_up
from dynamo_lite.capture.lists.rows import give_up, note_row, rows_ahead, shape_of
from dynamo_lite.capture.loops.code import appends
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.machine import Machine, as_constant
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.objects.deaths import has_let_go
from dynamo_lite.capture.objects.places import LATEST, Place, end_of, name_of
from dynamo_lite.capture.state import Grown, Region, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    ConstantValue,
    DictValue,
    EitherValue,
    FormattedValue,
    LazyValue,
    NumberValue,
    SequenceValue,
    UnreadValue,
    Value,
    computed_number,
    stored_late,
)
from dynamo_lite.capture.wrap import is_object_list, realise
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Scalar, evaluate, is_symbolic, kind_of, make, symbols_of
from dynamo_lite.graph.types import LIST
from dynamo_lite.ops.lists import is_single


def append(machine: Machine, target: SequenceValue, item: Value) -> None:
    """``target.append(item)``; target: a list made in this segment."""
    tracer = machine.tracer
    if target.cells is not None:
        cells.append(machine, target, item)
        return
    loops = [place for place, region in enumerate(tracer.regions) if target in region.lists]
    if not loops and target.filled is None:
        target.items.append(item)
        return
    if target.times is not None:
        _have_whole(tracer, target)
    was_read = any(tracer.regions[place].lists[target][0] != target.reads for place in loops)
    looked_at = any(_looks(tracer.regions[place], target) for place in loops)
    alternates = bool(loops) and not tracer.regions[-1].index.name  # a choice refuses a list that becomes longer
    if target.filled is None and (was_read or (looked_at and alternates)):
        cells.want(tracer, target, item, grows=True)
    if target.filled is None and not target.ends and (was_read or (looked_at and not alternates)):
        target.known.append(item)  # which the loop refuses, unless the iteration has taken one off
        return
    if was_read and target.filled is None:
        raise Break("loop-list", "a list")
    for place in loops:
        _carry_ends(tracer, tracer.regions[place], target)
    item = realise(tracer, item)
    length = target.ends.get("length")
    _append_ends(machine, target, item)
    _note_appended(tracer, target, item)
    if target.filled is None:
        cells.note_filler(tracer, target, item)
    packed = None if isinstance(item, EitherValue) else _appended(tracer, item)
    where = name_of(tracer, target) if target.filled is None and target.rows is None else None
    if target.filled is None:
        around = tracer.regions[loops[0] - 1].graph if loops[0] else tracer.root
        target.filled = ops.lists.new_container(around, list, tracer.location())
    row = note_row(tracer, target, item, where, loops, length)
    if row is not None:
        set_item(machine, target.rows.array, tracer.number(row), item)
    _put(machine, target.filled, None, item, packed)


def has_ends(tracer: Tracer, target: SequenceValue) -> bool:
    """Whether `look` may be asked: for a list made in this segment, in a loop or after one that carries its ends."""
    return target.kind is list and target.source is None and bool(tracer.regions or target.ends)


def grows_here(tracer: Tracer, target: SequenceValue) -> bool:
    """Whether a loop that is being captured is known to append to a list that was there before, and to ask for its
    length."""
    place = Place(name_of(tracer, target), "length")
    loops = [region for region in tracer.regions if region.index.name and target in region.lists]
    return any(place in tracer.plans[region.key].places for region in loops)


def look(tracer: Tracer, target: SequenceValue, key: str) -> Value | None:
    """One of the LATEST items or the "length" of a list made in this segment, without reading it; None: not known."""
    cells.want_filled(tracer, target)
    found = end_of(target, key)
    if found is None and (target.filled is not None or target.ends):
        for region in tracer.regions:
            if target in region.lists:
                _carry_ends(tracer, region, target)
    return None if isinstance(found, UnreadValue) else found


def from_end(tracer: Tracer, target: SequenceValue, index: Scalar) -> int | None:
    """Which of the latest items an index is that of in every iteration, 1 for the last one; None: of none, as far as
    is known. ``x.append(f(x[i]))`` of a list that had one item takes the last.

    Its length is known to grow with the loop's index once the loop carries it: raises Retry to have that where the
    first iteration would find one of them, and the code appends to something.
    """
    region = next((one for one in reversed(tracer.regions) if one.index.name and target in one.lists), None)
    if region is None or target.kind is not list or target.source is not None or target.times is not None:
        return None
    plan, where = tracer.plans[region.key], name_of(tracer, target)
    length = as_scalar(target.ends.get("length", computed_number(len(target.known))))
    if length is None:
        return None
    at = {make("sub", length, back): back for back in range(1, len(LATEST) + 1)}
    if Place(where, "length") in plan.places:
        decide = tracer.graph.facts.decide
        return next((back for place, back in at.items() if decide(make("eq", index, place))), None)
    if where is None or not appends(tracer.frames[-1].code):
        return None
    names = (symbols_of(index) | symbols_of(region.bounds[0])) - {region.index.name}
    if not names <= tracer.hints.keys():
        return None
    first = {**tracer.hints, region.index.name: evaluate(region.bounds[0], tracer.hints)}
    found = evaluate(index, first)
    back = len(target.known) - found if isinstance(found, int) else 0
    if target.is_grown:
        here = _appended_here(tracer, target)
        if target.ends or not 0 < back + len(here) <= len(here):
            return None
        _carry_length(plan, where)
    if not 0 < back <= min(len(LATEST), len(target.known)) or (back > 1 and _are_numbers(target)):
        return None
    plan.places.update(dict.fromkeys([Place(where, key) for key in LATEST[:back]], True))
    _carry_length(plan, where)


def _carry_length(plan: LoopPlan, where: Hashable) -> NoReturn:
    """Raise Retry to have the loop carry how long a list is, which is taken to grow by one item each time."""
    place = Place(where, "length")
    plan.places[place] = True
    plan.steps[(place,)] = 1
    plan.guessed.add((place,))
    raise Retry


def _note_appended(tracer: Tracer, target: SequenceValue, item: Value) -> None:
    for region in tracer.regions[:-1]:
        region.appended[target] = None
    if tracer.regions:
        here = tracer.regions[-1].appended.setdefault(target, [])
        if here is not None:
            here.append(item)


def _appended_here(tracer: Tracer, target: SequenceValue) -> list[Value]:
    """What this iteration has put at the end of a list, as far as is known."""
    for region in reversed(tracer.regions):
        if target in region.appended:
            return region.appended[target] or []
        if region.index.name:
            break
    return []


def latest(tracer: Tracer, target: SequenceValue, back: int) -> Value | None:
    """One of the latest items of a list, 1 for the last one, without reading the list; None: not known."""
    if target.cells is None and 0 < back <= len(here := _appended_here(tracer, target)):
        return here[-back]
    if not 0 < back <= len(LATEST) or not has_ends(tracer, target):
        return None
    if back > 1 and target.newest and target.newest[-1] is target.ends.get("last") and len(target.newest) >= back:
        return target.newest[-back]
    if back > 1 and (_are_numbers(target) or not tracer.in_loop or len(target.known) < back):
        return None  # numbers go by arrays (cells.py)
    for key in LATEST[: back - 1]:
        look(tracer, target, key)
    return look(tracer, target, LATEST[back - 1])


def _are_numbers(target: SequenceValue) -> bool:
    """Whether a list held numbers of Python's before the loop."""
    return all(as_scalar(item) is not None for item in target.known)


def learn_ends(tracer: Tracer, region: Region) -> None:
    """Where an iteration has made lists longer, having looked at nothing but their ends: raise Retry to carry these."""
    for target, (reads, _, length) in region.lists.items():
        longer = isinstance(target, SequenceValue) and reads == target.reads and len(target.known) > length
        if isinstance(target, SequenceValue) and longer and target.filled is None:
            _carry_ends(tracer, region, target)


def is_seen_after(owner: Value, key: object) -> bool:
    """Whether a place that a loop carries has its value after the loop, too."""
    item = owner.ends.get(key) if isinstance(owner, SequenceValue) and key in LATEST else None
    return item is None or as_scalar(item) is None


def forget_ends(owners: Iterable[Value]) -> None:
    """Have lists that a loop has not appended to after all known by their items again."""
    for owner in owners:
        if isinstance(owner, SequenceValue) and owner.filled is None and owner.cells is None:
            owner.ends.clear()


def _looks(region: Region, target: SequenceValue) -> list[str]:
    """What the loop has looked at of a list that was there before."""
    return target.looks[region.lists[target][1] :]


def _carry_ends(tracer: Tracer, region: Region, target: SequenceValue) -> None:
    """Have the loop carry what it has looked at of a list to which it appends; raises Retry if it does not yet."""
    plan, where = tracer.plans[region.key], name_of(tracer, target)
    missing = [place for key in _looks(region, target) if (place := Place(where, key)) not in plan.places]
    if not missing:
        return
    if where is None:
        raise Break("loop-list", "a list")
    plan.places.update(dict.fromkeys(missing, True))
    raise Retry


def _append_ends(machine: Machine, target: SequenceValue, item: Value) -> None:
    """Bring the last item and the length of a list that are carried up to date."""
    last = target.ends.get("last")
    if last is not None:
        if not isinstance(item, ArrayValue) and as_scalar(item) is None:
            raise Break("loop-list", "a list")
        target.newest = [*(target.newest if target.newest and target.newest[-1] is last else [last]), item]
        for older, newer in pairwise(reversed(LATEST)):
            if older in target.ends and newer in target.ends:
                target.ends[older] = target.ends[newer]
        target.ends["last"] = item
    if "length" in target.ends:
        length = as_scalar(read_result(machine, target.ends.pop("length")))
        if length is not None:
            target.ends["length"] = machine.tracer.number(make("add", length, 1))


def append_outside(machine: Machine, target: LazyValue, item: Value) -> None:
    """``target.append(item)``; target: a list from outside, of which nothing is known but its type.

    Outside of loops numbers break the graph, since of these nobody tells which objects they are; and where something
    reads the list behind that, as trace.py finds, whatever is appended.
    """
    tracer = machine.tracer
    is_straight = not tracer.regions and not tracer.peeling
    if not _is_closed(tracer, target, is_straight and tracer.native_loops and tracer.defers and tracer.grows):
        raise Break("side-effect-container", "list.append")
    item = realise(tracer, item)
    if has_let_go(machine, is_straight) or (is_straight and not _is_known_object(tracer, item)):
        raise Break("side-effect-container", "list.append")
    tracer.has_grown |= is_straight
    _put(machine, _outside(tracer, target), None, item)


def _is_known_object(tracer: Tracer, item: Value) -> bool:
    """Whether an item is an array or NumPy's scalar, a string or None, or a tuple or list of such: no number of
    Python's, but for those of which there is one object only."""
    if isinstance(item, SequenceValue) and item.source is None:
        return all(_is_known_object(tracer, realise(tracer, part)) for part in item.known)
    return isinstance(item, ArrayValue) or _is_text(item) or is_single(as_scalar(item))


def length_outside(tracer: Tracer, target: Value) -> Value | None:
    """``len(target)`` of a list from outside to which a loop has appended; None of another one."""
    if not isinstance(target, LazyValue) or type(target.concrete) is not list:
        return None
    known = tracer.grown.get(id(target.concrete))
    if known is None or known.source != target.source:
        return None
    tracer.note_reading()
    return object_lists.length_now(tracer, known.node)


def put_outside(machine: Machine, target: LazyValue, key: Value, item: Value) -> bool:
    """``target[key] = item`` in a loop, under a number that only the run knows; target: a list or dict from outside, of
    which nothing is known but its type. Whether it is done."""
    tracer = machine.tracer
    if target.known is not None or type(target.concrete) not in (list, dict) or not _is_closed(tracer, target):
        return False
    if is_object_list(tracer, target):
        return False
    if has_let_go(machine, False):
        return False
    key = realise(tracer, key)
    where = _unknown_key(tracer, key)
    if where is None and id(target.concrete) in tracer.grown:
        where = _constant_key(key)
    if where is None:
        return False
    if type(target.concrete) is dict:
        _claim_key(tracer, key)
    assert target.source is not None
    tracer.facts.state("type", target.source, type(target.concrete))
    is_list = type(target.concrete) is list
    _put(machine, _outside(tracer, target), (where, key), realise(tracer, item), of_list=is_list)
    return True


def _is_closed(tracer: Tracer, target: LazyValue, anywhere: bool = False) -> bool:
    """Whether a loop may fill a list or dict from outside, or the program `anywhere`: nobody has looked into it, or
    knows it by another name."""
    in_loop = anywhere or tracer.peeling or any(region.index.name for region in tracer.regions)
    known = tracer.grown.get(id(target.concrete))
    own = known is None or known.source == target.source
    unknown = id(target.concrete) not in tracer.wrapped and id(target.concrete) not in tracer.looked_up
    return in_loop and own and not tracer.nested and unknown


def _outside(tracer: Tracer, target: LazyValue) -> Node:
    """The graph's input for a list or dict from outside."""
    concrete = target.concrete
    known = tracer.grown.get(id(concrete))
    if known is None:
        assert target.source is not None
        known = Grown(concrete, target.source, tracer.root.add_input(LIST, type(concrete).__name__))
        tracer.grown[id(concrete)] = known
        tracer.inputs.append(target.source)
        tracer.example_inputs.append(concrete)
    return known.node


# -- items under keys that only the run knows ------------------------------------------------------


def put(machine: Machine, target: SequenceValue | DictValue, key: Value, item: Value) -> bool:
    """``target[key] = item`` where the program has all items of a list or dict made in this segment, as it has from
    before the loop on in which a key first is known to the run alone; whether it is done."""
    tracer = machine.tracer
    if target.source is not None or (isinstance(target, SequenceValue) and target.kind is not list):
        return False
    if isinstance(target, SequenceValue) and target.cells is not None:
        cells.put(machine, target, realise(tracer, key), item)
        return True
    where = _unknown_key(tracer, key)
    if where is None and isinstance(target, SequenceValue) and _put_late(tracer, target, key, item):
        return True
    if where is None and is_whole(target):
        where = _constant_key(key)
    if where is None:
        return False
    if isinstance(target, SequenceValue) and as_scalar(item := realise(tracer, item)) is not None:
        cells.want(tracer, target, item)
    _have_whole(tracer, target)
    if isinstance(target, DictValue):
        _claim_key(tracer, key)
    elif target.rows is not None:
        give_up(tracer, target)
    assert target.filled is not None
    _put(machine, target.filled, (where, key), realise(tracer, item), of_list=isinstance(target, SequenceValue))
    return True


def _put_late(tracer: Tracer, target: SequenceValue, key: Value, item: Value) -> bool:
    """Note what is stored into a list that repeats an item as often as the call says, outside of the loops that go
    over it; whether it is a number, or an array where lists of these are known as objects, under an index that the list
    has. One that is so far from its end in any call, ``x[n - 1]``, is counted from there."""
    place, item = as_scalar(key), realise(tracer, item)
    is_one = as_scalar(item) is not None or (tracer.restraints.arrays and isinstance(item, ArrayValue))
    if target.times is None or not is_one or place is None or kind_of(place) != "int":
        return False
    if any(target in region.lists for region in tracer.regions) or tracer.varies(target.times):
        return False
    if is_symbolic(place):
        place = make("sub", place, target.times)
        place = place if type(place) is int and place < 0 else None
    if type(place) is not int or not tracer.relate(make("gt", target.times, place if place >= 0 else -1 - place)):
        return False
    target.late.pop(place, None)  # the latest store of an item comes last, also where two indices are one
    target.late[place] = item
    return True


def repeated(machine: Machine, item: Value, times: Scalar) -> SequenceValue:
    """``[item] * times`` for a number of the call's, which is guarded where somebody asks for the items."""
    tracer = machine.tracer
    made = SequenceValue(None, list, [item], times=times)

    def fix() -> int:
        around = next((region for region in tracer.regions if made in region.lists), None)
        if around is not None:
            _plan_for(tracer, around, made, False)
        count = as_constant(machine, NumberValue(None, times))
        check_items(count)
        return int(count)

    made.fix = fix
    tracer.repeated.append(made)
    return made


def prepare(machine: Machine, plan: LoopPlan, bounds: tuple[Scalar, Scalar, Scalar]) -> Callable[[], None]:
    """Before a loop: have the program hold the lists and dicts, or the guards fix the lengths of the lists, of which an
    earlier attempt has seen that the loop needs that; and make arrays for what lists get that become arrays.
    Gives what takes back the arrays of lists that are read, too, where the loop has no iteration."""
    tracer = machine.tracer
    object_lists.convert_all(tracer)
    undo = cells.hold(tracer)
    cells.prepare(machine, plan, bounds)
    for where in plan.rows:
        owner = next((one for one, name in reached_by_name(tracer).items() if name == where), None)
        rows = rows_ahead(tracer, plan, owner, where, bounds) if isinstance(owner, SequenceValue) else None
        if rows is not None and rows.row is not None:
            shape = SequenceValue(None, tuple, [tracer.number(size) for size in shape_of(tracer, rows, bounds)])
            array = call_numpy(machine, np.empty, [shape, ConstantValue(None, rows.row.dtype)], {})
            assert isinstance(array, ArrayValue) and isinstance(owner, SequenceValue)
            rows.array, owner.rows = array, rows
            for place, item in enumerate(owner.known):
                set_item(machine, array, ConstantValue(None, place), item)
    for where, whole in plan.lists.items():
        owner = next((one for one, name in reached_by_name(tracer).items() if name == where), None)
        if isinstance(owner, SequenceValue) and owner.cells is not None:
            continue
        if whole and isinstance(owner, SequenceValue | DictValue):
            _fill(tracer, owner)
        elif isinstance(owner, SequenceValue) and owner.filled is None:
            owner.items  # noqa: B018
    return undo


def is_whole(owner: Value) -> bool:
    """Whether the program has all items of a list or dict."""
    is_filled = isinstance(owner, SequenceValue | DictValue) and owner.filled is not None
    return is_filled and not (owner.known or _ends(owner))  # type: ignore[attr-defined,arg-type]


def _ends(owner: SequenceValue | DictValue) -> dict[str, Value]:
    return owner.ends if isinstance(owner, SequenceValue) else {}


def _unknown_key(tracer: Tracer, key: Value) -> Scalar | None:
    """A key that is another one in every iteration, as far as capture knows."""
    number = as_scalar(key) if isinstance(key, NumberValue) else None
    return number if number is not None and is_symbolic(number) and tracer.varies(number) else None


def _constant_key(key: Value) -> Scalar | None:
    number = as_scalar(key)
    return None if number is None or kind_of(number) == "complex" or _is_long(number) else number


def _claim_key(tracer: Tracer, key: Value) -> None:
    """See that a dict's key is an object of its own."""
    if isinstance(key, NumberValue):
        claim(tracer, key, key.expr)


def _have_whole(tracer: Tracer, target: SequenceValue | DictValue) -> None:
    """See that the program holds all items; raises Retry where a loop has yet to learn that."""
    if isinstance(target, SequenceValue):
        cells.note_filler(tracer, target)
    if _ends(target) or (target.filled is not None and target.known):
        raise Break("loop-list", f"a {'dict' if isinstance(target, DictValue) else 'list'}")
    around = next((region for region in tracer.regions if target in region.lists), None)
    if target.filled is not None:
        return
    if around is not None:
        _plan_for(tracer, around, target, True)
    _fill(tracer, target)


def _plan_for(tracer: Tracer, region: Region, target: SequenceValue | DictValue, whole: bool) -> NoReturn:
    """Have the next attempt at the loop of `region` prepare for `target`."""
    plan, where = tracer.plans[region.key], name_of(tracer, target)
    if where is None or where in plan.lists:
        raise Break("loop-list", f"a {'dict' if isinstance(target, DictValue) else 'list'}")
    plan.lists[where] = whole
    raise Retry


def _fill(tracer: Tracer, target: SequenceValue | DictValue) -> None:
    """Have the program make a list or dict with the items that `target` has, and all that follow."""
    if target.filled is not None:
        return
    here, graph = tracer.location(), tracer.graph
    items = target.known if isinstance(target, DictValue) else dict.fromkeys(range(len(target.known)))
    values = target.known.values() if isinstance(target, DictValue) else target.known
    operands = [_known_operand(realise(tracer, value)) for value in values]
    if isinstance(target, SequenceValue) and target.times is not None:
        target.filled = ops.lists.new_container(graph, list, here, operands[0], target.times)
        late = stored_late(target)
        target.times = target.fix = None
        for place, item in late:
            ops.lists.put(graph, target.filled, place, (_known_operand(realise(tracer, item)),), None, here)
        target.late = {}
    else:
        kind = dict if isinstance(target, DictValue) else list
        target.filled = ops.lists.new_container(graph, kind, here)
        for key, operand in zip(items, operands, strict=True):
            where = _constant_key(ConstantValue(None, key)) if kind is dict else None
            if kind is dict and where is None:
                raise Break("loop-list", "a dict")
            ops.lists.put(graph, target.filled, where, (operand,), None, here)
    for value in values:
        note_type(tracer, target.filled, realise(tracer, value))
    target.known.clear()


def take(machine: Machine, target: DictValue, key: Value) -> Value | None:
    """``target[key]``, an array, under a number that only the run knows, of a dict made in this segment; None of
    another one, or where arrays in lists are not known so."""
    tracer = machine.tracer
    if not tracer.restraints.arrays or target.source is not None or not tracer.native_loops:
        return None
    key = read_int(machine, realise(tracer, key))
    where = _unknown_key(tracer, key)
    if where is None and target.filled is not None:
        where = _constant_key(key)
    if where is None:
        return None
    _have_whole(tracer, target)
    assert target.filled is not None
    type_ = tracer.types_put.get(target.filled)
    if type_ is None or not are_known(tracer, type_):
        return None
    node = ops.lists.take_out_of(tracer.graph, target.filled, abi.TAKE_KEY, (where,), tracer.location())
    return ArrayValue(None, ops.lists.read_array(tracer.graph, node, type_, tracer.location()))


def _known_operand(item: Value) -> Argument:
    """An item from before the loop: an array, or a number that is one object wherever it is."""
    number = as_scalar(item)
    if isinstance(item, ArrayValue):
        return item.node
    if number is None or is_symbolic(number) or kind_of(number) == "complex" or _is_long(number):
        raise Break("loop-state", "a list, by other things than arrays and numbers")
    return number


def state_others(tracer: Tracer) -> None:
    """Guard that each list which gets something is no other list that is looked at, or gets something.

    Two that the program has as objects may be one: it looks at both when it wants to know something."""
    grown = [one.source for one in tracer.grown.values()]
    for place, source in enumerate(grown):
        dicts = (value.source for _, value in tracer.wrapped.values() if isinstance(value, DictValue))
        known = *tracer.lists, *looked_up(tracer), *(one for one in dicts if one is not None)
        for other in (*grown[place + 1 :], *known):
            tracer.facts.state_pair("distinct", source, other)
    objects = [one.source for one in tracer.listed if one.source is not None] if tracer.changes_lists else []
    for source in objects:
        for other in (*(one for one in tracer.lists if one not in objects), *looked_up(tracer)):
            tracer.facts.state_pair("distinct", source, other)


def check_others(tracer: Tracer) -> None:
    """Guard that none of the lists that the program changes, and has out of others, is one that is looked at. Raises
    Retry where one is: then lists are known by their items."""
    if not tracer.changes_lists or not tracer.nested:
        return
    objects = [one for one in tracer.listed if one.source is not None]
    known = [(obj, one.source) for obj, one in tracer.wrapped.values() if type(obj) is list and one not in objects]
    known += [(obj, source) for obj, sources in tracer.looked_up.values() for source in sources]
    for one in objects:
        depth = depth_of(one.holding)
        for obj, source in known if depth > 0 else []:
            assert one.source is not None
            if source is not None and holds(one.concrete, obj, depth):
                tracer.restraints.objects = False
                raise Retry
            if source is not None:
                tracer.facts.state_holds_not(one.source, source, depth)


def _appended(
    tracer: Tracer, item: Value, whole: Value | None = None
) -> tuple[tuple[Argument, ...], type | str | None]:
    """The operands of an append or store, and what they are packed into: a tuple, list or text that nobody else has.
    whole: what either is `item` or another value, if it is."""
    if isinstance(item, FormattedValue):
        if item in reachable(tracer):
            raise Break("loop-state", "a list, by other things than arrays and numbers")
        return tuple(_part(one) for one in item.args), item.format
    is_fresh = isinstance(item, SequenceValue) and item.source is None and item.filled is item.cells is None
    if isinstance(item, SequenceValue) and is_fresh and not is_read_later(tracer, whole or item, item.kind is tuple):
        if item.times is not None:  # as many items as only the call says
            _fill(tracer, item)
            return (_operand(tracer, item),), None
        return tuple(_operand(tracer, realise(tracer, one)) for one in item.known), item.kind
    return (_operand(tracer, item),), None


def _put(
    machine: Machine,
    target: Node,
    key: tuple[Scalar, Value] | None,
    item: Value,
    packed: tuple[tuple[Argument, ...], type | str | None] | None = None,
    whole: Value | None = None,
    of_list: bool = False,
) -> Value:
    """Append ``target[key] = item``, or the append; packed: what _appended() has made of `item`, where it was asked;
    of_list: it is known to be a list, which does not keep its keys."""
    tracer, done = machine.tracer, ConstantValue(None, None)
    if isinstance(item, EitherValue):
        either = whole or item
        put_one = partial(_put, machine, target, key, whole=either, of_list=of_list)
        return split(machine, item, lambda one: put_one(realise(tracer, one)))
    packed = packed or _appended(tracer, item, whole)
    table = table_of(tracer)
    where, values = (None if key is None else key[0]), packed[0]
    node = ops.lists.put(tracer.graph, target, where, values, packed[1], tracer.location(), table, of_list)
    note_type(tracer, target, item)
    if table is None or isinstance(item, FormattedValue):
        return done
    parts = [item] if packed[1] is None else [realise(tracer, one) for one in item.known]  # type: ignore[attr-defined]
    if key is not None and not of_list:
        parts.insert(0, key[1])
    for place, part in enumerate(parts):
        tracer.note_put(node, place + (of_list and key is not None), part)
    return done


def _operand(tracer: Tracer, item: Value) -> Argument:
    """What is appended, or stands in it."""
    if isinstance(item, ArrayValue):
        return item.node
    if isinstance(item, SequenceValue) and item.filled is not None and not item.known and item.source is None:
        return item.filled
    if _is_text(item):
        assert isinstance(item, ConstantValue)
        return hold(tracer, item.value)
    number = as_scalar(item)
    if number is None or kind_of(number) == "complex" or _is_long(number):
        raise Break("loop-state", "a list, by other things than arrays and numbers")
    claim(tracer, item, number)
    return made_anew(item, number) if tracer.in_loop else number


def _is_text(item: Value) -> bool:
    """Whether it is a string or None that stands in the code."""
    return type(item) is ConstantValue and type(item.value) in (str, bytes, type(None)) and item.source is None


def _part(item: Value) -> Argument:
    """What a text is made of, which keeps nothing of it."""
    number = as_scalar(item)
    if isinstance(item, ArrayValue):
        return item.node
    if number is None or _is_long(number):
        raise Break("loop-state", "a list, by other things than arrays and numbers")
    return number


def _is_long(number: object) -> bool:
    return type(number) is int and not -(2**63) <= number < 2**63


def watch(tracer: Tracer, region: Region, values: Iterable[Value]) -> None:
    """Note the lists and numbers that there are before the first iteration of the loop of `region`."""
    for value in values:
        if isinstance(value, SequenceValue) and value.kind is list:
            region.lists[value] = value.reads, len(value.looks), len(value.known)
        elif isinstance(value, DictValue):
            region.lists[value] = 0, 0, len(value.known)
        elif isinstance(value, NumberValue):
            region.before |= tracer.objects(value.expr)


__all__ = [
    *("append", "append_outside", "check_others", "forget_ends", "has_ends", "is_seen_after", "is_whole", "learn_ends"),
    *("length_outside", "look", "prepare", "put", "put_outside", "repeated", "state_others", "watch"),
]
