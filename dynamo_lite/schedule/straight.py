"""Makes one routine of a program that handles single elements, NumPy scalars and numbers alone.

Enters a Schedule of a whole program; leaves it as it was, or as the arrays that it makes and a Loop of one iteration
that has a machine form: one call of machine code in place of a view and a kernel for each element (csrc/straight.c runs
such a program without registers).

    r1 = y[0]; r2 = y[1]; r3 = empty((2,)); r4 = r3[0]; map into r4: r1 * s0 ...
    ->  r3 = empty((2,)); loop range(0, 1) of (y, r3, s0)

INVARIANT: what the steps write of arrays from outside is saved in front of the loop, for that may decline at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import Scalar, Symbol, is_scalar, is_symbolic, kind_of, renamed, symbols_of, terms_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.steps import (
    Alloc,
    Cond,
    DType,
    Kernel,
    Loop,
    Map,
    Operand,
    Read,
    Reg,
    Require,
    Save,
    Schedule,
    Step,
    View,
)
from dynamo_lite.schedule.target import Target

_YIELDED = ".yielded"
_NOTHING: dict[str, Scalar] = {"int": 0, "float": 0.0, "bool": False}  # what numbers are before they are yielded


def straight(schedule: Schedule, types: Sequence[ArrayType | None], target: Target) -> Schedule:
    """The schedule with its steps in one routine, if they can be. types: of the inputs, None for numbers."""
    allocs = [step for step in schedule.steps if isinstance(step, Alloc)]
    saves = [step for step in schedule.steps if isinstance(step, Save)]
    steps: list[Step] = [step for step in schedule.steps if not isinstance(step, Alloc | Save)]
    if not steps or not all(map(_is_plain, allocs)):
        return schedule
    segment = _Segment(schedule, types, allocs)
    if not all(map(segment.takes, steps)) or not all(map(segment.hands_out, schedule.outputs)):
        return schedule
    saved = {save.src for save in saves}
    saves += [Save(one) for one in segment.targets if one not in saved and segment.base[one] not in saved]
    shown = _shown(steps, saves)
    if not all(_is_early(view.params) for view in shown):
        return schedule
    loop, constants = segment.loop(steps)
    machine = target.machine(loop)
    if machine is None or machine.vectors or machine.rooms:
        return schedule
    before: tuple[Step, ...] = (*allocs, *shown, *saves)
    return replace(
        schedule,
        n_registers=segment.n_registers,
        constants=(*schedule.constants, *constants),
        steps=(*before, replace(loop, machine=machine)),
        outputs=tuple(map(segment.output, schedule.outputs)),
        kept=-1,
    )


def routine_of(schedule: Schedule) -> Loop | None:
    """The loop that stands for all steps but the arrays that are made, of a schedule that `straight` has changed."""
    *before, last = schedule.steps or (None,)
    if not isinstance(last, Loop) or last.machine is None or any(isinstance(step, Loop | Map) for step in before):
        return None
    once = (last.start, last.stop, last.step) == (0, 1, 1) and not last.goes_on
    return last if once and last.pause is None else None


def _is_plain(step: Alloc) -> bool:
    """Whether an array is made by itself, before all that the steps compute."""
    known = step.fill is None or type(step.fill) is int
    return step.order == "C" and not step.like and known and _is_early(step.shape)


def _shown(steps: Sequence[Step], saves: Sequence[Save]) -> list[View]:
    """The views that are saved, and those that they are views of."""
    views = {step.dst: step for step in steps if isinstance(step, View)}
    wanted = [save.src for save in saves]
    for register in wanted:
        if register in views:
            wanted.append(views[register].src)
    return [view for register, view in views.items() if register in wanted]


def _is_early(values: Sequence[Any]) -> bool:
    """Whether scalars depend on nothing that a step yields."""
    return all(
        _is_early(value) if isinstance(value, tuple) else _symbols(value, lambda symbol: symbol.input >= 0)
        for value in values
    )


def _symbols(value: Any, accepts: Any) -> bool:
    parts = (value, *(operand for term in terms_of(value) for operand in term.operands))
    return all(accepts(part) for part in dict.fromkeys(parts) if isinstance(part, Symbol))


class _Segment:
    """What the steps handle: registers and numbers from outside, and what they hand out."""

    def __init__(self, schedule: Schedule, types: Sequence[ArrayType | None], allocs: list[Alloc]) -> None:
        self.schedule = schedule
        self.types: dict[int, ArrayType] = {i: type_ for i, type_ in enumerate(types) if type_ is not None}
        self.types.update((step.dst, ArrayType(step.dtype, step.shape)) for step in allocs)
        self.made = {step.dst for step in allocs}
        self.constants = dict(schedule.constants)
        self.dtypes: dict[int, DType] = {register: type_.dtype for register, type_ in self.types.items()}
        self.base = {register: register for register in self.types}  # whose memory a register shows
        self.scalars: set[int] = set()  # registers that get a NumPy scalar
        self.captured: list[int] = []  # registers from outside
        self.written: set[int] = set()
        self.targets: dict[int, None] = {}  # registers that show what is written of arrays that go in, in order
        self.symbols: dict[str, Symbol] = {}  # from outside, in order
        self.own: dict[str, Symbol] = {}  # which the steps yield
        self.handed: list[int] = []  # registers whose NumPy scalars are handed out
        self.numbers: list[Scalar] = []  # that are, of those which the steps yield
        self.n_registers = schedule.n_registers

    # What steps use

    def uses(self, operand: Operand) -> bool:
        """Note that an operand is used; whether a routine may."""
        if isinstance(operand, Reg):
            known = operand.index in self.scalars or operand.index in self.base
            if operand.index in self.types and operand.index not in self.captured:
                self.captured.append(operand.index)
            return known or isinstance(self.constants.get(operand.index), np.generic)
        return self.asks(operand)

    def asks(self, value: Any) -> bool:
        """The same of scalars, also nested ones."""
        if isinstance(value, tuple):
            return all(map(self.asks, value))
        if value is None or not is_symbolic(value):
            return value is None or is_scalar(value) or isinstance(value, np.generic)
        return _symbols(value, self.note)

    def note(self, symbol: Symbol) -> bool:
        if symbol.input >= 0:
            return self.symbols.setdefault(symbol.name, symbol) == symbol
        return self.own.get(symbol.name) == symbol

    def takes(self, step: Step) -> bool:
        """Note what a step uses and yields; whether it may be part of a routine."""
        if isinstance(step, View):
            fits = step.kind in ("basic_index", "transpose") and self.uses(Reg(step.src)) and self.asks(step.params)
            if not fits or step.src not in self.base:
                return False
            self.dtypes[step.dst] = self.dtypes[step.src]
            if step.scalar:
                self.scalars.add(step.dst)
            else:
                self.base[step.dst] = self.base[step.src]
            return True
        if isinstance(step, Map):
            return step.shape == () and all(map(self.uses, step.operands)) and self.takes_results(step)
        if isinstance(step, Read):
            fits = step.of == abi.READ_SCALAR and self.uses(Reg(step.src))
            self.own.update((symbol.name, symbol) for symbol in step.yields)
            return fits
        if isinstance(step, Cond):
            return self.uses(step.condition) and all(map(self.uses, step.operands)) and self.takes_choice(step)
        return isinstance(step, Require) and self.asks(step.condition)

    def writes(self, register: int) -> None:
        """Note that a step writes into what a register shows."""
        base = self.base[register]
        self.uses(Reg(base))
        self.written.add(base)
        if base not in self.made:
            self.targets[register] = None

    def takes_results(self, step: Map) -> bool:
        for out, into, scalar, dtype in zip(step.outs, step.into, step.scalar, _results(step.kernel), strict=True):
            if into:
                if self.base.get(out) not in self.types:
                    return False
                self.writes(out)
            elif scalar:
                self.scalars.add(out)
                self.dtypes[out] = dtype
            else:
                return False
        return True

    def takes_choice(self, step: Cond) -> bool:
        """Note what a choice writes and yields; whether that is NumPy scalars and numbers alone."""
        for place in {*step.then.written, *step.orelse.written}:
            target = step.operands[place]
            base = self.base.get(target.index) if isinstance(target, Reg) else None
            if base not in self.types:
                return False
            assert isinstance(target, Reg)
            self.writes(target.index)
        if len(step.types) != len(step.dsts) or not all(type_.scalar for type_ in step.types):
            return False
        self.scalars.update(step.dsts)
        self.dtypes.update((dst, type_.dtype) for dst, type_ in zip(step.dsts, step.types, strict=True))
        self.own.update((symbol.name, symbol) for symbol in step.yields)
        return True

    # What comes out

    def hands_out(self, output: Operand) -> bool:
        """Note what is handed out; whether it can be."""
        if not isinstance(output, Reg):
            if _is_early((output,)):
                return True
            if output not in self.numbers:
                self.numbers.append(output)
            return self.asks(output) and kind_of(output) in _NOTHING
        if output.index in self.scalars:
            if output.index not in self.handed:
                self.handed.append(output.index)
            return True
        return output.index in self.made or output.index < self.schedule.n_inputs or output.index in self.constants

    def output(self, output: Operand) -> Operand:
        """What stands for it behind the loop."""
        if isinstance(output, Reg) and output.index in self.handed:
            return Reg(self.schedule.n_registers + self.handed.index(output.index))
        if not isinstance(output, Reg) and output in self.numbers:
            return self.yields()[self.numbers.index(output)]
        return output

    def yields(self) -> tuple[Symbol, ...]:
        """The numbers that are handed out, as those that the loop yields."""
        return tuple(
            Symbol(f"{_YIELDED}{place}", kind_of(number), -1 - place) for place, number in enumerate(self.numbers)
        )

    # The loop

    def loop(self, steps: list[Step]) -> tuple[Loop, tuple[tuple[int, Any], ...]]:
        """The loop, and the constants with which what it hands out begins."""
        n_handed, first = len(self.handed), self.schedule.n_registers
        self.n_registers = first + 2 * n_handed + len(self.numbers)
        initial = tuple((first + n_handed + i, self.dtypes[reg].type(0)) for i, reg in enumerate(self.handed))
        body = _Body(self)
        body_steps = tuple(map(body.step, steps))
        outputs: tuple[Operand, ...] = tuple(Reg(body.register(register)) for register in self.handed)
        outputs += tuple(map(body.scalar, self.numbers))
        inner = Schedule(
            body.n_inputs,
            body.count,
            (*body.symbols.values(), *self.own.values()),
            tuple((body.registers[reg], known) for reg, known in self.constants.items() if reg in body.registers),
            body_steps,
            outputs,
            tuple(sorted(body.registers[register] for register in self.written)),
        )
        types: list[ArrayType | None] = [ArrayType(self.dtypes[register], (), True) for register in self.handed]
        types += [self.types[register] for register in self.captured]
        types += [None] * (len(self.symbols) + len(self.numbers))
        dsts = (*range(first, first + n_handed), *range(first + 2 * n_handed, self.n_registers))
        return Loop(
            dsts,
            inner,
            0,
            1,
            1,
            tuple(Reg(register) for register, _ in initial),
            (*map(Reg, self.captured), *self.symbols.values(), *(_NOTHING[kind_of(one)] for one in self.numbers)),
            tuple(types),
            yields=self.yields(),
        ), initial


class _Body:
    """The steps' registers and numbers, as those of a loop's body: the index, what is carried, what is captured."""

    def __init__(self, segment: _Segment) -> None:
        first = 1 + len(segment.handed)
        self.registers = {register: first + i for i, register in enumerate(segment.captured)}
        first += len(segment.captured)
        self.symbols = {
            name: Symbol(name, symbol.kind, first + i) for i, (name, symbol) in enumerate(segment.symbols.items())
        }
        self.n_inputs = self.count = first + len(segment.symbols) + len(segment.numbers)
        self.names = {**self.symbols, **segment.own}

    def register(self, register: int) -> int:
        if register not in self.registers:
            self.registers[register] = self.count
            self.count += 1
        return self.registers[register]

    def operand(self, operand: Operand) -> Operand:
        return Reg(self.register(operand.index)) if isinstance(operand, Reg) else self.scalar(operand)

    def scalar(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.scalar, value))
        return renamed(value, self.names) if symbols_of(value) else value

    def step(self, step: Step) -> Step:
        if isinstance(step, View):
            params = self.scalar(step.params)
            return replace(step, src=self.register(step.src), dst=self.register(step.dst), params=params)
        if isinstance(step, Map):
            operands = tuple(map(self.operand, step.operands))
            return replace(step, operands=operands, outs=tuple(map(self.register, step.outs)))
        if isinstance(step, Read):
            return replace(step, src=self.register(step.src))
        if isinstance(step, Cond):
            condition, operands = self.operand(step.condition), tuple(map(self.operand, step.operands))
            return replace(step, condition=condition, operands=operands, dsts=tuple(map(self.register, step.dsts)))
        assert isinstance(step, Require)
        return replace(step, condition=self.scalar(step.condition))


def _results(kernel: Kernel) -> list[DType]:
    """The dtypes of a kernel's results."""
    values = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
    return [values[number] for number in kernel.results]
