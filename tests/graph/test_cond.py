"""COND nodes and loops with a condition: text, checks, meaning, clones, what passes have to know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.rewrite import drop_unused, origins, written
from dynamo_lite.graph.scalar import ScalarOp, Symbol
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.graph.verify import GraphError, verify
from dynamo_lite.lower import lower
from dynamo_lite.lower.clone import clone
from dynamo_lite.ops import call
from dynamo_lite.ops.registry import may_report

DOUBLE = np.dtype(np.float64)


def relate(condition: Any) -> bool:
    raise AssertionError(condition)


def halved_or_doubled() -> tuple[Graph, Node]:
    """x, k: x * 0.5 and k + 1 if k < 3, else x itself and 0."""
    graph = Graph()
    x = graph.add_input(ArrayType(DOUBLE, (4,)), "x")
    k = graph.add_symbol("int")
    branches = []
    for place in range(2):
        body = Graph()
        inner = body.add_input(ArrayType(DOUBLE, (4,)), "x")
        number = Symbol(k.name, "int", 1)
        body.inputs.append(number)
        body.symbols[k.name] = number
        if place == 0:
            body.outputs = [call(body, "multiply", (inner, 0.5), {}, None, relate), ScalarOp("add", "int", (number, 1))]
        else:
            body.outputs = [inner, 0]
        branches.append(body)
    condition = ScalarOp("lt", "bool", (k, 3))
    node = graph.add_cond(condition, (x, k), (branches[0], branches[1]), (x.array_type,), (("y0", "int"),))
    result = call(graph, "tuple_get", (node,), {"index": 0}, None, relate)
    graph.outputs = [result, ScalarOp("mul", "int", (node.params["yields"][0], 2))]
    return graph, node


def test_text_tells_both_branches() -> None:
    graph, _ = halved_or_doubled()
    assert str(graph).splitlines()[2:] == [
        "%cond: float64[4], int64 = cond(lt(s0, 3), %x, s0, numbers=1, yields=(y0,))",
        "    s0: int = input(1)",
        "    %x: float64[4] = input(0)",
        "    %multiply: float64[4] = multiply(%x, 0.5)",
        "    return %multiply, add(s0, 1)",
        "  else",
        "    s0: int = input(1)",
        "    %x: float64[4] = input(0)",
        "    return %x, 0",
        "%tuple_get: float64[4] = tuple_get(%cond, index=0)",
        "return %tuple_get, mul(y0, 2)",
    ]


@pytest.mark.parametrize("copied", [False, True])
def test_one_branch_runs(copied: bool) -> None:
    graph, _ = halved_or_doubled()
    graph = lower(clone(graph)) if copied else graph
    verify(graph)
    x = np.arange(4.0)
    half, number = interpret(graph, [x, 2])
    assert half.tolist() == [0.0, 0.5, 1.0, 1.5] and number == 6
    same, number = interpret(graph, [x, 3])
    assert same is x and number == 0


def test_what_a_choice_hands_out_may_be_what_went_in() -> None:
    graph, node = halved_or_doubled()
    x, result = graph.nodes[0], graph.outputs[0]
    assert isinstance(result, Node)
    assert origins(result) == {result, node, x}
    assert written(node) == set()
    body = node.regions[1]
    body.add_store(body.nodes[0], 0.0)
    assert written(node) == {x}
    verify(graph)


def test_unused_choices_go_unless_they_store() -> None:
    graph, node = halved_or_doubled()
    graph.outputs = []
    node.params = {"numbers": 1}
    node.regions[0].nodes.clear()
    drop_unused(graph, may_report)
    assert node not in graph.nodes
    graph, node = halved_or_doubled()
    graph.outputs = []
    node.regions[1].add_store(node.regions[1].nodes[0], 0.0)
    drop_unused(graph, may_report)
    assert node in graph.nodes


def spoil_condition(node: Node) -> None:
    node.args = (1, *node.args[1:])


def spoil_operands(node: Node) -> None:
    node.args = node.args[:-1]


def spoil_kind(node: Node) -> None:
    node.regions[1].outputs[1] = 0.5


def spoil_type(node: Node) -> None:
    body = node.regions[1]
    body.outputs[0] = body.add_constant(np.zeros(3))


def spoil_yields(node: Node) -> None:
    node.params = {"numbers": 1}


def spoil_facts(node: Node) -> None:
    body = node.regions[1]
    body.facts.learn(ScalarOp("lt", "bool", (body.inputs[1], 3)), True)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_condition, "is no bool"),
        (spoil_operands, "values go into a branch"),
        (spoil_kind, "one branch returns numbers"),
        (spoil_type, "a branch returns"),
        (spoil_yields, "no symbols for its numbers"),
        (spoil_facts, "takes le"),
    ],
)
def test_verify_refuses(spoil: Any, words: str) -> None:
    graph, node = halved_or_doubled()
    spoil(node)
    with pytest.raises(GraphError, match=words):
        verify(graph)


def test_a_branch_may_rest_on_the_condition() -> None:
    graph, node = halved_or_doubled()
    body = node.regions[0]
    body.facts.learn(ScalarOp("le", "bool", (body.inputs[1], 2)), True)
    verify(graph)


def doubling(condition: Any) -> Graph:
    """x doubled until `condition(its first element, how often)` is false."""
    graph = Graph()
    x = graph.add_input(ArrayType(DOUBLE, (4,)), "x")
    body = Graph()
    index = Symbol("i0", "int", 0)
    body.inputs.append(index)
    body.symbols["i0"] = index
    inner = body.add_input(ArrayType(DOUBLE, (4,)), "x")
    twice = call(body, "add", (inner, inner), {}, None, relate)
    first = call(body, "basic_index", (twice,), {"index": (0,), "scalar": True}, None, relate)
    body.outputs = [twice, condition(body, first, index)]
    loop = graph.add_loop((0, 2**63 - 1, 1), (x,), (), body, has_condition=True)
    graph.outputs = [call(graph, "tuple_get", (loop,), {"index": 0}, None, relate)]
    return graph


def test_loops_end_by_a_number() -> None:
    graph = doubling(lambda body, first, index: ScalarOp("lt", "bool", (index, 2)))
    verify(graph)
    assert interpret(graph, [np.arange(4.0)])[0].tolist() == [0.0, 8.0, 16.0, 24.0]


def test_loops_end_by_a_numpy_scalar() -> None:
    graph = doubling(lambda body, first, index: call(body, "scalar_less", (first, 10.0), {}, None, relate))
    verify(graph)
    assert "while=True" in str(graph)
    assert interpret(graph, [np.ones(4)])[0].tolist() == [16.0] * 4
    assert interpret(graph, [np.full(4, np.nan)])[0].tolist() != [np.nan]


def test_verify_refuses_a_condition_that_is_no_bool() -> None:
    with pytest.raises(GraphError, match="is no bool"):
        verify(doubling(lambda body, first, index: first))
