"""Makes short choices between integers selections: both sides are computed, so that no jump is to be foreseen.

    if v1: v2 = right_shift(a, 1); else: v3 = add(a, 1);  v4 = v2 or v3
    ->  v2 = right_shift(a, 1); v3 = add(a, 1); if v1: v4 = v2 or v3

A choice without nodes is a selection. What goes before it reports nothing; where an integer of one side may not fit, it
is asked, seldom, whether that side counts. INVARIANT: loads, stores and calls stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_lite.dataclass import replace
from dynamo_lite.program.element_ops import BOOL
from dynamo_lite.program.ir import Decline, Element, If, Node, Note, Range, Routine, Value, inner

# Of integers, of one cycle or so, and how much each counts.
CHEAP = {
    **dict.fromkeys(("add", "subtract", "negative", "bitwise_and", "bitwise_or", "bitwise_xor", "right_shift"), 1),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not", "cast", "minimum", "maximum"), 1),
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), 1),
    **dict.fromkeys(("add_or_overflow", "subtract_or_overflow"), 1),
    **dict.fromkeys(("multiply", "multiply_or_overflow"), 2),
}
MOST = 4  # what both sides may take together: a jump that was foreseen wrongly takes some fifteen cycles


def flatten(routine: Routine) -> Routine:
    """The routine with such choices as selections."""
    return replace(routine, body=tuple(_Flattening().nodes(routine.body)))


class _Flattening:
    """count: of the values that are made here."""

    def __init__(self) -> None:
        self.count = 0

    def nodes(self, nodes: tuple[Node, ...]) -> Iterator[Node]:
        for node in nodes:
            if isinstance(node, If):
                node = replace(node, then=tuple(self.nodes(node.then)), orelse=tuple(self.nodes(node.orelse)))
                yield from self.choice(node)
            elif isinstance(node, Range):
                yield replace(node, body=tuple(self.nodes(node.body)))
            else:
                yield node

    def choice(self, node: If) -> Iterator[Node]:
        """The choice, or what it may be instead."""
        costs = [_cost(body) for body in inner(node)]
        if node.rare or not node.results or None in costs or not 0 < sum(filter(None, costs)) <= MOST:
            yield node
            return
        yield from self.side(node.then, node.condition)
        if any(isinstance(one, Decline | Note) for one in node.orelse):
            self.count += 1
            otherwise = Value(f"otherwise{self.count}", BOOL)
            yield Element("logical_not", (node.condition,), (otherwise,))
            yield from self.side(node.orelse, otherwise)
        else:
            yield from node.orelse
        yield replace(node, then=(), orelse=())

    def side(self, nodes: tuple[Node, ...], condition: Value) -> Iterator[Node]:
        """The nodes of a side that counts where the condition holds."""
        for node in nodes:
            if isinstance(node, Decline | Note):
                yield If(node.condition, (replace(node, condition=condition),), rare=True)
            else:
                yield node


def _cost(nodes: tuple[Node, ...]) -> int | None:
    """What the nodes take; None where they have to be jumped over."""
    total = 0
    overflows = {node.results[1] for node in nodes if isinstance(node, Element) and len(node.results) == 2}
    for node in nodes:
        if isinstance(node, Decline | Note):
            if node.condition not in overflows:
                return None
        elif isinstance(node, If) and not node.then and not node.orelse:
            total += len(node.results)
        elif isinstance(node, Element) and node.ufunc is None and node.op in CHEAP:
            values = (*node.operands, *node.results)
            if any(value.dtype.kind not in "iub" for value in values):
                return None
            known = any(value.number is not None for value in node.operands)
            if node.op.startswith("multiply") and not known:
                return None
            total += CHEAP[node.op]
        else:
            return None
    return total
