"""Writes a Plan as one LLVM function ``i32 kernel(ptr block, i64 n)``.

Enters a Plan; leaves LLVM text. block holds 8-byte words: pointer and stride of each operand, then of each result,
the scratch pointer, and for each NumPy loop six words that its invoke function reads (the first is that function's
address). Each segment becomes a vector loop over whole vectors and a scalar loop over the rest, both from the same
table of exact_ops.py. INVARIANT: the text holds no address, the function allocates nothing and raises nothing; it
returns 0, or at once the first non-zero status of a NumPy loop, or in the end MET_NAN when a result is NaN that may be
one of two (a plan that is not strict), NANS_MET when two NaNs with other bits have met (a strict one).
"""

from __future__ import annotations

import numpy as np
from dynamo_lite.backends.numba import exact_ops
from dynamo_lite.backends.numba.llvm_text import Lines, scalar_type
from dynamo_lite.backends.numba.plan import LoopCall, Place, Plan, Segment, first_values, meets_nan

from dynamo_lite.schedule.steps import DType, KernelOp

VECTOR_BYTES = 64  # two AVX registers, or one of AVX-512: independent work to hide latencies
MANY_VALUES = 6  # live vectors above which half the width avoids spills
LOOP_WORDS = 6
MET_NAN, NANS_MET = 2, 4  # csrc/kernel_code.h


