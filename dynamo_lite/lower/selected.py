"""Computes what a mask selects everywhere, and chooses.

Enters a graph that this pass may change; leaves one that yields the same bits:

    %n = count_true(%mask, yields=(y0,)); %a = masked(%x, %mask, y0); %b = multiply(%a, 2)
    %put = put_masked(%x, %mask, y0, %b); store(%x, %put)
    ->  %a = where(%mask, %x, 1); %b = multiply(%a, 2); %put = where(%mask, %b, %x); store(%x, %put)

Elements are gathered, computed with and scattered one by one; chosen they are by vectors, in one kernel with what makes
the mask and what comes next. That costs less however few are selected, as long as the functions are cheap.

INVARIANT: nothing is reported that NumPy does not report. Beside the mask all operands, numbers of the run too, are
constants of which the same functions report nothing, which is tried out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.dataclass import dataclass
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY
from dynamo_lite.graph.rewrite import map_scalars, origins, replace_uses, users, written_by
from dynamo_lite.graph.scalar import Scalar, Symbol, is_symbolic, kind_of, symbols_of
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.ops.registry import infer

MOST_OPERATIONS = 24  # of what is put where a mask is true
MOST_GATHERED = 6  # arrays
_DTYPES = "?bhilqBHILQfd"
_CHEAP = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "square", "sqrt", "reciprocal"),
        *("maximum", "minimum", "floor", "ceil", "trunc", "rint", "sign", "copysign", "where", "isnan", "isfinite"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "invert"),
        *("logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("deg2rad", "rad2deg", "radians", "degrees"),
    )
)
_TRIALS: tuple[tuple[float, ...], ...] = ((1, 1, 1, 1, 1, 1), (1, 2, 3, 5, 7, 11), (5, 3, 2, 7, 1, 11))


@dataclass(frozen=True, slots=True)
class _Put:
    """What is put where a mask is true: the nodes that make it, in order, and the gathers that these read. store: into
    a gather, of what was made of it, which is put then."""

    node: Node
    value: Node
    made: tuple[Node, ...]
    gathered: tuple[Node, ...]
    store: Node | None

    @property
    def mask(self) -> Argument:
        return self.node.args[1]


def selected(graph: Graph) -> bool:
    """Rewrite every masked store whose values are cheap functions of what the same mask selects; whether any was."""
    puts = _rewritable(graph)
    fills = {one: fill for put in puts for one, fill in zip(put.gathered, _quiet(put) or (), strict=False)}
    puts = _closed(graph, [put for put in puts if fills.keys() >= set(put.gathered) and _is_quiet(put, fills)])
    if not puts:
        return False
    gathered = {one for put in puts for one in put.gathered}
    masks = {one: put.mask for put in puts for one in put.made}
    wholes = {put.node: put for put in puts}
    stores = {put.store for put in puts}
    nodes, graph.nodes = graph.nodes, []
    new: dict[Node, Node] = {}
    for node in nodes:
        if node in gathered:
            new[node] = _filled(graph, node, fills[node])
        elif node in masks:
            new[node] = _everywhere(graph, node, masks[node], new)
        elif node in wholes:
            put = wholes[node]
            new[node] = _call(graph, node, "where", (put.mask, new[put.value], node.args[0]))
        elif node not in stores:
            graph.nodes.append(node)
    replace_uses(graph, {node: new[node] for node in wholes})
    _drop_counts(graph, {put.node.args[2] for put in puts})
    return True


def _rewritable(graph: Graph) -> list[_Put]:
    puts = [node for node in graph.nodes if node.op == "put_masked" and node.kind is NodeKind.CALL]
    if not puts:
        return []
    written = written_by(graph.nodes)
    stores: dict[Argument, list[Node]] = {}
    for node in graph.nodes:
        if node.kind is NodeKind.STORE:
            stores.setdefault(node.args[0], []).append(node)
    found = [_put(node, stores) for node in puts if _is_of_elements(node, written)]
    return _closed(graph, [put for put in found if put is not None])


def _closed(graph: Graph, puts: list[_Put]) -> list[_Put]:
    """Those of them of which nobody else reads anything."""
    uses = users(graph)
    outputs = {output for output in graph.outputs if isinstance(output, Node)}
    while True:
        inside = {node for put in puts for node in (put.node, put.store, *put.made)}
        inner = {put: (*put.made, *put.gathered) for put in puts}
        kept = [put for put in puts if not any(one in outputs or set(uses[one]) - inside for one in inner[put])]
        if len(kept) == len(puts):
            return puts
        puts = kept


def _is_of_elements(put: Node, written: set[Node]) -> bool:
    """Whether a mask of the array's own shape, which no store may change, selects elements."""
    x, mask, _, value = put.args
    assert isinstance(x, Node) and isinstance(mask, Node) and isinstance(value, Node)
    if x.array_type.ndim != mask.array_type.ndim or x.array_type.dtype.char not in _DTYPES:
        return False
    of_mask, of_x = origins(mask), origins(x)
    are_apart = all(one.kind is NodeKind.CALL for one in of_mask) or all(one.kind is NodeKind.CALL for one in of_x)
    return are_apart and not of_mask & written and value.kind is NodeKind.CALL


