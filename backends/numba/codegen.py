"""Writes a Plan as one LLVM function ``i32 kernel(ptr block, i64 n)``.

Enters a Plan; leaves LLVM text. block holds 8-byte words, which csrc/abi.def describes. Each segment becomes a vector
loop over whole vectors and a scalar loop over the rest, both from the same table of exact_ops.py. INVARIANT: the text
holds no address, the function allocates nothing and raises nothing; it returns 0, or at once the first non-zero status
of a NumPy loop, or in the end RETURNED_MET_NAN when a result is NaN that may be one of two (a plan that is not strict),
RETURNED_NAN when two NaNs with other bits have met (a strict one), RETURNED_MET_DOUBT for either or an extreme in doubt
(extremes.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from dynamo_lite.backends.numba import exact_ops
from dynamo_lite.backends.numba.extremes import emit_extreme, is_doubtful, is_extreme
from dynamo_lite.backends.numba.llvm_text import Lines, can_mask, can_scatter, scalar_type
from dynamo_lite.backends.numba.plan import LoopCall, Place, Plan, Segment, first_values, meets_nan

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.schedule.steps import DType, KernelOp

VECTOR_BYTES = 64  # two AVX registers, or one of AVX-512: independent work to hide latencies
MANY_VALUES = 6  # live vectors above which half the width avoids spills


def generate(plan: Plan, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return Generator(plan, name).run()


def call_address(name: str, slot: str) -> list[str]:
    """Load the function that calls the NumPy loop whose words are at `slot`."""
    at = f"  {name}.at = getelementptr i64, ptr {slot}, i64 {abi.LOOP_INVOKE}"
    return [at, f"  {name} = load ptr, ptr {name}.at, align 8"]


@dataclass(slots=True)
class _Loop:
    """The loop over a row's elements while it is written. whole: how many of them are whole vectors. scalars: what is
    the same for all of a row; splats: of a row, in every lane. seen_before, seen_after: what was seen by the vectors
    and number by number, before the last elements and with them. last: the block that these end with."""

    segment: Segment
    label: str
    whole: str
    scalars: dict[int, str]
    splats: dict[int, str]
    seen_before: dict[str, str] = field(default_factory=dict)
    seen_after: dict[str, str] = field(default_factory=dict)
    last: str = ""


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
        self.rows: frozenset[Place] = frozenset()  # of a kernel that iterates
        self.columns = self.count = "%n"  # of the tile: the elements of a row, and all of them
        self.rows_here = "%row.count"
        self.at: dict[Place, str] = {}  # where the row at hand begins
        self.last_offsets: dict[Place, list[str]] = {}
        strict = abi.RETURNED_NAN if plan.strict else abi.RETURNED_MET_NAN
        self.status = abi.RETURNED_MET_DOUBT if plan.doubts else strict
        self.judges = (
            plan.strict
            or plan.doubts
            or any(isinstance(step, Segment) and step.tests + step.numbers for step in plan.steps)
        )

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
            word(f"%{stem}.base", "ptr", abi.PLACE_WORDS * index + abi.PLACE_POINTER)
            if self._class(place) in "si":
                word(f"%{stem}.stride", "i64", abi.PLACE_WORDS * index + abi.PLACE_STRIDE)
        scratch, loops, behind = kernel_block(len(self._places()), len(self.plan.loops))
        word("%scratch", "ptr", scratch)
        if self.plan.nested:
            word("%row.count", "i64", behind + abi.ROWS_COUNT)
            for index, place in enumerate(self._places()):
                if self._class(place) != "0":
                    word(f"%{self._stem(place)}.down", "i64", behind + abi.ROWS_STEPS + index)
        for slot, offset in enumerate(self.plan.slots):
            lines.append(f"  %t{slot} = getelementptr i8, ptr %scratch, i64 {offset}")
        for number, index in enumerate(self.plan.loops):
            op = self.kernel.ops[index]
            width = len(op.operands) + len(op.dtypes)
            first = loops + abi.LOOP_WORDS * number
            lines.append(f"  %slot{number} = getelementptr i64, ptr %block, i64 {first}")
            lines += call_address(f"%invoke{number}", f"%slot{number}")
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
        lines, tile = self.lines, self.plan.tile
        lines.put("  br label %tile")
        lines.put("tile:")
        self.columns = self.count = "%n"
        if not tile:
            self._tile_pointers("0", "0")
        elif not self.plan.nested:
            lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
            lines.put("  %left = sub i64 %n, %at")
            lines.put(f"  %partial = icmp slt i64 %left, {tile}")
            lines.put(f"  %m = select i1 %partial, i64 %left, i64 {tile}")
            self.columns = self.count = "%m"
            self._tile_pointers("%at", "0")
        else:
            self._tile_of_rows()
        self._steps()
        if tile:
            lines.put("  br label %tile.end")
            lines.put("tile.end:")
            if self.plan.nested:
                lines.put("  %at.next = select i1 %across, i64 0, i64 %at.behind")
                lines.put("  %row.down = select i1 %across, i64 %few, i64 0")
                lines.put("  %row.at.next = add i64 %row.at, %row.down")
                lines.put("  %more = icmp slt i64 %row.at.next, %row.count")
            else:
                lines.put(f"  %at.next = add i64 %at, {tile}")
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

    def _tile_of_rows(self) -> None:
        """A tile of some whole rows, or of a part of one that is longer than a tile."""
        lines, tile = self.lines, self.plan.tile
        read = {place for step in self.plan.steps if isinstance(step, LoopCall) for place in step.reads}
        lines.put("  %row.at = phi i64 [ 0, %start ], [ %row.at.next, %tile.end ]")
        lines.put("  %at = phi i64 [ 0, %start ], [ %at.next, %tile.end ]")
        lines.put("  %left = sub i64 %n, %at")
        lines.put(f"  %partial = icmp slt i64 %left, {tile}")
        lines.put(f"  %columns = select i1 %partial, i64 %left, i64 {tile}")
        lines.put("  %at.behind = add i64 %at, %columns")
        lines.put("  %across = icmp eq i64 %at.behind, %n")
        fit = "1"
        if all(self._class(place) != "b" for place in read):  # of which a NumPy loop reads one number
            whole = lines.do("icmp eq i64 %columns, %n")
            several = lines.do(f"udiv i64 {tile}, %n")
            some = lines.do(f"icmp sgt i64 {several}, 1")
            fit = lines.do(f"select i1 {lines.do(f'and i1 {whole}, {some}')}, i64 {several}, i64 1")
        lines.put("  %rows.left = sub i64 %row.count, %row.at")
        lines.put(f"  %last.rows = icmp slt i64 %rows.left, {fit}")
        lines.put(f"  %few = select i1 %last.rows, i64 %rows.left, i64 {fit}")
        lines.put("  %m = mul i64 %few, %columns")
        self.columns, self.rows_here, self.count = "%columns", "%few", "%m"
        self._tile_pointers("%at", "%row.at")

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

    def _tile_pointers(self, at: str, row: str) -> None:
        """Point %o0, %r0 ... at the tile's first element."""
        lines = self.lines
        for place in self._places():
            stem, kind = self._stem(place), self._class(place)
            if kind == "i" or place in self.rows:
                continue  # each iteration has its own
            base = f"%{stem}.base"
            if row != "0" and kind != "0":
                down = lines.do(f"mul i64 {row}, %{stem}.down")
                base = lines.do(f"getelementptr i8, ptr {base}, i64 {down}")
            offset = "0"
            if at != "0" and kind not in "0b":
                stride = str(self._dtype_at(place).itemsize) if kind == "c" else f"%{stem}.stride"
                offset = lines.do(f"mul i64 {at}, {stride}")
            lines.put(f"  %{stem} = getelementptr i8, ptr {base}, i64 {offset}")

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
        fixed = sum(self._class(place) in "0b" for _, place in segment.loads)
        born: dict[int, int] = {}
        for position, index in enumerate(order):
            for value in (*self.kernel.ops[index].operands, *self._values(index)):
                born.setdefault(value, position)
        broadcast = {value for value, place in segment.loads if self._class(place) in "0b"}
        spans = [(start, last_use.get(value, start)) for value, start in born.items() if value not in broadcast]
        return fixed + max((sum(a <= p <= b for a, b in spans) for p in range(len(order))), default=0)

    def _segment(self, segment: Segment) -> None:
        """The loop over a tile's elements, row by row: whole vectors, and what is left as a vector of fewer lanes, or
        number by number."""
        lines, label, nested = self.lines, self.lines.name("segment"), self.plan.nested
        width = self._width(segment)
        width = width if width > 1 else 0
        masked = bool(width) and self._masks(segment)
        fixed: dict[int, str] = {}
        for value, place in segment.loads:
            if self._class(place) in "0i" and place.kind != "constant":
                fixed[value] = self._scalar_load(place, self.dtypes[value], f"%{self._stem(place)}")
        lines.width = 0
        if not self.plan.strict:
            for value in segment.numbers:
                self._judge(lines.is_nan(self.dtypes[value], fixed[value]))
        ops = [self.kernel.ops[number] for number in segment.ops]
        tests = any(map(is_doubtful, ops)) or (any(map(meets_nan, ops)) if self.plan.strict else segment.tests)
        parts = [("vector", width)] if width else []
        if not masked:
            parts.append(("rest", 0))
        whole = lines.do(f"and i64 {self.columns}, {-width}") if width else "0"
        few = lines.do(f"sub i64 {self.columns}, {whole}")
        lines.put(f"  br label %{label}.head")
        lines.put(f"{label}.head:")
        lines.open_loop(width)
        mask = ""
        if masked:
            count = lines.do(f"insertelement <{width} x i64> poison, i64 {few}, i64 0")
            count = lines.do(
                f"shufflevector <{width} x i64> {count}, <{width} x i64> poison, {lines.lanes('i32')} zeroinitializer"
            )
            numbers = ", ".join(f"i64 {lane}" for lane in range(width))
            mask = lines.do(f"icmp ult <{width} x i64> <{numbers}>, {count}")
            self.last_offsets = self._last_offsets(segment, whole, few, width)
        lines.put(f"  br label %{label}.row")
        lines.put(f"{label}.row:")
        none = {"vector": "zeroinitializer", "rest": "false"}
        seen = {name: none[name] for name, _ in parts}
        self.at = {}
        if nested:
            lines.put(f"  %{label}.r = phi i64 [ 0, %{label}.head ], [ %{label}.r.next, %{label}.row.end ]")
            for name, lanes in parts if tests else ():
                kind = f"<{lanes} x i1>" if lanes else "i1"
                edges = f"[ {none[name]}, %{label}.head ], [ %{label}.{name}.all, %{label}.row.end ]"
                lines.put(f"  %{label}.{name}.before = phi {kind} {edges}")
                seen[name] = f"%{label}.{name}.before"
            self._row_pointers(segment, label)
        scalars = dict(fixed)
        for value, place in segment.loads:
            if self._class(place) == "b":
                scalars[value] = self._scalar_load(place, self.dtypes[value], self.at[place])
        splats = {
            value: lines.splat_here(scalar_type(self.dtypes[value]), scalars[value])
            for value in scalars.keys() - fixed.keys()
        }
        loop = _Loop(segment, label, whole, scalars, splats)
        if width:
            empty = lines.do(f"icmp eq i64 {whole}, 0")
            lines.put(f"  br i1 {empty}, label %{label}.left, label %{label}.vector")
            self._vectors(loop, width, seen)
        else:
            lines.put(f"  br label %{label}.left")
            lines.put(f"{label}.left:")
        nothing = lines.do(f"icmp eq i64 {few}, 0")
        lines.put(f"  br i1 {nothing}, label %{label}.row.end, label %{label}.rest")
        if masked:
            self._last_vector(loop, mask, seen)
        else:
            self._numbers(loop, seen)
        lines.put(f"{label}.row.end:")
        for name, lanes in parts if tests else ():
            kind = f"<{lanes} x i1>" if lanes else "i1"
            before, after = loop.seen_before[name], loop.seen_after[name]
            lines.put(f"  %{label}.{name}.all = phi {kind} [ {before}, %{label}.left ], [ {after}, %{loop.last} ]")
        if nested:
            lines.put(f"  %{label}.r.next = add i64 %{label}.r, 1")
            more = lines.do(f"icmp slt i64 %{label}.r.next, {self.rows_here}")
            lines.put(f"  br i1 {more}, label %{label}.row, label %{label}.judge")
            lines.put(f"{label}.judge:")
        for name, lanes in parts if tests else ():
            lines.width = lanes
            self._judge(f"%{label}.{name}.all")
        lines.width = 0

    def _masks(self, segment: Segment) -> bool:
        """Whether the last elements of a row can be a vector of which only some lanes count."""
        stored = [(value, place) for value, place in segment.stores if place.kind != "sink"]
        moving = [self.dtypes[value] for value, _ in (*segment.loads, *segment.stores)]
        return all(can_mask(dtype.itemsize) for dtype in moving) and all(
            self._class(place) == "c" or can_scatter(self.dtypes[value].itemsize) for value, place in stored
        )

    def _last_offsets(self, segment: Segment, whole: str, few: str, width: int) -> dict[Place, list[str]]:
        """How far each lane of a row's last vector lies from its begin, of arrays that are not packed. A lane behind
        the last element is where that is."""
        lines = self.lines
        places = [place for _, place in (*segment.loads, *segment.stores) if place.kind in ("operand", "result")]
        found: dict[Place, list[str]] = {place: [] for place in places if self._class(place) == "s"}
        last = lines.do(f"sub i64 {few}, 1") if found else ""
        for lane in range(width if found else 0):
            within = lines.do(f"icmp slt i64 {lane}, {last}")
            at = lines.do(f"add i64 {whole}, {lines.do(f'select i1 {within}, i64 {lane}, i64 {last}')}")
            for place, offsets in found.items():
                offsets.append(lines.do(f"mul i64 {at}, %{self._stem(place)}.stride"))
        return found

    def _row_pointers(self, segment: Segment, label: str) -> None:
        """Where the row at hand of each array begins."""
        lines = self.lines
        packed = lines.do(f"mul i64 %{label}.r, {self.columns}")
        for value, place in (*segment.loads, *segment.stores):
            if place.kind in ("constant", "sink") or self._class(place) == "0" or place in self.at:
                continue
            stem = self._stem(place)
            scale = str(self.dtypes[value].itemsize) if place.kind == "scratch" else f"%{stem}.down"
            offset = lines.do(f"mul i64 {packed if place.kind == 'scratch' else f'%{label}.r'}, {scale}")
            self.at[place] = lines.do(f"getelementptr i8, ptr %{stem}, i64 {offset}")

    def _vectors(self, loop: _Loop, width: int, seen: dict[str, str]) -> None:
        """The whole vectors of a row."""
        lines, label = self.lines, loop.label
        lines.put(f"{label}.vector:")
        lines.put(f"  %{label}.i = phi i64 [ 0, %{label}.row ], [ %{label}.next, %{label}.vector ]")
        reserved = f"  ; {label}: what was seen"
        lines.put(reserved)
        met = self._elements(loop, f"%{label}.i", "")
        if met is not None:
            lines.put(f"  %{label}.seen.now = or {lines.mask_type} %{label}.seen, {met}")
            edges = f"[ {seen['vector']}, %{label}.row ], [ %{label}.seen.now, %{label}.vector ]"
            lines.text[lines.text.index(reserved)] = f"  %{label}.seen = phi {lines.mask_type} {edges}"
        lines.put(f"  %{label}.next = add i64 %{label}.i, {width}")
        more = lines.do(f"icmp slt i64 %{label}.next, {loop.whole}")
        lines.put(f"  br i1 {more}, label %{label}.vector, label %{label}.left")
        lines.put(f"{label}.left:")
        if met is not None:
            edges = f"[ {seen['vector']}, %{label}.row ], [ %{label}.seen.now, %{label}.vector ]"
            lines.put(f"  %{label}.so.far = phi {lines.mask_type} {edges}")
            seen["vector"] = f"%{label}.so.far"
        loop.seen_before |= seen

    def _last_vector(self, loop: _Loop, mask: str, seen: dict[str, str]) -> None:
        """The last elements of a row, as a vector of which only some lanes count."""
        lines, label = self.lines, loop.label
        lines.put(f"{label}.rest:")
        met = self._elements(loop, loop.whole, mask)
        if met is not None:
            loop.seen_after["vector"] = lines.do(f"or {lines.mask_type} {seen['vector']}, {met}")
        lines.put(f"  br label %{label}.row.end")
        loop.last = f"{label}.rest"

    def _numbers(self, loop: _Loop, seen: dict[str, str]) -> None:
        """The last elements of a row, one by one."""
        lines, label = self.lines, loop.label
        loop.seen_before |= seen
        loop.seen_after |= seen
        lines.width = 0
        lines.put(f"{label}.rest:")
        lines.put(f"  %{label}.j = phi i64 [ {loop.whole}, %{label}.left ], [ %{label}.j.next, %{label}.rest ]")
        reserved = f"  ; {label}: what was seen number by number"
        lines.put(reserved)
        met = self._elements(loop, f"%{label}.j", "")
        if met is not None:
            lines.put(f"  %{label}.met.now = or i1 %{label}.met, {met}")
            edges = f"[ {seen['rest']}, %{label}.left ], [ %{label}.met.now, %{label}.rest ]"
            lines.text[lines.text.index(reserved)] = f"  %{label}.met = phi i1 {edges}"
            loop.seen_after["rest"] = f"%{label}.met.now"
        lines.put(f"  %{label}.j.next = add i64 %{label}.j, 1")
        more = lines.do(f"icmp slt i64 %{label}.j.next, {self.columns}")
        lines.put(f"  br i1 {more}, label %{label}.rest, label %{label}.row.end")
        loop.last = f"{label}.rest"

    def _elements(self, loop: _Loop, index: str, mask: str) -> str | None:
        """Compute the elements from `index` on, at the current width of the lines; what is to be judged of them. mask:
        the lanes that count; the others do what the first one does, so that they report nothing of their own."""
        lines, segment = self.lines, loop.segment
        values = Values(lines, self.dtypes)
        for value, place in segment.loads:
            dtype = self.dtypes[value]
            if value in loop.splats and lines.width:
                values.memory[value] = loop.splats[value]
            elif value in loop.scalars:
                values.memory[value] = lines.splat(scalar_type(dtype), loop.scalars[value])
            elif place.kind == "constant":
                values.memory[value] = literal(lines, self.kernel.ops[place.index])
            else:
                values.memory[value] = self._load(place, dtype, index, mask)
        values.loaded = frozenset(values.memory)
        for number in segment.ops:
            emit_op(lines, self.kernel.ops[number], self.first[number], values)
        met = self.met(segment, values)
        for value, place in segment.stores:
            self._store(place, self.dtypes[value], index, values.in_memory(value), mask)
        return met

    def met(self, segment: Segment, values: Values) -> str | None:
        """What is to be judged of the operations emitted: where NumPy may have other bits."""
        masks = [self._met(segment, values) if self.plan.strict else self._nan(segment, values), *values.doubts]
        return self.lines.either([mask for mask in masks if mask is not None])

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

    def _scalar_load(self, place: Place, dtype: DType, at: str) -> str:
        return self.lines.do(f"load {scalar_type(dtype)}, ptr {at}, align {dtype.alignment}")

    def _address(self, place: Place, dtype: DType, index: str) -> str:
        base = self.at.get(place, f"%{self._stem(place)}")
        if self._class(place) == "c":
            return self.lines.do(f"getelementptr {scalar_type(dtype)}, ptr {base}, i64 {index}")
        offset = self.lines.do(f"mul i64 {index}, %{self._stem(place)}.stride")
        return self.lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _lane_address(self, place: Place, dtype: DType, index: str, lane: int, mask: str) -> str:
        """The address of a lane's element."""
        lines = self.lines
        if not mask:
            return self._address(place, dtype, index if lane == 0 else lines.do(f"add i64 {index}, {lane}"))
        base = self.at.get(place, f"%{self._stem(place)}")
        return lines.do(f"getelementptr i8, ptr {base}, i64 {self.last_offsets[place][lane]}")

    def _load(self, place: Place, dtype: DType, index: str, mask: str = "") -> str:
        lines, scalar = self.lines, scalar_type(dtype)
        if not lines.width or (self._class(place) == "c" and not mask):
            return lines.do(
                f"load {lines.type_of(dtype)}, ptr {self._address(place, dtype, index)}, align {dtype.alignment}"
            )
        if self._class(place) == "c":
            at = self._address(place, dtype, index)
            first = lines.splat_here(scalar, self._scalar_load(place, dtype, at))
            return lines.masked_load(dtype, at, mask, first)
        vector = "poison"
        for lane in range(lines.width):
            at = self._lane_address(place, dtype, index, lane, mask)
            item = lines.do(f"load {scalar}, ptr {at}, align {dtype.alignment}")
            vector = lines.do(f"insertelement <{lines.width} x {scalar}> {vector}, {scalar} {item}, i64 {lane}")
        return vector

    def _store(self, place: Place, dtype: DType, index: str, value: str, mask: str = "") -> None:
        lines, scalar, kind = self.lines, scalar_type(dtype), self.lines.type_of(dtype)
        if place.kind == "sink":
            lines.put(f"  store volatile {kind} {value}, ptr %scratch, align {dtype.alignment}")
        elif mask and self._class(place) == "s":
            addresses = "poison"
            for lane in range(lines.width):
                at = self._lane_address(place, dtype, index, lane, mask)
                addresses = lines.do(f"insertelement {lines.lanes('ptr')} {addresses}, ptr {at}, i64 {lane}")
            lines.scatter(dtype, addresses, mask, value)
        elif mask:
            lines.masked_store(dtype, self._address(place, dtype, index), mask, value)
        elif self._class(place) == "c" or not lines.width:
            lines.put(f"  store {kind} {value}, ptr {self._address(place, dtype, index)}, align {dtype.alignment}")
        else:
            for lane in range(lines.width):
                item = lines.do(f"extractelement {kind} {value}, i64 {lane}")
                address = self._lane_address(place, dtype, index, lane, "")
                lines.put(f"  store {scalar} {item}, ptr {address}, align {dtype.alignment}")


class Values:
    """The values of one loop body: as they lie in memory (a bool is a byte), and bools as i1."""

    def __init__(self, lines: Lines, dtypes: list[DType]) -> None:
        self.lines = lines
        self.dtypes = dtypes
        self.memory: dict[int, str] = {}
        self.masks: dict[int, str] = {}
        self.loaded: frozenset[int] = frozenset()
        self.doubts: list[str] = []  # masks of lanes in which an operation may not have NumPy's bits

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
    elif is_extreme(op):
        operands = [values.operand(value) for value in op.operands]
        values.set(result, emit_extreme(lines, op, operands, values.doubts))
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
