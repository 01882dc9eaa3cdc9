"""Kernels that fold: a reduction along outer axes whose accumulators stay in vector registers.

Enters a Kernel with ``fold`` and its stride classes, of the result "i"; leaves LLVM text. The function folds n packed
numbers at the result's place, lane by lane, with the kernel's values at each index of two more axes, the outer one
first. Behind the block stand the lengths of these (the inner one's first), and the bytes that each operand moves along
the inner one, then along the outer one. INVARIANT: each number meets its values in the order of the axes. The
function returns 0, or RETURNED_MET_NAN where an extreme met a NaN or -0.0; a NaN among sums is for the caller to see.
"""

from __future__ import annotations

import numpy as np
from dynamo_lite.backends.numba import exact_ops
from dynamo_lite.backends.numba.codegen import Generator, Values, emit_op, literal
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.plan import Plan, Segment, options, plan

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.schedule.steps import DType, Kernel

FOLDS = {"add": "iuf", "multiply": "iu", "maximum": "iuf", "minimum": "iuf"}  # and the classes of dtypes
MOST_OPS = 40
WIDE_OPS = 8  # more of them leave no registers for several vectors of each value
VECTORS = 4  # of each value at most
VECTOR_BYTES = abi.FOLD_BYTES // VECTORS


def folds(kernel: Kernel, ufunc: np.ufunc) -> bool:
    """Whether the kernel can fold its values itself: all compiled, and what happens in one shows in the result."""
    dtypes = [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]
    (value,) = kernel.results
    kind = exact_ops.class_of(dtypes[value])
    few = len(kernel.operand_dtypes) <= abi.FOLD_OPERANDS and len(kernel.ops) <= MOST_OPS
    if not few or kind not in FOLDS.get(ufunc.__name__, "") or any(op.op == "loop" for op in kernel.ops):
        return False
    steps = plan(kernel, "c" * (len(kernel.operand_dtypes) + 1)).steps
    if len(steps) != 1 or not isinstance(steps[0], Segment):
        return False
    kept = all(place.kind != "sink" for _, place in steps[0].stores)
    return kept and set(steps[0].tests) <= ({value} if kind == "f" else set())


def plan_fold(kernel: Kernel, classes: str) -> Plan:
    """The plan of a kernel that folds; classes as for ``plan``, and "i" for the result."""
    return plan(kernel, options(classes)[0][:-1] + "c")


