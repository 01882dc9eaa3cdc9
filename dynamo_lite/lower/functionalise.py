"""Turns in-place operations on whole arrays into values where nobody can tell.

Enters a graph that this pass may change; leaves one in which a read behind a whole-array store reads the stored value,
a store that is overwritten unread is gone, and so is a store into a fresh array that nobody else shows:

    %y = multiply(%x, 2); %add = add(%y, 1); store(%y, %add); return %y  ->  %add = add(multiply(%x, 2), 1); return %add

INVARIANT: memory order and identity stay. With two or more axes a value takes an array's place only if it was made from
that array alone, so that NumPy gives it the same order of axes ("K"). Both own their memory: np.tile and np.linspace,
for two, hand out views of arrays of their own. A loop or a choice may read and hand on, and write if it stores at all,
whatever goes into it: nothing is known behind it of memory that was known before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dynamo_lite.graph.alias import disjoint, merge_views
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind, elementwise_of, is_exact_view
from dynamo_lite.graph.rewrite import hands_out, is_structured, is_view, origins, root, users, written_by
from dynamo_lite.graph.scalar import make
from dynamo_lite.ops import vector_math

Alike: TypeAlias = Callable[[Node, Node], bool]


def functionalise(graph: Graph, alike: Alike = lambda value, array: False) -> None:
    """Forward stored values, drop dead stores, make fresh arrays values. alike: whether NumPy is known to lay out a
    value in the order of axes of an array."""
    merge_views(graph)
    if not any(node.kind is NodeKind.STORE for node in graph.nodes):
        return

    def follows(value: Node, array: Node) -> bool:
        return _follows(value, array) or alike(value, array)

    _forward_stores(graph, follows)
    _drop_overwritten(graph)
    _replace_fresh(graph, follows)


def _stored_roots(graph: Graph) -> set[Node]:
    return written_by(graph.nodes)


def _target(store: Node) -> Node:
    target = store.args[0]
    assert isinstance(target, Node), store.name
    return target


def _is_value(node: Argument, stored: set[Node]) -> bool:
    """Whether `node` is a fresh array that no store ever changes."""
    if not isinstance(node, Node) or node.kind is not NodeKind.CALL or REGISTRY[node.op].in_place:
        return False
    return node not in stored and origins(node) == {node}


def _same_type(graph: Graph, left: Node, right: Node) -> bool:
    a, b = left.array_type, right.array_type
    return (
        a.dtype == b.dtype
        and not a.scalar
        and not b.scalar
        and a.ndim == b.ndim
        and all(graph.facts.decide(make("eq", x, y)) for x, y in zip(a.shape, b.shape, strict=True))
    )


def _thin(node: Node) -> bool:
    """At most one axis, sizes of 1 aside: such an operand has no say in the order of axes."""
    return sum(dim != 1 for dim in node.array_type.shape) <= 1


def _keeps_order(node: Node) -> bool:
    """Whether the result of a call has an order of axes that hangs on those of its operands alone, as elementwise ones
    and np.roll along an axis have it ("K")."""
    return REGISTRY[node.op].kind is OpKind.ELEMENTWISE or (node.op == "roll" and node.params["axis"] is not None)


def _reads_order(node: Node, array: Node) -> bool:
    """Whether the order of axes of `array` says all of how NumPy lays out what `node` makes of it. Where the array does
    not lie packed, an axis of size 1 has a stride of its own, and such a one in the result another place."""
    if array.array_type.ndim <= 1 or all(dim != 1 for dim in array.array_type.shape):
        return True
    made = array.kind is NodeKind.CALL and array.op != "tuple_get"
    if node.op in ("roll", "copy", "astype"):
        return made and _owns(array) and _is_plain_thin(array)
    return _thin(array) or (made and (_owns(array) or array.op == "reduce"))


def _follows(value: Node, array: Node) -> bool:
    """Whether NumPy lays `value` out in the order of axes of `array`."""
    if value is array or _thin(value):
        return True
    if value.kind is not NodeKind.CALL or not _keeps_order(value):
        return False
    if value.array_type.ndim != array.array_type.ndim or value.params.get("order", "K") != "K":
        return False
    operands = [arg for arg in value.args if isinstance(arg, Node)]
    return all(_follows(operand, array) for operand in operands) and not all(map(_thin, operands))


def _stays(node: Argument, stored: set[Node]) -> bool:
    """Whether nobody in the graph writes into what `node` shows."""
    if not isinstance(node, Node) or node.array_type.scalar:
        return False
    if node.kind is NodeKind.CALL and REGISTRY[node.op].in_place:
        return False
    mine = origins(node)
    if any(origin.kind is NodeKind.INPUT for origin in stored) and any(one.kind is NodeKind.INPUT for one in mine):
        return False  # of a body two inputs may be views of one array
    return mine.isdisjoint(stored)


_ALLOCATES = frozenset(("empty", "zeros", "full", "empty_like", "full_like"))


def _owns(node: Node) -> bool:
    """Whether NumPy's result surely owns its memory (``flags.owndata``) and lies packed."""
    if node.op == "reduce":
        return all(dim != 1 for dim in node.array_type.shape)  # NB: a kept axis of size 1 has another stride
    return node.op in _ALLOCATES or REGISTRY[node.op].kind is OpKind.ELEMENTWISE


