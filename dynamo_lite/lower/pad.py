"""Keeps a value that is rolled in one array with borders, of which every roll is a view.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %roll = roll(%x, 1, axis=0); %add = add(%x, %roll)
      ->  %b = empty_bordered(%x); store(%b[1:], %x); store(%b[:1], %b[-1:]); %add = add(%x, %b[:-1])

Rolls of rolls are views of the same array; where one goes along two axes the corners are filled, too. Others than that
stay rolls, which decompose.py makes two stores. INVARIANT: nobody sees such a view: it is read by elementwise
operations, views and stores alone. NumPy lays out their results by the order of axes, and in that the array with
borders lies like its value, or the program declines (ops/borders.py).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.rewrite import is_structured, origins, replace_uses, users, written
from dynamo_lite.graph.scalar import make
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.lower.functionalise import Alike, looks_at_layout

WIDEST = 8  # border, in elements
WHOLE = (None, None, None)


def _axis(node: Node) -> Any:
    """The axis that a roll goes along; None: it goes through all elements of more axes than one."""
    return 0 if node.params["axis"] is None and node.array_type.ndim == 1 else node.params["axis"]


def pad(graph: Graph) -> Alike:
    """Turn rolls into views of arrays with borders. Returns whether a value has the order of axes of an array, since
    the program declines otherwise."""
    borders = _Borders(graph)
    if any(node.op == "roll" for node in graph.nodes):
        borders.run()
    return borders.are_alike


@dataclass(eq=False, slots=True)
class _Bordered:
    """A value, and how far it is rolled along each axis: the rolls with where each element comes from."""

    value: Node
    rolls: dict[Node, tuple[int, ...]] = field(default_factory=dict)

    def low(self, axis: int) -> int:
        return max(0, *(shifts[axis] for shifts in self.rolls.values()))

    def high(self, axis: int) -> int:
        return max(0, *(-shifts[axis] for shifts in self.rolls.values()))


class _Borders:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.uses = users(graph)
        self.outputs = {output for output in graph.outputs if isinstance(output, Node)}
        self.unseen: set[Node] = set()  # rolls that may be views
        self.orders: dict[Node, tuple[Node, ...] | None] = {}
        self.leaves = any(node.kind is NodeKind.LEAVE for node in graph.nodes)
        self.compared: dict[Node, Node] = {}  # arrays, and the one that each is found to lie like

    def run(self) -> None:
        for node in reversed(self.graph.nodes):
            if self.may_be_a_view(node):
                self.unseen.add(node)
        first = self.gather()
        nodes, self.graph.nodes = self.graph.nodes, []
        replaced: dict[Node, Argument] = {}
        views: dict[Node, Node] = {}
        for node in nodes:
            if node in first:
                views |= self.build(first[node], node)
            if node in views:
                replaced[node] = views[node]
            else:
                self.graph.nodes.append(node)
        replace_uses(self.graph, replaced)

    # Which rolls

    def may_be_a_view(self, node: Node) -> bool:
        """Whether nobody sees where the result of a roll lies, and its value's order of axes is known."""
        if node.op != "roll" or node.kind is not NodeKind.CALL:
            return False
        (x,) = node.args
        shift, axis = node.params["shift"], _axis(node)
        if not isinstance(x, Node) or x.array_type.scalar or axis is None or type(shift) is not int or not shift:
            return False
        dtype, shape = x.array_type.dtype, x.array_type.shape
        if 1 in shape and not _is_thin(shape):
            return False  # NumPy chooses the place of such an axis by how the operands lie
        if dtype.kind not in "biuf" or dtype.char == "e" or not self.reaches(x, axis, shift):
            return False
        return self.is_unseen(node) and self.order(x) is not None

    def reaches(self, x: Node, axis: int, shift: int) -> bool:
        """Whether a border is narrow, and no wider than the array."""
        size = x.array_type.shape[axis]
        return abs(shift) <= WIDEST and self.graph.facts.decide(make("ge", size, abs(shift))) is True

    def is_unseen(self, node: Node) -> bool:
        """Whether only such nodes use it that may as well read a view."""
        return bool(self.uses[node]) and node not in self.outputs and all(self.reads(u, node) for u in self.uses[node])

    def reads(self, user: Node, node: Node) -> bool:
        if user in self.unseen:
            return True
        if user.kind is NodeKind.STORE:
            return user.args[0] is not node
        if user.kind is not NodeKind.CALL:
            return False
        if user.op == "basic_index":
            return not user.array_type.scalar and None not in user.params["index"] and self.is_unseen(user)
        elementwise = REGISTRY[user.op].kind is OpKind.ELEMENTWISE and user.params.get("order", "K") == "K"
        return elementwise and not looks_at_layout(user)

    # How values lie

    def order(self, node: Node) -> tuple[Node, ...] | None:
        """The arrays that have to have one order of axes for `node` to have it, too; without any it is in C order. None
        where that is not known."""
        if node not in self.orders:
            self.orders[node] = self.find_order(node)
        return self.orders[node]

    def find_order(self, node: Node) -> tuple[Node, ...] | None:
        if node.kind is not NodeKind.CALL or node.type is None:
            return (node,)
        if node.op == "roll" and _axis(node) is None:
            return (node,)  # NB: in C order, however the operand lies
        if node.op in ("roll", "empty_like", "full_like"):
            operands: tuple[Argument, ...] = node.args[:1]
        elif node.op == "tuple_get" or REGISTRY[node.op].kind is OpKind.ELEMENTWISE:
            operands = node.args
        else:
            return (node,)
        if isinstance(operands[0], Node) and is_structured(operands[0]):
            return (node,)
        if node.params.get("order", "K") != "K":
            return None
        axes = len(self.shape(node))
        found: dict[Node, None] = {}
        for arg in operands:
            if not isinstance(arg, Node) or _is_thin(self.shape(arg)):
                continue
            order = self.order(arg)
            if len(self.shape(arg)) != axes or not order:
                return None
            found |= dict.fromkeys(order)
        return tuple(found) if found or _is_thin(self.shape(node)) else None

    def are_alike(self, value: Node, array: Node) -> bool:
        """Whether both are made of arrays that have one order of axes, which the program sees to wherever it ends."""
        if not self.compared or self.leaves:
            return False
        orders = self.order(value), self.order(array)
        return all(orders) and len({self.compared.get(one, one) for order in orders for one in order or ()}) == 1

    def shape(self, node: Node) -> tuple[object, ...]:
        type_ = node.type[0] if isinstance(node.type, tuple) else node.type
        assert type_ is not None
        return type_.shape

    # The arrays with borders

    def gather(self) -> dict[Node, _Bordered]:
        """What is rolled, by the first of its rolls: rolls of one value between which nobody writes into it."""
        first: dict[Node, _Bordered] = {}
        of_value: dict[Node, _Bordered] = {}
        of_roll: dict[Node, _Bordered] = {}
        for node in self.graph.nodes:
            changed = written(node)
            if changed:
                of_value = {x: one for x, one in of_value.items() if changed.isdisjoint(origins(x))}
            if node not in self.unseen:
                continue
            (x,) = node.args
            assert isinstance(x, Node)
            shifts = self.shifts(node, of_roll.get(x))
            if x in of_roll and all(self.reaches(x, axis, shift) for axis, shift in enumerate(shifts)):
                one = of_roll[x]
            else:
                shifts = self.shifts(node, None)
                known = of_value.get(x)
                if known is None:
                    known = first[node] = of_value[x] = _Bordered(x)
                one = known
            one.rolls[node] = shifts
            of_roll[node] = one
        return first

    def shifts(self, node: Node, inner: _Bordered | None) -> tuple[int, ...]:
        (x,) = node.args
        assert isinstance(x, Node)
        shifts = list(inner.rolls[x]) if inner is not None else [0] * node.array_type.ndim
        shifts[_axis(node)] += node.params["shift"]
        return tuple(shifts)

    def build(self, bordered: _Bordered, node: Node) -> dict[Node, Node]:
        """Make the array and fill it; the view that each roll becomes."""
        value, graph = bordered.value, self.graph
        type_ = node.array_type
        axes = range(type_.ndim)
        low, high = [bordered.low(axis) for axis in axes], [bordered.high(axis) for axis in axes]
        shape = tuple(make("add", size, low[axis] + high[axis]) for axis, size in enumerate(type_.shape))
        order = self.order(value) or ()
        unlike = tuple(dict.fromkeys(self.compared.get(array, array) for array in order))
        for array in (*order, *(one for one, like in self.compared.items() if like in unlike)):
            self.compared[array] = unlike[0]
        params = {"shape": shape, "dtype": type_.dtype}
        made = graph.add_call("empty_bordered", unlike, params, ArrayType(type_.dtype, shape), node.location)  # type: ignore[arg-type]

        def view(index: tuple[tuple[int | None, int | None, None], ...], sizes: tuple[object, ...]) -> Node:
            part = ArrayType(type_.dtype, sizes)  # type: ignore[arg-type]
            return graph.add_call("basic_index", (made,), {"index": index, "scalar": False}, part, node.location)

        def moved(shifts: tuple[int, ...]) -> Node:
            index = tuple(_between(low[axis] - shifts[axis], high[axis] + shifts[axis]) for axis in axes)
            shown = view(index, type_.shape)
            self.orders[shown] = order
            return shown

        graph.add_store(moved((0,) * len(axes)), value, node.location)
        corners = any(sum(map(bool, shifts)) > 1 for shifts in bordered.rolls.values())
        for axis in axes:
            index = [WHOLE if corners and other < axis else _between(low[other], high[other]) for other in axes]
            sizes = [shape[other] if corners and other < axis else type_.shape[other] for other in axes]

            def part(width: int, bounds: tuple[int | None, int | None, None], axis: int = axis) -> Node:
                one = (*index[:axis], bounds, *index[axis + 1 :])  # noqa: B023
                return view(one, (*sizes[:axis], width, *sizes[axis + 1 :]))  # noqa: B023

            if low[axis]:
                last = part(low[axis], (-low[axis] - high[axis], -high[axis] or None, None))
                graph.add_store(part(low[axis], (None, low[axis], None)), last, node.location)
            if high[axis]:
                start = part(high[axis], (low[axis] or None, low[axis] + high[axis], None))
                graph.add_store(part(high[axis], (-high[axis], None, None)), start, node.location)
        return {roll: moved(shifts) for roll, shifts in bordered.rolls.items()}


def _between(before: int, behind: int) -> tuple[int | None, int | None, None]:
    """All but so many elements before and behind."""
    return before or None, -behind or None, None


def _is_thin(shape: tuple[object, ...]) -> bool:
    return sum(dim != 1 for dim in shape) <= 1
