"""Takes apart sums of a few products, np.einsum of small matrices and many vectors: each product is an operation.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %e: float64[s0, 2] = einsum('ij,nj->ni', %m, %x, packed)
    ->  %a = multiply(%m[0, 0], %x[:, 0]); %b = multiply(%m[0, 1], %x[:, 1])
        %made = empty(); store(%made[:, 0], add(add(0.0, %a), %b)); ...

Operands of integers among those of floats are cast. INVARIANT: the operands lie packed in C order, and long axes have
two elements at least (arrays/short_axes.py). In what order NumPy adds the products hangs on the labels: by the loops
that it finds, one after the other, or in the lanes of a vector. It is tried out, once in a process for each form, on
arrays of several sizes; what nothing explains stays.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.rewrite import replace_uses
from dynamo_lite.graph.scalar import Dim
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.calls import labels_of
from dynamo_lite.ops.registry import infer
from dynamo_lite.ops.samples import Samples

Array: TypeAlias = np.ndarray[Any, Any]
Sum: TypeAlias = "int | tuple[Sum, Sum]"  # the number of a product, or two sums that are added
WHOLE = (None, None, None)
_LONG = ((2, 3, 2), (3, 5, 4), (17, 2, 3), (9, 33, 2), (3000, 2, 2))  # sizes of long axes to try


def products(graph: Graph) -> None:
    """Rewrite each einsum that capture has found to be one of few products."""
    nodes, graph.nodes = graph.nodes, []
    replaced: dict[Node, Node] = {}
    for node in nodes:
        made = _Products(graph, node).made() if _is_packed(node) else None
        if made is None:
            graph.nodes.append(node)
        else:
            replaced[node] = made
    replace_uses(graph, dict(replaced))


def taken_apart(node: Node) -> tuple[Dim, ...] | None:
    """How many products there are, along each label, of a node that `products` rewrites; else None."""
    made = _Products(Graph(), node) if _is_packed(node) else None
    return tuple(made.sizes.values()) if made is not None and made.form() is not None else None


def _is_packed(node: Node) -> bool:
    """Whether it is an einsum that capture has found to be one of few products."""
    return node.kind is NodeKind.CALL and node.op == "einsum" and bool(node.params.get("packed"))


class _Products:
    """short: the sizes of labels that are taken apart; summed: those of them that the result lacks."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node
        self.terms, self.result = labels_of(node)
        shapes = [arg.array_type.shape for arg in node.args if isinstance(arg, Node)]
        pairs = (pair for one in zip(self.terms, shapes, strict=True) for pair in zip(*one, strict=True))
        self.sizes: dict[str, Dim] = dict(pairs)
        self.short = {label: size for label, size in self.sizes.items() if type(size) is int}
        self.summed = sorted(label for label in self.sizes if label not in self.result)
        self.long = [label for label in self.result if label not in self.short]

    def form(self) -> tuple[Sum, str] | None:
        """In what order NumPy adds, and how the result lies; None where that is not known."""
        if not self.long or not all(map(self.is_ordered, self.terms)) or not self.short.keys() >= set(self.summed):
            return None
        short = tuple(sorted(self.short.items()))
        chars = tuple(arg.array_type.dtype.char for arg in self.node.args if isinstance(arg, Node))
        return _order_of_sum(",".join(self.terms), self.result, short, chars)

    def made(self) -> Node | None:
        """An array of the sums, None where it is not known how NumPy adds."""
        found = self.form()
        if found is None:
            return None
        order, layout = found
        type_ = self.node.array_type
        params = {"shape": type_.shape, "dtype": type_.dtype, "order": layout}
        made = self.graph.add_call("empty", (), params, ArrayType(type_.dtype, type_.shape), self.node.location)
        apart = [label for label in self.result if label in self.short]
        for places in itertools.product(*(range(self.short[label]) for label in apart)):
            at = dict(zip(apart, places, strict=True))
            each = [self.product(at | cell) for cell in _cells(self.summed, self.short)]
            target = self.part(made, self.result, at, spread=False)
            self.graph.add_store(target, self.added(order, each), self.node.location)
        return made

    def is_ordered(self, term: str) -> bool:
        """Whether an operand's long labels differ, and stand as in the result; of short ones that stand twice it is a
        diagonal."""
        mine = [label for label in term if label not in self.short]
        return mine == [label for label in self.long if label in mine]

    def part(self, array: Argument, term: str, at: dict[str, int], spread: bool) -> Node:
        """The elements of an array at these places of its short axes; spread: with all of the result's long axes."""
        assert isinstance(array, Node)
        left, index, sizes = list(self.long), list[Any](), list[Any]()
        for label, size in zip(term, array.array_type.shape, strict=True):
            if label in at:
                index.append(at[label])
                continue
            while spread and left[0] != label:
                left.pop(0)
                index.append(None)
                sizes.append(1)
            left.pop(0)
            index.append(WHOLE)
            sizes.append(size)
        behind = left if spread and sizes else []
        params = {"index": (*index, *(None for _ in behind)), "scalar": False}
        type_ = ArrayType(array.array_type.dtype, (*sizes, *(1 for _ in behind)))
        return self.graph.add_call("basic_index", (array,), params, type_, self.node.location)

    def product(self, at: dict[str, int]) -> Argument:
        factors: Iterator[Argument] = (
            self.number(self.part(arg, term, at, spread=True))
            for arg, term in zip(self.node.args, self.terms, strict=True)
        )
        return functools.reduce(lambda one, other: self.call("multiply", one, other), factors)

    def number(self, part: Node) -> Node:
        """A factor as NumPy multiplies it: an integer as the result's type."""
        dtype = self.node.array_type.dtype
        if part.array_type.dtype == dtype:
            return part
        type_ = ArrayType(dtype, part.array_type.shape)
        return self.graph.add_call("astype", (part,), {"dtype": dtype}, type_, self.node.location)

    def added(self, order: Sum, each: Sequence[Argument]) -> Node:
        """The products as they are added, from 0.0 on."""

        def total(part: Sum, is_first: bool) -> Argument:
            if isinstance(part, int):
                return self.call("add", 0.0, each[part]) if is_first else each[part]
            return self.call("add", total(part[0], is_first), total(part[1], False))

        found = total(order, True)
        assert isinstance(found, Node)
        return found

    def call(self, op: str, *args: Argument) -> Node:
        type_ = infer(op, args, {}, lambda condition: bool(self.graph.decides(condition)))
        return self.graph.add_call(op, args, {}, type_, self.node.location)


