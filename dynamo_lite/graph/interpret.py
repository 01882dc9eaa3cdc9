"""Runs a graph node by node with plain NumPy: the oracle that programs are compared with, and a backend.

Enters: a graph and its inputs as real arrays, NumPy scalars and Python numbers. Leaves: the outputs, in order. Views
are real views and stores real stores, so inputs change as the graph says; floating-point errors are reported by the
errstate that is in force. Every op is its OpDef.evaluate. A loop runs its body for every number of its range, or until
its condition is false; the values it carries are handed on as they are, so that after no iteration they are the initial
objects. Of a choice one branch runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.opdef import REGISTRY, place_of_size
from dynamo_lite.graph.rewrite import map_scalars
from dynamo_lite.graph.scalar import Number, Symbol, evaluate
from dynamo_lite.graph.types import NUMBER_DTYPES


def symbol_values(graph: Graph, inputs: Sequence[Any]) -> dict[str, Number]:
    """What each symbol of `graph` is when it is run on `inputs`."""
    return {symbol.name: value_of(symbol, inputs) for symbol in graph.symbols.values() if symbol.input >= 0}


def value_of(symbol: Symbol, inputs: Sequence[Any]) -> Number:
    """What a symbol is that an input brings."""
    given = inputs[symbol.input]
    if symbol.axis is not None:
        return given.shape[symbol.axis]  # type: ignore[no-any-return]
    return given.item() if isinstance(given, np.generic) else given  # type: ignore[no-any-return]


def interpret(
    graph: Graph, inputs: Sequence[Any], before_call: Callable[[str, tuple[Any, ...]], None] | None = None
) -> list[Any]:
    """Run `graph` on `inputs`; whatever NumPy raises comes through, and what before_call(op, args) raises."""
    env = symbol_values(graph, inputs)
    values: dict[Node, Any] = {}

    def concrete(value: Any) -> Any:
        return values[value] if isinstance(value, Node) else map_scalars(value, lambda scalar: evaluate(scalar, env))

    for node in graph.nodes:
        if node.kind is NodeKind.INPUT:
            values[node] = inputs[node.params["index"]]
        elif node.kind is NodeKind.CONSTANT:
            values[node] = node.params["value"]
        elif node.kind is NodeKind.STORE:
            target, value = map(concrete, node.args)
            target[...] = value
        elif node.kind is NodeKind.CALL:
            params = {key: concrete(value) for key, value in node.params.items() if key != "yields"}
            args = tuple(map(concrete, node.args))
            if before_call is not None:
                before_call(node.op, args)
            values[node] = REGISTRY[node.op].evaluate(args, params)
            env.update(numbers_of(node, values[node]))
        elif node.kind is NodeKind.LOOP:
            start, stop, step, *rest = map(concrete, node.args)
            carried, captured = rest[: node.params["carried"]], rest[node.params["carried"] :]
            split = len(captured) - node.params.get("numbers", 0)
            at, *pauses = node.params.get("pause", (None,))
            for index in range(start, stop, step):
                if any(evaluate(pause, env | {at.name: index}) for pause in pauses):
                    break
                outputs = interpret(node.regions[0], [index, *carried, *captured], before_call)
                goes_on = not node.params.get("while") or outputs.pop()
                carried, captured = outputs[: len(carried)], captured[:split] + outputs[len(carried) :]
                if not goes_on:
                    break
            values[node] = results(node, carried, captured[split:], env)
        elif node.kind is NodeKind.COND:
            condition, *operands = map(concrete, node.args)
            outputs = interpret(node.regions[0 if condition else 1], operands, before_call)
            split = len(outputs) - node.params.get("numbers", 0)
            values[node] = results(node, outputs[:split], outputs[split:], env)
        elif node.kind is not NodeKind.LEAVE:
            raise NotImplementedError(f"{node.name}: no interpretation of {node.kind.value} nodes")
    return [concrete(output) for output in graph.outputs]


def numbers_of(node: Node, value: Any) -> dict[str, Number]:
    """What a CALL node whose result is `value` yields."""
    place = place_of_size(node)
    if place is None:
        return {symbol.name: value.item() for symbol in node.params.get("yields", ())}
    array = value[place[0]] if isinstance(node.type, tuple) else value
    return {node.params["yields"][0].name: array.shape[place[1]]}


def results(node: Node, nodes: list[Any], numbers: list[Any], env: dict[str, Number]) -> tuple[Any, ...]:
    """What a loop or a choice yields; its symbols get their numbers in `env`."""
    env.update((symbol.name, number) for symbol, number in zip(node.params.get("yields", ()), numbers, strict=False))
    return *nodes, *(NUMBER_DTYPES[type(number)].type(number) for number in numbers)
