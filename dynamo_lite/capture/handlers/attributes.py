"""Attribute access."""

from __future__ import annotations

import enum
import importlib
import types
from typing import Any

import numpy as np

from dynamo_lite import ops
from dynamo_lite._C import generic_attributes, own_attribute
from dynamo_lite.capture.branches.conditions import not_none
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.calls.supers import super_attribute
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.lists import listed_objects
from dynamo_lite.capture.machine import Machine, handles
from dynamo_lite.capture.numbers import complex_operators
from dynamo_lite.capture.objects import few_attributes, instances, places, records
from dynamo_lite.capture.source import Source, constant
from dynamo_lite.capture.state import AttributeMissing, Frame
from dynamo_lite.capture.value import (
    ArrayValue,
    Break,
    ComplexValue,
    ConstantValue,
    DictValue,
    InstanceValue,
    LazyValue,
    ListedObject,
    ListValue,
    MethodValue,
    NullValue,
    NumberValue,
    ObjectValue,
    OneOf,
    RangeValue,
    RecordValue,
    SequenceValue,
    SliceValue,
    SuperValue,
    Value,
    computed_number,
    lazy,
)
from dynamo_lite.capture.wrap import (
    IMMUTABLE_TYPE,
    MISSING,
    check_names,
    class_lookup,
    is_changed_unread,
    present,
    realise,
)
from dynamo_lite.graph.scalar import kind_of
from dynamo_lite.pycode import Instr, null_below_callable

_DISPATCHER = type(np.sum)  # of NumPy's functions in Python that others may override
# Types whose attributes are C data that no user code can change.
_FROZEN = (np.dtype, np.ufunc, types.BuiltinFunctionType, str, bytes, int, float, complex, bool, np.finfo, np.iinfo)
CHANGING_METHODS = frozenset(
    {"append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"}
)

# C types whose members are objects; those of others may be C numbers, of which each read makes an object.
_OBJECT_MEMBERS = (range, slice)
_ITSELF = frozenset({("int", "real"), ("int", "numerator"), ("float", "real")})  # what of a number is the number


