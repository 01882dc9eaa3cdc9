"""Loops in graphs: text, checks, meaning, whose memory they show and change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dynamo_lite import ops
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Node, NodeKind
from dynamo_lite.graph.rewrite import acts, drop_unused, loop_parts, origins, written
from dynamo_lite.graph.scalar import Symbol, make
from dynamo_lite.graph.text import to_text
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.graph.verify import GraphError, verify
from dynamo_lite.lower.clone import clone
from dynamo_lite.runtime.transaction import transaction

F8 = np.dtype(float)


def region(*numbers: tuple[str, str, int]) -> tuple[Graph, list[Symbol]]:
    """A body whose numbers are (name, kind, input); the inputs of arrays are added by the caller."""
    body = Graph()
    symbols = [Symbol(name, kind, place) for name, kind, place in numbers]
    body.symbols = {symbol.name: symbol for symbol in symbols}
    return body, symbols


def relaxation() -> Graph:
    """for i in range(1, n): a, b = b, a + x[i]; b[...] of before gets += 1, by a store; returns a, b, len(x)."""
    graph = Graph()
    s0 = graph.add_symbol("int", 0, 0)
    x = graph.add_input(ArrayType(F8, (s0,)), "x")
    s1 = graph.add_symbol("int", 1, 0)
    a = graph.add_input(ArrayType(F8, (s1,)), "a")
    s2 = graph.add_symbol("int", 2, 0)
    b = graph.add_input(ArrayType(F8, (s2,)), "b")
    n = graph.add_symbol("int")
    graph.facts.learn(make("eq", s1, s2), True)

    body, (index, s0_, s1_) = region(("i0", "int", 0), (s0.name, "int", 4), (s1.name, "int", 5))
    body.inputs.append(index)
    a_ = body.add_input(ArrayType(F8, (s1_,)), "a")
    b_ = body.add_input(ArrayType(F8, (s1_,)), "b")
    x_ = body.add_input(ArrayType(F8, (s0_,)), "x")
    body.inputs += [s0_, s1_]
    for size in (s0_, s1_):
        body.facts.learn(make("ge", size, 0), True)
        body.facts.learn(make("ne", size, 1), True)
    body.facts.learn(make("ge", index, 1), True)
    ops.store(body, b_, 2.0)
    item = ops.call(body, "basic_index", (x_,), {"index": (index,), "scalar": True})
    total = ops.call(body, "add", (a_, item))
    body.outputs += [b_, total]
    loop = graph.add_loop((1, n, 1), (a, b), (x, s0, s1), body)
    graph.outputs += [ops.call(graph, "tuple_get", (loop,), {"index": place}) for place in (0, 1)]
    graph.outputs.append(s0)
    return graph


def plainly(x: np.ndarray, a: np.ndarray, b: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    for i in range(1, n):
        b[...] = 2.0
        a, b = b, a + x[i]
    return a, b


def test_text() -> None:
    assert to_text(relaxation()) == (
        "s3: int = input(3)\n"
        "%x: float64[s0] = input(0)\n"
        "%a: float64[s1] = input(1)\n"
        "%b: float64[s2] = input(2)\n"
        "%loop: float64[s1], float64[s2] = loop(1, s3, 1, %a, %b, %x, s0, s1, carried=2)\n"
        "    i0: int = input(0)\n"
        "    s0: int = input(4)\n"
        "    s1: int = input(5)\n"
        "    %a: float64[s1] = input(1)\n"
        "    %b: float64[s1] = input(2)\n"
        "    %x: float64[s0] = input(3)\n"
        "    store(%b, 2.0)\n"
        "    %basic_index: float64 = basic_index(%x[i0], scalar=True)\n"
        "    %add: float64[s1] = add(%a, %basic_index)\n"
        "    return %b, %add\n"
        "    assuming ge(s0, 0)\n"
        "    assuming ne(s0, 1)\n"
        "    assuming ge(s1, 0)\n"
        "    assuming ne(s1, 1)\n"
        "    assuming ge(i0, 1)\n"
        "%tuple_get: float64[s1] = tuple_get(%loop, index=0)\n"
        "%tuple_get_1: float64[s2] = tuple_get(%loop, index=1)\n"
        "return %tuple_get, %tuple_get_1, s0\n"
        "assuming eq(s1, s2)\n"
    )


@pytest.mark.parametrize("count", [-3, 0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("copied", [False, True])
def test_interpret(count: int, copied: bool) -> None:
    graph = relaxation()
    verify(graph)
    if copied:
        graph = clone(graph)
        verify(graph)
    x, a, b = np.arange(9.0), np.arange(4.0), np.ones(4)
    expected_a, expected_b = a.copy(), b.copy()
    results = interpret(graph, [x, a, b, count])
    wanted = plainly(x, expected_a, expected_b, count)
    for result, value in zip(results, wanted, strict=False):
        assert result.tobytes() == value.tobytes()
    assert a.tobytes() == expected_a.tobytes() and b.tobytes() == expected_b.tobytes()
    identities = [wanted_one is original for wanted_one in wanted for original in (expected_a, expected_b)]
    assert [result is original for result in results[:2] for original in (a, b)] == identities


def test_clone_shares_no_body() -> None:
    graph = relaxation()
    copy = clone(graph)
    assert to_text(copy) == to_text(graph)
    loops = [node for one in (graph, copy) for node in one.nodes if node.kind is NodeKind.LOOP]
    assert loops[0].regions[0] is not loops[1].regions[0]
    assert not set(loops[0].regions[0].nodes) & set(loops[1].regions[0].nodes)


def loop_of(graph: Graph) -> Node:
    return next(node for node in graph.nodes if node.kind is NodeKind.LOOP)


def test_whose_memory() -> None:
    graph = relaxation()
    x, a, b = (value for value in graph.inputs if isinstance(value, Node))
    first, second = graph.outputs[:2]
    assert isinstance(first, Node) and isinstance(second, Node)
    loop = loop_of(graph)
    assert origins(first) == {first, loop, a, b} and origins(second) == {second, loop, b}
    assert written(loop_of(graph)) == {b} and acts(loop_of(graph), lambda node: False)
    assert loop_parts(loop_of(graph))[1:3] == ((a, b), (x, graph.symbols["s0"], graph.symbols["s1"]))
    body = loop_of(graph).regions[0]
    ops.store(body, body.inputs[1], 1.0)
    assert written(loop_of(graph)) == {a, b}
    graph.add_store(first, 0.0)
    assert written(graph.nodes[-1]) == {first, loop, a, b}


def test_a_failed_run_puts_back_what_the_loop_wrote() -> None:
    run = transaction(relaxation(), lambda *inputs: interpret(relaxation(), inputs))
    x, a, b = np.arange(3.0), np.arange(4.0), np.ones(4)
    with pytest.raises(Exception, match="IndexError"):
        run(x, a, b, 9)
    assert b.tolist() == [1.0] * 4


def test_drop_unused() -> None:
    graph = relaxation()
    del graph.outputs[:2]
    drop_unused(graph, lambda node: False)
    assert loop_of(graph)
    del loop_of(graph).regions[0].nodes[3]  # the store
    kept = clone(graph)
    drop_unused(kept, lambda node: node.op == "basic_index")
    assert loop_of(kept)
    drop_unused(graph, lambda node: False)
    assert all(node.kind is NodeKind.INPUT for node in graph.nodes)


def test_a_loop_without_values() -> None:
    graph = Graph()
    n = graph.add_symbol("int")
    body, (index,) = region(("i0", "int", 0))
    body.inputs.append(index)
    loop = graph.add_loop((0, n, 1), (), (), body)
    verify(graph)
    assert "%loop = loop(0, s0, 1, carried=0)\n" in str(graph) and loop.type == ()
    assert interpret(graph, [3]) == []


def test_a_loop_that_pauses() -> None:
    graph = Graph()
    n = graph.add_symbol("int")
    body, (index, k) = region(("i0", "int", 0), ("k", "int", 1))
    body.inputs += [index, k]
    body.outputs.append(make("add", k, index))
    body.facts.learn(make("ne", make("mod", index, 7), 5), True)
    loop = graph.add_loop((0, n, 1), (), (0,), body, numbers=1)
    at = graph.add_yield("y0", "int")
    loop.params["pause"] = at, make("eq", make("mod", at, 7), 5), make("eq", at, 2)
    graph.outputs.append(ops.call(graph, "tuple_get", (loop,), {"index": 0}))
    with pytest.raises(GraphError, match="nothing says how it is left"):
        verify(graph)
    graph.add_leave(loop, (), 0)
    verify(graph)
    assert acts(loop, lambda node: False)
    assert "numbers=1, pause=(y0, eq(mod(y0, 7), 5), eq(y0, 2)))\n" in str(graph)
    assert [interpret(graph, [count]) for count in (0, 2, 3, 9)] == [[0], [1], [1], [1]]
    loop.params["pause"] = at, make("eq", at, 2)
    with pytest.raises(GraphError, match="takes ne"):
        verify(graph)
    loop.params["pause"] = n, make("eq", n, 2)
    with pytest.raises(GraphError, match="is no index to pause at"):
        verify(graph)


def summation() -> Graph:
    """t, k = 0.5, 3; for i in range(n): t, k = t * 0.5 + i, k + k; returns both as NumPy scalars."""
    graph = Graph()
    n = graph.add_symbol("int")
    body, (index, t, k) = region(("i0", "int", 0), ("t", "float", 1), ("k", "int", 2))
    body.inputs += [index, t, k]
    body.outputs += [make("add", make("mul", t, 0.5), index), make("add", k, k)]
    loop = graph.add_loop((0, n, 1), (), (0.5, 3), body, numbers=2)
    graph.outputs += [ops.call(graph, "tuple_get", (loop,), {"index": place}) for place in (0, 1)]
    return graph


def test_numbers_that_are_carried() -> None:
    graph = clone(summation())
    verify(graph)
    assert "%loop: float64, int64 = loop(0, s0, 1, 0.5, 3, carried=0, numbers=2)\n" in str(graph)
    t, k = 0.5, 3
    for count in range(4):
        got = interpret(graph, [count])
        assert got == [t, k] and [type(value) for value in got] == [np.float64, np.int64]
        t, k = t * 0.5 + count, k + k
    assert all(isinstance(output, Node) and origins(output) == {output} for output in graph.outputs)


def test_verify_knows_numbers_that_are_carried() -> None:
    graph = summation()
    body_of(graph).outputs[0] = 1
    with pytest.raises(GraphError, match="the number t is of another kind after an iteration"):
        verify(graph)
    graph = summation()
    body_of(graph).outputs.pop()
    with pytest.raises(GraphError, match="the body returns 1"):
        verify(graph)
    graph = summation()
    body_of(graph).facts.learn(make("ge", body_of(graph).symbols["k"], 3), True)  # of k + k, too
    verify(graph)
    graph = summation()
    body_of(graph).facts.learn(make("le", body_of(graph).symbols["k"], 3), True)  # of the first iteration only
    with pytest.raises(GraphError, match="which is not known outside"):
        verify(graph)


def body_of(graph: Graph) -> Graph:
    body: Graph = loop_of(graph).regions[0]
    return body


def change_loop_arg(place: int, value: object) -> Callable[[Graph], None]:
    def change(graph: Graph) -> None:
        loop = loop_of(graph)
        args = list(loop.args)
        args[place] = args[value] if isinstance(value, int) else value  # type: ignore[call-overload]
        loop.args = tuple(args)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: body_of(g).inputs.pop(), "loop: 6 values go into a body of 5 inputs"),
        (lambda g: body_of(g).outputs.pop(), "loop: 2 values are carried, the body returns 1"),
        (lambda g: body_of(g).outputs.__setitem__(1, body_of(g).inputs[3]), "loop: carried value 1 is float64[s1] bef"),
        (lambda g: body_of(g).outputs.__setitem__(1, 1.0), "loop: carried value 1 is a number"),
        (lambda g: body_of(g).nodes.pop(), "return: %add is used before"),
        (lambda g: body_of(g).facts.learn(make("ge", body_of(g).symbols["s0"], 4), True), "loop: the body takes ge(s0"),
        (lambda g: body_of(g).facts.learn(make("ge", body_of(g).symbols["i0"], 2), True), "loop: the body takes ge(i0"),
        (lambda g: g.facts.__init__(), "loop: float64[s2] goes in for %b, input 2: float64[s1]"),
        (lambda g: setattr(loop_of(g), "type", ()), "loop: it yields float64[s1], float64[s2]"),
        (change_loop_arg(3, 5), "loop: float64[s0] goes in for %a, input 1: float64[s1]"),
        (change_loop_arg(2, Symbol("s3", "int", 3)), "loop: whether its step is 0 is not known"),
        (change_loop_arg(0, 3), "loop: its bounds are no ints"),
        (change_loop_arg(6, 3), "loop: what goes in for the number s0 is no int"),
    ],
)
def test_verify_names_what_is_wrong(change: Callable[[Graph], object], message: str) -> None:
    graph = relaxation()
    verify(graph)
    change(graph)
    with pytest.raises(GraphError) as caught:
        verify(graph)
    assert str(caught.value).startswith(message)
