"""Writes a Function or a Routine of the loop-level program as a C function: ``i32 name(i64 *block, i64 n)``.

Enters either; leaves a C function. One walk serves both, for C has what the nodes say: loops, choices, variables that
change. INVARIANT: the text holds no address; the function returns 0, or at once the status of what failed, or in the
end the statuses that were noted. The words of `block` are those of csrc/abi.def.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dynamo_lite.backends.c.c_text import Lines, c_type

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import BOOL, DType
from dynamo_lite.program.ir import (
    PACKED,
    ROWS,
    TABLE,
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
    defined,
    used,
    walk,
)
from dynamo_lite.program.values import Values, emit_element, literal

Loops = list[tuple[np.ufunc, tuple[DType, ...]]]  # NumPy's, each of a function for some dtypes


def signature(name: str) -> str:
    """The head of a function."""
    return f"i32 {name}(i64 *restrict block, i64 n)"


class Emitter:
    """What both kinds of functions have. values: names, a bool's as a mask. pointers: where memrefs begin; strides: the
    bytes along each axis. loops: NumPy's, whose words stand in the block from `loop_words` on."""

    def __init__(self, strict: bool, loop_words: int) -> None:
        self.lines = Lines(strict)
        self.values = Values(self.lines, {})
        self.pointers: dict[Memref, str] = {}
        self.strides: dict[Memref, tuple[str, ...]] = {}
        self.loops: Loops = []
        self.loop_words = loop_words

    def text(self, name: str) -> str:
        """The C function."""
        body = [*self.lines.top, *self.lines.text, "return met;"]
        return "\n".join([signature(name), "{", *body, "}", ""])

    # Values

    def name(self, value: Value) -> str:
        """A value as it is computed with."""
        self.known(value)
        return self.values.operand(value)

    def in_memory(self, value: Value) -> str:
        """The same as it lies in memory."""
        self.known(value)
        return self.values.in_memory(value)

    def known(self, value: Value) -> None:
        """Let a constant be written as what it is."""
        if value.number is not None:
            self.values.memory[value] = literal(self.lines, value.dtype, value.number)

    def handle(self, one: Value | Memref) -> str:
        """What is handed on, of elements their address."""
        return self.pointers[one] if isinstance(one, Memref) else self.in_memory(one)

    def set(self, one: Value | Memref, name: str) -> None:
        """What was handed on, or comes from memory."""
        if isinstance(one, Memref):
            self.pointers[one] = name
        else:
            self.values.memory[one] = name
            self.values.loaded.add(one)

    def variable(self, one: Value | Memref, first: str = "") -> str:
        """A variable that changes."""
        name = self.lines.name("c")
        self.lines.put(f"{kind_of(one)} {name}{f' = {first}' if first else ''};")
        return name

    def word(self, number: int) -> str:
        return f"block[{number}]"

    def address(self, memref: Memref, index: Sequence[Value]) -> str:
        """Where an element lies, or a part begins."""
        at = self.pointers[memref]
        strides = self.strides.get(memref) or tuple(map(self.name, memref.strides))
        for axis, (value, stride) in enumerate(zip(index, strides, strict=False)):
            if memref.axes[axis : axis + 1] == (TABLE,):
                at = f"*(char **)({at} + {self.name(value)} * {stride})"
            elif value.number != 0:
                at = f"{at} + {self.name(value)} * {stride}"
        return at

    def element_at(self, memref: Memref, index: Sequence[Value]) -> str:
        return f"*({c_type(memref.dtype)} *)({self.address(memref, index)})"

    # Nodes

    def steps(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.step(node)

    def block(self, head: str, nodes: Sequence[Node], end: Sequence[tuple[str, Value | Memref]] = ()) -> None:
        """Nodes in braces; end: variables that get what these hand on. What they compute is not known after them."""
        values = self.values
        before = dict(values.memory), dict(values.masks)
        self.lines.put(f"{head}{{")
        self.steps(nodes)
        handed_on = [(to, kind_of(one), self.handle(one)) for to, one in end]
        copies = [(to, self.lines.do(kind, name)) for to, kind, name in handed_on]  # one may be what another was
        for to, name in copies:
            self.lines.put(f"{to} = {name};")
        values.memory, values.masks = before
        self.lines.put("}")

    def step(self, node: Node) -> None:
        lines = self.lines
        match node:
            case Element():
                for value in node.operands:
                    self.known(value)
                emit_element(lines, node, self.values)
            case Load(result, memref, index):
                if memref.space == "constant":
                    self.set(result, literal(lines, memref.dtype, memref.number))
                else:
                    self.set(result, lines.do(c_type(memref.dtype), self.element_at(memref, index)))
            case Store(memref, index, value):
                lines.put(f"{self.element_at(memref, index)} = {self.in_memory(value)};")
            case View(result, source, index, drop):
                self.pointers[result] = lines.do("char *", self.address(source, index))
                if source in self.strides:
                    self.strides[result] = self.strides[source][len(index) if drop else 0 :]
            case For():
                self.loop(node)
            case _:
                raise NotImplementedError(f"{type(node).__name__} in C")

    def loop(self, node: For) -> None:
        """The body for each index."""
        lines, index = self.lines, self.lines.name("i")
        carried = [(self.variable(one.value, self.in_memory(one.first)), one) for one in node.carried]
        last = [(self.variable(inside), inside, after) for inside, after in node.last]
        for name, one in carried:
            self.set(one.value, name)
        self.values.memory[node.index] = index
        if not lines.strict and not any(isinstance(one, For | NumpyLoop) for one in walk(node.body)):
            lines.put("#pragma GCC ivdep")  # a kernel's results lie where operands do, element by element, or elsewhere
        end = [*((name, one.next) for name, one in carried), *((name, inside) for name, inside, _ in last)]
        self.block(f"for (i64 {index} = 0; {index} < {self.name(node.extent)}; {index}++) ", node.body, end)
        for name, _, after in last:
            self.set(after, name)

    def call_loop(
        self, ufunc: np.ufunc, dtypes: tuple[DType, ...], pointers: list[str], steps: list[str], n: str, failed: int = 0
    ) -> None:
        """Call NumPy's inner loop; where it fails, return its status, or another one."""
        words = f"(block + {self.loop_words + abi.LOOP_WORDS * len(self.loops)})"
        self.loops.append((ufunc, dtypes))
        self.lines.put(f"{{ char *args[] = {{{', '.join(pointers)}}};")
        self.lines.put(f"const i64 by[] = {{{', '.join(steps)}}};")
        invoke = f"(*(i32 (**)(i64 *, char **, i64, const i64 *)){words})"
        self.lines.put(f"i32 status = {invoke}({words}, args, {n}, by);")
        self.lines.put(f"if (SELDOM(status != 0)) return {failed or 'status'}; }}")


class _Kernel(Emitter):
    """A Function. columns: how many elements the rows of the tile at hand have. lanes: the arrays of what is handed on
    for each element of a strip."""

    def __init__(self, function: Function) -> None:
        places = (*function.operands, *function.results)
        scratch, loops, behind = kernel_block(len(places), len(function.loops))
        super().__init__(False, loops)
        self.columns = "n"
        self.kept = False
        self.lanes: dict[Value, str] = {}
        names, top = self.values.memory, self.lines.top
        top += ["if (n <= 0) return 0;", "i32 met = 0;", f"char *scratch = (char *)block[{scratch}];"]
        names[function.n] = "n"
        by_extent: dict[Value, int] = {}  # where the steps along an axis stand, for each place
        if function.rows is not None:
            names[function.rows] = self.word(behind + abi.ROWS_COUNT)
            by_extent[function.rows] = behind + abi.ROWS_STEPS
        if function.iterations is not None:
            names[function.iterations] = self.word(behind + abi.ITERATION_COUNT)
        for place, extent in enumerate(reversed(function.axes)):  # the inner one first
            names[extent] = self.word(behind + abi.FOLD_LENGTHS + place)
            by_extent[extent] = behind + abi.FOLD_STEPS + place * len(function.operands)
        for place, memref in enumerate(places):
            word = abi.PLACE_WORDS * place
            self.pointers[memref] = self.given("char *", word + abi.PLACE_POINTER)
            strides = []
            for axis, extent in zip(memref.axes, memref.extents, strict=True):
                if axis == PACKED:
                    strides.append(str(memref.dtype.itemsize))
                elif axis == TABLE:
                    strides.append(self.given("i64", behind + abi.ITERATION_ROW_BYTES))
                elif extent in by_extent:
                    strides.append(self.given("i64", by_extent[extent] + place))
                else:
                    strides.append(self.given("i64", word + abi.PLACE_STRIDE))
            self.strides[memref] = tuple(strides)
        for value, name in tuple(names.items()):
            if name != "n":
                names[value] = self.lines.name()
                top.append(f"i64 {names[value]} = {name};")

    def given(self, kind: str, word: int) -> str:
        name = self.lines.name("in")
        self.lines.top.append(f"{kind}{'' if kind[-1] == '*' else ' '}{name} = ({kind})block[{word}];")
        return name

    def run(self, function: Function) -> None:
        self.steps(function.body)
        if self.kept:
            self.lines.top.append("u64 kept = 0;")
            self.lines.put("*(volatile u64 *)scratch = kept;")

    def step(self, node: Node) -> None:
        match node:
            case Note(condition, status):
                self.lines.put(f"met |= -(i32){self.name(condition)} & {status};")
            case Keep(value):
                self.kept = True
                name, kind = self.in_memory(value), c_type(value.dtype)
                self.lines.put(f"kept ^= (u64){f'bits_{kind}({name})' if kind[0] == 'f' else name};")
            case Alloc(memref, offset):
                self.pointers[memref] = self.lines.do("char *", f"scratch + {offset}")
            case NumpyLoop(ufunc, reads, writes, count):
                places = (*reads, *writes)
                pointers = [self.constant(one) if one.space == "constant" else self.pointers[one] for one in places]
                steps = [self.strides_of(one)[-1] if one.axes else "0" for one in places]
                self.call_loop(ufunc, node.dtypes, pointers, steps, self.name(count))
            case Tiles():
                self.tiles(node)
            case For(body=body) if any(isinstance(one, For) and one.carried for one in body):
                self.strips(node)
            case _:
                super().step(node)

    def address(self, memref: Memref, index: Sequence[Value]) -> str:
        if memref.space in ("tile", "view") and memref not in self.strides:
            self.strides[memref] = self.strides_of(memref)
        return super().address(memref, index)

    def strides_of(self, memref: Memref) -> tuple[str, ...]:
        """NB: rows of a tile's buffer lie side by side, as long as those of the tile at hand."""
        size = str(memref.dtype.itemsize)
        if memref in self.strides:
            return self.strides[memref]
        return tuple(f"{self.columns} * {size}" if axis == ROWS else size for axis in memref.axes)

    def constant(self, memref: Memref) -> str:
        """The address of a number that NumPy's loop reads."""
        name = self.lines.name("constant")
        raw = ", ".join(map(str, np.asarray(memref.number, dtype=memref.dtype).tobytes()))
        self.lines.top.append(f"static const u8 {name}[] __attribute__((aligned(16))) = {{{raw}}};")
        return f"(char *){name}"

    def tiles(self, node: Tiles) -> None:
        """The loop over tiles: of some whole rows, or of a part of one that is longer than a tile."""
        lines, names, length = self.lines, self.values.memory, node.length
        at, count = lines.name("at"), lines.name("m")
        n = self.name(node.extent)
        columns = f"({n} - {at} < {length} ? {n} - {at} : {length})"
        names |= {node.at: at, node.count: count}
        if node.row is None or node.rows is None or node.extent_rows is None:
            names[node.columns] = self.columns = count
            lines.put(f"for (i64 {at} = 0, {count}; {at} < {n} && ({count} = {columns}, 1); {at} += {count}) {{")
            self.block("", node.body)
            lines.put("}")
            return
        row, few, cols = (lines.name(stem) for stem in ("row", "few", "columns"))
        all_rows = self.name(node.extent_rows)
        names |= {node.row: row, node.rows: few, node.columns: cols}
        self.columns = cols
        fit = "1" if node.single else f"({cols} == n && {length} / {n} > 1 ? {length} / {n} : 1)"
        lines.put(f"for (i64 {row} = 0, {at} = 0; {row} < {all_rows}; ) {{")
        lines.put(f"i64 {cols} = {columns}, {few} = {fit};")
        lines.put(f"if ({few} > {all_rows} - {row}) {few} = {all_rows} - {row};")
        lines.put(f"i64 {count} = {few} * {cols};")
        self.block("", node.body)
        lines.put(f"{at} += {cols}; if ({at} == {n}) {{ {at} = 0; {row} += {few}; }}")
        lines.put("}")

    def strips(self, node: For) -> None:
        """A loop over elements around one over iterations or folded axes: STRIP elements go through all of these side
        by side, so that GCC makes vectors of them; what is carried lies in arrays on the stack."""
        lines, n = self.lines, self.name(node.extent)
        begin, count = lines.name("begin"), lines.name("count")
        lines.put(f"for (i64 {begin} = 0; {begin} < {n}; {begin} += {STRIP}) {{")
        lines.put(f"i64 {count} = {n} - {begin} < {STRIP} ? {n} - {begin} : {STRIP};")
        self.strip(node.body, node.index, begin, count)
        lines.put("}")

    def strip(
        self, nodes: Sequence[Node], index: Value, begin: str, count: str, end: Sequence[tuple[str, Value]] = ()
    ) -> None:
        """Nodes for each element of a strip; end: the arrays that get what these hand on."""
        lines, straight = self.lines, list[Node]()
        for place, node in enumerate(nodes):
            if not isinstance(node, For):
                straight.append(node)
                continue
            later = {value for one in walk(tuple(nodes[place:])) for value in used(one)}
            made = [value for one in straight for value in defined(one) if value in later]
            self.side_by_side(straight, index, begin, count, [(self.lane(one), one) for one in made])
            straight, k = [], lines.name("k")
            carried = [(self.lane(one.value), one) for one in node.carried]
            self.side_by_side([], index, begin, count, [(name, one.first) for name, one in carried])
            last = [(self.lane(after), inside) for inside, after in node.last]
            self.values.memory[node.index] = k
            lines.put(f"for (i64 {k} = 0; {k} < {self.name(node.extent)}; {k}++) {{")
            self.strip(node.body, index, begin, count, [*((name, one.next) for name, one in carried), *last])
            lines.put("}")
        self.side_by_side(straight, index, begin, count, end)

    def lane(self, value: Value) -> str:
        """The array of a value that is handed on for each element of a strip."""
        self.lanes[value] = name = self.lines.name("lanes")
        self.lines.top.append(f"{kind_of(value)} {name}[{STRIP}];")
        return name

    def side_by_side(
        self, nodes: Sequence[Node], index: Value, begin: str, count: str, end: Sequence[tuple[str, Value]]
    ) -> None:
        """Nodes without loops for each element of a strip; what is one for all of them stands before."""
        lines, at = self.lines, self.lines.name("lane")
        inside: list[Node] = []
        if not nodes and not end:
            return
        lines.put("{")
        for node in nodes:
            if isinstance(node, Load) and index not in node.index:
                self.step(node)
                continue
            if isinstance(node, Load | Store) and node.memref.axes[0] == TABLE:
                row = Memref(node.memref.name, node.memref.dtype, node.memref.axes[1:], node.memref.extents[1:], "view")
                self.step(View(row, node.memref, node.index[:1], drop=True))
                node = replace(node, memref=row, index=node.index[1:])
            inside.append(node)
        used_here = dict.fromkeys(value for node in inside for value in used(node) if value in self.lanes)
        before = dict(self.values.memory)
        for value in (*used_here, *(value for _, value in end if value in self.lanes)):
            self.set(value, f"{self.lanes[value]}[{at}]")
        self.values.memory[index] = f"({begin} + {at})"
        lines.put("#pragma GCC ivdep")
        self.block(f"for (i64 {at} = 0; {at} < {count}; {at}++) ", inside, [(f"{to}[{at}]", one) for to, one in end])
        lines.put("}")
        self.values.memory = before


STRIP = 64  # elements that go through iterations side by side


def emit(function: Function, name: str) -> str:
    """The C function `name`."""
    kernel = _Kernel(function)
    kernel.run(function)
    return kernel.text(name)


def kind_of(one: Value | Memref) -> str:
    """The C type of what is handed on."""
    return "char *" if isinstance(one, Memref) else "u8" if one.dtype == BOOL else c_type(one.dtype)
