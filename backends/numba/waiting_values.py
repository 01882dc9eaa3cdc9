"""Values of which comparisons of floats are written where they are needed: there one is an instruction and a jump.

Enters an Element through `waiting`; leaves its lines by way of `compare`, at the first use in a body. INVARIANT: before
a loop nothing waits, so that what the loop does not change is compared before it.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamo_lite.program.element_ops import Writer
from dynamo_lite.program.ir import Element, Value
from dynamo_lite.program.values import Values


class WaitingValues(Values):
    """waiting: comparisons that have not been written yet."""

    def __init__(self, lines: Writer, compare: Callable[[Element], None]) -> None:
        super().__init__(lines, {})
        self.compare = compare
        self.waiting: dict[Value, Element] = {}

    def operand(self, value: Value) -> str:
        if value in self.waiting and value not in self.masks:
            self.compare(self.waiting[value])
        return super().operand(value)

    def in_memory(self, value: Value) -> str:
        if value in self.waiting and value not in self.memory:
            self.operand(value)
        return super().in_memory(value)

    def same(self, value: Value, other: Value) -> None:
        if other in self.waiting:
            self.operand(other)
        super().same(value, other)
