"""What a Function means, node by node, on NumPy scalars: slow, and the oracle of what is written for it as code.

Enters a Function and its arrays: each has an axis for each of its memref's; of a table of rows the array has a row for
each iteration. Leaves the results in place, and what the function returns and reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.program.element_ops import meaning_of
from dynamo_lite.program.ir import (
    ROWS,
    Alloc,
    Element,
    For,
    Function,
    Keep,
    Load,
    Memref,
    Node,
    Note,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    View,
)

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Outcome:
    """status: the bits that were noted. flags: the floating-point errors that NumPy reports, by its words."""

    status: int = 0
    flags: set[str] = field(default_factory=set)


def evaluate(function: Function, operands: Sequence[Array], results: Sequence[Array], **extents: int) -> Outcome:
    """Run the function; extents: n, rows, iterations ... by name."""
    outcome = Outcome()
    evaluation = _Evaluation(function, outcome)
    named = (function.n, function.rows, function.iterations, *function.axes)
    evaluation.values = {value: extents[value.name] for value in named if value is not None}
    evaluation.memory = dict(zip((*function.operands, *function.results), (*operands, *results), strict=True))
    with np.errstate(all="call", call=lambda kind, _: outcome.flags.add(kind)):
        if extents["n"] > 0:
            evaluation.nodes(function.body)
    return outcome


def computed(op: Element, operands: list[Any]) -> tuple[Any, ...]:
    """The results of an operation."""
    if op.ufunc is not None:
        found = op.ufunc(*operands, sig=(*op.in_dtypes, *op.dtypes))
    else:
        found = meaning_of(op.op, op.results[0].dtype)(*operands)
    found = found if isinstance(found, tuple) else (found,)
    return tuple(value.dtype.type(one) for value, one in zip(op.results, found, strict=True))


class _Evaluation:
    def __init__(self, function: Function, outcome: Outcome) -> None:
        self.function = function
        self.outcome = outcome
        self.values: dict[Value, Any] = {}
        self.memory: dict[Memref, Array] = {}
        self.scratch = np.zeros(function.scratch_bytes, np.uint8)

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        values = self.values
        match node:
            case Load(result, memref, index):
                values[result] = (
                    memref.number if memref.space == "constant" else self.memory[memref][self.at(memref, index)]
                )
                values[result] = memref.dtype.type(values[result])
            case Store(memref, index, value):
                self.memory[memref][self.at(memref, index)] = values[value]
            case Element(_, operands, results):
                found = computed(node, [values[value] for value in operands])
                values |= zip(results, found, strict=True)
            case Keep():
                pass
            case Note(condition, status):
                self.outcome.status |= status if values[condition] else 0
            case View(result, source, index, drop):
                self.memory[result] = self.view(source, index, drop)
            case Alloc(memref, offset):
                self.alloc(memref, offset)
            case NumpyLoop(ufunc, reads, writes, count):
                arrays = [self.elements(memref, values[count]) for memref in reads]
                outs = tuple(self.elements(memref, values[count]) for memref in writes)
                ufunc(*arrays, out=outs, sig=node.dtypes)
            case For():
                self.loop(node)
            case Tiles():
                self.tiles(node)

    def at(self, memref: Memref, index: tuple[Value, ...]) -> tuple[int, ...]:
        numbers = tuple(self.values[value] for value in index)
        for number, extent in zip(numbers, memref.extents, strict=True):
            assert 0 <= number < self.values[extent], (memref.name, number)
        if memref.axes[:1] == (ROWS,):
            return (numbers[0] * self.values[memref.extents[1]] + numbers[1],)
        return numbers

    def view(self, source: Memref, index: tuple[Value, ...], drop: bool) -> Array:
        array, numbers = self.memory[source], tuple(self.values[value] for value in index)
        if source.axes[0] == ROWS:
            length = self.values[source.extents[1]]
            return array[numbers[0] * length : (numbers[0] + 1) * length]
        return array[(*numbers, ...)] if drop else array[tuple(slice(number, None) for number in numbers)]

    def alloc(self, memref: Memref, offset: int) -> None:
        tiles = next(node for node in self.function.body if isinstance(node, Tiles))
        if not tiles.length:
            rows = 1 if tiles.extent_rows is None else self.values[tiles.extent_rows]
            self.memory[memref] = np.zeros(rows * self.values[tiles.extent], memref.dtype)
        else:
            end = offset + tiles.length * memref.dtype.itemsize
            self.memory[memref] = self.scratch[offset:end].view(memref.dtype)

    def elements(self, memref: Memref, count: int) -> Array:
        """What a loop of NumPy's handles of a memref."""
        if memref.space == "constant":
            return np.asarray(memref.number, memref.dtype)
        return self.memory[memref][:count] if memref.axes else self.memory[memref]

    def loop(self, node: For) -> None:
        values = self.values
        carried = [values[one.first] for one in node.carried]
        for index in range(values[node.extent]):
            values[node.index] = index
            values |= zip((one.value for one in node.carried), carried, strict=True)
            self.nodes(node.body)
            carried = [values[one.next] for one in node.carried]
        for inside, after in node.last:
            values[after] = values[inside]

    def tiles(self, node: Tiles) -> None:
        values, n = self.values, self.values[node.extent]
        rows = 1 if node.extent_rows is None else values[node.extent_rows]
        length = node.length or rows * n
        row = at = 0
        while row < rows:
            columns = min(n - at, length)
            fit = max(1, length // n) if columns == n and not node.single else 1
            few = min(fit, rows - row)
            values |= {node.at: at, node.columns: columns, node.count: few * columns}
            if node.row is not None and node.rows is not None:
                values |= {node.row: row, node.rows: few}
            self.nodes(node.body)
            at += columns
            if at == n:
                row, at = row + few, 0
