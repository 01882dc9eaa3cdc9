"""Computes a value at shifted positions again where that costs less than to keep it in memory.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %f = multiply(%a, %b); %d = subtract(%f[1:], %f[:-1])
      ->  %f1 = multiply(%a[1:], %b[1:]); %f2 = multiply(%a[:-1], %b[:-1]); %d = subtract(%f1, %f2)

Then nothing goes through memory between the two, and one kernel computes all.

INVARIANT: each element is computed at least once where that may report an error; each value is computed where it stood,
so that it reads what was in memory then; and nobody sees the value itself, whose order of axes its parts share.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind, elementwise_of
from dynamo_lite.graph.rewrite import replace_uses, users
from dynamo_lite.graph.scalar import Dim, Scalar, make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.functionalise import looks_at_layout
from dynamo_lite.ops.registry import may_report

MOST_VIEWS = 4  # of one value
MOST_AGAIN = 11  # operations that are done once more for each element, about
_SLOW = {"divide": 8, "sqrt": 8, "floor_divide": 16, "remainder": 16, "power": 30, "hypot": 16}  # others count as one

Part: TypeAlias = tuple[tuple[Scalar, Scalar], ...]  # where it begins and ends, along each axis


def shift(graph: Graph) -> None:
    """Replace views of elementwise values by the values of views."""
    wanted = _Wanted(graph)
    if not wanted.views:
        return
    nodes, graph.nodes = graph.nodes, []
    replaced: dict[Node, Node] = {}
    for node in nodes:
        for part in wanted.parts.get(node, ()):
            wanted.make_part(node, part)
        if node in wanted.views:
            replaced[node] = wanted.made[wanted.views[node]]
        elif node not in wanted.parts:
            graph.nodes.append(node)
    replace_uses(graph, replaced)


class _Wanted:
    """The views that are replaced, and of which parts each value is computed."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.uses = users(graph)
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.views: dict[Node, tuple[Node, Part]] = {}  # and what each is a part of
        self.parts: dict[Node, dict[Part, None]] = {}
        self.made: dict[tuple[Node, Part], Node] = {}
        self.chains: dict[Node, dict[Node, None]] = {}
        for node in graph.nodes:
            if self.is_value(node):
                views = self.views_of(node)
                borders = self.borders(node, [part for _, part in views.values()]) if views else None
                if borders is not None:
                    self.views |= views
                    for part in (*(part for _, part in views.values()), *borders):
                        self.want(node, part)

    # Which views

    def is_value(self, node: Node) -> bool:
        """Whether a node is elementwise, its bits hang on its operands' alone, and nobody sees it."""
        if node.kind is not NodeKind.CALL or REGISTRY[node.op].kind is not OpKind.ELEMENTWISE:
            return False
        if not isinstance(node.type, ArrayType) or node.type.scalar or not node.type.shape or node in self.outputs:
            return False
        is_plain = elementwise_of(node).name == node.op and node.params.get("order", "K") == "K"
        return is_plain and "where" not in node.params and node.type.dtype.kind in "biuf" and not looks_at_layout(node)

    def views_of(self, node: Node) -> dict[Node, tuple[Node, Part]]:
        """The views that are all there is of a value, if they are to be replaced."""
        views = [use for use in dict.fromkeys(self.uses[node]) if use.op == "basic_index"]
        if not 2 <= len(views) <= MOST_VIEWS or any(use not in views for use in self.uses[node]):
            return {}
        found: dict[Node, tuple[Node, Part]] = {}
        for view in views:
            part = self.part_of(view)
            if part is None or not self.is_unseen(view):
                return {}
            found[view] = node, part
        parts = {part for _, part in found.values()}
        return found if self.count(node) * (len(parts) - 1) <= MOST_AGAIN else {}

    def is_unseen(self, view: Node) -> bool:
        """Whether a view has more than one element along each axis, and only elementwise code and stores read it, for
        which it does not matter how it lies."""
        if view in self.outputs or view.array_type.scalar:
            return False
        single = (self.graph.facts.decide(make("eq", size, 1)) is not False for size in view.array_type.shape)
        return not any(single) and all(self.reads(use, view) for use in self.uses[view])

    def reads(self, user: Node, view: Node) -> bool:
        if user.kind is NodeKind.STORE:
            return user.args[0] is not view
        if user.kind is not NodeKind.CALL or REGISTRY[user.op].kind is not OpKind.ELEMENTWISE:
            return False
        return elementwise_of(user).name == user.op and not looks_at_layout(user)

    def part_of(self, view: Node) -> Part | None:
        """Which part of its operand a view shows; None where that is not one stretch along each axis."""
        (base,), index = view.args, view.params["index"]
        assert isinstance(base, Node)
        shape = base.array_type.shape
        if len(index) != len(shape) or view.array_type.ndim != len(shape):
            return None
        found: list[tuple[Scalar, Scalar]] = []
        for entry, size in zip(index, shape, strict=True):
            if type(entry) is not tuple or entry[2] not in (None, 1):
                return None
            low, high = self.place(entry[0], size, 0), self.place(entry[1], size, size)
            if low is None or high is None:
                return None
            found.append((low, high))
        return tuple(found)

    def place(self, bound: Any, size: Dim, missing: Scalar) -> Scalar | None:
        """Where a bound of a slice stands, counted from the begin; None where that is not known."""
        if bound is None:
            return missing
        if type(bound) is int and bound < 0:
            bound = make("add", size, bound)
        inside = make("ge", bound, 0), make("le", bound, size)
        return bound if all(self.graph.facts.decide(one) is True for one in inside) else None

    # What they cost, and whether they are all

    def chain(self, node: Node) -> dict[Node, None]:
        """A value and the values that are computed for it alone; of more than may be computed again, some."""
        if node not in self.chains:
            found = self.chains[node] = {node: None}
            grows = True
            while grows and len(found) <= MOST_AGAIN:
                operands = [arg for one in found for arg in one.args if isinstance(arg, Node) and arg not in found]
                own = [arg for arg in operands if self.is_value(arg) and all(use in found for use in self.uses[arg])]
                found |= dict.fromkeys(own)
                grows = bool(own)
        return self.chains[node]

    def behind(self, node: Node) -> list[Node]:
        """The values of which a chain reads views that are replaced."""
        args = dict.fromkeys(arg for one in self.chain(node) for arg in one.args if isinstance(arg, Node))
        return [self.views[arg][0] for arg in args if arg in self.views]

    def count(self, node: Node) -> int:
        """The operations that an element of a value takes."""
        own = sum(_SLOW.get(one.op, 1) for one in self.chain(node))
        return own + sum(map(self.count, self.behind(node)))

    def reports(self, node: Node) -> bool:
        """Whether a value, or what is computed for it alone, may report an error."""
        return any(map(may_report, self.chain(node))) or any(map(self.reports, self.behind(node)))

    def borders(self, node: Node, parts: list[Part]) -> list[Part] | None:
        """What no part of a value has, and is computed for the errors that it may report; None where that is more than
        the borders of an array. Without them parts meet, end to end along one axis and alike along the others."""
        if not self.reports(node):
            return []
        facts, shape = self.graph.facts, node.array_type.shape
        box: list[tuple[Scalar, Scalar]] = []
        for axis in range(len(shape)):
            low = _least(facts, [part[axis][0] for part in parts], "le")
            high = _least(facts, [part[axis][1] for part in parts], "ge")
            if low is None or high is None:
                return None
            box.append((low, high))
        for axis in range(len(shape)):
            others = [other for other in range(len(shape)) if other != axis]
            alike = [part[axis] for part in parts if all(part[other] == box[other] for other in others)]
            if _meet(facts, alike, *box[axis]):
                return _around(box, shape)
        return None

    # The parts

    def want(self, node: Node, part: Part, chain: dict[Node, None] | None = None) -> None:
        """Have a part of a value computed, and the parts of what is computed for it alone."""
        chain = self.chain(node) if chain is None else chain
        if part in self.parts.setdefault(node, {}):
            return
        self.parts[node][part] = None
        for arg in node.args:
            if isinstance(arg, Node) and (arg in chain or arg in self.views):
                base, own = self.resolve(arg, _of_operand(arg, part))
                self.want(base, own, chain if arg in chain else None)

    def resolve(self, arg: Node, part: Part) -> tuple[Node, Part]:
        """A part of an array as a part of what that is a view of."""
        while arg.op == "basic_index" and arg.kind is NodeKind.CALL and (of := self.part_of(arg)) is not None:
            part = tuple((make("add", low, a), make("add", low, b)) for (low, _), (a, b) in zip(of, part, strict=True))
            (arg,) = arg.args  # type: ignore[assignment]
        return arg, part

    def make_part(self, node: Node, part: Part) -> None:
        """Compute a part of a value of parts of its operands."""
        args = tuple(self.part_for(arg, part, node) if isinstance(arg, Node) else arg for arg in node.args)
        type_ = ArrayType(node.array_type.dtype, _shape(part))
        self.made[node, part] = self.graph.add_call(node.op, args, node.params, type_, node.location)

    def part_for(self, arg: Node, part: Part, node: Node) -> Argument:
        if not arg.array_type.shape:
            return arg
        own = _of_operand(arg, part)
        if arg not in self.views and own == _whole(arg):
            return self.made.get((arg, own), arg)
        base, own = self.resolve(arg, own)
        if (base, own) not in self.made:
            index = tuple(_slice(*stretch, size) for stretch, size in zip(own, base.array_type.shape, strict=True))
            type_ = ArrayType(arg.array_type.dtype, _shape(own))
            params = {"index": index, "scalar": False}
            self.made[base, own] = self.graph.add_call("basic_index", (base,), params, type_, node.location)
        return self.made[base, own]


