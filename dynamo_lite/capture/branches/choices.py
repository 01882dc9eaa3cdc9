"""Choices between values: what is one thing on one way and another on the other, behind both.

Enters: two Regions traced along two ways (branches.py), or a condition and what to make of each of its values, and what
a name holds at the end of each. Leaves: the value that stands for both, and a COND node that hands out what differs:

    %cond: T = cond(c, %a, %b): then returns %a, else returns %b;  x is tuple_get(%cond)

INVARIANT: what differs is an array, a NumPy scalar or a number, of one type, or an EitherValue of two types, or nobody
reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import ClassVar, NoReturn, TypeAlias

from dynamo_lite import ops
from dynamo_lite.capture.branches.aliases import note_aliases, tuples_in
from dynamo_lite.capture.branches.arms import stay_small
from dynamo_lite.capture.branches.few_objects import code_of, objects_of, one_of
from dynamo_lite.capture.branches.sameness import (
    alike_but_for_extents,
    is_one_object,
    mutable_state,
    same,
    types_agree,
    unchanged,
)
from dynamo_lite.capture.branches.stand_ins import stand_in_node
from dynamo_lite.capture.kinds import a_kind
from dynamo_lite.capture.lists.holdings import agree, with_node
from dynamo_lite.capture.loops.plan import LoopKey
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.numbers.complex_numbers import parted
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.numbers.words import number_words
from dynamo_lite.capture.objects.aggregates import Object, has_items, is_like, is_object, with_items
from dynamo_lite.capture.region import MAX_YIELDS, close_branches
from dynamo_lite.capture.state import Region, Tracer
from dynamo_lite.capture.value import (
    UNBOUND,
    ArrayValue,
    Break,
    Chosen,
    ComplexValue,
    ConstantValue,
    EitherValue,
    LazyValue,
    ListedObject,
    ListValue,
    NumberValue,
    OneOf,
    Picked,
    RecordValue,
    SequenceValue,
    Value,
    computed_number,
    is_made_after,
    is_single,
    object_key,
)
from dynamo_lite.capture.wrap import realise
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import Undecided
from dynamo_lite.graph.scalar import (
    Scalar,
    is_symbolic,
    kind_of,
    make,
    symbols_of,
)
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.parameters import is_supported

GoesOn: TypeAlias = Scalar | Node
Parts: TypeAlias = tuple[Value, Value | None, Value | None]  # see parts_of
Refuse: TypeAlias = Callable[[str, str], NoReturn]


def break_(reason: str, detail: str) -> NoReturn:
    raise Break(reason, detail)


def choose(machine: Machine, condition: GoesOn, first: Value, second: Value) -> Value:
    """`first` where the condition, which only the run knows, holds; else `second`."""
    tracer = machine.tracer
    first, second = realise(tracer, first), realise(tracer, second)
    if isinstance(first, EitherValue) or isinstance(second, EitherValue) or not _alike(first, second):
        return EitherValue(None, condition, first, second)
    return either_way(machine, condition, lambda: first, lambda: second)


def may_choose(machine: Machine, values: list[Value]) -> bool:
    """Whether one of these scalars may be chosen by data. Outside of loops they are of one type, or two, NumPy's and
    Python's, where no big arrays are about: of a value that is one or the other, all that follows is computed in
    branches, and nothing is fused across these. Beside arrays of no single precision a float64 or int64 and a number of
    Python's mostly are one scalar of NumPy's (numbers/weak_numbers.py)."""
    tracer = machine.tracer
    if tracer.regions:
        return True
    if tracer.peeling or tracer.depth or machine.break_everywhere:
        return False
    if all(_alike(values[0], one) for one in values):
        return True
    is_either = any(isinstance(one, EitherValue) for one in values)
    if tracer.forks is None or len(values) != 2:
        return False
    types = [one.type for one in tracer.root.inputs if isinstance(one, Node)]
    is_narrow = any(isinstance(type_, ArrayType) and type_.dtype.char in "efF" for type_ in types)
    is_one_scalar = not is_either and not is_narrow and all(map(_is_wide, values))
    return is_one_scalar or stay_small(tracer, tracer.root.inputs)


def _is_wide(value: Value) -> bool:
    """Whether it is a float64 or int64, or a Python number of that kind."""
    if isinstance(value, ArrayValue):
        return value.node.array_type.scalar and value.node.array_type.dtype.char in "dl"
    number = as_scalar(value)
    return number is not None and kind_of(number) in ("int", "float")


def first_either(machine: Machine, args: list[Value]) -> tuple[int, EitherValue] | None:
    """The first of some arguments that is one or another, and its place."""
    for place, arg in enumerate(args):
        value = machine.realised(arg)
        if isinstance(value, EitherValue):
            return place, value
    return None


def split(machine: Machine, value: EitherValue, operate: Callable[[Value], Value]) -> Value:
    """What `operate` makes of a value that is one or the other: it runs on the one that it is."""
    if isinstance(value.condition, Value):
        break_("data-dependent-number", f"the type of {a_kind(value)}")
    known = None if isinstance(value.condition, Node) else machine.tracer.graph.facts.decide(value.condition)
    if known is not None:  # inside of another choice by the same condition
        return operate(value.first if known else value.second)
    return either_way(machine, value.condition, lambda: operate(value.first), lambda: operate(value.second))


def pick(machine: Machine, condition: Scalar, first: Value, second: Value) -> Value:
    """`first`, which is there already, where the condition holds, else `second`."""
    merge = merge_of(machine.tracer, break_, *_empty(machine.tracer, condition))
    found = merge.value("a value", (first, second), (True, True))
    merge.close(condition)
    return found


def split_each(machine: Machine, value: EitherValue, act: Callable[[Value], object]) -> None:
    """Have `act` change something by a value that is one or the other: it runs on the one that it is."""

    def done(one: Value) -> Value:
        act(one)
        return ConstantValue(None, None)

    split(machine, value, done)


def either_way(machine: Machine, condition: GoesOn, then: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
    """What `then` makes where the condition, which only the run knows, holds; else what `orelse` makes."""
    tracer = machine.tracer
    regions: list[Region] = []
    values: list[Value] = []
    state, is_outermost = mutable_state(tracer, set()), not tracer.regions
    for truth, make_value in ((True, then), (False, orelse)):
        around = _key(tracer)
        regions.append(tracer.open_branch((*around, "value", truth), condition, truth))
        try:
            values.append(make_value())
        except Undecided as reason:
            if not is_outermost:  # a loop around may settle it
                raise
            break_("data-dependent-number", f"the comparison {number_words(tracer, reason.condition)}")
        tracer.regions.pop()
    if not unchanged(tracer, state):
        break_("loop-state", "a list, dict or iterator that a branch changes")
    merge = merge_of(tracer, break_, regions[0], regions[1])
    what = "an expression"
    first, second = (realise(tracer, value) for value in values)
    is_scalar = isinstance(first, EitherValue | ArrayValue) or as_scalar(first) is not None
    if not is_scalar or _alike(first, second) or _differ_in_extents(merge, first, second):
        result = merge.value(what, (first, second), (True, True))
    else:
        result = EitherValue(None, condition, _handed(merge, first, 0), _handed(merge, second, 1))
    merge.close(condition)
    _settle(result)
    return result


def _key(tracer: Tracer) -> LoopKey:
    return tracer.regions[-1].key if tracer.regions else ()


def _handed(merge: Merge, value: Value, place: int) -> Value:
    """A value of one branch alone, behind the choice; for the condition of an either it is a value, too, for now."""
    if isinstance(value, EitherValue):
        held = value.condition
        held = ArrayValue(None, held) if isinstance(held, Node) else NumberValue(None, held)
        parts = (_handed(merge, part, place) for part in (held, value.first, value.second))
        return EitherValue(None, *parts)
    pair = (value, None) if place == 0 else (None, value)
    return merge.value("an expression", pair, (place == 0, place == 1))


def _settle(value: Value) -> None:
    """Let the conditions be what the choice yields for them, now that it stands."""
    if isinstance(value, EitherValue):
        held = value.condition
        if isinstance(held, ArrayValue):
            value.condition = held.node
        elif isinstance(held, Value):
            value.condition = as_scalar(held)
        _settle(value.first)
        _settle(value.second)


def _alike(first: Value, second: Value) -> bool:
    """Whether two scalars are of one type."""
    if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
        return first.node.array_type == second.node.array_type
    one, other = as_scalar(first), as_scalar(second)
    return one is not None and other is not None and kind_of(one) == kind_of(other)


def _differ_in_extents(merge: Merge, first: Value, second: Value) -> bool:
    """Whether two values are arrays that a choice may hand out as one of open extents."""
    if not merge.merges_extents or not isinstance(first, ArrayValue) or not isinstance(second, ArrayValue):
        return False
    return bool(first.node.array_type.ndim) and alike_but_for_extents(first.node.array_type, second.node.array_type)


def as_number(tracer: Tracer, region: Region, goes_on: GoesOn) -> Scalar:
    """A condition as a number of the branch that has it."""
    tracer.regions.append(region)
    number = number_of_condition(tracer, goes_on)
    tracer.regions.pop()
    return number


def number_of_condition(tracer: Tracer, condition: GoesOn) -> Scalar:
    """A condition as a number of the graph at hand."""
    if not isinstance(condition, Node):
        return condition
    choice = close_branches(tracer, condition, _empty(tracer, condition), (), ((True, False),))
    number: Scalar = choice.params["yields"][0]
    return number


def _empty(tracer: Tracer, condition: GoesOn) -> tuple[Region, Region]:
    """Two ways on which nothing is done."""
    around = _key(tracer)
    then = tracer.open_branch((*around, "number", True), condition, True)
    tracer.regions.pop()
    orelse = tracer.open_branch((*around, "number", False), condition, False)
    tracer.regions.pop()
    return then, orelse


def parts_of(tracer: Tracer, value: Value | None) -> Parts | None:
    """A value as three: whether it is one that the segment makes (a NumPy scalar, or a tuple of scalars), that one, and
    what it is otherwise (a Python number, a constant, a tuple from outside); None in place of what it never is, and for
    other values. What the parts are made of is put into the graph at hand."""
    if isinstance(value, EitherValue):
        one, other = parts_of(tracer, value.first), parts_of(tracer, value.second)
        if one is None or other is None or isinstance(value.condition, Value):
            return None
        is_whole = (one[1] is value.first and other[2] is value.second) or _comes_first(value.first, value.second)
        if is_whole and not isinstance(value.condition, Node):
            return NumberValue(None, value.condition), value.first, value.second
        merge = merge_of(tracer, break_, *_empty(tracer, value.condition))
        either = merge.either("an expression", one, other)
        merge.close(value.condition)
        return None if either is None else parts_of(tracer, either)
    is_listed = isinstance(value, ListedObject) and has_items(value)
    is_made = isinstance(value, ArrayValue) and value.number is None
    if value is not None and (is_listed or is_made or _is_tuple_of_scalars(tracer, value)):
        return ConstantValue(None, True), value, None
    number = None if value is None else as_scalar(value)
    kept = isinstance(value, SequenceValue) and value.kind is tuple and value.source is not None
    if kept or isinstance(value, ConstantValue) or (number is not None and kind_of(number) != "complex"):
        return ConstantValue(None, False), None, value
    return None


def _is_kept(value: Value) -> bool:
    """Whether a value is one of the objects that there are: a tuple from outside, a string, None."""
    if isinstance(value, EitherValue):
        return not isinstance(value.condition, Value) and _is_kept(value.first) and _is_kept(value.second)
    if isinstance(value, SequenceValue):
        return value.kind is tuple and value.source is not None
    return isinstance(value, ConstantValue) and type(value.value) in (str, bytes, tuple, type(None))


def beside(parts: Parts, kept: Value | None) -> Parts:
    """The parts of a Python number beside what is otherwise None, or a number of another kind that comes later in the
    order of their names: it stands where what the segment makes does."""
    if parts[1] is not None or parts[2] is None or kept is None or not _comes_first(parts[2], kept):
        return parts
    return ConstantValue(None, True), parts[2], None


def _comes_first(value: Value, kept: Value) -> bool:
    """Whether a value is a Python number, and the other None or a number of a kind with a later name."""
    one, other = as_scalar(value), as_scalar(kept)
    if one is None or is_none(kept) or kept is UNBOUND:
        return one is not None
    return other is not None and kind_of(one) < kind_of(other) and "complex" not in (kind_of(one), kind_of(other))


def _is_numpy_scalar(value: Value) -> bool:
    return isinstance(value, ArrayValue) and value.node.array_type.scalar and value.number is None


def _is_tuple_of_scalars(tracer: Tracer, value: Value) -> bool:
    if isinstance(value, ComplexValue):
        return True
    if not has_items(value) or not isinstance(value, SequenceValue | RecordValue):
        return False
    items = [realise(tracer, item) for item in value.items]
    return all(_is_numpy_scalar(item) or as_scalar(item) is not None for item in items)


def _is_of(value: Value | None, region: Region) -> bool:
    """Whether a part is made on one way, so that there is none of it on the other."""
    if isinstance(value, ArrayValue):
        return value.node in region.graph.nodes
    if value is not None and has_items(value):
        return any(_is_of(item, region) for item in value.items)  # type: ignore[attr-defined]
    if isinstance(value, NumberValue) and value.origin is not None and is_made_after(value, region.serial):
        return True  # which object it is is known there alone
    number = None if value is None else as_scalar(value)
    yielded = {symbol for node in region.graph.nodes for symbol in node.params.get("yields", ())}
    return bool(symbols_of(number) & {symbol.name for symbol in yielded})


def are_like(tracer: Tracer, one: Value, other: Value) -> bool:
    """Whether two parts are of one type, so that a loop or a choice can hand out either."""
    one, other = ((value.known or value) if isinstance(value, LazyValue) else value for value in (one, other))
    if has_items(one) and has_items(other):
        return is_like(one, other) and all(map(partial(are_like, tracer), one.items, other.items))  # type: ignore
    if isinstance(one, ArrayValue) and isinstance(other, ArrayValue):
        return types_agree(tracer, one.node.array_type, other.node.array_type)
    return _alike(one, other) or same(one, other)


@dataclass(eq=False)
class Merge:
    """The values behind two ways, and what the choice has to hand out for them."""

    tracer: Tracer
    refuse: Refuse
    then: Region
    orelse: Region
    nodes: list[tuple[Node, Node]] = field(default_factory=list)
    numbers: list[tuple[Scalar, Scalar]] = field(default_factory=list)
    arrays: list[ArrayValue | ListValue] = field(default_factory=list)  # of the nodes
    scalars: list[tuple[NumberValue, int]] = field(default_factory=list)  # of the numbers, with their place
    eithers: list[EitherValue] = field(default_factory=list)
    equals: list[NumberValue] = field(default_factory=list)  # numbers that are equal, and not the same objects
    known: dict[tuple[Value, Value], Value] = field(default_factory=dict)
    gone: list[Object] = field(default_factory=list)  # objects for which another one stands behind the choice
    extents: dict[tuple[int, int], int] = field(default_factory=dict)  # by place of an array and axis: of a number
    stay: list[Value] = field(default_factory=list)  # tuples that a name holds on both ways
    merges_extents: ClassVar[bool] = True  # arrays of other sizes are one value behind the choice

    def local(self, name: str, pair: tuple[Value | None, Value | None], wanted: tuple[bool, bool]) -> Value | None:
        """What a local holds; None if nothing, or nobody reads it."""
        first, second = pair
        if first is second:
            self.stay += tuples_in(first) if any(wanted) else ()
            return first
        if not any(wanted):
            return None
        if (first is None and wanted[0]) or (second is None and wanted[1]):
            self.refuse("loop-state", f"the local {name}, which one branch of an if does not assign")
        return self.value(f"the local {name}", (first, second), wanted)

    def value(self, what: str, pair: tuple[Value | None, Value | None], wanted: tuple[bool, bool]) -> Value:
        """What stands for one value or the other; where one is not wanted, anything of the other's type does."""
        if pair[0] is pair[1] and pair[0] is not None:
            return pair[0]
        first, second = (None if value is None else realise(self.tracer, value) for value in pair)
        if isinstance(first, ComplexValue) or isinstance(second, ComplexValue):
            first, second = (None if value is None else parted(self.tracer, value) for value in (first, second))
        if not wanted[0] or first is None:
            first = self.stand_in(what, second, first, self.then)
        if not wanted[1] or second is None:
            second = self.stand_in(what, first, second, self.orelse)
        assert first is not None and second is not None
        known = self.known.get((first, second))
        if known is None:
            known = self.one(first, second) if same(first, second) else None
            known = known or self.differing(what, first, second, wanted)
            self.known[first, second] = known
        return known

    def agree(self, first: ListValue, second: ListValue) -> bool:
        """Whether two lists seem to hold the same."""
        return agree(first, second, self.tracer.restraints.mixed)

    def one(self, first: Value, second: Value) -> Value | None:
        """What stands for two values that are the same; None for a tuple of numbers that are not the same objects."""
        if is_one_object(first, second):
            return first
        number = as_scalar(first)
        if number is None:
            return None
        value = NumberValue(None, number, self.origin(first, second))
        self.equals.append(value)
        return value

    def origin(self, first: Value, second: Value) -> Chosen | Picked | None:
        """What says which object a number is that is the one or the other."""
        return Chosen(first, second)

    def differing(self, what: str, first: Value, second: Value, wanted: tuple[bool, bool]) -> Value:
        if isinstance(first, ArrayValue) and isinstance(second, ArrayValue):
            if first.node is second.node:
                return first
            if not is_supported(first.node.array_type.dtype):
                self.refuse("unsupported-dtype", str(first.node.array_type.dtype))
            if types_agree(self.tracer, first.node.array_type, second.node.array_type):
                self.nodes.append((first.node, second.node))
                self.arrays.append(ArrayValue(None, first.node))
                return self.arrays[-1]
            if self.merges_extents and alike_but_for_extents(first.node.array_type, second.node.array_type):
                return self.of_two_sizes(first, second)
        if isinstance(first, ListValue) and isinstance(second, ListValue) and self.agree(first, second):
            self.nodes.append((first.node, second.node))
            self.arrays.append(ListValue(None, first.node, first.holding))
            return self.arrays[-1]
        objects, others = objects_of(self.tracer, first), objects_of(self.tracer, second)
        if objects is not None and others is not None:
            codes = code_of(self.tracer, first), code_of(self.tracer, second)
            code = NumberValue(None, codes[0])
            if codes[0] != codes[1]:
                self.scalars.append((code, self.number(*codes)))
            return one_of(objects | others, code)
        if self.goes_by_items(first, second):
            self.gone += filter(is_object, (first, second))
            pairs = zip(first.items, second.items, strict=True)  # type: ignore[attr-defined]
            return with_items(self.tracer, first, [self.value(what, pair, wanted) for pair in pairs])
        one, other = as_scalar(first), as_scalar(second)
        if one is not None and other is not None and kind_of(one) == kind_of(other) != "complex":
            value = NumberValue(None, one, self.origin(first, second))
            self.scalars.append((value, self.number(one, other)))
            return value
        either = self.either(what, self.parts(first, self.then), self.parts(second, self.orelse))
        if either is not None:
            return either
        if _is_kept(first) and _is_kept(second):
            flag = self.value(what, (ConstantValue(None, True), ConstantValue(None, False)), (True, True))
            self.eithers.append(EitherValue(None, flag, _handed(self, first, 0), _handed(self, second, 1)))
            return self.eithers[-1]
        self.refuse("loop-state", f"{what}, which is of one type in one branch and of another in the other")

    def of_two_sizes(self, first: ArrayValue, second: ArrayValue) -> ArrayValue:
        """What is one array or another of the same axes: the choice yields the extents, too."""
        shapes = first.node.array_type.shape, second.node.array_type.shape
        for axis, pair in enumerate(zip(*shapes, strict=True)):
            if not self.tracer.graph.facts.decide(make("eq", *pair)):
                known = [place for place, number in enumerate(self.numbers) if number == pair]
                self.extents[len(self.nodes), axis] = known[0] if known else self.number(*pair)
        self.nodes.append((first.node, second.node))
        self.arrays.append(ArrayValue(None, first.node))
        return self.arrays[-1]  # type: ignore[return-value]

    def goes_by_items(self, first: Value, second: Value) -> bool:
        """Whether what stands for two values has what stands for their items."""
        are_made_here = all(has_items(one) or is_object(one) for one in (first, second))
        return are_made_here and is_like(first, second)

    def parts(self, value: Value, region: Region) -> Parts | None:
        """The parts of a value of one branch."""
        self.tracer.regions.append(region)
        parts = parts_of(self.tracer, value)
        self.tracer.regions.pop()
        return parts

    def either(self, what: str, first: Parts | None, second: Parts | None) -> EitherValue | None:
        """What is one of two kinds of value, of two such by their parts; None where these are of unlike types."""
        if first is None or second is None:
            return None
        first, second = beside(first, second[2]), beside(second, first[2])
        pairs: list[tuple[Value | None, Value | None]] = []
        for one, other in zip(first, second, strict=True):
            if one is None and other is None:
                return None
            if one is not None and other is not None and not are_like(self.tracer, one, other):
                return None
            if other is None and not _is_of(one, self.then):
                other = one  # as good as any, and the same object if nothing takes its place
            elif one is None and not _is_of(other, self.orelse):
                one = other
            pairs.append((one, other))
        flag, made, kept = (self.value(what, pair, (pair[0] is not None, pair[1] is not None)) for pair in pairs)
        result = EitherValue(None, flag, made, kept)
        self.eithers.append(result)
        return result

    def number(self, one: Scalar, other: Scalar) -> int:
        """The place of a number that the choice yields."""
        if len(self.numbers) == MAX_YIELDS:
            self.refuse("loop-state", f"more than {MAX_YIELDS} numbers that differ behind an if")
        if any(isinstance(number, int) and not -(2**63) <= number < 2**63 for number in (one, other)):
            self.refuse("loop-state", "an int of more than 64 bits")
        self.numbers.append((one, other))
        return len(self.numbers) - 1

    def stand_in(self, what: str, value: Value | None, instead: Value | None, region: Region) -> Value:
        """Something of the type of `value` for a branch behind which nobody reads it: `instead`, if it is such."""
        assert value is not None
        while isinstance(value, EitherValue):
            value = value.second
        if isinstance(value, OneOf):
            return next(iter(value.objects.values()))
        if not isinstance(value, ArrayValue | ListValue):
            if has_items(value) or is_object(value):
                items = [realise(self.tracer, item) for item in value.items]  # type: ignore[attr-defined]
                return with_items(self.tracer, value, [self.stand_in(what, item, None, region) for item in items])
            number = as_scalar(value)
            if number is None:
                return value
            if is_symbolic(number):
                return ConstantValue(None, {"int": 0, "float": 0.0, "bool": False}[kind_of(number)])
            one_of_several = isinstance(value, NumberValue) and value.origin is not None
            return ConstantValue(None, number) if one_of_several else value  # NB: which one, its own way alone knows
        type_ = value.node.array_type
        if type(instead) is type(value):
            other = instead.node.array_type
            may_differ = self.merges_extents and isinstance(instead, ArrayValue)
            if types_agree(self.tracer, type_, other) or (may_differ and alike_but_for_extents(type_, other)):
                return instead
        self.tracer.regions.append(region)
        node = stand_in_node(self.tracer, type_, self.merges_extents)
        self.tracer.regions.pop()
        if node is None:
            self.refuse("loop-state", f"{what}, whose size one branch decides")
        return with_node(value, node)

    def close(self, condition: GoesOn) -> Node | None:
        """Append the choice, if anything hangs on it, and let the merged values be what it yields."""
        note_aliases(self.tracer, {**self.known, **{(one, one): one for one in self.stay}})
        node = self._close(condition)
        for either in self.eithers:
            _settle(either)
        return node

    def _close(self, condition: GoesOn) -> Node | None:
        graph = self.tracer.graph
        found = self.nodes or self.numbers or self.equals
        if not found and not self.then.graph.nodes and not self.orelse.graph.nodes:
            return None
        regions = self.then, self.orelse
        node = close_branches(self.tracer, condition, regions, self.nodes, self.numbers, self.extents)
        for place, array in enumerate(self.arrays):
            array.node = ops.call(graph, "tuple_get", (node,), {"index": place}, self.tracer.location())
        for value, place in self.scalars:
            value.expr = node.params["yields"][place]
        for value in (*self.equals, *(value for value, _ in self.scalars)):
            if isinstance(value.origin, Chosen):
                value.origin.node = node
        for symbol, pair in zip(node.params.get("yields", ()), self.numbers, strict=True):
            self.tracer.alternatives[symbol.name] = pair
        return node


