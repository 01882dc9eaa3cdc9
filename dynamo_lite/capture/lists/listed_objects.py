"""Attributes of the objects in a list from outside that a loop goes through: ``for p in particles: p.x += p.vx * dt``.

Enters a ListedObject, which stands in a list under a number that only the run knows. The numbers that all objects of
the list have under one name are a *column* (csrc/guards/columns.c), an array that the guards make; a load of the
attribute is one of an element, a store one into it:

    for p in particles: p.x += p.vx * dt    loop i0: %x[i0] = %x[i0] + %vx[i0] * dt    residual: put(%x, %marks)

Where the segment ends, or a loop is left, residual code stores into the objects what has been written, as new numbers;
so a program that declines has changed nothing. Beside the numbers stand marks, which say what has been written; in a
loop that tells which objects numbers are (number_objects.py), their tags: that of one from before it is its own
address. Ints and floats under one name are three columns; of strings, None and members of an Enum the column says which
it is of the few that there are, and reading one gives a FewValue.

INVARIANT: the guards say that all objects that the columns are of are different ones, of one ordinary class, and none
that the program knows by another path. So which of two is which their numbers say. What has another type declines to be
a column: the list is then known by its items.
"""

from __future__ import annotations

import enum
import itertools
import operator
import types
from itertools import zip_longest
from typing import Any

from dynamo_lite._C import all_differ, all_lack, own_attribute
from dynamo_lite._C import column as make_column
from dynamo_lite.capture.branches.choices import split_each
from dynamo_lite.capture.lists import cells, listed_arrays
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.source import Source, constant
from dynamo_lite.capture.state import AttributeMissing, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    CallValue,
    ConstantValue,
    EitherValue,
    FewValue,
    ListedObject,
    MethodValue,
    NumberedValue,
    NumberValue,
    ObjectValue,
    SequenceValue,
    TextValue,
    Value,
    is_single,
)
from dynamo_lite.capture.wrap import IMMUTABLE_TYPE, MISSING, class_lookup, column, present, realise
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import Scalar, kind_of, make

TOLD_BEFORE = "a list of objects, of which an earlier loop tells which objects their numbers are"

_MOST_KNOWN = 16
_KINDS = {float: "float", int: "int", bool: "bool"}


# -- attributes ----------------------------------------------------------------------------------------


def get_attribute(machine: Machine, owner: ListedObject, name: str) -> Value:
    """owner.name, as object.__getattribute__ finds it."""
    found, cls = class_lookup(owner.cls, name), owner.cls
    kind = type(found)
    if isinstance(found, property):
        if not isinstance(found.fget, types.FunctionType):
            raise Break("unsupported-operation", f"property {name} of {cls.__qualname__}")
        return machine.call_python(found.fget, constant(found.fget), [owner], {})
    if _own(owner.cls, owner.first[1], name) is not MISSING:
        return _read(machine, owner, name)
    if found is MISSING:
        if hasattr(cls, "__getattr__"):
            raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
        _state_lack(machine.tracer, owner, name)
        raise AttributeMissing(name)
    if hasattr(kind, "__set__") or hasattr(kind, "__delete__"):
        raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
    _state_lack(machine.tracer, owner, name)
    if isinstance(found, types.FunctionType):
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    if isinstance(found, staticmethod | classmethod) and isinstance(found.__func__, types.FunctionType):
        function = ConstantValue(constant(found.__func__), found.__func__)
        if isinstance(found, staticmethod):
            return function
        return MethodValue(None, function, ConstantValue(constant(cls), cls), name)
    if hasattr(kind, "__get__") or name in vars(type):
        raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
    from_class = constant(cls).attr(name)
    machine.tracer.state_class("class_version", constant(cls), cls)
    return present(machine.tracer, from_class, found)


def set_attribute(machine: Machine, owner: ListedObject, name: str, value: Value) -> None:
    """owner.name = value, where that is a number of the kind that all of them have there."""
    tracer = machine.tracer
    if not tracer.defers:
        raise Break("side-effect-attribute", name)
    if _own(owner.cls, owner.first[1], name) is MISSING:
        raise Break("side-effect-attribute", name)
    if listed_arrays.is_array(_own(owner.cls, owner.first[1], name)):
        if not listed_arrays.is_stored_again(tracer, owner, _path(owner, name), _place(owner), value):
            owner.root.give_up()
        return
    known = _columns(machine, owner, name)
    if owner.root not in tracer.stored:
        _state_apart(tracer, owner.root)
        tracer.stored[owner.root] = {}
    _have_marks(tracer, owner.root, known)
    _put(machine, owner, known, value)


