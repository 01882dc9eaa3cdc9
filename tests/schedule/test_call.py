"""What Call steps call gives what the op's ``evaluate`` gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dynamo_lite.graph.graph import Graph
from dynamo_lite.graph.node import Node
from dynamo_lite.graph.opdef import REGISTRY, Sample
from dynamo_lite.graph.types import ArrayType
from dynamo_lite.schedule.call import Evaluation, call

NAMES = [name for name, op in sorted(REGISTRY.items()) if op.samples and not name.startswith("empty")]


def operands(sample: Sample) -> list[Any]:
    rng = np.random.default_rng(3)
    values: list[Any] = []
    for position, operand in enumerate(sample.operands):
        codes = sample.dtypes[position] if position < len(sample.dtypes) else ""
        if not isinstance(operand, tuple):
            values.append(operand)
            continue
        value = np.asarray(rng.random(operand) * 3 + (np.eye(*operand[-2:]) if len(operand) > 1 else 0))
        value = value.astype(codes[0] if codes else "d")
        values.append(value if operand else value[()])
    return values


@pytest.mark.parametrize("name", NAMES)
def test_calls_are_what_ops_evaluate(name: str) -> None:
    op = REGISTRY[name]
    for sample in op.samples:
        values = operands(sample)
        graph = Graph()
        nodes = {
            graph.add_input(ArrayType(value.dtype, value.shape, isinstance(value, np.generic))): value
            for value in values
            if isinstance(value, np.ndarray | np.generic)
        }
        inputs = iter(nodes)
        args = tuple(next(inputs) if isinstance(value, np.ndarray | np.generic) else value for value in values)
        node = graph.add_call(name, args, dict(sample.params), ArrayType(np.dtype("d"), ()))
        function, call_args, keywords = call(node)

        def concrete(value: Any, nodes: dict[Node, Any] = nodes) -> Any:
            if isinstance(value, tuple):
                return tuple(map(concrete, value))
            return nodes[value] if isinstance(value, Node) else value

        outcomes = []
        for run in (
            lambda values=values, sample=sample: op.evaluate(tuple(values), dict(sample.params)),
            lambda f=function, a=call_args, k=keywords: f(*concrete(a), **k),
        ):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    outcomes.append(run())
                except Exception as error:
                    outcomes.append(type(error))
        assert same(*outcomes), (sample, outcomes)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return isinstance(right, tuple) and all(map(same, left, right))
    if isinstance(left, np.ndarray | np.generic):
        layout = type(left) is type(right) and left.dtype == right.dtype and left.strides == right.strides
        return layout and np.asarray(left).tobytes() == np.asarray(right).tobytes()
    return bool(left == right)


def test_most_calls_are_direct() -> None:
    graph = Graph()
    x = graph.add_input(ArrayType(np.dtype("d"), (3,)))
    for name, params in (("argmin", {"axis": 0, "keepdims": False}), ("sort", {"axis": 0, "kind": None}), ("exp", {})):
        node = graph.add_call(name, (x,), params, x.array_type)
        assert not isinstance(call(node)[0], Evaluation)
