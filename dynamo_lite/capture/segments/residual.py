"""Residual code: what is left of a segment for plain Python once the program has run.

Enters: the interpreter's state where the segment ends (a return value, or the stack and locals in front of the
instruction that breaks). Leaves: canonical instructions of a function that takes the frame's argument slots and the
program's outputs, rebuilds Python objects, and returns the user's value or a Continuation (docs/architecture.md,
"Segments"). INVARIANT: everything is loaded before anything is stored or run, because a load through a source reads
the state of before the break.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from dynamo_lite._C import let_in
from dynamo_lite.capture.calls.call_slots import as_loaded, by_identity, is_lent_method, keyword_names
from dynamo_lite.capture.iteration.iterators import advanced, dict_has_changed, placed, strictly
from dynamo_lite.capture.iteration.numbered import is_rest
from dynamo_lite.capture.lists.cells import list_of
from dynamo_lite.capture.loops.rests import Rest, goes_by_number, rest_of, rest_value
from dynamo_lite.capture.numbers.complex_numbers import object_of
from dynamo_lite.capture.objects.instances import is_frozen
from dynamo_lite.capture.segments.kept import has_moved, kept_locals
from dynamo_lite.capture.segments.plain_statements import extends, known, plain_statement
from dynamo_lite.capture.segments.targets import Target, locals_taken
from dynamo_lite.capture.source import Source
from dynamo_lite.capture.state import GeneratorEscapes, SideExits, SkipFrame
from dynamo_lite.capture.value import (
    ArrayValue,
    CallValue,
    CellItem,
    CellValue,
    CharacterValue,
    ComplexValue,
    ComputedValue,
    ConstantValue,
    DictValue,
    DictViewValue,
    EitherValue,
    FormattedValue,
    FunctionValue,
    GeneratorValue,
    GoneValue,
    InstanceValue,
    ItemRead,
    IteratorValue,
    LazyValue,
    ListValue,
    MethodValue,
    NullValue,
    NumberValue,
    ObjectValue,
    Picked,
    RangeValue,
    RecordValue,
    RestValue,
    ResultValue,
    SequenceValue,
    SliceValue,
    TakenValue,
    Value,
    as_value,
    choice_of,
    computed_number,
    is_gone,
)
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.scalar import Scalar, Symbol, is_symbolic, kind_of
from dynamo_lite.pycode import OPCODES, Code, Instr, Position, in_order, null_below_callable
from dynamo_lite.pycode.borrow import borrowed_slots
from dynamo_lite.pycode.code import NO_POSITION

# Values that are one object however often they are used.
_OBJECTS = (
    *(CallValue, CharacterValue, ComplexValue, EitherValue, ResultValue, SequenceValue, DictValue, DictViewValue),
    *(IteratorValue, FunctionValue, MethodValue, CellValue, RecordValue, InstanceValue, ComputedValue, SliceValue),
    RangeValue,
)
MAX_NESTING = 100  # of what residual code builds; a deeper one took the stack it is written on
TAKEN = ".taken"  # the parameter of an exit's residual code that brings the number of iterations done
_NO_FALLTHROUGH = frozenset({"JUMP", "RETURN_VALUE", "RAISE_VARARGS", "RERAISE"})


@dataclass(eq=False, slots=True)
class Label:
    """A place in the instructions, known when they are complete."""

    index: int | None = None


@dataclass(slots=True)
class Pending:
    op: str
    arg: Any = None
    target: Label | None = None
    position: Position = NO_POSITION


@dataclass(eq=False, slots=True)
class Residual:
    """Builds the residual instructions of one segment. `jump(target)` gives the callable that makes a Continuation.

    alone: items of lists that it does not make (cells.py). changed: lists whose items the program may have moved.
    loaded: the sources that the code loads from; what is there has to be guarded, though not what it is.
    inputs: by the graph's inputs the sources of numbers, which come from there for less than through the program.
    first: where it goes on is a loop, an iteration of which is to run plainly.
    stores: owners from outside, keys and values that are to be stored (places.py); None where the segment stores none.
    """

    code: Code
    namespace: dict[str, Any]
    jump: Callable[[Target], Any]
    outputs: list[Argument] = field(default_factory=list)
    inputs: list[Source | None] = field(default_factory=list)
    stores: list[tuple[Value, Any, Value]] | None = None
    alone: set[Value] = field(default_factory=set)
    first: bool = False
    changed: frozenset[Source] = frozenset()
    loaded: list[Source] = field(default_factory=list)
    pending: list[Pending | Label] = field(default_factory=list)
    position: Position = NO_POSITION
    _output_names: dict[object, str] = field(default_factory=dict)
    _branches: bool = False
    _memo: dict[Value, str] = field(default_factory=dict)
    cells: dict[str, CellValue] = field(default_factory=dict)  # those that inner functions which live on have
    _cell_names: dict[str, str] = field(default_factory=dict)  # the temporaries that hold them
    _empty: list[tuple[Value, dict[str, Value]]] = field(default_factory=list)  # what is made, and not filled with that
    _nesting: int = 0  # objects under construction, each of which holds the next
    _temporaries: int = 0
    _under: tuple[tuple[str, ...], list[str | None]] = field(default_factory=lambda: ((), []))
    _variables: dict[str, Any] = field(default_factory=dict)  # the objects from outside that locals hold

    # -- emission ---------------------------------------------------------------------------------

    def emit(self, op: str, arg: Any = None, target: Label | None = None) -> None:
        self.pending.append(Pending(op, arg, target, self.position))

    def temporary(self) -> str:
        self._temporaries += 1
        return f".t{self._temporaries}"

    def finish(self) -> list[Instr]:
        """The instructions, with labels resolved to indices."""
        index = 0
        for item in self.pending:
            if isinstance(item, Label):
                item.index = index
            else:
                index += 1
        return [
            Instr(item.op, item.arg, None if item.target is None else item.target.index, item.position)
            for item in self.pending
            if isinstance(item, Pending)
        ]

    # -- values -----------------------------------------------------------------------------------

    def load(self, value: Value) -> None:
        """Push `value`."""
        if isinstance(value, LazyValue) and value.known is not None and value.known.source is None:
            value = value.known
        value = (value.became or value) if isinstance(value, SequenceValue) else value
        if isinstance(value, NullValue):
            self.emit("PUSH_NULL")
        elif type(value) is ConstantValue and (value.source is None or by_identity(value.value)):
            self.emit("LOAD_CONST", value.value)
        elif isinstance(value, CellValue) and value.source is not None:
            self.load_cell(value.source)
        elif value.source is not None and not has_moved(value, self.changed):
            self.load_source(value.source)
        elif value in self._memo:
            self.emit("LOAD_FAST", self._memo[value])
        else:
            self._nesting += 1
            if self._nesting > MAX_NESTING:
                raise SkipFrame("nested-values", str(MAX_NESTING))
            self.build(value)
            self._nesting -= 1
            if isinstance(value, _OBJECTS) or (isinstance(value, NumberValue) and not self.is_computed(value)):
                name = self._memo[value] = self.temporary()
                self.emit("COPY", 1)
                self.emit("STORE_FAST", name)
            if isinstance(value, CellValue) and value.contents is not None:
                self._empty.append((value, {"cell_contents": value.contents}))
            if isinstance(value, InstanceValue):
                self._empty.append((value, value.stored))
        if self._nesting == 0:  # a function may be in a cell that it refers to, an object in its own attribute
            self._nesting = 1
            while self._empty:
                owner, attributes = self._empty.pop()
                for name, held in attributes.items():
                    if isinstance(owner, InstanceValue) and is_frozen(owner.cls):
                        self.call(object.__setattr__, [owner, ConstantValue(None, name), held])
                        self.emit("POP_TOP")
                        continue
                    self.load(held)
                    self.emit("LOAD_FAST", self._memo[owner])
                    self.emit("STORE_ATTR", name)
            self._nesting = 0

    def build(self, value: Value) -> None:
        """Push a value made in this segment."""
        match value:
            case ArrayValue():
                self.emit("LOAD_FAST", self.output(value.node))
            case NumberValue(origin=CallValue() | EitherValue() as origin):
                self.build(origin)
            case NumberValue(origin=Picked() as origin):
                self.build(choice_of(value, origin))
            case NumberValue(origin=ItemRead() as origin):
                self.emit("LOAD_FAST", self.output(origin.object))
            case NumberValue():
                self.build_number(value)
            case TakenValue():
                self.emit("LOAD_FAST", TAKEN)
            case GoneValue():
                self.emit("LOAD_CONST", None)
            case FormattedValue():
                self.call(value.function, [ConstantValue(None, value.format), *value.args])
            case ComputedValue(origin=CallValue() as origin):
                self.build(origin)
            case CellItem() if value in self.alone:
                self.load(value.number)
            case CallValue() | ComputedValue():
                self.call(value.function, value.args)
            case RecordValue():
                self.call(tuple.__new__, [ConstantValue(None, value.cls), SequenceValue(None, tuple, value.items)])
            case EitherValue():
                self.choice(value)
            case ComplexValue():
                self.load(object_of(value))
            case CharacterValue():
                self.call(chr, [value.code])
            case ResultValue():
                self.call(value.kind, [ArrayValue(None, value.node)])
            case ListValue(node=node) | SequenceValue(taken=Node() as node):
                self.emit("LOAD_FAST", self.output(node))
            case SequenceValue():
                self.build_sequence(value)
            case DictValue() if value.filled is not None:
                self.emit("LOAD_FAST", self.output(value.filled))
            case DictValue():
                for key, item in value.items.items():
                    self.emit("LOAD_CONST", key)
                    self.load(item)
                self.emit("BUILD_MAP", len(value.items))
            case DictViewValue():
                self.load(value.of)
                self.emit("LOAD_ATTR", value.name)
                self.push_null_and_swap()
                self.emit("CALL", 0)
            case SliceValue():
                self.call(slice, [value.start, value.stop, value.step])
            case RestValue():
                self.call(Rest, [ConstantValue(None, value.shape), value.parts, value.taken])
            case RangeValue():
                self.call(range, [self.operand(part) for part in (value.start, value.stop, value.step)])
            case IteratorValue() if is_rest(value):
                self.rest(value)
                self.emit("GET_ITER")
            case IteratorValue():
                self.build_iterator(value)
            case MethodValue() if isinstance(value.function, ConstantValue) and isinstance(
                value.function.value, types.FunctionType
            ):
                self.call(types.MethodType, [value.function, value.self])
            case MethodValue():
                self.load(value.self)
                self.emit("LOAD_ATTR", value.name)
            case FunctionValue():
                self.build_function(value)
            case GeneratorValue():
                raise GeneratorEscapes
            case CellValue():
                self.call(types.CellType, [])
            case InstanceValue():
                self.call(object.__new__, [value.made_of])
            case _:
                raise AssertionError(type(value))

    def build_number(self, value: NumberValue) -> None:
        """A Python number that is a new object; what is equal to an input is made of that, the program would hand on
        the very object."""
        source = self.source_of(value.expr)
        if source is not None:
            self.load_source(source)
            if kind_of(value.expr) == "int":
                self.emit("LOAD_CONST", 0)
                self.emit("BINARY_OP", "+")
            elif kind_of(value.expr) == "float":
                self.emit("UNARY_NEGATIVE")
                self.emit("UNARY_NEGATIVE")
        elif is_symbolic(value.expr):
            self.emit("LOAD_FAST", self.output(value.expr, value))
        else:
            self.load(computed_number(value.expr))  # type: ignore[arg-type]

    def is_computed(self, value: NumberValue) -> bool:
        """Whether a number is an object that the program makes."""
        return value.source is None and value.origin is None and self.source_of(value.expr) is None

    def source_of(self, scalar: Scalar) -> Source | None:
        """Where the number of an input comes from; None for any other number."""
        is_input = isinstance(scalar, Symbol) and scalar.axis is None and 0 <= scalar.input < len(self.inputs)
        return self.inputs[scalar.input] if is_input else None  # type: ignore[union-attr]

    def operand(self, scalar: Scalar) -> Value:
        """A Scalar as a value; nobody asks which object it is, and the user's own costs less than the program's."""
        return NumberValue(self.source_of(scalar), scalar) if is_symbolic(scalar) else ConstantValue(None, scalar)

    def build_function(self, value: FunctionValue) -> None:
        parts: list[Value] = [
            ConstantValue(None, value.code),
            ConstantValue(None, value.namespace),
            ConstantValue(None, value.name),
            SequenceValue(None, tuple, list(value.defaults)) if value.defaults else ConstantValue(None, None),
        ]
        if value.closure:
            parts.append(SequenceValue(None, tuple, list(value.closure)))
        self.call(types.FunctionType, parts)
        noted = dict(zip(value.annotations[::2], value.annotations[1::2], strict=True))
        named: dict[Value, Value] = {ConstantValue(None, name): item for name, item in value.kwdefaults.items()}
        for attribute, items in (("__kwdefaults__", named), ("__annotations__", noted)):
            if items:
                for key, item in items.items():
                    self.load(key)
                    self.load(item)
                self.emit("BUILD_MAP", len(items))
                self.emit("COPY", 2)
                self.emit("STORE_ATTR", attribute)
        if value.annotate is not None:
            self.load(value.annotate)
            self.emit("COPY", 2)
            self.emit("STORE_ATTR", "__annotate__")

    def build_sequence(self, value: SequenceValue) -> None:
        """A tuple or list; what loops have appended is in a list of the program's, which nobody else knows."""
        made = list_of(value)
        if made is not None:
            self.call(*made)
            return
        if value.filled is None or value.known:
            for item in value.known:
                self.load(item)
            self.emit("BUILD_TUPLE" if value.kind is tuple else "BUILD_LIST", len(value.known))
            if value.times is not None:
                self.load(self.operand(value.times))
                self.emit("BINARY_OP", "*")
            for place, item in value.late.items():
                self.load(item)
                self.emit("COPY", 2)
                self.emit("LOAD_CONST", place)
                self.emit("STORE_SUBSCR")
        if value.filled is not None:
            self.emit("LOAD_FAST", self.output(value.filled))
            if value.known:
                self.emit("LIST_EXTEND", 1)

    def rest(self, value: IteratorValue) -> None:
        """Push what stands for what an iterator has not taken: a range, or a Rest."""
        if value.kind != "range":
            self.load(value.of if isinstance(value.of, RestValue) else rest_value(value))
        elif value.taken:
            self.call(rest_of, [value.of, ConstantValue(None, value.taken)])
        else:
            self.load(value.of)

    def build_iterator(self, value: IteratorValue) -> None:
        """An iterator that has taken as many items as the interpreter took."""
        if value.kind == "iter" and dict_has_changed(value):
            raise SkipFrame("python-exception", "RuntimeError: dictionary changed size during iteration")
        match value.kind:
            case "enumerate":
                self.call(enumerate, [*value.parts, ConstantValue(None, value.start + value.taken)])
            case "zip":
                self.call(strictly if value.start else zip, list(value.parts))
            case "map":
                self.call(map, [value.of, *value.parts])
            case "reversed":
                place = -1 if value.ended else value.start - 1 - value.taken
                self.call(placed, [value.of, ConstantValue(None, place)])
            case _ if value.taken or value.ended:
                taken = ConstantValue(None, None if value.ended else value.taken)
                self.call(advanced, [value.of, taken])
            case _:
                self.call(iter, [value.of])

    def push_null_and_swap(self) -> None:
        """Put the null slot of a call beside the callable just pushed."""
        self.emit("PUSH_NULL")
        if null_below_callable:
            self.emit("SWAP", 2)

    def call(self, function: Any, args: list[Value]) -> None:
        """Push function(*args)."""
        self.emit("LOAD_CONST", function)
        self.push_null_and_swap()
        for arg in args:
            self.load(arg)
        self.emit("CALL", len(args))

    def output(self, value: Node | Scalar, known_as: Value | None = None) -> str:
        """The parameter that brings a value of the graph, asking the program for it.

        known_as: of a number, whose object this is: numbers that are computed apart are equal, and not the same.
        """
        key = value if known_as is None else known_as
        known = self._output_names.get(key)
        if known is None:
            known = self._output_names[key] = f".o{len(self.outputs)}"
            self.outputs.append(value)
        return known

    def load_source(self, source: Source) -> None:
        """Push what a source names, as the user's code would reach it."""
        self.loaded.append(source)
        match source.kind:
            case "slot":
                self.emit("LOAD_FAST", source.key[1])
            case "const":
                self.emit("LOAD_CONST", source.key.value)
            case "global" if source.key[0].value is self.namespace:
                self.emit("LOAD_GLOBAL", source.key[1])
            case "global":
                self.emit("LOAD_CONST", source.key[0].value)
                self.emit("LOAD_CONST", source.key[1])
                self.emit("BINARY_SUBSCR")
            case "cell":
                self.emit("LOAD_DEREF", self.code.freevars[source.key])
            case "defaults" | "kwdefaults":
                assert source.base is not None
                self.load_source(source.base)
                self.emit("LOAD_ATTR", f"__{source.kind}__")
            case "closure":
                self.load_cell(source)
                self.emit("LOAD_ATTR", "cell_contents")
            case "attr" | "base" | "cell_contents" | "complex_part" | "method_function" | "method_self":
                assert source.base is not None
                self.load_source(source.base)
                self.emit("LOAD_ATTR", source.key or source.kind)
            case "item" | "key" | "plus":
                assert source.base is not None
                self.load_source(source.base)
                self.emit("LOAD_CONST", source.key)
                self.emit(*(("BINARY_OP", "+") if source.kind == "plus" else ("BINARY_SUBSCR",)))
            case "lookup" | "item_at":
                assert source.base is not None
                self.load_source(source.base)
                self.load_source(source.key)
                self.emit("BINARY_SUBSCR")
            case _:
                raise AssertionError(source.kind)

    def load_cell(self, source: Source) -> None:
        """Push the cell itself, where `source` names what a closure variable holds."""
        if source.kind == "cell":
            self.emit("LOAD_CLOSURE", self.code.freevars[source.key])
        elif source.kind == "closure":
            assert source.base is not None
            self.load_source(source.base)
            self.emit("LOAD_ATTR", "__closure__")
            self.emit("LOAD_CONST", source.key)
            self.emit("BINARY_SUBSCR")
        else:
            self.load_source(source)

    # -- the end of a segment ---------------------------------------------------------------------

    def returns(self, value: Value, position: Position) -> None:
        """The segment ends with the user's return."""
        self.position = position
        kept = self._load_stores()
        self.load(value)
        self._store(kept)
        self.emit("RETURN_VALUE")

    def _load_stores(self) -> list[tuple[Value, Any, str, str]]:
        """Load what is to be stored, and where: by the names of temporaries."""
        stores = self.stores or ()
        return [(owner, key, self._to_temporary(value), self._to_temporary(owner)) for owner, key, value in stores]

    def _store(self, kept: list[tuple[Value, Any, str, str]]) -> None:
        """Store to objects from outside, once all is loaded; interrupts have waited for that."""
        for owner, key, value, target in kept:
            self.emit("LOAD_FAST", value)
            self.emit("LOAD_FAST", target)
            if isinstance(owner, ObjectValue):
                self.emit("STORE_ATTR", key)
            elif isinstance(owner, CellValue):
                self.emit("STORE_ATTR", "cell_contents")
            else:
                self.emit("LOAD_CONST", key)
                self.emit("STORE_SUBSCR")
        if self.stores is not None:
            self.emit("LOAD_CONST", let_in)
            self.push_null_and_swap()
            self.emit("CALL", 0)
            self.emit("POP_TOP")

    def choice(self, value: EitherValue) -> None:
        """Push the one of two values that it is. Both are made, so that their parts are there on either way."""
        other = Label()
        self.load(value.second)
        self.load(value.first)
        self.load(as_value(value.condition))
        self.emit("POP_JUMP_IF_FALSE", None, other)
        self.emit("SWAP", 2)
        self.pending.append(other)
        self.emit("POP_TOP")

    def breaks(
        self,
        index: int,
        stack: list[Value],
        locals_: dict[str, Value],
        live: frozenset[str],
        params: tuple[str, ...],
        plain_rest: bool,
        formatting: bool,
    ) -> None:
        """The segment ends in front of instruction `index`: run it, go on behind it (or, plain_rest, all plainly)."""
        instr = self.code.instrs[index]
        kinds, names, bound = self._settle(index, stack, locals_, live, params)
        if plain_rest:
            self._jump(Target(index, kinds, bound, True), names)
            return
        self._variables = {name: known(value) for name, value in locals_.items()}
        statement = plain_statement(self.code, index, self.namespace, self._variables, stack)
        pops = OPCODES[instr.op].effect.popped(instr.arg)
        split = len(stack) - pops if statement is None else statement[1]
        if "null" not in kinds[:split] and "rest" not in kinds[:split] and statement is None:
            split = 0
        keywords = stack[-1] if instr.op == "CALL_KW" and isinstance(stack[-1], SequenceValue) else None
        # From 3.14 what CPython borrows from a local has no reference of its own, which the called can see.
        borrowed = dict(enumerate(borrowed_slots(self.code, index)))
        lent = {at: local for at, local in borrowed.items() if at >= split and local in bound}
        lent = {at: local for at, local in lent.items() if kinds[at] == "value" or is_lent_method(stack, at)}
        spare = {at - (kinds[at] == "null") for at in lent} | ({len(names) - 1} if keywords is not None else set())
        self._drop_own([name for at, name in enumerate(names) if at not in spare])
        for at, (value, name, kind) in enumerate(zip(stack[split:], names[split:], kinds[split:], strict=True), split):
            if at + 1 in lent and kinds[at + 1] == "null":
                assert isinstance(value, MethodValue)
                self.emit("LOAD_FAST", lent[at + 1])
                self.emit("LOAD_METHOD", value.name)
            elif at in lent:
                if kind == "value":
                    self.emit("LOAD_FAST", lent[at])
            elif name is None:
                self.emit("LOAD_CONST" if instr.op == "DICT_MERGE" else "PUSH_NULL")  # which asks for a name
            elif keywords is not None and value is keywords:
                # Before 3.13 they have to stand right before the call; from 3.13 on a resume function may bring them.
                self.emit("LOAD_CONST", keyword_names(keywords))
            else:
                self.emit("LOAD_FAST_AND_CLEAR", name)
            if kind == "rest":
                self.emit("GET_ITER")
        self._under = (kinds[:split], names[:split])
        if statement is not None:
            end, _ = statement
            self._run(end, (), self._copy(index, end, bound), formatting, first=False)
            return
        self._run(index, tuple("null" if kind == "null" else "value" for kind in kinds[split:]), bound, formatting)

    def goes_on(
        self, index: int, stack: list[Value], locals_: dict[str, Value], live: frozenset[str], params: tuple[str, ...]
    ) -> None:
        """The segment ends in front of instruction `index`, which another one begins with."""
        kinds, names, bound = self._settle(index, stack, locals_, live, params)
        self._jump(Target(index, kinds, bound, first=self.first), names)

    def goes_on_at_side_exits(
        self,
        exits: SideExits,
        index: int,
        stack: list[Value],
        locals_: dict[str, Value],
        live: Sequence[frozenset[str]],
        params: tuple[str, ...],
    ) -> None:
        """The segment ends after a loop, before instruction `index` or at a side exit."""
        self.position = self.code.instrs[index].position
        self.load(exits.number)
        number = self.temporary()
        self.emit("STORE_FAST", number)
        memo = dict(self._memo)
        end: tuple[int, tuple[Value, ...]] = (index, ())
        for count, (place, under) in enumerate((*exits.places, end), exits.first):
            other = Label()
            values = [*stack, *under]
            if count < exits.first + len(exits.places):
                self.emit("LOAD_FAST", number)
                self.emit("LOAD_CONST", count)
                self.emit("COMPARE_OP", "==")
                self.emit("POP_JUMP_IF_FALSE", None, other)
            self._memo = dict(memo)
            if exits.done is not None and place in exits.inside:
                self.call(exits.done[0].note, [exits.done[1]])
                self.emit("POP_TOP")
            kinds, names, bound = self._settle(place, values, locals_, live[place], params)
            if all(map(is_gone, values)) and extends(self.code, place, False):
                for value in values:
                    self.load(value)
                self._run(place, kinds, bound, False)
            else:
                self._jump(Target(place, kinds, bound), names)
            self.pending.append(other)

    def _settle(
        self,
        index: int,
        stack: list[Value],
        locals_: dict[str, Value],
        live: frozenset[str],
        params: tuple[str, ...],
    ) -> tuple[tuple[str, ...], list[str | None], tuple[str, ...]]:
        """Bring the stack into temporaries and the fast locals to the state in front of instruction `index`: the
        stack's kinds, the temporaries' names (None: a null), and the locals that are bound.

        NB: nobody else can hold the iterator of what is handed over as its rest: another one may take its place."""
        self.position = self.code.instrs[index].position
        stack = as_loaded(stack)
        stored = [part for owner, _, value in self.stores or () for part in (owner, value)]
        kept = kept_locals(locals_, live, [*stack, *stored, *self.cells.values()])
        names = [None if isinstance(value, NullValue) else self._to_temporary(value) for value in stack]
        self._cell_names = {name: self._to_temporary(cell) for name, cell in self.cells.items()}
        stores = self._load_stores()
        kinds = tuple(
            "null" if name is None else "rest" if is_rest(value) else "value"
            for name, value in zip(names, stack, strict=True)
        )
        self._store_locals(kept, params)
        self._store(stores)
        return kinds, names, in_order(self.code, kept)

    def _store_locals(self, kept: dict[str, Value], params: tuple[str, ...]) -> None:
        """Bring the fast locals to the state of the break."""
        changed = [
            (name, value)
            for name, value in kept.items()
            if not (value.source is not None and value.source.kind == "slot" and value.source.key[1] == name)
        ]
        for _, value in changed:
            self.load(value)
        for name, _ in reversed(changed):
            self.emit("STORE_FAST", name)
        for name in params:
            if name not in kept:
                self.emit("DELETE_FAST", name)

    def _drop_own(self, needed: list[str | None]) -> None:
        """Unbind our own variables but `needed`, so that nothing that the breaking instruction runs or raises finds
        them in this frame, or kept alive by it."""
        needed = [*needed, *self._cell_names.values()]
        own = (*self._output_names.values(), *(f".t{number + 1}" for number in range(self._temporaries)))
        for name in own:
            if name not in needed:
                self.emit("DELETE_FAST", name)

    def _run(
        self,
        index: int,
        kinds: tuple[str, ...],
        bound: tuple[str, ...],
        formatting: bool,
        first: bool = True,
    ) -> None:
        """Emit the instruction that breaks and those that _EXTEND it; every way out ends in a Continuation.

        first: `index` is that instruction, or else what follows it."""
        labels: dict[tuple[int, tuple[str, ...], tuple[str, ...]], Label] = {}
        self._branches = self.code.instrs[index].op.startswith("POP_JUMP_IF")
        queue = [(index, kinds, bound)]
        while queue:
            state = queue.pop()
            while True:
                label = labels.get(state)
                if label is not None and label in self.pending:
                    self.emit("JUMP", None, label)
                    break
                label = labels.setdefault(state, Label())
                self.pending.append(label)
                index, kinds, bound = state
                statement = None if first else plain_statement(self.code, index, self.namespace, self._variables)
                if statement is not None:
                    end, _ = statement
                    state = end, kinds, self._copy(index, end, bound)
                    continue
                instr = self.code.instrs[index]
                self.position = instr.position
                effect = OPCODES[instr.op].effect
                pops, pushes = effect.popped(instr.arg), effect.pushed(instr.arg)
                is_ready = pops <= len(kinds) and "null" not in kinds[len(kinds) - pops :]
                if not first and not (is_ready and extends(self.code, index, formatting)):
                    self._tail(index, kinds, bound)
                    break
                if not first and instr.op == "GET_ITER" and self.code.instrs[index + 1].op == "FOR_ITER":
                    self._take_up(index, kinds, bound)
                first = False
                after = kinds[: len(kinds) - pops] + ("value",) * pushes
                if instr.op == "DICT_MERGE":
                    self.emit(instr.op, instr.arg)
                    self._tail(index + 1, kinds[:-1], bound, True)
                    break
                if instr.op == "PUSH_NULL":
                    self._tail(index + 1, (*kinds, "null"), bound)
                    break
                if instr.op == "LOAD_METHOD":
                    self.emit("LOAD_ATTR", instr.arg)
                    slots = ("null", "value") if null_below_callable else ("value", "null")
                    self._tail(index + 1, after[:-2] + slots, bound)
                    break
                if instr.op == "BEFORE_WITH_SELF":  # as a bound method, so that it is known which slots are null
                    self.emit("BEFORE_WITH")
                    self._tail(index + 1, (*after[:-3], "value", "null", "value"), bound)
                    break
                if instr.op == "JUMP":
                    assert instr.target is not None
                    state = (instr.target, kinds, bound)
                    continue
                if instr.target is not None:
                    away_effect = OPCODES[instr.op].jump_effect
                    left = len(kinds) - away_effect.popped(instr.arg)
                    away = (instr.target, kinds[:left] + ("value",) * away_effect.pushed(instr.arg), bound)
                    self.emit(instr.op, instr.arg, labels.setdefault(away, Label()))
                    queue.append(away)
                elif instr.op in ("STORE_DEREF", "DELETE_DEREF") and instr.arg in self._cell_names:
                    self.emit("LOAD_FAST", self._cell_names[instr.arg])
                    self.emit(instr.op.replace("DEREF", "ATTR"), "cell_contents")
                else:
                    self.emit(instr.op, instr.arg)
                if instr.op in _NO_FALLTHROUGH:
                    break
                if instr.op == "STORE_FAST":
                    bound = in_order(self.code, {*bound, instr.arg})
                elif instr.op == "DELETE_FAST":
                    bound = tuple(name for name in bound if name != instr.arg)
                state = (index + 1, after, bound)

    def _take_up(self, index: int, kinds: tuple[str, ...], bound: tuple[str, ...]) -> None:
        """Have the segment end in front of a `for` over what another one may know by number."""
        plainly, over = Label(), self.temporary()
        self.emit("COPY", 1)
        self.emit("STORE_FAST", over)
        self.emit("LOAD_CONST", goes_by_number)
        self.push_null_and_swap()
        self.emit("LOAD_FAST_AND_CLEAR", over)
        self.emit("CALL", 1)
        self.emit("POP_JUMP_IF_FALSE", None, plainly)
        self._tail(index, kinds, bound)
        self.pending.append(plainly)

    def _copy(self, index: int, end: int, bound: tuple[str, ...]) -> tuple[str, ...]:
        """Emit a statement as it is; the locals that are bound after it."""
        stored = set()
        for instr in self.code.instrs[index:end]:
            self.position = instr.position
            self.emit(instr.op, instr.arg)
            if instr.op == "STORE_FAST":
                stored.add(instr.arg)
                self._variables.pop(instr.arg, None)
        return in_order(self.code, {*bound, *stored})

    def _tail(self, index: int, kinds: tuple[str, ...], bound: tuple[str, ...], filled: bool = False) -> None:
        """Hand the real stack over to the resume function at `index`. filled: where a null would be is None."""
        names = [self.temporary() if kind == "value" or filled else None for kind in reversed(kinds)]
        for name in filter(None, names):
            self.emit("STORE_FAST", name)
        under_kinds, under_names = self._under
        names = [None if kind == "null" else name for kind, name in zip(kinds, reversed(names), strict=True)]
        self._jump(Target(index, under_kinds + kinds, bound, side=self._branches), [*under_names, *names])

    def _jump(self, target: Target, names: list[str | None]) -> None:
        """Return the Continuation for `target`, whose stack values the temporaries `names` hold."""
        target = replace(target, cells=tuple(self._cell_names))
        jump = self.jump(target)
        self.emit("LOAD_CONST", jump)
        self.push_null_and_swap()
        taken = locals_taken(jump, target)
        for name in (*names, *taken, *self._cell_names.values()):
            if name in taken and name not in target.bound:
                self.emit("LOAD_CONST", None)
            elif name is not None:
                self.emit("LOAD_FAST", name)
        self.emit("CALL", len(names) - names.count(None) + len(taken) + len(self._cell_names))
        self.emit("RETURN_VALUE")

    def _to_temporary(self, value: Value) -> str:
        name = self.temporary()
        if isinstance(value, IteratorValue) and is_rest(value):
            self.rest(value)
        else:
            self.load(value)
        self.emit("STORE_FAST", name)
        return name
