"""Kernels that iterate: what a kernel carries stays in vector registers over all iterations.

Enters a Kernel with `next` and its stride classes (of an operand that is another number in each iteration "i": its
stride leads to the next one); leaves a Plan and LLVM text. Two more words stand behind the block: the number of
iterations, at least one, and the bytes from one address of a row (Kernel.rows) to that of the next iteration's. Tiles
of some vectors are loaded, iterated and stored; a tile that is not whole, or not packed, goes by way of a packed copy,
in which the last element stands again where there is none, so that no lane computes what no element does. A kernel that
calls NumPy's loops iterates over the steps of its plan, tile by tile. INVARIANT: the results lie where the carried
operands do, and a tile is loaded before anything of it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from dynamo_lite.backends.numba import exact_ops
from dynamo_lite.backends.numba.codegen import Generator, Values, emit_op, literal
from dynamo_lite.backends.numba.extremes import is_doubtful, with_extremes
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.plan import (
    SINK_BYTES,
    Place,
    Plan,
    Planner,
    Segment,
    meets_nan,
    options,
    plan,
)

from dynamo_lite._C import abi, kernel_block
from dynamo_lite.schedule.steps import Kernel

REGISTER_BYTES = 32
REGISTERS = 16
MOST_PARTS = 8
MOST_INSTRUCTIONS = 512


@dataclass(frozen=True, slots=True)
class Iterations:
    """How a kernel iterates. width: lanes of a vector. parts: vectors of a whole tile, a power of two. lasting: results
    that are NaN in the end if two NaNs may have met in any iteration, apart from what the segment's tests tell."""

    plan: Plan
    width: int
    parts: int
    lasting: tuple[int, ...]

    def __str__(self) -> str:
        return f"iterates over {self.parts} vectors of {self.width}\n{self.plan}"


def plan_iterations(kernel: Kernel, classes: str) -> Iterations:
    """How the kernel iterates; classes as for ``plan``."""
    bare, _, by_loops, strict = options(classes)
    compiled = kernel if by_loops else with_extremes(kernel)
    planner = _IterationPlanner(compiled, bare)
    if any(planner.is_loop):
        return Iterations(plan(kernel, classes), 0, 0, ())
    kernel = compiled
    ops = tuple(planner.group()[0])
    tests, lasting, numbers = planner.lasting_tests(ops)
    loads = tuple((value, Place("operand", value)) for value in range(planner.n_operands))
    loads += tuple((values[0], Place("constant", i)) for i, values in enumerate(planner.values) if planner.is_const[i])
    segment = Segment(ops, loads, planner.sinks(ops), tests, numbers)
    width = REGISTER_BYTES // max(dtype.itemsize for dtype in planner.dtypes)
    parts = planner.parts(ops, width)
    return Iterations(
        Plan(kernel, bare, strict, False, any(map(is_doubtful, kernel.ops)), 0, (segment,), (), SINK_BYTES, ()),
        width,
        parts,
        lasting,
    )


