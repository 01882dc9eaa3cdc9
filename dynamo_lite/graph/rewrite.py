"""Small steps that passes over graphs are made of: who uses a value, whose memory a view shows, replacing, dropping.

Each works on a Graph in place or reads it; none changes a type. INVARIANT: stores keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpKind
from dynamo_lite.graph.scalar import Scalar, ScalarOp, Symbol, make, renamed, substitute
from dynamo_lite.graph.types import ArrayType


def is_view(node: Node) -> bool:
    """Whether `node` is, or may be, a view of its first operand."""
    if node.kind is not NodeKind.CALL:
        return False
    op = REGISTRY.get(node.op)
    return op is not None and op.kind is OpKind.VIEW


def root(node: Node) -> Node:
    """The node whose memory `node` shows: itself, or the origin of the chain of views it ends.

    NB: what a loop carries out (a tuple_get of it) is its own root, though it may show an operand's (``origins``).
    """
    while is_view(node):
        base = node.args[0]
        assert isinstance(base, Node), node.name
        node = base
    return node


def loop_parts(node: Node) -> tuple[tuple[Scalar, Scalar, Scalar], tuple[Node, ...], tuple[Argument, ...], Graph]:
    """A loop's bounds (start, stop, step), initial carried values, captured values and body."""
    assert node.kind is NodeKind.LOOP, node.name
    start, stop, step, *rest = node.args
    split = node.params["carried"]
    initial = tuple(value for value in rest[:split] if isinstance(value, Node))
    assert len(initial) == split, node.name
    return (start, stop, step), initial, tuple(rest[split:]), node.regions[0]  # type: ignore[return-value]


def first_changing(loop: Node) -> int:
    """The input of a loop's body from which on numbers are carried."""
    _, initial, captured, body = loop_parts(loop)
    carried = len(body.outputs) - len(initial) - bool(loop.params.get("while"))
    return 1 + len(initial) + len(captured) - carried


def is_structured(node: object) -> bool:
    """Whether `node` is a loop or a choice: it has bodies, which read, write and hand out what goes in."""
    return isinstance(node, Node) and node.kind in (NodeKind.LOOP, NodeKind.COND)


def operations(graph: Graph) -> int:
    """How many nodes compute or store, those in the bodies of loops and choices included."""
    own = sum(node.kind in (NodeKind.CALL, NodeKind.STORE) for node in graph.nodes)
    return own + sum(operations(region) for node in graph.nodes for region in node.regions)


def hands_out(node: Node) -> bool:
    """Whether the operands of `node` may become objects that live on: what it takes, it may return or keep."""
    return is_structured(node) or node.kind is NodeKind.LEAVE or node.op in _OF_LISTS


_OF_LISTS = frozenset(
    ("append", "put_item", "new_container", "list_take", "list_join", "object_scalar", "object_array")
)


def may_hand_out(nodes: Iterable[Node], outputs: Iterable[Argument], value: Node) -> bool:
    """Whether `value` may come out of a body of these nodes and outputs, or be kept by it, as the object that it is."""
    if any(output is value for output in outputs):
        return True
    return any(_hands_on(node, value) for node in nodes if value in node.args and hands_out(node))


def _hands_on(node: Node, value: Node) -> bool:
    if not is_structured(node):
        return True
    if node.kind is NodeKind.LOOP and value in node.args[3 : 3 + node.params["carried"]]:
        return True
    before = 2 if node.kind is NodeKind.LOOP else 1  # input 0 of a loop's body is the index
    places = [place - before for place, arg in enumerate(node.args) if arg is value and place >= before]
    inner = [(region, region.inputs[place]) for region in node.regions for place in places]
    return any(may_hand_out(region.nodes, region.outputs, one) for region, one in inner if isinstance(one, Node))


def origins(node: Node) -> set[Node]:
    """Every node whose memory `node` may show: its root, and behind an array that a loop or a choice hands out that
    node itself, which stands for what its bodies make, and the values that went in.

    INVARIANT: of two nodes without a common origin neither shows the other's memory, unless inputs overlap.
    """
    base = root(node)
    if base.op != "tuple_get" or not is_structured(base.args[0]):
        return {base}
    source, place = base.args[0], base.params["index"]
    assert isinstance(source, Node)
    found = {base, source}  # two results may be one array that a body made
    if source.kind is NodeKind.COND:
        outers = _chosen_from(source, place)
    elif place < source.params["carried"]:
        outers = _carried_from(source, place)
    else:
        return {base}  # a number
    for outer in outers:
        found |= origins(outer)
    return found


