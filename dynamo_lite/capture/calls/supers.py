"""super() in methods that are inlined: attributes of an object as they are found behind a class in its method order.

Enters: super's class and its object, from the frame that calls super() or, from 3.12 on, from the stack. Leaves: what a
name stands for there. INVARIANT: the guards say that the object's class, and so all of its bases, stays as it is.
"""

from __future__ import annotations

import types

from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.value import (
    Break,
    ConstantValue,
    InstanceValue,
    MethodValue,
    ObjectValue,
    SuperValue,
    Value,
)
from dynamo_lite.capture.wrap import read_cell, realise


def super_of(machine: Machine, of: Value | None = None, own: Value | None = None) -> SuperValue:
    """What super(of, own) is in the innermost frame, which is inlined; by itself it reads its first argument."""
    tracer = machine.tracer
    frame = tracer.frames[-1]
    cell = frame.cells.get("__class__")
    if of is None and cell is not None and frame.code.argcount:  # NB: of arguments by keyword alone it takes none
        name = frame.code.varnames[0]
        of, own = read_cell(cell), frame.cells[name].contents if name in frame.cells else frame.locals.get(name)
    read = frame.code.instrs[frame.index].op in ("LOAD_METHOD", "LOAD_ATTR")  # nobody else gets it
    # NB: where the frame is real, super itself looks at it.
    if of is None or own is None or len(tracer.frames) == 1 or not read:
        raise Break("c-function" if len(tracer.frames) > 1 else "frame-introspection", "super")
    return make_super(machine, of, own)


def make_super(machine: Machine, of: Value, own: Value) -> SuperValue:
    """super(of, own)."""
    tracer = machine.tracer
    after, object_ = realise(tracer, of), realise(tracer, own)
    if not isinstance(after, ConstantValue) or not isinstance(after.value, type):
        raise Break("unsupported-operation", "super()")
    if not isinstance(object_, ObjectValue | InstanceValue) or after.value not in object_.cls.__mro__:
        raise Break("unsupported-operation", "super()")
    kind = "class_version" if isinstance(object_, InstanceValue) else "type_version"
    tracer.state_class(kind, object_.source or constant(object_.cls), object_.cls)
    return SuperValue(None, after.value, object_)


def super_attribute(machine: Machine, owner: SuperValue, name: str) -> Value:
    """owner.name."""
    object_ = owner.self
    assert isinstance(object_, ObjectValue | InstanceValue)
    order = object_.cls.__mro__
    behind = order[order.index(owner.after) + 1 :]
    # NB: its own class it says of itself.
    found = next((vars(base)[name] for base in behind if name in vars(base) and name != "__class__"), None)
    if isinstance(found, types.FunctionType):
        return MethodValue(None, ConstantValue(constant(found), found), object_, name)
    if isinstance(found, staticmethod | classmethod) and isinstance(found.__func__, types.FunctionType):
        function = ConstantValue(constant(found.__func__), found.__func__)
        bound = ConstantValue(constant(object_.cls), object_.cls)
        return function if isinstance(found, staticmethod) else MethodValue(None, function, bound, name)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return machine.call_python(found.fget, constant(found.fget), [object_], {})
    raise Break("unsupported-operation", f"attribute {name} of super()")


__all__ = ["make_super", "super_attribute", "super_of"]