def _own(cls: type, obj: Any, name: str) -> Any:
    """What an object has of its own under a name, or in a slot; MISSING where that is nothing."""
    found = class_lookup(cls, name)
    if isinstance(found, types.MemberDescriptorType):
        if found.__objclass__.__flags__ & IMMUTABLE_TYPE:
            return MISSING
        try:
            return found.__get__(obj, cls)
        except AttributeError:
            return MISSING
    if found is not MISSING and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")):
        return MISSING
    return own_attribute(obj, name, MISSING)


def _read(machine: Machine, owner: ListedObject, name: str) -> Value:
    tracer, position = machine.tracer, _position(machine.tracer, owner)
    if listed_arrays.is_array(_own(owner.cls, owner.first[1], name)):
        size = count(tracer, owner.root, owner.path)
        return listed_arrays.read(machine, owner, _path(owner, name), position, _place(owner), size)
    columns = _columns(machine, owner, name)
    if not tracer.in_loop and (owner.root in tracer.stored or len(columns) > 1):
        raise Break("loop-list", "a list")
    if columns[0].kind == "few":
        code, among = cells.read_code(machine, columns[0], position), columns[0].among
        args = [ConstantValue(None, among), machine.tracer.number(code)]
        return FewValue(None, operator.getitem, args, among, code)
    found = [cells.read_at(machine, one, position) for one in columns]
    if len(found) > 1:
        floats, ints, is_float = found
        assert isinstance(is_float, NumberValue)
        return EitherValue(None, is_float.expr, floats, ints)
    number = as_scalar(found[0])
    if tracer.in_loop or number is None:
        return found[0]
    return NumberValue(None, number, CallValue(None, getattr, [owner, ConstantValue(None, name)]))


def _put(machine: Machine, owner: ListedObject, columns: list[cells.Cells], value: Value) -> None:
    """Store a number where the objects have such a one."""
    position = _position(machine.tracer, owner)
    value = realise(machine.tracer, value)
    if isinstance(value, EitherValue):
        split_each(machine, value, lambda one: _put(machine, owner, columns, one))
        return
    if columns[0].kind == "few":
        cells.put_code(machine, columns[0], position, _code_of(machine.tracer, owner, columns[0], value))
        return
    number = as_scalar(value)
    kind = "" if number is None else kind_of(number)
    known = next((one for one in columns if one.kind == kind), None)
    if known is None or (known.kind == "bool" and len(columns) > 1):
        if {kind, columns[0].kind} == {"int", "float"}:
            machine.tracer.restraints.mixed.add((owner.root.source, columns[0].where))
            raise Retry
        owner.root.give_up()
    if not machine.tracer.in_loop and not is_single(number) and kind != "bool":
        raise Break("loop-list", "a list")  # nobody tells there which object it is
    cells.put_at(machine, known, position, value)
    if len(columns) > 1:
        cells.put_at(machine, columns[2], position, ConstantValue(None, kind == "float"))


def _position(tracer: Tracer, owner: ListedObject) -> Value:
    """The number of an object among all of them."""
    place = _place(owner)
    if place is None:
        raise Break("data-dependent-number", "an object in a list")
    return tracer.number(place)


def _place(owner: ListedObject) -> Scalar | None:
    """That number; None if the segment does not know it. NB: of one that a choice hands out it is known once the choice
    stands."""
    return as_scalar(owner.items[0]) if owner.path == "l" else owner.position


def _path(owner: ListedObject, name: str) -> str:
    return f"{owner.path}a{name};"


def _columns(machine: Machine, owner: ListedObject, name: str) -> list[cells.Cells]:
    """The numbers that the objects have under a name; of floats and ints, the floats, the ints and which it is."""
    tracer, root = machine.tracer, owner.root
    path = _path(owner, name)
    loop = tracer.regions[0] if tracer.in_loop else None
    known: list[cells.Cells] | None = root.attributes.get(path)
    if known is None and (few := _few(tracer, owner, name, path)) is not None:
        known = root.attributes[path] = [few]
    if known is None:
        kinds = {_KINDS.get(type(_own(owner.cls, owner.first[1], name)))}
        kinds = {"float", "int"} if (root.source, path) in tracer.restraints.mixed else kinds
        letters = "FIk" if len(kinds) > 1 else str(*kinds)[0]
        if None in kinds or tracer.grown:
            tracer.note_reading()
            root.give_up()
        if len(kinds) == 1 and kinds <= {"float", "int"} and make_column(root.concrete, f"{path}{letters}") is None:
            letters = "FIk"
        arrays = {letter: _array(tracer, root, owner.path, f"{path}{letter}") for letter in letters}
        of = {"f": "float", "i": "int", "b": "bool", "F": "float", "I": "int", "k": "bool"}
        known = [cells.Cells(of[letter], False, one, None, path, outside=root) for letter, one in arrays.items()]
        root.attributes[path] = known
    if loop is not None and known[0].kind not in ("bool", "few"):
        is_told = tracer.plans[loop.key].objects
        if is_told is not known[0].tagged or (is_told and known[0].region is not loop):
            if known[0].marks is not None:
                raise Break("loop-list", TOLD_BEFORE)
            letters = "@A" if is_told else ""
            tags = [_array(tracer, root, owner.path, f"{path}{letter}") for letter in letters[: len(known)]]
            pairs = list(zip_longest(known, tags))
            known = [replace(one, tagged=of is not None, tags=of, puts=[], numbers={}) for one, of in pairs]
            root.attributes[path] = known
        for one in known:
            one.region = loop
    tracer.cell_lists += [one for one in known if one not in tracer.cell_lists]  # or an attempt has been taken back
    return known


