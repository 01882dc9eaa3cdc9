"""Cuts a loop over elements at NumPy's own loops: tile by tile, what is compiled and what NumPy does take turns.

    for i in n: v0 = load o0[i]; v1 = numpy.exp(v0); v2 = add(v1, v0); store r0[i] = v2
    ->  tiles of n: numpy.exp(o0) -> t0; for i in m: v1 = load t0[i]; v0 = load o0[i]; v2 = ...; store r0[i] = v2

Compiled operations stand in as few loops as there are barriers; a value that crosses one lies in a buffer of the tile,
or in a result's own memory. INVARIANT: a result's memory is written only when no later step reads an operand, so a
result may share the positions of an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.program.ir import (
    INDEX,
    PACKED,
    ROWS,
    TABLE,
    Alloc,
    Element,
    For,
    Function,
    Load,
    Memref,
    Node,
    NumpyLoop,
    Store,
    Tiles,
    Value,
    View,
    walk,
)


def split(function: Function) -> Function:
    """The function with NumPy's loops on tiles."""
    if not any(isinstance(node, Element) and node.ufunc is not None for node in walk(function.body)):
        return function
    (nest,) = function.body
    assert isinstance(nest, For)
    (inner,) = nest.body if isinstance(nest.body[0], For) else (nest,)
    assert isinstance(inner, For)
    return _Splitter(function, nest, inner).run()


def _packed(loads: dict[Value, Load], ops: list[Element]) -> list[Element]:
    """The operations with a copy of each operand that a NumPy loop reads: rows have to be packed for it. Not of single
    numbers, of which such a loop knows by their stride that they stay."""
    read = dict.fromkeys(value for op in ops if op.ufunc is not None for value in op.operands)
    moving = [value for value in loads if value in read and len(loads[value].memref.axes) > 1]
    copies = {value: Value(f"{value.name}.packed", value.dtype) for value in moving}
    if not copies:
        return ops
    changed = [
        replace(op, operands=tuple([copies.get(value, value) for value in op.operands])) if op.ufunc is not None else op
        for op in ops
    ]
    return [Element("copy", (value,), (copy,)) for value, copy in copies.items()] + changed


def levels(ops: Sequence[Element], stored: set[Value]) -> list[int]:
    """The number of barriers before each operation: compiled ones of level k precede NumPy's loops of level k."""
    producer = {value: index for index, op in enumerate(ops) for value in op.results}
    users: dict[Value, list[int]] = {}
    level: list[int] = []
    for index, op in enumerate(ops):
        at = 0
        for value in op.operands:
            users.setdefault(value, []).append(index)
            source = producer.get(value)
            if source is not None:
                at = max(at, level[source] + (ops[source].ufunc is not None and op.ufunc is None))
        level.append(at)
    # Sink what needs no extra memory for its operands: computed where it is used, it need not be stored.
    for index in reversed(range(len(ops))):
        op = ops[index]
        after = [user for value in op.results for user in users.get(value, ())]
        if op.ufunc is not None or not after or any(value in stored for value in op.results):
            continue
        if all(value not in producer or ops[producer[value]].ufunc is not None for value in op.operands):
            level[index] = max(level[index], min(level[user] for user in after))
    return level


def groups(ops: Sequence[Element], stored: set[Value]) -> list[list[Element]]:
    """Operations by step: compiled ones that share a loop, or one of NumPy's. The last one is compiled, maybe empty."""
    level = levels(ops, stored)
    found: list[list[Element]] = []
    for at in range(max(level, default=0) + 1):
        members = [op for op, of in zip(ops, level, strict=True) if of == at]
        compiled = [op for op in members if op.ufunc is None]
        if compiled:
            found.append(compiled)
        found += [[op] for op in members if op.ufunc is not None]
    if not found or found[-1][0].ufunc is not None:
        found.append([])
    return found


@dataclass(slots=True)
class _Step:
    """Operations that share a loop, and what it stores."""

    ops: list[Element]
    stores: list[tuple[Value, Memref]] = field(default_factory=list)

    @property
    def compiled(self) -> bool:
        return not self.ops or self.ops[0].ufunc is None


