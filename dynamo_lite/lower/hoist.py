"""Takes out of loops what no iteration changes and what takes long.

Enters a graph that this pass may change; leaves one in which such a value is computed once, before the loop, and goes
into the body:

    loop over %u, %k: %exp = exp(%k); %u = multiply(%exp, %u)  ->  %exp = exp(%k); loop over %u, %exp: ...

What kernels compute on the way costs less than to read it from memory, and stays. INVARIANT: where something is to be
reported the program declines, so that it does not matter that the value is computed earlier, and for no iteration too.
What the body writes or hands out, one new object an iteration, stays as well, and so does all of a body that changes
what is reported. Of no iteration the program declines if a value may report something, as far as that is known where
the outermost loop begins: there plain Python computes nothing of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpError, OpKind, Undecided, elementwise_of, is_exact_view
from dynamo_lite.graph.rewrite import (
    is_view,
    loop_parts,
    map_scalars,
    may_hand_out,
    origins,
    rename_symbols,
    root,
    same_type,
    users,
    written,
    written_by,
)
from dynamo_lite.graph.scalar import Scalar, Symbol, make, renamed, substitute, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import may_report

# Memory that is filled with one number, if at all.
FILLED = frozenset(("empty", "empty_bordered", "empty_like", "full", "full_like", "require_order", "zeros"))
# On real numbers kernels compute these in a few cycles.
# fmt: off
CHEAP = frozenset((
    "absolute", "add", "astype", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "clip", "conjugate", "copy",
    "copysign", "divide", "equal", "fabs", "floor", "greater", "greater_equal", "imag", "invert", "isfinite",
    "isinf", "isnan", "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "negative", "not_equal", "positive", "real", "reciprocal", "right_shift",
    "rint", "sign", "signbit", "sqrt", "square", "subtract", "trunc", "where",
))
# fmt: on


def hoist(graph: Graph, *, outermost: bool = True) -> None:
    """Move values that do not change out of the loops of `graph`, from the innermost on."""
    before, graph.nodes = graph.nodes, []
    for node in before:
        for region in node.regions:
            hoist(region, outermost=False)
        if node.kind is NodeKind.LOOP and (made := _Hoist(graph, node).run()):
            if outermost and any(one.kind is NodeKind.CALL and may_report(one) for one in made):
                _require_an_iteration(graph, node)
            graph.nodes += made
        graph.nodes.append(node)


def _require_an_iteration(graph: Graph, loop: Node) -> None:
    """Decline where `loop` has no iteration. Of an inner loop this may happen in each iteration of the outer one."""
    (start, stop, step), *_ = loop_parts(loop)
    for sign, condition in (
        (make("gt", step, 0), make("lt", start, stop)),
        (make("lt", step, 0), make("gt", start, stop)),
    ):
        if graph.facts.decide(sign) and not graph.facts.decide(condition):
            graph.add_call("require", (condition,), {}, ArrayType(np.dtype(bool), (), True))


def _is_costly(node: Node) -> bool:
    """Whether it takes longer to compute `node` than to read it."""
    if node.kind is not NodeKind.CALL:
        return False
    kind = REGISTRY[node.op].kind
    if kind is OpKind.CREATION:
        return node.op not in FILLED
    if kind is OpKind.ELEMENTWISE:
        is_complex = any(isinstance(arg, Node) and arg.array_type.dtype.kind == "c" for arg in node.args)
        return not node.array_type.scalar and (is_complex or elementwise_of(node).name not in CHEAP)
    return kind in (OpKind.REDUCTION, OpKind.CALL)


def _is_pure(node: Node) -> bool:
    """Whether `node` is a function of its operands and nothing else."""
    if node.kind is not NodeKind.CALL or not isinstance(node.type, ArrayType) or "yields" in node.params:
        return False
    op = REGISTRY[node.op]
    if op.kind is OpKind.VIEW:
        return is_exact_view(node)
    if op.kind is OpKind.CREATION:
        return not op.name.startswith("empty")
    return not op.in_place and (op.kind is not OpKind.CALL or op.ufunc is not None)


def _changes_reports(graph: Graph) -> bool:
    """Whether a body changes which floating-point errors are reported."""
    return any(
        node.op == "error_state" or any(_changes_reports(region) for region in node.regions) for node in graph.nodes
    )


class _Hoist:
    """One loop: what of its body does not change, and what of that is made before it."""

    def __init__(self, graph: Graph, loop: Node) -> None:
        self.graph, self.loop = graph, loop
        _, self.initial, captured, self.body = loop_parts(loop)
        self.outer: tuple[Argument, ...] = (0, *self.initial, *captured)  # by the place of the body's input
        self.own = loop.params.get("numbers", 0)
        fixed = self.body.inputs[1 : len(self.outer) - self.own]
        self.numbers: dict[str, Scalar] = {
            value.name: self.outer[value.input]  # type: ignore[misc]
            for value in fixed
            if isinstance(value, Symbol)
        }
        self.made: dict[Node, Node] = {}  # a value of the body -> the same before the loop, in program order

    def run(self) -> list[Node]:
        """What stands before the loop now."""
        if _changes_reports(self.body):
            return []
        fixed = self._fixed()
        if not any(map(_is_costly, fixed)):
            return []
        uses = users(self.body)
        taken: dict[Node, None] = {}
        for node in fixed:
            goes = _is_costly(node) or self._continues(node, taken)
            if goes and self._may_go(node) and self._remade(node) is not None:
                taken[node] = None
        edge = [node for node in taken if any(user not in taken for user in uses[node])]
        if not edge:
            return []
        wanted = self._wanted(edge)
        self._hand_in(edge)
        self._drop(wanted)
        return [one for one in self.made.values() if one in wanted]

    def _fixed(self) -> dict[Node, None]:
        """The nodes of the body that are the same in each iteration."""
        changed = written(self.loop)
        stored = written_by(self.body.nodes)
        fixed: dict[Node, None] = {}
        for node in self.body.nodes:
            if node.kind is NodeKind.INPUT:
                place = node.params["index"]
                outer = self.outer[place]
                assert isinstance(outer, Node)
                if place > len(self.initial) and origins(outer).isdisjoint(changed):
                    fixed[node] = None
            else:
                is_fixed = _is_pure(node) and node not in stored and self._is_fixed(node, fixed)
                if is_fixed or node.kind is NodeKind.CONSTANT:
                    fixed[node] = None
        return fixed

    def _is_fixed(self, node: Node, fixed: dict[Node, None]) -> bool:
        names: set[str] = set()
        scalars = [arg for arg in node.args if not isinstance(arg, Node)]
        map_scalars((*scalars, *node.params.values(), node.array_type.shape), lambda one: names.update(symbols_of(one)))
        return names <= self.numbers.keys() and all(arg in fixed for arg in node.args if isinstance(arg, Node))

    def _may_go(self, node: Node) -> bool:
        """Whether nobody can tell that `node` is one object for all iterations."""
        shown = [one for one in self.body.nodes if one is node or (is_view(one) and root(one) is node)]
        return not any(may_hand_out(self.body.nodes, self.body.outputs, one) for one in shown)

    def _continues(self, node: Node, taken: dict[Node, None]) -> bool:
        """Whether `node` is elementwise over what is made before the loop, and no larger."""
        if node.kind is not NodeKind.CALL or REGISTRY[node.op].kind is not OpKind.ELEMENTWISE:
            return False
        shapes = [arg.array_type.shape for arg in node.args if isinstance(arg, Node) and arg in taken]
        return node.array_type.shape in shapes

    def _remade(self, node: Node) -> Node | None:
        """`node` before the loop; None where its type rests on what is only known inside."""
        if node.kind is NodeKind.INPUT:
            outer = self.outer[node.params["index"]]
            assert isinstance(outer, Node)
            return outer
        if node in self.made:
            return self.made[node]
        args: list[Argument] = []
        for arg in node.args:
            remade = self._remade(arg) if isinstance(arg, Node) else substitute(arg, self.numbers)
            if remade is None:
                return None
            args.append(remade)
        params = {key: map_scalars(value, self._outside) for key, value in node.params.items()}
        old = node.array_type
        type_ = ArrayType(old.dtype, map_scalars(old.shape, self._outside), old.scalar)
        if node.kind is NodeKind.CALL and not self._is_sound(node.op, tuple(args), params, type_):
            return None
        name = self.graph._name(node.op)
        self.made[node] = Node(node.kind, node.op, tuple(args), params, type_, name, node.location)
        return self.made[node]

    def _outside(self, value: Scalar) -> Scalar:
        return substitute(value, self.numbers)

    def _is_sound(self, op: str, args: tuple[Argument, ...], params: dict[str, Any], type_: ArrayType) -> bool:
        def relate(condition: Scalar) -> bool:
            truth = self.graph.facts.decide(condition)
            if truth is None:
                raise Undecided(condition)
            return truth

        try:
            return same_type(self.graph, REGISTRY[op].infer(args, params, relate), type_)
        except OpError:
            return False

    def _hand_in(self, edge: list[Node]) -> None:
        """Let the body take these values from outside, before the numbers that it hands on."""
        place = len(self.outer) - self.own
        inputs = []
        for number, node in enumerate(edge):
            stand_in = Node(
                NodeKind.INPUT, "input", (), {"index": place + number}, node.array_type, self.body._name(node.name)
            )
            inputs.append(stand_in)
        mapping = dict(zip(edge, inputs, strict=True))
        for node in self.body.nodes:
            node.args = tuple(mapping.get(arg, arg) if isinstance(arg, Node) else arg for arg in node.args)
        moved = {
            value.name: Symbol(value.name, value.kind, value.input + len(edge))
            for value in self.body.inputs[place:]
            if isinstance(value, Symbol)
        }
        own = [moved[value.name] for value in self.body.inputs[place:]]
        self.body.inputs = [*self.body.inputs[:place], *inputs, *own]
        self.body.nodes = [*inputs, *self.body.nodes]
        if moved:
            self.body.symbols = self.body.symbols | moved
            rename_symbols(self.body, self.body.symbols)
            facts, self.body.facts = self.body.facts, Facts()
            for fact in facts.learned:
                self.body.facts.learn(renamed(fact, self.body.symbols), True)
        first = 2 + place
        self.loop.args = (*self.loop.args[:first], *(self.made[node] for node in edge), *self.loop.args[first:])

    def _drop(self, wanted: set[Node]) -> None:
        """Take out of the body what nothing there reads any more, and what it reports is reported before the loop."""
        read: set[Argument] = set(self.body.outputs)
        kept: list[Node] = []
        for node in reversed(self.body.nodes):
            if node in read or self.made.get(node) not in wanted:
                kept.append(node)
                read.update(node.args)
        self.body.nodes = kept[::-1]

    def _wanted(self, edge: list[Node]) -> set[Node]:
        wanted: set[Node] = set()
        pending: list[Argument] = [self.made[node] for node in edge]
        while pending:
            node = pending.pop()
            if isinstance(node, Node) and node not in wanted:
                wanted.add(node)
                pending += node.args
        return wanted
