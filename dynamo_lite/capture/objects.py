"""Which object a number is behind a loop: one that it computed, or the very one from before it.

Enters: the numbers that a loop of the segment itself carries, by what they are before it and after an iteration.
Leaves: for those that may end as they began another carried number, whether an iteration has put anything in their
place, so that residual code hands on the one object or makes the other. Numbers that iterations took from the index
are one object where they are equal. Others of which nobody can tell are refused:

    for i in range(n):             %cond, y0 = cond(c): then returns add(n0, 1), else returns n0
        if c: k += 1          ->   %cond, y0, y1 = cond(c): then returns add(n0, 1), True, else returns n0, False
                                   n1 = or(n1, y1);  k is y0 as an int where n1 holds, else what it was

INVARIANT: a number that leaves is the object that Python's would be, as `is` can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, NoReturn, Protocol, TypeAlias

from dynamo_lite.capture.region import MAX_YIELDS
from dynamo_lite.capture.state import Region, Tracer
from dynamo_lite.capture.value import CallValue, EitherValue, ResultValue, Value
from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, is_symbolic, kind_of, make, symbols_of
from dynamo_lite.graph.types import number_type

IS_SET = "is set"  # ends the path of a bool: whether the number at the rest of it is another object than before

Path: TypeAlias = tuple[Any, ...]  # a name, and places in tuples


class Numbers(Protocol):
    """The numbers that a loop carries: before it, after an iteration, and that as the value which names hold."""

    begins: dict[Path, Scalar]
    next: dict[Path, Scalar]
    held: dict[Path, Value]


def tell_apart(
    tracer: Tracer,
    region: Region,
    paths: list[Path],
    finals: dict[Path, Scalar],
    numbers: Numbers,
    inside: set[str],
    refuse: Callable[[str, str], NoReturn],
) -> list[Path]:
    """See which object each number is behind the loop of `region`; what that takes is carried from now on.

    finals: the numbers behind the loop that are known without the iterations before the last one. inside: the names of
    numbers that are others in every iteration. refuse: told of numbers that may be objects which Python knows already,
    or one and the same object, where nobody can tell. Returns what may be one object with the index, or with each
    other: two of them are if they are equal.
    """
    known: set[str] = set()
    before = {one for one in region.before if isinstance(one, ScalarOp)}
    computed: set[Scalar] = set()  # what the others are computed as, or may be
    taken: set[Scalar] = set()  # what they may be by a choice or an inner loop
    alike = [path for path, value in finals.items() if value == region.index]
    named: dict[Value, list[Path]] = {}
    for path in paths:
        named.setdefault(numbers.held[path], []).append(path)
    for path, *more in named.values():
        names: set[str] = set()
        value = numbers.next[path]
        others = tracer.objects(value) - {value}
        found = tracer.may_be(value, names)
        ends = _Ends(tracer, region.numbers[path], region.index)
        begin = tracer.objects(numbers.begins[path])
        is_told = not begin
        if (found or not begin.isdisjoint(others)) and found == tracer.may_be(numbers.begins[path]) and not more:
            is_set = ends.is_set(region.graph, value)
            if is_set is not None:
                found = set()
                others -= begin
                flag = (*path, IS_SET)
                numbers.begins[flag] = False
                numbers.next[flag] = make("or", tracer.carry_number(region, flag, "bool"), is_set)
                is_told = True
        if found or not before.isdisjoint(others) or not inside & symbols_of(value):
            refuse("loop-number-identity", f"{path[0]}, which may end as a number that was there before")
        if is_told and region.index.name in names and ends.takes_index_only(region.graph, value):
            names.discard(region.index.name)
            others.discard(region.index)
            alike.append(path)
        is_shared = not (known.isdisjoint(names) and computed.isdisjoint(others) and value not in taken)
        # The index of an inner loop is behind that the number which its bounds say.
        inner = (names & tracer.indices) - {region.index.name}
        if is_shared or (inner and any(isinstance(final, ScalarOp) for final in finals.values())):
            refuse("loop-number-identity", f"{path[0]}, which may end as the same number as another variable")
        known |= names
        taken |= others
        computed |= {value, *others}
    if region.index.name in known and alike:
        refuse("loop-number-identity", f"{alike[0][0]}, which may end as the same number as another variable")
    return alike


@dataclass(frozen=True, slots=True)
class _IsSet:
    """Whether a number is another object: where `here` holds, or what `around` says, a number of the graph that holds
    `depth` graphs, itself counted."""

    here: Scalar
    around: Scalar = False
    depth: int = 0


@dataclass(eq=False, slots=True)
class _Ends:
    """What a carried number, `own` in the body, may be after an iteration, the one of that index."""

    tracer: Tracer
    own: Symbol
    index: Symbol
    known: dict[tuple[int, str], _IsSet | None] = field(default_factory=dict)  # by graph and name

    def takes_index_only(self, graph: Graph, value: Scalar) -> bool:
        """Whether `value`, a number of `graph`, is either the carried number or the index."""
        if not isinstance(value, Symbol):
            return False
        if value.name in (self.own.name, self.index.name):
            return True
        node, place = _yielding(graph, value)
        if node is None or node.kind is not NodeKind.COND:
            return False
        return all(self.takes_index_only(body, body.outputs[place]) for body in node.regions)

    def is_set(self, graph: Graph, value: Scalar) -> Scalar | None:
        """Whether `value`, a number of the body `graph`, is another object than the carried number: a number of that
        graph. None if nobody can tell."""
        found = self._is_set((graph,), value)
        return None if found is None else found.here

    def _is_set(self, graphs: tuple[Graph, ...], value: Scalar) -> _IsSet | None:
        """The same of a number of the last of some graphs, each of which holds the next."""
        if not isinstance(value, Symbol):
            picks = isinstance(value, ScalarOp) and value.op in ("max", "min")  # the one or the other, as it is
            return None if picks or not is_symbolic(value) else _IsSet(True)
        if value.name in (self.own.name, self.index.name):
            return _IsSet(value.name == self.index.name)
        key = (id(graphs[-1]), value.name)
        if key not in self.known:
            self.known[key] = self._of_yield(graphs, value)
        return self.known[key]

    def _of_yield(self, graphs: tuple[Graph, ...], value: Symbol) -> _IsSet | None:
        node, place = _yielding(graphs[-1], value)
        if node is None:
            around = self._is_set(graphs[:-1], value) if len(graphs) > 1 else None
            if around is None or around.around is not False:
                return None
            return _IsSet(around.here) if isinstance(around.here, bool) else _IsSet(False, around.here, len(graphs) - 1)
        if node.kind is NodeKind.COND:
            return self._of_choice(graphs, node, place)
        return _IsSet(True) if node.kind is NodeKind.CALL else self._of_loop(graphs, node, place)

    def _of_choice(self, graphs: tuple[Graph, ...], node: Node, place: int) -> _IsSet | None:
        ends: list[_IsSet] = []
        for body in node.regions:
            end = self._is_set((*graphs, body), body.outputs[place])
            if end is None:
                return None
            ends.append(end)
        first, second = ends
        # What is known around the choice holds on either way, unless it is set there in any case.
        if first.here is not True and second.here is not True and first.around != second.around:
            return None
        around, depth = (second.around, second.depth) if first.here is True else (first.around, first.depth)
        here = first.here
        if first.here != second.here or not isinstance(here, bool):
            if len(node.params["yields"]) == MAX_YIELDS:
                return None
            for body, end in zip(node.regions, ends, strict=True):
                body.outputs.append(end.here)
            here = self._yield(graphs[-1], node)
        return _IsSet(make("or", here, around)) if depth == len(graphs) else _IsSet(here, around, depth)

    def _of_loop(self, graphs: tuple[Graph, ...], node: Node, place: int) -> _IsSet | None:
        """The same of what an inner loop carries: it may have been set before that, or by an iteration of it."""
        (body,) = node.regions
        begin, last = node.args[place], len(body.outputs) - bool(node.params.get("while"))
        inner, index, end = body.inputs[place], body.inputs[0], body.outputs[last + place]
        assert isinstance(inner, Symbol) and isinstance(index, Symbol)
        first = self._is_set(graphs, begin)  # type: ignore[arg-type]
        later = _Ends(self.tracer, inner, index).is_set(body, end)
        if first is None or later is None or node.params["numbers"] == MAX_YIELDS:
            return None
        if later is False:
            return first
        (name,) = self.tracer.yield_names(1)
        flag = Symbol(name, "bool", len(body.inputs))
        body.symbols[name] = flag
        body.inputs.append(flag)
        body.outputs.insert(last, make("or", flag, later))
        node.args = (*node.args, first.here)
        return replace(first, here=self._yield(graphs[-1], node))

    def _yield(self, graph: Graph, node: Node) -> Symbol:
        """The number that `node` yields as its last one, a bool that has just been added to its bodies."""
        (name,) = self.tracer.yield_names(1)
        symbol = graph.add_yield(name, "bool")
        yields = (*node.params["yields"], symbol)
        node.params = {**node.params, "numbers": len(yields), "yields": yields}
        assert isinstance(node.type, tuple)
        node.type = (*node.type, number_type(symbol))
        return symbol


def _yielding(graph: Graph, value: Symbol) -> tuple[Node | None, int]:
    """The node of `graph` that yields a number, and at which place, counted from the last of them."""
    for node in graph.nodes:
        names = [symbol.name for symbol in node.params.get("yields", ())]
        if value.name in names:
            return node, names.index(value.name) - len(names)
    return None, 0


@dataclass(eq=False, slots=True)
class Behind:
    """The numbers that a loop carries as they are behind it, or where it is left between two iterations.

    places: of what the loop hands out, by path; results: the nodes of these. alike: what tell_apart() returned. index:
    that of the last iteration.
    """

    numbers: Numbers
    places: dict[Path, int]
    results: dict[int, Node]
    alike: list[Path]
    index: Value | None
    known: dict[Value, Value] = field(default_factory=dict)  # by what the names hold that hold it
    made: dict[Value, Value] = field(default_factory=dict)  # if it is another one than before the loop

    def number(self, path: Path, before: Value | None) -> Value:
        """The number at `path`; `before` itself where no iteration put another there."""
        held = self.numbers.held[path]
        if held not in self.known:
            number = self.known[held] = self._made(path)
            flag = (*path, IS_SET)
            if flag in self.places and before is not None:
                is_set = ResultValue(None, self.results[self.places[flag]], bool)
                self.known[held] = EitherValue(None, is_set, number, before)
        return self.known[held]

    def _made(self, path: Path) -> Value:
        """The number that an iteration computed, or took from the index."""
        held = self.numbers.held[path]
        if held not in self.made:
            kind = {"int": int, "float": float, "bool": bool}[kind_of(self.numbers.next[path])]
            number = self.made[held] = ResultValue(None, self.results[self.places[path]], kind)
            place = next((k for k, other in enumerate(self.alike) if self.numbers.held.get(other) is held), 0)
            earlier = self.alike[:place]
            if earlier:
                others = [self._made(other) if other in self.numbers.held else self.index for other in earlier]
                self.made[held] = CallValue(None, one_of_equals, [number, *(other for other in others if other)])
        return self.made[held]


def one_of_equals(number: int, *others: int) -> int:
    """What residual code takes for a number which is one object with any of the others that it is equal to."""
    return next((other for other in others if other == number), number)


__all__ = ["Behind", "Path", "tell_apart"]
