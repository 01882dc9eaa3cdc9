"""Writes functions that iterate: what a loop carries stays in vector registers over all iterations.

Enters a Function whose loop over elements holds one over iterations; leaves LLVM text. Two more words stand behind the
block: the number of iterations, at least one, and the bytes from one address of a row to that of the next iteration's.
Tiles of some vectors are loaded, iterated and stored; a tile that is not whole, or not packed, goes by way of a packed
copy, in which the last element stands again where there is none, so that no lane computes what no element does.
INVARIANT: the results lie where the carried operands do, and a tile is loaded before anything of it is stored.
"""

from __future__ import annotations

from dynamo_lite.backends.numba.emit import Emitter
from dynamo_lite.backends.numba.llvm_text import scalar_type

from dynamo_lite.program.ir import ANY, TABLE, Element, For, Function, Keep, Load, Memref, Node, Note, Store, used
from dynamo_lite.program.values import Values, emit_element, literal


def emit_iterations(function: Function, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return _Iterated(function, name).run()


class _Iterated(Emitter):
    """before: what stands in the loop over elements before that over iterations; after: behind it. moving: the arrays
    of which each element has its own element; rows: those that are elsewhere in each iteration."""

    def __init__(self, function: Function, name: str) -> None:
        super().__init__(function, name)
        (self.loop,) = (node for node in function.body if isinstance(node, For))
        (self.inner,) = (node for node in self.loop.body if isinstance(node, For))
        at = next(place for place, node in enumerate(self.loop.body) if node is self.inner)
        self.before = [node for node in self.loop.body[:at] if isinstance(node, Load)]
        self.prepared = [node for node in self.loop.body[:at] if isinstance(node, Element)]
        self.after = self.loop.body[at + 1 :]
        accesses = [node for node in self.nodes if isinstance(node, Load | Store) and self.loop.index in node.index]
        found = {node.memref for node in accesses}
        self.moving = [memref for memref in self.places if memref in found]
        self.rows = [memref for memref in self.moving if memref.axes[0] == TABLE]

    def body(self) -> list[str]:
        lines = self.lines
        self.steps(tuple(node for node in self.function.body if node is not self.loop))
        lying = [memref for memref in self.moving if memref not in self.rows]
        lanes = self.loop.lanes
        widths = [lanes * self.loop.parts]
        while widths[-1] > lanes:
            widths.append(widths[-1] // 2)
        for memref in self.moving:
            size = memref.dtype.itemsize * widths[0]
            lines.put(f"  %{self.stems[memref]}.copy = alloca [{size} x i8], align 64")
        lines.put("  br label %tile")
        lines.put("tile:")
        lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.done ]")
        lines.put("  %left = sub i64 %n, %at")
        chosen = str(widths[-1])
        for narrow, wide in zip(widths[::-1][:-1], widths[::-1][1:], strict=True):
            more = lines.do(f"icmp sgt i64 %left, {narrow}")
            chosen = lines.do(f"select i1 {more}, i64 {wide}, i64 {chosen}")
        lines.put(f"  %width = add i64 0, {chosen}")
        lines.put("  %whole = icmp sge i64 %left, %width")
        lines.put("  %valid = select i1 %whole, i64 %width, i64 %left")
        for memref in self.moving:
            if memref.axes[-1] == ANY:  # in a packed copy the elements lie side by side
                stem, size = self.stems[memref], memref.dtype.itemsize
                lines.put(f"  %{stem}.step = select i1 %whole, i64 %{stem}.stride, i64 {size}")
        lines.put("  br i1 %whole, label %in.place, label %gather")
        lines.put("in.place:")
        for memref in lying:
            self.here(memref, f"%{self.stems[memref]}.base", "")
        lines.put("  br label %dispatch")
        lines.put("gather:")
        self.copy_loop("gather", "%width", [memref for memref in lying if memref.space == "operand"], True)
        lines.put("  br label %dispatch")
        lines.put("dispatch:")
        for memref in lying:
            stem = self.stems[memref]
            lines.put(f"  %{stem} = phi ptr [ %{stem}.here, %in.place ], [ %{stem}.copy, %gather.end ]")
        cases = " ".join(f"i64 {width}, label %version{width}" for width in widths[1:])
        lines.put(f"  switch i64 %width, label %version{widths[0]} [ {cases} ]")
        for width in widths:
            self.version(width)
        lines.put("tile.end:")
        lines.put("  br i1 %whole, label %tile.done, label %scatter")
        lines.put("scatter:")
        self.copy_loop("scatter", "%valid", [memref for memref in lying if memref.space == "result"], False)
        lines.put("  br label %tile.done")
        lines.put("tile.done:")
        lines.put("  %at.next = add i64 %at, %width")
        more = lines.do("icmp slt i64 %at.next, %n")
        lines.put(f"  br i1 {more}, label %tile, label %finish")
        lines.put("finish:")
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        return lines.text

    def here(self, memref: Memref, base: str, label: str) -> None:
        """Where the tile's first element lies, in an array or row that begins at `base`."""
        stem = self.stems[memref]
        kind, offset = scalar_type(memref.dtype), "%at"
        if memref.axes[-1] == ANY:
            kind, offset = "i8", self.lines.do(f"mul i64 %at, %{stem}.stride")
        self.lines.put(f"  %{label}{stem}.here = getelementptr {kind}, ptr {base}, i64 {offset}")

    def copy_loop(self, label: str, count: str, memrefs: list[Memref], into: bool, rows: str = "") -> None:
        """A loop over `count` lanes between arrays and packed copies; behind the last element comes the last again."""
        lines = self.lines
        lines.put(f"  br label %{label}.lane")
        lines.put(f"{label}.lane:")
        lines.put(f"  %{label}.i = phi i64 [ 0, %{label} ], [ %{label}.next, %{label}.lane ]")
        wanted = lines.do(f"add i64 %at, %{label}.i")
        beyond = lines.do(f"icmp sge i64 {wanted}, %n")
        last = lines.do("sub i64 %n, 1")
        index = lines.do(f"select i1 {beyond}, i64 {last}, i64 {wanted}")
        for memref in memrefs:
            stem, dtype = self.stems[memref], memref.dtype
            scalar = scalar_type(dtype)
            offset = lines.do(f"mul i64 {index}, {self.stride(memref)}")
            base = f"%{rows}.{stem}.row" if rows else f"%{stem}.base"
            there = lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")
            here = lines.do(f"getelementptr {scalar}, ptr %{stem}.copy, i64 %{label}.i")
            source, target = (there, here) if into else (here, there)
            item = lines.do(f"load {scalar}, ptr {source}, align {dtype.alignment}")
            lines.put(f"  store {scalar} {item}, ptr {target}, align {dtype.alignment}")
        lines.put(f"  %{label}.next = add i64 %{label}.i, 1")
        more = lines.do(f"icmp slt i64 %{label}.next, {count}")
        lines.put(f"  br i1 {more}, label %{label}.lane, label %{label}.end")
        lines.put(f"{label}.end:")

    def version(self, width: int) -> None:
        """The iterations of a tile of `width` elements."""
        lines, lanes, label, inner = self.lines, self.loop.lanes, f"version{width}", self.inner
        parts = range(width // lanes)
        lines.put(f"{label}:")
        lines.open_loop(lanes, [node.memref.dtype for node in self.nodes if isinstance(node, Load | Store)])
        starts = [{node.result: self.vector(node.memref, part) for node in self.before} for part in parts]
        for start in starts:
            prepared = Values(lines, start)
            self.computed(self.prepared, prepared)
            start |= prepared.memory
        lines.put(f"  br label %{label}.loop")
        lines.put(f"{label}.loop:")
        again = f"{label}.tail" if self.rows else f"{label}.loop"
        counter = f"  %{label}.i = phi i64 [ 0, %{label} ], [ %{label}.next, %{again} ]"
        lines.put(counter)
        self.open_rows(label)
        loads = [node for node in inner.body if isinstance(node, Load)]
        stepped = {
            load.result: self.stepped(load, f"%{label}.i")
            for load in loads
            if load.memref not in self.moving and load.memref.space == "operand"
        }
        outside = dict.fromkeys(value for node in inner.body for value in used(node) if value in self.numbers)
        tiles = []
        for part in parts:
            memory = starts[part] | stepped
            memory |= {load.result: self.vector(load.memref, part, label) for load in loads if load.memref in self.rows}
            memory |= {one.value: f"%{label}.{part}.{one.value.name}" for one in inner.carried}
            memory |= {value: lines.splat_of(value.dtype, self.numbers[value]) for value in outside}
            for load in loads:
                if load.memref.space == "constant":
                    memory[load.result] = literal(lines, load.memref.dtype, load.memref.number)
            tiles.append(Values(lines, memory))
        for node in inner.body:
            for values in tiles:
                if isinstance(node, Element):
                    emit_element(lines, node, values)
        conditions: dict[int, list[str]] = {}
        for values in tiles:
            for node in inner.body:
                if isinstance(node, Note):
                    conditions.setdefault(node.status, []).append(values.operand(node.condition))
                elif isinstance(node, Keep):
                    self.sink(node.value, values)
        met = self.joined(conditions)
        handed_on = [inside for inside, _ in inner.last] + [one.next for one in inner.carried]
        for values in tiles:
            for value in handed_on:
                values.in_memory(value)
        for status, now in met.items():
            met[status] = lines.do(f"or {lines.mask_type} %{label}.seen.{status}, {now}")
        for part, values in zip(parts, tiles, strict=True):
            self.stores(inner.body, part, values, label)
        self.close_rows(label)
        lines.put(f"  %{label}.next = add i64 %{label}.i, 1")
        more = lines.do(f"icmp slt i64 %{label}.next, %iterations")
        lines.put(f"  br i1 {more}, label %{label}.loop, label %{label}.end")
        phis = []
        for part, values in zip(parts, tiles, strict=True):
            for one in inner.carried:
                first, later = starts[part][one.first], values.in_memory(one.next)
                kind = lines.type_of(one.value.dtype)
                name = f"%{label}.{part}.{one.value.name}"
                phis.append(f"  {name} = phi {kind} [ {first}, %{label} ], [ {later}, %{again} ]")
        for status, now in met.items():
            edges = f"[ zeroinitializer, %{label} ], [ {now}, %{again} ]"
            phis.append(f"  %{label}.seen.{status} = phi {lines.mask_type} {edges}")
        at = lines.text.index(counter) + 1  # splats were placed before the loop in the meantime
        lines.text[at:at] = phis
        lines.put(f"{label}.end:")
        conditions = {status: [now] for status, now in met.items()}
        for values in tiles:
            for inside, after in inner.last:
                values.same(after, inside)
            for status, now in self.computed(self.after, values).items():
                conditions.setdefault(status, []).append(now)
        for status, now in self.joined(conditions).items():
            self.judge(now, status)
        for part, values in zip(parts, tiles, strict=True):
            self.stores(self.after, part, values)
        lines.put("  br label %tile.end")
        lines.width = 0

    def open_rows(self, label: str) -> None:
        """Find the rows of this iteration; in a tile that is not direct, copy what is read of them."""
        if not self.rows:
            return
        lines, rows = self.lines, self.rows
        for memref in rows:
            offset = lines.do(f"mul i64 %{label}.i, %row.bytes")
            at = lines.do(f"getelementptr i8, ptr %{self.stems[memref]}.base, i64 {offset}")
            lines.put(f"  %{label}.{self.stems[memref]}.row = load ptr, ptr {at}, align 8")
        lines.put(f"  br i1 %whole, label %{label}.here, label %{label}.gather")
        lines.put(f"{label}.here:")
        for memref in rows:
            self.here(memref, f"%{label}.{self.stems[memref]}.row", f"{label}.")
        lines.put(f"  br label %{label}.go")
        lines.put(f"{label}.gather:")
        read = [memref for memref in rows if memref.space == "operand"]
        self.copy_loop(f"{label}.gather", f"{label.removeprefix('version')}", read, True, label)
        lines.put(f"  br label %{label}.go")
        lines.put(f"{label}.go:")
        for memref in rows:
            stem = self.stems[memref]
            edges = f"[ %{label}.{stem}.here, %{label}.here ], [ %{stem}.copy, %{label}.gather.end ]"
            lines.put(f"  %{label}.{stem} = phi ptr {edges}")

    def close_rows(self, label: str) -> None:
        """In a tile that is not direct, copy to their places what has been stored into rows."""
        if not self.rows:
            return
        lines = self.lines
        lines.put(f"  br i1 %whole, label %{label}.tail, label %{label}.scatter")
        lines.put(f"{label}.scatter:")
        stored = [memref for memref in self.rows if memref.space == "result"]
        self.copy_loop(f"{label}.scatter", "%valid", stored, False, label)
        lines.put(f"  br label %{label}.tail")
        lines.put(f"{label}.tail:")

    def vector(self, memref: Memref, part: int, rows: str = "") -> str:
        """A vector of an operand, in its place or in a packed copy; rows: of a row, in the loop of that label."""
        lines, dtype = self.lines, memref.dtype
        kind = lines.type_of(dtype)
        base = f"%{rows}.{self.stems[memref]}" if rows else f"%{self.stems[memref]}"
        if memref.axes[-1] != ANY:
            at = lines.do(f"getelementptr {kind}, ptr {base}, i64 {part}")
            return lines.reordered(dtype, lines.do(f"load {kind}, ptr {at}, align {dtype.alignment}"))
        vector = "poison"
        for lane in range(lines.width):
            at = self.lane(memref, base, part, lane)
            item = lines.do(f"load {lines.item_type(dtype)}, ptr {at}, align {dtype.alignment}")
            vector = lines.insert(dtype, vector, item, lane)
        return lines.reordered(dtype, vector)

    def lane(self, memref: Memref, base: str, part: int, lane: int) -> str:
        """The address of one element of a vector that does not lie packed."""
        offset = self.lines.do(f"mul i64 %{self.stems[memref]}.step, {part * self.lines.width + lane}")
        return self.lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")

    def stores(self, nodes: tuple[Node, ...], part: int, values: Values, rows: str = "") -> None:
        """Store the results of one vector; rows: those that are rows, in the loop of that label."""
        lines = self.lines
        for node in nodes:
            if not isinstance(node, Store):
                continue
            memref, value = node.memref, lines.reordered(node.memref.dtype, values.in_memory(node.value))
            kind, align = lines.type_of(memref.dtype), memref.dtype.alignment
            base = f"%{rows}.{self.stems[memref]}" if rows else f"%{self.stems[memref]}"
            if memref.axes[-1] != ANY:
                at = lines.do(f"getelementptr {kind}, ptr {base}, i64 {part}")
                lines.put(f"  store {kind} {value}, ptr {at}, align {align}")
                continue
            for lane in range(lines.width):
                item = lines.extract(memref.dtype, value, lane)
                at = self.lane(memref, base, part, lane)
                lines.put(f"  store {lines.item_type(memref.dtype)} {item}, ptr {at}, align {align}")

    def stepped(self, node: Load, iteration: str) -> str:
        """The number of this iteration, in every lane."""
        lines, dtype, stem = self.lines, node.memref.dtype, self.stems[node.memref]
        offset = lines.do(f"mul i64 {iteration}, %{stem}.stride")
        at = lines.do(f"getelementptr i8, ptr %{stem}.base, i64 {offset}")
        item = lines.do(f"load {scalar_type(dtype)}, ptr {at}, align {dtype.alignment}")
        return lines.splat_of(dtype, item, here=True)
