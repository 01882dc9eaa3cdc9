"""Instructions that only move values about."""

from __future__ import annotations

from dynamo_lite.capture.machine import Machine, handles
from dynamo_lite.capture.source import constant
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.value import ConstantValue, NullValue, SequenceValue, Value
from dynamo_lite.pycode import Instr


@handles("NOP", "RESUME")
def nop(machine: Machine, frame: Frame, instr: Instr) -> None:
    """Nothing to do."""


@handles("POP_TOP", "POP_ITER")
def pop_top(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.stack.pop()


@handles("PUSH_NULL")
def push_null(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(NullValue())


@handles("SWAP")
def swap(machine: Machine, frame: Frame, instr: Instr) -> None:
    depth = instr.arg
    frame.stack[-1], frame.stack[-depth] = frame.stack[-depth], frame.stack[-1]


@handles("COPY")
def copy(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(frame.stack[-instr.arg])


def constant_value(value: object) -> Value:
    """A code object's constant; a tuple becomes a sequence so that its items can be taken."""
    if type(value) is tuple:
        return SequenceValue(constant(value), tuple, [constant_value(item) for item in value])
    return ConstantValue(None, value)


@handles("LOAD_CONST")
def load_const(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(constant_value(instr.arg))
