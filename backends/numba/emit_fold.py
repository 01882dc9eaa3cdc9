"""Writes functions that fold: a reduction along outer axes whose accumulators stay in vector registers.

Enters a Function whose loop over elements holds those over two axes; leaves LLVM text. The function folds n packed
numbers at the result's place, lane by lane, with the kernel's values at each index of the two axes, the outer one
first. Behind the block stand the lengths of these (the inner one's first), and the bytes that each operand moves along
the inner one, then along the outer one. INVARIANT: each number meets its values in the order of the axes. The
function returns 0, or RETURNED_MET_NAN where an extreme met a NaN or -0.0; a NaN among sums is for the caller to see.
"""

from __future__ import annotations

from dynamo_lite.backends.numba.emit import Emitter
from dynamo_lite.backends.numba.llvm_text import scalar_type

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.program.ir import PACKED, DType, For, Function, Load, Memref, Note
from dynamo_lite.program.values import Values, literal


def emit_fold(function: Function, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return _Folding(function, name).run()


class _Folding(Emitter):
    """outer, inner: the loops over the two axes, inside that over elements. moving: the operands."""

    def __init__(self, function: Function, name: str) -> None:
        super().__init__(function, name)
        (self.loop,) = (node for node in function.body if isinstance(node, For))
        (self.outer,) = (node for node in self.loop.body if isinstance(node, For))
        (self.inner,) = (node for node in self.outer.body if isinstance(node, For))
        (self.target,) = function.results
        loaded = {node.memref for node in self.inner.body if isinstance(node, Load)}
        self.moving = [memref for memref in function.operands if memref in loaded]

    def widths(self) -> list[int]:
        """How many lanes are folded at once, the most first."""
        width, parts = self.loop.lanes, self.loop.parts
        widths = [parts * width, parts // 2 * width] if parts > 1 else []
        while width > 1:
            widths.append(width)
            width //= 2
        return [*widths, 1]

    def entry(self) -> list[str]:
        operands = self.function.operands
        _, _, behind = kernel_block(len(self.places), 0)
        lengths = ["inner.n", "outer.n"]
        steps = [f"o{memref.index}.{axis}" for axis in ("inner", "outer") for memref in operands]
        words = [*enumerate(lengths, behind + abi.FOLD_LENGTHS), *enumerate(steps, behind + abi.FOLD_STEPS)]
        lines = super().entry()
        for word, name in words:
            lines.append(f"  %{name}.at = getelementptr i64, ptr %block, i64 {word}")
            lines.append(f"  %{name} = load i64, ptr %{name}.at, align 8")
        for memref in operands:  # from the end of an inner axis to the next one's begin
            stem = self.stems[memref]
            lines.append(f"  %{stem}.back = mul i64 %{stem}.inner, %inner.n")
            lines.append(f"  %{stem}.carry = sub i64 %{stem}.outer, %{stem}.back")
        return lines

    def body(self) -> list[str]:
        lines, widths = self.lines, self.widths()
        lines.put("  br label %tile")
        lines.put("tile:")
        lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
        lines.put("  %left = sub i64 %n, %at")
        for width in widths[:-1]:
            fits = lines.do(f"icmp sge i64 %left, {width}")
            lines.put(f"  br i1 {fits}, label %lanes{width}, label %under{width}")
            lines.put(f"under{width}:")
        lines.put("  br label %lanes1")
        for width in widths:
            self.lanes(width)
        lines.put("tile.end:")
        edges = ", ".join(f"[ {width}, %lanes{width}.end ]" for width in widths)
        lines.put(f"  %width = phi i64 {edges}")
        lines.put("  %at.next = add i64 %at, %width")
        lines.put("  %more = icmp slt i64 %at.next, %n")
        lines.put("  br i1 %more, label %tile, label %finish")
        lines.put("finish:")
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        return lines.text

    def lanes(self, width: int) -> None:
        """Fold `width` numbers."""
        lines, label = self.lines, f"lanes{width}"
        dtype = self.target.dtype
        kind, align = self.kind(dtype, width), dtype.alignment
        lines.put(f"{label}:")
        into = lines.do(f"getelementptr {scalar_type(dtype)}, ptr %r0.base, i64 %at")
        start = lines.do(f"load {kind}, ptr {into}, align {align}")
        begins = {self.stems[memref]: self.begin(memref) for memref in self.moving}
        moving = list(begins)
        lines.put(f"  br label %{label}.outer")
        lines.put(f"{label}.outer:")
        self.phi(f"{label}.j", "i64", "0", label, f"{label}.j.next", f"{label}.on")
        self.phi(f"{label}.sum", kind, start, label, f"{label}.folded", f"{label}.on")
        for stem in moving:
            self.phi(f"{label}.{stem}.p", "ptr", begins[stem], label, f"{label}.{stem}.p.carried", f"{label}.on")
        lines.width = width if width > 1 else 0
        if self.judges:
            none = "zeroinitializer" if width > 1 else "false"
            self.phi(f"{label}.was", lines.mask_type, none, label, f"{label}.seen.now", f"{label}.on")
        lines.open_loop(lines.width)
        lines.put(f"  br label %{label}.inner")
        lines.put(f"{label}.inner:")
        self.phi(f"{label}.i", "i64", "0", f"{label}.outer", f"{label}.i.next", f"{label}.inner")
        self.phi(f"{label}.acc", kind, f"%{label}.sum", f"{label}.outer", f"{label}.folded", f"{label}.inner")
        for stem in moving:
            entry, again = f"%{label}.{stem}.p", f"{label}.{stem}.q.next"
            self.phi(f"{label}.{stem}.q", "ptr", entry, f"{label}.outer", again, f"{label}.inner")
        if self.judges:
            first, later = f"%{label}.was", f"{label}.seen.now"
            self.phi(f"{label}.seen", lines.mask_type, first, f"{label}.outer", later, f"{label}.inner")
        folded = self.at_index(label, width)
        lines.put(f"  %{label}.folded = bitcast {kind} {folded} to {kind}")
        for stem in moving:
            step = f"ptr %{label}.{stem}.q, i64 %{stem}.inner"
            lines.put(f"  %{label}.{stem}.q.next = getelementptr i8, {step}")
        self.close(f"{label}.i", "inner", f"{label}.inner", f"{label}.on")
        for stem in moving:
            step = f"ptr %{label}.{stem}.q.next, i64 %{stem}.carry"
            lines.put(f"  %{label}.{stem}.p.carried = getelementptr i8, {step}")
        self.close(f"{label}.j", "outer", f"{label}.outer", f"{label}.end")
        lines.put(f"  store {kind} %{label}.folded, ptr {into}, align {align}")
        if self.judges:
            (status,) = {node.status for node in self.nodes if isinstance(node, Note)}
            self.judge(f"%{label}.seen.now", status)
        lines.put("  br label %tile.end")
        lines.width = 0

    def kind(self, dtype: DType, width: int) -> str:
        return f"<{width} x {scalar_type(dtype)}>" if width > 1 else scalar_type(dtype)

    def phi(self, name: str, kind: str, first: str, before: str, later: str, again: str) -> None:
        self.lines.put(f"  %{name} = phi {kind} [ {first}, %{before} ], [ %{later}, %{again} ]")

    def close(self, counter: str, axis: str, again: str, behind: str) -> None:
        """The end of a loop along an axis."""
        lines = self.lines
        lines.put(f"  %{counter}.next = add i64 %{counter}, 1")
        more = lines.do(f"icmp slt i64 %{counter}.next, %{axis}.n")
        lines.put(f"  br i1 {more}, label %{again}, label %{behind}")
        lines.put(f"{behind}:")

    def begin(self, memref: Memref) -> str:
        """Where an operand's first element of this tile lies."""
        lines, base = self.lines, self.pointers[memref]
        if len(memref.axes) < 3:
            return base
        return lines.do(f"getelementptr i8, ptr {base}, i64 {lines.do(f'mul i64 %at, {self.stride(memref)}')}")

    def at_index(self, label: str, width: int) -> str:
        """The accumulators folded with the kernel's values at one index."""
        lines = self.lines
        (sum,) = self.inner.carried
        values = Values(lines, {sum.value: f"%{label}.acc"})
        for node in self.inner.body:
            if isinstance(node, Load):
                memref = node.memref
                constant = memref.space == "constant"
                name = literal(lines, memref.dtype, memref.number) if constant else self.lane_load(memref, label, width)
                values.memory[node.result] = name
                values.loaded.add(node.result)
        for met in self.computed(self.inner.body, values).values():  # there is one status at most
            lines.put(f"  %{label}.seen.now = or {lines.mask_type} %{label}.seen, {met}")
        return values.in_memory(sum.next)

    def lane_load(self, memref: Memref, label: str, width: int) -> str:
        """An operand in every lane."""
        lines, dtype = self.lines, memref.dtype
        at = f"%{label}.{self.stems[memref]}.q"
        scalar, lanes = scalar_type(dtype), self.kind(dtype, width)
        if width == 1 or memref.axes[2:] == (PACKED,):
            return lines.do(f"load {lanes}, ptr {at}, align {dtype.alignment}")
        if len(memref.axes) < 3:
            return lines.splat_here(scalar, lines.do(f"load {scalar}, ptr {at}, align {dtype.alignment}"))
        vector = "poison"
        for lane in range(width):
            offset = lines.do(f"mul i64 {self.stride(memref)}, {lane}")
            here = lines.do(f"getelementptr i8, ptr {at}, i64 {offset}")
            item = lines.do(f"load {scalar}, ptr {here}, align {dtype.alignment}")
            vector = lines.do(f"insertelement {lanes} {vector}, {scalar} {item}, i64 {lane}")
        return vector
