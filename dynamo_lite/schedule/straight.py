"""Makes one routine of a program that handles single elements, NumPy scalars and numbers alone.

Enters a Schedule of a whole program; leaves it as it was, or as the arrays that it makes and a Loop of one iteration
that has a machine form: one call of machine code in place of a view and a kernel for each element
(csrc/program/straight.c runs such a program without registers).

    r1 = y[0]; r2 = y[1]; r3 = empty((2,)); r4 = r3[0]; map into r4: r1 * s0 ...
    ->  r3 = empty((2,)); loop range(0, 1) of (y, r3, s0)

Of small arrays, which have kernels of their own, `straight_arrays` makes such a routine besides: the arrays that it
hands out are carried by the loop. The steps stay what the program runs where an array is not small
(csrc/program/small.c).

INVARIANT: what the steps write of arrays from outside is saved in front of the loop, for that may decline at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import abi
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.scalar import Scalar, Symbol, is_scalar, is_symbolic, kind_of, renamed, symbols_of, terms_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    DType,
    Kernel,
    Loop,
    Map,
    Operand,
    Read,
    Reduce,
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
    return _straight(schedule, types, target, False) or schedule


def may_be_straight(schedule: Schedule) -> bool:
    """Whether it may be worth while to look for a routine of small arrays."""
    has_loops = any(isinstance(step, Loop) for step in schedule.steps)
    return not has_loops and any(isinstance(step, Map | Reduce | Call) for step in schedule.steps)


def straight_arrays(schedule: Schedule, types: Sequence[ArrayType | None], target: Target) -> Schedule | None:
    """The schedule with its steps in one routine that makes arrays, or None. `straight` has left it as it was."""
    return _straight(schedule, types, target, True)


def _straight(
    schedule: Schedule, types: Sequence[ArrayType | None], target: Target, of_arrays: bool
) -> Schedule | None:
    allocs = [_in_c_order(step) for step in schedule.steps if isinstance(step, Alloc)]
    saves = [step for step in schedule.steps if isinstance(step, Save)]
    steps: list[Step] = [step for step in schedule.steps if not isinstance(step, Alloc | Save)]
    if of_arrays:
        steps = _with_copies(schedule, steps)
    if not steps or not all(map(_is_plain, allocs)):
        return None
    segment = _Segment(schedule, types, allocs, of_arrays)
    if not all(map(segment.takes, steps)) or not all(map(segment.hands_out, schedule.outputs)):
        return None
    saved = {save.src for save in saves}
    saves += [Save(one) for one in segment.targets if one not in saved and segment.base[one] not in saved]
    shown = _shown(steps, saves)
    if not all(_is_early(view.params) for view in shown):
        return None
    loop, constants = segment.loop(steps)
    machine = target.machine(loop)
    if machine is None or (not of_arrays and (machine.vectors or machine.rooms)):
        return None
    before: tuple[Step, ...] = (*allocs, *segment.begins(), *shown, *saves)
    return replace(
        schedule,
        n_registers=segment.n_registers,
        constants=(*schedule.constants, *constants),
        steps=(*before, replace(loop, machine=machine)),
        blocks=(),
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


def _in_c_order(step: Alloc) -> Alloc:
    """A vector lies in C order, whatever it is made like."""
    return replace(step, order="C", like=()) if len(step.shape) == 1 else step


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

    def __init__(
        self, schedule: Schedule, types: Sequence[ArrayType | None], allocs: list[Alloc], of_arrays: bool
    ) -> None:
        self.schedule = schedule
        self.of_arrays = of_arrays  # whether steps may handle, and make, arrays
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
        self.locals: dict[int, ArrayType] = {}  # arrays that steps make
        self.handed: list[int] = []  # registers whose NumPy scalars, and such arrays, are handed out
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
            fits = self.of_arrays or step.kind in ("basic_index", "transpose")
            if not fits or not self.uses(Reg(step.src)) or not self.asks(step.params) or step.src not in self.base:
                return False
            self.dtypes[step.dst] = self.dtypes[step.src]
            if step.scalar:
                self.scalars.add(step.dst)
            else:
                self.base[step.dst] = self.base[step.src]
            return True
        if isinstance(step, Map):
            fits = step.shape == () or (self.of_arrays and self.asks(step.shape))
            return fits and all(map(self.uses, step.operands)) and self.takes_results(step)
        if isinstance(step, Reduce):
            kept = [dim for axis, dim in enumerate(step.shape) if axis not in step.axes]
            if step.keepdims:
                kept = [1 if axis in step.axes else dim for axis, dim in enumerate(step.shape)]
            fits = self.of_arrays and self.asks(step.shape) and all(map(self.uses, step.operands))
            self.makes(step.dst, ArrayType(step.dtype, tuple(kept), step.scalar))
            return fits
        if isinstance(step, Call):
            fits = self.of_arrays and all(map(self.uses_all, (*step.args, *(value for _, value in step.kwargs))))
            fits = fits and all(self.asks(type_.shape) for type_ in step.types)
            for dst, type_ in zip(step.dsts, step.types, strict=True):
                self.makes(dst, type_)
            self.own.update((symbol.name, symbol) for symbol in step.yields)
            return fits and not step.yields and not step.number
        if isinstance(step, Read):
            fits = step.of == abi.READ_SCALAR and self.uses(Reg(step.src))
            self.own.update((symbol.name, symbol) for symbol in step.yields)
            return fits
        if isinstance(step, Cond):
            return self.uses(step.condition) and all(map(self.uses, step.operands)) and self.takes_choice(step)
        return isinstance(step, Require) and self.asks(step.condition)

    def writes(self, register: int) -> None:
        """Note that what a register shows is written."""
        base = self.base[register]
        self.uses(Reg(base))
        self.written.add(base)
        if base not in self.made:
            self.targets[register] = None

    def makes(self, register: int, type_: ArrayType) -> None:
        """Note what a step makes."""
        self.dtypes[register] = type_.dtype
        if type_.scalar:
            self.scalars.add(register)
        else:
            self.locals[register] = type_
            self.base[register] = register

    def uses_all(self, value: Any) -> bool:
        """The same of what a call is given."""
        if isinstance(value, tuple | list):
            return all(map(self.uses_all, value))
        return self.uses(value) if isinstance(value, Reg) or is_symbolic(value) else True

    def takes_results(self, step: Map) -> bool:
        for out, into, scalar, dtype in zip(step.outs, step.into, step.scalar, _results(step.kernel), strict=True):
            if into:
                base = self.base.get(out)
                if base in self.types:
                    self.writes(out)
                elif base not in self.locals:
                    return False
            elif scalar or self.of_arrays:
                self.makes(out, ArrayType(dtype, step.shape, scalar))
            else:
                return False
        return True

    def takes_choice(self, step: Cond) -> bool:
        """Note what a choice writes and yields; whether that is NumPy scalars, numbers and arrays that it makes."""
        for place in {*step.then.written, *step.orelse.written}:
            target = step.operands[place]
            base = self.base.get(target.index) if isinstance(target, Reg) else None
            if base in self.types and isinstance(target, Reg):
                self.writes(target.index)
            elif base not in self.locals:
                return False
        if len(step.types) != len(step.dsts):
            return False
        for place, (dst, type_) in enumerate(zip(step.dsts, step.types, strict=True)):
            known = self.of_arrays and self.asks(type_.shape)
            if not type_.scalar and not (known and all(_makes(way, place) for way in (step.then, step.orelse))):
                return False
            self.makes(dst, type_)
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
        is_early = output.index in self.locals and _is_early(self.locals[output.index].shape)
        if output.index in self.scalars or is_early:
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
        constants = tuple(one for one, reg in zip(initial, self.handed, strict=True) if reg in self.scalars)
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
        types: list[ArrayType | None] = [
            self.locals.get(register) or ArrayType(self.dtypes[register], (), True) for register in self.handed
        ]
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
        ), constants

    def begins(self) -> list[Alloc]:
        """The arrays in whose place those stand that are handed out."""
        first = self.schedule.n_registers + len(self.handed)
        places = {register: first + i for i, register in enumerate(self.handed) if register in self.locals}
        return [Alloc(place, self.dtypes[reg], self.locals[reg].shape) for reg, place in places.items()]


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

    def given(self, value: Any) -> Any:
        """What a call is given."""
        if isinstance(value, tuple | list):
            return type(value)(map(self.given, value))
        return self.operand(value) if isinstance(value, Reg) or is_symbolic(value) else value

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
            shape = self.scalar(step.shape)
            return replace(step, operands=operands, shape=shape, outs=tuple(map(self.register, step.outs)))
        if isinstance(step, Reduce):
            operands = tuple(map(self.operand, step.operands))
            return replace(step, operands=operands, shape=self.scalar(step.shape), dst=self.register(step.dst))
        if isinstance(step, Call):
            types = tuple(replace(type_, shape=self.scalar(type_.shape)) for type_ in step.types)
            kwargs = tuple((name, self.given(value)) for name, value in step.kwargs)
            args = tuple(map(self.given, step.args))
            return replace(step, dsts=tuple(map(self.register, step.dsts)), types=types, args=args, kwargs=kwargs)
        if isinstance(step, Read):
            return replace(step, src=self.register(step.src))
        if isinstance(step, Cond):
            condition, operands = self.operand(step.condition), tuple(map(self.operand, step.operands))
            types = tuple(replace(type_, shape=self.scalar(type_.shape)) for type_ in step.types)
            dsts = tuple(map(self.register, step.dsts))
            return replace(step, condition=condition, operands=operands, types=types, dsts=dsts)
        assert isinstance(step, Require)
        return replace(step, condition=self.scalar(step.condition))


def _makes(way: Schedule, place: int) -> bool:
    """Whether an output of a branch is an array that is made there, and no other output shows it."""
    sources: dict[int, int] = {}
    made: set[int] = set()
    for step in way.steps:
        match step:
            case View():
                sources[step.dst] = step.src
            case Alloc() | Reduce():
                made.add(step.dst)
            case Map():
                made.update(out for out, into in zip(step.outs, step.into, strict=True) if not into)
            case Call() if isinstance(step.function, np.ufunc):
                made.update(step.dsts)
            case Cond():
                ways = step.then, step.orelse
                made.update(dst for i, dst in enumerate(step.dsts) if all(_makes(one, i) for one in ways))
    roots = []
    for output in way.outputs:
        register = output.index if isinstance(output, Reg) else -1
        while register in sources:
            register = sources[register]
        roots.append(register)
    return roots[place] in made and roots.count(roots[place]) == 1


def _with_copies(schedule: Schedule, steps: list[Step]) -> list[Step]:
    """The steps, of which choices that do nothing but hand out arrays that are there already hand out copies of them,
    where neither these nor what they show are written, and nobody outside gets them."""
    sources = {step.dst: step.src for step in steps if isinstance(step, View)}
    written = [*schedule.written]
    for step in steps:
        match step:
            case Map():
                written += [out for out, into in zip(step.outs, step.into, strict=True) if into]
            case Cond():
                targets = (step.operands[place] for place in {*step.then.written, *step.orelse.written})
                written += [one.index for one in targets if isinstance(one, Reg)]
    handed = [output.index for output in schedule.outputs if isinstance(output, Reg)]
    kept = {_root(register, sources) for register in (*written, *handed)}
    changed = {_root(register, sources) for register in written}

    def is_read_only(step: Cond) -> bool:
        shown = {_root(one.index, sources) for one in step.operands if isinstance(one, Reg)}
        return kept.isdisjoint(step.dsts) and changed.isdisjoint(shown)

    return [_copying(step) if isinstance(step, Cond) and is_read_only(step) else step for step in steps]


def _root(register: int, sources: Mapping[int, int]) -> int:
    """The register of which one is a view, however many lie in between."""
    while register in sources:
        register = sources[register]
    return register


def _copying(step: Cond) -> Cond:
    """The same choice, of copies; as it is where its branches have steps."""
    ways = step.then, step.orelse
    if any(way.steps or way.n_registers > way.n_inputs for way in ways):
        return step
    sizes = tuple(dict.fromkeys(dim for type_ in step.types for dim in type_.shape if is_symbolic(dim)))
    first = len(step.operands)
    names: dict[Scalar, Symbol] = {dim: Symbol(f".size{i}", "int", first + i) for i, dim in enumerate(sizes)}
    then, orelse = (_handing_copies(way, step.types, names) for way in ways)
    return replace(step, then=then, orelse=orelse, operands=(*step.operands, *sizes))


def _handing_copies(way: Schedule, types: Sequence[ArrayType], sizes: dict[Scalar, Symbol]) -> Schedule:
    """A branch without steps that hands out copies of its arrays, whose sizes go in behind all else."""
    first = way.n_inputs + len(sizes)
    copies: list[Step] = []
    outputs = list(way.outputs)
    for place, type_ in enumerate(types):
        output = outputs[place]
        if isinstance(output, Reg) and not type_.scalar:
            shape = tuple(sizes.get(dim, dim) for dim in type_.shape)
            outputs[place] = Reg(first + len(copies))
            kernel = Kernel((type_.dtype,), (), (0,))
            copies.append(Map(kernel, (output,), shape, (first + len(copies),), (False,), (False,)))
    symbols, n_registers = (*way.symbols, *sizes.values()), first + len(copies)
    return replace(
        way, n_inputs=first, n_registers=n_registers, symbols=symbols, steps=tuple(copies), outputs=tuple(outputs)
    )


def _results(kernel: Kernel) -> list[DType]:
    """The dtypes of a kernel's results."""
    values = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
    return [values[number] for number in kernel.results]