def _chosen_from(cond: Node, place: int) -> set[Node]:
    """The operands of `cond` that its result number `place` may be, or be a view of."""
    found: set[Node] = set()
    for branch in cond.regions:
        output = branch.outputs[place]
        for origin in origins(output) if isinstance(output, Node) else ():
            if origin.kind is NodeKind.INPUT:
                value = cond.args[1 + origin.params["index"]]
                assert isinstance(value, Node), cond.name
                found.add(value)
    return found


def _carried_from(loop: Node, place: int) -> set[Node]:
    """The operands of `loop` that carried value `place` may be, or be a view of."""
    _, initial, captured, body = loop_parts(loop)
    found: set[Node] = set()
    for one in carried_places(loop, place):
        found.add(initial[one])
        for source in _inputs_behind(body.outputs[one]):
            if source >= len(initial):
                value = captured[source - len(initial)]
                assert isinstance(value, Node), loop.name
                found.add(value)
    return found


def carried_places(loop: Node, place: int) -> list[int]:
    """The places of what `loop` carries whose values may come to be at `place` after some iterations, itself first."""
    body, carried = loop.regions[0], loop.params["carried"]
    found = [place]
    for one in found:  # grows
        found += [source for source in _inputs_behind(body.outputs[one]) if source < carried and source not in found]
    return found


def _inputs_behind(output: Argument) -> list[int]:
    """The inputs of a loop's body that one of its outputs may show, by their places without the index."""
    shown = origins(output) if isinstance(output, Node) else ()
    return [origin.params["index"] - 1 for origin in shown if origin.kind is NodeKind.INPUT]


def written(node: Node) -> set[Node]:
    """The inputs and fresh arrays of the graph whose memory `node`, a store, a loop or a choice, may change."""
    if node.kind is NodeKind.STORE:
        target = node.args[0]
        assert isinstance(target, Node), node.name
        return origins(target)
    if not is_structured(node):
        return set()
    return outside(node, written_by(inner for region in node.regions for inner in region.nodes))


def outside(node: Node, inner: Iterable[Node]) -> set[Node]:
    """What the inputs among `inner`, origins in the bodies of a loop or a choice, may show of the graph around it."""
    found: set[Node] = set()
    carried = node.params["carried"] if node.kind is NodeKind.LOOP else 0
    before = 2 if node.kind is NodeKind.LOOP else 1  # operands that no array of a body comes from
    for origin in inner:
        if origin.kind is not NodeKind.INPUT:
            continue
        place = origin.params["index"]
        values = _carried_from(node, place - 1) if 0 < place <= carried else {node.args[before + place]}
        for value in values:
            assert isinstance(value, Node), node.name
            found |= origins(value)
    return found


def written_by(nodes: Iterable[Node]) -> set[Node]:
    """The inputs and fresh arrays whose memory any of these nodes may change."""
    writers = (node for node in nodes if node.kind is NodeKind.STORE or node.regions)
    return {origin for node in writers for origin in written(node)}


def acts(node: Node, keep: Callable[[Node], bool]) -> bool:
    """Whether a loop or a choice does anything but yield values: it stores, or holds a call that `keep` says has to
    run. NB: a loop with a condition may not end, and one that pauses is left."""
    return bool(node.params.get("while") or node.params.get("pause")) or any(
        inner.kind is NodeKind.STORE or (inner.kind is NodeKind.CALL and keep(inner)) or acts(inner, keep)
        for region in node.regions
        for inner in region.nodes
    )


def users(graph: Graph) -> dict[Node, list[Node]]:
    """For every node the nodes that take it as operand, in order, one entry a use."""
    result: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
    for node in graph.nodes:
        for arg in node.args:
            if isinstance(arg, Node):
                result[arg].append(node)
    return result


def replace_uses(graph: Graph, mapping: Mapping[Node, Argument]) -> None:
    """Let every operand and output that is a key of `mapping` be the value instead."""

    def replaced(arg: Argument) -> Argument:
        while isinstance(arg, Node) and arg in mapping:
            arg = mapping[arg]
        return arg

    for node in graph.nodes:
        node.args = tuple(map(replaced, node.args))
    graph.outputs = [replaced(output) for output in graph.outputs]


