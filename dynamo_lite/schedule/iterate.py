"""Finds loops that one kernel can run: for a tile of elements the carried values stay in registers over iterations.

Enters the schedule of a loop's body; leaves one Map, whose kernel has what stands in each operand's place in the next
iteration:

    r2 = map(r1, 1.0) v2 = add(v0, v1) -> v2; return r2   ->   r1 = map(r1, 1.0) v2 = add(v0, v1) -> v2, next v2, v1

Several Maps of one shape become one kernel, since what one writes is read at the same positions. INVARIANT: it does for
each element what the body does, in the same order. That carried arrays lie as NumPy would have them, and that no target
shares memory with anything but its own operand, is for csrc/program/loop_kernel.c to see.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.dataclass import replace
from dynamo_lite.graph.alias import other_rows
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.scalar import Dim, make, symbols_of
from dynamo_lite.graph.types import identity_of
from dynamo_lite.schedule.steps import DType, Kernel, KernelOp, Map, Operand, Reg, Schedule, View

MOST_OPS = 200
MOST_OPERANDS = 32  # and results; the C side has room for abi.MAX_OPERANDS


def iterated(body: Schedule, n_carried: int, facts: Facts) -> Map | None:
    """Many iterations of `body` as one Map, or None: it does anything but Maps of one shape, over what is carried,
    captured, a fixed view or an element of that; or it hands on what they do not make and what is not carried.

    facts: what is known of the body's sizes.
    """
    joined = _Joined(body, n_carried, facts)
    return joined.map() if all(map(joined.add, body.steps)) else None


class _Joined:
    """One kernel of all Maps of a body. Values of ops are numbered -1, -2 ... until the operands are known."""

    def __init__(self, body: Schedule, n_carried: int, facts: Facts) -> None:
        self.facts = facts
        self.body = body
        self.n_carried = n_carried
        numbers = range(body.n_inputs - (len(body.outputs) - n_carried), body.n_inputs)
        self.varying = {s.name for s in body.symbols if s.axis is None and (s.input == 0 or s.input in numbers)}
        self.readable = set(range(1, body.n_inputs)) | {register for register, _ in body.constants}
        self.lasting = self.readable - set(range(1, 1 + n_carried))
        self.shape: tuple[Dim, ...] | None = None
        self.operands: list[Operand] = []
        self.dtypes: list[DType] = []
        self.of_operand: dict[Any, int] = {}
        self.ops: list[KernelOp] = []
        self.count = 0
        self.of_op: dict[KernelOp, int] = {}
        self.casts: set[int] = set()
        self.values: dict[int, int] = {}  # of registers that Maps have made or written
        self.targets: set[int] = set()
        self.base: dict[int, int] = {}  # of registers of fixed views, whose memory they show
        self.rows: dict[int, int] = {}  # registers of rows, and of what
        self.forms: dict[int, tuple[Any, ...]] = {}  # of each row, which axes have which integer left out
        self.indices: dict[int, tuple[Any, ...]] = {}  # and which they are
        self.scalars: set[int] = set()  # registers of NumPy scalars that Maps make

    def add(self, step: object) -> bool:
        """Take a step in, if that is possible."""
        if isinstance(step, View):
            return self.view(step)
        return isinstance(step, Map) and self.join(step)

    def view(self, step: View) -> bool:
        """A view that is the same in each iteration, one element, or a row: another part of one array each time."""
        if step.src not in self.lasting:
            return False
        self.readable.add(step.dst)
        if not step.scalar and not self.varies(step.params):
            self.lasting.add(step.dst)
            self.base[step.dst] = self.base.get(step.src, step.src)
        elif not step.scalar:
            # Integers alone: two rows of one array are the same elements in the same order, or have none in common.
            if step.kind != "basic_index" or any(self.varies(part) for part in step.params if isinstance(part, tuple)):
                return False
            self.rows[step.dst] = step.src
            self.forms[step.dst] = tuple(part if isinstance(part, tuple) or part is None else 0 for part in step.params)
            self.indices[step.dst] = step.params
        return True

    def varies(self, params: Any) -> bool:
        if isinstance(params, tuple):
            return any(map(self.varies, params))
        return bool(symbols_of(params) & self.varying)

    def join(self, step: Map) -> bool:
        """Append the kernel of a Map. What it computes of NumPy scalars alone, every element then does."""
        if step.scalar and all(step.scalar):
            self.scalars.update(step.outs)
        elif any(step.scalar) or not self.has_shape(step):
            return False
        if len(self.ops) + len(step.kernel.ops) > MOST_OPS:
            return False
        values: list[int] = []
        for operand, dtype in zip(step.operands, step.kernel.operand_dtypes, strict=True):
            if isinstance(operand, Reg) and not self.reads(operand.index):
                return False
            values.append(self.operand(operand, dtype))
        for op in step.kernel.ops:
            operands = tuple(values[value] for value in op.operands)
            values += self.op(replace(op, operands=operands))
        for register, value, into in zip(step.outs, step.kernel.results, step.into, strict=True):
            if into and not self.writes(register):
                return False
            if not into and (values[value] >= 0 or values[value] in self.casts):
                return False  # a copy of its own, whose memory order is none of an operation's
            self.values[register] = values[value]
            if into:
                self.targets.add(register)
        return True

    def reads(self, register: int) -> bool:
        """Whether a Map may read it: a row not once a row of that array has been written that may be this one."""
        if register in self.values:
            return True
        source = self.rows.get(register)
        written = [target for target in self.targets if source is not None and self.rows.get(target) == source]
        return register in self.readable and all(
            other_rows(self.indices[register], self.indices[target], self.facts) for target in written
        )

    def writes(self, register: int) -> bool:
        """Whether a Map may write it: one row of an array."""
        if register in self.rows:
            others = (self.rows.get(target) for target in self.targets if target != register)
            return self.rows[register] not in others
        return register in self.lasting or 1 <= register <= self.n_carried

    def has_shape(self, step: Map) -> bool:
        """Whether a Map is over the same shape as those before."""
        if self.shape is None:
            self.shape = step.shape
        return len(step.shape) == len(self.shape) and all(
            self.facts.decide(make("eq", *pair)) for pair in zip(step.shape, self.shape, strict=True)
        )

    def op(self, op: KernelOp) -> range:
        """The values of an operation, which may be there."""
        first = self.of_op.get(op)
        if first is None:
            first = self.of_op[op] = -1 - self.count
            self.count += len(op.dtypes)
            self.ops.append(op)
            if op.op == "cast":
                self.casts.add(first)
        return range(first, first - len(op.dtypes), -1)

    def operand(self, operand: Operand, dtype: DType) -> int:
        """The value of an operand: what a Map before has made of it, or a new operand of the kernel."""
        if isinstance(operand, Reg) and operand.index in self.values:
            return self.values[operand.index]
        key = operand if isinstance(operand, Reg) else (identity_of(operand), dtype)
        if key not in self.of_operand:
            self.of_operand[key] = len(self.operands)
            self.operands.append(operand)
            self.dtypes.append(dtype)
        return self.of_operand[key]

    def changes(self, outputs: list[int]) -> list[tuple[int, int]]:
        """The carried arrays that are others after an iteration, and which, each behind the one that it becomes if this
        is a carried one."""
        left = {place: output for place, output in enumerate(outputs, 1) if output != place}
        ordered: list[tuple[int, int]] = []
        while left:
            free = [place for place, output in left.items() if output not in left]
            ordered += [(place, left.pop(place)) for place in free or list(left)]
        return ordered

    def dtype_of(self, value: int) -> DType:
        """The dtype of an operand or of what an operation makes."""
        if value >= 0:
            return self.dtypes[value]
        return [dtype for op in self.ops for dtype in op.dtypes][-1 - value]

    def is_read_elsewhere(self, target: int) -> bool:
        """Whether the array that is written, or shown by what is, is read by another view, as a stencil reads it."""
        base = self.base.get(target, target)
        registers = {operand.index for operand in self.operands if isinstance(operand, Reg)}
        return any(self.base.get(register, register) == base for register in registers - {target})

    def map(self) -> Map | None:
        """The one Map."""
        outputs = [output.index for output in self.body.outputs[: self.n_carried] if isinstance(output, Reg)]
        if not self.shape or len(set(outputs)) != len(outputs):
            return None  # single elements have little to gain
        if any(self.is_read_elsewhere(target) for target in self.targets - self.rows.keys()):
            return None
        results = {register: self.values[register] for register in sorted(self.targets)}
        for place, output in self.changes(outputs):
            if output in self.targets or place in self.targets or output in self.scalars:
                return None
            if output in self.values:
                results[place] = self.values[output]
            elif output in results:  # a carried array as it was, of the dtype that it has behind the iteration
                results[place] = self.operand(Reg(output), self.dtype_of(results[output]))
            else:
                return None
        results = dict(sorted(results.items()))
        if self.scalars and any(op.op == "loop" for op in self.ops):
            return None  # a loop of NumPy's may do otherwise with one number for all elements
        if not results or len(self.operands) + len(results) > MOST_OPERANDS:
            return None
        if len(results) > len(self.targets) and any(self.values[target] in self.casts for target in self.targets):
            return None  # what reads it would be laid out as one that reads the array before the cast
        if any(
            self.rows[row] == self.rows.get(target) and self.forms[row] != self.forms[target]
            for target in self.targets
            for row in self.rows
        ):
            return None
        n = len(self.operands)

        def number(value: int) -> int:
            return value if value >= 0 else n - 1 - value

        ops = tuple(replace(op, operands=tuple(map(number, op.operands))) for op in self.ops)
        following = tuple(
            number(results.get(operand.index, place))
            if isinstance(operand, Reg) and operand.index not in self.rows
            else place
            for place, operand in enumerate(self.operands)
        )
        places = [operand.index if isinstance(operand, Reg) else -1 for operand in self.operands] + list(results)
        rows = tuple(place for place, register in enumerate(places) if register in self.rows)
        kernel = Kernel(tuple(self.dtypes), ops, tuple(map(number, results.values())), following, rows)
        into = tuple(register in self.targets for register in results)
        return Map(kernel, tuple(self.operands), self.shape, tuple(results), into, (False,) * len(results))
