"""Runs a Schedule step by step with plain NumPy: what the launcher has to do, written down as simply as possible.

Enters a Schedule and the inputs; leaves the outputs. It serves tests of the scheduler and reads as the meaning of
each step; it neither fuses nor declines, and goes on behind a loop where that pauses. A kernel's ops run as
element_ops.py says on whole arrays, so fresh results have NumPy's memory order by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite._C import Objects, abi
from dynamo_lite.graph.interpret import value_of
from dynamo_lite.graph.rewrite import map_scalars
from dynamo_lite.graph.scalar import Number, evaluate
from dynamo_lite.graph.types import NUMBER_DTYPES
from dynamo_lite.ops.borders import bordered
from dynamo_lite.ops.error_state import set_in_force
from dynamo_lite.ops.lists import at_tags, pack, put_item, read_object, take
from dynamo_lite.program.element_ops import meaning_of
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Errors,
    Kernel,
    Loop,
    Map,
    Masked,
    New,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Schedule,
    Take,
    View,
)


def interpret(schedule: Schedule, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of `schedule` on `inputs`; stores change the inputs."""
    env: dict[str, Number] = {
        symbol.name: value_of(symbol, inputs) for symbol in schedule.symbols if symbol.input >= 0
    }
    registers: dict[int, Any] = dict(enumerate(inputs)) | dict(schedule.constants)

    def concrete(value: Any) -> Any:
        if isinstance(value, Reg):
            return registers[value.index]
        if isinstance(value, tuple | list):
            return type(value)(map(concrete, value))
        return map_scalars(value, lambda scalar: evaluate(scalar, env))

    for step in schedule.steps:
        if isinstance(step, Map):
            results = run_kernel(step.kernel, concrete(step.operands))
            shape = concrete(step.shape)
            for out, into, scalar, result in zip(step.outs, step.into, step.scalar, results, strict=True):
                if into:
                    registers[out][...] = result
                else:
                    registers[out] = _fresh(result, shape)[()] if scalar else _fresh(result, shape)
        elif isinstance(step, Reduce):
            (operand,) = run_kernel(step.kernel, concrete(step.operands))
            operand = np.broadcast_to(operand, concrete(step.shape))
            registers[step.dst] = step.ufunc.reduce(operand, axis=step.axes, keepdims=step.keepdims, dtype=step.dtype)
        elif isinstance(step, Call):
            result = step.function(*concrete(step.args), **{key: concrete(value) for key, value in step.kwargs})
            if len(step.dsts) == 1 and type(result) is not tuple:
                result = (result,)
            if step.yields:
                env[step.yields[0].name] = result[step.place[0]].shape[step.place[1]]
            for dst, value in zip(step.dsts, result or (), strict=True):
                registers[dst] = step.types[0].dtype.type(value) if step.number else value
        elif isinstance(step, View):
            registers[step.dst] = _view(registers[step.src], step, concrete(step.params))
        elif isinstance(step, Alloc):
            like = [registers[one.index] for one in step.like]
            if step.order == "common":
                array = bordered(*like, shape=concrete(step.shape), dtype=step.dtype)
            elif like:
                array = np.empty_like(like[0], step.dtype)
            else:
                array = np.empty(concrete(step.shape), step.dtype, step.order)  # type: ignore[call-overload]
            if step.fill is not None:
                array[...] = concrete(step.fill)
            registers[step.dst] = array
        elif isinstance(step, Masked) and step.kind == "count":
            env[str(step.count)] = int(np.count_nonzero(registers[step.mask]))
        elif isinstance(step, Masked) and step.kind == "get":
            registers[step.dst] = registers[step.src][registers[step.mask]]
        elif isinstance(step, Masked):
            registers[step.src][registers[step.mask]] = registers[step.value]
        elif isinstance(step, Errors):
            set_in_force(step.ignored, step.reported)
        elif isinstance(step, New):
            registers[step.dst] = Objects(*concrete(step.firsts)) if step.is_table else {} if step.is_dict else []
            if step.value is not None:
                registers[step.dst] = [concrete(step.value)] * concrete(step.count)
        elif isinstance(step, Put):
            key, *values = concrete((step.key, *step.values))
            if step.tags:
                objects, tags = registers[step.table], concrete(step.tags)
                key, *values = at_tags(objects, (key, *values), (0, *tags) if step.key is None else tags)
            put_item(registers[step.list], key, pack(tuple(values), step.packed))
        elif isinstance(step, Require):
            assert concrete(step.condition), step.condition
        elif isinstance(step, Loop):
            carried, captured = concrete(list(step.carried)), concrete(list(step.captured))
            split = len(captured) - (len(step.dsts) - len(carried))
            for index in range(*concrete((step.start, step.stop, step.step))):
                if step.pause is not None and evaluate(step.pause[1], env | {step.pause[0].name: index}):
                    break
                outputs = interpret(step.body, [index, *carried, *captured])
                goes_on = not step.goes_on or outputs.pop()
                carried, captured = outputs[: len(carried)], captured[:split] + outputs[len(carried) :]
                if not goes_on:
                    break
            registers.update(zip(step.dsts, _results(step, [*carried, *captured[split:]], env), strict=True))
        elif isinstance(step, Read):
            src = registers[step.src]
            table = registers.get(step.table)
            env[step.yields[0].name] = (
                src.item() if step.of == abi.READ_SCALAR else read_object(src, step.of, table).item()
            )
        elif isinstance(step, Take):
            registers[step.dst] = take(registers[step.list], step.kind, concrete(step.places))
        elif isinstance(step, Cond):
            branch = step.then if concrete(step.condition) else step.orelse
            outputs = interpret(branch, concrete(list(step.operands)))
            registers.update(zip(step.dsts, _results(step, outputs, env), strict=True))
    return [concrete(output) for output in schedule.outputs]


