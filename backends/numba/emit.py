"""Writes a Function of the loop-level program as LLVM text: ``i32 kernel(ptr block, i64 n)``.

Enters a Function (dynamo_lite/program); leaves LLVM text. block holds 8-byte words, which csrc/abi.def describes. A
loop over elements becomes one over whole vectors and what its tail says, all from the same table of element_ops.py
(one of many operations is written in emit_padded.py).
INVARIANT: the text holds no address, the function allocates nothing and raises nothing (nounwind: there are no unwind
tables for the process to keep); it returns 0, or at once the first non-zero status of a NumPy loop, or in the end the
statuses that were noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from itertools import product

import numpy as np
from dynamo_lite.backends.numba.emit_padded import LINE, PaddedLoop
from dynamo_lite.backends.numba.llvm_text import Lines, Seen, mask_type_of, scalar_type

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.dataclass import dataclass
from dynamo_lite.program.ir import (
    ANY,
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
    statuses_of,
    used,
    walk,
)
from dynamo_lite.program.values import Values, emit_element, literal


def emit(function: Function, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return Emitter(function, name).run()


def call_address(name: str, slot: str) -> list[str]:
    """Load the function that calls the NumPy loop whose words are at `slot`."""
    at = f"  {name}.at = getelementptr i64, ptr {slot}, i64 {abi.LOOP_INVOKE}"
    return [at, f"  {name} = load ptr, ptr {name}.at, align 8"]


@dataclass(slots=True)
class _Loop:
    """The loop over a row's elements while it is written. whole: how many of them are whole vectors. numbers: what is
    the same for all of a row; splats: of a row, in every lane. seen_before, seen_after: what was seen by the vectors
    and number by number, before the last elements and with them. last: the block that these end with."""

    node: For
    label: str
    whole: str
    splats: dict[Value, str]
    seen_before: dict[str, Seen] = field(default_factory=dict)
    seen_after: dict[str, Seen] = field(default_factory=dict)
    last: str = ""


class Emitter:
    """allocas, first: what stands where the function begins; first_label: the block that `first` ends with. slot_bytes:
    the memory of PaddedLoop's slots; reached, steps_now: in its body, how an address is found, and the strides.
    pointers: where each memref begins; stems: the names of the operand or result that it is (part of). names: of
    indices and extents. numbers: the values of which there is one for all lanes, as in memory; masks: bools. products:
    of indices and steps, which views have in common. columns: how many elements the row at hand has. slots: the
    buffers, by where they lie in the scratch."""

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name
        self.lines = Lines()
        self.nodes = tuple(walk(function.body))
        self.places = (*function.operands, *function.results)
        self.loops = function.loops
        self.pointers: dict[Memref, str] = {}
        self.stems: dict[Memref, str] = {}
        self.numbers: dict[Value, str] = {}
        self.masks: dict[Value, str] = {}
        self.names: dict[Value, str] = {function.n: "%n"}
        if function.rows is not None:
            self.names[function.rows] = "%row.count"
        self.products: dict[tuple[str, str], str] = {}
        self.constants: dict[Memref, str] = {}
        self.slots: dict[int, str] = {}
        self.columns = "%n"
        self.last_offsets: dict[Memref, list[str]] = {}
        self.allocas: list[str] = []
        self.first: list[str] = []
        self.first_label = "first"
        self.tables: dict[tuple[int, ...], str] = {}
        self.slot_bytes = 0
        self.reached: Callable[[Memref], str] | None = None
        self.steps_now: dict[Memref, str] = {}
        self.needed = _needed(self.nodes)
        self.judges = any(isinstance(node, Note) for node in self.nodes)
        for memref in self.places:
            self.stems[memref] = f"{'o' if memref.space == 'operand' else 'r'}{memref.index}"
            self.pointers[memref] = f"%{self.stems[memref]}.base"
        for node in function.body:
            if isinstance(node, Alloc):
                self.pointers[node.memref] = self.slots.setdefault(node.offset, f"%t{len(self.slots)}")

    def run(self) -> str:
        body = self.body()
        lines = ['source_filename = "dynamo_lite"']
        lines += [f"@{name} = private global {kind} {value}" for (kind, value), name in self.lines.hidden.items()]
        lines += [f"@constant{memref.index} = private constant {text}" for memref, text in self.constants.items()]
        for numbers, name in self.tables.items():
            words = ", ".join(f"i64 {number}" for number in numbers)
            lines.append(f"{name} = private constant [{len(numbers)} x i64] [{words}]")
        entry = _without_unused(self.entry(), body)
        lines += [f"define i32 @{self.name}(ptr %block, i64 %n) nounwind {{", "entry:", *entry, *body, "}"]
        return "\n".join([*lines, *sorted(self.lines.declarations)]) + "\n"

    def table_of(self, numbers: list[int]) -> str:
        """The address of constants."""
        return self.tables.setdefault(tuple(numbers), f"@table{len(self.tables)}")

    @contextmanager
    def at_first(self) -> Iterator[str]:
        """Write what stands where the function begins; yields the block."""
        text, self.lines.text = self.lines.text, self.first
        yield self.first_label
        self.lines.text = text

    def entry(self) -> list[str]:
        """Read the block, after the test for n <= 0: the pointers need not be valid then."""
        allocas = list(self.allocas)
        if self.slot_bytes:
            allocas.append(f"  %slot.memory = alloca [{self.slot_bytes} x i8], align {LINE}")
        for number, node in enumerate(self.loops):
            width = len(node.dtypes)
            allocas.append(f"  %args{number} = alloca [{width} x ptr], align 8")
            allocas.append(f"  %strides{number} = alloca [{width} x i64], align 8")
        if self.judges:
            allocas.append("  %met = alloca i32")
        lines = [
            *allocas,
            "  %empty = icmp sle i64 %n, 0",
            "  br i1 %empty, label %done, label %first",
            "done:",
            "  ret i32 0",
            "first:",
            *self.first,
            "  br label %start",
            "start:",
        ]

        def word(name: str, kind: str, index: int) -> None:
            lines.append(f"  {name}.at = getelementptr i64, ptr %block, i64 {index}")
            lines.append(f"  {name} = load {kind}, ptr {name}.at, align 8")

        rows = self.function.rows is not None
        for index, memref in enumerate(self.places):
            stem = self.stems[memref]
            word(f"%{stem}.base", "ptr", abi.PLACE_WORDS * index + abi.PLACE_POINTER)
            if memref.axes and memref.axes[-1] == ANY:
                word(f"%{stem}.stride", "i64", abi.PLACE_WORDS * index + abi.PLACE_STRIDE)
        scratch, loops, behind = kernel_block(len(self.places), len(self.loops))
        word("%scratch", "ptr", scratch)
        if rows:
            word("%row.count", "i64", behind + abi.ROWS_COUNT)
            for index, memref in enumerate(self.places):
                if memref.axes:
                    word(f"%{self.stems[memref]}.down", "i64", behind + abi.ROWS_STEPS + index)
        for offset, name in self.slots.items():
            lines.append(f"  {name} = getelementptr i8, ptr %scratch, i64 {offset}")
        for number in range(len(self.loops)):
            first = loops + abi.LOOP_WORDS * number
            lines.append(f"  %slot{number} = getelementptr i64, ptr %block, i64 {first}")
            lines += call_address(f"%invoke{number}", f"%slot{number}")
        lines += [f"  %{name} = load volatile {kind}, ptr @{name}" for (kind, _), name in self.lines.hidden.items()]
        if self.judges:
            lines.append("  store i32 0, ptr %met")
        for number, node in enumerate(self.loops):
            for position, memref in enumerate((*node.reads, *node.writes)):
                at = f"%s{number}.{position}"
                lines.append(f"  {at} = getelementptr i64, ptr %strides{number}, i64 {position}")
                lines.append(f"  store i64 {self.stride(memref)}, ptr {at}, align 8")
        if self.function.iterations is not None:
            word("%iterations", "i64", behind + abi.ITERATION_COUNT)
            word("%row.bytes", "i64", behind + abi.ITERATION_ROW_BYTES)
        return lines

    def stride(self, memref: Memref) -> str:
        """The bytes from element to element along the last axis."""
        if not memref.axes:
            return "0"
        return str(memref.dtype.itemsize) if memref.axes[-1] == PACKED else f"%{self.stems[memref]}.stride"

    def body(self) -> list[str]:
        lines = self.lines
        lines.put("  br label %tile")
        lines.put("tile:")
        self.steps(self.function.body)
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        if self.loops:
            lines.put("failed:")
            calls = ", ".join(f"[ %status{number}, %called{number} ]" for number in range(len(self.loops)))
            lines.put(f"  %status = phi i32 {calls}")
            lines.put("  ret i32 %status")
        return lines.text

    def steps(self, nodes: tuple[Node, ...]) -> None:
        """What stands in no loop over elements."""
        noted: list[Note] = []
        for node in nodes:
            if isinstance(node, For | NumpyLoop | Tiles):
                self.judge_numbers(noted)
                noted = []
            if isinstance(node, For):
                if any(isinstance(one, NumpyLoop) for one in walk(node.body)):
                    self.iterations(node)
                else:
                    self.elements(node)
            elif isinstance(node, NumpyLoop):
                self.call(node)
            elif isinstance(node, Tiles):
                self.tiles(node)
            elif isinstance(node, Note):
                noted.append(node)
            else:
                self.number(node)
        self.judge_numbers(noted)

    def judge_numbers(self, noted: list[Note]) -> None:
        """What is noted of numbers of which there is one for all lanes, at once: each judgement goes through memory."""
        for status in statuses_of(noted):
            met = self.lines.either([self.masks[one.condition] for one in noted if one.status == status])
            assert met is not None
            self.judge(met, status)

    def number(self, node: Node) -> None:
        """A node of which there is one for all lanes."""
        lines = self.lines
        if isinstance(node, View):
            self.view(node)
        elif isinstance(node, Load):
            dtype, pointer = node.memref.dtype, self.pointers[node.memref]
            self.numbers[node.result] = lines.do(f"load {scalar_type(dtype)}, ptr {pointer}, align {dtype.alignment}")
        elif isinstance(node, Element):
            values = Values(lines, self.numbers)
            emit_element(lines, node, values)
            self.masks |= values.masks
            self.numbers |= {value: values.memory[value] for value in node.results if value in values.memory}

    def view(self, node: View) -> None:
        """The part of a memref that begins at an index."""
        lines, source, result = self.lines, node.source, node.result
        if result not in self.needed:
            return
        stem = self.stems.get(source, "")
        if source in self.stems:
            self.stems[result] = stem
        base = self.pointers[source]
        if source.axes[0] == TABLE and node.drop:
            offset = lines.do(f"mul i64 {self.names[node.index[0]]}, %row.bytes")
            at = lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")
            self.pointers[result] = lines.do(f"load ptr, ptr {at}, align 8")
            return
        for axis, index in enumerate(node.index):
            if source.axes[axis] == ROWS:
                offset = self.product(self.product(self.names[index], self.columns), str(source.dtype.itemsize))
            else:
                down = self.function.rows is not None and axis == 0
                step = f"%{stem}.down" if down else self.stride(source)
                offset = self.product(self.names[index], step)
            base = lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")
        self.pointers[result] = base

    def product(self, one: str, other: str) -> str:
        """Two numbers multiplied, once: loops test behind their bodies, so what is written for a view stands on every
        way to what is written later."""
        if (one, other) not in self.products:
            self.products[one, other] = self.lines.do(f"mul i64 {one}, {other}")
        return self.products[one, other]

    def tiles(self, node: Tiles) -> None:
        """The loop over tiles."""
        lines, length = self.lines, node.length
        rows = node.row is not None
        self.names |= {node.at: "%at", node.count: "%m"}
        if rows:
            self.tile_of_rows(node)
        else:
            self.columns = "%m"
            lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
            lines.put("  %left = sub i64 %n, %at")
            lines.put(f"  %partial = icmp slt i64 %left, {length}")
            lines.put(f"  %m = select i1 %partial, i64 %left, i64 {length}")
        self.steps(node.body)
        lines.put("  br label %tile.end")
        lines.put("tile.end:")
        if rows:
            lines.put("  %at.next = select i1 %across, i64 0, i64 %at.behind")
            lines.put("  %row.down = select i1 %across, i64 %few, i64 0")
            lines.put("  %row.at.next = add i64 %row.at, %row.down")
            lines.put("  %more = icmp slt i64 %row.at.next, %row.count")
        else:
            lines.put(f"  %at.next = add i64 %at, {length}")
            lines.put("  %more = icmp slt i64 %at.next, %n")
        lines.put("  br i1 %more, label %tile, label %finish")
        lines.put("finish:")

    def tile_of_rows(self, node: Tiles) -> None:
        """A tile of some whole rows, or of a part of one that is longer than a tile."""
        lines, length = self.lines, node.length
        assert node.row is not None and node.rows is not None
        self.names |= {node.row: "%row.at", node.rows: "%few", node.columns: "%columns"}
        self.columns = "%columns"
        lines.put("  %row.at = phi i64 [ 0, %start ], [ %row.at.next, %tile.end ]")
        lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
        lines.put("  %left = sub i64 %n, %at")
        lines.put(f"  %partial = icmp slt i64 %left, {length}")
        lines.put(f"  %columns = select i1 %partial, i64 %left, i64 {length}")
        lines.put("  %at.behind = add i64 %at, %columns")
        lines.put("  %across = icmp eq i64 %at.behind, %n")
        fit = "1"
        if not node.single:
            whole = lines.do("icmp eq i64 %columns, %n")
            several = lines.do(f"udiv i64 {length}, %n")
            some = lines.do(f"icmp sgt i64 {several}, 1")
            fit = lines.do(f"select i1 {lines.do(f'and i1 {whole}, {some}')}, i64 {several}, i64 1")
        lines.put("  %rows.left = sub i64 %row.count, %row.at")
        lines.put(f"  %last.rows = icmp slt i64 %rows.left, {fit}")
        lines.put(f"  %few = select i1 %last.rows, i64 %rows.left, i64 {fit}")
        lines.put("  %m = mul i64 %few, %columns")

    def iterations(self, node: For) -> None:
        """The steps of a tile over and over, while it stays in the cache."""
        lines = self.lines
        self.names[node.index] = "%iteration.i"
        lines.put("  br label %iteration")
        lines.put("iteration:")
        lines.put("  %iteration.i = phi i64 [ 0, %tile ], [ %iteration.next, %iteration.end ]")
        self.steps(node.body)
        lines.put("  br label %iteration.end")
        lines.put("iteration.end:")
        lines.put("  %iteration.next = add i64 %iteration.i, 1")
        more = lines.do("icmp slt i64 %iteration.next, %iterations")
        lines.put(f"  br i1 {more}, label %iteration, label %iterated")
        lines.put("iterated:")

    def judge(self, mask: str, status: int) -> None:
        """Note what the kernel will return if any lane of the mask is set."""
        lines = self.lines
        if lines.width:
            mask = lines.any_lane(mask)
        met = lines.do(f"select i1 {mask}, i32 {status}, i32 0")
        before = lines.do("load i32, ptr %met")
        lines.put(f"  store i32 {lines.do(f'or i32 {before}, {met}')}, ptr %met")

    def call(self, node: NumpyLoop) -> None:
        """A call of NumPy's loop."""
        lines = self.lines
        number = next(number for number, loop in enumerate(self.loops) if loop is node)
        for position, memref in enumerate((*node.reads, *node.writes)):
            pointer = self.constant_address(memref) if memref.space == "constant" else self.pointers[memref]
            at = lines.do(f"getelementptr ptr, ptr %args{number}, i64 {position}")
            lines.put(f"  store ptr {pointer}, ptr {at}, align 8")
        lines.put(
            f"  %status{number} = call i32 %invoke{number}(ptr %slot{number}, ptr %args{number}, "
            f"i64 {self.names[node.count]}, ptr %strides{number})"
        )
        lines.put(f"  %bad{number} = icmp ne i32 %status{number}, 0")
        lines.put(f"  br label %called{number}")
        lines.put(f"called{number}:")
        lines.put(f"  br i1 %bad{number}, label %failed, label %after{number}")
        lines.put(f"after{number}:")

    def constant_address(self, memref: Memref) -> str:
        raw = np.asarray(memref.number, dtype=memref.dtype).tobytes()
        escaped = "".join(f"\\{byte:02X}" for byte in raw)
        self.constants[memref] = f'[{len(raw)} x i8] c"{escaped}", align 16'
        return f"@constant{memref.index}"

    def elements(self, node: For) -> None:
        """The loop over elements, row by row: whole vectors, and what is left as a vector of fewer lanes, or number by
        number."""
        lines, label = self.lines, self.lines.name("segment")
        rows = node if isinstance(node.body[-1], For) else None
        inner = node if rows is None else node.body[-1]
        assert isinstance(inner, For)
        if inner.tail == "padded":
            self.columns = self.names[inner.extent]
            PaddedLoop(self, inner, rows).run()
            return
        width = inner.lanes if inner.lanes > 1 else 0
        masked = inner.tail == "masked"
        self.columns = self.names[inner.extent]
        lines.width = 0
        statuses = statuses_of(inner.body)
        parts = [("vector", width)] if width else []
        if not masked:
            parts.append(("rest", 0))
        whole = lines.do(f"and i64 {self.columns}, {-width}") if width else "0"
        few = lines.do(f"sub i64 {self.columns}, {whole}")
        lines.put(f"  br label %{label}.head")
        lines.put(f"{label}.head:")
        lines.open_loop(width, [one.memref.dtype for one in inner.body if isinstance(one, Load | Store)])
        mask = ""
        if masked:
            count = lines.do(f"insertelement <{width} x i64> poison, i64 {few}, i64 0")
            count = lines.do(
                f"shufflevector <{width} x i64> {count}, <{width} x i64> poison, {lines.lanes('i32')} zeroinitializer"
            )
            numbers = ", ".join(f"i64 {lane}" for lane in range(width))
            mask = lines.do(f"icmp ult <{width} x i64> <{numbers}>, {count}")
            self.last_offsets = self.find_last_offsets(inner, rows, whole, few, width)
        lines.put(f"  br label %{label}.row")
        lines.put(f"{label}.row:")
        none = {"vector": "zeroinitializer", "rest": "false"}
        seen = {name: dict.fromkeys(statuses, none[name]) for name, _ in parts}
        loop = _Loop(inner, label, whole, {})
        if rows is not None:
            lines.put(f"  %{label}.r = phi i64 [ 0, %{label}.head ], [ %{label}.r.next, %{label}.row.end ]")
            for (name, lanes), status in product(parts, statuses):
                stem, kind = f"%{label}.{name}.{status}", mask_type_of(lanes)
                edges = f"[ {none[name]}, %{label}.head ], [ {stem}.all, %{label}.row.end ]"
                lines.put(f"  {stem}.before = phi {kind} {edges}")
                seen[name][status] = f"{stem}.before"
            loop.splats |= self.begin_row(rows, label)
        if width:
            empty = lines.do(f"icmp eq i64 {whole}, 0")
            lines.put(f"  br i1 {empty}, label %{label}.left, label %{label}.vector")
            self.vectors(loop, width, seen)
        else:
            lines.put(f"  br label %{label}.left")
            lines.put(f"{label}.left:")
        nothing = lines.do(f"icmp eq i64 {few}, 0")
        lines.put(f"  br i1 {nothing}, label %{label}.row.end, label %{label}.rest")
        if masked:
            self.last_vector(loop, mask, seen)
        else:
            self.one_by_one(loop, seen)
        lines.put(f"{label}.row.end:")
        for (name, lanes), status in product(parts, statuses):
            before, after = loop.seen_before[name][status], loop.seen_after[name][status]
            edges = f"[ {before}, %{label}.left ], [ {after}, %{loop.last} ]"
            lines.put(f"  %{label}.{name}.{status}.all = phi {mask_type_of(lanes)} {edges}")
        if rows is not None:
            self.end_row(rows, label)
        for (name, lanes), status in product(parts, statuses):
            lines.width = lanes
            self.judge(f"%{label}.{name}.{status}.all", status)
        lines.width = 0

    def begin_row(self, rows: For, label: str) -> dict[Value, str]:
        """What is the same for all of a row; these numbers in every lane."""
        lines, width = self.lines, self.lines.width
        self.names[rows.index] = f"%{label}.row.index"
        lines.put(self.not_stepped(f"%{label}.row.index", f"%{label}.r"))
        lines.width = 0  # there is one of each for all lanes
        self.steps(rows.body[:-1])
        lines.width = width
        values = [value for one in rows.body[:-1] for value in defined(one) if value in self.numbers]
        return {value: lines.splat_of(value.dtype, self.numbers[value], here=True) for value in values}

    def end_row(self, rows: For, label: str) -> None:
        """Go on with the next row."""
        lines = self.lines
        lines.put(f"  %{label}.r.next = add i64 %{label}.r, 1")
        more = lines.do(f"icmp slt i64 %{label}.r.next, {self.names[rows.extent]}")
        lines.put(f"  br i1 {more}, label %{label}.row, label %{label}.judge")
        lines.put(f"{label}.judge:")

    def step(self, memref: Memref, rows: For | None) -> str:
        """The stride of a memref; one of a row need not have been written yet."""
        sources = {one.result: one.source for one in rows.body if isinstance(one, View)} if rows is not None else {}
        return self.stride(sources.get(memref, memref))

    def find_last_offsets(
        self, inner: For, rows: For | None, whole: str, few: str, width: int
    ) -> dict[Memref, list[str]]:
        """How far each lane of a row's last vector lies from its begin, of arrays that are not packed. A lane behind
        the last element is where that is."""
        lines = self.lines
        found: dict[Memref, list[str]] = {
            one.memref: [] for one in inner.body if isinstance(one, Load | Store) and one.memref.axes == (ANY,)
        }
        last = lines.do(f"sub i64 {few}, 1") if found else ""
        for lane in range(width if found else 0):
            within = lines.do(f"icmp slt i64 {lane}, {last}")
            at = lines.do(f"add i64 {whole}, {lines.do(f'select i1 {within}, i64 {lane}, i64 {last}')}")
            for memref, offsets in found.items():
                offsets.append(lines.do(f"mul i64 {at}, {self.step(memref, rows)}"))
        return found

    def not_stepped(self, name: str, index: str) -> str:
        """`name` is an index that LLVM does not take for an induction variable. To choose what to step from iteration
        to iteration takes it much of its time, of the addresses of tens of arrays a third. Of packed arrays the
        processor adds the index itself, and of others, as from row to row, a multiplication for each does as well."""
        return f'  {name} = call i64 asm "", "=r,0"(i64 {index})'

    def vectors(self, loop: _Loop, width: int, seen: dict[str, Seen]) -> None:
        """The whole vectors of a row."""
        lines, label = self.lines, loop.label
        lines.put(f"{label}.vector:")
        index, counted = f"%{label}.i", f"%{label}.counted"
        lines.put(f"  {counted} = phi i64 [ 0, %{label}.row ], [ %{label}.next, %{label}.vector ]")
        for status, before in seen["vector"].items():
            edges = f"[ {before}, %{label}.row ], [ %{label}.now.{status}, %{label}.vector ]"
            lines.put(f"  %{label}.seen.{status} = phi {lines.mask_type} {edges}")
        lines.put(self.not_stepped(index, counted))
        for status, met in self.at(loop.node, loop.splats, index, "").items():
            lines.put(f"  %{label}.now.{status} = or {lines.mask_type} %{label}.seen.{status}, {met}")
        lines.put(f"  %{label}.next = add i64 %{label}.i, {width}")
        more = lines.do(f"icmp slt i64 %{label}.next, {loop.whole}")
        lines.put(f"  br i1 {more}, label %{label}.vector, label %{label}.left")
        lines.put(f"{label}.left:")
        for status, before in seen["vector"].items():
            edges = f"[ {before}, %{label}.row ], [ %{label}.now.{status}, %{label}.vector ]"
            lines.put(f"  %{label}.so.far.{status} = phi {lines.mask_type} {edges}")
            seen["vector"][status] = f"%{label}.so.far.{status}"
        loop.seen_before |= seen

    def last_vector(self, loop: _Loop, mask: str, seen: dict[str, Seen]) -> None:
        """The last elements of a row, as a vector of which only some lanes count."""
        lines, label = self.lines, loop.label
        lines.put(f"{label}.rest:")
        met = self.at(loop.node, loop.splats, loop.whole, mask)
        loop.seen_after["vector"] = {
            status: lines.do(f"or {lines.mask_type} {seen['vector'][status]}, {now}") for status, now in met.items()
        }
        lines.put(f"  br label %{label}.row.end")
        loop.last = f"{label}.rest"

    def one_by_one(self, loop: _Loop, seen: dict[str, Seen]) -> None:
        """The last elements of a row, one by one."""
        lines, label = self.lines, loop.label
        loop.seen_before |= seen
        loop.seen_after |= seen
        lines.width = 0
        lines.put(f"{label}.rest:")
        lines.put(f"  %{label}.j = phi i64 [ {loop.whole}, %{label}.left ], [ %{label}.j.next, %{label}.rest ]")
        for status, before in seen["rest"].items():
            edges = f"[ {before}, %{label}.left ], [ %{label}.met.now.{status}, %{label}.rest ]"
            lines.put(f"  %{label}.met.{status} = phi i1 {edges}")
        met = self.at(loop.node, loop.splats, f"%{label}.j", "")
        for status, now in met.items():
            lines.put(f"  %{label}.met.now.{status} = or i1 %{label}.met.{status}, {now}")
        loop.seen_after["rest"] = {status: f"%{label}.met.now.{status}" for status in met}
        lines.put(f"  %{label}.j.next = add i64 %{label}.j, 1")
        more = lines.do(f"icmp slt i64 %{label}.j.next, {self.columns}")
        lines.put(f"  br i1 {more}, label %{label}.rest, label %{label}.row.end")
        loop.last = f"{label}.rest"

    def at(self, node: For, splats: dict[Value, str], index: str, mask: str) -> Seen:
        """Compute the elements from `index` on, at the current width of the lines; what is to be judged of them. mask:
        the lanes that count; the others do what the first one does, so that they report nothing of their own."""
        lines, body = self.lines, node.body
        numbers: dict[Value, str] = {}
        for value in (value for one in body if not isinstance(one, Load) for value in used(one)):
            if value in self.numbers and value not in numbers:
                splat = splats.get(value) if lines.width else None
                numbers[value] = splat or lines.splat_of(value.dtype, self.numbers[value])
        values = Values(lines, numbers)
        self.names[node.index] = index
        for one in body:
            if isinstance(one, Load):
                constant = one.memref.space == "constant"
                name = literal(lines, one.memref.dtype, one.memref.number) if constant else ""
                values.loaded.add(one.result)
                values.memory[one.result] = name or self.load(one.memref, index, mask)
        met = self.computed(body, values)
        for one in body:
            if isinstance(one, Store):
                self.store(one.memref, index, values.in_memory(one.value), mask)
        return met

    def computed(self, body: Iterable[Node], values: Values) -> Seen:
        """Compute the operations of a loop's body, and keep what has to be; what it notes."""
        conditions: dict[int, list[str]] = {}
        kept = {node.value for node in body if isinstance(node, Keep)}
        for node in body:
            if isinstance(node, Element):
                emit_element(self.lines, node, values)
                for value in kept.intersection(node.results):
                    self.sink(value, values)
            elif isinstance(node, Note):
                conditions.setdefault(node.status, []).append(values.operand(node.condition))
        return self.joined(conditions)

    def joined(self, conditions: dict[int, list[str]]) -> Seen:
        """Of each status, whether any of its conditions holds."""
        return {status: self.lines.either(masks) or "" for status, masks in sorted(conditions.items())}

    def address(self, memref: Memref, index: str) -> str:
        base = self.reached(memref) if self.reached is not None else self.pointers[memref]
        if memref.axes[-1] == PACKED:
            return self.lines.do(f"getelementptr {scalar_type(memref.dtype)}, ptr {base}, i64 {index}")
        offset = self.lines.do(f"mul i64 {index}, {self.steps_now.get(memref) or self.stride(memref)}")
        return self.lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")

    def lane_addresses(self, memref: Memref, index: str, mask: str) -> list[str]:
        """The address of each lane's element."""
        lines = self.lines
        if mask:
            base, offsets = self.pointers[memref], self.last_offsets[memref]
            return [lines.do(f"getelementptr i8, ptr {base}, i64 {offset}") for offset in offsets]
        found = [self.address(memref, index)]
        step = self.steps_now.get(memref) or self.stride(memref)
        while len(found) < lines.width:
            found.append(lines.do(f"getelementptr i8, ptr {found[-1]}, i64 {step}"))
        return found

    def load(self, memref: Memref, index: str, mask: str = "") -> str:
        """The elements from `index` on, in the order of the lanes."""
        return self.lines.reordered(memref.dtype, self.loaded(memref, index, mask))

    def loaded(self, memref: Memref, index: str, mask: str) -> str:
        lines, dtype, scalar = self.lines, memref.dtype, scalar_type(memref.dtype)
        packed = memref.axes[-1] == PACKED
        if not lines.width or (packed and not mask):
            return lines.do(f"load {lines.type_of(dtype)}, ptr {self.address(memref, index)}, align {dtype.alignment}")
        if packed:
            at = self.address(memref, index)
            first = lines.do(f"load {scalar}, ptr {at}, align {dtype.alignment}")
            return lines.masked_load(dtype, at, mask, lines.splat_of(dtype, first, here=True))
        vector, item_type = "poison", lines.item_type(dtype)
        for lane, at in enumerate(self.lane_addresses(memref, index, mask)):
            item = lines.do(f"load {item_type}, ptr {at}, align {dtype.alignment}")
            vector = lines.insert(dtype, vector, item, lane)
        return vector

    def sink(self, value: Value, values: Values) -> None:
        """Have the value computed. NB: where it is; further down it would fill a register until then."""
        name = values.in_memory(value)
        if not self.lines.pin(value.dtype, name):
            kind = self.lines.type_of(value.dtype)
            self.lines.put(f"  store volatile {kind} {name}, ptr %scratch, align {value.dtype.alignment}")

    def store(self, memref: Memref, index: str, value: str, mask: str = "") -> None:
        lines, dtype, kind = self.lines, memref.dtype, self.lines.type_of(memref.dtype)
        value = lines.reordered(dtype, value)
        packed = memref.axes[-1] == PACKED
        if mask and not packed:
            addresses = "poison"
            for lane, at in enumerate(self.lane_addresses(memref, index, mask)):
                addresses = lines.do(f"insertelement {lines.lanes('ptr')} {addresses}, ptr {at}, i64 {lane}")
            lines.scatter(dtype, addresses, mask, value)
        elif mask:
            lines.masked_store(dtype, self.address(memref, index), mask, value)
        elif packed or not lines.width:
            lines.put(f"  store {kind} {value}, ptr {self.address(memref, index)}, align {dtype.alignment}")
        else:
            for lane, address in enumerate(self.lane_addresses(memref, index, "")):
                item = lines.extract(dtype, value, lane)
                lines.put(f"  store {lines.item_type(dtype)} {item}, ptr {address}, align {dtype.alignment}")


def _needed(nodes: tuple[Node, ...]) -> set[Memref]:
    """The memrefs of which there has to be an address. PaddedLoop makes those in its body itself."""
    found: set[Memref] = set()
    inside = {one for node in nodes if isinstance(node, For) and node.tail == "padded" for one in node.body}
    for node in reversed(nodes):
        if isinstance(node, Load | Store) and node not in inside:
            found.add(node.memref)
        elif isinstance(node, NumpyLoop):
            found |= {*node.reads, *node.writes}
        elif isinstance(node, View) and node.result in found:
            found.add(node.source)
    return found


def _without_unused(entry: list[str], body: list[str]) -> list[str]:
    """The entry without what computes a value that nothing needs."""
    names = re.compile(r"%[\w.]+")
    used = set(names.findall("\n".join(body)))
    kept = []
    for line in reversed(entry):
        name, equals, rest = line.strip().partition(" = ")
        if not equals or name in used or " volatile " in rest:
            used.update(names.findall(rest if equals else line))
            kept.append(line)
    return kept[::-1]
