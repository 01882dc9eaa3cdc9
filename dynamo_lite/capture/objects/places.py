"""Places: what code can change and read again besides its variables.

An attribute of an object, a variable of a module, a key of a dict, an item of a list, a closure variable: each is an
owner (a value of the interpreter that holds others) and a key. An owner that was made in this segment holds what the
code has put there. One from outside does, too: what is stored is known to capture alone until the segment ends, when
residual code stores the last value of each place, once:

    self.t = self.t + dt; self.u = f(self.u)       program: f;  residual: self.t = ..., self.u = ...

A loop carries the places that its body changes as it carries locals (loops.py), and a choice merges them (choices.py).
INVARIANT: what could see an object from outside before the segment ends breaks the graph; a program that declines
has stored nothing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterable, Set
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite._C import dies_quietly, generic_attributes, keeps_attributes, own_attribute, put_column
from dynamo_lite.capture.branches.sameness import reachable, reached_by_name
from dynamo_lite.capture.lists.outside_items import looked_up, note_store
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.source import Source, constant, global_
from dynamo_lite.capture.state import CellStored, Retry, StoresShow, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CellValue,
    ConstantValue,
    DictValue,
    InstanceValue,
    IteratorValue,
    LazyValue,
    ListValue,
    NamespaceValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    SequenceValue,
    UnreadValue,
    Value,
    computed_number,
)
from dynamo_lite.capture.wrap import IMMUTABLE_TYPE, MISSING, cell_entry, class_lookup, present
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.scalar import is_symbolic, make

Contents: TypeAlias = dict[Any, Value]
Snapshot: TypeAlias = dict[Value, Contents]


@dataclass(frozen=True, slots=True)
class Place:
    """A place, as one attempt of a capture names it to the next. where: the path to its owner."""

    where: Hashable
    key: Any

    def __str__(self) -> str:
        return str(self.key) if isinstance(self.where, Source) else f"item_{self.key}"


# -- what owners hold ------------------------------------------------------------------------------


def contents(owner: Value) -> Contents:
    """What an owner holds, by key; of an object or a module what this segment has stored."""
    match owner:
        case ObjectValue() | InstanceValue() | NamespaceValue():
            return owner.stored
        case DictValue():
            return owner.known
        case SequenceValue():
            return {**dict(enumerate(owner.known)), **owner.ends}
        case CellValue() if owner.contents is not None:
            return {None: owner.contents}
        case IteratorValue():
            return {None: ConstantValue(None, (owner.taken, owner.ended))}
    return {}


def get(tracer: Tracer, owner: Value, key: Any) -> Value | None:
    """What a place holds; None if nothing."""
    held = contents(owner).get(key)
    return entry(tracer, owner, key) if held is None else held


def put(owner: Value, key: Any, value: Value | None) -> None:
    """Let a place hold `value`; None: what it held before the segment, or nothing."""
    match owner:
        case SequenceValue() if isinstance(key, int) and value is not None:
            owner.known[key] = value
        case CellValue():
            owner.contents = value
        case IteratorValue() if isinstance(value, ConstantValue):
            owner.taken, owner.ended = value.value
        case ObjectValue() | InstanceValue() | NamespaceValue() | DictValue() | SequenceValue():
            held = owner.ends if isinstance(owner, SequenceValue) else contents(owner)
            if value is None:
                held.pop(key, None)
            else:
                held[key] = value


def entry(tracer: Tracer, owner: Value, key: Any) -> Value | None:
    """What an attribute of an object or a variable of a module was before the segment; None if there was none."""
    match owner:
        case ObjectValue():
            assert owner.source is not None
            tracer.state_class("type_version", owner.source, owner.cls)
            found = _own_attribute(owner, key)
            return None if found is MISSING else present(tracer, owner.source.attr(key), found)
        case SequenceValue() if isinstance(key, str):
            return end_of(owner, key)
        case NamespaceValue() if key in owner.concrete:
            return present(tracer, global_(owner.concrete, key), owner.concrete[key])
        case CellValue() if owner.concrete is not None:
            return cell_entry(owner)
    return None


def namespace(tracer: Tracer, concrete: dict[str, Any]) -> NamespaceValue:
    """The variables of a module as an owner."""
    known = tracer.namespaces.get(id(concrete))
    if known is None:
        known = tracer.namespaces[id(concrete)] = NamespaceValue(constant(concrete), concrete)
    return known


def _own_attribute(owner: ObjectValue, name: str) -> Any:
    """What the object itself has under that name, or MISSING."""
    found = class_lookup(owner.cls, name)
    if isinstance(found, types.MemberDescriptorType):
        try:
            return found.__get__(owner.concrete, owner.cls)
        except AttributeError:
            return MISSING
    return own_attribute(owner.concrete, name, MISSING)


LATEST = ("last", "last but one", "last but two")  # items of a list that a loop carries, from its end


def end_of(owner: SequenceValue, key: str) -> Value | None:
    """One of the LATEST items of a list, or its "length"; None where nothing is known of it."""
    owner.looks.append(key)
    if owner.ends or owner.filled is not None:
        return owner.ends.get(key)
    if key == "length":
        if owner.times is not None:
            length = make("max", owner.times, 0)
            return NumberValue(None, length) if is_symbolic(length) else computed_number(length)  # type: ignore[arg-type]
        return computed_number(len(owner.known))
    back = LATEST.index(key) + 1
    return owner.known[-back] if len(owner.known) >= back and owner.times is None else None


def grown_length(tracer: Tracer, target: SequenceValue) -> Value | None:
    """How many items a list has that loops have filled; None of any other one. Raises Retry where these are to carry it
    in the next attempt."""
    if target.cells is not None:
        return target.ends["length"]
    if not target.is_grown:
        return None
    found = end_of(target, "length")
    if found is None and target.filler is not None:
        plan, where = target.filler[:2]
        is_under_way = any(tracer.plans[region.key] is plan for region in tracer.regions if region.index.name)
        place = Place(where, "length")
        if where is not None and not is_under_way and place not in plan.places:
            plan.places[place] = True
            raise Retry
    return None if isinstance(found, UnreadValue) else found


# -- storing ---------------------------------------------------------------------------------------


def store(tracer: Tracer, owner: Value, key: Any, value: Value, reason: str, detail: str) -> None:
    """Let a place hold `value`; breaks for `reason` where it is of an object from outside and more would happen."""
    held = contents(owner).get(key)
    if isinstance(owner, CellValue) and tracer.defers and tracer.outer_cells is None:
        raise CellStored
    if owner.source is not None:
        if key not in tracer.checked.setdefault(owner, {}):
            is_numbers = isinstance(owner, SequenceValue) and _reads_numbers(tracer)
            if is_numbers or not tracer.defers or not _may_store(tracer, owner, key):
                raise Break(reason, detail)
            tracer.checked[owner][key] = len(tracer.checked[owner])
        note_store(tracer, owner)
        if owner not in tracer.stored:
            tracer.stored[owner] = dict(contents(owner))
    if not (isinstance(held, LazyValue) and held.known is value):  # which it holds already
        put(owner, key, value)


def _reads_numbers(tracer: Tracer) -> bool:
    """Whether some list from outside is known by its numbers alone (columns.py)."""
    return any(isinstance(one, NumberedValue) and one.columns for _, one in tracer.wrapped.values())


def _may_store(tracer: Tracer, owner: Value, key: Any) -> bool:
    """Whether storing is all that happens; states what has to hold for that."""
    assert owner.source is not None
    match owner:
        case ObjectValue():
            cls = owner.cls
            if not all(generic_attributes(cls)) or issubclass(cls, type):
                return False
            tracer.state_class("type_version", owner.source, cls)
            found = class_lookup(cls, key)
            slot = isinstance(found, types.MemberDescriptorType)
            if slot and found.__objclass__.__flags__ & IMMUTABLE_TYPE:
                return False
            if not slot and not keeps_attributes(owner.concrete):
                return False
            old = _own_attribute(owner, key)
            if old is MISSING:
                if found is not MISSING and not slot:
                    return False
                tracer.facts.state("lacks", owner.source, key)
                return True
            if not slot and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")):
                return False
            return is_quiet(tracer, owner.source.attr(key), old)
        case NamespaceValue():
            if type(owner.concrete) is not dict:
                return False
            if key not in owner.concrete:
                tracer.facts.state_lacks(owner.concrete, key)
                return True
            return is_quiet(tracer, global_(owner.concrete, key), owner.concrete[key])
        case CellValue():
            now = cell_entry(owner)
            return isinstance(now, LazyValue) and now.source is not None and is_quiet(tracer, now.source, now.concrete)
        case DictValue() | SequenceValue():
            old = tracer.stored.get(owner, contents(owner)).get(key)
            if old is None:
                return isinstance(owner, DictValue)
            if isinstance(old, LazyValue) and old.source is not None:
                return is_quiet(tracer, old.source, old.concrete)
            return isinstance(old, NumberValue | ConstantValue)  # of a table
    return False


def is_quiet(tracer: Tracer, source: Source, old: Any) -> bool:
    """Whether nobody can notice the death of what `source` names, which is guarded then."""
    if dies_quietly(old):
        tracer.facts.state("quiet", source)
        return True
    return False


def stores(tracer: Tracer) -> list[tuple[Value, Any, Value]]:
    """What residual code has to store: owners from outside, keys, and values, in the order of the first stores."""
    found: list[tuple[Value, Any, Value]] = []
    for owner, before in tracer.stored.items():
        first, held = tracer.checked.get(owner, {}), contents(owner)
        for key in sorted(held, key=lambda key: first.get(key, -1)):
            value = held[key]
            is_entry = isinstance(value, LazyValue) and value.source == _source_of(owner, key)
            if before.get(key) is not value and not is_entry:
                found.append((owner, key, value))
        if isinstance(owner, NumberedValue):
            found += _columns_written(tracer, owner)
    return found


class _Columns:
    """What residual code stores a column into, under its path: what the program has left there gets into objects."""

    __slots__ = ()

    def __setitem__(self, path: Any, parts: tuple[Any, ...]) -> None:
        put_column(path, *parts)


_COLUMNS = _Columns()


def _columns_written(tracer: Tracer, root: NumberedValue) -> list[tuple[Value, Any, Value]]:
    """The columns of attributes that are written (listed_objects.py)."""
    found: list[tuple[Value, Any, Value]] = []
    for path, columns in root.attributes.items():
        known = columns[0]
        if known.kind == "rows":
            if known.array.node in tracer.written:
                empty: list[Value] = [ConstantValue(None, None), ConstantValue(None, None)]
                rows = SequenceValue(None, tuple, [*empty, ArrayValue(None, known.array.node)])
                found.append((ConstantValue(None, _COLUMNS), known.where, rows))
        elif known.kind == "few" and known.marks is not None:
            nothing: list[Value] = [ConstantValue(None, None), ConstantValue(None, None)]
            codes = SequenceValue(None, tuple, [*nothing, ArrayValue(None, known.array.node)])
            found.append((ConstantValue(None, _COLUMNS), known.where, codes))
        elif known.marks is not None:
            table = ArrayValue(None, known.table) if known.marks is known.tags else ConstantValue(None, None)
            tags = [columns[1].tags] if known.marks is known.tags and len(columns) > 1 else []
            held = [known.marks, *(one.array for one in columns), *tags]
            marks, *arrays = [ArrayValue(None, one.node) for one in held]
            letter = known.kind[0] if len(columns) == 1 else "n"
            parts = SequenceValue(None, tuple, [marks, table, *arrays])
            found.append((ConstantValue(None, _COLUMNS), f"{path}{letter}", parts))
    return found


def _source_of(owner: Value, key: Any) -> Source | None:
    """How what a place holds before the segment is reached."""
    assert owner.source is not None
    match owner:
        case ObjectValue():
            return owner.source.attr(key)
        case NamespaceValue():
            return global_(owner.concrete, key)
        case SequenceValue():
            return owner.source.item(key)
        case CellValue():
            return now.source if (now := cell_entry(owner)) is not None else None
    return Source("key", owner.source, key)


def state_owners(tracer: Tracer) -> None:
    """Guard that each object that is stored to is none of the others that are looked at."""
    others = [value for _, value in tracer.wrapped.values() if value.source is not None]
    for owner in tracer.stored:
        others = [other for other in others if other is not owner]
        for other in others:
            if _may_be_one(owner, other):
                assert owner.source is not None and other.source is not None
                tracer.facts.state_pair("distinct", owner.source, other.source)
        if isinstance(owner, SequenceValue) and not isinstance(owner, NumberedValue):
            for source in looked_up(tracer):
                assert owner.source is not None
                tracer.facts.state_pair("distinct", owner.source, source)
    cells = list((tracer.outer_cells or {}).values())
    for owner in tracer.stored:
        if isinstance(owner, CellValue):
            cells.remove(owner)
            for other in cells:
                assert owner.source is not None and other.source is not None
                tracer.facts.state_pair("distinct", owner.source.cell(), other.source.cell())


def _may_be_one(owner: Value, other: Value) -> bool:
    """Whether two objects from outside of which this is known could be one in another call."""
    if isinstance(owner, SequenceValue) and not isinstance(owner, NumberedValue):  # a list: it holds other items now
        return isinstance(other, ListValue) or (isinstance(other, SequenceValue) and other.kind is list)
    if isinstance(owner, ObjectValue) and isinstance(other, ObjectValue) and owner.cls is not other.cls:
        return False
    return type(other) is type(owner)


def check_variables(tracer: Tracer) -> None:
    """Raise StoresShow where an owner that is stored to could be the very __dict__ of another one.

    An attribute that the object has and the dict's keys, which are guarded, do not hold shows that they are two.
    """
    if not tracer.stored:
        return
    objects = [value for _, value in tracer.wrapped.values() if isinstance(value, ObjectValue)]
    objects = [one for one in objects if keeps_attributes(one.concrete)]
    listed = [one for one in tracer.stored if isinstance(one, NumberedValue)]
    modules = any(isinstance(owner, NamespaceValue) for owner in tracer.stored)
    for obj, value in tracer.wrapped.values():
        if type(obj) is not dict or value.source is None:
            continue
        stored = value in tracer.stored
        if "__name__" in obj and (stored or modules):  # a module's
            raise StoresShow
        for root in listed:
            names = {path[path.index("a") + 1 : -1] for path in root.attributes}
            if not (isinstance(value, DictValue) and names - obj.keys()):
                root.give_up()
        for one in objects:
            if (stored or one in tracer.stored) and not (
                isinstance(value, DictValue) and _attributes(tracer, one) - obj.keys()
            ):
                raise StoresShow


def _attributes(tracer: Tracer, owner: ObjectValue) -> set[str]:
    """Attributes of which the guards say that the object itself has them."""
    sources = (value.source for _, value in tracer.wrapped.values())
    found = {source.key for source in sources if source and source.kind == "attr" and source.base == owner.source}
    found.update(owner.stored)
    return {
        name
        for name in found
        if class_lookup(owner.cls, name) is MISSING and own_attribute(owner.concrete, name, MISSING) is not MISSING
    }


# -- in loops and choices --------------------------------------------------------------------------


def snapshot(tracer: Tracer) -> Snapshot:
    """What every owner that can be reached holds now."""
    owners = (value for value in reachable(tracer, by_callers=True) if isinstance(value, _OWNERS))
    return {owner: dict(contents(owner)) for owner in owners}


_OWNERS = (ObjectValue, InstanceValue, NamespaceValue, DictValue, SequenceValue, CellValue, IteratorValue)


def restore(tracer: Tracer, before: Snapshot) -> None:
    """Let every place hold what it held. A list that has become longer or shorter is left to the caller."""
    for owner in tracer.stored:
        if owner not in before:
            put_all(owner, tracer.stored[owner])
    for owner, held in before.items():
        if not _is_only_read(tracer, owner):
            put_all(owner, held)


def place_at(tracer: Tracer, owner: Value, key: Any, held: Snapshot) -> Value | None:
    """What a place held then."""
    found = held.get(owner, tracer.stored.get(owner, {})).get(key)
    return entry(tracer, owner, key) if found is None else found


def put_all(owner: Value, held: Contents) -> None:
    match owner:
        case SequenceValue():
            owner.ends = {key: value for key, value in held.items() if isinstance(key, str)}
            if len(held) - len(owner.ends) == len(owner.known):
                owner.known[:] = (value for key, value in held.items() if not isinstance(key, str))
        case CellValue():
            owner.contents = held.get(None)
        case IteratorValue():
            put(owner, None, held[None])
        case ObjectValue() | InstanceValue() | NamespaceValue() | DictValue():
            now = contents(owner)
            now.clear()
            now.update(held)


def changed(tracer: Tracer, before: Snapshot, after: Snapshot) -> list[tuple[Value, Any]]:
    """The places that hold something else; of owners that were there before, or came from outside since."""
    found: list[tuple[Value, Any]] = []
    for owner in dict.fromkeys((*before, *tracer.stored)):
        if _is_only_read(tracer, owner):
            continue
        one = before.get(owner, tracer.stored.get(owner, {}))
        other = after.get(owner, one)
        if isinstance(owner, SequenceValue) and _length(one) != _length(other):
            continue  # which is no change of places
        if isinstance(owner, IteratorValue) and _got(one) == _got(other):
            continue
        found += [(owner, key) for key in dict.fromkeys((*one, *other)) if one.get(key) is not other.get(key)]
    return found


def made_alike(tracer: Tracer, places: Iterable[tuple[Value, Any]], before: Snapshot, ends: list[Snapshot]) -> bool:
    """Whether two ways that make the same new places of an owner make them in one order, which its dict shows."""
    made: dict[Value, set[Any]] = {}
    for owner, key in places:
        if all(key in end.get(owner, ()) for end in ends) and place_at(tracer, owner, key, before) is None:
            made.setdefault(owner, set()).add(key)
    orders = ([[key for key in end[owner] if key in keys] for end in ends] for owner, keys in made.items())
    return all(one == other for one, other in orders)


def _is_only_read(tracer: Tracer, owner: Value) -> bool:
    """Whether this is a cell from outside, and none is stored to; then it holds nothing until it is read."""
    return isinstance(owner, CellValue) and owner.concrete is not None and tracer.outer_cells is None


def _length(held: Contents) -> int:
    """How many items a list or tuple held."""
    return sum(not isinstance(key, str) for key in held)


def _got(held: Contents) -> Any:
    """How far an iterator had got."""
    got = held[None]
    return got.value if isinstance(got, ConstantValue) else None


def find_owner(tracer: Tracer, place: Place, reach: Callable[[Source], Value]) -> Value | None:
    """The owner of a place that an earlier attempt has named. reach: looks at what a source names."""
    if isinstance(place.where, Source):
        owners = (*tracer.namespaces.values(), *(tracer.outer_cells or {}).values())
        known = next((one for one in owners if one.source == place.where), None)
        if known is not None:
            return known
        if place.where.kind == "const" and type(place.where.key.value) is dict:
            return namespace(tracer, place.where.key.value)
        return reach(place.where)
    names = reached_by_name(tracer)
    return next((owner for owner, name in names.items() if name == place.where), None)


def name_of(tracer: Tracer, owner: Value, without: Set[tuple[int, str]] = frozenset()) -> Hashable | None:
    """A name for an owner that other attempts know, too; None if there is none. without: locals, by frame, that may
    hold another one by then: by one of these it is named last."""
    if owner.source is not None:
        return owner.source
    found = reached_by_name(tracer, without).get(owner)
    return found if found is not None or not without else reached_by_name(tracer).get(owner)


def unread(plan: LoopPlan, place: Place) -> UnreadValue:
    """What stands in a place that an iteration sets before it reads it, as far as is known."""

    def look() -> Value:
        alike = [one for one in plan.places if one.key == place.key]  # of many objects the same attribute: what is
        if all(plan.places[one] for one in alike):  # read of one is read of all
            raise Break("loop-state", f"{place.key}, which has no value before the loop")
        plan.places.update(dict.fromkeys(alike, True))
        raise Retry

    return UnreadValue(None, look)


def was_looked_at(value: Value | None) -> bool:
    """Whether somebody may have read what was in a place before."""
    return value is not None and not (isinstance(value, LazyValue) and value.known is None)


def holds_array(value: Value) -> bool:
    """Whether a value is an array of numbers, or one that nobody has looked at, or such a NumPy scalar: what is in a
    place before a loop is then likely to be like what an iteration leaves there."""
    held: Any = value.concrete if isinstance(value, LazyValue) and value.known is None else None
    is_array = type(held) is np.ndarray or issubclass(type(held), np.number | np.bool)
    return isinstance(value, ArrayValue) or (is_array and held.dtype.kind in "biufc")


__all__ = [
    *("Contents", "LATEST", "Place", "Snapshot", "changed", "check_variables", "contents", "end_of", "entry"),
    *("find_owner", "get", "grown_length", "holds_array", "is_quiet", "name_of", "namespace"),
    *("place_at", "put", "restore", "snapshot", "state_owners", "store", "stores", "unread", "was_looked_at"),
]