def _results(step: Loop | Cond, outputs: list[Any], env: dict[str, Number]) -> list[Any]:
    """What a loop or a choice puts into its registers; its symbols get their numbers in `env`."""
    numbers = [output for output in outputs if type(output) in NUMBER_DTYPES]
    env.update((symbol.name, number) for symbol, number in zip(step.yields, numbers, strict=False))
    return [NUMBER_DTYPES[type(out)].type(out) if type(out) in NUMBER_DTYPES else out for out in outputs]


def run_kernel(kernel: Kernel, operands: Sequence[Any]) -> list[Any]:
    """The kernel's results on whole arrays; Python numbers become the operand's dtype."""
    values = [
        np.asarray(operand, dtype) if isinstance(operand, int | float | complex) else operand
        for operand, dtype in zip(operands, kernel.operand_dtypes, strict=True)
    ]
    for op in kernel.ops:
        args = [values[value] for value in op.operands]
        if op.op == "const":
            result: Any = np.asarray(op.param, op.dtypes[0])
        elif op.op == "copy":
            result = np.array(args[0], op.dtypes[0], order=op.param)
        elif op.op == "loop":
            result = op.param(*args, sig=(*op.in_dtypes, *op.dtypes))
        else:
            result = meaning_of(op.op, op.dtypes[0])(*args)
        values += list(result) if len(op.dtypes) > 1 else [result]
    return [values[value] for value in kernel.results]


def _fresh(result: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(result) == shape:
        return np.array(result)
    array = np.empty(shape, result.dtype)
    array[...] = result
    return array


def _view(source: Any, step: View, params: Any) -> Any:
    if step.kind == "basic_index":
        key = tuple(slice(*entry) if isinstance(entry, tuple) else entry for entry in params)
        return source[key] if step.scalar else source[(*key, ...)]
    if step.kind == "reshape":
        return source.reshape(params, copy=False)
    if step.kind == "broadcast_to":
        return np.broadcast_to(source, params)
    if step.kind == "transpose":
        return source.transpose(params)
    if step.kind == "diagonal":
        part = source.diagonal(params[2], *params[:2])
        part.flags.writeable = bool(params[3]) and source.flags.writeable
        return part
    return getattr(source, step.kind)
