"""Functions that make objects and records of others, or store to them: rules, beside those of call_rules.py."""

from __future__ import annotations

import dataclasses

from dynamo_lite.capture.calls.call_rules import Args, Kwargs, call, positional, rule
from dynamo_lite.capture.handlers.attributes import get_attribute
from dynamo_lite.capture.iteration.iterators import drain
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.objects import places
from dynamo_lite.capture.objects.instances import check_storable
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.value import Break, ConstantValue, InstanceValue, RecordValue, Value
from dynamo_lite.capture.wrap import class_lookup, is_record


@rule(tuple.__new__)
def _new_tuple(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """As the __new__ of a named tuple calls it."""
    cls, items = positional(args, kwargs, 2)
    if not isinstance(cls, ConstantValue) or not is_record(cls.value):
        raise Break("python-call", "tuple.__new__")
    machine.tracer.state_class("class_version", cls.source or constant(cls.value), cls.value)
    return RecordValue(None, cls.value, drain(machine, items))


@rule(object.__setattr__)
def _store(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """As the __init__ of a frozen dataclass calls it."""
    owner, name, value = positional(args, kwargs, 3)
    if not isinstance(owner, InstanceValue) or not isinstance(name, ConstantValue) or type(name.value) is not str:
        raise Break("side-effect-attribute", "object.__setattr__")
    check_storable(owner, name.value)
    places.store(machine.tracer, owner, name.value, value, "side-effect-attribute", name.value)
    return ConstantValue(None, None)


@rule(dataclasses.replace)
def _replace(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A dataclass made of the fields of another object of it, and of changes."""
    (owner,) = positional(args, {}, 1)
    fields = class_lookup(owner.cls, "__dataclass_fields__") if isinstance(owner, InstanceValue) else None
    if not isinstance(owner, InstanceValue) or type(fields) is not dict:
        raise Break("python-call", "dataclasses.replace")
    changes = dict(kwargs)
    for field in fields.values():
        kind = field._field_type.name
        if kind == "_FIELD_INITVAR" or (not field.init and field.name in changes):
            raise Break("python-call", "dataclasses.replace")
        if kind == "_FIELD" and field.init and field.name not in changes:
            changes[field.name] = get_attribute(machine, owner, field.name)
    return call(machine, ConstantValue(owner.made_of.source or constant(owner.cls), owner.cls), [], changes)


__all__: list[str] = []