def _shape(part: Part) -> tuple[Dim, ...]:
    return tuple(make("sub", high, low) for low, high in part)  # type: ignore[misc]


def _whole(node: Node) -> Part:
    return tuple((0, size) for size in node.array_type.shape)


def _of_operand(arg: Node, part: Part) -> Part:
    """The part of an operand that a part of the result is made of; an axis of one element is there for all."""
    shape = arg.array_type.shape
    behind = part[len(part) - len(shape) :]
    return tuple((0, 1) if size == 1 else stretch for size, stretch in zip(shape, behind, strict=True))


def _slice(low: Scalar, high: Scalar, size: Dim) -> tuple[Any, Any, None]:
    behind = make("sub", size, high)
    stop = None if behind == 0 else -behind if type(behind) is int and behind > 0 else high
    return (None if low == 0 else low, stop, None)


def _least(facts: Facts, places: list[Scalar], relation: str) -> Scalar | None:
    """The place that stands in this relation to all, if one is known to."""
    return next(
        (one for one in places if all(facts.decide(make(relation, one, other)) is True for other in places)), None
    )


def _around(box: list[tuple[Scalar, Scalar]], shape: tuple[Dim, ...]) -> list[Part]:
    """The parts of an array around a box in it."""
    found: list[Part] = []
    for axis, ((low, high), size) in enumerate(zip(box, shape, strict=True)):
        for stretch in ((0, low), (high, size)):
            if stretch[0] != stretch[1]:
                rest = [(0, size) for size in shape[axis + 1 :]]
                found.append((*box[:axis], stretch, *rest))
    return found


def _meet(facts: Facts, stretches: list[tuple[Scalar, Scalar]], begin: Scalar, end: Scalar) -> bool:
    """Whether stretches reach from the begin to the end."""
    reached = begin
    while facts.decide(make("eq", reached, end)) is not True:
        at = next((one for one in stretches if facts.decide(make("le", one[0], reached)) is True), None)
        if at is None:
            return False
        stretches.remove(at)
        if facts.decide(make("ge", at[1], reached)) is True:
            reached = at[1]
    return True