class _IterationPlanner(Planner):
    """The facts about a kernel that iterates."""

    def parts(self, ops: tuple[int, ...], width: int) -> int:
        """How many vectors iterate together, to hide latencies, without values going through memory."""
        order = {index: position for position, index in enumerate(ops)}
        ends = {
            value: max((order[user] for user in users if user in order), default=-1)
            for value, users in enumerate(self.users)
        }
        ends |= dict.fromkeys(self.kernel.results, len(ops))
        moving = [value for value in range(self.n_operands) if self.kernel.next[value] != value]
        born = dict.fromkeys(moving, -1) | {value: order[i] for i in ops for value in self.values[i]}
        size = max(dtype.itemsize for dtype in self.dtypes) * width
        live = max(
            sum(self.dtypes[value].itemsize * width / size for value in born if born[value] <= at < ends[value])
            for at in range(len(ops) or 1)
        )
        parts = MOST_PARTS
        while parts > 1 and (parts * max(1.0, live) > REGISTERS or parts * len(ops) > MOST_INSTRUCTIONS):
            parts //= 2
        return parts

    def sinks(self, ops: tuple[int, ...]) -> tuple[tuple[int, Place], ...]:
        """What has to be stored in every iteration, lest its floating-point flags get lost.

        Results are safe in the last iteration only, but for rows; the operations that are so in each are those without
        which what is carried cannot be had, over and over.
        """
        safe: set[int] = set()
        stored = {value for i, value in enumerate(self.kernel.results) if i + self.n_operands in self.kernel.rows}
        wanted = set(self.kernel.results)
        while True:
            safe = self.closure(ops, set(wanted))
            again = {value for place, value in enumerate(self.kernel.next) if value != place and place in safe} & wanted
            again |= stored
            if again == wanted:
                break
            wanted = again
        found: list[tuple[int, Place]] = []
        for index in reversed(ops):
            op = self.kernel.ops[index]
            (value,) = self.values[index]
            if value not in safe and exact_ops.may_raise(op.op, op.in_dtypes, op.dtypes):
                found.append((value, Place("sink", 0)))
                safe |= self.closure(ops, {value})
        return tuple(found)

    def closure(self, ops: tuple[int, ...], safe: set[int]) -> set[int]:
        """`safe` and all without which no optimiser can compute it, operands included."""
        for index in reversed(ops):
            if self.values[index][0] in safe:
                safe |= self.needs(index)
        return safe

    def lasting_tests(self, ops: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Values to test in each iteration, results to test in the end, and operands that have to be no NaN.

        A value is lasting if a NaN in it makes NaN of a lasting value of this or the next iteration, on and on.
        """
        following: dict[int, set[int]] = {value: set() for value in range(len(self.dtypes))}
        for index in ops:
            if self.spreads_nan(index):
                for value in self.kernel.ops[index].operands:
                    following[value].add(self.values[index][0])
        for place, value in enumerate(self.kernel.next):
            if place != value and self.dtypes[value].kind == "f":
                following[value].add(place)
        lasting = set(following)
        while True:
            left = {value for value in lasting if following[value] & lasting}
            if left == lasting:
                break
            lasting = left
        old_tests, numbers = self.nan_tests(list(ops))
        met = {self.values[index][0] for index in ops if meets_nan(self.kernel.ops[index])}
        single = {
            self.values[index][0]
            for index in ops
            if meets_nan(self.kernel.ops[index]) and set(self.kernel.ops[index].operands) & set(numbers)
        }
        if (met - single) <= lasting:
            tests: tuple[int, ...] = ()
        else:
            tests = old_tests
        reached: set[int] = set()
        todo = list((met - single) & lasting)
        while todo:
            value = todo.pop()
            if value not in reached:
                reached.add(value)
                todo += following[value] & lasting
        return tests, tuple(sorted(reached & set(self.kernel.results))), numbers


def generate_iterations(planned: Iterations, name: str) -> str:
    """The LLVM module text that defines `name`."""
    return (_Iterated if planned.parts else _Tiled)(planned, name).run()


class _Base(Generator):
    def __init__(self, planned: Iterations, name: str) -> None:
        super().__init__(planned.plan, name)
        self.planned = planned
        self.judges |= bool(planned.lasting)
        places = self._places()
        self.rows = frozenset(places[number] for number in self.kernel.rows)

    def _entry(self) -> list[str]:
        _, _, behind = kernel_block(len(self._places()), len(self.plan.loops))
        return [
            *super()._entry(),
            f"  %iterations.at = getelementptr i64, ptr %block, i64 {behind + abi.ITERATION_COUNT}",
            "  %iterations = load i64, ptr %iterations.at, align 8",
            f"  %row.bytes.at = getelementptr i64, ptr %block, i64 {behind + abi.ITERATION_ROW_BYTES}",
            "  %row.bytes = load i64, ptr %row.bytes.at, align 8",
        ]

    def _row(self, place: Place, name: str, iteration: str) -> None:
        """Where the row of an iteration starts."""
        lines = self.lines
        offset = lines.do(f"mul i64 {iteration}, %row.bytes")
        at = lines.do(f"getelementptr i8, ptr %{self._stem(place)}.base, i64 {offset}")
        lines.put(f"  {name} = load ptr, ptr {at}, align 8")


class _Iterated(_Base):
    """A kernel of compiled operations alone."""

    def _body(self) -> list[str]:
        lines = self.lines
        (segment,) = self.plan.steps
        assert isinstance(segment, Segment)
        self.segment = segment
        self.moving = [place for place in self._places() if self._class(place) not in "0i"]
        lying = [place for place in self.moving if place not in self.rows]
        widths = [self.planned.width * self.planned.parts]
        while widths[-1] > self.planned.width:
            widths.append(widths[-1] // 2)
        self.scalars: dict[int, str] = {}
        for value, place in segment.loads:
            if self._class(place) == "0" and place.kind != "constant":
                lines.put(f"  %o{value} = getelementptr i8, ptr %o{value}.base, i64 0")
                self.scalars[value] = self._scalar_load(place, self.dtypes[value], f"%o{value}")
        for value in segment.numbers if not self.plan.strict else ():
            self._judge(lines.is_nan(self.dtypes[value], self.scalars[value]))
        for place in self.moving:
            size = self._dtype_at(place).itemsize * widths[0]
            lines.put(f"  %{self._stem(place)}.copy = alloca [{size} x i8], align 64")
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
        for place in self.moving:
            if self._class(place) == "s":  # in a packed copy the elements lie side by side
                stem, size = self._stem(place), self._dtype_at(place).itemsize
                lines.put(f"  %{stem}.step = select i1 %whole, i64 %{stem}.stride, i64 {size}")
        lines.put("  br i1 %whole, label %in.place, label %gather")
        lines.put("in.place:")
        for place in lying:
            self._here(place, f"%{self._stem(place)}.base", "")
        lines.put("  br label %dispatch")
        lines.put("gather:")
        self._copy_loop("gather", "%width", [place for place in lying if place.kind == "operand"], True)
        lines.put("  br label %dispatch")
        lines.put("dispatch:")
        for place in lying:
            stem = self._stem(place)
            lines.put(f"  %{stem} = phi ptr [ %{stem}.here, %in.place ], [ %{stem}.copy, %gather.end ]")
        cases = " ".join(f"i64 {width}, label %version{width}" for width in widths[1:])
        lines.put(f"  switch i64 %width, label %version{widths[0]} [ {cases} ]")
        for width in widths:
            self._version(width)
        lines.put("tile.end:")
        lines.put("  br i1 %whole, label %tile.done, label %scatter")
        lines.put("scatter:")
        self._copy_loop("scatter", "%valid", [place for place in lying if place.kind == "result"], False)
        lines.put("  br label %tile.done")
        lines.put("tile.done:")
        lines.put("  %at.next = add i64 %at, %width")
        more = lines.do("icmp slt i64 %at.next, %n")
        lines.put(f"  br i1 {more}, label %tile, label %finish")
        lines.put("finish:")
        lines.put(f"  ret i32 {lines.do('load i32, ptr %met') if self.judges else 0}")
        return lines.text

    def _here(self, place: Place, base: str, label: str) -> None:
        """Where the tile's first element lies, in an array or row that begins at `base`."""
        stem, dtype = self._stem(place), self._dtype_at(place)
        kind, offset = scalar_type(dtype), "%at"
        if self._class(place) == "s":
            kind, offset = "i8", self.lines.do(f"mul i64 %at, %{stem}.stride")
        self.lines.put(f"  %{label}{stem}.here = getelementptr {kind}, ptr {base}, i64 {offset}")

    def _copy_loop(self, label: str, count: str, places: list[Place], into: bool, rows: str = "") -> None:
        """A loop over `count` lanes between arrays and packed copies; behind the last element comes the last again."""
        lines = self.lines
        lines.put(f"  br label %{label}.lane")
        lines.put(f"{label}.lane:")
        lines.put(f"  %{label}.i = phi i64 [ 0, %{label} ], [ %{label}.next, %{label}.lane ]")
        wanted = lines.do(f"add i64 %at, %{label}.i")
        beyond = lines.do(f"icmp sge i64 {wanted}, %n")
        last = lines.do("sub i64 %n, 1")
        index = lines.do(f"select i1 {beyond}, i64 {last}, i64 {wanted}")
        for place in places:
            stem, dtype = self._stem(place), self._dtype_at(place)
            scalar = scalar_type(dtype)
            stride = str(dtype.itemsize) if self._class(place) == "c" else f"%{stem}.stride"
            offset = lines.do(f"mul i64 {index}, {stride}")
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

    def _version(self, width: int) -> None:
        """The iterations of a tile of `width` elements."""
        lines, lanes, label = self.lines, self.planned.width, f"version{width}"
        parts = range(width // lanes)
        lines.put(f"{label}:")
        lines.open_loop(lanes)
        starts = [self._loads(part) for part in parts]
        lines.put(f"  br label %{label}.loop")
        lines.put(f"{label}.loop:")
        again = f"{label}.tail" if self.rows else f"{label}.loop"
        counter = f"  %{label}.i = phi i64 [ 0, %{label} ], [ %{label}.next, %{again} ]"
        lines.put(counter)
        self._open_rows(label)
        moving = [value for value in range(self.n_operands) if self.kernel.next[value] != value]
        stepped = {value: self._stepped(value, f"%{label}.i") for value, c in enumerate(self.plan.classes) if c == "i"}
        tiles = []
        for part in parts:
            values = Values(lines, self.dtypes)
            carried = {value: f"%{label}.{part}.v{value}" for value in moving}
            values.memory = starts[part] | stepped | self._loads(part, label) | carried
            for value, place in self.segment.loads:
                if value in self.scalars:
                    values.memory[value] = lines.splat(scalar_type(self.dtypes[value]), self.scalars[value])
                elif place.kind == "constant":
                    values.memory[value] = literal(lines, self.kernel.ops[place.index])
            values.loaded = frozenset(values.memory)
            tiles.append(values)
        for number in self.segment.ops:
            for values in tiles:
                emit_op(lines, self.kernel.ops[number], self.first[number], values)
        masks = []
        for values in tiles:
            mask = self.met(self.segment, values)
            masks += [mask] if mask is not None else []
            for value, place in self.segment.stores:
                self._store(place, self.dtypes[value], "0", values.in_memory(value))
        met = lines.either(masks)
        for values in tiles:
            for value in (*self.kernel.results, *self.kernel.next):
                values.in_memory(value)
        if met is not None:
            met = lines.do(f"or {lines.mask_type} %{label}.seen, {met}")
        for part, values in zip(parts, tiles, strict=True):
            self._stores(part, values, label)
        self._close_rows(label)
        lines.put(f"  %{label}.next = add i64 %{label}.i, 1")
        more = lines.do(f"icmp slt i64 %{label}.next, %iterations")
        lines.put(f"  br i1 {more}, label %{label}.loop, label %{label}.end")
        phis = []
        for part, values in zip(parts, tiles, strict=True):
            for value in moving:
                first, later = starts[part][value], values.in_memory(self.kernel.next[value])
                kind = lines.type_of(self.dtypes[value])
                name = f"%{label}.{part}.v{value}"
                phis.append(f"  {name} = phi {kind} [ {first}, %{label} ], [ {later}, %{again} ]")
        if met is not None:
            edges = f"[ zeroinitializer, %{label} ], [ {met}, %{again} ]"
            phis.append(f"  %{label}.seen = phi {lines.mask_type} {edges}")
        at = lines.text.index(counter) + 1  # splats were placed before the loop in the meantime
        lines.text[at:at] = phis
        lines.put(f"{label}.end:")
        if not self.plan.strict:
            masks = [lines.is_nan(self.dtypes[v], values.memory[v]) for values in tiles for v in self.planned.lasting]
            met = lines.either(masks if met is None else [met, *masks])
        if met is not None:
            self._judge(met)
        for part, values in zip(parts, tiles, strict=True):
            self._stores(part, values)
        lines.put("  br label %tile.end")
        lines.width = 0

    def _open_rows(self, label: str) -> None:
        """Find the rows of this iteration; in a tile that is not direct, copy what is read of them."""
        if not self.rows:
            return
        lines, rows = self.lines, sorted(self.rows, key=str)
        for place in rows:
            self._row(place, f"%{label}.{self._stem(place)}.row", f"%{label}.i")
        lines.put(f"  br i1 %whole, label %{label}.here, label %{label}.gather")
        lines.put(f"{label}.here:")
        for place in rows:
            self._here(place, f"%{label}.{self._stem(place)}.row", f"{label}.")
        lines.put(f"  br label %{label}.go")
        lines.put(f"{label}.gather:")
        read = [place for place in rows if place.kind == "operand"]
        self._copy_loop(f"{label}.gather", f"{label.removeprefix('version')}", read, True, label)
        lines.put(f"  br label %{label}.go")
        lines.put(f"{label}.go:")
        for place in rows:
            stem = self._stem(place)
            edges = f"[ %{label}.{stem}.here, %{label}.here ], [ %{stem}.copy, %{label}.gather.end ]"
            lines.put(f"  %{label}.{stem} = phi ptr {edges}")

    def _close_rows(self, label: str) -> None:
        """In a tile that is not direct, copy to their places what has been stored into rows."""
        if not self.rows:
            return
        lines = self.lines
        lines.put(f"  br i1 %whole, label %{label}.tail, label %{label}.scatter")
        lines.put(f"{label}.scatter:")
        stored = [place for place in sorted(self.rows, key=str) if place.kind == "result"]
        self._copy_loop(f"{label}.scatter", "%valid", stored, False, label)
        lines.put(f"  br label %{label}.tail")
        lines.put(f"{label}.tail:")

    def _loads(self, part: int, rows: str = "") -> dict[int, str]:
        """The vectors of the operands that move, in their place or in a packed copy; rows: those of rows, in the loop
        of that label."""
        lines, found = self.lines, {}
        for place in self.moving:
            if place.kind == "operand" and (place in self.rows) == bool(rows):
                dtype = self._dtype_at(place)
                kind = lines.type_of(dtype)
                base = f"%{rows}.o{place.index}" if rows else f"%o{place.index}"
                if self._class(place) == "s":
                    found[place.index] = self._lanes(place, base, part)
                    continue
                at = lines.do(f"getelementptr {kind}, ptr {base}, i64 {part}")
                found[place.index] = lines.do(f"load {kind}, ptr {at}, align {dtype.alignment}")
        return found

    def _lane(self, place: Place, base: str, part: int, lane: int) -> str:
        """The address of one element of a vector that does not lie packed."""
        offset = self.lines.do(f"mul i64 %{self._stem(place)}.step, {part * self.lines.width + lane}")
        return self.lines.do(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _lanes(self, place: Place, base: str, part: int) -> str:
        """A vector, element by element."""
        lines, dtype = self.lines, self._dtype_at(place)
        scalar, vector = scalar_type(dtype), "poison"
        for lane in range(lines.width):
            item = lines.do(f"load {scalar}, ptr {self._lane(place, base, part, lane)}, align {dtype.alignment}")
            vector = lines.do(f"insertelement {lines.type_of(dtype)} {vector}, {scalar} {item}, i64 {lane}")
        return vector

    def _stores(self, part: int, values: Values, rows: str = "") -> None:
        """Store the results of one vector; rows: those that are rows, in the loop of that label."""
        lines = self.lines
        for number, value in enumerate(self.kernel.results):
            if (Place("result", number) in self.rows) == bool(rows):
                kind, align = lines.type_of(self.dtypes[value]), self.dtypes[value].alignment
                base = f"%{rows}.r{number}" if rows else f"%r{number}"
                place = Place("result", number)
                for lane in range(lines.width if self._class(place) == "s" else 0):
                    item = lines.do(f"extractelement {kind} {values.in_memory(value)}, i64 {lane}")
                    at, scalar = self._lane(place, base, part, lane), scalar_type(self.dtypes[value])
                    lines.put(f"  store {scalar} {item}, ptr {at}, align {align}")
                if self._class(place) == "s":
                    continue
                at = lines.do(f"getelementptr {kind}, ptr {base}, i64 {part}")
                lines.put(f"  store {kind} {values.in_memory(value)}, ptr {at}, align {align}")

    def _stepped(self, value: int, iteration: str) -> str:
        """The number of this iteration, in every lane."""
        lines, dtype = self.lines, self.dtypes[value]
        scalar, lanes = scalar_type(dtype), lines.type_of(dtype)
        offset = lines.do(f"mul i64 {iteration}, %o{value}.stride")
        at = lines.do(f"getelementptr i8, ptr %o{value}.base, i64 {offset}")
        item = lines.do(f"load {scalar}, ptr {at}, align {dtype.alignment}")
        first = lines.do(f"insertelement {lanes} poison, {scalar} {item}, i64 0")
        return lines.do(f"shufflevector {lanes} {first}, {lanes} poison, <{lines.width} x i32> zeroinitializer")


class _Tiled(_Base):
    """A kernel that calls NumPy's loops: the steps of the plan, over and over, on a tile that stays in the cache."""

    def _steps(self) -> None:
        lines = self.lines
        lines.put("  br label %iteration")
        lines.put("iteration:")
        lines.put("  %iteration.i = phi i64 [ 0, %tile ], [ %iteration.next, %iteration.end ]")
        for value, kind in enumerate(self.plan.classes):
            if kind == "i":
                lines.put(f"  %o{value}.offset = mul i64 %iteration.i, %o{value}.stride")
                lines.put(f"  %o{value} = getelementptr i8, ptr %o{value}.base, i64 %o{value}.offset")
        for place in sorted(self.rows, key=str):
            stem = self._stem(place)
            self._row(place, f"%{stem}.row", "%iteration.i")
            stride = str(self._dtype_at(place).itemsize) if self._class(place) == "c" else f"%{stem}.stride"
            lines.put(f"  %{stem}.offset = mul i64 %at, {stride}")
            lines.put(f"  %{stem} = getelementptr i8, ptr %{stem}.row, i64 %{stem}.offset")
        super()._steps()
        lines.put("  br label %iteration.end")
        lines.put("iteration.end:")
        lines.put("  %iteration.next = add i64 %iteration.i, 1")
        more = lines.do("icmp slt i64 %iteration.next, %iterations")
        lines.put(f"  br i1 {more}, label %iteration, label %iterated")
        lines.put("iterated:")