def _cells(labels: Sequence[str], sizes: dict[str, int]) -> list[dict[str, int]]:
    """The places of the summed labels, the last one first."""
    places = itertools.product(*(range(sizes[label]) for label in labels))
    return [dict(zip(labels, cell, strict=True)) for cell in places]


@functools.cache
def _order_of_sum(
    terms: str, result: str, short: tuple[tuple[str, int], ...], chars: tuple[str, ...]
) -> tuple[Sum, str] | None:
    """How NumPy adds the products of packed operands, and whether the result lies in C or F order; None if nothing
    explains its bits, or it lies otherwise."""
    names, sizes = terms.split(","), dict(short)
    long = [label for label in result if label not in sizes]
    cells = _cells(sorted(label for label in sizes if label not in result), sizes)
    common = np.result_type(*chars)
    open_ = list(_candidates(len(cells), 4 if common.char == "f" else 2))
    samples = Samples(len(cells))
    layouts = ["C", "F"]
    for lengths in _LONG:
        all_sizes = sizes | {label: lengths[place % len(lengths)] for place, label in enumerate(long)}
        operands = []
        for term, char in zip(names, chars, strict=True):
            shape = tuple(all_sizes[label] for label in term)
            operands.append((samples.normal(*shape) * 4.0 ** samples.below(12, *shape)).astype(char))
        found = np.einsum(f"{terms}->{result}", *operands)
        layouts = [layout for layout in layouts if found.flags[f"{layout}_CONTIGUOUS"]]
        numbers = [operand.astype(common) for operand in operands]
        each = [_one_product(names, result, numbers, cell) for cell in cells]
        open_ = [order for order in open_ if np.array_equal(np.broadcast_to(_total(order, each), found.shape), found)]
    return (open_[0], layouts[0]) if open_ and layouts else None


def _one_product(terms: Sequence[str], result: str, operands: Sequence[Array], at: dict[str, int]) -> Array:
    factors = []
    for term, operand in zip(terms, operands, strict=True):
        part = operand[tuple([at.get(label, slice(None)) for label in term])]
        left = [label for label in term if label not in at]
        part = np.einsum(f"{''.join(left)}->{''.join(label for label in result if label in left)}", part)
        factors.append(part.reshape([operand.shape[term.index(label)] if label in left else 1 for label in result]))
    product: Array = functools.reduce(np.multiply, factors)
    return product


def _total(order: Sum, each: Sequence[Array]) -> Array:
    total: Array = each[order] if isinstance(order, int) else np.add(_total(order[0], each), _total(order[1], each))
    return total


def _candidates(count: int, lanes: int) -> Iterator[Sum]:
    """One after the other; in lanes that are added at last, neighbours or halves first."""

    def one_by_one(numbers: Sequence[Sum]) -> Sum:
        return functools.reduce(lambda one, other: (one, other), numbers)

    yield one_by_one(range(count))
    if count > 2:
        parts = [one_by_one(range(lane, count, lanes)) for lane in range(min(lanes, count))]
        yield one_by_one(parts)
        if len(parts) == 4:
            yield (parts[0], parts[1]), (parts[2], parts[3])
            yield (parts[0], parts[2]), (parts[1], parts[3])
        if len(parts) == 3:
            yield (parts[0], parts[2]), parts[1]
