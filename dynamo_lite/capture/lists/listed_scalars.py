"""NumPy scalars that a loop reads by number out of a list or tuple from outside: np.float64, np.int64, np.complex128.

Enters a position in a column (columns.py). Leaves a NumPy scalar, an element of that column, with which the program
computes as with one out of any array. INVARIANT: which object the list has is not known of it, so that it stays inside
of the program: where one may get out, as the value of a variable behind a loop or into a list, the list is known by
its items in the next attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dynamo_lite.capture.branches.sameness import is_read_later, reachable
from dynamo_lite.capture.calls import numpy_rules
from dynamo_lite.capture.machine import Machine
from dynamo_lite.capture.state import SkipFrame, Tracer
from dynamo_lite.capture.value import ArrayValue, NumberedValue
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import OpKind
from dynamo_lite.graph.scalar import Scalar
from dynamo_lite.graph.types import LIST
from dynamo_lite.ops.registry import REGISTRY

_Roots: TypeAlias = frozenset[NumberedValue]  # the lists of which a node may be an item
_NONE: _Roots = frozenset()


def read(machine: Machine, root: NumberedValue, column: ArrayValue, position: Scalar) -> ArrayValue:
    """The element of a column of `root` at a position."""
    element = numpy_rules.get_item(machine, column, machine.tracer.number(position))
    assert isinstance(element, ArrayValue)
    machine.tracer.list_scalars[element.node] = root
    return element


def check_inside(tracer: Tracer, stops: bool) -> None:
    """See that no loop of an attempt hands out an item of a list as a new object; stops: it has ended at a break."""
    if tracer.list_scalars:
        items = _Items(tracer).of_graph(tracer.root, True)
        for root in items.out | (items.kept() if stops else set()):
            root.give_up()


def check_outputs(tracer: Tracer) -> None:
    """The same for a complete graph, with which it is too late for another attempt."""
    if tracer.list_scalars and _Items(tracer).of_graph(tracer.root, False).out:
        raise SkipFrame("loop-number-identity", "an item of a list")


class _Items:
    """Which nodes may be items of lists."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.of: dict[Node, _Roots] = {}
        self.results: dict[Node, list[_Roots]] = {}  # of loops and choices
        self.out: set[NumberedValue] = set()  # lists of which an item gets out
        self.of_arrays = frozenset(tracer.array_columns.values())  # whose arrays no loop or choice hands out

    def of_graph(self, graph: Graph, is_begun: bool) -> _Items:
        """Look at a segment's graph; is_begun: its outputs are not known yet."""
        for node in self._body(graph):
            if is_begun and node.kind is NodeKind.LOOP:
                self.out.update(*self.results[node])
        if not is_begun:
            self.out.update(*map(self._roots, graph.outputs))
        return self

    def kept(self) -> set[NumberedValue]:
        """The lists of which some frame may still read an array, where the segment ends."""
        if not self.of_arrays:
            return set()
        held = [one for one in reachable(self.tracer) if isinstance(one, ArrayValue)]
        found = [one for one in held if self.of.get(one.node, _NONE) & self.of_arrays]
        return {root for one in found if is_read_later(self.tracer, one) for root in self.of[one.node] & self.of_arrays}

    def _roots(self, arg: object) -> _Roots:
        return self.of.get(arg, _NONE) if isinstance(arg, Node) else _NONE

    def _body(self, graph: Graph) -> Sequence[Node]:
        for node in graph.nodes:
            if node.kind in (NodeKind.LOOP, NodeKind.COND):
                self._structured(node)
            elif node.op == "tuple_get" and node.args[0] in self.results:
                results = self.results[node.args[0]]
                place = node.params["index"]
                self.of[node] = results[place] if place < len(results) else _NONE
            elif node.kind is not NodeKind.INPUT:
                self._simple(node)
        return graph.nodes

    def _simple(self, node: Node) -> None:
        if node in self.tracer.list_scalars:
            self.of[node] = frozenset((self.tracer.list_scalars[node],))
            return
        roots = _NONE.union(*map(self._roots, node.args))
        if not roots:
            return
        if node.kind is NodeKind.CALL and REGISTRY[node.op].kind is OpKind.VIEW:
            self.of[node] = roots
        elif not _computes(node):
            self.out |= roots

    def _structured(self, node: Node) -> None:
        """A loop or a choice: what goes in, and round."""
        before = 3 if node.kind is NodeKind.LOOP else 1
        taken = node.args[before:]
        carried = node.params["carried"] if node.kind is NodeKind.LOOP else 0
        for body in node.regions:
            inputs = body.inputs[1:] if node.kind is NodeKind.LOOP else body.inputs
            for inside, outside in zip(inputs, taken, strict=False):
                if isinstance(inside, Node):
                    self.of[inside] = self._roots(outside)
        while True:
            for body in node.regions:
                self._body(body)
            ends = [list(map(self._roots, body.outputs)) for body in node.regions]
            results = [_NONE.union(*of_one) for of_one in zip(*ends, strict=False)]
            changed = False
            for place in range(carried):
                inside = node.regions[0].inputs[1 + place]
                assert isinstance(inside, Node)
                changed |= not results[place] <= self._roots(inside)
                self.of[inside] = results[place] = results[place] | self._roots(inside)
            if not changed:
                break
        self.results[node] = results
        self.out |= self.of_arrays & _NONE.union(*results)


def _computes(node: Node) -> bool:
    """Whether a node takes the numbers of its arguments, and none as an object."""
    if node.kind is NodeKind.STORE:
        return not node.params.get("listed")
    types = [node.type, *(arg.type for arg in node.args if isinstance(arg, Node))]
    return node.kind is NodeKind.CALL and LIST not in types


__all__ = ["check_inside", "check_outputs", "read"]
