"""Checks a graph: everything is defined before its use, types are what the ops infer, stores hit writable memory.

Enters: any graph, from capture or after a pass. Leaves: nothing, or GraphError naming the node. Types are inferred
again from the graph's own facts alone, so a type that rests on an unguarded relation is an error too. The body of a
loop is checked as a graph of its own, and what it takes for granted has to follow from the facts outside; so is a
branch, where the condition is one of these facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynamo_lite.graph.facts import at_worst, learn_index
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, OpError, Undecided
from dynamo_lite.graph.rewrite import loop_parts, map_scalars, root, same_type, substitute_type
from dynamo_lite.graph.scalar import Scalar, Symbol, kind_of, make, substitute, symbols_of, terms_of
from dynamo_lite.graph.types import ArrayType, number_type


class GraphError(Exception):
    """A graph breaks a rule; the text names the node."""


class Around(NamedTuple):
    """What a body's verification knows from outside. varying: symbols that change from one iteration to the next, or
    are computed. settled: sizes of what goes in of which the graph around it knows whether they are 1."""

    varying: frozenset[str] = frozenset()
    settled: frozenset[Scalar] = frozenset()


OUTERMOST = Around()


def verify(graph: Graph, around: Around = OUTERMOST) -> None:
    """Raise GraphError if `graph` is not well formed."""
    defined: set[Node] = set()
    names: set[str] = set()
    around = around._replace(varying=around.varying | _yielded(graph))
    for node in graph.nodes:
        for arg in node.args:
            _check_argument(graph, node.name, arg, defined)
        for value in node.params.values():
            map_scalars(value, lambda scalar, node=node: _check_symbols(graph, node.name, scalar))  # type: ignore[misc]
        if node.name in names:
            raise GraphError(f"{node.name}: the name is taken")
        _CHECKS[node.kind](graph, node, around)
        names.add(node.name)
        defined.add(node)
    for index, value in enumerate(graph.inputs):
        if isinstance(value, Node) and value not in defined:
            raise GraphError(f"{value.name}: input {index} is not among the nodes")
        if isinstance(value, Symbol) and graph.symbols.get(value.name) is not value:
            raise GraphError(f"{value.name}: input {index} is not among the symbols")
    for output in graph.outputs:
        _check_argument(graph, "return", output, defined)


def _check_argument(graph: Graph, name: str, arg: Argument, defined: set[Node]) -> None:
    if isinstance(arg, Node):
        if arg not in defined:
            raise GraphError(f"{name}: %{arg.name} is used before it is defined")
        if arg.type is None:
            raise GraphError(f"{name}: %{arg.name} has no value")
    else:
        _check_symbols(graph, name, arg)


def _check_symbols(graph: Graph, name: str, value: Scalar) -> None:
    for one in (value, *(operand for term in terms_of(value) for operand in term.operands)):
        if isinstance(one, Symbol) and graph.symbols.get(one.name) != one:
            raise GraphError(f"{name}: {one} is not a symbol of this graph")


def _check_input(graph: Graph, node: Node, around: Around) -> None:
    index = node.params.get("index")
    if not isinstance(index, int) or not 0 <= index < len(graph.inputs) or graph.inputs[index] is not node:
        raise GraphError(f"{node.name}: it is not input {index} of the graph")
    _check_type(graph, node, node.array_type, around)


def _check_constant(graph: Graph, node: Node, around: Around) -> None:
    value = node.params["value"]
    if (value.dtype, value.shape) != (node.array_type.dtype, node.array_type.shape):
        raise GraphError(f"{node.name}: its value is {value.dtype}{value.shape}, its type {node.type}")


def _check_call(graph: Graph, node: Node, around: Around) -> None:
    op = REGISTRY.get(node.op)
    if op is None:
        raise GraphError(f"{node.name}: there is no op {node.op}")

    def relate(condition: Scalar) -> bool:
        truth = graph.decides(condition)
        if truth is None:
            raise Undecided(condition)
        return truth

    try:
        inferred = op.infer(node.args, node.params, relate)
    except Undecided as error:
        reason = f"its type rests on {error.condition}, which no fact of the graph decides"
        raise GraphError(f"{node.name}: {reason}") from error
    except OpError as error:
        raise GraphError(f"{node.name}: {error}") from error
    for type_ in node.type if isinstance(node.type, tuple) else (node.type,):
        if type_ is None:
            raise GraphError(f"{node.name}: a call has a type")
        _check_type(graph, node, type_, around)
    if not same_type(graph, inferred, node.type, required=True):
        raise GraphError(f"{node.name}: {node.op} yields {_types(inferred)}, the node says {_types(node.type)}")
    if "yields" in node.params:
        is_float = not op.open_size and node.array_type.dtype.kind == "f"
        _check_yields(graph, node, ("float" if is_float else "int",))


def _types(type_: object) -> str:
    return ", ".join(map(str, type_)) if isinstance(type_, tuple) else str(type_)


def _check_type(graph: Graph, node: Node, type_: ArrayType, around: Around) -> None:
    if type_.scalar and type_.shape:
        raise GraphError(f"{node.name}: a NumPy scalar has no axes")
    if not type_.dtype.isnative:
        raise GraphError(f"{node.name}: the byte order of {type_.dtype} is not native")
    for dim in type_.shape:
        _check_symbols(graph, node.name, dim)
        settled = dim in around.settled or around.varying & symbols_of(dim)
        if graph.facts.decide(make("ne", dim, 1)) is None and not settled:
            raise GraphError(f"{node.name}: whether its axis {dim} has size 1 is not known")


def _settled(graph: Graph, body: Graph, outside: Mapping[str, Scalar], around: Around) -> frozenset[Scalar]:
    """The sizes of the arrays that go into a body of which `graph`, around it, knows whether they are 1."""

    def is_settled(dim: Scalar) -> bool:
        known = substitute(dim, outside)
        return known in around.settled or graph.facts.decide(make("ne", known, 1)) is not None

    arrays = (value.array_type for value in body.inputs if isinstance(value, Node))
    return frozenset(dim for type_ in arrays for dim in type_.shape if is_settled(dim))


def _check_store(graph: Graph, node: Node, around: Around) -> None:
    target, value = node.args
    if not isinstance(target, Node):
        raise GraphError(f"{node.name}: its target is a number")
    origin = root(target)
    if origin.kind not in (NodeKind.INPUT, NodeKind.CALL) or target.array_type.scalar:
        raise GraphError(f"{node.name}: %{target.name} is no array of the graph's inputs or its own")
    shape = value.array_type.shape if isinstance(value, Node) else ()
    room = target.array_type.shape
    if any(size != 1 for size in shape[: max(0, len(shape) - len(room))]):
        raise GraphError(f"{node.name}: the value has more axes than the target")
    for size, space in zip(reversed(shape), reversed(room), strict=False):
        if size != 1 and not graph.decides(make("eq", size, space)):
            raise GraphError(f"{node.name}: {size} elements do not fit an axis of {space}")


def _check_arrays(
    graph: Graph, node: Node, body: Graph, outer: Sequence[Argument], numbers: Mapping[str, Any]
) -> None:
    """That arrays go into a body where it takes arrays, of the types that it takes by the numbers that go in."""
    for place, (inner, value) in enumerate(zip(body.inputs, outer, strict=True)):
        if isinstance(inner, Symbol):
            continue
        if not isinstance(value, Node):
            raise GraphError(f"{node.name}: the number {value} goes in for the array %{inner.name}")
        if not same_type(graph, substitute_type(inner.array_type, numbers), value.type):
            raise GraphError(f"{node.name}: {value.type} goes in for %{inner.name}, input {place}: {inner.type}")


def _check_loop(graph: Graph, node: Node, around: Around) -> None:
    if len(node.args) < 3 + node.params.get("carried", 0) or len(node.regions) != 1:
        raise GraphError(f"{node.name}: a loop has three bounds, its carried values and one body")
    bounds, initial, captured, body = loop_parts(node)
    if any(isinstance(bound, Node) or kind_of(bound) != "int" for bound in bounds):
        raise GraphError(f"{node.name}: its bounds are no ints")
    if not graph.facts.decide(make("ne", bounds[2], 0)):
        raise GraphError(f"{node.name}: whether its step is 0 is not known")
    outer: tuple[Argument, ...] = (0, *initial, *captured)
    if len(body.inputs) != len(outer):
        raise GraphError(f"{node.name}: {len(outer)} values go into a body of {len(body.inputs)} inputs")
    index = body.inputs[0]
    if not isinstance(index, Symbol) or index.kind != "int":
        raise GraphError(f"{node.name}: the body's first input is no index")
    # Outside the body's numbers are what goes in for them; the index is a number of its own.
    fresh = Symbol(f"{node.name}.index", "int", -1)
    outside: dict[str, Scalar] = {index.name: fresh}
    first = len(outer) - node.params.get("numbers", 0)
    changing = {index.name}
    for symbol in body.inputs[first:]:
        if not isinstance(symbol, Symbol) or symbol.kind not in ("int", "float", "bool"):
            raise GraphError(f"{node.name}: the body hands on %{symbol.name}, which is no number")
        outside[symbol.name] = Symbol(f"{node.name}.{symbol.name}", symbol.kind, -1)
        changing.add(symbol.name)
    for symbol in body.symbols.values():
        if symbol.axis is not None:
            raise GraphError(f"{node.name}: the body's size {symbol} is no number that goes in")
        if symbol.input < 0:
            changing.add(symbol.name)
            continue
        value = outer[symbol.input]
        if symbol.input and (isinstance(value, Node) or kind_of(value) != symbol.kind):
            raise GraphError(f"{node.name}: what goes in for the number {symbol} is no {symbol.kind}")
        outside.setdefault(symbol.name, value)  # type: ignore[arg-type]
    numbers = [symbol.name for symbol in body.inputs[first:]]
    begins: dict[str, Any] = {**outside, **dict(zip(numbers, outer[first:], strict=True))}  # extents that change, too
    _check_arrays(graph, node, body, outer, begins)
    facts = graph.facts.copy()
    learn_index(facts, fresh, *bounds)
    for pause in _check_pause(graph, node):
        facts.learn(substitute(pause, {node.params["pause"][0].name: fresh}), False)
    own = _yielded(body)
    required = body.required()
    both = facts.copy()
    for condition in required.learned:
        if not own & symbols_of(condition):
            both.learn(substitute(condition, outside), True)
    inside = both.copy()  # and of what the body computes, by what sizes are known to be equal outside
    for condition in required.learned:
        inside.learn(substitute(condition, outside), True)
    ends: dict[str, Any] = dict(zip(numbers, body.outputs[len(initial) :], strict=False))  # after an iteration
    begun = [one for one in body.facts.learned if facts.decide(substitute(one, begins))]
    for condition in begun:  # what each iteration keeps, and with it what is required may tell more
        if symbols_of(condition).isdisjoint({index.name, *own}) and body.facts.decide(substitute(condition, ends)):
            required.learn(condition, True)
    for condition in body.facts.learned:
        if required.decide(condition) or both.decide(substitute(condition, outside)):
            continue
        if own & symbols_of(condition):
            if inside.decide(substitute(condition, outside)):
                continue
            raise GraphError(f"{node.name}: the body takes {condition} for granted, of a number that it computes")
        known = substitute(condition, outside)
        worst = at_worst(facts, known, fresh, *bounds)
        if not facts.decide(known) and (worst is None or not facts.decide(worst)):
            raise GraphError(f"{node.name}: the body takes {condition} for granted, which is not known outside")
    changing |= {name for name, value in outside.items() if around.varying & symbols_of(value)}
    verify(body, Around(frozenset(changing), _settled(graph, body, outside, around)))
    outputs = body.outputs
    if node.params.get("while"):
        outputs = body.outputs[:-1]
        _check_condition(node, body.outputs[-1] if body.outputs else 0)
    if len(outputs) != len(initial) + len(outer) - first:
        raise GraphError(f"{node.name}: {len(initial)} values are carried, the body returns {len(body.outputs)}")
    for symbol, number in zip(body.inputs[first:], outputs[len(initial) :], strict=True):
        if isinstance(number, Node) or kind_of(number) != symbol.kind:
            raise GraphError(f"{node.name}: the number {symbol} is of another kind after an iteration")
    for place, output in enumerate(outputs[: len(initial)]):
        carried = body.inputs[1 + place]
        if isinstance(carried, Symbol) or not isinstance(output, Node):
            raise GraphError(f"{node.name}: carried value {place} is a number")
        if not same_type(body, output.type, substitute_type(carried.array_type, ends)):
            raise GraphError(f"{node.name}: carried value {place} is {carried.type} before, {output.type} after")
    behind = dict(zip(numbers, node.params.get("yields", ()), strict=False))
    carried_in = [one for one in body.inputs[1 : 1 + len(initial)] if isinstance(one, Node)]
    types = [substitute_type(one.array_type, begins | behind) for one in carried_in]
    types += map(number_type, outer[first:])  # type: ignore[arg-type]
    if not same_type(graph, node.type, tuple(types)):
        raise GraphError(f"{node.name}: it yields {_types(tuple(value.type for value in initial))}")
    _check_yields(graph, node, tuple(kind_of(number) for number in outer[first:]))  # type: ignore[arg-type]


def _check_pause(graph: Graph, node: Node) -> tuple[Scalar, ...]:
    """The conditions for which a loop pauses."""
    if "pause" not in node.params:
        return ()
    index, *conditions = node.params["pause"]
    is_yielded = isinstance(index, Symbol) and index.input < 0 and graph.symbols.get(index.name) == index
    if not is_yielded or index.kind != "int":
        raise GraphError(f"{node.name}: {index} is no index to pause at")
    if any(kind_of(condition) != "bool" for condition in conditions):
        raise GraphError(f"{node.name}: it pauses for what is no bool")
    leaves = (other for other in graph.nodes if other.kind is NodeKind.LEAVE)
    if not any(other.args[0] is node for other in leaves):
        raise GraphError(f"{node.name}: it pauses, and nothing says how it is left")
    return tuple(conditions)


def _yielded(graph: Graph) -> set[str]:
    """The names of the numbers that nodes of `graph` yield."""
    return {symbol.name for symbol in graph.symbols.values() if symbol.input < 0}


def _check_condition(node: Node, condition: Argument) -> None:
    if isinstance(condition, Node):
        type_ = condition.type
        if not isinstance(type_, ArrayType) or not type_.scalar or type_.dtype != np.dtype(bool):
            raise GraphError(f"{node.name}: its condition %{condition.name} is no bool")
    elif kind_of(condition) != "bool":
        raise GraphError(f"{node.name}: its condition {condition} is no bool")


def _check_yields(graph: Graph, node: Node, kinds: tuple[str, ...]) -> None:
    symbols = node.params.get("yields", ())
    if symbols and tuple(symbol.kind for symbol in symbols) != kinds:
        raise GraphError(f"{node.name}: its numbers are {kinds}, its symbols {symbols}")
    for symbol in symbols:
        if symbol.input >= 0 or graph.symbols.get(symbol.name) != symbol:
            raise GraphError(f"{node.name}: {symbol} is no number that a node of the graph yields")


def _check_cond(graph: Graph, node: Node, around: Around) -> None:
    if not node.args or len(node.regions) != 2 or not isinstance(node.type, tuple):
        raise GraphError(f"{node.name}: a choice has a condition and two branches")
    condition, *outer = node.args
    _check_condition(node, condition)
    split = len(node.type) - node.params.get("numbers", 0)
    kinds: list[tuple[str, ...]] = []
    for truth, body in zip((True, False), node.regions, strict=True):
        if len(body.inputs) != len(outer):
            raise GraphError(f"{node.name}: {len(outer)} values go into a branch of {len(body.inputs)} inputs")
        outside: dict[str, Scalar] = {}
        for symbol in body.symbols.values():
            if symbol.axis is not None:
                raise GraphError(f"{node.name}: the branch's size {symbol} is no number that goes in")
            if symbol.input < 0:
                continue
            value = outer[symbol.input]
            if isinstance(value, Node) or kind_of(value) != symbol.kind:
                raise GraphError(f"{node.name}: what goes in for the number {symbol} is no {symbol.kind}")
            outside[symbol.name] = value
        _check_arrays(graph, node, body, outer, outside)
        facts = graph.facts.copy()
        if not isinstance(condition, Node):
            facts.learn(condition, truth)
        own, required = _yielded(body), body.required()
        for one in required.learned:  # by the names that equal numbers have there
            facts.learn(substitute(one, outside), True)
        for known in body.facts.learned:
            if not required.decide(known) and not facts.decide(substitute(known, outside)):
                raise GraphError(f"{node.name}: a branch takes {known} for granted, which is not known outside")
        changing = own | {name for name, value in outside.items() if around.varying & symbols_of(value)}
        verify(body, Around(frozenset(changing), _settled(graph, body, outside, around)))
        types = tuple(
            substitute_type(output.array_type, outside) for output in body.outputs[:split] if isinstance(output, Node)
        )
        names = [symbol.name for symbol in node.params.get("yields", ())]
        numbers = [substitute(one, outside) for one in body.outputs[split:] if not isinstance(one, Node)]
        yielded = dict(zip(names, numbers, strict=False))
        wanted = tuple(substitute_type(one, yielded) for one in node.type[:split])
        if len(body.outputs) != len(node.type) or not same_type(graph, types, wanted):
            raise GraphError(f"{node.name}: a branch returns {_types(types)}, the node says {_types(node.type)}")
        kinds.append(tuple("" if isinstance(one, Node) else kind_of(one) for one in body.outputs[split:]))
    if kinds[0] != kinds[1]:
        raise GraphError(f"{node.name}: one branch returns numbers that are {kinds[0]}, the other {kinds[1]}")
    if kinds[0] and len(node.params.get("yields", ())) != len(kinds[0]):
        raise GraphError(f"{node.name}: it has no symbols for its numbers")
    _check_yields(graph, node, kinds[0])


def _check_leave(graph: Graph, node: Node, around: Around) -> None:
    loop = node.args[0] if node.args else None
    if not isinstance(loop, Node) or loop.kind is not NodeKind.LOOP or node.type is not None:
        raise GraphError(f"{node.name}: only a loop is left")
    if node.params.get("exit") != sum(1 for other in graph.nodes[: graph.nodes.index(node)] if other.kind is node.kind):
        raise GraphError(f"{node.name}: exit {node.params.get('exit')} is out of order")
    between = graph.nodes[graph.nodes.index(loop) + 1 : graph.nodes.index(node)]
    if any(other.op != "tuple_get" or other.args[0] is not loop for other in between):
        raise GraphError(f"{node.name}: it does not stand right behind %{loop.name}")


_CHECKS = {
    NodeKind.INPUT: _check_input,
    NodeKind.CONSTANT: _check_constant,
    NodeKind.CALL: _check_call,
    NodeKind.STORE: _check_store,
    NodeKind.LOOP: _check_loop,
    NodeKind.LEAVE: _check_leave,
    NodeKind.COND: _check_cond,
}
