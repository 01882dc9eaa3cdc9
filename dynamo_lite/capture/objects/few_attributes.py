"""Attributes of one of a few objects that data has chosen (branches/few_objects.py), read and stored.

Enters a OneOf and a name. Leaves what the objects have under it, chosen by its code; a method, and what a property
gives, with the OneOf as self: its code is traced once. Where None is among the objects, the program declines if it is
that one, and plain Python raises.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeAlias

from dynamo_lite._C import generic_attributes
from dynamo_lite.capture.branches.choices import pick
from dynamo_lite.capture.branches.few_objects import is_the_one, number_of_none
from dynamo_lite.capture.calls.numpy_rules import read_result
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.objects import places
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import AttributeMissing
from dynamo_lite.capture.value import Break, ConstantValue, MethodValue, ObjectValue, OneOf, Value
from dynamo_lite.capture.wrap import class_lookup, realise
from dynamo_lite.graph.scalar import negate, simplify

Get: TypeAlias = Callable[[Machine, Value, str], Value]  # what one object has


def look_at(machine: Machine, value: Value) -> None:
    """Have the program read which of a few objects it is that a loop has ended with, for what comes behind the loop."""
    if isinstance(value, OneOf):
        value.code = read_result(machine, value.code)


def get_attribute(machine: Machine, one: OneOf, name: str, get: Get) -> Value:
    """one.name."""
    tracer, objects = machine.tracer, _objects(machine, one)
    cls = next(iter(objects.values())).cls
    if any(value.cls is not cls for value in objects.values()):
        raise Break("unsupported-operation", f"attribute {name} of one of several classes' objects")
    found = class_lookup(cls, name)
    if isinstance(found, property):
        if not isinstance(found.fget, types.FunctionType) or not generic_attributes(cls)[0]:
            raise Break("unsupported-operation", f"property {name} of {cls.__qualname__}")
        for value in objects.values():
            assert value.source is not None
            tracer.state_class("type_version", value.source, cls)
        return machine.call_python(found.fget, constant(found.fget), [one], {})
    try:
        values = {number: realise(tracer, get(machine, value, name)) for number, value in objects.items()}
    except AttributeMissing:
        raise Break("unsupported-operation", f"attribute {name}, which not all of the objects have") from None
    functions = [value.function.value for value in values.values() if _is_method(value)]  # type: ignore[attr-defined]
    if functions:
        if len(functions) < len(values) or any(function is not functions[0] for function in functions):
            raise Break("unsupported-operation", f"method {name} of one of several objects")
        return MethodValue(None, ConstantValue(constant(functions[0]), functions[0]), one, name)
    return _pick(machine, one, values)


def set_attribute(machine: Machine, one: OneOf, name: str, value: Value, get: Get) -> None:
    """one.name = value."""
    objects = _objects(machine, one)
    for number, owner in objects.items():
        try:
            before = realise(machine.tracer, get(machine, owner, name))
        except AttributeMissing:
            raise Break("side-effect-attribute", name) from None
        condition = is_the_one(one, number)
        assert condition is not None
        places.store(
            machine.tracer, owner, name, pick(machine, condition, value, before), "side-effect-attribute", name
        )


def _objects(machine: Machine, one: OneOf) -> dict[int, ObjectValue]:
    """The objects by number; None is not among them from here on."""
    look_at(machine, one)
    nothing = number_of_none(one)
    if nothing is not None:
        is_object = simplify(negate(is_the_one(one, nothing)))
        machine.tracer.have(is_object, "python-exception", "AttributeError of None")
    return {number: value for number, value in one.objects.items() if isinstance(value, ObjectValue)}


def _is_method(value: Value) -> bool:
    is_method = isinstance(value, MethodValue) and type(value.function) is ConstantValue
    return is_method and isinstance(value.function.value, types.FunctionType)  # type: ignore[attr-defined]


def _pick(machine: Machine, one: OneOf, values: dict[int, Value]) -> Value:
    """That one of some values whose number the code is."""
    *others, found = values.values()
    for number, value in zip(values, others, strict=False):
        found = pick(machine, is_the_one(one, number), value, found)
    return found


__all__ = ["get_attribute", "look_at", "set_attribute"]