def _few(tracer: Tracer, owner: ListedObject, name: str, path: str) -> cells.Cells | None:
    """Which of a few objects, strings say, each of the objects has under a name; None where they have other things."""
    root, at = owner.root, (owner.root.source, path)
    tracer.note_reading()
    if not _is_known_by_identity(_own(owner.cls, owner.first[1], name)) or tracer.grown:
        return None
    among = tracer.restraints.known.setdefault(at, [])
    for obj in root.concrete if owner.path == "l" else ():
        one = _own(owner.cls, obj, name) if type(obj) is owner.cls else MISSING
        if _is_known_by_identity(one) and all(one is not other for other in among):
            among.append(one)
        if len(among) > _MOST_KNOWN:
            return None
    whole = (f"{path}o", *among)
    if make_column(root.concrete, whole) is None:
        return None
    codes = _array(tracer, root, owner.path, whole)
    return cells.Cells("few", False, codes, None, whole, among=tuple(among), outside=root)


def _is_known_by_identity(one: Any) -> bool:
    if type(type(one)) is enum.EnumMeta:
        return class_lookup(type(one), "__eq__") is object.__eq__
    return type(one) in (str, types.NoneType)


def _code_of(tracer: Tracer, owner: ListedObject, known: cells.Cells, value: Value) -> Scalar:
    """The number of an object that is stored where few are known; raises Retry where it is none of these yet."""
    if isinstance(value, FewValue) and value.among is known.among:
        return value.code
    one = _object_of(tracer, value)
    if one is MISSING or not _is_known_by_identity(one):
        owner.root.give_up()
    for place, other in enumerate(known.among):
        if other is one:
            return place
    assert isinstance(known.where, tuple)
    tracer.restraints.known[owner.root.source, known.where[0][:-1]].append(one)
    raise Retry


def _object_of(tracer: Tracer, value: Value) -> Any:
    """The object that a value is, known by identity; MISSING where it is not."""
    if isinstance(value, TextValue | ObjectValue) and value.source is not None:
        one = value.text if isinstance(value, TextValue) else value.concrete
        tracer.facts.state("is", value.source, one)
        return one
    return value.value if type(value) is ConstantValue else MISSING


def few_equal(tracer: Tracer, one: Value, other: Value, by_identity: bool) -> Scalar | None:
    """Whether two values are one object, or equal, where one at least is one of a few; None where nobody can tell."""
    few, other = (one, other) if isinstance(one, FewValue) else (other, one)
    if not isinstance(few, FewValue):
        return None
    if isinstance(other, FewValue):
        return make("eq", few.code, other.code) if other.among is few.among and (by_identity or _differ(few)) else None
    known = _object_of(tracer, other)
    if known is MISSING or not _is_known_by_identity(known):
        return None
    codes = [at for at, obj in enumerate(few.among) if obj is known or (not by_identity and _equal(obj, known))]
    if len(codes) > 1:
        return None
    return make("eq", few.code, codes[0]) if codes else False


def _differ(few: FewValue) -> bool:
    return not any(_equal(a, b) for a, b in itertools.combinations(few.among, 2))


def _equal(one: Any, other: Any) -> bool:
    """Whether they are equal. NB: no members of an Enum with an __eq__ of its own, which are not known by identity."""
    return type(one) is type(other) and bool(one == other)


def _have_marks(tracer: Tracer, root: NumberedValue, columns: list[cells.Cells]) -> None:
    for known in columns[:2]:
        if known.kind == "few":
            known.marks = known.values
        elif known.marks is None:
            path = known.where
            assert isinstance(path, str)
            known.marks = known.tags if known.tagged else _array(tracer, root, path[: path.index("a")], f"{path}m")


