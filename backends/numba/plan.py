"""Cuts a kernel into tile-sized pieces: compiled segments, and calls of NumPy's inner loops between them.

Enters a Kernel and its stride classes; leaves a Plan: steps in order, where each value is read and written, the tile
length and the scratch layout. A kernel without NumPy loops is one segment over the whole length. INVARIANT: a step
writes a result's own memory only when no later step reads an operand, so a result may share the positions of an
operand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynamo_lite.backends.numba import exact_ops
from dynamo_lite.backends.numba.extremes import is_doubtful, is_extreme, with_extremes

from dynamo_lite._C import abi
from dynamo_lite.schedule.steps import DType, Kernel, KernelOp

MAX_TILE = 1024
MIN_TILE = 256
ALIGNMENT = abi.SCRATCH_ALIGNMENT
SINK_BYTES = 64
CACHE_BYTES = 28 * 1024  # of a 32 KiB first-level cache
SLOT_PADDING = 192  # keeps slots from lying a multiple of 4096 bytes apart, where loads wait for unrelated stores


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lives in memory. kind: "operand", "result" or "scratch" (index counts them), "constant" (index: its
    operation), "sink" (one vector of scratch, for values that are computed for their floating-point flags alone)."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind}{self.index}"


@dataclass(frozen=True, slots=True)
class Segment:
    """Compiled operations in one loop over the tile; loads and stores pair value numbers with places.

    tests: values that are NaN if two NaNs may have met. numbers: operands of stride zero that must be no NaN for that.
    """

    ops: tuple[int, ...]
    loads: tuple[tuple[int, Place], ...]
    stores: tuple[tuple[int, Place], ...]
    tests: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopCall:
    """NumPy's own inner loop for operation `op`, number `loop` of the kernel, on the tile."""

    op: int
    loop: int
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """tile: elements a tile, 0 for no tiling. slots: byte offset of each scratch place. loops: the operation of each
    LoopCall.loop. strict: it looks at every pair of operands of which NumPy might keep the one or the other NaN.
    nested: it goes through rows of elements, and a tile is some whole rows where these are short. doubts: it has
    extremes that may be in doubt (extremes.py)."""

    kernel: Kernel
    classes: str
    strict: bool
    nested: bool
    doubts: bool
    tile: int
    steps: tuple[Segment | LoopCall, ...]
    slots: tuple[int, ...]
    scratch_bytes: int
    loops: tuple[int, ...]

    def __str__(self) -> str:
        over = " rows" if self.nested else ""
        lines = [f"kernel({self.classes}){over} tile={self.tile} scratch={self.scratch_bytes}"]
        for step in self.steps:
            if isinstance(step, LoopCall):
                op = self.kernel.ops[step.op]
                lines.append(f"  {_list(step.writes)} = numpy.{op.param.__name__}({_list(step.reads)})")
                continue
            lines.append("  for each element:")
            lines += [f"    v{value} = {place}" for value, place in step.loads]
            first = first_values(self.kernel)
            for index in step.ops:
                op = self.kernel.ops[index]
                operands = ", ".join(f"v{value}" for value in op.operands) if op.op != "const" else str(op.param)
                lines.append(f"    v{first[index]}: {op.dtypes[0]} = {op.op}({operands})")
            lines += [f"    {place} = v{value}" for value, place in step.stores]
        return "\n".join(lines)


def _list(items: tuple[Place, ...]) -> str:
    return ", ".join(map(str, items))


def first_values(kernel: Kernel) -> list[int]:
    """The number of each op's first value."""
    first, number = [], len(kernel.operand_dtypes)
    for op in kernel.ops:
        first.append(number)
        number += len(op.dtypes)
    return first


_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "reciprocal", "sqrt", "square", "negative", "cast"))
_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def meets_nan(op: KernelOp) -> bool:
    """Whether NumPy keeps the one or the other of two NaN operands, by position and alignment (see exact_ops.py)."""
    return op.op in ("add", "multiply") and op.dtypes[0].kind == "f" and op.operands[0] != op.operands[1]


def spreads_nan(op: KernelOp) -> bool:
    """Whether the result is NaN where an operand is, or else in doubt."""
    return (
        (op.op in _ARITHMETIC or is_extreme(op))
        and op.dtypes[0].kind == "f"
        and all(dtype.kind == "f" for dtype in op.in_dtypes)
    )


