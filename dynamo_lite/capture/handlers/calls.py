"""Calls: how the stack names callable and arguments. What a call does is call_rules.py's business."""

from __future__ import annotations

from dynamo_lite.capture.calls.call_rules import call
from dynamo_lite.capture.calls.supers import make_super, super_attribute
from dynamo_lite.capture.handlers.containers import as_constant_tuple
from dynamo_lite.capture.iteration.iterators import drain
from dynamo_lite.capture.machine import Machine, handles, is_null
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.value import (
    Break,
    CellValue,
    ConstantValue,
    DictValue,
    FunctionValue,
    NullValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.pycode import Instr, null_below_callable


def _call(machine: Machine, frame: Frame, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Take the two callable slots, call, push the result."""
    first, second = frame.popn(2)
    if is_null(first):
        function = second
    elif is_null(second):
        function = first
    else:
        function, args = first, [second, *args]
    frame.push(call(machine, machine.realised(function), args, kwargs))


@handles("CALL")
def call_(machine: Machine, frame: Frame, instr: Instr) -> None:
    _call(machine, frame, frame.popn(instr.arg), {})


@handles("CALL_KW")
def call_kw(machine: Machine, frame: Frame, instr: Instr) -> None:
    names = as_constant_tuple(machine, frame.stack.pop())
    args = frame.popn(instr.arg)
    split = len(args) - len(names)
    _call(machine, frame, args[:split], dict(zip(map(str, names), args[split:], strict=True)))


@handles("CALL_FUNCTION_EX")
def call_function_ex(machine: Machine, frame: Frame, instr: Instr) -> None:
    kwargs: dict[str, Value] = {}
    if instr.arg:
        mapping = machine.pop(frame)
        if is_null(mapping):  # from 3.14 it may be, where no mapping is given
            mapping = DictValue(None, {})
        if not isinstance(mapping, DictValue) or not all(isinstance(key, str) for key in mapping.items):
            raise Break("python-call", "** of an unknown mapping")
        kwargs = {str(key): value for key, value in mapping.items.items()}
    args = drain(machine, machine.pop(frame))
    _call(machine, frame, args, kwargs)


@handles("MAKE_FUNCTION")
def make_function(machine: Machine, frame: Frame, instr: Instr) -> None:
    """Flags: 1 defaults, 2 keyword defaults, 4 annotations, 8 closure, 16 the function that makes the annotations."""
    code = machine.pop(frame)
    if not isinstance(code, ConstantValue):
        raise Break("definition", "a function")
    function = FunctionValue(None, code.value, frame.namespace, code.value.co_name, code.value.co_qualname)
    for flag in (8, 16, 4, 2, 1):
        if instr.arg & flag:
            set_attribute(machine, function, flag, machine.pop(frame))
    frame.push(function)


@handles("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(machine: Machine, frame: Frame, instr: Instr) -> None:
    function = machine.pop(frame)
    attribute = machine.pop(frame)
    assert isinstance(function, FunctionValue)
    set_attribute(machine, function, instr.arg, attribute)
    frame.push(function)


def set_attribute(machine: Machine, function: FunctionValue, flag: int, value: Value) -> None:
    """Complete a function under construction."""
    if flag == 1 and isinstance(value, SequenceValue):
        function.defaults = tuple(value.items)
    elif flag == 2 and isinstance(value, DictValue):
        function.kwdefaults = {str(key): item for key, item in value.items.items()}
    elif flag == 8 and isinstance(value, SequenceValue):
        cells = [cell for cell in value.items if isinstance(cell, CellValue)]
        assert len(cells) == len(value.items)
        function.closure = tuple(cells)
    elif flag == 4 and isinstance(value, SequenceValue):
        function.annotations = tuple(value.items)
    elif flag == 16 and isinstance(value, FunctionValue):
        function.annotate = value
    else:
        raise Break("definition", "a function")


@handles("LOAD_BUILD_CLASS")
def load_build_class(machine: Machine, frame: Frame, instr: Instr) -> None:
    raise Break("definition", "a class")


@handles("LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD")
def load_super(machine: Machine, frame: Frame, instr: Instr) -> None:
    called, of, own = (realise(machine.tracer, value) for value in frame.stack[-3:])
    if not isinstance(called, ConstantValue) or called.value is not super:
        raise Break("unsupported-operation", "super()")
    found = super_attribute(machine, make_super(machine, of, own), instr.arg[0])
    del frame.stack[-3:]
    if instr.op == "LOAD_SUPER_ATTR":
        frame.push(found)
        return
    pair = [found, NullValue(None, True)]
    frame.stack.extend(reversed(pair) if null_below_callable else pair)
