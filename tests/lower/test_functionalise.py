"""In-place operations become values, and only where nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower import lower
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.functionalise import functionalise
from tests.copies import copies_of
from tests.oracle import require_equal
from tests.schedule.tracing import trace

X = np.arange(6.0) + 1
M = np.arange(12.0).reshape(3, 4)


def functionalised(function: Any, *arguments: Any) -> Graph:
    graph = clone(trace(function, *arguments))
    functionalise(graph)
    verify(graph)
    return graph


def stores(graph: Graph) -> int:
    return sum(node.kind is NodeKind.STORE for node in graph.nodes)


def test_the_docstring() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        y += 1
        return y

    before = trace(program, X)
    assert str(before) == (
        "%x: float64[s0] = input(0)\n"
        "%multiply: float64[s0] = multiply(%x, 2)\n"
        "%add: float64[s0] = add(%multiply, 1)\n"
        "store(%multiply, %add)\n"
        "return %multiply\n"
    )
    assert str(lower(before)) == (
        "%x: float64[s0] = input(0)\n"
        "%multiply: float64[s0] = multiply(%x, 2)\n"
        "%add: float64[s0] = add(%multiply, 1)\n"
        "return %add\n"
    )


def test_overwritten_stores_into_an_input_go() -> None:
    def program(x: Any, y: Any) -> Any:
        x += 1
        x *= y
        np.sqrt(x, out=x)
        return x

    graph = functionalised(program, X, X)
    assert stores(graph) == 1
    assert "sqrt(%multiply)" in str(graph) and "multiply(%add, %x_1)" in str(graph)


def test_a_read_through_a_view_keeps_the_store() -> None:
    def program(x: Any) -> Any:
        x += 1
        y = x[1:] * 2
        x *= 3
        return y

    assert stores(functionalised(program, X)) == 2


def test_a_scalar_read_keeps_the_store() -> None:
    def program(x: Any) -> Any:
        x += 1
        first = x[0]
        x *= 3
        return first

    assert stores(functionalised(program, X)) == 2


def test_another_memory_order_keeps_the_array() -> None:
    """z has its own order of axes, so what is added takes x's: the sum laid out afresh need not."""

    def program(x: Any, z: Any) -> Any:
        y = x * 2
        y += z
        return y

    assert stores(functionalised(program, M, M)) == 1
    assert stores(functionalised(program, X, X)) == 0
    assert stores(functionalised(program, M, np.arange(4.0))) == 0


def test_a_value_that_is_returned_too_stays_another_object() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        t = y + 1
        y[...] = t
        return y, t

    assert stores(functionalised(program, X)) == 1


def test_a_view_that_leaves_keeps_its_array() -> None:
    def program(x: Any) -> Any:
        y = x * 2
        v = y[1:]
        y += 1
        return v

    assert stores(functionalised(program, X)) == 1


def test_a_store_that_casts_is_not_forwarded() -> None:
    def program(x: Any, y: Any) -> Any:
        x[...] = y / 3
        return x * 2

    graph = functionalised(program, X.astype("f"), X)
    assert "multiply(%x, 2)" in str(graph)


def test_a_changed_value_is_not_forwarded() -> None:
    def program(x: Any) -> Any:
        t = x + 1
        x[...] = t
        t *= 2
        return x * 3

    assert "multiply(%x, 3)" in str(functionalised(program, X))


def test_an_array_that_does_not_own_its_memory_stays() -> None:
    def program(x: Any) -> Any:
        y = np.tile(x, 2)
        y += 1
        return y

    assert stores(functionalised(program, X)) == 1
    assert not program(X).flags.owndata


def test_calls_and_reductions_read_the_array_they_are_given() -> None:
    """BLAS and pairwise sums compute otherwise on strided operands."""

    def program(x: Any) -> Any:
        x += 1
        return x.dot(x), x.sum(), x * 2

    readers = {node.op: node.args[0] for node in functionalised(program, X).nodes if node.op in ("dot", "reduce")}
    assert all(node.op == "input" for node in readers.values()) and len(readers) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (1, 1), (3, 4), (3, 1, 4)])
def test_an_order_asked_for_stays_along_axes_of_one_element(shape: tuple[int, ...]) -> None:
    def copies(x: Any) -> Any:
        v, w, u = x.copy(order="F"), np.full(x.shape, 2.0, order="F"), np.empty_like(x, order="F")
        v -= 1
        np.add(w, x, out=w)
        u[...] = x + 1
        return v, w, u

    options = {"options": {"cost_model": False}}
    require_equal(copies, lambda: (np.ones(shape)[::-1],), compile=dynamo_lite.compile, compile_options=options)


