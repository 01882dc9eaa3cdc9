"""Prints a Function or a Routine: one node a line, bodies indented.

Enters either; leaves text that depends on nothing but it, for reading, dumps and golden files.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_lite.program.ir import (
    Alloc,
    Decline,
    Element,
    Fold,
    For,
    Function,
    Helper,
    If,
    Keep,
    Launch,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Range,
    Room,
    Routine,
    Store,
    Swap,
    Tiles,
    Value,
    View,
    Within,
)
from dynamo_lite.schedule.text import kernel_text


def to_text(function: Function | Routine) -> str:
    """The function as text."""
    if isinstance(function, Routine):
        return _routine(function)
    extents = [function.n, *filter(None, (function.rows, function.iterations)), *function.axes]
    head = f"function({_names(extents)})"
    arrays = ", ".join(_declared(memref) for memref in function.operands)
    results = ", ".join(_declared(memref) for memref in function.results)
    lines = [f"{head} of {arrays} to {results}"]
    if function.scratch_bytes:
        lines[0] += f" scratch {function.scratch_bytes}"
    return "\n".join([*lines, *_nodes(function.body)])


def _routine(routine: Routine) -> str:
    inputs = ", ".join(_typed([one]) if isinstance(one, Value) else _declared(one) for one in routine.inputs)
    lines = [f"routine({_names((routine.start, routine.by, routine.last))}) of {inputs}", *_nodes(routine.body)]
    results = (f"{value.name}{f' as {origin.name}' if origin is not None else ''}" for value, origin in routine.results)
    return "\n".join([*lines, f"  return {', '.join(results)}"])


def _nodes(nodes: tuple[Node, ...]) -> list[str]:
    return ["  " + line for node in nodes for line in node_text(node)]


def _names(values: Iterable[Value | Memref]) -> str:
    return ", ".join(value.name for value in values)


def _typed(values: Iterable[Value]) -> str:
    return ", ".join(f"{value.name}: {value.dtype.name}" for value in values)


def _declared(memref: Memref) -> str:
    if memref.strides:
        axes = [f"{size.name} by {stride.name}" for size, stride in zip(memref.extents, memref.strides, strict=True)]
    else:
        axes = [f"{extent.name} {axis}" for extent, axis in zip(memref.extents, memref.axes, strict=True)]
    return f"{memref.name}: {memref.dtype.name}[{', '.join(axes)}]"


def node_text(node: Node) -> list[str]:
    """The lines of a node."""
    match node:
        case Load(result, memref, index):
            number = f" {memref.number!r}" if memref.space == "constant" else ""
            return [f"{_typed([result])} = load {memref.name}[{_names(index)}]{number}"]
        case Store(memref, index, value):
            return [f"store {memref.name}[{_names(index)}] = {value.name}"]
        case Element(op, operands, results, ufunc):
            name = op if ufunc is None else f"numpy.{ufunc.__name__}"
            return [f"{_typed(results)} = {name}({_names(operands)})"]
        case Keep(value):
            return [f"keep {value.name}"]
        case Note(condition, status):
            return [f"note {condition.name}: {status}"]
        case View(result, source, index) if result.strides or source.strides or not index:
            return [f"{_declared(result)} = view {source.name}[{_names(index)}]"]
        case View(result, source, index, drop):
            starts = [f"{value.name}{'' if drop else ':'}" for value in index]
            return [f"{result.name} = view {source.name}[{', '.join(starts)}]"]
        case Alloc(memref, offset):
            return [f"{_declared(memref)} = alloc{f' at {offset}' if offset >= 0 else ''}"]
        case NumpyLoop(ufunc, reads, writes, count):
            return [f"numpy.{ufunc.__name__}({_names(reads)}) -> {_names(writes)} for {count.name}"]
        case For():
            by = f" by {node.lanes}" if node.lanes > 1 else ""
            by += f" x {node.parts}" if node.parts > 1 else ""
            tail = f", {node.tail}" if node.tail else ""
            head = f"for {node.index.name} in {node.extent.name}{by}{tail}"
            for one in node.carried:
                head += f" with {one.value.name} = {one.first.name}, then {one.next.name}"
            for inside, after in node.last:
                head += f" last {after.name} = {inside.name}"
            return [f"{head}:", *_nodes(node.body)]
        case Decline(condition, status):
            return [f"decline {status} if {condition.name}"]
        case Within(index, extent, _, Value() as result):
            where = f"{_typed([result])} = {index.name} from either end"
            return [f"require 0 <= {result.name} < {extent.name} where {where}"]
        case Within(index, extent, tested):
            return [f"{'assume' if tested else 'require'} 0 <= {index.name} < {extent.name}"]
        case Room(memref, number):
            return [f"{_declared(memref)} = room {memref.index} for {number.name}"]
        case Swap(one, other):
            return [f"swap rooms {one}, {other}"]
        case Fold(result, ufunc, memref):
            return [f"{_typed([result])} = {ufunc.__name__}.reduce({memref.name})"]
        case Launch(kernel, classes, reads, writes):
            lines = ["  " + line for line in kernel_text(kernel)]
            return [f"launch {classes}({_names(reads)}) -> {_names(writes)}", *lines]
        case Helper(name, operands, results, failure):
            made = f"{_typed(results)} = " if results else ""
            return [f"{made}call {name}({_names(operands)}){f' or decline {failure}' if failure else ''}"]
        case If():
            lines = [f"if {node.condition.name}{', seldom' if node.rare else ''}:", *_nodes(node.then)]
            lines += ["else:", *_nodes(node.orelse)] if node.orelse else []
            return lines + [f"{one.result.name} = {one.then.name} or {one.orelse.name}" for one in node.results]
        case Range():
            head = f"range {node.index.name} from {node.start.name} to {node.end.name} by {node.by.name}"
            for phi in node.carried:
                head += f" with {phi.value.name} = {phi.first.name}, then {phi.next.name}"
                head += f" (in {phi.again.name})" if phi.again is not None else ""
            for given, later in node.last:
                head += f" last {later.name} = {given.name}"
            head += f" while {node.goes_on.name}" if node.goes_on is not None else ""
            return [f"{head}{', outermost' if node.outermost else ''}:", *_nodes(node.body)]
        case Tiles():
            which = f"{node.at.name}, {node.columns.name} of {node.extent.name}"
            if node.row is not None and node.rows is not None and node.extent_rows is not None:
                which = f"{node.row.name}, {node.rows.name} of {node.extent_rows.name}; {which}"
                which += f"; {node.count.name} elements" + ("; one row" if node.single else "")
            return [f"tiles {which} by {node.length}:", *_nodes(node.body)]