def drop_unused(graph: Graph, keep: Callable[[Node], bool]) -> None:
    """Remove calls, constants, loops and choices that nothing reads, unless `keep` says that they have to stay. Stores
    stay, and so does what stores or holds a call to keep in a body, or yields numbers; bodies are left as they are."""
    live: set[Node] = {output for output in graph.outputs if isinstance(output, Node)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.kind is NodeKind.LEAVE and not _stays(node.args[0], live, keep):
            continue
        removable = is_structured(node) or node.kind in (NodeKind.CALL, NodeKind.CONSTANT)
        removable = removable and not node.params.get("yields")
        if not removable or node in live or (node.kind is NodeKind.CALL and keep(node)) or acts(node, keep):
            kept.append(node)
            live.update(arg for arg in node.args if isinstance(arg, Node))
    graph.nodes = kept[::-1]


def _stays(loop: Argument, live: set[Node], keep: Callable[[Node], bool]) -> bool:
    """Whether a loop stays that is left at a LEAVE; live: what is used behind that."""
    assert isinstance(loop, Node)
    results = any(node.op == "tuple_get" and node.args[0] is loop for node in live)
    return results or loop in live or acts(loop, keep)


def map_scalars(value: Any, change: Callable[[Scalar], Any]) -> Any:
    """A param with `change` applied to every symbolic number in it, also inside tuples and lists."""
    if isinstance(value, Symbol | ScalarOp):
        return change(value)
    if isinstance(value, tuple):
        return tuple(map_scalars(item, change) for item in value)
    if isinstance(value, list):
        return [map_scalars(item, change) for item in value]
    return value


def rename_symbols(body: Graph, symbols: Mapping[str, Symbol]) -> None:
    """Let `body`, but for its facts, name each number by the Symbol of its name."""
    known: dict[Scalar, Scalar] = {}

    def rename(scalar: Scalar) -> Scalar:
        if scalar not in known:
            known[scalar] = renamed(scalar, symbols)
        return known[scalar]

    def change(value: Any) -> Any:
        return map_scalars(value, rename)

    def change_type(type_: ArrayType) -> ArrayType:
        return ArrayType(type_.dtype, change(type_.shape), type_.scalar)

    body.outputs = [output if isinstance(output, Node) else change(output) for output in body.outputs]
    for node in body.nodes:
        node.args = tuple(arg if isinstance(arg, Node) else change(arg) for arg in node.args)
        node.params = {key: change(value) for key, value in node.params.items()}
        if isinstance(node.type, tuple):
            node.type = tuple(map(change_type, node.type))
        elif node.type is not None:
            node.type = change_type(node.type)


def same_type(graph: Graph, left: object, right: object, *, required: bool = False) -> bool:
    """Whether two types agree as far as the facts of `graph` tell; required: and what its program sees to."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        pairs = zip(left, right, strict=True) if len(left) == len(right) else None
        return pairs is not None and all(same_type(graph, *pair, required=required) for pair in pairs)
    if not isinstance(left, ArrayType) or not isinstance(right, ArrayType):
        return left is right
    decide = graph.decides if required else graph.facts.decide
    return (
        left.dtype == right.dtype
        and left.scalar == right.scalar
        and left.ndim == right.ndim
        and all(decide(make("eq", *pair)) for pair in zip(left.shape, right.shape, strict=True))
    )


def changing_extents(loop: Node) -> tuple[tuple[int, int, int], ...]:
    """The extents of carried arrays that an iteration may change: the place of the array among what is carried, the
    axis, and the place of the carried number that it is."""
    _, initial, _, body = loop_parts(loop)
    numbers = body.inputs[len(body.inputs) - loop.params.get("numbers", 0) :]
    return tuple(
        (place, axis, numbers.index(size))
        for place, array in enumerate(body.inputs[1 : 1 + len(initial)])
        if isinstance(array, Node)
        for axis, size in enumerate(array.array_type.shape)
        if size in numbers
    )


def substitute_type(type_: ArrayType, mapping: Mapping[str, Scalar]) -> ArrayType:
    """`type_` with symbols of its shape replaced by name."""
    return ArrayType(type_.dtype, tuple(substitute(dim, mapping) for dim in type_.shape), type_.scalar)  # type: ignore[misc]


def drop_input(body: Graph, place: int) -> None:
    """Take the input at `place`, which nothing reads, out of a body."""
    body.nodes.remove(body.inputs.pop(place))  # type: ignore[arg-type]
    moved: dict[str, Symbol] = {}
    for number, value in enumerate(body.inputs[place:], place):
        if isinstance(value, Node):
            value.params["index"] = number
        else:
            moved[value.name] = Symbol(value.name, value.kind, number)
            body.inputs[number] = moved[value.name]
    if moved:
        body.symbols = body.symbols | moved
        rename_symbols(body, body.symbols)
        facts, body.facts = body.facts, Facts()
        for fact in facts.learned:
            body.facts.learn(renamed(fact, body.symbols), True)