def _is_plain_thin(array: Node) -> bool:
    """Whether `array` has NumPy's strides of a result along its axes of size 1: not those of an order asked for, nor
    of such an axis of the array that np.empty_like was given, where this had a stride of its own."""
    if array.array_type.ndim <= 1 or all(dim != 1 for dim in array.array_type.shape):
        return True
    is_plain = array.op not in ("empty_like", "full_like") and array.params.get("order", "C") in "CK"
    is_elementwise = array.kind is NodeKind.CALL and REGISTRY[array.op].kind is OpKind.ELEMENTWISE
    return is_plain and (not is_elementwise or _is_in_c_order(array))


def _is_in_c_order(array: Node) -> bool:
    """Whether NumPy surely lays it out in C order. Of operands in other orders NumPy puts an axis of size 1 elsewhere
    than of an array that it has made of them."""
    if _thin(array):
        return True  # or has no say
    if array.kind is not NodeKind.CALL or array.params.get("order", "C") not in "CK":
        return False
    if REGISTRY[array.op].kind is OpKind.ELEMENTWISE:
        return all(_is_in_c_order(arg) for arg in array.args if isinstance(arg, Node))
    return array.op in _ALLOCATES - {"empty_like", "full_like"}


def _same_layout(value: Node, array: Node) -> bool:
    """Whether `value`, which follows `array`, has its very strides."""
    if array.kind is not NodeKind.CALL or not (_thin(array) or all(dim != 1 for dim in array.array_type.shape)):
        return False
    made = value.kind is NodeKind.CALL and REGISTRY[value.op].kind is OpKind.ELEMENTWISE
    return array.op != "tuple_get" and _owns(array) and _is_plain_thin(array) and made


def _reads(node: Node) -> bool:
    """Whether `node` reads its operands' memory; an exact view does not, unless it yields a NumPy scalar."""
    return not (is_view(node) and is_exact_view(node) and not node.array_type.scalar)


# Besides, kernels decline where a complex sum is NaN; the others compute nothing.
_EXACT_COMPLEX = vector_math.EXACT_COMPLEX | {"add", "astype", "copy", "where"}


def looks_at_layout(node: Node) -> bool:
    """Whether NumPy's bits may depend on how the operands of an elementwise node lie."""
    dtypes = {arg.array_type.dtype for arg in node.args if isinstance(arg, Node)}
    op = elementwise_of(node).name
    return any(
        op not in _EXACT_COMPLEX if dtype.kind == "c" else vector_math.looks_at_strides(op, dtype) for dtype in dtypes
    )


def _is_met_alone(array: Node, node: Node) -> bool:
    """Whether no other operand of `node` shows memory of `array`: of a matrix and its own transpose NumPy's product
    calls another function of BLAS, with other bits, than of two matrices that are equal."""
    others = [arg for arg in node.args if isinstance(arg, Node) and arg is not array]
    return all(origins(other).isdisjoint(origins(array)) for other in others)


class _Origins(dict[Node, set[Node]]):
    """`origins` by node, while no view gets another operand."""

    def __missing__(self, node: Node) -> set[Node]:
        found = self[node] = origins(node)
        return found


def _forward_stores(graph: Graph, follows: Alike) -> None:
    stored, shown = _stored_roots(graph), _Origins()
    contents: dict[Node, Node] = {}
    graph.nodes = [node for node in graph.nodes if node.kind is not NodeKind.STORE or node.args[0] is not node.args[1]]
    for node in graph.nodes:
        # What calls and reductions give depends on the layout of their operands, which the value may not share.
        if node.kind is NodeKind.CALL and not (is_view(node) or hands_out(node) or REGISTRY[node.op].in_place):
            any_layout = _keeps_order(node) and (node.op == "roll" or not looks_at_layout(node))
            node.args = tuple(
                contents[arg]
                if isinstance(arg, Node)
                and arg in contents
                and (
                    (any_layout and _reads_order(node, arg))
                    or (_same_layout(contents[arg], arg) and _is_met_alone(arg, node))
                )
                else arg
                for arg in node.args
            )
        if is_structured(node):
            contents = {}
        if node.kind is not NodeKind.STORE:
            continue
        target, value = _target(node), node.args[1]
        # NB: NumPy copies a vector over itself with what it has just written.
        if isinstance(value, Node) and value in contents and shown[value].isdisjoint(shown[target]):
            value = contents[value]
            node.args = (target, value)
        contents = _without(graph, contents, target, shown)
        if (
            isinstance(value, Node)
            and (_is_value(value, stored) or _stays(value, stored))
            and _same_type(graph, value, target)
            and follows(value, target)
        ):
            contents[target] = value


