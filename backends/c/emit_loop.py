"""Writes a Routine of the loop-level program as C: ``i32 name(i64 *block, i64 n)``, and the kernels that it launches.

Enters a Routine (dynamo_lite/program/build_loop.py); leaves the text of a C file. Every operation that may set a
floating-point flag is kept where it stands (Lines.strict), so that none is lost or made up. INVARIANT: the function
returns 0, or another status and then the call declines.
"""

from __future__ import annotations

from dynamo_lite.backends.c.c_text import c_type
from dynamo_lite.backends.c.emit import Emitter, Loops, emit, kind_of, signature
from dynamo_lite.backends.kernels.functions import function_of

from dynamo_lite import _C
from dynamo_lite._C import abi, kernel_block, machine_block
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.helpers import RESULT_AT, TAKES_BITS, TAKES_BLOCK
from dynamo_lite.program.ir import (
    Alloc,
    Decline,
    Element,
    Fold,
    Function,
    Helper,
    If,
    Launch,
    Memref,
    Node,
    Note,
    Range,
    Room,
    Routine,
    Swap,
    Value,
    Within,
    walk,
)


def emit_loop(routine: Routine, name: str) -> tuple[str, Loops, int]:
    """The C file that defines `name`, the NumPy loops it calls, and the scratch memory it needs."""
    emitter = _Loop(routine)
    emitter.run()
    text = "".join([*emitter.kernels.values(), emitter.text(name)])
    return text, emitter.loops, emitter.scratch_bytes


