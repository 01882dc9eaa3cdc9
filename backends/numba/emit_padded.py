"""Writes loops over elements whose last elements, that fill no vector, go through the same body as all others.

Enters an Emitter at such a loop; leaves its lines. A body of many operations takes LLVM long, so there is only one.
Where that reaches its arrays stands in a table of addresses and strides: the kernel's block, or one of the loop's own,
which is made and moved on from row to row by loops over its entries: lines for each would take LLVM as long.
The last elements of a row are copied to slots of a vector each, the body runs once more with a table of the slots, and
what it has stored is copied from there. INVARIANT: behind the last element a slot has the first one of these again, so
that no lane reports anything of its own; nothing is read or written beside the arrays' elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from dynamo_lite.backends.numba.llvm_text import Seen, can_mask

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.program.ir import ANY, For, Load, Memref, Store, Value, View, statuses_of

if TYPE_CHECKING:
    from dynamo_lite.backends.numba.emit import Emitter

FEW = 8  # addresses that are read before the loop over vectors, for registers hold them
LINE = 64  # what slots are aligned to

Alike = tuple[int, bool, bool]  # bytes of an element, whether it is packed, whether it is copied by vectors


class PaddedLoop:
    """memrefs: what the body reaches; numbers: of their entries in the tables, of which `real` is that of the arrays.
    stepped: those that are not packed."""

    def __init__(self, emitter: Emitter, node: For, rows: For | None) -> None:
        self.emitter, self.node, self.rows = emitter, node, rows
        self.lines = emitter.lines
        self.label = self.lines.name("segment")
        self.loaded = list(dict.fromkeys(one.memref for one in node.body if isinstance(one, Load) and one.memref.axes))
        self.stored = list(dict.fromkeys(one.memref for one in node.body if isinstance(one, Store)))
        self.memrefs = list(dict.fromkeys([*self.loaded, *self.stored]))
        self.stepped = [memref for memref in self.memrefs if memref.axes[-1] == ANY]
        of_block = {memref: number for number, memref in enumerate(emitter.places)}
        self.by_block = all(memref in of_block for memref in self.memrefs)
        self.numbers = of_block if self.by_block else {memref: number for number, memref in enumerate(self.memrefs)}
        self.pitch = abi.PLACE_WORDS if self.by_block else 1
        self.behind = abi.PLACE_STRIDE if self.by_block else _whole(len(self.memrefs))
        self.real = "%block" if self.by_block else f"%{self.label}.places"
        self.slots, self.downs = f"%{self.label}.slots", f"%{self.label}.downs"
        self.whole = self.few = ""

    def run(self) -> None:
        """Write the loop."""
        emitter, lines, label, width = self.emitter, self.lines, self.label, self.node.lanes
        self.make_slots()
        columns = emitter.names[self.node.extent]
        lines.width = 0
        self.whole = lines.do(f"and i64 {columns}, {-width}")
        self.few = lines.do(f"sub i64 {columns}, {self.whole}")
        if not self.by_block:
            self.make_table()
        lines.put(f"  br label %{label}.head")
        lines.put(f"{label}.head:")
        lines.open_loop(width, [memref.dtype for memref in self.memrefs])
        lines.put(f"  br label %{label}.row")
        lines.put(f"{label}.row:")
        before: Seen = dict.fromkeys(statuses_of(self.node.body), "zeroinitializer")
        splats: dict[Value, str] = {}
        if self.rows is not None:
            lines.put(f"  %{label}.r = phi i64 [ 0, %{label}.head ], [ %{label}.r.next, %{label}.row.moved ]")
            for status, none in before.items():
                edges = f"[ {none}, %{label}.head ], [ %{label}.now.{status}, %{label}.row.moved ]"
                before[status] = f"%{label}.before.{status}"
                lines.put(f"  {before[status]} = phi {lines.mask_type} {edges}")
            splats = emitter.begin_row(self.rows, label)
        none = lines.do(f"icmp eq i64 {self.whole}, 0")
        lines.put(f"  br i1 {none}, label %{label}.prepare, label %{label}.pass")
        self.prepare(before)
        self.vectors(before, splats)
        lines.put(f"{label}.left:")
        done = lines.do(f"icmp eq ptr %{label}.table, {self.slots}")
        lines.put(f"  br i1 {done}, label %{label}.finish, label %{label}.check")
        lines.put(f"{label}.check:")
        nothing = lines.do(f"icmp eq i64 {self.few}, 0")
        lines.put(f"  br i1 {nothing}, label %{label}.row.end, label %{label}.prepare")
        lines.put(f"{label}.finish:")
        self.copy_all(self.stored, False, f"{label}.finish")
        lines.put(f"  br label %{label}.row.end")
        lines.put(f"{label}.row.end:")
        if self.rows is not None:
            self.move_on()
            lines.put(f"  br label %{label}.row.moved")
            lines.put(f"{label}.row.moved:")
            emitter.end_row(self.rows, label)
        for status in before:
            emitter.judge(f"%{label}.now.{status}", status)
        lines.width = 0

    # ---- tables ----

    def word(self, memref: Memref, of: int) -> int:
        """Where a memref's address or stride stands in a table."""
        return self.pitch * self.numbers[memref] + (self.behind if of == abi.PLACE_STRIDE else 0)

    def make_slots(self) -> None:
        """Have the slots and their table made where the function begins."""
        emitter, lines, slots = self.emitter, self.lines, self.slots
        each = max(memref.dtype.itemsize for memref in self.memrefs) * self.node.lanes
        each = (each + LINE - 1) // LINE * LINE
        emitter.slot_bytes = max(emitter.slot_bytes, each * len(self.memrefs))
        words = self.pitch * (1 + max(self.numbers[memref] for memref in self.memrefs))
        words = words if self.by_block else 2 * self.behind
        emitter.allocas.append(f"  {slots} = alloca [{words} x i64], align 8")
        if not self.by_block:
            emitter.allocas.append(f"  {self.real} = alloca [{words} x i64], align {LINE}")
            emitter.allocas.append(f"  {self.downs} = alloca [{self.behind} x i64], align {LINE}")

        def make(x: str) -> None:
            entry = self.entry(self.memrefs, x, slots)
            slot = lines.do(f"getelementptr i8, ptr %slot.memory, i64 {lines.do(f'mul i64 {x}, {each}')}")
            lines.put(f"  store ptr {slot}, ptr {entry}, align 8")
            if self.stepped:
                size = self.listed([memref.dtype.itemsize for memref in self.memrefs], x)
                lines.put(f"  store i64 {size}, ptr {self.at(entry, self.behind)}, align 8")

        with emitter.at_first() as previous:
            emitter.first_label = self.each(len(self.memrefs), previous, make)

    def make_table(self) -> None:
        """Make the table of the arrays, for the first row."""
        emitter, lines = self.emitter, self.lines
        views = {one.result: one for one in emitter.nodes if isinstance(one, View)}
        roots: dict[Memref, Memref] = {}
        shifts: set[tuple[str, ...]] = set()  # where a tile begins: the same of all that have rows
        for memref in self.memrefs:
            root, shift = memref, tuple[str, ...]()
            while root in views:
                inside = self.rows is not None and views[root].index == (self.rows.index,)
                shift = shift if inside else tuple(emitter.names[index] for index in views[root].index)
                root = views[root].source
            roots[memref] = root
            if root in emitter.places:
                shifts.add(shift)
        (shift,) = shifts or {()}
        places = [memref for memref in self.memrefs if roots[memref] in emitter.places]
        with_rows = emitter.function.rows is not None
        _, _, behind = kernel_block(len(emitter.places), len(emitter.loops))

        def make(x: str) -> None:
            numbers = [emitter.places.index(roots[memref]) for memref in places]
            word = self.listed([abi.PLACE_WORDS * number for number in numbers], x)
            place = lines.do(f"getelementptr i64, ptr %block, i64 {word}")
            address = self.loaded_word("ptr", place, abi.PLACE_POINTER)
            entry = self.entry(places, x, self.real)
            step = ""
            if self.stepped or shift:
                step = self.listed([0 if memref in self.stepped else memref.dtype.itemsize for memref in places], x)
            if self.stepped:
                given = self.loaded_word("i64", place, abi.PLACE_STRIDE)
                packed = lines.do(f"icmp ne i64 {step}, 0")
                step = lines.do(f"select i1 {packed}, i64 {step}, i64 {given}")
                lines.put(f"  store i64 {step}, ptr {self.at(entry, self.behind)}, align 8")
            steps = [step]
            if with_rows:
                number = self.listed(numbers, x)
                down = self.loaded_word("i64", self.at("%block", number), behind + abi.ROWS_STEPS)
                number = self.listed([self.numbers[memref] for memref in places], x)
                lines.put(f"  store i64 {down}, ptr {self.at(self.downs, number)}, align 8")
                steps = [down, step]
            for index, step in zip(shift, steps, strict=False):
                offset = lines.do(f"mul i64 {index}, {step}")
                address = lines.do(f"getelementptr i8, ptr {address}, i64 {offset}")
            lines.put(f"  store ptr {address}, ptr {entry}, align 8")

        if places:
            previous = lines.name("table")
            lines.put(f"  br label %{previous}")
            lines.put(f"{previous}:")
            self.each(len(places), previous, make)
        for memref in self.memrefs:
            if memref not in places:  # a buffer of a tile
                lines.put(f"  store ptr {emitter.pointers[roots[memref]]}, ptr {self.place_of(memref)}, align 8")
                if self.rows is not None:
                    down = emitter.product(emitter.columns, str(memref.dtype.itemsize))
                    at = self.at(self.downs, self.numbers[memref])
                    lines.put(f"  store i64 {down}, ptr {at}, align 8")

    def move_on(self) -> None:
        """Have the table of the arrays be that of the next row."""
        lines, few = self.lines, 4

        def move(x: str) -> None:
            first = lines.do(f"mul i64 {x}, {few}")
            at, by = self.at(self.real, first), self.at(self.downs, first)
            found, down = (lines.do(f"load <{few} x i64>, ptr {place}, align 8") for place in (at, by))
            lines.put(f"  store <{few} x i64> {lines.do(f'add <{few} x i64> {found}, {down}')}, ptr {at}, align 8")

        self.each(self.behind // few, f"{self.label}.row.end", move)

    def at(self, base: str, word: int | str) -> str:
        """The address of a word."""
        return self.lines.do(f"getelementptr i64, ptr {base}, i64 {word}") if word else base

    def loaded_word(self, kind: str, base: str, word: int | str) -> str:
        return self.lines.do(f"load {kind}, ptr {self.at(base, word)}, align 8")

    def place_of(self, memref: Memref) -> str:
        """Where a memref's address stands in the table of the arrays."""
        return self.at(self.real, self.word(memref, abi.PLACE_POINTER))

    def read(self, memref: Memref, of: int, kind: str) -> str:
        """A word of a memref of the table that is in use."""
        return self.loaded_word(kind, f"%{self.label}.table", self.word(memref, of))

    def listed(self, numbers: list[int], x: str) -> str:
        """Number x of some constants."""
        if len(set(numbers)) == 1:
            return str(numbers[0])
        if numbers == list(range(len(numbers))):
            return x
        return self.loaded_word("i64", self.emitter.table_of(numbers), x)

    def entry(self, memrefs: list[Memref], x: str, table: str) -> str:
        """The entry of number x of some memrefs."""
        word = self.listed([self.word(memref, abi.PLACE_POINTER) for memref in memrefs], x)
        return self.at(table, word if word != "0" else 0)

    def each(self, count: int | str, previous: str, body: Callable[[str], str | None]) -> str:
        """A loop over a count of at least 1, from the block `previous` on; the block that it ends with. body: from an
        index to the block that it ends with, unless that is the one it began with."""
        lines, label = self.lines, self.lines.name("each")
        lines.put(f"  br label %{label}")
        lines.put(f"{label}:")
        place = len(lines.text)
        last = body(f"%{label}.x") or label
        lines.text.insert(place, f"  %{label}.x = phi i64 [ 0, %{previous} ], [ %{label}.x.next, %{last} ]")
        lines.put(f"  %{label}.x.next = add i64 %{label}.x, 1")
        more = lines.do(f"icmp slt i64 %{label}.x.next, {count}")
        lines.put(f"  br i1 {more}, label %{label}, label %{label}.end")
        lines.put(f"{label}.end:")
        return f"{label}.end"

    # ---- the body ----

    def vectors(self, before: Seen, splats: dict[Value, str]) -> None:
        """The body, over the whole vectors of a row or over the slots. before: what was seen, where that is judged."""
        emitter, lines, label, node = self.emitter, self.lines, self.label, self.node

        def either(name: str, kind: str, of_row: str, of_slots: str) -> None:
            edges = f"[ {of_row}, %{label}.row ], [ {of_slots}, %{label}.prepared ]"
            lines.put(f"  %{label}.{name} = phi {kind} {edges}")

        lines.put(f"{label}.pass:")
        either("table", "ptr", self.real, self.slots)
        either("limit", "i64", self.whole, str(node.lanes))
        for status, seen in before.items():
            either(f"first.{status}", lines.mask_type, seen, f"%{label}.so.far.{status}")
        steps = {memref: self.read(memref, abi.PLACE_STRIDE, "i64") for memref in self.stepped}
        few = len(self.memrefs) <= FEW
        pointers = {memref: self.read(memref, abi.PLACE_POINTER, "ptr") for memref in self.memrefs if few}
        lines.put(f"  br label %{label}.vector")
        lines.put(f"{label}.vector:")
        index, counted = f"%{label}.i", f"%{label}.counted"
        lines.put(f"  {counted} = phi i64 [ 0, %{label}.pass ], [ %{label}.next, %{label}.vector ]")
        for status in before:
            edges = f"[ %{label}.first.{status}, %{label}.pass ], [ %{label}.now.{status}, %{label}.vector ]"
            lines.put(f"  %{label}.seen.{status} = phi {lines.mask_type} {edges}")
        lines.put(emitter.not_stepped(index, counted))
        emitter.reached = lambda memref: pointers.get(memref) or self.read(memref, abi.PLACE_POINTER, "ptr")
        emitter.steps_now = steps
        met = emitter.at(node, splats, index, "")
        emitter.reached, emitter.steps_now = None, {}
        for status, now in met.items():
            lines.put(f"  %{label}.now.{status} = or {lines.mask_type} %{label}.seen.{status}, {now}")
        lines.put(f"  %{label}.next = add i64 {index}, {node.lanes}")
        more = lines.do(f"icmp slt i64 %{label}.next, %{label}.limit")
        lines.put(f"  br i1 {more}, label %{label}.vector, label %{label}.left")

    # ---- the slots ----

    def prepare(self, before: Seen) -> None:
        """Copy a row's last elements to the slots."""
        lines, label = self.lines, self.label
        lines.put(f"{label}.prepare:")
        for status, seen in before.items():
            edges = f"[ {seen}, %{label}.row ], [ %{label}.now.{status}, %{label}.check ]"
            lines.put(f"  %{label}.so.far.{status} = phi {lines.mask_type} {edges}")
        self.copy_all(self.loaded, True, f"{label}.prepare")
        lines.put(f"  br label %{label}.prepared")
        lines.put(f"{label}.prepared:")
        lines.put(f"  br label %{label}.pass")

    def copy_all(self, memrefs: list[Memref], to_slots: bool, previous: str) -> None:
        """Copy the last elements of some memrefs, those at once that are alike."""
        alike: dict[Alike, list[Memref]] = {}
        for memref in memrefs:
            size, packed = memref.dtype.itemsize, memref.axes[-1] != ANY
            by_vectors = packed and memref.dtype.kind != "c" and can_mask(size)
            alike.setdefault((size, packed, by_vectors), []).append(memref)
        for (size, packed, by_vectors), some in alike.items():
            previous = self.copy(some, to_slots, size if packed else 0, by_vectors, previous)

    def copy(self, memrefs: list[Memref], to_slots: bool, stride: int, by_vectors: bool, previous: str) -> str:
        """Copy the last elements of memrefs that are alike; the block that this ends with. stride: 0 if the table has
        it."""
        lines, width = self.lines, self.node.lanes
        dtype = np.dtype(f"i{memrefs[0].dtype.itemsize}") if by_vectors else memrefs[0].dtype
        scalar = f"i{8 * dtype.itemsize}"
        mask = self.mask() if by_vectors else ""

        def vector(at: str, slot: str) -> None:
            at = lines.do(f"getelementptr {scalar}, ptr {at}, i64 {self.whole}")
            if to_slots:
                first = lines.do(f"load {scalar}, ptr {at}, align 1")
                items = lines.masked_load(dtype, at, mask, lines.splat_of(dtype, first, here=True))
                lines.put(f"  store <{width} x {scalar}> {items}, ptr {slot}, align {LINE}")
            else:
                items = lines.do(f"load <{width} x {scalar}>, ptr {slot}, align {LINE}")
                lines.masked_store(dtype, at, mask, items)

        def item(at: str, slot: str, step: str, j: str) -> None:
            inside = lines.do(f"icmp slt i64 {j}, {self.few}")
            place = lines.do(f"select i1 {inside}, i64 {j}, i64 0") if to_slots else j
            offset = lines.do(f"mul i64 {lines.do(f'add i64 {place}, {self.whole}')}, {step}")
            at = lines.do(f"getelementptr i8, ptr {at}, i64 {offset}")
            slot = lines.do(f"getelementptr {scalar}, ptr {slot}, i64 {j}")
            source, target = (at, slot) if to_slots else (slot, at)
            lines.put(f"  store {scalar} {lines.do(f'load {scalar}, ptr {source}, align 1')}, ptr {target}, align 1")

        def one(x: str) -> str | None:
            entry = self.entry(memrefs, x, self.real)
            at = lines.do(f"load ptr, ptr {entry}, align 8")
            slot = lines.do(f"load ptr, ptr {self.entry(memrefs, x, self.slots)}, align 8")
            if by_vectors:
                vector(at, slot)
                return None
            step = str(stride)
            if not stride:
                step = self.loaded_word("i64", entry, self.behind)
            here = x[1:].removesuffix(".x")
            return self.each(width if to_slots else self.few, here, lambda j: item(at, slot, step, j))

        return self.each(len(memrefs), previous, one)

    def mask(self) -> str:
        """The lanes of a row's last elements."""
        lines, width = self.lines, self.node.lanes
        count = lines.splat_here("i64", self.few)
        return lines.do(f"icmp ult <{width} x i64> <{', '.join(f'i64 {lane}' for lane in range(width))}>, {count}")


def _whole(count: int) -> int:
    """So many words, or up to three more, that whole vectors hold."""
    return (count + 3) // 4 * 4