def _drop_overwritten(graph: Graph) -> None:
    latest: dict[Node, Node] = {}  # array -> the last store into exactly it, unread so far
    dead: set[Node] = set()
    shown = _Origins()
    for node in graph.nodes:
        if node.kind is NodeKind.STORE:
            target, value = _target(node), node.args[1]
            if isinstance(value, Node):
                latest = _without(graph, latest, value, shown)
            if target in latest and not _works_in_place(latest[target]):
                dead.add(latest[target])
            latest = _without(graph, latest, target, shown)
            if not isinstance(value, Node) or value.array_type.dtype == target.array_type.dtype:
                latest[target] = node
        elif node.kind is NodeKind.CALL and _reads(node):
            for arg in node.args:
                if isinstance(arg, Node):
                    latest = _without(graph, latest, arg, shown)
        elif is_structured(node):
            latest = {}
    kept = _kept(graph)
    dead |= {
        store for target, store in latest.items() if origins(target).isdisjoint(kept) and not _works_in_place(store)
    }
    graph.nodes = [node for node in graph.nodes if node not in dead]


def _kept(graph: Graph) -> set[Node]:
    """The arrays that are there when the program has ended, or that may be: those that it did not make, too."""
    nodes = [output for output in graph.outputs if isinstance(output, Node)]
    nodes += [arg for node in graph.nodes if hands_out(node) for arg in node.args if isinstance(arg, Node)]
    kept = {origin for node in nodes for origin in origins(node)}
    return kept | {node for node in graph.nodes if node.op not in _ALLOCATES}


def _works_in_place(store: Node) -> bool:
    value = store.args[1]
    return isinstance(value, Node) and value.kind is NodeKind.CALL and REGISTRY[value.op].in_place


def _without(graph: Graph, known: dict[Node, Node], touched: Node, shown: _Origins) -> dict[Node, Node]:
    """What is known of arrays, but for those that may share memory with `touched`."""
    memory = shown[touched]
    near = [array for array in known if not shown[array].isdisjoint(memory)]
    gone = {array for array in near if array is touched or not disjoint(array, touched, graph.facts)}
    return {array: what for array, what in known.items() if array not in gone} if gone else known


def _replace_fresh(graph: Graph, follows: Alike) -> None:
    stores: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.kind is NodeKind.STORE:
            for origin in origins(_target(node)):
                stores.setdefault(origin, []).append(node)
    stored = _stored_roots(graph)
    position = {node: number for number, node in enumerate(graph.nodes)}
    uses = users(graph)
    outputs = {output for output in graph.outputs if isinstance(output, Node)}
    mapping: dict[Node, Argument] = {}
    dropped: set[Node] = set()
    for array, writes in stores.items():
        store, value = writes[-1], writes[-1].args[1]
        if not (
            len(writes) == 1 and array.kind is NodeKind.CALL and _target(store) is array and isinstance(value, Node)
        ):
            continue
        if origins(array) != {array}:
            continue  # what a loop hands out may be what it hands out in another place, too, or has put into a list
        if not (_is_value(value, stored) and _same_type(graph, value, array) and follows(value, array)):
            continue
        users_ = [use for node in (value, array) for use in _all_uses(node, uses)]
        if any(map(hands_out, users_)):
            continue  # either may come out of it, or of the program, as it is
        escapes = array in outputs
        if escapes and not (_owns(value) and _owns(array) and _is_plain_thin(array)):
            continue
        shown = escapes and (
            value in outputs or value in mapping.values() or any(is_view(user) for user in uses[value])
        )
        after = position[store]
        later = any(position[use] > after for use in _all_uses(array, uses))
        views_escape = any(is_view(output) and root(output) is array for output in outputs)
        if not shown and not later and not views_escape:
            dropped.add(store)
            if escapes:
                mapping[array] = value
    graph.nodes = [node for node in graph.nodes if node not in dropped]
    # Only outputs change: what reads the array before the store reads its first contents.
    graph.outputs = [mapping.get(output, output) if isinstance(output, Node) else output for output in graph.outputs]


def _all_uses(array: Node, uses: dict[Node, list[Node]]) -> list[Node]:
    """The nodes that read `array` or a view of it."""
    found: list[Node] = []
    for user in uses[array]:
        if is_view(user):
            found += _all_uses(user, uses)
            if _reads(user):
                found.append(user)
        else:
            found.append(user)
    return found