def generate_fold(planned: Plan, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return _Folding(planned, name).run()


class _Folding(Generator):
    def __init__(self, planned: Plan, name: str) -> None:
        super().__init__(planned, name)
        assert self.kernel.fold is not None
        self.fold = self.kernel.fold.__name__
        self.dtype = self.dtypes[self.kernel.results[0]]
        self.judges = self.fold in ("maximum", "minimum") and self.dtype.kind == "f"
        (segment,) = planned.steps
        assert isinstance(segment, Segment)
        self.segment = segment

    def widths(self) -> list[int]:
        """How many lanes are folded at once, the most first."""
        width = VECTOR_BYTES // max(dtype.itemsize for dtype in self.dtypes)
        widths = [VECTORS * width, VECTORS // 2 * width] if len(self.kernel.ops) <= WIDE_OPS else []
        while width > 1:
            widths.append(width)
            width //= 2
        return [*widths, 1]

    def _entry(self) -> list[str]:
        _, _, behind = kernel_block(self.n_operands + 1, 0)
        lengths = ["inner.n", "outer.n"]
        steps = [f"o{value}.{axis}" for axis in ("inner", "outer") for value in range(self.n_operands)]
        words = [*enumerate(lengths, behind + abi.FOLD_LENGTHS), *enumerate(steps, behind + abi.FOLD_STEPS)]
        lines = super()._entry()
        for word, name in words:
            lines.append(f"  %{name}.at = getelementptr i64, ptr %block, i64 {word}")
            lines.append(f"  %{name} = load i64, ptr %{name}.at, align 8")
        for value in range(self.n_operands):  # from the end of an inner axis to the next one's begin
            lines.append(f"  %o{value}.back = mul i64 %o{value}.inner, %inner.n")
            lines.append(f"  %o{value}.carry = sub i64 %o{value}.outer, %o{value}.back")
        return lines

    def _body(self) -> list[str]:
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
            self._lanes(width)
        lines.put("tile.end:")
        edges = ", ".join(f"[ {width}, %lanes{width}.end ]" for width in widths)
        lines.put(f"  %width = phi i64 {edges}")
        lines.put("  %at.next = add i64 %at, %width")
        lines.put("  %more = icmp slt i64 %at.next, %n")
        lines.put("  br i1 %more, label %tile, label %finish")
        lines.put("finish:")
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        return lines.text

    def _lanes(self, width: int) -> None:
        """Fold `width` numbers."""
        lines, label = self.lines, f"lanes{width}"
        kind, align = self._kind(self.dtype, width), self.dtype.alignment
        moving = [value for value, place in self.segment.loads if place.kind == "operand"]
        lines.put(f"{label}:")
        into = lines.do(f"getelementptr {scalar_type(self.dtype)}, ptr %r0.base, i64 %at")
        start = lines.do(f"load {kind}, ptr {into}, align {align}")
        begins = {value: self._begin(value) for value in moving}
        lines.put(f"  br label %{label}.outer")
        lines.put(f"{label}.outer:")
        self._phi(f"{label}.j", "i64", "0", label, f"{label}.j.next", f"{label}.on")
        self._phi(f"{label}.sum", kind, start, label, f"{label}.folded", f"{label}.on")
        for value in moving:
            self._phi(f"{label}.p{value}", "ptr", begins[value], label, f"{label}.p{value}.carried", f"{label}.on")
        lines.width = width if width > 1 else 0
        if self.judges:
            none = "zeroinitializer" if width > 1 else "false"
            self._phi(f"{label}.was", lines.mask_type, none, label, f"{label}.seen.now", f"{label}.on")
        lines.open_loop(lines.width)
        lines.put(f"  br label %{label}.inner")
        lines.put(f"{label}.inner:")
        self._phi(f"{label}.i", "i64", "0", f"{label}.outer", f"{label}.i.next", f"{label}.inner")
        self._phi(f"{label}.acc", kind, f"%{label}.sum", f"{label}.outer", f"{label}.folded", f"{label}.inner")
        for value in moving:
            entry, again = f"%{label}.p{value}", f"{label}.q{value}.next"
            self._phi(f"{label}.q{value}", "ptr", entry, f"{label}.outer", again, f"{label}.inner")
        if self.judges:
            first, later = f"%{label}.was", f"{label}.seen.now"
            self._phi(f"{label}.seen", lines.mask_type, first, f"{label}.outer", later, f"{label}.inner")
        folded = self._fold(label, width)
        lines.put(f"  %{label}.folded = bitcast {kind} {folded} to {kind}")
        for value in moving:
            step = f"ptr %{label}.q{value}, i64 %o{value}.inner"
            lines.put(f"  %{label}.q{value}.next = getelementptr i8, {step}")
        self._close(f"{label}.i", "inner", f"{label}.inner", f"{label}.on")
        for value in moving:
            step = f"ptr %{label}.q{value}.next, i64 %o{value}.carry"
            lines.put(f"  %{label}.p{value}.carried = getelementptr i8, {step}")
        self._close(f"{label}.j", "outer", f"{label}.outer", f"{label}.end")
        lines.put(f"  store {kind} %{label}.folded, ptr {into}, align {align}")
        if self.judges:
            self._judge(f"%{label}.seen.now")
        lines.put("  br label %tile.end")
        lines.width = 0

    def _kind(self, dtype: DType, width: int) -> str:
        return f"<{width} x {scalar_type(dtype)}>" if width > 1 else scalar_type(dtype)

    def _phi(self, name: str, kind: str, first: str, before: str, later: str, again: str) -> None:
        self.lines.put(f"  %{name} = phi {kind} [ {first}, %{before} ], [ %{later}, %{again} ]")

    def _close(self, counter: str, axis: str, again: str, behind: str) -> None:
        """The end of a loop along an axis."""
        lines = self.lines
        lines.put(f"  %{counter}.next = add i64 %{counter}, 1")
        more = lines.do(f"icmp slt i64 %{counter}.next, %{axis}.n")
        lines.put(f"  br i1 {more}, label %{again}, label %{behind}")
        lines.put(f"{behind}:")

    def _begin(self, value: int) -> str:
        """Where an operand's first element of this tile lies."""
        lines, kind = self.lines, self.plan.classes[value]
        if kind == "0":
            return f"%o{value}.base"
        stride = str(self.dtypes[value].itemsize) if kind == "c" else f"%o{value}.stride"
        return lines.do(f"getelementptr i8, ptr %o{value}.base, i64 {lines.do(f'mul i64 %at, {stride}')}")

    def _fold(self, label: str, width: int) -> str:
        """The accumulators and the kernel's values at one index."""
        lines = self.lines
        values = Values(lines, self.dtypes)
        for value, place in self.segment.loads:
            if place.kind == "constant":
                values.memory[value] = literal(lines, self.kernel.ops[place.index])
            else:
                values.memory[value] = self._lane_load(value, f"%{label}.q{value}", width)
        values.loaded = frozenset(values.memory)
        for number in self.segment.ops:
            emit_op(lines, self.kernel.ops[number], self.first[number], values)
        return self._combine(f"%{label}.acc", values.in_memory(self.kernel.results[0]), label)

    def _combine(self, acc: str, value: str, label: str) -> str:
        """The fold of an accumulator and a value."""
        lines, dtype = self.lines, self.dtype
        if self.fold in ("add", "multiply"):
            row = exact_ops.exact_row(self.fold, (dtype, dtype), (dtype,))
            assert row is not None
            return row.emit(lines, dtype, [acc, value])
        sign = "gt" if self.fold == "maximum" else "lt"
        if dtype.kind == "f":
            better = lines.quiet_compare(f"o{sign}", dtype, [value, acc])
            bits = lines.bits_of(dtype, value)
            minus_zero = lines.do(f"icmp eq {lines.bits_type(dtype)} {bits}, {lines.sign_mask(dtype)}")
            unclear = lines.do(f"or {lines.mask_type} {lines.is_nan(dtype, value)}, {minus_zero}")
            lines.put(f"  %{label}.seen.now = or {lines.mask_type} %{label}.seen, {unclear}")
        else:
            better = lines.do(f"icmp {dtype.kind.replace('i', 's')}{sign} {lines.type_of(dtype)} {value}, {acc}")
        return lines.select(better, dtype, value, acc)

    def _lane_load(self, value: int, at: str, width: int) -> str:
        """An operand in every lane."""
        lines, dtype, kind = self.lines, self.dtypes[value], self.plan.classes[value]
        scalar, lanes = scalar_type(dtype), self._kind(dtype, width)
        if kind == "c" or width == 1:
            return lines.do(f"load {lanes}, ptr {at}, align {dtype.alignment}")
        if kind == "0":
            item = lines.do(f"load {scalar}, ptr {at}, align {dtype.alignment}")
            first = lines.do(f"insertelement {lanes} poison, {scalar} {item}, i64 0")
            return lines.do(f"shufflevector {lanes} {first}, {lanes} poison, <{width} x i32> zeroinitializer")
        vector = "poison"
        for lane in range(width):
            offset = lines.do(f"mul i64 %o{value}.stride, {lane}")
            here = lines.do(f"getelementptr i8, ptr {at}, i64 {offset}")
            item = lines.do(f"load {scalar}, ptr {here}, align {dtype.alignment}")
            vector = lines.do(f"insertelement {lanes} {vector}, {scalar} {item}, i64 {lane}")
        return vector
