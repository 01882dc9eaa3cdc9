"""Values that loops carry and choices merge part by part: tuples, complex numbers, objects of ordinary classes, lists.

    for i in range(n):
        s = s + dt * rhs(s)         # s = State(x, v): the loop carries two floats

An object that each iteration replaces by another one of its class is its attributes, and a list that it replaces by
another one of its length its items, as long as one name alone has it: then nobody can tell whether a name still has the
object that it had. So such a loop is refused where something else holds the object before the first iteration, or
behind one; and a branch is, where what it has put together lives on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeGuard

from dynamo_lite.capture.branches.few_objects import one_of
from dynamo_lite.capture.branches.sameness import parts
from dynamo_lite.capture.numbers.complex_numbers import of_parts
from dynamo_lite.capture.state import Frame, Tracer
from dynamo_lite.capture.value import (
    ComplexValue,
    InstanceValue,
    ListedObject,
    OneOf,
    RecordValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import replace
from dynamo_lite.pycode import liveness

Refuse = Callable[[str, str], Any]
Object: TypeAlias = InstanceValue | SequenceValue  # an object, or a list
LONGEST = 16  # list that goes by its items


def has_items(value: Value) -> bool:
    """Whether it is carried and merged item by item: a tuple, or named tuple, that is made in this segment, of which
    nobody knows the identity, a complex number by its parts, or an object `by_parts`."""
    is_tuple = isinstance(value, RecordValue) or (isinstance(value, SequenceValue) and value.kind is tuple)
    if isinstance(value, SequenceValue) and value.taken is not None:
        return False  # a list has that very tuple
    if isinstance(value, ListedObject):
        return value.path == "l"  # its number in the list says which it is
    if isinstance(value, OneOf):
        return True
    if is_tuple or isinstance(value, ComplexValue):
        return value.source is None or isinstance(value, ComplexValue)
    return is_object(value) and value.by_parts


def is_object(value: Value | None) -> TypeGuard[Object]:
    """Whether a value is an object, or a short list, that is made here and may be told from another one like it."""
    if isinstance(value, SequenceValue):
        is_list = value.kind is list and value.source is None and not value.is_grown and value.times is None
        return is_list and value.cells is None and value.rows is None and len(value.known) <= LONGEST
    return isinstance(value, InstanceValue)


def with_items(tracer: Tracer, like: Value, items: Sequence[Value]) -> Value:
    """A value like that one, of other items."""
    if isinstance(like, InstanceValue):
        return InstanceValue(None, like.cls, like.made_of, dict(zip(like.stored, items, strict=True)))
    if isinstance(like, ComplexValue):
        return of_parts(tracer, *items)
    if isinstance(like, OneOf):
        return one_of(like.objects, items[0])
    if isinstance(like, ListedObject):
        return replace(like, args=[like.root, *items])
    if isinstance(like, RecordValue):
        return RecordValue(None, like.cls, list(items))
    assert isinstance(like, SequenceValue)
    return SequenceValue(None, like.kind, list(items))


def is_like(one: Value, other: Value) -> bool:
    """Whether two values that have items are of one kind and length."""
    if isinstance(one, SequenceValue) and isinstance(other, SequenceValue):
        if one.kind is list:
            return len(one.known) == len(other.known) and is_object(one) and is_object(other)
        return other.kind is tuple and len(one.items) == len(other.items)
    if isinstance(one, InstanceValue) and isinstance(other, InstanceValue):
        return one.cls is other.cls and list(one.stored) == list(other.stored)
    if isinstance(one, RecordValue) and isinstance(other, RecordValue):
        return one.cls is other.cls
    if isinstance(one, OneOf) and isinstance(other, OneOf):
        return one.objects.keys() == other.objects.keys()
    if isinstance(one, ListedObject) and isinstance(other, ListedObject):
        return one.root is other.root and one.path == other.path
    return isinstance(one, ComplexValue) and isinstance(other, ComplexValue)


def by_parts(tracer: Tracer, value: Value) -> Value:
    """An object that is made here, as one that goes by its parts, and those in it; any other value as it is."""
    if not is_object(value):
        return value
    # NB: to ask a list for its `items` counts as a look at it.
    held = value.known if isinstance(value, SequenceValue) else value.items
    items = [by_parts(tracer, realise(tracer, item)) for item in held]
    if isinstance(value, InstanceValue):
        return InstanceValue(None, value.cls, value.made_of, dict(zip(value.stored, items, strict=True)), by_parts=True)
    return SequenceValue(None, list, items, by_parts=True)


def is_replaced(before: Value | None, after: Value) -> bool:
    """Whether an iteration has left another object like that one where one was that goes as it is."""
    return is_object(before) and not before.by_parts and before is not after and is_like(before, after)


def objects_in(values: Iterable[Value | None]) -> list[Object]:
    """The objects made here among some values, and in each other; one as often as something holds it."""
    work, found, met = list(values), list[Object](), set[Value]()
    while work:
        value = work.pop()
        if is_object(value):
            found.append(value)
        if value is not None and value not in met:
            met.add(value)
            work += parts(value)
    return found


def require_alone(
    tracer: Tracer,
    frame: Frame,
    objects: Sequence[Object],
    live: Iterable[Value],
    refuse: Refuse,
    inside: Sequence[Object] = (),
) -> None:
    """Refuse where something holds one of some objects, or one is among them twice. live: what `frame`, the innermost,
    holds that may be read. inside: those of the objects that something holds once, at their own place in it."""
    if not objects:
        return
    work = [*live, *frame.stack, *frame.cells.values(), *tracer.stored, *tracer.namespaces.values()]
    for outer in tracer.frames:
        if outer is not frame:
            names = liveness(outer.code)[outer.index]
            work += [value for name, value in outer.locals.items() if name in names or name.startswith(".")]
            work += [*outer.stack, *outer.cells.values()]
    holders = Counter(objects_in(work))
    holders.subtract(inside)
    if len(set(objects)) < len(objects) or any(holders[one] > 0 for one in objects):
        refuse("loop-state", "an object that something else holds, too")


__all__ = [
    *("Object", "by_parts", "has_items", "is_like", "is_object", "is_replaced", "objects_in", "require_alone"),
    "with_items",
]
