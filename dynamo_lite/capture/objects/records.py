"""Named tuples, of collections.namedtuple and typing.NamedTuple: tuples that capture knows by their items, as others.

Enters a class, or an object of one from outside; leaves a RecordValue, of which an attribute is an item, a property or
a method of the class. INVARIANT: making, reading, going through and unpacking them does what tuple does; the guards
say that the class stays as it is.
"""

from __future__ import annotations

import types
from collections import namedtuple
from collections.abc import Mapping

from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import AttributeMissing
from dynamo_lite.capture.value import Break, ConstantValue, MethodValue, RecordValue, Value, lazy
from dynamo_lite.capture.wrap import MISSING, class_lookup

_EXAMPLE = namedtuple("_EXAMPLE", "item")
_FIELD = type(_EXAMPLE.item)  # what reads an item
_REPLACE, _MAKE = _EXAMPLE._replace.__code__, _EXAMPLE._make.__func__.__code__  # type: ignore[attr-defined]


def make_record(
    machine: Machine, function: ConstantValue, args: list[Value], kwargs: Mapping[str, Value]
) -> RecordValue | None:
    """The named tuple that cls(*args, **kwargs) makes; None where the class makes its objects in a way of its own."""
    cls = function.value
    new = class_lookup(cls, "__new__")
    if class_lookup(cls, "__init__") is not vars(object)["__init__"] or not isinstance(new, staticmethod):
        return None
    if not isinstance(new.__func__, types.FunctionType):
        return None
    machine.tracer.state_class("class_version", function.source or constant(cls), cls)
    made = machine.call_python(new.__func__, constant(new.__func__), [function, *args], dict(kwargs))
    return made if isinstance(made, RecordValue) and made.cls is cls else None


def attribute(machine: Machine, owner: RecordValue, name: str) -> Value:
    """owner.name, as object.__getattribute__ finds it; what the class has is guarded."""
    found = class_lookup(owner.cls, name)
    if isinstance(found, _FIELD):
        place: int = found.__reduce__()[1][0]
        return owner.items[place]
    if found is MISSING:
        if owner.cls.__dictoffset__ and owner.source is not None:
            raise Break("unsupported-operation", f"attribute {name} of {owner.cls.__qualname__}")
        raise AttributeMissing(name)
    if owner.cls.__dictoffset__ and owner.source is not None and not isinstance(found, property):
        raise Break("unsupported-operation", f"attribute {name} of {owner.cls.__qualname__}")  # it may have its own
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return machine.call_python(found.fget, constant(found.fget), [owner], {})
    if isinstance(found, types.FunctionType):
        making = getattr(class_lookup(owner.cls, "_make"), "__func__", None)  # which that calls
        if found.__code__ is _REPLACE and getattr(making, "__code__", None) is _MAKE:
            return MethodValue(None, ConstantValue(None, None), owner, name)
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    if isinstance(found, staticmethod) and isinstance(found.__func__, types.FunctionType):
        return ConstantValue(constant(found.__func__), found.__func__)
    if hasattr(type(found), "__get__") or name in vars(type):
        raise Break("unsupported-operation", f"attribute {name} of {owner.cls.__qualname__}")
    machine.tracer.state_class("class_version", constant(owner.cls), owner.cls)
    return lazy(constant(owner.cls).attr(name), found)


def replaced(owner: RecordValue, changes: Mapping[str, Value]) -> RecordValue:
    """owner._replace(**changes)."""
    names: tuple[str, ...] = owner.cls._fields  # type: ignore[attr-defined]
    if not changes.keys() <= set(names):
        raise Break("python-exception", "ValueError")
    items = [changes.get(name, item) for name, item in zip(names, owner.items, strict=True)]
    return RecordValue(None, owner.cls, items)


__all__ = ["attribute", "make_record", "replaced"]