def _put(node: Node, stores: dict[Argument, list[Node]]) -> _Put | None:
    x, mask, count, value = node.args
    assert isinstance(x, Node) and isinstance(value, Node)
    gathered: dict[Node, None] = {}
    made: dict[Node, None] = {}
    changed, store = value, None
    if value.op == "masked" and len(stores.get(value, ())) == 1:
        (store,) = stores[value]
        stored = store.args[1]
        if not isinstance(stored, Node) or stored.type != value.type:
            return None
        value = stored

    def visit(one: Argument) -> bool:
        if not isinstance(one, Node) or not one.array_type.ndim or one in gathered or one in made:
            return True
        if one.kind is not NodeKind.CALL or one.array_type.dtype.char not in _DTYPES:
            return False
        if one.op == "masked":
            gathered[one] = None
            is_changed = store is not None and one is changed
            is_like = one.args[1] is mask and one.args[2] == count and len(stores.get(one, ())) == is_changed
            return is_like and one.array_type.shape == (count,)
        if one.op not in _CHEAP or one.params or one.array_type.shape != (count,) or not _takes_numbers(one):
            return False
        if not all(visit(arg) for arg in one.args):
            return False
        made[one] = None
        return True

    if not visit(value) or len(made) > MOST_OPERATIONS or not 1 <= len(gathered) <= MOST_GATHERED:
        return None
    return _Put(node, value, tuple(made), tuple(gathered), store)


def _takes_numbers(node: Node) -> bool:
    """Whether the numbers of the run among its operands may be chosen from, too: they are float64 then, as all is."""
    others = [arg for arg in node.args if not isinstance(arg, Node) or not arg.array_type.ndim]
    numbers = [arg for arg in others if isinstance(arg, Node) or is_symbolic(arg)]
    arrays = [arg for arg in node.args if isinstance(arg, Node) and arg.array_type.ndim]
    if not numbers:
        return True
    kinds = {arg.array_type.dtype.char if isinstance(arg, Node) else kind_of(arg) for arg in numbers}
    return kinds <= {"d", "float"} and all(arg.array_type.dtype.char == "d" for arg in arrays)


def _quiet(put: _Put) -> tuple[float, ...] | None:
    """Constants of which the functions report nothing, one for each gather; None where none of those tried is quiet."""
    trials = (dict(zip(put.gathered, trial, strict=False)) for trial in _TRIALS)
    return next((tuple(trial.values()) for trial in trials if _is_quiet(put, trial)), None)


def _is_quiet(put: _Put, fills: dict[Node, float]) -> bool:
    values: dict[Node, Any] = {one: np.full(2, fills[one], one.array_type.dtype) for one in put.gathered}
    try:
        with np.errstate(all="raise"):
            for node in put.made:
                args = tuple(values.get(arg, 1.0) if isinstance(arg, Node) else _constant(arg) for arg in node.args)
                values[node] = REGISTRY[node.op].evaluate(args, node.params)
    except (FloatingPointError, ValueError, TypeError, OverflowError):
        return False
    return all(bool(np.isfinite(value).all()) for value in values.values())


def _constant(arg: Argument) -> Any:
    return 1.0 if is_symbolic(arg) else arg


def _drop_counts(graph: Graph, counts: set[Argument]) -> None:
    """Count no mask whose number nobody asks for any more."""
    asked: set[str] = set()
    for node in graph.nodes:
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        shapes = tuple(size for type_ in types if isinstance(type_, ArrayType) for size in type_.shape)
        params = [value for name, value in node.params.items() if name != "yields"]
        asked |= _symbols((*node.args, *shapes, *params))
    asked |= _symbols(tuple(graph.outputs))
    gone = {count.name for count in counts if isinstance(count, Symbol)} - asked
    graph.nodes = [
        node
        for node in graph.nodes
        if node.op != "count_true" or not gone.issuperset(symbol.name for symbol in node.params["yields"])
    ]


def _symbols(values: Any) -> set[str]:
    found: set[str] = set()

    def note(value: Scalar) -> Scalar:
        found.update(symbols_of(value))
        return value

    map_scalars(tuple(values), note)
    return found


def _filled(graph: Graph, gather: Node, fill: float) -> Node:
    """What is gathered, where it lies, and a constant beside the mask."""
    x, mask, _ = gather.args
    kind = {"b": bool, "f": float}.get(gather.array_type.dtype.kind, int)
    return _call(graph, gather, "where", (mask, x, kind(fill)))


def _everywhere(graph: Graph, node: Node, mask: Argument, new: dict[Node, Node]) -> Node:
    """The same function of what is chosen; numbers of the run are chosen, too."""
    args: list[Argument] = []
    for arg in node.args:
        if isinstance(arg, Node) and arg.array_type.ndim:
            args.append(new[arg])
        elif isinstance(arg, Node) or is_symbolic(arg):
            args.append(_call(graph, node, "where", (mask, arg, 1.0), np.dtype(float)))
        else:
            args.append(arg)
    return _call(graph, node, node.op, tuple(args))


def _call(graph: Graph, node: Node, op: str, args: tuple[Argument, ...], dtype: Any = None) -> Node:
    type_ = infer(op, args, {}, lambda condition: bool(graph.decides(condition)))
    assert isinstance(type_, ArrayType) and type_.dtype == (dtype or node.array_type.dtype), (op, type_)
    return graph.add_call(op, args, {}, type_, node.location)
