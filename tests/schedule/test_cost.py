"""The guess whether a program pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dynamo_lite.backends.numba import TARGET

from dynamo_lite.lower import lower
from dynamo_lite.schedule import DoesNotPay, require_gain, schedule
from tests.schedule.programs import PROGRAMS
from tests.schedule.tracing import trace


def pays(function: Any, *arguments: Any) -> bool:
    graph = lower(trace(function, *arguments))
    try:
        require_gain(graph, schedule(graph, TARGET), arguments)
    except DoesNotPay as error:
        assert "compiled against" in str(error)
        return False
    return True


BIG = np.ones(1_000_000)


def test_one_operation_on_big_data_does_not() -> None:
    assert not pays(lambda x: x + 1, BIG)
    assert not pays(lambda x: np.exp(x), BIG)


def test_one_operation_on_small_data_does() -> None:
    assert pays(lambda x: x + 1, np.ones(6))


def test_a_bare_product_does_not() -> None:
    matrix = np.ones((200, 200))
    assert not pays(lambda a, b: a @ b, matrix, matrix)


@pytest.mark.parametrize("name", ["gauss", "chain", "black_scholes", "layer_norm", "softmax", "jacobi"])
def test_real_programs_do(name: str) -> None:
    function, arguments = PROGRAMS[name]
    assert pays(function, *arguments)


def test_a_chain_on_big_data_does() -> None:
    assert pays(lambda x: (x * 2 + 1) * x - 3, BIG)
