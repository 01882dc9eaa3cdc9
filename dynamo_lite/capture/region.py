"""close_region, close_branches: traced bodies, closed and appended to the graph around them as a loop or a choice.

Enters: a Region whose nodes still refer to nodes and symbols of outside, with the values that its loop carries. Leaves:
a LOOP or a COND node. What a body takes from outside becomes an input: arrays as such, each number (a size, an
argument, the index of a loop around) as a Symbol of the same name. A value that every iteration hands on as it got it
is not carried:

    x = carried, y = carried;  y = add(y, x);  x, y = x, y   ->   x is captured, y carried
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from dynamo_lite._C import abi
from dynamo_lite.capture.loops.shared_views import address_root, remake, shared_views
from dynamo_lite.capture.state import Region, Tracer
from dynamo_lite.dataclass import replace
from dynamo_lite.graph.facts import Facts
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Argument, Node
from dynamo_lite.graph.rewrite import changing_extents, map_scalars, rename_symbols
from dynamo_lite.graph.scalar import Scalar, Symbol, is_symbolic, kind_of, make, renamed, symbols_of, terms_of

MAX_YIELDS = abi.MAX_CARRIED_NUMBERS  # numbers of one choice: csrc/program/cond.c has room for so many

Path = TypeVar("Path", bound=Hashable)


def close_region(
    tracer: Tracer,
    region: Region,
    bounds: tuple[Scalar, Scalar, Scalar],
    inputs: Mapping[Path, Node],
    initial: Mapping[Path, Node],
    ends: Mapping[Path, Node],
    numbers: Mapping[Path, tuple[Scalar, Scalar]],
    condition: Argument | None,
) -> tuple[Node, dict[Path, int]]:
    """Append the loop to the tracer's graph, the one around `region`; also the place of each carried value in it.

    inputs: the body's stand-ins for the carried values; initial: what goes in for them; ends: what comes out. numbers:
    of those that are carried, what goes in and what comes out. condition: whether to go on after an iteration.
    """
    body = region.graph
    replaced: dict[Node, Node] = {}
    outcome = dict(ends)
    carried = list(inputs)
    while (path := next((p for p in carried if outcome[p] in (inputs[p], initial[p])), None)) is not None:
        carried.remove(path)
        replaced[inputs[path]] = initial[path]
        outcome = {p: initial[path] if end is inputs[path] else end for p, end in outcome.items()}
    body.nodes = [node for node in body.nodes if node not in replaced]

    own = list(body.nodes)
    captured: dict[Node, Node] = {}
    made: dict[Node, Node] = {}
    inside = set(own)
    for node in own:
        node.args = tuple(replaced.get(arg, arg) if isinstance(arg, Node) else arg for arg in node.args)
    results = [replaced.get(outcome[path], outcome[path]) for path in carried]
    taken = (arg for node in own for arg in node.args if isinstance(arg, Node) and arg not in inside)
    views = shared_views(own, results, taken)

    def take(array: Node) -> Node:
        if array not in captured:
            captured[array] = body.add_input(array.array_type, array.name)
        return captured[array]

    def inner(arg: Any) -> Any:
        if not isinstance(arg, Node) or arg in inside:
            return arg
        return remake(arg, take, made, body) if arg in views else take(arg)

    for node in own:
        node.args = tuple(map(inner, node.args))
    body.outputs = list(map(inner, results))
    body.outputs += [tracer.canonical(end) for _, end in numbers.values()]
    if condition is not None:
        if isinstance(condition, Node):
            condition = inner(replaced.get(condition, condition))
        else:
            condition = tracer.canonical(condition)
        body.outputs.append(condition)
    tracer.canonicalise(body)

    arrays = [*(inputs[path] for path in carried), *captured.values()]
    counted = {path: region.numbers[path] for path in numbers}  # type: ignore[index]
    names = {region.index.name, *(symbol.name for symbol in counted.values()), *_yields(body)}
    outside = list(_symbols(body, names).values())
    symbols = {
        symbol.name: Symbol(symbol.name, symbol.kind, place) for place, symbol in enumerate(outside, 1 + len(arrays))
    }
    symbols[region.index.name] = region.index
    for place, symbol in enumerate(counted.values(), 1 + len(arrays) + len(outside)):
        symbols[symbol.name] = Symbol(symbol.name, symbol.kind, place)
    body.inputs = [region.index, *arrays, *(symbols[symbol.name] for symbol in (*outside, *counted.values()))]
    for place, node in enumerate(arrays, 1):
        node.params["index"] = place
    body.nodes = [*arrays, *made.values(), *(node for node in own if node not in set(arrays))]
    body.symbols = symbols | _yields(body)
    for path, (begin, end) in numbers.items():  # an extent that stays: arrays that are not carried have it, too
        if counted[path].name in region.extents and end is counted[path]:
            body.facts.learn(make("eq", end, begin), True)
    body.facts = _facts(body.facts, tracer.graph.facts, outside, body.symbols)
    rename_symbols(body, body.symbols)
    begins = [begin for begin, _ in numbers.values()]
    others = (*captured, *outside, *begins)
    values = tuple(initial[path] for path in carried)
    start, stop, step = map(tracer.canonical, bounds)  # as the body's facts name them
    whole, here = (start, stop, step), tracer.location()
    loop = tracer.graph.add_loop(whole, values, others, body, here, len(begins), condition is not None)
    changing = {place for _, _, place in changing_extents(loop)}
    if numbers and (tracer.regions or changing):
        loop.params["yields"] = tuple(
            tracer.graph.add_size(name) if place in changing else tracer.graph.add_yield(name, symbol.kind)
            for place, (name, symbol) in enumerate(zip(tracer.yield_names(len(begins)), counted.values(), strict=True))
        )
        _type_extents(loop, changing_extents(loop))
    return loop, {path: place for place, path in enumerate((*carried, *numbers))}


def _type_extents(node: Node, extents: Sequence[tuple[int, int, int]]) -> None:
    """Let the arrays that `node` hands out have the extents that it yields: of which array, axis and number."""
    assert isinstance(node.type, tuple)
    types = list(node.type)
    for place, axis, number in extents:
        shape = list(types[place].shape)
        shape[axis] = node.params["yields"][number]
        types[place] = replace(types[place], shape=tuple(shape))
    node.type = tuple(types)


def close_branches(
    tracer: Tracer,
    condition: Argument,
    branches: tuple[Region, Region],
    results: Sequence[tuple[Node, Node]],
    numbers: Sequence[tuple[Scalar, Scalar]],
    extents: Mapping[tuple[int, int], int] | None = None,
) -> Node:
    """Append the choice between two regions to the tracer's graph, the one around them.

    results: nodes that either hands out; numbers: the same. A branch may hand out what comes from outside. extents: by
    the place of a result and an axis the place of the number that is this extent, where the branches' differ.
    """
    condition = condition if isinstance(condition, Node) else tracer.canonical(condition)
    types = tuple(pair[0].array_type for pair in results)
    kinds = [kind_of(pair[0]) for pair in numbers]
    outside: dict[str, Symbol] = {}
    nodes, results_, taken = [], [], []
    for place, region in enumerate(branches):
        body = region.graph
        inside = set(body.nodes)
        ends = [pair[place] for pair in results]
        args = (*(arg for node in body.nodes for arg in node.args), *ends)
        taken += [arg for arg in args if isinstance(arg, Node) and arg not in inside]
        nodes += body.nodes
        results_ += ends
        body.outputs = [*ends, *(tracer.canonical(pair[place]) for pair in numbers)]
        tracer.canonicalise(body)
    views = shared_views(nodes, results_, taken)
    captured = dict.fromkeys(address_root(arg) if arg in views else arg for arg in taken)
    stand_ins = []
    for region in branches:
        body = region.graph
        own, made = list(body.nodes), dict[Node, Node]()
        inputs = {node: body.add_input(node.array_type, node.name) for node in captured}
        for node in own:
            node.args = tuple(_inner(arg, inputs, views, made, body) for arg in node.args)
        body.outputs = [_inner(end, inputs, views, made, body) for end in body.outputs]
        body.nodes = [*made.values(), *own]
        outside |= _symbols(body, set(_yields(body)))
        stand_ins.append(inputs)
    for node in captured:  # their sizes are numbers that go in
        map_scalars(node.array_type.shape, lambda scalar: _note_symbols(scalar, outside))
    symbols = {
        symbol.name: Symbol(symbol.name, symbol.kind, place)
        for place, symbol in enumerate(outside.values(), len(captured))
    }
    for region, inputs in zip(branches, stand_ins, strict=True):
        body = region.graph
        body.inputs = [*inputs.values(), *symbols.values()]
        body.nodes = [*inputs.values(), *body.nodes]
        for place, node in enumerate(inputs.values()):
            node.params["index"] = place
        body.symbols = symbols | _yields(body)
        known = tracer.graph.facts.copy()
        if not isinstance(condition, Node):
            known.learn(condition, region is branches[0])
        facts = _facts(body.facts, tracer.graph.facts, list(outside.values()), body.symbols)
        rename_symbols(body, body.symbols)
        required = body.required()

        def rests(fact: Scalar, required: Facts = required, known: Facts = known) -> bool:
            """Whether something may rest on a fact: it is known outside, or required."""
            is_known = symbols_of(fact) <= outside.keys() and known.decide(renamed(fact, outside))
            return bool(is_known or required.decide(fact))

        kept = [fact for fact in facts.learned if rests(fact)]
        body.facts = facts if len(kept) == len(facts.learned) else _holding(kept)
    node = tracer.graph.add_cond(
        condition,
        (*captured, *outside.values()),
        (branches[0].graph, branches[1].graph),
        types,
        tuple(zip(tracer.yield_names(len(kinds)), kinds, strict=True)),
        tracer.location(),
    )
    _type_extents(node, [(place, axis, number) for (place, axis), number in (extents or {}).items()])
    for number in set((extents or {}).values()):
        tracer.graph.facts.learn(make("ge", node.params["yields"][number], 0), True)
    return node


def _inner(
    arg: Argument, inputs: Mapping[Node, Node], views: set[Node], made: dict[Node, Node], body: Graph
) -> Argument:
    """What stands in a body for a value from outside; another value itself."""
    if not isinstance(arg, Node):
        return arg
    return remake(arg, inputs.__getitem__, made, body) if arg in views else inputs.get(arg, arg)


def _yields(body: Graph) -> dict[str, Symbol]:
    """The numbers that the nodes of a body yield."""
    return {symbol.name: symbol for node in body.nodes for symbol in node.params.get("yields", ())}


def _note_symbols(value: Scalar, found: dict[str, Symbol], own: Collection[str] = ()) -> Scalar:
    """Note the symbols in `value` but for those with a name of `own`."""
    for one in (value, *(operand for term in terms_of(value) for operand in term.operands)):
        if isinstance(one, Symbol) and one.name not in own:
            found.setdefault(one.name, one)
    return value


def _symbols(body: Graph, own: set[str]) -> dict[str, Symbol]:
    """The symbols of outside that the body uses, in the order of their first use. own: the names of others."""
    found: dict[str, Symbol] = {}

    def note(value: Scalar) -> Scalar:
        return _note_symbols(value, found, own)

    for node in body.nodes:
        for type_ in node.type if isinstance(node.type, tuple) else (node.type,):
            map_scalars(() if type_ is None else type_.shape, note)
        map_scalars(tuple(arg for arg in node.args if not isinstance(arg, Node)), note)
        map_scalars(tuple(node.params.values()), note)
    map_scalars(tuple(output for output in body.outputs if not isinstance(output, Node)), note)
    return found


def _holding(conditions: Sequence[Scalar]) -> Facts:
    """The facts that these hold."""
    facts = Facts()
    for condition in conditions:
        facts.learn(condition, True)
    return facts


def _facts(inside: Facts, outside: Facts, numbers: list[Symbol], symbols: Mapping[str, Symbol]) -> Facts:
    """What is known of the numbers of the body alone; outside some of them are sizes, here all are plain numbers."""
    facts = Facts()
    for number in numbers:
        for condition in (make("ge", number, 0), make("ne", number, 1)):
            if outside.decide(condition):
                facts.learn(renamed(condition, symbols), True)
    renamed_by = inside.equalities.named_by(symbols.keys())
    for condition in inside.learned:
        others = symbols_of(condition) - symbols.keys()
        if others and others <= renamed_by:  # of numbers that go in it may say the same
            condition = inside.equalities.with_names(condition)
        elif others:
            continue
        if is_symbolic(condition) and symbols_of(condition) <= symbols.keys():
            facts.learn(renamed(condition, symbols), True)
    for place, number in enumerate(numbers):  # which may be equal by way of a number that does not go in
        for other in numbers[:place]:
            if not inside.may_equal(other, number):
                continue
            same = make("eq", other, number)
            if is_symbolic(same) and facts.decide(renamed(same, symbols)) is None and inside.decide(same):
                facts.learn(renamed(same, symbols), True)
    return facts
