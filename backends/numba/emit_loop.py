"""Writes a Routine of the loop-level program as LLVM text: ``i32 machine(ptr block, i64 n)``.

Enters a Routine (dynamo_lite/program/build_loop.py); leaves the text of a module: the function, those of the kernels
that it launches, and what they declare. block: csrc/abi.def says what its words are. Arithmetic is LLVM's strict kind:
the optimiser neither drops an operation that may set a floating-point flag nor runs one that the program does not.
INVARIANT: the function returns 0, or another status and then the call declines.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
from dynamo_lite.backends.numba import list_items
from dynamo_lite.backends.numba.emit import call_address, emit
from dynamo_lite.backends.numba.functions import function_of
from dynamo_lite.backends.numba.llvm_text import scalar_type
from dynamo_lite.backends.numba.strict_lines import PREDICATES, StrictLines
from dynamo_lite.backends.numba.sums import LEAF, small_sum
from dynamo_lite.backends.numba.waiting_values import WaitingValues

from dynamo_lite import _C
from dynamo_lite._C import abi, kernel_block, machine_block
from dynamo_lite.program.element_ops import BOOL, nans_differ
from dynamo_lite.program.helpers import RESULT_AT, TAKES_BITS, TAKES_BLOCK
from dynamo_lite.program.ir import (
    Alloc,
    Decline,
    DType,
    Element,
    Fold,
    For,
    Function,
    Helper,
    If,
    Launch,
    Load,
    Memref,
    Node,
    Note,
    Range,
    Room,
    Routine,
    Store,
    Swap,
    Value,
    View,
    Within,
    walk,
)
from dynamo_lite.program.values import emit_element, literal

NAME = "machine.loop"
MOST_ASKED = 24  # pairs of NaNs, in place: to compile another function takes as long as some twenty of them
Loops = tuple[tuple[np.ufunc, tuple[DType, ...]], ...]  # NumPy's, each of a function for some dtypes
# What the function returns, by the lower-case names of csrc/abi.def.
RETURNED = {
    getattr(abi, name): name.removeprefix("RETURNED_").lower() for name in dir(abi) if name.startswith("RETURNED_")
}


def emit_loop(routine: Routine) -> tuple[str, Loops, int]:
    """The LLVM module text that defines NAME, the NumPy loops it calls, and the scratch memory it needs."""
    emitter = LoopEmitter(routine)
    return emitter.run(), tuple(emitter.loops), emitter.scratch_bytes


class LoopEmitter:
    """entry: the lines of the first block. values: names, a bool's an i1; those of a body are forgotten after it.
    pointers: where memrefs begin. helpers: the functions of C that are called. kernels: the functions that are
    launched, their texts by name. budget: how many iterations are left until the next look."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.lines = StrictLines()
        self.entry: list[str] = []
        self.values = WaitingValues(self.lines, self.compare)
        self.pointers: dict[Memref, str] = {}
        numbers = sum(origin is None and not value.dtype.hasobject for value, origin in routine.results)
        block = machine_block(routine.ndims, len(routine.results) - numbers, numbers)
        self.input_words, self.result_words, words = block
        self.scratch_word, self.loop_words, _ = kernel_block(words // abi.PLACE_WORDS, 0)
        self.loops: list[tuple[np.ufunc, tuple[DType, ...]]] = []
        self.helpers: set[str] = set()
        self.rooms: set[int] = set()
        self.kernels: dict[str, list[str]] = {}
        self.sums: dict[str, list[str]] = {}
        self.asks: dict[str, list[str]] = {}
        asked = sum(isinstance(node, Element) and node.op == "nans_differ" for node in walk(routine.body))
        self.asks_by_calls = asked > MOST_ASKED
        self.scratch_bytes = 0
        self.budget = self.kept = ""

    def run(self) -> str:
        routine, lines, values = self.routine, self.lines, self.values
        for place, (given, word) in enumerate(zip(routine.inputs, self.input_words, strict=True)):
            if isinstance(given, Memref):
                self.pointers[given] = self.load_word("ptr", word)
                for number, size in enumerate((*given.extents, *given.strides), word + abi.ARRAY_SIZES):
                    self.given(size, number)
            elif routine.ndims[place] == abi.OF_NUMBER and given.dtype == BOOL:
                self.entry.append(f"  %flag{place} = icmp ne i64 {self.load_word('i64', word)}, 0")
                values.masks[given] = f"%flag{place}"
            elif given.dtype.hasobject:
                values.memory[given] = self.load_word("ptr", word)
            else:
                self.loaded(given, self.load_word(scalar_type(given.dtype), word))
        for value, word in zip((routine.start, routine.by, routine.last), _RANGE_WORDS, strict=True):
            self.given(value, word)
        self.look = self.load_word("ptr", abi.WORD_LOOK)
        self.budget = self.load_word("i64", abi.WORD_BUDGET)
        lines.put("  br label %run")
        lines.label("run")
        self.steps(routine.body)
        self.hand_out()
        if self.helpers:
            self.enter_helpers()
        lines.put("  ret i32 0")
        lines.text += lines.apart
        for failure in sorted(lines.failures):
            lines.put(f"decline.{failure}:")
            lines.put(f"  ret i32 {getattr(abi, f'RETURNED_{failure.upper()}')}")
        return self.module()

    def hand_out(self) -> None:
        """Write the results."""
        for word, (value, origin) in zip(self.result_words, self.routine.results, strict=True):
            if isinstance(value, Memref):
                self.store_word("ptr", self.pointers[value], word)
            elif origin is None and value.dtype == BOOL:
                self.store_word("i64", self.lines.do(f"zext i1 {self.name(value)} to i64"), word)
            else:
                self.store_word(scalar_type(value.dtype), self.in_memory(value), word)
            if origin is not None:
                self.store_word("i64", self.name(origin), word + abi.RESULT_ORIGIN)

    def module(self) -> str:
        lines = self.lines
        head = ['source_filename = "dynamo_lite"']
        head += [f"@{name} = private global {kind} {value}" for (kind, value), name in lines.hidden.items()]
        hidden = [f"  %{name} = load volatile {kind}, ptr @{name}" for (kind, _), name in lines.hidden.items()]
        body = [f"define i32 @{NAME}(ptr %block, i64 %n) #0 {{", "entry:", *hidden, *self.entry, *lines.text, "}"]
        tail = [
            *self.other_functions(),
            *sorted(lines.declarations),
            "attributes #0 = { nounwind strictfp }",
            '!0 = !{!"branch_weights", i32 1, i32 9999}',
        ]
        return "\n".join([*head, *body, *tail]) + "\n"

    # The block

    def load_word(self, kind: str, word: int) -> str:
        at, name = self.lines.name("%at"), self.lines.name("%in")
        self.entry.append(f"  {at} = getelementptr i64, ptr %block, i64 {word}")
        self.entry.append(f"  {name} = load {kind}, ptr {at}, align 8")
        return name

    def given(self, value: Value, word: int) -> None:
        """An integer that stands in the block."""
        if value.number is None:
            self.values.memory[value] = self.load_word("i64", word)

    def store_word(self, kind: str, value: str, word: int) -> None:
        at = self.lines.do(f"getelementptr i64, ptr %block, i64 {word}")
        self.lines.put(f"  store {kind} {value}, ptr {at}, align 8")

    def enter_helpers(self) -> None:
        """Load the addresses of the functions of C that are called."""
        table = self.load_word("ptr", abi.WORD_HELPERS)
        self.entry.append("  %helper.result = alloca double, align 8")
        for name in sorted(self.helpers):
            self.entry.append(f"  %helper.{name}.at = getelementptr ptr, ptr {table}, i64 {abi.HELPERS.index(name)}")
            self.entry.append(f"  %helper.{name} = load ptr, ptr %helper.{name}.at, align 8")

    def kept_words(self) -> str:
        """Where the objects stand that are kept."""
        self.kept = self.kept or self.load_word("ptr", abi.WORD_KEPT)
        return self.kept

    # Values

    def known(self, value: Value) -> None:
        """Let a constant be written as what it is."""
        if value.number is None:
            return
        self.values.memory[value] = literal(self.lines, value.dtype, value.number)
        if value.dtype == BOOL:
            self.values.masks[value] = "true" if value.number else "false"

    def name(self, value: Value) -> str:
        """The name of a value, as it is computed with."""
        self.known(value)
        return self.values.operand(value)

    def in_memory(self, value: Value) -> str:
        """The same as it lies in memory."""
        self.known(value)
        return self.values.in_memory(value)

    def names(self, values: Sequence[Value]) -> list[str]:
        return [self.name(value) for value in values]

    def loaded(self, value: Value, name: str) -> None:
        """A value that comes from memory."""
        self.values.memory[value] = name
        self.values.loaded.add(value)

    def handle(self, one: Value | Memref) -> str:
        """What is handed on, of elements their address."""
        return self.pointers[one] if isinstance(one, Memref) else self.name(one)

    def set(self, one: Value | Memref, name: str) -> None:
        """What was handed on."""
        if isinstance(one, Memref):
            self.pointers[one] = name
            return
        self.values.set(one, name)
        self.values.loaded.add(one)

    def decline_if(self, condition: str, status: int) -> None:
        self.lines.decline_if(condition, RETURNED[status])

    # Nodes

    def steps(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.step(node)

    def step(self, node: Node) -> None:
        lines = self.lines
        match node:
            case Element():
                self.element(node)
            case Load(result, memref, _):
                at = f"ptr {self.pointers[memref]}, align {memref.dtype.alignment}"
                self.loaded(result, lines.do(f"load {scalar_type(memref.dtype)}, {at}"))
            case Store(memref, _, value):
                at = f"ptr {self.pointers[memref]}, align {memref.dtype.alignment}"
                lines.put(f"  store {scalar_type(memref.dtype)} {self.in_memory(value)}, {at}")
            case View(result, source, index):
                self.pointers[result] = self.address(source, index)
            case Decline(condition, status):
                self.decline_if(self.name(condition), status)
            case Within(index, extent, _, Value() as result):
                self.values.memory[result] = self.from_either_end(index, extent)
            case Within(index, extent, tested):
                inside = [value.number for value in (index, extent)]
                if not tested and (None in inside or not 0 <= inside[0] < inside[1]):
                    at, size = self.names((index, extent))
                    self.decline_if(lines.do(f"icmp uge i64 {at}, {size}"), abi.RETURNED_INDEX)
            case Note(condition, status):
                lines.aside(self.name(condition), lambda: self.store_word("i64", str(status), abi.WORD_OVERFLOW))
            case If():
                self.choice(node)
            case Range():
                self.range(node)
            case For():
                self.sweep(node)
            case Alloc(memref):
                self.pointers[memref] = self.cell()
            case Room(memref, number):
                self.pointers[memref] = self.room(memref, self.name(number))
            case Swap(one, other):
                self.swap(one, other)
            case Helper():
                self.helper(node)
            case Fold():
                self.fold(node)
            case Launch():
                self.launch(node)
            case _:
                raise NotImplementedError(f"{type(node).__name__} in a routine")

    def element(self, node: Element) -> None:
        """An operation, or NumPy's own loop on one element."""
        if node.ufunc is not None:
            names = self.call_loop(node.ufunc, node, [self.in_memory(value) for value in node.operands])
            for value, name in zip(node.results, names, strict=True):
                self.loaded(value, name)
            return
        if node.op in PREDICATES and node.operands[0].dtype.char in "fd":
            self.values.waiting[node.results[0]] = node  # until it is known where it is needed
            return
        for value in node.operands:
            self.known(value)
        if node.op == "nans_differ" and self.asks_by_calls and node.operands[0].dtype.char in "fd":
            self.values.set(node.results[0], self.ask_nans(*node.operands))
            return
        if node.op == "where" and node.results[0].dtype.kind == "f":
            name = self.blend(*node.operands)
            if name:
                self.values.set(node.results[0], name)
                return
        emit_element(self.lines, node, self.values)
        # An integer need not be hidden: divisions are strict.
        self.values.loaded |= {value for value in node.results if value.dtype.kind in "iu"}

    def ask_nans(self, a: Value, b: Value) -> str:
        """Whether two floats are unlike NaNs: a call, since that is seldom asked, which keeps all registers."""
        kind, (one, other) = scalar_type(a.dtype), self.names((a, b))
        if kind not in self.asks:
            lines = StrictLines()
            lines.put(f"define internal preserve_allcc i1 @nans.{kind}({kind} %a, {kind} %b) cold noinline #0 {{")
            lines.put(f"  ret i1 {nans_differ(lines, a.dtype, ['%a', '%b'])}")
            self.asks[kind] = [*lines.text, "}"]
            self.lines.declarations |= lines.declarations
        return self.lines.do(f"call preserve_allcc i1 @nans.{kind}({kind} {one}, {kind} {other}) #0")

    def compare(self, node: Element) -> None:
        """A comparison of floats, where its result is needed. NB: there alone it is one instruction and a jump."""
        for value in node.operands:
            self.known(value)
        emit_element(self.lines, node, self.values)

    def compare_all(self) -> None:
        """Those that wait, before a loop."""
        for value in self.values.waiting:
            self.values.operand(value)
        self.values.waiting = {}

    def blend(self, condition: Value, yes: Value, no: Value) -> str:
        """A choice of floats by a comparison that waits; "" where there is no such thing."""
        waits = None if condition in self.values.masks else self.values.waiting.get(condition)
        if waits is None:
            return ""
        compared = PREDICATES[waits.op], waits.operands[0].dtype, self.names(waits.operands)
        return self.lines.blend(compared, yes.dtype, *self.names((yes, no)))

    def address(self, source: Memref, index: Sequence[Value]) -> str:
        """Where a part of a memref begins."""
        lines, pointer = self.lines, self.pointers[source]
        for value, stride in zip(index, source.strides, strict=False):
            if value.number != 0:
                offset = lines.do(f"mul i64 {self.name(value)}, {self.name(stride)}")
                pointer = lines.do(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return pointer

    def from_either_end(self, index: Value, extent: Value) -> str:
        """An index from the begin; seldom is it counted from the end."""
        lines, at, size = self.lines, self.name(index), self.name(extent)

        def ask() -> str:
            found = lines.do(f"add i64 {at}, {size}")
            self.decline_if(lines.do(f"icmp uge i64 {found}, {size}"), abi.RETURNED_INDEX)
            return found

        return lines.aside(lines.do(f"icmp uge i64 {at}, {size}"), ask, "i64", at)

    def cell(self) -> str:
        cell = self.lines.name("%cell")
        self.entry.append(f"  {cell} = alloca [16 x i8], align 16")
        return cell

    # Control

    def body(self, nodes: Sequence[Node], handed_on: Sequence[Value | Memref]) -> list[str]:
        """The nodes of a body, and what it hands on. NB: what was computed there is not known after it."""
        values = self.values
        before = (dict(values.memory), dict(values.masks), dict(values.waiting))
        self.steps(nodes)
        names = [self.handle(one) for one in handed_on]
        values.memory, values.masks, values.waiting = before
        return names

    def choice(self, node: If) -> None:
        lines = self.lines
        if not node.then and not node.orelse:
            self.selection(node)
            return
        condition = self.name(node.condition)
        stem, sides = lines.name("if"), (("then", node.then), ("else", node.orelse))
        handed_on = ([one.then for one in node.results], [one.orelse for one in node.results])
        labels = [f"{stem}.{name}" if nodes else f"{stem}.end" for name, nodes in sides]
        before, budget = lines.block, self.budget
        names = [
            [] if nodes else [self.handle(one) for one in some]
            for (_, nodes), some in zip(sides, handed_on, strict=True)
        ]
        seldom = ", !prof !0" if node.rare else ""
        lines.put(f"  br i1 {condition}, label %{labels[0]}, label %{labels[1]}{seldom}")
        edges = [before, before]
        budgets = [budget, budget]
        for place, (_, nodes) in enumerate(sides):
            if not nodes:
                continue
            self.budget = budget
            straight = lines.text
            if node.rare and place == 0:
                lines.text = []
            lines.label(labels[place])
            names[place] = self.body(nodes, handed_on[place])
            edges[place], budgets[place] = lines.block, self.budget
            lines.put(f"  br label %{stem}.end")
            if node.rare and place == 0:
                lines.apart += lines.text
                lines.text = straight
        lines.label(f"{stem}.end")

        def phi(kind: str, one: str, other: str) -> str:
            return lines.do(f"phi {kind} [ {one}, %{edges[0]} ], [ {other}, %{edges[1]} ]")

        found = [phi(_type(one.result), *pair) for one, *pair in zip(node.results, *names, strict=True)]
        self.budget = phi("i64", *budgets) if budgets[0] != budgets[1] else budget
        for one, name in zip(node.results, found, strict=True):
            self.set(one.result, name)

    def selection(self, node: If) -> None:
        """A choice without nodes."""
        found: list[str] = []
        for one in node.results:
            sides = (one.then, one.orelse)
            floats = all(isinstance(side, Value) and side.dtype.kind == "f" for side in sides)
            name = self.blend(node.condition, *sides) if floats else ""  # type: ignore[arg-type]
            if not name:
                condition, kind, (yes, no) = self.name(node.condition), _type(one.result), map(self.handle, sides)
                name = self.lines.do(f"select i1 {condition}, {kind} {yes}, {kind} {no}")
            found.append(name)
        for one, name in zip(node.results, found, strict=True):
            self.set(one.result, name)

    def sweep(self, node: For) -> None:
        """The body for each index."""
        self.compare_all()
        lines, stem, before = self.lines, self.lines.name("rows"), self.lines.block
        extent, budget = self.name(node.extent), self.budget
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.head")
        hole = len(lines.text)
        lines.text.append("")
        self.values.memory[node.index] = f"%{stem}.row"
        lines.put(f"  br i1 {lines.do(f'icmp ult i64 %{stem}.row, {extent}')}, label %{stem}.body, label %{stem}.end")
        lines.label(f"{stem}.body")
        self.body(node.body, ())
        assert self.budget == budget, "nothing in a sweep polls"
        lines.put(f"  %{stem}.next = add i64 %{stem}.row, 1")
        lines.text[hole] = f"  %{stem}.row = phi i64 [ 0, %{before} ], [ %{stem}.next, %{lines.block} ]"
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.end")

    def range(self, node: Range) -> None:
        """The iterations of a loop that has at least one. Where no inner loop looks, too, they go in stretches: as many
        as are left until the next look, so that one comparison ends an iteration."""
        self.compare_all()
        lines, stem, before = self.lines, self.lines.name("loop"), self.lines.block
        start, by, end = self.names((node.start, node.by, node.end))
        firsts = [self.handle(one.first) for one in node.carried]
        polled = any(isinstance(one, Range) for one in walk(node.body))
        pace = 0 if polled or node.by.number is None else int(node.by.number)
        by_stretches, index, spent, limit = pace in _PACES, f"%{stem}.index", self.budget, end
        self.budget = f"%{stem}.budget"
        hole = 0
        if by_stretches:
            lines.put(f"  br label %{stem}.stretch")
            lines.label(f"{stem}.stretch")
            hole = self.leave_lines(2 + len(firsts))
            limit = self.stretch(f"{index}.first", end, pace)
        lines.put(f"  br label %{stem}.head")
        lines.label(f"{stem}.head")
        inner_hole = self.leave_lines(2 + len(firsts))
        self.values.memory[node.index] = index
        carried = [f"%{stem}.c{number}" for number in range(len(firsts))]
        for one, name in zip(node.carried, carried, strict=True):
            self.set(one.value, name)
        handed_on = [*(one.next for one in node.carried), *(one for one, _ in node.last)]
        if node.goes_on is not None:
            handed_on.append(node.goes_on)
        names = self.body(node.body, handed_on)
        following, left, count = lines.do(f"add i64 {index}, {by}"), self.budget, ""
        if node.goes_on is not None:
            lines.put(f"  br i1 {names.pop()}, label %{stem}.counts, label %{stem}.stopped")
            lines.label(f"{stem}.counts")
        at_limit = lines.do(f"icmp eq i64 {index}, {limit}")
        if by_stretches:
            lines.put(f"  br i1 {at_limit}, label %{stem}.limit, label %{stem}.head")
            latch = lines.block
            lines.label(f"{stem}.limit")
            at_end = lines.do(f"icmp eq i64 {index}, {end}")
            lines.put(f"  br i1 {at_end}, label %{stem}.ended, label %{stem}.look")
        else:
            lines.put(f"  br i1 {at_limit}, label %{stem}.ended, label %{stem}.on")
            lines.label(f"{stem}.on")
            if node.outermost and polled:
                self.store_word("i64", index, abi.WORD_ENDED_AT)
                self.leave_if_asked(stem, index)
            count = lines.do(f"sub i64 {left}, 1")
            is_spent = lines.do(f"icmp eq i64 {count}, 0")
            latch = lines.block
            lines.put(f"  br i1 {is_spent}, label %{stem}.look, label %{stem}.head, !prof !0")
        again = self.look_around(node, stem, index, names, "stretch" if by_stretches else "head")
        kinds = ["i64", "i64", *(_type(one.value) for one in node.carried)]
        begins = [start, spent, *firsts]
        resumed = [following, f"%{stem}.more", *again]
        if by_stretches:
            entries = [f"{index}.first", f"%{stem}.budget", *(f"{name}.first" for name in carried)]
            lines.text[hole : hole + len(kinds)] = _phis(
                entries, kinds, {before: begins, f"{stem}.looked": resumed}
            )
            sources = {f"{stem}.stretch": [entries[0], *entries[2:]], latch: [following, *names]}
            lines.text[inner_hole : inner_hole + len(kinds)] = [
                *_phis([index, *carried], kinds[1:], sources), ""
            ]
        else:
            sources = {before: begins, latch: [following, count, *names], f"{stem}.looked": resumed}
            entries = [index, f"%{stem}.budget", *carried]
            lines.text[inner_hole : inner_hole + len(kinds)] = _phis(entries, kinds, sources)
        self.finish_range(node, stem)
        self.budget = self.unspent(stem, index, pace) if by_stretches else left
        for (_, after), name in zip(node.last, names[len(firsts) :], strict=True):
            self.set(after, name)

    def leave_lines(self, count: int) -> int:
        """Where so many lines will be written later."""
        self.lines.text += [""] * count
        return len(self.lines.text) - count

    def stretch(self, first: str, end: str, pace: int) -> str:
        """The last index of as many iterations as the budget has, or of those that there are."""
        lines = self.lines
        count = lines.do(f"sub i64 {self.budget}, 1")
        most = lines.do(f"mul i64 {count}, {abs(pace)}")
        reach = lines.do(f"sub i64 {end}, {first}" if pace > 0 else f"sub i64 {first}, {end}")
        far = lines.do(f"{'add' if pace > 0 else 'sub'} i64 {first}, {most}")
        return lines.do(f"select i1 {lines.do(f'icmp ule i64 {reach}, {most}')}, i64 {end}, i64 {far}")

    def unspent(self, stem: str, index: str, pace: int) -> str:
        """What is left of the budget of a stretch that has ended at `index`."""
        lines, sides = self.lines, (index, f"{index}.first")
        way = lines.do("sub i64 {}, {}".format(*(sides if pace > 0 else sides[::-1])))
        count = way if abs(pace) == 1 else lines.do(f"udiv i64 {way}, {abs(pace)}")
        return lines.do(f"sub i64 %{stem}.budget, {count}")

    def finish_range(self, node: Range, stem: str) -> None:
        """Where the ways out of a loop meet."""
        lines = self.lines
        if node.goes_on is not None:
            lines.label(f"{stem}.stopped")
            if node.outermost:
                self.store_word("i64", "1", abi.WORD_ENDED)
            lines.put(f"  br label %{stem}.done")
        lines.label(f"{stem}.ended")
        lines.put(f"  br label %{stem}.done")
        lines.label(f"{stem}.done")

    def look_around(self, node: Range, stem: str, index: str, names: list[str], back: str) -> list[str]:
        """Look for signals and threads that wait, and go back; what goes into the next iteration of what is carried.
        names: what is carried, and more."""
        lines = self.lines
        straight, lines.text = lines.text, []
        lines.label(f"{stem}.look")
        lines.put(f"  %{stem}.more = call i64 {self.look}(ptr %block) #0")
        lines.failures.add("looked")
        refused = lines.do(f"icmp eq i64 %{stem}.more, 0")
        lines.put(f"  br i1 {refused}, label %decline.looked, label %{stem}.asked, !prof !0")
        lines.label(f"{stem}.asked")
        if node.outermost:
            self.leave_if_asked(stem, index)
        lines.put(f"  br label %{stem}.looked")
        lines.label(f"{stem}.looked")
        again = names[: len(node.carried)]
        for place, one in enumerate(node.carried):
            if one.again is not None:
                at = f"ptr {self.pointers[one.again]}, align {one.again.dtype.alignment}"
                again[place] = lines.do(f"load {scalar_type(one.again.dtype)}, {at}")
        lines.put(f"  br label %{stem}.{back}")
        lines.apart += lines.text
        lines.text = straight
        return again

    def leave_if_asked(self, stem: str, index: str) -> None:
        """End after this iteration of the outermost loop, if somebody waits for that: `index` is then the last one."""
        lines, leave = self.lines, self.lines.name("leave")
        at = lines.do(f"getelementptr i64, ptr %block, i64 {abi.WORD_LEAVE}")
        asked = lines.do(f"icmp ne i64 {lines.do(f'load volatile i64, ptr {at}, align 8')}, 0")
        lines.put(f"  br i1 {asked}, label %{leave}, label %{leave}.on, !prof !0")
        lines.label(leave)
        self.store_word("i64", index, abi.WORD_LAST)
        lines.put(f"  br label %{stem}.ended")
        lines.label(f"{leave}.on")

    # Calls

    def call_loop(self, ufunc: np.ufunc, node: Element, operands: list[str]) -> list[str]:
        """Call NumPy's inner loop with these operands, without a stride as NumPy's calls of numbers; its results."""
        lines, number, dtypes = self.lines, len(self.loops), (*node.in_dtypes, *node.dtypes)
        self.loops.append((ufunc, dtypes))
        stem = f"%call{number}"
        word = self.loop_words + abi.LOOP_WORDS * number
        self.entry += [
            f"  {stem}.slot = getelementptr i64, ptr %block, i64 {word}",
            *call_address(f"{stem}.invoke", f"{stem}.slot"),
            f"  {stem}.args = alloca [{len(dtypes)} x ptr], align 8",
            f"  {stem}.strides = alloca [{len(dtypes)} x i64], align 8",
        ]
        for place, dtype in enumerate(dtypes):
            self.entry += [
                f"  {stem}.cell{place} = alloca [16 x i8], align 16",
                f"  {stem}.arg{place} = getelementptr ptr, ptr {stem}.args, i64 {place}",
                f"  {stem}.stride{place} = getelementptr i64, ptr {stem}.strides, i64 {place}",
                f"  store i64 {dtype.itemsize * (place >= len(operands))}, ptr {stem}.stride{place}, align 8",
            ]
        for place in range(len(dtypes)):  # every time: a loop may move its pointers
            lines.put(f"  store ptr {stem}.cell{place}, ptr {stem}.arg{place}, align 8")
        for place, (operand, dtype) in enumerate(zip(operands, dtypes, strict=False)):
            lines.put(f"  store {scalar_type(dtype)} {operand}, ptr {stem}.cell{place}, align {dtype.alignment}")
        arguments = f"ptr {stem}.slot, ptr {stem}.args, i64 1, ptr {stem}.strides"
        status = lines.do(f"call i32 {stem}.invoke({arguments}) #0")
        self.decline_if(lines.do(f"icmp ne i32 {status}, 0"), abi.RETURNED_FAILED)
        return [
            lines.do(f"load {scalar_type(dtype)}, ptr {stem}.cell{place}, align {dtype.alignment}")
            for place, dtype in enumerate(dtypes[len(operands) :], len(operands))
        ]

    def call(self, name: str, kind: str, words: Sequence[str]) -> str:
        """Call a function of C."""
        self.helpers.add(name)
        return self.lines.do(f"call {kind} %helper.{name}({', '.join(words)}) #0")

    def words(self, one: Value | Memref) -> list[str]:
        """An operand of a function of C: of a memref with axes also their sizes and strides."""
        if isinstance(one, Memref):
            return [f"ptr {self.pointers[one]}", *(f"i64 {name}" for name in self.names((*one.extents, *one.strides)))]
        return [f"{scalar_type(one.dtype)} {self.in_memory(one)}"]

    def helper(self, node: Helper) -> None:
        if list_items.write(self, node):
            return
        lines, operands = self.lines, list(node.operands)
        words = ["ptr %block"] if node.name in TAKES_BLOCK else []
        last = operands.pop() if node.name in TAKES_BITS else None
        words += [word for one in operands for word in self.words(one)]
        if isinstance(last, Value):
            words.append(f"i64 {self.bits(last)}")
        place = RESULT_AT.get(node.name)
        if node.results and place is None:
            (result,) = node.results
            self.loaded(result, self.call(node.name, scalar_type(result.dtype), words))
            return
        if place is not None:
            words.insert(place, "ptr %helper.result")
        failed = self.call(node.name, "i32", words)
        if node.failure:
            self.decline_if(lines.do(f"icmp ne i32 {failed}, 0"), node.failure)
        for result in node.results:
            self.loaded(result, self.helper_result(result.dtype))

    def helper_result(self, dtype: DType) -> str:
        return self.lines.do(f"load {scalar_type(dtype)}, ptr %helper.result, align {dtype.alignment}")

    def bits(self, value: Value) -> str:
        """A value's bits as an i64."""
        lines, name, kind = self.lines, self.in_memory(value), scalar_type(value.dtype)
        whole = {"double": "i64", "float": "i32"}.get(kind, kind)
        if whole != kind:
            name = lines.do(f"bitcast {kind} {name} to {whole}")
        return name if whole == "i64" else lines.do(f"zext {whole} {name} to i64")

    def fold(self, node: Fold) -> None:
        """All elements of a vector as one."""
        lines, dtype, (size,), (stride,) = self.lines, node.result.dtype, node.memref.extents, node.memref.strides
        kind, number = scalar_type(dtype), _C.find_fold(node.ufunc, dtype)
        pointer, length, words = self.pointers[node.memref], self.name(size), self.words(node.memref)

        def ask() -> str:
            failed = self.call("fold", "i32", [f"i64 {number}", "ptr %helper.result", *words])
            self.decline_if(lines.do(f"icmp ne i32 {failed}, 0"), abi.RETURNED_FOLD)
            return self.helper_result(dtype)

        if node.ufunc is not np.add or dtype.char not in "fd" or stride.number != dtype.itemsize:
            self.loaded(node.result, ask())
            return
        self.sums.setdefault(kind, small_sum(kind))
        short = lines.do(f"call {kind} @sum.{kind}(ptr {pointer}, i64 {length}) #0")
        unsure, long = lines.is_nan(dtype, short), lines.do(f"icmp ugt i64 {length}, {LEAF}")
        self.loaded(node.result, lines.aside(lines.do(f"or i1 {unsure}, {long}"), ask, kind, short))

    # Rooms

    def room(self, memref: Memref, count: str) -> str:
        """Where a room lies, of so many elements."""
        lines = self.lines
        size = lines.do(f"mul i64 {count}, {memref.dtype.itemsize}")
        at = self.room_words(memref.index)
        pointer, there = lines.do(f"load ptr, ptr {at[0]}, align 8"), lines.do(f"load i64, ptr {at[1]}, align 8")

        def ask() -> str:
            made = self.call("room", "ptr", ["ptr %block", f"i64 {memref.index}", f"i64 {size}"])
            self.decline_if(lines.do(f"icmp eq ptr {made}, null"), abi.RETURNED_FAILED)
            return made

        return lines.aside(lines.do(f"icmp ule i64 {there}, {size}"), ask, "ptr", pointer)

    def room_words(self, number: int) -> tuple[str, str]:
        """Where the address of a room stands, and how many bytes it has."""
        name = f"%room{number}"
        if number not in self.rooms:
            self.rooms.add(number)
            word = abi.ROOM_WORDS * number
            self.entry += [
                f"  {name}.rooms.at = getelementptr i64, ptr %block, i64 {abi.WORD_ROOMS}",
                f"  {name}.rooms = load ptr, ptr {name}.rooms.at, align 8",
                f"  {name}.address = getelementptr i64, ptr {name}.rooms, i64 {word}",
                f"  {name}.bytes = getelementptr i64, ptr {name}.rooms, i64 {word + 1}",
            ]
        return f"{name}.address", f"{name}.bytes"

    def swap(self, one: int, other: int) -> None:
        """Let two rooms exchange their memory."""
        lines, words = self.lines, (*self.room_words(one), *self.room_words(other))
        values = [lines.do(f"load i64, ptr {word}, align 8") for word in words]
        for value, word in zip((*values[2:], *values[:2]), words, strict=True):
            lines.put(f"  store i64 {value}, ptr {word}, align 8")

    # Kernels

    def launch(self, node: Launch) -> None:
        """Run a kernel over vectors or matrices; where it does not return 0, neither does the function."""
        lines, places = self.lines, (*node.reads, *node.writes)
        rows = len(places[-1].extents) == 2
        function = function_of(node.kernel, node.classes)
        name = self.kernel(function)
        block = lines.name("%kernel.block")
        first_loop = len(self.loops)
        self.loops += [(loop.ufunc, loop.dtypes) for loop in function.loops]
        scratch, first, words = kernel_block(len(places), len(function.loops))
        room = words + (abi.ROWS_STEPS + len(places)) * rows
        self.entry.append(f"  {block} = alloca [{room} x i64], align 8")
        own_first = self.loop_words + abi.LOOP_WORDS * first_loop
        copied = [(self.scratch_word, scratch), *zip(count(own_first), range(first, words), strict=False)]
        for source, goal in copied:
            at, to, value = (lines.name(stem) for stem in ("%at", "%to", "%word"))
            self.entry += [
                f"  {at} = getelementptr i64, ptr %block, i64 {source}",
                f"  {to} = getelementptr i64, ptr {block}, i64 {goal}",
                f"  {value} = load i64, ptr {at}, align 8",
                f"  store i64 {value}, ptr {to}, align 8",
            ]
        given: list[tuple[int, str, str]] = []
        for place, memref in enumerate(places):
            base, strides = abi.PLACE_WORDS * place, self.names(memref.strides)
            given.append((base + abi.PLACE_POINTER, "ptr", self.pointers[memref]))
            given.append((base + abi.PLACE_STRIDE, "i64", strides[-1]))
            if rows:
                given.append((words + abi.ROWS_STEPS + place, "i64", strides[0]))
        extents = self.names(places[-1].extents)
        if rows:
            given.append((words + abi.ROWS_COUNT, "i64", extents[0]))
        for number, kind, name_of in given:
            word = lines.do(f"getelementptr i64, ptr {block}, i64 {number}")
            lines.put(f"  store {kind} {name_of}, ptr {word}, align 8")
        status = lines.do(f"call i32 @{name}(ptr {block}, i64 {extents[-1]}) #0")
        failed, on, stop = lines.do(f"icmp ne i32 {status}, 0"), lines.name("on"), lines.name("stop")
        lines.put(f"  br i1 {failed}, label %{stop}, label %{on}, !prof !0")
        lines.apart += [f"{stop}:", f"  ret i32 {status}"]
        lines.label(on)

    def kernel(self, function: Function) -> str:
        """The name of a kernel's function in this module."""
        self.scratch_bytes = max(self.scratch_bytes, function.scratch_bytes)
        text = emit(function, "@").splitlines()
        for name, known in self.kernels.items():
            if known == text:
                return name
        name = f"{NAME}.kernel{len(self.kernels)}"
        self.kernels[name] = text
        return name

    def other_functions(self) -> list[str]:
        """The functions that are called in this module; what kernels declare is declared once."""
        result = [line for text in (*self.sums.values(), *self.asks.values()) for line in text]
        for name, text in self.kernels.items():
            for line in text:
                if line.startswith("declare "):
                    self.lines.declarations.add(line)
                elif not line.startswith("source_filename"):
                    for own in ("hidden", "constant", "table"):
                        line = line.replace(f"@{own}", f"@{name}.{own}")
                    result.append(line.replace("define i32 @@(", f"define internal i32 @{name}("))
        return result


_PACES = frozenset((*range(-64, 0), *range(1, 65)))  # times a budget they are small
_RANGE_WORDS = (abi.WORD_START, abi.WORD_BY, abi.WORD_LAST)


def _type(one: Value | Memref) -> str:
    """The LLVM type of what is handed on."""
    if isinstance(one, Memref):
        return "ptr"
    return "i1" if one.dtype == BOOL else scalar_type(one.dtype)


def _phis(names: Sequence[str], kinds: Sequence[str], sources: dict[str, list[str]]) -> list[str]:
    """What values are in a block, by the blocks that come before."""
    return [
        f"  {name} = phi {kind} " + ", ".join(f"[ {values[place]}, %{block} ]" for block, values in sources.items())
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
    ]
