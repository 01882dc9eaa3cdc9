"""Objects of ordinary classes that a segment makes: known to capture alone, as lists that it makes are.

Enters a call of a class; leaves an InstanceValue, whose attributes, or slots, its __init__ has stored. Nobody else sees
the object before residual code makes it, with the attributes that it has by then: `object.__new__(cls)`, and a store
for each.
INVARIANT: making, reading and storing do what object does; the guards say that the class stays as it is.
"""

from __future__ import annotations

import types

from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.value import Break, ConstantValue, InstanceValue, Value
from dynamo_lite.capture.wrap import IMMUTABLE_TYPE, MISSING, class_lookup

_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
# What a class may define so that making its objects, their attributes or their death does more than object does.
_OWN_WAYS = ("__getattribute__", "__getattr__", "__del__", "__new__")


def is_ordinary(cls: type) -> bool:
    """Whether objects of the class are a dict of attributes and nothing else, or slots alone."""
    bases = cls.__mro__[:-1]
    n_slotted = sum("__slots__" in vars(base) for base in bases)
    if type(cls) is not type or cls.__flags__ & _ABSTRACT or n_slotted != (0 if cls.__dictoffset__ else len(bases)):
        return False
    return not any(base.__flags__ & IMMUTABLE_TYPE or any(name in vars(base) for name in _OWN_WAYS) for base in bases)


def make_instance(
    machine: Machine, function: ConstantValue, args: list[Value], kwargs: dict[str, Value]
) -> InstanceValue | None:
    """The object that cls(*args, **kwargs) makes; None where the class is no ordinary one."""
    cls = function.value
    if not is_ordinary(cls):
        return None
    machine.tracer.state_class("class_version", function.source or constant(cls), cls)
    begin = class_lookup(cls, "__init__")
    made = InstanceValue(None, cls, function)
    if begin is vars(object)["__init__"]:
        return None if args or kwargs else made
    if not isinstance(begin, types.FunctionType):
        return None
    result = machine.realised(machine.call_python(begin, constant(begin), [made, *args], kwargs))
    if not isinstance(result, ConstantValue) or result.value is not None:
        raise Break("python-exception", "TypeError: __init__() should return None")
    return made


def is_frozen(cls: type) -> bool:
    """Whether storing to an attribute does what the class says, as a frozen dataclass does."""
    return class_lookup(cls, "__setattr__") is not vars(object)["__setattr__"]


def check_storable(owner: InstanceValue, name: str) -> None:
    """Break where object.__setattr__ does more than put it into the object's dict."""
    found = class_lookup(owner.cls, name)
    if is_slot(owner.cls, name):
        return
    if owner.cls.__dictoffset__ == 0:
        raise Break("side-effect-attribute", name)  # it has no such slot
    if found is not MISSING and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")):
        raise Break("side-effect-attribute", name)


def is_slot(cls: type, name: str) -> bool:
    """Whether objects of the class have that attribute in a place of its own, which stands in `__slots__`."""
    found = class_lookup(cls, name)
    if not isinstance(found, types.MemberDescriptorType) or found.__name__ != name:
        return False
    return issubclass(cls, found.__objclass__) and not found.__objclass__.__flags__ & IMMUTABLE_TYPE


def get_call(owner: InstanceValue) -> ConstantValue:
    """The `__call__` of the object's class, which is a Python function."""
    found = class_lookup(owner.cls, "__call__")
    if not isinstance(found, types.FunctionType):
        raise Break("unsupported-operation", f"__call__ of {owner.cls.__qualname__}")
    return ConstantValue(constant(found), found)


__all__ = ["check_storable", "get_call", "is_frozen", "is_ordinary", "is_slot", "make_instance"]
