"""Which object each number is behind a loop: one that the loop computed, and in which iteration, or one from before it.

Enters: the numbers that a loop of the segment itself leaves, as the values that names hold before it and after an
iteration. Leaves: for each that may be an object which something else holds too, a *tag* that the loop carries: an int
that says at which event the object came about. Residual code hands on the one object where two tags are equal:

    last, best = f, g                   tags before the loop: -1 for the object of f, -2 for that of g
    for i in range(n):
        if c: last = best; best = s     %cond, ..., t0, t1 = cond(c): then returns ..., tag of best, 1 + 2 * i

Objects from before the loop have the tags -1, -2, ...; what the loop computes and two names may hold has a number, and
so has the iteration in which that was. All else is 0, an object that nobody else has.

An item of a list from outside, read under a number of the loop's, is what stands there: the loop hands out the number,
and residual code reads the item again.

What lists and dicts get is told apart, too, where the plan says so (LoopPlan.objects): a tag goes with each such number
(ops/lists.py), the program has a table with the object of each tag, and residual code asks that table for what a name
holds that a list may have got. INVARIANT: a number that leaves is the object that Python's would be, as `is` can tell.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from typing import Any, NoReturn, Protocol, TypeAlias

from dynamo_lite import ops
from dynamo_lite._C import Objects as Table
from dynamo_lite._C import abi
from dynamo_lite.capture.lists.claims import hold, table_of
from dynamo_lite.capture.loops.plan import LoopPlan
from dynamo_lite.capture.numbers.complex_numbers import is_listed_complex
from dynamo_lite.capture.numbers.numbers import as_scalar
from dynamo_lite.capture.region import MAX_YIELDS
from dynamo_lite.capture.state import PutNumber, Region, Retry, Tracer
from dynamo_lite.capture.value import (
    ArrayValue,
    CallValue,
    Carried,
    CellRead,
    Chosen,
    ComputedValue,
    ConstantValue,
    EitherValue,
    HeldNumber,
    ItemRead,
    NestedValue,
    NumberedValue,
    NumberValue,
    ResultValue,
    Value,
    is_made_after,
    is_single,
    object_key,
)
from dynamo_lite.dataclass import dataclass, replace
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make, renamed, symbols_of
from dynamo_lite.graph.types import LIST, number_type

TAG = "tag"  # ends the path of a number's tag
CLOCK = "clock"  # and of a number that counts the iterations of inner loops
LISTED: int = abi.LISTED_AT  # what a place in a list from outside has beside it, in a tag
LISTS: int = abi.LISTED_BY  # and by what that is multiplied, so that the list's own tag stands below
PARTS: int = abi.LISTED_PARTS  # and by what the part of the item is, if that is a tuple, above the list's own tag
AT = "at"  # and, with a place, of a number under which an item of a list stands

_TAKEN = Value()  # what was taken of a list as an object (object_lists.py), whichever it is

Path: TypeAlias = tuple[Any, ...]  # a name, and places in tuples


class Numbers(Protocol):
    """The numbers that a loop carries: before it, and after an iteration."""

    begins: dict[Path, Scalar]
    next: dict[Path, Scalar]


@dataclass(frozen=True, slots=True)
class Left:
    """A number that a loop leaves: what its name holds after an iteration, `after`, and without any, `before` (None:
    there is one in any case). grows: by an int other than 0 in every iteration."""

    after: Value
    before: Value | None = None
    grows: bool = False


class _Untold(Exception):
    """Nobody can tell which object it is."""


@dataclass(eq=False, slots=True)
class Objects:
    """What tell_apart() found. tags: the numbers that have one; outside: by number, the objects from before the loop
    that it may be, with their tags; others: the numbers earlier in order that it may be one object with. grown: those
    that are what they were before the loop where they are equal to that. listed: those that are items of lists from
    outside; under: the numbers under which they stand."""

    tags: dict[Path, Path] = field(default_factory=dict)
    outside: dict[Path, list[tuple[int, Value]]] = field(default_factory=dict)
    others: dict[Path, list[Path]] = field(default_factory=dict)
    grown: dict[Path, Value] = field(default_factory=dict)
    listed: dict[Path, CallValue] = field(default_factory=dict)
    under: dict[Path, list[NumberValue]] = field(default_factory=dict)
    put: frozenset[Path] = frozenset()  # numbers that lists may have got: `table` knows their objects
    table: Node | None = None


def tell_apart(
    tracer: Tracer,
    region: Region,
    left: dict[Path, Left],
    count: Scalar,
    numbers: Numbers,
    refuse: Callable[[str, str], NoReturn],
) -> Objects:
    """See which object each number is that the loop of `region` leaves; the tags that this takes are carried from now
    on. count: how many iterations came before the one at hand. refuse: told of a number of which nobody can tell."""
    leaves = _Leaves(region, tracer.plans[region.key])
    stands = dict(_nodes(region.graph))
    puts = [put for put in tracer.put_numbers if put.node in stands]
    cells = [one for one in tracer.cell_lists if one.region in (None, region) and one.tagged]
    firsts = [put for one in cells for put in one.firsts]
    puts += firsts
    stands.update((put.node, tracer.root) for put in firsts)
    got: dict[PutNumber, frozenset[Value]] = {}
    try:
        got = {put: leaves.of(put.value) for put in puts}
    except _Untold:
        refuse("loop-state", "a list, by a number that something else holds, too")
    put_times = Counter[Value]()
    for put, leaves_ in got.items():
        put_times.update(dict.fromkeys(leaves_, 1 if leaves.is_fresh(put.value, put.serial) else 2))
    put_times.update({one.mark: 2 for one in cells if one.mark is not None})
    found: dict[Path, frozenset[Value]] = {}
    objects = Objects()
    for path, one in left.items():
        if isinstance(one.after, NumberValue) and (*path, AT, 0) in numbers.next:
            assert isinstance(one.after.origin, CallValue)
            objects.listed[path], objects.under[path] = one.after.origin, listed_under(tracer, one.after)
            found[path] = frozenset()
            continue
        try:
            found[path] = leaves.of(one.after)
        except _Untold:
            refuse("loop-number-identity", f"{path[0]}, which may end as a number in a list")
    times = Counter(leaf for leaves_ in found.values() for leaf in leaves_) + put_times
    for path, one in left.items():
        is_alone = one.grows and all(times[leaf] == 1 and not leaves.is_outside(leaf) for leaf in found[path])
        if one.before is not None and not is_alone:
            found[path] = found[path] | leaves.of(one.before)
    times = Counter(leaf for leaves_ in found.values() for leaf in leaves_) + put_times
    shared = [leaf for leaf, count_ in times.items() if count_ > 1 and not leaves.is_outside(leaf)]
    tags = _Tags(tracer, region, leaves, {leaf: 1 + place for place, leaf in enumerate(shared)}, count, numbers)
    tags.stands = stands
    for path, one in left.items():
        if one.before is not None and one.grows and not found[path] & leaves.of(one.before):
            objects.grown[path] = one.before
        outside = list(filter(leaves.is_outside, found[path]))
        if not outside and found[path].isdisjoint(shared):
            continue
        try:
            tags.carry(region, path)
        except _Untold:
            refuse("loop-number-identity", f"{path[0]}, which may end as the same number as another variable")
        objects.outside[path] = [(tags.code(leaf), leaf) for leaf in outside]
        both = found[path].intersection(shared)
        objects.others[path] = [other for other in objects.tags if not both.isdisjoint(found[other])]
        objects.tags[path] = (*path, TAG)
    for one in cells:
        if one.mark is not None:
            product, total = one.marked
            product.args, total.args = (product.args[0], 1 + len(shared)), (total.args[0], tags.events[one.mark])
    leaves_found = {leaf for leaves_ in found.values() for leaf in leaves_}
    listed = {leaf for leaf in leaves_found if isinstance(leaf, NumberedValue) or leaf is _TAKEN}
    if puts or cells or listed:
        asked_for = put_times.keys() | listed
        objects.put = frozenset(path for path in objects.tags if not asked_for.isdisjoint(found[path]))
        objects.table = table_of(tracer)
        for one in cells:
            one.region, one.table = region, objects.table
        try:
            for put in puts:
                ops.lists.set_tag(put.node, put.place, tags.of(put.value, stands[put.node]))
            asked = put_times.keys() | {leaf for path in objects.put for leaf in found[path]}
            assert objects.table is not None
            tags.begin_table(objects.table, asked)
        except _Untold:
            refuse("loop-state", "a list, by a number that something else holds, too")
    return objects


def listed_under(tracer: Tracer, value: Value) -> list[NumberValue]:
    """The numbers of the loop's under which an item of a list from outside stands; none for any other value."""
    origin = value.origin if isinstance(value, NumberValue) else value
    under: list[NumberValue] = []
    if isinstance(origin, CallValue) and is_listed_complex(origin):  # of which no loop tells which object it is
        return []
    while isinstance(origin, CallValue) and origin.function is operator.getitem:
        origin, index = origin.args
        if isinstance(index, NumberValue) and tracer.varies(index.expr):
            under.insert(0, index)
    return under if isinstance(origin, NumberedValue) else []


