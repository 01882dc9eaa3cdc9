"""Capture alone: the graph, the guards and the breaks of small functions; what they compute is tested elsewhere."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from dynamo_lite.capture.segments.targets import Target
from dynamo_lite.capture.state import SkipFrame
from dynamo_lite.capture.trace import Capture, bind_slots, trace
from dynamo_lite.config import config
from dynamo_lite.graph.interpret import interpret
from dynamo_lite.graph.verify import verify


def captured(function: Any, *args: Any, **options: Any) -> Capture:
    """The capture of a call; its graph is verified."""

    def jump(target: Target) -> Any:
        return lambda *state: (target, state)

    capture = trace(function, bind_slots(function, args, {}), jump, config.replace(options))
    verify(capture.graph)
    return capture


def operations(capture: Capture) -> list[str]:
    return [node.op for node in capture.graph.nodes if node.op not in ("input", "constant")]


def kinds(capture: Capture) -> set[str]:
    return {op[0] for op in capture.guards}


X = np.arange(12.0).reshape(3, 4)


def test_a_chain_is_one_graph_returned_without_residual_code() -> None:
    def f(x: Any) -> Any:
        return x * 2.0 + 1.0

    capture = captured(f, X)
    assert operations(capture) == ["multiply", "add"]
    assert capture.residual is None
    assert capture.ends == "return"
    np.testing.assert_array_equal(interpret(capture.graph, [X])[0], f(X))


def test_sizes_are_symbols_and_a_relation_becomes_a_guard() -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y

    capture = captured(f, X, X.copy())
    assert "scalar" in kinds(capture)
    assert captured(f, X, X).graph.inputs.__len__() == 1  # one object, one input


def test_a_branch_on_a_size_is_followed_and_guarded() -> None:
    def f(x: Any) -> Any:
        if x.shape[0] > 2:
            return x + 1.0
        return x - 1.0

    assert operations(captured(f, X)) == ["add"]
    assert operations(captured(f, X[:2])) == ["subtract"]
    assert "scalar" in kinds(captured(f, X))


def test_a_branch_on_a_value_breaks_and_goes_on_both_ways() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x * 2
        return x - 1

    assert captured(f, X).ends == "return"
    capture = captured(f, X, native_branches=False)
    assert capture.ends == "break"
    assert capture.break_ is not None and capture.break_.reason == "data-dependent-branch"
    assert len(capture.jumps) == 2


def test_loops_over_ranges_unroll_and_functions_inline() -> None:
    def g(x: Any) -> Any:
        return x + 1.0

    def f(x: Any) -> Any:
        for _ in range(4):
            x = g(x)
        return x

    assert operations(captured(f, X)) == ["add"] * 4


def test_numpy_python_functions_are_inlined_down_to_their_reductions() -> None:
    def f(x: Any) -> Any:
        return np.mean(x, axis=0), x.std()

    capture = captured(f, X)
    assert capture.ends == "return"
    assert operations(capture).count("reduce") == 3
    outputs = interpret(capture.graph, list(capture.example_inputs))
    assert capture.residual is not None
    result = capture.residual(X, *outputs)
    np.testing.assert_array_equal(result[0], X.mean(axis=0))
    assert result[1] == X.std()


class Scale:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def apply(self, x: Any) -> Any:
        return x * self.factor


def test_methods_and_attributes_are_guarded_by_class_and_object() -> None:
    def f(model: Any, x: Any) -> Any:
        return model.apply(x)

    capture = captured(f, Scale(np.full(4, 3.0)), X)
    assert {"type_version", "method", "function"} <= kinds(capture)
    assert operations(capture) == ["multiply"]


def test_printing_breaks_and_residual_code_prints() -> None:
    def f(x: Any) -> Any:
        y = x + 1.0
        print("now")
        return y * 2.0

    capture = captured(f, X)
    assert capture.break_ is not None and capture.break_.reason == "output"
    assert capture.residual is not None
    assert capture.residual.__code__.co_name == "f"


def test_stores_stay_in_the_graph_and_written_inputs_must_be_distinct() -> None:
    def f(x: Any, y: Any) -> None:
        x[1:] = y[:-1]

    capture = captured(f, X.copy(), X)
    assert "store" in operations(capture)
    assert "distinct" in kinds(capture)


def test_comprehensions_generators_and_containers() -> None:
    def f(x: Any) -> Any:
        parts = [x[i] * i for i in range(3)]
        return {"total": parts[0] + parts[2], "same": tuple(p for p in parts)}

    capture = captured(f, X)
    assert capture.ends == "return"
    assert capture.residual is not None
    result = capture.residual(X, *interpret(capture.graph, list(capture.example_inputs)))
    np.testing.assert_array_equal(result["total"], X[0] * 0 + X[2] * 2)
    assert [type(result["same"]), len(result["same"])] == [tuple, 3]


def test_list_identity_survives_residual_code() -> None:
    def f(x: Any) -> Any:
        a = [x + 1]
        return a, a

    capture = captured(f, X)
    assert capture.residual is not None
    first, second = capture.residual(X, *interpret(capture.graph, [X]))
    assert first is second


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(x):\n    global G\n    del G", "side-effect-global"),
        ("def f(x):\n    from math import no_such_name\n    return x + 1", "import-statement"),
        ("def f(x):\n    return sorted(x)", "c-function"),
        ("def f(x):\n    return x.tolist()", "data-dependent-number"),
        ("def f(x):\n    return f'{x}'", "format-string"),
        ("def f(x):\n    return x.shape[7]", "python-exception"),
        ("def f(x):\n    for row in x:\n        x = x + row", "loop-over-unknown-iterator"),
        ("def f(x):\n    for i in range(x.shape[0]):\n        x = x + i", "loop-of-open-length"),
        ("def f(x, n=20):\n    for i in range(n):\n        x = x + i", "loop-of-open-length"),
        ("def f(x):\n    for i in range(4000):\n        x = x + i", "loop-too-long"),
        ("def f(x, w=1.5):\n    return x * {1.5: 2.0}.get(3.0 * w, 1.0)", "float-argument"),
        ("def f(x):\n    return x + rng.bit_generator.random_raw(4)", "random"),
        ("def f(x):\n    return Thing(x)", "python-call"),
        ("def f(x):\n    with manager:\n        return x / 0", "with-statement"),
    ],
)
def test_what_breaks(source: str, reason: str) -> None:
    namespace: dict[str, Any] = {"np": np, "manager": threading.Lock(), "__name__": "user"}
    namespace.update(rng=np.random.default_rng(0), Thing=type("Thing", (), {}))
    exec(source, namespace)
    capture = captured(namespace["f"], X, native_loops=False)
    assert capture.break_ is not None
    assert capture.break_.reason == reason


def test_generators_are_skipped() -> None:
    def f(x: Any) -> Any:
        yield x

    with pytest.raises(SkipFrame) as info:
        captured(f, X)
    assert info.value.reason == "generator"


def test_capture_is_deterministic() -> None:
    def f(x: Any) -> Any:
        return np.var(x, axis=-1, keepdims=True) + x

    assert str(captured(f, X).graph) == str(captured(f, X).graph)


def test_equal_sizes_get_one_name() -> None:
    def f(x: Any, y: Any) -> Any:
        return (x * 2) + (y * 3)

    capture = captured(f, X, X + 1)
    shapes = {node.array_type.shape for node in capture.graph.nodes}
    assert len(shapes) == 1


def test_sizes_computed_of_a_fixed_number_are_fixed() -> None:
    def f(x: Any, n: int) -> Any:
        y = np.zeros((2, n % 3 + 1))
        return (y, x) if n == 4 else y

    capture = captured(f, X, 4)
    assert {node.array_type.shape for node in capture.graph.nodes if node.op == "zeros"} == {(2, 2)}


def test_sizes_given_to_a_call_have_the_names_of_its_type() -> None:
    def f(x: Any, n: int, k: int) -> Any:
        return np.ones((1, max(0, min(n + k, n)))) * x[0] if k == 0 else x

    verify(captured(f, X, 4, 0).graph)