def _array(tracer: Tracer, root: NumberedValue, before: str, path: Any) -> ArrayValue:
    """A column, which is as long as all others of these objects."""
    made = column(tracer, root, path)
    tracer.relate(make("eq", made.node.array_type.shape[0], count(tracer, root, before)))
    return made


def count(tracer: Tracer, root: NumberedValue, path: str) -> Scalar:
    """How many objects lie at a path."""
    found: Scalar = column(tracer, root, f"{path}a*;m").node.array_type.shape[0]
    return found


# -- what has to hold ----------------------------------------------------------------------------------


def find(tracer: Tracer, root: NumberedValue, cls: type, path: str, position: Scalar, args: list[Value]) -> Value:
    """The object at a position of all that lie at a path: args[0][args[1]]."""
    source, obj = root.source, root.concrete
    assert source is not None
    at = 0
    while at < len(path):
        place = int(path[at + 2]) if path[at] == "p" else 0
        if not place < len(obj):
            root.give_up()
        source, obj = source.item(place), obj[place]
        at += 3 if path[at] == "p" else 1
    if type(obj) is not cls:
        root.give_up()
    tracer.state_class("type_version", source, cls)
    args = [root, tracer.number(position)] if path == "l" else args
    return ListedObject(None, getitem, args, root, cls, path, position, (source, obj))


def first_of(tracer: Tracer, source: Source) -> Value | None:
    """The first object of the list that a source names; None where that is not known by columns."""
    roots = (one for _, one in tracer.wrapped.values() if isinstance(one, NumberedValue) and one.source == source)
    root = next(roots, None)
    return None if root is None else find(tracer, root, root.layout[1][1], "l", 0, [])


def getitem(of: Any, index: Any) -> Any:
    """of[index]."""
    return of[index]


def _state_lack(tracer: Tracer, owner: ListedObject, name: str) -> None:
    """Guard that none of the objects has anything of its own under a name."""
    path = f"{owner.path}a{name};m"
    if not all_lack(owner.root.concrete, path):
        owner.root.give_up()
    assert owner.root.source is not None
    tracer.facts.state("all_lack", owner.root.source, path)


def _state_apart(tracer: Tracer, root: NumberedValue) -> None:
    """Guard that all objects of a list are different ones."""
    assert root.source is not None
    if not all_differ(root.concrete, root.concrete):
        root.give_up()
    tracer.facts.state_pair("all_differ", root.source, root.source)


def state_listed(tracer: Tracer) -> None:
    """Guard that the objects that are stored to are none of those that the program knows by another path."""
    known = [value for _, value in tracer.wrapped.values() if value.source is not None]
    roots = [value for value in known if isinstance(value, NumberedValue)]
    for root in roots:
        cls = type(_first(root.concrete))
        for other in known if root in tracer.stored else tracer.stored:
            if other is not root and _may_hold(other, cls):
                _state_none_shared(tracer, root, other)
    listed_arrays.state_arrays_apart(tracer)


def _state_none_shared(tracer: Tracer, root: NumberedValue, other: Value) -> None:
    """Guard that a list has no object that another one has, or is."""
    assert isinstance(other, ObjectValue | NumberedValue) and root.source is not None and other.source is not None
    if not all_differ(root.concrete, other.concrete):
        root.give_up()
    tracer.facts.state_pair("all_differ", root.source, other.source)


def _may_hold(value: Value, cls: type) -> bool:
    if isinstance(value, ObjectValue):
        return value.cls is cls
    return isinstance(value, NumberedValue) and type(_first(value.concrete)) is cls


def _first(obj: Any) -> Any:
    while type(obj) in (list, tuple) and obj:
        obj = obj[0]
    return obj


def equal(machine: Machine, one: Value, other: Value) -> Scalar | None:
    """Whether two values are one object; None where neither is a ListedObject."""
    listed = one if isinstance(one, ListedObject) else other
    other = other if listed is one else one
    if not isinstance(listed, ListedObject):
        return None
    tracer = machine.tracer
    if isinstance(other, ListedObject) and other.root is listed.root and other.path == listed.path:
        _state_apart(tracer, listed.root)
        places = _place(listed), _place(other)
        return None if None in places else make("eq", *places)  # type: ignore[arg-type]
    if isinstance(other, ConstantValue | NumberValue | SequenceValue | ArrayValue):
        return False
    if isinstance(other, ListedObject) and other.cls is not listed.cls:
        return False
    if isinstance(other, ListedObject) and other.root is not listed.root:
        _state_none_shared(tracer, listed.root, other.root)
        return False
    raise Break("unsupported-operation", "identity of an object in a list")


__all__ = [
    *("TOLD_BEFORE", "count", "equal", "few_equal", "find", "first_of", "get_attribute"),
    *("set_attribute", "state_listed"),
]