def _listed(value: CallValue) -> tuple[NumberedValue, Value, int] | None:
    """The list from outside that a number is read of, and under what; the number is what stands there (0), or so
    maniest in a tuple that stands there. None for all else."""
    part = 0
    of, index = value.args if value.function is operator.getitem else (None, None)
    if isinstance(of, NestedValue) and of.layout[0] == "p" and of.args[0] is of.root:
        place = None if index is None else as_scalar(index)
        if type(place) is not int:
            return None
        part = 1 + place % (len(of.layout) - 1)
        of, index = of.args
    if not isinstance(of, NumberedValue) or index is None:
        return None
    layout = of.layout[1] if part == 0 else of.layout[1][part]
    return (of, index, part) if layout[0] in "fi" else None


def _nodes(graph: Graph) -> Iterator[tuple[Node, Graph]]:
    """The nodes of a body and those inside of it, and where each stands."""
    for node in graph.nodes:
        yield node, graph
        for body in node.regions:
            yield from _nodes(body)


@dataclass(eq=False, slots=True)
class _Leaves:
    """The objects that values may be. outermost: the loop that they are told apart behind."""

    outermost: Region
    plan: LoopPlan
    known: dict[object, Value] = field(default_factory=dict)  # objects from before the loop, by where they come from
    found: dict[Value, frozenset[Value]] = field(default_factory=dict)
    singles: set[Value] = field(default_factory=set)  # those that may be a number which has one object only

    def is_outside(self, value: Value) -> bool:
        """Whether a number is an object that there is before the loop."""
        return not is_made_after(value, self.outermost.serial)

    def of(self, value: Value | None) -> frozenset[Value]:
        """The objects that a number may be, each as one value; of numbers that have one object only, none."""
        if value is None:
            return frozenset()
        if value not in self.found:
            leaves: dict[Value, None] = {}
            if self._collect(value, leaves, set()):
                self.singles.add(value)
            self.found[value] = frozenset(leaves)
        return self.found[value]

    def _collect(self, value: Value | None, leaves: dict[Value, None], seen: set[Value]) -> bool:
        """Note the objects that a number may be; whether it may be one that has one object only."""
        number = None if value is None else as_scalar(value)
        if value is None or value in seen:
            return False
        seen.add(value)
        if number is None or kind_of(number) == "bool" or is_single(number):
            return True
        if self.is_outside(value) and not _is_picked(value):
            leaves[self._one(value)] = None
            return False
        origin = value.origin if isinstance(value, NumberValue) else None
        parts: list[Value | None] = []
        match origin:
            case ItemRead() if not self.plan.objects:
                self.plan.objects = True
                raise Retry
            case ItemRead() if origin.tag is None:
                raise _Untold
            case ItemRead():
                leaves[_TAKEN] = None
                return True
            case CellRead() if not origin.cells.tagged and not self.plan.objects:
                self.plan.objects = True
                raise Retry
            case CellRead() if not origin.cells.tagged:
                raise _Untold
            case CellRead():
                marks = [] if origin.cells.mark is None else [origin.cells.mark]
                if origin.cells.outside is not None:
                    leaves[_TAKEN] = None
                held = [self._collect(part, leaves, seen) for part in (*marks, *origin.cells.puts)]
                return any(held) or origin.cells.outside is not None
            case CallValue() if (listed := _listed(origin)) is not None:
                if not self.plan.objects:
                    self.plan.objects = True
                    raise Retry
                leaves[listed[0]] = None
                return True  # whose tag hangs on where it stands
            case CallValue() if origin.function is operator.getitem:  # which of a list's, only the run knows
                raise _Untold
            case Chosen():
                parts = [origin.first, origin.second]
            case Carried():
                parts = [origin.region.begins.get(origin.path), origin.region.ends.get(origin.path)]
            case CallValue():
                parts = [*(origin.args if origin.function in (max, min) else origin.args[:1])]
        if not parts or (isinstance(origin, CallValue) and origin.function not in (max, min)):
            leaves[value] = None
        may_be_single = [self._collect(part, leaves, seen) for part in parts]
        return any(may_be_single)

    def is_fresh(self, value: Value | None, serial: int) -> bool:
        """Whether a number is an object that was made after what has that serial, and not by an earlier iteration."""
        origin = value.origin if isinstance(value, NumberValue) else None
        match origin:
            case Chosen():
                return self.is_fresh(origin.first, serial) and self.is_fresh(origin.second, serial)
            case None:
                return value is not None and is_made_after(value, serial)
        return False

    def _one(self, value: Value) -> Value:
        """The value that stands for an object from before the loop."""
        return self.known.setdefault(object_key(value), value)