PRODUCTS = (lambda a: np.dot(a, a.T), lambda a: a @ a.T, lambda a: np.inner(a, a), lambda a: a.T @ a)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_of_a_matrix_and_its_own_transpose_stays_one(product: Any) -> None:
    """NumPy calls another function of BLAS for it, with other bits, which sees that the memory is the same."""

    def program(x: Any) -> Any:
        a = x.T.copy(order="K")
        a -= 0.5
        return product(a)

    for shape in ((500, 8), (64, 33), (8, 500)):
        require_equal(
            program,
            lambda shape=shape: (np.random.default_rng(1).normal(size=shape),),
            compile=dynamo_lite.compile,
            compile_options={"options": {"cost_model": False}},
        )


def test_a_number_that_fills_an_array_in_the_kernel_of_a_copy() -> None:
    """The number has no axes; what it fills has its memory order already."""

    def refilled(x: Any, y: Any) -> Any:
        first = np.zeros(x.shape)
        first = first.copy()
        first[1:] = y[1:]
        kept, first = first, first.copy()
        other = x.copy()
        first[...] = 0.0
        first, other = first.copy(), other.copy()
        first[1:] = x[1:] * 2.0
        other[1:] = y[1:] + 1.0
        return kept, first, other

    compiled = dynamo_lite.compile(refilled, options={"cost_model": False})
    x, y = np.random.default_rng(1).random((2, 5, 6, 7))
    for _ in range(3):
        for ours, plain in zip(compiled(x, y), refilled(x, y), strict=True):
            np.testing.assert_array_equal(ours, plain)
            assert ours.strides == plain.strides
    assert compiled.stats()["declines"] == 0


def test_parts_of_a_fresh_array_are_values() -> None:
    def program(x: Any) -> Any:
        y = np.zeros((3, len(x)))
        y[0] = x * 2.0
        y[1] = y[0] + 1.0
        y[1] += y[0]
        y[2] = 5.0
        return y[1] * y[0]

    graph = lower(dynamo_lite.compile(program).graph_for(X))
    assert stores(graph) <= 1, str(graph)
    require_equal(program, lambda: (X.copy(),), compile=dynamo_lite.compile)


def test_parts_that_meet_are_read_from_memory() -> None:
    def program(x: Any) -> Any:
        y = np.zeros((3, len(x)))
        y[0] = x
        first = y[0] * 2.0
        y[:, 1:] += 1.0
        y[-3] *= 3.0
        second = y[0] * 2.0
        y[0, 0] = 9.0
        return first, second, y[0] + y[1], y

    require_equal(program, lambda: (X.copy(),), compile=dynamo_lite.compile)


def test_a_store_that_nobody_reads_may_raise() -> None:
    def program(x: Any, n: int) -> Any:
        y = np.zeros(4, np.uint8)
        y[0] = n
        return x + 1

    require_equal(program, lambda: (X.copy(), 300), compile=dynamo_lite.compile)
    require_equal(program, lambda: (X.copy(), 30), compile=dynamo_lite.compile)


def test_a_dead_store_into_what_lives_on_stays() -> None:
    def program(x: Any) -> Any:
        y = np.zeros((2, len(x)))
        z = y[1]
        y[0] = x
        y[1] = x * 2
        return z, y[:, ::2]

    require_equal(program, lambda: (X.copy(),), compile=dynamo_lite.compile)


def test_np_empty_like_gives_an_axis_of_one_element_a_place_by_its_stride() -> None:
    def empty(x: Any) -> Any:
        made = np.empty_like(x)
        made[:] = x * 2.0
        return made

    def zeros(x: Any) -> Any:
        part = x[:, :1]
        made = np.zeros_like(part)
        made[...] = part * 2.0
        return made, np.stack((part, part))

    def padded(x: Any) -> Any:
        made = np.full_like(x, 3.0)
        made[...] = x * 2.0
        return np.pad(x + 1.0, 1, "edge"), made

    options = {"options": {"cost_model": False, "check": 1}}
    f = np.asfortranarray(np.random.default_rng(3).random((8, 7)))
    a = np.random.default_rng(3).random((5, 4, 6)).transpose(1, 0, 2)
    shown = [f[::2], f[::2, :1], f[:1], f[:1, ::2], a[::2, :1], a[:1], a[:, :1, ::-1], a.T[1:3, :, :1]]
    for function in (empty, zeros, padded):
        for x in shown:
            require_equal(function, copies_of(x), compile=dynamo_lite.compile, compile_options=options)
