"""Prints a Schedule: one step a line, kernels and the bodies of loops indented below the step that runs them.

Enters a Schedule; leaves text that depends on nothing but it, for logs, dumps and golden files.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.schedule.steps import (
    Alloc,
    Call,
    Cond,
    Errors,
    Kernel,
    Leave,
    Loop,
    Map,
    Masked,
    New,
    Put,
    Read,
    Reduce,
    Reg,
    Require,
    Save,
    Schedule,
    Step,
    Take,
    View,
)


def to_text(schedule: Schedule) -> str:
    """The schedule as text."""
    head = f"schedule({schedule.n_inputs} inputs, {schedule.n_registers} registers)"
    if schedule.written:
        head += f" writes {', '.join(f'r{index}' for index in schedule.written)}"
    lines = [head]
    lines += [f"  r{register} = {value!r}" for register, value in schedule.constants]
    for step in schedule.steps:
        lines += ["  " + line for line in _step(step)]
    lines += [f"  by rows{_shape(block.leading)}: {block.count} steps from {block.first}" for block in schedule.blocks]
    lines.append(f"  return {', '.join(map(_value, schedule.outputs))}")
    return "\n".join(lines)


def kernel_text(kernel: Kernel) -> list[str]:
    """The lines of a kernel; values are numbered v0, v1 ..., operands first."""
    lines = [", ".join(f"v{i}: {dtype.name}" for i, dtype in enumerate(kernel.operand_dtypes))]
    number = len(kernel.operand_dtypes)
    for op in kernel.ops:
        names = ", ".join(f"v{number + i}: {dtype.name}" for i, dtype in enumerate(op.dtypes))
        number += len(op.dtypes)
        name = f"numpy.{op.param.__name__}" if op.op == "loop" else op.op
        param = f"[{op.param}]" if op.op in ("const", "copy") else ""
        lines.append(f"{names} = {name}{param}({', '.join(f'v{value}' for value in op.operands)})")
    lines.append(f"-> {', '.join(f'v{value}' for value in kernel.results)}")
    if kernel.next:
        changes = (f"v{place} = v{value}" for place, value in enumerate(kernel.next) if value != place)
        lines.append(f"next {', '.join(changes)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, Reg):
        return f"r{value.index}"
    if isinstance(value, Symbol | ScalarOp):
        return str(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return getattr(value, "__name__", None) or repr(value)


def _shape(shape: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _targets(step: Map) -> str:
    return ", ".join(f"r{out}{'[...]' if into else ''}" for out, into in zip(step.outs, step.into, strict=True))


_READS = ("", "int ", "float ", "bool ", "length of ", "tag of ")
_TAKES = ("item", "take off", "copy", "item of tuple", "join", "scalar", "array", "key", "numbers")


def _yields(step: Loop | Cond | Call) -> str:
    return f" yields {', '.join(map(str, step.yields))}" if step.yields else ""


def _step(step: Step) -> list[str]:
    if isinstance(step, Map):
        head = f"{_targets(step)} = map{_shape(step.shape)}({', '.join(map(_value, step.operands))})"
        return [head, *("  " + line for line in kernel_text(step.kernel))]
    if isinstance(step, Reduce):
        head = (
            f"r{step.dst} = {step.ufunc.__name__}.reduce{_shape(step.shape)}"
            f"({', '.join(map(_value, step.operands))}) axes={step.axes} keepdims={step.keepdims}"
        )
        return [head, *("  " + line for line in kernel_text(step.kernel))] if step.kernel.ops else [head]
    if isinstance(step, Call):
        args = [_value(arg) for arg in step.args] + [f"{key}={_value(value)}" for key, value in step.kwargs]
        dsts = ", ".join(f"r{dst}" for dst in step.dsts)
        name = getattr(step.function, "__name__", None) or str(step.function)
        return [f"{dsts + ' = ' if dsts else ''}call {name}({', '.join(args)}){_yields(step)}"]
    if isinstance(step, View):
        return [f"r{step.dst} = {step.kind}(r{step.src}, {_value(step.params)}){' scalar' if step.scalar else ''}"]
    if isinstance(step, Alloc):
        fill = "" if step.fill is None else f" fill={_value(step.fill)}"
        like = "".join(f" like={_value(one)}" for one in step.like)
        return [f"r{step.dst} = alloc {step.dtype.name}{_shape(step.shape)} {step.order}{like}{fill}"]
    if isinstance(step, Save):
        return [f"save r{step.src}"]
    if isinstance(step, Loop):
        dsts = ", ".join(f"r{dst}" for dst in step.dsts)
        bounds = ", ".join(map(_value, (step.start, step.stop, step.step)))
        carried, captured = (", ".join(map(_value, values)) for values in (step.carried, step.captured))
        head = f"{dsts + ' = ' if dsts else ''}loop range({bounds}) carried({carried}) captured({captured})"
        head += " machine code" if step.machine is not None else ""
        head += (" while" if step.goes_on else "") + _yields(step)
        head += "" if step.pause is None else f" pauses at {step.pause[0]} where {step.pause[1]}"
        lines = ["  " + line for line in to_text(step.body).splitlines()]
        if step.body.iterated is not None:
            targets, operands = _targets(step.body.iterated), ", ".join(map(_value, step.body.iterated.operands))
            lines += [f"    many iterations: {targets} = map{_shape(step.body.iterated.shape)}({operands})"]
            lines += ["      " + line for line in kernel_text(step.body.iterated.kernel)]
        return [head, *lines]
    if isinstance(step, Cond):
        dsts = ", ".join(f"r{dst}" for dst in step.dsts)
        head = f"{dsts + ' = ' if dsts else ''}cond {_value(step.condition)}({', '.join(map(_value, step.operands))})"
        then, orelse = (["    " + line for line in to_text(body).splitlines()] for body in (step.then, step.orelse))
        return [head + _yields(step), *then, "  else", *orelse]
    if isinstance(step, Read):
        return [f"{step.yields[0]} = read {_READS[step.of]}r{step.src}"]
    if isinstance(step, Take):
        return [f"r{step.dst} = {_TAKES[step.kind]} r{step.list}[{', '.join(map(_value, step.places))}]"]
    if isinstance(step, Leave):
        return [f"leave exit={step.exit} ({', '.join(map(_value, step.outputs))})"]
    if isinstance(step, Masked):
        if step.kind == "count":
            noted = f", places r{step.places}" if step.places >= 0 else ""
            return [f"{step.count} = count r{step.mask}{noted}"]
        put = step.kind == "put"
        target = f"r{step.src}[r{step.mask}] = r{step.value}" if put else f"r{step.dst} = r{step.src}[r{step.mask}]"
        return [f"{target} of {step.count}" + (f" at r{step.places}" if step.places >= 0 else "")]
    if isinstance(step, Errors):
        noted = f" noted={step.noted}" if step.noted else f" {step.warner}" if step.warner else ""
        silent = f" silent={step.silent} changes={step.changes}" if step.changes else ""
        return [f"errors ignored={step.ignored} reported={step.reported}{silent}{noted}"]
    if isinstance(step, New) and step.value is not None:
        return [f"r{step.dst} = [{_value(step.value)}] * {_value(step.count)}"]
    if isinstance(step, New) and step.is_table:
        return [f"r{step.dst} = objects {', '.join(map(_value, step.firsts))}"]
    if isinstance(step, New):
        return [f"r{step.dst} = {{}}" if step.is_dict else f"r{step.dst} = []"]
    if isinstance(step, Put):
        packed = "" if step.packed is None else f" {getattr(step.packed, '__name__', step.packed)}"
        where = "append" if step.key is None else f"put [{_value(step.key)}] of"
        tags = f" of r{step.table}: {', '.join(map(_value, step.tags))}" if step.tags else ""
        return [f"{where} r{step.list}{packed} {', '.join(map(_value, step.values))}{tags}"]
    assert isinstance(step, Require)
    return [f"require {step.condition}"]