@dataclass(eq=False, slots=True)
class _Tags:
    """The tags of numbers, in the graph of the outermost loop's body and in those inside of it, which are complete."""

    tracer: Tracer
    outermost: Region
    leaves: _Leaves
    events: dict[Value, int]  # by what the loop computes and more than one name may hold: its number
    count: Scalar
    numbers: Numbers
    codes: dict[Value, int] = field(default_factory=dict)  # tags of objects from before the loop
    home: dict[Node, Graph] = field(default_factory=dict)  # where loops and choices stand
    around: dict[int, tuple[Graph, Node]] = field(default_factory=dict)  # by id of a graph: what it is the body of
    carried: dict[tuple[int, Path], tuple[Symbol, Symbol | None]] = field(default_factory=dict)  # inside, and behind
    chosen: dict[Value, Scalar] = field(default_factory=dict)
    brought: dict[tuple[int, Scalar], Symbol] = field(default_factory=dict)
    clocks: dict[int, Symbol] = field(default_factory=dict)
    stands: dict[Node, Graph] = field(default_factory=dict)  # where each node of the body, and inside it, stands

    def __post_init__(self) -> None:
        self._find(self.outermost.graph)

    def _find(self, graph: Graph) -> None:
        for node in graph.nodes:
            for body in node.regions:
                self.home[node] = graph
                self.around[id(body)] = graph, node
                self._find(body)

    def code(self, leaf: Value) -> int:
        """The tag of an object from before the loop."""
        return self.codes.setdefault(leaf, -1 - len(self.codes))

    def begin_table(self, table: Node, asked: Collection[Value]) -> None:
        """Let the table of objects have those from before the loop; asked: the numbers that it is asked for."""
        firsts = [self._first(table, leaf, code) if leaf in asked else 0 for leaf, code in self.codes.items()]
        table.args = tuple(firsts)
        nodes = self.tracer.root.nodes  # the inputs stand before it
        nodes.remove(table)
        nodes.append(table)

    def _first(self, table: Node, leaf: Value, code: int) -> Argument:
        """The object of a number from before the loop. Where the program makes that, whoever has the number takes it
        from the table."""
        tracer, number = self.tracer, as_scalar(leaf)
        if leaf is _TAKEN:
            return 0
        if isinstance(leaf, NumberValue) and isinstance(leaf.origin, ItemRead):
            return leaf.origin.object
        if isinstance(leaf, NumberedValue):
            assert leaf.source is not None
            tracer.inputs.append(leaf.source)
            tracer.example_inputs.append(leaf.concrete)
            return tracer.root.add_input(LIST, "listed")
        if leaf.source is not None:
            is_input = isinstance(number, Symbol) and 0 <= number.input < len(tracer.inputs)
            known = tracer.example_inputs[number.input] if is_input else number  # type: ignore[union-attr]
            tracer.inputs.append(leaf.source)
            tracer.example_inputs.append(known)
            return tracer.root.add_input(LIST, "number")
        if type(leaf) is ConstantValue and number is not None and kind_of(number) != "complex" and not _is_huge(number):
            return hold(tracer, leaf.value) if tracer.restraints.objects else number
        if isinstance(leaf, ComputedValue) and type(number) in (int, float) and not _is_huge(number):  # type: ignore[arg-type]
            number = ScalarOp("neg", kind_of(number), (-number,))  # type: ignore[arg-type,operator]
        if not isinstance(leaf, NumberValue | ComputedValue) or leaf.origin is not None or tracer.exits:
            raise _Untold
        if number is None or not is_symbolic(number):
            raise _Untold
        leaf.origin = CallValue(None, Table.at, [ArrayValue(None, table), ConstantValue(None, code)])
        return tracer.canonical(number)

    def of(self, value: Value | None, graph: Graph) -> Scalar:
        """The tag of the object that `value` is, as a number of `graph`."""
        leaves = self.leaves.of(value)
        outside = set(filter(self.leaves.is_outside, leaves))
        if len(leaves) == len(outside) == 1 and value not in self.leaves.singles:
            return self.code(*outside)
        if value is None or (not outside and leaves.isdisjoint(self.events)):
            return 0
        assert isinstance(value, Value)
        origin = value.origin if isinstance(value, NumberValue) else None
        match origin:
            case Chosen():
                return self._of_choice(value, origin, graph)
            case Carried():
                inside, behind = self.carry(origin.region, origin.path)
                if not origin.behind:
                    return self._bring(inside, self._body(origin.region), graph)
                assert behind is not None
                return self._bring(behind, self._home(origin.region.loop), graph)
            case CallValue() if origin.function is operator.getitem:
                return self._of_listed(origin, graph)
            case CallValue():
                return self._of_picked(value, origin, graph)
            case CellRead() | ItemRead():
                assert origin.tag is not None
                return self._bring(origin.tag.params["yields"][0], self.stands[origin.tag], graph)
        return self._of_event(value, graph)

    def _of_event(self, value: Value, graph: Graph) -> Scalar:
        """Of a number that is computed: the number of the event, and the iteration in which it was."""
        event = self.events.get(value, 0)
        if not event:
            return 0
        place = graph
        while place is not self.outermost.graph:
            outer, node = self._around(place)
            if node.kind is NodeKind.LOOP and is_made_after(value, self._region(node).serial):
                break
            place = outer
        time = self.count if place is self.outermost.graph else self._clock(place)
        return self._bring(make("add", make("mul", time, 1 + len(self.events)), event), place, graph)

    def _of_choice(self, value: Value, origin: Chosen, graph: Graph) -> Scalar:
        node = origin.node
        home = self._home(node)
        assert node is not None
        if value not in self.chosen:
            pair = zip((origin.first, origin.second), node.regions, strict=True)
            one, other = (self.of(part, body) for part, body in pair)
            is_known = not is_symbolic(one) and one == other
            self.chosen[value] = one if is_known else self._choose(node, (one, other))
        return self._bring(self.chosen[value], home, graph)

    def _of_listed(self, origin: CallValue, graph: Graph) -> Scalar:
        """Of an item of a list or tuple from outside: which one of them it is, and where the item stands."""
        of, index, part = _listed(origin) or (None, None, 0)
        place = None if index is None else as_scalar(index)
        if of is None or place is None or kind_of(place) != "int" or -self.code(of) >= PARTS:
            raise _Untold
        if part >= LISTS // PARTS:
            raise _Untold
        home = graph  # the innermost graph that knows the index
        while self._is_closed(home) and not symbols_of(place) <= home.symbols.keys():
            home = self._around(home)[0]
        if self._is_closed(home):
            place = renamed(place, home.symbols)
        place = self._bring(place, home, graph)
        beyond = make("mul", make("add", place, LISTED), LISTS)
        return make("sub", self.code(of) - part * PARTS, beyond)

    def _of_picked(self, value: Value, origin: CallValue, graph: Graph) -> Scalar:
        """Of what max(), min(), abs() or % gives: 1 or 0, by whether it is the first operand, picks the tag."""
        function, first, second = origin.function, origin.args[0], origin.args[-1]
        if function not in (max, min, abs, operator.mod) or (function is operator.mod and not _is_long(second)):
            raise _Untold
        one = self.of(first, graph)
        other = self.of(second, graph) if function in (max, min) else self._of_event(value, graph)
        a, b = as_scalar(first), as_scalar(second)
        assert a is not None and b is not None
        try:
            a, b = (renamed(number, graph.symbols) if self._is_closed(graph) else number for number in (a, b))
        except KeyError:
            raise _Untold from None
        if function is operator.mod:  # it is the operand where it is equal to that
            gone = make("sub", a, make("mod", a, b))
            above = make("neg", make("max", gone, make("neg", gone)))
        else:
            above = {max: lambda: make("sub", a, b), min: lambda: make("sub", b, a), abs: lambda: a}[function]()
        is_first = make("max", 0, make("min", 1, make("add", above, 1)))
        return make("add", other, make("mul", is_first, make("sub", one, other)))

    def carry(self, region: Region, path: Path) -> tuple[Symbol, Symbol | None]:
        """The tag of what the loop of `region` carries: in an iteration, and behind an inner loop."""
        key = id(region), path
        begin, end = region.begins.get(path), region.ends.get(path)
        if key in self.carried:
            return self.carried[key]
        if region is self.outermost:
            tag = (*path, TAG)
            inside = self.tracer.carry_number(region, tag, "int")
            self.carried[key] = inside, None
            self.numbers.begins[tag] = self.of(begin, region.graph)
            self.numbers.next[tag] = self.of(end, region.graph)
            return inside, None
        loop = region.loop
        home = self._home(loop)
        assert loop is not None
        inside, place, behind = self._carry(loop, self.of(begin, home))
        self.carried[key] = inside, behind
        (body,) = loop.regions
        body.outputs[place] = self.of(end, body)
        return inside, behind

    # -- complete graphs --------------------------------------------------------------------------

    def _is_closed(self, graph: Graph) -> bool:
        return graph is not self.outermost.graph

    def _home(self, node: Node | None) -> Graph:
        if node is None or node not in self.home:
            raise _Untold
        return self.home[node]

    def _around(self, graph: Graph) -> tuple[Graph, Node]:
        if id(graph) not in self.around:
            raise _Untold
        return self.around[id(graph)]

    def _region(self, loop: Node) -> Region:
        if loop not in self.tracer.loops:
            raise _Untold
        return self.tracer.loops[loop]

    def _body(self, region: Region) -> Graph:
        if region is self.outermost:
            return region.graph
        self._home(region.loop)
        assert region.loop is not None
        body: Graph = region.loop.regions[0]
        return body

    def _bring(self, number: Scalar, home: Graph, graph: Graph) -> Scalar:
        """A number of `home` as one of `graph`, which is inside of it."""
        if not is_symbolic(number) or graph is home:
            return number
        outer, node = self._around(graph)
        begin = self._bring(number, home, outer)
        key = id(graph), begin
        if key not in self.brought:
            if node.kind is NodeKind.COND:
                (name,) = self.tracer.yield_names(1)
                for body in node.regions:
                    self.brought[id(body), begin] = self._add_input(body, name)
                node.args = (*node.args, begin)
            else:
                self.brought[key] = self._carry(node, begin)[0]
        return self.brought[key]

    def _add_input(self, body: Graph, name: str) -> Symbol:
        symbol = Symbol(name, "int", len(body.inputs))
        body.symbols[name] = symbol
        body.inputs.append(symbol)
        return symbol

    def _carry(self, loop: Node, begin: Scalar) -> tuple[Symbol, int, Symbol]:
        """Have an inner loop carry one more number, which stays what it is: that number inside, its place among the
        outputs, and the number behind."""
        (body,) = loop.regions
        inside = self._add_input(body, self.tracer.yield_names(1)[0])
        place = len(body.outputs) - bool(loop.params.get("while"))
        body.outputs.insert(place, inside)
        loop.args = (*loop.args, begin)
        return inside, place, self._yield(loop)

    def _choose(self, choice: Node, pair: tuple[Scalar, Scalar]) -> Symbol:
        """Have a choice hand out one more number."""
        for body, number in zip(choice.regions, pair, strict=True):
            body.outputs.append(number)
        return self._yield(choice)

    def _yield(self, node: Node) -> Symbol:
        """What stands for the last number that `node` yields, which has just been added to its bodies."""
        yields = node.params.get("yields", ())
        if len(yields) == MAX_YIELDS:
            raise _Untold
        symbol = self.home[node].add_yield(self.tracer.yield_names(1)[0], "int")
        node.params = {**node.params, "numbers": len(yields) + 1, "yields": (*yields, symbol)}
        assert isinstance(node.type, tuple)
        node.type = (*node.type, number_type(symbol))
        return symbol

    def _clock(self, body: Graph) -> Symbol:
        """How many iterations of the inner loop with that body came before this one, in all iterations of those
        around."""
        if id(body) in self.clocks:
            return self.clocks[id(body)]
        region, chain = self.outermost, [body]
        while chain[-1] is not region.graph:
            chain.append(self._around(chain[-1])[0])
        chain.reverse()
        path: Path = (CLOCK, len(self.clocks))
        now: Scalar = self.tracer.carry_number(region, path, "int")
        self.numbers.begins[path] = 0
        places: list[tuple[Node, Graph, int, Scalar]] = []
        behind: list[Symbol] = []
        for graph in chain[1:]:
            node = self._around(graph)[1]
            if node.kind is NodeKind.LOOP:
                inside, place, after = self._carry(node, now)
                places.append((node, graph, place, now))
                behind.append(after)
                now = inside
            else:
                places.append((node, graph, -1, now))
                behind.append(Symbol("", "int", 0))
                now = self._bring(now, self.home[node], graph)
        assert isinstance(now, Symbol)
        self.clocks[id(body)] = now
        then = make("add", now, 1)
        for (node, graph, place, before), after in zip(reversed(places), reversed(behind), strict=True):
            if place >= 0:
                graph.outputs[place] = then
                then = after
            else:
                pair = [then if arm is graph else self._bring(before, self.home[node], arm) for arm in node.regions]
                then = self._choose(node, (pair[0], pair[1]))
        self.numbers.next[path] = then
        return now