@handles("LOAD_ATTR")
def load_attr(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(get_attribute(machine, frame.stack.pop(), instr.arg))


@handles("LOAD_METHOD")
def load_method(machine: Machine, frame: Frame, instr: Instr) -> None:
    pair = [get_attribute(machine, frame.stack.pop(), instr.arg), NullValue(None, True)]
    frame.stack.extend(reversed(pair) if null_below_callable else pair)


@handles("STORE_ATTR", "DELETE_ATTR")
def store_attr(machine: Machine, frame: Frame, instr: Instr) -> None:
    owner = realise(machine.tracer, frame.stack[-1])
    if isinstance(owner, ArrayValue):
        type_ = owner.node.array_type
        parts = ("real", "imag") if type_.dtype.kind == "c" else ("real",)
        if class_lookup(type_.dtype.type if type_.scalar else np.ndarray, instr.arg) is MISSING:
            raise AttributeMissing(instr.arg)
        if instr.op == "DELETE_ATTR" or instr.arg not in parts or type_.scalar:
            raise Break("op-without-rule", f"setting attribute {instr.arg} of an array")
        part = get_attribute(machine, owner, instr.arg)
        assert isinstance(part, ArrayValue)
        numpy_rules.set_item(machine, part, ConstantValue(None, Ellipsis), frame.stack[-2])
        del frame.stack[-2:]
        return
    if instr.op == "STORE_ATTR" and isinstance(owner, ListedObject):
        listed_objects.set_attribute(machine, owner, instr.arg, frame.stack[-2])
        del frame.stack[-2:]
        return
    if instr.op == "STORE_ATTR" and isinstance(owner, OneOf):
        few_attributes.set_attribute(machine, owner, instr.arg, frame.stack[-2], get_attribute)
        del frame.stack[-2:]
        return
    if instr.op == "DELETE_ATTR" or not isinstance(owner, ObjectValue | InstanceValue):
        raise Break("side-effect-attribute", instr.arg)
    if isinstance(owner, InstanceValue):
        instances.check_storable(owner, instr.arg)
        if instances.is_frozen(owner.cls):
            raise Break("side-effect-attribute", instr.arg)
    places.store(machine.tracer, owner, instr.arg, frame.stack[-2], "side-effect-attribute", instr.arg)
    del frame.stack[-2:]


_METHOD = types.MethodDescriptorType


def get_attribute(machine: Machine, owner: Value, name: str) -> Value:
    """owner.name, stating the guards that keep it true."""
    if _changes(owner, name) and is_changed_unread(machine.tracer, owner):
        return MethodValue(None, ConstantValue(None, None), owner, name)
    owner = realise(machine.tracer, owner)
    if not hasattr(None, name):
        owner = not_none(machine, owner)
    match owner:
        case ArrayValue():
            return numpy_rules.array_attribute(machine, owner, name)
        case ConstantValue() if type(owner.value) in (int, float) and (type(owner.value).__name__, name) in _ITSELF:
            return owner
        case ConstantValue() if type(owner.value) is complex and name in ("real", "imag"):
            return computed_number(getattr(owner.value, name))  # another object each time
        case ConstantValue() if type(owner.value) is complex and name == "conjugate":
            return MethodValue(None, ConstantValue(None, None), owner, name)
        case ConstantValue() if type(owner.value) is str and type(found := getattr(str, name, None)) is _METHOD:
            return MethodValue(None, ConstantValue(constant(found), found), owner, name)
        case ConstantValue():
            return _constant_attribute(machine, owner, name)
        case ComplexValue() if (part := complex_operators.attribute(machine, owner, name)) is not None:
            return part
        case ComplexValue() if name == "conjugate":
            return MethodValue(None, ConstantValue(None, None), owner, name)
        case ComplexValue() if not hasattr(complex, name):
            raise AttributeMissing(name)
        case ObjectValue():
            return _object_attribute(machine, owner, name)
        case ListedObject():
            return listed_objects.get_attribute(machine, owner, name)
        case OneOf():
            return few_attributes.get_attribute(machine, owner, name, get_attribute)
        case InstanceValue():
            return _instance_attribute(machine, owner, name)
        case SuperValue():
            return super_attribute(machine, owner, name)
        case NumberValue() if (kind_of(owner.expr), name) in _ITSELF:
            return owner
        case NumberValue() if not hasattr({"int": int, "float": float, "bool": bool}[kind_of(owner.expr)], name):
            raise AttributeMissing(name)
        case SliceValue() if name in ("start", "stop", "step"):
            return realise(machine.tracer, getattr(owner, name))
        case RangeValue() if name in ("start", "stop", "step"):
            return machine.tracer.number(getattr(owner, name))
        case SequenceValue() | ListValue() | DictValue() | RangeValue():
            kinds = {ListValue: list, DictValue: dict, RangeValue: range}
            kind = owner.kind if isinstance(owner, SequenceValue) else kinds[type(owner)]
            found = class_lookup(kind, name)
            if found is MISSING:
                raise AttributeMissing(name)
            if not callable(found):
                raise Break("unsupported-operation", f"attribute {name} of {a_kind(owner)}")
            return MethodValue(None, ConstantValue(None, None), owner, name)
        case RecordValue():
            return records.attribute(machine, owner, name)
        case MethodValue() if name == "__self__":
            return owner.self
        case MethodValue() if name == "__func__":
            return owner.function
    raise Break("unsupported-operation", f"attribute {name} of {a_kind(owner)}")


def _changes(owner: Value, name: str) -> bool:
    """Whether owner.name is a method by which a list or dict from outside changes, and which its type has."""
    is_candidate = name in CHANGING_METHODS and isinstance(owner, LazyValue)
    kind = type(owner.concrete) if is_candidate else None  # type: ignore[attr-defined]
    return kind in (list, dict) and hasattr(kind, name)  # NB: to ask another class may run code of its own class


_OF_ENUMS = {"value": "_value_", "name": "_name_"}


def _constant_attribute(machine: Machine, owner: ConstantValue, name: str) -> Value:
    obj = owner.value
    source = owner.source or constant(obj)
    if isinstance(obj, types.ModuleType):
        stored = machine.tracer.namespaces.get(id(vars(obj)))
        if stored is not None and name in stored.stored:
            return stored.stored[name]
        if obj is np and name == "random":
            importlib.import_module("numpy.random")  # which NumPy imports when it is first asked for it
        check_names(obj, name)
        found = vars(obj).get(name, MISSING)
        if found is MISSING:
            raise Break("unsupported-operation", f"attribute {name} of a module")
        return present(machine.tracer, source.attr(name), found)
    scalar_type = isinstance(obj, type) and issubclass(obj, np.generic) and obj.__flags__ & IMMUTABLE_TYPE
    if isinstance(obj, _FROZEN) or (scalar_type and name != "__dict__"):
        return _frozen_attribute(obj, name)
    if obj is object and name == "__setattr__":
        return ConstantValue(constant(object.__setattr__), object.__setattr__)
    if isinstance(obj, type):
        return _class_attribute(machine, obj, source, name)
    if type(obj) is slice and name in ("start", "stop", "step"):  # a constant of the code, from 3.14 on
        part = getattr(obj, name)
        if type(part) in (int, float, complex, type(None)):
            return ConstantValue(None, part)
    if type(obj) is _DISPATCHER:
        found = getattr(obj, name, MISSING)
        if found is MISSING:
            raise AttributeMissing(name)
        return lazy(constant(found), found)
    if type(obj) in (int, float, bool, complex, str, type(None)) and not hasattr(obj, name):
        raise AttributeMissing(name)
    raise Break("unsupported-operation", f"attribute {name} of {a_kind(ConstantValue(None, obj))}")


def _frozen_attribute(obj: Any, name: str) -> Value:
    try:
        found = getattr(obj, name)
    except AttributeError:
        raise AttributeMissing(name) from None
    return ConstantValue(None, found)


def _class_attribute(machine: Machine, cls: type, source: Any, name: str) -> Value:
    """A class's attribute read from the class: plain data and functions; the version guard covers all bases.

    Plain data, which may change as an object's does, are looked up at each call, as they are."""
    if type(cls) is enum.EnumMeta and (member := _enum_member(machine, cls, source, name)) is not None:
        return member
    if type(cls) is not type or name in vars(type):
        raise Break("unsupported-operation", f"attribute {name} of class {cls.__qualname__} with a metaclass")
    found = class_lookup(cls, name)
    if found is not MISSING and not hasattr(type(found), "__get__"):
        machine.tracer.state_class("type_version", source, type)
        return lazy(source.attr(name), found)
    machine.tracer.state_class("class_version", source, cls)
    if isinstance(found, types.FunctionType):
        return ConstantValue(constant(found), found)
    if isinstance(found, staticmethod):
        return ConstantValue(constant(found.__func__), found.__func__)
    if isinstance(found, classmethod):
        return MethodValue(
            None, ConstantValue(constant(found.__func__), found.__func__), ConstantValue(source, cls), name
        )
    raise Break("unsupported-operation", f"attribute {name} of class {cls.__qualname__}")


def _enum_member(machine: Machine, cls: type, source: Source, name: str) -> Value | None:
    """A member of an Enum that its class has by that name; None for other attributes. NB: before CPython 3.12 a
    descriptor in the class hands it out."""
    found = class_lookup(cls, name)
    place = constant(found)
    if type(found) is enum.property and "member" in vars(found):
        found, place = vars(found)["member"], place.attr("member")
    if type(found) is not cls or class_lookup(enum.EnumMeta, name) is not MISSING or getattr(cls, name) is not found:
        return None
    machine.tracer.state_class("class_version", constant(enum.EnumMeta), enum.EnumMeta)
    machine.tracer.state_class("class_version", source, cls)
    return lazy(place, found)


def _missing(machine: Machine, source: Source, name: str) -> AttributeMissing:
    machine.tracer.facts.state("lacks", source, name)
    return AttributeMissing(name)


def _instance_attribute(machine: Machine, owner: InstanceValue, name: str) -> Value:
    """An attribute of an object that this segment makes; that its class stays as it is is guarded."""
    found = class_lookup(owner.cls, name)
    kind = type(found)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return machine.call_python(found.fget, constant(found.fget), [owner], {})
    is_slot = instances.is_slot(owner.cls, name)
    if found is not MISSING and not is_slot and (hasattr(kind, "__set__") or hasattr(kind, "__delete__")):
        raise Break("unsupported-operation", f"attribute {name} of {owner.cls.__qualname__}")
    if name in owner.stored:
        return owner.stored[name]
    if found is MISSING or is_slot:
        raise AttributeMissing(name)
    if isinstance(found, types.FunctionType):
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    if isinstance(found, staticmethod | classmethod) and isinstance(found.__func__, types.FunctionType):
        function = ConstantValue(constant(found.__func__), found.__func__)
        if isinstance(found, staticmethod):
            return function
        return MethodValue(None, function, ConstantValue(constant(owner.cls), owner.cls), name)
    if hasattr(kind, "__get__") or name in vars(type):  # which reads __doc__ and others of a class in ways of its own
        raise Break("unsupported-operation", f"attribute {name} of {owner.cls.__qualname__}")
    return lazy((owner.made_of.source or constant(owner.cls)).attr(name), found)


def _object_attribute(machine: Machine, owner: ObjectValue, name: str) -> Value:
    """An attribute of an ordinary object, found as object.__getattribute__ finds it, without running user code."""
    cls, obj, source = owner.cls, owner.concrete, owner.source
    assert source is not None
    if name in owner.stored:
        return owner.stored[name]
    if issubclass(cls, ops.draws.kinds()):
        found = class_lookup(cls, name)
        if cls not in ops.draws.kinds() or ops.draws.find(found) is None:
            raise Break("random", f"{cls.__qualname__}.{name}")
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    generic, _ = generic_attributes(cls)
    if not generic or issubclass(cls, type):
        raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
    machine.tracer.state_class("type_version", source, cls)
    found = class_lookup(cls, name)
    kind = type(found)
    if name in _OF_ENUMS and found is vars(enum.Enum)[name]:
        name = _OF_ENUMS[name]  # which is what it gets
        found = class_lookup(cls, name)
        kind = type(found)
    if isinstance(found, property):
        if not isinstance(found.fget, types.FunctionType):
            raise Break("unsupported-operation", f"property {name} of {cls.__qualname__}")
        return machine.call_python(found.fget, constant(found.fget), [owner], {})
    if isinstance(found, types.MemberDescriptorType):
        if found.__objclass__.__flags__ & IMMUTABLE_TYPE and found.__objclass__ not in _OBJECT_MEMBERS:
            raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
        try:
            value = found.__get__(obj, cls)
        except AttributeError:
            raise _missing(machine, source, name) from None
        return present(machine.tracer, source.attr(name), value)
    if found is not MISSING and (hasattr(kind, "__set__") or hasattr(kind, "__delete__")):
        raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
    check_names(obj, name)
    own = own_attribute(obj, name, MISSING)
    if own is not MISSING:
        return present(machine.tracer, source.attr(name), own)
    if found is MISSING:
        if hasattr(cls, "__getattr__"):
            raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
        raise _missing(machine, source, name)
    if isinstance(found, types.FunctionType):
        # NB: the instance may get an attribute of this name later, which the version of its class does not show.
        machine.tracer.facts.state("method", source, name, found)
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    if isinstance(found, staticmethod) and isinstance(found.__func__, types.FunctionType):
        machine.tracer.facts.state("method", source, name, found.__func__)
        return ConstantValue(constant(found.__func__), found.__func__)
    if isinstance(found, classmethod) and isinstance(found.__func__, types.FunctionType):
        machine.tracer.facts.state("method", source, name, found.__func__)
        function = ConstantValue(constant(found.__func__), found.__func__)
        return MethodValue(None, function, ConstantValue(constant(cls), cls), name)
    if ops.draws.find(found) is not None:
        machine.tracer.facts.state("method", source, name, found)
    if kind in (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType):
        return MethodValue(None, ConstantValue(constant(found), found), owner, name)
    if hasattr(kind, "__get__"):
        raise Break("unsupported-operation", f"attribute {name} of {cls.__qualname__}")
    return present(machine.tracer, source.attr(name), found)