@dataclass(eq=False)
class StraightMerge(Merge):
    """The same outside of loops, where residual code gives each number the object that plain Python has there: one from
    before the choice, by its tag, or what the choice yields. objects: by id the containers that there were before."""

    merges_extents: ClassVar[bool] = False  # NB: each way is better off with sizes of its own
    objects: frozenset[int] = frozenset()
    tags: list[tuple[Picked, int]] = field(default_factory=list)  # with their place among the numbers

    def differing(self, what: str, first: Value, second: Value, wanted: tuple[bool, bool]) -> Value:
        if any(isinstance(value, SequenceValue) and id(value) in self.objects for value in (first, second)):
            self.refuse("loop-state", f"{what}, which may be a tuple from before the branch")
        return super().differing(what, first, second, wanted)

    def goes_by_items(self, first: Value, second: Value) -> bool:
        """As elsewhere; which object one is, is seen there."""
        return has_items(first) and has_items(second) and is_like(first, second)

    def parts(self, value: Value, region: Region) -> Parts | None:
        """As elsewhere; an integer NumPy scalar whose number is known may stand beside None, too."""
        found = super().parts(value, region)
        return (ConstantValue(None, True), value, None) if found is None and isinstance(value, ArrayValue) else found

    def one(self, first: Value, second: Value) -> Value | None:
        """As elsewhere; a number that either way computes anew is a new one."""
        found = super().one(first, second)
        is_new = isinstance(found, NumberValue) and found is not first and found.origin is None
        return computed_number(found.expr) if is_new and not is_symbolic(found.expr) else found  # type: ignore

    def origin(self, first: Value, second: Value) -> Picked | None:
        """Which of the objects from before the choice a number may be; None if it is a new one, or has but one."""
        found = Picked({})
        pair = (first, self.then), (second, self.orelse)
        tags = tuple(self._tag(value, region, found.objects) for value, region in pair)
        if not found.objects:
            return None
        found.tag = tags[0]
        if tags[0] != tags[1]:
            self.tags.append((found, self.number(*tags)))
        return found

    def _tag(self, value: Value, region: Region, objects: dict[int, Value]) -> Scalar:
        """The tag of a number at the end of one way."""
        number = as_scalar(value)
        if number is None or kind_of(number) == "bool" or is_single(number):
            return 0
        if not is_made_after(value, region.serial):
            found = self._number_of(value)
            objects[found] = value
            return found
        origin = value.origin  # type: ignore[attr-defined]
        if origin is None:
            return 0
        if not isinstance(origin, Picked) or any(is_made_after(one, region.serial) for one in origin.objects.values()):
            self.refuse("loop-state", "a number which may be one of several objects")
        objects.update(origin.objects)
        tag: Scalar = origin.tag
        return tag

    def _number_of(self, value: Value) -> int:
        """The number, from 1 on, of an object that a name holds before a choice."""
        return self.tracer.picked.setdefault(object_key(value), 1 + len(self.tracer.picked))

    def close(self, condition: GoesOn) -> Node | None:
        """As elsewhere. What is one object on one way and has two names behind it may not be two there."""
        for place, region in enumerate((self.then, self.orelse)):
            names = Counter(pair[place] for pair in self.known)
            for value, count in names.items():
                new = isinstance(value, SequenceValue) or (
                    as_scalar(value) is not None and is_made_after(value, region.serial)
                )
                if count > 1 and new:
                    self.refuse("loop-state", "an object that has two names on one way")
        node = super().close(condition)
        for origin, place in self.tags:
            assert node is not None
            origin.tag = node.params["yields"][place]
        return node


def merge_of(
    tracer: Tracer, refuse: Refuse, then: Region, orelse: Region, objects: frozenset[int] = frozenset()
) -> Merge:
    """What merges two ways where they stand."""
    if tracer.in_loop or tracer.peeling:
        return Merge(tracer, refuse, then, orelse)
    return StraightMerge(tracer, refuse, then, orelse, objects=objects)


def is_none(value: Value) -> bool:
    return isinstance(value, ConstantValue) and value.value is None


__all__ = [
    *(
        "GoesOn",
        "Merge",
        "Parts",
        "Refuse",
        "are_arrays_of_one_type",
        "are_like",
        "as_number",
        "beside",
        "break_",
        "choose",
        "either_way",
    ),
    *("is_none", "may_choose", "merge_of", "number_of_condition", "parts_of", "pick", "split", "split_each"),
]
