"""Locals, globals and closure variables."""

from __future__ import annotations

import builtins
import sys
import types

from dynamo_lite.capture.handlers.attributes import get_attribute
from dynamo_lite.capture.loops.unbound import bound, may_be_unbound
from dynamo_lite.capture.machine import Machine, as_constant, handles
from dynamo_lite.capture.objects import places
from dynamo_lite.capture.source import global_
from dynamo_lite.capture.state import Frame
from dynamo_lite.capture.value import (
    UNBOUND,
    Break,
    CellValue,
    ConstantValue,
    LazyValue,
    NullValue,
    SequenceValue,
    Value,
)
from dynamo_lite.capture.wrap import check_names, outer_cell, present, read_cell
from dynamo_lite.pycode import Instr


@handles("LOAD_FAST", "LOAD_FAST_CHECK")
def load_fast(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(_bound(machine, frame, instr.arg))


def _bound(machine: Machine, frame: Frame, name: str) -> Value:
    """What a local holds."""
    value = frame.locals.get(name)
    if value is None or value is UNBOUND:
        raise Break("python-exception", f"UnboundLocalError: {name}")
    if may_be_unbound(value):
        value = frame.locals[name] = bound(machine, value)
    return value


@handles("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(machine: Machine, frame: Frame, instr: Instr) -> None:
    """What an inlined comprehension uses for a variable of its own: a local's slot or, of the same name, a cell's."""
    held: Value | None = frame.locals.pop(instr.arg, None)
    if may_be_unbound(held):
        raise Break("loop-state", f"the local {instr.arg}, which one branch of an if does not assign")
    if held is None and instr.arg in frame.code.cellvars:
        held = frame.cells.pop(instr.arg, None)
    frame.push(NullValue() if held is None else held)


@handles("STORE_FAST")
def store_fast(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = frame.stack.pop()
    if instr.arg in frame.code.cellvars:  # and an inlined comprehension had a variable of its own there, or has
        frame.cells.pop(instr.arg, None)
    frame.locals.pop(instr.arg, None)
    if isinstance(value, CellValue):
        frame.cells[instr.arg] = value
    elif not isinstance(value, NullValue):
        frame.locals[instr.arg] = value


@handles("DELETE_FAST")
def delete_fast(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = _bound(machine, frame, instr.arg)
    if machine.owns_slots and frame is machine.tracer.frames[0] and not instr.arg.startswith("."):
        # What a resume function's slot holds dies here, with its memory, its __del__ and its weak references. (Every
        # other frame's arguments are held by the caller too: by a CompiledFunction's, or by one under the hook.)
        held = value.source is not None and value.source.kind == "slot"
        if held and sum(other is value for other in (*frame.locals.values(), *frame.stack)) == 1:
            raise Break("object-deletion", f"`del {instr.arg}`")
    del frame.locals[instr.arg]


@handles("LOAD_GLOBAL")
def load_global(machine: Machine, frame: Frame, instr: Instr) -> None:
    name = instr.arg
    module = machine.tracer.namespaces.get(id(frame.namespace))
    if module is not None and name in module.stored:
        frame.push(module.stored[name])
        return
    check_names(frame.namespace, name)
    if name in frame.namespace:
        frame.push(present(machine.tracer, global_(frame.namespace, name), frame.namespace[name]))
        return
    check_names(frame.builtins, name)
    if name not in frame.builtins:
        raise Break("python-exception", f"NameError: {name}")
    machine.tracer.facts.state_lacks(frame.namespace, name)
    frame.push(present(machine.tracer, global_(frame.builtins, name), frame.builtins[name]))


@handles("STORE_GLOBAL", "DELETE_GLOBAL")
def store_global(machine: Machine, frame: Frame, instr: Instr) -> None:
    if instr.op == "DELETE_GLOBAL":
        raise Break("side-effect-global", instr.arg)
    module = places.namespace(machine.tracer, frame.namespace)
    places.store(machine.tracer, module, instr.arg, frame.stack[-1], "side-effect-global", instr.arg)
    frame.stack.pop()


@handles("MAKE_CELL")
def make_cell(machine: Machine, frame: Frame, instr: Instr) -> None:
    contents = frame.locals.pop(instr.arg) if instr.arg in frame.locals else None
    cell = frame.cells[instr.arg] = CellValue(None, contents)
    machine.tracer.cells.append(cell)


@handles("STORE_CELL")
def store_cell(machine: Machine, frame: Frame, instr: Instr) -> None:
    """In the prologue of a resume function: the cell that an inner function has already."""
    cell = frame.stack.pop()
    assert isinstance(cell, LazyValue) and cell.source is not None and type(cell.concrete) is types.CellType
    machine.tracer.facts.state("type", cell.source, types.CellType)
    taken = frame.cells[instr.arg] = outer_cell(machine.tracer, cell.concrete, cell.source)
    machine.tracer.cells.append(taken)


@handles("LOAD_CLOSURE")
def load_closure(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(frame.cells[instr.arg])


@handles("LOAD_DEREF")
def load_deref(machine: Machine, frame: Frame, instr: Instr) -> None:
    value = read_cell(frame.cells[instr.arg])
    if value is None:
        raise Break("python-exception", f"NameError: {instr.arg}")
    if value.source is not None:
        machine.tracer.facts.register(value.source)  # as `present` does: that the cell is not empty is guarded
    frame.push(value)


@handles("STORE_DEREF")
def store_deref(machine: Machine, frame: Frame, instr: Instr) -> None:
    cell = frame.cells[instr.arg]
    if cell.concrete is not None:
        places.store(machine.tracer, cell, None, frame.stack[-1], "side-effect-cell", instr.arg)
    else:
        cell.contents = frame.stack[-1]
    frame.stack.pop()


@handles("DELETE_DEREF")
def delete_deref(machine: Machine, frame: Frame, instr: Instr) -> None:
    cell = frame.cells[instr.arg]
    if cell.concrete is not None or cell.contents is None:
        raise Break("side-effect-cell", instr.arg)
    cell.contents = None


def _imported(machine: Machine, frame: Frame, name: str) -> Value:
    """The module `name`, which is there already: then `import` looks it up in sys.modules, and nothing else happens."""
    hook = frame.builtins.get("__import__")
    found = sys.modules.get(name)
    # NB: a module may stand there while its own code still runs; `import` then waits for the thread that runs it.
    initializing = getattr(getattr(found, "__spec__", None), "_initializing", False)
    if hook is not _IMPORT or type(found) is not types.ModuleType or initializing:
        raise Break("import-statement", name)
    machine.realised(present(machine.tracer, global_(frame.builtins, "__import__"), hook))
    return machine.realised(present(machine.tracer, global_(sys.modules, name), found))


_IMPORT = builtins.__import__


@handles("IMPORT_NAME")
def import_name(machine: Machine, frame: Frame, instr: Instr) -> None:
    name = instr.arg
    wanted, level = machine.peek(frame), as_constant(machine, frame.stack[-2])
    names = [as_constant(machine, item) for item in wanted.items] if isinstance(wanted, SequenceValue) else []
    if level != 0 or not isinstance(wanted, SequenceValue | ConstantValue):
        raise Break("import-statement", name)
    module = _imported(machine, frame, name)
    for one in names:
        if one not in vars(sys.modules[name]):
            raise Break("import-statement", f"{name}.{one}")
    del frame.stack[-2:]
    frame.push(module if names else _imported(machine, frame, name.partition(".")[0]))


@handles("IMPORT_FROM")
def import_from(machine: Machine, frame: Frame, instr: Instr) -> None:
    frame.push(get_attribute(machine, frame.stack[-1], instr.arg))


@handles("IMPORT_STAR")
def import_star(machine: Machine, frame: Frame, instr: Instr) -> None:
    raise Break("import-statement", str(instr.arg))