class _Loop(Emitter):
    """done: what ends the outermost loop that is written. kernels: the functions that are launched, by their text."""

    def __init__(self, routine: Routine) -> None:
        numbers = sum(origin is None and not value.dtype.hasobject for value, origin in routine.results)
        block = machine_block(routine.ndims, len(routine.results) - numbers, numbers)
        self.input_words, self.result_words, words = block
        self.scratch_word, loop_words, _ = kernel_block(words // abi.PLACE_WORDS, 0)
        super().__init__(True, loop_words)
        self.routine = routine
        self.kernels: dict[str, str] = {}
        self.scratch_bytes = 0

    def run(self) -> None:
        routine, lines = self.routine, self.lines
        lines.top += ["const i32 met = 0;", f"i64 budget = {self.word(abi.WORD_BUDGET)};"]
        lines.top.append("char result[16] __attribute__((aligned(16)));")
        for place, (given, word) in enumerate(zip(routine.inputs, self.input_words, strict=True)):
            if isinstance(given, Memref):
                self.pointers[given] = lines.do("char *", f"(char *){self.word(word)}")
                for number, size in enumerate((*given.extents, *given.strides), word + abi.ARRAY_SIZES):
                    self.given(size, number)
            elif routine.ndims[place] == abi.OF_NUMBER and given.dtype == BOOL:
                self.set(given, lines.do("u8", f"{self.word(word)} != 0"))
            else:
                self.set(given, lines.do(c_type(given.dtype), f"*({c_type(given.dtype)} *)&{self.word(word)}"))
        for value, word in (
            (routine.start, abi.WORD_START), (routine.by, abi.WORD_BY), (routine.last, abi.WORD_LAST)
        ):  # fmt: skip
            self.given(value, word)
        self.steps(routine.body)
        for word, (result, origin) in zip(self.result_words, routine.results, strict=True):
            if isinstance(result, Value) and origin is None and result.dtype == BOOL:
                lines.put(f"{self.word(word)} = {self.name(result)};")
            else:
                lines.put(f"*({kind_of(result)} *)&{self.word(word)} = {self.handle(result)};")
            if origin is not None:
                lines.put(f"{self.word(word + abi.RESULT_ORIGIN)} = {self.name(origin)};")

    def given(self, value: Value, word: int) -> None:
        """An integer that stands in the block."""
        if value.number is None:
            self.values.memory[value] = self.lines.do("i64", self.word(word))

    def return_if(self, condition: str, status: int | str) -> None:
        self.lines.put(f"if (SELDOM({condition})) return {status};")

    # Nodes

    def step(self, node: Node) -> None:
        lines = self.lines
        match node:
            case Element(ufunc=ufunc) if ufunc is not None:
                self.call_element(node)
            case Decline(condition, status):
                self.return_if(self.name(condition), status)
            case Within(index, extent, _, Value() as result):
                at, size = self.name(index), self.name(extent)
                behind = f"(i64)((u64){at} + (u64){size})"
                found = lines.do("i64", f"SELDOM((u64){at} >= (u64){size}) ? {behind} : {at}")
                self.return_if(f"(u64){found} >= (u64){size}", abi.RETURNED_INDEX)
                self.set(result, found)
            case Within(index, extent, tested):
                if not tested:
                    self.return_if(f"(u64){self.name(index)} >= (u64){self.name(extent)}", abi.RETURNED_INDEX)
            case Note(condition, status):
                lines.put(f"if (SELDOM({self.name(condition)})) {self.word(abi.WORD_OVERFLOW)} = {status};")
            case If():
                self.choice(node)
            case Range():
                self.range(node)
            case Alloc(memref):
                self.pointers[memref] = self.cell()
            case Room(memref, count):
                self.room(memref, self.name(count))
            case Swap(one, other):
                for place in range(abi.ROOM_WORDS):
                    words = [f"rooms[{abi.ROOM_WORDS * number + place}]" for number in (one, other)]
                    lines.put(f"{{ {self.rooms()} i64 held = {words[0]};")
                    lines.put(f"{words[0]} = {words[1]}; {words[1]} = held; }}")
            case Helper():
                self.helper(node)
            case Fold(result, ufunc, memref):
                number = _C.find_fold(ufunc, result.dtype)
                into = [(f"{number}", "i64"), ("result", "char *")]
                self.return_if(f"{self.called('fold', 'i32', [*into, *self.words(memref)])} != 0", abi.RETURNED_FOLD)
                self.take_result(result)
            case Launch():
                self.launch(node)
            case _:
                super().step(node)

    def cell(self) -> str:
        name = self.lines.name("cell")
        self.lines.top.append(f"char {name}[16] __attribute__((aligned(16)));")
        return name

    def choice(self, node: If) -> None:
        results = [(self.variable(one.result), one) for one in node.results]
        condition = self.name(node.condition)
        head = f"if (SELDOM({condition})) " if node.rare else f"if ({condition}) "
        self.block(head, node.then, [(name, one.then) for name, one in results])
        self.block("else ", node.orelse, [(name, one.orelse) for name, one in results])
        for name, one in results:
            self.set(one.result, name)

    def range(self, node: Range) -> None:
        """The iterations of a loop that has at least one. Between two it looks now and then for signals and threads."""
        lines = self.lines
        start, by, end = map(self.name, (node.start, node.by, node.end))
        index, done, stops = (lines.name(stem) for stem in ("index", "done", "stops"))
        carried = [(self.variable(one.value, self.handle(one.first)), one) for one in node.carried]
        last = [(self.variable(inside), inside, after) for inside, after in node.last]
        lines.put(f"_Bool {stops} = 0;")
        goes_on = [] if node.goes_on is None else [(lines.name("on"), node.goes_on)]
        for name, _ in goes_on:
            lines.put(f"u8 {name};")
        for name, one in carried:
            self.set(one.value, name)
        self.values.memory[node.index] = index
        lines.put(f"for (i64 {index} = {start}; ; {index} = (i64)((u64){index} + (u64){by})) {{")
        ends = [*((name, one.next) for name, one in carried), *((name, inside) for name, inside, _ in last), *goes_on]
        self.block("", node.body, ends)
        lines.put(f"_Bool {done} = {index} == {end};")
        for name, _ in goes_on:
            lines.put(f"{stops} = !{name}; {done} |= {stops};")
        lines.put(f"if ({done}) break;")
        if node.outermost and any(isinstance(one, Range) for one in walk(node.body)):
            lines.put(f"{self.word(abi.WORD_ENDED_AT)} = {index};")
            self.leave_if_asked(index)
        lines.put("if (SELDOM(--budget == 0)) {")
        lines.put(f"budget = ((i64 (*)(i64 *)){self.word(abi.WORD_LOOK)})(block);")
        self.return_if("budget == 0", abi.RETURNED_LOOKED)
        if node.outermost:
            self.leave_if_asked(index)
        for name, one in carried:
            if one.again is not None:
                lines.put(f"{name} = *({c_type(one.again.dtype)} *){self.handle(one.again)};")
        lines.put("} }")
        if node.outermost and goes_on:
            lines.put(f"{self.word(abi.WORD_ENDED)} = {stops};")
        for name, _, after in last:
            self.set(after, name)

    def leave_if_asked(self, index: str) -> None:
        """End after this iteration of the outermost loop, if somebody waits for that: `index` is then the last one."""
        asked = f"*(volatile i64 *)&{self.word(abi.WORD_LEAVE)} != 0"
        self.lines.put(f"if (SELDOM({asked})) {{ {self.word(abi.WORD_LAST)} = {index}; break; }}")

    # Calls

    def call_element(self, node: Element) -> None:
        """NumPy's own loop on one element."""
        lines, dtypes = self.lines, (*node.in_dtypes, *node.dtypes)
        cells = [self.cell() for _ in dtypes]
        for cell, value in zip(cells, node.operands, strict=False):
            lines.put(f"*({c_type(value.dtype)} *){cell} = {self.in_memory(value)};")
        assert node.ufunc is not None
        self.call_loop(node.ufunc, dtypes, cells, [str(dtype.itemsize) for dtype in dtypes], "1", abi.RETURNED_FAILED)
        for cell, value in zip(cells[len(node.operands) :], node.results, strict=True):
            self.set(value, lines.do(c_type(value.dtype), f"*({c_type(value.dtype)} *){cell}"))

    def called(self, name: str, kind: str, words: list[tuple[str, str]]) -> str:
        """The call of a function of C with words, each with its type."""
        kinds, table = ", ".join(kind for _, kind in words), self.word(abi.WORD_HELPERS)
        function = f"(({kind} (*)({kinds}))((i64 *){table})[{abi.HELPERS.index(name)}])"
        return self.lines.do(kind, f"{function}({', '.join(word for word, _ in words)})")

    def words(self, one: Value | Memref) -> list[tuple[str, str]]:
        """An operand of a function of C: of a memref with axes also their sizes and strides."""
        sizes = (*one.extents, *one.strides) if isinstance(one, Memref) else ()
        return [(self.handle(one), kind_of(one)), *((self.name(size), "i64") for size in sizes)]

    def helper(self, node: Helper) -> None:
        operands = list(node.operands)
        words = [("block", "i64 *")] if node.name in TAKES_BLOCK else []
        last = operands.pop() if node.name in TAKES_BITS else None
        words += [word for one in operands for word in self.words(one)]
        if isinstance(last, Value):
            words.append((self.bits(last), "i64"))
        place = RESULT_AT.get(node.name)
        if node.results and place is None:
            (result,) = node.results
            self.set(result, self.called(node.name, c_type(result.dtype), words))
            return
        if place is not None:
            words.insert(place, ("result", "char *"))
        failed = self.called(node.name, "i32", words)
        if node.failure:
            self.return_if(f"{failed} != 0", node.failure)
        for result in node.results:
            self.take_result(result)

    def take_result(self, value: Value) -> None:
        self.set(value, self.lines.do(c_type(value.dtype), f"*({c_type(value.dtype)} *)result"))

    def bits(self, value: Value) -> str:
        """A value's bits as an i64."""
        kind, name = c_type(value.dtype), self.lines.name("bits")
        self.lines.put(f"i64 {name} = 0; {{ {kind} held = {self.in_memory(value)};")
        self.lines.put(f"__builtin_memcpy(&{name}, &held, sizeof held); }}")
        return name

    # Rooms

    def rooms(self) -> str:
        return f"i64 *rooms = (i64 *){self.word(abi.WORD_ROOMS)};"

    def room(self, memref: Memref, count: str) -> None:
        """Where a room lies, of so many elements."""
        lines, word = self.lines, abi.ROOM_WORDS * memref.index
        name, size = lines.name("room"), lines.do("i64", f"{count} * {memref.dtype.itemsize}")
        lines.put(f"char *{name}; {{ {self.rooms()} {name} = (char *)rooms[{word}];")
        lines.put(f"if (SELDOM((u64)rooms[{word + 1}] <= (u64){size})) {{")
        words = [("block", "i64 *"), (str(memref.index), "i64"), (size, "i64")]
        lines.put(f"{name} = {self.called('room', 'char *', words)};")
        self.return_if(f"!{name}", abi.RETURNED_FAILED)
        lines.put("} }")
        self.pointers[memref] = name

    # Kernels

    def launch(self, node: Launch) -> None:
        """Run a kernel over vectors or matrices; where it does not return 0, neither does the function."""
        lines, places = self.lines, (*node.reads, *node.writes)
        rows = len(places[-1].extents) == 2
        function = function_of(node.kernel, node.classes, None)
        scratch, first, words = kernel_block(len(places), len(function.loops))
        own = lines.name("own")
        lines.top.append(f"i64 {own}[{words + (abi.ROWS_STEPS + len(places)) * rows + 1}];")
        lines.top.append(f"{own}[{scratch}] = {self.word(self.scratch_word)};")
        source = self.loop_words + abi.LOOP_WORDS * len(self.loops)
        if words > first:
            lines.top.append(f"__builtin_memcpy({own} + {first}, block + {source}, {8 * (words - first)});")
        self.loops += [(loop.ufunc, loop.dtypes) for loop in function.loops]
        for place, memref in enumerate(places):
            base, strides = abi.PLACE_WORDS * place, [self.name(one) for one in memref.strides]
            lines.put(f"{own}[{base + abi.PLACE_POINTER}] = (i64){self.pointers[memref]};")
            lines.put(f"{own}[{base + abi.PLACE_STRIDE}] = {strides[-1]};")
            if rows:
                lines.put(f"{own}[{words + abi.ROWS_STEPS + place}] = {strides[0]};")
        extents = [self.name(one) for one in places[-1].extents]
        if rows:
            lines.put(f"{own}[{words + abi.ROWS_COUNT}] = {extents[0]};")
        status = lines.do("i32", f"{self.kernel(function)}({own}, {extents[-1]})")
        self.return_if(f"{status} != 0", status)

    def kernel(self, function: Function) -> str:
        """The name of a kernel's function in this file."""
        self.scratch_bytes = max(self.scratch_bytes, function.scratch_bytes)
        bare = emit(function, "")
        name = f"launched{list(self.kernels).index(bare) if bare in self.kernels else len(self.kernels)}"
        before = "static __attribute__((noinline)) "
        self.kernels.setdefault(bare, bare.replace(signature(""), before + signature(name), 1))
        return name
