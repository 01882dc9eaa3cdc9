"""What no iteration changes is computed before the loop: the text of the docstring, and all that forbids it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite
from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import NodeKind
from dynamo_lite.graph.verify import verify
from dynamo_lite.lower.clone import clone
from dynamo_lite.lower.hoist import hoist
from tests.conftest import BACKENDS
from tests.oracle import Conditions, require_equal

X = np.linspace(0.1, 1.0, 7)


def hoisted(function: Callable[..., Any], *arguments: Any) -> tuple[list[str], list[str]]:
    """The ops before the loop, and those inside."""
    graph = clone(dynamo_lite.compile(function).graph_for(*arguments))
    hoist(graph)
    verify(graph)
    (loop,) = (node for node in graph.nodes if node.kind is NodeKind.LOOP)
    return calls(graph), calls(loop.regions[0])


def calls(graph: Graph) -> list[str]:
    left_out = ("tuple_get", "require")
    return [node.op for node in graph.nodes if node.kind is NodeKind.CALL and node.op not in left_out]


def phases(psi: Any, k: Any, n: int) -> Any:
    for _ in range(n):
        psi = np.exp(-0.5j * k) * psi
    return psi


def test_a_value_that_stays_is_computed_once() -> None:
    before, inside = hoisted(phases, X + 0j, X, 3)
    assert before == ["multiply", "exp"]
    assert inside == ["multiply"]


def test_no_iteration_computes_nothing() -> None:
    # In the outermost loop: the program declines before the exponentials of a million numbers.
    fast = dynamo_lite.compile(phases, options={"cost_model": False})
    psi = X + 0j
    graph = clone(fast.graph_for(psi, X, 3))
    hoist(graph)
    assert [node.op for node in graph.nodes if node.op in ("require", "exp")] == ["require", "exp"]
    assert np.array_equal(fast(psi, X, 3), phases(psi, X, 3))
    before = fast.stats()["declines"]
    assert fast(psi, X, 0) is psi
    assert fast.stats()["declines"] == before + 1
    assert np.array_equal(fast(psi, X, 2), phases(psi, X, 2))


def chains(u: Any, x: Any, y: Any, n: int) -> Any:
    t = 0.0
    for _ in range(n):
        u = u + np.sin(x) * y * t + (x + y)
        t += 0.25
    return u, t


def test_what_continues_it_goes_along_and_what_is_cheap_stays() -> None:
    before, inside = hoisted(chains, X, X, X, 3)
    assert before == ["sin", "multiply"]
    assert inside == ["multiply", "add", "add", "add"]


def nests(u: Any, x: Any, n: int) -> Any:
    for i in range(n):
        for _ in range(n + 1):
            u = u * np.cos(x) + np.tanh(x * i)
    return u


def test_each_level_keeps_what_it_changes() -> None:
    graph = clone(dynamo_lite.compile(nests).graph_for(X, X, 3))
    hoist(graph)
    verify(graph)
    (outer,) = (node for node in graph.nodes if node.kind is NodeKind.LOOP)
    (inner,) = (node for node in outer.regions[0].nodes if node.kind is NodeKind.LOOP)
    assert calls(graph) == ["cos"]
    assert calls(outer.regions[0]) == ["multiply", "tanh"]
    assert calls(inner.regions[0]) == ["multiply", "add"]


def writes_operand(u: Any, x: Any, n: int) -> Any:
    for i in range(n):
        u = u + np.exp(x)
        x[i % 3] += 0.5
    return u


def writes_by_view(u: Any, x: Any, n: int) -> Any:
    part = x[1:]
    for _ in range(n):
        u = u + np.exp(x)
        part *= 0.5
    return u


def writes_result(u: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        e = np.exp(x)
        e[0] = u[0]
        u = u + e
    return u


def carries_result(u: Any, x: Any, n: int) -> Any:
    e = x
    for _ in range(n):
        u = u + e
        e = np.exp(x)
    return u, e


def appends_result(u: Any, x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        e = np.exp(x)
        u = u + e
        out.append(e)
    return u, out, len({id(one) for one in out})


def appends_view(u: Any, x: Any, n: int) -> Any:
    out = []
    for _ in range(n):
        e = np.exp(x)
        u = u + e
        out.append(e[1:])
    return u, out, [np.shares_memory(out[0], one) for one in out]


def sets_errors(u: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        with np.errstate(all="ignore"):
            u = u + np.log(x - 0.5)
    return u


def of_the_index(u: Any, x: Any, n: int) -> Any:
    for i in range(n):
        u = u + np.exp(x * i)
    return u


def branches(u: Any, x: Any, n: int) -> Any:
    for i in range(n):
        s = np.sqrt(np.log1p(x))
        u = u * 0.5 + s if i % 2 else u - s * np.exp(x)
    return u


def sums(u: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        u = u + x.sum() * np.exp(-x).max()
    return u


def products(u: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        u = (x[:, None] * x[None, :] @ np.ones((len(x), len(x)))) @ u
        u = u / u.max()
    return u


def overflows(u: Any, x: Any, n: int) -> Any:
    for _ in range(n):
        u = u + np.exp(x * 1000.0)
    return u


def outer(u: Any, x: Any, n: int) -> Any:
    u = u[:, None] + np.zeros(len(x))
    for k in range(n):
        u = u + np.sin(x)[:, None] * np.cos(x) + k
    return u


PROGRAMS = (phases, chains, nests, branches, sums, products, overflows, outer)
KEPT = (writes_operand, writes_by_view, writes_result, carries_result, appends_result, appends_view, sets_errors)


@pytest.mark.parametrize(
    "function",
    [*KEPT, of_the_index],
)
def test_what_changes_or_is_seen_stays(function: Callable[..., Any]) -> None:
    before, inside = hoisted(function, X.copy(), X.copy(), 3)
    assert not {"exp", "log"} & set(before)
    assert {"exp", "log"} & set(inside)


@pytest.mark.usefixtures("no_mode")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [*PROGRAMS, *KEPT, of_the_index])
def test_nothing_but_time_changes(function: Callable[..., Any], backend: str) -> None:
    def arguments(count: int) -> tuple[Any, ...]:
        return (X.copy(), X.copy(), X[::-1], count) if function is chains else (X.copy(), X.copy(), count)

    for count in range(4):
        if function is appends_view and not count:
            continue  # out[0]
        for conditions in (Conditions(), Conditions({"all": "ignore"}), Conditions({"all": "raise"})):
            require_equal(
                function,
                lambda count=count: arguments(count),  # type: ignore[misc]
                compile=dynamo_lite.compile,
                compile_options={"backend": backend, "options": {"cost_model": False}},
                conditions=conditions,
            )
