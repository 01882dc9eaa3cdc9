"""Graphs as text, verified and interpreted; the small rewrites."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dynamo_lite import ops
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.node import Location, Node, NodeKind
from dynamo_lite.graph.rewrite import drop_unused, is_view, replace_uses, root, users
from dynamo_lite.graph.scalar import Symbol, make
from dynamo_lite.graph.text import to_text
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.graph.verify import GraphError, verify

F8 = np.dtype(float)


def stencil() -> Graph:
    """y[1:-1] = (x[:-2] + x[2:]) * n; return y, y.sum(), len(x)."""
    graph = Graph()
    s0 = graph.add_symbol("int", 0, 0)
    x = graph.add_input(ArrayType(F8, (s0,)))
    s1 = graph.add_symbol("int", 1, 0)
    y = graph.add_input(ArrayType(F8, (s1,)), "y")
    number = graph.add_symbol("float")
    line = Location("/home/user/blur.py", 7, "blur")

    def relate(condition: object) -> bool:
        return True

    left = ops.call(graph, *parts(ops.index(x, slice(None, -2))), line, relate)
    right = ops.call(graph, *parts(ops.index(x, slice(2, None))), line, relate)
    total = ops.call(graph, "add", (left, right), {}, line, relate)
    scaled = ops.call(graph, "multiply", (total, number), {}, line, relate)
    ops.store_index(graph, y, slice(1, -1), scaled, line, relate)
    whole = ops.call(graph, *parts(ops.lookup(np.sum).bind((y,), {})), None, relate)  # type: ignore[union-attr]
    graph.outputs += [y, whole, s0]
    return graph


def parts(bound: ops.Bound) -> tuple[str, tuple[Node, ...], dict[str, object]]:
    return bound.op, bound.args, bound.params  # type: ignore[return-value]


def test_text() -> None:
    assert to_text(stencil()) == (
        "s2: float = input(2)\n"
        "%x: float64[s0] = input(0)\n"
        "%y: float64[s1] = input(1)\n"
        "%basic_index: float64[sub(s0, 2)] = basic_index(%x[:-2], scalar=True)  # blur.py:7\n"
        "%basic_index_1: float64[sub(s0, 2)] = basic_index(%x[2:], scalar=True)  # blur.py:7\n"
        "%add: float64[sub(s0, 2)] = add(%basic_index, %basic_index_1)  # blur.py:7\n"
        "%multiply: float64[sub(s0, 2)] = multiply(%add, s2)  # blur.py:7\n"
        "%basic_index_2: float64[sub(s1, 2)] = basic_index(%y[1:-1], scalar=False)  # blur.py:7\n"
        "store(%basic_index_2, %multiply)  # blur.py:7\n"
        "%reduce: float64 = reduce(%y, ufunc=add, axes=(0,), keepdims=False)\n"
        "return %y, %reduce, s0\n"
        "assuming ge(s0, 4)\n"
        "assuming ge(s1, 4)\n"
        "assuming eq(s0, s1)\n"
    )


def test_interpret_runs_every_size() -> None:
    graph = stencil()
    verify(graph)
    for size in (4, 5, 9):
        x, y = np.arange(float(size)), np.full(size, -1.0)
        result, total, length = interpret(graph, [x, y, 2.0])
        assert result is y
        expected = np.full(size, -1.0)
        expected[1:-1] = (np.arange(float(size))[:-2] + np.arange(float(size))[2:]) * 2.0
        assert y.tobytes() == expected.tobytes()
        assert type(total) is np.float64 and total == expected.sum() and length == size


def test_constants_and_tuples() -> None:
    graph = Graph()
    c = graph.add_constant(np.float32(1.5))
    both = ops.call(graph, "modf", (c,))
    part = ops.call(graph, "tuple_get", (both,), {"index": 1})
    graph.outputs.append(part)
    verify(graph)
    (result,) = interpret(graph, [])
    assert type(result) is np.float32 and result == 1
    assert "%modf: float32, float32 = modf(%c)" in to_text(graph)


def broken(change: Callable[[Graph], object]) -> str:
    graph = stencil()
    verify(graph)
    change(graph)
    with pytest.raises(GraphError) as caught:
        verify(graph)
    return str(caught.value)


def by_name(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def retype(name: str, type_: ArrayType) -> Callable[[Graph], object]:
    return lambda graph: setattr(by_name(graph, name), "type", type_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.nodes.append(g.nodes.pop(3)), "add: %basic_index_1 is used before it is defined"),
        (lambda g: setattr(by_name(g, "add"), "name", "x"), "x: the name is taken"),
        (lambda g: setattr(by_name(g, "add"), "op", "frobnicate"), "add: there is no op frobnicate"),
        (retype("add", ArrayType(np.dtype("f"), (make("sub", Symbol("s0", "int", 0, 0), 2),))), "add: add yields"),
        (retype("reduce", ArrayType(F8, ())), "reduce: reduce yields float64, the node says float64[]"),
        (retype("reduce", ArrayType(F8, (3,), True)), "reduce: a NumPy scalar has no axes"),
        (retype("reduce", ArrayType(np.dtype(">f8"), (), True)), "reduce: the byte order"),
        (retype("x", ArrayType(F8, (Symbol("s9", "int", 0, 0),))), "x: s9 is not a symbol of this graph"),
        (lambda g: g.facts.__init__(), "basic_index: whether its axis sub(s0, 2) has size 1 is not known"),
        (lambda g: by_name(g, "x").params.update(index=1), "x: it is not input 1"),
        (lambda g: setattr(by_name(g, "store"), "args", (g.nodes[0], by_name(g, "reduce"))), "store: %reduce is used"),
        (
            lambda g: setattr(by_name(g, "store"), "args", (by_name(g, "basic_index_2"), g.nodes[0])),
            "store: s0 elements",
        ),
        (lambda g: setattr(by_name(g, "store"), "args", (g.add_constant(np.ones(3)), 1.0)), "store: %c is used before"),
        (lambda g: g.add_store(g.add_constant(np.ones(3)), 1.0), "store_1: %c is no array of the graph's"),
        (lambda g: g.add_store(by_name(g, "reduce"), 1.0), "store_1: %reduce is no array of the graph's"),
        (lambda g: g.outputs.append(by_name(g, "store")), "return: %store has no value"),
        (lambda g: g.outputs.append(Symbol("s7", "int", 0)), "return: s7 is not a symbol"),
        (lambda g: g.inputs.append(Node(NodeKind.INPUT, "input", (), {}, None, "z")), "z: input 3 is not among"),
    ],
)
def test_verify_names_what_is_wrong(change: Callable[[Graph], object], message: str) -> None:
    assert broken(change).startswith(message)


def test_rewrites() -> None:
    graph = stencil()
    x, y, add = (by_name(graph, name) for name in ("x", "y", "add"))
    view = by_name(graph, "basic_index_2")
    assert root(view) is y and is_view(view) and not is_view(add)
    assert [user.name for user in users(graph)[x]] == ["basic_index", "basic_index_1"]
    unused = ops.call(graph, "negative", (add,))
    drop_unused(graph, keep=lambda node: False)
    assert unused not in graph.nodes and add in graph.nodes and by_name(graph, "store")
    replace_uses(graph, {by_name(graph, "multiply"): add})
    drop_unused(graph, keep=lambda node: False)
    verify(graph)
    assert by_name(graph, "store").args[1] is add and "multiply" not in [node.name for node in graph.nodes]