class _Splitter:
    """places: where each value lies that crosses a barrier, or comes from memory."""

    def __init__(self, function: Function, nest: For, inner: For) -> None:
        self.function = function
        self.nest = nest
        self.inner = inner
        self.with_rows = function.rows is not None
        self.loads = {node.result: node for node in inner.body if isinstance(node, Load)}
        self.stores = [node for node in inner.body if isinstance(node, Store)]
        ops = [node for node in inner.body if isinstance(node, Element)]
        self.ops = _packed(self.loads, ops) if self.with_rows else ops
        self.steps = [_Step(group) for group in groups(self.ops, {store.value for store in self.stores})]
        self.at = Value("at", INDEX)
        self.columns = Value("columns" if self.with_rows else "m", INDEX)
        self.count = Value("m", INDEX) if self.with_rows else self.columns
        self.row = Value("row.at", INDEX) if self.with_rows else None
        self.rows = Value("few", INDEX) if self.with_rows else None
        self.extents = (self.columns,) if self.rows is None else (self.rows, self.columns)
        self.views: list[View] = []
        self.inner_views: list[View] = []  # of each iteration
        self.of_tile: dict[Memref, Memref] = {}
        self.buffers: list[Memref] = []
        self.places: dict[Value, Memref] = {}
        self.seen: set[Value] = set()

    def run(self) -> Function:
        for memref in (*self.function.operands, *self.function.results):
            self.view(memref)
        self.find_places()
        single = any(self.is_of_rows(value) for op in self.ops if op.ufunc is not None for value in op.operands)
        numbers = self.numbers_of_rows() if single else {}
        body: list[Node] = []
        for number, step in enumerate(self.steps):
            if step.compiled:
                body += self.loop(number, step) if step.ops or step.stores else ()
                continue
            (op,) = step.ops
            assert op.ufunc is not None
            reads = tuple(numbers[value] if value in numbers else self.places[value] for value in op.operands)
            writes = tuple(self.places[value] for value in op.results)
            body.append(NumpyLoop(op.ufunc, reads, writes, self.count))
        nodes: tuple[Node, ...] = (*self.views, *body)
        if self.function.iterations is not None:
            nodes = (*self.views, replace(self.nest, body=(*self.inner_views, *body)))
        tiles = Tiles(
            self.function.n,
            self.at,
            self.columns,
            self.count,
            nodes,
            0,
            self.function.rows,
            self.row,
            self.rows,
            single,
        )
        return replace(self.function, body=(*(Alloc(memref) for memref in self.buffers), tiles))

    def view(self, memref: Memref) -> None:
        """The tile's part of an operand or result."""
        self.of_tile[memref] = memref
        if not memref.axes:
            return
        starts: tuple[Value, ...] = (self.at,)
        if self.row is not None:
            starts = (self.row, self.at)[: len(memref.axes)]
        elif self.function.iterations is not None:
            accesses = (node for node in self.inner.body if isinstance(node, Load | Store) and node.memref is memref)
            access = next(accesses, None)
            if access is not None and access.index[0] is self.nest.index:
                row = Memref(f"{memref.name}.k", memref.dtype, memref.axes[1:], memref.extents[1:], "view")
                self.inner_views.append(View(row, memref, (self.nest.index,), drop=True))
                self.of_tile[memref] = row
                if memref.axes[0] == TABLE:
                    part = Memref(f"{memref.name}.t", memref.dtype, row.axes, (self.columns,), "view")
                    self.inner_views.append(View(part, row, starts))
                    self.of_tile[memref] = part
                return
        part = Memref(f"{memref.name}.t", memref.dtype, memref.axes, self.extents[: len(memref.axes)], "view")
        self.views.append(View(part, memref, starts))
        self.of_tile[memref] = part

    def is_of_rows(self, value: Value) -> bool:
        """Whether it is a number that each row has its own of."""
        return self.with_rows and value in self.loads and len(self.loads[value].memref.axes) == 1

    def numbers_of_rows(self) -> dict[Value, Memref]:
        """For NumPy's loops, the number of the tile's only row."""
        found = {}
        read = dict.fromkeys(value for op in self.ops if op.ufunc is not None for value in op.operands)
        for value in filter(self.is_of_rows, read):
            memref = self.loads[value].memref
            found[value] = Memref(f"{memref.name}.n", memref.dtype, (), (), "view")
            assert self.row is not None
            self.views.append(View(found[value], memref, (self.row,), drop=True))
        return found

    def find_places(self) -> None:
        """Say what lies where, and what each step stores."""
        steps, last = self.steps, len(self.steps) - 1
        born = {value: number for number, step in enumerate(steps) for op in step.ops for value in op.results}
        by_loop = {value for op in self.ops if op.ufunc is not None for value in op.results}
        # NumPy's loops go through the rows of a tile as if they were one: what they read and write lies packed.
        packed = by_loop | {value for op in self.ops if op.ufunc is not None for value in op.operands}
        # NB: what such a loop computes with, and what it yields, lies on the tile, or is an operand as it came.
        forward = {value for op in self.ops if op.forward for value in (*op.operands, *op.results)}
        crossing = set(by_loop)
        reads = [0]
        for number, step in enumerate(steps):
            for value in (value for op in step.ops for value in op.operands):
                if value not in born:
                    if self.loads[value].memref.space == "operand":
                        reads.append(number)
                elif born[value] != number:
                    crossing.add(value)
        if any(
            store.value in self.loads and self.loads[store.value].memref.space == "operand" for store in self.stores
        ):
            reads.append(last)
        direct_from = max(reads)
        self.places = {value: self.of_tile.get(load.memref, load.memref) for value, load in self.loads.items()}
        for store in self.stores:
            value, memref = store.value, self.of_tile[store.memref]
            at = born.get(value, last)
            is_packed = self.with_rows and value in packed
            if at < direct_from or value in self.places or value in forward or is_packed:
                steps[last].stores.append((value, memref))
                if value in born and at != last:
                    crossing.add(value)
            else:
                self.places[value] = memref
                if value not in by_loop:
                    steps[at].stores.append((value, memref))
        for step in steps:
            for value in (value for op in step.ops for value in op.results):
                if value in crossing and value not in self.places:
                    axes = (ROWS, PACKED) if self.with_rows else (PACKED,)
                    number = len(self.buffers)
                    memref = Memref(f"t{number}", value.dtype, axes, self.extents, "tile", number)
                    self.buffers.append(memref)
                    self.places[value] = memref
                    if step.compiled:
                        step.stores.append((value, memref))

    def loop(self, number: int, step: _Step) -> list[Node]:
        """The loop of a step over the tile's elements."""
        i = Value("i", INDEX)
        row = Value("row", INDEX)
        index: dict[int, tuple[Value, ...]] = {0: (), 1: (i,), 2: (row, i)}
        inside = {value for op in step.ops for value in op.results}
        needed = [value for op in step.ops for value in op.operands] + [value for value, _ in step.stores]
        names: dict[Value, Value] = {}
        loads = []
        for value in dict.fromkeys(needed):
            if value in inside:
                continue
            fresh = value
            if value in self.seen or value not in self.loads:
                fresh = names[value] = Value(f"{value.name}.{number}", value.dtype)
            self.seen.add(value)
            memref = self.places[value]
            loads.append(Load(fresh, memref, (row,) if self.is_of_rows(value) else index[len(memref.axes)]))
        ops: list[Element] = step.ops
        if names:
            ops = [replace(op, operands=tuple([names.get(value, value) for value in op.operands])) for op in step.ops]
        stores = [Store(memref, index[len(memref.axes)], names.get(value, value)) for value, memref in step.stores]
        nest = For(i, self.columns, (*loads, *ops, *stores))
        if self.rows is not None:
            nest = For(row, self.rows, (nest,))
        return [nest]