def plan(kernel: Kernel, classes: str) -> Plan:
    """Cut the kernel into steps and place every value. Letters behind the classes: "r" asks for a plan over rows, "t"
    for NumPy's own loops for extremes, "!" for a strict plan."""
    classes, nested, by_loops, strict = options(classes)
    if not by_loops:
        kernel = with_extremes(kernel)
    if nested:
        kernel = _with_packed_operands(kernel, classes)
    planner = Planner(kernel, classes, nested)
    groups = planner.group()
    steps, slot_sizes = planner.place(groups)
    loops = tuple(group[0] for group in groups if group and planner.is_loop[group[0]])
    tile = _tile_length(kernel, classes, slot_sizes) if loops else 0
    slots, offset = [], SINK_BYTES
    for size in slot_sizes:
        slots.append(offset)
        offset += (size * tile + SLOT_PADDING + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    doubts = any(map(is_doubtful, kernel.ops))
    return Plan(kernel, classes, strict, nested, doubts, tile, steps, tuple(slots), offset, loops)


def options(classes: str) -> tuple[str, bool, bool, bool]:
    """The classes, and which of ASKS_ROWS, ASKS_LOOPS, ASKS_STRICT stand behind them."""
    bare = classes.rstrip(abi.ASKS_ROWS + abi.ASKS_LOOPS + abi.ASKS_STRICT)
    behind = classes[len(bare) :]
    return bare, abi.ASKS_ROWS in behind, abi.ASKS_LOOPS in behind, abi.ASKS_STRICT in behind


def _with_packed_operands(kernel: Kernel, classes: str) -> Kernel:
    """The kernel with a copy of each operand that a NumPy loop reads: rows that do not lie one behind the other have to
    be packed for it. Not of single numbers, of which such a loop knows by their stride that they stay."""
    n = len(kernel.operand_dtypes)
    copied = sorted({v for op in kernel.ops if op.op == "loop" for v in op.operands if v < n and classes[v] in "cs"})
    if not copied:
        return kernel
    place = {value: n + number for number, value in enumerate(copied)}

    def moved(value: int) -> int:
        return value if value < n else value + len(copied)

    ops = [KernelOp("copy", (v,), (kernel.operand_dtypes[v],), (kernel.operand_dtypes[v],)) for v in copied]
    for op in kernel.ops:
        read = tuple(place[v] if op.op == "loop" and v in place else moved(v) for v in op.operands)
        ops.append(replace(op, operands=read))
    return replace(kernel, ops=tuple(ops), results=tuple(map(moved, kernel.results)))


def _tile_length(kernel: Kernel, classes: str, slot_sizes: list[int]) -> int:
    dtypes = list(kernel.operand_dtypes) + [_dtypes(kernel)[value] for value in kernel.results]
    moving = (dtype.itemsize for dtype, kind in zip(dtypes, classes, strict=True) if kind != "0")
    bytes_per_element = sum(slot_sizes) + sum(moving)
    tile = MAX_TILE
    while tile > MIN_TILE and tile * bytes_per_element > CACHE_BYTES:
        tile //= 2
    return tile


def _dtypes(kernel: Kernel) -> list[DType]:
    return [*kernel.operand_dtypes, *(dtype for op in kernel.ops for dtype in op.dtypes)]


class Planner:
    """The facts about one kernel that grouping and placing share."""

    def __init__(self, kernel: Kernel, classes: str, nested: bool = False) -> None:
        self.kernel = kernel
        self.classes = classes
        self.nested = nested
        self.n_operands = len(kernel.operand_dtypes)
        self.dtypes = _dtypes(kernel)
        self.values = [
            tuple(range(start, start + len(op.dtypes)))
            for start, op in zip(first_values(kernel), kernel.ops, strict=True)
        ]
        self.producer = {value: index for index, values in enumerate(self.values) for value in values}
        self.is_loop = [op.op == "loop" for op in kernel.ops]
        self.is_const = [op.op == "const" for op in kernel.ops]
        # NB: what such a loop computes with, and what it yields, lies on the tile, or is an operand as it came.
        self.forward = {
            value
            for op, values in zip(kernel.ops, self.values, strict=True)
            for value in (*op.operands, *values)
            if op.forward
        }
        self.users: list[list[int]] = [[] for _ in self.dtypes]
        for index, op in enumerate(kernel.ops):
            for value in op.operands:
                self.users[value].append(index)

    def _constant(self, value: int) -> bool:
        return value in self.producer and self.is_const[self.producer[value]]

    def _levels(self) -> list[int]:
        """The number of loop barriers before each op: compiled ops of level k precede the loops of level k."""
        level: list[int] = []
        for index, op in enumerate(self.kernel.ops):
            at = 0
            for value in op.operands:
                source = self.producer.get(value)
                if source is not None:
                    at = max(at, level[source] + (self.is_loop[source] and not self.is_loop[index]))
            level.append(at)
        # Sink what needs no extra memory for its operands: computed where it is used, it need not be stored.
        for index in reversed(range(len(level))):
            users = [user for value in self.values[index] for user in self.users[value]]
            if self.is_loop[index] or not users or any(value in self.kernel.results for value in self.values[index]):
                continue
            stays = all(
                value not in self.producer or self._constant(value) or self.is_loop[self.producer[value]]
                for value in self.kernel.ops[index].operands
            )
            if stays:
                level[index] = max(level[index], min(level[user] for user in users))
        return level

    def group(self) -> list[list[int]]:
        """Ops by step: compiled ops that share a loop, or one NumPy loop. The last group is compiled, maybe empty."""
        level = self._levels()
        groups: list[list[int]] = []
        for at in range(max(level, default=0) + 1):
            members = [index for index in range(len(level)) if level[index] == at and not self.is_const[index]]
            compiled = [index for index in members if not self.is_loop[index] and self._wanted(index)]
            if compiled:
                groups.append(compiled)
            groups += [[index] for index in members if self.is_loop[index]]
        if not groups or self.is_loop[groups[-1][0]]:
            groups.append([])
        return groups

    def _wanted(self, index: int) -> bool:
        op = self.kernel.ops[index]
        used = any(self.users[value] or value in self.kernel.results for value in self.values[index])
        return used or exact_ops.may_raise(op.op, op.in_dtypes, op.dtypes)

    def place(self, groups: list[list[int]]) -> tuple[tuple[Segment | LoopCall, ...], list[int]]:
        """The steps of the groups, and the element size of each scratch place."""
        step_of = {op: number for number, group in enumerate(groups) for op in group}
        last = len(groups) - 1
        places = {value: Place("operand", value) for value in range(self.n_operands)}
        places |= {self.values[i][0]: Place("constant", i) for i in range(len(self.is_const)) if self.is_const[i]}
        stores: list[list[tuple[int, Place]]] = [[] for _ in groups]
        uses: dict[int, int] = {}  # value -> last step that reads it from memory
        for value, producer in self.producer.items():
            steps = [step_of[user] for user in self.users[value] if user in step_of]
            born = step_of.get(producer, 0)
            if self.is_loop[producer]:
                uses[value] = max(steps, default=born)
            elif any(step != born for step in steps) and not self.is_const[producer]:
                uses[value] = max(steps)

        operand_reads = [
            step_of[user] for value in range(self.n_operands) for user in self.users[value] if user in step_of
        ]
        if any(value < self.n_operands for value in self.kernel.results):
            operand_reads.append(last)
        direct_from = max(operand_reads, default=0)
        for number, value in enumerate(self.kernel.results):
            place = Place("result", number)
            producer = self.producer.get(value, -1)
            born = step_of.get(producer, last)
            packed = self.nested and value in self.producer and self.is_loop[producer]
            if born < direct_from or value in places or value in self.forward or packed:
                stores[last].append((value, place))
                if value in self.producer and not self.is_const[producer] and born != last:
                    uses[value] = last
            else:
                places[value] = place
                if not self.is_loop[producer]:
                    stores[born].append((value, place))
        slot_sizes = self._allocate(groups, step_of, uses, places, stores)
        self._keep(groups, stores)
        return tuple(
            self._step(n, group, groups, places, stores[n]) for n, group in enumerate(groups) if group or stores[n]
        ), slot_sizes

    def _allocate(
        self,
        groups: list[list[int]],
        step_of: dict[int, int],
        uses: dict[int, int],
        places: dict[int, Place],
        stores: list[list[tuple[int, Place]]],
    ) -> list[int]:
        """Give every other value that is read from memory a scratch place; places are reused by size."""
        sizes: list[int] = []
        free: list[int] = []
        busy: list[tuple[int, int]] = []  # (last step, slot)
        for number, group in enumerate(groups):
            # A segment reads each position before it writes it, so its stores may reuse what it reads last.
            compiled = not group or not self.is_loop[group[0]]
            for entry in [entry for entry in busy if entry[0] < number + compiled]:
                busy.remove(entry)
                free.append(entry[1])
            for value in (value for index in group for value in self.values[index]):
                op = self.kernel.ops[self.producer[value]]
                if value in places:
                    continue
                if value not in uses:
                    assert op.op != "loop"
                    continue
                size = self.dtypes[value].itemsize
                slot = next((slot for slot in free if sizes[slot] == size), None)
                if slot is None:
                    slot = len(sizes)
                    sizes.append(size)
                else:
                    free.remove(slot)
                busy.append((uses[value], slot))
                places[value] = Place("scratch", slot)
                if compiled:
                    stores[number].append((value, places[value]))
        return sizes

    def _keep(self, groups: list[list[int]], stores: list[list[tuple[int, Place]]]) -> None:
        """Store to the sink what LLVM might find unneeded, and with it the floating-point flag that computing it sets.

        A value is safe if it is stored, or if a safe value cannot be had without it (needs).
        """
        step_of = {op: number for number, group in enumerate(groups) for op in group if not self.is_loop[op]}
        safe = {value for step in stores for value, _ in step}
        for index in sorted(step_of, reverse=True):
            op = self.kernel.ops[index]
            (value,) = self.values[index]
            if value not in safe and exact_ops.may_raise(op.op, op.in_dtypes, op.dtypes):
                stores[step_of[index]].append((value, Place("sink", 0)))
                safe.add(value)
            if value in safe:
                safe |= self.needs(index)

    def needs(self, index: int) -> set[int]:
        """The operands without which no optimiser can compute this operation."""
        op = self.kernel.ops[index]
        if is_extreme(op):
            return set(op.operands) if self._differ(op.operands) and all(map(self._opaque, op.operands)) else set()
        if self.spreads_nan(index):
            return set(op.operands)
        if op.op in _COMPARISONS and op.in_dtypes[0].kind == "f" and self._differ(op.operands):
            return set(op.operands)
        if op.op == "where":
            mask, *arms = op.operands
            needed = {mask} if self._differ(tuple(arms)) and all(map(self._opaque, arms)) else set()
            return needed | (set(arms) if self._opaque(mask) else set())
        return set()

    def _differ(self, values: tuple[int, ...]) -> bool:
        return len({self._original(value) for value in values}) == len(values)

    def _original(self, value: int) -> int:
        """What `value` is a mere copy of."""
        while value in self.producer and self.kernel.ops[self.producer[value]].op in ("copy", "positive", "conjugate"):
            (value,) = self.kernel.ops[self.producer[value]].operands
        return value

    def _opaque(self, value: int) -> bool:
        """Whether nothing is known of a value: it comes from memory, arithmetic, or a comparison of two such."""
        value = self._original(value)
        if value not in self.producer:
            return True
        op = self.kernel.ops[self.producer[value]]
        if op.op in _COMPARISONS:
            return self._differ(op.operands) and all(v not in self.producer for v in op.operands)
        if is_extreme(op):
            return self._differ(op.operands) and all(map(self._opaque, op.operands))
        return op.op == "loop" or (op.op in _ARITHMETIC and op.dtypes[0].kind == "f")

    def _step(
        self,
        number: int,
        group: list[int],
        groups: list[list[int]],
        places: dict[int, Place],
        stores: list[tuple[int, Place]],
    ) -> Segment | LoopCall:
        if group and self.is_loop[group[0]]:
            op = self.kernel.ops[group[0]]
            loop = sum(self.is_loop[earlier[0]] for earlier in groups[:number] if earlier)
            reads = tuple(places[value] for value in op.operands)
            return LoopCall(group[0], loop, reads, tuple(places[value] for value in self.values[group[0]]))
        inside = {value for index in group for value in self.values[index]}
        needed = [value for index in group for value in self.kernel.ops[index].operands] + [
            value for value, _ in stores
        ]
        loads = tuple((value, places[value]) for value in dict.fromkeys(needed) if value not in inside)
        return Segment(tuple(group), loads, tuple(stores), *self.nan_tests(group))

    def nan_tests(self, group: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Segment.tests and Segment.numbers. Arithmetic on NaN is NaN, so the last value of a chain tells of all."""
        pending: set[int] = set()
        tests: list[int] = []
        numbers: set[int] = set()
        for index in group:
            op = self.kernel.ops[index]
            (value,) = self.values[index]
            if meets_nan(op):
                single = {v for v in op.operands if v < self.n_operands and self.classes[v] == "0"}
                numbers |= single
                if not single:
                    pending.add(value)
            if value in pending:
                later = [user for user in self.users[value] if user in group and self.spreads_nan(user)]
                if later:
                    pending.add(self.values[later[0]][0])
                else:
                    tests.append(value)
        return tuple(tests), tuple(sorted(numbers))

    def spreads_nan(self, index: int) -> bool:
        return spreads_nan(self.kernel.ops[index])