@dataclass(eq=False, slots=True)
class Behind:
    """The numbers that a loop leaves as they are behind it, or where it is left between two iterations.

    objects: what tell_apart() has found. places: of what the loop hands out, by path; results: the nodes of these.
    made: the number at a path, as an object that nobody else has, which it takes from these. first: the first path with
    the same object. lists: tuples and lists behind the loop, by what an iteration leaves.
    """

    objects: Objects
    places: dict[Path, int]
    results: dict[int, Node]
    made: Callable[[Path, Behind], Value]
    first: Callable[[Path], Path]
    known: dict[Path, Value] = field(default_factory=dict)
    tags: dict[Path, Value] = field(default_factory=dict)
    lists: dict[Value, Value] = field(default_factory=dict)

    def number(self, path: Path) -> Value:
        """The number at `path`."""
        path = self.first(path)
        if path not in self.known:
            self.known[path] = self._object(path)
        return self.known[path]

    def result(self, path: Path, kind: type) -> ResultValue:
        """What the loop hands out at `path`."""
        return ResultValue(None, self.results[self.places[path]], kind)

    def _object(self, path: Path) -> Value:
        number = found = self.made(path, self)
        if path in self.objects.put:
            assert self.objects.table is not None
            table = ArrayValue(None, self.objects.table)
            found = CallValue(None, Table.at, [table, self._tag(path), number])
            return self._known(number, found)
        if path in self.objects.listed:
            under = {at: self.made((*path, AT, k), self) for k, at in enumerate(self.objects.under[path])}
            return self._known(number, _read_again(self.objects.listed[path], under))
        conditions: list[tuple[CallValue, Value]] = []
        if path in self.objects.grown:
            before = self.objects.grown[path]
            conditions.append((CallValue(None, operator.eq, [number, before]), before))
        for code, value in self.objects.outside.get(path, ()):
            conditions.append((CallValue(None, operator.eq, [self._tag(path), ConstantValue(None, code)]), value))
        for other in self.objects.others.get(path, ()):
            is_same = CallValue(None, are_one, [self._tag(path), self._tag(other)])
            conditions.append((is_same, self.number(other)))
        for condition, value in conditions:
            found = EitherValue(None, condition, value, found)
        return self._known(number, found)

    def _known(self, number: Value, found: Value) -> Value:
        """The object that is `found`; what is known of the number stays known."""
        expr = as_scalar(number)
        if expr is None and isinstance(found, CallValue):
            return HeldNumber(None, found.function, found.args, number)
        if expr is None and isinstance(found, EitherValue) and found is not number:
            return replace(found, number=number)
        is_picked = isinstance(found, EitherValue | CallValue)
        return NumberValue(None, expr, found) if expr is not None and is_picked else found  # type: ignore[arg-type]

    def _tag(self, path: Path) -> Value:
        if path not in self.tags:
            self.tags[path] = self.result(self.objects.tags[path], int)
        return self.tags[path]


def _read_again(of: Value, behind: dict[NumberValue, Value]) -> Value:
    """An item of a list, by what its numbers are behind the loop."""
    if isinstance(of, CallValue) and of.function is operator.getitem:
        return CallValue(None, operator.getitem, [_read_again(arg, behind) for arg in of.args])
    return behind.get(of, of) if isinstance(of, NumberValue) else of


def _is_picked(value: Value) -> bool:
    """Whether a number is what max() or min() gives."""
    origin = value.origin if isinstance(value, NumberValue) and value.source is None else None
    return isinstance(origin, CallValue) and origin.function in (max, min)


def _is_long(value: Value) -> bool:
    """Whether a number is known to have more than one of CPython's digits."""
    number = as_scalar(value)
    return isinstance(number, int) and abs(number) >= 2**30


def _is_huge(number: Scalar) -> bool:
    return type(number) is int and not -(2**63) <= number < 2**63


def are_one(tag: int, other: int) -> bool:
    """Whether numbers with these tags are one object. NB: 0 is the tag of all that nobody else has."""
    return tag == other != 0


__all__ = ["AT", "TAG", "Behind", "Left", "Objects", "Path", "listed_under", "tell_apart"]
