"""Writes operations on elements by the table of element_ops.py, and keeps the names of what was computed.

Enters an Element and a backend's Writer; leaves what that has written. INVARIANT: both arms of a choice are computed,
with the floating-point flags of the one that is not chosen.
"""

from __future__ import annotations

import numpy as np

from dynamo_lite.program.element_ops import DType, Writer, class_of, emit_cast, row_of
from dynamo_lite.program.ir import Element, Value


class Values:
    """The values of one loop body: as they lie in memory (a bool is a byte), and bools as masks. loaded: those that
    come from memory, or from before the loop."""

    def __init__(self, lines: Writer, loaded: dict[Value, str]) -> None:
        self.lines = lines
        self.memory = dict(loaded)
        self.masks: dict[Value, str] = {}
        self.loaded = set(loaded)

    def set(self, value: Value, name: str) -> None:
        """Record what an operation yields: a mask for a bool."""
        (self.masks if value.dtype.kind == "b" else self.memory)[value] = name

    def same(self, value: Value, other: Value) -> None:
        """Record that `value` is `other`."""
        if other in self.memory:
            self.memory[value] = self.memory[other]
        if other in self.masks:
            self.masks[value] = self.masks[other]

    def operand(self, value: Value) -> str:
        """The value as an operand: a mask for a bool."""
        if value.dtype.kind != "b":
            return self.memory[value]
        if value not in self.masks:
            self.masks[value] = self.lines.mask_of(self.memory[value])
        return self.masks[value]

    def in_memory(self, value: Value) -> str:
        """The value as it is stored."""
        if value not in self.memory:
            self.memory[value] = self.lines.byte_of(self.masks[value])
        return self.memory[value]


def emit_element(lines: Writer, op: Element, values: Values) -> None:
    """Compute the results of a compiled operation."""
    result = op.results[0]
    if op.op == "copy":
        values.same(result, op.operands[0])
    elif op.op == "cast":
        (operand,) = op.operands
        source, target = operand.dtype, result.dtype
        value = values.operand(operand)
        if source.kind in "iu" and target.kind == "f" and operand not in values.loaded:
            value = lines.unknown(source, value)  # x - x is known to be 0, and 0 / 0 would be computed here
        values.set(result, emit_cast(lines, source, target, value))
    elif op.op == "where":
        mask, *arms = op.operands
        yes, no = (values.in_memory(arm) for arm in arms)
        if class_of(result.dtype) == "f":
            computed = tuple(arm not in values.loaded for arm in arms)
            values.memory[result] = lines.choose(values.operand(mask), result.dtype, (yes, no), computed)
        else:
            values.memory[result] = lines.select(values.operand(mask), result.dtype, yes, no)
    else:
        row = row_of(op.op, op.in_dtypes)
        if row is None:
            raise NotImplementedError(f"{op.op} is not compiled for {op.in_dtypes}")
        dtype, operands = op.operands[0].dtype, [values.operand(value) for value in op.operands]
        if row.emit_pair is None:
            values.set(result, row.emit(lines, dtype, operands))
        else:
            name, doubt = row.emit_pair(lines, dtype, operands)
            values.set(result, name)
            values.set(op.results[1], doubt)


def literal(lines: Writer, dtype: DType, number: object) -> str:
    """A number that is known."""
    raw = np.asarray(number, dtype=dtype)
    if dtype.kind == "f":
        return lines.splat_constant(dtype, float(raw))
    return lines.splat_bits(dtype, int(raw.view(f"u{dtype.itemsize}")))