def generate(plan: Plan, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return Generator(plan, name).run()


class Generator:
    def __init__(self, plan: Plan, name: str) -> None:
        self.plan = plan
        self.kernel = plan.kernel
        self.name = name
        self.lines = Lines()
        self.first = first_values(plan.kernel)
        self.n_operands = len(self.kernel.operand_dtypes)
        self.dtypes = [*self.kernel.operand_dtypes, *(dtype for op in self.kernel.ops for dtype in op.dtypes)]
        self.constants: dict[int, str] = {}
        self.rows: frozenset[Place] = frozenset()
        self.status = NANS_MET if plan.strict else MET_NAN
        self.judges = plan.strict or any(isinstance(step, Segment) and step.tests + step.numbers for step in plan.steps)

    def run(self) -> str:
        body = self._body()
        lines = ['source_filename = "dynamo_lite"']
        lines += [f"@{name} = private global {kind} {value}" for (kind, value), name in self.lines.hidden.items()]
        lines += [f"@constant{index} = private constant {text}" for index, text in self.constants.items()]
        lines += [f"define i32 @{self.name}(ptr %block, i64 %n) {{", "entry:", *self._entry(), *body, "}"]
        return "\n".join([*lines, *sorted(self.lines.declarations)]) + "\n"

    def _class(self, place: Place) -> str:
        """The stride class of the memory at a place."""
        if place.kind == "operand":
            return self.plan.classes[place.index]
        if place.kind == "result":
            kind = self.plan.classes[self.n_operands + place.index]
            return "s" if kind == "0" else kind  # stride zero means a single element
        return "0" if place.kind == "constant" else "c"

    def _stem(self, place: Place) -> str:
        return {"operand": "o", "result": "r", "scratch": "t"}[place.kind] + str(place.index)

    def _dtype_at(self, place: Place) -> DType:
        if place.kind == "operand":
            return self.kernel.operand_dtypes[place.index]
        return self.dtypes[self.kernel.results[place.index]]

    def _places(self) -> list[Place]:
        operands = [Place("operand", index) for index in range(self.n_operands)]
        return operands + [Place("result", index) for index in range(len(self.kernel.results))]

    def _entry(self) -> list[str]:
        """Read the block, after the test for n <= 0: the pointers need not be valid then."""
        lines = [
            "  %empty = icmp sle i64 %n, 0",
            "  br i1 %empty, label %done, label %start",
            "done:",
            "  ret i32 0",
            "start:",
        ]

        def word(name: str, kind: str, index: int) -> None:
            lines.append(f"  {name}.at = getelementptr i64, ptr %block, i64 {index}")
            lines.append(f"  {name} = load {kind}, ptr {name}.at, align 8")

        for index, place in enumerate(self._places()):
            stem = self._stem(place)
            word(f"%{stem}.base", "ptr", 2 * index)
            if self._class(place) in "si":
                word(f"%{stem}.stride", "i64", 2 * index + 1)
        after = 2 * (self.n_operands + len(self.kernel.results))
        word("%scratch", "ptr", after)
        for slot, offset in enumerate(self.plan.slots):
            lines.append(f"  %t{slot} = getelementptr i8, ptr %scratch, i64 {offset}")
        for number, index in enumerate(self.plan.loops):
            op = self.kernel.ops[index]
            width = len(op.operands) + len(op.dtypes)
            lines.append(f"  %slot{number} = getelementptr i64, ptr %block, i64 {after + 1 + LOOP_WORDS * number}")
            lines.append(f"  %invoke{number} = load ptr, ptr %slot{number}, align 8")
            lines.append(f"  %args{number} = alloca [{width} x ptr], align 8")
            lines.append(f"  %strides{number} = alloca [{width} x i64], align 8")
        lines += [f"  %{name} = load volatile {kind}, ptr @{name}" for (kind, _), name in self.lines.hidden.items()]
        if self.judges:
            lines += ["  %met = alloca i32", "  store i32 0, ptr %met"]
        for step in self.plan.steps:
            if isinstance(step, LoopCall):
                lines += self._stride_stores(step)
        return lines

    def _stride_stores(self, step: LoopCall) -> list[str]:
        op = self.kernel.ops[step.op]
        lines = []
        for position, (place, dtype) in enumerate(
            zip((*step.reads, *step.writes), (*op.in_dtypes, *op.dtypes), strict=True)
        ):
            at = f"%s{step.loop}.{position}"
            kind = self._class(place)
            stride = f"%{self._stem(place)}.stride" if kind == "s" else str(dtype.itemsize if kind == "c" else 0)
            lines.append(f"  {at} = getelementptr i64, ptr %strides{step.loop}, i64 {position}")
            lines.append(f"  store i64 {stride}, ptr {at}, align 8")
        return lines

    def _body(self) -> list[str]:
        lines = self.lines
        if not self.plan.tile:
            lines.put("  br label %tile")
            lines.put("tile:")
            self._tile_pointers("0", "%n")
        else:
            lines.put("  br label %tile")
            lines.put("tile:")
            lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
            lines.put("  %left = sub i64 %n, %at")
            lines.put(f"  %partial = icmp slt i64 %left, {self.plan.tile}")
            lines.put(f"  %m = select i1 %partial, i64 %left, i64 {self.plan.tile}")
            self._tile_pointers("%at", "%m")
        self._steps()
        if self.plan.tile:
            lines.put("  br label %tile.end")
            lines.put("tile.end:")
            lines.put(f"  %at.next = add i64 %at, {self.plan.tile}")
            lines.put("  %more = icmp slt i64 %at.next, %n")
            lines.put("  br i1 %more, label %tile, label %finish")
            lines.put("finish:")
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        if self.plan.loops:
            lines.put("failed:")
            calls = ", ".join(f"[ %status{number}, %called{number} ]" for number in range(len(self.plan.loops)))
            lines.put(f"  %status = phi i32 {calls}")
            lines.put("  ret i32 %status")
        return lines.text

    def _steps(self) -> None:
        """All steps of the plan on one tile."""
        for step in self.plan.steps:
            if isinstance(step, LoopCall):
                self._loop_call(step)
            else:
                self._segment(step)

    def _judge(self, mask: str) -> None:
        """Note what the kernel will return if any lane of the mask is set."""
        lines = self.lines
        if lines.width:
            mask = lines.any_lane(mask)
        met = lines.do(f"select i1 {mask}, i32 {self.status}, i32 0")
        before = lines.do("load i32, ptr %met")
        lines.put(f"  store i32 {lines.do(f'or i32 {before}, {met}')}, ptr %met")

    def _tile_pointers(self, at: str, count: str) -> None:
        """Point %o0, %r0 ... at the tile's first element."""
        self.count = count
        for place in self._places():
            stem, kind = self._stem(place), self._class(place)
            if kind == "i" or place in self.rows:
                continue  # each iteration has its own
            if at == "0" or kind == "0":
                self.lines.put(f"  %{stem} = getelementptr i8, ptr %{stem}.base, i64 0")
                continue
            stride = str(self._dtype_at(place).itemsize) if kind == "c" else f"%{stem}.stride"
            self.lines.put(f"  %{stem}.offset = mul i64 {at}, {stride}")
            self.lines.put(f"  %{stem} = getelementptr i8, ptr %{stem}.base, i64 %{stem}.offset")

    def _loop_call(self, step: LoopCall) -> None:
        lines, number = self.lines, step.loop
        for position, place in enumerate((*step.reads, *step.writes)):
            pointer = self._constant_address(place.index) if place.kind == "constant" else f"%{self._stem(place)}"
            at = lines.do(f"getelementptr ptr, ptr %args{number}, i64 {position}")
            lines.put(f"  store ptr {pointer}, ptr {at}, align 8")
        lines.put(
            f"  %status{number} = call i32 %invoke{number}(ptr %slot{number}, ptr %args{number}, i64 {self.count}, "
            f"ptr %strides{number})"
        )
        lines.put(f"  %bad{number} = icmp ne i32 %status{number}, 0")
        lines.put(f"  br label %called{number}")
        lines.put(f"called{number}:")
        lines.put(f"  br i1 %bad{number}, label %failed, label %after{number}")
        lines.put(f"after{number}:")

    def _constant_address(self, index: int) -> str:
        op = self.kernel.ops[index]
        raw = np.asarray(op.param, dtype=op.dtypes[0]).tobytes()
        escaped = "".join(f"\\{byte:02X}" for byte in raw)
        self.constants[index] = f'[{len(raw)} x i8] c"{escaped}", align 16'
        return f"@constant{index}"

    def _width(self, segment: Segment) -> int:
        values = {value for value, _ in segment.loads} | {v for i in segment.ops for v in self._values(i)}
        values |= {value for index in segment.ops for value in self.kernel.ops[index].operands}
        if not values:
            return 0
        widest = max(self.dtypes[value].itemsize for value in values)
        return VECTOR_BYTES // widest // (2 if self._pressure(segment) > MANY_VALUES else 1)

    def _values(self, index: int) -> range:
        return range(self.first[index], self.first[index] + len(self.kernel.ops[index].dtypes))

    def _pressure(self, segment: Segment) -> int:
        """The most values live at once, loads counted at first use and broadcasts throughout."""
        order = list(segment.ops)
        last_use: dict[int, int] = {}
        for position, index in enumerate(order):
            for value in self.kernel.ops[index].operands:
                last_use[value] = position
        for value, _ in segment.stores:
            last_use[value] = max(last_use.get(value, 0), len(order)) if value not in last_use else last_use[value]
        fixed = sum(self._class(place) == "0" for _, place in segment.loads)
        born: dict[int, int] = {}
        for position, index in enumerate(order):
            for value in (*self.kernel.ops[index].operands, *self._values(index)):
                born.setdefault(value, position)
        broadcast = {value for value, place in segment.loads if self._class(place) == "0"}
        spans = [(start, last_use.get(value, start)) for value, start in born.items() if value not in broadcast]
        return fixed + max((sum(a <= p <= b for a, b in spans) for p in range(len(order))), default=0)

    def _segment(self, segment: Segment) -> None:
        lines, label = self.lines, self.lines.name("segment")
        width = self._width(segment)
        scalars = {
            value: self._scalar_load(place, self.dtypes[value])
            for value, place in segment.loads
            if self._class(place) in "0i" and place.kind != "constant"
        }
        for value in segment.numbers if not self.plan.strict else ():
            lines.width = 0
            self._judge(lines.is_nan(self.dtypes[value], scalars[value]))
        entry = lines.name("before")
        lines.put(f"  br label %{entry}")
        lines.put(f"{entry}:")
        begin = "0"
        if width > 1:
            whole = lines.do(f"and i64 {self.count}, {-width}")
            lines.open_loop(width)
            empty = lines.do(f"icmp eq i64 {whole}, 0")
            lines.put(f"  br i1 {empty}, label %{label}.rest, label %{label}.vector")
            self._element_loop(segment, f"{label}.vector", entry, "0", whole, width, scalars, f"{label}.rest")
            lines.put(f"{label}.rest:")
            begin, entry = whole, f"{label}.rest"
        lines.open_loop(0)
        empty = lines.do(f"icmp eq i64 {begin}, {self.count}")
        lines.put(f"  br i1 {empty}, label %{label}.end, label %{label}.scalar")
        self._element_loop(segment, f"{label}.scalar", entry, begin, self.count, 1, scalars, f"{label}.end")
        lines.put(f"{label}.end:")

    def _element_loop(
        self,
        segment: Segment,
        label: str,
        entry: str,
        begin: str,
        end: str,
        step: int,
        scalars: dict[int, str],
        exit_label: str,
    ) -> None:
        """One loop over elements begin..end in steps of `step`, at the current width of the lines."""
        lines = self.lines
        index, following = f"%{label}.i", f"%{label}.next"
        seen = f"%{label}.seen"
        lines.put(f"{label}:")
        lines.put(f"  {index} = phi i64 [ {begin}, %{entry} ], [ {following}, %{label} ]")
        reserved = f"  ; {label}: what was seen"
        lines.put(reserved)
        values = Values(lines, self.dtypes)
        for value, place in segment.loads:
            dtype = self.dtypes[value]
            if value in scalars:
                values.memory[value] = lines.splat(scalar_type(dtype), scalars[value])
            elif place.kind == "constant":
                values.memory[value] = literal(lines, self.kernel.ops[place.index])
            else:
                values.memory[value] = self._load(place, dtype, index)
        values.loaded = frozenset(values.memory)
        for number in segment.ops:
            emit_op(lines, self.kernel.ops[number], self.first[number], values)
        mask = self._met(segment, values) if self.plan.strict else self._nan(segment, values)
        if mask is not None:  # gathered over the loop, judged behind it
            none = "zeroinitializer" if step > 1 else "false"
            lines.put(f"  {seen}.now = or {lines.mask_type} {seen}, {mask}")
            phi = f"  {seen} = phi {lines.mask_type} [ {none}, %{entry} ], [ {seen}.now, %{label} ]"
            lines.text[lines.text.index(reserved)] = phi
        for value, place in segment.stores:
            self._store(place, self.dtypes[value], index, values.in_memory(value))
        lines.put(f"  {following} = add i64 {index}, {step}")
        more = lines.do(f"icmp slt i64 {following}, {end}")
        if mask is None:
            lines.put(f"  br i1 {more}, label %{label}, label %{exit_label}")
            return
        lines.put(f"  br i1 {more}, label %{label}, label %{label}.judge")
        lines.put(f"{label}.judge:")
        self._judge(f"{seen}.now")
        lines.put(f"  br label %{exit_label}")

    def _nan(self, segment: Segment, values: Values) -> str | None:
        """Whether a tested value is NaN."""
        masks = [self.lines.is_nan(self.dtypes[value], values.memory[value]) for value in segment.tests]
        return self.lines.either(masks)

    def _met(self, segment: Segment, values: Values) -> str | None:
        """Whether two NaNs with different bits have met."""
        lines, masks = self.lines, []
        for op in (self.kernel.ops[number] for number in segment.ops):
            if meets_nan(op):
                dtype = op.in_dtypes[0]
                sides = [values.memory[value] for value in op.operands]
                nans = [lines.is_nan(dtype, side) for side in sides]
                bits = [lines.bits_of(dtype, side) for side in sides]
                differ = lines.do(f"icmp ne {lines.bits_type(dtype)} {bits[0]}, {bits[1]}")
                both = lines.do(f"and {lines.mask_type} {nans[0]}, {nans[1]}")
                masks.append(lines.do(f"and {lines.mask_type} {both}, {differ}"))
        return lines.either(masks)

    def _scalar_load(self, place: Place, dtype: DType) -> str:
        return self.lines.do(f"load {scalar_type(dtype)}, ptr %{self._stem(place)}, align {dtype.alignment}")

    def _address(self, place: Place, dtype: DType, index: str, lane: int) -> str:
        at = index if lane == 0 else self.lines.do(f"add i64 {index}, {lane}")
        if self._class(place) == "c":
            return self.lines.do(f"getelementptr {scalar_type(dtype)}, ptr %{self._stem(place)}, i64 {at}")
        offset = self.lines.do(f"mul i64 {at}, %{self._stem(place)}.stride")
        return self.lines.do(f"getelementptr i8, ptr %{self._stem(place)}, i64 {offset}")

    def _load(self, place: Place, dtype: DType, index: str) -> str:
        lines, scalar = self.lines, scalar_type(dtype)
        if self._class(place) == "c" or not lines.width:
            kind = lines.type_of(dtype)
            return lines.do(f"load {kind}, ptr {self._address(place, dtype, index, 0)}, align {dtype.alignment}")
        vector = "poison"
        for lane in range(lines.width):
            item = lines.do(f"load {scalar}, ptr {self._address(place, dtype, index, lane)}, align {dtype.alignment}")
            vector = lines.do(f"insertelement <{lines.width} x {scalar}> {vector}, {scalar} {item}, i64 {lane}")
        return vector

    def _store(self, place: Place, dtype: DType, index: str, value: str) -> None:
        lines, scalar, kind = self.lines, scalar_type(dtype), self.lines.type_of(dtype)
        if place.kind == "sink":
            lines.put(f"  store volatile {kind} {value}, ptr %scratch, align {dtype.alignment}")
        elif self._class(place) == "c" or not lines.width:
            lines.put(f"  store {kind} {value}, ptr {self._address(place, dtype, index, 0)}, align {dtype.alignment}")
        else:
            for lane in range(lines.width):
                item = lines.do(f"extractelement {kind} {value}, i64 {lane}")
                address = self._address(place, dtype, index, lane)
                lines.put(f"  store {scalar} {item}, ptr {address}, align {dtype.alignment}")


class Values:
    """The values of one loop body: as they lie in memory (a bool is a byte), and bools as i1."""

    def __init__(self, lines: Lines, dtypes: list[DType]) -> None:
        self.lines = lines
        self.dtypes = dtypes
        self.memory: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.loaded: frozenset[int] = frozenset()

    def set(self, value: int, name: str) -> None:
        """Record what an operation yields: an i1 for a bool."""
        (self.masks if self.dtypes[value].kind == "b" else self.memory)[value] = name

    def same(self, value: int, other: int) -> None:
        """Record that `value` is `other`."""
        for known in (self.memory, self.masks):
            if other in known:
                known[value] = known[other]

    def operand(self, value: int) -> str:
        """The value as an operand: i1 for a bool."""
        if self.dtypes[value].kind != "b":
            return self.memory[value]
        if value not in self.masks:
            byte = self.lines.lanes("i8")
            zero = self.lines.zero(self.dtypes[value])
            self.masks[value] = self.lines.do(f"icmp ne {byte} {self.memory[value]}, {zero}")
        return self.masks[value]

    def in_memory(self, value: int) -> str:
        """The value as it is stored."""
        if value not in self.memory:
            mask = self.lines.mask_type
            self.memory[value] = self.lines.do(f"zext {mask} {self.masks[value]} to {self.lines.lanes('i8')}")
        return self.memory[value]


def emit_op(lines: Lines, op: KernelOp, result: int, values: Values) -> None:
    """Compute value `result` by a compiled operation."""
    if op.op == "copy":
        values.same(result, op.operands[0])
    elif op.op == "cast":
        source, target = op.in_dtypes[0], op.dtypes[0]
        value = values.operand(op.operands[0])
        if source.kind in "iu" and target.kind == "f" and op.operands[0] not in values.loaded:
            value = lines.unknown(source, value)  # x - x is known to be 0, and 0 / 0 would be computed here
        values.set(result, exact_ops.emit_cast(lines, source, target, value))
    elif op.op == "where":
        mask, *arms = op.operands
        yes, no = (_computed_anyway(lines, op.dtypes[0], arm, values) for arm in arms)
        choose = lines.blend if exact_ops.class_of(op.dtypes[0]) == "f" and not lines.width else lines.select
        chosen = choose(values.operand(mask), op.dtypes[0], yes, no)
        values.memory[result] = chosen
    else:
        row = exact_ops.exact_row(op.op, op.in_dtypes, op.dtypes)
        if row is None:
            raise NotImplementedError(f"{op.op} is not compiled for {op.in_dtypes}")
        values.set(result, row.emit(lines, op.in_dtypes[0], [values.operand(value) for value in op.operands]))


def _computed_anyway(lines: Lines, dtype: DType, arm: int, values: Values) -> str:
    """An arm of a choice, as a value that the code generator does not compute for the chosen lanes alone, without the
    floating-point flags of the others (AVX-512 has such instructions)."""
    value = values.in_memory(arm)
    return value if arm in values.loaded or exact_ops.class_of(dtype) != "f" else lines.fence(dtype, value)


def literal(lines: Lines, op: KernelOp) -> str:
    """The value of a "const" operation."""
    dtype = op.dtypes[0]
    raw = np.asarray(op.param, dtype=dtype)
    if dtype.kind == "f":
        return lines.splat_constant(dtype, float(raw))
    return lines.splat_bits(dtype, int(raw.view(f"u{dtype.itemsize}")))
