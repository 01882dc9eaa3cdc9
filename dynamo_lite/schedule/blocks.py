"""Finds steps that may run some rows at a time: softmax, say, whose sums lie between its kernels.

Enters the steps of a schedule with the types of what registers hold; leaves RowBlocks. Around a reduction along later
axes stand maps, reductions and views that all treat the leading axes alike, each row by itself; then all of them can
run on a few rows before the next ones are looked at. INVARIANT: a step of a block writes nothing but fresh arrays. That
the arrays whose rows it reads lie packed, so that NumPy's results would, too, is for csrc/program/blocks.c to see; what
is the same for each row has a single axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dynamo_lite._C import abi
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import Dim, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.steps import Map, Masked, Operand, Put, Read, Reduce, Reg, RowBlock, Save, Step, Take, View

FULL = (None, None, None)


def find_blocks(
    steps: tuple[Step, ...], outputs: tuple[Operand, ...], types: Mapping[int, Any], facts: Facts
) -> tuple[RowBlock, ...]:
    """The blocks of these steps, in order, that read some array or row more than once."""
    blocks: list[RowBlock] = []
    behind = 0  # the steps before are in blocks
    for number, step in enumerate(steps):
        if number < behind or not isinstance(step, Reduce) or not step.axes or step.axes[0] == 0:
            continue
        found = _Finder(steps, step.shape[: step.axes[0]], types, facts)
        first, last = found.around(number, behind)
        block = found.block(first, last, outputs) if last > number else None
        while block is None and last > number + 1:
            last -= 1
            block = found.block(first, last, outputs)
        if block is not None:
            blocks.append(block)
            behind = last
    return tuple(blocks)


class _Finder:
    """Steps that have these leading axes in common."""

    def __init__(
        self, steps: tuple[Step, ...], leading: tuple[Dim, ...], types: Mapping[int, Any], facts: Facts
    ) -> None:
        self.steps = steps
        self.leading = leading
        self.types = types
        self.facts = facts

    def around(self, number: int, behind: int) -> tuple[int, int]:
        """The longest run of steps around number `number` that belong together: its first, and the one behind it."""
        first = last = number
        while last < len(self.steps) and self.takes(self.steps[last]):
            last += 1
        while first > behind and self.takes(self.steps[first - 1]):
            first -= 1
        return first, last

    def takes(self, step: Step) -> bool:
        """Whether a step treats each row by itself."""
        if isinstance(step, View):
            whole = step.params[: len(self.leading)] == (FULL,) * len(self.leading)
            shown = step.dst in self.types and not step.scalar  # and not made for a Save alone
            return step.kind == "basic_index" and shown and whole and self.has_leading(step.src)
        if isinstance(step, Reduce):
            fits = not step.scalar and step.axes[0] >= len(self.leading)
        else:
            fits = isinstance(step, Map) and not any(step.into) and not any(step.scalar)
        if not fits:
            return False
        assert isinstance(step, Map | Reduce)
        return self.leads(step.shape) and all(self.reads(operand, len(step.shape)) for operand in step.operands)

    def reads(self, operand: Operand, ndim: int) -> bool:
        """Whether an operand of a step over `ndim` axes has the rows, or is the same for each."""
        if not isinstance(operand, Reg):
            return True
        type_ = self.types.get(operand.index)
        if not isinstance(type_, ArrayType):
            return False
        if not type_.scalar and len(type_.shape) == ndim and self.leads(type_.shape):
            return True
        has_no_rows = len(type_.shape) <= ndim - len(self.leading) or len(type_.shape) == ndim
        return has_no_rows and _is_thin(type_)

    def leads(self, shape: tuple[Dim, ...]) -> bool:
        """Whether these are the first axes of a shape."""
        mine = shape[: len(self.leading)]
        return len(mine) == len(self.leading) and all(
            self.facts.decide(make("eq", *pair)) is True for pair in zip(mine, self.leading, strict=True)
        )

    def has_leading(self, register: int) -> bool:
        type_ = self.types.get(register)
        return isinstance(type_, ArrayType) and not type_.scalar and self.leads(type_.shape)

    def block(self, first: int, last: int, outputs: tuple[Operand, ...]) -> RowBlock | None:
        """The block of these steps; None if it would gain nothing, or if a view into it is needed behind."""
        steps = self.steps[first:last]
        made = {register for step in steps for register in _made(step)}
        rows = [register for step in steps for register in self.rows(step)]
        if any(not self.common(step).isdisjoint(made | set(rows)) for step in steps):
            return None  # some step needs all rows of what is there some rows at a time
        full = [register for register in rows if len(self.types[register].shape) > len(self.leading)]
        inputs = tuple(sorted(set(rows) - made))
        needed = set(_registers(outputs)).union(*map(registers_used, self.steps[last:]))
        results = tuple(sorted(made & needed))
        views = {step.dst for step in steps if isinstance(step, View)}
        again = len(full) > len(set(full)) or not set(full) <= set(inputs)
        if not inputs or len(inputs) > abi.BLOCK_INPUTS or not again or views & set(results):
            return None
        return RowBlock(first, last - first, self.leading, inputs, tuple(sorted(made)), results)

    def rows(self, step: Step) -> set[int]:
        """The registers of which a step needs the rows that it makes."""
        if isinstance(step, View):
            return {step.src}
        assert isinstance(step, Map | Reduce)
        registers = set(_registers(step.operands))
        return {register for register in registers if self.has_rows(register, len(step.shape))}

    def common(self, step: Step) -> set[int]:
        """The registers of which a step needs all, whatever rows it makes."""
        return registers_used(step) - self.rows(step)

    def has_rows(self, register: int, ndim: int) -> bool:
        """Whether an operand of a step over `ndim` axes has the leading ones."""
        type_ = self.types[register]
        return not type_.scalar and len(type_.shape) == ndim and self.leads(type_.shape)


def _is_thin(type_: ArrayType) -> bool:
    """Whether an array has at most one axis of more than one element: it has no say in the memory order of results."""
    return sum(dim != 1 for dim in type_.shape) <= 1


def _made(step: Step) -> tuple[int, ...]:
    """The registers that a step of a block sets."""
    return step.outs if isinstance(step, Map) else (step.dst,)  # type: ignore[union-attr]


def registers_used(step: Step) -> set[int]:
    """The registers that a step reads."""
    if isinstance(step, Read):
        return {step.src, step.table}
    if isinstance(step, View | Save):
        return {step.src}
    if isinstance(step, Masked):
        return {step.mask, step.src, step.value, step.places}
    if isinstance(step, Take):
        return {step.list, *_registers(step.places)}
    if isinstance(step, Put):
        return {step.list, step.table, *_registers((*step.values, step.key))}
    if isinstance(step, Map):
        return set(_registers(step.operands)) | {out for out, into in zip(step.outs, step.into, strict=True) if into}
    names = ("operands", "fill", "like", "args", "kwargs", "carried", "captured", "outputs", "condition")
    return set(_registers(tuple(getattr(step, name, None) for name in names)))


def _registers(value: Any) -> Iterator[int]:
    """The registers that operands name, also inside tuples and lists."""
    if isinstance(value, Reg):
        yield value.index
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _registers(item)
